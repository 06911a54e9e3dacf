"""What can be said of published scores: the counts behind them, their intervals, and what each pair could have shown."""

from __future__ import annotations

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import Result, ResultPart
from steelyard_old.results.measurement import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedScore(ResultPart):
    """One published score. fewest_right and most_right: the numbers of right items that round to it; None if there is none."""

    test_set: str
    name: str
    published: str
    score: float
    n: int
    fewest_right: int | None
    most_right: int | None
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedPair(ResultPart):
    """Two scores on the same items: what McNemar's test gives over every way in which their right items can overlap.

    answer: "never", "depends" or "always" significant. fewest_differing, most_differing: items on which the two can disagree.
    significant_up_to: the most of them with which the difference is significant. p_different_items: if they were different items.
    """

    test_set: str
    first: str
    second: str
    n: int
    difference: float
    answer: str
    p_smallest: float
    p_largest: float
    fewest_differing: int
    most_differing: int
    significant_up_to: int | None
    p_different_items: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Audit(Result):
    """What published scores can and cannot show."""

    KIND = "audit"

    confidence_level: float
    scores: tuple[AuditedScore, ...]
    pairs: tuple[AuditedPair, ...]
    conclusion: str
