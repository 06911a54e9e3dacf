"""Rows for metrics of a table whose items belong together: groups, repeats of an item, unequal weights."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.infer import sums as infer_sums
from steelyard.infer.bootstrap import Degenerate
from steelyard.infer.grouped import FEWEST, ROUNDING, GroupedProportion, grouped_proportion, intraclass_correlation
from steelyard.metrics.catalogue import Metric
from steelyard.metrics.proportions import Proportion, why_undefined
from steelyard.metrics.sums import SumStatistic, of_margins
from steelyard.questions.settings import Settings
from steelyard.questions.standard_errors import slope, sums_error
from steelyard.results import Row
from steelyard.tally.sums import SparseRows, Sums

if TYPE_CHECKING:
    from steelyard.questions.table_rows import TableTally

ENOUGH = 20


def grouped_row(metric: Metric, label: int | None, tally: TableTally, proportion: Proportion | None, settings: Settings) -> Row:
    """Wilson at the effective n for proportions and F1; the linearised interval with t(G-1) for the rest."""
    from steelyard.questions.table_rows import make_row, statistic_of

    assert tally.units is not None
    units, counts = tally.units, tally.counts
    statistic = of_margins(statistic_of(metric, label, settings), counts.classes)
    if label is not None and isinstance(units.rows, SparseRows):  # one class of many: nothing of the others is needed
        units, statistic = _of_class(units, label, counts.classes), of_margins(statistic_of(metric, 0, settings), 1)
        proportion = None if proportion is None else replace(proportion, label=0)
        classes = 1
    else:
        classes = counts.classes
    value = _inside(float(statistic.value(units.totals())), metric)
    name = metric.name.removeprefix("each_") + ("" if label is None else f"[{counts.labels[label]}]")
    # the items that the metric rests on; repeats and weights leave no whole number of them, so all items stand there
    n = proportion.of(counts)[1] if proportion is not None and tally.kind == "groups" and counts.n == tally.items else tally.items
    if math.isnan(value):
        settings.warn(f"{name} is undefined: {why_undefined(metric, None)}")
        return make_row(metric, label, counts, None, n, None, settings, {})
    details = dict(tally.details)
    warn_few_units(tally.kind, units.n, settings)
    method = settings.interval or ("wilson" if proportion is not None else "delta")
    allowed = (["wilson"] if proportion is not None else []) + ["delta", "percentile", "bca", "studentized"]
    if method not in allowed:
        raise UsageError(f"cannot use the interval {method!r} for {metric.name} of {tally.kind}", need=f"one of {', '.join(allowed)}")
    if units.n < FEWEST:
        return make_row(metric, label, counts, value, n, None, settings, details)
    error = _error(proportion, units, statistic, classes)
    if proportion is not None:
        grouped = _grouped(proportion, units.rows, units.answers, classes, details, tally.kind)
        if method == "wilson":
            ends = _wilson(grouped, proportion, name, settings)
            return make_row(metric, label, counts, value, n, ends, settings, details, error)
    try:
        ends = _of_units(method, units, statistic, settings, name)
    except Degenerate as reason:
        settings.warn(f"{name}: {method} has no interval here ({reason})")
        return make_row(metric, label, counts, value, n, None, settings, details)
    return make_row(metric, label, counts, value, n, ends, settings, details, error)


def _error(proportion: Proportion | None, units: Sums, statistic: SumStatistic, classes: int) -> float | None:
    """The standard error over whole units, sqrt(G/(G-1) sum of squared influences): cluster-robust, CR1. None without spread."""
    if proportion is None:
        return sums_error(units, statistic)
    successes, trials = proportion.of_rows(units.rows, classes)
    total = float(trials.sum())
    p = float(successes.sum()) / total
    e = successes - p * trials
    used = int((trials > 0).sum())
    if used < 2 or not ROUNDING < p < 1 - ROUNDING or not float(abs(e).max()) > ROUNDING:
        return None
    return abs(slope(proportion, p)) * math.sqrt(used / (used - 1) * float(e @ e)) / total


def _of_class(units: Sums, label: int, classes: int) -> Sums:
    """The units with the margins of one class alone."""
    assert isinstance(units.rows, SparseRows)
    columns = (label, classes + label, 2 * classes + label, 3 * classes)
    return replace(units, rows=np.stack([units.rows.part(c, c + 1) for c in columns], axis=1))


def _weights(rows: Any) -> Any:
    return rows.part(rows.shape[1] - 1, rows.shape[1]) if isinstance(rows, SparseRows) else rows[:, -1]


def _inside(value: float, metric: Metric) -> float:
    """The value without the last bits by which sums of fractional weights leave the range of a metric."""
    ends = [end for end in (metric.facts.low, metric.facts.high) if end is not None]
    return next((end for end in ends if abs(value - end) <= ROUNDING), value)


def _of_units(method: str, units: Any, statistic: Any, settings: Settings, name: str) -> tuple[float, float, str]:
    level, side = settings.confidence_level, settings.side
    if method == "delta":
        return (*infer_sums.linearised(units, statistic, level, side), "delta")
    low, high, undefined = infer_sums.resampled(units, statistic, method, level, side, draws=settings.draws, seed=settings.seed)
    if undefined:
        settings.warn(f"{name} was undefined in {undefined} of {settings.draws} draws, where a class did not occur; they were left out")
    return low, high, method


def _grouped(proportion: Proportion, rows: Any, answers: float, classes: int, details: dict[str, Any], kind: str) -> GroupedProportion:
    """The design effect of a proportion, also written into the details of the row."""
    successes, trials = proportion.of_rows(rows, classes)
    used = trials > 0  # a group without a single item of the denominator says nothing about the proportion
    successes, trials = successes[used], trials[used]
    share = float(trials.sum() / _weights(rows).sum()) if proportion.label is not None else 1.0
    if kind == "weights":  # unequal weights are worth Kish's n at most, however many rows carry them
        answers, share = float(trials.sum()) ** 2 / float(trials @ trials), 1.0
    grouped = grouped_proportion(successes, trials, max(1.0, answers * share))
    details["design_effect"], details["n_effective"] = grouped.design_effect, grouped.n_effective
    details["intraclass_correlation"] = intraclass_correlation(successes, trials)
    return grouped


def _wilson(grouped: GroupedProportion, proportion: Proportion, name: str, settings: Settings) -> tuple[float, float, str] | None:
    if grouped.groups < FEWEST:
        settings.warn(f"{name}: only {grouped.groups} groups have an item that counts for it: no interval can be given")
        return None
    low, high = grouped.wilson(settings.confidence_level, settings.side)
    return proportion.to_metric(low), proportion.to_metric(high), "wilson"


def warn_few_units(kind: str, units: int, settings: Settings) -> None:
    """A statistician's warnings about the number of groups."""
    if kind == "weights":
        return
    word = "groups" if kind == "groups" else "items with repeats"
    if units < FEWEST:
        settings.warn(f"only {units} {word}: no interval can be given, at least {FEWEST} are needed")
    elif units < ENOUGH and kind == "groups":
        settings.warn(f"only {units} groups: the interval rests on their spread and is itself uncertain; 20 or more are better")
