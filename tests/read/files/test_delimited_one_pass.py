"""Large text files are read once for all that a measurement wants to know; whatever cannot be told so is told as the strict reader does."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steelyard as sy
from asked import asked_of_duckdb, reads
from cases import every
from steelyard.errors import SteelyardError
from steelyard.read import source as source_module
from steelyard.read.engines import duckdb_table, uniqueness, unread
from steelyard.read.files import delimited, jsons
from steelyard.read.open_source import open_source
from steelyard.tally.spelling import look_alike_warnings

pytestmark = pytest.mark.usefixtures("shared_engine")
N = 300
LABELS = ["a", "b", "class c", "Ünicode", "7"]


def labels(seed: int) -> list[str]:
    drawn = random.Random(seed)
    return [drawn.choice(LABELS) for _ in range(N)]


def csv_of(ids: Sequence[str], extra: dict[int, str] | None = None, *, start: str = "", end: str = "\n") -> bytes:
    """extra: other lines, by their place."""
    lines = [f"{id_},{truth},{pred}" for id_, truth, pred in zip(ids, labels(1), labels(2), strict=False)]
    for place, line in (extra or {}).items():
        lines[place] = line
    return (start + end.join(["id,truth,prediction", *lines]) + end).encode()


def shuffled(ids: Sequence[str]) -> list[str]:
    return random.Random(0).sample(list(ids), len(ids))


PADDED = [f"{i:05d}" for i in range(N)]
NUMBERED = [f"item-{i}" for i in range(N)]
LATE = [*PADDED[:-2], "00007", "00400"]  # grows until the last rows, and then an id of the first ones comes back
# Each file, and how often it is parsed for a measurement: once if the ids can be told apart by the pass that counts.
CSV = {
    "ids that grow": (csv_of(PADDED), 1),
    "numbers that grow, as texts do not": (csv_of([str(i) for i in range(N)]), 1),
    "numbered names": (csv_of(NUMBERED), 1),
    "ids in no order": (csv_of(shuffled(PADDED)), 1),
    "numbers that are negative, huge and padded": (csv_of(shuffled([str(i * 10**30 - 10**32) for i in range(N - 2)] + ["7", "07"])), 1),
    "ids that are equal as numbers only": (csv_of([*NUMBERED[:-4], "1", "1.0", "01", "+1"]), 2),  # the chain breaks, the hashes tell
    "ids that stop growing": (csv_of([*PADDED[:-3], "a-c", "a-b", "a"]), 2),
    "ids with capitals and blanks": (csv_of([f"Item {i}" for i in range(N)]), 2),  # once more to see that none looks like another
    "ids that differ by case": (csv_of([*NUMBERED[:-2], "ITEM-7", "Item-8"]), 4),  # the chain breaks, and then the pairs are looked up
    "ids that differ by blanks": (csv_of([*PADDED[:-3], "a b", "a  b", "00 007"]), 4),
    "ids that differ by how an accent is written": (csv_of([*PADDED[:-2], "caf\u00e9", "cafe\u0301"]), 4),
    "line ends of Windows": (csv_of(PADDED, end="\r\n"), 1),
    "a byte order mark": (csv_of(PADDED, start="\ufeff"), 1),
    "quoted line ends and commas": (csv_of(PADDED, {7: '00007,"a\nb","x,y"', 250: '00250,"say ""a""",b'}), 1),
    "a late label": (csv_of(PADDED, {N - 1: "00299,never seen before,a"}), 1),
}
# What is wrong with a file is told in the same words as by the strict reader.
BAD = {
    "the first id at the end again": csv_of(LATE),
    "one id twice, far apart, in no order": csv_of([*shuffled(PADDED)[:-1], shuffled(PADDED)[0]]),
    "one id twice in a row": csv_of([*PADDED[:150], PADDED[149], *PADDED[151:]]),
    "one id everywhere": csv_of(["x"] * N),
    "a missing id": csv_of(PADDED, {200: ",a,a"}),
    "a missing id in no order": csv_of(shuffled(PADDED), {200: ",a,a"}),
    "a missing label": csv_of(PADDED, {200: "00200,a,"}),
    "a ragged row": csv_of(PADDED, {200: "00200,a,a,"}),
    "widths that add up": csv_of(PADDED, {200: "00200,a,a,", 201: "00201,a"}),
    "a quote that stays open": csv_of(PADDED, {200: '00200,"a,a'}),
    "a quote in the middle": csv_of(PADDED, {200: '00200,a"b",a'}),
    "a space before a quote": csv_of(PADDED, {200: '00200, "a",a'}),
    "one number in two spellings": csv_of(PADDED, {200: "00200,7,7.0"}),
}


