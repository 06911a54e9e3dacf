"""One place keeps answers: what is kept from Python is the same row as by the command, and a history that fails costs no answer."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from answers import Command, command
from cases import every
from steelyard.questions.history.keep import keep_once
from steelyard.reference.config import find_config

URL = "sqlite:///runs.db"
ABOUT = {"task": "t", "model": "m"}
TIMES = re.compile(r"time|seconds|latency|recorded|p50|p90|p99|per_second")  # what no two runs share
STAMP = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)?")


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Command:
    return command(capsys)


def stage(here: Path) -> None:
    """A reference run and one that is worse, a task, a model of files, and a suite."""
    here.mkdir()
    texts = [{"id": f"q{i}", "question": f"What is {i} + 1?", "target": str(i + 1)} for i in range(60)]
    for name, wrong in (("reference", 0), ("run", 12)):
        rows = [{**row, "score": float(i >= wrong), "answer": row["target"] if i >= wrong else "?"} for i, row in enumerate(texts)]
        (here / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (here / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts))
    (here / "task.toml").write_text('[task]\nname = "t"\ndata = "data.jsonl"\ntruth = "target"\ninput = "{question}"\nscorer = "exact"\n')
    (here / "models.py").write_text(
        "def one(prompt):\n    return str(int(prompt.split()[2]) + 1) if int(prompt.split()[2]) > 11 else '0'\n"
    )
    (here / "suite.toml").write_text('[[checks]]\ntask = "t"\nmodel = "m"\nresult = "run.jsonl"\n')


def content(path: Path) -> dict[str, list[Any]]:
    """All rows of all tables, without ids of runs and without times."""
    with sqlite3.connect(path) as store:
        tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        found = {}
        for table in tables:
            asked = store.execute(f"SELECT * FROM {table} ORDER BY rowid")
            heads = [column[0] for column in asked.description]
            found[table] = [
                {head: _plain(cell) for head, cell in zip(heads, row, strict=True) if head not in ("id", "time", "run")} for row in asked
            ]
        return found


def _plain(cell: Any) -> Any:
    if isinstance(cell, str) and cell[:1] == "{":
        return _without_times(json.loads(cell))
    return STAMP.sub("then", cell) if isinstance(cell, str) else cell


def _without_times(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _without_times(value) for key, value in plain.items() if not TIMES.search(key)}
    if isinstance(plain, list):
        return [_without_times(each) for each in plain]
    return STAMP.sub("then", plain) if isinstance(plain, str) else plain


def recorded(typed: Command | None, keep_answers: bool) -> None:
    if typed is None:
        sy.record("reference.jsonl", **ABOUT, history=URL, keep_answers=keep_answers)
    else:
        typed("record", "reference.jsonl", *_flags(ABOUT), "--history", URL, *["--keep-answers"] * keep_answers)


def checked(typed: Command | None, keep_answers: bool) -> None:
    recorded(typed, keep_answers)
    if typed is None:
        assert sy.check("run.jsonl", **ABOUT, protocol={"prompt": "p"}, history=URL, keep_answers=keep_answers).verdict == "regression"
    else:
        protocol = ("--protocol", "prompt=p")
        typed("check", "run.jsonl", *_flags(ABOUT), *protocol, "--history", URL, *["--keep-answers"] * keep_answers)


def ran(typed: Command | None, keep_answers: bool) -> None:
    if typed is None:
        spec = {"quant_algo": "FP8"}
        sy.run("task.toml", "python:models:one", name="m", spec=spec, output="out.jsonl", history=URL, keep_answers=keep_answers)
    else:
        words = ("--model", "python:models:one", "--name", "m", "--spec", "quant_algo=FP8", "-o", "out.jsonl", "--history", URL)
        typed("run", "task.toml", *words, *["--keep-answers"] * keep_answers)


def judged(typed: Command | None, keep_answers: bool) -> None:
    recorded(typed, keep_answers)
    if typed is None:
        sy.check_suite("suite.toml", history=URL, keep_answers=keep_answers)
    else:
        typed("check", "--suite", "suite.toml", "--history", URL, *["--keep-answers"] * keep_answers)


def _flags(about: dict[str, str]) -> list[str]:
    return [word for name, value in about.items() for word in (f"--{name}", value)]


@every("keep_answers", [False, True])
@every("verb", [recorded, checked, ran, judged])
def test_python_keeps_the_same_rows_as_the_command(
    verb: Callable[[Command | None, bool], None], keep_answers: bool, typed: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for name, by in (("python", None), ("command", typed)):
        here = tmp_path / f"{verb.__name__} {keep_answers} {name}"
        stage(here)
        monkeypatch.chdir(here)
        monkeypatch.syspath_prepend(here)
        verb(by, keep_answers)
        found.append(content(here / "runs.db"))
    assert found[0] == found[1]
    assert len(found[0]["steelyard_runs"]) == (1 if verb in (recorded, ran) else 2)
    assert any("answer" in table and rows for table, rows in found[0].items()) == keep_answers


def test_a_history_that_fails_is_a_warning_and_the_answer_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(tmp_path / "here")
    lost = "sqlite:///no/such/folder/runs.db"
    done = sy.record("reference.jsonl", **ABOUT, history=lost)
    assert done.value == 1.0
    assert "the run was not stored in the history" in done.warnings[-1]
    ran_ = sy.run("task.toml", "python:models:one", name="other", output="out.jsonl", history=lost)
    assert isinstance(ran_, sy.Evaluation)
    assert "the run was not stored in the history" in ran_.warnings[-1]


def test_a_dry_run_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(tmp_path / "here")
    sy.dry_run("task.toml", "python:models:one", history=URL)
    assert not Path("runs.db").exists()


@every("history", [None, "none"])
def test_answers_need_a_history_before_anything_is_done(history: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(tmp_path / str(history))
    monkeypatch.chdir(tmp_path / str(history))
    for ask in (
        lambda: sy.record("reference.jsonl", **ABOUT, history=history, keep_answers=True),
        lambda: sy.run("task.toml", "python:models:one", history=history, keep_answers=True),
        lambda: sy.check("run.jsonl", **ABOUT, history=history, keep_answers=True),
        lambda: sy.check_suite("suite.toml", keep_answers=True),
        lambda: sy.run_suite("suite.toml", keep_answers=True),
    ):
        with pytest.raises(sy.UsageError, match="keep_answers=True needs a history"):
            ask()
    assert not Path("references").exists()


def test_a_dry_run_has_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(tmp_path / "here")
    found = sy.dry_run("task.toml", "python:models:one", n=20)
    assert isinstance(found, sy.DryRun)
    with pytest.raises(sy.UsageError, match=r"Unknown argument 'dry_run' of run\. Hint: use sy\.dry_run\(\.\.\.\)"):
        sy.run("task.toml", "python:models:one", dry_run=True)
    with pytest.raises(sy.UsageError, match="Unknown argument 'repeat' of dry_run"):
        sy.dry_run("task.toml", "python:models:one", repeat=2)
    with pytest.raises(sy.UsageError, match="Unknown argument 'dry_run' of dry_run"):
        sy.dry_run("task.toml", "python:models:one", dry_run=True)


def scored(chance: random.Random, *, gaps: bool = False) -> list[dict[str, Any]]:
    """Sixty scores of which lower is better; gaps: a third of the answers is missing."""
    scores = [round(2 + i % 5 * 0.5 + chance.gauss(0, 0.05), 4) for i in range(60)]
    return [{"id": f"q{i}", "score": None if gaps and i % 3 == 0 else score} for i, score in enumerate(scores)]


def test_a_run_is_replayed_as_it_was_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chance = random.Random(3)
    sy.record(*[scored(chance) for _ in range(3)], **ABOUT, higher_is_better=False)
    Path("suite.toml").write_text('[[checks]]\ntask = "t"\nmodel = "m"\nresult = "r.jsonl"\nmissing = "wrong"\nrange = [0, 10]\n')
    verdicts = []
    for night in range(6):
        Path("r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in scored(chance, gaps=night >= 3)))
        verdicts.append(sy.check_suite("suite.toml", history=URL).verdict)
    assert verdicts == ["pass"] * 3 + ["regression"] * 3
    assert sy.simulate_nights(URL, suite="suite.toml", false_alarms=[1]).budgets[0].alarms


@every("by", ["check", "command", "record", "pytest"])
def test_what_counted_as_wrong_is_kept_with_what_it_counted_as(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Command
) -> None:
    here = tmp_path / by
    here.mkdir()
    monkeypatch.chdir(here)
    chance = random.Random(3)
    gaps = scored(chance, gaps=True)
    Path("gaps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in gaps))
    judged: dict[str, Any] = {"missing": "wrong", "range": (0, 10)}
    if by == "record":
        sy.record("gaps.jsonl", **ABOUT, higher_is_better=False, history=URL, **judged)
    else:
        sy.record(scored(chance), **ABOUT, higher_is_better=False)
    if by == "check":
        sy.check("gaps.jsonl", **ABOUT, history=URL, **judged)
    elif by == "command":
        typed("check", "gaps.jsonl", *_flags(ABOUT), "--history", URL, "--missing", "wrong", "--range", "0", "10")
    elif by == "pytest":
        keep_once(
            "0" * 32,
            sy.check("gaps.jsonl", **ABOUT, **judged),
            (URL, None),
            find_config(here, None),
            sources=["gaps.jsonl"],
            columns={},
            protocol=None,
            directory=None,
            commit=None,
            **judged,
        )
    with sy.open_history(URL) as store:
        (run,) = store.runs()[0]
        assert store.items(run.id) == {row["id"]: 10.0 if row["score"] is None else row["score"] for row in gaps}


def test_what_was_left_out_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chance = random.Random(3)
    sy.record(scored(chance), **ABOUT, higher_is_better=False)
    sy.check(scored(chance, gaps=True), **ABOUT, missing="drop", unmatched="drop", history=URL)
    with sy.open_history(URL) as store:
        (run,) = store.runs()[0]
        assert len(store.items(run.id) or {}) == 40


def test_a_model_that_crashed_is_kept_as_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(tmp_path / "here")
    Path("crashing.py").write_text("def one(prompt):\n    i = int(prompt.split()[2])\n    return 1 / 0 if i < 6 else str(i + 1)\n")
    sy.run("task.toml", "python:crashing:one", name="m", output="o.jsonl", missing="wrong", max_error_rate=0.5, history=URL)
    with sy.open_history(URL) as store:
        (run,) = store.runs()[0]
        assert store.items(run.id) == {f"q{i}": float(i >= 6) for i in range(60)}


def test_the_warning_of_a_command_names_its_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Command) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"q{i}", "score": float(i % 4 > 0)} for i in range(40)]
    Path("r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sy.record(rows, **ABOUT, history=URL)
    said = str(typed("check", "r.jsonl", *_flags(ABOUT), "--history", f"{URL}?mode=ro"))
    assert "name another place with --history" in said
    assert "history=" not in said
