"""The four numbers of a plan to detect, and how the missing one is found from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from steelyard_old.infer.planning import power as normal
from steelyard_old.late_dataclass import dataclass
from steelyard_old.questions.plan.variance import ItemVariance
from steelyard_old.results.plan import EFFECT_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerQuestion:
    """The four numbers, one of them to be found; `found` names it."""

    found: str
    n: int | None
    theta: float | None
    alpha: float
    beta: float
    alternative: str
    goal: str
    share: float | None = None  # theta as a share of the score of the reference, where it was given so
    reference: float | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def two_sided(self) -> bool:
        return self.alternative == "two-sided"

    @property
    def word(self) -> str:
        """What is looked for."""
        return EFFECT_NAMES[self.alternative]

    @property
    def as_share(self) -> str:
        """The drop as a share of the reference, in brackets."""
        return "" if self.share is None else f" ({100 * self.share:g}% of a reference of {self.reference:g})"

    def offset(self, error: float, alpha: float) -> float:
        """From the reference to the score that is significant: below it for a drop, above it for a rise."""
        return normal.threshold_offset(error, alpha, self.two_sided) * (-1 if self.alternative == "greater" else 1)


def solve(wanted: PowerQuestion, spread: ItemVariance) -> dict[str, Any]:
    """All four numbers. For right or wrong on the same items McNemar's exact power settles what the formula begins."""
    solved = by_formula(wanted, spread)
    if spread.exact:
        from steelyard_old.questions.plan.exact import settle_exactly

        solved |= settle_exactly(wanted, spread, solved)
    return solved


def drops(wanted: PowerQuestion, spread: ItemVariance, sizes: Sequence[int]) -> dict[int, float | None]:
    """The drop that each number of items finds, as `solve` finds it, all at once; None where there is none."""
    found: dict[int, float | None] = {}
    if spread.exact:
        from steelyard_old.questions.plan.exact import exact_drops

        found = exact_drops(wanted, spread, sizes)
    for n in sizes:
        if n not in found:
            found[n] = by_formula(replace(wanted, found="theta", n=n, theta=None), spread)["theta"]
    return found


def by_formula(wanted: PowerQuestion, spread: ItemVariance) -> dict[str, Any]:
    """All four numbers by the normal formulas."""
    design, two = spread.design(wanted.goal), wanted.two_sided
    n, theta, alpha, beta = wanted.n, wanted.theta, wanted.alpha, wanted.beta
    if wanted.found == "n":
        assert theta is not None
        n = normal.items(design, theta, alpha, beta, two_sided=two)
    elif wanted.found == "theta":
        assert n is not None
        theta = normal.detectable(design, n, alpha, beta, two_sided=two, most=spread.largest(wanted.goal))
    else:
        assert n is not None
        assert theta is not None
        if wanted.found == "power":
            beta = 1 - normal.power(design, n, theta, alpha, two_sided=two)
        else:
            alpha = normal.false_alarms(design, n, theta, beta, two_sided=two)
    return {"n": n, "theta": theta, "alpha": alpha, "beta": beta, "power": 1 - beta}
