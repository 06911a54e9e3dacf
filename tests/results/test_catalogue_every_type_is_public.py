"""Whatever a result holds has a public name, `sy.NAME`. None is loaded before it is asked for."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import pkgutil
import subprocess
import sys
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Any, get_args

import steelyard as sy
import steelyard.results
from steelyard.results.base import CLASSES, Plain, ResultPart, ResultWithAnswer

SPACE = {**vars(typing), "Mapping": collections.abc.Mapping, "Sequence": collections.abc.Sequence}


def held(kind: type, seen: set[type]) -> None:
    """The class, and every dataclass in the annotations of its fields and properties."""
    if kind in seen:
        return
    seen.add(kind)
    space = {**SPACE, **CLASSES}
    for above in kind.__mro__:
        if above.__module__.startswith("steelyard"):
            space |= vars(sys.modules[above.__module__])
    told = [each.type for each in dataclasses.fields(kind)]
    told += [one.fget.__annotations__.get("return", None) for one in vars(kind).values() if isinstance(one, property) and one.fget]
    for each in told:
        for found in _classes(eval(each, space) if isinstance(each, str) else each):
            held(found, seen)


def _classes(annotation: Any) -> Iterator[type]:
    if inspect.isclass(annotation) and dataclasses.is_dataclass(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _classes(part)


def modules() -> list[Any]:
    return [import_module(f"steelyard.results.{info.name}") for info in pkgutil.iter_modules(steelyard.results.__path__)]


def test_every_type_that_a_result_holds_is_public() -> None:
    assert modules()
    seen: set[type] = set()
    for kind in (getattr(sy, name) for name in sy.__all__):
        if inspect.isclass(kind) and dataclasses.is_dataclass(kind) and issubclass(kind, Plain):
            held(kind, seen)
    assert {each.__name__ for each in seen} >= {"Curve", "Answered", "Finding", "Ranked", "JudgedSlice", "VerdictDetails", "Interval"}
    lost = [each.__name__ for each in seen if each.__name__ not in sy.__all__ or getattr(sy, each.__name__) is not each]
    assert sorted(lost) == []


def test_every_class_of_a_module_of_results_is_public() -> None:
    """Those that no annotation names as well: a part that stands in a mapping, a result that no function of today gives."""
    for module in modules():
        for name, kind in vars(module).items():
            own = inspect.isclass(kind) and kind.__module__ == module.__name__ and issubclass(kind, Plain)
            if own and kind not in (Plain, ResultPart, ResultWithAnswer):  # what results are made by
                assert name in sy.__all__, name


FUNCTIONS = [name for name in sy.__all__ if inspect.isfunction(getattr(sy, name))]


def test_annotations_of_public_functions_can_be_read() -> None:
    """Also by who looks for the classes that they name: every class of ours in them has a public name."""
    assert len(FUNCTIONS) > 30
    lost = set()
    for name in FUNCTIONS:
        hints = typing.get_type_hints(getattr(sy, name))
        assert "return" in hints, name
        lost |= {kind.__name__ for hint in hints.values() for kind in _classes(hint) if kind.__module__.startswith("steelyard")}
    assert sorted(lost - {*sy.__all__}) == []


def test_what_a_task_and_counts_hold_is_public() -> None:
    for name in ("Scoring", "Prompting", "Shots", "Template", "Case", "Scored", "Flips"):
        assert getattr(sy, name).__name__ == name
        assert name in sy.__all__, name


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = (
        "import sys, steelyard as sy\n"
        "assert 'steelyard.results.plan' not in sys.modules\n"
        "assert sy.Curve.__name__ == 'Curve'\n"
        "assert 'steelyard.results.verdict' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
