"""A number per item on both sides: the mean difference, by Student and by flipping signs."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.difference_tests import BOUNDED, RUNS, TESTS, made, offered
from steelyard_old.estimate.evidence import Evidence, ItemMeans, interval_of
from steelyard_old.estimate.fallback import attempt, given_instead, none_given, or_none
from steelyard_old.estimate.few_changes import careful_ends, warn_of_few_changes
from steelyard_old.estimate.grouped_rows import enough_units
from steelyard_old.estimate.named_intervals import INTERVALS, SCORES, offered_intervals
from steelyard_old.estimate.paired_mean_tests import RangeMeanTest, RareGroupsTest, WithinItemTest
from steelyard_old.estimate.paired_right_or_wrong import equivalence_words
from steelyard_old.infer.intervals import sums as infer_sums
from steelyard_old.infer.intervals.clusters import Groups, wanted_for_skewness
from steelyard_old.infer.paired.bounded_t import bounded_t, bounded_t_of_groups, possible_range
from steelyard_old.infer.paired.equivalence import equivalence
from steelyard_old.infer.paired.unseen import UnseenChanges, unseen_changes
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.sums import QUOTIENT
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Test
from steelyard_old.results.details import ComparisonDetails, TestDetails
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.pairs import Pairs, units_of
from steelyard_old.tally.rounding import SUMS, one_number, rounding, without_rounding
from steelyard_old.tally.sums import Sums, tally_groups, tally_items

FloatArray = npt.NDArray[np.float64]


USUAL, STUDENT = "sign-flip", "t"  # the test and the interval where nothing else is known


def compare_scores(
    rows: tuple[FloatArray, FloatArray],
    pairs: Pairs,
    metric: Metric,
    asked: CompareOptions,
    warnings: Warnings,
    *,
    bounds: tuple[float, float] | None,
) -> Evidence:
    """The mean difference of one number per item, under groups, repeats and weights. `bounds`: the range of the numbers, if it is known."""
    a, b = (_by_item(values, item, pairs.items) for values, item in zip(rows, (pairs.baseline_item, pairs.candidate_item), strict=True))
    d = _differences(a, b, max(map(len, rows)) / pairs.items)
    grouped = pairs.baseline.group is not None
    unit, units = units_of(pairs)
    weight = _weights(pairs)
    sums = _tally(d, unit, units, grouped, weight)
    name = _chosen_test(pairs, metric, asked, grouped, bounds)
    judge = _judge(name, d, a, pairs, rows, asked, bounds, weight)
    found = Evidence(
        design="clustered" if grouped else "paired",
        n=pairs.items,
        baseline=_mean(a, weight),
        candidate=_mean(b, weight),
        difference=_mean_difference(d, a, weight),
        interval=None,
        test=_test(name, judge, d if weight is None else weight * d, sums, asked, warnings, grouped),
        correlation=_correlation(a, b),
        means=None if weight is not None else ItemMeans(a, b, unit, units, bounds),
        details=_details(a, b, d, pairs, rows, units if grouped else None),
    )
    if weight is not None:
        found.note(n_effective=float(weight.sum() ** 2 / (weight @ weight)))
    _settle_error(found, judge, sums)
    if judge is None and TESTS[name].shifts:
        found.against = partial(_shifted, name, sums, asked, warnings)
    if bounds is None or grouped:
        found.rare = _rare(sums, metric, rows[0], bounds)
    found.interval = scores_interval(sums, found, metric, asked, warnings, bounds, grouped)
    if grouped and found.interval is not None and INTERVALS[found.interval.method].linear:
        _warn_of_skewness(sums, found.difference or 0.0, warnings)
    if grouped and judge is None and found.error and not found.too_few:
        found.unseen = _rare_groups(found, sums, rows, asked, bounds)
    elif bounds is None and judge is None and d.any() and not grouped:
        found.unseen = _seen_range(d, a, rows, asked, weight)
    if asked.margin is not None and not found.error:
        warnings.add("equivalence within the margin cannot be tested: the differences do not vary")
    if asked.margin is not None and found.error and not found.too_few:
        df = sums.n - 1 if found.df is None else found.df
        e = (equivalence if found.rare is None else found.rare.equivalence)(
            found.pull * (found.difference or 0.0), found.error, asked.margin, df
        )
        found.equivalence = equivalence_words(e.p_lower, e.p_upper, asked.margin, asked, higher_is_better=metric.higher_is_better)
    if not d.any():
        found.note(identical=True)
        warnings.add(asked.sides.identical.format("have the same score on every item"))
    return found


def _chosen_test(pairs: Pairs, metric: Metric, asked: CompareOptions, grouped: bool, bounds: tuple[float, float] | None) -> str:
    """Items are the units, however often each was asked: t with the ends of the range where it is known, else the sign flip.

    Items that weigh unequally have the sign flip of what each adds: exact, however few of them carry most of the weight.
    """
    ranged = offered(BOUNDED) if bounds is not None and not grouped else ()
    if pairs.baseline.weight is not None:
        names = tuple(dict.fromkeys((USUAL, *ranged, *(name for name in offered("scores") if TESTS[name].weighs))))
    else:
        names = (*ranged, *dict.fromkeys((USUAL, *offered("scores"))), *(() if pairs.plain else offered(RUNS)))
    return asked.choose("test", asked.test, names, f"{metric.name} on the same items")


def _judge(
    name: str,
    d: FloatArray,
    a: FloatArray,
    pairs: Pairs,
    rows: tuple[FloatArray, FloatArray],
    asked: CompareOptions,
    bounds: tuple[float, float] | None,
    weight: FloatArray | None,
) -> RangeMeanTest | WithinItemTest | None:
    """The tests that margins and bounds belong to as well."""
    if TESTS[name].of_runs:
        return WithinItemTest(pairs, rows, asked)
    weighted = weight is not None and pairs.baseline.group is None
    if bounds is not None and (TESTS[name].applies(BOUNDED) or weighted):
        return RangeMeanTest(d, a, bounds, asked.alternative, weight)
    return None


def _weights(pairs: Pairs) -> FloatArray | None:
    """The weight of every item, 1 on average; None where they weigh alike."""
    if pairs.baseline.weight is None:
        return None
    weight = np.empty(pairs.items)
    weight[pairs.baseline_item] = pairs.baseline.weight
    return weight / float(weight.mean())


def _mean(values: FloatArray, weight: FloatArray | None) -> float:
    return float(values.mean() if weight is None else weight @ values / weight.sum())


def _mean_difference(d: FloatArray, a: FloatArray, weight: FloatArray | None) -> float:
    """The mean of the differences from `a`; what only rounding leaves of losses and gains that cancel out is 0."""
    mean, size = _mean(d, weight), _mean(np.where(d != 0, np.abs(d) + np.abs(a), 0.0), weight)
    return 0.0 if abs(mean) <= rounding(size, math.sqrt(len(d))) else mean


def _rare(sums: Sums, metric: Metric, baseline: FloatArray, bounds: tuple[float, float] | None) -> UnseenChanges | None:
    """What the bounds count in where few items, or groups, differ: by the range, declared or likely; losses and errors: the one seen."""
    ends = bounds or (possible_range(baseline) if metric.scored else (float(baseline.min()), float(baseline.max())))
    rows = np.repeat(sums.dense, sums.count, axis=0)
    worth = infer_sums.groups_of(sums, QUOTIENT).effective if sums.sizes is not None else sums.worth
    return unseen_changes(rows[:, 1] / rows[:, 0].mean(), ends[1] - ends[0], worth)


def _seen_range(
    d: FloatArray, a: FloatArray, rows: tuple[FloatArray, FloatArray], asked: CompareOptions, weight: FloatArray | None
) -> RangeMeanTest | None:
    """The test that would have been taken, had somebody declared the range that the scores seem to have."""
    ends = possible_range(*rows)
    return RangeMeanTest(d, a, ends, asked.alternative, weight) if math.isfinite(ends[1] - ends[0]) and ends[1] > ends[0] else None


def _rare_groups(
    found: Evidence, sums: Sums, rows: tuple[FloatArray, FloatArray], asked: CompareOptions, bounds: tuple[float, float] | None
) -> RareGroupsTest | None:
    """What the groups would say, had one more fallen and one more gained by all of the range, declared or likely."""
    ends = bounds or possible_range(*rows)
    reach = ends[1] - ends[0]
    if not 0 < reach < math.inf or found.error is None or found.df is None:
        return None
    worth = infer_sums.groups_of(sums, QUOTIENT).effective
    return RareGroupsTest(bounded_t_of_groups(found.difference or 0.0, found.error**2, found.df, worth, reach), asked.alternative)


def _warn_of_skewness(sums: Sums, difference: float, warnings: Warnings) -> None:
    """Groups that are enough for t where they differ evenly, but not where few of them make up the difference."""
    rows = np.repeat(sums.dense, sums.count, axis=0)
    wanted = wanted_for_skewness(rows[:, 1] - difference * rows[:, 0])
    if 2 * len(rows) < wanted and not Groups.of(rows[:, 0]).few:  # twice: the skewness of so few varies; fewer have been warned of
        warnings.add(
            f"the differences of the {len(rows)} groups are skewed: t needs about {wanted:.0f} groups here; "
            "with fewer, the interval is too narrow"
        )


def _settle_error(found: Evidence, judge: RangeMeanTest | WithinItemTest | None, sums: Sums) -> None:
    """The standard error that interval, margin and detectable difference rest on: that of the test."""
    found.judge = judge
    if isinstance(judge, RangeMeanTest):
        t = judge.t
        found.error, found.noise, found.df, found.pull = t.error, t.noise, t.df, t.n / (t.n + 2)
        return
    if isinstance(judge, WithinItemTest):
        found.error, found.df = math.sqrt(judge.spread.variance(judge.spread.difference)) or None, math.inf
        return
    spread = or_none(lambda: infer_sums.spread(sums, QUOTIENT))
    if spread is not None:
        found.error, found.df = math.sqrt(spread[0]), spread[1]


def _differences(a: FloatArray, b: FloatArray, repeats: float) -> FloatArray:
    """candidate - baseline; what only rounding separates from 0 is 0, and what only rounding separates from each other is one number."""
    size = np.maximum(np.abs(a), np.abs(b))
    d = without_rounding(b - a, size, max(SUMS, repeats))
    return np.full(len(d), np.median(d)) if one_number(d, size, repeats) else d


def _by_item(values: FloatArray, item: npt.NDArray[np.int64], items: int) -> FloatArray:
    """One number per item: the mean over its repeats, summed in the order of their size so that the file's order is nothing."""
    if len(values) == items:  # each item once
        alone = np.empty(items)
        alone[item] = values
        return alone
    order = np.lexsort((values, item))
    values, item = values[order], item[order]
    return np.asarray(np.bincount(item, weights=values, minlength=items) / np.bincount(item, minlength=items))


