"""Different items for the two systems: proportions, any other metric of a table, means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard_old.errors import DataError
from steelyard_old.estimate.difference_tests import DELTA, MEANS, TESTS, made, offered
from steelyard_old.estimate.evidence import DECLARE, Evidence, OwnEstimate, interval_of
from steelyard_old.estimate.fallback import attempt, none_given
from steelyard_old.estimate.named_intervals import INTERVALS, offered_intervals, posterior_of_proportions
from steelyard_old.estimate.paired_right_or_wrong import equivalence_words, own_share
from steelyard_old.estimate.row import ROUNDING, known
from steelyard_old.estimate.rows import warn_of_small_classes
from steelyard_old.estimate.table_rows import table_row
from steelyard_old.infer import unpaired as infer
from steelyard_old.infer.normal import lower_tail, z_value
from steelyard_old.infer.paired.bounded_t import possible_range
from steelyard_old.infer.paired.mcnemar import from_tails
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.metrics.base import Metric
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Test, WithinMargin
from steelyard_old.results.details import ComparisonDetails, TestDetails
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.counts import Counts, TableTally

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]

Moments = tuple[float, float, int]  # mean, variance with n - 1, number of items


def compare_counts(
    baseline: Counts, candidate: Counts, metric: Metric, label: str | None, asked: CompareOptions, warnings: Warnings
) -> Evidence:
    """Two tables from different items."""
    labels = [None if label is None else side.code(label) for side in (baseline, candidate)]
    shares = [metric.proportion(side, code) for side, code in zip((baseline, candidate), labels, strict=True)]
    if all(share is not None and share.through is None for share in shares):
        parts = [share.of(side) for share, side in zip(shares, (baseline, candidate), strict=True) if share is not None]
        return compare_proportions(parts[0], parts[1], metric, asked, warnings)
    warn_of_small_classes((baseline, candidate), label, warnings)
    return by_delta(baseline, candidate, metric, labels, asked, warnings)


def compare_proportions(
    baseline: tuple[int, int], candidate: tuple[int, int], metric: Metric, asked: CompareOptions, warnings: Warnings
) -> Evidence:
    """k of n against k of n."""
    (k2, n2), (k1, n1) = baseline, candidate
    if not n1 or not n2:
        raise DataError(
            f"{metric.name} needs items in both runs; there are {n2} and {n1} that count for it.",
            got=f"{n2} and {n1} items that count for it",
            need="at least one in each run",
        )
    names = offered_intervals("proportions")
    method = asked.choose("interval", asked.interval, names, f"{metric.name} of different items")
    name = asked.choose("test", asked.test, offered("proportions"), f"{metric.name} of different items")
    error = math.sqrt(max(0.0, k1 * (n1 - k1) / n1**3 + k2 * (n2 - k2) / n2**3))
    if INTERVALS[method].flat and not error:
        warnings.add(f"the {method.capitalize()} interval has no width here; {names[0].capitalize()}'s is used instead")
        method = names[0]
    low, high = made(INTERVALS[method].proportions)(k1, n1, k2, n2, asked)
    of_items = metric.mean_of_items
    own = own_share(k2, n2, asked, of_items=of_items), own_share(k1, n1, asked, of_items=of_items)
    found = Evidence(
        design="unpaired",
        n=n1 + n2,
        baseline=k2 / n2,
        candidate=k1 / n1,
        difference=k1 / n1 - k2 / n2,
        interval=interval_of(asked, low, high, method),
        test=made(TESTS[name].proportions)(k1, n1, k2, n2, asked),
        own=own,
        error=error or None,
        standard_error=math.hypot(*(side.error or 0.0 for side in own)) or None,
        details=ComparisonDetails(n_baseline=n2, n_candidate=n1),
    )
    better = posterior_of_proportions(k1, n1, k2, n2, asked).sf(0.0)
    found.probability = better if metric.higher_is_better else 1 - better
    found.prior_sd = math.sqrt(0.5 / (2 * asked.own.prior + 1))
    found.equivalence = _equivalence_z(found, asked, metric)
    return found


def by_delta(
    baseline: Counts, candidate: Counts, metric: Metric, labels: list[int | None], asked: CompareOptions, warnings: Warnings
) -> Evidence:
    """Any other metric of two tables: the difference with the sum of both delta-method variances."""
    from steelyard_old.infer.intervals.table import delta_error

    asked.choose("interval", asked.interval, offered_intervals(DELTA), f"{metric.name} of different items")
    asked.choose("test", asked.test, offered(DELTA), f"{metric.name} of different items")
    sides = (baseline, candidate)
    rows = [table_row(metric, code, TableTally(side, items=side.n), asked.own, warnings) for side, code in zip(sides, labels, strict=True)]
    errors = [delta_error(side, metric.of_table(code, asked.own.absent)) for side, code in zip(sides, labels, strict=True)]
    return from_errors(
        "unpaired",
        [r.estimate for r in rows],
        [r.interval for r in rows],
        errors,
        baseline.n + candidate.n,
        metric,
        asked,
        warnings,
        "delta",
    )


def from_errors(
    design: str,
    estimates: Sequence[float | None],
    intervals: Sequence[Interval | None],
    errors: Sequence[float],
    n: int,
    metric: Metric,
    asked: CompareOptions,
    warnings: Warnings,
    method: str,
) -> Evidence:
    """A difference of two independent estimates: normal interval and z from the two standard errors."""
    first, second = estimates
    if first is None or second is None:
        raise DataError(
            f"{metric.name} is undefined in one of the runs.",
            got="an undefined value in one run",
            need="a value in both",
            hint="absent='skip' or absent='zero'",
        )
    own = [known(error, ROUNDING) for error in errors]
    error = math.hypot(*(each or 0.0 for each in own))
    gap = second - first
    interval, z, p = None, None, (1.0 if gap == 0 else None)
    if not error:
        warnings.add("no interval for the difference: neither run varies")
    else:
        reach = z_value(asked.level, asked.side) * error
        interval = interval_of(asked, gap - reach, gap + reach, method, None, None)
        z = gap / error
        p = from_tails(lower_tail(z), lower_tail(-z), asked.alternative)
    found = Evidence(
        design=design,
        n=n,
        baseline=estimates[0],
        candidate=estimates[1],
        difference=gap,
        interval=interval,
        test=Test(name="z", alternative=asked.alternative, statistic=z, p_value=p),
        own=(OwnEstimate(intervals[0], own[0]), OwnEstimate(intervals[1], own[1])),
        error=error or None,
    )
    found.equivalence = _equivalence_z(found, asked, metric)
    return found


def _equivalence_z(found: Evidence, asked: CompareOptions, metric: Metric) -> WithinMargin | None:
    from steelyard_old.infer.paired.equivalence import equivalence

    if not found.error or found.difference is None or asked.margin is None:
        return None
    e = equivalence(found.difference, found.error, asked.margin)
    return equivalence_words(e.p_lower, e.p_upper, asked.margin, asked, higher_is_better=metric.higher_is_better)


class WelchDifferenceTest:
    """Welch's t of two means, on the side that was asked about. ends: the range whose ends are counted in."""

    remedy = DECLARE

    def __init__(self, candidate: Moments, baseline: Moments, ends: tuple[float, float] | None, alternative: str) -> None:
        self.falls = self.differs = "" if ends is None else f"with one more item in each run at {ends[0]:.4g} and one at {ends[1]:.4g}"
        self.t = infer.welch_t(*candidate, *baseline, ends)
        self.name = "welch-t" if ends is None else "bounded-welch"
        self.alternative, self.ends = alternative, ends

    def p_value(self, edge: float) -> float:
        return self.t.p_value(self.alternative, edge)

    def smallest(self, edge: float) -> float:
        return 0.0

    def interval(self, level: float, side: str) -> tuple[float, float]:
        return self.t.interval(level, side)


