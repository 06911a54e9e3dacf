"""Several systems in one log: two models or two prompts of one file, each named by what was chosen, the baseline first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steelyard.errors import AmbiguityError, UsageError
from steelyard.read.logs.log import PARAMETERS, SeveralError
from steelyard.read.roles import LOG_CHOICES, option
from steelyard.read.source import Source

SYSTEMS = ("model", "prompt")  # what tells two systems of one log apart; a task or a score is another question


def told_apart(given: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """The one choice that has several values, and these; None if every choice has one."""
    several = {what: list(given[what]) for what in LOG_CHOICES if isinstance(given.get(what), (list, tuple))}
    if not several:
        return None
    if len(several) > 1:
        got = " and ".join(f"{len(values)} of {option(what)}" for what, values in several.items())
        raise UsageError("cannot tell the systems apart", got=got, need="several values of one choice", hint="leave one value of the other")
    what, values = next(iter(several.items()))
    if len(values) < 2 or not all(isinstance(value, str) for value in values):
        raise UsageError(f"cannot use {option(what)}", got=repr(values), need="two names or more: baseline, candidate")
    if len(set(values)) < len(values):
        raise UsageError(f"cannot compare {option(what)} with itself", got=", ".join(map(repr, values)), need="each name once")
    return what, values


def opened_systems(
    data: Sequence[Any], what: str, values: Sequence[str], given: Mapping[str, Any], opened: Callable[[Any, Mapping[str, Any]], Source]
) -> list[Source]:
    """A source per value: of the one log, or of as many logs, in order."""
    if len(data) not in (1, len(values)):
        got = f"{len(data)} sources and {len(values)} of {option(what)}"
        raise UsageError("cannot tell the systems apart", got=got, need="one source, or as many sources as values")
    places = list(data) * len(values) if len(data) == 1 else list(data)
    sources = [opened(one, {**given, what: value}) for one, value in zip(places, values, strict=True)]
    for source, value in zip(sources, values, strict=True):
        if source.log is not None and len(data) == 1:
            source.name = source.log.chosen.get(LOG_CHOICES[what], value)
    return sources


def name_two(mistake: SeveralError) -> AmbiguityError:
    """A log that is compared alone: not which of its systems is meant, but which two."""
    if mistake.choice not in SYSTEMS:
        return mistake
    pair = f"{PARAMETERS[mistake.choice]}={[*mistake.found[:2]]!r}"
    hint = f"{pair} makes the first the baseline"
    return AmbiguityError(
        f"cannot tell which systems of one log to compare by {PARAMETERS[mistake.choice]}=", got=mistake.got, need="two", hint=hint
    )
