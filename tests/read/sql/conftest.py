"""A real PostgreSQL server and a real Spark cluster (a master and two workers) on loopback, once for the whole test run.

Under pytest-xdist the first worker that needs a server starts it, the others find it in a file, and the last one stops it.
Without the programs the tests are skipped with the reason; with STEELYARD_REQUIRE_ALL=1 that is a failure.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

PATIENCE = 90  # seconds until a server that does not answer is given up


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
def shared(
    factory: pytest.TempPathFactory, worker: str, name: str, start: Callable[[], dict[str, Any]], stop: Callable[[dict[str, Any]], None]
) -> Iterator[Path]:
    """What one process starts and all use: the path of a file that describes it. Counted, so that the last user stops it."""
    base = factory.getbasetemp()
    root = base if worker == "master" else base.parent
    state, lock = root / f"{name}.json", root / f"{name}.lock"
    with locked(lock):
        held = json.loads(state.read_text()) if state.exists() else {"users": 0, **start()}
        state.write_text(json.dumps({**held, "users": held["users"] + 1}))
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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(ready: Callable[[], bool], what: str, log: Path) -> None:
    for _ in range(5 * PATIENCE):
        if ready():
            return
        time.sleep(0.2)
    raise RuntimeError(f"{what} did not start: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="session")
def worker_name(request: pytest.FixtureRequest) -> str:
    return str(getattr(request.config, "workerinput", {}).get("workerid", "master"))


# ---- PostgreSQL --------------------------------------------------------------------------------------------------------


def _postgres_programs() -> Path | None:
    found = shutil.which("initdb") or next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)), None)
    return Path(found).parent if found else None


def _start_postgres() -> dict[str, Any]:
    programs = _postgres_programs()
    assert programs is not None
    home = Path(tempfile.mkdtemp(prefix="steelyard-postgres-"))
    password, port = secrets.token_hex(8), free_port()
    (home / "password").write_text(password)
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        owner = pwd.getpwnam("postgres")
        for path in (home, home / "password"):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        as_user = ["runuser", "-u", "postgres", "--"]
    made = [
        "--auth=scram-sha-256",
        f"--pwfile={home / 'password'}",
        "--username=tester",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
    ]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home} -c fsync=off -c max_connections=30"
    ctl = [*as_user, str(programs / "pg_ctl"), "-D", str(home / "data"), "-w"]
    quiet: dict[str, Any] = {
        "check": True,
        "cwd": home,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.PIPE,
        "stdin": subprocess.DEVNULL,
    }
    subprocess.run([*as_user, str(programs / "initdb"), "-D", str(home / "data"), *made], **quiet)
    # With a pipe the server would hold it open and the call would never end.
    subprocess.run([*ctl, "-l", str(home / "log"), "-o", options, "start"], **{**quiet, "stderr": subprocess.DEVNULL})
    return {
        "home": str(home),
        "stop": [*ctl, "-m", "immediate", "stop"],
        "url": f"postgresql://tester:{password}@127.0.0.1:{port}/postgres",
    }


def _stop_postgres(held: dict[str, Any]) -> None:
    subprocess.run(held["stop"], check=False, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(held["home"], ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_name: str) -> Iterator[str]:
    """The URL of a database of this process's own, without ?table=."""
    if _postgres_programs() is None:
        lacking("PostgreSQL is not installed: apt-get install postgresql")
    if importlib.util.find_spec("psycopg") is None:
        lacking("psycopg is not installed: pip install 'psycopg[binary]'")
    import psycopg

    with shared(tmp_path_factory, worker_name, "postgres", _start_postgres, _stop_postgres) as state:
        url = json.loads(state.read_text())["url"]
        own = f"tests_{os.getpid()}"
        with psycopg.connect(url, autocommit=True) as con:
            con.execute(f"CREATE DATABASE {own}")
        yield url.removesuffix("postgres") + own


# ---- Spark -------------------------------------------------------------------------------------------------------------


def _spark_home() -> str:
    import pyspark

    return os.path.dirname(pyspark.__file__)


def _daemon(home: Path, name: str, *arguments: str) -> int:
    """Start a daemon of Spark; its process id."""
    environment = {
        **os.environ,
        "SPARK_HOME": _spark_home(),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(home / "local"),
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
    }
    program = os.path.join(_spark_home(), "bin", "spark-class")
    with open(home / f"{name}.log", "w") as log:
        outlets = [(os.POSIX_SPAWN_DUP2, log.fileno(), 1), (os.POSIX_SPAWN_DUP2, log.fileno(), 2)]
        # Not Popen: it warns of a child that outlives it, and the process that stops this one may be another.
        return os.posix_spawn(program, [program, *arguments], environment, file_actions=outlets, setsid=True)


