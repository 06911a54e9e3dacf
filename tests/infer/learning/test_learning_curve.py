"""How sure a learning curve is: redrawn curves have the right spread and tails, intervals agree, noise is never made up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from oracles import standard_errors
from steelyard.infer.learning.learning_curve import (
    CurveFit,
    ends,
    fit_curves,
    fit_points,
    fit_power_law,
    redraw_curves,
    redraw_points,
    share_variance,
    smooth_spread,
)

SIZES = np.array([40, 60, 90, 130, 200, 300, 440, 640.0])


def curves(seeds: int = 5, noise: float = 0.01, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 0.08 + 2 * SIZES**-0.6 + noise * (rng.standard_normal((seeds, 1)) + 0.5 * rng.standard_normal((seeds, len(SIZES))))


def make(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seeds", [2, 5, 12])
def test_redrawn_curves_are_student_for_anything_linear(seeds: int) -> None:
    """Against scipy.stats.t: the mean of the sizes is linear in the curve, so its percentiles are the t interval."""
    e = curves(seeds)
    means = e.mean(1)
    drawn = redraw_curves(e, 60_000, make()).mean(1)
    theory = stats.t(seeds - 1, means.mean(), means.std(ddof=1) / math.sqrt(seeds))
    for q in (0.05, 0.25, 0.5, 0.75, 0.95):
        share = float((drawn <= theory.ppf(q)).mean())
        assert abs(share - q) < 4 * math.sqrt(q * (1 - q) / 60_000)


def test_redrawn_curves_keep_the_dependence_between_sizes() -> None:
    e = curves(8)
    drawn = redraw_curves(e, 60_000, make())
    assert np.corrcoef(drawn.T) == pytest.approx(np.corrcoef(e.T), abs=0.05)


def test_a_missing_point_is_not_a_zero() -> None:
    e = curves(6)
    e[0, -1] = np.nan
    drawn = redraw_curves(e, 40_000, make())
    assert np.isfinite(drawn).all()
    assert np.median(drawn[:, -1]) == pytest.approx(np.nanmean(e[:, -1]), abs=2e-4)
    spread = float(np.quantile(drawn[:, -1], 0.75) - np.quantile(drawn[:, -1], 0.25))
    error = np.nanstd(e[:, -1], ddof=1) / math.sqrt(5)
    assert spread == pytest.approx(2 * stats.t(4).ppf(0.75) * error, rel=0.05)


def test_redrawn_points_are_student_too_and_never_quieter_than_known_noise() -> None:
    drawn = redraw_points([0.3, 0.2], [0.04, 0.01], 8.0, 4, 60_000, make(), noise="residuals")
    for q in (0.1, 0.9):
        share = float((drawn[:, 0] <= 0.3 + 0.2 * math.sqrt(2) * stats.t(4).ppf(q)).mean())
        assert abs(share - q) < 4 * math.sqrt(q * (1 - q) / 60_000)
    lucky = redraw_points([0.3, 0.2], [0.04, 0.01], 1e-9, 4, 60_000, make(), noise="known")
    assert lucky.std(0) == pytest.approx([0.2, 0.1], rel=0.02)
    assert np.corrcoef(lucky.T)[0, 1] == pytest.approx(0, abs=0.02)
    shared = redraw_points([0.3, 0.2], [0.04, 0.01], 1e-9, 4, 60_000, make(), noise="shared")
    assert shared.std(0) == pytest.approx([0.2, 0.1], rel=0.02)
    assert np.corrcoef(shared.T)[0, 1] == pytest.approx(1)


def test_share_variance_is_the_binomial_one_for_large_tests() -> None:
    assert share_variance([0.2], [1e6])[0] == pytest.approx(0.16e-6, rel=1e-4)
    assert share_variance([0.0, 1.0], [50, 50]).min() > 0


def test_the_spread_is_smoothed_by_a_power_of_the_size() -> None:
    unit = np.array([-1, 0, 1.0])[:, None]
    assert smooth_spread(SIZES, 0.5 + unit * SIZES**-0.4) == pytest.approx(SIZES**-0.8)
    one_agrees = 0.5 + unit * 0.01 * np.array([1, 1, 1, 0, 1, 1, 1, 1])
    found = smooth_spread(SIZES, one_agrees)
    assert found is not None
    assert found.min() > 1e-5  # a size where all seeds agree has no infinite weight
    assert smooth_spread(SIZES, curves(2)) is None
    assert smooth_spread(SIZES, np.full((4, 8), 0.2)) is None


def test_percentiles_with_infinite_values() -> None:
    values = np.array([*range(97), math.inf, math.inf, math.inf], float)
    assert ends(values, 0.95) == (1.0, math.inf)
    assert ends(values, 0.9) == (4.0, 95.0)
    assert ends(values, 0.95, "lower")[0] == 4.0


def test_the_interval_of_the_size_is_where_the_band_contains_the_error() -> None:
    fit = fit_curves(SIZES, curves(), None, draws=999, rng=make())
    _, low, high = fit.size(0.13)
    assert low is not None
    assert high is not None
    for n in (low * 0.99, low * 1.01, high * 0.99, high * 1.01):
        _, down, up = fit.error(n)
        assert down is not None
        assert up is not None
        assert (down <= 0.13 <= up) == (low <= n <= high)


def test_more_seeds_and_less_confidence_make_it_narrower() -> None:
    widths = {4: 0.0, 40: 0.0}
    for seeds in widths:
        for data in range(5):
            _, low, high = fit_curves(SIZES, curves(seeds, seed=data), None, draws=400, rng=make()).error(1000)
            assert low is not None
            assert high is not None
            widths[seeds] += high - low
    assert widths[40] < widths[4] / 3  # 3.16 by the number of seeds, 1.57 by Student's tails
    fit = fit_curves(SIZES, curves(), None, draws=1000, rng=make())
    wide, narrow = fit.error(1000, 0.99), fit.error(1000, 0.8)
    assert wide[1] < narrow[1] < narrow[2] < wide[2]  # type: ignore[operator]


def test_the_order_of_the_seeds_changes_nothing_but_the_draws() -> None:
    e = curves()
    assert fit_curves(SIZES, e, None, draws=50, rng=make()).law.a == pytest.approx(
        fit_curves(SIZES, e[::-1], None, draws=50, rng=make()).law.a
    )
    same = [fit_curves(SIZES, e, None, draws=200, rng=make(7)).size(0.12) for _ in range(2)]
    assert same[0] == same[1]


def test_without_noise_nothing_is_said_about_it() -> None:
    exact = 0.05 + SIZES**-0.5
    for fit in (
        fit_points(SIZES, exact, None, draws=100, rng=make()),
        fit_curves(SIZES, np.tile(exact, (4, 1)), None, draws=100, rng=make()),
    ):
        assert fit.redrawn is None
        estimate, low, high = fit.size(0.08)
        assert estimate == pytest.approx((1 / 0.03) ** 2, rel=1e-4)
        assert (low, high) == (None, None)
        assert not fit.out_of_reach(0.01)
    noisy = fit_points(
        SIZES, exact, np.full(8, 1e-4), noise="known", draws=500, rng=make()
    )  # known noise is noise, however straight the points
    _, low, high = noisy.error(1000)
    assert low is not None
    assert high is not None
    assert high - low > 0.005


def test_out_of_reach_needs_the_bound_of_the_asymptote_not_its_estimate() -> None:
    e = curves(10, noise=0.002)
    fit = fit_curves(SIZES, e, None, draws=1000, rng=make())
    low = ends(fit.redrawn.a, 0.95, "lower")[0]  # type: ignore[union-attr]
    assert low < fit.law.a[0]
    assert fit.out_of_reach(low - 1e-6)
    assert not fit.out_of_reach((low + fit.law.a[0]) / 2)


def test_a_flat_curve_does_not_fall() -> None:
    rng = make(1)
    assert not fit_curves(SIZES, 0.2 + np.sort(rng.normal(0, 0.01, (5, 8))), None, draws=50, rng=rng).falls
    assert fit_curves(SIZES, curves(), None, draws=50, rng=rng).falls


# ---- how often the intervals hold the truth ----------------------------------------------------------------------------------

AHEAD = 4000.0
SHIFT, NOISE = 0.012, 0.006
DRAWS = 500
TRAINED = np.array([50, 85, 143, 243, 412, 699, 1182, 2000.0])


def simulate(kind: str, seeds: int, a: float, b: float, c: float, trials: int) -> tuple[float, float]:
    """Coverage of the 95% intervals of the size that reaches the error at 4000 items, and of the asymptote.

    A seed's curve has a shift of its own (its test set, sd .012) and noise at every size (sd .006 at 2000 items, growing
    with the square root of the error).
    """
    rng = make(2)
    truth, goal = a + b * TRAINED**-c, a + b * AHEAD**-c
    noise = NOISE * np.sqrt(truth / truth[-1])
    held = np.zeros(2)
    for _ in range(trials):
        shift = 0.0 if kind == "independent points" else SHIFT * rng.standard_normal((seeds, 1))
        e = truth + shift + noise * rng.standard_normal((seeds, len(TRAINED)))
        fit = fitted(kind, e, rng)
        for i, (interval, value) in enumerate(((fit.size(goal), AHEAD), (fit.asymptote(), a))):
            assert interval[1] is not None
            assert interval[2] is not None
            held[i] += interval[1] <= value <= interval[2]
    return float(held[0] / trials), float(held[1] / trials)


def fitted(kind: str, e: np.ndarray, rng: np.random.Generator) -> CurveFit:
    if kind == "curves":
        return fit_curves(TRAINED, e, None, draws=DRAWS, rng=rng)
    if kind == "with replacement":
        mean = rng.multinomial(len(e), np.full(len(e), 1 / len(e)), size=DRAWS) @ e / len(e)
        return CurveFit(fit_power_law(TRAINED, e.mean(0)), fit_power_law(TRAINED, mean))
    if kind == "shared test set, known":
        return fit_points(TRAINED, e[0], np.full(len(TRAINED), SHIFT**2), noise="shared", draws=DRAWS, rng=rng)
    return fit_points(TRAINED, e[0], None, draws=DRAWS, rng=rng)


# kind, seeds, (a, b, c): coverage of n and of the asymptote, each from 4000 trials with another seed. What is too short is known to be.
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


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}")
def test_the_intervals_hold_the_truth_as_often_as_is_said(case: tuple[str, int, tuple[float, float, float], float, float]) -> None:
    (kind, seeds, law, *said), trials = case, 2000
    for found, documented in zip(simulate(kind, seeds, *law, trials), said, strict=True):
        assert standard_errors(found, trials, documented) < 4, (kind, seeds, found, documented)
