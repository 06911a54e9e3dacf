"""Metrics of numbers: means of scores and of losses, errors, ratios of sums, several tries of a problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.base.arrays import FloatArray
from steelyard.base.problem import SteelyardError
from steelyard.data.items import View
from steelyard.metrics.metric import Array, Metric, pair, quotient

BINS = 10  # of the calibration error


def number(v: View) -> FloatArray:
    """The score of every item."""
    return pair(1.0, v.score)


def probability(v: View) -> FloatArray:
    """The probabilities, checked."""
    p: FloatArray = v.probability
    if outside := int(((p < 0) | (p > 1)).sum()):
        raise SteelyardError(f"{outside:,} probabilities lie outside 0 and 1.", hint="auc and average_precision take any score")
    return p


def squared_error_of_probability(v: View) -> FloatArray:
    """The squared distance of the probability from what came."""
    return pair(1.0, (probability(v) - v.outcome) ** 2)


def minus_log_likelihood(v: View) -> FloatArray:
    """Minus the logarithm of the probability of what came."""
    p = probability(v)
    with np.errstate(divide="ignore"):
        return pair(1.0, -np.log(np.where(v.outcome > 0, p, 1 - p)))


def calibration(v: View) -> FloatArray:
    """Probability minus what came, in the column of its bin; the last bin includes 1."""
    p = probability(v)
    rows = np.zeros((v.n, 1 + BINS))
    rows[:, 0] = 1
    rows[np.arange(v.n), 1 + np.minimum((p * BINS).astype(np.int64), BINS - 1)] = p - v.outcome
    return rows


def sum_of_sizes(s: Array) -> Array:
    """The bins' sizes over the number of items; a size is its number times its sign, so that complex totals have one."""
    with np.errstate(all="ignore"):
        seen = np.where(np.abs(s[..., 1:].real) > 1e-12 * np.abs(s[..., :1]), s[..., 1:].real, 0.0)  # what only rounding leaves is none
        return np.asarray((s[..., 1:] * np.sign(seen)).sum(-1) / s[..., 0])


def absolute_error(v: View) -> FloatArray:
    """The distance of the prediction from the truth."""
    return pair(1.0, np.abs(v.prediction_value - v.truth_value))


def squared_error(v: View) -> FloatArray:
    """Its square."""
    return pair(1.0, (v.prediction_value - v.truth_value) ** 2)


def root(s: Array) -> Array:
    """The root of a mean."""
    with np.errstate(all="ignore"):
        return np.asarray(np.sqrt(quotient(s)))


def variance_and_error(v: View) -> FloatArray:
    """What R^2 is made of; it does not depend on where the truths start, and its sums of squares lose digits if they start far off."""
    y = v.truth_value - (v.truth_value.mean() if v.count is None else np.average(v.truth_value, weights=v.count))
    return np.stack([np.ones(v.n), y, y * y, (v.prediction_value - v.truth_value) ** 2], 1)


def explained(s: Array) -> Array:
    """The share of the variance that the errors leave out; a resample of one distinct value has only rounding around its mean."""
    with np.errstate(all="ignore"):
        around = s[..., 2] - s[..., 1] ** 2 / s[..., 0]
        room = around.real > 1e-12 * np.abs(s[..., 2])
        return np.where(room, 1 - s[..., 3] / np.where(room, around, 1.0), np.nan)


def above_below(v: View) -> FloatArray:
    """What is divided by, and what is divided."""
    if (v.below < 0).any() or not v.below.sum() > 0:
        raise SteelyardError("The column below the line must have numbers of 0 or more, not all 0.", hint="ratio:ABOVE/BELOW")
    return pair(v.below, v.above)


def exponential(x: Any) -> Any:
    """e to the x; infinite where no float holds it."""
    with np.errstate(over="ignore"):
        return np.exp(x)


def tries(v: View, k: int, every: bool) -> FloatArray:
    """Of every problem the unbiased chance that some (or all) of k tries are right, from how many of how many were.

    Reference: Chen2021, equation 1; Yao2024.
    """
    few = int((v.tries < k).sum())
    if few:
        raise SteelyardError(f"{few:,} problems have fewer than {k} tries.", hint=f"pass@{int(v.tries.min())} is the most there is")
    some, chance = (v.right if every else v.tries - v.right), np.ones(v.n)
    for i in range(k):  # C(some, k) / C(tries, k) as a product: no factorial overflows
        chance *= np.maximum(some - i, 0) / (v.tries - i)
    return pair(1.0, chance if every else 1 - chance)


MEAN = Metric(name="mean", says="mean score", reads=("score",), adds=number, law="mean", low=None, high=None)
BRIER = Metric(
    name="brier",
    says="mean squared error of the probability",
    reads=("outcome", "probability"),
    adds=squared_error_of_probability,
    law="mean",
    ends=(0.0, 1.0),
    up=False,
)
LOG_LOSS = Metric(
    name="log_loss",
    says="mean of minus the log likelihood",
    reads=("outcome", "probability"),
    adds=minus_log_likelihood,
    law="mean",
    high=None,
    up=False,
    undefined="a probability of exactly 0 or 1 was given to an item that turned out otherwise",
)
ECE = Metric(
    name="ece",
    says="expected calibration error, ten equal bins",
    reads=("outcome", "probability"),
    adds=calibration,
    value=sum_of_sizes,
    usual="studentized",  # biased, with a spread that depends on it: the others cover next to nothing where it is small
    up=False,
)
MAE = Metric(
    name="mae", says="mean absolute error", reads=("truth_value", "prediction_value"), adds=absolute_error, law="mean", high=None, up=False
)
RMSE = Metric(
    name="rmse",
    says="root of the mean squared error",
    reads=("truth_value", "prediction_value"),
    adds=squared_error,
    value=root,
    high=None,
    up=False,
    few=(1000, "studentized"),  # beyond, BCa is the same but for 1% of its width, and cheaper
)
R2 = Metric(
    name="r2",
    says="share of the variance explained",
    reads=("truth_value", "prediction_value"),
    adds=variance_and_error,
    value=explained,
    low=None,
    undefined="the truths do not vary",
)
RATIO = Metric(
    name="ratio",
    says="sum of one column over the sum of another, ratio:ABOVE/BELOW",
    reads=("below", "above"),
    adds=above_below,
    low=None,
    high=None,
    usual="percentile",
    up=False,
)
PERPLEXITY = Metric(
    name="perplexity",
    says="exp of minus the log likelihood over the words, perplexity:ABOVE/BELOW",
    reads=("below", "above"),
    adds=above_below,
    low=1.0,
    high=None,
    usual="percentile",
    outwards=exponential,
    inner="ratio",
    up=False,
)
NUMBERS = (MEAN, BRIER, LOG_LOSS, ECE, MAE, RMSE, R2, RATIO, PERPLEXITY)


def pass_at(k: int, every: bool) -> Metric:
    """The chance that one (or, with `every`, each) of k tries of a problem is right."""
    return Metric(
        name=f"pass{'^' if every else '@'}{k}",
        says=f"chance that {'all' if every else 'one'} of {k} tries {'are' if every else 'is'} right",
        reads=("right", "tries"),
        adds=lambda v: tries(v, k, every),
        law="mean",
        ends=(0.0, 1.0),
    )
