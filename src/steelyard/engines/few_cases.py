"""Few cases with several runs: one more case for new cases like these, stratified Wilson intervals for these very cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from steelyard.base.arrays import FloatArray
from steelyard.engines.certainty import FARTHEST, Certainty, Ends, NoAnswer, falling_root, joined
from steelyard.engines.within_items import Runs, runs_of, within_item

Column = npt.ArrayLike

MOST = 2_000  # cases; beyond, bounded-t is as good and faster
GRID = 2.0**45  # steps of a difference over its range: 1/3 + 1/3 + 1/3 is 1 before signs are taken
CLOSE = 1e-12  # how near an end is found, as a share of the range
PRIOR_RUNS = 4.0  # that shrink the share of the variance within cases to "all"
ENOUGH = 15  # cases from which a spread between cases is worth a word


@dataclass(frozen=True, kw_only=True)
class OneMoreCase(Certainty):
    """The mean over new cases, from the cases seen and one unseen at either end of the range; the weights are flat Dirichlet.

    One law F answers all: with one run a side its p is McNemar's mid-p. On scores a one-sided p has the unseen case at the far end only.
    """

    method: str = "one-more-case"
    test: str = "one-more-case"
    values: FloatArray = field(repr=False, compare=False)
    whole: bool

    def tails(self, margin: float, sided: int = 1) -> Ends:
        mid = self.whole or sided == 2
        if not self.low < margin < self.high:  # only where all cases lie at this end does the law have a lump there
            lump = float(np.all(self.values == margin)) / (2 if mid else 1)
            return (1.0, lump) if margin <= self.low else (lump, 1.0)
        x = self.values - margin
        a, b = np.sort(x[x > 0]), np.sort(-x[x < 0])
        home_a, home_b = _race(a, b)
        left_a, left_b = _left(a, margin - self.low), _left(b, self.high - margin)
        not_above = home_a.sum() + (home_b * np.exp(-left_a)).sum()  # the unseen case at the lower end
        not_below = home_b.sum() + (home_a * np.exp(-left_b)).sum()  # at the upper end
        if mid:  # mass at the margin counts on both sides, so neither tail is 1 minus the other
            not_above = (not_above - (home_a * np.expm1(-left_b)).sum()) / 2
            not_below = (not_below - (home_b * np.expm1(-left_a)).sum()) / 2
        return min(1.0, float(not_below)), min(1.0, float(not_above))

    def bounds(self, q: float, sided: int = 1) -> Ends:
        below = _first_above(lambda e: self.tails(e, sided)[1], q, self.low, self.high)
        return below, -_first_above(lambda e: self.tails(-e, sided)[0], q, -self.high, -self.low)


def one_more_case(differences: npt.ArrayLike, low: float, high: float, *, whole: bool) -> OneMoreCase:
    """From the case means of the candidate minus those of the baseline. low, high: what one can be. whole: made of right and wrong.

    Reference: Gaffke2005; LearnedMillerThomas2019.

    >>> round(one_more_case([2 / 3] * 6, -1, 1, whole=True).p(), 6)
    0.046656
    """
    d = np.asarray(differences, float)
    if not 1 <= len(d) <= MOST:
        raise NoAnswer(f"one more case is for 1 to {MOST:,} cases, not {len(d):,}")
    step = (high - low) / GRID
    error = float(d.std(ddof=1)) / math.sqrt(len(d)) if len(d) > 1 else None
    values = np.clip(np.round(d / step) * step, low, high)
    return OneMoreCase(estimate=math.fsum(d) / len(d), low=low, high=high, error=error, values=values, whole=whole)


def _race(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two chains of exponentials with these means: the chance that A is home while B is at j, and that B is home while A is at i.

    P(sum W x <= 0) is the chance that A is home first. From (i, j) the next to finish is a_i with chance b_j / (a_i + b_j).
    """
    k, m = len(a), len(b)
    home_a, home_b = np.zeros(m + 1), np.zeros(k + 1)
    home_a[0], home_b[0] = not k, k > 0 == m  # a chain without links is home at once
    turned, chance = b[::-1], np.eye(1, k + 1)[0]  # at step s, chance[i] is that of i and s - i
    for s in range(k + m - 1 if k and m else 0):
        first, stop = max(0, s - m + 1), min(k, s + 1)
        up, down = a[first:stop], turned[m - 1 - s + first : m - 1 - s + stop]
        share = chance[first:stop] / (up + down)
        done = share * down
        np.multiply(share, up, out=chance[first:stop])
        if stop == k:
            home_a[s - k + 1] = done[-1]
        if s >= m - 1:
            home_b[first] = chance[first]
        chance[first + 1 : stop + 1] += done
    return home_a, home_b


