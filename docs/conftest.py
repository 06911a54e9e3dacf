"""The Python examples of these pages work on a copy of `data`, with the digits of the package beside it."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

import pytest

collect_ignore = ["conf.py", "_extensions", "pictures"]  # of the site; they need the extra `docs`


@pytest.fixture(autouse=True)
def _beside_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    shutil.copytree(Path(__file__).parent / "data", desk)
    for name in ("digits_logistic.csv", "digits_naive_bayes.csv"):
        (desk / name).write_bytes((files("steelyard") / "data" / name).read_bytes())
    monkeypatch.chdir(desk)
