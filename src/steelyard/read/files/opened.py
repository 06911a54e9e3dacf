"""A file, opened: unpacked if it was packed, its format known, and watched for changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from steelyard.errors import SourceError
from steelyard.read.files.formats import compression_of, format_of
from steelyard.read.files.inflate import inflate
from steelyard.read.files.paths import TemporaryFile, cannot_open, regular, unchanged

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
    raise SourceError(f"cannot unpack {shown!r}", got=f"more than {_NESTED - 1} layers of compression", need="one")


def _head(path: str, shown: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            head = stream.read(4096)
    except OSError as error:
        raise cannot_open(shown, error) from None
    if not head.removeprefix(b"\xef\xbb\xbf").strip():
        raise SourceError(f"cannot measure {shown!r}", got="an empty file: no items", need="at least one row")
    return head
