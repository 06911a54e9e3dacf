"""Pairs of texts that are nearly equal: every pair whose Jaccard similarity reaches a threshold, without comparing all with all.

A text of s shingles that is similar enough to another shares at least k = ceil(t s) of them with it. So if its shingles are put in
any order, one of the first s - k + 1 is shared, and that holds for both texts in the same order (prefix filtering, Chaudhuri,
Ganti and Kaushik 2006; Bayardo, Ma and Srikant 2007). With the rarest first, few other texts have it. What is found this way is
compared in full; what is similar enough cannot be missed while there are at most CANDIDATES pairs to compare. Where there are more,
every text gets the same share of them at most: those with fewer candidates are compared with all of these, the others with the
most promising, and are counted as unsure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.late_dataclass import dataclass
from steelyard_old.tally.shingles import Hashes, Shingled

CANDIDATES = 10_000_000  # pairs that are compared in full
_AT_ONCE = 1 << 20  # pairs that are made, and shingles of them that are compared, at once
_BITS = 26  # of the table that tells most shingles that the other part does not have
_EXACT = 1e-9  # similarities are ratios of small whole numbers: 0.8 is 4 of 5
Numbers = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Wanted = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NearPairs:
    """For each text of the second part that is similar to any of the first: the most similar of these, and how similar it is.

    unsure: the texts of the second with too many candidates, among which none was found.
    """

    first: Numbers
    second: Numbers
    similarity: npt.NDArray[np.float64]
    unsure: Numbers

    def most_similar(self, most: int) -> list[tuple[int, int, float]]:
        """The texts of the second part that are most similar to one of the first, the most similar first, not more than so many."""
        best = np.lexsort((self.second, -self.similarity))[:most]
        return [(int(self.first[at]), int(self.second[at]), float(self.similarity[at])) for at in best]


def near_pairs(first: Shingled, second: Shingled, threshold: float) -> NearPairs:
    """The texts of the second part that are at least so similar to one of the first, and not equal to any; of several equal texts one
    stands for all."""
    known = different(first.equal)
    b = _with_all(second, _distinct(second.equal) & ~among(second.equal, known))
    common = different(b.shingles)
    a = _able(first, _distinct(first.equal), common, threshold)
    common = _used(common, a.shingles)
    b = _able_of(b, common, threshold)
    common = _used(common, b.shingles)
    a = _able_of(a, common, threshold)
    nothing = np.zeros(0, np.int64)
    if not len(a.rows) or not len(b.rows):
        return NearPairs(nothing, nothing, np.zeros(0), nothing)
    a_at, b_at = _places(common, a.shingles), _places(common, b.shingles)
    a, b = (replace(each, shingles=common[:0]) for each in (a, b))  # their places say the same in half the memory
    frequency = np.bincount(a_at, minlength=len(common))
    candidates = _candidates(_prefix(a, a_at, frequency, threshold), _prefix(b, b_at, frequency, threshold), a.sizes, b.sizes, threshold)
    firsts, seconds, similarities = [nothing], [nothing], [np.zeros(0)]
    for x, y in candidates.pairs():
        similarity = _similarity(a, a_at, b, b_at, x, y)
        found = np.flatnonzero(similarity >= threshold - _EXACT)
        found = found[np.lexsort((x[found], -similarity[found], y[found]))]
        best = found[np.diff(y[found], prepend=-1) != 0]  # all pairs of one text of b come together
        firsts.append(x[best])
        seconds.append(y[best])
        similarities.append(similarity[best])
    x, y = np.concatenate(firsts), np.concatenate(seconds)
    unsure = candidates.unsure[~among(candidates.unsure, different(y))]
    return NearPairs(a.rows[x], b.rows[y], np.concatenate(similarities), b.rows[unsure])


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
    found = np.empty(len(values), bool)
    for begin in range(0, len(values), _AT_ONCE):
        few = slice(begin, begin + _AT_ONCE)
        found[few] = known[np.minimum(_sought(known, values[few]), len(known) - 1)] == values[few]
    return found


def _sought(known: Any, values: Any) -> Numbers:
    """`np.searchsorted`, a multiple faster for many values: sorted first, they are looked for where the last one was found."""
    order = np.argsort(values)
    found = np.empty(len(values), np.int64)
    found[order] = np.searchsorted(known, values[order])
    return found


def _places(known: Any, values: Any) -> Places:
    """The place of each value among the known ones, which are sorted and all there are."""
    found = np.empty(len(values), np.int32)
    for begin in range(0, len(values), _AT_ONCE):
        few = slice(begin, begin + _AT_ONCE)
        found[few] = _sought(known, values[few])
    return found


def _used(known: Any, values: Any) -> Any:
    """Those of the known values that occur; no others do."""
    there = np.zeros(len(known), bool)
    for begin in range(0, len(values), _AT_ONCE):
        there[np.searchsorted(known, np.sort(values[begin : begin + _AT_ONCE]))] = True
    return known[there]


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


def _prefix(texts: _Texts, at: Places, frequency: Numbers, threshold: float) -> tuple[Numbers, Numbers]:
    """(shingle, text) of the first shingles of each text, rarest first; those that the other part lacks come before all."""
    kept, first = texts.kept, texts.ends - texts.kept
    length = kept - _needed(texts.sizes, threshold) + 1
    found, owners = [], []
    begin = 0
    while begin < len(kept):
        end = max(begin + 1, int(np.searchsorted(texts.ends, first[begin] + _AT_ONCE)))
        here = at[first[begin] : texts.ends[end - 1]]
        text = np.repeat(np.arange(begin, end), kept[begin:end])
        order = np.lexsort((here, frequency[here], text))
        rank = np.arange(first[begin], texts.ends[end - 1]) - first[text]
        inside = rank < length[text]
        found.append(here[order][inside].astype(np.int64))
        owners.append(text[inside])
        begin = end
    return np.concatenate(found), np.concatenate(owners)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Which texts of a each text of b is compared with: slices of `listed`, text of b by text of b, and those with too many of them."""

    listed: Numbers  # texts of a: shingle by shingle in the order of their sizes, then all of them in that order
    text: Numbers  # of b, for each slice
    begin: Numbers
    many: Numbers
    first_size: int  # how many texts a has
    unsure: Numbers

    def pairs(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Pairs of a text of a and one of b, each once, some at a time; all of one text of b come together."""
        new = np.flatnonzero(np.diff(self.text, prepend=-1))
        ends = np.concatenate([np.cumsum(self.many)[new[1:] - 1], [self.many.sum()]]) if len(new) else new
        done = begin = 0
        while begin < len(new):
            end = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
            here = slice(new[begin], new[end] if end < len(new) else None)
            many = self.many[here]
            found = self.listed[_slots(self.begin[here], many)]
            pair = different(np.repeat(self.text[here], many) * np.int64(self.first_size) + found)
            yield pair % self.first_size, pair // self.first_size
            done, begin = int(ends[end - 1]), end


def _candidates(
    a: tuple[Numbers, Numbers], b: tuple[Numbers, Numbers], a_sizes: Numbers, b_sizes: Numbers, threshold: float
) -> _Candidates:
    """Pairs that share one of their first shingles and are not too unlike in size, as many as may be compared."""
    order = np.lexsort((a_sizes[a[1]], a[0]))
    shingle, listed = a[0][order], a[1][order]
    # Of the texts with a shingle, in the order of their sizes, those of a size that can be similar enough lie side by side.
    scale = np.int64(a_sizes.max() + 2)
    key = shingle * scale + a_sizes[listed]
    low, high = _needed(b_sizes, threshold), np.minimum(np.floor(b_sizes / threshold + _EXACT).astype(np.int64), scale - 1)
    begin = np.searchsorted(key, b[0] * scale + low[b[1]])
    many = np.searchsorted(key, b[0] * scale + high[b[1]], side="right") - begin
    by_size = np.argsort(a_sizes, kind="stable")
    begin_of_size = np.searchsorted(a_sizes[by_size], low)
    of_size = np.searchsorted(a_sizes[by_size], high, side="right") - begin_of_size
    # A text has at most as many candidates as there are texts of such a size, whatever its shingles say.
    by_shingles = np.bincount(b[1], many, len(b_sizes)).astype(np.int64)
    work = np.minimum(by_shingles, of_size)
    limit = _equal_share(work, CANDIDATES)
    whole = (by_shingles > of_size) & (work <= limit)
    # Shingles that few texts have come first, and of the last that can be looked at the texts that are nearest in size.
    order = np.lexsort((many, b[1]))
    text, begin, many, near = b[1][order], begin[order], many[order], np.searchsorted(key, (b[0] * scale + b_sizes[b[1]])[order])
    before = np.cumsum(many) - many
    before -= before[np.searchsorted(text, text)]
    few = np.where(whole[text], 0, np.minimum(many, np.maximum(np.where(work[text] > limit, limit, by_shingles[text]) - before, 0)))
    begin = np.clip(near - few // 2, begin, begin + many - few)
    all_of = np.flatnonzero(whole)
    text, begin, many = (
        np.concatenate(both) for both in ((text, all_of), (begin, begin_of_size[all_of] + len(listed)), (few, of_size[all_of]))
    )
    order = np.argsort(text, kind="stable")
    unsure = np.flatnonzero(work > limit)
    return _Candidates(np.concatenate([listed, by_size]), text[order], begin[order], many[order], len(a_sizes), unsure)


def _equal_share(work: Numbers, most: int) -> int:
    """The largest number that each may have at most so that all have no more than `most`, but at least 1.

    >>> _equal_share(np.array([2, 10, 10]), 12), _equal_share(np.array([2, 3]), 12), _equal_share(np.array([7, 7]), 0)
    (5, 3, 1)
    """
    work = np.sort(work)
    if work.sum() <= most:
        return int(work[-1])
    before = np.cumsum(work) - work
    left = len(work) - np.arange(len(work))
    first = int(np.argmax(before + work * left > most))  # the first that cannot have all it wants
    return max(1, int((most - before[first]) // left[first]))


def _similarity(a: _Texts, a_at: Places, b: _Texts, b_at: Places, x: Numbers, y: Numbers) -> npt.NDArray[np.float64]:
    """The Jaccard similarity of each pair: shingles of both against shingles of either. The pairs of one text of b lie side by side.

    Each shingle has 64 bits: which of 64 texts of b have it. So the shingles of a text of a only have to be looked up.
    """
    both = np.zeros(len(x), np.int64)
    marks = np.zeros(int(max(a_at.max(), b_at.max())) + 1, np.uint64)
    rank = np.cumsum(np.diff(y, prepend=-1) != 0)
    (a_kept, a_first), (b_kept, b_first) = ((each.kept, each.ends - each.kept) for each in (a, b))
    work = np.cumsum(a_kept[x])
    begin = 0
    while begin < len(x):
        before = work[begin - 1] if begin else 0
        end = max(begin + 1, min(int(np.searchsorted(work, before + _AT_ONCE)), int(np.searchsorted(rank, rank[begin] + 64))))
        few = slice(begin, end)
        bit = (rank[few] - rank[begin]).astype(np.uint64)
        texts = different(y[few])
        at = b_at[_slots(b_first[texts], b_kept[texts])]
        np.bitwise_or.at(marks, at, np.uint64(1) << np.repeat(np.arange(len(texts), dtype=np.uint64), b_kept[texts]))
        many = a_kept[x[few]]
        there = (marks[a_at[_slots(a_first[x[few]], many)]] >> np.repeat(bit, many)) & np.uint64(1)
        both[few] = np.add.reduceat(there, np.cumsum(many) - many)
        marks[at] = 0
        begin = end
    return both / (a.sizes[x] + b.sizes[y] - both)


def _slots(first: Numbers, many: Numbers) -> Numbers:
    """The places of slices of a list, each with its first and how many it has, one slice after the other."""
    return np.repeat(first - (np.cumsum(many) - many), many) + np.arange(many.sum())
