"""What a run comes to: rows and notes on disk, the measurement, and the verdict or the comparison."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.estimate.from_source import measure_source
from steelyard_old.estimate.guard.rates import watch_rates
from steelyard_old.estimate.guard.sequential import ENDED, PairedSeries, guard_series, noted_look
from steelyard_old.estimate.guard.unfinished import unfinished
from steelyard_old.estimate.guard.verdict import Guarded, concluded
from steelyard_old.evaluate.asking.summary import AnswerSummary
from steelyard_old.infer.sequential.confidence_sequence import ConfidenceSequence
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.measure import settle
from steelyard_old.questions.compare.compare import compare
from steelyard_old.questions.guard.check import check
from steelyard_old.questions.measure.measure import measure
from steelyard_old.questions.run.baseline import NOBODY, Baseline, comparable
from steelyard_old.questions.run.candidates import calls_of, judged_together
from steelyard_old.questions.run.session import LEVEL, NO_SCORE, RANGE_IN_TASK, WEIGHT, UntilDecided, UntilNarrow
from steelyard_old.read.open_source import open_source
from steelyard_old.read.source import Source
from steelyard_old.reference.run_notes import RunNotes, journal_path, rows_paths, write_run
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Comparison
from steelyard_old.results.evaluation import Answered, Evaluation
from steelyard_old.results.measurement import Interval, Measurement, Row
from steelyard_old.results.stopping import EarlyStopping, WidthStopping
from steelyard_old.results.verdict import Verdict
from steelyard_old.tally.design import unknown_worst, worst_score
from steelyard_old.tally.sums import mean_of
from steelyard_old.version import __version__

if TYPE_CHECKING:
    from steelyard_old.evaluate.asking.asks import Model
    from steelyard_old.questions.run.session import RunSession

FloatArray = npt.NDArray[np.float64]
COUNTED = ("n", "answered", "unextracted", "truncated", "empty", "refused", "errors", "attempts")


def answered(
    session: RunSession,
    output: Path | None,
    *,
    spec: Mapping[str, Any] | None,
    directory: str | os.PathLike[str] | None,
    config: str | os.PathLike[str] | None,
) -> Evaluation:
    """The answer. Rows are written first: what was paid for is kept, whatever becomes of the question."""
    warnings = [*session.prepared.warnings, *(said for model in session.models for said in getattr(model, "warnings", ()))]
    warnings += _unheard(session)
    summaries = [AnswerSummary.of(rows, price) for rows, price in zip(session.rows, session.options.price, strict=True)]
    failed = sum(each.errors for each in summaries)
    silent = [each.n > 0 and each.errors == each.n for each in summaries]  # models without an answer: there is nothing to judge them by
    nothing = all(silent) or (any(silent) and session.limit is None)
    if failed and (session.options.missing == "error" or (session.options.missing == "drop" and nothing)):
        raise _failed(session, summaries, failed)
    paths = rows_paths(output, len(session.models))
    for place, path in enumerate(paths):
        if path is not None:
            write_run(path, session.rows[place], _notes(session, place, summaries[place]))
    if output is not None and not session.goes_on:
        journal_path(output).unlink(missing_ok=True)
    if failed and session.options.missing == "wrong":
        _refuse_unknown_worst(session)
    where = {"directory": directory, "config": config}
    read = [_source(rows, session.prepared.scorer.sums) for rows in session.rows]
    several = session.baseline is not None and session.baseline.shared is not None
    together = judged_together(session, [_stopped(session, place, {}) for place in range(1, len(session.models))]) if several else None
    verdict = None if several else _verdict(session, read, spec, where, summaries)
    models = tuple(
        Answered(
            name=session.names[place],
            output=None if paths[place] is None else str(paths[place]),
            counts={**counts_of(summaries[place]), **({"wasted": session.asked.wasted} if session.asked is not None and not place else {})},
            usage=_usage(summaries[place]),
            asked_of=asked_of(session.models[place]),
            measurement=_measured(session, place, read[place]),
        )
        for place in range(len(session.models))
    )
    comparison = None
    if len(models) == 2 and not session.watches:
        found = compare(
            *read,
            metric=session.prepared.task.metric,
            missing=session.options.missing,
            names=list(session.names),
            range=_range(session),
            higher_is_better=session.higher_is_better if session.prepared.quantity.direction_of_scores else None,
            prior_scale=session.options.prior_scale,
        )
        comparison = found if isinstance(found, Comparison) else None
    return Evaluation(
        task=session.prepared.task.name,
        n=session.items,
        available=len(session.prepared.cases),
        repeats=session.options.repeats,
        models=models,
        stopping=_stopping(session, verdict) if together is None else together.stopping,
        limit=session.limit,
        verdict=verdict,
        candidates=together,
        comparison=comparison,
        conclusion=_conclusion(session, verdict) if together is None else calls_of(session).words,
        warnings=tuple(dict.fromkeys(warnings)),
        signature=_sign(session),
        missing=session.options.missing,
    )


def counts_of(summary: AnswerSummary) -> dict[str, int]:
    """How many of each kind; n is all that were asked."""
    return {**{name: getattr(summary, name) for name in COUNTED}, "retries": summary.retries}


def _usage(summary: AnswerSummary) -> dict[str, Any]:
    return {
        "tokens_in": summary.tokens_in,
        "tokens_out": summary.tokens_out,
        "untold": summary.untold,
        **(summary.seconds or {}),
        "cost": summary.cost,
    }


def _failed(session: RunSession, summaries: Sequence[AnswerSummary], failed: int) -> DataError:
    asked = sum(each.n for each in summaries)
    kinds: dict[str, int] = {}
    for rows in session.rows:
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
        + ("; missing='drop' leaves them out" if session.options.missing == "error" else "")
        + "; missing='wrong' counts them as wrong",
    )


def _refuse_unknown_worst(session: RunSession) -> None:
    """Scores beyond 0 and 1 without a declared range: what an item without an answer is worth has to be said in the task."""
    up = session.prepared.quantity.scores_up(session.higher_is_better)
    scores = [np.array([row["score"] for row in rows if row["score"] is not None], float) for rows in session.rows]
    if session.prepared.quantity.scored and worst_score(scores, session.prepared.span, higher_is_better=up) is None:
        raise unknown_worst(higher_is_better=up, hint=RANGE_IN_TASK)


def _notes(session: RunSession, place: int, summary: AnswerSummary) -> RunNotes:
    stopping: dict[str, Any] | None = None
    watch = session.watch_of(place)
    if isinstance(watch, UntilDecided):
        stopping = {"plan": watch.plan.to_dict(), "looked": watch.looked, "last": session.counted[place] == len(session.askable)}
        stopping["reference"] = None if len(session.models) > 1 or session.baseline is None else session.baseline.entry.items
        if session.baseline is not None and session.baseline.shared is not None:
            stopping["candidates"] = {"alpha": session.baseline.shared, "names": list(session.names[1:])}
        if watch.plan.stopping is not None:
            stopping["rule"] = watch.rule.plan()
            stopping["looks"] = [noted_look(look) for look in watch.rule.looks]
    elif isinstance(watch, UntilNarrow):
        stopping = {"width": watch.width, "looked": watch.looked}
    if session.limit is not None and session.is_open(place):
        stopping = {**(stopping or {}), "ended": session.limit.to_dict()}
    if session.suite is not None:
        stopping = {**(stopping or {}), "suite": dict(session.suite)}
    return RunNotes(
        task=session.prepared.task.name,
        model=session.names[place],
        metric=session.prepared.task.metric,
        protocol=session.prepared.protocol,
        seed=session.prepared.task.seed,
        order=session.prepared.order if session.strata is None else "hash/k",
        n=session.counted[place],
        available=len(session.prepared.cases),
        repeats=session.options.repeats,
        ratio=session.prepared.scorer.sums,
        range=None if (ends := _range(session)) is None else list(ends),
        counts=counts_of(summary),
        stopping=stopping,
        steelyard=__version__,
        rule=dict(session.prepared.task.rule),
        asked_of=asked_of(session.models[place]),
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


def _measured(session: RunSession, place: int, read: Source) -> Measurement | None:
    """The metric of a model. After a stop that depended on the answers, its interval is one that holds whenever one stops."""
    prepared = session.prepared
    missing = session.options.missing
    more: dict[str, Any] = {"range": prepared.task.range} if prepared.task.range is not None else {}
    if prepared.quantity.direction_of_scores:
        more["higher_is_better"] = session.higher_is_better
    if prepared.scorer.sums is not None:
        return measure(read, metric=prepared.task.metric, missing=missing, **{name: more[name] for name in more if name != "range"})
    watch = session.watch_of(place)
    if watch is None:
        return measure(read, metric=prepared.task.metric, missing=missing, **more)
    outside = watch.outside if isinstance(watch, UntilDecided) else None
    ends = prepared.span
    interval: Interval | None = None
    if ends is not None and outside is None:
        if isinstance(watch, UntilNarrow):
            low, high = watch.interval  # the very one that was narrow enough
        else:
            found_scores = scores_by_item(session, place)
            if not found_scores:
                return None
            weights = {row["id"]: row.get(WEIGHT, 1.0) for row in session.rows[place]}
            worth = np.array([prepared.worth(score) for score in found_scores.values()])
            low, high = _interval(worth, np.array([weights[key] for key in found_scores]), ends)
        interval = Interval(low=low, high=high, confidence_level=LEVEL, side="two", method="betting-sequence")
    if outside is not None and "range" in more:
        more["range"] = _widened(more["range"], session.rows[place])
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


def scores_by_item(session: RunSession, place: int) -> dict[str, float]:
    """The mean score of each item of a model over its repeats, in order."""
    by: dict[str, list[float]] = {}
    worst = session.worst
    for row in session.rows[place]:
        if row["score"] is not None or session.options.missing == "wrong":
            by.setdefault(row["id"], []).append(worst if row["score"] is None else float(row["score"]))
    return {key: mean_of(scores) for key, scores in by.items()}


# ---- judging -----------------------------------------------------------------------------------------------------------


def _range(session: RunSession) -> tuple[float, float] | None:
    """Of the scores, where the task or its scorer says it and the metric is their mean."""
    return session.prepared.quantity.range_of_scores(session.prepared.span)


def _verdict(
    session: RunSession,
    read: Sequence[Source],
    spec: Mapping[str, Any] | None,
    where: Mapping[str, Any],
    summaries: Sequence[AnswerSummary],
) -> Verdict | None:
    baseline = session.baseline
    if baseline is None:
        return None
    if isinstance(session.watch, UntilDecided):
        stopped = _stopped(session, len(session.models) - 1, dict(spec or {}))
        if stopped is None:
            return None
        verdict = stopped
    elif len(session.models) == 2 or isinstance(session.watch, UntilNarrow):
        return None
    elif session.limit is not None:
        unjudged = _unfinished(session, baseline, read[0], spec)
        if unjudged is None:
            return None
        verdict = unjudged
    else:
        verdict = check(
            read[0],
            task=session.prepared.task.name,
            model=baseline.model,
            spec=spec,
            protocol=comparable(session.prepared.protocol, session.options.unmatched),
            unmatched=session.options.unmatched,
            missing=session.options.missing,
            range=_range(session),
            otherwise=session.prepared.task.rule,
            **where,
            **{name: value for name, value in session.options.rule.items() if value is not None},
        )
    return watch_rates(verdict, baseline.entry, counts_of(summaries[-1])) if len(session.models) == 1 else verdict


def _stopped(session: RunSession, place: int, spec: Mapping[str, Any]) -> Verdict | None:
    """The verdict of the model at this place by the rule that it was watched by; None where a limit came before the first item."""
    watch, baseline = session.watch_of(place), session.baseline
    assert isinstance(watch, UntilDecided)
    assert baseline is not None
    guarded = _guarded(session, baseline, baseline.model if len(session.models) == 1 else session.names[place], spec)
    limit = session.limit if session.is_open(place) else None
    if limit is None and not watch.looked:
        raise DataError(
            f"No item has an answer of both {session.names[0]!r} and {session.names[place]!r}.",
            got="no item with both answers",
            need="items that both have answered",
            hint="look at the errors of both in their rows",
        )
    seen = watch.series(None if limit is not None else watch.looked[-1])
    if not seen.ids:
        return None
    warnings = Warnings(baseline.warnings)
    warnings.extend(_without_answers(session, sorted({0, place})))
    found = guard_series(watch.rule, seen, watch.plan, guarded, baseline.rule, baseline.unit, warnings, ended=limit)
    verdict = concluded(found, baseline.rule, warnings)
    return verdict if len(session.models) == 1 else replace(verdict, reference=replace(verdict.reference, name=session.names[0]))


def _without_answers(session: RunSession, places: Sequence[int]) -> Iterator[str]:
    """What became of items without an answer: a verdict says it, as `check` of the same rows does."""
    done = {"drop": "were left out", "wrong": "count as wrong"}.get(session.options.missing)
    for place in places:
        rows = session.rows[place]
        gone = sum(row["score"] is None for row in rows)
        if done is not None and gone:
            whose = "" if len(session.models) == 1 else f" of {session.names[place]}"
            items = "items" if session.options.repeats == 1 else "answers"
            yield f"{gone} of {len(rows)} {items}{whose} without a score {done} (missing='{session.options.missing}')"


def _unfinished(session: RunSession, baseline: Baseline, read: Source, spec: Mapping[str, Any] | None) -> Verdict | None:
    """The verdict of a run that a limit ended, and that was planned for all items: inconclusive, with what was seen."""
    assert session.limit is not None
    worth = {key: session.prepared.worth(score) for key, score in scores_by_item(session, 0).items()}
    found_now = _measured(session, 0, read) if worth else None
    if found_now is None or found_now.estimate is None:
        return None
    series = None
    if baseline.past is not None and baseline.metric.scored:
        both = {key: baseline.past[baseline.key(key)] for key in worth if baseline.key(key) in baseline.past}
        values = np.array([[was, worth[key]] for key, was in both.items()]).reshape(-1, 2)
        if len(both):
            series = PairedSeries(ids=tuple(both), reference=values[:, 0], candidate=values[:, 1], group=(None,) * len(both))
    found = unfinished(
        series,
        _guarded(session, baseline, baseline.model, dict(spec or {})),
        baseline.rule,
        baseline.unit,
        n=session.items,
        available=len(session.prepared.cases),
        value=found_now.estimate,
        flips=session.prepared.scorer.right_or_wrong and session.options.repeats == 1 and baseline.one_answer,
        ended=session.limit,
    )
    return concluded(found, baseline.rule, baseline.warnings)


def _guarded(session: RunSession, baseline: Baseline, model: str, spec: Mapping[str, Any]) -> Guarded:
    return Guarded(entry=baseline.entry, task=session.prepared.task.name, model=model, spec=spec, scale=baseline.scale)


def _stopping(session: RunSession, verdict: Verdict | None) -> EarlyStopping | WidthStopping | None:
    if isinstance(session.watch, UntilNarrow):
        low, high = session.watch.interval
        return WidthStopping(
            design="betting confidence sequence",
            width=session.watch.width,
            low=low,
            high=high,
            looks_made=len(session.watch.looked),
            decision="narrow enough" if session.decided else ENDED if session.limit is not None else "exhausted",
            n_used=session.items,
            n_saved=len(session.prepared.cases) - session.items,
        )
    return None if verdict is None else verdict.details.stopping


def _conclusion(session: RunSession, verdict: Verdict | None) -> str:
    used, there = session.items, len(session.prepared.cases)
    if session.limit is not None:
        more = " The same command with a higher limit continues from there." if session.output is not None and session.goes_on else ""
        return f"Asked {used:,} of {there:,} items, not all: {session.limit.said}.{more}"
    if isinstance(session.watch, UntilNarrow):
        unjudged = "" if session.baseline is None else " No verdict: a run until a width only measures."
        if session.decided:
            left = f"{there - used:,} were not asked"
            return f"Reached an interval width of {session.watch.width:g} after {used:,} of {there:,} items; {left}.{unjudged}"
        return f"Asked all {there:,} items; the interval is still wider than {session.watch.width:g}.{unjudged}"
    if verdict is not None and isinstance(session.watch, UntilDecided):
        return f"Asked {used:,} of {there:,} items and saved the other {there - used:,}." if used < there else f"Asked all {there:,} items."
    if verdict is None and session.baseline is None:
        why = "a run against none only measures" if session.against == NOBODY else f"no reference for {session.names[0]!r}"
        return f"Asked {used:,} items. No verdict: {why}."
    return f"Asked {used:,} items."


def _unheard(session: RunSession) -> Iterator[str]:
    """What was given for a verdict, where one model is only measured."""
    if session.baseline is None and len(session.models) == 1:
        for name, value in session.options.rule.items():
            if value is not None:
                yield f"{name} was not used: there is no reference to judge by"


def _sign(session: RunSession) -> str:
    return signature.write(
        {
            "task": session.prepared.task.name,
            "model": list(session.names) if len(session.names) > 1 else session.names[0],
            "metric": session.prepared.task.metric,
            "n": session.items,
            "repeats": session.options.repeats if session.options.repeats > 1 else None,
            "seed": session.prepared.task.seed,
            "missing": None if session.options.missing == "error" else session.options.missing,
        }
    )
