"""The one error. Whatever a user can mend is a SteelyardError: a sentence and a hint; the command makes exit code 3 of it."""

from __future__ import annotations


class SteelyardError(ValueError):
    """A mistake of input, in one sentence, with advice how to fix it.

    >>> print(SteelyardError("theta must be above 0, not -1.", hint="theta=0.01 is one point"))
    theta must be above 0, not -1. Hint: theta=0.01 is one point
    """

    hint = code = ""

    def __init__(self, sentence: str, *, hint: str = "", code: str = "") -> None:
        super().__init__(f"{sentence} Hint: {hint}" if hint else sentence)
        self.sentence, self.hint, self.code = sentence, hint, code
