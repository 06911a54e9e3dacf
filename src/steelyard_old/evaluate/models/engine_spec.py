"""The spec of an inference engine, read from its own arguments: dtype, quantisation of weights and cache, speculative decoding."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from steelyard_old.errors import UsageError

OURS = ("dtype", "quant_config", "speculative_config")  # arguments by which an engine is known
ENDINGS = ("DecodingConfig", "Config")


def spec_of(model: Any) -> dict[str, str]:
    """What `model.args` says that justifies another accuracy, as TensorRT-LLM's own suite reads it; nothing for other models.

    >>> from types import SimpleNamespace as Some
    >>> spec_of(Some(args=Some(dtype="auto", quant_config=Some(quant_algo="NVFP4", kv_cache_quant_algo=None))))
    {'quant_algo': 'NVFP4'}
    """
    args = _get(model, "args")
    if args is None or isinstance(args, str | tuple | list) or not any(_has(args, name) for name in OURS):
        return {}  # the arguments of a partial function, or of something else
    quant = _get(args, "quant_config")
    found = {
        "dtype": _get(args, "dtype"),
        "quant_algo": _get(quant, "quant_algo"),
        "kv_cache_quant_algo": _get(quant, "kv_cache_quant_algo"),
        "spec_dec_algo": _decoding(_get(args, "speculative_config")),
    }
    said = {key: text for key, value in found.items() if (text := _text(value)) is not None}
    return {key: text for key, text in said.items() if (key, text) != ("dtype", "auto")}


def _decoding(config: Any) -> str | None:
    """The kind of speculative decoding; `AUTO` is n-grams, as in the original suite."""
    if config is None:
        return None
    kind = _text(_get(config, "decoding_type"))
    if kind is None and not isinstance(config, Mapping | str):
        name = type(config).__name__
        kind = next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending) and name != ending), None)
        kind = {"DraftTarget": "Draft_Target"}.get(kind or "", kind)
    if not kind:
        raise UsageError(
            f"The model's speculative_config ({type(config).__name__}) has no decoding_type.",
            got=f"a speculative_config of type {type(config).__name__} without decoding_type",
            need="a decoding_type, such as Eagle3",
            hint='say it yourself: evaluate(model, spec={"spec_dec_algo": "Eagle3"})',
        )
    return "NGram" if kind.upper() == "AUTO" else kind


def _has(holder: Any, name: str) -> bool:
    return name in holder if isinstance(holder, Mapping) else hasattr(holder, name)


def _get(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _text(value: Any) -> str | None:
    """A value as an entry has it: enums by their value, dtypes by their name."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or callable(value):
        return None
    return str(value).removeprefix("torch.")
