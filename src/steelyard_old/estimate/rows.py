"""The rows of a sample or of a table: which family a metric belongs to, which class it is about, and the signature of it all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.named_intervals import INTERVALS, OF_A_PROPORTION
from steelyard_old.estimate.table_rows import table_row
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import usual
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Row
from steelyard_old.tally.counts import FEW, MISSING, OF_OUTCOMES, Counts, TableTally

if TYPE_CHECKING:
    from steelyard_old.items import Items
    from steelyard_old.tally.sample import Sample


FREE_TEXT = 20  # labels from which they may be free text: a handful of items always has labels that occur once
SINGLETONS = "{} of {} labels are the truth of at most one item, so they are not read as classes; name label metrics with metric="


def mostly_singletons(supports: Sequence[int]) -> bool:
    """Whether labels are answers in free text rather than classes: 20 or more, over half of them the truth of at most one item.

    >>> mostly_singletons([1] * 15 + [4] * 5), mostly_singletons([1, 1, 1]), mostly_singletons([30] * 20)
    (True, False, False)
    """
    return len(supports) >= FREE_TEXT and 2 * sum(many <= 1 for many in supports) > len(supports)


def warn_about_labels(counts: Counts, metrics: Sequence[Metric], settings: MeasureOptions, warnings: Warnings, whole: bool = True) -> None:
    """Strays, labels that only occur in predictions, near-duplicates, small classes; of a slice only what spoils averages."""
    margins = [counts.class_margins(label) for label in range(counts.classes)]
    averaged = any(metric.over_classes for metric in metrics)
    if whole:
        _warn_about_names(counts, margins, settings, warnings, averaged or any(m.each_class for m in metrics))
    absent = [counts.labels[k] for k, m in enumerate(margins) if m[1] == 0 and m[2] == 0]
    if absent and (whole or averaged):
        warnings.add(f"{_many(len(absent), 'declared label')} without a case: {', '.join(map(repr, absent[:5]))}")
    small = {counts.labels[k]: m[1] for k, m in enumerate(margins) if 0 < m[1] < FEW}
    if small and averaged:
        warnings.add(
            f"{_many(len(small), 'class')} with fewer than {FEW} items, too few for reliable intervals of averages: {_some(small)}"
        )


def warn_of_small_classes(sides: Sequence[Counts], label: str | None, warnings: Warnings) -> None:
    """Two tables of different items: the delta method's z rests on the spread of each, which a handful of items does not show."""
    supports = {name: min(side.class_margins(side.code(name))[1] for side in sides) for name in sides[0].class_labels}
    small = {name: many for name, many in supports.items() if many < FEW and label in (None, name)}
    if small:
        warnings.add(
            f"{_many(len(small), 'class')} with fewer than {FEW} items in a run, too few for a reliable z test and interval: {_some(small)}"
        )


def _warn_about_names(
    counts: Counts, margins: Sequence[tuple[int, ...]], settings: MeasureOptions, warnings: Warnings, by_class: bool
) -> None:
    strays = {label: many for label, many in counts.strays.items() if label != MISSING}
    if strays:
        warnings.add(f"{_many(sum(strays.values()), 'prediction')} outside the declared labels, counted as wrong: {_some(strays)}")
    invented = {counts.labels[k]: m[2] for k, m in enumerate(margins) if m[1] == 0 and m[2] > 0}
    if invented and settings.labels is None and by_class:
        warnings.add(
            f"{_many(len(invented), 'label')} only in the predictions, counted as classes of their own: {_some(invented)}; "
            "declare the classes with labels= to average over the real ones only"
        )
    if twins := _near_duplicates(counts.labels):
        shown = "; ".join(" and ".join(map(repr, pair)) for pair in twins[:5])
        warnings.add(f"labels that differ only in case or spaces are different labels: {shown}")


def _many(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}{'es' if word.endswith('s') else 's'}"


def _some(found: dict[str, int]) -> str:
    shown = ", ".join(f"{label!r} ({many})" for label, many in list(found.items())[:5])
    return shown + (f" and {len(found) - 5} more" if len(found) > 5 else "")


