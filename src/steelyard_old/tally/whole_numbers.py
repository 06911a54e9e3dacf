"""Ids that are whole numbers, kept as numbers: a million of them need no million texts to be sorted, looked up and paired."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, repeat
from operator import gt

import numpy as np
import numpy.typing as npt

from steelyard_old.items import DIGITS, WholeNumbers

IntArray = npt.NDArray[np.int64]


def text_order(numbers: IntArray) -> IntArray:
    """The places of different numbers in the order of their texts: 1, 10, 2; those below 0 first, as their sign says.

    >>> numbers = np.array([-2, -10, 2, 10, 1, 0])
    >>> numbers[text_order(numbers)].tolist()
    [-10, -2, 0, 1, 10, 2]
    """
    size = np.abs(numbers)
    shift = 10 ** np.arange(DIGITS, -1, -1, dtype=np.int64)
    first = size * shift[np.searchsorted(shift[::-1][:DIGITS], size, side="right")]  # the digits, as if there were eighteen of them
    return np.lexsort((size, first, numbers >= 0))  # of 1, 10 and 100 the shortest comes first


def in_text_order(names: Sequence[str], places: IntArray) -> IntArray:
    """These places of a list of names, in the order of the names."""
    if isinstance(names, WholeNumbers):
        return places[text_order(names.numbers[places])]
    chosen = picked(names, places)
    if not any(map(gt, chosen, islice(chosen, 1, None))):
        return places
    return places[np.array(sorted(range(len(chosen)), key=chosen.__getitem__), np.int64)]


def picked(names: Sequence[str], places: IntArray) -> Sequence[str]:
    """The names at these places."""
    if isinstance(names, WholeNumbers):
        return WholeNumbers(names.numbers[places])
    if len(places) == len(names) and bool((places == np.arange(len(names))).all()):
        return names  # all of them, as they are
    return tuple(map(names.__getitem__, places.tolist()))


def places_of(names: Sequence[str], keys: Sequence[str]) -> IntArray:
    """The place of each of the names among the keys, which are all different; -1 where it is not among them.

    >>> places_of(("b", "x"), ("a", "b")).tolist()
    [1, -1]
    """
    if isinstance(names, WholeNumbers) and isinstance(keys, WholeNumbers):
        if not len(keys):
            return np.full(len(names), -1, np.int64)
        order = np.argsort(keys.numbers, kind="stable")
        grown = keys.numbers[order]
        at = np.minimum(np.searchsorted(grown, names.numbers), len(grown) - 1)
        return np.where(grown[at] == names.numbers, order[at], -1)
    if names == keys:  # nothing has to be looked up
        return np.arange(len(keys))
    code = dict(zip(keys, range(len(keys)), strict=True))
    return np.fromiter(map(code.get, names, repeat(-1)), np.int64, len(names))
