"""Tonight against the bag: every way to deal the runs, enumerated; and what must not change the answer."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.infer.nights.bag import NORMAL_FROM, BagEvidence, bag_of_outcomes, bag_of_scores, bag_score
from steelyard.infer.paired.mcnemar import mcnemar_midp

bags = st.integers(1, 4).flatmap(
    lambda runs: st.lists(st.tuples(st.integers(0, runs), st.integers(0, 1)), min_size=1, max_size=5).map(lambda items: (runs, items))
)


def enumerated(runs: int, items: list[tuple[int, int]]) -> tuple[float, float, float]:
    """(p, z, mean z): of every item, each of its runs could have been tonight's."""
    ways = [[1] * (s + y) + [0] * (runs + 1 - s - y) for s, y in items]
    losses = [sum(1 - x for x in way) for way in itertools.product(*ways)]
    seen = sum(1 - y for _, y in items)

    def p_of(x: int) -> float:
        return (sum(other > x for other in losses) + sum(other == x for other in losses) / 2) / len(losses)

    z = {x: float(stats.norm.isf(p_of(x))) for x in set(losses)}
    return p_of(seen), z[seen], sum(z[x] for x in losses) / len(losses)


@given(bag=bags)
def test_the_p_of_a_night_is_the_share_of_all_ways_to_deal_the_runs(bag: tuple[int, list[tuple[int, int]]]) -> None:
    runs, items = bag
    found = bag_of_outcomes([s for s, _ in items], runs, [y for _, y in items])
    p, z, mean = enumerated(runs, items)
    assert found.p_value == pytest.approx(p, abs=1e-12)
    assert found.z == pytest.approx(z, abs=1e-9)
    assert found.mean_z == pytest.approx(mean, abs=1e-9)


@given(lost=st.integers(0, 30), gained=st.integers(0, 30))
def test_the_first_night_after_one_run_is_mcnemars(lost: int, gained: int) -> None:
    right, tonight = [1] * lost + [0] * gained + [1, 0], [0] * lost + [1] * gained + [1, 0]
    found = bag_of_outcomes(right, 1, tonight)
    assert found.informative == (lost + gained > 0)
    if lost + gained:
        assert found.p_value == pytest.approx(mcnemar_midp(gained, lost, "less"), abs=1e-12)
        assert bag_score(right, 1, tonight)[0] == pytest.approx((gained - lost) / math.sqrt(gained + lost))


def test_many_items_are_the_convolution_of_their_coins() -> None:
    rng = np.random.default_rng(3)
    runs, n = 50, 700
    chance = np.concatenate([rng.uniform(0, 0.1, 300), rng.uniform(0.9, 1, 300), rng.uniform(0.2, 0.8, 100)])
    right, tonight = rng.binomial(runs, chance), (rng.random(n) < chance).astype(int)
    law = np.ones(1)
    q = (right + tonight) / (runs + 1)
    for one in q.tolist():
        law = np.convolve(law, [one, 1 - one])
    lost = int((1 - tonight).sum())
    found = bag_of_outcomes(right, runs, tonight)
    assert found.p_value == pytest.approx(law[lost + 1 :].sum() + law[lost] / 2, rel=1e-9)
    assert float((q * (1 - q)).sum()) < NORMAL_FROM


def test_far_tails_keep_their_digits() -> None:
    found = bag_of_outcomes([4] * 60, 4, [0] * 60)
    assert found.p_value == pytest.approx(0.5 * 5.0**-60, rel=1e-9)
    assert found.z == pytest.approx(float(stats.norm.isf(0.5 * 5.0**-60)), rel=1e-9)
    assert bag_of_outcomes([0] * 60, 4, [1] * 60).z == pytest.approx(-found.z, rel=1e-9)


def test_a_law_that_is_normal_enough_is_taken_as_normal_and_joins_the_exact_one() -> None:
    rng = np.random.default_rng(5)
    right, tonight = rng.binomial(1, 0.5, 4000), rng.binomial(1, 0.48, 4000)
    found = bag_of_outcomes(right, 1, tonight)
    lost, gained = int(((right == 1) & (tonight == 0)).sum()), int(((right == 0) & (tonight == 1)).sum())
    assert (lost + gained) / 4 > NORMAL_FROM
    assert found.p_value == pytest.approx(mcnemar_midp(gained, lost, "less"), rel=0.02)


