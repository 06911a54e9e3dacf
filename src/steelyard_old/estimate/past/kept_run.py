"""What the history keeps of an answer beside the answer itself: the score of every item where it can be read again, and the protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steelyard_old.errors import SteelyardError
from steelyard_old.estimate.guard.rule import is_better_higher, settle_ratio
from steelyard_old.history.entries import moments
from steelyard_old.history.store import MadeRun, made_run
from steelyard_old.metrics.catalogue import usual
from steelyard_old.reference.changes import who
from steelyard_old.reference.config import Config
from steelyard_old.reference.run_notes import RunNotes, notes_of
from steelyard_old.results.base import Warnings
from steelyard_old.results.evaluation import Evaluation
from steelyard_old.results.verdict import Recorded, Suite, Verdict

if TYPE_CHECKING:
    from steelyard_old.reference.entry import Entry
    from steelyard_old.reference.lookup import ReferenceLocation

MOST_ITEMS = 1_000_000  # of one run; more are not worth their place


def runs_of_suite(
    suite: Suite,
    parts: Sequence[Mapping[str, Any]],
    config: Config,
    directory: str | os.PathLike[str] | None,
    commit: str | None,
    *,
    texts: bool = False,
) -> tuple[list[MadeRun], list[str]]:
    """The runs of a suite, ready to be added to a history in one go; what there is to say of them. texts: as `History.append` has it."""
    made, warnings, by = [], [], who()
    for each, part, time in zip(suite.verdicts, parts, moments(len(parts)), strict=True):
        own, why = own_facts(each, part, config, directory)
        if why is not None:
            warnings.append(f"{each.task} {each.model}: {why}")
        made.append(made_run(as_kept(each, config, directory), by=by, commit=commit, time=time, texts=texts, **own))
    return made, warnings


def as_kept(result: Any, config: Config, directory: str | os.PathLike[str] | None) -> Any:
    """The result with the ids of its changed items as the history may have them: hashes where the reference, or the team, wants those."""
    verdict = result.verdict if isinstance(result, Evaluation) else result
    if not isinstance(verdict, Verdict) or not verdict.changed_items or not wants_hashes(verdict, config, directory):
        return result
    from steelyard_old.reference.outcomes import hash_id

    hashed = replace(verdict, changed_items=tuple(replace(item, id=hash_id(item.id)) for item in verdict.changed_items))
    return replace(result, verdict=hashed) if isinstance(result, Evaluation) else hashed


def wants_hashes(result: Any, config: Config, directory: str | os.PathLike[str] | None) -> bool:
    """Whether ids are kept as hashes."""
    if config.ids == "hashed":
        return True
    entry = on_record(result, config, directory)
    return entry is not None and keeps_hashes(*entry)


def own_facts(
    result: Any, part: Mapping[str, Any], config: Config, directory: str | os.PathLike[str] | None
) -> tuple[dict[str, Any], str | None]:
    """The items and the protocol of a result, as the history takes them; and why there are no items, if that is to be said.

    part: where the result was read from, and how it was judged where items were missing (`missing`, `range`); `own` in it is what this
    function gave before, so that nothing is read twice.
    """
    if "own" in part:
        return part["own"]  # type: ignore[no-any-return]
    sources = sources_of(result, part["sources"])
    items, why = _items(result, sources, part, config, directory)
    return {"items": items, "protocol": {**_noted(sources), **(part["protocol"] or {})}}, why


def sources_of(result: Any, sources: Sequence[Any]) -> Sequence[Any]:
    """Where the items of a result are: the files it was read from, or the rows that a run has written."""
    if isinstance(result, Evaluation):
        last = result.models[-1]
        return [] if last.output is None else [last.output]
    return sources


def _noted(sources: Sequence[Any]) -> dict[str, str]:
    """The protocol that a run of steelyard's own has noted."""
    notes = _first_notes(sources)
    return {} if notes is None else dict(notes.protocol)


def _first_notes(sources: Sequence[Any]) -> RunNotes | None:
    """What a run of steelyard's own has noted beside its rows."""
    try:
        notes = [notes_of(source) for source in sources]
    except SteelyardError:
        return None  # the check itself has said what is wrong with them
    return notes[0] if notes else None


