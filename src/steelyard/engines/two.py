"""Is one system better than another, and how sure are we: any metric, on the same items or on different ones, under any design."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.base.problem import SteelyardError
from steelyard.data.counts import Counts, JointCounts
from steelyard.data.design import Design, design_of, whole_weights
from steelyard.data.items import Classes, Items, View, cells, classes_of, view
from steelyard.data.pairs import Pair, meet
from steelyard.data.rows import Rows, Sparse, beside, size_of, sum_by, weigh
from steelyard.engines import area, exchange, few_cases, posterior, resample, score, student
from steelyard.engines.certainty import Certainty, Ends, NoAnswer, joined
from steelyard.engines.few_cases import one_more_case, these_cases
from steelyard.engines.methods import APART, TESTS, TESTS_APART, TWO, check
from steelyard.engines.one import (
    Answer,
    Believed,
    How,
    classes_in,
    kind_of,
    law_name,
    numbers_in,
    positive_of,
    prepare,
    readable,
    reordered,
    repeated,
    value_order,
)
from steelyard.engines.score import zero_or_one
from steelyard.engines.sums import (
    LAST_BITS,
    Spread,
    Statistic,
    Sums,
    add_up,
    by_denominator,
    difference_of,
    refuse_few,
    spread,
    statistic_of,
    worth_of,
)
from steelyard.engines.within_items import runs_of, within_item
from steelyard.metrics.catalogue import find
from steelyard.metrics.metric import Metric, itself, quotient

FEW_RUNS, FEW_SCORES = 2_000, 200  # cases up to which one more case is worked out: with several runs, and with one score a side
FEW_OF_A_CLASS = 10


@dataclass(frozen=True, kw_only=True)
class Difference(Answer):
    """The candidate's number minus the baseline's. ask_these, ask_next: where there are several runs, the same about these very items,
    and what to buy next.

    flips: both right, the baseline alone, the candidate alone, neither, where every item is right or wrong once.
    """

    baseline: float | None = None
    candidate: float | None = None
    ask_these: Callable[[], Certainty] | None = None
    flips: tuple[int, int, int, int] | None = None
    ask_next: Callable[[], few_cases.Components] | None = None

    @cached_property
    def these(self) -> Certainty | None:
        """The answer about these very items, worked out when it is asked for; None with one run a side."""
        return None if self.ask_these is None else self.ask_these()

    @property
    def advice(self) -> few_cases.Components | None:
        """What the difference varies by: cases or runs."""
        return None if self.ask_next is None else self.ask_next()

    @property
    def p_value(self) -> float | None:
        """The two-sided p against no difference."""
        return None if self.certainty is None else self.certainty.p()


@dataclass(frozen=True, eq=False)
class Sides:
    """Rows of two systems, one for each item and aligned. counted: they are distinct rows in an order of their own."""

    metric: Metric
    views: tuple[View, View]
    rows: tuple[Rows, Rows]
    design: Design
    count: IntArray | None
    items: int
    runs: tuple[tuple[IntArray, FloatArray], tuple[IntArray, FloatArray]] | None
    counted: bool = False

    def of(self, rows: Rows) -> Sums:
        """Rows of items summed by unit."""
        return by_denominator(add_up(rows, self.design, self.count, self.counted), self.metric)


def compare(
    metric: Any,
    one: Items | Counts | JointCounts,
    two: Items | Counts | None = None,
    how: How | None = None,
    *,
    design: str = "",
    unmatched: str = "error",
) -> list[Difference]:
    """Every difference of one metric: one, or one for each class. design: unpaired for different items.

    >>> (found,) = compare("accuracy", JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76))
    >>> round(found.p_value, 4), [round(end, 4) for end in found.interval()]
    (0.121, [-0.0047, 0.041])
    """
    how = how or How()
    asked = find(metric, how.absent)
    if isinstance(one, JointCounts):
        return compare_pair(asked, as_pair(one), how)
    assert two is not None
    sides = [side.items if isinstance(side, Counts) else side for side in (one, two)]
    if design == "unpaired" or isinstance(one, Counts):
        return _each(asked, sides, how, lambda m, h, c: _unpaired(m, sides[0], sides[1], h, c))
    if "tries" in asked.reads:
        sides = [readable(asked, side)[1] for side in sides]
    return compare_pair(asked, meet(sides[0], sides[1], unmatched), how)


def as_pair(counts: JointCounts) -> Pair:
    """Counts of two systems as runs that have met."""
    rows = np.arange(counts.one.n)
    return Pair(counts.one, counts.two, (rows, rows), counts.one.n, Design())


def compare_pair(metric: Metric, pair: Pair, how: How) -> list[Difference]:
    """Every difference of one metric, of runs that have met."""
    return _each(metric, [pair.one, pair.two], how, lambda m, h, c: _paired(m, pair, h, c))


def item_numbers(metric: Metric, pair: Pair, classes: Classes | None = None) -> tuple[FloatArray, FloatArray] | None:
    """The number of every item in either system, the mean of its runs; None where items have none."""
    if metric.law == "whole" or metric.value is not quotient or metric.outwards is not itself or metric.law == "smooth":
        return None
    out = []
    for items, place in zip((pair.one, pair.two), pair.places, strict=True):
        own, items = readable(metric, items) if "tries" not in metric.reads else (metric, items)
        rows = np.asarray(own.adds(view(items, own.reads, classes)))
        if not (rows[:, 0] == 1).all():
            return None
        out.append(np.bincount(place, rows[:, 1], pair.items) / np.bincount(place, minlength=pair.items))
    return out[0], out[1]


def _each(metric: Metric, sides: list[Items], how: How, ask: Callable[[Metric, How, Classes | None], Difference]) -> list[Difference]:
    classes = None
    if metric.needs_classes and not (metric.scored and all("score" in side for side in sides)):
        classes = classes_of(sides, how.labels, how.positive)
    if not metric.one_class or classes is None:
        return [ask(metric, how, classes)]
    if metric.each:
        plain = replace(metric, each=False)
        return [ask(plain, how, replace(classes, positive=name)) for name in classes.names]
    return [ask(metric, how, replace(classes, positive=positive_of(metric, classes)))]


# ---- the same items -----------------------------------------------------------------------------------------------------------------


def _paired(metric: Metric, pair: Pair, how: How, classes: Classes | None) -> Difference:
    runs = []
    for items in (pair.one, pair.two):
        metric, items = readable(metric, items) if "tries" not in metric.reads else (metric, items)
        runs.append(items)
    label = None if classes is None or not metric.one_class else classes.positive
    kind = "groups" if pair.design.group is not None else "items" if pair.design.weight is None else "weights"
    if kind == "groups" and metric.in_groups is not None:
        metric = metric.in_groups
    blank = Difference(metric=metric, estimate=None, n=pair.items, notes=list(pair.notes), label=label, design=kind)
    if pair.count is not None:
        blank = replace(blank, n=int(pair.count.sum()))
    views = tuple(view(items, metric.reads, classes, how.absent) for items in runs)
    if metric.law == "whole":
        return _whole(metric, (views[0], views[1]), pair, how, blank)
    try:
        sides = _sides(metric, pair, (views[0], views[1]))
    except SteelyardError as refusal:
        if refusal.code == "classes":
            return replace(blank, why=f"{refusal.sentence} {refusal.hint}")
        raise
    sums = [sides.of(rows) for rows in sides.rows]
    with np.errstate(all="ignore"):
        values = [float(metric.outwards(float(metric.value(s.totals)))) for s in sums]
    if not all(map(math.isfinite, values)):
        return replace(blank, why=f"{metric.name} is undefined in one of the runs: {metric.undefined}")
    found = replace(blank, baseline=values[0], candidate=values[1], estimate=values[1] - values[0])
    try:
        if _one_number_each(metric, sides):
            return _means(sides, how, found)
        return replace(found, certainty=_smooth(sides, sums, how, found.notes))
    except NoAnswer as why:
        return replace(found, why=str(why))


def _sides(metric: Metric, pair: Pair, views: tuple[View, View]) -> Sides:
    """Rows of either system, one for each item: labels are counted, repeats averaged."""
    design = pair.design
    if pair.plain and metric.of_labels and design.kind == "items" and design.stratum is None:
        one, two = views
        (t, a, b), count = cells([one.truth, one.prediction, two.prediction], one.classes + 1, pair.count)
        views = tuple(replace(v, n=len(t), columns={"truth": t, "prediction": said}, count=count) for v, said in ((one, a), (two, b)))  # type: ignore[assignment]
        return Sides(metric, views, (metric.adds(views[0]), metric.adds(views[1])), design, count, pair.items, None, True)
    rows = [metric.adds(v) for v in views]
    runs = None
    if not pair.plain:
        if metric.value is quotient and not isinstance(rows[0], Sparse):
            runs = tuple((place, np.asarray(r)[:, 1]) for place, r in zip(pair.places, rows, strict=True))
        rows = [_by_item(r, place, pair.items) for r, place in zip(rows, pair.places, strict=True)]
    return Sides(metric, views, (rows[0], rows[1]), design, pair.count, pair.items, runs)  # type: ignore[arg-type]


def _by_item(rows: Rows, place: IntArray, items: int) -> Rows:
    """The mean of each item's rows, whatever their order."""
    if not isinstance(rows, Sparse):
        order = np.lexsort((*rows.T[::-1], place))
        rows, place = rows[order], place[order]
    return sum_by(weigh(rows, 1 / np.bincount(place, minlength=items)[place]), place, items)


