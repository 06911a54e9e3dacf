"""Two sources met by id, without handing out rows: the pairing report, the cells of the joint table, the items that changed.

How rows find each other depends on where they lie. Files that DuckDB reads have an order, and row i of one is mostly row i of the other
(`FileJoin`); tables of an engine have none, and are joined by the SQL that every engine understands (`TableJoin`). Either answers with
groups of rows that share their values. What becomes of those is written once: canonical texts, exactly as when a source counts alone,
and the cells of `tally.pairs.count_joint`. What to do about ids without a partner is decided in `tally.pairs`, as for items.
"""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours; values of users are parameters
from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from steelyard_old.errors import DataError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.read.encode import text_of
from steelyard_old.read.engines import portable
from steelyard_old.read.engines.duckdb_table import EngineTable, Scan, connect, literal
from steelyard_old.read.engines.tables import TRAVELLERS, SqlTable, plain_value
from steelyard_old.read.source import Source
from steelyard_old.results.comparison import ChangedItem
from steelyard_old.tally.counts import declared
from steelyard_old.tally.joint import JointCounts, joint_table
from steelyard_old.tally.pairs import PairingReport

MAX_CELLS = 1_000_000  # beyond it the labels are no classes, and rows in memory are the better form
KEPT = 10  # the smallest ids of every group, for examples
EXAMPLES = 3
FEW = 9  # different scores that are looked at: more of them are no right and wrong
OUTCOME = {1.0: "right", 0.0: "wrong"}
BOTH, ONLY_A, ONLY_B, _NO_ID = range(4)
_ELSEWHERE = ONLY_A  # in a positional join: the ids of this row differ
_NUMBERS = ("int", "float", "bool")
_PLAIN = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"  # plainly a number; other texts are looked at item by item
_PROBED = 2000
_BUCKETS = 65536
_NO_IDS = ("float", "mixed", "printed", "other")


class JoinGroup(NamedTuple):
    """Rows of a join that share their values: which sides have them, how many there are, their smallest ids, and what spoils them.

    values: those of the roles of a, then of b; of right and wrong in files, at last whether the two truths differ. Without values: rows
    of one side that were only counted. ids: none where they do not leave the engine.
    """

    values: tuple[Any, ...]
    state: int
    count: int  # type: ignore[assignment]  # of rows, not the method of tuples
    ids: list[str]
    bad: int = 0
    starts: int = 0
    falls: int = 0


Roles = tuple[tuple[str, ...], tuple[str, ...]]  # by which the rows of a and of b are grouped


class Join(Protocol):
    """A way for the rows of two sources to find each other by id."""

    @property
    def a(self) -> Source: ...

    @property
    def b(self) -> Source: ...

    def right_or_wrong(self) -> bool:
        """Whether all scores of both are 0 or 1, however they are written."""

    def groups(self, roles: Roles, *, outcomes: bool) -> list[JoinGroup] | None:
        """The groups; None if something is missing, or cannot be told from missing in SQL."""

    def conflicts(self, found: Sequence[JoinGroup], *, outcomes: bool) -> tuple[int, tuple[str, ...]] | None:
        """How many items have two truths, and examples, where these groups have two; None if nobody can say."""

    def answers(self, ids: list[str]) -> list[list[str | None]] | None:
        """(truth, answer of a, answer of b) of a few ids; None without labels on both sides."""


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


