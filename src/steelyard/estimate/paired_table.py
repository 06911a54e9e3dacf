"""Any metric of a table on the same items: the joint cells, BCa for the interval, swapped answers for the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.errors import DataError
from steelyard.estimate.compare_options import CompareOptions
from steelyard.estimate.difference_tests import TESTS, made, offered
from steelyard.estimate.evidence import Evidence, OwnEstimate
from steelyard.estimate.fallback import OF_CLASSES, attempt, given_instead, left_out, none_given
from steelyard.estimate.paired_right_or_wrong import equivalence_words, rope_words
from steelyard.estimate.row import TableTally
from steelyard.estimate.rows import warn_about_labels
from steelyard.estimate.table_rows import table_row
from steelyard.infer.intervals.mean import wilson_mean
from steelyard.infer.paired import table as infer
from steelyard.infer.paired.equivalence import equivalence, rope
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.infer.resampling.work import within_reach
from steelyard.metrics.base import Metric
from steelyard.metrics.table import TableStatistic
from steelyard.results.base import Warnings
from steelyard.results.comparison import Test
from steelyard.results.measurement import Interval
from steelyard.tally.counts import Counts
from steelyard.tally.joint import JointCounts

if TYPE_CHECKING:
    from steelyard.infer.posterior.difference import JointPosterior

INTERVALS = ("delta", "bca", "percentile", "bayes")  # redrawn ends miss where few answers differ: `steelyard certify --only paired`
SAMPLED = 60  # random numbers that a draw of the joint posterior takes for each class, about


def compare_table(joint: JointCounts, metric: Metric, label: str | None, asked: CompareOptions, warnings: Warnings) -> Evidence:
    """The difference of a table metric between two systems on the same items."""
    sides = joint.side("baseline"), joint.side("candidate")
    code = None if label is None else sides[0].code(label)
    rows = [table_row(metric, code, TableTally(side, items=side.n), asked.own, warnings) for side in sides]
    first, second = rows[0].estimate, rows[1].estimate
    if first is None or second is None:
        raise DataError(
            f"{metric.name} is undefined in one of the runs.",
            got="an undefined value in one run",
            need="a value in both",
            hint="absent='skip' or absent='zero'",
        )
    statistic = metric.of_table(code, asked.own.absent)
    error = infer.joint_delta_error(joint, statistic)
    found = Evidence(
        design="paired",
        n=joint.n,
        baseline=first,
        candidate=second,
        difference=second - first,
        interval=None,
        test=_test(joint, statistic, metric, asked),
        own=(OwnEstimate(rows[0].interval, rows[0].standard_error), OwnEstimate(rows[1].interval, rows[1].standard_error)),
        error=error if error > 0 else None,
    )
    if label is not None:
        found.note(label=label)
    identical = joint == joint.swapped() and all(a == b for _, a, b, _ in joint.cells())
    found.interval = table_interval(joint, statistic, metric, found, asked, warnings)
    flips = joint.outcomes()
    found.flips = {
        "both": flips.both,
        "baseline_only": flips.baseline_only,
        "candidate_only": flips.candidate_only,
        "neither": flips.neither,
    }
    _probability(joint, statistic, metric, found, asked, identical)
    if asked.margin is not None and not found.error:
        warnings.add("equivalence within the margin cannot be tested: the answers show no spread")
    if asked.margin is not None and found.error:
        e = equivalence(second - first, found.error, asked.margin)
        found.equivalence = equivalence_words(e.p_lower, e.p_upper, asked.margin, asked, higher_is_better=metric.higher_is_better)
        if not within_reach(joint.classes * SAMPLED, asked.own.draws):
            return _warned(found, sides, metric, asked, warnings, identical)
        found.drawn = True
        believed = rope(_posterior(joint, statistic, metric, asked), asked.margin)
        found.equivalence |= {"rope": rope_words(believed, higher_is_better=metric.higher_is_better)}
    return _warned(found, sides, metric, asked, warnings, identical)


def _warned(
    found: Evidence, sides: tuple[Counts, Counts], metric: Metric, asked: CompareOptions, warnings: Warnings, identical: bool
) -> Evidence:
    if identical:
        found.note(identical=True)
        warnings.add("the two systems give the same answer to every item: identical runs, or one run compared with itself")
    warn_about_labels(sides[0] + sides[1], [metric], asked.own, warnings)
    return found


def _test(joint: JointCounts, statistic: TableStatistic, metric: Metric, asked: CompareOptions) -> Test:
    name = asked.choose("test", asked.test, offered("table"), f"{metric.name} on the same items")
    return made(TESTS[name].table)(joint, statistic, asked)


def table_interval(
    joint: JointCounts, statistic: TableStatistic, metric: Metric, found: Evidence, asked: CompareOptions, warnings: Warnings
) -> Interval | None:
    method = asked.choose("interval", asked.interval, INTERVALS, f"{metric.name} on the same items")
    reach = _reach(metric)
    if method == "bayes":
        found.drawn = True
        return _of_posterior(joint, statistic, metric, asked, reach)
    ends = attempt(lambda: _joint_ends(joint, statistic, method, asked))
    if isinstance(ends, Degenerate):
        if not within_reach(joint.classes * SAMPLED, asked.own.draws):
            warnings.add(none_given(ends, difference=True, of=f"{joint.classes:,} classes"))
            return None
        warnings.add(given_instead(method, ends, "the posterior's", difference=True))
        found.note(instead_of=method)
        return _of_posterior(joint, statistic, metric, asked, reach)
    low, high, undefined = ends
    if undefined:
        warnings.add(left_out(metric.name, undefined, asked.own.draws, OF_CLASSES))
    return asked.interval_of(low, high, method, *reach)


def _joint_ends(joint: JointCounts, statistic: TableStatistic, method: str, asked: CompareOptions) -> tuple[float, float, int]:
    """The ends by the delta method or by draws, and in how many draws the metric was undefined."""
    if method == "delta":
        return (*infer.joint_delta(joint, statistic, asked.level, asked.side), 0)
    return infer.joint_bootstrap(joint, statistic, method, asked.level, asked.side, draws=asked.own.draws, seed=asked.own.seed)


def _reach(metric: Metric) -> tuple[float, float]:
    """How far apart two values of a metric of a table can be."""
    width = (metric.high or 1.0) - (metric.low or 0.0)
    return -width, width


def outcome_interval(joint: JointCounts, metric: Metric, found: Evidence, asked: CompareOptions, warnings: Warnings) -> Interval:
    """A redrawn or delta interval for right or wrong, by name; Tango's where the draws have no spread."""
    from steelyard.infer.paired.mcnemar import tango

    statistic = metric.of_table(absent=asked.own.absent)
    method = asked.interval
    assert method is not None
    ends = attempt(lambda: _joint_ends(joint, statistic, method, asked))
    if isinstance(ends, Degenerate):
        warnings.add(given_instead(method, ends, "Tango's", difference=True))
        found.note(instead_of=method)
        _, lost, gained, _ = joint.outcomes()
        return asked.interval_of(*tango(gained, lost, joint.n, asked.level, asked.side), "tango")
    return asked.interval_of(*ends[:2], method)