def _items(
    result: Any,
    sources: Sequence[Any],
    part: Mapping[str, Any],
    config: Config,
    directory: str | os.PathLike[str] | None,
) -> tuple[dict[str, float] | None, str | None]:
    """The scores of the run by item, as they were judged: what counted as wrong has the score that it counted as.

    None where they cannot be had again, with a sentence unless there never were any.
    """
    if not sources or not all(map(is_lasting, sources)):
        return None, None
    if (result.n or 0) > MOST_ITEMS:
        return None, f"the run is stored without its {result.n:,} items: the history holds at most {MOST_ITEMS:,} per run"
    from steelyard_old.estimate.guard.source import scores_by_item  # NumPy: only where there is something to read

    entry = on_record(result, config, directory)
    columns = part["columns"] or {}
    try:
        ratio = None if entry is None else settle_ratio(columns.get("ratio"), entry[1], entry[0].defaults, Warnings())
        columns = columns if ratio is None else {**columns, "ratio": ratio}
        scores = scores_by_item(sources, columns, metric_name(result), **_missing_items(result, sources, part, entry))
    except SteelyardError as fault:
        return None, f"the run is stored without its items: {fault}"
    if scores is None:
        return None, None
    return _hashed(scores) if config.ids == "hashed" or (entry is not None and keeps_hashes(*entry)) else scores, None


def _missing_items(
    result: Any, sources: Sequence[Any], part: Mapping[str, Any], entry: tuple[ReferenceLocation, Entry] | None
) -> dict[str, Any]:
    """What an item without an answer was worth when the run was judged: whether it counted, and the range and direction of the scores."""
    missing = result.missing if isinstance(result, Evaluation) else part.get("missing")
    if missing != "wrong":
        return {}
    notes = _first_notes(sources)
    ends = part.get("range") or (None if notes is None else notes.range)
    verdict = result.verdict if isinstance(result, Evaluation) else result
    told: list[bool | None] = [verdict.higher_is_better] if isinstance(verdict, Verdict) else []
    if entry is not None:
        told += [entry[1].higher_is_better, entry[0].defaults.higher_is_better]
    if notes is not None:
        told.append(notes.rule.get("higher_is_better"))
    up = next((bool(said) for said in told if said is not None), is_better_higher(metric_name(result)))
    return {"missing": missing, "ends": None if ends is None else (float(ends[0]), float(ends[1])), "higher_is_better": up}


def is_lasting(source: Any) -> bool:
    """Whether a source can be read again: a file or a table in memory, not a pipe, a cursor, a query."""
    if isinstance(source, str | os.PathLike):
        return os.path.isfile(source) or os.path.isdir(source)
    if isinstance(source, list | tuple | Mapping):
        return True
    from steelyard_old.read.frames import is_frame  # DuckDB: only where there is something to read

    return is_frame(source)


def metric_name(result: Any) -> str:
    if isinstance(result, Verdict | Recorded):
        return result.metric
    if isinstance(result, Evaluation) and result.verdict is not None:
        return result.verdict.metric
    measured = result.measurement if isinstance(result, Evaluation) else result
    return usual({"score"}, right_or_wrong=True)[0].name if measured is None else measured.rows[0].metric


def _hashed(scores: Mapping[str, float]) -> dict[str, float]:
    from steelyard_old.reference.outcomes import hash_id

    return {hash_id(id_): score for id_, score in scores.items()}


def on_record(result: Any, config: Config, directory: str | os.PathLike[str] | None) -> tuple[ReferenceLocation, Entry] | None:
    """The reference of a result and where it lies; None where there is none."""
    if not isinstance(result, Verdict | Recorded):
        return None
    from steelyard_old.reference.lookup import load, locate, matched

    try:
        place = locate(result.task, directory, config.path)
        return place, matched(place, result.model, result.spec, load(place, result.model)).entry
    except SteelyardError:
        return None


def keeps_hashes(place: ReferenceLocation, entry: Entry) -> bool:
    """Whether the reference keeps hashes: then nobody wants to read the ids here."""
    from steelyard_old.reference.lookup import with_outcomes

    try:
        recorded = with_outcomes(place, entry)[1]
    except SteelyardError:
        return False
    return recorded is not None and recorded.hashed
