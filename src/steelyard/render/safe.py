"""Text of users made harmless before it is shown: a label may hold anything, a terminal and a page obey some of it.

Escaped characters stay visible (`\\x1b`), because a label that silently loses a character is another label.
"""

from __future__ import annotations

import re
import unicodedata

EMPTY = "(empty)"
LONGEST, LONG = 400, 2000  # characters of a name and of a sentence on a page, which must not grow without end
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Joiners have honest uses in Persian, Indic scripts and emoji and move no cursor; every other format character is shown.
_JOINERS = "\u200c\u200d"
_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")
_MARKDOWN = re.compile(r"[\\`*_\[\]|~$]|\A\s*[-+#]|:(?=\w+:)")
# Places where GitHub makes a mention, a reference or a link of plain text.
_LINKED = re.compile(r"@|#(?=\w)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)
_NUMBERED = re.compile(r"\A(\s*\d+)(?=[.)])")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def terminal(text: str) -> str:
    r"""The text without anything a terminal obeys: control, ANSI, bidirectional and invisible characters, lone surrogates.

    >>> print(terminal("red \x1b[31m"))
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
    return terminal(text).encode("ascii", "backslashreplace").decode("ascii")


def label(text: str) -> str:
    """A name of a user on a terminal. The empty name is a name too, and must not look like a hole in the table."""
    return terminal(text) or EMPTY


def markdown(text: str) -> str:
    r"""The text as itself in Markdown, in a table cell, a list or a paragraph: no markup, HTML, link, mention or reference.

    A backslash does not stop GitHub from notifying `@all` or linking `#12`, since it looks at the rendered text; an
    empty comment inside does. Parentheses, dots and dashes stay readable: without brackets they mean nothing.

    >>> markdown("a|b <i>")
    'a\\|b &lt;i&gt;'
    """
    escaped = _MARKDOWN.sub(lambda found: found[0][:-1] + "\\" + found[0][-1], terminal(text))
    for character, entity in _HTML.items():
        escaped = escaped.replace(character, entity)
    return _LINKED.sub(r"\g<0><!-- -->", _NUMBERED.sub(r"\1\\", escaped)) or EMPTY


def code_span(text: str) -> str:
    """The text as code, fenced by more backticks than it has in a row."""
    shown = terminal(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def short(text: str, most: int) -> str:
    """The text in at most `most` characters, its middle left out."""
    return text if len(text) <= most else f"{text[: most - most // 4]}…{text[-(most // 4) :]}"
