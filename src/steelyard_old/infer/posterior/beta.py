"""The Beta law in float64, what every posterior can be asked, and the posterior of a proportion.

A posterior answers like a distribution: cdf, sf, pdf, ppf, mean, sd, median, mode, and `interval`. Everything here is
exact (special functions in float64) and lazy: building one costs nothing, only the question asked is computed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, overload

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, betaincinv, betaln, expit, log_expit, xlogy

from steelyard_old.errors import UsageError
from steelyard_old.options.option import checked, unknown_word
from steelyard_old.results.display import Displayable

Array = npt.NDArray[np.float64]
Prior = float | tuple[float, float]
KINDS = ("equal-tailed", "hdi", "lower", "upper")
ROUND_TRIP = 1e-9  # scipy's inverse has had wrong regions (scipy issues 12796, 21426), so every quantile is put back
TAIL = 1e-18  # probability left outside the nodes of a quadrature


class Posterior(ABC):
    """What is believed about one quantity after the data: a distribution on [bottom, top].

    `metric` and `prior` are printed; `exact` says whether the numbers are those of the model to rounding, and `error`
    is otherwise the standard error of an end of the 95% interval that comes from quadrature or draws, not from data.

    It is a distribution to ask, not a result: it has no JSON. A measurement with interval="bayes" keeps the numbers, and the counts and
    the prior make the same posterior again.
    """

    metric: str
    prior: str
    exact: ClassVar[bool] = True
    bottom: float = 0.0
    top: float = 1.0

    plot = Displayable.plot  # the density, as a figure like those of the results

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"<posterior of {self.metric}: mean {self.mean:.4g}, 95% [{low:.4g}, {high:.4g}], prior {self.prior}>"

    @abstractmethod
    def _cdf(self, x: Any) -> Any: ...

    @abstractmethod
    def _sf(self, x: Any) -> Any: ...

    @abstractmethod
    def _pdf(self, x: Any) -> Any: ...

    @abstractmethod
    def _quantile(self, q: float) -> float:
        """The quantile of one probability strictly between 0 and 1."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """The posterior mean."""

    @property
    @abstractmethod
    def sd(self) -> float:
        """The posterior standard deviation."""

    @property
    def median(self) -> float:
        """The value that is as likely exceeded as not."""
        return self._quantile(0.5)

    @property
    def mode(self) -> float:
        """The most probable value, to about 1e-8 (a maximum is flat): the best of a grid of quantiles, then golden section."""
        grid = [self.bottom, *(self._quantile(i / 40) for i in range(1, 40)), self.top]
        height = [float(self._pdf(x)) for x in grid]
        best = int(np.argmax(height))
        if math.isinf(height[best]):
            return grid[best]
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
        golden = (math.sqrt(5) - 1) / 2
        while high - low > 1e-9:
            left, right = high - golden * (high - low), low + golden * (high - low)
            if self._pdf(left) < self._pdf(right):
                low = left
            else:
                high = right
        return (low + high) / 2

    @property
    def error(self) -> float:
        """The numerical standard error of an end of the 95% interval; 0 where the answer is exact."""
        return 0.0

    @overload
    def cdf(self, x: float) -> float: ...
    @overload
    def cdf(self, x: Array) -> Array: ...
    def cdf(self, x: float | Array) -> Any:
        """P(metric <= x)."""
        return _shaped(self._cdf(np.clip(x, self.bottom, self.top)))

    @overload
    def sf(self, x: float) -> float: ...
    @overload
    def sf(self, x: Array) -> Array: ...
    def sf(self, x: float | Array) -> Any:
        """P(metric > x)."""
        return _shaped(self._sf(np.clip(x, self.bottom, self.top)))

    @overload
    def pdf(self, x: float) -> float: ...
    @overload
    def pdf(self, x: Array) -> Array: ...
    def pdf(self, x: float | Array) -> Any:
        """The density at x; 0 outside the range, infinite at an end where the law has a pole."""
        inside = (np.asarray(x) >= self.bottom) & (np.asarray(x) <= self.top)
        return _shaped(np.where(inside, self._pdf(np.clip(x, self.bottom, self.top)), 0.0))

    def density(self, points: int, tail: float) -> tuple[Array, Array]:
        """The density at so many places between the quantiles of `tail` and 1 - `tail`: what a curve of it is drawn from."""
        x = np.linspace(self.ppf(tail), self.ppf(1 - tail), points)
        return x, np.asarray(self.pdf(x), dtype=float)

    @overload
    def ppf(self, q: float) -> float: ...
    @overload
    def ppf(self, q: Array) -> Array: ...
    def ppf(self, q: float | Array) -> Any:
        """The quantile: the x with P(metric <= x) = q."""
        many = np.asarray(q, float)
        if not bool(((many >= 0) & (many <= 1)).all()):
            raise UsageError(
                f"A quantile is for a probability between 0 and 1, not {q!r}.", got=repr(q), need="probabilities between 0 and 1"
            )
        return _shaped(np.array([self._end(p) for p in many.ravel().tolist()]).reshape(many.shape))

    def probability_above(self, x: float) -> float:
        """P(metric > x): how sure we are that the model is better than x."""
        return self.sf(x)

    def interval(self, confidence_level: float = 0.95, kind: str = "equal-tailed") -> tuple[float, float]:
        """The credible interval (low, high) that holds the metric with probability `confidence_level`.

        equal-tailed: as much probability below as above; carried by monotone maps, so F1, Dice and Jaccard agree.
        hdi: the shortest (highest density); it depends on the scale, so that of F1 is not the map of that of Jaccard.
        lower, upper: one-sided; the other end is the end of the range.
        """
        level = checked("confidence_level", confidence_level)
        rest = 1.0 - level
        if kind == "equal-tailed":
            return self._quantile(rest / 2), self._quantile(1.0 - rest / 2)
        if kind == "hdi":
            return self._shortest(level)
        if kind == "lower":
            return self._quantile(rest), self.top
        if kind == "upper":
            return self.bottom, self._quantile(level)
        raise unknown_word("kind", kind, KINDS)

    def _end(self, q: float) -> float:
        return self.bottom if q <= 0 else self.top if q >= 1 else self._quantile(q)

    def _shortest(self, level: float) -> tuple[float, float]:
        """Of all intervals of this probability the shortest: equal densities at its ends, or it starts at an end."""
        rest = 1.0 - level

        def tilt(p: float) -> float:
            low, high = float(self._pdf(self._end(p))), float(self._pdf(self._end(p + level)))
            return _log(low) - _log(high)

        candidates = [(self.bottom, self._quantile(level)), (self._quantile(rest), self.top)]
        if tilt(0.0) < 0 < tilt(rest):
            p = find_root(tilt, 0.0, rest)
            candidates.append((self._end(p), self._end(p + level)))
        return min(candidates, key=lambda ends: ends[1] - ends[0])


class OfBeta(Posterior):
    """What Beta(a, b) settles: a quantity with this law, or a function of one."""

    usually: ClassVar[str]  # what it is of, where nobody says

    def __init__(self, a: float, b: float, *, metric: str | None = None, prior: str = "") -> None:
        self.a, self.b, self.metric, self.prior = float(a), float(b), self.usually if metric is None else metric, prior


class BetaPosterior(OfBeta):
    """Beta(a, b): the posterior of a proportion under a Beta prior, a = k + a0, b = n - k + b0.

    Formula: density x^(a-1) (1-x)^(b-1) / B(a, b); cdf the regularised incomplete beta function.
    Assumes: k successes in n independent trials of one probability.
    Undefined: the mode when a and b are both at most 1 (flat, or a peak at each end): NaN.
    Reference: Jeffreys1946 for the prior (1/2, 1/2); Bernardo1979 calls it the reference prior.

    >>> [round(x, 6) for x in BetaPosterior(85.5, 15.5).interval(kind="hdi")]
    [0.77559, 0.913579]
    """

    usually = "accuracy"

    def _cdf(self, x: Any) -> Any:
        return betainc(self.a, self.b, x)

    def _sf(self, x: Any) -> Any:
        return betaincc(self.a, self.b, x)

    def _pdf(self, x: Any) -> Any:
        return np.exp(log_density(self.a, self.b, x))

    def _quantile(self, q: float) -> float:
        return beta_quantile(self.a, self.b, q)

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    @property
    def sd(self) -> float:
        total = self.a + self.b
        return math.sqrt(self.a / total * (self.b / total) / (total + 1))

    @property
    def mode(self) -> float:
        if self.a <= 1 and self.b <= 1:
            return math.nan if (self.a < 1) == (self.b < 1) else float(self.a == 1)
        return min(max((self.a - 1) / (self.a + self.b - 2), 0.0), 1.0)


# ---- the law itself ----------------------------------------------------------------------------------------------------


def log_density(a: float, b: float, x: Any, rest: Any = None) -> Any:
    """log of x^(a-1) (1-x)^(b-1) / B(a, b), good to about 1e-12 for any number of items; `rest` is 1 - x where x rounds to 1.

    The plain formula subtracts logarithms of the size of a + b; when both are large the terms are collected first, as in
    Loader's form of the binomial: -(a+b) KL(p, x) with p = a/(a+b), plus the small remainders of Stirling's series.
    Reference: Loader2000.

    >>> round(float(np.exp(log_density(2, 2, 0.5))), 12)
    1.5
    """
    x = np.asarray(x, float)
    rest = 1 - x if rest is None else rest
    if min(a, b) < 20:
        return xlogy(a - 1, x) + xlogy(b - 1, rest) - betaln(a, b)
    inside = (x > 0) & (rest > 0)
    x, rest, total = np.where(inside, x, 0.5), np.where(inside, rest, 0.5), a + b
    up, down = x * total / a - 1, rest * total / b - 1  # their first-order parts cancel: a up + b down = 0
    up, down = np.maximum(up, 1e-16 - 1), np.maximum(down, 1e-16 - 1)  # a finite logarithm where the density is 0 anyway
    spread = a * (np.log1p(up) - up) + b * (np.log1p(down) - down)
    scale = 0.5 * math.log(a / total * b / (2 * math.pi)) + _stirling(total) - _stirling(a) - _stirling(b)
    return np.where(inside, spread + scale - np.log(x) - np.log(rest), -np.inf)


def _stirling(a: float) -> float:
    """log Gamma(a) minus Stirling's formula, for a >= 20 (the next term is below 1e-15)."""
    square = a * a
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / a


