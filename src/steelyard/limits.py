"""The ends of the numbers that questions take, in one place: beyond them closed forms lose their digits, or nobody would wait."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limit:
    """From low to high; what is 0, negative or no number at all is refused where it is read, in words of its own."""

    low: float
    high: float
    hint: str = ""


LIMITS: dict[str, Limit] = {
    "draws": Limit(1, 10_000_000, "10000 is the default; more than a million change no digit that is shown"),
    "prior": Limit(1e-6, 1e6, "0.5 is Jeffreys, 1 is uniform"),
    "prior_scale": Limit(1e-9, 1e9, "the standard deviation of true differences, such as 0.005"),
    "alpha": Limit(1e-9, 1, "0.05 is usual"),
    "beta": Limit(1e-9, 1, "0.2 is usual, which is a power of 0.8"),
    "power": Limit(1e-9, 1 - 1e-9, "0.8 is usual"),
    "confidence_level": Limit(1e-9, 1 - 1e-9, "0.95 is usual"),
    "theta": Limit(1e-9, 1e12, "the drop that matters, such as 0.02"),
    "margin": Limit(1e-12, 1e12, "the difference that is tolerated, such as 0.01"),
    "repeats": Limit(1, 100_000),
    "workers": Limit(1, 1024, "-1 is all cores"),
    "concurrency": Limit(1, 10_000),
    "k": Limit(1e-6, 10, "0.5 is usual"),
    "h": Limit(1e-6, 10_000, "5 is usual"),
}


def within(name: str, value: object, shown_as: str = "") -> None:
    """Refuse a number beyond the ends of its kind.

    >>> within("draws", 10_000)
    """
    limit = LIMITS.get(name)
    if limit is None or isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        return  # also NaN
    if value >= 1 >= limit.high:
        return  # no probability: what is said there knows that 95 was meant as 0.95
    if value < limit.low or value > limit.high:
        shown = f"{value:g}" if isinstance(value, float) or value < 10**15 else f"a number of {int(math.log10(value)) + 1} digits"
        ends = f"at least {_plain(limit.low)}" if value < limit.low else f"at most {_plain(limit.high)}"
        raise UsageError(f"cannot use {shown_as or name}", got=shown, need=ends, hint=limit.hint)


def _plain(end: float) -> str:
    return f"{int(end):,}" if float(end).is_integer() and end >= 1 else f"{end:.12g}"
