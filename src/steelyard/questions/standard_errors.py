"""Standard errors for the forms that ask for one: by the delta method, where the table of independent items is at hand."""

from __future__ import annotations

import dataclasses
import math

from steelyard.errors import UsageError
from steelyard.metrics.catalogue import Metric, parse
from steelyard.results import Measurement, Row
from steelyard.signature import parse as parse_signature
from steelyard.tally.counts import Counts


def with_standard_errors(m: Measurement) -> Measurement:
    """The measurement with `standard_error` among the details of every row that has one.

    None for groups and repeats, whose table does not tell how alike their answers are; none for a metric that is not of a
    table; and none where the error comes out as 0, which would claim a certainty that all right or all wrong does not give.

    >>> from steelyard.questions.measure import measure
    >>> round(with_standard_errors(measure(Counts.of(85, 100))).row.details["standard_error"], 6)
    0.035887
    """
    table = m.table
    if table is None or not m.signature or parse_signature(m.signature).get("design") != ["items"]:
        return m
    rows = tuple(_with_error(row, table) for row in m.rows)
    slices = tuple(dataclasses.replace(part, measurement=with_standard_errors(part.measurement)) for part in m.slices)
    return dataclasses.replace(m, rows=rows, slices=slices)


def _with_error(row: Row, table: Counts) -> Row:
    if row.estimate is None or "standard_error" in row.details:
        return row
    error = row.standard_error if row.standard_error is not None else _error(row, table)
    return row if error is None else dataclasses.replace(row, details={**row.details, "standard_error": error})


def _error(row: Row, table: Counts) -> float | None:
    from steelyard.infer.table import delta_error
    from steelyard.metrics.table import RATIOS, WHOLE, statistic

    metric = _metric(row)
    if metric is None or metric.base not in (*WHOLE, *RATIOS, "fbeta", "balanced_accuracy"):
        return None
    if row.label is not None and row.label not in table.labels:
        return None
    label = None if row.label is None else table.labels.index(row.label)
    average = None if metric.average == "each" else metric.average
    if label is None and average is None and metric.base in (*RATIOS, "fbeta"):
        return None
    found = delta_error(table, statistic(metric.base, average_of=average, label=label, beta=metric.beta))
    return found if math.isfinite(found) and found > 0 else None


def _metric(row: Row) -> Metric | None:
    try:
        return parse(row.metric)
    except UsageError:
        return None  # a metric of a user's own has no table that we know of
