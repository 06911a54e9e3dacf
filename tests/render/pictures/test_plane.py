"""The curve as a picture: valid, standalone, harmless, and everything where it should be."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from cases import every
from steelyard.errors import UsageError
from steelyard.render.pictures.plane import curve_plane, plan_svg
from steelyard.results.plan import Curve, Plan

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    '" onload="alert(1)',
    "a & b &amp; c",
    "]]><x/>",
    "\x00\x1b[31m\x08",
    "a\u202egnp",
    "two\nlines",
    "\ud800",
    "\ufffe\uffff",
    "世界史",
    "x" * 400,
    "</title><style>*{display:none}</style>",
]
X = (100.0, 1000.0, 10000.0, 100000.0)
THETA = tuple(2.486475 * math.sqrt(5000 / n) for n in X)
FALLING = Curve(x_label="n", y_label="theta", x=X, y=THETA, goal=3.0, mark=(3435, 3.0))
LEARNING = Curve(
    x_label="training size",
    y_label="accuracy",
    x=(25, 100, 400, 1600, 6400),
    y=(0.69, 0.82, 0.89, 0.926, 0.947),
    low=(0.66, 0.80, 0.87, 0.88, 0.85),
    high=(0.72, 0.84, 0.91, 0.96, 1.0),
    points=((25, 0.7), (25, 0.68), (100, 0.81), (400, 0.88)),
    goal=0.95,
    mark=(5200, 0.9445),
)


def curve_svg(curve: Curve, title: str = "") -> str:
    return curve_plane(curve, title).svg(alone=True)


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text.encode("utf-8"))


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def of_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in root.iter() if element.get("class") == name]


def places(element: ET.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, _, y in (pair.partition(",") for pair in element.attrib["points"].split())]


def test_what_it_holds() -> None:
    root = parsed(curve_svg(LEARNING, "About 5,200 training items reach accuracy 0.95."))
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert (width, height) == (float(root.attrib["width"]), float(root.attrib["height"]))
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == "About 5,200 training items reach accuracy 0.95."
    assert root[1].text == "accuracy: from 0.69 at 25 to 0.947 at 6,400; 4 points seen; goal 0.95; answer training size 5,200."
    shown = {"goal: 0.95", "answer: training size = 5,200", "training size", "accuracy", "seen", "interval", "0.9", "1,000"}
    assert shown <= set(texts(root))
    assert len(of_class(root, "whisker")) == 4 + 1  # and one in the key
    assert len(places(of_class(root, "band")[0])) == 10
    assert len(places(of_class(root, "line")[0])) == 5
    assert "prefers-color-scheme: dark" in (root.find(f"{SVG}style").text or "")  # type: ignore[union-attr]


def test_falling() -> None:
    root = parsed(curve_svg(FALLING))
    assert "theta: from 17.58 at 100 to 0.556 at 100,000" in (root[1].text or "")
    assert not of_class(root, "band") + of_class(root, "whisker")
    assert not {"seen", "interval"} & set(texts(root))


def test_places_follow_the_values() -> None:
    """Even steps of log n lie evenly; y is turned and linear; the goal goes through the answer."""
    root = parsed(curve_svg(FALLING))
    line = places(of_class(root, "line")[0])
    steps = [b[0] - a[0] for a, b in pairwise(line)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.02)
    slopes = [(b[1] - a[1]) / (v - w) for a, b, v, w in zip(line, line[1:], THETA, THETA[1:], strict=False)]
    assert slopes == pytest.approx([slopes[0]] * 3, abs=0.02)
    assert slopes[0] > 0
    mark, goal = of_class(root, "goal-text")[0], of_class(root, "goal")[0]
    assert mark.get("cy") == goal.get("y1") == goal.get("y2")
    share = math.log(3435 / 100) / math.log(1000)
    left, right = (float(goal.attrib[key].rstrip("%")) for key in ("x1", "x2"))
    first, last = (left + each[0] / 1000 * (right - left) for each in (line[0], line[-1]))
    assert float(mark.attrib["cx"].rstrip("%")) == pytest.approx(first + share * (last - first), abs=0.02)


@pytest.mark.parametrize("curve", [FALLING, LEARNING])
def test_everything_lies_inside(curve: Curve) -> None:
    root = parsed(curve_svg(curve, "A conclusion that takes several lines, since it says all that a tired person needs to know. " * 3))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for element in root.iter():
        for key in ("x", "x1", "x2", "cx"):
            at = element.get(key, "0")
            assert 0 <= float(at.rstrip("%")) <= (100 if at.endswith("%") else width)
        for key in ("y", "y1", "y2", "cy"):
            assert 0 <= float(element.get(key, 0)) <= height
        if "points" in element.attrib:
            assert all(0 <= x <= 1000 and 0 <= y <= 1000 for x, y in places(element))


@every("words", HOSTILE)
def test_hostile_words_stay_words(words: str) -> None:
    curve = Curve(x_label=words, y_label=words, x=X, y=THETA, goal=3.0, mark=(3435, 3.0))
    text = curve_svg(curve, words)
    root = parsed(text)
    plain = parsed(curve_svg(FALLING, "title"))
    assert {element.tag for element in root.iter()} == {element.tag for element in plain.iter()}
    assert {key for element in root.iter() for key in element.attrib} == {key for element in plain.iter() for key in element.attrib}
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800\ufffe\uffff]", text)
    if words.isprintable() and len(words) < 30 and "\ufffe" not in words:
        assert root[0].text == words


def test_standalone() -> None:
    text = curve_svg(LEARNING, "title")
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\(|@import|<script|<image|<foreignObject|\bon\w+=", text)
    assert not re.search(r'\bid="', text), "two pictures in one page would share it"


@pytest.mark.parametrize(
    "curve",
    [
        Curve(x_label="n", y_label="y", x=(10, 20), y=(1.0, 1.0), goal=1.0),
        Curve(x_label="n", y_label="y", x=(50,), y=(3.0,)),
        Curve(x_label="n", y_label="y", x=(0, 5), y=(0.0, 3.0), mark=(5, 3.0)),
        Curve(x_label="n", y_label="y", x=(1, 1e9), y=(1e-9, 1e9)),
        Curve(x_label="n", y_label="y", x=(1, 2), y=(0.5, 0.6), low=(0.4, -1e9), high=(0.6, 1e9)),
    ],
)
def test_odd_curves(curve: Curve) -> None:
    root = parsed(curve_svg(curve))
    assert of_class(root, "line") or of_class(root, "dot")
    assert "nan" not in curve_svg(curve)
    assert len(texts(root)) >= 4


def test_numbers_below_do_not_run_into_one_another() -> None:
    """A digit of this size is about 7.6 units wide."""
    wide = Curve(x_label="n", y_label="y", x=(20_000, 9_000_000), y=(1.0, 2.0))
    root = parsed(curve_svg(wide))
    below = [t for t in root.iter(f"{SVG}text") if t.get("text-anchor") == "middle" and re.fullmatch(r"[\d,]+", t.text or "")]
    middles = [(6.4 * float(t.attrib["x"].rstrip("%")), 3.8 * len(t.text or "")) for t in below]
    ends = [(middle - half, middle + half) for middle, half in middles]
    assert len(ends) >= 2
    assert all(a[1] < b[0] for a, b in pairwise(ends))


def test_plan() -> None:
    plan = Plan(goal="detect", conclusion="3,435 items per run notice a drop of 3 with power 0.8.", curve=FALLING)
    root = parsed(plan_svg(plan))
    assert root[0].text == plan.conclusion
    assert " ".join(texts(root)[:1]) == plan.conclusion


@pytest.mark.parametrize("curve", [None, Curve(x_label="n", y_label="y", x=(), y=())])
def test_a_plan_without_a_curve_is_an_error(curve: Curve | None) -> None:
    with pytest.raises(UsageError, match=r"A plan for designs has no curve to draw; detect, rule-out, width,.*Hint: text"):
        plan_svg(Plan(goal="designs", conclusion="Pair.", curve=curve))
