"""The archive of an Inspect log: members stored, deflated or zstd, each checked by size and CRC, and never more than the limit.

Python's zipfile knows zstd (method 93) only from 3.14 on. So it is asked for the directory alone, and members are unpacked
here: by a package that can, else as text by DuckDB. A member may be several zstd frames in a row.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Callable

from steelyard.errors import SourceError
from steelyard.read.files.inflate import inflate, zstd_stream
from steelyard.read.files.paths import TemporaryFile, reason

MAGIC = b"PK\x03\x04"
LIMIT = 2 << 30  # bytes of one member, unpacked; it is held in memory
SUSPECT, RATIO = 64 << 20, 1000  # beyond the first, an expansion by more than the second is taken for a bomb
_LOCAL = struct.Struct("<4s22xHH")  # signature, then the lengths of name and extra field
_ENCRYPTED = 1
_FAULTS = (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError, OverflowError, IndexError, struct.error)


class Archive:
    """The members of a zip file by name. Of two members with one name, the later counts, as for the tool that wrote them."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            with zipfile.ZipFile(path) as found:
                self._members = {info.filename: info for info in found.infolist()}
        except _FAULTS as error:
            raise SourceError(
                f"cannot open the Inspect log {path!r}",
                got=f"a zip archive that is damaged or cut off ({error})"[:200],
                need="a whole file",
                hint="copy it again, or wait until the run has written it",
            ) from None

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str) -> bytes:
        """The content of a member, or an error that names it."""
        info = self._members[name]
        self._refuse_bomb(info)
        if info.flag_bits & _ENCRYPTED:
            raise self._fault(name, "an encrypted member", "an archive without a password")
        unpack = _METHODS.get(info.compress_type)
        if unpack is None:
            raise self._fault(name, f"the compression method {info.compress_type}", "a member stored, deflated or packed with zstd")
        try:
            content = unpack(self._packed(info), info.file_size)
        except SourceError as error:
            raise self._fault(name, error.got, error.need, error.hint) from None
        except OSError as error:
            raise self._fault(name, reason(error), "a readable file") from None
        except Exception as error:  # each library has its own class for damaged data
            raise self._fault(name, f"damaged data ({error})"[:200], "a whole file", "copy it again") from None
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            got = f"{len(content):,} bytes that are not the {info.file_size:,} of the directory, or not their checksum"
            raise self._fault(name, got, "a whole file", "copy it again")
        return content

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        with open(self._path, "rb") as stream:
            stream.seek(info.header_offset)
            signature, name, extra = _LOCAL.unpack(stream.read(_LOCAL.size))
            if signature != MAGIC:
                raise zipfile.BadZipFile(f"no member at byte {info.header_offset}")
            start = info.header_offset + _LOCAL.size + name + extra
            if start + info.compress_size > os.fstat(stream.fileno()).st_size:
                raise zipfile.BadZipFile("the member goes on after the end of the file")
            stream.seek(start)
            return stream.read(info.compress_size)

    def _refuse_bomb(self, info: zipfile.ZipInfo) -> None:
        large = info.file_size > SUSPECT and info.file_size > RATIO * max(info.compress_size, 1)
        if info.file_size > LIMIT or large:
            got = f"{info.file_size:,} bytes out of {info.compress_size:,}"
            raise self._fault(info.filename, got, f"at most {LIMIT:,} bytes, and {RATIO} times what is in the archive")

    def _fault(self, name: str, got: str, need: str, hint: str = "") -> SourceError:
        return SourceError(f"cannot unpack {name!r} of the Inspect log {self._path!r}", got=got, need=need, hint=hint)


def _stored(packed: bytes, size: int) -> bytes:
    return packed


def _deflated(packed: bytes, size: int) -> bytes:
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)  # one byte more would show that the size is wrong


def _zstd(packed: bytes, size: int) -> bytes:
    stream = zstd_stream(packed)
    if stream is None:
        return _zstd_text(packed, size)
    parts = []
    with stream:
        while size >= 0 and (part := stream.read(size + 1)):
            parts.append(bytes(part))
            size -= len(part)
    return b"".join(parts)


def _zstd_text(packed: bytes, size: int) -> bytes:
    """By way of a file, which DuckDB reads line by line; it ends the last line too, where the member may not."""
    spool = TemporaryFile()
    spool.fill([packed], "unpack the member")
    try:
        plain = inflate(spool.path, "zstd")
    finally:
        spool.remove()
    try:
        with open(plain.path, "rb") as stream:
            content = stream.read(size + 2)
    finally:
        plain.remove()
    return content[:-1] if len(content) == size + 1 and content.endswith(b"\n") else content


_METHODS: dict[int, Callable[[bytes, int], bytes]] = {zipfile.ZIP_STORED: _stored, zipfile.ZIP_DEFLATED: _deflated, 93: _zstd}
