"""Areas under curves: DeLong's variances from placements, with Wilson's ends beside them where misses are few.

What counts is the number of misses: how many items of the rarer class would have to be ranked at random to give this area.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.data.items import View
from steelyard.engines.certainty import Certainty, Ends, NoAnswer, normal_tail
from steelyard.engines.score import hybrid, wilson
from steelyard.engines.student import unseen
from steelyard.engines.sums import over_groups, too_few, worth_of
from steelyard.metrics.whole import Whole, placements

FULL, NONE = 5.0, 15.0  # misses below which Wilson's ends count in full, and from which they do not count


@dataclass(frozen=True, kw_only=True)
class Area(Certainty):
    """One area: t on the logit scale, and Wilson's ends of as many trials as there are items of the rarer class. plain: without them."""

    variance: float
    trials: float
    low: float = 0.0
    high: float = 1.0
    plain: bool = False

    @property
    def spreads(self) -> bool:
        """Whether there is any spread to judge by."""
        return 0 < self.estimate < 1 and self.variance > 1e-30

    @property
    def scarcity(self) -> float:
        """The share of Wilson's ends: 1 for few misses, 0 for many."""
        if not self.spreads:
            return 1.0
        misses = self.trials * min(self.estimate, 1 - self.estimate)
        return 0.0 if self.plain else min(1.0, max(0.0, (NONE - misses) / (NONE - FULL)))

    def bounds(self, q: float, sided: int = 1) -> Ends:
        part = self.scarcity
        wide = wilson(self.estimate * self.trials, self.trials, q) if part else (1.0, 0.0)
        if not self.spreads:
            if self.plain:
                raise NoAnswer("the estimate lies on the end of its range or has no spread")
            return wide
        centre = math.log(self.estimate / (1 - self.estimate))
        reach = -float(stdtrit(self.df, q)) * math.sqrt(self.variance) / (self.estimate * (1 - self.estimate))
        low, high = (1 / (1 + math.exp(-x)) for x in (max(centre - reach, -700), min(centre + reach, 700)))
        return low - part * max(0.0, low - wide[0]), high + part * max(0.0, wide[1] - high)


def areas(views: Sequence[View], whole: Whole, group: IntArray | None, method: str = "") -> tuple[list[Area], Area]:
    """The area of each system on the same items, and their difference as one more."""
    assert whole.effects is not None
    positive = views[0].outcome > 0
    classes = int(positive.sum()), int((~positive).sum())
    if min(classes) < 1 or (group is None and (classes[0] < 2 or (classes[1] < 2 and whole.both))):
        raise NoAnswer("fewer than two items of a class")
    if group is not None and (why := too_few(_rarer(positive, group))):
        raise NoAnswer(f"{why} of the rarer class")
    found = [whole.effects(view) for view in views]
    values, effects = [value for value, _ in found], [u for _, u in found]
    spreads = [_spread(u, positive, group, whole) for u in [*effects, effects[-1] - effects[0]]]
    usual = "delong" if whole.both else "delta"
    made = []
    for value, (variance, df, alone) in zip([*values, values[-1] - values[0]], spreads, strict=True):
        trials = whole.trials(*classes)
        if group is not None:
            smaller, worth = min(classes), min(worth_of(np.bincount(group[m]).astype(float)) for m in (positive, ~positive))
            trials *= (smaller / max(1.0, variance / alone) if alone > 0 and variance > 0 else min(worth, smaller)) / smaller
        plain = method == usual
        area = Area(estimate=value, variance=variance, df=df, trials=trials, plain=plain, error=math.sqrt(variance) or None)
        name = f"{usual}-wilson" if area.scarcity and not plain else usual
        made.append(Area(**{**area.__dict__, "method": name, "test": name}))
    return made[:-1], made[-1]


def _rarer(positive: FloatArray, group: IntArray) -> FloatArray:
    return min((np.bincount(group[m]).astype(float) for m in (positive, ~positive)), key=worth_of)


def _spread(u: FloatArray, positive: FloatArray, group: IntArray | None, whole: Whole) -> tuple[float, float, float]:
    """Variance, degrees of freedom, and the variance were the items independent."""
    squares, n = u * u, int(positive.sum())
    of_positives = float(squares @ positive)
    parts = [(of_positives, n), (float(squares.sum()) - of_positives, len(u) - n)]
    if whole.both:
        each = [(squares * n / max(1, n - 1), n - 1.0) for squares, n in parts]
    else:
        each = [(parts[0][0] * parts[0][1] / max(1, parts[0][1] - 1), parts[0][1] - 1.0), (parts[1][0], math.inf)]
    alone = sum(variance for variance, _ in each)
    if group is None:
        below = sum(v * v / df for v, df in each if df > 0) if whole.both else alone**2 / each[0][1]
        return alone, alone**2 / below if below > 0 else math.inf, alone
    groups = int(group.max()) + 1
    sizes, above, below_ = np.zeros(groups), np.zeros(groups), np.zeros(groups)
    for m in (positive, ~positive):
        here, total = np.bincount(group[m], minlength=groups), int(m.sum())
        sizes, above, below_ = sizes + here / total, above + here**2 / total**3, below_ + here / total**2
    leverage = above / np.where(below_ > 0, below_, 1.0)
    if not float(leverage.max()) < 1:
        raise NoAnswer("all items of a class lie in one group")
    variance, df = over_groups(np.bincount(group, u, groups), sizes, float(u @ u), len(u), leverage)
    return variance, df, alone


