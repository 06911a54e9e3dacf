"""pass^k and pass@k of tau-bench, against the trajectories themselves."""

from __future__ import annotations

import json
import random
from math import comb
from pathlib import Path

import pytest

import steelyard as sy


@pytest.mark.parametrize("missing", ["wrong", "drop"])
@pytest.mark.parametrize("seed", range(6))
def test_pass_k_is_counted_task_by_task(missing: str, seed: int, tmp_path: Path) -> None:
    drawn = random.Random(seed)
    tasks, tries = drawn.randint(3, 15), drawn.randint(2, 5)
    rows = [
        {"task_id": task, "reward": drawn.choice([1.0, 1 - 1e-9, 0.0, 0.0]), "info": {"user_cost": 0.1}, "traj": [], "trial": trial}
        for task in range(tasks)
        for trial in range(tries)
    ]
    for row in drawn.sample(rows, len(rows) // 8):
        row |= {"reward": 0.0, "info": {"error": "boom"}}
    drawn.shuffle(rows)
    (tmp_path / "run.json").write_text(json.dumps(rows))
    seen: dict[int, list[bool]] = {}
    for row in rows:
        if missing == "wrong" or "error" not in row["info"]:
            seen.setdefault(row["task_id"], []).append(abs(row["reward"] - 1) <= 1e-6)
    if len(seen) < tasks:
        pytest.skip("a task without a single answer")
    for k in range(1, min(map(len, seen.values())) + 1):
        counted = [(sum(each), len(each)) for each in seen.values()]
        all_of_k = sum(comb(c, k) / comb(n, k) for c, n in counted) / tasks
        one_of_k = sum(1 - comb(n - c, k) / comb(n, k) for c, n in counted) / tasks
        for metric, by_hand in ((f"pass^{k}", all_of_k), (f"pass@{k}", one_of_k)):
            found = sy.measure(str(tmp_path / "run.json"), metric=metric, missing=missing).row
            assert found.estimate == pytest.approx(by_hand, abs=1e-12)
