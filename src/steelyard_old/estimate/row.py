"""One row of an answer: its name, value and interval as they were found, and its standard error."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from steelyard_old.errors import UsageError
from steelyard_old.infer.normal import clip
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse
from steelyard_old.metrics.proportions import Proportion
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.results.details import PooledTable, RowDetails
from steelyard_old.results.measurement import Interval, Measurement, Row
from steelyard_old.results.signature import parse as parse_signature
from steelyard_old.tally.counts import Counts

if TYPE_CHECKING:
    from steelyard_old.infer.intervals.clusters import ClusterVariance
    from steelyard_old.metrics.sums import SumStatistic
    from steelyard_old.tally.sums import Sums


ROUNDING = 1e-14  # of the delta method, where a table has no spread


def known(error: float, rounding: float = 0.0) -> float | None:
    """A standard error, or None where it says nothing: 0 would claim a certainty that all right or all wrong does not give."""
    return error if math.isfinite(error) and error > rounding else None


def share_error(k: int, n: int, *, of_items: bool = True) -> float | None:
    """Of k of n items: s / sqrt(n), with n - 1 under s. The delta method's where n is itself random, as for precision.

    >>> round(share_error(85, 100), 6), round(share_error(85, 100, of_items=False), 6), share_error(9, 9)
    (0.035887, 0.035707, None)
    """
    if not 0 < k < n:
        return None
    return math.sqrt(k * (n - k) / n / n / (n - 1 if of_items else n))


def table_error(metric: Metric, label: int | None, counts: Counts, proportion: Proportion | None, settings: MeasureOptions) -> float | None:
    """Of a metric of independent items; closed forms load no NumPy. None where the table shows no spread."""
    if proportion is not None and (label is not None or proportion.through is None):
        k, n = proportion.of(counts)
        error = share_error(k, n, of_items=metric.mean_of_items)
        return None if error is None else known(abs(slope(proportion, k / n)) * error)
    from steelyard_old.infer.intervals.table import delta_error

    return known(delta_error(counts, metric.of_table(label, settings.absent)), ROUNDING)


def slope(proportion: Proportion, p: float) -> float:
    """How fast the metric moves with its proportion."""
    if proportion.through is None:
        return 1.0
    if proportion.mapped_class:
        return 2 / (1 + p) ** 2
    step = 1e-6
    return (proportion.to_metric(p + step) - proportion.to_metric(p - step)) / (2 * step)


def sums_error(sums: Sums, statistic: SumStatistic) -> float | None:
    """The linearised standard error over the units, s / sqrt(n) for a mean of items; None without spread."""
    found = sums_spread(sums, statistic)
    return None if found is None else known(math.sqrt(found.variance))


def sums_spread(sums: Sums, statistic: SumStatistic) -> ClusterVariance | None:
    """The linearised variance over the units with its degrees of freedom; None where there is none."""
    import numpy as np

    from steelyard_old.estimate.fallback import or_none
    from steelyard_old.infer.intervals.sums import spread

    with np.errstate(all="ignore"):  # beyond float64, or a gradient where there is none: no standard error
        return or_none(lambda: spread(sums, statistic))


def with_standard_errors(m: Measurement) -> Measurement:
    """The measurement with the standard errors that it lacks because version 0.1.0 wrote it, as far as its table tells them.

    Not for groups and repeats, whose table does not tell how alike their answers are, nor for a metric that is not of a table.

    >>> from steelyard_old.questions.measure.measure import measure
    >>> old = dataclasses.replace(m := measure(Counts.of(85, 100)), rows=(dataclasses.replace(m.row, standard_error=None),))
    >>> with_standard_errors(old) == m
    True
    """
    table = m.table
    facts = parse_signature(m.signature) if m.signature else {}
    if table is None or facts.get("design") != ["items"]:
        return m
    settings = MeasureOptions(absent=facts.get("absent", [None])[0])
    rows = tuple(_with_error(row, table, settings) for row in m.rows)
    slices = tuple(dataclasses.replace(part, measurement=with_standard_errors(part.measurement)) for part in m.slices)
    return dataclasses.replace(m, rows=rows, slices=slices)


def _with_error(row: Row, table: Counts, settings: MeasureOptions) -> Row:
    if row.estimate is None or row.standard_error is not None:
        return row
    return dataclasses.replace(row, standard_error=_error(row, table, settings))


def _error(row: Row, table: Counts, settings: MeasureOptions) -> float | None:
    try:
        metric = parse(row.metric)
    except UsageError:
        return None  # a metric of a user's own has no table that we know of
    if not metric.of_labels and not metric.scored:
        return None
    if (row.label is None and metric.of_class and (metric.average is None or metric.each_class)) or (
        row.label is not None and row.label not in table.labels
    ):
        return None
    label = None if row.label is None else table.labels.index(row.label)
    return table_error(metric, label, table, metric.proportion(table, label), settings)


def make_row(
    metric: Metric,
    label: int | None,
    counts: Counts,
    estimate: float | None,
    n: int,
    ends: tuple[float, float, str] | None,
    settings: MeasureOptions,
    details: dict[str, Any],
    error: float | None = None,
) -> Row:
    """A Row, with the ends turned into an Interval inside the range of the metric."""
    chance = details.pop("probability_at_least", None)
    interval = None
    if ends is not None:
        # A mean has no range of its own; one that is made of a table is a mean of right and wrong.
        bottom, top = (0.0, 1.0) if metric.low is None or metric.high is None else (metric.low, metric.high)
        low, high = clip(ends[0], ends[1], settings.side, bottom, top)
        interval = Interval(low=low, high=high, confidence_level=settings.confidence_level, side=settings.side, method=ends[2])  # type: ignore[arg-type]
    support = None if label is None else counts.class_margins(label)[1]
    if metric.pools and label is None:
        details = {**details, "pooled": pooled_table(counts)}
    average = None if metric.each_class else metric.average
    name = metric.row_name
    text = None if label is None else counts.labels[label]
    return Row(
        metric=name,
        average=average,
        label=text,
        estimate=estimate,
        n=n,
        support=support,
        interval=interval,
        standard_error=error,
        higher_is_better=metric.better_high(settings.higher_is_better),
        at_least=None if chance is None else settings.at_least,
        probability_at_least=chance,
        details=RowDetails.of(details),
    )


def pooled_table(counts: Counts) -> PooledTable:
    """The tables of all classes, added up: what a micro average divides."""
    hit, truths, predictions, n = counts.pooled_margins()
    rest = n * counts.classes - truths - predictions + hit if counts.negatives_known else None
    return PooledTable(tp=hit, fp=predictions - hit, fn=truths - hit, tn=rest)
