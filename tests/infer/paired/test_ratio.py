"""A run as a share of its reference: published numbers, the likelihood maximised numerically, exchange of sides, and Fieller by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from steelyard.infer.paired.decision import separate_ratio
from steelyard.infer.paired.ratio import MeanRatio, ShareRatio, ratio_score, right_answers_needed

# Computed by a prototype of the study on nights; to four digits the last is in DelRocco et al. 2022 (airway data of Bentur 2009).
SCORES = [
    ((860, 20, 35, 1000, 0.95), 3.5712695419336145),
    ((70, 5, 8, 100, 0.9), 1.2913975973242173),
    ((1, 1, 7, 21, 1.0), -2.1213203435596424),
]
BOUNDS = [
    ((860, 20, 35, 1000), 0.9, (0.9691495685612646, 0.9967708510394986)),
    ((70, 5, 8, 100), 0.9, (0.8813251068048907, 1.042849808514832)),
    ((43, 0, 1, 44), 0.9, (0.9043375736008273, 1.0387623512294415)),
    ((1, 1, 7, 21), 0.95, (0.06527922396859509, 0.9068805565791812)),
]


def share_ratio(both: int, gained: int, lost: int, n: int) -> ShareRatio:
    return ShareRatio(both=both, gained=gained, lost=lost, n=n)


@pytest.mark.parametrize(("table", "z"), SCORES)
def test_the_score_is_the_published_one(table: tuple[int, int, int, int, float], z: float) -> None:
    assert ratio_score(*table) == pytest.approx(z, abs=1e-12)


@pytest.mark.parametrize(("table", "level", "ends"), BOUNDS)
def test_the_bounds_are_the_published_ones(table: tuple[int, int, int, int], level: float, ends: tuple[float, float]) -> None:
    assert share_ratio(*table).interval(level) == pytest.approx(ends, abs=1e-12)


def numerical(both: int, gained: int, lost: int, n: int, ratio: float) -> float:
    """The score z with the nuisance share found by maximising the multinomial likelihood under the ratio, by search."""
    neither = n - both - gained - lost

    def shares(q01: float, q11: float) -> tuple[float, float, float]:
        q10 = ratio * (q11 + q01) - q11
        return q11, q10, q01

    def loss(x: np.ndarray) -> float:
        q11, q10, q01 = shares(*x)
        cells = np.array([q11, q10, q01, 1 - q11 - q10 - q01])
        if (cells < -1e-12).any():
            return 1e9
        return -float(special.xlogy([both, gained, lost, neither], np.clip(cells, 1e-300, 1)).sum())

    best = min(
        (
            optimize.minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-13, "maxiter": 4000})
            for start in ([0.05, 0.5], [lost / n + 0.01, both / n], [0.2, 0.3])
        ),
        key=lambda found: found.fun,
    )
    _, q10, q01 = shares(*best.x)
    return ((both + gained) - ratio * (both + lost)) / math.sqrt(n * ratio * (q10 + q01))


@pytest.mark.parametrize("table", [(70, 5, 8, 100), (40, 12, 3, 80), (10, 6, 9, 60)])
@pytest.mark.parametrize("ratio", [0.85, 0.97, 1.1])
def test_the_closed_form_is_the_largest_likelihood_under_the_ratio(table: tuple[int, int, int, int], ratio: float) -> None:
    assert ratio_score(*table, ratio) == pytest.approx(numerical(*table, ratio), abs=2e-4)


@pytest.mark.parametrize("seed", range(20))
def test_exchanging_the_systems_turns_the_ratio_over(seed: int) -> None:
    r = np.random.default_rng(seed)
    both, gained, lost = (int(x) for x in r.integers(1, 60, 3))
    n, ratio = both + gained + lost + int(r.integers(0, 40)), float(r.uniform(0.5, 2))
    assert ratio_score(both, gained, lost, n, ratio) == pytest.approx(-ratio_score(both, lost, gained, n, 1 / ratio), abs=1e-9)
    low, high = share_ratio(both, gained, lost, n).interval(0.9)
    turned = share_ratio(both, lost, gained, n).interval(0.9)
    assert (1 / high, 1 / low) == pytest.approx(turned, rel=1e-9)
    assert low < share_ratio(both, gained, lost, n).estimate < high


@pytest.mark.parametrize("seed", range(12))
def test_p_and_bound_say_the_same_at_every_ratio(seed: int) -> None:
    r = np.random.default_rng(seed)
    both, gained, lost = (int(x) for x in r.integers(0, 30, 3))
    found = share_ratio(both + 1, gained, lost, both + gained + lost + 5)
    low, high = found.interval(0.9)
    for ratio in (0.5 * low + 1e-6, low * 0.999, low * 1.001 + 1e-6, found.estimate, high * 0.999, high * 1.001):
        if ratio > 0:
            assert (found.p_value(ratio, "greater") <= 0.05) == (ratio <= low), ratio
            assert (found.p_value(ratio, "less") <= 0.05) == (ratio >= high), ratio


def test_without_a_change_the_bound_is_x_over_x_plus_z_squared() -> None:
    z = stats.norm.ppf(0.95)
    for right, n in ((1, 1), (52, 60), (268, 268), (5000, 9000)):
        assert share_ratio(right, 0, 0, n).interval(0.9)[0] == pytest.approx(right / (right + z * z), rel=1e-9)
    assert [right_answers_needed(share, 0.05) for share in (0.95, 0.99, 0.999)] == [52, 268, 2703]


def test_a_ratio_of_one_is_mcnemar() -> None:
    for gained, lost in ((3, 9), (0, 4), (12, 12)):
        assert ratio_score(100, gained, lost, 150, 1.0) == pytest.approx((gained - lost) / math.sqrt(gained + lost), abs=1e-12)


def test_nothing_right_and_nothing_changed_are_no_evidence() -> None:
    assert ratio_score(0, 0, 0, 10, 0.9) == 0.0
    assert ratio_score(7, 0, 0, 10, 1.0) == 0.0
    assert share_ratio(0, 0, 2, 10).interval(0.9)[0] == 0.0


def of_numbers(x: np.ndarray, y: np.ndarray, largest: float) -> MeanRatio:
    n = len(x)

    def spread(ratio: float) -> tuple[float, float]:
        return float(np.var(y - ratio * x, ddof=1)) / n, n - 1

    return MeanRatio(baseline=float(x.mean()), candidate=float(y.mean()), units=n, largest=largest, spread=spread)


def test_the_p_value_of_means_is_t_with_one_more_item_at_either_end() -> None:
    r = np.random.default_rng(1)
    x = r.beta(4, 2, 40)
    y = np.clip(x * 0.96 + r.normal(0, 0.05, 40), 0, 1)
    for ratio in (0.9, 0.95, 1.0, 1.2):
        reach = max(1.0, ratio)
        d = np.concatenate([y - ratio * x, [reach, -reach]])
        expected = stats.ttest_1samp(d, 0, alternative="less").pvalue
        assert of_numbers(x, y, 1.0).p_value(ratio, "less") == pytest.approx(expected, rel=1e-9)


def test_with_many_items_the_bounds_are_fieller_s() -> None:
    r = np.random.default_rng(2)
    x = r.lognormal(0, 0.4, 200_000)
    y = 0.97 * x + r.normal(0, 0.2, len(x))
    n, t = len(x), stats.norm.ppf(0.95)
    sxx, syy, sxy = x.var(ddof=1) / n, y.var(ddof=1) / n, np.cov(x, y)[0, 1] / n
    a, b, c = x.mean() ** 2 - t * t * sxx, x.mean() * y.mean() - t * t * sxy, y.mean() ** 2 - t * t * syy
    root = math.sqrt(b * b - a * c)
    assert of_numbers(x, y, float(x.max())).interval(0.9) == pytest.approx(((b - root) / a, (b + root) / a), abs=3e-5)


def test_a_baseline_that_is_not_clear_of_zero_has_no_upper_bound() -> None:
    x, y = np.array([0.0, 0.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0, 1.0])
    assert of_numbers(x, y, 1.0).interval(0.9)[1] == math.inf
    assert separate_ratio(1.0, 0.1, 0.01, 0.01, 1.645) is None


def test_two_separate_numbers_have_the_ratios_that_their_z_test_keeps() -> None:
    low, high = separate_ratio(0.78, 0.8, 0.0004, 0.0002, 1.645) or (0.0, 0.0)
    for ratio in (low, high):
        assert abs(0.78 - ratio * 0.8) / math.sqrt(0.0004 + ratio**2 * 0.0002) == pytest.approx(1.645, rel=1e-9)
