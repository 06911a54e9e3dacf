"""Changes of references by hand: remove, rename, approve. One atomic step each, with a line in the history that says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.options.option import documented
from steelyard_old.options.references import APPROVE, REMOVE, RENAME
from steelyard_old.questions.references.listing import Where, found_or_listed, shown_path, signed_spec
from steelyard_old.reference.changes import Change, checked_reason, commit_of, now, who
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.lookup import ReferenceLocation, load, locate, nearest_models
from steelyard_old.reference.task_file import TaskFile, renamed, with_entry, without_entry
from steelyard_old.reference.writing import PlannedWrite, carry_out
from steelyard_old.results import signature
from steelyard_old.results.references import ChangedReference, ReferenceChange


@documented(
    REMOVE,
    "a ReferenceChange",
)
def remove_reference(
    task: str,
    model: str,
    spec: Mapping[str, Any] | None = None,
    *,
    reason: str,
    line: int | None = None,
    directory: Where = None,
    config: Where = None,
) -> ReferenceChange:
    """Take a reference off the record. Its item outcomes go with it, unless another entry refers to them.

    `line` names the entry where several cannot be told apart by their spec.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there)
    ...     found = remove_reference("gsm8k", "m", reason="retired", directory=there)
    ...     left = sy.list_references(directory=there).rows
    >>> left
    ()
    """
    why = checked_reason(reason)
    place = locate(task, directory, config)
    signed = signature_of(place)
    taken: list[Entry] = []
    shared: list[int] = []

    def without(file: TaskFile) -> PlannedWrite:
        entry = found_or_listed(place, file, model, spec, line)
        taken[:] = [entry]
        shared[:] = [other.line for other in file.entries if other is not entry and other.items == entry.items is not None]
        change = Change(action="remove", model=model, spec=dict(entry.spec), old=entry.number, reason=why, **signed)
        gone = [] if entry.items is None or shared else [entry.items]
        return PlannedWrite(action="remove", text=without_entry(file, entry), lines=[change], gone=gone)

    warnings = changed(place, without)
    (entry,) = taken
    if shared:
        warnings += ("the item outcomes were kept: another entry uses them too",)
    gone = entry.items is not None and not _is_there(place, entry.items)
    row = replace(_row(place, entry), items_file=entry.items, items_removed=gone)
    return _told("remove", place, [row], why, f"{_named(place, entry)}: removed.", warnings)


@documented(
    RENAME,
    "a ReferenceChange",
)
def rename_reference(task: str, old: str, new: str, *, reason: str, directory: Where = None, config: Where = None) -> ReferenceChange:
    """Give a model another name, in all its entries. Its history follows.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there)
    ...     found = rename_reference("gsm8k", "m", "llama", reason="its full name", directory=there)
    ...     (left,) = sy.list_references(directory=there).rows
    >>> left.model
    'llama'
    """
    why = checked_reason(reason)
    if not new.strip() or new != new.strip():
        raise UsageError(
            f"The new name must not be empty or have spaces around it: {new!r}.", got=repr(new), need="a name, without spaces around it"
        )
    place = locate(task, directory, config)
    signed = signature_of(place)
    moved: list[Entry] = []

    def under_new_name(file: TaskFile) -> PlannedWrite:
        if old not in file.models():
            raise UsageError(
                f"No model {old!r} in {place.shown!r}.",
                got=f"no such model in {place.shown!r}",
                need=f"a recorded model{nearest_models(old, file.models())}",
                hint=f"sy.list_references({task!r})",
            )
        moved[:] = [entry for entry in file.entries if entry.model == old]
        change = Change(action="rename", model=new, old=old, new=new, reason=why, **signed)
        return PlannedWrite(action="rename", text=renamed(file, old, new), lines=[change])

    warnings = changed(place, under_new_name)
    rows = [replace(_row(place, replace(entry, model=new)), old_model=old) for entry in moved]
    return _told("rename", place, rows, why, f"{old} on {task} is now {new}, in {len(rows)} {_entries(len(rows))}.", warnings)


@documented(
    APPROVE,
    "a ReferenceChange",
)
def approve_reference(
    task: str,
    model: str,
    spec: Mapping[str, Any] | None = None,
    *,
    reason: str,
    directory: Where = None,
    config: Where = None,
) -> ReferenceChange:
    """Say that somebody looked at a reference and stands for it: `approved: TIME by WHO`. A later update takes it back.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there)
    ...     _ = approve_reference("gsm8k", "m", reason="reviewed with the team", directory=there)
    ...     recorded, approved = sy.reference_history("gsm8k", directory=there).series[0].changes
    >>> approved.action, approved.reason
    ('approve', 'reviewed with the team')
    """
    why = checked_reason(reason)
    place = locate(task, directory, config)
    signed = signature_of(place)
    stamp = f"{now()} by {signed['by']}"
    seen: list[Entry] = []

    def stamped(file: TaskFile) -> PlannedWrite:
        entry = found_or_listed(place, file, model, spec)
        seen[:] = [entry]
        text = with_entry(file, replace(entry, approved=stamp), replace=entry)
        spec_, n = dict(entry.spec), entry.num_samples
        change = Change(action="approve", model=model, spec=spec_, new=entry.number, n=n, reason=why, **signed)
        return PlannedWrite(action="approve", text=text, lines=[change])

    warnings = changed(place, stamped)
    (entry,) = seen
    row = replace(_row(place, entry), approved=stamp, approved_before=entry.approved)
    return _told("approve", place, [row], why, f"{_named(place, entry)}: approved, {stamp}.", warnings)


# ---- the steps that all of them take -----------------------------------------------------------------------------------


def changed(place: ReferenceLocation, plan: Callable[[TaskFile], PlannedWrite]) -> tuple[str, ...]:
    """The task's file through a plan. A task without a file is told with the command that makes one, before anything is locked."""
    load(place)
    return carry_out(place, plan)


def signature_of(place: ReferenceLocation) -> dict[str, Any]:
    """Who makes a change, and on which commit: asked once, before anything is locked."""
    return {"by": who(), "commit": commit_of(place.directory, except_for=place.directory)}


def _is_there(place: ReferenceLocation, items: str) -> bool:
    from steelyard_old.reference import outcomes

    try:
        return outcomes.path_of(place.directory, place.task, items).exists()
    except SteelyardError:
        return True


def _row(place: ReferenceLocation, entry: Entry) -> ChangedReference:
    spec = dict(entry.spec)
    return ChangedReference(task=place.task, model=entry.model, spec=spec, value=entry.value, file=place.shown, line=entry.line)


def _named(place: ReferenceLocation, entry: Entry) -> str:
    spec = ", ".join(f"{key}={value}" for key, value in entry.spec.items())
    what = f"threshold {entry.threshold:g}" if entry.value is None and entry.threshold is not None else f"{entry.value_key} {entry.value:g}"
    return f"{entry.model}{f' [{spec}]' if spec else ''} on {place.task}, {what}"


def _entries(n: int) -> str:
    return "entry" if n == 1 else "entries"


def _told(
    action: str, place: ReferenceLocation, rows: list[ChangedReference], why: str, sentence: str, warnings: tuple[str, ...]
) -> ReferenceChange:
    first = rows[0]
    facts = {"goal": action, "task": place.task, "model": first.model, "spec": signed_spec(first.spec)}
    return ReferenceChange(
        action=action,
        directory=shown_path(place.directory),
        rows=tuple(rows),
        reason=why,
        conclusion=sentence,
        warnings=warnings,
        signature=signature.write(facts),
    )
