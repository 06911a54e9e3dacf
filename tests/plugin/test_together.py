"""A little lost in every check: the session fails though no test does, or warns where noise that runs share is not known."""

from __future__ import annotations

import json
from typing import Any

from steelyard.questions.record.record import record

N, TASKS, RUNS, LOST = 300, 12, 4, 6
TESTS = """
import json
import pytest

RUNS = json.load(open("answers.json"))

@pytest.mark.parametrize("task", sorted(RUNS))
def test_it(accuracy, task):
    accuracy.check([{"id": i, "score": s} for i, s in enumerate(RUNS[task])], task=task, model="m")
"""


def answered(run: int, lost: int = 0) -> list[int]:
    """Six items leave their usual answer either way, others in every run; `lost` more are wrong."""
    out = [int(i % 5 > 0) for i in range(N)]
    right, wrong = ([i for i in range(N) if out[i] == usual] for usual in (1, 0))
    for i in right[6 * run : 6 * run + 6 + lost]:
        out[i] = 0
    for i in wrong[6 * run : 6 * run + 6]:
        out[i] = 1
    return out


def session(project: Any, recorded: int) -> Any:
    for j in range(TASKS):
        rows = [[{"id": i, "score": s} for i, s in enumerate(answered(run))] for run in range(recorded)]
        record(*rows, task=f"t{j:02}", model="m", directory=project.path / "references")
    project.write("answers.json", json.dumps({f"t{j:02}": answered(RUNS, LOST) for j in range(TASKS)}))
    project.write("test_it.py", TESTS)
    return project.pytest()


def test_a_session_fails_though_no_test_fails(project: Any) -> None:
    answer = session(project, RUNS)
    assert f"{TASKS} passed" in answer.out
    assert f"accuracy error: all {TASKS} checks together are worse" in answer.out
    assert "no single check can be named" in answer.out
    assert answer.code == 1


def test_one_recorded_run_makes_it_a_warning(project: Any) -> None:
    answer = session(project, 1)
    assert f"{TASKS} passed" in answer.out
    assert "accuracy warning: all" in answer.out
    assert answer.code == 0
