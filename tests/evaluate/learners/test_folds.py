"""Splits from a seed, and learners run over them: the same answer whatever the workers, failures named."""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import DataError, UsageError
from steelyard.evaluate.learners.folds import (
    Failure,
    LearnerAnswer,
    count_rows,
    deal,
    evaluate,
    fresh_copy,
    repeated_kfold,
    rows_of,
    shuffle_splits,
)

Ints = npt.NDArray[np.int64]


def dealt(n: int, folds: int, seed: int, classes: Ints | None = None, groups: Ints | None = None) -> Ints:
    return deal(n, folds, np.random.default_rng(seed), classes=classes, groups=groups)


# ---- splits --------------------------------------------------------------------------------------------------------------


@given(st.integers(2, 60), st.integers(2, 12), st.integers(0, 1000))
def test_a_partition_with_sizes_within_one(n: int, folds: int, seed: int) -> None:
    sizes = np.bincount(dealt(n, folds, seed), minlength=folds)
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1


@given(st.lists(st.integers(0, 3), min_size=8, max_size=60), st.integers(2, 5), st.integers(0, 1000))
def test_stratified_folds_keep_proportions(labels: list[int], folds: int, seed: int) -> None:
    classes = np.array(labels)
    fold = dealt(len(labels), folds, seed, classes)
    for label in set(labels):
        sizes = np.bincount(fold[classes == label], minlength=folds)
        assert sizes.max() - sizes.min() <= 1
    assert np.ptp(np.bincount(fold, minlength=folds)) <= 1


@given(st.lists(st.integers(0, 11), min_size=20, max_size=80), st.integers(2, 4), st.integers(0, 100))
def test_groups_stay_whole_and_no_fold_is_empty(given_groups: list[int], folds: int, seed: int) -> None:
    groups = np.unique(given_groups, return_inverse=True)[1].astype(np.int64)
    if groups.max() + 1 < folds:
        return
    fold = dealt(len(groups), folds, seed, groups=groups)
    for group in range(groups.max() + 1):
        assert len(set(fold[groups == group].tolist())) == 1
    assert np.bincount(fold, minlength=folds).min() > 0


def test_grouped_folds_are_balanced_and_differ_between_repeats() -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(60), rng.integers(1, 12, 60))  # sizes all over the place
    classes = rng.integers(0, 2, 60)[groups]  # a whole group has one class
    splits = repeated_kfold(len(groups), 5, 3, 0, classes=classes, groups=groups)
    shares = [classes[split.test].mean() for split in splits]
    assert np.ptp(shares) < 0.25
    assert max(len(s.test) for s in splits) < 1.6 * min(len(s.test) for s in splits)
    assert splits[0].test.tolist() != splits[5].test.tolist()


def test_kfold_tests_every_row_once_a_repeat() -> None:
    splits = repeated_kfold(23, 5, 3, 7)
    assert [(s.repeat, s.fold) for s in splits] == [(r, f) for r in (1, 2, 3) for f in (1, 2, 3, 4, 5)]
    for repeat in (1, 2, 3):
        assert sorted(np.concatenate([s.test for s in splits if s.repeat == repeat]).tolist()) == list(range(23))
    for split in splits:
        assert sorted([*split.train.tolist(), *split.test.tolist()]) == list(range(23))
    assert len({s.seed for s in splits}) == len(splits)


def test_the_seed_decides() -> None:
    one, same, other = (repeated_kfold(40, 4, 2, seed) for seed in (3, 3, 4))
    assert all((a.test == b.test).all() and a.seed == b.seed for a, b in zip(one, same, strict=True))
    assert any((a.test.tolist() != b.test.tolist()) for a, b in zip(one, other, strict=True))
    more = repeated_kfold(40, 4, 3, 3)  # a further repeat leaves the first ones as they were
    assert all((a.test == b.test).all() for a, b in zip(one, more, strict=False))


@given(st.lists(st.integers(0, 2), min_size=10, max_size=60), st.floats(0.05, 0.9), st.integers(0, 100))
def test_shuffle_splits_keep_proportions(labels: list[int], share: float, seed: int) -> None:
    classes = np.array(labels)
    n = len(labels)
    (split,) = shuffle_splits(n, 1, share, seed, classes=classes)
    m = min(max(round(share * n), 1), n - 1)
    assert len(split.test) == m
    assert len(split.train) == n - m
    for label in set(labels):
        assert abs((classes[split.test] == label).sum() - m / n * (classes == label).sum()) < 1 + 1e-9


def test_every_row_is_held_out_equally_often() -> None:
    splits = shuffle_splits(30, 3000, 0.2, 0, classes=np.repeat([0, 1], [20, 10]))
    often = np.bincount(np.concatenate([s.test for s in splits]), minlength=30) / 3000
    assert np.abs(often - 0.2).max() < 4 * np.sqrt(0.2 * 0.8 / 3000)


def test_grouped_shuffle_splits() -> None:
    groups = np.repeat(np.arange(20), 5)
    for split in shuffle_splits(100, 10, 0.2, 0, groups=groups):
        assert not set(groups[split.test]) & set(groups[split.train])
        assert len(split.test) == 20
    (one,) = shuffle_splits(10, 1, 0.5, 0, groups=np.array([0] * 9 + [1]))
    assert 0 < len(one.test) < 10


# ---- learners ------------------------------------------------------------------------------------------------------------


class Majority:
    """A learner of another library: no get_params, no sklearn."""

    def fit(self, x: Any, y: Any) -> None:
        values, counts = np.unique(y, return_counts=True)
        self.said = values[np.argmax(counts)]

    def predict(self, x: Any) -> Any:
        return [self.said] * len(x)


class Coin:
    """Draws from NumPy's global generator, as scikit-learn does under random_state=None."""

    def fit(self, x: Any, y: Any) -> Coin:
        self.classes_ = np.unique(y)
        return self

    def predict(self, x: Any) -> Any:
        return np.random.choice(self.classes_, len(x))  # noqa: NPY002


class Fragile(Majority):
    """Fails where row 0 is to be predicted."""

    def predict(self, x: Any) -> Any:
        if (np.asarray(x)[:, 0] == 0).any():
            raise RuntimeError("row 0 is\ntoo much for me")
        return super().predict(x)


class Loud(Majority):
    def fit(self, x: Any, y: Any) -> None:
        warnings.warn("did not converge", UserWarning, stacklevel=2)
        warnings.warn("old spelling", DeprecationWarning, stacklevel=2)
        super().fit(x, y)


class Wrong(Majority):
    def predict(self, x: Any) -> Any:
        return [0]


X = np.arange(40, dtype=float).reshape(20, 2)
Y = np.array(["a", "b"] * 8 + ["a"] * 4)
SPLITS = repeated_kfold(20, 4, 2, 0)


