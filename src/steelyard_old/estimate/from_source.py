"""The walk from a source to a measurement: roles, metrics, one count, rows, slices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.named_intervals import INTERVALS, OF_A_PROPORTION
from steelyard_old.estimate.opening import (
    check_used,
    disagreements,
    opened,
    own_direction,
    own_metric,
    own_positive,
    refuse_fractions,
    refuse_numeric_truth,
    refuse_unfinished,
    warn_disagreement,
)
from steelyard_old.estimate.rows import (
    DEALT,
    SINGLETONS,
    mostly_singletons,
    of_singletons,
    rows_of_sample,
    rows_of_table,
    sign,
    warn_about_labels,
)
from steelyard_old.estimate.sums_rows import mean_row
from steelyard_old.infer.intervals.mean import bounded_mean
from steelyard_old.infer.intervals.sums import student_mean
from steelyard_old.items import ROLES, Items
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import CATALOGUE, usual
from steelyard_old.metrics.sums import SumsMetric
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.read.engines.dialects import most_buckets
from steelyard_old.read.engines.moments import moments
from steelyard_old.read.engines.tables import TRAVELLERS
from steelyard_old.read.engines.units import Units, by_item, unit_sums
from steelyard_old.read.roles import MORE_ROLES
from steelyard_old.read.source import Source
from steelyard_old.reference.run_notes import said_by_notes
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import MeasuredSlice, Measurement, Row
from steelyard_old.tally.counts import OF_OUTCOMES, Counts, TableTally
from steelyard_old.tally.design import from_codes, present, take
from steelyard_old.tally.rounding import rounding
from steelyard_old.tally.sample import Sample, refuse_beyond
from steelyard_old.tally.spelling import label_order, look_alike_warnings, slice_look_alike_warnings
from steelyard_old.tally.sums import Sums


def deal_groups(source: Source, roles: Sequence[str], warnings: Warnings) -> None:
    """Where the cells of all groups are too many to travel, whole groups are dealt into buckets; said, not silent."""
    table = source.on_engine
    if table is None or "group" not in source.roles or "repeat" in source.roles:
        return
    name = source.roles["group"]
    columns = [source.roles[role] for role in roles if role in source.roles and role not in ("id", "model", "weight")]
    if not table.fits(list(dict.fromkeys([*source.by, name, *columns]))):
        table.deal(name)
        warnings.add(DEALT.format(most_buckets()))


def measure_units(
    source: Source, metrics: Sequence[Metric], settings: MeasureOptions, warnings: Warnings, *, asked: bool
) -> Measurement | None:
    """The mean of scores too many to travel; None if they may, or if it is another question."""
    table = source.on_engine
    if table is None or len(metrics) != 1 or "score" not in source.roles or not metrics[0].scored or metrics[0].of_labels:
        return None
    if source.by or source.ratio or "weight" in source.roles or table.n <= TRAVELLERS:
        return None
    name, group = source.roles["score"], source.roles.get("group")
    if table.kind(name) not in ("int", "float", "bool"):
        return None
    if "repeat" not in source.roles and table.fits([name, *([] if group is None else [group])]):
        return None
    units = unit_sums(source)
    if settings.range is not None:
        refuse_beyond(settings.range, *units.bounds)
    binary = settings.range in OF_OUTCOMES and _right_or_wrong(source, units)
    metric = usual({"score"}, right_or_wrong=True)[0] if binary and not asked else metrics[0]
    details = _details(source, units)
    if not isinstance(metric, SumsMetric) or (binary and not INTERVALS.get(settings.interval or "", OF_A_PROPORTION).of_numbers):
        if units.kind == "repeats" and units.items > TRAVELLERS:
            units = unit_sums(source, dealt=True)
            warnings.add(_in_buckets(units))
        rows = list(rows_of_table(metric, _outcomes(units, details), settings, warnings))
    else:
        settings.refuse_no_posterior(metric.name, "a mean of numbers, without a posterior")
        rows = [_mean(metric, source, units, settings, warnings, details)]
    design = "groups" if group is not None else "repeats" if units.tries[1] > 1 else "items"
    facts: dict[str, object] = {"n": units.items, "design": design, "units": None if design == "items" else units.sums.n}
    return Measurement(
        n=units.items,
        rows=tuple(rows),
        table=None,
        roles={role: column for role, column in source.roles.items() if role in ("id", "score", "group", "repeat")},
        warnings=tuple(warnings),
        hints=source.hints,
        name=source.name,
        signature=sign([metric], rows, settings, facts),
    )


def _mean(metric: SumsMetric, source: Source, units: Units, settings: MeasureOptions, warnings: Warnings, details: dict[str, Any]) -> Row:
    bounds = settings.range or ((0.0, 1.0) if units.bounds[0] >= 0 and units.bounds[1] <= 1 else None)
    dealt, ends, error = units.kind == "buckets", None, None
    if dealt and "group" in source.roles:
        warnings.add(DEALT.format(units.sums.n))
    elif dealt and settings.interval in (None, "t", "bounded-mean"):
        found = moments(by_item(source))
        varies = found.products[0] > found.n * rounding(abs(found.means[0])) ** 2
        moved, asked = (found.n, found.means[0], found.products[0] if varies else 0.0), (settings.confidence_level, settings.side)
        if bounds is not None and settings.interval != "t":
            ends = (*bounded_mean(*moved, *bounds, *asked), "bounded-mean")
        elif varies:  # else the sums by bucket say that there is no interval
            ends = (*student_mean(*moved, *asked), "t")
        error = math.sqrt(moved[2] / found.n / (found.n - 1))
    elif dealt:
        warnings.add(_in_buckets(units))
    kind = "groups" if dealt else units.kind
    return mean_row(
        metric, units.sums, settings, warnings, kind=kind, n=units.items, bounds=bounds, details=details, ends=ends, error=error
    )


def _in_buckets(units: Units) -> str:
    return f"too many items to move: {units.items:,} lie in {units.sums.n:,} buckets by the md5 of their ids, which stand for them"


def _right_or_wrong(source: Source, units: Units) -> bool:
    """Whether every single answer is 0 or 1. Whole numbers between them say so; means of repeats do not, so the engine is asked."""
    table = source.on_engine
    if units.bounds[0] < 0 or units.bounds[1] > 1 or table is None:
        return False
    return {row[0] for row in source.tabulate(["score"])} <= {0.0, 1.0} if table.fits([source.roles["score"]]) else False


def _outcomes(units: Units, details: dict[str, Any]) -> TableTally:
    """Right and wrong by unit: the margins that a table of two classes has when every truth is right."""
    import numpy as np

    n, right = units.sums.dense[:, 0], units.sums.dense[:, 1]
    zero = np.zeros(len(n))
    rows = np.stack([right, zero, n, zero, right, n - right, n], axis=1)
    every = np.repeat(np.arange(len(n)), units.sums.count)  # a row per unit: equal items stand apart, as they do for a file
    sums = Sums(rows=rows[every], count=np.ones(len(every), np.int64), answers=units.answers, units="groups", sizes=n[every])
    hits = round(float(units.sums.count @ right))
    kind = "groups" if units.kind == "buckets" else units.kind
    return TableTally(Counts.of(hits, units.items), sums, kind, units.items, details)


def _details(source: Source, units: Units) -> dict[str, Any]:
    """What the design is, for the answer."""
    if units.kind == "items" or (units.kind == "buckets" and "group" not in source.roles and units.tries[1] == 1):
        return {}
    out: dict[str, Any] = {"design": "groups" if "group" in source.roles else "repeats", "answers": units.answers, "items": units.items}
    if "group" in source.roles:
        out["groups"] = units.sums.n
    if "repeat" in source.roles:
        out |= {"repeats": units.tries[1], "fewest_repeats": units.tries[0]}
    return out


def measure_source(
    data: Any,
    prediction: Any,
    metrics: list[Metric] | None,
    settings: MeasureOptions,
    warnings: Warnings,
    by: tuple[str, ...] | Mapping[str, Any],
    ratio: str | Sequence[str] | None,
    columns: Mapping[str, Any],
    finish: Callable[[Row], Row] = lambda row: row,
) -> Measurement:
    """Everything that is not bare counts.

    finish: what becomes of each row before it is signed: after an early stop, an interval that holds whenever one stops.
    """
    source = data if isinstance(data, Source) else opened(data, prediction, by, ratio, columns)
    noted, stopped = said_by_notes([data])
    warnings.extend((*source.warnings, *stopped))
    up = noted if settings.higher_is_better is None else settings.higher_is_better
    refuse_unfinished([source.log], settings.missing)
    asked = metrics is not None
    metrics = metrics if metrics is not None else default_metrics(source)
    if up is None and source.log is not None:
        up = next((told for metric in metrics if (told := own_direction([source.log], metric)) is not None), None)
    check_used(settings, metrics, warnings, labelled="truth" in source.roles, scored="score" in source.roles)
    settings = replace(settings, positive=own_positive([source.log], metrics, settings.positive), higher_is_better=up)
    if (found := measure_units(source, metrics, settings, warnings, asked=asked)) is not None:
        return found
    hints = source.hints
    slices: tuple[MeasuredSlice, ...] = ()
    said: Sequence[str]
    facts: dict[str, object]
    if (counts := _counted(source, metrics, settings)) is not None:
        if not asked:
            refuse_fractions(counts.labels[i] for i in sorted(set(counts.truth)))
            metrics, said = of_singletons(counts, metrics, settings)
            hints = (*hints, *said)
        warnings.extend(source.told_of_ids())
        n, table, facts = counts.n, counts, {"n": counts.n, "design": "items"}
        rows = tuple(row for metric in metrics for row in rows_of_table(metric, TableTally(counts, items=n), settings, warnings))
        warn_about_labels(counts, metrics, settings, warnings)
    else:
        deal_groups(source, sorted(_used(metrics, source)), warnings)
        items = _items(source, metrics, source.by)
        if not asked:
            refuse_numeric_truth(items)
            metrics, said = _headline(items, metrics, settings)
            hints = (*hints, *said)
        warnings.extend(() if items.id is None else look_alike_warnings(items.id.names))
        sample = Sample(items, settings, warnings, settings.labels, needed=_used(metrics, source))
        if not asked and all(metric.averages_scores for metric in metrics) and sample.binary_scores:
            metrics = usual({"score"}, right_or_wrong=True)
        rows, table = _measured(sample, metrics, settings, warnings)
        if sample.binary_scores:
            warn_disagreement(sample.items, warnings)
        slices = _slices(sample, metrics, settings, source.by, warnings)
        n, facts = sample.n, _facts(sample)
    rows = tuple(finish(row) for row in rows)
    roles = {role: name for role, name in source.roles.items() if role in _used(metrics, source)}
    if source.log is not None:
        roles |= {what: value for what, value in source.log.chosen.items() if what not in roles}
    if source.ratio is not None:
        roles["ratio"], facts["ratio"] = "/".join(source.ratio), source.ratio
    signature = sign(metrics, rows, settings, facts)
    return Measurement(
        n=n,
        rows=rows,
        table=table,
        slices=slices,
        roles=roles,
        warnings=tuple(warnings),
        hints=hints,
        name=source.name,
        signature=signature,
    )


def _counted(source: Source, metrics: Sequence[Metric], settings: MeasureOptions) -> Counts | None:
    """The table as an engine counts it, where it is all that the metrics read: no units, no scores, no slices, nothing missing."""
    if source.in_memory or source.by or source.ratio is not None or not {"truth", "prediction"} <= set(source.roles):
        return None
    if {"group", "repeat", "weight", "score"} & set(source.roles) or any(not metric.of_labels for metric in metrics):
        return None
    cells = source.merged_items(["prediction", "truth"])
    truth, prediction, count = cells.truth, cells.prediction, cells.count
    assert truth is not None
    assert prediction is not None
    assert count is not None
    if not (truth.complete and prediction.complete):
        return None  # what is missing is settled cell by cell
    return from_codes(
        truth.codes.astype(np.int64), prediction.codes.astype(np.int64), count, truth.names, prediction.names, settings.labels
    )


def default_metrics(source: Source) -> list[Metric]:
    """What is asked when nothing is: by what the source holds."""
    if (own := own_metric([source.log])) is not None:
        return [own]
    metrics = usual({*source.roles, *(["ratio"] if source.ratio is not None else [])})
    if not metrics:
        raise DataError(
            f"Nothing to measure in columns {', '.join(map(repr, source.columns))}: no truth and prediction, no score, no truth "
            "and probability.",
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
    labelled = items.truth is not None and items.prediction is not None and metrics[0].averages_scores
    if not labelled or settings.labels is not None or settings.positive is not None:
        return metrics, []
    known = items.score[~np.isnan(items.score)] if items.score is not None else np.zeros(0)
    there = {"truth", "prediction", *(["score"] if len(known) else []), *(["probability"] if items.probability is not None else [])}
    if settings.range in OF_OUTCOMES and len(known) and bool(np.isin(known, (0.0, 1.0)).all()):
        said = "accuracy is the share of items with score 1; label metrics, such as macro_f1, are computed if named with metric="
        return usual(there, right_or_wrong=True), [said]
    supports = _supports(items)
    if not mostly_singletons(supports):
        return metrics, []
    once = sum(many <= 1 for many in supports)
    return usual(there, free_text=True), [SINGLETONS.format(f"{once:,}", f"{len(supports):,}")]


def _supports(items: Items) -> list[int]:
    """How many items have each label as their truth, for every label of the truths and the predictions."""
    assert items.truth is not None
    assert items.prediction is not None
    codes, names = items.truth.codes, items.truth.names
    weights = None if items.count is None else items.count[codes >= 0]
    many = np.bincount(codes[codes >= 0], weights=weights, minlength=len(names)).astype(np.int64).tolist()
    found = dict(zip(names, many, strict=True))
    used = {items.prediction.names[i] for i in present(items.prediction.codes)}
    return [many for name, many in found.items() if many or name in used] + [0 for name in used if name not in found]


def _used(metrics: Sequence[Metric], source: Source) -> set[str]:
    """The roles that the metrics read, with those that make the design."""
    used = {need for metric in metrics for need in metric.needs} | {name for name, role in ROLES.items() if not role.answer}
    if any(metric.right_or_wrong for metric in metrics):
        used |= {"score"}
    return used & {*source.roles, "ratio"}


def _read_roles(metrics: Sequence[Metric], source: Source) -> set[str]:
    """The roles to read: those that are used, and a score beside labels, to count where the two disagree."""
    used = _used(metrics, source)
    if {"truth", "prediction", "score"} <= set(source.roles) and {"truth", "prediction"} <= used and "score" not in used:
        try:
            source.merged_items(["score"])
        except DataError:  # not a number: nobody asked for it, so it cannot disagree
            return used
        return used | {"score"}
    return used


def _items(source: Source, metrics: Sequence[Metric], by: tuple[str, ...]) -> Items:
    """The items: counted inside the engine where only distinct rows matter, read row by row where order or units do."""
    require_columns(source, metrics)
    numeric = any(metric.numeric for metric in metrics)
    if numeric and not all(metric.numeric for metric in metrics):
        raise UsageError(
            f"Metrics of numbers and of labels cannot be measured together: {', '.join(metric.name for metric in metrics)}.",
            got=", ".join(metric.name for metric in metrics),
            need="one kind at a time",
            hint=f"{', '.join(metric.base for metric in CATALOGUE.values() if metric.numeric)} read the truth as numbers",
        )
    units = {"group", "repeat"} & set(source.roles)
    if units == {"group"} and source.on_engine is not None and all(m.of_labels or m.scored for m in metrics):
        units = set()  # a group is one more column of the cells
    by_row = numeric or bool(units) or any(m.of_ratio or m.of_several_tries or MORE_ROLES & {*m.needs} for m in metrics)
    if by_row or len(by) > 1 or source.in_memory or ("weight" in source.roles and not source.weights_are_whole()):
        return source.items(numeric=numeric, roles=_read_roles(metrics, source))
    roles = sorted(_read_roles(metrics, source) & {"truth", "prediction", "score", "probability", "group"})
    return source.merged_items(roles, by[0] if by else None)


def require_columns(source: Source, metrics: Sequence[Metric]) -> None:
    """Every column that a metric reads is there; right-or-wrong metrics take a score instead of labels."""
    for metric in metrics:
        missing = [need for need in metric.needs if need not in source.roles and not (need == "ratio" and source.ratio is not None)]
        if missing and not (metric.right_or_wrong and "score" in source.roles):
            raise DataError(
                f"{metric.name} needs {' and '.join(f'a {need} column' for need in missing)}; the columns are "
                f"{', '.join(map(repr, source.columns))}.",
                got=f"columns {', '.join(map(repr, source.columns))}",
                need=" and ".join(f"a {need} column" for need in missing),
                hint=" ".join(f"{need}=NAME" if need != "ratio" else "ratio=ABOVE/BELOW" for need in missing),
            )


def _measured(
    sample: Sample, metrics: Sequence[Metric], settings: MeasureOptions, warnings: Warnings, whole: bool = True
) -> tuple[tuple[Row, ...], Any]:
    """The rows and the table they rest on."""
    rows = tuple(rows_of_sample(metrics, sample, settings, warnings))
    table = None
    if any(metric.of_labels for metric in metrics):
        labelled = sample.items.truth is not None and sample.items.prediction is not None
        table = sample.table.counts if labelled else sample.outcomes.counts
        if labelled:
            warn_about_labels(table, metrics, settings, warnings, whole)
        if labelled and sample.binary_scores and disagreements(sample.items) and any(metric.scored for metric in metrics):
            return rows, None  # the score decided accuracy: the table of labels would answer otherwise
    return rows, table if sample.design.plain and sample.items.stratum is None else None


def _slices(
    sample: Sample, metrics: Sequence[Metric], settings: MeasureOptions, by: tuple[str, ...], warnings: Warnings
) -> tuple[MeasuredSlice, ...]:
    """One measurement per value of each slice column, over the classes of the whole."""
    out: list[MeasuredSlice] = []
    if not by:
        return ()
    labels = sample.table.counts.class_labels if sample.items.truth is not None and sample.items.prediction is not None else None
    for column in by:
        codes, names = sample.items.slices[column].codes, sample.items.slices[column].names
        values = {names[i] if i >= 0 else "(missing)": codes == i for i in np.unique(codes)}
        warnings.extend(slice_look_alike_warnings(column, label_order(values)))
        for value in label_order(values):
            own = Warnings()
            part = Sample(take(sample.items, values[value]), settings, own, labels)
            rows, table = _measured(part, metrics, settings, own, whole=False)
            found = Measurement(
                n=part.n, rows=rows, table=table, warnings=tuple(own), signature=sign(metrics, rows, settings, _facts(part))
            )
            out.append(MeasuredSlice(by=column, value=value, measurement=found))
    return tuple(out)


def _facts(sample: Sample) -> dict[str, object]:
    if sample.items.stratum is not None and sample.design.plain:
        return {"n": sample.n, "design": "strata", "units": len(np.unique(sample.items.stratum.codes))}
    return {"n": sample.n, "design": sample.design.kind, "units": None if sample.design.plain else sample.design.units}
