"""Inference for a function of sums: the delta method with t, and the bootstrap over units.

One page serves means, ratios, R^2, calibration error, and every metric of a table when items come in groups, carry
weights or are repeated: the unit is then the group (or the item with all its repeats), and its row holds its sums. Groups of
a metric that is put together from classes are worth what they are worth class by class: recall rests on the positives alone,
and if most of them lie in one group it is a recall of one group, however many groups there are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.intervals.class_reach import ClassReach, class_reach
from steelyard_old.infer.intervals.clusters import ClusterVariance, Groups, bell_mccaffrey_of, cluster_spread
from steelyard_old.infer.normal import tail
from steelyard_old.infer.resampling import bootstrap
from steelyard_old.infer.resampling.bootstrap import BLOCK, CACHED, redraw
from steelyard_old.metrics.sums import SumStatistic
from steelyard_old.tally.rounding import SUMS, rounding, without_rounding
from steelyard_old.tally.sums import SparseRows, Sums, sum_units

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
WHOLE = 0.9  # the most that a group counts as holding of what it adds to: a class that lies in it alone shows no spread
BUCKETS = 4096
FEW = 4  # columns up to which picking units one by one is cheaper than counting them


def student(p: float, df: float) -> float:
    """The p quantile of Student's t with df degrees of freedom. Reference: Student1908."""
    from scipy.special import stdtrit

    return float(stdtrit(df, p))


def spread(sums: Sums, statistic: SumStatistic) -> ClusterVariance:
    """The linearised variance over units, and its degrees of freedom: G/(G-1) sum_g u_g^2 with G - 1 for G units of one size.

    Units of different sizes have the variance and the degrees of freedom of `cluster_spread`, and of a metric of classes in few groups
    that of one item more (`ClassReach.unseen`); items of different weights have one degree of freedom less than the equal items that
    they are worth (Kish1965).
    Undefined: fewer than two units. Reference: CameronMiller2015, equation 11; BellMcCaffrey2002; Miller2024, section 2.2.

    >>> rows = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 9.0]])
    >>> mean = SumStatistic(lambda s: s[..., 1] / s[..., 0], lambda s: np.array([-s[1] / s[0] ** 2, 1 / s[0]]))
    >>> round(spread(Sums(rows=rows, count=np.ones(3, int), answers=3), mean).variance, 6)
    4.333333
    """
    n = sums.n
    if n < 2:
        raise bootstrap.Degenerate("fewer than two units")
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = statistic.gradient(sums.totals())
    if not np.isfinite(gradient).all():  # the root of 0, where every error is 0
        raise bootstrap.Degenerate("the units do not vary")
    u: FloatArray = sums.rows @ gradient
    often = sums.count.astype(float)
    u -= (often @ u) / n  # zero by theory for ratios; kills the rounding of large totals
    terms = abs(sums.rows) @ np.abs(gradient)  # what the differences were computed from
    u = without_rounding(u, float(terms.max(initial=0.0)), max(SUMS, sums.answers))
    if sums.sizes is None:
        return ClusterVariance(n / (n - 1) * float(often @ u**2), n - 1 if sums.worth is None else max(1.0, sums.worth - 1))
    single = None if sums.single is None else sums.single(gradient)
    squares = None if single is None else float(single @ single)
    if statistic.classes and np.any(u) and (found := class_groups(sums, gradient, statistic.classes)) is not None:
        variance, df = cluster_spread(u, found.sizes, squares=squares, answers=sums.answers, leverage=found.leverage)
        if (items := class_reach(sums, gradient, statistic.classes)) is not None:
            variance += items.unseen(min(_plain(sums).effective, items.worth))
        return ClusterVariance(variance, min(df, found.df))
    effects, sizes = (np.repeat(x, sums.count) for x in (u, sums.sizes))
    return cluster_spread(effects, sizes, squares=squares, answers=sums.answers)


