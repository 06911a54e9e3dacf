"""What there is to say about references, as plain words and rows, before it is text or a page. Nothing is escaped here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.render.digits import NONE, nearest
from steelyard_old.render.pages.verdict import spec_text
from steelyard_old.results.base import NOT_SET
from steelyard_old.results.references import (
    ChangedReference,
    ImportedFile,
    ListedReference,
    Listing,
    RecordedChange,
    ReferenceChange,
    ReferenceDetail,
    ReferenceGate,
    ReferenceSeries,
)

BLOCKS = "▁▂▃▄▅▆▇█"
Cells = list[str]


def figure(x: object) -> str:
    """A number as a person would write it, another value as it is, nothing as a dash.

    >>> figure(66.352676), figure(4096), figure(None), figure(True), figure("FP8")
    ('66.3527', '4,096', '-', 'yes', 'FP8')
    """
    if x is None:
        return NONE
    if isinstance(x, bool):
        return "yes" if x else "no"
    if isinstance(x, int):
        return f"{x:,}"
    return f"{x:.6g}" if isinstance(x, float) else str(x)


def plain(value: object) -> str:
    """The value of a spec key as a file has it."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def about(model: str, spec: Mapping[str, Any]) -> str:
    """A model and its spec."""
    said = spec_text(spec)
    return f"{model} [{said}]" if said else model


def moment(time: str) -> str:
    """A time to the minute."""
    return time[:16].replace("T", " ")


def day(time: str | None) -> str:
    """The date of a time."""
    return time[:10] if time else NONE


BARE = "bare-score threshold"  # what a bare score would be held to; the threshold of a run with items is in its verdict
LIST_HEADS = ("model", "value", "n", "runs", "items", BARE, "detects", "recorded", "by")
LIST_NUMBERS = (1, 2, 3, 5, 6)


def list_cells(row: ListedReference) -> Cells:
    numbers = [figure(row.value), figure(row.n), figure(row.runs), figure(row.has_items), figure(bare_score_threshold(row))]
    return [
        about(row.model, row.spec),
        *numbers,
        NONE if row.mde is None else f"{row.mde:.4g}",
        day(row.recorded),
        row.by or NONE,
    ]


def bare_score_threshold(told: ListedReference | ReferenceGate) -> float | None:
    """What a bare score would be held to; answers of 0.1.0 call it the threshold."""
    return told.threshold if told.bare_score_threshold is NOT_SET else told.bare_score_threshold


def by_task(result: Listing) -> dict[str, list[ListedReference]]:
    found: dict[str, list[ListedReference]] = {}
    for row in result.rows:
        found.setdefault(row.task, []).append(row)
    return found


RULE_HEADS = ("rule", "value", "from")


def gate_facts(result: ReferenceDetail) -> list[tuple[str, str]]:
    """What the reference does, as labelled sentences."""
    gate = result.gate or ReferenceGate(design=NONE)
    named = (
        (BARE, bare_score_threshold(gate)),
        ("minimum detectable effect", gate.mde),
        ("the same, paired", gate.paired_mde),
        ("sigma used", gate.sigma),
    )
    out = [(label, figure(number)) for label, number in named if number is not None]
    return [("design", gate.design), *out, *([("note", gate.note)] if gate.note else [])]


def compared_lines(result: ReferenceDetail) -> list[tuple[str, str]]:
    """Every entry of the model checked against the spec: its line, and what differs."""
    out = []
    for each in result.held or ():
        parts = [f"{key} is {plain(pair['recorded'])}, asked {plain(pair['asked'])}" for key, pair in each.differ.items()]
        out.append((f"line {each.line}, {figure(each.value)}", "; ".join(parts) or "matches"))
    return out


STORY_HEADS = ("time", "what", "old", "new", "n", "by", "why")
STORY_NUMBERS = (2, 3, 4)


def story_cells(change: RecordedChange) -> Cells:
    numbers = [figure(change.old), figure(change.new), figure(change.n)]
    return [day(change.time), change.action, *numbers, change.by or NONE, change.reason or NONE]


def story_sum(series: ReferenceSeries) -> str:
    """First to last, and their difference."""
    if series.first is None:
        return f"no change on record; the file says {figure(series.on_file)}" if series.on_file is not None else "no value on record"
    if len(series.numbers) == 1:
        return f"{figure(series.first)}, never changed"
    return f"{figure(series.first)} to {figure(series.last)}, together {series.change:+.4g}"


def spark(values: Sequence[float]) -> str:
    """Values as a row of blocks, the lowest and the highest at either end of the scale; nothing for fewer than two.

    >>> spark([26.48, 26.0, 25.8])
    '█▃▁'
    """
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return ""
    halves = [value / 2 for value in values]  # the distance of two doubles may be none
    low, high = min(halves), max(halves)
    return "".join(BLOCKS[nearest((half - low) / (high - low) * (len(BLOCKS) - 1)) if high > low else 0] for half in halves)


def changed_cells(result: ReferenceChange) -> tuple[tuple[str, ...], list[Cells]]:
    """What a change did, as a table."""
    if result.action == "import":
        return ("task", "file", "added", "replaced", "there already"), [
            [row.task, row.file, *map(figure, (row.added, row.replaced, row.unchanged))]
            for row in result.rows
            if isinstance(row, ImportedFile)
        ]
    return ("task", "model", "value", "file"), [
        [row.task, about(row.model, row.spec), figure(row.value), row.file] for row in result.rows if isinstance(row, ChangedReference)
    ]
