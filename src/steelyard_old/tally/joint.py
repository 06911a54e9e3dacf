"""JointCounts: truth x baseline x candidate, whole numbers, only the cells that occur.

The pair of reductions is not the reduction of the pair: two separate tables have lost which items both systems got
right. So pairing happens before counting, and this is its tally.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard_old.errors import DataError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.tally.counts import Counts, Kind, whole

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]


class Flips(NamedTuple):
    """Items by who is right: both, the baseline only, the candidate only, neither."""

    both: int
    baseline_only: int
    candidate_only: int
    neither: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCounts:
    """Parallel columns over the occupied cells, sorted by (truth, baseline, candidate); labels as in Counts."""

    labels: tuple[str, ...]
    truth: tuple[int, ...]
    baseline: tuple[int, ...]
    candidate: tuple[int, ...]
    count: tuple[int, ...]
    classes: int
    kind: Kind = "labels"

    @classmethod
    def flips(cls, *, both: int, baseline_only: int, candidate_only: int, neither: int) -> JointCounts:
        """Right or wrong of two systems on the same items.

        >>> JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76).n
        1000
        """
        named = {"both": both, "baseline_only": baseline_only, "candidate_only": candidate_only, "neither": neither}
        numbers = [whole(value, name) for name, value in named.items()]
        count = tuple(filter(None, numbers))
        return cls(
            labels=("right", "wrong"),
            truth=(0,) * len(count),
            baseline=tuple(compress((0, 0, 1, 1), numbers)),
            candidate=tuple(compress((0, 1, 0, 1), numbers)),
            count=count,
            classes=2,
            kind="outcomes",
        )

    @property
    def n(self) -> int:
        """How many items both systems answered."""
        return sum(self.count)

    def cells(self) -> Iterable[tuple[int, int, int, int]]:
        """(truth, baseline, candidate, count) of each occupied cell."""
        return zip(self.truth, self.baseline, self.candidate, self.count, strict=True)

    def outcomes(self) -> Flips:
        """Who is right on how many items."""
        found = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
        for t, a, b, c in self.cells():
            found[t == a, t == b] += c
        return Flips(found[True, True], found[True, False], found[False, True], found[False, False])

    def side(self, which: str) -> Counts:
        """The table of one system alone: "baseline" or "candidate"."""
        total: dict[tuple[int, int], int] = {}
        for t, a, b, c in self.cells():
            key = t, a if which == "baseline" else b
            total[key] = total.get(key, 0) + c
        occupied = sorted((t, p, c) for (t, p), c in total.items())
        columns = list(zip(*occupied, strict=True)) if occupied else [(), (), ()]
        return Counts(labels=self.labels, truth=columns[0], prediction=columns[1], count=columns[2], classes=self.classes, kind=self.kind)

    def swapped(self) -> JointCounts:
        """Baseline and candidate exchanged."""
        return joint_table({(t, b, a): c for t, a, b, c in self.cells()}, self.labels, classes=self.classes, kind=self.kind)

    def arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The four columns as int64 arrays."""
        import numpy as np

        columns = (np.asarray(x, np.int64) for x in (self.truth, self.baseline, self.candidate, self.count))
        return tuple(columns)  # type: ignore[return-value]

    def __add__(self, other: JointCounts) -> JointCounts:
        """Both samples together, over the same labels."""
        if not isinstance(other, JointCounts):
            return NotImplemented
        if (self.labels, self.classes, self.kind) != (other.labels, other.classes, other.kind):
            raise DataError(
                "Two joint tallies can only be added if they have the same labels in the same order.",
                got="different labels",
                need="the same labels in the same order",
            )
        total = {(t, a, b): c for t, a, b, c in self.cells()}
        for t, a, b, c in other.cells():
            total[t, a, b] = total.get((t, a, b), 0) + c
        return joint_table(total, self.labels, classes=self.classes, kind=self.kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the labels and the occupied cells [truth, baseline, candidate, count]."""
        return {"kind": self.kind, "labels": list(self.labels), "classes": self.classes, "cells": [list(cell) for cell in self.cells()]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> JointCounts:
        cells = {(t, a, b): c for t, a, b, c in plain["cells"]}
        return joint_table(cells, tuple(plain["labels"]), classes=plain["classes"], kind=plain["kind"])


def joint_table(
    cells: Mapping[tuple[int, int, int], int], labels: tuple[str, ...], *, classes: int | None = None, kind: Kind = "labels"
) -> JointCounts:
    """JointCounts of a mapping of cells; empty ones are left out."""
    occupied = sorted((t, a, b, c) for (t, a, b), c in cells.items() if c)
    columns: Any = list(zip(*occupied, strict=True)) if occupied else [(), (), (), ()]
    blank = JointCounts(
        labels=labels, truth=(), baseline=(), candidate=(), count=(), classes=len(labels) if classes is None else classes, kind=kind
    )
    return replace(blank, truth=columns[0], baseline=columns[1], candidate=columns[2], count=columns[3])
