"""Sign flips: golden values, all signs item by item, the lattice against exact fractions, invariants."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.infer.paired import signflip
from steelyard.infer.paired.mcnemar import mcnemar_exact
from steelyard.infer.paired.signflip import halves, sign_flip, signed_totals

ALTERNATIVES = ("two-sided", "less", "greater")
OTHER = {"two-sided": "two-sided", "less": "greater", "greater": "less"}
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def naive(differences: list[Fraction], alternative: str) -> float:
    """All 2^n signs, in fractions."""
    observed = sum(differences)
    sums = [sum(s * d for s, d in zip(signs, differences, strict=True)) for signs in itertools.product((1, -1), repeat=len(differences))]
    less, greater = (sum(map(f, sums)) / len(sums) for f in (lambda x: x <= observed, lambda x: x >= observed))
    return {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[alternative]


# ---- golden --------------------------------------------------------------------------------------------------------


def test_darwins_maize() -> None:
    """Fisher (1935), section 21: 1726 of 32768; R's exactRankTests 0.0526733398438 (golden: darwin_paired_permutation)."""
    found = sign_flip(MAIZE)
    assert found.p_value == 1726 / 32768
    assert (found.exact, found.method) == (True, "enumeration")
    assert sign_flip(MAIZE, alternative="greater").p_value == 863 / 32768


def test_agrees_with_scipy() -> None:
    d = np.random.default_rng(3).normal(0.4, 1, 12)
    for alternative in ALTERNATIVES:
        theirs = stats.permutation_test(
            (d,), lambda x, axis: x.sum(axis), permutation_type="samples", vectorized=True, alternative=alternative, n_resamples=5000
        )
        assert sign_flip(d, alternative=alternative).p_value == pytest.approx(theirs.pvalue, abs=1e-12)


# ---- oracles -------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-4, 4), min_size=0, max_size=9), st.sampled_from(ALTERNATIVES), st.sampled_from([1, 10, 3]))
def test_equals_all_signs(whole: list[int], alternative: str, parts: int) -> None:
    """Tenths and thirds tie only in fractions; the floats must tie too."""
    d = [Fraction(x, parts) for x in whole]
    expected = naive(d, alternative) if any(d) else 1.0
    assert sign_flip([float(x) for x in d], alternative=alternative).p_value == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=11), st.sampled_from(ALTERNATIVES))
def test_the_lattice_equals_all_signs(whole: list[int], alternative: str) -> None:
    few, signflip.FEW = signflip.FEW, 0
    try:
        found = sign_flip(whole, alternative=alternative)
    finally:
        signflip.FEW = few
    if any(whole):
        assert found.method == "lattice"
        assert found.p_value == pytest.approx(naive([Fraction(x) for x in whole], alternative), abs=1e-12)


def test_right_or_wrong_is_mcnemar() -> None:
    for gained, lost in ((76, 58), (5, 0), (3, 3), (760, 580), (0, 900), (30_000, 29_000)):
        for alternative in ALTERNATIVES:
            found = sign_flip([1.0, -1.0, 0.0], counts=[gained, lost, 1000], alternative=alternative)
            assert found.exact
            assert found.p_value == pytest.approx(mcnemar_exact(gained, lost, alternative), rel=2e-11)


def test_a_very_small_p_keeps_its_digits() -> None:
    """2^-1000 for a thousand wins; a transform without the tilt would answer 1e-17 or less than nothing."""
    assert sign_flip(np.ones(1000), alternative="greater").p_value == pytest.approx(2.0**-1000, rel=1e-12)
    tail = sum(math.comb(1000, k) for k in range(50)) / 2**1000
    assert sign_flip([1, -1], counts=[951, 49], alternative="greater").p_value == pytest.approx(tail, rel=1e-10)


def test_decimals_are_a_lattice() -> None:
    rng = np.random.default_rng(0)
    tenths = rng.integers(0, 11, (2, 300))
    d = tenths[0] / 10 - tenths[1] / 10
    found, whole = sign_flip(d), sign_flip(tenths[0] - tenths[1])
    assert (found.method, whole.method) == ("lattice", "lattice")
    assert found.p_value == pytest.approx(whole.p_value, rel=1e-9)
    thirds = sign_flip(rng.integers(-3, 4, 200) / 3)
    assert thirds.method == "lattice"


def test_meets_in_the_middle() -> None:
    rng = np.random.default_rng(1)
    d = rng.normal(0.3, 1, signflip.FEW + 1)
    found = sign_flip(d)
    assert found.method == "enumeration"
    sums = np.concatenate([signflip._all_sums(np.abs(d[:-4])) + s for s in signflip._all_sums(np.abs(d[-4:]))])
    assert found.p_value == pytest.approx(np.mean(np.abs(sums) >= abs(d.sum()) - 1e-12), abs=1e-12)
    assert halves(np.array([1.0, 1.0]), 0.0, 0.0) == (1.0, 0.5)


def test_drawn_signs_agree_with_exact_ones() -> None:
    rng = np.random.default_rng(2)
    for n in (21, 34):
        d = rng.normal(0.25, 1, n)
        exact = sign_flip(d).p_value
        sums = np.abs(signed_totals(d[:, None], 40_000, 5)[1:, 0])
        share = np.mean(sums >= abs(d.sum()) - 1e-12)
        assert abs(share - exact) < 4 * math.sqrt(exact * (1 - exact) / len(sums))


