"""How many items to notice a drop? Any one of n, theta, power and alpha from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard_old.error_rates import ALPHA, BETA
from steelyard_old.errors import UsageError
from steelyard_old.infer.planning import power
from steelyard_old.infer.planning.item_variance import answers_needed, correlation_for, most_deviation
from steelyard_old.options.option import (
    LIMITS,
    checked,
    checked_if_given,
    coin_flips,
    documented,
    number,
    probability,
    ratio_columns,
    share_of_reference,
    unknown_word,
    whole,
)
from steelyard_old.options.plan_detect import OPTIONS
from steelyard_old.questions.plan.given_variance import DESIGN_OPTIONS, SPREADS, given_spread
from steelyard_old.questions.plan.solve import PowerQuestion, drops, solve
from steelyard_old.questions.plan.variance import ItemVariance
from steelyard_old.results import signature
from steelyard_old.results.details import PlanDetails
from steelyard_old.results.plan import Curve, Plan, SizeStep, WhatIf


def reach(wanted: PowerQuestion, spread: ItemVariance, available: int, n: int | None, at_most: float | None) -> dict[str, Any]:
    """reachable, the drop that all items find, and sentences on what else could: pairing, repeats, a larger set."""
    out: dict[str, Any] = {"theta_at_available": at_most, "reachable": n is not None and n <= available, "reach": []}
    if out["reachable"] or wanted.theta is None or n is None:
        return out
    does = "finds" if wanted.goal == "detect" else "rules out"
    every = f"no {wanted.word} at all" if at_most is None else f"a {wanted.word} of {at_most:.4g}"
    first = f"No number of items of this data set {does} a {wanted.word} of {wanted.theta:g}: all {available:,} {does.rstrip('s')} {every}."
    if wanted.goal == "rule-out":
        first = first.replace(f"{available:,} rules out", f"{available:,} rule out")
    out["reach"] = [first, f"A larger set would: {n:,} items.", *_pairing(wanted, spread, available), *_repeats(wanted, spread, available)]
    return out


def _pairing(wanted: PowerQuestion, spread: ItemVariance, available: int) -> list[str]:
    """How alike two runs must be, item by item, for pairing to reach theta."""
    if spread.kind != "sigma":
        return []
    assert wanted.theta is not None
    rates = (wanted.alpha, wanted.beta, wanted.two_sided)
    largest = most_deviation(wanted.theta, available, *rates, spread.design_effect)  # groups cost a paired run as much
    correlation = correlation_for(largest, spread.value)
    return [
        f"Pairing with the recorded items would, if the per-item differences have a standard deviation of at most {largest:.4g} "
        f"(a correlation of {max(0.0, correlation):.2f} or more)."
    ]


def _repeats(wanted: PowerQuestion, spread: ItemVariance, available: int) -> list[str]:
    """Repeats average the noise within items away, never the differences between items."""
    if spread.kind != "sd" or max(spread.within) == 0:
        return ["Repeats of the same items would not: they leave the differences between items as they are."] if spread.kind == "sd" else []
    assert wanted.theta is not None
    largest = most_deviation(wanted.theta, available, wanted.alpha, wanted.beta, wanted.two_sided)
    answers = answers_needed(largest, spread.value, spread.within, spread.design_effect)
    if answers is None:
        return ["Repeats would not: the differences between items alone are too large."]
    return [f"Repeats would: {answers} answers to each item on both sides."]


SMALLEST_STEP, ROWS = 32, 10
POINTS = 25


def sensitivity(wanted: PowerQuestion, spread: ItemVariance) -> tuple[WhatIf, ...]:
    """The number that was asked for, if the spread is another: what a plan with that spread would answer."""
    rows = []
    for words, other in spread.others():
        if wanted.theta is not None and wanted.theta > other.largest(wanted.goal):
            continue
        try:
            rows.append(WhatIf.of({"if": words, wanted.found: solve(wanted, other)[wanted.found]}))
        except UsageError:
            rows.append(WhatIf.of({"if": words, wanted.found: None}))
    return tuple(rows)


def sizes(n: int) -> list[int]:
    """The doubling steps of the accuracy suite's table, 32 items up, and n itself.

    >>> sizes(3435)
    [32, 64, 128, 256, 512, 1024, 2048, 3435, 4096, 8192]
    """
    steps = [SMALLEST_STEP]
    while steps[-1] < 2 * n:
        steps.append(2 * steps[-1])
    return sorted({*steps[-ROWS + 1 :], n})


def steps(wanted: PowerQuestion, spread: ItemVariance, n: int | None, found: Mapping[int, float | None]) -> tuple[SizeStep, ...]:
    """theta and threshold for the sizes around the answer, at the alpha and beta that were asked for: as a plan with that n says them."""
    if n is None:
        return ()
    return tuple(
        SizeStep(n=size, theta=found[size], threshold=threshold_at(wanted, spread, size, found[size], wanted.alpha)) for size in sizes(n)
    )


def found_by(wanted: PowerQuestion, spread: ItemVariance, n: int | None) -> dict[int, float | None]:
    """The drops that n items find, and the sizes of the steps and of the curve around it: by the very method of the headline."""
    return {} if n is None else drops(wanted, spread, sorted({n, *sizes(n), *places(n)}))


def threshold_at(wanted: PowerQuestion, spread: ItemVariance, n: int | None, theta: float | None, alpha: float) -> float | None:
    """From the reference to the score that is significant; None where no drop is found."""
    return None if n is None or theta is None else wanted.offset(spread.error(wanted.goal, n, theta), alpha)


def places(n: int) -> list[int]:
    """Where the curve is drawn: from a sixteenth to sixteen times n."""
    return sorted({max(1, round(n * 16 ** (2 * i / (POINTS - 1) - 1))) for i in range(POINTS)})


def curve(wanted: PowerQuestion, n: int | None, theta: float | None, found: Mapping[int, float | None]) -> Curve | None:
    """theta against n."""
    if n is None:
        return None
    kept = [(float(x), y) for x in places(n) if (y := found[x]) is not None]
    if len(kept) < 2:
        return None
    return Curve(
        x_label="items",
        y_label=f"{wanted.word} {'found' if wanted.goal == 'detect' else 'ruled out'}",
        x=tuple(x for x, _ in kept),
        y=tuple(y for _, y in kept),
        goal=wanted.theta,
        mark=None if theta is None else (float(n), theta),
    )


# ---- words ---------------------------------------------------------------------------------------------------------------


def conclusion_of(wanted: PowerQuestion, solved: Mapping[str, Any], spread: ItemVariance, error: float | None) -> str:
    n, theta, alpha, power = solved["n"], solved["theta"], solved["alpha"], 1 - solved["beta"]
    if theta is None:
        return f"{many(n)} cannot find any {wanted.word} with power {1 - wanted.beta:g} at alpha {alpha:g}."
    side = "two-sided" if wanted.two_sided else "one-sided"
    beside = f" ({solved['n_formula']:,} by the normal formula)" if "n_formula" in solved else ""
    size = f"{many(n)}{beside}" + (" in each run" if spread.kind == "sigma" and spread.n_reference is None and spread.ratio == 1 else "")
    if wanted.goal == "rule-out":
        told = f"{size} rule out a {wanted.word} of {theta:.4g}{wanted.as_share} with probability {power:.3g}"
        return f"{told} when nothing has changed (alpha {alpha:.3g}, {side})."
    told = f"{size} find a {wanted.word} of {theta:.4g}{wanted.as_share} with power {power:.3g} (alpha {alpha:.3g}, {side})"
    if error is None or wanted.two_sided:
        return f"{told}."
    offset = wanted.offset(error, alpha)
    way = "below" if offset < 0 else "above"
    return f"{told}; a score more than {abs(offset):.4g} {way} the reference is significant." if offset else f"{told}."


def many(n: int) -> str:
    """So many items, in words that fit the number.

    >>> many(1), many(2459)
    ('1 item', '2,459 items')
    """
    return f"{n:,} item{'' if n == 1 else 's'}"


def assumed(wanted: PowerQuestion, spread: ItemVariance) -> str:
    groups = f"; items come in groups, design effect {spread.design_effect:.3g}" if spread.design_effect != 1 else "; items independent"
    reference = f"; a reference of {spread.n_reference:,} items" if spread.n_reference is not None else ""
    if spread.ratio != 1:
        reference = f"; {spread.ratio:g} reference items for each new one"
    answers = ""
    if max(spread.answers) > 1:
        answers = f"; {spread.answers[0]} and {spread.answers[1]} answers to each item, standard deviation {spread.within[1]:g} within it"
    there = "with nothing changed" if wanted.goal == "rule-out" else f"when the {wanted.word} is there"
    words = spread.words.replace("when the drop is there", there)
    return f"{words}{groups}{reference}{answers}."


def sign(wanted: PowerQuestion, spread: ItemVariance) -> str:
    facts: dict[str, object] = {
        "goal": wanted.goal,
        "n": wanted.n,
        "alternative": wanted.alternative,
        "alpha": None if wanted.found == "alpha" else wanted.alpha,
        "beta": None if wanted.found == "power" else wanted.beta,
        "theta": wanted.theta,
        "reference": wanted.reference,
        spread.name: spread.expected if spread.expected is not None else spread.value,
        "ratio": None if spread.ratio == 1 else spread.ratio,
        "design_effect": None if spread.design_effect == 1 else spread.design_effect,
        "n_reference": spread.n_reference,
        "answers": None if max(spread.answers) == 1 else spread.answers,
        "within": None if max(spread.within) == 0 else spread.within,
        "pilot": spread.facts.get("pilot_n"),
    }
    return signature.write(facts)


ALTERNATIVES = ("less", "greater", "two-sided")
FEW = 50  # items for which the normal formula is noticeably short
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
    theta: float | str | None = None,
    reference: float | None = None,
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
    metric: str | None = None,
    sums: str | Sequence[str] | None = None,
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
    share, whole_score = _share(theta, reference, expected)
    drop = theta if share is None else share * whole_score
    wanted = replace(_settle(n, drop, alpha, beta, power, alternative, goal), share=share, reference=whole_score if share else None)
    options = {name: given[name] for name in (*SPREADS, *DESIGN_OPTIONS)} | {"theta": wanted.theta, "columns": columns}
    options |= {"alternative": alternative, "goal": goal, "metric": metric}
    if (metric is not None or sums is not None) and pilot is None:
        raise UsageError(
            "metric= and sums= say what to plan from a pilot, and there is none.", got="no pilot", need="a pilot", hint="pilot=..."
        )
    if sums is not None:
        options["columns"] = columns = {**columns, "ratio": ratio_columns(sums)}
    if columns and pilot is None:
        raise UsageError(
            f"Columns ({', '.join(columns)}) need a pilot to be read from.",
            got=", ".join(columns),
            need="a pilot to read them from",
            hint="pilot=...",
        )
    spread = given_spread(options)
    if share is not None and whole_score > 1 and spread.kind == "discordance":
        raise UsageError(
            f"The reference is a share of right answers here, so it lies between 0 and 1; got {whole_score:g}.",
            got=f"reference {whole_score:g}",
            need="a number between 0 and 1",
            hint=f"reference={whole_score / 100:g} is {whole_score:g}%" if whole_score <= 100 else "reference=0.8 is 80%",
        )
    _check_drop(wanted.theta, spread, goal)
    there = None if available is None else whole("available", available)
    if there is not None and wanted.n is not None and wanted.n > there:
        raise UsageError(
            f"n={wanted.n:,} is more than the {there:,} items available.",
            got=f"{wanted.n:,} items of {there:,} available",
            need="no more than are available",
        )
    return _planned(wanted, spread, there)


def _share(theta: Any, reference: Any, expected: Any) -> tuple[float | None, float]:
    """theta as a share of the reference, and the score of that reference, which is the expected one if there is no other."""
    share = share_of_reference("theta", theta)
    if share is None:
        if reference is not None:
            raise UsageError(
                "reference= is for a theta that is a share of it, and this theta is not.",
                got="reference without such a theta",
                need="theta='1%', or no reference",
            )
        return None, 0.0
    if share == 0:
        raise UsageError("cannot use theta", got=repr(theta), need="a share above 0", hint="theta='1%' is 1% of the reference")
    if reference is None and expected is None:
        raise UsageError(
            f"theta={theta} is a share of the reference, whose score is not known.",
            got=f"theta {theta} without a reference",
            need="reference=, in the unit of the scores",
            hint="reference=0.8",
        )
    return share, number("reference", expected if reference is None else reference, above=0)


def _settle(n: Any, theta: Any, alpha: Any, beta: Any, power: Any, alternative: str, goal: str) -> PowerQuestion:
    """Which number is asked for, and the others with their defaults."""
    if alternative not in ALTERNATIVES:
        raise unknown_word("alternative", alternative, ALTERNATIVES)
    if goal not in GOALS:
        raise unknown_word("goal", goal, GOALS)
    if power is not None:
        if beta is not None:
            raise UsageError(
                f"Give beta= or power=, not both, since beta is 1 - power; got beta={beta!r} and power={power!r}.",
                got=f"beta {beta!r}, power {power!r}",
                need="one of them: beta = 1 - power",
            )
        found_power = probability("power", power)
        if found_power < 0.5:
            raise UsageError("cannot use power", got=f"{found_power:g}", need="at least 0.5", hint=LIMITS["power"].hint)
        beta = 1 - found_power
    if n is None and theta is None:
        raise UsageError("A plan needs n= or theta=.", got="neither n nor theta", need="one of them", hint="theta=3 or n=4096")
    if None not in (n, theta, alpha, beta):
        raise UsageError(
            "Nothing to solve for: n=, theta=, alpha= and beta= are all given.",
            got="n, theta, alpha and beta",
            need="one of them to be left out",
            hint="leave one of them out",
        )
    found = "n" if n is None else "theta" if theta is None else "alpha" if beta is not None and alpha is None else "power"
    false_alarms, misses = checked("alpha", ALPHA if alpha is None else alpha), checked("beta", BETA if beta is None else beta)
    return PowerQuestion(
        found=found,
        n=None if n is None else whole("n", n),
        theta=checked_if_given("theta", theta),
        alpha=false_alarms,
        beta=misses,
        alternative=alternative,
        goal=goal,
        warnings=coin_flips(alpha=false_alarms, beta=misses),
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
        most = spread.largest(goal)
        raise UsageError(
            f"theta must be at most {most:.4g}, not {theta:g}: accuracy stays between 0 and 1.",
            got=f"{theta:g}",
            need=f"at most {most:.4g}",
        )
    if spread.healthy:
        raise UsageError(
            f"theta must be at most {spread.largest(goal):.4g} when {spread.value:g} of the items change anyway, not {theta:g}.",
            got=f"a drop of {theta:g} when {spread.value:g} of the items change anyway",
            need=f"at most {spread.largest(goal):.4g}",
        )
    raise UsageError(
        f"A drop of {theta:g} is impossible when only {spread.value:g} of the items change.",
        got=f"a drop of {theta:g} while only {spread.value:g} of the items change",
        need="a discordance of at least theta",
        hint="discordance is the share of items that differ when the drop is real: that of two healthy runs plus theta",
    )


def _planned(wanted: PowerQuestion, spread: ItemVariance, available: int | None) -> Plan:
    solved = solve(wanted, spread)
    n, theta, alpha, beta = solved["n"], solved["theta"], solved["alpha"], solved["beta"]
    design = spread.design(wanted.goal)
    # A whole number of items finds a little less than theta. The threshold is that of n items, as a plan that begins with n says it.
    found = found_by(wanted, spread, n)
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
        **({"theta_relative": wanted.share, "reference": wanted.reference} if wanted.share is not None else {}),
        "design_effect": spread.design_effect,
        **({"alternative": wanted.alternative} if wanted.alternative != "less" else {}),
        **({"expected": spread.expected} if spread.expected is not None else {}),
        **spread.facts,
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
    conclusion = conclusion_of(wanted, solved, spread, error)
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
        threshold_offset=threshold_at(wanted, spread, n, at, alpha),
        alpha=alpha,
        beta=beta,
        power=1 - beta,
        conclusion=conclusion,
        assumed=assumed(wanted, spread),
        sensitivity=sensitivity(wanted, spread),
        steps=steps(wanted, spread, n, found),
        curve=curve(wanted, n, theta, found),
        details=PlanDetails.of(details),
        warnings=tuple(words),
        signature=sign(wanted, spread),
    )


def _doubts(wanted: PowerQuestion, solved: Mapping[str, Any], spread: ItemVariance) -> list[str]:
    """What a statistician would add to the answer."""
    out = []
    if solved["theta"] is None:
        out.append(f"theta cannot be computed: with {solved['n']:,} items even the largest possible {wanted.word} is missed too often")
    if wanted.found == "alpha" and solved["alpha"] > 0.5:
        out.append(
            f"alpha would have to be {solved['alpha']:.3g}: most healthy runs would be called worse; take more items or a larger theta"
        )
    if wanted.found == "power" and solved["power"] < 0.5:
        out.append(f"power is {solved['power']:.3g}: a {wanted.word} of theta is missed more often than found")
    if spread.kind == "sd" and wanted.found == "n" and solved["n"] is not None and solved["n"] <= FEW:
        needed = solved["n"] + power.more_for_t(solved["alpha"], wanted.two_sided)
        out.append(f"so few items are judged by a t test, which needs about {needed:,} of them for this power")
    if spread.exact and solved.get("formula_only"):
        out.append("this plan is so large that it uses the normal formula: exact power would change it less than the assumptions do")
    return out
