"""Intervals for ROC AUC, average precision and rank correlation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.intervals.area import Area
from steelyard_old.infer.intervals.clusters import ClusterVariance, cluster_spread
from steelyard_old.infer.normal import z_value
from steelyard_old.infer.paired.decision import satterthwaite
from steelyard_old.infer.resampling import bootstrap
from steelyard_old.infer.resampling.bootstrap import BLOCK, redraw
from steelyard_old.metrics import ranking
from steelyard_old.tally.scores import ScoreTable

FloatArray = npt.NDArray[np.float64]
Measure = Callable[[npt.NDArray[Any], npt.NDArray[Any]], FloatArray]  # counts of positives and negatives by score to a number


def placements(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """For each distinct score: the share of negatives below it (ties half), and the share of positives above it.

    Reference: DeLong1988, the structural components V10 and V01.
    """
    q, p = table.negatives.astype(float), table.positives.astype(float)
    v10 = (np.cumsum(q) - q / 2) / table.n_negative
    v01 = (p.sum() - np.cumsum(p) + p / 2) / table.n_positive
    return v10, v01


def auc_variances(table: ScoreTable) -> tuple[tuple[float, int], tuple[float, int]]:
    """(S10 / P, P) and (S01 / N, N): what positives and negatives each add to the variance of the AUC, and how many they are.

    Assumes: independent items. Undefined: fewer than two items of a class. Reference: DeLong1988, equation 5; SunXu2014.
    """
    if table.n_positive < 2 or table.n_negative < 2:
        raise bootstrap.Degenerate("fewer than two items of a class")
    area = float(ranking.auc(table.positives, table.negatives))
    v10, v01 = placements(table)
    s10 = float(table.positives @ (v10 - area) ** 2) / (table.n_positive - 1)
    s01 = float(table.negatives @ (v01 - area) ** 2) / (table.n_negative - 1)
    return (s10 / table.n_positive, table.n_positive), (s01 / table.n_negative, table.n_negative)


def delong_error(table: ScoreTable) -> float:
    """DeLong's standard error of the AUC, from counts per distinct score: sqrt(S10 / P + S01 / N).

    Assumes: independent items, positives and negatives each at least 2. Reference: DeLong1988, equation 5; SunXu2014.

    >>> table = ScoreTable(score=np.arange(4.0), positives=np.array([0, 1, 1, 2]), negatives=np.array([2, 1, 1, 0]))
    >>> round(delong_error(table), 6)
    0.125
    """
    return math.sqrt(sum(variance for variance, _ in auc_variances(table)))


def auc_area(table: ScoreTable) -> Area:
    """The AUC with DeLong's variance and Satterthwaite's degrees; worth twice the smaller class in trials at least.

    Undefined: fewer than two items of a class. Reference: DeLong1988; Satterthwaite1946.
    """
    parts = auc_variances(table)
    return Area(
        value=float(ranking.auc(table.positives, table.negatives)),
        variance=sum(variance for variance, _ in parts),
        df=satterthwaite([(variance, n - 1) for variance, n in parts]),
        trials=2 * min(table.n_positive, table.n_negative),
    )


def grouped_auc_spread(
    table: ScoreTable, score: FloatArray, positive: npt.NDArray[np.bool_], group: npt.NDArray[np.integer], groups: int
) -> ClusterVariance:
    """The variance of the AUC when items come in groups, and its degrees of freedom: placement values summed by group.

    Formula: u_g = sum over its positives (V10 - A)/P + sum over its negatives (V01 - A)/N, through `cluster_spread`. The size of
    a group is P_g/P + N_g/N, its leverage (P_g^2/P^3 + N_g^2/N^3) / (P_g/P^2 + N_g/N^2): groups of one item give DeLong's error.
    Reference: Obuchowski1997; DeLong1988; BellMcCaffrey2002.
    """
    area = float(ranking.auc(table.positives, table.negatives))
    v10, v01 = placements(table)
    place = np.searchsorted(table.score, score)
    u = np.where(positive, (v10[place] - area) / table.n_positive, (v01[place] - area) / table.n_negative)
    return placed_spread(u, positive, group, groups)


def grouped_auc_area(
    table: ScoreTable,
    score: FloatArray,
    positive: npt.NDArray[np.bool_],
    group: npt.NDArray[np.integer],
    groups: int,
    worth: float,
) -> Area:
    """The AUC of items in groups with its variance and degrees of freedom, and the trials that it is worth.

    `worth` is that of the groups of the rarer class. Reference: Obuchowski1997; Kish1965; Wilson1927.
    """
    variance, df = grouped_auc_spread(table, score, positive, group, groups)
    smaller = min(table.n_positive, table.n_negative)
    alone = sum(part for part, _ in auc_variances(table)) if smaller > 1 else 0.0
    trials = grouped_trials(variance, alone, smaller, worth)
    return Area(value=float(ranking.auc(table.positives, table.negatives)), variance=variance, df=df, trials=trials)


def grouped_trials(variance: float, alone: float, smaller: int, worth: float) -> float:
    """The trials that an AUC of groups is worth: twice the smaller class over the design effect.

    The design effect is the variance over DeLong's for independent items, at least 1; without any spread the groups of the rarer
    class, `worth` equal ones, count as its items. Reference: Kish1965; Wilson1927.

    >>> grouped_trials(0.02, 0.01, 30, 12.0), grouped_trials(0.0, 0.0, 30, 12.0)
    (30.0, 24.0)
    """
    return 2 * (smaller / max(1.0, variance / alone) if alone > 0 and variance > 0 else min(worth, smaller))


def placed_spread(u: FloatArray, positive: npt.NDArray[np.bool_], group: npt.NDArray[np.integer], groups: int) -> ClusterVariance:
    """The spread of a sum of effects of placements, by group. Reference: Obuchowski1997; BellMcCaffrey2002."""
    effects = np.asarray(np.bincount(group, weights=u, minlength=groups), float)
    sizes, above, below = np.zeros(groups), np.zeros(groups), np.zeros(groups)
    for part in (positive, ~positive):
        here, total = np.bincount(group[part], minlength=groups), int(part.sum())
        sizes += here / total
        above += here**2 / total**3
        below += here / total**2
    leverage = above / np.where(below > 0, below, 1.0)
    if not float(leverage.max()) < 1:
        raise bootstrap.Degenerate("all items of a class lie in one group")
    return cluster_spread(effects, sizes, squares=float(u @ u), answers=len(u), leverage=leverage)


def precision_variances(table: ScoreTable) -> tuple[float, float]:
    """The infinitesimal-jackknife variance of average precision, from positives and from negatives, in one pass over the scores.

    Formula: with h_j, c_j the positives and all items at or above score j and A_j = p_j h_j / c_j, AP = sum A_j / P;
    one more item at score i adds to every c_j with j <= i, one more positive also to h_j and p_i.
    Reference: Efron1982, chapter 6; BoydEngPage2013 on intervals for AP.
    """
    p, q = table.positives.astype(float), table.negatives.astype(float)
    h = np.cumsum(p[::-1])[::-1]
    c = h + np.cumsum(q[::-1])[::-1]
    total = p.sum()
    ap = float((p * h / c).sum() / total)
    lost = np.cumsum(p * h / c**2)  # what one more item at or above the thresholds takes away, cumulated from below
    gained = np.cumsum(p / c)
    negative = -lost / total
    positive = (h / c + gained - lost - ap) / total
    return float(p @ positive**2), float(q @ negative**2)


def average_precision_error(table: ScoreTable) -> float:
    """The infinitesimal-jackknife standard error of average precision.

    Reference: Efron1982, chapter 6; BoydEngPage2013 on intervals for AP.

    >>> table = ScoreTable(score=np.arange(4.0), positives=np.array([0, 1, 1, 2]), negatives=np.array([2, 1, 1, 0]))
    >>> round(average_precision_error(table), 4)
    0.1271
    """
    return math.sqrt(sum(precision_variances(table)))


def precision_area(table: ScoreTable) -> Area:
    """Average precision with the jackknife's variance, the part of P positives times P / (P - 1), and P - 1 degrees of freedom.

    Undefined: fewer than two positives, or no negative: then it is 1 whatever the scores are.
    Reference: Efron1982, chapter 6; BoydEngPage2013 for the positives as its trials.
    """
    positives = table.n_positive
    if positives < 2 or table.n_negative < 1:
        raise bootstrap.Degenerate("fewer than two positives" if positives < 2 else "no negatives")
    of_positives, of_negatives = precision_variances(table)
    return Area(
        value=float(ranking.average_precision(table.positives, table.negatives)),
        variance=of_positives * positives / (positives - 1) + of_negatives,
        df=positives - 1,
        trials=positives,
    )


def bootstrap_scores(
    table: ScoreTable,
    measure: Measure,
    method: str,
    confidence_level: float = 0.95,
    side: str = "two",
    *,
    draws: int = 10_000,
    seed: int = 0,
) -> tuple[float, float, int]:
    """BCa or percentile bootstrap over the cells of the score table. Reference: Efron1987."""
    draws = bootstrap.check_draws(draws, confidence_level, side)
    count = np.concatenate([table.positives, table.negatives])
    used = np.flatnonzero(count)
    m = len(table.score)

    def values(weights: npt.NDArray[np.integer]) -> FloatArray:
        full = np.zeros((len(weights), 2 * m))
        full[:, used] = weights
        return measure(full[:, :m], full[:, m:])

    rng = np.random.Generator(np.random.PCG64(seed))
    rows = max(1, BLOCK // (2 * m))
    blocks = (values(redraw(count[used], min(rows, draws - start), rng)) for start in range(0, draws, rows))
    drawn, undefined = bootstrap.defined_values(blocks, confidence_level, side)
    if method == "percentile":
        return (*bootstrap.percentile(drawn, confidence_level, side), undefined)
    estimate = float(measure(table.positives, table.negatives))
    parts = [values(count[used] - np.eye(len(used), dtype=np.int64)[s : s + rows]) for s in range(0, len(used), rows)]
    left_out = np.concatenate(parts)
    usable = np.isfinite(left_out)
    ends = bootstrap.bca(drawn, estimate, left_out[usable], count[used][usable], confidence_level, side)
    return (*ends, undefined)


def spearman_interval(rho: float, n: int, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """Fisher's z for a rank correlation with Bonett and Wright's variance (1 + rho^2/2) / (n - 3).

    Undefined: n < 4, or rho of exactly -1 or 1. Reference: BonettWright2000.

    >>> [round(x, 4) for x in spearman_interval(0.8, 50)]
    [0.647, 0.8911]
    """
    reach = z_value(confidence_level, side) * _fisher_error(rho, n)
    return math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach)


def spearman_error(rho: float, n: int) -> float:
    """The standard error of a rank correlation: that of Fisher's z, times the slope 1 - rho^2 of its inverse.

    Undefined: n < 4, or rho of exactly -1 or 1. Reference: BonettWright2000.

    >>> round(spearman_error(0.8, 50), 4)
    0.0603
    """
    return (1 - rho * rho) * _fisher_error(rho, n)


def _fisher_error(rho: float, n: int) -> float:
    if n < 4 or abs(rho) >= 1:
        raise bootstrap.Degenerate("too few items, or a perfect rank correlation")
    return math.sqrt((1 + rho * rho / 2) / (n - 3))
