"""`by=` of the fixture: a frame that is recorded keeps its slices, and later runs are judged by them."""

from __future__ import annotations

from typing import Any

TESTS = """
import pandas

def test_it(accuracy, request):
    updating = request.config.option.accuracy_update
    rows = [
        {"id": f"{part}{i}", "part": part, "score": float(i < 80 if updating or part == "b" else 12 <= i < 80)}
        for part in "ab" for i in range(100)
    ]
    if not updating:
        rows = [{**row, "score": 1.0} if row["part"] == "b" and int(row["id"][1:]) >= 88 else row for row in rows]
    accuracy.check(pandas.DataFrame(rows), task="t", model="m", by="part", critical_slices=["a"])
"""


def test_a_frame_is_recorded_with_its_slices_and_a_loss_in_one_fails_the_test(new_project: Any) -> None:
    project = new_project()
    project.write("test_it.py", TESTS)
    assert project.pytest("--accuracy-update").code == 0
    answer = project.pytest()
    assert answer.code == 1
    assert "part = a" in answer.out
