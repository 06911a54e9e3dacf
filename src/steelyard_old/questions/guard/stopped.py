"""A run that stopped early, checked later: its notes say how it was looked at, and the same looks are made again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.guard.rule import GuardRule
from steelyard_old.estimate.guard.sequential import StoppingPlan, guard_series, refuse_other_looks, replay, series_of, stored_answers
from steelyard_old.estimate.guard.source import metric_of, read_run, scale_of, with_hashed_ids
from steelyard_old.estimate.guard.verdict import Guarded
from steelyard_old.evaluate.task.cases import hash_fractions, hash_order
from steelyard_old.items import Items
from steelyard_old.metrics.base import Metric
from steelyard_old.options.measure import settle
from steelyard_old.reference import outcomes
from steelyard_old.reference.lookup import ReferenceLocation, with_outcomes
from steelyard_old.reference.run_notes import RunNotes
from steelyard_old.results.base import Warnings
from steelyard_old.results.verdict import Verdict
from steelyard_old.tally.design import settle_missing
from steelyard_old.tally.sample import Sample

PLANNED = ("theta", "alpha", "beta", "margin")


def guard_stopped(
    source: Any,
    place: ReferenceLocation,
    guarded: Guarded,
    rule: GuardRule,
    warnings: Warnings,
    notes: RunNotes,
    columns: Mapping[str, Any],
    *,
    asked: Mapping[str, Any],
    missing: str,
) -> Verdict:
    """The verdict by the numbers of the plan, which the run noted before its first look."""
    stopping = dict(notes.stopping or {})
    if "plan" not in stopping and "ended" in stopping:
        raise UsageError(
            f"This run is not complete ({notes.n:,} of {notes.available:,} items): {notes.ended}; it cannot be checked.",
            got=f"a run that was ended after {notes.n:,} of {notes.available:,} items",
            need="a complete run",
            hint="the command that made it, with a higher limit, continues it",
        )
    if "plan" not in stopping:
        raise UsageError(
            f"This run stopped when its interval was narrow enough, after {notes.n:,} of {notes.available:,} items, so it cannot "
            "be checked.",
            got=f"a run that stopped when its interval was narrow enough, after {notes.n:,} of {notes.available:,} items",
            need="a run that was planned against this reference, or a complete one",
            hint="run again to the end, or until it is decided against this reference",
        )
    plan = StoppingPlan.from_dict(stopping["plan"])
    entry, recorded = with_outcomes(place, guarded.entry)
    if stopping.get("reference") != entry.items:
        raise DataError(
            f"This run stopped early on a comparison with another {'reference' if stopping.get('reference') else 'model'}, so it "
            "cannot be checked against this one.",
            got="a run that was planned against another reference"
            if stopping.get("reference")
            else "a run that was planned against another model",
            need="the reference it was looked at by",
            hint="its own verdict was printed by the run; run again against this reference",
        )
    if recorded is None:
        raise DataError(
            "A run that stopped early can only be checked against a reference with item outcomes.",
            got="a reference without item outcomes",
            need="one that holds them",
        )
    run = read_run(source, columns, rule.metric, warnings)
    metric = metric_of(rule.metric, run.items, rule.range)
    past = outcomes.to_items(recorded)
    scale, unit = scale_of(rule, metric, [past], entry)  # as the run settled it, before there was a score of its own
    rule = _as_planned(rule, plan, unit, asked)
    needed = ("score", "group") if run.items.score is not None else None
    ends, up = metric.range_of_scores(rule.range), metric.scores_up(rule.higher_is_better)
    there, said = settle_missing(run.items, missing, ends=ends, higher_is_better=up, beside=[past], needed=needed)
    warnings.extend(said)
    items = Sample(there, settle(), warnings, needed=needed).items
    if run.items.id is None:
        raise DataError(
            "A run that stopped early can only be checked with its id column, and this one has none.",
            got="a run without ids",
            need="the id column it was written with",
        )
    _check_record(plan, recorded, past, metric)
    _check_prefix([run.items.id.names[code] for code in run.items.id.codes.tolist()], recorded, notes, warnings, _order(plan, past, metric))
    series = series_of(past, with_hashed_ids(replace(run, items=items), recorded.hashed).items, metric, plan.strata)
    followed = replay(series, plan, stopping["looked"], rule.sign, last=bool(stopping.get("last")))
    refuse_other_looks(followed, stopping)
    guarded = replace(guarded, entry=entry, scale=scale, items=len(recorded.keys))
    return guard_series(followed, series, plan, guarded, rule, unit, warnings, ended=notes.limit)


def _as_planned(rule: GuardRule, plan: StoppingPlan, unit: float, asked: Mapping[str, Any]) -> GuardRule:
    """The numbers of the plan; asking for others after the looks is refused."""
    planned: dict[str, Any] = {"theta": plan.theta * unit, "alpha": plan.alpha, "beta": plan.beta, "margin": plan.margin * unit}
    for name in PLANNED:
        wished = asked.get(name)
        if wished is not None and abs(wished - planned[name]) > 1e-9 * max(1.0, abs(planned[name])):
            raise UsageError(
                f"The run was planned and stopped with {name} {planned[name]:g}; it cannot be checked with {name} {wished:g}.",
                got=f"{name} {wished:g}, where the run was planned with {planned[name]:g}",
                need="the plan it was run by",
                hint="run again with the other number",
            )
    return replace(rule, **planned)


def _check_record(plan: StoppingPlan, recorded: outcomes.Outcomes, past: Items, metric: Metric) -> None:
    """The outcomes must be those by which the strata were made. Runs that asked all items alike have noted less."""
    other = plan.record is not None and plan.record != outcomes.digest(recorded)
    if not other and plan.strata is not None and plan.n_max == recorded.n:
        wavering = sum(variance > 0 for variance in stored_answers(past, metric).variance.values())
        other = wavering != plan.strata.wavering
    if other:
        raise DataError(
            "The answers on record are not those that the run was planned by, so its early stop cannot be checked.",
            got="other answers on record than the run was planned by",
            need="the reference as it was then",
            hint="its own verdict was printed by the run; run again against this reference",
        )


def _order(plan: StoppingPlan, past: Items, metric: Metric) -> Callable[[list[str], int], list[int]]:
    """How the run put items into their order: by their hash, or by that over the factor of their stratum."""
    strata = plan.strata
    if strata is None:
        return hash_order
    variance = stored_answers(past, metric).variance
    return lambda keys, seed: strata.order(hash_fractions(keys, seed), [variance[key] > 0 for key in keys])[0].tolist()


def _check_prefix(
    ids: list[str],
    recorded: outcomes.Outcomes,
    notes: RunNotes,
    warnings: Warnings,
    ordering: Callable[[list[str], int], list[int]],
) -> None:
    """The items must be the first ones of the recorded order, not a choice among them."""
    seen = list(dict.fromkeys(ids))
    if recorded.hashed or notes.order not in ("items", "hash/k"):
        why = "the reference keeps hashes of its ids" if recorded.hashed else f"the items were ordered by {notes.order}"
        warnings.add(f"the run's notes say that its items are the first of a random order, which was not checked: {why}")
        return
    keys = list(recorded.keys)
    order = [keys[place] for place in ordering(keys, notes.seed)]
    if seen != order[: len(seen)]:
        raise DataError(
            f"The {len(seen):,} items of this run are not the first {len(seen):,} of the recorded order, so its early stop cannot "
            "be checked.",
            got=f"{len(seen):,} items that are not the first {len(seen):,} of the recorded order",
            need="a prefix of it",
            hint="use a run with the same task and seed as the reference, or a complete one",
        )
