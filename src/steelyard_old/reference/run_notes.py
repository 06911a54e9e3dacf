"""What a run leaves beside its rows: how it was made, and how it stopped. `record` and `check` read it.

out.jsonl            one object a line
out.jsonl.run        these notes, with the digest of the rows they belong to
out.jsonl.journal    every answer, until the run is complete
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from steelyard_old.atomic import read_bytes, write_atomic
from steelyard_old.errors import SourceError, UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.redaction import redact
from steelyard_old.results.stopping import ReachedLimit

SCHEMA = 1
ENDING, JOURNAL = ".run", ".journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNotes:
    """How a run was made. `stopping` is None unless it was looked at on the way: its plan, the looks, and what they decided."""

    task: str
    model: str
    metric: str
    protocol: Mapping[str, str]
    seed: int
    order: str
    n: int
    available: int
    repeats: int
    ratio: Sequence[str] | None = None  # the columns of a ratio metric
    range: Sequence[float] | None = None  # the least and the greatest score, where the task or its scorer says them
    counts: Mapping[str, int] = field(default_factory=dict)  # answered, truncated, empty, refused, unextracted, errors
    stopping: Mapping[str, Any] | None = None
    steelyard: str = ""
    rule: Mapping[str, Any] = field(default_factory=dict)  # how the task wants a run judged, where nobody else says
    asked_of: Mapping[str, Any] = field(default_factory=dict)  # what answered: its kind, and of an endpoint the model and base URL

    @property
    def stopped_early(self) -> bool:
        return self.stopping is not None and self.n < self.available

    @property
    def ended(self) -> str:
        """What ended the run before it was complete, if something did: a limit of calls or cost."""
        return "" if self.limit is None else self.limit.said

    @property
    def limit(self) -> ReachedLimit | None:
        """The limit that did."""
        found = (self.stopping or {}).get("ended")
        return None if found is None else ReachedLimit.from_dict(found)


def notes_path(output: str | os.PathLike[str]) -> Path:
    return Path(f"{os.fspath(output)}{ENDING}")


def journal_path(output: str | os.PathLike[str]) -> Path:
    return Path(f"{os.fspath(output)}{JOURNAL}")


def rows_paths(output: Path | None, models: int) -> list[Path | None]:
    """One file per model: the one that was named, or one beside it for the baseline and each candidate, numbered if there are several.

    >>> [str(path) for path in rows_paths(Path("out.jsonl"), 3)]
    ['out.baseline.jsonl', 'out.candidate1.jsonl', 'out.candidate2.jsonl']
    """
    if output is None or models == 1:
        return [output] * models
    candidates = ["candidate"] if models == 2 else [f"candidate{place}" for place in range(1, models)]
    return [output.with_name(f"{output.stem}.{side}{output.suffix}") for side in ("baseline", *candidates)]


def write_run(output: Path, rows: Sequence[Mapping[str, Any]], notes: RunNotes) -> None:
    """The rows, then the notes: each whole or not at all. Notes that are older than the rows are told by their digest."""
    import hashlib

    text = redact("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    data = text.encode("utf-8", "backslashreplace")  # half a surrogate pair is no text, and must not cost a run
    write_atomic(output, data)
    said_of = {name: getattr(notes, name) for name in notes.__slots__ if name != "rule" or notes.rule}  # as 0.1.0 reads them, where it can
    plain = {"schema": SCHEMA, **said_of, "rows": hashlib.sha256(data).hexdigest()}
    said = redact(json.dumps(plain, ensure_ascii=False, indent=1) + "\n")
    write_atomic(notes_path(output), said.encode("utf-8", "backslashreplace"))


def notes_of(source: Any) -> RunNotes | None:
    """The notes of a run's output; None for any other source."""
    if not isinstance(source, str | os.PathLike) or "://" in os.fspath(source):
        return None
    path = notes_path(source)
    if not os.path.isfile(path) or not os.path.isfile(source):
        return None
    shown = str(path)
    try:
        plain = json.loads(read_bytes(path))
        schema, rows = plain.pop("schema"), plain.pop("rows")
        if schema != SCHEMA:
            raise SourceError(
                f"The notes {shown!r} have schema {schema!r}, and this version reads schema {SCHEMA}.",
                got=f"schema {schema!r}",
                need=f"schema {SCHEMA}",
                hint="a newer steelyard wrote them",
            )
        notes = RunNotes(**plain)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as fault:
        raise SourceError(
            f"The notes {shown!r} are not as they were written ({str(fault) or 'no notes of a run'}).",
            got=str(fault) or "no notes of a run",
            need="the file as it was written",
            hint=_HINT,
        ) from None
    _check(notes, shown)
    if _digest(Path(source)) != rows:
        raise SourceError(
            f"The rows were changed since the notes {shown!r} were written.",
            got="rows that were changed since",
            need="the rows they were written with",
            hint=_HINT,
        )
    return notes


