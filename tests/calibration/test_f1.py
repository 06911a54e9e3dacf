"""Coverage of F1: exact at n = 20, as a sum over (TP + FP + FN, TP), given that the metric is defined. Macro-F1: simulated.

The grid of the validity study: prevalence .5, .1, .02 and (precision, recall) of (.8,.8), (.95,.95), (.6,.9), (.99,.99).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from by_name import statistic
from oracles import Ends, standard_errors
from steelyard.infer.intervals.proportion import proportion_interval
from steelyard.infer.intervals.table import delta, table_bootstrap
from steelyard.infer.resampling.bootstrap import Cells, Degenerate
from steelyard.metrics.proportions import f1_of_jaccard
from steelyard.tally.counts import Counts

pytestmark = pytest.mark.long  # `steelyard certify` repeats them

F1 = statistic("f1", label=1)
NOTHING = (2.0, -2.0)  # an interval without width covers nothing


def settings() -> Iterator[tuple[float, float]]:
    """(probability of an item that is not a true negative, Jaccard index) of the twelve settings."""
    for prevalence in (0.5, 0.1, 0.02):
        for precision, recall in ((0.8, 0.8), (0.95, 0.95), (0.6, 0.9), (0.99, 0.99)):
            tp = prevalence * recall
            q = prevalence + tp * (1 - precision) / precision
            yield q, tp / q


def exact(n: int, interval: Callable[[int, int], Ends]) -> list[float]:
    """Coverage in each setting; interval(tp, m) is of F1 with m = TP + FP + FN."""
    out = []
    for q, jaccard in settings():
        target, of_m = f1_of_jaccard(jaccard), stats.binom.pmf(np.arange(n + 1), n, q)
        total = 0.0
        for m in range(1, n + 1):
            if of_m[m] > 1e-12:
                hits = [k for k in range(m + 1) if interval(k, m)[0] <= target <= interval(k, m)[1]]
                total += of_m[m] * stats.binom.pmf(hits, m, jaccard).sum()
        out.append(total / (1 - of_m[0]))
    return out


def table(tp: int, m: int, n: int) -> Counts:
    fp = (m - tp) // 2
    return Counts.binary(tp=tp, fp=fp, fn=m - tp - fp, tn=n - m)


@cache
def through_jaccard(method: str) -> Callable[[int, int], Ends]:
    @cache
    def interval(k: int, m: int) -> Ends:
        low, high = proportion_interval(k, m, method)
        return f1_of_jaccard(low), f1_of_jaccard(high)

    return interval


# mean and minimum over the settings: exact, and as the study printed them from 10,000 tables each
JACCARD = {
    (20, "wilson"): ((0.9563, 0.9206), (0.956, 0.918)),
    (20, "jeffreys"): ((0.9662, 0.9206), (0.966, 0.918)),
    (20, "mid-p"): ((0.9828, 0.9550), None),
    (20, "clopper-pearson"): ((0.9907, 0.9693), None),
    (100, "wilson"): ((0.9504, 0.9265), (0.950, 0.932)),
    (100, "jeffreys"): ((0.9599, 0.9416), (0.960, 0.937)),
}


@pytest.mark.parametrize(("n", "method"), JACCARD)
def test_binomial_intervals_on_jaccard(n: int, method: str) -> None:
    found = exact(n, through_jaccard(method))
    summary, printed = JACCARD[n, method]
    assert (np.mean(found), min(found)) == pytest.approx(summary, abs=6e-5)
    if printed is not None:
        assert np.mean(found) == pytest.approx(printed[0], abs=4 * math.sqrt(0.95 * 0.05 / 120_000) + 5e-4)
        # the smallest of twelve simulated shares; with prevalence .02 and n = 20 a third of the 10,000 tables are defined
        assert min(found) == pytest.approx(printed[1], abs=4 * math.sqrt(0.92 * 0.08 / 3_300))


def test_the_public_interval_is_the_one_calibrated() -> None:
    for k, m in ((0, 1), (3, 3), (7, 12), (19, 20)):
        row = sy.measure(table(k, m, 20), metric="f1").row
        assert row.interval is not None
        assert (row.interval.low, row.interval.high) == pytest.approx(through_jaccard("wilson")(k, m), abs=1e-15)


@cache
def bare(method: str, n: int = 20) -> Callable[[int, int], Ends]:
    @cache
    def interval(k: int, m: int) -> Ends:
        try:
            return delta(table(k, m, n), F1) if method == "delta" else table_bootstrap(table(k, m, n), F1, method, draws=999)[:2]
        except Degenerate:
            return NOTHING

    return interval


@pytest.mark.parametrize(("method", "mean"), [("delta", 0.357), ("percentile", 0.362), ("bca", 0.368)])
def test_delta_and_bootstrap_alone_are_useless_for_small_f1(method: str, mean: float) -> None:
    """A perfect sample has no spread, so the bare methods miss: the study prints .355/.005 for delta. Hence Wilson on J."""
    found = exact(20, bare(method))
    assert np.mean(found) == pytest.approx(mean, abs=0.006)
    assert min(found) == pytest.approx(0.0075, abs=1e-3)


@pytest.mark.parametrize("method", ["delta", "percentile", "bca"])
def test_the_fall_back_of_the_public_answer_rescues_them(method: str) -> None:
    """Where the bare method has no width, Wilson's is given or its own at one mistake, with a warning: no longer absurd."""

    @cache
    def interval(k: int, m: int) -> Ends:
        plain = bare(method)(k, m)
        if plain != NOTHING:
            return plain
        answer = sy.measure(table(k, m, 20), metric="f1", interval=method, draws=999)
        assert any(method in sentence and "instead" in sentence for sentence in answer.warnings)
        assert answer.interval is not None
        assert answer.interval.low is not None
        assert answer.interval.high is not None
        assert answer.interval.method in ("wilson", method)
        return answer.interval.low, answer.interval.high

    assert np.mean(exact(20, interval)) > np.mean(exact(20, bare(method))) + 0.3


