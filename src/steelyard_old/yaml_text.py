"""Values, keys and mappings as YAML that every reader takes for the same: PyYAML and other readers of 1.1, readers of 1.2, our own."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import UsageError
from steelyard_old.late_pattern import late_pattern

# Not in a text at all, not even by an escape in double quotes: control characters, halves of characters.
UNPRINTABLE = late_pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# One safe character after another; a space or colons only in front of one, so never ": ", " #" or a trailing space.
_SAFE = late_pattern(r"[\w/](?:(?: |:+)?[\w/.+@=();,~%^-])*\Z")
# What YAML 1.1 or 1.2 takes for a truth value or for nothing.
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
# What begins with a digit and may be a number (of base 2, 8, 10, 16 or 60), a date or a time for some reader.
_NUMERIC = late_pattern(r"[0-9][0-9_.:]*(?:[eE][-+]?[0-9_]*)?\Z|0[xXoObB][0-9a-fA-F_]*\Z|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_UNSEEN = late_pattern("[\u2028\u2029\ufeff]")  # may be in a text, but not in the file as it stands
_KEY_LIMIT = 1000  # YAML has no longer keys on one line


def scalar_text(value: object) -> str:
    """One value. A text is quoted unless no reader can take it for anything else; a float always has its point.

    >>> [scalar_text(value) for value in ("FP8", "no", "012", "2026-01-31", "a: b", 74.2, 1e-05, 4, True, None)]
    ['FP8', '"no"', '"012"', '"2026-01-31"', '"a: b"', '74.2', '1.0e-05', '4', 'true', 'null']
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return _text(value)
    raise UsageError(
        f"A value must be a text, a number, true, false or null, not {type(value).__name__}.",
        got=type(value).__name__,
        need="a text, a number, true, false or null",
    )


def key_text(key: str) -> str:
    """A key: a text on one line, and not too long for one."""
    text = _text(key)
    if len(text) > _KEY_LIMIT:
        raise UsageError(
            f"A name has at most {_KEY_LIMIT}, not {len(text)} characters.", got=f"{len(text)} characters", need=f"at most {_KEY_LIMIT}"
        )
    return text


def mapping_lines(values: Mapping[str, Any]) -> list[str]:
    """The lines of a mapping without indentation; mappings and lists of mappings inside are as deep as they are.

    >>> mapping_lines({"name": "no", "runs": [{"seed": 1, "date": "2026-01-31"}]})
    ['name: "no"', 'runs:', '- seed: 1', '  date: "2026-01-31"']
    """
    return [line for key, value in values.items() for line in pair_lines(key, value)]


def pair_lines(key: str, value: object) -> list[str]:
    """One key and its value: a line, or several for a mapping or a list of mappings."""
    if isinstance(value, Mapping):
        return [f"{key_text(key)}:", *(f"  {line}" for line in mapping_lines(value))]
    if isinstance(value, Sequence) and value and all(isinstance(item, Mapping) for item in value):
        return [f"{key_text(key)}:", *(line for item in value for line in item_lines(item))]
    return [f"{key_text(key)}: {scalar_text(value)}"]


def item_lines(values: Mapping[str, Any]) -> list[str]:
    """A mapping as an item of a list."""
    return [("  " if place else "- ") + line for place, line in enumerate(mapping_lines(values))]


def _number(value: float) -> str:
    """The shortest digits that are this number; `1e-05` without a point would be a text for YAML 1.1."""
    if not math.isfinite(value):
        raise UsageError(f"A number must be finite, not {value!r}.", got=repr(value), need="a finite number")
    head, e, power = repr(float(value)).partition("e")  # NumPy's own would come out as np.float64(...)
    return f"{head}.0e{power}" if e and "." not in head else f"{head}{e}{power}"


def _text(text: str) -> str:
    bad = UNPRINTABLE.search(text)
    if bad:
        raise UsageError(
            f"The text {text[:40]!r} has a control character, U+{ord(bad[0]):04X}.",
            got=f"the character U+{ord(bad[0]):04X}",
            need="text without control characters",
        )
    if _SAFE.match(text) and text.lower() not in _WORDS and not _NUMERIC.match(text):
        return text
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