def groups_of(sums: Sums, statistic: SumStatistic) -> Groups:
    """The groups as the statistic sees them: by their items, or class by class for a metric of classes.

    Classes are the true ones, by `class_reach`. A metric that is divided by predictions alone, as precision is, has the classes that were
    predicted: a system that says positive in two groups only has a precision of two groups.
    Reference: CarterSchnepelSteigerwald2017; Satterthwaite1946.
    """
    plain = _plain(sums)
    if not statistic.classes or plain.too_few:
        return plain
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = statistic.gradient(sums.totals())
    beyond_hits = gradient.reshape(-1, 3 * statistic.classes + 1)[:, statistic.classes :]
    if not np.isfinite(gradient).all() or not np.any(beyond_hits):  # without a single hit no class counts for more than another
        return plain
    found: ClassGroups | ClassReach | None
    if np.any(beyond_hits[:, : statistic.classes]) or np.any(beyond_hits[:, -1]):
        found = class_reach(sums, gradient, statistic.classes)
    else:
        found = class_groups(sums, gradient, statistic.classes)
    if found is None:
        return plain
    return Groups(found.sizes[found.sizes > 0], min(plain.effective, found.worth))


def _plain(sums: Sums) -> Groups:
    return Groups.of(np.ones(sums.n) if sums.sizes is None else np.repeat(sums.sizes, sums.count))


def standard_error(sums: Sums, statistic: SumStatistic) -> float:
    """The linearised standard error, the root of the variance of `spread` (s/sqrt(n) for a mean of items).

    Undefined: fewer than two units. Reference: CameronMiller2015, equation 11; Miller2024, section 2.2.

    >>> rows = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 9.0]])
    >>> mean = SumStatistic(lambda s: s[..., 1] / s[..., 0], lambda s: np.array([-s[1] / s[0] ** 2, 1 / s[0]]))
    >>> round(standard_error(Sums(rows=rows, count=np.ones(3, int), answers=3), mean), 6)
    2.081666
    """
    return math.sqrt(spread(sums, statistic).variance)


def linearised(
    sums: Sums, statistic: SumStatistic, confidence_level: float = 0.95, side: str = "two", *, found: ClusterVariance | None = None
) -> tuple[float, float]:
    """estimate +- t x standard error: Student's interval for a mean, the delta method for the rest.

    t has G - 1 degrees of freedom for G units of one size, and those of Bell and McCaffrey for groups of different sizes.
    `found` is `spread`, where it is known already. Assumes: enough units (`Groups.too_few`). Undefined: no spread.
    Reference: Student1908; CameronMiller2015, section VI.A (t with G - 1).

    >>> rows = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 9.0]])
    >>> mean = SumStatistic(lambda s: s[..., 1] / s[..., 0], lambda s: np.array([-s[1] / s[0] ** 2, 1 / s[0]]))
    >>> [round(x, 4) for x in linearised(Sums(rows=rows, count=np.ones(3, int), answers=3), mean)]
    [-3.9567, 13.9567]
    """
    variance, df = found or spread(sums, statistic)
    if not variance > 0:
        raise bootstrap.Degenerate("the units do not vary")
    estimate = float(statistic.value(sums.totals()))
    reach = student(1 - tail(confidence_level, side), df) * math.sqrt(variance)
    return estimate - reach, estimate + reach


