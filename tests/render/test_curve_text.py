"""The curve in the terminal: where every character lies, round ticks, and all the shapes that a plan can hand over."""

from __future__ import annotations

import math
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.render.curve_text import curve_text, x_scale, y_scale
from steelyard.render.digits import figure
from steelyard.render.terminal import display_width
from steelyard.results.plan import Curve

HOSTILE = ["<script>alert(1)</script>", "\x1b[31mred", "a\u202egnp", "two\nlines", "", "世界史", "```", "\ud800", "\x00", "x" * 300]


def falling(**other: object) -> Curve:
    """Theta against n for sigma 50, alpha .05, power .8: the guard of an accuracy suite."""
    x = tuple(100 * 10 ** (i / 20) for i in range(61))
    given: dict[str, object] = {"x_label": "n", "y_label": "theta", "x": x, "y": tuple(2.486475 * math.sqrt(5000 / n) for n in x), **other}
    return Curve(**given)  # type: ignore[arg-type]


def learning(**other: object) -> Curve:
    """A learning curve with five seeds per size and a band that opens to the right."""
    x = tuple(25 * 2 ** (i / 6) for i in range(54))
    y = [0.97 - 1.2 * n**-0.45 for n in x]
    given: dict[str, object] = {
        "x_label": "training size",
        "y_label": "accuracy",
        "x": x,
        "y": tuple(y),
        "low": tuple(v - 0.02 - 1e-5 * n for n, v in zip(x, y, strict=True)),
        "high": tuple(min(1.0, v + 0.02 + 1e-5 * n) for n, v in zip(x, y, strict=True)),
        "points": tuple((n, 0.97 - 1.2 * n**-0.45 + d) for n in (25, 50, 100, 200, 400, 800) for d in (-0.02, -0.01, 0, 0.012, 0.03)),
        "goal": 0.95,
        "mark": (5200, 0.9445),
        **other,
    }
    return Curve(**given)  # type: ignore[arg-type]


GOLDEN = """\
theta
   │⠑⢄
15 ┤  ⠑⡄
   │   ⠈⠢⡀
   │     ⠈⠑⢄
10 ┤        ⠉⠦⡀
   │          ⠈⠉⠢⠤⡀
   │              ⠈⠑⠤⢄
 5 ┤                  ⠉⠉⠑⠤⠤⣀⡀
   │╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌⠈⠉⠉⠒●⠤⠤⢄⣀⣀⡀╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
   │                            ┊     ⠈⠉⠉⠉⠉⠒⠒⠒⠒⠤⠤⠤⠤⠤⠤⠤⠤⣀⣀⣀⣀⣀
   └┬─────────────────┬──────────────────┬─────────────────┬
    100             1,000             10,000         100,000
                                                           n
╌╌ goal 3   ● n = 3,435: theta = 3"""

GOLDEN_ASCII = """\
accuracy
1.0 +                                          .............
    |- - - - - - - - - - - - - - - - -.-.-.-.-.-.-.-.*******
    |                       .o......o***************X.......
0.9 +                 .o..***o******o...............:.......
    |            o..***o**...o.                     :.......
0.8 +        ..**o**...                             :     ..
    |    ..o***..                                   :
    |  .***o.                                       :
0.7 +o**..                                          :
    |o.                                             :
    +------------+--------------------+-------------------+-
                100                 1,000             10,000
                                               training size
o seen   .. interval   -- goal 0.95
X training size = 5,200: accuracy = 0.9445"""


def test_golden() -> None:
    assert "\n".join(curve_text(falling(goal=3.0, mark=(3435, 3.0)), 60, 10)) == GOLDEN


def test_golden_ascii() -> None:
    assert "\n".join(curve_text(learning(), 60, 10, ascii_only=True)) == GOLDEN_ASCII


