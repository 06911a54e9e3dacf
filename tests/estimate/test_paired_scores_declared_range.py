"""A range that was declared is counted in, whatever the sample happens to hold, and whether items are paired or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import seldom


def scores(values: Any, first: int = 0) -> list[dict[str, Any]]:
    return [{"id": first + i, "score": float(value)} for i, value in enumerate(values)]


@pytest.mark.parametrize("bounds", [(-1, 1), (0, 5)], ids=str)
def test_zeros_and_ones_in_a_wider_range_are_no_right_or_wrong(bounds: tuple[int, int]) -> None:
    found = sy.measure(scores([1.0] * 9 + [0.0]), range=bounds)
    assert found.row.metric == "mean" or found.warnings


@pytest.mark.parametrize("bounds", [(-1, 1), (0, 5)], ids=str)
def test_nor_are_their_differences(bounds: tuple[int, int]) -> None:
    found = sy.compare(scores([1.0] * 30), scores([1.0] * 29 + [0.0]), range=bounds)
    assert found.metric == "mean" or found.warnings


@pytest.mark.parametrize(("n", "m"), [(10, 200), *seldom((20, 500))])
def test_equal_systems_on_different_items_are_not_told_apart(n: int, m: int) -> None:
    """Both score .95, or 0 in one case of twenty; .55 and .36 were told apart at a nominal .05."""
    rng, told = np.random.default_rng(0), 0
    for _ in range(80):
        a, b = (np.where(rng.random(size) < 0.05, 0.0, 0.95) for size in (n, m))
        found = sy.compare(scores(a), scores(b, 10_000), design="unpaired", range=(0, 1))
        told += found.p_value is not None and found.p_value <= 0.05
    assert told <= 0.147 * 80  # .05 and four Monte Carlo errors


def test_nor_by_a_metric_whose_range_is_known() -> None:
    rng, told = np.random.default_rng(0), 0

    def sure(size: int, first: int) -> list[dict[str, Any]]:
        truth = rng.integers(0, 2, size)
        probability = np.where(rng.random(size) < 0.05, 1 - truth, truth) * 0.96 + 0.02
        return [{"id": first + i, "truth": int(truth[i]), "probability": float(probability[i])} for i in range(size)]

    for _ in range(100):
        found = sy.compare(sure(10, 0), sure(200, 10_000), design="unpaired", metric="brier", positive=1)
        told += found.p_value is not None and found.p_value <= 0.05
    assert told <= 0.14 * 100


@pytest.mark.parametrize("over", [1.0000000001, -1e-9])
def test_the_message_shows_what_lies_outside(over: float) -> None:
    with pytest.raises(sy.SteelyardError, match=str(over).replace(".", r"\.")):
        sy.measure([0.2, 0.5, over], range=(0, 1))
