"""The same eight items out of every door give the same table."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, ipc
from pyarrow import parquet as pq

from steelyard.errors import SourceError
from steelyard.read.open_source import open_source
from unpackers import UNPACKERS, only_unpacker

pytestmark = pytest.mark.usefixtures("shared_engine")
ROWS = [
    {"id": f"q{i}", "truth": t, "prediction": p, "score": s, "note": 'x, "y"\nz'}
    for i, (t, p, s) in enumerate(
        [
            ("cat", "cat", 1.0),
            ("cat", "dog", 0.0),
            ("dog", "dog", 1.0),
            ("dog", None, None),
            ("a,b", "ü", 0.5),
            ("cat", "cat", 1.0),
            ("dog", "cat", 0.25),
            ("ü", "ü", 1.0),
        ]
    )
]
TABLE = [("a,b", "ü", 1), ("cat", "cat", 2), ("cat", "dog", 1), ("dog", None, 1), ("dog", "cat", 1), ("dog", "dog", 1), ("ü", "ü", 1)]
SCORES = [(None, 1), (0.0, 1), (0.25, 1), (0.5, 1), (1.0, 4)]


def delimited(delimiter: str) -> bytes:
    import csv

    out = io.StringIO()
    writer = csv.DictWriter(out, list(ROWS[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(ROWS)
    return out.getvalue().encode()


def arrow_file() -> bytes:
    out = io.BytesIO()
    table = pa.Table.from_pylist(ROWS)
    with ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def arrow_stream() -> bytes:
    out = io.BytesIO()
    table = pa.Table.from_pylist(ROWS)
    with ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), out)
    return out.getvalue()


def feather_file() -> bytes:
    out = io.BytesIO()
    feather.write_feather(pa.Table.from_pylist(ROWS), out)
    return out.getvalue()


CONTENT = {
    "a.csv": delimited(","),
    "a.tsv": delimited("\t"),
    "semicolon.csv": delimited(";"),
    "crlf.csv": delimited(",").replace(b'"x, ""y""\nz"\n', b'"x, ""y""\nz"\r\n').replace(b"note\n", b"note\r\n"),
    "bom.csv": b"\xef\xbb\xbf" + delimited(","),
    "a.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "a.ndjson": "\r\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).encode(),
    "bom.jsonl": b"\xef\xbb\xbf" + "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "a.json": json.dumps(ROWS, indent=1).encode(),
    "columns.json": json.dumps({key: [row[key] for row in ROWS] for key in ROWS[0]}).encode(),
    "lines.json": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "a.parquet": parquet(),
    "a.feather": feather_file(),
    "a.arrow": arrow_file(),
    "stream.arrow": arrow_stream(),
}


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, "zstd", asbytes=True))


def same(source: object) -> None:
    assert source.tabulate(["truth", "prediction"]) == TABLE
    assert source.tabulate(["score"]) == SCORES
    items = source.items()
    assert items.n == 8
    texts = [None if code < 0 else items.prediction.names[code] for code in items.prediction.codes]
    assert texts == [row["prediction"] for row in ROWS]
    assert [items.id.names[code] for code in items.id.codes] == [row["id"] for row in ROWS]
    np.testing.assert_array_equal(items.score, [np.nan if row["score"] is None else row["score"] for row in ROWS])


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
@pytest.mark.parametrize("name", CONTENT)
def test_files(tmp_path: Path, name: str, packing: str) -> None:
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstd}[packing]
    path = tmp_path / (name + packing)
    path.write_bytes(pack(CONTENT[name]))
    source = open_source(path, columns={})
    assert source.roles == {"id": "id", "truth": "truth", "prediction": "prediction", "score": "score"}
    assert source.name == name.split(".")[0]
    same(source)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.parquet", "a.arrow"])
@pytest.mark.parametrize("packing", ["", ".gz"])
def test_standard_input_is_sniffed(monkeypatch: pytest.MonkeyPatch, name: str, packing: str) -> None:
    content = gzip.compress(CONTENT[name]) if packing else CONTENT[name]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    same(open_source("-", columns={}))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", gzip.compress(CONTENT["a.json"])),
        ("a.csv", CONTENT["a.parquet"]),
        ("a.dat", CONTENT["a.csv"]),
        ("a.parquet", CONTENT["a.csv"]),
    ],
)
def test_the_bytes_win_over_a_wrong_extension(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    same(open_source(tmp_path / name, columns={}))


@pytest.mark.parametrize("package", [*UNPACKERS, "duckdb"])
def test_zstd_by_each_package(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = {f"{name}.zst": zstd(CONTENT[name][:100]) + zstd(CONTENT[name][100:]) + zstd(b"") for name in ("a.csv", "a.jsonl", "a.json")}
    only_unpacker(package, monkeypatch)
    for name, content in packed.items():
        (tmp_path / name).write_bytes(content)
        same(open_source(tmp_path / name, columns={}))


def test_zstd_of_several_frames_is_read_whole(tmp_path: Path) -> None:
    content = CONTENT["a.jsonl"]
    (tmp_path / "a.jsonl.zst").write_bytes(zstd(content[:200]) + zstd(content[200:]))
    same(open_source(tmp_path / "a.jsonl.zst", columns={}))


@pytest.mark.parametrize(("suffix", "write"), [(".csv", "csv"), (".jsonl", "jsonl"), (".parquet", "parquet"), (".feather", "feather")])
def test_directories_and_patterns_unite_by_name(tmp_path: Path, suffix: str, write: str) -> None:
    parts = [
        ROWS[:3],
        [{"prediction": row["prediction"], "id": row["id"], "truth": row["truth"], "score": row["score"]} for row in ROWS[3:]],
    ]
    for number, part in enumerate(parts):
        path = tmp_path / f"part{number}{suffix}"
        if write == "csv":
            pd.DataFrame(part).to_csv(path, index=False)
        elif write == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in part))
        elif write == "parquet":
            pq.write_table(pa.Table.from_pylist(part), path)
        else:
            feather.write_feather(pa.Table.from_pylist(part), path)
    (tmp_path / "README.md").write_text("not data")
    same(open_source(tmp_path, columns={}))
    same(open_source(str(tmp_path / f"*{suffix}"), columns={}))
    if write in ("csv", "parquet"):
        assert open_source(tmp_path, columns={}).warnings == ("column 'note' is absent from 1 of 2 files",)


def test_arrow_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.arrow").write_bytes(CONTENT["a.arrow"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SourceError, match=r"pip install 'steelyard\[arrow\]'"):
        open_source(tmp_path / "a.arrow", columns={})


def test_frames_rows_and_arrays() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (id VARCHAR, truth VARCHAR, prediction VARCHAR, score DOUBLE, note VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", [list(row.values()) for row in ROWS])
    table = pa.Table.from_pylist(ROWS)
    columns = {key: [row[key] for row in ROWS] for key in ROWS[0]}
    for data in (
        ROWS,
        columns,
        table,
        table.to_reader(),
        pl.DataFrame(ROWS),
        pl.DataFrame(ROWS).lazy(),
        pd.DataFrame(ROWS),
        con.sql("SELECT * FROM t"),
    ):
        same(open_source(data, columns={}))
    con.close()
    arrays = {key: columns[key] for key in ("id", "score")}
    same(open_source(columns["truth"], columns["prediction"], columns=arrays))
    same(open_source(np.array(columns["truth"]), pd.Series(columns["prediction"]), columns=arrays))


def test_categories_keep_their_texts() -> None:
    frame = pd.DataFrame(ROWS).astype({"truth": "category", "prediction": "category"})
    same(open_source(frame, columns={}))
    same(open_source(pl.DataFrame(ROWS, schema_overrides={"truth": pl.Categorical, "prediction": pl.Categorical}), columns={}))
    same(
        open_source(
            pa.Table.from_pylist(ROWS).set_column(1, "truth", pa.array([row["truth"] for row in ROWS]).dictionary_encode()), columns={}
        )
    )
