"""Evaluate a model now, and stop as soon as the question is decided."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard_old.errors import UsageError
from steelyard_old.evaluate.asking.asking import Watcher
from steelyard_old.evaluate.asking.asks import Case, Model
from steelyard_old.evaluate.asking.deadline import seconds_of
from steelyard_old.evaluate.asking.journal import begun_as
from steelyard_old.evaluate.asking.summary import PER, Progress, jsonable
from steelyard_old.evaluate.scorers.judge import Judge
from steelyard_old.evaluate.task.cases import value_text
from steelyard_old.options.option import documented, keyword_defaults, whole
from steelyard_old.options.run import (
    DRY_RUN,
    EVERY,
    HOW,
    MAX_ERROR_RATE,
    OF_MODELS,
    OPTIONS,
    RULE,
    RunOptions,
    refuse_answers_without_rows,
    settle_run,
)
from steelyard_old.questions.run.answer import asked_of
from steelyard_old.questions.run.baseline import NOBODY, Baseline, baseline_of, beside, direction_of, in_order, plan_of, wavering_ids
from steelyard_old.questions.run.limits import Budget
from steelyard_old.questions.run.output import check_output
from steelyard_old.questions.run.session import LEVEL, RANGE_IN_TASK, RunSession, UntilDecided, UntilNarrow, Watch
from steelyard_old.questions.run.task import Prepared, for_each, judging, named, opened, prepare, refuse_unheard
from steelyard_old.reference.config import find_config
from steelyard_old.reference.run_notes import journal_path, refuse_other_run, rows_paths
from steelyard_old.results import signature
from steelyard_old.results.evaluation import DryRun, Evaluation
from steelyard_old.tally.design import unknown_worst

CHARACTERS = 4  # to a token, in English; other languages and code have fewer
LIMITS = ("max_tokens", "max_completion_tokens")


def dry_run_of(
    prepared: Prepared,
    models: Sequence[Model],
    names: Sequence[str],
    options: RunOptions,
    *,
    judged: str | None,
    expected: tuple[Mapping[str, Any] | None, str | None] = (None, None),
    told_before: Sequence[str] = (),
) -> DryRun:
    """What the run would do, from the prompts as they would be sent."""
    each = len(prepared.cases) * options.repeats
    texts = all(case.messages is not None or isinstance(case.input, str) for case in prepared.cases)
    tokens_in = sum(-(-_characters(case) // CHARACTERS) for case in prepared.cases) * options.repeats if texts else None
    limit = next((int(prepared.task.sampling[name]) for name in LIMITS if name in prepared.task.sampling), None)
    tokens_out = None if limit is None else limit * each
    told: list[dict[str, Any]] = []
    for model, name, price in zip(models, names, options.price, strict=True):
        cost = None
        if price is not None and tokens_in is not None:
            cost = (tokens_in * price.input + (tokens_out or 0) * price.output) / PER
        told.append({"name": name, "asked_of": asked_of(model), "calls": each, "cost": cost, "cost_at_most": tokens_out is not None})
    costs = [one["cost"] for one in told]
    many = len(models)
    return DryRun(
        task=prepared.task.name,
        n=len(prepared.cases),
        repeats=options.repeats,
        calls=each * many if options.max_calls is None else min(each * many, options.max_calls),
        prompt=_prompt(prepared.cases[0]),
        tokens_in=None if tokens_in is None else tokens_in * many,
        tokens_out=None if tokens_out is None else tokens_out * many,
        models=tuple(told),
        cost=sum(costs) if costs and None not in costs else None,
        judge_calls=each * many if isinstance(prepared.scorer, Judge) else 0,
        judged_by=judged if many == 1 else None,
        stops_early=options.decided or options.width is not None,
        expected=None if expected[0] is None else _with_cost(expected[0], costs, each * many),
        unforeseen=expected[1],
        warnings=tuple(
            dict.fromkeys([*prepared.warnings, *told_before, *(said for model in models for said in getattr(model, "warnings", ()))])
        ),
        signature=signature.write({"task": prepared.task.name, "model": list(names) if many > 1 else names[0], "n": len(prepared.cases)}),
    )


def _with_cost(expected: Mapping[str, Any], costs: Sequence[float | None], calls: int) -> dict[str, Any]:
    """The costs of the calls that are expected, where prices are known."""
    known = [cost for cost in costs if cost is not None]
    each = sum(known) / calls if known and len(known) == len(costs) else None
    of_calls = {
        state: {**expected[state], "cost": None if each is None else each * expected[state]["calls"]} for state in ("healthy", "dropped")
    }
    return {**expected, **of_calls}


def _characters(case: Case) -> int:
    if case.messages is not None:
        return sum(len(message["content"]) for message in case.messages)
    return len(str(case.input))


def _prompt(case: Case) -> str:
    """What the first item asks: the messages of a chat with who says them, a text, or the features."""
    if case.messages is not None and len(case.messages) > 1:
        return "\n".join(f"[{message['role']}]\n{message['content']}" for message in case.messages)
    if case.messages is not None:
        return str(case.messages[0]["content"])
    return case.input if isinstance(case.input, str) else value_text(jsonable(case.input), "input")


@documented(
    OPTIONS,
    "an Evaluation",
    task="A TOML or YAML file, preset:NAME, python:pkg.mod:Class, or a task in Python.",
    models="One model, or several to be compared, the first being the baseline of all others.",
    prices='Price of a million tokens, {"input": 0.15, "output": 0.6}; one for all models or one per model. Default: unknown.',
    asking="**asking: about the models, one value for all or one per model: base_url, api, key, key_env, batch, timeout, seeds.",
)
def run(
    task: Any,
    *models: Any,
    data: Any = None,
    output: str | os.PathLike[str] | None = None,
    name: str | Sequence[str] | None = None,
    against: str | None = None,
    spec: Mapping[str, Any] | None = None,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    until: str | None = None,
    stopping: str | None = None,
    looks: int | None = None,
    every: int = EVERY.default,
    strata: str | None = None,
    discordance: float | None = None,
    theta: float | None = None,
    margin: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    scale: str | None = None,
    n: int | None = None,
    seed: int | None = None,
    repeats: int = 1,
    missing: str = "error",
    unmatched: str = "error",
    max_error_rate: float = MAX_ERROR_RATE.default,
    max_calls: int | None = None,
    max_cost: float | None = None,
    concurrency: int | None = None,
    prior_scale: float | None = None,
    prices: Mapping[str, float] | Sequence[Mapping[str, float]] | None = None,
    progress: Watcher | None = None,
    verdict: bool = False,
    history: str | None = None,
    keep_answers: bool = False,
    **asking: Any,
) -> Evaluation:
    """Ask a model all items of a task, or as many as it takes, and say how good it is and whether it has become worse.

    task: a TOML or YAML file, preset:NAME with `data`, python:pkg.mod:Class, or a task in Python. models: one, or two to be
    compared (the first is the baseline): openai:NAME with base_url, python:pkg.mod:function, command:PROGRAM,
    file:PREDICTIONS, a callable or an estimator. More candidates after the baseline are judged together until decided: the
    baseline is asked once, each candidate at its share of alpha, until it is decided (`candidates` of the answer is a Suite).
    until: "decided" (by the reference, or by the baseline), "width=.02" or "n=500". max_calls and max_cost (by `prices`) end
    any run in order, undecided. With `output` the rows are written there, and a run that was broken off, or ended by a limit,
    goes on where it was. verdict: refuse a run that would not be judged.
    `dry_run` says what a run would ask, and what that would cost.

    About the models, each one value for all of them or a list with one per model, in order: base_url (the address of an
    endpoint), api ("chat" or "completions"), key or key_env (the name of the environment variable that holds it), batch (items
    per call), timeout (total seconds per answer), seeds (False sends none), prices ({"input": 0.15, "output": 0.6} per million
    tokens).

    >>> rows = [{"id": f"q{i}", "question": f"{i} + 1", "answer": str(i + 1)} for i in range(50)]
    >>> task = {"name": "sums", "data": rows, "input": "{question}", "truth": "answer", "scorer": "exact"}
    >>> found = run({"task": task}, lambda prompt: str(int(prompt.split()[0]) + 1), against="none")
    >>> print(found.models[0].measurement.row)
    accuracy 1 [0.928652, 1] (0.95 two, wilson)
    """
    found: Evaluation = _answered(task, models, locals(), asking, dry_run=False)
    if history is None:
        return found
    from steelyard_old.estimate.past.keeping import with_kept

    return with_kept(found, history=history, keep_answers=keep_answers, config=config, directory=directory, spec=spec)


@documented(
    (DRY_RUN, *OPTIONS),
    "a DryRun",
    models="One model, or several to be compared, the first being the baseline of all others.",
    options="**options: as for `run`.",
)
def dry_run(task: Any, *models: Any, **options: Any) -> DryRun:
    """What a run would ask: the first prompt, the number of calls, about how many tokens, and the cost by `prices`. Nothing is asked.

    It takes what `run` takes, and finds everything that can be wrong before the first call.

    >>> rows = [{"id": f"q{i}", "question": f"{i} + 1", "answer": str(i + 1)} for i in range(50)]
    >>> task = {"name": "sums", "data": rows, "input": "{question}", "truth": "answer", "scorer": "exact"}
    >>> found = dry_run({"task": task}, lambda prompt: "1")
    >>> found.calls, found.prompt
    (50, '39 + 1')
    """
    asking = {name: options.pop(name) for name in OF_MODELS if name in options}
    found: DryRun = _answered(task, models, keyword_defaults(run) | options, asking, dry_run=True)
    return found


def _answered(task: Any, models: Sequence[Any], given: Mapping[str, Any], asking: Mapping[str, Any], *, dry_run: bool) -> Any:
    """What a run came to, or would come to. given: every keyword of `run`, asking: what it says about the models."""
    if given["history"] is not None or given["keep_answers"]:
        from steelyard_old.estimate.past_runs import refuse_history

        refuse_history(given["history"], keep_answers=given["keep_answers"])
        if not dry_run:
            refuse_answers_without_rows(given["output"])
    if not models:
        raise UsageError("A run has at least one model.", got="no model", need="one model, or a baseline and its candidates")
    how = {name: given[name] for name in (*HOW, "prices", "prior_scale") if name != "seed"}
    options = settle_run(**how, rule={name: given[name] for name in RULE}, models=len(models))
    if given["seed"] is not None:
        whole("seed", given["seed"], least=0)
    if len(models) > 1:
        _refuse_beside(len(models), options, given["against"], given["spec"])
    elif options.width is not None and given["against"] not in (None, NOBODY):
        raise UsageError(
            f"against={given['against']!r} is about a verdict, and a run until a width only measures.",
            got="against= and until='width=...'",
            need="one of them",
            hint="leave against= out, or use until='decided'",
        )
    steps = steps_of(
        task,
        models,
        options,
        asking,
        **{name: given[name] for name in ("data", "seed", "output", "name", "against", "spec", "progress", "verdict")},
        where={name: given[name] for name in ("directory", "config")},
        dry_run=dry_run,
    )
    try:
        say_before([next(steps)], given["progress"])
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


def say_before(courses: Sequence[RunSession], progress: Watcher | None) -> None:
    """What is known before the first question: each sentence once, with the tasks that it is about."""
    if not isinstance(progress, Progress):
        return
    known: dict[str, list[str]] = {}
    for course in courses:
        if isinstance(course.watch, UntilDecided) and course.baseline is not None:
            for sentence in course.baseline.warnings:
                known.setdefault(sentence, []).append(course.prepared.task.name)
    progress.beginning(known)


def _refuse_beside(models: int, options: RunOptions, against: str | None, spec: Mapping[str, Any] | None) -> None:
    """What several models that are asked side by side cannot have."""
    many = "two models" if models == 2 else f"{models} models"
    if against is not None or spec:
        what = "against=" if against is not None else "spec="
        raise UsageError(
            f"{what} needs one model: {many} are compared with each other, not with a reference.",
            got=f"{what} and {many}",
            need="one model, or no reference",
        )
    if options.width is not None:
        raise UsageError(
            "until='width=...' needs one model.",
            got=f"until='width=...' and {many}",
            need="one model",
            hint="until='decided' compares two or more",
        )
    if models > 2 and not options.decided:
        raise UsageError(
            "Three models or more need until='decided': the first is the baseline of the others.",
            got=f"{many} that answer all items",
            need="until='decided', or two models",
            hint="until='decided' with theta; or run each model by itself, and `compare` or `rank` the rows",
        )


def steps_of(
    task: Any,
    models: Sequence[Any],
    options: RunOptions,
    asking: Mapping[str, Any],
    *,
    data: Any,
    seed: int | None,
    output: str | os.PathLike[str] | None,
    name: str | Sequence[str] | None,
    against: str | None,
    spec: Mapping[str, Any] | None,
    where: Mapping[str, Any],
    progress: Watcher | None,
    verdict: bool,
    dry_run: bool = False,
) -> Generator[RunSession, None, Evaluation | DryRun]:
    """A run that stops before the first question, after every look and before its rows are written; whoever drives it may end it there."""
    apart = for_each(models, asking)
    directory, config = where["directory"], where["config"]
    prepared = prepare(task, data=data, n=options.n, seed=seed)
    refuse_unheard(models, prepared.scorer, asking)
    if prepared.scorer.sums is not None and options.missing == "wrong":
        raise UsageError(
            f"missing='wrong' has no meaning for the scorer {prepared.scorer.name}: an item without an answer has no sums.",
            got="missing='wrong'",
            need="missing='error' or 'drop'",
            hint="missing='drop' leaves such items out",
        )
    budget = budget_of(options, prepared, len(models)) if options.limited else None
    out = None if output is None else Path(output)
    check_output(out, len(models), [task, prepared.source, *models], directory or find_config(Path.cwd(), config).directory)
    refuse_other_run(rows_paths(out, len(models)), prepared.task.name, prepared.protocol["prompt"])
    with contextlib.ExitStack() as stack:
        asked = [
            stack.enter_context(opened(model, prepared, concurrency=options.concurrency, **own))
            for model, own in zip(models, apart, strict=True)
        ]
        names = named(name, models, asked)
        if len(models) > 1:
            baseline: Baseline | None = beside(prepared, names, options, config)
        else:
            baseline = baseline_of(prepared, names[0], options, against=against, must=options.decided or verdict, spec=spec, **where)
        if verdict and not (options.decided or (len(models) == 1 and options.width is None)):
            raise UsageError(
                "This run is not judged.",
                got="a run that is not judged",
                need="a reference, or until='decided'",
                hint="give a reference, or until='decided'",
            )
        higher_is_better = direction_of(baseline, prepared, config)
        up = prepared.quantity.scores_up(higher_is_better)
        stored = None if baseline is None else baseline.stored
        beyond = options.decided and stored is not None and (stored[0] < 0 or stored[1] > 1)  # 0 is not the worst score then
        if options.missing == "wrong" and prepared.quantity.scored and prepared.span is None and (beyond or not up):
            raise unknown_worst(higher_is_better=up, hint=RANGE_IN_TASK)
        if options.unmatched == "drop" and baseline is not None and baseline.past is not None:
            kept = tuple(case for case in prepared.cases if baseline.key(case.id) in baseline.past)
            prepared = replace(prepared, cases=kept)
        watch = _as_begun(_watch(options, baseline, prepared), out, baseline)
        watches = [] if watch is None else [watch]
        if len(models) > 2 and isinstance(watch, UntilDecided) and baseline is not None:
            watches += [UntilDecided(watch.plan, baseline.rule.sign) for _ in models[2:]]
        if isinstance(watch, UntilDecided) and watch.plan.strata is not None and baseline is not None:
            prepared = in_order(prepared, baseline, watch.plan.strata)
        if dry_run:
            return dry_run_of(
                prepared,
                asked,
                names,
                options,
                judged=None if baseline is None else baseline.model,
                expected=_expected(watch, baseline, prepared, options, len(models)),
                told_before=() if baseline is None or not options.decided else tuple(baseline.warnings),
            )
        course = RunSession(
            prepared=prepared,
            models=asked,
            names=names,
            baseline=baseline,
            watches=watches,
            options=options,
            higher_is_better=higher_is_better,
            against=against,
            budget=budget,
            stepwise=len(models) > 2,  # a candidate that is decided is asked nothing more, not even what is under way
            timeout=max((seconds_of(own["timeout"]) for own in apart if "timeout" in own), default=None),
        )
        yield course
        yield from course.steps(out, progress=progress, after=judging(prepared, stack, apart))
    from steelyard_old.questions.run.answer import answered

    return answered(course, out, spec=spec, **where)


def budget_of(options: RunOptions, prepared: Prepared, models: int) -> Budget:
    """What the run may take; a limit that cannot be kept is refused."""
    budget = Budget(max_calls=options.max_calls, max_cost=options.max_cost)
    budget.refuse_less_than(options.repeats * models)
    if options.max_cost is not None and isinstance(prepared.scorer, Judge):
        raise UsageError(
            "max_cost= cannot limit what a judge costs: its tokens have no price.",
            got="max_cost= and the scorer judge",
            need="a scorer that costs nothing",
            hint="use max_calls= instead of max_cost=",
        )
    return budget


def _watch(options: RunOptions, baseline: Baseline | None, prepared: Prepared) -> Watch | None:
    if options.decided:
        assert baseline is not None
        if baseline.past is None and not baseline.live and baseline.metric.scored:
            raise UsageError(
                f"The reference of {baseline.model!r} has no item outcomes, so the run cannot stop early against it.",
                got=f"a reference of {baseline.model!r} without the outcomes of single items",
                need="one that holds them",
                hint="record a run of it with its items: sy.record(run)",
            )
        plan = plan_of(baseline, prepared, options)
        return UntilDecided(plan, baseline.rule.sign, frozenset() if plan.strata is None else wavering_ids(baseline, prepared))
    if options.width is None:
        return None
    if not prepared.quantity.scored:
        raise UsageError(
            f"A run cannot stop at a width of {prepared.task.metric}, a metric of the whole table; it must be right or wrong, or the "
            "mean of a score.",
            got="a metric of the whole table",
            need="right or wrong, or the mean of a score",
        )
    if prepared.span is None:
        raise UsageError(
            f"The scores of {prepared.scorer.name} have no known range, so the run cannot stop at a width.",
            got=f"scores of {prepared.scorer.name} without a known range",
            need="their ends",
            hint="range = [0, 1] in the task",
        )
    low, high = prepared.span
    if options.width >= high - low:
        raise UsageError(
            f"The width must be below the range of {prepared.task.metric}, which is {low:g} to {high:g}; it is {options.width:g}.",
            got=f"{options.width:g}",
            need=f"a width below {high - low:g}",
            hint=f"until='width={0.04 * (high - low):g}'",
        )
    return UntilNarrow(options.width, options.every, prepared.span, 1 - LEVEL)


def _expected(
    watch: Watch | None, baseline: Baseline | None, prepared: Prepared, options: RunOptions, models: int
) -> tuple[dict[str, Any] | None, str | None]:
    """What the run will probably take, or why that cannot be foreseen; neither of a run that asks all items."""
    if not isinstance(watch, UntilDecided) or baseline is None:
        return None, None
    from steelyard_old.questions.run.foreseen import foreseen

    return foreseen(watch.plan, baseline, prepared, options, models)


def _as_begun(watch: Watch | None, output: Path | None, baseline: Baseline | None) -> Watch | None:
    """A run that 0.1.0 began with this very plan goes on by the rule that 0.1.0 would have taken."""
    if not isinstance(watch, UntilDecided) or output is None or baseline is None:
        return watch
    earlier = watch.plan.as_earlier()
    return UntilDecided(earlier, baseline.rule.sign) if begun_as(journal_path(output)).get("stopping") == earlier.to_dict() else watch
