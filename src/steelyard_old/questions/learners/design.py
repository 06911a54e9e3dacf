"""How the items are split for two learners: the methods by name, their options, strata, groups, and the test of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.evaluate.learners.folds import Failure, LearnerAnswer, Outcome, Split, deal, mean_sizes, repeated_kfold, shuffle_splits
from steelyard_old.infer.learning import crossval
from steelyard_old.infer.learning.crossval import SplitTest
from steelyard_old.options.option import unknown_word

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """The options a method takes, with their defaults; None: it does not take it. The 5x2cv tests fix theirs."""

    folds: int | None = None
    repeats: int | None = None
    test_size: float | None = None
    fixed: bool = False
    corrected: bool = False


METHODS = {
    "corrected-repeated-kfold": Method(folds=10, repeats=10, corrected=True),
    "corrected-resampled": Method(repeats=30, test_size=0.1, corrected=True),
    "5x2cv-t": Method(folds=2, repeats=5, fixed=True),
    "5x2cv-f": Method(folds=2, repeats=5, fixed=True),
    "kfold": Method(folds=10, repeats=1),
    "disjoint-sets": Method(folds=10, test_size=0.5),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """How the items are split: the method with its options settled."""

    method: str
    folds: int | None
    repeats: int | None
    test_size: float | None
    corrected: bool

    @property
    def interval(self) -> str:
        return "corrected-t" if self.corrected else "t"

    @property
    def naive(self) -> bool:
        """Whether overlapping training parts are treated as if they were independent."""
        return self.method == "kfold"


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPart:
    """Test rows that are scored together, and what both learners said about them."""

    split: Split
    rows: IntArray
    answers: tuple[LearnerAnswer, LearnerAnswer]
    scores: tuple[float | None, float | None] = (None, None)


def settle_scheme(method: str, folds: int | None, repeats: int | None, test_size: float | None) -> Scheme:
    """The method with its options; an option that it does not take is an error, never ignored."""
    if method not in METHODS:
        raise unknown_word("method", method, tuple(METHODS))
    known = METHODS[method]
    chosen: dict[str, Any] = {}
    for name, given in (("folds", folds), ("repeats", repeats), ("test_size", test_size)):
        default = getattr(known, name)
        if given is not None and (default is None or (known.fixed and given != default)):
            need = f"no {name}" if default is None else f"{name}={default}"
            raise UsageError(f"{method} takes {need}, so {name} cannot be {given!r}.", got=f"{given!r}", need=need, hint="leave it out")
        chosen[name] = default if given is None else given
    for name, least in (("folds", 2), ("repeats", 1 if known.folds else 2)):
        value = chosen[name]
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise UsageError(f"cannot use {name}", got=repr(value), need=f"a whole number of at least {least}")
    share = chosen["test_size"]
    if share is not None and not (isinstance(share, float) and 0 < share < 1):
        raise UsageError("cannot use test_size", got=repr(share), need="a share between 0 and 1", hint="0.1 tests on a tenth")
    return Scheme(method=method, corrected=known.corrected, **chosen)


def group_codes(groups: Any, n: int) -> IntArray:
    """The groups as numbers without gaps."""
    from steelyard_old.read.columns import as_column

    labels, _ = as_column("group", groups).encode()
    if len(labels) != n or (labels.codes < 0).any():
        got = f"{len(labels)} groups, {int((labels.codes < 0).sum())} of them missing, for {n} items"
        raise DataError(f"Every item needs a group: got {got}.", got=got, need="one group for every item")
    return np.unique(labels.codes, return_inverse=True)[1].astype(np.int64)


def strata(stratify: bool | str, classes: IntArray | None, scheme: Scheme, *, grouped: bool) -> IntArray | None:
    """The classes whose proportions every split keeps, or None."""
    if stratify not in (True, False, "auto"):
        raise UsageError("cannot use stratify", got=repr(stratify), need="auto, True or False")
    loose = grouped and scheme.test_size is not None  # whole groups until the share is reached: no room for the classes
    if stratify is True and (classes is None or loose):
        got = f"{scheme.method} with groups" if loose else "numbers"
        raise UsageError(
            f"Cannot stratify {got}.",
            got=got,
            need="classes, and folds or no groups",
            hint="stratify needs classes, and folds or no groups; leave stratify out",
        )
    return None if stratify is False or loose else classes


def make_splits(scheme: Scheme, n: int, seed: int, classes: IntArray | None, groups: IntArray | None) -> list[Split]:
    """The splits of a scheme, from the seed alone."""
    units, what = (n, "items") if groups is None else (int(groups.max()) + 1, "groups")
    least = scheme.folds or 2
    if units < least or n < 4:
        raise DataError(
            f"Too few to split: {units} {what}, at least {max(least, 4 if groups is None else least)} are needed.",
            got=f"{units} {what}",
            need=f"at least {max(least, 4 if groups is None else least)}",
        )
    if scheme.test_size is not None:
        return shuffle_splits(n, scheme.repeats or 1, scheme.test_size, seed, classes=classes, groups=groups)
    return repeated_kfold(n, scheme.folds or 2, scheme.repeats or 1, seed, classes=classes, groups=groups)


def pieces_of(outcomes: Sequence[Outcome], names: tuple[str, str]) -> tuple[list[ScoredPart], list[dict[str, Any]]]:
    """The splits on which both learners answered, and what went wrong on the others."""
    pieces: list[ScoredPart] = []
    failures: list[dict[str, Any]] = []
    for outcome in outcomes:
        split, (first, second) = outcome.split, outcome.answers
        if isinstance(first, LearnerAnswer) and isinstance(second, LearnerAnswer):
            pieces.append(ScoredPart(split, split.test, (first, second)))
            continue
        for name, answer in zip(names, outcome.answers, strict=True):
            if isinstance(answer, Failure):
                failures.append(
                    {"repeat": split.repeat, "fold": split.fold, "learner": name, "during": answer.during, "error": answer.error}
                )
    return pieces, failures


def cut(piece: ScoredPart, scheme: Scheme, seed: int, classes: IntArray | None, groups: IntArray | None) -> list[ScoredPart]:
    """The test rows of the one split as disjoint sets."""
    rows = piece.rows
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed).spawn(2)[1]))
    inside = None if groups is None else np.unique(groups[rows], return_inverse=True)[1].astype(np.int64)
    many = scheme.folds or 2
    if (units := len(rows) if inside is None else int(inside.max()) + 1) < many:
        what = "items" if groups is None else "groups"
        raise DataError(
            f"Too few {what} for {many} disjoint test sets: {units}.",
            got=f"{units} {what} to test on",
            need=f"at least {many}",
            hint="use fewer folds",
        )
    fold_of = deal(len(rows), many, rng, classes=None if classes is None else classes[rows], groups=inside)
    return [
        ScoredPart(
            replace(piece.split, fold=fold + 1),
            rows[fold_of == fold],
            (_part(piece.answers[0], fold_of == fold), _part(piece.answers[1], fold_of == fold)),
        )
        for fold in range(many)
    ]


def _part(answer: LearnerAnswer, rows: npt.NDArray[np.bool_]) -> LearnerAnswer:
    return replace(answer, prediction=answer.prediction[rows], likelihood=None if answer.likelihood is None else answer.likelihood[rows])


def judge(scheme: Scheme, delta: FloatArray, splits: Sequence[Split], alternative: str, confidence_level: float, side: str) -> SplitTest:
    """The test of the scheme on the differences."""
    if scheme.method == "5x2cv-t":
        return crossval.five_by_two_t(delta, alternative)
    if scheme.method == "5x2cv-f":
        return crossval.five_by_two_f(delta, alternative)
    how: dict[str, Any] = {"alternative": alternative, "confidence_level": confidence_level, "side": side}
    if scheme.method == "corrected-repeated-kfold":
        return crossval.corrected_repeated_kfold_t(delta, folds=scheme.folds or 2, **how)
    if scheme.method == "corrected-resampled":
        n_train, n_test = mean_sizes(splits)
        return crossval.corrected_resampled_t(delta, n_test=n_test, n_train=n_train, **how)
    return (crossval.kfold_t if scheme.method == "kfold" else crossval.disjoint_sets_t)(delta, **how)
