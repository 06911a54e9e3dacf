"""A small project of its own for each test file, with references, in which an inner pytest runs.

Other plugins are not loaded and ours is named, so that the tests do not depend on what is installed; `test_free.py` looks at
the entry point.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import steelyard_old
from plugin.warm import inner_pytest

SOURCE = Path(steelyard_old.__file__).parents[1]  # what these tests import is what the inner pytest imports
OURS = ("CI", "INTEGRATION_TEST", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
N = 400
RUNS = f"""
def base():
    return [{{"id": i, "score": int(i % 10 > 0)}} for i in range({N})]

def worse(lost=16):
    right = [row["id"] for row in base() if row["score"]][:lost]
    return [dict(row, score=0) if row["id"] in right else row for row in base()]
"""


@dataclass(frozen=True)
class Answer:
    """What an inner pytest printed, and its exit code."""

    code: int
    out: str

    def lines(self, start: str) -> list[str]:
        return [line for line in self.out.splitlines() if line.startswith(start)]


@dataclass(frozen=True)
class Project:
    """A directory with `runs.py` (a healthy run of 400 items, 360 right, and a worse one) and what a test adds.

    load: modules that its tests import, loaded once for all its runs.
    """

    path: Path
    load: tuple[str, ...] = ()

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    def record(self, model: str = "m", task: str = "t", rows: Any = None, **options: Any) -> None:
        from steelyard_old.questions.record.record import record

        options = {"directory": self.path / "references", "deterministic": True} | options
        record(self.rows() if rows is None else rows, task=task, model=model, **options)

    def rows(self, lost: int = 0) -> list[dict[str, Any]]:
        names: dict[str, Any] = {}
        exec(RUNS, names)
        return list(names["worse"](lost))

    def entries(self, task: str = "t", directory: str = "references") -> dict[str, float | None]:
        """What is on record: a value for each model."""
        from steelyard_old.reference.task_file import load_task_file

        path = self.path / directory / f"{task}.yaml"
        return {entry.model: entry.value for entry in load_task_file(path).entries} if path.exists() else {}

    def history(self, task: str = "t") -> list[dict[str, Any]]:
        path = self.path / "references" / f"{task}.history.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def pytest(self, *words: str, cwd: Path | None = None, fresh: bool = False, **env: str) -> Answer:
        """An inner pytest; fresh: in an interpreter of its own, which has loaded nothing."""
        names = {name: value for name, value in os.environ.items() if name not in OURS and not name.startswith(("PYTEST", "GITHUB"))}
        names |= {
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": f"{self.path}{os.pathsep}{SOURCE}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **env,
        }
        words = ("-p", "steelyard_old.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers", *words)
        there = cwd or self.path
        if fresh:
            run = subprocess.run(
                [sys.executable, "-m", "pytest", *words], cwd=there, env=names, capture_output=True, text=True, check=False, timeout=300
            )
            return Answer(run.returncode, run.stdout + run.stderr)
        with tempfile.TemporaryDirectory() as place:
            return Answer(*inner_pytest(words, cwd=there, env=names, out=Path(place) / "out", load=self.load))


@pytest.fixture(scope="module")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Project]:
    def make() -> Project:
        project = Project(tmp_path_factory.mktemp("project"))
        project.write("runs.py", RUNS)
        return project

    return make


@pytest.fixture
def project(new_project: Callable[[], Project]) -> Project:
    return new_project()
