"""Posteriors of any metric of a whole table, by Gamma draws of its cells: of one system, and of the difference of two on the same items."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.engines.certainty import Ends, NoAnswer
from steelyard.engines.posterior import Array, Posterior, Prior, prior_pair

Codes = npt.NDArray[np.integer[Any]]
Value = Callable[[Array], Array]  # of totals (draws, 3K+1): hits, truths and predictions of each class, n
BATCHES = 10  # parts of the stream: their spread is the stated error
MOST = 2e8  # random numbers of one posterior: seconds
HELD = 2_000_000  # random numbers held at once


class Drawn(Posterior):
    """A posterior known by draws, one row for each part of the stream. `error` is that of the less certain end of the 95% interval.

    The density is a Gaussian kernel estimate with Silverman's width: a picture, not a number to compute with.
    """

    exact = False

    def __init__(self, parts: list[Array], metric: str, prior: str, low: float, high: float) -> None:
        values = np.concatenate(parts).reshape(BATCHES, -1)
        if undefined := int(np.isnan(values).sum()):
            raise NoAnswer(f"undefined in {undefined:,} of {values.size:,} draws")
        self.metric, self.prior, self.bottom, self.top = metric, prior, low, high
        self.mean, self.sd, self.sorted = float(values.mean()), float(values.std()), np.sort(values, axis=None)
        ends = np.quantile(values, [0.025, 0.975], axis=1)
        self.spread = float(ends.std(axis=1, ddof=1).max())

    def _tail(self, x: Any, above: bool) -> Any:
        below = np.searchsorted(self.sorted, x, side="right")
        return (self.sorted.size - below if above else below) / self.sorted.size

    def _pdf(self, x: Any) -> Any:
        width = 0.9 * self.sd * self.sorted.size**-0.2
        bell = np.vectorize(lambda at: float(np.exp(-0.5 * ((self.sorted - at) / width) ** 2).mean()), otypes=[float])
        return bell(x) / (width * math.sqrt(2 * math.pi))

    def _quantile(self, q: float) -> float:
        return float(np.quantile(self.sorted, q))

    def _shortest(self, level: float) -> Ends:
        inside = min(math.ceil(level * self.sorted.size), self.sorted.size - 1)
        first = int(np.argmin(self.sorted[inside:] - self.sorted[: self.sorted.size - inside]))
        return float(self.sorted[first]), float(self.sorted[first + inside])

    @property
    def mode(self) -> float:
        return float(max(self.sorted[:: math.ceil(self.sorted.size / 200)], key=self._pdf))

    @property
    def error(self) -> float:
        return self.spread / math.sqrt(BATCHES)


def drawn(
    truth: Codes,
    prediction: Codes,
    count: npt.ArrayLike,
    classes: int,
    value: Value,
    *,
    prior: Prior = 0.5,
    draws: int = 10_000,
    seed: int = 0,
    metric: str = "",
    low: float = 0.0,
    high: float = 1.0,
) -> Drawn:
    """The posterior of a metric of the table whose cells these are; code `classes` stands for a prediction outside the classes.

    Each class has one prior for its right answers and one of the same size (or the second of a pair) shared by all its mistakes, so a
    recall has the same prior however many classes there are: a mass for each cell would drown the data. Outside there is no prior.

    >>> truth, prediction, count = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), [62, 5, 2, 31]
    >>> post = drawn(truth, prediction, count, 2, lambda m: m[:, :2].sum(1) / m[:, -1], metric="accuracy")
    >>> [round(x, 2) for x in post.interval()], post.error < 0.001
    ([0.86, 0.97], True)
    """
    right, wrong = prior_pair(prior)
    shape = np.hstack([_off(classes, wrong) + right * np.eye(classes), np.zeros((classes, 1))])
    np.add.at(shape, (truth, prediction), np.asarray(count, float))
    stream, parts = np.random.default_rng(seed), []
    for size in _blocks(shape.size, draws):
        cells = stream.standard_gamma(shape, (size, *shape.shape))
        hits, truths, predictions = np.einsum("dkk->dk", cells[:, :, :classes]), cells.sum(2), cells.sum(1)[:, :classes]
        parts.append(value(np.hstack([hits, truths, predictions, truths.sum(1, keepdims=True)])))
    return Drawn(parts, metric, f"Dirichlet({right:g} on each diagonal cell, {wrong:g}/(K-1) off it)", low, high)


def drawn_difference(
    truth: Codes,
    baseline: Codes,
    candidate: Codes,
    count: npt.ArrayLike,
    classes: int,
    value: Value,
    *,
    prior: float = 0.5,
    draws: int = 10_000,
    seed: int = 0,
    metric: str = "",
    low: float = -1.0,
    high: float = 1.0,
) -> Drawn:
    """The posterior of candidate minus baseline on the same items; each system alone has the posterior of `drawn`.

    The prior of a class is prior/2 for each of: both right, one right, the other, none. What it gives to a system's mistakes is shared by
    the wrong classes as in `drawn`, for each system on its own. Swapping the systems negates every draw.
    """
    prior, _ = prior_pair(float(prior))
    t, one, two, counts = (np.asarray(x).tolist() for x in (truth, baseline, candidate, count))
    cells, mirrored = sorted(zip(t, one, two, counts, strict=True)), sorted(zip(t, two, one, counts, strict=True))
    turned = mirrored < cells  # one orientation is drawn, so that the other is its exact negative
    table = np.array(min(cells, mirrored)).reshape(-1, 4).T
    hot = np.eye(classes + 1, classes)[table[:3].astype(int)]  # of truth, one, other: by cell and class; nowhere for a code outside
    stream, parts = np.random.default_rng(seed), []
    for size in _blocks(len(table[3]) + 2 * classes * classes, draws):
        weight = stream.standard_gamma(table[3], (size, len(table[3])))
        both, first, second, none = stream.standard_gamma(prior / 2, (4, size, classes))
        truths, values = weight @ hot[0] + both + first + second + none, []
        for side, right, wrong in ((hot[1], both + first, second + none), (hot[2], both + second, first + none)):
            share = stream.standard_gamma(_off(classes, prior), (size, classes, classes))
            share /= np.maximum(share.sum(2, keepdims=True), 1e-300)  # a prior near 0 can leave nothing to share
            predictions = weight @ side + right + np.einsum("dt,dtj->dj", wrong, share)
            values.append(value(np.hstack([weight @ (hot[0] * side) + right, truths, predictions, truths.sum(1, keepdims=True)])))
        rise = (values[1] - values[0]) * (-1 if turned else 1)
        parts.append(np.column_stack([rise, -rise]).ravel() if mirrored == cells else rise)  # a symmetric law has symmetric draws
    return Drawn(parts, metric, f"Dirichlet({prior:g}/2 on both right, one right, the other, none)", low, high)


def _off(classes: int, mass: float) -> Array:
    """The mass of each class, shared by the cells off the diagonal."""
    return (1 - np.eye(classes)) * (mass / max(classes - 1, 1))


def _blocks(numbers: int, draws: int) -> Iterator[int]:
    """How many tables of so many random numbers to draw at a time, ten parts of the stream in all."""
    if numbers * draws > MOST:
        raise NoAnswer(f"a posterior of {numbers:,} random numbers for each of {draws:,} draws is too large to draw")
    left = max(1, math.ceil(draws / BATCHES)) * BATCHES
    while left > 0:
        yield (size := min(left, max(1, HELD // numbers)))
        left -= size
