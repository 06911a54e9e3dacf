"""Inner pytests without their imports: one process loads pytest, NumPy, DuckDB and steelyard once, and forks for every run.

Each run is a process of its own, with its own directory, environment, arguments and output; only the plugin itself is left to be
imported there, by pytest. Run as a script, this file is that process: it reads a request a line and answers with the exit code.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LOADED = ("numpy", "duckdb")
OURS = (
    "questions.record.record",
    "questions.guard.check",
    "questions.run.run",
    "estimate.from_source",
    "read.open_source",
    "render.formats",
    "render.pages.verdict",
)
SECONDS = 300.0
_server: subprocess.Popen[str] | None = None


def inner_pytest(words: Sequence[str], *, cwd: Path, env: dict[str, str], out: Path, load: Sequence[str] = ()) -> tuple[int, str]:
    """`python -m pytest WORDS` in a process forked from one that has its imports behind it: the exit code, and all that was printed."""
    global _server
    if _server is None or _server.poll() is not None:
        names = {**env, "PYTHONPATH": env["PYTHONPATH"].rpartition(os.pathsep)[2]}
        _server = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=names)
    assert _server.stdin is not None
    assert _server.stdout is not None
    _server.stdin.write(json.dumps({"words": list(words), "cwd": str(cwd), "env": env, "out": str(out), "load": list(load)}) + "\n")
    _server.stdin.flush()
    answer = _server.stdout.readline()
    assert answer, "the process that forks has ended"
    return int(answer), out.read_text(encoding="utf-8")


def _run(request: dict[str, Any]) -> int:
    """In the forked process: what `python -m pytest` would see."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[:0] = [request["cwd"], *request["env"]["PYTHONPATH"].split(os.pathsep)]
    sys.dont_write_bytecode = True
    sys.argv = ["pytest", *request["words"]]
    file = os.open(request["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    null = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, null), (1, file), (2, file)):
        os.dup2(source, target)
    import pytest

    return int(pytest.main(request["words"]))


def _waited(child: int) -> int:
    import signal

    def end(*_: object) -> None:
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    _, status = os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return os.waitstatus_to_exitcode(status)


def serve() -> None:
    sys.path.remove(str(Path(__file__).parent))  # where a script lies is no place to import from
    from _pytest.config import default_plugins

    for name in (*LOADED, *(f"_pytest.{each}" for each in default_plugins), *(f"steelyard_old.{each}" for each in OURS)):
        importlib.import_module(name)
    gc.freeze()  # what is loaded is never collected: pytest collects several times a session
    for line in sys.stdin:
        request = json.loads(line)
        for name in request["load"]:
            importlib.import_module(name)
        child = os.fork()
        if child == 0:
            code = 70
            with contextlib.suppress(BaseException):
                code = _run(request)
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
        print(_waited(child), flush=True)


if __name__ == "__main__":
    serve()
