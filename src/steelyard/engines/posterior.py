"""What is believed about one number after the data: Beta laws and what follows from them, by closed forms and convergent sums.

The items are a multinomial sample over cells, the prior is a Dirichlet: the posterior is one independent Gamma variate per cell, divided
by their sum. A ratio of sums of cells is then a Beta variable, F1 a function of one, F-beta a mixture of those, a mean or a difference of
two an integral. Laws are lazy: only the question that is asked costs anything.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, betaincinv, betaln, expit, log_expit, xlogy

from steelyard.base.problem import SteelyardError
from steelyard.engines.certainty import Ends, falling_root

Array = npt.NDArray[np.float64]
Prior = float | tuple[float, float]
X = TypeVar("X", float, Array)
KINDS = "equal-tailed", "hdi", "lower", "upper"
LAW = betainc, betaincc  # of a Beta variable: below x, above x
TAIL = 1e-18  # what the nodes of a sum leave out on each side
POINTS = 16384  # of the lattice of a mean of many


class Posterior(ABC):
    """A law on [bottom, top] to ask: `metric` and `prior` are printed, `exact` says that only rounding stands between it and the model."""

    metric: str
    prior: str
    mean: float
    sd: float
    bottom: float = 0.0
    top: float = 1.0
    exact: bool = True

    @abstractmethod
    def _tail(self, x: Any, above: bool) -> Any:
        """The probability of at most x, or of more than x."""

    @abstractmethod
    def _pdf(self, x: Any) -> Any:
        """The density inside the range."""

    def _quantile(self, q: float) -> float:
        """The quantile of a probability between 0 and 1: within 12 sd of the mean, else anywhere."""
        low, high = (min(max(self.mean + s * self.sd, self.bottom), self.top) for s in (-12, 12))
        if not self._tail(low, False) < q < self._tail(high, False):
            low, high = self.bottom, self.top
        if q > 0.5:
            return crossing(lambda x: 1 - q - float(self._tail(x, True)), low, high)
        return crossing(lambda x: float(self._tail(x, False)) - q, low, high)

    def cdf(self, x: X) -> X:
        """P(metric <= x)."""
        return _shaped(x, self._tail(np.clip(x, self.bottom, self.top), False))

    def sf(self, x: X) -> X:
        """P(metric > x)."""
        return _shaped(x, self._tail(np.clip(x, self.bottom, self.top), True))

    def pdf(self, x: X) -> X:
        """The density at x; 0 outside the range, infinite at an end where the law has a pole."""
        inside = np.clip(x, self.bottom, self.top)
        return _shaped(x, np.where(inside == x, self._pdf(inside), 0.0))

    def ppf(self, q: X) -> X:
        """The quantile: the x with P(metric <= x) = q."""
        if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
            raise SteelyardError(f"A quantile is of a probability from 0 to 1, not {q!r}.")
        return _shaped(q, np.vectorize(self._end, otypes=[float])(q))

    def probability_above(self, x: float) -> float:
        """How sure we are that the metric is above x."""
        return self.sf(x)

    @property
    def error(self) -> float:
        """The numerical standard error of an end of the 95% interval."""
        return 0.0

    @property
    def median(self) -> float:
        """The value that is as likely exceeded as not."""
        return self._quantile(0.5)

    @property
    def mode(self) -> float:
        """The most probable value, to a millionth of the sd or so: the middle of the shortest interval that holds next to nothing."""
        low, high = self._shortest(1e-4)
        return low if low == self.bottom else high if high == self.top else (low + high) / 2

    def interval(self, level: float = 0.95, kind: str = "equal-tailed") -> Ends:
        """The credible interval: equal-tailed, hdi (the shortest; it depends on the scale), or one-sided: lower, upper.

        >>> [round(x, 6) for x in proportion(85, 100).interval(kind="hdi")]
        [0.77559, 0.913579]
        """
        if not 0 < level < 1:
            raise SteelyardError(f"level must be between 0 and 1, not {level!r}.", hint="level=0.95 is usual")
        if kind not in KINDS:
            raise SteelyardError(f"There is no interval of kind {kind!r}.", hint=f"one of {', '.join(KINDS)}")
        if kind == "hdi":
            return self._shortest(level)
        side = (1 - level) / (2 if kind == "equal-tailed" else 1)
        return self._end(0.0 if kind == "upper" else side), self._end(1.0 if kind == "lower" else 1 - side)

    def _end(self, q: float) -> float:
        return self.bottom if q <= 0 else self.top if q >= 1 else self._quantile(q)

    def _shortest(self, level: float) -> Ends:
        """Of all intervals that hold so much the shortest: equal densities at its ends, or it starts at an end of the range."""

        def tilt(p: float) -> float:  # finite at 0 and at poles
            low, high = (math.log(min(max(float(self._pdf(self._end(q))), 1e-300), 1e300)) for q in (p, p + level))
            return low - high

        rest = 1 - level
        p = crossing(tilt, 0.0, rest) if tilt(0.0) < 0 < tilt(rest) else 0.0
        return min(((self._end(q), self._end(q + level)) for q in (0.0, p, rest)), key=lambda ends: ends[1] - ends[0])


class Beta(Posterior):
    """j / (j + phi (1 - j)) of j ~ Beta(a, b): with phi = 1 a proportion. `chord` is the mean slope of the map between two j."""

    phi: Any = 1.0

    def __init__(self, a: float, b: float, metric: str = "accuracy", prior: str = "") -> None:
        self.a, self.b, self.metric, self.prior = a, b, metric, prior
        self.mean, self.sd = a / (a + b), math.sqrt(a / (a + b) * (b / (a + b)) / (a + b + 1))

    def into(self, x: Any) -> Any:
        return self.phi * x / (1 - x + self.phi * x)

    def out(self, j: Any) -> Any:
        return j / (j + self.phi * (1 - j))

    def chord(self, i: Any, j: Any) -> Any:
        return self.phi / ((i + self.phi * (1 - i)) * (j + self.phi * (1 - j)))

    def _tail(self, x: Any, above: bool) -> Any:
        return LAW[above](self.a, self.b, self.into(x))

    def _pdf(self, x: Any, rest: Any = None) -> Any:
        """The density; `rest` is 1 - x where x rounds to 1."""
        j = self.into(x)
        return np.exp(log_density(self.a, self.b, j, (1 - x if rest is None else rest) / self.chord(j, 1.0))) / self.chord(j, j)

    def _quantile(self, q: float) -> float:
        return float(self.out(beta_quantile(self.a, self.b, q)))

    @property
    def mode(self) -> float:
        if min(self.a, self.b) <= 1:
            return math.nan if max(self.a, self.b) < 1 or self.a == self.b else float(self.a > self.b)  # NaN: flat, or a pole at each end
        return self._peak()

    def _peak(self) -> float:
        return (self.a - 1) / (self.a + self.b - 2)


class F1(Beta):
    """F1 = 2J / (1 + J) of a Jaccard index J ~ Beta(a, b): all its quantiles are closed forms (GoutteGaussier2005)."""

    phi = 0.5

    def __init__(self, a: float, b: float, metric: str = "f1", prior: str = "") -> None:
        super().__init__(a, b, metric, prior)
        j, _, weight = logit_nodes(a, b)
        self.mean = float(weight @ self.out(j))
        self.sd = math.sqrt(float(weight @ (self.out(j) - self.mean) ** 2))

    def _peak(self) -> float:
        middle, last = 2 * self.a + self.b - 5, 2 * (self.a - 1)  # of 2 y^2 + middle y - last = 0
        root = math.hypot(middle, math.sqrt(8 * last))
        return 2 * last / (middle + root) if middle > 0 else (root - middle) / 4


class FBeta(Beta):
    """F-beta for beta other than 1: a mixture of such maps over S, the share of FN among the mistakes.

    S is a Beta variable independent of the Jaccard index, and phi = (beta^2 S + 1 - S) / (1 + beta^2).
    """

    def __init__(self, tp: float, fp: float, fn: float, beta: float, prior: str) -> None:
        super().__init__(tp, fp + fn, f"f{beta:g}", prior)
        square, (s, rest, _) = beta * beta, logit_nodes(fn, fp)
        slope = float(np.max(abs(square - 1) * s * rest / (square * s + rest)))  # how fast log phi changes, on the scale of logit J
        s, rest, self.weight = logit_nodes(fn, fp, 2 * slope * math.sqrt(tp * self.b / (tp + self.b)))
        self.phi = (square * s + rest) / (1 + square)
        j, _, weight = logit_nodes(self.a, self.b)
        value = self.out(j[:, None])
        self.mean = float(weight @ value @ self.weight)
        self.sd = math.sqrt(float(weight @ (value - self.mean) ** 2 @ self.weight))

    def _tail(self, x: Any, above: bool) -> Any:
        return super()._tail(np.asarray(x, float)[..., None], above) @ self.weight

    def _pdf(self, x: Any, rest: Any = None) -> Any:
        return super()._pdf(np.asarray(x, float)[..., None]) @ self.weight

    _quantile, mode = Posterior._quantile, Posterior.mode


class Difference(Posterior):
    """Candidate minus baseline of two independent Betas, or of two F1s; to about 1e-12.

    P(y - x > t) = P(x < -t) + the integral of the density of x times P(y > x + t), where 0 < x + t < 1, by the tanh-sinh rule, which does
    not mind poles at the ends. x is the narrower of the two, so that the other factor is smooth on its scale.
    """

    bottom = -1.0

    def __init__(self, candidate: Beta, baseline: Beta) -> None:
        self.turned = candidate.sd < baseline.sd
        self.x, self.y = (candidate, baseline) if self.turned else (baseline, candidate)
        self.metric, self.prior, self.reach = candidate.metric, candidate.prior, _reach(self.x)
        self.mean, self.sd = candidate.mean - baseline.mean, math.hypot(candidate.sd, baseline.sd)

    def _integral(self, law: Callable[[Any, Any], Any], t: float) -> float:
        """The integral of the density of x times law(u, 1 - u) over the x for which u = x + t is between 0 and 1."""
        x = self.x
        ends = [float(x.into(min(max(v, 0.0), 1.0))) for v in (-t, 1 - t)]
        low, high = max(self.reach[0], ends[0]), min(self.reach[1], ends[1])
        if not low < high:
            return 0.0
        far = math.asinh(
            min(700.0, 42 / min(0.5, x.a, x.b, self.y.a, self.y.b)) / math.pi
        )  # where a pole of this kind holds next to nothing
        s = np.linspace(-far, far, math.ceil(100 * far))
        up, down = expit(math.pi * np.sinh(s)), expit(-math.pi * np.sinh(s))  # up + down = 1, each to its own last digit
        weight = (high - low) * up * down * math.pi * np.cosh(s) * (s[1] - s[0])
        j = low + (high - low) * up
        density = np.exp(log_density(x.a, x.b, j, (1 - high) + (high - low) * down))
        start = 0.0 if low == ends[0] and t <= 0 else x.out(low) + t
        stop = 0.0 if high == ends[1] and t >= 0 else 1 - t - x.out(high)
        u, rest = start + (high - low) * up * x.chord(low, j), stop + (high - low) * down * x.chord(high, j)
        with np.errstate(over="ignore"):  # two poles that meet
            return float(np.sum(weight * np.where(weight > 0, density * law(np.clip(u, 0, 1), np.clip(rest, 0, 1)), 0.0)))

    def _tail(self, x: Any, above: bool) -> Any:
        up = above != self.turned

        def one(d: float) -> float:
            t = -d if self.turned else d
            if t == 0 and (self.x.a, self.x.b) == (self.y.a, self.y.b):
                return 0.5
            return (self.x.cdf(-t) if up else self.x.sf(1 - t)) + self._integral(lambda u, _: self.y._tail(u, up), t)

        return np.vectorize(one, otypes=[float])(x)

    def _pdf(self, x: Any) -> Any:
        return np.vectorize(lambda d: self._integral(self.y._pdf, -d if self.turned else d), otypes=[float])(x)


class MeanOfTwo(Posterior):
    """(X + Y) / 2 of two independent Betas: what X is above the mirrored Y, halved and moved."""

    def __init__(self, one: Beta, two: Beta, metric: str, prior: str) -> None:
        self.metric, self.prior, self.inner = metric, prior, Difference(one, Beta(two.b, two.a))
        self.mean, self.sd = (one.mean + two.mean) / 2, self.inner.sd / 2

    def _tail(self, x: Any, above: bool) -> Any:
        return self.inner._tail(2 * x - 1, above)

    def _pdf(self, x: Any) -> Any:
        return 2 * self.inner._pdf(2 * x - 1)


class MeanOfMany(Posterior):
    """The mean of three or more independent Betas, to about 1e-10: `error` compares with a lattice of half the points.

    Each law is put on a common lattice so that mass and mean of every cell are kept, the lattices are convolved by FFT, and the known
    excess of the variance is taken out again, F - (excess / 2) f' (Sheppard1898). What remains is of the fourth order in the step.
    """

    exact = False

    def __init__(self, laws: Sequence[Beta], metric: str, prior: str, points: int = 0) -> None:
        self.laws, self.metric, self.prior = laws, metric, prior
        self.points = points or max(POINTS, 1 << (16 * len(laws) - 1).bit_length())
        self.mean, self.sd = sum(law.mean for law in laws) / len(laws), math.hypot(*(law.sd for law in laws)) / len(laws)

    @cached_property
    def _lattice(self) -> tuple[float, float, Array, Array]:
        """The first value, the step, cdf and density of the mean on its lattice."""
        k = len(self.laws)
        parts = [(Beta(a, b), times) for (a, b), times in Counter((law.a, law.b) for law in self.laws).items()]  # many are alike
        step = sum(times * (_reach(law)[1] - _reach(law)[0]) for law, times in parts) / (self.points - 3 * k)
        spectrum, excess, start = np.ones(self.points // 2 + 1, complex), 0.0, step / 2 - step * k
        for law, times in parts:
            low, high = _reach(law)
            x = np.maximum(low + step * np.arange(-1, math.ceil((high - low) / step) + 3), 0.0)
            j = np.minimum(x, 1.0)
            area = j * betainc(law.a, law.b, j) - law.mean * betainc(law.a + 1, law.b, j) + (x - j)  # the integral of the cdf
            mass = np.diff(np.diff(area) / step, prepend=0.0)
            at = step * (np.arange(mass.size) - 1) - (law.mean - low)
            excess += times * (float(mass @ (at * at)) - law.sd**2)
            spectrum *= np.fft.rfft(mass, self.points) ** times
            start += times * low
        mass = np.fft.irfft(spectrum, self.points)
        # Half-way between its points the sum of a smooth mass is the cdf - step^2/24 f' (the midpoint rule): one rounding less.
        cdf = np.cumsum(mass) - (excess - step * step / 12) / 2 * np.diff(mass, append=0.0) / (step * step)
        density = np.maximum(np.gradient(cdf, step / k), 0.0)
        return start / k, step / k, np.maximum.accumulate(np.clip(cdf, 0.0, 1.0)), density

    def _tail(self, x: Any, above: bool) -> Any:
        """Between the points: the cubic that has the cdf and the density at both."""
        start, step, cdf, density = self._lattice
        place = (np.asarray(x, float) - start) / step
        i = np.clip(np.floor(place).astype(int), 0, cdf.size - 2)
        t = np.clip(place - i, 0.0, 1.0)
        rise, f0, f1 = cdf[i + 1] - cdf[i], density[i] * step, density[i + 1] * step
        below = np.clip(cdf[i] + t * (f0 + t * (3 * rise - 2 * f0 - f1 + t * (f0 + f1 - 2 * rise))), 0.0, 1.0)
        return 1 - below if above else below

    def _pdf(self, x: Any) -> Any:
        start, step, cdf, density = self._lattice
        return np.interp(x, start + step * np.arange(cdf.size), density, left=0.0, right=0.0)

    @cached_property
    def error(self) -> float:
        coarse = MeanOfMany(self.laws, "", "", self.points // 2).interval()
        return max(abs(a - b) for a, b in zip(coarse, self.interval(), strict=True))


class Flips(Posterior):
    """The difference of two accuracies on the same items, from Dirichlet cells: right alone (candidate, baseline) and in agreement.

    For x >= 0, P(d > x) is the mean over S ~ Beta(agree, baseline) of P(Beta(candidate, baseline + agree) > (1 + x - S) / (2 - S)), by the
    trapezoid rule in logit S; below 0 the systems change places. To about 1e-12 (Benavoli2017 for the model).
    """

    bottom = -1.0

    def __init__(self, candidate: float, baseline: float, agree: float, prior: str) -> None:
        self.alone, self.agree, self.metric, self.prior = (baseline, candidate), agree, "accuracy", prior
        total, share = candidate + baseline + agree, (candidate + baseline) / (candidate + baseline + agree)
        self.mean = (candidate - baseline) / total
        self.sd = math.sqrt((share - self.mean**2) / (total + 1))

    def _mixed(self, d: float, law: Callable[[float, float, Any], Any], density: bool = False) -> float:
        """The mean of law over S, seen from the candidate at d >= 0 and from the baseline below."""
        x, a, other = abs(d), self.alone[int(d >= 0)], self.alone[int(d < 0)]
        b = other + self.agree
        s, rest, weight = logit_nodes(self.agree, other)
        steepness = 2 * math.sqrt(a * b / (a + b)) * float(np.max(s * rest / (rest + x + 1e-300)))
        if steepness > 5:  # the answer may change within the law of S
            _, rest, weight = logit_nodes(self.agree, other, steepness)
        return float(weight @ (law(a, b, (x + rest) / (1 + rest)) / (1 + rest if density else 1.0)))

    def _tail(self, x: Any, above: bool) -> Any:
        baseline, candidate = self.alone

        def one(d: float) -> float:
            if d == 0:
                return 0.5 if baseline == candidate else float(LAW[above](candidate, baseline, 0.5))
            return self._mixed(d, LAW[int(above == (d > 0))])

        return np.vectorize(one, otypes=[float])(x)

    def _pdf(self, x: Any) -> Any:
        return np.vectorize(lambda d: self._mixed(d, lambda a, b, u: np.exp(log_density(a, b, u, 1 - u)), True), otypes=[float])(x)


# ---- who asks for what ---------------------------------------------------------------------------------------------------


def proportion(k: int, n: int, prior: Prior = 0.5, metric: str = "accuracy") -> Beta:
    """k of n under a Beta prior: Beta(k + a0, n - k + b0); `prior` is a0 = b0, or the pair.

    >>> [round(x, 6) for x in proportion(85, 100, prior=1).interval()]
    [0.766903, 0.906653]
    """
    _whole(k, n)
    if k > n:
        raise SteelyardError(f"Cannot have {k} of {n}.")
    a, b = prior_pair(prior)
    return Beta(k + a, n - k + b, metric, f"Beta({a:g}, {b:g})")


def jaccard(tp: int, fp: int, fn: int, prior: Prior = 0.5) -> Beta:
    """TP / (TP + FP + FN) ~ Beta(TP + lambda, FP + FN + 2 lambda): `prior` is lambda for each cell, or a pair for the index itself.

    >>> round(jaccard(31, 5, 2).mean, 6)
    0.797468
    """
    _whole(tp, fp, fn)
    a, b = prior_pair(prior, 2.0)
    return Beta(tp + a, fp + fn + b, "jaccard", f"Beta({a:g}, {b:g})")


def f_beta(tp: int, fp: int, fn: int, beta: float = 1.0, prior: Prior = 0.5) -> Posterior:
    """F-beta of one class; `prior` is lambda for each of TP, FP and FN, or a pair for the Jaccard index, halved between FP and FN.

    >>> [[round(x, 6) for x in f_beta(31, 5, 2, beta).interval()] for beta in (1, 2)]
    [[0.795717, 0.950553], [0.818505, 0.966234]]
    """
    if not 0 < beta < math.inf:
        raise SteelyardError(f"beta must be a number above 0, not {beta!r}.", hint="beta=1 is F1")
    _whole(tp, fp, fn)
    a, b = prior_pair(prior, 2.0)
    if beta == 1:
        return F1(tp + a, fp + fn + b, "f1", f"Beta({a:g}, {b:g}) on jaccard")
    return FBeta(tp + a, fp + b / 2, fn + b / 2, beta, f"Dirichlet({a:g}, {b / 2:g}, {b / 2:g}) on TP, FP, FN")


def mean_of_shares(shares: Sequence[tuple[int, int]], prior: Prior = 0.5) -> Posterior:
    """The mean of independent proportions (k, n): balanced accuracy is that of the recalls. Brodersen2010.

    >>> [round(x, 6) for x in mean_of_shares([(31, 33), (62, 67)]).interval()]
    [0.860203, 0.966832]
    """
    if not shares:
        raise SteelyardError("There are no classes to average over.")
    a, b = prior_pair(prior)
    name, printed = "balanced_accuracy", f"Beta({a:g}, {b:g}) on each recall"
    laws = [proportion(k, n, (a, b), name) for k, n in shares]
    if len(laws) < 3:
        return MeanOfTwo(laws[0], laws[1], name, printed) if len(laws) == 2 else laws[0]
    return MeanOfMany(laws, name, printed)


def difference_of_flips(both: int, baseline_only: int, candidate_only: int, neither: int, prior: float = 0.5) -> Flips:
    """Candidate minus baseline accuracy on the same items, by who is right; `prior` is for each of the four cells.

    >>> round(difference_of_flips(790, 58, 76, 76).sf(0), 6)
    0.940186
    """
    _whole(both, baseline_only, candidate_only, neither)
    cell, _ = prior_pair(float(prior))
    return Flips(candidate_only + cell, baseline_only + cell, both + neither + 2 * cell, f"Dirichlet({cell:g}) on each cell of four")


def difference(candidate: Posterior, baseline: Posterior) -> Difference:
    """Candidate minus baseline of two accuracies, or of two F1s, on different items.

    >>> round(difference(proportion(870, 1000), proportion(850, 1000)).sf(0.01), 6)
    0.740131
    """
    if not (isinstance(candidate, Beta) and isinstance(baseline, Beta) and type(candidate) is type(baseline) is not FBeta):
        raise SteelyardError(f"Cannot subtract a posterior of {baseline.metric} from one of {candidate.metric}.", hint="two of a kind")
    return Difference(candidate, baseline)


# ---- the Beta law in floats ----------------------------------------------------------------------------------------------


def log_density(a: float, b: float, x: Any, rest: Any) -> Any:
    """log of x^(a-1) rest^(b-1) / B(a, b) with rest = 1 - x, good to about 1e-12 for any number of items.

    The plain formula subtracts logarithms of the size of a + b, so where both are large the terms are collected first (Loader2000):
    -(a + b) KL(p, x) with p = a / (a + b), plus the small remainders of Stirling's series.
    """
    if min(a, b) < 20:
        return xlogy(a - 1, x) + xlogy(b - 1, rest) - betaln(a, b)
    inside = (np.asarray(x) > 0) & (np.asarray(rest) > 0)
    x, rest, total = np.where(inside, x, 0.5), np.where(inside, rest, 0.5), a + b
    up, down = (np.maximum(share * total / shape - 1, 1e-16 - 1) for share, shape in ((x, a), (rest, b)))  # the density is 0 there anyway
    spread = a * (np.log1p(up) - up) + b * (np.log1p(down) - down)
    scale = 0.5 * math.log(a / total * b / (2 * math.pi)) + _stirling(total) - _stirling(a) - _stirling(b)
    return np.where(inside, spread + scale - np.log(x) - np.log(rest), -np.inf)


def _stirling(a: float) -> float:
    """log Gamma(a) minus Stirling's formula, for a >= 20 (the next term is below 1e-15)."""
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * a * a)) / (a * a)) / (a * a)) / a


