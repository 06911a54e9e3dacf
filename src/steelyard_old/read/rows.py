"""The rows of a table as they are, every column of them: what a task is made of, as opposed to finished results."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import SourceError, UsageError, with_article
from steelyard_old.read.engines.duckdb_table import EngineTable
from steelyard_old.read.engines.unread import settled
from steelyard_old.read.files.paths import Opened, open_file, resolve, split_name, spool_stdin
from steelyard_old.read.frames import columns_table, frame_table, is_frame, rows_table
from steelyard_old.read.table import MemoryTable, SourceTable


def rows_of(data: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows by column name, and what there is to warn of. An empty field of a CSV file, a key that a row lacks and null are None.

    data: a path (file, directory, pattern, "-"), a frame, rows, or a dict of columns.
    """
    table, said, _ = table_of(data)
    return _rows(table), said


def table_of(data: Any) -> tuple[SourceTable, list[str], Sequence[Opened]]:
    """The table with every column, what there is to warn of, and the files that it was read from."""
    if isinstance(data, str | os.PathLike):
        return _from_path(os.fsdecode(data))
    if isinstance(data, Mapping):
        return columns_table(data), [], ()
    if is_frame(data):
        return frame_table(data, _all), [], ()
    if isinstance(data, list | tuple) and data and isinstance(data[0], Mapping):
        return rows_table(data), [], ()
    raise UsageError(
        f"Rows must be a path, a frame, rows as dicts, or a dict of columns, not {with_article(type(data).__name__)}.",
        got=type(data).__name__,
        need="a path, a frame, rows as dicts, or a dict of columns",
    )


def _from_path(text: str) -> tuple[SourceTable, list[str], Sequence[Opened]]:
    if "://" in text:
        raise UsageError(
            f"Rows are read from a file, not from an address ({text.partition('://')[0]}://...).",
            got=repr(text.partition("://")[0] + "://..."),
            need="a file",
        )
    _, path = split_name(text)
    if path == "-":
        spool = spool_stdin()
        files = [open_file(spool.path, shown="standard input", held=spool)]
    else:
        files = [open_file(each) for each in resolve(path)]
    formats = {file.format for file in files}
    if len(formats) > 1 and formats != {"json", "jsonl"}:
        got = "; ".join(f"{file.shown!r} is {file.format}" for file in files[:5])
        raise SourceError(f"{path!r} has files of several formats: {got}.", got=got, need="files of one format")
    return *_read(files), files


def _read(files: Sequence[Opened]) -> tuple[SourceTable, list[str]]:
    kind = files[0].format
    if kind in ("csv", "tsv"):
        from steelyard_old.read.files.delimited import read_delimited

        read, warnings = read_delimited(files, _all)
        return settled(read), warnings
    if kind in ("json", "jsonl"):
        from steelyard_old.read.files.jsons import read_json

        return settled(read_json(files, _all)), []
    from steelyard_old.read.files.columnar import read_arrow, read_parquet

    return read_parquet(files) if kind == "parquet" else (read_arrow(files, _all), [])


def _all(name: str) -> bool:
    return True


def _rows(table: SourceTable) -> list[dict[str, Any]]:
    if isinstance(table, EngineTable):
        values = table.ask(", ".join(table.identifier(name) for name in table.names))
        return [dict(zip(table.names, row, strict=True)) for row in values]
    assert isinstance(table, MemoryTable)
    columns = [table.raw(name) for name in table.names]
    return [dict(zip(table.names, row, strict=True)) for row in zip(*columns, strict=True)]
