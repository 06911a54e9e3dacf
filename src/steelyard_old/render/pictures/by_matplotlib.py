"""The same pictures as matplotlib figures, for people who want to change them."""

from __future__ import annotations

from typing import Any

from steelyard_old.render.digits import EMPTY
from steelyard_old.render.pictures.canvas import GOAL, SEEN
from steelyard_old.render.pictures.forest import Forest
from steelyard_old.render.pictures.plane import Plane
from steelyard_old.render.terminal import label

STYLES = {"zero": "-", "margin": "--", "theta": ":", "reference": "--"}
LINES = {"line": (SEEN, "-"), "goal": (GOAL, "--"), "other": (GOAL, ":")}
MARKERS = {"cross": "x", "triangle": "^", "square": "s", "tick": "|"}


def figure_of(drawing: Forest | Plane) -> Any:
    """A Figure that belongs to no window: nothing is shown or left open by making it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 1.8 + 0.4 * len(drawing.bars) if isinstance(drawing, Forest) else 4.0), layout="constrained")
    axes = figure.add_subplot()
    if isinstance(drawing, Forest):
        _forest(axes, drawing)
    else:
        _plane(axes, drawing)
    axes.set_title(_words(drawing.title), fontsize=10, loc="left", wrap=True)
    return figure


def _words(said: str) -> str:
    """A dollar sign would begin a formula, and a name that begins with an underscore would be left out of the key."""
    shown = label(said).replace("$", r"\$") if said else ""
    return f" {shown}" if shown.startswith("_") else shown


def _forest(axes: Any, forest: Forest) -> None:
    scale = forest.scale
    for place, bar in enumerate(forest.bars):
        if bar.estimate is not None:
            axes.plot([bar.estimate], [place], "o", color=SEEN)
        if scale is not None and (bar.low is not None or bar.high is not None):
            ends = [scale.low if bar.low is None else bar.low, scale.high if bar.high is None else bar.high]
            axes.plot(ends, [place, place], "-", color=SEEN, linewidth=2)
            known = [end for end in (bar.low, bar.high) if end is not None]
            axes.plot(known, [place] * len(known), "|", color=SEEN, markersize=10, markeredgewidth=2)
    for rule in forest.rules:
        axes.axvline(rule.at, color=GOAL, linestyle=STYLES[rule.sort], label=_words(rule.name or EMPTY))
    axes.set_yticks(
        range(len(forest.bars)), [_words(bar.name) + (f"\n{_words(bar.value_text)}" if bar.value_text else "") for bar in forest.bars]
    )
    axes.set_ylim(len(forest.bars) - 0.5, -0.5)
    axes.set_xlabel(_words(forest.axis))
    if forest.rules:
        axes.figure.legend(loc="outside lower center", ncols=len(forest.rules), frameon=False, fontsize=8)


def _plane(axes: Any, plane: Plane) -> None:
    if plane.band is not None:
        low, high = plane.band
        axes.fill_between([x for x, _ in low], [y for _, y in low], [y for _, y in high], color=SEEN, alpha=0.18, label=plane.band_name)
    for each in plane.lines:
        colour, style = (GOAL, "none") if each.shape else LINES[each.sort]
        marker = MARKERS[each.shape] if each.shape else "o" if each.dots else None
        xs, ys = [x for x, _ in each.places], [y for _, y in each.places]
        axes.plot(xs, ys, linestyle=style, color=colour, marker=marker, label=_words(each.name or EMPTY))
    if plane.seen:
        axes.plot([x for x, _ in plane.seen], [y for _, y in plane.seen], "o", markerfacecolor="none", color=SEEN, label="seen")
    if plane.goal is not None:
        axes.axhline(plane.goal, color=GOAL, linestyle="--", label=_words(plane.goal_name))
    if plane.mark is not None:
        axes.plot([plane.mark[0]], [plane.mark[1]], "o", color=GOAL, markersize=8, label="answer")
    if plane.x.log:
        axes.set_xscale("log")
    if plane.y.log:
        axes.set_yscale("log")
        axes.set_ylim(plane.y.low, plane.y.high)
    if plane.x_is_time:
        axes.set_xticks(plane.x.ticks, plane.x.texts)
    axes.set_xlabel(_words(plane.x_name))
    axes.set_ylabel(_words(plane.y_name))
    axes.legend(fontsize=8)
