"""Two sources met by id: joint counts and the pairing report, filled inside DuckDB without handing out rows.

The join is in `id_join`; here its few groups become canonical texts, exactly as when a source counts alone, and the cells of
`tally.pairs.count_joint`. What to do about ids without a partner is decided in `tally.pairing`, as for items.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from steelyard.late_dataclass import dataclass
from steelyard.read.encode import text_of
from steelyard.read.engines.duckdb_table import EngineTable, Scan, connect, literal
from steelyard.read.source import Source
from steelyard.results.comparison import ChangedItem
from steelyard.tally.counts import declared
from steelyard.tally.joint import JointCounts, joint_table
from steelyard.tally.pairs import PairingReport

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours


MAX_CELLS = 1_000_000  # beyond it the labels are no classes, and rows in memory are the better form
KEPT = 10  # the smallest ids of every group, for examples
BOTH, ONLY_A, ONLY_B, _NO_ID = range(4)
_ELSEWHERE = ONLY_A  # in a positional join: the ids of this row differ
_NUMBERS = ("int", "float", "bool")
_PLAIN = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"  # as in `quantities`; other texts are looked at item by item
_PROBED = 2000
_BUCKETS = 65536


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One source in a join, and what SQL calls its columns there."""

    source: Source
    table: EngineTable
    scan: Scan
    alias: str

    @classmethod
    def of(cls, source: Source, alias: str) -> Side | None:
        """None for a source that cannot be met in SQL: see `joining.meet`."""
        table, roles = source.table, source.roles
        if not isinstance(table, EngineTable) or table.scan is None or source.by or source.ratio is not None or "id" not in roles:
            return None
        kinds = {role: table.kind(name) for role, name in roles.items()}
        if {"group", "repeat", "weight"} & kinds.keys() or "other" in kinds.values() or kinds["id"] == "float":
            return None
        return cls(source, table, table.scan, alias)

    @property
    def relation(self) -> str:
        return f"{self.scan.relation} AS {self.alias}"

    def has(self, role: str) -> bool:
        return role in self.source.roles

    def kind(self, role: str) -> str:
        return self.table.kind(self.source.roles[role])

    def column(self, role: str, *, alone: bool = False) -> str:
        """alone: in a query of this table only."""
        name = self.table.identifier(self.source.roles[role])
        return name if alone else f"{self.alias}.{name}"

    def id(self, *, text: bool, alone: bool = False) -> str:
        """The id as it is, or as the text that `encode.text_of` makes of it."""
        raw = self.column("id", alone=alone)
        if not text or self.kind("id") == "text":
            return raw
        return f"CASE WHEN {raw} THEN 'True' WHEN NOT {raw} THEN 'False' END" if self.kind("id") == "bool" else f"CAST({raw} AS VARCHAR)"

    def gone(self, role: str) -> str:
        """A condition: missing, or no finite number. Of a text that should be a number: not plainly one."""
        column = self.column(role)
        if role in ("score", "probability") and self.kind(role) == "text":
            return f"NOT coalesce(regexp_full_match({column}, '{_PLAIN}') AND isfinite(TRY_CAST({column} AS DOUBLE)), false)"
        return f"{column} IS NULL" + (f" OR NOT isfinite({column})" if self.kind(role) == "float" else "")

    def look_up(self, roles: tuple[str, ...], ids: list[str]) -> dict[str, tuple[Any, ...]]:
        """The values of a few ids."""
        key = self.id(text=True, alone=True)
        shown = [self.table.shown(self.source.roles[role], self.column(role, alone=True), number=False) for role in roles]
        rows = self.table.ask(", ".join([key, *shown]), f"WHERE {key} IN ({', '.join(map(literal, ids))})") if ids else []
        return {row[0]: row[1:] for row in rows}


class JoinGroup(NamedTuple):
    """One group of the join: its values, which sides have it, how many rows, its smallest ids, and what spoils it."""

    values: tuple[Any, ...]
    state: int
    count: int  # type: ignore[assignment]  # of rows, not the method of tuples
    ids: list[str]
    bad: int
    starts: int
    falls: int


