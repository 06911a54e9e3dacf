"""Answers kept in the history: those of a run if somebody asks, those of the reference beside what changed, and dropping them again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from steelyard_old.errors import SteelyardError, UsageError, with_article
from steelyard_old.estimate.past_runs import history_place, opened
from steelyard_old.history.store import LARGEST_PAGE, History, open_history
from steelyard_old.options.history import KEEP, OPTIONS
from steelyard_old.options.option import documented
from steelyard_old.reference.config import find_config
from steelyard_old.results.comparison import ChangedItem
from steelyard_old.results.verdict import Suite, Verdict

Judged = TypeVar("Judged", Verdict, Suite)


@documented(
    KEEP,
    "the same, with `baseline_answer` beside its changed items",
    result="A Verdict or a Suite.",
    history="sqlite:///runs.db or postgresql://host/db, in which the reference was recorded with its answers. Default: see config.",
)
def with_reference_answers(result: Judged, *, history: str | None = None, config: str | os.PathLike[str] | None = None) -> Judged:
    """What was judged, with the answers of the reference beside those of its changed items, where the history has kept them.

    Regressions have them; a suite, those of its verdicts that are. Never an error.
    """
    if not isinstance(result, Verdict | Suite):
        raise UsageError(
            f"result must be a Verdict or a Suite, which answers belong to, not {with_article(type(result).__name__)}.",
            got=with_article(type(result).__name__),
            need="a Verdict or a Suite",
        )
    verdicts = result.verdicts if isinstance(result, Suite) else (result,)
    if not any(map(_wants_answers, verdicts)):
        return result
    try:
        found = find_config(Path.cwd(), None if config is None else Path(config))
        place = history_place(history, found)
        if place is None:
            return result
        with open_history(place[0], base=place[1], create=False) as store:
            shown = tuple(_with_answers(store, each) if _wants_answers(each) else each for each in verdicts)
    except SteelyardError:
        return result  # keeping the run will say what is wrong with the history
    return replace(result, verdicts=shown) if isinstance(result, Suite) else shown[0]


def _wants_answers(verdict: Verdict) -> bool:
    return verdict.verdict == "regression" and bool(verdict.changed_items)


def _with_answers(store: History, verdict: Verdict) -> Verdict:
    known = _of_reference(store, verdict)
    if not known:
        return verdict
    from steelyard_old.reference.outcomes import hash_id

    def texts(id_: str) -> Mapping[str, str] | None:
        return known.get(id_) or known.get(hash_id(id_))

    return replace(verdict, changed_items=tuple(_beside(item, texts(item.id)) for item in verdict.changed_items))


def _of_reference(store: History, verdict: Verdict) -> dict[str, dict[str, str]] | None:
    """The texts of the run that is on record now: the newest recorded one, unless the reference is younger than that."""
    runs, _, _ = store.runs(task=verdict.task, model=verdict.model, spec=verdict.spec, command="record", limit=1)
    recorded = verdict.reference.recorded
    if not runs or recorded is None or runs[0].time < recorded[:19]:  # both UTC, ISO 8601
        return None
    return store.answers(runs[0].id)


def _beside(item: ChangedItem, texts: Mapping[str, str] | None) -> ChangedItem:
    if not texts:
        return item
    more = {"prompt": texts.get("prompt"), "target": None if item.truth is not None else texts.get("target")}
    more["baseline_answer"] = None if isinstance(item.baseline, str) else texts.get("answer")
    return replace(item, **{key: value for key, value in more.items() if value and not getattr(item, key)})


@documented(
    OPTIONS,
    "how many runs had answers",
    history="A URL, or what `open_history` gave. Default: what steelyard.toml says.",
)
def drop_answers(
    history: str | History | None = None,
    *,
    task: str | None = None,
    model: str | None = None,
    spec: Mapping[str, Any] | None = None,
    metric: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    config: str | os.PathLike[str] | None = None,
) -> int:
    """Remove the answers that were kept of past runs, for good. Their scores, items and verdicts stay.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     url = f"sqlite:///{there}/runs.db"
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there, history=url)
    ...     found = drop_answers(history=url)
    >>> found
    0
    """
    store = opened(history, config)
    try:
        dropped, after = 0, None
        while True:
            asked = {"task": task, "model": model, "spec": spec, "metric": metric, "since": since, "until": until}
            runs, after, _ = store.runs(**asked, limit=LARGEST_PAGE, after=after)  # type: ignore[arg-type]
            dropped += store.drop_answers([run.id for run in runs])
            if after is None:
                return dropped
    finally:
        if store is not history:
            store.close()
