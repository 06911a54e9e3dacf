"""How does a learner get better with more data? Fitted on growing parts of the data, scored on rows held out before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.curve_fit import CurveFitting, read_gap
from steelyard_old.estimate.curve_points import LEAST_SIZES, points_of
from steelyard_old.evaluate.learners.curves import curve_splits, default_sizes
from steelyard_old.evaluate.learners.folds import Failure, Outcome, count_rows, evaluate, shuffle_splits
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.learners import CURVE
from steelyard_old.options.measure import MeasureOptions, settle
from steelyard_old.options.option import documented, is_whole
from steelyard_old.questions.learners.design import group_codes
from steelyard_old.questions.learners.learners import as_learner, as_target
from steelyard_old.questions.learners.scores import SplitScorer, scorer_of
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.learning_curve import CurveGap, CurvePoint, LearningCurve

DRAWS = 2000  # redrawn curves behind what is said of the gap, as many as `plan_train` takes


@documented(
    CURVE,
    "a LearningCurve",
    estimator="The learner: anything with fit and predict.",
    X="The features, one row per item.",
    y="The target to predict, one value per item.",
    stratify='Keep the class proportions in every split: True, False, or "auto" for labels. Default: "auto".',
)
def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    metric: str = "accuracy",
    sizes: Sequence[int] | None = None,
    repeats: int = 5,
    test_size: float = 0.25,
    groups: Any = None,
    stratify: bool | str = "auto",
    train_scores: bool = True,
    positive: object = None,
    absent: str | None = None,
    seed: int | None = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LearningCurve:
    """Scores of a learner by training size, over `repeats` seeds: each holds out its own test rows and grows one training set.

    sizes: 8 by default, from a thirty-second of the training rows to all of them. Classes keep their shares at every
    size, groups are never in training and test at once. `plan_train(curve, target=...)` says how many items a target takes.

    >>> class Nearest:
    ...     def fit(self, X, y): self.seen = list(zip(X, y)); return self
    ...     def predict(self, X): return [min(self.seen, key=lambda s: abs(s[0][0] - x[0]))[1] for x in X]
    >>> X = [[(i * 37) % 101] for i in range(101)]
    >>> curve = learning_curve(Nearest(), X, [x[0] // 10 % 2 for x in X], sizes=[5, 10, 20, 40, 75], repeats=2)
    >>> curve.sizes, len(curve.points)
    ((5, 10, 20, 40, 75), 10)
    """
    settings = settle(seed=seed, positive=positive, absent=absent)
    quantity = parse(metric)
    learner = as_learner(estimator, quantity, "given")
    n = count_rows(X)
    target = as_target(y, n)
    scorer = scorer_of(quantity, y if isinstance(y, (list, tuple)) else target, settings)
    group = None if groups is None else group_codes(groups, n)
    classes = _strata(stratify, scorer, group is not None)
    _check(repeats, test_size, n if group is None else int(group.max()) + 1)
    whole = shuffle_splits(n, repeats, float(test_size), settings.seed, classes=classes, groups=group)
    largest = min(len(split.train) for split in whole)
    chosen = _sizes(sizes, largest, len(scorer.names), classes is not None)
    splits = curve_splits(n, chosen, repeats, float(test_size), settings.seed, classes=classes, groups=group)
    outcomes = evaluate(
        (learner,), X, target, splits, likelihood=scorer.likelihood, on_training=bool(train_scores), workers=workers, progress=progress
    )
    points = tuple(_point(outcome, scorer, quantity) for outcome in outcomes)
    warnings = Warnings()
    _hear(outcomes, warnings)
    return LearningCurve(
        gap=_gap(points, quantity, settings),
        metric=quantity.name,
        higher_is_better=quantity.higher_is_better,
        learner=type(learner).__name__,
        points=points,
        warnings=tuple(warnings),
        signature=signature.write(
            {
                "metric": quantity.name,
                "positive": settings.positive,
                "n": n,
                "units": None if group is None else f"{int(group.max()) + 1} groups",
                "method": "learning-curve",
                "repeats": repeats,
                "test_size": float(test_size),
                "stratified": "no" if classes is None else "yes",
                "seed": settings.seed,
                "absent": settings.absent,
            }
        ),
    )


def _gap(points: tuple[CurvePoint, ...], metric: Metric, settings: MeasureOptions) -> CurveGap | None:
    """What the training scores beside the test scores say; None without them, or for scores that no curve is fitted to."""
    if any(point.train_score is None for point in points):
        return None
    bare = LearningCurve(metric=metric.name, higher_is_better=metric.higher_is_better, learner="", points=points)
    try:
        found, up = points_of(bare)
    except DataError:  # an r2 or a loss outside of the range that the curve knows
        return None
    fitting = CurveFitting(points=found, up=up, settings=replace(settings, draws=DRAWS))
    return read_gap(fitting, fitting.fit(found))


def _strata(stratify: bool | str, scorer: SplitScorer, grouped: bool) -> Any:
    if stratify not in (True, False, "auto"):
        raise UsageError("cannot use stratify", got=repr(stratify), need="auto, True or False")
    if stratify is True and (scorer.classes is None or grouped):
        got = "groups" if grouped else "numbers"
        raise UsageError(
            f"Cannot stratify {got}.",
            got=got,
            need="classes, and no groups",
            hint="stratify needs classes and no groups; leave stratify out",
        )
    return None if stratify is False or grouped else scorer.classes


def _check(repeats: int, test_size: float, units: int) -> None:
    if isinstance(repeats, bool) or not is_whole(repeats) or repeats.__index__() < 1:
        raise UsageError("cannot use repeats", got=repr(repeats), need="a whole number of at least 1")
    if not (isinstance(test_size, float) and 0 < test_size < 1):
        raise UsageError("cannot use test_size", got=repr(test_size), need="a share between 0 and 1", hint="0.25 tests on a quarter")
    if units < 2:
        raise DataError(
            f"Too few to split: {units} items or groups, at least 2 are needed.", got=f"{units} item(s) or group(s)", need="at least 2"
        )


def _sizes(given: Sequence[int] | None, largest: int, classes: int, stratified: bool) -> list[int]:
    if given is None:
        found = default_sizes(largest, classes)
    else:
        odd = [size for size in given if isinstance(size, bool) or not is_whole(size) or size.__index__() < 1]
        if odd:
            raise UsageError("cannot use sizes", got=repr(odd[0]), need="whole numbers of training items")
        found = sorted({size.__index__() for size in given})
    if len(found) < LEAST_SIZES:
        raise UsageError(
            f"A learning curve needs at least {LEAST_SIZES} different sizes; got {len(found)} among {largest} training rows.",
            got=f"{len(found)} different size(s) among {largest} training rows",
            need=f"at least {LEAST_SIZES}",
        )
    if found[-1] > largest:
        raise UsageError(
            f"Cannot train on {found[-1]} rows: at most {largest} are left, since the rest is held out to test on.",
            got=f"size {found[-1]}",
            need=f"at most {largest}, since the rest is held out to test on",
            hint="a smaller test_size leaves more",
        )
    if stratified and found[0] < classes:
        raise UsageError(
            f"Size {found[0]} is too small for {classes} classes: every class must occur.",
            got=f"size {found[0]} and {classes} classes",
            need=f"sizes of at least {classes}",
        )
    return found


def _point(outcome: Outcome, scorer: SplitScorer, metric: Metric) -> CurvePoint:
    """A curve with a hole would bend, so a fit that failed or a score that is undefined ends it."""
    split, said = outcome.split, outcome.answers[0]
    where = f"seed {split.repeat}, size {len(split.train)}"
    if isinstance(said, Failure):
        raise DataError(
            f"The fit failed with {said.error} while {said.during}, {where}.",
            got=f"{said.error} while {said.during}, {where}",
            need="a fit at every size",
            hint="use larger sizes",
        )
    score = scorer.score(split.test, said)
    if score is None:
        raise DataError(
            f"{metric.name} is undefined at {where}.",
            got=f"{metric.name} undefined at {where}",
            need="a score at every size",
            hint="use larger sizes, a larger test_size, or absent='zero' for averages over classes",
        )
    seen = None if said.on_training is None else scorer.score(split.train, said.on_training)
    return CurvePoint(size=len(split.train), score=score, seed=split.repeat, n_test=len(split.test), train_score=seen)


def _hear(outcomes: Sequence[Outcome], warnings: Warnings) -> None:
    """What the learner warned of, each once with how often."""
    heard = [sentence for outcome in outcomes for answer in outcome.answers if not isinstance(answer, Failure) for sentence in answer.said]
    for sentence in dict.fromkeys(heard):
        warnings.add(f"the learner warned in {heard.count(sentence)} of {len(outcomes)} fits: {sentence}")
    few = min(len(outcome.split.test) for outcome in outcomes)
    if few < 30:
        warnings.add(f"{few} items to test on: scores on fewer than 30 are mostly noise")
