"""Many systems: corrections for many questions, a board of all pairs, tiers, and tests of whether any of them differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc, ndtr

from steelyard.base.arrays import FloatArray
from steelyard.base.problem import SteelyardError
from steelyard.base.words import did_you_mean
from steelyard.data.items import Items, classes_of, view
from steelyard.data.pairs import meet
from steelyard.engines.certainty import NoAnswer
from steelyard.engines.one import Answer, How, measure, readable
from steelyard.engines.score import mcnemar_each, tango_each
from steelyard.engines.two import compare
from steelyard.metrics.catalogue import find
from steelyard.metrics.metric import Metric
from steelyard.metrics.whole import midranks

CORRECTIONS = ("holm", "bh", "bonferroni", "none")


def adjust(p_values: Sequence[float] | FloatArray, correction: str = "holm") -> FloatArray:
    """p-values of many questions, corrected. Reference: Holm1979; BenjaminiHochberg1995.

    >>> adjust([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, float)
    if correction not in CORRECTIONS:
        raise SteelyardError(f"There is no correction {correction!r}.", hint=did_you_mean(correction, CORRECTIONS))
    if not ((p >= 0) & (p <= 1)).all():
        raise SteelyardError("p-values must be numbers from 0 to 1.")
    m, order, out = len(p), np.argsort(p, kind="stable"), np.empty(len(p))
    if correction in ("none", "bonferroni"):
        return np.asarray(np.minimum(1.0, p * (m if correction == "bonferroni" else 1)))
    if correction == "holm":
        stepped = np.maximum.accumulate((m - np.arange(m)) * p[order])
    else:
        stepped = np.minimum.accumulate((m * p[order] / np.arange(1, m + 1))[::-1])[::-1]
    out[order] = np.minimum(1.0, stepped)
    return out


@dataclass(frozen=True, kw_only=True)
class Board:
    """All systems, the best first: their own answers and tiers; and every pair (i, j) of them: j minus i, its ends and p's."""

    names: list[str]
    answers: list[Answer]
    tiers: list[int]
    pairs: list[tuple[int, int]]
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    correction: str


def rank(metric: Any, runs: Mapping[str, Items], how: How | None = None, *, correction: str = "holm", level: float = 0.95) -> Board:
    """Systems in the order of a metric, on the same items; a tier ends where a system is worse than its first, corrected.

    >>> runs = {name: Items.of(score=[1.0] * k + [0.0] * (40 - k)) for name, k in (("a", 30), ("b", 12))}
    >>> board = rank("accuracy", runs)
    >>> board.names, board.tiers
    (['a', 'b'], [1, 2])
    """
    how = how or How()
    asked = find(metric, how.absent)
    if len(runs) < 2:
        raise SteelyardError("A ranking needs two systems or more.")
    answers = {name: measure(asked, items, how)[0] for name, items in runs.items()}
    for name, answer in answers.items():
        if answer.estimate is None:
            raise SteelyardError(f"{name}: {answer.why}.")
    names = sorted(runs, key=lambda name: (-answers[name].estimate if asked.up else answers[name].estimate, name))  # type: ignore[operator]
    every = list(combinations(range(len(names)), 2))
    found = _board(asked, [runs[name] for name in names], how, level) or _pair_by_pair(asked, [runs[name] for name in names], how, level)
    adjusted = adjust(found.p_value, correction)
    differ = dict(zip(every, adjusted <= 1 - level, strict=True))
    tiers, leader = [1], 0
    for system in range(1, len(names)):
        beyond = differ[leader, system]
        leader = system if beyond else leader
        tiers.append(tiers[-1] + int(beyond))
    facts = {"pairs": every, "p_adjusted": adjusted, "correction": correction, **found._asdict()}
    return Board(names=names, answers=[answers[name] for name in names], tiers=tiers, **facts)


class Pairs(NamedTuple):
    """Every pair of a board, in the order of its systems."""

    difference: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray


def _pair_by_pair(metric: Metric, runs: list[Items], how: How, level: float) -> Pairs:
    rows = []
    for one, two in combinations(runs, 2):
        (found, *_) = compare(metric, one, two, how)
        if found.certainty is None:
            raise NoAnswer(found.why)
        rows.append((found.estimate, *found.certainty.ends(level), found.certainty.p()))
    return Pairs(*np.array(rows, float).T)


def _board(metric: Metric, runs: list[Items], how: How, level: float) -> Pairs | None:
    """All pairs at once, where every item is one right or wrong; None where it is not, or something was asked for by name."""
    plain = all(run.count is None and not {"group", "weight", "repeat", "stratum"} & set(run.columns) for run in runs)
    if not plain or how != How(positive=how.positive) or not (metric.scored or metric.reads == ("score",)) or metric.law == "whole":
        return None
    table = _aligned(metric, runs)
    if not np.isin(table, (0, 1)).all():
        return None
    n = table.shape[1]
    first, second = np.array(list(combinations(range(len(runs)), 2))).T
    both = table @ table.T
    lost, gained = (both[i, i] - both[first, second] for i in (first, second))
    low, high = tango_each(gained, lost, n, (1 - level) / 2)
    p = mcnemar_each(gained, lost)
    low, high = np.where((p > 1 - level) & (low > 0), 0.0, low), np.where((p > 1 - level) & (high < 0), 0.0, high)
    low = np.where((p <= 1 - level) & (gained > lost) & (low <= 0), np.nextafter(0.0, 1.0), low)
    high = np.where((p <= 1 - level) & (gained < lost) & (high >= 0), np.nextafter(0.0, -1.0), high)
    return Pairs((gained - lost) / n, low, high, p)


def _aligned(metric: Metric, runs: list[Items]) -> FloatArray:
    """One number for each system and item, in the order of the ids."""
    rows = []
    for run in runs:
        own, items = readable(metric, meet(runs[0], run).two)
        classes = classes_of([items]) if own.needs_classes and "score" not in own.reads else None
        rows.append(np.asarray(own.adds(view(items, own.reads, classes)))[:, 1])
    return np.stack(rows)


# ---- does any of them differ? ------------------------------------------------------------------------------------------------------


def cochran_q(right_or_wrong: FloatArray) -> tuple[float, int, float]:
    """Cochran's Q of systems by items, its degrees of freedom and p. Reference: Cochran1950."""
    x = np.asarray(right_or_wrong, float)
    k, columns, total = len(x), x.sum(1), float(x.sum())
    below = k * total - float((x.sum(0) ** 2).sum())
    if below == 0:
        return 0.0, k - 1, 1.0
    q = (k - 1) * (k * float(columns @ columns) - total * total) / below
    return q, k - 1, float(chdtrc(k - 1, q))


class Friedman(NamedTuple):
    """Friedman's chi2 and the F of Iman and Davenport (None: infinite), with their p's; the mean rank of every system, 1 the best."""

    chi2: float
    p_chi2: float
    f: float | None
    p_f: float
    mean_ranks: list[float]


def friedman(scores: FloatArray, up: bool = True) -> Friedman:
    """Whether systems differ over data sets, by ranks: rows are data sets. Reference: Demsar2006."""
    scores = np.asarray(scores, float)
    n, k = scores.shape
    if n < 2 or k < 2:
        raise SteelyardError(f"Ranks need at least two data sets and two systems; there are {n} and {k}.")
    ranks = np.array([midranks(-row if up else row) for row in scores])
    totals = ranks.sum(0)
    ties = sum(float(c**3 - c) for row in scores for c in np.unique(row, return_counts=True)[1])
    room = 1 - ties / (n * k * (k * k - 1))
    means = (totals / n).tolist()
    if room <= 0:  # every data set ties all systems
        return Friedman(0.0, 1.0, 0.0, 1.0, means)
    chi2 = (12 / (n * k * (k + 1)) * float(totals @ totals) - 3 * n * (k + 1)) / room
    left = n * (k - 1) - chi2
    f = None if left <= 1e-12 else (n - 1) * chi2 / left
    # rankings that agree fully: F is infinite, but the exact chance of that is never 0
    p_f = math.exp(-(n - 1) * math.lgamma(k + 1)) if f is None else float(fdtrc(k - 1, (k - 1) * (n - 1), f))
    return Friedman(chi2, float(chdtrc(k - 1, chi2)), f, p_f, means)


def nemenyi(k: int, datasets: int, alpha: float = 0.05) -> float:
    """The critical difference of mean ranks of k systems. Reference: Demsar2006."""
    z = np.arange(-1800, 1801) * 0.005  # the integrand vanishes at both ends, so a plain sum is the trapezoid rule
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    low, high = 0.0, 20.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        below = float(k * (density * (ndtr(z) - ndtr(z - middle)) ** (k - 1)).sum() * 0.005)
        low, high = (middle, high) if below < 1 - alpha else (low, middle)
    return low / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * datasets))
