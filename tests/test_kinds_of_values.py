"""Every function of the package refuses a value of the wrong kind in words that name the parameter, and nothing that is of the kind."""

from __future__ import annotations

import contextlib
import datetime
import inspect
import json
import math
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every
from steelyard.errors import in_short
from steelyard.options.option import SOURCE_KEYWORDS, TAKEN, Option, check_kind, declared_of

FUNCTIONS = {name: one for name in sy.__all__ if isinstance(one := getattr(sy, name), FunctionType)}
READERS = {"read_task"}  # takes nothing but what it reads


class Strange:
    """Nothing that anybody would take."""


WRONG: dict[str, Any] = {
    "number": 5,
    "nan": math.nan,
    "text": "x",
    "bytes": b"x",
    "list": ["a", "b"],
    "mapping": {"a": 1},
    "object": Strange(),
    "array": np.array([1, 2]),
    "class": Strange,
    "date": datetime.date(2024, 1, 31),
}
# Which of these each kind takes; written down once more, so that a kind that takes too much is found.
RIGHT: dict[str, set[str]] = {
    "switch": set(),
    "choice": set(),
    "auto": set(),
    "text": {"text"},
    "secret": {"text"},
    "metric": {"text"},
    "path": {"text"},
    "number": {"number", "nan"},
    "bare number": {"number", "nan"},
    "whole number": {"number"},
    "seed": {"number"},
    "drop": {"number", "nan", "text"},
    "pair": {"list", "array"},
    "fraction": {"list", "array"},
    "list": {"list", "array"},
    "names of systems": {"list"},
    "ratio": {"text", "list"},
    "scores": {"text", "list", "array", "mapping"},
    "names": {"text", "list", "array"},
    "column": {"text", "list", "array"},
    "slices": {"text", "list", "array", "mapping"},
    "mapping": {"mapping"},
    "mappings": {"mapping"},
    "list of mappings": set(),
    "mapping or path": {"mapping", "text"},
    "column or number": {"number", "nan", "text"},
    "size": {"number", "nan", "text"},
    "date": {"date"},
    "time": {"text"},
    "history": {"text"},
    "function": {"class"},
    "anything": {*WRONG},
}
SEVERAL = {"text": {"list"}, "secret": {"list"}, "number": {"array"}, "bare number": {"array"}}  # of an option that may be repeated
OF_THE_KIND: dict[str, Any] = {
    "scores": [],
    "text": "t",
    "path": "none.csv",
    "number": 0.5,
    "mapping": {},
    "list": [],
    "choice": None,
    "anything": "none.csv",
}


def test_nothing_is_declared_that_cannot_be_given() -> None:
    """A keyword that is let through because it is declared, and then is no parameter, ends in a TypeError."""
    for name, verb in FUNCTIONS.items():
        shapes = inspect.signature(verb).parameters
        if "columns" in shapes and shapes["columns"].kind is inspect.Parameter.VAR_KEYWORD:
            assert {*declared_of(verb)} <= {*shapes, *SOURCE_KEYWORDS, "positive"}, name


def parameters(verb: Callable[..., Any]) -> Iterator[tuple[str, Option]]:
    """What it declares and takes, by name or through its last parameter."""
    taken = inspect.signature(verb).parameters
    anything = any(one.kind is one.VAR_KEYWORD for one in taken.values())
    for name, option in declared_of(verb).items():
        if name in taken or anything:
            yield name, option


