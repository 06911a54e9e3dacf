"""A history with nights of a suite that have dates: three tasks over forty nights, one breaks and is fixed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from estimate.past.test_nights import night_event, reference_event, run_of
from steelyard.history.nights import FIXED, NightEvent, ValueParcel, add_events
from steelyard.history.store import open_history

START = datetime(2026, 3, 1, 2, tzinfo=UTC)


def day(i: int) -> str:
    return (START + timedelta(days=i)).isoformat()[:19]


def dated_nights(address: str) -> str:
    """Three tasks over forty nights: one breaks on the 20th, is fixed on the 26th."""
    rng, usual = np.random.default_rng(11), (np.arange(60) < 50).astype(float)
    names = ("a", "b", "c")
    with open_history(address) as store:
        parcel = ValueParcel()
        first = reference_event("main", 0, [{t: run_of(rng, usual, 0.02) for t in names} for _ in range(3)], parcel)
        add_events(store, [replace(first, time=day(0))], parcel=parcel)
        place = 1
        for i in range(40):
            if i == 26:
                facts = {"reason": "reverted"}
                add_events(store, [NightEvent(series="main", place=place, kind=FIXED, facts=facts, time=day(i + 1), by="ada")])
                place += 1
            parcel, now = ValueParcel(), usual.copy()
            now[: 25 if 20 <= i < 26 else 0] = 0
            tasks = {t: run_of(rng, now if t == "b" else usual, 0.02) for t in names}
            add_events(store, [night_event("main", place, f"n{i}", tasks, parcel, time=day(i + 1))], parcel=parcel)
            place += 1
    return address
