"""The nights of a suite in the history: what happened in a series, in the order in which it was added, and the values that were judged.

A series is a list of events, numbered from 0. Their numbers decide their order, never the clock; two writers cannot take the same one.
"""

# ruff: noqa: S608 - SQL is built here from names of our own; values of users are parameters
from __future__ import annotations

import hashlib
import json
import uuid
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard_old.errors import UsageError
from steelyard_old.history.entries import utc
from steelyard_old.history.schema import LISTS, MAKE_NIGHTS, NIGHT_VALUES, NIGHTS, WATCHES
from steelyard_old.history.store import (
    History,
    MadeRun,
    Packed,
    chunks,
    damaged,
    database_of,
    insert_run,
    keep_list,
    pack,
    unpack_list,
    unpack_rows,
)

REFERENCE, JOINED, NIGHT, AGAIN, ACCEPTED, FIXED = ("reference", "joined", "night", "again", "accept", "fixed")
COLUMNS = ("id", "series", "place", "kind", "night", "time", "by", "commit", "facts", "decision")


class PlaceTakenError(Exception):
    """Another writer has added to the series since it was read: read it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightEvent:
    """One thing that happened in a series.

    kind: reference (the runs that the series starts from, or starts anew from), joined (the reference runs of tasks that are new to it),
    night, again (the second run of some tasks of a night that waits for it), accept or fixed (a regression was acknowledged). night: what
    tells one night from another, and a retry from a night. facts: as JSON; `tasks` of a night, and of each of the `runs` of a reference
    or of joined tasks, name the values of every task by their digest. decision: what a night came to.
    """

    series: str
    place: int
    kind: str
    facts: Mapping[str, Any]
    night: str | None = None
    time: str = ""
    by: str | None = None
    commit: str | None = None
    decision: Mapping[str, Any] | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedValues:
    """What one run of one task scored, item by item, as it goes into a night: ids in order, up is good."""

    ids: Sequence[str]
    values: Sequence[float]
    contents: Sequence[str | None] | None = None


@dataclass(slots=True, kw_only=True)
class ValueParcel:
    """Values that are to be written with an event, each list once."""

    values: dict[str, Packed] = field(default_factory=dict)
    lists: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    _judged: dict[tuple[str, str | None], JudgedValues] = field(default_factory=dict)

    def judged(self) -> dict[tuple[str, str | None], JudgedValues]:
        """What the parcel holds, in the order in which it will be read."""
        return self._judged

    def add(self, judged: JudgedValues) -> dict[str, Any]:
        """The values join the parcel; how an event names them."""
        named = self._added(judged)
        order = sorted(range(len(judged.ids)), key=lambda i: str(judged.ids[i]))
        self._judged[named["values"], named["contents"]] = JudgedValues(
            ids=[str(judged.ids[i]) for i in order],
            values=[float(judged.values[i]) for i in order],
            contents=None if named["contents"] is None or judged.contents is None else [judged.contents[i] for i in order],
        )
        return named

    def _added(self, judged: JudgedValues) -> dict[str, Any]:
        packed = pack(dict(zip(judged.ids, judged.values, strict=True)))
        self.values[packed.digest] = packed
        if judged.contents is None or all(one is None for one in judged.contents):
            return {"values": packed.digest, "contents": None}
        said = dict(zip(map(str, judged.ids), judged.contents, strict=True))
        listed = json.dumps([said[name] for name in sorted(said)], separators=(",", ":")).encode()
        digest = hashlib.sha256(listed).hexdigest()
        self.lists[digest] = (len(said), zlib.compress(listed, 6))
        return {"values": packed.digest, "contents": digest}


# ---- adding ------------------------------------------------------------------------------------------------------------------


def add_events(
    history: History,
    events: Sequence[NightEvent],
    *,
    parcel: ValueParcel | None = None,
    runs: Sequence[MadeRun] = (),
    state: bytes | None = None,
) -> None:
    """Add events of one series with their values, the runs they come from and the state after them: all of it or nothing.

    `PlaceTakenError`: another writer was faster. The tables are made when the first night wants them.
    """
    series = events[0].series
    place, parcel = database_of(history), parcel or ValueParcel()
    if not place.has_table(WATCHES):
        with place.changing_tables():
            for table in MAKE_NIGHTS:
                place.run(table.format(bytes=place.bytes_type))
    with place.writing():
        for event in events:
            row = [event.id, event.series, event.place, event.kind, event.night, event.time or utc(), event.by, event.commit]
            row += [_json(event.facts), None if event.decision is None else _json(event.decision)]
            place.run(
                f"INSERT INTO {NIGHTS} ({_names()}) VALUES ({', '.join('?' * len(COLUMNS))}) ON CONFLICT DO NOTHING",
                row,
            )
            if not place.run(f'SELECT 1 FROM {NIGHTS} WHERE "id" = ?', [event.id]):
                raise PlaceTakenError
        for digest, (n, data) in parcel.lists.items():
            keep_list(history, digest, n, data)
        for packed in parcel.values.values():
            keep_list(history, packed.items, packed.n, packed.ids)
            place.run(
                f'INSERT INTO {NIGHT_VALUES} ("digest", "items", "packing", "scores") VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
                [packed.digest, packed.items, packed.packing, packed.scores],
            )
        for made in runs:
            insert_run(history, made)
        if state is not None:
            place.run(f'DELETE FROM {WATCHES} WHERE "series" = ?', [series])
            place.run(f'INSERT INTO {WATCHES} ("series", "place", "state") VALUES (?, ?, ?)', [series, events[-1].place, state])


# ---- reading -----------------------------------------------------------------------------------------------------------------


def series_names(history: History) -> list[str]:
    """The series of nights that there are, in order of their names."""
    if not database_of(history).has_table(NIGHTS):
        return []
    return [str(name) for (name,) in database_of(history).run(f'SELECT DISTINCT "series" FROM {NIGHTS} ORDER BY "series"')]


def events_of(history: History, series: str, *, after: int = -1) -> list[NightEvent]:
    """The events of a series behind a place, in their order."""
    name = check_series(series)
    if not database_of(history).has_table(NIGHTS):
        return []
    rows = database_of(history).run(f'SELECT {_names()} FROM {NIGHTS} WHERE "series" = ? AND "place" > ? ORDER BY "place"', [name, after])
    return [_event(row) for row in rows]


def state_of(history: History, series: str) -> tuple[int, bytes] | None:
    """The state of a series as it was kept, and the place of the last event in it. It is a cache: who cannot use it replays."""
    if not database_of(history).has_table(WATCHES):
        return None
    rows = database_of(history).run(f'SELECT "place", "state" FROM {WATCHES} WHERE "series" = ?', [series])
    return (int(rows[0][0]), bytes(rows[0][1])) if rows else None


def values_of(history: History, named: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str | None], JudgedValues]:
    """The values that events name, by their digest and that of their contents. Runs on the same items share one list of ids."""
    wanted = {(str(one["values"]), one.get("contents")) for one in named}
    lists = _lists(history, {contents for _, contents in wanted if contents is not None})
    found: dict[str, tuple[Sequence[str], Sequence[float]]] = {}
    for some in chunks(sorted({values for values, _ in wanted})):
        rows = database_of(history).run(
            f'SELECT v."digest", v."items", l."n", l."ids", v."packing", v."scores" FROM {NIGHT_VALUES} v '
            f'JOIN {LISTS} l ON l."digest" = v."items" WHERE v."digest" IN ({", ".join("?" * len(some))})',
            some,
        )
        found |= {digest: (ids, array("d", values)) for digest, (ids, values) in unpack_rows(rows).items()}
    if lacking := sorted(values for values, contents in wanted if values not in found or (contents is not None and contents not in lists)):
        raise damaged(f"no values {lacking[0][:12]}")
    return {
        (values, contents): JudgedValues(
            ids=found[values][0], values=found[values][1], contents=None if contents is None else lists[contents]
        )
        for values, contents in wanted
    }


def check_series(name: Any) -> str:
    """The name of a series, or why it is none."""
    if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
        raise UsageError(
            f"The name of a series must be 1 to 200 printable characters, not {name!r}.",
            got=repr(name),
            need="a text of 1 to 200 printable characters",
        )
    return name


def _lists(history: History, digests: set[str]) -> dict[str, list[str | None]]:
    out: dict[str, list[str | None]] = {}
    for some in chunks(sorted(digests)):
        rows = database_of(history).run(f'SELECT "digest", "ids" FROM {LISTS} WHERE "digest" IN ({", ".join("?" * len(some))})', some)
        out |= {str(digest): unpack_list(data) for digest, data in rows}
    return out


def _event(row: Sequence[Any]) -> NightEvent:
    said = dict(zip(COLUMNS, row, strict=True))
    said["place"] = int(said["place"])
    try:
        said["facts"] = json.loads(said["facts"])
        said["decision"] = None if said["decision"] is None else json.loads(said["decision"])
    except ValueError as fault:
        raise damaged(str(fault)) from None
    return NightEvent(**said)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, allow_nan=False, sort_keys=True)


def _names() -> str:
    return ", ".join(f'"{name}"' for name in COLUMNS)