@dataclass(frozen=True, kw_only=True)
class AreaPair(Certainty):
    """Two areas: DeLong's t, and where misses are few the ends of either area joined by their correlation. Reference: ZouDonner2008."""

    one: Area
    two: Area
    variance: float
    r: float
    rare: tuple[float, float]
    low: float = -1.0
    high: float = 1.0

    @property
    def scarcity(self) -> float:
        """The larger one of the two."""
        return max(self.one.scarcity, self.two.scarcity)

    def _ends(self, z: float) -> Ends:
        part, d, q = self.scarcity, self.estimate, normal_tail(z)
        reach = -float(stdtrit(self.df, q)) * math.sqrt(self.variance) if part < 1 and self.variance > 0 else 0.0
        if not part:
            return d - reach, d + reach
        low, high = hybrid(self.two.estimate, self.two.bounds(q), self.one.estimate, self.one.bounds(q), self.r)
        return d - reach - part * (d - low - reach), d + reach + part * (high - d - reach)

    def bounds(self, q: float, sided: int = 1) -> Ends:
        z = _z(q)
        low, high = self._ends(z)
        nearer = self._ends(0.98 * z)  # joined ends may turn back; the outermost up to here is taken, so that levels nest
        if nearer[0] < low or nearer[1] > high:
            every = [self._ends(z * i / 200) for i in range(1, 201)]
            low, high = min(e[0] for e in every), max(e[1] for e in every)
        d = self.estimate
        low = d - math.hypot(d - low, z * math.sqrt(self.rare[0])) if low <= 0 else low
        high = d + math.hypot(high - d, z * math.sqrt(self.rare[1])) if high >= 0 else high
        if not self.variance > 1e-30 and not max(self.rare) and not self.scarcity:
            raise NoAnswer("the two systems rank alike")
        return low, high

    def tails(self, margin: float, sided: int = 1) -> Ends:
        if margin or self.scarcity or not self.variance > 0:
            return super().tails(margin, sided) if abs(self.estimate - margin) > 1e-12 else (0.5, 0.5)
        t = self.estimate / math.sqrt(self.variance)
        return float(stdtr(self.df, t)), float(stdtr(self.df, -t))


def _z(q: float) -> float:

    return -float(ndtri(q))


def area_pair(views: Sequence[View], whole: Whole, group: IntArray | None, method: str = "") -> AreaPair:
    """Two systems on the same items."""
    (one, two), gap = areas(views, whole, group, method)
    scale = math.sqrt(one.variance * two.variance)
    r = (one.variance + two.variance - gap.variance) / 2 / scale if scale > 1e-30 else 0.0
    rare = (0.0, 0.0)
    if group is None and method != "delong":
        positive = views[0].outcome > 0
        moved = placements(views[1].probability, positive) - placements(views[0].probability, positive)
        moved = np.where(np.abs(moved) <= 9 * 2.0**-52, 0.0, moved)
        found = [unseen(moved[m], np.ones(int(m.sum()), np.int64), 1.0, float(m.sum())) for m in (positive, ~positive)]
        rare = max(found, key=sum)
    return _joined(one, two, gap.estimate, gap.variance, gap.df, max(-1.0, min(1.0, r)), rare)


def two_areas(view: View, other: View, whole: Whole, groups: Sequence[IntArray | None], method: str = "") -> AreaPair:
    """Two systems on different items, whose variances add."""
    (one,), _ = areas([view], whole, groups[0], method)
    (two,), _ = areas([other], whole, groups[1], method)
    variance = one.variance + two.variance
    below = sum(a.variance**2 / a.df for a in (one, two))
    return _joined(one, two, two.estimate - one.estimate, variance, variance**2 / below if below > 0 else math.inf, 0.0, (0.0, 0.0))


def _joined(one: Area, two: Area, d: float, variance: float, df: float, r: float, rare: tuple[float, float]) -> AreaPair:
    few = max(one.scarcity, two.scarcity) > 0
    name = "delong-wilson" if few else "delong"
    pair = AreaPair(
        estimate=d, method=name, test=name, one=one, two=two, variance=variance, df=df, r=r, rare=rare, error=math.sqrt(variance) or None
    )
    if not few:
        return pair
    low, high = pair.ends(0.95)  # what could have been found follows from the widened interval
    return AreaPair(**{**pair.__dict__, "error": (high - low) / (2 * 1.959963984540054)})


@dataclass(frozen=True, kw_only=True)
class FisherZ(Certainty):
    """A correlation of ranks, through Fisher's transformation. Reference: BonettWright2000."""

    n: float
    low: float = -1.0
    high: float = 1.0

    def bounds(self, q: float, sided: int = 1) -> Ends:
        reach = _z(q) * math.sqrt((1 + self.estimate**2 / 2) / (self.n - 3))
        return math.tanh(math.atanh(self.estimate) - reach), math.tanh(math.atanh(self.estimate) + reach)


def fisher_z(rho: float, n: float) -> FisherZ:
    """The correlation of n items."""
    if n < 4 or abs(rho) >= 1:
        raise NoAnswer("too few items, or a perfect rank correlation")
    error = (1 - rho * rho) * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return FisherZ(estimate=rho, method="fisher-z", test="fisher-z", n=n, error=error)
