"""Mappings as lines of a task file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.yaml_scalar import key_text, scalar_text


def mapping_lines(values: Mapping[str, Any]) -> list[str]:
    """The lines of a mapping without indentation; a mapping inside is indented by two."""
    lines = []
    for key, value in values.items():
        lines += pair_lines(key, value)
    return lines


def pair_lines(key: str, value: object) -> list[str]:
    """One key and its value: a line, or several for a mapping inside."""
    if isinstance(value, Mapping):
        return [f"{key_text(key)}:", *(f"  {line}" for line in mapping_lines(value))]
    return [f"{key_text(key)}: {scalar_text(value)}"]
