"""E-processes: capital of a bettor against "nothing changed", which may be looked at any time and stopped at will.

If the hypothesis is true no bettor can expect to win, so capital reaches 1/alpha with probability alpha at most, however often
it is looked at. No number of items and no looks need to be planned. Capitals of fresh items multiply; others must not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.sequential.after_stopping import StoppedEstimate
from steelyard_old.infer.sequential.lan_demets import ENDS, FloatArray, not_all_so_far, units

PRIOR_SQUARE, PRIOR_UNITS = 0.1, 20  # before the first units the mean square is taken to be a tenth of the largest, worth 20 units
LARGEST_BET = 0.5  # of the capital: no outcome can take more than all of it


class EProcess:
    """Two bettors on bounded differences: one against "no drop beyond the margin", one against "a drop of theta".

    Formula: x is a difference over the width of the range, in [-1, 1]; up = prod (1 - a_i (x_i + margin)), and 1/alpha is a
    regression; down = prod (1 + b_i (x_i + theta)), and 1/beta is a pass. Bets are predictable: a = min((theta - margin) / s,
    1/2), b = min((theta - margin) / (s + (theta - margin)^2), 1/2), s the mean square of x + margin so far, shrunk to .1 worth
    20 units. Without theta a = min(sqrt(2 log(1/alpha) / (s i log(1 + i))), 1/2) and there is no pass. Groups: rows of
    (sum of differences, items), divided by the items of the largest group, which must be known beforehand. The first of the
    two to get there decides, item by item. Assumes: units in random order with scores in the range, nothing else: alpha
    holds at any time for any law. The interval holds the differences against which the same bets have not won 1/alpha.
    Reference: WaudbySmithRamdas2024; Ville1939; GrunwaldDeHeideKoolen2024 for e-values.

    >>> test = EProcess(theta=0.1, score_range=(0, 1))
    >>> test.look(np.tile([0.25, -0.25, 0.0, 0.5, -0.5], 40))
    'pass'
    """

    name = "e-process"

    def __init__(
        self,
        *,
        score_range: tuple[float, float],
        theta: float | None = None,
        margin: float = 0.0,
        alpha: float = 0.05,
        beta: float = 0.2,
        largest_group: int | None = None,
    ) -> None:
        if not score_range[1] > score_range[0]:
            raise UsageError(
                "cannot use range", got=f"a range from {score_range[0]:g} to {score_range[1]:g}", need="a rising range of scores"
            )
        width = float(score_range[1] - score_range[0])
        if not 0 <= margin < width or (theta is not None and not margin < theta < width):
            raise UsageError(
                f"theta {theta!r} and margin {margin!r} do not fit scores {width:g} wide.",
                got=f"theta {theta!r} and margin {margin!r} with scores {width:g} wide",
                need="0 <= margin < theta < width",
            )
        self.score_range, self.theta, self.margin, self.alpha, self.beta = score_range, theta, margin, alpha, beta
        self.largest_group = largest_group
        self.looks: tuple[Mapping[str, Any], ...] = ()
        self.decision = "continue"
        self.alpha_spent = alpha  # all of it stands at any time
        self.pass_level = None if theta is None else 1 - beta
        self._width = width
        self._scale = width * (largest_group or 1)
        self._state = _Bets(alpha, None if theta is None else (theta - margin) / width, margin / width)
        self._seen = self._decided = 0
        self._kept: list[tuple[FloatArray, ...]] = []
        self._capital = np.zeros(2)  # logarithms of up and down
        self._best = 0.0

    def look(self, differences: npt.ArrayLike, last: bool = False) -> str:
        """Continue, regression, pass or exhausted, after all the differences so far. `last`: there are no more."""
        sums, sizes = units(differences, self.largest_group is not None)
        self._check(sums, sizes)
        x, q = sums[self._seen :] / self._scale, sizes[self._seen :] / (self.largest_group or 1)
        against_none, against_drop = self._state.bets(x, q)
        self._kept.append((x, q, against_none, against_drop))
        margin, theta = self.margin / self._width, (self.theta or 0.0) / self._width
        up = self._capital[0] + np.cumsum(np.log1p(-against_none * (x + margin * q)))
        down = self._capital[1] + np.cumsum(np.log1p(against_drop * (x + theta * q)))
        decision = self._decide(up, down)
        if len(x):
            self._capital = np.array([up[-1], down[-1]])
        self._seen = len(sums)
        if decision == "continue" and last:
            decision = "exhausted"
        self.decision = decision
        self.looks = (
            *self.looks,
            {
                "n": len(sums),
                "statistic": float(self._best),
                "upper": -math.log(self.alpha),
                "lower": None,
                "against_theta": None if self.theta is None else float(self._capital[1]),
                "alpha_spent": self.alpha,
                "decision": decision,
            },
        )
        return decision

    def _decide(self, up: FloatArray, down: FloatArray) -> str:
        alarmed = _first(up >= -math.log(self.alpha))
        passed = len(down) if self.theta is None else _first(down >= -math.log(self.beta))
        end = min(alarmed, passed, len(up) - 1)
        self._best = max(self._best, float(up[: end + 1].max(initial=0.0)))
        self._decided = self._seen + end + 1
        if alarmed == passed == len(up):
            return "continue"
        return "regression" if alarmed <= passed else "pass"

    def estimate(self) -> StoppedEstimate:
        """The mean of the items seen with the anytime interval: the differences that no bettor has ruled out, at any item."""
        if self.decision not in ENDS:
            raise UsageError(
                "The run has not ended, so there is no estimate yet.",
                got="a run that has not ended",
                need="a look with last=True, or a bound reached",
            )
        x, q, low_bets, high_bets = (np.concatenate(part)[: self._decided] for part in zip(*self._kept, strict=True))
        need = -math.log(self.alpha)

        def too_high(m: float) -> bool:  # m is ruled out from above: the bettor on a drop below it has won
            return bool(np.cumsum(np.log1p(low_bets * (m * q - x))).max() >= need)

        def too_low(m: float) -> bool:
            return bool(np.cumsum(np.log1p(high_bets * (x - m * q))).max() >= need)

        mean = float(x.sum() / q.sum())
        high = _edge(too_high, 1.0, mean)
        low = _edge(too_low, -1.0, mean)
        return StoppedEstimate(
            estimate=min(max(mean, low), high) * self._width,
            low=low * self._width,
            high=high * self._width,
            confidence_level=1 - 2 * self.alpha,
            p_value=math.exp(-self._best),
            method="anytime interval by betting, around the mean of the items seen",
        )

    def plan(self) -> dict[str, Any]:
        """All that must not change in the middle of a run."""
        return {
            "rule": "e-process",
            "theta": self.theta,
            "margin": self.margin,
            "alpha": self.alpha,
            "beta": self.beta,
            "range": list(self.score_range),
            "largest_group": self.largest_group,
        }

    def _check(self, sums: FloatArray, sizes: FloatArray) -> None:
        if self.decision in ENDS:
            raise UsageError(
                f"This run has ended with {self.decision!r}; start a new e-process.",
                got=f"a run that ended with {self.decision!r}",
                need="a new e-process",
            )
        if len(sums) < self._seen or not len(sums):
            raise not_all_so_far(len(sums), self._seen)
        new = slice(self._seen, None)
        if np.any(sizes[new] > (self.largest_group or 1)):
            raise DataError(
                f"A group has {sizes[new].max():g} items; at most {self.largest_group} were declared.",
                got=f"a group of {sizes[new].max():g} items",
                need=f"at most {self.largest_group}, as was said",
            )
        if np.any(np.abs(sums[new]) > self._width * sizes[new] * (1 + 1e-12)):
            raise DataError(
                f"A difference is larger than the range of the scores, [{self.score_range[0]:g}, {self.score_range[1]:g}], allows.",
                got="a difference beyond the range of scores",
                need=f"scores within [{self.score_range[0]:g}, {self.score_range[1]:g}]",
                hint="declare the range of the score",
            )


class _Bets:
    """Predictable bets: each rests on the units before it."""

    __slots__ = ("alpha", "effect", "margin", "n", "sizes", "squares")

    def __init__(self, alpha: float, effect: float | None, margin: float) -> None:
        self.alpha, self.effect, self.margin = alpha, effect, margin
        self.n, self.squares, self.sizes = 0, PRIOR_SQUARE * PRIOR_UNITS, 1.0

    def bets(self, x: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What to bet on a drop, and on its absence, for each of the new units."""
        i = self.n + np.arange(len(x))
        square = (x + self.margin * q) ** 2
        s = (self.squares + np.cumsum(square) - square) / (i + PRIOR_UNITS)
        size = (self.sizes + np.cumsum(q) - q) / (i + 1)
        self.n, self.squares, self.sizes = self.n + len(x), self.squares + float(square.sum()), self.sizes + float(q.sum())
        if self.effect is None:
            bet = np.sqrt(-2 * math.log(self.alpha) / (s * (i + 1) * np.log1p(i + 1)))
            return np.minimum(bet, LARGEST_BET), np.minimum(bet, LARGEST_BET)
        effect = self.effect * size
        return np.minimum(effect / s, LARGEST_BET), np.minimum(effect / (s + effect * effect), LARGEST_BET)


def _first(crossed: npt.NDArray[np.bool_]) -> int:
    """The place of the first crossing, or the length if there is none."""
    return int(crossed.argmax()) if crossed.any() else len(crossed)


def _edge(ruled_out: Callable[[float], bool], far: float, near: float) -> float:
    """The edge between values ruled out (towards `far`) and kept ones (`near`), to 1e-10; `far` if none is ruled out."""
    out = far * (1 - 1e-12)
    if not ruled_out(out):
        return far
    while abs(out - near) > 1e-10:
        middle = (out + near) / 2
        out, near = (middle, near) if ruled_out(middle) else (out, middle)
    return out
