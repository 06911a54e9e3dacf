"""Rows for metrics of an order: AUC, average precision, rank correlation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.estimate.grouped_rows import enough_groups
from steelyard.estimate.measure_options import MeasureOptions
from steelyard.estimate.sample import Sample
from steelyard.estimate.standard_errors import known
from steelyard.estimate.sums_rows import positive_label, positives
from steelyard.infer.intervals import ranking as infer_ranking
from steelyard.infer.intervals.clusters import Groups
from steelyard.infer.normal import clip, tail
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.metrics import ranking
from steelyard.metrics.catalogue import Metric
from steelyard.results.details import RowDetails
from steelyard.results.measurement import Interval, Row
from steelyard.tally.scores import ScoreTable

Ends = tuple[float, float, str]


def ranking_row(metric: Metric, sample: Sample, settings: MeasureOptions) -> Row:
    """The row of one metric of an order."""
    if sample.design.kind == "weights":
        raise UsageError(f"cannot compute {metric.name} with fractional weights", need="whole-number weights, or none")
    if metric.base == "spearman":
        return _spearman_row(metric, sample, settings)
    positive = positives(sample)
    label = positive_label(sample)
    table = sample.score_table(positive)
    if sample.design.kind == "repeats":
        raise UsageError(
            f"cannot compute {metric.name} with repeats", got="several probabilities per item", need="one", hint="average them first"
        )
    if table.n_positive == 0 or (table.n_negative == 0 and metric.base == "auc"):
        only = "positives" if table.n_negative == 0 else "negatives"
        settings.warn(f"{metric.name} is undefined: there are only {only}")
        return _row(metric, None, table.n, None, settings, label, table)
    measure = ranking.auc if metric.base == "auc" else ranking.average_precision
    value = float(measure(table.positives, table.negatives))
    if sample.design.kind == "groups":
        return _grouped_row(metric, value, table, positive, sample, settings, label)
    details: dict[str, Any] = {}
    ends = ranking_ends(metric, table, settings, details)
    return _row(metric, value, table.n, ends, settings, label, table, details, _error(metric, table))


def _error(metric: Metric, table: ScoreTable) -> float | None:
    """DeLong's standard error of an AUC, the delta method's of an average precision; None without spread."""
    try:
        found = (infer_ranking.delong_error if metric.base == "auc" else infer_ranking.average_precision_error)(table)
    except Degenerate:
        return None
    return known(found)


def ranking_ends(metric: Metric, table: ScoreTable, settings: MeasureOptions, details: dict[str, Any]) -> Ends | None:
    """The ends by the method asked for; by default DeLong's or the delta method's, widened where few items are ranked wrongly."""
    is_auc = metric.base == "auc"
    rule, plain = ("delong-wilson", "delong") if is_auc else ("delta-wilson", "delta")
    allowed = [rule, plain, "percentile", "bca"]
    method = settings.interval or rule
    if method not in allowed:
        raise UsageError(f"cannot use the interval {method!r} for {metric.name}", need=f"one of {', '.join(allowed)}")
    outside = tail(settings.confidence_level, settings.side)
    try:
        area = (infer_ranking.auc_area if is_auc else infer_ranking.precision_area)(table)
    except Degenerate:
        settings.warn(f"{metric.name}: no interval can be given ({_too_few(table, is_auc)})")
        return None
    if method == rule:
        return (*area.ends(outside), rule if settings.interval or area.scarcity else plain)
    try:
        if method == plain:
            return (*area.plain(outside), plain)
        low, high, undefined = infer_ranking.bootstrap_scores(
            table, metric.base, method, settings.confidence_level, settings.side, draws=settings.draws, seed=settings.seed
        )
    except Degenerate as reason:
        settings.warn(f"{metric.name}: {method} has no interval here ({reason}); {rule} is given instead, which is wide")
        details["instead_of"] = method
        return (*area.ends(outside), rule)
    if undefined:
        settings.warn(
            f"{metric.name} was undefined in {undefined} of {settings.draws} draws, where a class did not occur; they were left out"
        )
    return low, high, method


def _too_few(table: ScoreTable, is_auc: bool) -> str:
    """Why no spread can be estimated: one item of a class says nothing of how its items vary."""
    if table.n_positive >= 2 and not is_auc:
        return "there are no negatives"
    what = "positive" if table.n_positive < 2 else "negative"
    need = f"at least 2 {what}s are needed to see how they vary"
    return f"1 {what} only; {need}"


def _grouped_row(
    metric: Metric, value: float, table: ScoreTable, positive: Any, sample: Sample, settings: MeasureOptions, label: str
) -> Row:
    design = sample.design
    details = dict(sample.details)
    if metric.base != "auc" or settings.interval not in (None, "delong", "delong-wilson"):
        raise UsageError(
            f"cannot give an interval for {metric.name} of grouped items",
            need="auc with delong-wilson or delong",
            hint="group='none' ignores the groups, with a warning",
        )
    if sample.items.count is not None:
        raise UsageError("cannot combine whole-number weights and groups for auc", need="one row per item")
    ends: Ends | None = None
    error: float | None = None
    assert sample.items.probability is not None
    assert design.unit is not None
    groups = groups_of_classes(positive, design.unit)
    if enough_groups(groups, settings, details, "groups of the rarer class"):
        area = infer_ranking.grouped_auc_area(table, sample.items.probability, positive, design.unit, design.units, groups.effective)
        error = math.sqrt(area.variance)
        outside = tail(settings.confidence_level, settings.side)
        rule = settings.interval == "delong-wilson" or (settings.interval is None and bool(area.scarcity))
        try:
            ends = (*area.ends(outside), "delong-wilson") if rule else (*area.plain(outside), "delong")
        except Degenerate as reason:
            settings.warn(f"auc: no interval can be given for grouped items ({reason})")
    return _row(metric, value, table.n, ends, settings, label, table, details, None if error is None else known(error))


def groups_of_classes(positive: Any, unit: Any) -> Groups:
    """The groups that an AUC rests on: those of the class that they are fewer of."""
    return min((Groups.of(np.bincount(unit[part])) for part in (positive, ~positive)), key=lambda groups: groups.effective)


def _spearman_row(metric: Metric, sample: Sample, settings: MeasureOptions) -> Row:
    items = sample.items
    assert items.truth_value is not None
    assert items.prediction_value is not None
    if not sample.design.plain or items.count is not None:
        raise UsageError("cannot compute spearman with groups, repeats or weights", need="one row per item")
    value = ranking.spearman(items.truth_value, items.prediction_value)
    if math.isnan(value):
        settings.warn("spearman is undefined: the truths or the predictions do not vary")
        return _plain(metric, None, items.n, None, settings)
    if settings.interval not in (None, "fisher-z"):
        raise UsageError(f"cannot use the interval {settings.interval!r} for spearman", need="fisher-z")
    try:
        ends = (*infer_ranking.spearman_interval(value, items.n, settings.confidence_level, settings.side), "fisher-z")
    except Degenerate as reason:
        settings.warn(f"spearman: no interval can be given ({reason})")
        return _plain(metric, value, items.n, None, settings)
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
        facts = metric.facts
        low, high = clip(ends[0], ends[1], settings.side, float(facts.low or 0), float(facts.high or 1))
        interval = Interval(low=low, high=high, confidence_level=settings.confidence_level, side=settings.side, method=ends[2])  # type: ignore[arg-type]
    return Row(metric=metric.name, estimate=value, n=n, interval=interval, standard_error=error, details=RowDetails.of(details or {}))
