"""Results out of files: what a command wrote with --format json, by itself or as one that may come from anywhere."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard_old.errors import DataError, SourceError, SteelyardError
from steelyard_old.results.catalogue import result_of

# What Python says when a file has a word where a number should be, or a list where a mapping should.
MISMATCHED = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)


def open_result(given: Any, *, largest: int | None = None) -> Any:
    """A result as it is, or out of its dict or the path of its file."""
    if isinstance(given, str | os.PathLike):
        return read_result(given, largest=largest)
    return result_of(given) if isinstance(given, Mapping) else given


def read_result(path: str | os.PathLike[str], *, largest: int | None = None) -> Any:
    """The result in a JSON file. largest: bytes; a larger file is refused before it is read whole."""
    target = Path(path)
    try:
        with target.open("rb") as file:
            data = file.read() if largest is None else file.read(largest + 1)
        if largest is not None and len(data) > largest:
            raise DataError(
                f"{str(target)!r} is larger than {largest:,} bytes, too large for a result.",
                got=f"more than {largest:,} bytes",
                need="a JSON file of a result, not larger",
            )
        plain = json.loads(data.decode("utf-8-sig"), parse_constant=_no_number)
    except OSError as fault:
        why = fault.strerror or str(fault)
        said = f"No such file: {str(target)!r}." if isinstance(fault, FileNotFoundError) else f"Cannot open {str(target)!r}: {why}."
        raise SourceError(said, got=why, need="a JSON file of a result") from fault
    except (ValueError, RecursionError) as fault:
        if isinstance(fault, SteelyardError):
            raise
        what = f"line {fault.lineno}: {fault.msg}" if isinstance(fault, json.JSONDecodeError) else str(fault)
        hint = "was the file cut off? Any command writes one with --format json -o result.json"
        raise SourceError(
            f"{str(target)!r} is not a JSON file of a result ({what}).", got=f"no JSON ({what})", need="a JSON file of a result", hint=hint
        ) from fault
    try:
        return result_of(plain)
    except DataError as fault:
        raise DataError(f"Cannot read {str(target)!r}. {fault.sentence}", got=fault.got, need=fault.need, hint=fault.hint) from fault


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
