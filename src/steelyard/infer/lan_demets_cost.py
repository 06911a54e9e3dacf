"""What the Lan-DeMets rule will cost: mean items if nothing changed and if the drop is real, from the variance of a difference."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.errors import UsageError
from steelyard.infer.lan_demets import PRIOR_SHARE, PRIOR_UNITS
from steelyard.infer.spending import design


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Mean items without and with the drop, and the items by which all information is in if the drop is real."""

    healthy: float
    dropped: float
    at_most: int


def foreseen(
    theta: float,
    variance: float,
    variance_dropped: float,
    alpha: float = 0.05,
    beta: float = 0.2,
    *,
    batch: int = 32,
    looks: int = 20,
    spending: str = "obrien-fleming",
    futility: str = "hsd:0",
    allowance: float = 1.0,
) -> Cost:
    """Mean items of the group-sequential rule on differences with these variances, when nothing changed and under the drop.

    Formula: n (n + 20) / (n variance + 20 / 10) = expected information of the design, over theta^2, as the rule estimates it
    (a mean square shrunk to a tenth, worth 20 items), and half a batch for the wait until a look. Simulated runs differ by
    less than a tenth. Assumes: looks by information, scores within 0..1, items in random order; normal law.
    Reference: LanDeMets1983; ArmitageMcPhersonRowe1969.

    >>> cost = foreseen(0.02, 0.1, 0.12)
    >>> round(cost.healthy), round(cost.dropped), cost.at_most
    (789, 1358, 2240)
    """
    if not (theta > 0 and variance >= 0 and variance_dropped > 0):
        raise UsageError(
            "cannot foresee the items", got=f"theta {theta!r}, variances {variance!r} and {variance_dropped!r}", need="positive numbers"
        )
    plan = design(looks, alpha, beta, spending, futility, True)
    fixed = allowance * (plan.drift / theta) ** 2 / plan.inflation
    return Cost(
        healthy=_items(fixed * plan.expected_h0, variance) + batch / 2,
        dropped=_items(fixed * plan.expected_h1, variance_dropped) + batch / 2,
        at_most=batch * math.ceil(_items(fixed * plan.inflation, variance_dropped) / batch),
    )


def _items(information: float, variance: float) -> float:
    """The items whose estimated information is this much."""
    half = (information * variance - PRIOR_UNITS) / 2
    return half + math.sqrt(half * half + PRIOR_SHARE * PRIOR_UNITS * information)


def averaged_variance(discordance: float, within: float, answers: int) -> float:
    """The variance of one answer minus the mean of `answers` reference answers: what disagrees, less the noise averaged away.

    Formula: discordance - within^2 (1 - 1 / answers), within the standard deviation of one answer within an item.
    Reference: Miller2024, equation 9.

    >>> round(averaged_variance(0.1, 0.2236068, 4), 4)
    0.0625
    """
    return discordance - within * within * (1 - 1 / answers)


def adjusted_variance(discordance: float, accuracy: float) -> float:
    """The variance that regression on the reference's outcome leaves, with the reference known on a large pool.

    Formula: d (1 - d / (4 p (1 - p))), d the discordance of two runs of accuracy p. Undefined: p of 0 or 1.
    Reference: Deng2013.

    >>> round(adjusted_variance(0.1, 0.75), 6)
    0.086667
    """
    return discordance * (1 - discordance / (4 * accuracy * (1 - accuracy)))
