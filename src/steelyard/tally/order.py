"""The order of labels: numeric if all of them parse as numbers, else by code point. Draws run over cells in it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

# Plain decimal notation only: Python's float() would also take "nan", "1_000" and " 7", which are texts to a reader.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)


def label_order(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels, each once, in the one order that the whole project uses.

    >>> label_order(["10", "9", "1"])
    ('1', '9', '10')
    >>> label_order(["b", "a", "10"])
    ('10', 'a', 'b')
    """
    distinct = set(labels)
    if all(_NUMBER.match(label) and math.isfinite(float(label)) for label in distinct):
        return tuple(sorted(distinct, key=lambda label: (float(label), label)))
    return tuple(sorted(distinct))


def same_number(labels: Iterable[str]) -> list[tuple[str, ...]]:
    """Sets of labels that are one number written in several ways, such as 1 and 1.0.

    >>> same_number(["1", "1.0", "2", "a"])
    [('1', '1.0')]
    """
    spellings: dict[float, set[str]] = {}
    for label in labels:
        if _NUMBER.match(label):
            spellings.setdefault(float(label), set()).add(label)
    return [tuple(sorted(group)) for group in spellings.values() if len(group) > 1]
