"""What a reference can find: what a bare score would be held to, and the drop that would be found, by the guard itself."""

from __future__ import annotations

from dataclasses import asdict

from steelyard.errors import SteelyardError
from steelyard.estimate.guard.number import ASSUMED_DISCORDANCE, CandidateScore, guard_number
from steelyard.estimate.guard.rule import GuardRule, settle_rule
from steelyard.estimate.guard.verdict import Guarded
from steelyard.late_dataclass import dataclass
from steelyard.reference.entry import Entry, TaskDefaults
from steelyard.results.base import Warnings
from steelyard.results.references import ReferenceGate, RuleNumber

OF_RULE = ("metric", "higher_is_better", "scale", "alpha", "beta", "sigma", "theta", "margin", "num_samples", "threshold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """The design of a check, and what it does. A number that cannot be known before the run is None, and `note` says why.

    `bare_score_threshold` and `mde` are in the scale of the value, and are those of a bare score; `paired_mde` is what a run
    with items finds if one item in twenty changes between healthy runs.
    """

    design: str
    bare_score_threshold: float | None = None
    mde: float | None = None
    paired_mde: float | None = None
    sigma: float | None = None
    n: int | None = None
    note: str = ""

    @property
    def threshold(self) -> float | None:
        """The score below which a run would be a regression, where that is known before the run: not where items are paired."""
        return None if self.design == "paired" else self.bare_score_threshold

    @property
    def finds(self) -> float | None:
        """The drop that the strongest check against this reference would find."""
        return self.paired_mde if self.design == "paired" and self.paired_mde is not None else self.mde

    @property
    def told(self) -> ReferenceGate:
        """As an answer has it."""
        return ReferenceGate(threshold=self.threshold, **asdict(self))


def gate_of(entry: Entry, task: TaskDefaults, warnings: Warnings) -> tuple[GuardRule | None, Detectable]:
    """The rule of an entry and its gate: the guard asked about a run that scores exactly as the reference does.

    >>> rule, gate = gate_of(Entry(model="m", value=68.17, num_samples=4096, sigma=50), TaskDefaults(), Warnings())
    >>> round(gate.bare_score_threshold, 6), round(gate.mde, 6)
    (66.352676, 2.747193)
    """
    design = "threshold" if entry.threshold is not None else "paired" if entry.items is not None else "unpaired"
    try:
        rule = settle_rule({}, entry, task, warnings)
    except SteelyardError as fault:
        return None, Detectable(design=design, note=str(fault))
    if rule.threshold is not None:
        return rule, Detectable(
            design=design, bare_score_threshold=rule.threshold, n=rule.num_samples, note="set by hand, so it has no known error rate"
        )
    if entry.value is None:
        return rule, Detectable(design=design, note="the entry has no value")
    try:
        found = guard_number(CandidateScore(value=entry.value, n=rule.num_samples), Guarded(entry=entry), rule, warnings)
    except SteelyardError as fault:
        return rule, Detectable(design=design, n=rule.num_samples, note=fault.sentence)
    return rule, Detectable(
        design=design,
        bare_score_threshold=found.threshold,
        mde=found.mde,
        paired_mde=found.details.paired_would_find if design == "paired" else None,
        sigma=found.sigma,
        n=found.n,
        note=_note(design, rule, unfailing=found.verdict == "inconclusive"),
    )


def _note(design: str, rule: GuardRule, *, unfailing: bool) -> str:
    said = ["no bare score can fail it"] if unfailing else []
    if rule.sigma is None:
        said.append("sigma is computed from the value, and from both scores when a run is checked")
    if design == "paired":
        said.append(
            "a run with items is paired: its threshold depends on the items that change, and is in its verdict "
            f"(paired mde: {ASSUMED_DISCORDANCE:.0%} of them)"
        )
    return "; ".join(said)


def sources(rule: GuardRule, entry: Entry, task: TaskDefaults) -> tuple[RuleNumber, ...]:
    """Every number of the rule with its value and where it comes from: entry, task, metric, default, or nowhere."""
    return tuple(RuleNumber(name=name, value=getattr(rule, name), source=_source(name, rule, entry, task)) for name in OF_RULE)


def _source(name: str, rule: GuardRule, entry: Entry, task: TaskDefaults) -> str:
    if getattr(entry, name, None) is not None:
        return "entry"
    if getattr(task, name, None) is not None:
        return "task"
    if name == "metric":
        return "entry"  # its value stands under the metric's name
    if name == "higher_is_better":
        return "metric"
    return "default" if getattr(rule, name) is not None else "not given"