def _near_duplicates(labels: Sequence[str]) -> list[tuple[str, ...]]:
    folded: dict[str, list[str]] = {}
    for label in labels:
        folded.setdefault(" ".join(label.casefold().split()), []).append(label)
    return [tuple(group) for group in folded.values() if len(group) > 1]


DEALT = "too many groups to transfer: they were hashed into {:,} buckets (md5 of their names), and each bucket counts as one group"


FEW_CLASSES = 5  # classes that are warned about one by one


MANY_WARNINGS = 50  # different warnings about the classes of one metric


def of_singletons(counts: Counts, metrics: list[Metric], settings: MeasureOptions) -> tuple[list[Metric], tuple[str, ...]]:
    """What is asked of labels when nothing is: of free text, where most labels are singletons, accuracy alone, and a hint says so."""
    supports = [counts.class_margins(label)[1] for label in range(counts.classes)]
    if counts.kind != "labels" or settings.labels is not None or settings.positive is not None or not mostly_singletons(supports):
        return metrics, ()
    once = sum(many <= 1 for many in supports)
    return usual({"truth", "prediction"}, free_text=True), (SINGLETONS.format(f"{once:,}", f"{len(supports):,}"),)


def rows_of_sample(metrics: Sequence[Metric], sample: Sample, settings: MeasureOptions, warnings: Warnings) -> list[Row]:
    """The rows of one sample, family by family."""
    rows: list[Row] = []
    of_numbers = INTERVALS.get(settings.interval or "", OF_A_PROPORTION).of_numbers
    for metric in metrics:
        if sample.items.stratum is not None:
            from steelyard_old.estimate.strata_rows import in_strata, strata_row

            if in_strata(sample.items, metric):
                settings.refuse_no_posterior(metric.name, "strata")
                rows.append(strata_row(metric, sample, settings, warnings))
                continue
        if metric.of_labels or (metric.scored and sample.binary_scores and not of_numbers):
            rows.extend(rows_of_table(metric, table_for(metric, sample), settings, warnings))
            continue
        _refuse_lacking(metric, sample.items)
        if metric.of_order:
            from steelyard_old.estimate.ranking_rows import ranking_row

            settings.refuse_no_posterior(metric.name, "a metric of scores, without a posterior")
            rows.append(ranking_row(metric, sample, settings, warnings))
        else:
            from steelyard_old.estimate.sums_rows import sums_row

            settings.refuse_no_posterior(metric.name, "a mean of numbers, without a posterior")
            rows.append(sums_row(metric, sample, settings, warnings))
    return rows


def _refuse_lacking(metric: Metric, items: Items) -> None:
    """A run that was read whatever its columns are may lack those of the metric. What several tries lack is said where they are joined."""
    held = {need for need in metric.needs if need in items.more or getattr(items, f"{need}_value" if metric.numeric else need) is not None}
    if metric.of_several_tries or held.issuperset(metric.needs):
        return
    lacking = [need for need in metric.needs if need not in held]
    need = " and ".join(f"a {one} column" for one in lacking)
    raise DataError(
        f"{metric.name} needs {need}.",
        got=f"no {' and no '.join(lacking)} column",
        need=need,
        hint=" ".join(f"{one}=NAME" if one != "ratio" else "ratio=ABOVE/BELOW" for one in lacking),
    )


def table_for(metric: Metric, sample: Sample) -> TableTally:
    """Scores of 0 and 1 decide right and wrong where there are any; labels decide the rest."""
    if metric.scored and sample.binary_scores:
        return sample.outcomes
    if sample.items.truth is None or sample.items.prediction is None:
        if sample.items.score is not None and metric.scored:
            raise UsageError(
                f"{metric.name} is about right and wrong (1 and 0), but there "
                f"{'are other scores' if sample.settings.range in OF_OUTCOMES else 'is another range'}.",
                got="scores other than 0 and 1"
                if sample.settings.range in OF_OUTCOMES
                else "a range other than that of right and wrong, 0 and 1",
                need="right or wrong for every item",
                hint="ask for metric='mean'",
            )
        raise UsageError(
            f"{metric.name} needs truth and prediction columns.",
            got="no truth and prediction columns",
            need="both",
            hint="name them with truth= and prediction=",
        )
    return sample.table


