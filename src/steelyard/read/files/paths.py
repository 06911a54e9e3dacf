"""From what the user wrote to the regular files it means: a file, a directory, a glob pattern, name=path, or - for stdin."""

from __future__ import annotations

import glob
import os
import re
import shlex
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import BinaryIO

from steelyard.errors import SourceError
from steelyard.options import nearest
from steelyard.read.files.formats import format_of_name
from steelyard.read.files.partitions import is_partition

_NAMED = re.compile(r"([^=/\\*?\[\]]+)=(.+)\Z", re.DOTALL)
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class TemporaryFile:
    """A file of ours that goes away with the source, or at the latest when the program ends."""

    def __init__(self, suffix: str = "") -> None:
        try:
            handle, self.path = tempfile.mkstemp(prefix="steelyard-", suffix=suffix)
        except OSError as error:
            raise _no_room("make a temporary file", error) from None
        self.stream: BinaryIO = os.fdopen(handle, "wb")
        self.remove = weakref.finalize(self, _remove, self.path)

    def fill(self, chunks: Iterable[bytes], doing: str) -> None:
        """Write all of it, and close; nothing stays behind if that fails. doing: what failed, for the message."""
        try:
            with self.stream as out:
                for chunk in chunks:
                    try:
                        out.write(chunk)
                    except OSError as error:
                        raise _no_room(doing, error) from None
        except OSError as error:  # what was buffered, when the file is closed
            self.remove()
            raise _no_room(doing, error) from None
        except BaseException:
            self.remove()
            raise


def _no_room(doing: str, error: OSError) -> SourceError:
    return SourceError(
        f"cannot {doing}",
        got=f"{reason(error)} in the directory for temporary files",
        need="room there",
        hint="set TMPDIR to a directory with more room",
    )


def reason(error: OSError) -> str:
    """Why the system refused, in its words."""
    return (error.strerror or str(error) or type(error).__name__).rstrip(".")


def cannot_open(path: str, error: OSError) -> SourceError:
    """A file or directory that the system does not let us look at; it may be another one than the user named."""
    where = error.filename if isinstance(error.filename, str) and error.filename not in ("", path) else None
    got = reason(error) + ("" if where is None else f": {where!r}")
    return SourceError(f"cannot open {path!r}", got=got, need="a readable file")


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)


def split_name(text: str) -> tuple[str | None, str]:
    """`name=path` apart; a path that exists as it stands, or a pattern that finds something, is never taken apart.

    >>> split_name("baseline=runs/a.csv")
    ('baseline', 'runs/a.csv')
    """
    found = None if os.path.lexists(text) else _NAMED.match(text)
    if found and glob.has_magic(text) and "\0" not in text and next(glob.iglob(text, recursive=True), None) is not None:
        found = None  # year=*/part-*.parquet
    return (found[1], found[2]) if found else (None, text)


def run_name(path: str) -> str | None:
    """The name of a run that was not named: its file without extensions."""
    base = os.path.basename(os.path.normpath(path))
    return re.split(r"\.(?=[A-Za-z])", base)[0] or base if path != "-" and not glob.has_magic(path) else None


def resolve(text: str) -> list[str]:
    """The regular files behind a path, sorted; an error says what is there instead."""
    if "\0" in text or not text:
        raise SourceError("cannot open the source", got=repr(text), need="a path")
    if os.path.isdir(text):
        return _in_directory(text)
    if not os.path.lexists(text) and glob.has_magic(text):
        found = sorted(path for path in glob.glob(text, recursive=True) if not os.path.isdir(path))
        if not found:
            raise SourceError("cannot find a file", got=f"no match for the pattern {text!r}", need="at least one file")
        return [regular(path) for path in found]
    return [regular(text)]


def _in_directory(path: str) -> list[str]:
    names = _listed(path)
    by_format: dict[str, list[str]] = {}
    for name in names:
        kind = format_of_name(name)[0]
        if kind is not None and os.path.isfile(os.path.join(path, name)):
            by_format.setdefault(kind, []).append(name)
    if not by_format:
        raise SourceError(
            f"cannot find results in the directory {path!r}",
            got=f"{len(names)} files, none of a known format",
            need="CSV, JSON, Parquet or Arrow",
        )
    if len(by_format) > 1:
        got = "; ".join(f"{kind}: {', '.join(map(repr, found[:5]))}" for kind, found in sorted(by_format.items()))
        raise SourceError(
            f"cannot read a directory of several formats, {path!r}",
            got=got,
            need="one format",
            hint=f"give a pattern: {shlex.quote(os.path.join(path, '*.' + min(by_format)))}",
        )
    return [regular(os.path.join(path, name)) for found in by_format.values() for name in found]


def _listed(path: str) -> list[str]:
    """The names in a directory, and below it as long as directories are called key=value (Hive partitions)."""
    found: list[str] = []
    for name in sorted(name for name in os.listdir(path) if not name.startswith(".")):
        inside = os.path.join(path, name)
        if is_partition(name) and os.path.isdir(inside):
            found += [os.path.join(name, each) for each in _listed(inside) if not os.path.basename(each).startswith("_")]
        else:
            found.append(name)
    return found


def regular(path: str) -> str:
    """The path of a regular file that may be read; an error says what is there instead. Opening a pipe would wait for ever."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise _not_found(path) from None
    except OSError as error:
        raise cannot_open(path, error) from None
    for is_kind, kind in _KINDS:
        if is_kind(mode):
            raise SourceError(f"cannot read {path!r}", got=kind, need="a regular file", hint="use - to read standard input")
    if not os.access(path, os.R_OK):
        raise SourceError(f"cannot open {path!r}", got="no permission to read it", need="a readable file")
    return path


def _not_found(path: str) -> SourceError:
    if "://" in path:
        return SourceError(f"cannot open {path!r}", got="an address", need="a local file", hint="download it first")
    folder, base = os.path.split(path)
    try:
        near = nearest(base, os.listdir(folder or "."), cutoff=0.5)
    except OSError:
        return SourceError(f"cannot find {path!r}", got=f"no directory {folder!r}", need="an existing file")
    hint = f"did you mean {os.path.join(folder, near)!r}?" if near else ""
    return SourceError(f"cannot find {path!r}", got="no such file", need="an existing file", hint=hint)


def spool_stdin() -> TemporaryFile:
    """Standard input in a temporary file: a stream cannot be sniffed and then read again."""
    if sys.stdin is None or sys.stdin.isatty():
        raise SourceError("cannot read standard input", got="a terminal", need="piped data", hint="steelyard measure - < results.csv")
    spool = TemporaryFile()
    spool.fill(iter(lambda: sys.stdin.buffer.read(1 << 20), b""), "keep standard input")
    return spool


def unchanged(paths: Sequence[str]) -> Callable[[], None]:
    """A check, to be called after reading, that the files are still the ones that were opened."""
    before = {path: _state(path) for path in paths}

    def check() -> None:
        for path, state in before.items():
            if _state(path) != state:
                raise SourceError(
                    f"cannot trust {path!r}",
                    got="a file that changed while it was read",
                    need="a finished file",
                    hint="try again when the run is over",
                )

    return check


def _state(path: str) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return found.st_size, found.st_mtime_ns, found.st_ino