class Join:
    """One join of two sides, grouped by the columns of some roles."""

    def __init__(self, a: Side, b: Side, grouped: tuple[str, ...]) -> None:
        self.a, self.b, self.outcomes = a, b, grouped == ("score",)
        self.keys = [(side, role) for side in (a, b) for role in grouped if side.has(role)]
        rest = ("truth", "prediction", "score", "probability")
        self.others = [(side, role) for side in (a, b) for role in rest if side.has(role) and (side, role) not in self.keys]
        self.text = not a.kind("id") == b.kind("id") == "int"
        self.truths = [side.column("truth") for side in (a, b) if side.has("truth")]

    def groups(self) -> list[JoinGroup] | None:
        """The groups by the cheapest way there is; None if something is missing, or cannot be told from missing in SQL."""
        if any(role in ("score", "probability") and side.kind(role) not in (*_NUMBERS, "text") for side, role in self.others):
            return None
        if self.outcomes and len(self.truths) == 2 and (self.a.kind("truth") != self.b.kind("truth") or self.a.kind("truth") == "printed"):
            return None
        with connect([*self.a.scan.paths, *self.b.scan.paths]) as con:
            found = self._aligned(con)
            if found is None:
                found = self._matched(con)
        if len(found) > MAX_CELLS:
            return None
        self.a.source.ids_checked = self.b.source.ids_checked = True
        return None if any(group.bad for group in found) else found

    def _aligned(self, con: Any) -> list[JoinGroup] | None:
        """The groups if row i of one is row i of the other; None if not."""
        if self.a.source.n != self.b.source.n:
            return None
        x, y = (
            f"SELECT {side.id(text=self.text)} AS {name} FROM {side.relation} LIMIT {_PROBED}"
            for side, name in ((self.a, "x"), (self.b, "y"))
        )
        head = f"SELECT x, y, lag(x) OVER () AS z FROM ({x}) POSITIONAL JOIN ({y})"
        differ, falls = self._run(con, f"SELECT COUNT(*) FILTER (WHERE x IS DISTINCT FROM y), {self._falls} FROM ({head})")[0]
        if differ:
            return None
        state = f"CASE WHEN x IS NULL THEN {_NO_ID} WHEN x = y THEN {BOTH} ELSE {_ELSEWHERE} END"
        found = self._grouped(con, "POSITIONAL JOIN", "", state, ordered=not falls)
        if any(group.state == _ELSEWHERE for group in found):
            return None
        grows = sum(group.starts for group in found) == 1 and not any(group.falls for group in found)
        if any(group.state == _NO_ID for group in found) or not grows:
            self.a.source.check_ids()
        return found

    def _matched(self, con: Any) -> list[JoinGroup]:
        """The groups of the full join, after all ids were found to be there once."""
        _check_crowds(self.a)
        state = f"CASE WHEN x IS NULL THEN IF(y IS NULL, {_NO_ID}, {ONLY_B}) WHEN y IS NULL THEN {ONLY_A} ELSE {BOTH} END"
        on = f"ON {self.a.id(text=self.text)} = {self.b.id(text=self.text)}"
        found = self._grouped(con, "FULL JOIN", on, state, ordered=False)
        total = [sum(group.count for group in found if group.state == state) for state in range(4)]
        once = total[BOTH] == self.a.source.n - total[ONLY_A] == self.b.source.n - total[ONLY_B] and not total[_NO_ID]
        for side, alone in ((self.a, total[ONLY_A]), (self.b, total[ONLY_B])):
            if alone or not once:
                side.source.check_ids()
        return found

    # ---- SQL -------------------------------------------------------------------------------------------------------

    @property
    def _falls(self) -> str:
        """The rows whose id (x) does not come after the one before (z): by number, or by length and then by text."""
        grows = "strlen(x) > strlen(z) OR (strlen(x) = strlen(z) AND x > z)" if self.text else "x > z"
        return f"COUNT(*) FILTER (WHERE NOT ({grows}))"

    def _grouped(self, con: Any, join: str, on: str, state: str, *, ordered: bool) -> list[JoinGroup]:
        columns = [side.column(role) for side, role in self.keys]
        if self.outcomes and len(self.truths) == 2:
            columns.append(f"{self.truths[0]} IS DISTINCT FROM {self.truths[1]}")
        names = [f"k{i}" for i in range(len(columns))]
        bad = " OR ".join(f"({side.id(text=False)} IS NOT NULL AND ({side.gone(role)}))" for side, role in self.others) or "false"
        inner = [*(f"{column} AS {name}" for column, name in zip(columns, names, strict=True)), f"({bad}) AS w"]
        inner += [f"{side.id(text=self.text)} AS {name}" for side, name in ((self.a, "x"), (self.b, "y"))]
        inner += [f"{f'lag({self.a.id(text=self.text)}) OVER ()' if ordered else 'NULL'} AS z"]
        counts = f"COUNT(*) AS c, min(CAST(coalesce(x, y) AS VARCHAR), {KEPT}) AS i, COUNT(*) FILTER (WHERE w) AS b"
        order = f"COUNT(*) FILTER (WHERE z IS NULL) AS e, {self._falls} AS f" if ordered else "0 AS e, 0 AS f"
        rows = f"SELECT {', '.join(inner)} FROM {self.a.relation} {join} {self.b.relation} {on}"
        groups = (
            f"SELECT {', '.join(names)}, {state} AS s, {counts}, {order} FROM ({rows}) GROUP BY {', '.join(names)}, s LIMIT {MAX_CELLS + 1}"
        )
        shown = [
            side.table.shown(side.source.roles[role], name, number=self.outcomes)
            for (side, role), name in zip(self.keys, names, strict=False)
        ]
        found = self._run(con, f"SELECT {', '.join([*shown, *names[len(shown) :]])}, s, c, i, b, e, f FROM ({groups})")
        return [JoinGroup(row[:-6], *row[-6:]) for row in found]

    def _run(self, con: Any, sql: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self.a.table.guarded(lambda: con.execute(sql).fetchall(), con, "both sources")
        self.a.scan.check()
        self.b.scan.check()
        return rows


def _check_crowds(side: Side) -> None:
    """Check the ids of one side first, if some occur so often that a join could become endless.

    Unique ids fall into buckets like raindrops: sqrt(mean) from the mean. An id that is there hundreds of times stands out,
    and so do many that are there several times each. What passes can multiply the rows of the other side by little.
    """
    mean = side.source.n / _BUCKETS
    most = side.table.ask("COUNT(*) AS c", f"GROUP BY hash({side.column('id', alone=True)}) & {_BUCKETS - 1} ORDER BY c DESC LIMIT 1")[0][0]
    if most > mean + 10 * math.sqrt(mean) + 30:
        side.source.check_ids()


EXAMPLES = 3
OUTCOME = {1.0: "right", 0.0: "wrong"}
FEW = 9  # different scores that are looked at: more of them are no right and wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """What two sources have in common: cells of (truth, baseline, candidate) as texts, the report, and the items that changed.

    truths: of each source, those of all its rows, with and without a partner; none if the truths were not looked at.
    """

    cells: Mapping[tuple[str, str, str], int]
    outcomes: bool
    report: PairingReport
    changed_items: tuple[ChangedItem, ...]
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
    changed = _changed(cells)
    if join.outcomes:
        changed = _answers(join, changed)
    return Meeting(cells=total, outcomes=join.outcomes, report=report, changed_items=tuple(changed), truths=() if join.outcomes else truths)


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


def _changed(cells: Sequence[_Cell]) -> list[ChangedItem]:
    """The first items by id on which one is right and the other wrong, losses and gains in turn, as `estimate.changed_items` has them."""
    sides = []
    for change in ("lost", "gained"):
        changed = {each: cell for cell in cells if cell.change == change for each in cell.group.ids}
        sides.append([_answered(each, change, changed[each]) for each in sorted(changed)[:KEPT]])
    return [item for pair in itertools.zip_longest(*sides) for item in pair if item is not None][:KEPT]


def _answered(id_: str, change: str, cell: _Cell) -> ChangedItem:
    return ChangedItem(id=id_, change=change, truth=cell.truth, baseline=cell.baseline, candidate=cell.candidate)


def _answers(join: Join, changed: Sequence[ChangedItem]) -> list[ChangedItem]:
    """What was answered instead of right or wrong: labels if both have them, else the scores."""
    if not (join.a.has("truth") and join.a.has("prediction") and join.b.has("prediction")):
        score: dict[Any, float] = {"right": 1.0, "wrong": 0.0}
        return [replace(item, truth=None, baseline=score[item.baseline], candidate=score[item.candidate]) for item in changed]
    ids = [item.id for item in changed]
    first, second = join.a.look_up(("truth", "prediction"), ids), join.b.look_up(("prediction",), ids)
    labels = {each: [text_of(value) for value in (*first[each], *second[each])] for each in ids}
    told = [(item, labels[item.id]) for item in changed]
    return [replace(item, truth=truth, baseline=old, candidate=new) for item, (truth, old, new) in told]
