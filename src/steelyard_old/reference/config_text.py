"""`[tasks.NAME]` tables added to the text of a configuration: nothing that is there is changed, and the result is read again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.late_dataclass import dataclass

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
Tables = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class WithTables:
    """The new text; which keys were added to which task, and which were there with another value: (task, key, there, ours)."""

    text: str
    added: dict[str, list[str]] = field(default_factory=dict)
    kept: list[tuple[str, str, Any, Any]] = field(default_factory=list)


def with_tables(text: str, tables: Tables, shown: str, *, project: bool = False) -> WithTables:
    """The text with these keys in the tables of their tasks; a key that is there stays as it is.

    >>> print(with_tables("", {"ppl": {"sigma": 4.48, "higher_is_better": False}}, "steelyard.toml").text, end="")
    [tasks.ppl]
    sigma = 4.48
    higher_is_better = false
    """
    old = _read(text, shown)
    there = _tasks(old, project, shown)
    out = WithTables(text, {}, [])
    wanted: dict[str, dict[str, Any]] = {}
    for task, keys in tables.items():
        own = there.get(task, {})
        out.kept.extend((task, key, own[key], value) for key, value in keys.items() if key in own and own[key] != value)
        missing = {key: value for key, value in keys.items() if key not in own}
        if missing:
            wanted[task] = missing
            out.added[task] = list(missing)
    new = text
    for task, missing in wanted.items():
        new = _inserted(new, task, missing, project) if task in there else _appended(new, task, missing, project)
    expected = {**there, **{task: {**there.get(task, {}), **missing} for task, missing in wanted.items()}}
    found = _read(new, shown) if wanted else old
    if _tasks(found, project, shown) != expected or _without_tasks(found, project) != _without_tasks(old, project):
        raise _unwritten(shown)
    return WithTables(new, out.added, out.kept)


def _read(text: str, shown: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError:
        raise _unwritten(shown) from None


def _unwritten(shown: str) -> SourceError:
    return SourceError(
        f"The tables of the tasks in {shown!r} must be written as [tasks.NAME], not as tasks = {{...}}, so that one can be added.",
        got="tables that are written in another way, such as tasks = {...}",
        need="one table for each task, [tasks.NAME]",
        hint="nothing was written",
    )


def _tasks(whole: Mapping[str, Any], project: bool, shown: str) -> dict[str, dict[str, Any]]:
    ours = whole.get("tool", {}).get("steelyard", {}) if project else whole
    found = ours.get("tasks", {}) if isinstance(ours, dict) else None
    if not isinstance(found, dict) or not all(isinstance(table, dict) for table in found.values()):
        raise _unwritten(shown)
    return found


def _without_tasks(whole: Mapping[str, Any], project: bool) -> dict[str, Any]:
    if not project:
        return {key: value for key, value in whole.items() if key != "tasks"}
    tool = whole.get("tool", {})
    ours = {key: value for key, value in tool.get("steelyard", {}).items() if key != "tasks"}
    return {**whole, "tool": {**tool, "steelyard": ours}}


def _appended(text: str, task: str, keys: Mapping[str, Any], project: bool) -> str:
    line = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else line if text.endswith("\n") else line * 2
    name = task if _BARE.match(task) else json.dumps(task, ensure_ascii=False)
    header = f"[{'tool.steelyard.' if project else ''}tasks.{name}]"
    return text + gap + "".join(f"{each}{line}" for each in [header, *_lines(keys)])


def _inserted(text: str, task: str, keys: Mapping[str, Any], project: bool) -> str:
    """The keys below the header of a table that is there; the text as it is, if there is no such line."""
    line = "\r\n" if "\r\n" in text else "\n"
    dot = r"\s*\.\s*"
    names = "|".join(re.escape(quoted) for quoted in (task, json.dumps(task, ensure_ascii=False), f"'{task}'"))
    above = f"tool{dot}steelyard{dot}" if project else ""
    header = re.compile(rf"^[ \t]*\[\s*{above}tasks{dot}(?:{names})\s*\][^\r\n]*", re.MULTILINE)
    found = header.search(text)
    if found is None:
        return text
    return text[: found.end()] + "".join(f"{line}{each}" for each in _lines(keys)) + text[found.end() :]


def _lines(keys: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()]
