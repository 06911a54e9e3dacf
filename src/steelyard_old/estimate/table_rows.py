"""Rows for metrics of a table: which interval, from which tally, and what to fall back to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.named_intervals import INTERVALS, OF_A_PROPORTION, TABLE, offered_intervals
from steelyard_old.estimate.row import make_row, slope, table_error
from steelyard_old.infer.intervals.proportion import METHODS, proportion_interval
from steelyard_old.infer.normal import z_value
from steelyard_old.infer.resampling.work import stand_in_draws, within_reach
from steelyard_old.metrics.base import Law, Metric
from steelyard_old.metrics.proportions import Proportion
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.options.option import not_offered
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Row
from steelyard_old.tally.counts import FEW, Counts, TableTally

CONVOLVED = 5_000  # classes whose recalls are convolved within seconds

if TYPE_CHECKING:
    from steelyard_old.infer.posterior.metrics import Posterior
    from steelyard_old.metrics.table import TableStatistic


def table_row(metric: Metric, label: int | None, tally: TableTally, settings: MeasureOptions, warnings: Warnings) -> Row:
    """The row of one metric (of one class, where it has one)."""
    counts = tally.counts
    refuse_unknown_negatives(metric, counts, label)
    if tally.units is not None:
        proportion = metric.proportion(counts, label)
        settings.refuse_no_posterior(row_name(metric, counts, label), f"items that belong together ({tally.kind})")
        from steelyard_old.estimate.grouped_rows import grouped_row

        return grouped_row(metric, label, tally, proportion, settings, warnings, row_name(metric, counts, label))
    proportion, estimate, n = table_value(metric, label, counts, settings)
    interval, details = (None, {}) if estimate is None else _interval(metric, label, counts, proportion, settings, warnings, estimate)
    if estimate is None:
        warnings.add(f"{row_name(metric, counts, label)} is undefined: {metric.why_undefined()}")
    error = None if estimate is None else table_error(metric, label, counts, proportion, settings)
    return make_row(metric, label, counts, estimate, n, interval, settings, details, error)


def table_value(metric: Metric, label: int | None, counts: Counts, settings: MeasureOptions) -> tuple[Proportion | None, float | None, int]:
    """The proportion that the metric is, if it is one; its value, None where it is undefined; and of how many items."""
    proportion = metric.proportion(counts, label)
    if proportion is not None:
        return proportion, proportion.value(counts), proportion.of(counts)[1]
    return None, _value(metric.of_table(label, settings.absent), counts) if counts.n else None, counts.n


def row_name(metric: Metric, counts: Counts, label: int | None) -> str:
    """The metric, and the class that it is of, as in f1[yes]."""
    name = metric.row_name
    return name if label is None else f"{name}[{counts.labels[label]}]"


def _value(statistic: TableStatistic, counts: Counts) -> float | None:
    from steelyard_old.infer.resampling.bootstrap import Cells

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
    whole = offered_intervals("counted", TABLE)
    if proportion is None:
        return list(dict.fromkeys((default_method(None, "two"), *whole)))
    binomial = [m for m in METHODS if m not in whole and (proportion.through is None or m != "wald")]
    return [*binomial, *whole]


def _interval(
    metric: Metric,
    label: int | None,
    counts: Counts,
    proportion: Proportion | None,
    settings: MeasureOptions,
    warnings: Warnings,
    estimate: float,
) -> tuple[tuple[float, float, str] | None, dict[str, Any]]:
    """(ends, details): dispatch by the method's name, with the announced fall-back where the method has no answer."""
    method = settings.interval or default_method(proportion, settings.side, counts, settings.draws)
    name = row_name(metric, counts, label)
    if settings.interval is not None and method not in offered(metric, proportion):
        hint = "name the metrics you mean with metric= if the method suits only some of them"
        raise not_offered("interval", method, metric.name, offered(metric, proportion), hint)
    how = INTERVALS.get(method, OF_A_PROPORTION)
    if how.believed:
        return _bayes(metric, label, counts, settings, warnings, method)
    if proportion is not None and method in METHODS and not (how.redraws and proportion.mapped_class):
        ends = _binomial(method, counts, proportion, settings, warnings, name)
        return ends, {} if ends[2] == method else {"instead_of": method}
    from steelyard_old.estimate.fallback import OF_CLASSES, attempt, given_instead, left_out, no_answer
    from steelyard_old.infer.intervals import table
    from steelyard_old.infer.resampling.bootstrap import Degenerate, Undefined

    statistic, level, side = metric.of_table(label, settings.absent), settings.confidence_level, settings.side
    if settings.interval is None and how.linear:
        return _first_order(metric, statistic, counts, settings, warnings, "", name, "")
    if how.redraws and _never_defined(metric, counts, settings):
        return _first_order(metric, statistic, counts, settings, warnings, method, name, "")
    found = attempt(
        lambda: (
            how.counted(counts, statistic, settings)
            if how.counted is not None
            else (*table.delta(counts, statistic, level, side), 0)
            if how.linear
            else table.table_bootstrap(counts, statistic, method, level, side, draws=settings.draws, seed=settings.seed)
        )
    )
    if isinstance(found, Degenerate):
        if proportion is not None:
            ends = _without_width(method, counts, proportion, settings, warnings, no_answer(method, found, name=name), metric)
            return ends, {} if ends[2] == method else {"instead_of": method}
        if (isinstance(found, Undefined) and _small(metric, counts)) or not _drawn_soon(metric, counts, settings):
            return _first_order(metric, statistic, counts, settings, warnings, method, name, str(found))
        quicker = _quicker(counts, settings)
        fewer = f", of {quicker.draws:,} draws," if quicker.draws < settings.draws else ""
        warnings.add(given_instead(method, found, f"the posterior's{fewer}", name=name))
        (low, high, given), details = _bayes(metric, label, counts, quicker, warnings, "bayes")
        # a perfect table lies on the end of its range, which equal tails exclude: the end belongs to what is possible
        return (min(low, estimate), max(high, estimate), given), {**details, "instead_of": method}
    low, high, undefined = found
    if undefined:
        warnings.add(left_out(name, undefined, settings.draws, OF_CLASSES))
    return (low, high, method), {}


