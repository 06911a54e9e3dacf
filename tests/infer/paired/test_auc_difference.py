"""Two AUCs with few items of a class: the ends from all pairs, mirrors, p and bounds that agree, and seeded size and coverage."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cases import seldom
from oracles import pairs_matrix, standard_errors
from steelyard.infer.intervals.clusters import Groups
from steelyard.infer.intervals.ranking import auc_area, grouped_auc_area
from steelyard.infer.paired.auc_difference import difference_interval, difference_p, difference_test, same_order, scarcity
from steelyard.infer.paired.delong import delong_interval, delong_pair, delong_test, delong_unpaired
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.proof.coverage.group_designs import two_rankings
from steelyard.tally.scores import tally_scores


@st.composite
def curves(draw: Any) -> tuple[Any, Any, Any]:
    """Two columns of scores, with many ties or few, and at least two items of each class."""
    n = draw(st.integers(4, 40))
    values = st.lists(st.integers(0, draw(st.sampled_from([4, 30, 1000]))), min_size=n, max_size=n)
    positive = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda y: 2 <= sum(y) <= len(y) - 2))
    return np.array(draw(values), float), np.array(draw(values), float), np.array(positive)


@given(case=curves())
def test_ends_from_all_pairs(case: tuple[Any, Any, Any]) -> None:
    """Where misses are few in either: each AUC's own ends, and the correlation of the placements with numpy's covariance."""
    baseline, candidate, positive = case
    pair = delong_pair(*case)
    if same_order(pair) or scarcity(pair) < 1:
        return
    psi = [pairs_matrix(score, positive) for score in (baseline, candidate)]
    (a, b), v10, v01 = [p.mean() for p in psi], [p.mean(1) for p in psi], [p.mean(0) for p in psi]
    spread = np.cov(v10) / len(v10[0]) + np.cov(v01) / len(v01[0])
    scale = math.sqrt(spread[0, 0] * spread[1, 1])
    r = spread[0, 1] / scale if scale > 1e-14 else 0.0
    (la, ua), (lb, ub) = (auc_area(tally_scores(score, positive)).ends(0.025) for score in (baseline, candidate))
    found = difference_interval(pair)
    for end, sign, (one, other) in ((found[0], -1, (b - lb, ua - a)), (found[1], 1, (ub - b, a - la))):
        reach = math.sqrt(max(0.0, one * one + other * other - 2 * r * one * other))
        assert sign * end >= min(1.0, sign * (b - a) + reach) - 1e-7
        if min(one, other) > r * max(one, other) + 1e-6:  # else an arm that is used up may have drawn the bound in, and it stays out
            assert sign * end == pytest.approx(min(1.0, sign * (b - a) + reach), abs=1e-7)


@given(case=curves())
def test_swapping_the_systems_or_turning_both_round_mirrors_everything(case: tuple[Any, Any, Any]) -> None:
    baseline, candidate, positive = case
    pair = delong_pair(*case)
    if same_order(pair):
        return
    low, high = difference_interval(pair)
    for other in (delong_pair(candidate, baseline, positive), delong_pair(-baseline, -candidate, positive)):
        assert difference_interval(other) == pytest.approx((-high, -low), abs=1e-7)
        assert difference_p(other) == pytest.approx(difference_p(pair)[::-1], abs=1e-7)
        assert difference_test(other)[1] == pytest.approx(difference_test(pair)[1], abs=1e-7)


@given(case=curves(), at=st.sampled_from([0.0, -0.1, 0.2]), alpha=st.sampled_from([0.01, 0.05, 0.2]))
def test_p_is_at_most_alpha_exactly_where_the_bound_excludes(case: tuple[Any, Any, Any], at: float, alpha: float) -> None:
    pair = delong_pair(*case)
    if same_order(pair):
        return
    less, greater = difference_p(pair, at)
    assert less + greater == pytest.approx(1)
    low, _ = difference_interval(pair, 1 - alpha, "lower")
    _, high = difference_interval(pair, 1 - alpha, "upper")
    if abs(low - at) > 1e-6 and abs(high - at) > 1e-6:
        assert (greater <= alpha) == (low > at)
        assert (less <= alpha) == (high < at)
    two = difference_interval(pair, 1 - 2 * alpha)
    assert two == pytest.approx((low, high), abs=1e-6)
    wider = difference_interval(pair, 1 - alpha)
    assert wider[0] <= two[0] + 1e-6
    assert wider[1] >= two[1] - 1e-6


@given(case=curves())
def test_the_same_on_different_items_without_the_correlation(case: tuple[Any, Any, Any]) -> None:
    baseline, candidate, positive = case
    apart = delong_unpaired(*(tally_scores(score, positive) for score in (baseline, candidate)))
    pair = delong_pair(*case)
    assert apart.areas is not None
    assert pair.areas is not None
    for one, other in zip(apart.areas, pair.areas, strict=True):
        assert (one.value, one.variance, one.trials) == pytest.approx((other.value, other.variance, other.trials), abs=1e-12)
    if same_order(apart):
        return
    without = replace(pair, covariance=0.0, variance=pair.variance_baseline + pair.variance_candidate, df=apart.df)
    assert difference_interval(apart) == pytest.approx(difference_interval(without), abs=1e-7)


def test_four_parts_make_the_degrees_of_two_samples() -> None:
    rng = np.random.default_rng(2)
    tables, parts = [], []
    for positives, negatives in ((8, 12), (5, 30)):
        positive = np.arange(positives + negatives) < positives
        score = rng.normal(positive * 1.0, 1)
        psi = pairs_matrix(score, positive)
        parts += [(psi.mean(1).var(ddof=1) / positives, positives - 1), (psi.mean(0).var(ddof=1) / negatives, negatives - 1)]
        tables.append(tally_scores(score, positive))
    expected = sum(v for v, _ in parts) ** 2 / sum(v * v / df for v, df in parts)
    assert delong_unpaired(*tables).df == pytest.approx(expected)


def test_many_items_give_delong_alone() -> None:
    rng = np.random.default_rng(3)
    positive = np.arange(600) < 200
    a, b = rng.normal(positive * 1.0, 1), rng.normal(positive * 0.7, 1)
    pair = delong_pair(a, b, positive)
    assert scarcity(pair) == 0
    assert difference_interval(pair) == delong_interval(pair)
    assert difference_test(pair) == delong_test(pair)
    t, p = delong_test(pair)
    assert p == pytest.approx(2 * stats.t.sf(abs(t), pair.df), rel=1e-9)
    reach = stats.norm.ppf(0.975) * pair.error
    d = pair.difference
    assert delong_interval(replace(pair, df=None)) == pytest.approx((d - reach, d + reach))  # without degrees the normal law
    assert difference_p(pair)[0] == pytest.approx(stats.t.cdf(t, pair.df), rel=1e-9)


def test_a_perfect_order_against_equal_scores_has_an_answer() -> None:
    """1 against 1/2 with all scores equal: neither shows any spread, and DeLong has no p-value."""
    positive = np.arange(30) < 12
    pair = delong_pair(np.ones(30), positive * 1.0, positive)
    with pytest.raises(Degenerate):
        delong_test(pair)
    low, high = difference_interval(pair)
    assert 0 < low < 0.5 < high < 1
    assert difference_test(pair)[1] < 0.01


def test_two_perfect_orders_differ_by_at_most_so_much() -> None:
    positive = np.arange(30) < 12
    pair = delong_pair(positive * 1.0, np.arange(30, 0, -1), positive)
    low, high = difference_interval(pair)
    reach = 1 - auc_area(tally_scores(positive * 1.0, positive)).ends(0.025)[0]
    assert (low, high) == pytest.approx((-reach, reach))
    assert difference_test(pair) == (0.0, 1.0)


def test_systems_that_rank_alike_have_no_interval() -> None:
    pair = delong_pair([1, 2, 3, 4], [10, 20, 30, 40], [False, True, False, True])
    assert difference_test(pair) == (0.0, 1.0)
    with pytest.raises(Degenerate, match="rank alike"):
        difference_interval(pair)


# ---- calibration ---------------------------------------------------------------------------------------------------------


def scores(rng: np.random.Generator, positive: Any, areas: tuple[float, float], spreads: tuple[float, float]) -> list[Any]:
    """Two systems that share half of the variance of their noise, with these AUCs and these spreads of the positives."""
    shared = rng.normal(size=len(positive))
    out = []
    for area, spread in zip(areas, spreads, strict=True):
        noise = math.sqrt(0.5) * (shared + rng.normal(size=len(positive)))
        out.append(np.where(positive, stats.norm.ppf(area) * math.hypot(spread, 1) + spread * noise, noise))
    return out


@pytest.mark.parametrize(
    ("positives", "negatives", "areas", "spreads"),
    [
        *seldom((5, 95, (0.9, 0.9), (1, 1))),
        (5, 495, (0.7, 0.7), (1, 0.5)),
        *seldom((10, 190, (0.97, 0.97), (1, 0.5))),
        (10, 190, (0.99, 0.95), (2, 2)),
        *seldom((5, 95, (0.95, 0.85), (1, 1))),
    ],
)
def test_covers_the_true_difference(positives: int, negatives: int, areas: tuple[float, float], spreads: tuple[float, float]) -> None:
    """DeLong's own interval covers 0.67 in the fourth, and misses one end 11 times in 100 in the third; seeded."""
    rng, runs, held, above = np.random.default_rng(positives), 500, 0, 0
    tried = 0
    positive = np.arange(positives + negatives) < positives
    true = areas[1] - areas[0]
    for _ in range(runs):
        pair = delong_pair(*scores(rng, positive, areas, spreads), positive)
        if same_order(pair):
            continue
        low, high = difference_interval(pair)
        held, tried = held + (low <= true <= high), tried + 1
        above += difference_interval(pair, 0.95, "upper")[1] < true
    assert held / tried > 0.95 or standard_errors(held / tried, tried, 0.95) < 3
    assert above / runs < 0.05 or standard_errors(above / runs, runs, 0.05) < 3


