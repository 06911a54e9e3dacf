"""A suite as one night of a series: judged by all nights before it, against a budget of false alarms a year.

What a night is: a run of the suite that names a series. A pull request is none, and neither is a retry: the same night again gets the
decision that was made, and its answers are not counted.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from steelyard_old.errors import DataError, SourceError, UsageError
from steelyard_old.estimate.guard.suite_file import SuiteBudget
from steelyard_old.estimate.past.kept_answers import keep_texts
from steelyard_old.estimate.past.kept_run import runs_of_suite
from steelyard_old.estimate.past_runs import HINT, history_place
from steelyard_old.history.address import OFF
from steelyard_old.history.entries import utc
from steelyard_old.history.nights import (
    ACCEPTED,
    AGAIN,
    FIXED,
    JOINED,
    NIGHT,
    REFERENCE,
    NightEvent,
    PlaceTakenError,
    ValueParcel,
    add_events,
    check_series,
)
from steelyard_old.history.store import History, has_run, open_history
from steelyard_old.questions.suite.outcome import conclusion_of, outcome_of
from steelyard_old.read.files.paths import split_name
from steelyard_old.reference.changes import commit_of, who
from steelyard_old.reference.config import TIERS, Config, find_config
from steelyard_old.reference.lookup import load, locate, matched
from steelyard_old.reference.run_notes import notes_of
from steelyard_old.results.nights import FallenItem, NightPoint, SinceNight, claim_of
from steelyard_old.results.verdict import Suite, SuiteNightAcknowledged, SuiteNights, Verdict

Looked = TypeVar("Looked")

if TYPE_CHECKING:
    from steelyard_old.estimate.guard.night_values import NightValues
    from steelyard_old.infer.nights.watch import NightDecision, NightlyWatch

Again = Callable[[int], tuple[Verdict, Mapping[str, Any]] | None]  # the second run of a check by its place; None: there is none yet
NEWEST = 100  # nights that an answer tells the course of
TRIES = 50  # how often a writer looks again when others are faster
# What tells one run of a pipeline from another and stays the same when a job of it is run again.
RUN_OF_CI = ("GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILDKITE_BUILD_ID", "CIRCLE_WORKFLOW_ID", "BUILD_BUILDID", "BUILD_TAG")
NOT_A_NIGHT = "this run is not a night of the budget and was judged by itself: {why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteNight:
    """A suite that was checked and is to be judged as a night: where its history is, its series, and what tells it from others."""

    budget: SuiteBudget
    series: str
    place: tuple[str, Path | None]
    night: str | None = None
    keep_answers: bool = False


# ---- what is a night ---------------------------------------------------------------------------------------------------------


def night_asked(
    budget: SuiteBudget | None,
    *,
    series: str | None,
    night: str | None,
    history: str | None,
    config: str | os.PathLike[str] | None,
    keep_answers: bool = False,
    warnings: list[str],
) -> SuiteNight | None:
    """Whether this run of a suite is a night, and what it needs; None if it is not, with a sentence where that may surprise."""
    if budget is None:
        if night is not None or (series is not None and series.strip().lower() != OFF):
            raise no_budget(series, night)
        return None
    name = budget.series if series is None else series
    if name is not None and name.strip().lower() == OFF:
        return None
    if name is None:
        warnings.append(NOT_A_NIGHT.format(why="it names no series (budget.series in the suite file, or series=)"))
        return None
    if series is None and (request := _merge_request(os.environ)) is not None:  # who names the series means it
        warnings.append(NOT_A_NIGHT.format(why=f"it belongs to a pull request ({request})"))
        return None
    place = history_place(history, find_config(Path.cwd(), None if config is None else Path(config)))
    if place is None:
        raise UsageError(
            "A budget of false alarms needs a history of the nights before.",
            got="no history",
            need="the address of a history database",
            hint=HINT,
        )
    if night is not None and (not night.strip() or len(night) > 200 or not night.isprintable()):
        raise UsageError(
            f"The name of a night must be 1 to 200 printable characters, not {night!r}.",
            got=repr(night),
            need="a text of 1 to 200 printable characters",
        )
    return SuiteNight(budget=budget, series=check_series(name), place=place, night=night, keep_answers=keep_answers)


def no_budget(series: str | None, night: str | None) -> UsageError:
    """A night of a suite that counts no nights."""
    return UsageError(
        "The suite has no budget, so its runs do not count as nights of a series.",
        got=f"the series {series!r}" if series is not None else f"the night {night!r}",
        need="a budget in the suite file",
        hint="budget = {false_alarms_per_year = 1, runs_per_year = 365} in [suite]",
    )


def _merge_request(environ: Mapping[str, str]) -> str | None:
    """Which variable of the machine says that this is a pull or merge request."""
    if environ.get("GITHUB_EVENT_NAME", "").startswith(("pull_request", "merge_group")):
        return f"GITHUB_EVENT_NAME={environ['GITHUB_EVENT_NAME']}"
    return next((name for name in ("CI_MERGE_REQUEST_IID", "SYSTEM_PULLREQUEST_PULLREQUESTID") if environ.get(name)), None)


def night_name(asked: str | None, sources: Sequence[Any], values: Mapping[str, NightValues], environ: Mapping[str, str]) -> str:
    """What tells this night from others: as asked; the run of the pipeline, which a retry shares; else the files and what they say.

    Both, because two nights may have the same answers, and a file that is written anew may keep its size and be given its old time.
    """
    if asked is not None:
        return asked
    for name in RUN_OF_CI:
        if environ.get(name):
            return f"{name}={environ[name]}"[:200]
    seen = hashlib.sha256()
    for source in sources:
        for path in _files(split_name(os.fspath(source))[1]):
            found = os.stat(path)
            seen.update(f"{os.path.abspath(path)}|{found.st_size}|{found.st_mtime_ns}\n".encode())
    for key, one in values.items():
        seen.update(f"{key}|{one.tonight.ids!r}|{one.tonight.values!r}\n".encode())
    return f"files {seen.hexdigest()[:16]}"


def _files(path: str) -> list[str]:
    """A file, or all that lie in a folder and below it, in order; none where the path is no file: a pattern, an address."""
    if not os.path.isdir(path):
        return [path] if os.path.exists(path) else []
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)


# ---- judging -----------------------------------------------------------------------------------------------------------------


def judge_night(suite: Suite, parts: Sequence[Mapping[str, Any]], asked: SuiteNight, where: Mapping[str, Any], again: Again) -> Suite:
    """The suite as its night makes it: decided, and stored with its runs in one step. Nothing is stored of a night that is refused.

    again: makes the second run of a check, where the budget confirms the same night.
    """
    tasks = _tasks(suite, parts, where)
    values = {key: _values(verdict, part, where) for key, (verdict, part) in tasks.items()}
    name = night_name(asked.night, [part["sources"][0] for _, part in tasks.values()], values, os.environ)
    facts = {key: _facts(verdict, part) for key, (verdict, part) in tasks.items()}
    if asked.budget.confirm:
        _refuse_deterministic(values)
    target = _target([verdict for verdict, _ in tasks.values()])
    commit = commit_of(Path.cwd())
    config = find_config(Path.cwd(), None if where.get("config") is None else Path(where["config"]))
    runs, warnings = runs_of_suite(suite, parts, config, where.get("directory"), commit, texts=asked.keep_answers)
    named = dict(zip((_key(verdict) for verdict in suite.verdicts), (made.run.id for made in runs), strict=True))
    facts = {key: {**said, "run": named[key]} for key, said in facts.items()}
    with open_history(asked.place[0], base=asked.place[1]) as store:
        members = sorted({_key(verdict) for verdict in suite.verdicts})
        judged, said = _tried(asked.series, lambda: _judged(store, asked, name, values, facts, members, target, commit, runs))
        if judged.again and (second := _second_runs(judged.again, suite, again, where)) is not None:
            judged = _tried(asked.series, lambda: _confirmed(store, asked.series, name, second))
        if asked.keep_answers:
            warnings += _keep_answers(store, suite, parts, [made.run.id for made in runs], config, where.get("directory"))
    judged = _readable(judged, values)  # last: what is stored keeps the hashes
    return coloured(suite, judged, [*warnings, *said, *_told(judged)])


def _readable(night: SuiteNights, values: Mapping[str, NightValues]) -> SuiteNights:
    """The night with the items that fell by the ids that tonight's run has; one that it does not have stays a hash."""
    names = {task: values[task].readable() for task in {one.task for one in night.fell} if task in values}
    fell = (replace(one, item=names.get(one.task, {}).get(one.item, one.item)) for one in night.fell)
    return replace(night, fell=tuple(fell))


