"""Put a run on record: its value, its items one by one, and where it came from. Never over an old reference unasked."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard_old.atomic import read_if_there
from steelyard_old.errors import DataError, SourceError, SteelyardError, UsageError
from steelyard_old.estimate.guard.rates import pooled_rates
from steelyard_old.estimate.guard.rule import is_better_higher, settle_ratio
from steelyard_old.estimate.guard.slice_request import slice_columns
from steelyard_old.estimate.guard.source import metric_of, read_sliced
from steelyard_old.estimate.opening import (
    SystemItems,
    check_log_metric,
    default_metric,
    own_direction,
    own_positive,
    refuse_unfinished,
    warn_disagreement,
    warn_unused_positive,
)
from steelyard_old.estimate.pair_evidence import refuse_weights, right_or_wrong, scores_decide
from steelyard_old.estimate.rows import rows_of_sample
from steelyard_old.estimate.strata_rows import refuse_alike
from steelyard_old.items import Items
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import find
from steelyard_old.options.measure import MeasureOptions, settle
from steelyard_old.options.option import documented
from steelyard_old.options.record import OPTIONS
from steelyard_old.questions.record.entry import (
    EntryRequest,
    Measured,
    entry_of,
    name_of,
    refuse_other_metric,
    refuse_unasked,
    request_of,
    scale_of_range,
    with_direction,
)
from steelyard_old.reference import outcomes
from steelyard_old.reference.changes import RECOVERED, Change, followed, now
from steelyard_old.reference.entry import ENOUGH_RUNS, Entry
from steelyard_old.reference.lookup import ReferenceLocation, entry_there, locate
from steelyard_old.reference.names import canonical_spec, outcomes_name
from steelyard_old.reference.outcome_text import OF_RUNS
from steelyard_old.reference.run_notes import RunNotes, notes_of
from steelyard_old.reference.task_file import TaskFile, with_entry
from steelyard_old.reference.writing import PlannedWrite, carry_out, parsed, read_history
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.verdict import Recorded
from steelyard_old.tally.sample import Sample
from steelyard_old.tally.spelling import look_alike_warnings

PUT = ("record", "update", "import", RECOVERED)  # the actions that put a value on record


def stored(entry: Entry, kept: outcomes.Outcomes | None, place: ReferenceLocation, before: Entry | None) -> tuple[Entry, tuple[str, ...]]:
    """The entry as it is on record now, and what there is to say. Outcomes are kept under a name of their own content."""
    made: dict[str, outcomes.Outcomes] = {}
    if kept is not None:
        name = f"{outcomes_name(entry.model, entry.spec)}-{outcomes.digest(kept)[:8]}"
        entry = replace(entry, items=f"{place.task}.items/{name}.outcomes")
        made[str(entry.items)] = kept
    gone = [before.items] if before is not None and before.items is not None and before.items != entry.items else []
    action = "record" if before is None else "update"
    said: list[str] = []

    def plan(file: TaskFile) -> PlannedWrite:
        there = _found_as_before(file, entry, place, before)
        lines, told = _lines(action, entry, place, before)
        said[:] = told
        return PlannedWrite(action=action, text=with_entry(file, entry, replace=there), lines=lines, made=made, gone=gone)

    told = carry_out(place, plan)
    return entry, (*said, *told)


def _found_as_before(file: TaskFile, entry: Entry, place: ReferenceLocation, before: Entry | None) -> Entry | None:
    """The entry that is there, if it is the one that was looked at when the question was asked."""
    there = entry_there(place, file, entry.model, entry.spec)
    if (None if there is None else there.to_plain()) != (None if before is None else before.to_plain()):
        raise UsageError(
            f"The reference of {entry.model!r} was just changed by somebody else; look at it again.",
            got="a reference that somebody else has just changed",
            need="you to look at it again",
        )
    return there


def _lines(action: str, entry: Entry, place: ReferenceLocation, before: Entry | None) -> tuple[list[Change], list[str]]:
    """The line of this change, and before it the one that version 0.1.0 did not get to write when it was killed."""
    line = _line(action, entry, None if before is None else before.value)
    try:
        past = followed(read_history(place))
    except SourceError as fault:
        return [line], [f"the history has a line that cannot be read, so it was only added to: {fault}"]
    lost = None if before is None else lost_line(before, past)
    if lost is None:
        return [line], []
    return [lost, line], [
        f"the history had no line for the value recorded {lost.time} (its process was killed, or the entry copied by hand): "
        f"added as {RECOVERED!r}",
    ]


def lost_line(entry: Entry, past: Sequence[Change]) -> Change | None:
    """The line that the history should have of this entry; None if it has it, or if the entry was not written by us.

    The time in the entry is that of its line, to the second; the reason or the value tells two changes of one second apart.
    """
    if entry.recorded is None or entry.value is None or not str(entry.tool).startswith("steelyard"):
        return None
    own = [one for one in past if one.model == entry.model and canonical_spec(one.spec) == canonical_spec(entry.spec)]
    put = [one for one in own if one.action in PUT]
    if any(one.time >= entry.recorded and (one.action == "import" or one.reason == entry.reason or one.new == entry.value) for one in put):
        return None
    last = put[-1].new if put else None
    return _line(RECOVERED, entry, None if isinstance(last, str) else last)


def _line(action: str, entry: Entry, old: float | None) -> Change:
    return Change(
        action=action,
        model=entry.model,
        spec=dict(entry.spec),
        old=old,
        new=entry.value,
        n=entry.num_samples,
        runs=entry.runs,
        reason=entry.reason,
        time=entry.recorded or now(),
        by=entry.by,
        commit=entry.commit,
    )


@documented(
    OPTIONS,
    "a Recorded",
    sources="One run or several, as in `measure`.",
)
def record(
    *sources: Any,
    task: str,
    model: str,
    spec: Mapping[str, Any] | None = None,
    directory: str | os.PathLike[str] | None = None,
    metric: str | None = None,
    positive: object = None,
    scale: str | None = None,
    higher_is_better: bool | None = None,
    reason: str | None = None,
    protocol: Mapping[str, str] | None = None,
    update: bool = False,
    items: bool = True,
    ids: str | None = None,
    deterministic: bool = False,
    missing: str = "error",
    theta: float | str | None = None,
    margin: float | str | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    sigma: float | None = None,
    range: Sequence[float] | None = None,  # noqa: A002  the word that users know
    by: str | Sequence[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    history: str | None = None,
    keep_answers: bool = False,
    **columns: Any,
) -> Recorded:
    """Record one or several runs of a model as the reference for a task.

    Several runs are pooled, never the best of them, and every repeat is kept. An existing entry is replaced only with
    update=True, and then keeps what it was about: metric, scale, protocol, the numbers set by hand; the history keeps a
    line of every change. ids="hashed" stores hashes instead of ids; items=False stores the value alone, which leaves
    `check` with the weaker unpaired test. by keeps the slice of every item, so that later checks are sliced alike whatever their
    runs say. The other numbers are written into the entry.

    >>> import tempfile
    >>> runs = [[{"id": i, "score": int((i + run) % 10 > 0)} for i in range(200)] for run in range(2)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     found = record(*runs, task="gsm8k", model="m", directory=there, theta=0.02)
    >>> found.value, found.n, found.runs
    (0.9, 200, 2)
    """
    if history is not None or keep_answers:
        from steelyard_old.estimate.past_runs import refuse_history

        refuse_history(history, keep_answers=keep_answers)
    read_from: dict[str, Any] = {"sources": sources, "columns": columns, "protocol": protocol, "config": config, "directory": directory}
    read_from |= {"missing": missing, "range": range}
    if not sources:
        raise UsageError("No run to record.", got="no source", need="at least one run")
    _refuse_twice(sources)
    place = locate(task, directory, config)
    before = existing_entry(place, model, spec)
    refuse_unasked(before, update, place, model)
    notes = run_notes(sources, task)
    noted = _noted_direction(notes, metric, place)
    if notes:
        place = locate(task, directory, config, otherwise=notes[0].rule)
        protocol = {**notes[0].protocol, **(protocol or {})}
        if metric is None and before is not None:
            refuse_other_metric(notes[0].rule.get("metric", notes[0].metric), before)
        metric = metric if metric is not None or before is not None else notes[0].rule.get("metric", notes[0].metric)
    warnings = Warnings()
    ratio = columns.get("ratio") or (notes[0].ratio if notes else None)
    other = metric is not None and (named := find(metric)) is not None and not named.of_ratio
    if ratio is not None or not other:  # a metric without columns of its own to divide needs none
        ratio = settle_ratio(ratio, None if other else before, place.defaults, warnings)
    columns = columns if ratio is None else {**columns, "ratio": ratio}
    old = None if before is None or before.items is None else _old_outcomes(before.items, place)
    slices = slice_columns(by, place.defaults) or (tuple(old.slices) if by is None and old is not None else ())
    about = {"model": model, "spec": spec, "metric": metric, "positive": positive, "scale": scale, "deterministic": deterministic}
    limits = {"theta": theta, "margin": margin, "alpha": alpha, "beta": beta, "sigma": sigma, "higher_is_better": higher_is_better}
    request = request_of({**about, **limits, "reason": reason, "protocol": protocol}, before, place)
    settings = settle(missing=missing, positive=request.positive, range=range)
    read = [read_sliced(source, columns, slices, request.metric, warnings, asked=by is not None) for source in sources]
    runs, slices = [run for run, _ in read], slices if all(sliced for _, sliced in read) else ()
    logs = [run.log for run in runs]
    refuse_unfinished(logs, missing)
    refuse_alike(logs, "record")
    if metric is None:
        check_log_metric(logs, request.metric)
    about_what = metric_of(request.metric, runs[0].items) if request.metric is not None else default_metric(runs)
    warn_unused_positive(request.positive, warnings, labelled=any(run.items.truth is not None for run in runs))
    request = replace(request, positive=own_positive(logs, [about_what], request.positive))
    if before is None and place.defaults.higher_is_better is None and own_direction(logs, about_what) is False:
        noted = False
    request = with_direction(request, noted, about_what)
    if not notes and about_what.of_ratio:
        _warn_of_direction(about_what, request, place, warnings)
    ends = settle(range=range).range or _noted_range(notes)
    request = replace(request, scale=request.scale or scale_of_range(about_what, ends))
    settings = _counting(settings, request, place, about_what, ends if range is not None or missing == "wrong" else None)
    found = _measured(runs, request.metric, settings, warnings, items=items, hashed=_hashed(ids, old, place), by=slices)
    entry = entry_of(request, found, place, warnings)
    _warn(found, request.deterministic, warnings)
    if before is not None and not reason:
        warnings.add("a reference was replaced without a reason: the history will not say why (reason=)")
    noted = ratio is not None and found.metric.of_ratio and not any("/" in column for column in ratio)  # which an entry cannot tell apart
    entry = replace(entry, rates=pooled_rates(notes), sums="/".join(ratio) if ratio is not None and noted else None)
    entry, said = stored(entry, found.kept, place, before)
    warnings.extend(said)
    done = _told(entry, place, before, settings, warnings)
    if history is None:
        return done
    from steelyard_old.estimate.past.keeping import with_kept

    return with_kept(done, history=history, keep_answers=keep_answers, **read_from)


def _noted_direction(notes: Sequence[RunNotes], metric: str | None, place: ReferenceLocation) -> bool | None:
    """Which way is better by the task that ran, of the metric that it ran for, where steelyard.toml does not say it."""
    if not notes or place.defaults.higher_is_better is not None or metric not in (None, notes[0].metric, notes[0].rule.get("metric")):
        return None
    said = notes[0].rule.get("higher_is_better")
    return None if said is None else bool(said)


def _noted_range(notes: Sequence[RunNotes]) -> tuple[float, float] | None:
    """The range of scores by the task that ran."""
    if not notes or notes[0].range is None:
        return None
    return float(notes[0].range[0]), float(notes[0].range[1])


def _counting(
    settings: MeasureOptions, request: EntryRequest, place: ReferenceLocation, metric: Metric, ends: tuple[float, float] | None
) -> MeasureOptions:
    """How items are counted, now that metric and direction are known: a missing one counts as the bad end of the scores."""
    told = (request.limits.get("higher_is_better"), request.before and request.before.higher_is_better, place.defaults.higher_is_better)
    up = next((bool(said) for said in told if said is not None), is_better_higher(name_of(request, metric)))
    return replace(settings, positive=request.positive, range=metric.range_of_scores(ends), higher_is_better=metric.scores_up(up))


def _refuse_twice(sources: Sequence[Any]) -> None:
    """One file is one run, under whatever names it is given."""
    named = [os.fspath(source) for source in sources if isinstance(source, str | os.PathLike)]
    places = [os.path.realpath(name) for name in named]
    twice = next((name for name, place in zip(named, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise UsageError(
            f"The run {twice!r} is given twice: recorded as two runs it would hide how much runs differ.",
            got=f"{twice!r} twice",
            need="every run once",
            hint="leave it out the second time; a model that always gives the same answers needs one run and deterministic=True",
        )


def _warn_of_direction(metric: Metric, request: EntryRequest, place: ReferenceLocation, warnings: Warnings) -> None:
    """Of a ratio nobody knows which way is better, unless it has a name that says so."""
    named = request.metric is not None and find(request.metric) is None
    told = (request.limits.get("higher_is_better"), place.defaults.higher_is_better, request.before and request.before.higher_is_better)
    if metric.direction_of_scores and not named and all(each is None for each in told):
        warnings.add("lower is taken for better, as of an error rate: higher_is_better=True if this ratio should be high")


def run_notes(sources: Sequence[Any], task: str) -> list[RunNotes]:
    """The notes of runs that steelyard made; all of them, or none. A run that stopped by its answers is no reference."""
    found = [notes_of(source) for source in sources]
    notes = [each for each in found if each is not None]
    for each in notes:
        if each.stopped_early and each.ended:
            raise DataError(
                f"This run is not complete ({each.n:,} of {each.available:,} items): {each.ended}; it cannot become a reference.",
                got=f"{each.n:,} of {each.available:,} items",
                need="a complete run",
                hint="the command that made it, with a higher limit, continues it",
            )
        if each.stopped_early:
            raise DataError(
                f"This run stopped early on its own results ({each.n:,} of {each.available:,} items); such runs are biased, so "
                "they cannot become references.",
                got=f"{each.n:,} of {each.available:,} items, stopped early on its own results",
                need="a complete run: runs that stop early on their own results are biased",
                hint="run it again on all items, without stopping early",
            )
        if each.protocol != notes[0].protocol:
            raise DataError(
                f"The runs of {each.task!r} were made with different protocols, so they cannot be pooled.",
                got=f"runs of {each.task!r} that were made differently",
                need="one protocol",
            )
    return notes if len(notes) == len(found) else []


def existing_entry(place: ReferenceLocation, model: str, spec: Mapping[str, Any] | None) -> Entry | None:
    """The entry of exactly this model and spec, if the task has one. An unknown spec key is an error here already."""
    return entry_there(place, parsed(read_if_there(place.path), place), model, spec)


def _old_outcomes(file: str, place: ReferenceLocation) -> outcomes.Outcomes | None:
    """The outcomes that an update replaces; None where they are damaged, which recording them again mends."""
    try:
        return outcomes.load(place.directory, place.task, file)
    except SteelyardError:
        return None


def _hashed(ids: str | None, old: outcomes.Outcomes | None, place: ReferenceLocation) -> bool:
    """Whether ids are to be stored as hashes: as asked, else as the old outcomes have them, else as the configuration says."""
    if ids is None and old is not None:
        return old.hashed
    return (ids or place.config.ids) == "hashed"


# ---- measuring -------------------------------------------------------------------------------------------------------------


def _measured(
    runs: Sequence[SystemItems],
    name: str | None,
    settings: MeasureOptions,
    warnings: Warnings,
    *,
    items: bool,
    hashed: bool,
    by: Sequence[str] = (),
) -> Measured:
    metric = metric_of(name, runs[0].items) if name is not None else default_metric(runs)
    if by and not items:
        raise UsageError(
            f"by={by[0]!r} keeps the slice of every item, and items=False keeps no items.", got="items=False", need="the items to slice"
        )
    if not items and len(runs) > 1:
        raise UsageError(f"Pooling {len(runs)} runs needs their items.", got=f"{len(runs)} runs", need="their items, or one run")
    if items:
        _require_ids(runs)
        _refuse_without_test(metric, repeated=len(runs) > 1 or runs[0].items.repeat is not None)
        if any(run.items.weight is not None for run in runs):
            refuse_weights(metric)
        warnings.extend(said for run in runs if run.items.id is not None for said in look_alike_warnings(run.items.id.names))
    named = [f"run {place}: " if len(runs) > 1 else "" for place in range(1, len(runs) + 1)]
    parts = [_kept_columns(_settled(run.items, metric, settings, warnings, name), metric) for run, name in zip(runs, named, strict=True)]
    roles = (*_roles(metric), *(("weight",) if any(part.weight is not None for part in parts) else ()))
    kept = outcomes.outcomes_of(parts, roles=roles, hashed=hashed, by=by) if items else None
    together = parts[0] if kept is None else outcomes.to_items(kept)
    sample = Sample(together, settings, warnings, counted=False)
    quiet = replace(settings, draws=100)  # only the estimate is wanted, and nothing that is to be said of its interval
    value = _estimate(sample, metric, quiet)
    runs_apart = [] if metric.of_several_tries else _each_run(together)  # tries make one number together
    by_run = tuple(_estimate(Sample(one, quiet, Warnings(), counted=False), metric, quiet) for one in runs_apart)
    return Measured(metric=metric, value=value, by_run=by_run, n=sample.n, items=together, kept=kept)


def _settled(items: Items, metric: Metric, settings: MeasureOptions, warnings: Warnings, name: str) -> Items:
    """The run with nothing missing of what the metric needs: what is kept is what was counted."""
    own = Warnings()
    if metric.right_or_wrong and items.score is not None and items.truth is not None:
        warn_disagreement(items, own)
    settled = Sample(items, settings, own, needed=_needed(items, metric), counted=False).items
    warnings.extend(name + sentence for sentence in own)
    return settled


def _needed(items: Items, metric: Metric) -> tuple[str, ...]:
    """The columns that matter: scores of 0 and 1 decide right and wrong where there are any, labels elsewhere."""
    if not metric.right_or_wrong:
        return (*metric.needs, "group")
    return ("score", "group") if scores_decide(items) or items.truth is None else ("truth", "prediction", "group")


def _kept_columns(items: Items, metric: Metric) -> Items:
    """What the metric needs of a run: right or wrong as a bit, else its columns."""
    if metric.right_or_wrong and (items.score is None or items.truth is not None):
        return replace(items, score=right_or_wrong(items))
    return items


def _roles(metric: Metric) -> tuple[str, ...]:
    if metric.scored:
        return ("score",)
    return metric.needs


def _require_ids(runs: Sequence[SystemItems]) -> None:
    for run in runs:
        if run.items.id is None:
            raise DataError(
                "The run has no ids, so its items cannot be paired with the next run's.",
                got="a run without ids",
                need="an id column, so that the next run can be paired",
                hint="name the id column with id=; items=False records the value alone",
            )
        if run.items.count is not None:
            raise DataError(
                "Rows that stand for several items cannot be recorded item by item.",
                got="rows that stand for several items",
                need="one row per item (and repeat)",
                hint="items=False records the value alone",
            )


def _refuse_without_test(metric: Metric, *, repeated: bool) -> None:
    """A metric on which no later run could be compared item by item is refused now, not then."""
    if metric.ranks and metric.comparable and repeated:
        raise UsageError(
            f"{metric.name} cannot be recorded with repeats: there are several probabilities per item.",
            got="several probabilities per item",
            need="one run",
            hint="average the probabilities first",
        )
    if not metric.comparable:
        raise UsageError(
            f"{metric.name} is a rank metric without an item-by-item test, so its items cannot be recorded.",
            got="a rank metric, which has no item-by-item test",
            need="the value alone",
            hint="items=False; the check then needs sigma=",
        )


def _estimate(sample: Sample, metric: Metric, settings: MeasureOptions) -> float:
    warnings = Warnings()
    rows = rows_of_sample([metric], sample, settings, warnings)
    if len(rows) != 1:
        raise DataError(
            f"{metric.name} has {len(rows)} values, one for each class; a reference is one number.",
            got=f"{len(rows)} values of {metric.name}, one for each class",
            need="one number",
            hint=f"positive=LABEL names the class; metric='{metric.macro_name}' averages over them",
        )
    if rows[0].estimate is None:
        why = next(iter(warnings), "the metric is undefined on these items")
        raise DataError(f"The run has no value of {metric.name} ({why}).", got=f"no value of {metric.name} ({why})", need="one number")
    return float(rows[0].estimate)


def _each_run(items: Items) -> list[Items]:
    """The runs one by one, where there are several."""
    from steelyard_old.tally.design import take

    if items.repeat is None:
        return []
    codes = items.repeat.codes
    return [replace(take(items, codes == code), repeat=None) for code in np.unique(codes)]


# ---- saying ----------------------------------------------------------------------------------------------------------------


def _warn(found: Measured, deterministic: bool, warnings: Warnings) -> None:
    runs = max(1, len(found.by_run))
    if runs < ENOUGH_RUNS and not deterministic:
        warnings.add(
            f"{runs} run{'s' if runs > 1 else ''} recorded: a single lucky run makes every later run look worse; "
            f"record {ENOUGH_RUNS} or more runs to pool them, or say deterministic=True if the model always gives the same answers"
        )
    if found.kept is None:
        warnings.add("the reference is stored without its items, so later checks are unpaired and weaker")
        return
    lacking = [int((~run.present).sum()) for run in found.kept.runs if run.present is not None]
    if lacking:
        warnings.add(
            f"{len(lacking)} of {runs} runs lack items that others have, {sum(lacking):,} answers in all: "
            "the value is the mean over items, not the mean of the runs"
        )
    differ = _differing(found.kept)
    if deterministic and differ:
        warnings.add(f"{differ:,} of {found.n:,} items differ between the runs, so the model is not deterministic")
    if runs > 1 and not deterministic and not differ:
        warnings.add(
            f"{'both' if runs == 2 else f'all {runs}'} runs are identical item by item: if they are copies of one run, record it once; "
            "if the model always gives the same answers, say so with deterministic=True"
        )


def _differing(kept: outcomes.Outcomes) -> int:
    """How many items did not get the same answer in every run that has them."""
    differ = np.zeros(kept.n, bool)
    for name in OF_RUNS:
        columns = [getattr(run, name) for run in kept.runs]
        if columns[0] is None:
            continue
        there = np.array([np.ones(kept.n, bool) if run.present is None else run.present for run in kept.runs])
        answers = np.where(there, np.array(columns, float), np.nan)
        first = answers[np.argmax(there, axis=0), np.arange(kept.n)]
        differ |= (there & (answers != first)).any(axis=0)
    return int(differ.sum())


def _told(entry: Entry, place: ReferenceLocation, before: Entry | None, settings: MeasureOptions, warnings: Warnings) -> Recorded:
    value = entry.value if entry.value is not None else math.nan
    n, runs, scale = entry.num_samples or 0, entry.runs or 1, entry.scale or "raw"
    many = f", {runs} runs" if runs > 1 else ""
    was = f" (was {before.value:.6g})" if before is not None and before.value is not None else ""
    what = "without item outcomes" if entry.items is None else "with item outcomes"
    facts = {"task": place.task, "model": entry.model, "metric": entry.value_key, "positive": entry.positive, "scale": scale, "n": n}
    missing = None if settings.missing == "error" else settings.missing
    return Recorded(
        task=place.task,
        model=entry.model,
        spec=dict(entry.spec),
        metric=entry.value_key,
        scale=scale,
        value=value,
        n=n,
        runs=runs,
        sigma_run=entry.sigma_run,
        before=None if before is None else before.value,
        file=place.shown,
        items=entry.items,
        reason=entry.reason,
        conclusion=f"{entry.model} on {place.task}: {entry.value_key} {value:.6g}{was} on record, {n:,} items{many}, {what}.",
        warnings=tuple(warnings),
        signature=signature.write({**facts, "repeats": runs, "missing": missing}),
    )
