"""The order in which items are asked: by the hash of seed and id, so that any first n are a random sample and always the same one.

The first 200 of 500 are the first 200 of 1,000; rows that are moved change nothing, rows that are added displace few.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from steelyard.errors import DataError, UsageError
from steelyard.evaluate.asking.asks import Case


def hash_order(ids: Sequence[str], seed: int | str) -> list[int]:
    """Where the ids stand, in the order of SHA-256 of seed and id.

    >>> hash_order(["a", "b", "c", "d"], seed=0)
    [3, 2, 0, 1]
    """
    return sorted(range(len(ids)), key=lambda place: _hash(seed, ids[place]))


def subset(cases: Sequence[Case], n: int | None, seed: int, strata: str | None = None, whole_groups: bool = False) -> list[Case]:
    """The first n cases (None: all) in hash order, over strata in their shares, or group by group until there are n.

    strata is a column of the rows. The i-th of m cases of a stratum, in hash order, stands at (i - 1 + u) / m of the way, u
    drawn by hash for each stratum: at any moment every stratum has its share of what was asked, to within one, and every
    case has the same chance to be among the first n. (Largest remainders would not be nested: one item more can cost a
    stratum a place.) Data that grow keep the order inside each stratum.
    Whole groups come in the order of their names' hashes; the group that reaches n is the last, and is asked in full.
    """
    if n is not None and n < 1:
        raise UsageError("cannot choose a subset", got=f"n = {n}", need="a whole number of at least 1")
    if strata is not None and whole_groups:
        raise UsageError("cannot choose a subset", got="strata and whole groups", need="one of them")
    ordered = [cases[place] for place in hash_order([case.id for case in cases], seed)]
    if whole_groups:
        return _group_by_group(ordered, n, seed)
    if strata is not None:
        ordered = _interleaved(ordered, seed, strata)
    return ordered[:n]


def _hash(seed: int | str, text: str) -> str:
    return hashlib.sha256(f"{seed}\0{text}".encode(errors="surrogatepass")).hexdigest()  # JSON may hold half a character


def _interleaved(ordered: Sequence[Case], seed: int, strata: str) -> list[Case]:
    """Systematic sampling of all strata at once, each from a random start."""
    names = [_stratum(case, strata) for case in ordered]
    many: dict[str, int] = {}
    nth = []
    for name in names:
        nth.append(many.get(name, 0))
        many[name] = nth[-1] + 1
    start = {name: int(_hash(seed, f"stratum\0{name}")[:13], 16) / 16**13 for name in many}
    way = [((i + start[name]) / many[name], place) for place, (i, name) in enumerate(zip(nth, names, strict=True))]
    return [ordered[place] for _, place in sorted(way)]


def _stratum(case: Case, strata: str) -> str:
    value = case.row.get(strata)
    if value is None:
        raise DataError(f"cannot stratify by {strata!r}", got=f"no value for item {case.id!r}", need="a value for every item")
    return str(value)


def _group_by_group(ordered: Sequence[Case], n: int | None, seed: int) -> list[Case]:
    groups: dict[str, list[Case]] = {}
    for case in ordered:
        if case.group is None:
            raise DataError(
                "cannot keep groups whole", got=f"item {case.id!r} without a group", need="a group for every item", hint='group = "column"'
            )
        groups.setdefault(case.group, []).append(case)
    names = list(groups)
    out: list[Case] = []
    for place in hash_order(names, f"{seed}\0group"):
        if n is not None and len(out) >= n:
            break
        out += groups[names[place]]
    return out
