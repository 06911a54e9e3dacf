"""The number that a tool itself gives for a score: which metric of ours it is, whether ours agrees with it, or why none is it.

A mean of items is the rule, and a tool's own number is compared with it. Where the tool puts items together otherwise (a median,
a metric of the whole table, a formula of its own), the mean is another quantity: it is never measured unasked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from steelyard_old.errors import SteelyardError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse

CLOSE = 1e-6  # tools write their numbers in full; beyond this they are other numbers
OF_ITS_OWN = "a function of the task's own"
_MEANS = ("mean", "nanmean", "np.mean", "np.nanmean", "statistics.mean")
_AVERAGED = ("macro", "weighted", "micro")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNumber:
    """How the tool's own number can be had from the items: by which metric, and what is to be said of it; or why it cannot."""

    metric: str | None = None
    positive: str | None = None
    not_a_mean: str = ""
    said: Sequence[str] = ()


def number_or_none(value: Any) -> float | None:
    """A number of the tool, else None: "N/A", NaN and texts are none; what is beyond all measure is infinite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    return float(value) if abs(value) <= 1e300 else math.inf


def agree(ours: float, theirs: float) -> bool:
    """Equal but for rounding."""
    return math.isclose(ours, theirs, rel_tol=CLOSE, abs_tol=CLOSE)


def mean_of(scores: Iterable[float | None]) -> float | None:
    """The mean of the scores that are there; None if there are none, or if they are no finite numbers."""
    known = [score for score in scores if score is not None]
    if not known or not all(isinstance(score, (int, float)) and abs(score) <= 1e300 for score in known):  # nor is NaN
        return None
    return math.fsum(known) / len(known)


def own_mean(tool: str, score: str, scores: Iterable[float | None], theirs: Any, aggregation: str | None = None) -> OwnNumber:
    """Whether the mean of the scores is the tool's number, which may count what is missing as 0.

    aggregation: what the tool calls its own way of putting items together, if the log tells.

    >>> own_mean("HELM", "f1", [1, 0], 0.5) == own_mean("HELM", "f1", [1, None], 0.5) == OwnNumber()
    True
    >>> own_mean("lm-eval", "len", [3, 3, 4.5], 3.0, "median").not_a_mean
    "lm-eval puts 'len' together by median (3), and the mean of the items is 3.5"
    """
    told, scores = number_or_none(theirs), list(scores)
    ours = mean_of(scores)
    if aggregation is not None and aggregation not in _MEANS:
        if aggregation == OF_ITS_OWN and ours is not None and told is not None and agree(ours, told):
            return OwnNumber()  # a function that takes the mean
        value = "" if told is None else f" ({told:.6g})"
        mean = "" if ours is None else f", and the mean of the items is {ours:.6g}"
        return OwnNumber(not_a_mean=f"{tool} puts {score!r} together by {aggregation}{value}{mean}")
    with_zeros = mean_of(0 if each is None else each for each in scores)
    if told is None or ours is None or agree(ours, told) or (with_zeros is not None and agree(with_zeros, told)):
        return OwnNumber()
    differ = f"{tool}'s own number of {score!r} is {told:.6g}, and the mean of the items is {ours:.6g}"
    if aggregation is None:
        return OwnNumber(not_a_mean=f"{differ}: another way of putting items together, or items of another run")
    return OwnNumber(said=[f"{differ}: the items in the log are not those that it averaged"])


def own_metric_of_labels(tool: str, score: str, truth: Sequence[Any], prediction: Sequence[Any], theirs: Any) -> OwnNumber:
    """The metric of ours, and its positive class, that is the tool's number of these labels; or why none is it.

    >>> own_metric_of_labels("lm-eval", "mcc", [0, 1, 1], [0, 1, 0], 0.5).metric
    'mcc'
    >>> own_metric_of_labels("lm-eval", "f1", [0, 1, 1], [0, 1, 0], 0.9).not_a_mean
    "lm-eval gives 0.9 as 'f1', and the f1 of its labels is 0.666667"
    """
    pairs = [(a, b) for a, b in zip(truth, prediction, strict=True) if a is not None and b is not None]
    told, offered = number_or_none(theirs), _offered(score, {each for pair in pairs for each in pair})
    found = [(name, positive, _value(parse(name), positive, pairs)) for name, positive in offered]
    for name, positive, value in found:
        if told is None or (value is None and told == 0) or (value is not None and agree(value, told)):  # tools call what is undefined 0
            if told is None and len(found) > 1:
                break
            return OwnNumber(metric=name, positive=positive)
    if not found:
        return OwnNumber(not_a_mean=f"the log does not say how {tool} puts the labels of {score!r} together")
    if told is None:
        return OwnNumber(not_a_mean=f"the log does not say which {score} of several classes {tool} means")
    listed = ", ".join(f"the {name} of its labels is {'undefined' if value is None else f'{value:.6g}'}" for name, _, value in found)
    return OwnNumber(not_a_mean=f"{tool} gives {told:.6g} as {score!r}, and {listed}")


def _offered(score: str, labels: set[Any]) -> list[tuple[str, str | None]]:
    """What a name can mean: of one class, the class 1 of 0 and 1, as scikit-learn has it; of several, one of the averages."""
    try:
        metric = parse(score)
    except SteelyardError:
        return []
    if not metric.of_labels or metric.each_class:
        return []
    if not metric.of_class or metric.average is not None:
        return [(metric.name, None)]
    if labels <= {0, 1}:
        return [(metric.name, "1")]
    return [(f"{how}_{metric.name}", None) for how in _AVERAGED]


def _value(metric: Metric, positive: str | None, pairs: Sequence[tuple[Any, Any]]) -> float | None:
    import numpy as np

    from steelyard_old.metrics.table import Margins

    labels = sorted({each for pair in pairs for each in pair} | ({1} if positive is not None else set()))
    place = {label: i for i, label in enumerate(labels)}
    codes = np.array([[place[a], place[b]] for a, b in pairs], np.int64).reshape(-1, 2)
    size = len(labels)
    hit, truth, prediction = (
        np.bincount(one, minlength=size).astype(float) for one in (codes[codes[:, 0] == codes[:, 1], 0], codes[:, 0], codes[:, 1])
    )
    label = None if positive is None else place[int(positive)]
    found = metric.of_table(label)
    with np.errstate(all="ignore"):
        value = float(found.value(Margins(hit, truth, prediction, np.array(float(len(pairs))))))
    return None if math.isnan(value) else value
