"""Counts typed in instead of rows: k of n, tp fp fn tn, the four kinds of a pair of systems, wins and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index

import numpy as np

from steelyard.base.problem import SteelyardError
from steelyard.data.items import Items


def whole(value: object, what: str) -> int:
    """A whole number of 0 or more."""
    try:
        number = -1 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if number < 0:
        raise SteelyardError(f"{what} must be a whole number of 0 or more, not {value!r}.")
    return number


def _rows(count: Sequence[int], **columns: Sequence[object]) -> Items:
    kept = [i for i, c in enumerate(count) if c]
    if not kept:
        raise SteelyardError("There are no items: all counts are 0.")
    return Items.of(count=np.array([count[i] for i in kept]), **{role: [values[i] for i in kept] for role, values in columns.items()})


@dataclass(frozen=True)
class Counts:
    """What one system did, counted. items: the distinct rows; negatives: whether those that are neither are known."""

    items: Items
    negatives: bool = True

    @classmethod
    def of(cls, right: int, n: int) -> Counts:
        """So many right of n.

        >>> Counts.of(85, 100).items.total
        100
        """
        right, n = whole(right, "The number of right answers"), whole(n, "The number of items")
        if right > n:
            raise SteelyardError(f"Cannot have {right} right of {n}.", hint=f"did you mean {n}/{right}?")
        return cls(_rows((right, n - right), score=(1.0, 0.0)))

    @classmethod
    def binary(cls, *, tp: int, fp: int, fn: int, tn: int | None = None) -> Counts:
        """Hits, false alarms, misses and, where they are known, the rest, of the class "1"."""
        cells = (whole(tp, "tp"), whole(fp, "fp"), whole(fn, "fn"), 0 if tn is None else whole(tn, "tn"))
        return cls(_rows(cells, truth=("1", "0", "1", "0"), prediction=("1", "1", "0", "0")), tn is not None)

    @classmethod
    def table(cls, cells: Mapping[tuple[str, str], int]) -> Counts:
        """(truth, prediction) to how many."""
        pairs = sorted(cells)
        return cls(_rows([whole(cells[pair], "A cell") for pair in pairs], truth=[t for t, _ in pairs], prediction=[p for _, p in pairs]))


@dataclass(frozen=True)
class JointCounts:
    """What two systems did on the same items, counted: rows of either, in the same order."""

    one: Items
    two: Items

    @classmethod
    def flips(cls, *, both: int, baseline_only: int, candidate_only: int, neither: int) -> JointCounts:
        """How many items both got right, one of them alone, or neither.

        >>> JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76).one.total
        1000
        """
        named = {"both": both, "baseline_only": baseline_only, "candidate_only": candidate_only, "neither": neither}
        cells = [whole(value, name) for name, value in named.items()]
        return cls(_rows(cells, score=(1.0, 1.0, 0.0, 0.0)), _rows(cells, score=(1.0, 0.0, 1.0, 0.0)))

    @classmethod
    def wins(cls, wins: int, ties: int, losses: int) -> JointCounts:
        """How often the candidate was preferred, neither was, the baseline was."""
        cells = [whole(value, name) for value, name in ((wins, "wins"), (ties, "ties"), (losses, "losses"))]
        return cls(_rows(cells, score=(0.0, 0.0, 1.0)), _rows(cells, score=(1.0, 0.0, 0.0)))
