"""What a split of data is, and what parts of it have in common."""

from __future__ import annotations

from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import Result, ResultPart, json_name


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPart(ResultPart):
    """One part: the share that was asked for, its rows, the share they are, its groups, and the file they were written to.

    first, last: the earliest and the latest time in it, if it was split by time.
    """

    name: str
    share: float
    n: int
    reached: float
    groups: int | None = None
    first: str | None = None
    last: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitStratum(ResultPart):
    """The rows of one value of the stratified column, in all and in each part."""

    value: str
    n: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DataSplit(Result):
    """Every row of some data in exactly one part.

    method: hash, groups, stratified or time. column: of the groups, strata or times. id: the column that names the items; None
    if the content of a row does. assigned: the name of the part of each row, in the order of the data.
    """

    KIND = "split"

    data: str
    n: int
    method: str
    id: str | None
    column: str | None
    seed: int | None
    parts: tuple[SplitPart, ...]
    strata: tuple[SplitStratum, ...]
    written: bool
    conclusion: str
    assigned: Any = json_name(None, default=None)  # an array of names, as long as the data


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPair(ResultPart):
    """One row of each of two parts that share something.

    kind: id, text (equal after normalisation), near (nearly equal) or group. what: the id or group, or "". similarity: Jaccard of
    the shingles of both texts. The rows count from 1; the texts are shortened.
    """

    kind: str
    first: str
    second: str
    first_row: int
    second_row: int
    first_id: str | None
    second_id: str | None
    what: str
    similarity: float | None
    first_text: str
    second_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOverlap(ResultPart):
    """What two parts share. ids and groups: how many values both have, None if that was not looked at.

    texts: rows of the second part whose text is in the first, too. near: rows of the second part whose text is nearly one of the
    first and not among `texts`. unsure: rows of the second part for which not all rows of the first could be looked at.
    """

    first: str
    second: str
    ids: int | None
    texts: int
    near: int
    groups: int | None
    unsure: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPart(ResultPart):
    """A part that was checked: its rows, those without any text, and its columns of ids, groups and texts."""

    name: str
    n: int
    empty: int
    id: str | None
    group: str | None
    text: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SplitCheck(Result):
    """Whether parts share items: two by two, the first part as it was named first.

    shared: whether any two of them do. unsure: rows that could not be compared with all rows of the other part, and are similar to
    none that they were compared with; what they share is not known. pairs: the worst pairs, not more than a few of each
    kind; `overlaps` has the counts of all.
    """

    KIND = "split_check"
    ALSO = ("shared",)

    parts: tuple[CheckedPart, ...]
    threshold: float
    words: int
    overlaps: tuple[PartOverlap, ...]
    pairs: tuple[SharedPair, ...]
    conclusion: str

    @property
    def shared(self) -> bool:
        return any(each.ids or each.texts or each.near or each.groups for each in self.overlaps)

    @property
    def unsure(self) -> int:
        return sum(each.unsure for each in self.overlaps)

    @property
    def exit_code(self) -> int:
        """0 if they share nothing, 1 if they do, 2 if nothing was found and not all could be compared."""
        return 1 if self.shared else 2 if self.unsure else 0
