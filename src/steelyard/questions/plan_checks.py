"""The numbers of a plan, checked once: probabilities, sizes, drops. Each error says what to write instead."""

from __future__ import annotations

import math
from typing import Any

from steelyard.errors import UsageError


def number(name: str, value: Any, *, above: float = -math.inf, below: float = math.inf, hint: str = "") -> float:
    """A finite number strictly between two ends."""
    try:
        x = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        x = math.nan
    if not (math.isfinite(x) and above < x < below):
        ends = [f"above {above:g}"] * (above > -math.inf) + [f"below {below:g}"] * (below < math.inf)
        raise UsageError(f"cannot use {name}", got=repr(value), need=f"a number {' and '.join(ends)}".rstrip(), hint=hint)
    return x


def probability(name: str, value: Any) -> float:
    """A probability strictly between 0 and 1; 95 is told to be .95."""
    try:
        percent = 1 < float(value) < 100
    except (TypeError, ValueError):
        percent = False
    return number(name, value, above=0, below=1, hint=f"write {float(value) / 100:g}" if percent else "")


def error_rate(name: str, value: Any, warnings: list[str]) -> float:
    """alpha or beta: a probability of at most one half. At one half exactly the test is a coin, which is said."""
    rate = probability(name, value)
    if rate > 0.5:
        hint = f"alpha .05 and beta .2 are usual; power {rate:g} is beta {1 - rate:g}" if name == "beta" else "alpha .05 is usual"
        raise UsageError(f"cannot use {name}", got=f"{rate:g}", need="at most 0.5", hint=hint)
    if rate == 0.5:
        warnings.append(f"{name} is 0.5: half of all {'healthy runs are called worse' if name == 'alpha' else 'real drops are missed'}")
    return rate


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`."""
    x = number(name, value, above=least - 1)
    if x != int(x):
        raise UsageError(f"cannot use {name}", got=repr(value), need="a whole number")
    return int(x)


def exactly_one(given: dict[str, Any], what: str, hint: str = "") -> str:
    """The one name that was given, or an error that lists what there is."""
    there = [name for name, value in given.items() if value is not None]
    if len(there) != 1:
        got = " and ".join(there) if there else "none of them"
        raise UsageError(f"cannot tell {what}", got=got, need=f"exactly one of {', '.join(given)}", hint=hint)
    return there[0]
