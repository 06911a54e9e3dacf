"""Learning curves: how often the intervals hold the truth, with 5 and 10 seeds, at the floor, and where they are too short."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.infer.learning.learning_curve import Fit, fit_curves, fit_points, fit_power_law

pytestmark = pytest.mark.long  # `steelyard certify` repeats them

SIZES = np.array([50, 85, 143, 243, 412, 699, 1182, 2000.0])
AHEAD = 4000.0
SHIFT, NOISE = 0.012, 0.006
DRAWS = 500


def simulate(kind: str, seeds: int, a: float, b: float, c: float, trials: int, seed: int) -> tuple[float, float]:
    """Coverage of the 95% intervals of the size that reaches the error at 4000 items, and of the asymptote.

    A seed's curve has a shift of its own (its test set, sd .012) and noise at every size (sd .006 at 2000 items, growing
    with the square root of the error).
    """
    rng = np.random.default_rng(seed)
    truth, goal = a + b * SIZES**-c, a + b * AHEAD**-c
    noise = NOISE * np.sqrt(truth / truth[-1])
    held = np.zeros(2)
    for _ in range(trials):
        shift = 0.0 if kind == "independent points" else SHIFT * rng.standard_normal((seeds, 1))
        e = truth + shift + noise * rng.standard_normal((seeds, len(SIZES)))
        fit = fitted(kind, e, rng)
        for i, (interval, value) in enumerate(((fit.size(goal), AHEAD), (fit.asymptote(), a))):
            assert interval[1] is not None
            assert interval[2] is not None
            held[i] += interval[1] <= value <= interval[2]
    return float(held[0] / trials), float(held[1] / trials)


def fitted(kind: str, e: np.ndarray, rng: np.random.Generator) -> Fit:
    if kind == "curves":
        return fit_curves(SIZES, e, None, draws=DRAWS, rng=rng)
    if kind == "with replacement":
        mean = rng.multinomial(len(e), np.full(len(e), 1 / len(e)), size=DRAWS) @ e / len(e)
        return Fit(fit_power_law(SIZES, e.mean(0)), fit_power_law(SIZES, mean))
    if kind == "shared test set, known":
        return fit_points(SIZES, e[0], np.full(len(SIZES), SHIFT**2), noise="shared", draws=DRAWS, rng=rng)
    return fit_points(SIZES, e[0], None, draws=DRAWS, rng=rng)


# kind, seeds, (a, b, c): coverage of n and of the asymptote, each from 4000 trials with seed 12345.
PLAIN, FLOOR = (0.05, 1.2, 0.5), (0.0, 1.2, 0.4)
CASES = [
    ("curves", 5, PLAIN, 0.939, 0.940),
    ("curves", 10, PLAIN, 0.946, 0.945),
    ("curves", 5, FLOOR, 0.924, 0.981),
    ("curves", 3, PLAIN, 0.945, 0.938),
    ("curves", 10, FLOOR, 0.939, 0.971),
    ("with replacement", 5, PLAIN, 0.839, 0.835),
    ("independent points", 1, PLAIN, 0.976, 0.964),
    ("shared test set", 1, PLAIN, 0.758, 0.920),
    ("shared test set, known", 1, PLAIN, 0.970, 0.971),
]


def check(case: tuple[str, int, tuple[float, float, float], float, float], trials: int, seed: int) -> None:
    kind, seeds, law, size, asymptote = case
    for found, documented in zip(simulate(kind, seeds, *law, trials, seed), (size, asymptote), strict=True):
        assert abs(found - documented) < 4 * math.sqrt(documented * (1 - documented) / trials), (kind, seeds, found, documented)


@pytest.mark.parametrize("case", [*CASES[:3], *CASES[-2:]], ids=lambda case: f"{case[0]} {case[1]}")
def test_the_intervals_hold_the_truth_as_often_as_is_said(case: tuple[str, int, tuple[float, float, float], float, float]) -> None:
    check(case, 160, 1)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}")
def test_the_same_with_more_trials(case: tuple[str, int, tuple[float, float, float], float, float]) -> None:
    check(case, 2000, 2)
