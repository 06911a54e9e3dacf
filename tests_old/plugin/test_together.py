"""A little lost in every check: the session fails though no test does, or warns where noise that runs share is not known."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

import steelyard_old as sy
from steelyard_old.questions.record.record import record
from steelyard_old.results.verdict import PooledSuite

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
    assert "no single check is significant" in answer.out
    assert answer.code == 1


def test_one_recorded_run_makes_it_a_warning(project: Any) -> None:
    answer = session(project, 1)
    assert f"{TASKS} passed" in answer.out
    assert "accuracy warning: all" in answer.out
    assert answer.code == 0


def check_all(project: Any, runs: dict[str, list[int]], *words: str) -> Any:
    """A session over these answers: what its report says of all checks together."""
    project.write("answers.json", json.dumps(runs))
    answer = project.pytest("--accuracy-report", "all.json", *words)
    return answer, PooledSuite.from_dict(json.loads((project.path / "all.json").read_text())["pooled"])


def test_earlier_sessions_say_how_much_whole_runs_vary_as_they_do_for_a_suite(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session has a shift that all of its checks share; the last one lost a little everywhere."""
    names = [f"t{j:02}" for j in range(TASKS)]
    for task in names:
        record([{"id": i, "score": s} for i, s in enumerate(answered(0))], task=task, model="m", directory=project.path / "references")
    project.write("test_it.py", TESTS)
    kept = ("--accuracy-history", "sqlite:///runs.db")
    for night, shift in enumerate((-4, 2, -5, 3, -4), 1):
        _, found = check_all(project, dict.fromkeys(names, answered(night, shift)), *kept)
        assert (found.phi_recorded, found.phi_history) == (0, night - 1)
    shutil.copy(project.path / "runs.db", project.path / "before.db")
    now = answered(6, LOST)
    without, alone = check_all(project, dict.fromkeys(names, now))
    answer, together = check_all(project, dict.fromkeys(names, now), *kept)
    again, retried = check_all(project, dict.fromkeys(names, now), *kept)

    suite = "[suite]\n"
    for task in names:
        project.write(f"{task}.jsonl", "".join(json.dumps({"id": i, "score": s}) + "\n" for i, s in enumerate(now)))
        suite += f'[[checks]]\ntask = "{task}"\nmodel = "m"\nresult = "{task}.jsonl"\n'
    project.write("suite.toml", suite)
    monkeypatch.chdir(project.path)
    expected = sy.check_suite("suite.toml", history="sqlite:///before.db").pooled
    assert together == expected == retried
    assert together.phi_history == 5
    assert together.phi > 1, together.phi
    assert together.p_value != alone.p_value
    assert (alone.phi_known, together.phi_known) == (False, True)
    assert alone == sy.check_suite("suite.toml", history="none").pooled
    assert "not confirmed" in without.out
    assert "not confirmed" not in answer.out + again.out


TESTS_WITH_A_RUN = """
TASK = {"task": {"name": "asked", "data": [{"id": i, "q": str(i), "a": "yes"} for i in range(200)],
                 "input": "{q}", "truth": "a", "scorer": "exact"}}

def rows(wrong):
    return [{"id": i, "score": int(i >= wrong)} for i in range(100)]

def yes(question):
    return "yes" if int(question) % 10 else "no"

def test_one(accuracy):
    accuracy.check(rows(12), task="t1", model="m")

def test_two(accuracy):
    accuracy.check(rows(12), task="t2", model="m")

def test_early(accuracy):
    assert accuracy.run(TASK, yes, name="m", until="decided", theta=0.2).n < 200
"""


def test_a_run_that_stopped_early_is_not_judged_together_with_others_as_in_a_suite(project: Any) -> None:
    names: dict[str, Any] = {}
    exec(TESTS_WITH_A_RUN, names)
    for task in ("t1", "t2"):
        record(names["rows"](10), task=task, model="m", directory=project.path / "references")
    record([{"id": i, "score": int(i % 10 > 0)} for i in range(200)], task="asked", model="m", directory=project.path / "references")
    project.write("test_it.py", TESTS_WITH_A_RUN)
    answer = project.pytest("--accuracy-report", "all.json")
    assert "3 passed" in answer.out
    assert json.loads((project.path / "all.json").read_text())["pooled"]["m"] == 2
