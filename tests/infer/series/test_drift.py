"""The chart, its average run length, the deviation: published values, oracles that share no code, and simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cases import every, seldom
from steelyard.errors import DataError, UsageError
from steelyard.infer.series.drift import Start, cusum, cusum_run_length, deviation, self_starting, share_run_length, successive_deviation

# ---- published: average run lengths of the one-sided CUSUM ------------------------------------------------------------------
# As quoted in the examples of R package spc 0.6.8, xcusum.arl: Vance (1986) table 1 with k = 0, h = 10; Waldmann (1986) tables 1, 3
# and 5 with k = .5, h = 3; Brook and Evans (1972) section 4.3; the manual of SAS/QC 1999 for k = .25, h = 8.
VANCE = {-0.25: 2071.51, -0.125: 400.28, 0.0: 124.66, 0.125: 59.30, 0.25: 36.71, 0.5: 20.37, 0.75: 14.06, 1.0: 10.75}
# Lucas and Crosier (1982) table 1, two-sided with k = .5, h = 4 and no head start; 1/L = 1/L(up) + 1/L(down).
LUCAS_CROSIER = {0.0: 168.0, 0.25: 74.2, 0.5: 26.6, 0.75: 13.3, 1.0: 8.38, 1.5: 4.75, 2.0: 3.34, 2.5: 2.62, 3.0: 2.19, 4.0: 1.71, 5.0: 1.31}


@every("shift", VANCE)
def test_run_length_of_vance(shift: float) -> None:
    assert cusum_run_length(0.0, 10.0, shift) == pytest.approx(VANCE[shift], rel=4e-5, abs=0.006)


def test_run_lengths_of_waldmann_brook_evans_and_sas() -> None:
    assert [cusum_run_length(0.5, 3.0, shift) for shift in (-0.5, 0.0, 0.5)] == pytest.approx([1963, 117.6, 17.35], rel=2e-3)
    assert cusum_run_length(0.5, 3.0, 1.5) == pytest.approx(3.75, abs=0.005)
    assert cusum_run_length(0.25, 8.0, 2.5) == pytest.approx(4.1500836225, rel=1e-7)


@every("shift", LUCAS_CROSIER)
def test_run_length_of_lucas_and_crosier(shift: float) -> None:
    both = 1 / (1 / cusum_run_length(0.5, 4.0, shift) + 1 / cusum_run_length(0.5, 4.0, -shift))
    # Their Markov chain is coarse in the last digit for the largest shifts, as R's own example shows.
    assert both == pytest.approx(LUCAS_CROSIER[shift], rel=0.005 if shift < 3 else 0.02)


def test_the_usual_charts() -> None:
    assert round(cusum_run_length(0.5, 5.0)) == 931
    assert round(cusum_run_length(0.5, 4.0), 1) == 335.4


@pytest.mark.parametrize(("k", "h", "shift"), [(0.5, 5.0, 0.0), (0.5, 4.0, 1.0), *seldom((0.25, 8.0, 0.5)), (1.0, 2.5, 0.0)])
def test_run_length_by_a_fine_markov_chain(k: float, h: float, shift: float) -> None:
    """Brook and Evans: the sum on a grid, extrapolated from two widths because the error falls with the square."""

    def chain(cells: int) -> float:
        width = h / cells
        centre = (np.arange(cells) + 0.5) * width
        normal = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))
        reach = centre[None, :] - centre[:, None] + k - shift
        move = normal(reach + width / 2) - normal(reach - width / 2)
        to_zero, from_zero = normal(k - shift - centre), normal(centre + width / 2 + k - shift) - normal(centre - width / 2 + k - shift)
        whole = np.zeros((cells + 1, cells + 1))
        whole[0, 0], whole[0, 1:], whole[1:, 0], whole[1:, 1:] = normal(k - shift), from_zero, to_zero, move
        return float(np.linalg.solve(np.eye(cells + 1) - whole, np.ones(cells + 1))[0])

    coarse, fine = chain(150), chain(300)
    assert cusum_run_length(k, h, shift) == pytest.approx(fine + (fine - coarse) / 3, rel=1e-4)


def test_more_nodes_change_nothing() -> None:
    for k, h in ((0.5, 5.0), (0.25, 12.0), (1.5, 1.0)):
        assert cusum_run_length(k, h) == pytest.approx(cusum_run_length(k, h, nodes=300), rel=1e-9)


def test_a_chart_that_never_alarms_is_infinite() -> None:
    assert cusum_run_length(3.0, 30.0) == math.inf
    for wrong in ((math.nan, 5.0), (0.5, 0.0), (0.5, -1.0), (0.5, math.inf)):
        with pytest.raises(UsageError, match="average run length"):
            cusum_run_length(*wrong)


def test_run_length_simulated() -> None:
    """8,000 charts of k = .5, h = 3 on independent normal numbers; the run length has about its own mean as deviation."""
    rng = np.random.default_rng(3)
    many, exact = 8000, cusum_run_length(0.5, 3.0)
    sums, length, alive = np.zeros(many), np.zeros(many), np.ones(many, bool)
    while alive.any():
        length[alive] += 1
        sums[alive] = np.maximum(0.0, sums[alive] - rng.normal(size=int(alive.sum())) - 0.5)
        alive &= sums < 3.0
    assert abs(length.mean() - exact) < 4 * exact / math.sqrt(many)


# ---- the self-starting scores -----------------------------------------------------------------------------------------------


def test_scores_against_a_plain_oracle() -> None:
    """Each score from the runs before, by the definition, through scipy.stats in tests only."""
    from scipy import stats

    rng = np.random.default_rng(0)
    for _ in range(50):
        reference = rng.normal(5, 2, size=rng.integers(2, 6))
        values = rng.normal(5, 2, size=12)
        start = Start(runs=len(reference), mean=float(reference.mean()), deviation=float(reference.std(ddof=1)))
        for i, found in enumerate(self_starting(list(values), start)):
            before = np.concatenate([reference, values[:i]])
            m = len(before)
            t = math.sqrt(m / (m + 1)) * (values[i] - before.mean()) / before.std(ddof=1)
            assert found == pytest.approx(stats.norm.ppf(stats.t.cdf(t, m - 1)), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("runs", [0, 1, 5])
def test_scores_are_standard_normal_and_uncorrelated(runs: int) -> None:
    """1,500 healthy series: mean, square and neighbours' product of the scores, each within 4 standard errors."""
    rng = np.random.default_rng(runs + 1)
    many, length = 1500, 8
    rows = []
    for _ in range(many):
        reference = rng.normal(0.8, 0.01, size=runs)
        start = (
            Start(runs=runs, mean=float(reference.mean()), deviation=float(reference.std(ddof=1)) if runs > 1 else 0.0) if runs else None
        )
        rows.append([u for u in self_starting(list(rng.normal(0.8, 0.01, size=length)), start) if u is not None])
    scores = np.array(rows)
    assert scores.shape[1] == length - max(0, 2 - runs)
    assert (np.abs(scores.mean(axis=0)) < 4 / math.sqrt(many)).all()
    assert (np.abs((scores**2).mean(axis=0) - 1) < 4 * math.sqrt(2 / many)).all()
    assert (np.abs((scores[:, 1:] * scores[:, :-1]).mean(axis=0)) < 4 / math.sqrt(many)).all()
    assert abs(float((scores < -1.6448536269514722).mean()) - 0.05) < 4 * math.sqrt(0.05 * 0.95 / scores.size)