def beta_quantile(a: float, b: float, q: float) -> float:
    """The x with I_x(a, b) = q, verified by a round trip, else by bisection until no float lies between.

    >>> round(beta_quantile(0.5, 1, 0.5), 12)
    0.25
    """
    x = float(betaincinv(a, b, q))
    if abs(float(betainc(a, b, x)) - q) <= ROUND_TRIP * min(1.0, 100 * q, 100 * (1 - q)):
        return x
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if betainc(a, b, middle) < q:
            low = middle
        else:
            high = middle
    return middle


def logit_nodes(a: float, b: float, steepness: float = 0.0) -> tuple[Array, Array, Array]:
    """Nodes x, 1 - x and weights (sum 1) for expectations under Beta(a, b): the trapezoid rule in z = logit x.

    In z the law is x^a (1-x)^b, smooth and with exponential tails, and the rule converges geometrically; 300 nodes at
    least, more when the tails are long (a small prior) or when the integrand changes faster than the law by `steepness`
    per unit of z. Reference: TrefethenWeideman2014.

    >>> x, _, weight = logit_nodes(31.5, 8.0)
    >>> round(float(weight @ x), 12) == round(31.5 / 39.5, 12)
    True
    """
    low, high = -_log_odds(float(betaincinv(a, b, TAIL))), _log_odds(float(betaincinv(b, a, TAIL)))
    nodes = max(300, math.ceil((high - low) / 0.5), math.ceil((high - low) * steepness))
    z = np.linspace(low, high, min(nodes, 16384))
    log_weight = a * log_expit(z) + b * log_expit(-z)
    weight = np.exp(log_weight - log_weight.max())
    return expit(z), expit(-z), weight / weight.sum()


