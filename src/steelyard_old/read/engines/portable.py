"""The one SQL text: SELECT, JOIN, UNION ALL, GROUP BY, COUNT, SUM, CASE and CAST, understood alike by every engine.

A query is given relations and expressions over their columns, already quoted by a dialect, and names what it computes k0, k1 ...
(values), i (id), n (count). Three traps are handled here, once for all engines:

- NULL ids form a group of their own in a GROUP BY and look matched, but never join: they are counted apart.
- A join multiplies rows whose id occurs twice: `pairing` counts such ids without joining, and runs first.
- Numbers that are missing are NULL on one engine and NaN on another: `x - x = 0` is true of finite numbers alone, everywhere.
"""

# ruff: noqa: S608 - SQL is built here from quoted identifiers; values of users are parameters
from __future__ import annotations

from collections.abc import Sequence


def cells(relation: str, keys: Sequence[str], limit: int, count: str = "COUNT(*)") -> str:
    """How many rows have each combination of values. count: another aggregate, over the columns of the relation as w."""
    names = [f"k{place}" for place in range(len(keys))]
    inner = ", ".join(f"{key} AS {name}" for key, name in zip(keys, names, strict=True))
    weight = "" if count == "COUNT(*)" else f", {count} AS w"
    total = "COUNT(*)" if not weight else "SUM(w)"
    listed = ", ".join(names)
    return f"SELECT {listed}, {total} AS n FROM (SELECT {inner}{weight} FROM {relation} AS r) AS t GROUP BY {listed} LIMIT {limit}"


def present(relation: str, columns: Sequence[str], numbers: Sequence[str]) -> str:
    """The number of rows, of values in each column, and of finite numbers in each of `numbers`."""
    known = [f"COUNT({column})" for column in columns]
    finite = [f"COUNT(CASE WHEN {number} - {number} = 0 THEN 1 END)" for number in numbers]
    return f"SELECT {', '.join(['COUNT(*)', *known, *finite])} FROM {relation} AS r"


def repeated(relation: str, keys: Sequence[str]) -> str:
    """The combinations that occur more than once, with how often."""
    names = [f"k{place}" for place in range(len(keys))]
    inner = ", ".join(f"{key} AS {name}" for key, name in zip(keys, names, strict=True))
    listed = ", ".join(names)
    return f"SELECT {listed}, COUNT(*) AS n FROM (SELECT {inner} FROM {relation} AS r) AS t GROUP BY {listed} HAVING COUNT(*) > 1"


def how_many(query: str) -> str:
    """How many rows a query of groups has, and how many rows of the source are in them."""
    return f"SELECT COUNT(*), SUM(n) FROM ({query}) AS g"


def _sides(a: str, id_a: str, b: str, id_b: str) -> str:
    """Every id once, with x, how often it is in a, and y, how often it is in b."""
    both = f"SELECT {id_a} AS i, 1 AS x, 0 AS y FROM {a} AS r UNION ALL SELECT {id_b} AS i, 0 AS x, 1 AS y FROM {b} AS r"
    return f"SELECT i, SUM(x) AS x, SUM(y) AS y FROM ({both}) AS u GROUP BY i"


def pairing(a: str, id_a: str, b: str, id_b: str) -> str:
    """Seven numbers: rows without id in a and in b; ids in both, only in a, only in b; ids more than once in a and in b."""
    tests = ("x > 0 AND y > 0", "y = 0", "x = 0", "x > 1", "y > 1")
    sums = [f"SUM(CASE WHEN i IS NULL THEN {side} ELSE 0 END)" for side in ("x", "y")]
    sums += [f"COUNT(CASE WHEN i IS NOT NULL AND {test} THEN 1 END)" for test in tests]
    return f"SELECT {', '.join(sums)} FROM ({_sides(a, id_a, b, id_b)}) AS g"


