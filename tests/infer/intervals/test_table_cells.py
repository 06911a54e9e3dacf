"""One multinomial draw over cells is resampling items: the whole law on five items, moments on more, and the pooled rare cells."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from by_name import statistic
from cases import seldom
from oracles import exact_bootstrap, item_resamples
from steelyard.infer.intervals.table import table_bootstrap
from steelyard.infer.resampling import bootstrap as module
from steelyard.infer.resampling.bootstrap import RARE, Cells, redraw
from steelyard.metrics.table import Margins
from steelyard.tally.counts import Counts

MACRO_F1 = statistic("f1", average_of="macro", absent="zero")
TABLE = Counts.table([[18, 3, 1], [2, 11, 4], [0, 5, 16]])


def items_of(counts: Counts) -> np.ndarray:
    return np.array([(t, p) for t, p, c in counts.cells() for _ in range(c)])


def drawn(counts: Counts, one: module.TableStatistic, draws: int, seed: int = 0) -> np.ndarray:
    return np.concatenate([one.value(m) for m in Cells(counts).redrawn(draws, np.random.Generator(np.random.PCG64(seed)))])


def macro_f1_of_items(truth: np.ndarray, prediction: np.ndarray, classes: int = 3) -> np.ndarray:
    """Macro-F1 of each row of items, absent classes as 0, without any table."""
    values = []
    for k in range(classes):
        hit, off = ((truth == k) & (prediction == k)).sum(-1), (truth == k).sum(-1) + (prediction == k).sum(-1)
        values.append(np.where(off > 0, 2 * hit / np.maximum(off, 1), 0.0))
    return np.mean(values, axis=0)


# ---- margins -------------------------------------------------------------------------------------------------------------


@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=50))
def test_margins(pairs: list[tuple[int, int]]) -> None:
    """Hits, truths and predictions of the declared classes; 5 and 6 are strays."""
    names = [str(k) for k in range(5)]
    counts = Counts.table(Counter((str(t), str(p)) for t, p in pairs), labels=names)
    m = Cells(counts).observed()
    assert m.hit.tolist() == [sum(t == p == k for t, p in pairs) for k in range(5)]
    assert m.truth.tolist() == [sum(t == k for t, _ in pairs) for k in range(5)]
    assert m.prediction.tolist() == [sum(p == k for _, p in pairs) for k in range(5)]
    assert m.n == len(pairs)


@settings(max_examples=30, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=2, max_size=30))
def test_leaving_out_one_item_of_each_cell(pairs: list[tuple[int, int]]) -> None:
    names = [str(k) for k in range(4)]
    counts = Counts.table(Counter((str(t), str(p)) for t, p in pairs), labels=names)
    cells = Cells(counts)
    (found,) = cells.left_out()
    for i, (t, p, _) in enumerate(counts.cells()):
        rest = list(pairs)
        rest.remove((int(counts.labels[t]), int(counts.labels[p])))
        assert found.hit[i].tolist() == [sum(a == b == k for a, b in rest) for k in range(4)]
        assert found.truth[i].tolist() == [sum(a == k for a, _ in rest) for k in range(4)]
        assert found.prediction[i].tolist() == [sum(b == k for _, b in rest) for k in range(4)]
        assert found.n[i] == len(rest)


# ---- the law -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["accuracy", "f1[1]", "macro_f1"])
def test_all_3125_resamples_of_five_items(name: str) -> None:
    """Atom by atom, within 4.5 binomial standard errors of 100,000 draws."""
    items = [(0, 0), (0, 1), (1, 1), (1, 1), (1, 0)]
    one = {"accuracy": statistic("accuracy"), "f1[1]": statistic("f1", label=1, absent=None), "macro_f1": MACRO_F1}[name]

    def of_items(resample: object) -> float:
        truth, prediction = np.array(resample).T  # type: ignore[misc]
        if name == "accuracy":
            return float(np.mean(truth == prediction))
        if name == "macro_f1":
            return float(macro_f1_of_items(truth, prediction, 2))
        off = (truth == 1).sum() + (prediction == 1).sum()
        return float(2 * ((truth == 1) & (prediction == 1)).sum() / off) if off else -1.0  # -1 stands for undefined

    law = exact_bootstrap(items, of_items)
    assert sum(law.values()) == pytest.approx(1)
    draws = 100_000
    counts = Counts.table(Counter((str(t), str(p)) for t, p in items))
    found = Counter(np.round(np.nan_to_num(drawn(counts, one, draws), nan=-1.0), 12).tolist())
    assert set(found) <= set(law)
    for value, probability in law.items():
        assert abs(found[value] / draws - probability) <= 4.5 * math.sqrt(probability * (1 - probability) / draws), value


def test_same_law_as_resampling_items() -> None:
    """Mean, spread and quantiles of macro-F1 within 4 Monte Carlo errors, and no distance by Kolmogorov and Smirnov."""
    draws = 20_000
    ours = drawn(TABLE, MACRO_F1, draws)
    truth, prediction = items_of(TABLE).T
    rows = item_resamples(TABLE.n, draws, np.random.default_rng(5))
    theirs = macro_f1_of_items(truth[rows], prediction[rows])
    sd = theirs.std()
    assert abs(ours.mean() - theirs.mean()) < 4 * sd * math.sqrt(2 / draws)
    assert abs(ours.std() - sd) < 4 * sd / math.sqrt(draws)  # sd of a standard deviation is sd / sqrt(2 draws), two of them
    for q in (0.025, 0.5, 0.975):
        error = math.sqrt(q * (1 - q) / draws) / stats.norm.pdf(stats.norm.ppf(q)) * sd
        assert abs(np.quantile(ours, q) - np.quantile(theirs, q)) < 4 * math.sqrt(2) * error
    assert stats.ks_2samp(ours, theirs).pvalue > 1e-3


def test_the_item_statistic_is_sklearns() -> None:
    truth, prediction = items_of(TABLE).T
    assert macro_f1_of_items(truth, prediction) == pytest.approx(f1_score(truth, prediction, average="macro"))


# ---- rare cells ----------------------------------------------------------------------------------------------------------


def test_pooled_rare_cells_have_the_multinomial_moments() -> None:
    """Mean n p and covariance n (diag p - p p'), each entry within 5 of its own Monte Carlo errors."""
    count = np.array([*([1] * 12), *([3] * 6), 7, 7, 8, 40, 90])
    assert (count < RARE).sum() >= 16  # so that the pooled path is taken
    n, p, draws = count.sum(), count / count.sum(), 60_000
    found = redraw(count, draws, np.random.default_rng(3))
    assert (found.sum(1) == n).all()
    assert (found >= 0).all()
    assert (np.abs(found.mean(0) - count) < 5 * np.sqrt(n * p * (1 - p) / draws)).all()
    centred = (found - count).astype(float)
    products, squares = centred.T @ centred / draws, (centred**2).T @ centred**2 / draws  # means of each product and of its square
    error = np.sqrt((squares - products**2) / draws)
    assert (np.abs(products - n * (np.diag(p) - np.outer(p, p))) < 5 * error).all()


def test_one_rare_cell_is_binomial() -> None:
    count = np.array([*([1] * 18), 2, 60])
    found = redraw(count, 50_000, np.random.default_rng(4))[:, 18]
    law = stats.binom.pmf(range(6), count.sum(), 2 / count.sum())
    seen = np.bincount(np.minimum(found, 6), minlength=7)
    assert stats.chisquare(seen, 50_000 * np.append(law, 1 - law.sum())).pvalue > 1e-3


def test_only_rare_cells() -> None:
    count = np.ones(40, np.int64)
    found = redraw(count, 20_000, np.random.default_rng(5))
    assert (found.sum(1) == 40).all()
    assert np.abs(found.mean(0) - 1).max() < 5 * math.sqrt(1 / 20_000)


# ---- influence, blocks, memory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["accuracy", "mcc", "kappa", "macro_f1", "weighted_precision", "f1[0]"])
def test_influence_is_the_derivative_by_cell(name: str) -> None:
    """Moving a little weight towards one cell: d/de T((1-e) P + e cell), by central differences."""
    one = {
        "macro_f1": MACRO_F1,
        "weighted_precision": statistic("precision", average_of="weighted"),
        "f1[0]": statistic("f1", label=0),
    }.get(name) or statistic(name)
    cells = Cells(TABLE)
    share = cells.count / cells.n

    def at(weights: np.ndarray) -> float:
        m = cells.margins(weights[None, :])
        return float(np.asarray(one.value(Margins(m.hit, m.truth, m.prediction, m.n)))[0])

    for c, found in enumerate(cells.influence(one)):
        towards = np.eye(len(share))[c] - share
        assert found == pytest.approx((at(share + 1e-6 * towards) - at(share - 1e-6 * towards)) / 2e-6, abs=1e-7)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = drawn(TABLE, MACRO_F1, 700)
    monkeypatch.setattr(module, "BLOCK", 8 * 13)
    assert (drawn(TABLE, MACRO_F1, 700) == whole).all()
    assert (drawn(TABLE, MACRO_F1, 700, seed=1) != whole).any()


def test_more_draws_begin_with_the_fewer() -> None:
    assert (drawn(TABLE, MACRO_F1, 2000)[:500] == drawn(TABLE, MACRO_F1, 500)).all()


@pytest.mark.parametrize(("method", "each"), [("bca", 1), *seldom(("percentile", 1), ("bca", 30))])
def test_a_hundred_classes_stay_below_64_megabytes(method: str, each: int) -> None:
    """All 10,000 cells occupied, by rare and by common counts: work goes in blocks."""
    counts = Counts.table([[each + 40 * (i == j) for j in range(100)] for i in range(100)])
    Cells(counts)
    tracemalloc.start()
    table_bootstrap(counts, MACRO_F1, method, draws=100)
    few = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    table_bootstrap(counts, MACRO_F1, method, draws=800)
    many = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert many < 64e6
    assert many < 1.1 * few


def test_dealing_rare_cells_takes_little_room_beside_the_answer() -> None:
    count = np.ones(1000, np.int64)
    tracemalloc.start()
    drawn = redraw(count, 500, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert drawn.sum(axis=1).tolist() == [1000] * 500
    assert peak < 1.3 * drawn.nbytes
