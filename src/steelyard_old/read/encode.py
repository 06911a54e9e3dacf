"""Labels as canonical text: one spelling per value, and an error where one value has several spellings.

ints -> "7", floats -> repr, booleans -> "True"/"False", text as it is; None, NaN, NA and NaT are missing. Decimals, dates and times
are written as DuckDB writes them, so that a value is the same label in memory and in a file; a time with a zone is told in UTC.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from steelyard_old.errors import DataError
from steelyard_old.items import Labels, WholeNumbers
from steelyard_old.late_dataclass import dataclass
from steelyard_old.tally.spelling import same_number

_MISSING_TYPES = frozenset({"NAType", "NaTType"})  # pandas.NA and NaT, known by name so that pandas is never imported
_PRINTED = frozenset({"date", "UUID"})
_TIMES = frozenset({"datetime", "time", "Timestamp"})


def plain(value: Any) -> Any:
    """A Python scalar for a NumPy one; None for everything that means missing."""
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    if value is None or type(value).__name__ in _MISSING_TYPES or (isinstance(value, float) and value != value):
        return None
    return value


def text_of(value: Any) -> str | None:
    """The canonical text of one label, None if it is missing. TypeError for what cannot be a label.

    >>> [text_of(v) for v in (7, 1.0, True, "a ", None, float("nan"))]
    ['7', '1.0', 'True', 'a ', None, None]
    """
    value = plain(value)
    if value is None:
        return None
    if isinstance(value, float):
        return repr(value + 0.0)  # -0.0 is 0.0
    if isinstance(value, str):
        return str.__str__(value)  # the text itself, also for a StrEnum
    if isinstance(value, (bool, int)) or type(value).__name__ in _PRINTED:
        return str(value)
    if type(value).__name__ == "Decimal":
        return f"{value:f}"
    if type(value).__name__ in _TIMES:
        return _time_text(value)
    raise TypeError(type(value).__name__)


def _time_text(value: Any) -> str:
    """A time without zeros at the end of its seconds, in UTC if it has a zone; a time of day keeps its offset."""
    if value.tzinfo is not None and hasattr(value, "astimezone"):
        value = value.astimezone(UTC)
    return re.sub(r"([+-]\d\d):00\Z", r"\1", re.sub(r"(\.\d*?)0+(?!\d)", r"\1", str(value)))


def kind_of(value: Any) -> str:
    """What a label was before it became text: bool, int, float or text."""
    value = plain(value)
    for kind, types in (("bool", bool), ("int", int), ("float", float)):
        if isinstance(value, types):
            return kind
    return "text"


@dataclass(frozen=True, slots=True)
class Distinct:
    """The distinct values of a column, missing left out: as they came, as canonical texts, and of which kinds."""

    values: Sequence[Any]
    names: Sequence[str]
    kinds: frozenset[str]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Distinct:
        """From raw values, each once. A column of one type is not looked at value by value: ids may be millions."""
        types = set(map(type, values))
        kinds = frozenset(_KINDS.get(each) or kind_of(next(v for v in values if type(v) is each)) for each in types)
        if types <= {str}:
            return cls(values, tuple(values), kinds)
        if types <= {int} or types <= {bool}:
            return cls(values, tuple(map(str, values)), kinds)
        return cls(values, tuple(text_of(value) or "" for value in values), kinds)

    @classmethod
    def whole(cls, numbers: Any) -> Distinct | None:
        """From an array of different whole numbers, whose texts nobody may need; None where they are too large."""
        names = WholeNumbers.of(numbers)
        return None if names is None else cls(numbers.tolist(), names, frozenset({"int"}))


_KINDS = {str: "text", int: "int", float: "float", bool: "bool"}


def check_spelling(role: str, column: Distinct) -> None:
    """Refuse one column that holds 1 and "1", or True and 1: they would silently become one label, or two."""
    if column.kinds == {"text"}:
        _refuse_surrogates(role, column.names)
    if len(column.kinds) < 2:
        return
    seen: dict[str, Any] = {}
    for value, name in zip(column.values, column.names, strict=True):
        other = seen.setdefault(name, value)
        if kind_of(other) != kind_of(value):
            raise _mixed(role, (plain(other), plain(value)))
    _refuse_surrogates(role, column.names)
    _refuse_flags(role, (column,))


def check_matching(columns: Mapping[str, Distinct]) -> None:
    """Refuse truth and prediction (together one set of labels) where a number is spelled in several ways."""
    together = " and ".join(columns)
    kinds = frozenset().union(*(column.kinds for column in columns.values()))
    _refuse_flags(together, tuple(columns.values()))
    if kinds <= {"int"} or kinds <= {"float"} or kinds <= {"bool"}:
        return
    if several := same_number({name for column in columns.values() for name in column.names}):
        raise _mixed(together, min(several))  # a set has no order of its own


def _refuse_flags(role: str, columns: Sequence[Distinct]) -> None:
    """True equals 1 for Python and not for a reader of labels: a bool beside a number has no honest match."""
    kinds = frozenset().union(*(column.kinds for column in columns))
    if "bool" in kinds and kinds & {"int", "float"}:
        values = [value for column in columns for value in column.values]
        flag = next(value for value in values if kind_of(value) == "bool")
        number = next(value for value in values if kind_of(value) in ("int", "float"))
        raise _mixed(role, (plain(flag), plain(number)))


def _refuse_surrogates(role: str, texts: Sequence[str]) -> None:
    try:
        "\n".join(texts).encode()
    except UnicodeEncodeError:
        bad = next(text for text in texts if any("\ud800" <= char <= "\udfff" for char in text))
        raise DataError(
            f"The {role} {bad!r} is not valid Unicode (a lone surrogate).", got=f"{bad!r} (a lone surrogate)", need="valid Unicode text"
        ) from None


def _mixed(role: str, spellings: tuple[Any, ...]) -> DataError:
    return DataError(
        f"Labels are spelled in several ways in {role}: {' and '.join(map(repr, spellings))}.",
        got=" and ".join(map(repr, spellings)),
        need="one spelling for one value",
        hint="convert the column to one type; a missing value turns an integer column of pandas into floats (use dtype 'Int64')",
    )


# Plain decimal notation, as for label order: float() would also take "1_000", " 7" and full-width digits.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
_WORDS = {"true": 1.0, "True": 1.0, "false": 0.0, "False": 0.0, "": math.nan, "nan": math.nan, "NaN": math.nan}


class NotANumber(Exception):
    """A value that is no finite number; the caller knows the row and makes the message."""


def number_of(value: Any) -> float:
    """One quantity as a float, NaN if it is missing.

    >>> [number_of(v) for v in (1, "0.5", True, "false")]
    [1.0, 0.5, 1.0, 0.0]
    """
    value = plain(value)
    if value is None:
        return math.nan
    if isinstance(value, str):
        if value in _WORDS:
            return _WORDS[value]
        if not _NUMBER.match(value):
            raise NotANumber
    elif not (isinstance(value, (bool, int, float)) or type(value).__name__ == "Decimal"):
        raise NotANumber
    try:
        number = float(value)
    except OverflowError:
        raise NotANumber from None
    if math.isinf(number):
        raise NotANumber
    return number


def not_a_number(role: str, row: int, value: Any) -> DataError:
    """The message for a value that number_of refused. Rows count from 1, without the header."""
    value = plain(value)
    text = str(value)
    if text.strip().lower().lstrip("+-") in ("inf", "infinity") or (isinstance(value, float) and math.isinf(value)):
        return DataError(
            f"Infinite {role} in row {row}: {value!r}.",
            got=f"{value!r} in row {row}",
            need="a finite number",
            hint="leave the field empty if the item failed",
        )
    hint = "write numbers with a point, without signs of percent or thousands"
    if text.endswith("%"):
        hint = "write 0.85 (or 85) instead of '85%'"
    elif text.strip() != text:
        hint = "remove the spaces around the number"
    elif re.fullmatch(r"[+-]?\d+,\d+", text):
        hint = "write a decimal point instead of the comma"
    return DataError(
        f"The {role} in row {row} must be a number, true/false, or an empty field, not {value!r}.",
        got=f"{value!r} in row {row}",
        need="a number, true/false, or an empty field",
        hint=hint,
    )


def occurring(labels: Labels, found: Distinct) -> Distinct:
    """A column of integers names every number in its range; only those that occur can be spelled in two ways."""
    if not isinstance(found.values, range):
        return found
    import numpy as np

    seen = np.flatnonzero(np.bincount(labels.codes.astype(np.int64) + 1, minlength=len(found.values) + 1)[1:])
    return Distinct.of([found.values[int(place)] for place in seen])
