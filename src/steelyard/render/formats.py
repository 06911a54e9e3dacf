"""The formats of `--format`, by name: the one place where a command finds them. Each knows every kind of result.

A kind of result is looked up by its name, so that writing one loads the others' pages as little as their types. What people
read is made of steady numbers (`rounding`), so that every processor prints and draws the same; JSON keeps all digits.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from steelyard.render.as_json import result_json
from steelyard.rounding import steadied

# The module of a kind of result, and how its functions begin: `plan_text`, `plan_markdown`.
PAGES = {
    "Measurement": ("text", "measurement"),
    "Comparison": ("comparison", "comparison"),
    "Leaderboard": ("leaderboard", "leaderboard"),
    "Plan": ("plan", "plan"),
    "Verdict": ("verdict", "verdict"),
    "Recorded": ("verdict", "recorded"),
    "Suite": ("suite", "suite"),
    "Evaluation": ("run", "run"),
    "DryRun": ("run", "dry_run"),
    "Listing": ("listings", "listing"),
    "Lint": ("listings", "lint"),
    "ReferenceHistory": ("listings", "story"),
    "ReferenceDetail": ("listings", "shown"),
    "ReferenceChange": ("listings", "changed"),
    "ProjectInit": ("listings", "started"),
    "RunList": ("history", "history"),
    "Drift": ("history", "drift"),
    "Certificate": ("certificate", "certificate"),
}


def result_text(result: Any, **options: Any) -> str:
    """Text for a terminal. A kind without a page of its own says its headline, its warnings and its signature."""
    if type(result).__name__ not in PAGES:
        return "\n".join([result.headline, *(f"warning: {sentence}" for sentence in result.warnings), result.signature])
    module, name = PAGES[type(result).__name__]
    return str(getattr(import_module(f"steelyard.render.{module}"), f"{name}_text")(steadied(result), **options))


def result_markdown(result: Any) -> str:
    """Markdown for a page or a comment."""
    module, name = PAGES[type(result).__name__]
    module = "markdown" if module == "text" else module
    return str(getattr(import_module(f"steelyard.render.{module}"), f"{name}_markdown")(steadied(result)))


def result_svg(result: Any) -> str:
    """The curve of a plan as a picture."""
    from steelyard.render.pictures.plane import plan_svg

    return plan_svg(steadied(result))


def result_junit(result: Any) -> str:
    """Verdicts as test cases."""
    from steelyard.render.junit import verdict_junit

    return verdict_junit(steadied(result))


def result_github(result: Any) -> str:
    """Verdicts as annotations of a workflow."""
    from steelyard.render.github import verdict_github

    return verdict_github(steadied(result))


def result_html(result: Any) -> str:
    """A page of its own."""
    from steelyard.render.html.page import result_html as page

    return page(result)


FORMATS: dict[str, Callable[..., str]] = {
    "text": result_text,
    "markdown": result_markdown,
    "json": result_json,
    "svg": result_svg,
    "junit": result_junit,
    "github": result_github,
    "html": result_html,
}
