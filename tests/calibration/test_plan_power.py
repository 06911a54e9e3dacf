"""What a plan promises, simulated: the share of runs in which the planned test finds the planned drop, for each design.

Each simulation draws items, never the normal law of a mean, and applies the planned test with the planned threshold. The
share found must lie within 4 binomial standard errors of the power that is stated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc

import steelyard as sy
from steelyard.results.plan import Plan

pytestmark = pytest.mark.long  # `steelyard certify` repeats them

RUNS = 20_000
RUBRIC = np.array([0, 25, 50, 75, 100.0])  # scores of items as a rubric gives them, skew
SHARES = np.array([0.05, 0.08, 0.12, 0.25, 0.5])
SIGMA = float(np.sqrt(SHARES @ RUBRIC**2 - (SHARES @ RUBRIC) ** 2))


def stated(found: float, power: float, runs: int = RUNS) -> None:
    assert abs(found - power) <= 4 * math.sqrt(power * (1 - power) / runs), (found, power)


def means(rng: np.random.Generator, n: int, values: np.ndarray[Any, Any] = RUBRIC, shares: np.ndarray[Any, Any] = SHARES) -> Any:
    """The mean of n independent items, RUNS times."""
    return rng.multinomial(n, shares, size=RUNS) @ values / n


def size_and_offset(plan: Plan) -> tuple[int, float]:
    assert plan.n is not None
    assert plan.threshold_offset is not None
    return plan.n, plan.threshold_offset


def power_of(**given: Any) -> float:
    """The power at the integer that was found."""
    power = sy.plan_detect(**given).power
    assert power is not None
    return power


# ---- two separate samples ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drop", [0.0, 6.0])
@pytest.mark.parametrize("more", [{}, {"ratio": 3.0}, {"n_reference": 700}], ids=str)
def test_two_samples(more: dict[str, Any], drop: float) -> None:
    """Without the drop the share is alpha, with it the power: z with known sigma on skew item scores."""
    plan = sy.plan_detect(sigma=SIGMA, theta=6, **more)
    n, offset = size_and_offset(plan)
    rng = np.random.default_rng(11)
    gap = means(rng, n) - drop - means(rng, plan.details.get("n_reference", n))
    stated(float(np.mean(gap < offset)), power_of(sigma=SIGMA, theta=6, n=n, **more) if drop else 0.05)


def test_two_samples_two_sided() -> None:
    plan = sy.plan_detect(sigma=SIGMA, theta=6, alternative="two-sided")
    n, offset = size_and_offset(plan)
    rng = np.random.default_rng(12)
    gap = means(rng, n) - 6 - means(rng, n)
    stated(float(np.mean(np.abs(gap) > -offset)), power_of(sigma=SIGMA, theta=6, alternative="two-sided", n=n))


@pytest.mark.parametrize(("expected", "theta"), [(0.5, 0.1), (0.8, 0.1), (0.9, 0.05)])
def test_right_or_wrong_from_an_expected_accuracy(expected: float, theta: float) -> None:
    """Before the drop the accuracy is `expected`, after it `expected` - theta, with a variance of its own; the planned threshold."""
    n, offset = size_and_offset(sy.plan_detect(expected=expected, theta=theta))
    rng = np.random.default_rng(13)
    gap = rng.binomial(n, expected - theta, RUNS) - rng.binomial(n, expected, RUNS) + rng.uniform(-0.5, 0.5, RUNS)  # no lattice
    stated(float(np.mean(gap / n < offset)), power_of(expected=expected, theta=theta, n=n))


def test_two_samples_in_groups() -> None:
    """Groups of 8, correlation .2 inside: the design effect is 2.4, and without it the power would be far less."""
    m, icc, sigma, theta = 8, 0.2, 1.0, 0.35
    plan = sy.plan_detect(sigma=sigma, theta=theta, icc=icc, group_size=m)
    n, offset = size_and_offset(plan)
    groups = math.ceil(n / m)
    rng, runs = np.random.default_rng(14), 4000

    def run() -> Any:
        common = rng.choice([-1.0, 1.0], size=(runs, groups)) * math.sqrt(icc)
        own = rng.choice([-1.0, 1.0], size=(runs, groups, m)) * math.sqrt(1 - icc)
        return (common + own.mean(2)).mean(1)

    exact = power_of(sigma=sigma, theta=theta, icc=icc, group_size=m, n=groups * m)
    stated(float(np.mean(run() - theta - run() < offset)), exact, runs)


# ---- the same items ----------------------------------------------------------------------------------------------------------


def test_paired_scores() -> None:
    """Differences on a lattice, most of them 0, as rubric scores have them."""
    values, shares = np.array([-50.0, -25, 0, 25, 50]), np.array([0.02, 0.08, 0.8, 0.08, 0.02])
    sd = float(np.sqrt(shares @ values**2))
    n, offset = size_and_offset(sy.plan_detect(sd=sd, theta=2))
    gap = means(np.random.default_rng(15), n, values, shares) - 2
    stated(float(np.mean(gap < offset)), power_of(sd=sd, theta=2, n=n))


@pytest.mark.parametrize("answers", [(1, 1), (4, 4), (1, 6)])
def test_several_answers_to_each_item(answers: tuple[int, int]) -> None:
    """Items differ by omega, answers within an item by their own deviation: Miller's equation, drawn answer by answer."""
    omega, within, theta, runs = 0.3, (0.5, 0.4), 0.12, 4000
    n, offset = size_and_offset(sy.plan_detect(sd=omega, within=list(within), repeats=list(answers), theta=theta))
    rng = np.random.default_rng(16)

    def noise(sd: float, k: int) -> Any:
        return rng.choice([-sd, sd], size=(runs, n, k)).mean(2)

    items = rng.choice([-omega, omega], size=(runs, n))
    gap = (items + noise(within[1], answers[1]) - noise(within[0], answers[0])).mean(1) - theta
    stated(float(np.mean(gap < offset)), power_of(sd=omega, within=list(within), repeats=list(answers), theta=theta, n=n), runs)