def _start_workers(home: Path, url: str, names: Sequence[str]) -> dict[str, int]:
    place = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "4", "--memory", "3g", "--work-dir", str(home / "work")]
    started = {name: _daemon(home, name, "org.apache.spark.deploy.worker.Worker", *place, url) for name in names}
    for log in (home / f"{name}.log" for name in names):
        until(lambda log=log: "Successfully registered with master" in log.read_text(errors="replace"), "a worker of Spark", log)  # type: ignore[misc]
    return started


def _start_cluster() -> dict[str, Any]:
    home = Path(tempfile.mkdtemp(prefix="steelyard-spark-"))
    url = f"spark://127.0.0.1:{(port := free_port())}"
    place = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    processes = {"master": _daemon(home, "master", "org.apache.spark.deploy.master.Master", *place)}
    until(lambda: "I have been elected leader" in (home / "master.log").read_text(errors="replace"), "master", home / "master.log")
    workers = _start_workers(home, url, ("worker-0", "worker-1"))
    return {"home": str(home), "url": url, "processes": {**processes, **workers}}


def _stop_cluster(held: dict[str, Any]) -> None:
    for process in held["processes"].values():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, 0)
    shutil.rmtree(held["home"], ignore_errors=True)


class Cluster:
    """A master and two workers, one of which can be killed and is then replaced."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.url: str = json.loads(state.read_text())["url"]

    def kill_worker(self) -> None:
        held = json.loads(self.state.read_text())
        os.kill(held["processes"]["worker-0"], signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(held["processes"]["worker-0"], 0)

    def replace_worker(self) -> None:
        with locked(self.state.with_suffix(".lock")):
            held = json.loads(self.state.read_text())
            held["processes"] |= _start_workers(Path(held["home"]), self.url, ("worker-0",))
            self.state.write_text(json.dumps(held))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, worker_name: str) -> Iterator[Cluster]:
    if importlib.util.find_spec("pyspark") is None:
        lacking("pyspark is not installed: pip install pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        lacking("Java is not installed: apt-get install openjdk-17-jre-headless")
    with shared(tmp_path_factory, worker_name, "spark", _start_cluster, _stop_cluster) as state:
        yield Cluster(state)


@pytest.fixture(scope="session")
def spark(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on the cluster, small, with the driver on loopback."""
    from steelyard.read.sql.spark import spark_session

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.eventLog.enabled": "false",
    }
    session = spark_session(master=cluster.url, settings=settings)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


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
        self.schema = f"test_{secrets.token_hex(4)}"
        if name == "postgresql":
            self.execute(f"CREATE SCHEMA {self.schema}")

    def put(self, table: str, types: dict[str, str], rows: Rows) -> str:
        """Make a table of columns (name -> int, float, text or bool); its name."""
        if self.name == "spark":
            from pyspark.sql.types import StructField, StructType, _parse_datatype_string

            fields = [StructField(name, _parse_datatype_string(TYPES["spark"][kind])) for name, kind in types.items()]
            self._frames[table] = self.place.createDataFrame(list(rows), StructType(fields)).repartition(3)
            return table
        named = self.named(table)
        declared = ", ".join(f"{self.quoted(name)} {TYPES[self.name][kind]}" for name, kind in types.items())
        self.execute(f"CREATE TABLE {named} ({declared})")
        with self.connect() as con:
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
            from steelyard.read.sql.spark import spark_source

            return spark_source(self._frames[table], columns, name=table)
        from steelyard.read.sql.database import open_database

        return open_database(self.url(table), columns)

    def url(self, table: str) -> str:
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
        con = driver.connect(str(self.place))
        try:
            if self.name == "duckdb":
                con.begin()  # type: ignore[attr-defined]
            yield con
        finally:
            con.close()

    @staticmethod
    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'


@pytest.fixture(params=["sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.needs_system) for name in ("postgresql", "spark"))])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    name = request.param
    if name == "postgresql":
        return Engine(name, tmp_path, request.getfixturevalue("postgres"))
    if name == "spark":
        return Engine(name, tmp_path, request.getfixturevalue("spark"))
    return Engine(name, tmp_path, tmp_path / f"rows.{name}")
