"""Differences made sharper by what is on record: a reference averaged over its runs, or known on a larger pool (CUPED)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError, UsageError

FloatArray = npt.NDArray[np.float64]
FEWEST = 30  # items before a slope is estimated; until then it is 1, which is pairing


def slope_of(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The slope of one run's scores on another's, item by item, held within 0..1: 1 is pairing, 0 is no use of the reference.

    Formula: cov(first, second) / var(second). From two reference runs on record it is known before a run begins.
    Undefined: a reference that does not vary; its slope is 1. Reference: Deng2013; Cochran1977, section 7.2.

    >>> slope_of([1, 1, 0, 0, 1, 0, 1, 1], [1, 1, 0, 0, 1, 0, 0, 1])
    0.75
    """
    y, f = np.asarray(first, float).ravel(), np.asarray(second, float).ravel()
    if len(y) != len(f) or not len(y):
        raise DataError(
            f"The two sides have {len(y)} and {len(f)} scores; they must have the same items.",
            got=f"{len(y)} and {len(f)} scores",
            need="the same items on both sides",
        )
    away = f - f.mean()
    spread = float(away @ away)
    return float(np.clip(away @ y / spread, 0.0, 1.0)) if spread > 0 else 1.0


def adjusted_differences(candidate: npt.ArrayLike, reference: npt.ArrayLike, pool_mean: float, slope: float | None = None) -> FloatArray:
    """Differences against a reference known on the whole pool: pairing and pool in the proportion that varies least.

    `candidate` and `reference` are the scores of the items asked so far, `pool_mean` the mean of the reference over all of
    the pool they were drawn from at random. Formula: d_i = (y_i - F) - slope (f_i - F), F the pool mean: their mean is the
    difference of the means over the pool for any slope; slope 1 is pairing. The variance is least at cov(y, f) / var(f).
    `slope` fixed beforehand (`slope_of` two reference runs) leaves the differences independent, and the error rates
    those of the rule they are given to; None estimates it from the items so far (1 below 30 items), asymptotically as good.
    Assumes: items drawn from the pool at random. Claims: the difference over the pool. Reference: Deng2013.

    >>> adjusted_differences([1.0, 0.0], [1.0, 1.0], 0.75, slope=0.8).round(3).tolist()
    [0.05, -0.95]
    """
    y, f = np.asarray(candidate, float).ravel(), np.asarray(reference, float).ravel()
    if len(y) != len(f):
        raise DataError(
            f"The two sides have {len(y)} and {len(f)} scores; they must have the same items.",
            got=f"{len(y)} and {len(f)} scores",
            need="the same items on both sides",
        )
    if slope is not None and not 0 <= slope <= 1:
        raise UsageError("cannot adjust the differences", got=f"slope {slope!r}", need="a number from 0 to 1")
    b = (slope_of(y, f) if len(y) >= FEWEST else 1.0) if slope is None else slope
    return np.asarray((y - pool_mean) - b * (f - pool_mean))
