"""Two systems exchanged unit by unit: if they are alike, nothing changes. Signs of differences, rows of totals, columns of a metric.

All ways where they are few, an exact law on a lattice, the transform of a signed sum inverted, else drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.data.rows import Rows, Sparse, less
from steelyard.engines.certainty import Certainty, Ends, NoAnswer
from steelyard.engines.lattice import Kinds, lattice_tails
from steelyard.engines.signed_sums import signed_sum_tail
from steelyard.engines.sums import Statistic, Sums
from steelyard.metrics.whole import midranks

WAYS = 200_000  # outcomes that are listed rather than drawn
HALVES = 36  # units whose signs are all listed, half against half
STEPS = 2**22  # the longest lattice that is convolved
TIE = 1e-12  # what is closer than this, relative to the values, is equal
STEADY = 2.0**40  # steps of the largest value: what is closer than one of them is equal, where values are put in order
BATCH = 1_024  # draws at once: part of the definition of the stream
LONGEST = 768  # exchanges of a kind up to which counting the ones of random words beats a binomial
ITEMS = 2_048  # units of one block of signs: part of the definition of the stream


@dataclass(frozen=True, kw_only=True)
class Exchanged(Certainty):
    """A symmetric law: the chance of a difference at least as large, and of a larger one, on both sides together."""

    at_least: float
    beyond: float

    def tails(self, margin: float, sided: int = 1) -> Ends:
        if margin:
            raise NoAnswer("exchanging systems tests no margin")
        near, far = self.at_least / 2, 1 - self.beyond / 2
        if self.estimate == 0:
            return far, far
        return (far, near) if self.estimate > 0 else (near, far)


# ---- signs of differences -----------------------------------------------------------------------------------------------------------


def sign_flips(name: str, estimate: float, d: FloatArray, many: IntArray, draws: int, seed: int) -> Exchanged:
    """Signs of differences exchanged, each as often as `many` says."""
    at_least, beyond, total = sign_flip(d, many, draws, seed)
    return Exchanged(estimate=total and estimate, test=name, at_least=at_least, beyond=beyond)


def signed_rank(d: FloatArray) -> FloatArray:
    """Ranks of the sizes of differences with their signs, without those of 0: whose signs are exchanged in Wilcoxon's test."""
    d = d[d != 0]
    return np.sign(d) * midranks(np.abs(d)) if len(d) else d


def sign_flip(d: FloatArray, many: IntArray, draws: int = 10_000, seed: int = 0) -> tuple[float, float, float]:
    """The chance that a sum under random signs is at least as large as it is, that it is larger, and the sum (0 if it is nearly so)."""
    keep = (d != 0) & (many > 0)
    value, many = _merged(d[keep], many[keep])
    if not len(value):
        return 1.0, 1.0, 0.0
    n, size = int(many.sum()), np.abs(value)
    slack = TIE * float((size * many).sum())
    total = math.fsum(np.repeat(value, many)) if n <= 1000 else float((value * many).sum())
    seen, total = abs(total), 0.0 if abs(total) <= slack else total
    steps = _lattice(size, many)
    if n <= 20 or (n <= HALVES and steps is None):
        return (*_halves(np.repeat(size, many), seen, slack), total)
    if steps is not None and (tails := _on_lattice(steps, many, value)) is not None:
        return (*tails, total)
    if total and (tail := signed_sum_tail(size, many, total)) is not None:
        tail = float(f"{tail:.10g}")  # the order of the items changes the last digits of a sum
        return tail, tail, total
    turned = np.sort(-np.repeat(value, many) if total < 0 else np.repeat(value, many))
    order = np.argsort(np.rint(np.abs(turned) * (STEADY / np.abs(turned).max())), kind="stable")
    sums = np.abs(signed_totals(turned[order][:, None], draws, seed)[1:, 0])
    far, farther = (int(np.count_nonzero(x)) for x in (sums >= seen - slack, sums > seen + slack))
    return (far + 1) / (len(sums) + 1), farther / (len(sums) + 1), total


