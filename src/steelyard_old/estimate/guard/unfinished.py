"""A run that was ended before it was complete, and that was not planned to stop: what it saw, and no decision."""

from __future__ import annotations

from steelyard_old.estimate.guard.rule import GuardRule
from steelyard_old.estimate.guard.sequential import ENDED, ENDS, PairedSeries, flips_of
from steelyard_old.estimate.guard.verdict import Guarded, verdict_of
from steelyard_old.results.details import VerdictDetails
from steelyard_old.results.stopping import EarlyStopping, ReachedLimit
from steelyard_old.results.verdict import Needed, Verdict


def unfinished(
    series: PairedSeries | None,
    guarded: Guarded,
    rule: GuardRule,
    unit: float,
    *,
    n: int,
    available: int,
    value: float,
    flips: bool,
    ended: ReachedLimit,
) -> Verdict:
    """A verdict that decides nothing. `series`: the items beside their outcomes on record, None where the record has none.

    A test of all items was planned, so a part of them is not tested; the difference is the mean over the items in both.
    """
    difference = None if series is None else float((rule.sign * series.differences).mean()) * unit + 0.0
    stopping = EarlyStopping(
        design="none: the run was planned for all items",
        decision=ENDED,
        looks=(),
        looks_made=0,
        alpha_spent=0.0,
        level_of_pass=None,
        n_used=n,
        n_available=available,
        n_saved=available - n,
        observed=difference,
        estimate=difference,
        low=None,
        high=None,
        method="mean of the items asked",
        plan={},
        ended=ended,
    )
    return verdict_of(
        guarded,
        rule,
        verdict=ENDS[ENDED],
        design="paired" if series is not None else "unpaired",
        n=n,
        value=value * unit,
        reference=float(series.reference.mean()) * unit if series is not None else guarded.entry.value,
        difference=difference,
        flips=flips_of(series) if flips and series is not None else None,
        needed=Needed(n_items=available, more=available - n, why=ended.said),
        claim="nothing is claimed of a run that is not complete",
        details=VerdictDetails(stopping=stopping),
    )
