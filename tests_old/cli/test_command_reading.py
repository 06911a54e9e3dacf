"""`--memory` and the progress of reading, from the command line."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from steelyard_old.cli import command as options
from steelyard_old.cli.main import main
from steelyard_old.read.engines import memory as allowance


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0)


@pytest.fixture
def csv(tmp_path: Path) -> str:
    path = tmp_path / "a.csv"
    path.write_text("id,truth,pred\n" + "".join(f"{i},{i % 2},{i % 3 % 2}\n" for i in range(60)))
    return str(path)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("lots", "The memory limit must be a size such as 2GB"),
        ("1kB", "The memory limit '1kB' is too small; it must be 64MB or more."),
    ],
)
def test_bad_limits(csv: str, size: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["measure", csv], ["compare", csv, csv, "--names", "a,b"]):
        assert run(*words, "--memory", size) == 3
        assert message in capsys.readouterr().err


def test_limits_that_mean_nothing(csv: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("measure", "--counts", "3/4", "--memory", "2GB") == 3
    assert "--memory is about items, and bare counts have none." in capsys.readouterr().err
    assert run("compare", "--flips", "1,2,3,4", "--memory", "2GB") == 3
    assert "--memory cannot be used with bare counts." in capsys.readouterr().err
    assert run("measure", csv, "--memory", "2GB", "--engine", "spark") == 3
    assert "--memory limits DuckDB; it has no effect with --engine spark." in capsys.readouterr().err


def test_the_answer_is_the_same(csv: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("measure", csv, "--format", "json") == 0
    plain = capsys.readouterr()
    assert run("measure", csv, "--format", "json", "--memory", "100MB") == 0
    assert capsys.readouterr() == plain
    assert plain.err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("quiet", "terminal"), [(False, True), (True, True), (False, False)])
def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, quiet: bool, terminal: bool) -> None:
    said = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(options, "PATIENCE", -1.0)
    with options.reading_progress(quiet):
        allowance.tell("reading 'a.csv'", 0.25)
        allowance.tell("reading 'a.csv'", 0.5)
    if quiet or not terminal:
        assert said.getvalue() == ""
    else:
        assert "\rreading 'a.csv'  25%" in said.getvalue()
        assert said.getvalue().endswith("\r\x1b[K")  # the line goes away again


def test_what_is_short_needs_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    said = Terminal()
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(options, "PATIENCE", 1e9)
    with options.reading_progress(False):
        allowance.tell("reading", 0.5)
    assert said.getvalue() == ""
