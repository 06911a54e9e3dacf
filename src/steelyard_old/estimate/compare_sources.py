"""From two sources to a comparison: read both, meet once, count the pairs, ask the right family."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard_old.errors import AmbiguityError, DataError, SourceError, SteelyardError, UsageError
from steelyard_old.estimate.changed_items import TOLD, changed_items, item_values, with_context, write_flips
from steelyard_old.estimate.evidence import concluded_again, finish
from steelyard_old.estimate.opening import (
    SystemItems,
    check_names,
    check_used,
    default_metric,
    own_direction,
    own_positive,
    paired,
    refuse_fractions,
    refuse_unfinished,
    settled,
    subset,
    warn_disagreement,
)
from steelyard_old.estimate.pair_evidence import joint_evidence, pair_evidence, scores_decide, unpaired_evidence
from steelyard_old.estimate.paired_units import compare_units
from steelyard_old.estimate.rows import DEALT
from steelyard_old.infer.multiplicity import adjust, fisher_combined
from steelyard_old.infer.paired.signflip import sign_flip
from steelyard_old.items import Items
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import usual
from steelyard_old.metrics.sums import QUOTIENT
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.option import ratio_columns
from steelyard_old.read.columns import as_column
from steelyard_old.read.engines.join import meet, need_ids, right_or_wrong
from steelyard_old.read.engines.tables import TRAVELLERS, SqlTable
from steelyard_old.read.engines.units import paired_unit_sums
from steelyard_old.read.logs.log import PARAMETERS, SeveralError
from steelyard_old.read.open_source import open_source
from steelyard_old.read.roles import LOG_CHOICES, option
from steelyard_old.read.source import Source
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import ComparedSlice, Comparison, Leaderboard
from steelyard_old.tally.counts import OF_OUTCOMES
from steelyard_old.tally.design import take
from steelyard_old.tally.pairs import Pairs, settle_pairing
from steelyard_old.tally.spelling import label_order, slice_look_alike_warnings

SYSTEMS = ("model", "prompt")  # what tells two systems of one log apart; a task or a score is another question


def varied_choice(given: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """The one choice that has several values, and these; None if every choice has one."""
    several = {what: list(given[what]) for what in LOG_CHOICES if isinstance(given.get(what), (list, tuple))}
    if not several:
        return None
    if len(several) > 1:
        got = " and ".join(f"{len(values)} of {option(what)}" for what, values in several.items())
        raise UsageError(
            f"Only one choice may have several values, but got {got}.",
            got=got,
            need="several values of one choice",
            hint="leave one value of the other",
        )
    what, values = next(iter(several.items()))
    if len(values) < 2 or not all(isinstance(value, str) for value in values):
        raise UsageError(f"cannot use {option(what)}", got=repr(values), need="two names or more: baseline, candidate")
    if len(set(values)) < len(values):
        raise UsageError(
            f"The same name twice in {option(what)}: {', '.join(map(repr, values))}.",
            got=", ".join(map(repr, values)),
            need="each name once",
        )
    return what, values


def opened_systems(
    data: Sequence[Any], what: str, values: Sequence[str], given: Mapping[str, Any], opened: Callable[[Any, Mapping[str, Any]], Source]
) -> list[Source]:
    """A source per value: of the one log, or of as many logs, in order."""
    if len(data) not in (1, len(values)):
        got = f"{len(data)} sources and {len(values)} of {option(what)}"
        raise UsageError(
            f"The number of sources does not fit: got {got}.",
            got=got,
            need="one source, or as many sources as values",
            hint="give one source, or as many sources as values",
        )
    places = list(data) * len(values) if len(data) == 1 else list(data)
    sources = [opened(one, {**given, what: value}) for one, value in zip(places, values, strict=True)]
    for source, value in zip(sources, values, strict=True):
        if source.log is not None and len(data) == 1:
            source.name = source.log.chosen.get(LOG_CHOICES[what], value)
    return sources


def name_two(mistake: SeveralError) -> AmbiguityError:
    """A log that is compared alone: not which of its systems is meant, but which two."""
    if mistake.choice not in SYSTEMS:
        return mistake
    pair = f"{PARAMETERS[mistake.choice]}={[*mistake.found[:2]]!r}"
    hint = f"{pair} makes the first the baseline"
    return AmbiguityError(
        f"The log has several {mistake.choice}s ({mistake.got}); name the two to compare with {PARAMETERS[mistake.choice]}=.",
        got=mistake.got,
        need="two",
        hint=hint,
    )


def over_tasks(tasks: list[Pairs], metric: Metric, asked: CompareOptions, by: str) -> dict[str, Any]:
    """Both answers for the values of one column as tasks, every task weighing the same.

    The pooled test flips the signs of items whose difference is divided by the size of their task, so that it tests the
    mean over tasks. Fisher combines the one-sided p-values of "the candidate is better", which must be independent.
    """
    better = "greater" if metric.better_high(asked.own.higher_is_better) else "less"
    out: dict[str, Any] = {"by": by, "tasks": len(tasks), "alternative": better}
    p_values = [_one_sided(task, metric, asked, better) for task in tasks]
    known = [p for p in p_values if p is not None]
    if len(known) == len(tasks):
        statistic, p = fisher_combined(known)
        out["fisher"] = {"statistic": statistic, "p_value": p}
    pooled = _pooled(tasks, metric)
    if pooled is not None:
        found = sign_flip(pooled, alternative=asked.alternative, draws=asked.own.draws, seed=asked.own.seed)
        out["pooled_sign_flip"] = {
            "mean_difference": float(pooled.sum() / len(tasks)),
            "alternative": asked.alternative,
            "p_value": found.p_value,
            "exact": found.exact,
        }
    return out


def _pooled(tasks: list[Pairs], metric: Metric) -> Any:
    """Every item's difference over the size of its task; None where items have no number of their own."""
    if any(not task.plain or task.baseline.group is not None for task in tasks):
        return None
    sides = [(item_values(task.baseline, metric), item_values(task.candidate, metric)) for task in tasks]
    if any(a is None or b is None for a, b in sides) or not metric.mean_of_items:
        return None
    of = metric.of_right
    return np.concatenate([(of(b) - of(a)) / task.items for (a, b), task in zip(sides, tasks, strict=True)])


