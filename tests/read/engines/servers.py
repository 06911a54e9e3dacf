"""How to start and stop the real servers of these tests: PostgreSQL, and a Spark master with two workers, all on loopback.

A server is described by a dict that fits into a JSON file, so that a process that did not start it can use and stop it. As a
program, `servers.py FILE OWNER` waits for the process OWNER to end and stops what FILE describes, if it is still there then.
"""

from __future__ import annotations

import contextlib
import glob
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PATIENCE = 90  # seconds until a server that does not answer is given up


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(ready: Callable[[], bool], what: str, log: Path) -> None:
    for _ in range(5 * PATIENCE):
        if ready():
            return
        if "Exception in thread" in log.read_text(errors="replace"):
            break
        time.sleep(0.2)
    raise RuntimeError(f"{what} did not start: {log.read_text(errors='replace')[-2000:]}")


def postgres_programs() -> Path | None:
    found = shutil.which("initdb") or next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)), None)
    return Path(found).parent if found else None


def start_postgres() -> dict[str, Any]:
    programs = postgres_programs()
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


def stop_postgres(held: dict[str, Any]) -> None:
    subprocess.run(held["stop"], check=False, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(held["home"], ignore_errors=True)


def spark_home() -> str:
    import pyspark

    return os.path.dirname(pyspark.__file__)


BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss512k"  # for a Java that lives a minute: no time spent on making it fast
OPENS = ("java.base/java.lang", "java.base/java.nio", "java.base/java.util", "java.base/sun.nio.ch", "java.base/sun.security.action")


def java() -> str | None:
    """The program, as JAVA_HOME or the path tells."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "java") if home else shutil.which("java")


def daemon(home: Path, name: str, *arguments: str, memory: str = "128m") -> int:
    """Start a daemon of Spark; its process id. Without Spark's scripts, which start a Java to find out how to start a Java."""
    program = java()
    assert program is not None
    environment = {
        **os.environ,
        "SPARK_HOME": spark_home(),
        "SPARK_SCALA_VERSION": "2.13",  # which Spark's scripts would look for
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(home / "local"),
        "PYSPARK_PYTHON": sys.executable,
    }
    flags = [*BRIEF.split(), f"-Xmx{memory}", *(flag for each in OPENS for flag in ("--add-opens", f"{each}=ALL-UNNAMED"))]
    command = [program, *flags, "-cp", os.path.join(spark_home(), "jars", "*"), *arguments]
    with open(home / f"{name}.log", "w") as log:
        outlets = [(os.POSIX_SPAWN_DUP2, log.fileno(), 1), (os.POSIX_SPAWN_DUP2, log.fileno(), 2)]
        # Not Popen: it warns of a child that outlives it, and the process that stops this one may be another.
        return os.posix_spawn(program, command, environment, file_actions=outlets, setsid=True)


def start_workers(home: Path, url: str, names: Sequence[str]) -> dict[str, int]:
    place = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "4", "--memory", "3g", "--work-dir", str(home / "work")]
    started = {name: daemon(home, name, "org.apache.spark.deploy.worker.Worker", *place, url) for name in names}
    for log in (home / f"{name}.log" for name in names):
        until(lambda log=log: "Successfully registered with master" in log.read_text(errors="replace"), "a worker of Spark", log)  # type: ignore[misc]
    return started


def start_cluster() -> dict[str, Any]:
    home = Path(tempfile.mkdtemp(prefix="steelyard-spark-"))
    url = f"spark://127.0.0.1:{(port := free_port())}"
    place = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    processes = {"master": daemon(home, "master", "org.apache.spark.deploy.master.Master", *place)}
    until(lambda: "I have been elected leader" in (home / "master.log").read_text(errors="replace"), "master", home / "master.log")
    workers = start_workers(home, url, ("worker-0", "worker-1"))
    return {"home": str(home), "url": url, "processes": {**processes, **workers}}


def stop_cluster(held: dict[str, Any]) -> None:
    for process in held["processes"].values():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, 0)
    shutil.rmtree(held["home"], ignore_errors=True)


# ---- when nobody is left to stop them ------------------------------------------------------------------------------------


def stop(held: dict[str, Any]) -> None:
    (stop_cluster if "processes" in held else stop_postgres)(held)


def guard(state: Path, owner: int) -> None:
    """Start a process that stops the server if the test run dies without doing it."""
    program = [sys.executable, __file__, str(state), str(owner)]
    os.posix_spawn(sys.executable, program, dict(os.environ), setsid=True)


def _wait_and_stop(state: Path, owner: int) -> None:
    while state.exists():
        try:
            os.kill(owner, 0)
        except ProcessLookupError:
            stop(json.loads(state.read_text()))
            state.unlink(missing_ok=True)
            return
        time.sleep(1)


if __name__ == "__main__":
    _wait_and_stop(Path(sys.argv[1]), int(sys.argv[2]))
