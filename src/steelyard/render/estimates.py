"""Estimates at a terminal: aligned, digits justified by the interval, a drawing per row; or metrics side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from steelyard.render import blocks, summary
from steelyard.render.digits import count_text, row_texts
from steelyard.render.drawing import NARROWEST, WIDEST, axis_key, axis_of, draw, pen_of
from steelyard.render.layout import GAP, left, on_point, right, widest
from steelyard.render.terminal import BOLD, DIM, Terminal
from steelyard.results.measurement import Row

LONG = 45  # more rows than this in a block: one line per name, metrics side by side, if they fit
LEAST_NAME, FAIR_NAME = 8, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBlock:
    """Rows under one head that share an axis; names as users wrote them."""

    head: str
    names: Sequence[str]
    rows: Sequence[Row]
    scale: Sequence[Row]


def breakdown_lines(block: blocks.RowGroup, look: Terminal) -> list[str]:
    """A block on one line per name if that is long and fits, else a section per metric, each row with its drawing."""
    lines = grid_lines(block, look) if len(block.rows) > LONG and len(block.metrics) > 1 else []
    if not lines:
        sections = [_section(block, metric, look) for metric in block.metrics]
        lines = [look.cut(f"by {look.name(block.by)}", look.width), *table_lines(sections, look)]
    hidden = f"{count_text(block.hidden)} more; --format json has them all"
    return [*lines, hidden] if block.hidden else lines


def _section(block: blocks.RowGroup, metric: str, look: Terminal) -> RowBlock:
    named = block.of(metric)
    key = axis_key(named[0][1])
    scale = [row for row in block.rows if axis_key(row) == key]
    return RowBlock(head=metric, names=[GAP + look.name(name) for name, _ in named], rows=[row for _, row in named], scale=scale)


# ---- a table with drawings -------------------------------------------------------------------------------------------


def table_lines(sections: Sequence[RowBlock], look: Terminal) -> list[str]:
    """All sections in the same columns: name, estimate, interval, n, drawing. Every line is equally wide."""
    rows = [row for section in sections for row in section.rows]
    texts = [row_texts(row) for row in rows]
    estimates = _column("estimate", on_point([e for e, _ in texts]), right)
    intervals = _column(summary.interval_word(rows), on_point([i for _, i in texts], left), left)
    counts = _column("n", [count_text(row.n) for row in rows], right)
    columns = [estimates, intervals, counts]
    names = [look.name(name) for section in sections for name in (section.head, *section.names)]
    name_width, drawing_width = _room(widest(names), look.width - sum(len(GAP) + widest(column) for column in columns))
    widths = [name_width, *map(widest, columns), drawing_width]
    lines: list[str] = []
    above: list[str] = [""] * len(widths)
    cells = iter(zip(*(column[1:] for column in columns), strict=True))
    for section in sections:
        axis = axis_of(section.scale)
        heads = [
            look.cut(look.name(section.head), name_width),
            *(column[0] for column in columns),
            axis.header(drawing_width) if axis else "",
        ]
        lines += _head_line(heads, above, widths, look)
        above = heads
        for name, row in zip(section.names, section.rows, strict=True):
            shown = [left(look.cut(look.name(name), name_width), name_width), *next(cells)]
            lines.append(_join(shown, draw(row, axis, drawing_width, pen_of(look.ascii_only)), look))
    return lines


def _head_line(heads: Sequence[str], above: Sequence[str], widths: Sequence[int], look: Terminal) -> list[str]:
    """The heads that differ from those of the section above: what is repeated is not read."""
    fresh = [left("" if head == old else head, width) for head, old, width in zip(heads, above, widths, strict=True)]
    return [_join(fresh[:-1], fresh[-1], look, head=True)] if any(map(str.strip, fresh)) else []


def _column(head: str, cells: Sequence[str], place: Callable[[str, int], str]) -> list[str]:
    """A head and its cells, all of one width."""
    width = widest([head, *cells])
    return [place(text, width) for text in (head, *cells)]


def _room(longest: int, room: int) -> tuple[int, int]:
    """Columns for names and for the drawing: the drawing shrinks first, then long names, then the drawing goes."""
    name = min(longest, max(FAIR_NAME, room - len(GAP) - WIDEST))
    drawing = min(WIDEST, room - name - len(GAP))
    return (name, drawing) if drawing >= NARROWEST else (min(longest, max(LEAST_NAME, room)), 0)


def _join(cells: Sequence[str], drawing: str, look: Terminal, head: bool = False) -> str:
    painted = [look.paint(cell, DIM) for cell in cells] if head else [cells[0], look.paint(cells[1], BOLD), *cells[2:]]
    return GAP.join([*painted, look.paint(drawing, DIM) if head else drawing] if drawing else painted)


# ---- a grid: metrics side by side ------------------------------------------------------------------------------------


def grid_lines(block: blocks.RowGroup, look: Terminal) -> list[str]:
    """One line per name, per metric its estimate and interval; nothing if that does not fit the width."""
    counts = _column(block.count, ["" if entry.n is None else count_text(entry.n) for entry in block.entries], right)
    columns = [counts, *(_cells(block, metric, look) for metric in block.metrics)]
    names = [f"by {look.name(block.by)}", *(GAP + look.name(entry.name) for entry in block.entries)]
    room = look.width - sum(len(GAP) + widest(column) for column in columns)
    if room < min(widest(names), LEAST_NAME):
        return []
    name_width = min(widest(names), room)
    cut = [left(look.cut(name, name_width), name_width) for name in names]
    lines = [GAP.join(cells) for cells in zip(cut, *columns, strict=True)]
    return [GAP.join(look.paint(cell, DIM) for cell in (cut[0], *(column[0] for column in columns))), *lines[1:]]


def _cells(block: blocks.RowGroup, metric: str, look: Terminal) -> list[str]:
    """The column of one metric: estimate and interval, each on its decimal point."""
    texts = [row_texts(entry.rows[metric]) if metric in entry.rows else ("", "") for entry in block.entries]
    pairs = zip(on_point([e for e, _ in texts]), on_point([i for _, i in texts], left), strict=True)
    return _column(look.name(metric), [f"{estimate} {interval}" for estimate, interval in pairs], left)
