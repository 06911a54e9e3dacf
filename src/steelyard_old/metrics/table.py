"""Metrics of a table of counts. All of them depend on four margins only, so they are arithmetic on those.

For class k write h_k for its hits (truth k, prediction k), t_k for its truths, p_k for its predictions, and n for all
items. Precision is h/p, recall h/t, F-beta (1+b^2) h / (b^2 t + p): each is a ratio of two forms that are linear in
(h, t, p, n). So one table of coefficients gives the value, the micro average (sum both forms, then divide) and the
gradient; macro and weighted averages follow.

Nothing here imports NumPy: the same arithmetic runs on Python integers for one table and on arrays for ten thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard_old.late_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

Form = tuple[float, float, float, float]  # coefficients of hits, truths, predictions, n


class Margins(NamedTuple):
    """The margins of one table or of many: arrays of shape (..., classes), n of shape (...).

    >>> import numpy as np
    >>> m = Margins(np.array([8.0, 9.0]), np.array([10.0, 10.0]), np.array([9.0, 11.0]), np.array(20.0))
    >>> float(accuracy(m))
    0.85
    """

    hit: Array
    truth: Array
    prediction: Array
    n: Array


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quantity of one class: numerator form over denominator form.

    `binomial` says that the numerator counts some of the items that the denominator counts, so that the ratio is a
    proportion k of n and every binomial interval applies. F1 is not, but it is a function of one that is (Jaccard).
    """

    numerator: Form
    denominator: Form
    binomial: bool = True

    def parts(self, hit: Any, truth: Any, prediction: Any, n: Any) -> tuple[Any, Any]:
        """(numerator, denominator); integers stay integers."""
        four = (hit, truth, prediction, n)
        return _form(self.numerator, four), _form(self.denominator, four)

    @property
    def share_of_truths(self) -> bool:
        """Whether it is the share of hits among the items that have the class as their truth: other classes rest on other items."""
        return (self.numerator, self.denominator) == ((1, 0, 0, 0), (0, 1, 0, 0))

    @property
    def of_predictions(self) -> bool:
        """Whether predictions decide which items are below the line."""
        return bool(self.denominator[2])

    @property
    def kinds_of_mistakes(self) -> int:
        """How many kinds of mistakes of a class are below the line: false alarms for precision, misses for recall, both for Jaccard."""
        _, of_truths, of_predictions, of_all = self.denominator
        return bool(of_predictions + of_all) + bool(of_truths + of_all)

    def of_rates(self, precision: float, recall: float) -> float:
        """Its value for a class of this precision and recall, if no true negatives enter: then p r hits of p truths and r predictions."""
        top, bottom = self.parts(precision * recall, precision, recall, 0)
        return float(top / bottom)

    def share_below(self, prevalence: float, hits: float = 0.0, false_alarms: float = 0.0) -> float:
        """The share of all items that lies below the line; hits and false alarms are shares of all items too."""
        of_hits, of_truths, of_predictions, of_all = self.denominator
        return (of_hits + of_predictions) * hits + of_truths * prevalence + of_predictions * false_alarms + of_all

    @property
    def pools_to_accuracy(self) -> bool:
        """Whether its micro average over all classes of single-label items is the accuracy: truths and predictions both sum to n."""
        hits, *others = self.numerator
        of_hits, of_truths, of_predictions, of_n = self.denominator
        return not any(others) and not of_hits and not of_n and of_truths + of_predictions == hits


def hits_and_false_alarms(prevalence: float, precision: float, recall: float) -> tuple[float, float]:
    """Both as shares of all items, where so many are of the class, and precision and recall are these. No reference: what they mean.

    >>> [round(share, 6) for share in hits_and_false_alarms(0.2, 0.8, 0.5)]
    [0.1, 0.025]
    """
    hits = prevalence * recall
    return hits, hits * (1 - precision) / precision


def _form(coefficients: Form, four: tuple[Any, Any, Any, Any]) -> Any:
    return sum(c * x for c, x in zip(coefficients, four, strict=True) if c)


def f_beta_ratio(beta: float) -> Ratio:
    """F-beta = (1+b^2) h / (b^2 t + p), van Rijsbergen's E turned round.

    Undefined: when the class has neither truths nor predictions (0/0).
    Reference: vanRijsbergen1979, chapter 7.

    >>> f_beta_ratio(1).parts(31, 33, 36, 100)
    (62, 69)
    """
    b2 = int(beta * beta) if float(beta * beta).is_integer() else beta * beta
    return Ratio((1 + b2, 0, 0, 0), (0, b2, 1, 0), binomial=False)


PRECISION = Ratio((1, 0, 0, 0), (0, 0, 1, 0))
RECALL = Ratio((1, 0, 0, 0), (0, 1, 0, 0))
SPECIFICITY = Ratio((1, -1, -1, 1), (0, -1, 0, 1))  # TN / (TN + FP), TN = n - t - p + h
NPV = Ratio((1, -1, -1, 1), (0, 0, -1, 1))
JACCARD = Ratio((1, 0, 0, 0), (-1, 1, 1, 0))
F1 = Ratio((2, 0, 0, 0), (0, 1, 1, 0), binomial=False)  # f_beta_ratio(1)