def _one_sided(task: Pairs, metric: Metric, asked: CompareOptions, alternative: str) -> float | None:
    try:
        return pair_evidence(task, metric, replace(asked, alternative=alternative, margin=None), Warnings()).test.p_value
    except DataError:
        return None


def compare_sources(
    data: Sequence[Any],
    metric: Metric | None,
    asked: CompareOptions,
    warnings: Warnings,
    by: tuple[str, ...],
    ratio: str | Sequence[str] | None,
    columns: Mapping[str, Any],
    names: Sequence[str] | None,
    flips_out: Any,
    many: bool | None,
) -> Comparison | Leaderboard:
    """Two runs: a comparison. Three or more: a leaderboard. many: which of the two was asked for; None: whichever it is."""
    given = {role: value for role, value in columns.items() if value is not None}
    if ratio is not None:
        given["ratio"] = ratio_columns(ratio)
        asked = replace(asked, per=given["ratio"][1])
    if isinstance(given.get("truth"), (list, np.ndarray)):
        given["truth"] = as_column("truth", given["truth"])  # one column for all systems, encoded once
    data = [d for d in data if d is not None]
    apart = varied_choice(given)
    if apart is not None:
        data = opened_systems(data, *apart, given, lambda one, choice: _open(one, choice, by))
    if names is not None:
        check_names(names, len(data))
    if len(data) > 2:
        _refuse_other(len(data), many)
    guess = metric or (usual({"ratio"})[0] if ratio is not None else None)
    if len(data) == 2 and not many and not by and ratio is None and flips_out is None:
        data = [_open(one, given, by) for one in data]
        known = {role for one in data for role in one.roles}
        about = [guess] if guess is not None else [] if "score" in known else usual({"truth", "prediction"})
        check_used(asked.own, about, warnings, labelled="truth" in known, scored="score" in known)
        if (found := compare_large(data[0], data[1], guess, asked, warnings, names)) is not None:
            return found
    runs = _runs(data, guess, asked, warnings, by, given, names)
    _refuse_other(len(runs), many)
    refuse_unfinished([run.log for run in runs], asked.own.missing)
    chosen = guess or default_metric(runs, right_or_wrong=asked.own.range in OF_OUTCOMES)
    labelled, scored = (any(getattr(run.items, role) is not None for run in runs) for role in ("truth", "score"))
    check_used(asked.own, [chosen], warnings, labelled=labelled, scored=scored)
    asked = replace(asked, own=replace(asked.own, positive=own_positive([run.log for run in runs], [chosen], asked.own.positive)))
    asked = _of_logs(runs, chosen, asked, warnings, {"model"} if apart is None else {"model", LOG_CHOICES[apart[0]]})
    scored = chosen.right_or_wrong and asked.own.range in OF_OUTCOMES and all(run.items.score is not None for run in runs)
    if scored and all(scores_decide(run.items) for run in runs):
        for run in runs:
            warn_disagreement(run.items, warnings, f"{run.name}: ")
    if flips_out is not None and (len(runs) > 2 or asked.design == "unpaired"):
        raise UsageError("flips_out= needs two systems on the same items.", got="flips_out=", need="two systems on the same items")
    if len(runs) > 2:
        from steelyard_old.estimate.board import leaderboard

        return leaderboard(runs, chosen, asked, warnings, by)
    return compare_runs(runs[0], runs[1], chosen, asked, warnings, by, flips_out)


