"""From a number per row to its part: by cumulated shares, exactly within strata, or in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError

Uniforms = npt.NDArray[np.float64]
Parts = npt.NDArray[np.uint8]


def cuts(shares: Sequence[Fraction]) -> Uniforms:
    """Where one part ends and the next begins, between 0 and 1."""
    total = Fraction(0)
    return np.array([float(total := total + share) for share in shares[:-1]])


def by_number(numbers: Uniforms, shares: Sequence[Fraction]) -> Parts:
    """The part of each number from 0 to below 1. It depends on nothing else, so it never changes when rows are added.

    >>> by_number(np.array([0.1, 0.85, 0.95]), [Fraction(8, 10), Fraction(1, 10), Fraction(1, 10)]).tolist()
    [0, 1, 2]
    """
    return np.searchsorted(cuts(shares), numbers, side="right").astype(np.uint8)


def within_strata(numbers: Uniforms, strata: npt.NDArray[np.integer[Any]], begin: Uniforms, shares: Sequence[Fraction]) -> Parts:
    """Shares exactly within each stratum, up to one row: rows in the order of their numbers, at equal steps from a random begin.

    strata: the number of the stratum of each row. begin: for each stratum, where in the first step it begins. Equal numbers
    (the rows of one item) go together, to where the first of them goes.
    """
    order = np.lexsort((numbers, strata))
    size = np.bincount(strata, minlength=len(begin))
    first = np.concatenate([[0], np.cumsum(size)])[:-1]
    stratum, number_ = strata[order], numbers[order]
    new = np.ones(len(order), bool)
    new[1:] = (stratum[1:] != stratum[:-1]) | (number_[1:] != number_[:-1])
    rank = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0)) - first[stratum]
    place = rank + begin[stratum]
    parts = np.zeros(len(order), np.uint8)
    total = Fraction(0)
    for share in shares[:-1]:
        total += share
        end = np.array([float(total * int(n)) for n in size])
        parts += place >= end[stratum]
    found = np.empty_like(parts)
    found[order] = parts
    return found


def by_time(texts: Sequence[str], shares: Sequence[Fraction], column: str) -> Parts:
    """Rows in the order of time, the first ones to the first part. Rows of one time stay together: they go where their middle lies."""
    times, inverse, counts = np.unique(times_of(texts, column), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle = (ends - counts / 2) / len(texts)
    return by_number(middle, shares)[inverse.reshape(-1)] if len(times) else np.zeros(0, np.uint8)


def times_of(texts: Sequence[str], column: str) -> Uniforms:
    """Numbers as they are, or dates and times as ISO 8601 writes them, in seconds."""
    try:
        found = np.array([float(text) for text in texts])
    except ValueError:
        return _dates(texts, column)
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found)))
        raise _no_time(column, texts[row], row)
    return found


def _dates(texts: Sequence[str], column: str) -> Uniforms:
    seconds: dict[str, float] = {}
    zones: dict[bool, str] = {}
    for row, text in enumerate(texts):
        if text in seconds:
            continue
        try:
            when = datetime.fromisoformat(text.strip())
        except ValueError:
            raise _no_time(column, text, row) from None
        zones.setdefault(when.tzinfo is None, text)
        seconds[text] = (when.replace(tzinfo=UTC) if when.tzinfo is None else when).timestamp()
    if len(zones) > 1:
        got = f"{zones[True]!r} without a time zone and {zones[False]!r} with one"
        raise DataError(
            f"The times in column {column!r} need a time zone in all rows or in none: there is {got}.",
            got=got,
            need="a time zone in all of them, or in none",
        )
    return np.array([seconds[text] for text in texts])


def _no_time(column: str, text: str, row: int) -> DataError:
    hint = "write numbers, or dates such as 2026-01-31 or 2026-01-31T12:00"
    got = f"{text[:40]!r} in row {row + 1}"
    return DataError(
        f"The times in column {column!r} must be all numbers or all dates, not {got}.", got=got, need="all numbers, or all dates", hint=hint
    )
