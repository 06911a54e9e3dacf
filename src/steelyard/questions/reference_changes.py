"""Changes of references by hand: remove, rename, approve. One atomic step each, with a line in the history that says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from steelyard import signature
from steelyard.errors import SteelyardError, UsageError
from steelyard.listings import Changed
from steelyard.questions.reference_place import Place, load, locate
from steelyard.questions.references import Where, found_or_listed, nearest_model, shown_path, signed_spec
from steelyard.reference.atomic import read_if_there
from steelyard.reference.changes import Change, append_changes, commit_of, now, who
from steelyard.reference.entry import Entry
from steelyard.reference.locking import Lock, update_file
from steelyard.reference.names import history_path, items_directory
from steelyard.reference.task_file import TaskFile, renamed, task_file_of, with_entry, without_entry


def remove_reference(
    task: str,
    model: str,
    spec: Mapping[str, Any] | None = None,
    *,
    reason: str,
    line: int | None = None,
    directory: Where = None,
    config: Where = None,
) -> Changed:
    """Take a reference off the record. Its item outcomes go with it, unless another entry refers to them.

    `line` names the entry where several cannot be told apart by their spec.
    """
    why = checked_reason(reason)
    place = locate(task, directory, config)
    taken: list[Entry] = []

    def without(file: TaskFile) -> str:
        taken[:] = [found_or_listed(place, file, model, spec, line)]
        return without_entry(file, taken[0])

    rewritten(place, without)
    (entry,) = taken
    warnings = keep_lines(place, Change(action="remove", model=model, spec=dict(entry.spec), old=_number(entry), reason=why))
    gone, told = _discarded(place, entry)
    row = {**_row(place, entry), "items": entry.items, "items_removed": gone}
    return _told("remove", place, [row], why, f"{_named(place, entry)}: removed.", (*warnings, *told))


def rename_reference(task: str, old: str, new: str, *, reason: str, directory: Where = None, config: Where = None) -> Changed:
    """Give a model another name, in all its entries. Its history follows."""
    why = checked_reason(reason)
    if not new.strip() or new != new.strip():
        raise UsageError(f"cannot rename {old!r}", got=repr(new), need="a name, without spaces around it")
    place = locate(task, directory, config)
    moved: list[Entry] = []

    def under_new_name(file: TaskFile) -> str:
        if old not in file.models():
            raise UsageError(
                f"cannot rename {old!r}",
                got=f"no such model in {place.shown!r}",
                need=f"a model that is on record{nearest_model(file, old)}",
                hint=f"steelyard references list {task}",
            )
        moved[:] = [entry for entry in file.entries if entry.model == old]
        return renamed(file, old, new)

    rewritten(place, under_new_name)
    warnings = keep_lines(place, Change(action="rename", model=new, old=old, new=new, reason=why))
    rows = [{**_row(place, replace(entry, model=new)), "old_model": old} for entry in moved]
    return _told("rename", place, rows, why, f"{old} on {task} is now {new}, in {len(rows)} {_entries(len(rows))}.", warnings)


def approve_reference(
    task: str,
    model: str,
    spec: Mapping[str, Any] | None = None,
    *,
    reason: str,
    directory: Where = None,
    config: Where = None,
) -> Changed:
    """Say that somebody looked at a reference and stands for it: `approved: TIME by WHO`. A later update takes it back."""
    why = checked_reason(reason)
    place = locate(task, directory, config)
    stamp = f"{now()} by {who()}"
    seen: list[Entry] = []

    def stamped(file: TaskFile) -> str:
        entry = found_or_listed(place, file, model, spec)
        seen[:] = [entry]
        return with_entry(file, replace(entry, approved=stamp), replace=entry)

    rewritten(place, stamped)
    (entry,) = seen
    change = Change(action="approve", model=model, spec=dict(entry.spec), new=_number(entry), n=entry.num_samples, reason=why)
    warnings = keep_lines(place, change)
    row = {**_row(place, entry), "approved": stamp, "approved_before": entry.approved}
    return _told("approve", place, [row], why, f"{_named(place, entry)}: approved, {stamp}.", warnings)


# ---- the steps that all of them take -----------------------------------------------------------------------------------


def checked_reason(reason: str) -> str:
    """A reason that says something: it is all that a reader of the history will have."""
    if not isinstance(reason, str) or not reason.strip():
        raise UsageError("cannot change a reference without a reason", got=repr(reason), need="why", hint='--reason "..."')
    return reason.strip()


def rewritten(place: Place, change: Callable[[TaskFile], str]) -> None:
    """The task's file through `change`, under its lock: whole or not at all, and no other writer's update lost."""
    load(place)  # a task without a file is told with the command that makes one, before anything is locked

    def of_bytes(data: bytes | None) -> bytes:
        return change(parsed(data, place)).encode()

    update_file(place.path, of_bytes)


def parsed(data: bytes | None, place: Place) -> TaskFile:
    """The bytes as the task's file; no file is one without entries."""
    return task_file_of(data or b"", place.shown, spec_keys=place.spec_keys, metric=place.defaults.metric)


def keep_lines(place: Place, *changes: Change) -> tuple[str, ...]:
    """The lines in the history, with who did it and on which commit, asked once. Returns what there is to say."""
    by, commit, path = who(), commit_of(place.directory, except_for=place.directory), history_path(place.directory, place.task)
    return append_changes(path, [replace(change, by=by, commit=commit) for change in changes])


def _discarded(place: Place, entry: Entry) -> tuple[bool, tuple[str, ...]]:
    """Whether the outcomes went, and what there is to say. Under the lock of the task, so that no entry can come to need them."""
    if entry.items is None:
        return False, ()
    from steelyard.reference import outcomes

    with Lock(items_directory(place.directory, place.task)), Lock(place.path):  # in the order that `record` takes them
        left = parsed(read_if_there(place.path), place).entries
        users = [other.line for other in left if other.items == entry.items]
        if users:
            return False, (f"the item outcomes stay: the entry in line {users[0]} refers to them as well",)
        try:
            told = outcomes.discard(place.directory, place.task, entry.items)
        except (SteelyardError, OSError) as fault:
            return False, (f"the entry is gone, but its item outcomes are not: {fault}",)
    return True, tuple(told)


def _number(entry: Entry) -> float | None:
    return entry.value if entry.value is not None else entry.threshold


def _row(place: Place, entry: Entry) -> dict[str, Any]:
    names = {"task": place.task, "model": entry.model, "spec": dict(entry.spec), "value": entry.value}
    return {**names, "file": place.shown, "line": entry.line}


def _named(place: Place, entry: Entry) -> str:
    spec = ", ".join(f"{key}={value}" for key, value in entry.spec.items())
    what = f"threshold {entry.threshold:g}" if entry.value is None and entry.threshold is not None else f"{entry.value_key} {entry.value:g}"
    return f"{entry.model}{f' [{spec}]' if spec else ''} on {place.task}, {what}"


def _entries(n: int) -> str:
    return "entry" if n == 1 else "entries"


def _told(action: str, place: Place, rows: list[dict[str, Any]], why: str, sentence: str, warnings: tuple[str, ...]) -> Changed:
    first = rows[0]
    facts = {"goal": action, "task": place.task, "model": first["model"], "spec": signed_spec(first["spec"])}
    return Changed(
        action=action,
        directory=shown_path(place.directory),
        rows=tuple(rows),
        reason=why,
        conclusion=sentence,
        warnings=warnings,
        signature=signature.write(facts),
    )
