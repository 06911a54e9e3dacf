"""Which metrics are a proportion in disguise: k of n items, seen through an increasing function.

Accuracy is right of all, precision is hits of predictions. F1 is 2J/(1+J) of the Jaccard index J, which is hits of
(TP + FP + FN). Recall weighted by truths is accuracy, and a micro average over all classes of single-label items is a
function of it. For all of these a
binomial interval, mapped, is an interval of the metric: closed form, no resampling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from steelyard.metrics.catalogue import Metric
from steelyard.metrics.table import F1, JACCARD, RATIOS, Ratio, f_beta_ratio
from steelyard.tally.counts import Counts
from steelyard.tally.sums import SparseRows

ACCURACY = Ratio((1, 0, 0, 0), (0, 0, 0, 1))
ERROR = Ratio((-1, 0, 0, 1), (0, 0, 0, 1))


def identity(p: float) -> float:
    return p


def f1_of_jaccard(j: float) -> float:
    """F1 = 2J / (1 + J), increasing. Reference: GoutteGaussier2005 (their Gamma ratio is this map of a Beta).

    >>> f1_of_jaccard(0.5)
    0.6666666666666666
    """
    return 2 * j / (1 + j)


@dataclass(frozen=True, slots=True)
class Proportion:
    """k of n as a ratio of margins (of one class, or summed over classes), and the map to the metric."""

    ratio: Ratio
    label: int | None
    to_metric: Callable[[float], float] = identity
    through: str = "itself"  # "itself", "jaccard" or "accuracy": what the binomial interval is taken on
    exact: Ratio | None = None  # the metric itself as one division of whole numbers, where the map would cost a last bit

    def of(self, counts: Counts) -> tuple[int, int]:
        """(k, n) of a table, in whole numbers."""
        four = counts.pooled_margins() if self.label is None else counts.class_margins(self.label)
        return self.ratio.parts(*four)

    def value(self, counts: Counts) -> float | None:
        """The metric of a table; None where there is nothing to divide by."""
        k, n = self.of(counts)
        if not n:
            return None
        if self.exact is not None and self.label is not None:
            top, bottom = self.exact.parts(*counts.class_margins(self.label))
            return float(top / bottom)
        return float(self.to_metric(k / n))

    def of_rows(self, rows: Any, classes: int) -> tuple[Any, Any]:
        """(k_g, n_g) of every unit, from rows of margins [hits, truths, predictions, weight]."""
        first, width = (0, classes) if self.label is None else (self.label, 1)
        four = [_part(rows, i * classes + first, i * classes + first + width) for i in range(3)]
        return self.ratio.parts(four[0], four[1], four[2], _part(rows, 3 * classes, 3 * classes + 1))


def _part(rows: Any, start: int, stop: int) -> Any:
    if isinstance(rows, SparseRows):
        return rows.part(start, stop)
    return rows[:, start:stop].sum(1) if stop - start > 1 else rows[:, start]


def as_proportion(metric: Metric, counts: Counts, label: int | None) -> Proportion | None:
    """How the metric is a proportion of this table, or None if it is not one.

    >>> from steelyard.metrics.catalogue import parse
    >>> as_proportion(parse("f1"), Counts.binary(tp=31, fp=5, fn=2), 1).of(Counts.binary(tp=31, fp=5, fn=2))
    (31, 38)
    """
    of_hits = metric.base not in ("specificity", "npv")  # these have nothing below the line when there is one class
    if counts.classes == 1 and of_hits and (metric.average in ("macro", "weighted") or metric.base == "balanced_accuracy"):
        label = 0  # an average over one class is that class
        metric = Metric(name=metric.name, base="recall" if metric.base == "balanced_accuracy" else metric.base, parameter=metric.parameter)
    if metric.base in ("accuracy", "mean") or (metric.base == "recall" and metric.average == "weighted"):
        return Proportion(ACCURACY, None)
    if metric.base == "error":
        return Proportion(ERROR, None)
    if label is not None and metric.base == "f1":
        return Proportion(JACCARD, label, f1_of_jaccard, "jaccard", F1)
    if label is not None and metric.base in RATIOS:
        return Proportion(RATIOS[metric.base], label)
    if metric.average == "micro" and counts.classes == len(counts.labels) and (counts.classes > 1 or of_hits):
        ratio = f_beta_ratio(metric.beta) if metric.base == "fbeta" else RATIOS[metric.base]
        classes = counts.classes

        def pooled(accuracy: float) -> float:
            # Over all classes of single-label items the truths and the predictions both sum to n.
            top, bottom = ratio.parts(accuracy, 1, 1, classes)
            return float(top / bottom)

        return Proportion(ACCURACY, None, pooled, "accuracy")
    return None


def why_undefined(metric: Metric, label: str | None) -> str:
    """What is missing when the denominator of a metric is 0, in words."""
    of_class = {
        "precision": "the class was never predicted (TP + FP = 0)",
        "recall": "no item has the class as its truth (TP + FN = 0)",
        "specificity": "every item has the class as its truth (TN + FP = 0)",
        "npv": "every item was predicted as the class (TN + FN = 0)",
        "f1": "the class occurs neither in the truth nor in the predictions (TP + FP + FN = 0)",
        "jaccard": "the class occurs neither in the truth nor in the predictions (TP + FP + FN = 0)",
        "fbeta": "the class occurs neither in the truth nor in the predictions (TP + FP + FN = 0)",
        "mcc": "all truths or all predictions are of one class",
        "kappa": "all truths and all predictions are of one class",
        "balanced_accuracy": "a class has no items",
    }
    if metric.average in ("macro", "weighted"):
        return f"{metric.base} is undefined for at least one class; say what to do with --absent skip or --absent zero"
    return of_class.get(metric.base, "there is nothing to divide by")
