"""How good is it, and how sure are we? Reads, counts, picks the methods, assembles the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard import signature
from steelyard.errors import UsageError
from steelyard.metrics.catalogue import Metric, parse
from steelyard.options import source_keywords
from steelyard.questions.label_warnings import SINGLETONS, mostly_singletons, warn_about_labels
from steelyard.questions.settings import OF_NUMBERS, RESAMPLING, Settings, settle
from steelyard.questions.table_rows import TableTally, table_row
from steelyard.results import Measurement, Row
from steelyard.tally.counts import Counts

if TYPE_CHECKING:
    from steelyard.questions.sample import Sample

Names = str | Sequence[str] | None
FEW_CLASSES = 5  # classes that are warned about one by one
MANY_WARNINGS = 50  # different warnings about the classes of one metric


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
    confidence_level: float = 0.95,
    side: str = "two",
    draws: int = 10_000,
    seed: int | None = 0,
    prior: float = 0.5,
    range: Sequence[float] | None = None,  # noqa: A002  the contract's word
    absent: str | None = None,
    missing: str = "error",
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
    columns = source_keywords(measure, columns)
    settings = settle(
        interval=interval,
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
    )
    metrics = None if metric is None else [parse(name) for name in ([metric] if isinstance(metric, str) else metric)]
    if metrics == []:
        raise UsageError("cannot measure nothing", got="an empty list of metrics", need="at least one name")
    if isinstance(data, Measurement):
        if data.table is None:
            raise UsageError(
                "cannot measure this result again",
                got="a measurement without a table",
                need="one that keeps its counts",
                hint="measure the data",
            )
        data = data.table
    if isinstance(data, Counts):
        if prediction is not None or by is not None or columns or ratio is not None:
            raise UsageError(
                "cannot use columns with counts",
                got="counts and columns",
                need="counts alone",
                hint="by=, group= and the like need the items",
            )
        refuse_item_options(missing=settings.missing != "error", range=settings.range is not None, memory=memory is not None)
        if settings.labels is not None:
            raise UsageError(
                "cannot declare labels for counts",
                got="labels beside a table",
                need="labels inside it",
                hint="Counts.table(cells, labels=[...])",
            )
        return measure_counts(data, metrics, settings)
    from steelyard.questions.measure_items import measure_source
    from steelyard.read.allowance import working

    with working(memory=memory):
        return measure_source(data, prediction, metrics, settings, slice_names(by), ratio, columns)


def refuse_item_options(**given: bool) -> None:
    """Options that speak of items mean nothing to bare counts: they are refused, not passed over."""
    for name, there in given.items():
        if there:
            raise UsageError(f"cannot use {name} with counts", got=f"{name} beside bare counts", need="the items it speaks of")


def slice_names(by: Any) -> tuple[str, ...] | Mapping[str, Any]:
    """The columns to slice by: names, or for arrays a mapping of names to arrays."""
    if by is None or isinstance(by, str):
        return () if by is None else (by,)
    if isinstance(by, Mapping) or (isinstance(by, (list, tuple)) and all(isinstance(name, str) for name in by)):
        return by if isinstance(by, Mapping) else tuple(by)
    raise UsageError("cannot slice by this", got=type(by).__name__, need="column names, or by={name: array} for arrays")


def measure_counts(counts: Counts, metrics: list[Metric] | None, settings: Settings) -> Measurement:
    """A measurement of bare counts. Closed forms load no NumPy."""
    if counts.n == 0:
        raise UsageError("cannot measure no items", got="0 items", need="at least one", hint="n must be 1 or more")
    hints: tuple[str, ...] = ()
    if metrics is None:
        metrics = [parse(name) for name in default_table_metrics(counts)]
        supports = [counts.class_margins(label)[1] for label in range(counts.classes)]
        if counts.kind == "labels" and settings.positive is None and mostly_singletons(supports):
            once = sum(many <= 1 for many in supports)
            metrics, hints = [parse("accuracy")], (SINGLETONS.format(f"{once:,}", f"{len(supports):,}"),)
    tally = TableTally(counts, items=counts.n)
    rows = [row for one in metrics for row in rows_of_table(one, tally, settings)]
    if counts.kind == "labels":
        warn_about_labels(counts, metrics, settings)
    facts: dict[str, object] = {"n": counts.n, "design": "items"}
    return Measurement(
        n=counts.n,
        rows=tuple(rows),
        table=counts,
        warnings=tuple(settings.warnings),
        hints=hints,
        signature=sign(metrics, rows, settings, facts),
    )


def default_table_metrics(counts: Counts) -> list[str]:
    """Right/wrong: accuracy. Two-class counts: precision, recall, f1 of the positive. Labels: the classes too."""
    if counts.kind == "outcomes":
        return ["accuracy"]
    if counts.kind == "binary":
        return [*(["accuracy"] if counts.negatives_known else []), "precision", "recall", "f1"]
    return ["accuracy", "macro_f1", "each_precision", "each_recall", "each_f1"]


def rows_of_table(metric: Metric, tally: TableTally, settings: Settings) -> Iterable[Row]:
    """One row, or one per class for each_."""
    if metric.average == "each":
        known = range(tally.counts.classes) if tally.counts.negatives_known else [1]
        return _each_class(metric, known, tally, settings)
    return [table_row(metric, class_of(metric, tally.counts, settings), tally, settings)]


def _each_class(metric: Metric, labels: Iterable[int], tally: TableTally, settings: Settings) -> list[Row]:
    """A row per class; what is to be said of more than a few classes in the same words is said once."""
    rows: list[Row] = []
    said: dict[str, list[str]] = {}
    own = settings.quietly()
    for label in labels:
        row = table_row(metric, label, tally, own)
        rows.append(row)
        for sentence in own.warnings:
            said.setdefault(sentence.removeprefix(row.name), []).append(sentence)
        own.warnings.clear()
    name = metric.name.removeprefix("each_")
    folded = len(said) > MANY_WARNINGS
    for rest, sentences in list(said.items())[:MANY_WARNINGS]:
        if len(sentences) <= FEW_CLASSES or sentences[0] == rest:
            for sentence in sentences:
                settings.warn(sentence)
        else:
            examples = ", ".join(repr(s.removesuffix(rest).removeprefix(f"{name}[").removesuffix("]")) for s in sentences[:3])
            settings.warn(f"{name}{rest} ({len(sentences):,} classes, such as {examples})")
    if folded:
        left = sum(map(len, list(said.values())[MANY_WARNINGS:]))
        settings.warn(f"{name}: {left:,} more warnings like these about other classes")
    return rows


def class_of(metric: Metric, counts: Counts, settings: Settings) -> int | None:
    """The class a metric is about: none for a whole-table metric, else the one that was named."""
    if not metric.facts.of_class or metric.average is not None or counts.kind == "outcomes":
        return None
    if settings.positive is not None:
        if counts.kind == "binary" and settings.positive not in counts.labels:
            return 1  # tp, fp, fn are of the positive class, whatever the user calls it
        return counts.code(settings.positive)
    if counts.kind == "binary":
        return 1
    shown = ", ".join(map(repr, counts.class_labels[:12])) + (" ..." if counts.classes > 12 else "")
    raise UsageError(
        f"cannot tell which class {metric.name} is about",
        got=f"labels {shown}",
        need="the positive class or an average",
        hint=f"--positive LABEL, or macro_{metric.name}, or each_{metric.name} for every class",
    )


def rows_of_sample(metrics: Sequence[Metric], sample: Sample, settings: Settings) -> list[Row]:
    """The rows of one sample, family by family."""
    rows: list[Row] = []
    for metric in metrics:
        if sample.items.stratum is not None:
            from steelyard.questions.strata_rows import in_strata, strata_row

            if in_strata(sample.items, metric):
                rows.append(strata_row(metric, sample, settings))
                continue
        if metric.facts.family == "table" or (metric.base == "mean" and sample.binary_scores and settings.interval not in OF_NUMBERS):
            rows.extend(rows_of_table(metric, table_for(metric, sample), settings))
        elif metric.facts.family == "ranking":
            from steelyard.questions.ranking_rows import ranking_row

            rows.append(ranking_row(metric, sample, settings))
        else:
            from steelyard.questions.sums_rows import sums_row

            rows.append(sums_row(metric, sample, settings))
    return rows


def table_for(metric: Metric, sample: Sample) -> TableTally:
    """Scores of 0 and 1 decide right and wrong where there are any; labels decide the rest."""
    if metric.facts.scored and sample.binary_scores:
        return sample.outcomes
    if sample.items.truth is None or sample.items.prediction is None:
        if sample.items.score is not None and metric.facts.scored:
            raise UsageError(
                f"cannot compute {metric.name}",
                got="scores other than 0 and 1",
                need="right or wrong for every item",
                hint="ask for --metric mean",
            )
        raise UsageError(
            f"cannot compute {metric.name}",
            got="no truth and prediction columns",
            need="both",
            hint="name them with --truth and --prediction",
        )
    return sample.table


def sign(metrics: Sequence[Metric], rows: Sequence[Row], settings: Settings, facts: dict[str, object]) -> str:
    """The signature: what was used, in the order of the metrics."""
    used: list[str] = []
    for metric in metrics:
        name = metric.name.removeprefix("each_")
        # a fall-back is not asked for by name: repeating the question with the method it replaced gives it again
        methods = [row.details.get("instead_of", row.interval.method) for row in rows if row.metric == name and row.interval is not None]
        used.append(Counter(methods).most_common(1)[0][0] if methods else "none")
    redrawn = bool({*RESAMPLING} & set(used)) or any("monte_carlo_error" in row.details for row in rows)
    believed = {row.interval.method for row in rows if row.interval is not None} & {"bayes", "hdi"}  # asked for or fallen back to
    return signature.write(
        {
            "metric": [metric.name for metric in metrics],
            "positive": settings.positive,
            "labels": settings.labels,
            "interval": used[:1] if len(set(used)) == 1 else used,
            "level": settings.confidence_level,
            "side": None if settings.side == "two" else settings.side,
            "prior": settings.prior if believed else None,
            "range": settings.range,
            "draws": settings.draws if redrawn else None,
            "seed": settings.seed if redrawn or "betting" in used else None,
            "absent": settings.absent,
            "missing": None if settings.missing == "error" else settings.missing,
            **facts,
        }
    )
