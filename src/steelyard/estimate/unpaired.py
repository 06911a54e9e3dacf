"""Different items for the two systems: proportions, any other metric of a table, means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.errors import DataError, UsageError
from steelyard.estimate.compare_options import CompareOptions
from steelyard.estimate.evidence import Evidence, OwnEstimate
from steelyard.estimate.paired_right_or_wrong import equivalence_words, own_share
from steelyard.estimate.standard_errors import known
from steelyard.estimate.table_rows import TableTally, table_row
from steelyard.infer import unpaired as infer
from steelyard.infer.normal import lower_tail, z_value
from steelyard.infer.paired.mcnemar import from_tails
from steelyard.metrics.catalogue import Metric
from steelyard.metrics.proportions import as_proportion
from steelyard.results.comparison import Test
from steelyard.results.measurement import Interval
from steelyard.tally.counts import Counts

if TYPE_CHECKING:
    from steelyard.infer.posterior.beta import Posterior

PROPORTIONS = ("newcombe", "miettinen-nurminen", "agresti-caffo", "wald", "bayes")


def compare_counts(baseline: Counts, candidate: Counts, metric: Metric, label: str | None, asked: CompareOptions) -> Evidence:
    """Two tables from different items."""
    labels = [None if label is None else side.code(label) for side in (baseline, candidate)]
    shares = [as_proportion(metric, side, code) for side, code in zip((baseline, candidate), labels, strict=True)]
    if all(share is not None and share.through == "itself" for share in shares):
        parts = [share.of(side) for share, side in zip(shares, (baseline, candidate), strict=True) if share is not None]
        return compare_proportions(parts[0], parts[1], metric, asked)
    return by_delta(baseline, candidate, metric, labels, asked)


def compare_proportions(baseline: tuple[int, int], candidate: tuple[int, int], metric: Metric, asked: CompareOptions) -> Evidence:
    """k of n against k of n."""
    (k2, n2), (k1, n1) = baseline, candidate
    if not n1 or not n2:
        raise DataError(f"cannot compare {metric.name}", got=f"{n2} and {n1} items that count for it", need="at least one in each run")
    method = asked.choose("interval", asked.interval, PROPORTIONS, f"{metric.name} of different items")
    name = asked.choose("test", asked.test, ("z",), f"{metric.name} of different items")
    z, p = infer.two_proportion_z(k1, n1, k2, n2, asked.alternative)
    error = math.sqrt(max(0.0, k1 * (n1 - k1) / n1**3 + k2 * (n2 - k2) / n2**3))
    if method == "wald" and not error:
        asked.warn("the Wald interval has no width here; Newcombe's is given instead")
        method = "newcombe"
    low, high = proportion_ends(method, k1, n1, k2, n2, asked)
    of_items = metric.facts.mean_of_items
    own = own_share(k2, n2, asked, of_items=of_items), own_share(k1, n1, asked, of_items=of_items)
    found = Evidence(
        design="unpaired",
        n=n1 + n2,
        baseline=k2 / n2,
        candidate=k1 / n1,
        difference=k1 / n1 - k2 / n2,
        interval=asked.interval_of(low, high, method),
        test=Test(name=name, alternative=asked.alternative, statistic=z, p_value=p),
        own=own,
        error=error or None,
        standard_error=math.hypot(*(side.error or 0.0 for side in own)) or None,
        details={"n_baseline": n2, "n_candidate": n1},
    )
    better = _difference_posterior(k1, n1, k2, n2, asked).sf(0.0)
    found.probability = better if metric.facts.higher_is_better else 1 - better
    found.prior_sd = math.sqrt(0.5 / (2 * asked.own.prior + 1))
    found.equivalence = _equivalence_z(found, asked, metric)
    return found


def proportion_ends(method: str, k1: int, n1: int, k2: int, n2: int, asked: CompareOptions) -> tuple[float, float]:
    if method == "bayes":
        kind = {"two": "equal-tailed", "lower": "lower", "upper": "upper"}[asked.side]
        return _difference_posterior(k1, n1, k2, n2, asked).interval(asked.level, kind)
    methods = {
        "newcombe": infer.newcombe,
        "miettinen-nurminen": infer.miettinen_nurminen,
        "agresti-caffo": infer.agresti_caffo,
        "wald": infer.wald_difference,
    }
    return methods[method](k1, n1, k2, n2, asked.level, asked.side)


def _difference_posterior(k1: int, n1: int, k2: int, n2: int, asked: CompareOptions) -> Posterior:
    from steelyard.infer.posterior.difference import unpaired_difference
    from steelyard.infer.posterior.metrics import proportion_posterior

    prior = asked.own.prior
    return unpaired_difference(proportion_posterior(k1, n1, prior=prior), proportion_posterior(k2, n2, prior=prior))


def by_delta(baseline: Counts, candidate: Counts, metric: Metric, labels: list[int | None], asked: CompareOptions) -> Evidence:
    """Any other metric of two tables: the difference with the sum of both delta-method variances."""
    from steelyard.estimate.table_rows import statistic_of
    from steelyard.infer.intervals.table import delta_error

    asked.choose("interval", asked.interval, ("delta",), f"{metric.name} of different items")
    asked.choose("test", asked.test, ("z",), f"{metric.name} of different items")
    sides = (baseline, candidate)
    rows = [table_row(metric, code, TableTally(side, items=side.n), asked.own) for side, code in zip(sides, labels, strict=True)]
    errors = [delta_error(side, statistic_of(metric, code, asked.own)) for side, code in zip(sides, labels, strict=True)]
    return from_errors(
        "unpaired", [r.estimate for r in rows], [r.interval for r in rows], errors, baseline.n + candidate.n, metric, asked, "delta"
    )


def from_errors(
    design: str,
    estimates: Sequence[float | None],
    intervals: Sequence[Interval | None],
    errors: Sequence[float],
    n: int,
    metric: Metric,
    asked: CompareOptions,
    method: str,
) -> Evidence:
    """A difference of two independent estimates: normal interval and z from the two standard errors."""
    first, second = estimates
    if first is None or second is None:
        raise DataError(
            f"cannot compare {metric.name}", got="an undefined value in one run", need="a value in both", hint="absent='skip' or zero"
        )
    error = math.hypot(*errors)
    gap = second - first
    interval, z, p = None, None, (1.0 if gap == 0 else None)
    if not error > 0:
        asked.warn("neither run shows any spread: no interval for the difference can be given")
    else:
        reach = z_value(asked.level, asked.side) * error
        interval = asked.interval_of(gap - reach, gap + reach, method, None, None)
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
        own=(OwnEstimate(intervals[0], known(errors[0])), OwnEstimate(intervals[1], known(errors[1]))),
        error=error or None,
    )
    found.equivalence = _equivalence_z(found, asked, metric)
    return found


def _equivalence_z(found: Evidence, asked: CompareOptions, metric: Metric, df: float | None = None) -> dict[str, object] | None:
    from steelyard.infer.paired.equivalence import equivalence

    if not found.error or found.difference is None or asked.margin is None:
        return None
    e = equivalence(found.difference, found.error, asked.margin, df)
    return equivalence_words(e.p_lower, e.p_upper, asked.margin, asked, higher_is_better=metric.facts.higher_is_better)


def compare_means(
    baseline: tuple[float, float, int], candidate: tuple[float, float, int], metric: Metric, asked: CompareOptions
) -> Evidence:
    """Two means (mean, variance, n) from different items: Welch."""
    (m2, v2, n2), (m1, v1, n1) = baseline, candidate
    asked.choose("interval", asked.interval, ("t",), f"{metric.name} of different items")
    asked.choose("test", asked.test, ("welch-t",), f"{metric.name} of different items")
    if min(n1, n2) < 2:
        raise DataError(f"cannot compare {metric.name}", got=f"{n2} and {n1} items", need="at least 2 in each run")
    if v1 + v2 <= 0:
        raise UsageError(
            f"cannot compare {metric.name}", got="no spread in either run", need="scores that vary", hint="pair the items by id"
        )
    t, p, df, low, high = infer.welch(m1, v1, n1, m2, v2, n2, asked.level, asked.side, asked.alternative)
    found = Evidence(
        design="unpaired",
        n=n1 + n2,
        baseline=m2,
        candidate=m1,
        difference=m1 - m2,
        interval=asked.interval_of(low, high, "t", None, None),
        test=Test(name="welch-t", alternative=asked.alternative, statistic=t, p_value=p, details={"df": df}),
        error=math.sqrt(v1 / n1 + v2 / n2),
        details={"n_baseline": n2, "n_candidate": n1},
    )
    found.equivalence = _equivalence_z(found, asked, metric, df)
    return found
