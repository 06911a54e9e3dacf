"""Secrets that must not leave this process: keys and passwords are remembered here, and taken out of whatever is written or shown.

One place for all: replies of servers before they are read, answers before they are kept, files, messages and tracebacks. A secret
is found as it is, quoted for a URL, escaped for JSON or HTML, in base64 or hexadecimal, and torn apart by line ends or spaces.
Below eight characters nothing is taken out: `x`, `EMPTY` and `token` are no secrets, and are parts of ordinary words.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any

SHORTEST = 8
MASK = "***"
_BETWEEN = r"(?:[\s\x00\u00ad]|\u200b|\\[nrt]|%0[AaDd]){0,60}"  # what a line end or a table may put between two letters

_lock = threading.Lock()
_known: set[str] = set()
# Each way of writing each secret, the longest first: a password that is a part of a key must not leave the rest of the key standing.
# One pattern for each, since a pattern is compiled at length and looks for its first letter fast.
_forms: tuple[re.Pattern[str], ...] = ()


def remember(secret: str | None) -> None:
    """Take this text out of everything from now on, however it is written."""
    global _forms
    secret = (secret or "").strip()
    if len(secret) < SHORTEST:
        return
    with _lock:
        if secret not in _known:
            every = dict.fromkeys((*_forms, *map(re.compile, _patterns(secret))))
            _forms = tuple(sorted(every, key=lambda form: len(form.pattern), reverse=True))
            _known.add(secret)


def redact(text: str) -> str:
    """The text without secrets.

    >>> remember("sk-doctest-0123456789")
    >>> redact("the key sk-doctest-0123456789, or sk%2Ddoctest%2D0123456789, is wrong")
    'the key ***, or ***, is wrong'
    """
    found = [match for form in _forms if (match := form.search(text)) is not None]
    return text if not found else _masked(text, found)


def _masked(text: str, found: list[re.Match[str]]) -> str:
    """The first place at which a form matches, and of several at one place the longest form; then the next place behind it."""
    out, here = [], 0
    while found:
        first = min(found, key=re.Match.start)  # the first of those that are equal, and they are in order
        out += [text[here : first.start()], MASK]
        here = first.end()
        later = (match if match.start() >= here else match.re.search(text, here) for match in found)
        found = [match for match in later if match is not None]
    return "".join([*out, text[here:]])


def shortened(text: str, most: int, end: str = "...") -> str:
    """The text without secrets, in at most so many characters: cut only then, since half a secret would not be found.

    >>> shortened("in a word", 20), shortened("in many more words than that", 20)
    ('in a word', 'in many more word...')
    """
    text = redact(text)
    return text if len(text) <= most else text[: most - len(end)] + end


def redact_bytes(body: bytes) -> bytes:
    """The same for bytes of which nobody knows what they are."""
    if not _forms:
        return body
    text = body.decode("latin-1")
    found = redact(text)
    return body if found == text else found.encode("latin-1")


def redacted(value: Any) -> Any:
    """A value of JSON, without secrets in its texts and keys."""
    if not _forms:
        return value
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(key) if isinstance(key, str) else key: redacted(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(each) for each in value]
    return value


def _patterns(secret: str) -> list[str]:
    spelt = _BETWEEN.join(_letter(each) for each in secret)
    coded = [_torn(form) for form in _base64(secret) if len(form) >= SHORTEST]
    return [spelt, *coded, _torn(secret.encode().hex(), ignore_case=True)]


def _letter(letter: str) -> str:
    """One letter, in every way in which it may be written. Each begins with a letter of its own, which is what is looked for."""
    from urllib.parse import quote

    out = [re.escape(letter)]
    for byte in (f"{each:02x}" for each in letter.encode()):
        either = "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in byte)
        if len(letter.encode()) == 1:
            out += [f"%(?:25)?{either}", rf"\\\\?u00{either}", rf"\\\\?x{either}", f"&#[xX]0{{0,4}}{either};"]
    out.append(f"&#0{{0,4}}{ord(letter)};")
    out += [re.escape(quote(letter, safe=""))] if not letter.isascii() else []
    out += [rf"\\\\?{re.escape(letter)}"] if letter in "/\"'\\" else []
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
    out += [named[letter]] if letter in named else []
    return f"(?:{'|'.join(out)})"


def _torn(text: str, *, ignore_case: bool = False) -> str:
    pieces = (f"[{c}{c.upper()}]" if ignore_case and c.isalpha() else re.escape(c) for c in text)
    return _BETWEEN.join(pieces)


def _base64(secret: str) -> list[str]:
    """The letters of base64 that stand for the secret alone, wherever it begins in what was encoded: at three places of a byte."""
    import base64

    out: list[str] = []
    data = secret.encode()
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        start = -(-before * 8 // 6)  # letters that also hold bits of what came before
        whole = (before + len(data)) * 8 // 6  # the last letter may hold bits of what follows
        core = coded[start:whole]
        out += [core, core.replace("+", "-").replace("/", "_")]
    return list(dict.fromkeys(out))