def _keep_answers(
    store: History,
    suite: Suite,
    parts: Sequence[Mapping[str, Any]],
    ids: Sequence[str],
    config: Config,
    directory: str | os.PathLike[str] | None,
) -> list[str]:
    """The texts of a night's runs, once the night itself is stored; of a retry, whose runs are not stored, nothing is kept."""
    out: list[str] = []
    for id_, verdict, part in zip(ids, suite.verdicts, parts, strict=True):
        if has_run(store, id_):
            out += keep_texts(store, id_, verdict, part, config=config, directory=directory)
    return out


def _tried(series: str, look: Callable[[], Looked]) -> Looked:
    """What a look at the series comes to; looked again while other writers are faster."""
    for _ in range(TRIES):
        try:
            return look()
        except PlaceTakenError:
            continue
    raise SourceError(
        f"The series {series!r} is busy: other nights were added at each of {TRIES} tries.",
        got="other writers",
        need="a moment without them",
        hint="run the nights of one series one after another",
    )


def _judged(
    store: History,
    asked: SuiteNight,
    name: str,
    values: Mapping[str, NightValues],
    facts: Mapping[str, Mapping[str, Any]],
    members: Sequence[str],
    target: str,
    commit: str | None,
    runs: Sequence[Any],
) -> tuple[SuiteNights, list[str]]:
    """One look at the series: the decision, which has its place in the series then, and what is to be said of the series.

    `PlaceTakenError`: another writer was faster.
    """
    from steelyard_old.estimate.past.nights import decision_as_plain, decision_of, state_as_kept, step, stored_as_given, watch_of
    from steelyard_old.infer.nights.watch import ASK_AGAIN, RULES

    watch, events = watch_of(store, asked.series)
    if (before := next((event for event in events if event.kind == NIGHT and event.night == name), None)) is not None:
        _refuse_other_tasks(before, facts)
        last = next((event for event in events if event.kind == AGAIN and event.facts["of"] == name), before)
        assert last.decision is not None
        return _written(decision_of(last.decision), before, events, watch, retry=watch is None or watch.pending is None), []
    parcel, by = ValueParcel(), who()
    following = events[-1].place + 1 if events else 0
    added: list[NightEvent] = []
    told: list[str] = []
    own = {key: _reference_facts(parcel, one) for key, one in values.items()}
    digests = {key: _digest(named) for key, named in own.items()}
    changed = _changed_references(events, digests)
    if not changed:
        _refuse_other(events, facts, asked.series)
    widths = {key: one.width for key, one in values.items() if one.width is not None}
    if watch is None or changed:
        why = None if not events else f"the reference of {', '.join(changed)} was updated"
        told += [] if why is None else [_anew(why, watch)]
        event = _reference_event(asked.series, following, events, own, widths, why, by, commit)
        added.append(event)
        watch, _ = step(watch, stored_as_given(store, event, parcel))
    elif fresh := [key for key in values if key not in watch.tasks]:
        event = _joined_event(asked.series, following, {key: own[key] for key in fresh}, widths, by, commit)
        added.append(event)
        watch, _ = step(watch, stored_as_given(store, event, parcel))
    budget = asked.budget
    said = {
        "tasks": {key: {**facts[key], **parcel.add(one.tonight), "reference": digests[key]} for key, one in values.items()},
        "deterministic": sorted(key for key, one in values.items() if one.deterministic),
        "members": list(members),
        "budget": {**{k: v for k, v in asdict(budget).items() if k != "series"}, "target": target, "ask_again": ASK_AGAIN},
        "rules": RULES,
    }
    place = following + len(added)
    event = NightEvent(series=asked.series, place=place, kind=NIGHT, night=name, by=by, commit=commit, facts=said, time=utc())
    told += [] if watch is None else _absent(watch.tasks, members, values)
    watch, decision = step(watch, stored_as_given(store, event, parcel))
    assert decision is not None
    event = replace(event, decision=decision_as_plain(decision))
    added.append(event)
    add_events(store, added, parcel=parcel, runs=runs, state=None if watch.pending is not None else state_as_kept(watch))
    return _written(decision, event, [*events, *added], watch, retry=False), told


