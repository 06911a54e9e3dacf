"""One writer at a time, on any filesystem: a lock file that names its owner, and updates that lose no other update."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import socket
import stat
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from steelyard.errors import UsageError
from steelyard.reference.atomic import read_if_there, write_all, write_atomic

PATIENCE = 30.0  # seconds
FOREIGN = 600.0  # a lock from another machine, whose processes we cannot see, is given up after so many seconds
UNSIGNED = 10.0  # a lock without an owner: its maker died between creating and signing it, which takes microseconds
TRIES = 5
MOST = 65536  # bytes of a lock file; ours have some hundred


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who holds a lock. The place tells machines, boots and containers apart: the same pid means something else in each."""

    host: str
    place: str
    pid: int
    started: str | None  # of the process, so that a pid that was given away again is not mistaken for it
    time: float
    token: str

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.time))
        return f"process {self.pid} on {self.host}, since {since}"


class Lock:
    """While it is held, nobody else who asks gets the lock of the same file (`NAME.lock` beside it).

    A lock whose owner is gone is broken: the same place and the pid is gone or given to another process, or another
    place and older than ten minutes. Not reentrant.
    """

    def __init__(self, path: Path, *, timeout: float = PATIENCE) -> None:
        target = Path(os.path.realpath(path))  # two links to one file are one file
        self.path = target.with_name(target.name + ".lock")
        self.timeout = timeout
        self._signed: bytes | None = None
        self._mark: tuple[int, ...] | None = None
        self._pid = 0  # a forked child has our memory, but not our lock

    def __enter__(self) -> Lock:
        deadline = time.monotonic() + self.timeout
        pause = 0.002
        while not self._take():
            self._refuse_strange()
            if not _break_if_stale(self.path):
                if time.monotonic() >= deadline:
                    raise self._refused()
                # An uneven pause, so that waiting processes do not knock all at the same moment.
                time.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
                pause = min(2 * pause, 0.02)  # short: who writes much leaves the lock free for a moment only
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        if self.held():
            with contextlib.suppress(OSError):  # what cannot be removed is stale as soon as this process ends
                self.path.unlink()
        self._signed = None

    def held(self) -> bool:
        """Whether the lock is still ours: a process that slept for long may have been given up."""
        if self._signed is None or self._pid != os.getpid():
            return False
        found = _content(self.path)
        return found == self._signed or (
            found is None and self._mark is not None and _mark(self.path) == self._mark
        )  # no file can be opened: is it the same?

    def insist(self) -> None:
        """An error unless the lock is still ours: the last thing to ask before writing."""
        if not self.held():
            raise UsageError(
                f"cannot keep the lock {str(self.path)!r}",
                got="somebody else who broke it",
                need="the lock until the end",
                hint="try again",
            )

    def _take(self) -> bool:
        signed = json.dumps(asdict(_ourselves()), sort_keys=True).encode() + b"\n"
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            return False
        except OSError as fault:
            raise UsageError(
                f"cannot lock {str(self.path)!r}", got=fault.strerror or str(fault), need="a directory that exists and can be written to"
            ) from fault
        try:
            write_all(handle, signed)
        except BaseException as fault:
            with contextlib.suppress(OSError):
                self.path.unlink()
            if isinstance(fault, OSError):
                raise UsageError(f"cannot lock {str(self.path)!r}", got=fault.strerror or str(fault), need="room on the disk") from fault
            raise
        finally:
            os.close(handle)
        self._signed, self._pid, self._mark = signed, os.getpid(), _mark(self.path)
        return self.held()  # a process that was put to sleep before it could sign has been given up

    def _refuse_strange(self) -> None:
        """An error at once for what is no lock file of anybody: waiting for it would be waiting for ever."""
        try:
            mode = os.lstat(self.path).st_mode
        except OSError:
            return
        if not stat.S_ISREG(mode):
            raise UsageError(
                f"cannot lock {str(self.path)!r}",
                got="something there that is not a lock file: a link, a pipe or a directory",
                need="a lock file, or nothing",
                hint="look at it, then remove it",
            )

    def _refused(self) -> UsageError:
        owner = _owner_of(_content(self.path) or b"")
        return UsageError(
            f"cannot lock {str(self.path)!r}",
            got=f"a lock held by {owner or 'somebody who did not sign it'}, after {self.timeout:g} seconds of waiting",
            need="one writer at a time",
            hint="wait for that process; if it is gone, delete the lock file",
        )


