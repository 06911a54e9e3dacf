"""Prompts from rows: a text with columns in braces. Strict, and never evaluated: a column is put in as it is, or there is an error.

`{question}` is the column question, `{{` and `}}` are braces. No attributes, conversions or formats: `str.format` on the
objects of a stranger's data would be a way to the inside of the program.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from steelyard.errors import DataError, UsageError
from steelyard.options import nearest

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NOT_IN_NAMES = re.compile(r"[!:\[\]]")
_PLAIN_INTEGERS = 1e15  # whole floats below it are written without the point, as people write them


@dataclass(frozen=True, slots=True)
class Template:
    """A text with columns in braces. `columns` are those it names, each once; `parts` are texts and (column,) in turn."""

    text: str
    parts: tuple[str | tuple[str], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part[0] for part in self.parts if isinstance(part, tuple)))

    def fill(self, values: Mapping[str, str]) -> str:
        """The text with a value for each column, put in once: braces in a value are text."""
        return "".join(part if isinstance(part, str) else values[part[0]] for part in self.parts)

    def render(self, row: Mapping[str, Any]) -> str:
        """The text for a row.

        >>> template_of("{a} + {b} = {{?}}", "input").render({"a": 2, "b": 2.0})
        '2 + 2 = {?}'
        """
        return self.fill({name: value_text(row[name], name) for name in self.columns})


def template_of(text: object, key: str) -> Template:
    """Read a template; `key` is where it stands, for messages."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"cannot use {key}", got=repr(text), need="a text with columns in braces", hint=f'{key} = "Q: {{question}}\\nA:"')
    parts: list[str | tuple[str]] = []
    end = 0
    for found in _PIECE.finditer(text):
        if found.start() > end:
            parts.append(text[end : found.start()])
        end = found.end()
        if found[0] in ("{{", "}}"):
            parts.append(found[0][0])
        elif found[1] is None:
            raise _lone_brace(text, found.start(), key)
        else:
            parts.append((_column(found[1], found[0], key),))
    if end < len(text):
        parts.append(text[end:])
    return Template(text, tuple(parts))


def _column(name: str, written: str, key: str) -> str:
    if not name.strip():
        raise UsageError(f"cannot read {key}", got=f"{written!r} without a column", need="{column}, or {{ and }} for braces themselves")
    if name != name.strip() or _NOT_IN_NAMES.search(name):
        raise UsageError(
            f"cannot read {key}",
            got=repr(written),
            need="the name of a column alone in braces",
            hint="nothing is evaluated: prepare such a column in the data; for braces themselves write {{ and }}",
        )
    return name


def _lone_brace(text: str, place: int, key: str) -> UsageError:
    near = text[max(0, place - 15) : place + 15]
    return UsageError(
        f"cannot read {key}",
        got=f"a {text[place]!r} without its partner at character {place + 1}, in {near!r}",
        need="{column}",
        hint=f"for the brace itself write it twice: {text[place] * 2}",
    )


def check_columns(wanted: Sequence[str], columns: Sequence[str], key: str) -> None:
    """Refuse names that are no columns at all, with the nearest that is."""
    for name in wanted:
        if name in columns:
            continue
        near = nearest(name, columns, cutoff=0.5)
        path = "a column is meant, not a way into one" if "." in name else ""
        raise UsageError(
            f"No column {name!r} for {key}; the columns are {listed(columns)}.",
            got=f"columns {listed(columns)}",
            need="one of them",
            hint=f"did you mean {near!r}?" if near else path,
        )


def listed(names: Sequence[object], most: int = 12) -> str:
    """Names by repr, not more than a line of them."""
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


# ---- values ------------------------------------------------------------------------------------------------------------


def is_missing(value: object) -> bool:
    """None, and the NaN that tables have in its place."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def plain(value: Any) -> Any:
    """A value of NumPy as Python has it; any other as it is."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    return value


def value_text(value: Any, name: str) -> str:
    """A value as it stands in a prompt: texts as they are, 3.0 as 3, true and false, lists and tables as JSON.

    >>> [value_text(value, "x") for value in ("a", 0.5, 3.0, True, [1, "é"])]
    ['a', '0.5', '3', 'true', '[1, "é"]']
    """
    value = plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise DataError(f"cannot write {name!r} into a text", got=str(value), need="a finite number")
        return str(int(value)) if value.is_integer() and abs(value) < _PLAIN_INTEGERS else float.__repr__(value)
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, (datetime.date, datetime.time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (list, tuple, dict)):
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_inside)
        except (TypeError, ValueError) as fault:
            raise DataError(f"cannot write {name!r} into a text", got=f"a {type(value).__name__}: {fault}", need="plain values") from fault
    raise DataError(
        f"cannot write {name!r} into a text", got=f"a {type(value).__name__}", need="a text, a number, true or false, or a list"
    )


def _inside(value: Any) -> Any:
    """What JSON does not know inside a list."""
    found = plain(value)
    if found is not value:
        return found
    if isinstance(value, (Decimal, datetime.date, datetime.time, uuid.UUID)):
        return value_text(value, "a value")
    raise TypeError(f"with a {type(value).__name__}")
