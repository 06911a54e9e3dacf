"""A test that checks the log of another tool chooses inside it as the command does, and the command it prints does too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

LOG = Path(__file__).parents[1] / "read" / "logs" / "lm_eval" / "dummy"
TESTS = f"""
CHOICE = dict(log_model="first", log_task="pairs_f1", score="mcc", filter="none")

def test_log(accuracy):
    assert accuracy.check({str(LOG)!r}, task="t", model="m", **CHOICE).metric == "mcc"

def test_missing(accuracy):
    accuracy.check({str(LOG)!r}, task="t", model="nobody", **CHOICE)
"""


def test_a_test_chooses_inside_a_log(new_project: Callable[[], Any]) -> None:
    project = new_project()
    project.record(rows=str(LOG), log_model="first", log_task="pairs_f1", score="mcc")
    project.write("test_it.py", TESTS)
    answer = project.pytest("-rA")
    assert answer.code == 1
    assert "1 failed, 1 passed" in answer.out
    assert "--log-task pairs_f1 --filter none --log-model first --score mcc" in " ".join(answer.out.split())
