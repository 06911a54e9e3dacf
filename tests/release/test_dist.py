"""The wheel and the sdist: what is in them, and that each installs and answers in a fresh environment.

Long, since it builds twice and fetches packages: `python -m pytest -m long tests/release`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WHEEL_ENDINGS = {".py", ".typed", ".csv", ".j2", ".css", ".js", ".svg", ".toml"}
PLACES_OF_A_MACHINE = re.compile(rb"/(?:root|home/\w+|Users/\w+|work)/")
pytestmark = pytest.mark.long


def run(*words: str | Path, cwd: Path) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "STEELYARD"))}
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=clean, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    return done.stdout


def environment(place: Path) -> Path:
    """A fresh one; its directory of programs."""
    venv.create(place, with_pip=True)
    return place / ("Scripts" if os.name == "nt" else "bin")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both files, built as a release is: the sdist from the tree, the wheel from the sdist; checked as an index checks them."""
    home = tmp_path_factory.mktemp("release")
    programs = environment(home / "tools")
    run(programs / "python", "-m", "pip", "install", "-q", "build", "twine", cwd=home)
    run(programs / "python", "-m", "build", "--outdir", home / "dist", ROOT, cwd=home)
    run(programs / "twine", "check", "--strict", *(home / "dist").iterdir(), cwd=home)
    return home / "dist"


def contents(path: Path) -> dict[str, bytes]:
    """Name without the top directory of an sdist -> bytes."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(path) as sdist:
        files = [member for member in sdist.getmembers() if member.isfile()]
        return {member.name.partition("/")[2]: sdist.extractfile(member).read() for member in files}  # type: ignore[union-attr]


def test_the_wheel_holds_the_package_and_nothing_else(dist: Path) -> None:
    (path,) = dist.glob("*.whl")
    held = contents(path)
    package = {name for name in held if ".dist-info/" not in name}
    source = {str(file.relative_to(ROOT / "src")) for file in (ROOT / "src" / "steelyard").rglob("*") if file.is_file()}
    assert package == {name for name in source if "__pycache__" not in name}
    assert {Path(name).suffix for name in package} == WHEEL_ENDINGS
    assert "steelyard/py.typed" in package
    assert any(name.endswith("licenses/LICENSE") for name in held)


def test_the_sdist_holds_what_its_tests_need(dist: Path) -> None:
    (path,) = dist.glob("*.tar.gz")
    held = contents(path)
    for name in ("README.md", "SECURITY.md", "CITATION.cff", "LICENSE", "references.bib", "constraints.txt", "constraints-lowest.txt"):
        assert name in held
    for start in ("src/steelyard/", "tests/read/", "docs/", "examples/", "benchmarks/"):
        assert any(name.startswith(start) for name in held)
    assert not [name for name in held if "__pycache__" in name or name.startswith((".venv", "site/", "dist/"))]


def test_no_path_of_a_machine_is_inside(dist: Path) -> None:
    for path in dist.iterdir():
        texts = {name: text for name, text in contents(path).items() if not name.endswith("test_dist.py")}
        assert [name for name, text in texts.items() if PLACES_OF_A_MACHINE.search(text)] == []


@pytest.mark.parametrize("pattern", ["*.whl", "*.tar.gz"])
def test_installs_and_answers_in_a_fresh_environment(dist: Path, pattern: str, tmp_path: Path) -> None:
    (path,) = dist.glob(pattern)
    programs = environment(tmp_path / "fresh")
    run(programs / "python", "-m", "pip", "install", "-q", path, cwd=tmp_path)
    version = re.match(r"steelyard-([\d.]+\d)", path.name)
    assert version is not None
    assert run(programs / "steelyard", "--version", cwd=tmp_path) == f"steelyard {version[1]}\n"
    assert "accuracy" in run(programs / "steelyard", "demo", cwd=tmp_path)
    assert "MISSING" not in run(programs / "steelyard", "doctor", cwd=tmp_path)
    assert "written: gsm8k.toml" in run(programs / "steelyard", "init", "--preset", "gsm8k", cwd=tmp_path)  # the ready-made tasks are there
    page = tmp_path / "page.html"
    run(programs / "steelyard", "measure", "--counts", "85/100", "-o", page, cwd=tmp_path)
    assert "<html" in page.read_text()  # the templates are there
    where = run(programs / "python", "-c", "import steelyard; print(steelyard.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path)
    assert sys.prefix not in where
