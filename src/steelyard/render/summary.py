"""The sentences around the table, the same in text and in Markdown: what was read, how sure, what to bear in mind.

Each function takes `name`, which makes a user's word harmless for the place where it will stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.render.digits import count_text, percent
from steelyard.results.measurement import Interval, Measurement, Row

MOST = 100  # names listed in a block: a report of a million lines is read by nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLine:
    """A line of a block: its name as the user wrote it, how many items it has, and its rows by metric."""

    name: str
    n: int | None
    rows: dict[str, Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Entries of one sort: the classes, or the values of one slice column. `hidden` entries are left to the JSON."""

    by: str
    count: str
    entries: tuple[BlockLine, ...]
    hidden: int = 0

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for entry in self.entries for metric in entry.rows))

    @property
    def rows(self) -> list[Row]:
        return [row for entry in self.entries for row in entry.rows.values()]

    def of(self, metric: str) -> list[tuple[str, Row]]:
        """The named rows of one metric."""
        return [(entry.name, entry.rows[metric]) for entry in self.entries if metric in entry.rows]


def headline(m: Measurement) -> list[Row]:
    """The rows of the whole, and those of a metric that was asked for one class alone."""
    split = _split(m.rows)
    return [row for row in m.rows if row.label is None or row.metric not in split]


def _split(rows: Sequence[Row]) -> set[str]:
    """Metrics that have rows for several classes."""
    labels: dict[str, set[str]] = {}
    for row in rows:
        if row.label is not None:
            labels.setdefault(row.metric, set()).add(row.label)
    return {metric for metric, found in labels.items() if len(found) > 1}


def class_block(m: Measurement) -> RowGroup | None:
    """The rows per class, as entries in the order in which the classes come."""
    split = _split(m.rows)
    found: dict[str, list[Row]] = {}
    for row in m.rows:
        if row.label is not None and row.metric in split:
            found.setdefault(row.label, []).append(row)
    entries = [
        BlockLine(name=label, n=next((r.support for r in rows if r.support is not None), None), rows={r.metric: r for r in rows})
        for label, rows in found.items()
    ]
    return _block("class", "support", entries) if entries else None


def slice_blocks(m: Measurement) -> list[RowGroup]:
    """One block per slice column, with the headline of each slice."""
    found: dict[str, list[BlockLine]] = {}
    for part in m.slices:
        rows = {row.name: row for row in headline(part.measurement)}
        found.setdefault(part.by, []).append(BlockLine(name=part.value, n=part.measurement.n, rows=rows))
    return [_block(by, "n", entries) for by, entries in found.items()]


def _block(by: str, count: str, entries: Sequence[BlockLine]) -> RowGroup:
    return RowGroup(by=by, count=count, entries=tuple(entries[:MOST]), hidden=max(0, len(entries) - MOST))


Name = Callable[[str], str]
SIDES = {"two": "interval", "lower": "lower bound", "upper": "upper bound"}


def measured(m: Measurement, name: Name) -> str:
    """How many items, in how many groups, and which column was read as what."""
    what = f"{name(m.name)}: " if m.name else ""
    what += f"{count_text(m.n)} item{'' if m.n == 1 else 's'}"
    details: Mapping[str, Any] = next((row.details for row in m.rows if row.details), {})
    if isinstance(groups := details.get("groups"), int):
        what += f" in {count_text(groups)} groups"
    if isinstance(repeats := details.get("repeats"), int) and repeats > 1:
        what += f", {count_text(repeats)} repeats"
    roles = ", ".join(role if column == role else f"{role} = {name(column)}" for role, column in m.roles.items() if column != "(array)")
    return f"{what}; columns: {roles}" if roles else what


def design(rows: Sequence[Row]) -> str:
    """How much the groups or repeats cost, for the first row that knows."""
    for row in rows:
        effect = row.details.get("design_effect")
        if isinstance(effect, (int, float)) and not isinstance(effect, bool):
            worth = row.details.get("n_effective", row.details.get("effective_n"))
            answers = row.details.get("answers")
            alike = ""
            if isinstance(worth, (int, float)) and isinstance(answers, int):
                alike = f": {answers:,} answers are worth {worth:,.0f} independent ones"
            return f"design effect of {row.metric} {effect:.2f}{alike}"
    return ""


def interval_word(rows: Sequence[Row]) -> str:
    """The head of the interval column: with the level where all rows share it."""
    kinds = {(row.interval.confidence_level, row.interval.side) for row in rows if row.interval is not None}
    if len(kinds) != 1:
        return "interval"
    ((level, side),) = kinds
    return _kind(level, side)


def _kind(level: float, side: str) -> str:
    return f"{percent(level)} {SIDES[side]}"


def methods(rows: Sequence[Row], name: Name) -> str:
    """Level and method, once: for all rows, or each with the metrics it served."""
    shared = interval_word(rows)
    served: dict[str, list[Row]] = {}
    for row in rows:
        if row.interval is not None:
            served.setdefault(_how(row.interval, shared, name), []).append(row)
    if len(served) <= 1:
        return "".join(f"{shared}: {how}" for how in served)
    return f"{shared}: " + "; ".join(f"{how} for {', '.join(_who(some, rows, name))}" for how, some in served.items())


def _how(interval: Interval, shared: str, name: Name) -> str:
    own = _kind(interval.confidence_level, interval.side)
    return name(interval.method) if own == shared else f"{own} by {name(interval.method)}"


def _who(some: Sequence[Row], rows: Sequence[Row], name: Name) -> list[str]:
    """The metrics of these rows; a row by its full name where its metric was served in several ways."""
    mine = {id(row) for row in some}
    torn = {row.metric for row in rows if row.interval is not None and id(row) not in mine}
    return list(dict.fromkeys(name(row.name if row.metric in torn else row.metric) for row in some))


def all_rows(m: Measurement) -> list[Row]:
    """The rows of the whole and of its slices."""
    return [*m.rows, *(row for part in m.slices for row in part.measurement.rows)]


def lower_is_better(rows: Sequence[Row], name: Name) -> str:
    """Which numbers are good when small: nobody should have to remember it."""
    small = dict.fromkeys(row.metric for row in rows if not row.higher_is_better)
    return f"lower is better: {', '.join(map(name, small))}" if small else ""


def all_warnings(m: Measurement) -> list[str]:
    """The warnings, and those that only a slice has, with its name."""
    found = list(dict.fromkeys(m.warnings))
    for part in m.slices:
        found += [f"{part.by} = {part.value}: {w}" for w in dict.fromkeys(part.measurement.warnings) if w not in m.warnings]
    return found
