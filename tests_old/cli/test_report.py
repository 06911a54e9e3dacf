"""The command `report`, `--format html` of every command, and the demo as a page."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steelyard_old.cli.main import main, steelyard
from steelyard_old.questions.report.report import report

DIGITS = ("digits_naive_bayes.csv", "digits_logistic.csv")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in DIGITS:
        shutil.copyfile(str(files("steelyard_old") / "data" / name), tmp_path / name)
    (tmp_path / "task.toml").write_text(
        '[task]\nname = "digits"\ndata = "digits_logistic.csv"\ntruth = "truth"\nscorer = "exact"\n', encoding="utf-8"
    )
    (tmp_path / "suite.toml").write_text(
        '[suite]\nname = "nightly"\n[[checks]]\ntask = "digits"\nmodel = "m"\nresult = "digits_naive_bayes.csv"\n', encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    asked("record", DIGITS[1], "--task", "digits", "--model", "m", "--deterministic", "--history", "sqlite:///runs.db")
    return tmp_path


def asked(*words: str) -> Result:
    return CliRunner().invoke(steelyard, words)


ASKED = {
    "measure": (["measure", DIGITS[0]], "MEASURED"),
    "counts": (["measure", "--counts", "12/40"], "MEASURED"),
    "compare": (["compare", *DIGITS], "COMPARED"),
    "leaderboard": (["compare", *DIGITS, DIGITS[0], "--names", "a,b,c"], "LEADERBOARD"),
    "plan detect": (["plan", "detect", "--discordance", ".04", "--theta", ".01"], "PLANNED"),
    "plan estimate": (["plan", "estimate", "--metric", "accuracy", "--expected", ".95", "--width", ".1"], "PLANNED"),
    "plan designs": (["plan", "designs", "--theta", ".02"], "PLANNED"),
    "check": (["check", DIGITS[0], "--task", "digits", "--model", "m"], "REGRESSION"),
    "suite": (["check", "--suite", "suite.toml"], "REGRESSION"),
    "record": (["record", DIGITS[1], "--task", "new", "--model", "m", "--deterministic"], "RECORDED"),
    "references list": (["references", "list"], "REFERENCES"),
    "references lint": (["references", "lint"], "LINT"),
    "references show": (["references", "show", "digits", "m"], "REFERENCE"),
    "references history": (["references", "history", "digits"], "HISTORY"),
    "init": (["init"], "STARTED"),
    "history": (["history", "--history", "sqlite:///runs.db"], "HISTORY"),
    "run": (["run", "task.toml", "--model", f"file:{DIGITS[0]}", "--against", "m"], "REGRESSION"),
}


@pytest.mark.parametrize("name", ASKED)
def test_every_command_makes_a_page(desk: Path, name: str) -> None:
    words, badge = ASKED[name]
    found = asked(*words, "--format", "html")
    assert found.exit_code in (0, 1, 2), found.output
    assert found.stdout.startswith("<!DOCTYPE html>")
    assert badge in found.stdout


def test_the_ending_chooses_the_page(desk: Path) -> None:
    assert asked("measure", DIGITS[0], "-o", "page.html").exit_code == 0
    assert (desk / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_report_of_files_is_the_page_of_the_command(desk: Path) -> None:
    for words, name in ((["compare", *DIGITS], "c"), (["check", DIGITS[0], "--task", "digits", "--model", "m"], "v")):
        asked(*words, "--format", "json", "-o", f"{name}.json")
        asked(*words, "--format", "html", "-o", f"{name}.html")
        found = asked("report", f"{name}.json", "-o", f"{name}2.html")
        assert found.exit_code == 0
        assert f"written to {name}2.html" in found.stderr
        assert (desk / f"{name}2.html").read_text(encoding="utf-8") == (desk / f"{name}.html").read_text(encoding="utf-8")
    assert asked("report", "v.json", "c.json", "--title", "Release 2", "--quiet").exit_code == 0
    assert "<h1>Release 2</h1>" in (desk / "report.html").read_text(encoding="utf-8")


def test_flips_on_the_command_line(desk: Path) -> None:
    asked("compare", *DIGITS, "--flips-out", "flips.csv", "--format", "json", "-o", "c.json")
    assert asked("report", "c.json", "--flips", "flips.csv").exit_code == 0
    assert (desk / "report.html").read_text(encoding="utf-8").count('<th scope="row">lost</th>') == 12


@pytest.mark.parametrize("text", ["{}", "", '{"kind": "verdict", "schema": 2}', '{"kind": "measurement", "schema": 1, "metr'])
def test_a_file_that_is_none_exits_3(desk: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "bad.json").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["report", "bad.json"])
    assert stop.value.code == 3
    assert "bad.json" in capsys.readouterr().err
    assert not (desk / "report.html").exists()


def test_a_browser_is_opened_only_if_asked(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    asked("measure", "--counts", "12/40", "--format", "json", "-o", "m.json")
    asked("report", "m.json")
    assert opened == []
    asked("report", "m.json", "--open")
    assert opened == [(desk / "report.html").as_uri()]


def test_the_demo_as_a_page(desk: Path) -> None:
    found = asked("demo", "--html", "-o", "demo.html")
    assert found.exit_code == 0, found.output
    page = (desk / "demo.html").read_text(encoding="utf-8")
    assert page.index("REGRESSION") < page.index("COMPARED") < page.index("MEASURED") < page.index("PLANNED")
    assert "The path of the run" in page
    assert sorted(path.name for path in desk.iterdir() if "demo" in path.name) == ["demo.html"]


def test_the_demo_needs_html_for_a_file(desk: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["demo", "-o", "x.html"])
    assert stop.value.code == 3


def test_the_page_of_a_result_at_hand(desk: Path) -> None:
    asked("measure", DIGITS[0], "--format", "json", "-o", "m.json")
    plain = json.loads((desk / "m.json").read_text(encoding="utf-8"))
    assert report(plain) == report("m.json")
