"""From the items of a run to its verdict: read once, pair with recorded outcomes, or reduce to a number."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard_old.errors import DataError, SourceError, SteelyardError, UsageError
from steelyard_old.estimate.changed_items import item_values, with_context
from steelyard_old.estimate.guard.number import CandidateScore, guard_floor, guard_number
from steelyard_old.estimate.guard.paired import guard_items, judge_items
from steelyard_old.estimate.guard.rule import GuardRule, settle_ratio
from steelyard_old.estimate.guard.slice_request import OF_RUN, SliceRequest, refuse_slices
from steelyard_old.estimate.guard.slices import with_slices
from steelyard_old.estimate.guard.verdict import Guarded
from steelyard_old.estimate.opening import (
    SystemItems,
    check_log_metric,
    own_direction,
    own_positive,
    refuse_unfinished,
    warn_disagreement,
    warn_unused_positive,
)
from steelyard_old.estimate.pair_evidence import scores_decide
from steelyard_old.estimate.rows import rows_of_sample
from steelyard_old.estimate.strata_rows import refuse_alike
from steelyard_old.items import ROLES, Items
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import find, parse, usual
from steelyard_old.options.measure import settle
from steelyard_old.options.option import ratio_columns
from steelyard_old.read.open_source import open_source
from steelyard_old.read.source import Source
from steelyard_old.reference import outcomes
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.entry_schema import is_metric
from steelyard_old.reference.lookup import ReferenceLocation, with_outcomes
from steelyard_old.results.base import Warnings
from steelyard_old.results.verdict import Verdict
from steelyard_old.tally.design import COUNTABLE, settle_missing, take
from steelyard_old.tally.sample import Sample

FAR = 20  # times: percent are a hundred times fractions, ratings up to 10 are not


def guard_source(
    source: Any,
    place: ReferenceLocation,
    guarded: Guarded,
    rule: GuardRule,
    warnings: Warnings,
    columns: Mapping[str, Any],
    *,
    unmatched: str,
    missing: str,
    draws: int,
    seed: int,
    named: bool = False,
    directed: bool = False,
    slices: SliceRequest | None = None,
) -> Verdict:
    """The verdict on a run. named, directed: the metric, or which way is better, was asked for, whatever the log says.

    slices: which of them to judge beside the whole; those on record count, whatever the run says of them.
    """
    entry = guarded.entry
    if entry.sums is not None or place.defaults.ratio is not None:
        columns = {**columns, "ratio": settle_ratio(columns.get("ratio"), entry, place.defaults, warnings)}
    recorded = None
    if rule.threshold is None:
        entry, recorded = with_outcomes(place, entry)
    if recorded is None:
        why = "the reference has an explicit threshold" if rule.threshold is not None else "the reference is a single number without items"
        refuse_slices(slices, warnings, why, "record a run with its items")
        slices = None
    lacking = () if slices is None or recorded is None else tuple(column for column in slices.by if column not in recorded.slices)
    on_record = () if slices is None else tuple(column for column in slices.by if column not in lacking)
    run, there = read_sliced(
        source, columns, lacking, rule.metric, warnings, asked=slices is not None and slices.asked, on_record=on_record
    )
    slices = slices if there else None
    refuse_unfinished([run.log], missing)
    refuse_alike([run.log], "check")
    if not named:
        check_log_metric([run.log], rule.metric, on_record=entry.metric is not None)
    if not directed and entry.higher_is_better is None and place.defaults.higher_is_better is None:
        _refuse_other_direction(run, rule)
    metric = metric_of(rule.metric, run.items, rule.range)
    if metric.right_or_wrong and run.items.score is not None and run.items.truth is not None:
        warn_disagreement(run.items, warnings)
    warn_unused_positive(rule.positive, warnings, labelled=run.items.truth is not None)
    rule = replace(rule, positive=own_positive([run.log], [metric], rule.positive))
    if recorded is not None:
        past = SystemItems("reference", outcomes.to_items(recorded))
        original, run = run, with_hashed_ids(run, recorded.hashed)
        if unmatched == "drop":
            run, past = _without_edited(run, past, recorded, warnings)
        refuse_other_contents(run, recorded)
        names = {outcomes.hash_id(name): name for name in original.items.id.names} if recorded.hashed and original.items.id else {}
        now = _without_weightless(like_reference(run.items, past.items, metric))
        scale, unit = scale_of(rule, metric, [past.items, now], entry)
        _refuse_new_weights(now, past.items)
        judged = judge_items(
            SystemItems("reference", past.items),
            SystemItems(run.name, now),
            metric,
            rule,
            warnings,
            unit=unit,
            unmatched=unmatched,
            missing=missing,
            draws=draws,
            seed=seed,
            deterministic=bool(entry.deterministic),
            per="" if columns.get("ratio") is None else ratio_columns(columns["ratio"])[1],
        )
        found = guard_items(judged, replace(guarded, entry=entry, scale=scale, items=len(recorded.keys)))
        if slices is not None:
            found = with_slices(found, judged, slices)
        _warn_of_edited_value(found, entry, warnings)
        told = [replace(item, id=names.get(item.id, item.id)) for item in found.changed_items]
        return replace(found, changed_items=with_context(told, None, original.source))
    if rule.target == "runs":
        raise UsageError(
            "target='runs' needs a reference with the outcomes of its items, several runs of each; this one is a single number.",
            got="a reference that is a single number",
            need="one with the outcomes of its items, several runs of each",
            hint="record runs with their items, or use target='items'",
        )
    scale, unit = scale_of(rule, metric, [run.items], entry)
    new = _number(run, metric, unit, missing, entry, rule, warnings)
    guard = guard_floor if rule.threshold is not None else guard_number
    return guard(new, replace(guarded, entry=entry, scale=scale), rule, warnings)


def _refuse_other_direction(run: SystemItems, rule: GuardRule) -> None:
    """A log that says that lower is better is not judged by a reference that takes higher for better because nobody said so."""
    if rule.higher_is_better and own_direction([run.log], metric_of(rule.metric, run.items, rule.range)) is False:
        raise DataError(
            f"In the log lower is better, but the reference of {rule.metric} does not say so.",
            got=f"a log in which lower is better, and a reference of {rule.metric} that does not say so",
            need="one of them",
            hint="higher_is_better: false in the entry, or higher_is_better = false in [tasks.NAME] of steelyard.toml",
        )


def _warn_of_edited_value(found: Verdict, entry: Entry, warnings: Warnings) -> None:
    """The items decide; a value beside them that they do not give was written by hand."""
    reference = found.reference.estimate
    if entry.value is None or reference is None or found.n != found.reference.n:
        return
    if not math.isclose(entry.value, reference, rel_tol=1e-9, abs_tol=1e-9):
        given = f"the value on record, {entry.value:g}, is not what its items give, {reference:.6g}"
        warnings.add(f"{given}: the items decide")


def read_run(source: Any, columns: Mapping[str, Any], metric: str | None, warnings: Warnings) -> SystemItems:
    """The items of a run and its name."""
    given = {role: column for role, column in columns.items() if column is not None}
    if "ratio" in given:
        given["ratio"] = ratio_columns(given["ratio"])
    opened = source if isinstance(source, Source) else open_source(source, columns=given)
    warnings.extend(opened.warnings)
    name = opened.name or (os.path.basename(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else "run")
    known = None if metric is None else find(metric)
    return SystemItems(name, opened.items(numeric=known is not None and known.numeric), opened.log, opened)


def read_sliced(
    source: Any,
    columns: Mapping[str, Any],
    by: tuple[str, ...],
    metric: str | None,
    warnings: Warnings,
    *,
    asked: bool,
    on_record: tuple[str, ...] = (),
) -> tuple[SystemItems, bool]:
    """The run with its slice columns, and whether it has them. Where only the configuration asks for them, their absence is a warning.

    on_record: slices that the reference knows. The run may say them too, and is then held to them.
    """
    if on_record:
        said = Warnings()
        try:
            run = read_run(source, {**columns, "by": (*by, *on_record)}, metric, said)
        except UsageError:
            return read_sliced(source, columns, by, metric, warnings, asked=asked)
        warnings.extend(said)
        _refuse_answers(run, by)
        own = {OF_RUN.format(name) if name in on_record else name: labels for name, labels in run.items.slices.items()}
        return replace(run, items=replace(run.items, slices=own)), True
    if not by:
        return read_run(source, columns, metric, warnings), True
    said = Warnings()
    try:
        run = read_run(source, {**columns, "by": by}, metric, said)
    except UsageError as fault:
        if asked:
            raise
        warnings.add(f"not sliced by {' and '.join(by)}, as the configuration asks: {fault.sentence}")
        return read_run(source, columns, metric, warnings), False
    warnings.extend(said)
    _refuse_answers(run, by)
    return run, True


def _refuse_answers(run: SystemItems, by: tuple[str, ...]) -> None:
    """What was answered cannot tell slices apart: all losses would lie in one of them, whatever has changed."""
    if run.source is None:
        return
    answers = {column for role, column in run.source.roles.items() if role != "truth" and ROLES[role].answer}
    if found := [column for column in by if column in {*answers, *(run.source.ratio or ())}]:
        raise UsageError(
            f"by={found[0]!r} is what the run is judged by; slices have to be known before the answers.",
            got=f"by={found[0]!r}",
            need="a column that says what is asked, such as a language or a topic",
        )


def metric_of(name: str, items: Items, ends: tuple[float, float] | None = None) -> Metric:
    """The metric by name; a name that only the suite knows is the ratio of the run's sums (wer, acceptance_rate), or the mean of its
    scores (rouge1). ends: of their range.
    """
    try:
        metric = parse(name)
    except SteelyardError:
        if (items.ratio is None and items.score is None) or not is_metric(name):
            raise
        return usual({"score"} if items.ratio is None else {"ratio"})[0]
    right = items.score is None or items.truth is not None or bool(np.isin(items.score[~np.isnan(items.score)], (0.0, 1.0)).all())
    scored = items.score is not None and items.truth is None and ends not in (None, (0.0, 1.0))  # then 0 and 1 are scores as others
    if metric.averages_scores and (scored or not right):
        return usual({"score"})[0]  # "accuracy" is also what the original calls any score
    return metric


def scores_by_item(
    sources: Sequence[Any],
    columns: Mapping[str, Any],
    name: str,
    *,
    missing: str = "error",
    ends: tuple[float, float] | None = None,
    higher_is_better: bool | None = None,
) -> dict[str, float] | None:
    """One number per item, the mean over its repeats and over the sources.

    An item without an answer is left out of it, unless it counted as wrong: then it has what it counted as, by the range of the scores
    (ends) and by the direction of the metric. None where items have no ids, or no number of their own.
    """
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for source in sources:
        items = read_run(source, columns, name, Warnings()).items
        ids = items.id
        if ids is None or items.count is not None:
            return None
        metric = metric_of(name, items, ends)
        if missing == "wrong":
            up = None if higher_is_better is None else metric.scores_up(higher_is_better)
            items = settle_missing(items, missing, ends=metric.range_of_scores(ends), higher_is_better=up, needed=COUNTABLE)[0]
        values = item_values(items, metric)
        if values is None:
            return None
        known = ~np.isnan(values) & (ids.codes >= 0)
        total = np.bincount(ids.codes[known], weights=values[known], minlength=len(ids.names))
        times = np.bincount(ids.codes[known], minlength=len(ids.names))
        for code in np.flatnonzero(times):
            id_ = ids.names[int(code)]
            sums[id_] = sums.get(id_, 0.0) + float(total[code])
            counts[id_] = counts.get(id_, 0) + int(times[code])
    return {id_: sums[id_] / counts[id_] for id_ in sums} or None


def scale_of(rule: GuardRule, metric: Metric, runs: list[Items], entry: Entry) -> tuple[str, float]:
    """The scale, and what turns the metric's own number into it."""
    within = within_unit(metric, runs)
    if rule.scale is None:
        if within and entry.value is not None and abs(entry.value) > 1 and not all(_largest(one) == 0 for one in runs):
            raise DataError(
                f"The reference is {entry.value:g}, but the scores lie within 0 and 1; the scale is not declared.",
                got=f"a reference of {entry.value:g} and scores within 0 and 1",
                need="a declared scale",
                hint='scale = "percent" in [tasks.NAME] of steelyard.toml, or scale="percent"',
            )
        return ("fraction" if within else "raw"), 1.0
    if _mixed(rule.scale, metric, runs) or (rule.scale == "fraction" and not within):
        raise DataError(
            f"A score of {_outermost(runs):.12g} does not fit a reference in scale {rule.scale}.",
            got=f"a score of {_outermost(runs):.12g}, where the reference is in scale {rule.scale}",
            need="scores in the range of those on record",
            hint="percent and fraction may have been mixed up; if scores can lie beyond 0 and 1, record them with scale='raw'",
        )
    return rule.scale, 100.0 if rule.scale == "percent" and (within or ratio_has_percent(metric)) else 1.0


