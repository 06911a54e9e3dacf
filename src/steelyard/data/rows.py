"""Rows of numbers, most of which are 0: what items add to a metric of many classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import FloatArray, IntArray

DENSE = 200  # columns from which most are left out


@dataclass(frozen=True, eq=False)
class Sparse:
    """The entries of a table that are not 0."""

    shape: tuple[int, int]
    row: IntArray
    column: IntArray
    value: FloatArray

    __array_ufunc__: ClassVar[None] = None  # so that `array @ rows` asks us

    @classmethod
    def of(cls, shape: tuple[int, int], row: IntArray, column: IntArray, value: FloatArray) -> Sparse:
        """Entries of the same place added up, in the order of their columns."""
        place, entry = np.unique(column.astype(np.int64) * shape[0] + row, return_inverse=True)
        return cls(shape, place % shape[0], place // shape[0], np.bincount(entry.ravel(), value).astype(float))

    def __len__(self) -> int:
        return self.shape[0]

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        return np.bincount(self.row, self.value * vector[self.column], self.shape[0]).astype(float)

    def __rmatmul__(self, weight: npt.NDArray[Any]) -> FloatArray:
        if weight.ndim == 1:
            return np.bincount(self.column, self.value * weight[self.row], self.shape[1]).astype(float)
        from scipy.sparse import csr_array  # late: most answers have few columns

        turned = csr_array((self.value, (self.column, self.row)), shape=self.shape[::-1])
        sums: FloatArray = turned @ weight.T
        return sums.T


Rows = FloatArray | Sparse


def weigh(rows: Rows, weight: FloatArray) -> Rows:
    """Every row times its weight."""
    if isinstance(rows, Sparse):
        return replace(rows, value=rows.value * weight[rows.row])
    return rows * weight[:, None]


def dense(rows: Rows) -> FloatArray:
    """The rows as a table."""
    if not isinstance(rows, Sparse):
        return rows
    out = np.zeros(rows.shape)
    out[rows.row, rows.column] = rows.value
    return out


def sum_by(rows: Rows, unit: IntArray, units: int) -> Rows:
    """The sums of the rows of every unit."""
    if isinstance(rows, Sparse) and rows.shape[1] <= DENSE:
        place = unit[rows.row] * rows.shape[1] + rows.column
        return np.bincount(place, rows.value, units * rows.shape[1]).astype(float).reshape(units, rows.shape[1])
    if isinstance(rows, Sparse):
        return Sparse.of((units, rows.shape[1]), unit[rows.row], rows.column, rows.value)
    return np.stack([np.bincount(unit, column, units) for column in rows.T], 1).astype(float)


def beside(one: Rows, other: Rows) -> Rows:
    """Two tables of the same rows side by side."""
    if isinstance(one, Sparse) and isinstance(other, Sparse):
        return Sparse(
            (one.shape[0], one.shape[1] + other.shape[1]),
            np.concatenate([one.row, other.row]),
            np.concatenate([one.column, other.column + one.shape[1]]),
            np.concatenate([one.value, other.value]),
        )
    return np.concatenate([np.asarray(one), np.asarray(other)], axis=1)


def less(one: Rows, other: Rows) -> Rows:
    """One table minus another of the same rows."""
    if isinstance(one, Sparse) and isinstance(other, Sparse):
        row, column = (np.concatenate([getattr(one, name), getattr(other, name)]) for name in ("row", "column"))
        found = Sparse.of(one.shape, row, column, np.concatenate([one.value, -other.value]))
        kept = found.value != 0
        return Sparse(one.shape, found.row[kept], found.column[kept], found.value[kept])
    return np.asarray(np.asarray(one) - np.asarray(other))


def entries(rows: Rows) -> tuple[IntArray, IntArray, FloatArray]:
    """Row, column and value of what is not 0."""
    if isinstance(rows, Sparse):
        return rows.row, rows.column, rows.value
    row, column = np.nonzero(rows)
    return row, column, rows[row, column]


def size_of(rows: Rows, weight: FloatArray) -> float:
    """What a row is at most, were all its numbers added up in size: the scale of its rounding."""
    if isinstance(rows, Sparse):
        return float(np.bincount(rows.row, np.abs(rows.value * weight[rows.column]), rows.shape[0]).max(initial=0.0))
    largest = [max(float(column.max(initial=0.0)), -float(column.min(initial=0.0))) for column in rows.T]  # a table is narrow
    return float(np.array(largest) @ np.abs(weight))
