"""A guard on a bare number: against one run, the best of many, or all of them pooled, exactly from the threshold that it draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import binom, norm

from steelyard.estimate.guard.number import CandidateScore, guard_number
from steelyard.estimate.guard.rule import settle_rule
from steelyard.estimate.guard.verdict import Guarded
from steelyard.infer.paired.mcnemar import mcnemar_exact, mcnemar_midp
from steelyard.reference.entry import Entry, TaskDefaults
from steelyard.results.base import Warnings

N = 1319  # GSM8K
SIGMA = 50.0
REFERENCE = 70.0
X = np.linspace(-6, 8, 20_001)  # standard errors of a run
ERROR = SIGMA / math.sqrt(N)


def threshold(n: int = N, behind: int = N) -> float:
    """Below this a run of n items is a regression, with so many items behind the reference."""
    entry = Entry(model="m", value=REFERENCE, num_samples=behind, sigma=SIGMA, scale="percent")
    rule = settle_rule({}, entry, TaskDefaults(), Warnings())
    found = guard_number(CandidateScore(value=REFERENCE, n=n), Guarded(entry=entry), rule, Warnings()).threshold
    assert found is not None
    for value, verdict in ((found - 1e-9, "regression"), (found + 1e-9, "pass")):
        assert guard_number(CandidateScore(value=value, n=n), Guarded(entry=entry), rule, Warnings()).verdict == verdict
    return found


def alarms(density: np.ndarray, behind: int) -> float:
    """P(a healthy run is a regression) against references that lie so many standard errors of a run above the truth."""
    below = (threshold(behind=behind) - REFERENCE) / ERROR
    return float(trapezoid(density * norm.cdf(X + below), X))


@pytest.mark.parametrize(("k", "rate"), [(1, 0.05), (5, 0.166), (50, 0.47)])
def test_a_reference_that_only_goes_up_turns_five_percent_of_false_alarms_into_half(k: int, rate: float) -> None:
    best = k * norm.pdf(X) * norm.cdf(X) ** (k - 1)
    assert alarms(best, N) == pytest.approx(rate, abs=0.002)


@pytest.mark.parametrize("k", [1, 5, 50])
def test_a_pooled_reference_keeps_its_level(k: int) -> None:
    pooled = norm.pdf(X, scale=1 / math.sqrt(k))
    assert alarms(pooled, k * N) == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "benign", "drop", "paired", "bare"),
    [
        (1319, 0.028, 0.01, 0.539, 0.000),
        (1319, 0.028, 0.02, 0.955, 0.021),
        (1319, 0.028, 0.03, 0.998, 0.364),
        (1319, 0.087, 0.02, 0.711, 0.067),
        (200, 0.028, 0.05, 0.787, 0.048),
    ],
)
def test_another_program_found_the_same(n: int, benign: float, drop: float, paired: float, bare: float) -> None:
    """A survey of evaluation tools simulated both gates (20,000 pairs, accuracy .88, the exact McNemar test, flips by right
    and wrong, so not quite our model): two hundredths apart at most, and mid-p catches no less than the exact test."""
    fall = (REFERENCE - threshold(n, n)) / 100 * n  # net losses from which the bare number is a regression
    lost = benign / 2 + drop
    share = lost / (lost + benign / 2)
    weight = binom.pmf(np.arange(n + 1), n, lost + benign / 2)
    caught = dict.fromkeys(("exact", "mid-p", "bare"), 0.0)
    for d in np.flatnonzero(weight > 1e-9).tolist():
        first = {
            "exact": next((k for k in range(d // 2, d + 1) if mcnemar_exact(d - k, k, "less") <= 0.05), d + 1),
            "mid-p": next((k for k in range(d // 2, d + 1) if mcnemar_midp(d - k, k, "less") <= 0.05), d + 1),
            "bare": math.floor((d + fall) / 2) + 1,
        }
        for gate, losses in first.items():
            caught[gate] += float(weight[d] * binom.sf(losses - 1, d, share))
    assert caught["exact"] == pytest.approx(paired, abs=0.021)
    assert caught["bare"] == pytest.approx(bare, abs=0.021)
    assert caught["mid-p"] >= caught["exact"]
