"""Metrics that are a function of sums over items: each says which numbers one item adds, and what the totals mean.

mean, brier, log_loss, mae   (1, x)               total / total
ratio                        (below, above)       total / total, never a mean of ratios
perplexity                   (below, above)       exp(total / total)
rmse                         (1, e^2)             sqrt(total / total)
r2                           (1, y, y^2, e^2)     1 - sum e^2 / sum (y - mean)^2
ece                          (1, p - y by bin)    sum over bins |total| / n
a metric of a table          its margins          for items in groups, with weights or repeats
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.metrics.table import Margins, TableStatistic

FloatArray = npt.NDArray[np.float64]
BINS = 10


@dataclass(frozen=True, slots=True)
class SumStatistic:
    """value maps column totals, shape (..., k), to numbers, shape (...); gradient maps totals (k,) to derivatives (k,).

    classes: of how many classes the columns are the margins; 0 where they are none.
    """

    value: Callable[[FloatArray], FloatArray]
    gradient: Callable[[FloatArray], FloatArray]
    classes: int = 0


def _quotient(s: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(s[..., 0] != 0, s[..., 1] / s[..., 0], np.nan))


QUOTIENT = SumStatistic(_quotient, lambda s: np.array([-s[1] / s[0] ** 2, 1 / s[0]]))


def _perplexity(s: FloatArray) -> FloatArray:
    """exp(sum of minus log likelihoods / sum of words): infinite beyond float64. Reference: Jelinek1977."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(_quotient(s)))


def exponential(exponent: float) -> float:
    """exp, infinite where float64 ends.

    >>> exponential(0.0), exponential(1000.0)
    (1.0, inf)
    """
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf


def _r2(s: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        around_mean = s[..., 2] - s[..., 1] ** 2 / s[..., 0]
        # A resample of one distinct value has only rounding left around its mean.
        return np.asarray(np.where(around_mean > 1e-12 * np.abs(s[..., 2]), 1 - s[..., 3] / around_mean, np.nan))


def _r2_gradient(s: FloatArray) -> FloatArray:
    around_mean = s[2] - s[1] ** 2 / s[0]
    slope = s[3] / around_mean**2
    return np.array([slope * s[1] ** 2 / s[0] ** 2, slope * -2 * s[1] / s[0], slope, -1 / around_mean])


def _ece(s: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.abs(s[..., 1:]).sum(-1) / s[..., 0])


def _ece_gradient(s: FloatArray) -> FloatArray:
    return np.concatenate([[-np.abs(s[1:]).sum() / s[0] ** 2], np.sign(s[1:]) / s[0]])


STATISTICS: dict[str, SumStatistic] = {
    **dict.fromkeys(("mean", "brier", "log_loss", "mae", "ratio", "pass@", "pass^"), QUOTIENT),
    "rmse": SumStatistic(lambda s: np.sqrt(_quotient(s)), lambda s: QUOTIENT.gradient(s) / (2 * np.sqrt(s[1] / s[0]))),
    "r2": SumStatistic(_r2, _r2_gradient),
    "ece": SumStatistic(_ece, _ece_gradient),
    "perplexity": SumStatistic(_perplexity, lambda s: QUOTIENT.gradient(s) * _perplexity(s)),
}
# An increasing function of another statistic. An interval is found for that one, where it is nearly symmetric, and its ends
# are mapped: never below 0, and for percentile and BCa the same as without the detour.
THROUGH: dict[str, tuple[SumStatistic, Callable[[float], float]]] = {"perplexity": (QUOTIENT, exponential)}


def item_rows(base: str, *columns: FloatArray) -> FloatArray:
    """What each item adds, shape (items, k). Reference: Brier1950; Good1952 (log loss); Naeini2015 (calibration error).

    columns: mean (score); brier, log_loss, ece (probability of the positive class, 1 if it is positive);
    mae, rmse, r2 (truth, prediction); ratio, perplexity (above, below).

    >>> item_rows("brier", np.array([0.9]), np.array([1.0]))
    array([[1.  , 0.01]])
    """
    first = columns[0]
    ones = np.ones(len(first))
    if base in ("mean", "pass@", "pass^"):
        return np.stack([ones, first], axis=1)
    second = columns[1]
    if base in ("ratio", "perplexity"):
        return np.stack([second, first], axis=1)
    if base == "brier":
        return np.stack([ones, (first - second) ** 2], axis=1)
    if base == "log_loss":
        with np.errstate(divide="ignore"):
            return np.stack([ones, -np.log(np.where(second > 0, first, 1 - first))], axis=1)
    if base == "ece":
        # The last bin includes 1; bin edges as k/10, so that 0.3 lies in the bin that starts there.
        bins = np.minimum((first * BINS).astype(np.int64), BINS - 1)
        rows = np.zeros((len(first), 1 + BINS))
        rows[:, 0] = 1
        rows[np.arange(len(first)), 1 + bins] = first - second
        return rows
    error = second - first
    if base == "mae":
        return np.stack([ones, np.abs(error)], axis=1)
    if base == "rmse":
        return np.stack([ones, error**2], axis=1)
    centred = first - first.mean()  # R^2 does not depend on where y starts; its sums of squares lose digits if it starts far
    return np.stack([ones, centred, centred**2, error**2], axis=1)


def pass_at_k(right: npt.NDArray[np.integer], tries: npt.NDArray[np.integer], k: int) -> FloatArray:
    """Unbiased chance that at least one of k tries is right: 1 - C(tries - right, k) / C(tries, k), per problem.

    Undefined: fewer than k tries. Reference: Chen2021, equation 1.

    >>> pass_at_k(np.array([1]), np.array([2]), 1)
    array([0.5])
    """
    return 1 - _none_of(tries - right, tries, k)


def pass_hat_k(right: npt.NDArray[np.integer], tries: npt.NDArray[np.integer], k: int) -> FloatArray:
    """Unbiased chance that all k tries are right: C(right, k) / C(tries, k), per problem. Reference: Yao2024.

    >>> pass_hat_k(np.array([2]), np.array([4]), 2).round(6)
    array([0.166667])
    """
    return _none_of(right, tries, k)


def _none_of(some: npt.NDArray[np.integer], all_: npt.NDArray[np.integer], k: int) -> FloatArray:
    """C(some, k) / C(all, k) as a product of k quotients: no factorial overflows."""
    out = np.ones(len(some))
    for i in range(k):
        out *= np.maximum(some - i, 0) / (all_ - i)
    return out


def of_margins(statistic: TableStatistic, classes: int) -> SumStatistic:
    """A metric of a table as a function of summed margins [hits, truths, predictions, n]."""

    def margins(s: FloatArray) -> Margins:
        hit, truth, prediction = (s[..., i * classes : (i + 1) * classes] for i in range(3))
        return Margins(hit, truth, prediction, s[..., -1])

    def gradient(s: FloatArray) -> FloatArray:
        g = statistic.gradient(margins(s))
        return np.concatenate([g.hit, g.truth, g.prediction, [g.n]])

    return SumStatistic(lambda s: np.asarray(statistic.value(margins(s))), gradient, classes)
