"""Connections that cannot write: PostgreSQL in a read-only transaction, SQLite and DuckDB files opened for reading."""

# ruff: noqa: S608 - SQL is built here from quoted identifiers; values of users are parameters
from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from steelyard.errors import SourceError
from steelyard.read.engines.dialects import DUCKDB, POSTGRESQL, SQLITE, Dialect

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"})
_KINDS = {
    **dict.fromkeys(_INTEGERS, "int"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "REAL", "DOUBLE PRECISION"), "float"),
    **dict.fromkeys(("VARCHAR", "TEXT", "CHARACTER VARYING", "CHARACTER", "NAME", "CITEXT", "ENUM"), "text"),
    **dict.fromkeys(("DATE", "UUID", "DECIMAL", "NUMERIC"), "printed"),
    "BOOLEAN": "bool",
}

_BRIDGE = "An error occurred while calling"  # the bridge to Java, before what Java itself says


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
        try:
            import psycopg
            from psycopg.conninfo import make_conninfo
        except ImportError:
            raise SourceError(
                f"cannot read {what}", got="no PostgreSQL driver", need="the package psycopg", hint='pip install "steelyard[postgres]"'
            ) from None
        secrets = [settings["password"]] if settings.get("password") else []
        given = {"connect_timeout": "10", **settings}

        def connected() -> Any:  # by a text, so that nothing in a URL can be an option of the driver, such as autocommit
            return psycopg.connect(make_conninfo("", **given), cursor_factory=psycopg.RawCursor)

        con = guarded(connected, psycopg.Error, what, secrets)
        con.read_only, con.isolation_level = True, psycopg.IsolationLevel.REPEATABLE_READ
        same = sorted((name, value) for name, value in settings.items() if name in ("host", "port", "dbname", "user"))
        super().__init__(con, f"postgresql {same}", what, psycopg.Error, secrets)
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

        check_file(path, b"SQLite format 3\x00", 0, what, "a SQLite database")
        con = guarded(lambda: sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, isolation_level=None), sqlite3.Error, what)
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

        check_file(path, b"DUCK", 8, what, "a DuckDB database")
        con = guarded(lambda: duckdb.connect(path, read_only=True), duckdb.Error, what)
        super().__init__(con, f"duckdb {os.path.realpath(path)}", what, duckdb.Error)
        for name in ("autoinstall_known_extensions", "autoload_known_extensions", "enable_progress_bar", "python_enable_replacements"):
            self.run(f"SET {name} = false")
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
    """The answer of an engine; its fault in our words, with the first line of its own unless that holds a secret."""
    try:
        return query()
    except fault as error:
        lines = [line.strip(": ") for line in str(error).splitlines() if line.strip(": ") and not line.startswith(_BRIDGE)]
        said = (lines or [type(error).__name__])[0][:300]
        if any(secret in str(error) for secret in secrets):
            said = f"{type(error).__name__} (its text is withheld, because it holds the password)"
        raise SourceError(f"cannot read {what}", got=said, need=need) from None


def check_file(path: str, magic: bytes, offset: int, what: str, need: str) -> None:
    """Refuse what is no database of this kind: an engine would speak of encryption, or make an empty file."""
    try:
        with open(path, "rb") as file:
            head = file.read(offset + len(magic))
    except OSError as error:
        raise SourceError(f"cannot read {what}", got=error.strerror or str(error), need=need, hint=f"the path is {path!r}") from None
    if head[offset:] != magic:
        raise SourceError(f"cannot read {what}", got=f"{path!r}, which is something else", need=need)


def _md5(text: object) -> str | None:
    return None if text is None else hashlib.md5(str(text).encode(), usedforsecurity=False).hexdigest()
