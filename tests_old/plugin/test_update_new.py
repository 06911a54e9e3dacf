"""--accuracy-update-new: only what has no reference yet is put on record."""

from __future__ import annotations

from typing import Any

TESTS = """
from runs import base, worse

def test_old(accuracy):
    accuracy.check(worse(), task="t", model="old")

def test_new(accuracy):
    accuracy.check(worse(4), task="t", model="new", deterministic=True)

def test_new_spec(accuracy):
    accuracy.check(worse(8), task="t", model="old", spec={"quant_algo": "FP8"}, ids="hashed")
"""


def test_only_what_is_missing(project: Any) -> None:
    project.record("old")
    project.write("test_it.py", TESTS)
    first = project.pytest("--accuracy-update-new", "--accuracy-reason", "the first runs")
    assert first.code == 1
    assert "REGRESSION: t, old" in first.out, "a reference that is there still judges"
    assert "3 checks: 1 regression, 2 recorded" in first.out
    assert [(line["model"], line.get("spec", {}), line["new"]) for line in project.history()] == [
        ("old", {}, 0.9),
        ("new", {}, 0.89),
        ("old", {"quant_algo": "FP8"}, 0.88),
    ]
    before = (project.path / "references" / "t.yaml").read_bytes()
    second = project.pytest("--accuracy-update-new", "-q")
    assert "accuracy: 3 checks: 2 pass, 1 regression" in second.out
    assert (project.path / "references" / "t.yaml").read_bytes() == before, "the second time nothing is written"


def test_the_header_is_not_loud_for_new_ones(project: Any) -> None:
    """A new reference replaces nothing; that it was written in CI is said at the end."""
    project.write("test_it.py", TESTS)
    answer = project.pytest("--accuracy-update-new", CI="true")
    assert answer.code == 0
    assert "REPLACED" not in answer.out
    assert "recorded in CI" in answer.out


FRAMES = """
import numpy as np
import pandas as pd
from runs import base

def frame():
    return pd.DataFrame({"item": [f"q{row['id']}" for row in base()], "hit": [np.int64(row["score"]) for row in base()], "unused": 1.5})

def test_frame(accuracy):
    accuracy.check(frame(), task="t", model="frame", score="hit", deterministic=True)

def test_numbers_of_numpy(accuracy):
    accuracy.check([{"id": row["id"], "score": np.float64(row["score"])} for row in base()], task="t", model="rows", deterministic=True)
"""


def test_frames_and_numbers_of_numpy_wait_as_plain_text(project: Any) -> None:
    """Nothing that could run code lies between the test and the end of the session, and nothing of the run is lost."""
    project.write("test_it.py", FRAMES)
    assert project.pytest("--accuracy-update-new").code == 0
    assert [(line["model"], line["new"], line["n"]) for line in project.history()] == [("frame", 0.9, 400), ("rows", 0.9, 400)]
    again = project.pytest("-q")
    assert again.code == 0
    assert "accuracy: 2 checks: 2 pass" in again.out
