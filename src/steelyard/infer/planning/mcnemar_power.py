"""Exact power of the paired design: how surely a drop is found, or ruled out, on items that both systems answer.

Of n items a share b is lost and a share c gained; discordance psi = b + c, drop theta = b - c. The number of disagreements
is D ~ Binomial(n, psi), the losses among them are L ~ Binomial(D, (psi + theta) / (2 psi)). Everything here sums over both.
The discordance is that of the world the power is asked for: under the drop where a drop is to be found.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from steelyard.errors import UsageError
from steelyard.infer.normal import STANDARD
from steelyard.infer.planning.search import (
    CAP,
    ROUNDING,
    FloatArray,
    IntArray,
    SizeFound,
    mixture_search,
    mixture_value,
    rising_root,
)

TESTS = ("mcnemar-midp", "mcnemar-exact")
ALTERNATIVES = ("less", "two-sided")
TIE = 1e-11  # tails are dyadic fractions: so close to alpha they are alpha, up to the rounding of the incomplete Beta


def critical_losses(discordant: IntArray, alpha: float, test: str = "mcnemar-midp", alternative: str = "less") -> IntArray:
    """The smallest number of losses among D disagreements that McNemar's test rejects; D + 1 where none does.

    Formula: smallest L with P(X > L) + P(X = L)/2 <= alpha (mid-p) or P(X >= L) <= alpha (exact), X ~ Binomial(D, 1/2);
    alpha/2 for two sides. A tail equal to alpha rejects. D = 0 never rejects. The start is Cornish and Fisher's expansion
    (variance D/4 + 1/6, the sixth from the half point), right to 1e-3 of an item from D = 50 on; the exact tails settle it.
    Reference: Fagerland2013; Lancaster1961; McNemar1947.

    >>> critical_losses(np.array([0, 4, 5, 9, 10, 134]), 0.05).tolist()
    [1, 4, 5, 8, 8, 77]
    """
    level = _level(alpha, test, alternative)
    d = np.asarray(discordant, dtype=np.int64)
    mid = test == "mcnemar-midp"
    z = -STANDARD.inv_cdf(level)
    start = d / 2 + np.sqrt(d / 4 + 1 / 6) * (z - (z**3 - 3 * z) / (12 * np.maximum(d, 1))) + (0 if mid else 0.5)
    losses = np.clip(np.ceil(start), 0, d + 1).astype(np.int64)
    moving, came = np.arange(d.size), np.zeros(d.size, dtype=np.int64)
    flat, d = losses.reshape(-1), d.reshape(-1)
    while moving.size:
        here, among = flat[moving], d[moving]
        upper = at_least(among, here, 0.5)
        at, before = _coin(among, here), _coin(among, here - 1)
        tail, tail_before = (upper - at / 2, upper + before / 2) if mid else (upper, upper + before)
        up = (came >= 0) & (here <= among) & (tail > level * (1 + TIE))
        down = (came <= 0) & ~up & (here > 0) & (tail_before <= level * (1 + TIE))
        step = up.astype(np.int64) - down
        flat[moving] += step
        moving, came = moving[step != 0], step[step != 0]  # never back: at a tie the two tails may disagree by a last bit
    flat[d == 0] = 1  # no disagreement: p = 1 by every name
    return losses


def at_least(trials: IntArray, k: IntArray, share: float) -> FloatArray:
    """P(X >= k), X ~ Binomial(trials, share), entry by entry; 1 for k <= 0 and 0 for k > trials.

    >>> at_least(np.array([4, 4, 4]), np.array([0, 3, 5]), 0.5).tolist()
    [1.0, 0.3125, 0.0]
    """
    from scipy.special import betainc

    inside = (k > 0) & (k <= trials)
    tail = betainc(np.where(inside, k, 1), np.where(inside, trials - k + 1, 1), share)
    return np.where(inside, tail, (k <= 0).astype(np.float64))


def mcnemar_power(n: int, discordance: float, theta: float, alpha: float, test: str = "mcnemar-midp", alternative: str = "less") -> float:
    """The probability that McNemar's test on n items rejects when the drop is theta; at theta = 0 its size.

    Formula: sum over D of P(D) P(L >= critical(D)); two-sided adds P(L <= D - critical(D)), the rejection in the wrong
    direction. Assumes: independent items, one answer each. Undefined: discordance below theta (error).
    Reference: Connor1987 for the design; Fagerland2013 for the tests.

    >>> round(mcnemar_power(50, 0.4, 0.24, 0.05, "mcnemar-exact"), 6)
    0.839357
    >>> round(mcnemar_power(2471, 0.04, 0.01, 0.05), 4)
    0.8019
    """
    if n < 1:
        raise UsageError("cannot compute the power", got=f"n = {n!r}", need="at least one item")
    return mixture_value(_conditional_power(discordance, theta, alpha, test, alternative), n, discordance)


def mcnemar_items(
    discordance: float,
    theta: float,
    alpha: float,
    beta: float,
    test: str = "mcnemar-midp",
    alternative: str = "less",
    cap: int = CAP,
) -> SizeFound:
    """The first and the stable number of items with which McNemar's test finds a drop of theta with power 1 - beta.

    Assumes and Undefined: as `mcnemar_power` and `search.mixture_search`. Reference: Connor1987.

    >>> tuple(mcnemar_items(0.04, 0.01, 0.05, 0.2))[:2]
    (2459, 2459)
    """
    check_theta(discordance, theta)
    if theta == 0:
        raise UsageError("cannot plan to find a drop of 0", need="a theta above 0")
    return mixture_search(
        _conditional_power(discordance, theta, alpha, test, alternative), discordance, 1 - a_probability("beta", beta), cap=cap
    )


def mcnemar_theta(
    n: int,
    discordance: float | Callable[[float], float],
    alpha: float,
    beta: float,
    test: str = "mcnemar-midp",
    alternative: str = "less",
) -> float:
    """The smallest drop that n items find with power 1 - beta.

    `discordance` is a number, or a function of the drop (such as psi0 + theta, from two healthy runs). Power rises with
    theta at fixed discordance, so there is one crossing; with a function one of the crossings is found.
    Undefined: not even losing all that disagrees would be found (error). Reference: Connor1987.

    >>> round(mcnemar_theta(2471, 0.04, 0.05, 0.2), 6)
    0.009974
    """
    target = 1 - a_probability("beta", beta) - ROUNDING
    share = discordance if callable(discordance) else lambda theta: discordance

    def surplus(theta: float) -> float:  # a drop that cannot happen counts as large enough: the crossing lies below
        psi = share(theta)
        return 1.0 if not theta <= psi <= 1 else mcnemar_power(n, psi, theta, alpha, test, alternative) - target

    high = 1.0
    if not callable(discordance):
        check_theta(discordance, 0.0)
        high = discordance
    theta = rising_root(surplus, 0.0, high, at_low=min(alpha - target, -ROUNDING), relative=1e-12)
    if not theta <= share(theta) <= 1 or surplus(theta) < 0:
        raise UsageError(
            f"cannot find any drop with {n:,} items",
            got=f"discordance {share(theta):.4g} at the largest drop there can be",
            need=f"power {1 - beta:.4g} at alpha {alpha:.4g}",
            hint="take more items, or allow a higher alpha or beta",
        )
    return theta


def mcnemar_alpha(n: int, discordance: float, theta: float, beta: float, test: str = "mcnemar-midp", alternative: str = "less") -> float:
    """The smallest alpha at which n items find a drop of theta with power 1 - beta.

    Power is a step function of alpha, rising: bisection on its logarithm finds the step. The power at that alpha may
    therefore exceed 1 - beta. Undefined: alpha below 1 is not enough, or 1e-300 is more than enough (error).
    Reference: Connor1987.

    >>> round(mcnemar_alpha(2471, 0.04, 0.01, 0.2), 4)
    0.0491
    """
    target = 1 - a_probability("beta", beta) - ROUNDING
    low, high = math.log(1e-300), math.log(1 - 1e-9)
    if mcnemar_power(n, discordance, theta, math.exp(high), test, alternative) < target:
        raise UsageError(f"cannot reach power {1 - beta:.4g} with {n:,} items", need="more items, whatever the alpha")
    if mcnemar_power(n, discordance, theta, math.exp(low), test, alternative) >= target:
        raise UsageError(
            "cannot name the smallest alpha",
            got=f"power {1 - beta:.4g} even at 1e-300 with {n:,} items",
            need="fewer items or a smaller theta",
        )
    while high - low > 1e-13 * max(1.0, -low):
        middle = (low + high) / 2
        enough = mcnemar_power(n, discordance, theta, math.exp(middle), test, alternative) >= target
        low, high = (low, middle) if enough else (middle, high)
    return math.exp(high)


def _conditional_power(discordance: float, theta: float, alpha: float, test: str, alternative: str) -> Callable[[IntArray], FloatArray]:
    """D -> the power given that D items disagree."""
    check_theta(discordance, theta)
    _level(alpha, test, alternative)
    share = (discordance + theta) / (2 * discordance)

    def power(d: IntArray) -> FloatArray:
        stretch = d.ndim == 1 and d.size > 0 and int(d[-1]) - int(d[0]) == d.size - 1
        critical = _of_stretch(int(d[0]), d.size, alpha, test, alternative) if stretch else critical_losses(d, alpha, test, alternative)
        found = at_least(d, critical, share)
        return found + at_least(d, critical, 1 - share) if alternative == "two-sided" else found

    return power


@functools.lru_cache(maxsize=32)
def _of_stretch(first: int, count: int, alpha: float, test: str, alternative: str) -> IntArray:
    """The critical losses of neighbouring D: they do not depend on the drop, so a search for it works them out once."""
    critical = critical_losses(np.arange(first, first + count), alpha, test, alternative)
    critical.setflags(write=False)
    return critical


def _coin(d: IntArray, k: IntArray) -> FloatArray:
    """P(X = k), X ~ Binomial(d, 1/2); 0 outside 0..d."""
    from scipy.special import gammaln

    inside = (k >= 0) & (k <= d)
    j = np.where(inside, k, 0)
    height = gammaln(d + 1) - gammaln(j + 1) - gammaln(d - j + 1) - d * math.log(2)
    return np.where(inside, np.exp(height), 0.0)


def _level(alpha: float, test: str, alternative: str) -> float:
    """The level of the losing tail."""
    if test not in TESTS:
        raise UsageError(f"cannot plan for the test {test!r}", need=f"one of {', '.join(TESTS)}")
    if alternative not in ALTERNATIVES:
        raise UsageError(f"cannot plan for the alternative {alternative!r}", need=f"one of {', '.join(ALTERNATIVES)}")
    return a_probability("alpha", alpha) / (2 if alternative == "two-sided" else 1)


def a_probability(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise UsageError(f"cannot use the {name}", got=repr(value), need="a number strictly between 0 and 1")
    return value


def check_theta(discordance: float, theta: float) -> None:
    if not 0 < discordance <= 1:
        raise UsageError("cannot use the discordance", got=repr(discordance), need="a share of items above 0, at most 1")
    if not 0 <= theta <= discordance:
        raise UsageError(
            "cannot plan for this drop",
            got=f"theta {theta!r} with discordance {discordance!r}",
            need="a theta from 0 to the discordance: items are lost only where the systems disagree",
            hint="discordance under the drop is at least that of two healthy runs plus theta",
        )