def _quicker(counts: Counts, settings: MeasureOptions) -> MeasureOptions:
    """The settings of a posterior that nobody asked for: fewer draws where all of them would take far longer than the bootstrap did."""
    from steelyard_old.infer.posterior.draws import posterior_numbers

    return replace(settings, draws=stand_in_draws(posterior_numbers(counts, settings.prior), settings.draws))


def _drawn_soon(metric: Metric, counts: Counts, settings: MeasureOptions) -> bool:
    """Whether the posterior of the whole table is a matter of seconds."""
    if metric.law(None) is not None:  # of shares, one per class
        return counts.classes <= CONVOLVED
    from steelyard_old.infer.posterior.draws import posterior_numbers

    return within_reach(posterior_numbers(counts, settings.prior), settings.draws)


def _small(metric: Metric, counts: Counts) -> int:
    """The classes too small for the interval of an average, if they are most of them: a prior would speak for them, not the data."""
    if not metric.averages_classes:
        return 0
    small = sum(counts.class_margins(k)[1] < FEW for k in range(counts.classes))
    return small if 2 * small > counts.classes else 0


NEVER = 1e-9  # redrawn samples with a value that can be expected at most: then none need be drawn to know that there will be none


def _never_defined(metric: Metric, counts: Counts, settings: MeasureOptions) -> bool:
    """Whether redrawn samples would have no value, and no interval would be given for it: then nothing need be drawn."""
    if not metric.needs_every_class(settings.absent) or not _small(metric, counts):
        return False
    from steelyard_old.infer.intervals.table import share_with_every_class
    from steelyard_old.infer.resampling.bootstrap import check_draws

    check_draws(settings.draws, settings.confidence_level, settings.side)
    return share_with_every_class(counts) * settings.draws < NEVER


def _first_order(
    metric: Metric,
    statistic: TableStatistic,
    counts: Counts,
    settings: MeasureOptions,
    warnings: Warnings,
    instead_of: str,
    name: str,
    reason: str,
) -> tuple[tuple[float, float, str] | None, dict[str, Any]]:
    """The delta method's interval where draws take minutes or say nothing; none for averages over classes that are mostly small."""
    from steelyard_old.estimate.fallback import attempt, given_instead, none_given
    from steelyard_old.infer.intervals import table
    from steelyard_old.infer.resampling.bootstrap import Degenerate

    if small := _small(metric, counts):
        warnings.add(f"{name}: no interval: {small:,} of {counts.classes:,} classes have fewer than {FEW} items")
        return None, {}
    ends = attempt(lambda: table.delta(counts, statistic, settings.confidence_level, settings.side))
    if isinstance(ends, Degenerate):
        warnings.add(none_given(ends, name=name, of=f"{counts.classes:,} classes"))
        return None, {}
    if instead_of:
        warnings.add(given_instead(instead_of, reason, "the delta method's", name=name))
    return (*ends, "delta"), {"instead_of": instead_of} if instead_of else {}


