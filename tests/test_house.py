"""The arrows: a room imports only what lies below it. And both houses answer under one roof."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard as sy

SOURCE = Path(sy.__file__).parent
LEVELS = (
    ("base", "version"),
    ("data",),
    ("metrics",),
    ("engines",),
    ("options",),
    ("declared", "settings"),
    ("read", "show", "results"),
    ("verbs",),
    ("__init__", "__main__", "command"),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


def test_imports_point_downwards() -> None:
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in [node.module or ""] if isinstance(node, ast.ImportFrom) else []:
                other = name.split(".")[1] if name.startswith("steelyard.") else room
                if LEVEL[other] > LEVEL[room]:
                    wrong.append(f"{path.relative_to(SOURCE)} imports {name}")
    assert not wrong


def test_the_package_costs_nothing_to_import() -> None:
    code = "import sys, steelyard; print(*sorted({'numpy', 'scipy', 'duckdb', 'click', 'steelyard_old'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_a_verb_that_has_not_moved_is_answered_by_the_old_house() -> None:
    run = subprocess.run([sys.executable, "-m", "steelyard", "plan", "detect", "--no-such"], capture_output=True, text=True, check=False)
    assert run.returncode == 3
    assert "No such option --no-such" in run.stderr
    with pytest.raises(sy.SteelyardError, match=r"n must be .* not -1"):
        sy.plan_detect(sigma=50, n=-1)
