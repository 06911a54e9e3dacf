"""What a file is by its name and its first bytes: compression and format, its encoding, and the columns that its path gives."""

from __future__ import annotations

import codecs
import glob
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from steelyard_old.errors import SourceError, with_article
from steelyard_old.late_pattern import late_pattern

if TYPE_CHECKING:
    from steelyard_old.read.files.paths import Opened


_EXTENSIONS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip
_COMPRESSED = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_CODE = (".pkl", ".pickle", ".joblib", ".npy", ".npz", ".pt", ".pth")
_MAGIC = (
    (b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"PAR1", "parquet"), (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow"), (b"FEA1", "arrow"),
)  # fmt: skip
_BINARY = frozenset({"parquet", "arrow"})
_REFUSED = (
    (b"\x93NUMPY", "a NumPy file", "save the columns as CSV or Parquet"),
    (b"\x80\x02", "a pickle", "pickles can run code; save as CSV or Parquet"),
    (b"\x80\x03", "a pickle", "pickles can run code; save as CSV or Parquet"),
    (b"\x80\x04", "a pickle", "pickles can run code; save as CSV or Parquet"),
    (b"\x80\x05", "a pickle", "pickles can run code; save as CSV or Parquet"),
    (b"PK\x03\x04", "a zip archive", "unpack it first; a spreadsheet: export it as CSV"),
    (b"SQLite format 3\0", "an SQLite database", "name its table: sqlite:///FILE?table=NAME"),
    (b"BZh", "a bzip2 file", "unpack it first, or use gzip or zstd"),
    (b"\xfd7zXZ", "an xz file", "unpack it first, or use gzip or zstd"),
)


def format_of_name(name: str) -> tuple[str | None, str | None]:
    """(format, compression) that the extensions of a name promise.

    >>> format_of_name("run.JSONL.gz")
    ('jsonl', 'gzip')
    """
    stem, dot, last = name.lower().rpartition(".")
    compression = _COMPRESSED.get(dot + last)
    if compression is not None:
        stem, dot, last = stem.rpartition(".")
    return _EXTENSIONS.get(dot + last), compression


def compression_of(path: str, head: bytes) -> str | None:
    """gzip, zstd or None, by the first bytes; a name that promises one of them over other bytes is an error."""
    _refuse(path, head)
    found = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if found in ("gzip", "zstd"):
        return found
    promised = format_of_name(path)[1]
    if promised is not None and found is None:
        raise SourceError(
            f"{path!r} is not {with_article(promised)} file, as its name says: it begins with the bytes {head[:4]!r}.",
            got=f"bytes {head[:4]!r} at its start",
            need=f"a {promised} file",
            hint="rename it if it is not compressed",
        )
    return None


def format_of(path: str, head: bytes) -> str:
    """csv, tsv, jsonl, json, parquet or arrow. head: the first bytes, unpacked. path: as the user knows it."""
    _refuse(path, head)
    promised = format_of_name(path)[0]
    found = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if found in _BINARY:
        return found
    if promised is not None and promised not in _BINARY:
        return promised
    if promised in _BINARY and b"\0" in head:
        raise SourceError(
            f"{path!r} is not {with_article(promised)} file, as its name says: it begins with the bytes {head[:4]!r}.",
            got=f"bytes {head[:4]!r} at its start",
            need=f"a {promised} file",
        )
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return {b"[": "json", b"{": "json"}.get(first, "csv")


def _refuse(path: str, head: bytes) -> None:
    for magic, kind, hint in _REFUSED:
        if head.startswith(magic):
            raise SourceError(
                f"{path!r} is {kind}; steelyard reads CSV, TSV, JSON, JSON Lines, Parquet and Arrow.",
                got=kind,
                need="CSV, TSV, JSON, JSON Lines, Parquet or Arrow",
                hint=hint,
            )
    if path.lower().endswith(_CODE):
        raise SourceError(
            f"{path!r} is in a format that can run code.",
            got="a format that can run code",
            need="CSV, JSON, Parquet or Arrow",
            hint="save the columns as CSV or Parquet",
        )


_CHUNK = 8 << 20
_OTHER = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


def check_text(plain: str, shown: str) -> None:
    """Refuse a file that is not UTF-8 text. plain: the file to read; shown: its name for the user."""
    if not os.path.getsize(plain):
        raise SourceError(f"{shown!r} is empty.", got="an empty file: no items", need="at least one row")
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    with open(plain, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            if not offset:
                _refuse_other(chunk, shown)
            nul = chunk.find(b"\0")
            if nul >= 0:
                hint = "this looks like UTF-16; save it as UTF-8" if chunk[:64].count(b"\0") > 8 else "the file is damaged or not text"
                raise SourceError(
                    f"{shown!r} is not UTF-8 text: it has a NUL byte at offset {offset + nul}.",
                    got=f"a NUL byte at offset {offset + nul}",
                    need="UTF-8 text",
                    hint=hint,
                )
            if not (chunk.isascii() and not decoder.getstate()[0]):  # most text is ASCII, which needs no decoding
                _decode(decoder, chunk, offset, shown, final=False)
            offset += len(chunk)
        _decode(decoder, b"", offset, shown, final=True)


def _decode(decoder: codecs.IncrementalDecoder, chunk: bytes, offset: int, shown: str, *, final: bool) -> None:
    pending = len(decoder.getstate()[0])  # bytes of a character that began in the chunk before
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError as error:
        at = offset - pending + error.start
        byte = error.object[error.start]
        hint = "save it as UTF-8; it may be Latin-1 or Windows-1252"
        raise SourceError(
            f"{shown!r} is not UTF-8 text: it has the byte 0x{byte:02x} at offset {at}.",
            got=f"the byte 0x{byte:02x} at offset {at}",
            need="UTF-8 text",
            hint=hint,
        ) from None


def _refuse_other(head: bytes, shown: str) -> None:
    for mark, kind in _OTHER:
        if head.startswith(mark):
            raise SourceError(
                f"{shown!r} is {kind}, not UTF-8 (byte order mark at offset 0).",
                got=f"{kind} text (byte order mark at offset 0)",
                need="UTF-8 text",
                hint="save it as UTF-8",
            )


_PART = late_pattern(r"([^=]+)=(.*)\Z", re.DOTALL)
_MISSING = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark write a partition whose key is null


def is_partition(name: str) -> bool:
    """Whether the name of a directory is `key=value`."""
    return _PART.match(name) is not None


def partition_of(named: str, path: str) -> dict[str, str | None]:
    """The keys in the directories between what the user named (a directory or a pattern) and a file in it.

    >>> partition_of("runs/*/*/*.parquet", "runs/year=2024/lang=en/part-0.parquet")
    {'year': '2024', 'lang': 'en'}
    >>> partition_of("runs/year=2024/*.csv", "runs/year=2024/a.csv")
    {}
    """
    if os.path.isdir(named):
        between = os.path.relpath(path, named).split(os.sep)[:-1]
    elif named != path and glob.has_magic(named):
        parts = named.split(os.sep)
        fixed = next(place for place, part in enumerate(parts) if glob.has_magic(part))
        between = path.split(os.sep)[fixed:-1]
    else:
        return {}
    found: dict[str, str | None] = {}
    for part in between:
        if (match := _PART.match(part)) is None:
            continue
        key, value = unquote(match[1]), unquote(match[2])
        if key.lower() in map(str.lower, found):
            raise SourceError(
                f"The path {path!r} has the partition key {key!r} twice.",
                got=f"the partition key {key!r} twice in its path",
                need="each key once",
            )
        found[key] = None if value == _MISSING else value
    return found


def partition_keys(files: Sequence[Opened], headers: Sequence[Sequence[str]]) -> list[str]:
    """The keys that all files have; other keys in one of them, or a key that is also a column of a file, are errors."""
    keys = list(files[0].partition)
    for file, header in zip(files, headers, strict=True):
        if set(file.partition) != set(keys):
            raise SourceError(
                f"The files lie in different partitions: {_shown(files[0].partition)} for {files[0].shown!r}, "
                f"{_shown(file.partition)} for {file.shown!r}.",
                got=f"{_shown(files[0].partition)} for {files[0].shown!r}, {_shown(file.partition)} for {file.shown!r}",
                need="the same keys for every file",
                hint="name a directory or a pattern below which all files lie alike",
            )
        columns = {name.lower(): name for name in header}
        twice = next((key for key in keys if key.lower() in columns), None)
        if twice is not None:
            raise SourceError(
                f"{twice!r} is a partition key of the path {file.shown!r} and also a column ({columns[twice.lower()]!r}) inside.",
                got=f"{twice!r} as a partition key of its path and as the column {columns[twice.lower()]!r} inside",
                need="one of them",
                hint="name the file itself to ignore its path",
            )
    return keys


def _shown(partition: Mapping[str, str | None]) -> str:
    return "keys " + ", ".join(map(repr, partition)) if partition else "no keys"
