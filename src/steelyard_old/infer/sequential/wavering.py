"""Items whose answers on record waver are asked more often, and weighted back: the same question in fewer calls.

Of several answers on record to one item, either all are alike or they waver. A healthy model repeats itself on the first kind
and tosses a coin on the second, so that is where the noise is, and where a question tells most.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.sequential.profile_mcnemar import information_needed
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
FEWEST_ANSWERS = 4  # on record to each item: fewer do not tell which items waver
FACTORS = (2.0, 1.5)  # how many times as often a wavering item is asked; 3 and 4 gained nothing
ENOUGH = 2.0  # times the items of a fixed design: where fewer can be asked, a sequential one is too often left undecided


def answer_variance(right: npt.ArrayLike, answers: int) -> FloatArray:
    """How much one answer to an item varies, by its answers on record; 0 where they are all alike, so that the item is stable.

    Formula: m (R - m) / (R (R - 1)), m the right ones of R answers: the unbiased variance of one answer. Undefined: counts
    outside 0..R; R below 2. Reference: Miller2024.

    >>> answer_variance([0, 1, 3, 4], answers=4).tolist()
    [0.0, 0.25, 0.25, 0.0]
    """
    m = np.asarray(right, float).ravel()
    if answers < 2 or np.any(~np.isfinite(m)) or np.any((m < 0) | (m > answers)):
        raise DataError(
            f"The counts of right answers must lie between 0 and the {answers} answers on record, of which there are at least 2.",
            got=f"counts from {np.min(m, initial=np.inf):g} to {np.max(m, initial=-np.inf):g} of {answers}",
            need=f"numbers from 0 to {answers}",
        )
    return np.asarray(m * (answers - m) / (answers * (answers - 1.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveringStrata:
    """Two strata of a pool, stable and wavering, and how often an item of each is asked.

    Formula: a wavering item has the factor `factor`, a stable one 1, both divided by their mean over the pool, so that k has
    mean 1. With u uniform on (0, 1) for each item, items are asked in the order of u / k: those with u / k <= t are a sample
    into which each item comes with chance t k, independently, as long as t <= 1 / max k; there the wavering items are all
    asked, and what follows would no longer be in proportion, so the run ends. x = (y - m/R) / k has the mean of y - m/R over
    the pool whatever items changed (Horvitz and Thompson), and lies within `ends`. Stable items that are wrong are never asked
    less: a rare gain among them would weigh too much. Assumes: one record, fixed before the run. Claims: E x = -drop, on
    average over records and orders. Reference: Ohlsson1998; HorvitzThompson1952; Neyman1934.

    >>> strata = WaveringStrata(answers=4, stable=1500, wavering=500)
    >>> strata.mean, strata.factors, strata.ends
    (1.25, (0.8, 1.6), (-1.25, 1.25))
    >>> strata.sizes
    {'stable': 1500, 'wavering': 500}
    """

    answers: int
    stable: int
    wavering: int
    factor: float = FACTORS[0]

    def __post_init__(self) -> None:
        if self.answers < 1 or self.stable < 0 or self.wavering < 0 or not self.stable + self.wavering or not 1 <= self.factor < np.inf:
            raise UsageError(
                "Asking unstable items more often takes items, answers on record, and a factor of at least 1; "
                f"got {self.stable} stable and {self.wavering} unstable items, {self.answers} answers, factor "
                f"{self.factor:g}.",
                got=f"{self.stable} stable and {self.wavering} unstable items, {self.answers} answers, factor {self.factor:g}",
                need="items, answers on record, and a factor of at least 1",
            )

    @property
    def sizes(self) -> dict[str, int]:
        """Items of each stratum."""
        return {"stable": self.stable, "wavering": self.wavering}

    @property
    def mean(self) -> float:
        """The mean of the factors 1 and `factor` over the pool."""
        return (self.stable + self.factor * self.wavering) / (self.stable + self.wavering)

    @property
    def factors(self) -> tuple[float, float]:
        """k of a stable and of a wavering item: how often it is asked, relative to the mean of the pool."""
        return 1 / self.mean, self.factor / self.mean

    @property
    def ends(self) -> tuple[float, float]:
        """Between which x lies, for differences of scores from -1 to 1."""
        far = max(1.0, *(1 / k for k, size in zip(self.factors, self.sizes.values(), strict=True) if size))
        return -far, far

    @property
    def askable(self) -> float:
        """How many items are asked on average before the wavering ones run out."""
        stable, often = self.factors
        return self.wavering + self.stable * stable / often if self.wavering else float(self.stable)

    def k(self, wavering: npt.ArrayLike) -> FloatArray:
        """k of each item."""
        stable, often = self.factors
        return np.where(np.asarray(wavering, bool), often, stable)

    def order(self, fractions: npt.ArrayLike, wavering: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], int]:
        """Where the items stand in the order of u / k, and how many of them can be asked before the wavering ones run out.

        `fractions` are the u of the items, each uniform on (0, 1): of equal factors the order is that of u.

        >>> places, enough = WaveringStrata(answers=4, stable=2, wavering=2).order([0.9, 0.5, 0.6, 0.8], [False, False, True, True])
        >>> places.tolist(), enough
        ([2, 3, 1, 0], 3)
        """
        u, k = np.asarray(fractions, float), self.k(wavering)
        if len(u) != len(k) or np.any((u <= 0) | (u >= 1)):
            raise UsageError(
                f"Each item needs a number in (0, 1): there are {len(u)} for {len(k)} items.",
                got=f"{len(u)} fractions for {len(k)} items",
                need="a number in (0, 1) for each",
            )
        keys = u / k
        return np.argsort(keys, kind="stable"), int(np.sum(keys <= 1 / max(1.0, float(k.max()))))

    def weighted(self, differences: npt.ArrayLike, wavering: npt.ArrayLike) -> FloatArray:
        """x: the differences, each over k of its item.

        >>> WaveringStrata(answers=4, stable=1500, wavering=500).weighted([-1.0, 0.25], [False, True]).tolist()
        [-1.25, 0.15625]
        """
        return np.asarray(np.asarray(differences, float) / self.k(wavering))


def items_needed(strata: WaveringStrata, variance: npt.ArrayLike, theta: float, alpha: float = 0.05, beta: float = 0.2) -> float:
    """About how many items a fixed design needs to find a drop of theta, if they are asked by these strata.

    Formula: (z_alpha + z_beta)^2 s / theta^2, s = (1 + 1/R) mean(v / k) + theta max(1 / k): the noise of one answer against
    the mean of R on record, and a drop that falls on stable items. `variance` v is that of each item of the pool
    (`answer_variance`) in units of the range, as is theta. Reference: Neyman1934; Miller2024.

    >>> plain = WaveringStrata(answers=4, stable=90, wavering=10, factor=1.0)
    >>> twice = WaveringStrata(answers=4, stable=90, wavering=10)
    >>> v = [0.0] * 90 + [0.25] * 10
    >>> round(items_needed(plain, v, 0.02)), round(items_needed(twice, v, 0.02))
    (792, 606)
    """
    v = np.asarray(variance, float)
    noise = (1 + 1 / strata.answers) * float(np.mean(v / strata.k(v > 0))) + theta * strata.ends[1]
    return information_needed(theta, alpha, beta, 1.0) * noise


def strata_of(variance: npt.ArrayLike, answers: int, *, theta: float, alpha: float = 0.05, beta: float = 0.2) -> WaveringStrata:
    """The strata of a pool, and the factor by which its wavering items are asked more often: 2, 1.5, or 1 where they are too few.

    Formula: of 1, 1.5 and 2 the one that needs the fewest items (`items_needed`), among those at which twice as many can be
    asked before the wavering items run out; 1 where none can. In a pool of 1,319 items with R = 4, churn .05 and theta .02
    the factor 2 finds a drop on stable items in .67 of the runs and 1.5 in .74, since .16 and .11 of them run out; 1 finds it
    in .80, which is what beta promises. Of 2,000 items 1.5 keeps .79. Undefined: fewer than four answers on record.
    Reference: Neyman1934; Ohlsson1998.

    >>> strata_of([0.0] * 2700 + [0.25] * 300, answers=4, theta=0.02)
    WaveringStrata(answers=4, stable=2700, wavering=300, factor=2.0)
    >>> [strata_of([0.0] * (9 * n) + [0.25] * n, answers=4, theta=0.02).factor for n in (100, 200)]
    [1.0, 1.5]
    """
    v = np.asarray(variance, float).ravel()
    if answers < FEWEST_ANSWERS:
        raise UsageError(
            f"{answers} {'answer' if answers == 1 else 'answers'} on record to each item cannot tell which items are unstable; "
            f"at least {FEWEST_ANSWERS} are needed.",
            got=f"{answers} on record to each item",
            need=f"at least {FEWEST_ANSWERS}",
        )
    if not len(v) or np.any(~np.isfinite(v)) or np.any(v < 0):
        raise DataError(
            "The variance of each item must be a number from 0.",
            got="variances that are no numbers from 0",
            need="the variance of each item",
        )
    wavering = int(np.sum(v > 0))
    alike = WaveringStrata(answers=answers, stable=len(v) - wavering, wavering=wavering, factor=1.0)
    apart = [replace(alike, factor=factor) for factor in FACTORS]
    lasting = [strata for strata in apart if strata.askable >= ENOUGH * items_needed(strata, v, theta, alpha, beta)]
    return min([alike, *lasting], key=lambda strata: items_needed(strata, v, theta, alpha, beta))
