"""The page of nights: the evidence over time with its alarm line, the alarms, and what other budgets would have given."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard_old.render.curve_text import Place, log_scale
from steelyard_old.render.digits import NONE
from steelyard_old.render.listing_cells import moment
from steelyard_old.render.page import Notes, Page, PageBlock, PageTable, Picture, Section, filled
from steelyard_old.render.pictures.plane import Line, Plane
from steelyard_old.render.pictures.time_scale import seconds, time_scale
from steelyard_old.results.nights import BudgetOutcome, NightAlarm, NightSimulation

BUDGET_HEADS = ("budget", "alarm line", "nights", "alarms", "regression", "changed", "unacknowledged", "first alarm", "tasks")
BUDGET_NUMBERS = (1, 2, 3, 4, 5, 6)
ALARM_HEADS = ("night (UTC)", "budget", "verdict", "evidence", "since", "tasks", "fell most")
ACK_HEADS = ("time (UTC)", "acknowledged as", "by", "reason")
MANY = 1e7  # evidence from here on as 2e7
LOWEST = 0.1  # evidence that is drawn at the bottom
ABOVE = 10.0  # times the line that the drawing goes up to: evidence beyond it is drawn at its top
NAMED, FELL = 3, 3  # tasks and items that a row names


def nights_page(r: NightSimulation, _: object) -> Page:
    """What was found, the budgets side by side, the evidence over time, every alarm."""
    alarms = [(budget, alarm) for budget in r.budgets for alarm in budget.alarms]
    now = r.budgets[0]
    return Page(
        word="nights",
        about=f"{r.series}, {r.place}",
        tone="regression" if now.red_nights and now.evidence[-1] is None else "plain",
        lead=r.conclusion,
        sections=filled(
            Section(title="Evidence over time", blocks=_drawn(r)),
            Section(title="Budgets", blocks=[_budgets(r)]),
            Section(title="Alarms", blocks=[_alarms(alarms)] if alarms else []),
            Section(title="Acknowledgements", blocks=[_acknowledged(r)] if r.acknowledgements else []),
            Section(title="What is claimed", blocks=[Notes(pairs=[("claim", r.claim), ("line", _alarm_line_sentence(r)), *_ordinary(r)])]),
        ),
        warnings=r.warnings,
        signature=r.signature,
        title=f"Nights of {r.series}",
        headed=True,
    )


def _alarm_line_sentence(r: NightSimulation) -> str:
    return (
        f"a night alarms when the evidence reaches {r.budgets[0].line:,.6g}: runs a year ({r.runs_per_year:g}) over false alarms a year; "
        "then it starts again at 0"
    )


def _ordinary(r: NightSimulation) -> list[tuple[str, str]]:
    if not r.ordinary:
        return []
    said = (
        "No budget has judged these runs: every complete run in the history is taken for a night, and each regression as accepted at once."
    )
    return [("runs", said)]


def _budgets(r: NightSimulation) -> PageTable:
    def row(one: BudgetOutcome) -> list[str]:
        first = one.alarms[0] if one.alarms else None
        named = NONE if first is None else ", ".join(first.named[:NAMED]) or "none"
        said = f"{one.false_alarms_per_year:g}" + (" (as judged)" if one.as_judged else "")
        when = NONE if first is None else first.time[:10]
        counts = (len(one.evidence), len(one.alarms), one.regressions, one.changes, one.red_nights)
        return [said, f"{one.line:,.6g}", *(f"{many:,}" for many in counts), when, named]

    return PageTable(
        heads=BUDGET_HEADS,
        rows=[row(one) for one in r.budgets],
        numbers=BUDGET_NUMBERS,
        columns="dated",
        label="each budget, in false alarms a year",
    )


def _alarms(alarms: Sequence[tuple[BudgetOutcome, NightAlarm]]) -> PageTable:
    def row(budget: BudgetOutcome, one: NightAlarm) -> list[str]:
        said = f"{budget.false_alarms_per_year:g}" + (" (as judged)" if budget.as_judged else "")
        since = NONE if one.since is None else (one.since_time or one.since)[:10]
        named = ", ".join(one.named[:NAMED]) + (f" and {len(one.named) - NAMED} more" if len(one.named) > NAMED else "")
        verdict = one.verdict if one.confirmed is None else f"changed, then {one.verdict}"
        return [moment(one.time), said, verdict, _evidence(one.evidence), since, named or "none", ", ".join(one.fell[:FELL]) or NONE]

    rows = [row(budget, alarm) for budget, alarm in alarms]
    return PageTable(heads=ALARM_HEADS, rows=rows, numbers=(3,), columns="given", cut=(6, 5), label="every alarm")


def _acknowledged(r: NightSimulation) -> PageTable:
    rows = [[moment(one.time), one.how, one.by or NONE, one.reason or NONE] for one in r.acknowledgements]
    return PageTable(heads=ACK_HEADS, rows=rows, columns="given", cut=(3,), label="acknowledgements")


def _evidence(x: float) -> str:
    return f"{x:,.0f}" if 1000 <= x < MANY else f"{x:.4g}"


def _drawn(r: NightSimulation) -> list[PageBlock]:
    drawing = nights_plane(r)
    return [] if drawing is None else [Picture(drawing=drawing)]


def nights_plane(r: NightSimulation) -> Plane | None:
    """The evidence of every night as it was judged, and the line from which it alarms."""
    now = r.budgets[0]
    alarms = [(one.time, one.evidence, one.verdict) for one in now.alarms]
    return evidence_plane(
        r.series,
        list(zip(r.times, now.evidence, strict=True)),
        alarms=alarms,
        line=now.line,
        acknowledged=[one.time for one in r.acknowledgements],
    )


def evidence_plane(
    series: str,
    nights: Sequence[tuple[str, float | None]],
    *,
    alarms: Sequence[tuple[str, float, str]],
    line: float,
    acknowledged: Sequence[str] = (),
) -> Plane | None:
    """Evidence over time with its alarm line. nights: (time, evidence), None for red ones. alarms: (time, evidence, verdict)."""
    at = [seconds(time) for time, _ in nights]
    evidence = [e for _, e in nights]
    stretches: list[list[Place]] = [[]]  # of nights that were judged, with red ones between them
    for x, e in zip(at, evidence, strict=True):
        if e is not None:
            stretches[-1].append((x, max(LOWEST, e)))
        elif stretches[-1]:
            stretches.append([])
    judged = [Line(name="evidence of the whole suite", places=places, dots=len(places) == 1) for places in stretches if places]
    if not judged:
        return None
    red = [(x, LOWEST) for x, e in zip(at, evidence, strict=True) if e is None]
    marks = [
        Line(name=name, shape=shape, places=[(seconds(time), max(LOWEST, e)) for time, e, word in alarms if word == verdict])
        for name, shape, verdict in (("alarm: regression", "cross", "regression"), ("alarm: changed", "triangle", "changed"))
    ]
    marks.append(Line(name="red: a regression that nobody has acknowledged; not judged", shape="tick", places=red))
    marks.append(Line(name="acknowledged", shape="square", places=[(seconds(time), LOWEST) for time in acknowledged]))
    return Plane(
        title=f"Evidence of a change in {series}, night by night",
        x_name="time (UTC)",
        y_name="evidence (logarithmic)",
        x=time_scale([*at, *map(seconds, acknowledged)]),
        y=log_scale(LOWEST, line * ABOVE, 6),
        lines=[*judged, *(each for each in marks if each.places)],
        goal=line,
        goal_name="alarm line",
        x_is_time=True,
    )
