"""Item outcomes on record: what every item scored in every run, kept in two small text files beside the task's references.

    TASK.items/<12 hex>.items       the items (key, hash of the content, group): shared by all models measured on them
    TASK.items/<name>.outcomes      the runs of one model under one spec

The bytes depend on the outcomes alone, never on the order of rows.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.atomic import read_bytes, write_atomic
from steelyard.errors import SourceError, UsageError
from steelyard.reference.names import inside, items_directory
from steelyard.reference.outcome_items import Outcomes, RecordedRun, hash_id, hash_ids, items_alone, outcomes_of, to_items
from steelyard.reference.outcome_text import (
    ABSENT,
    Damaged,
    bits_text,
    field_of,
    field_text,
    items_of,
    items_text,
    outcomes_header,
    outcomes_of_text,
    outcomes_text,
    take_bits,
    take_heading,
    take_lines,
    take_values,
    values_text,
)

ITEMS, OUTCOMES = "steelyard-items 1", "steelyard-outcomes 1"
__all__ = [
    "Outcomes",
    "RecordedRun",
    "digest",
    "discard",
    "hash_id",
    "hash_ids",
    "items_alone",
    "load",
    "outcomes_of",
    "path_of",
    "save",
    "sweep_items",
    "to_items",
]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
OF_RUNS = ("score", "probability", "above", "below", "prediction", "prediction_value")
OF_ITEMS = ("truth", "truth_value", "weight")
CODED = ("truth", "prediction")
MEND = "git checkout the file, or record the reference again"


def save(directory: Path, task: str, name: str, outcomes: Outcomes) -> str:
    """Write the outcomes, and their items if they are not there yet. Returns the name of the file, relative to the directory.

    The items come first: a crash in between leaves a file that nobody refers to, never a reference to nothing.
    """
    folder = items_directory(directory, task)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError(f"cannot make the directory {str(folder)!r}", got=fault.strerror or str(fault), need="permission") from fault
    items = items_text(outcomes.keys, outcomes.content, outcomes.group, hashed=outcomes.hashed)
    digest = hashlib.sha256(items).hexdigest()
    shared = inside(directory, f"{task}.items/{digest[:12]}.items")
    relative = f"{task}.items/{name}.outcomes"
    path = inside(directory, relative)
    if not shared.is_file() or read_bytes(shared) != items:
        write_atomic(shared, items)
    write_atomic(path, _outcomes_bytes(outcomes, digest))
    return relative


def load(directory: Path, task: str, file: str) -> Outcomes:
    """The outcomes that were saved, every byte checked."""
    path = path_of(directory, task, file)
    with _told(path):
        header, lines = outcomes_of_text(_found(path))
        shape = _Shape.of(header)
    shared = inside(directory, f"{task}.items/{shape.items[:12]}.items")
    with _told(shared):
        items = _found(shared)
        if hashlib.sha256(items).hexdigest() != shape.items:
            items_of(items)  # says what is wrong, if it can be seen
            raise Damaged(f"other content than {path.name} was recorded with")
        keys, content, group, hashed = items_of(items)
    with _told(path):
        if len(keys) != shape.n:
            raise Damaged(f"{shape.n} items, where {shared.name} has {len(keys)}")
        columns = _taken(shape, lines)
    return Outcomes(keys=keys, content=content, group=group, hashed=hashed, **columns)


def path_of(directory: Path, task: str, file: str) -> Path:
    """Where the outcomes that an entry names are: beside the task's own, and nowhere else."""
    folder = items_directory(directory, task).name
    if not file.startswith(f"{folder}/") or not file.endswith(".outcomes") or file.count("/") > 1:
        raise UsageError("cannot use the file of item outcomes", got=repr(file), need=f"a file {folder}/NAME.outcomes", hint=MEND)
    return inside(directory, file)


def digest(outcomes: Outcomes) -> str:
    """The SHA-256 of the outcomes as they would be written: equal outcomes, equal digest."""
    items = items_text(outcomes.keys, outcomes.content, outcomes.group, hashed=outcomes.hashed)
    return hashlib.sha256(_outcomes_bytes(outcomes, hashlib.sha256(items).hexdigest())).hexdigest()


def discard(directory: Path, task: str, file: str) -> tuple[str, ...]:
    """Remove outcomes that no entry refers to any more, and the items that only they referred to. Returns what there is to say.

    The caller holds the lock of the task and has looked that no entry names the file. Damage of other outcomes is no
    reason to fail: then all items stay, which is said.
    """
    path = path_of(directory, task, file)
    try:
        path.unlink(missing_ok=True)
    except OSError as fault:
        raise UsageError(f"cannot remove {str(path)!r}", got=fault.strerror or str(fault), need="permission") from fault
    try:
        sweep_items(directory, task)
    except SourceError as fault:
        return (f"items that nobody may need any more stay where they are: {fault}",)
    return ()


def sweep_items(directory: Path, task: str) -> tuple[str, ...]:
    """Remove the files of items that no outcomes use any more, and name them. Only under the lock of the task.

    A file of outcomes that cannot be read may refer to any of them: then nothing is removed.
    """
    folder = items_directory(directory, task)
    used = set()
    for path in sorted(folder.glob("*.outcomes")):
        with _told(path):
            used.add(f"{_Shape.of(outcomes_header(_found(path))).items[:12]}.items")
    gone = sorted(path.name for path in folder.glob("*.items") if path.name not in used)
    for name in gone:
        path = inside(directory, f"{folder.name}/{name}")
        try:
            path.unlink(missing_ok=True)
        except OSError as fault:
            raise SourceError(f"cannot remove {str(path)!r}", got=fault.strerror or str(fault), need="permission") from fault
    return tuple(gone)


