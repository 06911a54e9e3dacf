"""From evidence to a comparison: the evidence of a joint table, what is believed of it, and the signature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steelyard.errors import UsageError
from steelyard.estimate.compare_options import CompareOptions
from steelyard.estimate.evidence import Evidence, comparison_of
from steelyard.estimate.measure_options import RESAMPLING
from steelyard.estimate.rows import class_of
from steelyard.metrics.base import Metric
from steelyard.results import signature
from steelyard.results.comparison import Comparison
from steelyard.tally.counts import Counts
from steelyard.tally.joint import JointCounts


def believe(found: Evidence, asked: CompareOptions, *, higher_is_better: bool) -> None:
    """Writes the probabilities under the stated scale of true differences into the evidence; without one, what the prior expects."""
    scale = asked.own.prior_scale
    if scale is None:
        if found.probability is not None:
            found.details["prior_sd"] = found.prior_sd  # None: differences of any size
        return
    if found.interval is not None and found.interval.method == "bayes":
        raise UsageError(
            "cannot use prior_scale= with the interval 'bayes'",
            got="two priors for one difference",
            need="one of them",
            hint="prior_scale= belongs to P(candidate better); the interval bayes to prior=",
        )
    found.probability = _above(found, asked, scale, 0.0)
    if found.probability is None:
        asked.warn("no P(candidate better) with prior_scale=: the difference has no standard error here")
        return
    found.details["prior_scale"] = scale
    found.drawn = False  # nothing of this needs draws
    if found.equivalence is not None and "rope" in found.equivalence:
        margin = found.equivalence["margin"]
        better, worse = _above(found, asked, scale, margin) or 0.0, 1 - (_above(found, asked, scale, -margin) or 0.0)
        if not higher_is_better:
            better, worse = worse, better
        found.equivalence["rope"] = {"worse": worse, "equivalent": max(0.0, 1 - better - worse), "better": better}
    if not higher_is_better:
        found.probability = 1 - found.probability


def _above(found: Evidence, asked: CompareOptions, scale: float, at: float) -> float | None:
    """P(candidate's number minus the baseline's > at)."""
    from steelyard.infer.posterior.prior_scale import estimate_above, flips_above

    if found.disagreed is not None:
        gained, lost = found.disagreed
        return flips_above(gained, lost, found.n, scale, at, prior=asked.own.prior)
    error = found.standard_error or found.error
    if found.difference is None or not error:
        return None
    units = found.details.get("units") or found.n
    return estimate_above(found.difference, error, scale, at, df=max(1, units - 1))


def joint_evidence(joint: JointCounts, metric: Metric, asked: CompareOptions) -> Evidence:
    """The family that a metric of a joint table belongs to."""
    from steelyard.estimate.paired_right_or_wrong import compare_flips

    if metric.scored:
        redrawn = asked.interval in ("bca", "percentile", "delta")
        found = compare_flips(joint.outcomes(), replace(asked, interval=None) if redrawn else asked, error_rate=metric.counts_wrong)
        if redrawn:
            from steelyard.estimate.paired_table import outcome_interval

            found.interval = outcome_interval(joint, metric, found, asked)
    else:
        from steelyard.estimate.paired_table import compare_table

        found = compare_table(joint, metric, class_label(metric, joint.side("baseline"), asked), asked)
    found.table = joint
    return found


def class_label(metric: Metric, counts: Counts, asked: CompareOptions) -> str | None:
    """The name of the class that a metric is about, or None for a metric of the whole table."""
    code = class_of(metric, counts, asked.own)
    return None if code is None else counts.labels[code]


def finish(found: Evidence, metric: Metric, asked: CompareOptions, names: tuple[str, str], **more: Any) -> Comparison:
    """The comparison with its signature."""
    higher_is_better = metric.higher_is_better if asked.higher_is_better is None else asked.higher_is_better
    believe(found, asked, higher_is_better=higher_is_better)
    return comparison_of(
        found,
        metric=metric.name,
        higher_is_better=higher_is_better,
        names=names,
        asked=asked,
        signature=sign(found, metric, asked),
        **more,
    )


def sign(found: Evidence, metric: Metric, asked: CompareOptions, **more: object) -> str:
    """What was used, in the fixed order; `more` is what a board of many systems adds."""
    method = found.details.get("instead_of", found.interval.method) if found.interval is not None else None
    of_test = None if found.test.details.exact else found.test.details.draws  # fewer than asked for, with very many labels
    own = asked.own
    drawn = method in RESAMPLING or found.drawn
    draws = own.draws if drawn else None if of_test is None else min(own.draws, of_test)
    return signature.write(
        {
            "metric": metric.name,
            "positive": own.positive,
            "labels": own.labels,
            "n": found.n,
            "design": found.design,
            "units": found.details.get("units"),
            "interval": method,
            "test": found.test.name,
            "alternative": asked.alternative,
            "level": own.confidence_level,
            "side": None if own.side == "two" else own.side,
            "margin": asked.margin,
            "prior": own.prior if found.probability is not None or method == "bayes" else None,
            "prior_scale": own.prior_scale,
            "range": own.range,
            "draws": draws,
            "seed": None if draws is None else own.seed,
            "absent": own.absent,
            "missing": None if own.missing == "error" else own.missing,
            "unmatched": None if asked.unmatched == "error" else asked.unmatched,
            **more,
        }
    )
