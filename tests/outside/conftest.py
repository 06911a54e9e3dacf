"""The questions of `asked.py`, asked once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from outside.asked import Answered, answers, files


@pytest.fixture(scope="session")
def asked_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outside")


@pytest.fixture(scope="session")
def answered(asked_in: Path) -> dict[str, Answered]:
    return answers(asked_in)


@pytest.fixture(scope="session")
def written(asked_in: Path, answered: dict[str, Answered]) -> dict[str, str]:
    """The files that were written besides the answers, for others to read."""
    return files(asked_in)
