"""The sequential McNemar test with a profile likelihood for the pass: alpha exact, beta kept however often it is looked at.

Of n items so far, `lost` were right before and are wrong now, `gained` the reverse; D = lost + gained disagree. The alarm is
that of an exact law: if nothing changed, each disagreement is a fair coin, so the law of the losses among the runs that have
not stopped is known for every rate of disagreement. The pass compares two likelihoods, each the largest that its hypothesis
allows: "no drop" and "a drop of theta". The second never believes in fewer disagreements than theta itself would make, so a
quiet start is no evidence beyond what it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.normal import STANDARD
from steelyard_old.infer.sequential.after_stopping import StoppedEstimate, difference_after
from steelyard_old.infer.sequential.sequential_binomial import LossDistribution
from steelyard_old.infer.sequential.sequential_mcnemar import (
    ENDS,
    PRIOR_DISAGREEMENTS,
    PRIOR_ITEMS,
    Look,
    check_theta,
    counts_of,
    items_at_most,
)
from steelyard_old.infer.sequential.spending import spent

VERSION = 1
SPENDING = "hsd:3"
KAPPA = 2.5  # the information at which the bounds meet, relative to a fixed design
OVERSHOOT, MOST_OVERSHOOT = 0.5, 0.2  # a batch carries the statistic beyond its bound: the bound gives that way, by a fifth at most
FEW, EXTRA = 0.6, 0.03  # added to the pass bound: over disagreements + 1, and always
SMALL_BETA, USUAL_BETA = 0.085, 0.2  # and per factor by which beta is below the usual one
USUAL_ALPHA = 0.05  # larger levels than the usual ones end no run sooner: a handful of items would be all that it rests on


def profile(n: int, lost: int, gained: int, theta: float) -> float:
    """Lambda: how much better "no drop" explains the counts than "a drop of theta", in nats.

    Formula: Lambda = ll0 - ll1; ll0 = D ln(D / 2n) + (n - D) ln(1 - D/n), the largest likelihood with as many losses as gains;
    ll1 = L ln(c + theta) + G ln c + (n - D) ln(1 - theta - 2c), the largest with shares c + theta and c of losses and gains:
    c = (q + sqrt(q^2 + 8 n G theta (1 - theta))) / 4n, q = D (1 - theta) - 2 G theta - 2 (n - D) theta. Without disagreements
    it is -n ln(1 - theta), the exact binomial. Reference: Wilks1938.

    >>> round(profile(80, 0, 0, 0.02), 6), round(profile(448, 20, 10, 0.02), 6)
    (1.616217, -1.680723)
    """
    disagreed = lost + gained
    agreed = n - disagreed
    q = disagreed * (1 - theta) - 2 * gained * theta - 2 * agreed * theta
    root = math.sqrt(q * q + 8 * n * gained * theta * (1 - theta))
    # With q below 0 the sum of the two would cancel.
    c = (q + root) / (4 * n) if q >= 0 else 2 * gained * theta * (1 - theta) / (root - q)
    c = min(c, (1 - theta) / 2)
    same = (disagreed * math.log(disagreed / (2 * n)) if disagreed else 0.0) + (agreed * math.log1p(-disagreed / n) if agreed else 0.0)
    drop = (lost * math.log(c + theta) if lost else 0.0) + (gained * math.log(c) if gained else 0.0)
    return same - drop - (agreed * math.log1p(-theta - 2 * c) if agreed else 0.0)


def overshoot(theta: float, step: int, squares: float, n: int) -> float:
    """What a batch of `step` items may carry the statistic beyond its bound. `squares`: disagreements, or the sum of squares."""
    return OVERSHOOT * theta * math.sqrt((step - 1) / max((squares + PRIOR_DISAGREEMENTS) / (n + PRIOR_ITEMS), theta))


def level_needed(alpha: float, beta: float) -> float:
    """ln((1 - alpha) / beta), alpha at most .05, and what small levels of beta need beyond it."""
    return math.log((1 - min(alpha, USUAL_ALPHA)) / beta) + (SMALL_BETA * math.log(USUAL_BETA / beta) if beta < USUAL_BETA else 0.0)


def pass_bound(n: int, disagreements: int, theta: float, step: int, alpha: float = 0.05, beta: float = 0.2) -> float:
    """The Lambda that a pass needs.

    Formula: B = ln((1 - alpha) / beta) + .03 + .085 ln(.2 / beta) if beta < .2, + .6 / (D + 1), less min(cut, .2 B), cut =
    .5 theta sqrt((step - 1) / max((D + 2) / (n + 20), theta)). Reference: Wald1947.

    >>> round(pass_bound(384, 19, 0.02, 32), 6)
    1.373935
    """
    bound = level_needed(alpha, beta) + EXTRA + FEW / (disagreements + 1)
    return bound - min(overshoot(theta, step, disagreements, n), MOST_OVERSHOOT * bound)


def information_needed(theta: float, alpha: float, beta: float, kappa: float = KAPPA) -> float:
    """kappa x (z_alpha + z_beta)^2 / theta^2, alpha at most .05 and beta at most .2."""
    return kappa * ((STANDARD.inv_cdf(min(alpha, USUAL_ALPHA)) + STANDARD.inv_cdf(min(beta, USUAL_BETA))) / theta) ** 2


class ProfileBoundsPath:
    """The bounds along one course of (n, disagreements); what the losses are plays no part in them."""

    __slots__ = ("alpha", "beta", "binding", "information", "law", "lower", "needed", "spent", "step", "theta", "tossed")

    def __init__(self, theta: float, alpha: float, beta: float, step: int, binding: bool) -> None:
        self.theta, self.alpha, self.beta, self.step, self.binding = theta, alpha, beta, step, binding
        self.information = information_needed(theta, alpha, beta)
        self.law = LossDistribution()
        self.tossed, self.spent, self.lower, self.needed = 0, 0.0, -1, math.inf

    def look(self, n: int, disagreements: int, last: bool) -> Look:
        """The bounds of this look."""
        time = n * (n + PRIOR_ITEMS) / (disagreements + PRIOR_DISAGREEMENTS) / self.information
        complete = time >= 1
        self.law.toss(disagreements - self.tossed, 0.5)
        self.tossed = disagreements
        # Whether this is the last look depends on n and D alone, so all that is left of alpha may be spent on it.
        granted = self.alpha if last or complete else spent(SPENDING, self.alpha, time)
        upper = self.law.smallest_tail(max(0.0, granted - self.spent))
        self.spent += self.law.at_least(upper)
        self.needed = pass_bound(n, disagreements, self.theta, self.step, self.alpha, self.beta)
        self.lower = self._few(n, disagreements)
        lower = upper - 1 if complete else min(self.lower, upper - 1)
        self.law.keep(lower + 1 if self.binding else 0, upper - 1)
        return Look(n=n, disagreements=disagreements, time=time, upper=upper, lower=lower, alpha_spent=self.spent, complete=complete)

    def _few(self, n: int, disagreements: int) -> int:
        """The most losses with which Lambda reaches the pass bound, -1 if none do: Lambda falls as losses take the place of gains."""
        lost = self.lower
        while lost < disagreements and profile(n, lost + 1, disagreements - lost - 1, self.theta) >= self.needed:
            lost += 1
        while lost >= 0 and profile(n, lost, disagreements - lost, self.theta) < self.needed:
            lost -= 1
        return lost


class ProfileMcNemar:
    """Has the candidate lost theta or more? Fed with all differences so far (-1, 0 or 1), it says when that is decided.

    Formula: regression if losses >= upper, the smallest number whose exact probability, among runs that have not stopped, fits
    what Hwang-Shih-DeCani spending (3) grants by t = n (n + 20) / (D + 2) / I, I = 2.5 (z_alpha + z_beta)^2 / theta^2; pass if
    `profile` reaches `pass_bound`; at t >= 1 the bounds meet. Both depend on the course of (n, D) alone. Assumes: items in
    random order, one answer each on both sides, independent items. alpha holds exactly, or below, for every rate of
    disagreement and every `step` (items between two looks). beta is computed, not proven: at most .2003 of .2 over theta .02 to
    .1, rates .02 to .2, steps 1 to 64. A pass rules out theta at level 1 - beta. Not binding: a pass may be overruled and the
    run goes on. `run` is binding, and loses no alpha by it, since nobody can overrule its passes: the model is asked no
    further, in suites and among candidates too, the journal goes with the pass, and the same command after that is a new run
    with new answers. Items that run out before a bound is reached are "exhausted", which is no pass.
    Reference: McNemar1947; LanDeMets1983; HwangShihDeCani1990; Wald1947.

    >>> rule = ProfileMcNemar(theta=0.2, step=43)
    >>> rule.look([0] * 40 + [1, -1, 1]), round(rule.estimate().estimate, 3), rule.looks[-1]["n"]
    ('pass', 0.021, 43)
    """

    name = "profile-likelihood McNemar"

    def __init__(self, *, theta: float, alpha: float = 0.05, beta: float = 0.2, step: int = 32, binding: bool = True) -> None:
        check_rates(alpha, beta, step)
        self.theta, self.alpha, self.beta, self.step, self.binding = check_theta(theta), alpha, beta, step, binding
        self.decision, self.alpha_spent = "continue", 0.0
        self.pass_level: float | None = 1 - beta
        self._course = ProfileBoundsPath(self.theta, alpha, beta, step, binding)
        self._history: list[tuple[int, int, int]] = []
        self._facts: list[Mapping[str, Any]] = []
        self._counts = (0, 0, 0)
        self._complete = False

    @property
    def looks(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self._facts)

    def look(self, differences: npt.ArrayLike, last: bool = False) -> str:
        """Continue, regression, pass or exhausted, after all the differences so far. `last`: there are no more."""
        n, lost, gained = counts_of(differences)
        self._check(n, lost, gained)
        self._counts = (n, lost, gained)
        bounds = self._course.look(n, lost + gained, last)
        self._complete = bounds.complete
        if lost >= bounds.upper:
            self.decision = "regression"
        elif lost <= bounds.lower:
            self.decision = "pass"
        else:
            self.decision = "exhausted" if last else "continue"
        # A pass that was overruled stopped nothing.
        obeyed = -1 if self.decision == "pass" and not self.binding else bounds.lower
        self._history.append((bounds.disagreements, obeyed, bounds.upper))
        self.alpha_spent = bounds.alpha_spent
        self._facts.append(
            {
                "n": n,
                "time": min(1.0, bounds.time),
                "disagreements": bounds.disagreements,
                "statistic": lost,
                "upper": bounds.upper,
                "lower": bounds.lower,
                "lambda": profile(n, lost, gained, self.theta),
                "needed": self._course.needed,
                "alpha_spent": bounds.alpha_spent,
                "decision": self.decision,
            }
        )
        return self.decision

    def estimate(self) -> StoppedEstimate:
        """The difference after the end: median-unbiased, by stage-wise ordering, exact given the disagreements."""
        if self.decision not in ENDS:
            raise UsageError(
                "The run has not ended, so there is no estimate yet.",
                got="a run that has not ended",
                need="a look with last=True, or a bound reached",
            )
        return difference_after(self._counts[0], self._history, self._counts[1], self.alpha, binding=self.binding, anytime=True)

    def plan(self) -> dict[str, Any]:
        """All that must not change in the middle of a run."""
        numbers = {"theta": self.theta, "alpha": self.alpha, "beta": self.beta, "step": self.step, "binding": self.binding}
        constants = {"overshoot": [OVERSHOOT, MOST_OVERSHOOT], "few": FEW, "extra": EXTRA, "small_beta": SMALL_BETA}
        return {"rule": "profile-mcnemar", "version": VERSION} | numbers | {"spending": SPENDING, "kappa": KAPPA, "constants": constants}

    def items_at_most(self, discordance: float, chance: float = 0.001) -> int:
        """The items by which the bounds meet, but for a share `chance` of the runs, if this share disagrees."""
        return items_at_most(self._course.information, discordance, self.step, chance)

    def _check(self, n: int, lost: int, gained: int) -> None:
        overruled = self.decision == "pass" and not self.binding and not self._complete
        if self.decision in ENDS and not overruled:
            raise UsageError(
                f"This run has ended with {self.decision!r}; start a new ProfileMcNemar.",
                got=f"a run that ended with {self.decision!r}",
                need="a new ProfileMcNemar",
            )
        before = self._counts
        if n < max(1, before[0]) or lost < before[1] or gained < before[2] or n - before[0] < lost + gained - before[1] - before[2]:
            raise UsageError(
                f"Pass all differences so far: {lost} lost and {gained} gained of {n} were given, "
                f"{before[1]} and {before[2]} of {before[0]} had been seen.",
                got=f"{lost} lost and {gained} gained of {n} after {before[1]} and {before[2]} of {before[0]}",
                need="all differences so far",
            )


def check_rates(alpha: float, beta: float, step: int) -> None:
    """Error rates and the items between two looks, refused where no rule can keep them."""
    for name, rate in (("alpha", alpha), ("beta", beta)):
        if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < 1:
            raise UsageError(f"cannot use {name}", got=repr(rate), need="a number strictly between 0 and 1")
    if alpha + beta >= 1:
        raise UsageError(
            f"alpha {alpha:g} and beta {beta:g} must add up to less than 1.",
            got=f"alpha {alpha:g} and beta {beta:g}",
            need="a sum below 1",
            hint="a coin does as well",
        )
    if isinstance(step, bool) or not isinstance(step, int) or step < 1:
        raise UsageError(
            f"step must be a whole number from 1, not {step!r}.", got=f"a look after every {step!r} items", need="a whole number from 1"
        )
