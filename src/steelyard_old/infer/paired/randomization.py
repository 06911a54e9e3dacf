"""Approximate randomization: if the two systems were alike, their outputs on an item could be exchanged at will.

Which exchanges matter? Only of items on which the systems differ, and only what they do to the margins of the two tables.
Items are therefore counted by kind: "one system right, the other says s instead of f", or "both wrong, f against s".
If m items are of one kind, the number on which the baseline is the one that says f is Binomial(m, 1/2): one number per
kind and draw instead of one per item, and for m <= 64 it is the number of ones in a random word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.paired.mcnemar import check_alternative
from steelyard_old.infer.resampling.bootstrap import BLOCK, Degenerate
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.table import Margins, TableStatistic
from steelyard_old.tally.joint import JointCounts

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

COMBINATIONS = 200_000  # outcomes that are enumerated rather than drawn
TOGETHER = 1024  # draws of one batch: part of the definition of the stream, so it never follows BLOCK
LONGEST = 768  # items of a kind up to which counting the ones of random words beats Generator.binomial
SHORT = 128  # draws of a batch below which a loop over classes costs more than it saves
TIE = 1e-12  # two values closer than this, relative to the values of the metric, are one value


@dataclass(frozen=True, slots=True, kw_only=True)
class Randomized:
    """p_value; statistic = the observed difference; of `draws` exchanges `count` move it at least as far from 0.

    When `exact`, draws is the number of outcomes enumerated and count how many of them are at least as far.
    `undefined` draws, on which the metric has no value, count as at least as far.
    """

    p_value: float
    statistic: float
    exact: bool
    draws: int
    count: int
    undefined: int = 0


def randomize(
    joint: JointCounts, statistic: TableStatistic, *, alternative: str = "two-sided", draws: int = 10_000, seed: int = 0
) -> Randomized:
    """The randomization test of the difference of a table metric: swap the two outputs of each item by a fair coin.

    Formula: d = metric(candidate) - metric(baseline); p = share of exchanges with |d*| >= |d|, ties included. Exact, all
    outcomes weighted by their binomial probabilities, when there are at most 200,000; else (k + 1) / (draws + 1). Exchanging
    every item turns d* into -d*, so the law is symmetric: the tail towards d is half the two-sided p, and doubling it
    gives it back. For accuracy this is McNemar's exact test.
    Assumes: items independent, and under H0 either output could have come from either system.
    Undefined: the metric of one of the systems (Degenerate). Two identical systems: p = 1.
    Reference: Noreen1989; Yeh2000; Fisher1935; PhipsonSmyth2010 for the + 1.

    >>> from steelyard_old.metrics.catalogue import parse
    >>> found = randomize(JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76), parse("accuracy").of_table())
    >>> round(found.p_value, 6), round(found.statistic, 6), found.exact
    (0.141662, 0.018, True)
    """
    check_alternative(alternative)
    draws = check_exchanges(draws)
    swaps = Swaps(joint)
    if not len(swaps.many):
        return Randomized(p_value=1.0, statistic=0.0, exact=True, draws=1, count=1)
    here, there = statistic.value(swaps.observed("baseline")), statistic.value(swaps.observed("candidate"))
    if not (np.isfinite(here) and np.isfinite(there)):
        raise Degenerate("the metric is undefined for one of the systems")
    observed, size = float(there - here), float(max(abs(here), abs(there)))
    sign = 0 if abs(observed) <= TIE * size else int(math.copysign(1, observed))
    outcomes = math.prod(int(m) + 1 for m in swaps.many)
    if outcomes <= COMBINATIONS and outcomes * joint.classes <= 100 * COMBINATIONS:
        at_least = beyond = 0.0
        count = undefined = 0
        for tables, weight in swaps.enumerated(outcomes):
            far, farther, lost = compare_sizes(*_values(statistic, tables), observed, size)
            at_least, beyond = at_least + float(weight[far].sum()), beyond + float(weight[farther].sum())
            count, undefined = count + int(far.sum()), undefined + int(lost.sum())
        p = symmetric_p(min(at_least, 1.0), beyond, sign, alternative)
        return Randomized(p_value=p, statistic=observed, exact=True, draws=outcomes, count=count, undefined=undefined)
    totals = np.zeros(3, np.int64)
    for tables in swaps.drawn(draws, seed):
        totals += [int(part.sum()) for part in compare_sizes(*_values(statistic, tables), observed, size)]
    count, farther_count, undefined = map(int, totals)
    p = symmetric_p((count + 1) / (draws + 1), farther_count / (draws + 1), sign, alternative)
    return Randomized(p_value=p, statistic=observed, exact=False, draws=draws, count=count, undefined=undefined)


def check_exchanges(draws: int) -> int:
    """A whole number of draws, at least one."""
    if isinstance(draws, bool) or int(draws) != draws or draws < 1:
        raise UsageError("cannot use draws", got=f"{draws}", need="a whole number of at least 1", hint="10000 is the default")
    return int(draws)


def symmetric_p(at_least: float, beyond: float, sign: int, alternative: str) -> float:
    """A p-value from a law that is symmetric around 0: shares at least as far from 0 as the observed value, and farther.

    `sign` is that of the observed value. Towards it the tail is at_least / 2; against it, and for 0, it is
    1 - beyond / 2. The two-sided p is at_least: twice the smaller tail.

    Reference: EdgingtonOnghena2007.

    >>> symmetric_p(0.04, 0.03, 1, "greater"), symmetric_p(0.04, 0.03, 1, "less"), symmetric_p(1.0, 0.8, 0, "less")
    (0.02, 0.985, 0.6)
    """
    if alternative == "two-sided":
        return 1.0 if sign == 0 else at_least
    towards = 1 if alternative == "greater" else -1
    return at_least / 2 if sign == towards else 1 - beyond / 2


def compare_sizes(here: FloatArray, there: FloatArray, observed: float, size: float) -> tuple[Any, Any, Any]:
    """Which redrawn differences are at least as far from 0 as the observed one, which farther, which undefined.

    Values within 1e-12 of the size of the metric tie, and a tie is at least as far. An undefined one counts against us.
    """
    drawn = there - here
    undefined = ~np.isfinite(drawn)
    slack = TIE * np.maximum(np.maximum(np.abs(here), np.abs(there)), size)
    with np.errstate(invalid="ignore"):
        gap = np.abs(drawn) - abs(observed)
        return (gap >= -slack) | undefined, (gap > slack) & ~undefined, undefined


class Swaps:
    """The items on which two systems differ, by kind, and the tables that follow from exchanging their outputs."""

    def __init__(self, joint: JointCounts) -> None:
        truth, baseline, candidate, count = joint.arrays()
        self.classes = joint.classes
        outside = self.classes  # all predicted labels outside the declared set do the same to the margins: nothing
        a, b = np.minimum(baseline, outside), np.minimum(candidate, outside)
        self._sides = {"baseline": self._margins(truth, a, count), "candidate": self._margins(truth, b, count)}
        differ = a != b
        t, a, b, count = truth[differ], a[differ], b[differ], count[differ]
        right = (t == a) | (t == b)
        # The truth matters only if one of the two hit it; then that one comes first.
        first = np.where(right, t, np.minimum(a, b))
        second = a + b - first
        key, place = np.unique((first * (outside + 1) + second) * 2 + right, return_inverse=True)
        self.first, self.second, self.right = key // 2 // (outside + 1), key // 2 % (outside + 1), key % 2 == 1
        self.many = np.bincount(place, weights=count, minlength=len(key)).astype(np.int64)
        says_first = np.bincount(place, weights=np.where(a == first, count, 0), minlength=len(key)).astype(np.int64)
        # The baseline's margins if it said `second` on every such item.
        rows = self._effects(says_first[:, None])
        self._floor = {
            name: part - row[:, 0] for name, part, row in zip(("hit", "prediction"), self._sides["baseline"][::2], rows, strict=True)
        }

    def _margins(self, truth: IntArray, prediction: IntArray, count: IntArray) -> Margins:
        hit, of_truth, of_prediction = (
            np.bincount(x, weights=w.astype(float), minlength=self.classes).astype(float)
            for x, w in ((truth, count * (truth == prediction)), (truth, count), (prediction, count))
        )
        return Margins(hit[: self.classes], of_truth[: self.classes], of_prediction[: self.classes], np.array(float(count.sum())))

    def observed(self, side: str) -> Margins:
        """The margins of the table of one system as it is."""
        return self._sides[side]

    def _effects(self, says_first: npt.NDArray[Any], start: int = 0) -> tuple[FloatArray, FloatArray]:
        """What kinds start, start + 1, ... add to the baseline's hits and predictions, shape (classes, draws)."""
        stop = start + len(says_first)
        first, second, right = self.first[start:stop], self.second[start:stop], self.right[start:stop]
        hit, prediction = (np.zeros((self.classes + 1, says_first.shape[1])) for _ in range(2))
        _add_rows(prediction, first, says_first, 1)
        _add_rows(hit, first[right], says_first[right], 1)
        order = np.argsort(second, kind="stable")
        _add_rows(prediction, second[order], says_first[order], -1)
        return hit[:-1], prediction[:-1]

    def tables(self, hit: FloatArray, prediction: FloatArray) -> tuple[Margins, Margins]:
        """Both systems' margins, shape (draws, classes), from the baseline's effects. What one loses the other gets."""
        a, b = self._sides["baseline"], self._sides["candidate"]
        hit, prediction = (hit + self._floor["hit"][:, None]).T, (prediction + self._floor["prediction"][:, None]).T
        truth, n = np.broadcast_to(a.truth, hit.shape), np.full(len(hit), float(a.n))
        return Margins(hit, truth, prediction, n), Margins(a.hit + b.hit - hit, truth, a.prediction + b.prediction - prediction, n)

    def enumerated(self, outcomes: int) -> Iterator[tuple[tuple[Margins, Margins], FloatArray]]:
        """All outcomes with their probabilities, block by block."""
        shares = [_fair_binomial(int(m)) for m in self.many]
        step = max(1, BLOCK // max(len(self.many), self.classes))
        for start in range(0, outcomes, step):
            digits = np.stack(np.unravel_index(np.arange(start, min(start + step, outcomes)), tuple(self.many + 1)))
            yield self.tables(*self._effects(digits)), np.prod([share[d] for share, d in zip(shares, digits, strict=True)], axis=0)

    def drawn(self, draws: int, seed: int) -> Iterator[tuple[Margins, Margins]]:
        """Random exchanges in batches of 1,024: words and binomials have streams of their own, read kind by kind."""
        source = np.random.PCG64(seed)
        words, coins = np.random.Generator(source), np.random.Generator(source.jumped())
        batch = max(1, min(TOGETHER, 2 * BLOCK // self.classes))
        for start in range(0, draws, batch):
            yield self.tables(*self._exchanged(min(batch, draws - start), words, coins))

    def _exchanged(self, size: int, words: np.random.Generator, coins: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """The summed effects of one batch, over runs of kinds that need about BLOCK words."""
        hit, prediction = (np.zeros((self.classes, size)) for _ in range(2))
        need = np.cumsum(np.where(self.many <= LONGEST, -(-self.many // 64), 1))
        run = need * size // BLOCK
        for stop_after in np.flatnonzero(np.diff(run, append=run[-1] + 1)):
            start = int(np.searchsorted(run, run[stop_after]))
            effects = self._effects(_fair_coins(self.many[start : stop_after + 1], size, words, coins), start)
            hit += effects[0]
            prediction += effects[1]
        return hit, prediction


def _values(statistic: TableStatistic, tables: tuple[Margins, Margins]) -> tuple[FloatArray, FloatArray]:
    """The metric of both systems in every redrawn pair of tables."""
    return np.asarray(statistic.value(tables[0]), float), np.asarray(statistic.value(tables[1]), float)


def _fair_coins(many: IntArray, size: int, words: np.random.Generator, coins: np.random.Generator) -> npt.NDArray[np.signedinteger]:
    """Heads among many[k] tosses of a fair coin, shape (kinds, size): ones in random words, or a binomial for long rows."""
    short = many <= LONGEST
    number = np.int32 if many.sum() < 2**31 else np.int64
    out = np.empty((len(many), size), number)
    if short.any():
        pieces = -(-many[short] // 64)
        starts = np.cumsum(pieces) - pieces
        keep = np.full(int(pieces.sum()), 64)
        keep[starts + pieces - 1] = (many[short] - 1) % 64 + 1
        drawn = words.integers(0, 2**64, size=(len(keep), size), dtype=np.uint64)
        drawn >>= (64 - keep).astype(np.uint64)[:, None]
        ones = _ones(drawn)
        heads = ones[starts].astype(number)
        for more in range(1, int(pieces.max())):
            longer = pieces > more
            heads[longer] += ones[starts[longer] + more]
        out[short] = heads
    if not short.all():
        out[~short] = coins.binomial(many[~short][:, None], 0.5, size=(int((~short).sum()), size))
    return out


def _fair_binomial(m: int) -> FloatArray:
    """P(X = 0), ..., P(X = m) for X ~ Binomial(m, 1/2), by ratios of neighbours from the middle outwards."""
    middle = m // 2
    k = np.arange(middle, m)
    up = np.cumprod(np.append(1.0, (m - k) / (k + 1.0)))
    k = np.arange(m + 1)
    both = up[np.maximum(k, m - k) - middle]
    out: FloatArray = both / both.sum()
    return out


def _add_rows(out: FloatArray, codes: IntArray, rows: npt.NDArray[Any], sign: int) -> None:
    """out[code] += sign * the sum of the rows of that code; codes are sorted. Long rows ten times as fast as by `np.add.reduceat`."""
    own, starts = np.unique(codes, return_index=True)
    if rows.shape[1] < SHORT < len(own):
        out[own] += sign * np.add.reduceat(rows, starts, axis=0)  # whole numbers: the order of adding does not matter
        return
    stops = np.append(starts, len(codes))[1:]
    for code, start, stop in zip(own.tolist(), starts.tolist(), stops.tolist(), strict=True):
        out[code] += sign * np.add.reduce(rows[start:stop], axis=0)


def _ones(words: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(words))
    table = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(1, dtype=np.uint8)  # NumPy 1
    return np.asarray(table[words.view(np.uint8)].reshape(*words.shape, 8).sum(-1, dtype=np.uint8))