def find_root(f: Callable[[float], float], low: float, high: float) -> float:
    """The root of a function of opposite signs at low and high, to the last bits: inverse quadratic steps, else bisection.

    Reference: Chandrupatla1997.

    >>> round(find_root(lambda x: x * x - 2, 0.0, 2.0), 12)
    1.414213562373
    """
    a, fa, b, fb = high, f(high), low, f(low)
    step = 0.5
    for _ in range(200):
        new = a + step * (b - a)
        value = f(new)
        if (value > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = new, value
        best, at_best = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        limit = (4e-16 * abs(best) + 1e-300) / abs(b - a) if b != a else 1.0
        if limit > 0.5 or at_best == 0:
            return best
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb) if fc != fb else math.nan
        step = 0.5
        if phi * phi < xi and (1 - phi) * (1 - phi) < 1 - xi:
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        step = min(1 - limit, max(limit, step))
    return best


def prior_pair(prior: Prior, failures: float = 1.0) -> tuple[float, float]:
    """(a0, b0) of a prior given as one strength (a0 = strength, b0 = failures times it) or as a pair."""
    a, b = (prior[0], prior[1]) if isinstance(prior, tuple) else (prior, prior * failures)
    if not (0 < a < math.inf and 0 < b < math.inf):  # also catches NaN
        haldane = "a prior of 0 (Haldane) leaves an improper posterior when a count is 0, with an interval of no width; "
        raise UsageError("cannot use prior", got=repr(prior), need="a finite number above 0", hint=f"{haldane}0.5 is the reference prior")
    return float(a), float(b)


def _log_odds(tail: float) -> float:
    """-logit of a small probability, kept finite: a prior below 0.03 can underflow."""
    tail = min(max(tail, 1e-308), 1 - 1e-16)
    return math.log1p(-tail) - math.log(tail)


def _log(density: float) -> float:
    """A logarithm that can be compared and subtracted: finite at 0 and at infinity."""
    return math.log(min(max(density, 1e-300), 1e300))


def _shaped(value: Any) -> Any:
    """A float for a float, an array for an array."""
    return float(value) if np.ndim(value) == 0 else value
