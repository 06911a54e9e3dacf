"""Words of messages: did you mean, several names, how many."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint for a name that nobody knows.

    >>> did_you_mean("acuracy", ["accuracy", "auc"])
    'did you mean accuracy?'
    >>> did_you_mean("zzz", ["accuracy", "auc"])
    'accuracy, auc'
    """
    names = list(known)
    near = difflib.get_close_matches(word, names, 1, 0.6)
    return f"did you mean {near[0]}?" if near else several(names, 40)


def several(names: Sequence[object], most: int = 5) -> str:
    """The first names of a list, and how many more there are.

    >>> several(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def many(n: int, word: str) -> str:
    """A number with its word.

    >>> many(1, "class"), many(2_000, "class"), many(3, "item")
    ('1 class', '2,000 classes', '3 items')
    """
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}{'es' if word.endswith('s') else 's'}"
