"""Sums: one row of numbers per unit (item or group), to be added up. Serves means, ratios, groups, weights, repeats.

A statistic of sums is a function of the column totals: a mean is total/total, R^2 is a function of four of them, a
metric of a table is a function of its margins. Resampling units is resampling rows; the rest is arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """rows[u] are the sums of unit u, which occurs count[u] times; `answers` is how many rows of the source they hold."""

    rows: FloatArray
    count: IntArray
    answers: int
    units: Literal["items", "groups"] = "items"

    @property
    def n(self) -> int:
        """How many units."""
        return int(self.count.sum())

    def totals(self) -> FloatArray:
        """The column totals."""
        out: FloatArray = self.count @ self.rows
        return out

    def __add__(self, other: Sums) -> Sums:
        """Two samples laid end to end."""
        import numpy as np

        return Sums(
            rows=np.concatenate([self.rows, other.rows]),
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
    if len(varying) == 1:
        _, first, place = np.unique(rows[:, varying[0]], return_index=True, return_inverse=True)
        return Sums(rows=rows[first], count=np.bincount(place, weights=number).astype(np.int64), answers=int(number.sum()))
    return Sums(rows=rows, count=number, answers=int(number.sum()))


def tally_groups(rows: FloatArray, unit: npt.NDArray[np.integer], units: int) -> Sums:
    """One unit per group."""
    import numpy as np

    return Sums(rows=sum_units(rows, unit, units), count=np.ones(units, np.int64), answers=len(rows), units="groups")