def called_with(verb: Callable[..., Any], name: str, value: Any) -> Any:
    """The call with one value, and something of the kind for whatever else it needs."""
    declared = declared_of(verb)
    given: list[Any] = []
    named: dict[str, Any] = {name: value}
    for one in inspect.signature(verb).parameters.values():
        if one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        filled = declared[one.name].choices[0] if one.name in declared and declared[one.name].choices else "none.csv"
        if one.name in declared and not declared[one.name].choices:
            filled = OF_THE_KIND[declared[one.name].taken]
        if one.kind is one.POSITIONAL_ONLY:
            given.append(filled)
        elif one.name != name:
            named[one.name] = filled
    return verb(*given, **named)


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@every("name", sorted({*FUNCTIONS} - READERS))
def test_a_value_of_the_wrong_kind_is_refused_in_words(name: str) -> None:
    verb, tried = FUNCTIONS[name], 0
    for parameter, option in parameters(verb):
        for kind, value in WRONG.items():
            if kind in RIGHT[option.taken] | (SEVERAL.get(option.taken, set()) if option.repeat else set()):
                continue
            with pytest.raises(sy.UsageError, match=rf"\b{parameter}\b") as told:
                called_with(verb, parameter, value)
            assert told.value.need, (parameter, kind)
            assert len(str(told.value)) < 400, (parameter, kind)
            tried += 1
    assert tried


def test_every_function_and_every_kind_is_looked_at() -> None:
    assert [name for name, verb in FUNCTIONS.items() if name not in READERS and not declared_of(verb)] == []
    assert {*RIGHT} == {*TAKEN, "choice"}
    used = {option.taken for name, verb in FUNCTIONS.items() if name not in READERS for option in declared_of(verb).values()}
    assert sorted({*RIGHT} - used) == [], "kinds that nothing takes"


@every("name", sorted({*FUNCTIONS} - READERS))
def test_each_keyword_has_a_declaration(name: str) -> None:
    """A parameter that nobody declares is one that nobody looks at."""
    signature = inspect.signature(FUNCTIONS[name])
    named = [one.name for one in signature.parameters.values() if one.kind is one.KEYWORD_ONLY]
    assert [one for one in named if one not in declared_of(FUNCTIONS[name])] == []


@every(
    ("kind", "values"),
    {
        "switch": [True, False, None, 0, 1, np.True_, np.False_],
        "path": ["a.csv", Path("a.csv")],
        "number": [5, 0.05, "0.05", np.float64(0.05), np.float32(0.5), np.int64(5), np.array(0.5), True, math.inf],
        "seed": [0, np.int64(5), np.array(5), None],
        "drop": [0.01, "1%", np.float64(0.01)],
        "pair": [(0, 1), [0.0, 1.0], np.array([0, 1])],
        "list": [["a"], ("a",), {"a"}, np.array(["a"]), iter(["a"]), (one for one in "ab"), range(3), {"a": 1}.keys()],
        "names": ["a", ["a"], ("a", "b"), np.array(["a"]), (one for one in "ab")],
        "column": ["a", [1, 2], np.array([1, 2]), range(3), None],
        "slices": ["a", ["a"], {"a": np.array([1, 2])}],
        "mapping": [{}, {"a": 1}, MappingProxyType({"a": 1}), None],
        "time": ["2024-01-31", datetime.datetime(2024, 1, 31, tzinfo=datetime.UTC)],
        "function": [print, lambda: None, Strange],
    }.items(),
)
def test_whatever_is_of_the_kind_is_taken(kind: str, values: list[Any]) -> None:
    for value in values:
        check_kind(Option(name="given", takes=kind, help=""), "given", value)


def test_several_values_are_each_of_the_kind() -> None:
    several = Option(name="timeout", type=float, repeat=True, help="")
    for value in (5, [5, None], np.array([1, 2]), (one for one in [1, 2])):
        check_kind(several, "timeout", value)
    with pytest.raises(sy.UsageError, match="timeout must be a number, not 'x'"):
        check_kind(several, "timeout", [5, "x"])


@every(
    ("ask", "parameter"),
    [
        (lambda: sy.measure(sy.Counts.of(8, 10), draws=np.array(0.5)), "draws"),  # which has an __index__ that fails
        (lambda: sy.compare_preferences(np.array([1, 2]), 3, 4), "wins"),
        (lambda: sy.plan_estimate(expected=0.8, width=0.1, batch=np.array(0.5)), "batch"),
        (lambda: sy.measure([{"truth": 1, "prediction": 1}], truth=np.array([1, 2])), "truth"),
        (lambda: sy.with_reference_answers("run"), "result"),
    ],
)
def test_what_only_looks_like_it_is_of_the_kind_is_refused_too(ask: Callable[[], Any], parameter: str) -> None:
    with pytest.raises(sy.UsageError, match=parameter):
        ask()


