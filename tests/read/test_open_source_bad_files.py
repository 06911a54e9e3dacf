"""One bad file, one message: what it is, where, and what to do."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from steelyard.errors import DataError, SourceError, SteelyardError
from steelyard.read.files import delimited
from steelyard.read.files import paths as inflate
from steelyard.read.open_source import open_source

pytestmark = pytest.mark.usefixtures("shared_engine")
GOOD = b"truth,pred,n\na,a,1\nb,a,2\n"


def opened(tmp_path: Path, name: str, content: bytes) -> object:
    (tmp_path / name).write_bytes(content)
    return open_source(tmp_path / name, columns={})


def refused(tmp_path: Path, name: str, content: bytes, message: str, kind: type[SteelyardError] = SourceError) -> None:
    with pytest.raises(kind, match=message):
        assert opened(tmp_path, name, content).n  # a large file of text is read when someone asks


# ---- any text ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.parquet", "a.unknown"])
@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b" \n\n"])
def test_empty(tmp_path: Path, name: str, content: bytes) -> None:
    refused(tmp_path, name, content, r"is empty\.")


@pytest.mark.parametrize("content", [b"truth,pred", b"truth,pred\n", b"truth,pred\r\n", b"truth,pred\n\n"])
def test_header_only(tmp_path: Path, content: bytes) -> None:
    refused(tmp_path, "a.csv", content, r"has a header but no rows\.")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_utf16(tmp_path: Path, name: str) -> None:
    text = GOOD.decode()
    refused(
        tmp_path,
        name,
        text.encode("utf-16"),
        r"is UTF-16, not UTF-8 \(byte order mark at offset 0\)\. Hint: save it as UTF-8",
    )
    refused(tmp_path, name, text.encode("utf-16-le"), r"is not UTF-8 text: it has a NUL byte at offset 1\..*Hint: this looks like UTF-16")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
def test_latin1_names_the_byte(tmp_path: Path, name: str) -> None:
    refused(
        tmp_path,
        name,
        b"truth,pred\na,\xfc\n",
        r"is not UTF-8 text: it has the byte 0xfc at offset 13\. Hint: save it as UTF-8; it may be Latin-1",
    )


def test_the_offset_is_right_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.read.files import formats as gate

    monkeypatch.setattr(gate, "_CHUNK", 16)
    good = "truth,pred\n" + "ü,€\n" * 20
    assert opened(tmp_path, "a.csv", good.encode()).n == 20
    refused(tmp_path, "a.csv", good.encode() + b"\xff\n", f"at offset {len(good.encode())}")
    refused(tmp_path, "a.csv", good.encode() + b"\xe2\x82", f"the byte 0xe2 at offset {len(good.encode())}")
    refused(tmp_path, "a.csv", good.encode() + b"a,\0\n", f"a NUL byte at offset {len(good.encode()) + 2}")


def test_nul_byte(tmp_path: Path) -> None:
    refused(
        tmp_path,
        "a.csv",
        b"truth,pred\na,b\0c\n",
        r"is not UTF-8 text: it has a NUL byte at offset 14\. Hint: the file is damaged or not text",
    )


# ---- CSV -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"c,c", r"Line 3 of .* has 2 fields; the header has 3\."),
        (b"c,c,3,4", r"Line 3 of .* has 4 fields; the header has 3\."),
        (b"c,c,3,", r"Line 3 of .* has 4 fields; the header has 3\."),  # DuckDB takes this one
        (b"c", r"Line 3 of .* has 1 field; the header has 3\."),
        (b'c,"c,3', "unexpected end of data in the record of line 3"),
        (b'c,"c"x,3', "in the record of line 3"),
    ],
)
@pytest.mark.parametrize("extra", [b"", b'z,"q",1\n'])
def test_rows_of_another_width(tmp_path: Path, row: bytes, message: str, extra: bytes) -> None:
    refused(
        tmp_path,
        "a.csv",
        b"truth,pred,n\na,a,1\n" + row + b"\n" + extra,
        message if b'"' not in row or not extra else "in the record of line 3",
    )


@pytest.mark.parametrize("bad", [b"c,c\n", b"c,c,3,4\n", b"c,c,3,\n"])
def test_strictness_does_not_depend_on_size(tmp_path: Path, bad: bytes) -> None:
    rows = 300_000
    refused(tmp_path, "a.csv", b"truth,pred,n\n" + b"a,a,1\n" * rows + bad + b"b,b,2\n" * 10, f"Line {rows + 2} of")


def test_empty_last_fields_are_missing_values(tmp_path: Path) -> None:
    source = opened(tmp_path, "a.csv", b'truth,pred\na,\nb,""\nc,c\n')
    assert source.tabulate(["truth", "prediction"]) == [("a", None, 1), ("b", None, 1), ("c", "c", 1)]


@pytest.mark.parametrize(
    ("content", "warned", "engine"),
    [
        (b"truth,pred\na,a\nb,a\n", 0, True),
        (b"truth,pred\na,a\nb,a", 0, True),
        (b"truth,pred\r\na,a\r\nb,a\r\n", 0, True),
        (b"truth,pred\ra,a\rb,a\r", 0, False),
        (b"truth,pred\r\na,a\nb,a\n", 1, False),
        (b"truth,pred\na,a\rb,a\n", 1, False),
        (b"truth,pred\n\na,a\n\nb,a\n\n\n", 0, False),
    ],
)
def test_line_ends(tmp_path: Path, content: bytes, warned: int, engine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    source = opened(tmp_path, "a.csv", content)
    assert source.tabulate(["truth", "prediction"]) == [("a", "a", 1), ("b", "a", 1)]
    assert len(source.warnings) == warned
    assert all("mixes line ends" in warning for warning in source.warnings)
    assert (type(source.table).__name__ == "EngineTable") is engine


@pytest.mark.parametrize(
    "content",
    [
        b'truth,pred\n"a\nb","c,d"\n"x""y","z\r\n"\n',
        b'truth,pred\r\n"a\nb","c,d"\r\n"x""y","z\r\n"\r\n',
        b'"truth","pred"\n"a\nb","c,d"\n"x""y","z\r\n"\n',
    ],
)
def test_quotes(tmp_path: Path, content: bytes) -> None:
    assert opened(tmp_path, "a.csv", content).tabulate(["truth", "prediction"]) == [("a\nb", "c,d", 1), ('x"y', "z\r\n", 1)]


def test_text_is_not_trimmed(tmp_path: Path) -> None:
    assert opened(tmp_path, "a.csv", b'truth,pred\n a ,b"c\na, "b"\nNULL,NaN\n').tabulate(["truth", "prediction"]) == [
        (" a ", 'b"c', 1),
        ("NULL", "NaN", 1),
        ("a", ' "b"', 1),
    ]


def test_both_readers_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import random

    random.seed(0)
    pieces = ["a", "", '"q"', '"a,b"', '"x""y"', '"l\nm"', "ü", "7", "-", '"a\r\nb"', "''"]
    for attempt in range(50):
        width = random.choice([2, 3])
        end = random.choice(["\n", "\r\n"])
        rows = [["truth", "pred", "z"][:width]] + [[random.choice(pieces) for _ in range(width)] for _ in range(random.randint(1, 6))]
        content = end.join(",".join(row) for row in rows) + random.choice(["", end])
        fast = opened(tmp_path, f"{attempt}.csv", content.encode()).tabulate(["truth", "prediction"])
        with monkeypatch.context() as patch:
            patch.setattr(delimited, "SMALL", 1 << 40)
            assert fast == opened(tmp_path, f"{attempt}.csv", content.encode()).tabulate(["truth", "prediction"])


def test_the_engine_must_find_every_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = "SELECT true AS k" + "".join(f", 'a' AS k{i}" for i in range(2))
    monkeypatch.setattr(delimited, "_select", lambda shapes, kept: named)
    source = opened(tmp_path, "a.csv", GOOD)
    assert type(source.table).__name__ == "MemoryTable"
    assert source.n == 2


def test_a_huge_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"truth,pred,prompt\na,a," + b"x" * 3_000_000 + b"\n"
    assert opened(tmp_path, "a.csv", content).tabulate(["truth", "prediction"]) == [("a", "a", 1)]
    monkeypatch.setattr(delimited, "MAX_FIELD", 1_000_000)
    refused(tmp_path, "a.csv", content, r"field larger than field limit \(1000000\) in the record of line 2")


def test_headers(tmp_path: Path) -> None:
    refused(tmp_path, "a.csv", b"truth,truth,pred\na,a,a\n", r"has the column 'truth' 2 times\.")
    refused(tmp_path, "a.csv", b",,\na,a,a\n", r"The first line of .* has no column names\.")
    source = opened(tmp_path, "a.csv", b",truth,pred\n0,a,a\n")  # the index of pandas has no name
    assert source.columns == ("", "truth", "pred")


# ---- JSON ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"score": 1, "score": 0}', "the key 'score' twice in one object, in line 2"),
        ('{"score": 1, "x": {"a": 1, "a": 2}}', "the key 'a' twice"),
        ('{"score": NaN}', "NaN, which is not JSON, in line 2. Hint: write null for a missing number"),
        ('{"score": -Infinity}', "-Infinity, which is not JSON, in line 2"),
        ('{"score": 1e999}', "the number 1e999, which is beyond float64, in line 2"),
        ('{"score": 1} x', "Extra data, in line 2, column 14"),
        ('{"score": }', "Expecting value, in line 2, column 11"),
        ("x", "Expecting value, in line 2"),
        ("[1]", "one object per line: .* has an array in line 2"),
        ("3", "has a number in line 2"),
        ('{"x":' * 100_000, r"is nested too deeply in line 2\."),
        ('{"x":' + "[" * 100_000, r"is nested too deeply in line 2\."),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    refused(tmp_path, "a.jsonl", f'{{"score": 1}}\n{line}\n{{"score": 0}}\n'.encode(), message)


@pytest.mark.parametrize("cut", ['{"score": 1, "no', '{"score": 1, ', '{"score"', "{", '{"score": 1'])
def test_a_truncated_last_line(tmp_path: Path, cut: str) -> None:
    refused(
        tmp_path,
        "a.jsonl",
        f'{{"score": 1}}\n{cut}'.encode(),
        r"The last line of .* is cut off \(line 2: .*\)\. Hint: did the run end early\? Remove the last line",
    )
    refused(
        tmp_path,
        "a.json",
        f'[{{"score": 1}},\n{cut}'.encode(),
        r"as JSON: Unterminated string|The last line of .* is cut off",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3", "must hold an array of objects, not a number"),
        ("[1, 2]", "element 1 of the array is a number"),
        ("[]", r"^No items in .*a\.json'\.$"),
        (
            '{"score": [1, 0], "id": ["a"]}',
            "must hold an array of objects, or an object of arrays of one length, not an object with 'score': 2, 'id': 1",
        ),
        ('{"results": {"acc": 1},\n "config": {}}', "not an object with 'results': no array, 'config': no array"),
        ('[{"score": NaN}]', "NaN, which is not JSON, in the file"),
        ("[" * 200_000, r"is nested too deeply in the file\."),
    ],
)
def test_bad_documents(tmp_path: Path, content: str, message: str) -> None:
    refused(tmp_path, "a.json", content.encode(), message)


def test_json_details(tmp_path: Path) -> None:
    lines = [{"id": 2**53 + i, "truth": "a\u2028b", "pred": "a\u2028b"} for i in range(3)]
    content = "\n\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
    source = opened(tmp_path, "a.jsonl", content)
    assert source.tabulate(["truth", "prediction"]) == [("a\u2028b", "a\u2028b", 3)]
    assert source.items().id.names == ("9007199254740992", "9007199254740993", "9007199254740994")
    source = opened(tmp_path, "b.jsonl", b'{"score": 1}\n{"pred": "x", "score": null}\n{"score": true}\n')
    assert source.tabulate(["prediction", "score"]) == [(None, 1.0, 2), ("x", None, 1)]
    with pytest.raises(DataError, match=r"A score must be a text, a number or true/false, not a dict: \{'acc': 1\} in"):
        opened(tmp_path, "c.jsonl", b'{"score": 1}\n{"score": {"acc": 1}}\n').items()
    with pytest.raises(DataError, match=r"The truth '\\ud800' is not valid Unicode \(a lone surrogate\)\."):
        opened(tmp_path, "d.jsonl", b'{"truth": "\\ud800", "pred": "a"}\n').items()
    with pytest.raises(DataError, match=r"Labels are spelled in several ways in truth: 1 and '1'\."):
        opened(tmp_path, "e.jsonl", b'{"truth": 1, "pred": 1}\n{"truth": "1", "pred": 1}\n').tabulate(["truth"])
    with pytest.raises(DataError, match=r"Labels are spelled in several ways in truth and prediction: '1' and '1\.0'\."):
        opened(tmp_path, "f.jsonl", b'{"truth": 1, "pred": 1.0}\n').items()


# ---- packed --------------------------------------------------------------------------------------------------------


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, "zstd", asbytes=True))


def test_truncated_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(GOOD * 1000)
    for size in (len(packed) - 1, len(packed) - 8, len(packed) // 2, 12):
        refused(tmp_path, "a.csv.gz", packed[:size], r"The gzip file .* ends too early\.")
    refused(tmp_path, "a.csv.gz", packed[:-8] + b"12345678", r"The gzip file .* is damaged")


def test_truncated_zstd(tmp_path: Path) -> None:
    packed = zstd(os.urandom(300_000).hex().encode())
    for size in (len(packed) - 1, len(packed) // 2, 7, 5):
        refused(tmp_path, "a.csv.zst", packed[:size], r"The zstd file .* ends too early\.")
    refused(tmp_path, "a.csv.zst", zstd(GOOD) + b"junk", r"has other bytes \(b'junk'\) after a zstd frame\.")
    refused(tmp_path, "a.csv.zst", GOOD, "is not a zstd file.* begins with the bytes b'trut'. Hint: rename it if it is not compressed")


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(b"a" * 20_000_000)
    monkeypatch.setattr(inflate, "LIMIT", 10_000_000)
    refused(tmp_path, "a.csv.gz", bomb, r"unpacks to too much: more than 10,\d\d\d,\d\d\d bytes out of 19,\d\d\d; at most 10,000,000 bytes")
    monkeypatch.setattr(inflate, "LIMIT", 1 << 40)
    monkeypatch.setattr(inflate, "SUSPECT", 1_000_000)
    monkeypatch.setattr(inflate, "RATIO", 100)
    refused(
        tmp_path,
        "a.csv.gz",
        bomb,
        "unpacks to too much: more than 2,097,152 bytes out of 19,466; at most 1,099,511,627,776 bytes, or 100 times the file",
    )
    layers = GOOD
    for _ in range(4):
        layers = gzip.compress(layers)
    refused(tmp_path, "b.csv.gz", layers, "more than 2 layers of compression")


# ---- binary --------------------------------------------------------------------------------------------------------


def test_broken_parquet_and_arrow(tmp_path: Path) -> None:
    pd.DataFrame({"truth": ["a"], "pred": ["b"]}).to_parquet(tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    refused(tmp_path, "b.parquet", whole[:-20], "b.parquet' is not a whole Parquet file")
    refused(tmp_path, "b.parquet", b"PAR1" + b"x" * 100 + b"PAR1", "not a whole Parquet file")
    refused(tmp_path, "b.arrow", b"ARROW1\0\0" + b"x" * 100, "not a whole Arrow file")
    refused(tmp_path, "b.parquet", b"\0\1\2\3" * 10, "is not a parquet file")


def test_column_types_that_are_no_labels(tmp_path: Path) -> None:
    frame = pa.table({"truth": [[1, 2]], "pred": [{"a": 1}], "score": [b"x"]})
    for role, kind in (("truth", r"BIGINT\[\]"), ("prediction", "STRUCT"), ("score", "BLOB")):
        with pytest.raises(DataError, match=f"The column '.*' of the Arrow table must be text, numbers or booleans, not of type {kind}.*"):
            open_source(frame, columns={}).tabulate([role])


def test_twin_columns_in_parquet(tmp_path: Path) -> None:
    from pyarrow import parquet as pq

    pq.write_table(
        pa.table([["a"], ["b"], ["c"]], names=["truth", "pred", "x"]).rename_columns(["truth", "pred", "truth"]), tmp_path / "a.parquet"
    )
    with pytest.raises(SourceError, match=r"has the column 'truth' more than once\."):
        open_source(tmp_path / "a.parquet", columns={})
    pq.write_table(pa.table({"Truth": ["a"], "truth": ["b"], "pred": ["b"]}), tmp_path / "b.parquet")
    assert open_source(tmp_path / "b.parquet", columns={"truth": "truth"}).tabulate(["truth", "prediction"]) == [("b", "b", 1)]
    assert open_source(tmp_path / "b.parquet", columns={"truth": "Truth"}).tabulate(["truth", "prediction"]) == [("a", "b", 1)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.pkl",
            b"\x80\x05abc",
            r"is a pickle; steelyard reads CSV, TSV, JSON, JSON Lines, Parquet and Arrow\. Hint: pickles can run code",
        ),
        ("a.csv", b"\x80\x04abc", "is a pickle"),
        ("a.joblib", b"anything", r"is in a format that can run code\."),
        ("a.npy", b"\x93NUMPY\1\0", "is a NumPy file"),
        (
            "a.xlsx",
            b"PK\x03\x04abc",
            r"is a zip archive; steelyard reads CSV, TSV, JSON, JSON Lines, Parquet and Arrow\..* export it as CSV",
        ),
        ("a.db", b"SQLite format 3\0", "is an SQLite database"),
        ("a.csv.bz2", b"BZh91AY", "is a bzip2 file"),
    ],
)
def test_formats_that_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    refused(tmp_path, name, content, message)


# ---- places --------------------------------------------------------------------------------------------------------


def test_missing_files(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(GOOD)
    with pytest.raises(
        SourceError,
        match=r"No such file: '.*result.csv'\. Did you mean '.*results.csv'\?",
    ):
        open_source(tmp_path / "result.csv", columns={})
    with pytest.raises(SourceError, match=r"No such file: .* \(there is no directory .*\)\."):
        open_source(tmp_path / "nowhere" / "a.csv", columns={})
    with pytest.raises(SourceError, match=r"No file matches .*\."):
        open_source(tmp_path / "*.parquet", columns={})
    with pytest.raises(SourceError, match=r"'https://example\.org/a\.csv' is an address, not a local file\."):
        open_source("https://example.org/a.csv", columns={})
    with pytest.raises(SourceError, match=r"The source must be a path, not ''"):
        open_source("", columns={})


def test_directories(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"No results in the directory .*: 0 files, none of them CSV, JSON, Parquet or Arrow\."):
        open_source(tmp_path, columns={})
    (tmp_path / "a.csv").write_bytes(GOOD)
    (tmp_path / "b.jsonl").write_bytes(b'{"score": 1}\n')
    with pytest.raises(SourceError, match=r"The directory .* has files of several formats \(csv: 'a\.csv'; jsonl: 'b\.jsonl'\)\."):
        open_source(tmp_path, columns={})
    with pytest.raises(SourceError, match=r"has files of several formats: .* is csv; .* is jsonl\."):
        open_source(tmp_path / "*", columns={})


def test_pipes_devices_and_loops(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(SourceError, match=r"is a named pipe, not a regular file\. Hint: use - to read standard input"):
        open_source(tmp_path / "pipe.csv", columns={})
    with pytest.raises(SourceError, match=r"'/dev/null' is a device, not a regular file\."):
        open_source("/dev/null", columns={})
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with pytest.raises(SourceError, match=r"Cannot open '.*loop.csv':.* Too many levels"):
        open_source(tmp_path / "loop.csv", columns={})


def test_a_file_that_changes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"truth": ["a"], "pred": ["b"]})
    frame.to_parquet(tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet", columns={})
    pd.concat([frame] * 3).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"a\.parquet' changed while it was read\. Hint: try again when the run is over"):
        source.tabulate(["truth", "prediction"])


def test_no_engine_error_escapes(tmp_path: Path) -> None:
    frame = pa.table({"truth": ["a"], "pred": ["b"]})
    source = open_source(frame, columns={})
    source.table._con.close()
    with pytest.raises(SourceError, match="Cannot read the Arrow table") as caught:
        source.tabulate(["truth"])
    assert not isinstance(caught.value, duckdb.Error)


# ---- scores --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "85%",
            r"The score in row 2 must be a number, true/false, or an empty field, not '85%'\. Hint: write 0.85",
        ),
        ("0;5", "row 2 must be a number.* not '0;5'"),
        (" 0.5", "row 2 must be a number.* not ' 0.5'.* Hint: remove the spaces"),
        ("1_000", "row 2 must be a number.* not '1_000'"),
        ("inf", r"Infinite score in row 2: 'inf'\."),
        ("-Infinity", r"Infinite score in row 2: '-Infinity'\."),
        ("1e999", "row 2 must be a number.* not '1e999'"),
        ("٣", "row 2 must be a number.* not '٣'"),
    ],
)
@pytest.mark.parametrize("reader", ["tabulate", "items"])
def test_scores_that_are_no_numbers(tmp_path: Path, text: str, message: str, reader: str) -> None:
    source = opened(tmp_path, "a.csv", f"score\n1\n{text}\n0\n{text}\n".encode())
    with pytest.raises(DataError, match=message):
        source.tabulate(["score"]) if reader == "tabulate" else source.items()


def test_scores_that_are_numbers(tmp_path: Path) -> None:
    source = opened(tmp_path, "a.csv", b"id,score\n1,true\n2,False\n3,\n4,0.5\n5,nan\n6,1e0\n7,+.5\n")
    assert source.tabulate(["score"]) == [(None, 2), (0.0, 1), (0.5, 2), (1.0, 2)]
    assert str(source.items().score.tolist()) == "[1.0, 0.0, nan, 0.5, nan, 1.0, 0.5]"


# ---- what fuzzing found ----------------------------------------------------------------------------------------------


def test_an_arrow_file_whose_offsets_point_elsewhere_is_refused(tmp_path: Path) -> None:
    """DuckDB followed them, and the process ended: see tests/read/test_files_fuzz.py."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, pa.schema([("truth", pa.string()), ("pred", pa.string())])) as writer:
        writer.write_table(pa.table({"truth": ["a", "bb", "ccc"], "pred": ["a", "b", "c"]}))
    whole = sink.getvalue().to_pybytes()
    offsets = (0).to_bytes(4, "little") + (1).to_bytes(4, "little") + (3).to_bytes(4, "little") + (6).to_bytes(4, "little")
    assert whole.count(offsets) == 1
    (tmp_path / "a.arrow").write_bytes(whole)
    assert open_source(tmp_path / "a.arrow", columns={}).n == 3
    refused(tmp_path, "a.arrow", whole.replace(offsets, offsets[:12] + (1 << 30).to_bytes(4, "little")), "not a whole Arrow file")


