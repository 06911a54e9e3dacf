"""Groups that are too few, or worth too little: no interval, and nothing else that rests on their spread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.pytest_summary import holm_note

Rows = list[dict[str, Any]]


def rows_of(**columns: Any) -> Rows:
    """One row per value; columns of one length."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def spread_runs(groups: list[int], shares: tuple[float, ...], rng: np.random.Generator) -> Rows:
    """Runs that differ as runs: run k is right with chance shares[k]."""
    items, runs = len(groups), len(shares)
    ids = np.repeat(np.arange(items), runs)
    run = np.tile(np.arange(runs), items)
    score = (rng.random(len(ids)) < np.array(shares)[run]).astype(int)
    return rows_of(id=ids.tolist(), repeat=run.tolist(), score=score.tolist(), group=[groups[i] for i in ids])


THREE, GIANT = [i // 4 for i in range(12)], [0] * 40 + [1 + i // 2 for i in range(20)]


@pytest.mark.parametrize("groups", [THREE, GIANT], ids=["three groups", "a giant and ten pairs"])
def test_too_few_groups_have_no_bounds_whatever_the_runs_show(groups: list[int], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for run in range(10):
        where: dict[str, Any] = {"task": "t", "model": "m", "directory": tmp_path / str(run)}
        sy.record(spread_runs(groups, (0.9, 0.4), rng), **where)
        found = sy.check(spread_runs(groups, (0.9, 0.4), rng), theta=0.3, **where)
        difference = found.to_dict()["difference"]
        assert (difference["lower"], difference["upper"], difference["standard_error"]) == (None, None, None), found.conclusion
        assert (found.mde, found.threshold, found.sigma) == (None, None, None)
        assert not any("counted in, t with" in said for said in found.warnings)
        assert "not judged" in found.conclusion
        assert "possible" not in found.conclusion


def test_a_difference_of_accuracies_has_no_bound_below_minus_one(tmp_path: Path) -> None:
    """Six groups, and runs that part by so much that t reaches far beyond the range."""
    rng = np.random.default_rng(0)
    groups = [i // 2 for i in range(12)]
    for run in range(10):
        where: dict[str, Any] = {"task": "t", "model": "m", "directory": tmp_path / str(run)}
        sy.record(spread_runs(groups, (1.0, 0.1), rng), **where)
        difference = sy.check(spread_runs(groups, (1.0, 0.1), rng), theta=0.3, **where).to_dict()["difference"]
        assert -1 <= difference["lower"] <= difference["upper"] <= 1


def giant(right: bool) -> Rows:
    """One group of 200 and thirty pairs: worth 1.7 groups."""
    group = [0] * 200 + [1 + i // 2 for i in range(60)]
    score = [1] * 260 if right else (np.random.default_rng(1).random(260) < 0.9).astype(int).tolist()
    return rows_of(id=range(260), score=score, group=group)


def test_a_guard_that_can_only_be_inconclusive_could_find_nothing_and_says_why(tmp_path: Path) -> None:
    where: dict[str, Any] = {"task": "t", "model": "m", "directory": tmp_path}
    sy.record(giant(True), **where)
    found = sy.check(giant(False), theta=0.3, **where)
    assert (found.verdict, found.mde) == ("inconclusive", None)  # it said .02, "with power 0.8"
    assert found.p_value <= 0.05
    assert "not judged, though p" in found.conclusion
    assert "31 groups, worth 1.7 equal ones, are too few" in found.conclusion
    assert "not shown" not in found.conclusion


@pytest.mark.parametrize("metric", ["accuracy", "mean"])
def test_a_comparison_judges_no_p_of_too_few_groups(metric: str) -> None:
    found = sy.compare(giant(True), giant(False), metric=metric, margin=0.2)
    assert found.difference.interval is None
    assert (found.mde, found.difference.standard_error, found.equivalence) == (None, None, None)
    assert "No conclusion about" in found.conclusion
    assert "missed" not in found.conclusion
    assert found.details["not_judged"] == "31 groups, worth 1.7 equal ones, are too few"


def test_nor_does_a_board() -> None:
    """Three systems of 31 groups worth 1.7: no tier of its own for any of them."""
    board = sy.rank(giant(True), giant(True), giant(False))
    assert {row["tier"] for row in board.rows} == {board.rows[0]["tier"]}
    assert all("No conclusion about" in pair.conclusion for pair in board.pairs)


def test_nor_does_the_note_of_a_session(tmp_path: Path) -> None:
    where: dict[str, Any] = {"task": "t", "model": "m", "directory": tmp_path}
    sy.record(giant(True), **where)
    found = sy.check(giant(False), theta=0.3, **where)
    assert found.p_value <= 0.025  # Holm of two of them would call both
    assert holm_note([{"compared": True, "verdict": found.to_dict()}] * 2) == []
