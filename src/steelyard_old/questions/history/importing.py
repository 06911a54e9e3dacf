"""Scores of another accuracy suite put into the history: from its pytest logs and JUnit files, each once."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard_old.errors import DataError, SteelyardError, UsageError
from steelyard_old.estimate.guard.number import CandidateScore, guard_floor, guard_number
from steelyard_old.estimate.guard.rule import settle_rule
from steelyard_old.estimate.guard.verdict import Guarded, concluded
from steelyard_old.estimate.past_runs import HINT, history_place
from steelyard_old.history.store import History, open_history
from steelyard_old.options.history import IMPORT
from steelyard_old.options.option import documented
from steelyard_old.read.suite_reports import SuiteLog, SuiteReport, Unread, read_suite_log
from steelyard_old.reference.config import find_config
from steelyard_old.reference.entry import Entry, TaskDefaults
from steelyard_old.reference.names import check_task
from steelyard_old.reference.suite_tasks import TRTLLM
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.history import PastRun, RunList
from steelyard_old.results.verdict import Verdict

ROUNDED = 2e-3  # reports print three decimals of the reference and of the threshold
LISTED = 20  # sentences about what could not be read


@documented(
    IMPORT,
    "a RunList of the runs that were added",
    logs="pytest logs and JUnit files of the accuracy suite.",
    history="A URL such as sqlite:///runs.db, or what `open_history` gave. Default: what steelyard.toml says.",
)
def import_runs(
    *logs: str | os.PathLike[str],
    history: str | History | None = None,
    task: str | None = None,
    model: str | None = None,
    config: str | os.PathLike[str] | None = None,
) -> RunList:
    """Add the scores in pytest logs and JUnit files of an accuracy suite to the history, each with its verdict.

    A report is judged anew by its own numbers (reference, sigma, alpha, number of samples; or its explicit floor alone). Its
    model is the test that printed it, its task the dataset that its evaluator named, unless `task` and `model` say them. A run
    that is there already is not added again. What could not be read is counted and named; a file without a single score is an
    error.
    """
    if not logs:
        raise UsageError("Give at least one file to import: pytest logs or JUnit files.", got="no file", need="pytest logs or JUnit files")
    if task is not None:
        check_task(task)
    read = [read_suite_log(os.fspath(path)) for path in logs]
    warnings: list[str] = []
    unread = [each for log in read for each in log.unread]
    found = [one for log in read for one in _judged(log, task, model, unread, warnings)]
    if not found:
        why = f"; {unread[0].place}: {unread[0].why}" if unread else ""
        raise DataError(
            "No scores in "
            f"{', '.join(repr(log.path) for log in read[:3])}{f' ({len(unread):,} reports could not be read{why})' if unread else ''}.",
            got=f"{len(unread):,} reports that could not be read{why}" if unread else "no report of an accuracy suite",
            need="at least one",
            hint="reports begin with '= ACCURACY HYPOTHESIS TESTING' or '= ACCURACY CHECK' and end with 'Evaluated accuracy: ...'",
        )
    added, there, shown = _kept(found, history, config)
    warnings += [f"not read: {each.place}: {each.why}" for each in unread[:LISTED]]
    if len(unread) > LISTED:
        warnings.append(f"not read: {len(unread) - LISTED:,} more")
    counted = {"added": len(added), "already_there": there, "unread": len(unread)}
    said = f"{_many(len(added))} added to {shown}, {there:,} already there"
    return RunList(
        place=shown,
        runs=tuple(added),
        total=len(added),
        asked=counted,
        conclusion=f"{said}, {len(unread):,} not read." if unread else f"{said}.",
        warnings=tuple(dict.fromkeys(warnings)),
        signature=signature.write({"goal": "import", "n": len(added)}),
    )


def _many(n: int) -> str:
    return f"{n:,} run{'s' if n != 1 else ''}"


Judged = tuple[str, Verdict, str]  # id, verdict, time


def _judged(log: SuiteLog, task: str | None, model: str | None, unread: list[Unread], warnings: list[str]) -> list[Judged]:
    out: list[Judged] = []
    times: Counter[str] = Counter()
    dated = datetime.fromtimestamp(Path(log.path).stat().st_mtime, UTC).isoformat(timespec="seconds")
    for report in log.reports:
        try:
            verdict = _verdict(report, task, model, warnings)
        except SteelyardError as fault:
            unread.append(Unread(report.place, str(fault)))
            continue
        if report.time is None:
            warnings.append(f"{log.path} does not say when its tests ran: the time of the file is taken")
        # A run is known by what it says: the same log, whatever its name, has the same ids. Logs without times are told apart by digest.
        facts = [
            report.time or log.digest,
            verdict.task,
            verdict.model,
            report.test,
            report.metric,
            report.value,
            report.reference,
            report.n,
        ]
        key = json.dumps(facts if report.floor is None else [*facts, report.floor])
        times[key] += 1
        name = hashlib.sha256(f"suite report\0{key}\0{times[key]}".encode()).hexdigest()[:32]
        out.append((name, verdict, report.time or dated))
    return out


def _verdict(report: SuiteReport, task: str | None, model: str | None, warnings: list[str]) -> Verdict:
    named = model or report.model or report.test
    if named is None:
        raise DataError("No test is named before this report.", hint="run pytest with -v, or name the model: model=NAME")
    about = task or _task(report, warnings)
    check_task(about)
    facts = TRTLLM.get(about, {})
    better = report.higher_is_better if report.higher_is_better is not None else facts.get("higher_is_better", True)
    entry = Entry(
        model=named,
        value=report.reference,
        value_key=report.metric,
        num_samples=report.n,
        sigma=report.sigma,
        alpha=report.alpha,
        beta=report.beta,
        threshold=report.floor,
        higher_is_better=better,
        scale=facts.get("scale", "percent"),
    )
    own = Warnings()
    rule = settle_rule({}, entry, TaskDefaults(), own)
    new = CandidateScore(value=report.value, n=report.n)
    guarded = Guarded(entry=entry, task=about, model=named, scale=entry.scale or "percent")
    found = (guard_number if report.floor is None else guard_floor)(new, guarded, rule, own)
    if (
        report.floor is None
        and report.threshold is not None
        and found.threshold is not None
        and abs(report.threshold - found.threshold) > ROUNDED
    ):
        raise DataError(
            f"its threshold, {report.threshold:g}, does not follow from its other numbers, which give {found.threshold:.3f}.",
            hint="a report of another rule",
        )
    return concluded(found, rule, own)


def _task(report: SuiteReport, warnings: list[str]) -> str:
    """The dataset that the evaluator named, else the one task of the suite that has these numbers."""
    if report.dataset is not None:
        return report.dataset
    fits = [
        name
        for name, facts in TRTLLM.items()
        if (facts["metric"], facts["num_samples"], facts["sigma"]) == (report.metric, report.n, report.sigma)
    ]
    if len(fits) != 1:
        raise DataError(
            "Its task is not named, and its numbers fit " + (f"{len(fits)} tasks: {', '.join(fits)}." if fits else "no task of the suite."),
            hint="name it: task=NAME",
        )
    warnings.append(f"{fits[0]}: the task is taken from its numbers ({report.metric}, {report.n:,} items, sigma {report.sigma:g})")
    return fits[0]


def _kept(found: Sequence[Judged], history: str | History | None, config: str | os.PathLike[str] | None) -> tuple[list[PastRun], int, str]:
    if isinstance(history, History):
        return (*_added(history, found), history.shown)
    place = history_place(history, find_config(Path.cwd(), None if config is None else Path(config)))
    if place is None:
        raise UsageError("No history configured.", need="the address of a history database", hint=HINT)
    with open_history(place[0], base=place[1]) as store:
        return (*_added(store, found), store.shown)


def _added(store: History, found: Sequence[Judged]) -> tuple[list[PastRun], int]:
    kept: list[Any] = [store.append_once(name, verdict, time=time) for name, verdict, time in found]
    added = [run for run in kept if run is not None]
    return sorted(added, key=lambda run: (run.time, run.id), reverse=True), len(kept) - len(added)
