"""What each task of a suite says of "worse" as one number z, and what all of them say together.

A point lost in every task is a little in each and a lot in all. Every task weighs the same: weighed by its items, the largest
task would decide alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.normal import lower_tail, quantile

FloatArray = npt.NDArray[np.float64]
CLIP = 3.0  # a task says no more than this for the pool: one broken task is named by itself
PRIOR_RUNS = 5  # runs that the excess of common noise is taken to be 1 for, before any is seen
LARGEST_SQUARE = 16.0  # of an earlier z in the excess: one bad night teaches no more


def flips_z(lost: int, gained: int) -> float:
    """z of right or wrong on the same items; worse is positive. Given the flips its variance is exactly 1.

    Formula: (lost - gained) / sqrt(lost + gained). No flips: 0. Reference: McNemar1947.

    >>> flips_z(7, 2), flips_z(0, 0)
    (1.6666666666666667, 0.0)
    """
    return (lost - gained) / math.sqrt(lost + gained) if lost + gained else 0.0


def scores_z(differences: npt.ArrayLike, *, reach: float = 0.0, fewest_runs: int | None = None) -> float:
    """z of the differences of scores, run less reference, up good; worse is positive.

    Formula: -sum d / sqrt(sum d^2), with one run on each side or equally many. With unequally many (`fewest_runs` of the side
    that has fewer, `reach` the width of the range) -sum d / sqrt(sum d^2 + 2 reach^2 / fewest_runs): a difference from the mean
    of many runs is skewed, and rare falls that nobody has seen yet must not look impossible.
    No difference at all: 0. Reference: McNemar1947 for right or wrong; BonettPrice2012 for the items added.

    >>> round(scores_z([-0.2, 0, 0.1, -0.3, -0.1, 0, 0.05, -0.25]), 6)
    1.509659
    >>> round(scores_z([-1.0, 0.2, 0.0], reach=1.0, fewest_runs=1), 6)
    0.458831
    """
    d = np.asarray(differences, float)
    size = float(np.abs(d).max(initial=0.0))
    if size == 0:
        return 0.0
    d = d / size  # squares of tiny numbers vanish
    more = 0.0 if fewest_runs is None else 2 * (reach / size) ** 2 / fewest_runs
    return -float(d.sum()) / math.sqrt(float(d @ d) + more) + 0.0


def z_of_p(p_value: float) -> float:
    """The z of any other one-sided test: the normal quantile of its p-value, within +-`CLIP`. Reference: Stouffer1949.

    >>> round(z_of_p(0.05), 4), z_of_p(0.0), z_of_p(1.0)
    (1.6449, 3.0, -3.0)
    """
    if p_value <= 0 or p_value >= 1:
        return CLIP if p_value <= 0 else -CLIP
    return min(CLIP, max(-CLIP, -quantile(p_value)))


def common_excess(earlier: Sequence[float] | FloatArray) -> tuple[float, float]:
    """(phi, degrees of freedom) of noise that a whole run shares, from the pooled z of earlier healthy runs.

    Formula: phi = max(1, (5 + sum min(z^2, 16)) / (5 + k)) with 5 + k degrees of freedom: as if five runs of plain noise had
    been seen before. No earlier run: 1, which is not knowledge.

    >>> [round(x, 6) for x in common_excess([0.3, -1.1, 0.8, 2.0])]
    [1.215556, 9.0]
    """
    z = np.asarray(earlier, float)
    df = float(PRIOR_RUNS + len(z))
    return max(1.0, (PRIOR_RUNS + float(np.minimum(z * z, LARGEST_SQUARE).sum())) / df), df


def pooled_p(total: float, tasks: int, phi: float = 1.0, df: float | None = None) -> float:
    """P(a sum of z this large or larger | nothing changed): by the normal law, or by Student's where phi was learned.

    Formula: Phi(-sum z / sqrt(tasks phi)), or T_df of the same. Reference: Stouffer1949.

    >>> round(pooled_p(4.0, 4), 6), round(pooled_p(4.0, 4, 1.5, 12), 6)
    (0.02275, 0.064208)
    """
    z = total / math.sqrt(tasks * phi)
    if df is None:
        return lower_tail(-z)
    from scipy.special import stdtr

    return float(stdtr(df, -z))


def check_evidence(p_values: Sequence[float], z_values: Sequence[float]) -> None:
    """Refuse what is no p-value or no z."""
    if any(not 0 <= p <= 1 for p in p_values):  # also catches NaN
        raise UsageError(
            f"p-values must be numbers from 0 to 1, not {list(p_values)!r}.", got=repr(list(p_values)), need="numbers from 0 to 1"
        )
    if any(math.isnan(z) for z in z_values):
        raise UsageError(f"z values must be numbers, not {list(z_values)!r}.", got=repr(list(z_values)), need="numbers")
