"""A table that disagrees with its headline."""

from __future__ import annotations

from typing import Any

import pytest

import steelyard as sy


@pytest.mark.parametrize("asked", [{"churn": 0.04}, {"expected": 0.8}], ids=str)
def test_the_row_of_the_planned_size_has_the_threshold_of_the_headline(asked: dict[str, Any]) -> None:
    plan = sy.plan_detect(theta=0.06, **asked).to_dict()
    (row,) = [one for one in plan["steps"] if one["n"] == plan["n"]]
    assert row["threshold"] == pytest.approx(plan["threshold_offset"], rel=1e-6)