def _one_number_each(metric: Metric, sides: Sides) -> bool:
    """Whether every item is one number on either side: a fact of the rows."""
    if metric.value is not quotient or metric.outwards is not itself or metric.law == "smooth":
        return False
    return all(not isinstance(rows, Sparse) and bool((np.abs(rows[:, 0] - 1) <= 1e-12).all()) for rows in sides.rows)


def _means(sides: Sides, how: How, found: Difference) -> Difference:
    """One number for each item and system."""
    a, b = (np.asarray(rows)[:, 1] for rows in sides.rows)
    design, metric, count = sides.design, sides.metric, np.ones(len(a), np.int64) if sides.count is None else sides.count
    binary = zero_or_one(a) and zero_or_one(b)
    single = sides.runs is None and how.scale == 1 and design.kind == "items" and design.stratum is None
    ends = how.range or metric.ends
    if binary and single and ends in (None, (0.0, 1.0)) and metric.low in (0.0, None):
        both, lost, gained, neither = (int(count[(a == x) & (b == y)].sum()) for x, y in ((1, 1), (1, 0), (0, 1), (0, 0)))
        found = replace(found, flips=(both, lost, gained, neither))
        if how.interval not in ("t", "bounded-t", "percentile", "bca", "one-more-case") and how.test not in (
            "paired-t",
            "wilcoxon",
            "bounded-t",
            "sign-flip",
            "one-more-case",
        ):
            return replace(found, certainty=_flips(both, gained, lost, neither, how, metric))
    right_or_wrong = binary if sides.runs is None else all(zero_or_one(score_) for _, score_ in sides.runs)
    if ends is None and right_or_wrong and metric.low == 0.0 and metric.high == 1.0:
        ends = (0.0, 1.0)
    scores = [a, b] if sides.runs is None else [s for _, s in sides.runs]
    seen = min(float(s.min()) for s in scores), max(float(s.max()) for s in scores)
    if how.range is not None and (seen[0] < how.range[0] or seen[1] > how.range[1]) and metric.low is None:
        raise SteelyardError(f"Some scores lie outside of the range {how.range[0]:g} to {how.range[1]:g}.", hint="range=(LOW, HIGH)")
    size = np.maximum(np.abs(a), np.abs(b))
    a = how.scale * a
    d = np.where(np.abs(b - a) <= LAST_BITS * size, 0.0, b - a)
    sums = sides.of(np.stack([np.ones(len(d)), d], 1))
    found = replace(found, estimate=float(quotient(sums.totals)))
    means = Means(sides, sums, d, count, ends, right_or_wrong, seen, how)
    check(TWO, "interval", how.interval, "mean", kind_of(sums), metric.name, ends is not None)
    check(TESTS, "test", how.test, "mean", kind_of(sums), metric.name, ends is not None)
    if sides.runs is not None:
        (place_a, score_a), (place_b, score_b) = sides.runs
        low, high = ends or seen
        runs = partial(runs_of, place_a, score_a, place_b, score_b)
        if high > low and design.weight is None:
            about = partial(these_cases, place_a, score_a, place_b, score_b, low, high, draws=how.draws, seed=how.seed)
            found = replace(found, ask_these=about, ask_next=lambda: few_cases.buy_next(runs(), low, high))
        if how.claim == "these" and found.these is not None:
            return replace(found, certainty=found.these)
    return replace(found, certainty=_of_means(means, found.notes))


