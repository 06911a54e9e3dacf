"""compare_learners: any metric, every method, the same answer for the same seed, and honest words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    matthews_corrcoef,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from cases import every
from steelyard.errors import DataError, SteelyardError, UsageError
from steelyard.evaluate.learners.folds import repeated_kfold
from steelyard.infer.learning import crossval
from steelyard.questions.learners.design import METHODS
from steelyard.questions.learners.learners import FALSE_ALARMS, compare_learners
from steelyard.results.comparison import Comparison
from steelyard.tally.counts import Counts

IRIS = load_iris(return_X_y=True)
MOONS = make_moons(noise=0.352, random_state=1, n_samples=200)
DIABETES = load_diabetes(return_X_y=True)
QUICK: dict[str, dict[str, Any]] = {
    "corrected-repeated-kfold": {"folds": 4, "repeats": 2},
    "corrected-resampled": {"repeats": 6},
    "5x2cv-t": {},
    "5x2cv-f": {},
    "kfold": {"folds": 4},
    "disjoint-sets": {"folds": 4},
}
FIRST_FAILURE = r"the first of fold \d of repeat 1, predicting Fragile: RuntimeError"


def moons(method: str = "corrected-repeated-kfold", **more: Any) -> Comparison:
    return compare_learners(GaussianNB(), KNeighborsClassifier(), *MOONS, method=method, **{**QUICK[method], **more})


def scores(c: Comparison, role: str) -> list[float]:
    return [split[role] for split in c.details["splits"]]


def test_every_method_is_tried() -> None:
    assert set(QUICK) == set(METHODS)


# ---- the numbers ---------------------------------------------------------------------------------------------------------


@every(
    ("metric", "more", "scorer"),
    [
        ("accuracy", {}, lambda e, x, y: accuracy_score(y, e.predict(x))),
        ("error", {}, lambda e, x, y: 1 - accuracy_score(y, e.predict(x))),
        ("macro_f1", {}, lambda e, x, y: f1_score(y, e.predict(x), average="macro")),
        ("f1", {"positive": 1}, lambda e, x, y: f1_score(y, e.predict(x))),
        ("mcc", {}, lambda e, x, y: matthews_corrcoef(y, e.predict(x))),
        ("auc", {}, lambda e, x, y: roc_auc_score(y, e.predict_proba(x)[:, 1])),
        ("auc", {"positive": 0}, lambda e, x, y: roc_auc_score(1 - y, e.predict_proba(x)[:, 0])),
        ("brier", {}, lambda e, x, y: brier_score_loss(y, e.predict_proba(x)[:, 1])),
        ("log_loss", {}, lambda e, x, y: log_loss(y, e.predict_proba(x)[:, 1])),
    ],
)
def test_scores_are_scikit_learns_on_our_splits(metric: str, more: dict[str, Any], scorer: Any) -> None:
    x, y = MOONS
    c = compare_learners(GaussianNB(), LogisticRegression(), x, y, metric=metric, folds=4, repeats=1, **more)
    fold = np.empty(len(y), int)
    for split in repeated_kfold(len(y), 4, 1, 0, classes=y.astype(np.int64)):
        fold[split.test] = split.fold
    for role, learner in (("baseline", GaussianNB()), ("candidate", LogisticRegression())):
        assert scores(c, role) == pytest.approx(cross_val_score(learner, x, y, cv=PredefinedSplit(fold), scoring=scorer).tolist())
    assert c.difference.estimate == pytest.approx((c.candidate.estimate or 0) - (c.baseline.estimate or 0))


@pytest.mark.parametrize(("metric", "scorer"), [("mae", mean_absolute_error), ("r2", r2_score)])
def test_numbers(metric: str, scorer: Any) -> None:
    x, y = DIABETES
    c = compare_learners(Ridge(), LinearRegression(), x, y, metric=metric, folds=5, repeats=1)
    split = repeated_kfold(len(y), 5, 1, 0)[0]
    model = Ridge().fit(x[split.train], y[split.train])
    assert scores(c, "baseline")[0] == pytest.approx(scorer(y[split.test], model.predict(x[split.test])))
    assert c.details["tables"] is None
    assert c.higher_is_better == (metric == "r2")
    assert not c.details["stratified"]


def test_the_test_is_the_one_of_infer() -> None:
    c = moons()
    delta = crossval.differences(scores(c, "baseline"), scores(c, "candidate"))
    found = crossval.corrected_repeated_kfold_t(delta, folds=4)
    assert (c.test.statistic, c.p_value) == (found.statistic, found.p_value)
    assert c.difference.interval is not None
    assert (c.difference.interval.low, c.difference.interval.high) == found.interval
    assert c.test.details == {"df": [7], "splits": 8, "approximate": True}
    c = moons("corrected-resampled", test_size=0.25)
    found = crossval.corrected_resampled_t(crossval.differences(scores(c, "baseline"), scores(c, "candidate")), n_test=50, n_train=150)
    assert c.p_value == found.p_value


def test_the_gallery_with_splits_of_our_own() -> None:
    x, y = make_moons(noise=0.352, random_state=1, n_samples=100)
    c = compare_learners(SVC(kernel="linear"), SVC(), x, y, metric="auc", alternative="greater")
    assert c.test.statistic == pytest.approx(0.75, abs=0.35)  # scikit-learn's splits give 0.750
    assert (c.baseline.name, c.candidate.name) == ("SVC(kernel='linear')", "SVC()")
    assert c.p_value is not None
    assert c.probability_candidate_better == pytest.approx(1 - c.p_value)


def test_disjoint_sets_fit_once() -> None:
    fits: list[int] = []

    class Counting(GaussianNB):  # type: ignore[misc]
        def fit(self, x: Any, y: Any, sample_weight: Any = None) -> Any:
            fits.append(len(y))
            return super().fit(x, y, sample_weight)

    c = compare_learners(Counting(), GaussianNB(), *MOONS, method="disjoint-sets", folds=3, workers=1)
    assert fits == [100]
    assert [s["n_test"] for s in c.details["splits"]] == [34, 33, 33] or sorted(s["n_test"] for s in c.details["splits"]) == [33, 33, 34]
    assert any("two fitted models" in w for w in c.warnings)
    assert c.test.details["approximate"] is False


def test_pooled_tables() -> None:
    c = compare_learners(GaussianNB(), DummyClassifier(), *IRIS, folds=5, repeats=2)
    pooled = Counts.from_dict(c.details["tables"]["baseline"])
    assert pooled.n == 300
    assert pooled.labels == ("0", "1", "2")
    assert pooled.right / 300 == pytest.approx(c.baseline.estimate)


# ---- invariants ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", QUICK)
def test_swapping_negates(method: str) -> None:
    one = moons(method)
    other = compare_learners(KNeighborsClassifier(), GaussianNB(), *MOONS, method=method, **QUICK[method])
    assert one.difference.estimate == pytest.approx(-(other.difference.estimate or 0))
    assert one.p_value == pytest.approx(other.p_value)
    if method != "5x2cv-f":
        assert one.test.statistic == pytest.approx(-(other.test.statistic or 0))
    assert one.baseline.estimate == other.candidate.estimate


@every("method", QUICK)
@every("metric", ["accuracy", "macro_f1", "auc"])
def test_the_same_learner_twice(method: str, metric: str) -> None:
    c = compare_learners(GaussianNB(), GaussianNB(), *MOONS, method=method, metric=metric, **QUICK[method])
    assert (c.difference.estimate, c.test.statistic, c.p_value, c.difference.interval) == (0.0, 0.0, 1.0, None)
    assert "the same" in c.conclusion
    assert c.probability_candidate_better in (None, 0.5)
    json.dumps(c.to_dict(), allow_nan=False)


class Always:
    def __init__(self, label: Any) -> None:
        self.label = label

    def fit(self, x: Any, y: Any) -> Always:
        return self

    def predict(self, x: Any) -> Any:
        return [self.label] * len(x)


@pytest.mark.parametrize("method", ["corrected-repeated-kfold", "kfold", "5x2cv-t", "5x2cv-f", "disjoint-sets"])
def test_a_constant_difference_has_no_p(method: str) -> None:
    c = compare_learners(Always("a"), Always("b"), [[0]] * 160, ["a"] * 40 + ["b"] * 120, method=method, **QUICK[method])
    assert c.difference.estimate == pytest.approx(0.5)
    assert (c.test.statistic, c.p_value, c.difference.interval, c.mde) == (None, None, None, None)
    assert any("no p-value" in w for w in c.warnings)
    assert "cannot be judged" in c.conclusion


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_workers_do_not_change_the_answer() -> None:
    def ask(workers: int | None) -> dict[str, Any]:
        learner = RandomForestClassifier(n_estimators=5)  # random_state=None
        return compare_learners(learner, KNeighborsClassifier(), *MOONS, folds=3, repeats=2, workers=workers).to_dict()

    assert ask(1) == ask(2) == ask(None)


def test_the_seed_is_used_and_printed() -> None:
    assert moons(seed=1).to_dict() == moons(seed=1).to_dict()
    assert scores(moons(seed=1), "baseline") != scores(moons(seed=2), "baseline")
    assert "|seed:1|" in moons(seed=1).signature
    assert "seed:" in moons(seed=None).signature


def test_signature() -> None:
    assert moons().signature.startswith("metric:accuracy|n:200|design:paired|")
    for part in ("method:corrected-repeated-kfold", "folds:4", "repeats:2", "level:0.95"):
        assert f"|{part}|" in moons().signature
    assert "|test_size:0.1|" in moons("corrected-resampled").signature


# ---- strata and groups ---------------------------------------------------------------------------------------------------


def test_groups_stay_whole() -> None:
    seen: list[tuple[set[int], set[int]]] = []

    class Spy(Always):
        def fit(self, x: Any, y: Any) -> Spy:
            self.trained = {int(v) for v in x[:, 0]}
            return self

        def predict(self, x: Any) -> Any:
            seen.append((self.trained, {int(v) for v in x[:, 0]}))
            return super().predict(x)

    group = np.repeat(np.arange(20), 5)
    x, y = group[:, None].astype(float), np.tile([0, 1], 50)
    for method in ("corrected-repeated-kfold", "corrected-resampled", "5x2cv-f", "disjoint-sets"):
        c = compare_learners(Spy(0), Spy(1), x, y, groups=[f"g{g}" for g in group], method=method, workers=1, **QUICK[method])
        assert c.details["groups"] == 20
        assert "units:20 groups" in c.signature
    assert len(seen) == 2 * (8 + 6 + 10 + 1)
    assert not any(train & test for train, test in seen)


def test_stratified_by_default() -> None:
    y = np.array(["rare"] * 10 + ["common"] * 90)
    c = compare_learners(Always("rare"), Always("common"), [[0]] * 100, y, folds=5, repeats=3)
    assert set(scores(c, "baseline")) == {0.1}
    assert c.details["stratified"]
    c = compare_learners(Always("rare"), Always("common"), [[0]] * 100, y, folds=5, repeats=3, stratify=False)
    assert len(set(scores(c, "baseline"))) > 1


# ---- what is said --------------------------------------------------------------------------------------------------------


class Fragile(Always):
    """Fails on the splits whose test rows include a given number."""

    def __init__(self, label: Any, number: float) -> None:
        super().__init__(label)
        self.number = number

    def predict(self, x: Any) -> Any:
        if (np.asarray(x) == self.number).any():
            raise RuntimeError("no memory")
        return np.where(np.asarray(x)[:, 0] % 3 == 0, "a", "b")


class Seldom(Always):
    """Says b of very large numbers only, so that some test sets have none."""

    def __init__(self) -> None:
        super().__init__("a")

    def predict(self, x: Any) -> Any:
        return np.where(np.asarray(x)[:, 0] > 1.45, "b", "a")


NUMBERED = (np.arange(120.0)[:, None], ["a", "b"] * 60)


def test_a_failing_fold_is_named_and_the_others_kept() -> None:
    c = compare_learners(Always("a"), Fragile("b", 7.0), *NUMBERED, folds=4, repeats=3)
    assert len(c.details["splits"]) == 9
    assert len(c.details["failures"]) == 3
    assert c.details["failures"][0]["learner"] == "Fragile"
    assert any(
        w.startswith("3 of 12 splits failed, the first in fold ") and "RuntimeError: no memory" in w and "rests on 9" in w
        for w in c.warnings
    )
    assert c.test.details["splits"] == 9
    assert c.test.details["df"] == [8]


def test_too_few_folds_left() -> None:
    with pytest.raises(
        DataError,
        match=rf"Too few splits worked: 1, at least 2 are needed; 1 failure\(s\), {FIRST_FAILURE}",
    ):
        compare_learners(Always("a"), Fragile("b", 7.0), *NUMBERED, folds=2, method="kfold")
    with pytest.raises(
        DataError,
        match=rf"Too few splits worked: 5, at least 10 are needed; 5 failure\(s\), {FIRST_FAILURE}",
    ):
        compare_learners(Always("a"), Fragile("b", 7.0), *NUMBERED, method="5x2cv-t")


def test_undefined_splits_are_left_out_and_counted() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 2)), ["a", "b"] * 58 + ["c"] * 4
    c = compare_learners(Always("a"), GaussianNB(), x, y, metric="precision", positive="a", folds=4, repeats=1)
    assert len(c.details["splits"]) == 4
    with pytest.raises(DataError, match=r"precision is undefined in 4 of 4 splits; at least 2 must define it\..*fewer folds"):
        compare_learners(Always("a"), GaussianNB(), x, y, metric="precision", positive="b", folds=4, repeats=1)
    c = compare_learners(Seldom(), GaussianNB(), x, y, metric="precision", positive="b", folds=4, repeats=4)
    lost = sum(score is None for score in scores(c, "baseline"))
    assert 0 < lost < 16
    assert c.test.details["splits"] == 16 - lost
    assert any(f"undefined in {lost} split(s), which were left out; the answer rests on {16 - lost}" in w for w in c.warnings)
    with pytest.raises(DataError, match="undefined"):
        compare_learners(Always("a"), Always("b"), x, y, metric="macro_precision", folds=4, repeats=1)
    assert (
        compare_learners(Always("a"), GaussianNB(), x, y, metric="macro_precision", absent="zero", folds=4, repeats=1).p_value is not None
    )


@every(
    ("method", "more", "words"),
    [
        ("corrected-repeated-kfold", {}, rf"approximate.*{FALSE_ALARMS['corrected-repeated-kfold']}"),
        ("corrected-resampled", {}, rf"approximate.*{FALSE_ALARMS['corrected-resampled']}"),
        ("5x2cv-t", {}, rf"approximate.*{FALSE_ALARMS['5x2cv-t']}"),
        ("5x2cv-f", {}, rf"approximate.*{FALSE_ALARMS['5x2cv-f']}"),
        ("kfold", {}, rf"overlap.*{FALSE_ALARMS['kfold']}"),
        ("kfold", {"repeats": 3}, rf"3 looks at the same items.*{FALSE_ALARMS['repeated naive']}"),
        ("disjoint-sets", {}, r"two fitted models, not the learners"),
    ],
)
def test_every_method_says_what_it_is_worth(method: str, more: dict[str, Any], words: str) -> None:
    import re

    assert any(re.search(words, warning) for warning in moons(method, **more).warnings)


def test_small_test_sets_and_rare_classes() -> None:
    y = ["a"] * 60 + ["b"] * 57 + ["c"] * 3
    c = compare_learners(Always("a"), GaussianNB(), np.random.default_rng(0).normal(size=(120, 2)), y, folds=10, repeats=1)
    assert any("10 of 10 test sets have fewer than 30 items (the smallest 12)" in w for w in c.warnings)
    assert any("fewer items than there are folds" in w and "'c' (3)" in w for w in c.warnings)


def test_learners_own_warnings_are_told_once() -> None:
    c = compare_learners(GaussianNB(), LogisticRegression(max_iter=1), *IRIS, folds=3, repeats=1)
    assert [w for w in c.warnings if w.startswith("LogisticRegression warned in 3 of 3 splits: ConvergenceWarning")]


def test_conclusions() -> None:
    x, y = IRIS
    assert compare_learners(DummyClassifier(), GaussianNB(), x, y).conclusion.startswith(
        "GaussianNB did better than DummyClassifier by 0.6"
    )
    worse = compare_learners(GaussianNB(), DummyClassifier(), x, y, metric="error").conclusion
    assert worse.startswith("DummyClassifier did worse than GaussianNB by 0.6")
    naive = compare_learners(DummyClassifier(), GaussianNB(), x, y, method="kfold").conclusion
    assert naive.endswith("this test finds differences too often.")
    assert "could not be told apart" in moons().conclusion
    assert "does not show them equal" in moons().conclusion
    assert moons(alternative="less").conclusion.startswith("It was not shown that the accuracy of KNeighborsClassifier is less")


# ---- what goes in --------------------------------------------------------------------------------------------------------


def test_texts_in_lists_and_a_pipeline() -> None:
    texts = ["good film", "bad film", "good book", "bad book"] * 15
    labels = ["up", "down"] * 30
    c = compare_learners(Always("up"), make_pipeline(CountVectorizer(), MultinomialNB()), texts, labels, folds=3, repeats=1)
    assert (c.baseline.estimate, c.candidate.estimate) == (0.5, 1.0)
    assert (c.baseline.name, c.candidate.name) == ("Always", "Pipeline")


def test_frames() -> None:
    import pandas as pd

    x, y = IRIS
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    plain = compare_learners(GaussianNB(), KNeighborsClassifier(), x, y, folds=3, repeats=1)
    framed = compare_learners(GaussianNB(), KNeighborsClassifier(), frame, pd.Series(y), folds=3, repeats=1)
    assert framed.to_dict() == plain.to_dict()


def test_a_float_label_for_an_integer_one_is_refused() -> None:
    with pytest.raises(DataError, match=r"1\.0"):
        compare_learners(Always(1.0), Always(1.0), [[0]] * 40, [0, 1] * 20, folds=2, repeats=1)


NB = GaussianNB()


@every(
    ("call", "words"),
    [
        (lambda: compare_learners(GaussianNB, NB, *IRIS), r"the class GaussianNB.*Hint: write GaussianNB\(\)"),
        (lambda: compare_learners(NB, "x", *IRIS), "The second learner must be an object with fit and predict, not str"),
        (lambda: compare_learners(NB, NB, *IRIS, method="magic"), "method must be corrected-repeated-kfold"),
        (lambda: compare_learners(NB, NB, *IRIS, method="5x2cv-t", folds=10), "5x2cv-t takes folds=2, so folds cannot be 10"),
        (lambda: compare_learners(NB, NB, *IRIS, test_size=0.2), "corrected-repeated-kfold takes no test_size"),
        (lambda: compare_learners(NB, NB, *IRIS, folds=1), "at least 2"),
        (lambda: compare_learners(NB, NB, *IRIS, repeats=0), "at least 1"),
        (lambda: compare_learners(NB, NB, *IRIS, method="corrected-resampled", repeats=1), "at least 2"),
        (lambda: compare_learners(NB, NB, *IRIS, method="corrected-resampled", test_size=5), "a share between 0 and 1"),
        (lambda: compare_learners(NB, NB, *IRIS, folds=151), r"Too few to split: 150 items, at least 151 are needed\."),
        (lambda: compare_learners(NB, NB, *IRIS, groups=[1, 2] * 75), r"Too few to split: 2 groups, at least 10 are needed\."),
        (lambda: compare_learners(NB, NB, *IRIS, groups=[1, 2]), "Every item needs a group: got 2 groups, 0 of them missing, for 150"),
        (lambda: compare_learners(NB, NB, *IRIS, metric="f1"), r"Which class is f1 about\? The labels are '0', '1', '2'\."),
        (lambda: compare_learners(NB, NB, *IRIS, metric="each_f1"), "one number"),
        (lambda: compare_learners(NB, NB, *IRIS, metric="mean"), "Cannot compare learners by mean"),
        (lambda: compare_learners(NB, NB, *IRIS, metric="auc"), "Say which class the probability is for"),
        (
            lambda: compare_learners(NB, SVC(), *MOONS, metric="brier"),
            r"brier needs class probabilities, and the second learner \(SVC\) has no",
        ),
        (
            lambda: compare_learners(NB, NB, DIABETES[0], DIABETES[1] / 7),
            r"looks like numbers, not labels \(214 values such as .*\)\. Hint: use metric mae, rmse, r2 or spearman",
        ),
        (lambda: compare_learners(NB, NB, IRIS[0], IRIS[1][:10]), r"The features have 150 rows, but the target has shape \(10,\)\."),
        (lambda: compare_learners(NB, NB, IRIS[0], [None, *IRIS[1][1:]]), r"1 item has no target\."),
        (lambda: compare_learners(NB, NB, IRIS[0], [0] * 150), r"The target has only one label: '0'\."),
        (lambda: compare_learners(NB, NB, *IRIS, workers=0), "at least 1, or -1"),
        (lambda: compare_learners(NB, NB, *IRIS, names=("a", "a")), "two different names"),
        (lambda: compare_learners(NB, NB, *IRIS, stratify="yes"), "auto, True or False"),
        (lambda: compare_learners(Ridge(), Ridge(), *DIABETES, metric="mae", stratify=True), "Cannot stratify"),
        (lambda: compare_learners(NB, NB, *IRIS, method="5x2cv-f", alternative="less"), r"The 5x2cv F test is two-sided\."),
        (lambda: compare_learners(Ridge(), Ridge(), *IRIS), "No prediction is a label of the target: 15 different ones, such as"),
    ],
)
def test_mistakes_are_advice(call: Any, words: str) -> None:
    with pytest.raises(SteelyardError, match=words) as caught:
        call()
    assert isinstance(caught.value, (UsageError, DataError))


def test_progress() -> None:
    seen: list[tuple[int, int]] = []
    moons(progress=lambda *step: seen.append(step), workers=1)
    assert seen == [(i, 8) for i in range(1, 9)]
