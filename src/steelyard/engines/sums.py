"""What items add, summed by unit; and the first-order spread of anything made of the totals: value, influence, variance, degrees.

One formula for every metric and design: an item's influence is its row times the gradient, a unit's the sum of its items'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.data.design import Design, without_gaps
from steelyard.data.rows import DENSE, Rows, Sparse, dense, entries, size_of, sum_by, weigh
from steelyard.engines.certainty import NoAnswer
from steelyard.metrics.metric import Array, Metric, quotient

LAST_BITS = 458 * 2.0**-52  # of totals and of what is computed from them: what only rounding parts is equal
FEWEST, LEAST, ENOUGH = 5, 4.0, 20.0  # groups: none below so many, none worth less, a warning below
MOST_OF_A_CLASS = 0.9  # leverage that one group may have


class Statistic(NamedTuple):
    """A function of totals, and its gradient. classes: of how many classes the columns are margins, for each of the systems in them."""

    value: Callable[[Array], Array]
    gradient: Callable[[FloatArray], FloatArray]
    classes: int = 0


def statistic_of(metric: Metric, classes: int) -> Statistic:
    """What a metric makes of totals."""
    own = metric.gradient or (lambda totals: gradient(metric.value, totals))
    return Statistic(metric.value, own, classes if metric.margins else 0)


def difference_of(one: Statistic, columns: int, scale: float = 1.0) -> Statistic:
    """The second system's number minus `scale` times the first's, of rows side by side; what only rounding parts is equal."""

    def value(s: Array) -> Array:
        here, there = scale * one.value(s[..., :columns]), one.value(s[..., columns:])
        with np.errstate(invalid="ignore"):
            gap = there - here
            return np.asarray(np.where(np.abs(gap) <= 1e-14 * np.maximum(np.abs(here), np.abs(there)), 0.0, gap))

    def slope(s: FloatArray) -> FloatArray:
        return np.concatenate([-scale * one.gradient(s[:columns]), one.gradient(s[columns:])])

    return Statistic(value, slope, one.classes)


def gradient(value: Callable[[Array], Array], totals: FloatArray) -> FloatArray:
    """By the complex step: exact to the last bits, of any formula, without one being written. Reference: SquireTrapp1998."""
    k, parts = len(totals), []
    size = 1e-30 * np.maximum(1.0, np.abs(totals))
    block = max(1, 2_000_000 // k)
    for start in range(0, k, block):
        step = np.arange(start, min(k, start + block))
        at = np.tile(totals.astype(complex), (len(step), 1))
        at[np.arange(len(step)), step] += 1j * size[step]
        with np.errstate(all="ignore"):
            parts.append(value(at).imag / size[step])
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Sums:
    """Rows of units and how often each occurs. sizes: what units weigh, where they are not all alike. squares: the sum of squares of
    the effects of single answers, given a gradient. answers: how many there are. stratum: the code of each unit's stratum. ordered: the
    rows are distinct and in an order of their own, which no file decided."""

    rows: Rows
    count: IntArray
    kind: str = "items"
    answers: float = 0.0
    sizes: FloatArray | None = None
    squares: Callable[[FloatArray], float] | None = None
    stratum: IntArray | None = None
    ordered: bool = False

    @cached_property
    def n(self) -> int:
        """How many units there are."""
        return int(self.count.sum())

    @cached_property
    def often(self) -> FloatArray:
        """The counts as the numbers that arrays are multiplied by."""
        return self.count.astype(float)

    @cached_property
    def totals(self) -> FloatArray:
        """What all units add up to."""
        found: FloatArray = self.often @ self.rows
        return found

    @property
    def dense(self) -> FloatArray:
        """The rows as a table."""
        return dense(self.rows)


def add_up(rows: Rows, design: Design, count: IntArray | None = None, ordered: bool = False) -> Sums:
    """The sums of every unit of a design; `count` says how many items a row stands for, where nothing holds rows together."""
    n = len(rows)
    ones = np.ones(n, np.int64)
    if design.unit is None and rows.shape[1] <= DENSE:
        rows = dense(rows)
    if design.kind == "items":
        often = ones if count is None else count
        return Sums(rows, often, answers=float(often.sum()), stratum=design.stratum, ordered=ordered)
    weight = design.shares(n)
    even = design.weight is None and design.item is None
    weighed = rows if even else weigh(rows, weight)

    def squares(g: FloatArray) -> float:
        each = weighed @ g
        return float(each @ each)

    if design.unit is None:
        return Sums(weighed, ones, "weights", float(n), weight, squares, design.stratum)
    unit = without_gaps(design.unit)
    units = int(unit.max()) + 1
    sizes = np.bincount(unit, weight, units)
    stratum = None
    if design.stratum is not None:
        stratum = np.zeros(units, np.int64)
        stratum[unit] = design.stratum
    each = np.ones(units, np.int64)
    return Sums(sum_by(weighed, unit, units), each, design.kind, float(n), sizes, squares, stratum)


def by_denominator(sums: Sums, metric: Metric) -> Sums:
    """A quotient's units weigh what they are divided by; that of a difference, the mean of both."""
    if sums.sizes is None or metric.value is not quotient or isinstance(sums.rows, Sparse):
        return sums
    below = sums.rows[:, ::2]
    if not (below.sum(0) > 0).all():
        return sums
    return replace(sums, sizes=(below / below.sum(0)).mean(1) * sums.sizes.sum())


