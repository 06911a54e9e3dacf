"""Is one learning algorithm better? Both are fitted on the same splits; the differences of their scores are tested."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.evidence import detectable, interval_of
from steelyard_old.evaluate.learners.folds import LearnerAnswer, Outcome, count_rows, evaluate
from steelyard_old.infer.learning import crossval
from steelyard_old.infer.learning.crossval import SplitTest
from steelyard_old.infer.paired.mcnemar import check_alternative
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.learners import OPTIONS
from steelyard_old.options.measure import MeasureOptions, settle
from steelyard_old.options.option import documented, within
from steelyard_old.questions.learners.design import Scheme, ScoredPart, cut, group_codes, judge, make_splits, pieces_of, settle_scheme, strata
from steelyard_old.questions.learners.scores import SplitScorer, scorer_of
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Comparison, Difference, System, Test
from steelyard_old.results.details import ComparisonDetails, TestDetails
from steelyard_old.tally.sums import mean_of_known

FEWEST = 30  # test items of a split, below which its score is far from normal
# How often equal learners give p <= .05, those of TRIED: `steelyard certify --full --only learners`.
TRIED = "ridge regression and nearest neighbours on 60 to 300 items"
FALSE_ALARMS = {
    "corrected-repeated-kfold": "4 to 11%",
    "corrected-resampled": "5 to 11%",
    "5x2cv-t": "6 to 13%",
    "5x2cv-f": "5 to 15%",
    "kfold": "6 to 16%",
    "repeated naive": "56 to 66%",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSentences:
    """The sentences about one comparison."""

    metric: Metric
    scheme: Scheme
    names: tuple[str, str]
    settings: MeasureOptions
    warnings: Warnings

    def warn(
        self, found: SplitTest, outcomes: Sequence[Outcome], *, sizes: Sequence[int], undefined: int, failures: Sequence[Mapping[str, Any]]
    ) -> None:
        """What was lost, what is approximate and by how much, what is too small."""
        say = self.warnings.add
        if failures:
            lost = len({(f["repeat"], f["fold"]) for f in failures})
            say(
                f"{lost} of {len(outcomes)} splits failed, the first in {failed_where(failures[0])} ({failures[0]['error']}); "
                f"the answer rests on {len(sizes)}"
            )
        if undefined:
            say(f"{self.metric.name} was undefined in {undefined} split(s), which were left out; the answer rests on {len(sizes)}")
        if found.note:
            say(found.note)
        say(self.caveat())
        if min(sizes) < FEWEST:
            small = sum(size < FEWEST for size in sizes)
            say(
                f"{small} of {len(sizes)} test sets have fewer than {FEWEST} items (the smallest {min(sizes)}): "
                "use fewer folds or more data"
            )
        self._pass_on(outcomes)

    def caveat(self) -> str:
        """What the test is worth, with the figure that was measured."""
        method, repeats = self.scheme.method, self.scheme.repeats or 1
        if method == "disjoint-sets":
            return "this compares the two fitted models, not the learners: another training set could reverse the result"
        if method == "kfold" and repeats > 1:
            return (
                f"the naive t over repeated folds takes {repeats} looks at the same items for new data: it found a difference between "
                f"equal learners in {FALSE_ALARMS['repeated naive']} of cases instead of 5% ({TRIED}); "
                "use corrected-repeated-kfold instead"
            )
        if method == "kfold":
            return (
                "the training sets of the folds overlap, which the naive k-fold t ignores: it found a difference between equal learners in "
                f"{FALSE_ALARMS[method]} of cases instead of 5% ({TRIED}); use corrected-repeated-kfold instead"
            )
        return (
            "approximate, as every test by cross-validation: training sets overlap, and no unbiased estimate of the variance exists; equal "
            f"learners gave p <= 0.05 in {FALSE_ALARMS[method]} of cases ({TRIED}); others may give it less often, as randomised forests do"
        )

    def warn_classes(self, names: Sequence[str], classes: npt.NDArray[np.int64] | None) -> None:
        """Classes that cannot be in every fold."""
        folds = self.scheme.folds
        if classes is None or folds is None:
            return
        many = np.bincount(classes, minlength=len(names))
        rare = [f"{name!r} ({count})" for name, count in zip(names, many.tolist(), strict=True) if count < folds]
        if rare:
            shown = ", ".join(rare[:5]) + (f" and {len(rare) - 5} more" if len(rare) > 5 else "")
            self.warnings.add(f"{len(rare)} class(es) have fewer items than there are folds, so that some folds lack them: {shown}")

    def _pass_on(self, outcomes: Sequence[Outcome]) -> None:
        """The learners' own warnings, each once, with how many splits it came from."""
        for side, name in enumerate(self.names):
            answers = [outcome.answers[side] for outcome in outcomes]
            heard = Counter(sentence for answer in answers if isinstance(answer, LearnerAnswer) for sentence in answer.said)
            for sentence, times in heard.most_common(3):
                self.warnings.add(f"{name} warned in {times} of {len(outcomes)} splits: {sentence}")

    def conclusion(self, found: SplitTest, mean: float, alternative: str) -> str:
        """One plain sentence."""
        baseline, candidate = self.names
        what = "models" if self.scheme.method == "disjoint-sets" else "learners"
        p = found.p_value
        if p is None:
            return f"The difference in {self.metric.name} cannot be judged: it is {mean:+.3g} without any spread over the splits."
        if found.note:
            return f"{candidate} and {baseline} scored the same {self.metric.name} in every split (p = 1)."
        shown = "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}" if p < 0.995 else "p = 1"
        about = "approximately" if self.scheme.method != "disjoint-sets" else "for these two models"
        if p > 1 - self.settings.confidence_level or mean == 0:
            if alternative != "two-sided":
                claim = f"the {self.metric.name} of {candidate} is {alternative} than that of {baseline}"
                return f"It was not shown that {claim} ({shown}, {about})."
            return f"The two {what} could not be told apart in {self.metric.name} ({shown}, {about}), which does not show them equal."
        better = "better" if (mean > 0) == self.metric.higher_is_better else "worse"
        doubt = "; this test finds differences too often" if self.scheme.naive else ""
        by = f"by {abs(mean):.3g} in {self.metric.name} on this kind of data"
        return f"{candidate} did {better} than {baseline} {by} ({shown}, {about}){doubt}."


