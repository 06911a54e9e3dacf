"""A data set has an end: whether theta is within its reach, and what would bring it there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.infer.planning import power

if TYPE_CHECKING:
    from steelyard.questions.plan.solve import PowerQuestion
    from steelyard.questions.plan.variance import ItemVariance


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
    unit = (spread.design_effect / available) ** 0.5  # groups cost a paired run as much
    largest = wanted.theta / power.minimum_detectable(unit, wanted.alpha, wanted.beta, wanted.two_sided)
    correlation = 1 - largest * largest / (2 * spread.value * spread.value)
    return [
        f"Pairing with the recorded items would, if the per-item differences have a standard deviation of at most {largest:.4g} "
        f"(a correlation of {max(0.0, correlation):.2f} or more)."
    ]


def _repeats(wanted: PowerQuestion, spread: ItemVariance, available: int) -> list[str]:
    """Repeats average the noise within items away, never the differences between items."""
    if spread.kind != "sd" or max(spread.within) == 0:
        return ["Repeats of the same items would not: they leave the differences between items as they are."] if spread.kind == "sd" else []
    assert wanted.theta is not None
    largest = wanted.theta / power.minimum_detectable(available**-0.5, wanted.alpha, wanted.beta, wanted.two_sided)
    left = largest * largest / spread.design_effect - spread.value * spread.value
    if left <= 0:
        return ["Repeats would not: the differences between items alone are too large."]
    answers = -int(-sum(w * w for w in spread.within) / left // 1)
    return [f"Repeats would: {max(answers, 1)} answers to each item on both sides."]
