"""What a row of a table is made from: the table, with the margins of every unit where items belong together; and the row itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steelyard.estimate.measure_options import MeasureOptions
from steelyard.infer.normal import clip
from steelyard.metrics.base import Metric
from steelyard.results.details import RowDetails
from steelyard.results.measurement import Interval, Row
from steelyard.tally.counts import Counts

if TYPE_CHECKING:
    from steelyard.tally.sums import Sums


@dataclass(frozen=True, slots=True)
class TableTally:
    """The table of all rows, and for items that belong together the margins of every unit."""

    counts: Counts
    units: Sums | None = None
    kind: str = "items"
    items: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)


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
    interval = None
    if ends is not None:
        low, high = clip(
            ends[0],
            ends[1],
            settings.side,
            metric.low if metric.low is not None else -math.inf,
            metric.high if metric.high is not None else math.inf,
        )
        interval = Interval(low=low, high=high, confidence_level=settings.confidence_level, side=settings.side, method=ends[2])  # type: ignore[arg-type]
    support = None if label is None else counts.class_margins(label)[1]
    average = metric.average if metric.average != "each" else None
    name = metric.name.removeprefix("each_")
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
        higher_is_better=metric.higher_is_better,
        details=RowDetails.of(details),
    )


def row_name(metric: Metric, counts: Counts, label: int | None) -> str:
    """The metric, and the class that it is of, as in f1[yes]."""
    name = metric.name.removeprefix("each_")
    return name if label is None else f"{name}[{counts.labels[label]}]"
