"""A table on an engine: counts, missing values and repeated ids are found there, and rows come here only if nothing less will do."""

# ruff: noqa: S608 - SQL is built here from quoted identifiers; values of users are parameters
from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from steelyard_old.errors import DataError, SourceError
from steelyard_old.items import Labels
from steelyard_old.read.encode import Distinct
from steelyard_old.read.engines import portable
from steelyard_old.read.engines.dialects import Dialect
from steelyard_old.read.table import MemoryTable

TRAVELLERS = 2_000_000  # rows or groups that may leave an engine for one question: some 400 bytes each while they become columns


class EngineConnection(Protocol):
    """Where tables lie: a connection to an engine."""

    dialect: Dialect
    key: str  # two places with one key see the same tables

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; an engine's fault as a SourceError."""

    def kind(self, relation: str, name: str) -> str:
        """int, float, bool, text, printed (leaves the engine as something with a text), mixed, or other."""

    def close(self) -> None:
        """Let go of the connection."""


class SqlTable:
    """The rows of a relation (a quoted table, a view, a query in brackets) at a place.

    Rows on an engine have no order: what needs one (pairing without ids) must refuse, and a message shows the value, not the row.
    """

    ordered = False

    def __init__(
        self,
        place: EngineConnection,
        relation: str,
        names: Sequence[str],
        *,
        what: str,
        let_go: Callable[[], None] | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        self.place, self.relation, self.what = place, relation, what
        weakref.finalize(self, let_go or place.close)
        self.names = tuple(names)
        self._kinds: dict[str, str] = dict(kinds or {})
        self._dealt: set[str] = set()
        self._kept: tuple[str, ...] = self.names
        self._memory: MemoryTable | None = None
        self._n: int | None = None

    @property
    def n(self) -> int:
        """How many rows. A query that counts them anyway says so to `found`; only if none did, they are counted for it."""
        if self._n is None:
            self.found(int(self.place.run(f"SELECT COUNT(*) FROM {self.relation} AS r")[0][0]))
        assert self._n is not None
        return self._n

    def found(self, n: int) -> None:
        """The number of rows, as a query of the whole table tells it. None is refused: there is nothing to measure."""
        if not n:
            raise SourceError(f"No items in {self.what}.", got="no items", need="at least one row")
        self._n = n

    # ---- expressions -----------------------------------------------------------------------------------------------

    def column(self, name: str) -> str:
        """A column as SQL calls it, in a query whose relation is r."""
        return f"r.{self.place.dialect.quoted(name)}"

    def kind(self, name: str) -> str:
        if name not in self._kinds:
            self._kinds[name] = self.place.kind(self.relation, name)
        return self._kinds[name]

    def deal(self, name: str) -> None:
        """From now on a column counts as the md5 bucket of its text: what has one value stays together, in at most 4,096 parts."""
        self._dealt.add(name)

    def value(self, name: str) -> str:
        """The values of a column as they are counted: texts exactly, floats in full width."""
        if name in self._dealt:
            return self.place.dialect.bucket(self.text(name))
        kind, raw = self.kind(name), self.column(name)
        if kind == "other":
            raise DataError(
                f"The column {name!r} of {self.what} must be text, numbers or booleans.",
                got="another type",
                need="text, numbers or booleans",
                hint="name another column, or unpack it in a query",
            )
        if kind == "float":
            return self.place.dialect.as_real(raw)
        return self.place.dialect.as_text(raw) if kind == "text" else self.place.dialect.exact.format(raw) if kind == "mixed" else raw

    def text(self, name: str) -> str:
        """Ids as the texts that `encode.text_of` makes of them: whole numbers, booleans and texts only."""
        raw = self.column(name)
        if self.kind(name) == "bool":
            return self.place.dialect.as_text(f"CASE WHEN {raw} THEN 'True' WHEN NOT {raw} THEN 'False' END")
        return self.place.dialect.as_text(raw)

    def real(self, name: str) -> str:
        """A number in full width; booleans are 1 and 0."""
        raw = self.column(name)
        return self.place.dialect.as_real(f"CASE WHEN {raw} THEN 1 WHEN NOT {raw} THEN 0 END" if self.kind(name) == "bool" else raw)

    # ---- what a Source asks ----------------------------------------------------------------------------------------

    def group(self, columns: Sequence[tuple[str, bool]], weight: str | None = None) -> list[Any]:
        keys = [self.value(name) for name, _ in columns]
        count = "COUNT(*)" if weight is None else self.real(weight)
        rows = self._few(portable.cells(self.relation, keys, TRAVELLERS + 1, count), f"different values of {_listed(columns)}")
        if weight is None or not rows:
            self.found(sum(int(row[-1]) for row in rows))
        *values, number = zip(*rows, strict=True)
        return [*([plain_value(value) for value in column] for column in values), [int(many) for many in number]]

    def fits(self, names: Sequence[str]) -> bool:
        """Whether the different values of some columns may travel. Counted on the engine, and only as far as the limit."""
        if self.n <= TRAVELLERS:
            return True
        inner = portable.cells(self.relation, [self.value(name) for name in names], TRAVELLERS + 1)
        return int(self.place.run(f"SELECT COUNT(*) FROM ({inner}) AS g")[0][0]) <= TRAVELLERS

    def encoded(self, name: str, role: str) -> tuple[Labels, Distinct]:
        return self._here().encoded(name, role)

    def numbers(self, name: str, role: str) -> Any:
        return self._here().numbers(name, role)

    def row_of(self, name: str, value: Any) -> int:
        """Rows of an engine have no number: the message shows how often the value occurs instead."""
        marker = self.place.dialect.marker
        many = self.place.run(f"SELECT COUNT(*) FROM {self.relation} AS r WHERE {self.value(name)} = {marker}", [value])[0][0]
        raise DataError(
            f"The column {name!r} of {self.what} must hold finite numbers, true/false, or NULL; {value!r} is "
            f"in {many} {'row' if many == 1 else 'rows'}.",
            got=f"{value!r} in {many} {'row' if many == 1 else 'rows'}",
            need="finite numbers, true/false, or NULL",
            hint="name another column, or convert it in a query",
        )

    def missing(self, name: str) -> tuple[int, int]:
        """No column of ids may lack one; as rows have no number, the refusal is made here."""
        numbers = [self.column(name)] if self.kind(name) == "float" else []
        counted = self.place.run(portable.present(self.relation, [self.column(name)], numbers))[0]
        self.found(int(counted[0]))
        gone = int(counted[0]) - int(counted[-1])
        if not gone:
            return 0, 0
        got = f"{gone} of {self.n} rows of {self.what} without a value in {name!r}"
        hint = "choose another column, or leave such rows out in a query (WHERE ... IS NOT NULL)"
        raise DataError(f"{gone} of {self.n} rows of {self.what} have no {name!r}.", got=got, need="a value in every row", hint=hint)

    def repeated(self, names: Sequence[str]) -> tuple[int, int, list[tuple[Any, ...]]]:
        twice = portable.repeated(self.relation, [self.value(name) for name in names])
        ids, rows = self.place.run(portable.how_many(twice))[0]
        if not ids:
            return 0, 0, []
        order = ", ".join(f"k{place}" for place in range(len(names)))
        first = self.place.run(f"SELECT * FROM ({twice}) AS g ORDER BY {order} LIMIT 5")
        return int(ids), int(rows), [tuple(map(plain_value, row[:-1])) for row in first]

    # ---- rows ------------------------------------------------------------------------------------------------------

    def keep(self, names: Iterable[str]) -> None:
        """The columns that have a role: the only ones that are fetched if rows are needed."""
        wanted = set(names)
        self._kept = tuple(name for name in self.names if name in wanted)

    def _here(self) -> MemoryTable:
        """The columns with a role, fetched once and together: two queries need not agree on the order of rows."""
        if self._memory is None:
            if self.n > TRAVELLERS:
                raise self._too_many(self.n, "rows")
            shown = ", ".join(f"{self.value(name)} AS k{place}" for place, name in enumerate(self._kept))
            order = ", ".join(f"k{place}" for place in range(len(self._kept)))  # the same draws for the same seed on every engine
            rows = self.place.run(f"SELECT {shown} FROM {self.relation} AS r ORDER BY {order}")
            self.found(len(rows))
            columns = [[plain_value(value) for value in column] for column in zip(*rows, strict=True)]
            self._memory = MemoryTable(self._kept, columns.__getitem__, len(rows))
        return self._memory

    def _few(self, sql: str, what: str) -> list[tuple[Any, ...]]:
        rows = self.place.run(sql)
        if len(rows) > TRAVELLERS:
            raise self._too_many(f"more than {TRAVELLERS}", what)
        return rows

    def _too_many(self, many: object, what: str) -> DataError:
        return DataError(
            f"Cannot answer this inside {self.what}: {many} {what} would have to be moved, at most {TRAVELLERS} may be.",
            got=f"{many} {what}",
            need=f"at most {TRAVELLERS}, or a question that counts answer (labels, or right and wrong)",
            hint="count or sample in a query, or ask for a metric of labels or of right and wrong",
        )


def plain_value(value: Any) -> Any:
    """A value as it left the engine: NaN of a decimal type is missing, as it is of a float."""
    if type(value).__name__ == "Decimal" and not value.is_finite():
        return None if value.is_nan() else float(value)
    return value


def _listed(columns: Sequence[tuple[str, bool]]) -> str:
    return ", ".join(repr(name) for name, _ in columns)
