"""Sign-flip randomization of paired scores: under H0 each difference could as well have had the other sign.

Exact for few items (all signs, the two halves met in the middle) and for scores on a lattice (a convolution). For other numbers the
tail is worked out by its transform, where that is sure, or drawn. Drawing N signs B times would cost N x B coins. Instead two short
lists of sign patterns are drawn, P and Q long with P x Q = B + 1, and every product of one with the other is a draw: all sums are
then one matrix product.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.infer.paired.mcnemar import check_alternative
from steelyard_old.infer.paired.randomization import TIE, check_exchanges, symmetric_p
from steelyard_old.infer.paired.signed_sums import signed_sum_tail
from steelyard_old.infer.paired.within_items import Kinds, lattice_tails
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

FEW = 20  # items whose signs are enumerated in any case: 2^20 sums, of which only 2 x 2^10 are formed
HALVES = 36  # ... and when nothing else is exact: 2 x 2^18 sums
STEPS = 2**22  # the longest lattice that is convolved
STEADY = 2.0**40  # steps of the largest value: what is closer than one of them is equal, where values are put in order
ITEMS = 2048  # items of one block: part of the definition of the stream


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlip:
    """p_value; method is "enumeration", "lattice" (both exact), "inversion" or "monte-carlo", then with `draws` drawn sign patterns."""

    p_value: float
    exact: bool
    method: str
    draws: int


def sign_flip(
    differences: npt.ArrayLike,
    *,
    counts: npt.ArrayLike | None = None,
    alternative: str = "two-sided",
    draws: int = 10_000,
    seed: int = 0,
    drawn: bool = False,
) -> SignFlip:
    """The randomization test of paired differences, candidate - baseline: is their sum large for random signs?

    Formula: p = share of sign patterns with |sum| >= |observed sum|, ties included; the tail on the observed side is half
    of it. Differences of 0 have no sign and drop out. `signed_sum_tail` works the share out for many real numbers. Where it cannot
    (few items, sums with gaps), and if `drawn`, patterns are drawn. Drawn patterns: (k + 1) / (draws + 1), where draws is the first
    P x Q - 1 that reaches the number asked for; the order of the items and exchanging the systems change no draw. `counts` says
    how often each difference occurs; for groups pass the group sums. Assumes: independent units, under H0 differences symmetric
    around 0 (it is the mean that is tested only then).
    Undefined: differences that are not finite (an error). No difference at all: p = 1.
    Reference: Fisher1935, section 21; EdgingtonOnghena2007; Dwass1957 for drawn patterns.

    >>> maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    >>> sign_flip(maize).p_value * 32768
    1726.0
    """
    check_alternative(alternative)
    draws = check_exchanges(draws)
    value, many = _distinct(differences, counts)
    if not len(value):
        return SignFlip(p_value=1.0, exact=True, method="enumeration", draws=0)
    n = int(many.sum())
    size = np.abs(value)
    slack = TIE * float((size * many).sum())
    observed = math.fsum(np.repeat(value, many)) if n <= 1000 else float((value * many).sum())
    sign = 0 if abs(observed) <= slack else int(math.copysign(1, observed))
    if n <= FEW or (n <= HALVES and _lattice(size, many) is None):
        at_least, beyond = halves(np.repeat(size, many), abs(observed), slack)
        return SignFlip(p_value=symmetric_p(at_least, beyond, sign, alternative), exact=True, method="enumeration", draws=0)
    if (steps := _lattice(size, many)) is not None and (tails := _on_lattice(steps, many, value)) is not None:
        return SignFlip(p_value=symmetric_p(*tails, sign, alternative), exact=True, method="lattice", draws=0)
    if not drawn and sign and (tail := signed_sum_tail(size, many, observed)) is not None:
        tail = float(f"{tail:.10g}")  # the order of the items changes the last digits of a sum
        return SignFlip(p_value=symmetric_p(tail, tail, sign, alternative), exact=False, method="inversion", draws=0)
    sums = np.abs(signed_totals(_in_order(np.repeat(value, many), sign)[:, None], draws, seed)[1:, 0])
    at_least, beyond = (int(np.count_nonzero(x)) for x in (sums >= abs(observed) - slack, sums > abs(observed) + slack))
    p = symmetric_p((at_least + 1) / (len(sums) + 1), beyond / (len(sums) + 1), sign, alternative)
    return SignFlip(p_value=p, exact=False, method="monte-carlo", draws=len(sums))


def _distinct(differences: npt.ArrayLike, counts: npt.ArrayLike | None) -> tuple[FloatArray, IntArray]:
    """The differences that are not 0, and how often each occurs; equal neighbours in order are merged when that is short."""
    value = np.asarray(differences, float).ravel()
    many = np.ones(len(value), np.int64) if counts is None else np.asarray(counts, np.int64).ravel()
    if not np.all(np.isfinite(value)):
        raise DataError(
            f"{int(np.sum(~np.isfinite(value)))} differences are not finite.",
            got=f"{int(np.sum(~np.isfinite(value)))} difference(s) that are not finite",
            need="numbers",
        )
    keep = (value != 0) & (many > 0)
    value, many = value[keep], many[keep]
    some = value[:: max(1, len(value) // 1000)]
    if len(value) > 1000 and len(np.unique(some)) > 0.9 * len(some):
        return value, many  # real numbers: sorting them would cost more than it merges
    own, place = np.unique(value, return_inverse=True)
    return own, np.bincount(place, weights=many, minlength=len(own)).astype(np.int64)


def _in_order(value: FloatArray, sign: int) -> FloatArray:
    """By size, and turned so that their sum is not negative: neither the order of the items nor which system comes first then
    chooses which sign a draw gives to which difference. Sizes that only rounding tells apart are equal."""
    value = np.sort(-value if sign < 0 else value)
    size = np.abs(value)
    return value[np.argsort(np.rint(size * (STEADY / size.max())), kind="stable")]


def halves(size: FloatArray, observed: float, slack: float) -> tuple[float, float]:
    """Shares of all 2^n sign patterns with |sum| at least `observed`, and beyond it: sums of two halves, one of them sorted.

    Reference: HorowitzSahni1974.

    >>> halves(np.array([1.0, 2.0, 3.0]), 4.0, 0.0)
    (0.5, 0.25)
    """
    left, right = (_all_sums(part) for part in (size[: len(size) // 2], size[len(size) // 2 :]))
    right.sort()
    total = 2.0 ** len(size)
    # The law is symmetric: count one tail and double it. A tail from 0 on holds everything.
    at_least = len(right) * len(left) - int(np.searchsorted(right, observed - slack - left).sum())
    beyond = len(right) * len(left) - int(np.searchsorted(right, observed + slack - left, side="right").sum())
    return (1.0 if observed <= slack else min(1.0, 2 * at_least / total)), min(1.0, 2 * beyond / total)


def _all_sums(size: FloatArray) -> FloatArray:
    sums = np.zeros(1)
    for x in size:
        sums = np.concatenate([sums - x, sums + x])
    return sums


def _lattice(size: FloatArray, many: IntArray) -> IntArray | None:
    """The differences as whole multiples of one step, or None if they have no common step or the lattice is too long.

    Euclid's algorithm on all values at once. Differences of decimals carry rounding, so a remainder of 1e-11 of the
    largest value counts as none.
    """
    largest = float(size.max())
    if len(size) > 4 * math.isqrt(STEPS):
        return None
    slack, total = 1e-11 * largest, float((size * many).sum())
    left, step = size, float(size.min())
    while True:
        if total / step > STEPS * 16:
            return None
        left = np.abs(left - step * np.rint(left / step))
        left = left[left > slack]
        if not len(left):
            break
        left, step = np.append(left, step), float(left.min())
    steps: IntArray = np.rint(size / step).astype(np.int64)
    return steps if np.allclose(steps * step, size, rtol=0, atol=len(size) * slack) else None


def _on_lattice(steps: IntArray, many: IntArray, value: FloatArray) -> tuple[float, float] | None:
    """Shares at least as far and farther, from Y = sum of the positive parts: each is 0 or its step, evenly."""
    own, place = np.unique(steps, return_inverse=True)
    often = np.bincount(place, weights=many, minlength=len(own)).astype(np.int64)
    positive = int(steps[value > 0] @ many[value > 0])
    positive = max(positive, int(steps @ many) - positive)
    tails = lattice_tails(Kinds(np.stack([np.zeros_like(own), own], axis=1), np.full((len(own), 2), 0.5), often), positive)
    if tails is None:
        return None
    centred = 2 * positive == int(steps @ many)
    return (1.0 if centred else min(1.0, 2 * (tails.at + tails.above))), min(1.0, 2 * tails.above)


def signed_totals(rows: FloatArray, draws: int, seed: int) -> FloatArray:
    """sum_u s_u rows[u] for at least `draws` random sign patterns s, shape (P x Q, columns); the first is all signs +.

    Formula: s = s^p s^q for all p < P, q < Q, where s^0 = 1 and the others are independent fair signs; with bits a, b of
    s = 1 - 2 a the sums are H_00 - 2 H_p0 - 2 H_0q + 4 H_pq, H = (A rows) B'. Any two draws are independent, so counts
    have the variance of independent draws; under H0 rows and columns of the P x Q sums are exchangeable, so the rank of
    the first is uniform and (k + 1) / (P Q) is exact. Reference: Ramdas2023.

    >>> signed_totals(np.array([[1.0], [2.0], [4.0]]), 3, 0).shape, float(signed_totals(np.array([[1.0], [2.0]]), 3, 0)[0, 0])
    ((4, 1), 3.0)
    """
    p = math.isqrt(draws) + 1  # the smallest p with p^2 >= draws + 1
    q = -(-(draws + 1) // p)
    source = np.random.Generator(np.random.PCG64(seed))
    product = np.zeros((rows.shape[1], p, q))
    slices = ITEMS if p * q > 2048 else max(16, 250_000 // (p * q))  # shorter products would wake BLAS's threads for nothing
    for start in range(0, len(rows), ITEMS):
        part = rows[start : start + ITEMS]
        words = source.integers(0, 2**64, size=(p + q, -(-len(part) // 64)), dtype=np.uint64)
        if not np.little_endian:
            words = words.byteswap()
        bits = np.unpackbits(words.view(np.uint8), axis=1)[:, : len(part)]
        bits[0] = bits[p] = 1
        right = bits[p:].astype(float).T
        for column in range(rows.shape[1]):
            left = bits[:p].astype(float)
            left *= part[:, column]
            for at in range(0, len(part), slices):
                product[column] += left[:, at : at + slices] @ right[at : at + slices]
    total, by_p, by_q = product[:, :1, :1].copy(), product[:, :, :1].copy(), product[:, :1, :].copy()
    by_p[:, 0], by_q[:, :, 0] = 0, 0
    product[:, 0, :], product[:, :, 0] = 0, 0
    out: FloatArray = (total - 2 * by_p - 2 * by_q + 4 * product).reshape(rows.shape[1], -1).T
    return out
