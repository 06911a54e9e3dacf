"""Actual coverage of an interval: the chance that it contains the truth, added up over every outcome."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TIE = 1e-12  # a true difference and an end that equals it may part by a last bit
Ends = Callable[[int], tuple[float, float]]


def binomial_coverage(ends: Ends, n: int, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(coverage, mean width) of an interval of a proportion, at each true share.

    Formula: coverage(p) = sum over k of C(n, k) p^k (1 - p)^(n - k) [low(k) <= p <= high(k)], width alike.
    Assumes: n independent items, each right with probability p.
    Undefined: never; shares lie strictly inside 0 and 1.
    Reference: BrownCaiDasGupta2001

    >>> from steelyard_old.infer.intervals.proportion import wilson
    >>> covered, _ = binomial_coverage(lambda k: wilson(k, 10), 10, np.array([0.9]))
    >>> round(float(covered[0]), 3)
    0.93
    """
    low, high = np.array([ends(k) for k in range(n + 1)]).T
    p, chance = shares[:, None], _chances(n, shares)
    return (chance * ((low <= p) & (p <= high))).sum(axis=1), chance @ (high - low)


def _chances(n: int, shares: FloatArray) -> FloatArray:
    """P(k of n) for every k, one row per share."""
    from scipy.special import gammaln, xlog1py, xlogy

    k, p = np.arange(n + 1), shares[:, None]
    return np.asarray(np.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)))


def tables_of(n: int, cells: int) -> IntArray:
    """Every way to spread n items over the cells of a table, one row each, the first cell slowest.

    >>> tables_of(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    if cells == 1:
        return np.array([[n]])
    parts = [tables_of(n - first, cells - 1) for first in range(n + 1)]
    return np.concatenate([np.insert(rest, 0, first, axis=1) for first, rest in enumerate(parts)])


def multinomial_coverage(
    low: FloatArray, high: FloatArray, tables: IntArray, truths: FloatArray, targets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(coverage, mean width) of an interval of any function of a table, at each true law of its cells.

    Formula: coverage(p) = sum over tables of n! / (prod x_c!) prod p_c^x_c [low(x) <= target(p) <= high(x)], over the chance
    that an interval was given at all: where low is NaN (the metric has no value) none was.
    Assumes: n independent items; `tables` are all tables of n items, with the ends of the interval of each.
    Undefined: a law under which no table has an interval: NaN.
    Reference: Tango1998, section 4, for such sums over all tables.

    >>> from steelyard_old.infer.paired.mcnemar import tango
    >>> tables = tables_of(10, 3)  # gained, lost, the rest
    >>> low, high = np.array([tango(int(gained), int(lost), 10) for gained, lost, _ in tables]).T
    >>> covered, _ = multinomial_coverage(low, high, tables, np.array([[0.1, 0.1, 0.8]]), np.array([0.0]))
    >>> round(float(covered[0]), 4)
    0.9871
    """
    from scipy.special import gammaln, xlogy

    ways = gammaln(tables[0].sum() + 1) - gammaln(tables + 1).sum(axis=1)
    given = ~np.isnan(low)
    covered, width = np.empty(len(truths)), np.empty(len(truths))
    for i, (truth, target) in enumerate(zip(truths, targets, strict=True)):
        chance = np.where(given, np.exp(ways + xlogy(tables, truth).sum(axis=1)), 0.0)
        chance /= chance.sum() or np.nan
        covered[i] = (chance * ((low <= target + TIE) & (target - TIE <= high))).sum()
        width[i] = chance @ np.where(given, high - low, 0.0)
    return covered, width


