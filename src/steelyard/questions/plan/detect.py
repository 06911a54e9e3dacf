"""How many items to notice a drop? Any one of n, theta, power and alpha from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard.checks import error_rate, number, probability, whole
from steelyard.declared.plan_detect import OPTIONS
from steelyard.errors import UsageError
from steelyard.options import documented, source_keywords
from steelyard.questions.plan import detect_around as around
from steelyard.questions.plan.attainable import reach
from steelyard.questions.plan.given_variance import DESIGN_OPTIONS, SPREADS, given_spread
from steelyard.questions.plan.solve import PowerQuestion, solve
from steelyard.questions.plan.variance import ItemVariance
from steelyard.results.plan import Plan

ALTERNATIVES = ("less", "greater", "two-sided")
GOALS = ("detect", "rule-out")
TESTS = {(kind, goal): "z" for kind in ("sigma", "sd") for goal in GOALS}
TESTS |= {("discordance", "detect"): "mcnemar-midp", ("discordance", "rule-out"): "tango"}


@documented(
    OPTIONS,
    "a Plan",
)
def plan_detect(
    *,
    n: int | None = None,
    theta: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    power: float | None = None,
    sigma: float | None = None,
    expected: float | None = None,
    discordance: float | None = None,
    churn: float | None = None,
    sd: float | None = None,
    within: Any = None,
    repeats: Any = None,
    design_effect: float | None = None,
    icc: float | None = None,
    group_size: float | None = None,
    n_reference: int | None = None,
    ratio: float | None = None,
    available: int | None = None,
    pilot: Any = None,
    goal: str = "detect",
    alternative: str = "less",
    **columns: Any,
) -> Plan:
    """How many items find a drop of theta with power 1 - beta; or what n items find; or with which power, or alpha.

    Give the spread once: sigma (two separate samples), expected (the same, from an accuracy), discordance (the same
    items, right or wrong: the share that differs when the drop is there), churn (the same, but between two healthy runs),
    sd (the same items, scores), or pilot: one run, or two runs on the same items. goal="rule-out" plans for a pass
    instead: how many items rule out a drop of theta when nothing has changed. available: how many items there are at all.

    >>> plan_detect(sigma=50, theta=3).n
    3435
    >>> p = plan_detect(n=4096, sigma=50)
    >>> round(p.theta, 6), round(p.threshold_offset, 6)
    (2.747193, -1.817324)
    """
    given = locals()
    source_keywords(plan_detect, columns)
    wanted = _settle(n, theta, alpha, beta, power, alternative, goal)
    options = {name: given[name] for name in (*SPREADS, *DESIGN_OPTIONS)} | {"theta": wanted.theta, "columns": columns}
    options |= {"alternative": alternative, "goal": goal}
    if columns and pilot is None:
        raise UsageError("cannot use columns", got=", ".join(columns), need="a pilot to read them from", hint="pilot=...")
    spread = given_spread(options)
    _check_drop(wanted.theta, spread, goal)
    there = None if available is None else whole("available", available)
    if there is not None and wanted.n is not None and wanted.n > there:
        raise UsageError("cannot use n", got=f"{wanted.n:,} items of {there:,} available", need="no more than there are")
    return _planned(wanted, spread, there)


def _settle(n: Any, theta: Any, alpha: Any, beta: Any, power: Any, alternative: str, goal: str) -> PowerQuestion:
    """Which number is asked for, and the others with their defaults."""
    warnings: list[str] = []
    if alternative not in ALTERNATIVES:
        raise UsageError(f"cannot use the alternative {alternative!r}", need=f"one of {', '.join(ALTERNATIVES)}")
    if goal not in GOALS:
        raise UsageError(f"cannot use the goal {goal!r}", need=f"one of {', '.join(GOALS)}")
    if power is not None:
        if beta is not None:
            raise UsageError("cannot use both beta and power", got=f"beta {beta!r}, power {power!r}", need="one of them: beta = 1 - power")
        found_power = probability("power", power)
        if found_power < 0.5:
            raise UsageError("cannot use power", got=f"{found_power:g}", need="at least 0.5", hint="power 0.8 is usual")
        beta = 1 - found_power
    if n is None and theta is None:
        raise UsageError("cannot plan without a size or a drop", got="neither n nor theta", need="one of them", hint="theta=3 or n=4096")
    if None not in (n, theta, alpha, beta):
        raise UsageError("cannot solve for anything", got="n, theta, alpha and beta", need="one of them left out")
    found = "n" if n is None else "theta" if theta is None else "alpha" if beta is not None and alpha is None else "power"
    return PowerQuestion(
        found=found,
        n=None if n is None else whole("n", n),
        theta=None if theta is None else number("theta", theta, above=0, hint="the drop that matters, as a positive number"),
        alpha=error_rate("alpha", 0.05 if alpha is None else alpha, warnings),
        beta=error_rate("beta", 0.2 if beta is None else beta, warnings),
        alternative=alternative,
        goal=goal,
        warnings=warnings,
    )


def _check_drop(theta: float | None, spread: ItemVariance, goal: str) -> None:
    """A drop that can be: inside the range, and not larger than the accuracy that can be lost or the share of items that change."""
    if theta is None:
        return
    if theta >= spread.most:
        hint = f"write {theta / 100:g} for {theta:g} points" if spread.most == 1 and theta < 100 else ""
        raise UsageError("cannot use theta", got=f"{theta:g}", need=f"below {spread.most:g}, the range of the scores", hint=hint)
    if theta <= spread.largest(goal):
        return
    if spread.kind != "discordance":
        raise UsageError("cannot use theta", got=f"{theta:g}", need=f"at most {spread.largest(goal):.4g}: accuracy stays between 0 and 1")
    if spread.healthy:
        got = f"a drop of {theta:g} where {spread.value:g} of the items change anyway"
        raise UsageError("cannot use theta", got=got, need=f"at most {spread.largest(goal):.4g}")
    raise UsageError(
        "cannot have this drop",
        got=f"a drop of {theta:g} while only {spread.value:g} of the items change",
        need="a discordance of at least theta",
        hint="discordance is the share of items that differ when the drop is there: that of two healthy runs plus theta",
    )


def _planned(wanted: PowerQuestion, spread: ItemVariance, available: int | None) -> Plan:
    solved = solve(wanted, spread)
    n, theta, alpha, beta = solved["n"], solved["theta"], solved["alpha"], solved["beta"]
    design = spread.design(wanted.goal)
    # A whole number of items finds a little less than theta. The threshold is that of n items, as a plan that begins with n says it.
    found = around.found_by(wanted, spread, n)
    at = theta if wanted.found != "n" or n is None or found[n] is None else found[n]
    error = spread.error(wanted.goal, n, at) if n is not None and at is not None else None
    details: dict[str, Any] = {
        **({"n_formula": solved["n_formula"]} if "n_formula" in solved else {}),
        **({"theta_formula": solved["theta_formula"]} if "theta_formula" in solved else {}),
        **({"power_formula": solved["power_formula"]} if "power_formula" in solved else {}),
        "test": "mcnemar-midp"
        if spread.kind == "discordance" and wanted.goal == "detect"
        else "tango"
        if spread.kind == "discordance"
        else "z",
        spread.kind: spread.value,
        "design_effect": spread.design_effect,
        **({"expected": spread.expected} if spread.expected is not None else {}),
        **spread.details,
    }
    if spread.kind == "discordance" and theta is not None and wanted.goal == "detect":
        details["discordance_under_drop"] = spread.psi(theta)
    if spread.n_reference is not None:
        details["n_reference"] = spread.n_reference
    elif spread.ratio != 1.0 and n is not None:
        details["n_reference"] = -int(-n * spread.ratio // 1)
    if max(spread.answers) > 1 and n is not None:
        details |= {"answers": list(spread.answers), "calls": n * sum(spread.answers)}
    words = [*wanted.warnings, *spread.warnings, *_doubts(wanted, solved, spread)]
    conclusion = around.conclusion(wanted, solved, spread, error)
    if available is not None:
        most = solve(replace(wanted, found="theta", n=available, theta=None), spread)["theta"]
        details |= {"available": available, **reach(wanted, spread, available, n, most)}
        if not details["reachable"]:
            conclusion = f"{details['reach'][0]} {' '.join(details['reach'][1:])}"
    return Plan(
        goal=wanted.goal,
        design=design.name,
        n=n,
        n_first=solved.get("n_first"),
        n_stable=solved.get("n_stable"),
        theta=theta,
        threshold_offset=around.threshold_at(wanted, spread, n, at, alpha),
        alpha=alpha,
        beta=beta,
        power=1 - beta,
        conclusion=conclusion,
        assumed=around.assumed(wanted, spread),
        sensitivity=around.sensitivity(wanted, spread),
        steps=around.steps(wanted, spread, n, found),
        curve=around.curve(wanted, n, theta, found),
        details=details,
        warnings=tuple(words),
        signature=around.sign(wanted, spread),
    )


def _doubts(wanted: PowerQuestion, solved: Mapping[str, Any], spread: ItemVariance) -> list[str]:
    """What a statistician would add to the answer."""
    out = []
    if solved["theta"] is None:
        out.append(f"theta is not known: {solved['n']:,} items miss even the largest {wanted.word} there can be too often")
    if wanted.found == "alpha" and solved["alpha"] > 0.5:
        out.append(
            f"alpha would have to be {solved['alpha']:.3g}: most healthy runs would be called worse; take more items or a larger theta"
        )
    if wanted.found == "power" and solved["power"] < 0.5:
        out.append(f"power is {solved['power']:.3g}: a {wanted.word} of theta is missed more often than found")
    if spread.exact and solved.get("formula_only"):
        out.append("so large a plan stays with the normal formula: the exact power moves it by less than the assumption does")
    return out
