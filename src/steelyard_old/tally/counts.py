"""Counts: truth x prediction, whole numbers, only the cells that occur.

Every metric of a table (accuracy, precision, recall, F, MCC, kappa, and their averages) depends on the items through
this table alone, so everything after counting costs the same for a thousand items and for a billion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from operator import index
from typing import TYPE_CHECKING, Any, Literal

from steelyard_old.errors import DataError, UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.tally.spelling import label_order

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from steelyard_old.tally.sums import Sums

    IntArray = npt.NDArray[np.int64]

Kind = Literal["labels", "outcomes", "binary"]
# Ranges in which scores that are all 0 or 1 mean right and wrong: in another, 0 and 1 are scores as others.
OF_OUTCOMES = (None, (0.0, 1.0))
FEW = 10  # items of a class below which no interval of an average over classes covers
MISSING = "(missing)"  # what an unanswered item counts as having predicted, under --missing wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """A table of counts, as parallel columns over its occupied cells sorted by (truth, prediction).

    The first `classes` labels are the classes over which averages run; a label after them is a stray: it was
    predicted, but it is not in the declared set. kind "outcomes" is k of n, where only right or wrong is known;
    kind "binary" has one positive class, and `negatives_known` is False when the true negatives were not given.
    """

    labels: tuple[str, ...]
    truth: tuple[int, ...]
    prediction: tuple[int, ...]
    count: tuple[int, ...]
    classes: int
    kind: Kind = "labels"
    negatives_known: bool = True
    _margins: list[tuple[int, int, int, int]] | None = field(default=None, init=False, repr=False, compare=False)
    _total: int | None = field(default=None, init=False, repr=False, compare=False)

    # ---- doors -----------------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, right: int, n: int) -> Counts:
        """k right answers of n: enough for accuracy, error and mean.

        >>> Counts.of(85, 100).n
        100
        """
        right, n = whole(right, "the number of right answers"), whole(n, "the number of items")
        if right > n:
            raise UsageError(
                f"Cannot have {right} right of {n}.", got=f"{right} > {n}", need="right <= n", hint=f"did you mean {n}/{right}?"
            )
        return _table({(0, 0): right, (0, 1): n - right}, ("right", "wrong"), kind="outcomes")

    @classmethod
    def binary(cls, *, tp: int, fp: int, fn: int, tn: int | None = None) -> Counts:
        """The four cells of a two-class table; without tn, metrics that need true negatives are errors.

        >>> Counts.binary(tp=31, fp=5, fn=2).n
        38
        """
        cells = {(1, 1): whole(tp, "tp"), (0, 1): whole(fp, "fp"), (1, 0): whole(fn, "fn")}
        cells[0, 0] = 0 if tn is None else whole(tn, "tn")
        return _table(cells, ("negative", "positive"), kind="binary", negatives_known=tn is not None)

    @classmethod
    def table(cls, cells: Mapping[tuple[str, str], int] | Sequence[Sequence[int]], *, labels: Sequence[str] | None = None) -> Counts:
        """A confusion table: {(truth, prediction): count}, or rows of counts with the labels of rows and columns.

        >>> Counts.table([[8, 2], [1, 9]], labels=["cat", "dog"]).n
        20
        """
        if not isinstance(cells, Mapping):
            names = tuple(map(str, labels)) if labels is not None else tuple(str(i) for i in range(len(cells)))
            if len(names) != len(cells) or any(len(row) != len(cells) for row in cells):
                raise UsageError(
                    f"The table has {len(cells)} rows for {len(names)} labels; it needs as many rows and columns as labels.",
                    got=f"{len(cells)} rows for {len(names)} labels",
                    need="as many rows and columns as labels",
                )
            return _table({(i, j): whole(c, "a cell") for i, row in enumerate(cells) for j, c in enumerate(row)}, names)
        used = {label for pair in cells for label in pair}
        names, classes = declared(labels, truths={t for t, _ in cells}, used=used)
        code = {name: i for i, name in enumerate(names)}
        return _table({(code[t], code[p]): whole(c, "a cell") for (t, p), c in cells.items()}, names, classes=classes)

    # ---- what it knows ---------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """How many items were counted."""
        if self._total is None:  # asked once per class
            object.__setattr__(self, "_total", sum(self.count))
        assert self._total is not None
        return self._total

    @property
    def right(self) -> int:
        """How many items lie on the diagonal."""
        return sum(c for t, p, c in self.cells() if t == p)

    @property
    def class_labels(self) -> tuple[str, ...]:
        return self.labels[: self.classes]

    @property
    def strays(self) -> dict[str, int]:
        """Predicted labels outside the declared set, with how often they occur."""
        found = dict.fromkeys(self.labels[self.classes :], 0)
        for _, p, c in self.cells():
            if p >= self.classes:
                found[self.labels[p]] += c
        return found

    def cells(self) -> Iterable[tuple[int, int, int]]:
        """(truth, prediction, count) of each occupied cell, in label order."""
        return zip(self.truth, self.prediction, self.count, strict=True)

    def class_margins(self, label: int) -> tuple[int, int, int, int]:
        """(hits, truths, predictions, n) of one class, as exact integers: the four numbers its metrics need."""
        if self._margins is None:  # one pass serves every class: a thousand classes would otherwise mean a thousand passes
            hit, truths, predictions = ([0] * len(self.labels) for _ in range(3))
            for t, p, c in self.cells():
                truths[t] += c
                predictions[p] += c
                if t == p:
                    hit[t] += c
            object.__setattr__(self, "_margins", list(zip(hit, truths, predictions, [self.n] * len(hit), strict=True)))
        assert self._margins is not None
        return self._margins[label]

    def pooled_margins(self) -> tuple[int, int, int, int]:
        """The same over all classes together; predictions outside the classes (strays) are predictions of none."""
        each = [self.class_margins(label) for label in range(len(self.labels))]
        return sum(m[0] for m in each), self.n, sum(m[2] for m in each[: self.classes]), self.n

    def code(self, label: object) -> int:
        """The position of a class by its name, or an error that lists the names."""
        text = str(label)
        if text not in self.class_labels:
            shown = ", ".join(map(repr, self.class_labels[:12])) + (" ..." if self.classes > 12 else "")
            raise UsageError(
                f"No class {text!r}; the labels are {shown}.",
                got=f"labels {shown}",
                need="one of them",
                hint="labels match by their text, case included",
            )
        return self.class_labels.index(text)

    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        """The three columns as int64 arrays."""
        import numpy as np

        return np.asarray(self.truth, np.int64), np.asarray(self.prediction, np.int64), np.asarray(self.count, np.int64)

    def __add__(self, other: Counts) -> Counts:
        """The table of both samples together; labels are matched by name."""
        if not isinstance(other, Counts):
            return NotImplemented
        if (self.kind, self.negatives_known) != (other.kind, other.negatives_known):
            raise DataError(
                f"Two tallies of different kinds cannot be added: {self.kind} and {other.kind}.",
                got=f"{self.kind} and {other.kind}",
                need="two of one kind",
            )
        if self.class_labels == other.class_labels:
            names: tuple[str, ...] = (*self.class_labels, *label_order({*self.labels[self.classes :], *other.labels[other.classes :]}))
            classes = self.classes
        else:
            names = label_order({*self.class_labels, *other.class_labels})
            classes = len(names)
            names += label_order(({*self.labels} | {*other.labels}) - set(names))
        code = {name: i for i, name in enumerate(names)}
        total: dict[tuple[int, int], int] = {}
        for part in (self, other):
            for t, p, c in part.cells():
                key = code[part.labels[t]], code[part.labels[p]]
                total[key] = total.get(key, 0) + c
        return _table(total, names, classes=classes, kind=self.kind, negatives_known=self.negatives_known)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the labels and the occupied cells [truth, prediction, count] as positions in the labels."""
        return {
            "kind": self.kind,
            "labels": list(self.labels),
            "classes": self.classes,
            "negatives_known": self.negatives_known,
            "cells": [list(cell) for cell in self.cells()],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Counts:
        cells = {(t, p): c for t, p, c in plain["cells"]}
        return _table(cells, tuple(plain["labels"]), classes=plain["classes"], kind=plain["kind"], negatives_known=plain["negatives_known"])


def whole(value: object, name: str) -> int:
    """A count: a whole number that is not negative."""
    try:
        number = None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:  # NumPy's arrays have an __index__ too
        number = None
    if number is None:
        raise UsageError(
            f"Cannot use {value!r} as {name}: it must be a whole number.", need="a whole number", hint="counts are whole numbers of items"
        )
    if number < 0:
        raise UsageError(f"Cannot use {number} as {name}: it must be 0 or more.", need="0 or more")
    return int(number)


def declared(labels: Sequence[str] | None, *, truths: set[str], used: set[str]) -> tuple[tuple[str, ...], int]:
    """The names of a table and how many of them are classes: the declared ones first, strays after them."""
    if labels is None:
        return label_order(used), len(used)
    names = tuple(map(str, labels))
    if len(set(names)) != len(names):
        raise UsageError(
            f"The declared labels repeat one: {', '.join(map(repr, names))}.",
            got=f"a repeated label in {', '.join(map(repr, names))}",
            need="each label once",
        )
    if outside := truths - set(names):
        first = label_order(outside)[0]
        raise DataError(
            f"{len(outside)} {'label' if len(outside) == 1 else 'labels'} of the truth {'is' if len(outside) == 1 else 'are'} not "
            f"among the declared labels, such as {first!r}.",
            got=f"{len(outside)} label(s) in the truth that are not declared, such as {first!r}",
            need="every truth among the labels",
            hint="add it to labels=, or leave labels= out",
        )
    return names + label_order(used - set(names)), len(names)


def _table(
    cells: Mapping[tuple[int, int], int],
    labels: tuple[str, ...],
    *,
    classes: int | None = None,
    kind: Kind = "labels",
    negatives_known: bool = True,
) -> Counts:
    occupied = sorted((t, p, c) for (t, p), c in cells.items() if c)
    truth, prediction, count = zip(*occupied, strict=True) if occupied else ((), (), ())
    return Counts(
        labels=labels,
        truth=truth,
        prediction=prediction,
        count=count,
        classes=len(labels) if classes is None else classes,
        kind=kind,
        negatives_known=negatives_known,
    )


@dataclass(frozen=True, slots=True)
class TableTally:
    """The table of all rows, and for items that belong together the margins of every unit."""

    counts: Counts
    units: Sums | None = None
    kind: str = "items"
    items: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)
