"""Many tests at once, many systems at once: corrections, Cochran's Q, Friedman, Nemenyi, Fisher, tiers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.metrics.ranking import midranks
from steelyard_old.options.option import unknown_word

FloatArray = npt.NDArray[np.float64]
CORRECTIONS = ("holm", "bh", "bonferroni", "none")


def adjust(p_values: Sequence[float], method: str = "holm") -> list[float]:
    """Adjusted p-values in the order given.

    Formula, with p_(1) <= ... <= p_(m): holm max over j <= i of (m - j + 1) p_(j); bh min over j >= i of m p_(j) / j;
    bonferroni m p. All capped at 1. Holm and Bonferroni bound the chance of any false alarm under any dependence; bh
    bounds the expected share of false ones, for independent or positively dependent tests.
    Reference: Holm1979; BenjaminiHochberg1995.

    >>> [round(p, 3) for p in adjust([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    if method not in CORRECTIONS:
        raise unknown_word("correction", method, tuple(CORRECTIONS))
    p = np.asarray(p_values, float)
    m = len(p)
    if not np.all((p >= 0) & (p <= 1)):  # also catches NaN
        raise UsageError(
            f"p-values must be numbers from 0 to 1, not {list(p_values)!r}.", got=repr(list(p_values)), need="numbers from 0 to 1"
        )
    if method == "none" or m == 0:
        return [float(x) for x in p]
    if method == "bonferroni":
        return [float(x) for x in np.minimum(1, m * p)]
    order = np.argsort(p, kind="stable")
    if method == "holm":
        stepped = np.maximum.accumulate((m - np.arange(m)) * p[order])
    else:
        stepped = np.minimum.accumulate((m * p[order] / np.arange(1, m + 1))[::-1])[::-1]
    out = np.empty(m)
    out[order] = np.minimum(1, stepped)
    return [float(x) for x in out]


def cochran_q(patterns: Mapping[tuple[int, ...], int]) -> tuple[float, int, float]:
    """Cochran's Q for k systems right or wrong on the same items: (Q, k - 1, p).

    patterns counts the items by who is right, such as {(1, 0, 1): 12}. Formula: Q = (k-1) (k sum C_j^2 - T^2) /
    (k T - sum R_i^2), C_j right answers of system j, R_i systems right on item i, T all right answers.
    All systems equal on every item: Q = 0, p = 1. Reference: Cochran1950.

    >>> q, df, p = cochran_q({(1, 1, 0): 6, (1, 0, 0): 3, (0, 0, 1): 1, (1, 1, 1): 20})
    >>> round(q, 4), df, round(p, 4)
    (9.8, 2, 0.0074)
    """
    from scipy.special import chdtrc

    if not patterns:
        raise UsageError("Cochran's Q needs at least one item.", got="no items", need="at least one")
    k = len(next(iter(patterns)))
    columns = [sum(c for pattern, c in patterns.items() if pattern[j]) for j in range(k)]
    total = sum(columns)
    rows = sum(c * sum(pattern) ** 2 for pattern, c in patterns.items())
    below = k * total - rows
    if below == 0:
        return 0.0, k - 1, 1.0
    q = (k - 1) * (k * sum(c * c for c in columns) - total * total) / below
    return q, k - 1, float(chdtrc(k - 1, q))


def friedman(scores: FloatArray, higher_is_better: bool = True) -> dict[str, object]:
    """Friedman's test over datasets with the tie correction, and Iman and Davenport's F.

    scores has one row per dataset, one column per system. Formula: chi2 = [12/(N k (k+1)) sum R_j^2 - 3 N (k+1)] / C with
    C = 1 - sum (t^3 - t) / (N k (k^2 - 1)); F = (N-1) chi2 / (N (k-1) - chi2), on k-1 and (k-1)(N-1) degrees.
    Reference: Friedman1937; ImanDavenport1980; Demsar2006.

    >>> out = friedman(np.array([[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.9, 0.6, 0.7], [0.7, 0.6, 0.5]]))
    >>> round(out["chi2"], 2), [round(r, 2) for r in out["mean_ranks"]]
    (6.5, [1.0, 2.25, 2.75])
    """
    from scipy.special import chdtrc, fdtrc

    n, k = scores.shape
    if n < 2 or k < 2:
        raise UsageError(
            f"Ranks need at least two datasets and two systems; got {n} and {k}.",
            got=f"{n} dataset(s) and {k} system(s)",
            need="at least two of each",
        )
    ranks = np.array([midranks(-row if higher_is_better else row) for row in scores])
    ties = sum(float(c**3 - c) for row in scores for c in np.unique(row, return_counts=True)[1])
    correction = 1 - ties / (n * k * (k * k - 1))
    totals = ranks.sum(0)
    if correction <= 0:  # every dataset ties all systems
        return {"chi2": 0.0, "p_chi2": 1.0, "f": 0.0, "p_f": 1.0, "mean_ranks": [float(r) for r in totals / n], "datasets": n}
    chi2 = (12 / (n * k * (k + 1)) * float(totals @ totals) - 3 * n * (k + 1)) / correction
    room = n * (k - 1) - chi2
    f = math.inf if room <= 1e-12 else (n - 1) * chi2 / room
    # Rankings that agree fully: F is infinite, but the exact chance of that is (k!)^-(N-1), never 0.
    p_f = math.exp(-(n - 1) * math.lgamma(k + 1)) if math.isinf(f) else float(fdtrc(k - 1, (k - 1) * (n - 1), f))
    return {
        "chi2": chi2,
        "p_chi2": float(chdtrc(k - 1, chi2)),
        "f": None if math.isinf(f) else f,
        "p_f": p_f,
        "mean_ranks": [float(r) for r in totals / n],
        "datasets": n,
    }


def studentized_range_quantile(k: int, level: float) -> float:
    """The quantile of the range of k standard normals (infinitely many degrees of freedom).

    Formula: P(range <= q) = k integral phi(z) (Phi(z) - Phi(z - q))^(k-1) dz. Reference: Tukey1953.

    >>> round(studentized_range_quantile(4, 0.95) / math.sqrt(2), 3)
    2.569
    """
    from scipy.special import ndtr

    step = 0.005
    z = np.arange(-1800, 1801) * step  # the integrand vanishes at both ends, so a plain sum is the trapezoid rule
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    def below(q: float) -> float:
        return float(k * (density * (ndtr(z) - ndtr(z - q)) ** (k - 1)).sum() * step)

    low, high = 0.0, 20.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < level else (low, middle)
    return (low + high) / 2


def nemenyi_critical_difference(k: int, datasets: int, alpha: float = 0.05) -> float:
    """How far two mean ranks must lie apart: q / sqrt(2) x sqrt(k (k+1) / (6 N)). Reference: Nemenyi1963; Demsar2006.

    >>> round(nemenyi_critical_difference(4, 14), 4)
    1.2536
    """
    return studentized_range_quantile(k, 1 - alpha) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * datasets))


def fisher_combined(p_values: Sequence[float]) -> tuple[float, float]:
    """Fisher's combination of independent one-sided p-values: (-2 sum log p, its p). Reference: Fisher1932.

    >>> [round(x, 4) for x in fisher_combined([0.1, 0.05, 0.2])]
    [13.8155, 0.0318]
    """
    from scipy.special import chdtrc

    if not p_values:
        raise UsageError("No p-values to combine.", need="at least one")
    statistic = -2 * sum(math.log(max(p, 1e-300)) for p in p_values)
    return statistic, float(chdtrc(2 * len(p_values), statistic))


def tiers(count: int, differ: Callable[[int, int], bool]) -> list[int]:
    """Tiers of systems sorted from best to worst: a new one starts where a system differs from the best of the last.

    Reference: Demsar2006, whose diagram joins what does not differ.

    >>> tiers(4, lambda i, j: j - i >= 2)
    [1, 1, 2, 2]
    """
    out: list[int] = []
    leader = 0
    for system in range(count):
        if system and differ(leader, system):
            leader = system
        out.append(1 if not out else out[-1] + (leader == system))
    return out