def _found(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except SourceError as fault:
        raise SourceError(fault.what, got=fault.got, need=fault.need, hint=MEND) from fault


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Damage, with the name of the file and what to do about it."""
    try:
        yield
    except Damaged as fault:
        raise SourceError(
            f"cannot read the item outcomes in {str(path)!r}", got=str(fault), need="the file as it was written", hint=MEND
        ) from fault


# ---- header and blocks ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """The header: what is in the file. `items` is the SHA-256 of the file of items, which is named by its beginning."""

    n: int
    runs: int
    items: str
    columns: dict[str, str]  # of a run: bit, float or code
    shared: dict[str, str]  # of an item
    labels: int
    partial: list[int]  # runs, from 1, that lack items

    @classmethod
    def of(cls, header: dict[str, Any]) -> _Shape:
        try:
            shape = cls(**{key: value for key, value in header.items() if key != "sha256"})
            whole = all(type(value) is int and value >= least for value, least in ((shape.n, 1), (shape.runs, 1), (shape.labels, 0)))
            kinds = [*shape.columns.items(), *shape.shared.items()]
            known = set(shape.columns) <= set(OF_RUNS) and set(shape.shared) <= set(OF_ITEMS)
            fit = all(kind in (("code",) if name in CODED else ("bit", "float")) for name, kind in kinds)
            if whole and known and fit and shape.columns and len(shape.items) == 64 and int(shape.items, 16) >= 0:
                return shape
        except (TypeError, ValueError, AttributeError):
            pass
        raise Damaged("a header that this version cannot read")

    def blocks(self) -> Iterator[tuple[str, str, str, int]]:
        """Heading, column, kind and run (0: of the items) of each block, in the order of the file."""
        for name in sorted(self.shared):
            yield name, name, self.shared[name], 0
        for run in range(1, self.runs + 1):
            if run in self.partial:
                yield f"run {run} present", "present", "bit", run
            for name in sorted(self.columns):
                yield f"run {run} {name}", name, self.columns[name], run


def _outcomes_bytes(outcomes: Outcomes, digest: str) -> bytes:
    first = outcomes.runs[0]
    shape = _Shape(
        n=outcomes.n,
        runs=len(outcomes.runs),
        items=digest,
        columns={name: _kind(name, outcomes.runs) for name in OF_RUNS if getattr(first, name) is not None},
        shared={name: _kind(name, (outcomes,)) for name in OF_ITEMS if getattr(outcomes, name) is not None},
        labels=len(outcomes.labels),
        partial=[number for number, run in enumerate(outcomes.runs, 1) if run.present is not None],
    )
    blocks = [("labels", [field_text(name) for name in outcomes.labels])] if outcomes.labels else []
    for heading, name, kind, number in shape.blocks():
        of = outcomes.runs[number - 1] if number else outcomes
        blocks.append((heading, _written(getattr(of, name), kind, getattr(of, "present", None))))
    header = {each: getattr(shape, each) for each in _Shape.__slots__}
    return outcomes_text(header, blocks)


def _kind(name: str, holders: tuple[Any, ...]) -> str:
    """bit only if every number is exactly 0.0 or 1.0: -0.0 would come back as another number."""
    if name in CODED:
        return "code"
    for of in holders:
        column = getattr(of, name)
        answers = column if getattr(of, "present", None) is None else column[of.present]
        if not (((answers == 0) & ~np.signbit(answers)) | (answers == 1)).all():
            return "float"
    return "bit"


def _written(column: Array, kind: str, present: Mask | None) -> list[str]:
    if kind == "bit":
        return bits_text(np.packbits(column == 1).tobytes())  # where there is no answer, 0
    values = list(map(repr, column.tolist()))
    if present is not None:
        values = [value if there else ABSENT for value, there in zip(values, present.tolist(), strict=True)]
    return values_text(values, kind)


def _taken(shape: _Shape, lines: Iterator[str]) -> dict[str, Any]:
    """The columns of the items, and the runs."""
    labels: list[str | None] = []
    if shape.labels:
        take_heading(lines, "labels")
        labels = [field_of(line) for line in take_lines(lines, shape.labels)]
        if None in labels or len(set(labels)) < len(labels):
            raise Damaged("labels that are missing or repeated")
    holders: list[dict[str, Any]] = [{} for _ in range(shape.runs + 1)]
    for heading, name, kind, number in shape.blocks():
        take_heading(lines, heading)
        if name == "present":
            holders[number][name] = _bits(lines, shape.n)
        else:
            holders[number][name] = _column(lines, shape, kind, holders[number].get("present"))
    if next(lines, None) is not None:
        raise Damaged("more lines than the header says")
    return {**holders[0], "labels": tuple(labels), "runs": tuple(RecordedRun(**run) for run in holders[1:])}


def _bits(lines: Iterator[str], n: int) -> Mask:
    return np.unpackbits(np.frombuffer(take_bits(lines, n), np.uint8), count=n).astype(bool)


def _column(lines: Iterator[str], shape: _Shape, kind: str, present: Mask | None) -> Array:
    """One block as an array, NaN or -1 where the run has no answer and nowhere else."""
    there = np.ones(shape.n, bool) if present is None else present
    if kind == "bit":
        return np.where(there, _bits(lines, shape.n).astype(np.float64), np.nan)
    hole, make = ("-1", int) if kind == "code" else ("nan", float)
    values = take_values(lines, shape.n, kind)
    try:
        column = np.array([make(hole if value == ABSENT else value) for value in values], np.int64 if make is int else np.float64)
    except (ValueError, OverflowError):
        raise Damaged("values that are not numbers") from None
    good = (column >= 0) & (column < shape.labels) if kind == "code" else np.isfinite(column)
    if (good != there).any():
        raise Damaged("codes without a label, or numbers that are missing or not finite")
    return column
