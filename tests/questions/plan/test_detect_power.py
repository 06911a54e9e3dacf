"""What a plan promises, simulated, for designs that the certificate does not try: groups, several answers, pilots, scores to rule out.

Each simulation draws items, never the normal law of a mean, and applies the planned test with the planned threshold. The
share found must lie within 4 binomial standard errors of the power that is stated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betainc

import steelyard as sy
from oracles import standard_errors

RUNS = 2000


def stated(found: Any, **given: Any) -> None:
    """The share is the power at the number of items that was planned."""
    power = sy.plan_detect(**given).power
    assert power is not None
    assert standard_errors(float(np.mean(found)), len(found), power) < 4, (np.mean(found), power)


def size_and_offset(**given: Any) -> tuple[int, float]:
    plan = sy.plan_detect(**given)
    assert plan.n is not None
    assert plan.threshold_offset is not None
    return plan.n, plan.threshold_offset


def test_two_samples_in_groups() -> None:
    """Groups of 8, correlation .2 inside: the design effect is 2.4, and without it the power would be far less."""
    m, icc = 8, 0.2
    asked = {"sigma": 1.0, "theta": 0.35, "icc": icc, "group_size": m}
    n, offset = size_and_offset(**asked)
    groups = math.ceil(n / m)
    rng = np.random.default_rng(14)

    def run() -> Any:
        common = rng.choice([-1.0, 1.0], size=(RUNS, groups)) * math.sqrt(icc)
        own = rng.choice([-1.0, 1.0], size=(RUNS, groups, m)) * math.sqrt(1 - icc)
        return (common + own.mean(2)).mean(1)

    stated(run() - asked["theta"] - run() < offset, **asked, n=groups * m)


def test_several_answers_to_each_item() -> None:
    """Items differ by omega, answers within an item by their own deviation: Miller's equation, drawn answer by answer."""
    omega, within, answers, theta = 0.3, (0.5, 0.4), (1, 6), 0.12
    asked = {"sd": omega, "within": list(within), "repeats": list(answers), "theta": theta}
    n, offset = size_and_offset(**asked)
    rng = np.random.default_rng(16)

    def noise(sd: float, k: int) -> Any:
        return rng.choice([-sd, sd], size=(RUNS, n, k)).mean(2)

    items = rng.choice([-omega, omega], size=(RUNS, n))
    gap = (items + noise(within[1], answers[1]) - noise(within[0], answers[0])).mean(1) - theta
    stated(gap < offset, **asked, n=n)


def upper_tail(d: Any, losses: Any) -> Any:
    """McNemar's one-sided mid-p for so many losses among d disagreements: P(X > L) + P(X = L) / 2."""

    def at_least(k: Any) -> Any:
        inside = (k > 0) & (k <= d)
        return np.where(inside, betainc(np.where(inside, k, 1), np.where(inside, d - k + 1, 1), 0.5), (k <= 0).astype(float))

    return (at_least(losses) + at_least(losses + 1)) / 2


def test_mcnemar_from_two_healthy_runs() -> None:
    """The pilot shows .05; under the drop the share is .05 + theta, and that is the world in which the power must hold."""
    score = [int(i % 100 < 80) for i in range(400)]
    right, wrong = [i for i in range(400) if score[i]], [i for i in range(400) if not score[i]]
    other = [1 - s if i in (*right[:10], *wrong[:10]) else s for i, s in enumerate(score)]
    asked = {"pilot": [[{"id": i, "score": s} for i, s in enumerate(run)] for run in (score, other)], "theta": 0.03}
    n = sy.plan_detect(**asked).n
    assert n is not None
    drawn = np.random.default_rng(18).multinomial(n, [0.055, 0.025, 0.92], size=20_000)
    stated(upper_tail(drawn[:, 0] + drawn[:, 1], drawn[:, 0]) <= 0.05, **asked, n=n)


def test_paired_right_or_wrong_in_groups() -> None:
    """Design effect 3: groups of 5 whose flips come together half of the time; McNemar's z with the effect in its variance."""
    m, icc, psi, theta = 5, 0.5, 0.2, 0.06
    asked = {"discordance": psi, "theta": theta, "design_effect": 1 + (m - 1) * icc}
    n, offset = size_and_offset(**asked)
    groups = math.ceil(n / m)
    rng = np.random.default_rng(19)
    shares, values = [(psi + theta) / 2, (psi - theta) / 2, 1 - psi], np.array([-1.0, 1.0, 0.0])
    common = values[rng.choice(3, p=shares, size=(RUNS, groups))][..., None]
    own = values[rng.choice(3, p=shares, size=(RUNS, groups, m))]
    together = rng.random((RUNS, groups, m)) < math.sqrt(icc)  # both of a pair copy the common one with probability icc
    stated(np.where(together, common, own).mean((1, 2)) < offset, **asked, n=groups * m)


def test_rule_out_of_two_samples() -> None:
    """Skew scores of a rubric, and nothing changed: the one-sided lower bound of the difference lies above -theta."""
    values, shares = np.array([0, 25, 50, 75, 100.0]), np.array([0.05, 0.08, 0.12, 0.25, 0.5])
    sigma = float(np.sqrt(shares @ values**2 - (shares @ values) ** 2))
    asked: dict[str, Any] = {"sigma": sigma, "theta": 6, "goal": "rule-out"}
    n = sy.plan_detect(**asked).n
    assert n is not None
    rng = np.random.default_rng(21)
    new, old = (rng.multinomial(n, shares, size=20_000) @ values / n for _ in range(2))
    stated(new - old - 1.6448536269514722 * sigma * math.sqrt(2 / n) > -6, **asked, n=n)
