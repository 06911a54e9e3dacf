"""Tables that live in Python: pandas frames in memory; polars, pyarrow, DuckDB relations and Arrow streams in the engine."""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours; values of users are parameters
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steelyard_old.errors import DataError, SourceError, with_article
from steelyard_old.read.engines.duckdb_table import EngineTable, connect, quoted, useful_line
from steelyard_old.read.roles import refuse_duplicates
from steelyard_old.read.table import MemoryTable, SourceTable


class ArrowStream:
    """Only the Arrow door of a frame. DuckDB would otherwise know it by its class, and ask for pyarrow."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def is_frame(data: object) -> bool:
    """A table with named columns, as opposed to one column of values."""
    if getattr(data, "ndim", 2) == 1 or type(data).__name__ in ("Series", "Index", "ChunkedArray", "Array"):
        return False
    return hasattr(data, "__arrow_c_stream__") or _is(data, "pandas", "DataFrame") or _is(data, "polars", "LazyFrame")


def frame_table(data: Any, wanted: Callable[[str], bool]) -> SourceTable:
    """The table behind a frame."""
    if _is(data, "pandas", "DataFrame"):
        return MemoryTable([str(name) for name in data.columns], lambda place: data.iloc[:, place], len(data))
    if _is(data, "polars", "LazyFrame"):
        data = data.collect()
    if _is(data, "pyarrow", "Table"):
        refuse_duplicates(list(data.schema.names))  # before DuckDB 1.5 stumbles over them in its own words
    con = connect()
    import duckdb

    try:
        con.register("frame", ArrowStream(data))
        if _is(data, "polars", "DataFrame"):
            return EngineTable(con, "frame", names=list(data.columns), what="the polars frame")
        if _is(data, "pyarrow", "Table"):
            return EngineTable(con, "frame", names=list(data.schema.names), what="the Arrow table")
        # A relation would run again with each question, and a stream runs once: keep the columns that could be asked for.
        names = (
            [str(name) for name in data.columns]
            if _is(data, "duckdb", "DuckDBPyRelation") or _is(data, "_duckdb", "DuckDBPyRelation")
            else None
        )
        kept = None if names is None else [name for name in names if wanted(name)]
        con.execute(f"CREATE TEMP TABLE kept AS SELECT {'*' if kept is None else ', '.join((*map(quoted, kept), '1'))} FROM frame")
    except duckdb.Error as error:
        raise SourceError(
            f"The {type(data).__name__} cannot be read as a table in Arrow form ({useful_line(error)}).",
            got=useful_line(error),
            need="a table in Arrow form",
        ) from None
    return EngineTable(
        con, "kept", names=names, identifiers=None if kept is None else {name: name for name in kept}, what=f"the {type(data).__name__}"
    )


def rows_table(rows: Sequence[Mapping[str, Any]]) -> MemoryTable:
    """A list of dicts, one per row. A key that a row lacks is a missing value."""
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(
                f"Row {place + 1} is {type(row).__name__}; every row must be a dict.",
                got=f"{with_article(type(row).__name__)} in row {place + 1}",
                need="a dict in every row",
            )
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return MemoryTable([str(key) for key in keys], lambda place: [row.get(keys[place]) for row in rows], len(rows))


def columns_table(columns: Mapping[str, Any]) -> MemoryTable:
    """A dict of columns. Each must be as long as the first."""
    names = [str(name) for name in columns]
    values = list(columns.values())
    lengths = [len(value) if hasattr(value, "__len__") and not isinstance(value, (str, bytes)) else -1 for value in values]
    for name, length in zip(names, lengths, strict=True):
        if length != lengths[0] or length < 0:
            got = f"{lengths[0]} values in {names[0]!r}, {length} in {name!r}" if length >= 0 else f"no list in {name!r}"
            raise DataError(f"The columns have different lengths: {got}.", got=got, need="columns of one length")
    return MemoryTable(names, lambda place: values[place], lengths[0] if lengths else 0)


def _is(data: object, package: str, name: str) -> bool:
    kind = type(data)
    return kind.__module__.partition(".")[0] == package and kind.__name__ == name
