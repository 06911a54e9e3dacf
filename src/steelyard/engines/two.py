"""Is one system better than another, and how sure are we: any metric, on the same items or on different ones, under any design."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
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
from steelyard.engines.methods import TESTS, TWO, check
from steelyard.engines.one import Answer, Believed, How, positive_of, prepare, readable, repeated
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
    """The candidate's number minus the baseline's. these: the same about these very items, where there are several runs.

    flips: both right, the baseline alone, the candidate alone, neither, where every item is right or wrong once.
    """

    baseline: float | None = None
    candidate: float | None = None
    these: Certainty | None = None
    flips: tuple[int, int, int, int] | None = None
    advice: few_cases.Components | None = None

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
    check(TWO, "interval", how.interval, "mean", sums.kind, metric.name, ends is not None)
    check(TESTS, "test", how.test, "mean", sums.kind, metric.name, ends is not None)
    these = advice = None
    if sides.runs is not None:
        low, high = ends or seen
        if high > low and design.weight is None:
            (place_a, score_a), (place_b, score_b) = sides.runs
            these = these_cases(place_a, score_a, place_b, score_b, low, high, draws=how.draws, seed=how.seed)
            advice = few_cases.buy_next(runs_of(place_a, score_a, place_b, score_b), low, high)
    found = replace(found, these=these, advice=advice)
    if how.claim == "these" and these is not None:
        return replace(found, certainty=these)
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
        d, many, sizes = (rows[:, 1], m.sums.count, rows[:, 0]) if groups else (m.d, m.count, None)
        if name == "wilcoxon":
            d, sizes = exchange.signed_rank(np.repeat(d, many)), None
            many = np.ones(len(d), np.int64)
        return exchange.SignFlip(estimate=m.mean, test=name, d=d, many=many, sizes=sizes, draws=m.how.draws, seed=m.how.seed)
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
    one = outer(statistic_of(metric, sides.views[0].classes), metric)
    both = sides.of(beside(*sides.rows))
    statistic = difference_of(one, sides.rows[0].shape[1], how.scale)
    estimate = float(statistic.value(both.totals))
    check(TWO, "interval", how.interval, "smooth", both.kind, metric.name)
    check(TESTS, "test", how.test, "smooth", both.kind, metric.name)
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
    """What the ends count in where few units differ: a unit may differ by as much as those of the baseline do among themselves, or all
    of the metric's range; and where what is above the line is a part of what is below, all of an item may fail."""
    a, b = (sides.of(rows) for rows in sides.rows)
    n = len(a.count) if both.kind == "groups" else a.n
    with np.errstate(all="ignore"):
        g = one.gradient(a.totals)
    if not np.isfinite(g).all():
        return 0.0, 0.0
    here, there = a.rows @ g, b.rows @ g
    changes = n * np.where(np.abs(there - here) <= LAST_BITS * (size_of(a.rows, g) + size_of(b.rows, g)), 0.0, there - here)
    reach = float(np.ptp(n * here))
    width = sides.metric.width
    reach = max(reach, width) if math.isfinite(width) else reach
    if sides.metric.value is quotient and sides.metric.law == "smooth" and not math.isfinite(width) and not isinstance(a.rows, Sparse):
        below, above = a.rows.T
        if above.min() >= 0 and (above <= below).all():
            reach = max(reach, math.sqrt(float(a.count @ below**2) / n) / (float(a.count @ below) / n))
    units = float(n) if both.sizes is None or both.kind == "repeats" else worth_of(both.sizes)
    return student.unseen(changes, a.count, reach, units)


