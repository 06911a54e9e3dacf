"""Bounded scores: Student with items at the ends, Wilson on the mean, and betting, which must cover whatever the law and the number."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from cases import every, seldom
from steelyard.infer.intervals.mean import betting, bounded_mean, log_capital, predictable_bets, wilson_mean
from steelyard.infer.normal import wilson

unit_scores = st.lists(st.floats(0, 1).map(lambda x: round(x, 3)), min_size=1, max_size=60).map(np.array)


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


@pytest.mark.parametrize("n", [20, *seldom(5, 100)])
@every("law", LAWS)
def test_betting_is_valid(law: str, n: int) -> None:
    """At level 0.8, where it has a chance to fail: misses at most 20% + 4 errors of 150 runs."""
    rng = np.random.default_rng(n)
    runs = 150
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
    with pytest.raises(sy.DataError, match=r"Some scores lie outside the range \[0, 1\]\."):
        betting(x, 0, 1)


# ---- which interval a mean gets ------------------------------------------------------------------------------------------


def width_of(data: object, **asked: object) -> float:
    interval = sy.measure(data, **asked).rows[0].interval  # type: ignore[arg-type]
    assert interval is not None
    assert interval.high is not None
    assert interval.low is not None
    return interval.high - interval.low


LIKE: dict[str, Callable[[np.ndarray], tuple[object, dict[str, object]]]] = {
    "mean": lambda x: (x, {"metric": "mean", "range": (0, 1)}),
    "brier": lambda x: (
        {"t": np.ones(len(x), int), "p": 1 - np.sqrt(x)},
        {"metric": "brier", "truth": "t", "probability": "p", "positive": 1},
    ),
    "weights": lambda x: (
        {"score": x, "w": np.r_[np.linspace(0.2, 3, 10), np.ones(len(x) - 10)]},
        {"metric": "mean", "weight": "w", "range": (0, 1)},
    ),
    "repeats": lambda x: (
        {"id": np.repeat(np.arange(len(x)), 2), "score": np.repeat(x, 2), "repeat": np.tile([0, 1], len(x))},
        {"metric": "mean", "repeat": "repeat", "range": (0, 1)},
    ),
}
ENDS = st.sampled_from([0.0, 0.45, 0.5, 0.95, 1.0])


@pytest.mark.parametrize("design", LIKE)
@given(first=st.lists(st.one_of(ENDS, st.floats(0, 1).map(lambda x: round(x, 4))), min_size=10, max_size=60), more=st.integers(0, 340))
def test_one_item_more_at_the_mean_never_changes_the_width_by_half(design: str, first: list[float], more: int) -> None:
    x = np.r_[first, np.full(more, np.mean(first))]
    here, there = (width_of(*each[:1], **each[1]) for each in (LIKE[design](x), LIKE[design](np.r_[x, np.average(x)])))
    assert max(here, there) <= 1.5 * min(here, there)


def test_no_cliff_at_25_items() -> None:
    """Scores around .45 with a deviation of .1: the width fell from .369 to .072 between 24 items and 25."""
    x = 0.45 + 0.1 * np.linspace(-1.7, 1.7, 400)[np.random.default_rng(0).permutation(400)]
    widths = [width_of(x[:n], metric="mean") for n in range(10, 401)]
    assert max(wide / narrow for wide, narrow in pairwise(widths)) < 1.15
    assert widths[0] < 0.4
    assert widths[-1] < 1.15 * width_of(x, metric="mean", interval="t")  # little is paid where there are items enough


@given(x=unit_scores, low=st.floats(-5, 5), width=st.floats(0.5, 100), level=st.sampled_from([0.8, 0.95, 0.99]))
def test_bounded_t_in_other_units_mirrored_and_one_sided(x: np.ndarray, low: float, width: float, level: float) -> None:
    def ends(y: np.ndarray, *rest: object) -> tuple[float, float]:
        return bounded_mean(len(y), float(y.mean()), float(((y - y.mean()) ** 2).sum()), *rest)  # type: ignore[arg-type]

    found = ends(x, 0, 1, level)
    assert 0 <= found[0] <= x.mean() + 1e-12
    assert x.mean() - 1e-12 <= found[1] <= 1
    assert ends(low + width * x, low, low + width, level) == pytest.approx(
        [low + width * end for end in found], abs=1e-7 * (1 + abs(low) + width)
    )
    assert ends(1 - x, 0, 1, level) == pytest.approx((1 - found[1], 1 - found[0]), abs=1e-9)
    assert ends(x, 0, 1, (1 + level) / 2, "lower") == (pytest.approx(found[0]), 1)
    assert ends(x, 0, 1, (1 + level) / 2, "upper") == (0, pytest.approx(found[1]))


def test_bounded_t_by_hand() -> None:
    """Ten scores of .6: u = ((sqrt(z^2 + 4 x 3.688879) - z) / 2)^2 = 1.383514 at z = 1.959964; N = 10 + u, m = 6 / N = .527078,
    Q = .36 x 10 x u / N = .437532, reach = t(N - 1; .975) sqrt(Q / (N (N - 1))) with t = 2.217034 (scipy.stats)."""
    by_hand = 0.527078 - 2.217034 * math.sqrt(0.437532 / (11.383514 * 10.383514))
    assert bounded_mean(10, 0.6, 0.0, 0, 1)[0] == pytest.approx(by_hand, abs=2e-6)


def test_no_failure_among_n_bounds_as_for_a_proportion() -> None:
    """Equal items at 1 say about as much as no failure among n: the bound 1 - alpha^(1/n), never a narrower one."""
    for n in (10, 30, 100, 1000):
        for tail in (0.2, 0.1, 0.05, 0.01):
            bound, exact = 1 - bounded_mean(n, 1.0, 0.0, 0, 1, 1 - tail, "lower")[0], 1 - tail ** (1 / n)
            assert exact <= bound <= 1.5 * exact


def test_rare_failures_are_reckoned_with_where_none_was_seen() -> None:
    """98% at .95, 2% at 0 have a mean of .931: t on 30 or 60 equal scores excludes it, and so did 30 scores that hardly differ."""
    for n in (30, 60, 100):
        interval = sy.measure(np.r_[np.full(n - 1, 0.95), 0.951], metric="mean").rows[0].interval
        assert interval is not None
        assert interval.low is not None
        assert interval.low <= 0.931


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
    assert any("range=" in sentence for sentence in m.warnings)


def test_the_public_betting_interval() -> None:
    x = np.random.default_rng(0).beta(2, 6, 60)
    m = sy.measure(x, metric="mean", interval="betting", seed=2)
    assert m.interval is not None
    assert (m.interval.low, m.interval.high) == pytest.approx(betting(np.sort(x), 0, 1, seed=2), abs=1e-12)
