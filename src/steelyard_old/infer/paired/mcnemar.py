"""Right or wrong on the same items: intervals and tests for the difference, from the two counts that disagree.

Of n items let `gained` be right for the candidate only and `lost` right for the baseline only. The difference of the
two accuracies is (gained - lost) / n; items on which both agree enter through n alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from steelyard_old.infer.normal import clip, lower_tail, wilson, z_value
from steelyard_old.options.option import unknown_word

COUNTED = 200  # disagreements up to which the coin is counted out,
SUMMED = 2000  # and up to which its tails are summed from an exact term: beyond, and for other priors, SciPy is worth its loading
ALTERNATIVES = ("two-sided", "less", "greater")
MIRRORED = {"two-sided": "two-sided", "less": "greater", "greater": "less"}  # of the systems exchanged


def check_alternative(alternative: str) -> str:
    if alternative not in ALTERNATIVES:
        raise unknown_word("alternative", alternative, ALTERNATIVES)
    return alternative


def from_tails(less: float, greater: float, alternative: str) -> float:
    """A p-value from its two one-sided ones: the two-sided doubles the smaller, capped at 1. Reference: Fisher1935.

    >>> from_tails(0.02, 0.98, "two-sided")
    0.04
    """
    check_alternative(alternative)
    return {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[alternative]


def mcnemar_midp(gained: int, lost: int, alternative: str = "two-sided") -> float:
    """McNemar's test with mid-p: under H0 each disagreement is a fair coin, and the observed point counts half.

    Formula: P(X < gained) + P(X = gained)/2 for "less", X ~ Binomial(gained + lost, 1/2). Two-sided doubles the smaller
    tail, so that gained = lost gives exactly 1 (Fagerland prints 1 - P(X = gained)/2 there, which for two identical
    systems would be 1/2). It rejects at most .0502 of the time at level .05 while no more than a third of the items disagree,
    up to .06 where all of them do; given the number of disagreements, up to .077.
    Reference: Fagerland2013; Lancaster1961.

    >>> round(mcnemar_midp(76, 58), 6)
    0.121014
    """
    if gained + lost == 0:  # nothing speaks for either side
        return from_tails(1.0, 1.0, alternative)
    if gained == lost:  # exactly one half on either side, which the sums below reach only to rounding
        return from_tails(0.5, 0.5, alternative)
    below, at, above = _coin_tails(gained, lost)
    return from_tails(below + at / 2, above + at / 2, alternative)


def mcnemar_exact(gained: int, lost: int, alternative: str = "two-sided") -> float:
    """McNemar's exact conditional test: the sign test on the disagreements. Never above its level.

    Reference: McNemar1947; Fagerland2013.

    >>> round(mcnemar_exact(76, 58), 6)
    0.141662
    """
    below, at, above = _coin_tails(gained, lost)
    return from_tails(below + at, above + at, alternative)


def mcnemar(gained: int, lost: int, alternative: str = "two-sided") -> tuple[float, float]:
    """McNemar's asymptotic test, z = (gained - lost) / sqrt(gained + lost); (z, p). No disagreement: z = 0, p = 1.

    Reference: McNemar1947.

    >>> [round(x, 6) for x in mcnemar(16, 6)]
    [2.132007, 0.033006]
    """
    if gained + lost == 0:
        return 0.0, from_tails(1.0, 1.0, alternative)
    z = (gained - lost) / math.sqrt(gained + lost)
    return z, from_tails(lower_tail(z), lower_tail(-z), alternative)


def _coin_tails(gained: int, lost: int) -> tuple[float, float, float]:
    """P(X < gained), P(X = gained), P(X > gained) for X ~ Binomial(gained + lost, 1/2)."""
    total = gained + lost
    if total <= COUNTED:  # whole numbers: a p-value that equals alpha equals it to the last bit
        few = min(gained, lost)
        up_to, ways = _ways(total), 2**total
        tail = up_to[few - 1] if few else 0
        middle, rest = up_to[few] - tail, ways - up_to[few]
        low, high = (tail, rest) if gained <= lost else (rest, tail)
        return low / ways, middle / ways, high / ways
    if total <= SUMMED:
        few = min(gained, lost)
        point = math.comb(total, few) / (1 << total)  # a quotient of whole numbers is rounded once
        beyond = point * _falling(few, 1.0, total - few + 1, -1.0)
        within = 1.0 - point - beyond
        return (beyond, point, within) if gained <= lost else (within, point, beyond)
    from scipy.special import betainc, betaln

    # The symmetry of the coin gives the upper tail without a subtraction from 1. bdtr would hold the total in 32 bits.
    below = float(betainc(lost + 1, gained, 0.5)) if gained else 0.0
    above = float(betainc(gained + 1, lost, 0.5)) if lost else 0.0
    # Differences of log-gamma lose digits that grow with the counts; the Beta function keeps them.
    point = math.exp(-float(betaln(gained + 1, lost + 1)) - math.log(total + 1) - total * math.log(2))
    return below, point, above


def _falling(above: float, up: float, below: float, down: float) -> float:
    """The sum of the products of falling ratios, above/below, then (above - up)/(below - down) after it, and so on.

    What one term of a tail is followed by, in units of it. No term is negative, so that none of the digits is lost.

    >>> _falling(2, 1.0, 3, -1.0)  # 2/3 + 2/3 * 1/4
    0.8333333333333333
    """
    term = above / below
    terms, least = [term], 1e-18 * term
    while term > least:
        above -= up
        below -= down
        term *= above / below
        terms.append(term)
    return math.fsum(terms)


@lru_cache(maxsize=SUMMED + 2)
def _central(i: int) -> int:
    return math.comb(2 * i, i)


def _half_beta(a: int, b: int) -> float:
    """I_1/2(a + 1/2, b + 1/2) of whole numbers: an exact first term, and the series that has no negative ones.

    Formula: C(a + b, a) 2^(a + b) / ((2a + 1) C(2a, a) C(2b, b) pi) times the sum over n of (a + b + 1)_n / (a + 3/2)_n 2^-n, for
    a > b; the other side is the rest to 1.

    >>> round(_half_beta(58, 76), 6)
    0.940186
    """
    if a < b:
        return 1.0 - _half_beta(b, a)
    first = (math.comb(a + b, a) << (a + b)) / ((2 * a + 1) * _central(a) * _central(b)) / math.pi
    return first * (1.0 + _falling(a + b + 1, -1.0, 2 * a + 3, -2.0))


@lru_cache(maxsize=COUNTED + 1)
def _ways(total: int) -> tuple[int, ...]:
    """In how many ways so many coins show at most 0, 1, 2, ... heads: a board of many systems asks for the same numbers again and again.

    >>> _ways(4)
    (1, 5, 11, 15, 16)
    """
    return tuple(itertools.accumulate(math.comb(total, heads) for heads in range(total + 1)))


def tango_z(gained: int, lost: int, n: int, difference: float) -> float:
    """Tango's score statistic for a given true difference; it also tests a margin. Reference: Tango1998, equation 2.

    >>> round(tango_z(0, 1, 44, -0.1), 3)
    1.709
    """
    d = difference
    b = -gained - lost + (2 * n - gained + lost) * d
    c = -lost * d * (1 - d)
    q = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)  # the constrained maximum-likelihood share of losses
    variance = n * (2 * q + d * (1 - d))
    gap = gained - lost - n * d
    if variance <= 0:
        return 0.0 if gap == 0 else math.copysign(math.inf, gap)
    return gap / math.sqrt(variance)


def tango(gained: int, lost: int, n: int, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """Tango's score interval: all differences that the score statistic does not reject.

    Assumes: independent items. Covers at least .93 on the whole grid of n from 10 on, where Wald falls to .35, and has
    width when nothing disagrees. Reference: Tango1998.

    >>> [round(x, 6) for x in tango(76, 58, 1000)]
    [-0.004745, 0.041041]
    """
    z = z_value(confidence_level, side)
    low = _decreasing_root(lambda d: tango_z(gained, lost, n, d) - z)
    high = _decreasing_root(lambda d: tango_z(gained, lost, n, d) + z)
    return clip(low, high, side, -1.0, 1.0)


def _decreasing_root(f: Callable[[float], float], low: float = -1.0, high: float = 1.0) -> float:
    """The root of a decreasing function, by bisection until no float lies between; an end if there is none inside."""
    if f(high) > 0:
        return high
    if f(low) <= 0:
        return low
    while low < (middle := (low + high) / 2) < high:
        if f(middle) > 0:
            low = middle
        else:
            high = middle
    return high if middle == low else low


def tango_each(
    gained: Sequence[int], lost: Sequence[int], n: int, confidence_level: float = 0.95, side: str = "two"
) -> list[tuple[float, float]]:
    """`tango` of many counts of the same n items, to the last bit: the same bisection, all of them a step at a time.

    Reference: Tango1998.

    >>> tango_each([76, 0], [58, 1], 1000) == [tango(76, 58, 1000), tango(0, 1, 1000)]
    True
    """
    import numpy as np

    z, half = z_value(confidence_level, side), len(gained)
    up, down = (np.tile(np.asarray(counts, float), 2) for counts in (gained, lost))
    away = np.repeat([z, -z], half)  # the lower ends, then the upper ones

    def above(d: Any) -> Any:
        """Whether the score statistic is larger than wanted; `tango_z`, operation by operation."""
        b = -up - down + (2 * n - up + down) * d
        c = -down * d * (1 - d)
        q = (np.sqrt(np.maximum(0.0, b * b - 8 * n * c)) - b) / (4 * n)
        variance = n * (2 * q + d * (1 - d))
        gap = up - down - n * d
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(variance > 0, gap / np.sqrt(variance), np.where(gap == 0, 0.0, np.copysign(np.inf, gap)))
        return score - away > 0

    low, high = np.full(2 * half, -1.0), np.full(2 * half, 1.0)
    at_top, at_bottom = above(high), ~above(low)
    while True:
        middle = (low + high) / 2
        if not ((low < middle) & (middle < high)).any():
            break
        larger = above(middle)  # where no float lies between any more, middle is an end, and nothing moves
        low, high = np.where(larger, middle, low), np.where(larger, high, middle)
    found = np.where(at_top, 1.0, np.where(at_bottom, -1.0, np.where(middle == low, high, low)))
    return [clip(low, high, side, -1.0, 1.0) for low, high in zip(found[:half].tolist(), found[half:].tolist(), strict=True)]


def newcombe_paired(
    both: int, gained: int, lost: int, neither: int, confidence_level: float = 0.95, side: str = "two"
) -> tuple[float, float]:
    """Newcombe's square-and-add interval, method 10: the Wilson limits of both accuracies, joined by their correlation.

    Formula: phi = (both x neither - gained x lost) / sqrt(product of margins), its numerator reduced by n/2 towards 0
    when positive. Reference: Newcombe1998c.

    >>> [round(x, 4) for x in newcombe_paired(36, 12, 2, 0)]
    [0.0569, 0.3404]
    """
    n = both + gained + lost + neither
    candidate, baseline = both + gained, both + lost
    z = z_value(confidence_level, side)
    (l1, u1), (l2, u2) = wilson(candidate, n, critical=z), wilson(baseline, n, critical=z)
    p1, p2 = candidate / n, baseline / n
    product = candidate * (n - candidate) * baseline * (n - baseline)  # whole numbers: no overflow
    cross = both * neither - gained * lost
    phi = 0.0 if product == 0 else (max(cross - n / 2, 0) if cross > 0 else cross) / math.sqrt(product)
    down = math.sqrt(max(0.0, (p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2))
    up = math.sqrt(max(0.0, (u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2))
    return clip(p1 - p2 - down, p1 - p2 + up, side, -1.0, 1.0)


def bonett_price(gained: int, lost: int, n: int, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """The adjusted Wald interval: one item added to each kind of disagreement, n + 2. Reference: BonettPrice2012.

    >>> [round(x, 4) for x in bonett_price(6, 16, 161)]
    [-0.1195, -0.0032]
    """
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    reach = z_value(confidence_level, side) * math.sqrt((up + down - (up - down) ** 2) / (n + 2))
    return clip(up - down - reach, up - down + reach, side, -1.0, 1.0)


def wald_paired(gained: int, lost: int, n: int, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """difference +- z sqrt((share of disagreements - difference^2) / n). No width without disagreement; offered by name.

    Reference: Agresti2013, section 11.1.

    >>> [round(x, 4) for x in wald_paired(6, 16, 161)]
    [-0.1184, -0.0058]
    """
    d = (gained - lost) / n
    reach = z_value(confidence_level, side) * math.sqrt(max(0.0, (gained + lost) / n - d * d) / n)
    return clip(d - reach, d + reach, side, -1.0, 1.0)


def probability_better(gained: int, lost: int, prior: float = 0.5) -> float:
    """P(candidate more accurate | items), Dirichlet prior: I_1/2(lost + prior, gained + prior). Ties give exactly 1/2.

    Only disagreements matter. Reference: Benavoli2017 for the idea; the closed form is the neutrality of the Dirichlet.

    >>> round(probability_better(76, 58), 6)
    0.940186
    """
    if gained == lost:
        return 0.5
    if prior == 0.5 and gained + lost <= SUMMED:
        return _half_beta(lost, gained)
    from scipy.special import betainc

    return float(betainc(lost + prior, gained + prior, 0.5))
