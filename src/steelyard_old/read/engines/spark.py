"""Spark frames and files on a cluster: counted by its workers, through a classic master or Spark Connect."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from steelyard_old.errors import SourceError, UsageError, with_article
from steelyard_old.read.engines.connections import guarded
from steelyard_old.read.engines.dialects import SPARK
from steelyard_old.read.engines.tables import SqlTable
from steelyard_old.read.files.paths import run_name, split_name
from steelyard_old.read.roles import assign
from steelyard_old.read.source import Source

PATIENCE = 10.0  # seconds for an address to answer
_HOSTS = re.compile(r"(spark|sc)://([^/;]+)")
_OPEN_OPTIONS = frozenset({"use_ssl", "user_id", "user_agent", "session_id", "x-databricks-cluster-id"})  # of an address, no secrets
_REMOTES: dict[str, Any] = {}  # sessions through Spark Connect: two sources of one address must share one, to be joined


def spark_session(*, master: str | None = None, remote: str | None = None, settings: Mapping[str, str] | None = None) -> Any:
    """A session on a classic master (spark://host:7077, local[2], yarn) or through Spark Connect (sc://host:15002).

    One per address and process. An address that no one answers at is an error after seconds: Spark itself would try for minutes.
    """
    if (master is None) == (remote is None):
        raise UsageError(
            "Spark needs one address: master='spark://host:7077' or remote='sc://host'.",
            got="both or neither",
            need="master='spark://host:7077' or remote='sc://host'",
        )
    address = str(remote or master)
    try:
        from pyspark.sql import SparkSession

        if remote is not None:
            with quiet():
                import_module("pyspark.sql.connect.session")
    except ImportError:
        need = "the package pyspark" if remote is None else "the packages of pyspark[connect]"
        raise SourceError(
            "The Spark client is not installed.", got="no Spark client", need=need, hint='pip install "steelyard[spark]"'
        ) from None
    known: Any = _REMOTES.get(address) if remote else SparkSession.getActiveSession()
    if known is not None and remote and not known.is_stopped:
        return known
    if known is not None and not remote and known.sparkContext.master != master:
        raise UsageError(
            f"This process already has a Spark session on {shown_address(known.sparkContext.master)}; it can use only one cluster "
            "at a time.",
            got=f"a session on {shown_address(known.sparkContext.master)} in this process",
            need="one at a time",
            hint="stop that session first, or pass its frames",
        )
    knock(address)
    builder: Any = SparkSession.builder
    builder = builder.remote(remote) if remote else builder.master(master).appName("steelyard").config("spark.ui.enabled", "false")
    if master is not None:
        builder = builder.config("spark.ui.showConsoleProgress", "false")
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    what = f"anything from Spark at {shown_address(address)}"
    with quiet():
        session = guarded(builder.create if remote else builder.getOrCreate, faults(), what, secrets_in(address), "a running cluster")
    if remote:
        _REMOTES[address] = session
    return session


def knock(address: str) -> None:
    """Refuse the address of a master or a Connect server that cannot be reached. Others (local, yarn, k8s) are Spark's to find."""
    found = _HOSTS.match(address)
    if found is None:
        if address.startswith(("spark:", "sc:")):
            need = "spark://host:7077 or sc://host:15002"
            raise UsageError(
                f"The address of Spark must be {need}, not {shown_address(address)!r}.",
                got=f"the address {shown_address(address)!r}",
                need=need,
            )
        return
    said = ""
    for host in found[2].rpartition("@")[2].split(","):  # masters that stand by for one another are joined by commas
        name, port = _host_and_port(host, 7077 if found[1] == "spark" else 15002)
        try:
            socket.create_connection((name, port), timeout=PATIENCE).close()
            return
        except (OSError, UnicodeError) as fault:
            said = getattr(fault, "strerror", None) or ("no answer" if isinstance(fault, TimeoutError) else str(fault))
    hint = "is the address right, is the cluster running, does a firewall stand between?"
    raise SourceError(f"Cannot reach Spark at {shown_address(address)}: {said}.", got=said, need="a master or a Connect server", hint=hint)


def _host_and_port(text: str, usual: int) -> tuple[str, int]:
    """host, host:port or [address]:port.

    >>> _host_and_port("[::1]:7077", 15002), _host_and_port("head", 15002)
    (('::1', 7077), ('head', 15002))
    """
    found = re.fullmatch(r"\[([^\]]*)\](?::(\d+))?|([^:]*)(?::(\d+))?", text)
    name, port = (found[1] or found[3] or "", found[2] or found[4]) if found else ("", None)
    if not name or (port is not None and not 0 < int(port) < 65536):
        raise UsageError(f"The address of Spark must end in host:port, not {text!r}.", got=f"the address {text!r}", need="host:port")
    return name, int(port or usual)


def faults() -> tuple[type[Exception], ...]:
    """What the two clients raise: classes of Spark, of the bridge to Java where it is used, and of a connection that is gone."""
    from pyspark.errors import PySparkException

    faults: tuple[type[Exception], ...] = (PySparkException, OSError, RuntimeError)
    with contextlib.suppress(ImportError):
        faults = (*faults, import_module("py4j.protocol").Py4JError)
    return faults


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without what Spark's client says about the version of a package that we do not ask it to use."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def shown_address(text: str) -> str:
    """An address without what may be a token or a password.

    >>> shown_address("sc://host:443/;token=secret"), shown_address("spark://host:7077")
    ('sc://host:443/', 'spark://host:7077')
    """
    return without_secrets(text.partition(";")[0])


def without_secrets(path: str) -> str:
    """A path without the keys that may stand before its host: s3a://key:secret@bucket/run."""
    return re.sub(r"(?<=://)[^/@]*@", "", path)


def secrets_in(address: str) -> list[str]:
    """The parts of an address that no message may hold: what stands before an @, and the options of Spark Connect.

    >>> secrets_in("s3a://key:secret@bucket/a.parquet"), secrets_in("sc://host/;token=abc;use_ssl=true")
    (['key:secret', 'secret'], ['abc'])
    """
    found = re.search(r"://([^/@]*)@", address)
    pair = [each for each in (found[1], found[1].partition(":")[2]) if each] if found else []
    options = [part.partition("=") for part in address.partition(";")[2].split(";")]
    return pair + [value for key, _, value in options if value and key not in _OPEN_OPTIONS]


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
        raise UsageError(
            f"A Spark frame must be a pyspark DataFrame, not {with_article(type(frame).__name__)}.",
            got=type(frame).__name__,
            need="a pyspark DataFrame",
        )
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
            f"Spark reads one kind of file at a time ({', '.join(sorted(_ENDINGS))}), not {', '.join(sorted(endings))}.",
            got=f"endings {', '.join(sorted(endings))}",
            need=f"one of {', '.join(sorted(_ENDINGS))}",
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
