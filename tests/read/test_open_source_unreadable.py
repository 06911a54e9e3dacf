"""What is said of a source that cannot be read names the cause and what helps."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.read.files import columnar
from steelyard.read.open_source import open_source


def test_an_sqlite_file_is_refused_with_the_address_that_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE t (id TEXT, score REAL)")
        con.executemany("INSERT INTO t VALUES (?, ?)", [("a", 1.0), ("b", 0.0)])
    con.close()
    with pytest.raises(sy.SourceError, match=r"sqlite:///FILE\?table=NAME"):
        sy.measure(str(path))
    assert sy.measure(f"sqlite:///{path}?table=t").n == 2


def parquet(path: Path) -> Path:
    import duckdb

    duckdb.sql(f"COPY (SELECT i AS id, 1.0 AS score FROM range(10) t(i)) TO '{path}' (FORMAT parquet)")
    return path


def test_a_parquet_file_that_vanishes_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB speaks of a setting of ours then."""
    path = parquet(tmp_path / "live.parquet")
    source = open_source(str(path), columns={"score": "score"})
    path.unlink()
    with pytest.raises(sy.SourceError, match="changed while it was read"):
        source.items()
    path = parquet(tmp_path / "gone.parquet")
    connect = columnar.connect
    monkeypatch.setattr(columnar, "connect", lambda paths: (path.unlink(), connect(paths))[1])
    with pytest.raises(sy.SourceError, match="changed while it was read"):
        sy.measure(str(path))
