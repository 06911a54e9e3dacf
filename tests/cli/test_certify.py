"""`steelyard certify`: exit codes, formats, figures and CSV, a state that is resumed, an interrupt that leaves it good."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli import main as program
from steelyard.infer.intervals import proportion
from steelyard.infer.normal import wilson
from steelyard.proof import catalogue, running
from steelyard.proof.coverage import proportions

TINY = ["certify", "--only", "a proportion: *", "--jobs", "1"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(catalogue, "FAMILIES", ("coverage.proportions",))
    monkeypatch.setattr(proportions, "QUICK", ({"n": 5}, {"n": 20}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(running, "code_digest", lambda module: "this code")  # reading it takes a second
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        program.main([*TINY, *words])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def spoil(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(proportion.METHODS, "wilson", lambda k, n, level, side: wilson(k, n, level, side, critical=1.5))


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys)
    assert (code, err) == (0, "")
    assert "a proportion: coverage 0.95 (* is the default)" in out
    assert re.search(r"^  wilson\* +0\.83\d\d  n=5 p=\S+ +0\.95\d\d  >=0\.81; mean 0\.949-0\.96 +ok$", out, re.M)
    assert all(len(line) <= 80 for line in out.splitlines())
    assert " ".join(out.split("\n\n")[-1].split()).startswith("All 9 claims hold. Worst coverage: 0.83")
    assert "Not the default: " in out


def test_broken_on_purpose(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch)
    code, out, _ = ask(capsys)
    assert code == 1
    said = " ".join(out.split())
    assert "FAILS: a proportion: coverage of wilson at n=5 p=" in said
    assert "claimed at least 0.81 (off by" in said
    assert re.search(r"^  wilson\* .*FAILS$", out, re.M)


def test_json_has_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ask(capsys, "--format", "json")
    plain = json.loads(out)
    assert code == 0
    assert (plain["kind"], plain["schema"], plain["grid"], plain["holds"], plain["faults"]) == ("certificate", 1, "quick", True, [])
    assert [each["method"] for each in plain["claims"] if each["default"]] == ["wilson"]
    assert all([s["setting"] for s in each["settings"]] == ["n=5", "n=20"] for each in plain["claims"])
    assert plain["coverage"]["claim"] == "a proportion: coverage of wilson"


def test_page_with_figures(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys, "-o", "page.md", "--csv", "page.csv")
    assert (code, out) == (0, "")
    assert "written to page.md and 1 figure beside it" in err
    text = (here / "page.md").read_text(encoding="utf-8")
    assert "![Coverage of each method](page-a-proportion.svg)" in text
    assert all(len(line) <= 118 for line in text.splitlines() if not line.startswith("|"))
    svg = (here / "page-a-proportion.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg ")
    assert "wilson (default)" in svg
    rows = list(csv.DictReader((here / "page.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 18
    assert {row["holds"] for row in rows} == {"True"}


def test_markdown_without_files_has_bars(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ask(capsys, "--format", "markdown")
    assert re.search(r"^wald, coverage +0 \[-+o-*\| ?\] 1$", out, re.M)
    assert ".svg" not in out


def test_html(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ask(capsys, "--format", "html")
    assert out.startswith(("<!DOCTYPE html>", "<!doctype html>"))
    assert "All 9 claims hold. Worst coverage: 0.83" in out
    assert "<svg" in out


def test_times(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = ask(capsys, "--times")
    assert len(re.findall(r"^ +\d+\.\d\d s  a proportion: ", err, re.M)) == 9


def without_seconds(text: str) -> str:
    return re.sub(r'"seconds": [0-9.e-]+', '"seconds": 0', text)


def test_interrupted_and_resumed_is_uninterrupted(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte, but for the seconds; the interrupt is 130 and says how to go on."""
    _, whole, _ = ask(capsys, "--format", "json")
    real, left = running.tried, iter(range(8))

    def until_interrupted(*given: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(running, "tried", until_interrupted)
    code, out, err = ask(capsys, "--format", "json", "--state", "kept")
    assert (code, out) == (130, "")
    assert "kept in kept" in err
    kept = (here / "kept").read_text(encoding="utf-8")
    assert kept.count("\n") == 8
    (here / "kept").write_text(kept[:-40], encoding="utf-8")  # as a machine that lost its power leaves it
    worked: list[int] = []
    monkeypatch.setattr(running, "tried", lambda *given: (worked.append(1), real(*given))[1])
    code, out, _ = ask(capsys, "--format", "json", "--state", "kept")
    assert code == 0
    assert without_seconds(out) == without_seconds(whole)
    assert len(worked) == 18 - 7


def test_state_of_another_claim_is_not_used(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, whole, _ = ask(capsys, "--format", "json", "--state", "kept")
    monkeypatch.setattr(running, "code_digest", lambda module: "other code")
    spoil(monkeypatch)
    code, out, _ = ask(capsys, "--format", "json", "--state", "kept")
    assert code == 1
    assert without_seconds(out) != without_seconds(whole)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--jobs", "2"], "--jobs was given 2 times; it takes one value."),
        (["--seed", "-1"], "'--seed'"),
        (["--seed", "3", "--nightly"], "--nightly takes the date as the seed; leave --seed 3 out."),
        (["--only", "pizza"], "--only pizza"),
        (["--csv", "a.txt", "-o", "a.txt"], "--csv and -o would both write 'a.txt'."),
    ],
)
def test_usage_is_3(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    code, out, err = ask(capsys, *words)
    assert (code, out) == (3, "")
    assert said in err


def test_nightly_takes_the_date_as_the_seed_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    before = datetime.now(UTC)
    code, out, _ = ask(capsys, "--nightly", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert found["seed"] in {int(each.strftime("%Y%m%d")) for each in (before, datetime.now(UTC))}
    assert f"seed:{found['seed']}" in found["signature"]
    assert without_seconds(ask(capsys, "--seed", str(found["seed"]), "--format", "json")[1]) == without_seconds(out)


def test_full_keeps_a_state_and_quick_does_not(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proportions, "FULL", ({"n": 3},))
    monkeypatch.setattr(proportions, "TRIED", 20)
    ask(capsys)
    assert not (here / "steelyard-certify.state").exists()
    ask(capsys, "--full")
    assert (here / "steelyard-certify.state").read_text(encoding="utf-8").count("\n") == 9


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.cli.certify import _SettingsDone

    said: list[str] = []
    monkeypatch.setattr("steelyard.cli.command.click.echo", lambda text, **_: said.append(text))
    told = _SettingsDone(quiet=False)
    told.shows = True
    for step in _steps():
        told(*step)
    told.clear()
    assert "3/10 settings" in said[0]
    assert "left" not in said[0]
    assert "5/10 settings, 0:10 left" in said[1]
    assert said[-1] == "\r\x1b[K"
    silent = _SettingsDone(quiet=True)
    silent(1, 2, 3.0)
    silent.clear()
    assert len(said) == 3


def _steps() -> Iterator[tuple[int, int, float]]:
    yield 3, 10, 0.0  # done by an earlier run
    yield 5, 10, 4.0


def test_figures_of_long_families_are_told_apart() -> None:
    from dataclasses import replace

    from render.html.page_samples import CLAIM
    from steelyard.render.pages.certificate import figure_names
    from steelyard.results.certificate import Certificate

    families = [f"{'a long name ' * 6}{end}" for end in ("one", "two")]
    made = Certificate(grid="quick", seed=0, claims=tuple(replace(CLAIM, family=family) for family in families))
    names = list(figure_names(made, "page").values())
    assert len(set(names)) == 2
    assert all(len(name) < 64 for name in names)
