"""False alarms of the cross-validation tests on an exact null: one learner, two exchangeable halves of the features.

The label depends on both halves alike, the baseline sees the first and the candidate the second, so neither can be
better. The shares of p <= .05 that are asserted were measured once, with 1,000 data sets, and agree with the study behind
`infer/learning/crossval.py`: the corrected test nearly holds its level, the naive repeated one is wrong more often than right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from oracles import standard_errors
from steelyard.infer.learning import crossval
from steelyard.questions.learners.learners import compare_learners

pytestmark = pytest.mark.long  # `steelyard certify` repeats them

FloatArray = npt.NDArray[np.float64]
HALF = 5


class Half:
    """Ridge regression on +-1 (or the nearest neighbour), on one half of the features."""

    def __init__(self, first: int, neighbour: bool) -> None:
        self.columns, self.neighbour = slice(first, first + HALF), neighbour

    def fit(self, x: FloatArray, y: Any) -> Half:
        self.x, self.y = x[:, self.columns], y
        if not self.neighbour:
            design = np.column_stack([np.ones(len(self.x)), self.x])
            self.w = np.linalg.solve(design.T @ design + np.eye(1 + HALF), design.T @ (2.0 * y - 1))
        return self

    def predict(self, x: FloatArray) -> Any:
        part = x[:, self.columns]
        if self.neighbour:
            return self.y[((part[:, None, :] - self.x[None]) ** 2).sum(2).argmin(1)]
        return (self.w[0] + part @ self.w[1:] > 0).astype(int)


def data(seed: int, n: int) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    rng = np.random.default_rng([seed, 17])
    x = rng.normal(size=(n, 2 * HALF))
    signal = x[:, 0] + x[:, HALF] + 0.5 * (x[:, 1] + x[:, HALF + 1])
    return x, (signal + rng.normal(size=n) > 0).astype(np.int64)


def alarms(runs: int, n: int = 100, *, neighbour: bool = False, repeats: int = 10) -> dict[str, float]:
    """The share of p <= .05 over `runs` data sets, test by test, all from the same splits."""
    found: dict[str, list[bool]] = {}
    for seed in range(runs):
        x, y = data(seed, n)
        c = compare_learners(Half(0, neighbour), Half(HALF, neighbour), x, y, repeats=repeats, workers=1, seed=seed)
        d = crossval.differences([s["baseline"] for s in c.details["splits"]], [s["candidate"] for s in c.details["splits"]])
        values = {
            "corrected repeated": c.p_value,
            "naive repeated": crossval.kfold_t(d).p_value,
            "naive 10-fold": crossval.kfold_t(d[:10]).p_value,
            "corrected 10-fold": crossval.corrected_repeated_kfold_t(d[:10], folds=10).p_value,
        }
        for name, p in values.items():
            found.setdefault(name, []).append(p is not None and p <= 0.05)
    return {name: float(np.mean(hits)) for name, hits in found.items()}


# Measured with 1,000 data sets of 100 items, 10 x 10 folds; the standard error is .008 for the corrected, .016 for the naive.
RIDGE = {"corrected repeated": 0.061, "naive repeated": 0.567, "naive 10-fold": 0.069, "corrected 10-fold": 0.015}
NEIGHBOUR = {"corrected repeated": 0.115, "naive repeated": 0.648, "naive 10-fold": 0.138, "corrected 10-fold": 0.039}  # weak, and said so


def check(found: dict[str, float], documented: dict[str, float], runs: int) -> None:
    for name, share in documented.items():
        assert standard_errors(found[name], runs, share) < 4, (name, found[name], share)


def test_false_alarms_of_a_stable_learner() -> None:
    found = alarms(30)
    check(found, RIDGE, 30)
    assert found["naive repeated"] > 0.2  # far from the .05 it promises, even in this small run


@pytest.mark.long
def test_false_alarms_of_a_stable_learner_in_full() -> None:
    check(alarms(500), RIDGE, 500)


@pytest.mark.long
def test_false_alarms_of_an_unstable_learner_in_full() -> None:
    """The weak spot: with nearest neighbours even the corrected test alarms twice as often as it says."""
    check(alarms(500, neighbour=True), NEIGHBOUR, 500)
