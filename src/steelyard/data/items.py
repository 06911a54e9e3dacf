"""Items: rows as columns, each row as often as its count says; and the view of them that a metric reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.base.problem import SteelyardError
from steelyard.base.words import did_you_mean, many, several
from steelyard.data.labels import Labels, label_order

LABELS = ("id", "group", "repeat", "stratum")  # roles that are always labels; truth and prediction are what the metric reads them as
PAIRS_AT_ONCE = 1 << 18  # rows of one pass in which two rows are one 16-bit number
SQUARES = 1e75  # beyond it, and below its inverse, the square of a number is no float64


@dataclass(frozen=True, eq=False)
class Items:
    """columns: role to values, one per row. count: how many items a row stands for, where rows are distinct ones."""

    columns: Mapping[str, Any]
    n: int
    count: IntArray | None = None
    _read: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, *, count: Any = None, **columns: Any) -> Items:
        """Items of columns by role: id, truth, prediction, score, probability, group, repeat, weight, above, below, or any other.

        >>> Items.of(truth=["a", "b"], prediction=["a", "a"]).n
        2
        """
        given = {role: values for role, values in columns.items() if values is not None}
        sizes = {role: len(values.codes if isinstance(values, Labels) else values) for role, values in given.items()}
        if len(set(sizes.values())) != 1:
            said = several([f"{role} has {n:,}" for role, n in sizes.items()]) or "no column was given"
            raise SteelyardError(f"The columns must have one value for each item: {said}.")
        n = next(iter(sizes.values()))
        if n == 0:
            raise SteelyardError("There are no items.", hint="is the file empty, or does it have a header alone?")
        often = None if count is None else np.asarray(count, np.int64)
        return cls(given, n, often)

    def __contains__(self, role: str) -> bool:
        return role in self.columns

    @property
    def total(self) -> int:
        """How many items there are: every row as often as it counts."""
        return self.n if self.count is None else int(self.count.sum())

    def labels(self, role: str) -> Labels:
        """A column as labels."""
        if ("labels", role) not in self._read:
            self._require(role)
            values = self.columns[role]
            self._read["labels", role] = values if isinstance(values, Labels) else Labels.of(values, f"column {role}")
        found: Labels = self._read["labels", role]
        return found

    def numbers(self, role: str) -> FloatArray:
        """A column as numbers; NaN where there is none."""
        if ("numbers", role) not in self._read:
            self._require(role)
            values = self.columns[role]
            if isinstance(values, Labels):
                numbers = values.numbers(role)
            else:
                try:
                    numbers = np.asarray(values, float)
                except (TypeError, ValueError):
                    numbers = Labels.of(values, f"column {role}").numbers(role)
            if np.isinf(numbers).any():
                row = int(np.argmax(np.isinf(numbers)))
                raise SteelyardError(f"The {role} in row {row + 1} is infinite.", hint="leave the field empty if the item failed")
            if len(numbers) and role != "weight" and float(np.nanmax(np.abs(numbers), initial=0.0)) > SQUARES:
                raise SteelyardError(f"The {role} has numbers beyond {SQUARES:g}, whose squares are no float64.", hint="use another unit")
            self._read["numbers", role] = numbers
        found: FloatArray = self._read["numbers", role]
        return found

    def _require(self, role: str) -> None:
        if role not in self.columns:
            raise SteelyardError(f"There is no column for {role}.", hint=did_you_mean(role, [r for r in self.columns if r != "weight"]))

    def take(self, rows: npt.NDArray[Any]) -> Items:
        """Some rows, by a mask or by their places."""

        def cut(values: Any) -> Any:
            return values.take(rows) if isinstance(values, Labels) else np.asarray(values)[rows]

        columns = {role: cut(self.labels(role) if role in LABELS else values) for role, values in self.columns.items()}
        n = int(rows.sum()) if rows.dtype == bool else len(rows)
        return Items(columns, n, None if self.count is None else self.count[rows])

    def with_columns(self, **columns: Any) -> Items:
        """The same rows with columns put in or replaced."""
        return replace(self, columns={**self.columns, **columns}, _read={})

    @property
    def right_or_wrong(self) -> bool:
        """Whether every score is 0 or 1."""
        score = self.numbers("score")
        return bool(((score == 0) | (score == 1)).all())


def settle(items: Items, roles: Sequence[str], missing: str, worst: float | None = None) -> tuple[Items, list[str]]:
    """What is missing in these roles is refused, left out, or counted as wrong; and what was done, in words.

    worst: the score of an item that failed, where the scores have one.
    """
    notes: list[str] = []
    for role in roles:
        column = items.columns[role]
        as_labels = (
            role in LABELS or isinstance(column, Labels) or (role in ("truth", "prediction") and np.asarray(column).dtype.kind != "f")
        )
        gone = items.labels(role).missing if as_labels else np.isnan(items.numbers(role))
        if not gone.any():
            continue
        said = f"{int(gone.sum()):,} of {many(items.n, 'row')} without a {role}"
        countable = as_labels if role == "prediction" else role == "score" and worst is not None
        if missing == "drop":
            notes.append(f"{said} left out (missing=drop)")
            items = items.take(~gone)
            if not items.n:
                raise SteelyardError("No items are left after those with missing values were left out.")
        elif missing == "wrong" and countable:
            notes.append(f"{said} counted as wrong (missing=wrong)")
            if worst is not None and role == "score":
                items = items.with_columns(score=np.where(gone, worst, items.numbers("score")))
        else:
            hint = "missing=wrong counts them as wrong, missing=drop leaves them out" if countable else "missing=drop leaves them out"
            raise SteelyardError(f"{said[0].upper()}{said[1:]}, the first in row {int(np.argmax(gone)) + 1}.", hint=hint)
    return items, notes


# ---- what a metric reads ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class View:
    """The columns that a metric reads, ready for arithmetic; `adds` gets nothing else.

    truth, prediction: codes 0 .. classes - 1 of labels, `classes` for what is outside of them. positive: the code of the class that
    a metric of one class is about. outcome: 1.0 where the truth is that class. Other roles are arrays of numbers by their name.
    """

    n: int
    columns: Mapping[str, Any]
    classes: int = 0
    positive: int = -1
    count: IntArray | None = None
    absent: str | None = None

    def __getattr__(self, role: str) -> Any:
        try:
            return self.columns[role]
        except KeyError:
            raise AttributeError(role) from None


@dataclass(frozen=True)
class Classes:
    """The labels that are classes, in order, and the one that a metric of one class is about."""

    names: tuple[str, ...]
    positive: str | None = None

    def code(self, label: str) -> int:
        """The place of a class."""
        if label not in self.names:
            raise SteelyardError(f"There is no class {label!r}; the labels are {several(self.names, 12)}.", hint="labels match by text")
        return self.names.index(label)


def classes_of(sides: Sequence[Items], declared: Sequence[str] | None = None, positive: str | None = None) -> Classes:
    """The classes of one run or of several: all labels that occur, or those declared.

    >>> classes_of([Items.of(truth=["0", "1"], prediction=["1", "1"])]).positive
    '1'
    """
    truths = {name for items in sides for name in items.labels("truth").present()}
    said = {name for items in sides if "prediction" in items for name in items.labels("prediction").present()}
    names = label_order(truths | said) if declared is None else tuple(map(str, declared))
    if outside := sorted(truths - set(names)):
        raise SteelyardError(f"{many(len(outside), 'label')} of the truth not among the declared: {several(outside)}.", hint="add them")
    if positive is None:
        positive = next(
            (one for zero, one in (("0", "1"), ("False", "True"), ("false", "true"), ("0.0", "1.0")) if set(names) <= {zero, one}), None
        )
    found = Classes(names, positive)
    if positive is not None and positive not in names and len(names) > 1:
        found.code(positive)
    return found


def view(items: Items, reads: Sequence[str], classes: Classes | None = None, absent: str | None = None) -> View:
    """The view of one run; labels of the same run are counted first, so that equal rows are one row with a count."""
    columns: dict[str, Any] = {}
    count = items.count
    for role in reads:
        if role == "outcome":
            columns[role] = outcome(items, classes)
        elif role.endswith("_raw"):
            values = items.columns[role.removesuffix("_raw")]
            columns[role] = np.array([*values.names, None], object)[values.codes] if isinstance(values, Labels) else np.asarray(values)
        elif role in ("truth", "prediction"):
            assert classes is not None
            columns[role] = items.labels(role).among(classes.names, len(classes.names))
        else:
            columns[role] = items.numbers(role.removesuffix("_value"))
    k = 0 if classes is None else len(classes.names)
    positive = (
        -1 if classes is None or classes.positive is None or classes.positive not in classes.names else classes.code(classes.positive)
    )
    return View(items.n, columns, k, positive, count, absent)


def outcome(items: Items, classes: Classes | None) -> FloatArray:
    """1.0 for the items of the positive class, else 0.0."""
    assert classes is not None
    if classes.positive is None:
        raise SteelyardError(
            f"Which class is the probability of? The labels are {several(classes.names, 12)}.", hint="name it: positive=LABEL"
        )
    truth = items.labels("truth")
    return np.array([*(float(name == classes.positive) for name in truth.names), 0.0])[truth.codes]


def cells(codes: Sequence[IntArray], width: int, count: IntArray | None = None) -> tuple[list[IntArray], IntArray]:
    """The distinct rows of columns of codes below `width`, in the order of their codes, and how often each occurs."""
    size = width ** len(codes)
    if count is None and len(codes) == 2 and size <= 256 and len(codes[0]) >= PAIRS_AT_ONCE:
        often = _two_rows_at_once(codes[0], codes[1], width)[:size]
    elif size <= min(4_000_000, 256 + 100 * len(codes[0])):  # else few rows are sorted
        often = np.zeros(size, np.int64)
        for start in range(0, len(codes[0]), 65_536):  # rows counted at a time: the joint code stays in the cache
            part = slice(start, start + 65_536)
            found = np.bincount(_joint(codes, width, part), None if count is None else count[part], size)
            often += found.astype(np.int64)
    else:
        if size >= 2**63:
            raise SteelyardError(f"{width:,} labels are too many for a table of {len(codes)} columns.")
        distinct, place = np.unique(_joint(codes, width, slice(None)), return_inverse=True)
        return _apart(distinct, width, len(codes)), np.bincount(place, count).astype(np.int64)
    occupied = np.flatnonzero(often)
    return _apart(occupied, width, len(codes)), often[occupied]


def _joint(codes: Sequence[IntArray], width: int, rows: slice) -> IntArray:
    joint = codes[0][rows].astype(np.intp)
    for column in codes[1:]:
        joint *= width
        joint += column[rows]
    return joint


def _apart(joint: IntArray, width: int, columns: int) -> list[IntArray]:
    return [joint // width**k % width for k in reversed(range(columns))]


def _two_rows_at_once(one: IntArray, other: IntArray, width: int) -> IntArray:
    """Two rows are one 16-bit number: half as many to count, and both bytes are added up at the end."""
    pairs, last = np.zeros(65_536, np.int64), np.zeros(256, np.int64)
    for start in range(0, len(one), PAIRS_AT_ONCE):
        rows = slice(start, start + PAIRS_AT_ONCE)
        code = one[rows].astype(np.uint8)  # always a copy: the next lines write into it
        code *= np.uint8(width % 256)
        code += other[rows].astype(np.uint8, copy=False)
        if len(code) % 2:
            last[code[-1]] += 1
            code = code[:-1]
        pairs += np.bincount(code.view(np.uint16), minlength=65_536)
    square = pairs.reshape(256, 256)  # by either byte; both sums are taken, so byte order does not matter
    found: IntArray = square.sum(0) + square.sum(1) + last
    return found
