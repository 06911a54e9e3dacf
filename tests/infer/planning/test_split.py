"""The mean ends of a Wilson interval and the search over whole numbers, against sums written out."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from cases import every
from steelyard.infer.intervals.proportion import proportion_interval
from steelyard.infer.planning.split import best_whole, edge, expected_wilson


@every("p, n", [(0.9, 100), (0.5, 10), (0.999, 250), (0.0, 20), (1.0, 20), (0.03, 700), (0.7, 1)])
def test_expected_ends_are_the_sum_over_every_outcome(p: float, n: int) -> None:
    found = expected_wilson(p, n)
    ends = [proportion_interval(k, n, "wilson", 0.95, "two") for k in range(n + 1)]
    weights = stats.binom.pmf(range(n + 1), n, p)
    assert found.low == pytest.approx(sum(w * end[0] for w, end in zip(weights, ends, strict=True)), abs=1e-12)
    assert found.high == pytest.approx(sum(w * end[1] for w, end in zip(weights, ends, strict=True)), abs=1e-12)


def test_what_lies_beyond_nine_standard_deviations_is_nothing() -> None:
    p, n = 0.93, 20_000
    every_k = range(n + 1)
    low = sum(w * proportion_interval(k, n, "wilson", 0.95, "two")[0] for k, w in zip(every_k, stats.binom.pmf(every_k, n, p), strict=True))
    assert expected_wilson(p, n).low == pytest.approx(low, abs=1e-12)


@every("top", [1, 2, 99, 5000, 99_999, 100_000])
def test_the_highest_place_is_found_wherever_it_lies(top: int) -> None:
    assert best_whole(lambda n: -abs(math.log(n / top)), 1, 100_000) == top


def test_an_edge_is_the_last_number_that_holds() -> None:
    assert edge(lambda n: n * n <= 50, 1, 1000) == 7
    assert edge(lambda n: n * n >= 50, 1000, 1) == 8
