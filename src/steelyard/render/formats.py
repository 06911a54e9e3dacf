"""The formats of `--format`, by name: the one place where a command finds them. Most write pages, and so know every kind of result.

What people read is made of steady numbers (`rounding`), so that every processor prints and draws the same; JSON keeps all digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steelyard.render.as_json import result_json
from steelyard.render.pages.registry import page_of
from steelyard.rounding import steadied


def result_text(result: Any, **options: Any) -> str:
    """Text for a terminal."""
    from steelyard.render.text import page_text

    return page_text(page_of(result), **options)


def result_markdown(result: Any, **options: Any) -> str:
    """Markdown for a page or a comment."""
    from steelyard.render.markdown import page_markdown

    return page_markdown(page_of(result), **options)


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
    from steelyard.render.html.page import report_html

    return report_html([result])


FORMATS: dict[str, Callable[..., str]] = {
    "text": result_text,
    "markdown": result_markdown,
    "json": result_json,
    "svg": result_svg,
    "junit": result_junit,
    "github": result_github,
    "html": result_html,
}
