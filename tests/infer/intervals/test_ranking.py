"""AUC, average precision and rank correlation: all pairs, numeric derivatives and item resampling beside the one-pass formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import steelyard as sy
from oracles import central_differences, item_resamples, naive_average_precision, naive_delong, pairs_matrix
from steelyard.infer.intervals.area import on_logit_scale
from steelyard.infer.intervals.clusters import cluster_spread
from steelyard.infer.intervals.ranking import (
    auc_area,
    average_precision_error,
    bootstrap_scores,
    delong_error,
    grouped_auc_spread,
    placements,
    spearman_interval,
)
from steelyard.infer.normal import wilson
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.metrics import ranking
from steelyard.tally.scores import ScoreTable, tally_scores

Labelled = tuple[np.ndarray, np.ndarray]


@st.composite
def labelled(draw: st.DrawFn) -> Labelled:
    """At least two of each class, with many ties or with none."""
    distinct = draw(st.sampled_from([3, 8, 10_000]))
    score = draw(st.lists(st.integers(0, distinct), min_size=4, max_size=60))
    positive = draw(st.lists(st.booleans(), min_size=len(score), max_size=len(score)))
    positive[:4] = [True, True, False, False]
    return np.array(score, float), np.array(positive)


@given(data=labelled())
def test_delong_from_all_pairs(data: Labelled) -> None:
    score, positive = data
    table = tally_scores(score, positive)
    area, variance = naive_delong(score, positive)
    assert float(ranking.auc(table.positives, table.negatives)) == pytest.approx(area, abs=1e-12)
    assert delong_error(table) == pytest.approx(math.sqrt(variance), abs=1e-12)


@given(data=labelled())
def test_placements_are_row_and_column_means(data: Labelled) -> None:
    score, positive = data
    table = tally_scores(score, positive)
    v10, v01 = placements(table)
    psi = pairs_matrix(score, positive)
    place = np.searchsorted(table.score, score)
    assert v10[place[positive]] == pytest.approx(psi.mean(1))
    assert v01[place[~positive]] == pytest.approx(psi.mean(0))


@given(data=labelled())
def test_turning_the_scores_round(data: Labelled) -> None:
    score, positive = data
    here, there = tally_scores(score, positive), tally_scores(-score, positive)
    assert delong_error(here) == pytest.approx(delong_error(there), abs=1e-12)
    area = float(ranking.auc(here.positives, here.negatives))
    if 0 < area < 1 and delong_error(here) > 0:
        low, high = auc_area(here).plain(0.025)
        assert auc_area(there).plain(0.025) == pytest.approx((1 - high, 1 - low), abs=1e-12)
        assert 0 < low < area < high < 1


@given(data=labelled(), groups=st.integers(2, 20))
def test_groups(data: Labelled, groups: int) -> None:
    """Placement values by group, their leverage by hand."""
    score, positive = data
    table = tally_scores(score, positive)
    area, _ = naive_delong(score, positive)
    psi = pairs_matrix(score, positive)
    group = np.arange(len(score)) % min(groups, len(score))
    many = int(group.max()) + 1
    u = np.zeros(len(score))
    u[positive], u[~positive] = (psi.mean(1) - area) / positive.sum(), (psi.mean(0) - area) / (~positive).sum()
    p, q = int(positive.sum()), int((~positive).sum())
    effects, sizes, leverage = np.zeros(many), np.zeros(many), np.zeros(many)
    for g in range(many):
        here, there = int(positive[group == g].sum()), int((~positive)[group == g].sum())
        effects[g], sizes[g] = u[group == g].sum(), here / p + there / q
        known = here / p**2 + there / q**2  # how independent items of the group would vary, with the true mean and with its estimate
        leverage[g] = 1 - (here / p**2 * (1 - here / p) + there / q**2 * (1 - there / q)) / known
    if leverage.max() >= 1:
        with pytest.raises(Degenerate):
            grouped_auc_spread(table, score, positive, group, many)
        return
    wanted = cluster_spread(effects, sizes, squares=float(u @ u), answers=len(u), leverage=leverage)
    assert grouped_auc_spread(table, score, positive, group, many) == pytest.approx(wanted, abs=1e-12)


@given(data=labelled())
def test_groups_of_one_item_give_delongs_error(data: Labelled) -> None:
    score, positive = data
    table = tally_scores(score, positive)
    found = grouped_auc_spread(table, score, positive, np.arange(len(score)), len(score))
    assert found.variance == pytest.approx(delong_error(table) ** 2, abs=1e-12)


@given(data=labelled())
def test_average_precision_error_with_numeric_derivatives(data: Labelled) -> None:
    """The infinitesimal jackknife: derivative of AP by the weight of each item, sqrt of the sum of squares."""
    score, positive = data
    table = tally_scores(score, positive)
    m = len(table.score)
    count = np.concatenate([table.positives, table.negatives]).astype(float)
    used = np.flatnonzero(count)

    def ap(weights: np.ndarray) -> float:
        full = np.zeros(2 * m)
        full[used] = weights
        return float(ranking.average_precision(full[:m], full[m:]))

    assert ap(count[used]) == pytest.approx(naive_average_precision(score, positive), abs=1e-12)
    g = central_differences(ap, count[used], step=1e-5)
    assert average_precision_error(table) == pytest.approx(math.sqrt(count[used] @ g**2), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", ["auc", "average_precision"])
def test_bootstrap_is_resampling_items(name: str) -> None:
    rng = np.random.default_rng(3)
    positive = np.arange(70) < 25
    score = np.round(rng.normal(positive * 1.2, 1), 1)
    table = tally_scores(score, positive)
    draws = 2500
    low, high, undefined = bootstrap_scores(table, getattr(ranking, name), "percentile", draws=draws)
    rows = item_resamples(70, draws, np.random.default_rng(9))
    measure = (
        (lambda r: pairs_matrix(score[r], positive[r]).mean())
        if name == "auc"
        else (lambda r: naive_average_precision(score[r], positive[r]))
    )
    values = np.array([measure(r) for r in rows])
    error = 4 * math.sqrt(2) * math.sqrt(0.025 * 0.975 / draws) / stats.norm.pdf(1.96) * values.std()
    assert undefined == 0
    assert (low, high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=error)


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("name", ["auc", "average_precision"])
def test_bootstrap_repeats_itself(name: str, method: str) -> None:
    rng = np.random.default_rng(3)
    table = tally_scores(np.round(rng.normal(size=60), 1), rng.random(60) < 0.4)
    assert bootstrap_scores(table, getattr(ranking, name), method, draws=400, seed=5) == bootstrap_scores(
        table, getattr(ranking, name), method, draws=400, seed=5
    )
    assert bootstrap_scores(table, getattr(ranking, name), method, draws=400, seed=5) != bootstrap_scores(
        table, getattr(ranking, name), method, draws=400, seed=6
    )


def test_logit_scale_by_hand() -> None:
    """A +- z se on the scale log(A / (1 - A)), whose derivative is 1 / (A (1 - A))."""
    a, se = 0.9, 0.03
    wanted = [1 / (1 + math.exp(-(math.log(9) + sign * 1.96 * se / 0.09))) for sign in (-1, 1)]
    assert on_logit_scale(a, se, 1.96) == pytest.approx(wanted)
    for estimate, error in ((1.0, 0.1), (0.0, 0.1), (0.5, 0.0)):
        with pytest.raises(Degenerate):
            on_logit_scale(estimate, error, 1.96)
    assert on_logit_scale(0.5, 1e9, 1.96) == (pytest.approx(0), pytest.approx(1))


def test_a_perfect_order_has_the_width_of_twice_the_smaller_class() -> None:
    score, truth = [0.1, 0.2, 0.3, 0.4, 0.7, 0.8, 0.9], [0, 0, 0, 0, 1, 1, 1]
    m = sy.measure(truth, probability=score, metric="auc")
    assert m.estimate == 1
    assert m.interval is not None
    assert (m.interval.low, m.interval.high) == pytest.approx(wilson(6, 6))
    plain = sy.measure(truth, probability=score, metric="auc", interval="delong")
    assert plain.interval is not None
    assert (plain.interval.low, plain.interval.method) == (pytest.approx(m.interval.low), "delong-wilson")
    assert any("delong-wilson is used" in sentence for sentence in plain.warnings)


def test_one_of_a_class_is_too_few() -> None:
    with pytest.raises(Degenerate, match="fewer than two"):
        delong_error(ScoreTable(score=np.arange(3.0), positives=np.array([0, 1, 0]), negatives=np.array([1, 1, 1])))


@given(rho=st.floats(-0.99, 0.99), n=st.integers(4, 500))
def test_spearman_by_hand(rho: float, n: int) -> None:
    """Fisher's z with Bonett and Wright's standard error, and its mirror."""
    reach = stats.norm.ppf(0.975) * math.sqrt((1 + rho**2 / 2) / (n - 3))
    low, high = spearman_interval(rho, n)
    assert (low, high) == pytest.approx((math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach)), abs=1e-12)
    assert spearman_interval(-rho, n) == pytest.approx((-high, -low), abs=1e-12)


@pytest.mark.parametrize(("rho", "n"), [(0.5, 3), (1.0, 50), (-1.0, 50)])
def test_spearman_has_no_interval(rho: float, n: int) -> None:
    with pytest.raises(Degenerate):
        spearman_interval(rho, n)


def test_public_intervals_of_rank_correlation() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    m = sy.measure(x, y, metric="spearman")
    assert m.interval is not None
    rho = stats.spearmanr(x, y).statistic
    assert (m.interval.low, m.interval.high) == pytest.approx(spearman_interval(rho, 40))
