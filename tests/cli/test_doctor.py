"""`steelyard doctor`: the tables agree with pyproject.toml, and every state of a package is told with what to do about it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from steelyard.cli import doctor
from steelyard.cli.main import main
from steelyard.version import __version__

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
FOR_DEVELOPERS = {"test", "dev", "bench", "docs"}


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["doctor", *words])
    assert stop.value.code == 0
    return capsys.readouterr().out


def required(lines: list[str]) -> dict[str, str]:
    """Package -> lowest version; an upper bound or anything else is not written yet, and would be lost here."""
    found = [re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line) for line in lines]
    return {match[1]: match[2] for match in found if match is not None}


def test_the_tables_are_those_of_the_project() -> None:
    assert required(PROJECT["dependencies"]) == doctor.CORE
    extras = {name: lines for name, lines in PROJECT["optional-dependencies"].items() if name not in FOR_DEVELOPERS}
    assert {name: required(lines) for name, lines in extras.items()} == {name: packages for name, (_, packages) in doctor.EXTRAS.items()}
    assert all(len(required(lines)) == len(lines) for lines in [PROJECT["dependencies"], *extras.values()])


def test_text_and_json_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    text, found = told(capsys), json.loads(told(capsys, "--format", "json"))
    assert text.startswith(f"steelyard {__version__}, Python {found['python']} on ")
    for name, package in found["core"].items():
        assert re.search(rf"^  {name} +{re.escape(package['version'])}$", text, re.MULTILINE)
    for extra in found["extras"].values():
        assert extra["adds"] in text
    assert set(found["programs"]) == {"git", "java"}


def test_the_columns_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    """Also below a name or a list of packages that is longer than most."""
    lines = told(capsys).splitlines()
    starts = {line.index(adds) for adds, _ in doctor.EXTRAS.values() for line in lines if line.endswith(adds)}
    assert len(starts) == 1


def test_what_is_missing_is_named_with_its_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in ("pyarrow", "scipy", "uvicorn") else "99.0")
    monkeypatch.setattr("shutil.which", lambda name: None)
    text = told(capsys)
    assert re.search(r"pyarrow not installed +Arrow and Feather files.*\n +pip install 'steelyard\[arrow\]'\n", text)
    assert re.search(r"starlette 99\.0, uvicorn not installed +the dashboard.*\n +pip install 'steelyard\[serve\]'\n", text)
    assert re.search(r"scipy +MISSING: pip install steelyard\n", text)
    assert re.search(r"java +not found +needed for --engine spark with --master", text)
    assert text.count("pip install 'steelyard[") == 2


@pytest.mark.parametrize(
    ("version", "ok"), [("1.25.9", False), ("1.26", True), ("1.26.0rc1", True), ("2.0", True), ("10.1", True), ("0.99.99", False)]
)
def test_what_is_too_old_is_said(version: str, ok: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: version if name == "numpy" else "99")
    assert (f"{version} is older than 1.26: pip install --upgrade steelyard" in told(capsys)) is not ok
