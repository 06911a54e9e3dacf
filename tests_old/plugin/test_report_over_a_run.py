"""The report of the plugin over a file that a test checks."""

from __future__ import annotations

import json

from plugin.conftest import Project


def test_the_accuracy_report_is_not_written_over_a_checked_run(project: Project) -> None:
    project.record()
    run = project.write("b.json", json.dumps(project.rows()))
    project.write("test_guard.py", 'def test_guard(accuracy):\n    accuracy.check("b.json", task="t", model="m")\n')
    before = run.read_bytes()
    answer = project.pytest("-q", "test_guard.py", "--accuracy-report", "b.json")
    assert run.read_bytes() == before
    assert "b.json" in answer.out
