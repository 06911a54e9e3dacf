"""The exception tree. Everything a user can mend is a SteelyardError; the command turns it into exit code 3.

    SteelyardError(ValueError)     bad input: exit code 3
    ├── UsageError                 an option or argument is not valid: level 95, an unknown metric
    ├── SourceError                a file or frame cannot be read: missing, malformed, of another shape
    ├── DataError                  the items do not fit the question: labels, scores, weights, groups
    └── AmbiguityError             several readings are possible; we list them and never guess

A message is one sentence that a colleague would say, then a hint what to do about it. Two ways to write it:

- what could not be done, what is there and what was expected: `SourceError("cannot read 'x.db'", got="a directory", need="a SQLite
  database")`, Cannot read 'x.db': a directory (expected a SQLite database). The sentence is put together here. Of a parameter that
  cannot be used it is what that must be: `UsageError("cannot use theta", need="a number above 0", got="-1")`, theta must be a number
  above 0, not -1;
- a whole sentence, which ends with a full stop and is printed as it stands: `DataError("No items to measure.", got="0 items")`.

Either way `what`, `got`, `need` and `hint` are kept on the exception, for programs.
"""

from __future__ import annotations

import math
import os
import re

import steelyard.base.problem
from steelyard_old.late_pattern import late_pattern
from steelyard_old.redaction import redact, shortened

# Who may open an address and what proves it, wherever somebody's mistake repeats the address: an error goes into logs of CI.
_LOGIN = late_pattern(r"\b([a-z][a-z0-9+.-]*:/{1,3}|(?:postgres(?:ql)?|mysql|mariadb):)[^\s/'\"]+@", re.IGNORECASE)
_PARAMETER = late_pattern(r"cannot use ([a-z][a-z_.]*=?)")
_PROOF = late_pattern(r"([?&][\w.%-]*(?:key|token|sig|secret|passw|credential|auth)[\w.%-]*=)[^\s&'\"]+", re.IGNORECASE)

_QUOTED = late_pattern(r"""(?<!\w)(['"])((?:(?!\1).)*)\1(?!\w)""", re.DOTALL)  # not the apostrophe of a genitive
LONGEST = 80  # letters of a value that somebody gave and that a message repeats
LONGEST_PATH = 400  # a path, an address or a command to type is of no use without its end


class SteelyardError(steelyard.base.problem.SteelyardError):
    """A mistake of input, with advice how to fix it.

    >>> print(SteelyardError("cannot use the level", got="95", need="a number between 0 and 1", hint="write 0.95"))
    Cannot use the level: 95 (expected a number between 0 and 1). Hint: write 0.95
    >>> print(SteelyardError("theta=0.5 must be smaller than the expected accuracy (0.4).", got="0.5", need="less than 0.4"))
    theta=0.5 must be smaller than the expected accuracy (0.4).
    """

    def __init__(self, what: str, *, got: str = "", need: str = "", hint: str = "") -> None:
        self.what, self.got, self.need = (_quoted_in_short(_without_secrets(part)) for part in (what, got, need))
        self.hint = _quoted_in_short(_without_secrets(hint), LONGEST_PATH)
        ValueError.__init__(self, f"{self.sentence} {_advice(self.hint)}" if hint else self.sentence)

    @property
    def sentence(self) -> str:
        """The message without its hint."""
        if self.what.endswith((".", "?")):
            return self.what
        if self.got and self.need and (named := _PARAMETER.fullmatch(self.what)):
            return f"{named[1]} must be {self.need}, not {self.got}."
        facts = f"{self.got} (expected {self.need})" if self.got and self.need else self.got or (self.need and f"expected {self.need}")
        words = f"{self.what}: {facts}" if facts else self.what
        return f"{words[:1].upper()}{words[1:]}" + ("" if words.endswith((".", "?")) else ".")


def _advice(hint: str) -> str:
    """A hint as a message ends with it: a question is one by itself.

    >>> _advice("did you mean theta?"), _advice("write 0.95")
    ('Did you mean theta?', 'Hint: write 0.95')
    """
    return f"D{hint[1:]}" if hint.startswith("did you mean ") else f"Hint: {hint}"


def _without_secrets(text: str) -> str:
    """A message without the password and the signature of an address, and without keys: before it is cut, since half a key is not found.

    >>> _without_secrets("'https://bob:hunter2@host/x.csv?X-Amz-Signature=0123&part=2' is an address")
    "'https://***@host/x.csv?X-Amz-Signature=***&part=2' is an address"
    """
    if "@" in text:
        text = _LOGIN.sub(r"\1***@", text)
    return redact(_PROOF.sub(r"\1***", text) if "=" in text and ("?" in text or "&" in text) else text)


def _quoted_in_short(text: str, most: int = LONGEST) -> str:
    """A message in which no value in quotes is longer than anybody reads, or breaks the line.

    >>> _quoted_in_short("the run's model is '" + 100 * "x" + "', not 'a" + chr(10) + "b'") == (
    ...     "the run's model is '" + 77 * "x" + "...', not 'a" + chr(92) + "nb'"
    ... )
    True
    """

    def in_quotes(found: re.Match[str]) -> str:
        longest = LONGEST_PATH if "/" in found[2] or os.sep in found[2] else most
        value = found[2].replace("\r", "\\r").replace("\n", "\\n")
        return f"{found[1]}{shortened(value, longest)}{found[1]}"

    return _QUOTED.sub(in_quotes, text) if len(text) > LONGEST or "\n" in text or "\r" in text else text


def in_short(value: object, most: int = 60) -> str:
    """A value as a message shows it: numbers and texts as they are, cut where they are long, of anything large only what it is.

    >>> in_short(0.5), in_short(["a", "b"]), in_short({"a": 1}), in_short("https://bob:hunter2@host/x.csv", most=15)
    ('0.5', "['a', 'b']", 'a dict', "'https://***@ho...")
    """
    if callable(value):
        return "a class" if isinstance(value, type) else "a function"
    if isinstance(value, int) and abs(value) >= 10**most:
        return f"a number of {int(math.log10(abs(value))) + 1} digits"
    simple = isinstance(value, str | bytes | int | float | None) or getattr(value, "ndim", 1) == 0  # NumPy's scalars
    if not simple and not (type(value) in (list, tuple) and all(isinstance(one, str | int | float) for one in value[:20])):  # type: ignore[index]
        return with_article(type(value).__name__)
    try:
        text = _without_secrets(repr(value))
    except ValueError:  # Python writes no number of thousands of digits
        return with_article(type(value).__name__)
    return text if len(text) <= most else f"{text[:most]}..."


class UsageError(SteelyardError):
    """An option or argument is not valid."""


class SourceError(SteelyardError):
    """A file, stream or frame cannot be read as items."""


class DataError(SteelyardError):
    """The items were read, but they cannot answer the question."""


class AmbiguityError(SteelyardError):
    """Several readings are possible: the message lists them."""


def with_article(noun: str) -> str:
    """A noun, such as the name of a type, behind "a" or "an".

    >>> with_article("int"), with_article("dict"), with_article("uint8")
    ('an int', 'a dict', 'a uint8')
    """
    return f"{'an' if noun[:1].lower() in tuple('aeio') else 'a'} {noun}"
