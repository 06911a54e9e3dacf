"""The exception tree. Everything a user can mend is a SteelyardError; the command turns it into exit code 3.

    SteelyardError(ValueError)     the question could not be asked
    ├── UsageError                 an option or argument cannot be what it is: level 95, an unknown metric
    ├── SourceError                a file or frame cannot be read: missing, malformed, of another shape
    ├── DataError                  the items do not fit the question: labels, scores, weights, groups
    └── AmbiguityError             several readings are possible; we list them and never guess

A message is advice: what could not be done, what we got, what we need, and a hint what to do about it.
"""

from __future__ import annotations


class SteelyardError(ValueError):
    """A mistake of input, told as advice.

    >>> print(SteelyardError("cannot read the level", got="95", need="a number between 0 and 1", hint="write 0.95"))
    cannot read the level: got 95, need a number between 0 and 1. Hint: write 0.95
    """

    def __init__(self, what: str, *, got: str = "", need: str = "", hint: str = "") -> None:
        self.what, self.got, self.need, self.hint = what, got, need, hint
        facts = ", ".join(part for part in (got and f"got {got}", need and f"need {need}") if part)
        sentence = f"{what}: {facts}" if facts else what
        super().__init__(f"{sentence}. Hint: {hint}" if hint else sentence)


class UsageError(SteelyardError):
    """An option or argument cannot be what it is."""


class SourceError(SteelyardError):
    """A file, stream or frame cannot be read as items."""


class DataError(SteelyardError):
    """The items were read, but they cannot answer the question."""


class AmbiguityError(SteelyardError):
    """Several readings are possible: the message lists them."""
