"""Rows for metrics of a table whose items belong together: groups, repeats of an item, unequal weights."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.fallback import OF_CLASSES, attempt, left_out, no_answer
from steelyard_old.estimate.named_intervals import INTERVALS, offered_intervals
from steelyard_old.estimate.row import known, make_row, slope, sums_spread
from steelyard_old.infer.intervals import sums as infer_sums
from steelyard_old.infer.intervals.clusters import ENOUGH, FEWEST, LEAST, ClusterVariance, Groups, cluster_spread
from steelyard_old.infer.intervals.grouped import ROUNDING, GroupedProportion, grouped_proportion, intraclass_correlation
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.proportions import Proportion
from steelyard_old.metrics.sums import QUOTIENT, SumStatistic, of_margins
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.options.option import not_offered
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Row
from steelyard_old.tally.counts import TableTally
from steelyard_old.tally.sums import SparseRows, Sums

FloatArray = npt.NDArray[np.float64]
REPEATED = "items with repeats"
OF_SHARES = {"wilson": GroupedProportion.wilson}  # of proportions, at the effective n


def grouped_row(
    metric: Metric,
    label: int | None,
    tally: TableTally,
    proportion: Proportion | None,
    settings: MeasureOptions,
    warnings: Warnings,
    name: str,
) -> Row:
    """Wilson at the effective n for proportions and F1; the linearised interval with t for the rest."""
    assert tally.units is not None
    units, counts = tally.units, tally.counts
    statistic = of_margins(metric.of_table(label, settings.absent), counts.classes)
    if label is not None and isinstance(units.rows, SparseRows):  # one class of many: nothing of the others is needed
        units, statistic = _of_class(units, label, counts.classes), of_margins(metric.of_table(0, settings.absent), 1)
        proportion = None if proportion is None else replace(proportion, label=0)
        classes = 1
    else:
        classes = counts.classes
    value = _inside(float(statistic.value(units.totals())), metric)
    # the items that the metric rests on; repeats and weights leave no whole number of them, so all items stand there
    n = proportion.of(counts)[1] if proportion is not None and tally.kind == "groups" and counts.n == tally.items else tally.items
    if math.isnan(value):
        warnings.add(f"{name} is undefined: {metric.why_undefined()}")
        return make_row(metric, label, counts, None, n, None, settings, {})
    details = dict(tally.details)
    enough = enough_units(tally.kind, units, warnings, details, QUOTIENT if proportion is not None else statistic, name)
    of_sums = (name for name in offered_intervals("sums") if not INTERVALS[name].of_mean)
    allowed = [*(OF_SHARES if proportion is not None else ()), *of_sums]
    method = settings.interval or allowed[0]
    if method not in allowed:
        raise not_offered("interval", method, f"{metric.name} of {tally.kind}", allowed)
    if enough and proportion is not None and tally.kind == "groups":
        enough = _enough_of(proportion, units, classes, name, warnings)
    if not enough:
        return make_row(metric, label, counts, value, n, None, settings, details)
    found = None if proportion is not None else sums_spread(units, statistic)
    error = None if found is None else known(math.sqrt(found.variance))
    if proportion is not None:
        error = _error(proportion, units, classes)
        grouped = _grouped(proportion, units.rows, units.answers, classes, details, tally.kind)
        if method in OF_SHARES:
            low, high = OF_SHARES[method](grouped, settings.confidence_level, settings.side)
            wilson = (proportion.to_metric(low), proportion.to_metric(high), method)
            return make_row(metric, label, counts, value, n, wilson, settings, details, error)
    ends = attempt(lambda: _of_units(method, units, statistic, settings, warnings, name, found))
    if isinstance(ends, Degenerate):
        warnings.add(no_answer(method, ends, name=name))
        return make_row(metric, label, counts, value, n, None, settings, details)
    return make_row(metric, label, counts, value, n, ends, settings, details, error)


def _error(proportion: Proportion, units: Sums, classes: int) -> float | None:
    """The standard error of a proportion over whole units, robust to groups of any sizes. None without spread."""
    successes, trials = proportion.of_rows(units.rows, classes)
    total = float(trials.sum())
    p = float(successes.sum()) / total
    e = successes - p * trials
    used = trials > 0
    if used.sum() < 2 or not ROUNDING < p < 1 - ROUNDING or not float(abs(e).max()) > ROUNDING:
        return None
    answers = _answers_of(proportion, units.rows, trials, units.answers)
    variance = cluster_spread(e[used] / total, trials[used], squares=p * (1 - p) / answers, answers=answers).variance
    return abs(slope(proportion, p)) * math.sqrt(variance)


def _of_class(units: Sums, label: int, classes: int) -> Sums:
    """The units with the margins of one class alone."""
    assert isinstance(units.rows, SparseRows)
    columns = (label, classes + label, 2 * classes + label, 3 * classes)

    def single(gradient: FloatArray) -> FloatArray:
        whole = np.zeros(3 * classes + 1)
        whole[list(columns)] = gradient
        assert units.single is not None
        return units.single(whole)

    known = None if units.single is None else single
    return replace(units, rows=np.stack([units.rows.part(c, c + 1) for c in columns], axis=1), single=known)


def _weights(rows: Any) -> Any:
    return rows.part(rows.shape[1] - 1, rows.shape[1]) if isinstance(rows, SparseRows) else rows[:, -1]


def _inside(value: float, metric: Metric) -> float:
    """The value without the last bits by which sums of fractional weights leave the range of a metric."""
    ends = [end for end in (metric.low, metric.high) if end is not None]
    return next((end for end in ends if abs(value - end) <= ROUNDING), value)


def _of_units(
    method: str, units: Any, statistic: Any, settings: MeasureOptions, warnings: Warnings, name: str, found: ClusterVariance | None
) -> tuple[float, float, str]:
    level, side = settings.confidence_level, settings.side
    if INTERVALS[method].linear:
        return (*infer_sums.linearised(units, statistic, level, side, found=found), method)
    low, high, undefined = infer_sums.resampled(units, statistic, method, level, side, draws=settings.draws, seed=settings.seed)
    if undefined:
        warnings.add(left_out(name, undefined, settings.draws, OF_CLASSES))
    return low, high, method


def _grouped(proportion: Proportion, rows: Any, answers: float, classes: int, details: dict[str, Any], kind: str) -> GroupedProportion:
    """The design effect of a proportion, also written into the details of the row."""
    successes, trials = proportion.of_rows(rows, classes)
    used = trials > 0  # a group without a single item of the denominator says nothing about the proportion
    successes, trials = successes[used], trials[used]
    if kind == "weights":  # unequal weights are worth Kish's n at most, however many rows carry them
        answers = max(1.0, float(trials.sum()) ** 2 / float(trials @ trials))
    else:
        answers = _answers_of(proportion, rows, trials, answers)
    grouped = grouped_proportion(successes, trials, answers)
    details["design_effect"], details["n_effective"] = grouped.design_effect, grouped.n_effective
    details["intraclass_correlation"] = intraclass_correlation(successes, trials)
    return grouped


def _answers_of(proportion: Proportion, rows: Any, trials: Any, answers: float) -> float:
    """How many answers the denominator of a proportion holds."""
    share = float(trials.sum() / _weights(rows).sum()) if proportion.label is not None else 1.0
    return max(1.0, answers * share)


def _enough_of(proportion: Proportion, units: Sums, classes: int, name: str, warnings: Warnings) -> bool:
    """Whether enough groups have items that count for the proportion, which may be those of one class."""
    counting = Groups.of(proportion.of_rows(units.rows, classes)[1])
    if counting.too_few:
        warnings.add(f"{name}: only {counting.words()} have an item that counts for it: no interval")
    return not counting.too_few


def enough_units(
    kind: str,
    units: Sums,
    warnings: Warnings,
    details: dict[str, Any] | None = None,
    statistic: SumStatistic = QUOTIENT,
    name: str = "",
) -> bool:
    """Whether there are units enough for an interval, with the warning that belongs to so many; one rule for every metric.

    Of a metric of classes, groups are counted by the true classes of their items, each as far as one answer can change the metric
    (`infer_sums.groups_of`); what was answered enters by slopes alone, so that more items lost rarely turn an answer into none. Counting
    by the variance that answers show left runs in that show little where little is known: of macro F1 in six groups with all positives
    in one, the lower bounds of those judged missed in up to 42%.
    """
    if kind in ("items", "weights"):
        return True
    groups = infer_sums.groups_of(units, statistic if kind == "groups" else QUOTIENT)
    return enough_groups(groups, warnings, details, "groups" if kind == "groups" else REPEATED, name)


def enough_groups(
    groups: Groups,
    warnings: Warnings,
    details: dict[str, Any] | None = None,
    what: str = "groups",
    name: str = "",
) -> bool:
    """The same, of the groups themselves. name: the metric whose items the groups are counted by, if not by all."""
    grouped = what != REPEATED
    if details is not None and grouped:
        details["groups_effective"] = groups.effective
    said = groups.words(what)
    if groups.worth is not None and name and (groups.few or groups.number < FEWEST):
        said = f"{name}: {said}"
    if groups.number < FEWEST:
        warnings.add(f"only {said}: no interval, at least {FEWEST} are needed")
    elif groups.too_few:
        unequal = f"the groups are too unequal (effective number below {LEAST:g})"
        warnings.add(f"{said}: no interval, because {unequal}; add groups, or measure the large ones separately")
    elif groups.few and grouped:
        only = "only " if groups.number < ENOUGH else ""
        warnings.add(f"{only}{said}: the interval rests on their spread and is itself uncertain; {ENOUGH:g} or more are better")
    return not groups.too_few
