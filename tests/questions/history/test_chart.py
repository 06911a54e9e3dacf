"""What a chart knows about the uncertainty of a past run, what it says changed, and which items did."""

from __future__ import annotations

import random
from typing import Any

import pytest
from statsmodels.stats.proportion import proportion_confint

from cases import every
from steelyard.questions.history.chart import CHANGE, OWN, changed_items, chart_points, uncertainty, what_changed
from steelyard.results.history import PastRun


def past(**facts: Any) -> PastRun:
    return PastRun(**{"id": "a" * 32, "time": "2026-01-01T00:00:00.000000Z", "command": "check", "task": "t", "model": "m", **facts})


@every(("hits", "n"), [(0, 10), (10, 10), (33, 40), (1055, 1319), (7, 100_003)])
@every(("scale", "unit"), [("fraction", 1.0), ("percent", 100.0)])
@every("metric", ["accuracy", "error"])
def test_a_share_of_items_has_the_interval_of_wilson(hits: int, n: int, scale: str, unit: float, metric: str) -> None:
    low, high, band = uncertainty(past(metric=metric, n=n, estimate=hits / n * unit, scale=scale))
    expected = proportion_confint(hits, n, method="wilson")  # statsmodels 0.15
    assert band == OWN
    assert (low, high) == pytest.approx([each * unit for each in expected], abs=1e-9)


def test_a_mean_over_repeats_is_not_taken_for_a_count() -> None:
    assert uncertainty(past(n=10, estimate=0.333)) == (None, None, None)


@pytest.mark.parametrize(
    "facts",
    [
        {"design": "clustered"},
        {"signature": "metric:accuracy|n:40|design:groups|units:10"},
        {"signature": "design:repeats"},
        {"tally": {"stopped": True}},
    ],
)
def test_items_that_are_no_single_draws_have_no_interval_of_wilson(facts: dict[str, Any]) -> None:
    assert uncertainty(past(n=40, estimate=0.5))[2] == OWN
    assert uncertainty(past(n=40, estimate=0.5, **facts)) == (None, None, None)
    judged = past(n=40, estimate=0.5, reference={"value": 0.6}, lower=-0.2, upper=0.1, **facts)
    assert uncertainty(judged) == (pytest.approx(0.4), pytest.approx(0.7), CHANGE)


@pytest.mark.parametrize(("up", "ends"), [(True, (0.77, 0.82)), (False, (0.78, 0.83))])
def test_another_metric_has_the_bounds_of_its_change(up: bool, ends: tuple[float, float]) -> None:
    run = past(metric="f1", n=50, estimate=0.79, reference={"value": 0.8}, lower=-0.03, upper=0.02, higher_is_better=up)
    low, high, band = uncertainty(run)
    assert (low, high) == pytest.approx(ends)
    assert band == CHANGE


def test_nothing_known_is_nothing_said() -> None:
    for run in (past(), past(metric="f1", estimate=0.5, n=10), past(metric="f1", estimate=0.5, reference={"value": 0.4}, lower=-0.1)):
        assert uncertainty(run) == (None, None, None)


def test_what_changed_is_told_once_and_in_words() -> None:
    a = past(
        commit="1" * 40, spec={"tp": "1", "q": "x"}, protocol={"prompt": "v3"}, n=100, reference={"value": 0.8}, theta=0.02, tool="s 1"
    )
    b = past(commit="2" * 40, spec={"tp": "2"}, protocol={"prompt": "v4"}, n=90, reference={"value": 0.7}, theta=0.03, tool="s 1")
    assert what_changed(a, b) == [
        "commit 1111111111 → 2222222222",
        "items 100 → 90",
        "spec q: x → none",
        "spec tp: 1 → 2",
        "protocol prompt: v3 → v4",
        "reference 0.8 → 0.7",
        "theta 0.02 → 0.03",
    ]
    assert what_changed(a, a) == []
    points = chart_points([b, a], a)
    assert points[0].changed == what_changed(a, b)
    assert points[1].changed == what_changed(b, a)
    assert chart_points([a])[0].changed is None


def test_items_that_changed_are_all_of_them_losses_first() -> None:
    rng = random.Random(1)
    for _ in range(50):
        a, b = ({str(i): rng.choice([0.0, 0.5, 1.0]) for i in rng.sample(range(40), 30)} for _ in range(2))
        found = changed_items(a, b)
        assert {id_ for id_, _, _ in found} == {id_ for id_ in a if id_ in b and a[id_] != b[id_]}
        assert all((a[id_], b[id_]) == (then, now) for id_, then, now in found)
        gaps = [now - then for _, then, now in found]
        assert gaps == sorted(gaps)
