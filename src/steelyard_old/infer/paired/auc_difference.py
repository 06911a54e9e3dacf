"""The difference of two AUCs: bounds from the bounds of each where items of a class are few, DeLong's t where they are many."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.normal import STANDARD, clip, lower_tail, tail
from steelyard_old.infer.paired.delong import AucPair, cdf, delong_interval, delong_test, item_placements, quantile
from steelyard_old.infer.paired.mcnemar import from_tails
from steelyard_old.infer.paired.unseen import UnseenChanges, unseen_changes
from steelyard_old.infer.planning.search import rising_root
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.tally.rounding import without_rounding

ALIKE = 1e-12  # differences of two AUCs that rounding makes of none
FARTHEST = 37.0  # z of the smallest p-value that is told apart from 0: 6e-300


def scarcity(pair: AucPair) -> float:
    """How much the bounds of each AUC count, from 1 (few misses in either) to 0 (many in both).

    Reference: Obuchowski2002 on the failure of Wald-type intervals where misses are few.

    >>> from steelyard_old.infer.paired.delong import delong_pair
    >>> y = [False, True] * 5
    >>> scarcity(delong_pair([1, 2, 3, 4, 5, 6, 8, 7, 9, 10], [2, 1, 3, 4, 5, 6, 7, 8, 9, 10], y))
    1.0
    """
    return 0.0 if pair.areas is None else max(area.scarcity for area in pair.areas)


def difference_interval(pair: AucPair, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """The interval of candidate minus baseline, inside [-1, 1].

    Formula: with the ends (l, u) of each AUC, low = d - sqrt((B - l_B)^2 + (u_A - A)^2 - 2 r (B - l_B)(u_A - A)), high
    mirrored, r DeLong's correlation of the two; as far as misses are many, d +- t x error instead. A spread that a few
    positives do not show is in the ends of each AUC, and in no variance of their difference.
    Undefined: two systems that rank alike; an interval of no width would claim certainty.
    Reference: ZouDonner2008; DeLong1988.

    >>> from steelyard_old.infer.paired.delong import delong_pair
    >>> pair = delong_pair([1, 3, 2, 4, 6, 5], [1, 2, 3, 4, 5, 6], [False, False, True, False, True, True])
    >>> [round(x, 4) for x in difference_interval(pair)]
    [-0.5305, 0.7725]
    """
    if not scarcity(pair):
        return delong_interval(pair, confidence_level, side)
    if same_order(pair):
        raise Degenerate("the two systems rank alike")
    low, high = _bounds(pair, -STANDARD.inv_cdf(tail(confidence_level, side)))
    return clip(low, high, side, -1.0, 1.0)


def unseen_orders(baseline: npt.ArrayLike, candidate: npt.ArrayLike, positive: npt.ArrayLike) -> UnseenChanges | None:
    """What the bounds count in where few items of a class have changed their places: one of them may fall from the first to the last.

    Formula: `unseen_changes` of the placements of each class, whichever of the two adds more. One positive that falls moves all
    negatives a little, so a class counts if few of its own items moved. Reference: DeLong1988 for placements.

    >>> y = np.arange(40) % 2 == 0
    >>> unseen_orders(np.arange(40), np.arange(40) ** 2, y) == unseen_changes(np.zeros(20), 1.0)
    True
    """
    positive = np.asarray(positive, bool)
    moved = item_placements(np.asarray(candidate, float), positive) - item_placements(np.asarray(baseline, float), positive)
    moved = without_rounding(moved, 1.0)
    found = [unseen_changes(moved[mask], 1.0) for mask in (positive, ~positive)]
    return max((one for one in found if one is not None), key=lambda one: one.variance("lower") + one.variance("upper"), default=None)


def difference_p(pair: AucPair, at: float = 0.0) -> tuple[float, float]:
    """(p of "less", p of "greater") than `at`: the level at which the bound of that side reaches it. They add up to 1.

    So p <= alpha exactly where the one-sided bound of level 1 - alpha excludes `at`. Undefined: two systems that rank alike.
    Reference: ZouDonner2008; DeLong1988.

    >>> from steelyard_old.infer.paired.delong import delong_pair
    >>> pair = delong_pair([1, 3, 2, 4, 6, 5], [1, 2, 3, 4, 5, 6], [False, False, True, False, True, True])
    >>> [round(p, 4) for p in difference_p(pair)]
    [0.7528, 0.2472]
    """
    if same_order(pair):
        raise Degenerate("the two systems rank alike")
    if not scarcity(pair):
        if not pair.error:
            raise Degenerate("the AUCs differ, but the placements have no spread")
        t = (pair.difference - at) / pair.error
        return cdf(t, pair.df), cdf(-t, pair.df)
    gap = pair.difference - at
    if abs(gap) < ALIKE:
        return 0.5, 0.5

    def beyond(z: float) -> float:
        low, high = _bounds(pair, z)
        return at - low if gap > 0 else high - at

    far, at_far = 1.0, beyond(1.0)
    while far < FARTHEST and at_far < 0:
        far = min(FARTHEST, 1.7 * far)
        at_far = beyond(far)
    p = lower_tail(-rising_root(beyond, 0.0, far, at_low=-abs(gap), at_high=at_far, relative=1e-12))
    return (1 - p, p) if gap > 0 else (p, 1 - p)


def difference_test(pair: AucPair, alternative: str = "two-sided") -> tuple[float | None, float]:
    """(difference / standard error, p) of equal AUCs; two systems that rank alike: (0, 1). "greater": the candidate is better.

    Reference: ZouDonner2008; DeLong1988.

    >>> from steelyard_old.infer.paired.delong import delong_pair
    >>> difference_test(delong_pair([1, 2, 3, 4], [10, 20, 30, 40], [False, True, False, True]))
    (0.0, 1.0)
    """
    if not scarcity(pair) or _equal(pair):
        return delong_test(pair, alternative)
    return (pair.difference / pair.error if pair.error > 1e-15 else None), from_tails(*difference_p(pair), alternative)


def same_order(pair: AucPair) -> bool:
    """Whether the placements of the two systems are equal and vary: two perfect orders are equal, but need not be one.

    Reference: DeLong1988.
    """
    return _equal(pair) and (pair.areas is None or pair.areas[0].spread)


def _equal(pair: AucPair) -> bool:
    return not pair.variance > 1e-30 and abs(pair.difference) < 1e-14


def _bounds(pair: AucPair, z: float) -> tuple[float, float]:
    """(low, high) at z standard errors; never inside those at a smaller z.

    Where an arm has reached the end of its range, correlation would draw a bound in again as the other grows.
    """
    low, high = _ends(pair, z)
    nearer = _ends(pair, 0.98 * z)
    if nearer[0] < low:
        low = _lowest(lambda x: _ends(pair, x)[0], z)
    if nearer[1] > high:
        high = -_lowest(lambda x: -_ends(pair, x)[1], z)
    return low, high


def _lowest(f: Callable[[float], float], high: float) -> float:
    """The least value of f, which falls and then rises, between 0 and high: by the golden section."""
    low, golden = 0.0, (math.sqrt(5) - 1) / 2
    for _ in range(45):
        one, other = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, other) if f(one) < f(other) else (one, high)
    return f((low + high) / 2)


def _ends(pair: AucPair, z: float) -> tuple[float, float]:
    share, d, outside = scarcity(pair), pair.difference, lower_tail(-z)
    reach = -quantile(outside, pair.df) * pair.error if share < 1 else 0.0
    if pair.areas is None or not share:
        return d - reach, d + reach
    (low_a, high_a), (low_b, high_b) = (area.ends(outside) for area in pair.areas)
    down = _joined(pair.candidate - low_b, high_a - pair.baseline, pair.correlation)
    up = _joined(high_b - pair.candidate, pair.baseline - low_a, pair.correlation)
    return d - reach - share * (down - reach), d + reach + share * (up - reach)


def _joined(one: float, other: float, r: float) -> float:
    return math.sqrt(max(0.0, one * one + other * other - 2 * r * one * other))
