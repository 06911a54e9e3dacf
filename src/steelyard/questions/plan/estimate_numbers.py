"""The numbers of a plan for knowing a metric: items, labels, the older criteria, what if, other sizes, the curve."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.infer.planning.anticipated import Anticipated
from steelyard.infer.planning.assurance import assurance, items_for_assurance, labels_for_assurance, labels_for_items
from steelyard.infer.planning.labelling import stop_when_narrow
from steelyard.infer.planning.lengths import average_length, expected_width, plug_in, widest, worst_outcome
from steelyard.infer.planning.precision_goal import CREDIBLE, PrecisionGoal
from steelyard.questions.plan import estimate_words as words
from steelyard.questions.plan.expectations import Expectation
from steelyard.results.plan import Curve

SUMMED = 5_000  # items up to which a mean over all outcomes of a Beta law is summed; beyond, it is left out
POINTS = 60  # of the curve
SHIFTS = (-0.05, -0.02, 0.02, 0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionQuestion:
    """What is asked for, checked: the rule, what is anticipated, how likely it should be. `bound` is the threshold as given."""

    rule: PrecisionGoal
    known: Expectation
    target: float
    bound: float | None
    batch: int

    @property
    def anticipated(self) -> Anticipated | None:
        return self.known.anticipated(self.rule.prior)

    def reached(self) -> bool:
        """Is it good enough with what there is?"""
        return self.known.have[1] > 0 and bool(self.rule.meets(*self.known.counted))


def items_of(wanted: PrecisionQuestion) -> tuple[int, int]:
    """(first, stable) number of relevant items, more than there are."""
    anticipated, have = wanted.anticipated, wanted.known.counted
    if wanted.reached():
        return 0, 0
    if anticipated is None:
        n = worst_outcome(wanted.rule, have)
        return n, n
    return items_for_assurance(wanted.rule, anticipated, wanted.target, have)


def labels_of(wanted: PrecisionQuestion, found: tuple[int, int]) -> tuple[int | None, float]:
    """Labels that hold enough relevant items, and the assurance with so many; None if their share is not known."""
    rule, relevant, anticipated, have = wanted.rule, wanted.known.relevant, wanted.anticipated, wanted.known.counted
    n = found[1]
    if relevant is None or relevant == 1.0 or n == 0:
        sure = n == 0 or anticipated is None
        chance = 1.0 if sure or anticipated is None else float(assurance(rule, anticipated, n, have))
        return (None if relevant is None and n else n), chance
    if anticipated is None:
        return labels_for_items(n, wanted.target, relevant), wanted.target
    return labels_for_assurance(rule, anticipated, wanted.target, relevant, found, have)


def details_of(wanted: PrecisionQuestion, n: int, warnings: list[str]) -> dict[str, Any]:
    """What else a statistician asks: the success rate, the older criteria, the cost of stopping early."""
    rule, known, anticipated, have = wanted.rule, wanted.known, wanted.anticipated, wanted.known.counted
    details: dict[str, Any] = {
        "metric": known.metric.name,
        "interval": rule.method,
        "confidence_level": rule.level,
        "prior": list(rule.prior) if rule.method == CREDIBLE else None,
        "success_rate": known.success,
        "relevant_share": known.relevant,
        "have": list(known.have) if known.have[1] else None,
        "expected_items": None,
    }
    if rule.width is None:
        # Stopping as soon as a threshold is cleared picks the lucky moments: no expected number is given for it.
        return details
    details["worst_outcome_n"] = worst_outcome(rule, have)
    if anticipated is None or n == 0:
        return details | ({"expected_items": 0.0, "expected_labels": 0.0} if n == 0 else {})
    if known.success is not None and not have[1]:
        details["plug_in_n"] = dict(zip(("real", "first", "stable"), plug_in(rule, known.success), strict=True))
    if anticipated.law is None or details["worst_outcome_n"] <= SUMMED:
        details["average_length_n"] = average_length(rule, anticipated, have)
    stopped = stop_when_narrow(rule, anticipated, wanted.batch, have)
    details |= {"expected_items": stopped.expected, "batch": stopped.batch}
    details |= {"stopped_coverage": stopped.coverage, "stopped_bias": stopped.bias}  # of the success rate
    if known.relevant:
        details["expected_labels"] = stopped.expected / known.relevant  # Wald's identity: the stop is about relevant items
    if stopped.batch != wanted.batch:
        warnings.append(
            f"the expected number when stopping early is for batches of {stopped.batch:,} instead of {wanted.batch:,}: "
            "smaller ones would be thousands of looks"
        )
    return details


def sensitivity_of(wanted: PrecisionQuestion) -> Iterator[dict[str, Any]]:
    """The answer if the value, the prevalence or the prior is another one."""
    known = wanted.known
    if known.value is not None:
        for by in SHIFTS:
            other = known.shifted(by)
            if other is not None and (wanted.rule.threshold is None or (other.success or 0) > wanted.rule.bar):
                yield from _row(words.moved(other), replace(wanted, known=other))
    prevalence = known.told.get("prevalence")
    if prevalence is not None:
        for factor in (0.5, 2.0):
            if prevalence * factor < 1:
                other = replace(known, told={**known.told, "prevalence": prevalence * factor})
                yield from _row(f"prevalence is {prevalence * factor:g}", replace(wanted, known=other))
    if wanted.rule.method == CREDIBLE:
        swap = 1.0 if wanted.rule.prior[0] != 1 else 0.5
        pair = (swap, swap * (2 if wanted.rule.f1 else 1))
        yield from _row(f"the prior is {swap:g}", replace(wanted, rule=replace(wanted.rule, prior=pair)))


def _row(what: str, wanted: PrecisionQuestion) -> Iterator[dict[str, Any]]:
    """One row; none for a combination that cannot be, an empty one for a goal out of reach."""
    try:
        _ = wanted.known.relevant
    except UsageError:
        return
    try:
        found = items_of(wanted)
        yield {"if": what, "n": found[1], "labels": labels_of(wanted, found)[0]}
    except UsageError:
        yield {"if": what, "n": None, "labels": None}


def steps_of(wanted: PrecisionQuestion, n: int) -> Iterator[dict[str, Any]]:
    """Other sizes beside the answer."""
    rule, anticipated, have = wanted.rule, wanted.anticipated, wanted.known.counted
    for size in sorted({max(1, math.ceil(n * share)) for share in (0.5, 0.75, 1, 1.25, 2)}):
        if anticipated is None:
            yield {"n": size, "widest": widest(rule, size, have)}
            continue
        row: dict[str, Any] = {"n": size, "assurance": float(assurance(rule, anticipated, size, have))}
        if rule.width is not None and (anticipated.law is None or size <= SUMMED):
            row["expected width"] = expected_width(rule, anticipated, size, have)
        yield row


def curve_of(wanted: PrecisionQuestion, n: int) -> Curve:
    """The assurance (or, for the worst outcome, the widest interval) around the answer."""
    rule, anticipated, have = wanted.rule, wanted.anticipated, wanted.known.counted
    sizes = np.unique(np.append(np.geomspace(max(1, n / 4), 2 * n, POINTS).round(), n)).astype(np.int64)
    if anticipated is None:
        values, label, goal = [widest(rule, int(size), have) for size in sizes], "widest interval", rule.width
    else:
        values, label, goal = assurance(rule, anticipated, sizes, have).tolist(), "assurance", wanted.target
    at = float(values[int(np.searchsorted(sizes, n))])
    return Curve(x_label="n", y_label=label, x=tuple(map(float, sizes)), y=tuple(values), goal=goal, mark=(float(n), at))
