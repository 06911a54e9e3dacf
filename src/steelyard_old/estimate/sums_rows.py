"""Rows for metrics of sums: means of scores, losses of probabilities, errors of numbers, ratios, pass@k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.difference_tests import made
from steelyard_old.estimate.fallback import attempt, given_instead, left_out, none_given
from steelyard_old.estimate.grouped_rows import enough_units
from steelyard_old.estimate.named_intervals import INTERVALS, offered_intervals
from steelyard_old.estimate.row import sums_error
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.repeats import RepeatsMetric
from steelyard_old.metrics.sums import QUOTIENT, SumsMetric, SumStatistic
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.options.option import not_offered
from steelyard_old.results.base import Warnings
from steelyard_old.results.details import RowDetails
from steelyard_old.results.measurement import Interval, Row
from steelyard_old.tally.rounding import rounding
from steelyard_old.tally.sample import Sample
from steelyard_old.tally.sums import Sums, tally_groups, tally_items

FloatArray = npt.NDArray[np.float64]
OFF_BOUNDARY = 25  # of unknown range: fewer items than this away from the most common value, and t is warned of
RANGED, WITHOUT_SPREAD = "bounded-mean", "wilson-mean"  # where the range of the numbers is known: what is usual, and what needs no spread
Ends = tuple[float, float, str]


def sums_row(metric: Metric, sample: Sample, settings: MeasureOptions, warnings: Warnings) -> Row:
    """The row of one metric of sums."""
    if isinstance(metric, RepeatsMetric):
        return _pass_row(metric, sample, settings, warnings)
    assert isinstance(metric, SumsMetric)
    rows = metric.adds(*columns_of(metric, sample))
    if not np.isfinite(rows).all():
        warnings.add(f"{metric.name} is infinite: a probability of exactly 0 or 1 was given to an item that turned out otherwise")
        return _row(metric, None, sample.n, None, settings, {})
    return _row_of(metric, sample.sums(rows), sample, settings, warnings)


def columns_of(metric: Metric, sample: Sample) -> tuple[FloatArray, ...]:
    """The columns a metric reads, as numbers."""
    items = sample.items
    if any(need in items.more for need in metric.needs):
        return tuple(items.more[need] if need in items.more else getattr(items, need) for need in metric.needs)
    if metric.needs == ("score",):
        assert items.score is not None
        return (items.score,)
    if metric.of_ratio:
        assert items.ratio is not None
        _refuse_nothing_below(items.ratio[1])
        _refuse_impossible(metric, items.ratio)
        return items.ratio
    if metric.numeric:
        assert items.truth_value is not None
        assert items.prediction_value is not None
        return items.truth_value, items.prediction_value
    return probabilities(sample), positives(sample).astype(float)


def _refuse_nothing_below(below: FloatArray) -> None:
    """A single item may have 0 below the line: it adds nothing there."""
    need = "numbers of 0 or more below the line, not all of them 0"
    hint = "ratio=ABOVE/BELOW: is the right column below the line?"
    if (negative := np.flatnonzero(below < 0)).size:
        raise DataError(
            f"The column below the line is negative in {negative.size:,} of {below.size:,} items, such as {below[negative[0]]:g}.",
            got="negative numbers below the line",
            need=need,
            hint=hint,
        )
    if not below.sum():
        raise DataError(
            f"The column below the line is 0 in all {below.size:,} items, so there is no ratio.",
            got="nothing but 0 below the line",
            need=need,
            hint=hint,
        )


def _refuse_impossible(metric: Metric, columns: tuple[FloatArray, ...]) -> None:
    """A value below the least that there is, beyond rounding, is no value of this metric: another column was meant, or its sign."""
    if not isinstance(metric, SumsMetric) or metric.low is None:
        return
    value = metric.of_columns(*columns)
    if value < metric.low - rounding(1.0, len(columns[0])):
        raise DataError(
            f"These columns give a {metric.name} of {value:.6g}, but a {metric.name} is at least {metric.low:g}.",
            got=f"a {metric.name} of {value:.6g}",
            need=f"{metric.low:g} or more",
            hint=metric.impossible,
        )


def probabilities(sample: Sample) -> FloatArray:
    """The probabilities, inside 0 and 1."""
    p = sample.items.probability
    assert p is not None
    outside = (p < 0) | (p > 1)
    if outside.any():
        row = int(np.argmax(outside))
        raise DataError(
            f"{int(outside.sum())} {'value' if outside.sum() == 1 else 'values'} of the probability column "
            f"lie{'s' if outside.sum() == 1 else ''} outside 0 and 1, such as {p[row]:g}.",
            got=f"{int(outside.sum())} value(s) outside 0 and 1, such as {p[row]:g}",
            need="probabilities of the positive class",
            hint="auc and average_precision take any score: ask for them alone with metric='auc'",
        )
    return p


def positives(sample: Sample) -> npt.NDArray[np.bool_]:
    """Which items are positive. The positive class is named, or is 1 of 0/1, or True of False/True."""
    truth = sample.items.truth
    assert truth is not None
    label = positive_label(sample)
    return np.asarray(np.array([name == label for name in truth.names])[truth.codes])


def positive_label(sample: Sample) -> str:
    truth = sample.items.truth
    assert truth is not None
    used = {truth.names[i] for i in np.unique(truth.codes)}
    wanted = sample.settings.positive
    if wanted is None:
        wanted = next((one for zero, one in (("0", "1"), ("False", "True"), ("0.0", "1.0")) if used <= {zero, one}), None)
    if wanted is None:
        shown = ", ".join(map(repr, sorted(used)[:12]))
        raise UsageError(
            f"Which class is the probability of? The labels are {shown}.",
            got=f"labels {shown}",
            need="the positive class",
            hint="name it with positive=LABEL",
        )
    if wanted not in used and len(used) > 1:  # one class only is undefined, and said so; a name that fits none is a mistake
        shown = ", ".join(map(repr, sorted(used)[:12]))
        raise UsageError(
            f"No class {wanted!r}; the labels are {shown}.",
            got=f"labels {shown}",
            need="one of them",
            hint="labels match by their text, case included",
        )
    return wanted


def _pass_row(metric: RepeatsMetric, sample: Sample, settings: MeasureOptions, warnings: Warnings) -> Row:
    """pass@k and pass^k: one unbiased number per problem, then a mean over problems (or groups of them)."""
    items = sample.items
    if items.id is None or items.score is None:
        raise DataError(
            f"{metric.name} needs an id and a score column, with several tries per id.",
            got="no id or no score column",
            need="several scored tries per id",
        )
    if items.weight is not None or items.count is not None:
        raise UsageError(
            f"{metric.name} does not support weights; it needs one row per try.", got="a weight column", need="one row per try"
        )
    if not sample.binary_scores:
        raise DataError(
            f"{metric.name} needs right or wrong (1 or 0) for every try, but there are other scores.",
            got="scores other than 0 and 1",
            need="right or wrong for every try",
        )
    codes, problem = np.unique(items.id.codes, return_inverse=True)
    value = pass_values(metric, items.score, problem, [items.id.names[code] for code in codes])
    rows = metric.adds(value)
    if items.group is None:
        sums, kind = tally_items(rows), "items"
    else:
        group_of = np.zeros(len(value), np.int64)
        group_of[problem] = np.unique(items.group.codes, return_inverse=True)[1]
        sums, kind = tally_groups(rows, group_of, int(group_of.max()) + 1), "groups"
    return _row_of(metric, sums, sample, settings, warnings, kind=kind, bounds=(0.0, 1.0), n=len(value))


def pass_values(metric: RepeatsMetric, score: FloatArray, problem: npt.NDArray[np.integer], names: Sequence[str]) -> FloatArray:
    """One number per problem. `problem` says which problem a try is of; `names` are the problems' own."""
    k = metric.k
    tries = np.bincount(problem, minlength=len(names))
    if (short := tries < k).any():
        raise DataError(
            f"{metric.name} needs {k} tries of every problem; {int(short.sum())} of {len(tries)} problems have fewer, such as "
            f"{names[int(np.argmax(short))]!r}.",
            got=f"{int(short.sum())} of {len(tries)} problems with fewer than {k} tries, such as {names[int(np.argmax(short))]!r}",
            need=f"at least {k} tries of every problem",
            hint=f"lower k, or run more repeats; name the id and repeat columns if {k} tries are there",
        )
    right = np.bincount(problem, weights=score, minlength=len(names)).astype(np.int64)
    return metric.of_tries(right, tries, k)


