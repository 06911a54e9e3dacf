"""Every command and every Python line of the README and of the new guides runs, and prints what stands there."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard_old

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = re.findall(r"^\$ (steelyard .+)\n((?:.*\n)*?)```", README, re.MULTILINE)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The files of the examples."""
    for name in ("digits_logistic.csv", "digits_naive_bayes.csv"):
        shutil.copy(Path(steelyard_old.__file__).parent / "data" / name, tmp_path)
    shutil.copytree(ROOT / "docs" / "data", tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize(("command", "printed"), SHELL, ids=[command for command, _ in SHELL])
def test_shell(command: str, printed: str, desk: Path) -> None:
    command, _, cut = command.partition(" | head -n ")
    run = subprocess.run([sys.executable, "-m", *command.split()], cwd=desk, capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines(keepends=True)[: int(cut) if cut else None]
    assert "".join(lines).rstrip() == printed.rstrip(), run.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/measure.md", "docs/compare.md"])
def test_python(page: str) -> None:
    test = doctest.DocTestParser().get_doctest((ROOT / page).read_text(encoding="utf-8"), {}, page, page, 0)
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
