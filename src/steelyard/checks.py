"""The numbers of a plan, checked once: probabilities, sizes, drops. Each error says what to write instead."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


MOST = 1e18  # items; more than there will ever be

USUAL = {"alpha": "alpha .05 is usual", "beta": "beta .2 is usual, which is a power of .8"}


def number(name: str, value: Any, *, above: float = -math.inf, least: float = -math.inf, below: float = math.inf, hint: str = "") -> float:
    """A finite number above one end (or at least that), below another."""
    try:
        x = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        x = math.nan
    if not (math.isfinite(x) and above < x < below and x >= least):
        ends = [f"above {above:g}"] * (above > -math.inf) + [f"of at least {least:g}"] * (least > -math.inf)
        ends += [f"below {below:g}"] * (below < math.inf)
        shown = repr(value) if len(repr(value)) < 40 else f"{repr(value)[:30]}..."
        raise UsageError(f"cannot use {name}", got=shown, need=f"a number {' and '.join(ends)}".rstrip(), hint=hint)
    within(name, x)
    return x


def probability(name: str, value: Any) -> float:
    """A probability strictly between 0 and 1; 95 is told to be .95."""
    try:
        percent = 2 <= float(value) < 100
    except (TypeError, ValueError):
        percent = False
    return number(name, value, above=0, below=1, hint=f"write {float(value) / 100:g}" if percent else "")


def error_rate(name: str, value: Any, warnings: list[str]) -> float:
    """alpha or beta: a probability of at most one half. At one half exactly the test is a coin, which is said."""
    rate = number(name, value, above=0, below=1, hint=_rate_hint(name, value))
    if rate > 0.5:
        raise UsageError(f"cannot use {name}", got=f"{rate:g}", need="at most 0.5", hint=_too_high(name, rate))
    if rate == 0.5:
        warnings.append(f"{name} is 0.5: half of all {'healthy runs are called worse' if name == 'alpha' else 'real drops are missed'}")
    return rate


def _rate_hint(name: str, value: Any) -> str:
    """95 given as alpha is a level, 80 given as beta a power: what was meant is the rest to 1."""
    try:
        percent = float(value)
    except (TypeError, ValueError, OverflowError):
        return ""
    if not 1 < percent < 100:
        return USUAL[name]
    share = percent / 100 if percent <= 50 else 1 - percent / 100
    return f"{name} is the share of {'false alarms' if name == 'alpha' else 'misses'}: write {share:g}"


def _too_high(name: str, rate: float) -> str:
    return USUAL[name] if name == "alpha" else f"power {rate:g} is beta {1 - rate:g}; {USUAL[name]}"


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`."""
    x = number(name, value, least=least, below=MOST)
    if x != int(x):
        raise UsageError(f"cannot use {name}", got=repr(value), need="a whole number")
    return value if type(value) is int else int(x)


def exactly_one(given: dict[str, Any], what: str, hint: str = "") -> str:
    """The one name that was given, or an error that lists what there is."""
    there = [name for name, value in given.items() if value is not None]
    if len(there) != 1:
        got = " and ".join(there) if there else "none of them"
        raise UsageError(f"cannot tell {what}", got=got, need=f"exactly one of {', '.join(given)}", hint=hint)
    return there[0]


def check_mapping(name: str, value: object) -> None:
    """An option of keys with values, such as spec and protocol; a text would be taken apart letter by letter.

    >>> check_mapping("protocol", {"num_fewshot": "5"})
    """
    if value is not None and not isinstance(value, Mapping):
        raise UsageError(f"{name} must be a mapping", got=repr(value), need="keys with values", hint=f"{name}={{'num_fewshot': '5'}}")
