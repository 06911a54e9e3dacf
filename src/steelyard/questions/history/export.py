"""Runs of the history as a file: CSV that no spreadsheet runs as a formula, or JSON Lines."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.atomic import write_atomic
from steelyard.errors import UsageError
from steelyard.history.store import History
from steelyard.questions.history.history import opened
from steelyard.results.history import PastRun

ENDINGS = (".csv", ".jsonl")
COLUMNS = PastRun.names()
PAGE = 1_000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_runs(
    path: str | os.PathLike[str],
    history: str | History | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    **asked: Any,
) -> int:
    """Write every run that `list_runs` would list, newest first, and return how many. By the ending: .csv or .jsonl.

    A text that a spreadsheet would run as a formula gets a quote in front, in CSV. The file is there whole, or as it was.
    """
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
    writer = csv.writer(text, lineterminator="\n")
    try:
        if ending == ".csv":
            writer.writerow(COLUMNS)
        for run in every_run(store, **asked):
            many += 1
            if ending == ".csv":
                writer.writerow([_cell(getattr(run, name)) for name in COLUMNS])
            else:
                text.write(json.dumps(run.to_dict(), allow_nan=False) + "\n")
    finally:
        if store is not history:
            store.close()
    write_atomic(target, text.getvalue().encode("utf-8", "backslashreplace"))
    return many


def every_run(store: History, **asked: Any) -> Iterator[PastRun]:
    """All runs that were asked for, newest first, page by page."""
    after: str | None = None
    while True:
        runs, after, _ = store.runs(**asked, limit=PAGE, after=after)
        yield from runs
        if after is None:
            return


def _cell(value: Any) -> Any:
    """A cell: nothing for None, mappings as JSON, and no text that a spreadsheet would run."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return json.dumps(dict(value), sort_keys=True) if value else ""
    if isinstance(value, str) and value[:1] in _FORMULA:
        return f"'{value}"
    return value