def upper_tail(d: Any, losses: Any) -> Any:
    """McNemar's one-sided mid-p for so many losses among d disagreements: P(X > L) + P(X = L) / 2."""

    def at_least(k: Any) -> Any:
        inside = (k > 0) & (k <= d)
        return np.where(inside, betainc(np.where(inside, k, 1), np.where(inside, d - k + 1, 1), 0.5), (k <= 0).astype(float))

    return (at_least(losses) + at_least(losses + 1)) / 2


@pytest.mark.parametrize("side", ["less", "two-sided"])
@pytest.mark.parametrize(("psi", "theta"), [(0.06, 0.02), (0.04, 0.04), (0.3, 0.1)])
def test_mcnemar(psi: float, theta: float, side: str) -> None:
    plan = sy.plan_detect(discordance=psi, theta=theta, alternative=side)
    assert plan.n is not None
    drawn = np.random.default_rng(17).multinomial(plan.n, [(psi + theta) / 2, (psi - theta) / 2, 1 - psi], size=RUNS)
    lost, gained = drawn[:, 0], drawn[:, 1]
    p = upper_tail(lost + gained, lost)
    if side == "two-sided":
        p = 2 * np.minimum(p, upper_tail(lost + gained, gained))
    found = np.mean((p <= 0.05) & (lost + gained > 0))
    stated(float(found), power_of(discordance=psi, theta=theta, alternative=side, n=plan.n))


