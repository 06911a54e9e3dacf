"""Rounding that does not depend on the last bits of a number, which differ from processor to processor.

exp, log, power and sums come out differently in the last place with other kernels of NumPy, BLAS or the C library. Most
values are far from where rounding turns, and show nothing of it. Some lie exactly there (0.8125 with three digits, the middle
of an axis), and then the last bit decides. So whatever is printed or drawn is rounded to twelve digits first.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

DIGITS = 12
_TIE = 9  # decimals: what is as near to half as that is half


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
        return type(value)(map(steadied, value))
    return value
