"""What the empirical-likelihood rule will cost and decide, for differences with few values: many runs at once, by simulation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.infer.sequential.el_sprt import EmpiricalLikelihoodSprt
from steelyard.infer.sequential.empirical_likelihood import INSIDE
from steelyard.infer.sequential.sequential_mcnemar import PRIOR_DISAGREEMENTS, PRIOR_ITEMS
from steelyard.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
Law = tuple[tuple[float, float], ...]  # (value, probability)
NEWTON, CLOSE = 60, 1e-9  # steps at most, and nats that a further one could gain
SHARE = 0.999  # of the runs that have ended by the number of items that is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Mean items with their Monte Carlo error, the share of runs that alarm, and the items by which 999 of 1,000 have ended."""

    items: float
    items_error: float
    regression: float
    at_most: int


@lru_cache(maxsize=64)
def expected_ends(
    theta: float, law: Law, alpha: float = 0.05, beta: float = 0.2, *, batch: int = 32, runs: int = 600, seed: int = 0
) -> Ends:
    """Mean items and alarms of the empirical-likelihood rule where differences in [-1, 1] follow this law of a few values.

    Formula: counts of the values are drawn batch by batch for all runs at once; bounds and Lambda are those of the rule.
    Undefined: probabilities that do not add up to 1. Reference: Owen1988; Wald1947.

    >>> found = expected_ends(0.1, ((-1.0, 0.02), (0.0, 0.96), (1.0, 0.02)))
    >>> found.items < 80, found.regression <= 0.05
    (True, True)
    """
    values, shares = np.array(law).T
    if not math.isclose(shares.sum(), 1.0, abs_tol=1e-9) or np.any(shares < -1e-12) or batch < 1:
        raise UsageError("cannot foresee the items", got=f"probabilities {shares.tolist()}, batch {batch}", need="a law, a batch from 1")
    rule = EmpiricalLikelihoodSprt(theta=theta, alpha=alpha, beta=beta, step=batch, score_range=(0.0, 1.0))
    rng = np.random.Generator(np.random.PCG64(seed))
    shares = np.maximum(shares, 0.0) / np.maximum(shares, 0.0).sum()
    counts = np.zeros((runs, len(values)))
    live, items, alarms, n = np.arange(runs), np.zeros(runs), 0, 0
    while len(live):
        n += batch
        counts[live] += rng.multinomial(batch, shares, len(live))
        squares = counts[live] @ (values * values)
        bounds = np.array([rule.bounds(n, s) for s in squares])
        ratio = evidence_rows(values, counts[live], theta) - evidence_rows(values, counts[live], 0.0)
        full = n * (n + PRIOR_ITEMS) / (squares + PRIOR_DISAGREEMENTS) >= rule.information
        passed = (ratio >= bounds[:, 0]) | (full & (ratio > rule.middle))
        alarmed = ~passed & ((ratio <= -bounds[:, 1]) | full)
        alarms += int(alarmed.sum())
        items[live[passed | alarmed]] = n
        live = live[~(passed | alarmed)]
    return Ends(
        items=float(items.mean()),
        items_error=float(items.std(ddof=1)) / math.sqrt(runs),
        regression=alarms / runs,
        at_most=int(np.sort(items)[math.ceil(SHARE * runs) - 1]),
    )