def _row_of(
    metric: SumsMetric,
    sums: Sums,
    sample: Sample,
    settings: MeasureOptions,
    warnings: Warnings,
    *,
    kind: str | None = None,
    bounds: tuple[float, float] | None = None,
    n: int | None = None,
) -> Row:
    kind = kind or sample.design.kind
    value = float(metric.statistic.value(sums.totals()))
    n = sample.n if n is None else n
    if not math.isfinite(value):
        warnings.add(f"{metric.name} is undefined: {metric.why_undefined(value)}")
        return _row(metric, None, n, None, settings, {})
    details = dict(sample.details)
    if not enough_units(kind, sums, warnings, details):
        return _row(metric, value, n, None, settings, details)
    bounds = bounds or bounds_of(metric, sample, settings)
    through = metric.read_through
    ends = sums_ends(metric, sums, through.inner, settings, warnings, bounds, kind, details)
    if ends is not None:
        inner, ends = ends, (through.outwards(ends[0]), through.outwards(ends[1]), ends[2])
        if math.isinf(ends[1]) and math.isfinite(inner[1]):
            warnings.add(f"{metric.name}: no interval (its upper end is beyond float64); ask for metric={through.name!r}")
            ends = None
    return _row(metric, value, n, ends, settings, details, bounds, sums_error(sums, metric.statistic))


