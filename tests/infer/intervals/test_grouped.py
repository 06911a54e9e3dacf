"""Grouped proportions: the formula by hand, its limits, and what happens with too few groups."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import steelyard as sy
from steelyard.infer.intervals.clusters import Groups, cluster_spread
from steelyard.infer.intervals.grouped import GroupedProportion, grouped_proportion, intraclass_correlation
from steelyard.infer.normal import wilson

groups_of = st.lists(st.tuples(st.integers(1, 12), st.floats(0, 1)), min_size=5, max_size=25)


@given(data=groups_of, level=st.sampled_from([0.8, 0.95, 0.99]))
def test_by_hand(data: list[tuple[int, float]], level: float) -> None:
    trials = np.array([n for n, _ in data], float)
    successes = np.floor(trials * np.array([share for _, share in data]))
    total, groups = trials.sum(), len(trials)
    p = successes.sum() / total
    assume(0 < p < 1)
    g = grouped_proportion(successes, trials, int(total))
    v, df = cluster_spread((successes - p * trials) / total, trials, squares=p * (1 - p) / total)
    seen = max(1.0, v / (p * (1 - p) / total))
    k = min(x.sum() ** 2 / (x**2).sum() for x in (successes, trials - successes))
    deff = ((k - 1) * seen + 0.5 * max(seen, total / groups)) / (k - 0.5)
    assert (g.estimate, g.design_effect, g.n_effective) == pytest.approx((p, deff, total / deff))
    t, m = stats.t.ppf((1 + level) / 2, df), total / deff
    centre, reach = (p + t * t / 2 / m) / (1 + t * t / m), t / (1 + t * t / m) * math.sqrt(p * (1 - p) / m + t * t / 4 / m**2)
    assert g.wilson(level) == pytest.approx((centre - reach, centre + reach), abs=1e-9)


@given(data=groups_of)
def test_through_the_public_door(data: list[tuple[int, float]]) -> None:
    """Scores with their groups, in any order, give the formula on group sums; F1 takes it on Jaccard."""
    trials = np.array([n for n, _ in data])
    successes = np.floor(trials * np.array([share for _, share in data])).astype(int)
    score = np.concatenate([[1.0] * y + [0.0] * (n - y) for y, n in zip(successes, trials, strict=True)])
    group = np.repeat([f"g{i}" for i in range(len(data))], trials)
    order = np.random.default_rng(0).permutation(len(score))
    m = sy.measure(score[order], group=group[order].tolist(), metric="accuracy")
    wanted = grouped_proportion(successes.astype(float), trials.astype(float), int(trials.sum()))
    there = Groups.of(trials)
    assert m.row.details["groups_effective"] == pytest.approx(there.effective)
    assert there.few == any("groups" in sentence for sentence in m.warnings)
    if there.too_few:
        assert m.interval is None
        return
    assert m.interval is not None
    assert (m.interval.low, m.interval.high) == pytest.approx(wanted.wilson(), abs=1e-12)
    assert m.row.details["groups"] == len(data)
    assert m.row.details.design_effect == (None if wanted.design_effect is None else pytest.approx(wanted.design_effect))
    assert m.interval.high > m.interval.low


def test_f1_of_groups_is_on_jaccard() -> None:
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(12), 10)
    truth = rng.integers(0, 2, 120)
    prediction = np.where(rng.random(120) < 0.8, truth, 1 - truth)
    m = sy.measure(truth, prediction, group=group, metric="f1", positive=1)
    hit = np.bincount(group, weights=(truth == 1) & (prediction == 1))
    union = np.bincount(group, weights=(truth == 1) | (prediction == 1))
    low, high = grouped_proportion(hit, union, int(union.sum())).wilson()
    assert m.interval is not None
    assert (m.interval.low, m.interval.high) == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)), abs=1e-12)
    assert m.estimate == pytest.approx(2 * hit.sum() / (hit.sum() + union.sum()))


def test_groups_of_one_item_cost_nothing_but_t() -> None:
    """Every item its own group: the design effect is n/(n-1) of a binomial, never below 1."""
    y = np.array([1.0] * 30 + [0.0] * 10)
    g = grouped_proportion(y, np.ones(40), 40)
    assert g.design_effect == pytest.approx(40 / 39)
    assert intraclass_correlation(y, np.ones(40)) is None


def test_groups_that_are_all_right_or_all_wrong_count_as_one_item_each() -> None:
    y = np.array([10.0, 0, 10, 10, 0, 10, 10, 10])
    g = grouped_proportion(y, np.full(8, 10.0), 80)
    assert g.design_effect == pytest.approx(10 * 8 / 7)
    assert intraclass_correlation(y, np.full(8, 10.0)) == pytest.approx(1)


@pytest.mark.parametrize("successes", [0.0, 10.0])
def test_a_perfect_score_counts_groups_not_items(successes: float) -> None:
    """The spread says nothing at 0 and 1: n_eff is the number of (equal) groups, and the interval has width."""
    g = grouped_proportion(np.full(8, successes), np.full(8, 10.0), 80)
    assert g.design_effect is None
    assert g.n_effective == pytest.approx(8)
    assert g.wilson() == wilson(successes / 10 * 8, 8, critical=stats.t.ppf(0.975, 7))
    uneven = grouped_proportion(np.array([50.0, 1, 1, 1, 1]), np.array([50.0, 1, 1, 1, 1]), 54)
    assert uneven.n_effective == 5  # the chance that all are right is at most p^5, whatever their sizes


def test_underdispersion_is_not_rewarded() -> None:
    g = grouped_proportion(np.full(10, 5.0), np.full(10, 10.0), 100)
    assert g.design_effect == pytest.approx((9 * 1 + 0.5 * 10) / 9.5)


# ---- more mistakes, lower bounds --------------------------------------------------------------------------------------------


@given(sizes=st.lists(st.integers(1, 30), min_size=5, max_size=40), where=st.integers(0, 39), level=st.sampled_from([0.8, 0.95, 0.99]))
def test_one_mistake_never_raises_the_lower_bound_above_that_of_none(sizes: list[int], where: int, level: float) -> None:
    """And mirrored: one right answer never lowers the upper bound below that of none."""
    trials = np.array(sizes, float)
    one = np.zeros(len(trials))
    one[where % len(trials)] = 1
    assume(trials.sum() > 1)
    perfect, nearly = (grouped_proportion(y, trials, trials.sum()) for y in (trials, trials - one))
    for side in ("two", "lower"):
        assert nearly.wilson(level, side)[0] <= perfect.wilson(level, side)[0] + 1e-12
    nothing, hardly = (grouped_proportion(y, trials, trials.sum()) for y in (np.zeros(len(trials)), one))
    for side in ("two", "upper"):
        assert hardly.wilson(level, side)[1] >= nothing.wilson(level, side)[1] - 1e-12
    assert hardly.wilson(level) == pytest.approx(tuple(1 - x for x in reversed(nearly.wilson(level))), abs=1e-9)


@given(n=st.floats(1, 500), df=st.floats(1, 200), level=st.sampled_from([0.8, 0.95, 0.99]))
def test_at_a_fixed_design_effect_both_bounds_rise_with_the_share(n: float, df: float, level: float) -> None:
    ends = [
        GroupedProportion(estimate=p, groups=20, answers=500, design_effect=500 / n, n_effective=n, df=df).wilson(level)
        for p in np.linspace(0, 1, 41)
    ]
    assert (np.diff(np.array(ends), axis=0) >= -1e-12).all()


def test_twenty_groups_of_five_with_no_mistake_and_with_one() -> None:
    scores, groups = np.ones(100), np.repeat(np.arange(20), 5)
    none = sy.measure(scores, group=groups, metric="accuracy").interval
    scores[0] = 0
    one = sy.measure(scores, group=groups, metric="accuracy").interval
    assert none is not None
    assert one is not None
    assert (none.low, none.high) == pytest.approx((20 / (20 + stats.t.ppf(0.975, 19) ** 2), 1.0))
    assert one.low < none.low
    assert one.high < none.high


def test_too_few_groups() -> None:
    m = sy.measure([1, 0, 1, 1, 0, 1, 1, 1], group=[0, 0, 1, 1, 2, 2, 3, 3], metric="accuracy")
    assert m.estimate == 0.75
    assert m.interval is None
    assert any("4 groups" in sentence for sentence in m.warnings)


@given(data=groups_of)
def test_intraclass_correlation_is_anova(data: list[tuple[int, float]]) -> None:
    trials = np.array([n for n, _ in data], float)
    successes = np.floor(trials * np.array([share for _, share in data]))
    assume(trials.sum() > len(trials))
    items = [np.array([1.0] * int(y) + [0.0] * int(n - y)) for y, n in zip(successes, trials, strict=True)]
    every = np.concatenate(items)
    between = sum(len(x) * (x.mean() - every.mean()) ** 2 for x in items) / (len(items) - 1)
    within = sum(((x - x.mean()) ** 2).sum() for x in items) / (len(every) - len(items))
    size = (len(every) - sum(len(x) ** 2 for x in items) / len(every)) / (len(items) - 1)
    found = intraclass_correlation(successes, trials)
    if between + (size - 1) * within <= 1e-12:
        assert found is None
    else:
        assert found == pytest.approx((between - within) / (between + (size - 1) * within), abs=1e-9)