def _tally(x: FloatArray, unit: Any, units: int, grouped: bool, weight: FloatArray | None) -> Sums:
    rows = np.stack([np.ones(len(x)), x] if weight is None else [weight, weight * x], axis=1)
    if grouped:
        return tally_groups(rows, unit, units)
    return tally_items(rows) if weight is None else replace(tally_items(rows), worth=float(weight.sum() ** 2 / (weight @ weight)))


def scores_interval(
    sums: Sums,
    found: Evidence,
    metric: Metric,
    asked: CompareOptions,
    warnings: Warnings,
    bounds: tuple[float, float] | None,
    grouped: bool,
) -> Interval | None:
    ranged = offered_intervals(BOUNDED) if bounds is not None and not grouped else ()
    judged = () if found.judge is None else (found.judge.name,)
    names = dict.fromkeys((*judged, STUDENT, *ranged, *offered_intervals(SCORES)))
    method = asked.choose("interval", asked.interval, tuple(names), f"{metric.name} on the same items")
    reach = (bounds[0] - bounds[1], bounds[1] - bounds[0]) if bounds else (None, None)
    how = INTERVALS[method]
    if how.of_range and bounds is not None:
        seen = found.judge.t if isinstance(found.judge, RangeMeanTest) else None
        t = seen or bounded_t(np.repeat(sums.dense[:, 1], sums.count), bounds[1] - bounds[0])
        return interval_of(asked, *t.interval(asked.level, asked.side), method, *reach)
    if how.of_runs and found.judge is not None and found.error:
        ends = found.judge.interval(asked.level, asked.side)
        if math.isfinite(ends[0]) or bounds is not None:
            return interval_of(asked, *ends, method, *reach)
        warnings.add("no interval for the difference: too few items to permute their runs")
        return None
    worth: dict[str, Any] = {}
    found.too_few = grouped and not enough_units("groups", sums, warnings, worth)
    found.note(**worth)
    if found.too_few:
        return None
    by = STUDENT if how.of_runs else method  # runs without any noise have no bounds of their own

    def by_method() -> tuple[float, ...]:
        if INTERVALS[by].linear:
            return careful_ends(sums, QUOTIENT, found.rare, asked)
        return infer_sums.resampled(sums, QUOTIENT, by, asked.level, asked.side, draws=asked.own.draws, seed=asked.own.seed)

    given = attempt(by_method)
    if isinstance(given, Degenerate):
        return _without_spread(found, sums, bounds, asked, warnings, str(given), method)
    if INTERVALS[by].linear and found.rare is not None:
        changed = int(sums.count[sums.dense[:, 1] != 0].sum())
        far = "all of the range" if bounds is not None else "the range of the scores seen; declare the real range with range="
        warn_of_few_changes(sums, QUOTIENT, found.rare, changed, warnings, groups=grouped, by=far)
    return interval_of(asked, given[0], given[1], by, *reach)