def meet(a: Source, b: Source, *, outcomes: bool = False) -> Meeting | None:
    """The meeting of two sources with one row per id; None if it must be made from items.

    That is: two sources that are neither Parquet, regular CSV or proven JSON Lines files nor tables of one engine; no ids or ids of
    floats; groups, repeats, weights, slices, ratios; anything missing or no plain number beside the labels; more than a million cells.
    outcomes: right and wrong of scores of 0 and 1, if the sources have scores; else, and without it, of labels. Of tables on an engine
    no changed items are listed: ids do not leave it, except three examples in the report of a pairing that did not succeed.
    """
    join: Join | None = FileJoin.of(a, b) or TableJoin.of(a, b)
    if join is None:
        return None
    if outcomes := outcomes and ("score" in a.roles or "score" in b.roles):
        if not ("score" in a.roles and "score" in b.roles and join.right_or_wrong()):
            return None
        roles: Roles = (("score",), ("score",))
    elif {"truth", "prediction"} <= a.roles.keys() and "prediction" in b.roles:
        roles = (("truth", "prediction"), ("truth", "prediction") if "truth" in b.roles else ("prediction",))
    else:
        return None
    groups = join.groups(roles, outcomes=outcomes)
    told = None if groups is None else _cells(join, roles, groups, outcomes=outcomes)
    return None if groups is None or told is None else _meeting(join, groups, *told, outcomes=outcomes)


def joint(a: Source, b: Source, labels: Sequence[str] | None = None, *, outcomes: bool = False) -> tuple[JointCounts, PairingReport] | None:
    """Joint counts and pairing report of two sources; None where `meet` has none."""
    met = meet(a, b, outcomes=outcomes)
    return None if met is None else (met.joint(labels), met.report)


# ---- from groups to a meeting ----------------------------------------------------------------------------------------------


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


def _cells(
    join: Join, roles: Roles, groups: Sequence[JoinGroup], *, outcomes: bool
) -> tuple[list[_Cell], tuple[frozenset[str], ...]] | None:
    """The matched groups in canonical texts, and the truths of each side; None if a label is missing, with or without a partner."""
    texts: dict[int, list[tuple[Any, ...]]] = {}
    truths: list[frozenset[str]] = []
    start = 0
    for source, own, absent in ((join.a, roles[0], ONLY_B), (join.b, roles[1], ONLY_A)):
        there = {
            place: group.values[start : start + len(own)] for place, group in enumerate(groups) if group.values and group.state != absent
        }
        maps = source.canonical_maps(list(there.values()), own, [(source.roles[role], outcomes) for role in own])
        for place, values in there.items():
            found = tuple(each.get((type(value), value)) for each, value in zip(maps, values, strict=True))
            if None in found:
                return None
            texts.setdefault(place, []).append(found)
        truths += [frozenset(each.values()) for role, each in zip(own, maps, strict=True) if role == "truth"]
        start += len(own)
    cells = [_cell(group, *texts[place], outcomes=outcomes) for place, group in enumerate(groups) if group.state == BOTH]
    seen = not outcomes and all(group.values for group in groups)  # rows that were only counted have truths, too
    return cells, tuple(truths) if seen else ()


def _cell(group: JoinGroup, left: tuple[Any, ...], right: tuple[Any, ...], *, outcomes: bool) -> _Cell:
    if outcomes:
        return _Cell("right", OUTCOME[left[0]], OUTCOME[right[0]], len(group.values) > 2 and bool(group.values[2]), group)
    return _Cell(left[0], left[1], right[-1], len(right) > 1 and right[0] != left[0], group)


def _meeting(
    join: Join, groups: Sequence[JoinGroup], cells: Sequence[_Cell], truths: tuple[frozenset[str], ...], *, outcomes: bool
) -> Meeting | None:
    total: dict[tuple[str, str, str], int] = {}
    for cell in cells:
        key = cell.truth, cell.baseline, cell.candidate
        total[key] = total.get(key, 0) + cell.group.count
    conflicts = join.conflicts([cell.group for cell in cells if cell.conflict], outcomes=outcomes)
    if conflicts is None:
        return None
    only = [[group for group in groups if group.state == state] for state in (ONLY_A, ONLY_B)]
    report = PairingReport(
        matched=sum(cell.group.count for cell in cells),
        baseline_only=sum(group.count for group in only[0]),
        candidate_only=sum(group.count for group in only[1]),
        conflicting_truths=conflicts[0],
        example_baseline_only=tuple(_smallest(only[0])[:EXAMPLES]),
        example_candidate_only=tuple(_smallest(only[1])[:EXAMPLES]),
        example_conflicts=conflicts[1],
    )
    changed = _changed(cells)
    if outcomes:
        changed = _answered(join, changed)
    return Meeting(cells=total, outcomes=outcomes, report=report, changed_items=tuple(changed), truths=truths)


