"""Lan-DeMets group-sequential tests on differences of items or groups: planned looks, alpha spent by information.

The statistic is self-normalised: Z = -sum u / sqrt(sum u^2), u = difference + margin. It cannot exceed the root of the number
of units that differ, so few units do not alarm early, and at the usual bounds it is Student's t in another dress. Where rare
large gains would make it alarm too often, their skewness is taken out of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.normal import wilson
from steelyard_old.infer.sequential.after_stopping import StoppedEstimate, drift_after
from steelyard_old.infer.sequential.brownian import Paths
from steelyard_old.infer.sequential.spending import design, spent

FloatArray = npt.NDArray[np.float64]
FEWEST = 5  # units before the first look: below that no variance is worth the name
UNKNOWN_RANGE = 50  # units before the first look where nobody has said how far a score can go
PRIOR_SHARE, PRIOR_UNITS = 0.1, 20  # before the first units the mean square is taken to be a tenth of the largest, worth 20 units
ENDS = ("regression", "pass", "exhausted")


class LanDeMets:
    """Has the candidate lost more than the margin? Fed with all differences so far, it says when that is decided.

    With theta, information decides how far the run has come: t = I / I_max, I = M^2 / sum u^2 over M items (the mean square
    shrunk to a tenth of the largest possible, worth 20 units), I_max = (drift / (theta - margin))^2 with the drift of the
    design; a look is due as t passes k / looks, and Z at or below the futility bound is a pass, which rules theta out at
    level 1 - beta. `variance`, that of a difference as known beforehand, takes the place of the mean square: then looks depend
    on n alone. `allowance` multiplies I_max, where skew differences cost power. Without theta t = n / n_max and there is no
    pass. Groups: one row (sum of differences, items) for each whole group; information is that of group sums.
    Assumes: units independent and in random order, their number enough for the normal law. alpha is asymptotic; measured
    .04 to .055, and .06 to .07 where rare gains are the long tail of adjusted differences (accuracy .1). Undefined: fewer
    than 5 units. Items that run out before a bound are "exhausted", which is no pass.
    Reference: LanDeMets1983; LanDeMets1989 for spending by estimated information; Efron1969 for the statistic;
    Hall1992 for its skewness; HwangShihDeCani1990.

    >>> test = LanDeMets(theta=0.1, score_range=(0, 1))
    >>> test.look(np.tile([0.25, -0.25, 0.0, 0.5, -0.5], 40))
    'pass'
    """

    name = "Lan-DeMets group-sequential"

    def __init__(
        self,
        *,
        theta: float | None = None,
        margin: float = 0.0,
        alpha: float = 0.05,
        beta: float = 0.2,
        n_max: int | None = None,
        looks: int = 20,
        spending: str = "obrien-fleming",
        futility: str = "hsd:0",
        binding: bool = True,
        score_range: tuple[float, float] | None = None,
        grouped: bool = False,
        variance: float | None = None,
        allowance: float = 1.0,
    ) -> None:
        if theta is None and n_max is None:
            raise UsageError(
                "The looks can only be planned with theta or the number of items.",
                got="neither theta nor the number of items",
                need="one of them",
            )
        if theta is not None and not theta > margin >= 0:
            raise UsageError(
                f"theta {theta:g} must be above the margin {margin:g}, and both at least 0.",
                got=f"theta {theta:g} and margin {margin:g}",
                need="theta above the margin, both from 0",
            )
        self.theta, self.margin, self.alpha, self.beta = theta, margin, alpha, beta
        self.n_max, self.spending, self.futility, self.binding = n_max, spending, futility, binding
        self.score_range, self.grouped, self.variance, self.allowance = score_range, grouped, variance, allowance
        self.boundaries = design(looks, alpha, beta, spending, "none" if theta is None else futility, binding)
        self.information = math.inf if theta is None else allowance * (self.boundaries.drift / (theta - margin)) ** 2
        self.decision = "continue"
        self.looks: tuple[Mapping[str, Any], ...] = ()
        self.alpha_spent = 0.0
        self.pass_level = None if theta is None else 1 - beta
        self._k = 0
        self._times: tuple[float, ...] = ()
        self._granted: tuple[float, ...] = ()
        self._lower: tuple[float, ...] = ()
        self._upper: tuple[float, ...] = ()
        self._last: tuple[float, float, float, int] = (0.0, 0.0, 0.0, 0)  # Z, the cautious Z, the standard error, units

    def look(self, differences: npt.ArrayLike, last: bool = False) -> str:
        """Continue, regression, pass or exhausted, after all the differences so far. `last`: there are no more."""
        sums, sizes = units(differences, self.grouped)
        n = len(sums)
        self._check(n)
        shifted = sums + self.margin * sizes
        squares, items = float(shifted @ shifted), float(sizes.sum())
        time = self._time(squares, items, n)
        complete = self.theta is not None and time >= 1
        k = sum(t <= time for t in self.boundaries.times)
        settled = self.score_range is not None or self.theta is None or self.variance is not None
        early = n < (FEWEST if settled else UNKNOWN_RANGE)
        if not last and (early or not (complete or k > self._k)):
            return "continue"
        if n <= self._last[3]:  # seen already, and now there are no more
            return self._end("exhausted")
        plain = -float(shifted.sum()) / math.sqrt(squares) if squares else 0.0
        z = cautious(plain, shifted)
        self._last = (plain, z, math.sqrt(squares) / items, n)
        upper, lower = self._bounds(max(k, self._k), time, n, complete, last)
        futile = (z if complete else plain) <= lower
        decision = "regression" if z >= upper else "pass" if futile else "exhausted" if last else "continue"
        self.looks = (
            *self.looks,
            {
                "n": n,
                "time": self._times[-1],
                "statistic": z,
                "upper": None if upper == math.inf else upper,
                "lower": None if lower == -math.inf else lower,
                "alpha_spent": self.alpha_spent,
                "decision": decision,
            },
        )
        return self._end(decision)

    def estimate(self) -> StoppedEstimate:
        """The difference per item after the end: median-unbiased, by stage-wise ordering."""
        if self.decision not in ENDS or not self._times:
            raise UsageError(
                "The run has not ended, so there is no estimate yet.",
                got="a run that has not ended",
                need="a look with last=True, or a bound reached",
            )
        plain, z, error, n = self._last
        level = 1 - 2 * self.alpha
        if error == 0:
            if self.score_range is None:
                words = "no difference was seen and the range of scores is not declared: nothing bounds the difference"
                return StoppedEstimate(
                    estimate=0.0 - self.margin,
                    low=None,
                    high=None,
                    confidence_level=level,
                    p_value=1.0,
                    method="stage-wise ordering",
                    warnings=(words,),
                )
            reach = wilson(0, n, level)[1] * self._width()  # what share of units may differ unseen, and by how much
            return StoppedEstimate(estimate=0.0, low=-reach, high=reach, confidence_level=level, p_value=1.0, method="stage-wise ordering")
        obeyed = tuple(-math.inf if look["decision"] == "pass" else b for look, b in zip(self.looks, self._lower, strict=True))
        found = drift_after(self._times, self._upper, obeyed, plain, self.alpha)
        # Where a pass might have been overruled, the evidence for a regression does not count on its having been obeyed.
        known = obeyed if self.binding else (-math.inf,) * len(obeyed)
        sure = found if self.binding and z == plain else drift_after(self._times, self._upper, known, z, self.alpha)
        return StoppedEstimate(
            estimate=-self.margin - found.estimate * error,
            low=-self.margin - found.high * error,
            high=-self.margin - sure.low * error,
            confidence_level=level,
            p_value=sure.p_value,
            method="stage-wise ordering, normal law",
        )

    def plan(self) -> dict[str, Any]:
        """All that must not change in the middle of a run."""
        return {
            "rule": "lan-demets",
            "theta": self.theta,
            "margin": self.margin,
            "alpha": self.alpha,
            "beta": self.beta,
            "n_max": self.n_max,
            "looks": len(self.boundaries.times),
            "spending": self.spending,
            "futility": None if self.theta is None else self.futility,
            "binding": self.binding,
            "range": None if self.score_range is None else list(self.score_range),
            "grouped": self.grouped,
            "variance": self.variance,
            "allowance": self.allowance,
        }

    def _time(self, squares: float, items: float, n: int) -> float:
        if self.theta is None:
            assert self.n_max is not None
            return n / self.n_max
        if self.variance is not None:
            return n / self.variance / self.information
        prior = 0.0 if self.score_range is None else PRIOR_SHARE * (self._width() * items / n) ** 2
        mean_square = (squares + PRIOR_UNITS * prior) / (n + (PRIOR_UNITS if prior else 0))
        return items * items / n / mean_square / self.information if mean_square else 0.0

    def _width(self) -> float:
        assert self.score_range is not None
        return self.score_range[1] - self.score_range[0]

    def _bounds(self, k: int, time: float, n: int, complete: bool, last: bool) -> tuple[float, float]:
        """The bounds of this look. Times of a design by information are the planned ones, which earlier looks share."""
        before = self._times[-1] if self._times else 0.0
        if complete:
            now = 1.0
        elif self.theta is None or last:
            now = time
        else:
            now = self.boundaries.times[k - 1]
        if now <= before:  # the variance has grown since: by items, then; or there is no information at all
            now = before * n / self.looks[-1]["n"] if self.looks else 1.0
        granted = self.alpha if last or complete else spent(self.spending, self.alpha, now)
        self._times, self._granted = (*self._times, now), (*self._granted, granted)
        obeyed = self._lower if self.binding else (-math.inf,) * len(self._lower)
        upper, self.alpha_spent, _ = _upper(self._times, self._granted, obeyed)
        lower = -math.inf
        if self.theta is not None and k:
            lower = upper if complete else min(self.boundaries.lower[k - 1], upper)
        self._k, self._upper, self._lower = k, (*self._upper, upper), (*self._lower, lower)
        return upper, lower

    def _end(self, decision: str) -> str:
        self.decision = decision
        return decision

    def _check(self, n: int) -> None:
        overruled = self.decision == "pass" and not self.binding and self._times[-1] < 1
        if self.decision in ENDS and not overruled:
            raise UsageError(
                f"This run has ended with {self.decision!r}; start a new LanDeMets.",
                got=f"a run that ended with {self.decision!r}",
                need="a new LanDeMets",
            )
        if n < self._last[3] or not n:
            raise not_all_so_far(n, self._last[3])


def not_all_so_far(given: int, seen: int, what: str = "differences") -> UsageError:
    """The error of a look at fewer values than an earlier look has seen.

    >>> print(not_all_so_far(5, 7))
    Pass all differences so far: 5 were given, 7 had been seen.
    """
    said = f"{given:,} were given, {seen:,} had been seen" if seen else "none were given"
    return UsageError(f"Pass all {what} so far: {said}.", got=f"{given} after {seen}", need=f"all {what} so far")


def cautious(z: float, values: FloatArray) -> float:
    """Z = -sum u / sqrt(sum u^2) without what positive skewness adds to its upper tail; unchanged where there is none.

    Formula: T = -Z, a = skewness / sqrt n, T' = ((1 + a T / 3)^3 - 1) / a + a / 6, Z' = min(Z, -T'): Hall's cubic, which is
    monotone. Only downwards: with few differing units, losses that happen to prevail look skew themselves.
    Reference: Hall1992.

    >>> round(cautious(2.0, np.array([-1.0] * 30 + [5.0] * 3)), 4), cautious(2.0, np.array([-1.0, 1.0]))
    (1.3296, 2.0)
    """
    away = values - values.mean()
    spread = float(away @ away) / len(away)
    if not spread > 0:
        return z
    a = float(np.mean(away**3)) / spread**1.5 / math.sqrt(len(away))
    return z if a <= 1e-9 else min(z, -(((1 - a * z / 3) ** 3 - 1) / a + a / 6))


@lru_cache(maxsize=4096)
def _upper(times: tuple[float, ...], granted: tuple[float, ...], lower: tuple[float, ...]) -> tuple[float, float, Paths]:
    """The upper bound of the last look, the alpha spent by then, and the paths that reach it; earlier looks are remembered."""
    if len(times) == 1:
        paths, used = Paths(times, 0.0), 0.0
    else:
        top, used, before = _upper(times[:-1], granted[:-1], lower[:-1])
        root = math.sqrt(times[-2])
        paths = Paths(times, 0.0, before.k, before.places, before.mass).between(min(lower[-1], top) * root, top * root)
    root = math.sqrt(times[-1])
    score = paths.upper(max(0.0, granted[-1] - used))
    return score / root, used + (paths.above(score, 0.0) if score < math.inf else 0.0), paths


def units(differences: npt.ArrayLike, grouped: bool) -> tuple[FloatArray, FloatArray]:
    """Sums and sizes of the units: items have size 1, groups are rows (sum of differences, items). Reference: CameronMiller2015."""
    rows = np.asarray(differences, float)
    if rows.ndim != (2 if grouped else 1) or (grouped and rows.shape[1] != 2):
        need = "one row (sum of differences, items) per whole group" if grouped else "one difference per item"
        raise UsageError(f"Pass {need}, not an array of shape {rows.shape}.", got=f"an array of shape {rows.shape}", need=need)
    if not np.all(np.isfinite(rows)):
        raise DataError(
            f"{int(np.sum(~np.isfinite(rows)))} differences are not finite.",
            got=f"{int(np.sum(~np.isfinite(rows)))} that are not finite",
            need="numbers",
        )
    if grouped and np.any(rows[:, 1] < 1):
        raise DataError("A group has less than one item.", got="a group of less than one item", need="whole groups")
    return (rows[:, 0], rows[:, 1]) if grouped else (rows, np.ones(len(rows)))
