"""Exact power of the paired design: how surely a drop is found, or ruled out, on items that both systems answer.

Of n items a share b is lost and a share c gained; discordance psi = b + c, drop theta = b - c. The number of disagreements
is D ~ Binomial(n, psi), the losses among them are L ~ Binomial(D, (psi + theta) / (2 psi)). Everything here sums over both.
The discordance is that of the world the power is asked for: under the drop where a drop is to be found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.normal import STANDARD
from steelyard_old.infer.planning.search import (
    CAP,
    LEVELS,
    ROUNDING,
    FloatArray,
    IntArray,
    SizeFound,
    alpha_bracket,
    binomial_stretches,
    binomial_weights,
    first_jump,
    mixture_search,
    mixture_value,
    running_sums,
    whole_between,
)
from steelyard_old.options.option import unknown_word

TESTS = ("mcnemar-midp", "mcnemar-exact")
ALTERNATIVES = ("less", "two-sided")
ANCHORED = 4096  # neighbouring tails are carried so far before one is worked out anew: sums of roundings stay below 1e-12
NEAR = 1e-6  # Newton's step, as a share of theta, after which the next would move less than rounding does
NEVER = 1e-30  # in place of a chance of 0, whose logarithm is no number
TIE = 1e-11  # tails are dyadic fractions: so close to alpha they are alpha, up to the rounding of the incomplete Beta


def critical_losses(discordant: IntArray, alpha: float, test: str = "mcnemar-midp", alternative: str = "less") -> IntArray:
    """The smallest number of losses among D disagreements that McNemar's test rejects; D + 1 where none does.

    Formula: smallest L with P(X > L) + P(X = L)/2 <= alpha (mid-p) or P(X >= L) <= alpha (exact), X ~ Binomial(D, 1/2);
    alpha/2 for two sides. A tail equal to alpha rejects. D = 0 never rejects. The start is Cornish and Fisher's expansion
    (variance D/4 + 1/6 for mid-p, D/4 - 1/12 for exact: what a sum is away from its integral), right to 1e-3 of an item from
    D = 50 on; the exact tails settle it wherever it lies as near to a whole number as its error can be (`_doubt`).
    Reference: Fagerland2013; Lancaster1961; McNemar1947.

    >>> critical_losses(np.array([0, 4, 5, 9, 10, 134]), 0.05).tolist()
    [1, 4, 5, 8, 8, 77]
    """
    level = _level(alpha, test, alternative)
    d = np.asarray(discordant, dtype=np.int64)
    mid = test == "mcnemar-midp"
    z = -STANDARD.inv_cdf(level)
    at, more = (0.0, 1 / 6) if mid else (0.5, -1 / 12)
    start = d / 2 + np.sqrt(np.maximum(d, 1) / 4 + more) * (z - (z**3 - 3 * z) / (12 * np.maximum(d, 1))) + at
    losses = np.clip(np.ceil(start), 0, d + 1).astype(np.int64)
    flat, d = losses.reshape(-1), d.reshape(-1)
    moving = np.flatnonzero(abs(start - np.rint(start)).reshape(-1) < _doubt(d, z))
    came = np.zeros(moving.size, dtype=np.int64)
    while moving.size:
        here, among = flat[moving], d[moving]
        upper = at_least(among, here, 0.5)
        point, before = coin(among, here), coin(among, here - 1)
        tail, tail_before = (upper - point / 2, upper + before / 2) if mid else (upper, upper + before)
        up = (came >= 0) & (here <= among) & (tail > level * (1 + TIE))
        down = (came <= 0) & ~up & (here > 0) & (tail_before <= level * (1 + TIE))
        step = up.astype(np.int64) - down
        flat[moving] += step
        moving, came = moving[step != 0], step[step != 0]  # never back: at a tie the two tails may disagree by a last bit
    flat[d == 0] = 1  # no disagreement: p = 1 by every name
    return losses


def _doubt(d: IntArray, z: float) -> FloatArray:
    """How far from the critical losses the expansion may lie, ten times what it leaves out: z^5 / D^1.5 is its next term."""
    out: FloatArray = 0.02 + 0.05 * (1 + abs(z)) ** 5 / np.maximum(d, 1) ** 1.5
    return out


def at_least(trials: IntArray, k: IntArray, share: float | FloatArray) -> FloatArray:
    """P(X >= k), X ~ Binomial(trials, share), entry by entry; 1 for k <= 0 and 0 for k > trials. Reference: Loader2000, for the terms.

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
        raise UsageError(f"The power needs at least one item, not n = {n!r}.", got=f"n = {n!r}", need="at least one item")
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
        raise UsageError("theta must be above 0.", need="a theta above 0")
    return mixture_search(_conditional_power(discordance, theta, alpha, test, alternative), discordance, 1 - beta, cap=cap)


