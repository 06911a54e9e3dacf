"""A curve as a standalone SVG: no script, no address, no font of its own, legible on light and dark, told to screen readers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from steelyard.errors import UsageError
from steelyard.render import safe
from steelyard.render.curve_text import Place, Scale, figure, sorted_line, x_scale, y_scale
from steelyard.render.layout import display_width, shorten, wrap
from steelyard.results.plan import Curve, Plan

WIDTH, PLOT = 720, 300  # units of the whole picture across, and of the drawing down
LEFT, RIGHT, TOP, BELOW = 84, 28, 22, 62  # margins of the drawing, without the title
INSET = 8  # room between the frame and what is drawn, so that nothing sits on an axis
LINE, LETTER, BOLD = 20, 7.6, 9.2  # height of a line of the title; width of a letter, and of a bold one of the title
_NO_CHARACTER = re.compile("[\ufffe\uffff]")  # XML has no way to write these
# Every colour is an attribute too: a viewer that reads no styles still shows the light picture.
_STYLE = (
    "@media (prefers-color-scheme: dark) { .steelyard { color: #e6edf3 } .steelyard .paper { fill: #0d1117 }"
    " .steelyard .line { stroke: #6cb6ff } .steelyard .band { fill: #6cb6ff } .steelyard .seen { stroke: #b6c2cf }"
    " .steelyard .goal { stroke: #f0883e } .steelyard .goal-text { fill: #f0883e } .steelyard .mark { fill: #ff7b72 }"
    " .steelyard .drop { stroke: #ff7b72 } }"
)


def plan_svg(plan: Plan) -> str:
    """The plan's curve under its conclusion."""
    if plan.curve is None or not plan.curve.x:
        raise UsageError(
            f"cannot draw the plan for {plan.goal}",
            got="an answer without a curve",
            need="one that has a curve: detect, rule-out, width, threshold or train",
            hint="text, markdown and json show it as a table",
        )
    return curve_svg(plan.curve, plan.conclusion)


def curve_svg(curve: Curve, title: str = "") -> str:
    """The curve, its band, what was seen, the goal and the answer, with round ticks on both axes."""
    if not curve.x:
        raise UsageError("cannot draw the curve", got="no places", need="at least one x with its y")
    heading = (
        [shorten(line, int((WIDTH - 2 * RIGHT) / BOLD)) for line in wrap(safe.terminal(title), int((WIDTH - 2 * RIGHT) / BOLD))]
        if title
        else []
    )
    top = TOP + LINE * len(heading) + (10 if heading else 0)
    area = PlotArea(x_scale(curve, 8), y_scale(curve, 7), top)
    height = top + PLOT + BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="steelyard" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" color="#1f2328" font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{words(title or f'{curve.y_label} against {curve.x_label}')}</title>",
        f"<desc>{words(_described(curve))}</desc>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *(_text(RIGHT, TOP + 8 + LINE * i, line, 'font-size="14" font-weight="600"') for i, line in enumerate(heading)),
        *_axes(curve, area),
        *_drawn(curve, area),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class PlotArea:
    """Where the drawing lies: from values to units of the picture."""

    x: Scale
    y: Scale
    top: int
    right: int = WIDTH - RIGHT

    @property
    def bottom(self) -> int:
        return self.top + PLOT

    def across(self, x: float) -> float:
        return LEFT + INSET + self.x.share(x) * (self.right - LEFT - 2 * INSET)

    def down(self, y: float) -> float:
        return self.bottom - INSET - self.y.share(y) * (PLOT - 2 * INSET)

    def path(self, places: Sequence[Place]) -> str:
        """Places as SVG writes them: "84,20 90,22"."""
        return " ".join(f"{self.across(x):.2f},{self.down(y):.2f}" for x, y in places)


def words(text: str) -> str:
    """A user's words inside XML: what a viewer would obey stays visible as an escape.

    >>> words("<b> & \\x00")
    '&lt;b&gt; &amp; \\\\x00'
    """
    return escape(_NO_CHARACTER.sub(lambda found: f"\\u{ord(found[0]):04x}", safe.terminal(text)))


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    paint = "" if " fill=" in attributes else ' fill="currentColor"'
    return f'<text x="{x:.2f}" y="{y:.2f}"{paint}{attributes and " " + attributes}>{words(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, attributes: str) -> str:
    return f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" {attributes}/>'


