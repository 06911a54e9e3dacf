"""Rows of a log that is a Parquet file: structs become dictionaries, through DuckDB; the names inside without opening it."""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours; values of users are parameters
from __future__ import annotations

import os
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.read.engines.duckdb_table import connect, exact_path, literal, quoted, useful_line
from steelyard_old.read.files.paths import open_file

_LARGEST = 16 << 20  # a footer beyond this is no log of an evaluation


def has_names(path: str, head: bytes, names: tuple[str, ...], *, part: bytes = b"") -> bool:
    """Whether a Parquet file names all of these columns or fields, and `part` of some name. Reads its footer and nothing else."""
    if not head.startswith(b"PAR1"):
        return False
    try:
        footer = _footer(path)
    except OSError:
        return False
    # In the footer a name is its length as one byte (below 128) and its letters.
    return part in footer and all(bytes([len(name)]) + name.encode() in footer for name in names)


def _footer(path: str) -> bytes:
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - 8, 0))
        tail = stream.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != b"PAR1" or not 0 < length <= min(_LARGEST, size - 8):
            return b""
        stream.seek(size - 8 - length)
        return stream.read(length)


def parquet_rows(path: str, columns: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The rows as dictionaries, of some columns or of all. Missing is None."""
    import duckdb

    file = open_file(path)
    plain = os.path.abspath(file.plain)
    con = connect([plain])
    picked = ", ".join(map(quoted, columns)) or "*"
    relation = f"read_parquet({literal(exact_path(plain))}, hive_partitioning = false, filename = false)"
    try:
        answer = con.execute(f"SELECT {picked} FROM {relation}")
        names = [str(each[0]) for each in answer.description]
        rows = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    except duckdb.Error as error:
        got = useful_line(error).replace(plain, file.shown)
        raise SourceError(f"{file.shown!r} is not a whole Parquet file ({got}).", got=got, need="a whole Parquet file") from None
    finally:
        con.close()
    file.check_unchanged()
    if not rows:
        raise SourceError(f"No items in {file.shown!r}.", got="no items", need="at least one row")
    return rows