@pytest.mark.parametrize("rounding", [2.0**-52, -(2.0**-52), 2e-13])
def test_a_difference_that_rounding_made_of_none_is_none(rounding: float) -> None:
    truth = [False, True] * 5
    pair = delong_pair([1, 2, 3, 4, 5, 6, 8, 7, 9, 10], [2, 1, 3, 4, 5, 6, 7, 8, 9, 10], truth)
    pair = replace(pair, candidate=pair.baseline + rounding)
    assert pair.difference != 0
    assert difference_p(pair) == (0.5, 0.5)


@given(case=curves(), size=st.integers(1, 3), seed=st.integers(0, 99))
def test_each_auc_of_groups_has_the_ends_that_it_has_alone(case: tuple[Any, Any, Any], size: int, seed: int) -> None:
    baseline, candidate, positive = case
    group = np.random.default_rng(seed).permutation(np.arange(len(positive)) // size)
    try:
        pair = delong_pair(*case, group)
    except Degenerate:  # all items of a class in one group
        return
    worth = min(Groups.of(np.bincount(group[side])).effective for side in (positive, ~positive))
    assert pair.areas is not None
    for area, score in zip(pair.areas, (baseline, candidate), strict=True):
        alone = grouped_auc_area(tally_scores(score, positive), score, positive, group, int(group.max()) + 1, worth)
        assert area.trials == pytest.approx(alone.trials, rel=1e-6)
        assert (area.value, area.variance, area.df) == pytest.approx((alone.value, alone.variance, alone.df), rel=1e-6, abs=1e-12)


def test_a_drop_with_few_positives_in_groups_is_covered() -> None:
    """DeLong's own interval covers it in about 0.89 of the cases."""
    laws = {"positives": 15, "baseline": 0.97, "candidate": 0.9}
    pairs = [delong_pair(*two_rankings(laws, np.random.default_rng(seed))) for seed in range(150)]
    held = [[low <= -0.07 <= high for low, high in map(by, pairs)] for by in (difference_interval, delong_interval)]
    assert sum(held[0]) >= 145 > sum(held[1])