def failed_where(failure: Mapping[str, Any]) -> str:
    """fold 3 of repeat 2, fitting GaussianNB"""
    return f"fold {failure['fold']} of repeat {failure['repeat']}, {failure['during']} {failure['learner']}"


IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@documented(
    OPTIONS,
    "a Comparison",
    baseline="A learner: anything with fit and predict.",
    candidate="The other learner.",
    X="The features, one row per item.",
    y="The target to predict, one value per item.",
    stratify='Keep the class proportions in every split: True, False, or "auto" for labels. Default: "auto".',
)
def compare_learners(
    baseline: Any,
    candidate: Any,
    X: Any,
    y: Any,
    *,
    metric: str = "accuracy",
    method: str = "corrected-repeated-kfold",
    folds: int | None = None,
    repeats: int | None = None,
    test_size: float | None = None,
    groups: Any = None,
    stratify: bool | str = "auto",
    positive: object = None,
    absent: str | None = None,
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
    side: str = "two",
    prior_scale: float | None = None,
    seed: int | None = 0,
    workers: int | None = None,
    names: Sequence[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Is the candidate a better learner than the baseline, on data like these? The difference is candidate minus baseline.

    Learners are scikit-learn estimators, or anything with fit and predict. method: corrected-repeated-kfold (10 times 10
    folds), corrected-resampled (30 splits, a tenth to test on), 5x2cv-t, 5x2cv-f, kfold (the textbook's, too sure of
    itself), disjoint-sets (both fitted once on half of the items, the other half in 10 sets: about the two models).
    Classes are stratified, groups stay whole. workers: at a time, by joblib (-1: all cores); the answer does not depend
    on it, unless a learner draws from a generator of its own.

    >>> class Always:
    ...     def __init__(self, label): self.label = label
    ...     def fit(self, X, y): return self
    ...     def predict(self, X): return [self.label] * len(X)
    >>> c = compare_learners(Always("a"), Always("b"), [[0.0]] * 100, ["a"] * 40 + ["b"] * 59 + ["c"], folds=3, repeats=2)
    >>> round(c.difference.estimate, 2), c.test.name
    (0.19, 'corrected-repeated-kfold')
    """
    settings = settle(
        confidence_level=confidence_level,
        side=side,
        seed=seed,
        prior_scale=prior_scale,
        positive=positive,
        absent=absent,
    )
    asked = CompareOptions(own=settings, alternative=check_alternative(alternative))
    quantity = parse(metric)
    within("repeats", repeats)
    scheme = settle_scheme(method, folds, repeats, test_size)
    if scheme.method == "5x2cv-f":
        crossval.check_two_sided(alternative)
    if prior_scale is not None and not scheme.corrected:
        raise UsageError(
            "prior_scale= is only used by methods that give P(candidate better), corrected-repeated-kfold and "
            f"corrected-resampled, not by {scheme.method}.",
            got=f"{prior_scale!r}",
            need="a method that gives P(candidate better): corrected-repeated-kfold or corrected-resampled",
            hint="leave it out",
        )
    learners = (as_learner(baseline, quantity, "first"), as_learner(candidate, quantity, "second"))
    called = _names(learners, names)
    n = count_rows(X)
    target = as_target(y, n)
    scorer = scorer_of(quantity, y if isinstance(y, (list, tuple)) else target, settings)
    classes = strata(stratify, scorer.classes, scheme, grouped=groups is not None)
    group = None if groups is None else group_codes(groups, n)
    splits = make_splits(scheme, n, settings.seed, classes, group)
    outcomes = evaluate(learners, X, target, splits, likelihood=scorer.likelihood, workers=_workers(workers), progress=progress)
    pieces, failures = pieces_of(outcomes, called)
    if scheme.method == "disjoint-sets":
        pieces = [part for piece in pieces for part in cut(piece, scheme, settings.seed, classes, group)]
    scored = [replace(p, scores=(scorer.score(p.rows, p.answers[0]), scorer.score(p.rows, p.answers[1]))) for p in pieces]
    used = [piece for piece in scored if None not in piece.scores]
    _refuse_too_few(used, scored, failures, scheme, quantity)
    first, second = (np.array([piece.scores[side] for piece in used], float) for side in (0, 1))
    delta = crossval.differences(first, second)
    found = judge(scheme, delta, [piece.split for piece in used], alternative, settings.confidence_level, settings.side)
    words = ComparisonSentences(metric=quantity, scheme=scheme, names=called, settings=settings, warnings=Warnings())
    words.warn(found, outcomes, sizes=[len(piece.rows) for piece in used], undefined=len(scored) - len(used), failures=failures)
    words.warn_classes(scorer.names, scorer.classes)
    return _comparison(found, first, second, delta, words, asked, _details(scheme, scorer, scored, failures, classes is not None, group), n)


def _comparison(
    found: SplitTest,
    first: FloatArray,
    second: FloatArray,
    delta: FloatArray,
    words: ComparisonSentences,
    asked: CompareOptions,
    details: dict[str, Any],
    n: int,
) -> Comparison:
    metric, scheme = words.metric, words.scheme
    span = metric.width
    interval = None
    if found.interval is not None:
        interval = interval_of(asked, *found.interval, scheme.interval, None if span is None else -span, span)
    mean = mean_of_known(delta)
    above = _believed(found, mean, asked, details)
    return Comparison(
        design="paired",
        metric=metric.name,
        n=n,
        higher_is_better=metric.higher_is_better,
        baseline=System(name=words.names[0], estimate=mean_of_known(first), interval=None),
        candidate=System(name=words.names[1], estimate=mean_of_known(second), interval=None),
        difference=Difference(estimate=mean, interval=interval, standard_error=found.standard_error or None),
        test=Test(
            name=scheme.method,
            alternative=asked.alternative,
            statistic=found.statistic,
            p_value=found.p_value,
            details=TestDetails(df=list(found.df), splits=len(delta), approximate=scheme.method != "disjoint-sets"),
        ),
        probability_candidate_better=None if above is None else above if metric.higher_is_better else 1 - above,
        mde=detectable(asked, found.standard_error),
        conclusion=words.conclusion(found, mean, asked.alternative),
        details=ComparisonDetails.of(details),
        warnings=tuple(words.warnings),
        signature=_sign(metric, scheme, asked, n, details, interval is not None),
    )


def _believed(found: SplitTest, mean: float, asked: CompareOptions, details: dict[str, Any]) -> float | None:
    """P(mean difference > 0): under the flat prior of the corrected t, or under the scale that was stated."""
    scale = asked.own.prior_scale
    if scale is None and found.probability_above is not None:
        details["prior_sd"] = None
    if scale is None or found.probability_above is None or not found.standard_error:
        return found.probability_above
    from steelyard_old.infer.posterior.prior_scale import estimate_above

    details["prior_scale"] = scale
    return estimate_above(mean, found.standard_error, scale, df=found.df[0])


# ---- before anything runs ----------------------------------------------------------------------------------------------


def as_learner(learner: Any, metric: Metric, place: str) -> Any:
    if isinstance(learner, type) or not all(callable(getattr(learner, name, None)) for name in ("fit", "predict")):
        hint = f"write {learner.__name__}()" if isinstance(learner, type) else "a scikit-learn estimator, or an object with both methods"
        got = f"the class {learner.__name__}" if isinstance(learner, type) else type(learner).__name__
        raise UsageError(
            f"The {place} learner must be an object with fit and predict, not {got}.",
            got=got,
            need="an object with fit and predict",
            hint=hint,
        )
    ways = ("predict_proba", "decision_function") if metric.ranks else ("predict_proba",)
    if metric.of_probabilities and not any(hasattr(learner, way) for way in ways):
        raise UsageError(
            f"{metric.name} needs class probabilities, and the {place} learner ({type(learner).__name__}) has no {' or '.join(ways)}.",
            got=f"{type(learner).__name__} without {' or '.join(ways)}",
            need="class probabilities",
            hint="SVC(probability=True), or another metric",
        )
    return learner


def _names(learners: tuple[Any, Any], given: Sequence[str] | None) -> tuple[str, str]:
    """The given names; else the classes of the learners, or how they are written where the classes are the same."""
    if given is not None:
        given = list(given)
        if len(given) != 2 or given[0] == given[1]:
            raise UsageError(
                f"The learners need two different names, the baseline's first, not {given!r}.",
                got=repr(given),
                need="two different names, the baseline's first",
            )
        return str(given[0]), str(given[1])
    kinds = tuple(type(learner).__name__ for learner in learners)
    written = tuple(" ".join(re.sub(r"\s+", " ", repr(learner)).split()) for learner in learners)
    for pair in (kinds, written):
        if pair[0] != pair[1] and max(map(len, pair)) <= 60 and " at 0x" not in pair[0] + pair[1]:
            return pair[0], pair[1]
    return f"baseline {kinds[0]}", f"candidate {kinds[1]}"


def as_target(y: Any, n: int) -> npt.NDArray[Any]:
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1 or len(target) != n:
        raise DataError(
            f"The features have {n} rows, but the target has shape {target.shape}.",
            got=f"{n} rows and a target of shape {target.shape}",
            need=f"{n} targets",
        )
    return target


def _workers(workers: int | None) -> int | None:
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or (workers < 1 and workers != -1)):
        raise UsageError("cannot use workers", got=repr(workers), need="a whole number of at least 1, or -1 for all cores")
    within("workers", workers)
    return workers


# ---- after everything ran ------------------------------------------------------------------------------------------------


def _refuse_too_few(
    used: Sequence[ScoredPart], scored: Sequence[ScoredPart], failures: Sequence[dict[str, Any]], scheme: Scheme, metric: Metric
) -> None:
    """Two splits are the least that have a spread; the 5x2cv tests need all ten."""
    least = 10 if scheme.method.startswith("5x2cv") else 2
    if len(used) >= least:
        return
    if failures:
        said = f"{len(failures)} failure(s), the first of {failed_where(failures[0])}: {failures[0]['error']}"
        raise DataError(
            f"Too few splits worked: {len(used)}, at least {least} are needed; {said}.",
            got=f"{len(used)} split(s) that worked and {said}",
            need=f"at least {least} splits",
        )
    raise DataError(
        f"{metric.name} is undefined in {len(scored) - len(used)} of {len(scored)} splits; at least {least} must define it.",
        got=f"{metric.name} undefined in {len(scored) - len(used)} of {len(scored)} splits",
        need=f"at least {least} splits where it is defined",
        hint="use fewer folds, or absent='zero' for averages over classes",
    )


def _details(
    scheme: Scheme,
    scorer: SplitScorer,
    scored: Sequence[ScoredPart],
    failures: list[dict[str, Any]],
    stratified: bool,
    groups: IntArray | None,
) -> dict[str, Any]:
    """What a reader may want next: the scheme, every split with its scores, the pooled tables, what failed."""
    rows = np.concatenate([piece.rows for piece in scored])
    said = [np.concatenate([piece.answers[side].prediction for piece in scored]) for side in (0, 1)]
    tables = [scorer.table(rows, LearnerAnswer(prediction)) for prediction in said]
    return {
        "design": "cross-validation",
        "method": scheme.method,
        "folds": scheme.folds,
        "repeats": scheme.repeats,
        "test_size": scheme.test_size,
        "stratified": stratified,
        "groups": None if groups is None else int(groups.max()) + 1,
        "splits": [
            {
                "repeat": piece.split.repeat,
                "fold": piece.split.fold,
                "n_train": len(piece.split.train),
                "n_test": len(piece.rows),
                "baseline": piece.scores[0],
                "candidate": piece.scores[1],
            }
            for piece in scored
        ],
        "tables": {role: table.to_dict() for role, table in zip(("baseline", "candidate"), tables, strict=True) if table is not None}
        or None,
        "failures": failures,
    }


def _sign(metric: Metric, scheme: Scheme, asked: CompareOptions, n: int, details: dict[str, Any], has_interval: bool) -> str:
    own = asked.own
    return signature.write(
        {
            "metric": metric.name,
            "positive": own.positive,
            "n": n,
            "design": "paired",
            "units": None if details["groups"] is None else f"{details['groups']} groups",
            "method": scheme.method,
            "folds": scheme.folds,
            "repeats": scheme.repeats,
            "test_size": scheme.test_size,
            "stratified": "yes" if details["stratified"] else "no",
            "interval": scheme.interval if has_interval else None,
            "alternative": asked.alternative,
            "level": own.confidence_level,
            "side": None if own.side == "two" else own.side,
            "prior_scale": own.prior_scale,
            "seed": own.seed,
            "absent": own.absent,
        }
    )