def _mixed(scale: str, metric: Metric, runs: list[Items]) -> bool:
    """Whether one run has fractions where the other has more. Nothing but zeros is 0 in every scale; ratings that fell to 1 are ratings."""
    sides = [within_unit(metric, [one]) for one in runs]
    low = [_largest(one) or 0.0 for one, within in zip(runs, sides, strict=True) if within]
    high = [_largest(one) or 0.0 for one, within in zip(runs, sides, strict=True) if not within]
    if not low or not high or max(low) == 0:
        return False
    return scale != "raw" or max(high) > FAR * max(low)


def _outermost(runs: list[Items]) -> float:
    """The score that lies farthest from the range of fractions."""
    known = [one.score[~np.isnan(one.score)] for one in runs if one.score is not None]
    ends = [float(end(scores)) for scores in known if len(scores) for end in (np.min, np.max)]
    return max(ends, key=lambda score: abs(score - 0.5), default=0.0)


def _largest(items: Items) -> float | None:
    """The largest score, without its sign; None without scores."""
    known = None if items.score is None else items.score[~np.isnan(items.score)]
    return None if known is None or not len(known) else float(np.abs(known).max())


def within_unit(metric: Metric, runs: list[Items]) -> bool:
    """Whether the metric's own numbers lie between 0 and 1 (or -1 and 1)."""
    scores = [run.score for run in runs if run.score is not None]
    return metric.high == 1.0 or (metric.scored and all(bool(((s >= 0) & (s <= 1) | np.isnan(s)).all()) for s in scores))


