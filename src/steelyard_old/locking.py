"""One writer at a time: a lock of the operating system on `NAME.lock` beside the file, and updates that lose no other update."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from steelyard_old.atomic import read_if_there, write_atomic
from steelyard_old.errors import UsageError

if TYPE_CHECKING:
    from filelock import BaseFileLock

PATIENCE = 30.0  # seconds
TRIES = 5
MOST = 4096  # bytes of a lock file that are read; ours have about a hundred


class LockHeldError(UsageError):
    """Another process holds the lock. `pid` is that process, where it said so."""

    pid: int | None = None


class Lock:
    """While it is held, nobody else who asks gets the lock of the same file (`NAME.lock` beside it). Not reentrant.

    The operating system gives the lock back when the process ends, however it ends, so no lock is ever stale. What is in the
    file only names the holder for those who wait; the file goes with the lock, and one that a kill left is in nobody's way.
    A filesystem without locks is an error: a lock that only some can see would protect nothing.
    """

    def __init__(self, path: Path, *, timeout: float = PATIENCE) -> None:
        target = Path(os.path.realpath(path))  # two links to one file are one file
        self.path = target.with_name(target.name + ".lock")
        self.timeout = timeout
        self._lock: BaseFileLock | None = None
        self._locked: os.stat_result | None = None

    def __enter__(self) -> Lock:
        from filelock import FileLock, Timeout  # some milliseconds, which only writers need

        self._refuse_other_than_lock()
        deadline = time.monotonic() + self.timeout
        lock = self._lock = FileLock(self.path, thread_local=False, fallback_to_soft=False, poll_interval=0.01, on_acquired=self._sign)
        try:
            while True:
                lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
                if self.held():
                    return self
                lock.release()  # the lock file went with its holder while we waited for it
        except Timeout:
            raise self._held_by_another() from None
        except OSError as fault:
            need = "a lock file that can be written, on a filesystem with locks"
            raise self._refused(fault.strerror or str(fault), need, f"it needs {need}") from fault

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        if self._lock is None or not self._lock.is_locked:
            return  # never taken; or a forked child, which has our memory but not our lock
        if self.held() and os.name != "nt":  # what is open cannot be removed there: filelock does it
            with contextlib.suppress(OSError):
                self.path.unlink()  # while it is held: who waits for this file looks again, and finds that it is gone
        self._lock.release()

    def held(self) -> bool:
        """Whether the lock is still ours: somebody may have removed its file, and taken a new one."""
        if self._lock is None or self._locked is None or not self._lock.is_locked:
            return False
        try:
            return os.path.samestat(self._locked, os.lstat(self.path))
        except OSError:
            return False

    def insist(self) -> None:
        """An error unless the lock is still ours: the last thing to ask before writing."""
        if not self.held():
            raise UsageError(
                f"Somebody else removed the lock {str(self.path)!r}.",
                got="somebody else who removed it",
                need="the lock until the end",
                hint="try again",
            )

    def _sign(self, handle: int) -> None:
        """The name of the holder, into the file it holds."""
        self._locked = os.fstat(handle)
        try:
            os.ftruncate(handle, 0)
            os.write(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "time": time.time()}).encode())
        except OSError:  # a full disk: filelock gives the lock back
            with contextlib.suppress(OSError):
                self.path.unlink()
            raise

    def _refuse_other_than_lock(self) -> None:
        """An error at once for what is no lock file, and where none can be: filelock would follow it, wait for it or make directories."""
        if not self.path.parent.is_dir():
            raise self._refused("its directory does not exist", "a directory that exists and can be written to")
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(self.path).st_mode):
                got = "it is not a lock file but a link, a pipe or a directory"
                raise self._refused(got, "a lock file, or nothing", "look at it, then remove it")

    def _refused(self, got: str, need: str, hint: str = "") -> UsageError:
        return UsageError(f"Cannot lock {str(self.path)!r}: {got}.", got=got, need=need, hint=hint)

    def _held_by_another(self) -> LockHeldError:
        pid, named = _holder(self.path)
        refused = LockHeldError(
            f"{str(self.path)!r} is locked by {named} (waited {self.timeout:g} seconds).",
            got=f"a lock held by {named}, after {self.timeout:g} seconds of waiting",
            need="one writer at a time",
            hint="wait for that process, or end it",
        )
        refused.pid = pid
        return refused


def _holder(path: Path) -> tuple[int | None, str]:
    """The process that holds a lock, by its own word, and how to name it. Any content of the file is survived."""
    try:
        with open(path, "rb") as file:
            said = json.loads(file.read(MOST))
        pid, since = int(said["pid"]), time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(said["time"]))
        return pid, f"process {pid} on {said['host']}, since {since}"
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None, "a process that did not sign it"


def is_held(path: Path) -> bool:
    """Whether a process holds the lock of this file now. Nothing is made or written."""
    try:
        handle = os.open(Lock(path).path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    from filelock import lock_descriptor

    try:
        return stat.S_ISREG(os.fstat(handle).st_mode) and not lock_descriptor(handle, blocking=False)
    except OSError:
        return False  # not to be found out here: then what a killed process may have left is told rather than hidden
    finally:
        os.close(handle)


def update_file(path: Path, change: Callable[[bytes | None], bytes], *, timeout: float = PATIENCE) -> bytes:
    """Replace a file by what `change` makes of it, and lose nothing that others write meanwhile.

    `change` gets the content (None: no file) and returns the new one; it may be called again, if a writer that does not ask
    for the lock (an editor, git) came in between. Returns what is now in the file.
    """
    with Lock(path, timeout=timeout) as lock:
        for _ in range(TRIES):
            old = read_if_there(path)
            new = change(old)
            if read_if_there(path) != old:
                continue
            lock.insist()
            if new != old:
                write_atomic(path, new)
            return new
    raise never_rests(path)


def never_rests(path: Path) -> UsageError:
    """The error for a file that others write all the time."""
    return UsageError(
        f"{str(path)!r} changed {TRIES} times while it was being updated.",
        got=f"a file that changed {TRIES} times while it was being updated",
        need="a moment without other writers",
        hint="something keeps writing it: an editor, a checkout, a file synchroniser?",
    )
