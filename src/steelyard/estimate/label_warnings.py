"""What a statistician would say about the labels of a table before anybody reads the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.estimate.measure_options import MeasureOptions
from steelyard.metrics.base import Metric
from steelyard.tally.counts import FEW, MISSING, Counts

FREE_TEXT = 20  # labels from which they may be free text: a handful of items always has labels that occur once
SINGLETONS = "{} of {} labels are the truth of at most one item, so they are not read as classes; name label metrics with --metric"


def mostly_singletons(supports: Sequence[int]) -> bool:
    """Whether labels are answers in free text rather than classes: 20 or more, over half of them the truth of at most one item.

    >>> mostly_singletons([1] * 15 + [4] * 5), mostly_singletons([1, 1, 1]), mostly_singletons([30] * 20)
    (True, False, False)
    """
    return len(supports) >= FREE_TEXT and 2 * sum(many <= 1 for many in supports) > len(supports)


def warn_about_labels(counts: Counts, metrics: Sequence[Metric], settings: MeasureOptions, whole: bool = True) -> None:
    """Strays, labels that only occur in predictions, near-duplicates, small classes; of a slice only what spoils averages."""
    margins = [counts.class_margins(label) for label in range(counts.classes)]
    averaged = any(metric.over_classes for metric in metrics)
    if whole:
        _warn_about_names(counts, margins, settings, averaged or any(m.average == "each" for m in metrics))
    absent = [counts.labels[k] for k, m in enumerate(margins) if m[1] == 0 and m[2] == 0]
    if absent and (whole or averaged):
        settings.warn(f"{_many(len(absent), 'declared label')} without a case: {', '.join(map(repr, absent[:5]))}")
    small = {counts.labels[k]: m[1] for k, m in enumerate(margins) if 0 < m[1] < FEW}
    if small and averaged:
        settings.warn(
            f"{_many(len(small), 'class')} with fewer than {FEW} items, too few for intervals of averages to cover: {_some(small)}"
        )


def warn_of_small_classes(sides: Sequence[Counts], label: str | None, settings: MeasureOptions) -> None:
    """Two tables of different items: the delta method's z rests on the spread of each, which a handful of items does not show."""
    supports = {name: min(side.class_margins(side.code(name))[1] for side in sides) for name in sides[0].class_labels}
    small = {name: many for name, many in supports.items() if many < FEW and label in (None, name)}
    if small:
        settings.warn(
            f"{_many(len(small), 'class')} with fewer than {FEW} items in one of the runs, too few for z and the interval: {_some(small)}"
        )


def _warn_about_names(counts: Counts, margins: Sequence[tuple[int, ...]], settings: MeasureOptions, by_class: bool) -> None:
    strays = {label: many for label, many in counts.strays.items() if label != MISSING}
    if strays:
        settings.warn(f"{_many(sum(strays.values()), 'prediction')} outside the declared labels, counted as wrong: {_some(strays)}")
    invented = {counts.labels[k]: m[2] for k, m in enumerate(margins) if m[1] == 0 and m[2] > 0}
    if invented and settings.labels is None and by_class:
        settings.warn(
            f"{_many(len(invented), 'label')} only in the predictions, counted as classes of their own: {_some(invented)}; "
            "declare the classes with --labels to keep averages over the real ones"
        )
    if twins := _near_duplicates(counts.labels):
        shown = "; ".join(" and ".join(map(repr, pair)) for pair in twins[:5])
        settings.warn(f"labels that differ only in case or spaces are different labels: {shown}")


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


DEALT = "too many groups to move: they lie in {:,} buckets by the md5 of their names, and a bucket counts as one group"