def ratio_has_percent(metric: Metric) -> bool:
    """Whether a percentage of the metric is a hundred times its own number, though that may exceed 1: word errors per word."""
    return metric.of_ratio and metric.proportional


def with_hashed_ids(run: SystemItems, hashed: bool) -> SystemItems:
    """The run's ids as the reference keeps them."""
    return SystemItems(run.name, outcomes.hash_ids(run.items)) if hashed and run.items.id is not None else run


def refuse_other_contents(run: SystemItems, recorded: outcomes.Outcomes) -> None:
    """Items whose content has changed since they were recorded are other items."""
    if run.items.id is None:
        return  # the pairing says so
    if changed := outcomes.changed_contents(run.items, recorded):
        raise SourceError(
            f"{len(changed)} {'item has' if len(changed) == 1 else 'items have'} another truth or content than was recorded, such "
            f"as {changed[0]!r}.",
            got=f"{len(changed)} item(s) whose truth or content differs from what was recorded, such as {changed[0]!r}",
            need="the same items",
            hint="if the data set has changed, record a new reference with update=True and a reason",
        )


def _without_edited(
    run: SystemItems, past: SystemItems, recorded: outcomes.Outcomes, warnings: Warnings
) -> tuple[SystemItems, SystemItems]:
    """An item that says something else than on record is another item: where items without a partner are left out, it is on both sides."""
    changed = [] if run.items.id is None else outcomes.changed_contents(run.items, recorded)
    if not changed or run.items.id is None:
        return run, past
    if len(changed) == len(run.items.id.names):
        raise DataError(
            f"Every one of the {len(changed):,} items has another truth or content than was recorded, such as {changed[0]!r}.",
            got=f"{len(changed):,} items, all with another truth or content than on record",
            need="items that are on record",
            hint="record a reference of these items",
        )
    warnings.add(
        f"{len(changed):,} {'item has' if len(changed) == 1 else 'items have'} another truth or content than was recorded, such as "
        f"{changed[0]!r}: left out (unmatched='drop')"
    )
    return _without(run, changed), _without(past, changed)


