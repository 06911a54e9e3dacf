"""The open side of a one-sided interval reaches the end of what the number can be, and no further."""

from __future__ import annotations

import json

import numpy as np

import steelyard as sy
from cases import every

SCORES = np.array([1, 1, 0, 1, 1, 0, 1] * 6, dtype=float)
UNITS = {
    "groups": {"group": [i % 7 for i in range(42)]},
    "weights": {"weight": [0.5 + i % 3 for i in range(42)]},
    "repeats": {"id": [i // 2 for i in range(42)], "repeat": [i % 2 for i in range(42)]},
}


@every("units", UNITS)
@every("metric", ["mean", "accuracy"])
def test_a_bound_of_a_mean_of_right_and_wrong_ends_at_one_and_at_zero(units: str, metric: str) -> None:
    data = {"score": SCORES, **UNITS[units]}
    lower = sy.measure(data, metric=metric, side="lower").row.interval
    upper = sy.measure(data, metric=metric, side="upper").row.interval
    assert lower is not None
    assert upper is not None
    assert (lower.high, upper.low) == (1, 0)
    assert 0 < lower.low < SCORES.mean() < upper.high < 1


def test_a_comparison_of_them_is_written_as_json() -> None:
    first = {"score": SCORES, **UNITS["groups"]}
    second = {"score": np.roll(SCORES, 3), **UNITS["groups"]}
    for side in ("lower", "upper"):
        found = json.loads(json.dumps(sy.compare(first, second, metric="mean", side=side).to_dict(), allow_nan=False))
        assert {(each["interval"]["low"] == 0, each["interval"]["high"] == 1) for each in (found["baseline"], found["candidate"])} == {
            (side == "upper", side == "lower")
        }
