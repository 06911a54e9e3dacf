"""A dry run until decided: the design that is taken, and the calls, ends and costs that are to be expected of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import seldom
from questions.run.test_session_strata import DATA, TASK, model, recorded


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """Records of one and of four answers."""
    found = {}
    for answers in (1, 4):
        found[answers] = {"directory": tmp_path_factory.mktemp(f"of{answers}") / "references"}
        recorded(found[answers], answers)
    return found


def dry(place: dict[str, Any], **options: Any) -> sy.DryRun:
    def never(question: str) -> str:
        raise AssertionError("a dry run asks nothing")

    return sy.dry_run(TASK, never, name="m", until="decided", **place, **{"theta": 0.05, **options})


def test_one_answer_on_record_says_what_it_assumes(places: dict[int, dict[str, Any]]) -> None:
    found = dry(places[1]).expected
    assert found is not None
    assert (found["rule"], found["answers"], found["factor"], found["churn_assumed"]) == ("profile-mcnemar", 1, None, 0.05)
    assert 80 <= found["healthy"]["calls"] <= 110  # 94 and 176 by a study of 20,000 courses
    assert 160 <= found["dropped"]["calls"] <= 195
    assert found["dropped"]["regression"] >= 0.78
    assert found["healthy"]["regression"] <= 0.06
    assert "assumes that two healthy runs differ on 5% of the items" in " ".join(str(dry(places[1])).split())


@pytest.mark.parametrize("runs", [12, *seldom(40)])
def test_what_is_expected_is_what_runs_take(places: dict[int, dict[str, Any]], runs: int) -> None:
    """The mean of real runs against the same record lies within their error of what was foreseen."""
    found = dry(places[4]).expected
    assert found is not None
    assert (found["rule"], found["answers"], found["factor"]) == ("empirical-likelihood", 4, 2.0)
    taken = []
    for number in range(runs):
        now = sy.run(TASK, model(500 + number), name="m", until="decided", theta=0.05, seed=None, **places[4])
        taken.append(now.n)
    error = float(np.std(taken, ddof=1)) / np.sqrt(len(taken))
    assert abs(np.mean(taken) - found["healthy"]["calls"]) < 4 * error + 16
    assert found["healthy"]["calls"] <= found["healthy"]["calls_90"] <= len(DATA)


def test_costs_are_those_of_the_calls(places: dict[int, dict[str, Any]]) -> None:
    found = dry(places[4], prices={"input": 1e6, "output": 0})
    assert found.expected is not None
    assert found.cost is not None
    each = found.cost / found.calls
    assert found.expected["healthy"]["cost"] == pytest.approx(each * found.expected["healthy"]["calls"])
    assert dry(places[4]).expected["healthy"]["cost"] is None  # type: ignore[index]
    assert "Calls if nothing changed" in str(found)


def test_a_theta_that_the_pool_cannot_rule_out_is_said_beforehand(places: dict[int, dict[str, Any]]) -> None:
    found = dry(places[1], theta=0.001)
    assert any("1,200 items cannot rule out a theta of 0.001 even if no answer changes" in words for words in found.warnings)
    assert any("you have 1,200" in words for words in dry(places[1], theta=0.02).warnings)
    assert not any("items" in words and "theta" in words for words in dry(places[1], theta=0.1).warnings)
    assert sy.DryRun.from_dict(found.to_dict()) == found


def test_what_cannot_be_foreseen_says_why(places: dict[int, dict[str, Any]]) -> None:
    for options, why in (
        ({"repeats": 2}, "every item is asked 2 times"),
        ({"stopping": "lan-demets"}, "runs that stop by 'lan-demets'"),
    ):
        found = dry(places[4], **options)
        assert found.expected is None
        assert found.unforeseen is not None
        assert why in found.unforeseen
        assert why in " ".join(str(found).split())
        assert sy.DryRun.from_dict(found.to_dict()) == found
    lost = dry(places[4], theta=0.95)
    assert lost.expected is None
    assert lost.unforeseen is not None
    assert "cannot be lost at an accuracy of" in lost.unforeseen
    all_items = sy.dry_run(TASK, model(1), name="m", **places[4])
    assert (all_items.expected, all_items.unforeseen) == (None, None)


def test_a_margin_makes_the_gap_smaller(places: dict[int, dict[str, Any]]) -> None:
    for answers in (1, 4):
        plain, margin = (dry(places[answers], **options).expected for options in ({"theta": 0.05}, {"theta": 0.1, "margin": 0.05}))
        assert plain is not None
        assert margin is not None
        assert margin["rule"] == "empirical-likelihood"
        assert 0.5 * plain["dropped"]["calls"] < margin["dropped"]["calls"] < 4 * plain["dropped"]["calls"]
        assert margin["healthy"]["regression"] <= 0.02, "nothing changed is better than the margin"


def test_two_models_and_several_candidates_count_the_calls_of_all(places: dict[int, dict[str, Any]]) -> None:
    def beside(*names: str) -> sy.DryRun:
        return sy.dry_run(TASK, *[model(1) for _ in names], name=list(names), until="decided", theta=0.05)

    alone, two, many = dry(places[1]).expected, beside("a", "b").expected, beside(*"abcdef")
    six = many.expected
    assert alone is not None
    assert two is not None
    assert six is not None
    assert (two["answers"], two["models"], six["models"]) == (None, 2, 6)
    assert abs(two["healthy"]["calls"] - 2 * alone["healthy"]["calls"]) <= 1
    assert 5.5 * alone["healthy"]["calls"] < six["healthy"]["calls"] < 10 * alone["healthy"]["calls"]
    assert six["healthy"]["regression"] <= 0.15
    assert six["dropped"]["regression"] >= 0.6
    said = " ".join(str(many).split())
    assert "5 candidates against one baseline" in said
    assert "Calls after a loss of 0.05 in one" in said


# ---- scores ------------------------------------------------------------------------------------------------------------------


def score_task() -> Any:
    def score(answer: str, row: Any) -> float:
        return float(answer)

    body = {"name": "s", "data": DATA, "input": "{x}", "truth": "y", "metric": "mean", "score": staticmethod(score), "range": (0, 1)}
    return type("Task", (), body)


def noisy(run: int, steady: int = 1) -> Any:
    """Scores around a level of the item; only every `steady`-th item varies from run to run."""
    levels = 0.45 + 0.1 * np.random.default_rng(0).random(len(DATA))
    own = np.random.default_rng(run + 1).choice((-0.4, 0.4), len(DATA)) * (np.arange(len(DATA)) % steady == 0)
    return lambda question: str(float(levels[int(question)] + own[int(question)]))


def rows_of(model: Any) -> list[dict[str, Any]]:
    """A whole run of a model, as `record` takes it."""
    return [{"id": row["id"], "score": float(model(str(row["x"])))} for row in DATA]


@pytest.mark.parametrize(("answers", "steady", "factor"), [*seldom((2, 1, None)), (4, 5, 2.0)])
def test_scores_are_foreseen_by_how_far_their_answers_lie_apart(answers: int, steady: int, factor: float | None, tmp_path: Path) -> None:
    task, place = score_task(), {"directory": tmp_path / "references"}
    sy.record(*(rows_of(noisy(number, steady)) for number in range(answers)), task="s", model="m", metric="mean", **place)
    wish: dict[str, Any] = {"name": "m", "until": "decided", "theta": 0.05, **place}
    first = sy.dry_run(task, noisy(99, steady), **wish)
    found = first.expected
    assert found is not None, first.unforeseen
    assert (found["answers"], found["factor"], found["churn_assumed"]) == (answers, factor, None)
    taken = [sy.run(task, noisy(100 + number, steady), **wish).n for number in range(6)]
    error = float(np.std(taken, ddof=1)) / np.sqrt(len(taken))
    assert abs(np.mean(taken) - found["healthy"]["calls"]) < 4 * error + 16


def test_one_score_on_record_does_not_say_how_much_scores_vary(tmp_path: Path) -> None:
    task, place = score_task(), {"directory": tmp_path / "references"}
    sy.record(rows_of(noisy(0)), task="s", model="m", metric="mean", deterministic=True, **place)
    found = sy.dry_run(task, noisy(1), name="m", until="decided", theta=0.05, **place)
    assert found.expected is None
    assert "record a second run" in str(found.unforeseen)
    two = sy.dry_run(task, noisy(1), noisy(2), name=["a", "b"], until="decided", theta=0.05)
    assert "nothing is on record" in str(two.unforeseen)