def _binomial(
    method: str, counts: Counts, proportion: Proportion, settings: MeasureOptions, warnings: Warnings, name: str
) -> tuple[float, float, str]:
    k, n = proportion.of(counts)
    how = INTERVALS.get(method, OF_A_PROPORTION)
    if how.flat and k in (0, n):
        what = "bootstrap" if how.redraws else f"{method.capitalize()} interval"
        return _without_width(method, counts, proportion, settings, warnings, f"{name}: the {what} has zero width at {k} of {n}")
    if how.flat and not how.redraws and k * (n - k) / n < 5:
        warnings.add(
            f"{name}: {method.capitalize()} was asked for at {k} of {n}, where it covers far less than its level; "
            "that is why Wilson is the default"
        )
    low, high = proportion_interval(k, n, method, settings.confidence_level, settings.side)
    return proportion.to_metric(low), proportion.to_metric(high), method


def _without_width(
    method: str,
    counts: Counts,
    proportion: Proportion,
    settings: MeasureOptions,
    warnings: Warnings,
    said: str,
    redrawn: Metric | None = None,
) -> tuple[float, float, str]:
    """Wilson's interval; at 0 and n of n the method's own end at one mistake (one success) where Wilson's would reach beyond it.

    So one more mistake never raises a lower bound, and one more success never lowers an upper one.
    """
    k, n = proportion.of(counts)
    low, high, given = _binomial("wilson", counts, proportion, settings, warnings, "")
    beside = _beside(method, k, n, counts, proportion, settings, redrawn)
    inner = (low, high) if beside is None else (max(low, beside[0]), high) if k else (low, min(high, beside[1]))
    if inner == (low, high):
        warnings.add(f"{said}; Wilson's is used instead")
        return low, high, given
    other = f"{n - 1} of {n}" if k else f"1 of {n}"
    warnings.add(f"{said}; its {'lower' if k else 'upper'} end at {other} is used instead, because Wilson's reaches beyond that")
    return *inner, method


def _beside(
    method: str, k: int, n: int, counts: Counts, proportion: Proportion, settings: MeasureOptions, redrawn: Metric | None
) -> tuple[float, float] | None:
    """The method's ends one answer away from 0 or n of n; None if it has none there, or is nowhere narrower than Wilson (bca)."""
    if k not in (0, n) or n < 2 or method == "bca":
        return None
    other, level, side = (n - 1 if k else 1), settings.confidence_level, settings.side
    if INTERVALS.get(method, OF_A_PROPORTION).linear:
        p = other / n
        reach = z_value(level, side) * abs(slope(proportion, p)) * math.sqrt(p * (1 - p) / n)
        return proportion.to_metric(p) - reach, proportion.to_metric(p) + reach
    if redrawn is None:
        ends = proportion_interval(other, n, method, level, side)
        return proportion.to_metric(ends[0]), proportion.to_metric(ends[1])
    from steelyard_old.infer.intervals.table import table_bootstrap

    table = Counts.binary(tp=other, fp=0, fn=n - other, tn=max(0, counts.n - n))  # it asks for no more than hits and mistakes
    of_class = replace(redrawn, average=None).of_table(1)
    return table_bootstrap(table, of_class, method, level, side, draws=settings.draws, seed=settings.seed)[:2]


def _bayes(
    metric: Metric, label: int | None, counts: Counts, settings: MeasureOptions, warnings: Warnings, method: str
) -> tuple[tuple[float, float, str], dict[str, Any]]:
    from steelyard_old.infer.posterior.metrics import SampledPosterior, prior_sensitivity

    kind = {"two": INTERVALS.get(method, OF_A_PROPORTION).believed, "lower": "lower", "upper": "upper"}[settings.side]

    def make(prior: float) -> Posterior:
        return posterior_of(metric, label, counts, prior, settings)

    found = make(settings.prior)
    low, high = found.interval(settings.confidence_level, kind)
    value = metric.proportion(counts, label)
    at_the_end = value is not None and value.of(counts)[0] in (0, value.of(counts)[1])
    if at_the_end and settings.side == "two" and kind == "equal-tailed":
        warnings.add(
            f"{row_name(metric, counts, label)} lies on the end of its range, which equal tails exclude; "
            "use side='lower' or side='upper', or interval='hdi'"
        )
    details: dict[str, Any] = {"prior": found.prior}
    if settings.at_least is not None:
        details["probability_at_least"] = _at_least(found, settings.at_least, row_name(metric, counts, label))
    if found.exact or not isinstance(found, SampledPosterior):
        moved = prior_sensitivity(make, settings.confidence_level, settings.prior)
        details["prior_sensitivity"] = moved
        if round(moved, 2) > 0.1:
            other = "Jeffreys (0.5)" if settings.prior == 1 else "a uniform (1)"
            warnings.add(
                f"{row_name(metric, counts, label)}: the interval moves by {moved:.0%} of its width under {other} prior; "
                "there is little data, so the prior matters"
            )
    else:
        details["monte_carlo_error"] = found.error
    return (low, high, method), details


