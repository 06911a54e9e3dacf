"""The delta method for tables: closed forms, the multinomial covariance with numeric derivatives, and simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

import steelyard as sy
from by_name import statistic
from oracles import central_differences
from steelyard.infer.intervals.table import delta, delta_error, share_with_every_class
from steelyard.infer.normal import wald
from steelyard.infer.resampling.bootstrap import Cells, Degenerate
from steelyard.tally.counts import Counts


def of_matrix(score: Callable[..., float], **options: object) -> Callable[[np.ndarray], float]:
    """A scikit-learn score of a table of weights."""

    def value(cells: np.ndarray) -> float:
        k = math.isqrt(len(cells))
        truth, prediction = np.divmod(np.arange(k * k), k)
        return float(score(truth, prediction, sample_weight=cells, **options))

    return value


REFERENCES = {
    "accuracy": of_matrix(sk.accuracy_score),
    "mcc": of_matrix(sk.matthews_corrcoef),
    "kappa": of_matrix(sk.cohen_kappa_score),
    "balanced_accuracy": of_matrix(sk.balanced_accuracy_score),
    "macro_f1": of_matrix(sk.f1_score, average="macro"),
    "weighted_f1": of_matrix(sk.f1_score, average="weighted"),
    "macro_precision": of_matrix(sk.precision_score, average="macro"),
    "weighted_precision": of_matrix(sk.precision_score, average="weighted"),
    "macro_jaccard": of_matrix(sk.jaccard_score, average="macro"),
    "macro_fbeta:2": of_matrix(sk.fbeta_score, beta=2, average="macro"),
}
tables = st.integers(2, 4).flatmap(lambda k: st.lists(st.lists(st.integers(1, 60), min_size=k, max_size=k), min_size=k, max_size=k))


@pytest.mark.parametrize("name", REFERENCES)
@settings(max_examples=2, deadline=None)
@given(table=tables)
def test_multinomial_covariance_with_numeric_gradient(name: str, table: list[list[int]]) -> None:
    """Var = g' (diag p - p p') g / n with g the numeric gradient of scikit-learn's score: half the width of the public interval."""
    count = np.array(table, float).ravel()
    n, p = count.sum(), count / count.sum()
    g = central_differences(REFERENCES[name], p, step=1e-4)
    wanted = math.sqrt(g @ (np.diag(p) - np.outer(p, p)) @ g / n)
    base, _, average = name.partition("_")[2] or name, None, name.partition("_")[0]
    averaged = average in ("macro", "weighted")
    base = base.removesuffix(":2") if averaged else name
    one = statistic(base, average_of=average if averaged else None, beta=2.0 if ":2" in name else 1.0)
    assert delta_error(Counts.table(table), one) == pytest.approx(wanted, rel=1e-5, abs=1e-9)


@given(tp=st.integers(1, 300), fp=st.integers(0, 300), fn=st.integers(1, 300), tn=st.integers(0, 300))
def test_f1_closed_form(tp: int, fp: int, fn: int, tn: int) -> None:
    """Var(F1) = F (1-F) (2-F) / (2 TP + FP + FN), whatever TN is."""
    f = 2 * tp / (2 * tp + fp + fn)
    found = delta_error(Counts.binary(tp=tp, fp=fp, fn=fn, tn=tn), statistic("f1", label=1))
    assert found == pytest.approx(math.sqrt(f * (1 - f) * (2 - f) / (2 * tp + fp + fn)), abs=1e-12)


@given(k=st.integers(1, 99), rest=st.integers(1, 99))
def test_delta_of_accuracy_is_wald(k: int, rest: int) -> None:
    m = sy.measure(Counts.of(k, k + rest), interval="delta")
    assert m.interval is not None
    assert (m.interval.low, m.interval.high) == pytest.approx(wald(k, k + rest), abs=1e-12)


@pytest.mark.parametrize("base", ["precision", "recall", "specificity", "npv"])
@settings(max_examples=20, deadline=None)
@given(cells=st.lists(st.integers(1, 80), min_size=4, max_size=4))
def test_delta_of_a_share_is_wald_on_its_own_denominator(base: str, cells: list[int]) -> None:
    counts = Counts.binary(tp=cells[0], fp=cells[1], fn=cells[2], tn=cells[3])
    m = sy.measure(counts, metric=base)
    p = m.estimate
    assert p is not None
    assert delta_error(counts, statistic(base, label=1)) == pytest.approx(math.sqrt(p * (1 - p) / m.row.n), abs=1e-12)


def test_against_simulation() -> None:
    """The spread of macro-F1 over fresh tables of the same law, n = 2000: within 4 errors of 20,000 runs, and 2% of bias."""
    counts = Counts.table([[500, 60, 40], [30, 620, 50], [20, 80, 600]])
    one = statistic("f1", average_of="macro")
    values = np.concatenate([one.value(m) for m in Cells(counts).redrawn(20_000, np.random.default_rng(0))])
    assert delta_error(counts, one) == pytest.approx(values.std(), rel=0.02 + 4 / math.sqrt(40_000))


def test_no_spread_is_degenerate() -> None:
    with pytest.raises(Degenerate):
        delta(Counts.table([[9, 0], [0, 4]]), statistic("accuracy"))


def test_strays_are_wrong_answers_in_the_error_too() -> None:
    """A prediction outside the classes is one more way to miss: same error as a class of its own that is never true."""
    cells = {("a", "a"): 30, ("a", "b"): 5, ("b", "b"): 22, ("b", "z"): 6}
    one = statistic("recall", average_of="macro")
    outside = delta_error(Counts.table(cells, labels=["a", "b"]), one)
    inside = delta_error(Counts.table(cells), statistic("recall", average_of="macro", absent="skip"))
    assert outside == pytest.approx(inside, abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5))
def test_the_share_of_samples_with_every_class_is_never_larger_than_said(items: list[tuple[int, int]]) -> None:
    """Held against all samples of so few items, each as probable as any other."""
    table = np.zeros((4, 4), int)
    for truth, said in items:
        table[truth, said] += 1
    every = {*itertools.chain(*items)}
    samples = [{*itertools.chain(*sample)} == every for sample in itertools.product(items, repeat=len(items))]
    kept = sorted(every)
    counts = Counts.table(table[np.ix_(kept, kept)].tolist())
    assert share_with_every_class(counts) >= np.mean(samples) - 1e-12
