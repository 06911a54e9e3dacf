"""Several candidates that were held against one baseline, judged together: the verdict of each, and one of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.questions.run.session import UntilDecided
from steelyard.results import signature
from steelyard.results.verdict import WORSENING, Suite, Verdict

if TYPE_CHECKING:
    from steelyard.questions.run.session import RunSession

CORRECTION = "bonferroni"
NAMED = 3  # candidates that a sentence names


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsMade:
    """How many calls counted, of how many there could have been, and of which the baseline had its share."""

    used: int
    available: int
    of_baseline: int
    limit: str | None

    @property
    def saved(self) -> int:
        return self.available - self.used

    @property
    def words(self) -> str:
        """What to say of them."""
        calls = f"Made {self.used:,} of {self.available:,} calls, {self.of_baseline:,} of them of the baseline"
        return f"{calls}." if self.limit is None else f"{calls}: {self.limit}."


def calls_of(held: RunSession) -> CallsMade:
    """The calls of a run: every model, item and repeat is one."""
    repeats = held.wish.repeats
    return CallsMade(
        used=sum(held.counted) * repeats,
        available=len(held.prepared.cases) * repeats * len(held.models),
        of_baseline=held.counted[0] * repeats,
        limit=None if held.limit is None else held.limit.words,
    )


def judged_together(held: RunSession, verdicts: Sequence[Verdict | None]) -> Suite:
    """One verdict of all candidates: a regression if one is worse, a pass if all have passed, otherwise inconclusive."""
    bench = held.bench
    assert bench is not None
    assert bench.shared is not None
    found = [_not_seen(held, place) if each is None else each for place, each in enumerate(verdicts, 1)]
    kinds = [each.verdict for each in found]
    outcome = next((kind for kind in ("regression", "inconclusive") if kind in kinds), "pass")
    named = [each.model for each in found if each.verdict == "regression"]
    calls = calls_of(held)
    return Suite(
        verdict=outcome,
        correction=CORRECTION,
        alpha=bench.shared,
        verdicts=tuple(found),
        rows=tuple(_row(each, bench.shared) for each in found),
        name=held.prepared.task.name,
        conclusion=_conclusion(found, outcome, held.names[0], calls),
        stopping={
            "rule": {"rule": "candidates", "alpha": bench.shared, "alpha_each": bench.rule.alpha, "baseline": held.names[0]},
            "decision": outcome,
            "named": named,
            "pooled": None,
            "calls": calls.used,
            "calls_available": calls.available,
            "calls_saved": calls.saved,
            "calls_baseline": calls.of_baseline,
            "limit": None if held.limit is None else held.limit.to_dict(),
            "tasks": [_facts(held, place) for place in range(1, len(held.models))],
        },
        signature=signature.write({"n": len(found), "correction": CORRECTION, "alpha": bench.shared}),
    )


def _row(verdict: Verdict, alpha: float) -> dict[str, Any]:
    """The place of a verdict among all: its p-value at the share of alpha that it was judged by."""
    p_value = verdict.p_value
    return {
        "task": verdict.task,
        "model": verdict.model,
        "spec": dict(verdict.spec),
        "tier": verdict.tier,
        "verdict": verdict.verdict,
        "p_value": p_value,
        "p_adjusted": None if p_value is None else min(1.0, p_value * alpha / verdict.alpha),
        "confirmed": verdict.verdict == "regression",
        "counts_as": verdict.verdict,
        "waiver": None,
    }


def _facts(held: RunSession, place: int) -> Mapping[str, Any]:
    watch = held.watch_of(place)
    assert isinstance(watch, UntilDecided)
    looks = watch.rule.looks
    last: Mapping[str, Any] = looks[-1] if looks else {}
    return {
        "task": held.names[place],
        "n": held.counted[place],
        "available": len(held.prepared.cases),
        "alpha": watch.plan.alpha,
        "lambda": last.get("lambda"),
        "needed": last.get("needed"),
        "decision": watch.rule.decision,
    }


def _not_seen(held: RunSession, place: int) -> Verdict:
    """Of a candidate that a limit ended before any item had both answers."""
    assert held.bench is not None
    assert held.limit is not None
    rule = held.bench.rule
    return Verdict(
        verdict="inconclusive",
        task=held.prepared.task.name,
        model=held.names[place],
        metric=rule.metric,
        scale=held.bench.scale,
        design="paired",
        n=0,
        alpha=rule.alpha,
        beta=rule.beta,
        theta=rule.theta,
        spec={},
        conclusion=f"not decided: {held.limit.words}.",
    )


def _conclusion(found: Sequence[Verdict], outcome: str, baseline: str, calls: CallsMade) -> str:
    named = [each.model for each in found if each.verdict == outcome]
    shown = ", ".join(named[:NAMED]) + (f" and {len(named) - NAMED:,} more" if len(named) > NAMED else "")
    some = f"{len(named):,} of {len(found):,} candidates {'is' if len(named) == 1 else 'are'}"
    if outcome == "regression":
        return f"{some} worse than {baseline}: {shown}."
    if outcome == "inconclusive":
        return f"{some} not decided against {baseline}: {shown}{'' if calls.limit is None else f' ({calls.limit})'}."
    worse = WORSENING[found[0].higher_is_better]
    return f"Every one of {len(found):,} candidates rules out a {worse} of {found[0].theta:g} against {baseline}."
