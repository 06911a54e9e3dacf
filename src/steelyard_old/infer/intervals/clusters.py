"""Groups of items: how many there really are, and the variance and degrees of freedom that groups of unequal size leave."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
FEWEST = 5  # groups, below which nothing is said about their spread
LEAST = 4.0  # groups of equal size that unequal ones must be worth
ENOUGH = 20.0  # the same, below which a warning is given


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups by their sizes (items, or whatever weighs them), all above 0. The one rule for few groups is here.

    `effective` is (sum m)^2 / sum m^2, the number of equal groups that these are worth where items of a group are alike.
    Reference: CarterSchnepelSteigerwald2017; Kish1965.

    >>> giant = Groups.of([200.0] + 30 * [2.0])
    >>> giant.number, round(giant.effective, 2), round(giant.largest, 3), giant.too_few
    (31, 1.68, 0.769, True)
    >>> Groups.of([5.0] * 20).few, Groups.of([5.0] * 19).few
    (False, True)
    """

    sizes: FloatArray
    worth: float | None = None  # known to be worth this many, where a metric rests on some classes of their items

    @classmethod
    def of(cls, sizes: npt.ArrayLike) -> Groups:
        """Groups without any item that counts are none."""
        every = np.asarray(sizes, float)
        return cls(every[every > 0])

    @property
    def number(self) -> int:
        """How many groups."""
        return len(self.sizes)

    @property
    def effective(self) -> float:
        """How many equal groups they are worth."""
        if self.worth is not None:
            return self.worth
        return float(self.sizes.sum()) ** 2 / float(self.sizes @ self.sizes) if self.number else 0.0

    @property
    def largest(self) -> float:
        """The share of the largest."""
        return float(self.sizes.max() / self.sizes.sum()) if self.number else 0.0

    @property
    def too_few(self) -> bool:
        """Whether no interval can be given."""
        return self.number < FEWEST or self.effective < LEAST * (1 - 1e-12)

    @property
    def few(self) -> bool:
        """Whether an interval needs a warning."""
        return self.effective < ENOUGH * (1 - 1e-12)

    def words(self, what: str = "groups") -> str:
        """The groups, and what they are worth where their sizes take something away.

        >>> Groups.of([5.0] * 4).words(), Groups.of([200.0] + 30 * [2.0]).words()
        ('4 groups', '31 groups of unequal size, worth 1.7 equal ones, the largest with 77% of the items')
        """
        if self.effective > 0.95 * self.number:
            return f"{self.number} {what}"
        worth = f"{self.effective:.1f}" if self.effective < 10 else f"{self.effective:.0f}"
        if self.worth is not None:
            return f"{self.number} {what}, worth {worth} equal ones because the items that it rests on lie in few of them"
        return f"{self.number} {what} of unequal size, worth {worth} equal ones, the largest with {self.largest:.0%} of the items"


class ClusterVariance(NamedTuple):
    """The variance of an estimate over groups, and the degrees of freedom that it has."""

    variance: float
    df: float


def bell_mccaffrey(sizes: FloatArray) -> float:
    """The degrees of freedom of the CR2 variance of a mean under independent items; G - 1 for equal groups, fewer for unequal ones.

    Formula: Satterthwaite's (tr B)^2 / tr B^2, B the covariance of the adjusted group residuals. With h = m / N and
    q = m h / (1 - h): N^2 / (sum m^2 + (sum q)^2 - sum q^2). Only group sizes enter, so the cost is that of the groups.
    Undefined: fewer than two groups. Reference: BellMcCaffrey2002; PustejovskyTipton2018.

    >>> round(bell_mccaffrey(np.full(8, 3.0)), 9), round(bell_mccaffrey(np.array([200.0] + 30 * [2.0])), 3)
    (7.0, 1.659)
    """
    total = float(sizes.sum())
    h = sizes / total
    q = sizes * h / (1 - h)
    return total**2 / (float(sizes @ sizes) + float(q.sum()) ** 2 - float(q @ q))


def bell_mccaffrey_of(share: FloatArray, kind: npt.NDArray[np.int64]) -> FloatArray:
    """The same for several sets of groups at once: shares of one in each set, below 1, and the set that each belongs to.

    Reference: BellMcCaffrey2002; PustejovskyTipton2018.

    >>> [round(float(x), 3) for x in bell_mccaffrey_of(np.array([0.25] * 4 + [0.5, 0.5]), np.array([0] * 4 + [1, 1]))]
    [3.0, 1.0]
    """
    q = share * share / (1 - share)
    squares, first, second = (np.bincount(kind, weights=each) for each in (share * share, q, q * q))
    return np.asarray(1 / (squares + first**2 - second))


