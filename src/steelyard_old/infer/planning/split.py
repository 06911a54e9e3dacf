"""Of N labels, how many to train on and how many to test on: what a larger test set gains against what it takes from training."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import betainc

from steelyard_old.infer.normal import z_value
from steelyard_old.late_dataclass import dataclass

_TAIL = 9.0  # standard deviations of a binomial that are summed over; what lies beyond has probability below 1e-15
_GRID = 240


@dataclass(frozen=True, slots=True)
class Expected:
    """What a test of n items is expected to show of a share p: the ends of its interval, on average over test sets."""

    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low


def expected_wilson(p: float, n: int, confidence_level: float = 0.95) -> Expected:
    """The mean ends of the two-sided Wilson interval over k ~ Binomial(n, p), by the sum itself: no draws, no approximation.

    Formula: sum_k P(k) (k + z^2/2 -+ z sqrt(k (n-k)/n + z^2/4)) / (n + z^2). Both ends are a line in k and a root; only the root is
    summed, over all k within 9 standard deviations of the mean, where P(k) is the difference of two incomplete betas.
    Assumes: independent items, each right with probability p. Undefined: n of 0.
    Reference: Wilson1927; BrownCaiDasGupta2001 for expected lengths.

    >>> found = expected_wilson(0.9, 100)
    >>> round(found.low, 6), round(found.high, 6)
    (0.826358, 0.944047)
    """
    z = z_value(confidence_level, "two")
    middle, reach = n * p, _TAIL * math.sqrt(n * p * (1 - p)) + 12
    k = np.arange(max(0, math.floor(middle - reach)), min(n, math.ceil(middle + reach)) + 1, dtype=float)
    edges = np.concatenate([k - 1, k[-1:]])
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(edges < 0, 0.0, np.where(edges >= n, 1.0, betainc(n - edges, edges + 1, 1 - p)))
    root = float(np.diff(below) @ np.sqrt(k * (n - k) / n + z * z / 4))
    centre, spread = (middle + z * z / 2) / (n + z * z), z * root / (n + z * z)
    return Expected(max(0.0, centre - spread), min(1.0, centre + spread))


def best_whole(value: Callable[[int], float], least: int, most: int) -> int:
    """The whole number between two ends with the largest value, of a function that rises and then falls, or does only one of the two.

    No reference: a search.

    A grid that is even in the logarithm finds the neighbourhood, thirds of what is left find the number. The last digits of a flat top are
    rounding, so of values alike to twelve digits the smallest number is taken.

    >>> best_whole(lambda n: -((n - 537) ** 2), 1, 100_000)
    537
    """
    grid = np.unique(np.round(np.geomspace(least, most, _GRID)).astype(int)).tolist()
    heights = [value(n) for n in grid]
    top = int(np.argmax(heights))
    low, high = grid[max(top - 1, 0)], grid[min(top + 1, len(grid) - 1)]
    while high - low > 8:
        third = (high - low) // 3
        left, right = low + third, high - third
        if value(left) < value(right):
            low = left
        else:
            high = right
    return max(range(low, high + 1), key=lambda n: (round(value(n), 12), -n))


def edge(holds: Callable[[int], bool], inside: int, outside: int) -> int:
    """The last whole number from `inside` towards `outside` for which something holds that holds at `inside`; `outside` if it holds there.

    No reference: a search.

    By bisection, for what stops holding once.

    >>> edge(lambda n: n < 40, 10, 100), edge(lambda n: n > 40, 90, 1), edge(lambda n: True, 5, 9)
    (39, 41, 9)
    """
    if holds(outside):
        return outside
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside
