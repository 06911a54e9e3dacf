"""McNemar's exact power settles the integer that the normal formula begins: right or wrong on the same items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard.errors import UsageError
from steelyard.infer.planning import mcnemar_power as exact
from steelyard.infer.planning import rule_out

EXACT_UP_TO = 300_000  # items: beyond it the exact search costs seconds and moves nothing

if TYPE_CHECKING:
    from steelyard.questions.plan.solve import PowerQuestion
    from steelyard.questions.plan.variance import ItemVariance


def settle_exactly(wanted: PowerQuestion, spread: ItemVariance, solved: Mapping[str, Any]) -> dict[str, Any]:
    """The number that was asked for, exactly; the formula's beside it. Very large plans stay with the formula."""
    if (solved["n"] or 0) > EXACT_UP_TO:
        return {"formula_only": True}
    return (_rule_out if wanted.goal == "rule-out" else _detect)(wanted, spread, solved)


def _detect(wanted: PowerQuestion, spread: ItemVariance, solved: Mapping[str, Any]) -> dict[str, Any]:
    side = "two-sided" if wanted.two_sided else "less"
    if wanted.found == "n":
        assert wanted.theta is not None
        found = exact.mcnemar_items(spread.psi(wanted.theta), wanted.theta, wanted.alpha, wanted.beta, alternative=side)
        return {"n": found.n_stable, "n_first": found.n_first, "n_stable": found.n_stable, "n_formula": solved["n"]}
    assert wanted.n is not None
    if wanted.found == "theta":
        share = spread.psi if spread.healthy else spread.value
        try:
            theta = exact.mcnemar_theta(wanted.n, share, wanted.alpha, wanted.beta, alternative=side)
        except UsageError:  # not even the largest drop there can be
            return {"theta": None, "theta_formula": solved["theta"]}
        return {"theta": theta, "theta_formula": solved["theta"]}
    assert wanted.theta is not None
    psi = spread.psi(wanted.theta)
    if wanted.found == "power":
        power = exact.mcnemar_power(wanted.n, psi, wanted.theta, wanted.alpha, alternative=side)
        return {"power": power, "beta": 1 - power, "power_formula": solved["power"]}
    return {"alpha": exact.mcnemar_alpha(wanted.n, psi, wanted.theta, wanted.beta, alternative=side)}


def _rule_out(wanted: PowerQuestion, spread: ItemVariance, solved: Mapping[str, Any]) -> dict[str, Any]:
    """A pass: its power rises with n (in teeth), with theta and with alpha, so each is found from the others."""
    psi, two = spread.value, wanted.two_sided
    alpha = wanted.alpha / 2 if two else wanted.alpha
    if wanted.found == "n":
        assert wanted.theta is not None
        found = rule_out.rule_out_items(psi, wanted.theta, alpha, wanted.beta)
        return {"n": found.n_stable, "n_first": found.n_first, "n_stable": found.n_stable, "n_formula": solved["n"]}
    assert wanted.n is not None
    n = wanted.n
    if wanted.found == "theta":
        theta = rule_out.rule_out_theta(n, psi, alpha, wanted.beta)
        return {"theta": theta, "theta_formula": solved["theta"]}
    assert wanted.theta is not None
    if wanted.found == "power":
        power = rule_out.rule_out_power(n, psi, wanted.theta, alpha)
        return {"power": power, "beta": 1 - power, "power_formula": solved["power"]}
    least = rule_out.rule_out_alpha(n, psi, wanted.theta, wanted.beta)
    return {"alpha": min(1.0, 2 * least) if two else least}
