"""Metrics of all items at once: how well scores order the items, quantiles, and anybody's function of truths and predictions.

Such a metric has no totals. It gives its number for any weights of the rows, which is all that redrawing and exchanging need; those
of an order have influence values of their own, their placements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.base.arrays import FloatArray
from steelyard.base.problem import SteelyardError
from steelyard.data.items import View
from steelyard.metrics.metric import Array, Metric

FEW_DRAWS = 1_000  # of a function that is called once for each


@dataclass(frozen=True, kw_only=True)
class Whole:
    """number: its value for each row of weights, (draws, rows); None: every row once.

    effects: value and influence of every row, where it has them, whose sum is 0 in each class. trials: of how many items of the rarer
    class a miss is counted. both: whether the spread of either class counts, or that of the positives alone. exchanges: the column
    that two systems may exchange. draws: at most so many.
    """

    number: Callable[[View, FloatArray | None], FloatArray]
    exchanges: str
    effects: Callable[[View], tuple[float, FloatArray]] | None = None
    trials: Callable[[int, int], float] = lambda positives, negatives: 2.0 * min(positives, negatives)
    both: bool = True
    fisher: bool = False
    draws: int = 10_000


def _by_score(v: View, weight: FloatArray | None) -> tuple[Array, Array]:
    """Positives and negatives at each distinct score, from the lowest, for each row of weights."""
    each = np.ones((1, v.n)) if weight is None else np.atleast_2d(weight)
    if v.count is not None and weight is None:
        each = each * v.count
    order = np.argsort(v.probability, kind="stable")
    starts = np.flatnonzero(np.diff(v.probability[order], prepend=-np.inf) > 0)
    rows = each[:, order]
    y = v.outcome[order]
    return np.add.reduceat(rows * y, starts, axis=1), np.add.reduceat(rows * (1 - y), starts, axis=1)


def auc(v: View, weight: FloatArray | None = None) -> FloatArray:
    """P(a positive scores above a negative) + P(they tie) / 2. Reference: HanleyMcNeil1982."""
    if weight is None and v.count is None:
        positive = v.outcome > 0
        return np.array([placements(v.probability, positive)[positive].mean() if positive.any() else np.nan])
    p, q = _by_score(v, weight)
    with np.errstate(all="ignore"):
        return np.asarray((p * (np.cumsum(q, -1) - q / 2)).sum(-1) / (p.sum(-1) * q.sum(-1)))


def placements(score: FloatArray, positive: Array) -> FloatArray:
    """Of every item the share of the other class that it is ranked right against, ties by halves. Reference: DeLong1988."""
    order = np.argsort(score)
    ranked, mine = score[order], positive[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    ends = np.append(starts[1:], len(score))

    def before(those: Array) -> Array:  # how many of those lie below each score, ties by halves
        upto = np.cumsum(those)[ends - 1]
        return np.repeat((np.append(0, upto[:-1]) + upto) / 2, ends - starts)

    positives, negatives = int(mine.sum()), int((~mine).sum())
    out = np.empty(len(score))
    out[order] = np.where(mine, before(~mine) / max(1, negatives), (positives - before(mine)) / max(1, positives))
    return out


def auc_effects(v: View) -> tuple[float, FloatArray]:
    """The area, and by how much the placement of every item lies beside it."""
    positive = v.outcome > 0
    place = placements(v.probability, positive)
    area = float(place[positive].mean())
    return area, (place - area) / np.where(positive, positive.sum(), (~positive).sum())


def average_precision(v: View, weight: FloatArray | None = None) -> FloatArray:
    """The sum over thresholds of the gain in recall times precision, no interpolation. Reference: Manning2008, section 8.4."""
    p, q = _by_score(v, weight)
    hits = np.cumsum(p[..., ::-1], -1)[..., ::-1]
    called = hits + np.cumsum(q[..., ::-1], -1)[..., ::-1]
    with np.errstate(all="ignore"):
        return np.asarray(np.where(called > 0, p * hits / called, 0.0).sum(-1) / p.sum(-1))


def average_precision_effects(v: View) -> tuple[float, FloatArray]:
    """The number, and what every item adds to it at first order."""
    (p,), (q,) = _by_score(v, None)
    hits = np.cumsum(p[::-1])[::-1]
    called = hits + np.cumsum(q[::-1])[::-1]
    total = p.sum()
    value = float((p * hits / called).sum() / total)
    lost, gained = np.cumsum(p * hits / called**2), np.cumsum(p / called)  # by one more item at or above each threshold
    place = np.searchsorted(np.unique(v.probability), v.probability)
    return value, np.where(v.outcome > 0, (hits / called + gained - lost - value)[place], -lost[place]) / total


def midranks(x: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Ranks, ties sharing their mean rank, where each number occurs as often as its weight."""
    _, place = np.unique(x, return_inverse=True)
    often = np.bincount(place.ravel(), weight)
    found: FloatArray = (np.cumsum(often) - (often - 1) / 2)[place.ravel()]
    return found


