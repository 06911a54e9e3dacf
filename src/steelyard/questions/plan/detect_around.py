"""Around the answer of a plan to detect: what if, the sizes beside it, the curve, and the sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard import signature
from steelyard.errors import UsageError
from steelyard.questions.plan.solve import PowerQuestion, drops, solve
from steelyard.questions.plan.variance import ItemVariance
from steelyard.results.plan import Curve

SMALLEST_STEP, ROWS = 32, 10
POINTS = 25


def sensitivity(wanted: PowerQuestion, spread: ItemVariance) -> tuple[Mapping[str, Any], ...]:
    """The number that was asked for, if the spread is another: what a plan with that spread would answer."""
    rows = []
    for words, other in spread.others():
        if wanted.theta is not None and wanted.theta > other.largest(wanted.goal):
            continue
        try:
            rows.append({"if": words, wanted.found: solve(wanted, other)[wanted.found]})
        except UsageError:
            rows.append({"if": words, wanted.found: None})
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


def steps(wanted: PowerQuestion, spread: ItemVariance, n: int | None, found: Mapping[int, float | None]) -> tuple[Mapping[str, Any], ...]:
    """theta and threshold for the sizes around the answer, at the alpha and beta that were asked for: as a plan with that n says them."""
    if n is None:
        return ()
    return tuple(
        {"n": size, "theta": found[size], "threshold": threshold_at(wanted, spread, size, found[size], wanted.alpha)} for size in sizes(n)
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


def conclusion(wanted: PowerQuestion, solved: Mapping[str, Any], spread: ItemVariance, error: float | None) -> str:
    n, theta, alpha, power = solved["n"], solved["theta"], solved["alpha"], 1 - solved["beta"]
    if theta is None:
        return f"{many(n)} cannot find any {wanted.word} with power {1 - wanted.beta:g} at alpha {alpha:g}."
    side = "two-sided" if wanted.two_sided else "one-sided"
    beside = f" ({solved['n_formula']:,} by the normal formula)" if "n_formula" in solved else ""
    size = f"{many(n)}{beside}" + (" in each run" if spread.kind == "sigma" and spread.n_reference is None and spread.ratio == 1 else "")
    if wanted.goal == "rule-out":
        told = f"{size} rule out a {wanted.word} of {theta:.4g} with probability {power:.3g}"
        return f"{told} when nothing has changed (alpha {alpha:.3g}, {side})."
    told = f"{size} find a {wanted.word} of {theta:.4g} with power {power:.3g} (alpha {alpha:.3g}, {side})"
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
    words = spread.words.replace("when the drop is there", "with nothing changed") if wanted.goal == "rule-out" else spread.words
    return f"{words}{groups}{reference}{answers}."


def sign(wanted: PowerQuestion, spread: ItemVariance) -> str:
    facts: dict[str, object] = {
        "goal": wanted.goal,
        "n": wanted.n,
        "alternative": wanted.alternative,
        "alpha": None if wanted.found == "alpha" else wanted.alpha,
        "beta": None if wanted.found == "power" else wanted.beta,
        "theta": wanted.theta,
        spread.name: spread.expected if spread.expected is not None else spread.value,
        "ratio": None if spread.ratio == 1 else spread.ratio,
        "design_effect": None if spread.design_effect == 1 else spread.design_effect,
        "n_reference": spread.n_reference,
        "answers": None if max(spread.answers) == 1 else spread.answers,
        "within": None if max(spread.within) == 0 else spread.within,
        "pilot": spread.details.get("pilot_n"),
    }
    return signature.write(facts)
