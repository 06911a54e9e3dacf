"""Columns in DuckDB: one GROUP BY on the raw columns, and only its few groups become text.

The connection is in memory, sees the named files and nothing else, loads no extension, and is closed with its table.
Only `execute(...).fetchall()` and `.fetchnumpy()` are used (once `.fetchmany()`): the rest changed between DuckDB 1.4 and 2.0.
"""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours; values of users are parameters
from __future__ import annotations

import contextlib
import re
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard_old.databases import connect_duckdb
from steelyard_old.errors import DataError, SourceError
from steelyard_old.items import Labels
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern
from steelyard_old.read.columns import Column, as_column
from steelyard_old.read.encode import Distinct
from steelyard_old.read.engines import memory as allowance
from steelyard_old.read.engines import uniqueness
from steelyard_old.read.engines.dialects import DUCKDB

if TYPE_CHECKING:
    from steelyard_old.read.files.paths import Opened

_INTEGER = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"})
_RAW = frozenset({*_INTEGER, "BOOLEAN", "FLOAT", "DOUBLE", "VARCHAR"})
_AS_TEXT = late_pattern(r'DECIMAL|ENUM|U?HUGEINT|BIGNUM|DATE|TIME|TIMESTAMP|UUID|"?NULL"?\Z')
_AS_DOUBLE = late_pattern(r"DECIMAL|U?HUGEINT|BIGNUM")
_ALL_BEHIND_THE_POINT = late_pattern(r"DECIMAL\((\d+),\1\)\Z")  # DuckDB writes .5 then, and 0.5 everywhere else
HELD = 64 << 20  # bytes of text files that become a table of DuckDB; larger ones are read where they lie
quoted = DUCKDB.quoted
MANY = 100_000  # rows from which it is worth looking whether ids grow


def connect(paths: Sequence[str] = ()) -> Any:
    """A private in-memory DuckDB that may open the named files only (absolute paths), within the memory allowed now.

    What does not fit is spilled to a directory of its own under the system's temporary one (TMPDIR moves it).
    """
    import os
    import tempfile
    import uuid

    import duckdb

    con = connect_duckdb()
    memory = allowance.memory()
    for name, value in (
        ("enable_progress_bar", str(allowance.is_watched()).lower()),  # kept by DuckDB, shown by us
        ("enable_progress_bar_print", "false"),
        ("memory_limit", f"'{memory} B'"),
        ("threads", str(allowance.threads(memory))),
    ):
        con.execute(f"SET {name} = {value}")
    with contextlib.suppress(duckdb.Error):  # a DuckDB built without time zones knows UTC only
        con.execute("SET TimeZone = 'UTC'")  # the text of a time must not depend on where the machine is
    con.execute("SET preserve_insertion_order = true")
    # Made by DuckDB if it must spill, and removed by it; of our own, because its file names repeat between processes.
    con.execute(f"SET temp_directory = {literal(os.path.join(tempfile.gettempdir(), f'steelyard-{uuid.uuid4().hex}'))}")
    allowed = dict.fromkeys(each for path in paths for each in (path, exact_path(path)))  # DuckDB asks for the pattern, then for its match
    con.execute(f"SET allowed_paths = [{', '.join(map(literal, allowed))}]")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    return con


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def exact_path(path: str) -> str:
    """A path that DuckDB takes as it is: its glob characters stand in brackets."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def useful_line(error: BaseException) -> str:
    """The first line of an engine's message without its class; the rest is SQL of ours."""
    first = str(error).strip().partition("\n")[0]
    return re.sub(r"^[A-Za-z ]+Error: ", "", first)[:200] or type(error).__name__


def partition_columns(files: Sequence[Opened]) -> dict[str, str]:
    """The partition keys of files read in one list, as SQL: one look-up by the number of the file, however many files there are.

    DuckDB's own partitions would guess types, and take keys from directories that the user did not name.
    """
    lists = {
        key: ", ".join("NULL" if (value := file.partition[key]) is None else literal(value) for file in files) for key in files[0].partition
    }
    return {key: f"([{values}]::VARCHAR[])[CAST(file_index + 1 AS BIGINT)]" for key, values in lists.items()}