ROWS = [{"id": i, "score": float(i % 4 > 0)} for i in range(40)]
OTHER = [{"id": i, "score": float(i % 5 > 0)} for i in range(40)]
CURVE = [{"n": n, "score": 0.9 - 0.5 * n**-0.5} for n in (50, 100, 200, 400, 800)]
TASK = {
    "task": {"name": "t", "data": [{"id": i, "q": str(i), "y": "1"} for i in range(20)], "input": "{q}", "truth": "y", "scorer": "exact"}
}
ANSWERED: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "measure": ((ROWS,), {}),
    "compare": ((ROWS, OTHER), {}),
    "rank": ((ROWS, OTHER, ROWS), {}),
    "compare_preferences": ((10, 5, 3), {}),
    "record": ((ROWS,), {"task": "t", "model": "m", "update": True, "reason": "another"}),
    "check": ((OTHER,), {"task": "t", "model": "m"}),
    "run": ((TASK, lambda _: "1"), {"name": "m", "max_calls": 20}),
    "plan_detect": ((), {"sigma": 50, "theta": 3}),
    "plan_estimate": ((), {"metric": "accuracy", "expected": 0.9, "width": 0.1}),
    "plan_train": ((CURVE,), {"target": 0.89}),
}
NUMBERS = {"number", "bare number", "whole number", "seed", "drop", "column or number", "size", "pair", "fraction"}


@every("name", sorted(ANSWERED))
def test_a_number_that_is_none_is_refused_in_a_sentence(name: str) -> None:
    """Of hundreds and thousands of digits, which no float holds and Python does not even write, infinite, none, and NumPy's True."""
    verb, (given, named) = FUNCTIONS[name], ANSWERED[name]
    sy.record(ROWS, task="t", model="m", update=True, reason="each case begins with it")
    tried = 0
    for parameter, option in parameters(verb):
        if option.taken not in NUMBERS:
            continue
        pair = option.taken in ("pair", "fraction")
        for number in (10**400, -(10**400), 10**5000, 1e308, math.inf, math.nan, np.True_):
            try:
                with contextlib.suppress(sy.SteelyardError):
                    verb(*given, **{**named, parameter: (0, number) if pair else number})
            except Exception as fault:
                fault.add_note(f"{name}({parameter}={in_short(number)})")
                raise
            tried += 1
    assert tried


@every("name", ["measure", "compare", "check", "record"])
def test_a_switch_of_numpy_is_one_of_python(name: str) -> None:
    given, named = ANSWERED[name]
    sy.record(ROWS, task="t", model="m", update=True, reason="each case begins with it")
    json.dumps(FUNCTIONS[name](*given, **named, higher_is_better=np.True_).to_dict())


def test_numbers_as_text_count_as_numbers() -> None:
    assert sy.compare_preferences(10, 5, 3, margin="0.05") == sy.compare_preferences(10, 5, 3, margin=0.05)


def test_a_secret_is_not_shown() -> None:
    with pytest.raises(sy.UsageError) as told:
        sy.run("none.toml", "openai:m", key=b"sk-hunter2")
    assert "hunter2" not in str(told.value)
    assert "hunter2" not in told.value.got
    with pytest.raises(sy.UsageError, match="directory") as told:
        sy.list_references(directory=["https://bob:hunter2@" + "host" * 20])  # type: ignore[arg-type]
    assert "hunter2" not in str(told.value)


def test_the_function_is_the_same_to_whoever_looks_at_it() -> None:
    assert repr(sy.measure).startswith("<function measure at ")
    assert sy.measure.__module__ == "steelyard.questions.measure.measure"
    assert list(inspect.signature(sy.list_references).parameters) == ["task", "directory", "config"]
    assert "def list_references(" in inspect.getsource(sy.list_references)
    assert pickle.loads(pickle.dumps(sy.measure)) is sy.measure
