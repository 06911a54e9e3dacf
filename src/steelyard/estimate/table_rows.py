"""Rows for metrics of a table: which interval, from which tally, and what to fall back to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steelyard.errors import DataError, UsageError
from steelyard.estimate.measure_options import MeasureOptions
from steelyard.estimate.standard_errors import slope, table_error
from steelyard.infer.intervals.proportion import METHODS, proportion_interval
from steelyard.infer.normal import clip, z_value
from steelyard.infer.resampling.work import within_reach
from steelyard.metrics.catalogue import Metric
from steelyard.metrics.proportions import Proportion, as_proportion, why_undefined
from steelyard.results.details import RowDetails
from steelyard.results.measurement import Interval, Row
from steelyard.tally.counts import FEW, Counts

CONVOLVED = 5_000  # classes whose recalls are convolved within seconds

if TYPE_CHECKING:
    from steelyard.infer.posterior.metrics import Posterior
    from steelyard.metrics.table import TableStatistic
    from steelyard.tally.sums import Sums


@dataclass(frozen=True, slots=True)
class TableTally:
    """The table of all rows, and for items that belong together the margins of every unit."""

    counts: Counts
    units: Sums | None = None
    kind: str = "items"
    items: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)


def table_row(metric: Metric, label: int | None, tally: TableTally, settings: MeasureOptions) -> Row:
    """The row of one metric (of one class, where it has one)."""
    counts = tally.counts
    refuse_unknown_negatives(metric, counts, label)
    proportion = as_proportion(metric, counts, label)
    if tally.units is not None:
        from steelyard.estimate.grouped_rows import grouped_row

        return grouped_row(metric, label, tally, proportion, settings)
    if proportion is not None:
        estimate, n = proportion.value(counts), proportion.of(counts)[1]
    else:
        n = counts.n
        estimate = _value(statistic_of(metric, label, settings), counts) if n else None
    interval, details = (None, {}) if estimate is None else _interval(metric, label, counts, proportion, settings, estimate)
    if estimate is None:
        settings.warn(f"{_name(metric, counts, label)} is undefined: {why_undefined(metric, None)}")
    error = None if estimate is None else table_error(metric, label, counts, proportion, settings)
    return make_row(metric, label, counts, estimate, n, interval, settings, details, error)


def make_row(
    metric: Metric,
    label: int | None,
    counts: Counts,
    estimate: float | None,
    n: int,
    ends: tuple[float, float, str] | None,
    settings: MeasureOptions,
    details: dict[str, Any],
    error: float | None = None,
) -> Row:
    """A Row, with the ends turned into an Interval inside the range of the metric."""
    interval = None
    if ends is not None:
        facts = metric.facts
        low, high = clip(
            ends[0],
            ends[1],
            settings.side,
            facts.low if facts.low is not None else -math.inf,
            facts.high if facts.high is not None else math.inf,
        )
        interval = Interval(low=low, high=high, confidence_level=settings.confidence_level, side=settings.side, method=ends[2])  # type: ignore[arg-type]
    support = None if label is None else counts.class_margins(label)[1]
    average = metric.average if metric.average != "each" else None
    name = metric.name.removeprefix("each_")
    text = None if label is None else counts.labels[label]
    return Row(
        metric=name,
        average=average,
        label=text,
        estimate=estimate,
        n=n,
        support=support,
        interval=interval,
        standard_error=error,
        higher_is_better=metric.facts.higher_is_better,
        details=RowDetails.of(details),
    )


def statistic_of(metric: Metric, label: int | None, settings: MeasureOptions) -> TableStatistic:
    from steelyard.metrics.table import statistic

    average = None if metric.average == "each" else metric.average
    return statistic(metric.base, average_of=average, label=label, beta=metric.beta, absent=settings.absent)


def _value(statistic: TableStatistic, counts: Counts) -> float | None:
    from steelyard.infer.intervals.cells import Cells

    value = float(statistic.value(Cells(counts).observed()))
    return None if math.isnan(value) else value


def default_method(proportion: Proportion | None, side: str, counts: Counts | None = None, draws: int = 0) -> str:
    """Wilson for a proportion, exact for a one-sided claim about one, BCa for the rest, delta where that would take minutes."""
    if proportion is None:
        return "bca" if counts is None or within_reach(_redrawn(counts), draws) else "delta"
    return "wilson" if side == "two" else "clopper-pearson"


def _redrawn(counts: Counts) -> int:
    """The numbers of one redrawn table."""
    return max(len(counts.count), counts.classes)


def offered(metric: Metric, proportion: Proportion | None) -> list[str]:
    """The interval methods that make sense for the metric of independent items, the default first."""
    if proportion is None:
        return ["bca", "percentile", "delta", "bayes", "hdi"]
    binomial = [m for m in METHODS if m not in ("percentile",) and (proportion.through == "itself" or m != "wald")]
    return [*binomial, "bayes", "hdi", "percentile", "bca", "delta"]


def _interval(
    metric: Metric, label: int | None, counts: Counts, proportion: Proportion | None, settings: MeasureOptions, estimate: float
) -> tuple[tuple[float, float, str] | None, dict[str, Any]]:
    """(ends, details): dispatch by the method's name, with the announced fall-back where the method has no answer."""
    method = settings.interval or default_method(proportion, settings.side, counts, settings.draws)
    name = _name(metric, counts, label)
    if method not in offered(metric, proportion):
        raise UsageError(
            f"cannot use the interval {method!r} for {metric.name}",
            need=f"one of {', '.join(offered(metric, proportion))}",
            hint="name the metrics you mean with metric= if the method suits only some of them",
        )
    level, side = settings.confidence_level, settings.side
    if method in ("bayes", "hdi"):
        return _bayes(metric, label, counts, settings, method)
    if proportion is not None and (method in METHODS and (method != "percentile" or proportion.through != "jaccard")):
        ends = _binomial(method, counts, proportion, settings, name)
        return ends, {} if ends[2] == method else {"instead_of": method}
    from steelyard.infer.intervals import table
    from steelyard.infer.resampling.bootstrap import Degenerate, Undefined

    statistic = statistic_of(metric, label, settings)
    if settings.interval is None and method == "delta":
        return _first_order(metric, statistic, counts, settings, "", name, "")
    try:
        if method == "delta":
            return (*table.delta(counts, statistic, level, side), "delta"), {}
        low, high, undefined = table.table_bootstrap(counts, statistic, method, level, side, draws=settings.draws, seed=settings.seed)
    except Degenerate as reason:
        if proportion is not None:
            ends = _without_width(method, counts, proportion, settings, f"{name}: {method} has no interval here ({reason})", statistic)
            return ends, {} if ends[2] == method else {"instead_of": method}
        if (isinstance(reason, Undefined) and _small(metric, counts)) or not _drawn_soon(metric, counts, settings):
            return _first_order(metric, statistic, counts, settings, method, name, str(reason))
        settings.warn(f"{name}: {method} has no interval here ({reason}); the posterior's is given instead")
        (low, high, given), details = _bayes(metric, label, counts, settings, "bayes")
        # a perfect table lies on the end of its range, which equal tails exclude: the end belongs to what is possible
        return (min(low, estimate), max(high, estimate), given), {**details, "instead_of": method}
    if undefined:
        settings.warn(f"{name} was undefined in {undefined} of {settings.draws} draws, where a class did not occur; they were left out")
    return (low, high, method), {}