def test_an_arrow_stream_that_was_cut_between_two_batches_is_refused(tmp_path: Path) -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("truth", pa.string()), ("pred", pa.string())])) as writer:
        writer.write_table(pa.table({"truth": ["a"] * 5, "pred": ["a"] * 5}))
        first = sink.tell()
        writer.write_table(pa.table({"truth": ["b"] * 5, "pred": ["a"] * 5}))
    whole = sink.getvalue().to_pybytes()
    (tmp_path / "a.arrow").write_bytes(whole)
    assert open_source(tmp_path / "a.arrow", columns={}).n == 10
    refused(tmp_path, "a.arrow", whole[:first], "not a whole Arrow file .a stream without its end mark")
    refused(tmp_path, "a.arrow", whole[:-8], "a stream without its end mark")


@pytest.mark.parametrize("weight", [2**53 + 2, 2**63, 1e30])
def test_a_weight_that_is_no_count(tmp_path: Path, weight: float) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"score": 1, "w": w}) + "\n" for w in (1, weight, 2)))
    source = open_source(tmp_path / "a.jsonl", columns={"weight": "w"})
    with pytest.raises(DataError, match="The weight in row 2 is too large:"):
        source.weights_are_whole()


@pytest.mark.parametrize("number", ["1e76", "-1e308", "1" + "0" * 80])
@pytest.mark.parametrize("reader", ["tabulate", "items"])
def test_a_score_whose_square_is_no_number(tmp_path: Path, number: str, reader: str) -> None:
    source = opened(tmp_path, "a.csv", f"score\n1\n{number}\n".encode())
    with pytest.raises(DataError, match="The score in row 2 is too large:"):
        source.tabulate(["score"]) if reader == "tabulate" else source.items()
    ranks = opened(tmp_path, "b.csv", f"truth,probability\n1,{number}\n0,1\n".encode())
    assert ranks.items().probability[0] == float(number)  # for an order, any size will do
