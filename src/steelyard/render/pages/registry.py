"""The builder of every kind of result, by the name of its class: the one place where a page is found.

A builder takes a result and an `Extra` and gives a `Page`. It is named by its module and function, so that a page of one kind
loads nothing of the others; a function itself will do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from steelyard.errors import UsageError
from steelyard.render.digits import steadied
from steelyard.render.page import Page
from steelyard.results.base import Result

if TYPE_CHECKING:
    from steelyard.results.plan import Curve

Flips = tuple[Sequence[Mapping[str, Any]], str]  # items as `telling` has them, and a note


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """What a page may show beside the result: densities by the name of their row, and flipped items read from a file."""

    densities: Mapping[str, Curve]
    flips: Flips | None = None


NOTHING = Extra(densities={})
Builder = Callable[[Any, Extra], Page]
PAGES: dict[str, str | Builder] = {
    "Measurement": "measurement.measurement_page",
    "Comparison": "comparison.comparison_page",
    "Leaderboard": "leaderboard.leaderboard_page",
    "Plan": "plan.plan_page",
    "Verdict": "verdict.verdict_page",
    "Recorded": "verdict.recorded_page",
    "Suite": "suite.suite_page",
    "Evaluation": "run.evaluation_page",
    "DryRun": "run.dry_run_page",
    "Listing": "references.listing_page",
    "ReferenceDetail": "references.detail_page",
    "Lint": "references.lint_page",
    "ReferenceHistory": "references.history_page",
    "ReferenceChange": "references.change_page",
    "ProjectInit": "references.init_page",
    "RunList": "history.run_list_page",
    "Drift": "history.drift_page",
    "Certificate": "certificate.certificate_page",
}


def page_of(result: Any, extra: Extra = NOTHING) -> Page:
    """The page that a result becomes; its numbers are steady (`rounding`), so that every processor prints and draws the same."""
    name = type(result).__name__
    if name not in PAGES and not isinstance(result, Result):
        raise UsageError("cannot make a page", got=name, need=f"one of {', '.join(PAGES)}")
    return builder_of(name)(steadied(result), steadied(extra))


def headline_page(result: Result, _: Extra) -> Page:
    """The page of a kind that has none of its own: what it says in a few words."""
    word = result.KIND.replace("_", " ")
    return Page(word=word, about=result.headline, lead=result.headline, warnings=result.warnings, signature=result.signature)


def builder_of(kind: str) -> Builder:
    """The function that makes the page of a kind."""
    found = PAGES.get(kind, headline_page)
    if callable(found):
        return found
    module, _, function = found.partition(".")
    builder: Builder = getattr(import_module(f"steelyard.render.pages.{module}"), function)
    return builder
