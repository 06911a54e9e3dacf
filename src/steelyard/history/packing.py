"""Items of a run in few bytes: their ids once for all runs that have them, and a bit for each item that is right or wrong."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import DataError, SourceError

BITS, DOUBLES = "bits", "doubles"
_LARGEST = 1 << 30  # bytes of ids or scores: what claims to unpack to more is no history of ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The ids and scores of a run, in the order of the ids. `digest` says both; two runs that share it had the same outcomes."""

    n: int
    items: str
    ids: bytes
    packing: str
    scores: bytes
    digest: str


def pack(scores: Mapping[str, float]) -> Packed:
    """Ids with their scores, ready for the database.

    >>> packed = pack({"b": 1.0, "a": 0.0})
    >>> packed.packing, unpack(packed.n, packed.ids, packed.packing, packed.scores)
    ('bits', {'a': 0.0, 'b': 1.0})
    """
    if not scores:
        raise DataError("cannot keep the items of the run", got="no items", need="at least one")
    named = {str(name): float(score) for name, score in scores.items()}
    if len(named) < len(scores):
        raise DataError("cannot keep the items of the run", got="two ids that read the same as text", need="an id for each item")
    names = sorted(named)
    values = [named[name] for name in names]
    if not all(map(math.isfinite, values)):
        raise DataError("cannot keep the items of the run", got="a score that is no finite number", need="finite scores")
    listed = json.dumps(names, ensure_ascii=True, separators=(",", ":")).encode()
    if all(value in (0.0, 1.0) for value in values):
        packing, data = BITS, _bits(values)
    else:
        packing, data = DOUBLES, _doubles(values)
    items = hashlib.sha256(listed).hexdigest()
    digest = hashlib.sha256(f"{items} {packing} ".encode() + data).hexdigest()
    return Packed(n=len(names), items=items, ids=zlib.compress(listed, 6), packing=packing, scores=zlib.compress(data, 6), digest=digest)


def unpack(n: int, ids: bytes, packing: str, scores: bytes) -> dict[str, float]:
    """The scores by id, as they were packed. What does not fit together is refused."""
    try:
        names: Any = json.loads(_expanded(ids))
        data = _expanded(scores)
        values = _of_bits(data, n) if packing == BITS else _of_doubles(data)
        if not isinstance(names, list) or not len(names) == len(values) == n:
            raise ValueError(f"{n} items, {len(names)} ids and {len(values)} scores")
    except (zlib.error, ValueError, TypeError) as fault:
        raise SourceError("cannot read the items of the run", got=f"damaged data ({fault})", need="what was written") from None
    return dict(zip(names, values, strict=True))


def _expanded(data: bytes) -> bytes:
    one = zlib.decompressobj()
    text = one.decompress(bytes(data), _LARGEST)
    if not one.eof:
        raise ValueError("cut short, or far too long")
    return text


def _bits(values: list[float]) -> bytes:
    out = bytearray((len(values) + 7) // 8)
    for place, value in enumerate(values):
        out[place >> 3] |= int(value) << (place & 7)
    return bytes(out)


def _of_bits(data: bytes, n: int) -> list[float]:
    if len(data) != (n + 7) // 8:
        raise ValueError(f"{len(data)} bytes for {n} bits")
    return [float(data[place >> 3] >> (place & 7) & 1) for place in range(n)]


def _doubles(values: list[float]) -> bytes:
    data = array("d", values)
    if _BIG:
        data.byteswap()
    return data.tobytes()


def _of_doubles(data: bytes) -> list[float]:
    out = array("d")
    out.frombytes(data)
    if _BIG:
        out.byteswap()
    return list(out)


_BIG = array("H", [1]).tobytes() == b"\x00\x01"  # bytes are kept little end first, whoever wrote them
