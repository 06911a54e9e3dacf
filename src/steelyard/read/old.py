"""What only the house of 0.1 can read until the readers have moved: addresses, and the logs of tools."""

from __future__ import annotations

import os
from typing import Any


def read_by_old(source: Any) -> bool:
    """Whether a source is an address or the log of a tool."""
    if not isinstance(source, str | os.PathLike):
        return False
    text = os.fspath(source)
    path = text.partition("=")[2] if "=" in text and not os.path.lexists(text) else text
    if "://" in path or path.startswith("mlflow:"):
        return True
    if not os.path.exists(path) or path.lower().endswith((".csv", ".tsv", ".txt", ".csv.gz")):
        return False
    from steelyard_old.read.logs.found import is_log

    if os.path.isdir(path):
        if is_log(path):
            return True
        inside = sorted(os.path.join(root, name) for root, _, names in os.walk(path) for name in names)
        return any(map(is_log, inside[:20]))
    return bool(is_log(path))


def answered_there(verb: str, sources: tuple[Any, ...], said: dict[str, Any]) -> Any:
    """The old house's answer to the same question; what was left out here is left out there."""
    import steelyard_old

    given = {name: value for name, value in said.items() if value not in (None, "error", "never", "holm")}
    return getattr(steelyard_old, verb)(*sources, **given)
