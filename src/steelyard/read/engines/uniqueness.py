"""Proofs that no key occurs twice, cheaper than a GROUP BY with as many groups as rows.

A chain: every key is larger than the one before it, in some order, so that none comes back. It keeps nothing, and a missing key breaks
it. Hashes: if no two of them agree, no two keys do, since equal keys have equal hashes; where two agree, the keys must be compared.
What fails here proves nothing against the keys: that is for whoever asked to find out.
"""

from __future__ import annotations

from typing import Any

FIRST = 4096  # rows that tell whether it is worth looking for a chain
HASHED = 1 << 24  # keys whose hashes are sorted together: 128 MB
# Over a key and the one before it. Numbered texts without leading zeros (item-9, item-10) grow by length first.
ORDERS = ("here > before", "strlen(here) > strlen(before) OR (strlen(here) = strlen(before) AND here > before)")


def orders_of(type_: str) -> tuple[str, ...]:
    """The orders that keys of a type of DuckDB may grow in."""
    return ORDERS if type_ == "VARCHAR" else ORDERS[:1]


def linked(key: str, relation: str) -> str:
    """The rows of a relation with their key as `here` and that of the row before, in whichever order the engine reads them, as `before`."""
    return f"(SELECT *, {key} AS here, lag({key}) OVER () AS before FROM {relation})"  # noqa: S608 - quoted identifiers of ours


def probe(key: str, relation: str, orders: tuple[str, ...]) -> str:
    """How many of the first rows there are, and how many are larger than the one before them, in each order."""
    some = f"(SELECT {key} AS key FROM {relation} LIMIT {FIRST})"  # noqa: S608 - quoted identifiers of ours
    return f"SELECT COUNT(*), {', '.join(map(larger, orders))} FROM {linked('key', some)}"  # noqa: S608


def larger(order: str) -> str:
    """How many rows of `linked` have a larger key than the row before them."""
    return f"coalesce(count_if({order}), 0)"  # of the very first row alone DuckDB cannot tell


def growing(told: tuple[int, ...], orders: tuple[str, ...]) -> str | None:
    """The order in which the rows of `probe` form a chain; None if there is none."""
    return next((order for order, many in zip(orders, told[1:], strict=True) if many == told[0] - 1), None)


def hashes_differ(hashes: Any) -> bool:
    """Whether no two numbers of an array agree. The array is sorted in its place."""
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()
