"""The decision of a guard: from a p-value, a bound and what could have been found, to pass, regression or inconclusive."""

from __future__ import annotations

import math
from collections.abc import Callable

from steelyard_old.infer.normal import lower_tail
from steelyard_old.tally.rounding import rounding


def decide(
    p_value: float, alpha: float, *, theta: float | None = None, lower: float | None = None, attainable: float = 0.0, enough: bool = True
) -> str:
    """regression if p <= alpha; with theta, pass only if a drop of theta is ruled out; inconclusive if nothing could be found.

    `p_value` tests H0: d >= -margin, d the difference turned so that up is good. `lower` is the one-sided bound of level
    1 - alpha for d; `attainable` the smallest p that any outcome on these items could have given; `enough`: whether there are
    groups enough to judge by.
    Reference: Piaggio2012 for the three-way reading of a bound and a margin.

    >>> decide(0.03, 0.05), decide(0.4, 0.05), decide(0.4, 0.05, theta=0.02, lower=-0.03), decide(0.5, 0.05, attainable=0.125)
    ('regression', 'pass', 'inconclusive', 'inconclusive')
    """
    if attainable > alpha or not enough:
        return "inconclusive"
    if p_value <= alpha:
        return "regression"
    if theta is None:
        return "pass"
    return "pass" if lower is not None and lower > -theta else "inconclusive"


def agreeing_bounds(
    lower: float | None, upper: float | None, p_value: float, alpha: float, margin: float
) -> tuple[float | None, float | None]:
    """The bounds, moved where they would contradict the p-value: a regression's upper bound is not above -margin, a pass's not below.

    A score interval and a mid-p test rest on different approximations and part on a few small tables; the test decides.
    Reference: Tango1998; Fagerland2013 for the test.

    >>> agreeing_bounds(-0.05, 0.001, 0.04, 0.05, 0.0), agreeing_bounds(-0.05, -0.001, 0.06, 0.05, 0.0)
    ((-0.05, 0.0), (-0.05, 0.0))
    """
    edge = 0.0 - margin
    if upper is not None:
        upper = min(upper, edge) if p_value <= alpha else max(upper, edge)
    if lower is not None and upper is not None:
        lower = min(lower, upper)
    return lower, upper


def two_sample_p(difference: float, error: float, margin: float = 0.0) -> float:
    """P(a difference this low or lower | the true one is -margin), by the normal law; without noise it is 0 or 1.

    Reference: Cohen1988.

    >>> round(two_sample_p(-1.817324, 1.1048543), 4)
    0.05
    """
    away = difference + margin
    if error == 0:
        return 0.0 if away < 0 else 1.0
    return lower_tail(away / error)


def student_p(difference: float, error: float, df: float, margin: float = 0.0) -> float:
    """P(a difference this low or lower | the true one is -margin), by Student's t. Reference: Student1908.

    >>> round(student_p(-0.02, 0.01, 4), 4)
    0.0581
    """
    from scipy.special import stdtr

    return float(stdtr(df, (difference + margin) / error))


def student_reach(df: float, alpha: float) -> float:
    """How many standard errors a one-sided bound of level 1 - alpha lies away, by Student's t. Reference: Student1908.

    >>> round(student_reach(4, 0.05), 4)
    2.1318
    """
    from scipy.special import stdtrit

    return -float(stdtrit(df, alpha))


def smallest_within_p(baseline: list[int], candidate: list[int]) -> float:
    """The smallest p of runs permuted within items: one in so many ways to deal them, the observed way counting half.

    Reference: Fagerland2013 for counting it half; one run on each side of n items gives McNemar's.

    >>> round(smallest_within_p([1, 1, 1], [1, 1, 1]), 12), smallest_p(3, "mcnemar-midp")
    (0.0625, 0.0625)
    """
    ways = math.fsum(math.log(math.comb(a + b, b)) for a, b in zip(baseline, candidate, strict=True))
    return math.exp(-min(ways, 700.0)) / 2


def smallest_p(units: int, test: str) -> float:
    """The smallest one-sided p that `units` differences can give: all of them losses. Reference: Fagerland2013.

    >>> smallest_p(4, "mcnemar-midp"), smallest_p(4, "sign-flip")
    (0.03125, 0.0625)
    """
    if units > 1000:
        return 0.0
    return math.ldexp(1.0, -units - 1) if test == "mcnemar-midp" else math.ldexp(1.0, -units)


