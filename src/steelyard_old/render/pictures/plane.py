"""One quantity against another: lines, a band around one, what was seen, a level that is wanted, the place of the answer."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.render.curve_text import Place, Scale, even_scale, sorted_line, x_scale, y_scale
from steelyard_old.render.digits import figure
from steelyard_old.render.pictures.canvas import (
    FAINT,
    GOAL,
    INK,
    SEEN,
    area,
    dot,
    key_band,
    key_stroke,
    key_words,
    line,
    moved,
    picture,
    placed,
    polyline,
    share,
    text,
)
from steelyard_old.render.pictures.time_scale import moment_text
from steelyard_old.render.terminal import shorten
from steelyard_old.results.plan import Curve, Plan

HEIGHT, TOP, BELOW, KEY = 250, 26, 44, 18  # of the drawing, above it for the name of its axis, below it, and of a line of the key
LEFT, RIGHT = 0.11, 0.98
FINE = 1000  # units of the drawing inside, which is stretched to its place
STROKES = {"line": ("line", SEEN, ""), "goal": ("goal", GOAL, "7 4"), "other": ("goal", GOAL, "2 4")}
SHAPES = {  # around 0, 0; they differ by more than their colour
    "cross": f'<path d="M-5-5L5 5M-5 5L5-5" class="mark regression" stroke="{GOAL}" stroke-width="3" stroke-linecap="round"/>',
    "triangle": f'<path d="M0-6L6 5H-6Z" class="mark inconclusive paper" fill="#fff" stroke="{SEEN}" stroke-width="2"/>',
    "square": f'<rect x="-4.5" y="-4.5" width="9" height="9" class="mark record paper" fill="#fff" stroke="{INK}" stroke-width="2"/>',
    "disc": f'<circle r="4.5" class="dot pass" fill="{SEEN}"/>',
    "ring": f'<circle r="4" class="mark none paper" fill="#fff" stroke="{SEEN}" stroke-width="2"/>',
    "tick": f'<path d="M0-5V5" class="mark regression" stroke="{GOAL}" stroke-width="2"/>',
}
SHOWN_LETTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Places joined; `sort` is one of STROKES, which differ by dashes as well as by colour. `dots` marks every place.

    shape: places that are not joined, each one of SHAPES.
    """

    name: str
    places: Sequence[Place]
    sort: str = "line"
    dots: bool = False
    shape: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """Lines over one pair of axes."""

    title: str
    x_name: str
    y_name: str
    x: Scale
    y: Scale
    lines: Sequence[Line]
    band: tuple[Sequence[Place], Sequence[Place]] | None = None
    band_name: str = ""
    seen: Sequence[Place] = ()
    goal: float | None = None
    goal_name: str = "goal"
    mark: Place | None = None
    x_is_time: bool = False

    def description(self) -> str:
        """The picture in words."""
        parts = []
        for each in self.lines:
            if each.places:
                (x0, y0), (x1, y1) = each.places[0], each.places[-1]
                ends = f"from {figure(y0)} at {self.x_text(x0)} to {figure(y1)} at {self.x_text(x1)}"
                parts.append(f"{each.name}: {len(each.places):,}" if each.shape else f"{each.name}: {ends}")
        parts += [f"{len(self.seen):,} points seen"] if self.seen else []
        parts += [f"{self.goal_name} {figure(self.goal)}"] if self.goal is not None else []
        parts += [f"answer {self.x_name} {figure(self.mark[0])}"] if self.mark is not None else []
        return "; ".join(parts) + "."

    def x_text(self, x: float) -> str:
        return moment_text(x) if self.x_is_time else figure(x)

    @property
    def known(self) -> bool:
        """Its axes are always drawn."""
        return True

    def svg(self, *, alone: bool = False) -> str:
        """As SVG text."""
        parts = [*self.axes(), *self._inside(), *self._over(), *self._key()]
        return picture(self.title, self.description(), TOP + HEIGHT + BELOW + KEY * len(self._keys()), parts, alone=alone)

    def across(self, x: float) -> float:
        return LEFT + self.x.share(x) * (RIGHT - LEFT)

    def down(self, y: float) -> float:
        return TOP + HEIGHT - self.y.share(y) * HEIGHT

    def axes(self) -> list[str]:
        """Frame, thin lines at the ticks, their numbers, and the names of both axes."""
        faint, frame = f'class="grid" stroke="{FAINT}"', f'class="frame" stroke="{INK}" stroke-opacity="0.5"'
        parts = [text(0.0, 14, shorten(self.y_name, SHOWN_LETTERS), more='font-size="12"')]
        for y, said in zip(self.y.ticks, self.y.texts, strict=True):
            parts.append(line(LEFT, self.down(y), RIGHT, self.down(y), faint))
            parts.append(text(LEFT - 0.012, self.down(y) + 4, said, "end", 'font-size="12"'))
        for x, said in _spaced(self.x):
            at = self.across(x)
            parts.append(line(at, TOP, at, TOP + HEIGHT, faint))
            parts.append(text(at, TOP + HEIGHT + 17, said, "end" if at > 0.95 else "middle", 'font-size="12"'))
        parts += [line(LEFT, TOP, LEFT, TOP + HEIGHT, frame), line(LEFT, TOP + HEIGHT, RIGHT, TOP + HEIGHT, frame)]
        return [*parts, text((LEFT + RIGHT) / 2, TOP + HEIGHT + 36, shorten(self.x_name, SHOWN_LETTERS), "middle", 'font-size="12"')]

    def _inside(self) -> list[str]:
        """Band and lines, whose strokes keep their thickness."""
        parts = []
        if self.band is not None:
            low, high = self.band
            parts.append(area(self.path([*high, *reversed(low)])))
        for each in self.lines:
            kind, colour, dash = STROKES[each.sort]
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            if each.shape:
                continue
            stroke = f'stroke="{colour}" stroke-width="2.2"{dashed} vector-effect="non-scaling-stroke"'
            parts.append(polyline(self.path(each.places), kind, stroke))
        return self.stretched(parts)

    def stretched(self, parts: Sequence[str]) -> list[str]:
        """Parts that are drawn by `path`, stretched to the width that there is."""
        place = f'x="{share(LEFT)}" y="{TOP}" width="{share(RIGHT - LEFT)}" height="{HEIGHT}"'
        return [f'<svg {place} viewBox="0 0 {FINE} {FINE}" preserveAspectRatio="none">', *parts, "</svg>"]

    def path(self, places: Sequence[Place]) -> str:
        """Places as SVG writes them, in units of what is stretched."""
        return " ".join(f"{self.x.share(x) * FINE:.2f},{(1 - self.y.share(y)) * FINE:.2f}" for x, y in places)

    def _over(self) -> list[str]:
        parts = []
        if self.goal is not None:
            y = self.down(self.goal)
            parts.append(line(LEFT, y, RIGHT, y, f'class="goal" stroke="{GOAL}" stroke-width="1.5" stroke-dasharray="7 4"'))
        parts += [dot(self.across(x), self.down(y), f'class="whisker" fill="none" stroke="{SEEN}"', 3) for x, y in self.seen]
        for each in self.lines:
            kind, colour, _ = STROKES[each.sort]
            if each.shape:
                parts += [placed(self.across(x), self.down(y), SHAPES[each.shape]) for x, y in each.places]
            elif each.dots:
                paint = f'class="dot" fill="{colour}"' if kind == "line" else f'class="{kind}" fill="none" stroke="{colour}"'
                parts += [dot(self.across(x), self.down(y), paint, 3.5) for x, y in each.places]
        if self.mark is not None:
            x, y = self.across(self.mark[0]), self.down(self.mark[1])
            parts.append(line(x, y, x, TOP + HEIGHT, f'class="goal" stroke="{GOAL}" stroke-dasharray="2 4"'))
            parts.append(dot(x, y, f'class="goal-text" fill="{GOAL}"', 5.5))
        return parts

    def _keys(self) -> list[tuple[str, str]]:
        """What each stroke means, as (sort, words)."""
        found = list(dict.fromkeys((each.shape or each.sort, each.name) for each in self.lines))  # a line may have gaps
        found += [("band", self.band_name)] if self.band is not None else []
        found += [("seen", "seen")] if self.seen else []
        found += [("goal", f"{self.goal_name}: {figure(self.goal)}")] if self.goal is not None else []
        found += [("mark", f"answer: {self.x_name} = {figure(self.mark[0])}")] if self.mark is not None else []
        return found

    def _key(self) -> list[str]:
        parts = []
        for i, (sort, said) in enumerate(self._keys()):
            y = TOP + HEIGHT + BELOW + KEY * i + 8
            if sort in STROKES:
                parts.append(key_stroke(y, *STROKES[sort]))
            elif sort in SHAPES:
                parts.append(moved(15, y, SHAPES[sort]))
            elif sort == "band":
                parts.append(key_band(y))
            elif sort == "seen":
                parts.append(f'<circle cx="15" cy="{y}" r="3" class="whisker" fill="none" stroke="{SEEN}"/>')
            else:
                parts.append(f'<circle cx="15" cy="{y}" r="5.5" class="goal-text" fill="{GOAL}"/>')
            parts.append(key_words(y, shorten(said, SHOWN_LETTERS)))
        return parts