def spearman(v: View, weight: FloatArray | None = None) -> FloatArray:
    """Pearson's correlation of the mid-ranks. Reference: Spearman1904."""
    out = []
    for w in [np.ones(v.n) if v.count is None else v.count.astype(float)] if weight is None else weight:
        x, y = (midranks(column, w) for column in (v.truth_value, v.prediction_value))
        x, y = x - np.average(x, weights=w), y - np.average(y, weights=w)
        scale = math.sqrt(float(w @ (x * x)) * float(w @ (y * y)))
        out.append(float(w @ (x * y)) / scale if scale > 0 else math.nan)
    return np.array(out)


def quantile(q: float) -> Callable[[View, FloatArray | None], FloatArray]:
    """The quantile of scores, between neighbours by a straight line."""

    def number(v: View, weight: FloatArray | None) -> FloatArray:
        order = np.argsort(v.score, kind="stable")
        each = np.ones((1, v.n)) if weight is None else np.atleast_2d(weight)
        often = np.cumsum((each if v.count is None or weight is not None else each * v.count)[:, order], axis=1)
        at = (often[:, -1] - 1) * q
        under = np.floor(at)
        low, high = (v.score[order][np.minimum((often <= k[:, None]).sum(1), v.n - 1)] for k in (under, np.ceil(at)))
        return np.asarray(low + (high - low) * (at - under))

    return number


def calls(function: Callable[[Any, Any], float]) -> Callable[[View, FloatArray | None], FloatArray]:
    """The numbers of a function of truths and predictions, called with every row as often as it counts."""

    def number(v: View, weight: FloatArray | None) -> FloatArray:
        rows = [np.arange(v.n)] if weight is None else [np.repeat(np.arange(v.n), w.astype(np.int64)) for w in weight]
        found = []
        for some in rows:
            value = function(v.truth_raw[some], v.prediction_raw[some])
            try:
                found.append(math.nan if value is None else float(value))
            except (TypeError, ValueError):
                raise SteelyardError(f"The metric function must return one number, not {value!r:.60}.") from None
        return np.array(found)

    return number


AUC = Metric(
    name="auc",
    says="area under the ROC curve",
    reads=("outcome", "probability"),
    law="whole",
    of=Whole(number=auc, exchanges="probability", effects=auc_effects),
    undefined="there is one class only",
)
AVERAGE_PRECISION = Metric(
    name="average_precision",
    says="area under precision against recall",
    reads=("outcome", "probability"),
    law="whole",
    of=Whole(
        number=average_precision,
        exchanges="probability",
        effects=average_precision_effects,
        trials=lambda positives, negatives: float(positives),
        both=False,
    ),
    undefined="there are no positives",
)
SPEARMAN = Metric(
    name="spearman",
    says="rank correlation of numbers",
    reads=("truth_value", "prediction_value"),
    law="whole",
    low=-1.0,
    of=Whole(number=spearman, exchanges="prediction_value", fisher=True, draws=FEW_DRAWS),
    undefined="the truths or the predictions do not vary",
)
ORDERS = (AUC, AVERAGE_PRECISION, SPEARMAN)


def quantile_metric(name: str, q: float) -> Metric:
    """The median, or another quantile of the scores."""
    return Metric(
        name=name,
        says=f"{q:g} quantile of the scores",
        reads=("score",),
        law="whole",
        low=None,
        high=None,
        of=Whole(number=quantile(q), exchanges="score"),
    )


def function_metric(function: Callable[[Any, Any], float], name: str = "") -> Metric:
    """A function of (truth, prediction) that gives a number."""
    own = name or getattr(function, "__name__", "metric")
    whole = Whole(number=calls(function), exchanges="prediction_raw", draws=FEW_DRAWS)
    return Metric(name=own, reads=("truth_raw", "prediction_raw"), law="whole", low=None, high=None, of=whole)
