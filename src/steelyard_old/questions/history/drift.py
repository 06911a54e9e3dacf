"""Has it drifted? A series of runs: a chart, evidence that may be looked at every night, a change point, flaky items."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from steelyard_old.error_rates import ALPHA
from steelyard_old.errors import DataError
from steelyard_old.estimate.past_runs import opened
from steelyard_old.history.store import History
from steelyard_old.infer.series.change_point import LEAST, change_point, e_process_first, e_process_pooled
from steelyard_old.infer.series.drift import Start, cusum, cusum_run_length, deviation, self_starting, share_run_length, successive_deviation
from steelyard_old.infer.series.flaky import flaky_items
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import is_share
from steelyard_old.options.history import ITEMS, OPTIONS
from steelyard_old.options.option import checked, documented, seed_of, whole
from steelyard_old.questions.history.export import every_run
from steelyard_old.results import signature
from steelyard_old.results.history import (
    AlarmsSoFar,
    Drift,
    DriftChart,
    DriftEvidence,
    DriftRun,
    EvidenceSoFar,
    FlakyItems,
    HeldAgainst,
    LikelyChange,
    PastRun,
    RunDeviation,
    RunPlace,
)
from steelyard_old.tally.sums import mean_of

MOST_RUNS = 2_000  # the newest of a series: the evidence takes time that grows with their square


@dataclass(slots=True, kw_only=True)
class RunSeries:
    """Fresh runs of one quantity, oldest first, and the reference they began with. `values` are turned so that up is good."""

    runs: list[PastRun]
    values: list[float]
    sign: float
    first: HeldAgainst | None
    start: Start
    checks: list[PastRun]
    warnings: list[str] = field(default_factory=list)


def series_of(found: Sequence[PastRun], task: str, model: str) -> RunSeries:
    """The series that some runs make: of one spec, metric, scale and protocol, complete, and none of them twice."""
    if not found:
        raise DataError(
            f"The history has no run of {model!r} on {task!r}.",
            got=f"no run of {model!r} on {task!r}",
            need="a series of runs",
            hint="sy.list_runs() lists the runs",
        )
    _refuse_mixture(found)
    last = found[-1]
    warnings: list[str] = []
    same = [run for run in found if run.protocol == last.protocol]
    if len(same) < len(found):
        warnings.append(f"{runs_text(len(found) - len(same))} left out: another protocol than the newest run's")
    fair = [run for run in same if run.estimate is not None and not (run.tally or {}).get("stopped")]
    if len(fair) < len(same):
        warnings.append(f"{runs_text(len(same) - len(fair))} left out: runs that stop early on their own results are biased")
    first = next((run.reference for run in same if run.reference is not None and run.reference.value is not None), None)
    fresh, again = _fresh(fair, first)
    if again:
        warnings.append(
            f"{runs_text(again)} left out: the same outcomes as the reference or an earlier run, so the same run again "
            "or a deterministic model; only fresh runs add evidence"
        )
    runs = [run for run in fresh if run.command != "record"]
    if len(runs) > MOST_RUNS:
        warnings.append(f"the newest {MOST_RUNS:,} of {len(runs):,} runs, compared with the first reference")
        runs = runs[-MOST_RUNS:]
    sizes = [run.n for run in runs if run.n is not None]
    if sizes and max(sizes) > 1.5 * min(sizes):
        warnings.append(f"runs of {min(sizes):,} to {max(sizes):,} items are treated as equally noisy, although they are not")
    sign = 1.0 if (runs or [last])[-1].higher_is_better else -1.0  # a record does not know
    checks = [run for run in same if run.verdict is not None]
    values = [sign * run.estimate for run in runs if run.estimate is not None]
    return RunSeries(runs=runs, values=values, sign=sign, first=first, start=_start(first, sign), checks=checks, warnings=warnings)


def _refuse_mixture(found: Sequence[PastRun]) -> None:
    """One series is one quantity of one spec."""
    for what, hint in (
        ("spec", "spec={'KEY': 'VALUE'} names one; the spec is matched whole"),
        ("metric", "metric=NAME"),
        ("scale", "since=DATE"),
    ):
        seen = list(dict.fromkeys(_word(getattr(run, what)) for run in found))
        if len(seen) > 1:
            raise DataError(
                f"The runs have several {what}s ({', '.join(seen[:5])}); drift is tested over one {what}.",
                got=", ".join(seen[:5]),
                need=f"runs of one {what}",
                hint=hint,
            )


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={each}" for key, each in sorted(value.items())) or "none"
    return str(value)


def _fresh(runs: Sequence[PastRun], first: HeldAgainst | None) -> tuple[list[PastRun], int]:
    """The runs whose outcomes nobody had before, and how many had."""
    seen: set[str] = set()
    fresh = []
    for run in runs:
        flips = (run.tally or {}).get("flips")
        unmoved = flips is not None and flips["baseline_only"] == flips["candidate_only"] == 0
        as_first = unmoved and _value(run.reference) == _value(first)
        if not as_first and (run.outcomes is None or run.outcomes not in seen):
            fresh.append(run)
        if run.outcomes is not None:
            seen.add(run.outcomes)
    return fresh, len(runs) - len(fresh)


def _value(reference: HeldAgainst | None) -> float | None:
    return None if reference is None else reference.value


def _start(first: HeldAgainst | None, sign: float) -> Start:
    if first is None or first.value is None:
        return Start()
    runs = int(first.runs or 1)
    return Start(runs=runs, mean=sign * float(first.value), deviation=float(first.sigma_run or 0.0) if runs > 1 else 0.0)


def runs_text(many: int) -> str:
    return f"{many:,} run{'s' if many != 1 else ''}"


MOST_WITH_ITEMS = 200
TAU = 1.0  # the fall that is expected, in deviations, should there be one


@documented(
    (*OPTIONS, ITEMS),
    "a Drift",
    history="A URL such as sqlite:///runs.db, or what `open_history` gave. Default: what steelyard.toml says.",
    task="The task.",
    model="The model.",
)
def drift(
    history: str | History | None = None,
    *,
    task: str,
    model: str,
    spec: Mapping[str, Any] | None = None,
    metric: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    alpha: float = ALPHA,
    k: float = 0.5,
    h: float = 5.0,
    draws: int = 9_999,
    seed: int = 0,
    items: bool = True,
    config: str | os.PathLike[str] | None = None,
) -> Drift:
    """How the runs of a model on a task have moved, against the first reference and against all runs before.

    The guard asks each night anew, so k healthy nights bring k x alpha false alarms, and a loss too small for any one night is
    never seen. This looks at the series: the e-processes hold alpha over all looks together, the chart has its mean number
    of healthy runs between two false alarms, the change point says when. Only fresh runs count: the same outcomes twice are one run.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> def rows(night):
    ...     return [{"id": i, "score": int((7 * i + night) % 10 > night % 2)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     url = f"sqlite:///{there}/runs.db"
    ...     done = sy.record(rows(0), task="gsm8k", model="m", directory=there)
    ...     for night in range(1, 6):
    ...         found = sy.check(rows(night), task="gsm8k", model="m", directory=there, history=url, unmatched="drop")
    ...     found = drift(url, task="gsm8k", model="m")
    >>> found.drifting, len(found.runs)
    (False, 5)
    """
    alpha, k, h = checked("alpha", alpha), checked("k", k), checked("h", h)
    draws, seed = whole("draws", draws), seed_of(seed)
    length = cusum_run_length(k, h)  # refuses a chart that cannot be
    store = opened(history, config)
    try:
        found = list(every_run(store, task=task, model=model, spec=spec, metric=metric, since=since, until=until))[::-1]
        series = series_of(found, task, model)
        wanted = series.runs[-MOST_WITH_ITEMS:] if items else []
        outcomes = [kept for run in wanted if run.outcomes is not None and (kept := store.items(run.id)) is not None]
    finally:
        if store is not history:
            store.close()
    return _answer(series, outcomes, alpha=alpha, k=k, h=h, length=length, draws=draws, seed=seed)


# ---- the parts -------------------------------------------------------------------------------------------------------------


def _answer(
    s: RunSeries, outcomes: Sequence[Mapping[str, float]], *, alpha: float, k: float, h: float, length: float, draws: int, seed: int
) -> Drift:
    scores = self_starting(s.values, s.start)
    path = cusum(scores, k)
    first = e_process_first(s.values, s.start, TAU) if s.start.runs else None
    pooled = e_process_pooled(s.values, s.start, TAU)
    evidence, drifting = _evidence(s, first, pooled, alpha)
    last = s.runs[-1] if s.runs else s.checks[-1] if s.checks else None
    if last is None:
        raise DataError(
            "The history has only references and no checked runs, so drift cannot be tested.",
            got="references only",
            need="runs that were checked",
            hint="sy.check(run, history='sqlite:///runs.db')",
        )
    rows = tuple(
        DriftRun(
            id=run.id,
            time=run.time,
            command=run.command,
            verdict=run.verdict,
            n=run.n,
            estimate=run.estimate,
            score=scores[i],
            cusum=path[i],
            first=None if first is None else first[i],
            pooled=pooled[i],
        )
        for i, run in enumerate(s.runs)
    )
    point = _change(s, draws, seed)
    chart, deviating = _chart(s, scores, path, k, h, length), _deviation(s)
    if len(outcomes) < 2:
        s.warnings.append("fewer than two runs were stored with their items, so unstable items cannot be found")
    facts: dict[str, Any] = {"task": last.task, "model": last.model, "metric": last.metric, "scale": last.scale}
    methods = [f"cusum k={k:g} h={h:g}", f"t-e-process tau={TAU:g}", "change-point"]
    spec = [f"{key}={value}" for key, value in sorted(last.spec.items())] or None
    return Drift(
        **facts,
        spec=dict(last.spec),
        higher_is_better=last.higher_is_better,
        alpha=alpha,
        drifting=drifting,
        runs=rows,
        reference=s.first,
        chart=chart,
        evidence=evidence,
        change_point=point,
        deviation=deviating,
        alarms=_alarms(s),
        flaky=FlakyItems.of(flaky_items(outcomes)) if len(outcomes) > 1 else None,
        conclusion=_conclude(s, evidence, chart, point, drifting, alpha),
        warnings=tuple(dict.fromkeys(s.warnings)),
        signature=signature.write(
            {"goal": "drift", **facts, "spec": spec, "n": len(rows), "method": methods, "alpha": alpha, "draws": draws, "seed": seed}
        ),
    )


def _evidence(s: RunSeries, first: Sequence[float] | None, pooled: Sequence[float], alpha: float) -> tuple[DriftEvidence, bool | None]:
    """The e-processes, and what they say together: the mean of two e-processes is one."""
    both = pooled if first is None else [(a + b) / 2 for a, b in zip(first, pooled, strict=True)]
    bar = 1 / alpha
    against = None if first is None else _told(first, bar, s)
    out = DriftEvidence(tau=TAU, bar=bar, first=against, pooled=_told(pooled, bar, s), both=_told(both, bar, s))
    if first is None:
        s.warnings.append("these runs have no known reference, so they are compared only with one another")
    varied = any(e != 1.0 for e in both)
    if not varied:
        s.warnings.append("the runs do not vary, so there is no noise to compare a change with: any change would be real")
    return out, (max(both) >= bar) if varied else None


def _told(path: Sequence[float], bar: float, s: RunSeries) -> EvidenceSoFar:
    crossed = next((i for i, e in enumerate(path) if e >= bar), None)
    at = None if crossed is None else _place(s, crossed)
    return EvidenceSoFar(value=path[-1] if path else 1.0, largest=max(path, default=1.0), crossed=at)


def _place(s: RunSeries, i: int) -> RunPlace:
    return RunPlace(run=s.runs[i].id, time=s.runs[i].time, place=i + 1)


def _chart(s: RunSeries, scores: Sequence[float | None], path: Sequence[float], k: float, h: float, length: float) -> DriftChart | None:
    if not any(u is not None for u in scores):
        s.warnings.append("the chart needs three runs that are not all equal, including those of the reference")
        return None
    alarm = next((i for i, sum_ in enumerate(path) if sum_ >= h), None)
    law, length, changed = _run_lengths(s, k, h, length)
    return DriftChart(
        k=k,
        h=h,
        average_run_length=length if length < float("inf") else None,
        average_run_length_after=changed,
        law=law,
        after_a_fall_of=2 * k,
        value=path[-1],
        alarm=None if alarm is None else _place(s, alarm),
        unit="run-to-run deviations",
    )


def _run_lengths(s: RunSeries, k: float, h: float, length: float) -> tuple[str, float, float]:
    """Runs between two false alarms, and until a fall is found, by the law of these runs: shares of so many items, or normal."""
    fall = 2 * k
    last = s.runs[-1]
    scale = 100.0 if last.scale == "percent" else 1.0
    share = mean_of(s.values) / scale
    good = share if s.sign > 0 else 1 + share  # values are turned so that up is good
    if is_share(last.metric) and last.n and 0 < good < 1:
        return "binomial", share_run_length(k, h, last.n, good), share_run_length(k, h, last.n, good, fall)
    return "normal", length, cusum_run_length(k, h, shift=fall)


def _change(s: RunSeries, draws: int, seed: int) -> LikelyChange | None:
    """The likeliest change, in the scale of the runs. It stands before the run that is named."""
    if len(s.values) < 2 * LEAST or len(set(s.values)) < 2:
        s.warnings.append(f"a change point needs {2 * LEAST} runs that are not all equal")
        return None
    found = change_point(s.values, draws, seed)
    run = s.runs[found.at]
    return LikelyChange(
        run=run.id,
        time=run.time,
        place=found.at + 1,
        before=s.sign * found.before,
        after=s.sign * found.after,
        shift=s.sign * (found.after - found.before),
        share=found.share,
        p_value=found.p_value,
        method=found.method,
        draws=found.draws,
    )


def _deviation(s: RunSeries) -> RunDeviation | None:
    if len(s.values) < 2:
        s.warnings.append("one run is not enough to estimate the run-to-run variation")
        return None
    estimate, low, high, freedom = deviation(s.values, s.start)
    return RunDeviation(
        estimate=estimate,
        # No deviation at all is a statement about these runs: an interval of no width would be one about all runs.
        low=None if estimate == 0 else low,
        high=None if estimate == 0 else high,
        confidence_level=0.95,
        degrees_of_freedom=freedom,
        between_neighbours=successive_deviation(s.values),
    )


def _alarms(s: RunSeries) -> AlarmsSoFar:
    """What the nightly guard said, beside the alarms that healthy nights would bring."""
    return AlarmsSoFar(
        checks=len(s.checks),
        regressions=sum(run.verdict == "regression" for run in s.checks),
        inconclusive=sum(run.verdict == "inconclusive" for run in s.checks),
        expected=sum(run.alpha or 0.0 for run in s.checks),
    )


# ---- one sentence ----------------------------------------------------------------------------------------------------------


def _conclude(
    s: RunSeries, evidence: DriftEvidence, chart: DriftChart | None, point: LikelyChange | None, drifting: bool | None, alpha: float
) -> str:
    many = runs_text(len(s.values))
    if drifting is None:
        return f"{many} that do not vary: there is no noise to compare a change with."
    both = evidence.both
    if not drifting:
        alarm = None if chart is None else chart.alarm
        note = f"; the chart gave an alarm at run {alarm.place}" if alarm else ""
        return f"No drift shown over {many} (evidence {both.value:.2g}; {1 / alpha:g} means drift){note}."
    side = "below" if s.sign > 0 else "above"
    reached = 0.0 if evidence.first is None else evidence.first.largest
    against = f"{side} the first reference" if reached >= evidence.pooled.largest else f"{side} the runs before"
    since = f", most likely since run {point.place} ({point.time[:10]}), by {abs(point.shift):.4g}" if point else ""
    return f"Drift over {many}: worse, {against} (evidence {both.largest:.3g}; {1 / alpha:g} means drift){since}."
