"""A curve in the terminal: round ticks, the line in braille dots, band, goal and answer; and the scales that the SVG shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from steelyard_old.late_dataclass import dataclass
from steelyard_old.render.digits import figure, nearest, power_of_ten, steady
from steelyard_old.render.terminal import GAP, ascii_text, display_width, label, right, shorten, widest

if TYPE_CHECKING:
    from steelyard_old.results.plan import Curve

NARROWEST, LEAST_PLOT = 30, 16  # columns: of everything, and of the drawing alone
LARGE = 1e7  # ticks from here on as 2e7
Place = tuple[float, float]


# ---- scales ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """From `low` to `high`, even or by the logarithm, with round ticks and their texts."""

    low: float
    high: float
    ticks: tuple[float, ...]
    texts: tuple[str, ...]
    log: bool = False

    def share(self, x: float) -> float:
        """How far along the scale x lies, 0 to 1; what is outside lies at the end. Steady, as logarithms are not."""
        way = math.log if self.log else float
        return steady(min(max((way(x) - way(self.low)) / (way(self.high) - way(self.low)), 0.0), 1.0))


def x_scale(curve: Curve, most: int) -> Scale:
    """Exactly from the first x to the last, with at most `most` ticks."""
    values = [*curve.x, *(x for x, _ in (*curve.points, *_mark(curve)))]
    low, high = min(values), max(values)
    log = curve.log_x and low > 0
    if low == high:
        low, high = (low / 2, high * 2) if log else _around(low, values)
    ticks = _log_ticks(low, high, most) if log else []
    if len(ticks) < 2:  # less than two of them between the ends: even ticks say more
        return Scale(low, high, *_even_ticks(low, high, most), log)
    return Scale(low, high, tuple(ticks), tuple(_tick_text(tick, 0) for tick in ticks), log)


def y_scale(curve: Curve, most: int, *, beside: bool = False) -> Scale:
    """Exactly from the lowest thing to the highest, but a band may add no more than as much again on either side.

    beside: the other line counts, where it is drawn. A terminal has room for one.
    """
    values = [
        *curve.y,
        *(y for _, y in (*curve.points, *(curve.beside if beside else ()), *_mark(curve))),
        *([] if curve.goal is None else [curve.goal]),
    ]
    low, high = min(values), max(values)
    band = [*(curve.low or ()), *(curve.high or ())]
    if band:
        room = (high - low) or math.inf
        low, high = min(low, max(min(band), low - room)), max(high, min(max(band), high + room))
    if high - low <= 1e-12 * max(1.0, abs(low), abs(high)):  # rounding, which no axis can show
        low, high = _around(low, values)
    return Scale(low, high, *_even_ticks(low, high, most))


def even_scale(low: float, high: float, most: int) -> Scale:
    """Exactly from `low` to `high`, with at most `most` round ticks; a single value gets some room around it."""
    if low == high:
        low, high = _around(low, [low])
    return Scale(low, high, *_even_ticks(low, high, most))


def log_scale(low: float, high: float, most: int) -> Scale:
    """By the logarithm from `low` to `high`, both above 0, with at most `most` ticks."""
    ticks = _log_ticks(low, high, most)
    return Scale(low, high, tuple(ticks), tuple(_tick_text(tick, 0) for tick in ticks), True)


def _mark(curve: Curve) -> tuple[Place, ...]:
    return () if curve.mark is None else (curve.mark,)


def _around(x: float, values: Sequence[float]) -> Place:
    """Some room around a single value, inside 0..1 for a share."""
    if all(0 <= value <= 1 for value in values):
        return max(0.0, x - 0.05), min(1.0, x + 0.05)
    room = abs(x) / 10 or 1.0
    return x - room, x + room


def _even_ticks(low: float, high: float, most: int) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """The multiples of 1, 2 or 5 times a power of ten from `low` to `high`, as many as `most` allows, and their texts."""
    least = (high - low) / most
    if not 1e-290 < least < 1e290:  # where floats run out, the ends themselves
        return (low, high), (figure(low), figure(high))
    power = power_of_ten(least)
    for factor, place in ((f, p) for p in (power, power + 1) for f in (1, 2, 5)):
        step, decimals = factor * float(f"1e{place}"), max(0, -place)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            break
    ticks = tuple(i * step for i in range(first, last + 1))
    texts = tuple(_tick_text(tick, decimals) for tick in ticks)
    alike = len(set(texts)) < len(texts)
    return ticks, tuple(f"{tick:,.{decimals}f}" for tick in ticks) if alike else texts


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    """The densest of 1-2-5, powers of ten, every second power ... that has at most `most` between the ends."""
    powers = range(power_of_ten(low), power_of_ten(high) + 2)
    tens = {p: float(f"1e{p}") for p in powers}
    choices = [[f * tens[p] for p in powers for f in (1, 2, 5)], *([tens[p] for p in powers if p % every == 0] for every in range(1, 8))]
    inside = [[tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)] for ticks in choices]
    return next((ticks for ticks in inside if len(ticks) <= most), inside[-1])


def _tick_text(x: float, decimals: int) -> str:
    if x and (abs(x) >= LARGE or decimals > 6):
        mantissa, _, power = f"{x:.3e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{x:,.{decimals}f}" if x == 0 or x >= 1 or decimals else figure(x)


def sorted_line(curve: Curve, y: Sequence[float]) -> list[Place]:
    """The (x, y) from left to right."""
    return sorted(zip(curve.x, y, strict=True), key=lambda place: place[0])


# ---- the drawing -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Brush:
    """The characters of a curve, and how many dots of the line one of them holds across and down."""

    across: int
    down: int
    band: str
    goal: str
    drop: str
    point: str
    mark: str
    side: str
    side_tick: str
    corner: str
    floor: str
    floor_tick: str


BRAILLE = Brush(2, 4, "░", "╌", "┊", "○", "●", "│", "┤", "└", "─", "┬")
ASCII = Brush(1, 1, ".", "-", ":", "o", "X", "|", "+", "+", "-", "+")
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # of a braille character: its left column, its right one


@dataclass(frozen=True, slots=True)
class Canvas:
    """A grid of characters between two scales; what is drawn later lies on top."""

    x: Scale
    y: Scale
    brush: Brush
    cells: list[list[str]]

    def place(self, x: float, y: float) -> tuple[int, int]:
        """The dot of (x, y), counted from the top left."""
        across, down = len(self.cells[0]) * self.brush.across, len(self.cells) * self.brush.down
        return nearest(self.x.share(x) * (across - 1)), nearest((1 - self.y.share(y)) * (down - 1))

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """The column and the row of the character at (x, y)."""
        column, row = self.place(x, y)
        return column // self.brush.across, row // self.brush.down

    def band(self, low: Sequence[Place], high: Sequence[Place]) -> None:
        tops: dict[int, int] = {}
        bottoms: dict[int, int] = {}
        for column, row in _joined([self.cell(*place) for place in high]):
            tops[column] = min(tops.get(column, row), row)
        for column, row in _joined([self.cell(*place) for place in low]):
            bottoms[column] = max(bottoms.get(column, row), row)
        for column, top in tops.items():
            for row in range(top, bottoms.get(column, top) + 1):
                self.cells[row][column] = self.brush.band

    def goal(self, y: float) -> None:
        row = self.cell(self.x.low, y)[1]
        for column in range(0, len(self.cells[0]), 2 if self.brush is ASCII else 1):
            self.cells[row][column] = self.brush.goal

    def drop(self, x: float, y: float) -> None:
        """From the answer down to the axis, where its x is read."""
        column, row = self.cell(x, y)
        for below in self.cells[row + 1 :]:
            below[column] = self.brush.drop

    def line(self, places: Sequence[Place]) -> None:
        inked: dict[tuple[int, int], int] = {}
        for column, row in _joined([self.place(*place) for place in places]):
            cell = column // self.brush.across, row // self.brush.down
            dot = _DOTS[column % self.brush.across][row % self.brush.down]
            inked[cell] = inked.get(cell, 0) | dot
        for (column, row), dots in inked.items():
            self.cells[row][column] = "*" if self.brush is ASCII else chr(0x2800 + dots)

    def put(self, character: str, x: float, y: float) -> None:
        column, row = self.cell(x, y)
        self.cells[row][column] = character


def _joined(corners: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The corners and every dot on the straight way from one to the next."""
    dots = list(corners[:1])
    for (x0, y0), (x1, y1) in pairwise(corners):
        steps = max(abs(x1 - x0), abs(y1 - y0))
        dots += [(nearest(x0 + (x1 - x0) * i / steps), nearest(y0 + (y1 - y0) * i / steps)) for i in range(1, steps + 1)]
    return dots


