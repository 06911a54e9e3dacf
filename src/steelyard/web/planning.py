"""The plan calculator: the numbers of `plan detect` in a form whose address says it all."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from steelyard.errors import SteelyardError, UsageError
from steelyard.render.html.page import part_of
from steelyard.web.pages import asked, page

FIELDS = (
    ("theta", "Drop that matters (theta)", "0.01 is one point of a hundred"),
    ("n", "Items (n)", "empty: how many are needed"),
    ("discordance", "Items that differ when the drop is there (discordance)", "same items, right or wrong; 0.04 is four of a hundred"),
    ("churn", "Items that differ between two healthy runs (churn)", "instead of discordance"),
    ("sigma", "Deviation of one score (sigma)", "two separate samples; 0.5 is the worst case of right or wrong"),
    ("sd", "Deviation of the differences (sd)", "same items, scores"),
    ("alpha", "False alarms (alpha)", "0.05 unless said"),
    ("beta", "Misses (beta)", "0.2 unless said"),
    ("available", "Items there are at all", "says whether the drop is within reach"),
)
WHOLE = ("n", "available")
LARGEST = 10_000_000  # items: beyond it an exact answer takes longer than a page may


def plan(request: Request) -> Response:
    """The form, and the answer to what it asks."""
    given = {name: asked(request, name) for name, _, _ in FIELDS}
    goal = asked(request, "goal", "detect")
    part, fault = None, ""
    if any(given.values()):
        try:
            part = part_of(_planned(given, goal))
        except SteelyardError as mistake:
            fault = str(mistake)
    context = {"title": "Plan", "fields": FIELDS, "asked": given, "goal": goal, "part": part, "fault": fault}
    return page(request, "plan.html.j2", status=400 if fault else 200, **context)


def _planned(given: dict[str, str | None], goal: str | None) -> Any:
    from steelyard.questions.plan.detect import plan_detect

    numbers = {name: _number(name, text) for name, text in given.items() if text is not None}
    return plan_detect(**numbers, goal=goal or "detect")


def _number(name: str, text: str) -> Any:
    try:
        found = float(text.replace(",", "")) if name in WHOLE else float(text)
    except ValueError:
        raise UsageError(f"cannot use {name}", got=repr(text[:40]), need="a number") from None
    if name not in WHOLE:
        return found
    if not found.is_integer() or not 0 < found <= LARGEST:
        raise UsageError(f"cannot use {name}", got=repr(text[:40]), need=f"a whole number, 1 to {LARGEST:,}")
    return int(found)
