"""One change of a task's references, whoever makes it: the intent first, then outcomes, file and history; all of it or nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard_old.atomic import read_if_there, remove_file, sweep, write_atomic
from steelyard_old.errors import SourceError, SteelyardError, UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.locking import TRIES, Lock, is_held, never_rests
from steelyard_old.reference.changes import Change, append_changes, changes_of, check_appendable, mend_history, parsed_line, rewrite_history
from steelyard_old.reference.lookup import ReferenceLocation, make_directory
from steelyard_old.reference.names import history_path, intent_path, items_directory
from steelyard_old.reference.task_file import TaskFile, task_file_of

if TYPE_CHECKING:
    from steelyard_old.reference.outcomes import Outcomes


SCHEMA = 1
LIMIT = 64 * 2**20
BEFORE, AFTER, OTHER = "before", "after", "other"


def digest(data: bytes | None) -> str | None:
    """The SHA-256 of a file's bytes; None for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class IntendedWrite:
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


def write_intent(directory: Path, intent: IntendedWrite) -> None:
    """Put the intent on the disk, before anything else is."""
    plain = json.dumps({"schema": SCHEMA, **asdict(intent)}, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomic(intent_path(directory, intent.task), plain.encode() + b"\n")


def read_intent(directory: Path, task: str) -> IntendedWrite | None:
    """The change that was not finished; None if there is none."""
    path = intent_path(directory, task)
    data = read_if_there(path, most=LIMIT)
    if data is None:
        return None
    try:
        plain = json.loads(data)
        found: dict[str, Any] = {each.name: plain[each.name] for each in fields(IntendedWrite)}
        intent = IntendedWrite(**{**found, **{name: tuple(value) for name, value in found.items() if isinstance(value, list)}})
        good = plain["schema"] == SCHEMA and _well_formed(intent, task)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        good = False
    if not good:
        raise SourceError(
            f"{str(path)!r} is not a note of an unfinished change.",
            got="something that is not a note of an unfinished change",
            need="the file as it was written",
            hint="look at it, then delete it: the references themselves are complete",
        )
    return intent


def _well_formed(intent: IntendedWrite, task: str) -> bool:
    texts: list[Any] = [intent.action, intent.after, *intent.lines, *intent.made, *intent.gone]
    lists = all(isinstance(each, tuple) for each in (intent.lines, intent.made, intent.gone))
    known = intent.before is None or isinstance(intent.before, str)
    counted = type(intent.history) is int and 0 <= intent.history < 2**53
    whole = lists and len(intent.changes()) == len(intent.lines) and all(line.endswith("\n") for line in intent.lines)
    return lists and known and counted and whole and all(isinstance(text, str) for text in texts) and intent.task == task


def remove_intent(directory: Path, task: str) -> None:
    """The change is finished, or undone."""
    remove_file(intent_path(directory, task))


def in_the_way(directory: Path, intent: IntendedWrite, shown: str) -> UsageError:
    """The error for a task's file that is neither the one before nor the one after."""
    return UsageError(
        f"{shown!r} was edited since an unfinished {intent.action} ({intent_path(directory, intent.task).name}).",
        got=f"an unfinished {intent.action} ({intent_path(directory, intent.task).name}) and a file that was edited since",
        need="the file as it was before that change or after it",
        hint="git checkout the file; or delete the note, which says who wanted to change what and why",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWrite:
    """What is to be done: the new text of the task's file, its lines of history, outcomes that come and outcomes that go."""

    action: str
    text: str
    lines: Sequence[Change]
    made: Mapping[str, Outcomes] = field(default_factory=dict)  # by file, relative to the directory of references
    gone: Sequence[str] = ()


def parsed(data: bytes | None, place: ReferenceLocation) -> TaskFile:
    """The bytes as the task's file; no file is one without entries."""
    return task_file_of(data or b"", place.shown, spec_keys=place.spec_keys, metric=place.defaults.metric)


def carry_out(place: ReferenceLocation, plan: Callable[[TaskFile], PlannedWrite]) -> tuple[str, ...]:
    """Change the references of a task by what `plan` makes of its file. Returns what there is to say.

    What a killed process left is finished or undone first. A failure on the way is undone at once; a kill, by the next
    command that writes. `plan` may be called again, if a writer that asks for no lock (an editor, git) came in between.
    """
    make_directory(place.directory)
    with Lock(items_directory(place.directory, place.task)), Lock(place.path) as lock:
        said = _settled(place)
        history = history_path(place.directory, place.task)
        check_appendable(history)
        old, planned = _planned(place, plan)
        if not planned.lines and planned.text.encode() == (old or b""):
            return said
        size, torn = mend_history(history)
        return said + torn + _WriteUnderWay(place, old, planned, size, lock).done()


def _planned(place: ReferenceLocation, plan: Callable[[TaskFile], PlannedWrite]) -> tuple[bytes | None, PlannedWrite]:
    for _ in range(TRIES):
        old = read_if_there(place.path)
        planned = plan(parsed(old, place))
        if read_if_there(place.path) == old:
            return old, planned
    raise never_rests(place.path)


class _WriteUnderWay:
    """One change on its way to the disk, under the locks of the task."""

    def __init__(self, place: ReferenceLocation, old: bytes | None, plan: PlannedWrite, history: int, lock: Lock) -> None:
        self.place, self.old, self.new, self.plan, self.lock = place, old, plan.text.encode(), plan, lock
        self.history = history_path(place.directory, place.task)
        self.intent = IntendedWrite(
            task=place.task,
            action=plan.action,
            before=digest(old),
            after=str(digest(self.new)),
            history=history,
            lines=tuple(change.line().decode() for change in plan.lines),
            made=tuple(plan.made),
            gone=tuple(plan.gone),
        )

    def done(self) -> tuple[str, ...]:
        said: tuple[str, ...] = ()
        try:
            self.lock.insist()
            write_intent(self.place.directory, self.intent)
            self._save_outcomes()
            self.lock.insist()
            if self.new != self.old:
                write_atomic(self.place.path, self.new)
            said = append_changes(self.history, self.plan.lines)
        except BaseException as fault:
            self._undo(fault)
            raise
        return said + _concluded(self.place, self.intent)

    def _save_outcomes(self) -> None:
        if not self.plan.made:
            return
        from steelyard_old.reference import outcomes  # NumPy: only where there are outcomes

        for name, kept in self.plan.made.items():
            outcomes.save(self.place.directory, self.place.task, name.rpartition("/")[2].removesuffix(".outcomes"), kept)

    def _undo(self, fault: BaseException) -> None:
        """The old file again, and nothing that was prepared. What cannot be put back is left to the next command, and that is said."""
        try:
            written = read_if_there(self.history) or b""
            if self.intent.lines and written[self.intent.history :].lstrip(b"\n") == "".join(self.intent.lines).encode():
                _concluded(self.place, self.intent)  # interrupted when all was done
                return
            if self.new != self.old and read_if_there(self.place.path) == self.new:
                self._put_back()
            _drop_prepared(self.place, self.intent)
        except (SteelyardError, OSError) as second:
            with contextlib.suppress(SteelyardError):
                if read_if_there(self.place.path) == self.old:
                    with contextlib.suppress(SteelyardError, OSError):
                        _drop_prepared(self.place, self.intent)
                    return  # it is back; only the disk would not say that it lasts
            raise UsageError(
                f"The history of {self.place.shown!r} could not be kept ({fault}), nor could the old file be put back ({second}).",
                got=f"{fault}; and then, while the old file was put back: {second}",
                need="a disk that can be written to",
                hint=f"{intent_path(self.place.directory, self.place.task).name} says what is unfinished; the next command that writes "
                "finishes it, with its line of history",
            ) from fault

    def _put_back(self) -> None:
        if self.old is None:
            remove_file(self.place.path)
        else:
            write_atomic(self.place.path, self.old)


# ---- what a killed process left ----------------------------------------------------------------------------------------------


def unfinished(place: ReferenceLocation) -> IntendedWrite | None:
    """The change that a killed process left; None if there is none, or if its process is still at work."""
    intent = read_intent(place.directory, place.task)
    if intent is None or is_held(items_directory(place.directory, place.task)):
        return None
    return intent


def read_history(place: ReferenceLocation) -> tuple[Change, ...]:
    """All changes of a task's references, with those whose line a killed process did not get to write. Nothing is written."""
    path = history_path(place.directory, place.task)
    data = read_if_there(path) or b""
    with contextlib.suppress(SteelyardError):  # a note that cannot be read is for `lint`, and for the next writer
        intent = read_intent(place.directory, place.task)
        if intent is not None and intent.state(read_if_there(place.path)) == AFTER:
            data = intent.added(data)
    return changes_of(data, path)


def _settled(place: ReferenceLocation) -> tuple[str, ...]:
    """Finish what a killed process began, if the task's file is the new one; undo it, if it is the old one."""
    intent = read_intent(place.directory, place.task)
    _sweep(place)
    if intent is None:
        return ()
    state = intent.state(read_if_there(place.path))
    if state == BEFORE:
        _drop_prepared(place, intent)
        return (f"an earlier command was killed before its change ({intent.action}) was made: undone",)
    if state != AFTER:
        raise in_the_way(place.directory, intent, place.shown)
    history = history_path(place.directory, place.task)
    check_appendable(history)
    rewrite_history(history, intent.added)
    told = _concluded(place, intent)
    return (f"an earlier command was killed before its change ({intent.action}) was complete: finished, with its line of history", *told)


def _concluded(place: ReferenceLocation, intent: IntendedWrite) -> tuple[str, ...]:
    """When all is written: without the outcomes of old entries, unless another one names them. A failure of this is said, no more."""
    said: list[str] = []
    try:
        said += [sentence for name in intent.gone for sentence in _discarded(place, name)]
    except (SteelyardError, OSError) as fault:
        said.append(f"the item outcomes of the old entry stay where they are: {fault}")
    try:
        remove_intent(place.directory, place.task)
    except SteelyardError as fault:
        said.append(f"all is written, but a note of it stays: {fault}")
    return tuple(said)


def _drop_prepared(place: ReferenceLocation, intent: IntendedWrite) -> None:
    """Without the outcomes that were made for a change that did not come about, and without the note of it."""
    if intent.made:
        with contextlib.suppress(SteelyardError, OSError):  # what stays behind is named by `references lint`
            for name in intent.made:
                _discarded(place, name)
            items_directory(place.directory, place.task).rmdir()  # if nothing is in it
    remove_intent(place.directory, place.task)


def _discarded(place: ReferenceLocation, name: str) -> tuple[str, ...]:
    """Outcomes that no entry names go, with the items that only they referred to."""
    from steelyard_old.reference import outcomes

    if any(entry.items == name for entry in parsed(read_if_there(place.path), place).entries):
        return ()
    return outcomes.discard(place.directory, place.task, name)


def _sweep(place: ReferenceLocation) -> None:
    """Temporary files of killed processes. Under the locks of the task nobody else can be writing one."""
    for target in (place.path, intent_path(place.directory, place.task)):
        sweep(target, older_than=0)
    with contextlib.suppress(OSError):
        for left in items_directory(place.directory, place.task).glob(".*.tmp"):
            left.unlink()
