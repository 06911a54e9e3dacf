"""A score that wanders like a Brownian motion, seen at several looks: its density among the paths that have not stopped."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.normal import STANDARD

FloatArray = npt.NDArray[np.float64]
REACH = 7.5  # standard deviations beyond which the score is not followed: 3e-14 of its paths
NEGLIGIBLE = 1e-13  # a look that could spend less than this has no bound; what it leaves is spent at the next


class Paths:
    """The score at one look, of the paths that reached it: sums over where they were at the look before.

    `mass` is the quadrature weight times the density at `places`, without drift; before the first look all are at 0.
    """

    __slots__ = ("drift", "k", "mass", "places", "step", "times")

    def __init__(
        self, times: tuple[float, ...], drift: float, k: int = 0, places: FloatArray | None = None, mass: FloatArray | None = None
    ) -> None:
        self.times, self.drift, self.k = times, drift, k
        self.places = np.zeros(1) if places is None else places
        self.mass = np.ones(1) if mass is None else mass
        self.step = times[k] - (times[k - 1] if k else 0.0)

    def above(self, bound: float, drift: float) -> float:
        """P(this look is reached, and the score is at or above the bound)."""
        return self._below(-bound, -self.places, self._weighed(drift), -drift)

    def below(self, bound: float, drift: float) -> float:
        return self._below(bound, self.places, self._weighed(drift), drift)

    def upper(self, probability: float) -> float:
        """The bound that is reached from below with this probability if there is no drift."""
        return -self._quantile(-self.places, self.mass, 0.0, probability)

    def lower(self, probability: float, drift: float) -> float:
        return self._quantile(self.places, self._weighed(drift), drift, probability)

    def between(self, bottom: float, top: float) -> Paths:
        """The paths that go on to the next look: those with a score between the bounds."""
        t, after = self.times[self.k], self.times[self.k + 1]
        reach = REACH * math.sqrt(t)
        low, high = max(bottom, min(0.0, self.drift * t) - reach), min(top, max(0.0, self.drift * t) + reach)
        finest = math.sqrt(min(self.step, after - t))
        points, weights = _legendre(min(400, 8 * math.ceil(2 + 0.4 * (high - low) / finest)))
        places = low + (high - low) * points
        density = np.exp((places[:, None] - self.places) ** 2 * (-0.5 / self.step)) @ self.mass
        mass = density * weights * ((high - low) / math.sqrt(2 * math.pi * self.step))
        return Paths(self.times, self.drift, self.k + 1, places, mass)

    def _weighed(self, drift: float) -> FloatArray:
        before = self.times[self.k - 1] if self.k else 0.0
        return self.mass if drift == 0 else self.mass * np.exp(drift * self.places - drift * drift * before / 2)

    def _below(self, bound: float, places: FloatArray, mass: FloatArray, drift: float) -> float:
        from scipy.special import ndtr

        return float(mass @ ndtr((bound - places - drift * self.step) / math.sqrt(self.step)))

    def _quantile(self, places: FloatArray, mass: FloatArray, drift: float, probability: float) -> float:
        """Where the mass below is `probability`: Newton on its logarithm, which is concave, from the left of the root."""
        total = float(mass.sum())
        if probability < NEGLIGIBLE:
            return -math.inf
        if probability >= total:
            return math.inf
        spread = math.sqrt(self.step)
        centres = places + drift * self.step
        # All the mass at the leftmost place has its quantile to the left of ours.
        x = float(centres.min()) + spread * STANDARD.inv_cdf(max(probability / total, 1e-300))
        for _ in range(100):
            here = self._below(x, places, mass, drift)
            if here <= 0:  # so far out that nothing is left of the tail: come closer
                x += spread
                continue
            slope = float(mass @ np.exp(-0.5 * ((x - centres) / spread) ** 2)) / (spread * math.sqrt(2 * math.pi))
            change = math.log(probability / here) * here / slope
            x += change
            if abs(change) < 1e-13 * (1 + abs(x)):
                break
        return x


@cache
def _legendre(count: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights of the Gauss-Legendre rule on 0..1."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return (points + 1) / 2, weights / 2