def _flips(both: int, gained: int, lost: int, neither: int, how: How, metric: Metric) -> Certainty:
    check(TWO, "interval", how.interval, "flips", "items", metric.name)
    check(TESTS, "test", how.test, "flips", "items", metric.name)
    n, test = both + gained + lost + neither, how.test
    interval = how.interval if how.interval != "bayes" else ""
    if test == "randomization":  # of right or wrong, exchanging is McNemar's exact test
        test = "mcnemar-exact"
    found = score.flips(both, gained, lost, neither, interval, test if test != "bootstrap" else "mcnemar-midp")
    if how.interval == "bayes":
        law = posterior.difference_of_flips(both, lost, gained, neither, prior=how.prior)
        ends = Believed(estimate=found.estimate, method="bayes", test="bayes", low=-1.0, high=1.0, law=law, error=law.sd)
        found = score.beside(score.McNemar(estimate=found.estimate, test=test or "mcnemar-midp", gained=gained, lost=lost), ends)
    if how.test == "bootstrap":
        found = score.beside(exchange.doubled_flips(gained, lost, n), getattr(found, "of_interval", found))
    return replace(found, test=how.test) if how.test else found


@dataclass(frozen=True, eq=False)
class Means:
    """Differences of items, and what is known of the scores behind them."""

    sides: Sides
    sums: Sums
    d: FloatArray
    count: IntArray
    ends: Ends | None
    right_or_wrong: bool
    seen: Ends
    how: How

    @property
    def mean(self) -> float:
        """Their mean."""
        return float(quotient(self.sums.totals))

    @property
    def reach(self) -> float:
        """How far a difference can be, as far as is known."""
        scale = max(1.0, self.how.scale)
        if self.ends is not None:
            return (self.ends[1] - self.ends[0] if scale == 1 or self.ends[0] < 0 else self.ends[1]) * scale
        low, high = self.seen
        return (1.0 if low >= 0 and high <= 1 else high - low) * scale


