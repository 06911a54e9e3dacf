"""The files of an Inspect log: which they are, and from an `.eval` archive or a `.json` document to a header and samples.

Of an archive only the header and the summaries of the samples are unpacked. A run that died has neither, and then its journal
tells what was finished; an archive without any summaries has the samples themselves.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.read.files.formats import check_text
from steelyard_old.read.files.paths import TemporaryFile, inflate, open_file, reason, unchanged, zstd_stream
from steelyard_old.read.logs.documents import malformed, text_or_none
from steelyard_old.read.logs.log import Choices, pick, pick_latest

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
                f"The Inspect log {path!r} is damaged or cut off ({str(error)[:150]}).",
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
            raise self._fault(name, "it is encrypted", "an archive without a password")
        unpack = _METHODS.get(info.compress_type)
        if unpack is None:
            raise self._fault(
                name,
                f"compression method {info.compress_type} is not supported (stored, deflated and zstd are)",
                "a member stored, deflated or packed with zstd",
            )
        try:
            content = unpack(self._packed(info), info.file_size)
        except SourceError as error:
            raise self._fault(name, error.got, error.need, error.hint) from None
        except OSError as error:
            raise self._fault(name, reason(error), "a readable file") from None
        except Exception as error:  # each library has its own class for damaged data
            raise self._fault(name, f"damaged data ({error})"[:200], "a whole file", "copy it again") from None
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            got = "its checksum is wrong"
            if len(content) != info.file_size:
                got = f"it has {len(content):,} bytes, but the archive lists {info.file_size:,}"
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
            got = f"{info.compress_size:,} bytes would become {info.file_size:,}, more than {LIMIT:,} or than {RATIO} times as many"
            raise self._fault(info.filename, got, f"at most {LIMIT:,} bytes, and {RATIO} times what is in the archive")

    def _fault(self, name: str, got: str, need: str, hint: str = "") -> SourceError:
        return SourceError(f"Cannot unpack {name!r} of the Inspect log {self._path!r}: {got}.", got=got, need=need, hint=hint)


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


TOOL = "Inspect AI"
_HEADER, _SUMMARIES, _START = "header.json", "summaries.json", "_journal/start.json"
_JOURNAL = re.compile(r"_journal/summaries/(\d+)\.json\Z")
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(?:\.json|/sample\.json)\Z")
_STATUS = rb'"status"\s*:\s*"(?:started|success|cancelled|error)"'
_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"version"\s*:\s*\d+\s*,\s*' + _STATUS + rb'\s*,\s*"eval"\s*:\s*\{')


def looks_like(path: str, head: bytes) -> bool:
    """A zip with the header or the journal of a run, a JSON object that begins as Inspect's do, or a directory with such files."""
    if os.path.isdir(path):
        return bool(_logs_in(path))
    if not head.startswith(MAGIC):
        return bool(_JSON.match(head))
    try:
        names = Archive(path).names
    except SourceError:
        return path.lower().endswith(".eval")  # damaged: `read` says so
    return _HEADER in names or _START in names


