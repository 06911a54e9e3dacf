"""A real MLflow server on loopback, once for the test run, without telemetry: `start` and what a fixture needs of it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from read.engines.conftest import lacking, shared
from read.engines.servers import free_port, until

PACKAGES = {"mlflow": "mlflow-skinny", "flask": "Flask", "flask_cors": "Flask-CORS", "sqlalchemy": "SQLAlchemy", "alembic": "alembic"}
OURS = ("MLFLOW_", "GIT_PYTHON_")


def needs_server() -> None:
    """Skip, with the package that is missing."""
    for module, package in PACKAGES.items():
        if importlib.util.find_spec(module) is None:
            lacking(f"{package} is not installed: pip install mlflow")
    if importlib.util.find_spec("mlflow.server") is None or not _has_handlers():
        lacking("the server of MLflow is not installed: pip install mlflow")


def _has_handlers() -> bool:
    found = importlib.util.find_spec("mlflow")
    return found is not None and any((Path(place) / "server" / "js").exists() for place in found.submodule_search_locations or ())


def start() -> dict[str, Any]:
    """A server of its own in a temporary directory; its process group is killed at the end."""
    home = Path(tempfile.mkdtemp(prefix="steelyard-mlflow-"))
    port = free_port()
    words = ["server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    words += ["--backend-store-uri", f"sqlite:///{home / 'mlflow.db'}", "--artifacts-destination", str(home / "artifacts")]
    env = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    env |= {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "PYTHONWARNINGS": "ignore",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(home / "log"), os.O_WRONLY | os.O_CREAT, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    program = [sys.executable, "-m", "mlflow", *words]
    process = os.posix_spawn(sys.executable, program, env, file_actions=actions, setsid=True)
    url = f"http://127.0.0.1:{port}"
    until(lambda: _answers(url), "MLflow", home / "log")
    return {"home": str(home), "processes": {"mlflow": process}, "url": url}


def _answers(url: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
        return bool(answer.status == 200)
    return False


@pytest.fixture(scope="session")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The server: its `url`, and the directory `home` in which its database is."""
    needs_server()
    worker = str(getattr(request.config, "workerinput", {}).get("workerid", "master"))
    with shared(tmp_path_factory, worker, "mlflow", start) as state:
        yield json.loads(state.read_text())


@pytest.fixture
def mlflow_url(mlflow_server: dict[str, Any]) -> str:
    return str(mlflow_server["url"])


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """MLflow as our code uses it: no telemetry, no bars, no warnings of its packages."""
    from steelyard.mlflow_store import quiet

    with quiet():
        yield


def client(url: str) -> Any:
    with silent():
        from mlflow.tracking import MlflowClient

        return MlflowClient(tracking_uri=url)
