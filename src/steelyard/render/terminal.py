"""What a terminal can carry: users' words made harmless, widths, lines, and the few marks of emphasis.

A label may hold anything, and a terminal obeys some of it. Escaped characters stay visible (`\\x1b`), because a label that silently
loses a character is another label. Colour only repeats what the words already say.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

EMPTY = "(empty)"
LONGEST, LONG = 400, 2000  # characters of a name and of a sentence on a page, which must not grow without end
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Joiners have honest uses in Persian, Indic scripts and emoji and move no cursor; every other format character is shown.
_JOINERS = "\u200c\u200d"
_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")
GAP = "  "
_HEAD = re.compile(r"\[?-?\d+")  # of a number or of an interval: all before its first decimal point


# ---- users' words made harmless ----------------------------------------------------------------------------------------


def harmless(text: str) -> str:
    r"""The text without anything a terminal obeys: control, ANSI, bidirectional and invisible characters, lone surrogates.

    >>> print(harmless("red \x1b[31m"))
    red \x1b[31m
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(c) if unicodedata.category(c) in _OBEYED and c not in _JOINERS else c for c in text)


def _shown(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def ascii_text(text: str) -> str:
    """The text for a terminal whose encoding carries nothing else; other characters as escapes, so none are lost."""
    return harmless(text).encode("ascii", "backslashreplace").decode("ascii")


def label(text: str) -> str:
    """A name of a user on a terminal. The empty name is a name too, and must not look like a hole in the table."""
    return harmless(text) or EMPTY


def short(text: str, most: int) -> str:
    """The text in at most `most` characters, its middle left out."""
    return text if len(text) <= most else f"{text[: most - most // 4]}…{text[-(most // 4) :]}"


# ---- columns and lines --------------------------------------------------------------------------------------------------


def display_width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining marks and joiners none.

    >>> display_width("猫"), display_width("e\\u0301")
    (2, 1)
    """
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def left(text: str, width: int) -> str:
    return text + " " * (width - display_width(text))


def right(text: str, width: int) -> str:
    return " " * (width - display_width(text)) + text


def widest(texts: Sequence[str]) -> int:
    return max(map(display_width, texts), default=0)


def on_point(texts: Sequence[str], words: Callable[[str, int], str] = right) -> list[str]:
    """The texts padded to one width, their first decimal points in one column; what starts with no number as `words` says."""
    heads = [found[0] if (found := _HEAD.match(text)) else "" for text in texts]
    before = widest(heads)
    placed = [right(head, before) + text[len(head) :] if head else text for head, text in zip(heads, texts, strict=True)]
    numbers = widest([p for head, p in zip(heads, placed, strict=True) if head])
    width = max(numbers, widest(placed))
    return [words(left(p, numbers) if head else p, width) for head, p in zip(heads, placed, strict=True)]


def shorten(text: str, width: int, mark: str = "…") -> str:
    """The text in at most `width` columns: its middle goes, since names of classes and files differ at both ends."""
    if display_width(text) <= width:
        return text
    room = max(width - display_width(mark), 0)
    return _start(text, room - room // 2) + mark + _start(text[::-1], room // 2)[::-1]


def _start(text: str, width: int) -> str:
    used = 0
    for i, character in enumerate(text):
        used += _columns(character)
        if used > width:
            return text[:i]
    return text


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most `width` columns where words allow; a word is never broken, so a path or a command can be copied."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line.strip() and display_width(longer) > width:
            lines.append(line)
            longer = indent + word
        line = longer
    return [*lines, line]


BOLD, DIM, YELLOW, RED = "1", "2", "33", "1;31"
VERDICTS = {"pass": "1;32", "regression": RED, "inconclusive": "1;33"}
GUARDS = {**VERDICTS, "unconfirmed": YELLOW, "waived": YELLOW, "advisory": YELLOW}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """What the terminal can carry. Colour only repeats what the words already say."""

    width: int
    color: bool
    ascii_only: bool

    def name(self, text: str) -> str:
        """A user's word, harmless here."""
        shown = label(text)
        return ascii_text(shown) if self.ascii_only else shown

    def cut(self, text: str, width: int) -> str:
        return shorten(text, width, "..." if self.ascii_only else "…")

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text.strip() else text


def warning_lines(text: str, look: Terminal) -> list[str]:
    first, *rest = wrap(f"warning: {look.name(text)}", look.width, " " * display_width("warning: "))
    return [look.paint("warning:", YELLOW) + first.removeprefix("warning:"), *rest]
