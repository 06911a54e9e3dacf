"""What would the last nights have given? The stored nights of a suite, replayed with several budgets of false alarms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from steelyard.declared.history import SIMULATE
from steelyard.errors import DataError, UsageError
from steelyard.estimate.past.nights import Replayed, StoredNight, night_series, nights_of, replay
from steelyard.estimate.past_runs import opened
from steelyard.history.nights import ACCEPTED, FIXED
from steelyard.history.store import History
from steelyard.infer.nights.detector import alarm_line
from steelyard.options import documented, number, whole
from steelyard.results import signature
from steelyard.results.nights import NOT_CLAIMED, BudgetOutcome, NightAcknowledgement, NightAlarm, NightSimulation, claim_of, said_budget

BUDGETS = (0.1, 1.0, 4.0, 12.0)  # false alarms a year that are tried where nobody says which


@documented(
    SIMULATE,
    "a NightSimulation",
    history="A URL, or what `open_history` gave. Default: what steelyard.toml says.",
)
def simulate_nights(
    history: str | History | None = None,
    *,
    series: str | None = None,
    false_alarms: float | Sequence[float] | None = None,
    runs_per_year: float | None = None,
    target: str | None = None,
    nights: int | None = None,
    config: str | os.PathLike[str] | None = None,
) -> NightSimulation:
    """What the stored nights of a suite give with other budgets of false alarms.

    Every night is judged again, in order, by what is stored of it. The first row is as it was judged; each further one has its
    budget from the first night on. A regression stands until somebody acknowledges it: stored acknowledgements count where a
    regression then stands, and the nights until then are not judged.
    """
    asked = _budgets(false_alarms)
    most = None if nights is None else whole("nights", nights)
    if runs_per_year is not None:
        number("runs_per_year", runs_per_year, above=0)
    store = opened(history, config)
    try:
        name = _one_series(store, series)
        stored = nights_of(store, name)
        place = store.shown
    finally:
        if store is not history:
            store.close()
    if not any(one.night is not None for one in stored):
        raise DataError(f"The series {name!r} has a reference, but no nights yet.", got="no nights", need="at least one night")
    year = float(runs_per_year or [one for one in stored if one.night is not None][-1].budget.runs_per_year)
    for budget in asked:
        alarm_line(budget, year)
    other: dict[str, Any] = {"runs_per_year": runs_per_year, "target": target, "known": {}}
    as_it_was = replay(stored, **other)
    last = as_it_was.nights[-1].budget.false_alarms_per_year
    if false_alarms is None and all(one.budget.false_alarms_per_year == last for one in as_it_was.nights):
        asked = [budget for budget in asked if budget != last]  # it is the first row already
    budgets = [_outcome(as_it_was, last, year, most, as_judged=runs_per_year is None and target is None)]
    budgets += [_outcome(replay(stored, false_alarms_per_year=budget, **other), budget, year, most) for budget in asked]
    shown = as_it_was.nights[-most:] if most is not None else as_it_was.nights
    first, claim = shown[0].place, claim_of(last)
    return NightSimulation(
        place=place,
        series=name,
        runs_per_year=year,
        nights=tuple(one.night.run for one in shown if one.night is not None),
        times=tuple(one.time for one in shown),
        earlier=len(as_it_was.nights) - len(shown),
        budgets=tuple(budgets),
        acknowledgements=tuple(_acknowledgement(one) for one in stored if one.kind in (ACCEPTED, FIXED) and one.place > first),
        claim=f"{claim[0].upper()}{claim[1:]}. {NOT_CLAIMED}",
        conclusion=_conclusion(name, shown, budgets[0], _red_since(as_it_was)),
        warnings=tuple(_doubts(as_it_was, shown)),
        signature=signature.write({"n": len(shown), "goal": "nights"}),
    )


def _budgets(asked: Any) -> list[float]:
    if asked is None:
        return list(BUDGETS)
    given = [asked] if isinstance(asked, int | float) else list(asked)
    return list(dict.fromkeys(number("false_alarms", one, above=0) for one in given))


def _one_series(store: History, series: str | None) -> str:
    if series is not None:
        return series
    known = night_series(store)
    if len(known) == 1:
        return known[0]
    if known:
        raise UsageError(
            f"The history has {len(known)} series of nights: {', '.join(known[:5])}.",
            got=f"{len(known)} series",
            need="one of them",
            hint=f"series={known[0]!r}",
        )
    raise DataError(
        f"The history {store.shown} has no nights.", got="no nights", need="a suite that was checked with a budget and a history"
    )


def _outcome(found: Replayed, budget: float, year: float, most: int | None, *, as_judged: bool = False) -> BudgetOutcome:
    """What came of the last nights."""
    both = list(zip(found.nights, found.decisions, strict=True))
    time = {one.night.run: one.time for one in found.nights if one.night is not None}
    both = both[-most:] if most is not None else both
    return BudgetOutcome(
        false_alarms_per_year=budget,
        line=alarm_line(budget, year),
        as_judged=as_judged,
        red_nights=sum(decision.unacknowledged for _, decision in both),
        evidence=tuple(None if decision.unacknowledged else decision.evidence for _, decision in both),
        alarms=tuple(
            NightAlarm(
                night=decision.run,
                time=one.time,
                verdict=decision.verdict,
                evidence=decision.evidence,
                since=decision.since,
                since_time=time.get(decision.since or ""),
                named=decision.named,
                fell=tuple(f"{task}: {item}" for task, item in decision.items),
            )
            for one, decision in both
            if decision.alarm
        ),
    )


def _acknowledgement(one: StoredNight) -> NightAcknowledgement:
    return NightAcknowledgement(time=one.time, how=one.kind, by=one.by, reason=one.reason)


def _doubts(found: Replayed, shown: Sequence[StoredNight]) -> list[str]:
    out = []
    if found.watch.nights_alike:
        out.append(
            f"consecutive nights are alike (correlation {found.watch.night_correlation():.2f}): noise that lasts for several nights "
            "alarms more often than the budget says"
        )
    if any(one.budget.confirm for one in shown):
        out.append("some nights asked red tasks again the same night (confirm); here all are judged by the evidence that adds up")
    return out


def _red_since(found: Replayed) -> str | None:
    """When the regression began that stands now; None where none does."""
    if not found.watch.red:
        return None
    first = found.watch.runs[found.watch.since[0]][0]
    return next((one.time for one in found.nights if one.night is not None and one.night.run == first), first)


def _conclusion(name: str, shown: Sequence[StoredNight], now: BudgetOutcome, since: str | None) -> str:
    many = len(now.alarms)
    alarms = "no alarm" if not many else f"{many} alarm{'' if many == 1 else 's'}"
    parts = f" ({now.regressions} regression{'' if now.regressions == 1 else 's'}, {now.changes} changed)" if many else ""
    return (
        f"{len(shown):,} night{'' if len(shown) == 1 else 's'} of {name}, {shown[0].time[:10]} to {shown[-1].time[:10]}: "
        f"{alarms}{parts} with a budget of {said_budget(now.false_alarms_per_year)}."
        + ("" if since is None else f" Red since {since[:10]}: nobody has acknowledged it.")
    )
