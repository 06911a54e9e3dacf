"""Resampling: intervals from redrawn values (percentile, BCa, studentized), wherever these came from; and the cells of a table redrawn.

Resampling n items with replacement is one multinomial draw over the occupied cells, so a bootstrap costs the same for a thousand
items and for a billion. Work goes in blocks of a fixed size, so memory does not grow with the draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.normal import STANDARD, tail
from steelyard_old.infer.resampling.work import within_reach
from steelyard_old.metrics.table import Margins, TableStatistic
from steelyard_old.tally.counts import Counts

FloatArray = npt.NDArray[np.float64]


HOPELESS = 1_000  # samples without a value: with 0.4% defined, the fewest that reach a tail of 0.025, this happens once in 55 times


class Degenerate(Exception):
    """The redrawn values cannot carry an interval: all equal, or all on one side of the estimate. The caller falls back."""


class Undefined(Degenerate):
    """The metric has no value in the redrawn samples, or in too few of them to reach the tail."""


def check_draws(draws: int, confidence_level: float, side: str) -> int:
    """Enough draws to reach the tail: at least 1/tail - 1, so that the outermost quantile exists. Reference: PhipsonSmyth2010."""
    needed = _needed(confidence_level, side)
    if isinstance(draws, bool) or int(draws) != draws or draws < needed:
        raise UsageError(
            "cannot use draws",
            got=f"{draws}",
            need=f"a whole number of at least {needed} for this level",
            hint=f"draws={needed} or more, or a lower confidence level",
        )
    return int(draws)


def _needed(confidence_level: float, side: str) -> int:
    return int(np.ceil(1 / tail(confidence_level, side) - 1 - 1e-9))


def defined_values(blocks: Iterable[FloatArray], confidence_level: float = 0.95, side: str = "two") -> tuple[FloatArray, int]:
    """The redrawn values that are defined, and how many are not; `blocks` are drawn as they are asked for.

    Undefined: no value in the first 1,000 samples (the rest is not drawn), or too few to reach the tail: what is left would be
    a law of the samples in which, against the odds, every class occurs. Reference: PhipsonSmyth2010.

    >>> values, undefined = defined_values([np.arange(50.0), np.array([np.nan])])
    >>> len(values), undefined
    (50, 1)
    """
    kept: list[FloatArray] = []
    drawn = found = 0
    for block in blocks:
        kept.append(block[np.isfinite(block)])
        drawn, found = drawn + len(block), found + len(kept[-1])
        if drawn >= HOPELESS and not found:
            break
    refuse_undefined(found, drawn, confidence_level, side)
    return np.concatenate(kept), drawn - found


def refuse_undefined(found: int, drawn: int, confidence_level: float, side: str) -> None:
    """No interval from fewer values than reach the tail. Reference: PhipsonSmyth2010."""
    if found < _needed(confidence_level, side):
        raise Undefined(f"it is undefined in {drawn - found:,} of {drawn:,} redrawn samples")


def quantile(values: FloatArray, share: float) -> float:
    """The quantile between two order statistics, to the bit what `np.quantile` gives, which loads NumPy's masked arrays to find it.

    Formula: at (n - 1) share, linear, from the nearer of the two. Undefined: no values. Reference: Hyndman1996, definition 7.

    >>> quantile(np.array([3.0, 1.0, 2.0]), 0.75)
    2.5
    """
    place = (len(values) - 1) * share
    under = min(int(place), len(values) - 1)
    over = min(under + 1, len(values) - 1)
    low, high = np.partition(values, (under, over))[[under, over]].tolist()
    part, gap = place - under, high - low
    return float(high - gap * (1 - part) if part >= 0.5 else low + gap * part)


def percentile(values: FloatArray, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """The quantiles of the redrawn values.

    Formula: the tail and 1 - tail quantiles, linear between order statistics. Undefined: all values equal.
    Reference: Efron1979; DavisonHinkley1997, section 5.3.1.

    >>> [round(x, 6) for x in percentile(np.arange(101.0), 0.90)]
    [5.0, 95.0]
    """
    _refuse_constant(values)
    rest = tail(confidence_level, side)
    return quantile(values, rest), quantile(values, 1 - rest)


def bca(
    values: FloatArray, estimate: float, left_out: FloatArray, count: npt.ArrayLike = 1, confidence_level: float = 0.95, side: str = "two"
) -> tuple[float, float]:
    """Percentile, corrected for bias (z0) and for a standard error that changes with the parameter (a).

    Formula: quantiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z0 = Phi^-1(share of values below the estimate, ties
    half), a = sum (mean - t_i)^3 / (6 (sum (mean - t_i)^2)^1.5) over the leave-one-out values t_i, each `count` times.
    Undefined: all values equal, or all on one side of the estimate.
    Reference: Efron1987; DiCiccioEfron1996, equations 2.2 to 2.6.

    >>> rng = np.random.default_rng(0)
    >>> low, high = bca(rng.normal(size=4000), 0.0, rng.normal(size=50))
    >>> -2.5 < low < -1.5 < 1.5 < high < 2.5
    True
    """
    _refuse_constant(values)
    close = np.isclose(values, estimate, rtol=1e-12, atol=0)
    below = (np.count_nonzero((values < estimate) & ~close) + 0.5 * np.count_nonzero(close)) / len(values)
    if not 0 < below < 1:
        raise Degenerate("all redrawn values lie on one side of the estimate")
    z0 = STANDARD.inv_cdf(below)
    weights = np.broadcast_to(np.asarray(count, float), left_out.shape)
    gap = np.average(left_out, weights=weights) - left_out
    spread = float(weights @ gap**2)
    if spread <= 0:
        raise Degenerate("leaving items out changes nothing")
    a = float(weights @ gap**3) / (6 * spread**1.5)
    z = STANDARD.inv_cdf(1 - tail(confidence_level, side))
    ends = []
    for sign in (-1, 1):
        shifted = z0 + sign * z
        if a * shifted >= 1:
            raise Degenerate("the acceleration leaves the quantile undefined")
        ends.append(STANDARD.cdf(z0 + shifted / (1 - a * shifted)))
    return quantile(values, ends[0]), quantile(values, ends[1])


def studentized(
    values: FloatArray, errors: FloatArray, estimate: float, error: float, confidence_level: float = 0.95, side: str = "two"
) -> tuple[float, float]:
    """The bootstrap-t: quantiles of (value - estimate) / its own standard error take the place of Student's.

    A redrawn sample without spread has no t value; its quotient counts as infinite on the side of its sign, so that
    ignorance widens the interval. Undefined: when such samples fill a tail, or the sample itself has no spread.
    Reference: DavisonHinkley1997, section 5.2.1.

    >>> rng = np.random.default_rng(0)
    >>> low, high = studentized(rng.normal(size=4000), np.ones(4000), 0.0, 1.0)
    >>> -2.2 < low < -1.8 and 1.8 < high < 2.2
    True
    """
    if not error > 0:
        raise Degenerate("the sample has no spread")
    gap = values - estimate
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors > 0, gap / errors, np.sign(gap) * np.inf)
    t = np.where((errors <= 0) & (gap == 0), 0.0, t)
    rest = tail(confidence_level, side)
    lower, upper = np.quantile(t, [rest, 1 - rest], method="inverted_cdf")
    if not (np.isfinite(lower) and np.isfinite(upper)):
        raise Degenerate("too many redrawn samples have no spread")
    return float(estimate - upper * error), float(estimate - lower * error)


def _refuse_constant(values: FloatArray) -> None:
    if float(np.ptp(values)) <= 1e-14 * max(1.0, float(np.max(np.abs(values)))):
        raise Degenerate("all redrawn values are equal")


IntArray = npt.NDArray[np.int64]

BLOCK = 500_000  # numbers in one block: 4 MB, a handful of temporaries stay under 64 MB
CACHED = 16_384  # numbers that are worked on at once where the next ones need the same room: fresh memory costs more than the work
RARE = 16  # cells below this count are drawn together, as items: a conditional binomial each would cost more


class Cells:
    """The occupied cells of a table, ready to be summed into margins."""

    def __init__(self, counts: Counts) -> None:
        self.truth, self.prediction, self.count = counts.arrays()
        self.classes = counts.classes
        self.n = int(self.count.sum())
        self._by_truth = _Segments(self.truth, self.classes)
        self._by_prediction = _Segments(self.prediction, self.classes)
        self._diagonal = np.flatnonzero((self.truth == self.prediction) & (self.truth < self.classes))

    def __len__(self) -> int:
        return len(self.count)

    def margins(self, weights: npt.NDArray[np.generic]) -> Margins:
        """The margins of tables given as rows of cell weights, shape (tables, cells)."""
        hit = np.zeros((len(weights), self.classes))
        hit[:, self.truth[self._diagonal]] = weights[:, self._diagonal]
        return Margins(hit, self._by_truth.sums(weights), self._by_prediction.sums(weights), weights.sum(1).astype(float))

    def observed(self) -> Margins:
        """The margins of the table itself, without the leading axis."""
        m = self.margins(self.count[None, :])
        return Margins(m.hit[0], m.truth[0], m.prediction[0], m.n[0])

    def redrawn(self, draws: int, rng: np.random.Generator) -> Iterator[Margins]:
        """Margins of `draws` tables drawn from Multinomial(n, counts / n), block by block."""
        rows = max(1, min(BLOCK // max(1, len(self)), 16 * BLOCK // self.classes))  # far more classes than cells: declared, but empty
        for start in range(0, draws, rows):
            yield self.margins(redraw(self.count, min(rows, draws - start), rng))

    def left_out(self) -> Iterator[Margins]:
        """Margins with one item of each cell left out in turn: the whole jackknife in as many tables as cells."""
        rows = max(1, BLOCK // max(1, 3 * self.classes))
        whole = self.observed()
        for start in range(0, len(self), rows):
            stop = min(start + rows, len(self))
            t, p = self.truth[start:stop], self.prediction[start:stop]
            hit, truth, prediction = (np.repeat(part[None, :], stop - start, axis=0) for part in whole[:3])
            row = np.arange(stop - start)
            known = p < self.classes
            truth[row, t] -= 1
            prediction[row[known], p[known]] -= 1
            same = t == p
            hit[row[same], t[same]] -= 1
            yield Margins(hit, truth, prediction, np.full(stop - start, whole.n - 1.0))

    def jackknife(self, statistic: TableStatistic) -> FloatArray:
        """The statistic with one item of each cell left out; to first order, by its gradient, where that would be cells times classes.

        Reference: Efron1987, section 7, on the infinitesimal jackknife for the acceleration.
        """
        if within_reach(len(self), 3 * self.classes):
            return np.concatenate([statistic.value(m) for m in self.left_out()])
        return np.asarray(statistic.value(self.observed()) - self.influence(statistic) / self.n)

    def influence(self, statistic: TableStatistic) -> FloatArray:
        """How much one more item in each cell moves the statistic, times n: the empirical influence function.

        Reference: Efron1982, chapter 6 (the infinitesimal jackknife equals the delta method).
        """
        g = statistic.gradient(self.observed())
        of_prediction = np.append(g.prediction, 0.0)[np.minimum(self.prediction, self.classes)]
        of_hit = np.where(self.truth == self.prediction, g.hit[np.minimum(self.truth, self.classes - 1)], 0.0)
        out: FloatArray = self.n * (g.truth[self.truth] + of_prediction + of_hit + g.n)
        return out


class _Segments:
    """Sums of cells that share a code, by one sorted pass (`np.add.reduceat`) whatever the number of codes."""

    def __init__(self, codes: IntArray, size: int) -> None:
        self.size = size
        order = np.argsort(codes, kind="stable")
        order = order[codes[order] < size]
        self.sorted_already = bool(np.array_equal(order, np.arange(len(codes))))
        self.order = order
        self.codes, self.starts = np.unique(codes[order], return_index=True)

    def sums(self, weights: npt.NDArray[np.generic]) -> FloatArray:
        out = np.zeros((len(weights), self.size))
        if len(self.codes):
            part = weights if self.sorted_already else weights[:, self.order]
            out[:, self.codes] = np.add.reduceat(part, self.starts, axis=1)
        return out


def redraw(count: IntArray, draws: int, rng: np.random.Generator) -> IntArray:
    """`draws` rows of Multinomial(n, count / n). Rare cells are pooled and dealt out item by item: same law, less work."""
    n = int(count.sum())
    rare = np.flatnonzero(count < RARE)
    if len(rare) < 16:
        return rng.multinomial(n, count / n, size=draws)
    common = np.flatnonzero(count >= RARE)
    pool = int(count[rare].sum())
    drawn = rng.multinomial(n, np.append(count[common], pool) / n, size=draws)
    out = np.zeros((draws, len(count)), np.int64)
    out[:, common] = drawn[:, :-1]
    cell_of_item = np.repeat(np.arange(len(rare)), count[rare])
    rows = max(1, CACHED // pool)  # callers bound the cells of a block; here a row costs a number per item, up to RARE - 1 times more
    cells = rare if len(common) else slice(None)
    for start in range(0, draws, rows):
        out[start : start + rows, cells] = _dealt(drawn[start : start + rows, -1], cell_of_item, len(rare), rng)
    return out


def _dealt(items: IntArray, cell_of_item: IntArray, cells: int, rng: np.random.Generator) -> IntArray:
    """Row i: items[i] items drawn with replacement, counted by cell. By rows, so that memory follows the rows and not the draws."""
    place = rng.integers(0, len(cell_of_item), size=int(items.sum()))
    if cells < len(cell_of_item):
        place = cell_of_item[place]
    place += np.repeat(np.arange(len(items)) * cells, items)
    return np.bincount(place, minlength=len(items) * cells).reshape(len(items), cells)
