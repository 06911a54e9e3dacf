"""Text files before the first question, which is answered by the pass that proves them readable.

Parsing text costs more than everything that is done with its rows. Four things must be known of a file before its counts are told: DuckDB
finds every record that the strict reader would find, it can read every field, no id is missing, and no id occurs twice. Each can be had
from a pass of its own, and was; here the pass that counts finds out all of them (`counted`). Where it cannot, nothing is lost: whoever
wants the table gets it proven by a pass of its own, and read by the strict reader where that fails (`settled`).
"""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours
from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.read.engines import uniqueness
from steelyard_old.read.engines.duckdb_table import EngineTable, Scan, too_little
from steelyard_old.read.engines.memory import watched
from steelyard_old.read.table import SourceTable
from steelyard_old.tally.spelling import MOST

LISTED = 1 << 23  # hashes that a query may hand out beside its groups: it holds each several times


@dataclass(frozen=True, slots=True)
class OnePass:
    """What one pass found: the columns that `group` has, and whether it saw that every key is there and none occurs twice."""

    columns: list[list[Any]]
    keys_differ: bool


class UnreadTable:
    """Rows of text files that DuckDB is taken to read as the strict reader would.

    scan: the way to the rows, whose columns are k and then k0, k1 ... for the names in `kept`. texts: those of them that are texts.
    records: the rows that there must be. held: whether they may become a table of DuckDB. proven: whether it is known that DuckDB
    reads them rightly. otherwise: the strict reader.
    """

    def __init__(
        self,
        con: Any,
        scan: Scan,
        *,
        names: Sequence[str],
        kept: Sequence[str],
        texts: Collection[str],
        what: str,
        records: int,
        held: bool,
        proven: bool,
        otherwise: Callable[[], SourceTable],
    ) -> None:
        self.names = tuple(names)
        self._con, self._scan, self._what, self._records, self._held, self._proven = con, scan, what, records, held, proven
        self._identifier = {name: f"k{i}" for i, name in enumerate(kept)}
        self._texts, self._otherwise = frozenset(texts), otherwise
        self._present: dict[str, int] = {}
        self._falls: tuple[str, ...] = ()
        self._unusual: dict[str, int] = {}
        self._table: SourceTable | None = None
        self._refused = False
        self._closing = weakref.finalize(self, con.close)

    # ---- the first question ----------------------------------------------------------------------------------------

    def counted(self, columns: Sequence[str], key: Sequence[str]) -> OnePass | None:
        """How often each combination of values occurs, if one pass can tell it; None if the table must be asked.

        key: the columns that tell the rows apart; none if the rows have no ids.
        """
        import duckdb

        if self._table is not None or self._refused or not self._texts.issuperset((*columns, *key)):
            return None
        try:
            found = self._pass(columns, key)
        except duckdb.Error as error:
            self._refused = too_little(error, self._what) is None  # with less at once there may be room
            return None
        self._scan.check()
        return found

    def _pass(self, columns: Sequence[str], key: Sequence[str]) -> OnePass | None:
        import numpy as np

        grouped = [self._identifier[name] for name in columns]
        others = [name for name in self._identifier if name not in columns]  # asked for, so that a field which DuckDB cannot read is found
        chain = self._chain(key)
        listed = bool(key) and chain is None and self._records <= LISTED
        select = [*grouped, "COUNT(*) AS c", *(f"COUNT({self._identifier[name]}) AS n{self._identifier[name]}" for name in others)]
        looked = key if self._records <= MOST else ()  # of more than that nobody says that they look alike
        select += [f"{uniqueness.unusual(self._identifier[name])} AS u{self._identifier[name]}" for name in looked]
        rows = self._scan.relation
        if chain is not None:
            rows = uniqueness.linked(self._identifier[key[0]], rows)
            select.append(f"{uniqueness.larger(chain)} AS larger")
        elif listed:
            select.append(f"list(hash({', '.join(self._identifier[name] for name in key)})) AS hashes")
        told = self._ask(f"SELECT {', '.join(select)} FROM {rows}" + (f" GROUP BY {', '.join(grouped)}" if grouped else ""))
        if sum(told["c"]) != self._records:
            self._refused = True
            return None
        self._proven = True
        self._present = {name: sum(told[f"n{self._identifier[name]}"]) for name in others}
        self._unusual = {name: sum(told[f"u{self._identifier[name]}"]) for name in looked}
        differ = not key
        if chain is not None:
            differ = sum(told["larger"]) == self._records - 1
            self._falls = () if differ else tuple(key)
        elif listed and all(self._present.get(name) == self._records for name in key):
            differ = uniqueness.hashes_differ(np.concatenate(told.pop("hashes")))
        return OnePass([told[name] for name in (*grouped, "c")], differ)

    def _chain(self, key: Sequence[str]) -> str | None:
        """The order in which the key grows, as far as the first rows tell."""
        if len(key) != 1:
            return None
        ask = uniqueness.probe(self._identifier[key[0]], self._scan.relation, uniqueness.ORDERS)
        return uniqueness.growing(self._con.execute(ask).fetchall()[0], uniqueness.ORDERS)

    def _ask(self, sql: str) -> dict[str, list[Any]]:
        """The columns of an answer by name; lists of numbers stay arrays."""

        def answer() -> dict[str, list[Any]]:
            return {name: column.tolist() for name, column in self._con.execute(sql).fetchnumpy().items()}

        return watched(self._con, f"reading {self._what}", answer)

    def unusual(self, name: str) -> int | None:
        """How many texts of a column may look like another (`uniqueness.unusual`), if the pass that counted has seen it."""
        return self._unusual.get(name)

    # ---- the table -------------------------------------------------------------------------------------------------

    def settled(self) -> SourceTable:
        """The table, proven; that of the strict reader if DuckDB objects or does not find every record.

        Small files become a table of DuckDB. Large ones are read where they lie, again for every question: their rows would fill
        the memory, or be written to disk and read back, which costs as much.
        """
        if self._table is None:
            self._table = self._engine_table()
        if self._table is None:
            self._scan.check()
            self._table = self._otherwise()
        return self._table

    def _engine_table(self) -> EngineTable | None:
        import duckdb

        con, relation = self._con, self._scan.relation
        try:
            if not self._refused and self._held:
                con.execute(f"CREATE TEMP TABLE items AS SELECT * FROM {relation}")
                relation = "items"
            if not self._refused and not self._proven:
                # Every kept column is asked for, so that a field which DuckDB cannot read is found now.
                counts = ", ".join(f"COUNT({name})" for name in ("k", *self._identifier.values()))
                ask = f"SELECT {counts} FROM {relation}"
                found = watched(con, f"reading {self._what}", lambda: con.execute(ask).fetchall())[0]
                self._present = dict(zip(self._identifier, found[1:], strict=True))
                self._refused = found[0] != self._records
        except duckdb.Error as error:
            self._refused = True
            if (fault := too_little(error, self._what)) is not None:
                raise fault from None
        if self._refused:
            self._closing()
            return None
        self._scan.check()
        self._closing.detach()
        return EngineTable(
            con,
            relation,
            names=self.names,
            identifiers=self._identifier,
            what=self._what,
            scan=self._scan,
            n=self._records,
            unchanged=None if relation == "items" else self._scan.check,
            present={name: many for name, many in self._present.items() if name in self._texts},
            falls=self._falls,
        )


def settled(table: SourceTable | UnreadTable) -> SourceTable:
    """A table that can be asked anything."""
    return table.settled() if isinstance(table, UnreadTable) else table
