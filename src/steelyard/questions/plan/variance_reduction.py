"""Designs that get more from what is on record, stopped early: several reference answers to an item, a reference on a larger pool."""

from __future__ import annotations

import math

from steelyard.errors import UsageError
from steelyard.infer.sequential.el_cost import Law, adjusted_law, averaged_law, expected_ends
from steelyard.late_dataclass import dataclass

SMALL_POOL = 3  # times the items of the mean healthy run: below that the pool is hardly larger than the run
USUAL_ACCURACY = 0.75  # where none was given; items of mean runs hardly depend on it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharper:
    """One design: its name, mean items if nothing changed and under the drop, the most there can be, and a note."""

    design: str
    healthy: int
    dropped: int
    at_most: int
    note: str


def averaged(
    theta: float, discordance: float, within: float, answers: int, accuracy: float | None, alpha: float, beta: float, batch: int
) -> Sharper:
    """One answer of the candidate against the mean of several on record: the noise of the reference is averaged away."""
    at = _usual(discordance, within) if accuracy is None else accuracy
    laws = [averaged_law(drop, discordance, within, answers, at) for drop in (0.0, theta)]
    times = discordance / _variance(laws[0])
    note = f"one new answer against the mean of {answers} on record: {times:.2f} times less variance; empirical likelihood"
    return _sharper(f"{answers} answers on record, stopped early", laws, note, theta, alpha, beta, batch)


def _usual(discordance: float, within: float) -> float:
    """An accuracy that leaves room for so much noise within items."""
    room = (1 - discordance + 2 * within**2) * USUAL_ACCURACY * (1 - USUAL_ACCURACY)
    return USUAL_ACCURACY if within**2 < 0.95 * room else 0.5


def adjusted(theta: float, discordance: float, accuracy: float, pool: int, alpha: float, beta: float, batch: int) -> Sharper:
    """Regression on a reference that covers a pool larger than the run."""
    laws = [adjusted_law(drop, discordance, accuracy) for drop in (0.0, theta)]
    times = discordance / _variance(laws[0])
    note = f"reference on a pool of {pool:,}; {times:.2f} times less variance; claims the pool; empirical likelihood"
    found = _sharper("regression-adjusted, stopped early", laws, note, theta, alpha, beta, batch)
    if pool < SMALL_POOL * found.healthy:
        raise UsageError(
            f"The pool of {pool:,} items is too small: it must have at least {SMALL_POOL} times the {found.healthy:,.0f} items of a run.",
            got=f"a reference on {pool:,} items for runs of {found.healthy:,.0f} on average",
            need=f"at least {SMALL_POOL} times as many",
            hint="without pool the reference is paired",
        )
    return found


def _sharper(design: str, laws: list[Law], note: str, theta: float, alpha: float, beta: float, batch: int) -> Sharper:
    healthy, dropped = (expected_ends(theta, law, alpha, beta, batch=batch) for law in laws)
    told = f"{note}; means by simulation, within {healthy.items_error:.2g} and {dropped.items_error:.2g}"
    return Sharper(design=design, healthy=math.ceil(healthy.items), dropped=math.ceil(dropped.items), at_most=dropped.at_most, note=told)


def _variance(law: Law) -> float:
    return sum(x * x * p for x, p in law)
