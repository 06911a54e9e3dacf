"""One more mistake never raises a lower bound, one more right answer never lowers an upper one: every interval of k of n by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from cases import every, seldom
from steelyard.estimate.table_rows import offered
from steelyard.infer.normal import wald, wilson
from steelyard.metrics.catalogue import parse

ACCURACY = offered(parse("accuracy"), parse("accuracy").proportion(sy.Counts.of(1, 2), None))
DRAWN = {"bca"}  # 10,000 draws have few beyond the 99% level, so their outermost ends are not held to the order there
CLOSED = [method for method in ACCURACY if method not in DRAWN]
SIDES = ("two", "lower", "upper")
LEVELS = (0.5, 0.8, 0.95, 0.99)
BIT = 1e-12


def ends(counts: sy.Counts, metric: str, method: str, side: str, level: float) -> tuple[float, float]:
    found = sy.measure(counts, metric=metric, interval=method, side=side, confidence_level=level).interval
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def in_order(found: Iterator[tuple[float, float]]) -> bool:
    every = list(found)
    return all(b[0] >= a[0] - BIT and b[1] >= a[1] - BIT for a, b in pairwise(every))


def near_the_ends(n: int) -> list[int]:
    """Where methods are replaced; the middle is smooth."""
    return sorted({k for k in (0, 1, 2, 3, n // 2, n - 3, n - 2, n - 1, n) if 0 <= k <= n})


@every("side", SIDES)
@every("method", CLOSED)
def test_every_count_of_some_sizes(method: str, side: str) -> None:
    """The levels take turns over the sizes, so that each side of each method has all of them."""
    for n, level in ((1, 0.95), (2, 0.95), (3, 0.5), (5, 0.8), (7, 0.99), (11, 0.95)):
        assert in_order(ends(sy.Counts.of(k, n), "accuracy", method, side, level) for k in range(n + 1)), (n, level)


@pytest.mark.long
@every("side", SIDES)
@every("method", CLOSED)
def test_every_count_up_to_twenty_and_of_sixty(method: str, side: str) -> None:
    for n in (*range(1, 21), 30, 60):
        for level in LEVELS if n % 10 == 0 else (0.95,):
            assert in_order(ends(sy.Counts.of(k, n), "accuracy", method, side, level) for k in range(n + 1)), (n, level)


@pytest.mark.parametrize("method", CLOSED)
@settings(max_examples=10)
@given(n=st.integers(61, 10**6), side=st.sampled_from(SIDES), level=st.sampled_from((*LEVELS, 0.999)))
def test_larger_n(method: str, n: int, side: str, level: float) -> None:
    assert in_order(ends(sy.Counts.of(k, n), "accuracy", method, side, level) for k in near_the_ends(n))


@pytest.mark.parametrize("method", sorted(DRAWN))
@pytest.mark.parametrize("n", [2, 5, 12, 31, *seldom(60)])
def test_drawn(method: str, n: int) -> None:
    for side in SIDES:
        assert in_order(ends(sy.Counts.of(k, n), "accuracy", method, side, 0.95) for k in range(n + 1)), side


@every("method", [method for method in CLOSED if method != "wald"])
@pytest.mark.parametrize("n", [1, 2, 7, *seldom(3, 13, 40, 60)])
def test_f1(method: str, n: int) -> None:
    tables = [sy.Counts.binary(tp=k, fp=0, fn=n - k, tn=25) for k in range(n + 1)]
    for side in SIDES:
        for level in (0.95,) if n < 3 else (0.8, 0.95):
            assert in_order(ends(table, "f1", method, side, level) for table in tables), (side, level)


def test_what_is_given_without_width_is_said() -> None:
    """Wald's end at one mistake where Wilson's lies beyond it, else Wilson's; both announced, and named for what they are."""
    m = sy.measure(sy.Counts.of(20, 20), interval="wald")
    assert m.interval is not None
    assert (m.interval.low, m.interval.high, m.interval.method) == (pytest.approx(wald(19, 20)[0]), 1.0, "wald")
    assert m.row.details.get("instead_of") is None
    assert any("its lower end at 19 of 20 is used" in said for said in m.warnings)
    m = sy.measure(sy.Counts.of(0, 20), interval="wald", confidence_level=0.8)
    assert m.interval is not None
    assert (m.interval.low, m.interval.high, m.interval.method) == (0.0, pytest.approx(wilson(0, 20, 0.8)[1]), "wilson")
    assert m.row.details["instead_of"] == "wald"
    assert any("Wilson's is used" in said for said in m.warnings)


def test_one_item_has_no_neighbour() -> None:
    m = sy.measure(sy.Counts.of(1, 1), interval="wald")
    assert m.interval is not None
    assert (m.interval.low, m.interval.method) == (pytest.approx(wilson(1, 1)[0]), "wilson")
