"""The exact group-sequential McNemar test as a stopping rule: looks, the estimate after the end, and what must not change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.sequential.after_stopping import StoppedEstimate, difference_after
from steelyard_old.infer.sequential.lan_demets import ENDS
from steelyard_old.infer.sequential.sequential_mcnemar import SequentialMcNemar, counts_of

LOOKS = 20  # that are planned, unless somebody says otherwise


class ExactMcNemar:
    """The exact group-sequential McNemar test as a stopping rule: the default of 0.1.0. Reference: McNemar1947; LanDeMets1983.

    >>> rule = ExactMcNemar(theta=0.2)
    >>> rule.look([0] * 40 + [1, -1, 1]), round(rule.estimate().estimate, 3), rule.looks[-1]["n"]
    ('pass', 0.021, 43)
    """

    name = "exact group-sequential McNemar"

    def __init__(self, *, theta: float, alpha: float = 0.05, beta: float = 0.2, looks: int = LOOKS, binding: bool = True) -> None:
        self.test = SequentialMcNemar(theta, alpha, beta, looks=looks, binding=binding)
        self.pass_level: float | None = 1 - beta
        self.decision, self.alpha_spent = "continue", 0.0
        self.looks: tuple[Mapping[str, Any], ...] = ()
        self._counts = (0, 0, 0)

    def look(self, differences: npt.ArrayLike, last: bool = False) -> str:
        """Continue, regression, pass or exhausted, after all the differences so far. `last`: there are no more."""
        self._counts = counts_of(differences)
        self.decision = self.test.look(*self._counts, last=last)
        if len(self.test.history) > len(self.looks):
            look = self.test.history[-1]
            facts = {"n": look.n, "time": min(1.0, look.time), "disagreements": look.disagreements, "statistic": self._counts[1]}
            more = {"upper": look.upper, "lower": look.lower, "alpha_spent": look.alpha_spent, "decision": look.decision}
            self.looks, self.alpha_spent = (*self.looks, facts | more), look.alpha_spent
        return self.decision

    def estimate(self) -> StoppedEstimate:
        """The difference after the end: median-unbiased, by stage-wise ordering, exact given the disagreements."""
        if self.decision not in ENDS:
            raise UsageError(
                "The run has not ended, so there is no estimate yet.",
                got="a run that has not ended",
                need="a look with last=True, or a bound reached",
            )
        # A pass that was overruled stopped nothing.
        course = [(look.disagreements, -1 if look.decision == "pass" else look.lower, look.upper) for look in self.test.history]
        return difference_after(self._counts[0], course, self._counts[1], self.test.alpha, binding=self.test.binding)

    def plan(self) -> dict[str, Any]:
        """All that must not change in the middle of a run."""
        test = self.test
        numbers = {"theta": test.theta, "alpha": test.alpha, "beta": test.beta, "looks": len(test.boundaries.times)}
        return {"rule": "mcnemar"} | numbers | {"binding": test.binding}
