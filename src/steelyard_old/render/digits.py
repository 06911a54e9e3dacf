"""Digits justified by the interval: two significant digits of its half-width, the same for an estimate and its ends.

More digits would claim a precision that the data do not have; fewer would print an interval as a point.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard_old.results.measurement import Interval, Row


DIGITS = 12
_TIE = 9  # decimals: what is as near to half as that is half
_AS_THEY_ARE = frozenset({str, int, bool, type(None)})


def steady(x: float) -> float:
    """The number without its last bits: twelve significant digits.

    >>> steady(0.8125 - 1e-16), steady(0.1 + 0.2), steady(-2 / 3)
    (0.8125, 0.3, -0.666666666667)
    """
    return float(f"{x:.{DIGITS}g}")


def nearest(x: float) -> int:
    """The nearest whole number; half goes to the even one, on whichever side of it the last bits have fallen.

    >>> nearest(2.5), nearest(2.5 - 1e-12), nearest(2.5 + 1e-12), nearest(2.4), nearest(3.5 - 1e-12)
    (2, 2, 2, 2, 4)
    """
    return round(round(x, _TIE))


def power_of_ten(x: float) -> int:
    """The power of ten of the leading digit, by its text: a logarithm may fall on either side of a whole number.

    >>> power_of_ten(1000.0), power_of_ten(999.9), power_of_ten(0.01), power_of_ten(0.01 - 1e-18)
    (3, 2, -2, -2)
    """
    return int(f"{abs(x):.{DIGITS - 1}e}".partition("e")[2])


def steadied(value: Any) -> Any:
    """The same with every float in it steady: in dataclasses, mappings, lists and tuples, as deep as they go."""
    if type(value) in _AS_THEY_ARE:  # most of a result, so it is asked first
        return value
    if isinstance(value, float):
        return steady(value)
    if is_dataclass(value) and not isinstance(value, type):
        made = copy.copy(value)
        for field in fields(value):
            object.__setattr__(made, field.name, steadied(getattr(value, field.name)))
        return made
    if isinstance(value, Mapping):
        return {key: steadied(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        if _AS_THEY_ARE.issuperset(map(type, value)):  # a row of counts, of which a table has as many as classes
            return value[:]
        return type(value)(map(steadied, value))
    return value


UNDEFINED = "undefined"
EMPTY = "(empty)"  # a name that is empty is a name too, and must not look like a hole
NONE = "-"
FEWEST, MOST = 2, 6  # decimals of numbers in 0..1
TINY, HUGE = 1e-4, 1e7  # outside, a fixed number of decimals shows zeros
LISTED = 100  # names in one sentence or block: a report of a million lines is read by nobody
WHOLE = 1e15  # whole numbers up to here are written out
_ENOUGH = 1080  # decimals that tell any two doubles apart; reached by no honest interval


def row_texts(row: Row) -> tuple[str, str]:
    """The estimate and the interval of a row as text: ("0.853", "[0.832, 0.871]")."""
    interval = row.interval
    if interval is None:
        return number_texts(row.estimate, None, None)[0], NONE
    estimate, low, high = number_texts(row.estimate, interval.low, interval.high, half_width(row.estimate, interval))
    if interval.side == "two":
        return estimate, f"[{low}, {high}]"
    return estimate, f"at least {low}" if interval.side == "lower" else f"at most {high}"


def half_width(estimate: float | None, interval: Interval) -> float | None:
    """Half of the interval; from the estimate to the bound if it has one bound, since the other end is the metric's range."""
    low, high = interval.low, interval.high
    if interval.side != "two" and estimate is not None:
        bound = low if interval.side == "lower" else high
        return None if bound is None else abs(estimate - bound)
    return None if low is None or high is None else high / 2 - low / 2


def shown_numbers(row: Row) -> list[float]:
    """The numbers of a row that a picture of it would show: what is not known, or has no end, is left out."""
    return [x for x in (row.estimate, *ends_of(row.interval)) if x is not None and math.isfinite(x)]


def ends_of(interval: Interval | None) -> tuple[float | None, float | None]:
    """The ends that are bounds."""
    if interval is None:
        return None, None
    return interval.low if interval.side != "upper" else None, interval.high if interval.side != "lower" else None


def number_texts(estimate: float | None, low: float | None, high: float | None, half: float | None = None) -> tuple[str, str, str]:
    """Estimate, low and high with the digits that the half-width justifies, and more where two ends would print as one.

    >>> number_texts(0.8532, 0.8321, 0.8713, 0.0196)
    ('0.853', '0.832', '0.871')
    """
    finite = [x for x in (estimate, low, high) if x is not None and math.isfinite(x)]
    style, digits = _style(finite, half)
    distinct = len({low, high} - {None}) == 2

    def texts() -> tuple[str, str, str]:
        return (
            UNDEFINED if estimate is None or math.isnan(estimate) else _one(estimate, style, digits),
            "-inf" if low is None else _one(low, style, digits),
            "inf" if high is None else _one(high, style, digits),
        )

    shown = texts()
    while distinct and shown[1] == shown[2] and digits < _ENOUGH:
        digits += 1
        shown = texts()
    return shown


