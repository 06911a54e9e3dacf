"""Values as YAML that every reader takes for the same values: YAML 1.1 as Python reads it, 1.2 as the Hub does."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import DataError
from steelyard.render import safe

_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_/.-]*\Z")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))  # that YAML 1.1 takes for something else
_UNSEEN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def scalar(value: object) -> str:
    """One value. A text is quoted unless no reader could take it for anything else; a float always has its point.

    >>> [scalar(value) for value in ("accuracy", "no", "2026-01-31", "a: b", 1e-05, 4, True, None)]
    ['accuracy', '"no"', '"2026-01-31"', '"a: b"', '1.0e-05', '4', 'true', 'null']
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    text = safe.terminal(str(value))
    if _BARE.match(text) and text.lower() not in _WORDS:
        return text
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise DataError("cannot write a number in a card", got=repr(value), need="a finite number")
    head, e, power = repr(float(value)).partition("e")
    return f"{head}.0e{power}" if e and "." not in head else f"{head}{e}{power}"


def lines(value: Mapping[str, Any]) -> list[str]:
    """The lines of a mapping; lists of mappings and mappings inside, each as deep as it is. None is left out."""
    out: list[str] = []
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            out += [f"{key}:", *(f"  {line}" for line in lines(inner))]
        elif isinstance(inner, Sequence) and not isinstance(inner, str):
            out += [f"{key}:", *(line for item in inner for line in item_lines(item))]
        elif inner is not None:
            out.append(f"{key}: {scalar(inner)}")
    return out


def item_lines(value: Mapping[str, Any]) -> list[str]:
    """A mapping as an item of a list."""
    return [("  " if place else "- ") + line for place, line in enumerate(lines(value))]
