"""The guard: is the model as good as the one on record?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from model import write_predictions


def test_digits(accuracy: Any, tmp_path: Path) -> None:
    write_predictions(tmp_path / "predictions.jsonl")
    accuracy.check(tmp_path / "predictions.jsonl", task="digits", model="nearest-neighbour")
