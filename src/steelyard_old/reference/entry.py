"""One recorded reference: a value, what it was measured on, and what justifies a different one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

from steelyard_old.late_dataclass import dataclass

SPEC_DEFAULTS: dict[str, str | None] = {
    "dtype": "auto",
    "quant_algo": None,
    "kv_cache_quant_algo": None,
    "spec_dec_algo": None,
    "extra_acc_spec": None,
    "mtp_enabled": None,
    "max_draft_len": None,
}
ENOUGH_RUNS = 5  # below it the reference's own luck alarms for ever

PLAIN_KEY = "accuracy"  # what the original's files call every value, whatever its metric


def setting(says: str, reads: str = "text") -> Any:
    """A key that says how a run is judged, with its sentence.

    reads: text, number, not_below (0), drop, chance, count, flag, scale, protocol, rates.
    """
    return field(default=None, metadata={"kind": "setting", "reads": reads, "says": says})


def provenance(says: str, reads: str = "text", **more: Any) -> Any:
    """A key that says how the value came about, with its sentence."""
    return field(metadata={"kind": "recorded", "reads": reads, "says": says}, **(more or {"default": None}))


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
    num_samples: int | None = setting("Number of items that the value rests on.", "count")
    sigma: float | None = setting("Standard deviation of one item's score.", "not_below")
    alpha: float | None = setting("False-alarm rate: share of healthy runs called worse.", "chance")
    beta: float | None = setting("Miss rate assumed for the minimum detectable effect.", "chance")
    higher_is_better: bool | None = setting("Direction of the metric.", "flag")
    margin: float | str | None = setting('Drop to tolerate: a number, or "5%" of the value.', "drop")
    theta: float | str | None = setting('Smallest drop that matters: a number, or "1%" of the value.', "drop")
    threshold: float | None = setting("Explicit threshold: a score worse than it is a regression, whatever the noise.", "number")
    scale: str | None = setting("Scale of the value, theta, margin and sigma: percent, fraction or raw.", "scale")
    metric: str | None = setting("Metric of the value, where its key is not the metric's name.")
    positive: str | None = setting("Positive class of f1, precision, recall and auc.")
    sums: str | None = setting("The two columns of a ratio, as in accepted/drafted.")
    runs: int | None = provenance("Number of runs that were pooled.", "count")
    sigma_run: float | None = provenance("Run-to-run standard deviation of the value.", "not_below")
    deterministic: bool | None = provenance("Whether the model gives the same answers every time.", "flag")
    recorded: str | None = provenance("When it was recorded (UTC, ISO 8601).")
    by: str | None = provenance("Who recorded it.")
    commit: str | None = provenance("Commit of the repository it was recorded in.")
    tool: str | None = provenance("Program that recorded it, with its version.")
    reason: str | None = provenance("Why this value is right.")
    reference_note: str | None = provenance("Where an imported value comes from.")
    items: str | None = provenance("File of the item outcomes, beside the task file.")
    items_hash: str | None = provenance("Hash of the ids and contents of the items.")
    protocol: Mapping[str, str] = provenance("How the run was made: prompt, decoding, scorer.", "protocol", default_factory=dict)
    rates: Mapping[str, float] = provenance(
        "Shares of answers that were truncated, empty, refused, or without an answer that could be extracted.",
        "rates",
        default_factory=dict,
    )
    approved: str | None = provenance("When it was approved, and by whom.")
    first_value: float | None = provenance("The value first on record, against which slow drift is tested.", "number")
    line: int = 0

    @property
    def number(self) -> float | None:
        """What is on record: its value, or the threshold of one that has none."""
        return self.value if self.value is not None else self.threshold

    def to_plain(self) -> dict[str, Any]:
        """The keys of the entry as a file has them, in the order that people read: spec, value, settings, provenance."""
        out: dict[str, Any] = dict(self.spec)
        if self.value is not None:
            out[self.value_key] = self.value
        for name in self.declared_keys():
            value = getattr(self, name)
            if value is not None and value != {}:
                out[name] = dict(value) if isinstance(value, Mapping) else value
        return out

    @classmethod
    def declared_keys(cls, kind: str | None = None) -> dict[str, str]:
        """The keys of an entry beside spec and value, settings first, each with how it is read; of one kind, or all.

        >>> Entry.declared_keys("setting")["alpha"]
        'chance'
        """
        kinds = ("setting", "recorded") if kind is None else (kind,)
        return {each.name: each.metadata["reads"] for one in kinds for each in fields(cls) if each.metadata.get("kind") == one}


def described_keys() -> list[str]:
    """What an entry may say beside spec and value."""
    return list(Entry.declared_keys())


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
    theta: float | str | None = None  # a number, or "1%" of the reference
    margin: float | str | None = None
    ratio: str | None = None  # the two columns of a ratio, as in accepted/drafted
    chance: float | None = None  # score of random guessing; lint refuses thresholds at or below it
    protocol: Mapping[str, str] = field(default_factory=dict)
    tier: str | None = None
    by: tuple[str, ...] = ()  # columns whose values are judged separately
    critical_slices: tuple[str, ...] = ()  # the values that count; without them all do
