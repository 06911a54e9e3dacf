"""`accuracy.run` in a test: evaluate and judge in one line; pass, regression, no reference, a new one, doubt, and several workers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

MODELS = """
DATA = [{"id": f"q{i}", "x": i, "y": "yes" if i % 2 else "no"} for i in range(200)]
TASK = {"task": {"name": "t", "data": DATA, "input": "{x}", "truth": "y", "scorer": "exact"}}
CALLS = []

def good(question):
    CALLS.append(question)
    x = int(question)
    return "neither" if x % 10 == 0 else "yes" if x % 2 else "no"

def half(question):
    CALLS.append(question)
    return "yes"

def broken(question):
    raise RuntimeError("no luck")
"""
TESTS = """
import pytest
import models
from models import TASK, CALLS, good, half, broken

def test_pass(accuracy):
    found = accuracy.run(TASK, good, name="m")
    assert found.verdict.passed and found.n == 200

def test_early(accuracy):
    found = accuracy.run(TASK, good, name="m", until="decided", theta=0.2)
    assert found.verdict.passed and found.n < 200

def test_regression(accuracy):
    accuracy.run(TASK, half, name="m")
    raise RuntimeError("never reached")

def test_early_regression(accuracy):
    accuracy.run(TASK, half, name="m", until="decided", theta=0.2)
    raise RuntimeError("never reached")

def test_missing_reference(accuracy):
    CALLS.clear()
    try:
        accuracy.run(TASK, good, name="other")
    finally:
        assert not CALLS, "asked without a reference"

def test_doubt(accuracy):
    assert accuracy.run(TASK, good, name="m", theta=0.0001).verdict.verdict == "inconclusive"

def test_early_doubt(accuracy):
    assert accuracy.run(TASK, good, name="m", theta=0.0001, until="decided").verdict.verdict == "inconclusive"

def test_broken_model(accuracy):
    accuracy.run(TASK, broken, name="m")

def test_bad_task(accuracy):
    accuracy.run("nowhere.toml", good, name="m")

def test_bad_option(accuracy):
    accuracy.run(TASK, good, name="m", untill="decided")

def test_bad_until(accuracy):
    accuracy.run(TASK, good, name="m", until="soon")

def test_spec(accuracy):
    accuracy.run(TASK, good, name="m", spec={"quant_algo": "FP8"})

def test_sprt(accuracy):
    accuracy.run(TASK, half, name="m", until="decided", theta=0.2, stopping="sprt", discordance=0.1)

@pytest.mark.accuracy(model="m", theta=0.2)
def test_marker(accuracy):
    assert accuracy.run(TASK, good, name="m").verdict.theta == 0.2

@pytest.mark.accuracy(model="m")
def test_name_of_the_marker(accuracy):
    assert accuracy.run(TASK, good).verdict.model == "m"
"""


def reference(project: Any) -> None:
    names: dict[str, Any] = {}
    exec(MODELS, names)
    out = project.path / "ref.jsonl"
    from steelyard_old.questions.run.run import run

    run(names["TASK"], names["good"], name="m", output=out)
    project.record(rows=out)
    out.unlink()
    (project.path / "ref.jsonl.run").unlink()


@pytest.fixture(scope="module")
def told(new_project: Callable[[], Any]) -> Any:
    project = new_project()
    project.write("models.py", MODELS)
    project.write("test_it.py", TESTS)
    reference(project)
    return project.pytest("-rA", "--junitxml", "junit.xml")


def outcome(told: Any, name: str) -> str:
    """PASSED, FAILED or ERROR, of one inner test."""
    lines = [
        line
        for line in told.out.splitlines()
        if line.startswith(("PASSED", "FAILED", "ERROR")) and line.split(" - ")[0].endswith(f"::{name}")
    ]
    assert len(lines) == 1, (name, told.out)
    return lines[0].split()[0]


@pytest.mark.parametrize("name", ["test_pass", "test_early", "test_doubt", "test_early_doubt", "test_marker"])
def test_green(told: Any, name: str) -> None:
    assert outcome(told, name) == "PASSED", told.out


@pytest.mark.parametrize(
    "name",
    [
        "test_regression",
        "test_early_regression",
        "test_missing_reference",
        "test_broken_model",
        "test_bad_task",
        "test_bad_option",
        "test_bad_until",
        "test_spec",
        "test_sprt",
    ],
)
def test_red(told: Any, name: str) -> None:
    assert outcome(told, name) == "FAILED", told.out


def test_what_the_failures_say(told: Any) -> None:
    assert "never reached" not in told.out
    assert "REGRESSION: t, m" in told.out
    assert "asked without a reference" not in told.out
    assert "--accuracy-update-new" in told.out
    assert "no luck" in told.out
    assert "nowhere.toml" in told.out
    assert "untill" in told.out
    assert "Traceback" not in told.out
    assert "INTERNALERROR" not in told.out


def test_a_stopping_rule_with_its_discordance_can_be_recorded_too(new_project: Callable[[], Any]) -> None:
    project = new_project()
    project.write("models.py", MODELS)
    words = "until='decided', theta=0.2, stopping='sprt', discordance=0.1, every=16, looks=5, missing='wrong', max_error_rate=0.5"
    project.write(
        "test_it.py", f"from models import TASK, good\ndef test_new(accuracy):\n    accuracy.run(TASK, good, name='m', {words})\n"
    )
    first = project.pytest("--accuracy-update-new")
    assert first.code == 0, first.out
    assert project.entries() == {"m": 0.9}


def test_the_model_of_the_marker_is_the_name(told: Any) -> None:
    assert outcome(told, "test_name_of_the_marker") == "PASSED", told.out


def test_doubt_warns(told: Any) -> None:
    assert "inconclusive: t, m" in told.out


@pytest.mark.long
def test_doubt_fails_if_asked(new_project: Callable[[], Any]) -> None:
    project = new_project()
    project.write("models.py", MODELS)
    project.write(
        "test_it.py", "from models import TASK, good\ndef test_doubt(accuracy):\n    accuracy.run(TASK, good, name='m', theta=.0001)\n"
    )
    reference(project)
    assert project.pytest("--accuracy-inconclusive", "fail").code == 1
    assert project.pytest("--accuracy-inconclusive", "pass").code == 0
    assert project.pytest("-W", "error").code == 1


NEW = """
from models import TASK, good, half
def test_new(accuracy):
    accuracy.run(TASK, good, name="m", until="decided", theta=0.2)
