"""What the empirical-likelihood rule will cost and decide, for differences with few values: many runs at once, by simulation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.sequential.el_sprt import PASS_EXTRA, SETTLED, EmpiricalLikelihoodSprt
from steelyard_old.infer.sequential.empirical_likelihood import INSIDE
from steelyard_old.infer.sequential.profile_mcnemar import FEW, MOST_OVERSHOOT, OVERSHOOT, level_needed
from steelyard_old.infer.sequential.sequential_cost import SHARES, OperatingCharacteristics
from steelyard_old.infer.sequential.sequential_mcnemar import PRIOR_DISAGREEMENTS, PRIOR_ITEMS

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Law = tuple[tuple[float, float], ...]  # (value, probability)
NEWTON, CLOSE = 60, 1e-9  # steps at most, and nats that a further one could gain


@lru_cache(maxsize=256)
def expected_ends(
    theta: float,
    law: Law,
    alpha: float = 0.05,
    beta: float = 0.2,
    *,
    margin: float = 0.0,
    batch: int = 32,
    ends: tuple[float, float] = (-1.0, 1.0),
    available: int | None = None,
    reach: float = 1.0,
    runs: int = 1000,
    seed: int = 0,
) -> OperatingCharacteristics:
    """Mean items and decisions of the empirical-likelihood rule where differences in `ends` follow this law of a few values.

    Formula: counts of the values are drawn batch by batch for all runs at once; bounds and Lambda are those of the rule. Of
    `available` items each can be asked with probability `reach`: a run that has asked all it can is exhausted. Undefined:
    probabilities that do not add up to 1. Reference: Owen1988; Wald1947.

    >>> found = expected_ends(0.1, ((-1.0, 0.02), (0.0, 0.96), (1.0, 0.02)))
    >>> found.items < 80, found.regression <= 0.05
    (True, True)
    """
    values, shares = np.array(law).T
    if not math.isclose(shares.sum(), 1.0, abs_tol=1e-9) or np.any(shares < -1e-12) or batch < 1 or runs < 2:
        raise UsageError(
            f"The probabilities must add up to 1, batch must be at least 1 and runs at least 2; got {shares.tolist()}, {batch} and {runs}.",
            got=f"probabilities {shares.tolist()}, batch {batch}",
            need="a law, a batch from 1",
        )
    if (available is not None and available < 1) or not 0 < reach <= 1:
        raise UsageError(
            f"`available` must be at least 1 and `reach` above 0 and at most 1; got {available!r} and {reach!r}.",
            got=f"available {available!r}, reach {reach!r}",
            need="items, and a share of them",
        )
    rule = EmpiricalLikelihoodSprt(theta=theta, margin=margin, alpha=alpha, beta=beta, step=batch, score_range=(0.0, 1.0), ends=ends)
    rng = np.random.Generator(np.random.PCG64(seed))
    shares = np.maximum(shares, 0.0) / np.maximum(shares, 0.0).sum()
    most = None if available is None else np.maximum(rng.binomial(available, reach, runs), 1)
    counts, items = np.zeros((runs, len(values))), np.zeros(runs, np.int64)
    decided = np.zeros((runs, 3), bool)  # regression, pass, exhausted
    live, starts = np.arange(runs), np.zeros((2, runs))
    while len(live):
        size = np.full(len(live), batch) if most is None else np.minimum(batch, most[live] - items[live])
        items[live] += size
        counts[live] += rng.multinomial(size, shares)
        seen, n = counts[live], items[live]
        squares = seen @ (values + margin) ** 2
        lower, upper = bounds_rows(rule, n, squares)
        against = [evidence_rows(values, seen, drop, *ends, starts[i, live]) for i, drop in enumerate((theta, margin))]
        starts[:, live] = [at for _, at in against]
        ratio = against[0][0] - against[1][0]
        full = n * (n + PRIOR_ITEMS) / (squares + PRIOR_DISAGREEMENTS) >= rule.information
        passed = (ratio >= lower) | ((ratio > -upper) & full & (ratio > rule.middle))
        alarmed = ~passed & ((ratio <= -upper) | full)
        over = ~(passed | alarmed) & (False if most is None else n == most[live])
        decided[live] = np.column_stack([alarmed, passed, over])
        live = live[~(alarmed | passed | over)]
    return operating(items, decided)


def operating(items: IntArray, decided: npt.NDArray[np.bool_]) -> OperatingCharacteristics:
    """Runs that have ended, counted."""
    runs = len(items)
    regression, passed, exhausted = decided.mean(axis=0).tolist()
    items_90, at_most = (int(np.sort(items)[math.ceil(share * runs) - 1]) for share in SHARES)
    return OperatingCharacteristics(
        items=float(items.mean()),
        items_error=float(items.std(ddof=1)) / math.sqrt(runs),
        regression=regression,
        regression_error=math.sqrt(regression * (1 - regression) / runs),
        passed=passed,
        exhausted=exhausted,
        items_90=items_90,
        at_most=at_most,
        paths=runs,
    )


def bounds_rows(rule: EmpiricalLikelihoodSprt, n: IntArray, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`EmpiricalLikelihoodSprt.bounds` of many runs at once, of scores 1 wide; a test holds the two against each other."""
    m = squares / rule.ends[1] ** 2
    lower = level_needed(rule.alpha, rule.beta) + PASS_EXTRA + FEW / (1 + m)
    rates = np.maximum((squares + PRIOR_DISAGREEMENTS) / (n + PRIOR_ITEMS), rule.theta - rule.margin)
    cut = OVERSHOOT * (rule.theta - rule.margin) * np.sqrt((rule.step - 1) / rates)
    upper = rule.alarm - np.minimum(cut, MOST_OVERSHOOT * rule.alarm) * m / (m + SETTLED)
    return lower - np.minimum(cut, MOST_OVERSHOOT * lower), upper


