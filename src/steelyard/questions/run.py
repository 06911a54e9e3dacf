"""Evaluate a model now, and stop as soon as the question is decided."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.errors import DataError, UsageError
from steelyard.evaluate.asking import Asked, Watcher, ask_all, interleaved
from steelyard.evaluate.asks import Answer, Ask, Case, Model, Scored
from steelyard.evaluate.journal import Journal
from steelyard.evaluate.told import row_of
from steelyard.questions.plan_checks import number, whole
from steelyard.questions.run_judge import Bench, bench_of, beside, plan_of
from steelyard.questions.run_models import judging, named, opened
from steelyard.questions.run_notes import journal_path
from steelyard.questions.run_task import Prepared, prepare
from steelyard.questions.run_watch import Decided, Narrow, Watch
from steelyard.runs import Evaluation

EVERY = 32  # items between two looks: performance falls when it exceeds a tenth of the fixed design
LEVEL = 0.95
MAX_ERROR_RATE = 0.02
AHEAD = 64  # asks begun per thread before the first is handed out, where no early end could waste them: retries hold nobody up


def run(
    task: Any,
    *models: Any,
    output: str | os.PathLike[str] | None = None,
    name: str | Sequence[str] | None = None,
    against: str | None = None,
    spec: Mapping[str, Any] | None = None,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    until: str | None = None,
    stopping: str | None = None,
    looks: int = 20,
    every: int = EVERY,
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
    max_error_rate: float = MAX_ERROR_RATE,
    concurrency: int | None = None,
    prices: Mapping[str, float] | None = None,
    progress: Watcher | None = None,
    **asking: Any,
) -> Evaluation:
    """Ask a model all items of a task, or as many as it takes, and say how good it is and whether it has become worse.

    task: a TOML or YAML file, python:pkg.mod:Class, or a task in Python. models: one, or two to be compared (the first is
    the baseline): openai:NAME with base_url, python:pkg.mod:function, command:PROGRAM, file:PREDICTIONS, a callable or an
    estimator. until: "decided" (by the reference, or between the two), "width=.02" or "n=500". With `output` the rows are
    written there, and a run that was broken off goes on where it was.
    """
    wish = _wish(until)
    prepared = prepare(task, n=wish.get("n", n) if n is None or "n" not in wish else _twice(), seed=seed)
    if not 1 <= len(models) <= 2:
        raise UsageError("cannot run", got=f"{len(models)} models", need="one model, or two to be compared")
    out = None if output is None else Path(output)
    with contextlib.ExitStack() as stack:
        asked = [stack.enter_context(opened(model, prepared, concurrency=concurrency, **asking)) for model in models]
        names = named(name, models, asked)
        rule = {"theta": theta, "margin": margin, "alpha": alpha, "beta": beta, "scale": scale}
        bench = (
            beside(prepared, names, rule, config)
            if len(models) == 2
            else bench_of(
                prepared,
                names[0],
                against=against,
                must="decided" in wish,
                spec=spec,
                directory=directory,
                config=config,
                unmatched=unmatched,
                options=rule,
            )
        )
        if unmatched == "drop" and bench is not None and bench.past is not None:
            kept = tuple(case for case in prepared.cases if bench.key(case.id) in bench.past)
            prepared = replace(prepared, cases=kept)
        planned: dict[str, Any] = {
            "kind": stopping,
            "looks": looks,
            "every": every,
            "repeats": whole("repeats", repeats),
            "discordance": discordance,
        }
        watch = _watch(wish, bench, prepared, **planned)
        held = _Run(prepared=prepared, models=asked, names=names, bench=bench, watch=watch, repeats=repeats, missing=missing, prices=prices)
        held.ask(out, max_error_rate=max_error_rate, concurrency=concurrency, progress=progress, after=judging(prepared, stack, **asking))
    from steelyard.questions.run_answer import answered

    return answered(held, out, spec=spec, directory=directory, config=config, unmatched=unmatched, options=rule, seed=seed)


def _twice() -> Any:
    raise UsageError("cannot tell how many items to ask", got="n and --until n=...", need="one of them")


def _wish(until: str | None) -> dict[str, Any]:
    """decided, width=X or n=N, apart."""
    if until is None:
        return {}
    word, equals, text = until.partition("=")
    try:
        if word == "decided" and not equals:
            return {"decided": True}
        if word == "width":
            return {"width": number("the width", float(text), above=0, hint="width=.02")}
        if word == "n":
            return {"n": whole("n", int(text))}
    except ValueError:
        pass
    raise UsageError("cannot tell when to stop", got=f"--until {until}", need="decided, width=X or n=N", hint="--until width=.02")


def _watch(
    wish: Mapping[str, Any],
    bench: Bench | None,
    prepared: Prepared,
    *,
    kind: str | None,
    looks: int,
    every: int,
    repeats: int,
    discordance: float | None,
) -> Watch | None:
    every = whole("every", every)
    if "decided" in wish:
        assert bench is not None
        if bench.past is None and bench.entry.value is not None:
            raise UsageError(
                "cannot stop when it is decided",
                got=f"a reference of {bench.model!r} without item outcomes",
                need="one that holds them",
                hint="record a run of it with its items: steelyard record RUN",
            )
        plan = plan_of(
            bench,
            prepared,
            kind=kind,
            looks=whole("looks", looks),
            every=every,
            repeats=repeats,
            discordance=discordance,
            cases=prepared.cases,
        )
        return Decided(plan, bench.rule.sign)
    if kind is not None:
        raise UsageError("cannot use --stopping", got=f"--stopping {kind} alone", need="--until decided")
    if "width" in wish:
        ends = prepared.task.range or ((0.0, 1.0) if prepared.scorer.right_or_wrong else None)
        if ends is None:
            raise UsageError(
                "cannot stop at a width",
                got=f"scores of {prepared.scorer.name} without a known range",
                need="their ends",
                hint="range = [0, 1] in the task",
            )
        return Narrow(wish["width"], every, ends, 1 - LEVEL)
    return None


@dataclass(slots=True, kw_only=True)
class _Run:
    """A run under way, and afterwards what it gathered: rows by model, in the order of the cases."""

    prepared: Prepared
    models: Sequence[Model]
    names: Sequence[str]
    bench: Bench | None
    watch: Watch | None
    repeats: int
    missing: str
    prices: Mapping[str, float] | None
    rows: list[list[dict[str, Any]]] = field(default_factory=list)
    items: int = 0
    decided: bool = False
    asked: Asked | None = None

    def identity(self) -> dict[str, Any]:
        """All that must not change between two halves of one run."""
        watch = self.watch
        plan: Any = None
        if isinstance(watch, Decided):
            plan = watch.plan.to_dict()
        elif isinstance(watch, Narrow):
            plan = {"width": watch.width, "every": watch.every}
        return {
            "task": self.prepared.task.name,
            "protocol": self.prepared.protocol,
            "items": self.prepared.digest(),
            "models": [dict(model.identity) for model in self.models],
            "repeats": self.repeats,
            "seed": self.prepared.seed,
            "stopping": plan,
        }

    def ask(
        self,
        output: Path | None,
        *,
        max_error_rate: float,
        concurrency: int | None,
        progress: Watcher | None,
        after: Callable[[Ask, Answer], Answer] | None,
    ) -> None:
        """Ask until all is asked, or enough is known."""
        self.rows = [[] for _ in self.models]
        total = len(self.prepared.cases) * self.repeats * len(self.models)
        asks = interleaved(self.prepared.cases, repeats=self.repeats, models=len(self.models), seed=self.prepared.seed)
        with contextlib.ExitStack() as stack:
            journal = None if output is None else stack.enter_context(Journal.open(journal_path(output), self.identity()))
            answers = stack.enter_context(
                ask_all(
                    asks,
                    self.models,
                    journal,
                    concurrency=concurrency,
                    max_error_rate=max_error_rate,
                    total=total,
                    ahead=None if self.watch is not None else AHEAD * max(1, *(concurrency or model.concurrency for model in self.models)),
                    after=after,
                    progress=progress,
                )
            )
            self.asked = answers.asked
            for case, told in self._by_case(answers):
                self._take(case, told)
                self.items += 1
                if self.watch is not None and self.watch.enough(last=self.items == len(self.prepared.cases)):
                    self.decided = True
                    break

    def _by_case(self, answers: Iterator[tuple[Ask, Answer]]) -> Iterator[tuple[Case, list[tuple[Ask, Answer]]]]:
        """The answers of one case together: they come in the order of the cases."""
        size = self.repeats * len(self.models)
        held: list[tuple[Ask, Answer]] = []
        for one in answers:
            held.append(one)
            if len(held) == size:
                yield held[0][0].case, held
                held = []

    def _take(self, case: Case, told: Sequence[tuple[Ask, Answer]]) -> None:
        values: list[list[float | None]] = [[] for _ in self.models]
        for ask, answer in sorted(told, key=lambda one: (one[0].model, one[0].repeat)):
            scored = self._scored(case, answer)
            self.rows[ask.model].append(row_of(ask, answer, scored, self.prepared.task))
            values[ask.model].append(None if scored is None else scored.score)
        if self.watch is not None:
            self._show(case, values)

    def _scored(self, case: Case, answer: Answer) -> Scored | None:
        if answer.error is not None:
            return None
        return self.prepared.scorer.score(answer.said, case, answer.judgement)

    def _show(self, case: Case, values: Sequence[Sequence[float | None]]) -> None:
        """An item without an answer is no item to a rule: it ends the run, is left out, or counts as wrong, as was asked."""
        means: list[float] = []
        for scores in values:
            there = [score if score is not None else 0.0 for score in scores if score is not None or self.missing == "wrong"]
            if len(there) < len(scores) and self.missing == "error":
                raise DataError(
                    "cannot look at the run",
                    got=f"no answer for item {case.id!r}",
                    need="an answer to every item in its order",
                    hint="the same command asks it again; --missing drop leaves it out, --missing wrong counts it as wrong",
                )
            if not there:
                return
            means.append(sum(there) / len(there))
        reference: float | None = None
        if len(means) == 2:
            reference = means[0]
        elif self.bench is not None and self.bench.past is not None:
            reference = self.bench.past[self.bench.key(case.id)]
        assert self.watch is not None
        self.watch.add(case, reference, means[-1])
