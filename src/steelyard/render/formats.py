"""The formats of `--format`, by name: the one place where a command finds them."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.render.as_json import result_json
from steelyard.render.markdown import measurement_markdown
from steelyard.render.text import measurement_text

FORMATS: dict[str, Callable[..., str]] = {"text": measurement_text, "markdown": measurement_markdown, "json": result_json}
