"""Unequal repeats: which of an item's runs belong to the candidate? Under H0 any of them could.

One candidate run against r reference runs of the same items is the usual case. Given how many of an item's runs are
right, the candidate's share of them is hypergeometric; over items, the total is a convolution, computed exactly. With
one run each this is McNemar's test. Swapping whole items (the sign flip) is not exact here: a mean of one run and a
mean of r runs have different laws even for one and the same model.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.infer.normal import STANDARD, tail
from steelyard_old.infer.paired.mcnemar import MIRRORED, check_alternative, from_tails
from steelyard_old.infer.paired.randomization import TIE, check_exchanges
from steelyard_old.infer.resampling.bootstrap import BLOCK
from steelyard_old.late_dataclass import dataclass
from steelyard_old.tally.rounding import without_rounding

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

WORK = 20_000_000  # values of characteristic functions computed at most: about a second
POINTS = 1 << 20  # of the grid of an exact law; beyond it the test is drawn
NEGLIGIBLE = 42.0  # e^-42 = 6e-19: what a tail may hide
SUBSETS = 252  # ways to choose an item's candidate runs that are listed: 5 of 10


class Kinds(NamedTuple):
    """Independent whole-number variables by kind: values and shares of shape (kinds, outcomes), and how many of each."""

    value: IntArray
    share: FloatArray
    many: IntArray


class Tails(NamedTuple):
    below: float
    at: float
    above: float


def lattice_tails(kinds: Kinds, observed: int) -> Tails | None:
    """P(Y < y), P(Y = y), P(Y > y) of a sum of independent whole numbers; None when it would cost too much.

    Formula: tilt every law by e^(t x) so that the mean of the sum is y, multiply the characteristic functions on as many
    points as the tilted sum needs (Chernoff's bound says how many), transform back, undo the tilt. So the smaller tail
    keeps its digits however small it is, which a plain transform does not give. Reference: Daniels1954 for the tilt.

    >>> coin = Kinds(np.array([[0, 1]]), np.array([[0.5, 0.5]]), np.array([10]))
    >>> [round(x * 1024, 9) for x in lattice_tails(coin, 8)]
    [968.0, 45.0, 11.0]
    """
    law = _Sum(kinds)
    if not law.bottom < observed < law.top:
        return law.at_an_end(observed)
    if observed < law.mean:
        turned = lattice_tails(Kinds(-kinds.value, kinds.share, kinds.many), -observed)
        return None if turned is None else Tails(turned.above, turned.at, turned.below)
    tilt = law.tilt_for(observed)
    down, up = law.reach(tilt, observed)
    points = max(8, 1 << (down + up).bit_length())
    spectrum = law.spectrum(tilt, observed, points)
    if spectrum is None:
        return None
    share = np.maximum(np.fft.irfft(np.conj(spectrum), points), 0.0)
    scale = math.exp(law.log_moment_around(tilt, observed))
    at = scale * float(share[0])
    above = scale * float(share[1 : up + 1] @ np.exp(-tilt * np.arange(1, up + 1)))
    return Tails(max(0.0, 1 - at - above), at, above)


class _Sum:
    """A sum of independent whole numbers, and the same sum with its laws tilted."""

    def __init__(self, kinds: Kinds) -> None:
        order = np.argsort(-kinds.many, kind="stable")
        self.value, self.share, self.many = kinds.value[order], kinds.share[order], kinds.many[order]
        possible = self.share > 0
        self.low = np.where(possible, self.value, np.iinfo(np.int64).max).min(1)
        self.high = np.where(possible, self.value, np.iinfo(np.int64).min).max(1)
        self.bottom, self.top = int(self.low @ self.many), int(self.high @ self.many)
        self.mean = float(self.many @ (self.share * self.value).sum(1))

    def at_an_end(self, observed: int) -> Tails:
        """Outside or at an end of the range no transform is needed."""
        if observed < self.bottom or observed > self.top:
            return Tails(float(observed > self.top), 0.0, float(observed < self.bottom))
        ends = self.low if observed == self.bottom else self.high
        chance = np.where(self.value == ends[:, None], self.share, 0.0).sum(1)
        at = math.exp(min(0.0, float(self.many @ np.log(chance))))
        if self.bottom == self.top:
            return Tails(0.0, 1.0, 0.0)
        return Tails(0.0, at, 1 - at) if observed == self.bottom else Tails(1 - at, at, 0.0)

    def _tilted(self, tilt: float) -> tuple[FloatArray, FloatArray]:
        """The tilted laws, and the logarithm of what they were divided by."""
        edge = np.where(tilt >= 0, self.high, self.low)
        weight = self.share * np.exp(tilt * np.where(self.share > 0, self.value - edge[:, None], 0))
        total = weight.sum(1)
        return weight / total[:, None], np.log(total) + tilt * edge

    def log_moment(self, tilt: float) -> float:
        """log E e^(tilt Y)."""
        return float(self.many @ self._tilted(tilt)[1])

    def log_moment_around(self, tilt: float, observed: int) -> float:
        """log E e^(tilt (Y - observed)) at the tilt that belongs to it, where the plain difference would cancel."""
        mean = (self._tilted(tilt)[0] * self.value).sum(1)
        small = (self.share * np.expm1(tilt * np.where(self.share > 0, self.value - mean[:, None], 0.0))).sum(1)
        return float(self.many @ np.log1p(small)) + tilt * (float(self.many @ mean) - observed)

    def _tilted_mean(self, tilt: float) -> float:
        return float(self.many @ (self._tilted(tilt)[0] * self.value).sum(1))

    def tilt_for(self, observed: int) -> float:
        """The tilt, not negative, that moves the mean to the observed value: doubled until it suffices, then bisected."""
        low, high = 0.0, 1.0 / float((self.high - self.low).max())
        while self._tilted_mean(high) < observed:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._tilted_mean(middle) < observed else (low, middle)
        return low

    def reach(self, tilt: float, observed: int) -> tuple[int, int]:
        """How far below and above the observed value the tilted sum goes, but for a probability of 6e-19. Chernoff1952."""
        law, base = self._tilted(tilt)
        mean = (law * self.value).sum(1)
        variance = float(self.many @ (law * (self.value - mean[:, None]) ** 2).sum(1))
        start = float(self.many @ base)
        ends = []
        for sign, room in ((-1, observed - self.bottom), (1, self.top - observed)):
            steps = 2.0 ** np.arange(-4, 12) / math.sqrt(max(variance, 1e-12))
            bound = [(self.log_moment(tilt + sign * h) - start - sign * h * observed + NEGLIGIBLE) / h for h in steps]
            ends.append(min(room, math.ceil(max(1.0, min(bound)))))
        return ends[0], ends[1]

    def spectrum(self, tilt: float, observed: int, points: int) -> npt.NDArray[np.complex128] | None:
        """The characteristic function of the tilted sum minus the observed value; where it has vanished, no kind is added.

        Kinds come by falling number, so most frequencies vanish after the first few.
        """
        needed = 1 + int(np.searchsorted(np.cumsum(self.many), 100))
        if points > POINTS or points // 2 * min(needed, len(self.many)) * self.value.shape[1] > WORK:
            return None
        law, _ = self._tilted(tilt)
        mean = (law * self.value).sum(1)
        alive = np.arange(points // 2 + 1)
        angle: FloatArray = alive * np.float64(2 * math.pi / points)
        power = -1j * angle * (observed - float(self.many @ mean))
        for value, share, many, centre in zip(self.value, law, self.many, mean, strict=True):
            power = power + int(many) * _log_characteristic(value - centre, share, angle)
            keep = power.real > -60
            if not keep.all():
                alive, angle, power = alive[keep], angle[keep], power[keep]
        out = np.zeros(points // 2 + 1, complex)
        out[alive] = np.exp(power)
        return out


def _log_characteristic(value: FloatArray, share: FloatArray, angle: FloatArray) -> npt.NDArray[np.complex128]:
    """log E e^(i angle x), from E e^(i angle x) - 1: near 1 its logarithm is multiplied by millions."""
    real, imaginary = np.zeros_like(angle), np.zeros_like(angle)
    for x, q in zip(value.tolist(), share.tolist(), strict=True):
        if q > 0:
            half = np.sin(angle * (x / 2))
            real -= 2 * q * half * half
            imaginary += 2 * q * half * np.cos(angle * (x / 2))
    with np.errstate(divide="ignore"):
        size = np.log1p(np.maximum(2 * real + real * real + imaginary * imaginary, -1.0)) / 2
    out: npt.NDArray[np.complex128] = np.maximum(size, -1e4) + 1j * np.arctan2(imaginary, 1 + real)
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinItems:
    """p_value; difference = mean over items of the two run means' difference; method "convolution" or "monte-carlo"."""

    p_value: float
    difference: float
    exact: bool
    method: str
    draws: int


def within_items(
    baseline_right: npt.ArrayLike,
    baseline_runs: npt.ArrayLike,
    candidate_right: npt.ArrayLike,
    candidate_runs: npt.ArrayLike,
    *,
    alternative: str = "two-sided",
    mid: bool = True,
    draws: int = 10_000,
    seed: int = 0,
) -> WithinItems:
    """Permutation of run labels within items, for right or wrong answers: one entry per item in each argument.

    Formula: given s right of the item's a + c runs, the candidate's x are Hypergeometric(a + c, s, c); the statistic is
    the mean over items of x/c - (s - x)/a, a weighted sum of the x. Exact by convolution; `mid` counts the observed point
    half. One run each: McNemar's mid-p test (or its exact test with mid=False). Two-sided doubles the smaller tail; a
    difference of exactly 0 gives 1. When the lattice of unequal designs is too fine: drawn, (k + 1) / (draws + 1).
    Assumes: under H0 the runs of an item are exchangeable. Undefined: an item without a run of both systems (an error).
    Reference: EdgingtonOnghena2007; MantelHaenszel1959 for the strata; Lancaster1961 for mid-p.

    >>> found = within_items([3, 2, 3, 0, 1], [3, 3, 3, 3, 3], [1, 0, 1, 0, 0], [1, 1, 1, 1, 1])
    >>> round(found.p_value, 6), found.exact
    (0.375, True)
    """
    check_alternative(alternative)
    draws = check_exchanges(draws)
    four = [np.asarray(x, np.int64).ravel() for x in (baseline_right, baseline_runs, candidate_right, candidate_runs)]
    right_a, runs_a, right_b, runs_b = four
    if any(len(x) != len(right_a) for x in four) or np.any((right_a > runs_a) | (right_b > runs_b) | (right_a < 0) | (right_b < 0)):
        raise DataError(
            "The counts do not fit: an item has more right answers than runs.",
            got="counts that do not fit",
            need="right <= runs for every item",
        )
    _refuse_empty(runs_a, runs_b)
    designs, place, _ = _pairs(runs_a, runs_b)
    sums = [np.bincount(place, weights=x, minlength=len(designs)).astype(np.int64).tolist() for x in (right_a, right_b)]
    exact = sum((Fraction(b, nb) - Fraction(a, na) for (na, nb), a, b in zip(designs, *sums, strict=True)), Fraction(0))
    difference = float(exact / max(1, len(right_a)))
    kinds, observed = _kinds(designs, place, right_a + right_b, right_b)
    if kinds is None:
        return WithinItems(p_value=1.0, difference=difference, exact=True, method="convolution", draws=0)
    tails = lattice_tails(kinds, observed) if int(kinds.value.max()) < 2**31 else None
    if tails is not None:
        share = 0.5 if mid else 1.0
        p = from_tails(tails.below + share * tails.at, tails.above + share * tails.at, alternative)
        method, draws = "convolution", 0
    elif exact < 0:  # drawn for the system that is ahead, so that exchanging the two changes nothing
        others = (candidate_right, candidate_runs, baseline_right, baseline_runs)
        turned = within_items(*others, alternative=MIRRORED[alternative], mid=mid, draws=draws, seed=seed)
        return replace(turned, difference=difference)
    else:
        rng = np.random.Generator(np.random.PCG64(seed))
        drawn = sum(rng.multinomial(m, q, size=draws) @ v.astype(float) for v, q, m in zip(*kinds, strict=True))
        less, greater = ((int(np.count_nonzero(x)) + 1) / (draws + 1) for x in (drawn <= observed, drawn >= observed))
        p = from_tails(less, greater, alternative)
        method = "monte-carlo"
    if alternative == "two-sided" and exact == 0:
        p = 1.0
    return WithinItems(p_value=min(1.0, p), difference=difference, exact=method == "convolution", method=method, draws=draws)


def _refuse_empty(runs_a: IntArray, runs_b: IntArray) -> None:
    if empty := int(np.sum((runs_a < 1) | (runs_b < 1))):
        raise DataError(
            f"{empty} {'item has' if empty == 1 else 'items have'} no run of one of the systems.",
            got=f"{empty} item(s) without a run of both systems",
            need="at least one of each",
        )


def _pairs(first: IntArray, second: IntArray) -> tuple[list[tuple[int, int]], IntArray, IntArray]:
    """The distinct pairs in order, which of them each entry is, and how often each occurs."""
    width = int(second.max(initial=0)) + 1
    key, place, many = np.unique(first * width + second, return_inverse=True, return_counts=True)
    return [divmod(k, width) for k in key.tolist()], place.ravel(), many


def _kinds(designs: list[tuple[int, int]], place: IntArray, right: IntArray, candidate: IntArray) -> tuple[Kinds | None, int]:
    """Items by (design, right runs) with the hypergeometric law of the candidate's, and the observed weighted total.

    The candidate's x counts (a + c) / (a c), brought to whole numbers. Items that leave no choice drop out.
    """
    weights = [Fraction(a + c, a * c) for a, c in designs]
    common = math.lcm(*(w.denominator for w in weights)) if weights else 1
    whole = [int(w * common) for w in weights]
    whole = [w // math.gcd(*whole) for w in whole]
    key, kind, many = _pairs(place, right)
    own = np.bincount(kind, weights=candidate, minlength=len(key)).astype(np.int64)
    rows, observed = [], 0
    for (design, s), number, total in zip(key, many.tolist(), own.tolist(), strict=True):
        a, c = designs[design]
        least, most = max(0, s - a), min(s, c)
        if least < most:
            shares = [math.comb(s, x) * math.comb(a + c - s, c - x) / math.comb(a + c, c) for x in range(least, most + 1)]
            rows.append(([whole[design] * (x - least) for x in range(least, most + 1)], shares, number))
            observed += whole[design] * (total - least * number)
    if not rows:
        return None, 0
    width = max(len(shares) for _, shares, _ in rows)
    value = np.array([v + [0] * (width - len(v)) for v, _, _ in rows], np.int64)
    share = np.array([q + [0.0] * (width - len(q)) for _, q, _ in rows])
    return Kinds(value, share, np.array([number for *_, number in rows], np.int64)), observed


def within_items_scores(
    item: npt.ArrayLike,
    score: npt.ArrayLike,
    candidate: npt.ArrayLike,
    *,
    alternative: str = "two-sided",
    draws: int = 10_000,
    seed: int = 0,
) -> WithinItems:
    """Permutation of run labels within items, for scores: one entry per run: its item, its score, is it the candidate's.

    Formula: as `within_items`, the candidate's runs of each item drawn anew without replacement; (k + 1) / (draws + 1),
    ties included. One run each: the sign flip, for which `sign_flip` is exact more often.
    The order of the entries and exchanging the systems change no draw.
    Reference: EdgingtonOnghena2007; PhipsonSmyth2010.

    >>> item, score = [0, 0, 0, 1, 1, 1, 2, 2, 2], [0.9, 0.7, 0.1, 0.4, 0.5, 0.2, 0.8, 0.9, 0.3]
    >>> found = within_items_scores(item, score, [0, 0, 1, 0, 0, 1, 0, 0, 1], draws=999)
    >>> round(found.difference, 6), 0.03 < found.p_value < 0.12
    (-0.5, True)
    """
    check_alternative(alternative)
    draws = check_exchanges(draws)
    _, code = np.unique(np.asarray(item), return_inverse=True)
    value, ours = np.asarray(score, float).ravel(), np.asarray(candidate).astype(bool).ravel()
    order = np.lexsort((ours, code.ravel()))
    code, value, ours = code.ravel()[order], value[order], ours[order]
    items = int(code[-1]) + 1 if len(code) else 0
    runs_b = np.bincount(code, weights=ours, minlength=items).astype(np.int64)
    runs_a = np.bincount(code, minlength=items) - runs_b
    _refuse_empty(runs_a, runs_b)
    starts = np.cumsum(runs_a + runs_b) - (runs_a + runs_b)
    tables, observed, size = [], 0.0, 0.0
    for a, b in _pairs(runs_a, runs_b)[0]:
        own = starts[(runs_a == a) & (runs_b == b)]
        table = value[own[:, None] + np.arange(a + b)]
        away = _away(table, a, b)
        observed += float(away[:, a:].sum())
        size += float(np.abs(away).sum())
        tables.append((a, b, np.sort(table, axis=1)))
    slack = TIE * size
    if observed < -slack:  # drawn for the system that is ahead
        turned = within_items_scores(code, value, ~ours, alternative=MIRRORED[alternative], draws=draws, seed=seed)
        return replace(turned, difference=-turned.difference)
    drawn, source = np.zeros(draws), np.random.PCG64(seed)
    for a, b, table in tables:
        source = source.jumped()
        drawn += _relabelled(_away(table[np.lexsort(table.T[::-1])], a, b), b, draws, np.random.Generator(source))
    less, greater = ((int(np.count_nonzero(x)) + 1) / (draws + 1) for x in (drawn <= observed + slack, drawn >= observed - slack))
    p = 1.0 if alternative == "two-sided" and abs(observed) <= slack else from_tails(less, greater, alternative)
    return WithinItems(p_value=p, difference=observed / max(1, items), exact=False, method="monte-carlo", draws=draws)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinSpread:
    """What the runs of these very items vary by: enough to say which differences a permutation within items does not rule out."""

    n: int
    difference: float
    runs: float  # of V(e), in the words of `within_spread`; the squares are around the difference, of which rounding takes nothing away
    squares: float
    cross: float
    count: float

    def variance(self, edge: float) -> float:
        """Of the difference, if the candidate's runs lie `edge` above the baseline's of the same item."""
        away = edge - self.difference
        return max(0.0, self.runs + self.squares - 2 * self.cross * away + self.count * away * away) / self.n**2

    def interval(self, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
        """Every e with |difference - e| <= z sqrt(V(e)): the ends solve a quadratic equation. Too few items: no ends."""
        z2 = STANDARD.inv_cdf(1 - tail(confidence_level, side)) ** 2
        lead = self.n**2 - z2 * self.count
        if lead <= 0:
            return -math.inf, math.inf
        moved = z2 * self.cross / lead
        reach = math.sqrt(moved * moved + z2 * (self.runs + self.squares) / lead)
        return self.difference - moved - reach, self.difference - moved + reach


def within_spread(item: npt.ArrayLike, score: npt.ArrayLike, candidate: npt.ArrayLike) -> WithinSpread:
    """The variance of the permutation within items as a function of the difference e that is asked about.

    Formula: with a and c runs of item i, d_i the difference of its means and W_i the squares of its runs around the mean of
    their side, V(e) = sum_i ((1/a + 1/c) W_i + (d_i - e)^2) / (a + c - 1) / n^2: what dealing the item's runs anew gives, once e is
    taken off the candidate's. Assumes: the runs of both sides vary alike around their own mean; nothing about items.
    Undefined: an item without a run of both systems (an error). Reference: EdgingtonOnghena2007.

    >>> found = within_spread([0, 0, 0, 1, 1, 1], [1.0, 0.0, 1.0, 0.0, 0.0, 1.0], [0, 0, 1, 0, 0, 1])
    >>> found.difference, found.variance(0.0)
    (0.75, 0.25)
    """
    _, code = np.unique(np.asarray(item), return_inverse=True)
    value, ours = np.asarray(score, float).ravel(), np.asarray(candidate).astype(np.int64).ravel()
    cell = 2 * code.ravel() + ours
    items = int(code.max(initial=-1)) + 1
    tries = np.bincount(cell, minlength=2 * items)
    _refuse_empty(tries[0::2], tries[1::2])
    mean = np.bincount(cell, weights=value, minlength=2 * items) / tries
    size, most = float(np.abs(value).max()), int(tries.max())
    squares = np.bincount(cell, weights=without_rounding(value - mean[cell], size, most) ** 2, minlength=2 * items)
    a, c = tries[0::2], tries[1::2]
    d, others = mean[1::2] - mean[0::2], 1 / (a + c - 1)
    away = without_rounding(d - d.mean(), size, most)
    return WithinSpread(
        n=items,
        difference=float(d.mean()),
        runs=float(((1 / a + 1 / c) * (squares[0::2] + squares[1::2])) @ others),
        squares=float(away * away @ others),
        cross=float(away @ others),
        count=float(others.sum()),
    )


def _away(table: FloatArray, a: int, b: int) -> FloatArray:
    """The runs of each item around their mean, scaled so that the sum of the candidate's is the item's difference."""
    return np.asarray((table - table.mean(1, keepdims=True)) * (1 / a + 1 / b))


def _relabelled(table: FloatArray, chosen: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """The sum over items of `chosen` runs drawn without replacement from each row, for every draw."""
    items, runs = table.shape
    listed = math.comb(runs, chosen) <= SUBSETS
    if listed:
        subsets = np.array(list(combinations(range(runs), chosen)))
        sums = table[:, subsets].sum(-1)
    rows, out = max(1, BLOCK // (items * runs)), np.empty(draws)
    for start in range(0, draws, rows):
        stop = min(start + rows, draws)
        if listed:
            pick = (rng.random((stop - start, items)) * len(subsets)).astype(np.int64)
            out[start:stop] = sums[np.arange(items), pick].sum(1)
        else:
            pick = np.argpartition(rng.random((stop - start, items, runs)), chosen - 1, axis=2)[..., :chosen]
            out[start:stop] = np.take_along_axis(np.broadcast_to(table, (stop - start, items, runs)), pick, 2).sum((1, 2))
    return out
