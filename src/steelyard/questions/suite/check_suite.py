"""Many guards, one verdict: judged as a whole over the family that the suite file fixes beforehand, tiers, and waivers that end."""

from __future__ import annotations

import datetime
import glob
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.declared.run import HOW, OF_MODELS
from steelyard.errors import AmbiguityError, SourceError, SteelyardError, UsageError
from steelyard.estimate.guard.whole_suite import judge_verdicts
from steelyard.evaluate.task.presets import PRESET
from steelyard.infer.multiplicity import adjust
from steelyard.infer.planning.power import minimum_detectable
from steelyard.infer.suite.closed_testing import SHARE, SuiteJudgement
from steelyard.late_dataclass import dataclass
from steelyard.options import LOG_CHOICES, RUN_COLUMNS, RUN_KEYWORDS, checked, coin_flips, did_you_mean, documented
from steelyard.questions.guard.check import check
from steelyard.questions.suite.budget import judge_night, night_asked, read_budget
from steelyard.questions.suite.outcome import conclusion_of, doubts, outcome_of
from steelyard.reference.config import TIERS
from steelyard.results import signature
from steelyard.results.verdict import PooledSuite, Suite, Verdict

OF_SUITE = ("name", "alpha", "correction", "directory", "config", "tier", "budget")
OF_LOG = ("score", *(one.name for one in LOG_CHOICES))  # which part of a log is the result
OF_CHECK = (
    *("task", "model", "spec", "result", "value", "tier", "waiver", "metric", "positive", "scale", "alpha", "beta", "sigma", "theta"),
    *("margin", "recovery", "num_samples", "target", "range", "unmatched", "missing", "protocol", "columns", "ratio", "run"),
    *("by", "critical_slices", "again"),
    *OF_LOG,
)
# What a check that runs a model says about it, in its table `run`: `steelyard run --suite` evaluates it, `check --suite` cannot.
# a suite keeps no keys, and says how to treat what is missing for the check, not for the run
OF_RUN = (
    "task",
    "model",
    "data",
    "name",
    "output",
    "prices",
    *(name for name in (*HOW, *OF_MODELS) if name not in ("missing", "unmatched", "key", "seeds")),
)
COLUMNS_OF_A_RUN = (*(column.name for column in RUN_COLUMNS), "ratio")
POOLED = "pooled"  # all tasks together and each among all, by closed testing
CORRECTIONS = (POOLED, "holm", "bonferroni", "none")
UNCONFIRMED = (
    "all {m} tasks together are worse (p = {p:.2g}), but run-to-run variation that they share is not known, so this is not confirmed; "
    "record two or more runs per task, or run again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCheck:
    """One check of a suite, as the file says it."""

    options: Mapping[str, Any]
    tier: str
    waiver: Mapping[str, Any] | None
    run: Mapping[str, Any] | None = None
    again: str | None = None  # of a budget with confirm: the second run of the same night


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFile:
    """A suite file as it was read: its checks, and what it says of all of them."""

    file: Path
    guards: Sequence[SuiteCheck]
    alpha: float
    name: str | None
    where: Mapping[str, Any]
    warnings: Sequence[str]


@documented(
    (),
    "a Suite",
    path="The suite file, TOML.",
    directory="Where the references are. Default: what steelyard.toml says, else references.",
    config="A steelyard.toml. Default: the nearest upward.",
    seed="Random seed of whatever is drawn. Default: 0; None draws one and says which.",
    today="The day by which entries are stale. Default: today.",
    evaluate="Makes the verdict of a check that runs a model. Default: such a check is refused.",
    beforehand="Sees every guard before the first is asked. Default: nobody does.",
    together="Makes the verdict of all checks at once, from the file as it was read. Default: each is judged by itself.",
    history="Database to keep the runs in, each with its items: sqlite:///runs.db or postgresql://host/db. Default: none.",
    series="Of a suite with a budget: the series whose night this is; 'none': it is no night. Default: budget.series of the file.",
    keep_answers="With a history, also keep excerpts of each item's prompt and answer. Default: False.",
    night="What tells this night from others; the same again is a retry. Default: the run of the pipeline, else the files judged.",
)
def check_suite(
    path: str | os.PathLike[str],
    *,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    seed: int | None = 0,
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
    from steelyard.questions.history.answers import with_reference_answers
    from steelyard.questions.history.keep import keep_run

    suite = with_reference_answers(suite, history=history)
    if facts is None:
        return suite
    try:
        _, warnings = keep_run(suite, history=history, keep_answers=keep_answers, **facts)
    except SteelyardError as fault:
        warnings = [f"the runs were not stored in the history: {fault}"]
    return replace(suite, warnings=(*suite.warnings, *warnings))


def suite_and_sources(
    path: str | os.PathLike[str],
    *,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    seed: int | None = 0,
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
    file = Path(path)
    plain = _read(file)
    head = _checked("[suite]", plain.get("suite", {}), OF_SUITE, file)
    alpha = checked("alpha", head.get("alpha", 0.05))
    warnings = coin_flips(alpha=alpha)
    correction = str(head.get("correction", POOLED))
    if correction not in CORRECTIONS:
        raise UsageError(f"cannot use the correction {correction!r} for a suite", need=f"one of {', '.join(CORRECTIONS)}")
    checks = plain.get("checks", [])
    if not isinstance(checks, list):
        raise SourceError(f"cannot read the suite {file.name!r}", got=f"checks is {type(checks).__name__}", need="[[checks]] tables")
    guards = [_guard(i, one, head, file) for i, one in enumerate(checks, 1)]
    if not guards:
        raise SourceError(f"The suite {file.name!r} has no [[checks]].", got="no [[checks]]", need="at least one")
    _refuse_twice(guards, file)
    where: dict[str, Any] = {"directory": directory if directory is not None else _relative(head.get("directory"), file)}
    where["config"] = config if config is not None else _relative(head.get("config"), file)
    if together is not None:
        if (head.get("budget") is not None or night is not None) and series != "none":
            raise UsageError(
                "A suite that stops when it is decided cannot be a night: its items depend on its answers.",
                got="a budget of nights and until='decided'",
                need="complete runs, or no budget",
                hint="series='none' leaves the night out",
            )
        named = None if head.get("name") is None else str(head["name"])
        read = SuiteFile(file=file, guards=guards, alpha=alpha, name=named, where=where, warnings=warnings)
        return together(read), {**where, "parts": [_read_from(guard) for guard in guards]}
    if evaluate is None and any(guard.run is not None for guard in guards):
        raise UsageError(
            f"The suite {file.name!r} has a check that runs a model; steelyard check does not run models.",
            got="a check that runs a model",
            need="steelyard run",
            hint=f"steelyard run --suite {file.name}",
        )
    asked = night_asked(
        read_budget(head.get("budget"), file),
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
            beforehand(guard, **where)
    verdicts = [
        check(**guard.options, **where, seed=seed) if evaluate is None or guard.run is None else evaluate(guard, **where)
        for guard in guards
    ]
    day = today or datetime.datetime.now(datetime.UTC).date()
    suite = judged(guards, verdicts, alpha, correction, head.get("name"), day, warnings, nightly=asked is not None)
    parts = [_read_from(guard) for guard in guards]
    if asked is None:
        return suite, {**where, "parts": parts}

    def again(place: int) -> tuple[Verdict, dict[str, Any]] | None:
        """The second run of a check, the same night: the file that the suite names, or the model asked once more."""
        second = _second(guards[place])
        if second is None or (second.run is None and not os.path.exists(second.options["source"])):
            return None
        made = check(**second.options, **where, seed=seed) if second.run is None or evaluate is None else evaluate(second, **where)
        return made, _read_from(second)

    return judge_night(suite, parts, asked, where, again), None


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


# ---- reading the file --------------------------------------------------------------------------------------------------------


def _read(file: Path) -> dict[str, Any]:
    try:
        plain = tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as fault:
        raise SourceError(f"cannot read the suite {str(file)!r}", got=fault.strerror or str(fault), need="a TOML file") from fault
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise SourceError(f"cannot read the suite {str(file)!r}", got=str(fault), need="valid TOML") from fault
    return _checked("the file", plain, ("suite", "checks"), file)


def _checked(what: str, table: Any, known: Sequence[str], file: Path) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise SourceError(f"cannot read the suite {file.name!r}", got=f"{what} is {type(table).__name__}", need="a table")
    for key in table:
        if key not in known:
            got = f"{key!r} in {what}"
            raise SourceError(
                f"cannot read the suite {file.name!r}", got=got, need=f"one of {', '.join(known)}", hint=did_you_mean(key, known)
            )
    return dict(table)


def _guard(number: int, table: Any, head: Mapping[str, Any], file: Path) -> SuiteCheck:
    what = f"check {number}"
    one = _checked(what, table, OF_CHECK, file)
    lacking = [name for name in ("task", "model") if not isinstance(one.get(name), str)]
    if lacking:
        raise SourceError(
            f"In the suite {file.name!r}, {what} has no {' and no '.join(lacking)}.",
            got=f"{what} without {' and '.join(lacking)}",
            need="both",
        )
    given = [name for name in ("result", "value", "run") if name in one]
    if len(given) != 1:
        got = f"{what} with {' and '.join(given) if given else 'none of them'}"
        raise SourceError(f"cannot read the suite {file.name!r}", got=got, need="one of result, value and run")
    tier = one.pop("tier", head.get("tier", "critical"))
    if not isinstance(tier, str) or tier not in TIERS:
        raise SourceError(f"cannot read the suite {file.name!r}", got=f"tier {tier!r} in {what}", need=f"one of {', '.join(TIERS)}")
    waiver = _waiver(one.pop("waiver", None), what, file)
    columns = _checked(f"columns of {what}", one.pop("columns", {}), COLUMNS_OF_A_RUN, file)
    for name in ("spec", "protocol"):
        if not isinstance(one.get(name, {}), dict):
            raise SourceError(f"cannot read the suite {file.name!r}", got=f"{name} = {one[name]!r} in {what}", need="a table")
    part = {name: one.pop(name) for name in OF_LOG if name in one}
    if part and "result" not in one:
        got = f"{next(iter(part))} without a result in {what}"
        raise SourceError(f"cannot read the suite {file.name!r}", got=got, need="a log to choose in")
    if "score" in part and "score" in columns:
        raise SourceError(f"In the suite {file.name!r}, {what} has score twice.", got=f"score twice in {what}", need="it once")
    columns = {**columns, **part}
    if columns and "value" in one:
        raise SourceError(
            f"In the suite {file.name!r}, {what} has columns beside a value; they need a result to be read from.",
            got=f"columns beside a value in {what}",
            need="a result to read them from",
        )
    if "result" in one:
        one["source"] = _result(str(one.pop("result")), what, file)
    run, again = one.pop("run", None), one.pop("again", None)
    if again is not None and not isinstance(again, str):
        raise SourceError(f"cannot read the suite {file.name!r}", got=f"again = {again!r} in {what}", need="a path")
    return SuiteCheck(
        options={**one, **columns},
        tier=tier,
        waiver=waiver,
        run=None if run is None else _run(run, what, file),
        again=None if again is None else str(_relative(again, file)),
    )


def _refuse_twice(guards: Sequence[SuiteCheck], file: Path) -> None:
    """The same run held against the same reference twice would count twice in the correction, and hide what one of them finds."""
    seen: dict[str, int] = {}
    for number, guard in enumerate(guards, 1):
        about = {name: guard.options.get(name) for name in ("task", "model", "spec", "source", "value")}
        first = seen.setdefault(repr((about, guard.run)), number)
        if first != number:
            raise SourceError(
                f"In the suite {file.name!r}, check {number} asks the same as check {first} ({about['task']}, {about['model']}).",
                got=f"check {number} asks what check {first} asks ({about['task']}, {about['model']})",
                need="each check once: the correction counts them",
                hint="leave one out: the correction counts them",
            )


def _run(table: Any, what: str, file: Path) -> dict[str, Any]:
    """What to evaluate: a task file beside the suite file, and a model."""
    run = _checked(f"run of {what}", table, OF_RUN, file)
    lacking = [name for name in ("task", "model") if not isinstance(run.get(name), str)]
    if lacking:
        raise SourceError(
            f"In the suite {file.name!r}, the run of {what} has no {' and no '.join(lacking)}.",
            got=f"the run of {what} without {' and '.join(lacking)}",
            need="both",
        )
    beside: dict[str, Any] = {}
    for name in ("task", "data", "output"):
        if not isinstance(run.get(name, ""), str):
            raise SourceError(f"cannot read the suite {file.name!r}", got=f"{name} = {run[name]!r} in the run of {what}", need="a path")
        if name in run and not run[name].startswith(("python:", PRESET)) and "://" not in run[name]:
            beside[name] = str(_relative(run[name], file))
    return {**run, **beside}


def _waiver(table: Any, what: str, file: Path) -> dict[str, Any] | None:
    """A waiver has a reason and a day on which it ends; without either it would be a way to forget."""
    if table is None:
        return None
    one = _checked(f"waiver of {what}", table, ("reason", "until"), file)
    until, reason = one.get("until"), one.get("reason")
    if isinstance(until, str):
        try:
            until = datetime.date.fromisoformat(until)
        except ValueError:
            until = None
    if isinstance(until, datetime.datetime):
        until = until.date()
    if not isinstance(until, datetime.date) or not isinstance(reason, str) or not reason.strip():
        raise SourceError(
            f"cannot use the waiver of {what} in {file.name!r}",
            got=f"reason {reason!r}, until {one.get('until')!r}",
            need="a reason and a date",
            hint='waiver = {reason = "bug 123", until = 2026-12-31}',
        )
    return {"reason": reason, "until": until.isoformat()}


def _result(pattern: str, what: str, file: Path) -> str:
    """The one file that a pattern names, relative to the suite file."""
    full = pattern if os.path.isabs(pattern) else os.path.join(glob.escape(str(file.parent)), pattern)
    if not glob.has_magic(pattern):
        return pattern if os.path.isabs(pattern) else str(file.parent / pattern)
    found = sorted(glob.glob(full, recursive=True))
    if len(found) == 1:
        return found[0]
    if not found:
        raise SourceError(
            f"No file matches {pattern!r}, the result of {what} in {file.name!r}.", got=f"no file for {pattern!r}", need="exactly one"
        )
    shown = ", ".join(os.path.relpath(name, file.parent) for name in found[:5])
    raise AmbiguityError(
        f"{len(found)} files match the result of {what} in {file.name!r}: {shown}.", got=f"{len(found)} files: {shown}", need="exactly one"
    )


def _relative(path: Any, file: Path) -> Path | None:
    return None if path is None else file.parent / str(path)


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
) -> Suite:
    """The verdict of the whole. The family is every non-advisory guard whose p-value is judged, waived ones included.

    nightly: one night of many, which have the last word: nothing is said of what it leaves unconfirmed.
    """
    counted = [verdict.p_decisive is not None and verdict.details.not_judged is None for verdict in verdicts]
    family = [i for i, guard in enumerate(guards) if TIERS[guard.tier].fails and counted[i]]
    stopped = [(verdict.details.stopping or {}).get("n_saved", 0) > 0 for verdict in verdicts]
    in_force = [guard.waiver is not None and datetime.date.fromisoformat(guard.waiver["until"]) >= today for guard in guards]
    whole = None
    if correction == POOLED:
        aside = [not TIERS[guard.tier].fails or early for guard, early in zip(guards, stopped, strict=True)]
        own = [i for i in family if stopped[i]]
        rest = (len(family) - len(own)) / len(family) if own and len(own) < len(family) else 1.0  # of alpha, for those that are pooled
        found = judge_verdicts(verdicts, alpha * rest, advisory=aside, waived=in_force)
        adjusted = {i: None if (p := found.adjusted[i]) is None else min(1.0, p / rest) for i in family}
        whole = _whole(found, verdicts, rest)
        for i in own:
            # When a run stops depends on what it saw, so its difference belongs in no heap: its own p-value, by its share of alpha.
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
        risen = [row["p_value"] for row in verdict.details.rates or () if row["risen"]]
        confirmed = confirmed or (bool(risen) and min(risen) * max(1, len(family)) <= alpha)
        counts = _counts_as(guard, verdict, confirmed, live)
        if counts == "unconfirmed" and verdict.theta is None and not nightly:
            warnings.append(
                f"{verdict.task} {verdict.model}: significant on its own (p = {verdict.p_decisive:.2g}), "
                f"not after correction for {len(family)} guards"
            )
        waiver = None if guard.waiver is None else {**guard.waiver, "in_force": live}
        written.append(
            replace(
                verdict,
                tier=guard.tier,
                waiver=waiver,
                mde=_shared_mde(verdict, len(family), _for_tasks(alpha, correction, len(family)), guard.tier),
            )
        )
        rows.append(
            {
                "task": verdict.task,
                "model": verdict.model,
                "spec": dict(verdict.spec),
                "tier": guard.tier,
                "verdict": verdict.verdict,
                "p_value": verdict.p_value,
                "p_adjusted": p,
                "confirmed": counts == "regression" or (counts == "waived" and confirmed),
                "counts_as": counts,
                "waiver": waiver,
            }
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


def _whole(found: SuiteJudgement, verdicts: Sequence[Verdict], rest: float) -> PooledSuite:
    """What the suite shows together, with tasks by their names. `rest`: the part of alpha that it was judged by."""
    names = [f"{verdict.task} {verdict.model}" for verdict in verdicts]
    return PooledSuite(
        verdict=found.verdict,
        p_value=min(1.0, found.p_value / rest),
        p_pooled=found.pooled_p,
        z=found.pooled_z,
        m=found.m,
        share=found.share,
        phi=found.phi,
        phi_known=found.phi_known,
        at_least=found.at_least,
        named=tuple(names[i] for i in found.named),
        suspicious=None if found.suspicious is None else names[found.suspicious],
        mean_change=found.mean_change,
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
