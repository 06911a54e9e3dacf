"""A number per item on both sides: the mean difference, by Student and by flipping signs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.infer import sums as infer_sums
from steelyard.infer.bootstrap import Degenerate
from steelyard.infer.equivalence import equivalence
from steelyard.infer.flips import from_tails
from steelyard.infer.grouped import FEWEST
from steelyard.infer.signflip import sign_flip
from steelyard.metrics.catalogue import Metric
from steelyard.metrics.ranking import midranks
from steelyard.metrics.sums import QUOTIENT
from steelyard.questions.asked import Asked
from steelyard.questions.evidence import Evidence
from steelyard.questions.grouped_rows import warn_few_units
from steelyard.questions.paired_flips import equivalence_words
from steelyard.results import Interval, Test
from steelyard.tally.pairs import Pairs
from steelyard.tally.sums import Sums, tally_groups, tally_items

FloatArray = npt.NDArray[np.float64]


def compare_scores(
    rows: tuple[FloatArray, FloatArray], pairs: Pairs, metric: Metric, asked: Asked, *, bounds: tuple[float, float] | None
) -> Evidence:
    """The mean difference of one number per item, under groups and repeats too."""
    from steelyard.questions.pair_evidence import units_of

    a, b = (_by_item(values, item, pairs.items) for values, item in zip(rows, (pairs.baseline_item, pairs.candidate_item), strict=True))
    d = b - a
    d[np.abs(d) <= 1e-13 * np.maximum(np.abs(a), np.abs(b))] = 0.0  # means of equal repeats differ by rounding only
    grouped = pairs.baseline.group is not None
    unit, units = units_of(pairs)
    sums = _tally(d, unit, units, grouped)
    found = Evidence(
        design="clustered" if grouped else "paired",
        n=pairs.items,
        baseline=float(a.mean()),
        candidate=float(b.mean()),
        difference=float(d.mean()),
        interval=None,
        test=_test(d, sums, pairs, rows, metric, asked, grouped),
        correlation=_correlation(a, b),
        details=_details(a, b, d, pairs, rows, units if grouped else None),
    )
    try:
        found.error = infer_sums.standard_error(sums, QUOTIENT)
    except Degenerate:
        found.error = None
    effects = np.bincount(unit, weights=a, minlength=units) / np.bincount(
        unit, minlength=units
    )  # of the units, in the metric's own numbers
    found.interval = scores_interval(sums, found, metric, asked, bounds, grouped, effects)
    if asked.margin is not None and not found.error:
        asked.warn("equivalence within the margin cannot be tested: the differences show no spread")
    if asked.margin is not None and found.error:
        e = equivalence(found.difference or 0.0, found.error, asked.margin, sums.n - 1)
        found.equivalence = equivalence_words(e.p_lower, e.p_upper, asked.margin, asked, higher_is_better=metric.facts.higher_is_better)
    if not d.any():
        found.details["identical"] = True
        asked.warn("the two systems have the same score on every item: identical answers, or one run compared with itself")
    return found


def _by_item(values: FloatArray, item: npt.NDArray[np.int64], items: int) -> FloatArray:
    """One number per item: the mean over its repeats, summed in the order of their size so that the file's order is nothing."""
    if len(values) == items:  # each item once
        alone = np.empty(items)
        alone[item] = values
        return alone
    order = np.lexsort((values, item))
    values, item = values[order], item[order]
    return np.asarray(np.bincount(item, weights=values, minlength=items) / np.bincount(item, minlength=items))


def _tally(x: FloatArray, unit: Any, units: int, grouped: bool) -> Sums:
    rows = np.stack([np.ones(len(x)), x], axis=1)
    return tally_groups(rows, unit, units) if grouped else tally_items(rows)


def scores_interval(
    sums: Sums, found: Evidence, metric: Metric, asked: Asked, bounds: tuple[float, float] | None, grouped: bool, effects: FloatArray
) -> Interval | None:
    method = asked.choose("interval", asked.interval, ("t", "bca", "percentile"), f"{metric.name} on the same items")
    reach = (bounds[0] - bounds[1], bounds[1] - bounds[0]) if bounds else (None, None)
    if grouped:
        warn_few_units("groups", sums.n, asked.own)
        if sums.n < FEWEST:
            return None
    try:
        if method == "t":
            return asked.interval_of(*infer_sums.linearised(sums, QUOTIENT, asked.level, asked.side), "t", *reach)
        low, high, _ = infer_sums.resampled(sums, QUOTIENT, method, asked.level, asked.side, draws=asked.own.draws, seed=asked.own.seed)
        return asked.interval_of(low, high, method, *reach)
    except Degenerate as reason:
        return _without_spread(found, sums, bounds, asked, str(reason), method, effects)


def _without_spread(
    found: Evidence, sums: Sums, bounds: tuple[float, float] | None, asked: Asked, reason: str, method: str, effects: FloatArray
) -> Interval | None:
    """All differences equal. With a known range the difference still has an interval: Wilson on its mean."""
    from steelyard.infer.mean import unseen_difference, wilson_mean

    if bounds is None:
        if found.difference != 0 or not float(np.ptp(effects)) > 0:
            asked.warn(
                f"no interval for the difference can be given ({reason}); declare the range of the scores with --range if it is known"
            )
            return None
        asked.warn("no item differs: the interval allows a new item to differ by the range of the scores seen; --range says better")
        found.details["instead_of"] = method
        return asked.interval_of(*unseen_difference(effects, asked.level, asked.side), "wilson-mean", None, None)
    width = bounds[1] - bounds[0]
    low, high = wilson_mean(found.difference or 0.0, sums.n, -width, width, asked.level, asked.side)
    asked.warn(f"{method} has no interval for the difference here ({reason}); Wilson on its mean is given instead, which is wide")
    found.details["instead_of"] = method
    return asked.interval_of(low, high, "wilson-mean", -width, width)


