"""How good is it, and how sure are we? Reads, counts, picks the methods, assembles the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import UsageError
from steelyard_old.estimate.rows import of_singletons, rows_of_table, sign, warn_about_labels
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse, usual_of_counts
from steelyard_old.options.measure import OPTIONS, MeasureOptions, refuse_item_options, settle
from steelyard_old.options.option import documented, slice_names
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Measurement
from steelyard_old.tally.counts import Counts, TableTally

Names = str | Sequence[str] | None


@documented(
    OPTIONS,
    "a Measurement",
    data="A path, a frame, rows, an array of scores, truths, Counts, or an earlier Measurement.",
    prediction="The predictions beside an array of truths. Default: none, `data` has them.",
)
def measure(
    data: Any,
    prediction: Any = None,
    /,
    *,
    metric: Names = None,
    positive: object = None,
    labels: Sequence[object] | None = None,
    by: Names | Mapping[str, Any] = None,
    interval: str | None = None,
    at_least: float | None = None,
    confidence_level: float = 0.95,
    side: str = "two",
    draws: int = 10_000,
    seed: int | None = 0,
    prior: float = 0.5,
    range: Sequence[float] | None = None,  # noqa: A002  the word that users know
    absent: str | None = None,
    missing: str = "error",
    higher_is_better: bool | None = None,
    ratio: str | Sequence[str] | None = None,
    memory: str | int | None = None,
    **columns: Any,
) -> Measurement:
    """How good a model is, with an interval for every number.

    data is a path, a frame, rows, an array of scores, or truths with predictions beside them; or Counts, or an earlier
    Measurement. Columns are found by name or given: id=, truth=, prediction=, score=, probability=, group=, repeat=,
    weight=, model= (names for tables, arrays for arrays). memory: what large files may take, as in "2GB"; the rest goes to disk.
    Files that a Spark cluster can reach are counted there with engine="spark" and master= or remote=.

    >>> print(measure(Counts.of(12, 40)).row)
    accuracy 0.3 [0.180748, 0.4543] (0.95 two, wilson)
    """
    settings = settle(
        interval=interval,
        at_least=at_least,
        confidence_level=confidence_level,
        side=side,
        draws=draws,
        seed=seed,
        prior=prior,
        range=range,
        positive=positive,
        labels=labels,
        absent=absent,
        missing=missing,
        higher_is_better=higher_is_better,
    )
    slices = slice_names(by)
    metrics = None if metric is None else [*dict.fromkeys(parse(name) for name in ([metric] if isinstance(metric, str) else metric))]
    if metrics == []:
        raise UsageError("No metric to measure: the list is empty.", got="an empty list of metrics", need="at least one name")
    if higher_is_better is not None and metrics is not None:
        from steelyard_old.estimate.opening import refuse_direction

        refuse_direction(higher_is_better, metrics)
    if isinstance(data, Measurement):
        if data.table is None:
            raise UsageError(
                "This measurement kept no table of counts, so it cannot be measured again.",
                got="a measurement without a table",
                need="one that keeps its counts",
                hint="measure the data",
            )
        data = data.table
    if isinstance(data, Counts):
        if prediction is not None or by is not None or columns or ratio is not None:
            raise UsageError(
                "Counts have no columns to read.",
                got="counts and columns",
                need="counts alone",
                hint="by=, group= and the like need the items",
            )
        refuse_item_options(
            missing=settings.missing != "error",
            range=settings.range is not None,
            higher_is_better=higher_is_better is not None,
            memory=memory is not None,
        )
        if settings.labels is not None:
            raise UsageError(
                "Labels of counts belong inside the table.",
                got="labels beside a table",
                need="labels inside it",
                hint="Counts.table(cells, labels=[...])",
            )
        return measure_counts(data, metrics, settings, Warnings())
    from steelyard_old.estimate.from_source import measure_source
    from steelyard_old.read.engines.memory import working

    with working(memory=memory):
        return measure_source(data, prediction, metrics, settings, Warnings(), slices, ratio, columns)


def measure_counts(counts: Counts, metrics: list[Metric] | None, settings: MeasureOptions, warnings: Warnings) -> Measurement:
    """A measurement of bare counts. Closed forms load no NumPy."""
    if counts.n == 0:
        raise UsageError("No items to measure.", got="0 items", need="at least one", hint="n must be 1 or more")
    hints: tuple[str, ...] = ()
    if metrics is None:
        metrics, hints = of_singletons(counts, [parse(name) for name in usual_of_counts(counts)], settings)
    tally = TableTally(counts, items=counts.n)
    rows = [row for one in metrics for row in rows_of_table(one, tally, settings, warnings)]
    if counts.kind == "labels":
        warn_about_labels(counts, metrics, settings, warnings)
    facts: dict[str, object] = {"n": counts.n, "design": "items"}
    return Measurement(
        n=counts.n,
        rows=tuple(rows),
        table=counts,
        warnings=tuple(warnings),
        hints=hints,
        signature=sign(metrics, rows, settings, facts),
    )
