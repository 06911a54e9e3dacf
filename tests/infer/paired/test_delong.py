"""Two AUCs: against the naive table of all pairs, mirror symmetry, groups, and a seeded type I error."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from oracles import pairs_matrix, standard_errors
from steelyard.errors import DataError
from steelyard.infer.intervals.ranking import delong_error, grouped_auc_spread
from steelyard.infer.paired.delong import delong_interval, delong_pair, delong_test, delong_unpaired, item_placements
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.tally.scores import tally_scores


@st.composite
def curves(draw: Any) -> tuple[Any, Any, Any]:
    """Two columns of scores with many ties, and at least two items of each class."""
    n = draw(st.integers(4, 40))
    values = st.lists(st.integers(0, 8), min_size=n, max_size=n)
    positive = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda y: 2 <= sum(y) <= len(y) - 2))
    return np.array(draw(values), float), np.array(draw(values), float), np.array(positive)


def naive(baseline: Any, candidate: Any, positive: Any) -> tuple[Any, Any]:
    """(AUCs, their covariance matrix) from all pairs of a positive and a negative, with numpy's own covariance."""
    psi = [pairs_matrix(score, positive) for score in (baseline, candidate)]
    v10, v01 = np.array([p.mean(1) for p in psi]), np.array([p.mean(0) for p in psi])
    return [p.mean() for p in psi], np.cov(v10) / v10.shape[1] + np.cov(v01) / v01.shape[1]


@given(case=curves())
def test_is_the_table_of_all_pairs(case: tuple[Any, Any, Any]) -> None:
    pair, (areas, spread) = delong_pair(*case), naive(*case)
    assert [pair.baseline, pair.candidate] == pytest.approx(areas, abs=1e-12)
    assert [pair.variance_baseline, pair.variance_candidate] == pytest.approx(list(np.diag(spread)), abs=1e-12)
    assert pair.covariance == pytest.approx(spread[0, 1], abs=1e-12)
    assert pair.variance == pytest.approx(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1], abs=1e-12)
    psi = pairs_matrix(case[0], case[2])
    assert item_placements(case[0], case[2])[case[2]] == pytest.approx(psi.mean(1), abs=1e-12)
    assert item_placements(case[0], case[2])[~case[2]] == pytest.approx(psi.mean(0), abs=1e-12)


@given(case=curves())
def test_swapping_the_systems_mirrors_everything(case: tuple[Any, Any, Any]) -> None:
    baseline, candidate, positive = case
    pair, other = delong_pair(*case), delong_pair(candidate, baseline, positive)
    assert other.difference == pytest.approx(-pair.difference, abs=1e-12)
    if pair.variance < 1e-20:
        return
    assert delong_test(other) == pytest.approx((-delong_test(pair)[0], delong_test(pair)[1]), abs=1e-9)
    assert delong_test(other, "less")[1] == pytest.approx(delong_test(pair, "greater")[1], abs=1e-9)
    low, high = delong_interval(pair)
    assert delong_interval(other) == pytest.approx((-high, -low), abs=1e-9)
    assert -1 <= low <= high <= 1
    p = delong_test(pair)[1]
    if abs(p - 0.05) > 1e-9:
        assert (p < 0.05) == (not low <= 0 <= high)
    assert delong_interval(pair, 0.95, "lower") == pytest.approx((max(-1, delong_interval(pair, 0.9)[0]), 1.0), abs=1e-9)


@settings(max_examples=15)
@given(case=curves(), order=st.randoms(use_true_random=False))
def test_item_order_and_monotone_maps_of_scores_change_nothing(case: tuple[Any, Any, Any], order: Any) -> None:
    baseline, candidate, positive = case
    place = list(range(len(positive)))
    order.shuffle(place)
    pair = delong_pair(*case)
    other = delong_pair(np.exp(baseline[place]), 3 * candidate[place] - 7, positive[place])
    assert (other.difference, other.variance) == pytest.approx((pair.difference, pair.variance), abs=1e-12)


@given(case=curves())
def test_systems_that_rank_alike_give_p_1_and_no_interval(case: tuple[Any, Any, Any]) -> None:
    score, _, positive = case
    pair = delong_pair(score, np.exp(score), positive)
    assert pair.variance == 0
    for alternative in ("two-sided", "less", "greater"):
        assert delong_test(pair, alternative) == (0.0, 1.0)
    with pytest.raises(Degenerate, match="rank alike"):
        delong_interval(pair)


def test_a_difference_without_spread_is_not_certainty() -> None:
    positive = np.array([True, True, False, False])
    pair = delong_pair([1, 1, 1, 1], [1, 1, 0, 0], positive)
    assert (pair.baseline, pair.candidate) == (0.5, 1.0)
    with pytest.raises(Degenerate, match="no spread"):
        delong_test(pair)


