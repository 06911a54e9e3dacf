"""Rows of a file copied into parts, byte by byte as they were written: CSV, JSON Lines and JSON. Parquet goes through DuckDB."""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours; values of users are parameters
from __future__ import annotations

import codecs
import csv
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import SourceError
from steelyard_old.read.engines.duckdb_table import connect, exact_path, literal, too_little, useful_line
from steelyard_old.read.files.delimited import MAX_FIELD, Shape, shape_of
from steelyard_old.read.files.paths import Opened

_CHUNK = 4 << 20
_NOBODY = 255  # the part of what is no row: a header, a blank line
Parts = npt.NDArray[np.uint8]  # the number of the part of each row


def copy_rows(file: Opened, parts: Parts, paths: Sequence[str]) -> None:
    """Write the rows of a file into one new file for each part, in their order. Each row must be written once, or it is an error."""
    if file.format == "parquet":
        written = _copy_parquet(file, parts, paths)
    else:
        outs: list[BinaryIO] = []
        try:
            outs += [open(path, "wb") for path in paths]  # noqa: SIM115 - there are as many as parts
            written = _COPY[file.format](file, parts, outs)
            for out in outs:
                out.flush()
                os.fsync(out.fileno())
        finally:
            for out in outs:
                out.close()
    file.check_unchanged()
    if written != len(parts):
        raise SourceError(
            f"{file.shown!r} changed while it was split: {len(parts)} rows when it was read, {written} when it was written.",
            got=f"{written} rows when it was written, {len(parts)} when it was read",
            need="the same rows",
        )


# ---- CSV -------------------------------------------------------------------------------------------------------------


def _copy_delimited(file: Opened, parts: Parts, outs: Sequence[BinaryIO]) -> int:
    shape = shape_of(file)
    return _copy_chunks(_records_by_quotes(file) if shape.regular else _records_by_reader(shape), parts, outs, csv_=True)


