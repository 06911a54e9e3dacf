"""Intervals of k of n against scipy and statsmodels on a grid, the equations they solve, and their invariants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import steelyard as sy
from cases import every
from steelyard.infer.intervals.proportion import METHODS, binomial_quantile, proportion_interval
from steelyard.infer.normal import SIDES, clip, tail, wald, wilson, z_value

SIZES = (1, 2, 3, 10, 47, 1000, 10**6)
LEVELS = (0.5, 0.8, 0.95, 0.99, 0.999999)
GRID = [(k, n) for n in SIZES for k in sorted({0, 1, n // 3, n // 2, n - 1, n}) if 0 <= k <= n]

# Declared sets of names; every method is in each of them or in the exceptions beside it.
AGAINST_STATSMODELS = {
    "wald": "normal",
    "wilson": "wilson",
    "agresti-coull": "agresti_coull",
    "clopper-pearson": "beta",
    "jeffreys": "jeffreys",
}
AGAINST_SCIPY = {"wilson": "wilson", "clopper-pearson": "exact"}
BY_EQUATION = {"mid-p", "percentile"}
NO_WIDTH_AT_THE_ENDS = {"wald", "percentile"}  # the caller gives Wilson's end there, or theirs at one mistake
LEAVES_THE_ENDS_OUT = {"jeffreys"}  # plain quantiles: p = 0 is outside at k = 0
EXACT = {"clopper-pearson"}


def test_every_method_has_a_witness() -> None:
    assert set(AGAINST_STATSMODELS) | BY_EQUATION == set(METHODS)
    assert set(METHODS) >= NO_WIDTH_AT_THE_ENDS | LEAVES_THE_ENDS_OUT | EXACT | set(AGAINST_SCIPY)


@every("level", LEVELS)
@every("method", AGAINST_STATSMODELS)
def test_statsmodels(method: str, level: float) -> None:
    for k, n in GRID:
        wanted = proportion_confint(k, n, alpha=1 - level, method=AGAINST_STATSMODELS[method])
        assert proportion_interval(k, n, method, level) == pytest.approx(wanted, rel=1e-8, abs=1e-13), (k, n)


@every("side", SIDES)
@every("method", AGAINST_SCIPY)
def test_scipy(method: str, side: str) -> None:
    """scipy finds the exact interval by a root search that stops at 2e-12."""
    alternative = {"two": "two-sided", "lower": "greater", "upper": "less"}[side]
    for k, n in GRID:
        test = stats.binomtest(k, n, alternative=alternative)
        for level in LEVELS[(k + n) % 2 :: 2]:  # every other one, in turn
            wanted = test.proportion_ci(level, AGAINST_SCIPY[method])
            assert proportion_interval(k, n, method, level, side) == pytest.approx((wanted.low, wanted.high), rel=1e-8, abs=4e-12), (
                k,
                n,
                level,
            )


@pytest.mark.parametrize("level", LEVELS)
def test_mid_p_solves_its_equation(level: float) -> None:
    rest = (1 - level) / 2
    for k, n in GRID:
        low, high = proportion_interval(k, n, "mid-p", level)
        if k > 0:
            assert stats.binom.sf(k, n, low) + stats.binom.pmf(k, n, low) / 2 == pytest.approx(rest, rel=1e-6)
        if k < n:
            spacing = 4e-16 / (1 - high)  # floats near 1 are 1e-16 apart: that much of 1 - high cannot be told
            assert stats.binom.cdf(k - 1, n, high) + stats.binom.pmf(k, n, high) / 2 == pytest.approx(rest, rel=1e-6 + spacing)
        inside = proportion_interval(k, n, "clopper-pearson", level)
        assert inside[0] <= low <= high <= inside[1]


def test_jeffreys_one_sided_is_a_quantile() -> None:
    for k, n in GRID:
        assert proportion_interval(k, n, "jeffreys", 0.95, "lower")[0] == pytest.approx(
            stats.beta.ppf(0.05, k + 0.5, n - k + 0.5), rel=1e-9
        )
        assert proportion_interval(k, n, "jeffreys", 0.95, "upper")[1] == pytest.approx(
            stats.beta.ppf(0.95, k + 0.5, n - k + 0.5), rel=1e-9
        )


def test_percentile_is_the_limit_of_the_bootstrap() -> None:
    for k, n in GRID:
        wanted = tuple(stats.binom.ppf(q, n, k / n) / n for q in (0.025, 0.975))
        assert proportion_interval(k, n, "percentile") == pytest.approx(wanted, abs=1e-15)


@given(n=st.integers(1, 5000), q=st.floats(0.001, 0.999), p=st.floats(0, 1))
def test_binomial_quantile(n: int, q: float, p: float) -> None:
    x = binomial_quantile(q, n, p)
    assert stats.binom.cdf(x, n, p) >= q - 1e-12
    assert x == 0 or stats.binom.cdf(x - 1, n, p) < q + 1e-12


# ---- invariants --------------------------------------------------------------------------------------------------------

method_names = pytest.mark.parametrize("method", METHODS)
level_of = st.sampled_from([0.8, 0.9, 0.95, 0.99, 0.9999])


@st.composite
def some(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.one_of(st.integers(1, 30), st.integers(1, 2000), st.just(10**6)))
    return draw(st.one_of(st.integers(0, n), st.sampled_from([0, n]))), n


@method_names
@given(kn=some(), level=level_of, side=st.sampled_from(SIDES))
def test_mirror(method: str, kn: tuple[int, int], level: float, side: str) -> None:
    """Counting failures instead of successes turns the interval round."""
    k, n = kn
    other = {"two": "two", "lower": "upper", "upper": "lower"}[side]
    low, high = proportion_interval(k, n, method, level, side)
    assert proportion_interval(n - k, n, method, level, other) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@method_names
@settings(max_examples=15)
@given(kn=some(), level=level_of)
def test_contains_the_estimate_inside_the_range_with_width(method: str, kn: tuple[int, int], level: float) -> None:
    k, n = kn
    low, high = proportion_interval(k, n, method, level)
    at_an_end = k in (0, n)
    assert 0 <= low <= high <= 1
    assert low < high or (method in NO_WIDTH_AT_THE_ENDS and at_an_end)
    if not (method in LEAVES_THE_ENDS_OUT and at_an_end):
        assert low <= k / n <= high


@method_names
@settings(max_examples=15)
@given(kn=some(), level=level_of, side=st.sampled_from(SIDES))
def test_more_successes_move_it_up(method: str, kn: tuple[int, int], level: float, side: str) -> None:
    k, n = kn
    if k < n:
        here, there = (proportion_interval(x, n, method, level, side) for x in (k, k + 1))
        assert there[0] >= here[0] - 1e-15
        assert there[1] >= here[1] - 1e-15


@method_names
@given(kn=some(), levels=st.lists(st.sampled_from([0.6, 0.8, 0.9, 0.95, 0.99, 0.9999]), min_size=2, max_size=2, unique=True))
@settings(max_examples=15)
def test_a_higher_level_is_wider(method: str, kn: tuple[int, int], levels: list[float]) -> None:
    narrow, wide = (proportion_interval(*kn, method, level) for level in sorted(levels))
    assert wide[0] <= narrow[0] + 1e-15
    assert wide[1] >= narrow[1] - 1e-15


@method_names
@settings(max_examples=15)
@given(kn=some(), level=level_of)
def test_one_sided_end_is_the_two_sided_end_of_twice_the_tail(method: str, kn: tuple[int, int], level: float) -> None:
    two = proportion_interval(*kn, method, 2 * level - 1)
    assert proportion_interval(*kn, method, level, "lower") == (pytest.approx(two[0], abs=1e-9), 1.0)
    assert proportion_interval(*kn, method, level, "upper") == (0.0, pytest.approx(two[1], abs=1e-9))


@every("side", SIDES)
@every("method", METHODS)
def test_the_public_answer_always_has_width(method: str, side: str) -> None:
    for k, n in GRID:
        m = sy.measure(sy.Counts.of(k, n), interval=method, side=side)
        assert m.interval is not None
        assert m.interval.low is not None
        assert m.interval.high is not None
        assert m.interval.high > m.interval.low, (k, n)
        if method in NO_WIDTH_AT_THE_ENDS and k in (0, n):
            assert m.interval.method in ("wilson", method)  # tests/estimate/test_table_rows_order_of_bounds.py says which
            assert any("zero width" in sentence for sentence in m.warnings)
        else:
            assert m.interval.method == method


def test_wilson_takes_fractions_and_another_critical_value() -> None:
    """An effective n of 17.3 and a t quantile: the same formula."""
    k, n, t = 0.8 * 17.3, 17.3, 2.26
    centre = (k + t * t / 2) / (n + t * t)
    reach = t / (n + t * t) * math.sqrt(k * (n - k) / n + t * t / 4)
    assert wilson(k, n, critical=t) == pytest.approx((centre - reach, centre + reach), abs=1e-15)
    assert wald(12, 40, critical=1.0) == pytest.approx((0.3 - math.sqrt(0.21 / 40), 0.3 + math.sqrt(0.21 / 40)), abs=1e-15)


# ---- the normal law ------------------------------------------------------------------------------------------------------


def test_z_values() -> None:
    """Mitchell's table 5.1 prints 0.67 1.00 1.28 1.64 1.96 2.33 2.58; 1.00 belongs to 68.27%."""
    for level in (0.5, 0.68, 0.8, 0.9, 0.95, 0.98, 0.99, 1 - 1e-9):
        assert z_value(level) == pytest.approx(stats.norm.isf((1 - level) / 2), rel=1e-9)
        assert z_value(level, "lower") == pytest.approx(stats.norm.isf(1 - level), rel=1e-9, abs=1e-12)
    assert [round(z_value(level), 2) for level in (0.5, 0.8, 0.9, 0.95, 0.98, 0.99)] == [0.67, 1.28, 1.64, 1.96, 2.33, 2.58]


