"""The small project, made once for tests that only look, and anew for those that change it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from web.board_samples import Project, Visitor


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """To look at."""
    from web.board_samples import make_project  # here, so that without starlette only these tests are skipped

    return make_project(tmp_path_factory.mktemp("board"))


@pytest.fixture
def own_project(tmp_path: Path) -> Project:
    """To change."""
    from web.board_samples import make_project

    return make_project(tmp_path, nights=3, items=60)


@pytest.fixture
def visitor(project: Project) -> Visitor:
    return project.visitor()
