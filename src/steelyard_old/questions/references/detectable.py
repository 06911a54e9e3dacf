"""What a reference can find: what a bare score would be held to, and the drop that would be found, by the guard itself."""

from __future__ import annotations

from typing import Any

from steelyard_old.errors import SteelyardError
from steelyard_old.estimate.guard.number import ASSUMED_DISCORDANCE, CandidateScore, guard_number
from steelyard_old.estimate.guard.rule import GuardRule, settle_rule
from steelyard_old.estimate.guard.verdict import Guarded
from steelyard_old.reference.entry import Entry, TaskDefaults
from steelyard_old.results.base import Warnings
from steelyard_old.results.references import ReferenceGate, RuleNumber

OF_RULE = ("metric", "higher_is_better", "scale", "alpha", "beta", "sigma", "theta", "margin", "num_samples", "threshold")


def gate_of(entry: Entry, task: TaskDefaults, warnings: Warnings) -> tuple[GuardRule | None, ReferenceGate]:
    """The rule of an entry and its gate: the guard asked about a run that scores exactly as the reference does.

    >>> rule, gate = gate_of(Entry(model="m", value=68.17, num_samples=4096, sigma=50), TaskDefaults(), Warnings())
    >>> round(gate.bare_score_threshold, 6), round(gate.mde, 6)
    (66.352676, 2.747193)
    """
    design = "threshold" if entry.threshold is not None else "paired" if entry.items is not None else "unpaired"
    try:
        rule = settle_rule({}, entry, task, warnings)
    except SteelyardError as fault:
        return None, _gate(design, note=str(fault))
    if rule.threshold is not None:
        return rule, _gate(design, rule.threshold, n=rule.num_samples, note="set by hand, so it has no known error rate")
    if entry.value is None:
        return rule, _gate(design, note="the entry has no value")
    try:
        found = guard_number(CandidateScore(value=entry.value, n=rule.num_samples), Guarded(entry=entry), rule, warnings)
    except SteelyardError as fault:
        return rule, _gate(design, n=rule.num_samples, note=fault.sentence)
    return rule, _gate(
        design,
        found.threshold,
        mde=found.mde,
        paired_mde=found.details.paired_would_find if design == "paired" else None,
        sigma=found.sigma,
        n=found.n,
        note=_note(design, rule, unfailing=found.verdict == "inconclusive"),
    )


def _gate(design: str, bare: float | None = None, **known: Any) -> ReferenceGate:
    """bare: what a bare score would be held to. Where items are paired, a run is held to what only its verdict knows."""
    return ReferenceGate(design=design, threshold=None if design == "paired" else bare, bare_score_threshold=bare, **known)


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