def cr2(effects: FloatArray, leverage: FloatArray) -> float:
    """The CR2 variance: squared group effects, each divided by 1 minus its leverage, which for a mean is m_g / N.

    Formula: V = sum u_g^2 / (1 - h_g), u_g = sum over the group of (x - mean) / N. It is the sandwich with residuals
    adjusted by (I - H_gg)^(-1/2) for a regression on a constant, where that matrix has a closed form. Equal groups: CR1.
    Assumes: independent groups; unbiased where items are independent, too. Reference: BellMcCaffrey2002.

    >>> round(cr2(np.array([0.1, -0.1]), np.array([0.5, 0.5])), 12)
    0.04
    """
    return float(effects**2 @ (1 / (1 - leverage)))


def alike(effects: FloatArray, sizes: FloatArray, squares: float) -> float | None:
    """The intraclass correlation by analysis of variance: group effects (sums, around 0) and the squares of all single ones.

    Undefined: groups of one item, or no spread. Reference: Fleiss2003, chapter 15.

    >>> round(alike(np.array([2.0, -2.0]), np.array([2.0, 2.0]), 4.0), 12)
    1.0
    """
    groups, total = len(sizes), float(sizes.sum())
    if groups < 2 or not total > groups * (1 + 1e-12):
        return None
    among = float(effects**2 @ (1 / sizes))
    between, within = among / (groups - 1), max(0.0, squares - among) / (total - groups)
    size = (total - float(sizes @ sizes) / total) / (groups - 1)
    spread = between + (size - 1) * within
    return (between - within) / spread if spread > 0 else None


def wanted_for_skewness(effects: FloatArray) -> float:
    """How many groups t wants where their effects are skewed: 25 times the squared skewness.

    Formula: 25 (m3 / m2^1.5)^2, m the central moments of the effects. Assumes: groups of about one size. No spread: 0.
    Reference: Cochran1977, section 2.15.

    >>> wanted_for_skewness(np.array([-1.0, 0.0, 1.0])), round(wanted_for_skewness(np.array([-1.0] + [0.1] * 9)), 1)
    (0.0, 177.8)
    """
    away = effects - effects.mean()
    second, third = float((away**2).mean()), float((away**3).mean())
    return 25 * third * third / second**3 if second > 0 else 0.0


def cluster_spread(
    effects: FloatArray,
    sizes: FloatArray,
    *,
    squares: float | None = None,
    answers: float | None = None,
    leverage: FloatArray | None = None,
) -> ClusterVariance:
    """The variance of an estimate over groups of any sizes, with Bell and McCaffrey's degrees of freedom; 0 where no group differs.

    Formula: the larger of CR2 and of squares x (1 + (kappa - 1) rho): rho the intraclass correlation that all groups show,
    kappa = sum m^2 / N. A few large groups that happen to agree make CR2 small; what the small groups show of how alike items
    of a group are then still counts. For equal groups it is CR2, which is CR1, with t(G - 1). `effects`: u_g, the first-order
    effect of each group on the estimate. `squares`: the sum of squared effects of all single answers, where they are known;
    `answers`: how many those are, if sizes are not counted in them; `leverage`: of an estimate that is not a mean over sizes.
    Assumes: independent groups, with a likeness that does not depend on their size. Undefined: fewer than two groups.
    Reference: BellMcCaffrey2002; PustejovskyTipton2018; Moulton1986 for the second variance.

    >>> rates, sizes = np.array([0.9, 1.0, 0.4, 0.8, 1.0]), np.full(5, 10.0)
    >>> u = sizes * (rates - 0.82) / 50
    >>> [round(x, 6) for x in cluster_spread(u, sizes, squares=0.82 * 0.18 / 50)]
    [0.0124, 4.0]
    """
    used = sizes > 0
    m = sizes[used]
    if len(m) < 2:
        return ClusterVariance(math.nan, math.nan)
    empty = effects[~used]
    variance = cr2(effects[used], m / float(m.sum()) if leverage is None else leverage[used]) + float(empty @ empty)
    if squares is not None and variance > 0:
        total = float(m.sum())
        m = m * ((total if answers is None else answers) / total)
        if (rho := alike(effects[used], m, squares)) is not None:
            kappa = float(m @ m) / float(m.sum())
            variance = max(variance, squares * (1 + (kappa - 1) * rho))
    return ClusterVariance(variance, bell_mccaffrey(m))