"""


def test_a_new_reference_then_green_then_red(new_project: Callable[[], Any]) -> None:
    project = new_project()
    project.write("models.py", MODELS)
    project.write("test_it.py", NEW)
    assert project.pytest().code == 1
    assert project.entries() == {}
    first = project.pytest("--accuracy-update-new")
    assert first.code == 0, first.out
    assert project.entries() == {"m": 0.9}, "a complete run is recorded, whatever until says"
    second = project.pytest()
    assert second.code == 0, second.out
    project.write("test_it.py", NEW.replace("TASK, good, name", "TASK, half, name"))
    third = project.pytest()
    assert third.code == 1, third.out
    assert project.entries() == {"m": 0.9}
    update = project.pytest("--accuracy-update", "--accuracy-reason", "meant")
    assert update.code == 0, update.out
    assert project.entries() == {"m": 0.5}
    assert project.pytest().code == 0


@pytest.mark.long
def test_an_output_that_is_asked_for_is_written_while_recording_too(new_project: Callable[[], Any]) -> None:
    project = new_project()
    project.write("models.py", MODELS)
    project.write(
        "test_it.py", "from models import TASK, good\ndef test_new(accuracy):\n    accuracy.run(TASK, good, name='m', output='o.jsonl')\n"
    )
    assert project.pytest("--accuracy-update-new").code == 0
    assert len((project.path / "o.jsonl").read_text().splitlines()) == 200
    assert project.pytest().code == 0


@pytest.mark.long
def test_a_metric_of_its_own_is_recorded_and_judged(new_project: Callable[[], Any]) -> None:
    project = new_project()
    project.write("models.py", MODELS.replace('"scorer": "exact"', '"scorer": "exact", "metric": "macro_f1"'))
    project.write("test_it.py", "from models import TASK, good\ndef test_new(accuracy):\n    accuracy.run(TASK, good, name='m')\n")
    first = project.pytest("--accuracy-update-new")
    assert first.code == 0, first.out
    second = project.pytest()
    assert second.code == 0, second.out


@pytest.mark.long
def test_under_xdist(new_project: Callable[[], Any]) -> None:
    pytest.importorskip("xdist")
    project = new_project()
    project.write("models.py", MODELS)
    tests = """
        import pytest
        from models import TASK, good, half

        @pytest.mark.parametrize("i", range(4))
        def test_new(accuracy, i):
            accuracy.run(TASK, good if i else half, name=f"model {i}")
        """
    project.write("test_it.py", tests)
    words = ("-p", "xdist.plugin", "-n", "2")
    first = project.pytest(*words, "--accuracy-update-new")
    assert first.code == 0, first.out
    assert project.entries() == {"model 0": 0.5, "model 1": 0.9, "model 2": 0.9, "model 3": 0.9}
    second = project.pytest(*words, "--accuracy-report", "all.json")
    assert second.code == 0, second.out
    assert "4 checks: 4 pass" in second.out
    json.loads((project.path / "all.json").read_text(), parse_constant=lambda text: pytest.fail(text))
