"""Pairs of texts that are nearly equal: every pair whose Jaccard similarity reaches a threshold, without comparing all with all.

A text of s shingles that is similar enough to another shares at least k = ceil(t s) of them with it. So if its shingles are put in
any order, one of the first s - k + 1 is shared, and that holds for both texts in the same order (prefix filtering, Chaudhuri,
Ganti and Kaushik 2006; Bayardo, Ma and Srikant 2007). With the rarest first, few other texts have it. What is found this way is
compared in full; what is similar enough cannot be missed, unless a text has too many candidates (then it is counted as unsure).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.tally.shingles import Hashes, Shingled

CANDIDATES = 4_000_000  # pairs that are compared in full
LIMITS = (4096, 1024, 256, 64, 16, 4, 1)  # candidates by one shingle of one text, where there are too many in all
_AT_ONCE = 1 << 22  # shingles of candidates that are compared at once
_BITS = 26  # of the table that tells most shingles that the other part does not have
_EXACT = 1e-9  # similarities are ratios of small whole numbers: 0.8 is 4 of 5
Numbers = npt.NDArray[np.int64]
Wanted = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NearPairs:
    """Pairs (text of the first part, text of the second, similarity), and the texts of the second with too many candidates."""

    first: Numbers
    second: Numbers
    similarity: npt.NDArray[np.float64]
    unsure: Numbers


def near_pairs(first: Shingled, second: Shingled, threshold: float) -> NearPairs:
    """All pairs of one text of each part that are at least so similar and not equal; texts of the second that are in the first are
    left out, and of several equal texts one stands for all."""
    known = different(first.equal)
    b = _with_all(second, _distinct(second.equal) & ~among(second.equal, known))
    common = different(b.shingles)
    a = _able(first, _distinct(first.equal), common, threshold)
    common = common[among(common, different(a.shingles))]
    b = _able_of(b, common, threshold)
    common = common[among(common, different(b.shingles))]
    a = _able_of(a, common, threshold)
    nothing = np.zeros(0, np.int64)
    if not len(a.rows) or not len(b.rows):
        return NearPairs(nothing, nothing, np.zeros(0), nothing)
    a_at, b_at = np.searchsorted(common, a.shingles), np.searchsorted(common, b.shingles)
    frequency = np.bincount(a_at, minlength=len(common))
    x, y, unsure = _candidates(_prefix(a, a_at, frequency, threshold), _prefix(b, b_at, frequency, threshold), a.sizes, b.sizes, threshold)
    similarity = _similarity(a, a_at, b, b_at, x, y)
    found = similarity >= threshold - _EXACT
    return NearPairs(a.rows[x[found]], b.rows[y[found]], similarity[found], b.rows[unsure[~among(unsure, different(y[found]))]])


@dataclass(frozen=True, slots=True)
class _Texts:
    """Some texts of a part. rows: which they are; sizes: shingles of each; ends: where those kept of each end; shingles: these."""

    rows: Numbers
    sizes: Numbers
    ends: Numbers
    shingles: Hashes

    @property
    def kept(self) -> Numbers:
        return np.diff(self.ends, prepend=0)


def different(values: Any) -> Any:
    """The different values, sorted. `np.unique` goes by a table of hashes, which takes much longer for as many as these."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values


