"""A mean over strata: every task of a group is a sample of its own, and only the spread within tasks makes their mean uncertain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.intervals.sums import student
from steelyard_old.infer.normal import tail, wilson
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedMean:
    """The mean, its standard error, Satterthwaite's degrees of freedom, and how many strata and items."""

    estimate: float
    error: float
    df: float
    strata: int
    n: int

    def student(self, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
        """Student's interval. Reference: Cochran1977, 5.4."""
        width = student(1 - tail(confidence_level, side), self.df) * self.error
        return self.estimate - width, self.estimate + width

    def wilson(self, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
        """Of right or wrong: Wilson at the n of a simple sample with this standard error; without any spread, at n items."""
        p = min(1.0, max(0.0, self.estimate))
        n = p * (1 - p) / self.error**2 if self.error > 0 and 0 < p < 1 else float(self.n)
        return wilson(p * n, n, confidence_level, side)


def item_weights(stratum: npt.NDArray[np.int64], *, alike: bool) -> FloatArray:
    """The weight of each item in the mean: 1/n by size, 1/(strata x items of its stratum) if alike. Reference: Cochran1977, 5.2."""
    sizes = np.bincount(stratum)
    return 1.0 / (len(sizes) * sizes[stratum]) if alike else np.full(len(stratum), 1.0 / len(stratum))


def stratified_mean(x: FloatArray, stratum: npt.NDArray[np.int64], *, alike: bool = False) -> StratifiedMean:
    """The mean over strata with codes 0, 1, 2, ... and none empty.

    Formula: m = sum_t W_t m_t, v = sum_t W_t^2 s_t^2 / n_t with W_t = n_t / n, or 1 / T if alike. A stratum of one item has the
    mean variance of the others. df = v^2 / sum_t (W_t^2 s_t^2 / n_t)^2 / (n_t - 1). Reference: Cochran1977, 5.3 and 5.4.

    >>> x, t = np.array([1.0, 0, 1, 1, 0, 0]), np.array([0, 0, 0, 0, 1, 1])
    >>> found = stratified_mean(x, t)
    >>> round(found.estimate, 3), round(found.error, 3)
    (0.5, 0.167)
    >>> stratified_mean(x, t, alike=True).estimate
    0.375
    """
    sizes = np.bincount(stratum).astype(float)
    strata, n = len(sizes), len(x)
    share = np.full(strata, 1.0 / strata) if alike else sizes / n
    means = np.bincount(stratum, weights=x) / sizes
    squares = np.bincount(stratum, weights=(x - means[stratum]) ** 2)
    several = sizes > 1
    variance = np.zeros(strata)
    variance[several] = squares[several] / (sizes[several] - 1)
    if several.any():
        variance[~several] = variance[several].mean()
    parts = share**2 * variance / sizes
    v = float(parts.sum())
    below = float((parts[several] ** 2 / (sizes[several] - 1)).sum())
    df = v**2 / below if below > 0 else float(max(1, n - strata))
    return StratifiedMean(estimate=float(share @ means), error=float(np.sqrt(v)), df=df, strata=strata, n=n)
