"""Metrics of truths and predictions: accuracy, of one class, averages over classes, agreement.

For class k write h for its hits, t for its truths, p for its predictions, n for all items. Precision is h/p, recall h/t, F-beta
(1 + b^2) h / (b^2 t + p): each is a ratio of two forms that are linear in (h, t, p, n), so four numbers say each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from steelyard.base.arrays import FloatArray
from steelyard.base.problem import SteelyardError
from steelyard.data.items import View
from steelyard.data.rows import DENSE, Rows, Sparse
from steelyard.metrics.metric import Array, Metric, itself, pair

Form = tuple[float, float, float, float]  # how often h, t, p and n count
MOST_CLASSES = 5_000  # beyond them no average over classes is worked out
MANY_ROWS = 4_096  # from which rows are kept as their few entries until they are summed
AVERAGES = ("macro", "micro", "weighted", "each")


class Ratio(NamedTuple):
    """A quantity of one class: one form over another. share: the first counts some of the items that the second counts."""

    name: str
    says: str
    above: Form
    below: Form
    share: bool = True
    undefined: str = ""


PRECISION = Ratio("precision", "hits among the predictions of a class", (1, 0, 0, 0), (0, 0, 1, 0), True, "it was never predicted")
RECALL = Ratio("recall", "hits among the truths of a class", (1, 0, 0, 0), (0, 1, 0, 0), True, "it has no items")
SPECIFICITY = Ratio(
    "specificity", "right answers among the items of other classes", (1, -1, -1, 1), (0, -1, 0, 1), True, "no item is of another"
)
NPV = Ratio(
    "npv", "right answers among the items said to be of another class", (1, -1, -1, 1), (0, 0, -1, 1), True, "nothing else was predicted"
)
JACCARD = Ratio("jaccard", "hits among the items that are or were called the class", (1, 0, 0, 0), (-1, 1, 1, 0), True, "it never occurs")


def f_beta(beta: float) -> Ratio:
    """The harmonic mean of precision and of recall, which weighs beta times as much."""
    b2 = beta * beta
    name = "f1" if beta == 1 else f"fbeta:{beta:g}"
    says = "harmonic mean of precision and recall" if beta == 1 else f"F-measure in which recall weighs {beta:g} times"
    return Ratio(name, says, (1 + b2, 0, 0, 0), (0, b2, 1, 0), False, "it never occurs")


RATIOS = {ratio.name: ratio for ratio in (PRECISION, RECALL, SPECIFICITY, NPV, f_beta(1), JACCARD)}


def f1_of_jaccard(j: Any) -> Any:
    """F1 = 2J / (1 + J)."""
    return 2 * j / (1 + j)


def right(v: View) -> FloatArray:
    """1 for every item, and 1 for every item that is right."""
    if "score" not in v.columns:
        return pair(1.0, v.truth == v.prediction)
    if not ((v.score == 0) | (v.score == 1)).all():
        raise SteelyardError("accuracy needs scores that are all 0 or 1; there are others.", hint="ask for metric=mean")
    return pair(1.0, v.score)


def wrong(v: View) -> FloatArray:
    """The same of what is wrong."""
    rows = right(v)
    rows[:, 1] = 1 - rows[:, 1]
    return rows


def of_class(ratio: Ratio) -> Metric:
    """A ratio of one class, over the items alone that count for it."""
    inner = JACCARD if ratio.name == "f1" else ratio  # F1 is a function of a share of items, and an interval is found for that

    def adds(v: View) -> FloatArray:
        t, p = v.truth == v.positive, v.prediction == v.positive
        four = (t & p).astype(float), t.astype(float), p.astype(float), 1.0
        below, above = (sum(c * x for c, x in zip(form, four, strict=True) if c) for form in (inner.below, inner.above))
        return pair(below, above)

    def margins_of_one(v: View) -> FloatArray:
        t, p = v.truth == v.positive, v.prediction == v.positive
        return np.stack([t & p, t, p, np.ones(v.n)], 1).astype(float)

    def value(s: Array) -> Array:
        above, below = _forms(ratio, s)
        with np.errstate(all="ignore"):
            return np.asarray((above / below)[..., 0])

    mapped = inner is not ratio
    facts: dict[str, Any] = {
        "name": ratio.name,
        "says": ratio.says,
        "one_class": True,
        "undefined": ratio.undefined,
        "belief": "f_beta" if ratio.name.startswith("f") else "jaccard" if ratio is JACCARD else "",
        "parameter": ratio.below[1] ** 0.5,
        "rest": bool(ratio.below[3] or ratio.above[3]),
    }
    return Metric(
        **facts,
        adds=adds,
        law="share" if inner.share else "smooth",
        outwards=f1_of_jaccard if mapped else itself,
        inner="jaccard" if mapped else "",
        in_groups=Metric(**facts, adds=margins_of_one, value=value, margins=True),
    )


def pooled(ratio: Ratio) -> Metric:
    """The micro average: all classes are one table, in which every mistake stands twice, so it is seen through what is right."""
    b2 = ratio.below[1] if ratio.name.startswith("f") else 1.0

    def adds(v: View) -> FloatArray:
        known = v.prediction < v.classes
        below = known if ratio.name == "precision" else 1.0 if ratio.name == "recall" else (b2 + known) / (1 + b2)
        return pair(below, v.truth == v.prediction)

    if ratio.name in ("specificity", "npv"):
        raise SteelyardError(f"micro_{ratio.name} says nothing that accuracy does not.", hint=f"macro_{ratio.name}, or accuracy")
    through = ratio.name == "jaccard"
    return Metric(
        name=f"micro_{ratio.name}",
        says=f"{ratio.says}, pooled over the classes",
        adds=adds,
        law="share",
        outwards=(lambda a: a / (2 - a)) if through else itself,
        inner="accuracy" if through else "",
    )


# ---- averages over the classes -----------------------------------------------------------------------------------------------------


def margins(v: View) -> Rows:
    """Hits, truths and predictions of every class, and 1."""
    k, n, item = v.classes, v.n, np.arange(v.n)
    if k > MOST_CLASSES:
        hint = "accuracy and micro averages stay"
        raise SteelyardError(f"{k:,} classes are too many for an average over them.", hint=hint, code="classes")
    truth, said = v.truth.astype(np.int64), v.prediction.astype(np.int64)
    hit = np.flatnonzero(truth == said)
    inside, guessed = (item[codes < k] for codes in (truth, said))
    row = np.concatenate([hit, inside, guessed, item])
    column = np.concatenate([truth[hit], k + truth[inside], 2 * k + said[guessed], np.full(n, 3 * k)])
    if 3 * k + 1 > DENSE or n >= MANY_ROWS:
        return Sparse((n, 3 * k + 1), row, column, np.ones(len(row)))
    rows = np.zeros((n, 3 * k + 1))
    rows[row, column] = 1.0
    return rows


def _four(s: Array) -> tuple[Array, Array, Array, Array]:
    k = (s.shape[-1] - 1) // 3
    return s[..., :k], s[..., k : 2 * k], s[..., 2 * k : 3 * k], s[..., 3 * k :]


def _forms(ratio: Ratio, s: Array) -> tuple[Array, Array]:
    four = _four(s)
    above, below = (sum(c * x for c, x in zip(form, four, strict=True) if c) for form in (ratio.above, ratio.below))
    return np.asarray(above), np.asarray(below)


def _shares(ratio: Ratio, how: str, absent: str | None, s: Array) -> tuple[Array, Array, Array]:
    """Value and weight of every class, and what the value was divided by."""
    above, below = _forms(ratio, s)
    with np.errstate(all="ignore"):
        value = np.where(below > 0, above / below, np.nan)
    weight = _four(s)[1] if how == "weighted" else np.ones_like(value)
    if absent is not None:
        if absent == "skip":
            weight = np.where(np.isnan(value), 0.0, weight)
        value = np.nan_to_num(value)
    return value, weight, below


def average(ratio: Ratio, how: str, absent: str | None, s: Array) -> Array:
    """The mean over the classes: simple, or weighted by truths. A class of weight 0 does not enter, whatever its value."""
    value, weight, _ = _shares(ratio, how, absent, s)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(weight > 0, value * weight, 0.0).sum(-1) / weight.sum(-1))


def average_gradient(ratio: Ratio, how: str, absent: str | None, s: Array) -> Array:
    """Its gradient. Reference: Takahashi2022."""
    value, weight, below = _shares(ratio, how, absent, s)
    value = np.where(weight > 0, value, 0.0)
    with np.errstate(all="ignore"):
        scale = np.where((weight > 0) & (below > 0), weight / weight.sum(-1, keepdims=True) / below, 0.0)
    of = [scale * (a - value * b) for a, b in zip(ratio.above, ratio.below, strict=True)]
    if how == "weighted":  # the weights are data too
        total = weight.sum(-1, keepdims=True)
        of[1] = of[1] + np.where(weight > 0, (value - (value * weight).sum(-1, keepdims=True) / total) / total, 0.0)
    return np.concatenate([*of[:3], of[3].sum(-1, keepdims=True)], -1)


def averaged(ratio: Ratio, how: str, absent: str | None = None) -> Metric:
    """A ratio averaged over the classes. absent: what a class without cases does: skip it, or count it as zero; else there is no value."""
    if how == "micro":
        return pooled(ratio)
    name = "balanced_accuracy" if how == "balanced" else f"{how}_{ratio.name}"
    if how == "weighted" and ratio is RECALL:  # the share of all items that are right, said in another way
        return Metric(name=name, says=ratio.says, adds=right, law="share", scored=False)
    kind = "weighted" if how == "weighted" else "macro"
    return Metric(
        name=name,
        says=f"{ratio.says}, {'weighted by truths' if how == 'weighted' else 'mean over the classes'}",
        adds=margins,
        value=partial(average, ratio, kind, absent),
        gradient=partial(average_gradient, ratio, kind, absent),
        margins=True,
        belief="shares" if ratio is RECALL and kind == "macro" else "",
        undefined="a class has no case: it " + (ratio.undefined.removeprefix("it ") or "is undefined"),
    )


def mcc(s: Array) -> Array:
    """Matthews correlation of truth and prediction, any number of classes. Predictions outside of the classes are one answer more.

    Reference: Gorodkin2004, equation 8.
    """
    hit, t, p, n = _four(s)
    n = n[..., 0]
    room = (n * n - (p * p).sum(-1) - (n - p.sum(-1)) ** 2) * (n * n - (t * t).sum(-1))
    with np.errstate(all="ignore"):
        return np.where(room.real > 0, (n * hit.sum(-1) - (t * p).sum(-1)) / np.sqrt(np.where(room.real > 0, room, 1.0)), np.nan)


def mcc_gradient(s: Array) -> Array:
    """Its gradient: the quotient rule, since the complex step would take a pass for each of many classes."""
    hit, t, p, n = _four(s)
    k, n = len(hit), n[0]
    strays = n - p.sum()
    of_predictions, of_truths = n * n - float(p @ p) - strays**2, n * n - float(t @ t)
    with np.errstate(all="ignore"):
        root = np.sqrt(of_predictions * of_truths)
        value = (n * hit.sum() - float(t @ p)) / root
        truth = -p / root + value * t / of_truths
        said = -t / root + value * (p - strays) / of_predictions
        every = hit.sum() / root - value * ((n - strays) / of_predictions + n / of_truths)
        return np.concatenate([np.full(k, n / root), truth, said, [every]])


def kappa(s: Array) -> Array:
    """Cohen's kappa: agreement beyond chance. Reference: Cohen1960."""
    hit, t, p, n = _four(s)
    n = n[..., 0]
    chance = (t * p).sum(-1)
    room = n * n - chance
    with np.errstate(all="ignore"):
        return np.where(room.real > 0, (n * hit.sum(-1) - chance) / np.where(room.real > 0, room, 1.0), np.nan)


def _agreement(name: str, says: str, value: Callable[[Array], Array], undefined: str, gradient: Any = None) -> Metric:
    return Metric(name=name, says=says, adds=margins, value=value, gradient=gradient, low=-1.0, margins=True, undefined=undefined)


ACCURACY = Metric(name="accuracy", says="share of items that are right", adds=right, law="share", scored=True, ends=(0.0, 1.0))
ERROR = Metric(name="error", says="share of items that are wrong", adds=wrong, law="share", scored=True, ends=(0.0, 1.0), up=False)
MCC = _agreement("mcc", "Matthews correlation of truth and prediction", mcc, "all truths or all predictions are of one class", mcc_gradient)
KAPPA = _agreement("kappa", "Cohen's kappa: agreement beyond chance", kappa, "all truths and predictions are of one class")
