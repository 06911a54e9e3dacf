"""Sums: one row of numbers per unit (item or group), to be added up. Serves means, ratios, groups, weights, repeats.

A statistic of sums is a function of the column totals: a mean is total/total, R^2 is a function of four of them, a
metric of a table is a function of its margins. Resampling units is resampling rows; the rest is arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Rows of numbers that are nearly all 0, as (unit, column, value): margins of units over many thousands of classes.

    Entries are sorted by column. Sums, products with a vector and single columns cost what the entries cost.
    """

    shape: tuple[int, int]
    unit: IntArray
    column: IntArray
    value: FloatArray

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        import numpy as np

        return np.bincount(self.unit, weights=self.value * vector[self.column], minlength=self.shape[0]).astype(float)

    def __rmatmul__(self, vector: npt.NDArray[np.int64] | FloatArray) -> FloatArray:
        import numpy as np

        return np.bincount(self.column, weights=self.value * vector[self.unit], minlength=self.shape[1]).astype(float)

    __array_ufunc__ = None  # so that `array @ rows` asks us

    def __abs__(self) -> SparseRows:
        return SparseRows(self.shape, self.unit, self.column, abs(self.value))

    def __len__(self) -> int:
        return self.shape[0]

    def totals(self) -> FloatArray:
        """The column totals."""
        import numpy as np

        return np.bincount(self.column, weights=self.value, minlength=self.shape[1]).astype(float)

    def part(self, start: int, stop: int) -> FloatArray:
        """The sum over some columns, unit by unit."""
        import numpy as np

        first, last = np.searchsorted(self.column, (start, stop))
        return np.bincount(self.unit[first:last], weights=self.value[first:last], minlength=self.shape[0]).astype(float)

    def beside(self, other: SparseRows) -> SparseRows:
        """Both, side by side: unit u has [its row here, its row there]."""
        import numpy as np

        return SparseRows(
            (self.shape[0], self.shape[1] + other.shape[1]),
            np.concatenate([self.unit, other.unit]),
            np.concatenate([self.column, other.column + self.shape[1]]),
            np.concatenate([self.value, other.value]),
        )

    def minus(self, other: SparseRows) -> SparseRows:
        """The difference, of the units that have one; those are numbered anew."""
        import numpy as np

        place = np.concatenate([self.column * self.shape[0] + self.unit, other.column * self.shape[0] + other.unit])
        places, entry = np.unique(place, return_inverse=True)
        value = np.bincount(entry, weights=np.concatenate([self.value, -other.value]))
        places, value = places[value != 0], value[value != 0]
        differ, unit = np.unique(places % self.shape[0], return_inverse=True)
        return SparseRows((len(differ), self.shape[1]), unit, places // self.shape[0], value)

    def equals(self, other: SparseRows) -> bool:
        import numpy as np

        same = self.shape == other.shape and np.array_equal(self.unit, other.unit) and np.array_equal(self.column, other.column)
        return same and np.array_equal(self.value, other.value)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """rows[u] are the sums of unit u, which occurs count[u] times; `answers` is how many rows of the source they hold.

    `sizes`: what each unit weighs in items, None where they weigh alike. `single`: of a gradient, the first-order effects of the
    single answers, whose squares say how alike the answers of a unit are; None where only the sums are known. A row that stands
    for c equal answers has theirs, over sqrt(c): the squares then add up. `worth`: how many equal units these are worth, where each
    is one item and they weigh unequally.
    """

    rows: FloatArray | SparseRows
    count: IntArray
    answers: int
    units: Literal["items", "groups"] = "items"
    sizes: FloatArray | None = None
    single: Callable[[FloatArray], FloatArray] | None = None
    worth: float | None = None

    @property
    def n(self) -> int:
        """How many units."""
        return int(self.count.sum())

    @property
    def dense(self) -> FloatArray:
        """The rows as an array, or an error where it would not fit: whatever redraws units needs all of their numbers."""
        if isinstance(self.rows, SparseRows):
            raise UsageError(
                f"Too much to resample: {self.rows.shape[0]:,} units with {self.rows.shape[1]:,} numbers each.",
                got=f"{self.rows.shape[0]:,} units with {self.rows.shape[1]:,} numbers each",
                need="fewer labels, or a method that does not redraw",
                hint="interval='delta' does not resample; or use fewer labels",
            )
        return self.rows

    def totals(self) -> FloatArray:
        """The column totals."""
        out: FloatArray = self.count.astype(float) @ self.rows  # whole numbers times real ones would not go by BLAS
        return out

    def __add__(self, other: Sums) -> Sums:
        """Two samples laid end to end."""
        import numpy as np

        return Sums(
            rows=np.concatenate([self.dense, other.dense]),
            count=np.concatenate([self.count, other.count]),
            answers=self.answers + other.answers,
            units=self.units,
        )


def sum_units(rows: FloatArray, unit: npt.NDArray[np.integer], units: int) -> FloatArray:
    """Row sums by unit code 0..units-1, column by column."""
    import numpy as np

    return np.stack([np.bincount(unit, weights=column, minlength=units) for column in rows.T], axis=1)


def tally_items(rows: FloatArray, count: IntArray | None = None) -> Sums:
    """One unit per row (or `count` of them). Equal rows of a single varying column are merged: count first, even for scores."""
    import numpy as np

    number = np.ones(len(rows), np.int64) if count is None else count
    varying = [c for c in range(rows.shape[1]) if len(rows) and np.any(rows[:, c] != rows[0, c])]
    if len(varying) == 1 and count is None:  # the other columns are the same in every row: the sorted values say all
        values = np.sort(rows[:, varying[0]])
        first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        merged = np.empty((len(first), rows.shape[1]))
        merged[:] = rows[0]
        merged[:, varying[0]] = values[first]
        return Sums(rows=merged, count=np.diff(first, append=len(rows)), answers=len(rows))
    if len(varying) == 1:
        _, first, place = np.unique(rows[:, varying[0]], return_index=True, return_inverse=True)
        return Sums(rows=rows[first], count=np.bincount(place, weights=number).astype(np.int64), answers=int(number.sum()))
    return Sums(rows=rows, count=number, answers=int(number.sum()))


def tally_groups(rows: FloatArray, unit: npt.NDArray[np.integer], units: int, count: IntArray | None = None) -> Sums:
    """One unit per group; its size is its first column. `count`: how many answers each row has added up."""
    import numpy as np

    def single(gradient: FloatArray) -> FloatArray:
        each: FloatArray = rows @ gradient
        return each if count is None else each / np.sqrt(count)

    found = sum_units(rows, unit, units)
    answers = len(rows) if count is None else int(count.sum())
    return Sums(rows=found, count=np.ones(units, np.int64), answers=answers, units="groups", sizes=found[:, 0], single=single)


def mean_of(scores: Collection[float]) -> float:
    """The mean of a few scores, as of the answers to one item.

    >>> mean_of([1.0, 0.0, 0.5])
    0.5
    """
    return sum(scores) / len(scores)


def mean_over(scores: Mapping[str, float], items: Sequence[str]) -> float:
    """The mean score of these items.

    >>> mean_over({"a": 1.0, "b": 0.0, "c": 0.0}, ["a", "b"])
    0.5
    """
    import numpy as np

    return float(np.mean([scores[item] for item in items]))


def mean_of_known(scores: FloatArray, weight: FloatArray | None = None) -> float:
    """The mean of the scores that there are, each with its weight; NaN is a score that is missing.

    >>> import numpy as np
    >>> mean_of_known(np.array([1.0, np.nan, 0.0]), np.array([3.0, 2.0, 1.0]))
    0.75
    """
    import numpy as np

    known = ~np.isnan(scores)
    weights = np.ones(len(scores)) if weight is None else weight
    return float(np.average(scores[known], weights=weights[known]))
