"""Posteriors of statistics of the whole table, by draws of its margins from the Dirichlet posterior of the cells.

The draws come from a randomly shifted rank-1 lattice of probabilities while the cells are few, from a generator when they
are many. The numerical error that they leave is stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaincinv, gammaln, logit

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.posterior.beta import Array, Posterior, prior_pair
from steelyard_old.metrics.table import Margins
from steelyard_old.tally.counts import Counts, whole

IntArray = npt.NDArray[np.int64]
POINTS = 1021  # of one lattice: a prime
# Its generating vector: component by component the smallest error in the Korobov space of smoothness 2 with weights 1/j,
# no component twice (NuyensCools2006); `tests/infer/posterior/test_metrics.py` computes it again.
# fmt: off
GENERATOR = (
    1, 374, 156, 285, 305, 253, 486, 347, 399, 478, 228, 352, 15, 208, 213, 332, 82, 280, 99, 290, 233, 109, 270, 119,
    223, 337, 295, 114, 176, 124, 404, 166, 171, 508, 62, 451, 456, 57, 47, 5, 446, 394, 275, 342, 52, 503, 389, 10,
)
# fmt: on
BATCHES = 10  # independent shifts, or parts of the stream: their spread is the stated error
MOST_DRAWN = 20_000_000_000  # random numbers of one posterior: minutes
CELL_DRAWS = 2_000_000  # Gamma variates held at once
MANY = 16  # classes from which drawing the empty cells of a row together is the faster way
FEW_STICKS = 200


class SampledPosterior(Posterior):
    """A posterior known by draws: `values` has one row per independent shift or part of the stream.

    Quantiles are those of all draws, the hdi is the shortest window of sorted draws, the density a Gaussian kernel
    estimate with Silverman's width (a picture, not a number to compute with). `error` is the standard error of the less
    certain end of the 95% interval, from the spread of the rows. Reference: Silverman1986; Kruschke2015 for the window.
    """

    exact = False

    def __init__(self, values: Array, *, metric: str, prior: str, bounds: tuple[float, float] = (0.0, 1.0)) -> None:
        self.values, self.metric, self.prior = values, metric, prior
        self.bottom, self.top = bounds
        self._sorted = np.sort(values, axis=None)

    @property
    def draws(self) -> int:
        """How many draws there are: at least as many as were asked for."""
        return int(self._sorted.size)

    def _cdf(self, x: Any) -> Any:
        return np.searchsorted(self._sorted, x, side="right") / self.draws

    def _sf(self, x: Any) -> Any:
        return (self.draws - np.searchsorted(self._sorted, x, side="right")) / self.draws

    def _pdf(self, x: Any) -> Any:
        width = 0.9 * self.sd * self.draws**-0.2
        return np.vectorize(lambda at: float(np.exp(-0.5 * ((self._sorted - at) / width) ** 2).mean()) / (width * math.sqrt(2 * math.pi)))(
            x
        )

    def _quantile(self, q: float) -> float:
        return float(np.quantile(self._sorted, q))

    def _shortest(self, level: float) -> tuple[float, float]:
        inside = min(math.ceil(level * self.draws), self.draws - 1)
        widths = self._sorted[inside:] - self._sorted[: self.draws - inside]
        first = int(np.argmin(widths))
        return float(self._sorted[first]), float(self._sorted[first + inside])

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def sd(self) -> float:
        return float(self.values.std())

    @property
    def mode(self) -> float:
        """The highest point of the kernel estimate, on a grid of 201."""
        grid = np.linspace(self._sorted[0], self._sorted[-1], 201)
        return float(grid[int(np.argmax(self._pdf(grid)))])

    @cached_property
    def _error(self) -> float:
        ends = np.quantile(self.values, [0.025, 0.975], axis=1)
        return float(ends.std(axis=1, ddof=1).max()) / math.sqrt(len(self.values))

    @property
    def error(self) -> float:
        return self._error


class _GammaCells(NamedTuple):
    """The Gamma cells in row order, and the prior mass of the empty cells that are not drawn one by one."""

    row: IntArray
    column: IntArray  # == classes for a prediction outside the classes
    shape: Array
    empty: IntArray  # cells of each row inside the classes that are left to `_sprinkle`: all that are not above
    each: float  # prior of each of those


def table_posterior(
    counts: Counts,
    statistic: Callable[[Margins], Any],
    *,
    metric: str,
    prior: float | Array = 0.5,
    draws: int = 10_000,
    seed: int = 0,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> SampledPosterior:
    """Any statistic of the table of K classes: MCC, kappa, macro and weighted averages.

    Model: one Dirichlet over the cells; each row has `prior` on the diagonal and prior / (K-1) on every other cell, so
    each recall has the prior Beta(prior, prior) however many classes there are. (A fixed mass per cell drowns the data:
    50 classes, 90 of 100 right, 1 per cell: mean accuracy 0.05.) An array of K x K pseudo-counts replaces the rule.
    A prediction outside the classes counts as an error of its row and has no prior of its own.
    Method: up to 48 cells a randomly shifted rank-1 lattice through the inverse Gamma cdf; beyond, Gamma draws of PCG64,
    from 16 classes on with the empty cells of a row drawn together. The same seed gives the same answer; `error` states what is left.
    Undefined: an error, when the statistic is undefined in a draw (a class that neither truth nor prior holds up).
    Reference: Totsch2021 and Caelen2017 for the model; SloanJoe1994 for the lattice; Sethuraman1994 for the empty cells.

    >>> from steelyard_old.metrics.table import mcc
    >>> post = table_posterior(Counts.table([[62, 5], [2, 31]]), mcc, metric="mcc", bounds=(-1, 1))
    >>> [round(x, 2) for x in post.interval()], post.error < 0.002
    ([0.7, 0.92], True)
    """
    if counts.kind == "outcomes" or not counts.negatives_known:
        need = "the full table of truth and prediction"
        raise DataError(
            f"The posterior of {metric} needs {need}; some cells of the table are not known.",
            got="a table without all its cells",
            need=need,
            hint="use proportion_posterior or f1_posterior",
        )
    if (numbers := posterior_numbers(counts, prior)) * whole(draws, "the number of draws") > MOST_DRAWN:
        raise UsageError(
            f"The posterior of {metric} takes too many random numbers: {counts.classes:,} classes, {numbers:,} for each of "
            f"{draws:,} draws.",
            got=f"{counts.classes:,} classes, {numbers:,} random numbers for each of {draws:,} draws",
            need=f"at most {MOST_DRAWN:,} in all",
            hint="interval='delta', or fewer draws=",
        )
    cells, printed = _cells(counts, prior)
    rows = []
    for margins in _chunks(cells, counts.classes, whole(draws, "the number of draws"), np.random.default_rng(seed)):
        value = np.asarray(statistic(margins), float)
        if undefined := int(np.isnan(value).sum()):
            hint = "a larger prior, or a statistic that skips absent classes"
            raise DataError(
                f"{metric} is undefined in {undefined} of {value.size} draws, so it has no posterior.",
                got=f"{undefined} of {value.size} draws where it is undefined",
                need="none",
                hint=hint,
            )
        rows.append(value)
    values = np.concatenate(rows)
    values = values[: values.size // BATCHES * BATCHES].reshape(BATCHES, -1) if not _few(cells) else values.reshape(-1, POINTS)
    return SampledPosterior(values, metric=metric, prior=printed, bounds=bounds)


def posterior_numbers(counts: Counts, prior: float | Array) -> int:
    """How many random numbers one draw of `table_posterior` takes: the occupied cells, and a dozen sticks for each class.

    Reference: Sethuraman1994.
    """
    k = counts.classes
    if np.ndim(prior) != 0 or k < MANY:
        return k * (k + 1)
    sticks = _sticks_of(prior_pair(prior)[0])  # type: ignore[arg-type]
    return len(counts.count) + k * sticks if sticks <= max(k, FEW_STICKS) else k * (k + 1)


def _cells(counts: Counts, prior: float | Array) -> tuple[_GammaCells, str]:
    """Which Gamma variates to draw. With many cells, the empty ones off the diagonal are left to `_sprinkle`."""
    k = counts.classes
    if k < 1 or (np.ndim(prior) != 0 and np.shape(prior) != (k, k)):
        raise UsageError("cannot use prior", got=f"an array of shape {np.shape(prior)}", need=f"a number, or {k} x {k} pseudo-counts")
    occupied: dict[tuple[int, int], float] = {}
    for truth, prediction, count in counts.cells():
        place = truth, min(prediction, k)
        occupied[place] = occupied.get(place, 0.0) + count
    if isinstance(prior, np.ndarray):
        if not (np.isfinite(prior).all() and (prior >= 0).all() and (np.diag(prior) > 0).all()):
            raise UsageError("cannot use prior", got="pseudo-counts below 0 or not finite", need="0 or more, above 0 on the diagonal")
        mass, together, printed = prior, False, "Dirichlet(given pseudo-counts)"
    else:
        diagonal, _ = prior_pair(prior)
        each = diagonal / (k - 1) if k > 1 else 0.0
        together = k >= MANY and _sticks_of(diagonal) <= max(k, FEW_STICKS)  # a heavy prior takes more sticks than there are cells
        printed = f"Dirichlet({diagonal:g} on the diagonal, {diagonal:g}/(K-1) off it)"
        if not together:
            mass = np.where(np.eye(k, dtype=bool), diagonal, each)
    if together:
        for label in range(k):
            occupied.setdefault((label, label), 0.0)
        places = sorted(occupied)
        row, column = np.array(places, np.int64).T
        shape = np.array([occupied[place] for place in places])
        shape += np.where(row == column, diagonal, np.where(column < k, each, 0.0))
        return _GammaCells(row, column, shape, k - np.bincount(row[column < k], minlength=k), each), printed
    table = np.zeros((k, k + 1))
    for place, number in occupied.items():
        table[place] = number
    table[:, :k] += mass
    row, column = np.nonzero(table)
    return _GammaCells(row, column, table[row, column], np.zeros(k, np.int64), 0.0), printed


def _chunks(cells: _GammaCells, classes: int, draws: int, stream: np.random.Generator) -> Iterator[Margins]:
    """The margins of the drawn tables, a bounded number of variates at a time."""
    by_column = np.argsort(cells.column, kind="stable")
    first_of_row = np.searchsorted(cells.row, np.arange(classes))
    first_of_column = np.searchsorted(cells.column[by_column], np.arange(classes + 1))[:classes]
    inside = int(np.count_nonzero(cells.column < classes))  # strays come last in column order
    diagonal = np.flatnonzero(cells.row == cells.column)
    for gamma in _lattice_gammas(cells.shape, draws, stream) if _few(cells) else _stream_gammas(cells, draws, stream):
        truth = np.add.reduceat(gamma, first_of_row, axis=1)
        prediction = np.add.reduceat(gamma[:, by_column[:inside]], first_of_column, axis=1)
        if cells.empty.any():
            rows, columns = _sprinkle(cells, len(gamma), stream)
            truth, prediction = truth + rows, prediction + columns
        yield Margins(gamma[:, diagonal], truth, prediction, truth.sum(axis=1))


def _few(cells: _GammaCells) -> bool:
    return len(cells.shape) <= len(GENERATOR) and not cells.empty.any()


def _lattice_gammas(shape: Array, draws: int, stream: np.random.Generator) -> Iterator[Array]:
    """One randomly shifted lattice at a time, through the inverse cdf. The first dimensions are the best, so the largest cells get them.

    log g is interpolated in logit u, where it is nearly straight; at the left end it is exactly log(u Gamma(a+1)) / a, which
    also serves where g itself would underflow.
    """
    nodes = np.linspace(-21.0, 21.0, 1401)
    u = expit(nodes)
    log_gamma = {}
    for a in np.unique(shape):
        g = gammaincinv(a, u)
        log_gamma[a] = np.where(g > 1e-280, np.log(np.maximum(g, 1e-280)), (np.log(u) + gammaln(a + 1)) / a)
    generator = np.empty(len(shape), int)
    generator[np.argsort(-shape, kind="stable")] = GENERATOR[: len(shape)]
    lattice = np.outer(np.arange(POINTS), generator) % POINTS / POINTS
    for _ in range(max(BATCHES, math.ceil(draws / POINTS))):
        folded = logit(1 - abs(2 * ((lattice + stream.random(len(shape))) % 1.0) - 1))  # the tent: a periodic integrand
        yield np.exp(np.column_stack([np.interp(column, nodes, log_gamma[a]) for column, a in zip(folded.T, shape, strict=True)]))


def _stream_gammas(cells: _GammaCells, draws: int, stream: np.random.Generator) -> Iterator[Array]:
    left = math.ceil(draws / BATCHES) * BATCHES
    most = max(1, CELL_DRAWS // (len(cells.shape) + len(cells.empty) * _sticks(cells)))
    while left > 0:
        yield stream.standard_gamma(cells.shape, (min(most, left), len(cells.shape)))
        left -= most


def _sticks_of(mass: float) -> int:
    """How many sticks leave less than 1e-6 of a prior mass unplaced."""
    return math.ceil(math.log(1e-6) / math.log(mass / (1 + mass))) if mass > 0 else 0


def _sticks(cells: _GammaCells) -> int:
    return _sticks_of(cells.each * float(cells.empty.max()))


def _sprinkle(cells: _GammaCells, draws: int, stream: np.random.Generator) -> tuple[Array, Array]:
    """Row and column sums of the empty cells, whose tiny Gamma variates are nearly all 0.

    m cells of shape s each are a Gamma(m s) total, spread by a Dirichlet process of mass m s over the m cells: a dozen
    sticks 1 - U^(1/(m s)), each on a random cell, instead of thousands of variates (and no underflow).
    """
    k, sticks, size = len(cells.empty), _sticks(cells), cells.empty
    mass = np.maximum(cells.each * size, 1e-12)
    total = np.where(size > 0, stream.standard_gamma(mass, (draws, k)), 0.0)
    rest = np.cumprod(stream.random((sticks, draws, k)) ** (1 / mass), axis=0)
    rest[-1] = 0.0  # what is left lies on the last stick
    stick = -np.diff(rest, axis=0, prepend=1.0) * total
    column = _empty_column(cells, (stream.random((sticks, draws, k)) * size).astype(int))
    place = np.arange(draws)[:, None] * k + column
    columns: Array = np.bincount(place.ravel(), stick.ravel(), draws * k).reshape(draws, k).astype(float)
    return total, columns


def _empty_column(cells: _GammaCells, which: npt.NDArray[Any], table_up_to: int = 4_000_000) -> npt.NDArray[Any]:
    """The columns of empty cells, which[..., row] counting the empty cells of each row from 0.

    An empty cell number j lies as many columns behind j as there are occupied ones with at most j empty cells before them.
    """
    k = len(cells.empty)
    inside = cells.column < k
    row, column = cells.row[inside], cells.column[inside]
    first = np.searchsorted(row, np.arange(k))
    before = column - (np.arange(len(row)) - first[row])  # empty cells of the row before each occupied one
    if k * k <= table_up_to:  # a table of all answers is quicker to ask
        empty = np.ones((k, k), bool)
        empty[row, column] = False
        choice = np.argsort(~empty, axis=1, kind="stable")
        return np.asarray(choice[np.arange(k), which])
    key = row * (k + 1) + before
    passed = np.searchsorted(key, np.arange(k) * (k + 1) + which, side="right") - first
    return np.asarray(which + passed)
