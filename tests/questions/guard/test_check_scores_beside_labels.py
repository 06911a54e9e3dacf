"""Runs with labels and a score beside them: what decides right and wrong is the same when it is recorded, checked and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import steelyard as sy


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(wrong: int, score: Any) -> list[dict[str, Any]]:
    return [{"id": f"i{i}", "truth": "yes", "prediction": "no" if i < wrong else "yes", "score": score(i)} for i in range(60)]


def confidence(i: int) -> float:
    return (0.0, 0.25, 0.5, 1.0)[i % 4]


def test_a_confidence_is_no_verdict_on_an_answer() -> None:
    """record took the labels, and check refused the very file."""
    recorded = sy.record(rows(6, confidence), task="t", model="m")
    assert (recorded.metric, recorded.value) == ("accuracy", pytest.approx(0.9))
    same = sy.check(rows(6, confidence), task="t", model="m")
    assert (same.verdict, same.difference.estimate) == ("pass", 0)
    worse = sy.check(rows(30, confidence), task="t", model="m")
    assert worse.verdict == "regression"
    assert worse.candidate.estimate == pytest.approx(0.5)
    gaps = [{**row, "prediction": None if row["id"] in ("i50", "i51") else row["prediction"]} for row in rows(6, confidence)]
    assert sy.check(gaps, task="t", model="m", missing="wrong").candidate.estimate == pytest.approx(52 / 60)


def test_scores_and_labels_that_disagree_are_told_everywhere() -> None:
    def right(i: int) -> int:
        return int(i % 3 > 0)

    run, said = rows(6, right), "score and labels disagree on right or wrong for"
    many = sum((row["prediction"] == row["truth"]) != bool(row["score"]) for row in run)
    found = [
        sy.measure(run).warnings,
        sy.compare(run, run, metric="accuracy").warnings,
        sy.record(run, task="t", model="m").warnings,
        sy.check(run, task="t", model="m").warnings,
    ]
    for warnings in found:
        assert any(f"{said} {many} of 60 items" in warning for warning in warnings), warnings
    agreed = rows(6, lambda i: int(i >= 6))
    assert not any(said in warning for warning in (*sy.compare(agreed, agreed).warnings, *sy.check(agreed, task="t", model="m").warnings))
    labels = sy.compare(run, run, metric="macro_f1").warnings
    assert not any(said in warning for warning in labels)
