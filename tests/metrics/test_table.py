"""Metrics of a table against scikit-learn on random labels; where a quotient is 0/0, the documented answer instead of a number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

import steelyard as sy
from by_name import statistic
from oracles import OF_A_CLASS, WHOLE_TABLE, central_differences, one_against_rest
from steelyard.infer.resampling.bootstrap import Cells
from steelyard.metrics.catalogue import AVERAGES
from steelyard.metrics.proportions import f1_of_jaccard
from steelyard.metrics.table import Margins, TableStatistic

ZERO: dict[str | None, float] = {"zero": 0.0, "skip": math.nan, None: math.nan}  # our word -> scikit-learn's zero_division
NAMES = ("cat", "dog", "Zed", "ä", "eel, grey", "10")
Labels = Sequence[Any]


@st.composite
def labelled(draw: st.DrawFn, smallest: int = 1) -> tuple[list[Any], list[Any]]:
    """Truths and predictions of 1 to 60 items over at most 6 labels, texts or whole numbers."""
    k = draw(st.integers(1, 6))
    names: Sequence[Any] = draw(st.sampled_from([NAMES[:k], tuple(range(k)), tuple(range(-2, k - 2)), tuple(7 * i for i in range(k))]))
    label = st.sampled_from(names)
    pairs = draw(st.lists(st.tuples(label, label), min_size=smallest, max_size=60))
    return [t for t, _ in pairs], [p for _, p in pairs]


def quiet(ask: Callable[[], Any]) -> Any:
    """scikit-learn warns about 0/0; here the number is what matters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask()


def by_definition(base: str, four: Sequence[float]) -> float:
    """TN / (TN + FP) and TN / (TN + FN), which scikit-learn does not have."""
    _, fp, fn, tn = four
    below = tn + (fp if base == "specificity" else fn)
    return tn / below if below else math.nan


def reference(base: str, truth: Labels, prediction: Labels, classes: Labels, average: str | None, zero: float) -> Any:
    """The value of scikit-learn: an array over the classes (average None) or a number."""
    if base in ("specificity", "npv"):
        fours = [one_against_rest(truth, prediction, label) for label in classes]
        if average == "micro":
            return by_definition(base, np.sum(fours, axis=0))
        values = np.array([by_definition(base, four) for four in fours])
        if average is None:
            return values
        values, weights = np.where(np.isnan(values), zero, values), np.array([sum(t == label for t in truth) for label in classes], float)
        weights = np.ones(len(classes)) if average == "macro" else weights
        keep = ~np.isnan(values) & (weights > 0)
        return float(np.average(values[keep], weights=weights[keep])) if keep.any() else math.nan
    options = {"labels": list(classes), "average": average}
    if base == "jaccard":  # has no NaN: 0/0 is found by hand
        return quiet(lambda: sk.jaccard_score(truth, prediction, **options, zero_division=0))
    score = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}.get(base)
    if score is None:
        return quiet(lambda: sk.fbeta_score(truth, prediction, beta=2, **options, zero_division=zero))
    return quiet(lambda: score(truth, prediction, **options, zero_division=zero))


def spelled(base: str) -> str:
    return "fbeta:2" if base == "fbeta" else base


def same(found: float | None, wanted: float) -> None:
    """None exactly where the reference has no number."""
    if found is None or math.isnan(wanted):
        assert found is None
        assert math.isnan(wanted)
    else:
        assert found == pytest.approx(wanted, abs=1e-12)


def ordered(truth: Labels, prediction: Labels) -> list[Any]:
    return sorted({*truth, *prediction})


@pytest.mark.parametrize("base", sorted(OF_A_CLASS))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=labelled())
def test_classes(base: str, data: tuple[Labels, Labels]) -> None:
    truth, prediction = data
    classes = ordered(truth, prediction)
    m = sy.measure(truth, prediction, metric=f"each_{spelled(base)}", interval="wilson" if base != "fbeta" else "delta")
    wanted = reference(base, truth, prediction, classes, None, math.nan)
    assert [row.label for row in m] == [str(label) for label in classes]
    for row, value, label in zip(m, wanted, classes, strict=True):
        same(row.estimate, value)
        assert row.support == sum(t == label for t in truth)
        if row.estimate is None:
            assert row.interval is None
            assert any(row.name in sentence and "undefined" in sentence for sentence in m.warnings)
        else:
            assert row.interval is not None
            assert row.interval.low is not None
            assert row.interval.high is not None
            if row.interval.method != "bayes":  # the posterior stands in where delta has no width; its equal tails end before 0 and 1
                assert row.interval.low <= row.estimate <= row.interval.high
            assert row.interval.high > row.interval.low


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=labelled(), absent=st.sampled_from([None, "skip", "zero"]))
def test_averages(data: tuple[Labels, Labels], absent: str | None) -> None:
    truth, prediction = data
    classes = ordered(truth, prediction)
    support = np.array([sum(t == label for t in truth) for label in classes])
    names = [f"{average}_{spelled(base)}" for base in sorted(OF_A_CLASS) for average in AVERAGES]
    m = sy.measure(truth, prediction, metric=names, interval="delta", absent=absent, draws=40)
    for base in sorted(OF_A_CLASS):
        each = reference(base, truth, prediction, classes, None, math.nan)
        for average in AVERAGES:
            name = f"{average}_{spelled(base)}"
            found = m[name].estimate
            enters = support > 0 if average == "weighted" else np.ones(len(classes), bool)
            if absent is None and average != "micro" and np.isnan(each[enters]).any():
                assert found is None  # scikit-learn would count the class as 0
                assert any(name in sentence and "absent" in sentence for sentence in m.warnings)
            elif absent == "skip" and average == "weighted" and np.isnan(each[enters]).all():
                assert found is None  # nothing with a weight is left; scikit-learn answers 0
            else:
                same(found, reference(base, truth, prediction, classes, average, ZERO[absent]))


