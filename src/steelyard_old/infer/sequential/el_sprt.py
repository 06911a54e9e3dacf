"""The sequential test on differences of scores with a known range: one likelihood ratio, a bound on each side, a look whenever one likes.

The ratio is that of two empirical likelihoods on the declared range, so that failures and gains that nobody has seen yet count
as possible. A variance of what was seen would let rare total failures pass, and would alarm at rare gains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.sequential.after_stopping import StoppedEstimate
from steelyard_old.infer.sequential.empirical_likelihood import FloatArray, counted, evidence_against, log_ratio, lower_end, upper_end
from steelyard_old.infer.sequential.lan_demets import not_all_so_far
from steelyard_old.infer.sequential.profile_mcnemar import (
    FEW,
    MOST_OVERSHOOT,
    OVERSHOOT,
    SMALL_BETA,
    check_rates,
    information_needed,
    level_needed,
    overshoot,
)
from steelyard_old.infer.sequential.sequential_mcnemar import ENDS, PRIOR_DISAGREEMENTS, PRIOR_ITEMS

VERSION = 1
KAPPA = 4.0  # the information at which the middle of the bounds decides, relative to a fixed design
PASS_EXTRA, ALARM_EXTRA = 0.08, 0.1  # added to the bounds of Wald
STRICT = 0.1  # added to the alarm for each e-fold of alpha below USUAL: the likelihood ratio overshoots more in far tails
USUAL = 0.05
SETTLED = 2.0  # squares by which half of the overshoot is taken off the alarm: a law of -theta or +1 would else alarm too often
TOLERANCE = 1e-9  # of the range: what rounding may carry a difference beyond it


class EmpiricalLikelihoodSprt:
    """Has the candidate lost more than the margin? Fed with all differences so far, it says when that is decided.

    Formula: x = difference over the width of the range, in `ends`; Lambda = `evidence_against`(theta) - that against the
    margin. Pass at Lambda >= B = ln((1 - alpha) / beta) + .08 + .085 ln(.2 / beta) if beta < .2, + .6 / (1 + m), regression at
    Lambda <= -A, A = ln(1 / alpha) + .1 + .1 ln(.05 / alpha) if alpha < .05; m = sum (x + margin)^2 over the square of the
    upper end. A batch overshoots: B gives way by min(cut, .2 B), A by min(cut, .2 A) m / (m + 2), cut as for `pass_bound` with
    the sum of squares for D. At t = n (n + 20) / (sum of squares + 2) / I >= 1, I = 4 (z_alpha + z_beta)^2 / (theta -
    margin)^2, the middle of the two decides. Assumes: items independent and in random order, every difference in the range:
    without a range no rule can rule a drop out. alpha and beta were simulated, and are no theorem: at most .05 and .2 over rare
    falls, rare gains and benign noise. Items that run out before a bound is reached are "exhausted", which is no pass. After
    the end: the mean, with ends that hold after looks.
    Reference: Wald1947; Owen1988; BahadurSavage1956 for why a range is needed.

    >>> test = EmpiricalLikelihoodSprt(theta=0.1, score_range=(0, 1))
    >>> test.look(np.tile([0.25, -0.25, 0.0, 0.5, -0.5], 40))
    'pass'
    """

    name = "empirical-likelihood SPRT"

    def __init__(
        self,
        *,
        theta: float,
        margin: float = 0.0,
        alpha: float = 0.05,
        beta: float = 0.2,
        step: int = 32,
        binding: bool = True,
        score_range: tuple[float, float],
        ends: tuple[float, float] = (-1.0, 1.0),
    ) -> None:
        check_rates(alpha, beta, step)
        width = float(score_range[1] - score_range[0])
        if not 0 < width < math.inf:
            raise UsageError(
                "cannot use range", got=f"a range from {score_range[0]:g} to {score_range[1]:g}", need="a rising range of scores"
            )
        if not 0 <= margin < theta < width * -ends[0]:
            raise UsageError(
                f"theta {theta:g} and margin {margin:g} do not fit scores {width:g} wide.",
                got=f"theta {theta:g} and margin {margin:g} with scores {width:g} wide",
                need="0 <= margin < theta < the width of the range",
            )
        self.theta, self.margin, self.alpha, self.beta, self.step, self.binding = theta, margin, alpha, beta, step, binding
        self.score_range, self.ends = (float(score_range[0]), float(score_range[1])), (float(ends[0]), float(ends[1]))
        self.decision, self.alpha_spent = "continue", 0.0
        self.pass_level: float | None = 1 - beta
        self._width = width
        self.information = information_needed((theta - margin) / width, alpha, beta, KAPPA)
        self.alarm = -math.log(alpha) + ALARM_EXTRA + STRICT * max(0.0, math.log(USUAL / alpha))
        self.middle = (level_needed(alpha, beta) + PASS_EXTRA - self.alarm) / 2
        self._facts: list[Mapping[str, Any]] = []
        self._seen: tuple[FloatArray, FloatArray] = (np.zeros(0), np.zeros(0))
        self._complete = False

    @property
    def looks(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self._facts)

    def look(self, differences: npt.ArrayLike, last: bool = False) -> str:
        """Continue, regression, pass or exhausted, after all the differences so far. `last`: there are no more."""
        x = self._checked(differences)
        values, counts = counted(x)
        if values[0] < self.ends[0] or values[-1] > self.ends[1]:
            values = np.clip(values, *self.ends)  # an end that has more digits than are counted
        self._seen = (values, counts)
        shifted = values + self.margin / self._width
        squares = float(counts @ (shifted * shifted))
        lower, upper = self.bounds(len(x), squares)
        found = log_ratio(values, counts, self.theta / self._width, self.margin / self._width, *self.ends)
        time = len(x) * (len(x) + PRIOR_ITEMS) / (squares + PRIOR_DISAGREEMENTS) / self.information
        self._complete = time >= 1
        if found >= lower:
            self.decision = "pass"
        elif found <= -upper:
            self.decision = "regression"
        elif self._complete:
            self.decision = "pass" if found > self.middle else "regression"
        else:
            self.decision = "exhausted" if last else "continue"
        self.alpha_spent = self.alpha if self.decision in ENDS else 0.0
        self._facts.append(
            {
                "n": len(x),
                "time": min(1.0, time),
                "statistic": -found,
                "upper": upper,
                "lower": -lower,
                "lambda": found,
                "needed": lower,
                "alpha_spent": self.alpha_spent,
                "decision": self.decision,
            }
        )
        return self.decision

    def bounds(self, n: int, squares: float) -> tuple[float, float]:
        """The Lambda that a pass needs, and its negative that a regression needs."""
        m = squares / self.ends[1] ** 2
        lower = level_needed(self.alpha, self.beta) + PASS_EXTRA + FEW / (1 + m)
        upper = self.alarm
        cut = overshoot((self.theta - self.margin) / self._width, self.step, squares, n)
        return lower - min(cut, MOST_OVERSHOOT * lower), upper - min(cut, MOST_OVERSHOOT * upper) * m / (m + SETTLED)

    def estimate(self) -> StoppedEstimate:
        """The mean difference, with the ends that the empirical likelihood does not speak against by ln(1 / alpha)."""
        if self.decision not in ENDS:
            raise UsageError(
                "The run has not ended, so there is no estimate yet.",
                got="a run that has not ended",
                need="a look with last=True, or a bound reached",
            )
        values, counts = self._seen
        mean = float(counts @ values / counts.sum())
        margin = self.margin / self._width
        p_value = math.exp(-evidence_against(values, counts, margin, *self.ends)) if mean < -margin else 1.0
        # A mean of differences of scores is at most as wide as their range, though weighted ones go beyond it.
        low, high = (float(np.clip(end(values, counts, self.alpha, *self.ends), -1, 1)) for end in (lower_end, upper_end))
        if self.decision == "regression":  # at level alpha, though a batch may have gone beyond the bound by less than it gave way
            p_value, high = min(p_value, self.alpha), min(high, -margin)
        return StoppedEstimate(
            estimate=mean * self._width + 0.0,
            low=low * self._width,
            high=high * self._width + 0.0,
            confidence_level=1 - 2 * self.alpha,
            p_value=p_value,
            method="mean, with ends by empirical likelihood that hold after looks; p at most about",
        )

    def plan(self) -> dict[str, Any]:
        """All that must not change in the middle of a run."""
        return {
            "rule": "empirical-likelihood",
            "version": VERSION,
            "theta": self.theta,
            "margin": self.margin,
            "alpha": self.alpha,
            "beta": self.beta,
            "step": self.step,
            "binding": self.binding,
            "range": list(self.score_range),
            "ends": list(self.ends),
            "kappa": KAPPA,
            "constants": {
                "overshoot": [OVERSHOOT, MOST_OVERSHOOT],
                "few": FEW,
                "extra": [PASS_EXTRA, ALARM_EXTRA],
                "settled": SETTLED,
                "small_beta": SMALL_BETA,
                "small_alpha": STRICT,
            },
        }

    def _checked(self, differences: npt.ArrayLike) -> FloatArray:
        """The differences over the width of the range; those that are impossible, or fewer than before, are refused."""
        overruled = self.decision == "pass" and not self.binding and not self._complete
        if self.decision in ENDS and not overruled:
            raise UsageError(
                f"This run has ended with {self.decision!r}; start a new EmpiricalLikelihoodSprt.",
                got=f"a run that ended with {self.decision!r}",
                need="a new EmpiricalLikelihoodSprt",
            )
        given = np.asarray(differences, float)
        before = float(self._seen[1].sum())
        if given.ndim != 1 or len(given) < max(1.0, before):
            if given.ndim == 1:
                raise not_all_so_far(len(given), int(before))
            raise UsageError(
                f"Pass all differences so far as a list of numbers, not an array of shape {given.shape}.",
                got=f"an array of shape {given.shape}",
                need="all differences so far",
            )
        least, most = (float(end) / self._width for end in (given.min(), given.max()))
        if not (math.isfinite(least) and math.isfinite(most)):
            raise DataError(
                f"{int(np.sum(~np.isfinite(given)))} differences are not finite.",
                got=f"{int(np.sum(~np.isfinite(given)))} that are not finite",
                need="numbers",
            )
        if least < self.ends[0] - TOLERANCE or most > self.ends[1] + TOLERANCE:
            raise DataError(
                f"A difference is larger than the range of the scores, [{self.score_range[0]:g}, {self.score_range[1]:g}], allows.",
                got="a difference beyond the range of scores",
                need=f"scores within [{self.score_range[0]:g}, {self.score_range[1]:g}]",
                hint="declare the range of the score",
            )
        x: FloatArray = given / self._width
        return x if self.ends[0] <= least and most <= self.ends[1] else np.clip(x, *self.ends)
