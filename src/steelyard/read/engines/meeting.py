"""Two tables of one engine met by id: the pairing report and the cells of the joint table, counted there.

The same answer as `joining.meet` gives for files and `tally.pairs` for items, but for one thing: no list of changed items. Ids do
not leave the engine, except three examples in the report of a pairing that did not succeed.
"""

# ruff: noqa: S608 - SQL is built here from quoted identifiers; values of users are parameters
from __future__ import annotations

from typing import Any

from steelyard.errors import DataError
from steelyard.late_dataclass import dataclass
from steelyard.read.engines import portable
from steelyard.read.engines.joining import EXAMPLES, FEW, OUTCOME, Meeting, only_right_or_wrong
from steelyard.read.engines.tables import TRAVELLERS, SqlTable, plain_value
from steelyard.read.source import Source
from steelyard.tally.pairs import PairingReport

_NO_IDS = ("float", "mixed", "printed", "other")


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two sources whose tables one engine can join by id."""

    a: Source
    b: Source
    left: SqlTable
    right: SqlTable

    @classmethod
    def of(cls, a: Source, b: Source, *, grouped: bool = False) -> Pair | None:
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

    def conflicts(self) -> tuple[int, tuple[str, ...]]:
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


def meet_tables(a: Source, b: Source, *, outcomes: bool = False) -> Meeting | None:
    """The meeting of two sources on one engine with one row per id; None if it must be made from items.

    That is: two engines, ids of floats, groups, repeats, weights, slices, ratios, anything missing, scores kept as text beside
    the labels. outcomes: right and wrong of scores of 0 and 1, if the sources have scores; else, and without it, of labels.
    """
    pair = Pair.of(a, b)
    if pair is None:
        return None
    if outcomes and ("score" in a.roles or "score" in b.roles):
        if not all("score" in source.roles and right_or_wrong(source) for source in (a, b)):
            return None
        roles: tuple[tuple[str, ...], tuple[str, ...]] = (("score",), ("score",))
    elif {"truth", "prediction"} <= a.roles.keys() and "prediction" in b.roles:
        outcomes = False
        roles = (("truth", "prediction"), ("truth", "prediction") if "truth" in b.roles else ("prediction",))
    else:
        return None
    if not _complete(a, pair.left, roles[0]) or not _complete(b, pair.right, roles[1]):
        return None
    found = pair.report()
    if found.unmatched:  # the labels of items without a partner are in no cell of the join
        for source, own in ((a, roles[0]), (b, roles[1])):
            if any(None in row for row in source.tabulate(own)):
                return None
    counted = _cells(pair, roles, outcomes=outcomes)
    return None if counted is None else _meeting(pair, found, counted, outcomes=outcomes)


def right_or_wrong(source: Source) -> bool:
    """Whether all scores are 0 or 1, however they are written."""
    table, name = source.table, source.roles["score"]
    if not isinstance(table, SqlTable):
        return False
    rows = table.place.run(portable.cells(table.relation, [table.value(name)], FEW))
    return only_right_or_wrong(source, [(plain_value(row[0]), row[1]) for row in rows])


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


_Cells = dict[tuple[str, str, str], int]


def _cells(pair: Pair, roles: tuple[tuple[str, ...], tuple[str, ...]], *, outcomes: bool) -> tuple[_Cells, int] | None:
    """The joint cells in canonical texts, and how many items have two truths; None if a label is missing."""
    sides = ((pair.a, pair.left, roles[0]), (pair.b, pair.right, roles[1]))
    of_a, of_b = ([table.value(source.roles[role]) for role in own] for source, table, own in sides)
    both = pair.joined(of_a, of_b)
    keys = [f"r.k{place}" for place in range(len(of_a) + len(of_b))]
    rows = [(*map(plain_value, row[:-1]), int(row[-1])) for row in pair.run(portable.cells(both, keys, TRAVELLERS))]
    maps = []
    start = 0
    for source, own in ((pair.a, roles[0]), (pair.b, roles[1])):
        part = [row[start : start + len(own)] for row in rows]
        maps += source.canonical_maps(part, own, [(source.roles[role], outcomes) for role in own])
        start += len(own)
    total: _Cells = {}
    conflicts = 0
    for row in rows:
        found: list[Any] = [each.get((type(value), value)) for each, value in zip(maps, row[:-1], strict=True)]
        if None in found:
            return None
        key = ("right", OUTCOME[found[0]], OUTCOME[found[1]]) if outcomes else (found[0], found[1], found[-1])
        total[key] = total.get(key, 0) + row[-1]
        conflicts += row[-1] if len(found) == 4 and found[0] != found[2] else 0
    return total, conflicts


def _meeting(pair: Pair, found: PairingReport, counted: tuple[_Cells, int], *, outcomes: bool) -> Meeting | None:
    cells, conflicts = counted
    examples: tuple[str, ...] = ()
    truths = [(source.roles.get("truth"), table) for source, table in ((pair.a, pair.left), (pair.b, pair.right))]
    if outcomes and all(name is not None for name, _ in truths):
        kinds = {table.kind(name) for name, table in truths if name is not None}
        if len(kinds) > 1 or kinds & {"printed", "mixed"}:
            return None
        conflicts, examples = pair.conflicts()
    elif conflicts:
        examples = pair.conflicts()[1] if _same_kind(truths) else ()
    report = PairingReport(
        matched=found.matched,
        baseline_only=found.baseline_only,
        candidate_only=found.candidate_only,
        conflicting_truths=conflicts,
        example_baseline_only=found.example_baseline_only,
        example_candidate_only=found.example_candidate_only,
        example_conflicts=examples,
    )
    return Meeting(cells=cells, outcomes=outcomes, report=report, changed_items=())


def _same_kind(truths: list[tuple[str | None, SqlTable]]) -> bool:
    return len({table.kind(name) for name, table in truths if name is not None}) == 1