def curve_text(curve: Curve, width: int, height: int = 12, ascii_only: bool = False) -> list[str]:
    """The curve in at most `width` columns, its drawing `height` rows high; nothing where it would be too narrow to read.

    >>> from steelyard_old.results.plan import Curve
    >>> falling = Curve(x_label="n", y_label="theta", x=(100, 400, 1600), y=(8, 4, 2), goal=3, mark=(711, 3))
    >>> print("\\n".join(curve_text(falling, 40, 6, ascii_only=True)))
    theta
    8 +****
      |    *****
    6 +         *******
    4 +                *******
      |- - - - - - - - - - - -**X******- - -
    2 +                         :      *****
      ++--------+-----------+--------+------
       100     200         500     1,000   n
    -- goal 3   X n = 711: theta = 3
    """
    if not curve.x or width < NARROWEST:
        return []
    brush = ASCII if ascii_only else BRAILLE
    y = y_scale(curve, max(4, height * 2 // 5))  # fewer than 4 could leave a single round number
    gutter = widest(y.texts) + 1
    room = width - gutter - 1
    if room < LEAST_PLOT:
        return []
    x = x_scale(curve, max(2, room // 9))
    canvas = Canvas(x, y, brush, [[" "] * room for _ in range(height)])
    _draw(curve, canvas)
    rows = {canvas.cell(x.low, tick)[1]: text for tick, text in zip(y.ticks, y.texts, strict=True)}
    lines = [_words(curve.y_label, width, ascii_only)]
    for i, cells in enumerate(canvas.cells):
        side = brush.side_tick if i in rows else brush.side
        lines.append(right(rows.get(i, ""), gutter - 1) + " " + side + "".join(cells))
    lines += _floor(canvas, gutter, _words(curve.x_label, room, ascii_only))
    return [line.rstrip() for line in (*lines, *_key(curve, brush, width, ascii_only))]


def _draw(curve: Curve, canvas: Canvas) -> None:
    if curve.low is not None and curve.high is not None:
        canvas.band(sorted_line(curve, curve.low), sorted_line(curve, curve.high))
    if curve.goal is not None:
        canvas.goal(curve.goal)
    if curve.mark is not None:
        canvas.drop(*curve.mark)
    line = sorted_line(curve, curve.y)
    canvas.line(line)
    for place in (*curve.points, *(line if len(line) == 1 else ())):  # a line of one place would be a speck
        canvas.put(canvas.brush.point, *place)
    if curve.mark is not None:
        canvas.put(canvas.brush.mark, *curve.mark)


def _floor(canvas: Canvas, gutter: int, label: str) -> list[str]:
    """The axis below, its numbers, and its name: beside the numbers where there is room, else below them."""
    brush, room = canvas.brush, len(canvas.cells[0])
    floor, below, taken = [brush.floor] * room, "", 0
    for tick, text in zip(canvas.x.ticks, canvas.x.texts, strict=True):
        column = canvas.cell(tick, canvas.y.low)[0]
        start = min(max(column - len(text) // 2, 0), room - len(text))
        floor[column] = brush.floor_tick
        if start >= taken:
            below, taken = below.ljust(start) + text, start + len(text) + 1
    indent = " " * gutter
    lines = [indent + brush.corner + "".join(floor)]
    beside = room - display_width(label) >= len(below) + len(GAP)
    if beside:
        below += right(label, room - len(below))
    return [*lines, indent + " " + below, *([] if beside else [indent + " " + right(label, room)])]


def _key(curve: Curve, brush: Brush, width: int, ascii_only: bool) -> list[str]:
    """What the characters mean, on as many lines as it takes."""
    parts = [f"{brush.point} seen"] if curve.points else []
    if curve.low is not None and curve.high is not None:
        parts.append(f"{brush.band * 2} interval")
    if curve.goal is not None:
        parts.append(f"{brush.goal * 2} goal {figure(curve.goal)}")
    if curve.mark is not None:
        x, y = (figure(value) for value in curve.mark)
        names = [_words(label, width // 3, ascii_only) for label in (curve.x_label, curve.y_label)]
        parts.append(f"{brush.mark} {names[0]} = {x}: {names[1]} = {y}")
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}{GAP} {part}" if lines else part
        if lines and display_width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _words(text: str, width: int, ascii_only: bool) -> str:
    """A label, harmless and in at most `width` columns."""
    shown = ascii_text(label(text)) if ascii_only else label(text)
    return shorten(shown, width, "..." if ascii_only else "…")
