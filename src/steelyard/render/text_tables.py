"""Two tables that a terminal needs more thought for: one of words that wrap, and one of guards with their names above their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.render.digits import NONE
from steelyard.render.page import OWN, PageTable
from steelyard.render.terminal import BOLD, DIM, GAP, GUARDS, Terminal, left, right, widest, wrap

NOTE = 24  # columns from which the words at the end of a row may go below it
LEAST_TEXT, MOST_WORD = 11, 16  # columns for words in a table, and for one word, before it is told row by row


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """A head and its cells, numbers on their decimal points."""

    head: str
    cells: list[str]
    numeric: bool

    @property
    def natural(self) -> int:
        return widest([self.head, *self.cells])

    @property
    def least(self) -> int:
        """Numbers are never cut and words of a head never broken; cells of words may wrap between words."""
        if self.numeric:
            return widest([*self.cells, *self.head.split(" ")])
        word = widest([word for cell in self.cells for word in cell.split(" ")])
        return max(min(widest(self.cells), LEAST_TEXT), min(word, MOST_WORD), widest(self.head.split(" ")))


def _columns(table: PageTable, look: Terminal) -> list[TextColumn]:
    out = []
    for i, head in enumerate(table.heads):
        cells = [look.name(str(row[i])) if row[i] else "" for row in table.rows]
        numeric = i in table.numbers
        out.append(TextColumn(head=look.name(head), cells=on_first_point(cells) if numeric else cells, numeric=numeric))
    return out


def on_first_point(texts: Sequence[str]) -> list[str]:
    """Numbers in one column with their first decimal points below one another, all of one width."""
    heads = [text.partition(".")[0] for text in texts]
    before = widest(heads)
    placed = [right(head, before) + text[len(head) :] for head, text in zip(heads, texts, strict=True)]
    width = widest(placed)
    return [left(text, width) for text in placed]


# ---- words that wrap -------------------------------------------------------------------------------------------------


def wrapped_lines(table: PageTable, look: Terminal) -> list[str]:
    """The table in the width: a long note goes below its row, heads wrap, then words; where even that does not fit, row by row."""
    columns = _columns(table, look)
    room = look.width - len(GAP) * len(columns)
    notes = [""] * len(table.rows)
    if len(columns) > 2 and not columns[-1].numeric and columns[-1].natural > NOTE and sum(c.natural for c in columns) > room:
        *columns, last = columns
        notes, room = last.cells, room + len(GAP)
    widths = _widths(columns, room)
    if widths is None:
        return _told_by_row(columns, notes, look)
    heads = [wrap(column.head, width) for column, width in zip(columns, widths, strict=True)]
    tall = max(map(len, heads))
    heads = [[*[""] * (tall - len(head)), *head] for head in heads]
    lines = [look.paint(line, DIM) for line in _side_by_side(heads, columns, widths)]
    for i, note in enumerate(notes):
        cells = [[c.cells[i]] if c.numeric else _wrapped(c.cells[i], width, look) for c, width in zip(columns, widths, strict=True)]
        lines += [*_side_by_side(cells, columns, widths), *_note(note, look)]
    return lines


def _note(text: str, look: Terminal) -> list[str]:
    """Words about a row, below it."""
    return [GAP * 3 + look.paint(line, DIM) for line in wrap(text, look.width - 3 * len(GAP))] if text not in ("", NONE) else []


def _wrapped(text: str, width: int, look: Terminal) -> list[str]:
    return [look.cut(line, width) for line in wrap(text, width, GAP)]


def _side_by_side(cells: Sequence[Sequence[str]], columns: Sequence[TextColumn], widths: Sequence[int]) -> list[str]:
    """Cells of several lines each, in columns: numbers and their heads to the right, words to the left."""
    tall = max(map(len, cells))
    lines = []
    for i in range(tall):
        placed = [
            (right if column.numeric else left)(cell[i] if i < len(cell) else "", width)
            for cell, column, width in zip(cells, columns, widths, strict=True)
        ]
        lines.append((GAP + GAP.join(placed)).rstrip())
    return lines


def _widths(columns: Sequence[TextColumn], room: int) -> list[int] | None:
    """A width for each column, None if they cannot fit. What is left after the least goes to words, then to heads."""
    widths = [column.least for column in columns]
    spare = room - sum(widths)
    if spare < 0:
        return None
    for numeric in (False, True):
        lacking = [i for i, column in enumerate(columns) if column.numeric is numeric]
        while spare and (short := [i for i in lacking if widths[i] < columns[i].natural]):
            widths[max(short, key=lambda i: columns[i].natural - widths[i])] += 1
            spare -= 1
    return widths


def _told_by_row(columns: Sequence[TextColumn], notes: Sequence[str], look: Terminal) -> list[str]:
    """Each row as a small list: its name, then what it has."""
    lines = []
    heads = widest([column.head for column in columns[1:]])
    before = heads + 3 * len(GAP)
    for i, name in enumerate(columns[0].cells):
        lines += [GAP + line for line in wrap(name.strip(), look.width - len(GAP))]
        for column in columns[1:]:
            if (cell := column.cells[i].strip()) not in ("", NONE):
                first, *rest = wrap(cell, look.width - before)
                lines.append(f"{GAP * 2}{look.paint(left(column.head, heads), DIM)}{GAP}{first}")
                lines += [" " * before + line for line in rest]
        lines += _note(notes[i], look)
    return lines


# ---- guards ----------------------------------------------------------------------------------------------------------


def guard_lines(table: PageTable, look: Terminal) -> list[str]:
    """A line per row if its names fit whole beside its numbers, else its names above its numbers. The first column is the verdict."""
    columns = _columns(table, look)
    words, labels = [columns[0].head, *columns[0].cells], [column for column in columns[1:] if not column.numeric]
    figures = [[column.head, *column.cells] for column in columns if column.numeric]
    numbers = _rows([[right(cell, widest(column)) for cell in column] for column in figures])
    start = widest(words) + len(GAP)
    names = _rows([[left(cell, column.natural) for cell in (column.head, *column.cells)] for column in labels])
    if start + widest(names) + len(GAP) + widest(numbers) <= look.width:
        rest = [[GAP.join(pair)] for pair in zip(names, numbers, strict=True)]
    else:
        told = [", ".join(column.head for column in labels if column.head != OWN), *(_told(labels, i) for i in range(len(table.rows)))]
        rest = [
            [*wrap(name, look.width - start), *_beneath(line, figures, i, look.width - start)]
            for i, (name, line) in enumerate(zip(told, numbers, strict=True))
        ]
    lines = []
    for i, (word, (first, *more)) in enumerate(zip(words, rest, strict=True)):
        code = GUARDS.get(word.lower(), BOLD) if i else DIM
        lines.append(look.paint(word, code) + " " * (start - len(word)) + (first if i else look.paint(first, DIM)))
        lines += [" " * start + (line if i else look.paint(line, DIM)) for line in more]
    return [line.rstrip() for line in lines]


def _told(labels: Sequence[TextColumn], i: int) -> str:
    said = [f"{column.cells[i]} {OWN}" if column.head == OWN else column.cells[i] for column in labels if column.cells[i]]
    return ", ".join(said)


def _rows(columns: Sequence[Sequence[str]]) -> list[str]:
    return [GAP.join(cells) for cells in zip(*columns, strict=True)]


def _beneath(line: str, columns: Sequence[Sequence[str]], i: int, width: int) -> list[str]:
    """The numbers of a guard in their columns; where these do not fit, each with its name, and then without heads above."""
    if widest([line]) <= width:
        return [line]
    return wrap("; ".join(f"{column[0]} {column[i].strip()}" for column in columns), width) if i else []
