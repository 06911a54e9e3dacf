"""What a run will be judged by, settled before the first question: the reference on record, or the other model."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.changed_items import item_values
from steelyard_old.estimate.guard.rule import GuardRule, check_protocol, is_better_higher, refuse_relative, settle_rule, unit_of
from steelyard_old.estimate.guard.sequential import AnswersOnRecord, StoppingPlan, answers_apart, means_of, stored_answers
from steelyard_old.estimate.guard.source import refuse_other_contents, scale_of, with_hashed_ids
from steelyard_old.estimate.opening import SystemItems
from steelyard_old.evaluate.asking.summary import jsonable
from steelyard_old.evaluate.scorers.catalogue import refuse_other_score
from steelyard_old.evaluate.task.cases import hash_fractions
from steelyard_old.infer.planning.item_variance import variance_of
from steelyard_old.infer.sequential.candidates import candidate_alpha
from steelyard_old.infer.sequential.stopping import RULES, small_pool
from steelyard_old.infer.sequential.wavering import FEWEST_ANSWERS, WaveringStrata, strata_of
from steelyard_old.items import Items
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import find, parse
from steelyard_old.options.run import RunOptions
from steelyard_old.questions.run.task import Prepared
from steelyard_old.read.columns import as_column
from steelyard_old.reference import outcomes
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.lookup import NoReferenceError, ReferenceLocation, load, locate, matched, with_outcomes
from steelyard_old.results.base import Warnings

NOBODY = "none"  # --against none: measure only


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The reference of a run. `past` is None where it holds no items (then it is judged as `check` would), or none yet.

    `model` and `spec` name the entry; `unit` turns the metric's own number into the scale of the reference.
    """

    place: ReferenceLocation
    model: str
    entry: Entry
    rule: GuardRule
    warnings: Warnings  # known before the first question
    metric: Metric
    scale: str
    unit: float
    past: Mapping[str, float] | None = None
    stored: tuple[float, float] | None = None  # the lowest and the highest outcome on record
    groups: Mapping[str, str | None] | None = None
    hashed: bool = False
    one_answer: bool = True
    right_or_wrong: bool = True  # each outcome on record is
    answers: AnswersOnRecord | None = None  # several on record, and how much they vary
    apart: Mapping[str, npt.NDArray[np.float64]] | None = None  # of scores on record: how far answers to an item lie apart
    record: str | None = None  # the digest of the outcomes on record
    live: bool = False  # the other model, asked beside this one
    shared: float | None = None  # alpha of several candidates together; that of the rule is each one's share

    def key(self, item: str) -> str:
        """An id as the reference has it."""
        return outcomes.hash_id(item) if self.hashed else item


def baseline_of(
    prepared: Prepared,
    name: str,
    options: RunOptions,
    *,
    against: str | None,
    must: bool,
    spec: Mapping[str, Any] | None,
    directory: str | os.PathLike[str] | None,
    config: str | os.PathLike[str] | None,
) -> Baseline | None:
    """The reference on record of `against`, or of the model's own name; None if there is none and nobody asked for one."""
    if against == NOBODY:
        if must:
            raise UsageError(
                "until='decided' needs a reference to decide by, and against='none' gives none.",
                got="against='none'",
                need="a reference to decide by",
            )
        return None
    place = locate(prepared.task.name, directory, config, otherwise=prepared.task.rule)
    try:
        if not must and against is None and not os.path.lexists(place.path):
            return None
        match = matched(place, against or name, spec, load(place, against or name))
    except NoReferenceError:
        if must or against is not None:
            raise
        return None
    warnings = Warnings()
    rule = settle_rule(options.rule, match.entry, place.defaults, warnings)
    warnings.extend(match.warnings)
    _refuse_other_metric(rule, prepared)
    # How it was asked first, quietly: which items differ is told better below, and the whole protocol is checked against it after that.
    check_protocol(match.entry, place, comparable(prepared.protocol, "drop"), Warnings())
    entry, recorded = (match.entry, None) if rule.threshold is not None else with_outcomes(place, match.entry)
    baseline = Baseline(
        place=place,
        model=entry.model,
        entry=entry,
        rule=rule,
        warnings=warnings,
        metric=parse(prepared.task.metric),
        scale=rule.scale or "raw",
        unit=1.0,
    )
    if recorded is None:
        return baseline
    past = outcomes.to_items(recorded)
    scale, unit = scale_of(rule, baseline.metric, [past], entry)
    baseline = replace(baseline, scale=scale, unit=unit, hashed=recorded.hashed, one_answer=past.repeat is None)
    _refuse_strangers([baseline.key(case.id) for case in prepared.cases], set(recorded.keys), options.unmatched)
    if prepared.task.writes_labels:
        refuse_other_contents(with_hashed_ids(_asked(prepared), recorded.hashed), recorded)
    check_protocol(match.entry, place, comparable(prepared.protocol, options.unmatched), warnings)
    groups = None if recorded.group is None else dict(zip(recorded.keys, recorded.group, strict=True))
    baseline = replace(baseline, past=_past(past, baseline.metric), groups=groups)
    if baseline.past is None or not options.decided:
        return baseline
    answers, right_or_wrong = stored_answers(past, baseline.metric), _zero_one(item_values(past, baseline.metric))
    scores = not (right_or_wrong and prepared.scorer.right_or_wrong)
    return replace(
        baseline,
        stored=_ends(past, baseline.metric),
        right_or_wrong=right_or_wrong,
        answers=answers,
        apart=answers_apart(past, baseline.metric) if scores and answers.fewest > 1 else None,
        record=outcomes.digest(recorded),
    )