def refuse_other_run(outputs: Iterable[Path | None], task: str, prompt: str) -> None:
    """A finished run of another task or prompt is not written over: its answers were paid for, and nobody asked to lose them.

    The same task and prompt may be run again, of any model: the new rows take the place of the old ones when they are complete.
    """
    for output in outputs:
        if output is None or not output.is_file():
            continue
        try:
            old = json.loads(read_bytes(notes_path(output)))
            was = (str(old["task"]), str(old["protocol"]["prompt"]))
        except (OSError, SourceError, ValueError, TypeError, KeyError, RecursionError):
            continue  # no run of ours
        if was != (task, prompt):
            other = f"of the task {was[0]!r}" if was[0] != task else "of this task with another prompt"
            raise UsageError(
                f"There is a finished run {other} in {str(output)!r} already.",
                got=f"a finished run {other} there",
                need="another output, or none of that name",
                hint=f"write to another file, or remove {str(output)!r} and {str(notes_path(output))!r}",
            )


def said_by_notes(sources: Iterable[Any]) -> tuple[bool | None, list[str]]:
    """What notes beside the rows say to whoever measures or compares them: which way the scores are good, and warnings.

    The direction is None where the notes of one run do not say it, or say it of something else than scores.
    """
    directions: set[bool | None] = set()
    warnings: list[str] = []
    for source in sources:
        notes = notes_of(source)
        directions.add(None if notes is None else _direction(notes))
        if notes is not None and notes.stopped_early:
            warnings.append(_stopping_warning(notes))
    return directions.pop() if len(directions) == 1 else None, warnings


def _direction(notes: RunNotes) -> bool | None:
    if "higher_is_better" not in notes.rule:
        return None
    from steelyard_old.metrics.catalogue import find

    metric = find(notes.metric)
    return bool(notes.rule["higher_is_better"]) if metric is not None and metric.direction_of_scores else None


def _stopping_warning(notes: RunNotes) -> str:
    """What to say of rows whose number depended on the answers in them: an interval of a fixed number of items is too sure."""
    if notes.ended and "looked" not in (notes.stopping or {}):
        return f"this run is not complete ({notes.n:,} of {notes.available:,} items): {notes.ended}"
    weights = "; unstable items were asked more often, which the column 'weight' corrects for" if notes.order == "hash/k" else ""
    return (
        f"this run stopped early on its own results after {notes.n:,} of {notes.available:,} items: methods for a fixed number of "
        f"items are overconfident here; the numbers that the run itself printed are adjusted{weights}"
    )


def _check(notes: RunNotes, shown: str) -> None:
    """What a person may have spoilt by hand: kinds of values, not whether they are true."""
    kinds: dict[str, type | tuple[type, ...]] = {"task": str, "model": str, "metric": str, "protocol": dict, "seed": int, "order": str}
    kinds |= {
        "n": int,
        "available": int,
        "repeats": int,
        "counts": dict,
        "stopping": (dict, type(None)),
        "ratio": (list, type(None)),
        "range": (list, type(None)),
        "rule": dict,
        "asked_of": dict,
    }
    wrong = [name for name, kind in kinds.items() if not isinstance(getattr(notes, name), kind)]
    ends = notes.range if isinstance(notes.range, list) else [0, 1]
    if len(ends) != 2 or not all(type(end) in (int, float) for end in ends):
        wrong.append("range")
    if notes.stopping is not None and "stopping" not in wrong and not _as_written(notes.stopping):
        wrong.append("stopping")
    if wrong:
        raise SourceError(
            f"The notes {shown!r} are not as they were written: {wrong[0]} is of another kind.",
            got=f"{wrong[0]} of another kind",
            need="the file as it was written",
            hint=_HINT,
        )


def _as_written(stopping: Mapping[str, Any]) -> bool:
    """Whether the looks and the limit of a run that stopped are what a run writes."""
    looked, ended = stopping.get("looked", []), stopping.get("ended")
    said = isinstance(ended, dict) and isinstance(ended.get("said"), str) and {*ReachedLimit.names()} <= ended.keys()
    return isinstance(looked, list) and all(type(n) is int for n in looked) and (ended is None or said)


_HINT = "remove the notes to use the rows as those of any other run"


def _digest(path: Path) -> str:
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
