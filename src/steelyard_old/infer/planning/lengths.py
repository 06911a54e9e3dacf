"""How many items for a narrow interval, by the older criteria: the worst outcome, the anticipated outcome, the average."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from steelyard_old.errors import UsageError
from steelyard_old.infer.planning.anticipated import Anticipated
from steelyard_old.infer.planning.precision_goal import PrecisionGoal

CAP = 10_000_000  # nobody labels more; a goal that takes more is refused with this number


def worst_outcome(rule: PrecisionGoal, have: tuple[int, int] = (0, 0)) -> int:
    """The smallest number of (more) items for which the interval is narrow enough whatever comes.

    Formula: the widest interval still possible; it is unimodal in the number of items, so bisection is safe.
    Reference: JosephWolfsonDuBerger1995 (worst outcome criterion).

    >>> worst_outcome(PrecisionGoal(width=0.1)), worst_outcome(PrecisionGoal(width=0.05))
    (382, 1535)
    """
    n = have[1]

    def fine(m: int) -> bool:
        return widest(rule, m, have) <= float(rule.width or 0.0)

    if n and fine(0):
        return 0
    low, high = 0, 1
    while not fine(high):
        if high > CAP:
            raise UsageError(
                f"A width of {rule.width:g} would take more than {CAP:,} items.",
                got=f"a width of {rule.width:g}",
                need=f"one that {CAP:,} items can reach",
            )
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fine(middle) else (middle, high)
    return high


def widest(rule: PrecisionGoal, more: int, have: tuple[int, int] = (0, 0)) -> float:
    """The widest interval that can still come out after `more` more items. Reference: JosephWolfsonDuBerger1995.

    >>> round(widest(PrecisionGoal(width=0.1), 382), 5)
    0.09996
    """
    k, n = have
    peak = int(np.clip(rule.peak(np.array([n + more]))[0], k, k + more))
    near = np.array([peak, min(max(peak, 1), max(n + more - 1, 0))])  # the ends of Wald are narrower or wider than their neighbours
    return float(np.max(rule.span(near, n + more)))


def plug_in(rule: PrecisionGoal, share: float) -> tuple[int, int, int]:
    """(real, first, stable): the items for which the interval around the anticipated share itself is narrow enough.

    Formula: the width at x = n share, for real x, and for x rounded half up (in exact fractions): the first such n, and the
    one from which all are. What textbooks compute; it reaches the width about every second time.
    Reference: ChernickLiu2002 on the saw-tooth.

    >>> plug_in(PrecisionGoal(width=0.1), 0.9)
    (139, 135, 140)
    """
    width, exact = float(rule.width or 0.0), Fraction(share).limit_denominator(10**9)
    top = worst_outcome(rule)

    def smallest(fine: Callable[[int], bool]) -> int:
        low, high = 0, top
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fine(middle) else (middle, high)
        return high

    def at(n: int, off: float) -> float:
        return float(rule.span(min(max(n * share + off, 0.0), float(n)), n))

    real = smallest(lambda n: at(n, 0.0) <= width)
    start = smallest(lambda n: min(at(n, 0.5), at(n, -0.5), at(n, 0.0)) <= width)
    end = smallest(lambda n: max(at(n, 0.5), at(n, -0.5), at(n, 0.0)) <= width)
    n = np.arange(max(start - 1, 1), end + 2)
    x = np.array([math.floor(int(size) * exact + Fraction(1, 2)) for size in n])
    met = rule.span(x, n) <= width
    return real, int(n[met.argmax()]), (int(n[np.flatnonzero(~met)[-1]]) + 1 if not met.all() else int(n[0]))


def expected_width(rule: PrecisionGoal, anticipated: Anticipated, more: int, have: tuple[int, int] = (0, 0)) -> float:
    """The mean width of the interval after `more` more items. Reference: JosephWolfsonDuBerger1995.

    >>> round(expected_width(PrecisionGoal(width=0.1), Anticipated(0.9), 136), 5)
    0.09979
    """
    x, weight = anticipated.window(more)
    return float(weight @ rule.span(have[0] + x, have[1] + more))


def average_length(rule: PrecisionGoal, anticipated: Anticipated, have: tuple[int, int] = (0, 0)) -> int:
    """The smallest number of (more) items for which the width is small enough on average.

    Formula: E[width(X, n)] <= width; the mean is smooth and falls, so bisection is safe.
    Reference: JosephWolfsonDuBerger1995 (average length criterion).

    >>> average_length(PrecisionGoal(width=0.1), Anticipated(0.9)), average_length(PrecisionGoal(width=0.1), Anticipated(law=(45, 5)))
    (136, 129)
    """
    width = float(rule.width or 0.0)

    def fine(m: int) -> bool:
        return expected_width(rule, anticipated, m, have) <= width

    guess = 16
    for _ in range(4):  # a width falls as the root of the number of items, so a few steps land beside the answer
        total = (guess + have[1]) * (expected_width(rule, anticipated, guess, have) / width) ** 2
        guess = min(max(1, math.ceil(total) - have[1]), CAP)
    low, high, step = (guess - 1, guess, 1) if fine(guess) else (guess, guess + 1, 1)
    while low > 0 and fine(low):
        low, high, step = max(0, low - step), low, 2 * step
    while not fine(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fine(middle) else (middle, high)
    return high