def said(outcomes: Any) -> list[list[Any]]:
    return [[a.prediction.tolist() if isinstance(a, LearnerAnswer) else a.error for a in o.answers] for o in outcomes]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_parallel_is_serial() -> None:
    serial = evaluate([Majority(), Coin()], X, Y, SPLITS, workers=1)
    assert said(evaluate([Majority(), Coin()], X, Y, SPLITS, workers=2)) == said(serial)
    assert said(evaluate([Majority(), Coin()], X, Y, SPLITS)) == said(serial)
    seen: list[tuple[int, int]] = []
    assert said(evaluate([Majority(), Coin()], X, Y, SPLITS, workers=2, progress=lambda *step: seen.append(step))) == said(serial)
    assert seen == [(i, 8) for i in range(1, 9)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_backends_of_joblib_serve() -> None:
    import joblib

    expected = said(evaluate([Majority(), Majority()], X, Y, SPLITS, workers=1))
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert said(evaluate([Majority(), Majority()], X, Y, SPLITS)) == expected


def test_global_generators_are_put_back() -> None:
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    first = np.random.random(), random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    evaluate([Coin()], X, Y, SPLITS, workers=1)
    assert (np.random.random(), random.random()) == first  # noqa: NPY002


def test_a_failing_fold_keeps_the_others() -> None:
    outcomes = evaluate([Majority(), Fragile()], X, Y, SPLITS, workers=1)
    failed = [o for o in outcomes if isinstance(o.answers[1], Failure)]
    assert len(failed) == 2  # row 0 is tested once a repeat
    assert failed[0].answers[1] == Failure("predicting", "RuntimeError: row 0 is too much for me")
    assert all(isinstance(o.answers[0], LearnerAnswer) for o in outcomes)


def test_warnings_are_kept_not_printed() -> None:
    (outcome, *_) = evaluate([Loud()], X, Y, SPLITS, workers=1)
    answer = outcome.answers[0]
    assert isinstance(answer, LearnerAnswer)
    assert answer.said == ("UserWarning: did not converge",)


def test_the_wrong_number_of_predictions() -> None:
    (outcome, *_) = evaluate([Wrong()], X, Y, SPLITS, workers=1)
    assert outcome.answers[0] == Failure("predicting", "predictions of shape (1,) for 5 items")


def test_a_fresh_copy_each_time() -> None:
    from sklearn.naive_bayes import GaussianNB

    fitted = GaussianNB(var_smoothing=0.1).fit(X, Y)
    twin = fresh_copy(fitted)
    assert twin.var_smoothing == 0.1
    assert not hasattr(twin, "classes_")
    learner = Majority()
    evaluate([learner], X, Y, SPLITS, workers=1)
    assert not hasattr(learner, "said")


def test_likelihoods() -> None:
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import SVC

    (outcome, *_) = evaluate([GaussianNB(), SVC()], X, Y, SPLITS, workers=1, likelihood=True)
    bayes, svc = outcome.answers
    assert isinstance(bayes, LearnerAnswer)
    assert isinstance(svc, LearnerAnswer)
    assert bayes.likelihood is not None
    assert svc.likelihood is not None
    assert bayes.classes == ("a", "b")
    assert bayes.likelihood.sum(1) == pytest.approx(1)
    assert svc.likelihood[:, 0] == pytest.approx(-svc.likelihood[:, 1])


@settings(deadline=None, max_examples=10)
@given(st.permutations(range(6)))
def test_rows_of_anything(order: list[int]) -> None:
    import pandas as pd
    import polars as pl
    from scipy import sparse

    rows = np.array(order[:3], np.int64)
    base = np.arange(12.0).reshape(6, 2)
    expected = base[rows].tolist()
    assert rows_of(base, rows).tolist() == expected
    assert rows_of(pd.DataFrame(base), rows).to_numpy().tolist() == expected
    assert rows_of(pl.DataFrame(base), rows).to_numpy().tolist() == expected
    assert rows_of(sparse.csr_matrix(base), rows).toarray().tolist() == expected
    assert rows_of(base.tolist(), rows) == expected
    assert rows_of(["x"] * 6, rows) == ["x"] * 3
    assert count_rows(pd.DataFrame(base)) == count_rows(base.tolist()) == 6


def test_no_rows() -> None:
    with pytest.raises(DataError, match="must be rows"):
        count_rows(3)


def test_workers_without_joblib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(UsageError, match="pip install joblib"):
        evaluate([Majority()], X, Y, SPLITS, workers=2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_what_cannot_be_sent_to_workers() -> None:
    class Stuck(Majority):
        def __reduce__(self) -> Any:
            raise TypeError("cannot be pickled")

    with pytest.raises(UsageError, match=r"folds cannot run in parallel.*workers=1"):
        evaluate([Stuck()], X, Y, SPLITS, workers=2)