def mcnemar_thetas(
    sizes: Sequence[int],
    discordance: float,
    alpha: float,
    beta: float,
    test: str = "mcnemar-midp",
    alternative: str = "less",
    *,
    healthy: bool = False,
) -> FloatArray:
    """The smallest drop that each number of items finds with power 1 - beta; NaN where not even the largest is found.

    `healthy`: the discordance is that of two healthy runs, and a drop of theta adds theta to it. Power rises with theta at
    fixed discordance, so there is one crossing; if discordance grows along, one of the crossings is found. Formula: Newton's
    steps on the normal scale, where power is nearly a straight line, from the normal formula on, within a bracket; all
    numbers of items at once, because they share what a step costs. Reference: Connor1987.

    >>> mcnemar_thetas([3, 2471], 0.04, 0.05, 0.2).round(6).tolist()
    [nan, 0.009974]
    """
    from scipy.special import ndtri

    level, target = _level(alpha, test, alternative), 1 - beta - ROUNDING
    if not healthy:
        check_theta(discordance, 0.0)
    most = 1 - discordance if healthy else discordance
    n = np.asarray(sizes, dtype=np.int64)
    if not n.size:
        return np.empty(0)
    theta = _by_formula(n, discordance, healthy, -STANDARD.inv_cdf(level), STANDARD.inv_cdf(target), most)
    low, high = np.zeros(n.size), np.full(n.size, np.inf)
    left = np.arange(n.size)
    counts = None
    while left.size:
        here = theta[left]
        if counts is None or healthy:  # else the drop does not move how many items disagree
            counts = _disagreeing(n[left], discordance + here if healthy else np.full(n.size, discordance), alpha, test, alternative)
        power, slope = _power_and_slope(counts, n[left], discordance, here, alternative, healthy)
        enough = power >= target
        theta[left[~enough & (here >= most)]] = np.nan
        high[left[enough]], low[left[~enough]] = here[enough], here[~enough]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = ndtri(power)
            step = (ndtri(target) - z) * np.exp(-z * z / 2) / math.sqrt(2 * math.pi) / slope
        inside = (here + step >= low[left]) & (here + step <= np.minimum(high[left], most))  # not if there is no step
        there = np.where(inside, here + step, np.where(high[left] < np.inf, (low[left] + high[left]) / 2, most))
        going = ~np.isnan(theta[left])
        theta[left[going]] = there[going]
        going &= ~(abs(there - here) <= NEAR * here)
        left = left[going]
        counts = counts if going.all() else counts.of(going)
    return theta