def alone(a: str, id_a: str, b: str, id_b: str, *, side: str, limit: int) -> str:
    """The smallest ids that only one side has: side "x" for a, "y" for b."""
    other = {"x": "y", "y": "x"}[side]
    return f"SELECT i FROM ({_sides(a, id_a, b, id_b)}) AS g WHERE i IS NOT NULL AND {other} = 0 ORDER BY i LIMIT {limit}"


def joined(a: str, id_a: str, of_a: Sequence[str], b: str, id_b: str, of_b: Sequence[str]) -> str:
    """The rows of both, met by id: i, then k0, k1 ... for the expressions of a and of b. Ids must be unique on both sides."""
    left = ", ".join(f"{each} AS a{place}" for place, each in enumerate(of_a))
    right = ", ".join(f"{each} AS b{place}" for place, each in enumerate(of_b))
    names = [f"p.a{place}" for place in range(len(of_a))] + [f"q.b{place}" for place in range(len(of_b))]
    shown = ", ".join(f"{name} AS k{place}" for place, name in enumerate(names))
    one, other = f"SELECT {id_a} AS i, {left} FROM {a} AS r", f"SELECT {id_b} AS i, {right} FROM {b} AS r"
    return f"(SELECT p.i AS i, {shown} FROM ({one}) AS p JOIN ({other}) AS q ON p.i = q.i)"


def differ(left: str, right: str) -> str:
    """1 where two values differ or one of them is missing, else 0."""
    return f"CASE WHEN {left} = {right} THEN 0 WHEN {left} IS NULL AND {right} IS NULL THEN 0 ELSE 1 END"


def sums(relation: str, columns: Sequence[str]) -> str:
    """First pass: rows, and for each column how many finite numbers and their sum."""
    parts = [f"COUNT(CASE WHEN {x} - {x} = 0 THEN 1 END), SUM(CASE WHEN {x} - {x} = 0 THEN {x} END)" for x in columns]
    return f"SELECT COUNT(*), {', '.join(parts)} FROM {relation} AS r"


def centred(relation: str, columns: Sequence[str], centres: Sequence[str]) -> str:
    """Second pass: sums of x - centre for each column, then of all products of two such differences.

    The one-pass E[xy] - E[x]E[y] loses half the digits; this loses none, and the sums of differences mend a centre that is
    a little off the mean.
    """
    moved = [f"({x} - {centre})" for x, centre in zip(columns, centres, strict=True)]
    products = [f"SUM({moved[i]} * {moved[j]})" for i in range(len(moved)) for j in range(i, len(moved))]
    return f"SELECT {', '.join([f'SUM({each})' for each in moved] + products)} FROM {relation} AS r"


def grouped_sums(relation: str, key: str, columns: Sequence[str], limit: int) -> str:
    """For each value of the key: the key, how many rows, and the sum of each column."""
    inner = ", ".join([f"{key} AS g", *(f"{each} AS c{place}" for place, each in enumerate(columns))])
    outer = "".join(f", SUM(c{place})" for place in range(len(columns)))
    return f"SELECT g, COUNT(*) AS n{outer} FROM (SELECT {inner} FROM {relation} AS r) AS t GROUP BY g LIMIT {limit}"


def extremes(relation: str, column: str) -> str:
    """The least and the greatest value of a column."""
    return f"SELECT MIN({column}), MAX({column}) FROM {relation} AS r"


def by_item(relation: str, key: str, number: str, group: str | None) -> str:
    """One row per item as a relation: i, the mean x of its repeats, how many (tries), and g and h, its least and greatest group."""
    inner = ", ".join([f"{key} AS i", f"{number} AS v", *([f"{group} AS c"] if group else [])])
    groups = ", MIN(c) AS g, MAX(c) AS h" if group else ""
    return f"(SELECT i, SUM(v) / COUNT(*) AS x, COUNT(*) AS tries{groups} FROM (SELECT {inner} FROM {relation} AS r) AS t GROUP BY i)"
