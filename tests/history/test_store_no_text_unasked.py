"""Answers are kept when asked for, and gone when dropped."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import steelyard as sy

URL = "sqlite:///runs.db"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"q{i}", "input": f"PRIVATEPROMPT {i}", "truth": "ok", "prediction": f"PRIVATEANSWER {i}"} for i in range(30)]
    sy.record([{**row, "score": 1} for row in rows], task="t", model="m")
    Path("run.jsonl").write_text("".join(json.dumps({**row, "score": 0}) + "\n" for row in rows))
    return tmp_path


def texts() -> str:
    with sqlite3.connect("runs.db") as database:
        return "\n".join(database.iterdump())


def test_no_text_is_kept_unasked() -> None:
    sy.check("run.jsonl", task="t", model="m", history=URL)
    assert "PRIVATE" not in texts()


def test_no_text_is_left_when_answers_are_dropped() -> None:
    sy.check("run.jsonl", task="t", model="m", history=URL, keep_answers=True)
    sy.drop_answers(URL)
    assert "PRIVATE" not in texts()


def test_dropped_answers_are_not_in_the_file_any_more() -> None:
    sy.check("run.jsonl", task="t", model="m", history=URL, keep_answers=True)
    with sqlite3.connect("runs.db") as database:
        kept = [blob for row in database.execute("select * from steelyard_answers") for blob in row if isinstance(blob, bytes)]
    assert kept
    sy.drop_answers(URL)
    after = Path("runs.db").read_bytes()
    assert not any(blob[:30] in after for blob in kept)