def mcnemar_alpha(n: int, discordance: float, theta: float, beta: float, test: str = "mcnemar-midp", alternative: str = "less") -> float:
    """The smallest alpha at which n items find a drop of theta with power 1 - beta.

    Power is a step function of alpha, rising: it jumps where a number of losses begins to be rejected. A narrow bracket leaves few
    jumps to sort out. The power at that alpha may exceed 1 - beta. Undefined: alpha below 1 is not enough, or 1e-300
    is more than enough (error).
    Reference: Connor1987.

    >>> round(mcnemar_alpha(2471, 0.04, 0.01, 0.2), 4)
    0.0491
    """
    target = 1 - beta - ROUNDING
    two = alternative == "two-sided"

    def power(alpha: float) -> float:
        return mcnemar_power(n, discordance, theta, alpha, test, alternative)

    own = math.sqrt(max(1 - theta**2 / discordance, 0.0))  # the standard error under the drop beside that without it
    z = theta * math.sqrt(n / discordance) - STANDARD.inv_cdf(target) * own
    low, high = alpha_bracket(power, target, z, own, 2 if two else 1)
    if high >= math.exp(LEVELS[1]) and power(high) < target:
        raise UsageError(
            f"{n:,} items cannot reach power {1 - beta:.4g}, whatever the alpha.",
            need="more items, whatever the alpha",
            hint="take more items",
        )
    base = power(low)
    if base >= target:
        raise UsageError(
            f"{n:,} items reach power {1 - beta:.4g} even at an alpha of 1e-300, so there is no smallest alpha to name.",
            got=f"power {1 - beta:.4g} even at 1e-300 with {n:,} items",
            need="fewer items or a smaller theta",
            hint="take fewer items, or a smaller theta",
        )
    start, weights = binomial_weights(n, discordance)
    d = np.arange(start, start + weights.size)
    most, least = (critical_losses(d, alpha, test, alternative) for alpha in (low, high))
    cells, above = whole_between(least, most)
    among, lost, share = d[cells], above - 1, (discordance + theta) / (2 * discordance)
    tails = at_least(among, lost, 0.5) - (coin(among, lost) / 2 if test == "mcnemar-midp" else 0)
    gains = sum(at_least(among, lost, s) - at_least(among, lost + 1, s) for s in ((share, 1 - share) if two else (share,)))
    levels = tails * (2 if two else 1)
    return float(first_jump(np.zeros_like(cells), levels, weights[cells] * gains, np.array([base]), target, np.array([high]))[0])


def _conditional_power(discordance: float, theta: float, alpha: float, test: str, alternative: str) -> Callable[[IntArray], FloatArray]:
    """D -> the power given that D items disagree."""
    check_theta(discordance, theta)
    _level(alpha, test, alternative)
    share = (discordance + theta) / (2 * discordance)

    def power(d: IntArray) -> FloatArray:
        critical = critical_losses(d, alpha, test, alternative)
        found = neighbouring_tails(d, critical, share)[0]
        return found + neighbouring_tails(d, critical, 1 - share)[0] if alternative == "two-sided" else found

    return power