def student_mean(n: int, mean: float, squares: float, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """Student's interval for the mean of n items, from what an engine adds up in two passes: the mean and the squares around it.

    Formula: mean +- t_{n-1} sqrt(squares / (n (n - 1))), with squares = sum of (x - mean)^2: `linearised` of the items themselves.
    Assumes: independent items, enough of them. Undefined: fewer than two items, or no spread.
    Reference: Student1908.

    >>> [round(x, 4) for x in student_mean(3, 5.0, 26.0)]
    [-3.9567, 13.9567]
    """
    if n < 2 or not squares > n * rounding(abs(mean)) ** 2:
        raise bootstrap.Degenerate("fewer than two units" if n < 2 else "the units do not vary")
    reach = student(1 - tail(confidence_level, side), n - 1) * math.sqrt(squares / n / (n - 1))
    return mean - reach, mean + reach


def resampled(
    sums: Sums, statistic: SumStatistic, method: str, confidence_level: float, side: str, *, draws: int, seed: int
) -> tuple[float, float, int]:
    """Percentile, BCa or studentized bootstrap over units; the third number is how many draws were undefined.

    More than 4,096 distinct units are first dealt into 4,096 random buckets, which are then resampled: for sums the
    law is the same to first order and the cost no longer grows with n. Reference: DavisonHinkley1997, chapters 2 and 5.
    """
    draws = bootstrap.check_draws(draws, confidence_level, side)
    if sums.n < 2:
        raise bootstrap.Degenerate("fewer than two units")
    rng = np.random.Generator(np.random.PCG64(seed))
    units = bucketed(in_order(sums), rng)
    of_units = units.dense
    estimate = float(statistic.value(sums.totals()))
    values, errors = [], []
    rows = max(1, BLOCK // len(units.rows))
    for start in range(0, draws, rows):
        block = min(rows, draws - start)
        if method != "studentized":
            values.append(statistic.value(_redrawn(units, block, rng)))
            continue
        totals, own = _redrawn_with_errors(units, statistic, block, rng)
        values.append(statistic.value(totals))
        errors.append(own)
    drawn = np.concatenate(values)
    defined = np.isfinite(drawn)
    bootstrap.refuse_undefined(int(defined.sum()), draws, confidence_level, side)
    if method == "percentile":
        ends = bootstrap.percentile(drawn[defined], confidence_level, side)
    elif method == "studentized":
        ends = bootstrap.studentized(
            drawn[defined], np.concatenate(errors)[defined], estimate, standard_error(units, statistic), confidence_level, side
        )
    else:
        left_out = statistic.value(units.totals() - of_units)
        usable = np.isfinite(left_out)
        ends = bootstrap.bca(drawn[defined], estimate, left_out[usable], units.count[usable], confidence_level, side)
    return (*ends, int(draws - defined.sum()))


def in_order(sums: Sums) -> Sums:
    """Equal units merged and sorted by their numbers, so that the order of the file does not choose which one a draw meets."""
    order = np.lexsort(sums.dense.T[::-1])
    rows, count = sums.dense[order], sums.count[order]
    new = np.concatenate([[True], np.any(rows[1:] != rows[:-1], axis=1)])
    starts = np.flatnonzero(new)
    return Sums(rows=rows[starts], count=np.add.reduceat(count, starts), answers=sums.answers, units=sums.units)


def bucketed(sums: Sums, rng: np.random.Generator) -> Sums:
    """The same totals in at most 4,096 units."""
    if len(sums.rows) <= BUCKETS:
        return sums
    rows = np.repeat(sums.dense, sums.count, axis=0)
    bucket = rng.permutation(len(rows)) % BUCKETS
    return Sums(rows=sum_units(rows, bucket, BUCKETS), count=np.ones(BUCKETS, np.int64), answers=sums.answers, units=sums.units)


def _redrawn(units: Sums, draws: int, rng: np.random.Generator) -> FloatArray:
    """The totals of redrawn samples, one row each. Where most units are one of a kind they are picked one by one and added up, which
    costs a fraction of counting how often each came; else a multinomial counts. The law is the same."""
    n, rows = units.n, units.dense
    varying = np.flatnonzero(np.ptp(rows, axis=0) > 0)
    if n > min(2 * len(rows), BUCKETS) or len(varying) > FEW:
        return redraw(units.count, draws, rng) @ rows
    picked = rng.integers(0, n, size=(draws, n), dtype=np.uint16)
    totals = np.tile(rows[0] * n, (draws, 1))
    of_unit = [np.repeat(rows[:, column], units.count) for column in varying]
    step = max(1, CACHED // n)
    place, number = np.empty((step, n), np.intp), np.empty((step, n))  # the same room again and again
    for start in range(0, draws, step):
        some = slice(start, min(start + step, draws))
        here = place[: some.stop - start]
        here[...] = picked[some]
        for column, each in zip(varying, of_unit, strict=True):
            np.take(each, here, out=number[: len(here)], mode="clip").sum(axis=1, out=totals[some, column])
    return totals


def _redrawn_with_errors(units: Sums, statistic: SumStatistic, draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """The totals of redrawn samples and the linearised standard error of each.

    Few columns: their products are added up along with them, which gives every error without holding how often each unit came.
    """
    n, rows = units.n, units.dense
    varying = np.flatnonzero(np.ptp(rows, axis=0) > 0)
    if len(varying) > FEW // 2:
        weights = redraw(units.count, draws, rng)
        totals = weights @ rows
        return totals, _errors(units, weights, totals, statistic)
    middle = units.totals() / n
    away = (rows - middle)[:, varying]
    first, second = np.triu_indices(len(varying))
    wide = Sums(rows=np.concatenate([rows, away[:, first] * away[:, second]], axis=1), count=units.count, answers=units.answers)
    drawn = _redrawn(wide, draws, rng)
    totals, products = drawn[:, : rows.shape[1]], drawn[:, rows.shape[1] :]
    gradients = _gradients(totals, statistic)[:, varying]
    twice = np.where(first == second, 1.0, 2.0)
    with np.errstate(invalid="ignore"):  # a sample without a slope has no error of its own
        squares = ((gradients[:, first] * gradients[:, second]) * products) @ twice
        sums = (gradients * (totals[:, varying] - n * middle[varying])).sum(1)
        return totals, np.sqrt(np.maximum(squares - sums**2 / n, 0) * n / (n - 1))


def _gradients(totals: FloatArray, statistic: SumStatistic) -> FloatArray:
    """The gradient at each row of totals: all at once where the statistic takes columns for numbers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        try:
            at_once = np.asarray(statistic.gradient(totals.T))
        except (ValueError, TypeError):
            at_once = np.empty(0)
        if at_once.shape == totals.T.shape and np.array_equal(at_once[:, 0], statistic.gradient(totals[0]), equal_nan=True):
            return np.asarray(at_once.T)
        return np.array([statistic.gradient(total) for total in totals])


def _errors(units: Sums, weights: npt.NDArray[np.int64], totals: FloatArray, statistic: SumStatistic) -> FloatArray:
    """The linearised standard error of every redrawn sample."""
    n = units.n
    gradients = np.array([statistic.gradient(total) for total in totals])
    u = gradients @ units.dense.T  # (draws, units)
    mean = np.einsum("bu,bu->b", weights, u) / n
    second = np.einsum("bu,bu->b", weights, u * u) - n * mean**2
    out: FloatArray = np.sqrt(np.maximum(second, 0) * n / (n - 1))
    return out


# ---- groups of a metric that is put together from classes ------------------------------------------------------------


class ClassGroups(NamedTuple):
    """Of every group its size and leverage; of all groups the degrees of freedom and how many equal ones they are worth."""

    sizes: FloatArray
    leverage: FloatArray
    df: float
    worth: float


def class_groups(sums: Sums, gradient: FloatArray, classes: int) -> ClassGroups | None:
    """What groups are worth for a statistic of margins [hits, truths, predictions of each class, n], of one system or of two side by side.

    Formula: in class k, group g has the effect e_gk = gradient . margins and the share a_gk of what the class is counted among: the
    absolute terms of that product for truths, predictions and n. Class k has the worth 1 / sum a^2 and Bell and McCaffrey's
    degrees of freedom of its a. Its variance v_k is what was seen, sum e^2 / (1 - a), or what follows if rates of groups spread
    alike in every class. Worth and degrees of freedom of all are Satterthwaite's, (sum v)^2 / sum (v^2 / df), by whichever of the
    two leaves less; sizes, sum v a, and leverages, sum v a^2 / sum v a, are by the mean of both.
    Undefined: no class is counted among anything (None), as in mcc and kappa where no prediction is a truth of any item.
    Assumes: independent groups. Reference: BellMcCaffrey2002; Satterthwaite1946; CarterSchnepelSteigerwald2017.
    """
    unit, kind, effect, term = _by_class(sums, gradient, classes)
    if not len(term):
        return None
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
