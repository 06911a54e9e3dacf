"""Student's t for differences of a known range: two more items, one at either end, stand for what nobody has seen yet.

The spread of the items seen says nothing about the rare item that falls from 1 to 0: as long as none has been seen, t is far
too sure. Two items that are not there, at -reach and +reach, keep the spread honest, as they do for right and wrong
(Agresti and Coull, Bonett and Price). p, bounds and margins all come from the same n + 2 numbers, so they cannot disagree.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.infer.intervals.sums import student
from steelyard_old.infer.normal import tail
from steelyard_old.infer.paired.mcnemar import from_tails
from steelyard_old.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedT:
    """n items seen and their mean; centre, standard error and degrees of freedom of the n + 2; noise: the n items' own standard error."""

    n: float
    mean: float
    centre: float
    error: float
    df: float
    noise: float

    def p_value(self, alternative: str, edge: float = 0.0) -> float:
        """p of H0: the true mean is `edge`. No difference at all, asked about 0, gives 1."""
        from scipy.special import stdtr

        if edge == 0 and self.mean == 0 and self.noise == 0:
            return 1.0
        t = (self.centre - edge) / self.error
        return from_tails(float(stdtr(self.df, t)), float(stdtr(self.df, -t)), alternative)

    def interval(self, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
        """centre +- t x error, and never without the mean that was seen, which is farther from 0 than the centre."""
        reach = student(1 - tail(confidence_level, side), self.df) * self.error
        return min(self.centre - reach, self.mean), max(self.centre + reach, self.mean)

    @property
    def statistic(self) -> float:
        return self.centre / self.error


def bounded_t(differences: npt.ArrayLike, reach: float) -> BoundedT:
    """The t of n differences that lie in [-reach, reach], with one more item at either end.

    Formula: m = sum d / (n + 2), SE^2 = (sum d^2 + 2 reach^2 - (n + 2) m^2) / ((n + 1) (n + 2)), t with n + 1 degrees of freedom.
    Assumes: independent items, differences in the range. Costs: the standard error is wider by about
    sqrt(1 + 2 reach^2 / sum d^2), a twentieth where sum d^2 is 20 reach^2, and next to nothing beyond.
    Undefined: a difference outside the range (an error). Reference: BonettPrice2012 for right and wrong; Student1908.

    >>> found = bounded_t([0.5, 0.0, -0.5, 0.0, 1.0], 1.0)
    >>> round(found.centre, 6), round(found.error, 6), found.df, [round(x, 4) for x in found.interval()]
    (0.142857, 0.282722, 6, [-0.5489, 0.8347])
    """
    d = np.asarray(differences, float).ravel()
    n = len(d)
    if n == 0 or not 0 < reach < math.inf:
        raise DataError(f"n and reach must be above 0, not {n} and {reach:g}.", got=f"{n} items, a range of {reach:g}", need="both above 0")
    outside = int(np.count_nonzero(~(np.abs(d) <= reach * (1 + 1e-9))))
    if outside:
        raise DataError(
            f"{outside} {'difference is' if outside == 1 else 'differences are'} larger than the range of the scores, {reach:g}.",
            got=f"{outside} difference(s) beyond {reach:g}",
            need="differences within the range",
        )
    scaled = d / reach
    total = math.fsum(scaled) if n <= 1000 else float(scaled.sum())
    mean, centre = total / n, total / (n + 2)
    around = float(((scaled - mean) ** 2).sum())
    squares = around + n * (mean - centre) ** 2 + (1 - centre) ** 2 + (1 + centre) ** 2
    error = math.sqrt(squares / ((n + 1) * (n + 2)))
    noise = math.sqrt(around / (n * (n - 1))) if n > 1 else 0.0
    return BoundedT(n=n, mean=mean * reach, centre=centre * reach, error=error * reach, df=n + 1, noise=noise * reach)


def bounded_t_of_groups(mean: float, variance: float, df: float, groups: float, reach: float) -> BoundedT:
    """The same over groups of any sizes: mean and variance as they were estimated, `groups` equal ones that they are worth.

    Formula: the n of `bounded_t` is `groups`, the sum of squares around the mean n (n - 1) times the variance; two more degrees
    of freedom. Groups of one size: `bounded_t` of their means. Reference: BonettPrice2012; BellMcCaffrey2002.

    >>> means = [0.5, 0.0, -0.5, 0.0, 1.0]
    >>> found = bounded_t_of_groups(0.2, float(np.var(means, ddof=1)) / 5, 4, 5, 1.0)
    >>> round(found.centre, 6), round(found.error, 6), found.df, [round(x, 4) for x in found.interval()]
    (0.142857, 0.282722, 6, [-0.5489, 0.8347])
    """
    n, m = groups, mean / reach
    centre = n * m / (n + 2)
    squares = n * (n - 1) * variance / reach**2 + n * (m - centre) ** 2 + (1 - centre) ** 2 + (1 + centre) ** 2
    error = reach * math.sqrt(squares / ((n + 1) * (n + 2)))
    return BoundedT(n=n, mean=mean, centre=centre * reach, error=error, df=df + 2, noise=math.sqrt(variance))


def bounded_t_of_weights(differences: npt.ArrayLike, weights: npt.ArrayLike, reach: float) -> BoundedT:
    """The same for items that weigh unequally: the two more items weigh what the others do on average.

    Formula: mean = sum w d / sum w, its variance n / (n - 1) sum w^2 (d - mean)^2 / (sum w)^2, over the (sum w)^2 / sum w^2 equal
    items that they are worth, in which t has its degrees of freedom too. Equal weights: `bounded_t`.
    Assumes: independent items, weights that do not follow from the answers. Reference: Kish1965; BonettPrice2012.

    >>> d = [0.5, 0.0, -0.5, 0.0, 1.0]
    >>> found = bounded_t_of_weights(d, [2.0] * 5, 1.0)
    >>> round(found.centre, 6), round(found.error, 6), round(found.df, 6), [round(x, 4) for x in found.interval()]
    (0.142857, 0.282722, 6.0, [-0.5489, 0.8347])
    >>> round(bounded_t_of_weights(d, [1.0, 1.0, 1.0, 1.0, 4.0], 1.0).mean, 6)
    0.5
    """
    d, w = np.asarray(differences, float), np.asarray(weights, float)
    total, n = float(w.sum()), len(d)
    mean = float(w @ d) / total
    variance = n / (n - 1) * float(((w * (d - mean)) ** 2).sum()) / total**2 if n > 1 else 0.0
    worth = total**2 / float(w @ w)
    return bounded_t_of_groups(mean, variance, worth - 1, worth, reach)


def possible_range(*scores: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The range that undeclared scores seem to have: 0 to 1 where none lies outside, else the lowest and the highest seen.

    No reference: a rule of this library.

    Scores that all happen to be near 0.9 say nothing of how far one of them can fall; that scores stay in 0 to 1 is what they
    have in common nearly everywhere.

    >>> possible_range(np.array([0.9, 1.0]), np.array([0.8])), possible_range(np.array([3.0, 5.0]))
    ((0.0, 1.0), (3.0, 5.0))
    """
    low, high = min(float(each.min()) for each in scores), max(float(each.max()) for each in scores)
    return (0.0, 1.0) if 0 <= low <= high <= 1 else (low, high)
