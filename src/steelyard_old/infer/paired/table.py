"""The difference of a table metric between two systems on the same items: bootstrap and delta method on the joint table.

A cell of the joint table is (truth, baseline, candidate). Resampling items with replacement is one multinomial draw over
its occupied cells; both systems' margins are sums of the same draw, so what they have in common cancels by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.normal import z_value
from steelyard_old.infer.paired.mcnemar import check_alternative
from steelyard_old.infer.paired.randomization import TIE, check_exchanges
from steelyard_old.infer.paired.within_items import Kinds, lattice_tails
from steelyard_old.infer.resampling import bootstrap
from steelyard_old.infer.resampling.bootstrap import BLOCK, _Segments, redraw
from steelyard_old.infer.resampling.work import within_reach
from steelyard_old.metrics.table import Margins, TableStatistic
from steelyard_old.tally.joint import JointCounts

FloatArray = npt.NDArray[np.float64]
Pair = tuple[Margins, Margins]


class JointCells:
    """The occupied cells of a joint table, ready to be summed into the margins of both systems."""

    def __init__(self, joint: JointCounts) -> None:
        self.truth, self.baseline, self.candidate, self.count = joint.arrays()
        self.classes, self.n = joint.classes, joint.n
        self._by_truth = _Segments(self.truth, self.classes)
        self._sides = [(_Segments(x, self.classes), _Segments(self._hits(x), self.classes)) for x in (self.baseline, self.candidate)]

    def _hits(self, prediction: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.where(prediction == self.truth, self.truth, self.classes)

    def margins(self, weights: npt.NDArray[Any]) -> Pair:
        """The margins of both systems from rows of cell weights, shape (tables, cells)."""
        truth, n = self._by_truth.sums(weights), weights.sum(1).astype(float)
        baseline, candidate = (Margins(hit.sums(weights), truth, said.sums(weights), n) for said, hit in self._sides)
        return baseline, candidate

    def observed(self) -> Pair:
        """The margins of both systems as they are, without the leading axis."""
        baseline, candidate = (Margins(m.hit[0], m.truth[0], m.prediction[0], m.n[0]) for m in self.margins(self.count[None, :]))
        return baseline, candidate

    def redrawn(self, draws: int, rng: np.random.Generator) -> Iterator[Pair]:
        """Margins of `draws` tables drawn from Multinomial(n, counts / n), block by block."""
        rows = max(1, BLOCK // max(1, len(self.count), 6 * self.classes))
        for start in range(0, draws, rows):
            yield self.margins(redraw(self.count, min(rows, draws - start), rng))

    def left_out(self) -> Iterator[Pair]:
        """Margins with one item of each cell left out in turn."""
        rows = max(1, BLOCK // max(1, 6 * self.classes))
        whole = self.observed()
        for start in range(0, len(self.count), rows):
            part = slice(start, min(start + rows, len(self.count)))
            t = self.truth[part]
            baseline, candidate = (_without(m, t, x[part]) for m, x in zip(whole, (self.baseline, self.candidate), strict=True))
            yield baseline, candidate

    def jackknife(self, statistic: TableStatistic) -> FloatArray:
        """The difference with one item of each cell left out; by its gradient where that would be cells times classes."""
        if within_reach(len(self.count), 6 * self.classes):
            return np.concatenate([_difference(statistic, pair) for pair in self.left_out()])
        return _difference(statistic, self.observed()) - self.influence(statistic) / self.n

    def influence(self, statistic: TableStatistic, observed: Pair | None = None) -> FloatArray:
        """How much one more item in each cell moves the difference, times n. observed: the margins, where they are there already."""
        pair = self.observed() if observed is None else observed
        here, there = (self._influence_of(statistic.gradient(m), x) for m, x in zip(pair, (self.baseline, self.candidate), strict=True))
        return there - here

    def _influence_of(self, g: Margins, prediction: npt.NDArray[np.int64]) -> FloatArray:
        of_prediction = np.append(g.prediction, 0.0)[np.minimum(prediction, self.classes)]
        of_hit = np.append(g.hit, 0.0)[self._hits(prediction)]
        out: FloatArray = self.n * (g.truth[self.truth] + of_prediction + of_hit + g.n)
        return out


def _without(m: Margins, truth: npt.NDArray[np.int64], prediction: npt.NDArray[np.int64]) -> Margins:
    """The margins of one system, one item of each (truth, prediction) left out: one table per row."""
    row, classes = np.arange(len(truth)), len(m.hit)
    hit, of_truth, of_prediction = (np.repeat(part[None, :], len(row), axis=0) for part in m[:3])
    known, same = prediction < classes, prediction == truth
    of_truth[row, truth] -= 1
    of_prediction[row[known], prediction[known]] -= 1
    hit[row[same], truth[same]] -= 1
    return Margins(hit, of_truth, of_prediction, np.full(len(row), m.n - 1.0))


def _difference(statistic: TableStatistic, pair: Pair) -> FloatArray:
    """candidate - baseline; what only rounding separates from 0 is 0."""
    here, there = (np.asarray(statistic.value(m), float) for m in pair)
    gap = there - here
    with np.errstate(invalid="ignore"):
        out: FloatArray = np.where(np.abs(gap) <= 1e-14 * np.maximum(np.abs(here), np.abs(there)), 0.0, gap)
    return out


def joint_bootstrap(
    joint: JointCounts,
    statistic: TableStatistic,
    method: str,
    confidence_level: float = 0.95,
    side: str = "two",
    *,
    draws: int = 10_000,
    seed: int = 0,
) -> tuple[float, float, int]:
    """BCa or percentile bootstrap of the difference of a table metric; third, how many draws left it undefined.

    Formula: joint tables ~ Multinomial(n, counts/n), which is resampling items with both their outputs; the jackknife of
    BCa has one term per joint cell. Assumes: independent items. Undefined: when all draws agree, as for two identical
    systems (Degenerate: the caller falls back). Reference: Efron1987; EfronTibshirani1993, chapters 8 and 14.

    >>> from steelyard_old.metrics.catalogue import parse
    >>> joint = JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76)
    >>> low, high, _ = joint_bootstrap(joint, parse("accuracy").of_table(), "bca")
    >>> -0.007 < low < -0.003 and 0.038 < high < 0.043
    True
    """
    draws = bootstrap.check_draws(draws, confidence_level, side)
    cells = JointCells(joint)
    if cells.n < 2:
        raise bootstrap.Degenerate("fewer than two items")
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn, undefined = bootstrap.defined_values(
        (_difference(statistic, pair) for pair in cells.redrawn(draws, rng)), confidence_level, side
    )
    if method == "percentile":
        ends = bootstrap.percentile(drawn, confidence_level, side)
    else:
        left_out = cells.jackknife(statistic)
        usable = np.isfinite(left_out)
        estimate = float(_difference(statistic, cells.observed()))
        ends = bootstrap.bca(drawn, estimate, left_out[usable], cells.count[usable], confidence_level, side)
    return (*ends, undefined)


class FirstOrder(NamedTuple):
    """A difference and its delta-method standard error, which intervals, margins and the smallest detectable difference rest on.

    baseline, candidate: the metric of each system.
    """

    difference: float
    error: float
    baseline: float
    candidate: float

    def interval(self, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
        """difference +- z x error. Undefined: no spread (Degenerate)."""
        if not self.error > 1e-14:
            raise bootstrap.Degenerate("the delta method finds no spread")
        reach = z_value(confidence_level, side) * self.error
        return self.difference - reach, self.difference + reach


def first_order(joint: JointCounts, statistic: TableStatistic) -> FirstOrder:
    """Both from one pass over the joint cells. Reference: Efron1982, chapter 6.

    >>> from steelyard_old.metrics.catalogue import parse
    >>> joint = JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76)
    >>> [round(x, 6) for x in first_order(joint, parse("accuracy").of_table())]
    [0.018, 0.011562, 0.848, 0.866]
    """
    cells = JointCells(joint)
    pair = cells.observed()
    u = cells.influence(statistic, pair)
    baseline, candidate = (float(statistic.value(m)) for m in pair)
    return FirstOrder(float(_difference(statistic, pair)), math.sqrt(float(cells.count @ u**2)) / cells.n, baseline, candidate)


class PairedBootstrap(NamedTuple):
    """share = count / draws, as the course defines it; p_value = (count + 1) / (draws + 1) can never be 0.

    `undefined` draws, on which the metric has no value, are in the count.
    """

    share: float
    p_value: float
    count: int  # type: ignore[assignment]  # the resamples counted, not the method of tuples
    draws: int
    undefined: int = 0


def paired_bootstrap_test(
    joint: JointCounts, statistic: TableStatistic, *, alternative: str = "greater", draws: int = 10_000, seed: int = 0
) -> PairedBootstrap:
    """The paired bootstrap test: how often a resample shows at least twice the observed difference.

    Formula: share of resamples with delta_i >= 2 delta ("greater"), delta_i <= 2 delta ("less"), or
    |delta_i - delta| >= |delta| ("two-sided"); delta = candidate - baseline, ties included. One-sided it is meant for a
    side named beforehand: in the direction of the winner it rejects twice as often as it says.
    Assumes: independent items, a law of the difference that only shifts under H0. Undefined: the metric of one of the
    systems (Degenerate). Two identical systems: 1. Strict inequalities reject up to .12 instead of .05 with ties.
    Reference: BergKirkpatrick2012, figure 1; Koehn2004; EfronTibshirani1993, section 16.4; PhipsonSmyth2010 for the + 1.

    >>> from steelyard_old.metrics.catalogue import parse
    >>> joint = JointCounts.flips(both=1, baseline_only=1, candidate_only=3, neither=0)
    >>> found = paired_bootstrap_test(joint, parse("accuracy").of_table())
    >>> abs(found.share - 0.20736) < 4 * 0.0041, found.p_value == (found.count + 1) / 10_001
    (True, True)
    """
    check_alternative(alternative)
    draws = check_exchanges(draws)
    cells = JointCells(joint)
    if bool(np.all(cells.baseline == cells.candidate)):
        return PairedBootstrap(1.0, 1.0, draws, draws)
    pair = cells.observed()
    delta = float(_difference(statistic, pair))
    if not math.isfinite(delta):
        raise bootstrap.Degenerate("the metric is undefined for one of the systems")
    slack = TIE * max(abs(float(statistic.value(m))) for m in pair)
    rng = np.random.Generator(np.random.PCG64(seed))
    count = undefined = 0
    for redrawn in cells.redrawn(draws, rng):
        far, lost = _as_far(_difference(statistic, redrawn), delta, slack, alternative)
        count, undefined = count + int(np.count_nonzero(far)), undefined + int(np.count_nonzero(lost))
    return PairedBootstrap(count / draws, (count + 1) / (draws + 1), count, draws, undefined)


def _as_far(drawn: FloatArray, delta: float, slack: float, alternative: str) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which resamples count, ties and undefined ones included, and which are undefined."""
    lost = ~np.isfinite(drawn)
    gap = {"greater": drawn - 2 * delta, "less": 2 * delta - drawn, "two-sided": np.abs(drawn - delta) - abs(delta)}[alternative]
    with np.errstate(invalid="ignore"):
        return (gap >= -slack) | lost, lost


