"""A verdict as one line of text: the difference and its bounds, beside no change, the margin and the drop that matters."""

from __future__ import annotations

import math

from steelyard.render.digits import percent
from steelyard.render.drawing import ASCII, UNICODE, Axis
from steelyard.results.verdict import Verdict

WIDTH = 48
_LEGEND = {"0": "no change", "M": "the drop that is tolerated", "T": "the drop that matters"}


def difference_bar(v: Verdict, *, width: int = WIDTH, ascii_only: bool = False) -> tuple[str, str]:
    """worse ··T··├───●────┤··0·· better, and what its signs mean; both empty where no difference is known.

    The numbers stand elsewhere: a picture is for the eye. An end that is not known is an arrow.
    """
    middle, low, high = (_known(v, name) for name in ("estimate", "lower", "upper"))
    if middle is None:
        return "", ""
    marks = {"0": 0.0} | ({"M": -v.margin} if v.margin else {}) | ({"T": -v.theta} if v.theta else {})
    axis = _axis([middle, *marks.values(), *(end for end in (low, high) if end is not None)])
    pen, cells = ASCII if ascii_only else UNICODE, [("." if ascii_only else "·")] * width
    first, last = 0 if low is None else axis.column(low, width), width - 1 if high is None else axis.column(high, width)
    cells[first : last + 1] = [pen.line] * (last + 1 - first)
    cells[first] = pen.to_left if low is None else pen.first
    cells[last] = pen.to_right if high is None else pen.last
    for letter, place in marks.items():  # a mark of the rule is worth more than the line below it, the estimate more than both
        cells[axis.column(place, width)] = letter
    cells[axis.column(middle, width)] = pen.point
    seen = [f"{letter} {_LEGEND[letter]}" for letter in marks if letter in cells]
    bounds = f"{pen.first}{pen.line}{pen.last} {percent(1 - v.alpha)} bounds"
    return f"worse {''.join(cells)} better", "; ".join([f"{pen.point} difference", bounds, *seen])


def _known(v: Verdict, name: str) -> float | None:
    found = v.difference.get(name)
    return found if found is not None and math.isfinite(found) else None


def _axis(places: list[float]) -> Axis:
    """From the leftmost to the rightmost place, with a little room: the eye wants to see that something is beyond the end."""
    low, high = min(places), max(places)
    room = (high - low) / 16 or abs(low) or 1.0
    return Axis(low - room, high + room, 0)
