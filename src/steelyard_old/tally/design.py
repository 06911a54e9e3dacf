"""From Items to tallies: which rows count once, which belong together, and what is missing.

The *unit* is what was sampled independently: the item, or the group of items, or the item with all its repeats. An
item with r repeats has weight 1/r in each of them, so that repeats never pass for items.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.items import Items, Labels
from steelyard_old.late_dataclass import dataclass
from steelyard_old.tally.counts import MISSING, Counts, declared
from steelyard_old.tally.sums import SparseRows, Sums, tally_groups, tally_items

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Kind = Literal["items", "groups", "repeats", "weights"]
CHUNK = 65_536  # rows counted at a time: the joint code of two labels then stays in the cache
DENSE = 20_000_000  # numbers of a table of units by margins that are kept as an array
PAIRED = 1 << 18  # the same where two rows are one number: below it, 65,536 counters cost more than they save


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """unit[i] is the unit of row i, or None when every row is its own; weight[i] its weight, or None for 1.

    count[i]: how many answers the row stands for, if not one; its weight has them all.
    """

    kind: Kind
    unit: IntArray | None = None
    units: int = 0
    weight: FloatArray | None = None
    items: int = 0
    count: IntArray | None = None

    @property
    def plain(self) -> bool:
        return self.kind == "items"


def design_of(items: Items) -> Design:
    """The design that the columns tell: groups win over repeats as the unit; repeats always share one item's weight."""
    weight, repeats = items.weight, 1
    count: IntArray | None = None
    n_items = items.total
    if items.repeat is not None:
        if items.id is None:
            raise DataError(
                "Repeats need an id column that says which rows are the same item.",
                got="no id column",
                need="an id that says which rows are one item",
                hint="name it with id=",
            )
        tries = np.bincount(items.id.codes, minlength=len(items.id.names))
        n_items = int(np.count_nonzero(tries))
        repeats = int(tries.max())
        share = 1.0 / tries[items.id.codes]
        weight = share if weight is None else weight * share
    if items.count is not None and (items.group is not None or repeats > 1):
        count = items.count
        weight = count.astype(float) if weight is None else weight * count
    if items.group is not None:
        code = _dense(items.group)
        return Design("groups", code, int(code.max()) + 1, weight, n_items, count)
    if repeats > 1 and items.id is not None:
        code = _dense(items.id)
        return Design("repeats", code, int(code.max()) + 1, weight, n_items, count)
    if items.weight is not None:
        return Design("weights", np.arange(items.n), items.n, items.weight, n_items)
    return Design("items", items=n_items)


def _dense(labels: Labels) -> IntArray:
    """Codes without gaps, so that no unit is empty."""
    _, dense = np.unique(labels.codes, return_inverse=True)
    return dense.astype(np.int64)


def take(items: Items, rows: npt.NDArray[Any]) -> Items:
    """The chosen rows, every column alike."""

    def cut(column: Any) -> Any:
        if isinstance(column, Labels):
            return Labels(column.raw[rows], column.names, column.base)
        if isinstance(column, tuple) and column and isinstance(column[0], np.ndarray):
            return tuple(part[rows] for part in column)
        return column[rows] if isinstance(column, np.ndarray) else column

    names = (
        "id",
        "truth",
        "prediction",
        "score",
        "probability",
        "group",
        "repeat",
        "weight",
        "count",
        "truth_value",
        "prediction_value",
        "ratio",
        "stratum",
    )
    changed = {name: cut(getattr(items, name)) for name in names}
    n = int(rows.sum()) if rows.dtype == bool else len(rows)
    slices, more = ({name: cut(column) for name, column in named.items()} for named in (items.slices, items.more))
    return replace(items, n=n, slices=slices, more=more, **changed)


