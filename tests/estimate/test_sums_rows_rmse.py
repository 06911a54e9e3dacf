"""The root mean squared error: which interval it has, what it costs, and when a few items make it up."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy
from by_name import STATISTICS, item_rows
from steelyard.infer.intervals import sums as infer
from steelyard.tally.sums import tally_items


@pytest.mark.parametrize("name", ["rmse", "mean"])
def test_the_error_of_every_redrawn_sample_is_that_of_the_sample(name: str) -> None:
    """The products of columns that are added up along the way, against each redrawn sample on its own."""
    r = np.random.default_rng(1)
    columns = {"rmse": (r.normal(size=12), r.normal(size=12)), "mean": (r.random(12),)}
    rows = item_rows(name, *columns[name])
    units = infer.in_order(tally_items(rows))
    totals, errors = infer._redrawn_with_errors(units, STATISTICS[name], 40, np.random.Generator(np.random.PCG64(5)))
    picked = np.random.Generator(np.random.PCG64(5)).integers(0, 12, size=(40, 12), dtype=np.uint16)
    for pick, total, error in zip(picked, totals, errors, strict=True):
        sample = tally_items(units.dense[pick])
        assert total == pytest.approx(sample.totals(), rel=1e-9)
        assert error == pytest.approx(infer.standard_error(sample, STATISTICS[name]), rel=1e-6, abs=1e-12)


def test_few_items_are_studentized_and_many_are_not() -> None:
    r = np.random.default_rng(2)
    for n, method in ((20, "studentized"), (1000, "studentized"), (1001, "bca")):
        truth = r.normal(size=n)
        row = sy.measure(truth, truth + r.normal(size=n), metric="rmse", draws=499).rows[0]
        assert row.interval is not None
        assert row.interval.method == method
        assert row.interval.low is not None
        assert row.interval.low >= 0


def test_a_sum_of_squares_that_rests_on_few_items_is_told() -> None:
    errors = np.concatenate([np.tile([0.5, -1.0, 1.0, 0.2], 10), [20.0]])
    found = sy.measure(errors, np.zeros(41), metric="rmse")
    assert any("the largest error makes up half of the sum of squares of 41 items" in warning for warning in found.warnings)
    assert not any("sum of squares" in w for w in sy.measure(errors[:40], np.zeros(40), metric="rmse").warnings)
