"""Keeping runs: an answer goes into the history with where it came from, and with its items where they can be had again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.history.store import open_history
from steelyard.questions.history.history import history_place
from steelyard.reference.changes import commit_of, who
from steelyard.reference.config import Config, find_config
from steelyard.reference.run_notes import notes_of
from steelyard.results.evaluation import Evaluation
from steelyard.results.history import PastRun
from steelyard.results.verdict import Recorded, Suite, Verdict

MOST_ITEMS = 1_000_000  # of one run; more are not worth their place


def keep(
    result: Any,
    *,
    history: str | None = None,
    config: str | os.PathLike[str] | None = None,
    sources: Sequence[Any] = (),
    columns: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    protocol: Mapping[str, str] | None = None,
    directory: str | os.PathLike[str] | None = None,
) -> tuple[list[PastRun], list[str]]:
    """Add an answer to the history, if there is one: the runs that were added, and what there is to say.

    A suite is its verdicts. `sources` are the files that were read: their items are kept as well, each with its score, where a file
    can be read again and its items have ids. As references, by config.ids: as they are, or as hashes. `spec` is for a result that
    does not know its own.
    """
    found = find_config(Path.cwd(), None if config is None else Path(config))
    place = history_place(history, found)
    if place is None:
        return [], []
    results = list(result.verdicts) if isinstance(result, Suite) else [result]
    by, commit = who(), commit_of(Path.cwd())
    warnings: list[str] = []
    added = []
    with open_history(place[0], base=place[1]) as store:
        for each in results:
            own = _sources_of(each, sources)
            items = _items(each, own, columns or {}, found, directory, warnings)
            said = {**_noted(own), **(protocol or {})}
            own_spec = spec if isinstance(each, Evaluation) and each.verdict is None else None
            added.append(store.append(each, items=items, spec=own_spec, protocol=said, by=by, commit=commit))
    return added, warnings


def _sources_of(result: Any, sources: Sequence[Any]) -> Sequence[Any]:
    """Where the items of a result are: the files it was read from, or the rows that a run has written."""
    if isinstance(result, Evaluation):
        last = result.models[-1]
        return [] if last.output is None else [last.output]
    return sources


def _noted(sources: Sequence[Any]) -> dict[str, str]:
    """The protocol that a run of steelyard's own has noted."""
    try:
        notes = [notes_of(source) for source in sources]
    except SteelyardError:
        return {}  # the check itself has said what is wrong with them
    return dict(notes[0].protocol) if notes and notes[0] is not None else {}


def _items(
    result: Any,
    sources: Sequence[Any],
    columns: Mapping[str, Any],
    config: Config,
    directory: str | os.PathLike[str] | None,
    warnings: list[str],
) -> dict[str, float] | None:
    """The scores of the run by item; None where they cannot be had again, which is said unless there never were any."""
    files = [source for source in sources if isinstance(source, str | os.PathLike) and os.path.exists(source) and not _pipe(source)]
    if not files or len(files) < len(sources):
        return None
    if (result.n or 0) > MOST_ITEMS:
        warnings.append(f"the run is stored without its {result.n:,} items: the history holds at most {MOST_ITEMS:,} per run")
        return None
    try:
        scores = _scores(files, columns, _metric(result))
    except SteelyardError as fault:
        warnings.append(f"the run is stored without its items: {fault}")
        return None
    if scores is None:
        return None
    return _hashed(scores) if config.ids == "hashed" or _hashed_on_record(result, config, directory) else scores


def _pipe(source: Any) -> bool:
    return not (os.path.isfile(source) or os.path.isdir(source))


def _metric(result: Any) -> str:
    if isinstance(result, Verdict | Recorded):
        return result.metric
    if isinstance(result, Evaluation) and result.verdict is not None:
        return result.verdict.metric
    measured = result.measurement if isinstance(result, Evaluation) else result
    return "accuracy" if measured is None else measured.rows[0].metric


def _scores(files: Sequence[Any], columns: Mapping[str, Any], name: str) -> dict[str, float] | None:
    """One number per item, the mean over its repeats and over the files; an item without an answer is left out of it."""
    import numpy as np

    from steelyard.estimate.changed_items import item_values
    from steelyard.estimate.guard.source import metric_of, read_run

    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for file in files:
        items = read_run(file, columns, name, []).items
        if items.id is None or items.count is not None:
            return None
        values = item_values(items, metric_of(name, items))
        if values is None:
            return None
        known = ~np.isnan(values) & (items.id.codes >= 0)
        total = np.bincount(items.id.codes[known], weights=values[known], minlength=len(items.id.names))
        times = np.bincount(items.id.codes[known], minlength=len(items.id.names))
        for code in np.flatnonzero(times):
            id_ = items.id.names[code]
            sums[id_] = sums.get(id_, 0.0) + float(total[code])
            counts[id_] = counts.get(id_, 0) + int(times[code])
    return {id_: sums[id_] / counts[id_] for id_ in sums} or None


def _hashed(scores: Mapping[str, float]) -> dict[str, float]:
    from steelyard.reference.outcomes import hash_id

    return {hash_id(id_): score for id_, score in scores.items()}


def _hashed_on_record(result: Any, config: Config, directory: str | os.PathLike[str] | None) -> bool:
    """Whether the reference keeps hashes: then nobody wants to read the ids here."""
    if not isinstance(result, Verdict | Recorded):
        return False
    from steelyard.reference.lookup import load, locate, matched, with_outcomes

    try:
        place = locate(result.task, directory, config.path)
        recorded = with_outcomes(place, matched(place, result.model, result.spec, load(place, result.model)).entry)[1]
    except SteelyardError:
        return False
    return recorded is not None and recorded.hashed
