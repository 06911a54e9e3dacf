"""--accuracy-inconclusive: what a check that cannot tell does to its test."""

from __future__ import annotations

from typing import Any

import pytest

TEST = """
from runs import base

def test_it(accuracy):
    assert accuracy.check(base(), task="t", model="m", theta=0.001).verdict == "inconclusive"
"""


@pytest.fixture(scope="module")
def undecided(new_project: Any) -> Any:
    project = new_project()
    project.record()
    project.write("test_it.py", TEST)
    return project


def test_it_warns_unless_told(undecided: Any) -> None:
    answer = undecided.pytest()
    assert answer.code == 0
    assert "1 passed, 1 warning" in answer.out
    assert "test_it.py:5: AccuracyWarning: inconclusive: t, m: no difference from the reference 0.9" in answer.out, "the test's line"
    assert "1 check: 1 inconclusive" in answer.out


def test_pass_is_silent_but_counted(undecided: Any) -> None:
    answer = undecided.pytest("--accuracy-inconclusive", "pass")
    assert answer.code == 0
    assert "warning" not in answer.out
    assert "1 check: 1 inconclusive" in answer.out


def test_fail_fails_and_says_what_is_needed(undecided: Any) -> None:
    answer = undecided.pytest("--accuracy-inconclusive", "fail")
    assert answer.code == 1
    assert "INCONCLUSIVE: t, m" in answer.out
    assert "Needed: " in answer.out
    assert "--accuracy-update" not in answer.out, "an inconclusive run is nothing to accept"


def test_the_warning_can_be_made_an_error(undecided: Any) -> None:
    answer = undecided.pytest("-W", "error::steelyard_old.pytest_plugin.AccuracyWarning")
    assert answer.code == 1
