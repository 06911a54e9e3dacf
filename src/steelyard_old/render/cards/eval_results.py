"""A file of `.eval_results/`: one score per benchmark and task, as the Hub shows it on the page of a model."""

from __future__ import annotations

import re
from typing import Any

from steelyard_old.errors import DataError, UsageError
from steelyard_old.render.cards.about import CardDetails, Evaluated
from steelyard_old.render.cards.shown import shown
from steelyard_old.render.digits import percent, row_texts
from steelyard_old.results.measurement import Row
from steelyard_old.yaml_text import item_lines

HEAD = "# Written by `steelyard report --eval-results`, which replaces the whole file."
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*\Z", re.ASCII)


def eval_results_yaml(about: CardDetails, *, metric: str | None = None, task_id: str) -> str:
    """The text of the file. The format has no place for an interval, so the notes tell it."""
    entries = [_entry(each, _score(each, metric), about, task_id) for each in about.evaluated]
    return "\n".join([HEAD, *(line for entry in entries for line in item_lines(shown(entry)))]) + "\n"


def _entry(each: Evaluated, row: Row, about: CardDetails, task_id: str) -> dict[str, Any]:
    if not _ID.match(each.data):
        raise UsageError(
            f"The benchmark for .eval_results must be the id of a dataset on the Hub, owner/name, not {each.data!r}.",
            got=repr(each.data),
            need="the id of a dataset on the Hub, owner/name",
            hint="name the result: cais/hle=result.json",
        )
    notes = f"{row.name}, n = {row.n:,}"
    if row.interval is not None:
        notes += f", {percent(row.interval.confidence_level)} interval {row_texts(row)[1]} ({row.interval.method})"
    return {
        "dataset": {"id": each.data, "task_id": task_id},
        "value": row.estimate,
        **({"source": {"url": about.source, "name": "steelyard"}} if about.source else {}),
        "notes": notes,
    }


def _score(each: Evaluated, metric: str | None) -> Row:
    """The one number that the format has room for."""
    found = [row for row in each.scores if metric in (None, row.name, row.metric)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(row.name for row in each.scores)
    if not each.scores:
        raise DataError(f"{each.data!r} has no metric with a value.", got="no metric with a value", need="one")
    raise UsageError(f"{each.data!r} has several metrics: {names}.", got=names, need="one metric", hint=f"metric={each.scores[0].name!r}")
