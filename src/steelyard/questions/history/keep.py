"""Keeping runs: an answer goes into the history with where it came from, and with its items where they can be had again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.estimate.past.kept_answers import keep_texts
from steelyard.estimate.past.kept_run import as_kept, own_facts
from steelyard.estimate.past_runs import history_place
from steelyard.history.entries import moments
from steelyard.history.store import open_history
from steelyard.options.history import KEEP
from steelyard.options.option import documented
from steelyard.reference.changes import commit_of, who
from steelyard.reference.config import Config, find_config
from steelyard.results.evaluation import Evaluation
from steelyard.results.history import PastRun
from steelyard.results.verdict import Suite


@documented(
    KEEP,
    "the runs that were added, and what there is to say as sentences",
    result="A Verdict, Suite, Recorded, Evaluation or Measurement.",
    history="sqlite:///runs.db or postgresql://host/db; 'none' keeps nothing. Default: what steelyard.toml says; nothing without one.",
    spec="Of a run without a verdict: the configuration that was measured. Default: none.",
)
def keep_run(
    result: Any,
    *,
    history: str | None = None,
    config: str | os.PathLike[str] | None = None,
    sources: Sequence[Any] = (),
    columns: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    protocol: Mapping[str, str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    parts: Sequence[Mapping[str, Any]] = (),
    keep_answers: bool = False,
) -> tuple[list[PastRun], list[str]]:
    """Add a result to the history, with where it came from: what `--history` of the commands does.

    The items of `sources` are kept as well, each with its score, where they can be read again and have ids: as they are, or as
    hashes where steelyard.toml or the reference says so. A suite is its verdicts. Answers are kept only if asked for, without the
    secrets that are known, and `history --drop-answers` removes them again.
    """
    found = find_config(Path.cwd(), None if config is None else Path(config))
    place = history_place(history, found)
    if place is None:
        return [], []
    results: list[Any] = list(result.verdicts) if isinstance(result, Suite) else [result]
    if isinstance(result, Evaluation):
        results = list(result.pairs)
    read_from = parts or [{"sources": sources, "columns": columns, "protocol": protocol}] * len(results)
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


def keep_once(
    id_: str,
    result: Any,
    place: tuple[str, Path | None],
    config: Config,
    *,
    sources: Sequence[Any],
    columns: Mapping[str, Any],
    protocol: Mapping[str, str] | None,
    directory: str | os.PathLike[str] | None,
    commit: str | None,
) -> str | None:
    """Add a result under an id of its own, unless it is there already: a test that is run again finds the same. What there is to say."""
    facts, why = own_facts(result, {"sources": sources, "columns": columns, "protocol": protocol}, config, directory)
    with open_history(place[0], base=place[1]) as store:
        store.append_once(id_, as_kept(result, config, directory), by=who(), commit=commit, **facts)
    return why
