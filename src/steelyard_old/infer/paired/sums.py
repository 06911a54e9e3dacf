"""Two systems as sums over units: items with repeats, groups, rows of a corpus metric. One row per unit and system.

The difference f(total of b) - f(total of a) is itself a function of sums, of the two rows laid side by side. So the
intervals are those of `infer/intervals/sums.py`; only the randomization, which swaps the two rows of a unit, is new.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.infer.intervals.sums import resampled
from steelyard_old.infer.paired.mcnemar import check_alternative
from steelyard_old.infer.paired.randomization import TIE, Randomized, check_exchanges, compare_sizes, symmetric_p
from steelyard_old.infer.paired.signflip import STEADY, signed_totals
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.metrics.sums import SumStatistic
from steelyard_old.tally.sums import SparseRows, Sums

FloatArray = npt.NDArray[np.float64]
Rows = FloatArray | SparseRows
FEW = 14  # units whose swaps are enumerated: 16,384 outcomes


def difference_statistic(statistic: SumStatistic, columns: int, times: tuple[float, float] = (1.0, 1.0)) -> SumStatistic:
    """f(second half of the columns) - f(first half), with its gradient; what only rounding separates from 0 is 0.

    times: what the first and the second are multiplied by before. No reference: a difference.
    """

    def value(s: FloatArray) -> FloatArray:
        here, there = times[0] * statistic.value(s[..., :columns]), times[1] * statistic.value(s[..., columns:])
        gap = np.asarray(there - here)
        with np.errstate(invalid="ignore"):
            return np.where(np.abs(gap) <= 1e-14 * np.maximum(np.abs(here), np.abs(there)), 0.0, gap)

    def gradient(s: FloatArray) -> FloatArray:
        return np.concatenate([-times[0] * statistic.gradient(s[:columns]), times[1] * statistic.gradient(s[columns:])])

    return SumStatistic(value, gradient, statistic.classes)


def side_by_side(rows_a: Rows, rows_b: Rows, count: npt.ArrayLike | None = None) -> Sums:
    """The two systems' rows as one tally: unit u has [row of a, row of b] and occurs count[u] times."""
    if isinstance(rows_a, SparseRows) and isinstance(rows_b, SparseRows):
        ones = np.ones(len(rows_a), np.int64)
        return Sums(rows=rows_a.beside(rows_b), count=ones, answers=len(rows_a))
    a, b = (np.asarray(x, float) for x in (rows_a, rows_b))
    if a.shape != b.shape or a.ndim != 2:
        raise DataError(
            f"Both systems need one row per unit and the same columns; the shapes are {a.shape} and {b.shape}.",
            got=f"shapes {a.shape} and {b.shape}",
            need="one row per unit and system, the same columns",
        )
    many = np.ones(len(a), np.int64) if count is None else np.asarray(count, np.int64)
    return Sums(rows=np.concatenate([a, b], axis=1), count=many, answers=int(many.sum()))


def grouped_pair(
    rows_a: Rows, rows_b: Rows, statistic: SumStatistic, sizes: FloatArray, single: Callable[[FloatArray], FloatArray] | None
) -> tuple[Sums, SumStatistic]:
    """Two systems on groups of items as one tally and one statistic; sizes in items, the effects of single items as in `Sums`."""
    tally = replace(side_by_side(rows_a, rows_b), units="groups", sizes=sizes, single=single, answers=round(float(sizes.sum())))
    return tally, difference_statistic(statistic, rows_a.shape[1])


