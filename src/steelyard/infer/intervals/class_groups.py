"""Groups of a metric that is put together from classes: they are worth what they are worth class by class.

Recall rests on the positives alone. If most of them lie in one group it is a recall of one group, however many groups there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard.infer.intervals.clusters import bell_mccaffrey_of
from steelyard.tally.sums import SparseRows, Sums

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
WHOLE = 0.9  # the most that a group counts as holding of what it adds to: a class that lies in it alone shows no spread


class ClassGroups(NamedTuple):
    """Of every group its size and leverage; of all groups the degrees of freedom and how many equal ones they are worth."""

    sizes: FloatArray
    leverage: FloatArray
    df: float
    worth: float


def class_groups(sums: Sums, gradient: FloatArray, classes: int) -> ClassGroups:
    """What groups are worth for a statistic of margins [hits, truths, predictions of each class, n], of one system or of two side by side.

    Formula: in class k, group g has the effect e_gk = gradient . margins and the share a_gk of what the class is counted among: the
    absolute terms of that product for truths, predictions and n. Class k has the worth 1 / sum a^2 and Bell and McCaffrey's
    degrees of freedom of its a. Its variance v_k is what was seen, sum e^2 / (1 - a), or what follows if rates of groups spread
    alike in every class. Worth and degrees of freedom of all are Satterthwaite's, (sum v)^2 / sum (v^2 / df), by whichever of the
    two leaves less; sizes, sum v a, and leverages, sum v a^2 / sum v a, are by the mean of both.
    Assumes: independent groups. Reference: BellMcCaffrey2002; Satterthwaite1946; CarterSchnepelSteigerwald2017.
    """
    unit, kind, effect, term = _by_class(sums, gradient, classes)
    total = np.bincount(kind, weights=term)[kind]
    share = term / total
    effect = effect - share * np.bincount(kind, weights=effect)[kind]
    held = np.minimum(share, WHOLE)
    seen = np.bincount(kind, weights=effect**2 / (1 - held))
    even = np.bincount(kind, weights=term**2)
    inverse, df = np.bincount(kind, weights=share**2), bell_mccaffrey_of(held, kind)
    shares = [each / each.sum() for each in (seen, even) if each.sum() > 0]
    weight = np.mean(shares, axis=0)
    worst = max(shares, key=lambda each: float(each**2 @ inverse))
    sizes = np.bincount(unit, weights=weight[kind] * share, minlength=len(sums.rows))
    above = np.bincount(unit, weights=weight[kind] * share * held, minlength=len(sums.rows))
    leverage = np.divide(above, sizes, out=np.zeros_like(above), where=sizes > 0)
    return ClassGroups(np.asarray(sizes, float), leverage, 1 / float(worst**2 @ (1 / df)), 1 / float(worst**2 @ inverse))


def _by_class(sums: Sums, gradient: FloatArray, classes: int) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """(group, class, effect, size), one entry for each class that a group has; n counts with the truths."""
    slopes = gradient.reshape(-1, 3 * classes + 1)  # one line for each system
    hit, truth, prediction = (slopes[:, i * classes : (i + 1) * classes] for i in range(3))
    of_all = np.broadcast_to(slopes[:, -1:], truth.shape)
    slope = np.concatenate([hit, truth + of_all, prediction], axis=1)
    size = np.concatenate([0 * hit, np.abs(truth) + np.abs(of_all), np.abs(prediction)], axis=1)  # what hits are counted among
    by_class: Any = _sparse if isinstance(sums.rows, SparseRows) else _dense
    unit, kind, effect, term = by_class(sums.rows, slope, size, classes)
    used = term > 0
    return unit[used], np.unique(kind[used], return_inverse=True)[1], effect[used], term[used]


def _dense(rows: Any, slope: FloatArray, size: FloatArray, classes: int) -> tuple[Any, Any, Any, Any]:
    margins = rows.reshape(len(rows), -1, 3 * classes + 1)[:, :, :-1]
    effect, term = ((margins * each).reshape(len(rows), -1, classes).sum(1).ravel() for each in (slope, size))
    return np.repeat(np.arange(len(rows)), classes), np.tile(np.arange(classes), len(rows)), effect, term


def _sparse(rows: SparseRows, slope: FloatArray, size: FloatArray, classes: int) -> tuple[Any, Any, Any, Any]:
    system, place = np.divmod(rows.column, 3 * classes + 1)
    kept = place < 3 * classes
    system, place, value = system[kept], place[kept], rows.value[kept]
    key, entry = np.unique(rows.unit[kept] * classes + place % classes, return_inverse=True)
    effect, term = (np.bincount(entry, weights=each[system, place] * value) for each in (slope, size))
    return key // classes, key % classes, effect, term
