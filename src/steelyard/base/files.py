"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable

from steelyard.base.problem import SteelyardError


def write_whole(path: str, content: bytes) -> None:
    """Bytes as a file: whoever reads it sees the old one or the new one."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=".steelyard-")
    except OSError as fault:
        raise SteelyardError(f"Cannot write {path!r}: {fault.strerror}.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def refuse_over(outputs: Iterable[str], inputs: Iterable[str]) -> None:
    """No output may be a file that is read."""
    read = {os.path.realpath(path): path for path in inputs if os.path.exists(path)}
    for output in outputs:
        if os.path.realpath(output) in read:
            raise SteelyardError(f"{output!r} is a file that is read; it would be overwritten.", hint="write to another file")
        if not os.path.isdir(os.path.dirname(os.path.abspath(output))):
            raise SteelyardError(f"There is no directory {os.path.dirname(output)!r} to write {os.path.basename(output)!r} into.")
