"""Texts that are stored come through in a locale without UTF-8, or are refused: never half-read, never an internal error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import steelyard

SOURCE = Path(steelyard.__file__).parents[1]
POSIX = pytest.mark.skipif(os.name == "nt", reason="arguments are text there")


def asked(where: Path, *words: str | bytes, module: str = "steelyard") -> subprocess.CompletedProcess[bytes]:
    """The command in the C locale, with everything off that would help it out of there."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(where), "PYTHONPATH": str(SOURCE)}
    environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command: list[str | bytes] = [sys.executable, "-m", module, *(word.encode() if isinstance(word, str) else word for word in words)]
    return subprocess.run(command, cwd=where, env=environment, capture_output=True, check=False, timeout=120)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "run.jsonl").write_text("".join(json.dumps({"id": i, "score": i % 2}) + "\n" for i in range(30)))
    return tmp_path


@POSIX
def test_every_text_that_is_stored_is_stored_as_it_was_typed(here: Path) -> None:
    made = asked(
        *(here, "record", "run.jsonl", "--task", "t", "--model", "größe", "--spec", "extra_acc_spec=ü"),
        *("--protocol", "kind=é", "--reason", "schöner \U0001f600"),
    )
    assert made.returncode == 0, made.stderr
    entry = yaml.safe_load((here / "references/t.yaml").read_text("utf-8"))["größe"][0]
    assert (entry["extra_acc_spec"], entry["protocol"], entry["reason"]) == ("ü", {"kind": "é"}, "schöner \U0001f600")
    for words in (
        ("approve", "t", "größe", "--spec", "extra_acc_spec=ü", "--reason", "日本"),
        ("rename", "t", "größe", "ñ", "--reason", "é"),
    ):
        done = asked(here, "references", *words)
        assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in (here / "references/t.history.jsonl").read_text("utf-8").splitlines()]
    assert [(change["action"], change["model"], change["reason"]) for change in said] == [
        ("record", "größe", "schöner \U0001f600"),
        ("approve", "größe", "日本"),
        ("rename", "ñ", "é"),
    ]


@POSIX
@pytest.mark.parametrize("option", ["--reason", "--model", "--protocol", "--spec"])
def test_bytes_that_are_no_text_are_refused(here: Path, option: str) -> None:
    words: list[str | bytes] = ["record", "run.jsonl", "--task", "t", "--model", "m"]
    given = b"\xff\xfe" if option in ("--reason", "--model") else b"extra_acc_spec=\xff"
    if option == "--model":
        words = words[:-2]
    found = asked(here, *words, option, given)
    assert found.returncode == 3, found.stderr
    assert f"{option} is not UTF-8 text".encode() in found.stderr
    assert not (here / "references").exists()


@POSIX
def test_a_task_that_the_system_cannot_name_is_an_error_with_its_reason(here: Path) -> None:
    found = asked(here, "record", "run.jsonl", "--task", "größe", "--model", "m")
    assert found.returncode == 3, found.stderr
    assert b"Traceback" not in found.stderr


@POSIX
def test_the_reason_of_a_pytest_session_is_text_as_well(here: Path) -> None:
    (here / "test_it.py").write_text(
        "def test_it(accuracy):\n    accuracy.check([{'id': i, 'score': 1} for i in range(30)], task='t', model='m')\n"
    )
    words = ("-p", "steelyard.pytest_plugin", "--accuracy-update-new", "--accuracy-reason", "größer", "test_it.py")
    found = asked(here, *words, module="pytest")
    assert found.returncode == 0, found.stdout
    assert json.loads((here / "references/t.history.jsonl").read_text("utf-8"))["reason"] == "größer"