def _of_means(m: Means, notes: list[str]) -> Certainty:
    """The usual interval and test of a mean of differences, or those that were asked for."""
    statistic = Statistic(quotient, _slope)
    refuse_few(m.sums, statistic, notes)
    how, plain = m.how, m.sums.kind == "items" and m.sums.stratum is None
    interval, test = how.interval, how.test
    if not interval and not test:
        if m.ends is not None and m.sums.kind != "groups" and m.sums.stratum is None:
            few = FEW_RUNS if m.sides.runs is not None else FEW_SCORES
            return _by_name("one-more-case" if plain and m.sums.n <= few and how.scale == 1 else "bounded-t", m, statistic)
        around = _by_name("t", m, statistic)
        alone = m.sums.kind == "weights" or m.sums.stratum is not None or how.scale != 1
        return around if alone else joined(_tested("sign-flip", m, statistic), around)
    usual = "t" if m.ends is None or not plain else "bounded-t"
    if not interval:
        interval = test if test in ("one-more-case", "bounded-t") else "t" if test == "paired-t" else usual
    if test in ("", interval) or (test, interval) == ("paired-t", "t"):
        around = _by_name(interval, m, statistic)
        if interval in ("percentile", "bca"):
            return joined(_tested("sign-flip", m, statistic), around)
        return replace(around, test=test) if test else around
    return score.beside(_tested(test, m, statistic), _by_name(interval, m, statistic))


