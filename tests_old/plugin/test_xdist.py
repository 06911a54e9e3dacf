"""Under pytest-xdist: findings travel with the reports, and the controller alone writes references, once."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

TESTS = """
import os
import pytest
from runs import base, worse

@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_new(accuracy, lost, monkeypatch, tmp_path):
    assert os.environ["PYTEST_XDIST_WORKER"]
    monkeypatch.chdir(tmp_path)
    accuracy.check(worse(lost), task="t", model=f"model {lost}")
    assert not os.path.exists(os.path.join(os.environ["PROJECT"], "references", "t.yaml")), "a worker wrote"

def test_old(accuracy):
    accuracy.check(worse(), task="old", model="m")
"""


@pytest.fixture(scope="module")
def spread(new_project: Any) -> Any:
    project = new_project()
    project.record(task="old")
    project.write("test_it.py", TESTS)
    words = ("-p", "xdist.plugin", "-n", "2", "--accuracy-update-new", "--junitxml", "junit.xml", "--accuracy-report", "all.json")
    return project, project.pytest(*words, PROJECT=str(project.path))


def test_every_worker_is_heard(spread: Any) -> None:
    project, answer = spread
    assert answer.code == 1
    assert "5 checks: 1 regression, 4 recorded" in answer.out
    assert "REGRESSION: old, m" in answer.out
    assert project.entries() == {"model 1": 0.8975, "model 2": 0.895, "model 3": 0.8925, "model 4": 0.89}
    assert len(project.history()) == 4, "each reference once"


def test_the_section_is_printed_once(spread: Any) -> None:
    _, answer = spread
    assert sum("= accuracy =" in line for line in answer.out.splitlines()) == 1


def test_junit_has_the_properties(spread: Any) -> None:
    project, _ = spread
    cases = {case.get("name"): case for case in ElementTree.parse(project.path / "junit.xml").iter("testcase")}
    said = {each.get("name"): each.get("value") for each in cases["test_old"].iter("property")}
    assert (said["accuracy.task"], said["accuracy.model"], said["accuracy.verdict"]) == ("old", "m", "regression")
    assert (float(said["accuracy.reference"]), float(said["accuracy.candidate"])) == (0.9, 0.86)
    assert float(said["accuracy.p_value"]) < 0.001
    assert float(said["accuracy.difference"]) == pytest.approx(-0.04)
    assert json.loads(said["accuracy"])["verdict"]["flips"]["baseline_only"] == 16
    new = {each.get("name"): each.get("value") for each in cases["test_new[1]"].iter("property")}
    assert new["accuracy.outcome"] == "new"
    assert "accuracy.verdict" not in new, "a run that was compared with itself has no verdict"


def test_the_report_is_complete(spread: Any) -> None:
    project, _ = spread
    report = json.loads((project.path / "all.json").read_text(encoding="utf-8"))
    assert report["counts"] == {"regression": 1, "new": 4}
    tests = [f"test_it.py::test_new[{lost}]" for lost in (1, 2, 3, 4)]
    assert [one["test"] for one in report["checks"]] == [*tests, "test_it.py::test_old"]


def test_nothing_is_left_behind(spread: Any) -> None:
    project, _ = spread
    stray = [path.name for path in (project.path / "references").rglob("*") if path.suffix in (".lock", ".tmp", ".pickle")]
    assert stray == []