def _refuse_other(systems: int, many: bool | None) -> None:
    """compare answers about two systems, rank about more: each has one kind of answer."""
    if many is False and systems > 2:
        raise UsageError(
            f"compare takes two systems, got {systems}.", got="three or more", need="two", hint="use sy.rank for three or more"
        )
    if many is True and systems < 3:
        raise UsageError(f"rank takes three or more systems, got {systems}.", got="two", need="three or more", hint="use compare for two")


def _of_logs(runs: Sequence[SystemItems], metric: Metric, asked: CompareOptions, warnings: Warnings, apart: set[str]) -> CompareOptions:
    """What the logs say besides their scores: facts that must agree but for what is compared, and which way their scores are good."""
    logs = [run.log for run in runs]
    if any(log is None for log in logs):
        return asked
    for kind in ("checks", "chosen"):
        told = [getattr(log, kind) for log in logs]
        for name in sorted(set.intersection(*(set(facts) for facts in told)) - apart):
            values = list(dict.fromkeys(facts[name] for facts in told))
            if len(values) > 1:
                warnings.add(
                    f"the logs differ in {name}: {values[0]} and {values[1]}; the difference may come from the protocol, not the systems"
                )
    known = None if asked.own.higher_is_better is not None else own_direction(logs, metric)
    return asked if known is None else replace(asked, own=replace(asked.own, higher_is_better=known))


