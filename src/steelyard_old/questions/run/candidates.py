"""Several candidates that were compared with one baseline, judged together: the verdict of each, and one of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard_old.questions.run.session import UntilDecided
from steelyard_old.results import signature
from steelyard_old.results.stopping import StoppedSuite, StoppedTask
from steelyard_old.results.verdict import WORSENING, Suite, SuiteRow, Verdict

if TYPE_CHECKING:
    from steelyard_old.questions.run.session import RunSession

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


def calls_of(session: RunSession) -> CallsMade:
    """The calls of a run: every model, item and repeat is one."""
    repeats = session.options.repeats
    return CallsMade(
        used=sum(session.counted) * repeats,
        available=len(session.prepared.cases) * repeats * len(session.models),
        of_baseline=session.counted[0] * repeats,
        limit=None if session.limit is None else session.limit.said,
    )


def judged_together(session: RunSession, verdicts: Sequence[Verdict | None]) -> Suite:
    """One verdict of all candidates: a regression if one is worse, a pass if all have passed, otherwise inconclusive."""
    baseline = session.baseline
    assert baseline is not None
    assert baseline.shared is not None
    found = [_not_seen(session, place) if each is None else each for place, each in enumerate(verdicts, 1)]
    kinds = [each.verdict for each in found]
    outcome = next((kind for kind in ("regression", "inconclusive") if kind in kinds), "pass")
    named = [each.model for each in found if each.verdict == "regression"]
    calls = calls_of(session)
    return Suite(
        verdict=outcome,
        correction=CORRECTION,
        alpha=baseline.shared,
        verdicts=tuple(found),
        rows=tuple(_row(each, baseline.shared) for each in found),
        name=session.prepared.task.name,
        conclusion=_conclusion(found, outcome, session.names[0], calls),
        stopping=StoppedSuite(
            rule={"rule": "candidates", "alpha": baseline.shared, "alpha_each": baseline.rule.alpha, "baseline": session.names[0]},
            decision=outcome,
            named=tuple(named),
            pooled=None,
            calls=calls.used,
            calls_available=calls.available,
            calls_saved=calls.saved,
            calls_baseline=calls.of_baseline,
            limit=session.limit,
            tasks=tuple(_stopped(session, place) for place in range(1, len(session.models))),
        ),
        signature=signature.write({"n": len(found), "correction": CORRECTION, "alpha": baseline.shared}),
    )


def _row(verdict: Verdict, alpha: float) -> SuiteRow:
    """The place of a verdict among all: its p-value at the share of alpha that it was judged by."""
    p_value = verdict.p_value
    return SuiteRow(
        task=verdict.task,
        model=verdict.model,
        spec=dict(verdict.spec),
        tier=verdict.tier,
        verdict=verdict.verdict,
        p_value=p_value,
        p_adjusted=None if p_value is None else min(1.0, p_value * alpha / verdict.alpha),
        confirmed=verdict.verdict == "regression",
        counts_as=verdict.verdict,
        waiver=None,
    )


def _stopped(session: RunSession, place: int) -> StoppedTask:
    watch = session.watch_of(place)
    assert isinstance(watch, UntilDecided)
    return watch.stopped(session.names[place], session.counted[place], len(session.prepared.cases))


def _not_seen(session: RunSession, place: int) -> Verdict:
    """Of a candidate that a limit ended before any item had both answers."""
    assert session.baseline is not None
    assert session.limit is not None
    rule = session.baseline.rule
    return Verdict(
        verdict="inconclusive",
        task=session.prepared.task.name,
        model=session.names[place],
        metric=rule.metric,
        scale=session.baseline.scale,
        design="paired",
        n=0,
        alpha=rule.alpha,
        beta=rule.beta,
        theta=rule.theta,
        spec={},
        conclusion=f"not decided: {session.limit.said}.",
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
