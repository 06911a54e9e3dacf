"""Fresh results of learners: seeded splits, and both learners fitted and asked on the same ones.

A split is decided before anything runs, from the seed alone, so the answer is the same however many workers there are.
Learners are used by their methods (`fit`, `predict`, and for probabilities `predict_proba` or `decision_function`); a
fresh copy is fitted for every split. Their own `random_state` is left as it was set; where it is None, scikit-learn
draws from NumPy's global generator, which is seeded for every split and put back afterwards.
"""

from __future__ import annotations

import copy
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, SteelyardError, UsageError, with_article
from steelyard_old.redaction import shortened

IntArray = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]
_QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)  # of code, not of results


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows to train on and rows to test on. repeat and fold count from 1; seed is for what the learners leave to chance."""

    repeat: int
    fold: int
    train: IntArray
    test: IntArray
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class LearnerAnswer:
    """What a fitted learner said about the test rows; `said` are its warnings. likelihood has one column per class.

    `on_training` is what it said about the rows it was fitted on, where that was asked.
    """

    prediction: npt.NDArray[Any]
    likelihood: npt.NDArray[np.float64] | None = None
    classes: tuple[Any, ...] = ()
    said: tuple[str, ...] = ()
    on_training: LearnerAnswer | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A learner that could not answer on one split: while it was copied, fitted or asked, and with which words."""

    during: str
    error: str


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One split and what each learner made of it."""

    split: Split
    answers: tuple[LearnerAnswer | Failure, ...]


# ---- splits ----------------------------------------------------------------------------------------------------------


def repeated_kfold(
    n: int, folds: int, repeats: int, seed: int, *, classes: IntArray | None = None, groups: IntArray | None = None
) -> list[Split]:
    """`repeats` times a random partition into `folds` test sets, each beside all other rows; repeat by repeat.

    >>> [split.test.tolist() for split in repeated_kfold(4, 2, 1, seed=0, classes=np.array([0, 0, 1, 1]))]
    [[1, 3], [0, 2]]
    """
    found = []
    for repeat, child in enumerate(np.random.SeedSequence(seed).spawn(repeats), 1):
        fold_of = deal(n, folds, np.random.Generator(np.random.PCG64(child)), classes=classes, groups=groups)
        for fold, own in enumerate(child.spawn(folds)):
            found.append(_split(repeat, fold + 1, fold_of == fold, own))
    return found


def mean_sizes(splits: Sequence[Split]) -> tuple[float, float]:
    """How many rows are trained on and how many are tested on, on average over the splits."""
    return float(np.mean([len(each.train) for each in splits])), float(np.mean([len(each.test) for each in splits]))


def shuffle_splits(
    n: int, splits: int, test_size: float, seed: int, *, classes: IntArray | None = None, groups: IntArray | None = None
) -> list[Split]:
    """Random splits, each drawn anew: `test_size` of the rows (of the rows in whole groups, as near as can be) to test on."""
    found = []
    for repeat, child in enumerate(np.random.SeedSequence(seed).spawn(splits), 1):
        rng = np.random.Generator(np.random.PCG64(child))
        held_out = _hold_out_groups(groups, test_size, rng) if groups is not None else _hold_out(n, test_size, rng, classes)
        found.append(_split(repeat, 1, held_out, child.spawn(1)[0]))
    return found


def deal(n: int, folds: int, rng: np.random.Generator, *, classes: IntArray | None = None, groups: IntArray | None = None) -> IntArray:
    """The fold of every row: sizes differ by at most one, in every class too; groups stay whole, then as near as can be."""
    if groups is not None:
        return _deal_groups(groups, folds, rng, np.zeros(n, np.int64) if classes is None else classes)
    order = _by_class(n, rng, classes)  # rows of a class lie together, so dealing round and round splits each class evenly
    fold_of = np.empty(n, np.int64)
    fold_of[order] = rng.permutation(folds)[np.arange(n) % folds]
    return fold_of


def _deal_groups(groups: IntArray, folds: int, rng: np.random.Generator, classes: IntArray) -> IntArray:
    """Groups in random order (largest first would fall alike in every repeat), each to the fold with least of what it brings."""
    contents = np.zeros((int(groups.max()) + 1, int(classes.max()) + 1))
    np.add.at(contents, (groups, classes), 1)
    shares = contents / contents.sum(0)
    held, size = np.zeros((folds, contents.shape[1])), np.zeros(folds)
    place = rng.permutation(folds)
    fold_of_group = np.empty(len(contents), np.int64)
    for group in rng.permutation(len(contents)):
        crowding = (held @ shares[group]).round(12)  # equal crowding: the smaller fold, so that none stays empty
        fold = int(np.lexsort((size, crowding))[0])
        held[fold] += shares[group]
        size[fold] += contents[group].sum()
        fold_of_group[group] = place[fold]
    return fold_of_group[groups]


def _hold_out(n: int, test_size: float, rng: np.random.Generator, classes: IntArray | None) -> npt.NDArray[np.bool_]:
    """Every (n/m)-th row of the shuffled classes from a random start: each class gives its share, to within one row."""
    m = min(max(round(test_size * n), 1), n - 1)
    held_out = np.zeros(n, bool)
    held_out[_by_class(n, rng, classes)[np.floor((np.arange(m) + rng.random()) * n / m).astype(np.int64)]] = True
    return held_out


def _hold_out_groups(groups: IntArray, test_size: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    order = rng.permutation(int(groups.max()) + 1)
    filled = np.cumsum(np.bincount(groups)[order])
    many = int(np.argmin(np.abs(filled[:-1] - test_size * len(groups)))) + 1
    return np.asarray(np.isin(groups, order[:many]))


def _by_class(n: int, rng: np.random.Generator, classes: IntArray | None) -> IntArray:
    order = rng.permutation(n)
    return order if classes is None else order[np.argsort(classes[order], kind="stable")]


def _split(repeat: int, fold: int, tested: npt.NDArray[np.bool_], own: np.random.SeedSequence) -> Split:
    return Split(repeat, fold, np.flatnonzero(~tested), np.flatnonzero(tested), int(own.generate_state(1)[0]))


# ---- running ---------------------------------------------------------------------------------------------------------


def evaluate(
    learners: Sequence[Any],
    x: Any,
    y: npt.NDArray[Any],
    splits: Sequence[Split],
    *,
    likelihood: bool = False,
    on_training: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Every learner on every split, in the order of the splits. A failure is an answer too: the other splits go on.

    on_training: the rows that a learner was fitted on are asked about as well, after the test rows.

    workers: how many at a time, by joblib (-1: all cores); None is one, or what `joblib.parallel_config` says, so that
    its back ends (processes, threads, Dask, Ray) serve. progress(done, all) is called after every split.
    """
    found: list[Outcome] = []
    for outcome in _outcomes(learners, x, y, splits, (likelihood, on_training), workers, progress is not None):
        found.append(outcome)
        if progress is not None:
            progress(len(found), len(splits))
    return found


