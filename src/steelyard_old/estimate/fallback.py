"""Where a method has no answer: the one place that catches that, and the sentences that say what is given instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from steelyard_old.infer.resampling.bootstrap import Degenerate

T = TypeVar("T")
OF_CLASSES = ", where a class did not occur"


def attempt(make: Callable[[], T]) -> T | Degenerate:
    """What is made, or why it cannot be: the reason comes back as a value, so that whoever asked must say what follows from it.

    >>> def without_spread() -> float:
    ...     raise Degenerate("no spread")
    >>> attempt(lambda: 0.25), attempt(without_spread)
    (0.25, Degenerate('no spread'))
    """
    try:
        return make()
    except Degenerate as reason:
        return reason


def or_none(make: Callable[[], T]) -> T | None:
    """What is made, or None where it cannot be: for a number that is left out without a word, as a standard error without spread."""
    found = attempt(make)
    return None if isinstance(found, Degenerate) else found


def no_answer(method: str, reason: object, *, name: str = "", difference: bool = False) -> str:
    """That a method has no interval: of the metric of this name, or of a difference."""
    return f"{_name_prefix(name)}{method} gives no interval {'for the difference ' if difference else ''}here ({reason})"


def given_instead(method: str, reason: object, given: str, *, name: str = "", difference: bool = False, wide: bool = False) -> str:
    """The same, and whose interval is given instead.

    >>> given_instead("bca", "no spread", "Wilson's", name="f1")
    "f1: bca gives no interval here (no spread); Wilson's is used instead"
    """
    return f"{no_answer(method, reason, name=name, difference=difference)}; {given} is used instead{', which is wide' if wide else ''}"


def none_given(reason: object, *, name: str = "", difference: bool = False, of: str = "", advice: str = "") -> str:
    """That there is no interval at all.

    >>> none_given("no spread", difference=True)
    'no interval for the difference (no spread)'
    """
    what = "no interval for the difference" if difference else "no interval"
    return f"{_name_prefix(name)}{what}{f' for {of}' if of else ''} ({reason}){advice}"


def left_out(name: str, undefined: int, draws: int, why: str = "") -> str:
    """That a metric had no value in some of the draws."""
    return f"{name} was undefined in {undefined} of {draws} draws{why}; they were left out"


def _name_prefix(name: str) -> str:
    return f"{name}: " if name else ""
