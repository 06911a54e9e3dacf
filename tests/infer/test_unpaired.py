"""Two proportions or means from different items: mirror symmetry, duality, width, and exact coverage by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cases import every
from steelyard.infer import unpaired
from steelyard.infer.normal import z_value

INTERVALS: dict[str, Callable[..., tuple[float, float]]] = {
    "newcombe": unpaired.newcombe,
    "miettinen-nurminen": unpaired.miettinen_nurminen,
    "agresti-caffo": unpaired.agresti_caffo,
    "wald": unpaired.wald_difference,
}
NO_WIDTH_AT_THE_ENDS = {"wald"}


@st.composite
def samples(draw: Any) -> tuple[int, int, int, int]:
    n1, n2 = draw(st.integers(1, 400)), draw(st.integers(1, 400))
    return draw(st.integers(0, n1)), n1, draw(st.integers(0, n2)), n2


@pytest.mark.parametrize("name", INTERVALS)
@settings(max_examples=15)
@given(sample=samples(), level=st.sampled_from([0.8, 0.95, 0.99]))
def test_swapping_the_systems_mirrors_the_interval(name: str, sample: tuple[int, int, int, int], level: float) -> None:
    k1, n1, k2, n2 = sample
    low, high = INTERVALS[name](*sample, level)
    assert INTERVALS[name](k2, n2, k1, n1, level) == pytest.approx((-high, -low), abs=1e-9)
    assert -1 <= low <= high <= 1
    assert low - 1e-9 <= k1 / n1 - k2 / n2 <= high + 1e-9 or name == "agresti-caffo"
    if name not in NO_WIDTH_AT_THE_ENDS:
        assert high - low > 1e-4
    inner = INTERVALS[name](*sample, level - 0.1)
    assert low <= inner[0] + 1e-9
    assert inner[1] <= high + 1e-9


@pytest.mark.parametrize("name", INTERVALS)
@given(sample=samples())
@settings(max_examples=30, deadline=None)
def test_one_side_is_two_sides_of_twice_the_tail(name: str, sample: tuple[int, int, int, int]) -> None:
    low, high = INTERVALS[name](*sample, 0.9)
    assert INTERVALS[name](*sample, 0.95, "lower") == pytest.approx((low, 1.0), abs=1e-9)
    assert INTERVALS[name](*sample, 0.95, "upper") == pytest.approx((-1.0, high), abs=1e-9)


@pytest.mark.parametrize("name", INTERVALS)
@given(sample=samples())
def test_one_more_right_answer_raises_both_ends(name: str, sample: tuple[int, int, int, int]) -> None:
    k1, n1, k2, n2 = sample
    if k1 < n1 and not (name == "wald" and min(k1, n1 - k1 - 1) == 0):  # Wald shrinks to nothing at the ends
        low, high = INTERVALS[name](*sample)
        more = INTERVALS[name](k1 + 1, n1, k2, n2)
        assert more[0] >= low - 1e-9
        assert name == "wald" or more[1] >= high - 1e-9


@given(sample=samples(), difference=st.floats(-0.98, 0.98))
def test_the_constrained_shares_maximise_the_likelihood(sample: tuple[int, int, int, int], difference: float) -> None:
    k1, n1, k2, n2 = sample

    def log_likelihood(p: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return stats.binom.logpmf(k1, n1, p) + stats.binom.logpmf(k2, n2, p - difference)

    p1, p2 = unpaired.constrained_shares(k1, n1, k2, n2, difference)
    assert p1 - p2 == pytest.approx(difference, abs=1e-12)
    assert -1e-12 <= p2 <= 1 + 1e-12
    grid = np.linspace(max(0, difference) + 1e-9, min(1, 1 + difference) - 1e-9, 2001)
    inside = min(max(p1, grid[0]), grid[-1])
    assert float(log_likelihood(inside)) >= float(np.max(log_likelihood(grid))) - 1e-5


@given(sample=samples())
def test_miettinen_nurminen_is_the_set_its_score_does_not_reject(sample: tuple[int, int, int, int]) -> None:
    k1, n1, k2, n2 = sample
    for end in unpaired.miettinen_nurminen(*sample):
        if abs(end) < 1 - 1e-9:
            p1, p2 = unpaired.constrained_shares(k1, n1, k2, n2, end)
            variance = (p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2) * (n1 + n2) / (n1 + n2 - 1)
            assert abs(k1 / n1 - k2 / n2 - end) == pytest.approx(z_value(0.95) * math.sqrt(variance), abs=1e-7)


@given(sample=samples())
def test_the_z_test_mirrors_and_at_zero_is_the_score(sample: tuple[int, int, int, int]) -> None:
    k1, n1, k2, n2 = sample
    z, p = unpaired.two_proportion_z(*sample)
    other = unpaired.two_proportion_z(k2, n2, k1, n1)
    assert other == pytest.approx((-z, p), abs=1e-9)
    greater, less = (unpaired.two_proportion_z(*sample, alternative)[1] for alternative in ("greater", "less"))
    assert p == pytest.approx(min(1, 2 * min(greater, less)), abs=1e-15)
    low, high = unpaired.miettinen_nurminen(*sample)
    by_score = z * math.sqrt((n1 + n2 - 1) / (n1 + n2))
    if abs(abs(by_score) - z_value(0.95)) > 1e-6 and 0 < k1 + k2 < n1 + n2:
        assert (abs(by_score) > z_value(0.95)) == (not low <= 0 <= high)


def test_identical_samples_have_no_evidence() -> None:
    for k, n in ((0, 5), (5, 5), (3, 7)):
        assert unpaired.two_proportion_z(k, n, k, n) == (0.0, 1.0)
    same = unpaired.welch_t(2.0, 1.0, 9, 2.0, 1.0, 9)
    assert (same.statistic, same.p_value("two-sided")) == (0.0, 1.0)


# ---- coverage, by enumeration ------------------------------------------------------------------------------------------


@cache
def ends(name: str, n1: int, n2: int) -> Any:
    return np.array([[INTERVALS[name](k1, n1, k2, n2) for k2 in range(n2 + 1)] for k1 in range(n1 + 1)])


def coverage(name: str, n1: int, p1: float, n2: int, p2: float) -> float:
    both = ends(name, n1, n2)
    inside = (both[..., 0] <= p1 - p2 + 1e-12) & (both[..., 1] >= p1 - p2 - 1e-12)
    chance = np.outer(stats.binom.pmf(np.arange(n1 + 1), n1, p1), stats.binom.pmf(np.arange(n2 + 1), n2, p2))
    return float(chance[inside].sum())


@every(("n1", "p1", "n2", "p2"), [(20, 0.95, 30, 0.8), (25, 0.99, 25, 0.97)])
@every("name", ["newcombe", "miettinen-nurminen", "agresti-caffo"])
def test_covers_what_it_says(name: str, n1: int, p1: float, n2: int, p2: float) -> None:
    assert coverage(name, n1, p1, n2, p2) >= 0.93


def test_wald_does_not_cover_what_it_says() -> None:
    assert coverage("wald", 10, 0.98, 40, 0.9) == pytest.approx(0.9200, abs=5e-5)
    assert coverage("wald", 3, 0.99, 5, 0.98) < 0.2  # all right in both: no width, and the difference is not 0
    assert coverage("newcombe", 3, 0.99, 5, 0.98) > 0.99


# ---- Welch -------------------------------------------------------------------------------------------------------------

numbers = st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), min_size=2, max_size=12).filter(lambda x: np.ptp(x) > 0.1)


def welch(x: list[float], y: list[float], ends: tuple[float, float] | None = None) -> unpaired.WelchT:
    sides = ((float(np.mean(z)), float(np.var(z, ddof=1)), len(z)) for z in (x, y))
    return unpaired.welch_t(*next(sides), *next(sides), ends)


@given(a=numbers, b=numbers, ends=st.sampled_from([None, (-100.0, 100.0), (-100.0, 300.0)]))
def test_welch_is_scipys_and_mirrors(a: list[float], b: list[float], ends: tuple[float, float] | None) -> None:
    """With the ends of a range it is scipy's of the same numbers and two more on each side, wherever centre and difference agree."""
    found, (x, y) = welch(a, b, ends), ([*z, *(ends or ())] for z in (a, b))
    theirs = stats.ttest_ind(x, y, equal_var=False)
    assert (found.statistic, found.df) == pytest.approx((theirs.statistic, theirs.df), rel=1e-9, abs=1e-12)
    ci = theirs.confidence_interval()
    inside = min(ci.low, found.difference), max(ci.high, found.difference)
    assert found.interval() == pytest.approx(inside, rel=1e-8, abs=1e-9)
    assert found.noise == pytest.approx(math.sqrt(np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b)), rel=1e-9)
    mirrored = welch(b, a, ends)
    assert (mirrored.statistic, mirrored.p_value("two-sided")) == pytest.approx((-found.statistic, found.p_value("two-sided")), abs=1e-9)
    assert mirrored.interval() == pytest.approx((-found.interval()[1], -found.interval()[0]), abs=1e-9)
    if found.difference * found.centre > 0:
        for alternative in ("two-sided", "less", "greater"):
            one = stats.ttest_ind(x, y, equal_var=False, alternative=alternative).pvalue
            assert found.p_value(alternative) == pytest.approx(one, rel=1e-8, abs=1e-12)


