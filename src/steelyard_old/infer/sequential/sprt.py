"""Wald's sequential probability ratio test on disagreements: no loss against a loss of exactly theta."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.sequential.after_stopping import StoppedEstimate, difference_after
from steelyard_old.infer.sequential.lan_demets import ENDS, not_all_so_far
from steelyard_old.infer.sequential.sequential_mcnemar import check_theta, counts_of


class Sprt:
    """Right or wrong, one answer each: fair coins against a share of losses of (discordance / 2 + theta) / (discordance + theta).

    Formula: L = lost log(2 s) + gained log(2 (1 - s)); regression at L >= log((1 - beta) / alpha), pass at L <= log(beta /
    (1 - alpha)). The discordance, the share of items on which two healthy runs differ, is an assumption: taken at half its
    value the power falls from .8 to .6; the false alarms stay. Between the two hypotheses it errs freely, and no number of
    items bounds it. alpha holds up to what the last batch overshoots. Estimates: by stage-wise ordering, exact given the
    disagreements. Assumes: items in random order, independent. Reference: Wald1947; McNemar1947.

    >>> test = Sprt(theta=0.02, discordance=0.05)
    >>> test.look([0] * 300 + [1, -1] * 20), test.warnings[0][:36]
    ('pass', 'the SPRT takes the discordance to be')
    """

    name = "SPRT"

    def __init__(self, *, theta: float, discordance: float, alpha: float = 0.05, beta: float = 0.2) -> None:
        if not 0 < discordance <= 1 - check_theta(theta):
            raise UsageError(
                "cannot use discordance",
                got=f"{discordance!r}",
                need="a share of the items above 0, at most 1 - theta",
                hint="the exact group-sequential McNemar test needs no discordance",
            )
        if not (alpha > 0 and beta > 0 and alpha + beta < 1):
            raise UsageError(
                f"alpha {alpha!r} and beta {beta!r} must be error rates that add up to less than 1.",
                got=f"alpha {alpha!r} and beta {beta!r}",
                need="two error rates with a sum below 1",
            )
        self.theta, self.discordance, self.alpha, self.beta = theta, discordance, alpha, beta
        self.share = (discordance / 2 + theta) / (discordance + theta)
        self.bounds = math.log((1 - beta) / alpha), math.log(beta / (1 - alpha))
        self.looks: tuple[Mapping[str, Any], ...] = ()
        self.decision = "continue"
        self.alpha_spent = 0.0
        self.pass_level: float | None = 1 - beta
        self.warnings = (
            f"the SPRT takes the discordance to be {discordance:g}: if it is twice that, a drop of theta is missed about twice as often",
        )
        self._lost = 0

    def look(self, differences: npt.ArrayLike, last: bool = False) -> str:
        """Continue, regression, pass or exhausted, after all the differences so far. `last`: there are no more."""
        if self.decision in ENDS:
            raise UsageError(
                f"This run has ended with {self.decision!r}; start a new Sprt.",
                got=f"a run that ended with {self.decision!r}",
                need="a new Sprt",
            )
        n, lost, gained = counts_of(differences)
        if self.looks and n < self.looks[-1]["n"]:
            raise not_all_so_far(n, self.looks[-1]["n"])
        lower, upper = self.counts(lost + gained)
        self._lost = lost
        self.decision = "regression" if lost >= upper else "pass" if lost <= lower else "exhausted" if last else "continue"
        self.alpha_spent = self.alpha if self.decision in ENDS else 0.0
        facts = {"n": n, "disagreements": lost + gained, "statistic": lost, "upper": upper, "lower": lower}
        self.looks = (*self.looks, facts | {"alpha_spent": self.alpha_spent, "decision": self.decision})
        return self.decision

    def counts(self, disagreements: int) -> tuple[int, int]:
        """The bounds as losses: at most the first passes, at least the second alarms."""
        loss, gain = math.log(2 * self.share), math.log(2 * (1 - self.share))
        upper, lower = ((bound - disagreements * gain) / (loss - gain) for bound in self.bounds)
        return max(-1, math.floor(lower + 1e-9)), math.ceil(upper - 1e-9)

    def estimate(self) -> StoppedEstimate:
        """The difference after the end, by stage-wise ordering."""
        if self.decision not in ENDS:
            raise UsageError(
                "The run has not ended, so there is no estimate yet.",
                got="a run that has not ended",
                need="a look with last=True, or a bound reached",
            )
        steps = [look for before, look in zip((None, *self.looks), self.looks, strict=False) if _news(before, look)]
        course = [(look["disagreements"], look["lower"], look["upper"]) for look in steps]
        found = difference_after(self.looks[-1]["n"], course, self._lost, self.alpha)
        if self.decision == "regression" and found.p_value > self.alpha:
            words = f"Wald's bounds are approximate: by stage-wise ordering p is {found.p_value:.3g}"
            return replace(found, warnings=(words,))
        return found

    def plan(self) -> dict[str, Any]:
        """All that must not change in the middle of a run."""
        return {"rule": "sprt", "theta": self.theta, "discordance": self.discordance, "alpha": self.alpha, "beta": self.beta}


def _news(before: Mapping[str, Any] | None, look: Mapping[str, Any]) -> bool:
    """Whether anything disagreed since the look before: if not, the bounds have not moved and nothing can be crossed."""
    return before is None or look["disagreements"] > before["disagreements"]
