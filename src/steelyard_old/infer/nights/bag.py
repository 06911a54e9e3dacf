"""Tonight against the bag of all runs so far: if nothing changed, tonight is a random member of it.

Given how often each item was right in all runs, tonight included, any run could have been tonight's. So the p-value of a night
is independent of those of earlier nights, and the luck of the reference is averaged away instead of counted every night.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.normal import lower_tail

FloatArray = npt.NDArray[np.float64]
NORMAL_FROM = 400.0  # variance of the number of losses above which its law is normal enough
DRAWS = 2000  # of a night of scores
BLOCK = 1 << 18  # values drawn at a time
SHORTEST_WHEEL = 32  # scores of an item that are read together
NEGLIGIBLE = 1e-150  # a probability that no longer counts
UNSEEN = 1e-20  # a probability that adds nothing to a mean
ROWS_AT_ONCE = 40  # numbers in a law up to which all pairs are convolved together
SMALLEST = 1e-300  # a p-value that is told apart from 0
TIE = 1e-12  # totals closer than this, relative to their size, are equal


@dataclass(frozen=True, slots=True, kw_only=True)
class BagEvidence:
    """p_value: of tonight being worse; z its normal quantile, worse is positive; mean_z: what z is on average if nothing changed.

    informative: some item differed between runs. Without one, p = .5 and z = 0.
    """

    p_value: float = 0.5
    z: float = 0.0
    mean_z: float = 0.0
    informative: bool = False


def bag_score(right: npt.ArrayLike, runs: npt.ArrayLike, tonight: npt.ArrayLike) -> tuple[float, float, float]:
    """(Z, tonight's right answers beyond those expected, their variance) by the moments of the bag; up is good.

    Formula: q_i = (S_i + y_i) / (N_i + 1); sum (y - q), sum q (1 - q), and their quotient Z. With one earlier run it is
    McNemar's (gained - lost) / sqrt(gained + lost). Nothing differs: Z = 0. Reference: McNemar1947.

    >>> [round(x, 4) for x in bag_score([5, 5, 4, 0, 1, 3, 5, 5], 5, [1, 0, 1, 0, 0, 0, 1, 0])]
    [-2.414, -2.1667, 0.8056]
    """
    y = np.asarray(tonight, float)
    q = (np.asarray(right, float) + y) / (np.asarray(runs, float) + 1)
    gap, variance = float((y - q).sum()), float((q * (1 - q)).sum())
    return (gap / math.sqrt(variance) if variance > 0 else 0.0), gap, variance


def bag_of_outcomes(right: npt.ArrayLike, runs: npt.ArrayLike, tonight: npt.ArrayLike) -> BagEvidence:
    """Right or wrong: `right` of `runs` earlier runs of each item were right, and `tonight` is 0 or 1.

    Formula: the losses are a sum of independent coins with chances 1 - q_i; p = P(more losses) + P(as many) / 2, exactly, by
    convolution; by the normal law of Z only where sum q (1 - q) > 400. The mean of z is not 0 for a law of few points, and is
    told so that a pool of many tasks can be centred. Items without an earlier run weigh nothing.
    Reference: VovkPetej2021; Lancaster1961 for mid-p.

    >>> round(bag_of_outcomes([60, 60, 60, 0, 60], 60, [1, 0, 1, 0, 1]).p_value * 61, 12)
    0.5
    """
    y = np.asarray(tonight, float)
    n = np.broadcast_to(np.asarray(runs, float), y.shape)
    total = np.asarray(right, float) + y
    open_items = (total > 0) & (total < n + 1) & (n > 0)
    if not open_items.any():
        return BagEvidence()
    y, n, total = y[open_items], n[open_items], total[open_items]
    q = total / (n + 1)
    if float((q * (1 - q)).sum()) > NORMAL_FROM:
        z = -bag_score(total - y, n, y)[0]
        return BagEvidence(p_value=lower_tail(-z), z=z, informative=True)
    lowest, law = _law_of_losses(1 - q)
    lost = min(max(round(len(y) - float(y.sum())) - lowest, 0), len(law) - 1)  # what lies outside has no chance to speak of
    above = np.concatenate([np.cumsum(law[:0:-1])[::-1], [0.0]])
    below = np.concatenate([[0.0], np.cumsum(law[:-1])])
    worse, better = above + law / 2, below + law / 2
    counts = law > UNSEEN  # the others add nothing to the mean
    return BagEvidence(
        p_value=float(worse[lost]),
        z=float(_quantiles(worse[lost : lost + 1], better[lost : lost + 1])[0]) + 0.0,
        mean_z=float(law[counts] @ _quantiles(worse[counts], better[counts])),
        informative=True,
    )


def _law_of_losses(chance: FloatArray) -> tuple[int, FloatArray]:
    """(smallest number, probabilities) of a sum of coins. Coins that nearly always fall are counted by when they do not."""
    likely = chance > 0.5
    seldom, mostly = _law_of_coins(chance[~likely]), _law_of_coins(1 - chance[likely])
    return int(likely.sum()) - len(mostly) + 1, np.convolve(seldom, mostly[::-1])


def _law_of_coins(chance: FloatArray) -> FloatArray:
    """The probabilities of 0, 1, 2, ... of a sum of coins: laws of two, of four, and so on, all pairs at once while they are short."""
    if not len(chance):
        return np.ones(1)
    p = np.sort(chance)  # neighbours are alike, so that their laws end at about the same number
    laws = np.column_stack([1 - p, p])
    while len(laws) > 1:
        if len(laws) % 2:
            laws = np.vstack([np.eye(1, laws.shape[1]), laws])
        one, other = laws[0::2], laws[1::2]
        width = laws.shape[1]
        both = np.zeros((len(one), 2 * width - 1))
        if width > ROWS_AT_ONCE:
            for row, (a, b) in enumerate(zip(one, other, strict=True)):
                both[row] = np.convolve(a, b)
        else:
            for k in range(width):
                both[:, k : k + width] += one[:, k : k + 1] * other
        laws = both[:, : 1 + int(np.flatnonzero((both > NEGLIGIBLE).any(0))[-1])]
    return np.asarray(laws[0])


def bag_of_scores(earlier: npt.ArrayLike, tonight: npt.ArrayLike, *, seed: int | list[int] = 0, draws: int = DRAWS) -> BagEvidence:
    """Scores: `earlier` has a row per item and a column per run, NaN where an item was not asked; `tonight` has a score per item.

    Formula: of each item one of its N_i + 1 scores is drawn, 2,000 times; p = (1/2 + #less + #equal / 2) / (draws + 1), totals
    compared with tonight's. A normal law is far off where scores hardly ever differ. Items that never differ are left out.
    Reference: VovkPetej2021; PhipsonSmyth2010 for drawing.

    >>> found = bag_of_scores([[0.5, 0.5], [0.2, 0.4], [0.9, 0.8]], [0.5, 0.1, 0.7])
    >>> 0.03 < found.p_value < 0.08, found.informative
    (True, True)
    """
    y = np.asarray(tonight, float)
    table = np.column_stack([np.asarray(earlier, float).reshape(len(y), -1), y])
    known = ~np.isnan(table)
    low, high = np.fmin.reduce(table, axis=1), np.fmax.reduce(table, axis=1)  # of the scores that are known
    varies = high > low
    if not varies.any():
        return BagEvidence()
    table, known, low, high = table[varies], known[varies], low[varies], high[varies]
    table = table - low[:, None]  # differences alone count, and lose no digits to the size of the scores
    count = known.sum(1)
    if not known.all():  # the scores of each item to the front
        table = np.take_along_axis(table, np.argsort(~known, axis=1, kind="stable"), 1)
    observed = float((y[varies] - low).sum())
    slack = TIE * float((high - low).sum())
    totals = _drawn_totals(table, count, draws, np.random.Generator(np.random.PCG64(seed)))
    order = np.sort(totals)
    first = np.concatenate([[True], np.diff(order) > slack])  # totals that are equal but for rounding are one point
    start = np.flatnonzero(first)
    many = np.diff(np.concatenate([start, [draws]]))
    less = float(np.count_nonzero(totals < observed - slack))
    equal = float(np.count_nonzero(np.abs(totals - observed) <= slack))
    scale = draws + 1
    z_of_draws = _quantiles((0.5 + start + many / 2) / scale, (0.5 + draws - start - many / 2) / scale)
    p, rest = (0.5 + less + equal / 2) / scale, (0.5 + draws - less - equal / 2) / scale
    z = float(_quantiles(np.array([p]), np.array([rest]))[0]) + 0.0
    return BagEvidence(p_value=p, z=z, mean_z=float(many @ z_of_draws) / draws, informative=True)


def _drawn_totals(table: FloatArray, count: npt.NDArray[np.int64], draws: int, rng: np.random.Generator) -> FloatArray:
    """The sum over items of one score each, drawn from its row, `draws` times.

    The scores of an item are written around a wheel in random order, each equally often. A turn moves every wheel to a random
    place, by itself; then all are read on together, once around. So each total is a draw of its own law, and the totals of one
    turn share out the scores of an item evenly, which makes the p-value no less sure; random numbers are needed for turns alone.
    """
    out = np.zeros(draws)
    for width in np.unique(count).tolist():
        own = table[count == width, :width]
        wheel = np.concatenate([rng.permuted(own, axis=1) for _ in range(-(-SHORTEST_WHEEL // width))], axis=1)
        items, around = wheel.shape
        read_from = np.lib.stride_tricks.sliding_window_view(np.concatenate([wheel, wheel[:, :-1]], axis=1), around, axis=1)
        turns, at_once, each = -(-draws // around), max(1, BLOCK // (items * around)), np.arange(items)
        totals = [read_from[each, rng.integers(0, around, (min(at_once, turns - done), items))].sum(1) for done in range(0, turns, at_once)]
        out += np.concatenate(totals).ravel()[:draws]
    return out


def _quantiles(worse: FloatArray, better: FloatArray) -> FloatArray:
    """z of p-values, from the tail that is smaller: beside 1 the other has no digits left."""
    from scipy.special import ndtri

    return np.where(worse < better, -ndtri(np.maximum(worse, SMALLEST)), ndtri(np.maximum(better, SMALLEST)))
