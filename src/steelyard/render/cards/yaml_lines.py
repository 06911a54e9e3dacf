"""Values as lines of YAML in a card, texts as they can be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.render import safe
from steelyard.yaml_scalar import key_text, scalar_text


def scalar(value: object) -> str:
    """One value; what a terminal would obey is visible in a text.

    >>> [scalar(value) for value in ("accuracy", "no", "2026-01-31", "a: b", 1e-05, 4, True, None)]
    ['accuracy', '"no"', '"2026-01-31"', '"a: b"', '1.0e-05', '4', 'true', 'null']
    """
    return scalar_text(value if value is None or isinstance(value, bool | int | float) else safe.terminal(str(value)))


def lines(value: Mapping[str, Any]) -> list[str]:
    """The lines of a mapping; lists of mappings and mappings inside, each as deep as it is. None is left out."""
    out: list[str] = []
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            out += [f"{key_text(key)}:", *(f"  {line}" for line in lines(inner))]
        elif isinstance(inner, Sequence) and not isinstance(inner, str):
            out += [f"{key_text(key)}:", *(line for item in inner for line in item_lines(item))]
        elif inner is not None:
            out.append(f"{key_text(key)}: {scalar(inner)}")
    return out


def item_lines(value: Mapping[str, Any]) -> list[str]:
    """A mapping as an item of a list."""
    return [("  " if place else "- ") + line for place, line in enumerate(lines(value))]