def accuracy(m: Margins) -> Array:
    """Share of items on the diagonal: sum_k h_k / n.

    Undefined: no items. Reference: Mitchell1997, section 5.2.

    >>> import numpy as np
    >>> float(accuracy(Margins(np.array([3.0]), np.array([4.0]), np.array([3.0]), np.array(4.0))))
    0.75
    """
    out: Array = m.hit.sum(-1) / m.n
    return out


def mcc(m: Margins) -> Array:
    """Matthews correlation of truth and prediction, for any number of classes (Gorodkin's R_K).

    Formula: (n c - sum t_k p_k) / sqrt((n^2 - sum p_k^2)(n^2 - sum t_k^2)), c the diagonal. Predictions outside the declared
    labels are one answer more, without a truth: their total joins sum p_k^2.
    Undefined: when all truths or all predictions are of one class (0/0); scikit-learn returns 0 there.
    Reference: Gorodkin2004, equation 8.

    >>> import numpy as np
    >>> round(float(mcc(Margins(np.array([8.0, 9.0]), np.array([10.0, 10.0]), np.array([9.0, 11.0]), np.array(20.0)))), 6)
    0.703526
    """
    import numpy as np

    n = m.n
    cross = n * m.hit.sum(-1) - (m.truth * m.prediction).sum(-1)
    strays = n - m.prediction.sum(-1)
    spread = (n * n - (m.prediction**2).sum(-1) - strays**2) * (n * n - (m.truth**2).sum(-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = np.where(spread > 0, cross / np.sqrt(np.maximum(spread, 0)), np.nan)
    return out


def kappa(m: Margins) -> Array:
    """Cohen's kappa: agreement beyond chance, (p_o - p_e) / (1 - p_e) with p_e = sum t_k p_k / n^2.

    Undefined: when chance agreement is 1, all truths and predictions of one class; scikit-learn returns NaN there.
    Reference: Cohen1960.

    >>> import numpy as np
    >>> round(float(kappa(Margins(np.array([8.0, 9.0]), np.array([10.0, 10.0]), np.array([9.0, 11.0]), np.array(20.0)))), 6)
    0.7
    """
    import numpy as np

    chance = (m.truth * m.prediction).sum(-1)
    room = m.n * m.n - chance
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = np.where(room > 0, (m.n * m.hit.sum(-1) - chance) / room, np.nan)
    return out


def per_class(ratio: Ratio, m: Margins) -> Array:
    """The ratio of every class, shape (..., classes); NaN where the denominator is 0. Reference: Sokolova2009.

    >>> import numpy as np
    >>> m = Margins(np.array([8.0, 9.0]), np.array([10.0, 10.0]), np.array([9.0, 11.0]), np.array(20.0))
    >>> per_class(RECALL, m)
    array([0.8, 0.9])
    """
    import numpy as np

    top, bottom = ratio.parts(m.hit, m.truth, m.prediction, np.asarray(m.n)[..., None])
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = np.where(bottom > 0, top / bottom, np.nan)
    return out


def average(ratio: Ratio, how: str, m: Margins, absent: str | None = None) -> Array:
    """macro: the simple mean over classes. weighted: by truths. micro: sum the forms over classes, then divide.

    A class whose ratio is undefined makes the macro and weighted averages undefined (NaN), unless `absent` says
    "skip" (leave it out) or "zero" (count it as 0, scikit-learn's habit).
    Reference: Sokolova2009, table 3; Opitz2019 on macro-F1 as the mean of F1s.

    >>> import numpy as np
    >>> m = Margins(np.array([8.0, 9.0]), np.array([10.0, 10.0]), np.array([9.0, 11.0]), np.array(20.0))
    >>> round(float(average(F1, "macro", m)), 6)
    0.849624
    """
    import numpy as np

    if how == "micro":
        top, bottom = ratio.parts(m.hit, m.truth, m.prediction, np.asarray(m.n)[..., None])
        bottom = bottom.sum(-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            pooled: Array = np.where(bottom > 0, top.sum(-1) / bottom, np.nan)
        return pooled
    values = per_class(ratio, m)
    weights = m.truth if how == "weighted" else np.ones_like(values)
    if absent is not None:
        undefined = np.isnan(values)
        values = np.where(undefined, 0.0, values)
        if absent == "skip":
            weights = np.where(undefined, 0.0, weights)
    # A class of weight 0 (weighted average, no truths) does not enter, whatever its value.
    total = weights.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = np.where(total > 0, np.where(weights > 0, values * weights, 0.0).sum(-1) / total, np.nan)
    return out


def accuracy_gradient(m: Margins) -> Margins:
    """d accuracy: 1/n for each hit, -accuracy/n for n."""
    import numpy as np

    zero = np.zeros_like(m.hit)
    n = np.asarray(m.n, float)
    return Margins(zero + 1 / n[..., None], zero, zero, -accuracy(m) / n)


def mcc_gradient(m: Margins) -> Margins:
    """d MCC by the margins: the quotient rule on n c - sum t p over sqrt(A B), A = n^2 - sum p^2, B = n^2 - sum t^2."""
    import numpy as np

    n = np.asarray(m.n, float)
    value = mcc(m)
    strays = n - m.prediction.sum(-1)
    a, b = n * n - (m.prediction**2).sum(-1) - strays**2, n * n - (m.truth**2).sum(-1)
    root = np.sqrt(a * b)
    of_truth = -m.prediction / root[..., None] + (value / b)[..., None] * m.truth
    of_prediction = -m.truth / root[..., None] + (value / a)[..., None] * (m.prediction - strays[..., None])
    of_n = m.hit.sum(-1) / root - value * ((n - strays) / a + n / b)
    return Margins(np.zeros_like(m.hit) + (n / root)[..., None], of_truth, of_prediction, of_n)


def kappa_gradient(m: Margins) -> Margins:
    """d kappa by the margins: chance agreement enters numerator and denominator alike."""
    import numpy as np

    n = np.asarray(m.n, float)
    value = kappa(m)
    room = n * n - (m.truth * m.prediction).sum(-1)
    slope = ((value - 1) / room)[..., None]
    return Margins(
        np.zeros_like(m.hit) + (n / room)[..., None], slope * m.prediction, slope * m.truth, (m.hit.sum(-1) - 2 * n * value) / room
    )


def ratio_gradient(ratio: Ratio, m: Margins, scale: Array, value: Array, bottom: Array) -> Margins:
    """scale x d(numerator/denominator) for every class: (numerator - value x denominator) / bottom, form by form."""
    of = [scale * (a - value * b) / bottom for a, b in zip(ratio.numerator, ratio.denominator, strict=True)]
    return Margins(of[0], of[1], of[2], of[3].sum(-1))


def class_gradient(ratio: Ratio, label: int, m: Margins) -> Margins:
    """d of one class's ratio."""
    import numpy as np

    chosen = np.zeros_like(m.hit)
    chosen[..., label] = 1.0
    _, bottom = ratio.parts(m.hit, m.truth, m.prediction, np.asarray(m.n, float)[..., None])
    bottom = np.where(chosen > 0, bottom + np.zeros_like(m.hit), 1.0)
    return ratio_gradient(ratio, m, chosen, np.nan_to_num(per_class(ratio, m)), bottom)


def average_gradient(ratio: Ratio, how: str, m: Margins, absent: str | None = None) -> Margins:
    """d of a macro, weighted or micro average. Reference: Takahashi2022 (macro-F1 is a case of it)."""
    import numpy as np

    zero = np.zeros_like(m.hit)
    _, bottom = ratio.parts(m.hit, m.truth, m.prediction, np.asarray(m.n, float)[..., None])
    bottom = bottom + zero
    if how == "micro":
        total = bottom.sum(-1, keepdims=True)
        return ratio_gradient(ratio, m, zero + 1.0, average(ratio, how, m)[..., None], zero + total)
    values = per_class(ratio, m)
    defined = ~np.isnan(values)
    weights = m.truth if how == "weighted" else zero + 1.0
    if absent == "skip":
        weights = np.where(defined, weights, 0.0)
    total = weights.sum(-1, keepdims=True)
    share = np.where(defined, weights / total, 0.0)
    out = ratio_gradient(ratio, m, share, np.nan_to_num(values), np.where(defined, bottom, 1.0))
    if how == "weighted":  # the weights t_k are data too
        shift = np.where(weights > 0, (np.nan_to_num(values) - average(ratio, how, m, absent)[..., None]) / total, 0.0)
        out = out._replace(truth=out.truth + shift)
    return out


@dataclass(frozen=True, slots=True)
class TableStatistic:
    """One number of a table with its gradient: what resampling and the delta method need to know of a metric."""

    value: Callable[[Margins], Any]
    gradient: Callable[[Margins], Margins]


def of_one_class(ratio: Ratio, label: int) -> TableStatistic:
    """The ratio of one class.

    >>> import numpy as np
    >>> m = Margins(np.array([8.0, 9.0]), np.array([10.0, 10.0]), np.array([9.0, 11.0]), np.array(20.0))
    >>> float(of_one_class(RECALL, 1).value(m))
    0.9
    """
    return TableStatistic(lambda m: per_class(ratio, m)[..., label], lambda m: class_gradient(ratio, label, m))


def of_average(ratio: Ratio, how: str, absent: str | None = None) -> TableStatistic:
    """The ratio of all classes, joined by an average: macro, micro or weighted."""
    return TableStatistic(lambda m: average(ratio, how, m, absent), lambda m: average_gradient(ratio, how, m, absent))


def _negated(m: Margins) -> Margins:
    return Margins(-m.hit, -m.truth, -m.prediction, -m.n)


SHARE_RIGHT = TableStatistic(accuracy, accuracy_gradient)
SHARE_WRONG = TableStatistic(lambda m: 1 - accuracy(m), lambda m: _negated(accuracy_gradient(m)))
