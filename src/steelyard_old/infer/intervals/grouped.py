"""A proportion over groups of items that belong together: Wilson with an effective n."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.intervals.clusters import Groups, alike, cluster_spread
from steelyard_old.infer.intervals.sums import student
from steelyard_old.infer.normal import tail, wilson
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
ROUNDING = 1e-12
UNSEEN = 0.5  # of a group: how much a design effect not yet seen weighs beside the groups that have mistakes


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedProportion:
    """A proportion, its design effect and what follows from it: n_effective = answers / design_effect, t with df."""

    estimate: float
    groups: int
    answers: float
    design_effect: float | None
    n_effective: float
    df: float

    def wilson(self, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
        """Wilson at the effective n with t for z. Reference: Franco2019; Korn1998."""
        critical = student(1 - tail(confidence_level, side), self.df)
        return wilson(self.estimate * self.n_effective, self.n_effective, confidence_level, side, critical=critical)


def grouped_proportion(successes: FloatArray, trials: FloatArray, answers: float) -> GroupedProportion:
    """The design effect of a ratio of group sums, y_g of n_g, and t for groups of unequal size.

    Formula: p = sum y / sum n; u_g = (y_g - p n_g) / sum n; d = max(1, v / (p (1-p) / m)), v the variance of `cluster_spread`
    and m answers in all. Few groups with mistakes show little of how alike they are: with k = (sum x)^2 / sum x^2 of the
    mistakes x_g, or of the right answers if that is less, deff = ((k-1) d + c max(d, m/G)) / (k-1 + c), c = 1/2. Where a
    single group has them all, deff is m/G at least; without any, groups count as items, because the chance of no mistake is
    at most p^G. So one mistake never raises the lower bound above that of none. t has Bell and McCaffrey's degrees of freedom.
    Assumes: groups sampled independently, with rates that do not depend on their size.
    Reference: Korn1998; Kish1965; BellMcCaffrey2002; Miller2024.

    >>> y, n = np.array([9.0, 10, 4, 8, 10]), np.full(5, 10.0)
    >>> g = grouped_proportion(y, n, 50)
    >>> round(g.estimate, 2), round(g.design_effect, 3), g.df
    (0.82, 6.166, 4.0)
    """
    used = trials > 0
    successes, trials = successes[used], trials[used]
    groups, total = len(trials), float(trials.sum())
    p = float(successes.sum()) / total
    if p <= ROUNDING or p >= 1 - ROUNDING:  # sums of fractional weights miss 0 and 1 by a last bit
        worth = min(float(groups), answers)
        return GroupedProportion(
            estimate=float(round(p)), groups=groups, answers=answers, design_effect=None, n_effective=worth, df=max(1, groups - 1)
        )
    if groups < 2:
        return GroupedProportion(estimate=p, groups=groups, answers=answers, design_effect=None, n_effective=1.0, df=1)
    binomial = p * (1 - p) / answers
    variance, df = cluster_spread((successes - p * trials) / total, trials, squares=binomial, answers=answers)
    seen = max(1.0, variance / binomial)
    telling = min(Groups.of(successes).effective, Groups.of(trials - successes).effective) - 1
    effect = (telling * seen + UNSEEN * max(seen, answers / groups)) / (telling + UNSEEN)
    return GroupedProportion(estimate=p, groups=groups, answers=answers, design_effect=effect, n_effective=answers / effect, df=df)


def intraclass_correlation(successes: FloatArray, trials: FloatArray) -> float | None:
    """The one-way ANOVA estimate of the intraclass correlation of right-or-wrong answers within groups.

    Undefined: all groups of one answer, or no spread at all. Reference: Fleiss2003, chapter 15.

    >>> round(intraclass_correlation(np.array([9.0, 10, 4, 8, 10]), np.full(5, 10.0)), 3)
    0.319
    """
    total = float(trials.sum())
    p = float(successes.sum()) / total
    return alike(successes - p * trials, trials, p * (1 - p) * total)