def compare_means(
    baseline: FloatArray,
    candidate: FloatArray,
    metric: Metric,
    asked: CompareOptions,
    warnings: Warnings,
    *,
    bounds: tuple[float, float] | None = None,
) -> Evidence:
    """Two means from different items: Welch, with the ends of the range counted in where it is known."""
    names = [each for each in offered(MEANS) if bounds is not None or not TESTS[each].of_range]
    test = asked.choose("test", asked.test, tuple(names), f"{metric.name} of different items")
    names = [each for each in offered_intervals(MEANS) if bounds is not None or not INTERVALS[each].of_range]
    method = asked.choose("interval", asked.interval, tuple(names), f"{metric.name} of different items")
    moments = [_moments(side) for side in (candidate, baseline)]
    if min(len(baseline), len(candidate)) < 2:
        raise DataError(
            f"{metric.name} needs at least 2 items in each run; there are {len(baseline)} and {len(candidate)}.",
            got=f"{len(baseline)} and {len(candidate)} items",
            need="at least 2 in each run",
        )
    found = Evidence(
        design="unpaired",
        n=len(baseline) + len(candidate),
        baseline=moments[1][0],
        candidate=moments[0][0],
        difference=_apart(moments[0][0], moments[1][0]),
        interval=None,
        test=Test(name=test, alternative=asked.alternative, statistic=None, p_value=None),
        details=ComparisonDetails(n_baseline=len(baseline), n_candidate=len(candidate)),
    )
    counted = [bounds if of_range else None for of_range in (TESTS[test].of_range, INTERVALS[method].of_range)]
    judges = attempt(lambda: [WelchDifferenceTest(moments[0], moments[1], each, asked.alternative) for each in counted])
    if isinstance(judges, Degenerate):
        warnings.add(none_given(judges, difference=True, advice="; declare the range of the scores with range= if it is known"))
        if asked.margin is not None:
            warnings.add("equivalence within the margin cannot be tested: neither run varies")
        if found.difference == 0:
            found.test = replace(found.test, p_value=1.0)
        return found
    judge, of_interval = judges
    _judged(found, judge, metric, asked)
    reach = (None, None) if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    found.interval = interval_of(asked, *of_interval.interval(asked.level, asked.side), method, *reach)
    if bounds is None:
        found.unseen = WelchDifferenceTest(moments[0], moments[1], possible_range(baseline, candidate), asked.alternative)
    return found


