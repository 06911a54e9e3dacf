"""A SQLite file and a database of a real PostgreSQL server, each empty; the server is the one of the tests of sources."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from read.engines.conftest import lacking, shared
from read.engines.servers import postgres_programs, start_postgres


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a PostgreSQL server's first database."""
    if postgres_programs() is None:
        lacking("PostgreSQL is not installed: apt-get install postgresql")
    if importlib.util.find_spec("psycopg") is None:
        lacking("psycopg is not installed: pip install 'psycopg[binary]'")
    worker = str(getattr(request.config, "workerinput", {}).get("workerid", "master"))
    with shared(tmp_path_factory, worker, "postgres", start_postgres) as state:
        yield str(json.loads(state.read_text())["url"])


@pytest.fixture
def postgres_url(server: str) -> str:
    """The URL of a database of this test's own."""
    import psycopg

    own = f"history_{os.getpid()}_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as con:
        con.execute(f"CREATE DATABASE {own}")
    return server.removesuffix("postgres") + own


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'runs.db'}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.needs_system)])
def url(request: pytest.FixtureRequest) -> str:
    """The same tests on either."""
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"))
