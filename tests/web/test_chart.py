"""The pictures: well-formed, every run on its place, every verdict a shape of its own, and no word that is markup."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from steelyard.questions.history.chart import chart_points
from steelyard.results.history import PastRun
from steelyard.web.chart import SHAPES, series_picture, small_picture
from web.board_samples import PLANTED

SVG = "{http://www.w3.org/2000/svg}"


def past(i: int = 0, **facts: Any) -> PastRun:
    own = {"id": f"{i:032x}", "time": f"2026-01-{1 + i:02d}T00:00:00.000000Z", "command": "check", "task": "t", "model": "m"}
    return PastRun(**{**own, "estimate": 0.8, "n": 10, "verdict": "pass", **facts})


def series(*runs: PastRun, title: str = "a title", metric: str = "accuracy") -> ElementTree.Element:
    return ElementTree.fromstring(series_picture(chart_points(runs), title, metric))


def test_each_run_is_a_link_with_its_words() -> None:
    found = series(past(0), past(1, verdict="regression", estimate=0.5, threshold=0.7), past(2, verdict="inconclusive"))
    links = found.findall(f"{SVG}a")
    assert [link.get("href") for link in links] == [f"/runs/{i:032x}" for i in range(3)]
    assert "accuracy 0.5 [0.2366, 0.7634]; threshold 0.7; regression" in str(links[1].get("data-told"))


def test_every_verdict_has_a_shape_of_its_own() -> None:
    assert (
        len({re.sub("[0-9.-]+", "", shape.split("class")[0]) + shape.split('class="')[1].split('"')[0] for shape in SHAPES.values()}) == 5
    )
    kinds = {"pass": {"verdict": "pass"}, "regression": {"verdict": "regression"}, "inconclusive": {"verdict": "inconclusive"}}
    kinds |= {"record": {"verdict": None, "command": "record"}, "none": {"verdict": None}}
    for kind, facts in kinds.items():
        drawn = series_picture(chart_points([past(**facts)]), "t", "accuracy")
        assert f' {kind}"' in drawn or f" {kind} " in drawn


def test_later_is_to_the_right_and_better_is_higher() -> None:
    marks = [
        link.find(f"{SVG}svg") for link in series(past(0, estimate=0.9), past(5, estimate=0.5), past(20, estimate=0.7)).findall(f"{SVG}a")
    ]
    across = [float(str(mark.get("x")).rstrip("%")) for mark in marks if mark is not None]
    down = [float(str(mark.get("y"))) for mark in marks if mark is not None]
    assert across == sorted(across)
    assert (across[2] - across[1]) / (across[1] - across[0]) == pytest.approx(3, rel=0.01)
    assert down[0] < down[2] < down[1]


def test_one_run_and_no_run_and_runs_of_one_moment() -> None:
    assert len(series(past(0, threshold=0.7)).findall(f"{SVG}a")) == 1
    assert series_picture([], "t", "m") == ""
    assert series_picture(chart_points([past(estimate=None)]), "t", "m") == ""
    assert len(series(past(0), past(0)).findall(f"{SVG}a")) == 2
    assert small_picture([], "t") == ""
    assert small_picture([past(estimate=None)], "t") == ""
    ElementTree.fromstring(small_picture([past(estimate=0.0)], "t"))


@pytest.mark.parametrize(
    ("times", "ticks"),
    [
        (("2026-06-01T01", "2026-06-01T07"), ["06-01 03:00", "06-01 06:00"]),
        (("2026-06-01T00", "2026-06-20T00"), ["2026-06-07", "2026-06-14"]),
        (("2026-01-10T00", "2026-08-20T00"), ["2026-03-01", "2026-05-01", "2026-07-01"]),
        (("2001-06-01T00", "2026-06-01T00"), ["2005-01-01", "2010-01-01", "2015-01-01", "2020-01-01", "2025-01-01"]),
    ],
)
def test_ticks_are_round_moments(times: tuple[str, str], ticks: list[str]) -> None:
    found = series(*(past(0, time=f"{time}:00:00.000000Z") for time in times))
    said = [each.text for each in found.findall(f"{SVG}text") if re.search(r"\d\d-\d\d", each.text or "")]
    assert said
    assert [each for each in ticks if each in said] == said


def test_the_first_and_the_last_moment_there_are() -> None:
    ends = [past(0, time=f"{day}T00:00:00.000000Z") for day in ("0001-01-01", "9999-12-31")]
    assert len(series(*ends).findall(f"{SVG}a")) == 2
    assert len(series(ends[0]).findall(f"{SVG}a")) == 1
    assert len(series(ends[1]).findall(f"{SVG}a")) == 1


def test_planted_words_stay_words() -> None:
    run = past(0, commit=PLANTED, protocol={PLANTED: PLANTED}, metric=PLANTED)
    text = series_picture(chart_points([run], past(0)), PLANTED, PLANTED)
    tags = {each.tag for each in ElementTree.fromstring(text).iter()}
    assert f"{SVG}script" not in tags
    assert f"{SVG}img" not in tags
    assert {each.tag for each in ElementTree.fromstring(small_picture([run], PLANTED)).iter()} <= {
        SVG + name for name in ("svg", "title", "desc", "polyline", "line", "g", "circle", "path")
    }