def test_mcnemar_from_two_healthy_runs() -> None:
    """The pilot shows .05; under the drop the share is .05 + theta, and that is the world in which the power must hold."""
    score = [int(i % 100 < 80) for i in range(400)]
    right, wrong = [i for i in range(400) if score[i]], [i for i in range(400) if not score[i]]
    other = [1 - s if i in (*right[:10], *wrong[:10]) else s for i, s in enumerate(score)]
    pilots = [[{"id": i, "score": s} for i, s in enumerate(run)] for run in (score, other)]
    plan = sy.plan_detect(pilot=pilots, theta=0.03)
    assert plan.n is not None
    drawn = np.random.default_rng(18).multinomial(plan.n, [0.055, 0.025, 0.92], size=RUNS)
    found = np.mean(upper_tail(drawn[:, 0] + drawn[:, 1], drawn[:, 0]) <= 0.05)
    stated(float(found), power_of(pilot=pilots, theta=0.03, n=plan.n))


def test_paired_right_or_wrong_in_groups() -> None:
    """Design effect 3: groups of 5 whose flips come together half of the time; McNemar's z with the effect in its variance."""
    m, icc, psi, theta, runs = 5, 0.5, 0.2, 0.06, 4000
    effect = 1 + (m - 1) * icc
    n, offset = size_and_offset(sy.plan_detect(discordance=psi, theta=theta, design_effect=effect))
    groups = math.ceil(n / m)
    rng = np.random.default_rng(19)
    shares, values = [(psi + theta) / 2, (psi - theta) / 2, 1 - psi], np.array([-1.0, 1.0, 0.0])
    common = values[rng.choice(3, p=shares, size=(runs, groups))][..., None]
    own = values[rng.choice(3, p=shares, size=(runs, groups, m))]
    together = rng.random((runs, groups, m)) < math.sqrt(icc)  # both of a pair copy the common one with probability icc
    gap = np.where(together, common, own).mean((1, 2))
    stated(float(np.mean(gap < offset)), power_of(discordance=psi, theta=theta, design_effect=effect, n=groups * m), runs)


# ---- to rule a drop out ------------------------------------------------------------------------------------------------------


def tango_z(lost: Any, gained: Any, n: int, theta: float) -> Any:
    """Tango's score statistic at a difference of -theta, by bisection on the constrained likelihood's own equation."""
    low, high = np.zeros(lost.shape), np.full(lost.shape, (1 - theta) / 2)
    for _ in range(60):  # share of gains q, of losses q + theta
        q = (low + high) / 2
        slope = lost / (q + theta) + gained / np.maximum(q, 1e-300) - 2 * (n - lost - gained) / (1 - 2 * q - theta)
        low, high = np.where(slope > 0, q, low), np.where(slope > 0, high, q)
    return (gained - lost + n * theta) / np.sqrt(n * (2 * low + theta - theta**2))


@pytest.mark.parametrize(("psi", "theta"), [(0.06, 0.02), (0.2, 0.05)])
def test_rule_out_by_tangos_bound(psi: float, theta: float) -> None:
    plan = sy.plan_detect(discordance=psi, theta=theta, goal="rule-out")
    assert plan.n is not None
    drawn = np.random.default_rng(20).multinomial(plan.n, [psi / 2, psi / 2, 1 - psi], size=RUNS)
    found = np.mean(tango_z(drawn[:, 0], drawn[:, 1], plan.n, theta) > 1.6448536269514722)
    stated(float(found), power_of(discordance=psi, theta=theta, goal="rule-out", n=plan.n))


def test_rule_out_of_two_samples() -> None:
    """Nothing changed: the one-sided lower bound of the difference lies above -theta."""
    plan = sy.plan_detect(sigma=SIGMA, theta=6, goal="rule-out")
    assert plan.n is not None
    rng = np.random.default_rng(21)
    gap = means(rng, plan.n) - means(rng, plan.n)
    bound = gap - 1.6448536269514722 * SIGMA * math.sqrt(2 / plan.n)
    stated(float(np.mean(bound > -6)), power_of(sigma=SIGMA, theta=6, goal="rule-out", n=plan.n))
