"""A dry run until decided: the design that is taken, and the calls, ends and costs that are to be expected of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from questions.run.test_strata import DATA, TASK, model, recorded


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

    return sy.run(TASK, never, name="m", until="decided", dry_run=True, **place, **{"theta": 0.05, **options})


def test_one_answer_on_record_says_what_it_assumes(places: dict[int, dict[str, Any]]) -> None:
    found = dry(places[1]).expected
    assert found is not None
    assert (found["rule"], found["answers"], found["factor"], found["churn_assumed"]) == ("profile-mcnemar", 1, None, 0.05)
    assert 80 <= found["healthy"]["calls"] <= 110  # 94 and 176 by a study of 20,000 courses
    assert 160 <= found["dropped"]["calls"] <= 195
    assert found["dropped"]["regression"] >= 0.78
    assert found["healthy"]["regression"] <= 0.06
    assert "assumes that two healthy runs differ on 5% of the items" in " ".join(str(dry(places[1])).split())


def test_what_is_expected_is_what_runs_take(places: dict[int, dict[str, Any]], tmp_path: Path) -> None:
    """The mean of real runs against the same record lies within their error of what was foreseen."""
    found = dry(places[4]).expected
    assert found is not None
    assert (found["rule"], found["answers"], found["factor"]) == ("empirical-likelihood", 4, 2.0)
    taken = []
    for number in range(40):
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


def test_what_cannot_be_foreseen_is_left_out(places: dict[int, dict[str, Any]]) -> None:
    assert dry(places[4], repeats=2).expected is None
    assert dry(places[4], margin=0.01).expected is None
    assert sy.run(TASK, model(1), name="m", dry_run=True, **places[4]).expected is None


def test_a_theta_that_the_pool_cannot_rule_out_is_said_beforehand(places: dict[int, dict[str, Any]]) -> None:
    found = dry(places[1], theta=0.001)
    assert any("1,200 items cannot rule out a theta of 0.001 even if no answer changes" in words for words in found.warnings)
    assert any("1,200 items are few" in words for words in dry(places[1], theta=0.02).warnings)
    assert not any("items" in words and "theta" in words for words in dry(places[1], theta=0.1).warnings)
    assert sy.DryRun.from_dict(found.to_dict()) == found
