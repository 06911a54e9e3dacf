"""Functions of sums: Student's t of scipy, cluster-robust errors of statsmodels, and the delta method by hand."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import steelyard as sy
from by_name import STATISTICS, item_rows, statistic
from oracles import central_differences
from steelyard.infer.intervals import sums as sums_module
from steelyard.infer.intervals.sums import BUCKETS, bucketed, linearised, resampled, standard_error, student
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.metrics.sums import QUOTIENT, of_margins
from steelyard.tally.counts import Counts
from steelyard.tally.sums import Sums, tally_groups, tally_items

scores = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 4)), min_size=3, max_size=60).filter(lambda x: np.ptp(x) > 1e-3)


@given(x=scores, level=st.sampled_from([0.8, 0.95, 0.999]))
def test_the_mean_is_students(x: list[float], level: float) -> None:
    wanted = stats.ttest_1samp(x, 0).confidence_interval(level)
    sums = tally_items(item_rows("mean", np.array(x)))
    assert linearised(sums, QUOTIENT, level) == pytest.approx((wanted.low, wanted.high), rel=1e-9, abs=1e-9)
    m = sy.measure(x, metric="mean", interval="t", confidence_level=level)
    assert m.interval is not None
    inside = min(x) >= 0 and max(x) <= 1  # scores within 0 and 1 are taken to have that range, and so has the interval
    ends = (max(0.0, wanted.low), min(1.0, wanted.high)) if inside else (wanted.low, wanted.high)
    assert (m.interval.low, m.interval.high) == pytest.approx(ends, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("side", "alternative"), [("lower", "greater"), ("upper", "less")])
def test_one_sided_t(side: str, alternative: str) -> None:
    x = np.array([0.3, 0.9, 0.4, 0.7, 0.75, 0.1])
    wanted = stats.ttest_1samp(x, 0, alternative=alternative).confidence_interval(0.95)
    m = sy.measure(x, metric="mean", interval="t", side=side, range=[0, 1])
    assert m.interval is not None
    assert (m.interval.low, m.interval.high) == pytest.approx((max(0.0, wanted.low), min(1.0, wanted.high)))


@settings(max_examples=30, deadline=None)
@given(
    data=st.lists(st.tuples(st.integers(0, 4), st.floats(0.2, 3).map(lambda x: round(x, 2)), st.integers(0, 9)), min_size=12, max_size=50)
)
def test_weights_are_weighted_least_squares(data: list[tuple[int, float, int]]) -> None:
    """A weighted mean over groups: the CR2 sandwich of a weighted regression on a constant, by hand."""
    group, w, y = (np.array(column, float) for column in zip(*data, strict=True))
    code = np.unique(group, return_inverse=True)[1]
    groups = int(code.max()) + 1
    assume(groups >= 3)
    assume(np.ptp(y) > 0)
    mean = w @ y / w.sum()
    u = np.bincount(code, weights=w * (y - mean)) / w.sum()
    sums = replace(tally_groups(item_rows("mean", y) * w[:, None], code, groups), single=None)
    held = np.bincount(code, weights=w) / w.sum()
    assert standard_error(sums, QUOTIENT) == pytest.approx(math.sqrt((u**2 / (1 - held)).sum()), rel=1e-9, abs=1e-12)


TWO_COLUMNS = np.random.default_rng(2).normal(3, 1, (50, 2))


@pytest.mark.parametrize("name", ["ratio", "rmse", "r2"])
def test_delta_with_numeric_derivatives(name: str) -> None:
    first, second = TWO_COLUMNS.T
    rows = item_rows(name, first, second + 0.5 * first)
    g = central_differences(lambda s: float(STATISTICS[name].value(s)), rows.sum(0))
    u = rows @ g
    wanted = math.sqrt(50 / 49 * ((u - u.mean()) ** 2).sum())
    assert standard_error(Sums(rows=rows, count=np.ones(50, np.int64), answers=50), STATISTICS[name]) == pytest.approx(wanted, rel=1e-7)


@settings(max_examples=30, deadline=None)
@given(x=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=40).filter(lambda x: len(set(x)) > 1))
def test_merged_rows_are_the_rows(x: list[float]) -> None:
    """Counting equal scores first changes no number."""
    rows = item_rows("mean", np.array(x))
    merged, plain = tally_items(rows), Sums(rows=rows, count=np.ones(len(x), np.int64), answers=len(x))
    assert len(merged.rows) == len(set(x))
    assert merged.n == plain.n
    assert merged.totals() == pytest.approx(plain.totals())
    assert linearised(merged, QUOTIENT) == pytest.approx(linearised(plain, QUOTIENT))


def test_a_table_metric_by_items_is_the_delta_method_of_its_table() -> None:
    """Each item a unit: the linearised error is the multinomial one up to n/(n-1)."""
    from steelyard.infer.intervals.table import delta_error

    counts = Counts.table([[18, 3, 1], [2, 11, 4], [0, 5, 16]])
    pairs = [(t, p) for t, p, c in counts.cells() for _ in range(c)]
    rows = np.zeros((counts.n, 10))
    for i, (t, p) in enumerate(pairs):
        rows[i, t] += t == p
        rows[i, 3 + t] = rows[i, 6 + p] = rows[i, 9] = 1
    for name, average in (("f1", "macro"), ("mcc", None), ("kappa", None), ("precision", "weighted")):
        one = statistic(name, average_of=average)
        sums = Sums(rows=rows, count=np.ones(counts.n, np.int64), answers=counts.n)
        found = standard_error(sums, of_margins(one, 3))
        assert found == pytest.approx(delta_error(counts, one) * math.sqrt(counts.n / (counts.n - 1)), rel=1e-9)


def test_buckets_keep_the_totals_and_the_law() -> None:
    """More than 4,096 units are dealt into buckets: same totals, nearly the same spread of redrawn means."""
    x = np.random.default_rng(0).gamma(2, size=20_000)
    sums = Sums(rows=item_rows("mean", x), count=np.ones(20_000, np.int64), answers=20_000)
    small = bucketed(sums, np.random.default_rng(1))
    assert len(small.rows) == BUCKETS
    assert small.totals() == pytest.approx(sums.totals())
    low, high, _ = resampled(sums, QUOTIENT, "percentile", 0.95, "two", draws=2000, seed=0)
    error = x.std(ddof=1) / math.sqrt(len(x))
    assert (high - low) / (2 * 1.96) == pytest.approx(error, rel=0.08)  # 4 Monte Carlo errors of the two quantiles
    assert bucketed(small, np.random.default_rng(1)) is small


def test_degenerate() -> None:
    with pytest.raises(Degenerate, match="fewer than two"):
        linearised(tally_items(np.array([[1.0, 3.0]])), QUOTIENT)
    with pytest.raises(Degenerate, match="do not vary"):
        linearised(tally_items(np.array([[1.0, 3.0]] * 5)), QUOTIENT)


@pytest.mark.parametrize("df", [1, 4, 30, 1e6])
def test_student(df: float) -> None:
    for p in (0.6, 0.975, 0.9999):
        assert student(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-9)


def test_picking_units_holds_the_picks_and_little_else() -> None:
    units = tally_items(np.random.default_rng(0).normal(size=(1000, 2)))
    tracemalloc.start()
    totals = sums_module._redrawn(units, 500, np.random.Generator(np.random.PCG64(1)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    picked = np.random.Generator(np.random.PCG64(1)).integers(0, 1000, size=(500, 1000), dtype=np.uint16)
    assert np.array_equal(totals, np.stack([units.dense[:, column][picked].sum(axis=1) for column in range(2)], 1))
    assert peak < 1.5 * picked.nbytes  # not a number for every pick
