"""The walk from a source to a measurement: roles, metrics, one count, rows, slices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.errors import DataError, UsageError
from steelyard.estimate.label_warnings import SINGLETONS, mostly_singletons, warn_about_labels
from steelyard.estimate.log_metric import own_metric, own_positive, refuse_unfinished
from steelyard.estimate.measure_options import MeasureOptions
from steelyard.estimate.opening import opened, refuse_numeric_truth
from steelyard.estimate.rows import rows_of_sample, sign
from steelyard.estimate.sample import Sample
from steelyard.items import Items, Labels
from steelyard.metrics.base import Metric
from steelyard.metrics.catalogue import CATALOGUE, parse, usual
from steelyard.questions.measure.in_engine import deal_groups, measure_units
from steelyard.read.engines.tables import SqlTable
from steelyard.read.source import Source
from steelyard.read.table import MemoryTable
from steelyard.reference.run_notes import stopping_warning
from steelyard.results.measurement import MeasuredSlice, Measurement, Row
from steelyard.tally.design import same_label, take
from steelyard.tally.order import label_order
from steelyard.tally.spelling import told_of_look_alikes


def measure_source(
    data: Any,
    prediction: Any,
    metrics: list[Metric] | None,
    settings: MeasureOptions,
    by: tuple[str, ...] | Mapping[str, Any],
    ratio: str | Sequence[str] | None,
    columns: Mapping[str, Any],
) -> Measurement:
    """Everything that is not bare counts."""
    source = data if isinstance(data, Source) else opened(data, prediction, by, ratio, columns)
    for sentence in (*source.warnings, *stopping_warning(data)):
        settings.warn(sentence)
    refuse_unfinished([source.log], settings.missing)
    asked = metrics is not None
    metrics = metrics if metrics is not None else default_metrics(source)
    settings = replace(settings, positive=own_positive([source.log], metrics, settings.positive))
    if (found := measure_units(source, metrics, settings, asked=asked)) is not None:
        return found
    deal_groups(source, sorted(_used(metrics, source)), settings)
    items = _items(source, metrics, source.by)
    hints = source.hints
    if not asked:
        refuse_numeric_truth(items)
        metrics, said = _headline(items, metrics, settings)
        hints = (*hints, *said)
    for sentence in () if items.id is None else told_of_look_alikes(items.id.names):
        settings.warn(sentence)
    sample = Sample(items, settings, settings.labels, needed=_used(metrics, source))
    if not asked and metrics == [parse("mean")] and sample.binary_scores:
        metrics = [parse("accuracy")]
    measured = _measured(sample, metrics, settings)
    warn_disagreement(sample, settings)
    slices = _slices(sample, metrics, settings, source.by)
    roles = {role: name for role, name in source.roles.items() if role in _used(metrics, source)}
    facts = _facts(sample)
    if source.log is not None:
        roles |= {what: value for what, value in source.log.chosen.items() if what not in roles}
    if source.ratio is not None:
        roles["ratio"], facts["ratio"] = "/".join(source.ratio), source.ratio
    return Measurement(
        n=sample.n,
        rows=measured[0],
        table=measured[1],
        slices=slices,
        roles=roles,
        warnings=tuple(settings.warnings),
        hints=hints,
        name=source.name,
        signature=sign(metrics, measured[0], settings, facts),
    )


def default_metrics(source: Source) -> list[Metric]:
    """What is asked when nothing is: by what the source holds."""
    if (own := own_metric([source.log])) is not None:
        return [own]
    metrics = usual({*source.roles, *(["ratio"] if source.ratio is not None else [])})
    if not metrics:
        raise DataError(
            "cannot tell what to measure",
            got=f"columns {', '.join(map(repr, source.columns))}",
            need="truth and prediction, or score, or truth and probability",
            hint="name them with truth=, prediction=, score=, probability=, or two columns of sums with ratio=ABOVE/BELOW",
        )
    return metrics


def _headline(items: Items, metrics: list[Metric], settings: MeasureOptions) -> tuple[list[Metric], list[str]]:
    """What is asked when nothing is, now that the values are known: label metrics only of labels that are classes.

    A score of 0 and 1 beside the labels says what is right, so accuracy is its share; labels that are mostly singletons are
    free text, where accuracy (or the mean score) is what there is. Labels that were declared are classes.
    """
    labelled = items.truth is not None and items.prediction is not None and metrics[0].counts_right
    if not labelled or settings.labels is not None or settings.positive is not None:
        return metrics, []
    others = [metric for metric in metrics if metric.family != "table"]
    known = items.score[~np.isnan(items.score)] if items.score is not None else np.zeros(0)
    if settings.right_or_wrong and len(known) and bool(np.isin(known, (0.0, 1.0)).all()):
        said = "accuracy is the share of items with score 1; label metrics, such as macro_f1, are computed if named with --metric"
        return [parse("accuracy"), *others], [said]
    supports = _supports(items)
    if not mostly_singletons(supports):
        return metrics, []
    once = sum(many <= 1 for many in supports)
    return [parse("mean" if len(known) else "accuracy"), *others], [SINGLETONS.format(f"{once:,}", f"{len(supports):,}")]


def _supports(items: Items) -> list[int]:
    """How many items have each label as their truth, for every label of the truths and the predictions."""
    assert items.truth is not None
    assert items.prediction is not None
    codes, names = items.truth.codes, items.truth.names
    weights = None if items.count is None else items.count[codes >= 0]
    many = np.bincount(codes[codes >= 0], weights=weights, minlength=len(names)).astype(np.int64).tolist()
    found = dict(zip(names, many, strict=True))
    used = {items.prediction.names[i] for i in np.unique(items.prediction.codes) if i >= 0}
    return [many for name, many in found.items() if many or name in used] + [0 for name in used if name not in found]


def _used(metrics: Sequence[Metric], source: Source) -> set[str]:
    """The roles that the metrics read, with those that make the design."""
    used = {need for metric in metrics for need in metric.needs} | {"id", "group", "repeat", "weight", "model"}
    if any(metric.right_or_wrong for metric in metrics):
        used |= {"score"}
    return used & {*source.roles, "ratio"}


def _read_roles(metrics: Sequence[Metric], source: Source) -> set[str]:
    """The roles to read: those that are used, and a score beside labels, to count where the two disagree."""
    used = _used(metrics, source)
    if {"truth", "prediction", "score"} <= set(source.roles) and {"truth", "prediction"} <= used and "score" not in used:
        try:
            source.tabulate(["score"])
        except DataError:  # not a number: nobody asked for it, so it cannot disagree
            return used
        return used | {"score"}
    return used


def _items(source: Source, metrics: Sequence[Metric], by: tuple[str, ...]) -> Items:
    """The items: counted inside the engine where only distinct rows matter, read row by row where order or units do."""
    _require(source, metrics)
    numeric = any(metric.numeric for metric in metrics)
    if numeric and not all(metric.numeric for metric in metrics):
        raise UsageError(
            "cannot mix metrics of numbers and of labels",
            got=", ".join(metric.name for metric in metrics),
            need="one kind at a time",
            hint=f"{', '.join(metric.base for metric in CATALOGUE.values() if metric.numeric)} read the truth as numbers",
        )
    units = {"group", "repeat"} & set(source.roles)
    if units == {"group"} and isinstance(source.table, SqlTable) and all(m.family == "table" or m.mean_of_scores for m in metrics):
        units = set()  # a group is one more column of the cells
    by_row = numeric or any(m.of_ratio for m in metrics) or bool(units) or any(m.family == "repeats" for m in metrics)
    if by_row or len(by) > 1 or isinstance(source.table, MemoryTable) or ("weight" in source.roles and not source.weights_are_whole()):
        return source.items(numeric=numeric, roles=_read_roles(metrics, source))
    roles = sorted(_read_roles(metrics, source) & {"truth", "prediction", "score", "probability", "group"})
    return from_cells(source.tabulate(roles, by[0] if by else None), roles, by)


def _require(source: Source, metrics: Sequence[Metric]) -> None:
    """Every column that a metric reads is there; right-or-wrong metrics take a score instead of labels."""
    for metric in metrics:
        missing = [need for need in metric.needs if need not in source.roles and not (need == "ratio" and source.ratio is not None)]
        if missing and not (metric.right_or_wrong and "score" in source.roles):
            raise DataError(
                f"cannot compute {metric.name}",
                got=f"columns {', '.join(map(repr, source.columns))}",
                need=" and ".join(f"a {need} column" for need in missing),
                hint=" ".join(f"{need}=NAME" if need != "ratio" else "ratio=ABOVE/BELOW" for need in missing),
            )


def from_cells(cells: Sequence[tuple[Any, ...]], roles: Sequence[str], by: tuple[str, ...]) -> Items:
    """Items of the distinct rows that an engine counted; their order does not matter, since tallies sort."""
    columns = list(zip(*cells, strict=True))
    count = np.array(columns[-1], np.int64)
    named: dict[str, Any] = {}
    for role, values in zip(roles, columns[len(by) :], strict=False):
        if role in ("truth", "prediction", "group"):
            named[role] = _labels(values)
        else:
            named[role] = np.array([math.nan if value is None else value for value in values], float)
    slices = {by[0]: _labels(columns[0])} if by else {}
    return Items(n=len(cells), count=count, slices=slices, **named)


def _labels(values: Sequence[str | None]) -> Labels:
    names = tuple(dict.fromkeys(value for value in values if value is not None))
    code: dict[str | None, int] = {name: i for i, name in enumerate(names)}
    code[None] = -1
    return Labels(np.array([code[value] for value in values], np.int64), names)


def _measured(sample: Sample, metrics: Sequence[Metric], settings: MeasureOptions, whole: bool = True) -> tuple[tuple[Row, ...], Any]:
    """The rows and the table they rest on."""
    rows = tuple(rows_of_sample(metrics, sample, settings))
    table = None
    if any(metric.family == "table" for metric in metrics):
        labelled = sample.items.truth is not None and sample.items.prediction is not None
        table = sample.table.counts if labelled else sample.outcomes.counts
        if labelled:
            warn_about_labels(table, metrics, settings, whole)
        if labelled and disagreements(sample) and any(metric.scored for metric in metrics):
            return rows, None  # the score decided accuracy: the table of labels would answer otherwise
    return rows, table if sample.design.plain and sample.items.stratum is None else None


def disagreements(sample: Sample) -> int:
    """On how many items right-or-wrong scores and labels tell different stories."""
    items = sample.items
    if items.truth is None or items.prediction is None or not sample.binary_scores or items.score is None:
        return 0
    differ = same_label(items.truth, items.prediction) != (items.score == 1)
    return int(differ.sum() if items.count is None else items.count[differ].sum())


def warn_disagreement(sample: Sample, settings: MeasureOptions) -> None:
    """Said once, for the whole."""
    if many := disagreements(sample):
        settings.warn(
            f"score and labels disagree on right or wrong for {many} of {sample.items.total} items: "
            "the score decides accuracy, the labels decide label metrics"
        )


def _slices(sample: Sample, metrics: Sequence[Metric], settings: MeasureOptions, by: tuple[str, ...]) -> tuple[MeasuredSlice, ...]:
    """One measurement per value of each slice column, over the classes of the whole."""
    out: list[MeasuredSlice] = []
    labels = sample.table.counts.class_labels if sample.items.truth is not None and sample.items.prediction is not None else None
    for column in by:
        codes, names = sample.items.slices[column].codes, sample.items.slices[column].names
        values = {names[i] if i >= 0 else "(missing)": codes == i for i in np.unique(codes)}
        for value in label_order(values):
            own = settings.quietly()
            part = Sample(take(sample.items, values[value]), own, labels)
            rows, table = _measured(part, metrics, own, whole=False)
            found = Measurement(
                n=part.n, rows=rows, table=table, warnings=tuple(own.warnings), signature=sign(metrics, rows, own, _facts(part))
            )
            out.append(MeasuredSlice(by=column, value=value, measurement=found))
    return tuple(out)


def _facts(sample: Sample) -> dict[str, object]:
    if sample.items.stratum is not None and sample.design.plain:
        return {"n": sample.n, "design": "strata", "units": len(np.unique(sample.items.stratum.codes))}
    return {"n": sample.n, "design": sample.design.kind, "units": None if sample.design.plain else sample.design.units}
