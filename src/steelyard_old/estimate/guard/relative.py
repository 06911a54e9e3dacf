"""A guard that asks for a share of the reference: at least 99% of it, a loss of 5% of it tolerated.

Right or wrong on the same items has the score test of the ratio, means of scores and ratios of sums Fieller's, perplexity the t of
its log. What has no ratio is refused: a reference of 0, scores below 0, scales that do not begin at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.evidence import Evidence, ItemMeans, UnitSums
from steelyard_old.estimate.fallback import or_none
from steelyard_old.estimate.guard.rule import GuardRule
from steelyard_old.estimate.paired_units import rare_of, units_tally
from steelyard_old.infer.intervals.sums import groups_of, spread
from steelyard_old.infer.paired.bounded_t import possible_range
from steelyard_old.infer.paired.ratio import LogRatio, MeanRatio, RatioTest, ShareRatio, SumsRatio
from steelyard_old.infer.paired.sums import difference_statistic
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.sums import QUOTIENT, SumStatistic
from steelyard_old.tally.sums import tally_groups

NO_ZERO = "give margin and theta in the scale of the scores"


def share_ratio(lost: int, gained: int, found: Evidence, metric: Metric, rule: GuardRule) -> ShareRatio:
    """So many items worse and better, as the ratio of two shares of what the metric counts: right answers, or wrong ones."""
    flips = found.flips or {}
    right = flips["both"] + flips["baseline_only"]
    counted = metric.of_right(right, found.n)
    if counted == 0:
        raise _nothing(f"{metric.name} of the reference is 0 on these items")
    up, down = (gained, lost) if rule.higher_is_better else (lost, gained)
    return ShareRatio(both=counted - down, gained=up, lost=down, n=found.n)


def ratio_of(found: Evidence, metric: Metric, rule: GuardRule) -> RatioTest:
    """The ratio of two means of numbers from 0 up, of two ratios of sums, or of two perplexities, over items or groups."""
    means = found.means
    if found.sums is not None:
        return _of_logs(found.sums, metric) if metric.read_through.logarithm else _of_sums(found, found.sums, metric, rule)
    if found.details.n_effective is not None:
        raise UsageError(
            "A share of the reference cannot be asked of items with weights.", got="weights", need="items that count alike", hint=NO_ZERO
        )
    if means is None:
        raise UsageError(
            f"A share of the reference needs right or wrong, a mean of scores, or a ratio of sums, not {metric.name}.",
            got=f"{metric.name}, which is none of them",
            need="right or wrong, a mean of scores, or a ratio of sums",
            hint=NO_ZERO,
        )
    begins, _ = means.ends or metric.range_of_scores(rule.range) or (0.0, None)
    least = min(float(means.baseline.min()), float(means.candidate.min()))
    if begins != 0 or least < 0:
        raise _no_zero(f"scores that begin at {begins:g}" if begins else f"a score of {least:g}")
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
        found = or_none(lambda: spread(_groups(means, b - ratio * a), QUOTIENT))
        return (0.0, 1.0) if found is None else (found.variance, found.df)  # one group shows no spread, and is never judged

    worth = groups_of(_groups(means, b - a), QUOTIENT).effective
    return MeanRatio(baseline=middle[0], candidate=middle[1], units=worth, largest=largest, spread=of_groups)


def _groups(means: ItemMeans, d: Any) -> Any:
    return tally_groups(np.stack([np.ones(len(d)), d], axis=1), means.unit, means.units)


def _of_sums(found: Evidence, sums: UnitSums, metric: Metric, rule: GuardRule) -> SumsRatio:
    """The ratio of two ratios of sums. Without groups the variance at any ratio follows from those of both runs and of the difference."""
    least = min(float(side[:, 1].min()) for side in (sums.baseline, sums.candidate))
    if least < 0:
        raise _no_zero(f"sums of {least:g}")
    assert found.baseline is not None
    assert found.candidate is not None
    statistic = metric.read_through.inner
    variance = _variances(sums, statistic)
    (alone, df), (run, _), (both, _) = variance(1.0, 0.0), variance(0.0, 1.0), variance(1.0, 1.0)

    def of_items(ratio: float) -> tuple[float, float]:
        return max(0.0, ratio * both + (1 - ratio) * (run - ratio * alone)), df

    ratio = SumsRatio(
        baseline=found.baseline,
        candidate=found.candidate,
        units=len(sums.baseline),
        own=(alone, df),
        spread=of_items if sums.sizes is None else lambda ratio: variance(ratio, 1.0),
        rare=rare_of(sums.baseline, sums.candidate, statistic, metric, sums.sizes),
    )
    if ratio.p_of_none >= rule.alpha:
        raise DataError(
            f"A share of the reference cannot be judged: {ratio.baseline:g} is not significantly different from 0.",
            got=f"a reference of {ratio.baseline:g} with a standard error of {math.sqrt(alone):.3g}",
            need="a reference clear of 0",
            hint="more items, or margin and theta in the scale of the scores",
        )
    return ratio


def _of_logs(sums: UnitSums, metric: Metric) -> LogRatio:
    """The ratio of two perplexities: e to the power of the difference of their mean losses."""
    inner = metric.read_through.inner
    here, there = (float(inner.value(side.sum(0))) for side in (sums.baseline, sums.candidate))
    variance, df = _variances(sums, inner)(1.0, 1.0)

    rare = rare_of(sums.baseline, sums.candidate, inner, metric, sums.sizes)
    return LogRatio(difference=there - here, variance=variance, df=df, units=len(sums.baseline), rare=rare)


def _variances(sums: UnitSums, statistic: SumStatistic) -> Callable[[float, float], tuple[float, float]]:
    """Variance and degrees of freedom of so many times the run minus so many times the reference; 0 where there is no spread."""
    tally, _ = units_tally(sums.baseline, sums.candidate, statistic, sums.sizes, sums.single)
    columns = sums.baseline.shape[1]

    def of(reference: float, run: float) -> tuple[float, float]:
        found = or_none(lambda: spread(tally, difference_statistic(statistic, columns, (reference, run))))
        return (0.0, 1.0) if found is None else (found.variance, found.df)

    return of


def _no_zero(said: str) -> UsageError:
    return UsageError(
        f"A share of the reference means nothing for {said}: it needs a scale with a true zero.",
        got=said,
        need="scores from 0 up",
        hint=NO_ZERO,
    )


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
