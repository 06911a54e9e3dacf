"""Connecting to SQLite, PostgreSQL and DuckDB: what a URL says, a file or server opened, and their faults told without a secret."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, unquote

from steelyard_old.errors import SourceError

SQLITE_HEAD = b"SQLite format 3\x00"
_BRIDGE = "An error occurred while calling"  # the bridge to Java, before what Java itself says
_Found = TypeVar("_Found")


def server_settings(parts: SplitResult) -> dict[str, str]:
    """What the URL of a server says, by the names that PostgreSQL has for it."""
    known = {
        "dbname": parts.path.removeprefix("/"),
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username,
        "password": parts.password,
    }
    return {key: unquote(str(value)) for key, value in known.items() if value}


def connect_postgres(settings: Mapping[str, str], what: str, make_error: Callable[[str], SourceError]) -> Any:
    """A connection of psycopg; `what` is the sentence for a driver that is missing, `told` makes the error of any other fault."""
    try:
        import psycopg
        from psycopg.conninfo import make_conninfo
    except ImportError:
        hint = 'pip install "steelyard[postgres]"'
        raise SourceError(
            f"{what}: no PostgreSQL driver is installed.", got="no PostgreSQL driver", need="the package psycopg", hint=hint
        ) from None

    def connected() -> Any:  # by a text, so that nothing in a URL can be an option of the driver, such as autocommit
        return psycopg.connect(make_conninfo("", **{"connect_timeout": "10", **settings}))

    return guarded(connected, psycopg.Error, make_error, secrets_of(settings))


def secrets_of(settings: Mapping[str, str]) -> list[str]:
    """What of the settings of a server no message may hold."""
    return [settings["password"]] if settings.get("password") else []


def connect_sqlite(path: str, mode: str, *, immutable: bool = False, **options: Any) -> Any:
    """A connection to a file: mode ro, rw or rwc. Transactions are begun by hand. immutable: nobody writes to it, so nothing is locked."""
    import sqlite3

    said = f"{mode}&immutable=1" if immutable else mode
    return sqlite3.connect(f"file:{quote(path)}?mode={said}", uri=True, isolation_level=None, **options)


def connect_duckdb(path: str = ":memory:", *, read_only: bool = False) -> Any:
    """A DuckDB of its own that fetches no extension, prints nothing and never takes a variable of Python for a table."""
    import duckdb

    con = duckdb.connect(path, read_only=read_only)
    for name in ("autoinstall_known_extensions", "autoload_known_extensions", "enable_progress_bar", "python_enable_replacements"):
        con.execute(f"SET {name} = false")
    return con


def check_head(path: str, magic: bytes, offset: int, what: str, need: str) -> None:
    """Refuse what is no database of this kind: an engine would speak of encryption, or make an empty file."""
    if os.path.exists(path) and not os.path.isfile(path):  # opening a pipe would wait for its other end
        raise SourceError(f"{what}: it is a directory or a device, not {need}.", got="a directory or a device", need=need)
    try:
        with open(path, "rb") as file:
            head = file.read(offset + len(magic))
    except OSError as error:
        got = error.strerror or str(error)
        raise SourceError(f"{what}: {got}.", got=got, need=need, hint=f"the path is {path!r}") from None
    if head[offset:] != magic:
        raise SourceError(f"{what}: it is not {need}.", got="a file of another kind", need=need, hint=f"the path is {path!r}")


def guarded(
    query: Callable[[], _Found],
    fault: type[Exception] | tuple[type[Exception], ...],
    make_error: Callable[[str], SourceError],
    secrets: Sequence[str] = (),
) -> _Found:
    """The answer of a database; a fault is raised as `make_error` of its first line, unless that holds a secret."""
    try:
        return query()
    except fault as error:
        lines = [line.strip(": ") for line in str(error).splitlines() if line.strip(": ") and not line.startswith(_BRIDGE)]
        message = (lines or [type(error).__name__])[0][:300]
        if any(secret in str(error) for secret in secrets):
            message = f"{type(error).__name__} (its text is withheld, because it holds the password)"
        raise make_error(message) from None
