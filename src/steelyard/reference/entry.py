"""One recorded reference: a value, what it was measured on, and what justifies a different one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SPEC_DEFAULTS: dict[str, str | None] = {
    "dtype": "auto",
    "quant_algo": None,
    "kv_cache_quant_algo": None,
    "spec_dec_algo": None,
    "extra_acc_spec": None,
    "mtp_enabled": None,
    "max_draft_len": None,
}
SETTINGS = ("num_samples", "sigma", "alpha", "beta", "higher_is_better", "margin", "theta", "threshold", "scale", "metric", "positive")
ENOUGH_RUNS = 5  # below it the reference's own luck alarms for ever
RECORDED = (
    "runs",  # how many runs are pooled
    "sigma_run",  # their run-to-run standard deviation, in the scale of the value
    "deterministic",
    "recorded",  # when, UTC, ISO 8601
    "by",
    "commit",
    "tool",
    "reason",
    "reference_note",
    "items",  # the file of outcomes beside the task file
    "items_hash",  # of the items' keys and contents
    "protocol",
    "rates",  # of answers that were truncated, empty, refused or without an extractable answer
    "approved",
    "first_value",  # the value first put on record: slow drift is tested against it
)


PLAIN_KEY = "accuracy"  # what the original's files call every value, whatever its metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of `references/TASK.yaml`.

    `spec` has only the keys that differ from their defaults (null and the default are the same as absent). `value` is the
    metric's number under its own key (`value_key`), None for an entry that only has a threshold. Settings that the entry
    does not give are None and come from the task. `line` is where the entry begins in its file, from 1.
    """

    model: str
    value: float | None
    value_key: str = PLAIN_KEY
    spec: Mapping[str, Any] = field(default_factory=dict)
    num_samples: int | None = None
    sigma: float | None = None
    alpha: float | None = None
    beta: float | None = None
    higher_is_better: bool | None = None
    margin: float | None = None
    theta: float | None = None
    threshold: float | None = None
    scale: str | None = None
    metric: str | None = None
    positive: str | None = None  # the class that f1, precision, auc are about
    runs: int | None = None
    sigma_run: float | None = None
    deterministic: bool | None = None
    recorded: str | None = None
    by: str | None = None
    commit: str | None = None
    tool: str | None = None
    reason: str | None = None
    reference_note: str | None = None
    items: str | None = None
    items_hash: str | None = None
    protocol: Mapping[str, str] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    approved: str | None = None
    first_value: float | None = None
    line: int = 0

    def to_plain(self) -> dict[str, Any]:
        """The keys of the entry as a file has them, in the order that people read: spec, value, settings, provenance."""
        out: dict[str, Any] = dict(self.spec)
        if self.value is not None:
            out[self.value_key] = self.value
        for name in (*SETTINGS, *RECORDED):
            value = getattr(self, name)
            if value is not None and value != {}:
                out[name] = dict(value) if name in ("protocol", "rates") else value
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDefaults:
    """What a task says about all its entries: `[tasks.NAME]` of steelyard.toml. None is "not said"."""

    metric: str | None = None
    scale: str | None = None
    higher_is_better: bool | None = None
    alpha: float | None = None
    beta: float | None = None
    sigma: float | None = None
    num_samples: int | None = None
    theta: float | None = None
    margin: float | None = None
    chance: float | None = None  # what guessing scores: lint refuses thresholds at or below it
    protocol: Mapping[str, str] = field(default_factory=dict)
    tier: str | None = None