@given(
    st.lists(st.floats(-3, 3), min_size=4, max_size=12),
    st.floats(-100, 100),
    st.floats(0.1, 100),
)
def test_scores_do_not_depend_on_level_and_scale(values: list[float], level: float, scale: float) -> None:
    moved = self_starting([level + scale * x for x in values])
    for a, b in zip(self_starting(values), moved, strict=True):
        if a is not None and b is not None and np.std(values[:2]) > 0.01:
            assert b == pytest.approx(a, abs=1e-4)


def test_runs_that_are_all_equal_have_no_score() -> None:
    assert self_starting([0.8] * 5) == [None] * 5
    assert self_starting([0.1 + 0.2, 0.3, 0.3]) == [None] * 3  # rounding is no noise
    assert self_starting([0.8, 0.8, 0.9, 0.7])[:3] == [None, None, None]
    assert self_starting([]) == []
    far = self_starting([0.0, 1.0, -1e9])[-1]
    assert far is not None
    assert math.isfinite(far)


def test_the_sum_never_falls_below_zero_and_ignores_what_is_not_known() -> None:
    assert cusum([2.0, None, -1.0, -1.0, None, 3.0], k=0.5) == [0.0, 0.0, 0.5, 1.0, 1.0, 0.0]
    for wrong in (-0.1, math.nan):
        with pytest.raises(UsageError):
            cusum([1.0], k=wrong)