@given(data=labelled())
def test_whole_table(data: tuple[Labels, Labels]) -> None:
    truth, prediction = data
    m = sy.measure(truth, prediction, metric=sorted(WHOLE_TABLE), interval="delta", absent="skip", draws=40)
    found = {row.metric: row.estimate for row in m}
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(truth, prediction), abs=1e-12)
    assert found["error"] == pytest.approx(1 - sk.accuracy_score(truth, prediction), abs=1e-12)
    assert found["balanced_accuracy"] == pytest.approx(quiet(lambda: sk.balanced_accuracy_score(truth, prediction)), abs=1e-12)
    if len(set(truth)) == 1 or len(set(prediction)) == 1:
        assert found["mcc"] is None  # scikit-learn: 0
        assert any("mcc is undefined" in sentence for sentence in m.warnings)
    else:
        assert found["mcc"] == pytest.approx(sk.matthews_corrcoef(truth, prediction), abs=1e-12)
    if len({*truth, *prediction}) == 1:
        assert found["kappa"] is None  # scikit-learn: NaN
        assert any("kappa is undefined" in sentence for sentence in m.warnings)
    else:
        assert found["kappa"] == pytest.approx(quiet(lambda: sk.cohen_kappa_score(truth, prediction)), abs=1e-12)


@given(data=labelled())
def test_balanced_accuracy_needs_every_class(data: tuple[Labels, Labels]) -> None:
    """A label that only occurs in predictions is a class without recall: undefined unless `absent` decides."""
    truth, prediction = data
    m = sy.measure(truth, prediction, metric="balanced_accuracy", interval="delta", draws=40)
    if set(prediction) <= set(truth):
        assert m.estimate == pytest.approx(quiet(lambda: sk.balanced_accuracy_score(truth, prediction)), abs=1e-12)
    else:
        assert m.estimate is None


