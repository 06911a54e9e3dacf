"""What was probably meant by a word that nobody knows: typing mistakes first, then words that look alike."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that was probably meant.

    >>> nearest("tetha", ["alpha", "theta"])
    'theta'
    """
    import difflib

    asked, by_lower = word.lower(), {name.lower(): name for name in known}
    # Typing mistakes first: difflib sees no swapped letters, and takes tetha for beta.
    slips = [
        (many, sorted(asked) != sorted(name), -difflib.SequenceMatcher(None, asked, name).ratio(), name)
        for name in by_lower
        if (many := _slips(asked, name)) <= max(1, (len(asked) + 1) // 3)
    ]
    if slips:
        return by_lower[min(slips)[-1]]
    found = nearest_few(word, by_lower.values(), most=1, cutoff=cutoff)
    return found[0] if found else None


def nearest_few(word: str, known: Iterable[str], *, most: int = 3, cutoff: float = 0.5) -> list[str]:
    """The known words that are most like this one, the nearest first."""
    import difflib

    by_lower = {name.lower(): name for name in known}
    return [by_lower[found] for found in difflib.get_close_matches(word.lower(), by_lower, n=most, cutoff=cutoff)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint with the known word that was probably meant; nothing if none is like it.

    >>> did_you_mean("quant_alg", ["quant_algo", "dtype"])
    "did you mean 'quant_algo'?"
    """
    near = nearest(word, known, cutoff=0.5)
    return f"did you mean {near!r}?" if near else ""


def _slips(one: str, other: str) -> int:
    """How many letters were left out, added, mistaken or swapped with their neighbour (optimal string alignment)."""
    if abs(len(one) - len(other)) > len(one):
        return len(one) + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, there in enumerate(other, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != there)))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == there:
                row[j] = min(row[j], last[j - 2] + 1)
    return row[-1]
