"""Files written whole or not at all: beside the target, down to the disk, then one rename."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from pathlib import Path

from steelyard_old.errors import SourceError, UsageError

MOST = 256 * 2**20  # bytes; what people keep in a repository is far below
LEFT_BEHIND = 3600.0  # seconds after which a temporary file can only belong to a process that was killed


def write_atomic(path: Path, data: bytes) -> None:
    """Put data at path so that a reader, and a machine that loses power, sees the old file or the new one.

    The permissions of an existing file are kept; a link is followed, so that it stays a link. Temporary files have random
    names (`.NAME.HEX.tmp`): what a killed process left behind is in nobody's way, and is swept up an hour later.
    """
    target = Path(_real(path))
    mode = _mode_of_existing(target, path)
    temporary = beside(target)
    try:
        _write_down(temporary, data, mode)
        put_in_place(temporary, target, replace=True)
    except BaseException as fault:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if not isinstance(fault, OSError):
            raise
        raise _not_written(path, fault, existed=mode is not None) from fault
    sync_directory(target.parent)
    sweep(target)


def beside(target: Path) -> Path:
    """A name in the directory of the target that nobody else has, for what is written before it takes its place."""
    import secrets

    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")


def put_in_place(temporary: Path, target: Path, *, replace: bool) -> None:
    """Give a file that is written its name: in place of the old one, or only if there is none (else FileExistsError), whoever else
    writes at the same time."""
    if replace:
        os.replace(temporary, target)
        return
    try:
        os.link(temporary, target)
    except OSError as fault:
        if fault.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK):
            raise
        if os.path.lexists(target):  # a file system without links
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(temporary, target)
        return
    temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """A text for people: as `write_atomic`, in UTF-8; a pipe or a device is written into, never replaced by a file."""
    data = text.encode("utf-8", "backslashreplace")
    if not os.path.exists(path) or os.path.isfile(path):  # which are False of a name that is too long; `write_atomic` says so
        write_atomic(path, data)
        return
    try:
        path.write_bytes(data)
    except OSError as fault:
        raise UsageError(
            f"Cannot write {str(path)!r}: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="a file or an open pipe"
        ) from fault


def _real(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError) as fault:  # a name with a NUL byte is no name
        raise UsageError(f"Cannot write {str(path)!r}: {fault}.", got=str(fault), need="the name of a file") from fault


def _mode_of_existing(target: Path, shown: Path) -> int | None:
    """The permissions of the file to be replaced, None if there is none. A file protected from writing stays as it is."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise _not_written(shown, fault, existed=False) from fault
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(
            f"{str(shown)!r} is not a file, so it cannot be written.", got="something there that is not a file", need="a file, or nothing"
        )
    if not os.access(target, os.W_OK):
        raise UsageError(
            f"{str(shown)!r} is write-protected.",
            got="a file that is protected from writing",
            need="permission",
            hint="chmod u+w, if you mean it",
        )
    return stat.S_IMODE(found.st_mode)


def _write_down(temporary: Path, data: bytes, mode: int | None) -> None:
    """All bytes in a new file, on the disk. Opened as any program opens a file, so that the umask decides who may read it."""
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        write_all(handle, data)
        if mode is not None:
            os.chmod(temporary, mode)
        os.fsync(handle)
    finally:
        os.close(handle)  # may report a full disk as well: network filesystems wait until here


def write_all(handle: int, data: bytes) -> None:
    """os.write until nothing is left: a disk that fills up takes a part and says so only the next time."""
    rest = memoryview(data)
    while rest:
        written = os.write(handle, rest)
        if written == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rest = rest[written:]


def sync_directory(directory: Path) -> None:
    """Make a rename or a new name in the directory last, where the system can."""
    if os.name == "nt":
        return  # a directory cannot be opened there
    try:
        handle = os.open(directory, os.O_RDONLY)
    except PermissionError:
        return  # a directory may be open for writing and closed for reading
    except OSError as fault:
        raise _not_lasting(directory, fault) from fault
    try:
        os.fsync(handle)
    except OSError as fault:
        if fault.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):  # filesystems that have no such thing
            raise _not_lasting(directory, fault) from fault
    finally:
        os.close(handle)


def _not_lasting(directory: Path, fault: OSError) -> UsageError:
    return UsageError(
        f"What was written to {str(directory)!r} may not last: {fault.strerror or str(fault)}.",
        got=fault.strerror or str(fault),
        need="a disk that takes it",
        hint="check the disk, then repeat the command",
    )


def _not_written(path: Path, fault: OSError, *, existed: bool) -> UsageError:
    full = fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return UsageError(
        f"Cannot write {str(path)!r}: {fault.strerror or fault}.",
        got=fault.strerror or str(fault),
        need="room on the disk" if full else "a directory that exists and can be written to",
        hint="the old file is as it was" if existed else "nothing was written",
    )


def sweep(target: Path, *, older_than: float = LEFT_BEHIND) -> None:
    """Remove what killed processes left beside the target so many seconds ago. No failure of this is worth a word."""
    ours = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.tmp")
    with contextlib.suppress(OSError):
        for name in os.listdir(target.parent):
            if ours.fullmatch(name):
                left = target.with_name(name)
                if time.time() - left.stat().st_mtime > older_than:
                    left.unlink()


def remove_file(path: Path) -> None:
    """Remove a file so that it stays removed; one that is not there is fine."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except OSError as fault:
        raise UsageError(
            f"Cannot remove {str(path)!r}: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="permission"
        ) from fault
    sync_directory(path.parent)


def read_bytes(path: Path, *, most: int = MOST) -> bytes:
    """The content of a regular file of at most so many bytes."""
    found = read_if_there(path, most=most)
    if found is None:
        raise SourceError(f"No such file: {str(path)!r}.", got="no such file", need="a file")
    return found


def read_if_there(path: Path, *, most: int = MOST) -> bytes | None:
    """The content of a regular file, None if there is nothing at that path."""
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)  # looked at before it is opened: a pipe would wait for its other end
        data = b""
        if regular:
            with open(path, "rb") as file:
                data = file.read(most + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as fault:  # ValueError: a NUL byte in the name
        said = getattr(fault, "strerror", None) or str(fault)
        raise SourceError(f"Cannot read {str(path)!r}: {said}.", got=said, need="a file that can be read") from fault
    if not regular:
        raise SourceError(f"{str(path)!r} is not a file.", got="something that is not a file", need="a file")
    if len(data) > most:
        raise SourceError(
            f"{str(path)!r} is larger than {most} bytes.",
            got=f"more than {most} bytes",
            need=f"at most {most}",
            hint="is it the right file?",
        )
    return data
