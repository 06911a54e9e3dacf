"""The example project: green, red after the model is broken on purpose, green again after the drop is put on record."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "guard"


@pytest.fixture
def example(project: Any) -> Any:
    pytest.importorskip("sklearn")
    shutil.copytree(EXAMPLE, project.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    return replace(project, load=("sklearn.datasets", "sklearn.neighbors"))


def break_model(example: Any) -> None:
    file = example.path / "model.py"
    text = file.read_text(encoding="utf-8")
    assert text.count("SHADES = 16 ") == 1
    file.write_text(text.replace("SHADES = 16 ", "SHADES = 1 "), encoding="utf-8")


def test_the_guard_catches_the_broken_model(example: Any, tmp_path: Path) -> None:
    green = example.pytest(str(example.path), cwd=tmp_path)  # from anywhere: the configuration beside the test counts
    assert green.code == 0, green.out
    assert green.lines("digits ")[0].endswith("pass")

    break_model(example)
    red = example.pytest()
    assert red.code == 1
    assert "REGRESSION: digits, nearest-neighbour" in red.out
    assert len([line for line in red.lines("  lost  image-") if "1 -> 0" in line]) == 5
    assert "paired, n 599" in red.out

    accepted = example.pytest("--accuracy-update", "--accuracy-reason", "black and white is enough for us")
    assert accepted.code == 0, accepted.out
    again = example.pytest("-q")
    assert again.code == 0, again.out
    history = [json.loads(line) for line in (example.path / "references" / "digits.history.jsonl").read_text("utf-8").splitlines()]
    assert [line["action"] for line in history] == ["record", "update"]
    assert history[-1]["reason"] == "black and white is enough for us"
    assert history[-1]["new"] < history[-1]["old"] - 0.03