# ---- spread -----------------------------------------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """The variance of an estimate, and its degrees of freedom."""

    variance: float
    df: float


def spread(sums: Sums, statistic: Statistic) -> Spread:
    """From influence values; CR2 over groups with Bell and McCaffrey's degrees; classes by what their groups are worth."""
    if sums.n < 2:
        raise NoAnswer("fewer than two units")
    with np.errstate(all="ignore"):
        g = statistic.gradient(sums.totals)
    if not np.isfinite(g).all():
        raise NoAnswer("the units do not vary")
    u = influence(sums, g)
    if sums.stratum is not None:
        return in_strata(u, sums.count, sums.stratum)
    if sums.sizes is None or (sums.kind == "repeats" and not statistic.classes):
        return Spread(sums.n / (sums.n - 1) * float(sums.often @ u**2), sums.n - 1)
    squares = None if sums.squares is None else sums.squares(g)
    if statistic.classes and u.any() and (found := by_class(sums, g, statistic.classes)) is not None:
        variance, own = over_groups(u, found.sizes, squares, sums.answers, found.leverage)
        if (reach := reach_of_items(sums, g, statistic.classes)) is not None:
            few = min(1.0, max(0.0, (ENOUGH - min(worth_of(sums.sizes), reach.worth)) / (ENOUGH / 2)))
            variance += few * reach.most**2
        return Spread(variance, min(own, found.df))
    plain = over_groups(u, sums.sizes, squares, sums.answers)
    # items that weigh differently are independent: each adds its squared weight to the variance, and to its degrees
    return plain if sums.kind != "weights" else Spread(plain.variance, degrees(sums.sizes**2))


def degrees(m: FloatArray) -> float:
    """Bell and McCaffrey's degrees of freedom of units that add so much to the variance."""
    m = m[m > 0]
    h = m / float(m.sum())
    q = m * h / (1 - h)
    return float(m.sum()) ** 2 / (float(m @ m) + float(q.sum()) ** 2 - float(q @ q))


def influence(sums: Sums, g: FloatArray) -> FloatArray:
    """What each unit adds to the estimate at first order, around 0; rounding is no spread."""
    u = sums.rows @ g
    if sums.stratum is not None:
        u = u - (np.bincount(sums.stratum, sums.count * u) / np.bincount(sums.stratum, sums.count))[sums.stratum]
    else:
        u = u - float(sums.often @ u) / sums.n
    return np.where(np.abs(u) <= LAST_BITS * size_of(sums.rows, g), 0.0, u)


def in_strata(u: FloatArray, count: IntArray, stratum: IntArray) -> Spread:
    """Strata add their variances; one of a single unit is taken to spread as the others do."""
    n = np.bincount(stratum, count)
    squares = np.bincount(stratum, count * u**2)
    several = n > 1
    if not several.any():
        raise NoAnswer("each stratum has one unit")
    each = np.where(several, squares / np.maximum(1, n - 1), 0.0)
    each = np.where(several, each, each[several].mean())
    parts = n * each
    below = float((parts[several] ** 2 / (n[several] - 1)).sum())
    return Spread(float(parts.sum()), float(parts.sum()) ** 2 / below if below > 0 else float(max(1, n.sum() - len(n))))


