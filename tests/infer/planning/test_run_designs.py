"""What a run will cost: the study's tables, the rule itself run item by item, pools that end, and both errors."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from cases import seldom
from steelyard.errors import UsageError
from steelyard.infer.planning.run_designs import EVENLY, FAILING, answers_on_record, one_answer, scores_on_record, strata_for
from steelyard.infer.planning.stored_answers import beta_answers, recorded_answers
from steelyard.infer.sequential.el_cost import bounds_rows, evidence_rows, expected_ends
from steelyard.infer.sequential.el_sprt import EmpiricalLikelihoodSprt
from steelyard.infer.sequential.empirical_likelihood import evidence_against

# research/calls.md, 3, by another program (4,000 to 8,000 runs): theta .02, accuracy .75; calls healthy, calls with the drop anywhere.
PLAIN = {(0.05, 4): (281, 540), (0.05, 16): (253, 486)}
STRATA = {(0.02, 4): (164, 304), (0.05, 4): (236, 450), (0.05, 16): (203, 396), (0.1, 4): (409, 753)}


@pytest.mark.parametrize(("churn", "answers"), [(0.05, 16), *seldom((0.05, 4))])
def test_answers_on_record_as_simulated(churn: float, answers: int) -> None:
    found = answers_on_record(beta_answers(0.75, churn, answers), 0.02)
    healthy, dropped = PLAIN[churn, answers]
    assert (found.healthy.items, found.usual.items) == (pytest.approx(healthy, rel=0.08), pytest.approx(dropped, rel=0.08))
    assert found.alpha <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)
    assert min(each.regression for each in found.dropped.values()) >= 0.8 - 3 * math.sqrt(0.16 / 1000)


@pytest.mark.parametrize(("churn", "answers"), [(0.02, 4), (0.05, 16), *seldom((0.05, 4), (0.1, 4))])
def test_strata_as_simulated(churn: float, answers: int) -> None:
    items = beta_answers(0.75, churn, answers)
    found = answers_on_record(items, 0.02, strata=strata_for(items, 0.02))
    healthy, dropped = STRATA[churn, answers]
    assert (found.healthy.items, found.usual.items) == (pytest.approx(healthy, rel=0.08), pytest.approx(dropped, rel=0.09))
    assert found.alpha <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)
    assert min(each.regression for each in found.dropped.values()) >= 0.8 - 3 * math.sqrt(0.16 / 1000)
    assert found.bound is not None
    assert found.bound[0] < found.healthy.items
    assert found.bound[1] < min(each.items for each in found.dropped.values())


def test_one_answer_as_published() -> None:
    found = one_answer(0.02, 0.05)  # research/calls.md, 1
    assert (found.healthy.items, found.usual.items) == (pytest.approx(385, rel=0.03), pytest.approx(715, rel=0.02))
    assert (found.healthy.items_90, found.usual.items_90) == (pytest.approx(832, abs=64), pytest.approx(1408, abs=64))
    small = one_answer(0.02, 0.05, pool=1312)
    assert small.usual.regression == pytest.approx(0.748, abs=0.02)
    assert (small.usual.passed, small.usual.exhausted) == (pytest.approx(0.183, abs=0.02), pytest.approx(0.070, abs=0.02))


@pytest.mark.parametrize("dropped", [False, True])
def test_the_rule_itself_over_a_pool_in_its_order(dropped: bool) -> None:
    """Oracle: pools of items with chances of their own, in the order of u / k, answered one by one and looked at by the rule."""
    rng, theta, pool, runs = np.random.default_rng(5), 0.1, 250, 300
    items = beta_answers(0.7, 0.2, 4)
    strata = strata_for(items, theta, pool=100_000)
    assert strata is not None
    ends, alarms, open_ends = [], 0, 0
    for _ in range(runs):
        kind = rng.choice(len(items.share), p=items.share, size=pool)
        wavering = items.wavering[kind]
        order, enough = strata.order(rng.random(pool), wavering)
        after = items.dropped(theta) if dropped else items
        assert after is not None
        y = rng.random(pool) < np.array(after.chance)[kind]
        x = strata.weighted(y - items.stored[kind], wavering)[order][:enough]
        rule = EmpiricalLikelihoodSprt(theta=theta, score_range=(0.0, 1.0), ends=strata.ends)
        n = 0
        while rule.decision == "continue":
            n = min(n + 32, enough)
            rule.look(x[:n], last=n == enough)
        ends.append(n)
        alarms += rule.decision == "regression"
        open_ends += rule.decision == "exhausted"
    found = answers_on_record(items, theta, strata=strata, pool=pool, runs=2000)
    foreseen = found.usual if dropped else found.healthy
    assert abs(alarms / runs - foreseen.regression) < 4 * math.sqrt(0.25 / runs)
    assert abs(open_ends / runs - foreseen.exhausted) < 4 * math.sqrt(0.25 / runs)
    assert abs(np.mean(ends) - foreseen.items) < 4 * math.hypot(float(np.std(ends)) / math.sqrt(runs), foreseen.items_error)
    assert found.reach is not None
    assert found.reach < pool


def test_pools_that_end_leave_runs_open() -> None:
    items = beta_answers(0.75, 0.05, 4)
    small, large = (answers_on_record(items, 0.02, pool=pool, runs=400) for pool in (300, 20_000))
    assert small.usual.exhausted > 0.2 > large.usual.exhausted == 0
    assert small.usual.at_most <= 300
    for found in (small, large):
        for each in (found.healthy, *found.dropped.values()):
            assert each.regression + each.passed + each.exhausted == pytest.approx(1)
    known = answers_on_record(items, 0.02, pool=300, reach=200, runs=400)
    assert known.reach == 200 == known.usual.at_most


def test_small_pools_are_not_asked_in_strata() -> None:
    items = beta_answers(0.75, 0.05, 4)
    assert strata_for(items, 0.02, pool=1000) is None
    assert strata_for(beta_answers(0.75, 0.05, 2), 0.02) is None
    assert strata_for(beta_answers(0.75, 0.0, 4), 0.02) is None
    found = strata_for(items, 0.02)
    assert found is not None
    assert found.factor == 2


def test_a_record_is_foreseen_like_its_law() -> None:
    rng = np.random.default_rng(6)
    law = beta_answers(0.75, 0.05, 4)
    counts = rng.multinomial(5000, law.share)
    record = recorded_answers(np.repeat(law.right, counts).tolist(), [4] * 5000)
    one, two = (answers_on_record(each, 0.05, runs=800) for each in (law, record))
    assert two.healthy.items == pytest.approx(one.healthy.items, rel=0.15)
    assert two.usual.items == pytest.approx(one.usual.items, rel=0.15)


def test_drops_that_cannot_be_lost() -> None:
    with pytest.raises(UsageError, match=r"theta 0\.5 cannot be lost at an accuracy of 0\.4"):
        answers_on_record(beta_answers(0.4, 0.05, 4), 0.5)
    with pytest.raises(UsageError, match="cannot be lost where scores are"):
        scores_on_record([0.1, -0.1], (0.0, 1.0), 0.03, 0.05)


@pytest.mark.parametrize("scale", [100.0, *seldom(1.0)])
def test_scores(scale: float) -> None:
    x = [scale * NormalDist(0, 0.2).inv_cdf((i + 0.5) / 400) for i in range(400)]
    found = scores_on_record(x, (0.0, scale), 0.7 * scale, 0.02 * scale, runs=400)
    # research/calls.md, 2: noise .2 costs 320 calls healthy, 464 with a benign shift (before the later constants, 2 to 4% less).
    assert found.healthy.items == pytest.approx(325, rel=0.12)
    assert found.dropped[EVENLY].items == pytest.approx(475, rel=0.12)
    assert found.alpha <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
    assert min(each.regression for each in found.dropped.values()) >= 0.8 - 3 * math.sqrt(0.16 / 400)
    assert FAILING in found.dropped
    assert found.bound is None


# ---- many runs at once -----------------------------------------------------------------------------------------------------


def test_many_rows_at_once_are_those_one_by_one_from_any_start() -> None:
    rng = np.random.default_rng(0)
    values = np.array([-1.2, -0.6, -0.25, 0.0, 0.1, 0.5, 1.2])
    counts = rng.poisson([0.3, 3, 5, 300, 8, 3, 0.3], (200, 7)).astype(float)
    for drop in (0.02, 0.0, 0.1, -0.05):
        one_by_one = [evidence_against(values, row, drop, -1.2, 1.2) for row in counts]
        for start in (None, rng.normal(0, 3, 200)):
            assert evidence_rows(values, counts, drop, -1.2, 1.2, start)[0] == pytest.approx(one_by_one, abs=1e-8)


@pytest.mark.parametrize(("alpha", "beta", "step"), [(0.05, 0.2, 32), (0.01, 0.1, 1), (0.1, 0.3, 7)])
def test_bounds_of_many_runs_are_those_of_the_rule(alpha: float, beta: float, step: int) -> None:
    rng = np.random.default_rng(1)
    rule = EmpiricalLikelihoodSprt(theta=0.03, alpha=alpha, beta=beta, step=step, score_range=(0.0, 1.0), ends=(-1.2, 1.2))
    n, squares = rng.integers(1, 3000, 200), rng.exponential(20, 200)
    one_by_one = [rule.bounds(int(k), float(s)) for k, s in zip(n, squares, strict=True)]
    assert np.column_stack(bounds_rows(rule, n, squares)) == pytest.approx(np.array(one_by_one), abs=1e-12)


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"available": 0}, {"reach": 0.0}, {"reach": 1.5}, {"runs": 1}])
def test_runs_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"must be at least 1|must add up to 1"):
        expected_ends(0.1, ((0.0, 1.0),), **wrong)
