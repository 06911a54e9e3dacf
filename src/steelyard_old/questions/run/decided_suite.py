"""A suite that is run until it is decided: tasks asked step by step, the most suspicious first, one verdict by one rule."""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from steelyard_old.errors import UsageError
from steelyard_old.estimate.guard.suite_file import about_check
from steelyard_old.evaluate.asking.asking import Watcher
from steelyard_old.infer.sequential.el_sprt import EmpiricalLikelihoodSprt
from steelyard_old.infer.sequential.profile_mcnemar import ProfileMcNemar
from steelyard_old.infer.sequential.suite_stopping import SuiteStopping, SuiteTask, task_alpha
from steelyard_old.options.option import number, whole
from steelyard_old.options.run import EVERY, MAX_ERROR_RATE, MISSING, REPEATS, STOP, UNMATCHED, settle_run
from steelyard_old.questions.run.limits import Budget
from steelyard_old.questions.run.run import say_before, steps_of
from steelyard_old.questions.run.session import RunSession, UntilDecided
from steelyard_old.questions.run.task import read_task
from steelyard_old.reference.config import TIERS
from steelyard_old.results import signature
from steelyard_old.results.evaluation import DryRun, Evaluation
from steelyard_old.results.stopping import PooledRatio, ReachedLimit, StoppedSuite, SuiteLook
from steelyard_old.results.verdict import WORSENING, Suite, SuiteRow, Verdict

OF_RULE = ("spec", "theta", "margin", "alpha", "beta", "scale", "missing", "unmatched")
OF_RESULTS = ("by", "critical_slices", "recovery", "sigma", "num_samples", "target")  # what `check` knows, and no task file says
OF_MODEL = ("base_url", "api", "key_env", "batch", "timeout")
SEQUENTIAL = "sequential"  # the correction of such a suite: alpha is shared beforehand


class AskedCheck(Protocol):
    """A check of a suite file: what it is judged by, and how its model is run."""

    @property
    def options(self) -> Mapping[str, Any]: ...

    @property
    def tier(self) -> str: ...

    @property
    def waiver(self) -> Mapping[str, Any] | None: ...

    @property
    def run(self) -> Mapping[str, Any] | None: ...


class AskedSuite(Protocol):
    """A suite file as it was read."""

    @property
    def file(self) -> Path: ...

    @property
    def guards(self) -> Sequence[AskedCheck]: ...

    @property
    def alpha(self) -> float: ...

    @property
    def name(self) -> str | None: ...

    @property
    def where(self) -> Mapping[str, Any]: ...

    @property
    def warnings(self) -> Sequence[str]: ...


Steps = Generator[RunSession, None, Evaluation | DryRun]


@dataclass(slots=True, kw_only=True)
class TaskUnderWay:
    """A check of the suite that is being run."""

    guard: AskedCheck
    steps: Steps
    session: RunSession
    found: Evaluation | None = None

    @property
    def name(self) -> str:
        return f"{self.guard.options['task']} {self.guard.options['model']}"

    @property
    def watch(self) -> UntilDecided:
        assert isinstance(self.session.watch, UntilDecided)  # asked for
        return self.session.watch

    @property
    def calls(self) -> int:
        """Answers that count: every item of this task, as often as it is asked."""
        return self.session.items * self.session.options.repeats


@dataclass(slots=True, kw_only=True)
class SuiteSession:
    """The suite under way: the rule over all tasks, and how far each of them is."""

    asked: AskedSuite
    tasks: Sequence[TaskUnderWay]
    rule: SuiteStopping
    limit: ReachedLimit | None = field(default=None)

    def follow(self) -> None:
        """Ask, always the task that the rule names, until the suite is decided or a limit is reached."""
        while (place := self.rule.next) is not None:
            task = self.tasks[place]
            with about_check(task.guard.options):
                next(task.steps)
            if not task.session.over:
                continue
            if task.session.limit is not None:
                self.limit = replace(task.session.limit, said=f"{task.session.limit.said} of {task.name}")
                return
            if task.watch.rule.decision == "continue":  # a score outside its range: its rule can decide nothing any more
                self.rule.end(place)

    def finish(self) -> None:
        """Rows and notes of every task that was asked. One that was left open says what ended it."""
        for task in self.tasks:
            session = task.session
            session.suite = {**self.rule.plan(), "name": self.asked.name, "decision": self.rule.decision}
            session.kept = self.limit is not None  # the same command goes on from all journals, those of decided tasks too
            if not session.items:
                task.steps.close()
                continue
            with about_check(task.guard.options):
                if not session.over:
                    session.limit = self._ended(task)
                    next(task.steps)
                try:
                    next(task.steps)
                except StopIteration as end:
                    task.found = end.value

    def _ended(self, task: TaskUnderWay) -> ReachedLimit:
        last = task.session.prepared.cases[task.session.items - 1].id
        if self.limit is not None:
            return ReachedLimit(
                limit="suite", most=self.limit.most, used=self.limit.used, item=last, said=f"in the suite {self.limit.said}"
            )
        return ReachedLimit(limit="suite", most=0, used=0, item=last, said=f"the suite was decided first, by {self.decided_by}")

    @property
    def decided_by(self) -> str:
        """What made the suite a regression."""
        named = [self.tasks[place].name for place in self.rule.named]
        return ", ".join(named) or "all tasks together"


