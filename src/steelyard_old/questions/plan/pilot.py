"""What a pilot tells a plan to detect: one run gives sigma, two runs on the same items give how often they disagree."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Number
from typing import Any, NoReturn

import numpy as np

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.evidence import Evidence
from steelyard_old.estimate.from_source import require_columns
from steelyard_old.estimate.guard.source import within_unit
from steelyard_old.estimate.opening import SystemItems, default_metric, paired, refuse_each_class
from steelyard_old.estimate.pair_evidence import pair_evidence
from steelyard_old.estimate.rows import rows_of_sample
from steelyard_old.infer.intervals.clusters import FEWEST, LEAST
from steelyard_old.infer.normal import wilson
from steelyard_old.infer.planning.item_variance import deviation_known_within, deviation_of_answers, per_item, share_deviation
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse, usual
from steelyard_old.options.compare import settle_comparison
from steelyard_old.options.measure import settle
from steelyard_old.questions.plan.variance import ItemVariance
from steelyard_old.read.open_source import open_source
from steelyard_old.results.base import Warnings
from steelyard_old.results.details import ComparisonDetails, RowDetails
from steelyard_old.tally.rounding import deviation_of
from steelyard_old.tally.sample import Sample

SMALL = 30


def pilot_spread(
    pilot: Any, columns: Mapping[str, Any], more: Mapping[str, Any], theta: float | None, goal: str, metric: str | None = None
) -> ItemVariance:
    """The spread that one or two pilot runs show. A theta above 1 on scores within 0 and 1 can only mean percent.

    metric: what to plan for; None is right or wrong, or the mean of the scores, or the ratio of two columns.
    """
    wanted = parse(metric) if metric is not None else usual({"ratio"})[0] if "ratio" in columns else None
    if wanted is not None:
        refuse_each_class(wanted, "a plan", one_class=False)
    runs = list(pilot) if isinstance(pilot, (list, tuple)) and not _is_data(pilot) else [pilot]
    if not 1 <= len(runs) <= 2:
        raise UsageError(
            f"A pilot is one run, or two runs on the same items; got {len(runs)}.",
            got=f"{len(runs)} runs",
            need="one run, or two runs on the same items",
        )
    try:
        read = [_run(one, columns, f"pilot {i + 1}", wanted) for i, one in enumerate(runs)]
        found = _one(read[0], more, wanted) if len(read) == 1 else _two(read[0], read[1], more, theta, goal, wanted)
    except DataError as reason:  # their hints name options of other commands
        if "ratio=ABOVE/BELOW" in reason.hint:
            raise DataError(reason.what, got=reason.got, need=reason.need, hint="sums=ABOVE/BELOW") from reason
        if not any(word in reason.hint for word in ("unmatched=", "design=", "missing=")):
            raise
        raise DataError(reason.what, got=reason.got, need=reason.need, hint="fix the pilot, or give only one run") from reason
    return _in_percent(found) if found.most == 1.0 and theta is not None and theta >= 1 else found


def _is_data(pilot: Sequence[Any]) -> bool:
    """A list of numbers or rows is one pilot; a list of paths or frames is several."""
    return bool(pilot) and isinstance(pilot[0], (Number, np.number, np.bool_, Mapping))


def _run(data: Any, columns: Mapping[str, Any], place: str, wanted: Metric | None) -> SystemItems:
    source = open_source(data, columns={role: value for role, value in columns.items() if value is not None})
    if wanted is not None:
        require_columns(source, [wanted])
    name = source.name or (os.path.basename(os.fspath(data)) if isinstance(data, (str, os.PathLike)) else place)
    return SystemItems(name, source.items(numeric=wanted is not None and wanted.numeric))


def _of_error(run: SystemItems, more: Mapping[str, Any], metric: Metric) -> ItemVariance:
    """What one item adds to the spread of any metric: its standard error over the pilot, times the root of the number of items.

    Groups, weights and the number of tries of each item are then as they are in the pilot.
    """
    _answers(more, None)
    settings, warnings = settle(), Warnings()
    sample = Sample(run.items, settings, warnings, counted=False)
    rows = rows_of_sample([metric], sample, settings, warnings)
    if len(rows) != 1 or rows[0].estimate is None or not rows[0].standard_error:
        why = "".join(f" ({sentence})" for sentence in tuple(warnings)[:1])
        raise DataError(
            f"The pilot does not show how much {metric.name} varies{why}.",
            got=f"no standard error of {metric.name}",
            need="one number whose items vary",
            hint="a larger pilot, or another metric",
        )
    row = rows[0]
    n = row.n
    assert row.standard_error is not None
    value = per_item(row.standard_error, n)
    words = (
        f"two separate samples like the pilot: {n:,} items, {metric.name} {row.estimate:.4g} with standard error {row.standard_error:.4g}"
    )
    return ItemVariance(
        kind="sigma",
        value=value,
        words=words,
        most=math.inf if metric.width is None else metric.width,
        facts={"pilot_n": n, "pilot_estimate": row.estimate},
        warnings=_small(n),
        **_plain(more),
    )


def _one(run: SystemItems, more: Mapping[str, Any], wanted: Metric | None) -> ItemVariance:
    """sigma of one answer, the design effect of groups, the noise within items."""
    metric = wanted or default_metric([run])
    if (wanted is not None and not metric.averages_scores) or run.items.weight is not None:
        return _of_error(run, more, metric)
    settings, warnings = settle(), Warnings()
    sample = Sample(run.items, settings, warnings, needed={"score", "truth", "prediction", "id", "group", "repeat"})
    if not metric.averages_scores:
        raise DataError(
            f"Cannot estimate sigma from a pilot of {metric.name}: the pilot needs right or wrong, or a score, per item.",
            got=f"a pilot of {metric.name}",
            need="right or wrong, or a score, per item",
        )
    row = rows_of_sample([metric], sample, settings, warnings)[0]
    if row.estimate is None or sample.n < 2:
        raise DataError(
            f"Cannot estimate sigma from {sample.n} {'item' if sample.n == 1 else 'items'}; a pilot needs at least two.",
            got=f"a pilot of {sample.n} item(s)",
            need="at least two items",
        )
    right_or_wrong = metric.right_or_wrong
    within, between = row.details.variance_within, row.details.variance_between
    answers = _answers(more, within)
    if isinstance(within, float) and isinstance(between, float):
        deviation = deviation_of_answers(between, within, answers)
    elif right_or_wrong:
        deviation = share_deviation(row.estimate)
    else:
        assert run.items.score is not None
        deviation = deviation_of(run.items.score)
    _refuse_constant(deviation, sample.n, right_or_wrong)
    facts = {"pilot_n": sample.n, "pilot_estimate": row.estimate, "variance_within": within, "variance_between": between}
    score = run.items.score
    unit = right_or_wrong or (score is not None and bool(((score >= 0) & (score <= 1)).all()))
    return ItemVariance(
        kind="sigma",
        value=deviation,
        words=f"two separate samples of scores like the pilot's: {sample.n:,} items, standard deviation {deviation:.4g}",
        most=1.0 if unit else math.inf,
        accuracy=row.estimate if right_or_wrong else None,
        facts={name: value for name, value in facts.items() if value is not None},
        warnings=_small(sample.n),
        **{**_plain(more), "design_effect": _effect_of_groups(sample.design.kind, sample.design.units, row.details, more)},
    )


def _answers(more: Mapping[str, Any], within: Any) -> tuple[int, int]:
    """How many answers to each item, where the pilot shows what they save."""
    if "within" in more:
        raise UsageError(
            "Leave within= out when there is a pilot: its repeat column shows it.",
            got="within beside a pilot",
            need="a pilot with a repeat column, which shows it",
        )
    first, second = more.get("answers", (1, 1))
    if first != second and ("ratio" in more or "n_reference" in more):
        raise UsageError(
            f"Runs of unequal size need one number of repeats for both, not {first} and {second}.",
            got=f"{first} and {second} for runs of unequal size",
            need="one number for both runs",
        )
    if "answers" in more and within is None:
        raise UsageError(
            "The pilot has no repeat column, so it cannot show what repeats save.",
            got="a pilot without repeats",
            need="a pilot with a repeat column",
        )
    return int(first), int(second)


def _plain(more: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if name not in ("answers", "within")}


def _effect_of_groups(kind: str, groups: int, details: RowDetails, more: Mapping[str, Any]) -> float:
    """The design effect: as given, else as the groups of the pilot show it; too few show none."""
    if kind != "groups" or more["design_effect"] != 1.0:
        return float(more["design_effect"])
    effect = details.design_effect
    if effect is None:
        _refuse_few_groups(groups, details)
    return float(effect or 1.0)


def _refuse_few_groups(groups: int, details: RowDetails | ComparisonDetails) -> NoReturn:
    need = f"at least {FEWEST} groups, worth {LEAST:g} of equal size, to see how much they cost"
    worth = groups if details.groups_effective is None else details.groups_effective
    got = f"{groups} group(s)" + (f" of unequal size, worth {worth:.2g}" if worth < 0.95 * groups else "")
    raise DataError(f"The design effect needs {need}; there are {got}.", got=got, need=need, hint="give the design effect, or group none")


def _small(n: int) -> tuple[str, ...]:
    """How well so few items know their own spread: about 1 / sqrt(2n), relatively."""
    return (f"a pilot of {n} items gives the standard deviation only to within about {deviation_known_within(n):.0%}",) if n < SMALL else ()


def _refuse_constant(deviation: float, n: int, right_or_wrong: bool) -> None:
    if deviation > 0:
        return
    got = f"{n} items that are all {'right, or all wrong' if right_or_wrong else 'equal'}"
    hint = "expected=.95 if you expect some errors, or a larger pilot" if right_or_wrong else "a larger pilot, or sigma="
    raise DataError(f"The pilot must vary to give sigma; it has {got}.", got=got, need="a pilot that varies", hint=hint)


def _two(
    first: SystemItems, second: SystemItems, more: Mapping[str, Any], theta: float | None, goal: str, wanted: Metric | None
) -> ItemVariance:
    """How often two healthy runs disagree, or the standard deviation of their differences."""
    strange = [name for name in ("n_reference", "ratio", "answers", "within") if name in more]
    if strange:
        raise UsageError(
            f"{strange[0]} cannot be used with two pilots, which must have the same items and one answer each.",
            got=f"{strange[0]} beside two pilots",
            need="the same items, one answer each",
        )
    asked = settle_comparison(
        settle(), interval=None, test=None, alternative="two-sided", margin=None, design=None, unmatched="error", correction="holm"
    )
    metric = wanted or default_metric([first, second])
    if wanted is None and not metric.averages_scores:
        raise DataError(
            f"Cannot plan from pilots of {metric.name}: they need right or wrong, or a score, per item.",
            got=f"pilots of {metric.name}",
            need="right or wrong, or a score, per item",
        )
    pairs, _ = paired(first, second, asked, Warnings())
    found = pair_evidence(pairs, metric, asked, Warnings())
    _refuse_unhealthy(found, theta)
    facts: dict[str, Any] = {"pilot_n": found.n, "pilot_difference": found.difference}
    if found.flips is not None:
        return _of_flips(found, facts, more, goal)
    if found.too_few:
        _refuse_few_groups(found.details.units or 0, found.details)
    noise = found.error if found.noise is None else found.noise
    if not noise:
        raise DataError(
            "The two pilot runs agree on every item, so they show no variation.",
            got="two runs equal on every item",
            need="runs that differ somewhere",
        )
    sd = per_item(noise, found.n)
    words = f"the same items; the differences of the two pilot runs have standard deviation {sd:.4g}"
    grouped = " (design effect of the groups included)" if found.design == "clustered" else ""
    most = 1.0 if within_unit(metric, [pairs.baseline, pairs.candidate]) else math.inf
    return ItemVariance(kind="sd", value=sd, words=words + grouped, most=most, facts=facts, warnings=_small(found.n), **_plain(more))


def _of_flips(found: Evidence, facts: dict[str, Any], more: Mapping[str, Any], goal: str) -> ItemVariance:
    """The share of items that differ between two healthy runs. None at all still leaves the upper end of its interval."""
    assert found.flips is not None
    changed = found.flips["baseline_only"] + found.flips["candidate_only"]
    psi, upper = changed / found.n, wilson(changed, found.n)[1]
    facts |= {"pilot_flips": changed, "discordance_upper": upper}
    shown = f"{changed:,} of {found.n:,} items differ between the two pilot runs; a drop of theta adds theta to that share"
    warnings = list(_small(found.n))
    if psi == 0:
        what = f"the pilots agree on every item, but the true share may be up to {upper:.3g}"
        warnings.append(f"{what}, and the plan uses that share" if goal == "rule-out" else what)
    return ItemVariance(
        kind="discordance",
        value=upper if psi == 0 and goal == "rule-out" else psi,
        words=f"the same items, right or wrong; {shown}",
        most=1.0,
        healthy=True,
        upper=upper,
        facts=facts,
        warnings=tuple(warnings),
        **_plain(more),
    )


def _refuse_unhealthy(found: Evidence, theta: float | None) -> None:
    """Two pilots that already differ by theta are not two healthy runs, or theta is below their noise."""
    gap, p = found.difference, found.test.p_value
    if theta is None or gap is None or p is None or abs(gap) < (theta / 100 if theta >= 1 and found.flips is not None else theta):
        return
    if p <= 0.05:
        raise DataError(
            f"The pilot runs differ by {abs(gap):.4g} (p = {p:.2g}) with nothing changed, so they cannot serve for theta {theta:g}.",
            got=f"theta {theta:g}, and pilot runs that differ by {abs(gap):.4g} (p = {p:.2g}) with nothing changed",
            need="two runs of the same healthy model, or a theta above what they differ by",
            hint="use two runs of the same healthy model, or a larger theta",
        )


def _in_percent(spread: ItemVariance) -> ItemVariance:
    """The same spread in percent, said."""
    if spread.kind == "discordance":
        raise UsageError(
            "On right-or-wrong items theta is a fraction below 1.",
            got="a theta of 1 or more on right-or-wrong items",
            need="a fraction",
            hint="write 0.03 for three points",
        )
    facts = {**spread.facts, "scale": "percent"}
    return replace(
        spread, value=100 * spread.value, most=100.0, percent=True, words=f"{spread.words} (x 100: theta is in percent)", facts=facts
    )
