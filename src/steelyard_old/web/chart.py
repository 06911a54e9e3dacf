"""Pictures of a series: small ones for the overview, and the chart with band, threshold and a shape for each verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard_old.questions.history.chart import CHANGE, OWN, ChartPoint
from steelyard_old.render.curve_text import Scale, even_scale
from steelyard_old.render.digits import figure
from steelyard_old.render.pictures.canvas import (
    GOAL,
    SEEN,
    area,
    key_band,
    key_stroke,
    key_words,
    line,
    linked,
    moved,
    path,
    picture,
    polyline,
)
from steelyard_old.render.pictures.plane import BELOW, HEIGHT, KEY, TOP, Plane
from steelyard_old.render.pictures.plane import SHAPES as MARKS
from steelyard_old.render.pictures.time_scale import seconds, time_scale
from steelyard_old.results.history import PastRun

WIDE, TALL = 170, 38  # of a small picture
# A verdict is a shape first: a disc, a cross, an open triangle; a record is a square, a run without a verdict a ring.
SHAPES = {
    "pass": MARKS["disc"],
    "regression": MARKS["cross"],
    "inconclusive": MARKS["triangle"],
    "record": MARKS["square"],
    "none": MARKS["ring"],
}
BANDS = {OWN: "95% interval of each value (Wilson)", CHANGE: "bounds of the change, added to the reference"}
NAMES = {"pass": "pass", "regression": "regression", "inconclusive": "inconclusive", "record": "recorded", "none": "no verdict"}


def shape_of(run: PastRun) -> str:
    """The name of the shape that a run has."""
    return run.verdict if run.verdict in SHAPES else "record" if run.command == "record" else "none"


# ---- small ---------------------------------------------------------------------------------------------------------------


def small_picture(runs: Sequence[PastRun], title: str) -> str:
    """The newest values of a series, oldest first, evenly spaced, with their threshold and what was judged a regression."""
    known = [run for run in runs if run.estimate is not None]
    values = [run.estimate for run in known if run.estimate is not None]
    if not values:
        return ""
    levels = [run.threshold for run in known if run.threshold is not None]
    low, high = min([*values, *levels[-1:]]), max([*values, *levels[-1:]])
    room = (high - low) or abs(high) * 0.01 or 1.0

    def down(value: float) -> float:
        return TALL - 6 - (value - low) / room * (TALL - 12)

    step = (WIDE - 12) / max(1, len(known) - 1)
    places = [(6 + i * step, down(value)) for i, value in enumerate(values)]
    parts = []
    if levels:
        y = round(down(levels[-1]), 1)
        parts.append(line(2 / WIDE, y, 1 - 2 / WIDE, y, f'class="goal" stroke="{GOAL}" stroke-dasharray="4 3"'))
    parts.append(polyline(path(places), "line", f'stroke="{SEEN}" stroke-width="1.8"'))
    for run, (x, y) in zip(known, places, strict=True):
        if run.verdict == "regression":
            parts.append(moved(round(x, 1), round(y, 1), SHAPES["regression"], 0.6))
    x, y = places[-1]
    parts.append(moved(round(x, 1), round(y, 1), SHAPES[shape_of(known[-1])], 0.75))
    description = f"{len(values)} values from {figure(values[0])} to {figure(values[-1])}"
    return picture(title, description, TALL, parts, small=WIDE)


# ---- the chart -----------------------------------------------------------------------------------------------------------


def series_picture(points: Sequence[ChartPoint], title: str, metric: str) -> str:
    """The values over time. Every run is a shape that can be pointed at, and followed to its page."""
    known = [point for point in points if point.run.estimate is not None]
    if not known:
        return ""
    x, y = time_scale([seconds(p.run.time) for p in known]), _value_scale(known)
    plane = Plane(title=title, x_name="time (UTC)", y_name=metric, x=x, y=y, lines=())
    parts = [*plane.axes(), *_lines(known, plane), *_marks(known, plane), *_key(known)]
    first, last = known[0].run, known[-1].run
    description = (
        f"{len(known)} runs from {first.time[:10]} to {last.time[:10]}, {metric} from {figure(_value(first))} to {figure(_value(last))}."
    )
    return picture(title, description, TOP + HEIGHT + BELOW + KEY * len(_keys(known)), parts, linked=True)


def _value(run: PastRun) -> float:
    return 0.0 if run.estimate is None else run.estimate


def _value_scale(points: Sequence[ChartPoint]) -> Scale:
    seen: list[float] = []
    for p in points:
        seen += [value for value in (p.run.estimate, p.low, p.high, p.run.threshold) if value is not None]
    room = (max(seen) - min(seen)) * 0.06
    return even_scale(min(seen) - room, max(seen) + room, 6)


def _lines(points: Sequence[ChartPoint], plane: Plane) -> list[str]:
    """What stretches with the width: band, threshold and the line through the values."""
    parts = []
    banded = [(seconds(p.run.time), p.low, p.high) for p in points if p.low is not None and p.high is not None]
    if len(banded) > 1:
        ends = [*((t, high) for t, _, high in banded), *((t, low) for t, low, _ in reversed(banded))]
        parts.append(area(plane.path(ends), 0.16))
    goal = [(seconds(p.run.time), p.run.threshold) for p in points if p.run.threshold is not None]
    if goal:
        goal = goal if len(goal) > 1 else [(plane.x.low, goal[0][1]), (plane.x.high, goal[0][1])]
        stroke = f'stroke="{GOAL}" stroke-width="1.6" stroke-dasharray="7 4" vector-effect="non-scaling-stroke"'
        parts.append(polyline(plane.path(goal), "goal", stroke))
    values = [(seconds(p.run.time), _value(p.run)) for p in points]
    thin = f'stroke="{SEEN}" stroke-width="1.4" stroke-opacity="0.55" vector-effect="non-scaling-stroke"'
    return plane.stretched([*parts, polyline(plane.path(values), "line", thin)])


def _marks(points: Sequence[ChartPoint], plane: Plane) -> list[str]:
    single = len([p for p in points if p.low is not None]) == 1
    parts = []
    for p in points:
        across, run = plane.across(seconds(p.run.time)), p.run
        if single and p.low is not None and p.high is not None:
            parts.append(line(across, plane.down(p.low), across, plane.down(p.high), f'class="whisker" stroke="{SEEN}" stroke-width="1.6"'))
        parts.append(linked(f"/runs/{run.id}", point_text(p), across, plane.down(_value(run)), SHAPES[shape_of(run)]))
    return parts


def point_text(p: ChartPoint) -> str:
    """A point in words."""
    run = p.run
    parts = [f"{run.time[:16].replace('T', ' ')}", f"{run.metric} {figure(_value(run))}"]
    if p.low is not None and p.high is not None:
        parts[-1] += f" [{figure(p.low)}, {figure(p.high)}]"
    parts += [f"threshold {figure(run.threshold)}"] if run.threshold is not None else []
    parts += [NAMES[shape_of(run)]]
    return "; ".join([*parts, *(p.changed or ())])


def _keys(points: Sequence[ChartPoint]) -> list[tuple[str, str]]:
    """What is drawn, as (kind, words), only what is there."""
    there: dict[str, Any] = {shape_of(p.run): None for p in points}
    found = [(name, NAMES[name]) for name in SHAPES if name in there]
    bands = {p.band for p in points if p.band is not None}
    found += [("band", "; ".join(BANDS[band] for band in sorted(bands)))] if bands else []
    found += [("goal", "threshold of each run: a worse score is a regression")] if any(p.run.threshold is not None for p in points) else []
    return found


def _key(points: Sequence[ChartPoint]) -> list[str]:
    parts = []
    for i, (kind, said) in enumerate(_keys(points)):
        y = TOP + HEIGHT + BELOW + KEY * i + 8
        if kind == "band":
            parts.append(key_band(y))
        elif kind == "goal":
            parts.append(key_stroke(y, "goal", GOAL, "7 4"))
        else:
            parts.append(moved(15, y, SHAPES[kind]))
        parts.append(key_words(y, said))
    return parts
