"""Intervals for a proportion, k of n, each by its name."""

from __future__ import annotations

import math
from collections.abc import Callable

from steelyard_old.infer.normal import clip, tail, wald, wilson, z_value
from steelyard_old.options.option import not_offered

BinomialInterval = Callable[[float, float, float, str], tuple[float, float]]


def agresti_coull(k: float, n: float, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """Wald around the centre of Wilson: add z^2/2 successes and z^2/2 failures, then p +- z sqrt(p (1-p) / n).

    Assumes: independent items. Covers a little more than the level. Reference: AgrestiCoull1998 (the z^2 form, not +4).

    >>> [round(x, 4) for x in agresti_coull(12, 40)]
    [0.1797, 0.4553]
    """
    z = z_value(confidence_level, side)
    n_plus = n + z * z
    p = (k + z * z / 2) / n_plus
    reach = z * math.sqrt(p * (1 - p) / n_plus)
    return clip(p - reach, p + reach, side)


def clopper_pearson(k: float, n: float, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """The exact interval: all p for which neither tail of Binomial(n, p) at k is smaller than its share.

    Formula: Beta quantiles, low = B(a; k, n-k+1), high = B(1-a; k+1, n-k). Never covers less than the level.
    Reference: ClopperPearson1934.

    >>> [round(x, 6) for x in clopper_pearson(38, 40, 0.95, "lower")]
    [0.850848, 1.0]
    """
    from steelyard_old.infer.posterior.beta import beta_quantile

    rest = tail(confidence_level, side)
    low = 0.0 if k <= 0 else beta_quantile(k, n - k + 1, rest)
    high = 1.0 if k >= n else beta_quantile(k + 1, n - k, 1 - rest)
    return clip(low, high, side)


def jeffreys(k: float, n: float, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """Equal-tailed quantiles of Beta(k+1/2, n-k+1/2).

    Assumes: independent items. Its plain quantiles exclude p = 0 at k = 0 and p = 1 at k = n; the posterior does too.
    Reference: BrownCaiDasGupta2001, section 4.1.2; Jeffreys1946.

    >>> [round(x, 4) for x in jeffreys(12, 40)]
    [0.1756, 0.4522]
    """
    from steelyard_old.infer.posterior.beta import beta_quantile

    rest = tail(confidence_level, side)
    low, high = (beta_quantile(k + 0.5, n - k + 0.5, q) for q in (rest, 1 - rest))
    return clip(low, high, side)


def mid_p(k: float, n: float, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """Clopper-Pearson with half of the observed point's probability: P(X > k) + P(X = k)/2 = rest at the low end.

    Less conservative than exact, close to the level on average (minimum .93 at n = 20). Solved by bisection on the
    probability, to the last bits. Reference: BerryArmitage1995; Lancaster1961.

    >>> [round(x, 4) for x in mid_p(12, 40)]
    [0.1738, 0.4542]
    """
    rest = tail(confidence_level, side)
    low = 0.0 if k <= 0 else _solve(lambda p: _mid_tail(k, n, p) - rest)
    high = 1.0 if k >= n else _solve(lambda p: rest - _mid_tail(n - k, n, 1 - p))
    return clip(low, high, side)


def percentile_of_proportion(k: float, n: float, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """The percentile bootstrap of a proportion with infinitely many draws: quantiles of Binomial(n, k/n) / n.

    No width at k = 0 and k = n; the caller says what is given there. Reference: Efron1979.

    >>> percentile_of_proportion(12, 40)
    (0.175, 0.45)
    """
    rest = tail(confidence_level, side)
    p = k / n
    return clip(binomial_quantile(rest, n, p) / n, binomial_quantile(1 - rest, n, p) / n, side)


def binomial_quantile(q: float, n: float, p: float) -> int:
    """The smallest x with P(X <= x) >= q for X ~ Binomial(n, p)."""
    from scipy.special import betainc

    low, high = -1, int(n)
    while high - low > 1:
        middle = (low + high) // 2
        if betainc(int(n) - middle, middle + 1, 1 - p) >= q:  # P(X <= middle); bdtr would hold n in 32 bits
            high = middle
        else:
            low = middle
    return high


def _mid_tail(k: float, n: float, p: float) -> float:
    """P(X > k) + P(X = k)/2 = (P(X >= k) + P(X >= k+1))/2 for X ~ Binomial(n, p)."""
    from scipy.special import betainc

    at_least = float(betainc(k, n - k + 1, p)) if k > 0 else 1.0
    more = float(betainc(k + 1, n - k, p)) if k < n else 0.0
    return (at_least + more) / 2


def _solve(increasing: Callable[[float], float]) -> float:
    """The root of an increasing function on [0, 1], by bisection until no float lies between."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if increasing(middle) < 0:
            low = middle
        else:
            high = middle
    return middle


METHODS: dict[str, BinomialInterval] = {
    "wilson": wilson,
    "wald": wald,
    "agresti-coull": agresti_coull,
    "jeffreys": jeffreys,
    "clopper-pearson": clopper_pearson,
    "mid-p": mid_p,
    "percentile": percentile_of_proportion,
}


def proportion_interval(k: float, n: float, method: str, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """The interval of k of n by the method's name. Reference: BrownCaiDasGupta2001.

    >>> [round(x, 6) for x in proportion_interval(12, 40, "wilson")]
    [0.180748, 0.4543]
    """
    if method not in METHODS:
        raise not_offered("interval", method, "a proportion", tuple(METHODS))
    return METHODS[method](k, n, confidence_level, side)
