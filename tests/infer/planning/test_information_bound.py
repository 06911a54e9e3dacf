"""The information bound: the study's numbers, an independent minimum, and what must rise and fall."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from steelyard.infer.planning.information_bound import bound_of_answers, bound_of_one_answer, errors_information
from steelyard.infer.planning.stored_answers import beta_answers


@pytest.mark.parametrize(
    ("churn", "healthy", "dropped"),
    [(0.02, 175.92497957, 364.34760006), (0.05, 357.00748818, 657.99659178), (0.2, 1345.60056297, 2094.19211927)],
)
def test_one_answer_as_published(churn: float, healthy: float, dropped: float) -> None:
    # golden/calls.json, g40, g41, g43.
    assert bound_of_one_answer(0.02, churn) == (pytest.approx(healthy, abs=1e-3), pytest.approx(dropped, abs=1e-3))


@pytest.mark.parametrize(("churn", "four", "sixteen"), [(0.02, 120, 102), (0.05, 227, 192), (0.1, 428, 368), (0.2, 825, 729)])
def test_several_answers_as_published(churn: float, four: float, sixteen: float) -> None:
    # research/calls.md, 3: accuracy .75, healthy runs.
    assert bound_of_answers(beta_answers(0.75, churn, 4), 0.02)[0] == pytest.approx(four, abs=0.6)
    assert bound_of_answers(beta_answers(0.75, churn, 16), 0.02)[0] == pytest.approx(sixteen, abs=0.6)


@pytest.mark.parametrize(("answers", "healthy"), [(4, 192), (16, 145)])
def test_wavering_items_asked_twice_as_often(answers: int, healthy: float) -> None:
    items = beta_answers(0.75, 0.05, answers)
    assert bound_of_answers(items, 0.02, factors=np.where(items.wavering, 2.0, 1.0))[0] == pytest.approx(healthy, abs=0.6)


def test_the_nearest_drop_by_another_search() -> None:
    """SLSQP over all ways to lose theta, both divergences."""
    items = beta_answers(0.8, 0.1, 2)
    share, p = np.array(items.share), np.array(items.chance)

    def between(a: np.ndarray, b: np.ndarray) -> float:
        return float(share @ (a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b))))

    needed = errors_information(0.05, 0.2)
    for place, divergence in enumerate((lambda r: between(p, r), lambda r: between(r, p))):
        found = optimize.minimize(
            divergence,
            p * 0.95,
            bounds=[(1e-6, 1 - 1e-6)] * len(p),
            constraints={"type": "eq", "fun": lambda r: share @ (p - r) - 0.05},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert bound_of_answers(items, 0.05)[place] == pytest.approx(needed[place] / found.fun, rel=1e-4)


def test_what_must_rise_and_fall() -> None:
    assert bound_of_one_answer(0.02, 0.0)[0] < bound_of_one_answer(0.02, 0.01)[0] < bound_of_one_answer(0.01, 0.01)[0]
    assert bound_of_one_answer(0.02, 0.05, 0.01)[1] > bound_of_one_answer(0.02, 0.05)[1]
    rates = [bound_of_answers(beta_answers(0.75, 0.05, n), 0.02)[0] for n in (2, 4, 8, 16)]
    assert rates == sorted(rates, reverse=True)


def test_items_that_never_waver() -> None:
    healthy, dropped = bound_of_answers(beta_answers(0.75, 0.0, 4), 0.02)
    assert healthy == pytest.approx(errors_information(0.05, 0.2)[0] / (-0.75 * np.log(1 - 0.02 / 0.75)), rel=1e-3)
    assert 0 < dropped < healthy
