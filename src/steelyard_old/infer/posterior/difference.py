"""What is believed about a difference, candidate minus baseline: P(candidate better), ROPE, expected loss, interval.

Right or wrong on the same items is exact (a one-dimensional mixture), so are two accuracies or two F1s on different
items (a one-dimensional integral); any other metric on the same items is drawn from the cells truth x baseline x candidate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, expit

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.paired.equivalence import Loss, Rope, expected_loss, rope
from steelyard_old.infer.posterior.beta import Array, BetaPosterior, Posterior, find_root, log_density, logit_nodes, prior_pair
from steelyard_old.infer.posterior.draws import BATCHES, CELL_DRAWS, GENERATOR, POINTS, SampledPosterior, _lattice_gammas
from steelyard_old.infer.posterior.lattice import _reach
from steelyard_old.infer.posterior.metrics import F1Posterior
from steelyard_old.metrics.table import Margins
from steelyard_old.tally.counts import whole
from steelyard_old.tally.joint import JointCounts

__all__ = [
    "DifferencePosterior",
    "JointPosterior",
    "Loss",
    "Rope",
    "UnpairedDifference",
    "difference_posterior",
    "expected_loss",
    "joint_table_posterior",
    "rope",
    "unpaired_difference",
]
Law = Callable[[float, float, Any], Any]


def _root(posterior: Posterior, q: float) -> float:
    """The quantile of a difference: within 12 sd of the mean, else anywhere."""
    low, high = (min(max(posterior.mean + s * 12 * posterior.sd, -1.0), 1.0) for s in (-1, 1))
    if not posterior._cdf(low) < q < posterior._cdf(high):
        low, high = -1.0, 1.0
    if q > 0.5:
        return find_root(lambda d: (1 - q) - float(posterior._sf(d)), low, high)
    return find_root(lambda d: float(posterior._cdf(d)) - q, low, high)


def difference_posterior(both: int, baseline_only: int, candidate_only: int, neither: int, *, prior: float = 0.5) -> DifferencePosterior:
    """The difference of two accuracies on the same items, by who is right: Dirichlet(prior) on each of the four cells.

    Assumes and Undefined: see DifferencePosterior. Reference: Benavoli2017.

    >>> post = difference_posterior(790, 58, 76, 76)
    >>> round(post.sf(0), 6), [round(x, 6) for x in post.interval()]
    (0.940186, [-0.004675, 0.040754])
    """
    cell, _ = prior_pair(prior)
    numbers = [whole(c, "a number of items") + cell for c in (both, baseline_only, candidate_only, neither)]
    return DifferencePosterior(numbers[2], numbers[1], numbers[0] + numbers[3], prior=f"Dirichlet({cell:g}) on both, one, other, neither")


class DifferencePosterior(Posterior):
    """p_C - p_B for Dirichlet cells: candidate only (a_C), baseline only (a_B), agreement (a_R).

    Formula: for x >= 0, P(d > x) = P((1-x) g_C > (1+x) g_B + x g_R) with Gamma variates g, that is the mean over
    S ~ Beta(a_R, a_B) of P(Beta(a_C, a_B + a_R) > (1 + x - S) / (2 - S)), by the trapezoid rule in logit S; below 0 the
    systems change places. At 0 it is I_1/2(a_B, a_C). Mean and sd are closed forms.
    Assumes: independent items. Undefined: never; without items it is the prior. Error: about 1e-12.
    Reference: Benavoli2017 for the model; TrefethenWeideman2014 for the rule; the mixture is the neutrality of the Dirichlet.

    >>> round(DifferencePosterior(20.5, 18.5, 263.0).sd, 6)
    0.020641
    """

    bottom = -1.0

    def __init__(self, candidate: float, baseline: float, agree: float, *, metric: str = "accuracy", prior: str = "") -> None:
        self.candidate, self.baseline, self.agree = candidate, baseline, agree
        self.metric, self.prior, self.total = metric, prior, candidate + baseline + agree
        self._rough = {up: logit_nodes(agree, down) for up, down in ((True, baseline), (False, candidate))}

    def _mixed(self, up: bool, x: float, law: Law, scaled: bool = False) -> float:
        """The mean of law over S, seen from the candidate (up) or from the baseline, at x >= 0."""
        a, other = (self.candidate, self.baseline) if up else (self.baseline, self.candidate)
        b = other + self.agree
        s, rest, weight = self._rough[up]
        steepness = 2 * math.sqrt(a * b / (a + b)) * float(np.max(s * rest / (rest + x + 1e-300)))
        if steepness > 5:  # the answer may change within the law of S: more nodes, as many as that takes
            s, rest, weight = logit_nodes(self.agree, other, steepness=steepness)
        value = law(a, b, (x + rest) / (1 + rest))
        return float(weight @ (value / (1 + rest) if scaled else value))

    def _tails(self, below: bool, x: Any) -> Any:
        def one(d: float) -> float:
            if d == 0:
                first, second = (self.candidate, self.baseline) if below else (self.baseline, self.candidate)
                return 0.5 if first == second else float(betainc(first, second, 0.5))
            return self._mixed(d > 0, abs(d), betainc if (d > 0) == below else betaincc)

        return np.vectorize(one, otypes=[float])(x)

    def _cdf(self, x: Any) -> Any:
        return self._tails(True, x)

    def _sf(self, x: Any) -> Any:
        return self._tails(False, x)

    def _pdf(self, x: Any) -> Any:
        def density(a: float, b: float, at: Any) -> Any:
            return np.exp(log_density(a, b, at))

        return np.vectorize(lambda d: self._mixed(d >= 0, abs(d), density, scaled=True), otypes=[float])(x)

    def _quantile(self, q: float) -> float:
        return _root(self, q)

    @property
    def mean(self) -> float:
        return (self.candidate - self.baseline) / self.total

    @property
    def sd(self) -> float:
        share = (self.candidate + self.baseline) / self.total
        return math.sqrt((share - self.mean**2) / (self.total + 1))


def unpaired_difference(candidate: BetaPosterior | F1Posterior, baseline: BetaPosterior | F1Posterior) -> UnpairedDifference:
    """The difference of two accuracies, or of two F1s, measured on different items.

    P(p_candidate > p_baseline + delta) is `.sf(delta)`. F1 is a function of Jaccard, which is a Beta variable, so both
    are the same integral. Assumes: two independent samples. Reference: GoutteGaussier2005 for F1; Brodersen2010.

    >>> from steelyard_old.infer.posterior.metrics import f1_posterior, proportion_posterior
    >>> post = unpaired_difference(proportion_posterior(870, 1000), proportion_posterior(850, 1000))
    >>> round(post.sf(0), 6), round(post.sf(0.01), 6)
    (0.901307, 0.740131)
    >>> round(unpaired_difference(f1_posterior(40, 15, 10, prior=1), f1_posterior(50, 10, 5, prior=1)).sf(0), 6)
    0.031802
    """
    return UnpairedDifference(candidate, baseline)


class UnpairedDifference(Posterior):
    """candidate - baseline of two independent Beta variables, or of two F1s (functions of them).

    Formula: P(y - x > t) = P(x < -t) + integral of the density of x times P(y > x + t), over 0 < x + t < 1, by the tanh-sinh
    rule, which does not mind poles at the ends. x is the narrower of the two, so that the other factor is smooth on its scale.
    Assumes: independent samples. Error: about 1e-12 for the probabilities.
    Reference: TakahasiMori1974 for the rule; GoutteGaussier2005.
    """

    bottom = -1.0

    def __init__(self, candidate: BetaPosterior | F1Posterior, baseline: BetaPosterior | F1Posterior) -> None:
        if type(candidate) is not type(baseline):
            raise UsageError(
                f"Cannot compare a posterior of {candidate.metric} with one of {baseline.metric}.",
                got=f"{candidate.metric} and {baseline.metric}",
                need="the same metric",
            )
        self.negated = candidate.sd < baseline.sd
        self.x, self.y = (candidate, baseline) if self.negated else (baseline, candidate)
        self.metric, self.prior = candidate.metric, candidate.prior
        self.curved = isinstance(candidate, F1Posterior)
        self.reach = _reach(BetaPosterior(self.x.a, self.x.b))
        self._mean, self._sd = candidate.mean - baseline.mean, math.hypot(candidate.sd, baseline.sd)

    def _integral(self, law: Callable[[Any, Any], Any], t: float) -> float:
        """The integral of the density of x times law(u, 1 - u) over the x for which u = x + t is between 0 and 1."""
        ends = [min(max(v, 0.0), 1.0) for v in (-t, 1 - t)]
        ends = [v / (2 - v) for v in ends] if self.curved else ends  # F1 -> Jaccard
        low, high = max(self.reach[0], ends[0]), min(self.reach[1], ends[1])
        if not low < high:
            return 0.0
        s = np.linspace(-4.0, 4.0, 401)
        up, down = expit(math.pi * np.sinh(s)), expit(-math.pi * np.sinh(s))  # up + down = 1, each to its own last digit
        x, rest = low + (high - low) * up, (1 - high) + (high - low) * down
        weight = (high - low) * up * down * math.pi * np.cosh(s) * (s[1] - s[0])
        density = np.exp(log_density(self.x.a, self.x.b, x, rest))
        steep = [2 / ((1 + end) * (1 + x)) if self.curved else 1.0 for end in (low, high)]  # chords of F1 by Jaccard
        start = 0.0 if low == ends[0] and t <= 0 else self._value(low) + t
        stop = 0.0 if high == ends[1] and t >= 0 else 1 - t - self._value(high)
        other = law(start + (high - low) * up * steep[0], stop + (high - low) * down * steep[1])
        return float(np.sum(weight * np.where(weight > 0, density * other, 0.0)))

    def _value(self, x: float) -> float:
        return 2 * x / (1 + x) if self.curved else x

    def _density(self, u: Any, rest: Any) -> Any:
        if not self.curved:
            return np.exp(log_density(self.y.a, self.y.b, u, rest))
        return np.exp(log_density(self.y.a, self.y.b, u / (1 + rest), 2 * rest / (1 + rest))) * 2 / (1 + rest) ** 2

    def _above(self, t: float) -> float:
        """P(y - x > t)."""
        if t == 0 and (self.x.a, self.x.b) == (self.y.a, self.y.b):
            return 0.5
        return float(self.x.cdf(-t)) + self._integral(lambda u, _: self.y.sf(u), t)

    def _below(self, t: float) -> float:
        if t == 0 and (self.x.a, self.x.b) == (self.y.a, self.y.b):
            return 0.5
        return float(self.x.sf(1 - t)) + self._integral(lambda u, _: self.y.cdf(u), t)

    def _cdf(self, x: Any) -> Any:
        return np.vectorize((lambda d: self._above(-d)) if self.negated else self._below, otypes=[float])(x)

    def _sf(self, x: Any) -> Any:
        return np.vectorize((lambda d: self._below(-d)) if self.negated else self._above, otypes=[float])(x)

    def _pdf(self, x: Any) -> Any:
        sign = -1 if self.negated else 1
        return np.vectorize(lambda d: self._integral(self._density, sign * d), otypes=[float])(x)

    def _quantile(self, q: float) -> float:
        return _root(self, q)

    @property
    def mean(self) -> float:
        return self._mean

    @property
    def sd(self) -> float:
        return self._sd


class JointPosterior(SampledPosterior):
    """A difference known by draws."""

    @cached_property
    def better(self) -> float:
        """P(candidate better), draws without a difference by halves: identical systems give exactly 1/2."""
        return float(((np.sign(self.values) + 1) / 2).mean())


def joint_table_posterior(
    joint: JointCounts,
    statistic: Callable[[Margins], Any],
    *,
    metric: str,
    prior: float | Array = 0.5,
    draws: int = 10_000,
    seed: int = 0,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> JointPosterior:
    """Any statistic of the table (F1, macro F1, MCC ...) of two systems on the same items: candidate minus baseline.

    Model: one Dirichlet over truth x baseline x candidate. The prior mass of a truth does not grow with the K classes:
    prior/2 where both are right, prior/2 spread over the K-1 cells where only one is (for each of them), prior/2 over the
    (K-1)^2 cells where both are wrong. So each system alone has the posterior of `table_posterior`, and with two classes the
    accuracies have that of `difference_posterior`. An array of K x K x K pseudo-counts replaces the rule.
    Method: up to 48 cells a randomly shifted lattice, beyond it Gamma draws of PCG64, where the prior of a truth is one Gamma total
    broken into sticks on random cells. `error` states what is left. Swapping the systems negates every draw.
    Undefined: an error, when the statistic is undefined in a draw.
    Reference: Caelen2017 for the model; SloanJoe1994 for the lattice; Sethuraman1994 for the sticks.

    >>> from steelyard_old.metrics.table import F1, per_class
    >>> from steelyard_old.tally.joint import joint_table
    >>> cells = {(1, 1, 1): 40, (1, 0, 1): 6, (1, 1, 0): 2, (1, 0, 0): 5, (0, 1, 1): 6, (0, 0, 1): 1, (0, 1, 0): 4, (0, 0, 0): 136}
    >>> post = joint_table_posterior(joint_table(cells, ("no", "yes")), lambda m: per_class(F1, m)[..., 1], metric="f1")
    >>> round(post.better, 2), post.error < 0.002
    (0.97, True)
    """
    if joint.kind == "outcomes":
        need = "truths and predictions of both"
        raise DataError(
            f"The posterior of {metric} needs truths and predictions of both systems; there is only right or wrong.",
            got="right or wrong only",
            need=need,
            hint="use difference_posterior",
        )
    mirrored = joint.swapped()
    negated = _order(mirrored) < _order(joint)  # one orientation is drawn, so that the other is its exact negative
    if negated and isinstance(prior, np.ndarray):
        prior = prior.transpose(0, 2, 1)
    stream, parts = np.random.default_rng(seed), []
    for baseline, candidate in _margins(mirrored if negated else joint, prior, whole(draws, "the number of draws"), stream):
        value = np.asarray(statistic(candidate), float) - np.asarray(statistic(baseline), float)
        if undefined := int(np.isnan(value).sum()):
            got = f"{undefined} of {value.size} draws where it is undefined"
            hint = "a larger prior, or a statistic that skips absent classes"
            raise DataError(
                f"{metric} is undefined in {undefined} of {value.size} draws, so it has no posterior.", got=got, need="none", hint=hint
            )
        parts.append(value)
    values = np.concatenate(parts) * (-1 if negated else 1)
    values = values.reshape(-1, POINTS) if _few(joint) else values.reshape(BATCHES, -1)
    rule = not isinstance(prior, np.ndarray)
    if rule and mirrored == joint:
        values = np.hstack([values, -values])  # the law is symmetric, so the draws may be
    printed = f"Dirichlet({prior:g}/2 on both right, one right, the other, none)" if rule else "Dirichlet(given pseudo-counts)"
    return JointPosterior(values, metric=metric, prior=printed, bounds=bounds)


def _order(joint: JointCounts) -> list[tuple[int, int, int, int]]:
    return sorted(joint.cells())


def _few(joint: JointCounts) -> bool:
    return joint.classes**3 <= len(GENERATOR)


def _margins(joint: JointCounts, prior: float | Array, draws: int, stream: np.random.Generator) -> Iterator[tuple[Margins, Margins]]:
    """The margins of both systems in the drawn tables, a bounded number of variates at a time."""
    k, (t, a, b, count) = joint.classes, joint.arrays()
    shape = count.astype(float)
    a, b = np.minimum(a, k), np.minimum(b, k)  # a prediction outside the classes is an error without a prior of its own
    sticks = None if _few(joint) or isinstance(prior, np.ndarray) else 2 * prior_pair(prior)[0]
    if sticks is None:
        table = np.zeros((k, k + 1, k + 1))
        np.add.at(table, (t, a, b), shape)
        table[:, :k, :k] += prior if isinstance(prior, np.ndarray) else _rule(k, prior_pair(prior)[0])
        t, a, b = np.nonzero(table)
        shape = table[t, a, b]
    for gamma in _lattice_gammas(shape, draws, stream) if _few(joint) else _stream(shape, k if sticks else 0, draws, stream):
        truth = _sum_by(gamma, t, k)
        sides = [[_sum_by(gamma, np.where(x == t, t, k), k), _sum_by(gamma, x, k)] for x in (a, b)]
        if sticks:
            truth += (stick := _broken(sticks, len(gamma), k, stream)).sum(0)
            for side in sides:
                for margin, more in zip(side, _placed(stick, stream), strict=True):
                    margin += more
        baseline, candidate = (Margins(hit, truth, prediction, truth.sum(1)) for hit, prediction in sides)
        yield baseline, candidate


def _rule(k: int, prior: float) -> Array:
    """The pseudo-counts of K x K x K cells: 2 prior for each truth, half of it where a system is right, independently."""
    share = np.where(np.eye(k, dtype=bool), 0.5, 0.5 / max(k - 1, 1))
    return np.asarray(2 * prior * share[:, :, None] * share[:, None, :])


def _stream(shape: Array, rows_of_sticks: int, draws: int, stream: np.random.Generator) -> Iterator[Array]:
    left, most = math.ceil(draws / BATCHES) * BATCHES, max(1, CELL_DRAWS // (len(shape) + 60 * rows_of_sticks))
    while left > 0:
        yield stream.standard_gamma(shape, (min(most, left), len(shape)))
        left -= most


def _sum_by(gamma: Array, index: npt.NDArray[np.int64], k: int) -> Array:
    """Column sums by index 0 ... k-1; whatever has index k is left out."""
    order = np.argsort(index, kind="stable")
    present, first = np.unique(index[order], return_index=True)
    out = np.zeros((len(gamma), k + 1))
    out[:, present] = np.add.reduceat(gamma if (order[1:] > order[:-1]).all() else gamma[:, order], first, axis=1)
    return out[:, :k]


def _broken(mass: float, draws: int, k: int, stream: np.random.Generator) -> Array:
    """A Gamma(mass) total per draw and truth, broken into the sticks of a Dirichlet process; 1e-6 of it is on the last."""
    sticks = math.ceil(math.log(1e-6) / math.log(mass / (1 + mass)))
    rest = stream.random((sticks, draws, k))
    if mass != 1:
        rest **= 1 / mass
    np.cumprod(rest, axis=0, out=rest)
    rest[-1] = 0.0
    stick = np.empty_like(rest)
    np.subtract(1.0, rest[0], out=stick[0])
    np.subtract(rest[:-1], rest[1:], out=stick[1:])
    stick *= stream.standard_gamma(mass, (draws, k))
    return stick


def _placed(stick: Array, stream: np.random.Generator) -> tuple[Array, Array]:
    """Hits and predictions of one system when each stick falls on the right class or on a wrong one, evenly."""
    _, draws, k = stick.shape
    room = stream.random(stick.shape)  # worked on where it is: fresh memory costs more than the arithmetic
    right = room < 0.5
    stream.random(out=room)
    room *= k - 1
    place = room.astype(np.int64)  # how far beyond the next class a wrong answer lies
    place += 1
    place *= ~right
    place += np.arange(k)
    np.subtract(place, k, out=place, where=place >= k)
    place += np.arange(draws)[:, None] * k
    predictions: Array = np.bincount(place.ravel(), stick.ravel(), draws * k).reshape(draws, k).astype(float)
    return np.multiply(stick, right, out=room).sum(0), predictions
