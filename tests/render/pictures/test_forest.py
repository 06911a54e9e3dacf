"""Pictures: everything stands where its number is, in SVG and in matplotlib; open ends get arrows; words are harmless."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from cases import every
from render.html.page_samples import samples
from render.verdict_samples import HOSTILE
from steelyard.errors import UsageError
from steelyard.render.notebook import drawing_of
from steelyard.render.pictures.by_matplotlib import figure_of
from steelyard.render.pictures.canvas import share
from steelyard.render.pictures.forest import LEFT, RIGHT, Bar, Forest, GuideLine
from steelyard.render.pictures.plane import Line, Plane, curve_plane, plane_of
from steelyard.results.plan import Curve

SVG = "{http://www.w3.org/2000/svg}"
DRAWABLE = [
    *("measurement", "counts", "beliefs", "comparison", "leaderboard", "plan", "regression", "inconclusive", "legacy", "floor"),
    *("lower is better", "stopped", "run", "run of two", "run alone", "drift"),
]


def tree(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def places(svg: str, tag: str, kind: str, *keys: str) -> list[tuple[float, ...]]:
    found = [e for e in tree(svg).iter(f"{SVG}{tag}") if kind in (e.get("class") or "").split()]
    return [tuple(float((e.get(key) or "").rstrip("%")) for key in keys) for e in found]


def test_bars_stand_where_their_numbers_are() -> None:
    stream = random.Random(5)
    for _ in range(50):
        rows = [sorted(stream.uniform(-3, 5) for _ in range(3)) for _ in range(stream.randint(1, 6))]
        forest = Forest(
            title="t", bars=[Bar(name="b", low=a, estimate=b, high=c) for a, b, c in rows], rules=[GuideLine(at=0.0, name="zero")]
        )
        scale = forest.scale
        assert scale is not None
        svg = forest.svg()
        dots = [x / 100 for (x,) in places(svg, "circle", "dot", "cx")]
        expected = [LEFT + (b - scale.low) / (scale.high - scale.low) * (RIGHT - LEFT) for _, b, _ in rows]
        assert dots == pytest.approx(expected, abs=6e-5)
        long_ones = [(a / 100, b / 100) for a, b in places(svg, "line", "whisker", "x1", "x2") if a != b]
        for (start, end), (low, _, high) in zip(long_ones, rows, strict=True):
            assert (end - start) / (RIGHT - LEFT) == pytest.approx((high - low) / (scale.high - scale.low), abs=2e-4)
        assert scale.low < min(0.0, *(a for a, _, _ in rows))
        assert scale.high > max(0.0, *(c for _, _, c in rows))


def test_an_open_end_gets_an_arrow_and_no_stroke() -> None:
    svg = Forest(title="t", bars=[Bar(name="b", low=0.2, estimate=0.5)]).svg()
    assert "▶" in svg
    assert "◀" not in svg
    strokes = [x for x, again in places(svg, "line", "whisker", "x1", "x2") if x == again]
    assert len(strokes) == 1


def test_an_unknown_number_is_drawn_nowhere() -> None:
    forest = Forest(title="t", bars=[Bar(name="b", estimate=None), Bar(name="c", estimate=0.5, low=0.4, high=0.6)])
    assert len(places(forest.svg(), "circle", "dot", "cx")) == 1
    assert Forest(title="t", bars=[Bar(name="b", estimate=None)]).svg() == ""


def test_lines_have_names_that_never_share_a_line() -> None:
    rules = [
        GuideLine(at=0.0, name="zero"),
        GuideLine(at=-0.0001, name="margin", sort="margin"),
        GuideLine(at=-0.0002, name="theta", sort="theta"),
    ]
    svg = Forest(title="t", bars=[Bar(name="b", estimate=0.5)], rules=rules).svg()
    named = [(e.text, e.get("y")) for e in tree(svg).iter(f"{SVG}text") if "goal-text" in (e.get("class") or "")]
    assert [name for name, _ in named] == ["zero", "margin", "theta"]
    assert len({y for _, y in named}) == 3
    dashes = {e.get("stroke-dasharray") for e in tree(svg).iter(f"{SVG}line") if e.get("class") == "goal"}
    assert len(dashes) == 3  # told apart without colour


def test_grid_lines_leave_the_words_of_a_row_free() -> None:
    bars = [Bar(name=name, estimate=0.5, low=0.1, high=0.9, value_text="0.5 [0.1, 0.9]") for name in "abc"]
    svg = Forest(title="t", bars=bars).svg()
    words = [y for _, y in places(svg, "text", "halo", "x", "y")]
    grid = [e for e in tree(svg).iter(f"{SVG}line") if e.get("class") == "grid"]
    assert len(words) == 6
    assert grid
    for one in grid:
        start, end = float(one.get("y1") or ""), float(one.get("y2") or "")
        on, off = map(float, (one.get("stroke-dasharray") or "").split())
        dashes = [(start + i * (on + off), start + i * (on + off) + on) for i in range(3)]
        assert dashes[-1][1] == end
        assert all(foot <= y - 12 or head >= y + 4 for head, foot in dashes for y in words)


def test_the_name_of_a_line_avoids_the_lines_before_it() -> None:
    bars = [Bar(name="a", estimate=0.03, low=-0.09, high=0.16)]
    rules = [GuideLine(at=0.0, name="no difference"), GuideLine(at=0.05, name="margin 0.05", sort="margin")]
    anchors = [
        e.get("text-anchor") for e in tree(Forest(title="t", bars=bars, rules=rules).svg()).iter(f"{SVG}text") if e.text == "margin 0.05"
    ]
    assert anchors in (["start"], [None])  # to the left it would cross the line of no difference
    alone = Forest(title="t", bars=bars, rules=[GuideLine(at=0.15, name="margin 0.15")]).svg()
    assert [e.get("text-anchor") for e in tree(alone).iter(f"{SVG}text") if e.text == "margin 0.15"] == ["end"]  # there is no room


def test_a_curve_passes_through_its_places() -> None:
    plane = plane_of("t", "x", "y", [Line(name="l", places=[(0.0, 1.0), (5.0, 3.0), (10.0, 2.0)])])
    points = re.findall(r'<polyline class="line" points="([^"]+)"', plane.svg())[0].split()
    xs = [float(point.split(",")[0]) for point in points]
    ys = [float(point.split(",")[1]) for point in points]
    assert xs == [0.0, 500.0, 1000.0]
    assert ys[1] < ys[2] < ys[0]  # 3 is highest, which is the least from the top
    low, high = plane.y.low, plane.y.high
    assert ys == pytest.approx([1000 * (1 - (y - low) / (high - low)) for y in (1.0, 3.0, 2.0)], abs=0.01)


def test_a_single_place_stands_between_its_neighbours() -> None:
    plane = plane_of("t", "run", "y", [Line(name="l", places=[(1.0, 0.9)], dots=True)], goal=0.95)
    assert (plane.x.low, plane.x.high) == (0.0, 2.0)
    tree(plane.svg())


def test_the_curve_of_a_plan_keeps_band_goal_and_answer() -> None:
    curve = Curve(
        x_label="n", y_label="power", x=(1, 10, 100), y=(0.1, 0.5, 0.9), low=(0, 0.4, 0.8), high=(0.2, 0.6, 1), goal=0.8, mark=(50, 0.8)
    )
    svg = curve_plane(curve, "power").svg()
    for said in ("goal: 0.8", "answer: n = 50", "interval"):
        assert said in svg
    assert svg.count("<polygon") == 1


@every("word", [*HOSTILE, "_hidden"], ids=lambda word: ascii(word)[:30])
def test_words_are_harmless(word: str) -> None:
    for drawing in (
        Forest(title=word, bars=[Bar(name=word, estimate=0.5, value_text=word)], rules=[GuideLine(at=0.0, name=word)], axis=word),
        plane_of(word, word, word, [Line(name=word, places=[(0.0, 1.0), (1.0, 2.0)])]),
    ):
        for alone in (True, False):
            tags = {e.tag.removeprefix(SVG) for e in tree(drawing.svg(alone=alone)).iter()}
            assert tags <= {"svg", "title", "desc", "style", "rect", "line", "circle", "text", "g", "polyline", "polygon"}
        figure_of(drawing)


@every("name", DRAWABLE)
def test_svg_and_matplotlib_agree(name: str) -> None:
    drawing = drawing_of(samples()[name])
    tree(drawing.svg(alone=True))
    axes = figure_of(drawing).axes[0]
    if isinstance(drawing, Forest):
        shown = [bar.estimate for bar in drawing.bars if bar.estimate is not None]
        drawn = [line.get_xdata()[0] for line in axes.get_lines() if line.get_marker() == "o"]
        assert drawn == shown
        assert not [tick.get_text() for tick in axes.get_yticklabels() if "\\n" in tick.get_text()]
    else:
        assert isinstance(drawing, Plane)
        first: Any = axes.get_lines()[0]
        assert list(zip(first.get_xdata(), first.get_ydata(), strict=True)) == list(drawing.lines[0].places)


@every("name", ["recorded", "lint", "references", "designs", "history", "suite"])
def test_what_has_no_axis_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="has no numbers to draw on an axis"):
        drawing_of(samples()[name])


def test_shares_are_short() -> None:
    assert [share(x) for x in (0, 0.25, 1 / 3, 1)] == ["0%", "25%", "33.33%", "100%"]