def told(path: Path) -> str:
    """The whole answer, or the whole complaint."""
    try:
        return json.dumps(sy.measure(path, metric=["accuracy", "macro_f1"], draws=100, seed=1).to_dict())
    except SteelyardError as error:
        return f"{type(error).__name__}: {re.sub(', the first in row [0-9]+', '', str(error))}"  # who counts cells knows no rows


def both_ways(path: Path, file: bytes) -> tuple[str, str]:
    """By the strict reader and by DuckDB, which is asked for however few rows there are, with blocks small enough to matter."""
    path.write_bytes(file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "SMALL", 1 << 40)
        patch.setattr(jsons, "SMALL", 1 << 40)
        strict = told(path)
        patch.setattr(delimited, "SMALL", 0)
        patch.setattr(jsons, "SMALL", 0)
        patch.setattr(delimited, "HELD", 0)
        patch.setattr(jsons, "HELD", 0)
        patch.setattr(jsons, "_CHUNK", 100)
        patch.setattr(uniqueness, "FIRST", 20)
        patch.setattr(duckdb_table, "MANY", 20)
        return strict, told(path)


@every("name", CSV)
def test_a_csv_file_is_parsed_once_for_everything(name: str, tmp_path: Path) -> None:
    file, parses = CSV[name]
    with asked_of_duckdb() as asked:
        strict, engine = both_ways(tmp_path / "a.csv", file)
    assert engine == strict
    assert '"metrics"' in engine
    assert len(reads(asked, "a.csv")) == parses


@every("name", BAD)
def test_what_is_wrong_is_told_as_by_the_strict_reader(name: str, tmp_path: Path) -> None:
    strict, engine = both_ways(tmp_path / "a.csv", BAD[name])
    assert engine == strict


def lines_of(ids: Sequence[str], extra: dict[int, str] | None = None, *, space: str = "", last: str = "\n") -> bytes:
    """extra: other lines, by their place."""
    separators = ("," + space, ":" + space)
    lines = [
        json.dumps({"id": id_, "truth": truth, "prediction": pred}, ensure_ascii=False, separators=separators)
        for id_, truth, pred in zip(ids, labels(1), labels(2), strict=False)
    ]
    for place, line in (extra or {}).items():
        lines[place] = line
    return ("\n".join(lines) + last).encode()


