"""The picture of a verdict in one line: its marks in the order of their numbers, and nothing that is not known."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from cases import every
from render.verdict_samples import LEGACY, gap
from steelyard.render.formats import result_markdown
from steelyard.render.pages.verdict import difference_bar


def test_a_regression() -> None:
    assert difference_bar(LEGACY, width=20) == (
        "worse ·├───────●───────┤0· better",
        "● difference; ├─┤ 95% bounds; 0 no change",
    )
    plain = difference_bar(LEGACY, width=20, ascii_only=True)
    assert plain == ("worse .|-------o-------|0. better", "o difference; |-| 95% bounds; 0 no change")


def test_it_is_on_the_page_of_a_step() -> None:
    bar, legend = difference_bar(LEGACY)
    assert f"`{bar}`  \n{legend}\n" in result_markdown(LEGACY)


def test_no_difference_no_picture() -> None:
    for unknown in ({}, {"estimate": None}, {"estimate": math.nan}):
        v = replace(LEGACY, difference=unknown)
        assert difference_bar(v) == ("", "")
        assert "worse ·" not in result_markdown(v)


def test_an_end_that_is_not_known_is_an_arrow() -> None:
    assert difference_bar(replace(LEGACY, difference=gap(-1.0, None, -0.5)), width=12)[0].startswith("worse ←")
    assert "→ better" in difference_bar(replace(LEGACY, difference=gap(-1.0, -2.0, None)), width=12)[0]


def test_all_in_one_place() -> None:
    """A run like its reference, to the item: nothing to divide by."""
    bar, legend = difference_bar(replace(LEGACY, difference=gap(0.0, 0.0, 0.0)), width=11)
    assert bar == "worse ·····●····· better"
    assert "no change" not in legend


@every("seed", range(100))
def test_marks_stand_in_the_order_of_their_numbers(seed: int) -> None:
    draw = random.Random(seed)
    unit = 10.0 ** draw.randint(-6, 6)
    low, middle, high = sorted(draw.gauss(0, unit) for _ in range(3))
    v = replace(
        LEGACY,
        difference=gap(middle, low, high),
        margin=draw.choice([0.0, unit / 2]),
        theta=draw.choice([None, unit]),
    )
    cells = difference_bar(v, width=400)[0].removeprefix("worse ").removesuffix(" better")
    assert len(cells) == 400
    places = {"├": low, "●": middle, "┤": high, "0": 0.0, "M": -v.margin, "T": -(v.theta or 0.0)}
    found = [each for each in cells if each in places]
    assert [places[each] for each in found] == sorted(places[each] for each in found)
    assert found.count("●") == 1
    assert ("T" in cells) <= (v.theta is not None)
    assert ("M" in cells) <= bool(v.margin)
