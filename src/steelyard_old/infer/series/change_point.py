"""Has the level of a series of runs changed, and when? E-processes that may be looked at every night, and a scan for one look.

Values are turned so that up is good. Nothing is assumed known: neither the level nor the deviation of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.series.drift import Start
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
LEAST = 2  # runs on either side of a change
BLOCK = 2_000_000  # numbers that are permuted at once


def t_e_value(gap: float, squares: float, before: int, after: int, tau: float = 1.0) -> float:
    """Evidence that the runs after are lower than the runs before, of unknown level and deviation: a one-sided t-test as an e-value.

    `gap` is mean after minus mean before, `squares` the sum of squares of all runs about their common mean.
    Formula: with n = before x after / (before + after), N = before + after, a = gap sqrt(n / squares), g = n tau^2, q = g / (1 + g),
    E = 2 (1 + g)^(-1/2) (1 - a^2 q)^(-(N-1)/2) F_{N-1}(-a sqrt(q (N-1) / (1 - a^2 q))), F the law of Student: the right-Haar
    Bayes factor with a half-normal prior of scale tau on the fall in deviations. It starts at 1, and as runs come in it reaches
    1/alpha with probability alpha at most, whenever one looks. Assumes: independent normal runs of one deviation.
    Undefined: all runs equal. Reference: HendriksenDeHeideGrunwald2021 for optional stopping; Lai1976; Ville1939.

    >>> round(t_e_value(-0.02, 0.0024, 5, 10), 2), round(t_e_value(0.02, 0.0024, 5, 10), 3)
    (47.43, 0.143)
    """
    from scipy.special import stdtr

    if before < 1 or after < 1:
        return 1.0
    if not squares > 0:
        raise DataError("The runs are all equal, so there is nothing to compare.", got="runs that are all equal", need="runs that vary")
    n, total = before * after / (before + after), before + after
    a = max(-1.0, min(1.0, gap * math.sqrt(n / squares)))
    q = n * tau * tau / (1 + n * tau * tau)
    rest = 1 - a * a * q
    t = -a * math.sqrt(q * (total - 1) / rest)
    below = float(stdtr(total - 1, t))
    if below == 0:  # far better than before: less evidence than a double can hold
        return 0.0
    logged = math.log(2) + 0.5 * math.log1p(-q) - 0.5 * (total - 1) * math.log(rest) + math.log(below)
    return math.exp(min(logged, 700.0))


def e_process_first(values: Sequence[float], start: Start, tau: float = 1.0) -> list[float]:
    """The evidence, run by run, that the series lies below the first reference: its runs before, all of the series after.

    The reference's own luck is counted: its `runs` are runs like the others, not the truth. 1 until the runs vary.
    Reference: HendriksenDeHeideGrunwald2021.

    >>> [round(e, 2) for e in e_process_first([0.79, 0.78, 0.78, 0.77], Start(runs=3, mean=0.81, deviation=0.01))]
    [1.91, 3.53, 6.21, 9.56]
    """
    if start.runs < 1:
        raise DataError("There is no run of the first reference to compare with.", got="no reference", need="one run of it or more")
    out, mean, squares = [], 0.0, 0.0
    for t, x in enumerate(values, 1):
        step = x - mean
        mean += step / t
        squares += step * (x - mean)
        out.append(_split(start, mean, squares, t, tau))
    return out


def _split(start: Start, mean: float, squares: float, after: int, tau: float) -> float:
    gap = mean - start.mean
    whole = start.squares + squares + gap * gap * start.runs * after / (start.runs + after)
    return t_e_value(gap, whole, start.runs, after, tau) if _varies(whole, mean) else 1.0


def _varies(squares: float, mean: float) -> bool:
    """Whether the squares are more than the rounding of numbers of this size."""
    return squares > (1e-12 * max(1.0, abs(mean))) ** 2


def e_process_pooled(values: Sequence[float], start: Start | None = None, tau: float = 1.0) -> list[float]:
    """The evidence, run by run, that the level fell at some run: all runs before it pooled as the reference, all since after it.

    Formula: sum over s <= t of E_s(t) / (s (s + 1)) + 1 / (t + 1), E_s the e-value of a fall just before run s; the weights add up to
    1, so that the sum is an e-process as its parts are. Without a reference the first run can be no fall. Assumes and
    undefined: as for `t_e_value`; 1 until the runs vary. Reference: HendriksenDeHeideGrunwald2021; ShinRamdasRinaldo2024 for detectors.

    >>> [round(e, 2) for e in e_process_pooled([0.81, 0.80, 0.82, 0.81, 0.77, 0.76, 0.77, 0.76])]
    [1.0, 1.07, 0.92, 0.9, 1.09, 1.37, 1.79, 2.63]
    """
    start = start or Start()
    x = np.asarray(values, float)
    middle = float(np.median(x)) if len(x) else 0.0  # squares about a middle value lose no digits
    sums, squares = np.concatenate([[0.0], np.cumsum(x - middle)]), np.concatenate([[0.0], np.cumsum((x - middle) ** 2)])
    level = start.mean - middle if start.runs else 0.0
    out = []
    for t in range(1, len(x) + 1):
        everything = start.squares + start.runs * level**2 + squares[t]
        count = start.runs + t
        whole = everything - (start.runs * level + sums[t]) ** 2 / count
        if not _varies(float(whole), middle):
            out.append(1.0)
            continue
        s = np.arange(1.0, t + 1)
        i = np.arange(t)
        before, after = start.runs + s - 1, t - s + 1
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = (sums[t] - sums[i]) / after - np.where(before > 0, (start.runs * level + sums[i]) / np.maximum(before, 1), 0.0)
        evidence = _t_e_values(gap, float(whole), before, after, tau)
        out.append(float(min(np.sum(evidence / (s * (s + 1.0))) + 1 / (t + 1), 1e300)))
    return out


def _t_e_values(gap: FloatArray, squares: float, before: FloatArray, after: FloatArray, tau: float) -> FloatArray:
    """`t_e_value` for many splits of the same runs at once."""
    from scipy.special import stdtr

    total = float(before[0] + after[0])
    n = before * after / total
    a = np.clip(gap * np.sqrt(n / squares), -1.0, 1.0)
    q = n * tau * tau / (1 + n * tau * tau)
    rest = 1 - a * a * q
    below = stdtr(total - 1, -a * np.sqrt(q * (total - 1) / rest))
    with np.errstate(divide="ignore"):
        logged = math.log(2) + 0.5 * np.log1p(-q) - 0.5 * (total - 1) * np.log(rest) + np.log(below)
    return np.where(before > 0, np.exp(np.minimum(logged, 690.0)), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """The likeliest moment of one change: `at` runs lie before it. `share` of all squares is explained by it."""

    at: int
    before: float
    after: float
    share: float
    p_value: float
    draws: int
    method: str


def change_point(values: Sequence[float], draws: int = 9_999, seed: int = 0) -> ChangePoint:
    """Where one change of the level, up or down, explains the series best, and how often chance alone explains as much.

    Formula: share(s) = s (n - s) / n x (mean after - mean before)^2 / SS, the likelihood ratio of a change after run s in other words;
    the largest over 2 <= s <= n - 2. p = (1 + permutations that reach it) / (1 + draws), or the exact share of all orders where
    they are no more than the draws. Assumes: runs that could have come in any order if nothing changed. For one look, not for one
    every night. Undefined: fewer than four runs, or runs that are all equal. Reference: Hinkley1970; Dwass1957; PhipsonSmyth2010.

    >>> found = change_point([0.81, 0.80, 0.82, 0.81, 0.80, 0.77, 0.76, 0.77, 0.76])
    >>> found.at, round(found.after - found.before, 3), round(found.p_value, 2)
    (5, -0.043, 0.02)
    """
    x = np.asarray(values, float)
    if len(x) < 2 * LEAST:
        raise DataError(f"A change point needs {2 * LEAST} or more runs, got {len(x)}.", got=f"{len(x)} runs", need=f"{2 * LEAST} or more")
    if draws < 1:
        raise UsageError(f"draws must be at least 1, not {draws}.", got=f"{draws} draws", need="one or more")
    x = x - np.median(x)
    whole = float(np.sum((x - x.mean()) ** 2))
    if not _varies(whole, float(np.median(values))):
        raise DataError("The runs are all equal, so there is no change to find.", got="runs that are all equal", need="runs that vary")
    shares = _shares(x[None, :], whole)[0]
    best = int(np.argmax(shares))
    at, bar = best + LEAST, float(shares[best]) * (1 - 1e-9)  # ties count as reached
    if math.factorial(min(len(x), 12)) <= draws:
        from itertools import permutations

        reached = _shares(np.array(list(permutations(x))), whole).max(axis=1) >= bar
        p, used, method = float(reached.mean()), len(reached), "every order"
    else:
        p, used, method = (1 + _reached(x, whole, bar, draws, seed)) / (1 + draws), draws, "permutation"
    moved = np.asarray(values, float)
    return ChangePoint(
        at=at,
        before=float(moved[:at].mean()),
        after=float(moved[at:].mean()),
        share=float(shares[best]),
        p_value=p,
        draws=used,
        method=method,
    )


def _shares(rows: FloatArray, whole: float) -> FloatArray:
    """For each row and each moment that leaves enough runs on both sides, the share of the squares that a change there explains."""
    n = rows.shape[1]
    s = np.arange(LEAST, n - LEAST + 1)
    sums = np.cumsum(rows, axis=1)
    below, all_ = sums[:, s - 1], sums[:, -1:]
    gap = (all_ - below) / (n - s) - below / s
    return np.asarray(s * (n - s) / n * gap**2 / whole)


def _reached(x: FloatArray, whole: float, bar: float, draws: int, seed: int) -> int:
    rng = np.random.Generator(np.random.PCG64(seed))
    found, left = 0, draws
    while left:
        rows = min(left, max(1, BLOCK // len(x)))
        shuffled = rng.permuted(np.broadcast_to(x, (rows, len(x))), axis=1)
        found += int((_shares(shuffled, whole).max(axis=1) >= bar).sum())
        left -= rows
    return found
