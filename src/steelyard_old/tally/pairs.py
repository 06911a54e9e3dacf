"""Two runs side by side: rows matched by id, so that row i of one is row i of the other.

Ids match by their text. Runs with repeats keep all their rows; there the *unit* codes are shared instead, so that all
answers to one item meet, however many each run has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.items import Items, Labels
from steelyard_old.late_dataclass import dataclass
from steelyard_old.tally.counts import MISSING, declared
from steelyard_old.tally.design import CHUNK, codes_among, take
from steelyard_old.tally.joint import JointCounts
from steelyard_old.tally.sides import TWO_SYSTEMS, Sides
from steelyard_old.tally.spelling import MOST, differ_by, look_alikes_between, visible
from steelyard_old.tally.whole_numbers import in_text_order, picked, places_of

ENOUGH_OVERLAP = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingReport:
    """How two sets of ids meet. Examples are a few ids each, for the message; ids that look alike are counted over all of them."""

    matched: int
    baseline_only: int = 0
    candidate_only: int = 0
    conflicting_truths: int = 0
    example_baseline_only: tuple[str, ...] = ()
    example_candidate_only: tuple[str, ...] = ()
    example_conflicts: tuple[str, ...] = ()
    alike: tuple[int, tuple[str, str]] | None = None  # ids without a partner that look like one of the other side, and a pair

    @property
    def unmatched(self) -> int:
        return self.baseline_only + self.candidate_only

    def to_dict(self) -> dict[str, int]:
        return {"matched": self.matched, "baseline_only": self.baseline_only, "candidate_only": self.candidate_only}


def _look_alikes(report: PairingReport) -> tuple[int, tuple[str, str]] | None:
    """How many ids without a partner look like one of the other side; from the examples, where nobody saw them all."""
    return report.alike or look_alikes_between(report.example_baseline_only, report.example_candidate_only)


def _almost(report: PairingReport) -> str:
    """How ids that do not match would match. Only said, never done: two items may differ by a space."""
    pair = () if report.alike is None else report.alike[1]
    ours, theirs = (*report.example_baseline_only, *pair[:1]), (*report.example_candidate_only, *pair[1:])
    return f"the ids differ only {said}" if (said := differ_by(ours, theirs)) else ""


def settle_pairing(report: PairingReport, unmatched: str, sides: Sides = TWO_SYSTEMS) -> list[str]:
    """What was done about a pairing, in sentences; or an error with counts, an example and the option that decides."""
    if report.conflicting_truths:
        raise DataError(
            f"{report.conflicting_truths} {'id has' if report.conflicting_truths == 1 else 'ids have'} different truths in the "
            f"two runs, such as {_shown(report.example_conflicts)}.",
            got=f"{report.conflicting_truths} id(s) with different truths, such as {_shown(report.example_conflicts)}",
            need="one truth per id",
            hint="the two runs were made on different data; "
            + sides.unless("correct one of them", ", or compare as different items with design='unpaired'"),
        )
    if report.matched == 0:
        raise DataError(
            f"The two runs have no id in common ({report.baseline_only} in the {sides.baseline}, such as "
            f"{_shown(report.example_baseline_only)}; {report.candidate_only} in the {sides.candidate}, such as "
            f"{_shown(report.example_candidate_only)}){_look_alike_note(report)}.",
            got=f"no id in common ({report.baseline_only} in the {sides.baseline}, such as {_shown(report.example_baseline_only)}; "
            f"{report.candidate_only} in the {sides.candidate}, such as {_shown(report.example_candidate_only)}){_look_alike_note(report)}",
            need="the same ids in both",
            hint=_almost(report) or sides.unless("name the id column with id=", ", or compare as different items with design='unpaired'"),
        )
    if not report.unmatched:
        return []
    where = [
        f"{many} only in the {name}, such as {_shown(example)}"
        for name, many, example in (
            (sides.baseline, report.baseline_only, report.example_baseline_only),
            (sides.candidate, report.candidate_only, report.example_candidate_only),
        )
        if many
    ]
    if unmatched == "error":
        raise DataError(
            f"The two runs have different items: {report.matched} ids in both, {' and '.join(where)}{_look_alike_note(report)}.",
            got=f"{report.matched} ids in both, {' and '.join(where)}{_look_alike_note(report)}",
            need="the same ids in both",
            hint=(f"{almost}; " if (almost := _almost(report)) else "")
            + sides.unless(f"unmatched='drop' {sides.verb} on the ids in both", "; design='unpaired' treats the runs as different items"),
        )
    total = report.matched + max(report.baseline_only, report.candidate_only)
    many = "1 item without a partner was" if report.unmatched == 1 else f"{report.unmatched} items without a partner were"
    said = [f"{many} left out (unmatched='drop'): {' and '.join(where)}{_look_alike_note(report)}"]
    if report.matched < ENOUGH_OVERLAP * total:
        share = report.matched / total
        said.append(f"only {share:.0%} of the items were compared: if items went missing for a reason, the comparison is biased by it")
    return said


def _look_alike_note(report: PairingReport) -> str:
    """Ids without a partner that look like one of the other side, so that one can see the difference."""
    found = _look_alikes(report)
    if found is None:
        return ""
    count, (one, other) = found
    return f"; {count} of them only differ by case, blanks or Unicode form, such as {visible(one)} and {visible(other)}"


def _shown(examples: Sequence[str]) -> str:
    return ", ".join(map(repr, examples[:3])) if examples else "(none)"


IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
EXAMPLES = 3
DENSE = 4_000_000  # cells of a cube that is counted whole


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """baseline and candidate hold the matched rows; item codes say which rows are one item (equal for plain runs)."""

    baseline: Items
    candidate: Items
    baseline_item: IntArray
    candidate_item: IntArray
    items: int
    names: Sequence[str]

    @property
    def plain(self) -> bool:
        """One answer per item on both sides, in the same order."""
        return self.baseline.n == self.items == self.candidate.n


def match(baseline: Items, candidate: Items, sides: Sides = TWO_SYSTEMS) -> tuple[Pairs, PairingReport]:
    """The matched rows of two runs and the report of how they met. Rows without a partner are not in the pairs."""
    if (baseline.id is None) != (candidate.id is None):
        raise DataError(
            "Only one of the runs has ids.",
            got="ids in one run only",
            need="ids in both, or in neither",
            hint="name the id column with id=; of a frame, an index other than 0, 1, 2, ... counts as its ids",
        )
    if baseline.id is None or candidate.id is None:
        return _by_position(baseline, candidate, sides)
    names, places = _common_ids(baseline.id, candidate.id)
    parts, codes, only = [], [], []
    for run, of_label in zip((baseline, candidate), places, strict=True):
        assert run.id is not None
        place = of_label[run.id.codes]
        rows = np.flatnonzero(place >= 0)
        rows = rows[np.argsort(place[rows], kind="stable")]
        parts.append(take(run, rows))
        codes.append(place[rows])
        alone = run.id.codes[place < 0]
        only.append([run.id.names[i] for i in np.unique(alone)] if len(alone) else [])
    pairs = Pairs(parts[0], parts[1], codes[0], codes[1], len(names), names)
    conflicts = conflicting_truths(pairs)
    report = PairingReport(
        matched=len(names),
        baseline_only=len(only[0]),
        candidate_only=len(only[1]),
        conflicting_truths=len(conflicts),
        example_baseline_only=tuple(only[0][:EXAMPLES]),
        example_candidate_only=tuple(only[1][:EXAMPLES]),
        example_conflicts=tuple(conflicts[:EXAMPLES]),
        alike=look_alikes_between(only[0][:MOST], only[1][:MOST]) if only[0] and only[1] else None,
    )
    return pairs, report


def _common_ids(a: Labels, b: Labels) -> tuple[Sequence[str], tuple[IntArray, IntArray]]:
    """The ids that both runs use, sorted, and for every label of either run its place among them (-1: none)."""
    used = [np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.names)) > 0 for labels in (a, b)]
    if a.names == b.names:  # one list of ids, as in most comparisons: nothing has to be looked up by its text
        both = in_text_order(a.names, np.flatnonzero(used[0] & used[1]))
        place = np.full(len(a.names), -1, np.int64)
        place[both] = np.arange(len(both))
        return picked(a.names, both), (place, place)
    there = places_of(a.names, b.names)  # the code that each of the ids has in the other run
    common = in_text_order(a.names, np.flatnonzero(used[0] & (there >= 0) & np.append(used[1], False)[there]))
    one, other = np.full(len(a.names), -1, np.int64), np.full(len(b.names), -1, np.int64)
    one[common] = other[there[common]] = np.arange(len(common))
    return picked(a.names, common), (one, other)


def aligned(runs: Sequence[Items]) -> tuple[list[Items], tuple[str, ...]] | None:
    """All runs in one order of their items, and the names of these; None where each pair has to be matched by itself.

    Runs that have the same items, once each, and agree on truths and slices, need no matching pair by pair: any two of them, side
    by side, are what `match` would make of them. The order is its order: sorted ids, or the rows as they are where there are no ids.
    """
    first = runs[0]
    if any((run.id is None) != (first.id is None) or run.n != first.n for run in runs):
        return None
    names: tuple[str, ...] = ()
    if first.id is not None:
        names = tuple(sorted({first.id.names[i] for i in np.unique(first.id.codes) if i >= 0}))
        code = {name: i for i, name in enumerate(names)}
        rows = [_order_of(run.id, code) for run in runs if run.id is not None]
        if len(names) != first.n or any(order is None for order in rows):
            return None
        runs = [take(run, order) for run, order in zip(runs, rows, strict=True) if order is not None]
    columns = {"truth": [run.truth for run in runs]}
    columns |= {f"slice {name}": [run.slices.get(name) for run in runs] for name in {name for run in runs for name in run.slices}}
    values = [run.truth_value for run in runs if run.truth_value is not None]
    if not all(map(_all_equal, columns.values())) or any((values[0] != other).any() for other in values[1:]):
        return None
    return list(runs), names


def _order_of(ids: Labels, code: Mapping[str, int]) -> IntArray | None:
    """The row of each of these ids; None where a row has another id, or two have the same."""
    place = np.array([*(code.get(name, -1) for name in ids.names), -1], np.int64)[ids.codes]  # a row without an id has the last
    order = np.full(len(code), -1, np.int64)
    order[place[place >= 0]] = np.flatnonzero(place >= 0)
    return order if len(place) == len(code) and (order >= 0).all() else None


def _all_equal(columns: Sequence[Labels | None]) -> bool:
    """Whether those that are there have the same label in every row."""
    there = [column for column in columns if column is not None]
    return all(
        np.array_equal(other.codes if other.names == there[0].names else codes_among(other, there[0], missing=-1), there[0].codes)
        for other in there[1:]
    )


def _by_position(baseline: Items, candidate: Items, sides: Sides) -> tuple[Pairs, PairingReport]:
    """Without ids only equal length and equal truths can vouch for the order."""
    if baseline.n != candidate.n:
        raise DataError(
            f"Cannot pair {baseline.n} with {candidate.n} rows without ids.",
            got=f"{baseline.n} and {candidate.n} rows without ids",
            need="an id column in both, or the same number of rows in the same order",
            hint=sides.unless("name the id column with id=", ", or compare as different items with design='unpaired'"),
        )
    rows = np.arange(baseline.n)
    pairs = Pairs(baseline, candidate, rows, rows, baseline.n, ())
    conflicts = conflicting_truths(pairs)
    return pairs, PairingReport(matched=baseline.n, conflicting_truths=len(conflicts), example_conflicts=tuple(conflicts[:EXAMPLES]))


def conflicting_truths(pairs: Pairs) -> list[str]:
    """The items whose truth differs between the runs (or within one of them)."""
    truths = _truths(pairs.baseline, pairs.candidate)
    if truths is None:
        return []
    sides = (pairs.baseline_item, truths[0]), (pairs.candidate_item, truths[1])
    if pairs.plain:  # row by row, each item once on either side
        bad = np.flatnonzero(truths[0] != truths[1])
    else:
        first = _first_of(*sides[0], pairs.items)
        bad = np.unique(np.concatenate([item[truth != first[item]] for item, truth in sides]))
    return [pairs.names[i] if pairs.names else f"row {i + 1}" for i in bad.tolist()]


def _truths(baseline: Items, candidate: Items) -> tuple[Any, Any] | None:
    """The truth of every row of both runs, as numbers that are equal where the truths are; None where a run has none."""
    if baseline.truth_value is not None and candidate.truth_value is not None:
        return baseline.truth_value, candidate.truth_value
    if baseline.truth is None or candidate.truth is None:
        return None
    same = baseline.truth.names == candidate.truth.names
    return baseline.truth.codes, candidate.truth.codes if same else codes_among(candidate.truth, baseline.truth, missing=-1)


def _first_of(item: IntArray, values: Any, items: int) -> Any:
    out = np.empty(items, values.dtype)
    out[item[::-1]] = values[::-1]
    return out


def number_rows(items: Items) -> Items:
    """Rows numbered as ids, for runs that have none."""
    return replace(items, id=Labels(np.arange(items.n), tuple(f"row {i + 1}" for i in range(items.n))))


def agree_on_units(pairs: Pairs) -> Pairs:
    """Groups, weights and slices that one run has count for both; where the two disagree about an item, nobody can tell which is right."""
    a, b = pairs.baseline, pairs.candidate
    group = _agreed("group", a.group, b.group, pairs)
    if group is not None:
        names, codes = group
        a = replace(a, group=Labels(codes[pairs.baseline_item], names))
        b = replace(b, group=Labels(codes[pairs.candidate_item], names))
    weight = _agreed_weights(a.weight, b.weight, pairs)
    if weight is not None:
        a, b = replace(a, weight=weight[pairs.baseline_item]), replace(b, weight=weight[pairs.candidate_item])
    for column in a.slices:
        if column in b.slices:
            _agreed(f"slice {column!r}", a.slices[column], b.slices[column], pairs)
    return replace(pairs, baseline=a, candidate=b)


def _agreed(what: str, a: Labels | None, b: Labels | None, pairs: Pairs) -> tuple[tuple[str, ...], IntArray] | None:
    """The label of every item, from whichever run has it; an error if the runs differ."""
    sides = [(column, item) for column, item in ((a, pairs.baseline_item), (b, pairs.candidate_item)) if column is not None]
    if not sides:
        return None
    names = tuple(dict.fromkeys(name for column, _ in sides for name in column.names))
    place = {name: i for i, name in enumerate(names)}
    codes = np.full(pairs.items, -1, np.int64)
    for column, item in sides:
        own = np.array([*(place[name] for name in column.names), -1], np.int64)[column.codes]  # -1 for missing is the last
        differ = (codes[item] >= 0) & (own >= 0) & (own != codes[item])
        if differ.any():
            i = int(item[int(np.argmax(differ))])
            shown = pairs.names[i] if pairs.names else f"row {i + 1}"
            if what == "slice 'doc_hash'":
                raise DataError(
                    f"{len(np.unique(item[differ]))} ids stand for different documents in the two logs, such as {shown!r}.",
                    got=f"{len(np.unique(item[differ]))} id(s) that stand for different documents in the two logs, such as {shown!r}",
                    need="the same documents",
                    hint="the logs come from different versions of the task",
                )
            raise DataError(
                f"The runs differ in the {what} of {len(np.unique(item[differ]))} items, such as {shown!r}.",
                got=f"{len(np.unique(item[differ]))} items where the runs differ, such as {shown!r}",
                need="one",
            )
        codes[item] = np.where(own >= 0, own, codes[item])
    return names, codes


def _agreed_weights(a: FloatArray | None, b: FloatArray | None, pairs: Pairs) -> FloatArray | None:
    """The weight of every item, from whichever run has it; an error if two rows of an item differ by more than rounding."""
    sides = [(column, item) for column, item in ((a, pairs.baseline_item), (b, pairs.candidate_item)) if column is not None]
    if not sides:
        return None
    weight = np.full(pairs.items, np.nan)
    for column, item in sides:
        known = np.isnan(weight[item])
        weight[item[known]] = column[known]
        differ = np.abs(column - weight[item]) > 1e-9 * np.maximum(np.abs(column), np.abs(weight[item]))
        if differ.any():
            row = int(np.argmax(differ))
            i = int(item[row])
            shown = pairs.names[i] if pairs.names else f"row {i + 1}"
            many = len(np.unique(item[differ]))
            raise DataError(
                f"{many} {'item has' if many == 1 else 'items have'} two weights, such as {shown!r} ({weight[i]:g} and {column[row]:g}).",
                got=f"{many} item(s) with two weights, such as {shown!r}",
                need="one weight per item, the same in both runs",
            )
    return weight


def count_joint(pairs: Pairs, labels: Sequence[str] | None = None) -> JointCounts:
    """truth x baseline x candidate of plain pairs, by sorting one joint code."""
    a, b = pairs.baseline, pairs.candidate
    if a.truth is None or a.prediction is None or b.prediction is None:
        raise DataError(
            "A joint table needs truths and predictions in both runs.", got="no truth or no predictions", need="both in both runs"
        )
    columns = (a.truth, a.prediction, b.prediction)
    cells, number = _occupied(columns, a.count)
    used = [{column.names[i] for i in set(codes.tolist())} for column, codes in zip(columns, cells, strict=True)]
    every = used[0] | used[1] | used[2]
    unanswered = every & {MISSING}  # an unanswered item is wrong, but "(missing)" is not a class
    names, classes = declared(labels, truths=used[0], used=every - unanswered)
    names += tuple(unanswered)
    code = {name: i for i, name in enumerate(names)}
    t, p, q = ([code[column.names[i]] for i in codes.tolist()] for column, codes in zip(columns, cells, strict=True))
    return _joint_counts(np.array([t, p, q], np.int64).reshape(3, -1), number, names, classes)


def joint_of_codes(
    t: IntArray, p: IntArray, q: IntArray, k: int, names: tuple[str, ...], classes: int, count: IntArray | None = None
) -> JointCounts:
    """JointCounts of three columns of codes 0..k-1, of any whole type."""
    known = ("",) * k  # only how many there are is asked
    cells, number = _occupied((Labels(t, known), Labels(p, known), Labels(q, known)), count)
    return _joint_counts(np.array(cells), number, names, classes)


def _occupied(columns: tuple[Labels, Labels, Labels], count: IntArray | None) -> tuple[tuple[IntArray, IntArray, IntArray], IntArray]:
    """The three codes of every cell that occurs, and how many rows it has; `bincount` while the cube is small, a sort when it is not."""
    _, k, m = (len(column.names) for column in columns)
    size = math.prod(len(column.names) for column in columns)
    if size <= DENSE:
        total = np.zeros(max(1, size), np.int64)
        for start in range(0, len(columns[0].raw), CHUNK):
            rows = slice(start, start + CHUNK)
            joint = _codes(columns[0], rows)
            joint *= k
            joint += _codes(columns[1], rows)
            joint *= m
            joint += _codes(columns[2], rows)
            part = np.bincount(joint, weights=None if count is None else count[rows], minlength=size)
            total += part if count is None else part.astype(np.int64)
        cells = np.flatnonzero(total)
        number = total[cells]
        pairs = None
    else:
        whole = slice(None)
        pairs, joint = None, _codes(columns[0], whole) * k + _codes(columns[1], whole)
        if size > np.iinfo(np.int64).max:  # millions of labels: the code of a pair is its place among those that occur
            pairs, joint = np.unique(joint, return_inverse=True)
        cells, place = np.unique(joint * m + _codes(columns[2], whole), return_inverse=True)
        number = np.bincount(place, weights=count).astype(np.int64)
    rest, third = np.divmod(cells, max(1, m))
    first, second = np.divmod(rest if pairs is None else pairs[rest], max(1, k))
    return (first, second, third), number


def _codes(column: Labels, rows: slice) -> IntArray:
    """Codes that may be multiplied: small integer types would overflow."""
    codes = column.raw[rows].astype(np.int64)
    if column.base:
        codes -= column.base
    return codes


def _joint_counts(cells: IntArray, number: IntArray, names: tuple[str, ...], classes: int) -> JointCounts:
    order = np.lexsort(cells[::-1])
    truth, baseline, candidate = (tuple(codes[order].tolist()) for codes in cells)
    return JointCounts(
        labels=names, truth=truth, baseline=baseline, candidate=candidate, count=tuple(number[order].tolist()), classes=classes
    )


def units_of(pairs: Pairs) -> tuple[npt.NDArray[np.int64], int]:
    """The unit of every item: itself, or its group."""
    if pairs.baseline.group is None:
        return np.arange(pairs.items), pairs.items
    group = np.zeros(pairs.items, np.int64)
    group[pairs.baseline_item] = np.unique(pairs.baseline.group.codes, return_inverse=True)[1]
    return group, int(group.max()) + 1
