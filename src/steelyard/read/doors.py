"""The one door: whatever holds finished results becomes a Source."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import SourceError, UsageError
from steelyard.read.arrays import array_source
from steelyard.read.frames import columns_table, frame_table, is_frame, rows_table
from steelyard.read.roles import assign, may_use
from steelyard.read.source import Source
from steelyard.read.table import Table

__all__ = ["Source", "open_source"]


def open_source(data: Any, second: Any = None, *, columns: Mapping[str, object]) -> Source:
    """Open finished results.

    data: a path (file, directory, pattern, "-", name=path), a frame, a DuckDB relation, an Arrow stream, rows, a dict
    of columns, or an array of labels or scores; with `second`, truth and prediction as two arrays. columns: role ->
    column name (tables) or array (arrays), as the user gave them; the other roles are found by name.
    """
    if isinstance(data, Source):
        raise UsageError("cannot open a source twice", got="a Source", need="a path, a frame or arrays")
    if second is None:
        if isinstance(data, (str, os.PathLike)):
            return _from_path(os.fspath(data), columns)
        table = _table_of(data, columns)
        if table is not None:
            return Source(table, assign(table.names, columns))
    elif isinstance(data, (str, bytes, os.PathLike, Mapping)) or isinstance(second, (str, bytes, os.PathLike, Mapping)) or is_frame(data):
        raise UsageError(
            "cannot use a second argument here",
            got=f"{type(data).__name__} and {type(second).__name__}",
            need="two arrays, truth and prediction",
        )
    return array_source(data, second, columns)


def _table_of(data: Any, columns: Mapping[str, object]) -> Table | None:
    """The table of a frame, of rows or of a dict of columns; None if data is one array."""
    if isinstance(data, (bytes, bytearray)):
        raise UsageError("cannot open bytes", got=f"{len(data)} bytes", need="a path, a frame or arrays", hint="write them to a file first")
    if isinstance(data, Mapping):
        return columns_table(data)
    if is_frame(data):
        return frame_table(data, may_use(columns))
    if isinstance(data, (list, tuple)) and data and any(isinstance(row, Mapping) for row in data[:1]):
        return rows_table(data)
    return None


def _from_path(text: str | bytes, columns: Mapping[str, object]) -> Source:
    from steelyard.read.opened import Opened, open_file
    from steelyard.read.paths import resolve, run_name, split_name, spool_stdin

    if isinstance(text, bytes):
        text = os.fsdecode(text)
    name, path = split_name(text)
    files: list[Opened]
    if path == "-":
        spool = spool_stdin()
        files = [open_file(spool.path, shown="standard input", held=spool)]
    else:
        files = [open_file(each) for each in resolve(path)]
    formats = {file.format for file in files}
    if len(formats) > 1 and formats != {"json", "jsonl"}:
        got = "; ".join(f"{file.shown!r} is {file.format}" for file in files[:5])
        raise SourceError(f"cannot read {path!r} as one source", got=got, need="files of one format")
    table, warnings = _read(files, columns)
    return Source(table, assign(table.names, columns), name=name or run_name(path), warnings=warnings, held=files)


def _read(files: Sequence[Any], columns: Mapping[str, object]) -> tuple[Table, list[str]]:
    wanted = may_use(columns)
    kind = files[0].format
    if kind in ("csv", "tsv"):
        from steelyard.read.delimited import read_delimited

        return read_delimited(files, wanted)
    if kind in ("json", "jsonl"):
        from steelyard.read.jsons import read_json

        return read_json(files, wanted), []
    from steelyard.read.columnar import read_arrow, read_parquet

    return read_parquet(files) if kind == "parquet" else (read_arrow(files, wanted), [])
