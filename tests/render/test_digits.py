"""Digits: as many as the half-width justifies, never so few that an interval prints as a point."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.render.digits import number_texts, percent, row_texts
from steelyard.results.measurement import Interval, Row


def row(estimate: float | None, low: float | None, high: float | None, side: str = "two") -> Row:
    interval = Interval(low=low, high=high, confidence_level=0.95, side=side, method="wilson")  # type: ignore[arg-type]
    return Row(metric="accuracy", estimate=estimate, n=100, interval=interval)


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ((0.8532, 0.8321, 0.8713), ("0.853", "[0.832, 0.871]")),
        ((0.8532, 0.61, 0.95), ("0.85", "[0.61, 0.95]")),  # half .17 would justify 2 decimals
        ((0.5, 0.0, 1.0), ("0.50", "[0.00, 1.00]")),  # at least 2
        ((0.853212, 0.853112, 0.853313), ("0.85321", "[0.85311, 0.85331]")),  # half .0001: 5 decimals
        ((0.5, 0.5 - 1e-7, 0.5 + 1e-7), ("0.5000000", "[0.4999999, 0.5000001]")),  # beyond 6, for they would print as one
        ((0.85, 0.8, 0.9989), ("0.850", "[0.800, 0.999]")),
        ((0.5, 0.4001, 0.5999), ("0.50", "[0.40, 0.60]")),  # half .0999 leads with .10, so 2 decimals
        ((66.23, 64.11, 68.32), ("66.2", "[64.1, 68.3]")),
        ((1234.5, 1100.0, 1400.0), ("1234", "[1100, 1400]")),
        ((-0.001, -0.3, 0.3), ("0.00", "[-0.30, 0.30]")),  # no minus zero
        ((1.234e-7, 1.1e-7, 1.36e-7), ("1.23e-07", "[1.10e-07, 1.36e-07]")),
        ((3.2e9, 3.1e9, 3.3e9), ("3.20e+09", "[3.10e+09, 3.30e+09]")),
        ((None, 0.0, 1.0), ("undefined", "[0.00, 1.00]")),
        ((0.25, 0.25, 0.25), ("0.250", "[0.250, 0.250]")),
    ],
)
def test_two_digits_of_the_half_width(numbers: tuple[float | None, float, float], shown: tuple[str, str]) -> None:
    assert row_texts(row(*numbers)) == shown


def test_a_row_without_interval() -> None:
    assert row_texts(Row(metric="mcc", estimate=None, n=3, interval=None)) == ("undefined", "-")
    assert row_texts(Row(metric="mcc", estimate=1 / 3, n=3, interval=None)) == ("0.333", "-")
    assert row_texts(Row(metric="mean", estimate=123.456, n=3, interval=None)) == ("123.5", "-")


def test_one_sided_uses_the_distance_to_its_bound() -> None:
    assert row_texts(row(0.85, 0.8412, 1.0, "lower")) == ("0.8500", "at least 0.8412")
    assert row_texts(row(-12.3, None, -11.2, "upper")) == ("-12.3", "at most -11.2")
    assert row_texts(row(3.0, 2.0, None, "lower")) == ("3.0", "at least 2.0")


def test_percent() -> None:
    assert [percent(level) for level in (0.95, 0.999, 0.9)] == ["95%", "99.9%", "90%"]


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.tuples(finite, finite, finite).map(sorted) | st.tuples(*[st.floats(0, 1)] * 3).map(sorted),
    st.sampled_from(["two", "lower", "upper"]),
)
def test_order_survives_and_no_interval_prints_as_a_point(numbers: list[float], side: str) -> None:
    low, estimate, high = numbers
    shown, interval = row_texts(row(estimate, low, high, side))
    if side != "two":
        bound = float(interval.split()[-1])
        assert bound <= float(shown) if side == "lower" else float(shown) <= bound
        return
    first, second = interval.strip("[]").split(", ")
    assert float(first) <= float(shown) <= float(second)
    assert (first == second) == (low == high)


@given(st.floats(), st.none() | st.floats(), st.none() | st.floats(), st.none() | st.floats())
def test_any_floats_print(estimate: float, low: float | None, high: float | None, half: float | None) -> None:
    shown = number_texts(estimate, low, high, half)
    assert all(shown)
    assert (shown[0] == "undefined") == math.isnan(estimate)
