"""Two sources met by id: joint counts and the pairing report, filled inside DuckDB without handing out rows.

The join is in `id_join`; here its few groups become canonical texts, exactly as when a source counts alone, and the cells of
`tally.pairs.count_joint`. What to do about ids without a partner is decided in `tally.pairing`, as for items.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.read.encode import text_of
from steelyard.read.engines.id_join import BOTH, KEPT, ONLY_A, ONLY_B, Join, JoinGroup, Side
from steelyard.read.source import Source
from steelyard.tally.counts import declared
from steelyard.tally.joint import JointCounts, joint_table
from steelyard.tally.pairing import PairingReport

EXAMPLES = 3
OUTCOME = {1.0: "right", 0.0: "wrong"}
FEW = 9  # different scores that are looked at: more of them are no right and wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """What two sources have in common: cells of (truth, baseline, candidate) as texts, the report, and the telling items.

    truths: of each source, those of all its rows, with and without a partner; none if the truths were not looked at.
    """

    cells: Mapping[tuple[str, str, str], int]
    outcomes: bool
    report: PairingReport
    telling: tuple[dict[str, Any], ...]
    truths: tuple[frozenset[str], ...] = ()

    def joint(self, labels: Sequence[str] | None = None) -> JointCounts:
        """The cells as JointCounts. Apart from the meeting, because declared labels are looked at after the pairing."""
        if self.outcomes:
            both, lost, gained, neither = (self.cells.get(("right", a, b), 0) for a in ("right", "wrong") for b in ("right", "wrong"))
            return JointCounts.flips(both=both, baseline_only=lost, candidate_only=gained, neither=neither)
        truths, used = {key[0] for key in self.cells}, {text for key in self.cells for text in key}
        names, classes = declared(labels, truths=truths, used=used)
        code = {name: i for i, name in enumerate(names)}
        return joint_table({(code[t], code[p], code[q]): c for (t, p, q), c in self.cells.items()}, names, classes=classes)


def joint(a: Source, b: Source, labels: Sequence[str] | None = None, *, outcomes: bool = False) -> tuple[JointCounts, PairingReport] | None:
    """Joint counts and pairing report of two sources; None where `meet` has none."""
    met = meet(a, b, outcomes=outcomes)
    return None if met is None else (met.joint(labels), met.report)


def meet(a: Source, b: Source, *, outcomes: bool = False) -> Meeting | None:
    """The meeting of two sources with one row per id; None if it must be made from items.

    That is: a source that is no Parquet, regular CSV or proven JSON Lines file, no ids or ids of floats, groups, repeats,
    weights, slices, ratios, anything missing or no plain number beside the labels, more than a million cells.
    outcomes: right and wrong of scores of 0 and 1, if the sources have scores; else, and without it, of labels.
    """
    sides = Side.of(a, "a"), Side.of(b, "b")
    if sides[0] is None or sides[1] is None:
        return None
    if outcomes and (sides[0].has("score") or sides[1].has("score")):
        if not all(side.has("score") and _right_or_wrong(side) for side in sides if side is not None):
            return None
        return _meeting(Join(sides[0], sides[1], ("score",)))
    if not (sides[0].has("truth") and sides[0].has("prediction") and sides[1].has("prediction")):
        return None
    return _meeting(Join(sides[0], sides[1], ("truth", "prediction")))


def _right_or_wrong(side: Side) -> bool:
    """Whether all scores are 0 or 1, however they are written."""
    name = side.source.roles["score"]
    rows = side.table.ask(f"DISTINCT {side.table.shown(name, side.table.identifier(name), number=True)}", f"LIMIT {FEW}")
    return only_right_or_wrong(side.source, rows)


def only_right_or_wrong(source: Source, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether the different scores of a source, of which FEW were asked for, are all 0 or 1, however they are written."""
    if len(rows) == FEW:
        return False
    numbers = source.canonical_maps(rows, ["score"], [(source.roles["score"], True)])[0]
    return len(numbers) == len(rows) and set(numbers.values()) <= {0.0, 1.0}


@dataclass(frozen=True, slots=True)
class _Cell:
    """A group of matched items in canonical texts."""

    truth: str
    baseline: str
    candidate: str
    conflict: bool
    group: JoinGroup

    @property
    def change(self) -> str | None:
        right = self.baseline == self.truth, self.candidate == self.truth
        return None if right[0] == right[1] else "lost" if right[0] else "gained"


