"""An area under a curve (AUC, average precision) and its interval, which holds with few items of a class too."""

from __future__ import annotations

import math

from steelyard_old.infer.normal import STANDARD, wilson
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.late_dataclass import dataclass

FULL, NONE = 5.0, 15.0  # misses below which Wilson's ends count in full, and from which they do not count


def on_logit_scale(estimate: float, error: float, critical: float) -> tuple[float, float]:
    """estimate +- critical x error on the logit scale, so that the interval stays inside (0, 1). Reference: Pepe2003, section 5.2."""
    if not (0 < estimate < 1 and error > 0):
        raise Degenerate("the estimate lies on the end of its range or has no spread")
    centre, reach = math.log(estimate / (1 - estimate)), critical * error / (estimate * (1 - estimate))
    low, high = (1 / (1 + math.exp(-x)) for x in (max(centre - reach, -700), min(centre + reach, 700)))
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """An area with the variance and the degrees of freedom of its estimate.

    trials: how many independent trials it is worth at least, for Wilson's ends. Of an AUC twice the smaller class: where an
    item of that class is either clear or ranked at random, 1 - AUC is half of the share of the latter. Of an average
    precision the positives, whose precisions it averages.
    """

    value: float
    variance: float
    df: float
    trials: float

    @property
    def spread(self) -> bool:
        """Whether the items show any spread that an error can be taken from."""
        return 0 < self.value < 1 and self.variance > 1e-30

    @property
    def scarcity(self) -> float:
        """How much Wilson's ends count: 1 with 5 misses or fewer (trials times the distance from the nearer end), 0 from 15 on.

        An error that was estimated from a few misses does not know of those that it has not seen. In between the share
        falls in a straight line, so that one more item moves the ends by a tenth of the gap at most.
        """
        if not self.spread:
            return 1.0
        misses = self.trials * min(self.value, 1 - self.value)
        return min(1.0, max(0.0, (NONE - misses) / (NONE - FULL)))

    def plain(self, tail: float) -> tuple[float, float]:
        """Student's t on the logit scale, leaving `tail` outside at each end.

        Undefined: a value of 0 or 1, or no spread. Reference: Pepe2003, section 5.2; Satterthwaite1946 for the degrees.
        """
        from steelyard_old.infer.intervals.sums import student

        if not self.spread:
            raise Degenerate("the estimate lies on the end of its range or has no spread")
        return on_logit_scale(self.value, math.sqrt(self.variance), -student(tail, self.df))

    def ends(self, tail: float) -> tuple[float, float]:
        """The outer of the plain ends and of Wilson's for value x trials of trials; Wilson's count as far as misses are scarce.

        Wilson's alone where there is no spread. Reference: Pepe2003, section 5.2; Wilson1927.

        >>> few = Area(value=0.9, variance=0.01, df=4.0, trials=10)
        >>> few.scarcity, [round(x, 4) for x in few.plain(0.025)], [round(x, 4) for x in few.ends(0.025)]
        (1.0, [0.2916, 0.9949], [0.2916, 0.9949])
        >>> perfect = Area(value=1.0, variance=0.0, df=4.0, trials=10)
        >>> [round(x, 4) for x in perfect.ends(0.025)]
        [0.7225, 1.0]
        """
        share = self.scarcity
        wide = wilson(self.value * self.trials, self.trials, critical=-STANDARD.inv_cdf(tail)) if share > 0 else (1.0, 0.0)
        if not self.spread:
            return wide
        low, high = self.plain(tail)
        return low - share * max(0.0, low - wide[0]), high + share * max(0.0, wide[1] - high)
