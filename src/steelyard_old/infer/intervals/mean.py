"""The mean of bounded scores: Student's t that reckons with an unseen item at each end of the range, Wilson on the mean, and betting."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.infer.normal import tail, wilson

FloatArray = npt.NDArray[np.float64]
ENOUGH = 10.0  # spread, in squared distances from the mean to an end, at which the unseen item there counts half


def wilson_mean(mean: float, n: float, low: float, high: float, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """Wilson applied to a mean of scores in [low, high]: conservative, because Var <= mu (1 - mu) on [0, 1].

    Assumes: independent items, a known range. Covers .97 to 1.00 where t covers .57 (20 items, 95% of them perfect).
    Reference: Wilson1927; Popoviciu1935 for the bound on the variance.

    >>> [round(x, 4) for x in wilson_mean(0.95, 20, 0, 1)]
    [0.7639, 0.9911]
    """
    width = high - low
    ends = wilson((mean - low) / width * n, n, confidence_level, side)
    return low + width * ends[0], low + width * ends[1]


def bounded_mean(
    n: float, mean: float, squares: float, low: float, high: float, confidence_level: float = 0.95, side: str = "two"
) -> tuple[float, float]:
    """Student's interval for the mean of scores in [low, high], each end with one more item at its end of the range.

    A sample without a rare score at an end of the range says little about how rare such scores are, and t trusts its spread.
    Formula, for the lower end: with d = mean - low, an item at `low` of weight w is added to the n items, and the end is
    m - t_{N-1} sqrt(Q / (N (N-1))), N = n + w, m = mean - d w / N, Q = squares + d^2 n w / N. The weight
    w = u / (1 + squares / (10 d^2)), with sqrt(u) = (sqrt(z^2 - 4 log tail) - z) / 2, z the normal quantile. Equal items then reach
    about -log(tail) / n of the range below their value, as for no failure among n; once the spread is that of many items at the
    end, w vanishes and t remains. The upper end is the mirror image. Nothing changes suddenly with n.
    squares: sum of (x - mean)^2. Weighted items: Kish's n, and n (n - 1) times the squared standard error.
    Assumes: independent items, a known range. Undefined: never, from one item on.
    Reference: Student1908; AgrestiCoull1998, BonettPrice2012 for added items; the weight is ours (`steelyard certify --only "around 25"`).

    >>> [round(x, 4) for x in bounded_mean(24, 0.45, 0.23, 0, 1)], [round(x, 4) for x in bounded_mean(25, 0.45, 0.23, 0, 1)]
    ([0.3707, 0.5424], [0.3739, 0.5387])
    >>> [round(x, 4) for x in bounded_mean(100, 1.0, 0.0, 0, 1, 0.95, "lower")]
    [0.9702, 1]
    """
    q = tail(confidence_level, side)
    below = low if side == "upper" else _with_end(n, mean, squares, low, q)
    above = high if side == "lower" else -_with_end(n, -mean, squares, -high, q)
    return below, above


def _with_end(n: float, mean: float, squares: float, end: float, q: float) -> float:
    """The lower end of the mean, an item at `end` added, which the mean is not below."""
    from scipy.special import ndtri, stdtrit

    distance = mean - end
    if not distance > 0:
        return end
    z = -float(ndtri(q))
    whole = (math.sqrt(z * z - 4 * math.log(q)) - z) ** 2 / 4
    weight = whole / (1 + squares / distance / (ENOUGH * distance))
    total = n + weight
    spread = squares + distance * distance * n * weight / total
    reach = float(stdtrit(total - 1, 1 - q)) * math.sqrt(spread / total / (total - 1))
    return max(end, mean - distance * weight / total - reach)


def betting(
    scores: FloatArray, low: float, high: float, confidence_level: float = 0.95, side: str = "two", *, seed: int = 0
) -> tuple[float, float]:
    """The hedged betting interval: the means m against which no bettor has multiplied the stake by 1/alpha.

    Formula: K+ = prod (1 + l_i (x_i - m)), K- = prod (1 - l_i (x_i - m)), predictable bets
    l_i = sqrt(2 log(2/alpha) / (n s^2_{i-1})) truncated at c/m and c/(1-m), c = 1/2; the interval is
    {m : max(K+, K-)/2 < 1/alpha}. Items are taken in a seeded random order, since the bets depend on it.
    Assumes: independent items in [low, high], nothing else: valid for every n.
    Reference: WaudbySmithRamdas2024, equations 24 to 26 and section 4.3.

    >>> [round(x, 3) for x in betting(np.array([1.0, 1, 1, 0, 1, 1, 1, 1, 1, 1] * 5), 0, 1)]
    [0.744, 1.0]
    """
    x = (np.random.Generator(np.random.PCG64(seed)).permutation(np.sort(scores)) - low) / (high - low)
    if len(x) == 0 or np.any((x < 0) | (x > 1)):
        raise DataError(
            f"Some scores lie outside the range [{low:g}, {high:g}].",
            got="scores outside the range",
            need=f"scores within [{low:g}, {high:g}]",
        )
    alpha = 1 - confidence_level if side == "two" else tail(confidence_level, side) * 2
    bets = predictable_bets(x, alpha, horizon=len(x))
    wealth = math.log(2 / alpha)
    centre = float(np.clip(x.mean(), 1e-9, 1 - 1e-9))
    below = _bisect(lambda m: log_capital(x, bets, m)[0] >= wealth, 0.0, centre)
    above = 1 - _bisect(lambda m: log_capital(x, bets, 1 - m)[1] >= wealth, 0.0, 1 - centre)
    scale = high - low
    return (low if side == "upper" else low + scale * below), (high if side == "lower" else low + scale * above)


def predictable_bets(x: FloatArray, alpha: float, horizon: int | None = None) -> FloatArray:
    """The bet on item i from the items before it: running mean and variance, regularised by 1/2 and 1/4.

    With a known horizon n the bets aim at item n; without one they shrink as i log(1 + i), for looking at any time.
    """
    i = np.arange(1, len(x) + 1)
    aim = i * np.log1p(i) if horizon is None else float(horizon)
    mean = (0.5 + np.cumsum(x)) / (i + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (i + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    return np.asarray(np.sqrt(2 * math.log(2 / alpha) / (aim * before)))


def log_capital(x: FloatArray, bets: FloatArray, m: float, truncation: float = 0.5) -> tuple[float, float]:
    """log K+ and log K- at the mean m, in logs because capital overflows."""
    up = np.minimum(bets, truncation / m) if m > 0 else bets
    down = np.minimum(bets, truncation / (1 - m)) if m < 1 else bets
    return float(np.log1p(up * (x - m)).sum()), float(np.log1p(-down * (x - m)).sum())


def _bisect(rejected: Callable[[float], bool], low: float, high: float) -> float:
    """The edge between rejected means (near `low`) and kept ones (at `high`), to 1e-12; `low` if none is rejected."""
    if not rejected(low + 1e-12):
        return low
    while high - low > 1e-12:
        middle = (low + high) / 2
        if rejected(middle):
            low = middle
        else:
            high = middle
    return low