def count_labels(truth: Labels, prediction: Labels, labels: Sequence[str] | None = None, count: IntArray | None = None) -> Counts:
    """The table of two label columns: in one pass of `bincount`, chunk by chunk, unless few rows meet many cells; `count` repeats rows.

    >>> a = Labels(np.array([1, 2, 5, 5]), ("1", "2", "3", "4", "5"), base=1)
    >>> count_labels(a, a).labels
    ('1', '2', '5')
    """
    width = len(prediction.names)
    if width * len(truth.names) <= min(4_000_000, 256 + 100 * len(truth.raw)):  # else few rows are sorted
        joint = _joint_table(truth, prediction, width, count)
        occupied = np.flatnonzero(joint)
        number = joint[occupied]
    else:
        code = truth.codes.astype(np.int64) * width + prediction.codes
        occupied, place = np.unique(code, return_inverse=True)
        number = np.bincount(place, weights=count).astype(np.int64)
    return from_codes(occupied // max(1, width), occupied % max(1, width), number, truth.names, prediction.names, labels)


def _joint_table(truth: Labels, prediction: Labels, width: int, count: IntArray | None) -> IntArray:
    size = max(1, width * len(truth.names))
    if count is None and size <= 256 and len(truth.raw) >= PAIRED:
        return _paired_table(truth, prediction, width)[:size]
    total = np.zeros(size, np.int64)
    for start in range(0, len(truth.raw), CHUNK):
        rows = slice(start, start + CHUNK)
        # intp throughout: small integer types would overflow, and bincount would convert once more
        code = truth.raw[rows].astype(np.intp)
        code -= truth.base
        code *= width
        code += prediction.raw[rows].astype(np.intp)
        code -= prediction.base
        part = np.bincount(code, weights=None if count is None else count[rows], minlength=size)
        total += part if count is None else part.astype(np.int64)
    return total


def _paired_table(truth: Labels, prediction: Labels, width: int) -> IntArray:
    """At most 256 cells: a row's code is one byte, two rows are one 16-bit number, and `bincount`, the dear part, has half the work.

    Bytes wrap: every step is right modulo 256, and so is the code, whatever lies between and whatever the type of the labels.
    """
    offset = np.uint8(-(truth.base * width + prediction.base) % 256)
    pairs, last = np.zeros(65_536, np.int64), np.zeros(256, np.int64)
    for start in range(0, len(truth), PAIRED):
        rows = slice(start, start + PAIRED)
        code = truth.raw[rows].astype(np.uint8)  # always a copy: the next lines write into it
        code *= np.uint8(width % 256)
        code += prediction.raw[rows].astype(np.uint8, copy=False)
        code += offset
        if len(code) % 2:
            last[code[-1]] += 1
            code = code[:-1]
        pairs += np.bincount(code.view(np.uint16), minlength=65_536)
    square = pairs.reshape(256, 256)  # by either byte; both sums are taken, so byte order does not matter
    out: IntArray = square.sum(0) + square.sum(1) + last
    return out


def present(codes: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """The codes that occur, in order, without the -1 of what is missing. `np.unique` would load NumPy's masked arrays for it.

    >>> present(np.array([2, -1, 0, 2])).tolist()
    [0, 2]
    """
    return np.flatnonzero(np.bincount(codes[codes >= 0]))


def from_codes(
    truth: IntArray, prediction: IntArray, number: IntArray, truths: Sequence[str], predictions: Sequence[str], labels: Sequence[str] | None
) -> Counts:
    """A table from occupied cells whose codes refer to two lists of names."""
    used_truths = {truths[i] for i in present(truth)}
    used = used_truths | {predictions[i] for i in present(prediction)}
    stray_missing = used & {MISSING}  # an unanswered item is wrong, but "(missing)" is not a class
    names, classes = declared(labels, truths=used_truths, used=used - stray_missing)
    names += tuple(stray_missing)
    code = {name: i for i, name in enumerate(names)}
    t = np.array([code.get(name, -1) for name in truths], np.int64)[truth] if len(truth) else truth
    p = np.array([code.get(name, -1) for name in predictions], np.int64)[prediction] if len(truth) else prediction
    order = np.lexsort((p, t))
    return Counts(
        labels=names,
        truth=tuple(t[order].tolist()),
        prediction=tuple(p[order].tolist()),
        count=tuple(number[order].tolist()),
        classes=classes,
    )


def same_label(truth: Labels, prediction: Labels) -> npt.NDArray[np.bool_]:
    """Whether the prediction of each row is its truth, by the names' codes: the rows of long texts are never laid side by side."""
    if prediction.names == truth.names and prediction.complete:
        return np.asarray(prediction.codes == truth.codes)
    return np.asarray(codes_among(prediction, truth, missing=-3) == truth.codes)


def codes_among(labels: Labels, others: Labels, *, missing: int) -> npt.NDArray[np.integer[Any]]:
    """The codes that a column would have with the names of another one; -2 for a name that it does not have."""
    place = {name: i for i, name in enumerate(others.names)}
    return np.array([*(place.get(name, -2) for name in labels.names), missing], np.int64)[labels.codes]  # -1 for missing is the last


def table_sums(truth: Labels, prediction: Labels, design: Design, counts: Counts) -> Sums:
    """The margins of every unit, one row [hits, truths, predictions, weight] each, for the classes of `counts`."""
    code = {name: i for i, name in enumerate(counts.labels)}
    k = counts.classes
    t = np.array([code.get(name, k) for name in truth.names], np.int64)[truth.codes]
    p = np.array([min(code.get(name, k), k) for name in prediction.names], np.int64)[prediction.codes]
    unit = design.unit if design.unit is not None else np.arange(len(t))
    weight = np.ones(len(t)) if design.weight is None else design.weight
    margins = (0, t, t == p), (1, t, t < k), (2, p, p < k)

    def single(gradient: FloatArray) -> FloatArray:
        each = np.full(len(t), gradient[3 * k])
        for part, codes, keep in margins:
            each[keep] += gradient[part * k + codes[keep]]
        return each * (weight if design.count is None else weight / np.sqrt(design.count))

    if design.units * (3 * k + 1) > DENSE:
        ones = np.bincount(unit, weights=weight, minlength=design.units).astype(float)
        entries = [(unit[keep], part * k + codes[keep], weight[keep]) for part, codes, keep in margins]
        sparse = _entries([*entries, (np.arange(design.units), np.full(design.units, 3 * k), ones)], design.units, 3 * k + 1)
        every = np.ones(design.units, np.int64)
        return Sums(rows=sparse, count=every, answers=len(t), units="groups", sizes=ones, single=single)
    rows = np.zeros((design.units, 3 * k + 1))
    for part, codes, keep in margins:
        place = unit[keep] * k + codes[keep]
        rows[:, part * k : (part + 1) * k] = np.bincount(place, weights=weight[keep], minlength=design.units * k).reshape(design.units, k)
    rows[:, -1] = np.bincount(unit, weights=weight, minlength=design.units)
    every = np.ones(design.units, np.int64)
    return Sums(rows=rows, count=every, answers=len(t), units="groups", sizes=rows[:, -1], single=single)


def _entries(parts: Sequence[tuple[IntArray, IntArray, FloatArray]], units: int, columns: int) -> SparseRows:
    """Entries of one place added up, sorted by column and unit."""
    unit, column, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    place, entry = np.unique(column * units + unit, return_inverse=True)
    return SparseRows((units, columns), place % units, place // units, np.bincount(entry, weights=value).astype(float))


def row_sums(rows: FloatArray, design: Design, count: IntArray | None = None) -> Sums:
    """Rows of numbers under a design: merged equal rows for plain items, sums by unit otherwise."""
    if design.plain or design.unit is None:
        return tally_items(rows, count)
    weighted = rows if design.weight is None else rows * design.weight[:, None]
    return tally_groups(weighted, design.unit, design.units, design.count)


Mask = npt.NDArray[np.bool_]
OPTION = "say what to do with missing='wrong' (count them as wrong) or missing='drop' (leave them out)"
DROP = "missing='drop' leaves them out"
ONLY = "only a missing prediction or score can count as wrong"
COUNTABLE = ("prediction", "score")


def worst_score(
    scores: Iterable[FloatArray | None], ends: tuple[float, float] | None, *, higher_is_better: bool | None = None
) -> float | None:
    """What an item without a score is worth if it counts as wrong: the bad end of the scores. None where nobody knows that end.

    It is an end of the declared range. Without one, scores of 0 and 1 are right and wrong, and scores within 0 and 1 end at 0; how far
    up an error or a cost can go they do not say. scores: all that are known, of both runs where two are compared. None as direction:
    nobody said it, so high is good.

    >>> worst_score([np.array([0.2, 0.9])], None), worst_score([np.array([2.0, 5.0])], (1, 5)), worst_score([np.array([2.0, 5.0])], None)
    (0.0, 1, None)
    >>> worst_score([np.array([2.0, 5.0])], (1, 5), higher_is_better=False)
    5
    """
    up = higher_is_better is not False
    if ends is not None:
        return ends[0] if up else ends[1]
    known = [score[~np.isnan(score)] for score in scores if score is not None]
    if not up:
        outcomes = any(score.size for score in known) and all(bool(np.isin(score, (0.0, 1.0)).all()) for score in known)
        return 1.0 if outcomes else None
    return 0.0 if all(score.size == 0 or (score.min() >= 0 and score.max() <= 1) for score in known) else None


def unknown_worst(*, higher_is_better: bool | None, hint: str = "declare it with range=(LO, HI), or use missing='drop'") -> DataError:
    """Why a missing score cannot count as wrong where `worst_score` knows no number."""
    if higher_is_better is False:
        return DataError(
            "A missing score cannot count as wrong: lower is better, and the highest possible score is not declared.",
            got="scores of which lower is better, of no declared range",
            need="the worst score",
            hint=hint,
        )
    return DataError(
        "A missing score cannot count as wrong: the scores go beyond 0 and 1, and the worst one is not declared.",
        got="scores outside 0 and 1, of no declared range",
        need="the worst score",
        hint=hint,
    )


def settle_missing(
    items: Items,
    policy: str,
    *,
    ends: tuple[float, float] | None = None,
    higher_is_better: bool | None = None,
    beside: Sequence[Items] = (),
    needed: Collection[str] | None = None,
) -> tuple[Items, list[str]]:
    """The items with nothing missing, and a sentence for each thing that was done.

    `wrong` turns a missing prediction into one that equals no label and a missing score into the worst score (`worst_score`: by the
    range, the direction and the runs beside); a missing truth or probability cannot be answered for, so it is refused unless dropped.
    `needed` names the columns that matter: a hole in another one is no hole.
    """
    said: list[str] = []
    for name, gone in _missing(items).items():
        rows = int(gone.sum())
        if not rows or (needed is not None and name not in needed):
            continue
        many = rows if items.count is None else int(items.count[gone].sum())
        if policy == "error" or (policy == "wrong" and name not in COUNTABLE):
            hint = OPTION if policy == "error" and name in COUNTABLE else DROP if policy == "error" else f"{ONLY}; use missing='drop'"
            first = "" if items.count is not None else f", the first in row {int(np.argmax(gone)) + 1}"
            raise DataError(
                f"{many:,} of {items.total:,} items have no {name}{first}.",
                got=f"{many:,} of {items.total:,} items without a {name}{first}",
                need=f"a {name} for every item",
                hint=hint,
            )
        if policy == "drop":
            said.append(f"{many:,} of {items.total:,} items without a {name} were left out (missing='drop')")
            items = take(items, ~gone)
            rest, more = settle_missing(items, policy, needed=needed)
            return rest, said + more
        said.append(f"{many:,} of {items.total:,} items without a {name} count as wrong (missing='wrong')")
        if name == "score" and items.score is not None:
            worst = worst_score([items.score, *(one.score for one in beside)], ends, higher_is_better=higher_is_better)
            if worst is None:
                raise unknown_worst(higher_is_better=higher_is_better)
            items = replace(items, score=np.where(gone, worst, items.score))
        else:
            items = _as_wrong(items, gone)
    if items.n == 0:
        raise DataError(
            "No items are left after the missing ones were dropped.",
            got="no items left after leaving out the missing ones",
            need="at least one item",
        )
    return items, said


def _missing(items: Items) -> dict[str, Mask]:
    """For each column that can have holes, which rows do. Labels known to be complete are not looked at: that is a pass over them."""
    found: dict[str, Mask] = {}
    for name in ("truth", "prediction", "group"):
        labels = getattr(items, name)
        if labels is not None and not labels.complete:
            found[name] = np.asarray(labels.codes < 0)
    for name in ("truth_value", "prediction_value", "score", "probability"):
        column = getattr(items, name)
        if column is not None:
            found[name.removesuffix("_value")] = np.isnan(column)
    found |= {name: np.isnan(column) for name, column in items.more.items()}
    if items.ratio is not None:
        found["ratio"] = np.isnan(items.ratio[0]) | np.isnan(items.ratio[1])
    return found


def _as_wrong(items: Items, gone: Mask) -> Items:
    """A missing prediction as one that equals no label."""
    if items.prediction is None:
        raise DataError("A missing number cannot count as wrong.", need="missing='drop'", hint="use missing='drop'")
    names = (*items.prediction.names, MISSING)
    codes = np.where(gone, len(names) - 1, items.prediction.codes)
    return replace(items, prediction=Labels(codes, names))
