"""The history of a task's references: one line of JSON for every change, only ever added to."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from pathlib import Path
from typing import Any

from steelyard_old.atomic import read_if_there, sweep, sync_directory, write_all, write_atomic
from steelyard_old.errors import SourceError, UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.locking import PATIENCE, Lock
from steelyard_old.version import __version__

RECOVERED = "recovered"  # a change whose line was lost to a crash, told later by what its entry says
ACTIONS = ("record", "update", "remove", "rename", "approve", "import", RECOVERED)
TORN = "torn"  # a line that a crash cut short: kept as the reason of a change of this name, never thrown away
GIT_PATIENCE = 10.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one reference. `old` and `new` are values (of a rename: names); None where there is none."""

    action: str
    model: str | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)
    old: float | str | None = None
    new: float | str | None = None
    n: int | None = None
    runs: int | None = None
    reason: str | None = None
    time: str = field(default_factory=lambda: now())
    by: str | None = None
    commit: str | None = None
    tool: str = __version__

    def line(self) -> bytes:
        """The change as a line of the file: keys in the order of the fields, what is not known left out."""
        said = {key: value for key, value in asdict(self).items() if value is not None and value != {}}
        try:
            return json.dumps(said, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        except (TypeError, ValueError) as fault:
            raise UsageError(
                f"The history keeps texts and finite numbers only ({fault}).", got=f"{fault}", need="texts and finite numbers"
            ) from fault


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


# ---- writing -------------------------------------------------------------------------------------------------------


def append_changes(path: Path, changes: Sequence[Change], *, timeout: float = PATIENCE) -> tuple[str, ...]:
    """Add several lines in one write: all of them or none. Returns what there is to say: a torn line that was found and kept."""
    for change in changes:
        if change.action not in ACTIONS:
            known = ", ".join(ACTIONS)
            raise UsageError(
                f"A change of a reference is {known}, not {change.action!r}.", got=f"the action {change.action!r}", need=f"one of {known}"
            )
    lines = b"".join(change.line() for change in changes)
    if not lines:
        return ()
    with Lock(path, timeout=timeout) as lock:
        found, said = _mended_file(path, lock)
        if found and not found.endswith(b"\n"):
            lines = b"\n" + lines  # a last line that is whole, saved by an editor without its end
        _append(path, lines, size=None if found is None else len(found))
    return said


def mend_history(path: Path, *, timeout: float = PATIENCE) -> tuple[int, tuple[str, ...]]:
    """The size of the history, once a torn line is kept as a change of its own; and what there is to say."""
    if _split(read_if_there(path) or b"")[1] is None:
        return len(read_if_there(path) or b""), ()
    with Lock(path, timeout=timeout) as lock:
        found, said = _mended_file(path, lock)
    return len(found or b""), said


def _mended_file(path: Path, lock: Lock) -> tuple[bytes | None, tuple[str, ...]]:
    found = read_if_there(path)
    lock.insist()
    whole, torn = _split(found or b"")
    if torn is None:
        return found, ()
    found = whole + _mended(torn).line()
    write_atomic(path, found)
    return found, (f"the last line of {str(path)!r} was cut short, by a crash or a full disk: it is kept as a change named {TORN!r}",)


def rewrite_history(path: Path, change: Callable[[bytes | None], bytes], *, timeout: float = PATIENCE) -> None:
    """The history with lines that a killed process did not get to write, or wrote in part."""
    with Lock(path, timeout=timeout) as lock:
        sweep(path, older_than=0)
        found = read_if_there(path)
        lock.insist()
        if (new := change(found)) != (found or b""):
            write_atomic(path, new)


def check_appendable(path: Path) -> None:
    """An error now, if a line could not be added to the history: before what the line would tell is done."""
    read_if_there(path)  # something that is no file; opening a pipe would wait for its other end
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)))
    except FileNotFoundError:
        return  # to be made, where the references themselves are to be written
    except OSError as fault:
        raise UsageError(
            f"Cannot add to {str(path)!r}: {fault.strerror or fault}.",
            got=fault.strerror or str(fault),
            need="a history that can be added to",
            hint="nothing was changed",
        ) from fault


