"""After a stop: estimate, interval and p-value by stage-wise ordering, which know that the run was looked at on its way.

Runs are ordered by how strongly they speak for a regression: stopped above at an early look before a later one, stopped
below at an early look after a later one, at the same look by the statistic. A p-value is the probability of the runs at
least as far up that order; the interval holds the effects that neither end of the order excludes, the estimate is the one
that has as much before it as after it. A fixed-n interval would ignore that a lucky streak ends a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from steelyard_old.infer.normal import wilson
from steelyard_old.infer.posterior.beta import find_root
from steelyard_old.infer.sequential.brownian import Paths
from steelyard_old.infer.sequential.sequential_binomial import LossDistribution
from steelyard_old.late_dataclass import dataclass

NARROWEST = 1e-9  # from the ends of 0..1: a share of losses is searched between them
FARTHEST = 40.0  # standard errors: no drift is searched beyond


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedEstimate:
    """What is known of the difference after a run that could stop: candidate minus reference, per item.

    low..high is two-sided with level 1 - 2 alpha and equal tails, so that low is also the one-sided bound of level 1 - alpha.
    They are None where nothing bounds the difference. p_value tests H0: difference >= -margin.
    """

    estimate: float
    low: float | None
    high: float | None
    confidence_level: float
    p_value: float
    method: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The share of losses among the items that disagree: median-unbiased, with one-sided bounds of level 1 - alpha each."""

    estimate: float
    low: float
    high: float
    p_value: float


def share_after(looks: Sequence[tuple[int, int, int]], lost: int, alpha: float = 0.05) -> Share:
    """The share of losses among disagreements after looks (disagreements, lower, upper) that ended with `lost` losses.

    A look before the last went on because lower < losses < upper. Formula: P_s = sum over earlier looks of P_s(losses >=
    upper) + P_s(the last look is reached, losses >= lost), exact by convolution; p_value = P_1/2; low solves P_s = alpha,
    high P_s(at most as far) = alpha; the estimate counts the observed point half: P_s = 1/2. Assumes: given the course of
    disagreements each is a loss with probability s, which is so for independent items in random order. No disagreement:
    0..1 and 1/2. Reference: Siegmund1978; TsiatisRosnerMehta1984; ClopperPearson1934 for one look.

    >>> one = share_after([(20, -1, 99)], 15)
    >>> round(one.p_value, 6), round(one.low, 4), round(one.high, 4)
    (0.020695, 0.5444, 0.8959)
    """
    if not looks or looks[-1][0] == 0:
        return Share(estimate=0.5, low=0.0, high=1.0, p_value=1.0)

    def beyond(share: float, weight: float) -> float:
        above, at = _farther(looks, lost, share)
        return above + weight * at

    return Share(
        estimate=_solve(lambda s: beyond(s, 0.5) - 0.5),
        low=_solve(lambda s: beyond(s, 1.0) - alpha),
        high=_solve(lambda s: beyond(s, 0.0) - (1 - alpha)),
        p_value=min(1.0, beyond(0.5, 1.0)),
    )


def _farther(looks: Sequence[tuple[int, int, int]], lost: int, share: float) -> tuple[float, float]:
    """P(farther up the order than this run) and P(just as far)."""
    law, up, tossed = LossDistribution(), 0.0, 0
    for disagreements, lower, upper in looks[:-1]:
        law.toss(disagreements - tossed, share)
        tossed = disagreements
        up += law.at_least(upper)
        law.keep(lower + 1, upper - 1)
    law.toss(looks[-1][0] - tossed, share)
    beyond = law.at_least(lost + 1)
    return up + beyond, max(0.0, law.at_least(lost) - beyond)


def _solve(rising: Callable[[float], float]) -> float:
    """Where a rising function of a share is 0; an end if it is nowhere."""
    if rising(NARROWEST) >= 0:
        return 0.0
    if rising(1 - NARROWEST) <= 0:
        return 1.0
    return find_root(rising, NARROWEST, 1 - NARROWEST)