ONCE, PROVEN = 1, 2  # how often the lines are parsed: by the pass that counts alone, or before it to see that all objects look alike
JSONL = {
    "ids that grow": (lines_of(PADDED), ONCE),
    "ids that grow, with spaces": (lines_of(PADDED, space=" "), ONCE),
    "numbered names": (lines_of(NUMBERED), ONCE),
    "ids in no order": (lines_of(shuffled(PADDED)), ONCE),
    "no line end at the end": (lines_of(PADDED, last=""), ONCE),
    "texts that look like more": (lines_of(PADDED, {200: '{"id":"00200","truth":"{a:b},c","prediction":"}"}'}), ONCE),
    "texts of nothing and of blanks": (lines_of(PADDED, {200: '{"id":"00200","truth":" ","prediction":"a "}'}), ONCE),
    "ids that differ by case": (lines_of([*NUMBERED[:-1], "ITEM-7"]), 4),
    "texts that look like numbers": (lines_of([str(i) for i in range(N)], {200: '{"id":"1e9","truth":"0.5","prediction":"-1"}'}), ONCE),
    "a late escape": (lines_of(PADDED, {250: '{"id":"00250","truth":"say \\"a\\"","prediction":"b"}'}), PROVEN + 1),
    "other spaces in a late line": (lines_of(PADDED, {250: '{"id":"00250", "truth":"a","prediction":"b"}'}), PROVEN + 1),
}
BAD_LINES = {
    "the first id at the end again": lines_of(LATE),
    "one id twice, far apart, in no order": lines_of([*shuffled(PADDED)[:-1], shuffled(PADDED)[0]]),
    "one id everywhere": lines_of(["x"] * N),
    "a late number": lines_of(PADDED, {250: '{"id":"00250","truth":7,"prediction":"7"}'}),
    "a late id that is a number": lines_of(PADDED, {250: '{"id":250,"truth":"a","prediction":"b"}'}),
    "a late null": lines_of(PADDED, {250: '{"id":"00250","truth":null,"prediction":"b"}'}),
    "a late id of null": lines_of(PADDED, {250: '{"id":null,"truth":"a","prediction":"b"}'}),
    "a key twice": lines_of(PADDED, {250: '{"id":"00250","truth":"a","truth":"b","prediction":"b"}'}),
    "a key twice in place of another": lines_of(PADDED, {250: '{"id":"00250","truth":"a","truth":"b"}'}),
    "keys in another order": lines_of(PADDED, {250: '{"truth":"a","id":"00250","prediction":"b"}'}),
    "a key in another case": lines_of(PADDED, {250: '{"ID":"00250","truth":"a","prediction":"b"}'}),
    "a key less": lines_of(PADDED, {250: '{"id":"00250","truth":"a"}'}),
    "a key more": lines_of(PADDED, {250: '{"id":"00250","truth":"a","prediction":"b","z":"1"}'}),
    "quotes that add up": lines_of(PADDED, {249: '{"id":"00249","truth":"a"}', 250: '{"id":"00250","truth":"a","prediction":"b","z":"1"}'}),
    "NaN": lines_of(PADDED, {250: '{"id":"00250","truth":NaN,"prediction":"b"}'}),
    "a comma that dangles": lines_of(PADDED, {250: '{"id":"00250","truth":"a","prediction":"b",}'}),
    "a colon that lacks": lines_of(PADDED, {250: '{"id":"00250","truth""a","prediction":"b"}'}),
    "another bracket": lines_of(PADDED, {250: '["id":"00250","truth":"a","prediction":"b"}'}),
    "a tab in a text": lines_of(PADDED, {250: '{"id":"00250","truth":"a\tb","prediction":"b"}'}),
    "two objects in a line": lines_of(PADDED, {250: '{"id":"a","truth":"a","prediction":"b"}{"id":"b","truth":"a","prediction":"b"}'}),
    "a last line that is cut off": lines_of(PADDED, {N - 1: '{"id":"00299","truth":"a","pred'}, last=""),
    "blank lines": lines_of(PADDED, {250: ""}),
    "line ends of Windows": lines_of(PADDED).replace(b"\n", b"\r\n"),
    "a byte order mark": b"\xef\xbb\xbf" + lines_of(PADDED),
}


@every("name", JSONL)
def test_lines_that_look_alike_are_parsed_once_for_everything(name: str, tmp_path: Path) -> None:
    file, parses = JSONL[name]
    with asked_of_duckdb() as asked:
        strict, engine = both_ways(tmp_path / "a.jsonl", file)
    assert engine == strict
    assert '"metrics"' in engine
    assert len(reads(asked, "a.jsonl")) == parses


@every("name", BAD_LINES)
def test_lines_that_are_wrong_are_told_as_by_the_strict_reader(name: str, tmp_path: Path) -> None:
    strict, engine = both_ways(tmp_path / "a.jsonl", BAD_LINES[name])
    assert engine == strict


@every("ids", [PADDED, shuffled(PADDED), NUMBERED, LATE])
def test_hashes_that_are_too_many_to_be_handed_out_are_put_aside(ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "LISTED", 100)
    monkeypatch.setattr(uniqueness, "HASHED", 100)
    with asked_of_duckdb() as asked:
        strict, engine = both_ways(tmp_path / "a.csv", csv_of(ids))
    assert engine == strict
    if ids is not LATE:  # else repeated ids are looked up
        assert len(reads(asked, "a.csv")) == (2 if ids == shuffled(PADDED) else 1)