@settings(max_examples=6, deadline=None)
@given(data=labelled(smallest=2))
def test_declared_labels_leave_strays_out_of_the_average(data: tuple[Labels, Labels]) -> None:
    """Labels outside the declared set are wrong answers; averages run over the declared ones, as scikit-learn's `labels=`."""
    truth, prediction = data
    classes = sorted(set(truth))
    stray = ["stray" if isinstance(classes[0], str) else 999] * (len(truth) // 3)
    prediction = [*stray, *(p if p in classes else classes[0] for p in prediction[len(stray) :])]
    for averages, interval in ((("micro",), None), (tuple(each for each in AVERAGES if each != "micro"), "delta")):
        names = {f"{average}_{base}": (base, average) for average in averages for base in ("precision", "recall", "f1")}
        m = sy.measure(truth, prediction, metric=list(names), labels=classes, absent="zero", interval=interval, draws=40)
        for name, (base, average) in names.items():
            same(m[name].estimate, reference(base, truth, prediction, classes, average, 0.0))
        assert bool(stray) == any("outside the declared labels" in sentence for sentence in m.warnings)


# ---- gradients ---------------------------------------------------------------------------------------------------------

GRADIENTS: dict[str, TableStatistic] = {
    **{base: statistic(base) for base in sorted(WHOLE_TABLE)},
    **{f"{base}[1]": statistic(base, label=1, beta=2.0) for base in sorted(OF_A_CLASS)},
    **{f"{average}_{base}": statistic(base, average_of=average, beta=0.5) for base in sorted(OF_A_CLASS) for average in AVERAGES},
    **{
        f"{average}_{base}, skip": statistic(base, average_of=average, absent="skip")
        for base in ("f1", "precision")
        for average in AVERAGES
    },
}


def flat(m: Margins) -> np.ndarray:
    return np.concatenate([m.hit, m.truth, m.prediction, [m.n]])


def folded(x: np.ndarray) -> Margins:
    k = (len(x) - 1) // 3
    return Margins(x[:k], x[k : 2 * k], x[2 * k : 3 * k], np.asarray(x[-1]))


@settings(max_examples=5, deadline=None)
@given(table=st.integers(2, 5).flatmap(lambda k: st.lists(st.lists(st.integers(1, 40), min_size=k, max_size=k), min_size=k, max_size=k)))
def test_gradients(table: list[list[int]]) -> None:
    at = flat(Cells(sy.Counts.table(table)).observed())
    for name, one in GRADIENTS.items():
        slopes = central_differences(lambda x, one=one: float(one.value(folded(x))), at)  # type: ignore[misc]
        assert flat(one.gradient(folded(at))) == pytest.approx(slopes, abs=1e-7), name


def test_gradients_with_an_absent_class() -> None:
    """A class without truths or predictions has no slope and does not spoil the others'."""
    for absent in ("skip", "zero"):
        one = statistic("f1", average_of="macro", absent=absent)
        m = Cells(sy.Counts.table({("a", "a"): 5, ("a", "b"): 2, ("b", "b"): 7}, labels=["a", "b", "c"])).observed()
        gradient = one.gradient(m)
        assert gradient.hit[2] == gradient.truth[2] == gradient.prediction[2] == 0
        alone = statistic("f1", average_of="macro").gradient(Margins(m.hit[:2], m.truth[:2], m.prediction[:2], m.n))
        assert gradient.hit[:2] == pytest.approx(alone.hit * (1 if absent == "skip" else 2 / 3))


# ---- invariants --------------------------------------------------------------------------------------------------------

SYMMETRIC = {"accuracy", "error", "mcc", "kappa", "micro_f1", "micro_precision", "micro_recall", "macro_f1", "macro_jaccard"}
SWAPPED = {"macro_precision": "macro_recall", "micro_precision": "micro_recall", "macro_specificity": "macro_npv"}


@settings(max_examples=8, deadline=None)
@given(data=labelled(smallest=2))
def test_swapping_truth_and_prediction(data: tuple[Labels, Labels]) -> None:
    truth, prediction = data
    names = sorted({*SYMMETRIC, *SWAPPED, *SWAPPED.values()})
    here = sy.measure(truth, prediction, metric=names, absent="zero", interval="delta", draws=40)
    there = sy.measure(prediction, truth, metric=names, absent="zero", interval="delta", draws=40)
    for name in SYMMETRIC:
        same(here[name].estimate, math.nan if there[name].estimate is None else there[name].estimate)
    for name, other in SWAPPED.items():
        same(here[name].estimate, math.nan if there[other].estimate is None else there[other].estimate)


@settings(max_examples=3, deadline=None)
@given(data=labelled(smallest=2), times=st.integers(2, 9))
def test_copies_of_every_item_change_no_estimate(data: tuple[Labels, Labels], times: int) -> None:
    truth, prediction = data
    names = sorted(WHOLE_TABLE | {f"macro_{spelled(base)}" for base in OF_A_CLASS})
    once = sy.measure(truth, prediction, metric=names, absent="skip", interval="delta", draws=40)
    many = sy.measure(list(truth) * times, list(prediction) * times, metric=names, absent="skip", interval="delta", draws=40)
    for a, b in zip(once, many, strict=True):
        same(a.estimate, math.nan if b.estimate is None else b.estimate)


@given(tp=st.integers(0, 200), fp=st.integers(0, 200), fn=st.integers(0, 200), tn=st.integers(0, 200))
def test_f1_is_a_function_of_jaccard(tp: int, fp: int, fn: int, tn: int) -> None:
    assume(tp + fp + fn > 0)
    counts = sy.Counts.binary(tp=tp, fp=fp, fn=fn, tn=tn)
    m = sy.measure(counts, metric=["f1", "jaccard"])
    f1, jaccard = m["f1"], m["jaccard"]
    assert f1.estimate == pytest.approx(f1_of_jaccard(jaccard.estimate or 0.0), abs=1e-15)
    assert f1.estimate == 2 * tp / (2 * tp + fp + fn)
    assert f1.interval is not None
    assert jaccard.interval is not None
    assert f1.interval.low == pytest.approx(f1_of_jaccard(jaccard.interval.low or 0.0), abs=1e-15)
    assert f1.interval.high == pytest.approx(f1_of_jaccard(jaccard.interval.high or 0.0), abs=1e-15)
    assert f1.n == jaccard.n == tp + fp + fn


@given(data=labelled(smallest=2))
def test_a_proportion_is_its_statistic(data: tuple[Labels, Labels]) -> None:
    """The whole-number door (k of n) and the array door (margins) give the same number."""
    from steelyard.metrics.catalogue import parse

    truth, prediction = data
    counts = sy.measure(truth, prediction, metric="accuracy").table
    assert counts is not None
    margins = Cells(counts).observed()
    for base in OF_A_CLASS:
        for average in (None, *AVERAGES):
            metric = parse(f"{average}_{spelled(base)}" if average else spelled(base))
            label = None if average else 0
            proportion = metric.proportion(counts, label)
            if proportion is None:
                continue
            found = proportion.value(counts)
            same(found, float(metric.of_table(label).value(margins)))
