"""The runs so far: where their history is, a page of them newest first, and any two of them compared down to the items."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from steelyard_old.errors import DataError
from steelyard_old.estimate.past_runs import opened
from steelyard_old.history.store import History
from steelyard_old.options.compare import OPTIONS as COMPARED
from steelyard_old.options.history import LIMIT, OPTIONS, TWO_RUNS
from steelyard_old.options.option import documented, unknown_word
from steelyard_old.results import signature
from steelyard_old.results.comparison import Comparison
from steelyard_old.results.history import PastRun, RunList

VERDICTS = ("pass", "regression", "inconclusive")


@documented(
    OPTIONS,
    "a RunList",
    history="A URL such as sqlite:///runs.db, or what `open_history` gave. Default: what steelyard.toml says.",
)
def list_runs(
    history: str | History | None = None,
    *,
    task: str | None = None,
    model: str | None = None,
    spec: Mapping[str, Any] | None = None,
    metric: str | None = None,
    verdict: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    limit: int = LIMIT.default,
    after: str | None = None,
    config: str | os.PathLike[str] | None = None,
) -> RunList:
    """A page of the runs in the history, newest first. `history` is a URL, or what `open_history` gave; default: steelyard.toml.

    A spec is matched whole: {} finds the runs without one. `next` of the answer is the `after` of the page that follows.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     url = f"sqlite:///{there}/runs.db"
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there, history=url)
    ...     found = list_runs(history=url)
    >>> found.total, found.runs[0].task, found.runs[0].estimate
    (1, 'gsm8k', 0.9)
    """
    if verdict is not None and verdict not in VERDICTS:
        raise unknown_word("verdict", verdict, VERDICTS)
    asked = {"task": task, "model": model, "spec": spec, "metric": metric, "verdict": verdict, "since": since, "until": until}
    store = opened(history, config)
    try:
        runs, following, total = store.runs(**asked, limit=limit, after=after)  # type: ignore[arg-type]
    finally:
        if store is not history:
            store.close()
    shown = {name: str(value) if isinstance(value, datetime) else value for name, value in asked.items() if value is not None}
    facts = {"task": task, "model": model, "spec": [f"{k}={v}" for k, v in sorted((spec or {}).items())] or None, "metric": metric}
    return RunList(
        place=store.shown,
        runs=tuple(runs),
        total=total,
        next=following,
        asked=shown,
        conclusion=_listed(len(runs), total, store.shown, shown),
        signature=signature.write({"goal": "history", **facts, "n": total}),
    )


def _listed(shown: int, total: int, place: str, asked: Mapping[str, Any]) -> str:
    if not total:
        return f"no run {'like that ' if asked else ''}in {place}."
    many = f"{total:,} run{'s' if total > 1 else ''}{' like that' if asked else ''} in {place}"
    return f"{many}." if shown == total else f"{shown:,} of {many}, newest first."


@documented(
    TWO_RUNS,
    "a Comparison",
    [option for option in COMPARED if option.name != "names"],  # the runs have theirs
    history="A URL such as sqlite:///runs.db, or what `open_history` gave. Default: what steelyard.toml says.",
    options="**options: as for `compare`.",
)
def compare_runs(
    baseline: str,
    candidate: str,
    *,
    history: str | History | None = None,
    config: str | os.PathLike[str] | None = None,
    unmatched: str = "error",
    **options: Any,
) -> Comparison:
    """Two runs of the history, item by item: `compare` on what was kept of them. Both must have been kept with their items.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     url = f"sqlite:///{there}/runs.db"
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there, history=url)
    ...     later = sy.check([{**row, "score": 1} for row in rows], task="gsm8k", model="m", directory=there, history=url)
    ...     new, old = sy.list_runs(history=url).runs
    ...     found = compare_runs(old.id, new.id, history=url)
    >>> round(found.difference.estimate, 6)
    0.1
    """
    store = opened(history, config)
    try:
        runs = [store.run(id_) for id_ in (baseline, candidate)]
        items = [store.items(run.id) for run in runs]
    finally:
        if store is not history:
            store.close()
    for run, found in zip(runs, items, strict=True):
        if found is None:
            raise DataError(
                f"Run {run.id[:8]} was stored without its items, so it cannot be compared item by item.",
                got="a run that was stored without its items",
                need="runs with items",
                hint="a check of a file stores them; a bare value or an engine has none",
            )
    _refuse_other_quantity(runs)
    from steelyard_old.questions.compare.compare import compare

    sources = [{"id": list(each), "score": list(each.values())} for each in items if each is not None]
    answer = compare(*sources, names=[_named(run) for run in runs], unmatched=unmatched, **options)
    assert isinstance(answer, Comparison)
    return replace(answer, warnings=(*answer.warnings, *_differing(runs)))


def _named(run: PastRun) -> str:
    return f"{run.model} {run.time[:16].replace('T', ' ')} ({run.id[:8]})"


def _refuse_other_quantity(runs: list[PastRun]) -> None:
    a, b = runs
    if (a.task, a.metric) != (b.task, b.metric):
        raise DataError(
            f"Cannot compare {a.metric} on {a.task} with {b.metric} on {b.task}: two runs must have one metric on one task.",
            got=f"{a.metric} on {a.task} and {b.metric} on {b.task}",
            need="one metric on one task",
        )


def _differing(runs: list[PastRun]) -> list[str]:
    """What else differs between two runs."""
    a, b = runs
    out = []
    for what, one, other in (("model", a.model, b.model), ("spec", a.spec, b.spec), ("protocol", a.protocol, b.protocol)):
        if one != other:
            out.append(f"the runs differ in their {what}: {one or 'none'} and {other or 'none'}")
    return out