def _without_spread(
    found: Evidence,
    sums: Sums,
    bounds: tuple[float, float] | None,
    asked: CompareOptions,
    warnings: Warnings,
    reason: str,
    method: str,
) -> Interval | None:
    """All differences equal, or all draws. With a known range, or where none differs, the difference still has an interval."""
    from steelyard_old.infer.intervals.mean import wilson_mean

    if found.rare is not None:
        ends = attempt(lambda: careful_ends(sums, QUOTIENT, found.rare, asked))
        if not isinstance(ends, Degenerate):
            warnings.add(given_instead(method, reason, "t with unseen items", difference=True))
            found.note(instead_of=method)
            return interval_of(asked, *ends, "t", None, None)
    if bounds is None:
        warnings.add(none_given(reason, difference=True, advice="; declare the range of the scores with range= if it is known"))
        return None
    width = bounds[1] - bounds[0]
    low, high = wilson_mean(found.difference or 0.0, sums.n, -width, width, asked.level, asked.side)
    warnings.add(given_instead(method, reason, "Wilson on its mean", difference=True, wide=True))
    found.note(instead_of=method)
    return interval_of(asked, low, high, "wilson-mean", -width, width)


def _test(
    name: str,
    judge: RangeMeanTest | WithinItemTest | None,
    d: FloatArray,
    sums: Sums,
    asked: CompareOptions,
    warnings: Warnings,
    grouped: bool,
) -> Test:
    if isinstance(judge, RangeMeanTest) and name == judge.name:
        told = TestDetails(df=judge.t.df, range=judge.reach)
        p = judge.p_value(0.0)
        return Test(name=name, alternative=asked.alternative, statistic=judge.t.statistic, p_value=p, details=told)
    if isinstance(judge, WithinItemTest):
        if not asked.about_runs:
            warnings.add("within-item permutes the runs of each item: p and interval are about these items, not about new ones")
        return judge.test()
    by_unit = np.repeat(sums.dense[:, 1], sums.count) if grouped else d
    return made(TESTS[name].scores)(by_unit, sums, asked, warnings)