def most_losses(p_of_losses: Callable[[int], float], losable: int, alpha: float) -> int | None:
    """The most losses that are not significant, of `losable`; None if all of them may be lost and no p is at most alpha.

    `p_of_losses` is the p-value of so many losses beside the gains there are; it falls as losses rise.
    Reference: Fagerland2013.

    >>> from steelyard_old.infer.paired.mcnemar import mcnemar_midp
    >>> [most_losses(lambda lost: mcnemar_midp(gained, lost, "less"), 100, 0.05) for gained in (0, 2)]
    [3, 7]
    >>> most_losses(lambda lost: mcnemar_midp(0, lost, "less"), 3, 0.05)
    """
    if p_of_losses(losable) > alpha:
        return None
    low, high = -1, losable
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if p_of_losses(middle) <= alpha else (middle, high)
    return low


def agreeing_threshold(threshold: float, value: float, edge: float, *, worse: bool) -> float:
    """A threshold from a standard error, moved where it would contradict the p-value: a score below it is worse, one at it is not.

    All three are turned so that up is good; `edge` is the reference less the margin. Where a threshold has to be moved above a
    score that is worse, it goes a hundredth of the way to the edge, so that the two can be told apart.
    Reference: Fagerland2013 and Tango1998, whose test and bound part on a few small tables; the test decides.

    >>> agreeing_threshold(0.70, 0.72, 0.8, worse=False), agreeing_threshold(0.75, 0.72, 0.8, worse=False)
    (0.7, 0.72)
    >>> agreeing_threshold(0.70, 0.72, 0.8, worse=True)
    0.7208
    """
    if not worse:
        return min(threshold, value)
    return threshold if value < threshold else max(value + (edge - value) / 100, math.nextafter(value, math.inf))


def run_excess(run_means: list[float], within: float, n: float) -> float:
    """The variance that runs share beyond the noise of their items: max(0, s_run^2 - w/n). It does not shrink with n.

    Formula: s_run^2 is the variance of the runs' means, w the mean variance of an item's answers over runs.
    Reference: Miller2024 for the split of the variance; Satterthwaite1946 for the degrees of freedom used with it.

    >>> round(run_excess([0.80, 0.84, 0.82], 0.04, 1000), 6)
    0.00036
    >>> run_excess([59 / 60, 58 / 60, 1.0], 1 / 60, 60)  # equal but for rounding
    0.0
    """
    if len(run_means) < 2:
        return 0.0
    mean = math.fsum(run_means) / len(run_means)
    spread = math.fsum((x - mean) ** 2 for x in run_means) / (len(run_means) - 1)
    excess, largest = spread - within / n, max(map(abs, run_means))
    # a mean is off by last bits of itself, so a squared distance by those of twice their product
    return excess if excess > rounding(spread + 2 * largest * math.sqrt(spread), len(run_means)) else 0.0


def satterthwaite(parts: list[tuple[float, float]]) -> float:
    """Degrees of freedom of a sum of variances, each with its own: (sum v)^2 / sum(v^2 / df). Reference: Satterthwaite1946.

    >>> satterthwaite([(1.0, 10.0), (0.0, 4.0)])
    10.0
    """
    below = math.fsum(v * v / df for v, df in parts)
    return math.fsum(v for v, _ in parts) ** 2 / below if below > 0 else math.inf


def separate_ratio(value: float, reference: float, of_value: float, of_reference: float, reach: float) -> tuple[float, float] | None:
    """Bounds of value / reference for two separate estimates with these variances, `reach` standard errors away; None if there are none.

    Formula: the ratios r with (value - r reference)^2 <= reach^2 (of_value + r^2 of_reference). The reference has to be clear of 0.
    Reference: Fieller1954.

    >>> [round(end, 4) for end in separate_ratio(0.78, 0.8, 0.0001, 0.0001, 1.645)]
    [0.9467, 1.0041]
    """
    square = reference * reference - reach * reach * of_reference
    if square <= 0:
        return None
    middle, constant = value * reference, value * value - reach * reach * of_value
    root = math.sqrt(max(0.0, middle * middle - square * constant))
    return (middle - root) / square, (middle + root) / square
