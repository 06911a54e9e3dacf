"""A real PostgreSQL server and a real Spark cluster (a master and two workers) on loopback, once for the whole test run.

Under pytest-xdist the first worker that needs a server starts it, the others find it in a file, and the last one stops it.
Without the programs the tests are skipped with the reason; with STEELYARD_REQUIRE_ALL=1 that is a failure. All tests of Spark
are one group of xdist, so that one process has the one session, whose Java serves Spark Connect as well.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import secrets
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from read.engines.servers import BRIEF, free_port, guard, java, postgres_programs, start_cluster, start_postgres, stop


def lacking(reason: str) -> None:
    """Skip, or fail where everything must run."""
    if os.environ.get("STEELYARD_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def shared(factory: pytest.TempPathFactory, worker: str, name: str, start: Callable[[], dict[str, Any]]) -> Iterator[Path]:
    """What one process starts and all use: the path of a file that describes it. Counted, so that the last user stops it."""
    base = factory.getbasetemp()
    root = base if worker == "master" else base.parent
    state, lock = root / f"{name}.json", root / f"{name}.lock"
    with locked(lock):
        new = not state.exists()
        held = {"users": 0, **start()} if new else json.loads(state.read_text())
        state.write_text(json.dumps({**held, "users": held["users"] + 1}))
        if new:
            guard(state, os.getpid() if worker == "master" else os.getppid())
    try:
        yield state
    finally:
        with locked(lock):
            held = json.loads(state.read_text())
            if held["users"] > 1:
                state.write_text(json.dumps({**held, "users": held["users"] - 1}))
            else:
                state.unlink()
                stop(held)


@pytest.fixture(scope="session")
def worker_name(request: pytest.FixtureRequest) -> str:
    return str(getattr(request.config, "workerinput", {}).get("workerid", "master"))


# ---- PostgreSQL --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_name: str) -> Iterator[str]:
    """The URL of a database of this process's own, without ?table=."""
    if postgres_programs() is None:
        lacking("PostgreSQL is not installed: apt-get install postgresql")
    if importlib.util.find_spec("psycopg") is None:
        lacking("psycopg is not installed: pip install 'psycopg[binary]'")
    import psycopg

    with shared(tmp_path_factory, worker_name, "postgres", start_postgres) as state:
        url = json.loads(state.read_text())["url"]
        own = f"tests_{os.getpid()}"
        with psycopg.connect(url, autocommit=True) as con:
            con.execute(f"CREATE DATABASE {own}")
        yield url.removesuffix("postgres") + own


# ---- Spark -------------------------------------------------------------------------------------------------------------


