"""Connections of the history: a SQLite file with a write-ahead log, or a PostgreSQL server; faults in our words, no secret in them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from steelyard_old import databases
from steelyard_old.databases import SQLITE_HEAD, check_head, connect_postgres, connect_sqlite, secrets_of
from steelyard_old.errors import SourceError
from steelyard_old.history.address import Address
from steelyard_old.history.schema import SERIES_INDEX

PATIENCE = 30.0  # seconds that a writer waits for the others
LOCK_KEY = 0x57EE1  # of the advisory lock around changes of the tables
Found = TypeVar("Found")
Rows = list[tuple[Any, ...]]


class HistoryDatabase(Protocol):
    """A database that a history lies in."""

    bytes_type: str
    shown: str
    read_only: bool  # whoever asked for it, or because the file cannot be written to
    helped_by: tuple[str, ...]  # statements before a run is added, which change nothing but how fast it is found

    def run(self, sql: str, values: Sequence[Any] = ()) -> Rows: ...
    def writing(self) -> contextlib.AbstractContextManager[None]: ...
    def reading(self) -> contextlib.AbstractContextManager[None]: ...
    def changing_tables(self) -> contextlib.AbstractContextManager[None]: ...
    def has_table(self, name: str) -> bool: ...
    def forget(self) -> None: ...
    def close(self) -> None: ...


class SqliteHistory:
    """A file. BEGIN IMMEDIATE queues writers at the door: a lock that is upgraded later is refused at once, however long one would wait."""

    bytes_type = "BLOB"
    helped_by: tuple[str, ...] = (SERIES_INDEX,)

    def __init__(self, address: Address, *, create: bool) -> None:
        import sqlite3

        assert address.path is not None
        self.shown, self._fault = address.shown, sqlite3.Error
        path = os.fspath(address.path)
        _check_file(path, address.shown, create=create)
        mode = "ro" if address.read_only else "rwc" if create else "rw"
        self.read_only = address.read_only
        self._con = self._guarded(lambda: connect_sqlite(path, mode, timeout=PATIENCE))
        try:
            if (address.read_only or not create) and not self._guarded(lambda: self._can_keep_log(path)):
                self._con.close()
                self._con = self._guarded(lambda: connect_sqlite(path, "ro", immutable=True, timeout=PATIENCE))
                self.read_only = True
            if not self.read_only:
                self._guarded(self._write_ahead)
        except BaseException:
            self._con.close()
            raise

    def _can_keep_log(self, path: str) -> bool:
        """Whether SQLite can make what it needs beside a file that is only read. In a directory that is mounted read-only it cannot.

        A file without a log has everything in itself and is then read as one that nobody writes to. With a log it is not: what is in the
        log alone would be left out without a word, so SQLite's refusal stands.
        """
        import sqlite3

        try:
            self._con.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as fault:
            if not any(sign in str(fault) for sign in ("readonly", "unable to open")) or os.path.exists(f"{path}-wal"):
                raise
            return False
        return True

    def _write_ahead(self) -> None:
        """A log of its own, so that readers and writers do not wait for one another. The switch itself does not queue, so we do."""
        import sqlite3

        until = time.monotonic() + PATIENCE
        while True:
            try:
                if self._con.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    self._con.execute("PRAGMA journal_mode = WAL")
                self._con.execute("PRAGMA foreign_keys = ON")
                self._con.execute("PRAGMA secure_delete = ON")  # what is dropped is overwritten
                return
            except sqlite3.OperationalError as fault:
                if "locked" not in str(fault) or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def run(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        return self._guarded(lambda: self._con.execute(sql, list(values)).fetchall())

    def _guarded(self, query: Callable[[], Found]) -> Found:
        try:
            return databases.guarded(query, self._fault, _error_maker(self.shown))
        except UnicodeEncodeError:
            raise _error_maker(self.shown)("a text holds half a surrogate pair") from None

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        self.run("BEGIN IMMEDIATE")
        with self._ended():
            yield

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        self.run("BEGIN")
        with self._ended():
            yield

    @contextlib.contextmanager
    def _ended(self) -> Iterator[None]:
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            if self._con.in_transaction:  # a full disk may have rolled it back already
                with contextlib.suppress(self._fault):
                    self._con.execute("ROLLBACK")
            raise

    def changing_tables(self) -> contextlib.AbstractContextManager[None]:
        """A transaction in which tables are made: BEGIN IMMEDIATE lets in one at a time."""
        return self.writing()

    def has_table(self, name: str) -> bool:
        return bool(self.run("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [name]))

    def forget(self) -> None:
        """What was removed is gone from the log of writes too, as soon as nobody reads it any more."""
        self.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._con.close()


class PostgresHistory:
    """A server. A connection that was lost is told, and made anew for the next question."""

    bytes_type = "BYTEA"
    read_only = False
    helped_by: tuple[str, ...] = ()

    def __init__(self, address: Address) -> None:
        self.shown, self._settings = address.shown, {"application_name": "steelyard", **address.settings}
        self._con: Any = None
        self._connection()

    def _connection(self) -> Any:
        if self._con is None or self._con.closed:
            self._con = connect_postgres(self._settings, f"Cannot open the history {self.shown}", _error_maker(self.shown))
            import psycopg

            self._fault = psycopg.Error
            self._con.autocommit = True
            self._guarded(lambda: self._con.execute(f"SET lock_timeout = '{PATIENCE:.0f}s'"))
        return self._con

    def run(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        con = self._connection()

        def asked() -> Rows:
            cursor = con.execute(sql.replace("?", "%s"), list(values) or None)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

        return self._guarded(asked)

    def _guarded(self, query: Callable[[], Found]) -> Found:
        try:
            return databases.guarded(query, self._fault, _error_maker(self.shown), secrets_of(self._settings))
        except SourceError:
            raise
        except (UnicodeEncodeError, ValueError) as error:  # a NUL or half a surrogate pair: no text of PostgreSQL
            raise _error_maker(self.shown)(f"the server cannot keep one of the texts ({type(error).__name__})") from None

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        with self._transaction("BEGIN"):
            yield

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
            yield

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self.run(begin)
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            if not self._con.closed:
                with contextlib.suppress(self._fault):
                    self._con.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def changing_tables(self) -> Iterator[None]:
        """A transaction in which tables are made, one process at a time: two at once would fail with "relation already exists".

        The lock comes before the transaction: within one the server may go on believing that a table is not there.
        """
        self.run("SELECT pg_advisory_lock(?)", [LOCK_KEY])
        try:
            with self.writing():
                yield
        finally:
            if not self._con.closed:  # otherwise the server has let go of it
                self.run("SELECT pg_advisory_unlock(?)", [LOCK_KEY])

    def has_table(self, name: str) -> bool:
        return self.run("SELECT to_regclass(?)::text", [name])[0][0] is not None

    def forget(self) -> None:
        """The server cleans up by itself."""

    def close(self) -> None:
        if self._con is not None:
            self._con.close()


def _error_maker(shown: str) -> Callable[[str], SourceError]:
    """A database's fault as advice."""

    def database_error(message: str) -> SourceError:
        known = next(((need, hint) for sign, need, hint in _FAULTS if sign in message.lower()), ("a database that answers", ""))
        return SourceError(f"Cannot use the history {shown}: {message.rstrip('.')}.", got=message, need=known[0], hint=known[1])

    return database_error


