"""Metrics of an order: does a higher score mean a positive? Tables of counts per distinct score, ties by halves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.floating] | npt.NDArray[np.integer]


def auc(positives: Numbers, negatives: Numbers) -> FloatArray:
    """Area under the ROC curve = P(a positive scores above a negative) + P(they tie)/2.

    Arguments are counts per distinct score in increasing order, shape (..., scores); many tables at once.
    Undefined: one class only (NaN). Reference: HanleyMcNeil1982; Bamber1975 for ties.

    >>> float(auc(np.array([0, 1, 2]), np.array([2, 1, 0])))
    0.9444444444444444
    """
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

    >>> round(float(average_precision(np.array([0, 1, 2]), np.array([2, 1, 0]))), 6)
    0.916667
    """
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

    >>> spearman(np.array([1.0, 2, 3, 4]), np.array([10.0, 20, 40, 30]))
    0.8
    """
    a, b = midranks(x), midranks(y)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else float("nan")


def midranks(x: FloatArray) -> FloatArray:
    """Ranks from 1, ties sharing their mean rank."""
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    out: FloatArray = (last - (count - 1) / 2)[place]
    return out