def test_sides() -> None:
    with pytest.raises(sy.UsageError, match="two, lower or upper"):
        tail(0.95, "both")
    assert clip(-1, 2, "two") == (0, 1)
    assert clip(0.2, 0.3, "lower") == (0.2, 1)
    assert clip(0.2, 0.3, "upper", bottom=-1) == (-1, 0.3)


def test_unknown_method() -> None:
    with pytest.raises(sy.UsageError, match="wilson"):
        proportion_interval(1, 2, "arcsine")


def test_clopper_pearson_at_the_ends_is_closed_form() -> None:
    """1 - rest^(1/n), which several programs have got wrong."""
    for n in (*SIZES, 10**9):
        for level in LEVELS:
            rest = (1 - level) / 2
            assert proportion_interval(0, n, "clopper-pearson", level)[1] == pytest.approx(-math.expm1(math.log(rest) / n), rel=1e-9)
            assert proportion_interval(n, n, "clopper-pearson", level)[0] == pytest.approx(rest ** (1 / n), rel=1e-9)


@given(
    n=st.integers(1, 300),
    method=st.sampled_from(sorted(set(METHODS) - NO_WIDTH_AT_THE_ENDS)),
    level=st.sampled_from([0.8, 0.95, 0.99]),
    side=st.sampled_from(["two", "lower", "upper"]),
)
def test_one_more_mistake_never_raises_a_bound(n: int, method: str, level: float, side: str) -> None:
    """Of every method that answers for every count; by symmetry one more right answer never lowers one."""
    ends = np.array([proportion_interval(k, n, method, level, side) for k in range(n + 1)])
    assert (np.diff(ends, axis=0) >= -1e-12).all()


@settings(max_examples=30, deadline=None)
@given(n=st.integers(4, 300), method=st.sampled_from(sorted(NO_WIDTH_AT_THE_ENDS)), level=st.sampled_from([0.8, 0.95]))
def test_wald_and_percentile_keep_the_order_where_they_answer_themselves(n: int, method: str, level: float) -> None:
    """With no mistake, or nothing else, they have no width, and Wilson's interval is given for them, with a warning."""
    ends = np.array([proportion_interval(k, n, method, level, "two") for k in range(1, n)])
    assert (np.diff(ends, axis=0) >= -1e-12).all()


@every("n", [1, 2, 7, 40])
@every("side", ["two", "lower", "upper"])
def test_one_more_mistake_never_raises_a_bound_of_the_answer_that_is_given(n: int, side: str) -> None:
    ends = []
    for k in range(n + 1):
        found = sy.measure(sy.Counts.of(k, n), metric="accuracy", side=side).interval
        assert found is not None
        ends.append((found.low, found.high))
    assert (np.diff(np.array(ends, float), axis=0) >= -1e-12).all()