def compare_runs(
    baseline: SystemItems,
    candidate: SystemItems,
    metric: Metric,
    asked: CompareOptions,
    warnings: Warnings,
    by: tuple[str, ...] = (),
    flips_out: Any = None,
) -> Comparison:
    """Two runs, paired unless the user says that the items differ."""
    names = baseline.name, candidate.name
    if asked.design == "unpaired":
        if by:
            raise UsageError(f"by={by[0]!r} needs paired items; this comparison is unpaired.", got=f"by={by[0]!r}", need="paired items")
        runs = [settled(run, asked, warnings, (baseline, candidate)) for run in (baseline, candidate)]
        return finish(unpaired_evidence(runs[0], runs[1], metric, asked, warnings), metric, asked, warnings, names)
    pairs, unmatched = paired(baseline, candidate, asked, warnings)
    found = pair_evidence(pairs, metric, asked, warnings)
    changed = with_context(changed_items(pairs, metric, TOLD), baseline.source, candidate.source)
    if flips_out is not None:
        write_flips(flips_out, pairs, metric)
    if candidate.log is not None and candidate.log.chosen:
        found.note(log=dict(candidate.log.chosen))
    slices, tasks = _slices(pairs, metric, asked, warnings, by, names)
    if tasks:
        found.note(over_tasks=tuple(tasks))
    return finish(found, metric, asked, warnings, names, changed_items=changed, unmatched=unmatched, slices=slices)


def _runs(
    data: Sequence[Any],
    metric: Metric | None,
    asked: CompareOptions,
    warnings: Warnings,
    by: tuple[str, ...],
    given: Mapping[str, Any],
    names: Sequence[str] | None,
) -> list[SystemItems]:
    """Every run, named: by the caller, by its source, or by its place."""
    if len(data) == 1:
        return _split_models(data[0], metric, warnings, by, given, names)
    sources, read = [], []
    for one in data:
        sources.append(_open(one, given, by))
        if asked.design != "unpaired" and isinstance(sources[-1].table, SqlTable):
            need_ids(sources[-1])  # rows of a database come in no order that could pair them
        warnings.extend(sources[-1].warnings)
        read.append(_read(sources[-1], metric))
    named = run_names(sources, names)
    return [SystemItems(name, items, source.log, source) for name, items, source in zip(named, read, sources, strict=True)]


def _open(data: Any, given: Mapping[str, Any], by: tuple[str, ...]) -> Source:
    """A source; arrays of predictions or scores take their truth from truth=."""
    if isinstance(data, Source):
        return data
    columns = {**given, **({"by": by} if by else {})}
    truth = columns.get("truth")
    if truth is not None and not isinstance(truth, str):
        return open_source(truth, data, columns={role: value for role, value in columns.items() if role != "truth"})
    return open_source(data, columns=columns).read()  # of two files that cannot be read, the first is named


def _read(source: Source, metric: Metric | None) -> Items:
    """The items, with every column that the metric reads; without a metric, whatever there is."""
    if metric is None:
        return source.items()
    numeric = metric.numeric
    missing = [need for need in metric.needs if need not in source.roles and not (need == "ratio" and source.ratio)]
    if missing and not (metric.scored and "score" in source.roles):
        raise DataError(
            f"Comparing {metric.name} needs {' and '.join(f'a {need} column' for need in missing)}; the columns are "
            f"{', '.join(map(repr, source.columns))}.",
            got=f"columns {', '.join(map(repr, source.columns))}",
            need=" and ".join(f"a {need} column" for need in missing),
            hint=" ".join(f"{need}=NAME" if need != "ratio" else "ratio=ABOVE/BELOW" for need in missing),
        )
    return source.items(numeric=numeric)