def test_ids_of_a_parquet_file_that_look_alike_are_told_as_those_of_items(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for ids, count in ((NUMBERED, 0), ([f"Item {i}" for i in range(N)], 0), ([*NUMBERED[:-3], "Item-7", "item-\u200b8", "ITEM-7"], 3)):
        pq.write_table(pa.table({"id": ids, "truth": labels(1), "prediction": labels(2)}), path)
        told = [said for said in sy.measure(path, metric="accuracy").warnings if "only by case" in said]
        assert told == look_alike_warnings(ids)
        assert bool(told) == bool(count)
        assert all(said.startswith(f"{count} ids differ from another") and "'item-7' and 'Item-7'" in said for said in told)


def test_more_ids_than_are_looked_at_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    monkeypatch.setattr(unread, "MOST", N - 1)
    monkeypatch.setattr(source_module, "MOST", N - 1)
    (tmp_path / "a.csv").write_bytes(csv_of([*NUMBERED[:-1], "ITEM-7"]))
    with asked_of_duckdb() as asked:
        assert not [said for said in sy.measure(tmp_path / "a.csv", metric="accuracy").warnings if "only by case" in said]
    assert not [sql for sql in asked if "lower(" in sql]


def test_repeats_are_told_apart_by_both_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    path = tmp_path / "a.csv"
    head, rows = "id,repeat,truth,prediction\n", [f"{i // 2},{i % 2},a,b\n" for i in range(N)]
    path.write_text(head + "".join(rows))
    with asked_of_duckdb() as asked:
        assert open_source(path, columns={}).tabulate(["truth", "prediction"]) == [("a", "b", N)]
    assert len(reads(asked, "a.csv")) == 1
    path.write_text(head + "".join([*rows, "3,1,a,b\n"]))
    with pytest.raises(SteelyardError, match=r"Duplicate ids: 1 pair of id and repeat occurs in 2 rows, such as \('3', '1'\)"):
        open_source(path, columns={}).tabulate(["truth", "prediction"])


def test_a_second_question_of_a_large_file_needs_no_new_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    monkeypatch.setattr(delimited, "HELD", 0)
    (tmp_path / "a.csv").write_bytes(csv_of(PADDED))
    with asked_of_duckdb() as asked:
        source = open_source(tmp_path / "a.csv", columns={})
        first = source.tabulate(["truth", "prediction"])
        assert source.tabulate(["truth", "prediction"]) == first
    assert len(reads(asked, "a.csv")) == 2


def test_a_file_that_changes_under_the_pass_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    (tmp_path / "a.csv").write_bytes(csv_of(PADDED))
    source = open_source(tmp_path / "a.csv", columns={})
    (tmp_path / "a.csv").write_bytes(csv_of(PADDED) + b"00300,a,a\n")
    with pytest.raises(SteelyardError, match="changed while it was read"):
        source.tabulate(["truth", "prediction"])
    source = open_source(tmp_path / "a.csv", columns={})
    (tmp_path / "a.csv").unlink()
    with pytest.raises(SteelyardError, match="changed while it was read"):
        source.tabulate(["truth", "prediction"])


def test_a_pass_without_room_leaves_it_to_smaller_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    (tmp_path / "a.csv").write_bytes(csv_of(shuffled(PADDED)))
    expected = open_source(tmp_path / "a.csv", columns={}).tabulate(["truth", "prediction"])

    def full(*args: object) -> None:
        raise duckdb.OutOfMemoryException("Out of Memory Error: no room")

    monkeypatch.setattr(unread.UnreadTable, "_pass", full)
    source = open_source(tmp_path / "a.csv", columns={})
    assert source.tabulate(["truth", "prediction"]) == expected
    assert isinstance(source.table, duckdb_table.EngineTable)


def test_a_source_that_nobody_asks_closes_its_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    (tmp_path / "a.csv").write_bytes(csv_of(PADDED))
    table = open_source(tmp_path / "a.csv", columns={})._unread
    assert isinstance(table, unread.UnreadTable)
    con = table._con
    del table
    with pytest.raises(duckdb.Error, match="closed"):
        con.execute("SELECT 1")


def test_the_table_outlives_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    (tmp_path / "a.csv").write_bytes(csv_of(PADDED))
    table = open_source(tmp_path / "a.csv", columns={}).table
    assert sum(table.group([("truth", False)])[-1]) == N
