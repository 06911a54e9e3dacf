"""A run that was ended before it was complete, and that was not planned to stop: what it saw, and no decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.estimate.guard.number import GuardOutcome
from steelyard.estimate.guard.rule import GuardRule
from steelyard.estimate.guard.sequential import ENDED, ENDS, PairedSeries, flips_of
from steelyard.results.verdict import Needed


def unfinished(
    series: PairedSeries | None,
    guard: GuardRule,
    unit: float,
    *,
    n: int,
    available: int,
    value: float,
    reference: float | None,
    flips: bool,
    ended: Mapping[str, Any],
) -> GuardOutcome:
    """An outcome that decides nothing. `series`: the items beside their outcomes on record, None where the record has none.

    A test of all items was planned, so a part of them is not tested; the difference is the mean over the items in both.
    """
    difference = None if series is None else float((guard.sign * series.differences).mean()) * unit + 0.0
    facts = {
        "design": "none: the run was planned for all items",
        "decision": ENDED,
        "looks": [],
        "looks_made": 0,
        "alpha_spent": 0.0,
        "level_of_pass": None,
        "n_used": n,
        "n_available": available,
        "n_saved": available - n,
        "observed": difference,
        "estimate": difference,
        "low": None,
        "high": None,
        "method": "mean of the items asked",
        "plan": {},
        "ended": dict(ended),
    }
    return GuardOutcome(
        verdict=ENDS[ENDED],
        design="paired" if series is not None else "unpaired",
        test=None,
        p_value=None,
        n=n,
        value=value * unit,
        reference=float(series.reference.mean()) * unit if series is not None else reference,
        difference=difference,
        flips=flips_of(series) if flips and series is not None else None,
        needed=Needed(n_items=available, more=available - n, why=str(ended["said"])),
        claim="nothing is claimed of a run that is not complete",
        details={"stopping": facts},
    )