def _meeting(join: Join) -> Meeting | None:
    groups = join.groups()
    told = None if groups is None else _cells(join, groups)
    if groups is None or told is None:
        return None
    cells, truths = told
    total: dict[tuple[str, str, str], int] = {}
    for cell in cells:
        key = cell.truth, cell.baseline, cell.candidate
        total[key] = total.get(key, 0) + cell.group.count
    only = [[group for group in groups if group.state == state] for state in (ONLY_A, ONLY_B)]
    conflicts = [cell.group for cell in cells if cell.conflict]
    report = PairingReport(
        matched=sum(cell.group.count for cell in cells),
        baseline_only=sum(group.count for group in only[0]),
        candidate_only=sum(group.count for group in only[1]),
        conflicting_truths=sum(group.count for group in conflicts),
        example_baseline_only=tuple(_smallest(only[0])[:EXAMPLES]),
        example_candidate_only=tuple(_smallest(only[1])[:EXAMPLES]),
        example_conflicts=tuple(_smallest(conflicts)[:EXAMPLES]),
    )
    telling = _telling(cells)
    if join.outcomes:
        telling = _answers(join, telling)
    return Meeting(cells=total, outcomes=join.outcomes, report=report, telling=tuple(telling), truths=() if join.outcomes else truths)


def _cells(join: Join, groups: Sequence[JoinGroup]) -> tuple[list[_Cell], tuple[frozenset[str], ...]] | None:
    """The matched groups in canonical texts, and the truths of each side; None if a label is missing, with or without a partner."""
    texts: dict[int, list[tuple[Any, ...]]] = {}
    truths: list[frozenset[str]] = []
    start = 0
    for side, absent in ((join.a, ONLY_B), (join.b, ONLY_A)):
        roles = [role for one, role in join.keys if one is side]
        own = [group.values[start : start + len(roles)] for group in groups if group.state != absent]
        maps = side.source.canonical_maps(own, roles, [(side.source.roles[role], join.outcomes) for role in roles])
        for place, group in enumerate(groups):
            if group.state == absent:
                continue
            values = group.values[start : start + len(roles)]
            found = tuple(each.get((type(value), value)) for each, value in zip(maps, values, strict=True))
            if None in found:
                return None
            texts.setdefault(place, []).append(found)
        truths += [frozenset(each.values()) for role, each in zip(roles, maps, strict=True) if role == "truth"]
        start += len(roles)
    return [_cell(join, group, *texts[place]) for place, group in enumerate(groups) if group.state == BOTH], tuple(truths)


def _cell(join: Join, group: JoinGroup, left: tuple[Any, ...], right: tuple[Any, ...]) -> _Cell:
    if join.outcomes:
        return _Cell("right", OUTCOME[left[0]], OUTCOME[right[0]], len(group.values) > 2 and bool(group.values[2]), group)
    return _Cell(left[0], left[1], right[-1], len(right) > 1 and right[0] != left[0], group)


def _smallest(groups: Iterable[JoinGroup]) -> list[str]:
    """The smallest ids over some groups, by text."""
    return sorted(each for group in groups for each in group.ids)[:KEPT]


def _telling(cells: Sequence[_Cell]) -> list[dict[str, Any]]:
    """The first items by id on which one is right and the other wrong, losses and gains in turn, as `questions.telling` has them."""
    sides = []
    for change in ("lost", "gained"):
        changed = {each: cell for cell in cells if cell.change == change for each in cell.group.ids}
        sides.append([{"id": each, "change": change, **_answered(changed[each])} for each in sorted(changed)[:KEPT]])
    return [item for pair in itertools.zip_longest(*sides) for item in pair if item is not None][:KEPT]


def _answered(cell: _Cell) -> dict[str, Any]:
    return {"truth": cell.truth, "baseline": cell.baseline, "candidate": cell.candidate}


def _answers(join: Join, telling: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was answered instead of right or wrong: labels if both have them, else the scores."""
    if not (join.a.has("truth") and join.a.has("prediction") and join.b.has("prediction")):
        score = {"right": 1.0, "wrong": 0.0}
        return [{**item, "truth": None, "baseline": score[item["baseline"]], "candidate": score[item["candidate"]]} for item in telling]
    ids = [item["id"] for item in telling]
    first, second = join.a.look_up(("truth", "prediction"), ids), join.b.look_up(("prediction",), ids)
    labels = {each: [text_of(value) for value in (*first[each], *second[each])] for each in ids}
    return [{**item, **dict(zip(("truth", "baseline", "candidate"), labels[item["id"]], strict=True))} for item in telling]
