"""The normal law and the two intervals that need nothing else. `math` and `statistics` alone: this loads at once."""

from __future__ import annotations

import math
from statistics import NormalDist

from steelyard.errors import UsageError

STANDARD = NormalDist()
SIDES = ("two", "lower", "upper")


def lower_tail(z: float) -> float:
    """P(Z <= z) with all its digits far into the lower tail, where 1 + erf (the library's `NormalDist.cdf`) leaves none.

    >>> f"{lower_tail(-10.0):.6e}", lower_tail(0.0)
    ('7.619853e-24', 0.5)
    """
    return 0.5 * math.erfc(-z / math.sqrt(2))


def check_level(confidence_level: float) -> float:
    """A confidence level strictly between 0 and 1, or an error that says what to write."""
    try:
        level = float(confidence_level)
    except (TypeError, ValueError):
        level = math.nan
    if not 0 < level < 1:  # also catches NaN
        hint = f"write {level / 100:g}" if 1 < level < 100 else "0.95 is usual"
        raise UsageError("cannot use the confidence level", got=repr(confidence_level), need="a number strictly between 0 and 1", hint=hint)
    return level


def tail(confidence_level: float, side: str) -> float:
    """The probability left outside at each bounded end: half of 1 - level for two sides, all of it for one.

    >>> round(tail(0.95, "two"), 12), round(tail(0.95, "lower"), 12)
    (0.025, 0.05)
    """
    if side not in SIDES:
        raise UsageError(f"cannot use the side {side!r}", need=f"one of {', '.join(SIDES)}")
    rest = 1 - check_level(confidence_level)
    return rest / 2 if side == "two" else rest


def z_value(confidence_level: float, side: str = "two") -> float:
    """The multiple z of the standard error that leaves `tail` outside.

    The table of the textbooks falls out of it. Reference: Mitchell1997, table 5.1.

    >>> [round(z_value(level), 2) for level in (0.50, 0.68, 0.80, 0.90, 0.95, 0.98, 0.99)]
    [0.67, 0.99, 1.28, 1.64, 1.96, 2.33, 2.58]
    """
    return -STANDARD.inv_cdf(tail(confidence_level, side))


def clip(low: float, high: float, side: str, bottom: float = 0.0, top: float = 1.0) -> tuple[float, float]:
    """The interval inside its range; a one-sided interval reaches the end of the range on its open side."""
    return (bottom if side == "upper" else max(bottom, low)), (top if side == "lower" else min(top, high))


def wald(k: float, n: float, confidence_level: float = 0.95, side: str = "two", *, critical: float | None = None) -> tuple[float, float]:
    """The textbook interval p +- z sqrt(p (1-p) / n), clipped to [0, 1].

    Assumes: n p (1-p) large. It covers 65% instead of 95% at n = 10, p = 0.9, and has no width at k = 0 and k = n,
    where the answer here is refused by the caller. Offered by name because the textbooks teach it.
    Reference: Mitchell1997, equation 5.1; BrownCaiDasGupta2001 on what it is worth.

    >>> [round(x, 4) for x in wald(12, 40)]
    [0.158, 0.442]
    """
    p = k / n
    reach = (z_value(confidence_level, side) if critical is None else critical) * math.sqrt(p * (1 - p) / n)
    return clip(p - reach, p + reach, side)


def wilson(k: float, n: float, confidence_level: float = 0.95, side: str = "two", *, critical: float | None = None) -> tuple[float, float]:
    """The score interval: all p whose z-test does not reject k of n.

    Formula: (k + z^2/2 +- z sqrt(k (n-k)/n + z^2/4)) / (n + z^2). k and n need not be whole: a mean of scores in
    [0, 1] and an effective n go through the same formula. `critical` replaces z, by a t quantile for groups.
    Assumes: independent items. Coverage averages to the level and oscillates around it (minimum .84 at n = 20).
    Reference: Wilson1927; BrownCaiDasGupta2001.

    >>> [round(x, 6) for x in wilson(12, 40)]
    [0.180748, 0.4543]
    """
    z = z_value(confidence_level, side) if critical is None else critical
    z2 = z * z
    reach = z * math.sqrt(max(0.0, k * (n - k) / n) + z2 / 4)
    centre, scale = k + z2 / 2, n + z2
    low = 0.0 if k == 0 else (centre - reach) / scale  # the subtraction leaves a last bit at the ends
    high = 1.0 if k == n else (centre + reach) / scale
    return clip(low, high, side)
