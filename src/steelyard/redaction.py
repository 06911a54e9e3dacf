"""Secrets that must not leave this process: keys and passwords are remembered here, and taken out of whatever is written or shown.

One place for all: replies of servers before they are read, answers before they are kept, files, messages and tracebacks. A secret
is found as it is, quoted for a URL, escaped for JSON or HTML, in base64 or hexadecimal, and torn apart by line ends or spaces.
Below eight characters nothing is taken out: `x`, `EMPTY` and `token` are no secrets, and are parts of ordinary words.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

SHORTEST = 8
MASK = "***"
_BETWEEN = r"(?:[\s\x00\u200b\u00ad]|\\[nrt]|%0[AaDd]){0,60}"  # what a line end or a table may put between two letters

_lock = threading.Lock()
_forms: dict[str, list[str]] = {}  # secret to patterns
_pattern: re.Pattern[str] | None = None


def remember(secret: str | None) -> None:
    """Take this text out of everything from now on, however it is written."""
    global _pattern
    secret = (secret or "").strip()
    if len(secret) < SHORTEST:
        return
    with _lock:
        if secret not in _forms:
            _forms[secret] = _patterns(secret)
            # The longest first: a password that is a part of a key must not leave the rest of the key standing.
            every = sorted((form for forms in _forms.values() for form in forms), key=len, reverse=True)
            _pattern = re.compile("|".join(dict.fromkeys(every)))


def redact(text: str) -> str:
    """The text without secrets.

    >>> remember("sk-doctest-0123456789")
    >>> redact("the key sk-doctest-0123456789, or sk%2Ddoctest%2D0123456789, is wrong")
    'the key ***, or ***, is wrong'
    """
    return text if _pattern is None else _pattern.sub(MASK, text)


def redact_bytes(body: bytes) -> bytes:
    """The same for bytes of which nobody knows what they are."""
    if _pattern is None:
        return body
    text = body.decode("latin-1")
    found = redact(text)
    return body if found == text else found.encode("latin-1")


def redacted(value: Any) -> Any:
    """A value of JSON, without secrets in its texts and keys."""
    if _pattern is None:
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
    """One letter, in every way in which it may be written."""
    out = [re.escape(letter)]
    for byte in (f"{each:02x}" for each in letter.encode()):
        either = "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in byte)
        if len(letter.encode()) == 1:
            out += [f"%(?:25)?{either}", rf"\\{{1,2}}u00{either}", rf"\\{{1,2}}x{either}", f"&#[xX]0{{0,4}}{either};"]
    out.append(f"&#0{{0,4}}{ord(letter)};")
    out += [re.escape(quote(letter, safe=""))] if not letter.isascii() else []
    out += [rf"\\{{1,2}}{re.escape(letter)}"] if letter in "/\"'\\" else []
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
    out += [named[letter]] if letter in named else []
    return f"(?:{'|'.join(out)})"


def _torn(text: str, *, ignore_case: bool = False) -> str:
    pieces = (f"[{c}{c.upper()}]" if ignore_case and c.isalpha() else re.escape(c) for c in text)
    return _BETWEEN.join(pieces)


def _base64(secret: str) -> list[str]:
    """The letters of base64 that stand for the secret alone, wherever it begins in what was encoded: at three places of a byte."""
    out: list[str] = []
    data = secret.encode()
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        start = -(-before * 8 // 6)  # letters that also hold bits of what came before
        whole = (before + len(data)) * 8 // 6  # the last letter may hold bits of what follows
        core = coded[start:whole]
        out += [core, core.replace("+", "-").replace("/", "_")]
    return list(dict.fromkeys(out))
