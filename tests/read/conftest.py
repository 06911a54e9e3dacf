"""What the tests of reading share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from one_engine import one_engine


@pytest.fixture(scope="module")
def shared_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """For the tests of a file that open hundreds of small ones: `pytestmark = pytest.mark.usefixtures("shared_engine")`."""
    with one_engine(tmp_path_factory.getbasetemp(), Path(tempfile.gettempdir()), Path(__file__).parents[1]) as start:
        yield start


@pytest.fixture
def own_engines(shared_engine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test of such a file that is about what a connection may see."""
    monkeypatch.setattr(duckdb, "connect", shared_engine)
