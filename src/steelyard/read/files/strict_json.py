"""JSON decoded strictly: each key once, finite numbers, nothing that is no JSON; and what is said of the rest."""

from __future__ import annotations

import json
import math
from typing import Any

from steelyard.errors import SourceError
from steelyard.read.files.opened import Opened


class _Refused(ValueError):
    """Something that JSON readers accept and we do not."""


def strict_decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=once_each, parse_constant=_no_constant, parse_float=_finite)


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _Refused(f"the key {next(key for key in keys if keys.count(key) > 1)!r} twice in one object")
    return found


def _no_constant(text: str) -> Any:
    raise _Refused(f"{text}, which is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _Refused(f"the number {text}, which is beyond float64")
    return number


def bad_value(file: Opened, where: str, error: Exception, *, cut: bool) -> SourceError:
    what = f"cannot read {file.shown!r} as JSON"
    if isinstance(error, RecursionError):
        return SourceError(what, got=f"values nested too deeply in {where}", need="a few levels")
    if isinstance(error, _Refused):
        hint = "write null for a missing number" if "not JSON" in str(error) else ""
        return SourceError(what, got=f"{error}, in {where}", need="each key once, and finite numbers", hint=hint)
    if not isinstance(error, json.JSONDecodeError):
        return SourceError(what, got=f"{error}, in {where}"[:200], need="valid JSON")
    if cut:
        return SourceError(
            what,
            got=f"{where}, the last, that is cut off ({error.msg})",
            need="a complete file",
            hint="did the run end early? remove the last line",
        )
    return SourceError(what, got=f"{error.msg}, in {where}, column {error.colno}", need="valid JSON")


def one_value(decoder: Any, text: str) -> Any:
    """decode() without its two searches for white space, which cost a third of the time; it speaks when something is wrong."""
    try:
        value, end = decoder.scan_once(text, 0)
    except StopIteration:
        return decoder.decode(text)
    return decoder.decode(text) if text[end:].strip(" \t\r\n") else value
