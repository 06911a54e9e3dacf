"""Means of more scores than may travel: added up by item, group or md5 bucket on the engine that holds them.

Few scores are counted there and treated as everywhere. Here are the questions that would otherwise move every row: real-valued
scores, with groups and repeats or without. Student's intervals rest on the moments of all items, as it does for a file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from steelyard.estimate.label_warnings import DEALT
from steelyard.estimate.measure_options import OF_NUMBERS, MeasureOptions
from steelyard.estimate.rows import rows_of_table, sign
from steelyard.estimate.sample import refuse_beyond
from steelyard.estimate.sums_rows import mean_row
from steelyard.estimate.table_tally import TableTally
from steelyard.infer.intervals.mean import bounded_t
from steelyard.infer.intervals.sums import student_mean
from steelyard.infer.rounding import rounding
from steelyard.metrics.base import Metric
from steelyard.metrics.catalogue import parse
from steelyard.metrics.sums import SumsMetric
from steelyard.read.engines.dialects import most_buckets
from steelyard.read.engines.moments import moments
from steelyard.read.engines.tables import TRAVELLERS, SqlTable
from steelyard.read.engines.units import Units, by_item, unit_sums
from steelyard.read.source import Source
from steelyard.results.measurement import Measurement, Row
from steelyard.tally.counts import Counts
from steelyard.tally.sums import Sums


def deal_groups(source: Source, roles: Sequence[str], settings: MeasureOptions) -> None:
    """Where the cells of all groups are too many to travel, whole groups are dealt into buckets; said, not silent."""
    table = source.table
    if not isinstance(table, SqlTable) or "group" not in source.roles or "repeat" in source.roles:
        return
    name = source.roles["group"]
    columns = [source.roles[role] for role in roles if role in source.roles and role not in ("id", "model", "weight")]
    if not table.fits(list(dict.fromkeys([*source.by, name, *columns]))):
        table.deal(name)
        settings.warn(DEALT.format(most_buckets()))


def measure_units(source: Source, metrics: Sequence[Metric], settings: MeasureOptions, *, asked: bool) -> Measurement | None:
    """The mean of scores too many to travel; None if they may, or if it is another question."""
    table = source.table
    if not isinstance(table, SqlTable) or len(metrics) != 1 or not metrics[0].mean_of_scores or "score" not in source.roles:
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
    binary = settings.right_or_wrong and _right_or_wrong(source, units)
    metric = parse("accuracy") if binary and not asked else metrics[0]
    details = _details(source, units)
    if not isinstance(metric, SumsMetric) or (binary and settings.interval not in OF_NUMBERS):
        if units.kind == "repeats" and units.items > TRAVELLERS:
            units = unit_sums(source, dealt=True)
            settings.warn(_in_buckets(units))
        rows = list(rows_of_table(metric, _outcomes(units, details), settings))
    else:
        rows = [_mean(metric, source, units, settings, details)]
    design = "groups" if group is not None else "repeats" if units.tries[1] > 1 else "items"
    facts: dict[str, object] = {"n": units.items, "design": design, "units": None if design == "items" else units.sums.n}
    return Measurement(
        n=units.items,
        rows=tuple(rows),
        table=None,
        roles={role: column for role, column in source.roles.items() if role in ("id", "score", "group", "repeat")},
        warnings=tuple(settings.warnings),
        hints=source.hints,
        name=source.name,
        signature=sign([metric], rows, settings, facts),
    )


def _mean(metric: SumsMetric, source: Source, units: Units, settings: MeasureOptions, details: dict[str, Any]) -> Row:
    bounds = settings.range or ((0.0, 1.0) if units.bounds[0] >= 0 and units.bounds[1] <= 1 else None)
    dealt, ends, error = units.kind == "buckets", None, None
    if dealt and "group" in source.roles:
        settings.warn(DEALT.format(units.sums.n))
    elif dealt and settings.interval in (None, "t", "bounded-t"):
        found = moments(by_item(source))
        varies = found.products[0] > found.n * rounding(abs(found.means[0])) ** 2
        moved, asked = (found.n, found.means[0], found.products[0] if varies else 0.0), (settings.confidence_level, settings.side)
        if bounds is not None and settings.interval != "t":
            ends = (*bounded_t(*moved, *bounds, *asked), "bounded-t")
        elif varies:  # else the sums by bucket say that there is no interval
            ends = (*student_mean(*moved, *asked), "t")
        error = math.sqrt(moved[2] / found.n / (found.n - 1))
    elif dealt:
        settings.warn(_in_buckets(units))
    kind = "groups" if dealt else units.kind
    return mean_row(metric, units.sums, settings, kind=kind, n=units.items, bounds=bounds, details=details, ends=ends, error=error)


def _in_buckets(units: Units) -> str:
    return f"too many items to move: {units.items:,} lie in {units.sums.n:,} buckets by the md5 of their ids, which stand for them"


def _right_or_wrong(source: Source, units: Units) -> bool:
    """Whether every single answer is 0 or 1. Whole numbers between them say so; means of repeats do not, so the engine is asked."""
    table = source.table
    if units.bounds[0] < 0 or units.bounds[1] > 1 or not isinstance(table, SqlTable):
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
