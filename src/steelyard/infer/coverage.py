"""Actual coverage of an interval: the chance that it contains the truth, added up over every outcome."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Ends = Callable[[int], tuple[float, float]]


def binomial_coverage(ends: Ends, n: int, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(coverage, mean width) of an interval of a proportion, at each true share.

    Formula: coverage(p) = sum over k of C(n, k) p^k (1 - p)^(n - k) [low(k) <= p <= high(k)], width alike.
    Assumes: n independent items, each right with probability p.
    Undefined: never; shares lie strictly inside 0 and 1.
    Reference: BrownCaiDasGupta2001

    >>> from steelyard.infer.proportion import wilson
    >>> covered, _ = binomial_coverage(lambda k: wilson(k, 10), 10, np.array([0.9]))
    >>> round(float(covered[0]), 3)
    0.93
    """
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.arange(n + 1)
    low, high = np.array([ends(int(j)) for j in k]).T
    p = shares[:, None]
    chance = np.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p))
    return (chance * ((low <= p) & (p <= high))).sum(axis=1), chance @ (high - low)