def drawing(lines: list[str], height: int) -> list[str]:
    """The rows of an ASCII drawing without the axis at its left."""
    rows = lines[1 : 1 + height]
    edge = max(row.index("|") if "|" in row[:20] else row.index("+") for row in rows)
    return [row[edge + 1 :] for row in rows]


@every("width", [30, 61, 80, 120])
@every("height", [5, 10, 17])
def test_each_column_of_the_line_is_where_the_formula_is(width: int, height: int) -> None:
    """An oracle that knows no scales: the formula at the x of each column, against the rows of its stars."""
    curve = falling()
    rows = drawing(curve_text(curve, width, height, ascii_only=True), height)
    columns = max(map(len, rows))
    low, high = min(curve.y), max(curve.y)
    for column in range(columns):
        stars = [i for i, row in enumerate(rows) if row[column : column + 1] == "*"]
        n = 100 * 1000 ** (column / (columns - 1))
        want = (high - 2.486475 * math.sqrt(5000 / n)) / (high - low) * (height - 1)
        steep = 1 + abs(high * math.log(1000) / 2 * math.sqrt(100 / n) / columns / (high - low) * height)
        assert stars
        assert min(stars) - steep <= want <= max(stars) + steep


def test_dots_of_braille_and_stars_agree() -> None:
    """Both brushes ink the same cells, but for rounding to a neighbour."""
    fine, coarse = (curve_text(falling(), 70, 10, ascii_only=plain)[1:11] for plain in (False, True))
    for i, row in enumerate(coarse):
        for column, character in enumerate(row):
            if character == "*":
                near = [fine[j][column : column + 1] for j in range(max(i - 1, 0), min(i + 2, 10))]
                assert any(c and 0x2800 < ord(c) < 0x2900 for c in near)


def test_goal_mark_and_points_lie_where_they_should() -> None:
    curve = Curve(x_label="x", y_label="y", x=(0, 10), y=(0, 10), points=((0, 10), (10, 0)), goal=10, mark=(5, 5), log_x=False)
    rows = drawing(curve_text(curve, 43, 11, ascii_only=True), 11)
    assert rows[0].startswith("o - - -")
    assert rows[10].rstrip().endswith("o")
    middle = rows[5].index("X")
    assert abs(middle - (max(map(len, rows)) - 1) / 2) <= 1
    assert {row[middle] for row in rows[6:]} == {":"}


def test_a_band_fills_what_is_between() -> None:
    curve = Curve(x_label="x", y_label="y", x=(1, 2), y=(5, 5), low=(4, 4), high=(6, 6), points=((1, 0), (2, 10)), log_x=False)
    rows = drawing(curve_text(curve, 50, 11, ascii_only=True), 11)
    assert [set(row) for row in rows[3:8]] == [set(), {"."}, {"*"}, {"."}, set()]


def test_a_steep_band_has_no_gaps() -> None:
    """Where an end of the band climbs several rows in one column, the band reaches the outermost of them."""
    curve = Curve(x_label="x", y_label="y", x=(0, 1, 1.001, 2), y=(5, 5, 5, 5), low=(4, 4, 0, 0), high=(6, 6, 10, 10), log_x=False)
    rows = drawing(curve_text(curve, 45, 11, ascii_only=True), 11)
    jump = min(row.index(".") for row in (rows[0], rows[10]))
    assert "".join(row[jump] for row in rows) == ".....*....."


def test_a_wild_band_does_not_flatten_the_line() -> None:
    wild = Curve(x_label="x", y_label="y", x=(1, 10), y=(0.8, 0.9), low=(0.79, -1e6), high=(0.81, 1e6))
    scale = y_scale(wild, 5)
    assert (scale.low, scale.high) == pytest.approx((0.7, 1.0))
    assert curve_text(wild, 60)


