"""The exact law of the losses among the items that disagree, carried from look to look among the runs that have not stopped."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
NOTHING = 1e-30  # of the largest term: what is smaller is not carried on


class LossDistribution:
    """The law of the losses among the runs that go on: mass[i] is the probability of start + i losses."""

    __slots__ = ("mass", "start")

    def __init__(self) -> None:
        self.start, self.mass = 0, np.ones(1)

    def toss(self, count: int, share: float) -> None:
        """Add `count` disagreements, each a loss with probability `share`."""
        if not count or not self.mass.size:  # no coin, or nobody left to toss it
            return
        first, terms = binomial_terms(count, share)
        mass = np.convolve(self.mass, terms)
        there = np.flatnonzero(mass > NOTHING * mass.max())
        if len(there):
            self.start += first + int(there[0])
            self.mass = mass[there[0] : there[-1] + 1]

    def total(self) -> float:
        return float(self.mass.sum())

    def at_least(self, losses: int) -> float:
        return float(self.mass[max(0, losses - self.start) :].sum())

    def at_most(self, losses: int) -> float:
        return float(self.mass[: max(0, losses + 1 - self.start)].sum())

    def smallest_tail(self, budget: float) -> int:
        """The smallest number of losses whose probability, or more losses, is within the budget."""
        tails = np.cumsum(self.mass[::-1])[::-1]
        return self.start + int(np.count_nonzero(tails > budget))

    def keep(self, low: int, high: int) -> None:
        """Only the runs with low..high losses go on."""
        a, b = max(0, low - self.start), max(0, high + 1 - self.start)
        self.mass = self.mass[a:b]
        self.start += a


@lru_cache(maxsize=4096)
def binomial_terms(count: int, share: float) -> tuple[int, FloatArray]:
    """The terms of a binomial law that are something, and the first number they are for."""
    from scipy.special import betaln, xlog1py, xlogy

    k = np.arange(count + 1)
    terms = np.exp(xlogy(k, share) + xlog1py(count - k, -share) - betaln(k + 1, count - k + 1) - math.log(count + 1))
    there = np.flatnonzero(terms > NOTHING * terms.max())
    return int(there[0]), terms[there[0] : there[-1] + 1]
