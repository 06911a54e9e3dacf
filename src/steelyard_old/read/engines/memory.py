"""What DuckDB may take while a question is answered: how much memory, and who is told how far it is.

Both hold for the connections that are made inside `working`: readers are many and lie deep, and none of them needs to know.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeVar

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern

DEFAULT = 800 * 10**6  # bytes; large joins under it take no longer than with more, although they spill to disk
LEAST = 64 * 10**6  # below it DuckDB cannot hold the buffers of one file
PER_THREAD = 64 * 10**6  # a join needs about this much for every thread, or it fails instead of spilling
_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = late_pattern(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*\Z", re.IGNORECASE)
_PAUSE = 0.2  # seconds between two looks at a query
Progress = Callable[[str, float], None]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Allowance:
    """memory: bytes, None for the default. progress(what, fraction): called while a long query runs, from another thread."""

    memory: int | None = None
    progress: Progress | None = None


_NOW: ContextVar[Allowance] = ContextVar("allowance", default=Allowance())  # noqa: B039 - frozen, so no one can change it


@contextmanager
def working(*, memory: str | int | None = None, progress: Progress | None = None) -> Iterator[None]:
    """What is given here holds inside; what is not stays as it was."""
    now = _NOW.get()
    if memory is not None:
        now = replace(now, memory=memory_of(memory))
    if progress is not None:
        now = replace(now, progress=progress)
    token = _NOW.set(now)
    try:
        yield
    finally:
        _NOW.reset(token)


def memory_of(size: str | int) -> int:
    """A size in bytes: 2GB, 512 MB, 1.5GiB, or a number of bytes.

    >>> memory_of("2GB"), memory_of("512 MiB")
    (2000000000, 536870912)
    """
    found = _SIZE.match(size) if isinstance(size, str) else None
    if isinstance(size, int) and not isinstance(size, bool):
        bytes_ = size
    elif found is not None and found[2].lower() in _UNITS:
        bytes_ = round(float(found[1]) * _UNITS[found[2].lower()])
    else:
        raise UsageError(
            f"The memory limit must be a size such as 2GB or 512MB, not {size!r}.",
            got=repr(size),
            need="a size such as 2GB or 512MB",
            hint="memory='2GB'",
        )
    if bytes_ < LEAST:
        raise UsageError(
            f"The memory limit {size!r} is too small; it must be {LEAST // 10**6}MB or more.",
            got=f"{size!r}",
            need=f"{LEAST // 10**6}MB or more",
            hint="what does not fit in memory goes to disk",
        )
    return bytes_


def is_limited() -> bool:
    """Whether somebody asked for a limit."""
    return _NOW.get().memory is not None


def memory() -> int:
    """The bytes that a connection may take now: what was asked for, else the default or half of what the machine has."""
    asked = _NOW.get().memory
    return asked if asked is not None else max(LEAST, min(DEFAULT, _installed() // 2))


def threads(bytes_: int) -> int:
    """How many threads fit into some memory."""
    return max(1, min(os.cpu_count() or 1, bytes_ // PER_THREAD))


def _installed() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system tells
        return 2 * DEFAULT


# ---- how far it is ---------------------------------------------------------------------------------------------------


def is_watched() -> bool:
    """Whether someone wants to know how far a query is."""
    return _NOW.get().progress is not None


def tell(what: str, fraction: float) -> None:
    """Say how far something is that is no query."""
    progress = _NOW.get().progress
    if progress is not None:
        progress(what, fraction)


def watched(con: Any, what: str, query: Callable[[], Answer]) -> Answer:
    """The answer of a query on a connection; meanwhile its progress is told, if someone listens."""
    progress = _NOW.get().progress
    if progress is None:
        return query()
    done = threading.Event()

    def look() -> None:
        while not done.wait(_PAUSE):
            percent = con.query_progress()
            if percent is not None and 0 <= percent <= 100:
                progress(what, percent / 100)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        return query()
    finally:
        done.set()
        watcher.join()
