"""--accuracy-update: what was checked is put on record, once, when the session ends."""

from __future__ import annotations

from typing import Any

import pytest

TESTS = """
import json, os, pathlib
from runs import base, worse

def run(lost):
    path = pathlib.Path("run.jsonl")            # every test writes the same file
    path.write_text("\\n".join(json.dumps(row) for row in worse(lost)))
    return path

def test_replaced(accuracy):
    verdict = accuracy.check(run(40), task="t", model="m")
    assert verdict.verdict == "regression"      # the truth is told, the test does not fail

def test_new(accuracy):
    verdict = accuracy.check(run(20), task="t", model="new")
    assert verdict.passed and "compared with itself" in verdict.warnings[-1]

def test_other_items(accuracy):
    accuracy.check([dict(row, id=f"x{row['id']}") for row in base()], task="t", model="items")

def test_fails_for_another_reason(accuracy):
    accuracy.check(run(100), task="t", model="kept")
    assert False

def test_bare_value_is_judged(accuracy):
    accuracy.check(task="t", model="number", value=10.0)

def test_pooled_1(accuracy):
    accuracy.check(worse(10), task="t", model="pooled")

def test_pooled_2(accuracy):
    accuracy.check(worse(30), task="t", model="pooled")

def test_unreadable(accuracy):
    accuracy.check([{"id": 1, "score": "high"}, {"id": 2, "score": "low"}], task="t", model="unreadable")

def test_not_kept(accuracy):
    accuracy.check((row for row in base()), task="t", model="generator")

def test_overwritten_later():
    run(0)
"""


@pytest.fixture(scope="module")
def updated(new_project: Any) -> Any:
    project = new_project()
    for model in ("m", "items", "kept"):
        project.record(model)
    project.record("number", items=False, scale="percent")
    project.write("test_it.py", TESTS)
    return project, project.pytest("--accuracy-update", "--accuracy-reason", 'a "good" reason', "-rA", CI="1")


def test_only_what_cannot_be_recorded_fails(updated: Any) -> None:
    _, answer = updated
    failed = [line.split("::")[1].split(" ")[0] for line in answer.lines("FAILED")]
    assert answer.code == 1
    assert sorted(failed) == ["test_bare_value_is_judged", "test_fails_for_another_reason", "test_not_kept", "test_unreadable"]


def test_what_is_on_record(updated: Any) -> None:
    """Every run as it was when it was checked, though its file was written over; two runs of one model are pooled."""
    project, _ = updated
    assert project.entries() == {"m": 0.8, "items": 0.9, "kept": 0.9, "number": 90.0, "new": 0.85, "pooled": 0.85}


def test_the_history_has_the_reason(updated: Any) -> None:
    project, _ = updated
    lines = [line for line in project.history() if line.get("reason")]
    assert {(line["model"], line["action"]) for line in lines} == {
        *(("m", "update"), ("items", "update"), ("new", "record"), ("pooled", "record")),
    }
    assert {line["reason"] for line in lines} == {'a "good" reason'}
    assert next(line for line in lines if line["model"] == "pooled")["runs"] == 2


def test_it_is_said_loudly_in_ci(updated: Any) -> None:
    _, answer = updated
    assert "accuracy: --accuracy-update in CI: REFERENCES WILL BE REPLACED by this run" in answer.out
    assert "References were recorded in CI" in answer.out


def test_the_summary_says_what_happened(updated: Any) -> None:
    _, answer = updated
    assert "m on t: accuracy 0.8 (was 0.9) on record, 400 items, with item outcomes." in answer.out
    assert "not recorded, because its test failed: test_it.py::test_fails_for_another_reason" in answer.out
    rows = {line.split()[1]: line for line in answer.lines("t ")}
    assert rows["m"].endswith("replaced (regression)")
    assert rows["new"].endswith("recorded")


def test_a_generator_is_refused_with_advice(updated: Any) -> None:
    _, answer = updated
    assert "The run cannot be kept until the session ends: give a file" in answer.out


def test_then_everything_passes_and_the_settings_stay(project: Any) -> None:
    """Scale, metric and theta of the old entry hold for the new one; without a reason it is said."""
    project.record("m", scale="percent", theta=3.0)
    project.write("test_it.py", "from runs import worse\ndef test_it(accuracy):\n    accuracy.check(worse(40), task='t', model='m')\n")
    answer = project.pytest("--accuracy-update")
    assert answer.code == 0
    assert "REPLACED by this run" not in answer.out, "this is not CI"
    assert "replaced without a reason: the history will not say why (--accuracy-reason TEXT)" in answer.out
    assert project.entries() == {"m": 80.0}
    text = (project.path / "references" / "t.yaml").read_text(encoding="utf-8")
    assert [word for word in ("theta: 3.0", "scale: percent", "deterministic: true") if word not in text] == []
    again = project.pytest("-q")
    assert again.code == 0
    assert "accuracy: 1 check: 1 pass" in again.out
    assert [path.name for path in project.path.iterdir() if path.name.startswith("steelyard")] == []


def test_nothing_is_recorded_unasked(project: Any) -> None:
    project.write("test_it.py", "from runs import base\ndef test_it(accuracy):\n    accuracy.check(base(), task='t', model='m')\n")
    assert project.pytest().code == 1
    assert not (project.path / "references").exists()


def test_a_recording_that_fails_makes_the_session_fail(project: Any) -> None:
    """Somebody damages the file between the check and the end: nothing is lost, and the exit code says so."""
    project.write(
        "test_it.py",
        """
        import pathlib
        from runs import base

        def test_a(accuracy):
            accuracy.check(base(), task="t", model="m")
            accuracy.check(base(), task="fine", model="m")

        def test_b():
            pathlib.Path("references").mkdir(exist_ok=True)
            pathlib.Path("references/t.yaml").write_text("other: [")
        """,
    )
    answer = project.pytest("--accuracy-update")
    assert "2 passed" in answer.out
    assert answer.code == 1
    assert "accuracy error: 'm' on 't' was not recorded: Cannot read" in answer.out
    assert "2 checks: 1 recorded, 1 not recorded" in answer.out
    assert project.entries("fine") == {"m": 0.9}
    assert (project.path / "references" / "t.yaml").read_text(encoding="utf-8") == "other: ["


def test_an_interrupted_session_records_nothing(project: Any) -> None:
    project.write(
        "test_it.py",
        """
        from runs import base

        def test_a(accuracy):
            accuracy.check(base(), task="t", model="m")

        def test_b():
            raise KeyboardInterrupt
        """,
    )
    answer = project.pytest("--accuracy-update")
    assert answer.code == 2
    assert "the session was interrupted: nothing was recorded" in answer.out
    assert "1 check: 1 not recorded" in answer.out
    assert project.entries() == {}