def worth_of(sizes: FloatArray) -> float:
    """How many equal groups unequal ones are worth."""
    sizes = sizes[sizes > 0]
    return float(sizes.sum() ** 2 / (sizes @ sizes)) if len(sizes) else 0.0


def alike(u: FloatArray, m: FloatArray, squares: float) -> float | None:
    """The intraclass correlation, by analysis of variance."""
    g, n = len(m), float(m.sum())
    if g < 2 or not n > g * (1 + 1e-12):
        return None
    among = float(u**2 @ (1 / m))
    between, within = among / (g - 1), max(0.0, squares - among) / (n - g)
    total = between + ((n - float(m @ m) / n) / (g - 1) - 1) * within
    return (between - within) / total if total > 0 else None


def over_groups(u: FloatArray, m: FloatArray, squares: float | None, answers: float, leverage: FloatArray | None = None) -> Spread:
    """CR2, at least what the groups' common likeness implies, and Bell and McCaffrey's degrees. Reference: BellMcCaffrey2002."""
    used = m > 0
    m, rest = m[used], u[~used]
    if len(m) < 2:
        raise NoAnswer("fewer than two groups")
    total = float(m.sum())
    h = m / total
    variance = float(u[used] ** 2 @ (1 / (1 - (h if leverage is None else leverage[used])))) + float(rest @ rest)
    if squares is not None and variance > 0:
        scaled = m * (answers / total)
        if (rho := alike(u[used], scaled, squares)) is not None:
            variance = max(variance, squares * (1 + (float(scaled @ scaled) / float(scaled.sum()) - 1) * rho))
    return Spread(variance, degrees(m))


# ---- groups of a metric that is put together from classes -------------------------------------------------------------------------


class ByClass(NamedTuple):
    """What groups are worth class by class, put together by how much each class makes of the spread."""

    sizes: FloatArray
    leverage: FloatArray
    df: float
    worth: float


def by_class(sums: Sums, g: FloatArray, k: int) -> ByClass | None:
    """Recall rests on the groups that hold its class; classes are added up by Satterthwaite's rule."""
    slopes = g.reshape(-1, 3 * k + 1)  # one line for each system
    everywhere = np.broadcast_to(slopes[:, -1:], (len(slopes), k))
    slope = np.concatenate([slopes[:, :k], slopes[:, k : 2 * k] + everywhere, slopes[:, 2 * k : 3 * k]], 1)
    weight = np.abs(np.concatenate([np.zeros((len(slopes), k)), np.abs(slopes[:, k : 2 * k]) + np.abs(everywhere), slope[:, 2 * k :]], 1))
    row, column, value = entries(sums.rows)
    system, place = np.divmod(column, 3 * k + 1)
    kept = place < 3 * k
    row, system, place, value = row[kept], system[kept], place[kept], value[kept]
    key, entry = np.unique(row * k + place % k, return_inverse=True)
    effect, term = (np.bincount(entry, each[system, place] * value) for each in (slope, weight))
    used = term > 0
    unit, kind, effect, term = key[used] // k, key[used] % k, effect[used], term[used]
    if not len(term):
        return None
    share = term / np.bincount(kind, term)[kind]
    effect = effect - share * np.bincount(kind, effect)[kind]
    held = np.minimum(share, MOST_OF_A_CLASS)
    q = held * held / (1 - held)
    inverse, even, first, second = (np.bincount(kind, each) for each in (share**2, held * held, q, q * q))
    seen, size = (np.bincount(kind, each) for each in (effect**2 / (1 - held), term**2))
    there = inverse > 0
    inverse, seen, size = inverse[there], seen[there], size[there]
    df = 1 / (even + first**2 - second)[there]
    shares = [each / each.sum() for each in (seen, size) if each.sum() > 0]
    worst = max(shares, key=lambda each: float(each**2 @ inverse))
    mean = np.zeros(len(there))
    mean[there] = np.mean(shares, axis=0)
    units = len(sums.count)
    sizes, above = (np.bincount(unit, mean[kind] * each, units) for each in (share, share * held))
    leverage = np.divide(above, sizes, out=np.zeros(units), where=sizes > 0)
    return ByClass(sizes, leverage, 1 / float(worst**2 @ (1 / df)), 1 / float(worst**2 @ inverse))