def _drawn_soon(metric: Metric, counts: Counts, settings: MeasureOptions) -> bool:
    """Whether the posterior of the whole table is a matter of seconds."""
    if metric.base == "balanced_accuracy":
        return counts.classes <= CONVOLVED
    from steelyard.infer.posterior.draws import posterior_numbers

    return within_reach(posterior_numbers(counts, settings.prior), settings.draws)


def _small(metric: Metric, counts: Counts) -> int:
    """The classes too small for the interval of an average, if they are most of them: a prior would speak for them, not the data."""
    if metric.average not in ("macro", "weighted") and metric.base != "balanced_accuracy":
        return 0
    small = sum(counts.class_margins(k)[1] < FEW for k in range(counts.classes))
    return small if 2 * small > counts.classes else 0


def _first_order(
    metric: Metric, statistic: TableStatistic, counts: Counts, settings: MeasureOptions, instead_of: str, name: str, reason: str
) -> tuple[tuple[float, float, str] | None, dict[str, Any]]:
    """The delta method's interval where draws take minutes or say nothing; none for averages over classes that are mostly small."""
    from steelyard.infer.intervals import table
    from steelyard.infer.resampling.bootstrap import Degenerate

    if small := _small(metric, counts):
        settings.warn(f"{name}: no interval can be given: {small:,} of {counts.classes:,} classes have fewer than {FEW} items")
        return None, {}
    try:
        ends = (*table.delta(counts, statistic, settings.confidence_level, settings.side), "delta")
    except Degenerate as why:
        settings.warn(f"{name}: no interval can be given for {counts.classes:,} classes ({why})")
        return None, {}
    if instead_of:
        settings.warn(f"{name}: {instead_of} has no interval here ({reason}); the delta method's is given instead")
    return ends, {"instead_of": instead_of} if instead_of else {}