@given(case=curves())
def test_one_curve_has_the_error_of_the_single_interval(case: tuple[Any, Any, Any]) -> None:
    pair = delong_pair(*case)
    tables = [tally_scores(score, case[2]) for score in case[:2]]
    assert pair.variance_baseline == pytest.approx(delong_error(tables[0]) ** 2, abs=1e-12)
    apart = delong_unpaired(*tables)
    assert apart.difference == pytest.approx(pair.difference, abs=1e-12)
    assert apart.variance == pytest.approx(pair.variance_baseline + pair.variance_candidate, abs=1e-12)
    assert apart.covariance == 0


# ---- groups ------------------------------------------------------------------------------------------------------------


@given(case=curves(), groups=st.integers(2, 6), seed=st.integers(0, 99))
def test_groups_sum_their_placements(case: tuple[Any, Any, Any], groups: int, seed: int) -> None:
    baseline, candidate, positive = case
    group = np.random.default_rng(seed).permutation(np.arange(len(positive)) % min(groups, len(positive)))
    try:
        pair = delong_pair(*case, group)
    except Degenerate:  # all items of a class in one group
        assert len(set(group[positive])) == 1 or len(set(group[~positive])) == 1
        return
    many = int(group.max()) + 1
    alone = [grouped_auc_spread(tally_scores(score, positive), score, positive, group, many) for score in (baseline, candidate)]
    assert (pair.variance_baseline, pair.variance_candidate) == pytest.approx([each.variance for each in alone], abs=1e-12)
    assert pair.df == pytest.approx(alone[0].df)
    assert pair.variance == pytest.approx(pair.variance_baseline + pair.variance_candidate - 2 * pair.covariance, abs=1e-12)
    turned = delong_pair(candidate, baseline, positive, group)
    assert turned.variance == pytest.approx(pair.variance, abs=1e-12)


def test_groups_of_equal_makeup_have_the_sandwich_and_one_degree_less_than_groups() -> None:
    rng = np.random.default_rng(7)
    positive, group = np.tile([True, False, False], 40), np.repeat(np.arange(8), 15)
    a, b = positive + rng.normal(size=120), positive + rng.normal(size=120)
    pair = delong_pair(a, b, positive, group)
    place = item_placements(b, positive) - item_placements(a, positive) - pair.difference
    d = np.bincount(group, weights=place / np.where(positive, 40, 80))
    assert (pair.variance, pair.df) == pytest.approx((8 / 7 * float(d @ d), 7), rel=1e-12)


def test_every_item_its_own_group_is_delong_and_uses_t() -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(400) < 0.4
    a, b = positive + rng.normal(size=400), positive + rng.normal(size=400)
    one, items = delong_pair(a, b, positive), delong_pair(a, b, positive, np.arange(400))
    assert items.variance == pytest.approx(one.variance, rel=1e-12)
    assert items.df is not None
    assert 300 < items.df < 399
    z, p = delong_test(items)
    assert p == pytest.approx(2 * stats.t.sf(abs(z), items.df), rel=1e-9)
    low, high = delong_interval(items)
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, items.df) * items.error, rel=1e-9)


def test_gaps_in_the_numbers_of_groups_do_not_count() -> None:
    rng = np.random.default_rng(1)
    positive = rng.random(60) < 0.5
    a, b, group = rng.normal(size=60), rng.normal(size=60), np.arange(60) % 6
    gaps, none = ({k: v for k, v in asdict(delong_pair(a, b, positive, numbers)).items() if k != "areas"} for numbers in (group * 3, group))
    assert gaps == pytest.approx(none, rel=1e-14)


# ---- what it refuses ---------------------------------------------------------------------------------------------------


def test_refusals() -> None:
    with pytest.raises(Degenerate, match="too few"):
        delong_pair([1, 2, 3], [1, 2, 3], [True, False, False])
    with pytest.raises(Degenerate, match="two groups"):
        delong_pair([1, 2, 3, 4], [1, 2, 4, 3], [True, False, False, True], np.zeros(4, int))
    with pytest.raises(DataError, match="3 and 4 scores of 4 items"):
        delong_pair([1, 2, 3], [1, 2, 3, 4], [True, False, False, True])
    with pytest.raises(DataError, match="NaN"):
        delong_pair([1, 2, 3, np.nan], [1, 2, 3, 4], [True, False, False, True])


# ---- calibration -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "exact"), [(20, 0.0447), (100, 0.0507)])
def test_type_i_error(n: int, exact: float) -> None:
    """Two equally good, correlated systems, half of the items positive: how often is p <= 0.05? Seeded, against 40,000 other runs."""
    rng, runs, false = np.random.default_rng(n), 800, 0
    positive = np.arange(n) < n // 2
    for _ in range(runs):
        shared = 1.2 * positive + rng.normal(size=n)
        false += delong_test(delong_pair(shared + rng.normal(size=n), shared + rng.normal(size=n), positive))[1] <= 0.05
    assert standard_errors(false / runs, runs, exact) < 4
