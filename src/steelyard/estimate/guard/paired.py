"""A guard against recorded outcomes: the same items, one by one, by the tests of `compare`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from steelyard.errors import DataError
from steelyard.estimate.changed_items import KEPT, telling_items
from steelyard.estimate.compare_options import settle_comparison
from steelyard.estimate.evidence import DECLARE, FALLS, RARE, too_few_groups
from steelyard.estimate.guard.number import GuardOutcome, warn_of_gain
from steelyard.estimate.guard.paired_parts import PairedJudgement
from steelyard.estimate.guard.rule import GuardRule
from steelyard.estimate.measure_options import settle
from steelyard.estimate.pair_evidence import pair_evidence
from steelyard.estimate.systems import SystemItems, paired
from steelyard.infer.paired.decision import agreeing_bounds, decide
from steelyard.metrics.base import Metric
from steelyard.tally.pairing import Sides

WHOLE = 1e-9  # of a level 1 - 2 alpha that would be 0 at alpha = .5
RUN_AND_REFERENCE = Sides(baseline="reference", candidate="run", verb="checks", may_differ=False, identical="no item changed: zero flips")
TURNED = {"lost": "gained", "gained": "lost"}


def guard_items(
    reference: SystemItems,
    candidate: SystemItems,
    metric: Metric,
    rule: GuardRule,
    *,
    unit: float,
    unmatched: str,
    missing: str,
    draws: int,
    seed: int,
    deterministic: bool = False,
) -> GuardOutcome:
    """The verdict on matched items. `unit` turns the metric's own number into the scale of the reference."""
    level = max(1 - 2 * rule.alpha, WHOLE)
    scored = metric.mean_of_scores
    if rule.range is not None and not scored:
        rule.warnings.append(f"range was not used: {metric.name} is no mean of scores")
    asked = settle_comparison(
        settle(
            confidence_level=level,
            draws=draws,
            seed=seed,
            missing=missing,
            positive=rule.positive,
            range=rule.range if scored else None,
        ),
        interval=None,
        test="within-item" if rule.target == "runs" else None,
        alternative="less" if rule.higher_is_better else "greater",
        margin=rule.margin / unit or None,
        design=None,
        unmatched=unmatched,
        correction="holm",
    )
    asked = replace(asked, about_runs=rule.target == "runs", sides=RUN_AND_REFERENCE)
    pairs, _ = paired(reference, candidate, asked)
    if rule.target == "runs" and pairs.plain:
        raise DataError(
            "cannot ask about runs",
            got="one answer per item on both sides",
            need="repeats: several recorded runs, or a repeat column",
            hint="target='items' asks about new items of this kind",
        )
    # Without a margin of its own the comparison would warn about spreads that the guard judges itself.
    plain = replace(asked, margin=None) if not metric.right_or_wrong and rule.margin else asked
    found = pair_evidence(pairs, metric, plain)
    rule.warnings.extend(asked.own.warnings)
    return _written(
        PairedJudgement(found=found, pairs=pairs, metric=metric, rule=rule, unit=unit, draws=draws, deterministic=deterministic)
    )


def _written(judged: PairedJudgement) -> GuardOutcome:
    found, rule, unit = judged.found, judged.rule, judged.unit
    if found.difference is None or found.baseline is None or found.candidate is None:
        raise DataError("cannot judge the difference", got=f"an undefined {judged.metric.name}", need="a value in both runs")
    p, test = judged.p_value()
    error = None if found.too_few else judged.noise
    d = rule.sign * found.difference * unit + 0.0  # never -0.0
    below, above = judged.bounds(d)
    lower, upper = agreeing_bounds(below, above, p, rule.alpha, rule.margin)
    smallest = min(p, judged.smallest(test))
    verdict = decide(p, rule.alpha, theta=rule.theta, lower=lower, attainable=smallest, enough=not found.too_few)
    details: dict[str, Any] = {**found.details, "smallest_p": smallest, "standard_error": None if not error else error * unit}
    if found.too_few:
        details["not_judged"] = too_few_groups(found.details)
    if found.interval is not None:
        details["interval_method"] = found.interval.method
    if smallest > rule.alpha:
        rule.warnings.append(f"no outcome on {found.n:,} items could give p <= {rule.alpha:g} (the smallest is {smallest:.3g})")
    warn_of_gain(lower, rule)
    _warn_of_unseen(judged, verdict)
    threshold = judged.threshold(p, above, smallest)
    if judged.threshold_note:
        details["threshold_note"] = judged.threshold_note
    return GuardOutcome(
        verdict=verdict,
        design=found.design,
        test=test,
        p_value=p,
        n=found.n,
        value=found.candidate * unit,
        reference=found.baseline * unit,
        difference=d,
        lower=lower,
        upper=upper,
        sigma=None if not error else error * math.sqrt(found.n) * unit,
        mde=judged.mde(),
        threshold=threshold,
        flips=None if found.flips is None else dict(found.flips),
        needed=judged.needed(smallest) if verdict == "inconclusive" else None,
        telling=_telling(judged),
        claim=judged.claim(),
        details=details,
    )


def _warn_of_unseen(judged: PairedJudgement, verdict: str) -> None:
    """Scores without a declared range: a verdict that would be another if rare large changes were counted in."""
    rule, unseen = judged.rule, judged.found.unseen
    if unseen is None:
        return
    if verdict == "regression" and unseen.falls == FALLS and (p := unseen.p_value(-rule.sign * rule.margin / judged.unit)) > rule.alpha:
        rule.warnings.append(f"the test may be too sure: {RARE}, this is no regression (p = {p:.2g}); {DECLARE}")
    if verdict == "pass" and rule.theta is not None:
        ends = unseen.interval(max(1 - 2 * rule.alpha, WHOLE), "two")
        lowest = min(rule.sign * end * judged.unit for end in ends)
        if lowest <= -rule.theta:
            rule.warnings.append(
                f"the pass may be too sure: {unseen.falls}, the lower bound is {lowest:.3g} and a drop of {rule.theta:g} is not ruled out; "
                f"{unseen.remedy}"
            )


def _telling(judged: PairedJudgement) -> tuple[dict[str, Any], ...]:
    """The items that changed most; lost and gained as this rule sees them, which may count a score of 1 as bad."""
    items = telling_items(judged.pairs, judged.metric, KEPT)
    if judged.rule.higher_is_better == judged.metric.higher_is_better:
        return tuple(items)
    return tuple({**item, "change": TURNED[item["change"]]} for item in items)
