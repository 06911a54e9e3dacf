"""The points of a learning curve, whatever they came as: a file, rows, a frame, or a curve that was just measured."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.did_you_mean import listed
from steelyard_old.errors import AmbiguityError, DataError, UsageError, in_short, with_article
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import CATALOGUE, LOSSES_ELSEWHERE, parse
from steelyard_old.metrics.catalogue import find as find_metric
from steelyard_old.options.option import MOST
from steelyard_old.results.learning_curve import LearningCurve

FloatArray = npt.NDArray[np.float64]
LEAST_SIZES = 5
RECOGNISED: Mapping[str, tuple[str, ...]] = {
    "size": ("size", "n", "train_size", "n_train", "training_size"),
    "seed": ("seed", "repeat", "run", "fold", "trial"),
    "se": ("se", "stderr", "std_error"),
    "n_test": ("n_test", "test_size"),
}
SCORES = ("score", "value", "test_score")  # of any metric; a column may also have the name of its metric
OPTIONS = {
    "size": "size=",
    "score": "score=",
    "seed": "seed_column=",
    "n_test": "n_test=",
    "train_score": "train_score=",
    "se": "another name for the other",
}


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The rows of a curve. `seeds` are codes from 0, None if nothing says which points belong together."""

    sizes: FloatArray
    scores: FloatArray
    seeds: npt.NDArray[np.int64] | None
    se: FloatArray | None
    n_test: FloatArray | None
    metric: str
    train: FloatArray | None = None  # what the same fits scored on their training items
    measured: str | None = None  # the signature of the curve, if it was measured here

    def without_largest(self) -> Points:
        return self.rows(np.flatnonzero(self.sizes < self.sizes.max()), self.seeds)

    def rows(self, chosen: npt.NDArray[np.int64], seeds: npt.NDArray[np.int64] | None) -> Points:
        """Some of the rows, with these numbers for all seeds."""
        return replace(
            self,
            sizes=self.sizes[chosen],
            scores=self.scores[chosen],
            seeds=None if seeds is None else np.unique(seeds[chosen], return_inverse=True)[1].astype(np.int64),
            se=None if self.se is None else self.se[chosen],
            n_test=None if self.n_test is None else self.n_test[chosen],
            train=None if self.train is None else self.train[chosen],
        )


def points_of(
    curve: Any,
    *,
    size: str | None = None,
    score: str | None = None,
    train_score: str | None = None,
    seed_column: str | None = None,
    n_test: Any = None,
    higher_is_better: bool | None = None,
) -> tuple[Points, bool]:
    """The checked points of anything that holds them, and whether higher is better: a measured curve knows, else yes unless said."""
    if isinstance(curve, LearningCurve):
        if higher_is_better not in (None, curve.higher_is_better):
            raise UsageError(
                f"The curve is of {curve.metric}, where higher_is_better={curve.higher_is_better}.",
                got=f"a curve of {curve.metric} and higher_is_better={higher_is_better}",
                need=f"higher_is_better={curve.higher_is_better}, or nothing",
            )
        up = curve.higher_is_better
        given = {"size": size, "score": "score", "seed": seed_column, "train_score": train_score}
        whole = all(point.train_score is not None for point in curve.points)
        rows = [{key: value for key, value in row.items() if whole or key != "train_score"} for row in curve.rows()]
        found = replace(_table_points(rows, given, n_test, up), metric=curve.metric, measured=curve.signature)
        if not parse(curve.metric).of_labels:  # the test size says how noisy a share is, and nothing about an r2
            found = replace(found, n_test=None)
    else:
        up = True if higher_is_better is None else bool(higher_is_better)
        found = _table_points(curve, {"size": size, "score": score, "seed": seed_column, "train_score": train_score}, n_test, up)
    _check(found, up)
    return _in_order(found, -found.scores if up else found.scores), up


def _in_order(points: Points, worse: FloatArray) -> Points:
    """By size, then the best first; seeds numbered by their curves: neither the order of rows nor the names of seeds matter to a draw."""
    seeds = points.seeds
    if seeds is not None:
        curves = [sorted(zip(points.sizes[seeds == s], worse[seeds == s], strict=True)) for s in range(int(seeds.max()) + 1)]
        rank = {s: place for place, s in enumerate(sorted(range(len(curves)), key=curves.__getitem__))}
        seeds = np.array([rank[s] for s in seeds.tolist()], np.int64)
    order = np.lexsort((np.zeros(len(worse)) if seeds is None else seeds, worse, points.sizes))
    return points.rows(order, seeds)