def among(values: Any, known: Any) -> Any:
    """Whether each value is among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(values), bool)
    return known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values


def _distinct(equal: Numbers) -> Wanted:
    """The first row of each text that is not empty."""
    values, rows = np.unique(equal, return_index=True)
    wanted = np.zeros(len(equal), bool)
    wanted[rows[values != 0]] = True
    return wanted


def _with_all(part: Shingled, wanted: Wanted) -> _Texts:
    """The wanted texts with all their shingles. A text of punctuation alone has none, and is left out."""
    wanted = wanted & (part.sizes > 0)
    pieces = [piece[np.repeat(here, sizes)] for piece, sizes, here in _pieces(part, wanted)]
    sizes = part.sizes[wanted]
    return _Texts(np.flatnonzero(wanted), sizes, np.cumsum(sizes), np.concatenate(pieces))


def _able(part: Shingled, wanted: Wanted, common: Hashes, threshold: float) -> _Texts:
    """The wanted texts with the shingles that the other part has, if these are enough to be similar to any; piece by piece."""
    wanted = wanted & (part.sizes > 0)
    shift = np.uint64(51 - _BITS)
    table = np.zeros(1 << _BITS, bool)  # tells most shingles that are not among the common ones, in no time
    table[common >> shift] = True
    kept, counts = [], []
    for piece, sizes, here in _pieces(part, wanted):
        there = table[piece >> shift] & np.repeat(here, sizes)
        there[there] = among(piece[there], common)
        many = np.diff(np.concatenate([[0], np.cumsum(there)])[np.cumsum(sizes)], prepend=0)
        able = here & (many >= _needed(sizes, threshold))
        kept.append(piece[there & np.repeat(able, sizes)])
        counts.append(np.where(able, many, 0))
    count = np.concatenate(counts)
    rows = np.flatnonzero(count)
    return _Texts(rows, part.sizes[rows], np.cumsum(count[rows]), np.concatenate(kept))


def _able_of(texts: _Texts, common: Hashes, threshold: float) -> _Texts:
    """The same once more for fewer shingles that are in both parts."""
    there = among(texts.shingles, common)
    many = np.diff(np.concatenate([[0], np.cumsum(there)])[texts.ends], prepend=0)
    able = many >= _needed(texts.sizes, threshold)
    kept = there & np.repeat(able, texts.kept)
    return _Texts(texts.rows[able], texts.sizes[able], np.cumsum(many[able]), texts.shingles[kept])


def _pieces(part: Shingled, wanted: Wanted) -> Iterator[tuple[Hashes, Numbers, Wanted]]:
    """Each piece of the shingles with the sizes of its texts, and whether these are wanted."""
    begin = 0
    ends = np.cumsum(part.sizes)
    before = 0
    for piece in part.shingles:
        end = int(np.searchsorted(ends, before + len(piece), side="right"))
        yield piece, part.sizes[begin:end], wanted[begin:end]
        begin, before = end, before + len(piece)


def _needed(sizes: Any, threshold: float) -> Any:
    """The fewest shingles that a text of this size shares with one that is similar enough."""
    return np.maximum(np.ceil(threshold * sizes - _EXACT), 1).astype(np.int64)


def _prefix(texts: _Texts, at: Numbers, frequency: Numbers, threshold: float) -> tuple[Numbers, Numbers]:
    """(shingle, text) of the first shingles of each text, rarest first; those that the other part lacks come before all."""
    text = np.repeat(np.arange(len(texts.rows)), texts.kept)
    order = np.lexsort((at, frequency[at], text))
    rank = np.arange(len(at)) - np.repeat(texts.ends - texts.kept, texts.kept)
    length = texts.kept - _needed(texts.sizes, threshold) + 1
    inside = rank < np.repeat(length, texts.kept)
    return at[order][inside], text[inside]


def _candidates(
    a: tuple[Numbers, Numbers], b: tuple[Numbers, Numbers], a_sizes: Numbers, b_sizes: Numbers, threshold: float
) -> tuple[Numbers, Numbers, Numbers]:
    """Pairs that share one of their first shingles and are not too unlike in size; and the texts of b with too many of them."""
    order = np.lexsort((a_sizes[a[1]], a[0]))
    shingle, text = a[0][order], a[1][order]
    # Of the texts with a shingle, in the order of their sizes, those of a size that can be similar enough lie side by side.
    scale = np.int64(a_sizes.max() + 2)
    key = shingle * scale + a_sizes[text]
    low = _needed(b_sizes, threshold)[b[1]]
    high = np.minimum(np.floor(b_sizes / threshold + _EXACT).astype(np.int64)[b[1]], scale - 1)
    begin = np.searchsorted(key, b[0] * scale + low)
    many = np.searchsorted(key, b[0] * scale + high, side="right") - begin
    limit = next((each for each in LIMITS if np.minimum(many, each).sum() <= CANDIDATES), LIMITS[-1])
    unsure = different(b[1][many > limit])
    many = np.minimum(many, limit)
    x = text[np.repeat(begin - np.concatenate([[0], np.cumsum(many)])[:-1], many) + np.arange(many.sum())]
    pair = different(np.repeat(b[1], many) * np.int64(len(a_sizes)) + x)
    return pair % len(a_sizes), pair // len(a_sizes), unsure


def _similarity(a: _Texts, a_at: Numbers, b: _Texts, b_at: Numbers, x: Numbers, y: Numbers) -> npt.NDArray[np.float64]:
    """The Jaccard similarity of each pair: shingles of both against shingles of either."""
    both = np.zeros(len(x), np.int64)
    work = np.cumsum(a.kept[x] + b.kept[y])
    begin = 0
    while begin < len(x):
        before = work[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(work, before + _AT_ONCE)))
        few = slice(begin, end)
        keys = np.concatenate([_of_pairs(a, a_at, x[few]), _of_pairs(b, b_at, y[few])])
        keys.sort()
        twice = keys[1:][keys[1:] == keys[:-1]]
        both[few] = np.bincount(twice >> np.int64(32), minlength=end - begin)
        begin = end
    return both / (a.sizes[x] + b.sizes[y] - both)


def _of_pairs(texts: _Texts, at: Numbers, chosen: Numbers) -> Numbers:
    """The shingles of chosen texts, one after the other, each with the number of its pair before it."""
    many = texts.kept[chosen]
    first = (texts.ends - texts.kept)[chosen]
    place = np.repeat(first - np.concatenate([[0], np.cumsum(many)])[:-1], many) + np.arange(many.sum())
    keys: Numbers = (np.repeat(np.arange(len(chosen)), many) << np.int64(32)) | at[place]
    return keys
