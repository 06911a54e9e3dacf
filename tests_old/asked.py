"""What DuckDB was asked: every SQL text of the connections that are made meanwhile, so that tests can count how often a file is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pytest


class AskedConnection:
    """A connection that writes down what it is asked."""

    def __init__(self, con: Any, asked: list[str]) -> None:
        self._con, self._asked = con, asked

    def execute(self, sql: str, *values: Any) -> Any:
        self._asked.append(sql)
        return self._con.execute(sql, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._con, name)

    def __enter__(self) -> AskedConnection:
        return self

    def __exit__(self, *fault: object) -> None:
        self._con.close()


@contextmanager
def asked_of_duckdb() -> Iterator[list[str]]:
    asked: list[str] = []
    made = duckdb.connect
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "connect", lambda *args, **options: AskedConnection(made(*args, **options), asked))
        yield asked


def reads(asked: list[str], file: str) -> list[str]:
    """The queries that went through the rows of a file: a description and the names of columns do not, nor do the first few rows."""
    rows = [sql for sql in asked if file in sql and not sql.startswith(("SET ", "DESCRIBE")) and "parquet_schema(" not in sql]
    return [sql for sql in rows if " LIMIT " not in sql]
