"""The small project, made once for tests that only look, and anew for those that change it."""

from __future__ import annotations

from pathlib import Path

import pytest

from web.board_samples import Project, Visitor, make_project


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """To look at."""
    return make_project(tmp_path_factory.mktemp("board"))


@pytest.fixture
def own_project(tmp_path: Path) -> Project:
    """To change."""
    return make_project(tmp_path, nights=3, items=60)


@pytest.fixture
def visitor(project: Project) -> Visitor:
    return project.visitor()
