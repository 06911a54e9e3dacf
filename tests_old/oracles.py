"""Slow and plain twins of the library's arithmetic: item by item, pair by pair, resample by resample. Nothing here imports its formulas."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

Array = npt.NDArray[np.float64]
Ends = tuple[float, float]


# ---- tables ------------------------------------------------------------------------------------------------------------


def cells_of(truth: Sequence[object], prediction: Sequence[object]) -> Counter[tuple[str, str]]:
    """How often each (truth, prediction) occurs, as texts."""
    return Counter((str(t), str(p)) for t, p in zip(truth, prediction, strict=True))


def one_against_rest(truth: Sequence[object], prediction: Sequence[object], label: object) -> tuple[int, int, int, int]:
    """(TP, FP, FN, TN) of one class."""
    four = Counter((t == label, p == label) for t, p in zip(truth, prediction, strict=True))
    return four[True, True], four[False, True], four[True, False], four[False, False]


# ---- coverage ----------------------------------------------------------------------------------------------------------


def coverage(n: int, p: float, interval: Callable[[int], Ends]) -> float:
    """The exact probability that the interval of X ~ Binomial(n, p) contains p."""
    likely = range(int(stats.binom.ppf(1e-13, n, p)), int(stats.binom.isf(1e-13, n, p)) + 1)
    covered = [x for x in likely if interval(x)[0] <= p <= interval(x)[1]]
    return float(stats.binom.pmf(covered, n, p).sum())


def remembered(interval: Callable[[int, int], Ends]) -> Callable[[int], Callable[[int], Ends]]:
    """The interval of (x, n) as a function of x for a given n, each computed once."""
    once = cache(interval)
    return lambda n: lambda x: once(x, n)


def standard_errors(share: float, runs: int, exact: float) -> float:
    """By how many binomial standard errors a simulated share differs from a documented one."""
    return abs(share - exact) / math.sqrt(exact * (1 - exact) / runs)


# ---- order -------------------------------------------------------------------------------------------------------------


def pairs_matrix(score: Array, positive: npt.NDArray[np.bool_]) -> Array:
    """psi of every (positive, negative) pair: 1 if the positive scores higher, 1/2 for a tie."""
    x, y = score[positive][:, None], score[~positive][None, :]
    return np.asarray((x > y) + 0.5 * (x == y))


def naive_delong(score: Array, positive: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """(AUC, its variance) from all m x n pairs. DeLong, DeLong and Clarke-Pearson (1988), equations 2 and 5."""
    psi = pairs_matrix(score, positive)
    v10, v01 = psi.mean(1), psi.mean(0)
    return float(psi.mean()), float(v10.var(ddof=1) / len(v10) + v01.var(ddof=1) / len(v01))


def naive_average_precision(score: Array, positive: npt.NDArray[np.bool_]) -> float:
    """Mean over the positives of the precision among the items that score at least as high."""
    return float(np.mean([positive[score >= s].mean() for s in score[positive]]))


# ---- resampling --------------------------------------------------------------------------------------------------------


def item_resamples(n: int, draws: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Rows of n item numbers drawn with replacement."""
    return rng.integers(0, n, size=(draws, n))


def exact_bootstrap(items: Sequence[object], statistic: Callable[[Sequence[object]], float]) -> dict[float, float]:
    """The law of a statistic over all n^n equally likely resamples. Values are rounded to 12 digits."""
    law: Counter[float] = Counter()
    for resample in itertools.product(items, repeat=len(items)):
        law[round(statistic(resample), 12)] += 1
    return {value: many / len(items) ** len(items) for value, many in law.items()}


def naive_bca(items: Array, statistic: Callable[[Array], float], redrawn: Array, level: float) -> Ends:
    """Efron's BCa on items: z0 with ties by half, the acceleration from the leave-one-out values."""
    estimate = statistic(items)
    below = np.mean(redrawn < estimate - 1e-12) + np.mean(np.abs(redrawn - estimate) <= 1e-12) / 2
    left_out = np.array([statistic(np.delete(items, i, axis=0)) for i in range(len(items))])
    gap = left_out.mean() - left_out
    a = (gap**3).sum() / (6 * (gap**2).sum() ** 1.5)
    z0 = stats.norm.ppf(below)
    z = z0 + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    low, high = np.quantile(redrawn, stats.norm.cdf(z0 + z / (1 - a * z)))
    return float(low), float(high)


# ---- derivatives -------------------------------------------------------------------------------------------------------


def central_differences(f: Callable[[Array], float], x: Array, step: float = 1e-5) -> Array:
    """The gradient of f at x by Richardson's central differences (error of order step^4)."""

    def slope(i: int, h: float) -> float:
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        return (f(up) - f(down)) / (2 * h)

    scale = np.maximum(np.abs(x), 1.0) * step
    return np.array([(4 * slope(i, h / 2) - slope(i, h)) / 3 for i, h in enumerate(scale)])


# ---- repeats, calibration ----------------------------------------------------------------------------------------------


def naive_pass_at_k(tries: Sequence[int], k: int) -> float:
    """The share of k-subsets of the tries with at least one right one."""
    return float(np.mean([max(subset) for subset in itertools.combinations(tries, k)]))


def naive_pass_hat_k(tries: Sequence[int], k: int) -> float:
    """The share of k-subsets of the tries with all of them right."""
    return float(np.mean([min(subset) for subset in itertools.combinations(tries, k)]))


def naive_ece(probability: Iterable[float], positive: Iterable[bool], bins: int = 10) -> float:
    """Expected calibration error, bin by bin: share of the bin x |mean probability - share of positives|."""
    items = list(zip(probability, positive, strict=True))
    total = 0.0
    for b in range(bins):
        own = [(p, y) for p, y in items if min(int(p * bins), bins - 1) == b]
        if own:
            total += len(own) / len(items) * abs(sum(p for p, _ in own) / len(own) - sum(y for _, y in own) / len(own))
    return total


# ---- every metric, in exactly one set: its tests are parametrised over the set -------------------------------------------

WHOLE_TABLE = {"accuracy", "error", "balanced_accuracy", "mcc", "kappa"}
OF_A_CLASS = {"precision", "recall", "specificity", "npv", "f1", "fbeta", "jaccard"}
OF_PROBABILITIES = {"brier", "log_loss", "ece"}
OF_NUMBERS = {"mae", "rmse", "r2", "spearman"}
OF_SCORES = {"mean", "ratio", "perplexity"}
OF_AN_ORDER = {"auc", "average_precision"}
OF_REPEATS = {"pass@", "pass^"}
EVERY_SET = (WHOLE_TABLE, OF_A_CLASS, OF_PROBABILITIES, OF_NUMBERS, OF_SCORES, OF_AN_ORDER, OF_REPEATS)


def moments(cdf: Callable[[Any], Any], bottom: float, top: float, points: int = 301) -> tuple[float, float]:
    """(mean, standard deviation) of a law between two ends, from its distribution function: integrals by parts, trapezoids."""
    x = np.linspace(bottom, top, points)
    below = cdf(x)
    mean = top - float(np.trapezoid(below, x))
    square = top**2 - float(np.trapezoid(2 * x * below, x))
    return mean, math.sqrt(square - mean**2)