def _slope(totals: FloatArray) -> FloatArray:
    return np.array([-totals[1] / totals[0] ** 2, 1 / totals[0]])


def _by_name(name: str, m: Means, statistic: Statistic) -> Certainty:
    """An interval of a mean of differences."""
    sums, mean, limits = m.sums, m.mean, (-np.inf, np.inf) if m.ends is None else (-m.reach, m.reach)
    if name == "one-more-case":
        return one_more_case(np.repeat(m.d, m.count), -m.reach, m.reach, whole=m.right_or_wrong)
    if name in ("percentile", "bca"):
        drawn = resample.bootstrap(sums, statistic, name, draws=m.how.draws, seed=m.how.seed)
        return replace(drawn, low=limits[0], high=limits[1])
    variance, df = spread(sums, statistic) if sums.n > 1 else Spread(0.0, 0.0)
    if name == "bounded-t":
        n = float(sums.n) if sums.sizes is None else worth_of(sums.sizes)
        return student.bounded_t(mean, variance, n, m.reach, None if sums.sizes is None else df + 2)
    units = float(sums.n) if sums.sizes is None else worth_of(sums.sizes)
    rows = np.asarray(sums.rows)
    each = rows[:, 1] / (float(sums.totals[0]) / sums.n)
    rare = (0.0, 0.0) if m.how.interval or m.how.test else student.unseen(each, sums.count, m.reach, units)
    return student.careful(mean, variance, df, rare, "t", low=float(limits[0]), high=float(limits[1]))


def _tested(name: str, m: Means, statistic: Statistic) -> Certainty:
    """A test of a mean of differences."""
    rows, groups = np.asarray(m.sums.rows), m.sums.kind == "groups"
    if name in ("sign-flip", "wilcoxon"):
        d, many = (rows[:, 1], m.sums.count) if groups else (m.d, m.count)
        if name == "wilcoxon":
            d = exchange.signed_rank(np.repeat(d, many))
            many = np.ones(len(d), np.int64)
        return exchange.sign_flips(name, m.mean, d, many, m.how.draws, m.how.seed)
    if name == "paired-t" and groups:  # over the means of parts, each as it is
        part = rows[:, 1] / rows[:, 0]
        return student.student(float(part.mean()), float(part.var(ddof=1)) / len(part), len(part) - 1, "t", test=name)
    if name == "within-item":
        if m.sides.runs is None:
            raise SteelyardError("The test within-item needs several runs of each item.")
        return within_item(runs_of(*m.sides.runs[0], *m.sides.runs[1]), draws=m.how.draws, seed=m.how.seed)
    return replace(_by_name("t" if name == "paired-t" else name, m, statistic), test=name)


def _smooth(sides: Sides, sums: list[Sums], how: How, notes: list[str]) -> Certainty:
    """Any function of totals: first order beside the exchange of the systems."""
    metric = sides.metric
    one = outer(statistic_of(metric, classes_in(metric, sides.views[0])), metric)
    both = sides.of(beside(*sides.rows))
    statistic = difference_of(one, sides.rows[0].shape[1], how.scale)
    estimate = float(statistic.value(both.totals))
    check(TWO, "interval", how.interval, law_name("smooth", metric), kind_of(both), metric.name)
    check(TESTS, "test", how.test, law_name("smooth", metric), kind_of(both), metric.name)
    refuse_few(both, statistic, notes)
    width = metric.width
    if how.interval in ("percentile", "bca"):
        drawn = resample.bootstrap(both, statistic, how.interval, draws=how.draws, seed=how.seed, notes=notes)
        around: Certainty = replace(drawn, low=-width, high=width)
    else:
        plain = both if both.kind in ("groups", "weights") else replace(both, kind="items", sizes=None, squares=None)
        variance, df = spread(plain, statistic)
        below, above = (max(1.0, how.scale) ** 2 * rare for rare in _rare(sides, both, one))
        around = student.careful(estimate, variance, df, (below, above), "delta", low=-width, high=width)
    if both.kind == "weights" or both.stratum is not None or how.scale != 1:
        return around
    if how.test == "bootstrap":
        values = [abs(float(one.value(s.totals))) for s in sums]
        of_test: Certainty = exchange.doubled(both, statistic, resample.samples(resample.in_order(both), how.draws, how.seed), max(values))
    else:
        of_test = exchange.swap(sums[0].rows, sums[1].rows, sums[0].count, one, draws=how.draws, seed=how.seed)
    return score.beside(of_test, around) if how.interval or how.test else joined(of_test, around)


