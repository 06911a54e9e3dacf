"""--accuracy-report: all verdicts in a file, whose ending says the format."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

TESTS = """
from runs import base, worse

def test_a(accuracy):
    accuracy.check(base(), task="t", model="m")

def test_b(accuracy):
    accuracy.check(worse(), task="t", model="a|b `c` <i> @all")

def test_c(accuracy):
    accuracy.check(base(), task="t", model="unknown")
"""


@pytest.fixture(scope="module")
def project_(new_project: Any) -> Any:
    project = new_project()
    project.record()
    project.record("a|b `c` <i> @all")
    project.write("test_it.py", TESTS)
    return project


def test_json(project_: Any) -> None:
    assert project_.pytest("--accuracy-report", "out/all.json").code == 1
    report = json.loads((project_.path / "out" / "all.json").read_text(encoding="utf-8"))
    assert (report["kind"], report["schema"]) == ("accuracy-session", 1)
    assert report["counts"] == {"pass": 1, "regression": 1, "error": 1}
    good, bad, lost = report["checks"]
    assert (good["test"], good["outcome"], good["verdict"]["kind"]) == ("test_it.py::test_a", "pass", "verdict")
    assert bad["verdict"]["difference"]["estimate"] == pytest.approx(-0.04)
    assert lost["message"].startswith("No reference for 'unknown'")
    assert "Nothing was checked." in lost["message"]
    assert "verdict" not in lost
    assert (report["recorded"], report["unused"], report["errors"]) == ([], [], [])


def test_markdown(project_: Any) -> None:
    assert project_.pytest("--accuracy-report", "all.md").code == 1
    page = (project_.path / "all.md").read_text(encoding="utf-8")
    assert page.startswith("## Accuracy: 3 checks: 1 pass, 1 regression, 1 not checked\n")
    assert "| t | m | 400 | 0.9000 | 0.9000 |" in page
    assert "a\\|b" in page
    assert "<i>" not in re.sub("^```.*?^```", "", page, flags=re.M | re.S), "a name is never markup; in a command it is code"
    assert "### REGRESSION" in page
    assert "Nothing was checked." in page


def test_another_ending_is_a_usage_error(project_: Any) -> None:
    answer = project_.pytest("--accuracy-report", "all.xlsx")
    assert answer.code == 4
    assert "--accuracy-report all.xlsx: the ending says the format, .json or .md" in answer.out


def test_a_report_that_cannot_be_written_is_an_error(project: Any) -> None:
    project.record()
    project.write("out", "a file where a directory should be")
    project.write("test_it.py", "from runs import base\ndef test_a(accuracy):\n    accuracy.check(base(), task='t', model='m')\n")
    answer = project.pytest("--accuracy-report", "out/all.json")
    assert answer.code == 1
    assert "accuracy error: cannot write the report" in answer.out