def evidence_rows(
    values: FloatArray, counts: FloatArray, drop: float, low: float = -1.0, high: float = 1.0, start: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """`evidence_against` for many rows of counts of the same values at once, and the multipliers where it is reached, to start from.

    Reference: Owen1988.

    >>> evidence_rows(np.array([0.0]), np.array([[96.0], [10.0]]), 0.02)[0].round(6).tolist()
    [1.93946, 0.202027]
    """
    away = values + drop
    up = counts @ away >= 0
    side = np.where(up, 1.0, -1.0)
    near, far = np.zeros(len(counts)), np.where(up, 1 / (-low - drop), -1 / (high + drop)) * (1 - INSIDE)
    outward = side * (counts * (away / (1 + far[:, None] * away))).sum(axis=1) >= 0
    at = far / 2
    if start is not None:
        at = np.where((side * start > 0) & (side * start < side * far), start, at)
    at = np.where(outward, far, at)
    going = np.flatnonzero(~outward)
    for _ in range(NEWTON):
        some = counts[going]
        ratio = away / (1 + at[going, None] * away)
        weighed = some * ratio
        slope = weighed.sum(axis=1)
        curvature = np.maximum((weighed * ratio).sum(axis=1), 1e-300)
        on = slope * slope > CLOSE * curvature
        if not on.any():
            break
        going, slope, curvature = going[on], slope[on], curvature[on]
        ahead = side[going] * slope > 0
        near[going], far[going] = np.where(ahead, at[going], near[going]), np.where(ahead, far[going], at[going])
        new = at[going] + slope / curvature
        inside = (side[going] * new > side[going] * near[going]) & (side[going] * new < side[going] * far[going])
        at[going] = np.where(inside, new, (near[going] + far[going]) / 2)
    found: FloatArray = (counts * np.log1p(at[:, None] * away)).sum(axis=1)
    return found, at