def binomial_pair_coverage(low: FloatArray, high: FloatArray, pairs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(coverage, mean width) of an interval of p1 - p2 from two samples, at each pair (p1, p2).

    low[k1, k2] and high[k1, k2] are its ends for k1 of n1 and k2 of n2, for every k1 from 0 to n1 and k2 from 0 to n2.
    Formula: sum over k1, k2 of C(n1, k1) p1^k1 q1^(n1-k1) C(n2, k2) p2^k2 q2^(n2-k2) [low <= p1 - p2 <= high].
    Assumes: two independent samples of independent items. Undefined: never.
    Reference: Newcombe1998b, whose study of coverage adds up the same.

    >>> from steelyard_old.infer.unpaired import newcombe
    >>> low, high = np.array([[newcombe(i, 10, j, 10) for j in range(11)] for i in range(11)]).transpose(2, 0, 1)
    >>> covered, _ = binomial_pair_coverage(low, high, np.array([[0.9, 0.9]]))
    >>> round(float(covered[0]), 4)
    0.991
    """
    covered, width = np.empty(len(pairs)), np.empty(len(pairs))
    first, second = (_chances(size - 1, pairs[:, side]) for side, size in enumerate(low.shape))
    for i, (p1, p2) in enumerate(pairs):
        chance = np.outer(first[i], second[i])
        covered[i] = chance[(low <= p1 - p2 + TIE) & (p1 - p2 - TIE <= high)].sum()
        width[i] = (chance * (high - low)).sum()
    return covered, width


def averaged_coverage(ends: Ends, n: int, prior: tuple[float, float] = (0.5, 0.5)) -> float:
    """The coverage of an interval of a proportion, averaged over true shares that follow Beta(prior).

    Formula: sum over k of P(k) [I_high(a + k, b + n - k) - I_low(a + k, b + n - k)], P(k) = C(n, k) B(a + k, b + n - k) / B(a, b).
    An interval of the posterior under the same prior averages its level exactly, whatever n.
    Assumes: n independent items. Undefined: never.
    Reference: Jeffreys1946 for the prior; BrownCaiDasGupta2001 for coverage.

    >>> from steelyard_old.infer.intervals.proportion import wilson
    >>> round(averaged_coverage(lambda k: wilson(k, 10), 10), 3)
    0.954
    """
    from scipy.special import betainc, betaln

    a, b = prior
    k = np.arange(n + 1)
    low, high = np.array([ends(int(j)) for j in k]).T
    chance = np.exp(betaln(a + k, b + n - k) - betaln(a, b) - betaln(k + 1, n - k + 1) - np.log(n + 1))
    return float(chance @ (betainc(a + k, b + n - k, high) - betainc(a + k, b + n - k, low)))


RAREST = 1e-14  # numbers of disagreements with less chance than this are left out of a sum


def rejected_flips(region: Callable[[int], npt.NDArray[np.bool_]], n: int, lost: float, gained: float) -> float:
    """P(reject) of a test of right or wrong on the same items, whose answer depends on the losses and gains alone.

    `region(d)`: for d items that disagree, whether 0, 1, ..., d losses among them reject. Formula: the sum over d of
    P(Binomial(n, lost + gained) = d) times the sum over the losses of P(Binomial(d, lost / (lost + gained)) = losses).
    Assumes: n independent items, each lost and gained with these probabilities. Undefined: probabilities that are none.
    Reference: McNemar1947

    >>> from steelyard_old.infer.paired.mcnemar import mcnemar_exact
    >>> def region(d):
    ...     return np.array([mcnemar_exact(d - losses, losses) <= 0.05 for losses in range(d + 1)])
    >>> round(rejected_flips(region, 20, 0.15, 0.15), 4), round(rejected_flips(region, 20, 0.3, 0.0), 4)
    (0.013, 0.5836)
    """
    rate = lost + gained
    share = lost / rate if rate else 0.5
    chance = _chances(n, np.array([rate]))[0]
    losses = np.array([share])
    return float(sum(chance[d] * (_chances(int(d), losses)[0] @ region(int(d))) for d in np.flatnonzero(chance > RAREST)))


def rejected_pairs(rejected: npt.NDArray[np.bool_], p1: float, p2: float) -> float:
    """P(reject) of a test of two independent counts; rejected[k1, k2] says whether k1 of n1 and k2 of n2 reject.

    Formula: sum over k1, k2 of P(Binomial(n1, p1) = k1) P(Binomial(n2, p2) = k2) [rejected]. Assumes: independent items.
    Undefined: never. Reference: Fisher1935

    >>> k = np.arange(11)
    >>> round(rejected_pairs(np.abs(k[:, None] - k) >= 5, 0.5, 0.5), 4)
    0.0414
    """
    n1, n2 = (size - 1 for size in rejected.shape)
    return float(_chances(n1, np.array([p1]))[0] @ rejected @ _chances(n2, np.array([p2]))[0])
