"""The power law error = a + b n^-c of a learning curve, fitted to points: one curve, or thousands of redrawn ones at once.

Errors are turned so that down is good and 0 is the floor: 1 - accuracy, or a loss as it is. For a given c the curve is
linear in a and b, so the fit is a search over c alone, with a and b in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
STEEPEST, FLATTEST = 5.0, 0.02  # beyond them a curve is a step, or cannot be told from a constant
_GRID = np.geomspace(FLATTEST, STEEPEST, 60)
_GOLDEN = (math.sqrt(5) - 1) / 2
_HALVINGS = 45
_NEAR = 1e-3  # of the bracket: where the root of the slope is looked for, around what golden section has found


@dataclass(frozen=True, slots=True, eq=False)
class PowerLaws:
    """Curves error = a + b (n / unit)^-c, one per entry. `a` is the asymptote, `misfit` the weighted sum of squares left over."""

    a: FloatArray
    b: FloatArray
    c: FloatArray
    unit: float
    misfit: FloatArray

    def error(self, n: float) -> FloatArray:
        """The error at a training size.

        >>> fit_power_law([1, 2, 4, 8, 16], [1.1, 0.6, 0.35, 0.225, 0.1625]).error(32).round(5)
        array([0.13125])
        """
        return np.asarray(self.a + self.b * (n / self.unit) ** -self.c)

    def size(self, error: float) -> FloatArray:
        """The training size at which the error is reached; infinite where it never is.

        >>> fit_power_law([1, 2, 4, 8, 16], [1.1, 0.6, 0.35, 0.225, 0.1625]).size(0.15).round(6)
        array([20.])
        """
        room = error - self.a
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            ratio = np.where(room > 0, self.b / room, np.inf)
            return np.asarray(self.unit * ratio ** (1 / self.c))

    @property
    def scale(self) -> FloatArray:
        """b for n counted in items, as in a + b n^-c."""
        return np.asarray(self.b * self.unit**self.c)


def fit_power_law(sizes: npt.ArrayLike, errors: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> PowerLaws:
    """The learning curve through points, by weighted least squares: one curve, or one per row of errors.

    Formula: minimise sum_j w_j (e_j - a - b n_j^-c)^2 over a >= 0, b >= 0 and c from .02 to 5. For each c the best a, b are
    those of a straight line, or of its edges a = 0 and b = 0 (variable projection); c by 60 values, then golden
    section to five digits, then bisection of the slope, whose root keeps the digits that a flat minimum loses.
    Assumes: an error that falls towards a limit as a power of the size; no phase change, no double descent.
    Undefined: fewer than 3 sizes. A curve that does not fall has b = 0, and then c means nothing.
    Reference: GolubPereyra1973; Figueroa2012 for the curve and its weights; VieringLoog2023 for where it holds.

    >>> law = fit_power_law([100, 400, 900, 1600, 2500], [0.15, 0.1, 0.05 + 1 / 30, 0.075, 0.07])
    >>> [round(float(x), 3) for x in (law.a[0], law.scale[0], law.c[0])]
    [0.05, 1.0, 0.5]
    """
    n, e = np.asarray(sizes, float), np.atleast_2d(np.asarray(errors, float))
    w = np.ones(len(n)) if weights is None else np.asarray(weights, float) / np.mean(np.asarray(weights, float))
    unit = float(np.exp(np.mean(np.log(n))))  # counted from the middle of the sizes, n^-c keeps near 1
    log_n = np.log(n / unit)
    best = np.argmin(_grid_misfits(np.exp(-np.multiply.outer(_GRID, log_n)), e, w), axis=1)
    low, high = _GRID[np.maximum(best - 1, 0)], _GRID[np.minimum(best + 1, len(_GRID) - 1)]
    c = _golden(low, high, lambda trial: _line(np.exp(-np.multiply.outer(trial, log_n)), e, w)[2])
    near = _NEAR * (high - low)
    c = _rooted(c, np.maximum(c - near, FLATTEST), np.minimum(c + near, STEEPEST), lambda trial: _slope(trial, log_n, e, w))
    a, b, misfit = _line(np.exp(-np.multiply.outer(c, log_n)), e, w)
    return PowerLaws(a, b, c, unit, misfit)


def _grid_misfits(x: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    """The misfit of every row of y with every row of x, from sums alone: good enough to find the neighbourhood."""
    xw, total = x * w, w.sum()
    sx, sxx, sy, sxy = xw.sum(1), (xw * x).sum(1), (y @ w)[:, None], y @ xw.T
    a, b = _settle(sx, sxx, sy, sxy, total)
    return np.asarray((y**2 @ w)[:, None] - 2 * (a * sy + b * sxy) + a * a * total + 2 * a * b * sx + b * b * sxx)


def _line(x: FloatArray, y: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(a, b, misfit) row by row. The misfit is of the residuals: a difference of sums would lose the digits of a close fit."""
    xw = x * w
    a, b = _settle(xw.sum(1), (xw * x).sum(1), y @ w, (xw * y).sum(1), float(w.sum()))
    return a, b, np.asarray((y - a[:, None] - b[:, None] * x) ** 2 @ w)


def _settle(sx: FloatArray, sxx: FloatArray, sy: FloatArray, sxy: FloatArray, total: float) -> tuple[FloatArray, FloatArray]:
    """The line y = a + b x with a, b >= 0 of weighted sums: the free one where it may be, else the better of the two edges."""
    b = (total * sxy - sx * sy) / (total * sxx - sx * sx)
    a = (sy - b * sx) / total
    through_floor, flat = np.maximum(sxy / sxx, 0.0), np.maximum(sy / total, 0.0)
    inside = (a >= 0) & (b >= 0)
    on_floor = through_floor**2 * sxx >= flat**2 * total  # what each edge explains
    return np.where(inside, a, np.where(on_floor, 0.0, flat)), np.where(inside, b, np.where(on_floor, through_floor, 0.0))


def _slope(c: FloatArray, log_n: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    """Half the derivative of the misfit by c, row by row; a and b follow c, and add nothing to it where they are the best."""
    x = np.exp(-np.multiply.outer(c, log_n))
    a, b, _ = _line(x, y, w)
    return np.asarray(b * (((y - a[:, None] - b[:, None] * x) * x * log_n) @ w))


def _rooted(c: FloatArray, low: FloatArray, high: FloatArray, slope: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Where the slope turns from down to up between `low` and `high`, by bisection; c as it is where it does not turn there."""
    down, up = slope(low), slope(high)
    turns = ((down < 0) & (up > 0)) | ((low == FLATTEST) & (down > 0)) | ((high == STEEPEST) & (up < 0))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        falling = slope(middle) < 0
        low, high = np.where(falling, middle, low), np.where(falling, high, middle)
    return np.where(turns, (low + high) / 2, c)


def _golden(low: FloatArray, high: FloatArray, f: Callable[[FloatArray], FloatArray], steps: int = 20) -> FloatArray:
    """The minima of many functions of one variable at once, each between its own ends: 20 steps to five digits.

    More would not help: near its minimum a function is flat, and half of its digits say nothing about the place.
    """
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(steps):
        down = at_left <= at_right
        low, high = np.where(down, low, left), np.where(down, right, high)
        fresh = np.where(down, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_fresh = f(fresh)
        left, right = np.where(down, fresh, right), np.where(down, left, fresh)
        at_left, at_right = np.where(down, at_fresh, at_right), np.where(down, at_left, at_fresh)
    return (low + high) / 2
