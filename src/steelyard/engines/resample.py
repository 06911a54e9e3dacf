"""The bootstrap: units drawn again with replacement, as counts of distinct rows. Percentile, BCa, studentized."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.base.problem import SteelyardError
from steelyard.data.rows import Sparse, sum_by
from steelyard.engines.certainty import Certainty, Ends, NoAnswer
from steelyard.engines.sums import Statistic, Sums, spread

DRAWS = 10_000
BLOCK = 500_000  # numbers in one block: 4 MB
CACHED = 16_384  # numbers that are worked on at once where the next ones need the same room
RARE = 16  # rows that occur less often are drawn together, as items: a conditional binomial each would cost more
BUCKETS = 4_096  # more units than these are put together at random before they are drawn
FEW_COLUMNS = 4  # up to which picking units one by one is cheaper than counting them
HOPELESS = 1_000  # samples without a value after which no more are drawn


@dataclass(frozen=True, kw_only=True)
class Redrawn(Certainty):
    """Quantiles of what the number was in samples drawn again. bias, acceleration: of BCa; errors: of studentized samples."""

    values: FloatArray  # sorted; studentized: the number's distance over its own error
    bias: float = 0.0
    acceleration: float = 0.0

    def bounds(self, q: float, sided: int = 1) -> Ends:
        if len(self.values) < 1 / q - 1 - 1e-6:
            raise SteelyardError(
                f"{len(self.values):,} draws are too few for this level.", hint=f"draws={math.ceil(1 / q)} or more, or a lower level"
            )
        if self.method == "studentized":
            low, high = np.quantile(self.values, [q, 1 - q], method="inverted_cdf")
            if not (np.isfinite(low) and np.isfinite(high)):
                raise NoAnswer("too many redrawn samples have no spread")
            assert self.error is not None
            return self.estimate - float(high) * self.error, self.estimate - float(low) * self.error
        z = float(ndtri(q))
        low, high = self._at(z), self._at(-z)
        if low == high:  # never without width: the next values on either side
            left, right = (int(np.searchsorted(self.values, low, side)) for side in ("left", "right"))
            low, high = float(self.values[max(0, left - 1)]), float(self.values[min(right, len(self.values) - 1)])
        return low, high

    def _at(self, z: float) -> float:
        shifted = self.bias + z
        below = 1 - self.acceleration * shifted
        share = float(ndtr(self.bias + shifted / below)) if below > 0 else float(shifted > 0)
        return float(np.quantile(self.values, share))

    def tails(self, margin: float, sided: int = 1) -> Ends:
        """The q at which an end is the margin: the ends turned round."""
        if self.method == "studentized":
            assert self.error is not None
            t, n = (self.estimate - margin) / self.error, len(self.values)
            return int(np.searchsorted(self.values, t, "right")) / n, 1 - int(np.searchsorted(self.values, t, "left")) / n
        below, upto = self._shares(margin)
        least = 1 / (len(self.values) + 1)
        return max(least, 1 - self._level(below)), max(least, self._level(upto))

    def _shares(self, margin: float) -> Ends:
        """The shares of which the margin is the quantile, the smallest and the largest."""
        left, right = (int(np.searchsorted(self.values, margin, side)) for side in ("left", "right"))
        last = len(self.values) - 1
        if left < right:
            return left / last, (right - 1) / last
        if not 0 < left <= last:
            return (0.0, 0.0) if left == 0 else (1.0, 1.0)
        under, over = self.values[left - 1], self.values[left]
        share = (left - 1 + float((margin - under) / (over - under))) / last
        return share, share

    def _level(self, share: float) -> float:
        """The q at which BCa's end is this share of the samples."""
        if not (self.bias or self.acceleration) or not 0 < share < 1:
            return float(share)
        w = float(ndtri(share)) - self.bias
        return float(ndtr(w / (1 + self.acceleration * w) - self.bias)) if 1 + self.acceleration * w > 0 else float(share)


