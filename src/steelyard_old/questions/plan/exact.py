"""McNemar's exact power settles the integer that the normal formula begins: right or wrong on the same items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard_old.infer.planning import mcnemar_power as exact
from steelyard_old.infer.planning import rule_out

EXACT_UP_TO = 300_000  # items: beyond it the exact search costs seconds and moves nothing

if TYPE_CHECKING:
    from steelyard_old.questions.plan.solve import PowerQuestion
    from steelyard_old.questions.plan.variance import ItemVariance


def settle_exactly(wanted: PowerQuestion, spread: ItemVariance, solved: Mapping[str, Any]) -> dict[str, Any]:
    """The number that was asked for, exactly; the formula's beside it. Very large plans stay with the formula."""
    if (solved["n"] or 0) > EXACT_UP_TO:
        return {"formula_only": True}
    return (_rule_out if wanted.goal == "rule-out" else _detect)(wanted, spread, solved)


def exact_drops(wanted: PowerQuestion, spread: ItemVariance, sizes: Sequence[int]) -> dict[int, float | None]:
    """The drop that each number of items finds, or rules out; None where there is none. Very large numbers are left to the formula."""
    few = [n for n in sizes if n <= EXACT_UP_TO]
    if wanted.goal == "rule-out":
        found = rule_out.rule_out_thetas(few, spread.value, wanted.alpha / 2 if wanted.two_sided else wanted.alpha, wanted.beta)
    else:
        side = "two-sided" if wanted.two_sided else "less"
        found = exact.mcnemar_thetas(few, spread.value, wanted.alpha, wanted.beta, alternative=side, healthy=spread.healthy)
    return {n: None if math.isnan(theta) else theta for n, theta in zip(few, found.tolist(), strict=True)}


def _detect(wanted: PowerQuestion, spread: ItemVariance, solved: Mapping[str, Any]) -> dict[str, Any]:
    side = "two-sided" if wanted.two_sided else "less"
    if wanted.found == "n":
        assert wanted.theta is not None
        found = exact.mcnemar_items(spread.psi(wanted.theta), wanted.theta, wanted.alpha, wanted.beta, alternative=side)
        return {"n": found.n_stable, "n_first": found.n_first, "n_stable": found.n_stable, "n_formula": solved["n"]}
    assert wanted.n is not None
    if wanted.found == "theta":
        return {"theta": exact_drops(wanted, spread, [wanted.n])[wanted.n], "theta_formula": solved["theta"]}
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
