"""One DuckDB for all tests of a file that open hundreds of small ones: to start one costs more than everything that is asked of it.

A connection of the product is then a cursor, which has its temporary tables for itself, and sees the directories of the tests instead of
the files that were named. Tests of what a connection may see, of memory and of progress start their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from steelyard_old.read.engines import duckdb_table

_PER_CURSOR = ("enable_progress_bar", "enable_progress_bar_print")


@contextmanager
def one_engine(*directories: Path) -> Iterator[Callable[..., Any]]:
    """Whoever starts a DuckDB in memory meanwhile is given a cursor of one that sees these directories; what would start another."""
    start = duckdb.connect

    def connect(path: str = ":memory:", **options: Any) -> Any:
        return SharedCursor(engine.cursor()) if path == ":memory:" and not any(options.values()) else start(path, **options)

    with start(":memory:") as engine, pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "connect", lambda *_, **__: _Settings(engine, directories))
        duckdb_table.connect()
        patch.setattr(duckdb, "connect", connect)
        yield start


class SharedCursor:
    """A cursor of a DuckDB whose settings are settled: what would set them is not passed on."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def execute(self, sql: str, *values: Any) -> Any:
        return self if sql.startswith("SET ") else self._cursor.execute(sql, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def __enter__(self) -> SharedCursor:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()


class _Settings:
    """Takes the settings of the product for all cursors, but for what may be read."""

    def __init__(self, con: Any, directories: Sequence[Path]) -> None:
        self._con, self._directories = con, directories

    def execute(self, sql: str) -> None:
        if sql.startswith("SET allowed_paths"):
            sql = f"SET allowed_directories = [{', '.join(duckdb_table.literal(str(each)) for each in self._directories)}]"
        self._con.execute(sql if sql.split()[1] in _PER_CURSOR else sql.replace("SET ", "SET GLOBAL ", 1))