def difference_after(
    n: int, looks: Sequence[tuple[int, int, int]], lost: int, alpha: float = 0.05, *, binding: bool = True, anytime: bool = False
) -> StoppedEstimate:
    """The difference of two accuracies after an exact sequential test on disagreements.

    Formula: difference = rate (1 - 2 s), rate = D / n the share of items that disagree, s that of losses among them (see
    `share_after`). The two have intervals of their own, Wilson's for the rate; their distances are squared and added:
    low = estimate - hypot(rate (delta - delta_low), |delta_low| (distance to the end of rate that lowers the product)),
    delta = 1 - 2 s. What is exact is s given the course of D; the rate is taken as if n had been fixed, or,
    `anytime`, with alpha / 3 outside at each end: a run that stops after a handful of items stops because few disagree, or
    because many do. Where the bound of s alone settles the sign, the bound of the difference keeps it, so p and bound agree.
    Not binding: the p-value and the bound that speaks for a regression do not count on a pass having been obeyed.
    Assumes: as `share_after`.
    Reference: ZouDonner2008 for squaring and adding; Wilson1927.

    >>> found = difference_after(448, [(11, 2, 11), (21, 8, 17)], 8)
    >>> round(found.estimate, 4), round(found.low, 4), round(found.high, 4)
    (0.0107, -0.0083, 0.0309)
    """
    share = share_after(looks, lost, alpha)
    sure = share if binding else share_after([(seen, -1, upper) for seen, _, upper in looks], lost, alpha)
    ends = (share.estimate, sure.low, share.high)
    told = "stage-wise ordering, exact given the disagreements"
    disagreements = looks[-1][0] if looks else 0
    return combined_difference(n, disagreements, ends, alpha, p_value=sure.p_value, method=told, anytime=anytime)


def combined_difference(
    n: int, disagreements: int, share: tuple[float, float, float], alpha: float, *, p_value: float, method: str, anytime: bool = False
) -> StoppedEstimate:
    """The difference from the share of losses (estimate, low, high) and Wilson's interval of the rate of disagreement.

    Reference: ZouDonner2008.

    >>> found = combined_difference(100, 0, (0.5, 0.0, 1.0), 0.05, p_value=1.0, method="")
    >>> round(found.low, 4), round(found.high, 4)
    (-0.0263, 0.0263)
    """
    rate = disagreements / n
    ends = wilson(disagreements, n, 1 - 2 * (alpha / 3 if anytime else alpha))
    delta, low, high = (1 - 2 * s for s in (share[0], share[2], share[1]))
    estimate = rate * delta
    below = math.hypot(rate * (delta - low), low * (ends[1] - rate if low < 0 else rate - ends[0]))
    above = math.hypot(rate * (high - delta), high * (ends[1] - rate if high > 0 else rate - ends[0]))
    bottom, top = max(-1.0, estimate - below), min(1.0, estimate + above)
    return StoppedEstimate(
        estimate=estimate,
        low=bottom if low < 0 else max(bottom, 0.0),
        high=top if high > 0 else min(top, 0.0),
        confidence_level=1 - 2 * alpha,
        p_value=p_value,
        method=method,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BrownianEstimate:
    """The mean of the last Z: median-unbiased, with one-sided bounds of level 1 - alpha each; p_value for a mean of 0."""

    estimate: float
    low: float
    high: float
    p_value: float


def drift_after(
    times: Sequence[float], upper: Sequence[float], lower: Sequence[float], observed: float, alpha: float = 0.05
) -> BrownianEstimate:
    """The drift of a group-sequential normal statistic that ended at the last of these looks with Z = observed.

    upper and lower are bounds of Z; those of the last look play no part. Formula: P_m = sum over earlier looks of P_m(Z >=
    upper, reached) + P_m(the last look is reached, Z >= observed), by recursive integration; p_value = P_0, low solves
    P_m = alpha, the estimate P_m = 1/2, high P_m = 1 - alpha, m the mean of the last Z. Assumes: independent normal
    increments. Reference: Siegmund1978; TsiatisRosnerMehta1984; ArmitageMcPhersonRowe1969 for the recursion.

    >>> one = drift_after([1.0], [1.96], [1.96], 2.5)
    >>> round(one.estimate, 6), round(one.low, 6), round(one.p_value, 6)
    (2.5, 0.855146, 0.00621)
    """
    when = tuple(t / times[-1] for t in times)

    def beyond(drift: float) -> float:
        paths, up = Paths(when, drift), 0.0
        for k, t in enumerate(when[:-1]):
            top, bottom = upper[k] * math.sqrt(t), lower[k] * math.sqrt(t)
            up += paths.above(top, drift)
            paths = paths.between(bottom, top)
        return up + paths.above(observed, drift)

    def where(probability: float) -> float:
        reach = 3.0
        while reach < FARTHEST and not beyond(observed - reach) < probability < beyond(observed + reach):
            reach *= 1.6
        low, high = observed - reach, observed + reach
        if beyond(low) >= probability:
            return low
        return high if beyond(high) <= probability else find_root(lambda m: beyond(m) - probability, low, high)

    return BrownianEstimate(estimate=where(0.5), low=where(alpha), high=where(1 - alpha), p_value=min(1.0, beyond(0.0)))