class Cluster:
    """A master and two workers, one of which can be killed; Spark then puts its executors on the other."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.url: str = json.loads(state.read_text())["url"]

    def kill_worker(self) -> None:
        """Kill a worker and what it started."""
        held = json.loads(self.state.read_text())
        os.killpg(held["processes"]["worker-0"], signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(held["processes"]["worker-0"], 0)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, worker_name: str) -> Iterator[Cluster]:
    if importlib.util.find_spec("pyspark") is None:
        lacking("pyspark is not installed: pip install 'steelyard[spark]'")
    if java() is None:
        lacking("Java is not installed: apt-get install openjdk-17-jre-headless")
    with shared(tmp_path_factory, worker_name, "spark", start_cluster) as state:
        yield Cluster(state)


@pytest.fixture(scope="session")
def connect_port() -> int:
    return free_port()


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, connect_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session, small, with the driver on loopback; tables of a few rows are not worth compiled code.

    On the cluster if any test of this run needs that, else in the driver alone: five more Javas take half a minute.
    """
    from steelyard.read.engines.spark import spark_session

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": BRIEF,
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": BRIEF,
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.default.parallelism": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.eventLog.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(connect_port),
    }
    needed = any("cluster" in getattr(item, "fixturenames", ()) for item in request.session.items)
    if not needed:
        if importlib.util.find_spec("pyspark") is None:
            lacking("pyspark is not installed: pip install 'steelyard[spark]'")
        if java() is None:
            lacking("Java is not installed: apt-get install openjdk-17-jre-headless")
    master = request.getfixturevalue("cluster").url if needed else "local[2]"
    session = spark_session(master=master, settings=settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect_url(spark: Any, connect_port: int) -> str:
    """The address of Spark Connect, for a process of its own: a classic session and Spark Connect do not live in one."""
    if importlib.util.find_spec("grpc_status") is None:
        lacking("the client of Spark Connect is not installed: pip install 'pyspark[connect]'")
    return f"sc://127.0.0.1:{connect_port}"


# ---- the same rows on every engine -------------------------------------------------------------------------------------

TYPES = {
    "sqlite": {"int": "BIGINT", "float": "DOUBLE", "text": "TEXT", "bool": "BOOLEAN"},
    "duckdb": {"int": "BIGINT", "float": "DOUBLE", "text": "VARCHAR", "bool": "BOOLEAN"},
    "postgresql": {"int": "BIGINT", "float": "DOUBLE PRECISION", "text": "TEXT", "bool": "BOOLEAN"},
    "spark": {"int": "bigint", "float": "double", "text": "string", "bool": "boolean"},
}
Rows = Sequence[tuple[Any, ...]]


class Engine:
    """Where a test puts rows, and from where it opens them."""

    def __init__(self, name: str, home: Path, place: Any) -> None:
        self.name, self.home, self.place = name, home, place
        self._frames: dict[str, Any] = {}
        self._writer: Any = None  # of DuckDB, which takes longer to start than to write
        self.schema = f"test_{secrets.token_hex(4)}"
        if name == "postgresql":
            self.execute(f"CREATE SCHEMA {self.schema}")

    def put(self, table: str, types: dict[str, str], rows: Rows) -> str:
        """Make a table of columns (name -> int, float, text or bool); its name."""
        if self.name == "spark":
            from pyspark.sql.types import StructField, StructType, _parse_datatype_string

            fields = [StructField(name, _parse_datatype_string(TYPES["spark"][kind])) for name, kind in types.items()]
            self._frames[table] = self.place.createDataFrame(list(rows), StructType(fields))
            return table
        named = self.named(table)
        declared = ", ".join(f"{self.quoted(name)} {TYPES[self.name][kind]}" for name, kind in types.items())
        with self.connect() as con:
            con.execute(f"CREATE TABLE {named} ({declared})")
            if rows and self.name == "duckdb":  # which takes long for rows one by one
                columns = ", ".join(f"unnest(${place + 1})" for place in range(len(types)))
                con.execute(f"INSERT INTO {named} SELECT {columns}", [list(column) for column in zip(*rows, strict=True)])
            elif rows:
                marks = ", ".join(["%s" if self.name == "postgresql" else "?"] * len(types))
                con.cursor().executemany(f"INSERT INTO {named} VALUES ({marks})", list(rows))
            con.commit()
        return table

    def pair(self, types: dict[str, str], a: Rows, b: Rows, **columns: Any) -> tuple[Any, Any]:
        """Two tables of the same columns: both made, then both opened, because an open one may keep writers away."""
        self.put("a", types, a)
        self.put("b", types, b)
        return self.open("a", **columns), self.open("b", **columns)

    def named(self, table: str) -> str:
        """A table as SQL calls it; on the shared server, in a schema of this test's own."""
        return f"{self.schema}.{self.quoted(table)}" if self.name == "postgresql" else self.quoted(table)

    def open(self, table: str, **columns: Any) -> Any:
        if self.name == "spark":
            from steelyard.read.engines.spark import spark_source

            return spark_source(self._frames[table], columns, name=table)
        self._let_go()
        from steelyard.read.engines.database import open_database

        return open_database(self.url(table), columns)

    def url(self, table: str) -> str:
        self._let_go()
        base = self.place if self.name == "postgresql" else f"{self.name}:///{quote(str(self.place))}"
        return f"{base}?table={quote(self.named(table))}"

    def execute(self, *statements: str) -> None:
        with self.connect() as con:
            for statement in statements:
                con.execute(statement)
            con.commit()

    @contextlib.contextmanager
    def connect(self) -> Iterator[Any]:
        """A connection that may write, for the test."""
        if self.name == "sqlite":
            import sqlite3 as driver
        elif self.name == "duckdb":
            import duckdb as driver  # type: ignore[no-redef]
        else:
            import psycopg as driver  # type: ignore[no-redef]
        con = self._writer or driver.connect(str(self.place))
        if self.name == "duckdb":
            self._writer = con
            con.begin()  # type: ignore[attr-defined]
        try:
            yield con
        except BaseException:
            self._let_go()
            raise
        finally:
            if self._writer is None:
                con.close()

    def _let_go(self) -> None:
        """Without the connection that writes, which would keep readers away."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    @staticmethod
    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'


ON_SPARK = pytest.mark.needs_system
DATABASES = ["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.needs_system)]


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Each engine but Spark, whose queries take a second: for what another test asks of Spark too."""
    return engine_of(request.param, request, tmp_path)


@pytest.fixture(params=[*DATABASES, pytest.param("spark", marks=[ON_SPARK, pytest.mark.long])])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Each engine; Spark with the long tests, because the text of a query is the same for all."""
    return engine_of(request.param, request, tmp_path)


@pytest.fixture(params=[*DATABASES, pytest.param("spark", marks=ON_SPARK)])
def any_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Each engine, in every build."""
    return engine_of(request.param, request, tmp_path)


def engine_of(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    if name == "postgresql":
        return Engine(name, tmp_path, request.getfixturevalue("postgres"))
    if name == "spark":
        return Engine(name, tmp_path, request.getfixturevalue("spark"))
    return Engine(name, tmp_path, tmp_path / f"rows.{name}")
