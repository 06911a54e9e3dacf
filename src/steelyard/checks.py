"""The numbers of a plan, checked once: probabilities, sizes, drops. Each error says what to write instead."""

from __future__ import annotations

import math
from typing import Any

from steelyard.errors import UsageError
from steelyard.limits import within

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
