"""TOST and non-inferiority: sign conventions, duality with intervals, type I error at the margin by enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.errors import DataError, UsageError
from steelyard.infer.paired.equivalence import equivalence, equivalence_of_flips
from steelyard.infer.paired.mcnemar import tango
from steelyard.infer.resampling.bootstrap import Degenerate

counts = st.integers(0, 200)
margins = st.floats(0.01, 0.5)


def test_tangos_lenses() -> None:
    """44 pairs, the new one worse once: Z = 1.709 against a loss of 0.1 (Tango 1998, section 6). The sign of d matters."""
    one = equivalence_of_flips(0, 1, 44, 0.1)
    assert one.z_lower == pytest.approx(1.709, abs=5e-4)
    assert one.p_lower == pytest.approx(stats.norm.sf(one.z_lower), abs=1e-15)
    other = equivalence_of_flips(1, 0, 44, 0.1)  # better once: more surely not worse, less surely not better
    assert other.p_lower < one.p_lower
    assert other.p_upper == pytest.approx(one.p_lower, abs=1e-15)


def test_the_sign_convention() -> None:
    """A candidate far better than the baseline is not inferior, and not equivalent."""
    for one in (equivalence(0.2, 0.01, 0.05), equivalence_of_flips(60, 10, 200, 0.05)):
        assert one.p_lower < 1e-3
        assert one.p_upper > 0.99
        assert one.p == one.p_upper
    worse = equivalence(-0.2, 0.01, 0.05)
    assert worse.p_lower > 0.99
    assert worse.p == worse.p_lower


@given(gained=counts, lost=counts, agree=counts, margin=margins)
def test_swapping_the_systems_exchanges_the_two_tests(gained: int, lost: int, agree: int, margin: float) -> None:
    n = gained + lost + agree + 1
    one, other = equivalence_of_flips(gained, lost, n, margin), equivalence_of_flips(lost, gained, n, margin)
    assert (other.p_lower, other.p_upper) == pytest.approx((one.p_upper, one.p_lower), abs=1e-9)
    assert other.p == pytest.approx(one.p, abs=1e-9)


@given(gained=counts, lost=counts, agree=counts, margin=margins)
def test_equivalent_means_that_tangos_90_interval_lies_inside(gained: int, lost: int, agree: int, margin: float) -> None:
    n = gained + lost + agree + 1
    low, high = tango(gained, lost, n, 0.90)
    if min(abs(low + margin), abs(high - margin)) > 1e-9:
        one = equivalence_of_flips(gained, lost, n, margin)
        assert (one.p < 0.05) == (-margin < low and high < margin)
        assert (one.p_lower < 0.05) == (-margin < tango(gained, lost, n, 0.95, "lower")[0])


@given(gained=counts, lost=counts, agree=counts, margin=st.floats(0.01, 0.4))
def test_a_wider_margin_is_easier(gained: int, lost: int, agree: int, margin: float) -> None:
    n = gained + lost + agree + 1
    assert equivalence_of_flips(gained, lost, n, margin + 0.05).p <= equivalence_of_flips(gained, lost, n, margin).p + 1e-12


@given(d=st.lists(st.integers(-9, 9), min_size=3, max_size=30).filter(lambda d: len(set(d)) > 1), margin=st.floats(0.1, 5))
def test_scores_are_two_one_sided_t_tests(d: list[int], margin: float) -> None:
    one = equivalence(float(np.mean(d)), float(stats.sem(d)), margin, len(d) - 1)
    assert one.p_lower == pytest.approx(stats.ttest_1samp(d, -margin, alternative="greater").pvalue, rel=1e-9, abs=1e-14)
    assert one.p_upper == pytest.approx(stats.ttest_1samp(d, margin, alternative="less").pvalue, rel=1e-9, abs=1e-14)
    low, high = (float(end) for end in stats.ttest_1samp(d, 0).confidence_interval(0.90))
    if min(abs(low + margin), abs(high - margin)) > 1e-9:
        assert (one.p < 0.05) == (-margin < low and high < margin)


def test_without_df_it_is_normal() -> None:
    assert equivalence(0.01, 0.02, 0.05).p_upper == pytest.approx(stats.norm.cdf(-2), abs=1e-15)
    assert equivalence(0.01, 0.02, (-0.03, 0.07)).p_lower == pytest.approx(stats.norm.sf(2), abs=1e-15)
    assert equivalence(0.01, 0.02, 0.05, df=1e9).p == pytest.approx(equivalence(0.01, 0.02, 0.05).p, abs=1e-9)


def test_identical_systems() -> None:
    """Nothing disagrees in n items: equivalent within 0.1 only when n says so. What has no spread says nothing."""
    assert equivalence_of_flips(0, 0, 10, 0.1).p > 0.05
    assert equivalence_of_flips(0, 0, 100, 0.1).p < 0.05
    with pytest.raises(Degenerate):
        equivalence(0.0, 0.0, 0.1)


@pytest.mark.parametrize("margin", [0.0, -0.1, math.nan, math.inf, (0.2, 0.1)])
def test_a_margin_that_is_none(margin: float | tuple[float, float]) -> None:
    with pytest.raises(UsageError, match="margin"):
        equivalence(0.0, 1.0, margin)


def test_flips_that_do_not_fit() -> None:
    with pytest.raises(UsageError, match="range of a difference"):
        equivalence_of_flips(3, 4, 10, 1.0)
    with pytest.raises(DataError, match="not 8 and 4 of 10 items"):
        equivalence_of_flips(8, 4, 10, 0.1)
    with pytest.raises(DataError):
        equivalence_of_flips(0, 0, 0, 0.1)


@pytest.mark.parametrize(("lost", "exact"), [(0.1, 0.0530), (0.15, 0.0484), (0.2, 0.0510)])
def test_type_i_error_at_the_margin(lost: float, exact: float) -> None:
    """The candidate is worse by exactly 0.1; how often is it called non-inferior? By enumeration, n = 60, nominal 0.05."""
    n = 60
    tables = np.array([(g, b, n - g - b) for g in range(n + 1) for b in range(n + 1 - g)])
    called = np.array([equivalence_of_flips(g, b, n, 0.1).p_lower < 0.05 for g, b, _ in tables.tolist()])
    rate = float(stats.multinomial.pmf(tables, n, [lost - 0.1, lost, 1.1 - 2 * lost])[called].sum())
    assert rate == pytest.approx(exact, abs=5e-5)
