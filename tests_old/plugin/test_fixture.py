"""The fixture and the marker: one inner session with a test for every outcome."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

TESTS = """
import pytest
from runs import base, worse

def test_pass(accuracy):
    verdict = accuracy.check(base(), task="t", model="m")
    assert verdict.passed and verdict.flips["baseline_only"] == 0

def test_regression(accuracy):
    accuracy.check(worse(), task="t", model="m")
    raise RuntimeError("never reached")

def test_missing_task(accuracy):
    accuracy.check(base(), task="other", model="m")

def test_missing_spec(accuracy):
    accuracy.check(base(), task="t", model="m", spec={"quant_algo": "FP8"})

def test_missing_file(accuracy):
    accuracy.check("nowhere.jsonl", task="t", model="m")

def test_other_items(accuracy):
    accuracy.check([dict(row, id=row["id"] + 1000) for row in base()], task="t", model="m")

def test_no_task(accuracy):
    accuracy.check(base(), model="m")

def test_value(accuracy):
    accuracy.check(task="t", model="number", value=50.0)

@pytest.mark.accuracy(task="t", model="wrong")
class TestMarked:
    @pytest.mark.accuracy(model="m", margin=0.2)
    def test_nearest_marker_wins(self, accuracy):
        verdict = accuracy.check(worse())
        assert (verdict.model, verdict.margin) == ("m", 0.2)

    @pytest.mark.accuracy(margin=0.2)
    def test_call_wins(self, accuracy):
        assert accuracy.check(base(), model="m", margin=0.1).margin == 0.1

@pytest.fixture
def at_the_end(accuracy):
    yield
    accuracy.check(base(), task="t", model="m")

def test_teardown(at_the_end):
    pass

@pytest.mark.accuracy("t")
def test_bad_marker(accuracy):
    accuracy.check(base(), model="m")

def test_misspelled(accuracy):
    accuracy.check(base(), task="t", model="m", tetha=0.5)

@pytest.mark.accuracy(task="t", marign=0.5)
def test_misspelled_marker(accuracy):
    accuracy.check(base(), model="m")

def test_text_for_a_spec(accuracy):
    accuracy.check(base(), task="t", model="m", spec="quant_algo=FP8")
"""


@pytest.fixture(scope="module")
def told(new_project: Callable[[], Any]) -> str:
    project = new_project()
    project.record()
    project.record("number", rows=project.rows(), items=False, scale="percent")
    project.write("test_it.py", TESTS)
    answer = project.pytest("-rA")
    assert answer.code == 1
    return str(answer.out)


def section(told: str, name: str) -> str:
    """What pytest says about one failed test."""
    found = re.search(rf"^_+ {re.escape(name)} _+$\n(.*?)^(?:_|=)", told, re.M | re.S)
    assert found, f"{name} did not fail:\n{told}"
    return found[1]


def test_passes_and_fails(told: str) -> None:
    passed = set(re.findall(r"^PASSED \S+::(\w+)$", told, re.M))
    assert passed == {"test_pass", "test_nearest_marker_wins", "test_call_wins", "test_teardown"}
    failed = set(re.findall(r"^FAILED \S+::(\w+)", told, re.M))
    assert failed == {
        *("test_regression", "test_missing_task", "test_missing_spec", "test_missing_file", "test_other_items", "test_no_task"),
        *("test_value", "test_bad_marker", "test_misspelled", "test_misspelled_marker", "test_text_for_a_spec"),
    }


def test_regression_is_told_shortly(told: str) -> None:
    said = section(told, "test_regression")
    assert said.startswith("REGRESSION: t, m\n0.86 is 0.04 below the reference 0.9 (p < 0.0001): worse.\n")
    assert "reference 0.9000, run 0.8600, threshold 0.8925" in said
    assert re.search(r"^difference -0\.0400, at worst -0\.0\d{3} \(one-sided, 95%\), p \S+; paired, n 400$", said, re.M)
    assert re.search(r"^smallest detectable drop: 0\.0\d+ \(alpha 0\.05, beta 0\.2\)$", said, re.M)
    assert "flips: lost 16, gained 0, both right 344, both wrong 40" in said
    assert len(re.findall(r"^  lost  \d+  1 -> 0$", said, re.M)) == 5
    assert 'steelyard record RUN --task t --model m --update --reason "..." --directory references' in said
    assert "--accuracy-update --accuracy-reason" in said
    assert len(said.splitlines()) < 20


def test_no_way_through_our_own_code_is_shown(told: str) -> None:
    before_summary = told.partition("= accuracy =")[0]
    assert "Traceback" not in told
    assert "pytest_session.py" not in told
    assert "During handling" not in told
    assert "def " not in before_summary, "a failure shows its words, not the source"


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (
            "test_missing_task",
            "No references for task 'other': there is no file 'references/other.yaml'. Nothing was checked. "
            "Hint: record the run: steelyard record RUN --task other --model m",
        ),
        ("test_missing_task", "or with pytest: pytest test_it.py::test_missing_task --accuracy-update-new"),
        ("test_missing_spec", "the nearest are line 2: quant_algo is null, asked FP8"),
        ("test_missing_spec", "steelyard record RUN --task t --model m --spec quant_algo=FP8"),
        ("test_missing_file", "nowhere.jsonl"),
        ("test_other_items", "400"),
        ("test_no_task", "accuracy: A check needs task."),
        ("test_bad_marker", "accuracy: The marker accuracy takes names only, got 't' without one."),
        ("test_value", "REGRESSION: t, number"),
        ("test_misspelled", "Unknown argument 'tetha' of accuracy.check. Did you mean theta?"),
        ("test_misspelled_marker", "Unknown argument 'marign' of accuracy.check. Did you mean margin?"),
        ("test_text_for_a_spec", "The spec must be a mapping of keys to values, not the text 'quant_algo=FP8'"),
    ],
)
def test_failures_are_advice(told: str, test: str, words: str) -> None:
    assert words in section(told, test)


def test_every_outcome_is_counted(told: str) -> None:
    assert "15 checks: 4 pass, 2 regressions, 9 not checked" in told
    assert told.count("NOT CHECKED") == 9


RATIO = """
from runs import base

def run(more=0):
    return [{"id": row["id"], "errors": 1 + row["id"] % 3 + more, "words": 10} for row in base()]

def test_same(accuracy):
    assert accuracy.check(run(), task="speech", model="m", ratio="errors/words").metric == "ratio"

def test_worse(accuracy):
    accuracy.check(run(1), task="speech", model="m", ratio=("errors", "words"))

def test_points(accuracy):
    accuracy.check(base(), task="t", model="m", theta=2)
"""


def test_the_fixture_takes_ratio_and_refuses_a_theta_of_another_scale(new_project: Callable[[], Any]) -> None:
    project = new_project()
    project.record()
    rows = [{"id": i, "errors": 1 + i % 3, "words": 10} for i in range(400)]
    project.record(task="speech", rows=rows, ratio="errors/words")
    project.write("test_it.py", RATIO)
    told = str(project.pytest("-rA").out)
    assert set(re.findall(r"^PASSED \S+::(\w+)$", told, re.M)) == {"test_same"}
    assert "REGRESSION: speech, m" in section(told, "test_worse")
    assert "write 0.02 for 2 points" in section(told, "test_points")
