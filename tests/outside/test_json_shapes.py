"""The keys and types of JSON answers of every kind, and the exit codes, by small real runs of the command (`asked.py`).

Keys may be added; none vanishes or changes its type. The shapes are in `shapes.json`, without values: of an object its keys, of a
list the shapes of its members together. `python tests/outside/write.py` writes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from cases import every
from outside.asked import ASKED, Answered
from outside.snapshot import ADDED, MEANT, kept

Plain = dict[str, Any]
NAMES = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}
KINDS = {
    *("measurement", "comparison", "leaderboard", "audit", "plan", "verdict", "suite", "recorded", "references", "reference", "lint"),
    *(
        "reference_history",
        "reference_change",
        "init",
        "history",
        "drift",
        "nights",
        "acknowledged",
        "certificate",
        "dry_run",
        "doctor",
        "accuracy-session",
        "bisect",
        "comment",
        "split",
        "split_check",
    ),
}
EVERY = {"kind", "schema", "warnings", "signature"}


def now(answered: dict[str, Answered]) -> Plain:
    """The exit code of every question, and the kind and shape of its answer."""
    return {name: told(answer) for name, answer in answered.items()}


def told(answer: Answered) -> Plain:
    text = answer.pages.get("json") or (answer.said if answer.said.startswith("{") else None)
    if text is None:
        return {"code": answer.code, "kind": None, "shape": "none"}
    plain = json.loads(text)
    return {"code": answer.code, "kind": plain.get("kind"), "shape": shape(plain)}


def shape(value: Any) -> Any:
    """Of an object the shapes of its keys, of a list that of its members in a list of one, of a plain value the name of its type."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [union([shape(each) for each in value])] if value else []
    return NAMES[type(value)]


def union(shapes: list[Any]) -> Any:
    """Members of several types: objects as one with all their keys, and everything else by name, under `or`."""
    shapes = [each for one in shapes for each in (one["or"] if isinstance(one, dict) and "or" in one else [one])]
    objects = [each for each in shapes if isinstance(each, dict)]
    lists = [each for each in shapes if isinstance(each, list)]
    found: list[Any] = sorted({each for each in shapes if isinstance(each, str)})
    if lists:
        members = [member for each in lists for member in each]
        found.append([union(members)] if members else [])
    if objects:
        keys = {key: None for each in objects for key in each}
        found.append({key: union([each[key] for each in objects if key in each]) for key in keys})
    return found[0] if len(found) == 1 else {"or": found}


# ---- the rule ----------------------------------------------------------------------------------------------------------


def broken(old: Any, new: Any, path: str = "answer") -> list[str]:
    """What a program of then would miss now."""
    if isinstance(old, dict) and isinstance(new, dict) and ("or" in old) == ("or" in new):
        if "or" in old:
            return _broken_union(old["or"], new["or"], path)
        lost = [f"{path}.{key} is gone" for key in old if key not in new]
        return lost + [each for key in old if key in new for each in broken(old[key], new[key], f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [each for a, b in zip(old, new, strict=True) for each in broken(a, b, f"{path}[]")]
    return [] if old == new else [f"{path} was {_name(old)}, is {_name(new)}"]


def _broken_union(old: list[Any], new: list[Any], path: str) -> list[str]:
    if [_name(each) for each in old] != [_name(each) for each in new]:
        return [f"{path} was {' or '.join(map(_name, old))}, is {' or '.join(map(_name, new))}"]
    return [each for a, b in zip(old, new, strict=True) for each in broken(a, b, path)]


def _name(what: Any) -> str:
    if isinstance(what, dict):
        return " or ".join(map(_name, what["or"])) if "or" in what else "an object"
    return ("a list" if what else "an empty list") if isinstance(what, list) else str(what)


@every("name", [name for name in ASKED if name != "doctor"])
def test_no_key_is_gone_or_of_another_type(name: str, answered: dict[str, Answered]) -> None:
    _as_it_was(name, answered)


def test_no_key_of_the_doctor_is_gone(answered: dict[str, Answered]) -> None:
    pytest.importorskip("psycopg", reason="needs the extra postgres: doctor names the versions of all extras")
    _as_it_was("doctor", answered)


def _as_it_was(name: str, answered: dict[str, Answered]) -> None:
    old, new = kept("shapes")[name], told(answered[name])
    assert (new["code"], new["kind"]) == (old["code"], old["kind"]), answered[name].said[-400:]
    assert broken(old["shape"], new["shape"]) == [], MEANT
    assert broken(new["shape"], old["shape"]) == [], ADDED


def test_every_question_is_kept() -> None:
    assert {*kept("shapes")} == {*ASKED}


def test_every_kind_of_answer_is_there() -> None:
    old = kept("shapes").values()
    assert {each["kind"] for each in old} == {*KINDS, None}
    assert {each["code"] for each in old} == {0, 1, 2, 3}
    assert all({*each["shape"]} >= EVERY for each in old if each["kind"] not in (None, "doctor", "accuracy-session"))


def test_what_is_refused_answers_nothing(answered: dict[str, Answered]) -> None:
    """A question that could not be asked: code 3, one line that begins with error, no answer."""
    for name in [name for name in ASKED if name.startswith("refused_")]:
        assert answered[name].code == 3
        assert answered[name].said.startswith("error: ")
        assert answered[name].said.count("\n") == 1


@every(
    ("change", "told"),
    [
        (lambda new: new.pop("threshold"), ["answer.threshold is gone"]),
        (lambda new: new.update(n="float"), ["answer.n was int, is float"]),
        (lambda new: new.update(difference="null"), ["answer.difference was an object, is null"]),
        (lambda new: new["difference"].pop("lower"), ["answer.difference.lower is gone"]),
        (lambda new: new["warnings"].append("str"), ["answer.warnings was an empty list, is a list"]),
        (lambda new: new.update(more="int"), []),
    ],
)
def test_a_change_would_be_noticed(change: Callable[[Plain], None], told: list[str]) -> None:
    new = kept("shapes")["verdict_regression"]["shape"]
    change(new)
    assert broken(kept("shapes")["verdict_regression"]["shape"], new) == told


def test_members_are_taken_together() -> None:
    assert shape([{"a": 1}, {"a": None, "b": [1, "x"]}, {}]) == [{"a": {"or": ["int", "null"]}, "b": [{"or": ["int", "str"]}]}]
    assert shape([[], [1.0]]) == [["float"]]
    assert broken(shape([1, None]), shape([1])) == ["answer[] was int or null, is int"]