def _spaced(scale: Scale) -> list[tuple[float, str]]:
    """The ticks of the axis below, without those whose numbers would run into the one before on a phone."""
    out, taken = [], -1.0
    for x, said in zip(scale.ticks, scale.texts, strict=True):
        at, half = scale.share(x), len(said) * 0.013
        if at - half >= taken:
            out.append((x, said))
            taken = at + half
    return out


def curve_plane(curve: Curve, title: str) -> Plane:
    """The curve of a plan."""
    band = None
    if curve.low is not None and curve.high is not None:
        band = (sorted_line(curve, curve.low), sorted_line(curve, curve.high))
    return Plane(
        title=title,
        x_name=curve.x_label,
        y_name=curve.y_label,
        x=x_scale(curve, 6),
        y=y_scale(curve, 6, beside=True),
        lines=[
            Line(name=curve.y_label, places=sorted_line(curve, curve.y), dots=len(curve.x) == 1),
            *([Line(name=curve.beside_label, places=curve.beside, sort="other", dots=True)] if curve.beside else []),
        ],
        band=band,
        band_name="interval",
        seen=curve.points,
        goal=curve.goal,
        mark=curve.mark,
    )


def plan_svg(plan: Plan) -> str:
    """The plan's curve under its conclusion, as a file of its own."""
    if plan.curve is None or not plan.curve.x:
        raise UsageError(
            f"A plan for {plan.goal} has no curve to draw; detect, rule-out, width, threshold and train have one.",
            got="an answer without a curve",
            need="one that has a curve: detect, rule-out, width, threshold, train or split",
            hint="text, markdown and json show it as a table",
        )
    return curve_plane(plan.curve, plan.conclusion).svg(alone=True) + "\n"


def plane_of(
    title: str,
    x_name: str,
    y_name: str,
    lines: Sequence[Line],
    *,
    goal: float | None = None,
    goal_name: str = "goal",
    zero: bool = False,
) -> Plane:
    """Lines over even axes that hold all their places; x counts something, so a single place stands between its neighbours."""
    xs = [x for each in lines for x, _ in each.places]
    ys = [y for each in lines for _, y in each.places] + ([goal] if goal is not None else []) + ([0.0] if zero else [])
    room = (max(ys) - min(ys)) * 0.06
    y = even_scale(min(ys) - (0 if zero and min(ys) == 0 else room), max(ys) + room, 6)
    x = even_scale(min(xs), max(xs), 6) if min(xs) < max(xs) else even_scale(xs[0] - 1, xs[0] + 1, 3)
    return Plane(title=title, x_name=x_name, y_name=y_name, x=x, y=y, lines=lines, goal=goal, goal_name=goal_name)
