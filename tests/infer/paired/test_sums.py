"""Differences of sums over units: the paired t, all swaps, loops over units, invariants."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from by_name import STATISTICS, item_rows
from oracles import central_differences
from steelyard.errors import DataError
from steelyard.infer.intervals.sums import linearised, standard_error
from steelyard.infer.paired import sums as module
from steelyard.infer.paired.signflip import sign_flip
from steelyard.infer.paired.sums import difference_statistic, paired_resampled, paired_swap, side_by_side
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.metrics.sums import QUOTIENT, SumStatistic
from steelyard.tally.sums import SparseRows, Sums

ALTERNATIVES = ("two-sided", "less", "greater")
OTHER = {"two-sided": "two-sided", "less": "greater", "greater": "less"}
MAIZE = np.array([49.0, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48])
Array = npt.NDArray[np.float64]


def scores(x: Array) -> Array:
    return np.stack([np.ones(len(x)), x], axis=1)


def ratios(n: int, seed: int, gain: float = 0.1) -> tuple[Array, Array]:
    """Errors per word, as WER: rows (words, errors); the same words for both systems."""
    rng = np.random.default_rng(seed)
    words = rng.integers(3, 30, n).astype(float)
    errors = rng.binomial(words.astype(int), 0.2).astype(float)
    return np.stack([words, errors], 1), np.stack([words, np.maximum(errors - rng.binomial(3, gain, n), 0)], 1)


def gap(a: Array, b: Array) -> tuple[Sums, SumStatistic]:
    """Two systems as one tally and one statistic, as a comparison lays them side by side."""
    return side_by_side(a, b), difference_statistic(QUOTIENT, a.shape[1])


def test_means_are_the_paired_t() -> None:
    """golden darwin_paired_t: t = 2.1479874613, p = 0.0497029440 (scipy 1.17.1, R)."""
    a, b = scores(np.zeros(15)), scores(MAIZE)
    assert MAIZE.mean() / standard_error(*gap(a, b)) == pytest.approx(2.1479874613311205, rel=1e-12)
    theirs = stats.ttest_rel(MAIZE, np.zeros(15)).confidence_interval(0.9)
    assert linearised(*gap(a, b), 0.9) == pytest.approx(tuple(theirs))


@pytest.mark.parametrize("name", ["mean", "rmse", "r2", "ece"])
def test_gradient_of_a_difference(name: str) -> None:
    rng = np.random.default_rng(0)
    columns = {"mean": 2, "rmse": 2, "r2": 4, "ece": 11}[name]
    totals = np.concatenate([[50.0], rng.uniform(5, 9, columns - 1), [50.0], rng.uniform(5, 9, columns - 1)])
    both = difference_statistic(STATISTICS[name], columns)
    assert both.gradient(totals) == pytest.approx(central_differences(lambda s: float(both.value(s)), totals), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_resampling_equals_a_loop_over_units(method: str) -> None:
    a, b = ratios(80, 1)
    rng = np.random.default_rng(0)
    redrawn = []
    for _ in range(3000):
        pick = rng.integers(0, 80, 80)
        redrawn.append(b[pick, 1].sum() / b[pick, 0].sum() - a[pick, 1].sum() / a[pick, 0].sum())
    low, high, undefined = paired_resampled(a, b, QUOTIENT, method, draws=20_000)
    ends = np.quantile(redrawn, [0.025, 0.975])
    slack = 4 * np.std(redrawn) * 2.7 / math.sqrt(3000) + (0.25 * np.std(redrawn) if method == "bca" else 0)
    assert abs(low - ends[0]) < slack
    assert abs(high - ends[1]) < slack
    assert undefined == 0


def test_many_units_go_through_buckets() -> None:
    a, b = ratios(20_000, 2)
    low, high, _ = paired_resampled(a, b, QUOTIENT, "percentile", draws=2000)
    theirs = linearised(*gap(a, b))
    assert (low, high) == pytest.approx(theirs, abs=0.12 * (theirs[1] - theirs[0]))


# ---- swaps -------------------------------------------------------------------------------------------------------------


def naive_swap(a: Array, b: Array, alternative: str) -> float:
    def f(swap: tuple[bool, ...]) -> float:
        s = np.array(swap)[:, None]
        x, y = np.where(s, b, a).sum(0), np.where(s, a, b).sum(0)
        return float(y[1] / y[0] - x[1] / x[0])

    observed = f((False,) * len(a))
    law = np.array([f(swap) for swap in itertools.product((False, True), repeat=len(a))])
    less, greater = float(np.mean(law <= observed + 1e-12)), float(np.mean(law >= observed - 1e-12))
    return {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[alternative]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=7))
def test_swaps_equal_all_swaps(rows: list[tuple[int, int, int, int]], alternative: str) -> None:
    a, b = np.array([r[:2] for r in rows], float), np.array([r[2:] for r in rows], float)
    found = paired_swap(a, b, QUOTIENT, alternative=alternative)
    assert found.exact
    expected = 1.0 if np.array_equal(a, b) else naive_swap(a, b, alternative)
    assert found.p_value == pytest.approx(expected, abs=1e-12)


def test_means_are_the_sign_flip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW", 15)
    assert paired_swap(scores(np.zeros(15)), scores(MAIZE), QUOTIENT).p_value == 1726 / 32768
    d = np.random.default_rng(0).normal(0.05, 1, 3000)
    for alternative in ALTERNATIVES:
        swap = paired_swap(scores(np.zeros(3000)), scores(d), QUOTIENT, alternative=alternative, draws=999)
        flip = sign_flip(d, alternative=alternative, draws=999, drawn=True)
        assert (swap.p_value, swap.draws) == (pytest.approx(flip.p_value), flip.draws)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_drawn_swaps_equal_all_swaps(alternative: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = ratios(13, 5, gain=0.2)
    exact = paired_swap(a, b, QUOTIENT, alternative=alternative).p_value
    monkeypatch.setattr(module, "FEW", 0)
    drawn = paired_swap(a, b, QUOTIENT, alternative=alternative, draws=20_000)
    assert not drawn.exact
    assert abs(drawn.p_value - exact) < 4 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([4, 40]), st.sampled_from(ALTERNATIVES))
def test_swapping_the_systems(seed: int, units: int, alternative: str) -> None:
    a, b = ratios(units, seed)
    found = paired_swap(a, b, QUOTIENT, alternative=alternative, draws=199)
    swapped = paired_swap(b, a, QUOTIENT, alternative=OTHER[alternative], draws=199)
    assert swapped.p_value == pytest.approx(found.p_value, abs=1e-12)
    assert swapped.statistic == pytest.approx(-found.statistic)
    if not np.array_equal(a, b):
        low, high = linearised(*gap(a, b))
        assert linearised(*gap(b, a)) == pytest.approx((-high, -low))


def test_units_in_another_order() -> None:
    a, b = ratios(12, 3)
    turn = np.random.default_rng(0).permutation(12)
    assert paired_swap(a[turn], b[turn], QUOTIENT).p_value == pytest.approx(paired_swap(a, b, QUOTIENT).p_value, abs=1e-12)
    assert linearised(*gap(a[turn], b[turn])) == pytest.approx(linearised(*gap(a, b)))


def test_other_statistics_have_a_p_value() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=300)
    for name in ("rmse", "mae", "r2"):
        a, b = (item_rows(name, truth, truth + s * rng.normal(size=300)) for s in (0.5, 0.4))
        found = paired_swap(a, b, STATISTICS[name], draws=999)
        assert found.p_value < 0.02
        assert paired_swap(a, a, STATISTICS[name]).p_value == 1.0


def test_identical_systems() -> None:
    a, _ = ratios(50, 0)
    for alternative in ALTERNATIVES:
        assert paired_swap(a, a, QUOTIENT, alternative=alternative).p_value == 1.0
    with pytest.raises(Degenerate):
        linearised(*gap(a, a))
    for method in ("bca", "percentile"):
        with pytest.raises(Degenerate):
            paired_resampled(a, a, QUOTIENT, method, draws=999)


def test_shapes_must_agree() -> None:
    with pytest.raises(DataError, match=r"\(2, 2\) and \(3, 2\)"):
        paired_swap(np.ones((2, 2)), np.ones((3, 2)), QUOTIENT)
    with pytest.raises(Degenerate, match="undefined"):
        paired_swap(np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 2.0]]), QUOTIENT)


@settings(max_examples=14, deadline=None)
@given(st.integers(0, 2**32), st.integers(20, 300), st.sampled_from(ALTERNATIVES), st.booleans())
def test_drawn_swaps_depend_neither_on_the_order_of_units_nor_on_which_system_comes_first(
    seed: int, n: int, alternative: str, sparse: bool
) -> None:
    rng = np.random.default_rng(seed)
    a, b = ratios(n, seed % 1000)
    a = a + rng.normal(0, 1e-3, a.shape)
    order = rng.permutation(n)
    if sparse:
        pairs = [(thin(x), thin(y)) for x, y in ((a, b), (a[order], b[order]), (b[order], a[order]))]
    else:
        pairs = [(a, b), (a[order], b[order]), (b[order], a[order])]
    asked = (alternative, alternative, OTHER[alternative])
    found = [paired_swap(x, y, QUOTIENT, alternative=how, draws=99, seed=5) for (x, y), how in zip(pairs, asked, strict=True)]
    assert not found[0].exact
    assert found[1].p_value == found[0].p_value == found[2].p_value


def thin(rows: Array) -> SparseRows:
    unit, column = np.nonzero(rows)
    return SparseRows(rows.shape, unit, column, rows[unit, column])
