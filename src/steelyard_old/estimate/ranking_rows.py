"""Rows for metrics of an order: AUC, average precision, rank correlation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard_old.errors import UsageError
from steelyard_old.estimate.fallback import OF_CLASSES, attempt, given_instead, left_out, none_given, or_none
from steelyard_old.estimate.grouped_rows import enough_groups
from steelyard_old.estimate.row import known
from steelyard_old.estimate.sums_rows import positive_label, positives
from steelyard_old.infer.intervals import ranking as infer_ranking
from steelyard_old.infer.intervals.area import Area
from steelyard_old.infer.intervals.clusters import Groups
from steelyard_old.infer.normal import clip, tail
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.ranking import RankCorrelation, RankingMetric
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.options.option import not_offered
from steelyard_old.results.base import Warnings
from steelyard_old.results.details import RowDetails
from steelyard_old.results.measurement import Interval, Row
from steelyard_old.tally.sample import Sample
from steelyard_old.tally.scores import ScoreTable

Ends = tuple[float, float, str]


def ranking_row(metric: Metric, sample: Sample, settings: MeasureOptions, warnings: Warnings) -> Row:
    """The row of one metric of an order."""
    if sample.design.kind == "weights":
        raise UsageError(f"{metric.name} needs whole-number weights, or none.", need="whole-number weights, or none")
    if isinstance(metric, RankCorrelation):
        return _correlation_row(metric, sample, settings, warnings)
    assert isinstance(metric, RankingMetric)
    positive = positives(sample)
    label = positive_label(sample)
    table = sample.score_table(positive)
    if sample.design.kind == "repeats":
        raise UsageError(
            f"{metric.name} cannot be computed with repeats: there are several probabilities per item.",
            got="several probabilities per item",
            need="one",
            hint="average them first",
        )
    value = float(metric.of_counts(table.positives, table.negatives))
    if math.isnan(value):
        only = "positives" if table.n_negative == 0 else "negatives"
        warnings.add(f"{metric.name} is undefined: there are only {only}")
        return _row(metric, None, table.n, None, settings, label, table)
    if sample.design.kind == "groups":
        return _grouped_row(metric, value, table, positive, sample, settings, warnings, label)
    details: dict[str, Any] = {}
    ends = ranking_ends(metric, table, settings, warnings, details)
    return _row(metric, value, table.n, ends, settings, label, table, details, _error(metric, table))


# The variances of an order, by the name of the plain interval that they give: the standard error, and the area that ends lie around.
VARIANCES: dict[str, tuple[Callable[[ScoreTable], float], Callable[[ScoreTable], Area]]] = {
    "delong": (infer_ranking.delong_error, infer_ranking.auc_area),
    "delta": (infer_ranking.average_precision_error, infer_ranking.precision_area),
}


def _error(metric: RankingMetric, table: ScoreTable) -> float | None:
    """The standard error by the variance that the metric names; None without spread."""
    return or_none(lambda: known(VARIANCES[metric.intervals[1]][0](table)))


def ranking_ends(
    metric: RankingMetric, table: ScoreTable, settings: MeasureOptions, warnings: Warnings, details: dict[str, Any]
) -> Ends | None:
    """The ends by the method asked for; by default DeLong's or the delta method's, widened where few items are ranked wrongly."""
    rule, plain, *_ = metric.intervals
    method = settings.interval or rule
    if method not in metric.intervals:
        raise not_offered("interval", method, metric.name, metric.intervals)
    outside = tail(settings.confidence_level, settings.side)
    area = or_none(lambda: VARIANCES[plain][1](table))
    if area is None:
        warnings.add(none_given(_too_few(table), name=metric.name))
        return None
    if method == rule:
        return (*area.ends(outside), rule if settings.interval or area.scarcity else plain)

    def ends() -> tuple[float, float, int]:
        if method == plain:
            return (*area.plain(outside), 0)
        level, side, draws, seed = settings.confidence_level, settings.side, settings.draws, settings.seed
        return infer_ranking.bootstrap_scores(table, metric.of_counts, method, level, side, draws=draws, seed=seed)

    found = attempt(ends)
    if isinstance(found, Degenerate):
        warnings.add(given_instead(method, found, rule, name=metric.name, wide=True))
        details["instead_of"] = method
        return (*area.ends(outside), rule)
    low, high, undefined = found
    if undefined:
        warnings.add(left_out(metric.name, undefined, settings.draws, OF_CLASSES))
    return low, high, method


def _too_few(table: ScoreTable) -> str:
    """Why no spread can be estimated: one item of a class says nothing of how its items vary."""
    if table.n_positive >= 2 and not table.n_negative:
        return "there are no negatives"
    what = "positive" if table.n_positive < 2 else "negative"
    need = f"at least 2 {what}s are needed to see how they vary"
    return f"1 {what} only; {need}"


def _grouped_row(
    metric: RankingMetric,
    value: float,
    table: ScoreTable,
    positive: Any,
    sample: Sample,
    settings: MeasureOptions,
    warnings: Warnings,
    label: str,
) -> Row:
    design = sample.design
    details = dict(sample.details)
    if not metric.in_groups or settings.interval not in (None, *metric.in_groups):
        raise UsageError(
            f"There is no such interval for {metric.name} of grouped items.",
            need="auc with delong-wilson or delong",
            hint="use auc with delong-wilson or delong; group='none' ignores the groups, with a warning",
        )
    if sample.items.count is not None:
        raise UsageError(
            f"{metric.name} does not support whole-number weights and groups together; it needs one row per item.", need="one row per item"
        )
    ends: Ends | None = None
    error: float | None = None
    assert sample.items.probability is not None
    assert design.unit is not None
    groups = groups_of_classes(positive, design.unit)
    if enough_groups(groups, warnings, details, "groups of the rarer class"):
        area = infer_ranking.grouped_auc_area(table, sample.items.probability, positive, design.unit, design.units, groups.effective)
        error = math.sqrt(area.variance)
        outside = tail(settings.confidence_level, settings.side)
        rule, plain = metric.in_groups
        wide = settings.interval == rule or (settings.interval is None and bool(area.scarcity))
        found = attempt(lambda: area.ends(outside) if wide else area.plain(outside))
        if isinstance(found, Degenerate):
            warnings.add(none_given(found, name=metric.name, of="grouped items"))
        else:
            ends = (*found, rule if wide else plain)
    return _row(metric, value, table.n, ends, settings, label, table, details, None if error is None else known(error))


def groups_of_classes(positive: Any, unit: Any) -> Groups:
    """The groups that an AUC rests on: those of the class that they are fewer of."""
    return min((Groups.of(np.bincount(unit[part])) for part in (positive, ~positive)), key=lambda groups: groups.effective)


def _correlation_row(metric: RankCorrelation, sample: Sample, settings: MeasureOptions, warnings: Warnings) -> Row:
    items = sample.items
    assert items.truth_value is not None
    assert items.prediction_value is not None
    if not sample.design.plain or items.count is not None:
        raise UsageError(f"{metric.name} does not support groups, repeats or weights; it needs one row per item.", need="one row per item")
    value = metric.of_columns(items.truth_value, items.prediction_value)
    if math.isnan(value):
        warnings.add(f"{metric.name} is undefined: {metric.undefined}")
        return _plain(metric, None, items.n, None, settings)
    if settings.interval is not None and settings.interval not in metric.intervals:
        raise not_offered("interval", settings.interval, metric.name, metric.intervals)
    found = attempt(lambda: infer_ranking.spearman_interval(value, items.n, settings.confidence_level, settings.side))
    if isinstance(found, Degenerate):
        warnings.add(none_given(found, name=metric.name))
        return _plain(metric, value, items.n, None, settings)
    ends = (*found, metric.intervals[0])
    error = known(infer_ranking.spearman_error(value, items.n))
    return _plain(metric, value, items.n, ends, settings, error=error)


def _row(
    metric: Metric,
    value: float | None,
    n: int,
    ends: Ends | None,
    settings: MeasureOptions,
    label: str,
    table: ScoreTable,
    details: dict[str, Any] | None = None,
    error: float | None = None,
) -> Row:
    return _plain(
        metric,
        value,
        n,
        ends,
        settings,
        {"positive": label, "positives": table.n_positive, "negatives": table.n_negative, **(details or {})},
        error,
    )


def _plain(
    metric: Metric,
    value: float | None,
    n: int,
    ends: Ends | None,
    settings: MeasureOptions,
    details: dict[str, Any] | None = None,
    error: float | None = None,
) -> Row:
    interval = None
    if ends is not None:
        low, high = clip(ends[0], ends[1], settings.side, float(metric.low or 0), float(metric.high or 1))
        interval = Interval(low=low, high=high, confidence_level=settings.confidence_level, side=settings.side, method=ends[2])  # type: ignore[arg-type]
    return Row(metric=metric.name, estimate=value, n=n, interval=interval, standard_error=error, details=RowDetails.of(details or {}))
