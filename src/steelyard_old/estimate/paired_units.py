"""Two systems on the same units, each unit a row of sums: ratios, R^2, label metrics under groups and repeats."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.estimate.difference_tests import UNITS, offered
from steelyard_old.estimate.evidence import Evidence, UnitSums, interval_of
from steelyard_old.estimate.fallback import attempt, given_instead, left_out, none_given, or_none
from steelyard_old.estimate.few_changes import careful_ends, warn_of_few_changes
from steelyard_old.estimate.grouped_rows import enough_units
from steelyard_old.estimate.named_intervals import INTERVALS, offered_intervals
from steelyard_old.estimate.paired_right_or_wrong import equivalence_words
from steelyard_old.infer.intervals import sums as infer_sums
from steelyard_old.infer.intervals.clusters import Groups
from steelyard_old.infer.intervals.mean import wilson_mean
from steelyard_old.infer.paired import sums as infer
from steelyard_old.infer.paired.equivalence import equivalence
from steelyard_old.infer.paired.sums import Rows
from steelyard_old.infer.paired.unseen import UnseenChanges, unseen_changes
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.infer.resampling.work import fewer_draws
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.sums import QUOTIENT, SumStatistic
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Test
from steelyard_old.results.details import ComparisonDetails, TestDetails
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.rounding import SUMS, without_rounding
from steelyard_old.tally.sums import SparseRows, Sums

FloatArray = npt.NDArray[np.float64]
LARGEST = 1e150  # that is compared: the square of a larger number is no float64, and there is no spread to judge by


def compare_units(
    a: Rows,
    b: Rows,
    statistic: SumStatistic,
    n: int,
    metric: Metric,
    asked: CompareOptions,
    warnings: Warnings,
    *,
    sizes: FloatArray | None = None,
    single: Callable[[FloatArray], FloatArray] | None = None,
) -> Evidence:
    """The difference of a statistic of sums; a and b have one row per unit, which for groups has a size in items."""
    grouped = sizes is not None
    tally, difference = units_tally(a, b, statistic, sizes, single)
    first, second = (float(statistic.value(_totals(side))) for side in (a, b))
    if math.isnan(first) or math.isnan(second):
        raise DataError(
            f"{metric.name} is undefined in one of the runs.",
            got="an undefined value in one run",
            need="a value in both",
            hint="absent='skip' or absent='zero'",
        )
    if max(abs(first), abs(second)) > LARGEST:
        raise DataError(
            f"{metric.name} is too large to compare: {first:.3g} and {second:.3g}.",
            got=f"{first:.3g} and {second:.3g}",
            need=f"numbers of at most {LARGEST:g}",
            hint=metric.if_too_large(),
        )
    spread = or_none(lambda: infer_sums.spread(tally, difference))
    error, df = (None, None) if spread is None else (math.sqrt(spread[0]), spread[1])
    found = Evidence(
        design="clustered" if grouped else "paired",
        n=n,
        baseline=first,
        candidate=second,
        difference=second - first,
        interval=None,
        test=_test(a, b, statistic, metric, asked),
        error=error,
        df=df,
        sums=UnitSums(a, b, sizes, single) if metric.of_ratio else None,
        details=ComparisonDetails(groups=len(a), units=len(a)) if grouped else ComparisonDetails(),
    )
    if statistic is QUOTIENT and isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a[:, 0], b[:, 0]):
        found.against = partial(_shifted, a, b, metric, asked)  # rows that could change places, once the margin is taken off
    worth: dict[str, Any] = {}
    found.too_few = grouped and not enough_units("groups", tally, warnings, worth, difference, metric.name)
    found.note(**worth)
    if not found.too_few:
        found.rare = rare_of(a, b, statistic, metric, sizes)
        found.interval = units_interval(a, b, statistic, metric, asked, warnings, sizes, single)
        if (through := metric.read_through).logarithm:
            rare = rare_of(a, b, through.inner, metric, sizes)
            found.note(quotient=_quotient(*units_tally(a, b, through.inner, sizes, single), rare, through.outwards, asked))
    if asked.margin is not None and not found.error:
        warnings.add("equivalence within the margin cannot be tested: the units show no spread")
    if asked.margin is not None and found.error and not found.too_few:
        e = (equivalence if found.rare is None else found.rare.equivalence)(second - first, found.error, asked.margin, df)
        found.equivalence = equivalence_words(e.p_lower, e.p_upper, asked.margin, asked, higher_is_better=metric.higher_is_better)
    if _equal(a, b):
        found.note(identical=True)
        warnings.add("the two systems agree on every unit: identical runs, or one run compared with itself")
    return found


def _quotient(
    tally: Sums, difference: SumStatistic, rare: UnseenChanges | None, outwards: Callable[[float], float], asked: CompareOptions
) -> dict[str, float | None]:
    """candidate / baseline of what has another statistic as its logarithm: of the difference of that and its ends, by the same t."""
    gap = float(difference.value(tally.totals()))
    ends = attempt(lambda: careful_ends(tally, difference, rare, asked))
    low, high = (None, None) if isinstance(ends, Degenerate) else map(outwards, ends)
    return {
        "estimate": outwards(gap),
        "low": None if asked.side == "upper" else low,
        "high": None if asked.side == "lower" else high,
    }


def _test(a: Rows, b: Rows, statistic: SumStatistic, metric: Metric, asked: CompareOptions) -> Test:
    name = asked.choose("test", asked.test, offered(UNITS), f"{metric.name} over units")
    draws = asked.own.draws if asked.test is not None else fewer_draws(infer.swapped_numbers(a), asked.own.draws)
    drawn = infer.paired_swap(a, b, statistic, alternative=asked.alternative, draws=draws, seed=asked.own.seed)
    details = TestDetails(exact=drawn.exact, draws=None if drawn.exact else drawn.draws)
    return Test(name=name, alternative=asked.alternative, statistic=drawn.statistic, p_value=drawn.p_value, details=details)


def _shifted(a: FloatArray, b: FloatArray, metric: Metric, asked: CompareOptions, edge: float) -> Test:
    """The test of H0: the ratio of b exceeds that of a by `edge`, which is taken off b: so much of what it has below the line."""
    return _test(a, np.stack([b[:, 0], b[:, 1] - edge * b[:, 0]], axis=1), QUOTIENT, metric, asked)


def _totals(rows: Rows) -> FloatArray:
    return rows.totals() if isinstance(rows, SparseRows) else np.asarray(rows.sum(0))


def _equal(a: Rows, b: Rows) -> bool:
    return a.equals(b) if isinstance(a, SparseRows) and isinstance(b, SparseRows) else np.array_equal(a, b)  # type: ignore[arg-type]


def units_tally(
    a: Rows, b: Rows, statistic: SumStatistic, sizes: FloatArray | None, single: Callable[[FloatArray], FloatArray] | None
) -> tuple[Sums, SumStatistic]:
    """Both systems as one tally, and the difference as a statistic of it."""
    if sizes is not None:
        return infer.grouped_pair(a, b, statistic, sizes, single)
    return infer.side_by_side(a, b), infer.difference_statistic(statistic, a.shape[1])


def units_interval(
    a: Rows,
    b: Rows,
    statistic: SumStatistic,
    metric: Metric,
    asked: CompareOptions,
    warnings: Warnings,
    sizes: FloatArray | None = None,
    single: Callable[[FloatArray], FloatArray] | None = None,
) -> Interval | None:
    """The linearised interval with t, over items or groups, as for one system in groups."""
    method = asked.choose("interval", asked.interval, offered_intervals(UNITS), f"{metric.name} over units")

    tally, difference = units_tally(a, b, statistic, sizes, single)
    rare = rare_of(a, b, statistic, metric, sizes)

    def ends(by: str) -> tuple[float, float, int]:
        if INTERVALS[by].linear:
            return (*careful_ends(tally, difference, rare, asked), 0)
        more = {"draws": asked.own.draws, "seed": asked.own.seed}
        return infer.paired_resampled(a, b, statistic, by, asked.level, asked.side, **more)

    found = attempt(lambda: ends(method))
    if isinstance(found, Degenerate) and not INTERVALS[method].linear:
        warnings.add(given_instead(method, found, "delta", difference=True))
        method, found = "delta", attempt(lambda: ends("delta"))
    width = metric.width
    if isinstance(found, Degenerate):
        if width is None:
            warnings.add(none_given(str(found), difference=True))
            return None
        gap = float(statistic.value(_totals(b)) - statistic.value(_totals(a)))
        warnings.add(given_instead(method, found, "Wilson on its mean", difference=True, wide=True))
        return interval_of(asked, *wilson_mean(gap, len(a), -width, width, asked.level, asked.side), "wilson-mean", -width, width)
    low, high, undefined = found
    if INTERVALS[method].linear:
        changed, by = int(np.count_nonzero(_changes(a, b, statistic))), "as much as {}s differ among themselves, or fail altogether"
        unit = "item" if sizes is None else "group"
        warn_of_few_changes(tally, difference, rare, changed, warnings, groups=sizes is not None, by=by.format(unit))
    if undefined:
        warnings.add(left_out(metric.name, undefined, asked.own.draws))
    return interval_of(asked, low, high, method, *((None, None) if width is None else (-width, width)))


def rare_of(a: Rows, b: Rows, statistic: SumStatistic, metric: Metric, sizes: FloatArray | None) -> UnseenChanges | None:
    """What the bounds count in where few units differ.

    A new unit may differ by as much as the units of the baseline differ among themselves. Of a ratio whose numbers above the line are
    parts of those below, as of a word error rate, all of an item may fail; of a metric with a range, all of that.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = len(a) * (a @ statistic.gradient(_totals(a)))
        changes = _changes(a, b, statistic)
    if not (np.isfinite(effects).all() and np.isfinite(changes).all()):
        return None
    reach = max(float(np.ptp(effects)), metric.width or 0.0)
    if metric.of_ratio and metric.proportional and not isinstance(a, SparseRows):
        below, above = a.T
        if above.min() >= 0 and (above <= below).all():
            reach = max(reach, float(np.sqrt((below**2).mean())) / float(below.mean()))
    worth = None if sizes is None else Groups.of(sizes).effective
    return unseen_changes(changes, reach, worth)


def _changes(a: Rows, b: Rows, statistic: SumStatistic) -> FloatArray:
    """What each unit has changed in the statistic, times how many there are; 0 where both rows are the same."""
    slopes = statistic.gradient(_totals(a))
    if isinstance(a, SparseRows) and isinstance(b, SparseRows):
        gap = b @ slopes - a @ slopes
        return np.asarray(len(a) * without_rounding(gap, np.abs(b @ slopes) + np.abs(a @ slopes), SUMS))
    return np.asarray(len(a) * ((np.asarray(b) - np.asarray(a)) @ slopes))
