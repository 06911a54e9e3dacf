"""A declared range says in which scale scores are, whatever those of the first run happen to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import steelyard_old as sy

IDS = [f"q{i}" for i in range(60)]
FIRST = {"id": IDS, "score": np.linspace(0.05, 0.95, 60)}
SECOND = {"id": IDS, "score": np.linspace(-0.8, 1.5, 60)}


def test_a_later_score_beyond_one_is_checked_where_the_range_allows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sy.record(FIRST, task="t", model="m", range=(-1, 2))
    assert sy.show_reference("t", "m").entry["scale"] == "raw"
    found = sy.check(SECOND, task="t", model="m", range=(-1, 2))
    assert found.scale == "raw"
    assert found.difference.estimate == pytest.approx(SECOND["score"].mean() - FIRST["score"].mean())


def test_fractions_stay_fractions_and_the_hint_says_how_others_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sy.record(FIRST, task="t", model="m", range=(0, 1))
    assert sy.show_reference("t", "m").entry["scale"] == "fraction"
    with pytest.raises(sy.DataError, match="record them with scale='raw'"):
        sy.check(SECOND, task="t", model="m")
    sy.record(FIRST, task="t", model="m", scale="raw", update=True, reason="scores can lie beyond 0 and 1")
    assert sy.check(SECOND, task="t", model="m").scale == "raw"
