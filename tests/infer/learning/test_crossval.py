"""Tests over the splits of a cross-validation: golden values, scipy beside them, and where nothing can be said."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.infer.learning import crossval
from steelyard.infer.learning.crossval import SplitTest

# Seven numbers of the project's golden collection (frequentist.json and published.json), with their sources.
ENTRIES: dict[str, Any] = {
    "nadeau-bengio": {  # Nadeau and Bengio (2003): var (1/J + n2/n1), J = 10, n2/n1 = 1/9
        "x": [0.03, -0.01, 0.02, 0.04, 0.0, 0.01, 0.05, -0.02, 0.03, 0.02],
        "t": 1.6714574896283785,
    },
    "dietterich-5x2cv-t": {  # Dietterich (1998), s_i^2 by hand: .0002, .0002, .0018, .00005, .0002
        "x": [0.02, 0.04, 0.01, 0.03, 0.05, -0.01, 0.03, 0.02, 0.0, 0.02],
        "t": 0.9035079029052511,
    },
    "alpaydin-5x2cv-F": {"x": [0.02, 0.04, 0.01, 0.03, 0.05, -0.01, 0.03, 0.02, 0.0, 0.02], "F": 1.489795918367347},  # Alpaydin (1999)
    "alpaydin_F_crit": 4.73506306969342,  # scipy 1.17.1; 4.74 in Alpaydin (1999)
    "cv_5x2_F": {  # an independent implementation with mlxtend's formula
        "x": [0.02, 0.01, 0.03, -0.01, 0.0, 0.02, 0.04, 0.01, 0.01, 0.03],
        "F": 1.352941176470588,
        "p": 0.38872660154477146,
    },
    "cv_kfold_t": {  # scipy 1.17.1 ttest_1samp
        "x": [0.02, 0.01, 0.03, -0.01, 0.0, 0.02, 0.04, 0.01, 0.01, 0.03],
        "t": 3.3606722016672235,
        "p": 0.008380205975900404,
    },
    "cv_mitchell_kfold_ci": {  # scipy 1.17.1; the slides' t_{N,k-1} interval over k disjoint test sets
        "x": [0.02, 0.01, 0.03, -0.01, 0.0, 0.02, 0.04, 0.01, 0.01, 0.03],
        "interval": [0.005229977685174043, 0.026770022314825958],
    },
}

TESTS: dict[str, Callable[..., SplitTest]] = {
    "corrected-repeated-kfold": lambda d, **more: crossval.corrected_repeated_kfold_t(d, folds=5, **more),
    "corrected-resampled": lambda d, **more: crossval.corrected_resampled_t(d, n_test=10, n_train=90, **more),
    "kfold": crossval.kfold_t,
    "disjoint-sets": crossval.disjoint_sets_t,
    "5x2cv-t": crossval.five_by_two_t,
    "5x2cv-f": crossval.five_by_two_f,
}
T_TESTS = ("corrected-repeated-kfold", "corrected-resampled", "kfold", "disjoint-sets")
TEN = st.lists(st.integers(-50, 50).map(lambda i: i / 100), min_size=10, max_size=10)


# ---- golden ------------------------------------------------------------------------------------------------------------


def test_nadeau_bengio() -> None:
    entry = ENTRIES["nadeau-bengio"]
    assert crossval.corrected_resampled_t(entry["x"], n_test=1, n_train=9).statistic == pytest.approx(entry["t"], abs=1e-12)
    assert crossval.corrected_repeated_kfold_t(entry["x"], folds=10).statistic == pytest.approx(entry["t"], abs=1e-12)


def test_dietterich() -> None:
    entry = ENTRIES["dietterich-5x2cv-t"]
    found = crossval.five_by_two_t(entry["x"])
    assert found.statistic == pytest.approx(entry["t"], abs=1e-12)
    assert found.p_value == pytest.approx(2 * stats.t.sf(entry["t"], 5), abs=1e-12)


def test_alpaydin() -> None:
    assert crossval.five_by_two_f(ENTRIES["alpaydin-5x2cv-F"]["x"]).statistic == pytest.approx(ENTRIES["alpaydin-5x2cv-F"]["F"], abs=1e-12)
    entry = ENTRIES["cv_5x2_F"]
    found = crossval.five_by_two_f(entry["x"])
    assert found.statistic == pytest.approx(entry["F"], abs=1e-9)
    assert found.p_value == pytest.approx(entry["p"], abs=1e-9)


def test_alpaydin_critical_value() -> None:
    f = ENTRIES["alpaydin_F_crit"]
    s = math.sqrt(10 / (4 * f - 2))  # pairs (1, 1) x 4 and (1 + s, 1 - s): F = (10 + 2 s^2) / (4 s^2)
    found = crossval.five_by_two_f([1, 1] * 4 + [1 + s, 1 - s])
    assert found.statistic == pytest.approx(f, abs=1e-9)
    assert found.p_value == pytest.approx(0.05, abs=1e-9)


def test_kfold_and_disjoint_sets() -> None:
    entry = ENTRIES["cv_kfold_t"]
    found = crossval.kfold_t(entry["x"])
    assert found.statistic == pytest.approx(entry["t"], abs=1e-9)
    assert found.p_value == pytest.approx(entry["p"], abs=1e-9)
    entry = ENTRIES["cv_mitchell_kfold_ci"]
    assert crossval.disjoint_sets_t(entry["x"]).interval == pytest.approx(entry["interval"], abs=1e-9)


# AUCs of the gallery's linear and radial machines in ten times ten folds of five and five items: pairs in order, of 25.
LINEAR, RBF = (
    """24 21 19 23 25 24 24 25 23 25 23 24 24 22 20 24 25 25 20 25 21 24 21 25 25 24 21 22 25 25 21 23 21 25 24 25 25 23 22 25 24 23 25
    23 25 19 25 23 25 25 25 20 24 24 25 17 24 23 25 25 23 23 25 20 21 22 24 23 24 25 24 22 20 21 25 24 25 23 23 23 24 25 23 25 17 25 25
    25 25 19 24 23 25 19 23 25 23 23 25 21""",
    """23 18 19 23 25 25 25 25 24 25 24 25 25 23 21 23 25 25 20 25 20 23 22 23 25 25 22 23 25 25 20 24 21 25 25 25 25 24 23 25 25 23 25
    23 25 19 25 25 25 25 25 21 25 25 25 18 23 25 25 25 23 23 25 25 20 22 25 23 24 25 24 23 21 23 25 25 25 22 23 23 25 23 24 25 18 25 25
    25 25 19 24 22 25 18 23 25 24 25 25 21""",
)


@pytest.mark.long
def test_the_scores_of_the_gallery_are_those_of_scikit_learn() -> None:
    from sklearn.datasets import make_moons
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
    from sklearn.svm import SVC

    x, y = make_moons(noise=0.352, random_state=1, n_samples=100)
    cv = RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0)
    for kernel, kept in (("linear", LINEAR), ("rbf", RBF)):
        found = cross_val_score(SVC(kernel=kernel, random_state=0), x, y, cv=cv, scoring="roc_auc")
        assert found * 25 == pytest.approx([float(word) for word in kept.split()], abs=1e-9)


def test_scikit_learn_gallery() -> None:
    """Gallery, "Statistical comparison of models using grid search": corrected t = 0.750, p = .227; uncorrected t = 2.611, p = .005."""
    linear, rbf = (np.array([float(word) for word in kept.split()]) / 25 for kept in (LINEAR, RBF))
    delta = crossval.differences(linear, rbf)
    corrected = crossval.corrected_repeated_kfold_t(delta, folds=10, alternative="greater")
    naive = crossval.kfold_t(delta, alternative="greater")
    assert (round(corrected.statistic or 0, 3), round(corrected.p_value or 0, 3)) == (0.750, 0.227)
    assert (round(naive.statistic or 0, 3), round(naive.p_value or 0, 3)) == (2.611, 0.005)
    assert corrected.df == (99,)
    assert round(corrected.probability_above or 0, 3) == 0.773  # the gallery's Bayesian section


# ---- against scipy, and invariants ---------------------------------------------------------------------------------------


@given(TEN, st.sampled_from(["two-sided", "less", "greater"]))
def test_kfold_is_scipys_one_sample_t(d: list[float], alternative: str) -> None:
    if np.ptp(d) == 0:
        return
    expected = stats.ttest_1samp(d, 0, alternative=alternative)
    found = crossval.kfold_t(d, alternative)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9, abs=1e-12)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-12)


@given(TEN)
def test_corrected_is_naive_with_more_variance(d: list[float]) -> None:
    naive, corrected = crossval.kfold_t(d), TESTS["corrected-repeated-kfold"](d)
    if naive.statistic:
        assert corrected.statistic == pytest.approx(naive.statistic * math.sqrt(0.1 / (0.1 + 1 / 4)), rel=1e-12)
        assert corrected.interval is not None
        assert naive.interval is not None
        assert corrected.interval[0] < naive.interval[0]


@pytest.mark.parametrize("name", TESTS)
@settings(max_examples=15)
@given(d=TEN)
def test_swapping_the_learners_negates(name: str, d: list[float]) -> None:
    one, other = TESTS[name](d), TESTS[name]([-x for x in d])
    if one.statistic is None:
        assert other.statistic is None
        return
    assert other.statistic is not None
    assert other.statistic == pytest.approx(one.statistic if name == "5x2cv-f" else -one.statistic, abs=1e-12)
    assert other.p_value == pytest.approx(one.p_value, abs=1e-12)
    if one.interval is not None and other.interval is not None:
        assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]), abs=1e-12)
    if one.probability_above is not None and other.probability_above is not None:
        assert one.probability_above + other.probability_above == pytest.approx(1)


@pytest.mark.parametrize("name", T_TESTS)
@given(d=TEN)
def test_the_interval_is_the_test_turned_round(name: str, d: list[float]) -> None:
    found = TESTS[name](d)
    if found.interval is None or found.p_value is None:
        return
    excludes = not found.interval[0] <= 0 <= found.interval[1]
    assert excludes == (found.p_value < 0.05) or math.isclose(found.p_value, 0.05, abs_tol=1e-9)


@pytest.mark.parametrize("name", T_TESTS)
def test_sides(name: str) -> None:
    d = [0.02, 0.01, 0.03, -0.01, 0.0, 0.02, 0.04, 0.01, 0.01, 0.03]
    two = TESTS[name](d, confidence_level=0.90).interval
    lower, upper = TESTS[name](d, side="lower").interval, TESTS[name](d, side="upper").interval
    assert two is not None
    assert lower is not None
    assert upper is not None
    assert lower == (pytest.approx(two[0]), math.inf)
    assert upper == (-math.inf, pytest.approx(two[1]))


def test_one_sided_halves_of_the_5x2cv_t() -> None:
    d = [0.02, 0.04, 0.01, 0.03, 0.05, -0.01, 0.03, 0.02, 0.0, 0.02]
    both, up, down = (crossval.five_by_two_t(d, a).p_value for a in ("two-sided", "greater", "less"))
    assert up is not None
    assert down is not None
    assert both == pytest.approx(2 * up)
    assert up + down == pytest.approx(1)


# ---- where nothing can be said -------------------------------------------------------------------------------------------


@every("name", TESTS)
def test_equal_learners_give_p_of_one(name: str) -> None:
    found = TESTS[name]([0.0] * 10)
    assert (found.statistic, found.p_value, found.interval) == (0.0, 1.0, None)
    assert "the same in every split" in found.note


@every("name", [n for n in TESTS if n != "5x2cv-f"])
@every("alternative", ["less", "greater"])
def test_equal_learners_give_p_of_one_on_one_side(name: str, alternative: str) -> None:
    assert TESTS[name]([0.0] * 10, alternative=alternative).p_value == 1


@every("name", TESTS)
@every("constant", [0.1, -0.3, 1e-5])
def test_a_constant_difference_gives_no_p(name: str, constant: float) -> None:
    scores = np.linspace(0.5, 0.69, 10)
    found = TESTS[name](crossval.differences(scores, scores + constant))  # rounding leaves a spread of 1e-16
    assert (found.statistic, found.p_value, found.interval) == (None, None, None)
    assert "no p-value" in found.note


@pytest.mark.parametrize("name", ["5x2cv-t", "5x2cv-f"])
def test_5x2cv_without_spread_within_repeats(name: str) -> None:
    assert TESTS[name]([0.1, 0.1, 0.2, 0.2, 0.0, 0.0, 0.1, 0.1, 0.3, 0.3]).p_value is None


def test_rounding_is_no_difference() -> None:
    assert crossval.differences([0.3, 0.6], [0.1 + 0.2, 0.6]).tolist() == [0.0, 0.0]
    assert crossval.differences([], []).tolist() == []


@every(("call", "words"), [
    (lambda: crossval.kfold_t([0.1]), "at least 2"),
    (lambda: crossval.kfold_t([0.1, math.nan]), "not finite"),
    (lambda: crossval.five_by_two_t([0.1] * 9), r"Five repeats of two folds give 10 differences, got 9\."),
    (lambda: crossval.corrected_repeated_kfold_t([0.1, 0.2], folds=1), "at least 2"),
    (lambda: crossval.corrected_resampled_t([0.1, 0.2], n_test=0, n_train=9), "must be at least 1, not 0 and 9"),
    (lambda: crossval.five_by_two_f([0.1] * 10, "less"), r"The 5x2cv F test is two-sided\."),
    (lambda: crossval.kfold_t([0.1, 0.2], "up"), "alternative must be"),
])  # fmt: skip
def test_what_cannot_be_tested(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((DataError, UsageError), match=words):
        call()
