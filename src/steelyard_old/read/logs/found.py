"""Which tool wrote this? Readers are asked in turn, each by structure; a table of any format is asked almost nothing.

A file is a candidate only if it starts like JSON, a zip archive or Parquet, and a reader is loaded only if a word that its
tool always writes is among the first bytes (of Parquet, among the names of its columns). What looks like a log and is
damaged is an error of its reader, which names the tool.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.read.logs.log import PARAMETERS, Choices, Log, SeveralError, pick_latest


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """The logs of one tool.

    `module` has `looks_like(path, head)`, `read(path, choices)` and, where its logs tell when they were made, `made(path)`. It is
    loaded only for a file that could be its own: a JSON file with one of `words` among its first bytes, a zip archive if
    `archive`, a Parquet file with `parquet` among the names of its columns, any directory. `verified` are choices that the
    reader compares with the log instead of choosing by them. `give` says what to name on the command line.
    """

    tool: str
    give: str
    module: str
    words: tuple[bytes, ...] = ()
    archive: bool = False
    parquet: bytes = b""
    verified: tuple[str, ...] = ()


FORMATS: list[LogFormat] = [
    LogFormat(
        module="steelyard_old.read.logs.lm_eval",
        tool="lm-evaluation-harness 0.4.3 and later",
        give="a `samples_*.jsonl` of `--log_samples`, its `results_*.json`, a model's directory, the output directory",
        words=(b'"doc_id"', b'"results"'),
    ),
    LogFormat(
        module="steelyard_old.read.logs.inspect_log",
        tool="Inspect AI",
        give="an `.eval` file (any compression) or a `.json` log, finished or not",
        words=(b'"eval"',),
        archive=True,
        verified=("task", "model"),
    ),
    LogFormat(
        module="steelyard_old.read.logs.promptfoo",
        tool="promptfoo",
        give="the `.json` or `.jsonl` of `promptfoo eval -o`",
        words=(b'"evalId"', b'"cost"'),
    ),
    LogFormat(
        module="steelyard_old.read.logs.helm",
        tool="HELM",
        give="`per_instance_stats.json`, the directory of a run, the directory of a suite",
        words=(b'"instance_id"',),
    ),
    LogFormat(
        module="steelyard_old.read.logs.lighteval",
        tool="lighteval",
        give="a details Parquet file, the directory of a run, the output directory",
        parquet=b"model_response",
    ),
    LogFormat(module="steelyard_old.read.logs.openai_evals", tool="OpenAI evals", give="the JSON Lines of events", words=(b'"spec"',)),
    LogFormat(
        module="steelyard_old.read.logs.every_eval_ever",
        tool="Every Eval Ever 0.3",
        give="the instance file, or the aggregate beside it",
        words=(b'"schema_version"', b'"evaluation_id"'),
    ),
    LogFormat(module="steelyard_old.read.logs.deepeval_run", tool="deepeval", give="a test run JSON", words=(b'"testCases"', b'"test_cases"')),
    LogFormat(
        module="steelyard_old.read.logs.mlflow_table",
        tool="MLflow",
        give="an evaluation table",
        words=(b'"columns"', b'"trace_id"'),
        parquet=b"trace_id",
    ),
    LogFormat(
        module="steelyard_old.read.logs.tau_bench",
        tool="tau-bench",
        give="the `.json` of trajectories that a run writes",
        words=(b'"task_id"',),
    ),
    LogFormat(
        module="steelyard_old.read.logs.tau2_bench",
        tool="tau2-bench",
        give="`results.json`, or the directory of a run that keeps its simulations apart",
        words=(b'"num_trials"',),
    ),
]


def tools() -> list[str]:
    """The tools whose logs can be read."""
    return [form.tool for form in FORMATS]


HEAD = 1 << 16
_ZIP, _PARQUET = b"PK\x03\x04", b"PAR1"


def read_log(path: str, choices: Choices, *, shown: str | None = None, looked_at: str | None = None) -> Log | None:
    """The log at a path, read; None if it is no log.

    shown: what to call the path in messages, if not by itself. looked_at: where its bytes lie unpacked, if it is packed.
    """
    found = _reader_of(looked_at or path)
    if found is None:
        return None
    form, reader = found
    try:
        log: Log = reader.read(path, choices)
    except SteelyardError as mistake:
        if shown is None or path not in str(mistake):
            raise
        told = [text.replace(path, shown) for text in (mistake.what, mistake.got, mistake.need, mistake.hint)]
        if isinstance(mistake, SeveralError):
            raise SeveralError(told[0], mistake.choice, mistake.found, got=told[1], need=told[2], hint=told[3]) from None
        raise type(mistake)(told[0], got=told[1], need=told[2], hint=told[3]) from None
    _refuse_unused(log, choices, shown or path, form.verified)
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


def _reader_of(path: str) -> tuple[LogFormat, Any] | None:
    head = b"" if os.path.isdir(path) else _some_bytes(path)
    for form in _candidates(path, head):
        reader = import_module(form.module)
        if reader.looks_like(path, head):
            return form, reader
    return None


def _candidates(path: str, head: bytes) -> Iterator[LogFormat]:
    if os.path.isdir(path):
        yield from FORMATS
    elif head.startswith(_ZIP):
        yield from (form for form in FORMATS if form.archive)
    elif head.startswith(_PARQUET):
        names = _some_bytes(path, footer=True)
        yield from (form for form in FORMATS if form.parquet and form.parquet in names)
    elif head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        yield from (form for form in FORMATS if any(word in head for word in form.words))


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
                f"{PARAMETERS[what]}={asked!r} means nothing for {shown!r}: logs of {log.tool} have no choice of a {what}.",
                got=f"{PARAMETERS[what]}={asked!r} and a log of {log.tool}, which has no choice of a {what}",
                need="options that its logs have",
                hint=f"chosen there: {', '.join(f'{key} {value}' for key, value in log.chosen.items())}" if log.chosen else "",
            )
