"""Put a run on record: its value, its items one by one, and where it came from. Never over an old reference unasked."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard import signature
from steelyard.errors import DataError, UsageError
from steelyard.items import Items
from steelyard.metrics.catalogue import Metric
from steelyard.questions.compare_items import Run, default_metric
from steelyard.questions.guard_rule import SCALES
from steelyard.questions.guard_source import metric_of, read_run, within_unit
from steelyard.questions.measure import rows_of_sample
from steelyard.questions.pair_evidence import right_or_wrong
from steelyard.questions.reference_place import Place, entry_there, locate, make_directory
from steelyard.questions.sample import Sample
from steelyard.questions.settings import Settings, one_of, settle
from steelyard.reference import outcomes
from steelyard.reference.changes import Change, append_change, commit_of, now, who
from steelyard.reference.entry import Entry
from steelyard.reference.locking import Lock, update_file
from steelyard.reference.names import history_path, items_directory, outcomes_name
from steelyard.reference.task_file import TaskFile, task_file_of, with_entry
from steelyard.verdicts import Recorded
from steelyard.version import __version__

ENOUGH_RUNS = 5  # below it the reference's own luck alarms for ever


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The runs reduced: the pooled value, that of each run, and the items with what is kept of them."""

    metric: Metric
    value: float
    by_run: tuple[float, ...]
    n: int
    scale: str
    kept: outcomes.Outcomes | None


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
    theta: float | None = None,
    margin: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    sigma: float | None = None,
    config: str | os.PathLike[str] | None = None,
    **columns: Any,
) -> Recorded:
    """Put one or several runs of a model on record as the reference of a task.

    Several runs are pooled, never the best of them, and every repeat is kept. An existing entry is replaced only with
    update=True; the history keeps a line of every change. ids="hashed" stores hashes instead of ids; items=False
    stores the value alone, which leaves `check` with the weaker unpaired test. The other numbers are written into the entry.
    """
    if not sources:
        raise UsageError("cannot record nothing", got="no source", need="at least one run")
    one_of("scale", scale, SCALES)
    one_of("ids", ids, ("kept", "hashed"))
    place = locate(task, directory, config)
    settings = settle(missing=missing, positive=positive)
    before = existing_entry(place, model, spec)
    if before is not None and not update:
        raise UsageError(
            f"cannot record {model!r} on {task!r}",
            got=f"a reference of {before.value:g} on record already ({place.shown}, line {before.line})"
            if before.value is not None
            else f"a threshold on record already ({place.shown}, line {before.line})",
            need="--update to replace it",
            hint='--update --reason "why the new value is right"',
        )
    if before is not None:  # an update keeps what the entry was about
        metric, scale = metric or before.metric or before.value_key, scale or before.scale
        deterministic = deterministic or bool(before.deterministic)
        higher_is_better = before.higher_is_better if higher_is_better is None else higher_is_better
    runs = [read_run(source, columns, metric or place.defaults.metric or "accuracy", settings.warnings) for source in sources]
    hashed = (ids or place.config.ids) == "hashed"
    found = _measured(runs, metric or place.defaults.metric, scale or place.defaults.scale, settings, items=items, hashed=hashed)
    _warn(found, before, deterministic, reason, settings)
    limits = {"higher_is_better": higher_is_better, "theta": theta, "margin": margin, "alpha": alpha, "beta": beta, "sigma": sigma}
    entry = _entry(found, place, model, spec, before, limits, reason=reason, protocol=protocol, deterministic=deterministic)
    return _written(entry, found, place, before, settings)


# ---- reading ---------------------------------------------------------------------------------------------------------------


