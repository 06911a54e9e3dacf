"""Estimates with their intervals, one below the other on one axis, and the lines they are compared with: zero, margin, theta."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard_old.late_dataclass import dataclass
from steelyard_old.render.digits import ends_of, figure, row_texts
from steelyard_old.render.pictures.canvas import FAINT, GOAL, HALO, INK, SEEN, dot, line, picture, text
from steelyard_old.render.terminal import shorten
from steelyard_old.results.measurement import Row

if TYPE_CHECKING:
    from steelyard_old.render.curve_text import Scale

ROW, AXIS, LABEL = 38, 26, 18  # heights: of a row, of the axis below, of the name of a line above
LEFT, RIGHT = 0.02, 0.98  # where the axis begins and ends
WORDS = 20  # of a row's height, for its name and numbers
NAME = 30  # columns of a name beside its numbers, on a phone
LETTER = 0.021  # of the width of a phone, for one letter of the name of a line
HALF = 0.5 + 1e-9  # in the middle is not beyond it, whatever the last bits
TICKS = 6
DASHES = {"zero": "", "margin": "7 4", "theta": "2 4", "reference": "7 4"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One estimate. An end that is None has no bound there, and gets an arrow."""

    name: str
    estimate: float | None
    low: float | None = None
    high: float | None = None
    value_text: str = ""

    @property
    def numbers(self) -> list[float]:
        return [x for x in (self.estimate, self.low, self.high) if x is not None and math.isfinite(x)]


def bar(name: str, row: Row) -> Bar:
    """A row as it is drawn: the end of a one-sided interval that only repeats the metric's range is left open."""
    estimate, ends = row_texts(row)
    low, high = ends_of(row.interval)
    return Bar(name=name, estimate=row.estimate, low=low, high=high, value_text=estimate if row.interval is None else f"{estimate}  {ends}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideLine:
    """A line across all rows: where, what it is called, and which of DASHES draws it."""

    at: float
    name: str
    sort: str = "zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Bars on one axis. `axis` says what is measured along it."""

    title: str
    bars: Sequence[Bar]
    rules: Sequence[GuideLine] = ()
    axis: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a number to be drawn."""
        return any(bar.numbers for bar in self.bars)

    @property
    def scale(self) -> Scale | None:
        """From the lowest thing shown to the highest with a little room; None if nothing is known."""
        shown = [x for bar in self.bars for x in bar.numbers]
        if not shown:
            return None
        shown += [rule.at for rule in self.rules]
        low, high = min(shown), max(shown)
        room = (high - low) * 0.05
        from steelyard_old.render.curve_text import even_scale

        return even_scale(low - room, high + room, TICKS)

    def description(self) -> str:
        """The picture in words."""
        rows = "; ".join(f"{bar.name}: {bar.value_text or 'not known'}" for bar in self.bars[:12])
        more = f"; and {len(self.bars) - 12} more" if len(self.bars) > 12 else ""
        lines = ", ".join(f"{rule.name} at {figure(rule.at)}" for rule in self.rules)
        return rows + more + (f". Lines: {lines}" if lines else "") + "."

    def svg(self, *, alone: bool = False) -> str:
        """As SVG text."""
        scale = self.scale
        if scale is None:
            return ""
        top = LABEL * len(self.rules) + 6
        foot = top + ROW * len(self.bars)
        parts = [*_axis(scale, top, len(self.bars), self.axis), *_rules(self.rules, scale, foot)]
        for i, bar in enumerate(self.bars):
            parts += _row(bar, scale, top + ROW * i)
        return picture(self.title, self.description(), foot + AXIS + (16 if self.axis else 0), parts, alone=alone)


def _across(scale: Scale, x: float) -> float:
    return LEFT + scale.share(x) * (RIGHT - LEFT)


def _axis(scale: Scale, top: float, rows: int, name: str) -> list[str]:
    """The axis with its ticks. Faint lines rise from them behind the intervals, and leave the words above each interval free."""
    foot = top + ROW * rows
    parts = [line(LEFT, foot, RIGHT, foot, f'class="frame" stroke="{INK}" stroke-opacity="0.5"')]
    for x, said in zip(scale.ticks, scale.texts, strict=True):
        at = _across(scale, x)
        anchor = "start" if at < 0.05 else "end" if at > 0.95 else "middle"
        parts.append(line(at, top + WORDS, at, foot, f'class="grid" stroke="{FAINT}" stroke-dasharray="{ROW - WORDS} {WORDS}"'))
        parts.append(text(at, foot + 18, said, anchor, 'font-size="12"'))
    return [*parts, text(0.5, foot + 36, name, "middle", 'font-size="12"')] if name else parts


def _rules(rules: Sequence[GuideLine], scale: Scale, foot: float) -> list[str]:
    """Each line with its name on a line of its own above the rows, so that names never run into one another."""
    lines, names = [], []
    for i, rule in enumerate(rules):
        at, y = _across(scale, rule.at), LABEL * i
        dash = f' stroke-dasharray="{DASHES[rule.sort]}"' if DASHES[rule.sort] else ""
        lines.append(line(at, y + 3, at, foot, f'class="goal" stroke="{GOAL}" stroke-width="1.5"{dash}'))
        anchor, step = ("end", -6) if _leftwards(at, rule.name, [_across(scale, other.at) for other in rules[:i]]) else ("start", 6)
        paint = HALO.replace("halo", "halo goal-text") + f' fill="{GOAL}" font-size="12"'
        names.append(f'<g transform="translate({step} 0)">{text(at, y + 14, rule.name, anchor, paint)}</g>')
    return [*lines, *names]


def _leftwards(at: float, name: str, lines: Sequence[float]) -> bool:
    """Whether the name of a line stands to its left: where it fits on a phone and crosses no other line, else where there is more room."""
    reach = LETTER * len(name)
    left, right = (
        inside and not any(start < other < end for other in lines)
        for start, end, inside in ((at - reach, at, at > reach), (at, at + reach, at + reach < 1))
    )
    return left if left != right else at > HALF


def _row(bar: Bar, scale: Scale, top: float) -> list[str]:
    """Name and numbers, and below them the interval with a stroke at each end that is a bound."""
    middle = top + 27
    parts = [text(LEFT, top + 15, shorten(bar.name, NAME), more=HALO), text(RIGHT, top + 15, bar.value_text, "end", HALO)]
    if not bar.numbers:
        return parts
    known = [x for x in (bar.low, bar.high) if x is not None]
    paint = f'class="whisker" stroke="{SEEN}" stroke-width="2.5"'
    if known:
        ends = [
            _across(scale, bar.low) if bar.low is not None else LEFT,
            _across(scale, bar.high) if bar.high is not None else RIGHT,
        ]
        parts.append(line(ends[0], middle, ends[1], middle, paint))
        parts += [line(_across(scale, x), middle - 5, _across(scale, x), middle + 5, paint) for x in known]
        if bar.low is None:
            parts.append(text(LEFT, middle + 5, "◀", "start", f'class="dot" fill="{SEEN}"'))
        if bar.high is None:
            parts.append(text(RIGHT, middle + 5, "▶", "end", f'class="dot" fill="{SEEN}"'))
    if bar.estimate is not None and math.isfinite(bar.estimate):
        parts.append(dot(_across(scale, bar.estimate), middle, f'class="dot" fill="{SEEN}"'))
    return parts
