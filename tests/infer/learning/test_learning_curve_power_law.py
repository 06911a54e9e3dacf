"""The power law of a learning curve: exact curves, a certified fit, scipy's least squares, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from steelyard.infer.learning.learning_curve import FLATTEST, STEEPEST, fit_power_law

SIZES = np.array([40, 60, 90, 130, 200, 300, 440, 640.0])


@given(st.floats(0.0, 0.4), st.floats(0.05, 20.0), st.floats(0.1, 3.0), st.sampled_from([1.0, 1e-3, 1e5]))
def test_an_exact_curve_is_recovered(a: float, b: float, c: float, unit: float) -> None:
    law = fit_power_law(SIZES * unit, a + b * (SIZES / 100) ** -c)
    assert law.c[0] == pytest.approx(c, rel=1e-5)
    assert law.a[0] == pytest.approx(a, abs=1e-6)
    assert law.scale[0] == pytest.approx(b * (100 * unit) ** c, rel=1e-3)
    assert law.error(1e4 * unit)[0] == pytest.approx(a + b * 100**-c, abs=1e-6)


def test_the_certified_fit_of_dan_wood() -> None:
    """NIST Statistical Reference Datasets, nonlinear regression, DanWood: y = b1 x^b2, x turned round. The free a is below 0."""
    x = np.array([1.309, 1.471, 1.490, 1.565, 1.611, 1.680])
    y = np.array([2.138, 3.421, 3.597, 4.340, 4.882, 5.660])
    law = fit_power_law(1 / x, y)
    assert law.a[0] == 0
    assert law.scale[0] == pytest.approx(7.6886226176e-01, rel=1e-6)
    assert law.c[0] == pytest.approx(3.8604055871, rel=1e-7)
    assert law.misfit[0] == pytest.approx(4.3173084083e-03, rel=1e-9)


def test_scipy_finds_nothing_better_on_random_curves() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(24):
        a, b, c = rng.uniform(0, 0.2), rng.uniform(0.3, 4), rng.uniform(0.2, 1.5)
        sd = 0.003 * np.sqrt(SIZES[-1] / SIZES)
        e = a + b * (SIZES / 40) ** -c + sd * rng.standard_normal(len(SIZES))
        law = fit_power_law(SIZES, e, 1 / sd**2)
        ours = float(np.sum(((e - law.error(SIZES)) / sd) ** 2))
        (a_, b_, c_), _ = curve_fit(
            lambda n, a, b, c: a + b * (n / 40) ** -c, SIZES, e, p0=[0.05, 1, 0.5], sigma=sd, bounds=([0, 0, FLATTEST], [2, 50, STEEPEST])
        )
        theirs = float(np.sum(((e - a_ - b_ * (SIZES / 40) ** -c_) / sd) ** 2))
        assert ours <= theirs * (1 + 1e-6) + 1e-12
        if ours > theirs * (1 - 1e-6):  # the same minimum, then the same curve
            inside += 1
            assert law.c[0] == pytest.approx(c_, rel=0.01)
            assert law.a[0] == pytest.approx(a_, abs=1e-3)
    assert inside > 20


def test_many_curves_at_once_are_the_curves_one_by_one() -> None:
    rng = np.random.default_rng(2)
    e = 0.1 + 2 * SIZES**-0.6 + rng.normal(0, 0.01, (40, len(SIZES)))
    w = rng.uniform(0.5, 2, len(SIZES))
    many = fit_power_law(SIZES, e, w)
    for i, row in enumerate(e):
        one = fit_power_law(SIZES, row, w)
        assert many.error(2000)[i] == pytest.approx(one.error(2000)[0], abs=1e-5)
        assert many.misfit[i] == pytest.approx(one.misfit[0], rel=1e-6)


def test_neither_order_nor_the_units_of_anything_matter() -> None:
    rng = np.random.default_rng(3)
    e = 0.1 + 2 * SIZES**-0.6 + rng.normal(0, 0.005, len(SIZES))
    w = rng.uniform(0.5, 2, len(SIZES))
    plain = fit_power_law(SIZES, e, w)
    mixed = rng.permutation(len(SIZES))
    for other, n, scale in (
        (fit_power_law(SIZES[mixed], e[mixed], w[mixed]), 1.0, 1.0),
        (fit_power_law(SIZES * 1000, e, w), 1000.0, 1.0),
        (fit_power_law(SIZES, e * 50, w), 1.0, 50.0),
        (fit_power_law(SIZES, e, w * 1e6), 1.0, 1.0),
    ):
        assert other.c[0] == pytest.approx(plain.c[0], rel=1e-5)
        assert other.a[0] == pytest.approx(plain.a[0] * scale, rel=1e-5)
        assert other.size(0.12 * scale)[0] == pytest.approx(plain.size(0.12)[0] * n, rel=1e-5)


def test_a_weight_counts_like_repeated_points() -> None:
    e = np.array([0.5, 0.38, 0.31, 0.22, 0.2, 0.17, 0.16, 0.13])
    twice = np.array([1, 2, 1, 1, 3, 1, 1, 2])
    weighted, repeated = fit_power_law(SIZES, e, twice), fit_power_law(np.repeat(SIZES, twice), np.repeat(e, twice))
    assert weighted.c[0] == pytest.approx(repeated.c[0], rel=1e-6)
    assert weighted.error(1000)[0] == pytest.approx(repeated.error(1000)[0], rel=1e-8)


def test_bounds_hold_and_a_curve_that_rises_is_flat() -> None:
    rng = np.random.default_rng(4)
    law = fit_power_law(SIZES, np.abs(rng.normal(0.1, 0.05, (300, len(SIZES)))))
    assert (law.a >= 0).all()
    assert (law.b >= 0).all()
    assert ((law.c >= FLATTEST) & (law.c <= STEEPEST)).all()
    rising = fit_power_law(SIZES, 0.1 + SIZES / 1e4)
    assert rising.b[0] == 0
    assert rising.a[0] == pytest.approx(np.mean(0.1 + SIZES / 1e4))
    assert rising.size(0.05)[0] == np.inf
    assert rising.size(0.5)[0] == 0


def test_the_size_is_the_inverse_of_the_error() -> None:
    law = fit_power_law(SIZES, 0.08 + 1.5 * SIZES**-0.5)
    for error in (0.3, 0.12, 0.0801):
        assert law.error(law.size(error)[0])[0] == pytest.approx(error, rel=1e-9)
    assert law.size(0.079)[0] == np.inf
