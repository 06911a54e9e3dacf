"""What an item without a score is worth if it counts as wrong: the bad end of the scores, by the direction that somebody declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.tally.design import worst_score


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def scores(*values: float) -> list[Any]:
    return [np.array(values, float)]


@pytest.mark.parametrize(
    ("known", "ends", "up", "worst"),
    [
        (scores(0.2, 0.9), None, None, 0.0),
        (scores(0.2, 0.9), None, True, 0.0),
        (scores(0.2, 0.9), None, False, None),  # how far up an error can go, errors do not say
        (scores(0, 1, np.nan), None, False, 1.0),  # right and wrong have two ends
        (scores(0, 75), None, True, None),
        (scores(0, 1) + scores(0, 75), None, True, None),  # nor do the scores of one run alone
        (scores(0, 1) + scores(0, 75), None, False, None),
        (scores(2, 5), (1.0, 5.0), None, 1.0),
        (scores(2, 5), (1.0, 5.0), False, 5.0),
        (scores(), None, True, 0.0),
        (scores(), None, False, None),
        ([None], (0.0, 1.0), False, 1.0),
    ],
)
def test_the_worst_score_is_the_bad_end(known: list[Any], ends: tuple[float, float] | None, up: bool | None, worst: float | None) -> None:
    assert worst_score(known, ends, higher_is_better=up) == worst


def errors(*, crashed: bool) -> list[dict[str, Any]]:
    return [{"id": str(i), "score": None if crashed and i % 5 == 0 else 0.3 + (i % 3) * 0.1} for i in range(100)]


def test_a_crashed_item_is_no_small_error() -> None:
    """A fifth of the items without a score counted as errors of 0: a pass, "significantly better"."""
    sy.record(errors(crashed=False), task="t", model="m", higher_is_better=False)
    found = sy.check(errors(crashed=True), task="t", model="m", missing="wrong", range=(0, 1), theta=0.05)
    assert found.verdict == "regression"
    assert found.candidate.estimate == pytest.approx(0.8 * np.mean([row["score"] for row in errors(crashed=True) if row["score"]]) + 0.2)
    with pytest.raises(sy.DataError, match="lower is better, and the highest possible score is not declared"):
        sy.check(errors(crashed=True), task="t", model="m", missing="wrong", theta=0.05)


def test_a_reference_of_errors_counts_them_alike() -> None:
    with pytest.raises(sy.DataError, match="the highest possible score is not declared"):
        sy.record(errors(crashed=True), task="t", model="m", higher_is_better=False, missing="wrong")
    kept = sy.record(errors(crashed=True), task="t", model="m", higher_is_better=False, missing="wrong", range=(0, 2))
    assert kept.value == pytest.approx(np.mean([2.0 if row["score"] is None else row["score"] for row in errors(crashed=True)]))


def test_a_bare_number_of_errors_too() -> None:
    sy.record(errors(crashed=False), task="t", model="m", higher_is_better=False, items=False, sigma=0.1)
    assert sy.check(errors(crashed=True), task="t", model="m", missing="wrong", range=(0, 1)).verdict == "regression"


def test_compare_and_measure_count_it_as_check_does() -> None:
    """compare counted every missing score as 0, whatever the range."""
    ratings = [{"id": str(i), "score": None if i % 5 == 0 else 2.0 + i % 3} for i in range(100)]
    whole = [{"id": str(i), "score": 2.0 + i % 3} for i in range(100)]
    for up, worst in ((True, 1.0), (False, 5.0)):
        mean = np.mean([worst if row["score"] is None else row["score"] for row in ratings])
        options: dict[str, Any] = {"missing": "wrong", "range": (1, 5), "higher_is_better": up}
        assert sy.measure(ratings, **options).estimate == pytest.approx(mean)
        found = sy.compare(whole, ratings, **options)
        assert found.candidate.estimate == pytest.approx(mean)
        assert "candidate is worse than baseline" in found.conclusion
    with pytest.raises(sy.DataError, match="the scores go beyond 0 and 1"):
        sy.compare(whole, ratings, missing="wrong")


def test_the_direction_turns_every_word_of_a_comparison() -> None:
    rng = np.random.default_rng(0)
    dear = [{"id": str(i), "score": float(s)} for i, s in enumerate(rng.normal(5, 1, 200))]
    cheap = [{**row, "score": row["score"] - 0.2 + 0.02 * (int(row["id"]) % 3)} for row in dear]
    up, down = (sy.compare(dear, cheap, metric="mean", margin=0.5, prior_scale=1.0, higher_is_better=way) for way in (True, False))
    assert "worse" in up.conclusion
    assert "better" in down.conclusion
    assert (up.p_value, up.difference.estimate) == (down.p_value, down.difference.estimate)
    assert up.equivalence is not None
    assert down.equivalence is not None
    assert (up.equivalence["p_lower"], up.equivalence["p_upper"]) == (down.equivalence["p_upper"], down.equivalence["p_lower"])
    assert up.probability_candidate_better == pytest.approx(1 - down.probability_candidate_better)
    board = sy.rank(dear, cheap, [{**row, "score": row["score"] + 1} for row in dear], names=["b", "a", "c"], higher_is_better=False)
    assert [row["name"] for row in board.rows] == ["a", "b", "c"]


def test_a_direction_that_the_metric_knows_itself_is_refused() -> None:
    labels = {"truth": ["a", "b"] * 10, "prediction": ["a", "b"] * 10}
    with pytest.raises(sy.UsageError, match="of macro_f1 higher is always better"):
        sy.measure(labels, metric="macro_f1", higher_is_better=False)
    with pytest.raises(sy.UsageError, match="of error lower is always better"):
        sy.compare(labels, labels, metric="error", higher_is_better=True)
