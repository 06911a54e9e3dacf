"""An item of weight 0 counts for nothing: the run that was recorded is checked against its own reference without a word of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy


def test_a_recorded_run_with_items_of_weight_zero_is_checked_against_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"q{i}", "weight": 0 if i % 10 == 0 else 1 + i % 3, "score": float(i % 4 > 0)} for i in range(40)]
    sy.record(rows, task="t", model="m", weight="weight")
    found = sy.check(rows, task="t", model="m", weight="weight")
    assert (found.verdict, found.n, found.difference.estimate) == ("pass", 36, 0)
    assert not any("only in" in said for said in found.warnings)
    more = [{**row, "weight": 1} if row["id"] == "q0" else row for row in rows]  # one that counts, and is not on record
    with pytest.raises(sy.DataError, match="1 only in the run"):
        sy.check(more, task="t", model="m", weight="weight")