def _smallest(groups: Iterable[JoinGroup]) -> list[str]:
    """The smallest ids over some groups, by text."""
    return sorted(each for group in groups for each in group.ids)[:KEPT]


def _changed(cells: Sequence[_Cell]) -> list[ChangedItem]:
    """The first items by id on which one is right and the other wrong, losses and gains in turn, as `estimate.changed_items` has them."""
    sides = []
    for change in ("lost", "gained"):
        found = {each: cell for cell in cells if cell.change == change for each in cell.group.ids}
        first = [(each, found[each]) for each in sorted(found)[:KEPT]]
        sides.append(
            [
                ChangedItem(id=each, change=change, truth=cell.truth, baseline=cell.baseline, candidate=cell.candidate)
                for each, cell in first
            ]
        )
    return [item for pair in itertools.zip_longest(*sides) for item in pair if item is not None][:KEPT]


def _item(id_: str, change: str, cell: _Cell) -> ChangedItem:
    return ChangedItem(id=id_, change=change, truth=cell.truth, baseline=cell.baseline, candidate=cell.candidate)


def _answered(join: Join, changed: Sequence[ChangedItem]) -> list[ChangedItem]:
    """What was answered instead of right or wrong: labels if both have them, else the scores."""
    labels = join.answers([item.id for item in changed])
    if labels is None:
        score: dict[Any, float] = {"right": 1.0, "wrong": 0.0}
        return [replace(item, truth=None, baseline=score[item.baseline], candidate=score[item.candidate]) for item in changed]
    told = zip(changed, labels, strict=True)
    return [replace(item, truth=truth, baseline=old, candidate=new) for item, (truth, old, new) in told]