def _left(chain: FloatArray, other: float) -> FloatArray:
    """-log of the chance that the rest of a chain, from each place on, finishes before one exponential with the other mean."""
    with np.errstate(divide="ignore"):
        return np.append(np.cumsum(np.log1p(chain / other)[::-1])[::-1], 0.0)


def _first_above(tail: Callable[[float], float], q: float, low: float, high: float) -> float:
    """The first number whose rising tail is above q. 0 is asked first: it is below the end exactly where its p is at most q."""
    zero, close = min(max(0.0, low), high), CLOSE * (high - low)

    def missing(e: float) -> float:
        value = tail(e)
        away = float(ndtri(q) - ndtri(value))  # nearly straight
        return min(away, 0.0) if value > q else max(away, 1e-300)

    return falling_root(missing, low, zero, close) if tail(zero) > q else falling_root(missing, zero, high, close)


class Side(NamedTuple):
    """One system on these cases, its scores scaled to 0..1: mean, N0 and N of the stratified Wilson interval."""

    mean: float
    fewest: float
    worth: float

    def ends(self, z: float) -> Ends:
        """The interval; flakes nobody saw move a side by z^2 / N0 at least."""
        l0, u0 = _wilson(self.mean, self.fewest, z)
        low, high = _wilson(self.mean, self.worth, z)
        floor = z * z / self.fewest
        return max(l0, min(low, self.mean - floor)), min(u0, max(high, self.mean + floor))


def _wilson(m: float, n: float, z: float) -> Ends:
    centre, scale = m + z * z / (2 * n), 1 + z * z / n
    reach = z * math.sqrt(m * (1 - m) / n + z * z / (4 * n * n))
    return (centre - reach) / scale, (centre + reach) / scale


@dataclass(frozen=True, kw_only=True)
class TheseCases(Certainty):
    """The difference on these very cases: the stratified Wilson intervals of both sides, put together as Newcombe does."""

    method: str = "these-cases"
    test: str = "these-cases"
    a: Side
    b: Side

    def bounds(self, q: float, sided: int = 1) -> Ends:
        z = min(max(0.0, -float(ndtri(q))), FARTHEST)
        (low_a, high_a), (low_b, high_b), a, b = self.a.ends(z), self.b.ends(z), self.a.mean, self.b.mean
        down, up = math.hypot(b - low_b, high_a - a), math.hypot(high_b - b, a - low_a)
        return self.estimate - self.high * down, self.estimate + self.high * up


