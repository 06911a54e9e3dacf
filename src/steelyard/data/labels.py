"""Labels: a column of texts as codes with names. Labels match by their text; one value spelled in two ways is an error."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import IntArray
from steelyard.base.problem import SteelyardError

# Plain decimal notation only: Python's float() would also take "nan", "1_000" and " 7", which are texts to a reader.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
WHOLE_NUMBERS = 1 << 22  # the widest stretch of whole numbers that is counted out instead of sorted


class Labels(NamedTuple):
    """codes: the place of each row's label among `names`, in the order of labels; -1 where there is none."""

    codes: IntArray
    names: tuple[str, ...]

    @classmethod
    def of(cls, values: Sequence[Any] | npt.NDArray[Any], what: str = "labels") -> Labels:
        """A column as labels: equal texts are one label, in label order.

        >>> Labels.of(["10", "9", None])
        Labels(codes=array([ 1,  0, -1]), names=('9', '10'))
        """
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and len(values):
            low, high = int(values.min()), int(values.max())
            if high - low <= min(WHOLE_NUMBERS, 64 + 4 * len(values)):  # no sorting: the numbers themselves are codes
                width = np.uint8 if high - low < 256 else np.uint16 if high - low < 65_536 else np.int64
                codes = (values - low if low else values).astype(width, copy=False)
                used = occurring(codes, high - low + 1)
                if len(used) < high - low + 1:
                    place = np.zeros(high - low + 1, width)
                    place[used] = np.arange(len(used))
                    codes = place[codes]
                return cls(codes, tuple(map(str, (used + low).tolist())))
        if isinstance(values, np.ndarray) and values.dtype.kind in "iufbU":
            distinct, place = np.unique(values, return_inverse=True)
            rows: list[Any] = distinct.tolist()
        else:
            listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
            # 1, 1.0 and True are one key of a dictionary, so the type is part of it
            first: dict[Any, int] = {}
            place = np.fromiter((first.setdefault((type(v), v), len(first)) for v in listed), np.int64, len(listed))
            rows = [value for _, value in first]
        texts = [text_of(value) for value in rows]
        refuse_two_spellings(rows, what)
        names = label_order(text for text in texts if text is not None)
        code = {name: i for i, name in enumerate(names)}
        codes = np.array([-1 if text is None else code[text] for text in texts], np.int64)
        return cls(codes[place.ravel()], names)

    def among(self, names: Sequence[str], other: int) -> IntArray:
        """Its codes in another list of names; `other` for what is not there, and for what is missing."""
        if tuple(names[: len(self.names)]) == self.names and self.codes.dtype.kind == "u":
            return self.codes
        place = {name: i for i, name in enumerate(names)}
        return np.array([*(place.get(name, other) for name in self.names), other], np.int64)[self.codes]  # -1 is the last

    def present(self) -> tuple[str, ...]:
        """The names that occur."""
        known = self.codes if self.codes.dtype.kind == "u" else self.codes[self.codes >= 0]
        return tuple(self.names[i] for i in occurring(known, len(self.names)).tolist())

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Which rows have no label."""
        return np.asarray(self.codes < 0)

    def take(self, rows: npt.NDArray[Any]) -> Labels:
        """Some rows, with the same names."""
        return Labels(self.codes[rows], self.names)

    def numbers(self, what: str) -> npt.NDArray[np.float64]:
        """The labels read as numbers."""
        wrong = [name for name in self.names if not NUMBER.match(name)]
        if wrong:
            raise SteelyardError(f"The {what} must be numbers here, not {wrong[0]!r}.", hint="ask for a metric of labels, such as accuracy")
        return np.array([*map(float, self.names), math.nan])[self.codes]


def occurring(codes: IntArray, width: int) -> IntArray:
    """Which of 0 .. width - 1 occur; it reads no further than it takes to have seen them all."""
    seen = np.zeros(width, bool)
    for start in range(0, len(codes), 65_536):
        seen |= np.bincount(codes[start : start + 65_536], minlength=width)[:width] > 0
        if seen.all():
            break
    return np.flatnonzero(seen)


def text_of(value: Any) -> str | None:
    """How a value is spelled as a label; None where it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return repr(value + 0.0) if isinstance(value, float) else str(value)  # -0.0 is 0.0


def refuse_two_spellings(values: Iterable[Any], what: str) -> None:
    """1 beside 1.0, "1" or True is a mistake of types, and would make two classes of one."""
    seen: dict[Any, Any] = {}
    for value in values:
        text = text_of(value)
        if text is None:
            continue
        key: Any = value if isinstance(value, bool) else Decimal(text) if NUMBER.match(text) else text
        other = seen.setdefault(key, value)
        if text_of(other) != text or type(other) is not type(value):
            raise SteelyardError(
                f"One label is spelled in two ways in the {what}: {other!r} and {value!r}.", hint="convert the column to one type"
            )


def label_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels in the order in which they are shown and counted: numbers by value, else code points.

    >>> label_order(["10", "9"]), label_order(["b", "a", "10"])
    (('9', '10'), ('10', 'a', 'b'))
    """
    distinct = set(labels)
    if all(NUMBER.match(label) and math.isfinite(float(label)) for label in distinct):
        return tuple(sorted(distinct, key=lambda label: (float(label), label)))
    return tuple(sorted(distinct))