def _style(finite: Sequence[float], half: float | None) -> tuple[str, int]:
    """Fixed ("f") or scientific ("e") notation and its digits after the point."""
    largest = max((abs(x) for x in finite), default=0.0)
    justified = None if not half or not math.isfinite(half) else _exponent(half) - 1  # place of the second digit
    if largest and not TINY <= largest < HUGE:
        return "e", 2 if justified is None else min(max(_exponent(largest) - justified, 1), 15)
    if justified is None:
        return "f", 3 if largest <= 1 else max(0, 3 - _exponent(largest))
    return "f", min(max(-justified, FEWEST if largest <= 1 else 0), MOST)


def _exponent(x: float) -> int:
    """The power of ten of the leading digit, after rounding to two digits: 0.0999 leads with .10."""
    return int(f"{abs(x):.1e}".partition("e")[2])


def _one(x: float, style: str, digits: int) -> str:
    text = f"{x:.{digits}{style}}"
    return text.removeprefix("-") if text.startswith("-") and math.isfinite(x) and float(text) == 0 else text


def percent(level: float) -> str:
    """A confidence level as people say it: 95%, 99.9%."""
    return f"{steady(level * 100):.6g}%"


def p_is(p: float | None) -> str:
    """`p = 0.03`, or `p < 1e-300` where no float is small enough."""
    shown = p_text(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def p_text(p: float | None) -> str:
    """A p-value with two significant digits; never 0, and 1 only when it is."""
    if p is None:
        return "undefined"
    if p < 1e-4:
        return f"{p:.1e}" if p > 0 else "< 1e-300"
    if 0.9995 <= p < 1:
        return next(text for text in (f"{p:.{digits}f}" for digits in range(4, 18)) if float(text) < 1)
    return "1" if p == 1 else f"{p:.4f}" if p < 0.0995 else f"{p:.3f}"


def chance_text(p: float, *, drawn: bool = False) -> str:
    """A probability for a sentence: two decimals, more near 0 and 1, which it is only said to be where it is; drawn ones are about so much.

    >>> chance_text(0.3749), chance_text(0.9973), chance_text(1 - 1e-9), chance_text(1.0), chance_text(0.52, drawn=True)
    ('0.37', '0.9973', 'above 0.9999', '1', 'about 0.52')
    """
    edge = 0.001 if drawn else 0.0001
    if p in (0.0, 1.0) and not drawn:
        return f"{p:.0f}"
    if p < edge or p > 1 - edge:
        return f"below {edge:g}" if p < edge else f"above {1 - edge:g}"
    shown = f"{p:.2f}" if 0.01 <= p < 0.995 else f"{p:.3f}" if drawn else f"{p:.4f}"
    return f"about {shown}" if drawn else shown


SIDES = {"two": "interval", "lower": "lower bound", "upper": "upper bound"}


def interval_word(rows: Sequence[Row]) -> str:
    """The head of the interval column: with the level where all rows share it."""
    kinds = {(row.interval.confidence_level, row.interval.side) for row in rows if row.interval is not None}
    if len(kinds) != 1:
        return "interval"
    ((level, side),) = kinds
    return kind_word(level, side)


def kind_word(level: float, side: str) -> str:
    """A confidence level and what it is the level of: 95% interval, 95% lower bound."""
    return f"{percent(level)} {SIDES[side]}"


def standard_errors(named: Sequence[tuple[str, Row]]) -> str:
    """The standard error of every row that has one, in as many digits as it deserves."""
    known = [f"{name or EMPTY} {row.standard_error:.3g}" for name, row in named if row.standard_error is not None]
    if not known:
        return "standard error: none known"
    over = len(known) - LISTED
    left_out = f"; {over:,} more, the JSON has them all" if over > 0 else ""
    return f"standard error: {'; '.join(known[:LISTED])}{left_out}"


def figure(x: float, digits: int = 4) -> str:
    """A number as people write it: whole numbers in full, others with so many significant digits.

    >>> figure(13870), figure(0.80312), figure(2.7471934, 7), figure(12345.678), figure(0.0000123)
    ('13,870', '0.8031', '2.747193', '12,346', '1.23e-5')
    """
    x = steady(x)
    if x == round(x) and abs(x) < WHOLE:
        return f"{round(x):,}"
    text = f"{x:.{digits}g}"
    mantissa, _, power = text.partition("e")
    if power:
        return f"{x:,.0f}" if 0 <= int(power) < 15 else f"{mantissa}e{int(power)}"
    return f"{x:,.{len(text.partition('.')[2])}f}"


def look_alike(a: float | None, b: float | None, decimals: int) -> bool:
    """Whether two numbers that differ print alike."""
    return a is not None and b is not None and a != b and fixed(a, decimals) == fixed(b, decimals)


def fixed(x: float, decimals: int) -> str:
    """With so many decimals, and never as -0."""
    text = f"{x:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text
