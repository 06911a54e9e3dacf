"""Many guards, one verdict: judged as a whole over the family that the suite file fixes beforehand, tiers, and waivers that end."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.estimate.guard.suite_file import POOLED, SuiteCheck, SuiteFile, about_check, read_suite, waived_now
from steelyard_old.estimate.guard.whole_suite import judge_verdicts, pooled_suite, recorded_z, stopped_early
from steelyard_old.estimate.past.kept_run import own_facts
from steelyard_old.estimate.past_runs import history_is_new, history_place
from steelyard_old.history.address import OFF
from steelyard_old.history.store import NoRunsError, open_history, pack
from steelyard_old.infer.multiplicity import adjust
from steelyard_old.infer.planning.power import minimum_detectable
from steelyard_old.infer.suite.closed_testing import SHARE
from steelyard_old.options.check import SUITE
from steelyard_old.options.option import RUN_KEYWORDS, SEED, documented, refuse_nowhere_to_keep
from steelyard_old.outputs import refuse_overwriting
from steelyard_old.questions.guard.check import check
from steelyard_old.questions.suite.budget import judge_night, night_asked, no_budget
from steelyard_old.questions.suite.outcome import conclusion_of, doubts, outcome_of
from steelyard_old.reference.config import TIERS, find_config
from steelyard_old.results import signature
from steelyard_old.results.verdict import Suite, SuiteRow, Verdict, Waiver

UNCONFIRMED = (
    "all {m} tasks together are worse (p = {p:.2g}), but run-to-run variation is not estimated, so this is not confirmed; "
    "record two or more runs per task, or keep earlier runs in a history"
)


@documented(
    SUITE,
    "a Suite",
    seed="Random seed of whatever is drawn. Default: 0; None draws one and says which.",
    series="The series of nights this run belongs to; 'none': do not count this run as a night. Default: budget.series of the file.",
    night="Id of this night; the same id again is a retry. Default: the CI run, else the files judged.",
)
def check_suite(
    path: str | os.PathLike[str],
    *,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    seed: int | None = SEED.default,
    today: datetime.date | None = None,
    evaluate: Callable[..., Verdict] | None = None,
    beforehand: Callable[..., None] | None = None,
    together: Callable[..., Suite] | None = None,
    history: str | None = None,
    series: str | None = None,
    night: str | None = None,
    keep_answers: bool = False,
) -> Suite:
    """The verdict on a suite file. Result paths are relative to it; a guard that cannot be asked stops the suite (exit 3).

    Regression: some adjusted p <= alpha among the guards that count, or all tasks together are worse though none can be named. A
    guard red alone but not after the correction is unconfirmed: inconclusive if it has a theta, otherwise a pass with a warning;
    so is a suite that only the pooled test calls worse while the noise that whole runs share is not known. `evaluate` makes the
    verdict of a check that runs a model; `beforehand` sees every guard before the first is asked. With `history`, the run of
    every guard is kept there; what could not be kept is a warning of the suite, and changes no verdict. A suite with a budget of false
    alarms and a series is one night of it: the evidence of all nights decides, and the night is stored before it is told.

    >>> import json, tempfile
    >>> from pathlib import Path
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     run, suite = Path(there) / "run.json", Path(there) / "suite.toml"
    ...     _ = run.write_text(json.dumps(rows))
    ...     _ = suite.write_text('checks = [{result = "run.json", task = "gsm8k", model = "m"}]')
    ...     done = sy.record(run, task="gsm8k", model="m", directory=there)
    ...     found = check_suite(suite, directory=there)
    >>> found.verdict, found.rows[0].p_value
    ('pass', 1.0)
    """
    suite, facts = suite_and_sources(
        path,
        directory=directory,
        config=config,
        seed=seed,
        today=today,
        evaluate=evaluate,
        beforehand=beforehand,
        together=together,
        history=history,
        series=series,
        night=night,
        keep_answers=keep_answers,
    )
    return suite if history is None else _kept(suite, history, facts, keep_answers=keep_answers)


def _kept(suite: Suite, history: str, facts: Mapping[str, Any] | None, *, keep_answers: bool) -> Suite:
    """The suite with what the references answered, its runs kept in the history, where a night has not done so already."""
    from steelyard_old.estimate.past.keeping import with_kept
    from steelyard_old.questions.history.answers import with_reference_answers

    suite = with_reference_answers(suite, history=history)
    return suite if facts is None else with_kept(suite, history=history, keep_answers=keep_answers, **facts)


def suite_and_sources(
    path: str | os.PathLike[str],
    *,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    seed: int | None = SEED.default,
    today: datetime.date | None = None,
    evaluate: Callable[..., Verdict] | None = None,
    beforehand: Callable[..., None] | None = None,
    together: Callable[..., Suite] | None = None,
    history: str | None = None,
    series: str | None = None,
    night: str | None = None,
    keep_answers: bool = False,
) -> tuple[Suite, dict[str, Any] | None]:
    """The suite as `check_suite` gives it, and what the history must know to keep its items: where each verdict was read from.

    None: it was a night of a series, and is in the history already.
    """
    read = read_suite(path, directory=directory, config=config)
    guards, where, warnings = read.guards, read.where, read.warnings
    _refuse_outputs(read)
    if keep_answers and history is None:  # a night is kept where the configuration says
        own = where["config"]
        refuse_nowhere_to_keep(find_config(Path.cwd(), None if own is None else Path(own)).history)
    if together is not None:
        off = series is not None and series.strip().lower() == OFF
        if read.budget is None and (night is not None or (series is not None and not off)):
            raise no_budget(series, night)
        if read.budget is not None and not off:
            raise UsageError(
                "A suite that stops when it is decided cannot be a night: its items depend on its answers.",
                got="a budget of nights and until='decided'",
                need="complete runs, or no budget",
                hint="series='none' leaves the night out",
            )
        if read.correction != POOLED:
            warnings.append(
                f"correction = {read.correction!r} is not used: a suite that stops when it is decided shares alpha beforehand, half of it "
                "among the tasks, half for all of them together"
            )
        return together(read), {**where, "parts": [_read_from(guard) for guard in guards]}
    if evaluate is None and any(guard.run is not None for guard in guards):
        raise UsageError(
            f"The suite {read.file.name!r} has a check that runs a model; a check runs no models.",
            got="a check that runs a model",
            need="run_suite",
            hint=f"sy.run_suite({read.file.name!r})",
        )
    asked = night_asked(
        read.budget,
        series=series,
        night=night,
        history=history,
        config=where["config"],
        keep_answers=keep_answers,
        warnings=warnings,
    )
    if asked is not None:
        guards = [_of_a_night(guard) for guard in guards]
    if beforehand is not None:
        for guard in guards:
            with about_check(guard.options):
                beforehand(guard, **where)

    def judge(guard: SuiteCheck) -> Verdict:
        with about_check(guard.options):
            return check(**guard.options, **where, seed=seed) if evaluate is None or guard.run is None else evaluate(guard, **where)

    verdicts = [judge(guard) for guard in guards]
    day = today or datetime.datetime.now(datetime.UTC).date()
    parts = [_read_from(guard) for guard in guards]
    earlier: list[float] = []
    if asked is None and read.correction == POOLED and len(guards) > 1:
        aside = [not TIERS[guard.tier].fails for guard in guards]
        earlier, parts = _earlier_z(verdicts, parts, aside, read, history, warnings)
    suite = judged(guards, verdicts, read.alpha, read.correction, read.name, day, warnings, nightly=asked is not None, earlier=earlier)
    if asked is None:
        return suite, {**where, "parts": parts}

    def again(place: int) -> tuple[Verdict, dict[str, Any]] | None:
        """The second run of a check, the same night: the file that the suite names, or the model asked once more."""
        second = _second(guards[place])
        if second is None or (second.run is None and not os.path.exists(second.options["source"])):
            return None
        return judge(second), _read_from(second)

    return judge_night(suite, parts, asked, where, again), None


def _refuse_outputs(read: SuiteFile) -> None:
    """No check may write over the suite, its configuration or what any check reads, nor two checks into one file."""
    outputs = {
        f"Check {place} ({guard.options['task']})": [guard.run["output"]]
        for place, guard in enumerate(read.guards, 1)
        if guard.run is not None and guard.run.get("output") is not None
    }
    for rows, (path,) in outputs.items():
        if os.path.exists(path) and os.path.samefile(path, read.file):
            raise UsageError(
                f"{rows} would overwrite the suite file {str(read.file)!r}.",
                got="the suite file",
                need="another file",
                hint="nothing was written",
            )
    if outputs:
        config = find_config(Path.cwd(), None if read.where["config"] is None else Path(read.where["config"]))
        said = [guard.run or {} for guard in read.guards]
        inputs = [run.get(name) for run in said for name in ("task", "data")] + [guard.options.get("source") for guard in read.guards]
        refuse_overwriting(outputs, [config.path, *inputs], [config.directory])


def _earlier_z(
    verdicts: Sequence[Verdict],
    parts: Sequence[dict[str, Any]],
    aside: Sequence[bool],
    read: SuiteFile,
    history: str | None,
    warnings: list[str],
) -> tuple[list[float], list[dict[str, Any]]]:
    """The pooled z of earlier healthy runs in the history, and the parts with what was read of them. Without a history: none.

    A history that cannot be read is a warning: the verdict then knows what is on record alone.
    """
    config = find_config(Path.cwd(), None if read.where["config"] is None else Path(read.where["config"]))
    place = history_place(history, config)
    if place is None:
        return [], list(parts)
    from steelyard_old.estimate.past.earlier_runs import judged_task, learned_z

    directory = read.where["directory"]
    tasks, tonight, known = [], {}, []
    for verdict, part, out in zip(verdicts, parts, aside, strict=True):
        own = own_facts(verdict, part, config, directory)
        known.append({**part, "own": own})
        if out or own[0]["items"] is None:
            continue
        if (one := judged_task(verdict, protocol=own[0]["protocol"], config=config, directory=directory)) is not None:
            tasks.append(one)
            tonight[one.key] = pack(own[0]["items"]).digest
    if not tasks:
        return [], known
    try:
        with open_history(place[0], base=place[1], create=False) as store:
            return learned_z(store, tasks, recorded=recorded_z(verdicts, aside), alpha=read.alpha, tonight=tonight), known
    except SteelyardError as fault:
        if not history_is_new(place) and not isinstance(fault, NoRunsError):
            warnings.append(f"the earlier runs in the history could not be read: {fault}")
        return [], known


def _second(guard: SuiteCheck) -> SuiteCheck | None:
    """A check of the second run; None where nothing says how to make one."""
    if guard.run is not None and guard.run.get("output") is not None:
        first = Path(guard.run["output"])
        place = guard.again or str(first.with_name(f"{first.stem}.again{first.suffix}"))
        return replace(guard, run={**guard.run, "output": place})
    return None if guard.again is None else replace(guard, options={**guard.options, "source": guard.again})


def _of_a_night(guard: SuiteCheck) -> SuiteCheck:
    """Items come and go over a year of nights: those that only one side has are left out of tonight's verdict, unless the file says so."""
    if "value" in guard.options:
        return guard
    if guard.run is not None and guard.run.get("until") is not None:
        raise UsageError(
            f"The run of {guard.options['task']!r} may stop early, so it cannot be a night: its items would depend on its answers.",
            got=f"until = {guard.run['until']!r}",
            need="complete runs",
            hint="leave until out of the run",
        )
    return replace(guard, options={"unmatched": "drop", **guard.options})


