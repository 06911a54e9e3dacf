"""Which engine counts: the one that holds the data, DuckDB for files, or Spark for files that lie where a cluster can read them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from steelyard.errors import UsageError
from steelyard.read.roles import LOG_CHOICES, option
from steelyard.read.source import Source

ENGINES = ("auto", "duckdb", "spark")
ENGINE_CHOICES = ("engine", "master", "remote")  # not columns: who counts, and where it is
_SPARK_HINT = "steelyard measure --engine spark --master spark://host:7077 's3a://bucket/run/*.parquet' (or --remote sc://host)"


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
                f"cannot use {'master=' if remote is None else 'remote='}",
                got=f"engine={engine!r}" if "engine" in about else "no engine=",
                need="engine='spark'",
                hint=_SPARK_HINT,
            )
        if engine == "duckdb" and (elsewhere := _lies_elsewhere(data)):
            raise UsageError("cannot count on DuckDB", got=elsewhere, need="files, frames or arrays", hint="leave engine= out")
        return None
    if type(data).__module__.startswith("pyspark.sql"):
        if master is not None or remote is not None:
            raise UsageError(
                "cannot move a Spark frame", got="a frame and the address of a cluster", need="the frame alone, which has its own session"
            )
        return None
    path = _path_for_spark(data, second, columns)
    if (master is None) == (remote is None):
        got = "neither master= nor remote=" if master is None else "both master= and remote="
        raise UsageError("cannot reach Spark", got=got, need="master='spark://host:7077' or remote='sc://host'", hint=_SPARK_HINT)
    from steelyard.read.engines.spark import open_on_spark

    return open_on_spark(path, columns, master=master, remote=remote)


def _checked(about: Mapping[str, object]) -> tuple[str, str | None, str | None]:
    """Engine, master and remote, as texts."""
    for what, value in about.items():
        if not isinstance(value, str) or not value:
            raise UsageError(f"cannot use {what}=", got=repr(value), need="a name" if what == "engine" else "an address")
    engine, master, remote = (about.get(what) for what in ENGINE_CHOICES)
    if engine is not None and engine not in ENGINES:
        raise UsageError("cannot use engine=", got=repr(engine), need=f"one of {', '.join(ENGINES)}")
    return str(engine or "auto"), None if master is None else str(master), None if remote is None else str(remote)


def _lies_elsewhere(data: Any) -> str | None:
    """What data is, if another engine holds it."""
    from steelyard.read.engines.database import is_database

    if isinstance(data, str) and is_database(data):
        return "a table of another database, which counts itself" if not data.rpartition("=")[2].startswith("duckdb") else None
    return "a Spark frame" if type(data).__module__.startswith("pyspark.sql") else None


def _path_for_spark(data: Any, second: Any, columns: Mapping[str, object]) -> str:
    """The path that the workers shall read; what only this process holds cannot be counted there."""
    from steelyard.read.engines.database import is_database

    given = [what for what in LOG_CHOICES if columns.get(what) is not None]
    if given:
        hint = "logs are read here: leave engine= out, or give Spark the rows as Parquet"
        raise UsageError(f"cannot use {option(given[0])}", got="engine='spark', which reads tables", need="the log of a tool", hint=hint)
    got = None
    if second is not None or not isinstance(data, (str, os.PathLike)):
        got = f"{type(data).__name__}, which only this process holds"
    elif isinstance(data, str) and is_database(data):
        got = "a table of a database, which counts itself"
    elif os.fspath(data) == "-":
        got = "standard input"
    if got is not None:
        need = "a path that every worker can read, or a Spark frame"
        raise UsageError("cannot count on Spark", got=got, need=need, hint="leave engine= out, or write the rows to Parquet files")
    return str(os.fspath(data))
