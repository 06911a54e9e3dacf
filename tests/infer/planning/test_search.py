"""The first n and the stable n: brute force over every n on random problems, envelopes, teeth, and goals out of reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cases import every
from steelyard.errors import UsageError
from steelyard.infer.planning import search
from steelyard.infer.planning.search import FloatArray, IntArray


def brute(values: FloatArray, target: float) -> tuple[int, int]:
    """First and stable n, when values[0] belongs to n = 1 and the last values are known to be met."""
    met = values >= target - 1e-12
    failing = np.flatnonzero(~met)
    return int(met.argmax()) + 1, (int(failing[-1]) + 2 if failing.size else 1)


def toothed(seed: int, scale: float, depth: float) -> search.PerCount:
    """A curve that rises to 1 with teeth of random depth that shrink like 1/sqrt(m), as binomial criteria do."""
    draws = np.random.default_rng(seed).random(200_000)

    def g(m: IntArray) -> FloatArray:
        rise = 1 - np.exp(-m / scale)
        return np.clip(rise - depth * draws[m] * np.sqrt(scale / (scale + m)) * (1 - rise + 0.02), 0, 1)

    return g


# ---- the mixture -------------------------------------------------------------------------------------------------------


@given(n=st.integers(1, 3000), share=st.floats(0.001, 0.999))
def test_the_weights_are_binomial(n: int, share: float) -> None:
    start, weights = search.binomial_weights(n, share)
    counts = np.arange(start, start + len(weights))
    assert weights == pytest.approx(stats.binom.pmf(counts, n, share), rel=1e-9, abs=1e-16)
    assert stats.binom.cdf(start - 1, n, share) < 1e-17
    assert stats.binom.sf(counts[-1], n, share) < 1e-17


@pytest.mark.parametrize(("n", "share"), [(10_000_000, 0.04), (9_999_991, 0.5), (10_000_000, 1e-6)])
def test_the_weights_keep_their_digits_at_ten_million(n: int, share: float) -> None:
    start, weights = search.binomial_weights(n, share)
    counts = np.arange(start, start + len(weights))
    assert weights @ counts == pytest.approx(n * share, rel=1e-13)
    assert weights @ (counts - n * share) ** 2 == pytest.approx(n * share * (1 - share), rel=1e-11)


def test_a_share_of_1_is_no_mixture() -> None:
    assert search.mixture_value(lambda m: m / 100, 37, 1.0) == 0.37


@given(n=st.integers(1, 400), share=st.floats(0.01, 1), seed=st.integers(0, 10**6))
def test_the_value_is_the_expectation(n: int, share: float, seed: int) -> None:
    g = toothed(seed, 20, 0.5)
    oracle = stats.binom.pmf(np.arange(n + 1), n, share) @ g(np.arange(n + 1))
    assert search.mixture_value(g, n, share) == pytest.approx(oracle, abs=1e-12)


@every("seed", range(7))
def test_the_mixture_search_is_a_brute_scan(seed: int) -> None:
    draw = np.random.default_rng(seed)
    share = float(draw.choice([1.0, 0.9, 0.5, 0.2, 0.05]))
    target = float(draw.choice([0.3, 0.5, 0.8, 0.95]))
    g = toothed(seed, float(draw.choice([3, 15, 60])), float(draw.choice([0, 0.3, 1.0])))
    found = search.mixture_search(g, share, target)
    last = 2 * found.n_stable + 200
    values = np.array([search.mixture_value(g, n, share) for n in range(1, last + 1)])
    assert (found.n_first, found.n_stable) == brute(values, target)
    assert found.achieved == pytest.approx(values[found.n_stable - 1], abs=1e-12)
    assert found.achieved >= target - 1e-12


def test_teeth_are_seen_in_these_problems_so_that_the_scan_is_not_idle() -> None:
    found = [search.mixture_search(toothed(seed, 60, 1.0), 1.0, 0.8) for seed in range(10)]
    assert sum(f.n_first < f.n_stable for f in found) >= 8


@given(seed=st.integers(0, 10**6), share=st.floats(0.05, 1), targets=st.lists(st.floats(0.2, 0.95), min_size=2, max_size=2))
def test_a_higher_target_takes_no_fewer_items(seed: int, share: float, targets: list[float]) -> None:
    g = toothed(seed, 25, 0.4)
    low, high = (search.mixture_search(g, share, target) for target in sorted(targets))
    assert low.n_first <= high.n_first <= high.n_stable
    assert low.n_stable <= high.n_stable
    assert low.n_first <= low.n_stable


def test_a_smaller_cap_gives_the_same_answer_or_a_refusal() -> None:
    g = toothed(3, 40, 0.5)
    found = search.mixture_search(g, 0.3, 0.8)
    assert search.mixture_search(g, 0.3, 0.8, cap=found.n_stable + 200)[:2] == found[:2]
    with pytest.raises(UsageError, match="items"):
        search.mixture_search(g, 0.3, 0.8, cap=found.n_first - 1)


def test_a_goal_met_by_one_item_is_one_item() -> None:
    assert search.mixture_search(lambda m: np.full(len(m), 0.9), 0.5, 0.8)[:2] == (1, 1)


def test_out_of_reach_is_said_with_what_was_reached() -> None:
    with pytest.raises(UsageError, match=r"10,000,000 items reach only 0\.5, not 0\.8\.") as caught:
        search.mixture_search(lambda m: np.full(len(m), 0.5), 0.3, 0.8)
    assert "larger effect" in str(caught.value)


@pytest.mark.parametrize(("share", "target"), [(0.0, 0.8), (1.1, 0.8), (float("nan"), 0.8), (0.5, 1.0), (0.5, 0.0)])
def test_impossible_questions_are_advice(share: float, target: float) -> None:
    with pytest.raises(UsageError, match=r"strictly between 0 and 1|above 0 and at most 1"):
        search.mixture_search(lambda m: np.ones(len(m)), share, target)


# ---- the scans ---------------------------------------------------------------------------------------------------------


@every("seed", range(20))
def test_the_scan_of_a_bracket_is_a_brute_scan(seed: int) -> None:
    draw = np.random.default_rng(seed)
    high = int(draw.integers(2, 1500))
    curve = np.concatenate([draw.random(high - 1), np.ones(10)])
    target = float(draw.choice([0.01, 0.5, 0.999, 1.0]))
    found = search.first_and_stable(lambda first, count: curve[first - 1 : first - 1 + count], target, 1, high)
    assert found[:2] == brute(curve, target)
    assert found.achieved == curve[found.n_stable - 1]


@every("seed", range(30))
def test_the_rough_search_is_a_brute_scan(seed: int) -> None:
    draw = np.random.default_rng(seed)
    scale, period, depth = float(draw.choice([20, 300, 3000])), int(draw.integers(2, 60)), float(draw.choice([0, 0.01, 0.05]))
    n = np.arange(1, 60_000)
    curve = 1 - np.exp(-n / scale) - depth * np.exp(-n / scale) * (n % period) / period
    target = float(draw.choice([0.5, 0.8, 0.95]))
    guess = int(draw.integers(1, 5000))
    found = search.rough_search(lambda first, count: curve[first - 1 : first - 1 + count], target, guess=guess, period=period, cap=50_000)
    assert found[:2] == brute(curve, target)


def test_the_rough_search_refuses_what_the_cap_does_not_reach() -> None:
    with pytest.raises(UsageError, match=r"1,000 items reach only 0\.25, not 0\.8\."):
        search.rough_search(lambda first, count: np.full(count, 0.25), 0.8, guess=10, period=5, cap=1000)
