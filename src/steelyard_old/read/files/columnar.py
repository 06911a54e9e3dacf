"""Parquet through DuckDB, where it stays; Arrow and Feather files through pyarrow, if it is installed."""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours; values of users are parameters
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.late_pattern import late_pattern
from steelyard_old.read.engines.duckdb_table import (
    EngineTable,
    Scan,
    connect,
    exact_path,
    literal,
    partition_columns,
    quoted,
    too_little,
    useful_line,
)
from steelyard_old.read.files.formats import partition_keys
from steelyard_old.read.files.paths import Opened
from steelyard_old.read.frames import frame_table
from steelyard_old.read.table import SourceTable

_END = b"\xff\xff\xff\xff\0\0\0\0"  # of an Arrow stream
NUMBER = late_pattern(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?\Z|FLOAT\Z|DOUBLE\Z|DECIMAL")


def read_parquet(files: Sequence[Opened], wanted: Callable[[str], bool] = lambda _: True) -> tuple[EngineTable, list[str]]:
    """The table of one or several Parquet files, united by column name, with the keys of their partitions; and warnings."""
    import duckdb

    def unchanged() -> None:
        for file in files:
            file.check_unchanged()

    con = connect([os.path.abspath(file.plain) for file in files])
    try:
        schemas = [_schema(con, file) for file in files]
    except duckdb.Error as error:
        con.close()
        unchanged()
        raise _unreadable(files, error) from None

    several = len(files) > 1
    for file, schema in zip(files, schemas, strict=True):
        _refuse_twins(file, list(schema), several=several)
    _refuse_mixed(files, schemas, wanted)
    keys = partition_keys(files, [list(schema) for schema in schemas])
    names = list(dict.fromkeys(name for schema in schemas for name in schema))
    relation = _relation(files, keys, {name.lower() for name in names})
    warnings = [
        f"column {name!r} is absent from {gone} of {len(files)} files"
        for name in names
        if (gone := sum(name not in each for each in schemas))
    ]
    names += keys
    identifiers = {name: name for name in names} if several else None
    scan = Scan(tuple(os.path.abspath(file.plain) for file in files), relation, unchanged)
    table = EngineTable(con, relation, names=names, identifiers=identifiers, what=repr(files[0].shown), unchanged=unchanged, scan=scan)
    return table, warnings


def _relation(files: Sequence[Opened], keys: Sequence[str], headed: Collection[str]) -> str:
    """The rows of all files, in the order of the files; the partition keys of each file are columns of text at the end."""
    paths = [exact_path(os.path.abspath(file.plain)) for file in files]
    several = str(len(files) > 1).lower()
    read = f"read_parquet([{', '.join(map(literal, paths))}], union_by_name = {several}, hive_partitioning = false, filename = false)"
    if not keys:
        return read
    if "file_index" in headed:
        need = "another name: DuckDB numbers the files by it"
        raise SourceError(
            "The files have a column 'file_index', a name that DuckDB uses for partitions.",
            got="a column 'file_index' in the files",
            need=need,
            hint="rename the column",
        )
    columns = ", ".join(f"{value} AS {quoted(key)}" for key, value in partition_columns(files).items())
    return f"(SELECT *, {columns} FROM {read})"


def _schema(con: Any, file: Opened) -> dict[str, str]:
    """The top-level columns as the file has them, and what kind they are; DuckDB would rename those that differ by case only."""
    path = literal(exact_path(os.path.abspath(file.plain)))
    described = con.execute(f"DESCRIBE SELECT * FROM read_parquet({path}, hive_partitioning = false, filename = false)").fetchall()
    schema = con.execute(f"SELECT name, num_children FROM parquet_schema({path})").fetchall()
    names: list[str] = []
    place = 1
    while place < len(schema):
        names.append(str(schema[place][0]))
        open_nodes = 1
        while open_nodes:
            open_nodes += int(schema[place][1] or 0) - 1
            place += 1
    twins = next((name for name, many in Counter(names).items() if many > 1), None)
    if twins is not None:
        raise _twice(file, twins)
    return dict(zip(names, (str(row[1]) for row in described), strict=True))


def _unreadable(files: Sequence[Opened], error: Exception) -> SourceError:
    """Which of the files it was: the message has its path, if it has any."""
    line = useful_line(error)
    at = next((file for file in files if exact_path(os.path.abspath(file.plain)) in line), files[0])
    return too_little(error, repr(at.shown)) or SourceError(
        f"{at.shown!r} is not a whole Parquet file ({line.replace(exact_path(os.path.abspath(at.plain)), at.shown)}).",
        got=line.replace(exact_path(os.path.abspath(at.plain)), at.shown),
        need="a whole Parquet file",
    )


def _refuse_mixed(files: Sequence[Opened], schemas: Sequence[Mapping[str, str]], wanted: Callable[[str], bool]) -> None:
    """Texts in one file and numbers in another would meet as texts; numbers of any width may meet."""
    first: dict[str, tuple[Opened, str]] = {}
    for file, schema in zip(files, schemas, strict=True):
        for name, kind in schema.items():
            other, before = first.setdefault(name, (file, kind))
            if wanted(name) and _family(before) != _family(kind):
                raise SourceError(
                    f"The column {name!r} has different types: {before} in {other.shown!r}, {kind} in {file.shown!r}.",
                    got=f"{before} in {other.shown!r}, {kind} in {file.shown!r}",
                    need="one type",
                    hint="write the files with one type, or measure them one by one",
                )


def _family(kind: str) -> str:
    return "a number" if NUMBER.match(kind) else kind


def _twice(file: Opened, name: str) -> SourceError:
    return SourceError(
        f"{file.shown!r} has the column {name!r} more than once.", got=f"the column name {name!r} more than once", need="each name once"
    )


def _refuse_twins(file: Opened, header: Sequence[str], *, several: bool) -> None:
    compared = [name.lower() for name in header] if several else list(header)
    twice = next((name for name, key in zip(header, compared, strict=True) if compared.count(key) > 1), None)
    if twice is not None:
        raise _twice(file, twice)


def read_arrow(files: Sequence[Opened], wanted: Callable[[str], bool]) -> SourceTable:
    """The table of one or several Arrow or Feather files."""
    try:
        import pyarrow as pa
    except ImportError:
        hint = "pip install 'steelyard[arrow]'"
        raise SourceError(
            f"Reading the Arrow file {files[0].shown!r} needs pyarrow.", got="an Arrow file, without pyarrow", need="pyarrow", hint=hint
        ) from None
    tables = []
    for file in files:
        try:
            tables.append(_arrow_table(file.plain))
        except (pa.ArrowException, OSError, ValueError) as error:
            got = str(error).partition("\n")[0][:200]
            raise SourceError(f"{file.shown!r} is not a whole Arrow file ({got}).", got=got, need="a whole Arrow file") from None
        file.check_unchanged()
    for key in partition_keys(files, [table.column_names for table in tables]):
        tables = [t.append_column(key, pa.array([f.partition[key]] * t.num_rows, pa.string())) for f, t in zip(files, tables, strict=True)]
    return frame_table(pa.concat_tables(tables, promote_options="default") if len(tables) > 1 else tables[0], wanted)


def _arrow_table(path: str) -> Any:
    import pyarrow as pa
    from pyarrow import feather, ipc

    with open(path, "rb") as stream:
        head = stream.read(6)
        stream.seek(-len(_END), os.SEEK_END)
        tail = stream.read()
    if head.startswith(_END[:4]) and tail != _END:  # a reader would take a stream that was cut between two batches for a whole one
        raise ValueError("a stream without its end mark")
    if head.startswith(b"FEA1"):
        table = feather.read_table(path)
    else:
        source = pa.memory_map(path)
        table = (ipc.open_file(source) if head == b"ARROW1" else ipc.open_stream(source)).read_all()
    table.validate(full=True)  # lengths and offsets that a damaged file has wrong would end the process inside the engine
    return table
