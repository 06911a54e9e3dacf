"""The class form inside a pytest session: its checks are in the summary, updates record what it evaluated."""

from __future__ import annotations

import re
from typing import Any

TESTS = """
import os
from steelyard_old.accuracy_task import AccuracyTask

class Sums(AccuracyTask):
    DATASET = "sums"
    NUM_SAMPLES = 200
    MAX_OUTPUT_LEN = 4

    def samples(self):
        return [{"id": i, "prompt": i, "reference": i + 1} for i in range(500)]

    def score(self, answer, reference):
        return answer == reference

def model(number):
    return number + 1 if number % int(os.environ.get("WRONG", "10")) else 0

def test_sums():
    assert 0 <= Sums("m").evaluate(model) <= 1

def test_quick():
    Sums("m").evaluate(model, is_integration_test=True)
"""


def test_a_class_is_recorded_checked_and_told(project: Any) -> None:
    project.write("test_it.py", TESTS)
    missing = project.pytest()
    assert missing.code == 1
    assert "No references for task 'sums': there is no file" in missing.out
    assert "--accuracy-update-new" in missing.out
    assert "accuracy_task.py" not in missing.out, "the way through our code is not shown"

    made = project.pytest("--accuracy-update-new")
    assert made.code == 0
    assert "2 checks: 1 recorded, 1 not verified" in made.out
    text = (project.path / "references" / "sums.yaml").read_text(encoding="utf-8")
    assert "num_samples: 200" in text
    assert re.search(r'protocol:\n\s+max_output_len: "4"\n\s+subset_seed: "0"', text)

    worse = project.pytest(WRONG="4")
    assert worse.code == 1
    assert "AssertionError: REGRESSION  sums, m" in worse.out
    assert "--accuracy-update --accuracy-reason" in worse.out
    assert [line.split("  ")[-1] for line in worse.lines("sums ")] == ["NOT VERIFIED", "REGRESSION"]


def test_nothing_verified_is_never_a_pass(project: Any) -> None:
    project.write("test_it.py", TESTS)
    answer = project.pytest(INTEGRATION_TEST="1")
    assert answer.code == 0
    assert "2 checks: 2 not verified" in answer.out
    assert answer.out.count("NOTHING WAS VERIFIED") >= 2
    assert " pass" not in answer.out.partition("= accuracy =")[2].partition("passed")[0]