def direction_of(baseline: Baseline | None, prepared: Prepared, config: str | os.PathLike[str] | None) -> bool:
    """Whether a high number of the metric is good: by what the run is judged by, else by the configuration, the task or the metric."""
    if baseline is not None:
        return baseline.rule.higher_is_better
    said = locate(prepared.task.name, None, config, otherwise=prepared.task.rule).defaults.higher_is_better
    return is_better_higher(prepared.task.metric) if said is None else bool(said)


def comparable(protocol: Mapping[str, str], unmatched: str) -> dict[str, str]:
    """The protocol to compare with that on record. Where items may be left out, the hash of all of them means nothing."""
    return {key: value for key, value in protocol.items() if key != "items" or unmatched != "drop"}


def _asked(prepared: Prepared) -> SystemItems:
    """The items as the rows of the run will have them: a truth that has changed since is another item."""
    ids = as_column("id", [case.id for case in prepared.cases]).encode()[0]
    truths = as_column("truth", [jsonable(prepared.scorer.truth(case)) for case in prepared.cases])
    if prepared.quantity.numeric:
        return SystemItems("run", Items(n=len(ids), id=ids, truth_value=truths.numbers()))
    return SystemItems("run", Items(n=len(ids), id=ids, truth=truths.encode()[0]))


def _past(items: Items, metric: Metric) -> dict[str, float] | None:
    try:
        return means_of(items, metric)
    except DataError:
        return None  # a metric of the whole table: judged when the run is complete


def _ends(items: Items, metric: Metric) -> tuple[float, float] | None:
    """The lowest and the highest of the single outcomes on record."""
    values = item_values(items, metric)
    return None if values is None or not len(values) else (float(np.min(values)), float(np.max(values)))


def _refuse_other_metric(rule: GuardRule, prepared: Prepared) -> None:
    refuse_other_score(prepared.protocol, rule.metric)
    if rule.metric == prepared.task.metric or find(rule.metric) is None:  # a name of other suites, for what this scorer does
        return
    if not all(map(_averages_scores, (rule.metric, prepared.task.metric))):
        raise UsageError(
            f"The task measures {prepared.task.metric!r}, but the reference is of {rule.metric!r}.",
            got=f"the metric {prepared.task.metric!r}, where the reference has {rule.metric!r}",
            need="the metric on record",
            hint=f'metric = "{rule.metric}" in the task, or a reference of its own',
        )


def _averages_scores(name: str) -> bool:
    metric = find(name)
    return metric is not None and metric.averages_scores


def _refuse_strangers(ids: Sequence[str], known: set[str], unmatched: str) -> None:
    """All before the first question: an item that is not on record cannot be compared."""
    strangers = [each for each in ids if each not in known]
    absent = len(known) - (len(ids) - len(strangers))
    if unmatched == "drop" or not (strangers or absent):
        return
    said = [f"{len(strangers)} item(s) that are not on record, such as {strangers[0]!r}"] if strangers else []
    said += [f"{absent} on record that the task does not ask"] if absent else []
    raise DataError(
        f"The items are not those of the reference: {' and '.join(said)}.",
        got=" and ".join(said),
        need="the items on record",
        hint="the same n and seed as then; unmatched='drop' judges by the items in both",
    )