def test_drawn_signs_have_the_law_of_signs() -> None:
    """Variance of the sums, and the variance of a count over seeds: that of independent draws, since any two are."""
    d = np.random.default_rng(0).normal(size=100)
    shares, limit = [], float(np.sqrt(d @ d))
    for seed in range(300):
        sums = signed_totals(d[:, None], 399, seed)[1:, 0]
        shares.append(np.mean(np.abs(sums) >= limit))
    p = np.mean(shares)
    assert p == pytest.approx(0.317, abs=0.01)
    assert np.var(shares) == pytest.approx(p * (1 - p) / 399, rel=4 * math.sqrt(2 / 300))


def test_drawn_signs_columns_and_identity() -> None:
    rows = np.random.default_rng(0).normal(size=(5000, 3))
    found = signed_totals(rows, 99, 0)
    assert found.shape == (100, 3)
    assert found[0] == pytest.approx(rows.sum(0))
    assert found[:, 1] == pytest.approx(signed_totals(rows[:, 1:2], 99, 0)[:, 0])
    assert np.abs(found).max() < 6 * np.sqrt(5000)


@every("asked", [1, 2, 3, 99, 999, 1000, 9999, 10_000])
def test_at_least_the_draws_asked_for_and_the_same_again(asked: int) -> None:
    d = np.random.default_rng(0).normal(size=60)
    found = sign_flip(d, draws=asked, drawn=True)
    assert asked <= found.draws <= asked + 2 * math.isqrt(asked) + 2
    assert sign_flip(d, draws=found.draws, drawn=True) == found


# ---- invariants ----------------------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(-3, 3, allow_subnormal=False).map(lambda x: round(x, 7)), min_size=1, max_size=60),
    st.sampled_from(ALTERNATIVES),
    st.randoms(),
)
def test_swapping_the_systems_and_order(d: list[float], alternative: str, random: object) -> None:
    found = sign_flip(d, alternative=alternative, draws=99)
    assert sign_flip([-x for x in d], alternative=OTHER[alternative], draws=99).p_value == pytest.approx(found.p_value, abs=1e-9)
    assert 0 < found.p_value <= 1
    less, greater, two = (sign_flip(d, alternative=a, draws=99).p_value for a in ("less", "greater", "two-sided"))
    assert two == pytest.approx(min(1.0, 2 * min(less, greater)), abs=1e-9)
    if found.exact:
        shuffled = list(d)
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        assert sign_flip([*shuffled, 0.0], alternative=alternative).p_value == pytest.approx(found.p_value, abs=1e-9)


def test_counts_are_repeated_items() -> None:
    d, counts = np.array([0.5, -1.0, 2.0, 0.0]), np.array([40, 30, 3, 7])
    for alternative in ALTERNATIVES:
        assert sign_flip(d, counts=counts, alternative=alternative) == sign_flip(np.repeat(d, counts), alternative=alternative)


def test_identical_systems() -> None:
    for d in ([], [0.0], np.zeros(1000)):
        assert [sign_flip(d, alternative=a).p_value for a in ALTERNATIVES] == [1.0, 1.0, 1.0]
    assert sign_flip([1.0, -1.0]).p_value == 1.0
    assert sign_flip([0.3, -0.1, -0.2]).p_value == 1.0  # 0.3 - 0.1 - 0.2 is not 0 in floats
    symmetric = np.random.default_rng(0).normal(size=50)
    assert sign_flip([*symmetric, *-symmetric], draws=99).p_value == 1.0


def test_same_seed_same_answer_in_little_memory() -> None:
    d = np.random.default_rng(0).normal(0.002, 1, 200_000)
    tracemalloc.start()
    found = sign_flip(d, draws=2000, drawn=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32e6  # 2,000 x 200,000 signs
    assert sign_flip(d, draws=2000, drawn=True) == found
    assert sign_flip(d, draws=2000, seed=1, drawn=True) != found


def test_not_finite_and_unknown() -> None:
    with pytest.raises(DataError, match="1 difference"):
        sign_flip([1.0, math.nan])
    with pytest.raises(UsageError, match="alternative"):
        sign_flip([1.0], alternative="more")
    with pytest.raises(UsageError, match="draws"):
        sign_flip([1.0], draws=0)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(40, 1500), st.sampled_from(ALTERNATIVES))
def test_drawn_signs_depend_neither_on_the_order_of_items_nor_on_which_system_comes_first(seed: int, n: int, alternative: str) -> None:
    rng = np.random.default_rng(seed)
    d = rng.normal(0.05, 1, n)
    d[: n // 3] = np.where(rng.random(n // 3) < 0.5, 1, -1) * np.abs(d[n // 3 : 2 * (n // 3)])  # equal sizes of either sign
    plain = sign_flip(d, alternative=alternative, draws=199, seed=3, drawn=True)
    assert plain.method == "monte-carlo"
    assert sign_flip(rng.permutation(d), alternative=alternative, draws=199, seed=3, drawn=True) == plain
    assert sign_flip(-rng.permutation(d), alternative=OTHER[alternative], draws=199, seed=3, drawn=True) == plain
