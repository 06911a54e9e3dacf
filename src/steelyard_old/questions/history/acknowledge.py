"""A regression that stands is acknowledged: as intended, or as fixed. Nothing else ends it but a new reference."""

from __future__ import annotations

import os

from steelyard_old.errors import DataError, SourceError, UsageError
from steelyard_old.estimate.past.nights import refuse_unknown, state_as_kept, watch_of
from steelyard_old.estimate.past_runs import opened
from steelyard_old.history.nights import ACCEPTED, FIXED, NightEvent, PlaceTakenError, add_events, series_names
from steelyard_old.history.store import History
from steelyard_old.infer.nights.watch import RULES
from steelyard_old.options.history import ACK
from steelyard_old.options.option import documented
from steelyard_old.reference.changes import who
from steelyard_old.results import signature
from steelyard_old.results.history import Acknowledged
from steelyard_old.results.nights import SinceNight

TRIES = 50  # how often to look again when nights are added meanwhile
DONE = {
    ACCEPTED: "Accepted: nights of {series} are compared with those since {since} from now on.",
    FIXED: "Fixed: nights of {series} are compared with those before {since} again.",
}
NOT_SEEN = " No night since then; still compared with their earlier nights: {tasks}."


@documented(
    ACK,
    "an Acknowledged",
    history="A URL such as sqlite:///runs.db, or what `open_history` gave. Default: what steelyard.toml says.",
)
def acknowledge(
    series: str | None = None,
    *,
    accept: bool = False,
    fixed: bool = False,
    reason: str | None = None,
    history: str | History | None = None,
    config: str | os.PathLike[str] | None = None,
) -> Acknowledged:
    """Acknowledge the regression that stands in a series of nights, with a reason. Until then every night is red.

    accept: the change is intended, and the baseline begins at it; a task that has not run since keeps the one it had. fixed: the cause
    is gone, and the baseline is the one before this change again. A reference that is recorded again (`record --update`) starts the
    series anew and needs no acknowledgement.
    """
    if accept == fixed:
        raise UsageError(
            "Say whether the regression is accepted or fixed, one of the two.",
            got="both" if accept else "neither",
            need="one of accept and fixed",
            hint="accept=True if it is intended, fixed=True if its cause is gone",
        )
    if reason is None or not reason.strip():
        raise UsageError("An acknowledgement needs a reason.", got="no reason", need="a sentence", hint="reason=...")
    store = opened(history, config)
    try:
        name = _only_series(store) if series is None else series
        for _ in range(TRIES):
            try:
                return _acknowledged(store, name, ACCEPTED if accept else FIXED, " ".join(reason.split()))
            except PlaceTakenError:
                continue
        raise SourceError(
            f"The series {name!r} is busy: nights were added at each of {TRIES} tries.",
            got="other writers",
            need="a moment without them",
            hint="try again",
        )
    finally:
        if store is not history:
            store.close()


def _only_series(store: History) -> str:
    known = series_names(store)
    if len(known) != 1:
        raise DataError(
            f"The history {store.shown} has {len(known) or 'no'} series of nights.",
            got=", ".join(known) or "no series",
            need="the name of one",
            hint=f"series={known[0]!r}" if known else "check a suite that has a budget first: sy.check_suite(file)",
        )
    return known[0]


def _acknowledged(store: History, series: str, how: str, reason: str) -> Acknowledged:
    watch, events = watch_of(store, series)
    if watch is None:
        refuse_unknown(store, series)
    assert watch is not None
    if not watch.red:
        raise UsageError(
            f"No regression stands in the series {series!r}, so there is nothing to acknowledge.",
            got="no regression",
            need="a regression that stands",
        )
    first = watch.runs[watch.since[0]][0]
    day = next((event.time[:10] for event in events if event.night == first), None)
    stood, named, unseen = len(watch.since), watch.named, watch.not_run_since
    watch.rules = RULES
    (watch.accept if how == ACCEPTED else watch.fixed)()
    by = who()
    event = NightEvent(series=series, place=events[-1].place + 1, kind=how, facts={"reason": reason, "since": first, "rules": RULES}, by=by)
    add_events(store, [event], state=state_as_kept(watch))
    conclusion = DONE[how].format(series=series, since=day or first)
    return Acknowledged(
        place=store.shown,
        series=series,
        how=how,
        reason=reason,
        since=SinceNight(night=first, date=day),
        nights=stood,
        named=named,
        by=by,
        conclusion=conclusion + (NOT_SEEN.format(tasks=", ".join(unseen)) if unseen and how == ACCEPTED else ""),
        signature=signature.write({"goal": "acknowledge", "series": series, "how": how}),
    )
