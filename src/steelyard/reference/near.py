"""The nearest of the known words, for a hint."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint with the known word that is most like this one; nothing if none is.

    >>> nearest("quant_alg", ["quant_algo", "dtype"])
    "'quant_algo' is near"
    """
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"{found[0]!r} is near" if found else ""
