"""What one item adds to the variance of a difference: right or wrong, several answers, pairs. `math` alone: it loads at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard_old.infer.normal import quantile
from steelyard_old.infer.planning.power import minimum_detectable


def share_deviation(p: float) -> float:
    """The standard deviation of one item that is right with probability p: sqrt(p (1 - p)). Reference: Cochran1977.

    >>> share_deviation(0.5), share_deviation(0.9)
    (0.5, 0.3)
    """
    return math.sqrt(p * (1 - p))


def share_variance(p: float) -> float:
    """The variance of one item that is right with probability p: p (1 - p). Reference: Cochran1977.

    >>> share_variance(0.5)
    0.25
    """
    return p * (1 - p)


def variances_of_a_drop(p: float, theta: float) -> tuple[float, float]:
    """The variance of one item before and after an accuracy of p fell by theta. Reference: Cochran1977.

    >>> variances_of_a_drop(0.75, 0.25)
    (0.1875, 0.25)
    """
    return share_variance(p), (p - theta) * (1 - p + theta)


def variance_of(deviation: float) -> float:
    """The square of a standard deviation. Reference: Cochran1977.

    >>> variance_of(0.5)
    0.25
    """
    return deviation * deviation


def per_item(standard_error: float, n: float) -> float:
    """The standard deviation of one item, from the standard error of the mean of n of them. Reference: Cochran1977.

    >>> per_item(0.05, 100)
    0.5
    """
    return standard_error * math.sqrt(n)


def mean_error(variance: float, n: float, design_effect: float = 1.0) -> float:
    """The standard error of the mean of n items of this variance, groups counted in by their design effect. Reference: Kish1965.

    >>> mean_error(0.25, 100), mean_error(0.25, 100, design_effect=4)
    (0.05, 0.1)
    """
    return math.sqrt(variance * design_effect / n)


def deviation_known_within(n: int) -> float:
    """How well n items know their own standard deviation, as a share of it: about 1 / sqrt(2n). Reference: Student1908.

    >>> deviation_known_within(50)
    0.1
    """
    return 1 / math.sqrt(2 * n)


def pooled_deviation(before: float, after: float) -> float:
    """The standard deviation that two samples of equal size have in common, from their variances. Reference: Cohen1988.

    >>> pooled_deviation(0.16, 0.34)
    0.5
    """
    return math.sqrt((before + after) / 2)


def differing_answers(within: float) -> float:
    """How often two answers to one item differ, where answers have the standard deviation `within` around their item: 2 within^2.

    Of right or wrong: 2 p (1 - p) for an item that is right with probability p. Reference: Miller2024.

    >>> differing_answers(0.5)
    0.5
    """
    return 2 * within**2


def most_differing(accuracy: float) -> float:
    """How often two answers to one item differ at most, at this accuracy: where every item is right with the same probability.

    Reference: Miller2024.

    >>> most_differing(0.5)
    0.5
    """
    return 2 * share_variance(accuracy)


def most_within(discordance: float) -> float:
    """The largest standard deviation within items, where two healthy runs differ on this share of them. Reference: Miller2024.

    >>> most_within(0.5)
    0.5
    """
    return math.sqrt(discordance / 2)


def between_deviation(discordance: float, theta: float, within: float) -> float:
    """The standard deviation of the difference of an item's own means under a drop of theta.

    Of two single answers, discordance + theta of the items differ, so their difference has the variance discordance + theta - theta^2;
    2 within^2 of it is the noise of the two answers. Reference: Miller2024.

    >>> round(between_deviation(0.05, 0.02, 0.1) ** 2, 4)
    0.0496
    """
    return math.sqrt(discordance + theta - theta**2 - differing_answers(within))


def deviation_of_answers(between: float, within: float, answers: Sequence[int]) -> float:
    """The standard deviation of one item in two runs with so many answers to it, from its variances: the mean of both runs.

    Reference: Miller2024.

    >>> round(deviation_of_answers(0.1, 0.2, (1, 4)) ** 2, 4)
    0.225
    """
    return math.sqrt(between + within * sum(1 / k for k in answers) / 2)


def most_deviation(theta: float, n: int, alpha: float, beta: float, two_sided: bool, design_effect: float = 1.0) -> float:
    """The largest standard deviation of one item with which n of them find a drop of theta. Reference: Bloom1995.

    >>> round(most_deviation(0.02, 1000, 0.05, 0.2, False), 4)
    0.2544
    """
    return theta / minimum_detectable(mean_error(1.0, n, design_effect), alpha, beta, two_sided)


def correlation_for(difference: float, deviation: float) -> float:
    """How alike two runs must be, item by item, for their difference to have this standard deviation, where each has `deviation`.

    Formula: 1 - difference^2 / (2 deviation^2). Reference: Miller2024.

    >>> correlation_for(0.5, 0.5)
    0.5
    """
    return 1 - difference * difference / (2 * deviation * deviation)


def answers_needed(deviation: float, between: float, within: Sequence[float], design_effect: float = 1.0) -> int | None:
    """How many answers to each item bring its deviation down to this one; None where the differences between items are too large.

    between: the standard deviation between items; within: of the answers to one item, on either side. Reference: Miller2024.

    >>> answers_needed(0.3, 0.2, (0.3, 0.3)), answers_needed(0.2, 0.2, (0.3, 0.3))
    (4, None)
    """
    left = deviation * deviation / design_effect - between * between
    return None if left <= 0 else max(1, math.ceil(sum(w * w for w in within) / left))


def normal_spread(deviation: float, places: int) -> list[float]:
    """Differences of scores between 0 and 1 that are normal with this standard deviation, as evenly many quantiles, none beyond -1 or 1.

    The places are those of definition 5 in Hyndman1996.

    >>> [round(x, 4) for x in normal_spread(0.1, 3)]
    [-0.0967, 0.0, 0.0967]
    """
    return [min(1.0, max(-1.0, deviation * quantile((place + 0.5) / places))) for place in range(places)]
