"""--accuracy-reason: kept with the entry and in the history; alone it is a mistake."""

from __future__ import annotations

from typing import Any

TEST = "from runs import base\ndef test_it(accuracy):\n    accuracy.check(base(), task='t', model='m')\n"


def test_the_reason_is_kept(project: Any) -> None:
    project.write("test_it.py", TEST)
    assert project.pytest("--accuracy-update-new", "--accuracy-reason", "why: 'tis right # yes").code == 0
    assert project.history()[0]["reason"] == "why: 'tis right # yes"
    assert "reason:" in (project.path / "references" / "t.yaml").read_text(encoding="utf-8")


def test_a_reason_for_nothing_is_a_usage_error(project: Any) -> None:
    project.write("test_it.py", TEST)
    answer = project.pytest("--accuracy-reason", "because")
    assert answer.code == 4
    assert "it needs --accuracy-update or --accuracy-update-new" in answer.out
