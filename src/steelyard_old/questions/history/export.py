"""Runs of the history as a file: CSV that no spreadsheet runs as a formula, or JSON Lines."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from steelyard_old.atomic import write_atomic
from steelyard_old.errors import UsageError
from steelyard_old.estimate.past_runs import opened
from steelyard_old.history.schema import MAPPINGS
from steelyard_old.history.store import LISTED, History, every_row, run_of
from steelyard_old.options.history import FILE
from steelyard_old.options.option import documented
from steelyard_old.results.history import PastRun

ENDINGS = (".csv", ".jsonl")
TOGETHER = 1000  # rows that are written column by column
COLUMNS = LISTED  # the fields of a run, in their order
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+-]*").fullmatch  # a text that no dialect quotes and no spreadsheet runs
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@documented(
    FILE,
    "how many runs were written",
    history="A URL such as sqlite:///runs.db, or what `open_history` gave. Default: what steelyard.toml says.",
)
def export_runs(
    path: str | os.PathLike[str],
    history: str | History | None = None,
    *,
    task: str | None = None,
    model: str | None = None,
    spec: Mapping[str, Any] | None = None,
    metric: str | None = None,
    verdict: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    config: str | os.PathLike[str] | None = None,
) -> int:
    """Write every run that `list_runs` would list to a .csv or .jsonl file, newest first: what `history --export` does.

    A text that a spreadsheet would run as a formula gets a quote in front, in CSV. The file is there whole, or as it was.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     url = f"sqlite:///{there}/runs.db"
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there, history=url)
    ...     written = export_runs(f"{there}/runs.csv", history=url)
    >>> written
    1
    """
    asked = {"task": task, "model": model, "spec": spec, "metric": metric, "verdict": verdict, "since": since, "until": until}
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(
            f"Cannot export to {target.name!r}: the ending must be {' or '.join(ENDINGS)}.",
            got=f"a file {target.name!r}",
            need=f"an ending of {' or '.join(ENDINGS)}",
        )
    store = opened(history, config)
    text, many = io.StringIO(newline=""), 0
    try:
        if ending == ".csv":
            text.write(",".join(COLUMNS) + "\n")
            rows = every_row(store, **asked)
            while some := list(islice(rows, TOGETHER)):
                many += len(some)
                columns = zip(*some, strict=True)
                written = (cells(column) for cells, column in zip(_CELLS, columns, strict=True))
                text.writelines(map("%s\n".__mod__, map(",".join, zip(*written, strict=True))))
        else:
            for run in every_run(store, **asked):
                many += 1
                text.write(json.dumps(run.to_dict(), allow_nan=False) + "\n")
    finally:
        if store is not history:
            store.close()
    write_atomic(target, text.getvalue().encode("utf-8", "backslashreplace"))
    return many


def every_run(store: History, **asked: Any) -> Iterator[PastRun]:
    """All runs that were asked for, newest first."""
    for row in every_row(store, **asked):
        yield run_of(LISTED, row)


def _cells(column: Sequence[Any]) -> Iterator[str]:
    """The fields of a column. Nothing for None, and no text that a spreadsheet would run."""
    types = set(map(type, column))
    if types <= {int, float}:
        return map(str, column)
    if types <= {str, type(None)}:  # most of them occur often
        return map({value: _field(value) for value in set(column)}.__getitem__, column)
    return map(_field, column)


def _field(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    return "" if value is None else str(value)


def _text(text: str) -> str:
    return text if _PLAIN(text) else _quoted(f"'{text}" if text.startswith(_FORMULA) else text)


@lru_cache(maxsize=1024)  # most runs share their names, spec, protocol and reference with many others
def _quoted(text: str) -> str:
    """One text among others, as the standard library quotes it."""
    field = io.StringIO(newline="")
    csv.writer(field, lineterminator="\n").writerow((text, ""))
    return field.getvalue().removesuffix(",\n")


def _mappings(column: Sequence[Any]) -> Iterator[str]:
    return map(_mapping, column)


@lru_cache(maxsize=1024)
def _mapping(text: str | None) -> str:
    found = None if text is None else json.loads(text)
    return _quoted(json.dumps(found, sort_keys=True)) if found else ""


def _yes_or_no(column: Sequence[Any]) -> Iterator[str]:
    return map(str, map(bool, column))


_CELLS = tuple(_mappings if name in MAPPINGS else _yes_or_no if name == "higher_is_better" else _cells for name in COLUMNS)
