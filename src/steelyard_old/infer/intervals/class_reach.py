"""What a single item can do to a metric of classes: which class carries it, what its groups are worth, and what a few items leave open."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.intervals.clusters import ENOUGH
from steelyard_old.tally.sums import SparseRows, Sums

FloatArray = npt.NDArray[np.float64]
ALL = ENOUGH / 2  # equal groups, up to which one more item is counted in whole; none of it from ENOUGH on


class ClassReach(NamedTuple):
    """How many equal groups all are worth, what each weighs, and the most that another answer to one item changes the estimate."""

    worth: float
    sizes: FloatArray
    reach: float

    def unseen(self, groups: float) -> float:
        """The variance of one item more, of which nobody knows whether it would be right: reach^2, fading from 10 groups to none at 20.

        What t makes of the groups at hand is all that they show. If a class has six items, and all of them are lost, the groups agree,
        and show nothing of the seventh; nor does an interval over few groups allow for it by itself. One item is the least that can be
        allowed for, and little where a class has many. Of macro F1, F1, balanced accuracy and mcc in 6 to 15 groups, compared, the lower
        bounds of 95% then miss in more than 7% of runs in one setting of a hundred, where without it they did in one of twelve
        (`steelyard certify --full --only "label metrics in few groups"`).
        groups: how many equal ones they are worth. Reference: BonettPrice2012 and AgrestiCaffo2000 for items that are not there.

        >>> lone = ClassReach(worth=6.0, sizes=np.ones(6), reach=0.1)
        >>> [round(lone.unseen(groups), 4) for groups in (6.0, 10.0, 15.0, 20.0)]
        [0.01, 0.01, 0.005, 0.0]
        """
        share = min(1.0, max(0.0, (ENOUGH - groups) / (ENOUGH - ALL)))
        return share * self.reach**2


def class_reach(sums: Sums, gradient: FloatArray, classes: int) -> ClassReach | None:
    """What groups are worth by the true classes of their items, each as far as an answer to one of them can change the estimate.

    Formula: with r_k the range of the first-order effects that the possible answers to an item of class k have (of two systems: of both
    answers), and m_gk the items of class k in group g, V_k = r_k^2 sum_g m_gk^2 is the variance of class k where the answers of a group
    go together. A class alone is worth w_k = (sum_g m_gk)^2 / sum_g m_gk^2, all together (sum V)^2 / sum (V^2 / w), by Satterthwaite.
    What was answered enters by the slopes alone. Were classes weighed by the variance that their answers happen to show, the runs that
    show little where little is known would be left in and the others left out, and what is left in would miss.
    Undefined: no answer makes a difference (None). Assumes: independent groups.
    Reference: Satterthwaite1946; Kish1965; CarterSchnepelSteigerwald2017.

    >>> rows = np.array([[3.0, 1, 4, 2, 4, 2, 6]] * 3)  # hits, truths, predictions of two classes, all: three equal groups
    >>> recall = np.array([0, 1 / 6, 0, -1 / 12, 0, 0, 0])  # of the second class
    >>> found = class_reach(Sums(rows=rows, count=np.ones(3, int), answers=18), recall, 2)
    >>> round(found.worth, 9), round(found.reach, 4)
    (3.0, 0.1667)
    """
    if not np.isfinite(gradient).all():
        return None
    slopes = gradient.reshape(-1, 3 * classes + 1)  # one line for each system
    ranges = sum(_ranges(line, classes) for line in slopes)
    assert isinstance(ranges, np.ndarray)
    unit, kind, items = _truths(sums, classes)
    often = sums.count[unit]
    total = np.bincount(kind, weights=often * items, minlength=classes + 1)
    squares = np.bincount(kind, weights=often * items**2, minlength=classes + 1)
    ranges = np.where(total > 0, ranges, 0.0)
    spread = ranges**2 * squares
    if not spread.sum() > 0:
        return None
    weight = spread / spread.sum()
    inverse = squares / np.where(total > 0, total, 1.0) ** 2
    sizes = np.bincount(unit, weights=(weight / np.where(total > 0, total, 1.0))[kind] * items, minlength=len(sums.rows))
    return ClassReach(1 / float(weight**2 @ inverse), np.asarray(sizes, float), float(ranges.max()))


def _ranges(slopes: FloatArray, classes: int) -> FloatArray:
    """How far apart the effects of the answers to an item lie, by its true class; the last is that of items of no class at hand."""
    hit, prediction = slopes[:classes], slopes[2 * classes : 3 * classes]
    right = hit + prediction
    if classes == 1:  # one class of many: all other answers and items are alike, and count for nothing
        return np.array([abs(right[0]), abs(prediction[0])])
    order = np.argsort(prediction, kind="stable")
    lowest, highest = np.full(classes, prediction[order[0]]), np.full(classes, prediction[order[-1]])
    lowest[order[0]], highest[order[-1]] = prediction[order[1]], prediction[order[-2]]  # a wrong answer is another class
    return np.append(np.maximum(right, highest) - np.minimum(right, lowest), float(np.ptp(prediction)))


def _truths(sums: Sums, classes: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], FloatArray]:
    """(group, true class, items) wherever a group has some; items of no class at hand are the class after the last."""
    groups = len(sums.rows)
    if isinstance(sums.rows, SparseRows):
        place = (sums.rows.column >= classes) & (sums.rows.column < 2 * classes)
        unit, kind, items = sums.rows.unit[place], sums.rows.column[place] - classes, sums.rows.value[place]
        whole = sums.rows.part(3 * classes, 3 * classes + 1)
    else:
        unit, kind = (each.ravel() for each in np.indices((groups, classes)))
        items, whole = sums.rows[:, classes : 2 * classes].ravel(), sums.rows[:, 3 * classes]
    rest = whole - np.bincount(unit, weights=items, minlength=groups)
    rest[rest < 1e-9 * whole] = 0.0  # sums of fractional shares miss 0 by a last bit
    unit = np.concatenate([unit, np.arange(groups)])
    kind = np.concatenate([kind, np.full(groups, classes)])
    items = np.concatenate([items, rest])
    used = items > 0
    return unit[used].astype(np.int64), kind[used].astype(np.int64), items[used]