def _test(
    d: FloatArray, sums: Sums, pairs: Pairs, rows: tuple[FloatArray, FloatArray], metric: Metric, asked: Asked, grouped: bool
) -> Test:
    """Sign-flip by default; run labels permuted within items where the two sides have unequal repeats."""
    runs = [np.bincount(item, minlength=pairs.items) for item in (pairs.baseline_item, pairs.candidate_item)]
    unequal = not grouped and not np.array_equal(runs[0], runs[1])
    offered = (
        ("within-item", "paired-t", "sign-flip")
        if unequal
        else ("sign-flip", "paired-t", "wilcoxon", *(() if pairs.plain else ("within-item",)))
    )
    name = asked.choose("test", asked.test, offered, f"{metric.name} on the same items")
    if name == "within-item":
        return _within(pairs, asked, rows)
    by_unit = np.repeat(sums.dense[:, 1], sums.count) if grouped else d
    if name == "paired-t":
        return _student(sums, asked)
    if name == "wilcoxon":
        by_unit = by_unit[by_unit != 0]
        by_unit = np.sign(by_unit) * midranks(np.abs(by_unit)) if len(by_unit) else by_unit
        asked.warn("Wilcoxon tests whether the differences are symmetric around 0, not whether their mean is 0")
    found = sign_flip(by_unit, alternative=asked.alternative, draws=asked.own.draws, seed=asked.own.seed)
    details: dict[str, Any] = {"exact": found.exact, "method": found.method}
    if not found.exact:
        details["draws"] = asked.own.draws
    return Test(name=name, alternative=asked.alternative, statistic=float(by_unit.sum()), p_value=found.p_value, details=details)


def _student(sums: Sums, asked: Asked) -> Test:
    from scipy.special import stdtr

    mean = float(QUOTIENT.value(sums.totals()))
    df = sums.n - 1
    try:
        t = mean / infer_sums.standard_error(sums, QUOTIENT)
    except (Degenerate, ZeroDivisionError):
        t = math.nan
    if math.isnan(t):
        if mean == 0:
            return Test(name="paired-t", alternative=asked.alternative, statistic=0.0, p_value=1.0, details={"df": df})
        asked.warn("all differences are equal and not 0: t is infinite, which is no evidence of how sure we are; the p-value is left out")
        return Test(name="paired-t", alternative=asked.alternative, statistic=None, p_value=None, details={"df": df})
    p = from_tails(float(stdtr(df, t)), float(stdtr(df, -t)), asked.alternative)
    return Test(name="paired-t", alternative=asked.alternative, statistic=t, p_value=p, details={"df": df})


def _within(pairs: Pairs, asked: Asked, rows: tuple[FloatArray, FloatArray]) -> Test:
    """Which of an item's runs are the candidate's is shuffled within the item: exact for right or wrong."""
    from steelyard.infer.within_items import within_items, within_items_scores

    sides = ((rows[0], pairs.baseline_item), (rows[1], pairs.candidate_item))
    options: dict[str, Any] = {"alternative": asked.alternative, "draws": asked.own.draws, "seed": asked.own.seed}
    if all(np.isin(values, (0.0, 1.0)).all() for values, _ in sides):
        right = [np.bincount(item, weights=values, minlength=pairs.items).astype(np.int64) for values, item in sides]
        runs = [np.bincount(item, minlength=pairs.items) for _, item in sides]
        found = within_items(right[0], runs[0], right[1], runs[1], **options)
    else:
        candidate = np.repeat([False, True], [len(rows[0]), len(rows[1])])
        found = within_items_scores(np.concatenate([item for _, item in sides]), np.concatenate(rows), candidate, **options)
    details: dict[str, Any] = {"exact": found.exact} | ({} if found.exact else {"draws": asked.own.draws})
    return Test(name="within-item", alternative=asked.alternative, statistic=found.difference, p_value=found.p_value, details=details)


def _correlation(a: FloatArray, b: FloatArray) -> float | None:
    x, y = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale > 0 else None


def _details(
    a: FloatArray, b: FloatArray, d: FloatArray, pairs: Pairs, rows: tuple[FloatArray, FloatArray], groups: int | None
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if groups is not None:
        out["groups"] = out["units"] = groups
    if len(d) > 1 and d.var() > 0:
        out["pairing_gain"] = float((a.var(ddof=1) + b.var(ddof=1)) / d.var(ddof=1))
    if not pairs.plain:
        out |= _repeats(pairs, d, rows)
    return out


def _repeats(pairs: Pairs, d: FloatArray, rows: tuple[FloatArray, FloatArray]) -> dict[str, Any]:
    """How many runs each side has, and which share of the variance of the difference is run-to-run noise within items."""
    out: dict[str, Any] = {}
    noise = np.zeros(pairs.items)
    for name, values, item in (("baseline", rows[0], pairs.baseline_item), ("candidate", rows[1], pairs.candidate_item)):
        tries = np.bincount(item, minlength=pairs.items)
        out[f"repeats_{name}"] = int(tries.max())
        mean = np.bincount(item, weights=values, minlength=pairs.items) / tries
        squares = np.bincount(item, weights=(values - mean[item]) ** 2, minlength=pairs.items)
        pooled = squares.sum() / max(1, int((tries - 1).sum()))
        noise += pooled / tries
    if len(d) > 1 and d.var() > 0:
        out["variance_within_share"] = min(1.0, float(noise.mean() / d.var(ddof=1)))
    return out
