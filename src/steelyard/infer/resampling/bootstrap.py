"""Intervals from redrawn values: percentile, BCa, studentized. Where the values came from does not matter here."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.infer.normal import STANDARD, tail

FloatArray = npt.NDArray[np.float64]


HOPELESS = 1_000  # samples without a value: with 0.4% defined, the fewest that reach a tail of 0.025, this happens once in 55 times


class Degenerate(Exception):
    """The redrawn values cannot carry an interval: all equal, or all on one side of the estimate. The caller falls back."""


class Undefined(Degenerate):
    """The metric has no value in the redrawn samples, or in too few of them to reach the tail."""


def check_draws(draws: int, confidence_level: float, side: str) -> int:
    """Enough draws to reach the tail: at least 1/tail - 1, so that the outermost quantile exists. Reference: PhipsonSmyth2010."""
    needed = _needed(confidence_level, side)
    if isinstance(draws, bool) or int(draws) != draws or draws < needed:
        raise UsageError(
            "cannot use the number of draws",
            got=f"{draws}",
            need=f"a whole number of at least {needed} for this level",
            hint="10000 is the default",
        )
    return int(draws)


def _needed(confidence_level: float, side: str) -> int:
    return int(np.ceil(1 / tail(confidence_level, side) - 1 - 1e-9))


def defined_values(blocks: Iterable[FloatArray], confidence_level: float = 0.95, side: str = "two") -> tuple[FloatArray, int]:
    """The redrawn values that are defined, and how many are not; `blocks` are drawn as they are asked for.

    Undefined: no value in the first 1,000 samples (the rest is not drawn), or too few to reach the tail: what is left would be
    a law of the samples in which, against the odds, every class occurs. Reference: PhipsonSmyth2010.

    >>> values, undefined = defined_values([np.arange(50.0), np.array([np.nan])])
    >>> len(values), undefined
    (50, 1)
    """
    kept: list[FloatArray] = []
    drawn = found = 0
    for block in blocks:
        kept.append(block[np.isfinite(block)])
        drawn, found = drawn + len(block), found + len(kept[-1])
        if drawn >= HOPELESS and not found:
            break
    refuse_undefined(found, drawn, confidence_level, side)
    return np.concatenate(kept), drawn - found


def refuse_undefined(found: int, drawn: int, confidence_level: float, side: str) -> None:
    """No interval from fewer values than reach the tail. Reference: PhipsonSmyth2010."""
    if found < _needed(confidence_level, side):
        raise Undefined(f"it is undefined in {drawn - found:,} of {drawn:,} redrawn samples")


def percentile(values: FloatArray, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """The quantiles of the redrawn values.

    Formula: the tail and 1 - tail quantiles, linear between order statistics. Undefined: all values equal.
    Reference: Efron1979; DavisonHinkley1997, section 5.3.1.

    >>> [round(x, 6) for x in percentile(np.arange(101.0), 0.90)]
    [5.0, 95.0]
    """
    _refuse_constant(values)
    rest = tail(confidence_level, side)
    low, high = np.quantile(values, [rest, 1 - rest])
    return float(low), float(high)


def bca(
    values: FloatArray, estimate: float, left_out: FloatArray, count: npt.ArrayLike = 1, confidence_level: float = 0.95, side: str = "two"
) -> tuple[float, float]:
    """Percentile, corrected for bias (z0) and for a standard error that changes with the parameter (a).

    Formula: quantiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z0 = Phi^-1(share of values below the estimate, ties
    half), a = sum (mean - t_i)^3 / (6 (sum (mean - t_i)^2)^1.5) over the leave-one-out values t_i, each `count` times.
    Undefined: all values equal, or all on one side of the estimate.
    Reference: Efron1987; DiCiccioEfron1996, equations 2.2 to 2.6.

    >>> rng = np.random.default_rng(0)
    >>> low, high = bca(rng.normal(size=4000), 0.0, rng.normal(size=50))
    >>> -2.5 < low < -1.5 < 1.5 < high < 2.5
    True
    """
    _refuse_constant(values)
    close = np.isclose(values, estimate, rtol=1e-12, atol=0)
    below = (np.count_nonzero((values < estimate) & ~close) + 0.5 * np.count_nonzero(close)) / len(values)
    if not 0 < below < 1:
        raise Degenerate("all redrawn values lie on one side of the estimate")
    z0 = STANDARD.inv_cdf(below)
    weights = np.broadcast_to(np.asarray(count, float), left_out.shape)
    gap = np.average(left_out, weights=weights) - left_out
    spread = float(weights @ gap**2)
    if spread <= 0:
        raise Degenerate("leaving items out changes nothing")
    a = float(weights @ gap**3) / (6 * spread**1.5)
    z = STANDARD.inv_cdf(1 - tail(confidence_level, side))
    ends = []
    for sign in (-1, 1):
        shifted = z0 + sign * z
        if a * shifted >= 1:
            raise Degenerate("the acceleration leaves the quantile undefined")
        ends.append(STANDARD.cdf(z0 + shifted / (1 - a * shifted)))
    low, high = np.quantile(values, ends)
    return float(low), float(high)


def studentized(
    values: FloatArray, errors: FloatArray, estimate: float, error: float, confidence_level: float = 0.95, side: str = "two"
) -> tuple[float, float]:
    """The bootstrap-t: quantiles of (value - estimate) / its own standard error take the place of Student's.

    A redrawn sample without spread has no t value; its quotient counts as infinite on the side of its sign, so that
    ignorance widens the interval. Undefined: when such samples fill a tail, or the sample itself has no spread.
    Reference: DavisonHinkley1997, section 5.2.1.

    >>> rng = np.random.default_rng(0)
    >>> low, high = studentized(rng.normal(size=4000), np.ones(4000), 0.0, 1.0)
    >>> -2.2 < low < -1.8 and 1.8 < high < 2.2
    True
    """
    if not error > 0:
        raise Degenerate("the sample has no spread")
    gap = values - estimate
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors > 0, gap / errors, np.sign(gap) * np.inf)
    t = np.where((errors <= 0) & (gap == 0), 0.0, t)
    rest = tail(confidence_level, side)
    lower, upper = np.quantile(t, [rest, 1 - rest], method="inverted_cdf")
    if not (np.isfinite(lower) and np.isfinite(upper)):
        raise Degenerate("too many redrawn samples have no spread")
    return float(estimate - upper * error), float(estimate - lower * error)


def _refuse_constant(values: FloatArray) -> None:
    if float(np.ptp(values)) <= 1e-14 * max(1.0, float(np.max(np.abs(values)))):
        raise Degenerate("all redrawn values are equal")