class Reach(NamedTuple):
    """What groups are worth by the truths of their items, and the most that one item can change."""

    worth: float
    most: float


def reach_of_items(sums: Sums, g: FloatArray, k: int) -> Reach | None:
    """Few items of a class show little: each class counts by how far an answer to one of its items can move the metric."""
    ranges = np.zeros(k + 1)
    for line in g.reshape(-1, 3 * k + 1):
        hit, said = line[:k], line[2 * k : 3 * k]
        if k == 1:
            ranges += np.abs([hit[0] + said[0], said[0]])
            continue
        order = np.argsort(said, kind="stable")
        lowest, highest = np.full(k, said[order[0]]), np.full(k, said[order[-1]])
        lowest[order[0]], highest[order[-1]] = said[order[1]], said[order[-2]]  # a wrong answer is another class
        ranges += np.append(np.maximum(hit + said, highest) - np.minimum(hit + said, lowest), np.ptp(said))
    row, column, value = entries(sums.rows)
    of_truth, of_all = (column >= k) & (column < 2 * k), column == 3 * k
    units = len(sums.count)
    whole = np.bincount(row[of_all], value[of_all], units)
    rest = whole - np.bincount(row[of_truth], value[of_truth], units)
    rest[rest < 1e-9 * whole] = 0.0  # sums of fractional shares miss 0 by a last bit
    kind, items = np.append(column[of_truth] - k, np.full(units, k)), np.append(value[of_truth], rest)
    total, squares = np.bincount(kind, items, k + 1), np.bincount(kind, items**2, k + 1)
    ranges = np.where(total > 0, ranges, 0.0)
    weight = ranges**2 * squares
    if not weight.sum() > 0:
        return None
    weight = weight / weight.sum()
    return Reach(1 / float(weight**2 @ (squares / np.where(total > 0, total, 1.0) ** 2)), float(ranges.max()))


# ---- few groups -------------------------------------------------------------------------------------------------------------------


def too_few(sizes: FloatArray, worth: float | None = None) -> str:
    """Why there is no answer over these groups, in words; empty where there is one."""
    number = int(np.count_nonzero(sizes))
    if number < FEWEST:
        return f"only {number} groups: at least {FEWEST} are needed"
    worth = worth_of(sizes) if worth is None else min(worth, worth_of(sizes))
    if worth < LEAST * (1 - 1e-12):
        return f"{number} groups are worth only {worth:.1f} equal ones: one or few of them hold what the number rests on"
    return ""


def refuse_few(sums: Sums, statistic: Statistic, notes: list[str]) -> None:
    """One rule for few groups, for every metric: no answer, or a warning."""
    if sums.kind not in ("groups", "repeats") or sums.sizes is None:
        return
    if sums.kind == "repeats":
        if sums.n < FEWEST:
            raise NoAnswer(f"only {sums.n} items with repeats: at least {FEWEST} are needed")
        return
    worth = worth_of(sums.sizes)
    if statistic.classes and np.count_nonzero(sums.sizes) >= FEWEST:
        with np.errstate(all="ignore"):
            g = statistic.gradient(sums.totals)
        slopes = g.reshape(-1, 3 * statistic.classes + 1)[:, statistic.classes :]
        if np.isfinite(g).all() and np.any(slopes):  # without a single hit no class counts for more than another
            by_truths = np.any(slopes[:, : statistic.classes]) or np.any(slopes[:, -1])
            found = (reach_of_items if by_truths else by_class)(sums, g, statistic.classes)
            worth = worth if found is None else min(worth, found.worth)
    if why := too_few(sums.sizes, worth):
        raise NoAnswer(why)
    if worth < ENOUGH * (1 - 1e-12):
        notes.append(f"{int(np.count_nonzero(sums.sizes))} groups, worth {worth:.0f} equal ones: the interval rests on few; 20 are better")