def _measured(runs: Sequence[Run], name: str | None, scale: str | None, settings: Settings, *, items: bool, hashed: bool) -> Measured:
    metric = metric_of(name, runs[0].items) if name is not None else default_metric(runs)
    parts = [_kept_columns(run.items, metric) for run in runs]
    kept = None
    if items:
        _require_ids(parts, metric)
        kept = outcomes.outcomes_of(parts, roles=_roles(metric), hashed=hashed)
    together = outcomes.to_items(kept) if kept is not None else parts[0]
    if kept is None and len(parts) > 1:
        raise UsageError("cannot pool runs without their items", got=f"{len(parts)} runs", need="their items, or one run")
    sample = Sample(together, settings)
    value = _estimate(sample, metric, settings)
    by_run = tuple(_estimate(Sample(one, settings.quietly()), metric, settings.quietly()) for one in _each_run(together))
    within = within_unit(metric, [together])
    chosen = scale or ("fraction" if within else "raw")
    unit = 100.0 if chosen == "percent" and within else 1.0
    return Measured(metric=metric, value=value * unit, by_run=tuple(unit * v for v in by_run), n=sample.n, scale=chosen, kept=kept)


def _kept_columns(items: Items, metric: Metric) -> Items:
    """What the metric needs of a run: right or wrong as a bit, else its columns."""
    if metric.base in ("accuracy", "error") and (items.score is None or items.truth is not None):
        return replace(items, score=right_or_wrong(items))
    return items


def _roles(metric: Metric) -> tuple[str, ...]:
    if metric.base in ("accuracy", "error", "mean"):
        return ("score",)
    return metric.facts.needs


def _require_ids(parts: Sequence[Items], metric: Metric) -> None:
    for items in parts:
        if items.id is None:
            raise DataError(
                "cannot record the items",
                got="a run without ids",
                need="an id column, so that the next run can be paired",
                hint="name it with --id; --no-items records the value alone",
            )
        if items.weight is not None or items.count is not None:
            raise DataError("cannot record the items", got="weights", need="one row per item (and repeat)")


def _estimate(sample: Sample, metric: Metric, settings: Settings) -> float:
    rows = rows_of_sample([metric], sample, settings)
    if len(rows) != 1 or rows[0].estimate is None:
        raise DataError("cannot record the run", got=f"no single value of {metric.name}", need="one number", hint="--metric names it")
    return float(rows[0].estimate)


def _each_run(items: Items) -> list[Items]:
    """The runs one by one, where there are several."""
    from steelyard.tally.design import take

    if items.repeat is None:
        return []
    codes = items.repeat.codes
    return [replace(take(items, codes == code), repeat=None) for code in np.unique(codes)]


# ---- the entry --------------------------------------------------------------------------------------------------------------


def existing_entry(place: Place, model: str, spec: Mapping[str, Any] | None) -> Entry | None:
    """The entry of exactly this model and spec, if the task has one. An unknown spec key is an error here already."""
    file = _parsed(place.path.read_bytes() if place.path.exists() else None, place)
    return entry_there(place, file, model, spec)


def _parsed(data: bytes | None, place: Place) -> TaskFile:
    return task_file_of(data or b"", place.shown, spec_keys=place.spec_keys, metric=place.defaults.metric)


def _entry(
    found: Measured,
    place: Place,
    model: str,
    spec: Mapping[str, Any] | None,
    before: Entry | None,
    limits: Mapping[str, Any],
    *,
    reason: str | None,
    protocol: Mapping[str, str] | None,
    deterministic: bool,
) -> Entry:
    """The new entry. What a person set by hand in the old one stays: alpha, theta, threshold and the like."""
    kept = {name: getattr(before, name) for name in ("alpha", "beta", "sigma", "theta", "margin", "threshold")} if before else {}
    spread = float(np.std(found.by_run, ddof=1)) if len(found.by_run) > 1 else None
    if before is not None and before.protocol and protocol is None:
        protocol = before.protocol
    name = found.metric.name
    fresh = Entry(
        model=model,
        value=found.value,
        value_key=name,
        spec=dict(before.spec if before else spec or {}),
        num_samples=found.n,
        scale=found.scale,
        metric=None if name == "accuracy" else name,
        runs=max(1, len(found.by_run)),
        sigma_run=spread,
        deterministic=True if deterministic else None,
        recorded=now(),
        by=who(),
        commit=commit_of(place.directory if place.directory.exists() else place.directory.parent, except_for=place.directory),
        tool=f"steelyard {__version__}",
        reason=reason,
        items_hash=None if found.kept is None else found.kept.items_hash,
        protocol={key: str(value) for key, value in (protocol or place.defaults.protocol).items()},
        first_value=_first_value(before),
    )
    return replace(fresh, **{**kept, **{key: value for key, value in limits.items() if value is not None}})