def _refuse_other_tasks(before: NightEvent, facts: Mapping[str, Any]) -> None:
    """A retry is the same night with the same tasks: a task that was not judged then would be passed over."""
    known = before.facts["tasks"]
    if strangers := [key for key in facts if key not in known]:
        raise DataError(
            f"The night {before.night!r} was judged before, without {', '.join(strangers)} (it had {', '.join(known)}).",
            got=f"{strangers[0]} in a night that has been judged",
            need="the tasks of that night, or another night",
            hint="give this run another name with night=, or this suite a series of its own",
        )


def _anew(why: str, watch: NightlyWatch | None) -> str:
    """That the series starts again, and what goes with it."""
    if watch is None or not watch.red:
        return f"the series starts anew, without the evidence so far: {why}"
    named = f" of {', '.join(watch.named)}" if watch.named else ""
    return f"the series starts anew: {why}; the regression{named} that stood, which nobody has acknowledged, is no longer watched"


def _absent(watched: Collection[str], members: Sequence[str], there: Collection[str]) -> list[str]:
    """What is to be said of tasks that are watched and not there tonight."""
    gone = [key for key in watched if key not in members]
    away = [key for key in watched if key in members and key not in there]
    said = []
    if gone:
        said.append(f"not in this suite, and so not watched until it is again: {', '.join(gone)} (a series is of one suite)")
    if 2 * len(there) < len(there) + len(away):
        said.append(f"the tasks are not pooled tonight: more than half of them are not there ({', '.join(away)})")
    return said