def _split_models(
    data: Any,
    metric: Metric | None,
    warnings: Warnings,
    by: tuple[str, ...],
    given: Mapping[str, Any],
    names: Sequence[str] | None,
) -> list[SystemItems]:
    """One long source with a model column: a run per model."""
    column = given.get("model", "model")
    try:
        source = open_source(data, columns={**given, "by": (*by, column)})
    except SeveralError as mistake:
        raise name_two(mistake) from None
    except SteelyardError as mistake:
        if "model" in given or not isinstance(mistake, (UsageError, SourceError)) or "model" not in str(mistake):
            raise
        raise UsageError(
            "One source without a model column cannot be compared with itself.",
            got="one source without a model column",
            need="two sources, a model column, or a log of several models or prompts",
            hint="give two sources, or name the model column with model=NAME, or the models of a log with log_model=['A', 'B']",
        ) from mistake
    warnings.extend(source.warnings)
    items = _read(source, metric)
    models = items.slices[column] if column in items.slices else items.slices[source.by[-1]]
    found = label_order(models.names[i] for i in np.unique(models.codes) if i >= 0)
    if len(found) < 2:
        raise UsageError(
            f"A comparison needs two models; column {column!r} has {'only ' + ', '.join(map(repr, found)) if found else 'none'}.",
            got=f"only {', '.join(map(repr, found)) or 'no model'} in column {column!r}",
            need="two or more models",
        )
    if names is not None:
        strange = [name for name in names if name not in found]
        if strange:
            raise UsageError(
                f"No model {strange[0]!r}; the models are {', '.join(map(repr, found))}.",
                got=f"{strange[0]!r}",
                need=f"one of {', '.join(map(repr, found))}",
            )
        found = tuple(names)
    elif len(found) == 2:
        raise AmbiguityError(
            f"Which model is the baseline, {found[0]!r} or {found[1]!r}?",
            got=f"{found[0]!r} and {found[1]!r}",
            need="their order",
            hint=f"names={[*found[:2]]!r} makes the first the baseline",
        )
    split = {name: take(items, models.codes == models.names.index(name)) for name in found}
    return [
        SystemItems(name, replace(run, slices={c: v for c, v in run.slices.items() if c in by}), source=source)
        for name, run in split.items()
    ]


def _slices(
    pairs: Pairs, metric: Metric, asked: CompareOptions, warnings: Warnings, by: tuple[str, ...], names: tuple[str, str]
) -> tuple[tuple[ComparedSlice, ...], list[dict[str, Any]]]:
    """One comparison per value of each slice column, p-values of a column corrected together; and both tests over all values."""
    out: list[ComparedSlice] = []
    together: list[dict[str, Any]] = []
    for column in by:
        labels = pairs.baseline.slices[column]
        parts: list[ComparedSlice] = []
        tasks: list[Pairs] = []
        values = label_order(labels.names[i] for i in np.unique(labels.codes) if i >= 0)
        warnings.extend(slice_look_alike_warnings(column, values))
        for value in values:
            inside = labels.codes == labels.names.index(value)
            items = np.unique(pairs.baseline_item[inside])
            own = Warnings()
            part = subset(pairs, items)
            tasks.append(part)
            try:
                found = finish(pair_evidence(part, metric, asked, own), metric, asked, own, names)
            except DataError as reason:
                warnings.add(f"{column} = {value}: {reason.sentence}")
                found = None
            parts.append(ComparedSlice(by=column, value=value, comparison=found))
        out += corrected(parts, asked)
        if len(tasks) > 1:
            together.append(over_tasks(tasks, metric, asked, column))
    return tuple(out), together


def corrected(parts: Sequence[ComparedSlice], asked: CompareOptions) -> list[ComparedSlice]:
    """The slices of one column with their p-values corrected together, and sentences that speak of the corrected ones."""
    known = [p for part in parts if part.comparison is not None and (p := part.comparison.p_value) is not None]
    adjusted = iter(adjust(known, asked.correction))
    out = []
    for part in parts:
        inner = part.comparison
        p = None if inner is None or inner.p_value is None else next(adjusted)
        again = inner if inner is None or p is None else concluded_again(inner, p, asked)
        out.append(replace(part, comparison=again, p_adjusted=p))
    return out


LARGE = 200_000  # rows; below it, reading items costs less than a second


