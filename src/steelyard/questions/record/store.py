"""What is put on record, written down: outcomes, entry, and the line of history that says who and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.errors import SourceError, UsageError
from steelyard.reference import outcomes
from steelyard.reference.changes import RECOVERED, Change, followed, now
from steelyard.reference.entry import Entry
from steelyard.reference.lookup import ReferenceLocation, entry_there
from steelyard.reference.names import canonical_spec, outcomes_name
from steelyard.reference.task_file import TaskFile, with_entry
from steelyard.reference.writing import PlannedWrite, carry_out, read_history

PUT = ("record", "update", "import", RECOVERED)  # the actions that put a value on record


def stored(entry: Entry, kept: outcomes.Outcomes | None, place: ReferenceLocation, before: Entry | None) -> tuple[Entry, tuple[str, ...]]:
    """The entry as it is on record now, and what there is to say. Outcomes are kept under a name of their own content."""
    made: dict[str, outcomes.Outcomes] = {}
    if kept is not None:
        name = f"{outcomes_name(entry.model, entry.spec)}-{outcomes.digest(kept)[:8]}"
        entry = replace(entry, items=f"{place.task}.items/{name}.outcomes")
        made[str(entry.items)] = kept
    gone = [before.items] if before is not None and before.items is not None and before.items != entry.items else []
    action = "record" if before is None else "update"
    said: list[str] = []

    def plan(file: TaskFile) -> PlannedWrite:
        there = _found_as_before(file, entry, place, before)
        lines, told = _lines(action, entry, place, before)
        said[:] = told
        return PlannedWrite(action=action, text=with_entry(file, entry, replace=there), lines=lines, made=made, gone=gone)

    told = carry_out(place, plan)
    return entry, (*said, *told)


def _found_as_before(file: TaskFile, entry: Entry, place: ReferenceLocation, before: Entry | None) -> Entry | None:
    """The entry that is there, if it is the one that was looked at when the question was asked."""
    there = entry_there(place, file, entry.model, entry.spec)
    if (None if there is None else there.to_plain()) != (None if before is None else before.to_plain()):
        raise UsageError(f"cannot record {entry.model!r}", got="a reference that somebody else has just changed", need="another look at it")
    return there


def _lines(action: str, entry: Entry, place: ReferenceLocation, before: Entry | None) -> tuple[list[Change], list[str]]:
    """The line of this change, and before it the one that version 0.1.0 did not get to write when it was killed."""
    line = _line(action, entry, None if before is None else before.value)
    try:
        past = followed(read_history(place))
    except SourceError as fault:
        return [line], [f"the history has a line that cannot be read, so it was only added to: {fault}"]
    lost = None if before is None else lost_line(before, past)
    if lost is None:
        return [line], []
    return [lost, line], [
        f"the history had no line for the value recorded {lost.time} (its process was killed, or the entry copied by hand): "
        f"added as {RECOVERED!r}",
    ]


def lost_line(entry: Entry, past: Sequence[Change]) -> Change | None:
    """The line that the history should have of this entry; None if it has it, or if the entry was not written by us.

    The time in the entry is that of its line, to the second; the reason or the value tells two changes of one second apart.
    """
    if entry.recorded is None or entry.value is None or not str(entry.tool).startswith("steelyard"):
        return None
    own = [one for one in past if one.model == entry.model and canonical_spec(one.spec) == canonical_spec(entry.spec)]
    put = [one for one in own if one.action in PUT]
    if any(one.time >= entry.recorded and (one.action == "import" or one.reason == entry.reason or one.new == entry.value) for one in put):
        return None
    last = put[-1].new if put else None
    return _line(RECOVERED, entry, None if isinstance(last, str) else last)


def _line(action: str, entry: Entry, old: float | None) -> Change:
    return Change(
        action=action,
        model=entry.model,
        spec=dict(entry.spec),
        old=old,
        new=entry.value,
        n=entry.num_samples,
        runs=entry.runs,
        reason=entry.reason,
        time=entry.recorded or now(),
        by=entry.by,
        commit=entry.commit,
    )
