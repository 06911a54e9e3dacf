"""What the questions of `asked.py` left behind; the answers themselves are in `tests/conftest.py`, for other folders too."""

from __future__ import annotations

from pathlib import Path

import pytest

from outside.asked import Answered, files


@pytest.fixture(scope="session")
def written(asked_in: Path, answered: dict[str, Answered]) -> dict[str, str]:
    """The files that were written besides the answers, for others to read."""
    return files(asked_in)
