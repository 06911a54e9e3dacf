"""The exact group-sequential McNemar test: items in random order, looked at batch by batch, stopped as soon as it is decided.

Of n items so far, `lost` were right before and are wrong now, `gained` the reverse; D = lost + gained disagree. If nothing
changed, each disagreement is a fair coin, whatever their number: so the looks, and how far the information has come, may
depend on n and D, and the law of the losses among the runs that have not stopped stays exact for every rate of
disagreement, which nobody has to know beforehand. Only what a run costs depends on that rate.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.sequential.sequential_binomial import LossDistribution
from steelyard_old.infer.sequential.spending import Boundaries, design, spent
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
ALPHA_SPENDING = "hsd:-1"
BETA_SPENDING = "hsd:0"
ALLOWANCE = 1.06  # more information than a normal statistic needs: what whole counts lose, bought back
PRIOR_DISAGREEMENTS, PRIOR_ITEMS = 2, 20  # before the first items the rate of disagreement is taken to be 10%, worth 20 items
ENDS = ("regression", "pass", "exhausted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look: stop for a regression if lost >= upper, for futility if lost <= lower.

    `time` is the share of the planned information, `alpha_spent` what all looks so far could alarm falsely with.
    """

    n: int
    disagreements: int
    time: float
    upper: int
    lower: int
    alpha_spent: float
    complete: bool  # all the information planned for: the bounds meet
    decision: str = "continue"


class SequentialMcNemar:
    """Has the candidate lost theta or more? Fed with running totals, it says when that is decided.

    Formula: information time t = n / rate / I, rate = (D + 2) / (n + 20), I = 1.06 x inflation x (z_alpha + z_beta)^2 / theta^2.
    At a look the upper bound is the smallest number of losses whose exact probability, among runs that have not stopped,
    fits what Hwang-Shih-DeCani spending (-1) grants by t; the lower one is floor((D + l_k sqrt max(D, 1)) / 2), l_k the
    futility bound of the normal design. Assumes: items in random order (sorted items alarm falsely nearly always), one
    answer each on both sides, independent items. alpha holds exactly, or below: counts are whole numbers. A pass rules
    out theta at the level 1 - beta. Not binding: a pass may be overruled and the run goes on. Items that run out before
    a bound is reached are "exhausted", which is no pass. Reference: McNemar1947; LanDeMets1983; HwangShihDeCani1990.

    >>> test = SequentialMcNemar(0.02)
    >>> [test.look(n, lost, gained) for n, lost, gained in ((32, 1, 0), (64, 1, 1), (256, 5, 6), (448, 8, 13))]
    ['continue', 'continue', 'continue', 'pass']
    """

    def __init__(self, theta: float, alpha: float = 0.05, beta: float = 0.2, *, looks: int = 20, binding: bool = True) -> None:
        self.theta, self.alpha, self.beta, self.binding = check_theta(theta), alpha, beta, binding
        self.boundaries = design(looks, alpha, beta, ALPHA_SPENDING, BETA_SPENDING, binding)
        self.information = information_for(theta, self.boundaries)
        self.decision = "continue"
        self.history: tuple[Look, ...] = ()
        self._course = BoundsPath(self.boundaries, self.information)
        self._seen = (0, 0, 0)

    def look(self, n: int, lost: int, gained: int, last: bool = False) -> str:
        """Continue, regression, pass or exhausted, after n items. `last`: there are no more."""
        self._check(n, lost, gained)
        self._seen = (n, lost, gained)
        look = self._course.look(n, lost + gained, last)
        if look is None:
            return "continue"
        if lost >= look.upper:
            self.decision = "regression"
        elif lost <= look.lower:
            self.decision = "pass"
        else:
            self.decision = "exhausted" if last else "continue"
        fields = {name: getattr(look, name) for name in look.__slots__ if name != "decision"}
        self.history = (*self.history, Look(**fields, decision=self.decision))
        return self.decision

    @property
    def alpha_spent(self) -> float:
        return self.history[-1].alpha_spent if self.history else 0.0

    def items_at_most(self, discordance: float, batch: int = 32, chance: float = 0.001) -> int:
        """The items by which all information is in, but for a share `chance` of the runs, if this share disagrees.

        >>> SequentialMcNemar(0.02).items_at_most(0.07)
        1888
        """
        return items_at_most(self.information, discordance, batch, chance)

    def _check(self, n: int, lost: int, gained: int) -> None:
        over = self.decision in ENDS and not (self.decision == "pass" and not self.binding and not self.history[-1].complete)
        if over:
            raise UsageError(
                f"This run has ended with {self.decision!r}; start a new SequentialMcNemar.",
                got=f"a run that ended with {self.decision!r}",
                need="a new SequentialMcNemar",
            )
        counts = (n, lost, gained)
        if any(isinstance(c, bool) or not isinstance(c, (int, np.integer)) or c < 0 for c in counts) or lost + gained > n or n < 1:
            raise UsageError(
                f"lost, gained and n must be whole numbers, with lost + gained at most n; got {lost} lost and {gained} gained of {n}.",
                got=f"{lost} lost and {gained} gained of {n}",
                need="whole numbers, lost + gained <= n",
            )
        before = self._seen
        if any(now < then for now, then in zip(counts, before, strict=True)) or n - before[0] < lost + gained - before[1] - before[2]:
            raise UsageError(
                f"Pass running totals over all items so far: {lost} lost and {gained} gained of {n} were given, "
                f"{before[1]} and {before[2]} of {before[0]} had been seen.",
                got=f"{lost} lost and {gained} gained of {n} after {before[1]} and {before[2]} of {before[0]}",
                need="running totals over all items so far",
            )


