"""McNemar's exact power settles the integer that the normal formula begins: right or wrong on the same items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard.infer import mcnemar_power as exact

if TYPE_CHECKING:
    from steelyard.questions.plan_detect import Wanted
    from steelyard.questions.plan_spread import Spread


def settle_exactly(wanted: Wanted, spread: Spread, solved: Mapping[str, Any]) -> dict[str, Any]:
    """The number that was asked for, exactly; the formula's beside it."""
    return (_rule_out if wanted.goal == "rule-out" else _detect)(wanted, spread, solved)


def _detect(wanted: Wanted, spread: Spread, solved: Mapping[str, Any]) -> dict[str, Any]:
    side = "two-sided" if wanted.two_sided else "less"
    if wanted.found == "n":
        assert wanted.theta is not None
        found = exact.mcnemar_items(spread.psi(wanted.theta), wanted.theta, wanted.alpha, wanted.beta, alternative=side)
        return {"n": found.n_stable, "n_first": found.n_first, "n_stable": found.n_stable, "n_formula": solved["n"]}
    assert wanted.n is not None
    if wanted.found == "theta":
        if solved["theta"] is None:
            return {}
        theta = exact.mcnemar_theta(wanted.n, spread.psi, wanted.alpha, wanted.beta, alternative=side)
        return {"theta": theta, "theta_formula": solved["theta"]}
    assert wanted.theta is not None
    psi = spread.psi(wanted.theta)
    if wanted.found == "power":
        power = exact.mcnemar_power(wanted.n, psi, wanted.theta, wanted.alpha, alternative=side)
        return {"power": power, "beta": 1 - power, "power_formula": solved["power"]}
    return {"alpha": exact.mcnemar_alpha(wanted.n, psi, wanted.theta, wanted.beta, alternative=side)}


def _rule_out(wanted: Wanted, spread: Spread, solved: Mapping[str, Any]) -> dict[str, Any]:
    """A pass is settled for n and power; theta and alpha stay with the formula, which is said."""
    if wanted.two_sided or wanted.theta is None:
        return {}
    if wanted.found == "n":
        found = exact.rule_out_items(spread.value, wanted.theta, wanted.alpha, wanted.beta)
        return {"n": found.n_stable, "n_first": found.n_first, "n_stable": found.n_stable, "n_formula": solved["n"]}
    if wanted.found == "power" and wanted.n is not None:
        power = exact.rule_out_power(wanted.n, spread.value, wanted.theta, wanted.alpha)
        return {"power": power, "beta": 1 - power, "power_formula": solved["power"]}
    return {}
