"""Months and years of nights through the real check of a suite: few alarms while nothing changes, and a loss that is found."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from cases import seldom
from questions.suite.test_budget import Nights
from steelyard.estimate.past.nights import nights_of, replay
from steelyard.history.store import open_history


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("many", [20, *seldom(45)])
def test_two_months_and_a_loss(many: int) -> None:
    nights = Nights(tasks=2, items=60, runs=3, noise=0.03, seed=11)
    quiet = nights.several(many)
    assert sum(one.nights.alarm for one in quiet if one.nights) == 0
    nights.break_items(0, 12)
    found = nights.several(4)
    assert [one.verdict for one in found][-1] == "regression"
    with open_history("sqlite:///runs.db") as store:
        again = replay(nights_of(store, "main"))
    made = [one.nights.evidence for one in (*quiet, *found) if one.nights]
    assert [one.evidence for one in again.decisions] == pytest.approx(made, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("runs", [1, 3, 5, 10])
def test_a_year(runs: int) -> None:
    """Ten tasks of 200 items, a budget of one: at most two alarms in this year, 5 points at one task found within four nights.

    Five to seven minutes each on a busy core. The rates themselves are measured on the watch, without files.
    """
    nights = Nights(tasks=10, items=200, runs=runs, noise=0.015, seed=100 + runs)
    alarms = 0
    for _ in range(365):
        one = nights.night()
        assert one.nights is not None
        alarms += one.nights.alarm
        if one.verdict == "regression":
            sy.acknowledge("main", fixed=True, reason="a false alarm", history="sqlite:///runs.db")
    assert alarms <= 2
    nights.break_items(3, 10)
    found = nights.several(4)
    assert any(one.nights.alarm for one in found if one.nights)
