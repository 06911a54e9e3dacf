"""The questions of `asked.py`, asked once for all tests of this folder."""

from __future__ import annotations

import pytest

from outside.asked import Answered, answers


@pytest.fixture(scope="session")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    return answers(tmp_path_factory.mktemp("outside"))