def _moments(values: FloatArray) -> Moments:
    from steelyard_old.tally.rounding import variance_of

    return float(values.mean()), variance_of(values), len(values)


def _apart(candidate: float, baseline: float) -> float:
    """The difference of two means; what only rounding makes of none is none."""
    from steelyard_old.tally.rounding import rounding

    gap = candidate - baseline
    return 0.0 if abs(gap) <= rounding(max(abs(candidate), abs(baseline))) else gap


def _judged(found: Evidence, judge: WelchDifferenceTest, metric: Metric, asked: CompareOptions) -> None:
    """Test, margin and detectable difference, all from the same t."""
    t, reach = judge.t, None if judge.ends is None else judge.ends[1] - judge.ends[0]
    p = 1.0 if found.difference == 0 and not t.noise else judge.p_value(0.0)
    found.test = replace(found.test, statistic=t.statistic, p_value=p, details=TestDetails(df=t.df, range=reach))
    found.error, found.df = t.error, t.df
    if judge.ends is not None:
        fewer = min(found.details.n_baseline or 0, found.details.n_candidate or 0)
        found.noise, found.pull = t.noise, fewer / (fewer + 2)
        found.offset = abs(t.centre - found.pull * t.difference)
    if asked.margin is not None:
        above, below = t.p_value("greater", -asked.margin), t.p_value("less", asked.margin)
        found.equivalence = equivalence_words(above, below, asked.margin, asked, higher_is_better=metric.higher_is_better)
