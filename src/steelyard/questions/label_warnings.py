"""What a statistician would say about the labels of a table before anybody reads the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.metrics.catalogue import Metric
from steelyard.questions.settings import Settings
from steelyard.tally.counts import MISSING, Counts

FEW = 10


def warn_about_labels(counts: Counts, metrics: Sequence[Metric], settings: Settings) -> None:
    """Strays, labels that only occur in predictions, near-duplicates, small classes."""
    strays = {label: many for label, many in counts.strays.items() if label != MISSING}
    if strays:
        settings.warn(f"{sum(strays.values())} prediction(s) outside the declared labels count as wrong: {_some(strays)}")
    margins = [counts.class_margins(label) for label in range(counts.classes)]
    invented = {counts.labels[k]: m[2] for k, m in enumerate(margins) if m[1] == 0 and m[2] > 0}
    if invented and settings.labels is None:
        settings.warn(
            f"{len(invented)} label(s) occur only in the predictions and count as classes of their own: {_some(invented)}; "
            "declare the classes with --labels to keep averages over the real ones"
        )
    absent = [counts.labels[k] for k, m in enumerate(margins) if m[1] == 0 and m[2] == 0]
    if absent:
        settings.warn(f"{len(absent)} declared label(s) do not occur: {', '.join(map(repr, absent[:5]))}")
    twins = _near_duplicates(counts.labels)
    if twins:
        shown = "; ".join(" and ".join(map(repr, pair)) for pair in twins[:5])
        settings.warn(f"labels that differ only in case or spaces are different labels: {shown}")
    over_classes = any(m.average in ("macro", "weighted", "each") or m.base in ("balanced_accuracy", "mcc", "kappa") for m in metrics)
    small = {counts.labels[k]: m[1] for k, m in enumerate(margins) if 0 < m[1] < FEW}
    if small and over_classes:
        settings.warn(f"{len(small)} class(es) have fewer than {FEW} items, too few for intervals of averages to cover: {_some(small)}")


def _some(found: dict[str, int]) -> str:
    shown = ", ".join(f"{label!r} ({many})" for label, many in list(found.items())[:5])
    return shown + (f" and {len(found) - 5} more" if len(found) > 5 else "")


def _near_duplicates(labels: Sequence[str]) -> list[tuple[str, ...]]:
    folded: dict[str, list[str]] = {}
    for label in labels:
        folded.setdefault(" ".join(label.casefold().split()), []).append(label)
    return [tuple(group) for group in folded.values() if len(group) > 1]