def _only_right_or_wrong(source: Source, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether the different scores of a source, of which FEW were asked for, are all 0 or 1, however they are written."""
    if len(rows) == FEW:
        return False
    numbers = source.canonical_maps(rows, ["score"], [(source.roles["score"], True)])[0]
    return len(numbers) == len(rows) and set(numbers.values()) <= {0.0, 1.0}


# ---- files, which DuckDB reads in their order -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One source in a join, and what SQL calls its columns there."""

    source: Source
    table: EngineTable
    scan: Scan
    alias: str

    @classmethod
    def of(cls, source: Source, alias: str) -> Side | None:
        """None for a source that cannot be met in SQL: see `meet`."""
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

    def scores(self) -> list[tuple[Any, ...]]:
        """The different scores, the first FEW of them."""
        name = self.source.roles["score"]
        return self.table.ask(f"DISTINCT {self.table.shown(name, self.table.identifier(name), number=True)}", f"LIMIT {FEW}")

    def look_up(self, roles: tuple[str, ...], ids: list[str]) -> dict[str, tuple[Any, ...]]:
        """The values of a few ids."""
        key = self.id(text=True, alone=True)
        shown = [self.table.shown(self.source.roles[role], self.column(role, alone=True), number=False) for role in roles]
        rows = self.table.ask(", ".join([key, *shown]), f"WHERE {key} IN ({', '.join(map(literal, ids))})") if ids else []
        return {row[0]: row[1:] for row in rows}


class FileJoin:
    """Two files met by id: row by row where they have the same order, else by a full join."""

    def __init__(self, left: Side, right: Side) -> None:
        self.left, self.right = left, right
        self.a, self.b = left.source, right.source
        self.text = not left.kind("id") == right.kind("id") == "int"
        self.truths = [side.column("truth") for side in (left, right) if side.has("truth")]
        self.outcomes = False
        self.keys: list[tuple[Side, str]] = []
        self.others: list[tuple[Side, str]] = []

    @classmethod
    def of(cls, a: Source, b: Source) -> FileJoin | None:
        left, right = Side.of(a, "a"), Side.of(b, "b")
        return None if left is None or right is None else cls(left, right)

    def right_or_wrong(self) -> bool:
        return all(_only_right_or_wrong(side.source, side.scores()) for side in (self.left, self.right))

    def groups(self, roles: Roles, *, outcomes: bool) -> list[JoinGroup] | None:
        """The groups by the cheapest way there is."""
        self.outcomes, sides, rest = outcomes, (self.left, self.right), ("truth", "prediction", "score", "probability")
        self.keys = [(side, role) for side, own in zip(sides, roles, strict=True) for role in own]
        self.others = [(side, role) for side in sides for role in rest if side.has(role) and (side, role) not in self.keys]
        if any(role in ("score", "probability") and side.kind(role) not in (*_NUMBERS, "text") for side, role in self.others):
            return None
        kinds = [side.kind("truth") for side in sides if side.has("truth")]
        if outcomes and len(kinds) == 2 and (kinds[0] != kinds[1] or kinds[0] == "printed"):
            return None
        with connect([*self.left.scan.paths, *self.right.scan.paths]) as con:
            found = self._aligned(con)
            if found is None:
                found = self._matched(con)
        if len(found) > MAX_CELLS:
            return None
        self.a.ids_checked = self.b.ids_checked = True
        return None if any(group.bad for group in found) else found

    def conflicts(self, found: Sequence[JoinGroup], *, outcomes: bool) -> tuple[int, tuple[str, ...]]:
        return sum(group.count for group in found), tuple(_smallest(found)[:EXAMPLES])

    def answers(self, ids: list[str]) -> list[list[str | None]] | None:
        if not (self.left.has("truth") and self.left.has("prediction") and self.right.has("prediction")):
            return None
        first, second = self.left.look_up(("truth", "prediction"), ids), self.right.look_up(("prediction",), ids)
        return [[text_of(value) for value in (*first[each], *second[each])] for each in ids]

    def _aligned(self, con: Any) -> list[JoinGroup] | None:
        """The groups if row i of one is row i of the other; None if not."""
        if self.a.n != self.b.n:
            return None
        x, y = (
            f"SELECT {side.id(text=self.text)} AS {name} FROM {side.relation} LIMIT {_PROBED}"
            for side, name in ((self.left, "x"), (self.right, "y"))
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
            self.a.check_ids()
        return found

    def _matched(self, con: Any) -> list[JoinGroup]:
        """The groups of the full join, after all ids were found to be there once."""
        _check_crowds(self.left)
        state = f"CASE WHEN x IS NULL THEN IF(y IS NULL, {_NO_ID}, {ONLY_B}) WHEN y IS NULL THEN {ONLY_A} ELSE {BOTH} END"
        on = f"ON {self.left.id(text=self.text)} = {self.right.id(text=self.text)}"
        found = self._grouped(con, "FULL JOIN", on, state, ordered=False)
        total = [sum(group.count for group in found if group.state == state) for state in range(4)]
        once = total[BOTH] == self.a.n - total[ONLY_A] == self.b.n - total[ONLY_B] and not total[_NO_ID]
        for source, alone in ((self.a, total[ONLY_A]), (self.b, total[ONLY_B])):
            if alone or not once:
                source.check_ids()
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
        inner += [f"{side.id(text=self.text)} AS {name}" for side, name in ((self.left, "x"), (self.right, "y"))]
        inner += [f"{f'lag({self.left.id(text=self.text)}) OVER ()' if ordered else 'NULL'} AS z"]
        counts = f"COUNT(*) AS c, min(CAST(coalesce(x, y) AS VARCHAR), {KEPT}) AS i, COUNT(*) FILTER (WHERE w) AS b"
        order = f"COUNT(*) FILTER (WHERE z IS NULL) AS e, {self._falls} AS f" if ordered else "0 AS e, 0 AS f"
        rows = f"SELECT {', '.join(inner)} FROM {self.left.relation} {join} {self.right.relation} {on}"
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
        rows: list[tuple[Any, ...]] = self.left.table.guarded(lambda: con.execute(sql).fetchall(), con, "both sources")
        self.left.scan.check()
        self.right.scan.check()
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


# ---- tables of an engine, which have no order --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TableJoin:
    """Two tables of one engine, joined there by the SQL that every engine understands."""

    a: Source
    b: Source
    left: SqlTable
    right: SqlTable

    @classmethod
    def of(cls, a: Source, b: Source, *, grouped: bool = False) -> TableJoin | None:
        """None if a table lies elsewhere, its rows are not one per item, or its ids have no text that all engines agree on.

        grouped: items may belong to groups, which the caller keeps together.
        """
        left, right = a.table, b.table
        if not isinstance(left, SqlTable) or not isinstance(right, SqlTable) or left.place.key != right.place.key:
            return None
        need_ids(a)
        need_ids(b)
        refused = {"repeat", "weight"} if grouped else {"group", "repeat", "weight"}
        if any(refused & source.roles.keys() or source.by or source.ratio for source in (a, b)):
            return None
        if left.kind(a.roles["id"]) in _NO_IDS or right.kind(b.roles["id"]) in _NO_IDS:
            return None
        return cls(a, b, left, right)

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        return self.left.place.run(sql)

    @property
    def _ids(self) -> tuple[str, str, str, str]:
        """Both relations and their ids: as numbers if both are, else as texts."""
        names = self.a.roles["id"], self.b.roles["id"]
        whole = self.left.kind(names[0]) == self.right.kind(names[1]) == "int"
        keys = [table.column(name) if whole else table.text(name) for table, name in ((self.left, names[0]), (self.right, names[1]))]
        return self.left.relation, keys[0], self.right.relation, keys[1]

    def report(self) -> PairingReport:
        """Who has a partner. Missing and repeated ids are refused first: a join would drop the ones and multiply the others."""
        counted = [int(value or 0) for value in self.run(portable.pairing(*self._ids))[0]]
        only = counted[3], counted[4]
        sides = ((self.a, self.left, counted[0], only[0], counted[5]), (self.b, self.right, counted[1], only[1], counted[6]))
        for source, table, missing, alone, twice in sides:
            if missing or twice:
                source.check_ids()
            table.found(counted[2] + alone)  # every row has an id of its own, so the ids are as many as the rows
            source.ids_checked = True
        shown = [self._alone(side) if many else () for side, many in zip(("x", "y"), only, strict=True)]
        return PairingReport(
            matched=counted[2],
            baseline_only=only[0],
            candidate_only=only[1],
            example_baseline_only=shown[0],
            example_candidate_only=shown[1],
        )

    def _alone(self, side: str) -> tuple[str, ...]:
        return tuple(str(row[0]) for row in self.run(portable.alone(*self._ids, side=side, limit=EXAMPLES)))

    def joined(self, of_a: list[str], of_b: list[str]) -> str:
        """The rows in common, as a relation with columns k0, k1 ..."""
        a, id_a, b, id_b = self._ids
        return portable.joined(a, id_a, of_a, b, id_b, of_b)

    def right_or_wrong(self) -> bool:
        return right_or_wrong(self.a) and right_or_wrong(self.b)

    def groups(self, roles: Roles, *, outcomes: bool) -> list[JoinGroup] | None:
        """The matched groups, and how many rows of either side have no partner."""
        sides = ((self.a, self.left, roles[0]), (self.b, self.right, roles[1]))
        if not all(_complete(*side) for side in sides):
            return None
        found = self.report()
        if found.unmatched and any(None in row for source, _, own in sides for row in source.tabulate(own)):
            return None  # the labels of items without a partner are in no cell of the join
        of_a, of_b = ([table.value(source.roles[role]) for role in own] for source, table, own in sides)
        keys = [f"r.k{place}" for place in range(len(of_a) + len(of_b))]
        rows = self.run(portable.cells(self.joined(of_a, of_b), keys, TRAVELLERS))
        groups = [JoinGroup(tuple(map(plain_value, row[:-1])), BOTH, int(row[-1]), []) for row in rows]
        alone = ((ONLY_A, found.baseline_only, found.example_baseline_only), (ONLY_B, found.candidate_only, found.example_candidate_only))
        return groups + [JoinGroup((), state, many, list(examples)) for state, many, examples in alone]

    def conflicts(self, found: Sequence[JoinGroup], *, outcomes: bool) -> tuple[int, tuple[str, ...]] | None:
        if outcomes and "truth" in self.a.roles and "truth" in self.b.roles:
            kinds = {self.left.kind(self.a.roles["truth"]), self.right.kind(self.b.roles["truth"])}
            return None if len(kinds) > 1 or kinds & {"printed", "mixed"} else self._two_truths()
        if not found:
            return 0, ()
        same = self.left.kind(self.a.roles["truth"]) == self.right.kind(self.b.roles["truth"])
        return sum(group.count for group in found), self._two_truths()[1] if same else ()

    def answers(self, ids: list[str]) -> list[list[str | None]] | None:
        return None  # rows stay where they are

    def _two_truths(self) -> tuple[int, tuple[str, ...]]:
        """How many ids have two truths, and examples."""
        both = self.joined([self.left.value(self.a.roles["truth"])], [self.right.value(self.b.roles["truth"])])
        where = f"WHERE {portable.differ('r.k0', 'r.k1')} = 1"
        many = int(self.run(f"SELECT COUNT(*) FROM {both} AS r {where}")[0][0])
        rows = self.run(f"SELECT i FROM {both} AS r {where} ORDER BY i LIMIT {EXAMPLES}") if many else []
        return many, tuple(str(row[0]) for row in rows)


def need_ids(source: Source) -> None:
    """Refuse to pair the rows of an engine without ids: it hands them out in any order, so row i of one is not row i of the other."""
    if isinstance(source.table, SqlTable) and "id" not in source.roles:
        raise DataError(
            f"Cannot pair the rows: {source.table.what} has no id column, and its rows have no order.",
            got=f"no id column in {source.table.what}, whose rows have no order",
            need="an id column in both",
            hint="name it with id=, or compare as different items with design='unpaired'",
        )


def right_or_wrong(source: Source) -> bool:
    """Whether all scores of a table on an engine are 0 or 1, however they are written."""
    table, name = source.table, source.roles["score"]
    if not isinstance(table, SqlTable):
        return False
    rows = table.place.run(portable.cells(table.relation, [table.value(name)], FEW))
    return _only_right_or_wrong(source, [(plain_value(row[0]), row[1]) for row in rows])


def _complete(source: Source, table: SqlTable, roles: tuple[str, ...]) -> bool:
    """Whether nothing is missing in the columns beside the counted ones, whose cells will tell; numbers must be numbers on the engine."""
    beside = [role for role in ("truth", "prediction", "score", "probability") if role in source.roles and role not in roles]
    if not beside:
        return True
    kinds = {role: table.kind(source.roles[role]) for role in beside}
    if any(role in ("score", "probability") and kind not in ("int", "float", "bool") for role, kind in kinds.items()):
        return False
    columns, finite = (
        [table.column(source.roles[role]) for role in some] for some in (beside, [role for role in beside if kinds[role] == "float"])
    )
    counted = [int(value) for value in table.place.run(portable.present(table.relation, columns, finite))[0]]
    return all(many == counted[0] for many in counted)
