"""Earlier runs of a suite, as the history has them: put together run by run, and each compared with the runs before it."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from steelyard_old.errors import SteelyardError
from steelyard_old.estimate.guard.night_values import mean_metric, recorded_values, up_of
from steelyard_old.estimate.past.nights import NightBudget, StoredNight
from steelyard_old.history.nights import NIGHT, JudgedValues
from steelyard_old.history.nights import REFERENCE as REFERENCE_EVENT
from steelyard_old.history.store import History, items_of
from steelyard_old.infer.nights.answers import TaskAnswers, TaskRun
from steelyard_old.infer.nights.watch import Night
from steelyard_old.infer.suite.closed_testing import TaskEvidence, judge_tasks
from steelyard_old.reference.config import Config
from steelyard_old.reference.lookup import load, locate, matched
from steelyard_old.results.history import HeldAgainst, PastRun
from steelyard_old.results.verdict import Verdict

MOST = 20  # earlier runs that say how much a whole run varies
TOGETHER = timedelta(hours=1)  # the checks of one run are stored within it of one another
COMMANDS = ("check", "run")
ENTRY = ("recorded", "runs", "sigma_run")  # what a run says of the entry that it was checked against, whichever items it had


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTask:
    """One task of a suite: how the history names its runs, the runs on record, and what turns its scores so that up is good.

    reference: what a run must have been checked against, as the history says it; None: whatever it was. protocol: likewise.
    """

    key: str
    task: str
    model: str
    spec: Mapping[str, Any]
    metric: str
    up: float
    recorded: tuple[JudgedValues, ...]
    reference: HeldAgainst | None = None
    protocol: Mapping[str, str] | None = None
    n: int | None = None  # items that were compared with it


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """A run of a suite in the history: of each task that it has, the stored run and its values, up is good."""

    time: str
    commit: str | None
    runs: Mapping[str, PastRun]
    tasks: Mapping[str, TaskRun]

    def outcomes(self) -> dict[str, str | None]:
        """What tells its answers from others."""
        return {key: run.outcomes for key, run in self.runs.items()}


def task_key(task: str, model: str, spec: Mapping[str, Any]) -> str:
    """How a task of a suite is named beside the others."""
    said = ",".join(f"{key}={value}" for key, value in sorted(spec.items()))
    return f"{task} {model}" + (f" {said}" if said else "")


def suite_task(
    task: str,
    model: str,
    spec: Mapping[str, Any],
    metric: str,
    *,
    higher_is_better: bool,
    config: Config,
    directory: str | os.PathLike[str] | None,
    reference: HeldAgainst | None = None,
    protocol: Mapping[str, str] | None = None,
    n: int | None = None,
) -> PastTask | None:
    """A task with its runs on record; None where it has no items on record, is no mean over its items, or has another reference by now."""
    try:
        place = locate(task, directory, config.path)
        entry = matched(place, model, spec, load(place, model)).entry
        if reference is not None and any(getattr(entry, name) != getattr(reference, name) for name in ENTRY):
            return None
        found = recorded_values(place, entry, metric, higher_is_better=higher_is_better, hashed=config.ids == "hashed")
    except SteelyardError:
        return None
    if found is None:
        return None
    return PastTask(
        key=task_key(task, model, spec),
        task=task,
        model=model,
        spec=spec,
        metric=metric,
        up=found[0],
        recorded=found[1],
        reference=reference,
        protocol=None if protocol is None else _told(protocol),
        n=n,
    )


def judged_task(
    verdict: Verdict, *, protocol: Mapping[str, str], config: Config, directory: str | os.PathLike[str] | None
) -> PastTask | None:
    """The task of a verdict, whose earlier runs must have been checked against the same reference; None where they say nothing of it."""
    if verdict.details.z is None:
        return None
    return suite_task(
        verdict.task,
        verdict.model,
        {key: str(value) for key, value in verdict.spec.items()},
        verdict.metric,
        higher_is_better=verdict.higher_is_better,
        config=config,
        directory=directory,
        reference=HeldAgainst.of_reference(verdict.reference),
        protocol=protocol,
        n=verdict.n,
    )


def newest_kept(store: History, task: str, model: str, spec: Mapping[str, Any]) -> PastRun | None:
    """The newest run of a task whose items were kept; None where there is none."""
    after = None
    while True:
        page, after, _ = store.runs(task=task, model=model, spec=spec, after=after)
        found = next((run for run in page if run.command in COMMANDS and run.outcomes is not None), None)
        if found is not None or after is None:
            return found


def task_alone(newest: PastRun) -> PastTask | None:
    """A task by its stored runs alone, without runs on record; None if its metric is no mean over items."""
    metric = mean_metric(newest.metric)
    if metric is None:
        return None
    return PastTask(
        key=task_key(newest.task, newest.model, newest.spec),
        task=newest.task,
        model=newest.model,
        spec=newest.spec,
        metric=newest.metric,
        up=up_of(metric, newest.higher_is_better),
        recorded=(),
        reference=newest.reference,
        protocol=_told(newest.protocol),
        n=newest.n,
    )


def earlier_runs(store: History, tasks: Sequence[PastTask], *, most: int | None = None, without: Collection[str] = ()) -> list[EarlierRun]:
    """The complete runs of these tasks whose items were kept, oldest first; `most` of them, the newest.

    without: ids of runs that are no earlier ones, because they were stored before they are judged together.

    Checks of one commit that follow one another within an hour, each task once, are one run; a suite stores its checks at one moment.
    The same answers again on the same commit are a retry, and count once.
    """
    stored = [(task.key, run) for task in tasks for run in _stored(store, task, most, without)]
    stored.sort(key=lambda pair: (pair[1].time, pair[1].id))
    groups: list[dict[str, PastRun]] = []
    for key, run in stored:
        last = None if not groups else list(groups[-1].values())[-1]
        if last is None or key in groups[-1] or not _together(last, run):
            groups.append({})
        groups[-1][key] = run
    known: set[Any] = set()
    once = []
    for group in groups:
        about = (next(iter(group.values())).commit, tuple(sorted((key, str(run.outcomes)) for key, run in group.items())))
        if about not in known:
            known.add(about)
            once.append(group)
    once = once if most is None else once[-most:]
    values = items_of(store, sorted({run.id for group in once for run in group.values()}))
    up = {task.key: task.up for task in tasks}
    return [
        EarlierRun(
            time=next(iter(group.values())).time,
            commit=next(iter(group.values())).commit,
            runs=group,
            tasks={key: TaskRun(ids=values[run.id][0], values=up[key] * np.asarray(values[run.id][1]) + 0.0) for key, run in group.items()},
        )
        for group in once
    ]


def left_out(store: History, task: PastTask) -> int:
    """How many complete runs of a task with their items were checked against another reference, or under another protocol."""
    return len(_stored(store, replace(task, reference=None, protocol=None), None)) - len(_stored(store, task, None))


def _stored(store: History, task: PastTask, most: int | None, without: Collection[str] = ()) -> list[PastRun]:
    """The runs of a task that can be compared with one another, newest first."""
    out: list[PastRun] = []
    after = None
    while True:
        page, after, _ = store.runs(task=task.task, model=task.model, spec=task.spec, metric=task.metric, limit=most or 1000, after=after)
        out += [run for run in page if run.id not in without and _comparable(run, task)]
        if after is None or (most is not None and len(out) >= most):
            return out if most is None else out[:most]


def _comparable(run: PastRun, task: PastTask) -> bool:
    if run.command not in COMMANDS or run.outcomes is None or (run.tally or {}).get("stopped"):
        return False
    if task.reference is not None and not _same_reference(run, task.reference, task.n):
        return False
    return task.protocol is None or _told(run.protocol) == dict(task.protocol)


def _same_reference(run: PastRun, reference: HeldAgainst, n: int | None) -> bool:
    """Whether a run was checked against this record. Its value is that of the items they share, so it tells only where they are as many."""
    own = run.reference or HeldAgainst()
    if any(getattr(own, name) != getattr(reference, name) for name in ENTRY):
        return False
    return run.n != n or own.value == reference.value


def _told(protocol: Mapping[str, Any]) -> dict[str, str]:
    """A protocol without the digest of its items, which come and go."""
    return {key: str(value) for key, value in protocol.items() if key != "items"}


def _together(last: PastRun, run: PastRun) -> bool:
    return last.commit == run.commit and datetime.fromisoformat(run.time) - datetime.fromisoformat(last.time) <= TOGETHER


# ---- how much a whole run varies ---------------------------------------------------------------------------------------------


def learned_z(
    store: History,
    tasks: Sequence[PastTask],
    *,
    recorded: Sequence[float],
    alpha: float,
    tonight: Mapping[str, str],
    without: Collection[str] = (),
) -> list[float]:
    """What the newest earlier runs in a history say of how much a whole run varies: `healthy_z` of `earlier_runs`."""
    return healthy_z(earlier_runs(store, tasks, most=MOST, without=without), tasks, recorded=recorded, alpha=alpha, tonight=tonight)


def healthy_z(
    runs: Sequence[EarlierRun],
    tasks: Sequence[PastTask],
    *,
    recorded: Sequence[float],
    alpha: float,
    tonight: Mapping[str, str],
) -> list[float]:
    """The pooled z of earlier runs that did not alarm, each against the runs on record and the healthy ones before it.

    recorded: the pooled z of the runs on record. tonight: the outcomes of each task now, as the history names them: the very same
    answers, stored by a check before this one, say nothing. A run that would not have passed as a suite, by alpha, is left out: a
    regression must not teach what is usual, or it would pass when it is checked for the third time. That cuts off a little of the tail
    that tells how much runs vary: with ten earlier runs and a true phi of 1, 2, 4 the pooled test takes .004, .019, .035 for its .015,
    where it would take .004, .018, .026 with all of them. Tasks on which nothing differs have no z; a run without any counts as 0.
    Reference: Stouffer1949.
    """
    answers = {task.key: TaskAnswers() for task in tasks}
    for task in tasks:
        for place, one in enumerate(task.recorded):
            own = answers[task.key]
            own.add(-1 - place, own.column(TaskRun(ids=one.ids, values=one.values)))
            own.extend_baseline(-1 - place)
    out: list[float] = []
    for place, run in enumerate(runs):
        if all(tonight.get(key) == digest for key, digest in run.outcomes().items()):
            continue
        columns = {key: answers[key].column(one) for key, one in run.tasks.items()}
        found = {key: bag for key, column in columns.items() if (bag := answers[key].against_baseline(column, [0, place])) is not None}
        telling = [one for one in found.values() if one.informative]
        evidence = [TaskEvidence(p_value=one.p_value, z=one.z - one.mean_z) for one in telling]
        if judge_tasks(evidence, alpha=alpha, earlier=[*recorded, *out]).verdict != "pass":
            continue
        for key, column in columns.items():
            answers[key].add(place, column)
            answers[key].extend_baseline(place)
        if 2 * len(found) >= len(tasks):
            out.append(math.fsum(one.z for one in evidence) / math.sqrt(len(evidence)) if evidence else 0.0)
    return out


# ---- ordinary runs as nights -------------------------------------------------------------------------------------------------


def as_nights(runs: Sequence[EarlierRun], tasks: Sequence[PastTask], budget: NightBudget) -> list[StoredNight]:
    """Ordinary runs of a suite as the events of a series: what the series starts from, then a night for each run.

    A task without runs on record starts from its first stored run, which then is no night.
    """
    recorded = {task.key: [TaskRun(ids=one.ids, values=one.values) for one in task.recorded] for task in tasks}
    nights: list[tuple[EarlierRun, dict[str, TaskRun]]] = []
    for run in runs:
        first = {key: one for key, one in run.tasks.items() if not recorded[key]}
        for key, one in first.items():
            recorded[key].append(one)
        if rest := {key: one for key, one in run.tasks.items() if key not in first}:
            nights.append((run, rest))
    recorded = {key: own for key, own in recorded.items() if own}
    if not recorded:
        return []
    most = max(len(own) for own in recorded.values())
    reference = tuple(
        Night(run=f"reference {i + 1}", tasks={key: own[i] for key, own in recorded.items() if i < len(own)}) for i in range(most)
    )
    events = [StoredNight(id="", place=0, kind=REFERENCE_EVENT, time=runs[0].time if runs else "", reference=reference)]
    for place, (run, values) in enumerate(nights, 1):
        name = next(iter(run.runs.values())).id
        stored = {key: run.runs[key].id for key in values}
        night = Night(run=name, tasks=values, commit=run.commit)
        events.append(
            StoredNight(id=name, place=place, kind=NIGHT, time=run.time, commit=run.commit, night=night, budget=budget, runs=stored)
        )
    return events