def outer(statistic: Statistic, metric: Metric) -> Statistic:
    """The metric itself of totals, where intervals are found for what it is a function of."""
    if metric.outwards is itself:
        return statistic

    def value(s: Any) -> Any:
        return metric.outwards(statistic.value(s))

    def slope(totals: FloatArray) -> FloatArray:
        inner = np.atleast_1d(np.asarray(statistic.value(totals), complex)) + 1e-30j
        return statistic.gradient(totals) * float(np.asarray(metric.outwards(inner)).imag[0] / 1e-30)

    return Statistic(value, slope, statistic.classes)


def _rare(sides: Sides, both: Sums, one: Statistic) -> tuple[float, float]:
    """What the ends count in where few units differ: a unit may differ by as much as those of either system do among themselves, or all
    of the metric's range; and where what is above the line is a part of what is below, all of an item may fail."""
    a, b = (sides.of(rows) for rows in sides.rows)
    n = len(a.count) if both.kind == "groups" else a.n
    with np.errstate(all="ignore"):
        g = (one.gradient(a.totals) + one.gradient(b.totals)) / 2
    if not np.isfinite(g).all():
        return 0.0, 0.0
    here, there = a.rows @ g, b.rows @ g
    changes = n * np.where(np.abs(there - here) <= LAST_BITS * (size_of(a.rows, g) + size_of(b.rows, g)), 0.0, there - here)
    reach = max(float(np.ptp(n * here)), float(np.ptp(n * there)))
    width = sides.metric.width
    reach = max(reach, width) if math.isfinite(width) else reach
    if sides.metric.value is quotient and sides.metric.law == "smooth" and not math.isfinite(width) and not isinstance(a.rows, Sparse):
        for side in (a, b):
            below, above = np.asarray(side.rows).T
            if above.min() >= 0 and (above <= below).all():
                reach = max(reach, math.sqrt(float(side.count @ below**2) / n) / (float(side.count @ below) / n))
    units = float(n) if both.sizes is None or both.kind == "repeats" else worth_of(both.sizes)
    return student.unseen(changes, a.count, reach, units)


def _whole(metric: Metric, views: tuple[View, View], pair: Pair, how: How, blank: Difference) -> Difference:
    """A metric of all items at once, of two systems on the same items."""
    whole = metric.of
    if pair.design.weight is not None or pair.design.stratum is not None or not pair.plain:
        raise SteelyardError(f"{metric.name} takes neither weights nor strata nor repeats.", hint="average the repeats first")
    if pair.count is not None:
        views = (repeated(views[0]), repeated(views[1]))
    values = [float(whole.number(v, None)[0]) for v in views]
    if not all(map(math.isfinite, values)):
        return replace(blank, why=f"{metric.name} is undefined: {metric.undefined}")
    if pair.design.group is None:
        order = pair_order(views, whole.exchanges, values[1] - values[0])
        views = (reordered(views[0], order), reordered(views[1], order))
    found, group = replace(blank, baseline=values[0], candidate=values[1], estimate=values[1] - values[0]), pair.design.group
    try:
        if whole.effects and whole.both and how.interval not in ("percentile", "bca"):
            check(TWO, "interval", how.interval, law_name("whole", metric), blank.design, metric.name)
            check(TESTS, "test", how.test, law_name("whole", metric), blank.design, metric.name)
            pair_ = area.area_pair(views, whole, group, how.interval or how.test)
            pair_.bounds(0.025, 2)
            return replace(found, certainty=pair_)
        check(TWO, "interval", how.interval, "whole", blank.design, metric.name)
        check(TESTS, "test", how.test, "whole", blank.design, metric.name)
        return replace(found, certainty=_exchanged(metric, views, group, how, found.notes))
    except NoAnswer as why:
        return replace(found, why=str(why))


