"""Posteriors of metrics: exact where a closed form exists, deterministic everywhere, the error stated where there is one.

Items are a multinomial sample over the cells of the table, the prior is a Dirichlet. The posterior is then a set of
independent Gamma variates, one per cell, normalised; any ratio of sums of cells is free of the other cells. So a
proportion and Jaccard are Beta variables, F1 is a function of one, F-beta is a mixture of those over one more Beta,
balanced accuracy is the mean of independent ones, and only what needs the whole table (MCC, kappa, macro F1) needs draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.posterior.beta import (
    Array,
    BetaPosterior,
    OfBeta,
    Posterior,
    Prior,
    beta_quantile,
    find_root,
    log_density,
    logit_nodes,
    prior_pair,
)
from steelyard_old.infer.posterior.draws import SampledPosterior, table_posterior
from steelyard_old.infer.posterior.lattice import MeanOfBetas, MeanOfTwoBetas
from steelyard_old.tally.counts import whole

__all__ = [
    "BetaPosterior",
    "F1Posterior",
    "Posterior",
    "SampledPosterior",
    "balanced_accuracy_posterior",
    "f1_posterior",
    "f_beta_posterior",
    "jaccard_posterior",
    "prior_sensitivity",
    "proportion_posterior",
    "table_posterior",
]


def proportion_posterior(k: int, n: int, *, prior: Prior = 0.5, metric: str = "accuracy") -> BetaPosterior:
    """k of n: accuracy, precision, recall, specificity, each on its own denominator. Beta(k + a0, n - k + b0).

    `prior` is a0 = b0, or the pair (a0, b0); a pair (k1 + 1/2, n1 - k1 + 1/2) carries an earlier sample on.
    Assumes: independent items. Undefined: never, n = 0 gives the prior back.
    Reference: Jeffreys1946; BrownCaiDasGupta2001 on its coverage. The plain quantiles are returned also at k = 0 and k = n.

    >>> [round(x, 6) for x in proportion_posterior(85, 100, prior=1).interval()]
    [0.766903, 0.906653]
    """
    k, n = whole(k, "the number of successes"), whole(n, "the number of items")
    if k > n:
        raise UsageError(f"Cannot have {k} of {n}.", got=f"{k} > {n}", need="k <= n")
    a, b = prior_pair(prior)
    return BetaPosterior(k + a, n - k + b, metric=metric, prior=f"Beta({a:g}, {b:g})")


def jaccard_posterior(tp: int, fp: int, fn: int, *, prior: Prior = 0.5) -> BetaPosterior:
    """Jaccard J = TP / (TP+FP+FN) ~ Beta(TP + lambda, FP+FN + 2 lambda): `prior` is lambda per cell, or a pair for J itself.

    Assumes: independent items. Reference: GoutteGaussier2005; Jaccard1912.

    >>> round(jaccard_posterior(31, 5, 2).mean, 6)
    0.797468
    """
    a, b, printed = _jaccard_law(tp, fp, fn, prior)
    return BetaPosterior(a, b, metric="jaccard", prior=printed)


def f1_posterior(tp: int, fp: int, fn: int, *, prior: Prior = 0.5) -> F1Posterior:
    """F1 of one class, exactly: F1 = 2J / (1+J) with J ~ Beta(TP + lambda, FP+FN + 2 lambda).

    `prior` is lambda per cell, or a pair (a0, b0) for J. lambda = 1 is not uninformative: the prior mean of F1 is then
    6 - 8 ln 2 = 0.455 and only 3% of it lies above 0.9. Assumes and Undefined: see F1Posterior.
    Reference: GoutteGaussier2005.

    >>> f1 = f1_posterior(31, 5, 2)
    >>> round(f1.mean, 6), round(f1.probability_above(0.85), 6)
    (0.885923, 0.82382)
    """
    a, b, printed = _jaccard_law(tp, fp, fn, prior)
    return F1Posterior(a, b, prior=f"{printed} on jaccard")


def f_beta_posterior(tp: int, fp: int, fn: int, *, beta: float, prior: float = 0.5) -> Posterior:
    """F-beta of one class: for beta = 1 that is `f1_posterior`, else a one-dimensional integral (FBetaPosterior).

    Reference: vanRijsbergen1979 for the measure; Caelen2017 for the Dirichlet on the cells.

    >>> [round(x, 6) for x in f_beta_posterior(31, 5, 2, beta=2, prior=1).interval()]
    [0.803351, 0.95924]
    """
    if not 0 < beta < math.inf:
        raise UsageError("cannot use beta", got=repr(beta), need="a finite number above 0")
    if beta == 1:
        return f1_posterior(tp, fp, fn, prior=prior)
    tp, fp, fn = whole(tp, "tp"), whole(fp, "fp"), whole(fn, "fn")
    cell, _ = prior_pair(prior)
    return FBetaPosterior(tp + cell, fp + cell, fn + cell, beta=beta, prior=f"Dirichlet({cell:g}) on TP, FP, FN")


def balanced_accuracy_posterior(rows: Sequence[tuple[int, int]], *, prior: Prior = 0.5) -> Posterior:
    """Balanced accuracy, the mean recall over classes: `rows` are (hits, truths) of each class.

    Formula: the mean of K independent Beta(h + a0, t - h + b0). Mean and sd are closed forms; the cdf is an integral for
    two classes, and a convolution on a fine lattice (its error stated) for more.
    Assumes: items independent, classes too (any numbers of truths: they may be fixed by design).
    Undefined: no classes. A class without truths keeps its prior.
    Reference: Brodersen2010.

    >>> [round(x, 6) for x in balanced_accuracy_posterior([(31, 33), (62, 67)]).interval()]
    [0.860203, 0.966832]
    """
    if not rows:
        raise DataError("There are no classes to average over.", got="no classes", need="(hits, truths) of at least one class")
    a0, b0 = prior_pair(prior)
    laws = [proportion_posterior(h, t, prior=(a0, b0), metric="recall") for h, t in rows]
    printed = f"Beta({a0:g}, {b0:g}) on each recall"
    if len(laws) == 1:
        return BetaPosterior(laws[0].a, laws[0].b, metric="balanced_accuracy", prior=printed)
    if len(laws) == 2:
        return MeanOfTwoBetas(laws[0], laws[1], metric="balanced_accuracy", prior=printed)
    return MeanOfBetas(laws, metric="balanced_accuracy", prior=printed)


def prior_sensitivity(make: Callable[[float], Posterior], level: float, prior: float) -> float:
    """How far an end of the interval moves under the other usual prior, as a share of its width; above 0.1, say so.

    The other prior of 1/2 (or anything else) is 1, that of 1 is 1/2. Reference: Jeffreys1946 against Laplace's 1.

    >>> round(prior_sensitivity(lambda lam: f1_posterior(31, 5, 2, prior=lam), 0.95, 0.5), 3)
    0.081
    """
    low, high = make(prior).interval(level)
    other_low, other_high = make(0.5 if prior == 1 else 1.0).interval(level)
    return max(abs(other_low - low), abs(other_high - high)) / (high - low)


def _jaccard_law(tp: int, fp: int, fn: int, prior: Prior) -> tuple[float, float, str]:
    tp, fp, fn = whole(tp, "tp"), whole(fp, "fp"), whole(fn, "fn")
    a, b = prior_pair(prior, failures=2.0)
    return tp + a, fp + fn + b, f"Beta({a:g}, {b:g})"


class F1Posterior(OfBeta):
    """F1 = 2J / (1+J) where Jaccard J ~ Beta(a, b), a = TP + lambda, b = FP + FN + 2 lambda.

    Formula: P(F1 <= y) = I_{y/(2-y)}(a, b); density 2^b y^(a-1) (1-y)^(b-1) (2-y)^-(a+b) / B(a, b);
    mean a/(a+b) 2F1(1, b; a+b+1; 1/2), second moment a(a+1)/((a+b)(a+b+1)) 2F1(2, b; a+b+2; 1/2). These are the series
    of Pfaff's transformation of the usual ones at -1: all terms positive, each less than half the last, so no digit is
    lost. Their difference does lose digits when the sd is small, and then the variance is a centred quadrature.
    Mode: the root of 2 y^2 + (2a+b-5) y - 2(a-1) = 0.
    Assumes: (TP, FP, FN, TN) multinomial, Dirichlet prior; TN and its prior cancel. Not for classes sampled apart.
    Undefined: the mode without data (a and b at most 1): NaN.
    Reference: GoutteGaussier2005, the Gamma ratio with the same law; Caelen2017 for the Dirichlet on the cells.

    >>> [round(x, 6) for x in F1Posterior(31.5, 8.0).interval()]
    [0.795717, 0.950553]
    """

    usually = "f1"

    def _cdf(self, x: Any) -> Any:
        return betainc(self.a, self.b, x / (2 - x))

    def _sf(self, x: Any) -> Any:
        return betaincc(self.a, self.b, x / (2 - x))

    def _pdf(self, x: Any) -> Any:
        return np.exp(log_density(self.a, self.b, x / (2 - x)) + math.log(2) - 2 * np.log(2 - x))

    def _quantile(self, q: float) -> float:
        jaccard = beta_quantile(self.a, self.b, q)
        return 2 * jaccard / (1 + jaccard)

    @property
    def mean(self) -> float:
        k = np.arange(64)
        return self.a / (self.a + self.b) * (1 + float(np.cumprod((self.b + k) / (2 * (self.a + self.b + 1 + k))).sum()))

    @property
    def sd(self) -> float:
        a, b, mean, k = self.a, self.b, self.mean, np.arange(80)
        series = 1 + float(((k + 2) * np.cumprod((b + k) / (2 * (a + b + 2 + k)))).sum())
        square = a * (a + 1) / ((a + b) * (a + b + 1)) * series
        variance = square - mean * mean
        if variance < 1e-3 * square:
            jaccard, _, weight = logit_nodes(a, b)
            variance = float(weight @ (2 * jaccard / (1 + jaccard) - mean) ** 2)
        return math.sqrt(variance)

    @property
    def mode(self) -> float:
        if self.a <= 1:
            return math.nan if self.b <= 1 else 0.0
        if self.b <= 1:
            return 1.0
        middle, last = 2 * self.a + self.b - 5, 2 * (self.a - 1)
        root = math.sqrt(middle * middle + 8 * last)
        return 2 * last / (middle + root) if middle > 0 else (root - middle) / 4


class FBetaPosterior(Posterior):
    """F-beta for beta other than 1, where FP weighs 1 and FN beta^2: no Beta law, but a mixture of them.

    Formula: with Gamma variates g of the cells, S = g_FN / (g_FN + g_FP) is a Beta variable independent of J, and
    F <= y when J <= x(S) = phi y / (1 - y + phi y), phi(S) = (beta^2 S + 1 - S) / (1 + beta^2). So P(F <= y) is the mean of
    I_{x(S)}(a, b) over S: `logit_nodes`. Mean and sd are the same sum over S and J.
    Assumes: as F1. Error: below 1e-12 in all cases tried; the rule converges geometrically, so `error` is the
    square of the difference that every second node makes.
    Reference: GoutteGaussier2005, whose ratio of two Gammas holds for beta = 1 alone; Caelen2017.

    >>> round(f_beta_posterior(31, 5, 2, beta=2, prior=1).cdf(0.9), 9)
    0.462139761
    """

    def __init__(self, tp: float, fp: float, fn: float, *, beta: float, prior: str = "") -> None:
        self.a, self.b, self.fp, self.fn, self.b2 = tp, fp + fn, fp, fn, beta * beta
        self.metric, self.prior = f"f{beta:g}", prior

    @cached_property
    def _mix(self) -> tuple[Array, Array]:
        """(phi, weight) of each node. The answer changes with z as fast as log phi does, on the scale of the sd of logit J."""
        rough, rest, _ = logit_nodes(self.fn, self.fp)
        slope = float(np.max(abs(self.b2 - 1) * rough * rest / (self.b2 * rough + rest)))
        s, r, weight = logit_nodes(self.fn, self.fp, steepness=2 * slope * math.sqrt(self.a * self.b / (self.a + self.b)))
        return (self.b2 * s + r) / (1 + self.b2), weight

    def _mean_over_s(self, law: Callable[[Any, Any, Any], Any], y: Any, every: int = 1) -> Any:
        phi, weight = (column[::every] for column in self._mix)
        y = np.asarray(y, float)[..., None]
        return law(phi * y, 1 - y + phi * y, phi) @ weight / weight.sum()

    def _cdf(self, x: Any) -> Any:
        return self._mean_over_s(lambda up, down, _: betainc(self.a, self.b, up / down), x)

    def _sf(self, x: Any) -> Any:
        return self._mean_over_s(lambda up, down, _: betaincc(self.a, self.b, up / down), x)

    def _pdf(self, x: Any) -> Any:
        return self._mean_over_s(lambda up, down, phi: np.exp(log_density(self.a, self.b, up / down)) * phi / down**2, x)

    def _quantile(self, q: float) -> float:
        jaccard = beta_quantile(self.a, self.b, q)
        ends = (jaccard / (jaccard + phi * (1 - jaccard)) for phi in (1 / (1 + self.b2), self.b2 / (1 + self.b2)))
        low, high = sorted(ends)  # whatever S is, the quantile lies between those of the two extreme phi
        if not self._cdf(low) < q < self._cdf(high):
            low, high = 0.0, 1.0
        return find_root(lambda y: float(self._cdf(y)) - q, low, high)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        phi, weight = self._mix
        jaccard, rest, density = logit_nodes(self.a, self.b)
        value = jaccard / (jaccard + phi[:, None] * rest)
        mean = float(weight @ value @ density)
        return mean, math.sqrt(float(weight @ (value - mean) ** 2 @ density))

    @property
    def mean(self) -> float:
        return self._moments[0]

    @property
    def sd(self) -> float:
        return self._moments[1]

    @cached_property
    def _error(self) -> float:
        ends = np.array(self.interval())
        half = self._mean_over_s(lambda up, down, _: betainc(self.a, self.b, up / down), ends, every=2)
        return float(np.max((half - self._cdf(ends)) ** 2 / self._pdf(ends)))

    @property
    def error(self) -> float:
        return self._error
