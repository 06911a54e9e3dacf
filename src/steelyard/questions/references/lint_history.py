"""What the history of a task's references shows: values that only ever move one way, and values that nobody accounts for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.questions.references.detectable import gate_of
from steelyard.questions.references.history import chronicles, edited, unfinished_note
from steelyard.questions.references.lint_values import LintedFile
from steelyard.questions.references.listing import shown_path
from steelyard.reference.changes import TORN, followed
from steelyard.reference.entry import Entry
from steelyard.reference.names import canonical_spec, history_path, intent_path
from steelyard.reference.writing import read_history

SEVERAL = 3  # changes in one direction that are a habit; two are noted


def check_history(desk: LintedFile) -> None:
    """Ratchets, values changed by hand, and changes that a killed process left unfinished."""
    for sentence in unfinished_note(desk.place):
        desk.say("warning", "unfinished", sentence, file=shown_path(intent_path(desk.place.directory, desk.place.task)))
    try:
        path = history_path(desk.place.directory, desk.place.task)
        changes = followed(read_history(desk.place))
    except SteelyardError as fault:
        desk.say("error", "history", str(fault))
        return
    if any(change.action == TORN for change in changes):
        desk.say("warning", "history", "a line was cut short, by a crash or a full disk", file=shown_path(path))
    entries = {(entry.model, canonical_spec(entry.spec)): entry for entry in reversed(desk.file.entries)}
    for series in chronicles((change for change in changes if change.action != TORN), entries.values()):
        entry = entries.get((series["model"], canonical_spec(series["spec"])))
        if entry is not None:
            if edited(series):
                sentence = f"{series['on_file']:g}, but the history ends with {series['last']:g}: changed by hand, and nobody said why"
                desk.say("warning", "edited", sentence, entry)
            _ratchet(desk, entry, series)


def _ratchet(desk: LintedFile, entry: Entry, series: Mapping[str, Any]) -> None:
    """The last changes that went one way. Down, each small loss becomes the new normal; up, each lucky run does."""
    values = [*series["values"]]
    if series["on_file"] is not None and values and values[-1] != series["on_file"]:
        values.append(series["on_file"])
    same = one_way(values)
    if same < 2:
        return
    first, last = values[-1 - same], values[-1]
    rule, gate = gate_of(entry, desk.place.defaults)
    worse = (last < first) == (rule is None or rule.higher_is_better)
    total = last - first
    beyond = gate.finds is not None and abs(total) > gate.finds
    level = "warning" if same >= SEVERAL or beyond else "note"
    said = f"moved {'down' if last < first else 'up'} {same} times in a row, {first:g} to {last:g}, together {total:+.4g}"
    if beyond:
        said += f", more than the {gate.finds:.4g} that one check would find"
    desk.say(level, "ratchet", f"{said}: {'every loss became the new normal' if worse else 'every lucky run became the bar'}", entry)


def one_way(values: Sequence[float]) -> int:
    """How many of the last changes went the same way; changes to the same value do not count.

    >>> one_way([26.48, 26.0, 25.8]), one_way([80.0, 81.0, 80.5]), one_way([5.0])
    (2, 1, 0)
    """
    steps = [later - earlier for earlier, later in pairwise(values) if later != earlier]
    count = 0
    for step in reversed(steps):
        if (step > 0) != (steps[-1] > 0):
            break
        count += 1
    return count
