"""Hive partitions, many files and files that do not fit together: the path as columns, or an error that names the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import steelyard as sy
from steelyard.errors import SourceError
from steelyard.read.engines.duckdb_table import EngineTable
from steelyard.read.files import delimited
from steelyard.read.files import jsons as json_lines
from steelyard.read.files.formats import partition_of
from steelyard.read.files.paths import resolve, split_name
from steelyard.read.open_source import Source, open_source

pytestmark = pytest.mark.usefixtures("shared_engine")
FORMATS = ("parquet", "csv", "jsonl", "arrow")


def save(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = list(rows[0])
    if path.suffix == ".csv":
        path.write_text("\n".join([",".join(names), *(",".join(str(row[name]) for name in names) for row in rows)]) + "\n")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".arrow":
        pa = pytest.importorskip("pyarrow")
        table = pa.Table.from_pylist(rows)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        with duckdb.connect() as con:
            columns = ", ".join(f"UNNEST(${i + 1}) AS {name}" for i, name in enumerate(names))
            con.execute(f"COPY (SELECT {columns}) TO '{path}' (FORMAT parquet)", [[row[name] for row in rows] for name in names])
    return path


def answers(first: int, right: int, n: int = 10) -> list[dict[str, Any]]:
    return [{"id": f"i{first + i}", "truth": "a", "pred": "a" if i < right else "b"} for i in range(n)]


def partitioned(root: Path, ending: str) -> Path:
    save(root / "year=2023" / "lang=en" / f"part-0.{ending}", answers(0, 9))
    save(root / "year=2023" / "lang=de" / f"part-0.{ending}", answers(10, 8))
    save(root / "year=2024" / "lang=en" / f"part-0.{ending}", answers(20, 7))
    save(root / "year=2024" / "lang=en" / f"part-1.{ending}", answers(30, 6))
    save(root / "year=2024" / "lang=__HIVE_DEFAULT_PARTITION__" / f"part-0.{ending}", answers(40, 5))
    (root / "_SUCCESS").touch()
    (root / "year=2024" / "lang=en" / f"_part-9.{ending}").write_text("left over by a writer")
    return root


def opened(path: Path | str, **columns: Any) -> Source:
    return open_source(path, columns=columns)


@pytest.mark.parametrize("held", [0, 64 << 20])
@pytest.mark.parametrize("ending", FORMATS)
def test_keys_are_columns(tmp_path: Path, ending: str, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "HELD", held)
    monkeypatch.setattr(json_lines, "HELD", held)
    monkeypatch.setattr(json_lines, "SMALL", 0)
    root = partitioned(tmp_path / "run", ending)
    expected = [("2023", "a", "a", 17), ("2023", "a", "b", 3), ("2024", "a", "a", 18), ("2024", "a", "b", 12)]
    for path in (root, f"{root}/*/*/part-*.{ending}", f"{root}/**/part-*.{ending}"):
        source = opened(path, by=("year", "lang"))
        assert source.n == 50
        assert source.columns[-2:] == ("year", "lang")
        assert source.tabulate(["truth", "prediction"], by="year") == expected
        assert {row[0] for row in source.tabulate(["truth"], by="lang")} == {"en", "de", None}
    items = source.items()
    langs = items.slices["lang"]
    assert [langs.names[code] if code >= 0 else None for code in langs.codes[::10]] == ["de", "en", None, "en", "en"]  # files in order
    measured = sy.measure(root, metric="accuracy", by="year")
    assert [(part.value, part.measurement.row.estimate) for part in measured.slices] == [("2023", 0.85), ("2024", 0.6)]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_named_itself_has_no_keys(tmp_path: Path, ending: str) -> None:
    root = partitioned(tmp_path / "run", ending)
    assert "year" not in opened(root / "year=2024" / "lang=en" / f"part-0.{ending}").columns
    below = opened(root / "year=2024")
    assert (below.n, below.columns[-1]) == (30, "lang")


@pytest.mark.parametrize("ending", FORMATS)
def test_a_key_that_is_also_a_column(tmp_path: Path, ending: str) -> None:
    path = save(tmp_path / "run" / "Truth=a" / f"part-0.{ending}", answers(0, 9))
    message = rf"'Truth' is a partition key of the path .*part-0.{ending}' and also a column \('truth'\) inside"
    with pytest.raises(SourceError, match=message):
        opened(path.parent.parent)


@pytest.mark.parametrize("ending", FORMATS)
def test_files_at_different_depths(tmp_path: Path, ending: str) -> None:
    root = partitioned(tmp_path / "run", ending)
    save(root / f"stray.{ending}", answers(90, 1))
    message = rf"different partitions: no keys for .*stray.{ending}', keys 'year', 'lang' for"
    with pytest.raises(SourceError, match=message):
        opened(root)


def test_keys_of_a_path(tmp_path: Path) -> None:
    assert partition_of("runs/*/x/*.csv", "runs/a%20b=c%2Fd/x/1.csv") == {"a b": "c/d"}
    assert partition_of("day=1/**/*.csv", "day=1/hour=2/1.csv") == {"hour": "2"}
    assert partition_of("day=*/1.csv", "day=/1.csv") == {"day": ""}
    assert partition_of("day=1/1.csv", "day=1/1.csv") == {}
    with pytest.raises(SourceError, match="the partition key 'Day' twice"):
        partition_of("*/*/1.csv", "day=1/Day=2/1.csv")


def test_a_pattern_of_partitions_is_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partitioned(tmp_path, "csv")
    monkeypatch.chdir(tmp_path)
    assert split_name("year=*/lang=en/part-*.csv") == (None, "year=*/lang=en/part-*.csv")
    assert split_name("mine=*/lang=en/part-*.csv") == ("mine", "*/lang=en/part-*.csv")
    assert opened("year=*/lang=en/part-*.csv", by="year").n == 30
    assert opened("mine=*/lang=en/part-*.csv").name == "mine"
    assert len(resolve("**/part-0.csv")) == 4


# ---- many files, and files that differ -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", FORMATS[:3])
def test_hundreds_of_files(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "SMALL", 0)
    monkeypatch.setattr(delimited, "SMALL", 0)
    first = save(tmp_path / f"0000.{ending}", answers(0, 1, n=2))
    content = first.read_bytes()
    for place in range(1, 300):
        (tmp_path / f"{place:04}.{ending}").write_bytes(content)
    source = opened(tmp_path, id="none")
    assert isinstance(source.table, EngineTable)
    assert source.tabulate(["truth", "prediction"]) == [("a", "a", 300), ("a", "b", 300)]


def test_types_that_differ_between_files(tmp_path: Path) -> None:
    save(tmp_path / "1.parquet", [{"id": "a", "truth": "x", "pred": "x", "prompt": "p"}])
    save(tmp_path / "2.parquet", [{"id": "b", "truth": 1, "pred": "x", "prompt": 7}])
    message = r"The column 'truth' has different types: VARCHAR in .*1.parquet', (INTEGER|BIGINT) in .*2.parquet'"
    with pytest.raises(SourceError, match=message):
        opened(tmp_path)
    save(tmp_path / "2.parquet", [{"id": "b", "truth": "x", "pred": "x", "prompt": 7}])
    assert opened(tmp_path).n == 2  # nobody asks for the prompts
    with pytest.raises(SourceError, match=r"The column 'prompt' has different types: VARCHAR in .*, INTEGER in .*\."):
        opened(tmp_path, by="prompt")
    save(tmp_path / "1.parquet", [{"id": "a", "truth": 1, "pred": 1, "score": 1}])
    save(tmp_path / "2.parquet", [{"id": "b", "truth": 1, "pred": 1, "score": 0.5}])
    assert opened(tmp_path).tabulate(["score"]) == [(0.5, 1), (1.0, 1)]


def test_the_damaged_file_is_named(tmp_path: Path) -> None:
    save(tmp_path / "1.parquet", answers(0, 1))
    (tmp_path / "2.parquet").write_bytes(b"PAR1" + b"x" * 100 + b"PAR1")
    with pytest.raises(SourceError, match=r"'[^']*2.parquet' is not a whole Parquet file"):
        opened(tmp_path)


def test_a_csv_is_regular_wherever_a_chunk_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk that ends one byte after a newline is no blank line: the file stays with the engine."""
    monkeypatch.setattr(delimited, "SMALL", 0)
    path = save(tmp_path / "a.csv", answers(0, 5))
    for size in range(3, 40):
        monkeypatch.setattr(delimited, "_CHUNK", size)
        assert isinstance(opened(path).table, EngineTable), size
    for blank in (b"\nid,truth,pred\ni0,a,a\n", b"id,truth,pred\ni0,a,a\n\ni1,a,b\n"):
        path.write_bytes(blank)
        for size in range(3, 40):
            monkeypatch.setattr(delimited, "_CHUNK", size)
            assert not isinstance(opened(path).table, EngineTable), size


def test_a_large_csv_is_read_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    path = save(tmp_path / "a.csv", answers(0, 7))
    small = opened(path)
    monkeypatch.setattr(delimited, "HELD", 0)
    large = opened(path)
    assert large.table._relation != small.table._relation == "items"
    assert large.tabulate(["truth", "prediction"]) == small.tabulate(["truth", "prediction"])
    assert large.items().id.names == small.items().id.names
    path.write_text("id,truth,pred\n")
    with pytest.raises(SourceError, match="changed while it was read"):
        large.tabulate(["truth"])
