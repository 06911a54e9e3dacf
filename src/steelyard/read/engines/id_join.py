"""Two tables met by id inside DuckDB, and grouped. Why the ids of both are present and unique when this is through:

Costs are CPU seconds on ten million rows of text ids in Parquet, where DuckDB's bare join and GROUP BY takes 3.3.

1. The same number of rows, and the first ids agree: a POSITIONAL JOIN (1.2) that counts the rows whose ids differ. If there
   are none, the files are aligned, and what is unique on one side is unique on both. Ids that grow from row to row are
   unique, and the same pass sees it; others are checked the usual way.
2. Otherwise a FULL JOIN (4.4), which needs no separate look for duplicates. If the matched ids occur m times on one side and
   k times on the other, it has j = sum m k matched rows, of a = sum m and b = sum k rows that found a partner: j = a says
   that every k is 1, and j = b that every m is. Ids without a partner, if any, are checked the usual way. A join of many
   duplicates could become endless, so one side is looked at before (0.6): see `_check_crowds`.
"""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from steelyard.read.engines.duckdb_table import EngineTable, Scan, connect, literal
from steelyard.read.source import Source

MAX_CELLS = 1_000_000  # beyond it the labels are no classes, and rows in memory are the better form
KEPT = 10  # the smallest ids of every group, for examples
BOTH, ONLY_A, ONLY_B, _NO_ID = range(4)
_ELSEWHERE = ONLY_A  # in a positional join: the ids of this row differ
_NUMBERS = ("int", "float", "bool")
_PLAIN = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"  # as in `quantities`; other texts are looked at item by item
_PROBED = 2000
_BUCKETS = 65536


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One source in a join, and what SQL calls its columns there."""

    source: Source
    table: EngineTable
    scan: Scan
    alias: str

    @classmethod
    def of(cls, source: Source, alias: str) -> Side | None:
        """None for a source that cannot be met in SQL: see `joining.meet`."""
        table, roles = source.table, source.roles
        if not isinstance(table, EngineTable) or table.scan is None or source.by or source.ratio is not None or "id" not in roles:
            return None
        kinds = {role: table.kind(name) for role, name in roles.items()}
        if {"group", "repeat", "weight"} & kinds.keys() or "other" in kinds.values() or kinds["id"] == "float":
            return None
        return cls(source, table, table.scan, alias)

    @property
    def relation(self) -> str:
        return f"{self.scan.relation} AS {self.alias}"

    def has(self, role: str) -> bool:
        return role in self.source.roles

    def kind(self, role: str) -> str:
        return self.table.kind(self.source.roles[role])

    def column(self, role: str, *, alone: bool = False) -> str:
        """alone: in a query of this table only."""
        name = self.table.identifier(self.source.roles[role])
        return name if alone else f"{self.alias}.{name}"

    def id(self, *, text: bool, alone: bool = False) -> str:
        """The id as it is, or as the text that `encode.text_of` makes of it."""
        raw = self.column("id", alone=alone)
        if not text or self.kind("id") == "text":
            return raw
        return f"CASE WHEN {raw} THEN 'True' WHEN NOT {raw} THEN 'False' END" if self.kind("id") == "bool" else f"CAST({raw} AS VARCHAR)"

    def gone(self, role: str) -> str:
        """A condition: missing, or no finite number. Of a text that should be a number: not plainly one."""
        column = self.column(role)
        if role in ("score", "probability") and self.kind(role) == "text":
            return f"NOT coalesce(regexp_full_match({column}, '{_PLAIN}') AND isfinite(TRY_CAST({column} AS DOUBLE)), false)"
        return f"{column} IS NULL" + (f" OR NOT isfinite({column})" if self.kind(role) == "float" else "")

    def look_up(self, roles: tuple[str, ...], ids: list[str]) -> dict[str, tuple[Any, ...]]:
        """The values of a few ids."""
        key = self.id(text=True, alone=True)
        shown = [self.table.shown(self.source.roles[role], self.column(role, alone=True), number=False) for role in roles]
        rows = self.table.ask(", ".join([key, *shown]), f"WHERE {key} IN ({', '.join(map(literal, ids))})") if ids else []
        return {row[0]: row[1:] for row in rows}


class JoinGroup(NamedTuple):
    """One group of the join: its values, which sides have it, how many rows, its smallest ids, and what spoils it."""

    values: tuple[Any, ...]
    state: int
    count: int  # type: ignore[assignment]  # of rows, not the method of tuples
    ids: list[str]
    bad: int
    starts: int
    falls: int


class Join:
    """One join of two sides, grouped by the columns of some roles."""

    def __init__(self, a: Side, b: Side, grouped: tuple[str, ...]) -> None:
        self.a, self.b, self.outcomes = a, b, grouped == ("score",)
        self.keys = [(side, role) for side in (a, b) for role in grouped if side.has(role)]
        rest = ("truth", "prediction", "score", "probability")
        self.others = [(side, role) for side in (a, b) for role in rest if side.has(role) and (side, role) not in self.keys]
        self.text = not a.kind("id") == b.kind("id") == "int"
        self.truths = [side.column("truth") for side in (a, b) if side.has("truth")]

    def groups(self) -> list[JoinGroup] | None:
        """The groups by the cheapest way there is; None if something is missing, or cannot be told from missing in SQL."""
        if any(role in ("score", "probability") and side.kind(role) not in (*_NUMBERS, "text") for side, role in self.others):
            return None
        if self.outcomes and len(self.truths) == 2 and (self.a.kind("truth") != self.b.kind("truth") or self.a.kind("truth") == "printed"):
            return None
        with connect([*self.a.scan.paths, *self.b.scan.paths]) as con:
            found = self._aligned(con)
            if found is None:
                found = self._matched(con)
        if len(found) > MAX_CELLS:
            return None
        self.a.source.ids_checked = self.b.source.ids_checked = True
        return None if any(group.bad for group in found) else found

    def _aligned(self, con: Any) -> list[JoinGroup] | None:
        """The groups if row i of one is row i of the other; None if not."""
        if self.a.source.n != self.b.source.n:
            return None
        x, y = (
            f"SELECT {side.id(text=self.text)} AS {name} FROM {side.relation} LIMIT {_PROBED}"
            for side, name in ((self.a, "x"), (self.b, "y"))
        )
        head = f"SELECT x, y, lag(x) OVER () AS z FROM ({x}) POSITIONAL JOIN ({y})"
        differ, falls = self._run(con, f"SELECT COUNT(*) FILTER (WHERE x IS DISTINCT FROM y), {self._falls} FROM ({head})")[0]
        if differ:
            return None
        state = f"CASE WHEN x IS NULL THEN {_NO_ID} WHEN x = y THEN {BOTH} ELSE {_ELSEWHERE} END"
        found = self._grouped(con, "POSITIONAL JOIN", "", state, ordered=not falls)
        if any(group.state == _ELSEWHERE for group in found):
            return None
        grows = sum(group.starts for group in found) == 1 and not any(group.falls for group in found)
        if any(group.state == _NO_ID for group in found) or not grows:
            self.a.source.check_ids()
        return found

    def _matched(self, con: Any) -> list[JoinGroup]:
        """The groups of the full join, after all ids were found to be there once."""
        _check_crowds(self.a)
        state = f"CASE WHEN x IS NULL THEN IF(y IS NULL, {_NO_ID}, {ONLY_B}) WHEN y IS NULL THEN {ONLY_A} ELSE {BOTH} END"
        on = f"ON {self.a.id(text=self.text)} = {self.b.id(text=self.text)}"
        found = self._grouped(con, "FULL JOIN", on, state, ordered=False)
        total = [sum(group.count for group in found if group.state == state) for state in range(4)]
        once = total[BOTH] == self.a.source.n - total[ONLY_A] == self.b.source.n - total[ONLY_B] and not total[_NO_ID]
        for side, alone in ((self.a, total[ONLY_A]), (self.b, total[ONLY_B])):
            if alone or not once:
                side.source.check_ids()
        return found

    # ---- SQL -------------------------------------------------------------------------------------------------------

    @property
    def _falls(self) -> str:
        """The rows whose id (x) does not come after the one before (z): by number, or by length and then by text."""
        grows = "strlen(x) > strlen(z) OR (strlen(x) = strlen(z) AND x > z)" if self.text else "x > z"
        return f"COUNT(*) FILTER (WHERE NOT ({grows}))"

    def _grouped(self, con: Any, join: str, on: str, state: str, *, ordered: bool) -> list[JoinGroup]:
        columns = [side.column(role) for side, role in self.keys]
        if self.outcomes and len(self.truths) == 2:
            columns.append(f"{self.truths[0]} IS DISTINCT FROM {self.truths[1]}")
        names = [f"k{i}" for i in range(len(columns))]
        bad = " OR ".join(f"({side.id(text=False)} IS NOT NULL AND ({side.gone(role)}))" for side, role in self.others) or "false"
        inner = [*(f"{column} AS {name}" for column, name in zip(columns, names, strict=True)), f"({bad}) AS w"]
        inner += [f"{side.id(text=self.text)} AS {name}" for side, name in ((self.a, "x"), (self.b, "y"))]
        inner += [f"{f'lag({self.a.id(text=self.text)}) OVER ()' if ordered else 'NULL'} AS z"]
        counts = f"COUNT(*) AS c, min(CAST(coalesce(x, y) AS VARCHAR), {KEPT}) AS i, COUNT(*) FILTER (WHERE w) AS b"
        order = f"COUNT(*) FILTER (WHERE z IS NULL) AS e, {self._falls} AS f" if ordered else "0 AS e, 0 AS f"
        rows = f"SELECT {', '.join(inner)} FROM {self.a.relation} {join} {self.b.relation} {on}"
        groups = (
            f"SELECT {', '.join(names)}, {state} AS s, {counts}, {order} FROM ({rows}) GROUP BY {', '.join(names)}, s LIMIT {MAX_CELLS + 1}"
        )
        shown = [
            side.table.shown(side.source.roles[role], name, number=self.outcomes)
            for (side, role), name in zip(self.keys, names, strict=False)
        ]
        found = self._run(con, f"SELECT {', '.join([*shown, *names[len(shown) :]])}, s, c, i, b, e, f FROM ({groups})")
        return [JoinGroup(row[:-6], *row[-6:]) for row in found]

    def _run(self, con: Any, sql: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self.a.table.guarded(lambda: con.execute(sql).fetchall(), con, "both sources")
        self.a.scan.check()
        self.b.scan.check()
        return rows


def _check_crowds(side: Side) -> None:
    """Check the ids of one side first, if some occur so often that a join could become endless.

    Unique ids fall into buckets like raindrops: sqrt(mean) from the mean. An id that is there hundreds of times stands out,
    and so do many that are there several times each. What passes can multiply the rows of the other side by little.
    """
    mean = side.source.n / _BUCKETS
    most = side.table.ask("COUNT(*) AS c", f"GROUP BY hash({side.column('id', alone=True)}) & {_BUCKETS - 1} ORDER BY c DESC LIMIT 1")[0][0]
    if most > mean + 10 * math.sqrt(mean) + 30:
        side.source.check_ids()