def _table_points(curve: Any, given: Mapping[str, str | None], n_test: Any, higher_is_better: bool) -> Points:
    from steelyard_old.read.files.paths import spool_stdin
    from steelyard_old.read.open_source import open_source
    from steelyard_old.read.roles import RECOGNISED as ITEM_ROLES

    if isinstance(curve, (list, tuple)) and not curve:
        raise DataError("The curve has no points.", got="an empty list", need=f"scores at {LEAST_SIZES} or more training sizes")
    if not isinstance(curve, (str, os.PathLike, Mapping)) and not hasattr(curve, "columns") and not _is_rows(curve):
        raise UsageError(
            "Give the curve as a file, a frame, a list of dicts, a dict of columns, or what learning_curve gave, not as "
            f"{with_article(type(curve).__name__)}.",
            got=type(curve).__name__,
            need="a file, a frame, a list of dicts, a dict of columns, or what learning_curve gave",
        )
    spool = spool_stdin() if isinstance(curve, str) and curve == "-" else None
    where = curve if spool is None else spool.path
    no_roles = dict.fromkeys(ITEM_ROLES, "none")  # a column called run or value means something else here
    opened = open_source(where, columns=no_roles, keep_all=True)
    names = opened.columns
    of_all = _test_size(n_test, names)
    roles = _roles(names, {**given, "n_test": None if of_all else n_test}, higher_is_better)
    table = opened.table
    numbers = {role: table.numbers(name, name) for role, name in roles.items() if role != "seed"}
    for role, column in numbers.items():
        if (gone := int(np.isnan(column).sum())) > 0:
            raise DataError(
                f"{gone} of {len(column)} rows of the curve have no {roles[role]!r}.",
                got=f"{gone} of {len(column)} rows without {roles[role]!r}",
                need="a number in every row",
                hint="train_score='none' ignores the training scores" if role == "train_score" else "",
            )
    seeds = None
    if "seed" in roles:
        labels, _ = table.encoded(roles["seed"], "seed")
        if gone := int((labels.codes < 0).sum()):
            raise DataError(
                f"{gone} {'row of the curve has' if gone == 1 else 'rows of the curve have'} no {roles['seed']!r}.",
                got=f"{gone} row(s) without {roles['seed']!r}",
                need="a seed in every row",
            )
        seeds = np.unique(labels.codes, return_inverse=True)[1].astype(np.int64)
    tested = np.full(table.n, float(of_all)) if of_all else numbers.get("n_test")
    return Points(numbers["size"], numbers["score"], seeds, numbers.get("se"), tested, roles["score"], numbers.get("train_score"))


def _is_rows(curve: Any) -> bool:
    return (isinstance(curve, (list, tuple)) and bool(curve) and isinstance(curve[0], Mapping)) or hasattr(curve, "__arrow_c_stream__")


def _test_size(n_test: Any, names: tuple[str, ...]) -> int | None:
    """n_test as one number for all points; None if it names a column."""
    if isinstance(n_test, str) and n_test not in names and n_test.isdecimal():
        n_test = int(n_test)
    if n_test is None or isinstance(n_test, str):
        return None
    if isinstance(n_test, bool) or not isinstance(n_test, (int, np.integer)) or not 1 <= n_test <= MOST:
        raise UsageError("cannot use n_test", got=in_short(n_test), need="the number of test items, or the name of a column")
    return int(n_test)


def _roles(names: tuple[str, ...], given: Mapping[str, Any], higher_is_better: bool) -> dict[str, str]:
    """role -> column: as given, else found by name; two candidates are an error, and so is none for size or score."""
    from steelyard_old.read.roles import find

    ignored = {role for role, name in given.items() if name == "none" and "none" not in names and role in ("seed", "n_test", "train_score")}
    roles = {role: find(names, name, OPTIONS[role]) for role, name in given.items() if name is not None and role not in ignored}
    for role in ("size", "score", "seed", "se", "n_test"):
        if role in roles or role in ignored:
            continue
        found = [name for name in names if _may_be(role, name.lower(), higher_is_better) and name not in roles.values()]
        if len(found) > 1:
            raise AmbiguityError(
                f"Several columns could be the {role}: {listed(found)}.",
                got=listed(found),
                need="one of them",
                hint=f"name it with {OPTIONS[role]}",
            )
        if found:
            roles[role] = found[0]
        elif role in ("size", "score"):
            known = RECOGNISED[role] if role in RECOGNISED else (*SCORES, _of_a_metric(higher_is_better))
            called = f"{', '.join(known[:-1])} or {known[-1]}"
            raise UsageError(
                f"No column for the {role} of the curve's points; the columns are {listed(names)}.",
                got=f"columns {listed(names)}",
                need=f"a column called {called}",
                hint=f"call it {called}, or name it with {OPTIONS[role]}",
            )
    if not {"train_score"} & {*roles, *ignored}:
        roles |= _trained(names, roles)
    if len(set(roles.values())) < len(roles):
        twice = next(name for name in roles.values() if list(roles.values()).count(name) > 1)
        parts = [role for role, name in roles.items() if name == twice]
        raise UsageError(
            f"The column {twice!r} is used twice: as {' and as '.join(parts)}.",
            got=f"{twice!r} as {' and as '.join(parts)}",
            need="a column for each",
        )
    return roles