def _cells(runs: Runs, low: float, high: float) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Of baseline and candidate, per case: the runs, their mean and their squares around it; scores scaled to 0..1."""
    cells = []
    for mine in (~runs.ours, runs.ours):
        case, score = runs.case[mine], (runs.score[mine] - low) / (high - low)
        many = np.bincount(case).astype(float)
        mean = np.bincount(case, weights=score) / many
        away = score - mean[case]
        away[np.abs(away) < CLOSE] = 0.0  # equal runs differ by nothing
        cells.append((many, mean, np.bincount(case, weights=away * away).astype(float)))
    return cells


def _side(many: FloatArray, mean: FloatArray, squares: FloatArray) -> Side:
    n, fewest, m = len(mean), float(many.min()), min(max(float(mean.mean()), 0.0), 1.0)
    seen, most, within = n * (fewest - 1), m * (1 - m), float(np.mean(squares / np.maximum(many - 1, 1)))
    share = min(1.0, (seen * within + PRIOR_RUNS * most) / ((seen + PRIOR_RUNS) * most)) if most > 0 else 1.0
    return Side(m, n * fewest, n * fewest / share)  # one run somewhere: as for independent proportions


def these_interval(runs: Runs, low: float, high: float) -> TheseCases:
    """The interval alone, of scores from low to high. Reference: Newcombe1998; Wilson1927; Hoeffding1956."""
    a, b = (_side(*cells) for cells in _cells(runs, low, high))
    return TheseCases(estimate=(b.mean - a.mean) * (high - low), low=low - high, high=high - low, a=a, b=b)


def these_cases(
    case_a: Column, score_a: Column, case_b: Column, score_b: Column, low: float, high: float, *, draws: int = 10_000, seed: int = 0
) -> Certainty:
    """The answer about these very cases, from the case and the score of every run: the within-item test, which rules, and its interval.

    >>> answer = these_cases([0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 1, 1], 0, 1)
    >>> answer.p(), answer.ends()[0] > 0
    (0.05, True)
    """
    runs = runs_of(case_a, score_a, case_b, score_b)
    test = within_item(runs, draws=draws, seed=seed)
    return joined(test, replace(these_interval(runs, low, high), estimate=test.estimate), rules=True)


def limit(n: int, alpha: float) -> float:
    """The least equal rise, as a share of the range of a score, that any test of size alpha may call on n new cases.

    >>> round(limit(8, 0.05), 2)
    0.45
    """
    return math.exp(-math.log(alpha) / n) - 1


@dataclass(frozen=True, kw_only=True)
class Components:
    """What the difference varies by: noise of one pair of runs and between cases; its standard errors on these and on new cases.

    None: not known (one run a side, one case), or nothing to print (no run differed; too little is seen of a spread between cases).
    """

    cases: int
    noise: float | None
    between: float | None
    error_these: float | None
    error_new: float | None

    def errors(self, cases: int, runs: int) -> tuple[float | None, float | None]:
        """The standard errors on these and on new cases, with so many cases and runs a side."""
        new = None if self.noise is None or self.between is None else self.between + self.noise / runs
        return _error(self.noise, cases * runs), _error(new, cases)

    def best_runs(self, cost: float) -> float | None:
        """Runs a side of every case where writing a case costs as much as `cost` runs."""
        if not self.between or self.noise is None or self.cases < ENOUGH:
            return None
        return max(1.0, math.sqrt(cost * self.noise / (2 * self.between)))


def _error(variance: float | None, many: int) -> float | None:
    return math.sqrt(variance / many) if variance else None


def buy_next(runs: Runs, low: float = 0.0, high: float = 1.0) -> Components:
    """Cases or runs? The components of the variance of the case differences, by moments."""
    cells = _cells(runs, low, high)
    n, unit = len(runs.many_a), (high - low) ** 2
    new = float(np.var(cells[1][1] - cells[0][1], ddof=1)) * unit if n > 1 else None
    noise = seen = between = None
    if all(many.max() > 1 for many, *_ in cells):  # a case with one run says nothing of noise
        within = [float(np.mean(squares[many > 1] / (many[many > 1] - 1))) * unit for many, _, squares in cells]
        noise, seen = sum(within), sum(w * float(np.mean(1 / many)) for w, (many, *_) in zip(within, cells, strict=True))
        between = None if new is None else max(0.0, new - seen)
        new = None if between is None else between + seen
    return Components(cases=n, noise=noise, between=between, error_these=_error(seen, n), error_new=_error(new, n))
