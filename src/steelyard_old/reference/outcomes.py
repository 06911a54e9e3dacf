"""Item outcomes on record: what every item scored in every run, kept in two small text files beside the task's references.

    TASK.items/<12 hex>.items       the items (key, hash of the content, group): shared by all models measured on them; a line for
                                    each, or packed where they are many (`packed_items`)
    TASK.items/<name>.outcomes      the runs of one model under one spec

The bytes depend on the outcomes alone, never on the order of rows.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

from steelyard_old.atomic import read_bytes, write_atomic
from steelyard_old.errors import SourceError, UsageError
from steelyard_old.reference.names import inside, items_directory
from steelyard_old.reference.outcome_items import (
    Outcomes,
    RecordedRun,
    changed_contents,
    hash_id,
    hash_ids,
    items_alone,
    outcomes_of,
    to_items,
)
from steelyard_old.reference.outcome_text import Damaged, items_of, items_text, outcomes_bytes, outcomes_of_text, shape_of, taken
from steelyard_old.reference.packed_items import PACKED, packed_items, unpacked, worth_packing

__all__ = [
    "Outcomes",
    "RecordedRun",
    "changed_contents",
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

MEND = "git checkout the file, or record the reference again"


def save(directory: Path, task: str, name: str, outcomes: Outcomes) -> str:
    """Write the outcomes, and their items if they are not there yet. Returns the name of the file, relative to the directory.

    The items come first: a crash in between leaves a file that nobody refers to, never a reference to nothing.
    """
    folder = items_directory(directory, task)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError(
            f"Cannot make the directory {str(folder)!r}: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="permission"
        ) from fault
    digest, items, made = _files(outcomes)
    shared = inside(directory, f"{task}.items/{digest[:12]}.items")
    relative = f"{task}.items/{name}.outcomes"
    path = inside(directory, relative)
    if not shared.is_file() or _items_digest(read_bytes(shared), outcomes.n) != digest:
        write_atomic(shared, items)
    write_atomic(path, made)
    return relative


def _files(outcomes: Outcomes) -> tuple[str, bytes, bytes]:
    """The digest of the items, their file, and that of the outcomes; made once for outcomes that are named and then written."""
    if outcomes not in _MADE:
        if worth_packing(outcomes):
            digest, items = packed_items(outcomes)
        else:
            items = items_text(outcomes.keys, outcomes.content, outcomes.group, hashed=outcomes.hashed)
            digest = hashlib.sha256(items).hexdigest()
        _MADE[outcomes] = digest, items, outcomes_bytes(outcomes, digest)
    return _MADE[outcomes]


_MADE: WeakKeyDictionary[Outcomes, tuple[str, bytes, bytes]] = WeakKeyDictionary()


def _items_digest(data: bytes, most: int) -> str | None:
    """The digest of a file of items; None if it is damaged."""
    if not data.startswith(PACKED):
        return hashlib.sha256(data).hexdigest()
    try:
        return unpacked(data, most=most)[-1]
    except Damaged:
        return None


def load(directory: Path, task: str, file: str) -> Outcomes:
    """The outcomes that were saved, every byte checked."""
    path = path_of(directory, task, file)
    with _told(path):
        found = _found(path)
        shape, lines = outcomes_of_text(found)
    shared = inside(directory, f"{task}.items/{shape.items[:12]}.items")
    with _told(shared):
        data = _found(shared)
        items = unpacked(data, most=8 * len(found)) if data.startswith(PACKED) else items_of(data)  # an item has at least a bit there
        if items[-1] != shape.items:
            raise Damaged(f"other content than {path.name} was recorded with")
        keys, contents, groups, hashed, _ = items
    with _told(path):
        if len(keys) != shape.n:
            raise Damaged(f"{shape.n} items, where {shared.name} has {len(keys)}")
        labels, shared_columns, runs = taken(shape, lines)
    made = tuple(RecordedRun(**run) for run in runs)
    return Outcomes(keys=keys, contents=contents, groups=groups, hashed=hashed, labels=labels, runs=made, **shared_columns)


def path_of(directory: Path, task: str, file: str) -> Path:
    """Where the outcomes that an entry names are: beside the task's own, and nowhere else."""
    folder = items_directory(directory, task).name
    if not file.startswith(f"{folder}/") or not file.endswith(".outcomes") or file.count("/") > 1:
        raise UsageError(
            f"The item outcomes must be a file {folder}/NAME.outcomes, not {file!r}.",
            got=repr(file),
            need=f"a file {folder}/NAME.outcomes",
            hint=MEND,
        )
    return inside(directory, file)


def digest(outcomes: Outcomes) -> str:
    """The SHA-256 of the outcomes as they would be written: equal outcomes, equal digest."""
    return hashlib.sha256(_files(outcomes)[-1]).hexdigest()


def discard(directory: Path, task: str, file: str) -> tuple[str, ...]:
    """Remove outcomes that no entry refers to any more, and the items that only they referred to. Returns what there is to say.

    The caller holds the lock of the task and has looked that no entry names the file. Damage of other outcomes is no
    reason to fail: then all items stay, which is said.
    """
    path = path_of(directory, task, file)
    try:
        path.unlink(missing_ok=True)
    except OSError as fault:
        raise UsageError(
            f"Cannot remove {str(path)!r}: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="permission"
        ) from fault
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
            used.add(f"{shape_of(_found(path)).items[:12]}.items")
    gone = sorted(path.name for path in folder.glob("*.items") if path.name not in used)
    for name in gone:
        path = inside(directory, f"{folder.name}/{name}")
        try:
            path.unlink(missing_ok=True)
        except OSError as fault:
            raise SourceError(
                f"Cannot remove {str(path)!r}: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="permission"
            ) from fault
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
            f"The item outcomes in {str(path)!r} are not as they were written ({fault}).",
            got=str(fault),
            need="the file as it was written",
            hint=MEND,
        ) from fault
