"""Power by the normal law: any one of n, theta, power and alpha from the others. `math` and `statistics` alone: it loads at once.

A design is what the variance of the estimated difference is at n items, under H0 and under a drop of theta:
`null(theta)/n + fixed` and `alternative(theta)/n + fixed`. Everything else is one equation,

    theta = z_alpha sqrt(null/n + fixed) + z_beta sqrt(alternative/n + fixed),

solved for what is not given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from steelyard_old.errors import UsageError
from steelyard_old.infer.normal import lower_tail, quantile
from steelyard_old.late_dataclass import dataclass

Variance = Callable[[float], float]
MOST = 10**12  # items; beyond it the answer is "never"
SMALLEST = 5e-324  # of a probability that has rounded to 0


@dataclass(frozen=True, slots=True)
class PowerDesign:
    """The variance one item adds under H0 and under a drop of theta, and the part that more items do not remove."""

    name: str
    null: Variance
    alternative: Variance
    fixed: Variance = lambda _: 0.0
    unseen: float = 0.0  # what a test counts in for items that nobody has seen: it shrinks with n^2

    def errors(self, n: float, theta: float) -> tuple[float, float]:
        """The standard errors of the difference at n items: under H0, under the drop."""
        fixed = self.fixed(theta)
        return math.sqrt(self.null(theta) / n + self.unseen / n**2 + fixed), math.sqrt(max(0.0, self.alternative(theta)) / n + fixed)


def two_sample(sigma: float, *, ratio: float = 1.0, n_reference: int | None = None, design_effect: float = 1.0) -> PowerDesign:
    """Two independent samples of scores with standard deviation sigma, as in the accuracy suite: variance 2 sigma^2 / n.

    `ratio` is how many reference items there are for each new one; `n_reference` is their number where it is settled.
    Formula: sigma^2 (1/n + 1/n_reference), times the design effect. Assumes: independent items (or groups, by the design
    effect), means near normal. Reference: Cohen1988, section 2.4.

    >>> two_sample(50).errors(4096, 0.0)[0]
    1.1048543456039805
    """
    variance = sigma * sigma * design_effect
    fixed = 0.0 if n_reference is None else variance / n_reference
    each = variance if n_reference is not None else variance * (1 + 1 / ratio)
    return PowerDesign("unpaired", lambda _: each, lambda _: each, lambda _: fixed)


def two_proportions(
    before: float,
    after: Variance,
    *,
    unit: float = 1.0,
    ratio: float = 1.0,
    n_reference: int | None = None,
    design_effect: float = 1.0,
) -> PowerDesign:
    """Two independent samples, right or wrong: accuracy `before`, and `after(theta)` when the change is there.

    Formula: p (1 - p) of each side at its own accuracy, so that a drop from .9 counts the wider spread at .85. `unit` is
    100 for percent. Assumes: independent items (or groups, by the design effect). Reference: Cohen1988, chapter 6.

    >>> items(two_proportions(0.9, lambda theta: 0.9 - theta), 0.05, 0.05, 0.2)
    538
    """
    scale = unit * unit * design_effect
    old = scale * before * (1 - before)

    def new(theta: float) -> float:
        p = min(1.0, max(0.0, after(theta / unit)))
        return scale * p * (1 - p)

    if n_reference is not None:
        return PowerDesign("unpaired", new, new, lambda _: old / n_reference)
    return PowerDesign("unpaired", lambda t: new(t) + old / ratio, lambda t: new(t) + old / ratio)


def paired_scores(
    sd: float,
    *,
    within: tuple[float, float] = (0.0, 0.0),
    answers: tuple[int, int] = (1, 1),
    design_effect: float = 1.0,
    reach: float = 0.0,
) -> PowerDesign:
    """The same items, scores whose differences (of the items' own means) have standard deviation sd.

    Formula: omega^2 + within_a^2 / K_a + within_b^2 / K_b per item, K answers to each item on either side. `reach`: the test
    adds an item at either end of the range, 2 reach^2 / n^2 of variance. Assumes: answers to an item independent given the item.
    Reference: Miller2024, equation 9; BonettPrice2012 for the two items.

    >>> items(paired_scores(1 / 3), 0.03, 0.05, 0.2, two_sided=True), items(paired_scores(0.1, reach=1.0), 0.03, 0.05, 0.2)
    (969, 133)
    """
    each = (sd * sd + sum(w * w / k for w, k in zip(within, answers, strict=True))) * design_effect
    return PowerDesign("paired", lambda _: each, lambda _: each, unseen=2 * reach * reach)


def paired_outcomes(discordance: Variance, *, design_effect: float = 1.0) -> PowerDesign:
    """The same items, right or wrong: psi is the share of items on which the two runs disagree, under the drop theta.

    Formula: variance psi under H0, psi - theta^2 under the drop: n = (z_a sqrt(psi) + z_b sqrt(psi - theta^2))^2 / theta^2.
    Assumes: independent items, McNemar's test. Reference: Connor1987; Miettinen1968.

    >>> items(paired_outcomes(lambda _: 0.04), 0.01, 0.05, 0.2), items(paired_outcomes(lambda _: 0.1), 0.02, 0.05, 0.2)
    (2471, 1544)
    """
    return PowerDesign("paired", lambda t: discordance(t) * design_effect, lambda t: (discordance(t) - t * t) * design_effect)


def rule_out_outcomes(discordance: float, *, design_effect: float = 1.0) -> PowerDesign:
    """The same items, right or wrong, to rule out a drop of theta when nothing has changed (Tango's bound above -theta).

    Formula: under no change the variance is psi; at the edge, a drop of theta, it is that of the shares (c + theta, c)
    nearest to the data: 2c + theta - theta^2 with 2c^2 + 2c (theta - psi/2) - theta psi/2 = 0 (the agreements hardly move).
    Reference: Tango1998; the variance at the edge in Nam1997.
    """

    def at_edge(theta: float) -> float:
        half = discordance / 2
        b = theta - half
        c = (-b + math.sqrt(b * b + 2 * half * theta)) / 2
        return (2 * c + theta - theta * theta) * design_effect

    return PowerDesign("paired", at_edge, lambda _: discordance * design_effect)


@lru_cache(maxsize=64)
def z_pair(alpha: float, beta: float, two_sided: bool = False) -> tuple[float, float]:
    """(z_alpha, z_beta), both positive below one half. Reference: Cohen1988.

    >>> [round(z, 4) for z in z_pair(0.05, 0.2)]
    [1.6449, 0.8416]
    """
    return -quantile(max(alpha / 2 if two_sided else alpha, SMALLEST)), -quantile(max(beta, SMALLEST))


def more_for_t(alpha: float, two_sided: bool = False) -> int:
    """How many items more than by the normal formula a t test needs, because it has to estimate the spread: z_alpha^2 / 2, rounded up.

    Reference: Guenther1981.

    >>> more_for_t(0.05), more_for_t(0.05, two_sided=True)
    (2, 2)
    """
    return math.ceil(z_pair(alpha, 0.5, two_sided)[0] ** 2 / 2)


def minimum_detectable(error: float, alpha: float, beta: float, two_sided: bool = False, *, noise: float | None = None) -> float:
    """The true difference that is found with power 1 - beta: (z_alpha + z_beta) x standard error. Reference: Bloom1995.

    `noise` is the standard error of the difference itself, where the test takes a larger one.

    >>> round(minimum_detectable(50 * (2 / 4096) ** 0.5, 0.05, 0.2), 6)
    2.747193
    """
    z_alpha, z_beta = z_pair(alpha, beta, two_sided)
    return (z_alpha + z_beta) * error if noise is None else z_alpha * error + z_beta * noise


def threshold_offset(error: float, alpha: float, two_sided: bool = False) -> float:
    """How far below the reference a score must fall to be significant: z_alpha x standard error, negative.

    Reference: Cohen1988.

    >>> round(threshold_offset(50 * (2 / 4096) ** 0.5, 0.05), 6)
    -1.817324
    """
    return -z_pair(alpha, 0.5, two_sided)[0] * error


def items(design: PowerDesign, theta: float, alpha: float, beta: float, *, two_sided: bool = False) -> int:
    """The smallest n whose detectable drop is at most theta. An error where the fixed part of the variance forbids any.

    Reference: Cohen1988; Connor1987 for the paired form.

    >>> items(two_sample(50), 3, 0.05, 0.2)
    3435
    """
    z_alpha, z_beta = z_pair(alpha, beta, two_sided)

    def enough(n: float) -> bool:
        null, alternative = design.errors(n, theta)
        return z_alpha * null + z_beta * alternative <= theta

    if not enough(MOST):
        floor = (z_alpha + z_beta) * math.sqrt(design.fixed(theta))
        if floor == 0:
            raise UsageError(
                f"theta {theta:g} would take more than {MOST:.0e} items.",
                got=f"theta {theta:g}: more than {MOST:.0e} items",
                need="a larger theta",
                hint="take a larger theta",
            )
        raise UsageError(
            f"No number of new items reaches theta {theta:g}: the reference alone leaves {floor:.4g}.",
            got=f"theta {theta:g}; the reference alone leaves {floor:.4g}",
            need=f"a theta above {floor:.4g}, or a larger reference",
            hint=f"take a theta above {floor:.4g}, or a larger reference",
        )
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable(
    design: PowerDesign, n: float, alpha: float, beta: float, *, two_sided: bool = False, most: float = math.inf
) -> float | None:
    """The smallest drop that n items find with power 1 - beta; None if not even `most`, the largest possible, is found.

    Reference: Bloom1995.

    >>> round(detectable(two_sample(50), 4096, 0.05, 0.2), 6)
    2.747193
    """
    z_alpha, z_beta = z_pair(alpha, beta, two_sided)

    def short(theta: float) -> float:
        null, alternative = design.errors(n, theta)
        return z_alpha * null + z_beta * alternative - theta

    start = max(short(0.0), 1 / n)  # where nothing differs at first, the drop itself brings the variance
    if short(0.0) <= 0 and short(start) <= 0 and short(start / 2) <= 0:
        return 0.0
    high = start
    while high < most and short(min(high, most)) > 0:
        high *= 2
    high = min(high, most)
    if short(high) > 0:
        return None
    low = 0.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if short(middle) > 0 else (low, middle)
    return high


def power(design: PowerDesign, n: float, theta: float, alpha: float, *, two_sided: bool = False) -> float:
    """P(the drop theta is found) at n items: Phi((theta - z_alpha SE0) / SE1); the far side of a two-sided test is left out.

    Reference: Cohen1988.

    >>> round(power(two_sample(50), 3435, 3, 0.05), 4)
    0.8
    """
    null, alternative = design.errors(n, theta)
    away = theta - z_pair(alpha, 0.5, two_sided)[0] * null
    return lower_tail(away / alternative) if alternative > 0 else float(away > 0)


def false_alarms(design: PowerDesign, n: float, theta: float, beta: float, *, two_sided: bool = False) -> float:
    """The alpha at which n items find the drop theta with power 1 - beta. Reference: Cohen1988.

    >>> round(false_alarms(two_sample(50), 3435, 3, 0.2), 4)
    0.05
    """
    null, alternative = design.errors(n, theta)
    z_alpha = (theta - z_pair(0.05, beta)[1] * alternative) / null
    tail = lower_tail(-z_alpha)
    return min(1.0, 2 * tail) if two_sided else tail


def design_effect(icc: float, group_size: float) -> float:
    """How many times more items are needed when they come in groups: 1 + (m - 1) rho. Reference: Kish1965.

    >>> design_effect(0.1, 11)
    2.0
    """
    return 1 + (group_size - 1) * icc
