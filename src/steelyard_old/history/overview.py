"""The series of a history: which tasks, models, specs and metrics there are, each with its number of runs and its newest ones."""

# ruff: noqa: S608 - SQL is built here from names of our own; values of users are parameters
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard_old.errors import UsageError
from steelyard_old.history.entries import canonical
from steelyard_old.history.schema import RUNS
from steelyard_old.history.store import History, database_of, page_query, run_of
from steelyard_old.results.history import PastRun

SERIES = '"task", "model", "metric", "spec"'
_SAME = 'r."task" = s."task" AND r."model" = s."model" AND r."metric" = s."metric" AND r."spec" = s."spec"'
# What an overview shows of a run: SQLite finds all of it in one index, without reading the runs themselves.
PICTURED = ("task", "model", "metric", "spec", "time", "id", "verdict", "estimate", "threshold", "command")
MOST = 200  # series on a page, and names in a list
DRAWN = 40  # newest runs of each series


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesLine:
    """One series: what it is about, how many runs it has, and the newest of them, oldest first, with the fields `PICTURED` alone."""

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
        raise UsageError(
            f"A page lists 1 to {MOST} series after 0 or more, not {limit} after {skip}.",
            got=f"a page of {limit} after {skip}",
            need=f"1 to {MOST} after 0 or more",
        )
    asked = {name: value for name, value in (("task", task), ("model", model), ("metric", metric)) if value is not None}
    conditions, values = [f'"{name}" = ?' for name in asked], list(asked.values())
    where = " WHERE " + " AND ".join(conditions) if conditions else ""
    series = f'SELECT {SERIES}, COUNT(*) AS many, MAX("time") AS newest FROM {RUNS}{where} GROUP BY {SERIES}'
    last = f'(SELECT MAX(r."id") FROM {RUNS} r WHERE {_SAME} AND r."time" = s.newest)'  # of several at one moment
    found = f"FROM ({series}) AS s"
    if verdict is not None:
        newest = 'ORDER BY r."time" DESC, r."id" DESC LIMIT 1'
        found += f' WHERE (SELECT r."verdict" FROM {RUNS} r WHERE {_SAME} AND r."verdict" IS NOT NULL {newest}) = ?'
        values.append(verdict)
    with database_of(history).reading():
        sql = f"SELECT {SERIES}, many, COUNT(*) OVER () {found} ORDER BY newest DESC, {last} DESC LIMIT ? OFFSET ?"
        rows = database_of(history).run(sql, [*values, limit, skip])
        # Beyond the end nobody brings the number of series along.
        total = int(rows[0][5]) if rows else int(database_of(history).run(f"SELECT COUNT(*) {found}", values)[0][0])
        return [_line(history, row, drawn) for row in rows], total


def _line(history: History, row: tuple[Any, ...], drawn: int) -> SeriesLine:
    task, model, metric, spec = map(str, row[:4])
    where = [(f'"{name}" = ?', value) for name, value in (("task", task), ("model", model), ("metric", metric), ("spec", spec))]
    newest = database_of(history).run(page_query(where, PICTURED), [*(value for _, value in where), drawn])
    runs = tuple(run_of(PICTURED, each) for each in reversed(newest))
    return SeriesLine(task=task, model=model, spec=json.loads(spec), metric=metric, runs=int(row[4]), newest=runs)


def names_in(history: History, column: str) -> list[str]:
    """The tasks or models that there are, in order; the first of them, if there are very many."""
    if column not in ("task", "model"):
        raise UsageError(f"The names of tasks and of models can be listed, not of {column!r}.", got=repr(column), need="task or model")
    # One step of the index for each name: the runs of a task are not walked through to find the next task.
    found: list[str] = []
    while len(found) < MOST:
        after = f' WHERE "{column}" > ?' if found else ""
        row = database_of(history).run(f'SELECT MIN("{column}") FROM {RUNS}{after}', found[-1:])
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
    rows = database_of(history).run(sql, [run.task, run.model, canonical(run.spec), run.metric, run.time, run.id])
    return history.run(str(rows[0][0])) if rows else None
