"""What a run comes to: rows and notes on disk, the measurement, and the verdict or the comparison."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.estimate.from_source import measure_source
from steelyard.estimate.guard.rates import watch_rates
from steelyard.estimate.guard.sequential import ENDED, PairedSeries, found_of, noted_look
from steelyard.estimate.guard.unfinished import unfinished
from steelyard.estimate.guard.verdict import written
from steelyard.evaluate.asking.summary import AnswerSummary
from steelyard.infer.sequential.confidence_sequence import ConfidenceSequence
from steelyard.metrics.catalogue import parse
from steelyard.options.measure import settle
from steelyard.questions.compare.compare import compare
from steelyard.questions.guard.check import check
from steelyard.questions.measure.measure import measure
from steelyard.questions.run.baseline import NOBODY, Baseline, comparable
from steelyard.questions.run.candidates import calls_of, judged_together
from steelyard.questions.run.session import LEVEL, NO_SCORE, RANGE_IN_TASK, WEIGHT, UntilDecided, UntilNarrow
from steelyard.read.open_source import open_source
from steelyard.read.source import Source
from steelyard.reference.run_notes import RunNotes, journal_path, rows_paths, write_run
from steelyard.results import signature
from steelyard.results.base import Warnings
from steelyard.results.comparison import Comparison
from steelyard.results.evaluation import Answered, Evaluation
from steelyard.results.measurement import Interval, Measurement, Row
from steelyard.results.verdict import Verdict
from steelyard.tally.design import unknown_worst, worst_score
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.evaluate.asking.asks import Model
    from steelyard.questions.run.session import RunSession

FloatArray = npt.NDArray[np.float64]
COUNTED = ("n", "answered", "unextracted", "truncated", "empty", "refused", "errors", "attempts")


def answered(
    held: RunSession,
    output: Path | None,
    *,
    spec: Mapping[str, Any] | None,
    directory: str | os.PathLike[str] | None,
    config: str | os.PathLike[str] | None,
) -> Evaluation:
    """The answer. Rows are written first: what was paid for is kept, whatever becomes of the question."""
    warnings = [*held.prepared.warnings, *(said for model in held.models for said in getattr(model, "warnings", ()))]
    told = [AnswerSummary.of(rows, price) for rows, price in zip(held.rows, held.wish.price, strict=True)]
    failed = sum(each.errors for each in told)
    silent = [each.n > 0 and each.errors == each.n for each in told]  # models without an answer: there is nothing to judge them by
    nothing = all(silent) or (any(silent) and held.limit is None)
    if failed and (held.wish.missing == "error" or (held.wish.missing == "drop" and nothing)):
        raise _failed(held, told, failed)
    paths = rows_paths(output, len(held.models))
    for place, path in enumerate(paths):
        if path is not None:
            write_run(path, held.rows[place], _notes(held, place, told[place]))
    if output is not None and not held.goes_on:
        journal_path(output).unlink(missing_ok=True)
    if failed and held.wish.missing == "wrong":
        _refuse_unknown_worst(held)
    where = {"directory": directory, "config": config}
    read = [_source(rows, held.prepared.scorer.sums) for rows in held.rows]
    several = held.bench is not None and held.bench.shared is not None
    together = judged_together(held, [_stopped(held, place, {}) for place in range(1, len(held.models))]) if several else None
    verdict = None if several else _verdict(held, read, spec, where, told)
    models = tuple(
        Answered(
            name=held.names[place],
            output=None if paths[place] is None else str(paths[place]),
            counts={**counts_of(told[place]), **({"wasted": held.asked.wasted} if held.asked is not None and not place else {})},
            usage=_usage(told[place]),
            asked_of=asked_of(held.models[place]),
            measurement=_measured(held, place, read[place]),
        )
        for place in range(len(held.models))
    )
    comparison = None
    if len(models) == 2 and not held.watches:
        found = compare(
            *read,
            metric=held.prepared.task.metric,
            missing=held.wish.missing,
            names=list(held.names),
            range=_range(held),
            higher_is_better=held.higher_is_better if held.prepared.quantity.direction_of_scores else None,
            prior_scale=held.wish.prior_scale,
        )
        comparison = found if isinstance(found, Comparison) else None
    return Evaluation(
        task=held.prepared.task.name,
        n=held.items,
        available=len(held.prepared.cases),
        repeats=held.wish.repeats,
        models=models,
        stopping=_stopping(held, verdict) if together is None else together.stopping,
        limit=None if held.limit is None else held.limit.to_dict(),
        verdict=verdict,
        candidates=together,
        comparison=comparison,
        conclusion=_conclusion(held, verdict) if together is None else calls_of(held).words,
        warnings=tuple(dict.fromkeys(warnings)),
        signature=_sign(held),
        missing=held.wish.missing,
    )


def counts_of(told: AnswerSummary) -> dict[str, int]:
    """How many of each kind; n is all that were asked."""
    return {**{name: getattr(told, name) for name in COUNTED}, "retries": told.retries}


def _usage(told: AnswerSummary) -> dict[str, Any]:
    return {"tokens_in": told.tokens_in, "tokens_out": told.tokens_out, "untold": told.untold, **(told.seconds or {}), "cost": told.cost}


def _failed(held: RunSession, told: Sequence[AnswerSummary], failed: int) -> DataError:
    asked = sum(each.n for each in told)
    kinds: dict[str, int] = {}
    for rows in held.rows:
        for row in rows:
            if row["error"] is not None:
                kinds[row["error"]] = kinds.get(row["error"], 0) + 1
    unscored = all(kind.startswith(NO_SCORE) for kind in kinds)  # the answers are there: asking again would not help
    shown = "; ".join(f"{many} x {kind}" for kind, many in sorted(kinds.items(), key=lambda one: -one[1])[:3])
    again = "change the pattern or the scorer: asking again would take as long" if unscored else "the same command asks only those again"
    return DataError(
        f"{failed:,} of {asked:,} items have no {'score' if unscored else 'answer'} ({shown}).",
        got=f"{failed:,} of {asked:,} failed ({shown})",
        need="a score for every item" if unscored else "an answer to every item",
        hint=again
        + ("; missing='drop' leaves them out" if held.wish.missing == "error" else "")
        + "; missing='wrong' counts them as wrong",
    )


def _refuse_unknown_worst(held: RunSession) -> None:
    """Scores beyond 0 and 1 without a declared range: what an item without an answer is worth has to be said in the task."""
    up = held.prepared.quantity.scores_up(held.higher_is_better)
    scores = [np.array([row["score"] for row in rows if row["score"] is not None], float) for rows in held.rows]
    if held.prepared.quantity.mean_of_scores and worst_score(scores, held.prepared.span, higher_is_better=up) is None:
        raise unknown_worst(higher_is_better=up, hint=RANGE_IN_TASK)


def _notes(held: RunSession, place: int, told: AnswerSummary) -> RunNotes:
    stopping: dict[str, Any] | None = None
    watch = held.watch_of(place)
    if isinstance(watch, UntilDecided):
        stopping = {"plan": watch.plan.to_dict(), "looked": watch.looked, "last": held.counted[place] == len(held.askable)}
        stopping["reference"] = None if len(held.models) > 1 or held.bench is None else held.bench.entry.items
        if held.bench is not None and held.bench.shared is not None:
            stopping["candidates"] = {"alpha": held.bench.shared, "names": list(held.names[1:])}
        if watch.plan.stopping is not None:
            stopping["rule"] = watch.rule.plan()
            stopping["looks"] = [noted_look(look) for look in watch.rule.looks]
    elif isinstance(watch, UntilNarrow):
        stopping = {"width": watch.width, "looked": watch.looked}
    if held.limit is not None and held.is_open(place):
        stopping = {**(stopping or {}), "ended": held.limit.to_dict()}
    if held.suite is not None:
        stopping = {**(stopping or {}), "suite": dict(held.suite)}
    return RunNotes(
        task=held.prepared.task.name,
        model=held.names[place],
        metric=held.prepared.task.metric,
        protocol=held.prepared.protocol,
        seed=held.prepared.task.seed,
        order=held.prepared.order if held.strata is None else "hash/k",
        n=held.counted[place],
        available=len(held.prepared.cases),
        repeats=held.wish.repeats,
        ratio=held.prepared.scorer.sums,
        range=None if (ends := _range(held)) is None else list(ends),
        counts=counts_of(told),
        stopping=stopping,
        steelyard=__version__,
        rule=dict(held.prepared.task.rule),
        asked_of=asked_of(held.models[place]),
    )


def asked_of(model: Model) -> dict[str, Any]:
    """What answered, in few words: two endpoints of one model's name differ in their base URL."""
    return {key: model.identity[key] for key in ("kind", "model", "base_url", "api", "name", "argv") if key in model.identity}


