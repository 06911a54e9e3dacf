"""The door: what may come in, what it is called, and how little it costs to stand there."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asked import asked_of_duckdb, reads
from cases import every, seldom
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.read.columns import as_column
from steelyard.read.engines import duckdb_table as engine
from steelyard.read.engines import uniqueness
from steelyard.read.files import delimited
from steelyard.read.open_source import open_source

pytestmark = pytest.mark.usefixtures("shared_engine")
CSV = "id,truth,pred\n1,a,a\n2,b,a\n"


def write(path: Path, text: str = CSV) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_importing_the_door_loads_nothing_heavy() -> None:
    code = "import sys, steelyard.read.open_source; print([m for m in ('numpy', 'duckdb', 'pandas', 'pyarrow') if m in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    )
    assert answer.stdout == "[]\n"


def test_a_run_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv")
    assert open_source(f"baseline={path}", columns={}).name == "baseline"
    assert open_source(path, columns={}).name == "a"


def test_a_path_with_an_equals_sign_that_exists_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a=b.csv")
    source = open_source("a=b.csv", columns={})
    assert (source.name, source.n) == ("a=b", 2)


@pytest.mark.parametrize("name", ["x[1].csv", "what?.csv", "a*b.csv", "o'brien.csv", 'q"q.csv', "ü ä.csv"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_awkward_file_names(tmp_path: Path, name: str, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    path = tmp_path / name.replace(".csv", suffix)
    frame = pd.DataFrame({"truth": ["a", "b"], "pred": ["a", "a"]})
    write(tmp_path / f"x1{suffix}", "truth,pred\nz,z\n")  # what the pattern x[1] would find
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    source = open_source(path, columns={})
    assert type(source.table).__name__ == "EngineTable"
    assert source.tabulate(["truth", "prediction"]) == [("a", "a", 1), ("b", "a", 1)]


def test_hive_like_directories_add_no_columns(tmp_path: Path) -> None:
    folder = tmp_path / "label=z"
    folder.mkdir()
    pd.DataFrame({"truth": ["a"], "pred": ["a"]}).to_parquet(folder / "a.parquet")
    assert open_source(folder / "a.parquet", columns={}).columns == ("truth", "pred")


def test_awkward_columns_and_labels_that_look_like_sql(tmp_path: Path) -> None:
    truth, prediction = 'Truth-ü "x"', "score``s; DROP TABLE items --"
    labels = ["'; DROP TABLE items; --", '"', "`", "NULL", "\\", "a'b"]
    frame = pd.DataFrame({truth: labels, prediction: labels, "select": range(6), "item id": range(6)})
    columns = {"truth": truth, "prediction": prediction, "id": "item id", "by": ("select",)}
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    expected = [(label, label, 1) for label in sorted(labels)]
    for data in (tmp_path / "a.csv", tmp_path / "a.parquet", tmp_path / "a.jsonl", frame):
        source = open_source(data, columns=columns)
        assert source.tabulate(["truth", "prediction"]) == expected
        assert len(source.tabulate(["truth"], by="select")) == 6
        assert source.items().slices["select"].names == tuple("012345")


@pytest.mark.usefixtures("own_engines")
def test_the_engine_sees_the_named_file_only(tmp_path: Path) -> None:
    import duckdb

    from steelyard.read.engines.duckdb_table import connect

    write(tmp_path / "a.csv")
    write(tmp_path / "b.csv")
    con = connect([str(tmp_path / "a.csv")])
    assert len(con.execute("SELECT * FROM read_csv(?)", [str(tmp_path / "a.csv")]).fetchall()) == 2
    for forbidden in (f"SELECT * FROM read_csv('{tmp_path / 'b.csv'}')", "SET enable_external_access = true", "INSTALL httpfs"):
        with pytest.raises(duckdb.Error):
            con.execute(forbidden).fetchall()
    con.close()


def test_temporary_files_go_with_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    source = open_source(tmp_path / "a.csv.gz", columns={})
    assert source.n == 2
    del source
    assert list((tmp_path / "t").iterdir()) == []


def test_a_second_argument_needs_arrays(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"A second argument is only possible with two arrays, truth and prediction; got str and str\."):
        open_source("a.csv", "b.csv", columns={})
    with pytest.raises(UsageError, match="A second argument is only possible with two arrays, truth and prediction; got DataFrame and"):
        open_source(pd.DataFrame({"a": [1]}), [1], columns={})


def test_what_cannot_come_in() -> None:
    with pytest.raises(UsageError, match=r"Cannot open 3 bytes as a source\."):
        open_source(b"a,b", columns={})
    with pytest.raises(UsageError, match=r"score must be a list, an array or a Series, not an int\."):
        open_source(7, columns={})
    with pytest.raises(DataError, match=r"Row 2 is int; every row must be a dict\."):
        open_source([{"truth": 1}, 2], columns={})
    with pytest.raises(DataError, match="3 values in 'truth', 2 in 'pred'"):
        open_source({"truth": [1, 2, 3], "pred": [1, 2]}, columns={})
    with pytest.raises(SourceError, match="no items"):
        open_source(pd.DataFrame({"truth": [], "pred": []}), columns={})


def test_tabulate_by_and_weight(tmp_path: Path) -> None:
    text = "truth,pred,lang,w\na,a,en,2\na,b,en,3\nb,b,de,0\nb,b,de,1\n"
    path = write(tmp_path / "a.csv", text)
    pd.read_csv(path).to_parquet(tmp_path / "a.parquet")
    for data in (path, tmp_path / "a.parquet", pd.read_csv(path)):
        source = open_source(data, columns={"by": ("lang",)})
        assert source.tabulate(["truth", "prediction"], by="lang") == [("de", "b", "b", 2), ("en", "a", "a", 1), ("en", "a", "b", 1)]
        weighted = open_source(data, columns={"weight": "w"})
        assert weighted.weights_are_whole()
        assert weighted.tabulate(["truth", "prediction"]) == [("a", "a", 2), ("a", "b", 3), ("b", "b", 1)]
        assert weighted.items().weight.tolist() == [2.0, 3.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((1, -2, 3), r"Weights must be 0 or more: -2\.0 in row 2\."),
        ((1, 2, None), r"Weights must be 0 or more: a missing weight in row 3\."),
        ((0, 0, 0), r"All 3 weights are zero\."),
        ((1, "x", 1), r"The weight in row 2 must be a number.* not 'x'"),
    ],
)
def test_weights_that_are_none(tmp_path: Path, weights: tuple[object, ...], message: str) -> None:
    frame = pd.DataFrame({"score": [1, 0, 1], "w": pd.Series(weights, dtype=object)})
    frame.to_csv(tmp_path / "a.csv", index=False)
    for data in (tmp_path / "a.csv", frame):
        with pytest.raises(DataError, match=message):
            open_source(data, columns={"weight": "w"}).tabulate(["score"])
        with pytest.raises(DataError, match=message):
            open_source(data, columns={"weight": "w"}).items()


def test_fractional_weights_are_left_to_the_items() -> None:
    source = open_source({"score": [1, 0], "w": [0.5, 1.5]}, columns={"weight": "w"})
    assert not source.weights_are_whole()
    with pytest.raises(DataError, match=r"The weights in column 'w' are not whole numbers\."):
        source.tabulate(["score"])
    assert source.items().weight.tolist() == [0.5, 1.5]


def test_numeric_truth_and_ratio(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "truth,pred,errors,words\n1.5,1,2,10\n2,,3,20\n")
    items = open_source(path, columns={"ratio": ("errors", "words")}).items(numeric=True)
    assert items.truth is None
    assert items.truth_value.tolist() == [1.5, 2.0]
    assert str(items.prediction_value.tolist()) == "[1.0, nan]"
    assert [part.tolist() for part in items.ratio] == [[2.0, 3.0], [10.0, 20.0]]
    write(path, "truth,pred\n1.5,1\n2,high\n")
    with pytest.raises(DataError, match=r"The prediction in row 2 must be a number.* not 'high'"):
        open_source(path, columns={}).items(numeric=True)


# ---- integer labels as they came -----------------------------------------------------------------------------------


@every("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
@every("n", [1, 65_536, 65_537, 200_001])
def test_least_and_largest_label_in_different_blocks(kind: type[np.integer], n: int) -> None:
    """Both ends at the limit of the type: the first row has the largest value, the last row the least."""
    top = int(np.iinfo(kind).max)
    values = np.full(n, top - 50, kind)
    values[0], values[-1] = top, top - 100
    labels, distinct = as_column("truth", values).encode()
    low, high = int(values.min()), int(values.max())
    assert labels.names == tuple(map(str, range(low, high + 1)))
    assert labels.base == low
    assert labels.complete
    assert (labels.raw == values).all()
    assert distinct.names == labels.names


def test_a_range_beyond_the_type_and_masked_ends() -> None:
    wide, _ = as_column("truth", np.array([-128, 127, 0], np.int8)).encode()
    assert [wide.names[i] for i in wide.codes] == ["-128", "127", "0"]
    sparse, _ = as_column("truth", np.array([-(2**63), 2**63 - 1, 5])).encode()
    assert [sparse.names[i] for i in sparse.codes] == [str(-(2**63)), str(2**63 - 1), "5"]
    assert sparse.complete
    masked, _ = as_column("truth", np.ma.MaskedArray([99, 3, 4, -99], [True, False, False, True])).encode()
    assert masked.names == ("3", "4")
    assert masked.codes.tolist() == [-1, 0, 1, -1]
    assert not masked.complete


@pytest.mark.parametrize("values", [np.array([1.0, np.nan, 2.0]), np.ma.MaskedArray([True, False], [True, False]), ["a", None]])
def test_a_column_with_holes_is_never_called_complete(values: object) -> None:
    labels, _ = as_column("truth", values).encode()
    assert -1 in labels.codes
    assert not labels.complete


@pytest.mark.parametrize("values", [np.array([True, False]), np.array([1.5, 2.5]), np.array([7, 9], np.uint8)])
def test_a_column_without_holes_is_known_to_be_complete(values: object) -> None:
    labels, _ = as_column("truth", values).encode()
    assert labels.complete
    assert (labels.codes >= 0).all()


# ---- ids, proved distinct by their hashes --------------------------------------------------------------------------

IDS = {
    "text": [f"item {i}" for i in range(500)],
    "int": list(range(-250, 250)),
    "float": [i / 8 for i in range(500)],
    "date": pd.date_range("2020-01-01", periods=500).date.tolist(),
}


def table_of(path: Path, **columns: list[object]) -> engine.EngineTable:
    pd.DataFrame(columns).to_parquet(path)
    table = open_source(path, columns={"score": "score"}).table
    assert isinstance(table, engine.EngineTable)
    return table


@pytest.mark.parametrize(
    ("kind", "hashed"),
    [("int", 25), *((kind, hashed) for kind in IDS for hashed in (200, 499, 500, 1 << 24)), *seldom(("text", 1), ("int", 7))],
)
def test_repeated_ids_are_found_in_every_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, hashed: int) -> None:
    monkeypatch.setattr(uniqueness, "HASHED", hashed)
    score: list[object] = [0.5] * 500
    assert table_of(tmp_path / "a.parquet", id=IDS[kind], score=score).repeated(["id"]) == (0, 0, [])
    twice = [*IDS[kind][:-1], IDS[kind][3]]
    ids, rows, first = table_of(tmp_path / "b.parquet", id=twice, score=score).repeated(["id"])
    assert (ids, rows, len(first)) == (1, 2, 1)
    assert first[0][0] == twice[3]


def test_the_file_is_read_once_however_many_slices_its_hashes_fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniqueness, "HASHED", 60)
    with asked_of_duckdb() as asked:
        table = table_of(tmp_path / "a.parquet", id=IDS["text"][::-1], score=[0.5] * 500)
        asked.clear()
        assert table.repeated(["id"]) == (0, 0, [])
        assert len(reads(asked, "a.parquet")) == 1
        assert sum("FROM hashes" in sql for sql in asked) == 9  # slices of 60 among 500
        assert not table.guarded(lambda: table._con.execute("SELECT * FROM duckdb_tables()").fetchall())  # nothing stays behind


def test_keys_of_two_columns_are_hashed_together(tmp_path: Path) -> None:
    once = table_of(tmp_path / "a.parquet", id=["a", "a", "b"], run=[1, 2, 1], score=[0.0, 1.0, 1.0])
    assert once.repeated(["id", "run"]) == (0, 0, [])
    assert once.repeated(["id"]) == (1, 2, [("a",)])
    twice = table_of(tmp_path / "b.parquet", id=["a", "a", "b"], run=[1, 1, 1], score=[0.0, 1.0, 1.0])
    assert twice.repeated(["id", "run"]) == (1, 2, [("a", 1)])


def test_the_two_zeros_are_one_id(tmp_path: Path) -> None:
    """SQL calls 0.0 and -0.0 equal although their bits differ, so their hashes must agree."""
    ids, rows, _ = table_of(tmp_path / "a.parquet", id=[0.0, -0.0, 1.5], score=[0.0, 1.0, 1.0]).repeated(["id"])
    assert (ids, rows) == (1, 2)


def test_hashes_that_agree_by_chance_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash only proves that ids differ: all alike, the ids themselves decide."""
    monkeypatch.setattr(engine.EngineTable, "_hashes", lambda self, *_: np.zeros(self.n, np.uint64))
    score: list[object] = [0.5] * 3
    assert table_of(tmp_path / "a.parquet", id=["a", "b", "c"], score=score).repeated(["id"]) == (0, 0, [])
    assert table_of(tmp_path / "b.parquet", id=["a", "b", "a"], score=score).repeated(["id"]) == (1, 2, [("a",)])


