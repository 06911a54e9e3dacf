"""How many labels to know a metric well enough?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard_old.errors import UsageError, in_short
from steelyard_old.infer.planning.anticipated import Anticipated
from steelyard_old.infer.planning.assurance import assurance, items_for_assurance, labels_for_assurance, labels_for_items
from steelyard_old.infer.planning.labelling import stop_when_narrow
from steelyard_old.infer.planning.lengths import average_length, expected_width, plug_in, widest, worst_outcome
from steelyard_old.infer.planning.precision_goal import CREDIBLE, PrecisionGoal, methods_for
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.labels import LabelMetric
from steelyard_old.options.option import LIMITS, MOST, check_choices, checked, documented, is_whole, not_offered, number
from steelyard_old.options.plan_estimate import OPTIONS
from steelyard_old.questions.plan import estimate_words as words
from steelyard_old.questions.plan.expectations import Expectation, expect, probability
from steelyard_old.results import signature
from steelyard_old.results.details import PlanDetails
from steelyard_old.results.plan import Curve, Plan, SizeStep, WhatIf

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


def sensitivity_of(wanted: PrecisionQuestion) -> Iterator[WhatIf]:
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
        yield from _row(f"the prior is {swap:g}", replace(wanted, rule=replace(wanted.rule, prior=prior_of(known.metric, swap))))


def _row(what: str, wanted: PrecisionQuestion) -> Iterator[WhatIf]:
    """One row; none for a combination that cannot be, an empty one for a goal out of reach."""
    try:
        _ = wanted.known.relevant
    except UsageError:
        return
    try:
        found = items_of(wanted)
        yield WhatIf(condition=what, n=found[1], labels=labels_of(wanted, found)[0])
    except UsageError:
        yield WhatIf(condition=what, n=None, labels=None)


def steps_of(wanted: PrecisionQuestion, n: int) -> Iterator[SizeStep]:
    """Other sizes beside the answer."""
    rule, anticipated, have = wanted.rule, wanted.anticipated, wanted.known.counted
    for size in sorted({max(1, math.ceil(n * share)) for share in (0.5, 0.75, 1, 1.25, 2)}):
        if anticipated is None:
            yield SizeStep(n=size, widest=widest(rule, size, have))
            continue
        row = SizeStep(n=size, assurance=float(assurance(rule, anticipated, size, have)))
        if rule.width is not None and (anticipated.law is None or size <= SUMMED):
            row = replace(row, expected_width=expected_width(rule, anticipated, size, have))
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


BATCH = 10
TOLERATED = 0.01  # coverage lost by stopping early that is not warned of


@documented(
    OPTIONS,
    "a Plan",
)
def plan_estimate(
    *,
    metric: str = "accuracy",
    expected: float | None = None,
    precision: float | None = None,
    recall: float | None = None,
    specificity: float | None = None,
    prevalence: float | None = None,
    width: float | None = None,
    half_width: float | None = None,
    threshold: float | None = None,
    interval: str = CREDIBLE,
    confidence_level: float = 0.95,
    assurance: float = 0.8,
    prior: float = 0.5,
    pilot: Any = None,
    design_prior: tuple[float, float] | None = None,
    have: tuple[int, int] | None = None,
    batch: int | None = None,
    positive: object = None,
    **columns: Any,
) -> Plan:
    """How many labels make it likely (assurance) that the interval is narrow enough, or that the metric clears a threshold.

    Exactly one of width, half_width, threshold. What is anticipated: expected=, or precision= and recall= for f1, or a
    pilot (a source, counts) or have=(k, n) whose labels count, or design_prior=(a, b); none of them, for a width: the
    worst outcome. For metrics of some of the items prevalence= turns relevant items (n) into labels.

    >>> plan = plan_estimate(metric="f1", precision=0.8, recall=0.8, threshold=0.75, prevalence=0.2)
    >>> plan.n_first, plan.n_stable, plan.labels
    (322, 341, 1387)
    """
    known = expect(
        metric,
        expected,
        {"precision": precision, "recall": recall, "specificity": specificity, "prevalence": prevalence},
        design_prior,
        have,
        pilot,
        columns if positive is None else {**columns, "positive": positive},
    )
    goal = _goal(width, half_width, threshold)
    rule = _rule(known, goal, interval, checked("confidence_level", confidence_level), prior)
    wanted = PrecisionQuestion(
        rule=rule, known=known, target=probability("assurance", assurance), bound=goal.get("threshold"), batch=_batch(batch)
    )
    _refuse_hopeless(wanted)
    return _plan(wanted, batch_given=batch is not None, pilot=pilot)


def _goal(width: float | None, half_width: float | None, threshold: float | None) -> dict[str, float]:
    """The one goal: {"width": w} or {"threshold": t}."""
    given = {name: value for name, value in (("width", width), ("half_width", half_width), ("threshold", threshold)) if value is not None}
    if len(given) != 1:
        raise UsageError(
            f"A plan needs exactly one of width=, half_width= and threshold=; got {' and '.join(f'{name}=' for name in given) or 'none'}.",
            got=" and ".join(given) if given else "no goal",
            need="exactly one of width, half_width, threshold",
            hint="width=0.1 for an interval at most 0.1 wide, threshold=0.9 to show that it is above 0.9",
        )
    name, value = next(iter(given.items()))
    if name == "threshold":
        return {"threshold": probability("threshold", value)}
    full = 2 * probability("half-width", value) if name == "half_width" else probability("width", value)
    if full >= 1:
        raise UsageError(
            f"The half-width {value:g} must be less than 0.5: the whole range is 1 wide.",
            got=f"{value:g}",
            need="less than 0.5: the whole range is 1 wide",
        )
    return {"width": full}


def _rule(known: Expectation, goal: dict[str, float], interval: str, level: float, prior: float) -> PrecisionGoal:
    check_choices(OPTIONS, interval=interval)
    through = known.metric.read_through
    if interval not in (offered := methods_for(through)):
        raise not_offered("interval", interval, known.metric.name, offered)
    prior = number("prior", prior, above=0, hint=LIMITS["prior"].hint)
    bar = goal.get("threshold")
    if bar is not None:
        bar = known.metric.of_right(bar)
    pair = prior_of(known.metric, prior)
    return PrecisionGoal(method=interval, level=level, prior=pair, width=goal.get("width"), threshold=bar, through=through)


def prior_of(metric: LabelMetric, each: float) -> tuple[float, float]:
    """The Beta prior of successes and mistakes: one share for each kind of relevant item, as TP, FP and FN for F1."""
    return each, each * metric.kinds_of_mistakes


def _batch(batch: int | None) -> int:
    if batch is None:
        return BATCH
    if isinstance(batch, bool) or not is_whole(batch) or not 1 <= batch.__index__() <= MOST:
        raise UsageError("cannot use batch", got=in_short(batch), need="a whole number of at least 1")
    return batch.__index__()


def _refuse_hopeless(wanted: PrecisionQuestion) -> None:
    """A threshold needs a value to stand above it, and the value must."""
    rule, known = wanted.rule, wanted.known
    if rule.threshold is None or wanted.reached():
        return
    side = "above" if known.metric.higher_is_better else "below"
    if wanted.anticipated is None:
        raise UsageError(
            f"To show that {known.metric.name} is {side} {wanted.bound:g}, the plan needs an expected value.",
            got="no expected value",
            need=f"an expected {known.metric.name}, a pilot, labels so far (have), or a design prior",
            hint="expected=0.95, a pilot, labels so far (have), or a design prior",
        )
    if known.success is not None and known.success <= rule.bar:
        raise UsageError(
            f"No amount of data can show that {known.metric.name} is {side} {wanted.bound:g} when {known.value:g} is expected.",
            got=f"an expected value of {known.value:g}",
            need=f"one {side} the threshold",
        )


def _plan(wanted: PrecisionQuestion, *, batch_given: bool, pilot: Any) -> Plan:
    """The numbers, and what is said about them."""
    rule, known = wanted.rule, wanted.known
    warnings: list[str] = []
    first, stable = items_of(wanted)
    labels, achieved = labels_of(wanted, (first, stable))
    if labels is None:
        warnings.append(words.no_labels(known))
    if wanted.target < 0.5:
        warnings.append(f"with an assurance of {wanted.target:g} the goal will be missed more often than reached; 0.8 is usual")
    details = {**details_of(wanted, stable, warnings), "achieved_assurance": achieved}
    covered = details.get("stopped_coverage")
    if batch_given and covered is not None and covered < rule.level - TOLERATED:
        warnings.append(words.stopped_early(rule, covered))
    worst = wanted.anticipated is None
    return Plan(
        goal="width" if rule.width is not None else "threshold",
        n=stable,
        n_first=first,
        n_stable=stable,
        labels=labels,
        assurance=1.0 if worst and known.relevant in (None, 1.0) else wanted.target,  # of a share of the labels the number varies
        expected_n=details.get("expected_labels"),
        conclusion=words.conclude(rule, known, wanted.bound, stable, labels, None if worst else achieved),
        assumed=words.assume(rule, known),
        sensitivity=tuple(sensitivity_of(wanted)) if stable else (),
        steps=tuple(steps_of(wanted, stable)) if stable else (),
        curve=curve_of(wanted, stable) if stable else None,
        details=PlanDetails.of(details),
        warnings=words.join(warnings),
        signature=_sign(wanted, batch_given, pilot),
    )


def _sign(wanted: PrecisionQuestion, batch_given: bool, pilot: Any) -> str:
    rule, known = wanted.rule, wanted.known
    told = {name: rate for name, rate in known.told.items() if name != known.metric.name}
    believed = rule.method == CREDIBLE or (known.have[1] and known.value is None and known.law is None)
    return signature.write(
        {
            "goal": "width" if rule.width is not None else "threshold",
            "metric": known.metric.name,
            "expected": None if known.by_parts else known.value,
            "precision": told.get("precision"),
            "recall": told.get("recall"),
            "prevalence": told.get("prevalence"),
            "width": rule.width,
            "threshold": wanted.bound,
            "interval": rule.method,
            "assurance": wanted.target,
            "have": list(known.have) if known.have[1] else None,
            "pilot": pilot if isinstance(pilot, str) else None,
            "batch": wanted.batch if batch_given else None,
            "level": rule.level,
            "prior": rule.prior[0] if believed else None,
            "design_prior": known.law,
        }
    )
