"""From what the user wrote to the regular files it means: a file, a directory, a glob pattern, name=path, or - for stdin."""

from __future__ import annotations

import glob
import gzip
import io
import os
import re
import shlex
import stat
import sys
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, BinaryIO

from steelyard_old.did_you_mean import did_you_mean
from steelyard_old.errors import SourceError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern
from steelyard_old.read.files.formats import compression_of, format_of, format_of_name, is_partition

_NAMED = late_pattern(r"([^=/\\*?\[\]]+)=(.+)\Z", re.DOTALL)
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
            import tempfile

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
        f"Cannot {doing}: {reason(error)} in the directory for temporary files.",
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
    return SourceError(f"Cannot open {path!r}: {got}.", got=got, need="a readable file")


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
        raise SourceError(f"The source must be a path, not {text!r}.", got=repr(text), need="a path")
    if os.path.isdir(text):
        return _in_directory(text)
    if not os.path.lexists(text) and glob.has_magic(text):
        found = sorted(path for path in glob.glob(text, recursive=True) if not os.path.isdir(path))
        if not found and "://" in text:
            raise _not_found(text)
        if not found:
            raise SourceError(f"No file matches {text!r}.", got=f"no match for the pattern {text!r}", need="at least one file")
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
            f"No results in the directory {path!r}: {len(names)} files, none of them CSV, JSON, Parquet or Arrow.",
            got=f"{len(names)} files, none of a known format",
            need="CSV, JSON, Parquet or Arrow",
        )
    if len(by_format) > 1:
        got = "; ".join(f"{kind}: {', '.join(map(repr, found[:5]))}" for kind, found in sorted(by_format.items()))
        raise SourceError(
            f"The directory {path!r} has files of several formats ({got}).",
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
    except UnicodeEncodeError:
        raise SourceError(f"The source must be a path, not {path!r}.", got=repr(path), need="a path") from None
    for is_kind, kind in _KINDS:
        if is_kind(mode):
            raise SourceError(
                f"{path!r} is {kind}, not a regular file.", got=kind, need="a regular file", hint="use - to read standard input"
            )
    if not os.access(path, os.R_OK):
        raise SourceError(f"No permission to read {path!r}.", got="no permission to read it", need="a readable file")
    return path


def _not_found(path: str) -> SourceError:
    if "://" in path:
        return SourceError(f"{path!r} is an address, not a local file.", got="an address", need="a local file", hint="download it first")
    folder, base = os.path.split(path)
    try:
        hint = did_you_mean(base, os.listdir(folder or "."), shown=lambda near: repr(os.path.join(folder, near)))
    except OSError:
        return SourceError(
            f"No such file: {path!r} (there is no directory {folder!r}).", got=f"no directory {folder!r}", need="an existing file"
        )
    return SourceError(f"No such file: {path!r}.", got="no such file", need="an existing file", hint=hint)


def spool_stdin() -> TemporaryFile:
    """Standard input in a temporary file: a stream cannot be sniffed and then read again."""
    if sys.stdin is None or sys.stdin.isatty():
        raise SourceError(
            "Standard input is a terminal; data must be piped in.",
            got="a terminal",
            need="piped data",
            hint="sy.measure('results.csv')",
        )
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
                    f"{path!r} changed while it was read.",
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


_NESTED = 3  # a gzip of a gzip of a gzip is nobody's result


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """shown: the name for the user; plain: the path to read; format: csv, tsv, jsonl, json, parquet or arrow; partition: see there."""

    shown: str
    plain: str
    format: str
    check_unchanged: Callable[[], None]
    held: TemporaryFile | None = None
    partition: Mapping[str, str | None] = field(default_factory=dict)


def open_file(
    path: str, *, shown: str | None = None, held: TemporaryFile | None = None, partition: Mapping[str, str | None] | None = None
) -> Opened:
    """Look at the first bytes, unpack as long as they say so, and decide the format."""
    shown = path if shown is None else shown
    regular(path)
    check = unchanged([path])
    plain = path
    for _ in range(_NESTED):
        head = _head(plain, shown)
        compression = compression_of(shown if plain == path else "", head)
        if compression is None:
            return Opened(shown, plain, format_of(shown, head), check, held, partition or {})
        unpacked = inflate(plain, compression)
        check()
        held, plain = unpacked, unpacked.path  # what was packed is no longer needed
        check = unchanged([plain])
    raise SourceError(
        f"{shown!r} has more than {_NESTED - 1} layers of compression.", got=f"more than {_NESTED - 1} layers of compression", need="one"
    )


def _head(path: str, shown: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            head = stream.read(4096)
    except OSError as error:
        raise cannot_open(shown, error) from None
    if not head.removeprefix(b"\xef\xbb\xbf").strip():
        raise SourceError(f"{shown!r} is empty.", got="an empty file: no items", need="at least one row")
    return head


# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours; values of users are parameters


LIMIT = 64 << 30  # bytes after unpacking
SUSPECT, RATIO = 1 << 30, 1000  # beyond the first, an expansion by more than the second is taken for a bomb
_CHUNK = 1 << 20


def inflate(path: str, compression: str) -> TemporaryFile:
    """The unpacked content of a file."""
    packed = max(os.path.getsize(path), 1)
    spool = TemporaryFile()
    spool.fill(_measured(path, packed, _gzip(path) if compression == "gzip" else _zstd(path)), f"unpack {path!r}")
    return spool


def _measured(path: str, packed: int, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks as they come, until they are more than anybody can mean."""
    written = 0
    for chunk in chunks:
        written += len(chunk)
        if written > LIMIT or (written > SUSPECT and written > RATIO * packed):
            got = f"more than {written:,} bytes out of {packed:,}"
            raise SourceError(
                f"{path!r} unpacks to too much: {got}; at most {LIMIT:,} bytes, or {RATIO} times the file, are allowed.",
                got=got,
                need=f"at most {LIMIT:,} bytes, and {RATIO} times the file",
            )
        yield chunk


def _gzip(path: str) -> Iterator[bytes]:
    try:
        with gzip.open(path, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except EOFError:
        raise _cut_off(path, "gzip") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise SourceError(
            f"The gzip file {path!r} is damaged ({error}).", got=f"damaged gzip data ({error})", need="a whole file", hint="copy it again"
        ) from None
    except OSError as error:  # the disk, not the data
        raise cannot_open(path, error) from None


def _cut_off(path: str, kind: str) -> SourceError:
    return SourceError(
        f"The {kind} file {path!r} ends too early.", got=f"a {kind} file that ends too early", need="a whole file", hint="copy it again"
    )


def _zstd(path: str) -> Iterator[bytes]:
    """By a package that can (`zstd_stream`), else line by line through DuckDB."""
    check_frames(path)
    try:
        stream = zstd_stream(path)
        if stream is None:
            yield from _zstd_lines(path)
            return
        with stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except SourceError:
        raise
    except OSError as error:
        if error.errno is None:  # libraries of zstd say damaged data so, too
            raise _damaged(path, error) from None
        raise cannot_open(path, error) from None
    except Exception as error:  # each library has its own class for damaged data
        raise _damaged(path, error) from None


def _damaged(path: str, error: Exception) -> SourceError:
    return SourceError(
        f"The zstd file {path!r} is damaged ({str(error)[:150]}).",
        got=f"damaged zstd data ({error})"[:200],
        need="a whole file",
        hint="copy it again",
    )


def zstd_stream(source: str | bytes) -> Any:
    """A reader of what a file, or data in memory, hold packed by zstd; None where no package here can make one.

    zstandard before pyarrow: Inspect brings it along, and it is loaded in a tenth of the time.
    """
    data = source if isinstance(source, str) else io.BytesIO(source)
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return zstd.open(data, "rb")
    except ImportError:
        pass
    try:
        import zstandard  # type: ignore[import-not-found, unused-ignore]

        opened = open(data, "rb") if isinstance(data, str) else data  # noqa: SIM115 - the reader closes it
        return zstandard.ZstdDecompressor().stream_reader(opened, read_across_frames=True)
    except ImportError:
        pass
    try:
        import pyarrow as pa

        return pa.CompressedInputStream(pa.OSFile(source) if isinstance(source, str) else pa.BufferReader(source), "zstd")
    except ImportError:
        return None


def _zstd_lines(path: str) -> Iterator[bytes]:
    """DuckDB as an unpacker of text: one column, no quotes, a delimiter that text does not hold. Line ends become LF."""
    from steelyard_old.read.engines.duckdb_table import connect, exact_path, useful_line

    con = connect([os.path.abspath(path)])
    name = exact_path(os.path.abspath(path))
    shape = "columns = {'line': 'VARCHAR'}, auto_detect = false, header = false, compression = 'zstd'"
    marks = "delim = '\x01', quote = '', escape = '', max_line_size = 67108864, buffer_size = 134217728"
    try:
        con.execute(f"SELECT coalesce(line, '') FROM read_csv(?, {shape}, {marks})", [name])
        while rows := con.fetchmany(10000):
            yield "".join(f"{row[0]}\n" for row in rows).encode()
    except Exception as error:
        got = f"text that cannot be unpacked here ({useful_line(error)})"
        raise SourceError(
            f"{path!r} cannot be unpacked as zstd: it holds {got}.", got=got, need="zstd text", hint="pip install 'steelyard[arrow]'"
        ) from None
    finally:
        con.close()


def check_frames(path: str) -> None:
    """Walk over the frames and blocks of a zstd file (RFC 8878, 3.1.1) and refuse one that ends too early."""
    size = os.path.getsize(path)
    with open(path, "rb") as stream:
        while stream.tell() < size:
            magic = _exactly(stream, 4, path)
            if magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:  # a skippable frame
                _skip(stream, int.from_bytes(_exactly(stream, 4, path), "little"), size, path)
            elif magic == b"\x28\xb5\x2f\xfd":
                _walk_frame(stream, size, path)
            else:
                raise SourceError(
                    f"{path!r} has other bytes ({magic!r}) after a zstd frame.",
                    got=f"bytes {magic!r} after a zstd frame",
                    need="zstd frames only",
                )


def _walk_frame(stream: BinaryIO, size: int, path: str) -> None:
    descriptor = _exactly(stream, 1, path)[0]
    single, checksum = bool(descriptor & 32), bool(descriptor & 4)
    content = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    _skip(stream, (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3] + content, size, path)
    last = False
    while not last:
        header = int.from_bytes(_exactly(stream, 3, path), "little")
        last, kind = bool(header & 1), header >> 1 & 3
        _skip(stream, 1 if kind == 1 else header >> 3, size, path)
    _skip(stream, 4 if checksum else 0, size, path)


def _exactly(stream: BinaryIO, count: int, path: str) -> bytes:
    found = stream.read(count)
    if len(found) < count:
        raise _cut_off(path, "zstd")
    return found


def _skip(stream: BinaryIO, count: int, size: int, path: str) -> None:
    if stream.tell() + count > size:
        raise _cut_off(path, "zstd")
    stream.seek(count, os.SEEK_CUR)
