"""What a file is: by its extension, then by its first bytes where the extension is unknown or wrong."""

from __future__ import annotations

from steelyard.errors import SourceError

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
    (b"SQLite format 3\0", "an SQLite database", "export the table as CSV"),
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
            f"cannot unpack {path!r}",
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
        raise SourceError(f"cannot read {path!r}", got=f"bytes {head[:4]!r} at its start", need=f"a {promised} file")
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return {b"[": "json", b"{": "json"}.get(first, "csv")


def _refuse(path: str, head: bytes) -> None:
    for magic, kind, hint in _REFUSED:
        if head.startswith(magic):
            raise SourceError(f"cannot read {path!r}", got=kind, need="CSV, TSV, JSON, JSON Lines, Parquet or Arrow", hint=hint)
    if path.lower().endswith(_CODE):
        raise SourceError(
            f"cannot read {path!r}",
            got="a format that can run code",
            need="CSV, JSON, Parquet or Arrow",
            hint="save the columns as CSV or Parquet",
        )