def beta_quantile(a: float, b: float, q: float) -> float:
    """The x with I_x(a, b) = q; scipy's inverse has had wrong regions (scipy issues 12796, 21426), so it is put back, else bisected."""
    x = float(betaincinv(a, b, q))
    if abs(float(betainc(a, b, x)) - q) <= 1e-9 * min(1.0, 100 * q, 100 * (1 - q)):
        return x
    return falling_root(lambda x: q - float(betainc(a, b, x)), 0.0, 1.0)


def logit_nodes(a: float, b: float, steepness: float = 0.0) -> tuple[Array, Array, Array]:
    """Nodes x, 1 - x and weights (sum 1) for means under Beta(a, b): the trapezoid rule in logit x, which converges geometrically.

    There are more of them when the tails are long or when what is averaged changes faster than the law, by `steepness` per unit of logit.

    >>> x, _, weight = logit_nodes(31.5, 8.0)
    >>> round(float(weight @ x), 12) == round(31.5 / 39.5, 12)
    True
    """
    tails = (min(max(float(betaincinv(*shape, TAIL)), 1e-308), 1 - 1e-16) for shape in ((a, b), (b, a)))
    low, high = (math.log(tail) - math.log1p(-tail) for tail in tails)
    nodes = max(300, math.ceil((-high - low) * max(4.0, steepness)))
    z = np.linspace(low, -high, min(nodes, POINTS))
    log_weight = a * log_expit(z) + b * log_expit(-z)
    weight = np.exp(log_weight - log_weight.max())
    return expit(z), expit(-z), weight / weight.sum()


