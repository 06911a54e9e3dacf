"""The formats of `--format`, by name: the one place where a command finds them. Each knows every kind of result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steelyard.render.as_json import result_json
from steelyard.results import Comparison, Leaderboard


def result_text(result: Any, **options: Any) -> str:
    """Text for a terminal."""
    if isinstance(result, Comparison):
        from steelyard.render.comparison import comparison_text

        return comparison_text(result, **options)
    if isinstance(result, Leaderboard):
        from steelyard.render.leaderboard import leaderboard_text

        return leaderboard_text(result, **options)
    from steelyard.render.text import measurement_text

    return measurement_text(result, **options)


def result_markdown(result: Any) -> str:
    """Markdown for a page or a comment."""
    if isinstance(result, Comparison):
        from steelyard.render.comparison import comparison_markdown

        return comparison_markdown(result)
    if isinstance(result, Leaderboard):
        from steelyard.render.leaderboard import leaderboard_markdown

        return leaderboard_markdown(result)
    from steelyard.render.markdown import measurement_markdown

    return measurement_markdown(result)


FORMATS: dict[str, Callable[..., str]] = {"text": result_text, "markdown": result_markdown, "json": result_json}
