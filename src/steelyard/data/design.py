"""Designs: which rows are one unit, and what they weigh. Items, repeats, groups, weights and strata differ by nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.base.problem import SteelyardError
from steelyard.data.items import Items


class Design(NamedTuple):
    """item: the code of each row's item, where items were answered several times. group, stratum: codes of rows. weight: of rows."""

    item: IntArray | None = None
    group: IntArray | None = None
    weight: FloatArray | None = None
    stratum: IntArray | None = None

    @property
    def kind(self) -> str:
        """The kind of its units: items, repeats (an item with all its answers), groups, or weights (items that weigh differently)."""
        if self.group is not None:
            return "groups"
        return "repeats" if self.item is not None else "items" if self.weight is None else "weights"

    @property
    def unit(self) -> IntArray | None:
        """The code of each row's unit; None where every row is one."""
        return self.item if self.group is None else self.group

    def shares(self, n: int) -> FloatArray:
        """What each row weighs: repeats of an item share its weight."""
        weight = np.ones(n) if self.weight is None else self.weight
        return weight if self.item is None else weight / np.bincount(self.item)[self.item]


def design_of(items: Items) -> Design:
    """The design that the columns of items say: group, weight, stratum, and repeats where ids occur more than once.

    >>> design_of(Items.of(id=["a", "a", "b"], repeat=[0, 1, 0], score=[1, 0, 1])).kind
    'repeats'
    """
    item = None
    if "repeat" in items:
        if "id" not in items:
            raise SteelyardError("Repeats need an id column that says which rows are the same item.", hint="name it with id=")
        code = items.labels("id").codes
        item = code if len(code) and np.bincount(code).max() > 1 else None
    group = without_gaps(items.labels("group").codes) if "group" in items else None
    stratum = without_gaps(items.labels("stratum").codes) if "stratum" in items else None
    return Design(item, group, weights(items), stratum)


def weights(items: Items) -> FloatArray | None:
    """The weights of rows, checked: finite, none below 0, not all 0."""
    if "weight" not in items:
        return None
    weight = items.numbers("weight")
    if np.isnan(weight).any() or (weight < 0).any() or not weight.sum() > 0:
        raise SteelyardError("Weights must be numbers of 0 or more, and not all 0.", hint="leave out the items that should not count")
    return weight


def whole_weights(items: Items) -> Items:
    """Weights that are whole numbers say how often an item occurred: they become its count.

    >>> whole_weights(Items.of(score=[1, 0], weight=[3, 1])).total
    4
    """
    weight = weights(items)
    plain = items.count is None and not {"group", "repeat", "stratum"} & set(items.columns)
    if weight is None or not plain or (np.floor(weight) != weight).any() or weight.sum() > 2**53:
        return items
    kept = items.take(weight > 0)
    columns = {role: values for role, values in kept.columns.items() if role != "weight"}
    return Items(columns, kept.n, weight[weight > 0].astype(np.int64))


def expanded(items: Items) -> Items:
    """Every row as often as it counts: counts are for items alone that nothing holds together."""
    if items.count is None or not {"group", "repeat", "weight", "stratum"} & set(items.columns):
        return items
    rows = items.take(np.repeat(np.arange(items.n), items.count))
    return Items(rows.columns, rows.n)


def without_gaps(codes: IntArray) -> IntArray:
    """Codes 0, 1, 2, ... in the same order."""
    if len(codes) and codes.min() >= 0 and codes.max() < 64 + 4 * len(codes):  # nothing needs to be sorted
        seen = np.zeros(int(codes.max()) + 1, bool)
        seen[codes] = True
        return np.asarray((np.cumsum(seen) - 1)[codes])
    found: IntArray = np.unique(codes, return_inverse=True)[1].ravel()
    return found