@every(
    "ids, asked_for_hashes",
    [
        (list(range(300)), False),
        (list(range(-5, 295)), False),
        ([f"{i:04d}" for i in range(300)], False),
        ([*range(299), 7], True),
        ([*range(150), 149, *range(151, 300)], True),
        (list(range(300))[::-1], True),
        ([f"item {i}" for i in range(300)], False),
        ([*(f"item {i}" for i in range(299)), "item 7"], True),
        ([*(f"item {i}" for i in range(299)), "item 298"], True),
        ([*(f"item {i}" for i in range(150)), "item 007", *(f"item {i}" for i in range(151, 300))], True),
        ([f"task {i // 100} item {i % 100}" for i in range(300)], True),
        ([0.5 * i for i in range(299)] + [float("nan")], True),
    ],
)
def test_ids_that_grow_are_proved_in_one_pass(ids: list[object], asked_for_hashes: bool) -> None:
    """Whatever does not grow, or has a gap, is looked into by its hashes: the answer is the same."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        table = table_of(Path(folder, "a.parquet"), id=ids, score=[0.5] * 300)
        expected = table.repeated(["id"])
        patch.setattr(engine, "MANY", 10)
        patch.setattr(uniqueness, "FIRST", 20)
        asked: list[str] = []
        hashes = engine.EngineTable._hashes
        patch.setattr(engine.EngineTable, "_hashes", lambda self, sql: asked.append(sql) or hashes(self, sql))
        assert table.repeated(["id"]) == expected
        assert bool(asked) == asked_for_hashes


def test_a_missing_id_between_equal_ones_hides_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engine, "MANY", 1)
    table = table_of(tmp_path / "a.parquet", id=["a", "b", None, "b", "c"], score=[0.5] * 5)
    assert table.repeated(["id"])[:2] == (1, 2)
