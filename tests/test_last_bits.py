"""What is printed and drawn does not depend on the last bits of a number: every processor shows the same (tests/last_bits.py).

Three ways to be another processor: results whose numbers are moved by one unit in the last place, points of a learning curve
that are, and the whole code with every exp, log, power and sum moved, on the examples of the guides. Where the kernels of this
machine can be turned off, `.ci/run` does that too.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every, seldom
from last_bits import moved
from stand_ins import as_printed
from steelyard.render.digits import nearest, power_of_ten, steadied, steady
from steelyard.render.formats import result_markdown, result_svg, result_text
from steelyard.render.html.page import report_html
from steelyard.results.catalogue import result_of

ROOT = Path(__file__).parents[1]
ANSWERS = sorted(path for path in (ROOT / "tests" / "samples").glob("*/answers/*.json") if path.stem != "session")
SEEDS = (1,)


def moved_in(plain: Any, seed: int) -> Any:
    """An answer in JSON with every number in it moved that is not whole."""
    if isinstance(plain, dict):
        return {key: moved_in(value, seed) for key, value in plain.items()}
    if isinstance(plain, list):
        return [moved_in(value, seed) for value in plain]
    return moved(plain, seed)


@every("seed", SEEDS)
@every("path", ANSWERS, ids=lambda path: path.stem)
def test_a_result_looks_the_same(path: Path, seed: int) -> None:
    """As text, Markdown, a page with its pictures, and a picture alone."""
    plain = json.loads(path.read_text(encoding="utf-8"))
    other = moved_in(plain, seed)
    assert other != plain or not _has_numbers(plain)
    was, now = result_of(plain), result_of(other)
    for look in (result_text, result_markdown, lambda result: report_html([result])):
        assert look(now) == look(was)
    if getattr(was, "curve", None) is not None:
        assert result_svg(now) == result_svg(was)


def _has_numbers(plain: Any) -> bool:
    if isinstance(plain, dict | list):
        return any(map(_has_numbers, plain.values() if isinstance(plain, dict) else plain))
    return isinstance(plain, float) and not plain.is_integer()


@every("seed", SEEDS)
def test_a_learning_curve_is_drawn_the_same(seed: int) -> None:
    """The points themselves moved: the fit has more digits than are shown, and dots are not decided by what is left."""
    with (ROOT / "docs" / "data" / "curve.csv").open(newline="", encoding="utf-8") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    others = [{**row, "accuracy": moved(row["accuracy"], seed)} for row in rows]
    assert others != rows
    was, now = (sy.plan_train(given, target=0.97) for given in (rows, others))
    assert result_text(now) == result_text(was)
    assert result_svg(now) == result_svg(was)
    assert report_html([now]) == report_html([was])


SOME = "compare.md or run.md:120 or measure.md:353"
DRAWN = f"{SOME} or plan.md or logs.md:33 or coming-from.md"
SLOW = "plan.md:465 or compare.md:617 or python_examples"


def pages(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    return subprocess.run(
        argv, cwd=ROOT, env={**os.environ, "PYTHONPATH": path, **env}, capture_output=True, text=True, timeout=600, check=False
    )


@as_printed
@pytest.mark.parametrize(("chosen", "least"), [(SOME, 12), *seldom((DRAWN, 30))])
def test_the_guides_print_the_same(chosen: str, least: int) -> None:
    """Every exp, log, power, sum and special function of steelyard's own code moved in the last place."""
    done = pages("-p", "last_bits", "tests/test_docs.py", "-k", f"test_shell_example and ({chosen}) and not ({SLOW})", LAST_BITS="1")
    assert done.returncode == 0, done.stdout[-5000:]
    count = re.search(r"(\d+) passed", done.stdout)
    dots = sum(line.count(".") for line in done.stdout.splitlines() if re.match(r"^[.s]+ +\[", line))
    assert (int(count[1]) if count else dots) >= least


def test_the_mover_moves() -> None:
    """By one unit in the last place, up or down; whole numbers stay; a number is always moved the same way."""
    values = np.random.default_rng(0).uniform(0, 1, 1000)
    there = moved(values, 1)
    steps = (there - values) / np.spacing(values)
    assert set(np.round(steps).tolist()) == {-1.0, 1.0}
    assert (moved(values, 1) == there).all()
    assert not (moved(values, 2) == there).all()
    assert moved(3.0) == 3.0
    code = "import last_bits; from steelyard.infer.learning.learning_curve import _GRID; print(_GRID.tobytes().hex())"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    env = {**os.environ, "LAST_BITS": "1", "PYTHONPATH": path}
    assert (
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout.strip()
        != np.geomspace(0.02, 5.0, 60).tobytes().hex()
    )


@pytest.mark.parametrize("seed", range(5))
def test_rounding_does_not_see_last_bits(seed: int) -> None:
    for x in (0.8125, 0.5, 1 / 3, 2.675, 0.95625, 17.5, 1e-7, 1000.5):
        assert steady(moved(x, seed)) == steady(x)
        assert nearest(moved(x, seed)) == nearest(x)
    for x in (0.1, 0.01, 1e-5, 0.001):
        assert power_of_ten(moved(x, seed)) == power_of_ten(x)


def test_steadied_goes_as_deep_as_the_result() -> None:
    found = sy.measure(sy.Counts.of(1, 3))
    row = steadied(found).rows[0]
    assert row.estimate == 0.333333333333
    assert found.rows[0].estimate == 1 / 3, "the result itself keeps its digits"
    assert steadied({"a": [1 / 3, (2 / 3, None)], "b": True}) == {"a": [0.333333333333, (0.666666666667, None)], "b": True}