def neighbouring_tails(d: IntArray, k: IntArray, share: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    """P(X >= k) for X ~ Binomial(D, share), and P(X = k - 1): `at_least`, at a tenth of its cost where neighbours follow.

    Neighbours are D and D + 1 of one share with k that stays or grows by 1, as critical losses do. Formula: with p = P(X = k - 1),
    the tail grows by share p (1 - up (D + 1) / k), up = 0 or 1, and p becomes p (D + 1) share / k where k grows, p (D + 1)
    (1 - share) / (D + 2 - k) where not. One incomplete Beta begins each stretch of neighbours. The tail's slope in the share
    is p (D + 1 - k) / (1 - share).

    >>> neighbouring_tails(np.array([4, 5, 6]), np.array([3, 3, 4]), 0.5)[0].tolist()
    [0.3125, 0.5, 0.34375]
    """
    if not d.size:
        return np.empty(0), np.empty(0)
    up = np.diff(k, append=k[-1])
    grows = up == 1
    follows = (np.diff(d) == 1) & (grows | (up == 0))[:-1] & (k[:-1] > 0)
    follows[ANCHORED - 1 :: ANCHORED] = False
    if isinstance(share, np.ndarray):
        follows &= share[1:] == share[:-1]
    starts = np.append(0, np.flatnonzero(~follows) + 1)
    s, q = np.maximum(share, NEVER), np.maximum(1 - share, NEVER)
    more = (d + 1) / np.maximum(np.where(grows, k, d + 2 - k), 1)
    first = share[starts] if isinstance(share, np.ndarray) else share
    tail = at_least(d[starts], k[starts], first)
    with np.errstate(divide="ignore"):
        log_point = np.log(at_least(d[starts], k[starts] - 1, first) - tail)
    points = np.exp(running_sums(log_point, np.log(more * np.where(grows, s, q)), starts))
    return running_sums(tail, s * points * np.where(grows, 1 - more, 1.0), starts), points


def _by_formula(n: IntArray, discordance: float, healthy: bool, z_alpha: float, z_power: float, most: float) -> FloatArray:
    """Where Newton's steps begin: the drop by the normal formula, nearly."""
    theta = np.zeros(n.size)
    for _ in range(8):
        psi = discordance + theta if healthy else discordance
        theta = (z_alpha * np.sqrt(psi) + z_power * np.sqrt(np.maximum(psi - theta**2, 0))) / np.sqrt(n)
        theta = np.clip(theta, min(most, 1e-3 / n.max()), most)
    return theta


class _DiscordantCounts(NamedTuple):
    """Of several n, one after the other: how many items may disagree, their chances, the critical losses; and how many belong to each n."""

    d: IntArray
    weights: FloatArray
    critical: IntArray
    lengths: IntArray

    def of(self, kept: npt.NDArray[np.bool_]) -> _DiscordantCounts:
        cells = np.repeat(kept, self.lengths)
        return _DiscordantCounts(self.d[cells], self.weights[cells], self.critical[cells], self.lengths[kept])


def _disagreeing(n: IntArray, psi: FloatArray, alpha: float, test: str, alternative: str) -> _DiscordantCounts:
    d, weights, starts = binomial_stretches(n, psi)
    low, high = int(d.min()), int(d.max())
    table = np.arange(low, high + 1) if high - low < d.size else d  # what several stretches share is looked up once
    k = critical_losses(table, alpha, test, alternative)
    return _DiscordantCounts(d, weights, k if table is d else k[d - low], np.diff([*starts.tolist(), d.size]))


def _power_and_slope(
    counts: _DiscordantCounts, n: IntArray, discordance: float, theta: FloatArray, alternative: str, healthy: bool
) -> tuple[FloatArray, FloatArray]:
    """The power of each n to find its theta, and how fast it rises with theta."""
    d, weights, k, lengths = counts
    starts = np.cumsum(lengths) - lengths
    psi = discordance + theta if healthy else np.full(n.size, discordance)
    share = np.repeat(np.minimum((psi + theta) / (2 * psi), 1.0), lengths)
    of_share = (discordance / (2 * psi * psi)) if healthy else 1 / (2 * psi)
    tail, point = neighbouring_tails(d, k, share)
    slope = point / np.maximum(1 - share, NEVER)
    if alternative == "two-sided":
        other, point = neighbouring_tails(d, k, 1 - share)
        tail, slope = tail + other, slope - point / share
    slope *= d + 1 - k
    power = np.add.reduceat(weights * tail, starts)
    rises = np.add.reduceat(weights * slope, starts) * of_share
    if healthy:  # the more items disagree, the more of them there are to tell from
        rises += np.add.reduceat(weights * tail * (d - np.repeat(n * psi, lengths)), starts) / (psi * np.maximum(1 - psi, 1e-300))
    return power, rises


def coin(d: IntArray, k: IntArray) -> FloatArray:
    """P(X = k), X ~ Binomial(d, 1/2); 0 outside 0..d."""
    from scipy.special import gammaln

    inside = (k >= 0) & (k <= d)
    j = np.where(inside, k, 0)
    height = gammaln(d + 1) - gammaln(j + 1) - gammaln(d - j + 1) - d * math.log(2)
    return np.where(inside, np.exp(height), 0.0)


def _level(alpha: float, test: str, alternative: str) -> float:
    """The level of the losing tail."""
    if test not in TESTS:
        raise unknown_word("test", test, tuple(TESTS))
    if alternative not in ALTERNATIVES:
        raise unknown_word("alternative", alternative, ALTERNATIVES)
    return alpha / (2 if alternative == "two-sided" else 1)


def check_theta(discordance: float, theta: float) -> None:
    if not 0 < discordance <= 1:
        raise UsageError("cannot use discordance", got=repr(discordance), need="a share of items above 0, at most 1")
    if not 0 <= theta <= discordance:
        raise UsageError(
            f"theta {theta!r} is larger than the discordance {discordance!r}: items are lost only where the systems disagree.",
            got=f"theta {theta!r} with discordance {discordance!r}",
            need="a theta from 0 to the discordance: items are lost only where the systems disagree",
            hint="discordance under the drop is at least that of two healthy runs plus theta",
        )
