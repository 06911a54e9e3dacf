"""Items as the answers on record show them: how often each was right, and how likely the next answer is to be.

From it follows the law of what a run sees: one new answer minus the mean on record, wherever a drop sits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
Law = tuple[tuple[float, float], ...]  # (value, probability)
PLACES = ("anywhere", "stable", "wavering")  # where right answers are lost
MOST_MIXED = 1 - 1e-9  # of the variance within items: items that do not differ at all have no Beta law


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswers:
    """Kinds of items: `right` of `answers` on record were right, `share` of the items are so, the next answer is right with `chance`."""

    right: tuple[int, ...]
    answers: tuple[int, ...]
    share: tuple[float, ...]
    chance: tuple[float, ...]

    @property
    def stored(self) -> FloatArray:
        """The mean on record of each kind."""
        return np.asarray(np.array(self.right) / np.array(self.answers), float)

    @property
    def wavering(self) -> npt.NDArray[np.bool_]:
        """Which kinds have been answered both ways."""
        return np.array([0 < m < n for m, n in zip(self.right, self.answers, strict=True)])

    @property
    def accuracy(self) -> float:
        """What the next answers are right in."""
        return float(np.array(self.share) @ np.array(self.chance))

    def dropped(self, theta: float, place: str = PLACES[0]) -> StoredAnswers | None:
        """The same items after a loss of theta in all right answers, or in those of stable, or of wavering items; None: too few are there.

        Formula: the chances of the items concerned are multiplied by one number. Reference: Wald1947.

        >>> round(beta_answers(0.75, 0.05, 4).dropped(0.02).accuracy, 12)
        0.73
        """
        share, chance = np.array(self.share), np.array(self.chance)
        concerned = {PLACES[0]: np.ones(len(share), bool), PLACES[1]: self.stored == 1.0, PLACES[2]: self.wavering}[place]
        there = float((share * chance)[concerned].sum())
        if theta > there:
            return None
        return self._with(np.where(concerned, chance * (1 - theta / there if there else 1.0), chance))

    def changed(self, part: float) -> StoredAnswers | None:
        """The same items when a share `part` of them was lost for good and as many gained, among those never answered otherwise."""
        share, chance, stored = np.array(self.share), np.array(self.chance), self.stored
        new = chance.copy()
        for end, way in ((1.0, -1.0), (0.0, 1.0)):
            concerned = stored == end
            left = float((share * (chance if end else 1 - chance))[concerned].sum())
            if part > left:
                return None
            new[concerned] += way * (chance if end else 1 - chance)[concerned] * (part / left if left else 0.0)
        return self._with(new)

    def law(self, factors: npt.ArrayLike | None = None) -> Law:
        """The law of (new answer - mean on record) / k where kinds are asked in proportion to share x k, k of mean 1 over the items.

        Formula: its mean is that of the differences over all items, whatever the factors. Reference: HorvitzThompson1952.
        """
        share, chance, stored = np.array(self.share), np.array(self.chance), self.stored
        k = np.ones(len(share)) if factors is None else np.asarray(factors, float)
        asked = share * k / float(share @ k)
        law: dict[float, float] = {}
        for right, chances in ((1.0, chance), (0.0, 1 - chance)):
            for x, p in zip(((right - stored) / k).round(12).tolist(), (asked * chances).tolist(), strict=True):
                law[x + 0.0] = law.get(x + 0.0, 0.0) + p
        return tuple(sorted((x, p) for x, p in law.items() if p > 0))

    def _with(self, chance: FloatArray) -> StoredAnswers:
        return StoredAnswers(right=self.right, answers=self.answers, share=self.share, chance=tuple(chance.tolist()))


def beta_answers(accuracy: float, churn: float, answers: int) -> StoredAnswers:
    """Items whose chances follow a Beta law with this mean, two answers to an item differing on a share `churn` of the items.

    Formula: a + b = s with s / (s + 1) = churn / (2 accuracy (1 - accuracy)); of `answers` on record m are right by the
    beta-binomial law, and the next is right with chance (a + m) / (s + answers). Undefined: churn of 2 accuracy (1 - accuracy) or
    more. Reference: Miller2024.

    >>> found = beta_answers(0.75, 0.05, 4)
    >>> round(found.accuracy, 12), round(float(found.wavering @ found.share), 4)
    (0.75, 0.0915)
    """
    s = _spread(accuracy, churn)
    m = np.arange(answers + 1)
    if s == 0:
        share = np.where(m == answers, accuracy, np.where(m == 0, 1 - accuracy, 0.0))
        chance = np.asarray(m / answers, float)
    else:
        from scipy.special import betaln, gammaln

        a, b = accuracy * s, (1 - accuracy) * s
        ways = gammaln(answers + 1) - gammaln(m + 1) - gammaln(answers - m + 1)
        share = np.asarray(np.exp(ways + betaln(a + m, b + answers - m) - betaln(a, b)), float)
        chance = np.asarray((a + m) / (s + answers), float)
    return StoredAnswers(
        right=tuple(m.tolist()),
        answers=(answers,) * (answers + 1),
        share=tuple((share / share.sum()).tolist()),
        chance=tuple(chance.tolist()),
    )


def recorded_answers(right: Sequence[int], answers: Sequence[int], churn: float | None = None) -> StoredAnswers:
    """The items of a record, `right` of `answers` each: shares as they are, chances drawn towards the mean as far as answers vary.

    Formula: chance = (s F + right) / (s + answers), F the mean of the items with as many answers, s as for `beta_answers` from the
    share of pairs of answers that differ; so the mean of the next answers is that on record. `churn` is needed where no item has
    two answers. Reference: Miller2024.

    >>> found = recorded_answers([4, 4, 3, 0], [4, 4, 4, 4])
    >>> round(found.accuracy, 12), [round(x, 3) for x in found.chance]
    (0.6875, [0.064, 0.744, 0.971])
    """
    m, n = np.asarray(right), np.asarray(answers)
    if len(m) != len(n) or not len(m) or np.any(m < 0) or np.any(m > n) or np.any(n < 1):
        raise UsageError(
            "Each item needs a number of answers of at least 1, and a number of right ones among them.",
            got="counts that are no answers",
            need="right answers, and answers, of each item",
        )
    several = n > 1
    if churn is None:
        if not several.any():
            raise UsageError(
                "One answer to an item does not say how much answers vary.",
                got="one answer to each item",
                need="two answers to some items, or the share of items on which two healthy runs differ",
                hint="record a second run of the same model",
            )
        churn = float((2 * m * (n - m) / np.maximum(n * (n - 1), 1))[several].mean())
    kinds, counts = np.unique(np.column_stack([n, m]), axis=0, return_counts=True)
    chance = np.empty(len(kinds))
    for size in np.unique(kinds[:, 0]):
        here = kinds[:, 0] == size
        stored = kinds[here, 1] / size
        mean = float(counts[here] @ stored / counts[here].sum())
        s = _spread(mean, min(churn, 2 * mean * (1 - mean) * MOST_MIXED)) if 0 < mean < 1 else 0.0
        chance[here] = (s * mean + kinds[here, 1]) / (s + size)
    return StoredAnswers(
        right=tuple(kinds[:, 1].tolist()),
        answers=tuple(kinds[:, 0].tolist()),
        share=tuple((counts / counts.sum()).tolist()),
        chance=tuple(chance.tolist()),
    )


def _spread(accuracy: float, churn: float) -> float:
    """a + b of the Beta law."""
    most = 2 * accuracy * (1 - accuracy)
    if not (0 < accuracy < 1 and 0 <= churn < most):
        raise UsageError(
            f"Two healthy runs cannot differ on {churn:g} of the items at an accuracy of {accuracy:g}.",
            got=f"{churn:g} at an accuracy of {accuracy:g}",
            need=f"less than {most:.4g}: answers that have nothing to do with the item differ so often",
        )
    mixed = churn / most
    return mixed / (1 - mixed)


def binned(values: npt.ArrayLike, width: float, bins: int = 128) -> Law:
    """The law of differences of scores, over the width of their range, on a grid that keeps their mean: each is split between neighbours.

    >>> binned([0.25, -0.25], 1.0, bins=4)
    ((-0.25, 0.5), (0.25, 0.5))
    """
    x = np.asarray(values, float) / width
    low, high = float(x.min()), float(x.max())
    if low == high:
        return ((low, 1.0),)
    grid = np.linspace(low, high, min(bins, 2 * len(x)) + 1)
    place = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, len(grid) - 2)
    part = (x - grid[place]) / (grid[place + 1] - grid[place])
    mass = np.bincount(place, weights=1 - part, minlength=len(grid)) + np.bincount(place + 1, weights=part, minlength=len(grid))
    return tuple((float(g), float(p) / len(x)) for g, p in zip(grid, mass, strict=True) if p > 0 and math.isfinite(g))
