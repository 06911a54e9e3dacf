"""`steelyard.toml`, or `[tool.steelyard]` of pyproject.toml: where the references are, and what each task says of itself.

    directory = "references"           # relative to this file
    spec_keys = ["hardware"]           # spec keys of your own, beside dtype, quant_algo and the others
    ids = "hashed"                     # how item ids are stored beside a reference: kept, or hashed
    history = "sqlite:///runs.db"      # where runs are kept: a file relative to this one, or postgresql://host/db

    [policy]                           # what `references lint` refuses
    max_theta = 3.0
    require_provenance = true
    stale_days = 180

    [tasks.mmlu]
    metric = "accuracy"
    scale = "percent"
    alpha = 0.05
    sigma = 50
    num_samples = 4096

The nearest file upward counts, alone; in one directory steelyard.toml comes before pyproject.toml.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from steelyard_old.atomic import read_bytes
from steelyard_old.did_you_mean import did_you_mean, either
from steelyard_old.errors import SourceError, UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import is_share_of_reference, ratio_columns
from steelyard_old.reference.entry import TaskDefaults
from steelyard_old.reference.entry_schema import SCALES, check_spec_keys
from steelyard_old.reference.strict_yaml import decode

IDS = ("kept", "hashed")
_FILE, _PROJECT = "steelyard.toml", "pyproject.toml"
_ADDRESSES = ("sqlite:///", "postgresql://", "postgres://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """How much a guard counts in a suite. fails: its regression makes the suite a regression. holds: its doubt makes it inconclusive."""

    says: str
    fails: bool = True
    holds: bool = True


TIERS: dict[str, Tier] = {
    "critical": Tier(says="a regression fails the suite, and an inconclusive verdict holds it up"),
    "supporting": Tier(says="a regression fails the suite; an inconclusive verdict is a warning", holds=False),
    "advisory": Tier(says="reported only, outside the correction for many guards", fails=False, holds=False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the references must keep to. None is "not said"."""

    max_theta: float | None = None
    require_provenance: bool = False
    stale_days: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration that counts. `path` is None if there is no file, and everything is a default."""

    path: Path | None
    directory: Path
    spec_keys: tuple[str, ...] = ()
    tasks: Mapping[str, TaskDefaults] = field(default_factory=dict)
    task_spec_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ids: str | None = None
    history: str | None = None
    policy: Policy = field(default_factory=Policy)

    def task(self, name: str) -> TaskDefaults:
        """What is said about a task; nothing, if it is not named."""
        return self.tasks.get(name, TaskDefaults())

    def spec_keys_of(self, task: str) -> tuple[str, ...]:
        """The spec keys declared for all tasks, and for this one."""
        return tuple(dict.fromkeys((*self.spec_keys, *self.task_spec_keys.get(task, ()))))


def find_config(start: str | os.PathLike[str] = ".", explicit: str | os.PathLike[str] | None = None) -> Config:
    """The configuration at `explicit`, which must exist, or the nearest one upward from the directory `start`."""
    if explicit is not None:
        path = Path(explicit)
        table = _table(path, read_bytes(path))
        if table is None:
            raise SourceError(f"{os.fspath(path)!r} has no table [tool.steelyard].", got="no [tool.steelyard]", need="that table")
        return _config(path, table)
    here = Path(os.path.abspath(start))
    for directory in (here, *here.parents):
        for name in (_FILE, _PROJECT):
            path = directory / name
            if os.path.isfile(path) and (table := _table(path, read_bytes(path))) is not None:
                return _config(path, table)
    return Config(path=None, directory=here / "references")


def _table(path: Path, data: bytes) -> dict[str, Any] | None:
    """Our part of a file; None if a pyproject.toml has none."""
    project = path.name == _PROJECT
    if project and b"steelyard" not in data:  # most have none, and TOML takes its time
        return None
    import tomllib

    shown = os.fspath(path)
    text = decode(data, shown)
    try:
        found = _parsed(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        at = re.search(r"\(at line (\d+)", said)
        line = int(at[1]) if at else text.rstrip("\n").count("\n") + 1
        raise SourceError(
            f"{shown!r}, line {line}, is not valid TOML ({said.split(' (at ')[0]}).", got=said.split(" (at ")[0], need="TOML"
        ) from None
    except RecursionError:
        raise SourceError(f"{shown!r} is nested too deeply.", got="brackets within brackets without end", need="a flatter file") from None
    if not project:
        return found
    tool = found.get("tool")
    ours = tool.get("steelyard") if isinstance(tool, dict) else None
    if ours is not None and not isinstance(ours, dict):
        raise SourceError(f"In {shown!r}, tool.steelyard is not a table.", got="tool.steelyard that is no table", need="[tool.steelyard]")
    return ours


@functools.lru_cache(maxsize=4)
def _parsed(text: str) -> dict[str, Any]:
    """Read once: a session asks a hundred times for what the same file says. Nobody changes what comes back."""
    import tomllib

    return tomllib.loads(text)


def _config(path: Path, table: dict[str, Any]) -> Config:
    reading = _ConfigReader(os.fspath(path))
    found = reading.fields(table, "", _TOP)
    tasks, task_keys = {}, {}
    for name, content in found.pop("tasks", {}).items():
        said = reading.fields(reading.table(content, f"tasks.{name}"), f"tasks.{name}.", _TASK)
        task_keys[name] = said.pop("spec_keys", ())
        tasks[name] = TaskDefaults(**said)
    policy = Policy(**reading.fields(found.pop("policy", {}), "policy.", _POLICY))
    directory = path.absolute().parent / found.pop("directory", "references")
    return Config(path=path, directory=directory, policy=policy, tasks=tasks, task_spec_keys=task_keys, **found)


class _ConfigReader:
    """The checks of one file, each with the name of the key in its message."""

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def fields(self, table: dict[str, Any], prefix: str, known: Mapping[str, Callable[[_ConfigReader, Any, str], Any]]) -> dict[str, Any]:
        for key in table:
            if key not in known:
                hint = _OTHER_NAMES.get(key) or did_you_mean(key, known, shown=lambda near: f"{prefix}{near}")
                raise SourceError(
                    f"Unknown key {prefix}{key} in {self.shown!r}{'' if hint else '; the keys are ' + ', '.join(known)}.",
                    got="an unknown key",
                    need=f"one of {', '.join(known)}",
                    hint=hint,
                )
        return {key: known[key](self, value, f"{prefix}{key}") for key, value in table.items()}

    def wrong(self, name: str, got: str, need: str, hint: str = "") -> SourceError:
        return SourceError(f"{name} in {self.shown!r} must be {need}, not {got}.", got=got, need=need, hint=hint)

    def table(self, value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(name, repr(value), f"a table, [{name}]")
        return value

    def text(self, value: Any, name: str) -> str:
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise self.wrong(name, repr(value), "a text")
        return value

    def ratio(self, value: Any, name: str) -> str:
        """Two columns, as in "accepted/drafted" or ["accepted", "drafted"]."""
        try:
            return "/".join(ratio_columns(value))
        except UsageError as fault:
            raise self.wrong(name, repr(value), fault.need or "", 'write "accepted/drafted"') from None

    def address(self, value: Any, name: str) -> str:
        """The URL of a history, which may hold a password and is never shown."""
        if not isinstance(value, str) or not (value.strip().startswith(_ADDRESSES) or value.strip().lower() == "none"):
            raise self.wrong(name, "something else", 'a URL, as in "sqlite:///runs.db" or "postgresql://host/db"')
        return value.strip()

    def flag(self, value: Any, name: str) -> bool:
        if not isinstance(value, bool):
            raise self.wrong(name, repr(value), "true or false")
        return value

    def count(self, value: Any, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**53:
            raise self.wrong(name, repr(value), "a whole number above 0")
        return value

    def number(self, value: Any, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
            raise self.wrong(name, repr(value), "a finite number")
        return float(value)

    def above(self, value: Any, name: str) -> float:
        if (number := self.number(value, name)) <= 0:
            raise self.wrong(name, repr(value), "a number above 0")
        return number

    def not_below(self, value: Any, name: str) -> float:
        if (number := self.number(value, name)) < 0:
            raise self.wrong(name, repr(value), "0 or more")
        return number

    def drop(self, value: Any, name: str) -> float | str:
        """A drop in the scale of the scores, or as a share of the reference: "5%"."""
        if isinstance(value, str):
            if not is_share_of_reference(value):
                raise self.wrong(name, repr(value), 'a number, or a share of the reference, as in "5%"')
            return value
        return self.above(value, name) if name.endswith("theta") else self.not_below(value, name)

    def share(self, value: Any, name: str) -> float:
        if not 0 < (number := self.number(value, name)) < 1:
            raise self.wrong(name, repr(value), "a number between 0 and 1")
        return number

    def names(self, value: Any, name: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.wrong(name, repr(value), 'a list of names, as in ["hardware"]')
        try:
            return check_spec_keys(value)
        except UsageError as error:
            raise self.wrong(name, str(error), "names of their own") from None

    def texts(self, value: Any, name: str) -> tuple[str, ...]:
        """One text, or a list of them, each once."""
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not found or not all(isinstance(each, str) and each.strip() for each in found):
            raise self.wrong(name, repr(value), "a text, or a list of texts")
        if len(set(found)) < len(found):
            raise self.wrong(name, repr(value), "each text once")
        return tuple(found)

    def protocol(self, value: Any, name: str) -> dict[str, str]:
        for key, content in self.table(value, name).items():
            if not isinstance(content, str | int | float | bool):
                raise self.wrong(f"{name}.{key}", repr(content), "a text or a number")
        return {key: str(content).lower() if isinstance(content, bool) else str(content) for key, content in value.items()}


def _one_of(words: Collection[str]) -> Callable[[_ConfigReader, Any, str], str]:
    def check(reading: _ConfigReader, value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in words:
            raise SourceError(
                f"In {reading.shown!r}, {name} must be {either(tuple(words))}, not {value!r}.",
                got=repr(value),
                need=f"one of {', '.join(words)}",
            )
        return str(value)

    return check


_TOP: dict[str, Callable[[_ConfigReader, Any, str], Any]] = {
    "directory": _ConfigReader.text,
    "spec_keys": _ConfigReader.names,
    "ids": _one_of(IDS),
    "history": _ConfigReader.address,
    "policy": _ConfigReader.table,
    "tasks": _ConfigReader.table,
}
_POLICY: dict[str, Callable[[_ConfigReader, Any, str], Any]] = {
    "max_theta": _ConfigReader.above,
    "require_provenance": _ConfigReader.flag,
    "stale_days": _ConfigReader.count,
}
_TASK: dict[str, Callable[[_ConfigReader, Any, str], Any]] = {
    "metric": _ConfigReader.text,
    "scale": _one_of(SCALES),
    "higher_is_better": _ConfigReader.flag,
    "alpha": _ConfigReader.share,
    "beta": _ConfigReader.share,
    "sigma": _ConfigReader.not_below,
    "num_samples": _ConfigReader.count,
    "theta": _ConfigReader.drop,
    "margin": _ConfigReader.drop,
    "ratio": _ConfigReader.ratio,
    "chance": _ConfigReader.number,
    "protocol": _ConfigReader.protocol,
    "tier": _one_of(TIERS),
    "by": _ConfigReader.texts,
    "critical_slices": _ConfigReader.texts,
    "spec_keys": _ConfigReader.names,
}
_OTHER_NAMES = {
    "direction": "write higher_is_better = true or false",
    "task": "tasks have tables of their own: [tasks.NAME]",
    "references": "write directory = ...",
}