def as_one(until: str | None, **chosen: Any) -> Callable[[AskedSuite], Suite]:
    """How a suite is run until it is decided, refused before the file is read if that is not what was asked for."""
    if until != "decided":
        got = f"until={until!r}" if until is not None else "no until"
        raise UsageError(
            "A whole suite stops with until='decided' alone; stop, max_calls and max_cost belong to it.",
            got=got,
            need="until='decided'",
            hint="until, n and limits of a single task belong into its table `run`",
        )
    return functools.partial(decided_suite, **chosen)


def decided_suite(
    asked: AskedSuite,
    *,
    stop: str = STOP.default,
    max_calls: int | None = None,
    max_cost: float | None = None,
    progress: Watcher | None = None,
) -> Suite:
    """The suite, run until it is decided."""
    _refuse(asked)
    if max_cost is not None:
        for guard in asked.guards:
            refuse_without_prices(guard)
    budget = Budget(
        max_calls=None if max_calls is None else whole("max_calls", max_calls),
        max_cost=None if max_cost is None else number("max_cost", max_cost, above=0),
    )
    with contextlib.ExitStack() as stack:
        tasks = []
        for guard in asked.guards:
            steps = _steps(guard, asked, budget, progress)
            stack.callback(steps.close)
            with about_check(guard.options):
                session = next(steps)
            session.stepwise, session.budget = True, budget if max_calls is not None or max_cost is not None else None
            tasks.append(TaskUnderWay(guard=guard, steps=steps, session=session))
        rule = SuiteStopping(
            [_as_task(task) for task in tasks],
            alpha=asked.alpha,
            beta=max(task.watch.plan.beta for task in tasks),
            step=max(task.watch.plan.every for task in tasks),
            stop=stop,
        )
        say_before([task.session for task in tasks], progress)
        for place, task in enumerate(tasks):
            task.watch.look = _looking(rule, place)
        suite = SuiteSession(asked=asked, tasks=tasks, rule=rule)
        suite.follow()
        suite.finish()
    return _answer(suite)


def _looking(rule: SuiteStopping, place: int) -> Any:
    return lambda units, last=False: rule.look(place, units, last=last)


