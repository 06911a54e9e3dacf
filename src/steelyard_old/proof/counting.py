"""Counting runs: how seldom a count would come if the truth lay on a bound, and when a setting has had runs enough.

A share that is a count of independent runs lies outside a bound if so many runs, or more, would hardly ever come where the truth
is the bound itself: the binomial tail at the bound, compared with CHANCE. The error at the share that was found is no measure of
that: next to 0 and 1 it is larger than the error at the bound on the bad side, and smaller on the good one.

Most methods do what is claimed of them, with room to spare, and few runs show it. So a setting of the quick grid is left as soon as
its runs speak against the error that all of them would find nine times in ten (FOUND): when they are fifty times (1 / MISSED) as
likely at a share well inside the bound as at that error. By Wald's inequality a method that is off so far is left too early in
one case of fifty at most. A truth on the bound is called outside no more often than by all runs at once, since only what was
tried with all runs can be outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from scipy.special import bdtr, bdtrc, betaincinv

from steelyard_old.proof.claims import Band, Point, Setting, counted
from steelyard_old.results.certificate import UP_IS_BAD

CHANCE = 1e-4  # how seldom, in one comparison, a truth on the bound may look as bad; one of 12 quick grids if all lay on their bounds
FOUND = 0.9  # how often all runs find the error that fewer of them must not overlook
MISSED = 0.02  # how often they may overlook it
LEAST = 20  # runs of a setting, however clear it is: its width is compared with those of other methods


def tail(hits: int, runs: int, bound: float, *, above: bool) -> float:
    """The chance of so many of the runs or more (above), or so many or fewer, if the truth is the bound."""
    if above:
        return 1.0 if hits <= 0 else float(bdtrc(hits - 1, runs, bound))
    return float(bdtr(hits, runs, bound))


@cache
def noticed(runs: int, bound: float) -> float:
    """The share above the bound that so many runs judge to be outside in nine cases of ten; 1 where no count of theirs is.

    >>> round(noticed(100, 0.05), 3), round(noticed(400, 0.05), 3), noticed(2, 0.05)
    (0.206, 0.117, 1.0)
    """
    low, high = 0, runs + 1  # the least count that is outside: none below low, all from high on
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle, runs, bound, above=True) < CHANCE else (middle, high)
    return float(betaincinv(high, runs - high + 1, FOUND)) if high <= runs else 1.0


@cache
def evidence(runs: int, bound: float) -> tuple[float, float]:
    """What a run that hits and one that does not add to the logarithm of a likelihood ratio: a share inside the bound, over `noticed`.

    Inside by as much as that is outside, or half the bound if that is more."""
    off = min(noticed(runs, bound), 1 - 1e-9)
    calm = max(2 * bound - off, bound / 2, 1e-9)
    return math.log(calm / off), math.log((1 - calm) / (1 - off))


@dataclass(slots=True, kw_only=True)
class Count:
    """Runs of a setting, counted one by one.

    lows, highs: the bounds that shares of the claim may not leave. of: how many runs there are at most. least: from how many on
    they may be enough; 0: never.
    """

    of: int
    least: int = 0
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    hits: int = 0
    runs: int = 0

    def add(self, hit: bool) -> None:
        self.hits += bool(hit)
        self.runs += 1

    @property
    def enough(self) -> bool:
        """Whether the runs so far speak against an error at every bound."""
        return 0 < self.least <= self.runs and self.runs < self.of and all(sure >= -math.log(MISSED) for sure in self._evidence())

    def _evidence(self) -> Iterable[float]:
        for bounds, hits in ((self.highs, self.hits), (self.lows, self.runs - self.hits)):
            for bound in bounds:
                of_hit, of_miss = evidence(self.of, bound if bounds is self.highs else 1 - bound)
                yield hits * of_hit + (self.runs - hits) * of_miss


def count_of(band: Band, kind: str, setting: Setting, every: int = 1) -> Count:
    """The count of a setting of which every so many-th run is made. A documented weakness is a bound too, on the other side."""
    lows, highs = [band.low, band.mean_low], [band.high, band.mean_high]
    (lows if kind in UP_IS_BAD else highs).append(band.fails)
    return Count(
        of=-(-int(setting["runs"]) // every),
        least=int(setting.get("least", 0)),
        lows=tuple(bound for bound in lows if bound is not None and bound > 0),
        highs=tuple(bound for bound in highs if bound is not None and bound < 1),
    )


def share_of(where: str, count: Count, outcomes: Iterable[bool]) -> Point:
    """The share of runs with this outcome, drawn until they are enough."""
    for each in outcomes:
        count.add(each)
        if count.enough:
            break
    return counted(where, count.hits, count.runs)


def at_most(setting: Setting, runs: int) -> Setting:
    """A setting of so many runs, or of as many as are enough."""
    return {**setting, "runs": runs, "least": min(LEAST, runs // 2)}


def without_runs(setting: Setting) -> Setting:
    """The law of the data alone: the place is the same, however well it is known."""
    return {key: value for key, value in setting.items() if key not in ("runs", "least")}
