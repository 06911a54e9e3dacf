"""Margins: is a difference smaller than one, what could have been found, and margins that are a share of the baseline."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from scipy.special import ndtr, ndtri

from steelyard.base.problem import SteelyardError
from steelyard.data.pairs import Pair
from steelyard.engines.certainty import Certainty, Ends, Joined, NoAnswer
from steelyard.engines.one import How
from steelyard.engines.two import compare_pair
from steelyard.metrics.catalogue import find
from steelyard.metrics.metric import Metric, itself


def equivalent(found: Certainty, margin: float) -> float:
    """The p of "they differ by the margin or more", by two one-sided tests. Reference: Schuirmann1987."""
    return max(found.p(-margin, "greater"), found.p(margin, "less"))


def detectable(found: Certainty, alpha: float = 0.05, power: float = 0.8, sided: int = 2, margin: float = 0.0) -> float | None:
    """The smallest difference that such a comparison finds with this power, beyond the margin; None without a standard error."""
    if found.error is None:
        return None
    return margin + float(ndtri(1 - alpha / sided) + ndtri(power)) * found.error


# ---- the candidate as a share of the baseline ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Relative(Certainty):
    """The candidate's number over the baseline's: what the candidate minus a share of the baseline is sure of (Fieller's idea)."""

    apart: Callable[[float], Certainty]
    low: float = 0.0

    def tails(self, margin: float, sided: int = 1) -> Ends:
        if margin <= 0:
            raise SteelyardError(f"A share of the baseline must be above 0, not {margin:g}.")
        return self.apart(margin).tails(0.0, sided)

    def bounds(self, q: float, sided: int = 1) -> Ends:
        low = _crossing(lambda r: self.tails(r, sided)[1] - q, 0.0, self.estimate) if self.estimate > 0 else 0.0
        high = max(2 * self.estimate, 1e-6)
        while self.tails(high, sided)[0] > q:
            if high > 1e12:  # the baseline is not clear of 0
                return low, math.inf
            high *= 2
        return low, _crossing(lambda r: q - self.tails(r, sided)[0], max(self.estimate, high / 4), high)


def _crossing(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function crosses 0."""
    for _ in range(60):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


@dataclass(frozen=True, kw_only=True)
class ShareRatio(Certainty):
    """The ratio of two shares of the same items being one, by its score. Reference: NamBlackwelder2002."""

    both: int
    gained: int
    lost: int
    n: int

    def tails(self, margin: float, sided: int = 1) -> Ends:
        away = self.both + self.gained - margin * (self.both + self.lost)
        z = ratio_score(self.both, self.gained, self.lost, self.n, margin)
        return (0.5, 0.5) if away == 0 else (float(ndtr(z)), float(ndtr(-z)))


def ratio_score(both: int, gained: int, lost: int, n: int, ratio: float) -> float:
    """How far the candidate's share lies from so many times the baseline's, in standard errors of the likeliest shares there."""
    if ratio > 1:  # the same question with the systems exchanged, where the root is the one below
        return -ratio_score(both, lost, gained, n, 1 / ratio)
    right = both + gained + lost
    if right == 0:
        return 0.0
    square, linear = n * (1 + ratio), (both + lost) * ratio * ratio - (both + gained + 2 * lost)
    constant = lost * (1 - ratio) * right / n
    only_one = (-linear + math.sqrt(max(0.0, linear * linear - 4 * square * constant))) / (2 * square)
    only_two = max(0.0, (only_one - (1 - ratio) * right / n) / ratio)
    variance, away = n * ratio * (only_two + only_one), both + gained - ratio * (both + lost)
    if variance <= 0:
        return 0.0 if away == 0 else math.copysign(math.inf, away)
    return away / math.sqrt(variance)


def relative(metric: Any, pair: Pair, how: How | None = None) -> Certainty:
    """The candidate as a share of the baseline, on the same items: a score for right or wrong, the logarithm for what is one, else t.

    >>> from steelyard.data.counts import JointCounts
    >>> from steelyard.engines.two import as_pair
    >>> pair = as_pair(JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76))
    >>> [round(end, 4) for end in relative("accuracy", pair).ends()]
    [0.9945, 1.0493]
    """
    how, asked = how or How(), find(metric)
    (found,) = compare_pair(asked, pair, how)
    if found.baseline is None or found.candidate is None or not found.baseline > 0:
        raise NoAnswer("a share of the baseline needs a baseline above 0")
    estimate = found.candidate / found.baseline
    if found.flips is not None:
        both, lost, gained, neither = found.flips
        facts = {"both": both, "gained": gained, "lost": lost, "n": both + lost + gained + neither}
        score = ShareRatio(estimate=estimate, test="ratio-score", **facts)  # type: ignore[arg-type]
        return Relative(estimate=estimate, method="ratio-score", test="ratio-score", apart=lambda r: Shifted(estimate=0.0, of=score, at=r))
    if asked.inner == "ratio":  # perplexity: its logarithm is a ratio, and a share of it is a distance there
        of = _around(replace(asked, outwards=itself, inner="", low=0.0), pair, how)
        return LogRatio(estimate=estimate, method="log-ratio", test="log-ratio", of=of, low=0.0)
    scaled = lru_cache(maxsize=256)(lambda r: _around(asked, pair, replace(how, scale=r)))
    return Relative(estimate=estimate, method="fieller", test="fieller", apart=scaled)


@dataclass(frozen=True, kw_only=True)
class Shifted(Certainty):
    """Another certainty with its margin moved to 0."""

    of: Certainty
    at: float

    def tails(self, margin: float, sided: int = 1) -> Ends:
        return self.of.tails(self.at + margin, sided)


@dataclass(frozen=True, kw_only=True)
class LogRatio(Certainty):
    """The ratio of two numbers whose logarithms have a certain difference."""

    of: Certainty

    def tails(self, margin: float, sided: int = 1) -> Ends:
        return self.of.tails(math.log(margin), sided)

    def bounds(self, q: float, sided: int = 1) -> Ends:
        low, high = self.of.bounds(q, sided)
        return math.exp(low), math.exp(min(700.0, high))


def _around(metric: Metric, pair: Pair, how: How) -> Certainty:
    """The interval's own law of a difference: signs cannot be exchanged where the baseline is scaled."""
    (found,) = compare_pair(metric, pair, how)
    if found.certainty is None:
        raise NoAnswer(found.why)
    return found.certainty.of_interval if isinstance(found.certainty, Joined) else found.certainty