def _append(path: Path, line: bytes, *, size: int | None) -> None:
    """One write at the end. If the disk is full, the file is cut back to what it was, or removed if there was none."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            write_all(handle, line)
            os.fsync(handle)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, size or 0)
                if size is None:
                    path.unlink()
            raise
        finally:
            os.close(handle)
    except OSError as fault:
        raise UsageError(
            f"Cannot write {str(path)!r}: {fault.strerror or fault}.",
            got=fault.strerror or str(fault),
            need="room and permission",
            hint="the history is as it was; this change is not in it",
        ) from fault
    if size is None:
        try:
            sync_directory(path.parent)
        except UsageError:
            with contextlib.suppress(OSError):
                path.unlink()
            raise


def _split(data: bytes) -> tuple[bytes, bytes | None]:
    """The whole lines, and the torn rest of a line: a last line without its end that is not a change."""
    cut = data.rfind(b"\n") + 1
    rest = data[cut:]
    if not rest.strip() or parsed_line(rest) is not None:
        return data, None
    return data[:cut], rest


def _mended(torn: bytes) -> Change:
    return Change(action=TORN, reason=torn.decode("utf-8", "backslashreplace"))


# ---- reading -------------------------------------------------------------------------------------------------------


def changes_of(data: bytes, path: Path) -> tuple[Change, ...]:
    """All changes in the bytes of a history, oldest first. `path` is for what is said.

    A torn line is handed out as a change named `torn`: nobody knows whose it was.
    """
    whole, torn = _split(data)
    changes = []
    for number, line in enumerate(whole.split(b"\n"), 1):
        if not line.strip():
            continue
        change = parsed_line(line)
        if change is None:
            raise _damaged(path, number, line)
        changes.append(change)
    if torn is not None:
        changes.append(_mended(torn))
    return tuple(changes)


def parsed_line(line: bytes) -> Change | None:
    """A line as a change, None if it is none. Keys of a later version are left where they are: the file is not rewritten."""
    try:
        said = json.loads(line)
        known = {each.name: said[each.name] for each in fields(Change) if each.name in said}
        good = all(isinstance(said[key], str) for key in ("action", "time")) and isinstance(said.get("spec", {}), dict)
        return Change(**known) if good else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _damaged(path: Path, number: int, line: bytes) -> SourceError:
    conflict = line.startswith((b"<<<<<<<", b"=======", b">>>>>>>"))
    hint = "it was edited or damaged: git checkout the file, or remove that line"
    if conflict:
        hint = "keep the lines of both sides; '*.history.jsonl merge=union' in .gitattributes makes git do so by itself"
    got = "a merge conflict" if conflict else repr(line[:60].decode("utf-8", "replace"))
    return SourceError(f"Line {number} of {str(path)!r} is not a change in JSON: {got}.", got=got, need="a change in JSON", hint=hint)


# ---- who and where -------------------------------------------------------------------------------------------------


def who() -> str:
    """The name of the person for git, else the login name. Never an address: what is committed is public for ever."""
    for name in (_git(Path.cwd(), "config", "user.name"), _login()):
        plain = re.sub(r"<[^>]*>?|\S*@\S*", "", "".join(char for char in name or "" if char.isprintable()))
        if plain.strip():
            return " ".join(plain.split())[:80]
    return "unknown"


def _login() -> str | None:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return None


def commit_of(directory: Path, *, except_for: Path | None = None) -> str | None:
    """The commit checked out where the directory is; None without git or without a commit.

    `-dirty` marks files that git knows and that differ from it, `-unchecked` that git would not say. `except_for` is
    left out of that: references that were just written say nothing about the code that was measured.
    """
    commit = _git(directory, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return None
    paths = [":/"] if except_for is None else [":/", f":(exclude){except_for.resolve()}"]
    changed = _git(directory, "status", "--porcelain", "--untracked-files=no", "--", *paths)
    if changed is None:
        return f"{commit}-unchecked"
    return f"{commit}-dirty" if changed else commit


ELSEWHERE = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"}


def _git(directory: Path, *words: str) -> str | None:
    """What git says, None if it cannot. Told by its hooks to look elsewhere (GIT_DIR ...), it would speak of another place."""
    environment = {key: value for key, value in os.environ.items() if key not in ELSEWHERE}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        run = subprocess.run(  # noqa: S603
            ["git", "-c", "core.fsmonitor=false", *words],  # noqa: S607
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=GIT_PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.decode("utf-8", "replace").strip()


def checked_reason(reason: str) -> str:
    """A reason that says something: it is all that a reader of the history will have."""
    if not isinstance(reason, str) or not reason.strip():
        raise UsageError("A change of a reference needs a reason.", got=repr(reason), need="why", hint='reason="..."')
    return reason.strip()


def followed(changes: Iterable[Change]) -> list[Change]:
    """The changes with every model under the name that it has now: a rename takes the past along."""
    told: list[Change] = []
    for change in changes:
        if change.action == "rename" and isinstance(change.old, str) and isinstance(change.new, str):
            old, new = change.old, change.new
            told = [replace(each, model=new) if each.model == old else each for each in told]
        told.append(change)
    return told
