"""Where answers go: never over a file that they were made from."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard_old.errors import UsageError

READABLE = (".html", ".htm", ".md", ".markdown", ".svg", ".xml", ".txt", ".log")  # what nobody keeps items or references in
BESIDE = (".run", ".journal", ".journal.lock", "-wal", "-shm", "-journal")  # notes and journal of a run, logs of a SQLite database
STDIN = 0
SETTINGS = (".toml", ".yaml", ".yml")  # files of suites and tasks, which name further files

Identity = tuple[int, int] | str


def refuse_overwriting(outputs: Mapping[str, Iterable[Any]], inputs: Iterable[Any], directories: Iterable[Any] = ()) -> None:
    """No output may be a file that is read, nor two outputs one file. Found out before anything is written.

    outputs: what each is called (-o, flips_out) -> its paths. inputs: whatever was given beside them: paths, name=path,
    patterns, directories, model and database addresses, suite and task files with the files they name. directories: where
    references lie. Files are told by identity, so links and other ways of writing a path make no difference.
    """
    places = [(flag, Path(path)) for flag, paths in outputs.items() for path in paths]
    seen: dict[Identity, str] = {}
    for flag, path in places:
        if os.fspath(path) in (os.devnull, "/dev/stdout", "/dev/stderr"):
            continue
        one = _identity(path)
        if one in seen:
            raise UsageError(f"{seen[one]} and {flag} would both write {str(path)!r}.", got=f"{seen[one]} and {flag}", need="two files")
        seen |= dict.fromkeys((one, *(_identity(Path(f"{path}{ending}")) for ending in BESIDE)), flag)
    there = {(found.st_dev, found.st_ino): (flag, path) for flag, path in places if (found := _regular(path)) is not None}
    if not there:
        return  # what is not there yet cannot be lost
    for word in inputs:
        for named in _files_of(word):
            for place in (named, *(f"{named}{ending}" for ending in BESIDE)) if isinstance(named, str) else (named,):
                found = _regular(place)
                if found is not None and (found.st_dev, found.st_ino) in there:
                    raise _refusal(*there[found.st_dev, found.st_ino], "a file that is read")
            if isinstance(named, str) and os.path.isdir(named):
                _refuse_inside(named, there.values())
    for directory in directories:
        root = os.path.realpath(directory)
        for flag, path in there.values():
            if os.path.realpath(path).startswith(root + os.sep) and _belongs_to_references(path):
                raise _refusal(flag, path, "a file of the references")


def _refusal(flag: str, path: Path, what: str) -> UsageError:
    return UsageError(f"{flag} would overwrite {what}, {str(path)!r}.", got=what, need="another file", hint="nothing was written")


def _refuse_inside(directory: Any, there: Iterable[tuple[str, Path]]) -> None:
    """Files in a directory that is read are inputs, but for pages to look at and earlier answers of ours."""
    root = os.path.realpath(directory)
    for flag, path in there:
        real = os.path.realpath(path)
        if real.startswith(root + os.sep) and Path(real).suffix.lower() not in READABLE and not _is_answer(real):
            raise _refusal(flag, path, f"a file in {str(directory)!r}, which is read")


def _belongs_to_references(path: Path) -> bool:
    """Whether it is called as files of references are: TASK.yaml, TASK.history.jsonl, TASK.unfinished.json, TASK.items/NAME."""
    return path.name.endswith((".yaml", ".yml", ".history.jsonl", ".unfinished.json", ".lock")) or path.absolute().parent.suffix == ".items"


def _is_answer(path: str) -> bool:
    """Whether a file holds an answer of ours, which may be replaced by the next one."""
    if not path.endswith(".json"):
        return False
    with contextlib.suppress(OSError, ValueError, RecursionError), open(path, encoding="utf-8") as file:
        found = json.load(file)
        return isinstance(found, dict) and {"kind", "schema", "signature"} <= found.keys()
    return False


def _files_of(word: Any, base: str = "", depth: int = 2) -> Iterator[str | int]:
    """Every file that a word may stand for, and those it names (a suite its tasks, a task its data); standard input as its number."""
    if not isinstance(word, (str, os.PathLike)):
        return
    text = os.fsdecode(word)
    if "\0" in text:
        return
    for candidate in _readings(text):
        if candidate == "-":
            yield STDIN
            continue
        if not candidate:  # a prompt that ends with "=" names no file
            continue
        path = os.path.join(base, candidate)
        if any(sign in candidate for sign in "*?["):
            yield from glob.iglob(path, recursive=True)
        if not os.path.exists(path):
            continue
        yield path
        if depth and path.lower().endswith(SETTINGS) and os.path.isfile(path):
            for named in _texts_of(path):
                yield from _files_of(named, os.path.dirname(path), depth - 1)
                yield from _files_of(named, "", depth - 1)


def _readings(text: str) -> Iterator[str]:
    """A path; name=path; file:PATH; python:pkg.mod:attr or pkg.mod:attr; command:PROGRAM ARGUMENTS; sqlite:///PATH."""
    yield text
    if "=" in text:
        yield text.partition("=")[2]
    if ":///" in text:
        yield text.partition(":///")[2].partition("?")[0]
        return
    kind, colon, rest = text.partition(":")
    if not colon:
        return
    if kind in ("file", "command", "python"):
        yield rest
    if kind == "command":
        yield from rest.replace('"', " ").replace("'", " ").split()
    yield (rest if kind == "python" else text).partition(":")[0].replace(".", os.sep) + ".py"


def _texts_of(path: str) -> Iterator[str]:
    """All texts of a suite or task file. One that cannot be read names nothing, and its reader says why."""
    with contextlib.suppress(Exception):
        data = Path(path).read_bytes()
        if path.endswith(".toml"):
            import tomllib

            yield from _strings(tomllib.loads(data.decode()))
        else:
            import yaml

            yield from _strings(yaml.safe_load(data))


def _strings(value: Any) -> Iterator[str]:
    """Texts that may be paths. A part that an alias of YAML repeats is walked once."""
    waiting, walked = [value], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if len(one) < 4096 and "\n" not in one:
                yield one
        elif isinstance(one, (Mapping, list)) and id(one) not in walked:
            walked.add(id(one))
            waiting.extend(one.values() if isinstance(one, Mapping) else one)


def _regular(path: Any) -> os.stat_result | None:
    """A file that can be lost: not a pipe, not a terminal, not nothing."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _identity(path: Path) -> Identity:
    found = _regular(path)
    if found is not None:
        return found.st_dev, found.st_ino
    try:
        return os.path.normcase(os.path.realpath(path))
    except (OSError, ValueError) as fault:  # a name with a NUL byte, or with half a character
        raise UsageError(f"Cannot write {str(path)!r}: {fault}.", got=str(fault), need="the name of a file") from fault
