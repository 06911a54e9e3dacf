"""What a run writes beside what it was told to write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answers import Command

TASK = '[task]\nname = "t"\ndata = "data.jsonl"\nid = "id"\ninput = "{q}"\ntruth = "truth"\nscorer = "exact"\n'


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.toml").write_text(TASK)
    Path("data.jsonl").write_text("".join(json.dumps({"id": i, "q": str(i), "truth": str(i)}) + "\n" for i in range(20)))
    for side in ("baseline", "candidate"):
        rows = [{"id": i, "prediction": str(i % 15), "note": "not of the run"} for i in range(20)]
        Path(f"v.{side}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_two_files_of_a_pair_do_not_replace_what_is_read(steelyard: Command) -> None:
    before = Path("v.baseline.jsonl").read_bytes()
    done = steelyard("run", "task.toml", "--model", "file:v.baseline.jsonl", "--model", "file:v.candidate.jsonl", "-o", "v.jsonl")
    assert Path("v.baseline.jsonl").read_bytes() == before
    assert done.code == 3


def test_the_answer_does_not_replace_the_notes_of_its_own_run(steelyard: Command) -> None:
    words = ("run", "task.toml", "--model", "file:v.baseline.jsonl", "--against", "none", "-o", "w.jsonl", "--answer", "w.jsonl.run")
    done = steelyard(*words)
    assert done.code == 3 or json.loads(Path("w.jsonl.run").read_text())["task"] == "t"


def test_the_answer_does_not_replace_the_rows_of_its_own_run(steelyard: Command) -> None:
    models = ("--model", "file:v.baseline.jsonl", "--model", "file:v.candidate.jsonl")
    done = steelyard("run", "task.toml", *models, "-o", "w.jsonl", "--answer", "w.baseline.jsonl")
    assert done.code == 3 or json.loads(Path("w.baseline.jsonl").read_text().splitlines()[0])["truth"]


def test_half_a_character_in_one_answer_is_an_error_of_that_item(steelyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emoji cut in two by a limit of tokens come as a lone surrogate; the run was asked and paid for, and cannot be read."""
    Path("half_a_character.py").write_text("def answer(prompt):\n    return '\\ud83d' if prompt == '7' else prompt\n")
    monkeypatch.syspath_prepend(".")
    words = ("--against", "none", "--max-error-rate", ".5", "--missing", "wrong")
    done = steelyard("run", "task.toml", "--model", "python:half_a_character:answer", *words)
    assert done.code == 0, done.err
