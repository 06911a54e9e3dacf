"""Tables damaged at random: an answer about every row that an independent reader counts, or one line of advice.

`HYPOTHESIS_PROFILE=search python -m pytest tests/read/test_files_fuzz.py` looks for new damage.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cases import every
from damage import KINDS, STRANGE, TOKENS, command, cut, damaged, inserted, measured, nodes, replaced

pytestmark = pytest.mark.usefixtures("shared_engine")
N = 24
ROWS = [{"id": f"q{i}", "truth": "ab"[i % 2], "prediction": "ab"[i % 3 % 2], "note": f"ü {i}, x"} for i in range(N)]
TEXTS = ("a.csv", "a.tsv", "a.jsonl", "a.json")
PACKED = ("a.csv.gz", "a.jsonl.zst", "a.parquet", "a.arrow", "a.feather")
quietly = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def written(name: str) -> bytes:
    """The table in the format that a name promises."""
    kind = name.partition(".")[2]
    if kind in ("parquet", "arrow", "feather"):
        out, table = io.BytesIO(), pa.Table.from_pylist(ROWS)
        if kind == "parquet":
            pq.write_table(table, out)
        elif kind == "feather":
            feather.write_feather(table, out)
        else:
            with pa.ipc.new_stream(out, table.schema) as stream:
                stream.write_table(table)
        return out.getvalue()
    if kind.startswith("json"):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS) if "l" in kind else json.dumps(ROWS, indent=1)
    else:
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(ROWS[0]), delimiter="\t" if kind == "tsv" else ",")
        writer.writeheader()
        writer.writerows(ROWS)
        text = stream.getvalue()
    data = text.encode()
    return (
        gzip.compress(data, mtime=0) if name.endswith("gz") else pa.compress(data, "zstd", asbytes=True) if name.endswith("zst") else data
    )


WHOLE = {name: written(name) for name in (*TEXTS, *PACKED)}


def promised(name: str, data: bytes) -> int | None:
    """How many rows the Python standard library finds; None if it finds none it can trust."""
    try:
        text = data.decode("utf-8-sig")
        if name == "a.jsonl":
            return sum(bool(line.strip()) for line in text.split("\n"))
        if name == "a.json":
            return len(json.loads(text))
        delimiter = "\t" if name == "a.tsv" else next((each for each in ",\t;|" if each in text.partition("\n")[0].partition("\r")[0]), ",")
        found = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
        return len(found) - 1
    except (ValueError, RecursionError, csv.Error):
        return None


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=30, suppress_health_check=quietly)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_a_damaged_text_is_refused_or_counted_whole(tmp_path: Path, name: str, kind: str, seed: int) -> None:
    bad = damaged(WHOLE[name], kind, random.Random(seed))
    (tmp_path / name).write_bytes(bad)
    found = measured(tmp_path / name, "--metric", "accuracy", "--missing", "wrong")
    if found.code == 0:
        assert found.n == promised(name, bad)


@pytest.mark.parametrize("name", PACKED)
@settings(max_examples=20, suppress_health_check=quietly)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_a_damaged_archive_is_refused_or_has_every_row(tmp_path: Path, name: str, kind: str, seed: int) -> None:
    (tmp_path / name).write_bytes(damaged(WHOLE[name], kind, random.Random(seed)))
    found = measured(tmp_path / name, "--metric", "accuracy", "--missing", "wrong")
    if found.code == 0:
        assert found.n == N


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.csv.gz", "a.jsonl.zst", "a.arrow"])
def test_a_file_cut_at_any_place_has_no_half_answer(tmp_path: Path, name: str) -> None:
    """At the end of a line a shorter table is a whole one; anywhere else the cut shows, except inside the last field of a CSV."""
    whole, packed = WHOLE[name], name not in TEXTS
    for place in sorted({*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1, len(whole) - 2}):
        (tmp_path / name).write_bytes(whole[:place])
        found = measured(tmp_path / name, "--metric", "accuracy")
        if found.code == 0:
            assert not packed
            assert name != "a.json"
            assert found.n == promised(name, whole[:place])
            assert name == "a.csv" or whole[:place].endswith((b"\n", b"}"))


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
@every("token", TOKENS)
def test_any_token_anywhere(tmp_path: Path, name: str, token: bytes) -> None:
    for place in (0.0, 0.03, 0.5, 1.0):
        bad = inserted(WHOLE[name], place, token)
        (tmp_path / name).write_bytes(bad)
        found = measured(tmp_path / name, "--metric", "accuracy", "--missing", "wrong")
        if found.code == 0:
            assert found.n == promised(name, bad)


COLUMNS = ["id", "truth", "prediction", "score", "group", "weight"]


@every(  # half of the columns for each, in one format or the other: neighbours among the values are of one kind
    ("value", "column", "lines"),
    [
        (value, column, bool((turn + place) % 4 == 1))
        for turn, value in enumerate(STRANGE)
        for place, column in enumerate(COLUMNS)
        if (turn + place) % 2
    ],
)
def test_any_value_in_any_column(tmp_path: Path, column: str, value: Any, lines: bool) -> None:
    rows = [{**row, "score": i % 2, "group": f"g{i % 6}", "weight": 1} for i, row in enumerate(ROWS)]
    rows[7][column] = value
    path = tmp_path / ("a.jsonl" if lines else "a.json")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) if lines else json.dumps(rows))
    words = ("--weight", "weight", "--group", "none") if column == "weight" else ()
    found = measured(path, *words)
    if found.code == 0 and column != "weight":
        assert found.n == N
    loose = measured(path, "--missing", "drop", *words)
    if loose.code == 0 and loose.n < N and column != "weight":
        assert loose.warnings


@settings(suppress_health_check=quietly)
@given(node=st.integers(0, 10**6), new=st.sampled_from(STRANGE))
def test_any_node_of_a_document_of_columns(tmp_path: Path, node: int, new: Any) -> None:
    whole = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    paths = nodes(whole)
    (tmp_path / "a.json").write_text(json.dumps(replaced(whole, paths[node % len(paths)], new)))
    found = measured(tmp_path / "a.json", "--metric", "accuracy", "--missing", "wrong")
    if found.code == 0:
        assert found.n == N


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
@settings(max_examples=12, suppress_health_check=quietly)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_a_damaged_run_is_never_compared_on_fewer_items(tmp_path: Path, name: str, kind: str, seed: int) -> None:
    (tmp_path / "whole.csv").write_bytes(WHOLE["a.csv"])
    (tmp_path / name).write_bytes(damaged(WHOLE[name], kind, random.Random(seed)))
    found = command("compare", tmp_path / "whole.csv", tmp_path / name, "--format", "json", "--metric", "accuracy", "--missing", "wrong")
    if found.code == 0:
        assert found.n == N
    else:
        assert found.code == 3, found.err
        assert found.err.startswith("error: ")
        assert found.err.count("\n") == 1


def test_an_answer_that_could_not_be_given_leaves_the_output_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("before")
    for name, data in WHOLE.items():
        (tmp_path / name).write_bytes(cut(data, 0.4) if name not in ("a.csv", "a.tsv") else data + b'"')
        found = command("measure", tmp_path / name, "-o", tmp_path / "out.json")
        assert found.code == 3, name
        assert (tmp_path / "out.json").read_text() == "before"
        assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
