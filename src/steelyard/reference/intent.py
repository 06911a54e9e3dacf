"""A change of references that is under way, written down first: after a kill the next writer knows whether to finish or undo it.

`TASK.unfinished.json` lies beside the task's file while a command changes it. The task's file is replaced in one step, and
that step decides: if the file is as it was, nothing has happened yet and what was prepared is removed; if it is the new one,
the lines of history, with who and why, are in here and are added.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from steelyard.atomic import read_if_there, remove_file, write_atomic
from steelyard.errors import SourceError, UsageError
from steelyard.reference.changes import Change, parsed_line
from steelyard.reference.names import intent_path

SCHEMA = 1
LIMIT = 64 * 2**20
BEFORE, AFTER, OTHER = "before", "after", "other"


def digest(data: bytes | None) -> str | None:
    """The SHA-256 of a file's bytes; None for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a command is about to do to one task's references."""

    task: str
    action: str
    before: str | None  # SHA-256 of the task's file, None if there is none
    after: str
    history: int  # bytes of history before the change
    lines: tuple[str, ...]  # of the history, to be added
    made: tuple[str, ...] = ()  # files of item outcomes that are new
    gone: tuple[str, ...] = ()  # files of item outcomes that the new entries no longer name

    def state(self, data: bytes | None) -> str:
        """Whether the task's file is the new one, the old one, or one that somebody else has written since."""
        found = digest(data)
        return AFTER if found == self.after else BEFORE if found == self.before else OTHER

    def added(self, history: bytes | None) -> bytes:
        """The history with the lines of this change at its end, whatever part of them is there already."""
        data, new = history or b"", "".join(self.lines).encode()
        old, rest = (data[: self.history], data[self.history :]) if len(data) >= self.history else (data, b"")
        if not new or new in rest:
            return data
        if old and not old.endswith(b"\n"):
            old += b"\n"
            rest = rest.removeprefix(b"\n")
        return old + new if new.startswith(rest) else data + (b"" if data.endswith(b"\n") else b"\n") + new

    def changes(self) -> tuple[Change, ...]:
        """The lines as changes."""
        found = (parsed_line(line.encode()) for line in self.lines)
        return tuple(change for change in found if change is not None)


def write_intent(directory: Path, intent: Intent) -> None:
    """Put the intent on the disk, before anything else is."""
    plain = json.dumps({"schema": SCHEMA, **asdict(intent)}, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomic(intent_path(directory, intent.task), plain.encode() + b"\n")


def read_intent(directory: Path, task: str) -> Intent | None:
    """The change that was not finished; None if there is none."""
    path = intent_path(directory, task)
    data = read_if_there(path, most=LIMIT)
    if data is None:
        return None
    try:
        plain = json.loads(data)
        found: dict[str, Any] = {each.name: plain[each.name] for each in fields(Intent)}
        intent = Intent(**{**found, **{name: tuple(value) for name, value in found.items() if isinstance(value, list)}})
        good = plain["schema"] == SCHEMA and _well_formed(intent, task)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        good = False
    if not good:
        raise SourceError(
            f"cannot read {str(path)!r}",
            got="something that is not a note of an unfinished change",
            need="the file as it was written",
            hint="look at it, then delete it: the references themselves are whole",
        )
    return intent


def _well_formed(intent: Intent, task: str) -> bool:
    texts: list[Any] = [intent.action, intent.after, *intent.lines, *intent.made, *intent.gone]
    lists = all(isinstance(each, tuple) for each in (intent.lines, intent.made, intent.gone))
    known = intent.before is None or isinstance(intent.before, str)
    counted = type(intent.history) is int and 0 <= intent.history < 2**53
    whole = lists and len(intent.changes()) == len(intent.lines) and all(line.endswith("\n") for line in intent.lines)
    return lists and known and counted and whole and all(isinstance(text, str) for text in texts) and intent.task == task


def remove_intent(directory: Path, task: str) -> None:
    """The change is finished, or undone."""
    remove_file(intent_path(directory, task))


def in_the_way(directory: Path, intent: Intent, shown: str) -> UsageError:
    """The error for a task's file that is neither the one before nor the one after."""
    return UsageError(
        f"cannot change {shown!r}",
        got=f"an unfinished {intent.action} ({intent_path(directory, intent.task).name}) and a file that was edited since",
        need="the file as it was before that change or after it",
        hint="git checkout the file; or delete the note, which says who wanted to change what and why",
    )
