"""The section at the end: an aligned table, the correction for many checks, references that nobody used."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from steelyard_old.infer.multiplicity import adjust

TESTS = """
import pytest
from runs import base, worse

@pytest.mark.parametrize("lost", [0, 4, 6, 16])
def test_it(accuracy, lost):
    accuracy.check(worse(lost), task="t", model=f"model {lost}")

def test_spec(accuracy):
    accuracy.check(base(), task="t", model="eight", spec={"quant_algo": "FP8"})

def test_strange(accuracy):
    accuracy.check(base(), task="t", model="\\x1b[31mred")
"""


@pytest.fixture(scope="module")
def checked(new_project: Any) -> Any:
    project = new_project()
    for lost in (0, 4, 6, 16):
        project.record(f"model {lost}")
    project.record("eight", spec={"quant_algo": "FP8"})
    project.record("never asked")
    project.record("never asked", spec={"quant_algo": "FP8"})
    project.record("never", task="untouched")
    project.write("test_it.py", TESTS)
    return project


def test_the_table(checked: Any) -> None:
    answer = checked.pytest()
    lines = answer.out.partition("= accuracy =")[2].splitlines()[1:]
    head, rows = lines[0], lines[1:7]
    assert head.split("  ")[0] == "task"
    assert [word for word in ("task", "model", "n", "reference", "run", "difference [at worst]", "p", "verdict") if word not in head] == []
    start = head.index("verdict")
    assert {row[start - 1] for row in rows} == {" "}, "the verdicts stand in one column"
    assert sorted(row[start:] for row in rows) == ["NOT CHECKED", "REGRESSION", "REGRESSION", "REGRESSION", "pass", "pass"]
    assert any(" eight [quant_algo=FP8] " in row for row in rows)
    assert any(r" \x1b[31mred " in row for row in rows)
    assert "\x1b" not in answer.out, "a name does not colour the terminal"
    found = re.search(r"^single tests are uncorrected; after Holm over 5 checks: (\d) regressions?: (.*)$", answer.out, re.M)
    assert found
    shown = [float(p) for p in re.findall(r"\s(\S+)  (?:REGRESSION|pass)$", "\n".join(rows), re.M)]
    assert int(found[1]) == sum(p <= 0.05 for p in adjust(shown, "holm")) == 2, "4 lost of 4: red alone, not among five"
    assert "references never used in this session: t: never asked (line " in answer.out
    assert "never asked [quant_algo=FP8]" in answer.out
    assert "untouched" not in answer.out, "a task that nobody asked for is not missed"


def test_one_line_when_quiet(checked: Any) -> None:
    answer = checked.pytest("-q", "--tb=no")
    assert answer.lines("accuracy: ") == ["accuracy: 6 checks: 2 pass, 3 regressions, 1 not checked"]
    assert "= accuracy =" not in answer.out


def test_unused_references_mean_nothing_when_only_some_tests_run(checked: Any) -> None:
    answer = checked.pytest("-k", "spec")
    assert "1 check: 1 pass" in answer.out
    assert "never used" not in answer.out
    assert "Holm" not in answer.out, "one check is no family"


FOLDED = """
import pytest
from runs import base, worse

@pytest.mark.parametrize("algo", ["FP8", "FP4"])
def test_it(accuracy, algo):
    accuracy.check(worse(16), task="t", model="m", spec={"quant_algo": algo})

def test_missing(accuracy):
    accuracy.check(base(), task="t", model="nobody")
"""


@pytest.fixture(scope="module")
def folded(new_project: Any) -> Any:
    project = new_project()
    for algo in ("FP8", "FP4"):
        project.record("m", spec={"quant_algo": algo})
    for i in range(12):
        project.record(f"never {i}")
    project.write("test_it.py", FOLDED)
    return project


def test_unused_references_are_folded_and_the_holm_line_names_the_spec(folded: Any) -> None:
    answer = folded.pytest("--tb=no", "--accuracy-report", "r.md")
    (unused,) = answer.lines("references never used")
    assert unused.endswith("and 7 more")
    assert unused.count("(line ") == 5
    (holm,) = answer.lines("single tests are uncorrected")
    assert {"t m [quant_algo=FP8] (p", "t m [quant_algo=FP4] (p"} == set(re.findall(r"t m \[\S+\] \(p", holm))
    page = (folded.path / "r.md").read_text(encoding="utf-8")
    assert "<summary>References never used in this session: 12</summary>" in page
    assert page.count("never 11") == 1
    assert r"\n" not in page
    assert "or with pytest: pytest test" in page.replace("\\_", "_")


def test_the_json_report_keeps_every_unused_reference(folded: Any) -> None:
    folded.pytest("--tb=no", "--accuracy-report", "r.json")
    report = json.loads((folded.path / "r.json").read_text(encoding="utf-8"))
    assert len(report["unused"]) == 12
