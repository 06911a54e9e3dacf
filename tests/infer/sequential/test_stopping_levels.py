"""Stopping rules at levels and thetas other than the usual ones."""

from __future__ import annotations

import numpy as np
import pytest

from cases import seldom
from steelyard.infer.sequential.stopping import rule_for


def runs(theta: float, churn: float, drop: float, step: int, alpha: float, beta: float, number: int) -> tuple[float, float, float]:
    """The share of runs that pass; whose lower end lies above the truth; whose upper end lies below it."""
    rng, n = np.random.default_rng(1), 1500
    passes = low = high = 0
    for _ in range(number):
        rule = rule_for(right_or_wrong=True, theta=theta, alpha=alpha, beta=beta, step=step, n_max=n)
        u = rng.random(n)
        differences = np.where(u < churn / 2 + drop, -1.0, np.where(u < churn + drop, 1.0, 0.0))
        seen, word = 0, "continue"
        while word == "continue" and seen < n:
            seen = min(n, seen + step)
            word = rule.look(differences[:seen], last=seen == n)
        found = rule.estimate()
        passes += word == "pass"
        low += found.low > -drop + 1e-12
        high += found.high < -drop - 1e-12
    return passes / number, low / number, high / number


def at_most(level: float, number: int) -> float:
    """Four Monte Carlo errors above the level."""
    return float(level + 4 * (level * (1 - level) / number) ** 0.5)


@pytest.mark.parametrize(
    ("alpha", "beta", "theta", "step"),
    [
        *[(0.05, 0.2, 0.3, 1), (0.1, 0.5, 0.3, 7)],
        *seldom((0.2, 0.2, 0.3, 1), (0.1, 0.3, 0.3, 1), (0.05, 0.4, 0.5, 1), (0.2, 0.4, 0.3, 7)),
        *seldom((0.05, 0.2, 0.3, 7), (0.05, 0.2, 0.2, 7), (0.05, 0.2, 0.5, 1), (0.1, 0.3, 0.1, 1)),
    ],
)
def test_a_drop_of_theta_passes_in_beta_and_each_end_misses_in_alpha_at_most(alpha: float, beta: float, theta: float, step: int) -> None:
    number = 200
    passes, low, high = runs(theta, 0.02, theta, step, alpha, beta, number)
    assert passes <= at_most(beta, number)
    assert max(low, high) <= at_most(alpha, number)