def too_little(error: BaseException, what: str) -> SourceError | None:
    """The engine ran out of memory or of disk, told as advice; None if it is something else."""
    import duckdb

    said = str(error)
    full = "No space left" in said or "max_temp_directory_size" in said
    if not (full or isinstance(error, duckdb.OutOfMemoryException)):
        return None
    allowed = f"{allowance.memory() / 1e6:,.0f} MB"
    if full:
        hint = "free space in the temporary directory, set TMPDIR to a larger disk, or raise memory="
        return SourceError(
            f"The disk is too full to read {what}.", got="a disk too full to spill to", need="room for what is beyond the memory", hint=hint
        )
    hint = "raise it: memory='4GB'"
    return SourceError(
        f"{allowed} of memory are not enough to read {what} ({useful_line(error)}).", got=useful_line(error), need="more memory", hint=hint
    )


@dataclass(frozen=True, slots=True)
class Scan:
    """How another connection reads the same rows: the files it may open, the relation, and whether they are still the same."""

    paths: tuple[str, ...]
    relation: str
    check: Callable[[], None]


class EngineTable:
    """A relation in DuckDB, known by its SQL.

    names: all columns of the source, in order. identifiers: what DuckDB calls those that can be read, by name; without
    it, the columns of the relation in order (DuckDB renames columns that differ by case only; the place is the same).
    scan: the way to the same rows from another connection, for a join with another table. n: the rows, if they were counted.
    present: how many rows of a text column are not NULL, where that is known. falls: columns that are known not to grow.
    """

    def __init__(
        self,
        con: Any,
        relation: str,
        *,
        names: Sequence[str] | None = None,
        identifiers: Mapping[str, str] | None = None,
        what: str = "the source",
        unchanged: Callable[[], None] | None = None,
        scan: Scan | None = None,
        n: int | None = None,
        present: Mapping[str, int] | None = None,
        falls: Collection[str] = (),
    ) -> None:
        self.scan = scan
        self._present, self._falls = dict(present or {}), frozenset(falls)
        self._con, self._relation, self._what, self._unchanged = con, relation, what, unchanged
        weakref.finalize(self, con.close)
        described = {str(row[0]): str(row[1]) for row in self._run(f"DESCRIBE SELECT * FROM {relation}")}
        self.names = tuple(described) if names is None else tuple(names)
        self._identifier = dict(zip(self.names, described, strict=True)) if identifiers is None else dict(identifiers)
        self.kept = frozenset(self._identifier)  # the columns that can be read; the names of the others are all that is known of them
        self._type = {name: described[identifier] for name, identifier in self._identifier.items()}
        self.n = int(self._run(f"SELECT COUNT(*) FROM {relation}")[0][0]) if n is None else n
        if not self.n:
            raise SourceError(f"No items in {what}.", got="no items", need="at least one row")

    # ---- what a Source asks ----------------------------------------------------------------------------------------

    def group(self, columns: Sequence[tuple[str, bool]], weight: str | None = None) -> list[Any]:
        keys = [quoted(self._identifier[name]) for name, _ in columns]
        count = "COUNT(*)" if weight is None else f"SUM(CAST(CAST({quoted(self._identifier[weight])} AS DOUBLE) AS BIGINT))"
        inner = ", ".join(f"{key} AS k{i}" for i, key in enumerate(keys))
        outer = ", ".join(f"{self._shown(name, f'k{i}', number=number)} AS v{i}" for i, (name, number) in enumerate(columns))
        grouped = f"SELECT {inner}, {count} AS c FROM {self._relation} GROUP BY {', '.join(keys)}"
        found = self._guarded(lambda: self._con.execute(f"SELECT {outer}, c FROM ({grouped})").fetchnumpy())
        return [*(found[f"v{i}"] if number else found[f"v{i}"].tolist() for i, (_, number) in enumerate(columns)), found["c"]]

    def encoded(self, name: str, role: str) -> tuple[Labels, Distinct]:
        return self._column(name, role, number=False).encode()

    def numbers(self, name: str, role: str) -> Any:
        return self._column(name, role, number=True).numbers()

    def row_of(self, name: str, value: Any) -> int:
        column = quoted(self._identifier[name])
        numbered = f"SELECT row_number() OVER () AS r, {column} AS k FROM {self._relation}"
        return int(self._run(f"SELECT MIN(r) FROM ({numbered}) WHERE k = ?", [value])[0][0] or 0)

    def missing(self, name: str) -> tuple[int, int]:
        if self._present.get(name) == self.n:
            return 0, 0
        column = quoted(self._identifier[name])
        gone = f"{column} IS NULL" + (f" OR isnan({column})" if self._type[name] in ("FLOAT", "DOUBLE") else "")
        count = int(self._run(f"SELECT COUNT(*) FROM {self._relation} WHERE {gone}")[0][0])
        if not count:
            return 0, 0
        numbered = f"SELECT row_number() OVER () AS r, ({gone}) AS gone FROM {self._relation}"
        return count, int(self._run(f"SELECT MIN(r) FROM ({numbered}) WHERE gone")[0][0])

    def repeated(self, names: Sequence[str]) -> tuple[int, int, list[tuple[Any, ...]]]:
        keys = ", ".join(quoted(self._identifier[name]) for name in names)
        may_grow = len(names) == 1 and self.n > MANY and names[0] not in self._falls
        if (may_grow and self._grows(keys, self._type[names[0]])) or self._all_differ(keys):
            return 0, 0, []
        twice = f"SELECT {keys}, COUNT(*) AS c FROM {self._relation} GROUP BY {keys} HAVING COUNT(*) > 1"
        ids, rows = self._run(f"SELECT COUNT(*), SUM(c) FROM ({twice})")[0]
        first = self._run(f"SELECT * FROM ({twice}) ORDER BY ALL LIMIT 5") if ids else []
        return int(ids), int(rows or 0), [row[:-1] for row in first]

    def look_alikes(self, name: str, *, unusual: bool | None = None) -> list[str]:
        """Those values of a column that look like another one, in row order: mostly none, which one pass over the column proves.

        unusual: whether there is a value that may look like another (`uniqueness.unusual`), where that is known.
        """
        key = quoted(self._identifier[name])
        if self.kind(name) != "text" or not (self.ask(uniqueness.unusual(key))[0][0] if unusual is None else unusual):
            return []
        plain = uniqueness.plain(key)
        if self._all_differ(plain):
            return []
        rows = f"SELECT {key} AS id, {plain} AS plain, row_number() OVER () AS place FROM {self._relation}"
        several = f"SELECT {plain} FROM {self._relation} GROUP BY ALL HAVING COUNT(*) > 1"
        return [row[0] for row in self._run(f"SELECT id FROM ({rows}) WHERE plain IN ({several}) ORDER BY place")]

    def _grows(self, key: str, type_: str) -> bool:
        """Whether the keys are a chain, as ids that were numbered are. Some thousand rows tell first whether it is worth a look at all."""
        orders = uniqueness.orders_of(type_)
        order = uniqueness.growing(self._run(uniqueness.probe(key, self._relation, orders))[0], orders)
        if order is None:
            return False
        rows = uniqueness.linked("key", f"(SELECT {key} AS key FROM {self._relation})")
        return bool(self._run(f"SELECT {uniqueness.larger(order)} FROM {rows}")[0][0] == self.n - 1)

    def _all_differ(self, keys: str) -> bool:
        """Whether 64-bit hashes prove the keys distinct, by one pass over the rows.

        Sorting numbers is cheaper than a GROUP BY with as many groups as rows, above all for texts. Hashes beyond what is sorted
        together are put aside, where DuckDB may spill them, and sorted in slices: equal ones fall into one slice.
        """
        if self.n <= uniqueness.HASHED:
            return uniqueness.hashes_differ(self._hashes(f"SELECT hash({keys}) AS h FROM {self._relation}"))
        slices = -(-self.n // uniqueness.HASHED)
        self._run(f"CREATE OR REPLACE TEMP TABLE hashes AS SELECT hash({keys}) AS h FROM {self._relation}")
        try:
            return all(
                uniqueness.hashes_differ(self._hashes(f"SELECT h FROM hashes WHERE h % {slices} = {part}")) for part in range(slices)
            )
        finally:
            self._run("DROP TABLE hashes")

    def _hashes(self, sql: str) -> Any:
        return self._guarded(lambda: self._con.execute(sql).fetchnumpy())["h"]

    # ---- what a join of two tables asks ----------------------------------------------------------------------------

    def identifier(self, name: str) -> str:
        """What SQL calls a column."""
        return quoted(self._identifier[name])

    def kind(self, name: str) -> str:
        """int, float, bool, text, printed (a type that leaves the engine as text), or other."""
        kind = self._type[name]
        known = {"BOOLEAN": "bool", "FLOAT": "float", "DOUBLE": "float", "VARCHAR": "text"} | dict.fromkeys(_INTEGER, "int")
        return known.get(kind) or ("printed" if _AS_TEXT.match(kind) and not kind.endswith("]") else "other")

    def nested(self, name: str) -> str:
        """How a column of lists or objects leaves the engine: times with a zone as texts, since for those Python would need a package."""
        plain = re.sub(r"TIME(STAMP)? WITH TIME ZONE|TIMESTAMPTZ_NS", "VARCHAR", self._type[name])
        return self.identifier(name) if plain == self._type[name] else f"CAST({self.identifier(name)} AS {plain})"

    def texts(self, key: str, names: Sequence[str], ids: Collection[str], most: int, mark: str) -> list[tuple[str, Sequence[Any]]]:
        """(id, text of each column ...) of some rows; of a long text its beginning and its end, `most` characters of each."""

        def cut(name: str) -> str:
            text = f"CAST({quoted(self._identifier[name])} AS VARCHAR)"
            return f"CASE WHEN length({text}) > {2 * most} THEN left({text}, {most}) || '{mark}' || right({text}, {most}) ELSE {text} END"

        shown = f"CAST({quoted(self._identifier[key])} AS VARCHAR)"
        listed = ", ".join("'" + each.replace("'", "''") + "'" for each in ids)
        columns = ", ".join([shown, *map(cut, names)])
        rows = self._run(f"SELECT {columns} FROM {self._relation} WHERE {shown} IN ({listed})")
        return [(row[0], row[1:]) for row in rows]

    def shown(self, name: str, expression: str, *, number: bool) -> str:
        """How a column leaves the engine, for an expression over it."""
        return self._shown(name, expression, number=number)

    def guarded(self, query: Callable[[], Any], con: Any = None, what: str = "") -> Any:
        """The answer of a query, here or on another connection; an engine's fault is told as ours, and so is a file that changed."""
        return self._guarded(query, con, what)

    def ask(self, select: str, rest: str = "") -> list[tuple[Any, ...]]:
        """The rows of SELECT `select` FROM this table `rest`."""
        return self._run(f"SELECT {select} FROM {self._relation} {rest}")

    def array(self, expression: str) -> Any:
        """One value for each row, in row order, as a NumPy array."""
        return self._guarded(lambda: self._con.execute(f"SELECT {expression} AS v FROM {self._relation}").fetchnumpy())["v"]

    def batches(self, select: str, size: int) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of SELECT `select` FROM this table, so many at a time; no other question may be asked before they are read."""
        self._guarded(lambda: self._con.execute(f"SELECT {select} FROM {self._relation}"))
        while rows := self._guarded(lambda: self._con.fetchmany(size)):
            yield rows

    # ---- SQL -------------------------------------------------------------------------------------------------------

    def _column(self, name: str, role: str, *, number: bool) -> Column:
        shown = self._shown(name, quoted(self._identifier[name]), number=number)
        fetched = self._guarded(lambda: self._con.execute(f"SELECT {shown} AS v FROM {self._relation}").fetchnumpy())
        return as_column(role, fetched["v"])

    def _shown(self, name: str, expression: str, *, number: bool) -> str:
        """How a column of some type leaves the engine: types that NumPy would round become text (labels) or DOUBLE."""
        kind = self._type[name]
        if kind in _RAW:
            return expression
        if number and _AS_DOUBLE.match(kind):
            return f"CAST({expression} AS DOUBLE)"
        if _ALL_BEHIND_THE_POINT.match(kind):
            return f"replace(CAST({expression} AS VARCHAR), '.', '0.')"
        if _AS_TEXT.match(kind) and not kind.endswith("]"):
            return f"CAST({expression} AS VARCHAR)"
        need = "text, numbers or booleans"
        raise DataError(
            f"The column {name!r} of {self._what} must be {need}, not of type {kind[:60]}.",
            got=f"type {kind[:60]}",
            need=need,
            hint="name another column, or unpack it first",
        )

    def _run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._guarded(lambda: self._con.execute(sql, list(values)).fetchall())
        return rows

    def _guarded(self, query: Callable[[], Any], con: Any = None, what: str = "") -> Any:
        import duckdb

        what = what or self._what
        try:
            answer = allowance.watched(self._con if con is None else con, f"reading {what}", query)
        except duckdb.Error as error:
            if self._unchanged is not None:
                self._unchanged()  # a file that is gone or another one meanwhile is the cause, whatever DuckDB says of it
            got = useful_line(error)
            fault = SourceError(f"Cannot read {what}: {got.rstrip('.')}.", got=got, need="a readable table")
            raise too_little(error, what) or fault from None
        if self._unchanged is not None:
            self._unchanged()
        return answer
