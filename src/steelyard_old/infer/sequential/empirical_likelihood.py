"""The empirical likelihood of a mean on a known range: what the nearest law with that mean, unseen values included, makes of the data.

The law may put mass on the ends of the range though nobody has seen them there, so that a total failure that has not happened
yet is not taken to be impossible. For right or wrong it is the likelihood of counts; with much noise it is z^2 / 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.posterior.beta import find_root

FloatArray = npt.NDArray[np.float64]
INSIDE = 1e-12  # of its range: how near the multiplier comes to an end
STEPS = 200  # of Newton or bisection at most; five are usual
ENOUGH = 1e-16  # nats that a further step could gain


def counted(values: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The distinct values to twelve digits, and how often each occurs. Reference: Owen1988.

    >>> [part.tolist() for part in counted([0.5, 0.0, 0.5])]
    [[0.0, 0.5], [1.0, 2.0]]
    """
    found, counts = np.unique(np.round(np.asarray(values, float), 12), return_counts=True)
    return found, counts.astype(np.float64)


def evidence_against(values: FloatArray, counts: FloatArray, drop: float, low: float = -1.0, high: float = 1.0) -> float:
    """How much worse the nearest law on low..high with mean -drop explains the values than they explain themselves, in nats.

    Formula: max over l in [-1 / (high + drop), 1 / (-low - drop)] of sum counts ln(1 + l (values + drop)). The sum is concave in
    l; Newton's steps are kept inside a bracket. Undefined: a mean outside low..high. Reference: Owen1988; HondaTakemura2010.

    >>> round(evidence_against(np.array([0.0]), np.array([96.0]), 0.02), 9)  # -96 ln(1 - .02)
    1.939459902
    """
    _check(values, (drop,), low, high)
    return _evidence(values, counts, drop, low, high)


def _check(values: FloatArray, drops: tuple[float, ...], low: float, high: float) -> None:
    for drop in drops:
        if not low < -drop < high:
            raise UsageError(
                f"The mean must lie strictly between {low:g} and {high:g}, not at {-drop:g}.",
                got=f"{-drop:g}",
                need=f"a mean strictly between {low:g} and {high:g}",
            )
    if len(values) and not (low <= values.min() and values.max() <= high):
        raise UsageError(
            f"The values must lie between {low:g} and {high:g}; these go from {values.min():g} to {values.max():g}.",
            got=f"values from {values.min():g} to {values.max():g}",
            need=f"values from {low:g} to {high:g}",
        )


def _evidence(values: FloatArray, counts: FloatArray, drop: float, low: float, high: float) -> float:
    away = values + drop
    slope = float(counts @ away)
    if slope == 0:
        return 0.0
    # The root of the derivative lies on the side of its value at 0, or beyond the end of the range.
    side = 1.0 if slope > 0 else -1.0
    near, far = 0.0, (1 / (-low - drop) if slope > 0 else -1 / (high + drop)) * (1 - INSIDE)
    at, unseen = slope / float((counts * away) @ away), True
    for _ in range(STEPS):
        if side * at >= side * far:
            if unseen and side * _slope(away, counts, far) >= 0:
                at = far
                break
            unseen, at = False, (near + far) / 2
        ratio = away / (1 + at * away)
        slope = float(counts @ ratio)
        curvature = float((counts * ratio) @ ratio)
        if slope * slope <= ENOUGH * curvature:
            break
        near, far = (at, far) if side * slope > 0 else (near, at)
        at += slope / curvature
        if side * at <= side * near:
            at = (near + far) / 2
    return float(counts @ np.log1p(at * away))


def _slope(away: FloatArray, counts: FloatArray, at: float) -> float:
    return float(counts @ (away / (1 + at * away)))


def log_ratio(values: FloatArray, counts: FloatArray, theta: float, margin: float = 0.0, low: float = -1.0, high: float = 1.0) -> float:
    """Lambda: how much better a drop of `margin` explains the values than one of theta, in nats; 0 is no drop.

    Reference: Owen1988.

    >>> round(log_ratio(np.array([-1.0, 0.0, 1.0]), np.array([5.0, 380.0, 5.0]), 0.02), 9)
    2.512505683
    """
    _check(values, (theta, margin), low, high)
    return _evidence(values, counts, theta, low, high) - _evidence(values, counts, margin, low, high)


def lower_end(values: FloatArray, counts: FloatArray, alpha: float = 0.05, low: float = -1.0, high: float = 1.0) -> float:
    """The least mean that the values do not speak against with ln(1 / alpha) nats: a lower end that holds after looks.

    Formula: -theta*, evidence_against(theta*) = ln(1 / alpha); without differences 1 - alpha^(1/n) below them.
    Reference: Owen1988; Wald1947.

    >>> round(lower_end(np.array([0.0]), np.array([96.0])), 6)  # alpha^(1/96) - 1
    -0.030724
    """
    return -_edge(lambda drop: evidence_against(values, counts, drop, low, high), -float(counts @ values / counts.sum()), -low, alpha)


def upper_end(values: FloatArray, counts: FloatArray, alpha: float = 0.05, low: float = -1.0, high: float = 1.0) -> float:
    """The mirror of `lower_end`. Reference: Owen1988.

    >>> round(upper_end(np.array([0.0]), np.array([96.0])), 6)
    0.030724
    """
    return -lower_end(-values[::-1], counts[::-1], alpha, -high, -low)


def _edge(evidence: Callable[[float], float], mean: float, end: float, alpha: float) -> float:
    """The drop between that of the mean and the end of the range against which there is ln(1 / alpha); the end if there is none."""
    need = -math.log(alpha)
    nearest, farthest = mean + INSIDE * (end - mean), end - INSIDE * (end - mean)
    if not nearest < farthest or evidence(farthest) <= need:
        return end
    return find_root(lambda drop: evidence(drop) - need, nearest, farthest)