def _second_runs(keys: Sequence[str], suite: Suite, again: Again, where: Mapping[str, Any]) -> dict[str, NightValues] | None:
    """The second runs of these tasks; None while one of them is not there."""
    place = {_key(verdict): i for i, verdict in enumerate(suite.verdicts)}
    made = {}
    for key in keys:
        if (found := again(place[key])) is None:
            return None
        made[key] = _values(found[0], found[1], where)
    return made


def _confirmed(store: History, series: str, name: str, second: Mapping[str, NightValues]) -> SuiteNights:
    """The night that waits, decided by its second run."""
    from steelyard_old.estimate.past.nights import decision_as_plain, state_as_kept, step, stored_as_given, watch_of
    from steelyard_old.infer.nights.watch import RULES

    watch, events = watch_of(store, series)
    night = next(event for event in events if event.night == name)
    if watch is None or watch.pending is None or watch.pending.run != name:
        raise DataError(
            f"The night {name!r} no longer waits for its second run: another night has been judged since.",
            got="a later night",
            need="the second run before the next night",
        )
    parcel = ValueParcel()
    facts = {"of": name, "tasks": {key: parcel.add(one.tonight) for key, one in second.items()}, "rules": RULES}
    event = NightEvent(series=series, place=events[-1].place + 1, kind=AGAIN, facts=facts, by=who(), commit=night.commit, time=utc())
    watch, decision = step(watch, stored_as_given(store, event, parcel))
    assert decision is not None
    event = replace(event, decision=decision_as_plain(decision))
    add_events(store, [event], parcel=parcel, state=state_as_kept(watch))
    return _written(decision, night, [*events, event], watch, retry=False)


def _refuse_deterministic(values: Mapping[str, NightValues]) -> None:
    if sure := [key for key, one in values.items() if one.deterministic]:
        raise UsageError(
            f"{sure[0]} is declared deterministic: a second run answers the same, and confirms nothing.",
            got="confirm = true and a deterministic model",
            need="runs that vary",
            hint="leave confirm out of the budget",
        )


def _written(
    decision: NightDecision, event: NightEvent, events: Sequence[NightEvent], watch: NightlyWatch | None, *, retry: bool
) -> SuiteNights:
    said = event.facts["budget"]
    day = next((one.time[:10] for one in events if one.night == decision.since and one.time), None)
    since = None if decision.since is None else SinceNight(night=decision.since, date=day)
    correlation = None if watch is None else watch.night_correlation()
    second = next((tuple(one.facts["tasks"]) for one in events if one.kind == AGAIN and one.facts["of"] == event.night), ())
    acknowledged = _acknowledged(event, events) if decision.verdict == "regression" else None
    return SuiteNights(
        series=event.series,
        night=str(event.night),
        verdict=decision.verdict,
        false_alarms_per_year=said["false_alarms_per_year"],
        runs_per_year=said["runs_per_year"],
        evidence=decision.evidence,
        line=decision.line,
        alarm=decision.alarm,
        unacknowledged=decision.unacknowledged and acknowledged is None,
        since=since,
        named=decision.named,
        fell=tuple(FallenItem(task=task, item=item) for task, item in decision.items),
        counted=decision.counted,
        pool_z=decision.pool_z,
        task_z=dict(decision.task_z),
        nights=sum(one.kind == NIGHT and one.place <= event.place for one in events),
        baseline=decision.baseline,
        correlation=correlation,
        alike=watch is not None and watch.nights_alike,
        retry=retry,
        confirm=bool(said.get("confirm")),
        again=decision.again,
        second=second,
        acknowledged=acknowledged,
        target=str(said.get("target", "items")),
        claim=claim_of(said["false_alarms_per_year"]),
        course=_course(event, events),
    )


