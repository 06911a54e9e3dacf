"""What a metric is: what each item adds, and what the totals mean. Value, influence and every interval and test follow from these two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from steelyard.data.items import View
from steelyard.data.rows import Rows

Array = npt.NDArray[Any]
Law = Literal["share", "mean", "smooth", "whole"]


def itself(value: Any) -> Any:
    """The number itself."""
    return value


def quotient(s: Array) -> Array:
    """The second total over the first."""
    with np.errstate(all="ignore"):
        return np.asarray(s[..., 1] / s[..., 0])


def pair(below: Any, above: Any) -> npt.NDArray[np.float64]:
    """Two columns: what is divided by, and what is divided."""
    return np.stack([np.broadcast_to(below, np.shape(above)), above], axis=1).astype(float)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One quantity.

    adds: what each item adds, (items, columns). value: totals (..., columns) to numbers (...), for complex totals too.
    law: share (0 or 1 over 0 or 1), mean (one number per item), smooth (any function of totals), whole (`of` all items at once).
    reads: the columns it needs; scored: a score of 0 or 1 serves as well as truth and prediction.
    low, high: what it can be. ends: what one item's number can be. up: whether high is good.
    outwards: from what `value` gives to the metric, increasing (F1 of the Jaccard index); inner: the name of that.
    margins: the columns are hits, truths and predictions of every class, and the number of items. gradient: of `value`, where classes
    are many. one_class: about one class. each: once for every class. usual: its interval over items, and over at most `few` of them.
    of: for a whole metric, see `metrics.whole`. belief: the closed form of what is believed of it: jaccard, f_beta (with its parameter)
    or shares (the mean of one share for each class). rest: it needs the items that are neither truly nor said to be of the class.
    in_groups: the same of the margins of its class, from which one knows what groups are worth.
    """

    name: str
    says: str = ""
    reads: tuple[str, ...] = ("truth", "prediction")
    adds: Callable[[View], Rows] = lambda v: pair(1.0, v.score)
    value: Callable[[Array], Array] = quotient
    law: Law = "smooth"
    scored: bool = False
    low: float | None = 0.0
    high: float | None = 1.0
    ends: tuple[float, float] | None = None
    up: bool = True
    outwards: Callable[[Any], Any] = itself
    inner: str = ""
    margins: bool = False
    gradient: Callable[[Array], Array] | None = None
    one_class: bool = False
    each: bool = False
    usual: str = "bca"
    few: tuple[int, str] = (0, "")
    of: Any = None
    belief: str = ""
    parameter: float = 0.0
    rest: bool = True
    in_groups: Metric | None = None
    undefined: str = "there is nothing to divide by"

    @property
    def of_labels(self) -> bool:
        """Whether it is a number of truths and predictions, which are labels."""
        return self.reads == ("truth", "prediction")

    @property
    def needs_classes(self) -> bool:
        """Whether it reads labels at all."""
        return "truth" in self.reads or "outcome" in self.reads

    @property
    def width(self) -> float:
        """How far apart two values can be; infinite where there is no end."""
        return np.inf if self.low is None or self.high is None else self.high - self.low