@every(
    "curve",
    [
        Curve(x_label="n", y_label="assurance", x=(10, 20, 30), y=(1.0, 1.0, 1.0), goal=1.0),
        Curve(x_label="n", y_label="y", x=(10, 20, 30), y=(0.0, 0.0, 0.0), log_x=False),
        Curve(x_label="n", y_label="y", x=(50,), y=(3.0,)),
        Curve(x_label="n", y_label="y", x=(0,), y=(0.0,), mark=(0, 0)),
        Curve(x_label="n", y_label="y", x=(0, 10, 100), y=(1.0, 2.0, 3.0)),  # a logarithm is asked for where there is none
        Curve(x_label="n", y_label="y", x=(30, 10, 20), y=(3.0, 1.0, 2.0)),  # out of order
        Curve(x_label="n", y_label="y", x=(10, 10, 20), y=(1.0, 2.0, 3.0)),  # a jump
        Curve(x_label="n", y_label="y", x=(1, 1e9), y=(1e-9, 1e9)),
        Curve(x_label="n", y_label="y", x=(1e-12, 1e12), y=(1e-300, 1e300)),
        Curve(x_label="n", y_label="y", x=(1000, 1001), y=(1.0, 1.0 + 1e-12)),
        Curve(x_label="n", y_label="y", x=(1, 2), y=(-3.0, -1.0), low=(-4, -2), high=(-2, 0)),
    ],
)
@every("plain", [False, True])
def test_odd_curves_are_drawn(curve: Curve, plain: bool) -> None:
    lines = curve_text(curve, 60, 8, plain)
    assert len(lines) >= 11
    assert max(map(display_width, lines)) <= 60
    inked = "".join(lines[1:9])
    assert any(0x2800 < ord(c) < 0x2900 or c in "*oX○●" for c in inked)


def test_order_does_not_matter() -> None:
    one = Curve(x_label="n", y_label="y", x=(30, 10, 20), y=(3.0, 1.0, 2.0))
    other = Curve(x_label="n", y_label="y", x=(10, 20, 30), y=(1.0, 2.0, 3.0))
    assert curve_text(one, 60) == curve_text(other, 60)


@pytest.mark.parametrize("width", [0, 12, 29])
def test_too_narrow_is_nothing(width: int) -> None:
    assert curve_text(falling(), width) == []
    assert curve_text(falling(), 30) != []


def test_no_places_is_nothing() -> None:
    assert curve_text(falling(x=(), y=()), 80) == []


@every("label", HOSTILE)
@every("plain", [False, True])
def test_labels_are_harmless(label: str, plain: bool) -> None:
    lines = curve_text(falling(x_label=label, y_label=label, goal=3.0, mark=(3435, 3.0)), 60, 8, plain)
    text = "\n".join(lines)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", text)
    assert max(map(display_width, lines)) <= 60
    assert text.isascii() or not plain


@given(
    st.floats(-1e6, 1e6),
    st.floats(-5, 8).map(lambda power: 10**power),
    st.integers(4, 12),
)
def test_even_ticks_are_round_and_inside(low: float, span: float, most: int) -> None:
    scale = y_scale(Curve(x_label="x", y_label="y", x=(1, 2), y=(low, low + span)), most)
    steps = {f"{b - a:.4g}" for a, b in zip(scale.ticks, scale.ticks[1:], strict=False)}
    assert 2 <= len(scale.ticks) <= most
    assert len(set(scale.texts)) == len(scale.texts)
    assert all(scale.low - span * 1e-6 <= tick <= scale.high + span * 1e-6 for tick in scale.ticks)
    if span > 1e-3 * abs(low):  # else rounding of the ticks themselves shows in the difference
        assert len(steps) == 1
        assert steps.pop().replace(".", "").replace("e+", "e").partition("e")[0].strip("0") in ("1", "2", "5")
    for tick, text in zip(scale.ticks, scale.texts, strict=True):
        assert float(text.replace(",", "")) == pytest.approx(tick, rel=1e-3, abs=span * 1e-3)