def _refuse(asked: AskedSuite) -> None:
    """What such a suite cannot have, before anything is opened."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    for place, guard in enumerate(asked.guards, 1):
        own = guard.run or {}
        limits = [name for name in ("max_calls", "max_cost", "n") if name in own] + ["until"] * (own.get("until", "decided") != "decided")
        wrong = (
            "has no table `run`"
            if guard.run is None
            else f"is {guard.tier}: it would end nothing, and belongs into a suite of its own"
            if not TIERS[guard.tier].fails
            else "has a waiver: take it out of the suite until the waiver ends"
            if guard.waiver is not None and guard.waiver["until"] >= today
            else "has an alpha of its own: alpha is the suite's, and shared among the tasks"
            if "alpha" in guard.options
            else f"has {limits[0]} in its table `run`: the suite decides when it stops"
            if limits
            else ""
        )
        if wrong:
            raise UsageError(
                f"In the suite {asked.file.name!r}, check {place} ({guard.options['task']}) {wrong}.",
                got=f"check {place} that {wrong}",
                need="checks that are run and judged together",
                hint="without until every check is run by itself",
            )
        refuse_other_task(guard)


def refuse_other_task(guard: AskedCheck) -> None:
    """The task file must be of the task that the suite names, and the check must say nothing that only a result has."""
    task = guard.options["task"]
    assert guard.run is not None
    unknown = [name for name in guard.options if name not in (*OF_RULE, "task", "model")]
    if unknown:
        by_result = unknown[0] in OF_RESULTS
        raise UsageError(
            f"The check of {task!r} runs its model, and such a check cannot have {unknown[0]!r}.",
            got=f"{unknown[0]} beside run",
            need=f"a result to check with {unknown[0]}" if by_result else "what the task file says",
            hint=f'say output = "FILE" in its table `run`, and check that file with {unknown[0]} in a second suite'
            if by_result
            else f"leave {unknown[0]} out here: the task file says it",
        )
    if "max_cost" in guard.run:
        refuse_without_prices(guard)
    named = read_task(guard.run["task"], guard.run.get("data")).name
    if named != task:
        raise UsageError(
            f"The task file is of {named!r}, but the suite says {task!r}.",
            got=f"the task {named!r}, where the suite says {task!r}",
            need="one name",
        )


def refuse_without_prices(guard: AskedCheck) -> None:
    """A limit of money needs the prices of the check's model, which only its table `run` can say."""
    if "prices" not in (guard.run or {}):
        raise UsageError(
            f"The check of {guard.options['task']!r} says no prices, so its cost cannot be limited.",
            got="max_cost and a check without prices",
            need="the price of a million tokens, for every model",
            hint="prices = {input = 0.15, output = 0.6} in its table `run`",
        )


def _steps(guard: AskedCheck, asked: AskedSuite, budget: Budget, progress: Watcher | None) -> Steps:
    """The run of one check, with its share of alpha."""
    own = {name: value for name, value in dict(guard.run or {}).items() if name != "until"}
    said = guard.options
    rule = {name: said.get(name) for name in ("theta", "margin", "beta", "scale")}
    options = settle_run(
        until="decided",
        stopping=own.get("stopping"),
        looks=own.get("looks"),
        every=own.get("every", EVERY.default),
        discordance=own.get("discordance"),
        strata=own.get("strata"),
        n=None,
        repeats=own.get("repeats", REPEATS.default),
        missing=said.get("missing", MISSING.default),
        unmatched=said.get("unmatched", UNMATCHED.default),
        max_error_rate=own.get("max_error_rate", MAX_ERROR_RATE.default),
        max_calls=budget.max_calls,
        max_cost=budget.max_cost,
        concurrency=own.get("concurrency"),
        prices=own.get("prices"),
        rule={**rule, "alpha": task_alpha(asked.alpha, len(asked.guards))},
    )
    return steps_of(
        own["task"],
        [own["model"]],
        options,
        {name: own[name] for name in OF_MODEL if name in own},
        data=own.get("data"),
        seed=own.get("seed"),
        output=own.get("output"),
        name=own.get("name"),
        against=said["model"],
        spec=said.get("spec"),
        where=asked.where,
        progress=progress,
        verdict=True,
    )


def _as_task(task: TaskUnderWay) -> SuiteTask:
    """The task as the rule of the suite sees it: differences without a known range, or in groups, stay out of the heap."""
    plan, rule = task.watch.plan, task.watch.rule
    ends: tuple[float, float] | None = None
    if isinstance(rule, EmpiricalLikelihoodSprt):
        width = rule.score_range[1] - rule.score_range[0]
        ends = (rule.ends[0] * width, rule.ends[1] * width)
    elif isinstance(rule, ProfileMcNemar):
        ends = (-1.0, 1.0)
    return SuiteTask(rule=rule, theta=plan.theta, margin=plan.margin, ends=ends)


# ---- the answer --------------------------------------------------------------------------------------------------------------


