"""AUC and average precision with few items of a class: a case by hand, mirrors, order of the ends, and no cliff."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cases import every, seldom
from oracles import naive_average_precision, naive_delong, pairs_matrix
from steelyard.infer.intervals.area import Area
from steelyard.infer.intervals.ranking import auc_area, precision_area
from steelyard.infer.normal import wilson
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.tally.scores import ScoreTable, tally_scores

Labelled = tuple[np.ndarray, np.ndarray]
AreaOf = Callable[[ScoreTable], Area]


@st.composite
def few(draw: Any, most: int = 30) -> Labelled:
    """Two to eight items of one class among up to `most` of the other, with many ties or with none."""
    small, large = draw(st.integers(2, 8)), draw(st.integers(2, most))
    distinct = draw(st.sampled_from([3, 10, 10_000]))
    score = draw(st.lists(st.integers(0, distinct), min_size=small + large, max_size=small + large))
    positive = np.arange(small + large) < small
    return np.array(score, float), positive if draw(st.booleans()) else ~positive


def on_logit(value: float, error: float, critical: float) -> tuple[float, float]:
    reach = critical * error / (value * (1 - value))
    low, high = (1 / (1 + math.exp(-(math.log(value / (1 - value)) + sign * reach))) for sign in (-1, 1))
    return low, high


def naive_ends(score: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    """The rule again, from all pairs of a positive and a negative, with SciPy's t and the score interval solved from its definition."""
    psi = pairs_matrix(score, positive)
    area, parts = float(psi.mean()), [float(np.var(psi.mean(axis), ddof=1)) / psi.shape[1 - axis] for axis in (1, 0)]
    trials = 2 * min(psi.shape)
    z2 = stats.norm.ppf(0.975) ** 2
    roots = np.roots([1 + z2 / trials, -(2 * area + z2 / trials), area * area])  # (area - x)^2 = z^2 x (1 - x) / trials
    wide = float(roots.real.min()), float(roots.real.max())
    if sum(parts) < 1e-14 or not 0 < area < 1:
        return wide
    df = sum(parts) ** 2 / sum(v * v / (n - 1) for v, n in zip(parts, psi.shape, strict=True))
    low, high = on_logit(area, math.sqrt(sum(parts)), stats.t.ppf(0.975, df))
    share = min(1.0, max(0.0, 1.5 - trials * min(area, 1 - area) / 10))
    return low - share * max(0.0, low - wide[0]), high + share * max(0.0, wide[1] - high)


def test_five_positives_by_hand() -> None:
    """Positives at 3, 5, 6, 7, 8 among negatives at 1, 2, 4, 9: placements 2/4, 3/4 (four times) and 1, 1, 4/5, 0.

    AUC = 7/10; S10 = 4 (1/20)^2 + (1/5)^2 over 4 = 1/80, S01 = 2 (3/10)^2 + (1/10)^2 + (7/10)^2 over 3 = 17/75; the variance is
    1/400 + 17/300 = 71/1200, and Satterthwaite's degrees (71/1200)^2 / ((1/400)^2/4 + (17/300)^2/3) = 60492/18523.
    Wilson's n is 8: AUC x 8 = 5.6 of 8.
    """
    score, positive = np.array([3.0, 5, 6, 7, 8, 1, 2, 4, 9]), np.arange(9) < 5
    area = auc_area(tally_scores(score, positive))
    assert area.value == pytest.approx(float(Fraction(7, 10)))
    assert area.variance == pytest.approx(float(Fraction(71, 1200)))
    assert area.df == pytest.approx(float(Fraction(60492, 18523)))
    assert area.trials == 8
    assert area.scarcity == 1  # 8 x 3/10 = 2.4 misses
    t = 3.0408  # of 3.2658 degrees, between 3.1824 (3) and 2.7764 (4) of the tables
    reach = t * math.sqrt(71 / 1200) / 0.21
    low, high = (1 / (1 + math.exp(-(math.log(7 / 3) + sign * reach))) for sign in (-1, 1))
    assert area.plain(0.025) == pytest.approx((low, high), abs=1e-4)
    z2 = 1.959964**2
    wide = [(5.6 + z2 / 2 + sign * math.sqrt(z2 * (5.6 * 2.4 / 8 + z2 / 4))) / (8 + z2) for sign in (-1, 1)]
    assert auc_area(tally_scores(score, positive)).ends(0.025) == pytest.approx((min(low, wide[0]), max(high, wide[1])), abs=1e-4)


@given(data=few())
def test_is_the_rule_on_all_pairs(data: Labelled) -> None:
    table = tally_scores(*data)
    assert auc_area(table).ends(0.025) == pytest.approx(naive_ends(*data), abs=1e-9)
    assert auc_area(table).variance == pytest.approx(naive_delong(*data)[1], abs=1e-12)