def pair_order(views: tuple[View, View], name: str, direction: float) -> Any:
    """The order of rows by what is in them, the same when the systems are exchanged."""
    both = numbers_in(np.concatenate([v.columns[name] for v in views]))
    a, b = np.split(both.astype(float), 2)
    rest = [numbers_in(column) for role, column in views[0].columns.items() if role != name]
    return np.lexsort([(b - a) * np.sign(direction), np.abs(b - a), a + b, *rest])


def _exchanged(metric: Metric, views: tuple[View, View], group: IntArray | None, how: How, notes: list[str]) -> Certainty:
    whole, (one, two) = metric.of, views
    if group is not None:
        refuse_few(
            Sums(np.ones((1, 1)), np.ones(1, np.int64), "groups", sizes=np.bincount(group).astype(float)),
            Statistic(quotient, _slope),
            notes,
        )
    draws, name = min(how.draws, whole.draws, 1_000), whole.exchanges
    a, b = one.columns[name], two.columns[name]

    def gap(turned: Any) -> float:
        sides = (np.where(turned, y, x) for x, y in ((a, b), (b, a)))
        here, there = (float(whole.number(replace(one, columns={**one.columns, name: column}), None)[0]) for column in sides)
        return there - here

    def values(weight: FloatArray | None) -> FloatArray:
        return np.asarray(whole.number(two, weight) - whole.number(one, weight))

    width = metric.width
    drawn = whole.draws if how.draws == resample.DRAWS else how.draws
    method = how.interval or "percentile"
    around = resample.bootstrap_whole(values, group, one.n, method, draws=drawn, seed=how.seed, notes=notes)
    of_test = exchange.swap_columns(gap, group, one.n, draws=draws, seed=how.seed)
    return joined(of_test, replace(around, low=-width, high=width))


# ---- different items ------------------------------------------------------------------------------------------------------------------


def _unpaired(metric: Metric, one: Items, two: Items, how: How, classes: Classes | None) -> Difference:
    """Two strata of one sample, whose variances add."""
    sides = [readable(metric, whole_weights(items)) for items in (one, two)]
    metric = sides[0][0]
    notes: list[str] = []
    label = None if classes is None or not metric.one_class else classes.positive
    kinds = [design_of(items).kind for _, items in sides]
    kind = next((k for k in ("groups", "weights", "repeats") if k in kinds), "items")
    ready = [prepare(metric, items, how, classes) for _, items in sides]
    blank = Difference(metric=metric, estimate=None, n=sum(r.items for r in ready), notes=notes, label=label, design=kind)
    if metric.law == "whole":
        return _whole_apart(metric, ready, how, blank)
    sums = [by_denominator(add_up(metric.adds(r.view), r.design, r.view.count, r.counted), metric) for r in ready]
    with np.errstate(all="ignore"):
        values = [float(metric.outwards(float(metric.value(s.totals)))) for s in sums]
    if not all(map(math.isfinite, values)):
        return replace(blank, why=f"{metric.name} is undefined in one of the runs: {metric.undefined}")
    found = replace(blank, baseline=values[0], candidate=values[1], estimate=values[1] - values[0])
    try:
        return replace(found, certainty=_apart(metric, sums, classes_in(metric, ready[0].view), how, notes))
    except NoAnswer as why:
        return replace(found, why=str(why))


