"""From evidence to a comparison: the evidence of a joint table, what is believed of it, and the signature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steelyard import signature
from steelyard.estimate.better_probability import believe
from steelyard.estimate.compare_options import CompareOptions
from steelyard.estimate.evidence import Evidence, comparison_of
from steelyard.estimate.measure_options import RESAMPLING
from steelyard.estimate.rows import class_of
from steelyard.metrics.base import Metric
from steelyard.results.comparison import Comparison
from steelyard.tally.counts import Counts
from steelyard.tally.joint import JointCounts


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