def _outcomes(
    learners: Sequence[Any],
    x: Any,
    y: npt.NDArray[Any],
    splits: Sequence[Split],
    asked: tuple[bool, bool],
    workers: int | None,
    watched: bool,
) -> Iterable[Outcome]:
    if workers == 1 or (workers is None and "joblib" not in sys.modules):  # nobody can have configured what is not loaded
        return (_one(learners, x, y, split, *asked) for split in splits)
    try:
        import joblib  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise UsageError(
            f"{workers} workers need the package joblib.",
            got=f"{workers} workers and no joblib",
            need="joblib",
            hint="pip install joblib, or workers=1",
        ) from None
    return _parallel(joblib, (joblib.delayed(_one)(learners, x, y, split, *asked) for split in splits), workers, watched)


def _parallel(joblib: Any, tasks: Iterable[Any], workers: int | None, watched: bool) -> Iterator[Outcome]:
    try:
        pool = joblib.Parallel(n_jobs=workers, return_as="generator" if watched else "list")
    except (TypeError, ValueError):  # a back end, or an old joblib, that gives all answers at the end
        pool = joblib.Parallel(n_jobs=workers)
    try:
        yield from pool(tasks)
    except SteelyardError:
        raise
    except Exception as fault:  # learners' own errors are answers: this is the pool, a worker that died, a pickle
        raise UsageError(
            "The folds cannot run in parallel: learners or data cannot be sent to the workers, or there is "
            f"too little memory ({_words(fault)}).",
            got=_words(fault),
            need="learners and data that can be sent to the workers, and memory for them",
            hint="workers=1 runs them one by one",
        ) from fault


