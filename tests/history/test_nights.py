"""Events of a series in SQLite and in PostgreSQL: whole or not at all, in one order, whoever writes."""

from __future__ import annotations

import threading

import pytest

from steelyard.history.nights import (
    ACCEPTED,
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
    values_of,
)
from steelyard.history.store import open_history


def added(url: str, name: str, writer: int) -> int:
    """Adds one night at the next free place; how often another writer was faster."""
    waited = 0
    with open_history(url) as store:
        while True:
            place = len(events_of(store, "main"))
            parcel = ValueParcel()
            facts = {"tasks": {"t": parcel.add(JudgedValues(ids=["a", "b"], values=[1.0, float(writer % 2)]))}}
            event = NightEvent(series="main", place=place, kind=NIGHT, night=name, facts=facts)
            try:
                add_events(store, [event], parcel=parcel, state=f"state {place}".encode())
            except PlaceTakenError:
                waited += 1
                continue
            return waited


def test_writers_queue_and_lose_nothing(url: str) -> None:
    with open_history(url) as store:
        add_events(store, [NightEvent(series="main", place=0, kind=REFERENCE, facts={"runs": []})])
    faults: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            for i in range(5):
                added(url, f"w{writer} n{i}", writer)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    with open_history(url) as store:
        events = events_of(store, "main")
        assert [event.place for event in events] == list(range(21))
        assert len({event.night for event in events}) == 21
        assert state_of(store, "main") == (20, b"state 20")
        named = [event.facts["tasks"]["t"] for event in events[1:]]
        found = values_of(store, named)
    assert len(found) == 2  # the same values are kept once
    assert {tuple(one.values) for one in found.values()} == {(1.0, 0.0), (1.0, 1.0)}


def test_a_night_is_stored_whole_or_not_at_all(url: str) -> None:
    with open_history(url) as store:
        first = NightEvent(series="main", place=0, kind=REFERENCE, facts={"runs": []})
        taken = NightEvent(series="main", place=0, kind=ACCEPTED, facts={"reason": "x"})
        with pytest.raises(PlaceTakenError):
            add_events(store, [first, taken], state=b"s")
        assert events_of(store, "main") == []
        assert state_of(store, "main") is None
        assert series_names(store) == []
        add_events(store, [first])
        kept = events_of(store, "main")
    assert [(event.id, event.place, event.kind) for event in kept] == [(first.id, 0, REFERENCE)]