def paired_bootstrap_accuracy(gained: int, lost: int, n: int, alternative: str = "greater") -> float:
    """The share of the paired bootstrap test for accuracy, with all resamples: B = infinity, whole numbers, no draws.

    Formula: the gains and losses (G, L) of a resample are trinomial with n items and shares gained/n, lost/n;
    delta_i >= 2 delta is G - L >= 2 (gained - lost), the tail of a sum of n draws of -1, 0, 1, convolved.
    Reference: BergKirkpatrick2012; EfronTibshirani1993, section 16.4.

    >>> round(paired_bootstrap_accuracy(3, 1, 5), 12)
    0.20736
    """
    check_alternative(alternative)
    if gained + lost == 0:
        return 1.0
    twice = 2 * (gained - lost)
    if alternative == "greater":
        return _resampled_tail(gained, lost, n, twice)
    if alternative == "less":
        return _resampled_tail(lost, gained, n, -twice)
    if twice == 0:
        return 1.0
    more, fewer = max(gained, lost), min(gained, lost)
    return min(1.0, _resampled_tail(more, fewer, n, abs(twice)) + _resampled_tail(fewer, more, n, 0))


def _resampled_tail(ups: int, downs: int, n: int, least: int) -> float:
    """P(U - D >= least) when (U, D, rest) ~ Multinomial(n, (ups, downs, n - ups - downs) / n): n draws of -1, 0 or 1."""
    one = Kinds(np.array([[-1, 0, 1]]), np.array([[downs, n - ups - downs, ups]]) / n, np.array([n]))
    tails = lattice_tails(one, least)
    assert tails is not None  # one kind is never too much work
    return min(1.0, tails.at + tails.above)
