"""The items on which the systems part: the most telling few for the answer, all of them for a file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.atomic import write_text
from steelyard_old.items import Items
from steelyard_old.metrics.base import Metric
from steelyard_old.read.source import Source, context_of
from steelyard_old.results.comparison import ChangedItem
from steelyard_old.tally.design import same_label
from steelyard_old.tally.pairs import Pairs

TOLD = 10  # items that a comparison carries
KEPT = 2000  # items that a verdict carries: a report lists them, text shows the first ten
EXPLAINED = 200  # items with the texts of their source: a result in a history must not grow by all prompts
FIRST = 1 << 12  # rows that are looked at first
Rows = npt.NDArray[np.int64]
COLUMNS = ("id", "change", "truth", "baseline", "candidate")


def changed_items(pairs: Pairs, metric: Metric, most: int | None = None) -> list[ChangedItem]:
    """Items that one system has right and the other wrong, losses and gains in turn; for scores, the largest gaps first.

    most: the first so many; None is all of them.
    """
    if not pairs.plain:
        return []
    a, b = pairs.baseline, pairs.candidate
    values: Any = ()
    if metric.of_labels and all(_labelled(side) and (side.score is None or not metric.scored) for side in (a, b)):
        lost, gained = _flipped(a, b, most)
    else:
        values = [item_values(side, metric) for side in (a, b)]
        if values[0] is None or values[1] is None:
            return []
        gap = values[1] - values[0] if metric.higher_is_better or metric.of_labels else values[0] - values[1]
        lost, gained = _lowest(gap, most), _lowest(-gap, most)
    turn = np.concatenate([2 * np.arange(len(lost)), 2 * np.arange(len(gained)) + 1])
    chosen = np.argsort(turn, kind="stable")[:most].tolist()
    rows = np.concatenate([lost, gained]).tolist()
    return [_item(pairs, rows[i], "lost" if i < len(lost) else "gained", values) for i in chosen]


def _flipped(a: Items, b: Items, most: int | None) -> tuple[Rows, Rows]:
    """The first rows that only the baseline has right, and the first that only the candidate has; piece by piece until they are enough."""
    found: tuple[list[Rows], list[Rows]] = ([], [])
    start, step = 0, a.n if most is None else FIRST
    while start < a.n and (most is None or min(sum(map(len, rows)) for rows in found) < most):
        piece = slice(start, start + step)
        right = [_right(side, piece) for side in (a, b)]
        for rows, one, other in zip(found, right, right[::-1], strict=True):
            rows.append(start + np.flatnonzero(one & ~other))
        start, step = start + step, 2 * step
    lost, gained = (np.concatenate([np.zeros(0, np.int64), *rows])[:most] for rows in found)
    return lost, gained


def _right(side: Items, rows: slice) -> npt.NDArray[np.bool_]:
    assert side.truth is not None
    assert side.prediction is not None
    return same_label(replace(side.truth, raw=side.truth.raw[rows]), replace(side.prediction, raw=side.prediction.raw[rows]))


def _lowest(gap: Any, most: int | None) -> Rows:
    """The rows with the lowest gaps below 0, lowest first; of equal ones the first. Few are chosen without sorting all."""
    if most is not None and most < len(gap):
        rows = np.flatnonzero((gap < 0) & (gap <= np.partition(gap, most)[most]))
    else:
        rows = np.flatnonzero(gap < 0)
    return rows[np.argsort(gap[rows], kind="stable")][:most]


def item_values(items: Items, metric: Metric) -> Any:
    """One number per row: its score, its loss, or whether it is right."""
    if metric.error_of_numbers and items.truth_value is not None and items.prediction_value is not None:
        return np.abs(items.truth_value - items.prediction_value)
    if items.score is not None and metric.scored:
        return items.score
    if items.truth is None or items.prediction is None or not metric.of_labels:
        return None
    return same_label(items.truth, items.prediction).astype(float)


def _labelled(items: Items) -> bool:
    return items.truth is not None and items.prediction is not None


def _item(pairs: Pairs, i: int, change: str, values: Any) -> ChangedItem:
    a, b = pairs.baseline, pairs.candidate
    labelled = _labelled(a) and b.prediction is not None
    return ChangedItem(
        id=pairs.names[i] if pairs.names else f"row {i + 1}",
        change=change,
        truth=a.truth.names[a.truth.codes[i]] if labelled and a.truth is not None else None,
        baseline=a.prediction.names[a.prediction.codes[i]] if labelled and a.prediction is not None else float(values[0][i]),
        candidate=b.prediction.names[b.prediction.codes[i]] if labelled and b.prediction is not None else float(values[1][i]),
    )


def with_context(items: Sequence[ChangedItem], baseline: Source | None, candidate: Source | None) -> tuple[ChangedItem, ...]:
    """The items, each with an excerpt of its `prompt`, where a source has one.

    Where an item is told by its scores: also what the right answer is (`target`) and what was answered (`baseline_answer`,
    `candidate_answer`). One source with both systems tells only what both share.
    """
    ids = {item.id for item in items[:EXPLAINED]}
    sides = {"baseline": baseline, "candidate": candidate}
    found = {side: {} if source is None or not ids else context_of(source, ids) for side, source in sides.items()}
    if not any(found.values()):
        return tuple(items)
    out: list[ChangedItem] = []
    for item in items:
        told = {side: known.get(item.id, {}) for side, known in found.items()}
        more = {"prompt": _first(told, "prompt")}
        if item.truth is None:
            more["target"] = _first(told, "target")
        if baseline is not candidate and not isinstance(item.baseline, str):
            more |= {f"{side}_answer": text.get("answer") for side, text in told.items()}
        out.append(replace(item, **{key: value for key, value in more.items() if value}))
    return tuple(out)


def _first(told: Mapping[str, Mapping[str, str]], what: str) -> str | None:
    return next((text[what] for text in told.values() if text.get(what)), None)


def with_excerpts(items: Sequence[ChangedItem], source: Any, keys: Callable[[str], Collection[str]]) -> tuple[ChangedItem, ...]:
    """The items, each with the excerpt of its prompt, where the source is rows that have one: an id may be a hash that tells nothing.

    keys: what an id of the source may be called in the items (itself, or its hash).
    """
    if not isinstance(source, list) or not any(isinstance(row, Mapping) and row.get("excerpt") for row in source):
        return tuple(items)
    known = {key: row["excerpt"] for row in source if row.get("excerpt") for key in keys(str(row.get("id")))}
    return tuple(replace(item, excerpt=known[item.id]) if item.id in known else item for item in items)


def write_flips(path: str | os.PathLike[str], pairs: Pairs, metric: Metric) -> None:
    """All flipped items as CSV, written whole or not at all. A text that a spreadsheet would run as a formula gets a quote in front."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in changed_items(pairs, metric):
        writer.writerow([_harmless(getattr(item, column)) for column in COLUMNS])
    write_text(Path(path), out.getvalue())


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