def _of_posterior(
    joint: JointCounts, statistic: TableStatistic, metric: Metric, asked: CompareOptions, reach: tuple[float, float]
) -> Interval:
    kind = {"two": "equal-tailed", "lower": "lower", "upper": "upper"}[asked.side]
    low, high = _posterior(joint, statistic, metric, asked).interval(asked.level, kind)
    if not high - low > 1e-12:  # one class: the posterior has no room, but a new item has
        return asked.interval_of(*wilson_mean(0.0, joint.n, *reach, asked.level, asked.side), "wilson-mean", *reach)
    return asked.interval_of(low, high, "bayes", *reach)


def _posterior(joint: JointCounts, statistic: TableStatistic, metric: Metric, asked: CompareOptions) -> JointPosterior:
    from steelyard.infer.posterior.difference import joint_table_posterior

    return joint_table_posterior(
        joint,
        statistic.value,
        metric=metric.name,
        prior=asked.own.prior,
        draws=asked.own.draws,
        seed=asked.own.seed,
        bounds=_reach(metric),
    )


def _probability(
    joint: JointCounts, statistic: TableStatistic, metric: Metric, found: Evidence, asked: CompareOptions, identical: bool
) -> None:
    """P(candidate better) by draws from the joint posterior, for tables of a size where that is quick."""
    if len(joint.labels) > 12:
        return
    found.drawn = True
    better = 0.5 if identical else _posterior(joint, statistic, metric, asked).better
    found.probability = better if metric.higher_is_better else 1 - better
