"""The nights of a suite with a budget of false alarms: read from the history, and replayed through the watch that decided them.

What is stored decides; the state of the watch is a cache, and replaying makes it anew.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from steelyard_old.errors import DataError, UsageError
from steelyard_old.history.nights import (
    ACCEPTED,
    AGAIN,
    FIXED,
    JOINED,
    NIGHT,
    REFERENCE,
    JudgedValues,
    NightEvent,
    ValueParcel,
    events_of,
    series_names,
    state_of,
    values_of,
)
from steelyard_old.history.store import History
from steelyard_old.infer.nights.answers import TaskRun
from steelyard_old.infer.nights.watch import RULES, Night, NightDecision, NightlyWatch

STATE = 1  # the format of a kept state


@dataclass(frozen=True, slots=True, kw_only=True)
class NightBudget:
    """How many false alarms a year a night was judged with, of how many runs a year; and what the alarm is about: items or runs.

    ask_again: for how many nights a *changed* is tested for new items again. Nights from before that was done have none.
    """

    false_alarms_per_year: float = 1.0
    runs_per_year: float = 365.0
    confirm: bool = False
    target: str = "items"
    ask_again: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNight:
    """One event of a series, ready to be replayed.

    kind: reference (`reference` are the runs that the series starts, or starts anew, from), joined (`reference` are those of new tasks),
    night (`night` and the `budget` it was judged with), again (the second run of a night with `confirm`: `night` has some of its tasks),
    accept or fixed (somebody acknowledged a regression, with a `reason`). `night.run` is what tells the nights of a series apart, and
    what `since` of a decision names. `decision` is what was decided then, as JSON. `rules`: how a change moved the baselines then, so that
    a replay decides as it was decided; events that do not say are of the first ones.
    """

    id: str
    place: int
    kind: str
    time: str
    by: str | None = None
    commit: str | None = None
    reference: tuple[Night, ...] = ()
    ranges: Mapping[str, float] = field(default_factory=dict)
    night: Night | None = None
    budget: NightBudget = field(default_factory=NightBudget)
    reason: str | None = None
    decision: Mapping[str, Any] | None = None
    runs: Mapping[str, str] = field(default_factory=dict)  # task -> id of its run in the history
    rules: int = RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The watch after the last event, and a decision for each night, in order; `decisions[i]` is that of `nights[i]`."""

    watch: NightlyWatch
    nights: tuple[StoredNight, ...]
    decisions: tuple[NightDecision, ...]


def night_series(store: History) -> list[str]:
    """The names of the series of nights in a history."""
    return series_names(store)


def nights_of(store: History, series: str, *, after: int = -1) -> list[StoredNight]:
    """nights_of(store, series) -> the events of a series in their order: references, nights, acknowledgements.

    store: an open history. after: only events behind this place. A series that is not there is an error that names those that are.
    """
    events = events_of(store, series, after=after)
    if not events and after < 0:
        refuse_unknown(store, series)
    return stored_nights(store, events)


def refuse_unknown(store: History, series: str) -> None:
    known = series_names(store)
    raise DataError(
        f"The history {store.shown} has no nights of the series {series!r}.",
        got=f"no series {series!r}",
        need=f"one of {', '.join(known)}" if known else "a suite that was checked with a budget",
        hint="" if known else 'budget = {series = "main"} in [suite], and check it with a history',
    )


def stored_nights(store: History, events: Sequence[NightEvent]) -> list[StoredNight]:
    """Events with the values that they name."""
    named = [one for event in events for one in _named(event)]
    values = values_of(store, named)
    return [_stored(event, values) for event in events]


def replay(
    nights: Sequence[StoredNight],
    *,
    false_alarms_per_year: float | None = None,
    runs_per_year: float | None = None,
    target: str | None = None,
    known: dict[Any, Any] | None = None,
    accepted: bool = False,
) -> Replayed:
    """replay(nights_of(store, series)) -> Replayed: every night judged again, in order, by what is stored.

    Without settings each night has the budget it was judged with, and the decisions are those that were made then. With a setting,
    all nights are judged as if it had been so from the first; an acknowledgement of a regression that then is none does nothing.
    known: one dict for several replays of the same nights, so that what does not depend on the budget is worked out once.
    accepted: every regression is accepted the night it is found, so that each change alarms once.
    """
    given = {"false_alarms": false_alarms_per_year, "runs_per_year": runs_per_year, "target": target}
    other = {name: value for name, value in given.items() if value is not None}
    if not nights or nights[0].kind != REFERENCE:
        raise DataError("The series does not begin with a reference.", got="no reference", need="the first event of the series")
    watch: NightlyWatch | None = None
    judged: list[StoredNight] = []
    decisions: list[NightDecision] = []
    for one in nights:
        watch, decision = step(watch, one, other=other, known=known)
        if decision is not None and one.kind == AGAIN:
            decisions[-1] = decision
        elif decision is not None:
            judged.append(one)
            decisions.append(decision)
        if accepted and watch.red:
            watch.accept()
    assert watch is not None  # the first event is a reference
    return Replayed(watch=watch, nights=tuple(judged), decisions=tuple(decisions))


