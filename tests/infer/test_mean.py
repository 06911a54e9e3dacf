"""Bounded scores: Wilson on the mean, and the betting interval, which must cover whatever the law and the number of items."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from steelyard.infer.mean import betting, log_capital, predictable_bets, wilson_mean
from steelyard.infer.normal import wilson

unit_scores = st.lists(st.floats(0, 1).map(lambda x: round(x, 3)), min_size=1, max_size=60).map(np.array)


@settings(max_examples=40, deadline=None)
@given(k=st.integers(0, 40), n=st.integers(40, 80), low=st.floats(-5, 5), width=st.floats(0.5, 100))
def test_wilson_of_right_and_wrong(k: int, n: int, low: float, width: float) -> None:
    """Scores at the two ends of any range are a proportion in other units."""
    ends = wilson(k, n)
    found = wilson_mean(low + width * k / n, n, low, low + width)
    assert found == pytest.approx([low + width * end for end in ends], abs=1e-9 * (1 + abs(low) + width))


@settings(max_examples=30, deadline=None)
@given(x=unit_scores, level=st.sampled_from([0.8, 0.95, 0.99]))
def test_betting_contains_the_mean_and_has_width(x: np.ndarray, level: float) -> None:
    low, high = betting(x, 0, 1, level)
    assert 0 <= low <= x.mean() + 1e-9
    assert x.mean() - 1e-9 <= high <= 1
    assert high - low > 1e-3


@settings(max_examples=20, deadline=None)
@given(x=unit_scores)
def test_betting_in_other_units_and_another_order(x: np.ndarray) -> None:
    """The bets depend on the order of the items, which is a seeded shuffle of the sorted ones: the file's order is nothing."""
    low, high = betting(x, 0, 1)
    assert betting(x[::-1], 0, 1) == (low, high)
    assert betting(10 * x - 3, -3, 7) == pytest.approx((10 * low - 3, 10 * high - 3), abs=1e-8)


@settings(max_examples=20, deadline=None)
@given(x=unit_scores, level=st.sampled_from([0.9, 0.95, 0.99]))
def test_betting_one_sided_is_half_of_the_two_sided(x: np.ndarray, level: float) -> None:
    two = betting(x, 0, 1, 2 * level - 1)
    assert betting(x, 0, 1, level, "lower") == (pytest.approx(two[0], abs=1e-9), 1.0)
    assert betting(x, 0, 1, level, "upper") == (0.0, pytest.approx(two[1], abs=1e-9))


def test_the_ends_are_where_the_capital_reaches_the_stake() -> None:
    x = np.random.default_rng(0).beta(2, 6, 80)
    low, high = betting(x, 0, 1, seed=3)
    order = np.random.Generator(np.random.PCG64(3)).permutation(np.sort(x))
    bets = predictable_bets(order, 0.05, horizon=80)
    assert log_capital(order, bets, low)[0] == pytest.approx(math.log(40), abs=1e-6)
    assert log_capital(order, bets, high)[1] == pytest.approx(math.log(40), abs=1e-6)


def test_a_bet_looks_only_back() -> None:
    """Changing item i changes no bet up to i: else the capital is no martingale and nothing is guaranteed."""
    x = np.random.default_rng(1).random(30)
    for horizon in (None, 30):
        bets = predictable_bets(x, 0.05, horizon)
        for i in (0, 7, 29):
            changed = x.copy()
            changed[i] = 1 - changed[i]
            assert predictable_bets(changed, 0.05, horizon)[: i + 1].tolist() == bets[: i + 1].tolist()


@settings(max_examples=40, deadline=None)
@given(m=st.floats(0.02, 0.98), past=st.lists(st.floats(0, 1), max_size=20))
def test_the_capital_is_fair_against_the_true_mean(m: float, past: list[float]) -> None:
    """One more item of mean m multiplies the stake by 1 on average, whatever came before; and no item ruins the bettor."""
    before = np.array(past)
    for side in (0, 1):
        gains = []
        for outcome in (0.0, 1.0):
            x = np.append(before, outcome)
            bets = predictable_bets(x, 0.05)
            gains.append(math.exp(log_capital(x, bets, m)[side] - (log_capital(before, bets[:-1], m)[side] if past else 0.0)))
        assert (1 - m) * gains[0] + m * gains[1] == pytest.approx(1, abs=1e-9)
        assert min(gains) >= 0.5 - 1e-9


LAWS = {
    "95% ones": lambda rng, n: np.where(rng.random(n) < 0.95, 1.0, rng.random(n)),
    "Beta(2,6)": lambda rng, n: rng.beta(2, 6, n),
    "99% ones": lambda rng, n: np.where(rng.random(n) < 0.99, 1.0, 0.0),
    "U-shaped": lambda rng, n: rng.beta(0.5, 0.1, n),
}
MEANS = {"95% ones": 0.95 + 0.05 / 2, "Beta(2,6)": 0.25, "99% ones": 0.99, "U-shaped": 5 / 6}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [5, 20, 100])
def test_betting_is_valid(law: str, n: int) -> None:
    """At level 0.8, where it has a chance to fail: misses at most 20% + 4 errors of 250 runs."""
    rng = np.random.default_rng(n)
    runs = 250
    missed = 0
    for seed in range(runs):
        low, high = betting(LAWS[law](rng, n), 0, 1, 0.8, seed=seed)
        missed += not low <= MEANS[law] <= high
    assert missed / runs <= 0.2 + 4 * math.sqrt(0.16 / runs)


def test_same_seed_same_answer() -> None:
    x = np.random.default_rng(0).random(50)
    assert betting(x, 0, 1, seed=4) == betting(x, 0, 1, seed=4)
    assert betting(x, 0, 1, seed=4) != betting(x, 0, 1, seed=5)


@pytest.mark.parametrize("x", [np.array([0.2, 1.5]), np.array([-0.1]), np.array([])])
def test_scores_outside_the_range(x: np.ndarray) -> None:
    with pytest.raises(sy.DataError, match="cannot bet"):
        betting(x, 0, 1)


# ---- which interval a mean gets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("off", "method"), [(24, "wilson-mean"), (25, "t")])
def test_t_needs_25_items_off_the_boundary(off: int, method: str) -> None:
    x = np.concatenate([np.ones(400), np.linspace(0.2, 0.8, off)])
    m = sy.measure(x, metric="mean")
    assert m.interval is not None
    assert m.interval.method == method


def test_equal_scores_get_wilson_on_the_mean() -> None:
    m = sy.measure([0.5] * 12, metric="mean", interval="t")
    assert m.interval is not None
    assert m.interval.method == "wilson-mean"
    assert (m.interval.low, m.interval.high) == pytest.approx(wilson(6, 12))
    assert any("Wilson on the mean" in sentence for sentence in m.warnings)


def test_equal_scores_without_a_range_have_no_interval() -> None:
    m = sy.measure([50.0] * 12, metric="mean")
    assert m.estimate == 50
    assert m.interval is None
    assert any("--range" in sentence for sentence in m.warnings)


def test_the_public_betting_interval() -> None:
    x = np.random.default_rng(0).beta(2, 6, 60)
    m = sy.measure(x, metric="mean", interval="betting", seed=2)
    assert m.interval is not None
    assert (m.interval.low, m.interval.high) == pytest.approx(betting(np.sort(x), 0, 1, seed=2), abs=1e-12)