def _without(run: SystemItems, names: Sequence[str]) -> SystemItems:
    assert run.items.id is not None
    gone = np.append(np.isin(np.asarray(list(run.items.id.names), object), names), False)[run.items.id.codes]
    return SystemItems(run.name, take(run.items, ~gone), run.log, run.source)


def _without_weightless(items: Items) -> Items:
    """Items of weight 0 are left out, as `record` leaves them out."""
    if items.weight is None or bool((items.weight != 0).all()):
        return items
    return take(items, items.weight != 0)


def _refuse_new_weights(run: Items, past: Items) -> None:
    """Weights on record are the items' own and count for both sides; a run cannot bring them to a reference without any."""
    if run.weight is not None and past.weight is None:
        raise UsageError(
            "The run has weights, but the reference was recorded without any.",
            got="a weight column of the run alone",
            need="a reference recorded with the same weights",
            hint="leave weight= out, or record a reference with weight=",
        )


def _columns_of(items: Items) -> set[str]:
    return {name for name in ("truth", "prediction", "score", "probability", "ratio") if getattr(items, name) is not None}


def like_reference(items: Items, past: Items, metric: Metric) -> Items:
    """The run with only the columns that the recorded items have, so that both are read alike.

    Beside labels, a score that is not 0 or 1 (a confidence, an overlap) says nothing of right and wrong, as when it was recorded.
    """
    labelled = items.truth is not None and items.prediction is not None
    if metric.right_or_wrong and labelled and items.score is not None and not scores_decide(items):
        items = replace(items, score=None)
    keep = _columns_of(past)
    lacking = keep - _columns_of(items)
    if lacking == {"score"} and metric.right_or_wrong and labelled:
        return replace(items, probability=None)  # labels against recorded right or wrong: accuracy needs no more
    if lacking:
        raise DataError(
            f"The run has no {' and no '.join(sorted(lacking))}, which the reference holds.",
            got=f"a run without {' and '.join(sorted(lacking))}",
            need=f"what the reference holds: {', '.join(sorted(keep))}",
            hint=" ".join("ratio=ABOVE/BELOW" if name == "ratio" else f"{name}=COLUMN" for name in sorted(lacking)),
        )
    dropped: dict[str, Any] = {name: None for name in ("prediction", "score", "probability", "ratio") if name not in keep}
    if "truth" not in keep:
        dropped["truth"] = None
    return replace(items, **dropped)