@given(st.floats(-6, 9), st.floats(0.02, 12), st.integers(3, 12))
def test_log_ticks_are_round_and_inside(power: float, decades: float, most: int) -> None:
    low, high = 10**power, 10 ** (power + decades)
    scale = x_scale(Curve(x_label="x", y_label="y", x=(low, high), y=(1, 2)), most)
    assert scale.log
    assert 1 <= len(scale.ticks) <= most
    assert len(set(scale.texts)) == len(scale.texts)
    assert all(low * (1 - 1e-6) <= tick <= high * (1 + 1e-6) for tick in scale.ticks)
    if decades > 2:
        assert all(re.fullmatch("[125]", f"{tick:.6e}".partition("e")[0].rstrip("0").rstrip(".")) for tick in scale.ticks)
    assert (scale.share(low), scale.share(high)) == (0.0, 1.0)
    assert scale.share(math.sqrt(low) * math.sqrt(high)) == pytest.approx(0.5)


@given(st.floats(0, 7), st.floats(0.1, 5), st.integers(30, 100))
def test_numbers_below_are_whole(power: float, decades: float, width: int) -> None:
    """None runs into the next: each word below the axis is a tick, or the name of the axis."""
    curve = Curve(x_label="n", y_label="y", x=(10**power, 10 ** (power + decades)), y=(1, 2))
    lines = curve_text(curve, width, 6, ascii_only=True)
    words = " ".join(lines[8:]).split()
    known = {text for most in range(2, 13) for text in x_scale(curve, most).texts}
    assert words
    assert set(words) <= known | {"n"}


def test_large_numbers_that_differ_look_different() -> None:
    scale = y_scale(Curve(x_label="x", y_label="y", x=(1, 2), y=(123_410_000, 123_414_000)), 5)
    assert scale.texts == ("123,410,000", "123,411,000", "123,412,000", "123,413,000", "123,414,000")


finite = (st.floats(-1e6, 1e6, allow_nan=False)).map(lambda v: round(v, 9))  # a difference of 1e-155 has no ticks that fit


@given(st.data())
def test_any_curve_fits(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    x = data.draw(st.lists(st.floats(0.01, 1e8), min_size=n, max_size=n))
    y = data.draw(st.lists(finite, min_size=n, max_size=n))
    spread = data.draw(st.none() | st.floats(0, 1e5))
    curve = Curve(
        x_label="n",
        y_label="y",
        x=tuple(x),
        y=tuple(y),
        low=None if spread is None else tuple(v - spread for v in y),
        high=None if spread is None else tuple(v + spread for v in y),
        points=tuple(data.draw(st.lists(st.tuples(st.floats(0.01, 1e8), finite), max_size=4))),
        goal=data.draw(st.none() | finite),
        mark=data.draw(st.none() | st.tuples(st.floats(0.01, 1e8), finite)),
        log_x=data.draw(st.booleans()),
    )
    width, height, plain = data.draw(st.integers(40, 130)), data.draw(st.integers(3, 20)), data.draw(st.booleans())
    lines = curve_text(curve, width, height, plain)
    assert height + 3 <= len(lines) <= height + 8
    assert max(map(display_width, lines)) <= width
    assert all(line == line.rstrip() for line in lines)
    assert not plain or "".join(lines).isascii()


@every(
    ("x", "digits", "text"),
    [
        (2.7471934, 7, "2.747193"),
        (1.8173244, 7, "1.817324"),
        (3.0, 7, "3"),
        (1387, 4, "1,387"),
        (132.5, 4, "132.5"),
        (-0.25, 4, "-0.25"),
        (0.99999, 4, "1"),
        (99999.5, 4, "100,000"),
        (1.5e-7, 4, "1.5e-7"),
        (1e20, 4, "1e20"),
        (0.0, 4, "0"),
    ],
)
def test_figures(x: float, digits: int, text: str) -> None:
    assert figure(x, digits) == text


def test_loads_no_numpy() -> None:
    code = "import steelyard.render.pages.plan, steelyard.render.pictures.plane, sys; print({'numpy', 'scipy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
