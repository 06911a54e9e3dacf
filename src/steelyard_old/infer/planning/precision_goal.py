"""When k of n is good enough: the interval is narrow enough, or it clears a threshold; for thousands of (k, n) at once.

The intervals are those of `infer/intervals/proportion.py` and of the Beta posterior, written for arrays: a plan asks for millions
of them. A test keeps the two spellings equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincinv

from steelyard_old.infer.normal import tail, z_value
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.inner import ITSELF, InnerQuantity

Ints = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]
CREDIBLE = "bayes"
METHODS = (CREDIBLE, "wilson", "clopper-pearson", "jeffreys", "agresti-coull", "mid-p", "wald")
ON_ITS_OWN_SCALE = ("wald",)  # symmetric about the value: of a function of it that would be another interval
SECANTS = 14  # steps of the false position for a mid-p end: its bracket is one item wide, eight are enough


def methods_for(through: InnerQuantity[Any]) -> list[str]:
    """The intervals that a metric can be planned by, seen through this quantity."""
    return [method for method in METHODS if not (through.mapped and method in ON_ITS_OWN_SCALE)]


@dataclass(frozen=True, slots=True)
class Regions:
    """Which outcomes k of n are good enough, for an array of n: first <= k <= low, and high <= k <= last.

    `none` and `every` tell the outcomes k = 0 and k = n where these are apart from their neighbours (Wald); else None.
    """

    first: int
    low: Ints
    high: Ints
    last: Ints
    whole: npt.NDArray[np.bool_]
    none: npt.NDArray[np.bool_] | None = None
    every: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionGoal:
    """What counts as good enough: exactly one of `width` and `threshold`, on the scale of the metric.

    Formula: width: high - low <= width for the two-sided interval; threshold: the one-sided lower bound is not below it,
    which for `bayes` is P(metric > threshold | k of n) >= level. `through`: what k of n is where the metric is a function of it, as
    F1 = 2J / (1 + J) of the Jaccard index. `prior` belongs to `bayes` alone.
    Assumes: independent items. Wald has no width at k = 0 and k = n: Wilson's end stands in, or Wald's own at one mistake
    if that is nearer, as in a measurement.
    Reference: JosephWolfsonDuBerger1995 for the criteria; BrownCaiDasGupta2001 for the intervals.

    >>> narrow = PrecisionGoal(width=0.1)
    >>> bool(narrow.meets(349, 382)), bool(narrow.meets(190, 381)), bool(PrecisionGoal(threshold=0.9).meets(152, 160))
    (True, False, True)
    """

    method: str = CREDIBLE
    level: float = 0.95
    prior: tuple[float, float] = (0.5, 0.5)
    width: float | None = None
    threshold: float | None = None
    through: InnerQuantity[Any] = ITSELF

    def ends(self, k: Any, n: Any) -> tuple[Array, Array]:
        """The two-sided interval of k of n on the scale of the proportion; real k and n are allowed."""
        k, n = np.asarray(k, float), np.asarray(n, float)
        rest = tail(self.level, "two")
        if self.method in (CREDIBLE, "jeffreys"):
            a, b = self.pseudo
            return betaincinv(k + a, n - k + b, rest), 1 - betaincinv(n - k + b, k + a, rest)
        if self.method == "clopper-pearson":
            return _exact_low(k, n, rest), 1 - _exact_low(n - k, n, rest)
        if self.method == "mid-p":
            return _mid_low(k, n, rest), 1 - _mid_low(n - k, n, rest)
        return self._normal_ends(k, n, z_value(self.level, "two"))

    def span(self, k: Any, n: Any) -> Array:
        """The width of the two-sided interval, on the scale of the metric."""
        low, high = self.ends(k, n)
        return np.asarray(self.through.width(low, high))

    def meets(self, k: Any, n: Any) -> npt.NDArray[np.bool_]:
        """Is k of n good enough?"""
        if self.width is not None:
            return np.asarray(self.span(k, n) <= self.width)
        k, n = np.asarray(k, float), np.asarray(n, float)
        t, rest = self.bar, tail(self.level, "lower")
        # A bound above t is a test at t, and the test needs no quantile.
        if self.method in (CREDIBLE, "jeffreys"):
            a, b = self.pseudo
            return np.asarray(betainc(k + a, n - k + b, t) <= rest)
        if self.method == "clopper-pearson":
            return np.asarray(at_least(k, n, t) <= rest)
        if self.method == "mid-p":
            return np.asarray((at_least(k, n, t) + at_least(k + 1, n, t)) / 2 <= rest)
        return np.asarray(self._normal_ends(k, n, z_value(self.level, "lower"))[0] >= t)

    @property
    def pseudo(self) -> tuple[float, float]:
        """The pseudo-counts of the posterior."""
        return self.prior if self.method == CREDIBLE else (0.5, 0.5)

    @property
    def bar(self) -> float:
        """The threshold on the scale of the proportion: an F1 of t is a Jaccard index of t / (2 - t)."""
        return 0.0 if self.threshold is None else self.through.inwards(self.threshold)

    def _normal_ends(self, k: Array, n: Array, z: float) -> tuple[Array, Array]:
        z2 = z * z
        reach = z * np.sqrt(np.maximum(0.0, k * (n - k) / n) + z2 / 4)
        low = np.where(k <= 0, 0.0, (k + z2 / 2 - reach) / (n + z2))
        high = np.where(k >= n, 1.0, (k + z2 / 2 + reach) / (n + z2))
        if self.method == "wilson":
            return low, high
        add = z2 if self.method == "agresti-coull" else 0.0
        p = (k + add / 2) / (n + add)
        reach = z * np.sqrt(np.maximum(0.0, p * (1 - p)) / (n + add))
        ends = np.maximum(0.0, p - reach), np.minimum(1.0, p + reach)
        if self.method == "agresti-coull":
            return ends
        one = np.minimum(1.0, 1 / n + z * np.sqrt(np.maximum(0.0, 1 - 1 / n)) / n)  # the end of Wald at one success, or one mistake
        low, high = np.where(k >= n, np.maximum(low, 1 - one), low), np.where(k <= 0, np.minimum(high, one), high)
        edge = (k <= 0) | (k >= n)
        return np.where(edge, low, ends[0]), np.where(edge, high, ends[1])

    def peak(self, n: Any) -> Ints:
        """The outcome with the widest interval: half of n where the rule is symmetric, else by golden section."""
        n = np.asarray(n, np.int64)
        if not self.through.mapped and (self.method != CREDIBLE or self.prior[0] == self.prior[1]):
            half: Ints = n // 2
            return half
        if self.method == "mid-p":
            return self._best(replace(self, method="jeffreys").peak(n) - 4.0, n, 9)
        if n.size > 8:  # the place of the maximum moves smoothly with n
            some = np.unique(np.linspace(0, n.size - 1, min(33, max(4, n.size // 4))).round().astype(int))
            return self._best(np.interp(n, n[some], self.peak(n[some])).round() - 2, n)
        golden = (np.sqrt(5) - 1) / 2
        low, high = np.zeros(n.shape), n.astype(float)
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = self.span(left, n), self.span(right, n)
        while float((high - low).max(initial=0.0)) > 0.5:
            up = at_left < at_right
            low, high = np.where(up, left, low), np.where(up, high, right)
            new = np.where(up, low + golden * (high - low), high - golden * (high - low))
            at_new = self.span(new, n)
            left, right = np.where(up, right, new), np.where(up, new, left)
            at_left, at_right = np.where(up, at_right, at_new), np.where(up, at_new, at_left)
        return self._best(np.floor(low) - 2, n)

    def _best(self, start: Any, n: Ints, count: int = 5) -> Ints:
        """Of a few whole outcomes from `start` on the one with the widest interval."""
        near = np.clip(np.stack([start + i for i in range(count)]), 0, n)
        best: Ints = np.take_along_axis(near, self.span(near, n).argmax(0)[None], 0)[0].astype(np.int64)
        return best

    def regions(self, n: Any, *, below: bool = True) -> Regions:
        """The good outcomes of every n (rising), by bisection on whole k from both ends towards the widest interval.

        `below` False leaves out the narrow intervals of small k, for a caller who knows that such k will not come.
        """
        n = np.asarray(n, np.int64)
        apart = self.method == "wald"
        first, last = (1, n - 1) if apart else (0, n)
        ends = (self.meets(0 * n, n), self.meets(n, n)) if apart else (None, None)
        if self.threshold is not None:
            high = n - _edge(lambda j, at: self.meets(at - j, at), n, first, n - first)
            return Regions(first, np.full(n.shape, first - 1), high, last, high <= first, *ends)
        peak = np.minimum(np.maximum(self.peak(n), first), np.maximum(last, first))
        whole = self.meets(peak, n) & (last >= first)
        # A mid-p interval costs a dozen Beta functions and lies beside Jeffreys' own: that one's edges are the first guess.
        like = replace(self, method="jeffreys").regions(n, below=below) if self.method == "mid-p" else None
        low = np.full(n.shape, first - 1)
        if below:
            low = _edge(lambda j, at: self.meets(j, at), n, first, peak - 1, None if like is None else like.low)
        high = n - _edge(lambda j, at: self.meets(at - j, at), n, first, n - peak - 1, None if like is None else n - like.high)
        return Regions(first, np.where(whole, peak, low), np.where(whole, peak + 1, high), last, whole, *ends)


def _edge(good: Callable[[Ints, Ints], npt.NDArray[np.bool_]], n: Ints, first: int, reach: Ints, guess: Ints | None = None) -> Ints:
    """The largest j in first..reach that is good, where those up to some j are good and the rest are not; first - 1 if none.

    Many n at once (rising): a few of them are solved first, and a line between them guesses the others; a guess is checked.
    """
    low, high = np.full(n.shape, first - 1), np.maximum(reach, first - 1) + 1
    if guess is None and n.size > 8:
        some = np.unique(np.linspace(0, n.size - 1, min(33, max(4, n.size // 4))).round().astype(int))
        guess = np.interp(n, n[some], _edge(good, n[some], first, reach[some])).round().astype(np.int64)
    if guess is not None:
        floor, roof = np.clip(guess - 2, low, high - 1), np.clip(guess + 2, low + 1, high)
        low = np.where((floor > low) & good(np.maximum(floor, first), n), floor, low)
        high = np.where((roof < high) & ~good(np.maximum(roof, first), n), roof, high)
    while bool((open_ := high - low > 1).any()):
        middle = (low + high) // 2
        at = np.flatnonzero(open_)
        fine = np.zeros(n.shape, bool)
        fine[at] = good(middle[at], n[at])
        low, high = np.where(open_ & fine, middle, low), np.where(open_ & ~fine, middle, high)
    return low


def at_least(k: Array, n: Array, p: Any) -> Array:
    """P(X >= k) for X ~ Binomial(n, p); real k too. Reference: ClopperPearson1934, whose tail it is."""
    inside = (k > 0) & (k <= n)
    safe = np.where(inside, k, 1.0)
    return np.where(inside, betainc(safe, np.where(inside, n - k + 1, 1.0), p), np.where(k <= 0, 1.0, 0.0))


def _exact_low(k: Array, n: Array, rest: float) -> Array:
    """The lower end of Clopper and Pearson."""
    safe = np.where(k > 0, k, 1.0)
    return np.where(k > 0, betaincinv(safe, np.where(k > 0, n - k + 1, 1.0), rest), 0.0)


def _mid_low(k: Array, n: Array, rest: float) -> Array:
    """The lower mid-p end, (P(X >= k) + P(X >= k+1)) / 2 = rest: false position (Illinois) between two exact ends."""
    k, n = np.broadcast_arrays(k, n)
    inside = (k > 0) & (k < n)
    a, b = np.where(inside, k, 1.0), np.where(inside, n - k, 1.0)

    def gap(p: Any) -> Any:
        return (betainc(a, b + 1, p) + betainc(a + 1, b, p)) / 2 - rest

    low, high = betaincinv(a, b + 1, rest), betaincinv(a + 1, b, rest)
    at_low, at_high = gap(low), gap(high)
    side = np.zeros(a.shape)
    root = low
    for _ in range(SECANTS):
        run = at_high - at_low
        root = np.where(run > 0, (low * at_high - high * at_low) / np.where(run > 0, run, 1.0), low)
        value = gap(root)
        if float(np.abs(value).max(initial=0.0)) <= 1e-15:
            break
        below = value < 0
        at_high = np.where(below & (side < 0), at_high / 2, np.where(below, at_high, value))
        at_low = np.where(~below & (side > 0), at_low / 2, np.where(below, value, at_low))
        low, high = np.where(below, root, low), np.where(below, high, root)
        side = np.where(below, -1, 1)
    whole = (2 * rest) ** (1 / np.maximum(n, 1e-9))  # k = n: p^n / 2 = rest
    return np.where(k <= 0, 0.0, np.where(k >= n, whole, root))
