"""Which tool wrote this? Readers are asked in turn, each by structure; a table of any format is asked almost nothing.

A file is a candidate only if it starts like JSON, a zip archive or Parquet, and a reader is loaded only if a word that its
tool always writes is among the first bytes (of Parquet, among the names of its columns). What looks like a log and is
damaged is an error of its reader, which names the tool.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from steelyard.errors import SteelyardError, UsageError
from steelyard.read.logs.log import FLAGS, Choices, Log, SeveralError, pick_latest

HEAD = 1 << 16
_ZIP, _PARQUET = b"PK\x03\x04", b"PAR1"
# For each reader, words of which one is among the first bytes of every JSON file of its tool. None: not a JSON file.
_WORDS: dict[str, tuple[bytes, ...] | None] = {
    "lm_eval": (b'"doc_id"', b'"results"'),
    "inspect_log": (b'"eval"',),
    "promptfoo": (b'"evalId"', b'"cost"'),
    "helm": (b'"instance_id"',),
    "lighteval": None,
    "openai_evals": (b'"spec"',),
    "every_eval_ever": (b'"schema_version"', b'"evaluation_id"'),
    "deepeval_run": (b'"testCases"', b'"test_cases"'),
    "mlflow_table": (b'"columns"', b'"trace_id"'),
}
_OF_ZIP = ("inspect_log",)
_OF_PARQUET = {"lighteval": b"model_response", "mlflow_table": b"trace_id"}
_VERIFIED = {"inspect_log": ("task", "model")}  # choices that a reader compares with the log instead of choosing by them


def read_log(path: str, choices: Choices, *, shown: str | None = None, looked_at: str | None = None) -> Log | None:
    """The log at a path, read; None if it is no log.

    shown: what to call the path in messages, if not by itself. looked_at: where its bytes lie unpacked, if it is packed.
    """
    found = _reader_of(looked_at or path)
    if found is None:
        return None
    name, reader = found
    try:
        log: Log = reader.read(path, choices)
    except SteelyardError as mistake:
        if shown is None or path not in str(mistake):
            raise
        told = [text.replace(path, shown) for text in (mistake.what, mistake.got, mistake.need, mistake.hint)]
        if isinstance(mistake, SeveralError):
            raise SeveralError(mistake.choice, mistake.found, told[0], got=told[1], need=told[2], hint=told[3]) from None
        raise type(mistake)(told[0], got=told[1], need=told[2], hint=told[3]) from None
    _refuse_unused(log, choices, shown or path, _VERIFIED.get(name, ()))
    return log


def newest_of(paths: Sequence[str], choices: Choices, shown: str) -> tuple[str, list[str]]:
    """Of several logs, the newest, if that was asked for: by the time that each log tells, never by that of its file."""
    return pick_latest({path: _made(path) or "" for path in paths}, choices, shown)


def _made(path: str) -> str | None:
    found = _reader_of(path)
    told = getattr(found[1], "made", None) if found is not None else None
    return None if told is None else told(path)


def is_log(path: str) -> bool:
    """Whether a path is the log of a tool that can be read here."""
    return _reader_of(path) is not None


def _reader_of(path: str) -> tuple[str, Any] | None:
    head = b"" if os.path.isdir(path) else _some_bytes(path)
    for name in _candidates(path, head):
        if find_spec(f"steelyard.read.logs.{name}") is None:
            continue
        reader = import_module(f"steelyard.read.logs.{name}")
        if reader.looks_like(path, head):
            return name, reader
    return None


def _candidates(path: str, head: bytes) -> Iterator[str]:
    if os.path.isdir(path):
        yield from _WORDS
    elif head.startswith(_ZIP):
        yield from _OF_ZIP
    elif head.startswith(_PARQUET):
        names = _some_bytes(path, footer=True)
        yield from (name for name, word in _OF_PARQUET.items() if word in names)
    elif head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        yield from (name for name, words in _WORDS.items() if words is not None and any(word in head for word in words))


def _some_bytes(path: str, *, footer: bool = False) -> bytes:
    """The first bytes of a file, or of the footer of a Parquet file, where its columns are named."""
    try:
        with open(path, "rb") as stream:
            if footer:
                size = stream.seek(-8, os.SEEK_END)  # four bytes of length, four of magic
                stream.seek(max(0, size - int.from_bytes(stream.read(4), "little")))
            return stream.read(HEAD)
    except OSError:
        return b""  # whoever opens it as a table says what is wrong


def _refuse_unused(log: Log, choices: Choices, shown: str, verified: tuple[str, ...]) -> None:
    """An option that chose nothing was meant for something else."""
    for what in ("task", "filter", "scorer", "prompt", "model"):
        asked = getattr(choices, what)
        if asked is not None and what not in log.chosen and what not in verified:
            raise UsageError(
                f"cannot use {FLAGS[what]} with {shown!r}",
                got=f"{FLAGS[what]} {asked} and a log of {log.tool}, which has no choice of a {what}",
                need="options that its logs have",
                hint=f"chosen there: {', '.join(f'{key} {value}' for key, value in log.chosen.items())}" if log.chosen else "",
            )
