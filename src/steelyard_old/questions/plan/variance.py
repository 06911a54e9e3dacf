"""How much the difference of two runs varies from item to item. It decides every plan to detect."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from steelyard_old.infer.planning import power
from steelyard_old.infer.planning.item_variance import mean_error, share_deviation
from steelyard_old.late_dataclass import dataclass

HALF = 0.5
WHAT_IF = {"sigma": (0.8, 1.25), "sd": (0.8, 1.25), "discordance": (0.5, 2.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVariance:
    """One of: sigma (unpaired scores), sd (paired scores), discordance (paired right or wrong).

    `healthy` says that the discordance is that of two runs with nothing between them: a drop of theta adds theta to it.
    `upper` is the upper end of its interval, where a pilot gave it. `most` is the largest drop there can be. `expected`
    is the accuracy that a plan by accuracy starts from; `accuracy` is what a pilot showed.
    """

    kind: str
    value: float
    words: str
    most: float = math.inf
    healthy: bool = False
    upper: float | None = None
    within: tuple[float, float] = (0.0, 0.0)
    answers: tuple[int, int] = (1, 1)
    design_effect: float = 1.0
    ratio: float = 1.0
    n_reference: int | None = None
    expected: float | None = None
    accuracy: float | None = None
    percent: bool = False
    alternative: str = "less"
    facts: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The option that says the same: what the signature writes."""
        return "expected" if self.expected is not None else "churn" if self.healthy else self.kind

    def psi(self, theta: float) -> float:
        """The share of items on which the runs disagree under a drop of theta."""
        return self.value + theta if self.healthy else self.value

    def largest(self, goal: str) -> float:
        """The largest change there can be: the whole range, the accuracy that can be lost, the share of items that change."""
        if self.kind == "discordance" and goal == "detect":
            return 1 - self.value if self.healthy else self.value
        start = self.expected if self.expected is not None else self.accuracy
        if start is None:
            return self.most
        room = {"less": start, "greater": 1 - start, "two-sided": max(start, 1 - start)}[self.alternative]
        return room * (100 if self.percent else 1)

    def design(self, goal: str) -> power.PowerDesign:
        """The design of the normal formulas."""
        if self.expected is not None:
            after = self._after
            unit = 100.0 if self.percent else 1.0
            more: dict[str, Any] = {"ratio": self.ratio, "n_reference": self.n_reference, "design_effect": self.design_effect}
            return power.two_proportions(self.expected, after, unit=unit, **more)
        if self.kind == "sigma":
            return power.two_sample(self.value, ratio=self.ratio, n_reference=self.n_reference, design_effect=self.design_effect)
        if self.kind == "sd":
            return power.paired_scores(self.value, within=self.within, answers=self.answers, design_effect=self.design_effect)
        if goal == "rule-out":
            return power.rule_out_outcomes(self.value, design_effect=self.design_effect)
        return power.paired_outcomes(self.psi, design_effect=self.design_effect)

    def _after(self, theta: float) -> float:
        """The accuracy after the change; of two sides the one with the wider spread."""
        assert self.expected is not None
        down, up = self.expected - theta, self.expected + theta
        if self.alternative == "two-sided":
            return down if abs(down - HALF) <= abs(up - HALF) else up
        return up if self.alternative == "greater" else down

    def error(self, goal: str, n: float, theta: float) -> float:
        """The standard error that the threshold of a regression rests on: with nothing changed but the noise."""
        if goal == "rule-out" and self.kind == "discordance":
            return mean_error(self.value, n, self.design_effect)
        return self.design(goal).errors(n, theta)[0]

    @property
    def exact(self) -> bool:
        """Whether McNemar's exact power can settle the integer: right or wrong, independent items."""
        return self.kind == "discordance" and self.design_effect == 1.0

    def _at_accuracy(self, p: float, unit: int) -> ItemVariance:
        sigma = unit * share_deviation(p)
        return replace(self, value=sigma, accuracy=p) if self.expected is None else replace(self, value=sigma, expected=p)

    def others(self) -> list[tuple[str, ItemVariance]]:
        """What the spread might be instead: a sentence, and the spread."""
        start = self.expected if self.expected is not None else self.accuracy
        if self.kind == "sigma" and start is not None:
            unit = 100 if self.percent else 1
            near = [p for p in (start - 0.1, start + 0.1, HALF) if 0 < p < 1 and abs(p - start) > 0.01]
            return [(f"accuracy is {p:.3g}", self._at_accuracy(p, unit)) for p in sorted(set(near))]
        values = {self.value * by: f"{self.kind} is {self.value * by:.4g}" for by in WHAT_IF[self.kind]}
        if self.upper is not None:
            values[self.upper] = f"{self.kind} is {self.upper:.4g}, the upper end of the pilot's 95% interval"
        kept = {x: words for x, words in values.items() if x != self.value and (self.kind != "discordance" or 0 < x < 1)}
        return [(words, replace(self, value=x)) for x, words in kept.items()]