def _binomial(method: str, counts: Counts, proportion: Proportion, settings: MeasureOptions, name: str) -> tuple[float, float, str]:
    k, n = proportion.of(counts)
    if method in ("wald", "percentile") and k in (0, n):
        what = "Wald interval" if method == "wald" else "bootstrap"
        return _without_width(method, counts, proportion, settings, f"{name}: the {what} has no width at {k} of {n}")
    if method == "wald" and k * (n - k) / n < 5:
        settings.warn(
            f"{name}: Wald was asked for at {k} of {n}, where it covers far less than it says; Wilson is the default for that reason"
        )
    low, high = proportion_interval(k, n, method, settings.confidence_level, settings.side)
    return proportion.to_metric(low), proportion.to_metric(high), method


def _without_width(
    method: str, counts: Counts, proportion: Proportion, settings: MeasureOptions, said: str, statistic: TableStatistic | None = None
) -> tuple[float, float, str]:
    """Wilson's interval; at 0 and n of n the method's own end at one mistake (one success) where Wilson's would reach beyond it.

    So one more mistake never raises a lower bound, and one more success never lowers an upper one.
    """
    k, n = proportion.of(counts)
    low, high, given = _binomial("wilson", counts, proportion, settings, "")
    beside = _beside(method, k, n, counts, proportion, settings, statistic)
    inner = (low, high) if beside is None else (max(low, beside[0]), high) if k else (low, min(high, beside[1]))
    if inner == (low, high):
        settings.warn(f"{said}; Wilson's is given instead")
        return low, high, given
    other = f"{n - 1} of {n}" if k else f"1 of {n}"
    settings.warn(f"{said}; its {'lower' if k else 'upper'} end at {other} is given instead, because Wilson's lies beyond that")
    return *inner, method


def _beside(
    method: str, k: int, n: int, counts: Counts, proportion: Proportion, settings: MeasureOptions, statistic: TableStatistic | None
) -> tuple[float, float] | None:
    """The method's ends one answer away from 0 or n of n; None if it has none there, or is nowhere narrower than Wilson (bca)."""
    if k not in (0, n) or n < 2 or method == "bca":
        return None
    other, level, side = (n - 1 if k else 1), settings.confidence_level, settings.side
    if method == "delta":
        p = other / n
        reach = z_value(level, side) * abs(slope(proportion, p)) * math.sqrt(p * (1 - p) / n)
        return proportion.to_metric(p) - reach, proportion.to_metric(p) + reach
    if statistic is None:
        ends = proportion_interval(other, n, method, level, side)
        return proportion.to_metric(ends[0]), proportion.to_metric(ends[1])
    from steelyard.infer.intervals.table import table_bootstrap
    from steelyard.metrics.table import statistic as of_table

    table = Counts.binary(tp=other, fp=0, fn=n - other, tn=max(0, counts.n - n))  # F1 asks for no more than hits and mistakes
    return table_bootstrap(table, of_table("f1", label=1), method, level, side, draws=settings.draws, seed=settings.seed)[:2]


