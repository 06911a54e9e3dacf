"""Runs of the history as a file: CSV that no spreadsheet runs as a formula, or JSON Lines."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from steelyard.atomic import write_atomic
from steelyard.errors import UsageError
from steelyard.estimate.past_runs import opened
from steelyard.history.schema import MAPPINGS
from steelyard.history.store import LISTED, History, every_row, run_of
from steelyard.results.history import PastRun

ENDINGS = (".csv", ".jsonl")
COLUMNS = LISTED  # the fields of a run, in their order
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
            for row in every_row(store, **asked):
                many += 1
                writer.writerow([cell(value) for cell, value in zip(_CELLS, row, strict=True)])
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


def _cell(value: Any) -> Any:
    """A cell: nothing for None, and no text that a spreadsheet would run."""
    if value is None:
        return ""
    if isinstance(value, str) and value[:1] in _FORMULA:
        return f"'{value}"
    return value


@lru_cache(maxsize=1024)  # most runs share their spec, protocol and reference with many others
def _mapping(text: str | None) -> str:
    found = None if text is None else json.loads(text)
    return json.dumps(found, sort_keys=True) if found else ""


def _yes_or_no(value: Any) -> bool:
    return bool(value)


_CELLS = tuple(_mapping if name in MAPPINGS else _yes_or_no if name == "higher_is_better" else _cell for name in COLUMNS)
