"""Metrics of sums and of an order against scikit-learn and scipy, and against loops over items where those have none."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

import steelyard as sy
from by_name import STATISTICS
from cases import every
from oracles import (
    OF_AN_ORDER,
    OF_NUMBERS,
    OF_PROBABILITIES,
    OF_REPEATS,
    OF_SCORES,
    central_differences,
    naive_average_precision,
    naive_ece,
    naive_pass_at_k,
    naive_pass_hat_k,
    pairs_matrix,
)
from steelyard.metrics.ranking import midranks
from steelyard.metrics.repeats import pass_at_k, pass_hat_k

Pair = tuple[np.ndarray, np.ndarray]
COARSE = st.integers(0, 10).map(lambda k: k / 10)
FINE = st.floats(0, 1, allow_subnormal=False).map(lambda p: round(p, 9))


@st.composite
def probabilities(draw: st.DrawFn) -> Pair:
    """Truths 0/1 with probabilities, with and without many ties."""
    rows = draw(st.lists(st.tuples(st.integers(0, 1), draw(st.sampled_from([COARSE, FINE]))), min_size=1, max_size=60))
    return np.array([y for y, _ in rows]), np.array([p for _, p in rows])


@st.composite
def numbers(draw: st.DrawFn) -> Pair:
    number = draw(st.sampled_from([st.integers(-5, 5).map(float), st.floats(-1e3, 1e3).map(lambda x: round(x, 3))]))
    rows = draw(st.lists(st.tuples(number, number), min_size=2, max_size=60))
    return np.array([t for t, _ in rows]), np.array([p for _, p in rows])


def ask(*data: Any, **options: Any) -> sy.Measurement:
    return sy.measure(*data, draws=40, **options)


def test_sets_are_all_here() -> None:
    assert {"brier", "log_loss", "ece"} == OF_PROBABILITIES
    assert {"mae", "rmse", "r2", "spearman"} == OF_NUMBERS
    assert {"mean", "ratio", "perplexity"} == OF_SCORES
    assert {"auc", "average_precision"} == OF_AN_ORDER
    assert {"pass@", "pass^"} == OF_REPEATS


@given(data=probabilities())
def test_brier(data: Pair) -> None:
    y, p = data
    expected = np.mean((p - y) ** 2) if len(set(y)) < 2 else sk.brier_score_loss(y, p, pos_label=1)  # one class is an error there
    assert ask(y, probability=p, metric="brier").estimate == pytest.approx(expected, abs=1e-12)


@given(data=probabilities())
def test_log_loss(data: Pair) -> None:
    """A sure and wrong probability costs infinitely much: undefined with a warning, where scikit-learn clips it."""
    y, p = data
    m = ask(y, probability=p, metric="log_loss")
    if (p[y == 1] == 0).any() or (p[y == 0] == 1).any():
        assert m.estimate is None
        assert any("infinite" in sentence for sentence in m.warnings)
    else:
        assert m.estimate == pytest.approx(sk.log_loss(y, p, labels=[0, 1]), abs=1e-9)


@given(data=probabilities())
def test_calibration_error(data: Pair) -> None:
    y, p = data
    assume(len(y) > 1)
    assert ask(y, probability=p, metric="ece").estimate == pytest.approx(naive_ece(p, y == 1), abs=1e-12)


@given(data=probabilities())
def test_auc(data: Pair) -> None:
    y, p = data
    m = ask(y, probability=p, metric="auc")
    if y.min() == y.max():
        assert m.estimate is None
        assert any("only" in sentence for sentence in m.warnings)
    else:
        assert m.estimate == pytest.approx(sk.roc_auc_score(y, p), abs=1e-12)
        assert m.estimate == pytest.approx(pairs_matrix(p, y == 1).mean(), abs=1e-12)


@given(data=probabilities())
def test_average_precision(data: Pair) -> None:
    y, p = data
    m = ask(y, probability=p, metric="average_precision", interval="delta")
    if y.max() == 0:
        assert m.estimate is None
    else:
        assert m.estimate == pytest.approx(sk.average_precision_score(y, p), abs=1e-12)
        assert m.estimate == pytest.approx(naive_average_precision(p, y == 1), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(data=probabilities(), shift=st.floats(-3, 3), scale=st.floats(0.1, 10))
def test_order_metrics_do_not_see_the_scale(data: Pair, shift: float, scale: float) -> None:
    y, p = data
    assume(0 < y.mean() < 1)
    moved = np.exp(shift + scale * np.round(p, 3))
    here = ask(y, probability=np.round(p, 3), metric=["auc", "average_precision"])
    there = ask(y, probability=moved, metric=["auc", "average_precision"])
    assert [row.estimate for row in here] == pytest.approx([row.estimate for row in there], abs=1e-12)


@given(data=numbers())
def test_errors_of_numbers(data: Pair) -> None:
    t, p = data
    m = ask(t, p, metric=["mae", "rmse"])
    assert m["mae"].estimate == pytest.approx(sk.mean_absolute_error(t, p), abs=1e-9)
    assert m["rmse"].estimate == pytest.approx(sk.root_mean_squared_error(t, p), abs=1e-9)


@given(data=numbers(), start=st.sampled_from([0.0, 1e6]))
def test_r2(data: Pair, start: float) -> None:
    """Undefined where the truths do not vary (scikit-learn: 0 or 1); far from 0 no digits are lost."""
    t, p = data[0] + start, data[1] + start
    m = ask(t, p, metric="r2")
    if np.ptp(t) == 0:
        assert m.estimate is None
    else:
        assert m.estimate == pytest.approx(sk.r2_score(t, p), rel=1e-7, abs=1e-9)


@given(data=numbers())
def test_spearman(data: Pair) -> None:
    t, p = data
    m = ask(t, p, metric="spearman")
    if np.ptp(t) == 0 or np.ptp(p) == 0:
        assert m.estimate is None
    else:
        assert m.estimate == pytest.approx(stats.spearmanr(t, p).statistic, abs=1e-12)
    assert midranks(t) == pytest.approx(stats.rankdata(t))


@given(data=numbers())
def test_mean(data: Pair) -> None:
    score = data[0]
    assert ask(score, metric="mean").estimate == pytest.approx(math.fsum(score) / len(score), abs=1e-9)


@given(rows=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 50)), min_size=2, max_size=40))
def test_a_ratio_is_of_sums(rows: list[tuple[int, int]]) -> None:
    above, below = (np.array(column, float) for column in zip(*rows, strict=True))
    m = ask({"errors": above, "words": below}, ratio="errors/words")
    assert m.estimate == pytest.approx(above.sum() / below.sum(), abs=1e-12)


@given(problems=st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=6), min_size=5, max_size=9), k=st.integers(1, 3))
def test_pass_at_k(problems: list[list[int]], k: int) -> None:
    ids = [f"p{i}" for i, tries in enumerate(problems) for _ in tries]
    runs = [j for tries in problems for j in range(len(tries))]
    score = [s for tries in problems for s in tries]
    m = ask({"id": ids, "repeat": runs, "score": score}, metric=[f"pass@{k}", f"pass^{k}"])
    assert m[f"pass@{k}"].estimate == pytest.approx(np.mean([naive_pass_at_k(tries, k) for tries in problems]), abs=1e-12)
    assert m[f"pass^{k}"].estimate == pytest.approx(np.mean([naive_pass_hat_k(tries, k) for tries in problems]), abs=1e-12)
    assert m[f"pass@{k}"].n == len(problems)


def test_pass_at_k_of_many_tries() -> None:
    """No factorial overflows, and the ends are exact."""
    right, tries = np.array([0, 1, 500, 999, 1000]), np.full(5, 1000)
    wanted = [1 - math.comb(1000 - c, 100) / math.comb(1000, 100) for c in right.tolist()]
    assert pass_at_k(right, tries, 100) == pytest.approx(wanted, abs=1e-12)
    assert pass_hat_k(right, tries, 100) == pytest.approx([math.comb(c, 100) / math.comb(1000, 100) for c in right.tolist()], abs=1e-12)


def test_pass_at_k_needs_k_tries() -> None:
    with pytest.raises(sy.DataError, match="pass@3 needs 3 tries of every problem; 1 of 2 problems have fewer, such"):
        ask({"id": ["a", "a", "b", "b", "b"], "repeat": [0, 1, 0, 1, 2], "score": [1, 0, 1, 1, 0]}, metric="pass@3")


# ---- gradients of sums ---------------------------------------------------------------------------------------------------

TOTALS = {name: [40.0, 13.0] for name in STATISTICS} | {"r2": [40.0, 6.0, 300.0, 90.0], "ece": [40.0, *np.linspace(-3.3, 4, 10)]}


@every("name", STATISTICS)
def test_gradients(name: str) -> None:
    statistic, at = STATISTICS[name], np.array(TOTALS[name])
    assert statistic.gradient(at) == pytest.approx(central_differences(lambda s: float(statistic.value(s)), at), abs=1e-8)


@every("name", ["brier", "log_loss", "ece", "mae", "rmse", "r2", "spearman", "auc", "average_precision", "mean"])
def test_item_order_changes_nothing(name: str) -> None:
    rng = np.random.default_rng(1)
    y, p = rng.integers(0, 2, 50), np.round(rng.uniform(0.01, 0.99, 50), 2)
    order = rng.permutation(50)

    def at(rows: np.ndarray) -> sy.Row:
        if name in OF_NUMBERS:
            return sy.measure(10 * p[rows] + y[rows], p[rows], metric=name, draws=500).row
        if name == "mean":
            return sy.measure(p[rows], metric=name, draws=500).row
        return sy.measure(y[rows], probability=p[rows], metric=name, draws=500).row

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here, there = at(np.arange(50)), at(order)
    assert here.estimate == pytest.approx(there.estimate, abs=1e-12)
    assert here.interval is not None
    assert there.interval is not None
    if name not in ("r2", "ece"):  # their draws go over rows in the order of the items: the same law, another stream
        assert (here.interval.low, here.interval.high) == pytest.approx((there.interval.low, there.interval.high), abs=1e-12)