def _apart(metric: Metric, sums: list[Sums], classes: int, how: How, notes: list[str]) -> Certainty:
    kind = next((kind_of(s) for s in sums if kind_of(s) != "items"), "items")
    ends, direct = how.range or metric.ends, metric.outwards is itself
    shares = direct and kind == "items" and metric.law != "smooth" and all(map(score.exact_counts, sums)) and ends in (None, (0.0, 1.0))
    law = (
        "share"
        if shares and (metric.law == "share" or metric.low is None)
        else "mean"
        if metric.law == "mean"
        else law_name("smooth", metric)
    )
    check(APART, "interval", how.interval, law, kind, metric.name, ends is not None)
    check(TESTS_APART, "test", how.test, law, kind, metric.name, ends is not None)
    if law == "share" and how.interval != "delta" and how.test != "welch-t":
        (n2, k2), (n1, k1) = (s.totals for s in sums)
        if how.interval == "bayes":
            laws = [posterior.proportion(int(k), int(n), prior=how.prior) for k, n in ((k1, n1), (k2, n2))]
            law_ = posterior.difference(*laws)
            believed = Believed(estimate=k1 / n1 - k2 / n2, method="bayes", test="bayes", low=-1.0, high=1.0, law=law_, error=law_.sd)
            return score.beside(score.two_shares(k1, n1, k2, n2, "newcombe", "z"), believed)
        return score.two_shares(k1, n1, k2, n2, how.interval, how.test)
    if law == "mean" and kind == "items":
        plain = how.interval == "t" or how.test == "welch-t"
        return student.welch(_moments(sums[0]), _moments(sums[1]), None if plain else ends)
    one = outer(statistic_of(metric, classes), metric)
    for s in sums:
        refuse_few(s, one, notes)
        if one.classes and (s.totals[classes : 2 * classes] < FEW_OF_A_CLASS).any():
            notes.append(f"a class has fewer than {FEW_OF_A_CLASS} items in a run: too few for a reliable interval and test")
    (v1, df1), (v2, df2) = (spread(s, one) for s in sums)
    variance = v1 + v2
    df = variance**2 / (v1 * v1 / df1 + v2 * v2 / df2) if variance > 0 else math.inf
    gap = float(one.value(sums[1].totals)) - float(one.value(sums[0].totals))
    name = "t" if metric.law == "mean" else "delta"
    return student.student(gap, variance, df, name, low=-metric.width, high=metric.width, test="welch-t")


def _moments(sums: Sums) -> tuple[float, float, float]:
    x = np.asarray(sums.rows)[:, 1]
    mean = float(quotient(sums.totals))
    away = x - mean
    away = np.where(np.abs(away) <= LAST_BITS * np.abs(x).max(initial=0.0), 0.0, away)
    return mean, float(sums.count @ away**2), float(sums.n)


def _whole_apart(metric: Metric, ready: list[Any], how: How, blank: Difference) -> Difference:
    whole = metric.of
    one, two = (repeated(r.view) if r.view.count is not None else r.view for r in ready)
    units = [None if r.design.unit is None else np.unique(r.design.unit, return_inverse=True)[1].ravel() for r in ready]
    if any(r.design.weight is not None for r in ready):
        raise SteelyardError(f"{metric.name} takes no weights.")
    values = [float(whole.number(v, None)[0]) for v in (one, two)]
    if not all(map(math.isfinite, values)):
        return replace(blank, why=f"{metric.name} is undefined in one of the runs: {metric.undefined}")
    found = replace(blank, baseline=values[0], candidate=values[1], estimate=values[1] - values[0])
    try:
        if whole.effects and whole.both and how.interval not in ("percentile", "bca"):
            return replace(found, certainty=area.two_areas(one, two, whole, units, how.interval or how.test))
        check(APART, "interval", how.interval, "whole", blank.design, metric.name)
        draws = whole.draws if how.draws == resample.DRAWS else how.draws
        first = int((one.n, values[0]) > (two.n, values[1]))  # exchanging the systems exchanges the draws
        drawn, mixed = [], []
        for i, (v, unit) in enumerate(zip((one, two), units, strict=True)):
            seed = how.seed + (i ^ first)
            v = v if unit is not None else reordered(v, value_order(v))
            drawn.append(
                resample.bootstrap_whole(partial(whole.number, v), unit, v.n, "percentile", draws=draws, seed=seed, notes=found.notes)
            )
            mixed.append(np.random.Generator(np.random.PCG64(seed)).permutation(drawn[-1].values))
        least = min(map(len, mixed))
        gaps = np.sort(mixed[1][:least] - mixed[0][:least])
        width = metric.width
        return replace(found, certainty=replace(drawn[1], estimate=found.estimate or 0.0, values=gaps, low=-width, high=width))
    except NoAnswer as why:
        return replace(found, why=str(why))
