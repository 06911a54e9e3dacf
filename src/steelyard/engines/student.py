"""Student's t: means and anything smooth, with what nobody has seen counted in where a range is known or few units changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.engines.certainty import Certainty, Ends, NoAnswer, falling_root

UNSEEN = 10 / 3  # squares of an unseen change by the whole range: n units without a change then reach 3 / n of it, at 5% on one side
TRUSTED = 10.0  # changes by the whole range one way, from which the spread that was seen is trusted for the other way
FADES = 10.0  # spread, in squared distances from the mean to an end, at which the unseen item there counts half


@dataclass(frozen=True, kw_only=True)
class Student(Certainty):
    """t around a centre. The centre may lie beside the estimate where unseen items are counted in; the estimate is always inside.

    below, above: variances of what nobody has seen, counted in at an end that does not exclude 0.
    """

    centre: float
    scale: float
    below: float = 0.0
    above: float = 0.0
    equal: bool = False

    def tails(self, margin: float, sided: int = 1) -> Ends:
        if self.equal and margin == 0:
            return 1.0, 1.0
        less, greater = self._less(margin, 0.0), self._greater(margin, 0.0)
        # beyond 0 an end has unseen units counted in, but what excludes 0 without them excludes all that lies behind
        if margin > 0 and self.above:
            less = min(self._less(margin, self.above), self._less(0.0, 0.0))
        if margin < 0 and self.below:
            greater = min(self._greater(margin, self.below), self._greater(0.0, 0.0))
        return less, greater

    def _less(self, margin: float, unseen: float) -> float:
        return 1.0 if self.estimate >= margin and self.centre < margin else self._chance(self.centre - margin, unseen)

    def _greater(self, margin: float, unseen: float) -> float:
        return 1.0 if self.estimate <= margin and self.centre > margin else self._chance(margin - self.centre, unseen)

    def _chance(self, away: float, unseen: float) -> float:
        error = math.sqrt(self.scale**2 + unseen)
        return float(stdtr(self.df, away / error)) if error > 0 else 0.5 + 0.5 * float(np.sign(away))

    def bounds(self, q: float, sided: int = 1) -> Ends:
        t = -float(stdtrit(self.df, q))
        low, high = self.centre - t * self.scale, self.centre + t * self.scale
        if self.below and low <= 0:
            low = self.centre - t * math.sqrt(self.scale**2 + self.below)
        if self.above and high >= 0:
            high = self.centre + t * math.sqrt(self.scale**2 + self.above)
        return min(low, self.estimate), max(high, self.estimate)


def student(
    estimate: float, variance: float, df: float, method: str = "t", *, low: float = -math.inf, high: float = math.inf, test: str = ""
) -> Student:
    """t on a variance; without any there is no answer."""
    if not variance > 0:
        raise NoAnswer("the units do not vary")
    error = math.sqrt(variance)
    return Student(
        estimate=estimate, method=method, test=test or method, low=low, high=high, error=error, df=df, centre=estimate, scale=error
    )


# ---- differences of which few units changed ---------------------------------------------------------------------------------------


def unseen(changes: FloatArray, count: IntArray, reach: float, units: float) -> tuple[float, float]:
    """What the ends of a difference count in for units that nobody has seen change: variances below and above.

    changes: what each unit adds; reach: how far one can be; units: how many they are worth. It fades as changes are seen.
    """
    n, differ = float(count.sum()), float(count[changes != 0].sum())
    start, end = max(n / 8, 6), max(n / 4, min(6, n))
    if n < 2 or differ >= end or units <= 1:
        return 0.0, 0.0
    few = 1.0 if differ <= start else (end - differ) / (end - start)
    below, above = (few * _squares(changes, count, way, reach) / (units * (units - 1)) for way in (-1.0, 1.0))
    return below, above


def _squares(changes: FloatArray, count: IntArray, way: float, reach: float) -> float:
    far = max(reach, float(np.maximum(way * changes, 0).max(initial=0.0)))
    if not 0 < far < math.inf:
        return 0.0
    other = np.maximum(-way * changes, 0) / far
    return UNSEEN * max(0.0, 1 - float(count @ other**2) / TRUSTED) * far**2


def careful(
    estimate: float, variance: float, df: float, rare: tuple[float, float], method: str, *, low: float = -math.inf, high: float = math.inf
) -> Student:
    """t with unseen units at the ends that do not exclude 0."""
    if not variance > 0 and (estimate != 0 or not min(rare) > 0):
        raise NoAnswer("the units do not vary")
    error = math.sqrt(variance)
    return Student(
        estimate=estimate,
        method=method,
        test=method,
        low=low,
        high=high,
        error=error or None,
        df=df,
        centre=estimate,
        scale=error,
        below=rare[0],
        above=rare[1],
        equal=not variance > 0,
    )


# ---- means in a known range -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BoundedMean(Certainty):
    """t with one more item at the end of the range, for each end of the interval its own; it fades as the items show spread."""

    n: float
    squares: float

    def bounds(self, q: float, sided: int = 1) -> Ends:
        return self._end(self.estimate, self.low, q), -self._end(-self.estimate, -self.high, q)

    def _end(self, mean: float, end: float, q: float) -> float:
        away = mean - end
        if not away > 0:
            return end
        z = -float(ndtri(q))
        # as much as makes equal scores say what no failure among n says
        weight = (math.sqrt(z * z - 4 * math.log(q)) - z) ** 2 / 4 / (1 + self.squares / away / (FADES * away))
        total = self.n + weight
        around = (self.squares + away * away * self.n * weight / total) / total / (total - 1)
        return max(end, mean - away * weight / total + float(stdtrit(total - 1, q)) * math.sqrt(around))


def bounded_mean(mean: float, n: float, squares: float, ends: Ends, error: float | None = None) -> BoundedMean:
    """The mean of n items in a known range, and their squares around it."""
    return BoundedMean(
        estimate=mean, method="bounded-mean", test="bounded-mean", low=ends[0], high=ends[1], n=n, squares=squares, error=error
    )


def with_ends(n: float, mean: float, squares: float, low: float, high: float) -> tuple[float, float, float]:
    """n items and one more at either end: centre, squared error, number. Agresti and Caffo's idea, for any scores."""
    centre = mean + (low + high - 2 * mean) / (n + 2)
    around = squares + n * (mean - centre) ** 2 + (low - centre) ** 2 + (high - centre) ** 2
    return centre, around / (n + 1) / (n + 2), n + 2