@given(a=numbers, b=numbers, level=st.sampled_from([0.5, 0.8, 0.95]), edge=st.floats(-50, 50))
def test_the_bounds_of_a_range_are_the_edges_that_its_test_leaves(a: list[float], b: list[float], level: float, edge: float) -> None:
    found = welch(a, b, (-100.0, 100.0))
    low, high = found.interval(level)
    if min(abs(edge - low), abs(edge - high)) > 1e-6:
        assert (found.p_value("two-sided", edge) > 1 - level) == (low < edge < high)
    for alternative, side, end in (("greater", "lower", 0), ("less", "upper", 1)):
        bound = found.interval(level, side)[end]
        if abs(edge - bound) > 1e-6:
            assert (found.p_value(alternative, edge) > 1 - level) == (edge > bound if side == "lower" else edge < bound)


@given(a=numbers, b=numbers, shift=st.sampled_from([0.0, 7.0]), factor=st.sampled_from([0.01, 3.0]))
def test_the_scale_of_the_scores_is_nothing(a: list[float], b: list[float], shift: float, factor: float) -> None:
    plain = welch(a, b, (-100.0, 100.0))
    moved = welch(*([factor * x + shift for x in side] for side in (a, b)), (shift - 100 * factor, shift + 100 * factor))
    assert moved.interval() == pytest.approx([factor * end for end in plain.interval()], rel=1e-7, abs=1e-9)
    assert moved.p_value("greater") == pytest.approx(plain.p_value("greater"), rel=1e-6)


def test_right_or_wrong_with_the_ends_counted_in_is_agresti_and_caffos_up_to_t() -> None:
    """One success and one failure more on each side: the same centre, and for many items the same ends."""
    right = lambda k, n: [1.0] * k + [0.0] * (n - k)  # noqa: E731
    found = welch(right(560, 700), right(480, 800), (0.0, 1.0)).interval()
    assert found == pytest.approx(unpaired.agresti_caffo(560, 700, 480, 800), abs=2e-4)
