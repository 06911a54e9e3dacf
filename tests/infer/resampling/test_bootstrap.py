"""Percentile, BCa and studentized intervals against scipy.stats.bootstrap and plain twins on the same items."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import steelyard as sy
from by_name import STATISTICS, item_rows, statistic
from oracles import naive_bca
from steelyard.infer.intervals.sums import resampled, standard_error
from steelyard.infer.intervals.table import table_bootstrap
from steelyard.infer.resampling import bootstrap
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.metrics.sums import QUOTIENT
from steelyard.tally.counts import Counts
from steelyard.tally.sums import Sums, tally_items

DRAWS = 20_000
TABLE = Counts.table([[18, 3, 1], [2, 11, 4], [0, 5, 16]])
SKEWED = np.random.default_rng(8).beta(8, 2, 40)


def monte_carlo(sd: float, q: float = 0.025, draws: int = DRAWS) -> float:
    """4 standard errors of the difference of two bootstrap quantiles, for a nearly normal law of this spread."""
    return 4 * math.sqrt(2) * math.sqrt(q * (1 - q) / draws) / stats.norm.pdf(stats.norm.ppf(q)) * sd


def macro_f1(truth: np.ndarray, prediction: np.ndarray, axis: int = -1) -> np.ndarray:
    values = []
    for k in range(3):
        off = (truth == k).sum(axis) + (prediction == k).sum(axis)
        values.append(2 * ((truth == k) & (prediction == k)).sum(axis) / off)
    return np.mean(values, axis=0)


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_table_against_scipy(ours: str, theirs: str) -> None:
    truth, prediction = np.array([(t, p) for t, p, c in TABLE.cells() for _ in range(c)]).T
    wanted = stats.bootstrap(
        (truth, prediction),
        macro_f1,
        paired=True,
        vectorized=True,
        n_resamples=DRAWS,
        method=theirs,
        random_state=np.random.default_rng(1),
        batch=2000,
    )
    low, high, undefined = table_bootstrap(TABLE, statistic("f1", average_of="macro"), ours, draws=DRAWS)
    assert undefined == 0
    assert low == pytest.approx(wanted.confidence_interval.low, abs=monte_carlo(wanted.standard_error))
    assert high == pytest.approx(wanted.confidence_interval.high, abs=monte_carlo(wanted.standard_error))


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_mean_against_scipy(ours: str, theirs: str, level: float) -> None:
    wanted = stats.bootstrap(
        (SKEWED,), np.mean, confidence_level=level, n_resamples=DRAWS, method=theirs, random_state=np.random.default_rng(1)
    )
    low, high, _ = resampled(tally_items(item_rows("mean", SKEWED)), QUOTIENT, ours, level, "two", draws=DRAWS, seed=0)
    tolerance = monte_carlo(wanted.standard_error, (1 - level) / 2)
    assert (low, high) == pytest.approx((wanted.confidence_interval.low, wanted.confidence_interval.high), abs=tolerance)


def test_bca_on_the_same_draws_is_the_twin() -> None:
    """Same redrawn values, jackknife item by item: equal to the last digits, ties and repeated cells included."""
    items = np.array([0.0] * 3 + [0.5] * 4 + [1.0] * 13)
    redrawn = items[np.random.default_rng(2).integers(0, 20, (4000, 20))].mean(1)
    values, count = np.unique(items, return_counts=True)
    left_out = (items.sum() - values) / 19
    for level in (0.8, 0.95, 0.99):
        found = bootstrap.bca(redrawn, float(items.mean()), left_out, count, level)
        assert found == pytest.approx(naive_bca(items, lambda x: float(np.mean(x)), redrawn, level), abs=1e-12)


def test_bca_with_no_bias_and_no_acceleration_is_percentile() -> None:
    values = np.concatenate([-np.arange(1, 2001.0), [0], np.arange(1, 2001.0)])
    assert bootstrap.bca(values, 0.0, np.array([-1.0, 0, 1])) == pytest.approx(bootstrap.percentile(values), abs=1e-6)


def test_bca_one_sided_uses_the_one_sided_tail() -> None:
    values = np.random.default_rng(0).gamma(4, size=5000)
    left_out = np.random.default_rng(1).gamma(4, size=60)
    two = bootstrap.bca(values, 4.0, left_out, 1, 0.9)
    assert bootstrap.bca(values, 4.0, left_out, 1, 0.95, "lower")[0] == pytest.approx(two[0], abs=1e-9)
    assert bootstrap.bca(values, 4.0, left_out, 1, 0.95, "upper")[1] == pytest.approx(two[1], abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(shift=st.floats(-100, 100), scale=st.floats(0.01, 100))
def test_moving_and_stretching_the_scores_moves_the_interval(shift: float, scale: float) -> None:
    values = np.random.default_rng(0).gamma(3, size=400)
    left_out = np.random.default_rng(1).gamma(3, size=40)
    errors = np.random.default_rng(2).uniform(0.5, 1, 400)
    for here, there in (
        (bootstrap.percentile(values), bootstrap.percentile(shift + scale * values)),
        (bootstrap.bca(values, 3.0, left_out), bootstrap.bca(shift + scale * values, shift + scale * 3.0, shift + scale * left_out)),
        (
            bootstrap.studentized(values, errors, 3.0, 0.7),
            bootstrap.studentized(shift + scale * values, scale * errors, shift + scale * 3.0, scale * 0.7),
        ),
    ):
        assert there == pytest.approx([shift + scale * x for x in here], abs=1e-6 * (1 + scale + abs(shift)))


def test_studentized_against_a_twin() -> None:
    """Quantiles of (mean* - mean) / se* over item resamples."""
    rng = np.random.default_rng(3)
    rows = SKEWED[rng.integers(0, 40, (DRAWS, 40))]
    t = (rows.mean(1) - SKEWED.mean()) / (rows.std(1, ddof=1) / math.sqrt(40))
    error = SKEWED.std(ddof=1) / math.sqrt(40)
    wanted = [SKEWED.mean() - np.quantile(t, q) * error for q in (0.975, 0.025)]
    sums = tally_items(item_rows("mean", SKEWED))
    assert standard_error(sums, QUOTIENT) == pytest.approx(error, abs=1e-15)
    low, high, _ = resampled(sums, QUOTIENT, "studentized", 0.95, "two", draws=DRAWS, seed=0)
    assert (low, high) == pytest.approx(wanted, abs=1.5 * monte_carlo(error))


def test_studentized_draws_without_spread_widen() -> None:
    values, errors = np.linspace(-1, 1, 1001), np.ones(1001)
    plain = bootstrap.studentized(values, errors, 0.0, 1.0)
    errors[[0, 3, 900, 1000]] = 0
    wider = bootstrap.studentized(values, errors, 0.0, 1.0)
    assert wider[0] <= plain[0]
    assert wider[1] >= plain[1]
    errors[:200] = 0
    with pytest.raises(Degenerate, match="no spread"):
        bootstrap.studentized(values, errors, 0.0, 1.0)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_a_table_without_variation_is_degenerate(method: str) -> None:
    with pytest.raises(Degenerate):
        table_bootstrap(Counts.table([[9, 0], [0, 7]]), statistic("accuracy"), method)
    with pytest.raises(Degenerate):
        table_bootstrap(Counts.table([[1, 0], [0, 0]]), statistic("accuracy"), method)


def test_one_sided_draws_are_degenerate() -> None:
    with pytest.raises(Degenerate, match="one side"):
        bootstrap.bca(np.linspace(1, 2, 500), 0.5, np.arange(5.0))
    with pytest.raises(Degenerate, match="changes nothing"):
        bootstrap.bca(np.linspace(1, 2, 500), 1.5, np.ones(5))


def test_draws_must_reach_the_tail() -> None:
    assert bootstrap.check_draws(39, 0.95, "two") == 39
    for draws, level, side in ((38, 0.95, "two"), (18, 0.95, "lower"), (198, 0.99, "two"), (100.5, 0.9, "two"), (True, 0.5, "lower")):
        with pytest.raises(sy.UsageError, match="draws must be a whole number"):
            bootstrap.check_draws(draws, level, side)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["percentile", "bca", "studentized"])
def test_same_seed_same_answer(method: str) -> None:
    sums = tally_items(item_rows("mean", SKEWED))
    ask = lambda seed: resampled(sums, QUOTIENT, method, 0.95, "two", draws=500, seed=seed)  # noqa: E731
    assert ask(7) == ask(7)
    assert ask(7) != ask(8)
    one = statistic("f1", average_of="macro")
    if method != "studentized":
        assert table_bootstrap(TABLE, one, method, draws=500, seed=7) == table_bootstrap(TABLE, one, method, draws=500, seed=7)
        assert table_bootstrap(TABLE, one, method, draws=500, seed=7) != table_bootstrap(TABLE, one, method, draws=500, seed=8)


def test_undefined_draws_are_counted() -> None:
    """A class of one item is missing from about exp(-1) of the resamples."""
    counts = Counts.table({("a", "a"): 30, ("a", "b"): 5, ("b", "b"): 1})
    low, high, undefined = table_bootstrap(counts, statistic("recall", average_of="macro"), "percentile", draws=4000)
    assert 0 < low < high <= 1
    assert abs(undefined / 4000 - (35 / 36) ** 36) < 4 * math.sqrt(0.37 * 0.63 / 4000)


@pytest.mark.parametrize("name", ["rmse", "r2", "ece"])
def test_functions_of_sums_against_scipy(name: str) -> None:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 60).astype(float) if name == "ece" else rng.normal(size=60)
    p = np.clip(0.5 + 0.3 * (y - 0.5) + rng.normal(0, 0.15, 60), 0, 1) if name == "ece" else y + rng.normal(0, 0.5, 60)
    columns = (p, y) if name == "ece" else (y, p)
    rows = item_rows(name, *columns)

    def of_items(first: np.ndarray, second: np.ndarray, axis: int = -1) -> np.ndarray:
        if name == "rmse":
            return np.sqrt(((first - second) ** 2).mean(axis))
        if name == "r2":
            return 1 - ((first - second) ** 2).sum(axis) / ((first - first.mean(axis, keepdims=True)) ** 2).sum(axis)
        bins = np.minimum((first * 10).astype(int), 9)
        return sum(np.abs(np.where(bins == b, first - second, 0.0).sum(axis)) for b in range(10)) / first.shape[axis]  # type: ignore[return-value]

    wanted = stats.bootstrap(
        columns, of_items, paired=True, vectorized=True, n_resamples=10_000, method="BCa", random_state=np.random.default_rng(1), batch=2000
    )
    sums = Sums(rows=rows, count=np.ones(60, np.int64), answers=60)
    low, high, _ = resampled(sums, STATISTICS[name], "bca", 0.95, "two", draws=10_000, seed=0)
    tolerance = 1.5 * monte_carlo(wanted.standard_error, draws=10_000)  # BCa moves the levels into thinner tails
    assert (low, high) == pytest.approx((wanted.confidence_interval.low, wanted.confidence_interval.high), abs=tolerance)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0, 1))
def test_a_quantile_is_numpys_to_the_bit(values: list[float], share: float) -> None:
    assert bootstrap.quantile(np.array(values), share) == float(np.quantile(np.array(values), share))


@pytest.mark.parametrize("share", [0.0, 0.025, 0.05, 0.5, 0.95, 0.975, 1 - 1e-17, 1.0])
def test_the_usual_quantiles_of_many_draws_are_numpys(share: float) -> None:
    drawn = np.random.default_rng(3).normal(size=10_000)
    assert bootstrap.quantile(drawn, share) == float(np.quantile(drawn, share))
