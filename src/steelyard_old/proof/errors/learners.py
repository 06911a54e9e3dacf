"""Claims about tests of learning algorithms: false alarms with one learner on exchangeable halves of the features, split by split."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.evaluate.learners.folds import LearnerAnswer
from steelyard_old.proof.claims import Band, BandText, Claim, Setting
from steelyard_old.proof.trials import Trial, significant
from steelyard_old.questions.learners.design import METHODS, Scheme, ScoredPart, cut, judge, make_splits, settle_scheme
from steelyard_old.questions.learners.learners import compare_learners

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Predict = Callable[[FloatArray, IntArray, IntArray, IntArray], IntArray]
PAGE = "docs/learners.md"
HALF = 5  # features of each learner
SAID: dict[str, BandText] = {
    "corrected-repeated-kfold": ("equal learners told apart in 4 to 11% of cases", Band(high=0.11, fails=0.07)),
    "corrected-resampled": ("equal learners told apart in 5 to 11% of cases", Band(high=0.11, fails=0.055)),
    "5x2cv-t": ("equal learners told apart in 6 to 13% of cases", Band(high=0.13, fails=0.08)),
    "5x2cv-f": ("equal learners told apart in 5 to 15% of cases", Band(high=0.15, fails=0.08)),
    "kfold": ("equal learners told apart in 6 to 16% of cases", Band(high=0.155, fails=0.08)),
    "disjoint-sets": ("about these two models; equal recipes told apart in 5 to 7% of cases", Band(high=0.07)),
}
POWERS: dict[str, BandText] = {
    "corrected-repeated-kfold": ("finds a learner that knows less in 45% of cases or more", Band(low=0.45)),
    "corrected-resampled": ("finds less than the repeated folds", Band(low=0.38, mean_high=0.57)),
    "5x2cv-t": ("finds little: one of ten differences decides", Band(low=0.27, mean_high=0.5)),
    "5x2cv-f": ("finds more than 5x2cv-t", Band(low=0.35)),
    "kfold": ("finds less than the repeated folds, and alarms more", Band(low=0.4)),
    "disjoint-sets": ("finds little: half of the items train nobody", Band(low=0.25, mean_high=0.42)),
}


TREES, LEVELS = 50, 5  # of a forest


def claims() -> Iterator[Claim]:
    yield from _null().claims()
    yield from _forests().claims()
    yield from _repeated_naively().claims()


# ---- two equal learners ----------------------------------------------------------------------------------------------------------


def data(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
    """The label depends on both halves of the features alike, so that what sees the first half cannot be better than what sees the
    second; with a drop, it depends less on the second."""
    n, less = int(setting["n"]), 1 - float(setting.get("drop", 0.0))
    x = rng.normal(size=(n, 2 * HALF))
    signal = x[:, 0] + less * x[:, HALF] + 0.5 * (x[:, 1] + less * x[:, HALF + 1])
    y = (signal + rng.normal(size=n) > 0).astype(np.int64)
    return x, y, str(setting["learner"]), int(rng.integers(2**31))


def ridge(x: FloatArray, y: IntArray, train: IntArray, test: IntArray) -> IntArray:
    """Ridge regression on +-1: stable."""
    seen = np.column_stack([np.ones(len(train)), x[train]])
    w = np.linalg.solve(seen.T @ seen + np.eye(seen.shape[1]), seen.T @ (2.0 * y[train] - 1))
    return np.asarray(w[0] + x[test] @ w[1:] > 0, np.int64)


def nearest(x: FloatArray, y: IntArray, train: IntArray, test: IntArray) -> IntArray:
    """The nearest neighbour: as unstable as can be."""
    square = (x * x).sum(1)
    return np.asarray(y[train[(square[train] - 2 * x[test] @ x[train].T).argmin(1)]])


def forest(seed: int) -> Predict:
    """Trees whose splits are drawn, one feature and one place for each level: what they say is averaged. Every fit draws anew."""
    rng = np.random.default_rng(seed)

    def predict(x: FloatArray, y: IntArray, train: IntArray, test: IntArray) -> IntArray:
        feature = rng.integers(0, x.shape[1], (TREES, LEVELS))
        place = x[rng.choice(train, (TREES, LEVELS)), feature]
        leaf = (x[:, feature] > place) @ (1 << np.arange(LEVELS)) + (1 << LEVELS) * np.arange(TREES)
        size, right = (
            np.bincount(leaf[train].ravel(), weights=weight, minlength=TREES << LEVELS) for weight in (None, np.repeat(y[train], TREES))
        )
        share = (right + y[train].mean()) / (size + 1)
        return np.asarray(share[leaf[test]].mean(1) > y[train].mean(), np.int64)

    return predict


LEARNERS: dict[str, Predict] = {"ridge": ridge, "nearest neighbour": nearest}
EQUAL: tuple[Setting, ...] = tuple({"learner": learner, "n": n} for learner in LEARNERS for n in (60, 300))
WORSE: tuple[Setting, ...] = tuple({"learner": "ridge", "n": n, "drop": drop} for n, drop in ((100, 0.6), (60, 0.8), (300, 0.3)))


def told_apart(scheme: Scheme, x: FloatArray, y: IntArray, learner: str, seed: int) -> bool:
    """One learner on either half of the features, or two forests of other seeds on all of them."""
    if learner == "forest":
        return called(scheme, y, seed, [(forest(2 * seed + k), x) for k in (0, 1)])
    return called(scheme, y, seed, [(LEARNERS[learner], x[:, half : half + HALF]) for half in (0, HALF)])


def called(scheme: Scheme, y: IntArray, seed: int, sides: list[tuple[Predict, FloatArray]]) -> bool:
    """The splits, the cutting and the test are those of `compare_learners`; fitting and scoring are done here, for speed."""
    pieces = []
    for split in make_splits(scheme, len(y), seed, y, None):
        said = [LearnerAnswer(fit(x, y, split.train, split.test)) for fit, x in sides]
        pieces.append(ScoredPart(split, split.test, (said[0], said[1])))
    if scheme.method == "disjoint-sets":
        pieces = cut(pieces[0], scheme, seed, y, None)
    right = [[float(np.mean(answer.prediction == y[piece.rows])) for answer in piece.answers] for piece in pieces]
    delta = np.array([b - a for a, b in right])
    delta[np.abs(delta) < 1e-12] = 0.0
    return significant(judge(scheme, delta, [piece.split for piece in pieces], "two-sided", 0.95, "two").p_value)


def _null() -> Trial:
    return Trial(
        family="two learners, split by split",
        draw=data,
        methods={method: partial(told_apart, settle_scheme(method, None, None, None)) for method in METHODS},
        said={(method, "size"): SAID[method] for method in METHODS} | {(method, "power"): POWERS[method] for method in METHODS},
        settings=({"learner": "ridge", "n": 100}, {"learner": "nearest neighbour", "n": 100}, WORSE[0]),
        more=(*EQUAL, *WORSE[1:]),
        default=str(inspect.signature(compare_learners).parameters["method"].default),
        page=PAGE,
        runs=(100, 800),
    )


def _forests() -> Trial:
    """Two forests that differ in their seed alone: their own randomness is in the spread over the splits."""
    default = str(inspect.signature(compare_learners).parameters["method"].default)
    return Trial(
        family="two forests of random trees that differ in their seed alone",
        draw=data,
        methods={default: partial(told_apart, settle_scheme(default, None, None, None))},
        said={(default, "size"): ("told apart far less often than the test promises", Band(high=0.02))},
        settings=({"learner": "forest", "n": 100},),
        more=({"learner": "forest", "n": 60},),
        default=default,
        page=PAGE,
        runs=(20, 150),
    )


def _repeated_naively() -> Trial:
    """The textbook's t over ten times ten folds, as if they were a hundred experiments."""
    return Trial(
        family="equal learners, folds repeated as if they were new data",
        draw=data,
        methods={"kfold": partial(told_apart, settle_scheme("kfold", None, 10, None))},
        said={("kfold", "size"): ("equal learners told apart in 56 to 66% of cases", Band(fails=0.5, high=0.7))},
        settings=({"learner": "ridge", "n": 100},),
        more=({"learner": "nearest neighbour", "n": 100},),
        default="",
        page=PAGE,
        runs=(100, 800),
    )
