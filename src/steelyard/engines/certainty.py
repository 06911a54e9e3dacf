"""One object answers: the p of any margin and the ends of an interval, on either side. Nobody else holds a p beside an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Ends = tuple[float, float]
SIDES = ("two", "lower", "upper")  # of an interval: both ends, only the lower, only the upper


FARTHEST = 37.0  # z of the smallest p-value that is told apart from 0


class NoAnswer(Exception):
    """A method has nothing to say here, and why."""


@dataclass(frozen=True, kw_only=True)
class Certainty:
    """How sure we are of one number.

    estimate: the number. method: the name of its interval. test: the name of the test whose p it is. low, high: what the number can be.
    error: its standard error, where there is one; df: of that error.
    """

    estimate: float
    method: str = ""
    test: str = ""
    low: float = -math.inf
    high: float = math.inf
    error: float | None = None
    df: float = math.inf

    def tails(self, margin: float, sided: int = 1) -> Ends:
        """The p of "less than the margin" and of "greater than the margin", as one of `sided` sides.

        Of a law that knows its ends alone it is the chance at which an end reaches the margin.
        """
        away = self.estimate - margin
        if away == 0:
            return 0.5, 0.5
        side = 0 if away > 0 else 1

        def beyond(z: float) -> float:
            return (self.bounds(normal_tail(z), sided)[side] - margin) * (1 if away > 0 else -1)

        low, high = 0.0, 1.0
        while high < FARTHEST and beyond(high) > 0:
            low, high = high, min(FARTHEST, 1.7 * high)
        q = normal_tail(falling_root(beyond, low, high, 1e-12))
        return (1 - q, q) if away > 0 else (q, 1 - q)

    def named(self, side: str = "two") -> str:
        """The name of the interval on a side."""
        return self.method

    def bounds(self, q: float, sided: int = 1) -> Ends:
        """The ends that the number is beyond with a chance of q each."""
        raise NotImplementedError

    def p(self, margin: float = 0.0, alternative: str = "two-sided") -> float:
        """The p-value against the number being the margin."""
        less, greater = self.tails(margin, 2 if alternative == "two-sided" else 1)
        return float({"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[alternative])

    def ends(self, level: float = 0.95, side: str = "two") -> Ends:
        """The interval; an end that was not asked for is the end of what is possible."""
        q = (1 - level) / (2 if side == "two" else 1)
        below, above = self.bounds(q, 2 if side == "two" else 1)
        low, high = max(self.low, float(below)), min(self.high, float(above))
        return self.low if side == "upper" else low, self.high if side == "lower" else high


@dataclass(frozen=True, kw_only=True)
class Joined(Certainty):
    """A test of no difference beside an interval of another law: one answer that cannot contradict itself.

    The p is the larger of the two, and an end that excludes 0 where p is above its level is stretched to 0.0, which counts as inside.
    Where the test is exact or nearly so it rules: then the p is the test's, and an end that still holds 0 moves to the next float.
    """

    of_test: Certainty
    of_interval: Certainty
    rules: bool = False

    def tails(self, margin: float, sided: int = 1) -> Ends:
        zero = self.of_test.tails(0.0, sided)
        if not self.rules:
            around = self.of_interval.tails(0.0, sided)
            zero = max(zero[0], around[0]), max(zero[1], around[1])
        if margin == 0:
            return zero
        # the interval's own, but never on the other side of what was said of 0: an end that was moved to 0 is moved for the p as well
        less, greater = self.of_interval.tails(margin, sided)
        return (min(less, zero[0]), max(greater, zero[1])) if margin > 0 else (max(less, zero[0]), min(greater, zero[1]))

    def bounds(self, q: float, sided: int = 1) -> Ends:
        low, high = self.of_interval.bounds(q, sided)
        less, greater = self.tails(0.0, sided)
        if greater > q:
            low = min(low, 0.0)
        elif self.rules and low <= 0:
            low = math.nextafter(0.0, 1.0)
        if less > q:
            high = max(high, 0.0)
        elif self.rules and high >= 0:
            high = math.nextafter(0.0, -1.0)
        return low, high


def joined(of_test: Certainty, of_interval: Certainty, *, rules: bool = False) -> Joined:
    """Both in one; the test is named whose p it is, on the side of the estimate."""
    side = 0 if of_interval.estimate < 0 else 1
    test = of_test.test if rules or of_test.tails(0.0, 2)[side] >= of_interval.tails(0.0, 2)[side] else of_interval.test
    return Joined(
        estimate=of_interval.estimate,
        method=of_interval.method,
        test=test,
        low=of_interval.low,
        high=of_interval.high,
        error=of_interval.error,
        df=of_interval.df,
        of_test=of_test,
        of_interval=of_interval,
        rules=rules,
    )


@dataclass(frozen=True, kw_only=True)
class Mapped(Certainty):
    """The certainty of an increasing function of another number: F1 of the Jaccard index, perplexity of a mean."""

    inner: Certainty
    outwards: Callable[[Any], Any]

    def bounds(self, q: float, sided: int = 1) -> Ends:
        low, high = self.inner.bounds(q, sided)
        return float(self.outwards(max(self.inner.low, low))), float(self.outwards(min(self.inner.high, high)))

    def tails(self, margin: float, sided: int = 1) -> Ends:
        low, high = max(self.inner.low, -700.0), min(self.inner.high, 700.0)
        return self.inner.tails(falling_root(lambda x: margin - float(self.outwards(x)), low, high), sided)


def normal_tail(z: float) -> float:
    """The chance of a standard normal number above z."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def falling_root(f: Callable[[float], float], low: float = -1.0, high: float = 1.0, close: float = 0.0) -> float:
    """Where a falling function crosses 0 between two numbers, to the last float or to `close`; Illinois' rule of false position."""
    at_low, at_high = f(low), f(high)
    if at_high > 0:
        return high
    if at_low <= 0:
        return low
    kept = 0
    for step in range(400):
        middle = (low + high) / 2
        if high - low <= close or not low < middle < high:
            break
        if step < 60 and math.isfinite(at_low - at_high):  # a chord, halved where the same end stays twice
            middle = min(max(low + (high - low) * at_low / (at_low - at_high), math.nextafter(low, high)), math.nextafter(high, low))
        at = f(middle)
        if at > 0:
            at_high = at_high / 2 if kept == 1 else at_high
            low, at_low, kept = middle, at, 1
        else:
            at_low = at_low / 2 if kept == -1 else at_low
            high, at_high, kept = middle, at, -1
    return high
