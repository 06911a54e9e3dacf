"""The public names of `import steelyard`: none vanishes, no parameter changes its kind or default, no result loses an attribute.

Names and parameters may be added; a parameter that is added has a default, and stands behind those that are given by position.
The names are in `signatures.json`; `python tests/outside/write.py` writes it anew.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import steelyard as sy
from cases import every
from outside.snapshot import ADDED, MEANT, kept

Plain = dict[str, Any]
BY_POSITION = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")
SPECIAL = {  # what a caller uses without naming it: print(m), len(m), m["accuracy"], with ...
    *("__str__", "__bool__", "__float__", "__len__", "__iter__", "__getitem__", "__contains__", "__call__", "__enter__", "__exit__"),
    *("_repr_html_", "_repr_markdown_"),
}
PLAIN_DEFAULTS = (bool, int, float, str, tuple, type(None))


def now() -> Plain:
    """The names as they are."""
    found = {name: getattr(sy, name) for name in sorted(sy.__all__)}
    classes = {**found, "accuracy (the fixture)": _fixture()}
    return {
        "names": sorted(found),
        "functions": {name: parameters(what) for name, what in found.items() if inspect.isfunction(what)},
        "classes": {name: class_of(what) for name, what in classes.items() if inspect.isclass(what)},
        "reached": {name: class_of(type(what)) for name, what in reached().items()},
    }


def _fixture() -> type:
    from steelyard.pytest_session import Accuracy

    return Accuracy


def reached() -> dict[str, Any]:
    """What has no public name of its own, but is met behind one: by the way to it."""
    measured = sy.measure(sy.Counts.of(85, 100))
    compared: Any = sy.compare(sy.JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76))
    board: Any = sy.rank(*({"id": range(40), "score": each * 10} for each in ([1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 1, 1])))
    return {
        "measure(...).interval": measured.interval,
        "compare(...).baseline": compared.baseline,
        "compare(...).difference": compared.difference,
        "compare(...) of three": board,
        "compare(...) of three .rows[0]": board.rows[0],
        "posterior(Counts.of(85, 100), 'accuracy')": sy.posterior(sy.Counts.of(85, 100), "accuracy"),
        "posterior(Counts.binary(tp=31, fp=5, fn=2), 'f1')": sy.posterior(sy.Counts.binary(tp=31, fp=5, fn=2), "f1"),
    }


def parameters(what: Callable[..., Any], *, bound: bool = True) -> list[Plain]:
    """Name, kind and default of each, in order; without the first of a method that is not bound."""
    known = list(inspect.signature(what).parameters.values())[0 if bound else 1 :]
    return [{"name": each.name, "kind": each.kind.name, "default": _default(each.default)} for each in known]


def _default(value: Any) -> str | None:
    """As it is written; None: it must be given."""
    if value is inspect.Parameter.empty:
        return None
    return repr(value) if isinstance(value, PLAIN_DEFAULTS) else f"a {type(value).__name__}"


def class_of(cls: type) -> Plain:
    """What it is besides itself, its values (fields, properties, attributes) and its methods with their parameters."""
    values, methods = set[str](), dict[str, list[Plain]]()
    for above in reversed([each for each in cls.__mro__ if each.__module__.startswith("steelyard")]):
        for name, what in _members(above):
            if inspect.isfunction(what):
                methods[name] = [] if name in SPECIAL else parameters(what, bound=False)  # Python itself gives those theirs
            elif isinstance(what, classmethod | staticmethod):
                methods[name] = parameters(getattr(above, name))
            else:
                values.add(name)
    above_it = {each.__name__ for each in cls.__mro__ if each.__module__ == "builtins" or each.__name__ in sy.__all__}
    return {"is": sorted(above_it - {"object", cls.__name__}), "values": sorted(values), "methods": methods}


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    declared = [each.name for each in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else []
    for name in {*declared, *inspect.get_annotations(cls), *vars(cls)}:
        if name in SPECIAL or not name.startswith("_"):
            yield name, vars(cls).get(name)


# ---- the rule ----------------------------------------------------------------------------------------------------------


def broken(old: Plain, new: Plain) -> list[str]:
    """What a caller of then would miss now."""
    found = [f"{name} is gone" for name in old["names"] if name not in new["names"]]
    for name, known in old["functions"].items():
        found += _broken_call(name, known, new["functions"].get(name))
    for group in ("classes", "reached"):
        for name, known in old[group].items():
            found += _broken_class(name, known, new[group].get(name))
    return found


def _broken_class(name: str, old: Plain, new: Plain | None) -> list[str]:
    if new is None:
        return [f"{name} is no longer a class"]
    found = [f"{name} is no longer a {each}" for each in old["is"] if each not in new["is"]]
    found += [f"{name}.{each} is gone, or no value any more" for each in old["values"] if each not in new["values"]]
    return found + [each for way, known in old["methods"].items() for each in _broken_call(f"{name}.{way}", known, new["methods"].get(way))]


def _broken_call(name: str, old: list[Plain], new: list[Plain] | None) -> list[str]:
    if new is None:
        return [f"{name}() is gone"]
    there = {each["name"]: each for each in new}
    found = [f"{name}({each['name']}) is gone" for each in old if each["name"] not in there]
    found += [
        f"{name}({each['name']}): {fact} was {each[fact]}, is {there[each['name']][fact]}"
        for each in old
        if each["name"] in there
        for fact in ("kind", "default")
        if each[fact] != there[each["name"]][fact]
    ]
    before, after = ([each["name"] for each in known if each["kind"] in BY_POSITION] for known in (old, new))
    if not found and after[: len(before)] != before:
        found.append(f"{name}(): given by position were {before}, are {after}")
    known = {each["name"] for each in old}
    must = [each["name"] for each in new if each["default"] is None and not each["kind"].startswith("VAR_")]
    return found + [f"{name}({each}) is new and must be given" for each in must if each not in known]


def test_nothing_public_is_gone_or_other() -> None:
    assert broken(kept("signatures"), now()) == [], MEANT


def test_what_was_added_is_kept_as_well() -> None:
    assert broken(now(), kept("signatures")) == [], ADDED


def test_every_public_function_and_class_is_kept() -> None:
    """A snapshot that lost its lines would hold nothing."""
    old = kept("signatures")
    assert len(old["names"]) >= 49
    assert {*old["functions"], *old["classes"]} >= {*old["names"]} - {"__version__"}
    assert all(each["values"] or each["methods"] for name, each in old["classes"].items() if not name.endswith("Error"))


def _without(name: str) -> Callable[[Plain], None]:
    return lambda new: new["functions"]["measure"].remove(_of(new, name))


def _of(new: Plain, name: str) -> Plain:
    (found,) = [each for each in new["functions"]["measure"] if each["name"] == name]
    assert isinstance(found, dict)
    return found


@every(
    ("change", "told"),
    [
        (lambda new: new["names"].remove("measure"), "measure is gone"),
        (_without("draws"), "measure(draws) is gone"),
        (lambda new: _of(new, "draws").update(default="5"), "measure(draws): default was 10000, is 5"),
        (lambda new: _of(new, "draws").update(kind="POSITIONAL_ONLY"), "measure(draws): kind was KEYWORD_ONLY, is POSITIONAL_ONLY"),
        (lambda new: new["functions"]["measure"].reverse(), "measure(): given by position were"),
        (
            lambda new: new["functions"]["measure"].append({"name": "x", "kind": "KEYWORD_ONLY", "default": None}),
            "measure(x) is new and must be given",
        ),
        (lambda new: new["classes"]["Verdict"]["values"].remove("threshold"), "Verdict.threshold is gone"),
        (lambda new: new["classes"]["Counts"]["methods"].pop("of"), "Counts.of() is gone"),
        (lambda new: new["classes"]["DataError"]["is"].remove("SteelyardError"), "DataError is no longer a SteelyardError"),
        (lambda new: new["reached"].pop("measure(...).interval"), "measure(...).interval is no longer a class"),
    ],
)
def test_a_change_would_be_noticed(change: Callable[[Plain], None], told: str) -> None:
    new = kept("signatures")
    change(new)
    (found,) = broken(kept("signatures"), new)
    assert found.startswith(told)


def test_more_may_be_added() -> None:
    new = kept("signatures")
    new["names"].append("weigh")
    new["functions"]["weigh"] = []
    new["functions"]["measure"].append({"name": "x", "kind": "KEYWORD_ONLY", "default": "None"})
    new["classes"]["Verdict"]["values"].append("x")
    assert broken(kept("signatures"), new) == []