def bounded_t(mean: float, variance: float, n: float, reach: float, df: float | None = None) -> Student:
    """A difference of means on the same items, with an item at either end of what a difference can be."""
    centre, squared, _ = with_ends(n, mean, variance * n * (n - 1), -reach, reach)
    return Student(
        estimate=mean,
        method="bounded-t",
        test="bounded-t",
        low=-reach,
        high=reach,
        error=math.sqrt(variance) or None,
        df=n + 1 if df is None else df,
        centre=centre,
        scale=math.sqrt(squared),
        equal=mean == 0 and variance == 0,
    )


def welch(one: tuple[float, float, float], other: tuple[float, float, float], ends: Ends | None = None) -> Student:
    """The mean of other items minus that of one, each (mean, squares around it, n); in a known range with an item at either end."""
    if ends is None and (min(one[2], other[2]) < 2 or not one[1] + other[1] > 0):
        raise NoAnswer("fewer than two items" if min(one[2], other[2]) < 2 else "the scores do not vary")
    seen = sum(squares / (n * (n - 1)) for _, squares, n in (one, other) if n > 1)
    if ends is None:
        sides = [(mean, squares / n / (n - 1), n) for mean, squares, n in (one, other)]
    else:
        sides = [with_ends(n, mean, squares, *ends) for mean, squares, n in (one, other)]
    (m1, v1, k1), (m2, v2, k2) = sides
    reach = math.inf if ends is None else ends[1] - ends[0]
    return Student(
        estimate=other[0] - one[0],
        method="t" if ends is None else "bounded-welch",
        test="welch-t" if ends is None else "bounded-welch",
        low=-reach,
        high=reach,
        error=math.sqrt(seen) or None,
        df=(v1 + v2) ** 2 / (v1 * v1 / (k1 - 1) + v2 * v2 / (k2 - 1)),
        centre=m2 - m1,
        scale=math.sqrt(v1 + v2),
        equal=seen == 0 and one[0] == other[0],
    )


# ---- bets -------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Betting(Certainty):
    """What bets against a mean in a known range have not ruled out: it holds for any n. Reference: WaudbySmithRamdas2024."""

    x: FloatArray  # the scores as shares of the range, in random order

    def bounds(self, q: float, sided: int = 1) -> Ends:
        n, wealth = len(self.x), -math.log(q)
        i = np.arange(1, n + 1)
        mean = (0.5 + np.cumsum(self.x)) / (i + 1)
        variance = np.append(0.25, ((0.25 + np.cumsum((self.x - mean) ** 2)) / (i + 1))[:-1])
        bets = np.sqrt(2 * wealth / (n * variance))
        middle, width = float(np.clip(self.x.mean(), 1e-9, 1 - 1e-9)), self.high - self.low

        def kept(x: FloatArray) -> Callable[[float], float]:
            return lambda m: float(np.log1p(np.minimum(bets, 0.5 / m if m > 0 else np.inf) * (x - m)).sum()) - wealth

        low, high = (falling_root(kept(x), 0.0, end, 1e-12) for x, end in ((self.x, middle), (1 - self.x, 1 - middle)))
        return self.low + width * low, self.low + width * (1 - high)


def betting(scores: FloatArray, ends: Ends, seed: int) -> Betting:
    """The scores, in an order that does not depend on that of the file."""
    x = (np.random.Generator(np.random.PCG64(seed)).permutation(np.sort(scores)) - ends[0]) / (ends[1] - ends[0])
    return Betting(estimate=float(scores.mean()), method="betting", test="betting", low=ends[0], high=ends[1], x=x)