def evidence_rows(values: FloatArray, counts: FloatArray, drop: float, low: float = -1.0, high: float = 1.0) -> FloatArray:
    """`evidence_against` for many rows of counts of the same values at once.

    Reference: Owen1988.

    >>> evidence_rows(np.array([0.0]), np.array([[96.0], [10.0]]), 0.02).round(6).tolist()
    [1.93946, 0.202027]
    """
    away = values + drop
    slope = counts @ away
    side = np.where(slope >= 0, 1.0, -1.0)
    near, far = np.zeros(len(counts)), np.where(slope >= 0, 1 / (-low - drop), -1 / (high + drop)) * (1 - INSIDE)
    outward = side * (counts * (away / (1 + far[:, None] * away))).sum(axis=1) >= 0
    at = np.where(outward, far, far / 2)
    for _ in range(NEWTON):
        ratio = away / (1 + at[:, None] * away)
        slope = (counts * ratio).sum(axis=1)
        curvature = np.maximum((counts * ratio * ratio).sum(axis=1), 1e-300)
        going = ~outward & (slope * slope > CLOSE * curvature)
        if not going.any():
            break
        ahead = side * slope > 0
        near, far = np.where(ahead, at, near), np.where(ahead, far, at)
        new = at + slope / curvature
        inside = (side * new > side * near) & (side * new < side * far)
        at = np.where(going, np.where(inside, new, (near + far) / 2), at)
    found: FloatArray = (counts * np.log1p(at[:, None] * away)).sum(axis=1)
    return found


def averaged_law(theta: float, discordance: float, within: float, answers: int, accuracy: float) -> Law:
    """The law of one answer minus the mean of `answers` on record, when right answers are lost so that accuracy falls by theta.

    Items answer right with chances of a Beta law, whose variance within an item is within^2; the rest of the discordance are
    items that changed for good, as many lost as gained. Reference: Miller2024 for the averaging.

    >>> law = averaged_law(0.0, 0.05, 0.15, 4, 0.75)
    >>> round(sum(x * p for x, p in law), 12), round(sum(x * x * p for x, p in law), 6)
    (0.0, 0.033125)
    """
    from scipy.special import betaln, comb

    changed = max(0.0, discordance - 2 * within * within)
    mixed = within * within / ((1 - changed) * accuracy * (1 - accuracy))
    if not 0 < mixed < 1:
        raise UsageError(
            f"within {within:g} is too large at an accuracy of {accuracy:g}; it must be below {math.sqrt(accuracy * (1 - accuracy)):.4g}.",
            got=f"within {within:g} at an accuracy of {accuracy:g}",
            need=f"below {math.sqrt(accuracy * (1 - accuracy)):.4g}",
        )
    size = mixed / (1 - mixed)
    a, b = accuracy * size, (1 - accuracy) * size
    gone = theta / accuracy / (1 - changed)
    law: dict[float, float] = {-1.0: changed / 2, 1.0: changed / 2}
    for m in range(answers + 1):
        for right in (0, 1):
            p = (1 - changed) * float(comb(answers, m)) * math.exp(betaln(a + m + right, b + answers - m + 1 - right) - betaln(a, b))
            lost = p * gone if right else 0.0
            for x, share in ((right - m / answers, p - lost), (-m / answers, lost)):
                law[round(x, 12)] = law.get(round(x, 12), 0.0) + share
    return tuple(sorted((x, p) for x, p in law.items() if p > 0))


def adjusted_law(theta: float, discordance: float, accuracy: float) -> Law:
    """The law of y - s f - (1 - s) accuracy, f the one answer on record and s the slope of one run on another.

    Reference: Deng2013.

    >>> law = adjusted_law(0.0, 0.1, 0.75)
    >>> round(abs(sum(x * p for x, p in law)), 12), round(sum(x * x * p for x, p in law), 6)
    (0.0, 0.086667)
    """
    slope, half, kept = 1 - discordance / (2 * accuracy * (1 - accuracy)), discordance / 2, theta / accuracy
    pairs = {(1, 1): accuracy - half, (0, 1): half, (1, 0): half, (0, 0): 1 - accuracy - half}
    law: dict[float, float] = {}
    for (right, before), p in pairs.items():
        for now, share in ((right, p * (1 - kept * right)), (0, p * kept * right)):
            x = round(now - slope * before - (1 - slope) * accuracy, 12)
            law[x] = law.get(x, 0.0) + share
    return tuple(sorted((x, p) for x, p in law.items() if p > 0))
