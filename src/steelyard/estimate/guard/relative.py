"""A guard that asks for a share of the reference: at least 99% of it, a loss of 5% of it tolerated.

Right or wrong on the same items has the score test of the ratio, means of scores Fieller's. What has no ratio is refused: a
reference of 0, scores below 0, scales that do not begin at 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steelyard.errors import DataError, UsageError
from steelyard.estimate.evidence import Evidence, ItemMeans
from steelyard.estimate.guard.rule import GuardRule
from steelyard.infer.intervals.sums import groups_of, spread
from steelyard.infer.paired.bounded_t import possible_range
from steelyard.infer.paired.ratio import MeanRatio, RatioTest, ShareRatio
from steelyard.metrics.base import Metric
from steelyard.metrics.sums import QUOTIENT
from steelyard.tally.sums import tally_groups

NO_ZERO = "give margin and theta in the scale of the scores"


def share_ratio(lost: int, gained: int, found: Evidence, metric: Metric, rule: GuardRule) -> ShareRatio:
    """So many items worse and better, as the ratio of two shares of what the metric counts: right answers, or wrong ones."""
    flips = found.flips or {}
    right = flips["both"] + flips["baseline_only"]
    counted = found.n - right if metric.counts_wrong else right
    if counted == 0:
        raise _nothing(f"{metric.name} of the reference is 0 on these items")
    up, down = (gained, lost) if rule.higher_is_better else (lost, gained)
    return ShareRatio(both=counted - down, gained=up, lost=down, n=found.n)


def mean_ratio(found: Evidence, metric: Metric, rule: GuardRule) -> MeanRatio:
    """The ratio of two means of numbers from 0 up, over items or groups."""
    means = found.means
    if found.details.n_effective is not None:
        raise UsageError(
            "A share of the reference cannot be asked of items with weights.", got="weights", need="items that count alike", hint=NO_ZERO
        )
    if means is None:
        raise UsageError(
            f"A share of the reference needs right or wrong, or a mean of scores, not {metric.name}.",
            got=f"{metric.name}, which is neither",
            need="right or wrong, or a mean of scores",
            hint=NO_ZERO,
        )
    begins = means.ends[0] if means.ends is not None else rule.range[0] if rule.range is not None and metric.mean_of_scores else 0.0
    least = min(float(means.baseline.min()), float(means.candidate.min()))
    if begins != 0 or least < 0:
        said = f"scores that begin at {begins:g}" if begins else f"a score of {least:g}"
        raise UsageError(
            f"A share of the reference means nothing for {said}: it needs a scale on which 0 is nothing at all.",
            got=said,
            need="scores from 0 up",
            hint=NO_ZERO,
        )
    if not float(means.baseline.max()) > 0:
        raise _nothing("every score of the reference is 0")
    ends = means.ends or possible_range(means.baseline, means.candidate)
    return _of_means(means, found.design == "clustered", ends[1], means.candidate)


def worst(ratio: MeanRatio, found: Evidence, rule: GuardRule) -> MeanRatio:
    """The same with every item of the run at the bad end of its range: no outcome could be worse."""
    assert found.means is not None
    end = 0.0 if rule.higher_is_better else ratio.largest
    return _of_means(found.means, found.design == "clustered", ratio.largest, np.full(len(found.means.candidate), end))


def _of_means(means: ItemMeans, grouped: bool, largest: float, candidate: Any) -> MeanRatio:
    a, b, n = means.baseline, candidate, len(candidate)
    middle = float(a.mean()), float(b.mean())
    if not grouped:
        x, y = a - middle[0], b - middle[1]
        xx, xy, yy = float(x @ x), float(x @ y), float(y @ y)

        def of_items(ratio: float) -> tuple[float, float]:
            return max(0.0, yy - 2 * ratio * xy + ratio * ratio * xx) / (n * (n - 1)) if n > 1 else 0.0, max(1, n - 1)

        return MeanRatio(baseline=middle[0], candidate=middle[1], units=n, largest=largest, spread=of_items)

    def of_groups(ratio: float) -> tuple[float, float]:
        found = spread(_groups(means, b - ratio * a), QUOTIENT)
        return found.variance, found.df

    worth = groups_of(_groups(means, b - a), QUOTIENT).effective
    return MeanRatio(baseline=middle[0], candidate=middle[1], units=worth, largest=largest, spread=of_groups)


def _groups(means: ItemMeans, d: Any) -> Any:
    return tally_groups(np.stack([np.ones(len(d)), d], axis=1), means.unit, means.units)


def _nothing(why: str) -> DataError:
    return DataError(
        f"A share of the reference needs a reference above 0: {why}.",
        got=f"a reference of 0: {why}",
        need="a reference above 0",
        hint=NO_ZERO,
    )


def ratio_bounds(ratio: RatioTest, rule: GuardRule) -> tuple[float, float | None]:
    """One-sided bounds of level 1 - alpha for run / reference; None where there is no upper one."""
    low, high = ratio.interval(max(1 - 2 * rule.alpha, 1e-9))
    return low, high if math.isfinite(high) else None
