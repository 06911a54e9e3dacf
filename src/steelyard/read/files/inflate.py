"""Unpack gzip and zstd into a temporary file: whole, checked to the last byte, and never more than the limit.

DuckDB could read both itself, but it takes a zstd file that was cut off for a shorter one, without a word.
"""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours; values of users are parameters
from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from steelyard.errors import SourceError
from steelyard.read.files.paths import TemporaryFile, cannot_open

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
            raise SourceError(f"cannot unpack {path!r}", got=got, need=f"at most {LIMIT:,} bytes, and {RATIO} times the file")
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
            f"cannot unpack {path!r}", got=f"damaged gzip data ({error})", need="a whole file", hint="copy it again"
        ) from None
    except OSError as error:  # the disk, not the data
        raise cannot_open(path, error) from None


def _cut_off(path: str, kind: str) -> SourceError:
    return SourceError(f"cannot unpack {path!r}", got=f"a {kind} file that ends too early", need="a whole file", hint="copy it again")


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
    return SourceError(f"cannot unpack {path!r}", got=f"damaged zstd data ({error})"[:200], need="a whole file", hint="copy it again")


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
    from steelyard.read.engines.duckdb_table import connect, exact_path, useful_line

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
        raise SourceError(f"cannot unpack {path!r}", got=got, need="zstd text", hint="pip install 'steelyard[arrow]'") from None
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
                raise SourceError(f"cannot unpack {path!r}", got=f"bytes {magic!r} after a zstd frame", need="zstd frames only")


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