# ---- macro-F1, simulated -------------------------------------------------------------------------------------------------

BALANCED = np.array([[0.27, 0.04, 0.02], [0.03, 0.25, 0.05], [0.02, 0.05, 0.27]])
MACRO_F1 = statistic("f1", average_of="macro", absent="zero")


def macro_f1(p: np.ndarray) -> float:
    return float(np.mean(2 * np.diag(p) / (p.sum(0) + p.sum(1))))


def simulated(p: np.ndarray, n: int, method: str, runs: int, draws: int = 400) -> float:
    rng = np.random.default_rng(2024)
    covered = 0
    for run in range(runs):
        counts = Counts.table(rng.multinomial(n, p.ravel()).reshape(p.shape).tolist())
        try:
            low, high, _ = table_bootstrap(counts, MACRO_F1, method, draws=draws, seed=run)
        except Degenerate:
            continue
        covered += low <= macro_f1(p) <= high
    return covered / runs


@pytest.mark.parametrize("runs", [500, pytest.param(6000, marks=pytest.mark.long)])
def test_macro_f1_of_three_balanced_classes(runs: int) -> None:
    """n = 200: the documented .93 to .96 of BCa from n = 200 on; here around .95, within 4 errors."""
    assert standard_errors(simulated(BALANCED, 200, "bca", runs), runs, 0.950) < 4


def skewed() -> np.ndarray:
    """Ten classes, the commonest 6 times as common as the rarest, 80% right, errors spread by frequency."""
    share = np.geomspace(6, 1, 10)
    share /= share.sum()
    p = 0.2 * np.outer(share, share)
    return p + np.diag(share * 0.8)


@pytest.mark.parametrize("runs", [300, pytest.param(4000, marks=pytest.mark.long)])
@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_no_bootstrap_covers_with_rare_classes(method: str, runs: int) -> None:
    """Ten skewed classes: .66 to .79 at n = 50 (the study, with other errors: .74 to .79), hence the warning; .95 at n = 500."""
    few, many = simulated(skewed(), 50, method, runs), simulated(skewed(), 500, method, runs // 3)
    assert 0.55 < few < 0.86
    assert standard_errors(many, runs // 3, 0.948) < 4
    m = sy.measure(Counts.table(np.round(skewed() * 50).astype(int).tolist()), metric="macro_f1", absent="zero", draws=99)
    assert any("fewer than 10 items" in sentence for sentence in m.warnings)


@pytest.mark.parametrize("runs", [200, pytest.param(2000, marks=pytest.mark.long)])
def test_delta_of_macro_f1_is_fine_for_large_samples(runs: int) -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(runs):
        counts = Counts.table(rng.multinomial(2000, BALANCED.ravel()).reshape(3, 3).tolist())
        low, high = delta(counts, MACRO_F1)
        covered += low <= macro_f1(BALANCED) <= high
    assert Cells(counts).n == 2000
    assert standard_errors(covered / runs, runs, 0.95) < 4