def _source(rows: Sequence[Mapping[str, Any]], sums: tuple[str, str] | None) -> Source:
    """The rows of one model, read once for all that is asked of them: the columns that are counted."""
    keep = ("id", "repeat", "truth", "prediction", "score", "group", WEIGHT, *(sums or ()))
    many = any(row["repeat"] != 1 for row in rows)
    plain = [{key: row[key] for key in keep if key in row and (key != "repeat" or many)} for row in rows]
    weighted = {"weight": WEIGHT} if rows and WEIGHT in rows[0] else {}
    return open_source(plain, columns={**weighted, **({} if sums is None else {"ratio": sums})})


# ---- measuring ---------------------------------------------------------------------------------------------------------


def _measured(held: RunSession, place: int, read: Source) -> Measurement | None:
    """The metric of a model. After a stop that depended on the answers, its interval is one that holds whenever one stops."""
    prepared = held.prepared
    missing = held.wish.missing
    more: dict[str, Any] = {"range": prepared.task.range} if prepared.task.range is not None else {}
    if prepared.quantity.direction_of_scores:
        more["higher_is_better"] = held.higher_is_better
    if prepared.scorer.sums is not None:
        return measure(read, metric=prepared.task.metric, missing=missing, **{name: more[name] for name in more if name != "range"})
    watch = held.watch_of(place)
    if watch is None:
        return measure(read, metric=prepared.task.metric, missing=missing, **more)
    outside = watch.outside if isinstance(watch, UntilDecided) else None
    ends = prepared.span
    interval: Interval | None = None
    if ends is not None and outside is None:
        if isinstance(watch, UntilNarrow):
            low, high = watch.interval  # the very one that was narrow enough
        else:
            found_scores = scores_by_item(held, place)
            if not found_scores:
                return None
            weights = {row["id"]: row.get(WEIGHT, 1.0) for row in held.rows[place]}
            worth = np.array([prepared.worth(score) for score in found_scores.values()])
            low, high = _interval(worth, np.array([weights[key] for key in found_scores]), ends)
        interval = Interval(low=low, high=high, confidence_level=LEVEL, side="two", method="betting-sequence")
    if outside is not None and "range" in more:
        more["range"] = _widened(more["range"], held.rows[place])
    settings = settle(missing=missing, **more)
    metrics = [parse(prepared.task.metric)]
    found = measure_source(read, None, metrics, settings, Warnings(), (), None, {}, finish=lambda row: _with_interval(row, interval))
    if interval is not None:
        return found
    why = "the range of scores is not known" if outside is None else outside.words
    said = f"no interval of the metric itself: the run stopped by its answers, and {why}"
    return replace(found, warnings=(*found.warnings, said))