def _logs_in(folder: str) -> list[str]:
    """The logs in a directory, by name. Inspect keeps no other files there than its lists of them."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.lower().endswith((".eval", ".json")))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names]
    return [path for path in paths if os.path.isfile(path) and os.access(path, os.R_OK) and looks_like(path, _head(path))]


def one_log(path: str, choices: Choices) -> tuple[str, list[str]]:
    """The log itself; of a directory, the one of the task and model that are meant, the newest if that was asked for."""
    if not os.path.isdir(path):
        return path, []
    specs = {each: _spec(each) for each in _logs_in(path)}
    for what, asked in (("task", choices.task), ("model", choices.model)):
        names = {each: text_or_none(spec.get(what)) or "" for each, spec in specs.items()}
        named = asked if asked is None else next((name for name in names.values() if is_called(name, asked)), asked)
        meant = pick(what, named, list(dict.fromkeys(names.values())), path)
        specs = {each: spec for each, spec in specs.items() if names[each] == meant}
    whose = next(iter(specs.values())).get("task")
    return pick_latest({each: text_or_none(spec.get("created")) or "" for each, spec in specs.items()}, choices, path, str(whose))


def is_called(name: str | None, asked: str) -> bool:
    """Whether a task or model is the one that was asked for; `gsm8k` will do for `inspect_evals/gsm8k`."""
    return name is not None and asked in (name, name.split("/", 1)[-1])


def _spec(path: str) -> dict[str, Any]:
    """What the log says of its task, model and time."""
    if not _head(path).startswith(MAGIC):
        spec = _document(path)[0].get("eval")
    else:
        archive = Archive(path)
        name = _HEADER if _HEADER in archive.names else _START
        header = _parsed(path, name, archive.read(name)) if name in archive.names else None
        spec = header.get("eval") if isinstance(header, dict) else None
    return spec if isinstance(spec, dict) else {}


def made(path: str) -> str | None:
    """When the run was started, as the log tells."""
    return text_or_none(_spec(path).get("created"))


def header_and_samples(path: str) -> tuple[dict[str, Any], list[Any]]:
    """What the log says of the run, with its spec under `eval`, and its samples as they come."""
    check = unchanged([path])
    header, samples = _unpacked(path) if _head(path).startswith(MAGIC) else _document(path)
    check()
    if not isinstance(header.get("eval"), dict):
        raise malformed(path, "its header has no 'eval'", f"a log of {TOOL}")
    return header, samples


def _head(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(4096)


def _unpacked(path: str) -> tuple[dict[str, Any], list[Any]]:
    """Header and summaries of an archive; without them, what the journal has, or the samples themselves."""
    archive = Archive(path)
    names = set(archive.names)
    if not names & {_HEADER, _START}:
        listed = ", ".join(archive.names[:5])
        raise malformed(
            path,
            f"the zip archive has neither {_HEADER} nor {_START} (it has {listed or 'nothing'})",
            f"a log of {TOOL}, with {_HEADER} or {_START}",
        )
    name = _HEADER if _HEADER in names else _START
    header = _parsed(path, name, archive.read(name))
    if not isinstance(header, dict):
        raise malformed(path, f"{name!r} is not a JSON object", f"a log of {TOOL}")
    journal = sorted((int(found[1]), name) for name in names if (found := _JOURNAL.match(name)))
    parts = [_SUMMARIES] if _SUMMARIES in names else [name for _, name in journal]
    if parts:
        return header, [row for part in parts for row in _list(path, part, _parsed(path, part, archive.read(part)))]
    return header, [_parsed(path, name, archive.read(name)) for name in archive.names if _SAMPLE.match(name)]


def _document(path: str) -> tuple[dict[str, Any], list[Any]]:
    file = open_file(path)
    check_text(file.plain, file.shown)
    with open(file.plain, "rb") as stream:
        whole = _parsed(path, "the file", stream.read().removeprefix(b"\xef\xbb\xbf"))
    if not isinstance(whole, dict):
        raise malformed(path, "it is not a JSON object", f"a log of {TOOL}")
    samples = whole.pop("samples", None)
    return whole, [] if samples is None else _list(path, "samples", samples)


def _parsed(path: str, name: str, content: bytes) -> Any:
    """JSON as Inspect writes it: NaN stands for a sample that could not be scored."""
    try:
        return json.loads(content, object_pairs_hook=_once)
    except RecursionError:
        raise malformed(path, f"{name} is nested too deeply", "a few levels") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise malformed(path, f"{name} is damaged ({error})"[:200], "whole JSON", "did the run end early? copy it again") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"the key {Counter(key for key, _ in pairs).most_common(1)[0][0]!r} twice in one object")
    return found


def _list(path: str, name: str, rows: Any) -> list[Any]:
    if not isinstance(rows, list):
        raise malformed(path, f"{name!r} is not a list", f"a log of {TOOL}")
    return rows
