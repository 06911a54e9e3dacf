"""From the cells of a table to its margins: for the table itself, for thousands of redrawn ones, and cell by cell.

Resampling n items with replacement is one multinomial draw over the occupied cells, so a bootstrap costs the same for
a thousand items and for a billion. Work goes in blocks of a fixed size, so memory does not grow with the draws.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from steelyard.infer.resampling.work import within_reach
from steelyard.metrics.table import Margins, TableStatistic
from steelyard.tally.counts import Counts

FloatArray = npt.NDArray[np.float64]
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
