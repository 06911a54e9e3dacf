"""Rows as they are: every column, whatever it holds."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from steelyard.errors import SourceError, UsageError
from steelyard.read.rows import rows_of

pytestmark = pytest.mark.usefixtures("shared_engine")


def test_csv_is_text_and_an_empty_field_is_none(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('id,q,n\n1,"a, b",01\n2,,3.50\n')
    assert rows_of(file)[0] == [{"id": "1", "q": "a, b", "n": "01"}, {"id": "2", "q": None, "n": "3.50"}]


def test_json_keeps_its_types_and_lacking_keys_are_none(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"id":1,"q":[1,2],"d":{"a":1}}\n{"id":"2","x":true}\n')
    assert rows_of(file)[0] == [{"id": 1, "q": [1, 2], "d": {"a": 1}, "x": None}, {"id": "2", "q": None, "d": None, "x": True}]
    whole = tmp_path / "a.json"
    whole.write_text(json.dumps([{"id": 1, "q": "a"}]))
    assert rows_of(str(whole))[0] == [{"id": 1, "q": "a"}]


def test_parquet_and_frames(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT 1 AS id, 'x' AS q, [1, 2] AS l, NULL::INTEGER AS n) TO '{file}' (FORMAT parquet)")
    assert rows_of(file)[0] == [{"id": 1, "q": "x", "l": [1, 2], "n": None}]
    assert rows_of(pd.DataFrame({"id": [1, 2], "x": [1.5, None]}))[0] == [{"id": 1, "x": 1.5}, {"id": 2, "x": None}]
    assert rows_of({"id": [1], "x": ["a"]})[0] == rows_of([{"id": 1, "x": "a"}])[0]


def test_several_files_are_one_table_and_packed_ones_are_unpacked(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.jsonl").write_text('{"id":1}\n')
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"id":2}\n'))
    assert [row["id"] for row in rows_of(str(tmp_path / "*"))[0]] == [1, 2]


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id":1}\n{"id":')
    with pytest.raises(SourceError, match="cut off"):
        rows_of(tmp_path / "a.jsonl")
    with pytest.raises(UsageError, match="a file"):
        rows_of("postgresql://me:secret@host/db?table=t")
    with pytest.raises(UsageError, match=r"Rows must be a path, a frame, rows as dicts, or a dict of columns, not an int\.") as told:
        rows_of(7)
    assert "int" in str(told.value)