def test_nothing_that_ever_differed_says_nothing() -> None:
    assert bag_of_outcomes([3, 0], 3, [1, 0]) == BagEvidence()
    assert bag_of_scores([[0.2, 0.2], [0.7, 0.7]], [0.2, 0.7]) == BagEvidence()
    assert bag_of_outcomes([], 3, []) == BagEvidence()


def test_an_item_without_an_earlier_run_weighs_nothing() -> None:
    assert bag_of_outcomes([3, 0, 2], [3, 0, 3], [0, 1, 1]) == bag_of_outcomes([3, 2], [3, 3], [0, 1])


def test_scores_are_dealt_as_outcomes_are() -> None:
    """Right or wrong as scores: the drawn p is the exact one within what 2,000 draws can tell."""
    rng = np.random.default_rng(7)
    chance = rng.uniform(0.2, 0.8, 60)
    earlier = (rng.random((60, 6)) < chance[:, None]).astype(float)
    tonight = (rng.random(60) < chance - 0.1).astype(float)
    exact = bag_of_outcomes(earlier.sum(1), 6, tonight)
    drawn = bag_of_scores(earlier, tonight, seed=1)
    assert drawn.p_value == pytest.approx(exact.p_value, abs=4 * math.sqrt(exact.p_value / 2000) + 0.001)
    assert drawn.mean_z == pytest.approx(exact.mean_z, abs=0.1)
    assert bag_of_scores(earlier, tonight, seed=1) == drawn


def test_scores_that_differ_by_rounding_are_equal() -> None:
    earlier = [[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]]
    assert bag_of_scores(earlier, [0.3, 0.3]).p_value == pytest.approx(0.5, abs=0.3)
    one = bag_of_scores([[0.1, 0.4]] * 3, [0.4] * 3, seed=2)
    other = bag_of_scores([[1e6 + 0.1, 1e6 + 0.4]] * 3, [1e6 + 0.4] * 3, seed=2)
    assert other.p_value == pytest.approx(one.p_value, abs=0.02)


def test_scores_of_items_asked_unequally_often_are_drawn_from_their_own() -> None:
    earlier = [[0.0, math.nan, math.nan], [0.0, 0.0, 0.0]]
    found = bag_of_scores(earlier, [1.0, 1.0], seed=4)
    # P(both) = 1/2 x 1/4, P(one) = 1/2: p = 7/8 + 1/16
    assert found.p_value == pytest.approx(15 / 16, abs=0.02)


def test_a_fall_of_all_scores_is_as_rare_as_can_be_told() -> None:
    rng = np.random.default_rng(9)
    earlier = rng.normal(0.8, 0.01, (50, 5))
    assert bag_of_scores(earlier, earlier.min(1) - 0.1).p_value == pytest.approx(0.5 / 2001)


def test_drawn_scores_are_right_on_average_and_no_less_sure_than_independent_draws() -> None:
    """Every way to deal five items of four runs, some asked less often: the drawn p has their share as its mean."""
    rng = np.random.default_rng(13)
    earlier = rng.normal(size=(5, 3)).round(1)
    earlier[0, 1:], earlier[1, 2] = math.nan, math.nan
    tonight = rng.normal(-0.3, 1, 5).round(1)
    ways = [[*row[~np.isnan(row)], y] for row, y in zip(earlier, tonight, strict=True)]
    totals = np.array([math.fsum(way) for way in itertools.product(*ways)])
    gap = totals - math.fsum(tonight)
    exact = float((gap < -1e-9).mean() + (np.abs(gap) <= 1e-9).mean() / 2)
    drawn = np.array([bag_of_scores(earlier, tonight, seed=seed).p_value for seed in range(200)])
    independent = math.sqrt(exact * (1 - exact) / 2000)
    assert 0.02 < exact < 0.98
    assert drawn.mean() == pytest.approx(exact, abs=4 * independent / math.sqrt(200) + 0.0005)
    assert drawn.std() < 1.2 * independent


def test_one_item_alone_has_every_one_of_its_scores_equally_often() -> None:
    found = bag_of_scores([[0.1, 0.2, 0.3], [0.5, 0.5, 0.5]], [0.4, 0.5], draws=2000)
    assert found.p_value == pytest.approx(7 / 8, abs=0.5 / 2000)