def _widened(ends: tuple[float, float], rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """The range with the scores that lie outside it: there is no interval then, but an item may count as the worst score."""
    scores = [row["score"] for row in rows if row["score"] is not None]
    return min(ends[0], *scores), max(ends[1], *scores)


def _with_interval(row: Row, interval: Interval | None) -> Row:
    """The row with this interval instead of its own, and so without the fall-back of its own."""
    return replace(row, interval=interval, details=replace(row.details, instead_of=None))


def _interval(scores: FloatArray, weight: FloatArray, ends: tuple[float, float]) -> tuple[float, float]:
    """Of the mean over the pool, holding whenever one stops. What lies above the lower end is weighted: its mean is that of the pool."""
    reach = ends[0] + (ends[1] - ends[0]) * max(1.0, float(weight.max()))
    low, high = ConfidenceSequence((ends[0], reach), 1 - LEVEL).look(ends[0] + (scores - ends[0]) * weight)
    return low, min(high, ends[1])


def scores_by_item(held: RunSession, place: int) -> dict[str, float]:
    """The mean score of each item of a model over its repeats, in order."""
    by: dict[str, list[float]] = {}
    worst = held.worst
    for row in held.rows[place]:
        if row["score"] is not None or held.wish.missing == "wrong":
            by.setdefault(row["id"], []).append(worst if row["score"] is None else float(row["score"]))
    return {key: sum(scores) / len(scores) for key, scores in by.items()}


# ---- judging -----------------------------------------------------------------------------------------------------------


def _range(held: RunSession) -> tuple[float, float] | None:
    """Of the scores, where the task or its scorer says it and the metric is their mean."""
    return held.prepared.span if held.prepared.quantity.mean_of_scores else None


def _verdict(
    held: RunSession,
    read: Sequence[Source],
    spec: Mapping[str, Any] | None,
    where: Mapping[str, Any],
    told: Sequence[AnswerSummary],
) -> Verdict | None:
    bench = held.bench
    if bench is None:
        return None
    if isinstance(held.watch, UntilDecided):
        stopped = _stopped(held, len(held.models) - 1, dict(spec or {}))
        if stopped is None:
            return None
        verdict = stopped
    elif len(held.models) == 2 or isinstance(held.watch, UntilNarrow):
        return None
    elif held.limit is not None:
        unjudged = _unfinished(held, bench, read[0], spec)
        if unjudged is None:
            return None
        verdict = unjudged
    else:
        verdict = check(
            read[0],
            task=held.prepared.task.name,
            model=bench.model,
            spec=spec,
            protocol=comparable(held.prepared.protocol, held.wish.unmatched),
            unmatched=held.wish.unmatched,
            missing=held.wish.missing,
            range=_range(held),
            otherwise=held.prepared.task.rule,
            **where,
            **{name: value for name, value in held.wish.rule.items() if value is not None},
        )
    return watch_rates(verdict, bench.entry, counts_of(told[-1])) if len(held.models) == 1 else verdict


def _stopped(held: RunSession, place: int, spec: Mapping[str, Any]) -> Verdict | None:
    """The verdict of the model at this place by the rule that it was watched by; None where a limit came before the first item."""
    watch, bench = held.watch_of(place), held.bench
    assert isinstance(watch, UntilDecided)
    assert bench is not None
    limit = held.limit if held.is_open(place) else None
    if limit is None and not watch.looked:
        raise DataError(
            f"No item has an answer of both {held.names[0]!r} and {held.names[place]!r}.",
            got="no item with both answers",
            need="items that both have answered",
            hint="look at the errors of both in their rows",
        )
    seen = watch.series(None if limit is not None else watch.looked[-1])
    if not seen.ids:
        return None
    warnings = Warnings(bench.warnings)
    ended = None if limit is None else limit.to_dict()
    verdict = written(
        found_of(watch.rule, seen, watch.plan, bench.rule, bench.unit, warnings, ended=ended),
        bench.rule,
        warnings,
        task=held.prepared.task.name,
        model=bench.model if len(held.models) == 1 else held.names[place],
        spec=spec,
        entry=bench.entry,
        scale=bench.scale,
    )
    return verdict if len(held.models) == 1 else replace(verdict, reference=replace(verdict.reference, name=held.names[0]))


def _unfinished(held: RunSession, bench: Baseline, read: Source, spec: Mapping[str, Any] | None) -> Verdict | None:
    """The verdict of a run that a limit ended, and that was planned for all items: inconclusive, with what was seen."""
    assert held.limit is not None
    worth = {key: held.prepared.worth(score) for key, score in scores_by_item(held, 0).items()}
    found_now = _measured(held, 0, read) if worth else None
    if found_now is None or found_now.estimate is None:
        return None
    series = None
    if bench.past is not None and bench.metric.stoppable:
        both = {key: bench.past[bench.key(key)] for key in worth if bench.key(key) in bench.past}
        values = np.array([[was, worth[key]] for key, was in both.items()]).reshape(-1, 2)
        if len(both):
            series = PairedSeries(ids=tuple(both), reference=values[:, 0], candidate=values[:, 1], group=(None,) * len(both))
    found = unfinished(
        series,
        bench.rule,
        bench.unit,
        n=held.items,
        available=len(held.prepared.cases),
        value=found_now.estimate,
        reference=bench.entry.value,
        flips=held.prepared.scorer.right_or_wrong and held.wish.repeats == 1 and bench.one_answer,
        ended=held.limit.to_dict(),
    )
    return written(
        found,
        bench.rule,
        bench.warnings,
        task=held.prepared.task.name,
        model=bench.model,
        spec=dict(spec or {}),
        entry=bench.entry,
        scale=bench.scale,
    )


def _stopping(held: RunSession, verdict: Verdict | None) -> Mapping[str, Any] | None:
    if isinstance(held.watch, UntilNarrow):
        used, there = held.items, len(held.prepared.cases)
        return {
            **held.watch.facts(),
            "decision": "narrow enough" if held.decided else ENDED if held.limit is not None else "exhausted",
            "n_used": used,
            "n_saved": there - used,
        }
    return None if verdict is None else verdict.details.stopping


def _conclusion(held: RunSession, verdict: Verdict | None) -> str:
    used, there = held.items, len(held.prepared.cases)
    if held.limit is not None:
        more = " The same command with a higher limit continues from there." if held.output is not None and held.goes_on else ""
        return f"Asked {used:,} of {there:,} items, not all: {held.limit.words}.{more}"
    if isinstance(held.watch, UntilNarrow):
        unjudged = "" if held.bench is None else " No verdict: a run until a width only measures."
        if held.decided:
            left = f"{there - used:,} were not asked"
            return f"Reached an interval width of {held.watch.width:g} after {used:,} of {there:,} items; {left}.{unjudged}"
        return f"Asked all {there:,} items; the interval is still wider than {held.watch.width:g}.{unjudged}"
    if verdict is not None and isinstance(held.watch, UntilDecided):
        return f"Asked {used:,} of {there:,} items and saved the other {there - used:,}." if used < there else f"Asked all {there:,} items."
    if verdict is None and held.bench is None:
        why = "run with against none" if held.against == NOBODY else f"no reference for {held.names[0]!r}"
        return f"Asked {used:,} items. No verdict: {why}."
    return f"Asked {used:,} items."


def _sign(held: RunSession) -> str:
    return signature.write(
        {
            "task": held.prepared.task.name,
            "model": list(held.names) if len(held.names) > 1 else held.names[0],
            "metric": held.prepared.task.metric,
            "n": held.items,
            "repeats": held.wish.repeats if held.wish.repeats > 1 else None,
            "seed": held.prepared.task.seed,
            "missing": None if held.wish.missing == "error" else held.wish.missing,
        }
    )
