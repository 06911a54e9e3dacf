"""Values as YAML text that our own reader reads back as the same values: floats exactly, texts quoted where they must be."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from steelyard.errors import UsageError
from steelyard.reference.strict_yaml import UNSPEAKABLE, typed

# One safe character after another; a space or colons only in front of one, so never ": ", " #" or a trailing space.
_SAFE = re.compile(r"[\w/](?:(?: |:+)?[\w/.+@=();,~%^-])*\Z")
_UNSEEN = re.compile("[\u2028\u2029\ufeff]")  # may be in a text, but not in the file as it stands
_KEY_LIMIT = 1000  # YAML has no longer keys on one line


def scalar_text(value: object) -> str:
    """One scalar.

    >>> [scalar_text(value) for value in ("FP8", "no", "012", "a: b", 74.2, 4, True, None)]
    ['FP8', 'no', '"012"', '"a: b"', '74.2', '4', 'true', 'null']
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError("cannot write a number", got=repr(value), need="a finite number")
        return repr(float(value))  # NumPy's own would come out as np.float64(...)
    if isinstance(value, str):
        return _text(value)
    raise UsageError("cannot write a value", got=type(value).__name__, need="a text, a number, true, false or null")


def key_text(key: str) -> str:
    """A key: a text on one line, and not too long for one."""
    text = _text(key)
    if len(text) > _KEY_LIMIT:
        raise UsageError("cannot write a name", got=f"{len(text)} characters", need=f"at most {_KEY_LIMIT}")
    return text


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


def _text(text: str) -> str:
    bad = UNSPEAKABLE.search(text)
    if bad:
        raise UsageError(
            f"cannot write the text {text[:40]!r}", got=f"the character U+{ord(bad[0]):04X}", need="text without control characters"
        )
    if _SAFE.match(text) and _is_text(text):
        return text
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _is_text(text: str) -> bool:
    try:
        return typed(text) == text
    except ValueError:
        return False
