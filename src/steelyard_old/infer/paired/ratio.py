"""A run as a share of its reference, on the same items: is it at least 95% of it?

Every test works at any ratio. Right or wrong has the score test, whose bounds do not need many items that differ;
means of scores and ratios of sums have Fieller's, Student's t of run - ratio x reference; perplexity has t of its log. A ratio
means something only where 0 means nothing at all: shares, errors, losses, times; not log-likelihoods or correlations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from steelyard_old.infer.normal import lower_tail, z_value
from steelyard_old.infer.paired.bounded_t import BoundedT, bounded_t_of_groups
from steelyard_old.infer.paired.decision import smallest_p, student_p, student_reach
from steelyard_old.infer.paired.mcnemar import from_tails
from steelyard_old.infer.paired.unseen import UnseenChanges
from steelyard_old.metrics.sums import exponential

HALVINGS = 56  # of the stretch where a bound lies: as many as a double can tell apart
SPREAD = Callable[[float], tuple[float, float]]


class RatioTest(Protocol):
    """A test of candidate / baseline that works at any ratio."""

    @property
    def name(self) -> str: ...

    @property
    def estimate(self) -> float: ...

    def p_value(self, ratio: float, alternative: str) -> float:
        """p of H0: the true ratio is this one."""
        ...

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """The ratios that the test does not rule out on either side; infinity where there is no upper end."""
        ...


def ratio_score(both: int, gained: int, lost: int, n: int, ratio: float) -> float:
    """The score z of H0: p_candidate / p_baseline = ratio, of n items of which both, only the candidate or only the baseline have right.

    Formula: z = (x_c - r x_b) / sqrt(n r (q10 + q01)), q01 the larger root of n (1 + r) q^2 + B q + C with
    B = (both + lost) r^2 - (both + gained + 2 lost), C = lost (1 - r) s, s = (both + gained + lost) / n; q10 = (q01 - (1 - r) s) / r.
    Assumes: independent items, one answer each; ratio above 0. No right answer on either side: 0.
    Misses of a one-sided bound of 5%: at most .055 from 50 items on. Reference: NamBlackwelder2002; TangTangChan2003.

    >>> round(ratio_score(860, 20, 35, 1000, 0.95), 6)
    3.57127
    """
    if ratio > 1:  # the same question with the systems exchanged, where the root is the one below
        return -ratio_score(both, lost, gained, n, 1 / ratio)
    right = both + gained + lost
    if right == 0:
        return 0.0
    square, linear = n * (1 + ratio), (both + lost) * ratio * ratio - (both + gained + 2 * lost)
    constant = lost * (1 - ratio) * right / n
    only_baseline = (-linear + math.sqrt(max(0.0, linear * linear - 4 * square * constant))) / (2 * square)
    only_candidate = max(0.0, (only_baseline - (1 - ratio) * right / n) / ratio)
    variance = n * ratio * (only_candidate + only_baseline)
    away = (both + gained) - ratio * (both + lost)
    if variance <= 0:  # ratio 1, and no item differs
        return 0.0 if away == 0 else math.copysign(math.inf, away)
    return away / math.sqrt(variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRatio:
    """The ratio of two shares of right answers on the same items.

    Without any item that differs the lower bound is x / (x + z^2) for x right answers, so that 95 / 99 / 99.9% can be shown
    from 52 / 268 / 2,703 right answers on. Reference: NamBlackwelder2002; TangTangChan2003.

    >>> found = ShareRatio(both=860, gained=20, lost=35, n=1000)
    >>> round(found.estimate, 4), [round(end, 4) for end in found.interval(0.9)]
    (0.9832, [0.9691, 0.9968])
    >>> ShareRatio(both=52, gained=0, lost=0, n=60).interval(0.9)[0] > 0.95 > ShareRatio(both=51, gained=0, lost=0, n=60).interval(0.9)[0]
    True
    """

    both: int
    gained: int
    lost: int
    n: int
    name: str = "ratio-score"

    @property
    def estimate(self) -> float:
        return (self.both + self.gained) / (self.both + self.lost)

    def p_value(self, ratio: float, alternative: str) -> float:
        z = ratio_score(self.both, self.gained, self.lost, self.n, ratio)
        return from_tails(lower_tail(z), lower_tail(-z), alternative)

    def interval(self, confidence_level: float) -> tuple[float, float]:
        z, middle = z_value(confidence_level), self.estimate

        def score(ratio: float) -> float:
            return ratio_score(self.both, self.gained, self.lost, self.n, ratio)

        low = _root(lambda ratio: score(ratio) - z, 0.0, middle) if middle > 0 else 0.0
        return low, _above(lambda ratio: score(ratio) + z, middle)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRatio:
    """The ratio of two means of numbers from 0 up, on the same items or groups: t of candidate - ratio x baseline.

    `spread` gives the variance of that difference and its degrees of freedom at any ratio; `units` are the items, or the equal
    groups that the groups are worth; `largest` is the largest number an item can have. Two items that are not there, one at
    either end, stand for what nobody has seen yet, as in `bounded_t`: without them a run in which one item in a hundred fails
    altogether is misjudged in a quarter of all cases. Reference: Fieller1954; BonettPrice2012 for the two items.

    >>> found = MeanRatio(baseline=0.8, candidate=0.78, units=1000, largest=1.0, spread=lambda r: ((0.05 + (1 - r) ** 2) / 1000, 999))
    >>> round(found.estimate, 4), [round(end, 4) for end in found.interval(0.9)]
    (0.975, [0.9599, 0.9899])
    """

    baseline: float
    candidate: float
    units: float
    largest: float
    spread: SPREAD
    name: str = "fieller"

    @property
    def estimate(self) -> float:
        return self.candidate / self.baseline

    def _t(self, ratio: float) -> BoundedT:
        variance, df = self.spread(ratio)
        return bounded_t_of_groups(self.candidate - ratio * self.baseline, variance, df, self.units, self.largest * max(1.0, ratio))

    def p_value(self, ratio: float, alternative: str) -> float:
        return self._t(ratio).p_value(alternative)

    def interval(self, confidence_level: float) -> tuple[float, float]:
        return _kept(self, confidence_level)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumsRatio:
    """The ratio of two ratios of sums on the same items or groups, as of word error rates: t of candidate - ratio x baseline.

    Formula: t = (r_c - rho r_b) / SE, SE^2 = sum l^2 / (n (n - 1)), l = (num_c - r_c den_c) / mean den_c -
    rho (num_b - r_b den_b) / mean den_b, n - 1 degrees of freedom; over groups by the sums of l in each.
    `spread` gives the variance and the degrees of freedom at any ratio, `own` those of the baseline alone; `rare`: what is counted in
    for large changes that nobody has seen, where few units differ (`unseen_changes`).
    Undefined: a baseline that is not clear of 0 has no upper bound. Assumes: many independent units.
    Reference: Fieller1954; CameronMiller2015, equation 11.

    >>> found = SumsRatio(baseline=0.1, candidate=0.12, units=50, own=(4e-5, 49), spread=lambda r: ((1 + r * r) * 4e-5, 49))
    >>> round(found.estimate, 4), [round(end, 4) for end in found.interval(0.9)], round(found.p_value(1.05, "greater"), 4)
    (1.2, [1.0465, 1.3808], 0.0542)
    """

    baseline: float
    candidate: float
    units: int
    own: tuple[float, float]
    spread: SPREAD
    rare: UnseenChanges | None = None
    name: str = "fieller"

    @property
    def estimate(self) -> float:
        return self.candidate / self.baseline

    @property
    def p_of_none(self) -> float:
        """p of H0: the baseline is 0."""
        return _student(self.baseline, *self.own, self.units, "greater")

    def p_value(self, ratio: float, alternative: str) -> float:
        variance, df = self.spread(ratio)
        unseen = _unseen(self.rare, alternative) * max(1.0, ratio) ** 2
        return _student(self.candidate - ratio * self.baseline, variance + unseen, df, self.units, alternative)

    def interval(self, confidence_level: float) -> tuple[float, float]:
        # every unit has the same ratio, and how others vary is not known
        if self.rare is None and self.spread(0.0)[0] == 0 == self.spread(1.0)[0]:
            return 0.0, math.inf
        return _kept(self, confidence_level)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRatio:
    """A ratio that is e to the power of a difference, as of two perplexities: t of that difference, of its variance.

    Formula: t = (difference - log ratio) / SE; bounds e^(difference -+ t SE). Reference: Student1908.

    >>> found = LogRatio(difference=0.028813, variance=0.0101782**2, df=3, units=4)
    >>> round(found.estimate, 4), [round(end, 4) for end in found.interval(0.9)], round(found.p_value(1.01, "greater"), 4)
    (1.0292, [1.0049, 1.0542], 0.0805)
    """

    difference: float
    variance: float
    df: float
    units: int
    rare: UnseenChanges | None = None
    name: str = "log-ratio"

    @property
    def estimate(self) -> float:
        return exponential(self.difference)

    def p_value(self, ratio: float, alternative: str) -> float:
        variance = self.variance + _unseen(self.rare, alternative)
        return _student(self.difference - math.log(ratio), variance, self.df, self.units, alternative)

    def interval(self, confidence_level: float) -> tuple[float, float]:
        if self.variance == 0 and self.rare is None:
            return 0.0, math.inf
        t = student_reach(self.df, (1 - confidence_level) / 2)
        low, high = (t * math.sqrt(self.variance + _unseen(self.rare, way)) for way in ("greater", "less"))
        return exponential(self.difference - low), exponential(self.difference + high)


def _unseen(rare: UnseenChanges | None, alternative: str) -> float:
    """The variance that a test counts in for what nobody has seen: that the ratio is greater is undone by units that fall."""
    if rare is None:
        return 0.0
    ends = {"greater": ("lower",), "less": ("upper",)}.get(alternative, ("lower", "upper"))
    return max(rare.variance(end) for end in ends)


def _student(away: float, variance: float, df: float, units: int, alternative: str) -> float:
    """p of a t; without any spread that of the signs of all units, which are one."""
    if variance > 0:
        error = math.sqrt(variance)
        return from_tails(student_p(away, error, df), student_p(-away, error, df), alternative)
    least = smallest_p(units, "sign-flip")
    return from_tails(least if away < 0 else 1.0, least if away > 0 else 1.0, alternative)


def _kept(test: RatioTest, confidence_level: float) -> tuple[float, float]:
    """The ratios that a test keeps, searched from its estimate outwards."""
    rest, middle = (1 - confidence_level) / 2, test.estimate
    low = _root(lambda ratio: rest - test.p_value(ratio, "greater"), 0.0, middle) if middle > 0 else 0.0
    return low, _above(lambda ratio: test.p_value(ratio, "less") - rest, middle)


def _above(over: Callable[[float], float], start: float) -> float:
    """The ratio above `start` where a falling function becomes negative; infinity where it never does."""
    low = max(start, 1e-9)
    high = 2 * low
    while over(high) > 0:
        if high > 1e12:  # the baseline is not clear of 0
            return math.inf
        low, high = high, 2 * high
    return _root(over, low, high)


def _root(over: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function passes 0, between a ratio where it is above 0 and one where it is not."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if over(middle) > 0 else (low, middle)
    return (low + high) / 2


def right_answers_needed(ratio: float, alpha: float) -> int:
    """The right answers from which a run without a single change is shown to be at least `ratio` of its reference.

    Reference: NamBlackwelder2002.

    Formula: the least x with x / (x + z^2) >= ratio.

    >>> [right_answers_needed(ratio, 0.05) for ratio in (0.95, 0.99, 0.999)]
    [52, 268, 2703]
    """
    z = z_value(1 - alpha, "lower")
    return math.ceil(ratio * z * z / (1 - ratio) * (1 - 1e-12))