def beside(prepared: Prepared, names: Sequence[str], options: RunOptions, config: str | os.PathLike[str] | None) -> Baseline:
    """Models asked side by side: the first is the reference of all others, which share alpha, and nothing is on record."""
    place = locate(prepared.task.name, None, config, otherwise=prepared.task.rule)
    entry = Entry(model=names[0], value=None, value_key=prepared.task.metric)
    warnings = Warnings()
    rule = settle_rule(options.rule, entry, place.defaults, warnings)
    candidates = len(names) - 1
    metric = parse(prepared.task.metric)
    within = not metric.scored or (prepared.span is not None and prepared.span[0] >= 0 and prepared.span[1] <= 1)
    return Baseline(
        place=place,
        model=names[1],
        entry=entry,
        rule=rule if candidates == 1 else replace(rule, alpha=candidate_alpha(rule.alpha, candidates)),
        warnings=warnings,
        metric=metric,
        scale=rule.scale or ("fraction" if within else "raw"),
        unit=unit_of(rule.scale, within),
        live=True,
        shared=None if candidates == 1 else rule.alpha,
    )


def plan_of(baseline: Baseline, prepared: Prepared, options: RunOptions) -> StoppingPlan:
    """The plan of stopping, fixed before the first look."""
    rule, cases = baseline.rule, prepared.cases
    if rule.relative:
        refuse_relative(rule, "A run with until='decided'")
    if rule.theta is None:
        raise UsageError(
            "until='decided' needs theta, the drop that matters.",
            got="no theta",
            need="the drop that matters, which a pass must rule out",
            hint="theta=.02, or theta in the reference or in [tasks.NAME] of steelyard.toml",
        )
    if rule.theta <= rule.margin:
        raise UsageError(
            f"A run that stops early needs a theta above the margin ({rule.margin:g}): it stops as soon as it can tell one from the other.",
            got=f"theta {rule.theta:g} with the margin {rule.margin:g}",
            need="a theta above the margin",
            hint="lower the margin, or run all items: then theta may be the margin itself",
        )
    if not baseline.metric.scored:
        raise UsageError(
            f"A run cannot stop early by {baseline.metric.name}, a metric of the whole table; it must be right or wrong, or the mean "
            "of a score.",
            got="a metric of the whole table",
            need="right or wrong, or the mean of a score",
        )
    groups = [case.group for case in cases if case.group is not None]
    if not groups and baseline.groups is not None and any(group is not None for group in baseline.groups.values()):
        raise UsageError(
            "The reference has groups and the task names none, so the run cannot stop early.",
            got="a reference whose items lie in groups, and a task that does not know them",
            need="the groups",
            hint='group = "COLUMN" and whole_groups = true in the task',
        )
    if groups and not prepared.task.whole_groups:
        raise UsageError(
            "A run with groups can stop early only if it asks whole groups.",
            got="items in groups that are asked in any order",
            need="whole groups",
            hint="whole_groups = true in the task, or leave the group out",
        )
    span, said = _range(baseline, prepared)
    plan = StoppingPlan(
        kind=options.kind,
        theta=rule.theta / baseline.unit,
        alpha=rule.alpha,
        beta=rule.beta,
        margin=rule.margin / baseline.unit,
        looks=options.looks,
        every=options.every,
        n_max=len(cases),
        right_or_wrong=prepared.scorer.right_or_wrong and baseline.right_or_wrong,
        one_answer=baseline.one_answer and options.repeats == 1,
        groups=len(set(groups)) if groups else None,
        largest_group=max(Counter(groups).values()) if groups else None,
        discordance=options.discordance,
        score_range=span,
        range_from=said,
        answers=1 if baseline.answers is None else baseline.answers.fewest,
        record=baseline.record,
    ).settled()
    strata = _strata(plan, baseline, prepared, options)
    if strata is not None:
        _, limit = strata.order(hash_fractions([case.id for case in cases], prepared.task.seed), _flags(baseline, prepared))
        plan = replace(plan, strata=strata, limit=limit)
    _warn(plan, baseline)
    return plan


def _flags(baseline: Baseline, prepared: Prepared) -> list[bool]:
    """Of each case, whether its answers on record waver."""
    assert baseline.answers is not None
    return [baseline.answers.variance[baseline.key(case.id)] > 0 for case in prepared.cases]


def wavering_ids(baseline: Baseline, prepared: Prepared) -> frozenset[str]:
    """The ids of the cases whose answers on record waver."""
    return frozenset(case.id for case, wavers in zip(prepared.cases, _flags(baseline, prepared), strict=True) if wavers)


def in_order(prepared: Prepared, baseline: Baseline, strata: WaveringStrata) -> Prepared:
    """The cases in the order of their hash over the factor of their stratum."""
    places, _ = strata.order(hash_fractions([case.id for case in prepared.cases], prepared.task.seed), _flags(baseline, prepared))
    return replace(prepared, cases=tuple(prepared.cases[place] for place in places.tolist()))