def _records_by_quotes(file: Opened) -> Iterator[tuple[bytes, Any]]:
    """Bytes of whole records, and where each ends: at a line feed outside quotes. For files whose shape is regular."""
    rest = b""
    with open(file.plain, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            data = rest + chunk
            codes = np.frombuffer(data, np.uint8)
            inside = np.bitwise_xor.accumulate(codes == ord('"'))
            ends = np.flatnonzero((codes == ord("\n")) & ~inside) + 1
            if len(ends):
                yield data[: ends[-1]], ends
                rest = data[ends[-1] :]
            else:
                rest = data
    if rest:
        yield rest, np.array([len(rest)])


def _records_by_reader(shape: Shape) -> Iterator[tuple[bytes, Any]]:
    """The same for any file that Python's strict reader takes: the lines that it asked for are the record that it gives."""
    lines: list[str] = []

    def asked() -> Iterator[str]:
        with open(shape.file.plain, encoding="utf-8", newline="") as stream:
            for number, line in enumerate(stream):
                lines.append(line)
                yield line.removeprefix("\ufeff") if number == 0 else line

    limit = csv.field_size_limit(MAX_FIELD)
    try:
        for row in csv.reader(asked(), delimiter=shape.delimiter, strict=True):
            data = "".join(lines).encode()
            lines.clear()
            if row or len(shape.header) == 1:
                yield data, np.array([len(data)])
    finally:
        csv.field_size_limit(limit)


# ---- JSON Lines ------------------------------------------------------------------------------------------------------


def _copy_lines(file: Opened, parts: Parts, outs: Sequence[BinaryIO]) -> int:
    return _copy_chunks(_lines(file), parts, outs, csv_=False)


def _lines(file: Opened) -> Iterator[tuple[bytes, Any]]:
    with open(file.plain, "rb") as stream:
        stream.seek(len(codecs.BOM_UTF8) if stream.read(3) == codecs.BOM_UTF8 else 0)
        while data := stream.read(_CHUNK) + stream.readline():
            codes = np.frombuffer(data, np.uint8)
            ends = np.flatnonzero(codes == ord("\n")) + 1
            yield data, ends if len(ends) and ends[-1] == len(data) else np.append(ends, len(data))


def _copy_chunks(chunks: Iterator[tuple[bytes, Any]], parts: Parts, outs: Sequence[BinaryIO], *, csv_: bool) -> int:
    """Each record to its part: a chunk is taken apart by one comparison for each part. How many rows there were."""
    row, line_end, headed = 0, b"\n", csv_
    for data, ends in chunks:
        if headed:
            header = data[: ends[0]]
            line_end = b"\r\n" if header.endswith(b"\r\n") else b"\r" if header.endswith(b"\r") else b"\n"
            header = header if header.endswith(line_end) else header + line_end
            for out in outs:
                out.write(header)
            data, ends, headed = data[ends[0] :], ends[1:] - ends[0], False
            if not len(ends):
                continue
        if not data.endswith((b"\n", b"\r")):  # the last row of the file
            data, ends = data + line_end, np.append(ends[:-1], ends[-1] + len(line_end))
        codes = np.frombuffer(data, np.uint8)
        starts = np.concatenate([[0], ends[:-1]])
        lengths = ends - starts
        is_row = np.ones(len(ends), bool) if csv_ else np.add.reduceat(codes > ord(" "), starts, dtype=np.int64) > 0  # not a blank line
        many = int(is_row.sum())
        if row + many > len(parts):
            return row + many
        to = np.full(len(ends), _NOBODY, np.uint8)
        to[is_row] = parts[row : row + many]
        row += many
        of_byte = np.repeat(to, lengths)
        for part, out in enumerate(outs):
            out.write(codes[of_byte == part].tobytes())
    return row


# ---- JSON and Parquet ------------------------------------------------------------------------------------------------


def _copy_json(file: Opened, parts: Parts, outs: Sequence[BinaryIO]) -> int:
    """An array of objects, each of them as it is written; or lines under another name."""
    with open(file.plain, encoding="utf-8-sig", newline="") as stream:
        text = stream.read()
    if not text.lstrip(_SPACE).startswith("["):
        try:
            columns = isinstance(json.loads(text), dict) and any(isinstance(value, list) for value in json.loads(text).values())
        except ValueError:
            columns = False
        if columns:
            hint = "write one object per line (JSON Lines)"
            raise SourceError(
                f"{file.shown!r} is an object of columns; only an array of objects, or lines, can be split.",
                got="an object of columns",
                need="an array of objects, or lines",
                hint=hint,
            )
        return _copy_lines(file, parts, outs)
    kept: list[list[str]] = [[] for _ in outs]
    row = 0
    for row, element in enumerate(_elements(text), 1):
        if row > len(parts):
            return row
        kept[parts[row - 1]].append(element)
    for out, elements in zip(outs, kept, strict=True):
        out.write(("[\n" + ",\n".join(elements) + "\n]\n" if elements else "[]\n").encode())
    return row


def _elements(text: str) -> Iterator[str]:
    """The elements of a JSON array that is known to be well formed, as they are written."""
    decoder = json.JSONDecoder()
    at = text.index("[") + 1
    between = re.compile(r"[ \t\r\n,]*")
    while text[at := between.match(text, at).end()] != "]":  # type: ignore[union-attr]  # it matches nothing, too
        _, end = decoder.raw_decode(text, at)
        yield text[at:end]
        at = end


def _copy_parquet(file: Opened, parts: Parts, paths: Sequence[str]) -> int:
    """The rows of each part with the types that DuckDB reads. Columns whose names differ by case only would be renamed: refused."""
    import duckdb

    places = [os.path.abspath(path) for path in paths]
    source = literal(exact_path(os.path.abspath(file.plain)))
    con = connect([os.path.abspath(file.plain), *places])
    try:
        con.register("parts", {"part": parts})
        names = [str(row[0]) for row in con.execute(f"SELECT name FROM parquet_schema({source})").fetchall()][1:]
        read = f"read_parquet({source}, hive_partitioning = false, filename = false)"
        described = [str(row[0]) for row in con.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()]
        if renamed := [name for name in described if name not in names]:
            got = f"a column {renamed[0]!r} that another one differs from by case only"
            raise SourceError(f"{file.shown!r} has {got}, so it cannot be split.", got=got, need="names that differ by more")
        rows = f"SELECT a.* FROM {read} AS a POSITIONAL JOIN parts WHERE parts.part"
        told = [
            con.execute(f"COPY ({rows} = {number}) TO {literal(place)} (FORMAT parquet, COMPRESSION zstd)").fetchall()
            for number, place in enumerate(places)
        ]
        return sum(int(each[0][0]) for each in told)
    except duckdb.Error as error:
        fault = SourceError(
            f"{file.shown!r} cannot be split: it is not a readable table, or there is no room for its parts ({useful_line(error)}).",
            got=useful_line(error),
            need="a readable table, and room for its parts",
        )
        raise too_little(error, repr(file.shown)) or fault from None
    finally:
        con.close()


_SPACE = " \t\r\n"
_COPY = {"csv": _copy_delimited, "tsv": _copy_delimited, "jsonl": _copy_lines, "json": _copy_json}
COPIED = (*_COPY, "parquet")  # the formats whose rows can be copied