def _whole(metric: Metric, views: tuple[View, View], pair: Pair, how: How, blank: Difference) -> Difference:
    """A metric of all items at once, of two systems on the same items."""
    whole = metric.of
    if pair.design.weight is not None or not pair.plain:
        raise SteelyardError(f"{metric.name} takes neither weights nor repeats.", hint="average the repeats first")
    if pair.count is not None:
        views = (repeated(views[0]), repeated(views[1]))
    values = [float(whole.number(v, None)[0]) for v in views]
    if not all(map(math.isfinite, values)):
        return replace(blank, why=f"{metric.name} is undefined: {metric.undefined}")
    found, group = replace(blank, baseline=values[0], candidate=values[1], estimate=values[1] - values[0]), pair.design.group
    try:
        if whole.effects and whole.both and how.interval not in ("percentile", "bca"):
            check(TWO, "interval", how.interval, "area", blank.design, metric.name)
            return replace(found, certainty=area.area_pair(views, whole, group, how.interval or how.test))
        return replace(found, certainty=_exchanged(metric, views, group, how, found.notes))
    except NoAnswer as why:
        return replace(found, why=str(why))


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
    around = resample.bootstrap_whole(
        values, group, one.n, how.interval or "percentile", draws=min(how.draws, whole.draws), seed=how.seed, notes=notes
    )
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
    blank = Difference(metric=metric, estimate=None, n=one.total + two.total, notes=notes, label=label, design=kind)
    ready = [prepare(metric, items, how, classes) for _, items in sides]
    if metric.law == "whole":
        return _whole_apart(metric, ready, how, blank)
    sums = [by_denominator(add_up(metric.adds(r.view), r.design, r.view.count, r.counted), metric) for r in ready]
    with np.errstate(all="ignore"):
        values = [float(metric.outwards(float(metric.value(s.totals)))) for s in sums]
    if not all(map(math.isfinite, values)):
        return replace(blank, why=f"{metric.name} is undefined in one of the runs: {metric.undefined}")
    found = replace(blank, baseline=values[0], candidate=values[1], estimate=values[1] - values[0])
    try:
        return replace(found, certainty=_apart(metric, sums, ready[0].view.classes, how, notes))
    except NoAnswer as why:
        return replace(found, why=str(why))


def _apart(metric: Metric, sums: list[Sums], classes: int, how: How, notes: list[str]) -> Certainty:
    plain = all(s.kind == "items" and s.stratum is None for s in sums)
    if metric.law in ("share", "mean") and metric.outwards is itself and plain:
        rows = [np.asarray(s.rows) for s in sums]
        ends = how.range or metric.ends
        binary = all(map(zero_or_one, rows)) and ends in (None, (0.0, 1.0))
        if binary and (metric.law == "share" or metric.low is None):
            check(TWO, "interval", how.interval, "share", "items", metric.name)
            (n2, k2), (n1, k1) = (s.totals for s in sums)
            if how.interval == "bayes":
                laws = [posterior.proportion(int(k), int(n), prior=how.prior) for k, n in ((k1, n1), (k2, n2))]
                law = posterior.difference(*laws)
                ends_ = Believed(estimate=k1 / n1 - k2 / n2, method="bayes", test="bayes", low=-1.0, high=1.0, law=law, error=law.sd)
                return score.beside(score.two_shares(k1, n1, k2, n2, "newcombe", "z"), ends_)
            return score.two_shares(k1, n1, k2, n2, how.interval, how.test)
        if metric.law == "mean":
            check(TWO, "interval", how.interval, "mean", "items", metric.name, ends is not None)
            ranged = ends if (how.interval or how.test) not in ("t", "welch-t") else None
            return student.welch(_moments(sums[0]), _moments(sums[1]), ranged)
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
        draws = min(how.draws, whole.draws)
        facts = {"draws": draws, "notes": found.notes}
        drawn = [
            resample.bootstrap_whole(partial(whole.number, v), unit, v.n, "percentile", seed=how.seed + i, **facts)
            for i, (v, unit) in enumerate(zip((one, two), units, strict=True))
        ]
        rng = np.random.Generator(np.random.PCG64(how.seed))
        gaps = np.sort(rng.permutation(drawn[1].values)[: len(drawn[0].values)] - rng.permutation(drawn[0].values)[: len(drawn[1].values)])
        return replace(
            found, certainty=replace(drawn[1], estimate=values[1] - values[0], values=gaps, low=-metric.width, high=metric.width)
        )
    except NoAnswer as why:
        return replace(found, why=str(why))