def test_a_fall_is_found_about_as_fast_as_the_run_length_says() -> None:
    """After 200 healthy runs the past is known well: a fall of one deviation is found after about 10 runs."""
    rng = np.random.default_rng(9)
    found = []
    for _ in range(300):
        values = np.concatenate([rng.normal(size=200), rng.normal(-1, 1, size=60)])
        path = np.array(cusum(self_starting(list(values)), 0.5))
        path[:200] = 0  # false alarms before are another matter
        found.append(int(np.argmax(path >= 5)) - 199 if (path >= 5).any() else 61)
    exact = cusum_run_length(0.5, 5.0, shift=1.0)
    assert 0.8 * exact < np.mean(found) < 1.25 * exact


# ---- the deviation -----------------------------------------------------------------------------------------------------------


def test_the_deviation_of_a_start_and_a_series_is_about_two_levels() -> None:
    """Each about its own mean: the squares and degrees of freedom add up, and the ends are those of chi-square with all of them."""
    values = [0.5, -1.0, 2.0, 3.5, 0.0, 1.0]
    found, low, high, freedom = deviation(values, Start(runs=4, mean=100.0, deviation=2.0))
    squares = 3 * 2.0**2 + 5 * np.var(values, ddof=1)
    assert (freedom, found) == (8, pytest.approx(math.sqrt(squares / 8)))
    assert (low, high) == pytest.approx((math.sqrt(squares / stats.chi2.ppf(0.975, 8)), math.sqrt(squares / stats.chi2.ppf(0.025, 8))))


def test_deviation_of_a_printed_table() -> None:
    """The quantiles of chi-square with 3 degrees of freedom as every table prints them: 9.3484 and 0.2158."""
    found = deviation([3.0, 5.0, 7.0, 4.0])
    squares = 8.75  # about their mean, 4.75
    assert found[0] == pytest.approx(math.sqrt(squares / 3))
    assert found[1:3] == pytest.approx((math.sqrt(squares / 9.3484), math.sqrt(squares / 0.2158)), rel=1e-4)


def test_neighbours_see_less_of_a_drift() -> None:
    slow = [i / 10 for i in range(50)]
    assert successive_deviation(slow) < deviation(slow)[0] / 10
    rng = np.random.default_rng(1)
    steady = list(rng.normal(size=20_000))
    assert successive_deviation(steady) == pytest.approx(1.0, abs=0.03)
    for wrong in ([], [1.0]):
        with pytest.raises(DataError):
            successive_deviation(wrong)
    with pytest.raises(DataError):
        deviation([0.8])


@pytest.mark.parametrize(("n", "share"), [*seldom((250, 0.85)), (50, 0.95), *seldom((100, 0.5))])
def test_the_run_length_of_shares_is_what_simulated_charts_have(n: int, share: float) -> None:
    """A thousand self-standardised series of binomial runs, each until its alarm; four Monte Carlo errors."""
    rng = np.random.default_rng(n)
    total, sums, lengths = 0, np.zeros(1000), np.zeros(1000)
    going = np.ones(1000, bool)
    while going.any() and total < 20_000:
        total += 1
        scores = (rng.binomial(n, share, 1000) - n * share) / math.sqrt(n * share * (1 - share))
        sums = np.maximum(0, sums - scores - 0.5)
        lengths[going] = total
        going &= sums < 5
    found = share_run_length(0.5, 5, n, share)
    assert found == pytest.approx(lengths.mean(), abs=4 * lengths.std() / math.sqrt(1000) + 0.02 * found)


def test_the_run_length_of_many_items_is_that_of_normal_runs() -> None:
    assert share_run_length(0.5, 5, 39_000, 0.5) == pytest.approx(cusum_run_length(0.5, 5), rel=0.02)
    assert share_run_length(0.5, 5, 10**6, 0.5) == cusum_run_length(0.5, 5)
    with pytest.raises(UsageError, match="share"):
        share_run_length(0.5, 5, 100, 1.0)
