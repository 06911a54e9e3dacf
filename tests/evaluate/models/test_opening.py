"""The doors to a model: texts and objects, and what is said where none opens."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cases import every
from steelyard.errors import UsageError
from steelyard.evaluate.asking.asks import Answer, Ask, Case
from steelyard.evaluate.models.callables import CallableModel
from steelyard.evaluate.models.command import CommandModel
from steelyard.evaluate.models.opening import DOORS, default_name, model_of
from steelyard.evaluate.models.predictions import Predictions

ASK = Ask(case=Case(id="1", input="hello", truth=None, row={}))

MODULE = """
import json
def predict(text):
    return text.upper()
async def later(text):
    return text[::-1]
class Parrot:
    def generate(self, prompt):
        return prompt
class Needs:
    def __init__(self, weights): ...
class Holder:
    inner = staticmethod(predict)
parrot = Parrot()
number = 5
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current directory, under a name of its own for each test."""
    name = f"model_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / f"{name}_broken.py").write_text("raise RuntimeError('no weights')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return name


def test_python_functions_objects_and_classes(module: str) -> None:
    for attribute, said in {"predict": "HELLO", "later": "olleh", "Parrot": "hello", "parrot": "hello", "Holder.inner": "HELLO"}.items():
        model = model_of(f"python:{module}:{attribute}")
        assert model.ask([ASK])[0].said == said
        assert model.name == f"{module}:{attribute}"
        assert model.identity["name"] == f"{module}:{attribute}"
        model.close()
    assert model_of(f"python:{module}:predict", name="mine").name == "mine"
    assert sys.path[0] == os.getcwd()


def test_a_changed_module_is_another_model(module: str) -> None:
    before = model_of(f"python:{module}:predict").identity
    assert before == model_of(f"python:{module}:predict").identity
    path = Path(f"{module}.py")
    path.write_text(path.read_text() + "\n# changed")
    assert before != model_of(f"python:{module}:predict").identity


def test_python_that_cannot_be_used(module: str) -> None:
    with pytest.raises(UsageError, match=r"has no 'predit'; it has .*predict.*Did you mean predict\?"):
        model_of(f"python:{module}:predit")
    with pytest.raises(UsageError, match=r"Cannot import 'no_such_module_x'.*run it where no_such_module_x can be imported"):
        model_of("python:no_such_module_x:f")
    with pytest.raises(UsageError, match=r"RuntimeError: no weights.*fix the module"):
        model_of(f"python:{module}_broken:f")
    with pytest.raises(UsageError, match=r"as pkg\.mod:name"):
        model_of(f"python:{module}")
    with pytest.raises(UsageError, match=r"failed when it was called without arguments.*weights"):
        model_of(f"python:{module}:Needs")
    with pytest.raises(UsageError, match="it is an int"):
        model_of(f"python:{module}:number")
    with pytest.raises(UsageError, match="it is a module"):
        model_of(f"python:{module}:json")


def test_commands_and_files() -> None:
    command = model_of(f"command:{sys.executable} -c pass", batch=4, timeout=9.0)
    assert isinstance(command, CommandModel)
    assert (command.batch, command.timeout, command.name) == (4, 9.0, f"{sys.executable} -c pass")
    assert command.identity["argv"] == [sys.executable, "-c", "pass"]
    file = model_of("file:preds.jsonl", rows=[{"id": 1, "prediction": "x"}])
    assert isinstance(file, Predictions)
    assert file.ask([ASK])[0].said == "x"
    assert file.name == "preds.jsonl"
    with pytest.raises(UsageError, match=r"The model 'file:preds\.jsonl' needs the rows of the file, read by the"):
        model_of("file:preds.jsonl")


def test_endpoints() -> None:
    model = model_of(
        "openai:org/m:free", base_url="http://127.0.0.1:9/v1", key="sk-very-secret", sampling={"temperature": 0}, concurrency=3
    )
    assert (model.name, model.concurrency, model.batch) == ("org/m:free", 3, 1)
    assert model.identity["sampling"] == {"temperature": 0}
    assert "sk-very-secret" not in repr(model) + repr(model.identity)
    model.close()
    with pytest.raises(UsageError, match=r"The model 'm' needs the base URL of an OpenAI-compatible server\..*base_url="):
        model_of("openai:m")


@every(
    ("text", "hint"),
    [
        ("gpt-4", "openai:gpt-4"),
        ("preds.jsonl", "file:preds.jsonl"),
        ("my_module:predict", "python:my_module:predict"),
        ("azure:m", ""),
        ("python:", "something must follow"),
        ("", ""),
    ],
)
def test_an_unknown_door_lists_them_all(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        model_of(text)
    assert all(door in str(raised.value) for door in DOORS.values())
    assert hint in str(raised.value)


def test_default_names() -> None:
    assert [default_name(each) for each in ("openai:m", "python:a.b:c", "command:./predict --x", "file:p.jsonl")] == [
        "m",
        "a.b:c",
        "./predict --x",
        "p.jsonl",
    ]


# ---- objects ---------------------------------------------------------------------------------------------------------


class Own:
    """A model already."""

    name, identity, batch, concurrency = "own", {"kind": "own"}, 1, 1

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        return [Answer(said="own") for _ in asks]

    def close(self) -> None: ...


def test_objects() -> None:
    own = Own()
    assert model_of(own) is own
    function = model_of(len)
    assert isinstance(function, CallableModel)
    assert function.name == "builtins:len"
    assert function.ask([ASK])[0].said == 5
    for wrong in (None, 5, [1], {"a": 1}):
        with pytest.raises(UsageError, match="not a function, an object with generate"):
            model_of(wrong)


def test_a_pytorch_module_is_told_from_a_function() -> None:
    fake: Any = type("Module", (), {"__module__": "torch.nn.modules.module", "__call__": lambda self, x: x})
    with pytest.raises(UsageError, match=r"Net is a PyTorch module; a model must be a function that takes inputs.*batched"):
        model_of(type("Net", (fake,), {})())


def test_doors_are_light() -> None:
    """A command or a function needs neither NumPy nor DuckDB; both are seconds on a cold disk."""
    code = "import sys; from steelyard.evaluate.models.opening import model_of; model_of(len); model_of('command:ls'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "duckdb", "pandas"} & set(loaded)
