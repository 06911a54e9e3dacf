"""What `plan_split` answers, against the list of every split."""

from __future__ import annotations

import random
from math import lgamma

import numpy as np
import pytest

import steelyard as sy

SIZES = [50, 100, 200, 400, 800]
Z = {0.9: 1.6448536269514722, 0.95: 1.959963984540054}


def ends(p: float, n: int, level: float) -> tuple[float, float]:
    """The mean ends of Wilson's interval over all outcomes of n items."""
    k = np.arange(n + 1)
    ways = lgamma(n + 1) - np.array([lgamma(i + 1) + lgamma(n - i + 1) for i in k])
    chance = np.exp(ways + k * np.log(p) + (n - k) * np.log(1 - p))
    z = Z[level]
    centre, spread = (k + z * z / 2) / (n + z * z), z * np.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    return float(chance @ (centre - spread)), float(chance @ (centre + spread))


@pytest.mark.parametrize("seed", range(8))
def test_no_other_split_has_a_higher_lower_bound_or_a_smaller_test_set_of_that_width(seed: int) -> None:
    drawn = random.Random(seed)
    a, b, c = drawn.uniform(0.02, 0.3), drawn.uniform(0.3, 1.5), drawn.uniform(0.4, 1.2)
    up, level, total = seed % 2 == 0, drawn.choice([0.9, 0.95]), drawn.randint(200, 900)
    width = 0.15 if seed % 3 == 2 else None
    errors = [a + b * n**-c for n in SIZES]
    curve = {"size": SIZES, "score": [1 - e if up else e for e in errors]}
    found = sy.plan_split(curve, total=total, width=width, higher_is_better=up, confidence_level=level).details
    every = {m: ends(1 - (a + b * (total - m) ** -c), m, level) for m in range(10, total - SIZES[0] + 1)}
    low, high = every[found["test"]]
    assert found["train"] + found["test"] == total
    assert (found["lower"], found["upper"]) == pytest.approx((low, high) if up else (1 - high, 1 - low), abs=2e-5)
    if width is None:
        best = max(each[0] for each in every.values())
        assert low == pytest.approx(best, abs=1e-6)
        near = [m for m, each in every.items() if each[0] >= best - 0.002]
        said = found["nearly_as_good"]
        assert abs(said["test_low"] - near[0]) <= 1
        assert abs(said["test_high"] - near[-1]) <= 1
    else:
        first = next(m for m, each in every.items() if each[1] - each[0] <= width)
        assert abs(found["test"] - first) <= 1