class BoundsPath:
    """The bounds along one course of (n, disagreements); what the losses are plays no part in them."""

    __slots__ = ("boundaries", "information", "k", "law", "spent", "tossed")

    def __init__(self, boundaries: Boundaries, information: float) -> None:
        self.boundaries, self.information = boundaries, information
        self.k = 0  # looks of the design that have been passed
        self.law = LossDistribution()
        self.tossed, self.spent = 0, 0.0

    def look(self, n: int, disagreements: int, last: bool) -> Look | None:
        """The bounds of this look, or None if none is due."""
        plan = self.boundaries
        time = n * (n + PRIOR_ITEMS) / (disagreements + PRIOR_DISAGREEMENTS) / self.information
        complete = time >= 1
        if not (complete or last) and time < plan.times[self.k]:
            return None
        while self.k < len(plan.times) and plan.times[self.k] <= time:
            self.k += 1
        self.law.toss(disagreements - self.tossed, 0.5)
        self.tossed = disagreements
        # Whether this is the last look depends on n and D alone, so all that is left of alpha may be spent on it.
        granted = spent(ALPHA_SPENDING, plan.alpha, 1.0 if last else min(1.0, time))
        upper = self.law.smallest_tail(max(0.0, granted - self.spent))
        self.spent += self.law.at_least(upper)
        lower = upper - 1 if complete else min(self._futile(disagreements), upper - 1)
        self.law.keep(lower + 1 if plan.binding else 0, upper - 1)
        return Look(n=n, disagreements=disagreements, time=time, upper=upper, lower=lower, alpha_spent=self.spent, complete=complete)

    def _futile(self, disagreements: int) -> int:
        """Losses so few that theta is given up; -1 for none. Between two looks of the design the earlier bound holds."""
        if self.k == 0:
            return -1
        bound = self.boundaries.lower[self.k - 1]
        # Without disagreements a root of 0 would give up at once, however few the items.
        return max(-1, math.floor((disagreements + bound * math.sqrt(max(1, disagreements))) / 2))


def items_at_most(information: float, rate: float, batch: int, chance: float) -> int:
    """The first batch by which P(information not complete) is at most `chance`: D ~ Binomial(n, rate) is too large still."""
    from scipy.special import bdtrc

    if not 0 <= rate <= 1 or not 0 < chance < 1 or batch < 1:
        raise UsageError(
            f"discordance and chance must lie between 0 and 1, and batch must be at least 1; got {rate!r}, {chance!r} and {batch!r}.",
            got=f"discordance {rate!r}, chance {chance!r}, batch {batch!r}",
            need="shares between 0 and 1, a batch from 1",
        )

    def short(batches: int) -> bool:
        n = batches * batch
        enough = math.floor(n * (n + PRIOR_ITEMS) / information) - PRIOR_DISAGREEMENTS  # complete with so many, or fewer
        return enough < n and (enough < 0 or float(bdtrc(enough, n, rate)) > chance)

    few, many = 0, 1
    while short(many):
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if short(middle) else (few, middle)
    return many * batch


def outcomes(differences: npt.ArrayLike) -> FloatArray:
    """Differences of right and wrong, checked: -1 a loss, 1 a gain, 0 no disagreement. Reference: McNemar1947."""
    values = np.asarray(differences, float).ravel()
    odd = values[~np.isin(values, (-1.0, 0.0, 1.0))]
    if len(odd):
        raise DataError(
            f"This rule counts losses and gains of right or wrong (-1, 0 or 1), and there is a difference of {odd[0]:g}.",
            got=f"a difference of {odd[0]:g}",
            need="-1, 0 or 1: right or wrong, one answer each",
            hint="the Lan-DeMets design or an e-process takes any score",
        )
    return values


def counts_of(differences: npt.ArrayLike) -> tuple[int, int, int]:
    """n, lost and gained. Reference: McNemar1947.

    >>> counts_of([0, -1, 1, 0, -1])
    (5, 2, 1)
    """
    values = outcomes(differences)
    return len(values), int(np.count_nonzero(values < 0)), int(np.count_nonzero(values > 0))


def information_for(theta: float, boundaries: Boundaries) -> float:
    return ALLOWANCE * (boundaries.drift / theta) ** 2


def check_theta(theta: float) -> float:
    if isinstance(theta, bool) or not isinstance(theta, (int, float)) or not 0 < theta < 1:
        raise UsageError(
            "cannot use theta", got=repr(theta), need="a share of the items between 0 and 1", hint="0.02 is a drop of two points"
        )
    return float(theta)
