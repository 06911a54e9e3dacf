"""The formulas of metrics by their names, as tables of cases name them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steelyard_old.metrics.catalogue import CATALOGUE
from steelyard_old.metrics.labels import FBeta, LabelMetric
from steelyard_old.metrics.sums import SumsMetric, SumStatistic
from steelyard_old.metrics.table import TableStatistic

STATISTICS: dict[str, SumStatistic] = {name: metric.statistic for name, metric in CATALOGUE.items() if isinstance(metric, SumsMetric)}


def statistic(
    base: str, *, average_of: str | None = None, label: int | None = None, beta: float = 1.0, absent: str | None = None
) -> TableStatistic:
    """A number of a table: of a class, of an average, or of the whole table."""
    metric = CATALOGUE[base]
    assert isinstance(metric, LabelMetric)
    if isinstance(metric, FBeta):
        metric = metric.with_number(repr(beta), base)
    return replace(metric, average=average_of).of_table(label, absent)


def item_rows(name: str, *columns: Any) -> Any:
    """What each item adds."""
    metric = CATALOGUE[name]
    assert isinstance(metric, SumsMetric)
    return metric.adds(*columns)
