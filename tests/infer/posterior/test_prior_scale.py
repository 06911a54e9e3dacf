"""P(difference above x) under a prior of stated scale: a plain sum over a grid, limits that are known, symmetry, calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from steelyard.infer.posterior.prior_scale import estimate_above, flips_above


def plain(gained: int, lost: int, n: int, scale: float, at: float) -> float:
    """The same model, summed over a grid of shares and differences."""
    psi = np.linspace(1e-3, 1 - 1e-3, 400)[:, None]
    part = np.linspace(-1, 1, 4001)[None, 1:-1]
    d = psi * part
    logged = gained * np.log(psi + d) + lost * np.log(psi - d) + (n - gained - lost) * np.log1p(-psi) - (d / scale) ** 2 / 2
    logged -= np.log([math.erf(float(p) / scale / math.sqrt(2)) for p in psi[:, 0]])[:, None]
    mass = np.exp(logged - logged.max()) * psi
    return float(mass[d > at].sum() / mass.sum())


@pytest.mark.parametrize(
    ("gained", "lost", "n", "scale", "at"),
    [(5, 0, 200, 0.02, 0.0), (20, 10, 200, 0.01, 0.01), (3, 1, 20, 0.1, 0.0), (3, 0, 10, 1.0, 0.0), (30, 42, 300, 0.03, -0.02)],
)
def test_flips_equal_a_plain_sum(gained: int, lost: int, n: int, scale: float, at: float) -> None:
    assert flips_above(gained, lost, n, scale, at) == pytest.approx(plain(gained, lost, n, scale, at), abs=2e-3)


@settings(max_examples=30, deadline=None)
@given(gained=st.integers(0, 60), lost=st.integers(0, 60), agree=st.integers(0, 500), scale=st.floats(1e-4, 2))
def test_flips_exchanged_and_in_order(gained: int, lost: int, agree: int, scale: float) -> None:
    n = gained + lost + agree
    if n == 0:
        return
    here = flips_above(gained, lost, n, scale)
    assert 0 <= here <= 1
    assert flips_above(lost, gained, n, scale) == pytest.approx(1 - here, abs=1e-9)
    assert (here >= 0.5 - 1e-9) == (gained >= lost) or gained == lost
    assert flips_above(gained, lost, n, scale, 0.01) <= here + 1e-12
    assert flips_above(gained + 1, lost, n + 1, scale) >= here - 1e-3


def test_a_tight_prior_says_nothing_and_a_wide_one_what_the_flips_say() -> None:
    assert flips_above(76, 58, 1000, 1e-6) == pytest.approx(0.5, abs=1e-3)
    assert flips_above(76, 58, 1000, 100.0) == pytest.approx(stats.beta.sf(0.5, 77, 59), abs=1e-3)  # a flat share of gains


def test_an_estimate_by_the_normal_formula_and_by_a_sum_over_t() -> None:
    mean, deviation = 0.018 * 0.005**2 / (0.005**2 + 0.0115**2), 0.005 * 0.0115 / math.hypot(0.005, 0.0115)
    assert estimate_above(0.018, 0.0115, 0.005) == pytest.approx(stats.norm.sf(0, mean, deviation), abs=1e-12)
    d = np.linspace(-1, 1, 400_001)
    mass = stats.norm.pdf(d, 0, 0.05) * stats.t.pdf((0.08 - d) / 0.04, 6)
    assert estimate_above(0.08, 0.04, 0.05, df=6) == pytest.approx(mass[d > 0].sum() / mass.sum(), abs=2e-3)
    assert estimate_above(0.08, 0.04, 0.05, 0.05, df=6) == pytest.approx(mass[d > 0.05].sum() / mass.sum(), abs=2e-3)


def test_calibrated_where_truths_come_from_the_prior() -> None:
    """Stated probabilities and how often they were right, in fifths: 4,000 comparisons of 200 items, true differences of sd .02."""
    rng = np.random.default_rng(8)
    truth = rng.normal(0, 0.02, 4_000).clip(-0.1, 0.1)
    gained, lost, _ = rng.multinomial(200, np.stack([(0.1 + truth) / 2, (0.1 - truth) / 2, np.full(len(truth), 0.9)], 1)).T
    pairs, which = np.unique(np.stack([gained, lost]), axis=1, return_inverse=True)
    said = np.array([flips_above(int(g), int(less), 200, 0.02) for g, less in pairs.T])[which.ravel()]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        here = (said >= low) & (said < low + 0.2)
        if here.sum() > 400:
            right = truth[here] > 0
            assert right.mean() == pytest.approx(said[here].mean(), abs=4 * 0.5 / math.sqrt(here.sum()) + 0.01)
