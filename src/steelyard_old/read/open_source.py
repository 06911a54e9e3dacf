"""The one door: whatever holds finished results becomes a Source."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steelyard_old.errors import SourceError, UsageError, with_article
from steelyard_old.options.option import unknown_word
from steelyard_old.read.arrays import ID, aligned, array_source, index_of, labels_of, names_items
from steelyard_old.read.engines.unread import UnreadTable, settled
from steelyard_old.read.frames import columns_table, frame_table, is_frame, rows_table
from steelyard_old.read.roles import LOG_CHOICES, assign, may_use, option, whole_name
from steelyard_old.read.source import Source
from steelyard_old.read.table import MemoryTable, SourceTable

if TYPE_CHECKING:
    from steelyard_old.read.files.paths import Opened
    from steelyard_old.read.logs.log import Choices, Log


ENGINES = ("auto", "duckdb", "spark")
ENGINE_CHOICES = ("engine", "master", "remote")  # not columns: who counts, and where it is
_SPARK_HINT = "sy.measure('s3a://bucket/run/*.parquet', engine='spark', master='spark://host:7077') (or remote='sc://host')"


def without_engine(columns: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """What was said about columns, and what was said about the engine.

    >>> without_engine({"id": "key", "engine": "spark", "remote": None})
    ({'id': 'key'}, {'engine': 'spark'})
    """
    about = {what: columns[what] for what in ENGINE_CHOICES if columns.get(what) is not None}
    return {role: value for role, value in columns.items() if role not in ENGINE_CHOICES}, about


def open_on_engine(data: Any, second: Any, columns: Mapping[str, object], about: Mapping[str, object]) -> Source | None:
    """The source on Spark, if that was asked for; None if the kind of the data decides: files and frames DuckDB, databases themselves."""
    engine, master, remote = _checked(about)
    if engine != "spark":
        if master is not None or remote is not None:
            raise UsageError(
                f"{'master=' if remote is None else 'remote='} is only used with engine='spark'.",
                got=f"engine={engine!r}" if "engine" in about else "no engine=",
                need="engine='spark'",
                hint=_SPARK_HINT,
            )
        if engine == "duckdb" and (elsewhere := _lies_elsewhere(data)):
            raise UsageError(
                f"engine='duckdb' does not apply to {elsewhere}: it counts files, frames and arrays.",
                got=elsewhere,
                need="files, frames or arrays",
                hint="leave engine= out",
            )
        return None
    from steelyard_old.read.engines.memory import is_limited

    if is_limited():
        raise UsageError(
            "memory= limits DuckDB; it has no effect with engine='spark'.",
            got="engine='spark'",
            need="DuckDB",
            hint="set spark.executor.memory where Spark is started",
        )
    if type(data).__module__.startswith("pyspark.sql"):
        if master is not None or remote is not None:
            raise UsageError(
                "master= and remote= do not apply to a Spark frame: it has its own session.",
                got="a frame and the address of a cluster",
                need="the frame alone, which has its own session",
            )
        return None
    path = _path_for_spark(data, second, columns)
    if (master is None) == (remote is None):
        got = "neither master= nor remote=" if master is None else "both master= and remote="
        raise UsageError(
            f"engine='spark' needs one address, but got {got}.",
            got=got,
            need="master='spark://host:7077' or remote='sc://host'",
            hint=_SPARK_HINT,
        )
    from steelyard_old.read.engines.spark import open_on_spark

    return open_on_spark(path, columns, master=master, remote=remote)


def _checked(about: Mapping[str, object]) -> tuple[str, str | None, str | None]:
    """Engine, master and remote, as texts."""
    for what, value in about.items():
        if not isinstance(value, str) or not value:
            need = "a name" if what == "engine" else "an address"
            raise UsageError(f"{what}= must be {need}, not {value!r}.", got=repr(value), need=need)
    engine, master, remote = (about.get(what) for what in ENGINE_CHOICES)
    if engine is not None and engine not in ENGINES:
        raise unknown_word("engine", engine, tuple(ENGINES))
    return str(engine or "auto"), None if master is None else str(master), None if remote is None else str(remote)


def _lies_elsewhere(data: Any) -> str | None:
    """What data is, if another engine holds it."""
    from steelyard_old.read.engines.database import is_database

    if isinstance(data, str) and is_database(data):
        return "a table of another database" if not data.rpartition("=")[2].startswith("duckdb") else None
    return "a Spark frame" if type(data).__module__.startswith("pyspark.sql") else None


def _path_for_spark(data: Any, second: Any, columns: Mapping[str, object]) -> str:
    """The path that the workers shall read; what only this process holds cannot be counted there."""
    from steelyard_old.read.engines.database import is_database

    given = [what for what in LOG_CHOICES if columns.get(what) is not None]
    if given:
        hint = "logs are read here: leave engine= out, or give Spark the rows as Parquet"
        raise UsageError(
            f"{option(given[0])} chooses inside the log of a tool, and engine='spark' reads tables only.",
            got="engine='spark', which reads tables",
            need="the log of a tool",
            hint=hint,
        )
    got = None
    if second is not None or not isinstance(data, (str, os.PathLike)):
        got = f"{with_article(type(data).__name__)} in this process (workers cannot read it)"
    elif isinstance(data, str) and is_database(data):
        got = "a table of a database"
    elif os.fspath(data) == "-":
        got = "standard input"
    elif os.fspath(data).startswith("mlflow:"):
        got = "a table of MLflow"
    if got is not None:
        need = "a path that every worker can read, or a Spark frame"
        raise UsageError(
            f"Spark needs {need}, not {got}.", got=got, need=need, hint="leave engine= out, or write the rows to Parquet files"
        )
    return str(os.fspath(data))


__all__ = ["Source", "open_source"]

SAME = ("doc_hash",)  # columns of a log that vouch for the content of an item: two runs must agree on them to be paired


def open_source(data: Any, second: Any = None, *, columns: Mapping[str, object], keep_all: bool = False) -> Source:
    """Open finished results.

    data: a path (file, directory, pattern, "-", name=path, mlflow:runs:/ID/PATH), a frame, a DuckDB relation, an Arrow stream, rows, a dict
    of columns, or an array of labels or scores; with `second`, truth and prediction as two arrays. columns: role ->
    column name (tables) or array (arrays), as the user gave them; the other roles are found by name. For the log of an
    evaluation tool also log_task, filter, scorer, prompt and log_model, which of several is meant (latest: the newest run);
    `score` names its metric.
    Who counts: engine, and for Spark master or remote. keep_all: every column of a table can be asked for, and not only those that roles
    could have, for who must see the names first.
    """
    if isinstance(data, Source):
        raise UsageError("This is an opened source already.", got="a Source", need="a path, a frame or arrays")
    columns, engine = without_engine({what: value for what, value in columns.items() if what != "latest" or value})
    if engine and (source := open_on_engine(data, second, columns, engine)) is not None:
        return source
    if second is None:
        if isinstance(data, (str, os.PathLike)):
            if isinstance(data, str) and "://" in data:
                from steelyard_old.read.engines.database import is_database, open_database

                if is_database(data):
                    _refuse_choices(columns, "a database")
                    return open_database(data, columns)
            return _opened(os.fspath(data), columns, keep_all)
        if type(data).__module__.startswith("pyspark.sql"):
            from steelyard_old.read.engines.spark import spark_source

            _refuse_choices(columns, "a Spark frame")
            return spark_source(data, columns)
        _refuse_choices(columns, "a table in memory")
        table, index, said = _table_of(data, columns, keep_all)
        if table is not None:
            return _known_by_index(table, index, columns, said)
    elif isinstance(data, (str, bytes, os.PathLike, Mapping)) or isinstance(second, (str, bytes, os.PathLike, Mapping)) or is_frame(data):
        raise UsageError(
            f"A second argument is only possible with two arrays, truth and prediction; got {type(data).__name__} and "
            f"{type(second).__name__}.",
            got=f"{type(data).__name__} and {type(second).__name__}",
            need="two arrays, truth and prediction",
        )
    _refuse_choices(columns, "arrays")
    return array_source(data, second, columns)


def _table_of(data: Any, columns: Mapping[str, object], keep_all: bool) -> tuple[SourceTable | None, Any, list[str]]:
    """The table of a frame, of rows or of a dict of columns, with its index and what was done; no table if data is one array."""
    if isinstance(data, (bytes, bytearray)):
        raise UsageError(
            f"Cannot open {len(data)} bytes as a source.",
            got=f"{len(data)} bytes",
            need="a path, a frame or arrays",
            hint="write them to a file first",
        )
    if isinstance(data, Mapping):
        beside, index, said = aligned(data)
        return columns_table(beside), index, said
    if is_frame(data):
        return frame_table(data, _every if keep_all else may_use(columns)), index_of(data), []
    if isinstance(data, (list, tuple)) and data and any(isinstance(row, Mapping) for row in data[:1]):
        return rows_table(data), None, []
    return None, None, []


def _known_by_index(table: SourceTable, index: Any, columns: Mapping[str, object], said: Sequence[str]) -> Source:
    """A table of pandas. Without an id column, an index that names the items is their id; rows of repeats or models are not items."""
    chosen = assign(table.names, columns)
    if (
        not isinstance(table, MemoryTable)
        or not names_items(index)
        or {"id", "repeat", "model"} & set(chosen.roles)
        or columns.get("id") == "none"
    ):
        return Source(table, chosen, warnings=said)
    table = table.beside(ID, labels_of(index))
    return Source(table, replace(chosen, roles={"id": ID, **chosen.roles}), warnings=said)


def _opened(text: str | bytes, columns: Mapping[str, object], keep_all: bool) -> Source:
    """The source of a path. Whatever the system refuses on the way, in a directory or beside a log, is an error that says what."""
    try:
        return _from_path(text, columns, keep_all)
    except OSError as error:
        from steelyard_old.read.files.paths import cannot_open

        raise cannot_open(os.fsdecode(text), error) from None


def _from_path(text: str | bytes, columns: Mapping[str, object], keep_all: bool) -> Source:
    from steelyard_old.read.files.formats import partition_of
    from steelyard_old.read.files.paths import open_file, resolve, run_name, split_name, spool_stdin

    if isinstance(text, bytes):
        text = os.fsdecode(text)
    name, path = split_name(text)
    if path == "-" or path.startswith("mlflow:"):
        shown = "standard input"
        if path == "-":
            spool = spool_stdin()
        else:
            from steelyard_old.read.mlflow_artifact import download

            shown = path
            spool, run = download(path)
            name = name or run
        if (source := _from_log([spool.path], name, columns, shown=shown)) is not None:
            return source
        files = [open_file(spool.path, shown=shown, held=spool)]
        packed = files[0].plain != spool.path
        if packed and (source := _from_log([files[0].plain], name, columns, shown=shown)) is not None:
            return source
    else:
        if os.path.isdir(path) and (source := _from_log([path], name, columns)) is not None:
            return source
        paths = resolve(path)
        if (source := _from_log(paths, name, columns)) is not None:
            return source
        files = [open_file(each, partition=partition_of(path, each)) for each in paths]
        if (source := _from_packed_log(files, name, columns)) is not None:
            return source
    formats = {file.format for file in files}
    if len(formats) > 1 and formats != {"json", "jsonl"}:
        got = "; ".join(f"{file.shown!r} is {file.format}" for file in files[:5])
        raise SourceError(f"{path!r} has files of several formats: {got}.", got=got, need="files of one format")
    _refuse_choices(columns, f"{path!r}, a table")
    table, warnings = _read(files, columns, keep_all)
    source = Source(table, assign(table.names, columns), name=name or run_name(path), warnings=warnings, held=files)
    source.again = lambda names: settled(_read(files, {**columns, "by": tuple(names)}, keep_all)[0])
    return source


# ---- logs ------------------------------------------------------------------------------------------------------------


def _from_log(paths: Sequence[str], name: str | None, columns: Mapping[str, object], shown: str | None = None) -> Source | None:
    """The source of the log at a path; None if there is no log among the paths. Several logs are never one run: one of them, or none."""
    from steelyard_old.read.logs.found import is_log, newest_of, read_log

    if len(paths) == 1:
        log = read_log(paths[0], _choices(columns), shown=shown)
        return None if log is None else _source_of(log, name or log.name or _run_name(shown or paths[0]), columns)
    if not any(map(is_log, paths[:2])):
        return None
    path, newest = newest_of(paths, _choices(columns), shown or os.path.dirname(paths[0]) or ".")
    found = _from_log([path], name, columns)
    if found is not None:
        found.warnings = (*newest, *found.warnings)
    return found


def _from_packed_log(files: Sequence[Opened], name: str | None, columns: Mapping[str, object]) -> Source | None:
    """Readers unpack by themselves, so that the name of a log and what lies beside it are not lost."""
    from steelyard_old.read.logs.found import is_log, read_log

    if len(files) > 1 or files[0].plain == files[0].shown or not is_log(files[0].plain):
        return None
    log = read_log(files[0].shown, _choices(columns), looked_at=files[0].plain)
    return None if log is None else _source_of(log, name or log.name or _run_name(files[0].shown), columns)


def _run_name(path: str) -> str | None:
    from steelyard_old.read.files.paths import run_name

    return None if path == "standard input" else run_name(path)


def _choices(columns: Mapping[str, object]) -> Choices:
    """What the user said that chooses among the contents of a log. The column options score and model name one of them, too."""
    from steelyard_old.read.logs.log import Choices

    said: dict[str, Any] = {}
    for what, choice in LOG_CHOICES.items():
        value = columns.get(what)
        if value is None:
            continue
        if choice == "latest":
            said[choice] = bool(value)
            continue
        if not isinstance(value, str):
            hint = "compare takes two of them" if isinstance(value, (list, tuple)) else ""
            raise UsageError(f"cannot use {option(what)}", got=type(value).__name__, need="one name", hint=hint)
        if said.setdefault(choice, value) != value:
            raise UsageError(
                f"{option(what)} was given twice: {said[choice]!r} and {value!r}.", got=f"{said[choice]!r} and {value!r}", need="one name"
            )
    for role in ("score", "model"):
        if isinstance(columns.get(role), str) and columns[role] != "none":  # none: no column; to a log that says nothing
            said.setdefault(role, str(columns[role]))
    return Choices(**said)


def _source_of(log: Log, name: str | None, columns: Mapping[str, object]) -> Source:
    """A log as a source: its columns are called as the roles are, its other columns may be asked for without their prefix."""
    table = columns_table(log.columns)
    for role in ("score", "model"):
        if columns.get(role) is not None and not isinstance(columns[role], str):
            got = type(columns[role]).__name__
            raise UsageError(f"{option(role)} must be a name when the source is a log, not {with_article(got)}.", got=got, need="a name")
    asked = {role: value for role, value in columns.items() if role not in (*LOG_CHOICES, "score", "model", "by")}
    asked = {role: whole_name(table.names, value) for role, value in asked.items()}
    if log.ratio is not None and asked.get("ratio") is None:
        asked["ratio"] = log.ratio
    by = columns.get("by") or ()
    parts = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, (tuple, list)) else (by,)
    chosen = assign(table.names, {**asked, "by": tuple(whole_name(table.names, part) for part in parts)}, exact=True)
    slices = dict(zip(parts, chosen.by, strict=True)) if len(parts) == len(chosen.by) else None
    return Source(
        table,
        chosen,
        name=name,
        warnings=log.warnings,
        slices=slices,
        log=log,
        same=[column for column in SAME if column in table.names],
    )


def _refuse_choices(columns: Mapping[str, object], shown: str) -> None:
    """An option that chooses inside a log is a mistake where there is none, not something to pass over."""
    given = [what for what in LOG_CHOICES if columns.get(what) is not None]
    if given:
        raise UsageError(
            f"{option(given[0])} chooses inside the log of an evaluation tool; this is {shown}.",
            got=shown,
            need="the log of an evaluation tool",
            hint="a table is read whole: select its rows first",
        )


def _every(name: str) -> bool:
    return True


def _read(files: Sequence[Any], columns: Mapping[str, object], keep_all: bool) -> tuple[SourceTable | UnreadTable, list[str]]:
    wanted = _every if keep_all else may_use(columns)
    kind = files[0].format
    if kind in ("csv", "tsv"):
        from steelyard_old.read.files.delimited import read_delimited

        return read_delimited(files, wanted)
    if kind in ("json", "jsonl"):
        from steelyard_old.read.files.jsons import read_json

        return read_json(files, wanted), []
    from steelyard_old.read.files.columnar import read_arrow, read_parquet

    return read_parquet(files, wanted) if kind == "parquet" else (read_arrow(files, wanted), [])
