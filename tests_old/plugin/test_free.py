"""A session that does not use the fixture pays nothing and sees nothing."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("numpy", "scipy", "duckdb", "click", "yaml", "pandas", "sklearn")


def test_nothing_is_loaded_or_printed(project: Any) -> None:
    project.write(
        "test_it.py",
        f"""
        import sys

        def test_it():
            assert "steelyard_old.pytest_plugin" in sys.modules
            ours = sorted(name for name in sys.modules if name.split(".")[0].startswith("steelyard"))
            assert ours == ["steelyard_old", "steelyard_old.pytest_plugin", "steelyard_old.results", "steelyard_old.results.display", "steelyard_old.version"]
            assert not [name for name in {HEAVY!r} if name in sys.modules]
        """,
    )
    answer = project.pytest(fresh=True)
    assert answer.code == 0, answer.out
    assert "accuracy" not in answer.out
    assert "steelyard" not in answer.out


def test_our_modules_are_not_compiled_once_more_for_their_assertions(project: Any) -> None:
    """As pytest asks for it where the package is installed: whatever brings a plugin is rewritten as a whole."""
    project.write("conftest.py", "import pytest\npytest.register_assert_rewrite('steelyard_old.tally', 'runs')\nimport runs, steelyard_old.tally")
    project.write(
        "test_it.py",
        """
        import runs, steelyard_old.tally.counts

        def test_it():
            ours = (steelyard_old.tally, steelyard_old.tally.counts)
            assert [type(module.__spec__.loader).__name__ for module in ours] == ["SourceFileLoader"] * 2
            assert type(runs.__spec__.loader).__name__ == "AssertionRewritingHook"
        """,
    )
    answer = project.pytest(fresh=True)
    assert answer.code == 0, answer.out


@pytest.mark.long
def test_the_plugin_adds_only_itself_to_what_pytest_loads() -> None:
    """Beside pytest it needs a few modules of the standard library, and of ours only its own file."""
    code = "import pytest, sys; before = set(sys.modules); import steelyard_old.pytest_plugin; print(*(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    new = {name.split(".")[0] for name in run.stdout.split()} - {"steelyard_old"}
    assert new <= sys.stdlib_module_names


def test_options_and_marker_are_documented(project: Any) -> None:
    answer = project.pytest("--help")
    names = ("update", "update-new", "reason", "dir", "report", "inconclusive", "history")
    assert [name for name in names if f"--accuracy-{name}" not in answer.out] == []
    assert "@pytest.mark.accuracy(task=" in project.pytest("--markers").out


def test_the_entry_point_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["pytest11"]
    assert declared == {"steelyard": "steelyard_old.pytest_plugin"}
    installed = importlib.metadata.entry_points(group="pytest11", name="steelyard")
    assert {point.value for point in installed} <= set(declared.values())
