"""The fewest calls on average that any rule with these errors can do with: what an answer can tell, at its best."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.planning.stored_answers import StoredAnswers
from steelyard_old.infer.posterior.beta import find_root

FloatArray = npt.NDArray[np.float64]
NEAR_SURE = 1e-12  # a chance of 0 or 1 is taken to be so near it


def errors_information(alpha: float, beta: float) -> tuple[float, float]:
    """The nats that must be gathered on average before these errors can be kept: if nothing changed, and if it dropped.

    Formula: kl(alpha, 1 - beta) and kl(1 - beta, alpha). Reference: Wald1947.

    >>> [round(x, 4) for x in errors_information(0.05, 0.2)]
    [1.3416, 1.9064]
    """
    return float(_between(np.array(alpha), np.array(1 - beta))), float(_between(np.array(1 - beta), np.array(alpha)))


def bound_of_one_answer(theta: float, churn: float, alpha: float = 0.05, beta: float = 0.2) -> tuple[float, float]:
    """The least mean items of any rule, healthy and dropped by theta, one answer on record, how often runs differ unknown.

    Formula: `errors_information` over the divergence from the nearest law of the other hypothesis: (c + theta, c, rest) for a
    healthy run with (churn / 2, churn / 2, rest); equal shares for a dropped one. Reference: Wald1947.

    >>> [round(x) for x in bound_of_one_answer(0.02, 0.05)]
    [357, 658]
    """
    needed = errors_information(alpha, beta)
    half, same = churn / 2, 1 - churn
    # The nearest drop has the same agreement and gains as a profile likelihood of these shares would find.
    q = churn * (1 - theta) - churn * theta - 2 * same * theta
    root = math.sqrt(q * q + 8 * half * theta * (1 - theta))
    c = min((q + root) / 4 if q >= 0 else 2 * half * theta * (1 - theta) / (root - q), (1 - theta) / 2)
    healthy = (half * math.log(half / (c + theta)) + half * math.log(half / c) if half else 0.0) + (
        same * math.log(same / (1 - theta - 2 * c)) if same else 0.0
    )
    lost, both = half + theta, churn + theta
    dropped = lost * math.log(2 * lost / both) + (half * math.log(2 * half / both) if half else 0.0)
    return needed[0] / healthy, needed[1] / dropped


def bound_of_answers(
    answers: StoredAnswers, theta: float, alpha: float = 0.05, beta: float = 0.2, factors: npt.ArrayLike | None = None
) -> tuple[float, float]:
    """The least mean items of any rule, healthy and dropped by theta, the chances of healthy answers known, the drop anywhere.

    Formula: `errors_information` over the divergence of an answer, kinds asked in proportion to share x k, from the nearest way to
    lose theta: sum of asked x kl(p, r) least, and sum of asked x kl(r, p) least, where the sum of share x (p - r) is theta.
    Reference: Wald1947.

    >>> from steelyard_old.infer.planning.stored_answers import beta_answers
    >>> [round(bound_of_answers(beta_answers(0.75, 0.05, n), 0.02)[0]) for n in (4, 16)]
    [227, 192]
    """
    share, p = np.array(answers.share), np.clip(np.array(answers.chance), NEAR_SURE, 1 - NEAR_SURE)
    k = np.ones(len(share)) if factors is None else np.asarray(factors, float)
    k = k / float(share @ k)
    asked = share * k

    def after(price: float) -> FloatArray:  # where kl(p, r) grows as fast as the price of what is lost
        cost = price / k
        root: FloatArray = 2 * p / ((1 + cost) + np.sqrt((1 + cost) ** 2 - 4 * cost * p))
        return root

    def tilted(price: float) -> FloatArray:  # the same for kl(r, p): log odds are moved
        odds = np.log(p / (1 - p)) - price / k
        part: FloatArray = np.exp(-np.logaddexp(0.0, -odds))
        return part

    needed = errors_information(alpha, beta)
    nearest, farthest = (_losing(law, share, p, theta) for law in (after, tilted))
    return needed[0] / float(asked @ _between(p, nearest)), needed[1] / float(asked @ _between(farthest, p))


def _losing(law: Callable[[float], FloatArray], share: FloatArray, p: FloatArray, theta: float) -> FloatArray:
    """The chances of this family of laws that lose theta."""
    high = 1.0
    while float(share @ (p - law(high))) < theta:
        high *= 2
    return law(find_root(lambda price: float(share @ (p - law(price))) - theta, 0.0, high))


def _between(p: FloatArray, q: FloatArray) -> FloatArray:
    """The divergence of one chance from another."""
    q = np.clip(q, NEAR_SURE, 1 - NEAR_SURE)
    rest = np.maximum(1 - p, NEAR_SURE)
    found: FloatArray = p * np.log(np.maximum(p, NEAR_SURE) / q) + (1 - p) * np.log(rest / (1 - q))
    return found
