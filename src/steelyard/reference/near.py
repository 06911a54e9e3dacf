"""The nearest of the known words, for a hint."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard import options


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint with the known word that is most like this one; nothing if none is.

    >>> nearest("quant_alg", ["quant_algo", "dtype"])
    "'quant_algo' is near"
    """
    found = options.nearest(word, known, cutoff=0.5)
    return "" if found is None else f"{found!r} is near"
