"""The history of a task's references as it lies on disk, without what a killed process left to be settled."""

from __future__ import annotations

from pathlib import Path

from steelyard_old.reference.changes import Change, changes_of


def changes_in(path: Path) -> tuple[Change, ...]:
    """All of them, oldest first; none where there is no file."""
    return changes_of(path.read_bytes() if path.exists() else b"", path)