def _at_least(found: Posterior, least: float, name: str) -> float:
    """The posterior probability that the metric is so much or more."""
    if not found.bottom <= least <= found.top:
        raise UsageError(
            f"at_least= must lie between {found.bottom:g} and {found.top:g} for {name}, not at {least:g}.",
            got=f"{least:g}",
            need=f"a value between {found.bottom:g} and {found.top:g}",
            hint=f"write {least / 100:g}" if found.top < least <= 100 * found.top else "",
        )
    return found.probability_above(least)


def _f_beta(metric: Metric, label: int | None, counts: Counts, prior: float) -> Posterior:
    from steelyard_old.infer.posterior.metrics import f_beta_posterior

    return f_beta_posterior(*_hits_and_mistakes(counts, label), beta=metric.parameter or 1.0, prior=prior)


def _jaccard(metric: Metric, label: int | None, counts: Counts, prior: float) -> Posterior:
    from steelyard_old.infer.posterior.metrics import jaccard_posterior

    return jaccard_posterior(*_hits_and_mistakes(counts, label), prior=prior)


def _mean_of_shares(metric: Metric, label: int | None, counts: Counts, prior: float) -> Posterior:
    from steelyard_old.infer.posterior.metrics import balanced_accuracy_posterior

    return balanced_accuracy_posterior([counts.class_margins(k)[:2] for k in range(counts.classes)], prior=prior)


def _hits_and_mistakes(counts: Counts, label: int | None) -> tuple[int, int, int]:
    """TP, FP and FN of one class."""
    hit, truth, predicted, _ = counts.class_margins(label or 0)
    return hit, predicted - hit, truth - hit


CLOSED_FORMS: dict[Law, Callable[[Metric, int | None, Counts, float], Posterior]] = {
    Law.F_BETA: _f_beta,
    Law.JACCARD: _jaccard,
    Law.MEAN_OF_SHARES: _mean_of_shares,
}


def posterior_of(metric: Metric, label: int | None, counts: Counts, prior: float, settings: MeasureOptions) -> Posterior:
    """The posterior of a metric of a table: closed form where there is one."""
    from steelyard_old.infer.posterior import metrics as posterior

    refuse_unknown_negatives(metric, counts, label)
    law = metric.law(label)
    if label is not None and law is not None:
        return CLOSED_FORMS[law](metric, label, counts, prior)
    proportion = metric.proportion(counts, label)
    if proportion is not None and (proportion.through is None or metric.pools_to_accuracy):  # micro P = R = F = accuracy
        k, n = proportion.of(counts)
        return posterior.proportion_posterior(k, n, prior=prior, metric=metric.name)
    if law is not None:
        return CLOSED_FORMS[law](metric, label, counts, prior)
    statistic = metric.of_table(label, settings.absent)
    return posterior.table_posterior(
        counts,
        statistic.value,
        metric=metric.name,
        prior=prior,
        draws=settings.draws,
        seed=settings.seed,
        bounds=(metric.low or 0.0, metric.high or 1.0),
    )


def refuse_unknown_negatives(metric: Metric, counts: Counts, label: int | None = None) -> None:
    """Without true negatives only precision, recall, F and Jaccard of the positive class are known."""
    if counts.kind == "outcomes" and not metric.scored:
        raise DataError(
            f"{metric.name} needs truths and predictions; k of n only tells right from wrong.",
            got="only right and wrong",
            need="truths and predictions",
            hint="k of n gives accuracy and error",
        )
    if not counts.negatives_known and (label == 0 or metric.needs_negatives):
        raise DataError(
            f"{metric.name} needs the true negatives; there are only tp, fp and fn.",
            got="tp, fp and fn only",
            need="tn as well",
            hint="give tn=, or ask for precision, recall, f1, fbeta:B or jaccard",
        )
