"""Adjusted differences: the formula again by least squares, what any slope leaves alone, what the best one saves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steelyard.errors import DataError, UsageError
from steelyard.infer.sequential.regression_adjusted import adjusted_differences, slope_of


def test_the_slope_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    f = rng.random(200)
    y = 0.6 * f + 0.2 * rng.random(200)
    assert slope_of(y, f) == pytest.approx(stats.linregress(f, y).slope)
    assert slope_of(f, np.ones(200)) == 1  # a reference that does not vary: pairing
    assert slope_of(-f, f) == 0
    assert slope_of(3 * f, f) == 1


@pytest.mark.parametrize("slope", [0.0, 0.4, 1.0, None])
def test_all_of_the_pool_gives_the_plain_difference(slope: float | None) -> None:
    rng = np.random.default_rng(1)
    f, y = rng.random(80), rng.random(80)
    assert adjusted_differences(y, f, float(f.mean()), slope).mean() == pytest.approx(y.mean() - f.mean())


def test_slope_one_is_pairing() -> None:
    rng = np.random.default_rng(2)
    f, y = rng.random(50), rng.random(50)
    assert adjusted_differences(y, f, 0.123, 1.0) == pytest.approx(y - f)
    assert adjusted_differences(y[:20], f[:20], 0.123) == pytest.approx(y[:20] - f[:20])  # too few for a slope of their own


def test_the_variance_that_is_left() -> None:
    """Right or wrong with discordance d around accuracy p: d (1 - d / 4 p (1 - p)) instead of d."""
    rng, p, d = np.random.default_rng(3), 0.75, 0.15
    q = rng.beta(3 * p, 3 * (1 - p), 400_000)
    d = float(2 * (q * (1 - q)).mean())
    f, y = (rng.random(len(q)) < q).astype(float), (rng.random(len(q)) < q).astype(float)
    assert adjusted_differences(y, f, p).var() == pytest.approx(d * (1 - d / (4 * p * (1 - p))), rel=0.02)


def test_subsets_of_a_pool_are_unbiased() -> None:
    rng = np.random.default_rng(4)
    f = rng.random(500)
    y = 0.5 * f + 0.4 * rng.random(500)
    chosen = [rng.permutation(500)[:60] for _ in range(3000)]
    for slope in (0.5, None):
        means = np.array([adjusted_differences(y[i], f[i], float(f.mean()), slope).mean() for i in chosen])
        assert abs(means.mean() - (y.mean() - f.mean())) < 4 * means.std() / np.sqrt(3000) + 2e-4
        assert means.std() < 0.8 * np.array([(y[i] - f[i]).mean() for i in chosen]).std()


def test_what_cannot_be() -> None:
    with pytest.raises(DataError, match="same items"):
        adjusted_differences([1.0], [1.0, 0.0], 0.5)
    with pytest.raises(DataError, match="same items"):
        slope_of([], [])
    with pytest.raises(UsageError, match="from 0 to 1"):
        adjusted_differences([1.0], [1.0], 0.5, slope=1.5)