def _axes(curve: Curve, area: PlotArea) -> list[str]:
    """Frame, thin lines at the ticks, their numbers, and the names of both axes."""
    faint, frame = 'stroke="currentColor" stroke-opacity="0.12"', 'stroke="currentColor" stroke-opacity="0.5"'
    parts = [_line(LEFT, area.down(y), area.right, area.down(y), faint) for y in area.y.ticks]
    parts += [_line(area.across(x), area.top, area.across(x), area.bottom, faint) for x in area.x.ticks]
    parts += [_line(LEFT, area.top, LEFT, area.bottom, frame), _line(LEFT, area.bottom, area.right, area.bottom, frame)]
    named = zip(area.y.ticks, area.y.texts, strict=True)
    parts += [_text(LEFT - 8, area.down(y) + 4.5, text, 'text-anchor="end"') for y, text in named]
    parts += _below(area)
    middle = area.top + PLOT / 2
    x_name, y_name = shorten(safe.terminal(curve.x_label), 36), shorten(safe.terminal(curve.y_label), 36)
    parts.append(_text((LEFT + area.right) / 2, area.bottom + 44, x_name, 'text-anchor="middle"'))
    if key := "; ".join([*(["circles: seen"] if curve.points else []), *(["band: interval"] if curve.low and curve.high else [])]):
        parts.append(_text(area.right, area.bottom + 44, key, 'text-anchor="end" font-size="11" fill-opacity="0.75"'))
    return [*parts, _text(20, middle, y_name, f'text-anchor="middle" transform="rotate(-90 20 {middle:.2f})"')]


def _below(area: PlotArea) -> list[str]:
    """The numbers of the axis below, without those that would run into the one before."""
    parts, taken = [], 0.0
    for x, text in zip(area.x.ticks, area.x.texts, strict=True):
        half = len(text) * LETTER / 2
        if area.across(x) - half >= taken:
            parts.append(_text(area.across(x), area.bottom + 20, text, 'text-anchor="middle"'))
            taken = area.across(x) + half + LETTER
    return parts


def _drawn(curve: Curve, area: PlotArea) -> list[str]:
    """From the back to the front: band, goal, the way down from the answer, line, what was seen, the answer."""
    parts, line = [], sorted_line(curve, curve.y)
    if curve.low is not None and curve.high is not None:
        around = [*sorted_line(curve, curve.high), *reversed(sorted_line(curve, curve.low))]
        parts.append(f'<polygon class="band" points="{area.path(around)}" fill="#0969da" fill-opacity="0.16"/>')
    if curve.goal is not None:
        y = area.down(curve.goal)
        parts.append(_line(LEFT, y, area.right, y, 'class="goal" stroke="#bc4c00" stroke-width="1.5" stroke-dasharray="6 5"'))
    if curve.mark is not None:
        x, y = area.across(curve.mark[0]), area.down(curve.mark[1])
        parts.append(_line(x, y, x, area.bottom, 'class="drop" stroke="#cf222e" stroke-width="1.2" stroke-dasharray="2 3"'))
    if len(line) > 1:
        parts.append(
            f'<polyline class="line" points="{area.path(line)}" fill="none" stroke="#0969da" stroke-width="2.2" stroke-linejoin="round"/>'
        )
    for x, y in (*curve.points, *(line if len(line) == 1 else ())):
        parts.append(f'<circle class="seen" cx="{area.across(x):.2f}" cy="{area.down(y):.2f}" r="3.2" fill="none" stroke="#57606a"/>')
    return [*parts, *_told(curve, area)]


def _told(curve: Curve, area: PlotArea) -> list[str]:
    """The answer and its value, and the name of the goal, each where the line leaves room."""
    parts: list[str] = []
    line = sorted_line(curve, curve.y)
    x: float
    falling = line[-1][1] < line[0][1]
    if curve.goal is not None:  # a falling line leaves the right above the goal free, a rising one the left
        y = area.down(curve.goal)
        x, anchor = (area.right - 6, "end") if falling else (LEFT + 6, "start")
        paint = f'class="goal-text" fill="#bc4c00" text-anchor="{anchor}"'
        parts.append(_text(x, y - 7 if y - area.top > 22 else y + 17, f"goal {figure(curve.goal)}", paint))
    if curve.mark is not None:
        x, y = area.across(curve.mark[0]), area.down(curve.mark[1])
        text = f"{shorten(safe.terminal(curve.x_label), 24)} = {figure(curve.mark[0])}"
        beside = x + 10 + display_width(text) * BOLD < area.right
        # A falling line is clear of the right above the answer; else the foot of the way down to the axis is.
        height = y - 12 if falling and beside else area.bottom - 10
        shift, anchor = (10, "start") if beside else (-10, "end")
        parts.append(f'<circle class="mark" cx="{x:.2f}" cy="{y:.2f}" r="5" fill="#cf222e"/>')
        parts.append(_text(x + shift, height, text, f'text-anchor="{anchor}" font-weight="600"'))
    return parts


def _described(curve: Curve) -> str:
    """What the picture shows, in words."""
    line = sorted_line(curve, curve.y)
    (x0, y0), (x1, y1) = line[0], line[-1]
    steps = [after - before for (_, before), (_, after) in pairwise(line)]
    way = "rises" if steps and min(steps) >= 0 < max(steps) else "falls" if steps and max(steps) <= 0 > min(steps) else "goes"
    text = f"{curve.y_label} against {curve.x_label}: {way} from {figure(y0)} at {figure(x0)} to {figure(y1)} at {figure(x1)}."
    if curve.points:
        text += f" {figure(len(curve.points))} points seen."
    if curve.goal is not None:
        text += f" Goal: {figure(curve.goal)}."
    if curve.mark is not None:
        text += f" Answer: {curve.x_label} {figure(curve.mark[0])}, {curve.y_label} {figure(curve.mark[1])}."
    return text