def redraw(count: IntArray, draws: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """How often each row occurs in samples of as many: Multinomial(n, count / n). Rare rows are pooled and dealt out one by one."""
    n, rare = int(count.sum()), np.flatnonzero(count < RARE)
    if len(rare) < 16:
        return rng.multinomial(n, count / n, size=draws)
    common, pool = np.flatnonzero(count >= RARE), int(count[rare].sum())
    drawn = rng.multinomial(n, np.append(count[common], pool) / n, size=draws)
    out, cell = np.zeros((draws, len(count)), np.int64), np.repeat(np.arange(len(rare)), count[rare])
    out[:, common] = drawn[:, :-1]
    rows, cells = max(1, CACHED // pool), rare if len(common) else slice(None)
    for start in range(0, draws, rows):
        items = drawn[start : start + rows, -1]
        place = rng.integers(0, len(cell), size=int(items.sum()))
        place = (cell[place] if len(rare) < len(cell) else place) + np.repeat(np.arange(len(items)) * len(rare), items)
        out[start : start + rows, cells] = np.bincount(place, minlength=len(items) * len(rare)).reshape(len(items), len(rare))
    return out


def in_order(sums: Sums) -> Sums:
    """Equal rows merged, in an order that does not depend on that of the file."""
    if sums.ordered or isinstance(sums.rows, Sparse):
        return sums
    columns = [column for column in sums.rows.T if column[0] != column[-1] or np.ptp(column) > 0]
    order = np.argsort(columns[0]) if len(columns) == 1 else np.lexsort(columns[::-1]) if columns else np.arange(len(sums.rows))
    new = np.zeros(len(order), bool)
    new[0] = True
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    starts, count = np.flatnonzero(new), sums.count[order]
    merged = count if len(starts) == len(order) else np.add.reduceat(count, starts)
    return replace(sums, rows=sums.rows[order[starts]], count=merged, sizes=None, squares=None)


def bucketed(sums: Sums, rng: np.random.Generator) -> Sums:
    """Beyond so many distinct rows, buckets of units that were put together at random."""
    if isinstance(sums.rows, Sparse) or len(sums.rows) <= BUCKETS:
        return sums
    rows = np.repeat(sums.rows, sums.count, axis=0)
    bucket = rng.permutation(len(rows)) % BUCKETS
    return replace(sums, rows=sum_by(rows, bucket, BUCKETS), count=np.ones(BUCKETS, np.int64))


def totals_drawn(units: Sums, draws: int, rng: np.random.Generator) -> FloatArray:
    """The totals of samples; of few columns units are picked one by one."""
    if isinstance(units.rows, Sparse):
        return np.asarray(redraw(units.count, draws, rng).astype(float) @ units.rows)
    rows = units.rows
    varying = np.flatnonzero(np.ptp(rows, axis=0) > 0)
    if units.n > min(2 * len(rows), BUCKETS) or len(varying) > FEW_COLUMNS:
        return np.asarray(redraw(units.count, draws, rng).astype(float) @ rows)
    n = units.n
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


def samples(units: Sums, draws: int, seed: int) -> Iterator[FloatArray]:
    """Blocks of totals of redrawn samples, always the same for a seed."""
    rng = np.random.Generator(np.random.PCG64(seed))
    units = bucketed(units, rng)
    width = units.rows.shape[1]
    rows = max(1, min(BLOCK // len(units.count), max(1, 4 * BLOCK // width)))
    for start in range(0, draws, rows):
        yield totals_drawn(units, min(rows, draws - start), rng)


def bootstrap(
    sums: Sums, statistic: Statistic, method: str, *, draws: int = DRAWS, seed: int = 0, notes: list[str] | None = None
) -> Redrawn:
    """The statistic in samples of units drawn again."""
    if sums.n < 2:
        raise NoAnswer("fewer than two units")
    if method == "studentized":
        return studentized(sums, statistic, draws, seed, notes)
    units = in_order(sums)
    drawn = defined((statistic.value(totals) for totals in samples(units, draws, seed)), draws, notes)
    estimate = float(statistic.value(units.totals))
    if method == "percentile":
        return Redrawn(estimate=estimate, method=method, test=method, values=np.sort(drawn))
    rng = np.random.Generator(np.random.PCG64(seed))
    units = bucketed(units, rng)
    return bca(drawn, estimate, *left_out(units, statistic))


def defined(blocks: Iterator[FloatArray], draws: int, notes: list[str] | None = None) -> FloatArray:
    """The values there are; undefined ones are left out, and said to be."""
    kept: list[FloatArray] = []
    drawn = found = 0
    for block in blocks:
        kept.append(block[np.isfinite(block)])
        drawn, found = drawn + len(block), found + len(kept[-1])
        if drawn >= HOPELESS and not found:
            break
    if found < 39:
        raise NoAnswer(f"it is undefined in {drawn - found:,} of {drawn:,} redrawn samples")
    if found < drawn and notes is not None:
        notes.append(f"undefined in {drawn - found:,} of {drawn:,} redrawn samples, which were left out")
    values = np.concatenate(kept)
    if float(np.ptp(values)) <= 1e-14 * max(1.0, float(np.abs(values).max())):
        raise NoAnswer("all redrawn values are equal")
    return values


def left_out(units: Sums, statistic: Statistic) -> tuple[FloatArray, IntArray]:
    """The number without each unit; at first order where that would be too much work."""
    rows, width = len(units.count), units.rows.shape[1]
    if rows * width > 100_000_000:
        return statistic.value(units.totals) - units.rows @ statistic.gradient(units.totals), units.count
    if isinstance(units.rows, Sparse):
        parts, dense = [], np.zeros((max(1, 4 * BLOCK // width), width))
        order = np.argsort(units.rows.row, kind="stable")
        row, column, value = units.rows.row[order], units.rows.column[order], units.rows.value[order]
        for start in range(0, rows, len(dense)):
            some = slice(*np.searchsorted(row, (start, start + len(dense))))
            block = dense[: min(len(dense), rows - start)]
            block[...] = units.totals
            np.subtract.at(block, (row[some] - start, column[some]), value[some])
            parts.append(statistic.value(block))
        values = np.concatenate(parts)
    else:
        values = statistic.value(units.totals - units.rows)
    fine = np.isfinite(values)
    return values[fine], units.count[fine]


def bca(drawn: FloatArray, estimate: float, without: FloatArray, count: IntArray) -> Redrawn:
    """Corrected for bias and acceleration. Reference: Efron1987."""
    close = np.isclose(drawn, estimate, rtol=1e-12, atol=0)
    below = (np.count_nonzero((drawn < estimate) & ~close) + 0.5 * np.count_nonzero(close)) / len(drawn)
    if not 0.001 < below < 0.999:  # beyond, the correction has nothing to rest on, and may leave the estimate outside
        raise NoAnswer("nearly all redrawn values lie on one side of the estimate")
    weight = count.astype(float)
    gap = np.average(without, weights=weight) - without
    squares = float(weight @ gap**2)
    if not squares > 0:
        raise NoAnswer("leaving items out changes nothing")
    a = float(weight @ gap**3) / (6 * squares**1.5)
    return Redrawn(estimate=estimate, method="bca", test="bca", values=np.sort(drawn), bias=float(ndtri(below)), acceleration=a)


def studentized(sums: Sums, statistic: Statistic, draws: int, seed: int, notes: list[str] | None) -> Redrawn:
    """The bootstrap of the distance over its standard error, each sample by its own. Reference: EfronTibshirani1993, section 12.5."""
    rng = np.random.Generator(np.random.PCG64(seed))
    units = bucketed(in_order(sums), rng)
    n, rows, estimate = units.n, units.dense, float(statistic.value(sums.totals))
    own = spread(replace(units, kind="items", sizes=None, squares=None), statistic).variance
    if not own > 0:
        raise NoAnswer("the units do not vary")
    values, errors = [], []
    for start in range(0, draws, step := max(1, BLOCK // len(rows))):
        totals, squares = _with_errors(units, statistic, min(step, draws - start), rng)
        values.append(statistic.value(totals))
        errors.append(np.sqrt(np.maximum(squares, 0) * n / (n - 1)))
    gap, error = np.concatenate(values) - estimate, np.concatenate(errors)
    with np.errstate(all="ignore"):
        t = np.where(error > 0, gap / error, np.where(gap == 0, 0.0, np.sign(gap) * np.inf))
    known = np.isfinite(gap)
    defined(iter([np.where(known, gap, np.nan)]), draws, notes)
    return Redrawn(estimate=estimate, method="studentized", test="studentized", error=math.sqrt(own), values=np.sort(t[known]))


def _with_errors(units: Sums, statistic: Statistic, draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Totals of samples, and the squares of their own influence values."""
    n, rows = units.n, units.dense
    middle = units.totals / n
    varying = np.flatnonzero(np.ptp(rows, axis=0) > 0)
    if len(varying) > FEW_COLUMNS // 2:
        weight = redraw(units.count, draws, rng).astype(float)
        totals = weight @ rows
        u = slopes(statistic, totals) @ rows.T
        return totals, np.einsum("bu,bu->b", weight, u * u) - np.einsum("bu,bu->b", weight, u) ** 2 / n
    away = (rows - middle)[:, varying]
    first, second = np.triu_indices(len(varying))
    wide = replace(units, rows=np.concatenate([rows, away[:, first] * away[:, second]], axis=1))
    drawn = totals_drawn(wide, draws, rng)
    totals, products = drawn[:, : rows.shape[1]], drawn[:, rows.shape[1] :]
    g = slopes(statistic, totals)[:, varying]
    with np.errstate(invalid="ignore"):  # a sample without a slope has no error of its own
        squares = ((g[:, first] * g[:, second]) * products) @ np.where(first == second, 1.0, 2.0)
        return totals, squares - (g * (totals[:, varying] - n * middle[varying])).sum(1) ** 2 / n


def slopes(statistic: Statistic, totals: FloatArray) -> FloatArray:
    """The gradient at many totals: the complex step, column by column."""
    out = np.empty(totals.shape)
    for column in range(totals.shape[1]):
        size = 1e-30 * np.maximum(1.0, np.abs(totals[:, column]))
        at = totals.astype(complex)
        at[:, column] += 1j * size
        with np.errstate(all="ignore"):
            out[:, column] = statistic.value(at).imag / size
    return out


Values = Callable[[FloatArray | None], FloatArray]


def bootstrap_whole(values: Values, unit: IntArray | None, n: int, method: str, *, draws: int, seed: int, notes: list[str]) -> Redrawn:
    """The same of a metric of all items at once: rows are weighed by how often their unit was drawn."""
    units = n if unit is None else int(unit.max()) + 1
    rng = np.random.Generator(np.random.PCG64(seed))
    ones, rows = np.ones(units, np.int64), max(1, 4 * BLOCK // n)

    def weights(of_units: FloatArray) -> FloatArray:
        return of_units if unit is None else of_units[:, unit]

    blocks = (values(weights(redraw(ones, min(rows, draws - start), rng).astype(float))) for start in range(0, draws, rows))
    drawn, estimate = defined(blocks, draws, notes), float(values(None)[0])
    if method == "percentile":
        return Redrawn(estimate=estimate, method=method, test=method, values=np.sort(drawn))
    parts = []
    for start in range(0, units, rows):
        some = np.arange(start, min(units, start + rows))
        one = np.ones((len(some), units))
        one[np.arange(len(some)), some] = 0
        parts.append(values(weights(one)))
    without = np.concatenate(parts)
    fine = np.isfinite(without)
    return bca(drawn, estimate, without[fine], ones[fine])
