"""Real-valued scores reduced where they lie: n, means and centred sums of products; sums by group; sums by md5 bucket.

Sums leave the engine as `Sums` with rows (n, sum), and (n, sum of a, n, sum of b) for two systems, the rows that a mean asks for.
A bucket holds the items whose id has the same first digits in its md5, which every engine deals alike: resampling the 4,096
buckets with multinomial weights is the bootstrap of `infer.sums`, with the same answer for the same seed on every engine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from steelyard_old.errors import DataError
from steelyard_old.read.engines import portable
from steelyard_old.read.engines.dialects import most_buckets
from steelyard_old.read.engines.join import TableJoin
from steelyard_old.read.engines.tables import TRAVELLERS, SqlTable
from steelyard_old.read.source import Source
from steelyard_old.tally.pairs import PairingReport
from steelyard_old.tally.sums import Sums


class Moments(NamedTuple):
    """n items; a mean per column; the centred sums of products in the order xx (one column), or xx, xy, yy (two)."""

    n: int
    means: tuple[float, ...]
    products: tuple[float, ...]


def moments(source: Source, role: str = "score") -> Moments:
    """n, mean and M2 of a column, in two passes on the engine. M2/(n - 1) is the variance."""
    table = _on_engine(source)
    number = number_of(source, table, role)
    return _moments(table, table.relation, [number], f"{role} of {table.what}", first_pass(table, number, role))


def bucket_sums(source: Source, role: str = "score") -> Sums:
    """Sums by md5 bucket of the id. Ids must be unique, which is checked; repeats of an item share its bucket."""
    table = _on_engine(source)
    if "group" in source.roles:
        raise DataError(
            f"Cannot split the rows of {table.what} into buckets: they are grouped, and a bucket would tear groups apart.",
            got="groups, which the buckets would tear apart",
            need="independent items",
            hint="sum by group instead",
        )
    source.check_ids()
    if "id" not in source.roles:
        raise DataError(
            f"Cannot split the rows of {table.what} into buckets without an id column.",
            got="no id column",
            need="ids, by which every engine deals alike",
            hint="name it with id=",
        )
    number = number_of(source, table, role)
    first_pass(table, number, role)
    key = table.place.dialect.bucket(table.text(source.roles["id"]))
    return sums_by(table, table.relation, key, [number], "items")


def paired_bucket_sums(a: Source, b: Source, role: str = "score") -> tuple[Sums, PairingReport] | None:
    """Sums of both systems over the items in common by md5 bucket of the id; None if no engine can join the two."""
    pair = TableJoin.of(a, b)
    if pair is None:
        return None
    report = pair.report()
    both = pair.joined([number_of(a, pair.left, role)], [number_of(b, pair.right, role)])
    refuse_missing(pair.run(portable.sums(both, ["r.k0", "r.k1"]))[0], f"{role} of {pair.left.what} or {pair.right.what}")
    dialect = pair.left.place.dialect
    return sums_by(pair.left, both, dialect.bucket(dialect.as_text("r.i")), ["r.k0", "r.k1"], "items"), report


def group_sums(source: Source, role: str = "score") -> Sums:
    """Sums by group: what cluster-robust errors and the bootstrap over groups ask for."""
    table = _on_engine(source)
    group, number = table.value(source.roles["group"]), number_of(source, table, role)
    table.missing(source.roles["group"])
    first_pass(table, number, role)
    return sums_by(table, table.relation, group, [number], "groups")


# ---- the pieces --------------------------------------------------------------------------------------------------------


def _on_engine(source: Source) -> SqlTable:
    if not isinstance(source.table, SqlTable):
        raise DataError(
            f"Only a table of a database or a Spark frame is added up by its engine, not {source!r}.",
            got=f"{source!r}",
            need="a table of a database or a Spark frame",
        )
    return source.table


def number_of(source: Source, table: SqlTable, role: str) -> str:
    name = source.roles[role]
    if table.kind(name) in ("text", "mixed", "other"):
        hint = "convert the column in a query, such as CAST(... AS DOUBLE)"
        raise DataError(
            f"The column {name!r} of {table.what} has texts; the {role} must be numbers.",
            got=f"texts in {name!r}",
            need="a column of numbers",
            hint=hint,
        )
    return table.real(name)


def first_pass(table: SqlTable, number: str, role: str) -> Any:
    """Rows, finite numbers and their sum, of a table in which none is missing."""
    first = table.place.run(portable.sums(table.relation, [number]))[0]
    table.found(int(first[0]))
    refuse_missing(first, f"{role} of {table.what}")
    return first


def refuse_missing(counted: Any, what: str) -> None:
    """Refuse what is NULL, NaN or infinite. SQLite keeps NaN as NULL, which SUM skips and COUNT(*) counts: so finite ones are counted."""
    n, finite = int(counted[0]), [int(each) for each in counted[1::2]]
    if gone := sum(n - each for each in finite):
        got, hint = f"{gone} values that are NULL, NaN or infinite, of {n} rows", "leave them out in a query, or fill them"
        raise DataError(f"The {what} has {got}.", got=got, need="a finite number in every row", hint=hint)


def _moments(table: SqlTable, relation: str, columns: list[str], what: str, first: Any = None) -> Moments:
    """Two passes. S(x - c) over n is added to the centre c, and its products are taken off, so c need only be near the mean."""
    first = first or table.place.run(portable.sums(relation, columns))[0]
    refuse_missing(first, what)
    n = int(first[0])
    centres = [float(total) / n for total in first[2::2]]
    written = [table.place.dialect.as_real(f"'{centre!r}'") for centre in centres]
    second = [float(each) for each in table.place.run(portable.centred(relation, columns, written))[0]]
    off, products = second[: len(columns)], iter(second[len(columns) :])
    means = tuple(centre + each / n for centre, each in zip(centres, off, strict=True))
    pairs = [(i, j) for i in range(len(columns)) for j in range(i, len(columns))]
    return Moments(n, means, tuple(next(products) - off[i] * off[j] / n for i, j in pairs))


def sums_by(table: SqlTable, relation: str, key: str, columns: list[str], units: Any) -> Sums:
    import numpy as np

    most = max(TRAVELLERS, most_buckets())
    found = table.place.run(portable.grouped_sums(relation, key, columns, most + 1))
    if len(found) > most:
        raise DataError(
            f"More than {TRAVELLERS} groups in {table.what}.",
            got=f"more than {TRAVELLERS} groups",
            need="fewer",
            hint="name another column with group=",
        )
    found.sort(key=lambda row: (type(row[0]).__name__, row[0]))  # one order on every engine
    parts = [[each for total in row[2:] for each in (float(row[1]), float(total))] for row in found]
    rows = np.array(parts, float).reshape(len(found), 2 * len(columns))
    return Sums(
        rows=rows,
        sizes=rows[:, 0],
        count=np.ones(len(found), np.int64),
        answers=sum(int(row[1]) for row in found),
        units=units,
    )
