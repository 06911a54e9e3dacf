"""Any metric of a table on the same items: the joint cells, BCa for the interval, swapped answers for the test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from steelyard_old.errors import DataError
from steelyard_old.estimate.difference_tests import TESTS, made, offered
from steelyard_old.estimate.evidence import Evidence, OwnEstimate, OwnPair, interval_of
from steelyard_old.estimate.fallback import OF_CLASSES, attempt, given_instead, left_out, none_given
from steelyard_old.estimate.named_intervals import INTERVALS, JOINT, OF_A_PROPORTION, offered_intervals
from steelyard_old.estimate.paired_right_or_wrong import equivalence_words, rope_words
from steelyard_old.estimate.rows import warn_about_labels
from steelyard_old.estimate.table_rows import default_method, refuse_unknown_negatives, table_row
from steelyard_old.infer.intervals.mean import wilson_mean
from steelyard_old.infer.paired import table as infer
from steelyard_old.infer.paired.equivalence import equivalence, rope
from steelyard_old.infer.resampling.bootstrap import Degenerate, check_draws
from steelyard_old.infer.resampling.work import within_reach
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.table import TableStatistic
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Test
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.counts import Counts, TableTally
from steelyard_old.tally.joint import JointCounts

if TYPE_CHECKING:
    from steelyard_old.infer.posterior.difference import JointPosterior

SAMPLED = 60  # random numbers that a draw of the joint posterior takes for each class, about
BELIEVED = 12  # classes up to which the joint posterior is drawn for P(candidate better): there it is quick


def compare_table(joint: JointCounts, metric: Metric, label: str | None, asked: CompareOptions, warnings: Warnings) -> Evidence:
    """The difference of a table metric between two systems on the same items.

    Each system's own interval and the chance to be better take far more draws than the test. They are drawn when somebody reads them,
    wherever it is certain that they will have a value.
    """
    sides = joint.side("baseline"), joint.side("candidate")
    code = None if label is None else sides[0].code(label)
    later = _always_defined(joint)
    own = cache(partial(_own, metric, code, sides, asked))
    first: float | None
    second: float | None
    own_later = later and _redrawn(metric, code, sides, asked)
    if own_later:
        delta = infer.first_order(joint, metric.of_table(code, asked.own.absent))
        first, second = delta.baseline, delta.candidate
        warnings.defer(lambda: own().warnings)
    else:
        first, second = own().estimates
        warnings.extend(own().warnings)
    if first is None or second is None:
        raise DataError(
            f"{metric.name} is undefined in one of the runs.",
            got="an undefined value in one run",
            need="a value in both",
            hint="absent='skip' or absent='zero'",
        )
    statistic = metric.of_table(code, asked.own.absent)
    if not own_later:
        delta = infer.first_order(joint, statistic)
    found = Evidence(
        design="paired",
        n=joint.n,
        baseline=first,
        candidate=second,
        difference=second - first,
        interval=None,
        test=_test(joint, statistic, metric, asked),
        own=(lambda: own().alone) if own_later else own().alone,
        error=delta.error if delta.error > 0 else None,
    )
    if label is not None:
        found.note(label=label)
    identical = all(a == b for _, a, b, _ in joint.cells())
    posterior = cache(partial(_posterior, joint, statistic, metric, asked))
    found.interval = table_interval(joint, statistic, metric, found, asked, warnings, delta, posterior)
    flips = joint.outcomes()
    found.flips = {
        "both": flips.both,
        "baseline_only": flips.baseline_only,
        "candidate_only": flips.candidate_only,
        "neither": flips.neither,
    }
    if asked.margin is not None and not found.error:
        warnings.add("equivalence within the margin cannot be tested: the answers show no spread")
    if asked.margin is not None and found.error:
        e = equivalence(second - first, found.error, asked.margin)
        found.equivalence = equivalence_words(e.p_lower, e.p_upper, asked.margin, asked, higher_is_better=metric.higher_is_better)
        if within_reach(joint.classes * SAMPLED, asked.own.draws):
            found.drawn = True
            believed = rope(posterior(), asked.margin)
            found.equivalence = replace(found.equivalence, rope=rope_words(believed, higher_is_better=metric.higher_is_better))
    if len(joint.labels) <= BELIEVED:
        found.drawn = True
        better = partial(_better, posterior, metric, identical)
        found.probability = better if later and not posterior.cache_info().currsize else better()
    if identical:
        found.note(identical=True)
        warnings.add("the two systems give the same answer to every item: identical runs, or one run compared with itself")
    if own_later:
        warnings.defer(partial(_label_warnings, sides, metric, asked))
    else:
        warnings.extend(_label_warnings(sides, metric, asked))
    return found


def _label_warnings(sides: tuple[Counts, Counts], metric: Metric, asked: CompareOptions) -> Warnings:
    said = Warnings()
    warn_about_labels(sides[0] + sides[1], [metric], asked.own, said)
    return said


class _Alone(NamedTuple):
    """What `measure` gives for each of two systems."""

    estimates: tuple[float | None, float | None]
    alone: OwnPair
    warnings: tuple[str, ...]


def _own(metric: Metric, code: int | None, sides: tuple[Counts, Counts], asked: CompareOptions) -> _Alone:
    warnings = Warnings()
    first, second = (table_row(metric, code, TableTally(side, items=side.n), asked.own, warnings) for side in sides)
    alone = OwnEstimate(first.interval, first.standard_error), OwnEstimate(second.interval, second.standard_error)
    return _Alone((first.estimate, second.estimate), alone, tuple(warnings))


def _redrawn(metric: Metric, code: int | None, sides: tuple[Counts, Counts], asked: CompareOptions) -> bool:
    """Whether the own interval of a system is drawn; then what would be refused is refused now."""
    settings = asked.own
    usual = [default_method(metric.proportion(side, code), settings.side, side, settings.draws) for side in sides]
    drawn = any(INTERVALS.get(method, OF_A_PROPORTION).redraws for method in usual)
    if drawn:
        for side in sides:
            refuse_unknown_negatives(metric, side, code)
        check_draws(settings.draws, settings.confidence_level, settings.side)
    return drawn


def _always_defined(joint: JointCounts) -> bool:
    """Whether every class occurs, in the truth and in the answers of both: then a metric has a value whatever the posterior draws."""
    return joint.classes > 1 and all({*range(joint.classes)} <= {*column} for column in (joint.truth, joint.baseline, joint.candidate))


def _test(joint: JointCounts, statistic: TableStatistic, metric: Metric, asked: CompareOptions) -> Test:
    name = asked.choose("test", asked.test, offered("table"), f"{metric.name} on the same items")
    return made(TESTS[name].table)(joint, statistic, asked)


def table_interval(
    joint: JointCounts,
    statistic: TableStatistic,
    metric: Metric,
    found: Evidence,
    asked: CompareOptions,
    warnings: Warnings,
    delta: infer.FirstOrder | None = None,
    posterior: Callable[[], JointPosterior] | None = None,
) -> Interval | None:
    """The interval of the difference, or what is given instead. delta, posterior: where somebody else needs them too."""
    posterior = posterior or partial(_posterior, joint, statistic, metric, asked)
    method = asked.choose("interval", asked.interval, offered_intervals(JOINT), f"{metric.name} on the same items")
    reach = _reach(metric)
    if INTERVALS[method].believed:
        found.drawn = True
        return _of_posterior(posterior, joint, asked, reach)
    ends = attempt(lambda: _joint_ends(joint, statistic, method, asked, delta))
    if isinstance(ends, Degenerate):
        if not within_reach(joint.classes * SAMPLED, asked.own.draws):
            warnings.add(none_given(ends, difference=True, of=f"{joint.classes:,} classes"))
            return None
        warnings.add(given_instead(method, ends, "the posterior's", difference=True))
        found.note(instead_of=method)
        return _of_posterior(posterior, joint, asked, reach)
    low, high, undefined = ends
    if undefined:
        warnings.add(left_out(metric.name, undefined, asked.own.draws, OF_CLASSES))
    return interval_of(asked, low, high, method, *reach)


def _joint_ends(
    joint: JointCounts, statistic: TableStatistic, method: str, asked: CompareOptions, delta: infer.FirstOrder | None = None
) -> tuple[float, float, int]:
    """The ends by the delta method or by draws, and in how many draws the metric was undefined."""
    if INTERVALS[method].linear:
        return (*(delta or infer.first_order(joint, statistic)).interval(asked.level, asked.side), 0)
    return infer.joint_bootstrap(joint, statistic, method, asked.level, asked.side, draws=asked.own.draws, seed=asked.own.seed)


def _reach(metric: Metric) -> tuple[float, float]:
    """How far apart two values of a metric of a table can be."""
    width = (metric.high or 1.0) - (metric.low or 0.0)
    return -width, width


def outcome_interval(joint: JointCounts, metric: Metric, found: Evidence, asked: CompareOptions, warnings: Warnings) -> Interval:
    """A redrawn or delta interval for right or wrong, by name; Tango's where the draws have no spread."""
    from steelyard_old.infer.paired.mcnemar import tango

    statistic = metric.of_table(absent=asked.own.absent)
    method = asked.interval
    assert method is not None
    ends = attempt(lambda: _joint_ends(joint, statistic, method, asked))
    if isinstance(ends, Degenerate):
        warnings.add(given_instead(method, ends, "Tango's", difference=True))
        found.note(instead_of=method)
        _, lost, gained, _ = joint.outcomes()
        return interval_of(asked, *tango(gained, lost, joint.n, asked.level, asked.side), "tango")
    return interval_of(asked, *ends[:2], method)


def _of_posterior(
    posterior: Callable[[], JointPosterior], joint: JointCounts, asked: CompareOptions, reach: tuple[float, float]
) -> Interval:
    kind = {"two": "equal-tailed", "lower": "lower", "upper": "upper"}[asked.side]
    low, high = posterior().interval(asked.level, kind)
    if not high - low > 1e-12:  # one class: the posterior has no room, but a new item has
        return interval_of(asked, *wilson_mean(0.0, joint.n, *reach, asked.level, asked.side), "wilson-mean", *reach)
    return interval_of(asked, low, high, "bayes", *reach)


def _posterior(joint: JointCounts, statistic: TableStatistic, metric: Metric, asked: CompareOptions) -> JointPosterior:
    from steelyard_old.infer.posterior.difference import joint_table_posterior

    return joint_table_posterior(
        joint,
        statistic.value,
        metric=metric.name,
        prior=asked.own.prior,
        draws=asked.own.draws,
        seed=asked.own.seed,
        bounds=_reach(metric),
    )


def _better(posterior: Callable[[], JointPosterior], metric: Metric, identical: bool) -> float:
    """P(candidate better) by draws from the joint posterior."""
    better = 0.5 if identical else posterior().better
    return better if metric.higher_is_better else 1 - better