def _strata(plan: StoppingPlan, baseline: Baseline, prepared: Prepared, options: RunOptions) -> WaveringStrata | None:
    """The strata by which wavering items are asked more often; None where that is not wanted, not possible, or gains nothing."""
    if options.strata == "none":
        return None
    obstacle, hint = _no_strata(plan, baseline, prepared)
    if obstacle:
        if options.strata is not None:
            raise UsageError(
                f"strata={options.strata!r} cannot be used: {obstacle}.",
                got=f"strata={options.strata!r}, but {obstacle}",
                need=hint,
                hint=hint,
            )
        return None
    assert baseline.answers is not None
    width = 1.0 if plan.score_range is None else plan.score_range[1] - plan.score_range[0]
    variance = [baseline.answers.variance[baseline.key(case.id)] / variance_of(width) for case in prepared.cases]
    found = strata_of(variance, plan.answers, theta=(plan.theta - plan.margin) / width, alpha=plan.alpha, beta=plan.beta)
    if found.factor > 1:
        return found
    if found.wavering and options.strata is not None:
        baseline.warnings.add(
            f"items are asked equally often: the {found.wavering:,} unstable ones of {plan.n_max:,} would run out too soon or gain nothing"
        )
    return None


def _no_strata(plan: StoppingPlan, baseline: Baseline, prepared: Prepared) -> tuple[str, str]:
    """What keeps a run from asking wavering items more often, and what to do about it; empty where nothing does."""
    if baseline.live or baseline.answers is None:
        return "models are asked side by side, and nothing is on record", "leave strata= out"
    if plan.answers < FEWEST_ANSWERS:
        many = "one answer" if plan.answers == 1 else f"{plan.answers} answers"
        return (
            f"the record has {many} to each item, and at least {FEWEST_ANSWERS} are needed to tell which items are unstable",
            f"record {FEWEST_ANSWERS} or more runs as one reference, or leave strata= out",
        )
    if prepared.order != "items":
        return "the task orders its items by groups or by strata of its own", "leave strata= out"
    if not RULES[plan.taken].weighs:
        able = " or ".join(f"stopping={name!r}" for name, rule in RULES.items() if rule.weighs)
        return f"the run stops by {plan.taken!r}", f"{able}, or leave strata= out"
    return "", ""


def _range(baseline: Baseline, prepared: Prepared) -> tuple[tuple[float, float] | None, str | None]:
    """The range of scores and where it comes from: the task, else the scorer, else the lowest and the highest score on record."""
    if prepared.span is not None:
        return prepared.span, "scorer" if prepared.scorer.span is not None and prepared.span == prepared.scorer.span else "task"
    known = baseline.stored is not None and baseline.stored[0] < baseline.stored[1]
    return (baseline.stored, "record") if known else (None, None)


def _warn(plan: StoppingPlan, baseline: Baseline) -> None:
    """What is known before the first question."""
    warnings = baseline.warnings
    if plan.range_from == "record" and plan.score_range is not None and RULES[plan.taken].of_range:
        low, high = plan.score_range
        warnings.add(
            f"no range of scores is declared: {low:g} to {high:g} is taken, the lowest and the highest on record; a score outside "
            "ends the run undecided (range = [LOW, HIGH] in the task)"
        )
    if RULES[plan.taken].wants_range and plan.score_range is None:
        warnings.add(
            "no range of scores is known: rare total failures may pass more often than beta says (range = [LOW, HIGH] in the task)"
        )
    width = 1.0 if plan.score_range is None else plan.score_range[1] - plan.score_range[0]
    if not RULES[plan.taken].wants_many or plan.n_max >= (need := small_pool(plan.theta, width, plan.margin)):
        return
    if plan.rule().look(np.zeros(plan.limit or plan.n_max), last=True) != "pass":
        warnings.add(
            f"{plan.n_max:,} items cannot rule out a theta of {plan.theta * baseline.unit:g} even if no answer changes: without gains the "
            "run ends undecided or with a regression (more items, or a larger theta)"
        )
        return
    theta, margin = (f"{drop * baseline.unit:g}" for drop in (plan.theta, plan.margin))
    often = f"theta {theta} often ends undecided"
    if plan.margin:
        often = f"theta {theta} and margin {margin} often ends undecided if it lost about that much"
    warnings.add(
        f"with fewer than about {need:,} items, a run with {often} "
        f"(you have {plan.n_max:,}; `steelyard plan designs --available {plan.n_max}` says how often)"
    )


def _zero_one(outcomes: npt.NDArray[np.float64] | None) -> bool:
    return outcomes is None or bool(np.isin(outcomes, (0.0, 1.0)).all())
