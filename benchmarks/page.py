"""How a run is told: a table for each part, every goal with what became of it, and the tables of README.md between their marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.causes import CAUSES
from benchmarks.goals import GOALS, Goal
from benchmarks.timing import Row, Unmeasured

README = Path(__file__).with_name("README.md")
NO_CAUSE = "no cause on record"


@dataclass(slots=True)
class Told:
    """What one part said: its rows, what it could not measure, a wrong answer if there was one, and the seconds it took."""

    part: str
    rows: list[Row] = field(default_factory=list)
    unmeasured: list[Unmeasured] = field(default_factory=list)
    wrong: str = ""
    seconds: float = 0.0


# ---- goals -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run says about one goal. Several rows are judged by the worst of them; met is None where nothing was judged."""

    goal: Goal
    met: bool | None
    value: float | None = None
    row: str = ""
    why: str = ""

    def __str__(self) -> str:
        reached = "" if self.value is None else self.goal.shown(self.value)
        verdict = "met   " if self.met else "MISSED"
        cause = "" if self.met else f"\n          {self.row}: {self.why}"
        return f"  {verdict}  {self.goal.key:<24} {self.goal.target:<12} {reached:<10} {self.goal.name}{cause}"


def outcomes(told: Iterable[Told]) -> Iterator[Outcome]:
    parts = {part.part: part for part in told}
    for goal in GOALS:
        yield _outcome(goal, parts.get(goal.part))


def _outcome(goal: Goal, part: Told | None) -> Outcome:
    if part is None:
        return Outcome(goal, None, why=f"the part {goal.part} was not run")
    judged = [row for row in part.rows if row.key == goal.key and row.value is not None]
    if judged:
        worst = (min if goal.sense == ">=" else max)(judged, key=lambda row: row.value or 0.0)
        met = bool(worst.reached)
        return Outcome(goal, met, worst.value, worst.what, "" if met else CAUSES.get(goal.key, NO_CAUSE))
    why = next((each.why for each in part.unmeasured if goal.key in each.keys), "")
    return Outcome(goal, None, why=why or (f"wrong: {part.wrong}" if part.wrong else f"NO ROW: the part {goal.part} ran and did not say"))


def goals_of(told: list[Told]) -> str:
    """Every goal by part, met or missed and why; then what was not measured in this run, by reason; and the sum of it."""
    found = list(outcomes(told))
    lines: list[str] = []
    for part in dict.fromkeys(each.goal.part for each in found if each.met is not None):
        lines.append(part)
        lines += [str(each) for each in found if each.goal.part == part and each.met is not None]
    for why in dict.fromkeys(each.why for each in found if each.met is None):
        left = [f"{each.goal.key} ({each.goal.target})" for each in found if each.met is None and each.why == why]
        lines.append(f"not measured, because {why}: {', '.join(left)}")
    count = {met: sum(each.met is met for each in found) for met in (True, False, None)}
    return "\n".join([*lines, f"{count[True]} goals met, {count[False]} missed, {count[None]} not measured in this run"])


# ---- tables ----------------------------------------------------------------------------------------------------------


def table(rows: Iterable[Row]) -> str:
    """Aligned columns, as GitHub's Markdown too."""
    head = ("what", "ours", "peer", "ratio: median [min..max]", "goal", "reached")
    said = {True: "yes", False: "**no**", None: ""}
    lines = [(row.what, row.ours, row.peer, row.ratio, row.goal.target if row.goal else "", said[row.reached]) for row in rows]
    width = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    rule = tuple("-" * w for w in width)
    return "\n".join("| " + " | ".join(cell.ljust(w) for cell, w in zip(line, width, strict=True)) + " |" for line in (head, rule, *lines))


def told_part(part: Told, facts: dict[str, Any]) -> str:
    """One part as it stands in the page: table, causes of what was missed, notes, what was not measured, machine."""
    missed = list(dict.fromkeys(row.key for row in part.rows if row.reached is False and row.key))
    causes = [f"- Missed, {key}: {CAUSES.get(key, NO_CAUSE)}." for key in missed]
    notes = list(dict.fromkeys(f"- {row.what}: {row.note}." for row in part.rows if row.note))
    absent = [f"- Not measured ({', '.join(each.keys)}): {each.why}." for each in part.unmeasured]
    blocks = (
        table(part.rows) if part.rows else "",
        "\n".join(causes),
        "\n".join(notes),
        "\n".join(absent),
        told_machine(facts, part.seconds),
    )
    return "\n\n".join(block for block in blocks if block)


def told_machine(facts: dict[str, Any], taken: float) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in facts["packages"].items())
    load = "unknown" if facts["load"] is None else " ".join(map(str, facts["load"]))
    quick = ", --quick" if facts["quick"] else ""
    return (
        f"{facts['date']}{quick}, {taken:,.0f} s. {facts['processor']}, {facts['cores']} cores, load before {load}. "
        f"Python {facts['python']}; {packages}."
    )


def marks(part: str) -> tuple[str, str]:
    return f"<!-- {part}: written by python -m benchmarks {part} --write -->", f"<!-- end of {part} -->"


def written(page: str, part: str, text: str) -> str:
    """The page with the table of one part replaced; every other part keeps its own, with its own date."""
    begin, end = marks(part)
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"no place for the part {part} in {README.name}: {begin} and {end} must stand there once")
    return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n\n{text}\n\n{end}", page, flags=re.DOTALL)