def _read_from(guard: SuiteCheck) -> dict[str, Any]:
    """Where the items of a check are, and how they are read: the file of its result, or the rows that its run has written."""
    said = guard.options
    place = said.get("source") if guard.run is None else guard.run.get("output")
    columns = {name: said[name] for name in RUN_KEYWORDS if name in said}
    of_items = {"missing": said.get("missing"), "range": said.get("range")}
    return {"sources": [] if place is None else [place], "columns": columns, "protocol": said.get("protocol"), **of_items}


# ---- judging --------------------------------------------------------------------------------------------------------------------


def judged(
    guards: Sequence[SuiteCheck],
    verdicts: Sequence[Verdict],
    alpha: float,
    correction: str,
    name: Any,
    today: datetime.date,
    warnings: list[str],
    *,
    nightly: bool = False,
    earlier: Sequence[float] = (),
) -> Suite:
    """The verdict of the whole. The family is every non-advisory guard whose p-value is judged, waived ones included.

    nightly: one night of many, which have the last word: nothing is said of what it leaves unconfirmed. earlier: pooled z of earlier
    healthy runs in the history.
    """
    counted = [verdict.p_decisive is not None and verdict.details.not_judged is None for verdict in verdicts]
    family = [i for i, guard in enumerate(guards) if TIERS[guard.tier].fails and counted[i]]
    stopped = [stopped_early(verdict) for verdict in verdicts]
    in_force = [waived_now(guard, today) for guard in guards]
    whole = None
    if correction == POOLED:
        aside = [not TIERS[guard.tier].fails or early for guard, early in zip(guards, stopped, strict=True)]
        own = [i for i in family if stopped[i]]
        rest = (len(family) - len(own)) / len(family) if own and len(own) < len(family) else 1.0  # of alpha, for those that are pooled
        found = judge_verdicts(verdicts, alpha * rest, advisory=aside, waived=in_force, history=earlier)
        adjusted = {i: None if (p := found.adjusted[i]) is None else min(1.0, p / rest) for i in family}
        whole = pooled_suite(found, verdicts, rest=rest, in_history=len(earlier))
        for i in own:
            # its own p-value, by its share of alpha
            adjusted[i] = min(1.0, (verdicts[i].p_decisive or 0.0) * len(family))
            who = f"{verdicts[i].task} {verdicts[i].model}"
            warnings.append(f"{who} stopped early: it is judged by its own rule and not pooled with the other tasks")
    else:
        adjusted = dict(zip(family, adjust([verdicts[i].p_decisive or 0.0 for i in family], correction), strict=True))
    rows, written = [], []
    for i, (guard, verdict, live) in enumerate(zip(guards, verdicts, in_force, strict=True)):
        if guard.waiver is not None and not live:
            warnings.append(f"the waiver for {verdict.task} {verdict.model} expired on {guard.waiver['until']} and was ignored")
        p = adjusted.get(i)
        confirmed = p <= alpha if p is not None else verdict.verdict == "regression"
        # A rate that rose has a p-value of its own, corrected among the rates; among the guards it takes its share of alpha.
        risen = [row.p_value for row in verdict.details.rates or () if row.risen]
        confirmed = confirmed or (bool(risen) and min(risen) * max(1, len(family)) <= alpha)
        counts = _counts_as(guard, verdict, confirmed, live)
        if counts == "unconfirmed" and verdict.theta is None and not nightly:
            warnings.append(
                f"{verdict.task} {verdict.model}: significant on its own (p = {verdict.p_decisive:.2g}), "
                f"not after correction for {len(family)} guards"
            )
        waiver = None if guard.waiver is None else Waiver(reason=guard.waiver["reason"], until=guard.waiver["until"], in_force=live)
        written.append(
            replace(
                verdict,
                tier=guard.tier,
                waiver=waiver,
                mde=_shared_mde(verdict, len(family), _for_tasks(alpha, correction, len(family)), guard.tier),
            )
        )
        rows.append(
            SuiteRow(
                task=verdict.task,
                model=verdict.model,
                spec=dict(verdict.spec),
                tier=guard.tier,
                verdict=verdict.verdict,
                p_value=verdict.p_value,
                p_adjusted=p,
                confirmed=counts == "regression" or (counts == "waived" and confirmed),
                counts_as=counts,
                waiver=waiver,
            )
        )
    outcome = outcome_of(rows, verdicts, whole)
    warnings += doubts(rows, verdicts)
    if whole is not None and whole.verdict == "unconfirmed" and not nightly:
        warnings.append(UNCONFIRMED.format(m=whole.m, p=whole.p_value))
    return Suite(
        verdict=outcome,
        correction=correction,
        alpha=alpha,
        verdicts=tuple(written),
        rows=tuple(rows),
        name=None if name is None else str(name),
        conclusion=conclusion_of(outcome, rows, whole),
        pooled=whole,
        warnings=tuple(dict.fromkeys(warnings)),
        signature=signature.write({"n": len(verdicts), "correction": correction, "alpha": alpha}),
    )


def _for_tasks(alpha: float, correction: str, family: int) -> float:
    """What is left of alpha for the tasks by themselves: the pooled test takes its share where there are several."""
    return alpha * (1 - SHARE) if correction == POOLED and family > 1 else alpha


def _counts_as(guard: SuiteCheck, verdict: Verdict, confirmed: bool, waived: bool) -> str:
    if not TIERS[guard.tier].fails:
        return "advisory"
    if waived and verdict.verdict != "pass":
        return "waived"
    if verdict.verdict == "regression":
        return "regression" if confirmed else "unconfirmed"
    return verdict.verdict


def _shared_mde(verdict: Verdict, family: int, alpha: float, tier: str) -> float | None:
    """The drop that this guard finds as one of many: at alpha / m."""
    if verdict.mde is None or not TIERS[tier].fails or family < 2:
        return verdict.mde
    one = minimum_detectable(1.0, verdict.alpha, verdict.beta)
    if one <= 0:
        return verdict.mde
    return verdict.margin + (verdict.mde - verdict.margin) * minimum_detectable(1.0, alpha / family, verdict.beta) / one