def _bayes(
    metric: Metric, label: int | None, counts: Counts, settings: MeasureOptions, method: str
) -> tuple[tuple[float, float, str], dict[str, Any]]:
    from steelyard.infer.posterior.metrics import SampledPosterior, prior_sensitivity

    kind = {"two": "hdi" if method == "hdi" else "equal-tailed", "lower": "lower", "upper": "upper"}[settings.side]

    def make(prior: float) -> Posterior:
        return posterior_of(metric, label, counts, prior, settings)

    found = make(settings.prior)
    low, high = found.interval(settings.confidence_level, kind)
    value = as_proportion(metric, counts, label)
    at_the_end = value is not None and value.of(counts)[0] in (0, value.of(counts)[1])
    if at_the_end and settings.side == "two" and kind == "equal-tailed":
        settings.warn(
            f"{_name(metric, counts, label)} lies on the end of its range, which equal tails exclude; "
            "--side lower or upper, or --interval hdi, says what can be claimed"
        )
    details: dict[str, Any] = {"prior": found.prior}
    if found.exact or not isinstance(found, SampledPosterior):
        moved = prior_sensitivity(make, settings.confidence_level, settings.prior)
        details["prior_sensitivity"] = moved
        if round(moved, 2) > 0.1:
            other = "Jeffreys (0.5)" if settings.prior == 1 else "a uniform (1)"
            settings.warn(
                f"{_name(metric, counts, label)}: the interval moves by {moved:.0%} of its width under {other} prior; "
                "the data are few, so the prior speaks"
            )
    else:
        details["monte_carlo_error"] = found.error
    return (low, high, method), details


def posterior_of(metric: Metric, label: int | None, counts: Counts, prior: float, settings: MeasureOptions) -> Posterior:
    """The posterior of a metric of a table: closed form where there is one."""
    from steelyard.infer.posterior import metrics as posterior

    refuse_unknown_negatives(metric, counts, label)
    proportion = as_proportion(metric, counts, label)
    if label is not None and metric.base in ("f1", "jaccard", "fbeta"):
        hit, truth, predicted, _ = counts.class_margins(label)
        tp, fp, fn = hit, predicted - hit, truth - hit
        if metric.base == "fbeta":
            return posterior.f_beta_posterior(tp, fp, fn, beta=metric.beta, prior=prior)
        make = posterior.f1_posterior if metric.base == "f1" else posterior.jaccard_posterior
        return make(tp, fp, fn, prior=prior)
    if proportion is not None and proportion.through == "itself":
        k, n = proportion.of(counts)
        return posterior.proportion_posterior(k, n, prior=prior, metric=metric.name)
    if proportion is not None and metric.base != "jaccard" and metric.base in ("precision", "recall", "f1", "fbeta"):
        k, n = proportion.of(counts)  # micro P = R = F = accuracy
        return posterior.proportion_posterior(k, n, prior=prior, metric=metric.name)
    if metric.base == "balanced_accuracy" or (metric.base == "recall" and metric.average == "macro"):
        margins = [counts.class_margins(k) for k in range(counts.classes)]
        return posterior.balanced_accuracy_posterior([(m[0], m[1]) for m in margins], prior=prior)
    statistic = statistic_of(metric, label, settings)
    return posterior.table_posterior(counts, statistic.value, metric=metric.name, prior=prior, draws=settings.draws, seed=settings.seed)


def refuse_unknown_negatives(metric: Metric, counts: Counts, label: int | None = None) -> None:
    """Without true negatives only precision, recall, F and Jaccard of the positive class are known."""
    if counts.kind == "outcomes" and metric.base not in ("accuracy", "error", "mean"):
        raise DataError(
            f"cannot compute {metric.name} from k of n",
            got="only right and wrong",
            need="truths and predictions",
            hint="k of n gives accuracy and error",
        )
    if not counts.negatives_known and (
        label == 0 or metric.base not in ("precision", "recall", "f1", "fbeta", "jaccard") or metric.average not in (None, "each")
    ):
        raise DataError(
            f"cannot compute {metric.name} without the true negatives",
            got="tp, fp and fn only",
            need="tn as well",
            hint="give tn=, or ask for precision, recall, f1, fbeta:B or jaccard",
        )


def _name(metric: Metric, counts: Counts, label: int | None) -> str:
    name = metric.name.removeprefix("each_")
    return name if label is None else f"{name}[{counts.labels[label]}]"