def update_file(path: Path, change: Callable[[bytes | None], bytes], *, timeout: float = PATIENCE) -> bytes:
    """Replace a file by what `change` makes of it, and lose nothing that others write meanwhile.

    `change` gets the content (None: no file) and returns the new one; it may be called again, if a writer that does not ask
    for the lock (an editor, git) came in between. Returns what is now in the file.
    """
    with Lock(path, timeout=timeout) as lock:
        for _ in range(TRIES):
            old = read_if_there(path)
            new = change(old)
            if _digest(read_if_there(path)) != _digest(old):
                continue
            lock.insist()
            if new != old:
                write_atomic(path, new)
            return new
    raise UsageError(
        f"cannot update {str(path)!r}",
        got=f"a file that changed {TRIES} times while it was being updated",
        need="a moment without other writers",
        hint="something writes it all the time: an editor, a checkout, a file synchroniser",
    )


def _digest(data: bytes | None) -> bytes | None:
    return None if data is None else hashlib.sha256(data).digest()


# ---- owners --------------------------------------------------------------------------------------------------------


def _ourselves() -> Owner:
    pid = os.getpid()
    return Owner(host=socket.gethostname(), place=_place(), pid=pid, started=_started(pid)[1], time=time.time(), token=secrets.token_hex(8))


def _place() -> str:
    """What makes a pid mean what it means: the machine, its boot, its container."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _started(pid: int) -> tuple[bool | None, str | None]:
    """Whether the process lives (None: cannot be told) and when it started, where the system tells."""
    if os.name == "nt":
        return None, None  # os.kill(pid, 0) would interrupt it there
    if os.path.isdir("/proc/self"):
        try:
            # The name of the command is in brackets and may hold anything; what follows the last bracket is numbers.
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
            return fields[0] not in ("Z", "X"), fields[19]
        except (OSError, IndexError):
            pass  # gone, or hidden from us because it is another user's: ask in the other way
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False, None
    except OSError:
        return True, None  # somebody else's
    return True, None


def _owner_of(signed: bytes) -> Owner | None:
    """Who signed a lock; None for anything that no process of ours can have written."""
    try:
        owner = Owner(**json.loads(signed))
        texts = all(isinstance(text, str) for text in (owner.host, owner.place, owner.token))
        known = owner.started is None or isinstance(owner.started, str)
        pid = type(owner.pid) is int and 0 < owner.pid < 2**31
        since = type(owner.time) in (int, float) and 0 <= owner.time < 2**33  # no NaN, and a date that can be written
        return owner if texts and known and pid and since else None
    except (ValueError, TypeError, RecursionError):
        return None


def _content(path: Path) -> bytes | None:
    """What is in a lock file; None if it is gone, cannot be read, or is no file. Never waits for the other end of a pipe."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    try:
        return os.read(handle, MOST) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(handle)


def _mark(path: Path) -> tuple[int, ...] | None:
    """What tells a file from one that took its place, without opening it."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)


def is_held(path: Path) -> bool:
    """Whether a process that is alive holds the lock of this file now."""
    lock = Lock(path).path
    signed = _content(lock)
    return signed is not None and not _is_stale(lock, signed)


def _is_stale(path: Path, signed: bytes) -> bool:
    try:
        age = time.time() - path.stat().st_mtime
    except OSError:
        return False
    owner = _owner_of(signed)
    if owner is None:
        return age > UNSIGNED
    age = min(age, time.time() - owner.time)  # clocks of two machines: both must say that it is old
    if owner.place != _place():
        return age > FOREIGN
    alive, started = _started(owner.pid)
    if alive is None:
        return age > FOREIGN
    return not alive or (started is not None and owner.started is not None and started != owner.started)


def _break_if_stale(path: Path) -> bool:
    """Take a stale lock away. True if the lock may be free now.

    Between the look at a lock and its removal another process could break it and take it; removing that one would make two
    owners. So breakers take turns (`.break`), look again, and rename before they delete: what was renamed by mistake
    can be put back.
    """
    signed = _content(path)
    if signed is None:
        return not path.exists()
    if not _is_stale(path, signed):
        return False
    turn = path.with_name(path.name + ".break")
    try:
        os.close(os.open(turn, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError:
        with contextlib.suppress(OSError):
            if time.time() - turn.stat().st_mtime > UNSIGNED:
                turn.unlink()  # a breaker that was killed in its turn
        return False
    try:
        return _rename_away(path, signed)
    finally:
        with contextlib.suppress(OSError):
            turn.unlink()


def _rename_away(path: Path, signed: bytes) -> bool:
    if _content(path) != signed:
        return False
    away = path.with_name(f"{path.name}.{secrets.token_hex(8)}.stale")
    try:
        os.rename(path, away)
    except OSError:
        return False
    if _content(away) == signed:
        with contextlib.suppress(OSError):
            away.unlink()
        return True
    with contextlib.suppress(OSError):
        os.link(away, path)  # fails if there is a lock again
    with contextlib.suppress(OSError):
        away.unlink()
    return False
