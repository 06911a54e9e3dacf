"""The command, and a small place with two runs and a reference."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from answers import Command


def write_run(name: str, share: float, seed: int, n: int = 300) -> None:
    draw = random.Random(seed)
    rows = [{"id": f"q{i}", "score": int(draw.random() < share)} for i in range(n)]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steelyard: Command) -> Path:
    """a.jsonl is on record as task t, model m, with its items; b.jsonl is another run."""
    monkeypatch.chdir(tmp_path)
    write_run("a.jsonl", 0.8, 1)
    write_run("b.jsonl", 0.8, 2)
    assert steelyard("record", "a.jsonl", "--task", "t", "--model", "m").code == 0
    return tmp_path
