"""A file that one process at a time may have open, and that only its owner may read.

The lock belongs to the open file and goes with the process, however that ends: nothing stale is left to be broken.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import sys
from pathlib import Path

from steelyard.errors import UsageError


def opened_alone(path: Path) -> int:
    """A handle on the file, made if it is not there, readable by its owner alone, locked against other processes."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        except (OSError, ValueError) as fault:
            got = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
            raise UsageError(
                f"cannot open the journal {str(path)!r}", got=got, need="a directory that exists and can be written to"
            ) from fault
        try:
            _check_and_lock(handle, path)
            with contextlib.suppress(OSError):
                os.chmod(path, 0o600)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the run that had it was completed meanwhile, and took it away


def _check_and_lock(handle: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise UsageError(f"cannot open the journal {str(path)!r}", got="something that is no file", need="a file, or nothing there")
    try:
        _lock(handle)
    except OSError as fault:
        if fault.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            pid = _opened_by(path)
            raise UsageError(
                f"cannot open the journal {str(path)!r}",
                got=f"a run that is writing it{f', process {pid}' if pid else ''}",
                need="one run at a time",
                hint="wait until that run has ended, or write to another -o",
            ) from None
        got = f"{fault.strerror or fault} when locking it"
        raise UsageError(f"cannot open the journal {str(path)!r}", got=got, need="a filesystem with locks", hint="another -o") from fault


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, 2**62, os.SEEK_SET)  # a byte that no line will ever reach: such locks keep readers out too
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _opened_by(path: Path) -> int | None:
    """The process that opened the journal last, by its own word."""
    pid = None
    with contextlib.suppress(OSError, ValueError, KeyError), open(path, "rb") as lines:
        for line in lines:
            if line.startswith(b'{"opened":') and line.endswith(b"\n"):
                pid = int(json.loads(line)["opened"])
    return pid