def _one(learners: Sequence[Any], x: Any, y: npt.NDArray[Any], split: Split, likelihood: bool, on_training: bool) -> Outcome:
    """All learners on one split, each starting from the same seed."""
    train, test = rows_of(x, split.train), rows_of(x, split.test)
    return Outcome(split, tuple(_ask(learner, train, y[split.train], test, split, likelihood, on_training) for learner in learners))


def _ask(
    learner: Any, train: Any, y: npt.NDArray[Any], test: Any, split: Split, likelihood: bool, on_training: bool
) -> LearnerAnswer | Failure:
    during = "copying"
    try:
        with _apart(split.seed) as heard:
            fresh = fresh_copy(learner)
            during = "fitting"
            fitted = fresh.fit(train, y)
            fitted = fresh if fitted is None or not hasattr(fitted, "predict") else fitted
            during = "predicting"
            found = _predicted(fitted, test, len(split.test), likelihood)
            seen = _predicted(fitted, train, len(split.train), likelihood) if on_training else None
        said = tuple(dict.fromkeys(f"{w.category.__name__}: {_line(str(w.message))}" for w in heard))
        return replace(found, said=said, on_training=seen)
    except _Misshapen as fault:
        return Failure(during, str(fault))
    except Exception as fault:
        return Failure(during, _words(fault))


class _Misshapen(Exception):
    """Predictions that are not one per row; the words are for the user."""


def _predicted(fitted: Any, rows: Any, n: int, likelihood: bool) -> LearnerAnswer:
    """What a fitted learner says about rows."""
    prediction = np.asarray(fitted.predict(rows))
    if prediction.ndim == 2 and prediction.shape[1] == 1:
        prediction = prediction[:, 0]
    if prediction.shape != (n,):
        raise _Misshapen(f"predictions of shape {prediction.shape} for {n} items")
    return LearnerAnswer(prediction, *(_likelihood(fitted, rows) if likelihood else (None, ())))


def _likelihood(fitted: Any, test: Any) -> tuple[npt.NDArray[np.float64], tuple[Any, ...]]:
    """How likely each class is, one column per class; a decision function of two classes becomes minus and plus itself."""
    classes = tuple(np.asarray(fitted.classes_).tolist())
    if hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict_proba(test), float), classes
    scores = np.asarray(fitted.decision_function(test), float)
    return (np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores), classes


@contextmanager
def _apart(seed: int) -> Iterator[list[warnings.WarningMessage]]:
    """Warnings kept, and the global generators seeded and put back. Both belong to the process: not from other threads."""
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    before = random.getstate(), np.random.get_state()  # noqa: NPY002  the generator that random_state=None means
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for category in _QUIET:
            warnings.simplefilter("ignore", category)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield heard
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])  # noqa: NPY002


def fresh_copy(learner: Any) -> Any:
    """An unfitted twin by scikit-learn's `clone` where the learner speaks it, else a deep copy."""
    if not (hasattr(learner, "get_params") or hasattr(learner, "__sklearn_clone__")):
        return copy.deepcopy(learner)
    try:
        from sklearn.base import clone
    except ImportError:
        return copy.deepcopy(learner)
    return clone(learner)


def rows_of(x: Any, rows: IntArray) -> Any:
    """Some rows of an array, a sparse matrix, a frame, or a list."""
    if hasattr(x, "iloc"):
        return x.iloc[rows]
    if hasattr(x, "shape"):
        return x[rows]
    return [x[row] for row in rows.tolist()]


def count_rows(x: Any) -> int:
    """How many rows there are."""
    try:
        return int(x.shape[0]) if hasattr(x, "shape") else len(x)
    except (TypeError, IndexError, ValueError):
        raise DataError(
            f"The features must be rows (an array, a frame, a sparse matrix or a list), not {with_article(type(x).__name__)}.",
            got=type(x).__name__,
            need="rows: an array, a frame, a sparse matrix or a list",
        ) from None


def _words(fault: BaseException) -> str:
    try:
        said = str(fault)
    except Exception:  # an exception that fails when it is looked at
        said = ""
    return f"{type(fault).__name__}: {_line(said)}".rstrip(": ")


def _line(text: str) -> str:
    line = " ".join(text.split())
    return shortened(line, 200)
