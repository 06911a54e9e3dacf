"""What the page of a suite says of its nights: the evidence, since when it is worse, what may be claimed; and the pages of a series."""

from __future__ import annotations

import shlex

from steelyard_old.render.page import Fact, FactList, Notes, Page, PageBlock, PageCase, Picture, Section
from steelyard_old.render.pages.nights import evidence_plane
from steelyard_old.results.history import Acknowledged
from steelyard_old.results.verdict import SuiteNights

NAMED = 5  # items by name
TONIGHT = "worse tonight by itself; the nights together decide"
FIRST_RUN = "worse tonight by itself; a second run the same night decides"
SECOND_RUN = "worse in the first run of the night, not in the second"
CHANGED = "worse on these very items, not shown for new items"
ACK = "steelyard history ack"


def weight_text(value: float) -> str:
    """Evidence, in as many digits as anybody reads.

    >>> weight_text(0.79712), weight_text(39495.2)
    ('0.797', '39,495')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def since_text(night: SuiteNights) -> str:
    """The day of the first run that is worse, with its name."""
    if night.since is None:
        return ""
    day, name = night.since.date, night.since.night
    return f"{day} ({name})" if day else name


def unconfirmed_text(night: SuiteNights) -> str:
    """Why a task that is worse tonight does not count as worse."""
    return TONIGHT if not night.confirm else SECOND_RUN if night.second else FIRST_RUN


def night_lines(night: SuiteNights) -> list[str]:
    """The night in a few lines, the claim last."""
    runs = f"{night.baseline:,} run{'' if night.baseline == 1 else 's'}"
    held = f", compared with {runs}" if night.baseline and not night.unacknowledged else ""
    alarms = f"{night.false_alarms_per_year:g} false alarm{'' if night.false_alarms_per_year == 1 else 's'}"
    line = f"alarm at {weight_text(night.line)} ({night.runs_per_year:g} runs and {alarms} a year)"
    weighed = "two runs of one night decide (confirm)" if night.confirm else f"evidence {weight_text(night.evidence)}, {line}"
    out = [f"nights of {night.series}: night {night.nights:,} ({night.night}){held}; {weighed}"]
    if night.since is not None:
        out.append(f"worse since {since_text(night)}: {', '.join(night.named[:NAMED]) or 'no single task is significant'}")
    if night.fell:
        fell = [f"{one.item} of {one.task}" for one in night.fell[:NAMED]]
        out.append(f"fell most: {', '.join(fell)}")
    if night.verdict == "regression" and night.acknowledged is None:
        out.append(f"red until acknowledged: {ACK} --series {shlex.quote(night.series)} --fixed (or --accept) --reason ...")
    return [*out, f"claimed: {night.claim}"]


def night_picture(night: SuiteNights) -> list[PageBlock]:
    """The evidence over the nights with its alarm line; of two nights at least, and not where two runs of one night decide."""
    if night.confirm or len(night.course) < 2:
        return []
    drawing = evidence_plane(
        night.series,
        [(one.time, one.evidence) for one in night.course],
        alarms=[(one.time, one.evidence or 0.0, one.verdict) for one in night.course if one.alarm],
        line=night.line,
    )
    return [] if drawing is None else [Picture(drawing=drawing)]


def night_case(night: SuiteNights, conclusion: str) -> PageCase:
    """The night for programs: a regression that names no task must fail all the same."""
    red = night.verdict == "regression"
    outcome = "failure" if red else "inconclusive" if night.again else "passed"
    lines = [conclusion, *night_lines(night)]
    facts = {
        "verdict": night.verdict,
        "evidence": night.evidence,
        "line": night.line,
        "alarm": night.alarm,
        "since": since_text(night),
        "nights": night.nights,
        "false_alarms_per_year": night.false_alarms_per_year,
        "runs_per_year": night.runs_per_year,
    }
    return PageCase(
        group="nights",
        name=night.series,
        word=night.verdict,
        outcome=outcome,
        message=conclusion,
        remedy=lines,
        title=f"{night.verdict}: nights of {night.series}",
        lines=lines,
        facts=facts,
        clean=outcome == "passed" and night.verdict == "pass",
        page=lambda: Page(
            word=night.verdict,
            about=f"nights of {night.series}",
            lead=conclusion,
            sections=[Section(title="Nights", blocks=[Notes(pairs=[("", line) for line in night_lines(night)])])],
        ),
    )


def acknowledged_page(a: Acknowledged, _: object) -> Page:
    """What was acknowledged, by whom and why."""
    since = f"{a.since.date} ({a.since.night})" if a.since.date else a.since.night
    facts: list[Fact] = [
        ("Worse since", since, ""),
        ("Nights it lasted", f"{a.nights:,}", ""),
        ("Tasks", ", ".join(a.named) or "none", ""),
        ("By", a.by or "unknown", ""),
        ("Reason", a.reason, ""),
    ]
    word = "accepted" if a.how == "accept" else "fixed"
    notes = [(label.lower(), said) for label, said, _ in facts]
    return Page(
        word=word,
        about=f"nights of {a.series}, {a.place}",
        lead=a.conclusion,
        sections=[Section(title="The regression", blocks=[FactList(caption="What was acknowledged", groups=[facts])])],
        warnings=a.warnings,
        methods=notes,
        signature=a.signature,
        title=f"{word.upper()}: nights of {a.series}",
        headed=True,
    )
