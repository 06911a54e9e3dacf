"""Nights in the history: stored once, in their order, and replayed to the same decisions."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.errors import DataError, UsageError
from steelyard.estimate.past.nights import (
    NightBudget,
    StoredNight,
    nights_of,
    replay,
    state_as_kept,
    step,
    stored_nights,
    watch_of,
)
from steelyard.history.nights import (
    NIGHT,
    REFERENCE,
    JudgedValues,
    NightEvent,
    PlaceTakenError,
    ValueParcel,
    add_events,
    events_of,
    series_names,
    state_of,
)
from steelyard.history.store import History, open_history
from steelyard.infer.nights.answers import TaskRun
from steelyard.infer.nights.watch import Night

BUDGET = {"false_alarms_per_year": 1.0, "runs_per_year": 365.0, "confirm": False, "target": "items"}
ITEMS = [f"q{i}" for i in range(60)]


def run_of(rng: np.random.Generator, usual: np.ndarray, noise: float = 0.05) -> JudgedValues:
    flipped = rng.random(len(usual)) < noise
    return JudgedValues(ids=ITEMS, values=np.where(flipped, 1 - usual, usual).tolist())


def reference_event(series: str, place: int, runs: list[dict[str, JudgedValues]], parcel: ValueParcel) -> NightEvent:
    named = [{"run": f"reference {i}", "tasks": {task: parcel.add(one) for task, one in run.items()}} for i, run in enumerate(runs, 1)]
    return NightEvent(series=series, place=place, kind=REFERENCE, facts={"runs": named})


def night_event(series: str, place: int, name: str, tasks: dict[str, JudgedValues], parcel: ValueParcel, **more: Any) -> NightEvent:
    facts = {"tasks": {task: parcel.add(one) for task, one in tasks.items()}, "budget": BUDGET}
    return NightEvent(series=series, place=place, kind=NIGHT, night=name, facts=facts, **more)


def filled(url: str, nights: int = 40, broken_from: int = 25, series: str = "main") -> History:
    """A history of one series, in which two tasks break; every night is added with the state after it."""
    rng = np.random.default_rng(7)
    usual = (np.arange(60) < 50).astype(float)
    store = open_history(url)
    parcel = ValueParcel()
    first = reference_event(series, 0, [{t: run_of(rng, usual) for t in ("a", "b")} for _ in range(3)], parcel)
    add_events(store, [first], parcel=parcel)
    watch, _ = watch_of(store, series)
    for i in range(nights):
        now = usual.copy()
        if i >= broken_from:
            now[:20] = 0
        parcel = ValueParcel()
        event = night_event(series, i + 1, f"n{i}", {t: run_of(rng, now) for t in ("a", "b")}, parcel)
        add_events(store, [event], parcel=parcel)
        (one,) = nights_of(store, series, after=i)
        watch, decision = step(watch, one)
        assert decision is not None
        store._place.run("UPDATE steelyard_nights SET decision = ? WHERE id = ?", [json.dumps({"evidence": decision.evidence}), event.id])
    return store


def test_replaying_gives_the_same_decisions(tmp_path: Path) -> None:
    with filled(f"sqlite:///{tmp_path}/runs.db") as store:
        nights = nights_of(store, "main")
        found = replay(nights)
    assert len(found.decisions) == len(found.nights) == 40
    kept = [night.decision["evidence"] for night in found.nights if night.decision]
    assert kept == pytest.approx([one.evidence for one in found.decisions], rel=1e-9)
    verdicts = [one.verdict for one in found.decisions]
    assert verdicts[:25] == ["pass"] * 25
    assert verdicts[-1] == "regression"
    assert found.decisions[-1].since == "n25"


def test_other_settings_stand_for_all_nights(tmp_path: Path) -> None:
    with filled(f"sqlite:///{tmp_path}/runs.db") as store:
        nights = nights_of(store, "main")
    strict = replay(nights, false_alarms_per_year=1e-9)
    assert all(one.line == pytest.approx(365e9) for one in strict.decisions)
    assert replay(nights, runs_per_year=52).decisions[0].line == 52
    with pytest.raises(UsageError, match="A budget is more than 0 false alarms"):
        replay(nights, false_alarms_per_year=0)
    with pytest.raises(DataError, match="does not begin with a reference"):
        replay(nights[1:])


def test_the_state_is_a_cache(tmp_path: Path) -> None:
    """A kept state, an old one, a damaged one, one of another format and none at all lead to the same watch."""
    with filled(f"sqlite:///{tmp_path}/runs.db", nights=12) as store:
        fresh, events = watch_of(store, "main")
        assert fresh is not None
        assert state_of(store, "main") is None
        whole = fresh.to_dict()
        half, _ = watch_of_first(store, 6)
        states = {
            "all": (12, state_as_kept(fresh)),
            "older": (6, state_as_kept(half)),
            "later": (99, state_as_kept(fresh)),
            "damaged": (12, b"no state"),
            "other": (12, zlib.compress(json.dumps({"state": 99, "watch": {}}).encode())),
            "empty": (12, zlib.compress(json.dumps({"state": 1, "watch": {"format": 1}}).encode())),
        }
        for name, (place, state) in states.items():
            store._place.run("DELETE FROM steelyard_watches")
            store._place.run("INSERT INTO steelyard_watches VALUES (?, ?, ?)", ["main", place, state])
            again, _ = watch_of(store, "main")
            assert again is not None
            assert again.to_dict() == whole, name
        assert len(events) == 13


def watch_of_first(store: History, places: int) -> Any:
    watch = None
    for one in stored_nights(store, events_of(store, "main")[: places + 1]):
        watch, _ = step(watch, one)
    return watch, places


def test_two_writers_cannot_take_one_place_nor_one_night(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    with filled(url, nights=3) as store, open_history(url) as other:
        values = {"a": JudgedValues(ids=["1"], values=[1.0])}
        parcel = ValueParcel()
        add_events(store, [night_event("main", 4, "x", values, parcel)], parcel=parcel)
        for place, name in ((4, "y"), (5, "x")):
            parcel = ValueParcel()
            with pytest.raises(PlaceTakenError):
                add_events(other, [night_event("main", place, name, values, parcel)], parcel=parcel, state=b"s")
        assert [event.night for event in events_of(store, "main")] == [None, "n0", "n1", "n2", "x"]
        assert state_of(store, "main") is None
        parcel = ValueParcel()
        add_events(other, [night_event("main", 5, "y", values, parcel)], parcel=parcel)
        assert events_of(store, "main", after=4)[0].night == "y"


def test_series_are_kept_apart(tmp_path: Path) -> None:
    with filled(f"sqlite:///{tmp_path}/runs.db", nights=2) as store:
        parcel = ValueParcel()
        add_events(store, [reference_event("weekly", 0, [{"a": JudgedValues(ids=["1"], values=[1])}], parcel)], parcel=parcel)
        assert series_names(store) == ["main", "weekly"]
        assert len(nights_of(store, "weekly")) == 1
        with pytest.raises(DataError, match=r"no nights of the series 'mian'"):
            nights_of(store, "mian")
        with pytest.raises(UsageError, match="name of a series"):
            nights_of(store, " ")


def test_values_come_back_as_they_were_added(tmp_path: Path) -> None:
    """Ids that are numbers, scores that are no outcomes, contents with holes; runs on the same items share one list."""
    with open_history(f"sqlite:///{tmp_path}/runs.db") as store:
        parcel = ValueParcel()
        one = JudgedValues(ids=["10", "9"], values=[0.25, 0.5], contents=["aa", None])
        two = JudgedValues(ids=["10", "9"], values=[1.0, 0.0], contents=["aa", None])
        add_events(store, [reference_event("s", 0, [{"t": one}, {"t": two}], parcel)], parcel=parcel)
        (found,) = nights_of(store, "s")
    first, second = (run.tasks["t"] for run in found.reference)
    assert dict(zip(first.ids, first.values, strict=True)) == {"10": 0.25, "9": 0.5}  # type: ignore[arg-type]
    assert dict(zip(first.ids, first.contents or (), strict=True)) == {"10": "aa", "9": None}
    assert list(second.values) == [1.0, 0.0]  # type: ignore[arg-type]
    assert first.ids is second.ids
    assert first.contents is second.contents


def test_nights_from_before_a_change_was_asked_about_again_are_replayed_as_they_were_decided() -> None:
    """How long a *changed* is asked about is stored with each night; nights without it were asked about once."""
    rng = np.random.default_rng(7)
    right = rng.random((4, 100)) < 0.8

    def run(name: str, worse: bool) -> Night:
        usual = right.copy()
        usual[0, np.flatnonzero(right[0])[: 6 * worse]] = False
        values = usual ^ (rng.random((4, 100)) < 0.015)
        return Night(run=name, tasks={f"t{j}": TaskRun(ids=[str(i) for i in range(100)], values=values[j]) for j in range(4)})

    runs = [run(f"n{i}", worse=i >= 20) for i in range(40)]
    said = {"time": "2026-11-01T00:00:00Z"}
    first = StoredNight(id="r", place=0, kind=REFERENCE, reference=tuple(runs[:3]), **said)

    def series(**budget: Any) -> list[StoredNight]:
        made = NightBudget(**BUDGET, **budget)
        return [first] + [StoredNight(id=n.run, place=i, kind=NIGHT, night=n, budget=made, **said) for i, n in enumerate(runs[3:], 1)]

    before, now = ([one.verdict for one in replay(series(**asked)).decisions] for asked in ({}, {"ask_again": 30}))
    assert before.count("changed") == 1
    assert "regression" not in before
    assert now.index("regression") > now.index("changed") == before.index("changed")
    mixed = [*series()[:26], *series(ask_again=30)[26:]]  # a new version from some night after the change on
    assert [one.verdict for one in replay(mixed).decisions] == before