def paired_resampled(
    rows_a: Rows,
    rows_b: Rows,
    statistic: SumStatistic,
    method: str,
    confidence_level: float = 0.95,
    side: str = "two",
    *,
    count: npt.ArrayLike | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> tuple[float, float, int]:
    """Percentile, BCa or studentized bootstrap of the difference over units, both rows of a unit together.

    The third number is how many draws were undefined. More than 4,096 units are dealt into 4,096 random buckets first.
    Assumes: independent units. Undefined: all draws equal, as for two identical systems (Degenerate).
    Reference: EfronTibshirani1993, chapter 8; DavisonHinkley1997, chapters 2 and 5; Koehn2004 for corpus metrics.

    >>> from steelyard_old.metrics.sums import QUOTIENT
    >>> rng = np.random.default_rng(0)
    >>> a = np.stack([np.ones(200), rng.normal(size=200)], 1)
    >>> low, high, _ = paired_resampled(a, a + [0.0, 0.5] + 0.1 * rng.normal(size=(200, 2)) * [0, 1], QUOTIENT, "bca", draws=999)
    >>> 0.47 < low < 0.5 < high < 0.53
    True
    """
    paired = difference_statistic(statistic, rows_a.shape[1])
    return resampled(side_by_side(rows_a, rows_b, count), paired, method, confidence_level, side, draws=draws, seed=seed)


def paired_swap(
    rows_a: Rows, rows_b: Rows, statistic: SumStatistic, *, alternative: str = "two-sided", draws: int = 10_000, seed: int = 0
) -> Randomized:
    """Approximate randomization over units: a fair coin per unit decides which of its two rows is the candidate's.

    Formula: with T = sum_u s_u (row_b - row_a) / 2 for random signs s, the systems' totals are M - T and M + T, M half of
    all; p = share with |difference| >= |observed|. Exact for at most 14 units that differ, else (k + 1) / (draws + 1) with
    at least `draws` drawn patterns. For a mean of equally heavy units it is the sign flip; repeats and groups move as one.
    Assumes: independent units whose two rows are exchangeable under H0. Undefined: f of one of the totals (Degenerate).
    Reference: Noreen1989; Yeh2000; EdgingtonOnghena2007.

    >>> from steelyard_old.metrics.sums import QUOTIENT
    >>> a, b = (np.array([[1.0, x] for x in column]) for column in ((2, 4, 9, 1), (3, 5, 8, 4)))
    >>> paired_swap(a, b, QUOTIENT).p_value
    0.5
    """
    check_alternative(alternative)
    draws = check_exchanges(draws)
    tally = side_by_side(rows_a, rows_b)
    totals = tally.totals()
    a, b = totals[: len(totals) // 2], totals[len(totals) // 2 :]
    gap = _gap(rows_a, rows_b)
    if not len(gap):
        return Randomized(p_value=1.0, statistic=0.0, exact=True, draws=1, count=1)
    here, there = (float(statistic.value(x)) for x in (a, b))
    if not (math.isfinite(here) and math.isfinite(there)):
        raise Degenerate("the metric is undefined for one of the systems")
    observed, size = there - here, max(abs(here), abs(there))
    sign = 0 if abs(observed) <= TIE * size else int(math.copysign(1, observed))
    exact = len(gap) <= FEW
    middle = (a + b) / 2
    far, farther, undefined = [], [], 0
    for sums in _swapped(gap, draws, seed, exact, sign):
        parts = compare_sizes(statistic.value(middle - sums / 2), statistic.value(middle + sums / 2), observed, size)
        far.append(parts[0])
        farther.append(parts[1])
        undefined += int(parts[2].sum())
    far_ones, farther_ones = np.concatenate(far), np.concatenate(farther)
    far_ones[0], farther_ones[0] = True, False  # the first pattern swaps nothing
    p = symmetric_p(float(far_ones.mean()), float(farther_ones.mean()), sign, alternative)
    count, used = (int(far_ones.sum()), len(far_ones)) if exact else (int(far_ones.sum()) - 1, len(far_ones) - 1)
    return Randomized(p_value=p, statistic=observed, exact=exact, draws=used, count=count, undefined=undefined)


def swapped_numbers(rows: Rows) -> int:
    """About how many numbers one pattern of swaps takes. Reference: EdgingtonOnghena2007."""
    return 2 * len(rows.value) if isinstance(rows, SparseRows) else 2 * rows.shape[1]


def _gap(rows_a: Rows, rows_b: Rows) -> Rows:
    """candidate - baseline of the units that differ."""
    if isinstance(rows_a, SparseRows) and isinstance(rows_b, SparseRows):
        return rows_b.minus(rows_a)
    a, b = np.asarray(rows_a, float), np.asarray(rows_b, float)
    return np.asarray((b - a)[np.any(a != b, axis=1)])


def _swapped(gap: Rows, draws: int, seed: int, exact: bool, sign: int) -> Iterator[FloatArray]:
    """sum_u s_u gap_u for patterns of signs s, the first all +: every pattern of few units, else drawn ones.

    Drawn ones meet the units in an order of their own numbers, turned by the sign of the difference, so that neither the order
    of the file nor which system comes first changes a draw.
    """
    signs = np.array(list(product((1.0, -1.0), repeat=len(gap)))) if exact else None
    if not isinstance(gap, SparseRows):
        if signs is None:
            turned = -gap if sign < 0 else gap
            steps = np.rint(turned * (STEADY / np.abs(turned).max()))  # what only rounding tells apart is equal
            yield signed_totals(turned[np.lexsort((*steps.T[::-1], *np.abs(steps).T[::-1]))], draws, seed)
        else:
            yield signs @ gap
        return
    stream = np.random.Generator(np.random.PCG64(seed))
    # a number for each unit, equal for equal ones alone, short of a coincidence of random weights
    order = np.argsort((gap @ np.random.Generator(np.random.PCG64(0)).random(gap.shape[1])) * (-1 if sign < 0 else 1), kind="stable")
    place = np.argsort(order)
    for i in range(len(signs) if signs is not None else draws + 1):
        if signs is not None:
            one = signs[i]
        else:
            one = np.ones(len(gap)) if i == 0 else 1.0 - 2.0 * stream.integers(0, 2, len(gap))[place]
        yield (one @ gap)[None, :]
