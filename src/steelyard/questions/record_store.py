"""What is put on record, written down: outcomes, entry, history. All of it or nothing, and nothing of somebody else's is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from steelyard.errors import SourceError, SteelyardError, UsageError
from steelyard.questions.reference_changes import parsed
from steelyard.questions.reference_history import followed
from steelyard.questions.reference_place import Place, entry_there, make_directory
from steelyard.reference import outcomes
from steelyard.reference.atomic import read_if_there
from steelyard.reference.changes import RECOVERED, Change, append_changes, check_appendable, now, read_changes
from steelyard.reference.entry import Entry
from steelyard.reference.locking import Lock, take_back, update_file
from steelyard.reference.names import canonical_spec, history_path, items_directory, outcomes_name
from steelyard.reference.task_file import TaskFile, with_entry

PUT = ("record", "update", "import", RECOVERED)  # the actions that put a value on record


def stored(entry: Entry, kept: outcomes.Outcomes | None, place: Place, before: Entry | None) -> tuple[Entry, tuple[str, ...]]:
    """The entry as it is on record now, and what there is to say.

    Outcomes come first, under a name of their own content; then the entry that points to them, in one atomic step; then
    the line of history. What fails on the way is taken back. A kill between the last two leaves an entry without its
    line: the next record of that entry finds it so and adds the line.
    """
    make_directory(place.directory)
    with Lock(items_directory(place.directory, place.task)):  # nobody may sweep items away between the steps
        return _Storing(entry, kept, place, before).stored()


class _Storing:
    """One entry on its way to the disk. `made` is the task's file before and after, once it was to be written."""

    def __init__(self, entry: Entry, kept: outcomes.Outcomes | None, place: Place, before: Entry | None) -> None:
        self.entry, self.kept, self.place, self.before = entry, kept, place, before
        self.history = history_path(place.directory, place.task)
        self.made: tuple[bytes | None, bytes] | None = None

    def stored(self) -> tuple[Entry, tuple[str, ...]]:
        check_appendable(self.history)
        self._found_as_before(read_if_there(self.place.path))  # who comes second leaves no outcomes behind
        lines, said = self._lines()
        try:
            self._save_outcomes()
            update_file(self.place.path, self._changed)
            said += append_changes(self.history, lines)
        except BaseException as fault:
            self._undo(fault)
            raise
        return self.entry, said + self._clear_old()

    def _save_outcomes(self) -> None:
        if self.kept is None:
            return
        name = f"{outcomes_name(self.entry.model, self.entry.spec)}-{outcomes.digest(self.kept)[:8]}"
        self.entry = replace(self.entry, items=f"{self.place.task}.items/{name}.outcomes")
        outcomes.save(self.place.directory, self.place.task, name, self.kept)

    def _changed(self, data: bytes | None) -> bytes:
        file, there = self._found_as_before(data)
        new = with_entry(file, self.entry, replace=there).encode()
        self.made = (data, new)
        return new

    def _found_as_before(self, data: bytes | None) -> tuple[TaskFile, Entry | None]:
        """The task's file, if the entry there is the one that was looked at when the question was asked."""
        file = parsed(data, self.place)
        there = entry_there(self.place, file, self.entry.model, self.entry.spec)
        if (None if there is None else there.to_plain()) != (None if self.before is None else self.before.to_plain()):
            raise UsageError(
                f"cannot record {self.entry.model!r}", got="a reference that somebody else has just changed", need="another look at it"
            )
        return file, there

    # ---- the history -------------------------------------------------------------------------------------------------------

    def _lines(self) -> tuple[list[Change], tuple[str, ...]]:
        """The line of this change, and before it the one that a killed process did not get to write."""
        old = None if self.before is None else self.before.value
        line = _line("record" if self.before is None else "update", self.entry, old)
        try:
            past = followed(read_changes(self.history))
        except SourceError as fault:
            return [line], (f"the history has a line that cannot be read, so it was only added to: {fault}",)
        lost = None if self.before is None else lost_line(self.before, past)
        if lost is None:
            return [line], ()
        return [lost, line], (
            f"the history had no line for the value recorded {lost.time} (its process was killed, or the entry copied by hand): "
            f"added as {RECOVERED!r}",
        )

    # ---- when something fails ----------------------------------------------------------------------------------------------

    def _undo(self, fault: BaseException) -> None:
        """The old entry again, and no outcomes that nobody names."""
        try:
            if self.made is not None:
                old, new = self.made
                take_back(self.place.path, new, old)
        except (SteelyardError, OSError) as second:
            with contextlib.suppress(SteelyardError):
                if read_if_there(self.place.path) == old:
                    return  # it is back; only the disk would not say that it lasts
            raise UsageError(
                f"cannot keep the history of {self.place.shown!r}",
                got=f"{fault}; and then, while the old entry was put back: {second}",
                need="a disk that can be written to",
                hint=f"{self.entry.model!r} has its new entry without a line of history; the next record --update of it adds the line",
            ) from fault
        finally:
            self._drop_new()

    def _drop_new(self) -> None:
        if self.kept is None or self.entry.items is None:
            return
        with contextlib.suppress(SteelyardError, OSError):  # what stays behind is named by `references lint`
            if not self._named(self.entry.items):
                outcomes.discard(self.place.directory, self.place.task, self.entry.items)
            items_directory(self.place.directory, self.place.task).rmdir()  # if nothing is in it

    def _named(self, items: str) -> bool:
        return any(one.items == items for one in parsed(read_if_there(self.place.path), self.place).entries)

    # ---- when all is done --------------------------------------------------------------------------------------------------

    def _clear_old(self) -> tuple[str, ...]:
        """Without the outcomes of the old entry, unless another one names them. A failure of this is said, no more: all is done."""
        gone = None if self.before is None else self.before.items
        try:
            if gone is None or gone == self.entry.items or self._named(gone):
                return ()
            return outcomes.discard(self.place.directory, self.place.task, gone)
        except (SteelyardError, OSError) as fault:
            return (f"the item outcomes of the old entry stay where they are: {fault}",)


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