def _shifted(name: str, sums: Sums, asked: CompareOptions, warnings: Warnings, edge: float) -> Test:
    """The test of H0: the true difference is `edge`, which is taken off every item, and so off a group as often as it has items."""
    size, total = sums.dense.T
    beyond = without_rounding(total - edge * size, np.abs(total) + abs(edge) * size, SUMS)
    return made(TESTS[name].scores)(np.repeat(beyond, sums.count), sums, asked, warnings)


def _correlation(a: FloatArray, b: FloatArray) -> float | None:
    x, y = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale > 0 else None


def _details(
    a: FloatArray, b: FloatArray, d: FloatArray, pairs: Pairs, rows: tuple[FloatArray, FloatArray], groups: int | None
) -> ComparisonDetails:
    out: dict[str, Any] = {}
    if groups is not None:
        out["groups"] = out["units"] = groups
    if len(d) > 1 and d.var() > 0:
        out["pairing_gain"] = float((a.var(ddof=1) + b.var(ddof=1)) / d.var(ddof=1))
    if not pairs.plain:
        out |= _repeats(pairs, d, rows)
    return ComparisonDetails(**out)


def _repeats(pairs: Pairs, d: FloatArray, rows: tuple[FloatArray, FloatArray]) -> dict[str, Any]:
    """How many runs each side has, and which share of the variance of the difference is run-to-run noise within items."""
    out: dict[str, Any] = {}
    noise = np.zeros(pairs.items)
    for name, values, item in (("baseline", rows[0], pairs.baseline_item), ("candidate", rows[1], pairs.candidate_item)):
        tries = np.bincount(item, minlength=pairs.items)
        out[f"repeats_{name}"] = int(tries.max())
        mean = np.bincount(item, weights=values, minlength=pairs.items) / tries
        squares = np.bincount(item, weights=(values - mean[item]) ** 2, minlength=pairs.items)
        pooled = squares.sum() / max(1, int((tries - 1).sum()))
        noise += pooled / tries
    if len(d) > 1 and d.var() > 0:
        out["variance_within_share"] = min(1.0, float(noise.mean() / d.var(ddof=1)))
    return out
