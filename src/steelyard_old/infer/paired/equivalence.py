"""Equivalence and non-inferiority: is the difference proven to lie inside a margin, or above its lower end?

Two one-sided tests (TOST). d is the true difference, candidate minus baseline, and the margin is (low, high), or m for
(-m, m). `p_lower` tests H0: d <= low, and alone it is the test of non-inferiority: small when the candidate is proven to
be worse by less than the margin. `p_upper` tests H0: d >= high. Equivalence needs both, so `p` is the larger; neither is
corrected, because only one of the two hypotheses can be true. A large p is no evidence of a difference.

`rope` and `expected_loss` ask a posterior of the difference the same: how probable is it, and what would a choice cost?
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.normal import lower_tail
from steelyard_old.infer.paired.mcnemar import tango_z
from steelyard_old.infer.resampling.bootstrap import Degenerate

if TYPE_CHECKING:
    from steelyard_old.infer.posterior.beta import Posterior

Margin = float | tuple[float, float]


class Equivalence(NamedTuple):
    """The two one-sided tests: their statistics (positive when d lies above that end) and p-values."""

    z_lower: float
    z_upper: float
    p_lower: float
    p_upper: float

    @property
    def p(self) -> float:
        """Equivalence: the larger of the two."""
        return max(self.p_lower, self.p_upper)


def equivalence(estimate: float, error: float, margin: Margin, df: float | None = None) -> Equivalence:
    """TOST from an estimate and its standard error; Student's t with `df` degrees, or the normal law without.

    Formula: t_low = (estimate - low) / error, p_lower = P(T >= t_low); t_high = (estimate - high) / error, p_upper =
    P(T <= t_high). p < alpha exactly when the interval of level 1 - 2 alpha lies inside the margin.
    Undefined: a standard error of 0, which is ignorance and not certainty.
    Reference: Schuirmann1987.

    >>> [round(p, 4) for p in equivalence(0.01, 0.01, 0.03)[2:]]
    [0.0, 0.0228]
    """
    low, high = _ends(margin)
    if not (math.isfinite(estimate) and 0 < error < math.inf):
        raise Degenerate("the difference has no standard error")
    lower, upper = (estimate - low) / error, (estimate - high) / error
    return Equivalence(lower, upper, _cdf(-lower, df), _cdf(upper, df))


def equivalence_of_flips(gained: int, lost: int, n: int, margin: Margin) -> Equivalence:
    """TOST for right or wrong on the same items, by Tango's score statistic at each end of the margin.

    The variance is the one under each end, so it has an answer when nothing disagrees, and p < alpha exactly when
    Tango's interval of level 1 - 2 alpha lies inside the margin. Assumes: independent items.
    Undefined: no items; a margin that reaches -1 or 1 is a mistake. Reference: Tango1998.

    >>> one = equivalence_of_flips(0, 1, 44, 0.1)
    >>> round(one.z_lower, 3), round(one.p_lower, 4)
    (1.709, 0.0438)
    """
    low, high = _ends(margin)
    if not -1 < low < high < 1:
        raise UsageError("cannot use margin", got=repr(margin), need="ends inside (-1, 1), the range of a difference of shares")
    if min(gained, lost) < 0 or gained + lost > n or n == 0:
        raise DataError(
            f"gained and lost must fit into n > 0, not {gained} and {lost} of {n} items.",
            got=f"{gained} gained and {lost} lost of {n} items",
            need="counts that fit into n > 0",
        )
    lower, upper = tango_z(gained, lost, n, low), tango_z(gained, lost, n, high)
    return Equivalence(lower, upper, lower_tail(-lower), lower_tail(upper))


class Rope(NamedTuple):
    """P(worse by more than the margin), P(within the margin), P(better by more than the margin)."""

    worse: float
    equivalent: float
    better: float


class Loss(NamedTuple):
    """What choosing it is expected to give up: E max(baseline - candidate, 0), and E max(candidate - baseline, 0)."""

    candidate: float
    baseline: float


def rope(posterior: Posterior, margin: float) -> Rope:
    """The region of practical equivalence: how the posterior of a difference divides at -margin and margin.

    Reference: Kruschke2015, chapter 12; Benavoli2017.

    >>> from steelyard_old.infer.posterior.difference import difference_posterior
    >>> [round(p, 6) for p in rope(difference_posterior(80, 0, 0, 20), 0.01)]
    [0.102213, 0.795574, 0.102213]
    """
    if not 0 <= margin < math.inf:
        raise UsageError("cannot use margin", got=repr(margin), need="a finite number of 0 or more")
    worse, better = posterior.cdf(-margin), posterior.sf(margin)
    return Rope(worse, max(0.0, 1.0 - worse - better), better)


def expected_loss(posterior: Posterior) -> Loss:
    """What each choice is expected to give up, in units of the metric, by the posterior of candidate - baseline.

    Formula: E max(-d, 0) = integral of P(d < -t) over t > 0, by Gauss and Legendre with 80 nodes up to 30 sd, in the fourth
    root of t; the two losses differ by the posterior mean, so only the smaller is integrated. Draws are averaged. Reference: Berger1985.

    >>> from steelyard_old.infer.posterior.difference import difference_posterior
    >>> [round(x, 6) for x in expected_loss(difference_posterior(790, 58, 76, 76))]
    [0.000299, 0.018263]
    """
    mean = posterior.mean
    sign = 1.0 if mean >= 0 else -1.0
    from steelyard_old.infer.posterior.draws import SampledPosterior  # SciPy: only where a posterior was made

    if isinstance(posterior, SampledPosterior):
        smaller = float(np.maximum(-sign * posterior.values, 0.0).mean())
    else:
        node, weight = np.polynomial.legendre.leggauss(80)
        reach = min(posterior.top, 30 * posterior.sd)
        u = (node + 1) / 2
        t = reach * u**4  # the density may have a pole at 0
        smaller = float(2 * reach * (weight * u**3) @ (posterior.cdf(-t) if sign > 0 else posterior.sf(t)))
    return Loss(smaller, smaller + mean) if sign > 0 else Loss(smaller - mean, smaller)


def _ends(margin: Margin) -> tuple[float, float]:
    low, high = margin if isinstance(margin, tuple) else (-margin, margin)
    if not -math.inf < low < high < math.inf:  # also catches NaN
        raise UsageError("cannot use margin", got=repr(margin), need="a number above 0, or (low, high) with low < high")
    return float(low), float(high)


def _cdf(t: float, df: float | None) -> float:
    if df is None:
        return lower_tail(t)
    from scipy.special import stdtr

    return float(stdtr(df, t))
