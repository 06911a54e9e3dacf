"""Which metrics are a proportion in disguise: k of n items, seen through an increasing function.

Accuracy is right of all, precision is hits of predictions. F1 is 2J/(1+J) of the Jaccard index J, which is hits of
(TP + FP + FN). Recall weighted by truths is accuracy, and a micro average over all classes of single-label items is a
function of it. For all of these a
binomial interval, mapped, is an interval of the metric: closed form, no resampling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.table import Ratio
from steelyard_old.tally.counts import Counts
from steelyard_old.tally.sums import SparseRows

RIGHT = Ratio((1, 0, 0, 0), (0, 0, 0, 1))
WRONG = Ratio((-1, 0, 0, 1), (0, 0, 0, 1))


def identity(p: float) -> float:
    """No reference: the number itself."""
    return p


def f1_of_jaccard(j: float) -> float:
    """F1 = 2J / (1 + J), increasing. Reference: GoutteGaussier2005 (their Gamma ratio is this map of a Beta).

    >>> f1_of_jaccard(0.5)
    0.6666666666666666
    """
    return 2 * j / (1 + j)


def jaccard_of_f1(f1: float) -> float:
    """J = F1 / (2 - F1), the inverse of `f1_of_jaccard`.

    >>> round(jaccard_of_f1(2 / 3), 6)
    0.5
    """
    return f1 / (2 - f1)


def width_of_f1(low: Any, high: Any) -> Any:
    """How far apart in F1 two Jaccard indices are, without the cancellation of 2 high / (1 + high) - 2 low / (1 + low).

    >>> round(width_of_f1(0.5, 0.8), 6)
    0.222222
    """
    return 2 * (high - low) / ((1 + high) * (1 + low))


@dataclass(frozen=True, slots=True)
class Proportion:
    """k of n as a ratio of margins (of one class, or summed over classes), and the map to the metric."""

    ratio: Ratio
    label: int | None
    to_metric: Callable[[float], float] = identity
    through: str | None = None  # what the binomial interval is taken on, where that is not the metric itself: jaccard, accuracy
    exact: Ratio | None = None  # the metric itself as one division of whole numbers, where the map would cost a last bit

    @property
    def mapped_class(self) -> bool:
        """Whether it is of one class, seen through a function: F1 through Jaccard."""
        return self.label is not None and self.through is not None

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