def _first_value(before: Entry | None) -> float | None:
    if before is None:
        return None
    return before.first_value if before.first_value is not None else before.value


def _warn(found: Measured, before: Entry | None, deterministic: bool, reason: str | None, settings: Settings) -> None:
    runs = max(1, len(found.by_run))
    if runs < ENOUGH_RUNS and not deterministic:
        settings.warn(
            f"{runs} run{'s' if runs > 1 else ''} on record: unless the model is deterministic (--deterministic), a lucky reference alarms "
            f"for ever; {ENOUGH_RUNS} runs or more are pooled into a fairer one"
        )
    if deterministic and len(found.by_run) > 1 and max(found.by_run) > min(found.by_run):
        settings.warn("the runs differ, so the model is not deterministic")
    if before is not None and not reason:
        settings.warn("a reference was replaced without a reason: the history will not say why (--reason TEXT)")


def _written(entry: Entry, found: Measured, place: Place, before: Entry | None, settings: Settings) -> Recorded:
    """Outcomes first, under a name of their own content; then the entry that points to them, in one atomic step."""
    make_directory(place.directory)
    with Lock(items_directory(place.directory, place.task)):  # nobody may sweep items away between the two steps
        entry = _saved(entry, found, place, before)
    return _told(entry, found, place, before, settings)


def _saved(entry: Entry, found: Measured, place: Place, before: Entry | None) -> Entry:
    if found.kept is not None:
        name = f"{outcomes_name(entry.model, entry.spec)}-{outcomes.digest(found.kept)[:8]}"
        entry = replace(entry, items=outcomes.save(place.directory, place.task, name, found.kept))

    def change(data: bytes | None) -> bytes:
        file = _parsed(data, place)
        now_there = entry_there(place, file, entry.model, entry.spec)
        if (now_there is None) != (before is None) or (now_there and before and now_there.to_plain() != before.to_plain()):
            raise UsageError(
                f"cannot record {entry.model!r}", got="a reference that somebody else has just changed", need="another look at it"
            )
        return with_entry(file, entry, replace=now_there).encode()

    update_file(place.path, change)
    append_change(
        history_path(place.directory, place.task),
        Change(
            action="record" if before is None else "update",
            model=entry.model,
            spec=dict(entry.spec),
            old=None if before is None else before.value,
            new=entry.value,
            n=entry.num_samples,
            runs=entry.runs,
            reason=entry.reason,
            by=entry.by,
            commit=entry.commit,
        ),
    )
    if before is not None and before.items is not None and before.items != entry.items:
        outcomes.discard(place.directory, place.task, before.items)
    return entry


def _told(entry: Entry, found: Measured, place: Place, before: Entry | None, settings: Settings) -> Recorded:
    value = entry.value if entry.value is not None else math.nan
    many = f", {entry.runs} runs" if (entry.runs or 1) > 1 else ""
    was = f" (was {before.value:.6g})" if before is not None and before.value is not None else ""
    what = "with its items" if found.kept is not None else "the value alone"
    sentence = f"{entry.model} on {place.task}: {entry.value_key} {value:.6g}{was} on record, {found.n:,} items{many}, {what}."
    facts = {"task": place.task, "model": entry.model, "metric": found.metric.name, "scale": found.scale, "n": found.n}
    return Recorded(
        task=place.task,
        model=entry.model,
        spec=dict(entry.spec),
        metric=found.metric.name,
        scale=found.scale,
        value=value,
        n=found.n,
        runs=entry.runs or 1,
        sigma_run=entry.sigma_run,
        before=None if before is None else before.value,
        file=place.shown,
        items=entry.items,
        reason=entry.reason,
        conclusion=sentence,
        warnings=tuple(settings.warnings),
        signature=signature.write({**facts, "repeats": entry.runs}),
    )
