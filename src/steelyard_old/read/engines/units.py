"""Scores reduced to units where they lie: items with their repeats, groups of items, or md5 buckets where there are too many of these.

The `Sums` are those that the items would have made: rows (items, sum of their scores), and for two systems (items, sum of a, items,
sum of b). An item with repeats counts once, with the mean of its scores, so one more GROUP BY turns repeats into plain items.
"""

# ruff: noqa: S608 - SQL is built here from quoted identifiers; values of users are parameters
from __future__ import annotations

from typing import Any, NamedTuple

from steelyard_old.errors import DataError
from steelyard_old.read.engines import moments as reduced
from steelyard_old.read.engines import portable
from steelyard_old.read.engines.join import TableJoin
from steelyard_old.read.engines.tables import TRAVELLERS, SqlTable
from steelyard_old.read.roles import Assignment
from steelyard_old.read.source import Source
from steelyard_old.tally.pairs import PairingReport
from steelyard_old.tally.sums import Sums


class Units(NamedTuple):
    """Sums by unit; kind: items, repeats, groups or buckets; items: how many; bounds: the least and the greatest score; tries per item."""

    sums: Sums
    kind: str
    items: int
    answers: int
    bounds: tuple[float, float]
    tries: tuple[int, int] = (1, 1)


def by_item(source: Source, role: str = "score") -> Source:
    """The source with one row per item: the mean of its repeats. Without repeats, the source as it is."""
    if "repeat" not in source.roles:
        return source
    table = source.table
    assert isinstance(table, SqlTable)
    source.check_ids()
    name, group = source.roles["id"], source.roles.get("group")
    number = reduced.number_of(source, table, role)
    reduced.first_pass(table, number, role)
    whole = table.kind(name) == "int"
    key = table.column(name) if whole else table.text(name)
    part = None if group is None else table.text(group) if table.kind(group) == "bool" else table.value(group)
    relation = portable.by_item(table.relation, key, number, part)  # an engine may know no least of two booleans, but of two texts
    kinds = {"i": "int" if whole else "text", "x": "float", "tries": "int"}
    roles = {"id": "i", "score": "x"}
    if group is not None:
        table.missing(group)
        torn = int(table.place.run(f"SELECT COUNT(*) FROM {relation} AS r WHERE r.g <> r.h")[0][0])
        if torn:
            got = f"{torn} items of {table.what} whose repeats lie in two groups"
            raise DataError(
                f"{torn} items of {table.what} have repeats in two groups.",
                got=got,
                need="one group for every item",
                hint="group='none', or name another column with group=",
            )
        kinds["g"] = "text" if table.kind(group) == "bool" else table.kind(group)
        roles["group"] = "g"
    held = (table,)  # which owns the connection
    made = SqlTable(table.place, relation, tuple(kinds), what=table.what, let_go=lambda: None, kinds=kinds)
    out = Source(made, Assignment(roles), name=source.name, held=held)
    out.ids_checked = True
    return out


def unit_sums(source: Source, *, dealt: bool = False) -> Units:
    """The scores of a source by unit: groups if there are any, else items, and buckets of either where they are too many to travel.

    dealt: items in buckets, even where their different scores are few.
    """
    answers = source.table.n
    one = by_item(source)
    table = one.table
    assert isinstance(table, SqlTable)
    bounds = _bounds(source)
    tries = (1, 1)
    if one is not source:
        low, high = table.place.run(portable.extremes(table.relation, "r.tries"))[0]
        tries = int(low), int(high)
    if "group" in one.roles:
        kind = "groups" if _groups_fit(table, one.roles["group"]) else "buckets"
        return Units(reduced.group_sums(one), kind, table.n, answers, bounds, tries)
    name = one.roles["score"]
    if not dealt and table.fits([name]):
        sums = _counted(table, reduced.number_of(one, table, "score"))
        return Units(sums, "items" if tries[1] == 1 else "repeats", table.n, answers, bounds, tries)
    return Units(reduced.bucket_sums(one), "buckets", table.n, answers, bounds, tries)


def paired_unit_sums(a: Source, b: Source) -> tuple[Sums, str, PairingReport] | None:
    """The scores of two systems on the items in common, by unit, with the kind of the unit; None if no engine can join the two."""
    pair = TableJoin.of(by_item(a), by_item(b), grouped=True)
    if pair is None:
        return None
    grouped = ["group" in source.roles for source in (pair.a, pair.b)]
    if not any(grouped):
        found = reduced.paired_bucket_sums(pair.a, pair.b)
        return None if found is None else (found[0], "buckets", found[1])
    report = pair.report()
    sides = ((pair.a, pair.left), (pair.b, pair.right))
    columns = [[reduced.number_of(source, table, "score")] for source, table in sides]
    for (source, table), own, there in zip(sides, columns, grouped, strict=True):
        if there:
            table.missing(source.roles["group"])
            own.append(table.value(source.roles["group"]))
    both = pair.joined(*columns)
    if all(grouped):
        torn = int(pair.run(f"SELECT COUNT(*) FROM {both} AS r WHERE {portable.differ('r.k1', 'r.k3')} = 1")[0][0])
        if torn:
            got = f"{torn} items that lie in another group in the other run"
            raise DataError(
                f"{torn} items are in another group in the other run.",
                got=got,
                need="one group for every item",
                hint="group='none', or name another column with group=",
            )
    group, candidate = ("r.k1", "r.k2") if grouped[0] else ("r.k2", "r.k1")
    source, table = sides[0] if grouped[0] else sides[1]
    kind = "groups" if _groups_fit(table, source.roles["group"]) else "buckets"
    if kind == "buckets":
        group = table.place.dialect.bucket(table.place.dialect.as_text(group))
    scores = ["r.k0", candidate]
    reduced.refuse_missing(pair.run(portable.sums(both, scores))[0], f"score of {pair.left.what} or {pair.right.what}")
    return reduced.sums_by(pair.left, both, group, scores, "groups"), kind, report


def _groups_fit(table: SqlTable, name: str) -> bool:
    """Whether the groups may travel; if not, whole groups are dealt into buckets from now on."""
    if table.fits([name]):
        return True
    table.deal(name)
    return False


def _counted(table: SqlTable, number: str) -> Sums:
    """Each different score once, with how many items have it."""
    import numpy as np

    rows = table.place.run(portable.cells(table.relation, [number], TRAVELLERS))
    rows.sort(key=lambda row: float(row[0]))
    values, count = np.array([float(row[0]) for row in rows]), np.array([int(row[1]) for row in rows], np.int64)
    return Sums(rows=np.stack([np.ones(len(values)), values], axis=1), count=count, answers=int(count.sum()))


def _bounds(source: Source) -> tuple[float, float]:
    table: Any = source.table
    number = reduced.number_of(source, table, "score")
    reduced.first_pass(table, number, "score")
    low, high = table.place.run(portable.extremes(table.relation, number))[0]
    return float(low), float(high)
