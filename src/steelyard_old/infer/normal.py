"""The normal law and the two intervals that need nothing else. `math` alone, and one function of `statistics`: this loads at once."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from steelyard_old.options.option import unknown_word

if TYPE_CHECKING:
    from statistics import NormalDist

try:  # the function behind `NormalDist.inv_cdf`; its module brings fractions, decimals and random numbers, a tenth of a short command
    from _statistics import _normal_dist_inv_cdf as _inverse  # type: ignore[import-not-found]
except ImportError:
    _inverse = None


class _Standard:
    """`statistics.NormalDist()`, to the bit, loaded when the quantiles alone do not do."""

    @cached_property
    def _whole(self) -> NormalDist:
        from statistics import NormalDist

        return NormalDist()

    def inv_cdf(self, p: float) -> float:
        """The z with P(Z <= z) = p."""
        if _inverse is not None and 0.0 < p < 1.0:
            return _inverse(p, 0.0, 1.0)  # type: ignore[no-any-return]
        return self._whole.inv_cdf(p)

    def cdf(self, z: float) -> float:
        """P(Z <= z)."""
        return self._whole.cdf(z)


STANDARD = _Standard()
SIDES = ("two", "lower", "upper")
_EDGE = 0.1353352832366127  # exp(-2): where the middle ends
_ROOT_TWO_PI = 2.5066282746310007
# Coefficients of Moshier's rational approximations, highest power first; the denominators begin with 1.
_MIDDLE_ABOVE = (-59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968, -1.2391658386738125)
_MIDDLE_BELOW = (
    1.9544885833814176,
    4.676279128988815,
    86.36024213908905,
    -225.46268785411937,
    200.26021238006066,
    -82.03722561683334,
    15.90562251262117,
    -1.1833162112133,
)
_TAIL_ABOVE = (
    4.0554489230596245,
    31.525109459989388,
    57.16281922464213,
    44.08050738932008,
    14.684956192885803,
    2.1866330685079025,
    -0.1402560791713545,
    -0.03504246268278482,
    -0.0008574567851546854,
)
_TAIL_BELOW = (
    15.779988325646675,
    45.39076351288792,
    41.3172038254672,
    15.04253856929075,
    2.504649462083094,
    -0.14218292285478779,
    -0.03808064076915783,
    -0.0009332594808954574,
)
_FAR_ABOVE = (
    3.2377489177694603,
    6.915228890689842,
    3.9388102529247444,
    1.3330346081580755,
    0.20148538954917908,
    0.012371663481782003,
    0.00030158155350823543,
    2.6580697468673755e-06,
    6.239745391849833e-09,
)
_FAR_BELOW = (
    6.02427039364742,
    3.6798356385616087,
    1.3770209948908132,
    0.21623699359449663,
    0.013420400608854318,
    0.00032801446468212774,
    2.8924786474538068e-06,
    6.790194080099813e-09,
)


def lower_tail(z: float) -> float:
    """P(Z <= z) with all its digits far into the lower tail, where 1 + erf (the library's `NormalDist.cdf`) leaves none.

    Reference: Moshier1989, for erfc.

    >>> f"{lower_tail(-10.0):.6e}", lower_tail(0.0)
    ('7.619853e-24', 0.5)
    """
    return 0.5 * math.erfc(-z / math.sqrt(2))


def quantile(p: float) -> float:
    """The z with P(Z <= z) = p, to the bit what SciPy's `ndtri` gives: thresholds of other suites rest on its last bit.

    Formula: Moshier's rational approximations, one for the middle and two for the tails in x = sqrt(-2 log p).
    Reference: Moshier1989.

    >>> quantile(0.05), quantile(0.5)
    (-1.6448536269514729, 0.0)
    """
    upper = p > 1 - _EDGE
    y = 1 - p if upper else p
    if y > _EDGE:
        y -= 0.5
        square = y * y
        return (y + y * (square * _polynomial(square, _MIDDLE_ABOVE) / _polynomial(square, _MIDDLE_BELOW, monic=True))) * _ROOT_TWO_PI
    x = math.sqrt(-2 * math.log(y))
    z = 1 / x
    above, below = (_TAIL_ABOVE, _TAIL_BELOW) if x < 8 else (_FAR_ABOVE, _FAR_BELOW)
    found = (x - math.log(x) / x) - z * _polynomial(z, above) / _polynomial(z, below, monic=True)
    return found if upper else -found


def _polynomial(x: float, coefficients: tuple[float, ...], monic: bool = False) -> float:
    """By Horner's rule; `monic` has a leading 1 before the coefficients."""
    value = x + coefficients[0] if monic else coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def tail(confidence_level: float, side: str) -> float:
    """The probability left outside at each bounded end: half of 1 - level for two sides, all of it for one. No reference: a convention.

    >>> round(tail(0.95, "two"), 12), round(tail(0.95, "lower"), 12)
    (0.025, 0.05)
    """
    if side not in SIDES:
        raise unknown_word("side", side, SIDES)
    rest = 1 - confidence_level
    return rest / 2 if side == "two" else rest


def z_value(confidence_level: float, side: str = "two") -> float:
    """The multiple z of the standard error that leaves `tail` outside.

    The table of the textbooks falls out of it. Reference: Mitchell1997, table 5.1.

    >>> [round(z_value(level), 2) for level in (0.50, 0.68, 0.80, 0.90, 0.95, 0.98, 0.99)]
    [0.67, 0.99, 1.28, 1.64, 1.96, 2.33, 2.58]
    """
    return -STANDARD.inv_cdf(tail(confidence_level, side))


def clip(low: float, high: float, side: str, bottom: float = 0.0, top: float = 1.0) -> tuple[float, float]:
    """The interval inside its range; a one-sided interval reaches the end of the range on its open side.

    No reference: what lies outside the range cannot be.
    """
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
