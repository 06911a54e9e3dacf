"""Keeping runs: an answer goes into the history with where it came from, and with its items where they can be had again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import SteelyardError
from steelyard.estimate.guard.rule import settle_ratio
from steelyard.estimate.past_runs import history_place
from steelyard.history.store import History, open_history
from steelyard.options import documented
from steelyard.reference.changes import commit_of, who
from steelyard.reference.config import Config, find_config
from steelyard.reference.run_notes import notes_of
from steelyard.results.base import Warnings
from steelyard.results.evaluation import Evaluation
from steelyard.results.history import PastRun
from steelyard.results.verdict import Recorded, Suite, Verdict

if TYPE_CHECKING:
    from steelyard.reference.entry import Entry
    from steelyard.reference.lookup import ReferenceLocation

MOST_ITEMS = 1_000_000  # of one run; more are not worth their place


@documented(
    (),
    "the runs that were added, and what there is to say as sentences",
    result="A Verdict, Suite, Recorded, Evaluation or Measurement.",
    history="sqlite:///runs.db or postgresql://host/db; 'none' keeps nothing. Default: what steelyard.toml says; nothing without one.",
    config="A steelyard.toml. Default: the nearest upward.",
    sources="What the result was read from: files, or tables in memory. Default: the rows that a run has written; else no items.",
    columns="How the sources are read, as in `check`: a mapping of roles to columns. Default: found by their names.",
    spec="Of a run without a verdict: the configuration that was measured. Default: none.",
    protocol="How the result was made. Default: what a run has noted itself.",
    directory="Where the references are. Default: what steelyard.toml says, else references.",
    parts="Of a suite: for each verdict a mapping of its own sources, columns and protocol. Default: no items.",
    keep_answers="Keep excerpts of prompt, target and answer of every item as well. Default: False.",
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
    results = list(result.verdicts) if isinstance(result, Suite) else [result]
    read_from = parts or [{"sources": sources, "columns": columns, "protocol": protocol}] * len(results)
    facts: dict[str, Any] = {"by": who(), "commit": commit_of(Path.cwd())}
    warnings: list[str] = []
    added = []
    with open_history(place[0], base=place[1]) as store:
        for each, part in zip(results, read_from, strict=True):
            own, why = _own_facts(each, part, found, directory)
            if why is not None:
                warnings.append(f"{each.task} {each.model}: {why}" if len(results) > 1 else why)
            own_spec = spec if isinstance(each, Evaluation) and each.verdict is None else None
            try:
                added.append(store.append(each, spec=own_spec, **own, **facts))
            except SteelyardError as fault:
                if not added:
                    raise
                warnings.append(f"only {len(added)} of {len(results)} runs were stored in the history: {fault}")
                break
            if keep_answers:
                warnings += _keep_answers(store, added[-1].id, each, part, hashed=_keeps_hashes(each, found, directory))
    return added, warnings


def _keep_answers(store: History, id_: str, result: Any, part: Mapping[str, Any], *, hashed: bool) -> list[str]:
    """The texts of a run, kept beside it; what there is to say."""
    from steelyard.questions.history.answers import texts_of
    from steelyard.reference.outcomes import hash_id

    sources = [source for source in _sources_of(result, part["sources"]) if _lasting(source)]
    try:
        texts, why = texts_of(sources, part["columns"] or {}, _metric(result))
        if why is None:
            store.keep_answers(id_, {hash_id(name): said for name, said in texts.items()} if hashed else texts)
    except SteelyardError as fault:
        return [f"no answers were kept: {fault}"]
    return [] if why is None else [why]


def _keeps_hashes(result: Any, config: Config, directory: str | os.PathLike[str] | None) -> bool:
    entry = _on_record(result, config, directory)
    return config.ids == "hashed" or (entry is not None and _is_hashed(*entry))


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
    facts, why = _own_facts(result, {"sources": sources, "columns": columns, "protocol": protocol}, config, directory)
    with open_history(place[0], base=place[1]) as store:
        store.append_once(id_, result, by=who(), commit=commit, **facts)
    return why


def _own_facts(
    result: Any, part: Mapping[str, Any], config: Config, directory: str | os.PathLike[str] | None
) -> tuple[dict[str, Any], str | None]:
    """The items and the protocol of a result, as the history takes them; and why there are no items, if that is to be said."""
    sources = _sources_of(result, part["sources"])
    items, why = _items(result, sources, part["columns"] or {}, config, directory)
    return {"items": items, "protocol": {**_noted(sources), **(part["protocol"] or {})}}, why


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
) -> tuple[dict[str, float] | None, str | None]:
    """The scores of the run by item; None where they cannot be had again, with a sentence unless there never were any."""
    if not sources or not all(map(_lasting, sources)):
        return None, None
    if (result.n or 0) > MOST_ITEMS:
        return None, f"the run is stored without its {result.n:,} items: the history holds at most {MOST_ITEMS:,} per run"
    from steelyard.estimate.guard.source import scores_by_item  # NumPy: only where there is something to read

    entry = _on_record(result, config, directory)
    try:
        ratio = None if entry is None else settle_ratio(columns.get("ratio"), entry[1], entry[0].defaults, Warnings())
        scores = scores_by_item(sources, columns if ratio is None else {**columns, "ratio": ratio}, _metric(result))
    except SteelyardError as fault:
        return None, f"the run is stored without its items: {fault}"
    if scores is None:
        return None, None
    return _hashed(scores) if config.ids == "hashed" or (entry is not None and _is_hashed(*entry)) else scores, None


def _lasting(source: Any) -> bool:
    """Whether a source can be read again: a file or a table in memory, not a pipe, a cursor, a query."""
    if isinstance(source, str | os.PathLike):
        return os.path.isfile(source) or os.path.isdir(source)
    if isinstance(source, list | tuple | Mapping):
        return True
    from steelyard.read.frames import is_frame  # DuckDB: only where there is something to read

    return is_frame(source)


def _metric(result: Any) -> str:
    if isinstance(result, Verdict | Recorded):
        return result.metric
    if isinstance(result, Evaluation) and result.verdict is not None:
        return result.verdict.metric
    measured = result.measurement if isinstance(result, Evaluation) else result
    return "accuracy" if measured is None else measured.rows[0].metric


def _hashed(scores: Mapping[str, float]) -> dict[str, float]:
    from steelyard.reference.outcomes import hash_id

    return {hash_id(id_): score for id_, score in scores.items()}


def _on_record(result: Any, config: Config, directory: str | os.PathLike[str] | None) -> tuple[ReferenceLocation, Entry] | None:
    """The reference of a result and where it lies; None where there is none."""
    if not isinstance(result, Verdict | Recorded):
        return None
    from steelyard.reference.lookup import load, locate, matched

    try:
        place = locate(result.task, directory, config.path)
        return place, matched(place, result.model, result.spec, load(place, result.model)).entry
    except SteelyardError:
        return None


def _is_hashed(place: ReferenceLocation, entry: Entry) -> bool:
    """Whether the reference keeps hashes: then nobody wants to read the ids here."""
    from steelyard.reference.lookup import with_outcomes

    try:
        recorded = with_outcomes(place, entry)[1]
    except SteelyardError:
        return False
    return recorded is not None and recorded.hashed
