"""Scores, probabilities and weights: plain decimal numbers, or an error that shows the row and the text."""

from __future__ import annotations

import math
import re
from typing import Any

from steelyard.errors import DataError
from steelyard.read.encode import plain

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
            f"cannot use an infinite {role}", got=f"{value!r} in row {row}", need="a finite number", hint="a failed item is an empty field"
        )
    hint = "write numbers with a point, without signs of percent or thousands"
    if text.endswith("%"):
        hint = "write 0.85 (or 85) instead of '85%'"
    elif text.strip() != text:
        hint = "remove the spaces around the number"
    elif re.fullmatch(r"[+-]?\d+,\d+", text):
        hint = "write a decimal point instead of the comma"
    return DataError(
        f"cannot read a {role} as a number", got=f"{value!r} in row {row}", need="a number, true/false, or an empty field", hint=hint
    )
