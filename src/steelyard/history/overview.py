"""The series of a history: which tasks, models, specs and metrics there are, each with its number of runs and its newest ones."""

# ruff: noqa: S608 - SQL is built here from names of our own; values of users are parameters
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import UsageError
from steelyard.history.entries import canonical
from steelyard.history.schema import RUNS
from steelyard.history.store import History
from steelyard.results.history import PastRun

SERIES = '"task", "model", "spec", "metric"'
MOST = 200  # series on a page, and names in a list
DRAWN = 40  # newest runs of each series


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesLine:
    """One series: what it is about, how many runs it has, and the newest of them, oldest first."""

    task: str
    model: str
    spec: Mapping[str, str]
    metric: str
    runs: int
    newest: tuple[PastRun, ...]

    @property
    def last(self) -> PastRun:
        return self.newest[-1]

    @property
    def judged(self) -> PastRun | None:
        """The newest run that has a verdict."""
        return next((run for run in reversed(self.newest) if run.verdict is not None), None)


def series_page(
    history: History,
    *,
    task: str | None = None,
    model: str | None = None,
    metric: str | None = None,
    verdict: str | None = None,
    limit: int = 25,
    skip: int = 0,
    drawn: int = DRAWN,
) -> tuple[list[SeriesLine], int]:
    """A page of series, the one with the newest run first, and how many series there are in all. `verdict` is of the last judged run."""
    if not 1 <= limit <= MOST or skip < 0:
        raise UsageError("cannot list the series", got=f"a page of {limit} after {skip}", need=f"1 to {MOST} after 0 or more")
    asked = {name: value for name, value in (("task", task), ("model", model), ("metric", metric)) if value is not None}
    conditions, values = [f'"{name}" = ?' for name in asked], list(asked.values())
    if verdict is not None:
        judged = " AND ".join(['"verdict" IS NOT NULL', *conditions])
        newest = f'ROW_NUMBER() OVER (PARTITION BY {SERIES} ORDER BY "time" DESC, "id" DESC) AS place'
        last = f'SELECT {SERIES} FROM (SELECT {SERIES}, "verdict", {newest} FROM {RUNS} WHERE {judged}) AS found'
        conditions, values = [*conditions, f'({SERIES}) IN ({last} WHERE place = 1 AND "verdict" = ?)'], [*values, *values, verdict]
    where = " WHERE " + " AND ".join(conditions) if conditions else ""
    of_series = f"FROM {RUNS}{where} GROUP BY {SERIES}"
    # Times are of one length, so the largest of time and id together is the newest run. The number of series comes along.
    sql = f'SELECT {SERIES}, COUNT(*), MAX("time" || "id") AS newest, COUNT(*) OVER () {of_series}'
    rows = history._place.run(f"{sql} ORDER BY newest DESC LIMIT ? OFFSET ?", [*values, limit, skip])
    if rows:
        total = int(rows[0][6])
    else:  # beyond the end, where nobody brings it along
        total = int(history._place.run(f"SELECT COUNT(*) FROM (SELECT 1 {of_series}) AS found", values)[0][0])
    return [_line(history, row, drawn) for row in rows], total


def _line(history: History, row: tuple[Any, ...], drawn: int) -> SeriesLine:
    task, model, spec, metric, many = str(row[0]), str(row[1]), json.loads(row[2]), str(row[3]), int(row[4])
    newest, _, _ = history.runs(task=task, model=model, spec=spec, metric=metric, limit=drawn)
    return SeriesLine(task=task, model=model, spec=spec, metric=metric, runs=many, newest=tuple(reversed(newest)))


def names_in(history: History, column: str) -> list[str]:
    """The tasks or models that there are, in order; the first of them, if there are very many."""
    if column not in ("task", "model"):
        raise UsageError("cannot list the names", got=repr(column), need="task or model")
    # One step of the index for each name: the runs of a task are not walked through to find the next task.
    found: list[str] = []
    while len(found) < MOST:
        after = f' WHERE "{column}" > ?' if found else ""
        row = history._place.run(f'SELECT MIN("{column}") FROM {RUNS}{after}', found[-1:])
        if row[0][0] is None:
            break
        found.append(str(row[0][0]))
    return found


def before(history: History, run: PastRun) -> PastRun | None:
    """The run of the same series that came before this one."""
    sql = (
        f'SELECT "id" FROM {RUNS} WHERE "task" = ? AND "model" = ? AND "spec" = ? AND "metric" = ? AND ("time", "id") < (?, ?) '
        'ORDER BY "time" DESC, "id" DESC LIMIT 1'
    )
    rows = history._place.run(sql, [run.task, run.model, canonical(run.spec), run.metric, run.time, run.id])
    return history.run(str(rows[0][0])) if rows else None