def _answer(suite: SuiteSession) -> Suite:
    rule, asked = suite.rule, suite.asked
    verdicts = [_verdict(task, suite) for task in suite.tasks]
    decision = "regression" if rule.worse else rule.decision  # a limit ends the asking, and undoes nothing
    outcome = {"regression": "regression", "pass": "pass"}.get(decision, "inconclusive")
    used, there = (sum(each) for each in zip(*((task.calls, _all(task)) for task in suite.tasks), strict=True))
    pooled = next((look for look in reversed(rule.looks) if look["pooled"] is not None), None)
    stopping = StoppedSuite(
        rule=rule.plan(),
        decision=decision,
        named=tuple(suite.tasks[place].name for place in rule.named),
        pooled=None
        if pooled is None
        else PooledRatio(log_likelihood_ratio=pooled["pooled"], needed=pooled["pooled_needed"], worse=rule.pooled_worse),
        calls=used,
        calls_available=there,
        calls_saved=there - used,
        limit=suite.limit,
        tasks=tuple(task.watch.stopped(task.name, task.session.items, len(task.session.prepared.cases)) for task in suite.tasks),
        looks=tuple(SuiteLook.from_dict(look) for look in rule.looks),
    )
    rows = [
        SuiteRow(
            task=verdict.task,
            model=verdict.model,
            spec=dict(verdict.spec),
            tier=task.guard.tier,
            verdict=verdict.verdict,
            p_value=verdict.p_value,
            p_adjusted=None if verdict.p_value is None else min(1.0, verdict.p_value * asked.alpha / verdict.alpha),
            confirmed=verdict.verdict == "regression",
            counts_as=verdict.verdict,
            waiver=None,
        )
        for task, verdict in zip(suite.tasks, verdicts, strict=True)
    ]
    return Suite(
        verdict=outcome,
        correction=SEQUENTIAL,
        alpha=asked.alpha,
        verdicts=tuple(verdicts),
        rows=tuple(rows),
        name=asked.name,
        conclusion=_conclusion(suite, outcome, stopping),
        stopping=stopping,
        warnings=tuple(asked.warnings),
        signature=signature.write({"n": len(verdicts), "correction": SEQUENTIAL, "alpha": asked.alpha}),
    )


def _all(task: TaskUnderWay) -> int:
    return len(task.session.prepared.cases) * task.session.options.repeats


def _verdict(task: TaskUnderWay, suite: SuiteSession) -> Verdict:
    found = task.found.verdict if task.found is not None else None
    if found is not None:
        return _tiered(found, task)
    baseline, plan = task.session.baseline, task.watch.plan
    assert baseline is not None
    why = suite.limit.said if suite.limit is not None else f"the suite was decided first, by {suite.decided_by}"
    return _tiered(
        Verdict(
            verdict="inconclusive",
            task=task.session.prepared.task.name,
            model=baseline.model,
            metric=baseline.rule.metric,
            higher_is_better=baseline.rule.higher_is_better,
            scale=baseline.scale,
            design="paired",
            n=0,
            alpha=plan.alpha,
            beta=plan.beta,
            theta=plan.theta * baseline.unit,
            spec=dict(task.guard.options.get("spec") or {}),
            conclusion=f"not asked: {why}.",
        ),
        task,
    )


def _tiered(verdict: Verdict, task: TaskUnderWay) -> Verdict:
    return replace(verdict, tier=task.guard.tier)


def _conclusion(suite: SuiteSession, outcome: str, stopped: StoppedSuite) -> str:
    used, there = stopped.calls, stopped.calls_available
    calls = f"{used:,} of {there:,} calls" + (f", {there - used:,} saved" if there > used else "")
    many = len(suite.tasks)
    if outcome == "regression":
        named = stopped.named
        shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
        how = f"Worse: {shown}." if named else "Worse together: some task dropped, but it is not clear which."
        if suite.limit is None:
            return f"{how} Decided after {calls}."
        still = sum(task.watch.rule.decision == "continue" for task in suite.tasks)
        return f"{how} Ended after {calls}: {suite.limit.said}. Left open: {still:,} of {many:,} tasks."
    if suite.limit is not None:
        return f"Not decided after {calls}: {suite.limit.said}."
    if outcome == "pass":
        ways = {WORSENING[each.rule.higher_is_better] for task in suite.tasks if (each := task.session.baseline) is not None}
        worse = ways.pop() if len(ways) == 1 else "loss"
        levels = {task.watch.plan.beta for task in suite.tasks}
        level = f"level {1 - levels.pop():g}" if len(levels) == 1 else "level 1 - beta"
        whole = "The only task" if many == 1 else f"Every one of {many} tasks"
        return f"{whole} rules out a {worse} of its theta, at {level}. Decided after {calls}."
    beyond = [f"in {task.name} {task.watch.outside.words}" for task in suite.tasks if task.watch.outside is not None]
    out = [task.name for task in suite.tasks if task.watch.outside is None and task.watch.rule.decision != "pass"]
    if out:
        beyond.append(f"{', '.join(out[:3])}{' and more' if len(out) > 3 else ''} ran out of items")
    return f"Not decided after {calls}: {'; '.join(beyond)}."
