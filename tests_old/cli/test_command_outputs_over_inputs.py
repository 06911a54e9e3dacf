"""Answers written over what they were made from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard_old as sy
from answers import Command

TASK = '[task]\nname = "t"\ndata = "data.jsonl"\nid = "id"\ninput = "{q}"\ntruth = "truth"\nscorer = "exact"\n'


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steelyard: Command) -> Path:
    """A task with its data and predictions, a finished run out.jsonl, and its reference."""
    monkeypatch.chdir(tmp_path)
    Path("task.toml").write_text(TASK)
    Path("data.jsonl").write_text("".join(json.dumps({"id": i, "q": str(i), "truth": str(i)}) + "\n" for i in range(40)))
    Path("preds.jsonl").write_text("".join(json.dumps({"id": i, "prediction": str(i % 35)}) + "\n" for i in range(40)))
    assert steelyard("run", "task.toml", "--model", "file:preds.jsonl", "--against", "none", "-o", "out.jsonl").code == 0
    assert steelyard("record", "out.jsonl", "--task", "t", "--model", "m").code == 0
    return tmp_path


def test_a_source_on_standard_input_is_not_overwritten(there: Path) -> None:
    before = Path("out.jsonl").read_bytes()
    with open("out.jsonl", "rb") as redirected:
        done = subprocess.run(
            [sys.executable, "-m", "steelyard_old", "measure", "-", "-o", "out.jsonl"], stdin=redirected, capture_output=True, check=False
        )
    assert Path("out.jsonl").read_bytes() == before
    assert done.returncode == 3


@pytest.mark.parametrize("words", [["measure", "out.jsonl"], ["check", "out.jsonl", "--task", "t", "--model", "m"]], ids=lambda w: w[0])
def test_the_notes_of_a_run_are_not_overwritten(there: Path, steelyard: Command, words: list[str]) -> None:
    """OUT.run is read beside OUT: how the run stopped, its protocol, its ratio."""
    before = Path("out.jsonl.run").read_bytes()
    done = steelyard(*words, "-o", "out.jsonl.run")
    assert Path("out.jsonl.run").read_bytes() == before
    assert done.code == 3


def suite(output: str = "") -> None:
    more = f', output = "{output}"' if output else ""
    Path("suite.toml").write_text(f'[[checks]]\ntask = "t"\nmodel = "m"\nrun = {{task = "task.toml", model = "file:preds.jsonl"{more}}}\n')


def test_the_data_of_a_task_in_a_suite_is_not_overwritten(there: Path, steelyard: Command) -> None:
    suite()
    before = Path("data.jsonl").read_bytes()
    done = steelyard("run", "--suite", "suite.toml", "--answer", "data.jsonl")
    assert Path("data.jsonl").read_bytes() == before
    assert done.code == 3


def test_an_output_in_a_suite_does_not_replace_the_reference(there: Path, steelyard: Command) -> None:
    suite("references/t.yaml")
    before = Path("references/t.yaml").read_bytes()
    done = steelyard("run", "--suite", "suite.toml")
    assert Path("references/t.yaml").read_bytes() == before
    assert done.code == 3


def test_rows_of_a_run_in_python_do_not_replace_a_reference(there: Path) -> None:
    before = Path("references/t.yaml").read_bytes()
    with pytest.raises(sy.SteelyardError):
        sy.run("task.toml", "file:preds.jsonl", output="references/t.yaml", against="none")
    assert Path("references/t.yaml").read_bytes() == before
