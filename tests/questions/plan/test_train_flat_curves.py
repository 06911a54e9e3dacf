"""plan_train of curves that say nothing about more data."""

from __future__ import annotations

import pytest

import steelyard as sy

SIZES = [100, 200, 400, 800, 1600]


def test_a_flat_curve_above_the_target() -> None:
    flat = {"size": SIZES, "accuracy": [0.8] * 5}
    with pytest.raises(sy.DataError, match=r"the target of 0\.7 is reached at every size of the curve, from 100 items on"):
        sy.plan_train(flat, target=0.7)
    with pytest.raises(sy.DataError, match="higher_is_better=False for errors and losses"):
        sy.plan_train(flat, target=0.9)
    with pytest.raises(sy.DataError, match=r"the target of 0\.9 is reached at every size"):
        sy.plan_train({"size": SIZES, "loss": [0.8] * 5}, target=0.9, higher_is_better=False)


def test_no_points() -> None:
    with pytest.raises(sy.DataError, match="The curve has no points"):
        sy.plan_train([], target=0.9)


def test_too_few_draws_are_told_with_enough() -> None:
    rising = {"size": SIZES, "accuracy": [0.85, 0.901, 0.916, 0.9255, 0.93]}
    with pytest.raises(sy.UsageError, match=r"at least (\d+) .*draws=\1 or more"):
        sy.plan_train(rising, target=0.93, confidence_level=0.9999)
