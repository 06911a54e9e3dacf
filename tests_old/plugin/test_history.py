"""--accuracy-history: every check once, at once, with its items; nothing without the option, and never at the cost of a verdict."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import steelyard_old as sy

ROOT = Path(__file__).parents[2]
URL = "sqlite:///runs.db"
TEST = """
from runs import base, worse

def test_same(accuracy):
    accuracy.check(base(), task="t", model="m")

def test_worse(accuracy):
    accuracy.check(worse(), task="t", model="m", protocol={"prompt": "v3"})
"""


def runs(project: Any, name: str = "runs.db", **asked: Any) -> list[sy.PastRun]:
    """What is kept, oldest first."""
    return list(reversed(sy.list_runs(f"sqlite:///{project.path / name}", **asked).runs))


def items(project: Any, run: sy.PastRun, name: str = "runs.db") -> dict[str, float] | None:
    with sy.open_history(f"sqlite:///{project.path / name}") as history:
        return history.items(run.id)


def right(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {str(row["id"]): float(row["score"]) for row in rows}


# ---- what is kept -------------------------------------------------------------------------------------------------------------


def test_every_check_is_kept_with_its_items_and_nothing_without_the_option(project: Any) -> None:
    project.record()
    project.write("test_it.py", TEST)
    project.write("steelyard.toml", f'history = "{URL}"\n')
    assert project.pytest("-q").code == 1
    assert project.pytest("-q", "--accuracy-history", "none").code == 1
    assert not (project.path / "runs.db").exists(), "the configuration alone keeps nothing here"
    answer = project.pytest("--accuracy-history", URL, "--accuracy-report", "all.json", "--junitxml", "junit.xml")
    assert answer.code == 1
    assert "history: 2 runs stored in sqlite:///runs.db" in answer.out
    same, worse = runs(project)
    assert [(run.command, run.task, run.model, run.verdict) for run in (same, worse)] == [
        ("check", "t", "m", "pass"),
        ("check", "t", "m", "regression"),
    ]
    assert (same.protocol, worse.protocol) == ({}, {"prompt": "v3"})
    assert worse.difference == pytest.approx(-0.04)
    assert items(project, same) == right(project.rows())
    assert items(project, worse) == right(project.rows(16))
    report = json.loads((project.path / "all.json").read_text())
    assert [one["history"]["id"] for one in report["checks"]] == [same.id, worse.id]
    cases = {case.get("name"): case for case in ElementTree.parse(project.path / "junit.xml").iter("testcase")}
    assert [each.get("value") for each in cases["test_worse"].iter("property") if each.get("name") == "accuracy.history"] == [worse.id]


def test_without_a_url_the_configuration_nearest_to_the_test_counts(project: Any) -> None:
    project.record(directory=project.path / "sub" / "known")
    project.write("sub/steelyard.toml", 'directory = "known"\nids = "hashed"\nhistory = "sqlite:///own.db"\n')
    project.write("steelyard.toml", 'history = "sqlite:///other.db"\n')
    project.write("sub/test_it.py", TEST.partition("def test_worse")[0])
    project.write("pytest.ini", "[pytest]\n")
    answer = project.pytest("sub/test_it.py", "--accuracy-history")
    assert answer.code == 0, answer.out
    (run,) = runs(project, "sub/own.db")
    kept = items(project, run, "sub/own.db")
    assert kept is not None
    assert len(kept) == 400
    assert not set(kept) & set(right(project.rows())), "ids are hashed where the configuration says so"
    assert not (project.path / "other.db").exists()


def test_in_addopts_an_empty_url_leaves_the_tests_alone(project: Any) -> None:
    project.record()
    project.write("steelyard.toml", f'history = "{URL}"\n')
    project.write("test_it.py", TEST.partition("def test_worse")[0])
    project.write("pytest.ini", "[pytest]\naddopts = --accuracy-history=\n")
    answer = project.pytest("test_it.py")
    assert answer.code == 0, answer.out
    assert len(runs(project)) == 1


def test_a_history_that_is_named_nowhere_fails_the_test_before_anything_is_asked(project: Any) -> None:
    project.record()
    project.write("test_it.py", TEST)
    answer = project.pytest("-q", "test_it.py", "--accuracy-history")
    assert answer.code == 1
    assert "--accuracy-history has no URL, and the steelyard.toml of this test names no history." in answer.out
    assert "2 checks: 2 not checked" in answer.out


def test_a_relative_path_starts_where_pytest_was_started_wherever_the_test_goes(project: Any) -> None:
    project.record()
    (project.path / "below").mkdir()
    project.write(
        "test_it.py",
        """
        from runs import base

        def test_it(accuracy, monkeypatch, tmp_path):
            monkeypatch.chdir(tmp_path)
            accuracy.check(base(), task="t", model="m")
        """,
    )
    answer = project.pytest("..", "--accuracy-history", URL, cwd=project.path / "below")
    assert answer.code == 0, answer.out
    assert len(runs(project, "below/runs.db")) == 1


def test_files_frames_columns_and_bare_values_are_kept_as_the_commands_keep_them(project: Any) -> None:
    project.record()
    project.write("references/bare.yaml", "m:\n  - accuracy: 0.9\n    num_samples: 500\n    scale: fraction\n")
    project.write("run.jsonl", "".join(json.dumps({"key": row["id"], "mark": row["score"]}) + "\n" for row in project.rows(3)))
    project.write(
        "test_it.py",
        """
        import pandas as pd
        from runs import base, worse

        def test_1_file(accuracy):
            accuracy.check("run.jsonl", task="t", model="m", id="key", score="mark")

        def test_2_frame(accuracy):
            accuracy.check(pd.DataFrame(worse(2)), task="t", model="m")

        def test_3_value(accuracy):
            accuracy.check(value=0.91, task="bare", model="m")

        def test_4_twice(accuracy):
            for _ in range(2):
                accuracy.check(base(), task="t", model="m")
        """,
    )
    answer = project.pytest("--accuracy-history", URL)
    assert answer.code == 0, answer.out
    file, frame, value, *twice = runs(project)
    assert items(project, file) == right(project.rows(3))
    assert items(project, frame) == right(project.rows(2))
    assert (value.task, value.outcomes) == ("bare", None)
    assert [items(project, run) for run in twice] == [right(project.rows())] * 2, "two checks of one test are two runs"


def test_a_run_of_a_model_is_kept_as_the_command_keeps_it(project: Any) -> None:
    project.write(
        "test_it.py",
        """
        DATA = [{"id": f"q{i}", "x": i, "y": "yes" if i % 2 else "no"} for i in range(100)]
        TASK = {"task": {"name": "t", "data": DATA, "input": "{x}", "truth": "y", "scorer": "exact"}}

        def good(question):
            x = int(question)
            return "neither" if x % 10 == 0 else "yes" if x % 2 else "no"

        def test_1_written(accuracy):
            accuracy.run(TASK, good, name="m", output="out.jsonl")

        def test_2_not_written(accuracy):
            accuracy.run(TASK, good, name="m")
        """,
    )
    first = project.pytest("-k", "written", "--accuracy-update-new", "--accuracy-history", URL)
    assert first.code == 0, first.out
    (recorded,) = runs(project)
    assert (recorded.command, recorded.n) == ("record", 100)
    assert items(project, recorded) == {f"q{i}": float(i % 10 > 0) for i in range(100)}
    (project.path / "out.jsonl").unlink()
    assert project.pytest("--accuracy-history", URL).code == 0
    written, unwritten = runs(project)[1:]
    assert [run.command for run in (written, unwritten)] == ["run", "run"]
    assert [run.outcomes for run in (written, unwritten)] == [recorded.outcomes, None]


def test_a_reference_that_a_session_writes_is_kept_as_a_record(project: Any) -> None:
    """Beside the verdict on the run, where there was a reference before: check, then record, as on the command line."""
    project.record()
    project.write("test_it.py", TEST.replace('base(), task="t", model="m"', 'base(), task="t", model="new"'))
    answer = project.pytest("--accuracy-update", "--accuracy-history", URL)
    assert answer.code == 0, answer.out
    assert "history: 3 runs stored" in answer.out
    found = runs(project)
    assert [(run.command, run.model, run.verdict) for run in found] == [
        ("check", "m", "regression"),
        ("record", "new", None),
        ("record", "m", None),
    ]
    assert [items(project, run) for run in found] == [right(project.rows(16)), right(project.rows()), right(project.rows(16))]


# ---- when it fails ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:////no/such/place/runs.db", "its directory does not exist"),
        ("sqlite:///test_it.py", "it is not a SQLite database"),
        ("postgresql://ada:hunter2@127.0.0.1:1/team", "refused"),
    ],
)
def test_a_history_that_fails_costs_no_verdict(project: Any, url: str, said: str) -> None:
    if url.startswith("postgresql"):
        pytest.importorskip("psycopg", reason="needs the extra postgres: without it another sentence is said")
    project.record()
    project.write("test_it.py", TEST)
    for words in ((), ("-q",)):
        answer = project.pytest("--accuracy-history", url, "-W", "error", "-k", "same", *words)
        assert answer.code == 0, answer.out
        (line,) = answer.lines("accuracy warning: ")
        assert "the run was not stored in the history" in line
        assert said in line
        assert "hunter2" not in answer.out


def test_the_same_failure_is_told_once(project: Any) -> None:
    project.record()
    project.write("test_it.py", TEST)
    answer = project.pytest("--accuracy-history", "sqlite:////no/such/place/runs.db")
    (line,) = answer.lines("accuracy warning: ")
    assert line.startswith("accuracy warning: 2 times: the run was not stored in the history")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("test_it.py", "put the option behind the tests"),
        ("mysql://ada:hunter2@db/x", "sqlite:///FILE or postgresql://HOST/DATABASE"),
        ("sqlite://", "no path"),
    ],
)
def test_an_address_that_is_none_is_refused_before_the_first_test(project: Any, url: str, said: str) -> None:
    project.write("test_it.py", TEST)
    answer = project.pytest("--accuracy-history", url)
    assert answer.code == 4
    assert said in answer.out
    assert "hunter2" not in answer.out
    assert "passed" not in answer.out
    assert "failed" not in answer.out


def test_items_that_cannot_be_read_again_are_told(project: Any) -> None:
    project.record()
    project.write(
        "test_it.py",
        """
        import json
        from runs import base

        def test_it(accuracy, monkeypatch, tmp_path):
            file = tmp_path / "run.jsonl"
            file.write_text("".join(json.dumps(row) + "\\n" for row in base()))
            import steelyard_old.pytest_session as session
            asked = session.ask
            def changed(source, **options):
                found = asked(source, **options)
                file.write_text("no longer a run")
                return found
            monkeypatch.setattr(session, "ask", changed)
            accuracy.check(file, task="t", model="m")
        """,
    )
    answer = project.pytest("--accuracy-history", URL)
    assert answer.code == 0, answer.out
    assert "accuracy warning: the run is stored without its items: " in answer.out
    assert [run.outcomes for run in runs(project)] == [None]


# ---- workers, kills, repeats --------------------------------------------------------------------------------------------------

MANY = """
import os
import pytest
from runs import base, worse