def compare_large(
    baseline: Source, candidate: Source, wanted: Metric | None, asked: CompareOptions, warnings: Warnings, names: Sequence[str] | None
) -> Comparison | None:
    """The comparison, or None if it must be made from items. Without a metric: accuracy, where the items would choose it too."""
    sources = baseline, candidate
    if asked.design == "unpaired":
        return None
    there = all(isinstance(source.table, SqlTable) for source in sources)  # tables of an engine, however small, are counted on it
    if not there and max(source.table.n for source in sources) <= LARGE:
        return None
    if asked.own.range not in OF_OUTCOMES and all("score" in source.roles for source in sources):
        return _compare_units(baseline, candidate, wanted, asked, warnings, names) if there else None
    metric = wanted or usual({"score"}, right_or_wrong=True)[0]
    scored = metric.scored and all("score" in source.roles for source in sources)
    if not scored and (not metric.of_labels or not _holds(sources, metric.needs)):
        return None
    met = meet(baseline, candidate, outcomes=metric.scored)
    if met is None:
        return _compare_units(baseline, candidate, wanted, asked, warnings, names) if there else None
    warnings.extend((*baseline.warnings, *candidate.warnings))
    if wanted is None and _holds(sources, ("truth", "prediction")):
        for truths in met.truths or map(_truths, sources):  # the join has seen them, unless it was one of scores
            refuse_fractions(truths)
    told = baseline.told_of_ids()
    if told or met.report.candidate_only:  # else the candidate has no id that the baseline has not
        told += candidate.told_of_ids()
    warnings.extend(told)
    warnings.extend(settle_pairing(met.report, asked.unmatched))
    found = joint_evidence(met.joint(asked.own.labels), metric, asked, warnings)
    called = run_names(sources, names)
    return finish(
        found,
        metric,
        asked,
        warnings,
        (called[0], called[1]),
        changed_items=with_context(met.changed_items, baseline, candidate),
        unmatched=met.report.to_dict(),
        slices=(),
    )


def _compare_units(
    a: Source, b: Source, wanted: Metric | None, asked: CompareOptions, warnings: Warnings, names: Sequence[str] | None
) -> Comparison | None:
    """Scores of more rows than may travel: sums by group, or by md5 bucket of the id; an item with repeats counts once."""
    if not _holds((a, b), ("score",)) or max(a.n, b.n) <= TRAVELLERS:
        return None
    binary = asked.own.range in OF_OUTCOMES and all(map(right_or_wrong, (a, b)))
    metric = wanted or usual({"score"}, right_or_wrong=binary)[0]
    if not metric.averages_scores or (metric.right_or_wrong and not binary):
        return None
    if wanted is None and not binary and _holds((a, b), ("truth", "prediction")):
        return None  # labels would decide
    if (dealt := paired_unit_sums(a, b)) is None:
        return None
    sums, kind, report = dealt
    warnings.extend((*a.warnings, *b.warnings, *settle_pairing(report, asked.unmatched)))
    grouped = sums.units == "groups"
    if asked.own.range is not None and not binary:
        warnings.add("range was not used: sums by group or bucket do not show where in it single scores lie")
    if kind == "buckets" and grouped:
        warnings.add(DEALT.format(sums.n))
    elif kind == "buckets":
        warnings.add(
            f"too many rows to move: {report.matched:,} items lie in {sums.n:,} buckets by the md5 of their ids, which are resampled"
        )
    found = compare_units(
        sums.dense[:, :2], sums.dense[:, 2:], QUOTIENT, report.matched, metric, asked, warnings, sizes=sums.sizes if grouped else None
    )
    called = run_names((a, b), names)
    return finish(found, metric, asked, warnings, (called[0], called[1]), unmatched=report.to_dict())


def run_names(sources: Sequence[Source], names: Sequence[str] | None) -> list[str]:
    """What to call the runs, each differently."""
    fallback = ["baseline", "candidate"] if len(sources) == 2 else [f"system {i + 1}" for i in range(len(sources))]
    found = [names[place] if names else source.name or fallback[place] for place, source in enumerate(sources)]
    return found if len(set(found)) == len(found) else [f"{name} ({word})" for name, word in zip(found, fallback, strict=True)]


def _holds(sources: Sequence[Source], roles: Sequence[str]) -> bool:
    return all(role in source.roles for source in sources for role in roles)


def _truths(source: Source) -> Collection[str]:
    return [str(truth) for truth, _ in source.tabulate(["truth"])]
