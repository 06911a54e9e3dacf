"""Spark frames and files on a cluster: counted by its workers, through a classic master or Spark Connect."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import SourceError, UsageError
from steelyard.read.engines.connections import guarded
from steelyard.read.engines.dialects import SPARK
from steelyard.read.engines.spark_session import faults, quiet, secrets_in, spark_session, without_secrets
from steelyard.read.engines.tables import SqlTable
from steelyard.read.files.paths import run_name, split_name
from steelyard.read.roles import assign
from steelyard.read.source import Source

_KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "int"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("string", "char", "varchar", "void"), "text"),
    **dict.fromkeys(("decimal", "date", "timestamp", "timestamp_ntz"), "printed"),
    "boolean": "bool",
}
_ENDINGS = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


class SparkPlace:
    """A Spark session, asked in SQL. A failed worker is Spark's to replace: it runs the lost tasks again, and counts stay exact."""

    dialect = SPARK

    def __init__(self, session: Any, what: str, secrets: Sequence[str] = ()) -> None:
        self.key, self._session, self._what, self._secrets = f"spark {id(session)}", session, what, tuple(secrets)
        self._types: dict[tuple[str, str], str] = {}

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        def collected() -> list[tuple[Any, ...]]:
            answer = self._session.sql(sql, args=list(values)) if values else self._session.sql(sql)
            return [tuple(row) for row in answer.collect()]

        with quiet():
            rows: list[tuple[Any, ...]] = guarded(collected, faults(), self._what, self._secrets)
        return rows

    def learn(self, relation: str, frame: Any) -> list[str]:
        """The columns of a frame that is known by a name."""
        fields = guarded(lambda: list(frame.schema.fields), faults(), self._what, self._secrets)
        for field in fields:
            self._types[relation, field.name] = _KINDS.get(field.dataType.typeName().partition("(")[0].partition(" ")[0], "other")
        return [str(field.name) for field in fields]

    def kind(self, relation: str, name: str) -> str:
        return self._types[relation, name]

    def close(self) -> None:
        """The session belongs to the caller."""


def is_spark_frame(data: object) -> bool:
    """A DataFrame of Spark, classic or Connect, told without importing Spark."""
    return type(data).__module__.startswith("pyspark.sql") and type(data).__name__ == "DataFrame"


def spark_source(frame: Any, columns: Mapping[str, object], *, name: str | None = None, secrets: Sequence[str] = ()) -> Source:
    """A Spark frame as a source. It is known to the session by a name of ours as long as the source lives; rows stay there."""
    if not is_spark_frame(frame):
        raise UsageError("cannot use this as a Spark frame", got=type(frame).__name__, need="a pyspark DataFrame")
    session, what = frame.sparkSession, "the Spark frame"
    view = f"steelyard_{uuid.uuid4().hex}"
    place = SparkPlace(session, what, secrets)
    guarded(lambda: frame.createOrReplaceTempView(view), faults(), what, secrets)

    def let_go() -> None:
        with contextlib.suppress(Exception):  # the session may have ended before us
            session.catalog.dropTempView(view)

    relation = SPARK.quoted(view)
    names = place.learn(relation, frame)
    table = SqlTable(place, relation, names, what=what, let_go=let_go)
    chosen = assign(table.names, columns)
    table.keep([*chosen.roles.values(), *chosen.by, *(chosen.ratio or ())])
    return Source(table, chosen, name=name)


def open_on_spark(text: str, columns: Mapping[str, object], *, master: str | None = None, remote: str | None = None) -> Source:
    """Files (a path, a pattern, name=path) read and counted by a cluster. Relative paths must mean the same to every worker."""
    name, path = split_name(text)
    session = spark_session(master=master, remote=remote)
    return spark_source(spark_files(session, [path]), columns, name=name or run_name(without_secrets(path)), secrets=secrets_in(path))


def spark_files(session: Any, paths: Sequence[str]) -> Any:
    """Files as a frame, read by the workers: Parquet, CSV, TSV, JSON Lines; patterns and s3a://, hdfs://, file:// as Spark knows them."""
    endings = {os.path.splitext(re.sub(r"\.(gz|zst|bz2)\Z", "", path.rstrip("/*")))[1].lower() or ".parquet" for path in paths}
    formats = {_ENDINGS.get(ending) for ending in endings}
    if len(endings) != 1 or None in formats:
        raise SourceError(
            "cannot read the files on Spark", got=f"endings {', '.join(sorted(endings))}", need=f"one of {', '.join(sorted(_ENDINGS))}"
        )
    kind = str(formats.pop())
    reader = session.read.format(kind)
    if kind == "csv":  # texts as they are: a type that Spark guesses would change 01 into 1
        separator = "\t" if ".tsv" in endings else ","
        reader = reader.options(header="true", inferSchema="false", mode="FAILFAST", escape='"', sep=separator, encoding="UTF-8")
    elif kind == "json":
        reader = reader.options(mode="FAILFAST")
    with quiet():
        return guarded(
            lambda: reader.load(list(paths)), faults(), "the files on Spark", [each for path in paths for each in secrets_in(path)]
        )
