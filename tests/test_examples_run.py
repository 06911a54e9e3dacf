"""The worked examples of examples/run: a classifier on real digits, a command, and an endpoint, as their comments say."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from evaluate.openai_server import spawned

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLES / "run", tmp_path / "examples" / "run", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def started(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "steelyard", *words], capture_output=True, text=True, env={**os.environ, **more}, timeout=300
    )


def test_digits(here: Path, steelyard: Callable[..., Any]) -> None:
    """The healthy model passes early, the broken one is found after a few hundred of 1,797 items; both say what was saved."""
    task, predict = "examples/run/digits.toml", "python:examples.run.digits:predict"
    assert steelyard("run", task, "--model", predict, "-o", "digits.jsonl").code == 0
    assert steelyard("record", "digits.jsonl", "--task", "digits", "--model", "digits", "--deterministic").code == 0
    until = ("--against", "digits", "--until", "decided", "--theta", ".02")
    broken = steelyard("run", task, "--model", "python:examples.run.digits:broken", *until, "--format", "json")
    healthy = steelyard("run", task, "--model", "python:examples.run.digits:coarse", *until)
    assert (broken.code, healthy.code) == (1, 0), broken.err + healthy.err
    run = broken.json["run"]
    assert 100 < run["n"] < 600
    assert run["n_saved"] == 1797 - run["n"]
    assert "items and saved the other" in healthy.out


def test_a_command(here: Path) -> None:
    found = sy.run("examples/run/sum.toml", f"command:{sys.executable} examples/run/adder.py", name="adder")
    assert found.measurement is not None
    assert (found.n, found.measurement.estimate) == (600, 1.0)


def test_an_endpoint(here: Path) -> None:
    with spawned(
        "--share", "429=0.05", "--share", "500=0.03", "--times", "3", "--style", "That makes {answer}.", key="sk-example"
    ) as server:
        words = ("run", "examples/run/sum.toml", "--model", "openai:m", "--base-url", server.url, "-o", "out.jsonl")
        told = started(*words, OPENAI_API_KEY="sk-example")
    assert told.returncode == 0, told.stderr
    assert len(Path("out.jsonl").read_text().splitlines()) == 600
    assert "sk-example" not in told.stdout + told.stderr + Path("out.jsonl").read_text()


def test_a_pytorch_module(here: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    found = sy.run("examples/run/digits.toml", "python:examples.run.torch_digits:predict")
    assert found.measurement is not None
    assert found.measurement.estimate is not None
    assert found.measurement.estimate > 0.9
