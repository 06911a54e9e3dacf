"""Connections that cannot write: PostgreSQL in a read-only transaction, SQLite and DuckDB files opened for reading."""

# ruff: noqa: S608 - SQL is built here from quoted identifiers; values of users are parameters
from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steelyard_old import databases
from steelyard_old.databases import SQLITE_HEAD, check_head, connect_duckdb, connect_postgres, connect_sqlite, secrets_of
from steelyard_old.errors import SourceError
from steelyard_old.read.engines.dialects import DUCKDB, POSTGRESQL, SQLITE, Dialect

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"})
_KINDS = {
    **dict.fromkeys(_INTEGERS, "int"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "REAL", "DOUBLE PRECISION"), "float"),
    **dict.fromkeys(("VARCHAR", "TEXT", "CHARACTER VARYING", "CHARACTER", "NAME", "CITEXT", "ENUM"), "text"),
    **dict.fromkeys(("DATE", "UUID", "DECIMAL", "NUMERIC"), "printed"),
    "BOOLEAN": "bool",
}


def kind_of_type(declared: str) -> str:
    """The kind of a column from the name of its type, in PostgreSQL and DuckDB.

    >>> [kind_of_type(name) for name in ("bigint", "DECIMAL(10,2)", "timestamp without time zone", "integer[]")]
    ['int', 'printed', 'printed', 'other']
    """
    base = declared.upper().partition("(")[0].strip()
    if declared.endswith("]"):
        return "other"
    return _KINDS.get(base) or ("printed" if base.startswith("TIME") else "other")


class Connection:
    """A connection of Python's common database interface, with the engine's faults told as ours, and no secret in them."""

    dialect: Dialect

    def __init__(self, con: Any, key: str, what: str, fault: type[Exception], secrets: Sequence[str] = ()) -> None:
        self.key, self._con, self._what, self._fault, self._secrets = key, con, what, fault, tuple(secrets)

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = guarded(
            lambda: [tuple(row) for row in self._rows(sql, values)], self._fault, self._what, self._secrets
        )
        return rows

    def _rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._con.execute(sql, list(values)).fetchall()
        return rows

    def close(self) -> None:
        self._con.close()

    def names(self, relation: str) -> list[str]:
        """The columns of a relation, in order."""
        raise NotImplementedError

    def kind(self, relation: str, name: str) -> str:
        raise NotImplementedError


class PostgresEngine(Connection):
    """One transaction that reads only and sees one state of the database, however many queries it takes."""

    dialect = POSTGRESQL

    def __init__(self, settings: Mapping[str, str], what: str) -> None:
        con = connect_postgres(settings, f"Cannot read {what}", _told(what))
        import psycopg

        con.cursor_factory = psycopg.RawCursor
        con.read_only, con.isolation_level = True, psycopg.IsolationLevel.REPEATABLE_READ
        same = sorted((name, value) for name, value in settings.items() if name in ("host", "port", "dbname", "user"))
        super().__init__(con, f"postgresql {same}", what, psycopg.Error, secrets_of(settings))
        self._described: dict[str, dict[str, int]] = {}

    def _rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._con.execute(sql, list(values) or None).fetchall()
        return rows

    def names(self, relation: str) -> list[str]:
        return list(self._describe(relation))

    def kind(self, relation: str, name: str) -> str:
        known = "SELECT typtype, format_type(CASE WHEN typtype = 'd' THEN typbasetype ELSE oid END, NULL) FROM pg_type WHERE oid = $1"
        sort, declared = self.run(known, [self._describe(relation)[name]])[0]
        return "text" if sort in ("e", b"e") else kind_of_type(str(declared))  # an enumeration is a text; a domain is what it is made of

    def _describe(self, relation: str) -> dict[str, int]:
        if relation not in self._described:
            empty = f"SELECT * FROM {relation} AS r LIMIT 0"
            found = guarded(lambda: self._con.execute(empty).description, self._fault, self._what, self._secrets)
            self._described[relation] = {column.name: column.type_code for column in found}
        return self._described[relation]


class SqliteEngine(Connection):
    """A file that is opened for reading, with the md5 that SQLite lacks. Its columns hold what they hold, whatever was declared."""

    dialect = SQLITE

    def __init__(self, path: str, what: str) -> None:
        import sqlite3

        check_head(path, SQLITE_HEAD, 0, f"Cannot read {what}", "a SQLite database")
        con = guarded(lambda: connect_sqlite(path, "ro"), sqlite3.Error, what)
        con.create_function("MD5", 1, _md5, deterministic=True)
        super().__init__(con, f"sqlite {os.path.realpath(path)}", what, sqlite3.Error)
        self.run("PRAGMA query_only = ON")
        self.run("BEGIN")  # all queries see one state of the file

    def names(self, relation: str) -> list[str]:
        empty = f"SELECT * FROM {relation} AS r LIMIT 0"
        found = guarded(lambda: self._con.execute(empty).description, self._fault, self._what)
        return [column[0] for column in found]

    def kind(self, relation: str, name: str) -> str:
        column = f"r.{self.dialect.quoted(name)}"
        rows = self.run(f"SELECT DISTINCT TYPEOF({column}) FROM {relation} AS r")
        found = {str(row[0]) for row in rows} - {"null"}
        if "blob" in found:
            return "other"
        if found == {"integer"}:
            return "int"
        if found == {"text"}:
            return "text"
        return "mixed" if "text" in found else "float"


class Duckdb(Connection):
    """A database file of DuckDB, opened for reading; no extension is fetched."""

    dialect = DUCKDB

    def __init__(self, path: str, what: str) -> None:
        import duckdb

        check_head(path, b"DUCK", 8, f"Cannot read {what}", "a DuckDB database")
        con = guarded(lambda: connect_duckdb(path, read_only=True), duckdb.Error, what)
        super().__init__(con, f"duckdb {os.path.realpath(path)}", what, duckdb.Error)
        self.run("BEGIN TRANSACTION")
        self._described: dict[str, dict[str, str]] = {}

    def names(self, relation: str) -> list[str]:
        return list(self._describe(relation))

    def kind(self, relation: str, name: str) -> str:
        return kind_of_type(self._describe(relation)[name])

    def _describe(self, relation: str) -> dict[str, str]:
        if relation not in self._described:
            self._described[relation] = {str(row[0]): str(row[1]) for row in self.run(f"DESCRIBE SELECT * FROM {relation} AS r")}
        return self._described[relation]


def guarded(
    query: Callable[[], Any],
    fault: type[Exception] | tuple[type[Exception], ...],
    what: str,
    secrets: Sequence[str] = (),
    need: str = "a table or query that can be read",
) -> Any:
    """The answer of an engine; its fault in our words."""
    return databases.guarded(query, fault, _told(what, need), secrets)


def _told(what: str, need: str = "a table or query that can be read") -> Callable[[str], SourceError]:
    return lambda message: SourceError(f"Cannot read {what}: {message.rstrip('.')}.", got=message, need=need)


def _md5(text: object) -> str | None:
    return None if text is None else hashlib.md5(str(text).encode(), usedforsecurity=False).hexdigest()
