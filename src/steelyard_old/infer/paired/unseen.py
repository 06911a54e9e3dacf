"""What nobody has seen yet: bounds of a difference where few units changed, of scores and sums without a declared range.

Where nothing changed, a spread of 0 is ignorance and not certainty: of n units without a change, as many as 3 in n may change in the
long run. Where one unit changed a little, its spread says next to nothing more. So the bounds count in items that are not there, one at
either end, as those of a declared range do (`bounded_t`): as long as few units differ, and none of them by much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.intervals.sums import student
from steelyard_old.infer.normal import tail
from steelyard_old.infer.paired.equivalence import Equivalence, equivalence
from steelyard_old.infer.resampling.bootstrap import Degenerate

FloatArray = npt.NDArray[np.float64]
WEIGHT = 5 / 3  # of each item that is not there: n units without a change then reach 3 / n of the range, at 5% on one side
ENOUGH = 10.0  # changes by the whole range one way, from which the spread that was seen is trusted for the other way
FEW = 6  # units that are few of any number: so many losses, and no gain, are significant at 5% on two sides, whatever their bound


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenChanges:
    """What the ends of an interval count in for units that nobody has seen change: squares of the difference, below and above."""

    units: float
    below: float
    above: float

    def variance(self, end: str) -> float:
        """What is added to the variance of the difference for its "lower" or its "upper" end."""
        return (self.below if end == "lower" else self.above) / (self.units * (self.units - 1)) if self.units > 1 else 0.0

    def reach(self, end: str) -> float:
        """The range that one item at either end would have to have, to say the same."""
        return math.sqrt((self.below if end == "lower" else self.above) / 2)

    def matters(self, variance: float) -> bool:
        """Whether an end moves by more than a twentieth of its distance. Reference: BonettPrice2012."""
        return max(self.variance("lower"), self.variance("upper")) > 0.1 * variance

    def ends(
        self, estimate: float, variance: float, df: float, confidence_level: float, side: str = "two", alternative: str = "two-sided"
    ) -> tuple[float, float]:
        """estimate -+ t x standard error, each end with what is unseen; what t has shown about 0, on the side asked about, stays shown.

        Reference: Student1908; BonettPrice2012 for the items that are not there.

        >>> quiet = UnseenChanges(units=200, below=10 / 3, above=10 / 3)
        >>> [round(end, 5) for end in quiet.ends(0.0, 0.0, 199, 0.9)]
        [-0.01512, 0.01512]
        """
        if variance <= 0 and not min(self.below, self.above) > 0:
            raise Degenerate("the units do not vary")
        t = student(1 - tail(confidence_level, side), df)
        reach = t * math.sqrt(variance)
        return self.wider(estimate, (estimate - reach, estimate + reach), t, alternative)

    def wider(self, estimate: float, ends: tuple[float, float], t: float, alternative: str) -> tuple[float, float]:
        """Ends that were found some other way, t standard errors away, with what is unseen beside their spread. Reference: Student1908."""
        low, high = ends
        if low <= 0 or alternative == "less":
            low = estimate - math.hypot(estimate - low, t * math.sqrt(self.variance("lower")))
        if high >= 0 or alternative == "greater":
            high = estimate + math.hypot(high - estimate, t * math.sqrt(self.variance("upper")))
        return low, high

    def equivalence(self, estimate: float, error: float, margin: float, df: float | None) -> Equivalence:
        """The two one-sided tests of a margin, each with what is unseen at its end. Reference: Schuirmann1987."""
        lower, upper = (equivalence(estimate, math.sqrt(error**2 + self.variance(end)), margin, df) for end in ("lower", "upper"))
        return Equivalence(lower.z_lower, upper.z_upper, lower.p_lower, upper.p_upper)


def unseen_changes(changes: npt.ArrayLike, reach: float, units: float | None = None) -> UnseenChanges | None:
    """What to count in beside these changes of n units, of which a new one may differ by `reach`; None where there is nothing.

    Formula: each end counts in 2 w R^2 among the squares, R the reach or the largest change seen towards that end. The weight
    w = 5/3 (1 - S / 10) h, with S the sum of (change / R)^2 of the units that changed the other way, and h = 1 while at most an
    eighth of the units (or fewer than six) differ, falling to 0 where a quarter of them do. So units that all vary a little are
    left to t, and nothing jumps at no change. From six units on, a unit that changes for the worse never brings the worse end
    nearer, unless so many have changed so alike that they are significantly worse.
    units: equal ones that these are worth. Assumes: independent units, and none that changes by more than the reach.
    Of runs that are exactly theta worse because about five of 30 to 1,000 utterances fail altogether, at most 5% pass, with and without
    others that vary (`steelyard certify --full --only "few items changed"`).
    Reference: BonettPrice2012, whose two items count with a weight here; the rule of three for no change at all.

    >>> unseen_changes(np.zeros(200), 1.0), unseen_changes(np.full(200, -0.1), 1.0)
    (UnseenChanges(units=200, below=3.3333333333333335, above=3.3333333333333335), None)
    """
    d = np.asarray(changes, float).ravel()
    n = len(d)
    differ = int(np.count_nonzero(d))
    start, end = max(n / 8, FEW), max(n / 4, min(FEW, n))
    if n < 2 or differ >= end:
        return None
    few = 1.0 if differ <= start else (end - differ) / (end - start)
    below, above = (_squares(d, turned, reach) for turned in (-1.0, 1.0))
    return UnseenChanges(units=n if units is None else units, below=few * below, above=few * above) if below + above > 0 else None


def _squares(d: FloatArray, towards: float, reach: float) -> float:
    """2 w R^2 of the end that lies towards -1 or 1, before the share of units that differ counts."""
    this_way, other_way = np.maximum(towards * d, 0.0), np.maximum(-towards * d, 0.0)
    farthest = max(reach, float(this_way.max(initial=0.0)))
    if not 0 < farthest < math.inf:
        return 0.0
    moved = other_way / farthest
    return 2 * WEIGHT * max(0.0, 1 - float(moved @ moved) / ENOUGH) * farthest**2
