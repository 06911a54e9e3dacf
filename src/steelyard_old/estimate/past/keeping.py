"""Keeping an answer: it goes into the history with where it came from, and with its items where they can be had again.

`check`, `record`, `run`, suites and the command keep their answers here; `keep_run` is the same for who has an answer already.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from steelyard_old.errors import SteelyardError
from steelyard_old.estimate.past.kept_answers import keep_texts
from steelyard_old.estimate.past.kept_run import as_kept, own_facts
from steelyard_old.estimate.past_runs import history_place
from steelyard_old.history.entries import moments
from steelyard_old.history.store import open_history
from steelyard_old.reference.changes import commit_of, who
from steelyard_old.reference.config import find_config
from steelyard_old.results.evaluation import Evaluation
from steelyard_old.results.history import PastRun
from steelyard_old.results.verdict import Recorded, Suite, Verdict

Answer = TypeVar("Answer", Verdict, Suite, Recorded, Evaluation)


def add_runs(
    result: Any,
    *,
    history: str | None,
    config: str | os.PathLike[str] | None = None,
    sources: Sequence[Any] = (),
    columns: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    protocol: Mapping[str, str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    parts: Sequence[Mapping[str, Any]] = (),
    keep_answers: bool = False,
    missing: str | None = None,
    range: Sequence[float] | None = None,  # noqa: A002  the contract's word
) -> tuple[list[PastRun], list[str]]:
    """Add an answer to the history that is named, or configured: the runs that were added, and what there is to say.

    missing, range: how the answer was asked, so that an item that counted as wrong is kept with the score that it counted as.
    """
    found = find_config(Path.cwd(), None if config is None else Path(config))
    place = history_place(history, found)
    if place is None:
        return [], []
    results: list[Any] = list(result.verdicts) if isinstance(result, Suite) else [result]
    if isinstance(result, Evaluation):
        results = list(result.pairs)
    of_items = {"missing": missing, "range": range}
    read_from = parts or [{"sources": sources, "columns": columns, "protocol": protocol, **of_items}] * len(results)
    facts: dict[str, Any] = {"by": who(), "commit": commit_of(Path.cwd())}
    warnings: list[str] = []
    added = []
    with open_history(place[0], base=place[1]) as store:
        for each, part, time in zip(results, read_from, moments(len(results)), strict=True):
            own, why = own_facts(each, part, found, directory)
            if why is not None:
                warnings.append(f"{each.task} {each.model}: {why}" if len(results) > 1 else why)
            own_spec = spec if isinstance(each, Evaluation) and each.verdict is None else None
            try:
                kept = as_kept(each, found, directory)
                added.append(store.append(kept, spec=own_spec, time=time, texts=keep_answers, **own, **facts))
            except SteelyardError as fault:
                if not added:
                    raise
                warnings.append(f"only {len(added)} of {len(results)} runs were stored in the history: {fault}")
                break
            if keep_answers:
                warnings += keep_texts(store, added[-1].id, each, part, config=found, directory=directory)
    return added, warnings


def keep(result: Any, **facts: Any) -> list[str]:
    """Add an answer to the history; what there is to say. A history that fails costs nobody the answer, which may have taken hours.

    facts: as `add_runs` has them.
    """
    what = "the runs were" if isinstance(result, Suite) else "the run was"
    try:
        return add_runs(result, **facts)[1]
    except SteelyardError as fault:
        return [f"{what} not stored in the history: {fault}"]
    except Exception as fault:
        return [f"{what} not stored in the history: {type(fault).__name__}: {fault}"]


def with_kept(result: Answer, **facts: Any) -> Answer:
    """The answer, which is in the history now; what could not be kept is a warning."""
    said: list[str] = keep(result, **facts)
    return replace(result, warnings=(*result.warnings, *said)) if said else result