def _course(night: NightEvent, events: Sequence[NightEvent]) -> tuple[NightPoint, ...]:
    """The newest nights up to this one; one that was run twice as its second run left it."""
    found: dict[str, NightEvent] = {}
    for one in events:
        if one.kind == NIGHT and one.place <= night.place:
            found[str(one.night)] = one
        elif one.kind == AGAIN and one.facts["of"] in found:
            found[one.facts["of"]] = replace(found[one.facts["of"]], decision=one.decision)
    return tuple(
        NightPoint(
            night=name,
            time=one.time,
            verdict=one.decision["verdict"],
            evidence=None if one.decision.get("unacknowledged") else one.decision["evidence"],
            alarm=bool(one.decision.get("alarm")),
        )
        for name, one in list(found.items())[-NEWEST:]
        if one.decision is not None
    )


def _acknowledged(night: NightEvent, events: Sequence[NightEvent]) -> SuiteNightAcknowledged | None:
    """What somebody has said of the regression of a night since."""
    found = next((one for one in events if one.kind in (ACCEPTED, FIXED) and one.place > night.place), None)
    if found is None:
        return None
    return SuiteNightAcknowledged(
        how="fixed" if found.kind == FIXED else "accepted",
        by=found.by,
        date=(found.time or "")[:10] or None,
        reason=found.facts.get("reason"),
    )


# ---- the tasks of a night ----------------------------------------------------------------------------------------------------


def _key(verdict: Verdict) -> str:
    spec = ",".join(f"{key}={value}" for key, value in sorted(verdict.spec.items()))
    return f"{verdict.task} {verdict.model}" + (f" {spec}" if spec else "")


def _tasks(suite: Suite, parts: Sequence[Mapping[str, Any]], where: Mapping[str, Any]) -> dict[str, tuple[Verdict, Mapping[str, Any]]]:
    """The guards that count tonight: without advisory ones, and without those that are waived for now."""
    out: dict[str, tuple[Verdict, Mapping[str, Any]]] = {}
    for verdict, row, part in zip(suite.verdicts, suite.rows, parts, strict=True):
        if not TIERS[str(row.tier)].fails or (row.waiver is not None and row.waiver.in_force):
            continue
        key = _key(verdict)
        if key in out:
            raise UsageError(
                f"A night has each task once, and {key} is in the suite twice.", got=f"{key} twice", need="each task once in a budget"
            )
        if not part["sources"] or not isinstance(part["sources"][0], str | os.PathLike):
            raise _not_watchable(key, "it has no items", "give the run itself as result, or make it advisory")
        notes = notes_of(part["sources"][0])
        if verdict.details.stopping is not None or (notes is not None and notes.stopped_early):
            raise DataError(
                f"The run of {key} stopped early, so it cannot be a night: which items it has depends on its answers.",
                got="a run that stopped early",
                need="a complete run",
                hint="run it to the end: leave until out",
            )
        out[key] = (verdict, part)
    if not out:
        raise UsageError(
            "Every check of the suite is advisory or waived, so there is nothing that a budget could watch.",
            got="no check that counts",
            need="at least one",
        )
    return out


def _not_watchable(key: str, why: str, hint: str) -> DataError:
    return DataError(f"{key} cannot be part of a night: {why}.", got=why, need="outcomes of the items, on record and tonight", hint=hint)


def _values(verdict: Verdict, part: Mapping[str, Any], where: Mapping[str, Any]) -> NightValues:
    from steelyard_old.estimate.guard.night_values import night_values

    place = locate(verdict.task, where.get("directory"), where.get("config"))
    entry = matched(place, verdict.model, verdict.spec, load(place, verdict.model)).entry
    notes = notes_of(part["sources"][0])
    ends = part.get("range") or (None if notes is None else notes.range)
    return night_values(
        part["sources"][0],
        place,
        entry,
        verdict,
        part["columns"] or {},
        missing=part.get("missing") or "error",
        ends=None if ends is None else (float(ends[0]), float(ends[1])),
    )


