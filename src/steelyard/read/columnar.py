"""Parquet through DuckDB, where it stays; Arrow and Feather files through pyarrow, if it is installed."""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours; values of users are parameters
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from steelyard.errors import SourceError
from steelyard.read.engine import EngineTable, Scan, connect, exact_path, literal, useful_line
from steelyard.read.frames import frame_table
from steelyard.read.opened import Opened
from steelyard.read.table import Table


def read_parquet(files: Sequence[Opened]) -> tuple[EngineTable, list[str]]:
    """The table of one or several Parquet files, united by column name, and warnings."""
    import duckdb

    con = connect([os.path.abspath(file.plain) for file in files])
    paths = [exact_path(os.path.abspath(file.plain)) for file in files]
    try:
        headers = [_names(con, path) for path in paths]
    except duckdb.Error as error:
        con.close()
        raise SourceError(
            f"cannot read {files[0].shown!r}", got=useful_line(error).replace(paths[0], files[0].shown), need="a whole Parquet file"
        ) from None

    def unchanged() -> None:
        for file in files:
            file.check_unchanged()

    several = len(files) > 1
    for file, header in zip(files, headers, strict=True):
        _refuse_twins(file, header, several=several)
    listed = ", ".join(map(literal, paths))
    relation = f"read_parquet([{listed}], union_by_name = {str(several).lower()}, hive_partitioning = false, filename = false)"
    names = list(dict.fromkeys(name for header in headers for name in header))
    warnings = [
        f"column {name!r} is absent from {gone} of {len(files)} files"
        for name in names
        if (gone := sum(name not in each for each in headers))
    ]
    identifiers = {name: name for name in names} if several else None
    scan = Scan(tuple(os.path.abspath(file.plain) for file in files), relation, unchanged)
    table = EngineTable(con, relation, names=names, identifiers=identifiers, what=repr(files[0].shown), unchanged=unchanged, scan=scan)
    return table, warnings


def _names(con: Any, path: str) -> list[str]:
    """The names of the top-level columns as the file has them; DuckDB would rename those that differ by case only."""
    schema = con.execute(f"SELECT name, num_children FROM parquet_schema({literal(path)})").fetchall()
    names: list[str] = []
    place = 1
    while place < len(schema):
        names.append(str(schema[place][0]))
        open_nodes = 1
        while open_nodes:
            open_nodes += int(schema[place][1] or 0) - 1
            place += 1
    return names


def _refuse_twins(file: Opened, header: Sequence[str], *, several: bool) -> None:
    compared = [name.lower() for name in header] if several else list(header)
    twice = next((name for name, key in zip(header, compared, strict=True) if compared.count(key) > 1), None)
    if twice is not None:
        raise SourceError(f"cannot read {file.shown!r}", got=f"the column name {twice!r} more than once", need="each name once")


def read_arrow(files: Sequence[Opened], wanted: Callable[[str], bool]) -> Table:
    """The table of one or several Arrow or Feather files."""
    try:
        import pyarrow as pa
    except ImportError:
        hint = "pip install 'steelyard[arrow]'"
        raise SourceError(f"cannot read {files[0].shown!r}", got="an Arrow file, without pyarrow", need="pyarrow", hint=hint) from None
    tables = []
    for file in files:
        try:
            tables.append(_arrow_table(file.plain))
        except (pa.ArrowException, OSError, ValueError) as error:
            got = str(error).partition("\n")[0][:200]
            raise SourceError(f"cannot read {file.shown!r}", got=got, need="a whole Arrow file") from None
        file.check_unchanged()
    return frame_table(pa.concat_tables(tables, promote_options="default") if len(tables) > 1 else tables[0], wanted)


def _arrow_table(path: str) -> Any:
    import pyarrow as pa
    from pyarrow import feather, ipc

    with open(path, "rb") as stream:
        head = stream.read(6)
    if head.startswith(b"FEA1"):
        return feather.read_table(path)
    source = pa.memory_map(path)
    return (ipc.open_file(source) if head == b"ARROW1" else ipc.open_stream(source)).read_all()