@pytest.mark.parametrize("lost", range(8))
def test_it(accuracy, lost, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    accuracy.check(worse(lost), task="t", model="m", margin=0.2)
    if os.environ.get("DIES_AT") == str(lost):
        os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("workers", [("-n", "2"), ("--dist", "each", "--tx", "2*popen")])
def test_under_xdist_each_test_is_kept_once(project: Any, workers: tuple[str, ...]) -> None:
    project.record()
    project.write("test_it.py", MANY)
    answer = project.pytest("-p", "xdist.plugin", *workers, "--accuracy-history", URL)
    assert answer.code == 0, answer.out
    found = runs(project)
    assert sorted(round(run.estimate or 0, 4) for run in found) == sorted(round(0.9 - lost / 400, 4) for lost in range(8))
    assert all(run.outcomes for run in found)
    assert len({run.id for run in found}) == 8
    assert "history: 8 runs stored in sqlite:///runs.db" in answer.out
    assert project.pytest("--accuracy-history", URL).code == 0
    assert len(runs(project)) == 16, "another session has runs of its own"


def test_a_worker_that_is_killed_loses_nothing_that_was_judged(project: Any) -> None:
    project.record()
    project.write("test_it.py", MANY)
    answer = project.pytest("-p", "xdist.plugin", "-n", "2", "--accuracy-history", URL, DIES_AT="5")
    assert answer.code == 1, answer.out
    assert "crashed" in answer.out
    assert sorted(round(run.estimate or 0, 4) for run in runs(project)) == sorted(round(0.9 - lost / 400, 4) for lost in range(8))


def test_a_session_that_is_killed_loses_nothing_that_was_judged(project: Any) -> None:
    project.record()
    project.write("test_it.py", MANY)
    answer = project.pytest("--accuracy-history", URL, fresh=True, DIES_AT="5")
    assert answer.code == -signal.SIGKILL
    assert [round(run.estimate or 0, 4) for run in runs(project)] == [round(0.9 - lost / 400, 4) for lost in range(6)]


def test_a_test_that_is_run_again_and_finds_the_same_is_kept_once(project: Any) -> None:
    """As plugins do that repeat failed tests: the same item, set up anew. What differs is another run."""
    project.record()
    project.write(
        "conftest.py",
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            for _ in range(2):
                item._initrequest()
                runtestprotocol(item, nextitem=nextitem, log=False)
            return True
        """,
    )
    project.write(
        "test_it.py",
        """
        from runs import worse
        SEEN = []

        def test_same(accuracy):
            accuracy.check(worse(1), task="t", model="m")

        def test_other(accuracy):
            SEEN.append(1)
            accuracy.check(worse(1 + len(SEEN)), task="t", model="m", margin=0.2)
        """,
    )
    answer = project.pytest("--accuracy-history", URL)
    assert answer.code in (0, 5), answer.out
    assert [round(400 * (0.9 - (run.estimate or 0))) for run in runs(project)] == [1, 2, 3]


# ---- the guide ----------------------------------------------------------------------------------------------------------------


def test_the_guide_shows_what_is_printed(project: Any) -> None:
    page = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
    code, printed = page.partition("## Keep every run")[2].split("```")[1:4:2]
    shutil.copytree(ROOT / "docs" / "data" / "references", project.path / "references")
    project.write("digits_logistic.csv", (files("steelyard_old") / "data" / "digits_logistic.csv").read_text(encoding="utf-8"))
    project.write("test_digits.py", code.removeprefix("python\n"))
    command, *shown = printed.removeprefix("text\n").rstrip("\n").split("\n")
    answer = project.pytest(*shlex.split(command)[1:])
    assert answer.code == 0, answer.out
    assert "\n".join(shown) in answer.out
    assert len(runs(project)) == 1
