"""A confidence sequence by betting: an interval for the mean of bounded scores that holds at every number of items at once."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.sequential.lan_demets import not_all_so_far

FloatArray = npt.NDArray[np.float64]
STEPS = 4096  # the means that are kept an account of: bounds are exact to outwards one such step
TRUNCATION = 0.5
ROWS = 64  # items worked on at once


class ConfidenceSequence:
    """The means that no bettor has ruled out at any item so far: stop when it is narrow enough, at whatever item that is.

    Formula: K+(m) = prod (1 + min(l_i, c/m) (x_i - m)), K-(m) = prod (1 - min(l_i, c/(1-m)) (x_i - m)), c = 1/2, predictable
    bets l_i = sqrt(2 log(2/alpha) / (v_{i-1} i log(1 + i))), v the running variance, regularised by 1/4; m leaves for good
    when max(K+, K-) / 2 reaches 1/alpha. With a `width` to stop at, bets aim at it: l_i = width / (2 v_{i-1}), which gets there
    within about 8 v log(2/alpha) / width^2 items. Both capitals are monotone in m, so what stays is an interval. Kept on a
    lattice of 4,096 means and rounded outwards to it, each item costs a fixed effort whatever has gone before. Assumes: items
    in random order, scores in the range, nothing else; alpha holds for all n together, so alpha 0.1 gives one-sided bounds
    of level .95. Undefined: scores outside the range. Reference: WaudbySmithRamdas2024, section 4; Ville1939.

    >>> sequence = ConfidenceSequence((0, 1), alpha=0.05)
    >>> [round(x, 3) for x in sequence.look([1, 1, 1, 0, 1, 1, 1, 1, 1, 1] * 20)]
    [0.826, 0.953]
    """

    name = "betting confidence sequence"

    def __init__(self, score_range: tuple[float, float], alpha: float = 0.05, *, width: float | None = None) -> None:
        if not (math.isfinite(score_range[0]) and math.isfinite(score_range[1]) and score_range[1] > score_range[0]):
            raise UsageError("cannot use range", got=f"{score_range!r}", need="two finite numbers, rising")
        if width is not None and not width > 0:
            raise UsageError("cannot use width", got=repr(width), need="a positive number")
        self.score_range, self.alpha = (float(score_range[0]), float(score_range[1])), alpha
        self.width = None if width is None else width / (self.score_range[1] - self.score_range[0])
        self.n = 0
        self._means = np.arange(1, STEPS) / STEPS  # 0 and 1 themselves are never ruled out but by their neighbours
        self._up, self._down = np.zeros(STEPS - 1), np.zeros(STEPS - 1)
        self._first, self._end = 0, STEPS - 1  # the means that are still in: first..end - 1
        self._total, self._squares = 0.5, 0.25

    def look(self, scores: npt.ArrayLike) -> tuple[float, float]:
        """The interval after all the scores so far: inside every earlier one."""
        values = np.asarray(scores, float).ravel()
        low, high = self.score_range
        if len(values) < self.n:
            raise not_all_so_far(len(values), self.n, "scores")
        new = values[self.n :]
        if not np.all((new >= low) & (new <= high)):
            raise DataError(
                f"Some scores lie outside the range [{low:g}, {high:g}].",
                got="scores outside the range",
                need=f"scores within [{low:g}, {high:g}]",
            )
        for start in range(0, len(new), ROWS):
            self._bet((new[start : start + ROWS] - low) / (high - low))
        return self.interval

    @property
    def interval(self) -> tuple[float, float]:
        low, high = self.score_range
        return low + (high - low) * self._first / STEPS, low + (high - low) * (self._end + 1) / STEPS

    def _bet(self, x: FloatArray) -> None:
        bets = self._bets(x)[:, None]
        inside = slice(self._first, self._end)
        m = self._means[inside]
        gap = x[:, None] - m
        up = self._up[inside] + np.cumsum(np.log1p(np.minimum(bets, TRUNCATION / m) * gap), axis=0)
        down = self._down[inside] + np.cumsum(np.log1p(-np.minimum(bets, TRUNCATION / (1 - m)) * gap), axis=0)
        self._up[inside], self._down[inside] = up[-1], down[-1]
        need = math.log(2 / self.alpha)
        too_low, too_high = np.flatnonzero(up.max(axis=0) >= need), np.flatnonzero(down.max(axis=0) >= need)
        first = self._first
        if len(too_low):
            self._first = first + int(too_low[-1]) + 1
        if len(too_high):
            self._end = first + int(too_high[0])
        # Ruled out from both sides: which happens with probability alpha at most. What is left is the point between them.
        self._end = max(self._end, self._first)

    def _bets(self, x: FloatArray) -> FloatArray:
        """Bets on the new items, each from those before it; the running sums go on."""
        i = self.n + np.arange(1, len(x) + 1)
        total = self._total + np.cumsum(x)
        squares = self._squares + np.cumsum((x - total / (i + 1)) ** 2)
        before = np.concatenate([[self._squares], squares[:-1]]) / i  # item i rests on i - 1 items and the one of the prior
        self.n, self._total, self._squares = self.n + len(x), float(total[-1]), float(squares[-1])
        if self.width is not None:
            return np.asarray(self.width / (2 * before))
        return np.asarray(np.sqrt(2 * math.log(2 / self.alpha) / (before * i * np.log1p(i))))
