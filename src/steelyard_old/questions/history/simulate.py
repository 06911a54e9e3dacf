"""What would the last nights have given? The stored nights of a suite, replayed with several budgets of false alarms."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.guard.suite_file import read_suite, waived_now
from steelyard_old.estimate.past.earlier_runs import PastTask, as_nights, earlier_runs, left_out, newest_kept, suite_task, task_alone, task_key
from steelyard_old.estimate.past.nights import NightBudget, Replayed, StoredNight, night_series, nights_of, replay
from steelyard_old.estimate.past_runs import opened
from steelyard_old.history.nights import ACCEPTED, FIXED
from steelyard_old.history.overview import MOST, SeriesLine, series_page
from steelyard_old.history.store import History
from steelyard_old.infer.nights.detector import alarm_line
from steelyard_old.infer.nights.watch import ASK_AGAIN, NightDecision
from steelyard_old.options.history import SIMULATE
from steelyard_old.options.option import documented, is_list, number, whole
from steelyard_old.reference.config import TIERS, Config, find_config
from steelyard_old.results import signature
from steelyard_old.results.nights import NOT_CLAIMED, BudgetOutcome, NightAcknowledgement, NightAlarm, NightSimulation, budget_text, claim_of

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
    suite: str | os.PathLike[str] | None = None,
    task: str | None = None,
    model: str | None = None,
    false_alarms: float | Sequence[float] | None = None,
    runs_per_year: float | None = None,
    target: str | None = None,
    nights: int | None = None,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
) -> NightSimulation:
    """What the stored nights of a suite give with other budgets of false alarms.

    Every night is judged again, in order, by what is stored of it. The first row has the nights as judged; each further one has its
    budget from the first night on. A regression stands until somebody acknowledges it: stored acknowledgements count where a
    regression then stands, and the nights until then are not judged. With a suite, task or model, the ordinary runs in the history are
    taken for nights, whether or not there ever was a budget; nobody has acknowledged anything then, so each regression is taken as
    accepted the night it is found, and every change alarms once.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> def rows(night):
    ...     return [{"id": i, "score": int((7 * i + night) % 10 > 0)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     url = f"sqlite:///{there}/runs.db"
    ...     done = sy.record(rows(0), task="gsm8k", model="m", directory=there)
    ...     for night in range(1, 13):
    ...         found = sy.check(rows(night % 3), task="gsm8k", model="m", directory=there, history=url)
    ...     found = simulate_nights(task="gsm8k", model="m", history=url, directory=there, runs_per_year=365)
    >>> found.conclusion.partition(": ")[2]
    'no alarm with a budget of 1 false alarm a year.'
    """
    asked = _budgets(false_alarms)
    most = None if nights is None else whole("nights", nights)
    if runs_per_year is not None:
        number("runs_per_year", runs_per_year, above=0)
    ordinary = suite is not None or task is not None or model is not None
    if ordinary and series is not None:
        raise UsageError(
            "A series has its own nights; a suite, task or model takes the ordinary runs for nights.",
            got="a series and a suite, task or model",
            need="one of the two",
        )
    if directory is not None and not ordinary:
        raise UsageError(
            "directory is about references, and the nights of a series have theirs stored.",
            got="directory without a suite, task or model",
            need="one of them",
            hint="leave it out",
        )
    warnings: list[str] = []
    store = opened(history, config)
    try:
        if ordinary:
            name, stored = _ordinary(store, suite, task, model, directory, config, target, warnings)
        else:
            name = _one_series(store, series)
            stored = nights_of(store, name)
        place = store.shown
    finally:
        if store is not history:
            store.close()
    if not any(one.night is not None for one in stored):
        what = f"The suite {name!r} has no stored runs that could be nights." if ordinary else f"The series {name!r} has no nights yet."
        raise DataError(what, got="no nights", need="at least one night")
    year = float(runs_per_year or [one for one in stored if one.night is not None][-1].budget.runs_per_year)
    if false_alarms is None:
        asked = [budget for budget in asked if budget <= year]  # a suite that runs ten times a year has no twelve alarms
    for budget in asked:
        alarm_line(budget, year)
    other: dict[str, Any] = {"runs_per_year": runs_per_year, "target": target, "known": {}, "accepted": ordinary}
    as_it_was = replay(stored, **other)
    last = as_it_was.nights[-1].budget.false_alarms_per_year
    if ordinary or (false_alarms is None and all(one.budget.false_alarms_per_year == last for one in as_it_was.nights)):
        asked = [budget for budget in asked if budget != last]  # it is the first row already
    budgets = [_outcome(as_it_was, last, year, most, as_judged=not ordinary and runs_per_year is None and target is None)]
    if ordinary and false_alarms is not None and last not in _budgets(false_alarms):
        budgets = []  # nobody has asked for it
    others = [replay(stored, false_alarms_per_year=budget, **other) for budget in asked]
    budgets += [_outcome(found, budget, year, most) for found, budget in zip(others, asked, strict=True)]
    shown = as_it_was.nights[-most:] if most is not None else as_it_was.nights
    first, claim = shown[0].place, claim_of(budgets[0].false_alarms_per_year)
    return NightSimulation(
        place=place,
        series=name,
        runs_per_year=year,
        nights=tuple(one.night.run for one in shown if one.night is not None),
        times=tuple(one.time for one in shown),
        earlier=len(as_it_was.nights) - len(shown),
        ordinary=ordinary,
        budgets=tuple(budgets),
        acknowledgements=tuple(_acknowledgement(one) for one in stored if one.kind in (ACCEPTED, FIXED) and one.place > first),
        claim=f"{claim[0].upper()}{claim[1:]}. {NOT_CLAIMED}",
        conclusion=_conclusion(name, shown, budgets[0], None if ordinary else _red_since(as_it_was)),
        warnings=(*warnings, *_doubts(as_it_was, shown)),
        signature=signature.write({"n": len(shown), "goal": "nights"}),
    )


# ---- ordinary runs ---------------------------------------------------------------------------------------------------------------


def _ordinary(
    store: History,
    suite: str | os.PathLike[str] | None,
    task: str | None,
    model: str | None,
    directory: str | os.PathLike[str] | None,
    config: str | os.PathLike[str] | None,
    target: str | None,
    warnings: list[str],
) -> tuple[str, list[StoredNight]]:
    """(a name, the stored runs of the tasks that are meant as nights)."""
    budget = NightBudget(target=target or "items", ask_again=ASK_AGAIN)
    where: dict[str, Any] = {"directory": directory, "config": config}
    if suite is None:
        name = " ".join(one for one in (task, model) if one is not None)
        asked = [(line.task, line.model, line.spec) for line in _every_series(store, task, model)]
    else:
        read = read_suite(suite, directory=directory, config=config, results=False)
        where, name = dict(read.where), read.name or read.file.name
        if read.budget is not None:
            own = read.budget
            budget = replace(budget, false_alarms_per_year=own.false_alarms_per_year, runs_per_year=own.runs_per_year)
        meant = [one for one in read.guards if TIERS[one.tier].fails and not waived_now(one)]
        asked = [(one.options["task"], one.options["model"], one.options.get("spec") or {}) for one in meant]
        asked = [(t, m, spec) for t, m, spec in asked if task in (None, t) and model in (None, m)]
    asked = list({task_key(t, m, spec): (t, m, spec) for t, m, spec in asked}.values())
    found = find_config(Path.cwd(), None if where["config"] is None else Path(where["config"]))
    tasks = [one for t, m, spec in asked if (one := _past_task(store, t, m, spec, found, where["directory"], warnings)) is not None]
    if not tasks:
        raise DataError(
            f"The history {store.shown} has no runs of {name!r} with their items.",
            got="no stored runs that could be nights",
            need="runs that were checked with a history",
            hint="sy.check_suite(file, history='sqlite:///runs.db') stores them",
        )
    for one in tasks:
        if many := left_out(store, one):
            said = f"{many:,} earlier run{'' if many == 1 else 's'}"
            warnings.append(f"{one.key}: {said} with another reference or protocol {'is' if many == 1 else 'are'} no part of the nights")
    return name, as_nights(earlier_runs(store, tasks), tasks, budget)


def _every_series(store: History, task: str | None, model: str | None) -> list[SeriesLine]:
    out: list[SeriesLine] = []
    while True:
        page, total = series_page(store, task=task, model=model, limit=MOST, skip=len(out), drawn=1)
        out += page
        if len(out) >= total or not page:
            return out


def _past_task(
    store: History,
    task: str,
    model: str,
    spec: Mapping[str, Any],
    config: Config,
    directory: str | os.PathLike[str] | None,
    warnings: list[str],
) -> PastTask | None:
    """The task as its newest stored run knows it: checked against what is on record, else against its own first run."""
    newest = newest_kept(store, task, model, spec)
    if newest is None:
        warnings.append(f"{task_key(task, model, spec)} has no stored runs with items, and is no part of the nights")
        return None
    one = suite_task(
        task,
        model,
        newest.spec,
        newest.metric,
        higher_is_better=newest.higher_is_better,
        config=config,
        directory=directory,
        reference=newest.reference,
        protocol=newest.protocol,
        n=newest.n,
    )
    if one is None:
        one = task_alone(newest)
        if one is None:
            warnings.append(f"{task_key(task, model, spec)}: {newest.metric} is not a mean over items, so the nights leave it out")
        else:
            warnings.append(
                f"{one.key}: its stored runs were checked against another reference than the one on record; the first run is used instead"
            )
    return one


def _budgets(asked: Any) -> list[float]:
    if asked is None:
        return list(BUDGETS)
    given = list(asked) if is_list(asked) else [asked]
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
        f"The history {store.shown} has no nights.",
        got="no nights",
        need="a suite that was checked with a budget and a history",
        hint="name a suite, task or model to take its ordinary runs for nights",
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
        alarms=tuple(_alarms(both, time)),
    )


def _alarms(nights: Sequence[tuple[StoredNight, NightDecision]], time: Mapping[str, str]) -> Iterator[NightAlarm]:
    """The nights that alarmed. What had only changed is asked about again on later nights: a regression found then is that alarm's."""
    for place, (one, decision) in enumerate(nights):
        if decision.alarm:
            until = next((at for at, (_, later) in enumerate(nights[place + 1 :], place + 1) if later.alarm), len(nights))
            after = (later for _, later in nights[place + 1 : until] if later.verdict == "regression")
            confirmed = None if decision.verdict == "regression" else next(after, None)
            told = confirmed or decision
            yield NightAlarm(
                night=decision.run,
                time=one.time,
                verdict=told.verdict,
                evidence=decision.evidence,
                since=decision.since,
                since_time=time.get(decision.since or ""),
                named=told.named,
                fell=tuple(f"{task}: {item}" for task, item in told.items),
                confirmed=None if confirmed is None else confirmed.run,
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
        f"{alarms}{parts} with a budget of {budget_text(now.false_alarms_per_year)}."
        + ("" if since is None else f" Red since {since[:10]}: nobody has acknowledged it.")
    )
