"""`steelyard audit`: the command and Python give one answer; mistakes are exit code 3 and write nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard_old as sy
from answers import Command
from cases import every


@every(
    ("words", "scores"),
    [
        (["87.4", "86.1"], ["87.4", "86.1"]),
        (["new=87.4", "old=86.1"], {"new": "87.4", "old": "86.1"}),
        (["a=b=87.4%", "old=86.1"], {"a=b": "87.4%", "old": "86.1"}),
        (["87.4"], ["87.4"]),
    ],
)
def test_the_command_and_python_are_equal(words: list[str], scores: object, steelyard: Command) -> None:
    told = steelyard("audit", "--n", "1319", *words, "--format", "json")
    assert told.code == 0
    assert json.loads(told.out) == sy.audit(scores, n=1319).to_dict()  # type: ignore[arg-type]


def test_the_scale_of_scores_without_a_percent_sign(steelyard: Command) -> None:
    told = steelyard("audit", "--n", "1319", "87.4%", ".861", "--scale", "fraction", "--format", "json")
    assert json.loads(told.out) == sy.audit(["87.4%", ".861"], n=1319, scale="fraction").to_dict()
    assert 'add --scale "fraction"' in steelyard("audit", "--n", "1319", "87.4%", ".861").err


def test_every_format(tmp_path: Path, steelyard: Command) -> None:
    for ending in ("txt", "md", "html", "json"):
        assert steelyard("audit", "--n", "1319", "new=87.4", "<b>old</b>=86.1", "-o", str(tmp_path / f"a.{ending}")).code == 0
    assert "<b>old" not in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert steelyard("report", str(tmp_path / "a.json"), "-o", str(tmp_path / "r.html")).code == 0


@every(
    "words",
    [
        ["87.4", "86.1"],
        ["--n", "1319", "new=87.4", "86.1"],
        ["--n", "1319", "new=87.4", "new=86.1"],
        ["--n", "0", "87.4"],
        ["--n", "1319", "874"],
        ["--n", "1319", "87.4%", ".861"],
        ["--n", "1319", "87.4", "table.md"],
        ["missing.md"],
        [],
    ],
)
def test_mistakes(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steelyard: Command) -> None:
    monkeypatch.chdir(tmp_path)
    told = steelyard("audit", *words, "-o", "out.json")
    assert told.code == 3
    assert not list(tmp_path.iterdir())
