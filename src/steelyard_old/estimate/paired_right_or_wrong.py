"""Right or wrong on the same items: the four counts, every interval and test that belongs to them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from steelyard_old.estimate.difference_tests import TESTS, made, offered
from steelyard_old.estimate.evidence import Evidence, OwnEstimate, interval_of
from steelyard_old.estimate.named_intervals import INTERVALS, offered_intervals
from steelyard_old.estimate.row import share_error
from steelyard_old.infer.intervals.proportion import clopper_pearson
from steelyard_old.infer.normal import wilson
from steelyard_old.infer.paired import mcnemar as infer
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.labels import ACCURACY
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.base import NOT_SET, Warnings
from steelyard_old.results.comparison import BeliefInMargin, Test, WithinMargin
from steelyard_old.results.details import ComparisonDetails
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.joint import Flips

USUAL = "tango"  # also where another has no width


def compare_flips(
    flips: Flips,
    asked: CompareOptions,
    warnings: Warnings,
    *,
    metric: Metric = ACCURACY,
    test: Test | None = None,
    interval: Interval | None = None,
    p_adjusted: float | None = None,
) -> Evidence:
    """Difference of two accuracies (or error rates) from the flips. test, interval, p_adjusted: where they are known, as on a board."""
    both, lost, gained, neither = flips[:: metric.right_adds]  # an error gained is an answer lost
    better, worse = (gained, lost) if metric.higher_is_better else (lost, gained)
    n = sum(flips)
    prior_sd = math.sqrt(0.5 / (4 * asked.own.prior + 1))
    found = Evidence(
        design="paired",
        n=n,
        baseline=(both + lost) / n,
        candidate=(both + gained) / n,
        difference=(gained - lost) / n,
        test=flips_tests([(gained, lost)], n, asked)[0] if test is None else test,
        interval=flips_interval(both, gained, lost, neither, asked, warnings) if interval is None else interval,
        own=(own_share(both + lost, n, asked), own_share(both + gained, n, asked)),
        error=math.sqrt(max(0.0, (gained + lost) / n - ((gained - lost) / n) ** 2) / n),
        standard_error=mean_error(n, gained - lost, gained + lost),
        flips={"both": flips.both, "baseline_only": flips.baseline_only, "candidate_only": flips.candidate_only, "neither": flips.neither},
        probability=infer.probability_better(better, worse, asked.own.prior),
        prior_sd=prior_sd,
        disagreed=(gained, lost),
        correlation=phi(both, gained, lost, neither),
        details=ComparisonDetails(
            pairing_gain=pairing_gain(both, gained, lost, neither),
            prior_sd=NOT_SET if p_adjusted is None or asked.own.prior_scale is not None else prior_sd,  # as `believe` would note it
            p_adjusted=p_adjusted,
        ),
    )
    if asked.margin is not None:
        from steelyard_old.infer.paired.equivalence import equivalence_of_flips, rope
        from steelyard_old.infer.posterior.difference import difference_posterior

        e = equivalence_of_flips(gained, lost, n, asked.margin)
        found.equivalence = equivalence_words(e.p_lower, e.p_upper, asked.margin, asked, higher_is_better=metric.higher_is_better)
        believed = rope(difference_posterior(both, lost, gained, neither, prior=asked.own.prior), asked.margin)
        found.equivalence = replace(found.equivalence, rope=rope_words(believed, higher_is_better=metric.higher_is_better))
    if gained == lost == 0:
        found.note(identical=True)
        warnings.add(asked.sides.identical.format("are right and wrong on exactly the same items"))
    return found


def mean_error(n: int, total: float, squares: float) -> float | None:
    """s / sqrt(n) of n numbers with this sum and sum of squares, s with n - 1; None without spread."""
    spread = squares - total * total / n
    return math.sqrt(spread / (n - 1) / n) if n > 1 and spread > 1e-12 * squares else None


def own_share(k: int, n: int, asked: CompareOptions, *, of_items: bool = True) -> OwnEstimate:
    """One system alone, k of n: Wilson, exact when one-sided, and the standard error of a share."""
    return _own_share(k, n, asked.level, asked.side, of_items)


@lru_cache(maxsize=1024)
def _own_share(k: int, n: int, level: float, side: str, of_items: bool) -> OwnEstimate:
    """On a board every system is in as many pairs as there are others."""
    method = "wilson" if side == "two" else "clopper-pearson"
    low, high = (wilson if side == "two" else clopper_pearson)(k, n, level, side)
    interval = Interval(low=low, high=high, confidence_level=level, side=side, method=method)  # type: ignore[arg-type]
    return OwnEstimate(interval, share_error(k, n, of_items=of_items))


def flips_interval(both: int, gained: int, lost: int, neither: int, asked: CompareOptions, warnings: Warnings) -> Interval:
    method = USUAL
    if asked.interval is not None:
        method = asked.choose("interval", asked.interval, offered_intervals("flips"), "right or wrong on the same items")
    if INTERVALS[method].flat and gained + lost == 0:
        warnings.add(f"the {method.capitalize()} interval has no width when nothing disagrees; {USUAL.capitalize()}'s is used instead")
        method = USUAL
    return interval_of(asked, *made(INTERVALS[method].flips)(both, gained, lost, neither, asked), method)


def flips_tests(counts: Iterable[tuple[int, int]], n: int, asked: CompareOptions) -> list[Test]:
    """McNemar, or another test of right or wrong by its name, of each (gained, lost)."""
    name = asked.choose("test", asked.test, offered("flips"), "right or wrong on the same items")
    test = made(TESTS[name].flips)
    return [test(gained, lost, n, asked) for gained, lost in counts]


def phi(both: int, gained: int, lost: int, neither: int) -> float | None:
    """The correlation of right and wrong between the systems; None when one of them does not vary."""
    product = (both + gained) * (lost + neither) * (both + lost) * (gained + neither)
    return (both * neither - gained * lost) / math.sqrt(product) if product else None


def pairing_gain(both: int, gained: int, lost: int, neither: int) -> float | None:
    """How many times the items two separate test sets would have needed for the same standard error."""
    n = both + gained + lost + neither
    p, q = (both + gained) / n, (both + lost) / n
    apart = p * (1 - p) + q * (1 - q)
    together = (gained + lost) / n - ((gained - lost) / n) ** 2
    return apart / together if together > 0 else None


def rope_words(believed: Any, *, higher_is_better: bool) -> BeliefInMargin:
    """P(candidate worse by more than the margin), P(within it), P(better by more)."""
    worse, better = (believed.worse, believed.better) if higher_is_better else (believed.better, believed.worse)
    return BeliefInMargin(worse=worse, equivalent=believed.equivalent, better=better)


def equivalence_words(
    above_lower: float, below_upper: float, margin: float, asked: CompareOptions, *, higher_is_better: bool
) -> WithinMargin:
    """p_lower: the candidate is not worse by the margin; p_upper: not better by it; p_value: neither."""
    p_lower, p_upper = (above_lower, below_upper) if higher_is_better else (below_upper, above_lower)
    alpha = 1 - asked.level
    return WithinMargin(
        margin=margin,
        p_lower=p_lower,
        p_upper=p_upper,
        p_value=max(p_lower, p_upper),
        non_inferior=p_lower <= alpha,
        equivalent=max(p_lower, p_upper) <= alpha,
    )
