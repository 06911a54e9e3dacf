"""A small drawing of an interval on an axis that its neighbours share: ├───●──┤, and an arrow where it has no end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.metrics.catalogue import find
from steelyard.results.measurement import Row
from steelyard.rounding import nearest, power_of_ten, steady

WIDEST, NARROWEST = 24, 10


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
