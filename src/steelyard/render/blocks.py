"""The order in which rows are read: the headline first, then class by class, then slice by slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.results.measurement import Measurement, Row

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