def _merged(value: FloatArray, many: IntArray) -> tuple[FloatArray, IntArray]:
    some = value[:: max(1, len(value) // 1000)]
    if len(value) > 1000 and len(np.unique(some)) > 0.9 * len(some):
        return value, many  # real numbers: sorting them would cost more than it merges
    own, place = np.unique(value, return_inverse=True)
    return own, np.bincount(place.ravel(), many, len(own)).astype(np.int64)


def _halves(size: FloatArray, seen: float, slack: float) -> Ends:
    halves = []
    for part in (size[: len(size) // 2], size[len(size) // 2 :]):
        sums = np.zeros(1)
        for x in part:
            sums = np.concatenate([sums - x, sums + x])
        halves.append(sums)
    right, all_of = np.sort(halves[1]), len(halves[0]) * len(halves[1])
    at_least = all_of - int(np.searchsorted(right, seen - slack - halves[0]).sum())
    beyond = all_of - int(np.searchsorted(right, seen + slack - halves[0], side="right").sum())
    ways = 2.0 ** len(size)
    return (1.0 if seen <= slack else min(1.0, 2 * at_least / ways)), min(1.0, 2 * beyond / ways)


def _lattice(size: FloatArray, many: IntArray) -> IntArray | None:
    """The sizes as whole numbers of one step, if there is one."""
    largest, total = float(size.max()), float((size * many).sum())
    if len(size) > 4 * math.isqrt(STEPS):
        return None
    left, step = size, float(size.min())
    while True:
        if total / step > STEPS * 16:
            return None
        left = np.abs(left - step * np.rint(left / step))
        left = left[left > 1e-11 * largest]
        if not len(left):
            break
        left, step = np.append(left, step), float(left.min())
    steps = np.rint(size / step).astype(np.int64)
    return steps if np.allclose(steps * step, size, rtol=0, atol=len(size) * 1e-11 * largest) else None


def _on_lattice(steps: IntArray, many: IntArray, value: FloatArray) -> Ends | None:
    own, place = np.unique(steps, return_inverse=True)
    often = np.bincount(place.ravel(), many).astype(np.int64)
    positive, total = int(steps[value > 0] @ many[value > 0]), int(steps @ many)
    positive = max(positive, total - positive)
    tails = lattice_tails(Kinds(np.stack([np.zeros_like(own), own], 1), np.full((len(own), 2), 0.5), often), positive)
    if tails is None:
        return None
    return (1.0 if 2 * positive == total else min(1.0, 2 * (tails.at + tails.above))), min(1.0, 2 * tails.above)


def signed_totals(rows: FloatArray, draws: int, seed: int) -> FloatArray:
    """Totals of rows under random signs, the first with none changed: the signs of a draw are those of two of few vectors multiplied,
    so that a product of matrices makes them all."""
    p = math.isqrt(draws) + 1
    q = -(-(draws + 1) // p)
    source = np.random.Generator(np.random.PCG64(seed))
    product = np.zeros((rows.shape[1], p, q))
    slices = ITEMS if p * q > 2048 else max(16, 250_000 // (p * q))
    for start in range(0, len(rows), ITEMS):
        part = rows[start : start + ITEMS]
        words = source.integers(0, 2**64, size=(p + q, -(-len(part) // 64)), dtype=np.uint64)
        words = words if np.little_endian else words.byteswap()
        bits = np.unpackbits(words.view(np.uint8), axis=1)[:, : len(part)]
        bits[0] = bits[p] = 1
        right = bits[p:].astype(float).T
        for column in range(rows.shape[1]):
            left = bits[:p] * part[:, column]
            for at in range(0, len(part), slices):
                product[column] += left[:, at : at + slices] @ right[at : at + slices]
    total, by_p, by_q = product[:, :1, :1].copy(), product[:, :, :1].copy(), product[:, :1, :].copy()
    by_p[:, 0], by_q[:, :, 0] = 0, 0
    product[:, 0, :], product[:, :, 0] = 0, 0
    return np.asarray((total - 2 * by_p - 2 * by_q + 4 * product).reshape(rows.shape[1], -1).T)


# ---- rows of totals -------------------------------------------------------------------------------------------------------------------


def swap(one: Rows, other: Rows, count: IntArray, statistic: Statistic, *, draws: int = 10_000, seed: int = 0) -> Exchanged:
    """Rows of two systems exchanged unit by unit, as counts of how many of each kind of difference change sides."""
    first, second = count.astype(float) @ one, count.astype(float) @ other
    with np.errstate(all="ignore"):
        here, there = float(statistic.value(first)), float(statistic.value(second))
    if not (math.isfinite(here) and math.isfinite(there)):
        raise NoAnswer("the number is undefined for one of the systems")
    size, seen = max(abs(here), abs(there)), there - here
    found = Exchanged(estimate=0.0 if abs(seen) <= TIE * size else seen, test="randomization", at_least=1.0, beyond=1.0)
    kinds, many = _kinds(less(other, one), count)
    if not len(many):
        return found
    middle, far, farther, all_of = (first + second) / 2, 0.0, 0.0, 0.0
    ways = math.prod(int(m) + 1 for m in many) if len(many) <= 20 else WAYS + 1
    exact = ways <= WAYS
    for moved, weight in _listed(kinds, many, ways) if exact else _drawn(kinds, many, draws, seed):
        with np.errstate(all="ignore"):
            here_, there_ = statistic.value(middle - moved), statistic.value(middle + moved)
            slack = TIE * np.maximum(np.maximum(np.abs(here_), np.abs(there_)), size)
            gap = np.abs(there_ - here_) - abs(seen)
        undefined = ~np.isfinite(gap)
        far += float(weight[(gap >= -slack) | undefined].sum())
        farther, all_of = farther + float(weight[(gap > slack) & ~undefined].sum()), all_of + float(weight.sum())
    at_least = min(1.0, far / all_of) if exact else (far + 1) / (all_of + 1)
    return Exchanged(estimate=found.estimate, test="randomization", at_least=at_least, beyond=min(1.0, farther / (all_of + (not exact))))


def _kinds(gap: Rows, count: IntArray) -> tuple[Rows, IntArray]:
    """Distinct differences, turned so that exchanging the systems changes nothing, and how often each occurs."""
    if isinstance(gap, Sparse):
        sign = np.zeros(len(gap))
        sign[gap.row[::-1]] = np.sign(gap.value[::-1])  # entries are in the order of columns: the first one stays
        own, row = np.unique(gap.row, return_inverse=True)
        return Sparse((len(own), gap.shape[1]), row.ravel(), gap.column, gap.value * sign[gap.row]), count[own]
    gap, count = gap[np.any(gap != 0, axis=1)], count[np.any(gap != 0, axis=1)]
    if not len(gap):
        return gap, count
    turned = gap * np.sign(gap[np.arange(len(gap)), np.argmax(gap != 0, axis=1)])[:, None]
    order = np.lexsort(turned.T[::-1])
    starts = np.flatnonzero(np.concatenate([[True], np.any(np.diff(turned[order], axis=0) != 0, axis=1)]))
    return turned[order][starts], np.add.reduceat(count[order], starts)


def _listed(kinds: Rows, many: IntArray, ways: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    shares = [_fair_binomial(int(m)) for m in many]
    for start in range(0, ways, 20_000):
        heads = np.stack(np.unravel_index(np.arange(start, min(start + 20_000, ways)), tuple(many + 1)))
        yield ((2 * heads.T - many) @ kinds) / 2, np.prod([share[h] for share, h in zip(shares, heads, strict=True)], axis=0)


def _fair_binomial(m: int) -> FloatArray:
    k = np.arange(m + 1)
    logs = np.array([math.lgamma(m + 1) - math.lgamma(i + 1) - math.lgamma(m - i + 1) for i in k])
    share = np.exp(logs - logs.max())
    return np.asarray(share / share.sum())


def _drawn(kinds: Rows, many: IntArray, draws: int, seed: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    if not isinstance(kinds, Sparse) and len(many) > 2_000 and (many == 1).all():  # nothing is merged: signs by products of vectors
        moved = signed_totals(kinds, draws, seed)[1:] / 2
        yield moved[:draws], np.ones(len(moved[:draws]))
        return
    source = np.random.PCG64(seed)
    words, coins = np.random.Generator(source), np.random.Generator(source.jumped())
    batch = max(1, min(BATCH, 8_000_000 // max(kinds.shape[1], len(many))))
    moving = np.arange(0) if isinstance(kinds, Sparse) else np.flatnonzero(kinds.any(0))
    narrow = kinds if isinstance(kinds, Sparse) else np.ascontiguousarray(kinds[:, moving])
    for start in range(0, draws, batch):
        size = min(batch, draws - start)
        heads = fair_coins(many, size, words, coins)
        moved = (heads.T.astype(float) @ narrow) - (many @ narrow) / 2
        if not isinstance(kinds, Sparse):
            whole = np.zeros((size, kinds.shape[1]))
            whole[:, moving] = moved
            moved = whole
        yield moved, np.ones(size)


def fair_coins(many: IntArray, size: int, words: np.random.Generator, coins: np.random.Generator) -> npt.NDArray[np.int32]:
    """Heads among many[k] tosses, (kinds, size): set bits of random words, or a binomial for long rows."""
    short = many <= LONGEST
    out = np.empty((len(many), size), np.int32)
    if short.any():
        pieces = -(-many[short] // 64)
        starts = np.cumsum(pieces) - pieces
        keep = np.full(int(pieces.sum()), 64)
        keep[starts + pieces - 1] = (many[short] - 1) % 64 + 1
        drawn = words.integers(0, 2**64, size=(len(keep), size), dtype=np.uint64)
        drawn >>= (64 - keep).astype(np.uint64)[:, None]
        ones = _ones(drawn)
        heads = ones[starts]
        for more in range(1, int(pieces.max())):
            longer = np.flatnonzero(pieces > more)
            heads[longer] += ones[starts[longer] + more]
        out[short] = heads
    if not short.all():
        out[~short] = coins.binomial(many[~short][:, None], 0.5, size=(int((~short).sum()), size))
    return out


def _ones(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(words).astype(np.int32))
    table = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(1, dtype=np.uint8)  # NumPy 1
    return np.asarray(table[words.view(np.uint8)].reshape(*words.shape, 8).sum(-1, dtype=np.int32))


# ---- columns of a metric of all items ---------------------------------------------------------------------------------------------------


def swap_columns(gap_of: Callable[[npt.NDArray[np.bool_]], float], unit: IntArray | None, n: int, *, draws: int, seed: int) -> Exchanged:
    """The columns of two systems exchanged where a mask says so, unit by unit; `gap_of` works out the difference."""
    units = n if unit is None else int(unit.max()) + 1
    seen = gap_of(np.zeros(n, bool))
    exact = units <= math.log2(draws + 1)
    rng = np.random.Generator(np.random.PCG64(seed))
    gaps = []
    for draw in range(2**units if exact else draws):
        turned = (draw >> np.arange(units)) % 2 == 1 if exact else rng.integers(0, 2, units).astype(bool)
        gaps.append(gap_of(turned if unit is None else turned[unit]))
    sizes = np.abs(np.array(gaps))
    slack = TIE * max(abs(seen), float(np.nanmax(sizes, initial=0.0)))
    far, farther = int(np.count_nonzero(~(sizes < abs(seen) - slack))), int(np.count_nonzero(sizes > abs(seen) + slack))
    more = 0 if exact else 1
    return Exchanged(
        estimate=0.0 if abs(seen) <= slack else seen,
        test="randomization",
        at_least=(far + more) / (len(gaps) + more),
        beyond=farther / (len(gaps) + more),
    )


# ---- the paired bootstrap of the seed ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Doubled(Certainty):
    """The paired bootstrap test: how often a redrawn difference is at least twice the one seen. Reference: BergKirkpatrick2012."""

    greater: float
    less: float
    either: float

    def tails(self, margin: float, sided: int = 1) -> Ends:
        if margin:
            raise NoAnswer("the bootstrap test knows no margin")
        return (self.either / 2, self.either / 2) if sided == 2 else (self.less, self.greater)


def doubled_flips(gained: int, lost: int, n: int) -> Doubled:
    """Of right or wrong, counted out."""

    def tail(up: int, down: int, least: int) -> float:
        found = lattice_tails(Kinds(np.array([[-1, 0, 1]]), np.array([[down, n - up - down, up]]) / n, np.array([n])), least)
        assert found is not None  # one kind is never too much work
        return min(1.0, found.at + found.above)

    if not gained + lost:
        return Doubled(estimate=0.0, test="bootstrap", greater=1.0, less=1.0, either=1.0)
    twice, more, fewer = 2 * (gained - lost), max(gained, lost), min(gained, lost)
    either = 1.0 if twice == 0 else min(1.0, tail(more, fewer, abs(twice)) + tail(fewer, more, 0))
    greater, smaller = tail(gained, lost, twice), tail(lost, gained, -twice)
    return Doubled(estimate=(gained - lost) / n, test="bootstrap", greater=greater, less=smaller, either=either)


def doubled(units: Sums, statistic: Statistic, blocks: Iterator[FloatArray], size: float) -> Doubled:
    """Of any number, from redrawn totals."""
    delta = float(statistic.value(units.totals))
    slack, draws = TIE * size, 0
    counts = np.zeros(3)
    for totals in blocks:
        drawn = statistic.value(totals)
        lost = ~np.isfinite(drawn)
        far = (drawn >= 2 * delta - slack, drawn <= 2 * delta + slack, np.abs(drawn - delta) >= abs(delta) - slack)
        counts += [np.count_nonzero(each | lost) for each in far]
        draws += len(drawn)
    greater, smaller, either = ((float(c) + 1) / (draws + 1) for c in counts)
    return Doubled(estimate=delta, test="bootstrap", greater=greater, less=smaller, either=either)