def rows_of_table(metric: Metric, tally: TableTally, settings: MeasureOptions, warnings: Warnings) -> Iterable[Row]:
    """One row, or one per class for each_."""
    if metric.each_class:
        known = range(tally.counts.classes) if tally.counts.negatives_known else [1]
        return _each_class(metric, known, tally, settings, warnings)
    return [table_row(metric, class_of(metric, tally.counts, settings), tally, settings, warnings)]


def _each_class(metric: Metric, labels: Iterable[int], tally: TableTally, settings: MeasureOptions, warnings: Warnings) -> list[Row]:
    """A row per class; what is to be said of more than a few classes in the same words is said once."""
    rows: list[Row] = []
    said: dict[str, list[str]] = {}
    for label in labels:
        own = Warnings()
        row = table_row(metric, label, tally, settings, own)
        rows.append(row)
        for sentence in own:
            said.setdefault(sentence.removeprefix(row.name), []).append(sentence)
    name = metric.row_name
    folded = len(said) > MANY_WARNINGS
    for rest, sentences in list(said.items())[:MANY_WARNINGS]:
        if len(sentences) <= FEW_CLASSES or sentences[0] == rest:
            warnings.extend(sentences)
        else:
            examples = ", ".join(repr(s.removesuffix(rest).removeprefix(f"{name}[").removesuffix("]")) for s in sentences[:3])
            warnings.add(f"{name}{rest} ({len(sentences):,} classes, such as {examples})")
    if folded:
        left = sum(map(len, list(said.values())[MANY_WARNINGS:]))
        warnings.add(f"{name}: {left:,} more warnings like these about other classes")
    return rows


def class_of(metric: Metric, counts: Counts, settings: MeasureOptions) -> int | None:
    """The class a metric is about: none for a whole-table metric, else the one that was named."""
    if not metric.of_class or metric.average is not None or counts.kind == "outcomes":
        return None
    if settings.positive is not None:
        if counts.kind == "binary" and settings.positive not in counts.labels:
            return 1  # tp, fp, fn are of the positive class, whatever the user calls it
        return counts.code(settings.positive)
    if counts.kind == "binary":
        return 1
    shown = ", ".join(map(repr, counts.class_labels[:12])) + (" ..." if counts.classes > 12 else "")
    raise UsageError(
        f"Which class is {metric.name} about? The labels are {shown}.",
        got=f"labels {shown}",
        need="the positive class or an average",
        hint=f"positive=LABEL, or {metric.macro_name}, or {metric.each_name} for every class",
    )


def sign(metrics: Sequence[Metric], rows: Sequence[Row], settings: MeasureOptions, facts: dict[str, object]) -> str:
    """The signature: what was used, in the order of the metrics."""
    used: list[str] = []
    for metric in metrics:
        name = metric.row_name
        # a fall-back is not asked for by name: repeating the question with the method it replaced gives it again
        methods = [row.details.instead_of or row.interval.method for row in rows if row.metric == name and row.interval is not None]
        used.append(Counter(methods).most_common(1)[0][0] if methods else "none")
    hows = [INTERVALS.get(name, OF_A_PROPORTION) for name in used]
    redrawn = any(how.redraws for how in hows) or any(row.details.monte_carlo_error is not None for row in rows)
    given = {row.interval.method for row in rows if row.interval is not None}  # asked for or fallen back to
    believed = any(INTERVALS.get(name, OF_A_PROPORTION).believed for name in given)
    return signature.write(
        {
            "metric": [metric.name for metric in metrics],
            "positive": settings.positive,
            "labels": settings.labels,
            "interval": used[:1] if len(set(used)) == 1 else used,
            "at-least": settings.at_least,
            "level": settings.confidence_level,
            "side": None if settings.side == "two" else settings.side,
            "prior": settings.prior if believed else None,
            "range": settings.range,
            "draws": settings.draws if redrawn else None,
            "seed": settings.seed if redrawn or any(how.seeded for how in hows) else None,
            "absent": settings.absent,
            "missing": None if settings.missing == "error" else settings.missing,
            **facts,
        }
    )
