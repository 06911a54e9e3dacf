"""Metrics of an order: does a higher score mean a positive? Tables of counts per distinct score, ties by halves.

Each metric is one object, listed in RANKING. NumPy is loaded by the arithmetic, not by the objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.base import Family, Metric

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.floating] | npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingMetric(Metric):
    """A number of an order.

    of_counts: its value, from the positives and the negatives at each distinct score. intervals: the methods offered, the default
    first, then its plain part, which names the variance; in_groups: the same two for items in groups, where it has any.
    """

    of_counts: Callable[[Numbers, Numbers], FloatArray]
    intervals: tuple[str, ...]
    in_groups: tuple[str, ...] = ()
    ranks: bool = True

    family: ClassVar[Family] = "ranking"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCorrelation(Metric):
    """How two columns of numbers order the items."""

    of_columns: Callable[[FloatArray, FloatArray], float]
    intervals: tuple[str, ...]

    family: ClassVar[Family] = "ranking"


def auc(positives: Numbers, negatives: Numbers) -> FloatArray:
    """Area under the ROC curve = P(a positive scores above a negative) + P(they tie)/2.

    Arguments are counts per distinct score in increasing order, shape (..., scores); many tables at once.
    Undefined: one class only (NaN). Reference: HanleyMcNeil1982; Bamber1975 for ties.

    >>> import numpy as np
    >>> float(auc(np.array([0, 1, 2]), np.array([2, 1, 0])))
    0.9444444444444444
    """
    import numpy as np

    p, q = np.asarray(positives, float), np.asarray(negatives, float)
    below = np.cumsum(q, -1) - q
    pairs = p.sum(-1) * q.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: FloatArray = np.where(pairs > 0, (p * (below + q / 2)).sum(-1) / pairs, np.nan)
    return out


def average_precision(positives: Numbers, negatives: Numbers) -> FloatArray:
    """Sum over thresholds of (gain in recall) x precision, no interpolation.

    Formula: AP = sum_j (p_j / P) x (positives at or above j) / (all at or above j), thresholds at distinct scores.
    Undefined: no positives (NaN). Reference: Manning2008, section 8.4; scikit-learn's definition.

    >>> import numpy as np
    >>> round(float(average_precision(np.array([0, 1, 2]), np.array([2, 1, 0]))), 6)
    0.916667
    """
    import numpy as np

    p, q = np.asarray(positives, float), np.asarray(negatives, float)
    hits = np.cumsum(p[..., ::-1], -1)[..., ::-1]
    called = hits + np.cumsum(q[..., ::-1], -1)[..., ::-1]
    total = p.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = np.where(called > 0, p * hits / called, 0.0).sum(-1)
        out: FloatArray = np.where(total > 0, gain / total, np.nan)
    return out


def spearman(x: FloatArray, y: FloatArray) -> float:
    """Spearman's rank correlation: Pearson's of the mid-ranks. NaN when one side is constant. Reference: Spearman1904.

    >>> import numpy as np
    >>> spearman(np.array([1.0, 2, 3, 4]), np.array([10.0, 20, 40, 30]))
    0.8
    """
    import numpy as np

    a, b = midranks(x), midranks(y)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else float("nan")


def midranks(x: FloatArray) -> FloatArray:
    """Ranks from 1, ties sharing their mean rank. Reference: Spearman1904."""
    import numpy as np

    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    out: FloatArray = (last - (count - 1) / 2)[place]
    return out


SPEARMAN = RankCorrelation(
    base="spearman",
    says="rank correlation of numbers",
    low=-1.0,
    numeric=True,
    comparable=False,
    undefined="the truths or the predictions do not vary",
    of_columns=spearman,
    intervals=("fisher-z",),
)
AUC = RankingMetric(
    base="auc",
    aliases=("roc_auc",),
    says="area under the ROC curve",
    needs=("truth", "probability"),
    of_counts=auc,
    intervals=("delong-wilson", "delong", "percentile", "bca"),
    in_groups=("delong-wilson", "delong"),
)
AVERAGE_PRECISION = RankingMetric(
    base="average_precision",
    aliases=("ap",),
    says="area under precision against recall",
    needs=("truth", "probability"),
    comparable=False,
    of_counts=average_precision,
    intervals=("delta-wilson", "delta", "percentile", "bca"),
)
RANKING = (SPEARMAN, AUC, AVERAGE_PRECISION)
