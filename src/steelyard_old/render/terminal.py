"""What a terminal can carry: users' words made harmless, widths, lines, the few marks of emphasis, and estimates
drawn beside their numbers.

A label may hold anything, and a terminal obeys some of it. Escaped characters stay visible (`\\x1b`), because a label that silently
loses a character is another label. Colour only repeats what the words already say.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence

from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern
from steelyard_old.metrics.catalogue import find
from steelyard_old.render.digits import EMPTY, interval_word, nearest, power_of_ten, row_texts, steady
from steelyard_old.render.page import Estimates, RowBlock, RowGroup
from steelyard_old.results.measurement import Row

LONGEST, LONG = 400, 2000  # characters of a name and of a sentence on a page, which must not grow without end
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Joiners have honest uses in Persian, Indic scripts and emoji and move no cursor; every other format character is shown.
_JOINERS = "\u200c\u200d"
_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")
GAP = "  "
_HEAD = late_pattern(r"\[?-?\d+")  # of a number or of an interval: all before its first decimal point


# ---- users' words made harmless ----------------------------------------------------------------------------------------


def harmless(text: str) -> str:
    r"""The text without anything a terminal obeys: control, ANSI, bidirectional and invisible characters, lone surrogates.

    >>> print(harmless("red \x1b[31m"))
    red \x1b[31m
    """
    if text.isprintable():  # no character of `_OBEYED` is
        return text
    return "".join(_shown(c) if unicodedata.category(c) in _OBEYED and c not in _JOINERS else c for c in text)


def _shown(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def ascii_text(text: str) -> str:
    """The text for a terminal whose encoding carries nothing else; other characters as escapes, so none are lost."""
    return harmless(text).encode("ascii", "backslashreplace").decode("ascii")


def label(text: str) -> str:
    """A name of a user on a terminal. The empty name is a name too, and must not look like a hole in the table."""
    return harmless(text) or EMPTY


def short(text: str, most: int) -> str:
    """The text in at most `most` characters, its middle left out."""
    return text if len(text) <= most else f"{text[: most - most // 4]}…{text[-(most // 4) :]}"


# ---- columns and lines --------------------------------------------------------------------------------------------------


def display_width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining marks and joiners none.

    >>> display_width("猫"), display_width("e\\u0301")
    (2, 1)
    """
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def left(text: str, width: int) -> str:
    return text + " " * (width - display_width(text))


def right(text: str, width: int) -> str:
    return " " * (width - display_width(text)) + text


def widest(texts: Sequence[str]) -> int:
    return max(map(display_width, texts), default=0)


def on_point(texts: Sequence[str], words: Callable[[str, int], str] = right) -> list[str]:
    """The texts padded to one width, their first decimal points in one column; what starts with no number as `words` says."""
    heads = [found[0] if (found := _HEAD.match(text)) else "" for text in texts]
    before = widest(heads)
    placed = [right(head, before) + text[len(head) :] if head else text for head, text in zip(heads, texts, strict=True)]
    numbers = widest([p for head, p in zip(heads, placed, strict=True) if head])
    width = max(numbers, widest(placed))
    return [words(left(p, numbers) if head else p, width) for head, p in zip(heads, placed, strict=True)]


def shorten(text: str, width: int, mark: str = "…") -> str:
    """The text in at most `width` columns: its middle goes, since names of classes and files differ at both ends."""
    if display_width(text) <= width:
        return text
    room = max(width - display_width(mark), 0)
    return _start(text, room - room // 2) + mark + _start(text[::-1], room // 2)[::-1]


def _start(text: str, width: int) -> str:
    used = 0
    for i, character in enumerate(text):
        used += _columns(character)
        if used > width:
            return text[:i]
    return text


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most `width` columns where words allow; a word is never broken, so a path or a command can be copied."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line.strip() and display_width(longer) > width:
            lines.append(line)
            longer = indent + word
        line = longer
    return [*lines, line]


BOLD, DIM, YELLOW, RED = "1", "2", "33", "1;31"
VERDICTS = {"pass": "1;32", "regression": RED, "inconclusive": "1;33"}
GUARDS = {**VERDICTS, "changed": YELLOW, "unconfirmed": YELLOW, "waived": YELLOW, "advisory": YELLOW}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """What the terminal can carry. Colour only repeats what the words already say."""

    width: int
    color: bool
    ascii_only: bool

    def name(self, text: str) -> str:
        """A user's word, harmless here."""
        shown = label(text)
        return ascii_text(shown) if self.ascii_only else shown

    def cut(self, text: str, width: int) -> str:
        return shorten(text, width, "..." if self.ascii_only else "…")

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text.strip() else text


# ---- estimates, each drawn beside its numbers -----------------------------------------------------------------------------


def estimate_lines(block: Estimates, look: Terminal) -> list[list[str]]:
    """The lines of a block of estimates."""
    return [breakdown_lines(block.breakdown, look) if block.breakdown is not None else table_lines(block.sections, look)]


WIDEST, NARROWEST = 24, 10  # columns of a drawing


@dataclass(frozen=True, slots=True)
class Pen:
    """The characters of a drawing."""

    first: str
    line: str
    point: str
    last: str
    to_left: str
    to_right: str


UNICODE = Pen("├", "─", "●", "┤", "←", "→")
ASCII = Pen("|", "-", "o", "|", "<", ">")


def pen_of(ascii_only: bool) -> Pen:
    """The characters that a terminal can show."""
    return ASCII if ascii_only else UNICODE


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` to `high`, on round numbers with so many `decimals`."""

    low: float
    high: float
    decimals: int

    def header(self, width: int) -> str:
        """The ends of the axis, above its ends; nothing where they do not fit."""
        low, high = self._text(self.low), self._text(self.high)
        return low + high.rjust(width - len(low)) if len(low) + len(high) < width else ""

    def _text(self, x: float) -> str:
        return f"{x:.{self.decimals}f}" if self.decimals <= 6 and abs(x) < 1e6 else f"{x:.3g}"

    def column(self, x: float, width: int) -> int:
        share = (x - self.low) / (self.high - self.low)
        return min(max(nearest(share * (width - 1)), 0), width - 1)


def axis_key(row: Row) -> str:
    """Rows of one key share an axis: bounded metrics of one direction do; the rest have units of their own."""
    metric = find(row.metric)
    bounded = metric is not None and metric.width is not None
    return f"bounded {row.higher_is_better}" if bounded else row.metric


def axis_of(rows: Sequence[Row]) -> Axis | None:
    """The axis that shows all these rows and no more; an end that is only the metric's range does not widen it."""
    marks = [x for row in rows for x in (row.estimate, *_bounds(row)) if x is not None and math.isfinite(x)]
    if not marks:
        return None
    low, high = min(marks), max(marks)
    if low == high:
        low, high = _around(low, all(0 <= x <= 1 for x in marks))
    step = _round_step((high - low) / 8)
    if step is None:
        return None
    decimals = max(0, -power_of_ten(step))
    ends = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return Axis(*ends, decimals) if math.isfinite(ends[1] - ends[0]) and ends[0] < ends[1] else None


def _bounds(row: Row) -> tuple[float | None, float | None]:
    """The ends that the data gave: both, or the one of a one-sided interval."""
    if row.interval is None:
        return None, None
    low, high, side = row.interval.low, row.interval.high, row.interval.side
    return (None if side == "upper" else _finite(low)), (None if side == "lower" else _finite(high))


def _finite(x: float | None) -> float | None:
    return x if x is not None and math.isfinite(x) else None


def _around(x: float, share: bool) -> tuple[float, float]:
    """Some room around a single point, within 0..1 for a share."""
    room = 0.05 if share else abs(x) / 10 or 1.0
    return (max(0.0, x - room), min(1.0, x + room)) if share else (x - room, x + room)


def _round_step(least: float) -> float | None:
    """The smallest of 1, 2, 5 times a power of ten that is not below `least`; None where floats run out."""
    if not 1e-290 < least < 1e290:
        return None
    power = power_of_ten(least)
    for factor, place in ((1, power), (2, power), (5, power), (1, power + 1)):
        step = factor * float(f"1e{place}")
        if step >= steady(least):
            return step
    return None


def draw(row: Row, axis: Axis | None, width: int, pen: Pen = UNICODE) -> str:
    """The row on the axis, in exactly `width` columns; blank where there is nothing to show."""
    cells = [" "] * width
    if axis is None or not width:
        return "".join(cells)
    if row.interval is not None:
        _line(cells, row, axis, pen)
    if row.estimate is not None and math.isfinite(row.estimate):
        at = axis.column(row.estimate, width)
        if cells[at] == pen.to_right:  # the arrow stays: it is the only sign that there is no end
            at = max(at - 1, 0)
        elif cells[at] == pen.to_left:
            at = min(at + 1, width - 1)
        cells[at] = pen.point
    return "".join(cells)


def _line(cells: list[str], row: Row, axis: Axis, pen: Pen) -> None:
    low, high = _bounds(row)
    first = 0 if low is None else axis.column(low, len(cells))
    last = len(cells) - 1 if high is None else axis.column(high, len(cells))
    cells[first : last + 1] = [pen.line] * (last + 1 - first)
    cells[last] = pen.to_right if high is None else pen.last
    cells[first] = pen.to_left if low is None else pen.first if first < last or high is None else pen.line


MANY = 45  # more rows than this in a block: one line per name, metrics side by side, if they fit
LEAST_NAME, FAIR_NAME = 8, 16


def breakdown_lines(block: RowGroup, look: Terminal) -> list[str]:
    """A block on one line per name if that is long and fits, else a section per metric, each row with its drawing."""
    lines = grid_lines(block, look) if len(block.rows) > MANY and len(block.metrics) > 1 else []
    if not lines:
        sections = [_section(block, metric, look) for metric in block.metrics]
        lines = [look.cut(f"by {look.name(block.by)}", look.width), *table_lines(sections, look)]
    hidden = f"{block.hidden:,} more; the JSON has them all"
    return [*lines, hidden] if block.hidden else lines


def _section(block: RowGroup, metric: str, look: Terminal) -> RowBlock:
    named = block.of(metric)
    key = axis_key(named[0][1])
    scale = [row for row in block.rows if axis_key(row) == key]
    return RowBlock(head=metric, names=[GAP + look.name(name) for name, _ in named], rows=[row for _, row in named], scale=scale)


# ---- a table with drawings -------------------------------------------------------------------------------------------


def table_lines(sections: Sequence[RowBlock], look: Terminal) -> list[str]:
    """All sections in the same columns: name, estimate, interval, n, drawing. Every line is equally wide."""
    rows = [row for section in sections for row in section.rows]
    texts = [row_texts(row) for row in rows]
    axes = [axis_of(section.scale) for section in sections]
    word = interval_word(rows)
    estimates = _column("estimate", on_point([e for e, _ in texts]), right)
    intervals = _column(word, on_point([i for _, i in texts], left), left)
    counts = _column("n", [f"{row.n:,}" for row in rows], right)
    columns = [estimates, intervals, counts]
    names = [look.name(name) for section in sections for name in (section.head, *section.names)]
    name_width, drawing_width = _room(widest(names), look.width - sum(len(GAP) + widest(column) for column in columns))
    widths = [name_width, *map(widest, columns), drawing_width]
    lines: list[str] = []
    above: list[str] = [""] * len(widths)
    cells = iter(zip(*(column[1:] for column in columns), strict=True))
    for section, axis in zip(sections, axes, strict=True):
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


def grid_lines(block: RowGroup, look: Terminal) -> list[str]:
    """One line per name, per metric its estimate and interval; nothing if that does not fit the width."""
    counts = _column(block.count, ["" if entry.n is None else f"{entry.n:,}" for entry in block.entries], right)
    columns = [counts, *(_cells(block, metric, look) for metric in block.metrics)]
    names = [f"by {look.name(block.by)}", *(GAP + look.name(entry.name) for entry in block.entries)]
    room = look.width - sum(len(GAP) + widest(column) for column in columns)
    if room < min(widest(names), LEAST_NAME):
        return []
    name_width = min(widest(names), room)
    cut = [left(look.cut(name, name_width), name_width) for name in names]
    lines = [GAP.join(cells) for cells in zip(cut, *columns, strict=True)]
    return [GAP.join(look.paint(cell, DIM) for cell in (cut[0], *(column[0] for column in columns))), *lines[1:]]


def _cells(block: RowGroup, metric: str, look: Terminal) -> list[str]:
    """The column of one metric: estimate and interval, each on its decimal point."""
    texts = [row_texts(entry.rows[metric]) if metric in entry.rows else ("", "") for entry in block.entries]
    pairs = zip(on_point([e for e, _ in texts]), on_point([i for _, i in texts], left), strict=True)
    return _column(look.name(metric), [f"{estimate} {interval}" for estimate, interval in pairs], left)
