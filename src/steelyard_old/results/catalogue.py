"""Every kind of result, by the name that JSON gives it, and the way back: what any command wrote becomes the result again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard_old.errors import DataError
from steelyard_old.results import (  # noqa: F401 - each adds its kinds
    audit,
    bisection,
    certificate,
    comment,
    comparison,
    evaluation,
    history,
    installation,
    learning_curve,
    measurement,
    nights,
    plan,
    references,
    session,
    split,
    verdict,
)
from steelyard_old.results.base import KINDS, reads_any_kind
from steelyard_old.results.base import Result as Result  # the package offers it from here, so that it knows every kind


@reads_any_kind
def result_of(plain: Any) -> Result:
    """The result that `to_dict` made plain. What is no result of ours, or of a newer schema, is refused with its reason."""
    if not isinstance(plain, Mapping):
        raise _refused(f"a JSON {'list' if isinstance(plain, list) else 'value'}")
    kind, schema = plain.get("kind"), plain.get("schema")
    if not isinstance(kind, str) or kind not in KINDS:
        raise _refused(f"kind {kind!r}" if kind is not None else "an object without a kind")
    made = KINDS[kind] if plain.get("run") is None else evaluation.Evaluation  # a run has the keys of its answer, and `run` beside them
    if schema != made.SCHEMA:
        newer = isinstance(schema, int) and schema > made.SCHEMA
        hint = "it was written by a newer steelyard: pip install --upgrade steelyard" if newer else ""
        raise DataError(
            f"This version reads schema {made.SCHEMA}, and this is a {kind} of schema {schema!r}.",
            got=f"{kind} of schema {schema!r}",
            need=f"schema {made.SCHEMA}",
            hint=hint,
        )
    try:
        return made.from_dict(plain)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as fault:
        if isinstance(fault, DataError):
            raise
        said = f"no {fault}" if isinstance(fault, KeyError) else str(fault)
        raise DataError(
            f"The {kind} is not as steelyard wrote it: {said}.", got=said, need="the answer as steelyard wrote it, unchanged"
        ) from fault


def _refused(got: str) -> DataError:
    hint = "any command writes one with --format json -o result.json"
    return DataError(
        f"Not an answer of steelyard ({', '.join(KINDS)}): {got}.",
        got=got,
        need=f"an answer of steelyard: {', '.join(KINDS)}",
        hint=hint,
    )