def _facts(verdict: Verdict, part: Mapping[str, Any]) -> dict[str, Any]:
    """What has to stay the same from night to night."""
    notes = notes_of(part["sources"][0])
    protocol = {**({} if notes is None else notes.protocol), **(part.get("protocol") or {})}
    return {
        "task": verdict.task,
        "model": verdict.model,
        "spec": {key: str(value) for key, value in verdict.spec.items()},
        "metric": verdict.metric,
        "protocol": {key: str(value) for key, value in protocol.items() if key != "items"},
    }


def _target(verdicts: Sequence[Verdict]) -> str:
    targets = sorted({verdict.target for verdict in verdicts})
    if len(targets) > 1:
        raise UsageError(
            "The checks of a budget are about items and about runs.",
            got="target = items and target = runs",
            need="one target for all of them",
        )
    return targets[0]


# ---- the references ----------------------------------------------------------------------------------------------------------


def _reference_facts(parcel: ValueParcel, values: NightValues) -> list[dict[str, Any]]:
    return [parcel.add(run) for run in values.reference]


def _digest(named: Sequence[Mapping[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()


def _latest(events: Sequence[NightEvent]) -> dict[str, Mapping[str, Any]]:
    """What the nights have said last of each task, since the series last started."""
    out: dict[str, Mapping[str, Any]] = {}
    for event in events:
        if event.kind == REFERENCE:
            out = {}
        elif event.kind == NIGHT:
            out |= event.facts["tasks"]
    return out


def _changed_references(events: Sequence[NightEvent], digests: Mapping[str, str]) -> list[str]:
    known = _latest(events)
    return [key for key, digest in digests.items() if key in known and known[key]["reference"] != digest]


def _reference_event(
    series: str,
    place: int,
    events: Sequence[NightEvent],
    own: Mapping[str, Sequence[Mapping[str, Any]]],
    widths: Mapping[str, float],
    why: str | None,
    by: str,
    commit: str | None,
) -> NightEvent:
    """The runs that the series starts from. Tasks that are not there tonight keep those that they had."""
    kept: dict[str, list[Mapping[str, Any]]] = {}
    ranges: dict[str, float] = {}
    for event in events:
        if event.kind == REFERENCE:
            kept, ranges = {}, {}
        if event.kind in (REFERENCE, JOINED):
            ranges |= event.facts["ranges"]
            for run in event.facts["runs"]:
                for key, named in run["tasks"].items():
                    kept.setdefault(key, []).append(named)
    facts = {"runs": _runs({**kept, **own}, "reference {}"), "why": why, "ranges": {**ranges, **widths}}
    return NightEvent(series=series, place=place, kind=REFERENCE, facts=facts, by=by, commit=commit)


def _joined_event(
    series: str,
    place: int,
    own: Mapping[str, Sequence[Mapping[str, Any]]],
    widths: Mapping[str, float],
    by: str,
    commit: str | None,
) -> NightEvent:
    """The runs on record of tasks that are new to the series."""
    facts = {"runs": _runs(own, f"reference {{}} of {place}"), "ranges": {key: width for key, width in widths.items() if key in own}}
    return NightEvent(series=series, place=place, kind=JOINED, facts=facts, by=by, commit=commit)


def _runs(own: Mapping[str, Sequence[Mapping[str, Any]]], name: str) -> list[dict[str, Any]]:
    """The first, second, ... recorded run of every task, as runs of the suite."""
    return [
        {"run": name.format(i + 1), "tasks": {key: named[i] for key, named in own.items() if i < len(named)}}
        for i in range(max(len(named) for named in own.values()))
    ]


def _refuse_other(events: Sequence[NightEvent], facts: Mapping[str, Mapping[str, Any]], series: str) -> None:
    """Nights are alike: the same metric and protocol, and one spec of a model on a task."""
    known = _latest(events)
    for key, said in facts.items():
        before = known.get(key)
        if before is None:
            twin = next((k for k, b in known.items() if (b["task"], b["model"]) == (said["task"], said["model"]) and k not in facts), None)
            if twin is not None:
                raise _another(series, key, "spec", known[twin]["spec"], said["spec"])
            continue
        for what in ("metric", "protocol"):
            if before[what] != said[what]:
                raise _another(series, key, what, before[what], said[what])


def _another(series: str, key: str, what: str, before: Any, now: Any) -> DataError:
    def shown(value: Any) -> str:
        return str(value) if not isinstance(value, Mapping) else ", ".join(f"{k}={v}" for k, v in sorted(value.items())) or "none"

    anew = "" if what == "spec" else ", or record the reference again with update=True: that starts the series anew"
    return DataError(
        f"Tonight {key} has another {what} than the nights of the series {series!r} before ({shown(now)}; it was {shown(before)}).",
        got=f"another {what}: {shown(now)}",
        need=f"the {what} of the nights before: {shown(before)}",
        hint=f"name a new series{anew}",
    )


# ---- the colour of the suite -------------------------------------------------------------------------------------------------


def coloured(suite: Suite, night: SuiteNights, warnings: Sequence[str]) -> Suite:
    """The suite with the night's word: the evidence decides, and what tonight shows by itself is unconfirmed."""
    red = night.verdict == "regression"
    fell = {one.task for one in night.fell} if night.verdict == "changed" else set()
    rows = []
    for row, verdict in zip(suite.rows, suite.verdicts, strict=True):
        key, counts = _key(verdict), row.counts_as
        if counts not in ("advisory", "waived"):
            if red and key in night.named:
                counts = "regression"
            elif key in fell:
                counts = "changed"
            elif counts == "regression" or key in night.again:
                counts = "unconfirmed"
        rows.append(replace(row, counts_as=counts, confirmed=counts == "regression"))
    pooled = suite.pooled
    if pooled is not None and pooled.verdict == "regression" and not red:
        pooled = replace(pooled, verdict="unconfirmed")
    word = "regression" if red else "inconclusive" if night.again else outcome_of(rows, suite.verdicts, None)
    told = conclusion_of("pass", rows, None)  # how many of each; what decides is said by the night
    return replace(
        suite,
        verdict=word,
        rows=tuple(rows),
        pooled=pooled,
        nights=night,
        conclusion=f"{told} {sentence_of(night)}",
        warnings=tuple(dict.fromkeys([*suite.warnings, *warnings])),
    )


def sentence_of(night: SuiteNights) -> str:
    """What the night came to, in a sentence."""
    from steelyard_old.render.pages.suite_nights import weight_text

    evidence = f"evidence {weight_text(night.evidence)}, alarm at {weight_text(night.line)}"
    weighed = "both runs of the night" if night.confirm else evidence
    since = "" if night.since is None else f" since {night.since.date or night.since.night}"
    if night.verdict == "regression":
        if (said := night.acknowledged) is not None:
            when, by = f" on {said.date}" if said.date else "", f" by {said.by}" if said.by else ""
            return f"Regression{since}, acknowledged as {said.how}{when}{by} ({said.reason}): the next night is judged anew."
        if night.unacknowledged:
            return f"Regression{since}, not acknowledged: steelyard history ack --series {shlex.quote(night.series)} --fixed or --accept."
        named = f"worse: {', '.join(night.named)}" if night.named else "no single task is significant"
        if not (night.alarm or night.confirm):  # after a *changed*
            weighed = "shown for new items by all nights since"
        return f"Regression{since}: {named} ({weighed})."
    if night.verdict == "changed":
        example = f", e.g. {night.fell[0].item} of {night.fell[0].task}" if night.fell else ""
        return f"Changed: worse on these very items{since}{example}; not shown for new items ({weighed})."
    if night.again:
        return f"Not decided: run {', '.join(night.again)} again tonight, and check again."
    if night.second:
        many = len(night.second) > 1
        return f"{', '.join(night.second)} {'were' if many else 'was'} run again; the second run{'s are' if many else ' is'} not worse."
    if night.confirm:
        return "No task had to be run again."
    return f"No alarm ({weighed})."


def _told(night: SuiteNights) -> list[str]:
    out = []
    if night.retry:
        out.append(f"the night {night.night!r} was judged before: this is the decision of then, and these answers were not counted")
    if night.verdict == "changed":
        out.append(sentence_of(night))
    if night.alike and night.correlation is not None:
        out.append(
            f"consecutive nights are alike (correlation {night.correlation:.2f}): noise that lasts for several nights brings more false "
            "alarms than the budget says"
        )
    return out
