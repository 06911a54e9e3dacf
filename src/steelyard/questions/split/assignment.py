"""From a number per row to its part: by cumulated shares, exactly within strata, or in the order of time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError, UsageError
from steelyard.options.option import number

NAME = re.compile(r"\w[\w.-]*\Z")
NO_FILES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?\Z", re.IGNORECASE)  # what a system of files may keep for itself
LONGEST = 100  # characters of a name
MOST = 50  # parts
NEAR = Fraction(1, 10**9)  # how far shares such as 1/3 may be from adding up to 1
Uniforms = npt.NDArray[np.float64]
Parts = npt.NDArray[np.uint8]


def checked_shares(given: Mapping[str, Any]) -> dict[str, Fraction]:
    """The share of each part, in order. They add up to 1, and a part's name can be that of a file."""
    shares: dict[str, Fraction] = {}
    for name, share in given.items():
        _refuse_name(name, shares)
        percent = isinstance(share, int | float) and 1 < share < 100
        value = number(f"the share of {name}", share, above=0, hint=f"write {share / 100:g}" if percent else "a share such as .8")
        shares[name] = Fraction(str(value))
    total = sum(shares.values(), Fraction(0))
    if abs(total - 1) > NEAR:
        said = " + ".join(f"{name} {float(share):g}" for name, share in shares.items())
        raise UsageError(
            f"The shares of the parts must add up to 1: {said} is {float(total):g}." if shares else "Say which parts to make.",
            got=f"{float(total):g} in all" if shares else "no shares",
            need="1 in all",
            hint="train=.8, dev=.1, test=.1",
        )
    if len(shares) > MOST:
        raise UsageError("cannot make so many parts", got=f"{len(shares)}", need=f"at most {MOST}")
    return shares


def _refuse_name(name: object, others: Mapping[str, object]) -> None:
    hint = "letters, digits, '-', '_' and '.', such as calibration"
    if not isinstance(name, str) or not NAME.match(name) or NO_FILES.match(name) or len(name) > LONGEST or name.endswith("."):
        raise UsageError("cannot name a part", got=repr(name)[:80], need="the plain name of a file", hint=hint)
    if name.casefold() in {other.casefold() for other in others}:
        raise UsageError("cannot tell the parts apart", got=f"two parts named {name!r}", need="each name once")


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
        raise DataError(f"cannot order the times in column {column!r}", got=got, need="a time zone in all of them, or in none")
    return np.array([seconds[text] for text in texts])


def _no_time(column: str, text: str, row: int) -> DataError:
    hint = "write numbers, or dates such as 2026-01-31 or 2026-01-31T12:00"
    got = f"{text[:40]!r} in row {row + 1}"
    return DataError(f"cannot read the times in column {column!r}", got=got, need="all numbers, or all dates", hint=hint)