_FAULTS = (
    ("disk is full", "room on the disk", "nothing of this run was kept; make room, or name another place with history="),
    ("readonly", "a database that can be written to", "name another place with history=, or history='none'"),
    ("read-only", "a database that can be written to", "name another place with history=, or history='none'"),
    ("not a database", "a SQLite database", "name another file with history="),
    ("malformed", "an undamaged database", "restore it from a backup; sqlite3 FILE .recover saves what can be read"),
    ("database is locked", "a moment without other writers", f"it was busy for {PATIENCE:.0f} seconds; is it on a network disk?"),
    ("unable to open database file", "a directory that can be written to", "SQLite keeps its log beside the file"),
    ("permission denied for", "rights to make and fill tables", "GRANT CREATE, SELECT, INSERT to the user of the URL"),
    ("authentication failed", "the right user and password", "a password can be in ~/.pgpass or PGPASSWORD instead of the URL"),
)


def _check_file(path: str, shown: str, *, create: bool) -> None:
    """Refuse what is no database before SQLite speaks of it, and a file that is not there when it is only to be read."""
    what = f"Cannot open the history {shown}"
    try:
        if os.stat(path).st_size == 0 and os.path.isfile(path):
            return  # SQLite takes an empty file for a new database
    except FileNotFoundError:
        if create and os.path.isdir(os.path.dirname(path) or "."):
            return
        if not create:
            hint = "the first run stored with history= creates it"
            raise SourceError(f"No history at {shown}.", got="no such file", need="a history of runs", hint=hint) from None
        hint = f"make the directory {os.path.dirname(path)!r}"
        raise SourceError(
            f"{what}: its directory does not exist.", got="a directory that is not there", need="a history of runs", hint=hint
        ) from None
    except OSError:
        pass  # told by the next line
    check_head(path, SQLITE_HEAD, 0, what, "a SQLite database")