def mean_row(
    metric: SumsMetric,
    sums: Sums,
    settings: MeasureOptions,
    warnings: Warnings,
    *,
    kind: str,
    n: int,
    bounds: tuple[float, float] | None,
    details: dict[str, Any],
    ends: Ends | None = None,
    error: float | None = None,
) -> Row:
    """The row of a mean that was added up by unit elsewhere, on the engine that holds the scores. ends: the interval, if known too."""
    value = float(QUOTIENT.value(sums.totals()))
    if ends is None and not enough_units(kind, sums, warnings, details):
        return _row(metric, value, n, None, settings, details, bounds)
    ends = ends or sums_ends(metric, sums, QUOTIENT, settings, warnings, bounds, kind, details)
    return _row(metric, value, n, ends, settings, details, bounds, error or sums_error(sums, QUOTIENT))


def bounds_of(metric: Metric, sample: Sample, settings: MeasureOptions) -> tuple[float, float] | None:
    """The range of one item's number, if known: declared for scores, by definition for losses."""
    if sample.items.score is None or not metric.scored:
        return metric.item_range
    return metric.range_of_scores(settings.range or ((0.0, 1.0) if sample.shares else None)) or metric.item_range


def sums_ends(
    metric: SumsMetric,
    sums: Sums,
    statistic: SumStatistic,
    settings: MeasureOptions,
    warnings: Warnings,
    bounds: tuple[float, float] | None,
    kind: str,
    details: dict[str, Any],
) -> Ends | None:
    """The interval by the method's name; the announced fall-back is also written into the details."""
    allowed = offered_for_sums(metric, bounds, kind)
    method = settings.interval or _default(metric, sums, bounds, warnings, kind)
    if method not in allowed:
        raise not_offered("interval", method, metric.name, allowed)

    def by_method() -> Ends:
        how = INTERVALS[method]
        if how.ranged is not None and bounds is not None:
            return (*how.ranged(sums, statistic, bounds, settings), method)
        low, high, undefined = made(how.sums)(sums, statistic, settings)
        if undefined:
            warnings.add(left_out(metric.name, undefined, settings.draws))
        return low, high, method

    ends = attempt(by_method)
    if not isinstance(ends, Degenerate):
        return ends
    if bounds is None or kind not in ("items", "weights"):
        advice = "; declare the range with range= if it is known" if metric.scored else ""
        warnings.add(none_given(ends, name=metric.name, advice=advice))
        return None
    warnings.add(given_instead(method, ends, "Wilson on the mean", name=metric.name))
    details["instead_of"] = method
    return (*made(INTERVALS[WITHOUT_SPREAD].ranged)(sums, statistic, bounds, settings), WITHOUT_SPREAD)


def offered_for_sums(metric: SumsMetric, bounds: tuple[float, float] | None, kind: str) -> list[str]:
    drawn = [name for name in offered_intervals("sums") if not INTERVALS[name].linear]
    ranged = [name for name in offered_intervals("ranged") if kind in INTERVALS[name].kinds] if metric.mean_of_items and bounds else []
    return [metric.linear, *drawn, *ranged]


def _default(metric: SumsMetric, sums: Sums, bounds: tuple[float, float] | None, warnings: Warnings, kind: str) -> str:
    """t for a mean, bounded-mean if its range is known; the bootstrap for what is not a mean, delta in groups."""
    if RANGED in offered_for_sums(metric, bounds, kind):
        return RANGED
    if kind == "items" and (said := metric.rests_on_few(sums.dense, sums.count)) is not None:
        warnings.add(said)
    if metric.mean_of_items and kind in ("items", "weights"):
        _warn_of_t(metric, sums, warnings)
    return metric.default_interval(kind, sums.n)


def _warn_of_t(metric: Metric, sums: Sums, warnings: Warnings) -> None:
    """Nothing is known of the range, and nearly all items have the smallest number seen, or the largest."""
    values = sums.dense[:, 1] / sums.dense[:, 0]
    off = sums.n - max(int(sums.count[values == end].sum()) for end in (values.min(), values.max()))
    if off < OFF_BOUNDARY:
        advice = "; declare the range of the scores with range=(LO, HI)" if metric.scored else ""
        warnings.add(
            f"{metric.name}: only {off} of {sums.n} items differ from the most common value, too few for a reliable t interval{advice}"
        )


def _row(
    metric: Metric,
    value: float | None,
    n: int,
    ends: Ends | None,
    settings: MeasureOptions,
    details: dict[str, Any],
    bounds: tuple[float, float] | None = None,
    error: float | None = None,
) -> Row:
    bottom, top = metric.range_of_scores(bounds) or (metric.low, metric.high)
    interval = None
    if ends is not None:
        low: float | None = bottom if settings.side == "upper" else ends[0] if bottom is None else max(bottom, ends[0])
        high: float | None = top if settings.side == "lower" else ends[1] if top is None else min(top, ends[1])
        interval = Interval(low=low, high=high, confidence_level=settings.confidence_level, side=settings.side, method=ends[2])  # type: ignore[arg-type]
    better = metric.better_high(settings.higher_is_better)
    return Row(
        metric=metric.name,
        estimate=value,
        n=n,
        interval=interval,
        standard_error=error,
        higher_is_better=better,
        details=RowDetails.of(details),
    )
