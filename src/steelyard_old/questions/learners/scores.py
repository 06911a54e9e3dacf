"""What a learner's answers on the test rows of one split are worth, by any metric that answers can be scored with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.rows import class_of
from steelyard_old.evaluate.learners.folds import LearnerAnswer
from steelyard_old.infer.resampling.bootstrap import Cells
from steelyard_old.items import Labels
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.ranking import RankCorrelation, RankingMetric
from steelyard_old.metrics.sums import SumsMetric
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.read.columns import as_column
from steelyard_old.read.encode import Distinct, check_matching, check_spelling, text_of
from steelyard_old.tally.counts import Counts
from steelyard_old.tally.design import count_labels
from steelyard_old.tally.scores import tally_scores

IntArray = npt.NDArray[np.int64]


class SplitScorer(Protocol):
    """Scores of one split. `classes` are the codes to stratify by, None for numbers."""

    classes: IntArray | None
    names: tuple[str, ...]
    likelihood: bool

    def score(self, rows: IntArray, answer: LearnerAnswer) -> float | None:
        """The metric on these rows; None where it is undefined."""

    def table(self, rows: IntArray, answer: LearnerAnswer) -> Counts | None:
        """Truth x prediction on these rows; None for numbers."""


def scorer_of(metric: Metric, target: Any, settings: MeasureOptions) -> SplitScorer:
    """The scorer of a metric for this target, or an error that says why there is none."""
    if not metric.learnable:
        raise UsageError(
            f"Cannot compare learners by {metric.name}: it "
            f"{'is one number per class' if metric.each_class else 'needs other columns than truths and predictions'}.",
            got="several numbers" if metric.each_class else "a metric of other columns",
            need="one number of truths and predictions",
            hint="accuracy, macro_f1, mcc, f1 with positive=, auc, brier; mae, rmse, r2 for numbers",
        )
    if not len(target):
        raise DataError("No items to learn from: the target is empty.", got="an empty target", need="items with a target")
    if metric.numeric:
        assert isinstance(metric, SumsMetric | RankCorrelation)
        return NumberScorer(metric, target)
    column = LabelColumn.of(target)
    if metric.of_labels:
        return TableScorer(metric, column, settings)
    assert isinstance(metric, SumsMetric | RankingMetric)
    return LikelihoodScorer(metric, column, settings)


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """The target as labels."""

    labels: Labels
    found: Distinct
    names: tuple[str, ...]
    classes: IntArray

    @classmethod
    def of(cls, target: Any) -> LabelColumn:
        column = as_column("target", target)
        labels, found = column.encode()
        check_spelling("target", found)
        if missing := int((labels.codes < 0).sum()):
            raise _missing(missing)
        if found.kinds == {"float"} and not all(float(name).is_integer() for name in found.names):
            raise UsageError(
                f"The target looks like numbers, not labels ({len(found.names)} values such as {found.names[0]}).",
                got=f"{len(found.names)} numbers such as {found.names[0]}",
                need="labels, or a metric of numbers",
                hint="use metric mae, rmse, r2 or spearman",
            )
        whole = count_labels(labels, labels)
        if whole.classes < 2:
            raise DataError(
                f"The target has only one label: {whole.labels[0]!r}.",
                got=f"one label in the target: {whole.labels[0]!r}",
                need="at least two",
            )
        code = {name: i for i, name in enumerate(whole.labels)}
        dense = np.array([code.get(name, -1) for name in labels.names], np.int64)[labels.codes]
        return cls(labels, found, whole.labels, dense)

    def counts(self, rows: IntArray, prediction: npt.NDArray[Any]) -> Counts:
        """The table of some rows; the classes are those of the whole target, whichever of them these rows have."""
        said, found = as_column("prediction", prediction).encode()
        check_matching({"target": self.found, "prediction": found})
        if (said.codes < 0).any():
            raise DataError(
                f"{int((said.codes < 0).sum())} predictions are missing.",
                got=f"{int((said.codes < 0).sum())} missing",
                need="a label for every item",
            )
        if not set(self.names) & set(found.names):
            raise DataError(
                f"No prediction is a label of the target: {len(found.names)} different ones, such as {found.names[0]!r}.",
                got=f"{len(found.names)} prediction(s) such as {found.names[0]!r}, none of them a label of the target",
                need="labels",
                hint="a learner of numbers needs metric mae, rmse, r2 or spearman",
            )
        return count_labels(Labels(self.labels.raw[rows], self.labels.names, self.labels.base), said, self.names)


class TableScorer:
    """Metrics of a confusion table: accuracy, F, MCC, kappa, averages."""

    likelihood = False

    def __init__(self, metric: Metric, column: LabelColumn, settings: MeasureOptions) -> None:
        self.metric, self.column, self.settings = metric, column, settings
        self.classes: IntArray | None = column.classes
        self.names = column.names
        self.label = class_of(metric, count_labels(column.labels, column.labels), settings)

    def score(self, rows: IntArray, answer: LearnerAnswer) -> float | None:
        counts = self.column.counts(rows, answer.prediction)
        proportion = self.metric.proportion(counts, self.label)
        if proportion is not None:
            return proportion.value(counts)
        return _defined(self.metric.of_table(self.label, self.settings.absent).value(Cells(counts).observed()))

    def table(self, rows: IntArray, answer: LearnerAnswer) -> Counts | None:
        return self.column.counts(rows, answer.prediction)


class LikelihoodScorer:
    """Metrics of how likely the positive class was said to be."""

    likelihood = True

    def __init__(self, metric: SumsMetric | RankingMetric, column: LabelColumn, settings: MeasureOptions) -> None:
        self.metric, self.column = metric, column
        self.classes: IntArray | None = column.classes
        self.names = column.names
        self.positive = _positive(column.names, settings.positive)
        self.truth = column.classes == column.names.index(self.positive)

    def score(self, rows: IntArray, answer: LearnerAnswer) -> float | None:
        known = [text_of(label) for label in answer.classes]
        if answer.likelihood is None or self.positive not in known:
            return None  # the training part had no such class
        said, truth = answer.likelihood[:, known.index(self.positive)], self.truth[rows]
        _refuse_unfinished(said, "probabilities")
        if isinstance(self.metric, RankingMetric):  # any score that ranks will do; the others need probabilities
            table = tally_scores(said, truth)
            return _defined(self.metric.of_counts(table.positives, table.negatives))
        if ((said < 0) | (said > 1)).any():
            raise DataError(
                f"{self.metric.name} needs probabilities from predict_proba, and got values outside 0 and 1.",
                got="values outside 0 and 1",
                need="probabilities from predict_proba",
                hint="use auc",
            )
        return _defined(self.metric.of_columns(said, truth.astype(float)))

    def table(self, rows: IntArray, answer: LearnerAnswer) -> Counts | None:
        return self.column.counts(rows, answer.prediction)


class NumberScorer:
    """Errors of numbers: mae, rmse, r2, rank correlation."""

    classes: IntArray | None = None
    names: tuple[str, ...] = ()
    likelihood = False

    def __init__(self, metric: SumsMetric | RankCorrelation, target: Any) -> None:
        self.metric, self.truth = metric, as_column("target", target).numbers()
        if missing := int(np.isnan(self.truth).sum()):
            raise _missing(missing)

    def score(self, rows: IntArray, answer: LearnerAnswer) -> float | None:
        try:
            said = np.asarray(answer.prediction, float)
        except (TypeError, ValueError):
            raise DataError(
                f"{self.metric.name} needs predictions that are numbers, and got {str(answer.prediction[0])[:40]!r}.",
                got=f"a prediction of {str(answer.prediction[0])[:40]!r}",
                need="a number for every item",
                hint="a learner of labels needs metric accuracy, macro_f1 or another one of labels",
            ) from None
        _refuse_unfinished(said, "predictions")
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large for a number has no score
            return _defined(self.metric.of_columns(self.truth[rows], said))

    def table(self, rows: IntArray, answer: LearnerAnswer) -> Counts | None:
        return None


def _refuse_unfinished(said: npt.NDArray[Any], what: str) -> None:
    """NaN and infinity are no answers; a split without them would flatter the learner that gave them."""
    if gone := int((~np.isfinite(said)).sum()):
        raise DataError(
            f"{gone} of {len(said)} {what} in a test set are NaN or infinite.",
            got=f"{gone} of {len(said)} {what} that are NaN or infinite",
            need="a number for every item",
            hint="look at the learner: features that are missing or very large often give this",
        )


def _defined(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def _positive(names: tuple[str, ...], wanted: str | None) -> str:
    if wanted is None:
        wanted = next((one for zero, one in (("0", "1"), ("False", "True"), ("0.0", "1.0"), ("-1", "1")) if names == (zero, one)), None)
    if wanted is None or wanted not in names:
        shown = ", ".join(map(repr, names[:12])) + (" ..." if len(names) > 12 else "")
        raise UsageError(
            f"Say which class the probability is for: the labels are {shown}.",
            got=f"labels {shown}" + ("" if wanted is None else f" and positive {wanted!r}"),
            need="the positive class",
            hint="name it with positive=LABEL",
        )
    return wanted


def _missing(many: int) -> DataError:
    return DataError(
        f"{many} {'item has' if many == 1 else 'items have'} no target.",
        got=f"{many} item(s) without a target",
        need="a target for every item",
    )