def crossing(f: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of opposite signs at two numbers is 0, to the last bits, by false position (Illinois).

    >>> round(crossing(lambda x: x * x - 2, 0.0, 2.0), 12)
    1.414213562373
    """
    old, x, at_old, at = low, high, f(low), f(high)
    for _ in range(300):
        new = x - at * (x - old) / (at - at_old)
        value = f(new)
        old, at_old = (old, at_old / 2) if (value > 0) == (at > 0) else (x, at)  # an end that stays again counts for less
        step, x, at = abs(new - x), new, value
        if step <= 4e-16 * abs(x) or at == 0:
            break
    return x


def prior_pair(prior: Prior, failures: float = 1.0) -> Ends:
    """A prior given as one strength for successes, and `failures` times it for failures, or as the pair."""
    a, b = (prior[0], prior[1]) if isinstance(prior, tuple) else (prior, prior * failures)
    if not (0 < a < math.inf and 0 < b < math.inf):  # also catches NaN
        raise SteelyardError(f"prior must be above 0, not {prior!r}.", hint="0.5 is usual; 0 (Haldane) has no width at k = 0 or n")
    return float(a), float(b)


def _reach(law: Beta) -> Ends:
    """Where the Beta variable is, but for next to nothing on each side."""
    return float(betaincinv(law.a, law.b, TAIL)), 1.0 - float(betaincinv(law.b, law.a, TAIL))


def _whole(*counts: float) -> None:
    for count in counts:
        if not (count >= 0 and float(count).is_integer()):
            raise SteelyardError(f"A count must be a whole number from 0 on, not {count!r}.")


def _shaped(like: X, value: Any) -> X:
    """A float for a float, an array for an array."""
    return cast(X, float(value) if np.ndim(like) == 0 else value)