@given(data=few())
def test_turning_the_scores_round_or_swapping_the_classes_mirrors_the_interval(data: Labelled) -> None:
    score, positive = data
    low, high = auc_area(tally_scores(score, positive)).ends(0.025)
    assert auc_area(tally_scores(-score, positive)).ends(0.025) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert auc_area(tally_scores(score, ~positive)).ends(0.025) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert auc_area(tally_scores(-score, ~positive)).ends(0.025) == pytest.approx((low, high), abs=1e-9)


@given(data=few(), of=st.sampled_from([auc_area, precision_area]))
def test_the_ends_hold_the_value_and_widen_with_the_level(data: Labelled, of: AreaOf) -> None:
    area = of(tally_scores(*data))
    before = (area.value, area.value)
    for level in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
        low, high = area.ends((1 - level) / 2)
        assert -1e-12 <= low <= before[0] + 1e-12
        assert before[1] - 1e-12 <= high <= 1 + 1e-12
        before = low, high


@given(data=few())
def test_no_order_has_a_higher_lower_end_than_the_perfect_one(data: Labelled) -> None:
    """Where DeLong's error vanishes with the last mistake, its lower end jumps down when that mistake goes."""
    score, positive = data
    best = auc_area(tally_scores(positive * 1.0, positive)).ends(0.025)
    assert best[0] >= auc_area(tally_scores(score, positive)).ends(0.025)[0] - 1e-12
    assert best[1] == 1
    area = auc_area(tally_scores(score, positive))
    if not area.spread or area.scarcity == 1:  # the same for one step from the perfect order
        assert wilson(area.value * area.trials, area.trials)[0] >= auc_area(tally_scores(score, positive)).ends(0.025)[0] - 1e-12


def test_a_positive_that_falls_never_raises_an_end() -> None:
    """One of six positives falls past ten negatives, step by step."""
    negatives, positives = np.arange(10.0), 10 + np.arange(6.0)
    ends = []
    for place in np.arange(10.5, -1, -1):
        score = np.concatenate([[place], positives[1:], negatives])
        ends.append(auc_area(tally_scores(score, np.arange(16) < 6)).ends(0.025))
    assert (np.diff(np.array(ends), axis=0) <= 1e-12).all()


@pytest.mark.parametrize("shift", [0.5, 3.0, *seldom(1.2, 2.0)])
@every(("of", "grows"), [(auc_area, "positives"), (auc_area, "both"), (precision_area, "positives")])
def test_one_item_more_never_changes_the_width_by_half(of: AreaOf, grows: str, shift: float) -> None:
    """Classes that keep their law (its quantiles) while one of them, or both, gain an item at a time: through every limit of the rule."""
    widths = []
    for size in range(5, 160):
        many = size if grows == "both" else 300
        share = [stats.norm.ppf((np.arange(n) + 0.5) / n) for n in (size, many)]
        table = tally_scores(np.concatenate([share[0] + shift, share[1]]), np.arange(size + many) < size)
        low, high = of(table).ends(0.025)
        widths.append(high - low)
    steps = np.array(widths[1:]) / np.array(widths[:-1])
    assert steps.max() < 1.25
    assert steps.min() > 0.75


@given(value=st.floats(0.01, 0.99), error=st.floats(0.001, 0.2), trials=st.integers(2, 3000))
def test_the_widening_fades_in_a_straight_line(value: float, error: float, trials: int) -> None:
    area = Area(value=value, variance=error**2, df=20.0, trials=trials)
    plain, ends = area.plain(0.025), area.ends(0.025)
    misses = trials * min(value, 1 - value)
    wide = wilson(value * trials, trials)
    hull = min(plain[0], wide[0]), max(plain[1], wide[1])
    share = 1.0 if misses <= 5 else 0.0 if misses >= 15 else 1.5 - misses / 10
    assert area.scarcity == pytest.approx(share)
    assert ends == pytest.approx(tuple(p + share * (h - p) for p, h in zip(plain, hull, strict=True)), abs=1e-12)


def test_many_items_give_delong_alone() -> None:
    rng = np.random.default_rng(1)
    positive = np.arange(600) < 200
    table = tally_scores(rng.normal(positive * 1.0, 1), positive)
    assert auc_area(table).scarcity == 0
    assert auc_area(table).ends(0.025) == auc_area(table).plain(0.025)


@given(data=few())
def test_average_precision_is_the_mean_of_the_precisions_of_its_positives(data: Labelled) -> None:
    table = tally_scores(*data)
    area = precision_area(table)
    assert area.value == pytest.approx(naive_average_precision(*data), abs=1e-12)
    assert (area.trials, area.df) == (table.n_positive, table.n_positive - 1)


def test_all_scores_equal_have_width() -> None:
    """An AUC of 1/2 without any spread: many equal scores do not make it certain."""
    table = ScoreTable(score=np.zeros(1), positives=np.array([40]), negatives=np.array([60]))
    assert auc_area(table).ends(0.025) == pytest.approx(wilson(40, 80))
    with pytest.raises(Degenerate):
        auc_area(table).plain(0.025)
