"""Proofs that no key occurs twice, cheaper than a GROUP BY with as many groups as rows.

A chain: every key is larger than the one before it, in some order, so that none comes back. It keeps nothing, and a missing key breaks
it. Hashes: if no two of them agree, no two keys do, since equal keys have equal hashes; where two agree, the keys must be compared.
What fails here proves nothing against the keys: that is for whoever asked to find out.
"""

from __future__ import annotations

from typing import Any

_UNSEEN = r"[\s\x{00a0}\x{00ad}\x{1680}\x{2000}-\x{200d}\x{2028}\x{2029}\x{202f}\x{205f}\x{2060}\x{3000}\x{feff}]"
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


def unusual(key: str) -> str:
    """How many keys have a capital, a blank or a letter beyond ASCII. Where none has, no two that differ look alike."""
    return f"coalesce(count_if(lower({key}) <> {key} OR strlen({key}) <> length({key}) OR contains({key}, ' ')), 0)"


def plain(key: str) -> str:
    """A key without what the eye does not see, in small letters: what `tally.spelling.plain_spelling` makes of it.

    But for letters of another shape (a ligature, a letter of full width), of which DuckDB does not know which letter they are, and for
    blanks of ASCII that are no space and no tab: a pattern costs many times as much as a space that is taken out, so only texts beyond
    ASCII have one.
    """
    beyond = f"nfc_normalize(regexp_replace({key}, '{_UNSEEN}', '', 'g'))"
    return f"lower(CASE WHEN strlen({key}) = length({key}) THEN replace(replace({key}, ' ', ''), chr(9), '') ELSE {beyond} END)"


def hashes_differ(hashes: Any) -> bool:
    """Whether no two numbers of an array agree. The array is sorted in its place."""
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()