def _may_be(role: str, name: str, higher_is_better: bool) -> bool:
    """Whether a column of this name could have this role: a score is called so, or as a metric that is as good as it is high (or low)."""
    if role in RECOGNISED:
        return name in RECOGNISED[role]
    metric = find_metric(name)
    if metric is None:
        return name in SCORES or (name in LOSSES_ELSEWHERE and not higher_is_better)
    return metric.range_of_data or metric.higher_is_better is higher_is_better  # a mean is one of scores or of losses


def _of_a_metric(higher_is_better: bool) -> str:
    """After which metrics a column of scores may be called, with the first of them."""
    first = next(metric.shown for metric in CATALOGUE.values() if metric.higher_is_better is higher_is_better)
    return f"as a metric that is better when {'high' if higher_is_better else 'low'}, such as {first}"


def _trained(names: tuple[str, ...], roles: Mapping[str, str]) -> dict[str, str]:
    """The column of training scores, if there is one: train_accuracy beside accuracy or test_accuracy, else train_score."""
    score = roles["score"].lower()
    for other in ("test_", "val_", "validation_"):
        score = score.removeprefix(other)
    for wanted in (f"train_{score}", f"training_{score}", "train_score", "training_score"):
        if found := [name for name in names if name.lower() == wanted and name not in roles.values()]:
            return {"train_score": found[0]}
    return {}


# ---- checks ----------------------------------------------------------------------------------------------------------


def _check(points: Points, higher_is_better: bool) -> None:
    sizes, scores = points.sizes, points.scores
    if not ((sizes >= 1) & (sizes == np.floor(sizes))).all():
        odd = sizes[~((sizes >= 1) & (sizes == np.floor(sizes)))][0]
        hint = "shares of a training set must be turned into numbers of items" if 0 < odd < 1 else ""
        raise DataError(
            f"Training sizes must be whole numbers of at least 1, not {odd:g}.",
            got=f"{odd:g}",
            need="whole numbers of at least 1",
            hint=hint,
        )
    if (distinct := len(np.unique(sizes))) < LEAST_SIZES:
        raise DataError(
            f"A learning curve needs at least {LEAST_SIZES} different training sizes, got {distinct}: three numbers are fitted, "
            "and two points must be left to judge the fit by.",
            got=f"{distinct} different training size(s)",
            need=f"at least {LEAST_SIZES}: three numbers are fitted, and two points must be left to judge the fit by",
        )
    _check_scores(scores, higher_is_better)
    if points.train is not None:
        _check_scores(points.train, higher_is_better)
    for name, column in (("standard errors", points.se), ("test sizes", points.n_test)):
        if column is not None and not (column > 0).all():
            raise DataError(
                f"The {name} must be above 0; there is {column[~(column > 0)][0]:g}.",
                got=f"{column[~(column > 0)][0]:g}",
                need="numbers above 0",
            )
    if points.n_test is not None and (points.n_test < 1).any():
        raise DataError(
            f"Test sizes must be numbers of test items, not {points.n_test.min():g}.",
            got=f"{points.n_test.min():g}",
            need="numbers of test items",
            hint="n_test= names another column, or a number; n_test='none' ignores it",
        )
    _check_seeds(points)


def _check_scores(scores: FloatArray, higher_is_better: bool) -> None:
    if higher_is_better and scores.max() > 1:
        hint = "divide percentages by 100" if scores.max() <= 100 else "higher_is_better=False for errors and losses"
        raise DataError(
            f"Scores must be at most 1, the best there is; there is one of {scores.max():g}.",
            got=f"{scores.max():g}",
            need="numbers of at most 1, the best there is",
            hint=hint,
        )
    if not higher_is_better and scores.min() < 0:
        raise DataError(
            f"Scores must be at least 0, the best there is; there is one of {scores.min():g}.",
            got=f"{scores.min():g}",
            need="numbers of at least 0, the best there is",
        )


def _check_seeds(points: Points) -> None:
    if points.seeds is None:
        return
    pairs, counts = np.unique(np.stack([points.seeds, points.sizes]), axis=1, return_counts=True)
    if counts.max() > 1:
        size = pairs[1, int(np.argmax(counts))]
        raise DataError(
            f"Seed and size do not name one score: there are {counts.max()} scores of one seed at size {size:g}.",
            got=f"{counts.max()} scores of one seed at size {size:g}",
            need="one score per seed and size",
            hint="seed_column= names another column; seed_column='none' treats all points as separate",
        )
