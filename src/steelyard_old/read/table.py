"""What a Source asks of the place where its columns are: names, groups, one column, the row of a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nsmallest
from typing import Any, Protocol

from steelyard_old.errors import DataError, SourceError
from steelyard_old.items import Labels
from steelyard_old.read.columns import Column, as_column
from steelyard_old.read.encode import Distinct, NotANumber, number_of, plain


class SourceTable(Protocol):
    """Columns somewhere: in an engine, or in memory."""

    names: tuple[str, ...]

    @property
    def n(self) -> int:
        """How many rows there are."""

    def group(self, columns: Sequence[tuple[str, bool]], weight: str | None = None) -> list[Any]:
        """The distinct raw values of several columns, column by column, and how often each row occurs or what it weighs.

        columns: (name, read as number). Numbers may be arrays; labels are lists.
        """

    def encoded(self, name: str, role: str) -> tuple[Labels, Distinct]:
        """One whole column of labels in row order, with the distinct values behind the names."""

    def numbers(self, name: str, role: str) -> Any:
        """One whole column as float64 in row order."""

    def row_of(self, name: str, value: Any) -> int:
        """The first row, from 1, in which a column has a value."""

    def missing(self, name: str) -> tuple[int, int]:
        """How many rows lack a label in a column, and the first of them."""

    def repeated(self, names: Sequence[str]) -> tuple[int, int, list[tuple[Any, ...]]]:
        """How many combinations occur more than once, in how many rows, and the first five of them."""


class MemoryTable:
    """Columns in memory: lists, arrays or Series, made into Columns when first asked for."""

    def __init__(self, names: Sequence[str], get: Callable[[int], Any], n: int) -> None:
        if not n:
            raise SourceError("The source has no items.", got="no items", need="at least one row")
        self.names, self.n, self._get = tuple(names), n, get
        self._columns: dict[str, Column] = {}
        self._encoded: dict[str, tuple[Labels, Distinct]] = {}

    def beside(self, name: str, values: Any) -> MemoryTable:
        """The same table with one more column at its end."""
        place = len(self.names)
        return MemoryTable([*self.names, name], lambda at: values if at == place else self._get(at), self.n)

    def numbers(self, name: str, role: str) -> Any:
        return self.column(name, role).numbers()

    def raw(self, name: str) -> list[Any]:
        """One whole column as it came, whatever it holds; what is missing in a frame is None."""
        values = self._get(self.names.index(name))
        return [plain(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]

    def at(self, name: str, rows: Sequence[int]) -> list[Any]:
        """The values of a column in a few rows, as they came."""
        values = self._get(self.names.index(name))
        held = getattr(values, "iloc", values)
        return [held[row] for row in rows]

    def column(self, name: str, role: str) -> Column:
        if name not in self._columns:
            column = as_column(role, self._get(self.names.index(name)))
            if len(column) != self.n:
                raise DataError(
                    f"The column {role} has {len(column)} values, but there are {self.n} items.",
                    got=f"{len(column)} values",
                    need=f"{self.n}, one per item",
                )
            self._columns[name] = column
        return as_column(role, self._columns[name])

    def group(self, columns: Sequence[tuple[str, bool]], weight: str | None = None) -> list[Any]:
        codes, values, radix = self._combined(columns)
        present, counts = _counted(codes, radix, None if weight is None else self.numbers(weight, "weight"))
        return [*_decoded(present, values), counts]

    def _combined(self, columns: Sequence[tuple[str, bool]]) -> tuple[Any, list[tuple[Any, ...]], int]:
        """One number per row for the values of several columns (0 is missing), the values behind it, and its bound."""
        import numpy as np

        combined: Any = 0
        radix = 1
        values: list[tuple[Any, ...]] = []
        for name, number in columns:
            codes, distinct = self._coded(name, number)
            size = len(distinct) + 1
            if radix * size > 2**62:
                raise DataError(
                    f"Too many different values to count together: more than 2**62 combinations with {name!r}.",
                    got=f"more than 2**62 combinations with {name!r}",
                )
            combined = combined * size + (codes.astype(np.int64, copy=False) + 1)
            radix *= size
            values.append((None, *distinct))
        return combined, values, radix

    def _coded(self, name: str, number: bool) -> tuple[Any, Sequence[Any]]:
        import numpy as np

        if number:
            numbers = self.column(name, name).numbers()
            distinct, inverse = np.unique(numbers, return_inverse=True)  # NaN sorts last, and is one value
            size = len(distinct) - int(np.isnan(distinct[-1:]).sum())
            return np.where(inverse == size, -1, inverse), distinct[:size].tolist()
        labels, found = self.encoded(name, name)
        return labels.codes, found.values

    def encoded(self, name: str, role: str) -> tuple[Labels, Distinct]:
        """A column of labels, encoded once: the check of the ids and the items need the same."""
        if name not in self._encoded:
            self._encoded[name] = self.column(name, role).encode()
        return self._encoded[name]

    def missing(self, name: str) -> tuple[int, int]:
        import numpy as np

        labels, _ = self.encoded(name, "id")
        gone = np.asarray(labels.raw == labels.base - 1)
        return int(gone.sum()), int(np.argmax(gone)) + 1

    def repeated(self, names: Sequence[str]) -> tuple[int, int, list[tuple[Any, ...]]]:
        codes, values, radix = self._combined([(name, False) for name in names])
        present, counts = _counted(codes, radix, None)
        first = list(zip(*_decoded(present[counts > 1], values), strict=True))
        if all(isinstance(value, str) for row in first for value in row):
            first = nsmallest(5, first)  # as an engine orders them
        return int((counts > 1).sum()), int(counts[counts > 1].sum()), first[:5]

    def row_of(self, name: str, value: Any) -> int:
        column = self.column(name, name)
        return next((row + 1 for row, held in enumerate(list(column.values)) if held is value or held == value or _reads(held, value)), 0)


def _reads(held: Any, value: Any) -> bool:
    """Whether a text is this number: what was read as numbers is looked for in a column of texts."""
    if not (isinstance(held, str) and isinstance(value, float)):
        return False
    try:
        return number_of(held) == value
    except NotANumber:
        return False


def _counted(codes: Any, radix: int, weights: Any) -> tuple[Any, Any]:
    """The codes that occur, and their counts or sums: by place where the bound is small, by sorting where it is not."""
    import numpy as np

    if radix > max(4 * len(codes), 1 << 16):
        present, codes = np.unique(codes, return_inverse=True)
        return present, np.bincount(codes, weights)
    counts = np.bincount(codes, minlength=radix)
    present = np.flatnonzero(counts)
    return present, (counts if weights is None else np.bincount(codes, weights, minlength=radix))[present]


def _decoded(codes: Any, values: list[tuple[Any, ...]]) -> list[list[Any]]:
    columns: list[list[Any]] = []
    for names in reversed(values):
        columns.append([names[place] for place in (codes % len(names)).tolist()])
        codes = codes // len(names)
    return columns[::-1]


def distinct_of(values: Sequence[Any]) -> Distinct:
    """The distinct values of one column of grouped rows, missing left out; 1, 1.0 and True stay apart."""
    keyed = dict.fromkeys((type(value), value) for value in values if plain(value) is not None)
    return Distinct.of([value for _, value in keyed])
