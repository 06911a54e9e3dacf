"""A run of the history becomes the reference: first what would change, then the change, through `record` and with a reason."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard_old.errors import DataError, SteelyardError, UsageError
from steelyard_old.history.store import History
from steelyard_old.late_dataclass import dataclass
from steelyard_old.questions.record.record import existing_entry, record
from steelyard_old.reference.changes import checked_reason, commit_of, who
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.lookup import ReferenceLocation, locate, with_outcomes
from steelyard_old.results.history import PastRun
from steelyard_old.results.verdict import Recorded

Where = str | os.PathLike[str] | None
UNKEPT = "the record was not stored in the history of runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What recording a past run would change. `seen` is a mark of the entry as it is now: who approves sends it back."""

    run: PastRun
    file: str
    seen: str
    there: bool
    rows: tuple[tuple[str, str, str], ...]


def propose(history: History, id_: str, *, directory: Where = None, config: Where = None) -> Proposal:
    """What would change if this run became the reference of its task, model and spec. Nothing is written."""
    run = history.run(id_)
    place, entry = _place(run, directory, config)
    old = {} if entry is None else {name: getattr(entry, name) for name in ("value", "num_samples", "runs", "sigma_run", "approved")}
    new = {"value": run.estimate, "num_samples": run.n, "runs": 1}
    rows = [(name, _word(old.get(name)), _word(new.get(name))) for name in (old or new)]
    return Proposal(
        run=run,
        file=place.shown,
        seen=mark_of(None if entry is None else entry.to_plain()),
        there=entry is not None,
        rows=tuple((run.metric if name == "value" else name, then, now) for name, then, now in rows if then != now),
    )


def record_past(history: History, id_: str, *, reason: str, seen: str, directory: Where = None, config: Where = None) -> Recorded:
    """Put a past run on record as the reference, and keep that in the history.

    `seen` is the mark of the entry that the reader saw: an entry that somebody has changed since is not replaced.
    """
    why = checked_reason(reason)
    run = history.run(id_)
    _, entry = _place(run, directory, config)
    refuse_other(seen, None if entry is None else entry.to_plain(), run.model)
    items = history.items(run.id)
    assert items is not None  # _place has asked
    done = record(
        {"id": list(items), "score": list(items.values())},
        task=run.task,
        model=run.model,
        spec=run.spec,
        metric=run.metric,
        scale=run.scale,
        higher_is_better=None if run.higher_is_better else False,
        protocol=run.protocol or None,
        reason=f"{why} (run {run.id[:8]} of {run.time[:16].replace('T', ' ')} UTC)",
        update=entry is not None,
        directory=directory,
        config=config,
    )
    try:
        history.append(done, items=items, protocol=run.protocol, by=who(), commit=commit_of(Path.cwd()))
    except SteelyardError as fault:  # what is on record stays so
        done = replace(done, warnings=(*done.warnings, f"{UNKEPT}: {fault}"))
    return done


def mark_of(plain: Any) -> str:
    """A short mark of an entry, by which a later look at it tells whether it is still the same."""
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()[:32]


def refuse_other(seen: str, plain: Any, model: str) -> None:
    """Refuse to change an entry that is not the one that was looked at."""
    if seen != mark_of(plain):
        raise UsageError(
            f"The reference of {model!r} was changed meanwhile; look at it again.",
            got="an entry that somebody has changed meanwhile",
            need="you to look at it again",
        )


def _place(run: PastRun, directory: Where, config: Where) -> tuple[ReferenceLocation, Entry | None]:
    """Where the reference of this run is, and what is there; a run that can be none is refused."""
    place = locate(run.task, directory, config)
    entry = existing_entry(place, run.model, run.spec)
    hashed = place.config.ids == "hashed"
    if entry is not None and entry.items is not None and not hashed:
        kept = with_outcomes(place, entry)[1]
        hashed = kept is not None and kept.hashed
    for wrong, got, need in (
        (run.command == "record", "a record, not a run", "a run that was checked or made"),
        (
            (run.tally or {}).get("stopped"),
            "a run that stopped early on its own results",
            "a complete run: runs that stop early on their own results are biased",
        ),
        (run.outcomes is None, "a run that was stored without its items", "the items, so that the next run can be paired"),
        (hashed, "a run that is kept by hashes of its ids", "its file: steelyard record FILE --update"),
    ):
        if wrong:
            raise DataError(f"Run {run.id[:8]} cannot be recorded: it is {got}, and a reference needs {need}.", got=got, need=need)
    return place, entry


def _word(value: Any) -> str:
    return (
        "none" if value is None else f"{value:.6g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    )