def step(
    watch: NightlyWatch | None, one: StoredNight, *, other: Mapping[str, Any] | None = None, known: dict[Any, Any] | None = None
) -> tuple[NightlyWatch, NightDecision | None]:
    """The watch after one more event, and what a night came to. other: settings that stand for those of the event."""
    other = other or {}
    if one.kind == REFERENCE:
        if watch is None:
            return NightlyWatch(one.reference, ranges=one.ranges, known=known, **other), None
        watch.restart(one.reference, ranges=one.ranges)
        return watch, None
    assert watch is not None
    watch.rules = one.rules
    if one.kind == JOINED:
        watch.join(one.reference, ranges=one.ranges)
        return watch, None
    if one.kind == NIGHT:
        assert one.night is not None
        budget = one.budget
        own = {"false_alarms": budget.false_alarms_per_year, "runs_per_year": budget.runs_per_year, "target": budget.target}
        watch.settle(**{**own, "ask_again": budget.ask_again, **other})
        return watch, watch.judge_twice(one.night) if budget.confirm else watch.judge(one.night)
    if one.kind == AGAIN:
        if watch.pending is None:  # with other settings it did not have to be run again
            return watch, None
        assert one.night is not None
        return watch, _twice(watch, watch.pending, one.night, settled=not other)
    if watch.red or not other:
        (watch.accept if one.kind == ACCEPTED else watch.fixed)()
    return watch, None


def _twice(watch: NightlyWatch, night: Night, again: Night, *, settled: bool) -> NightDecision | None:
    """What the second run decides. With other settings other tasks may have to be run again, which nobody did: then it waits."""
    try:
        return watch.judge_twice(night, again)
    except UsageError:
        if settled:
            raise
        watch.pending = night
        return None


def watch_of(store: History, series: str) -> tuple[NightlyWatch | None, list[NightEvent]]:
    """The watch of a series as it stands, from the kept state and what came after it; all its events. None if it has no events."""
    events = events_of(store, series)
    if not events:
        return None, []
    watch, place = _kept(store, series)
    if watch is not None and place > events[-1].place:
        watch = None  # a state from nowhere: what is stored decides
    for one in stored_nights(store, events if watch is None else [event for event in events if event.place > place]):
        watch, _ = step(watch, one)
    return watch, events


def state_as_kept(watch: NightlyWatch) -> bytes:
    """The state of a watch as the history keeps it."""
    return zlib.compress(json.dumps({"state": STATE, "watch": watch.to_dict()}, separators=(",", ":")).encode(), 6)


def _kept(store: History, series: str) -> tuple[NightlyWatch | None, int]:
    """The kept state; None where there is none, or none that this version can use."""
    found = state_of(store, series)
    if found is None:
        return None, -1
    try:
        plain = json.loads(zlib.decompress(found[1]))
        return (NightlyWatch.from_dict(plain["watch"]), found[0]) if plain["state"] == STATE else (None, -1)
    except Exception:  # whatever is wrong with a cache: it is made anew
        return None, -1


def decision_of(plain: Mapping[str, Any]) -> NightDecision:
    """The decision that `decision_as_plain` wrote."""
    pairs = {"items": tuple((str(task), str(item)) for task, item in plain.get("items") or ())}
    tuples = {name: tuple(plain.get(name) or ()) for name in ("counted", "named", "again")}
    return NightDecision(**{**plain, **pairs, **tuples})


def stored_as_given(store: History, event: NightEvent, parcel: ValueParcel) -> StoredNight:
    """An event that is about to be added, as it will be read: values of its parcel, or those that are stored already."""
    own = parcel.judged()
    named = _named(event)
    there = values_of(store, [one for one in named if (one["values"], one["contents"]) not in own])
    return _stored(event, {**there, **own})


def decision_as_plain(decision: NightDecision) -> dict[str, Any]:
    """A decision as JSON."""
    plain = asdict(decision)
    return {**plain, "items": [list(pair) for pair in decision.items]}


# ---- from events -------------------------------------------------------------------------------------------------------------


def _named(event: NightEvent) -> list[Mapping[str, Any]]:
    if event.kind in (REFERENCE, JOINED):
        return [one for run in event.facts["runs"] for one in run["tasks"].values()]
    return list(event.facts["tasks"].values()) if event.kind in (NIGHT, AGAIN) else []


def _stored(event: NightEvent, values: Mapping[tuple[str, str | None], JudgedValues]) -> StoredNight:
    def tasks(named: Mapping[str, Mapping[str, Any]]) -> dict[str, TaskRun]:
        return {name: task_run(values[one["values"], one["contents"]]) for name, one in named.items()}

    facts = event.facts
    said: dict[str, Any] = {"id": event.id, "place": event.place, "kind": event.kind, "time": event.time}
    said |= {"by": event.by, "commit": event.commit, "decision": event.decision}
    said["rules"] = int(facts.get("rules", 1))
    if event.kind in (REFERENCE, JOINED):
        runs = tuple(Night(run=str(run["run"]), tasks=tasks(run["tasks"])) for run in facts["runs"])
        return StoredNight(**said, reference=runs, ranges=facts.get("ranges") or {})
    if event.kind in (ACCEPTED, FIXED):
        return StoredNight(**said, reason=facts.get("reason"))
    night = Night(
        run=str(event.night or facts.get("of")),
        tasks=tasks(facts["tasks"]),
        commit=event.commit,
        deterministic=frozenset(facts.get("deterministic") or ()),
        members=None if facts.get("members") is None else frozenset(facts["members"]),
    )
    ids = {name: one["run"] for name, one in facts["tasks"].items() if one.get("run")}
    return StoredNight(**said, night=night, budget=NightBudget(**(facts.get("budget") or {})), runs=ids)


def task_run(judged: JudgedValues) -> TaskRun:
    return TaskRun(ids=judged.ids, values=judged.values, contents=judged.contents)  # type: ignore[arg-type]
