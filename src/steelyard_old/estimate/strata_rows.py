"""Groups of tasks: the mean that the tool gives for the group, with an interval that knows its tasks as strata; one system or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard_old.errors import UsageError
from steelyard_old.estimate.evidence import Evidence, interval_of
from steelyard_old.estimate.paired_right_or_wrong import equivalence_words
from steelyard_old.estimate.row import known
from steelyard_old.infer.intervals.strata import StratifiedMean, item_weights, stratified_mean
from steelyard_old.infer.paired.equivalence import equivalence
from steelyard_old.infer.paired.signflip import sign_flip
from steelyard_old.items import Items
from steelyard_old.metrics.base import Metric
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.options.option import not_offered
from steelyard_old.read.logs.log import Log
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Test
from steelyard_old.results.details import RowDetails, TestDetails
from steelyard_old.results.measurement import Interval, Row
from steelyard_old.tally.pairs import Pairs
from steelyard_old.tally.sample import Sample

OF_SHARES = {"wilson": StratifiedMean.wilson}  # of right and wrong
OF_MEANS = {"t": StratifiedMean.student}  # of any scores, and of differences


def in_strata(items: Items, metric: Metric) -> bool:
    """Whether a metric of these items is a mean over strata. Where it is not, items of a group that weighs tasks alike have no number."""
    if items.stratum is None:
        return False
    found = metric.scored and items.score is not None and items.group is None and items.repeat is None and items.weight is None
    if not found and items.alike:
        raise UsageError(
            f"{metric.name} is not possible for a group whose tasks count alike.",
            got="items of tasks of several sizes",
            need="the mean of their scores, without groups, repeats and weights",
            hint="use the mean of the scores, without groups, repeats and weights",
        )
    return found


def _codes(items: Items) -> Any:
    assert items.stratum is not None
    return np.unique(items.stratum.codes, return_inverse=True)[1]


def _mean(metric: Metric, items: Items, x: Any) -> StratifiedMean:
    return stratified_mean(metric.of_right(x), _codes(items), alike=items.alike)


def strata_row(metric: Metric, sample: Sample, settings: MeasureOptions, warnings: Warnings) -> Row:
    """The row of a mean over strata: Wilson for right or wrong, Student for any other score."""
    found = _mean(metric, sample.items, sample.items.score)
    binary = sample.binary_scores
    if metric.right_or_wrong and not binary:
        raise UsageError(
            f"{metric.name} is about right and wrong (1 and 0), but there are other scores.",
            got="scores other than 0 and 1",
            need="right or wrong for every item",
            hint="ask for metric='mean'",
        )
    offered = (*OF_SHARES, *OF_MEANS) if binary else tuple(OF_MEANS)
    method = settings.interval or offered[0]
    if method not in offered:
        raise not_offered("interval", method, f"{metric.name} over strata", offered)
    interval = None
    if method in OF_SHARES or found.error > 0:
        low, high = {**OF_SHARES, **OF_MEANS}[method](found, settings.confidence_level, settings.side)
        interval = _interval(low, high, method, settings, shares=sample.shares)
    else:
        warnings.add(f"no interval for {metric.name}: no score differs from the others of its task")
    return Row(
        metric=metric.name,
        estimate=found.estimate,
        n=found.n,
        interval=interval,
        standard_error=known(found.error),
        higher_is_better=metric.better_high(settings.higher_is_better),
        details=RowDetails(strata=found.strata, weights="alike" if sample.items.alike else "size"),
    )


def _interval(low: float, high: float, method: str, settings: MeasureOptions, *, shares: bool) -> Interval:
    ends: list[float | None] = [max(0.0, low) if shares else low, min(1.0, high) if shares else high]
    if settings.side != "two":
        ends[0 if settings.side == "upper" else 1] = (0.0 if settings.side == "upper" else 1.0) if shares else None
    level, side = settings.confidence_level, settings.side
    return Interval(low=ends[0], high=ends[1], confidence_level=level, side=side, method=method)  # type: ignore[arg-type]


def with_strata(found: Evidence, pairs: Pairs, metric: Metric, asked: CompareOptions, warnings: Warnings) -> Evidence:
    """What was found of the pairs as one sample, told of the strata: their mean difference and its interval.

    Weighted by size, the test is that of all items: which of two answers is the candidate's says nothing about the task. Where each
    task counts alike, the signs of the weighted differences are flipped.
    """
    a, b = (side.score for side in (pairs.baseline, pairs.candidate))
    assert a is not None
    assert b is not None
    items = pairs.baseline
    one, other = (_mean(metric, items, x) for x in (a, b))
    d = metric.of_right(b) - metric.of_right(a)
    gap = stratified_mean(d, _codes(items), alike=items.alike)
    found.baseline, found.candidate, found.difference = one.estimate, other.estimate, gap.estimate
    found.own, found.means = None, None  # by `measure`, which knows the strata
    found.note(strata=gap.strata, weights="alike" if items.alike else "size")
    if asked.interval in (None, *OF_MEANS) or items.alike:
        method = asked.choose("interval", asked.interval, tuple(OF_MEANS), f"{metric.name} over strata")
        if gap.error > 0:
            found.interval = interval_of(asked, *OF_MEANS[method](gap, asked.level, asked.side), method, *_reach(a, b))
            found.error = gap.error
    if items.alike:
        _alike(found, d, gap, items, metric, asked, warnings)
    return found


def _reach(a: Any, b: Any) -> tuple[float | None, float | None]:
    within = min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) <= 1
    return (-1.0, 1.0) if within else (None, None)


def _alike(found: Evidence, d: Any, gap: StratifiedMean, items: Items, metric: Metric, asked: CompareOptions, warnings: Warnings) -> None:
    name = asked.choose("test", asked.test, ("sign-flip",), f"{metric.name} over strata that count alike")
    weighted = d * item_weights(_codes(items), alike=True) * len(d)
    told = sign_flip(weighted, alternative=asked.alternative, draws=asked.own.draws, seed=asked.own.seed)
    details = TestDetails(exact=told.exact, method=told.method, draws=asked.own.draws if told.draws else None)
    found.test = Test(name=name, alternative=asked.alternative, statistic=gap.estimate, p_value=told.p_value, details=details)
    found.probability, found.disagreed, found.equivalence, found.table = None, None, None, None
    if gap.error == 0:
        found.interval, found.error = None, None
        warnings.add("no interval for the difference: the differences show no spread within the tasks")
    elif asked.margin is not None:
        e = equivalence(gap.estimate, gap.error, asked.margin, gap.df)
        found.equivalence = equivalence_words(e.p_lower, e.p_upper, asked.margin, asked, higher_is_better=metric.higher_is_better)


def as_one_sample(pairs: Pairs, asked: CompareOptions) -> tuple[Pairs, CompareOptions]:
    """The same pairs without strata, and what is asked of them: t is the interval over strata, and so is all that is asked if alike."""
    plain = replace(pairs, baseline=replace(pairs.baseline, stratum=None), candidate=replace(pairs.candidate, stratum=None))
    if pairs.baseline.alike:
        return plain, replace(asked, interval=None, test=None, margin=None)
    return plain, replace(asked, interval=None) if asked.interval in OF_MEANS else asked


def refuse_alike(logs: Sequence[Log | None], what: str) -> None:
    """Items pooled do not give a mean of the tasks' means."""
    for log in logs:
        if log is not None and log.alike:
            raise UsageError(
                f"Cannot {what} the group {log.chosen.get('task')!r}: its tasks count alike, whatever their size, so its value is "
                "a mean of means.",
                got="a group whose tasks count alike, whatever their size: its value is a mean of means",
                need="a task, or a group that is weighted by size",
                hint=f"take one task at a time, such as log_task={log.columns['task'][0]!r}",
            )
