"""Designs that get more from what is on record, stopped early: several reference answers to an item, a reference on a larger pool."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.errors import UsageError
from steelyard.infer.lan_demets_cost import adjusted_variance, averaged_variance, foreseen

SMALL_POOL = 3  # times the items of the longest run: below that the pool is hardly larger than the run
SKEW, SKEW_ALLOWANCE = 0.8, 1.2  # above this accuracy adjusted differences are skew: without more items power falls to .74
RARE = 0.25  # below this accuracy they are skew the other way: false alarms of .06 to .07 were measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharper:
    """One design: its name, mean items if nothing changed and under the drop, the most there can be, and a note."""

    design: str
    healthy: int
    dropped: int
    at_most: int
    note: str


def averaged(theta: float, discordance: float, within: float, answers: int, alpha: float, beta: float, batch: int) -> Sharper:
    """One answer of the candidate against the mean of several on record: the noise of the reference is averaged away."""
    left = averaged_variance(discordance, within, answers)
    cost = foreseen(theta, left, left + theta - theta**2, alpha, beta, batch=batch)
    times = discordance / left
    return Sharper(
        design=f"{answers} answers on record, stopped early",
        healthy=math.ceil(cost.healthy),
        dropped=math.ceil(cost.dropped),
        at_most=cost.at_most,
        note=f"one new answer against the mean of {answers} on record: {times:.2f} times less variance; Lan-DeMets; by the normal law",
    )


def adjusted(
    theta: float, discordance: float, accuracy: float, pool: int, alpha: float, beta: float, batch: int, warnings: list[str]
) -> Sharper | None:
    """Regression on a reference that covers a pool larger than the run; None, with a warning, where it does not keep alpha."""
    if accuracy < RARE:
        warnings.append(
            f"regression on a larger pool is left out: at an accuracy of {accuracy:g} its differences are so skew that false alarms "
            "reach .07 where .05 is asked for"
        )
        return None
    allowance = SKEW_ALLOWANCE if accuracy > SKEW else 1.0
    left = adjusted_variance(discordance, accuracy)
    cost = foreseen(theta, left, left + theta - theta**2, alpha, beta, batch=batch, allowance=allowance)
    if pool < SMALL_POOL * cost.healthy:
        raise UsageError(
            "cannot adjust by this pool",
            got=f"a reference on {pool:,} items for runs of {cost.healthy:,.0f} on average",
            need=f"at least {SMALL_POOL} times as many",
            hint="without pool the reference is paired",
        )
    more = f"{allowance:g} times the information, for skew differences; " if allowance > 1 else ""
    note = f"reference on a pool of {pool:,}; {discordance / left:.2f} times less variance; {more}claims the pool; by the normal law"
    return Sharper(
        design="regression-adjusted, stopped early",
        healthy=math.ceil(cost.healthy),
        dropped=math.ceil(cost.dropped),
        at_most=cost.at_most,
        note=note,
    )