def _number(
    run: SystemItems, metric: Metric, unit: float, missing: str, entry: Entry, rule: GuardRule, warnings: Warnings
) -> CandidateScore:
    """The run as one number with its spread."""
    ends = metric.range_of_scores(rule.range)
    settings = settle(missing=missing, positive=rule.positive, range=ends, higher_is_better=metric.scores_up(rule.higher_is_better))
    sample = Sample(run.items, settings, warnings, counted=False)
    rows = rows_of_sample([metric], sample, settings, warnings)
    if len(rows) != 1 or rows[0].estimate is None:
        raise DataError(f"The run has no single value of {metric.name}.", got=f"no single value of {metric.name}", need="one number")
    row = rows[0]
    score = sample.items.score
    effect = row.details.design_effect
    if sample.items.weight is not None:  # unequal weights: as if there were fewer items
        effect = float(len(sample.items.weight) * (sample.items.weight @ sample.items.weight) / sample.items.weight.sum() ** 2)
    pinned = entry.items_hash is not None and run.items.id is not None
    same = pinned and outcomes.items_alone(run.items).items_hash == entry.items_hash
    return CandidateScore(
        value=float(row.estimate or 0.0) * unit,
        n=sample.n,
        sd=None if score is None or not metric.scored or len(score) < 2 else float(np.std(score, ddof=1)) * unit,
        right_or_wrong=metric.right_or_wrong,
        design_effect=float(effect) if isinstance(effect, (int, float)) else 1.0,
        same_items=same,
        runs=row.details.repeats or 1,
    )
