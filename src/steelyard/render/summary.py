"""The sentences around the table, the same in text and in Markdown: what was read, how sure, what to bear in mind.

Each function takes `name`, which makes a user's word harmless for the place where it will stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steelyard.render.digits import count_text, percent
from steelyard.results.measurement import Interval, Measurement, Row

Name = Callable[[str], str]
SIDES = {"two": "interval", "lower": "lower bound", "upper": "upper bound"}


def measured(m: Measurement, name: Name) -> str:
    """How many items, in how many groups, and which column was read as what."""
    what = f"{name(m.name)}: " if m.name else ""
    what += f"{count_text(m.n)} item{'' if m.n == 1 else 's'}"
    details: Mapping[str, Any] = next((row.details for row in m.rows if row.details), {})
    if isinstance(groups := details.get("groups"), int):
        what += f" in {count_text(groups)} groups"
    if isinstance(repeats := details.get("repeats"), int) and repeats > 1:
        what += f", {count_text(repeats)} repeats"
    roles = ", ".join(role if column == role else f"{role} = {name(column)}" for role, column in m.roles.items() if column != "(array)")
    return f"{what}; columns: {roles}" if roles else what


def design(rows: Sequence[Row]) -> str:
    """How much the groups or repeats cost, for the first row that knows."""
    for row in rows:
        effect = row.details.get("design_effect")
        if isinstance(effect, (int, float)) and not isinstance(effect, bool):
            worth = row.details.get("n_effective", row.details.get("effective_n"))
            answers = row.details.get("answers")
            alike = ""
            if isinstance(worth, (int, float)) and isinstance(answers, int):
                alike = f": {answers:,} answers are worth {worth:,.0f} independent ones"
            return f"design effect of {row.metric} {effect:.2f}{alike}"
    return ""


def interval_word(rows: Sequence[Row]) -> str:
    """The head of the interval column: with the level where all rows share it."""
    kinds = {(row.interval.confidence_level, row.interval.side) for row in rows if row.interval is not None}
    if len(kinds) != 1:
        return "interval"
    ((level, side),) = kinds
    return _kind(level, side)


def _kind(level: float, side: str) -> str:
    return f"{percent(level)} {SIDES[side]}"


def methods(rows: Sequence[Row], name: Name) -> str:
    """Level and method, once: for all rows, or each with the metrics it served."""
    shared = interval_word(rows)
    served: dict[str, list[Row]] = {}
    for row in rows:
        if row.interval is not None:
            served.setdefault(_how(row.interval, shared, name), []).append(row)
    if len(served) <= 1:
        return "".join(f"{shared}: {how}" for how in served)
    return f"{shared}: " + "; ".join(f"{how} for {', '.join(_who(some, rows, name))}" for how, some in served.items())


def _how(interval: Interval, shared: str, name: Name) -> str:
    own = _kind(interval.confidence_level, interval.side)
    return name(interval.method) if own == shared else f"{own} by {name(interval.method)}"


def _who(some: Sequence[Row], rows: Sequence[Row], name: Name) -> list[str]:
    """The metrics of these rows; a row by its full name where its metric was served in several ways."""
    mine = {id(row) for row in some}
    torn = {row.metric for row in rows if row.interval is not None and id(row) not in mine}
    return list(dict.fromkeys(name(row.name if row.metric in torn else row.metric) for row in some))


def all_rows(m: Measurement) -> list[Row]:
    """The rows of the whole and of its slices."""
    return [*m.rows, *(row for part in m.slices for row in part.measurement.rows)]


def lower_is_better(rows: Sequence[Row], name: Name) -> str:
    """Which numbers are good when small: nobody should have to remember it."""
    small = dict.fromkeys(row.metric for row in rows if not row.higher_is_better)
    return f"lower is better: {', '.join(map(name, small))}" if small else ""


def all_warnings(m: Measurement) -> list[str]:
    """The warnings, and those that only a slice has, with its name."""
    found = list(dict.fromkeys(m.warnings))
    for part in m.slices:
        found += [f"{part.by} = {part.value}: {w}" for w in dict.fromkeys(part.measurement.warnings) if w not in m.warnings]
    return found
