"""A run under way: asks in their order, answers scored and gathered case by case, looked at when a look is due."""

from __future__ import annotations

import contextlib
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from steelyard_old.errors import DataError
from steelyard_old.estimate.guard.sequential import OUTSIDE, Outside, PairedSeries, StoppingPlan, outside_of
from steelyard_old.evaluate.asking.asking import AskingState, Watcher, ask_all, interleaved
from steelyard_old.evaluate.asking.asks import Answer, Ask, Case, Model, Scored
from steelyard_old.evaluate.asking.deadline import Calls, TooSlow
from steelyard_old.evaluate.asking.journal import Journal
from steelyard_old.evaluate.asking.plain import whole_characters
from steelyard_old.evaluate.asking.summary import row_of
from steelyard_old.evaluate.scorers.matching import in_time
from steelyard_old.infer.sequential.confidence_sequence import ConfidenceSequence
from steelyard_old.infer.sequential.wavering import WaveringStrata
from steelyard_old.options.run import RunOptions
from steelyard_old.questions.run.baseline import Baseline
from steelyard_old.questions.run.limits import Budget
from steelyard_old.questions.run.task import Prepared
from steelyard_old.reference.run_notes import journal_path
from steelyard_old.results.stopping import ReachedLimit, StoppedTask
from steelyard_old.tally.design import worst_score

WEIGHT = "weight"  # the column of rows whose items were not all asked alike
ROOM = 1024  # items that there is room for at first
NO_SCORE = "timeout: no score"  # how the error of an item begins whose scorer did not come to an end
RANGE_IN_TASK = "range = [LOW, HIGH] in the task, or missing='drop'"
LEVEL = 0.95  # of intervals that hold whenever one stops


class Watch(Protocol):
    """Sees every item in its order and says when it is enough."""

    looked: list[int]

    @property
    def unlooked(self) -> int:
        """Items that came after the last look."""

    def add(self, case: Case, reference: float | None, candidate: float) -> None:
        """One more item."""

    def enough(self, *, last: bool) -> bool:
        """Whether the question is decided. Looks only when a look is due; `last`: there are no more items."""


class UntilDecided:
    """Stops when a rule has decided. With groups it looks between whole ones only."""

    def __init__(self, plan: StoppingPlan, sign: int, wavering: frozenset[str] = frozenset()) -> None:
        self.plan, self.rule, self.looked, self._sign, self._wavering = plan, plan.rule(), [], sign, wavering
        self._ids: list[str] = []
        self._values = np.empty((ROOM, 3))  # (reference, candidate, k), with room for more: a look must not copy what earlier ones saw
        self._groups: list[str | None] = []
        self._whole = 0  # items of groups that are complete
        self.outside: Outside | None = None
        self.look: Callable[..., str] = self.rule.look  # a suite looks at its other tasks as well

    looked: list[int]

    def add(self, case: Case, reference: float | None, candidate: float) -> None:
        assert reference is not None  # a run without one is never watched for a decision
        if not self._groups or case.group is None or case.group != self._groups[-1]:
            self._whole = len(self._ids)
        if len(self._ids) == len(self._values):
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        self._values[len(self._ids)] = reference, candidate, self.k(case)
        self._ids.append(case.id)
        self._groups.append(case.group)
        if case.group is None:
            self._whole = len(self._ids)
        if self.outside is None:
            newest = PairedSeries(ids=(case.id,), reference=np.array([reference]), candidate=np.array([candidate]), group=(case.group,))
            self.outside = outside_of(newest, self.plan)

    def k(self, case: Case) -> float:
        """How often the item is asked, relative to the mean of the pool."""
        return 1.0 if self.plan.strata is None else self.plan.strata.factors[case.id in self._wavering]

    def stopped(self, task: str, n: int, available: int) -> StoppedTask:
        """How far it got, for the suite that it is part of."""
        last: Mapping[str, Any] = self.rule.looks[-1] if self.rule.looks else {}
        return StoppedTask(
            task=task,
            n=n,
            available=available,
            alpha=self.plan.alpha,
            log_likelihood_ratio=last.get("lambda"),
            needed=last.get("needed"),
            decision=self.rule.decision if self.outside is None else OUTSIDE,
        )

    def enough(self, *, last: bool) -> bool:
        if self.outside is not None:  # at once: the rule can decide nothing any more, and the item must be among the rows
            self.looked.append(len(self._ids))
            return True
        n = len(self._ids) if last else self._whole
        seen = self.looked[-1] if self.looked else 0
        if not n or (n - seen < self.plan.every and not last):  # the last look is made, even if nothing was added since the one before
            return False
        self.looked.append(n)
        grouped = self.plan.groups is not None
        past, now, k = self._values[:n].T
        units = self.series(n).units(self._sign, grouped=True) if grouped else self._sign * ((now - past) / k)
        self.look(units, last=last)
        return self.rule.decision != "continue"

    @property
    def unlooked(self) -> int:
        return len(self._ids) - (self.looked[-1] if self.looked else 0)

    def series(self, n: int | None = None) -> PairedSeries:
        """The first n items, or all."""
        n = len(self._ids) if n is None else n
        values = self._values[:n].copy()
        return PairedSeries(
            ids=tuple(self._ids[:n]),
            reference=values[:, 0],
            candidate=values[:, 1],
            group=tuple(self._groups[:n]),
            k=None if self.plan.strata is None else values[:, 2],
        )


class UntilNarrow:
    """Stops when the interval of a mean is narrow enough, whenever that is: a confidence sequence holds at every look at once."""

    def __init__(self, width: float, every: int, ends: tuple[float, float], alpha: float) -> None:
        self.width, self.every, self.looked = width, every, []
        self.sequence = ConfidenceSequence(ends, alpha, width=width)  # bets that aim at it get there in a fraction of the items
        self.interval: tuple[float, float] = ends
        self._scores = array("d")  # numbers side by side: a look copies them at once

    looked: list[int]

    def add(self, case: Case, reference: float | None, candidate: float) -> None:
        self._scores.append(candidate)

    def enough(self, *, last: bool) -> bool:
        n, seen = len(self._scores), self.looked[-1] if self.looked else 0
        if n == seen or (n - seen < self.every and not last):
            return False
        self.looked.append(n)
        self.interval = self.sequence.look(np.array(self._scores))
        return self.interval[1] - self.interval[0] <= self.width

    @property
    def unlooked(self) -> int:
        return len(self._scores) - (self.looked[-1] if self.looked else 0)


AHEAD = 64  # asks begun per thread before the first is handed out, where no early end could waste them: retries hold nobody up


@dataclass(slots=True, kw_only=True)
class RunSession:
    """A run under way, and afterwards what it gathered: rows by model, in the order of the cases.

    There is a watch for the model that is checked against a record, or for each candidate that is checked against the first model. A
    candidate whose watch has had enough is asked no further; the first model is asked as far as the last of them needs.
    """

    prepared: Prepared
    models: Sequence[Model]
    names: Sequence[str]
    baseline: Baseline | None
    watches: Sequence[Watch]
    options: RunOptions
    higher_is_better: bool = True  # of the metric: by the reference, the configuration, the task or the metric itself
    against: str | None = None
    timeout: float | None = None  # seconds for a score
    budget: Budget | None = None
    limit: ReachedLimit | None = None  # that ended it
    stepwise: bool = False  # nothing is asked ahead of the next look: who drives it decides then whether it goes on
    kept: bool = False  # the journal stays though the run is over: that of its suite is not
    over: bool = False
    suite: Mapping[str, Any] | None = None  # the plan of the suite that it is a part of
    rows: list[list[dict[str, Any]]] = field(default_factory=list)
    items: int = 0  # of the model that was asked most
    counted: list[int] = field(default_factory=list)  # of each model, once the run is over
    output: Path | None = None
    decided: bool = False
    asked: AskingState | None = None
    _calls: Calls | None = None
    _open: list[int] = field(default_factory=list)  # the places of models that are still asked
    _sizes: deque[int] = field(default_factory=deque)  # asks of each case that is under way; empty where all models are asked every case

    @property
    def watch(self) -> Watch | None:
        """Of a run with one candidate; of several, that of the one that was asked most."""
        return self.watch_of(0)

    def watch_of(self, place: int) -> Watch | None:
        """What watches the model at this place; of the first of several models, the watch of the candidate that was asked most."""
        if not self.watches:
            return None
        first = len(self.models) - len(self.watches)
        if place >= first:
            return self.watches[place - first]
        most = max(self.counted[first:], default=0)
        return self.watches[0 if not most else self.counted.index(most, first) - first]

    def is_open(self, place: int) -> bool:
        """Whether the model at this place would have been asked more: its watch has not had enough."""
        return place in self._open

    @property
    def askable(self) -> tuple[Case, ...]:
        """The items that can be asked: all of them, or as many as there are before the wavering ones run out."""
        return self.prepared.cases[: self.watch.plan.limit if isinstance(self.watch, UntilDecided) else None]

    @property
    def strata(self) -> WaveringStrata | None:
        """By which wavering items are asked more often; None where all are asked alike."""
        return self.watch.plan.strata if isinstance(self.watch, UntilDecided) else None

    @property
    def goes_on(self) -> bool:
        """Whether the same command continues from the journal: a limit of calls or cost ended the run, or its suite."""
        return self.kept or (self.limit is not None and self.limit.limit != "suite")

    @property
    def worst(self) -> float:
        """What an item without an answer is worth if it counts as wrong; 0 where only the scores will tell, at the end."""
        up = self.prepared.quantity.scores_up(self.higher_is_better)
        found = worst_score((), self.prepared.span, higher_is_better=up)
        return 0.0 if found is None else found

    def identity(self) -> dict[str, Any]:
        """All that must not change between two halves of one run."""
        watch = self.watch
        plan: Any = None
        if isinstance(watch, UntilDecided):
            plan = watch.plan.to_dict()
        elif isinstance(watch, UntilNarrow):
            plan = {"width": watch.width, "every": watch.every}
        return {
            "task": self.prepared.task.name,
            # A journal keeps answers, which are scored anew: how the scorer reads them may have changed in between.
            "protocol": {key: value for key, value in self.prepared.protocol.items() if key != "scorer.version"},
            "items": self.prepared.digest(),
            "models": [dict(model.identity) for model in self.models],
            "repeats": self.options.repeats,
            "seed": self.prepared.task.seed,
            "stopping": plan,
        }

    def steps(
        self,
        output: Path | None,
        *,
        progress: Watcher | None,
        after: Callable[[Ask, Answer], Answer] | None,
    ) -> Iterator[RunSession]:
        """Ask until all is asked, or enough is known; after every look, and at the end, comes a stop. A limit set meanwhile ends it."""
        self.output = output
        self.rows = [[] for _ in self.models]
        self._open = list(range(len(self.models)))
        total = len(self.askable) * self.options.repeats * len(self.models)
        if self.budget is not None and self.budget.max_calls is not None:
            total = min(total, self.budget.max_calls)
        with contextlib.ExitStack() as stack:
            if self.timeout is not None:
                self._calls = Calls(self.timeout + 1)  # a pattern has a limit of its own, which comes first
                stack.callback(self._calls.close)
            journal = None if output is None else stack.enter_context(Journal.open(journal_path(output), self.identity()))
            cases = self.askable if self.budget is None and not self.stepwise else self._allowed()
            answers = stack.enter_context(
                ask_all(
                    interleaved(cases, self.options.repeats, self._open, self.prepared.task.seed),
                    self.models,
                    journal,
                    concurrency=self.options.concurrency,
                    max_error_rate=self.options.max_error_rate,
                    total=total,
                    ahead=self._ahead(),
                    after=after,
                    progress=progress,
                )
            )
            self.asked, askable = answers.asked, len(self.askable)
            for case, told in self._by_case(answers):
                self._take(case, told)
                self.items += 1
                looked = self._look(last=self.items == askable)
                if self.decided or (self.budget is not None and self.budget.spent):
                    break
                if looked:
                    yield self
                    if self.limit is not None:
                        break
        self._count()
        self.over = True
        if self.limit is None and self.budget is not None and not self.decided and self.items < len(self.askable):
            self.limit = self.budget.reached(self.prepared.cases[self.items - 1].id if self.items else None)
        yield self

    def _allowed(self) -> Iterator[Case | None]:
        """The cases, as far as the calls go; of a run that goes step by step, None where the next look is due."""
        for place, case in enumerate(self.askable):
            while self.stepwise and place >= self.items + self.options.every - self._since():
                yield None
            if self.budget is not None and not self.budget.begin(self.options.repeats * len(self._open)):
                return
            self._sizes.append(self.options.repeats * len(self._open))
            yield case

    def _since(self) -> int:
        """Items since the last look, as far as they bring the next one nearer: a look may be due only where a group is complete."""
        since = max((watch.unlooked for _, watch in self._watching()), default=0)
        return since if since < self.options.every else self.options.every - 1

    def _watching(self) -> list[tuple[int, Watch]]:
        """The watches that have not had enough, with the places of the models they watch."""
        first = len(self.models) - len(self.watches)
        return [(place, watch) for place, watch in enumerate(self.watches, first) if place in self._open]

    def _look(self, *, last: bool) -> bool:
        """Look where a look is due, and let go of every model whose watch has had enough. Whether somebody looked."""
        before = sum(len(watch.looked) for watch in self.watches)
        for place, watch in self._watching():
            if watch.enough(last=last):
                self._open.remove(place)
                self._leave_out(place, watch.unlooked)
        self.decided = bool(self.watches) and not self._watching()
        return sum(len(watch.looked) for watch in self.watches) > before

    def _ahead(self) -> int | None:
        """How far to ask ahead: what an early end, or a cost limit, would waste is kept small."""
        most = [self.options.concurrency or model.concurrency for model in self.models]
        if self.budget is not None and self.budget.max_cost is not None:
            return max(1, sum(most))
        return None if self.watches else AHEAD * max(1, *most)

    def _leave_out(self, place: int, cases: int) -> None:
        """What came after the last look is not a part of the run: the first item of the next group told that one was complete."""
        rows = self.rows[place]
        del rows[len(rows) - cases * self.options.repeats :]

    def _count(self) -> None:
        """How many items each model was asked that count. The first of several models has no more of them than the last candidate."""
        self.counted = [len(rows) // self.options.repeats for rows in self.rows]
        if self.decided and len(self.models) > len(self.watches):
            self.counted[0] = max(self.counted[1:])
            del self.rows[0][self.counted[0] * self.options.repeats :]
        self.items = max(self.counted)

    def _by_case(self, answers: Iterator[tuple[Ask, Answer]]) -> Iterator[tuple[Case, list[tuple[Ask, Answer]]]]:
        """The answers of one case together: they come in the order of the cases."""
        held: list[tuple[Ask, Answer]] = []
        for one in answers:
            held.append(one)
            if len(held) == (self._sizes[0] if self._sizes else self.options.repeats * len(self.models)):
                if self._sizes:
                    self._sizes.popleft()
                yield held[0][0].case, held
                held = []

    def _take(self, case: Case, told: Sequence[tuple[Ask, Answer]]) -> None:
        values: list[list[float | None]] = [[] for _ in self.models]
        for ask, answer in sorted(told, key=lambda one: (one[0].model, one[0].repeat)):
            answer, scored = self._scored(case, answer)
            row = row_of(ask, answer, scored, self.prepared.task)
            if self.budget is not None:
                self.budget.spend([row], self.options.price[ask.model])
            if ask.model not in self._open:  # let go of while this was under way
                continue
            if isinstance(self.watch, UntilDecided) and self.strata is not None:
                row[WEIGHT] = 1 / self.watch.k(case)  # of the item among those of the pool: it was asked k times as often
            self.rows[ask.model].append(row)
            values[ask.model].append(None if scored is None else scored.score)
        if self.watches:
            self._show(case, values)

    def _scored(self, case: Case, answer: Answer) -> tuple[Answer, Scored | None]:
        """The score. A scorer that does not come to an end in time is an error of that item."""
        if answer.error is not None:
            return answer, None
        if isinstance(answer.said, str) and not answer.said.isascii():  # the journal keeps it as it came, rows must be readable
            answer = replace(answer, said=whole_characters(answer.said))
        try:
            return answer, self._score(case, answer)
        except TooSlow as slow:
            return replace(answer, error=f"{NO_SCORE} within {slow.seconds:g} s"), None

    def _score(self, case: Case, answer: Answer) -> Scored:
        scorer = self.prepared.scorer
        with in_time(self.timeout):
            if self._calls is None:
                return scorer.score_answer(answer, case)
            found: Scored = self._calls.make(lambda: scorer.score_answer(answer, case))
            return found

    def _show(self, case: Case, values: Sequence[Sequence[float | None]]) -> None:
        """Every watch sees the item, unless one of its two sides has no answer."""
        means = [self._mean(case, scores) for scores in values]
        for place, watch in self._watching():
            candidate, reference = means[place], None
            if len(self.models) > 1:
                if means[0] is None:
                    return
                reference = self.prepared.worth(means[0])
            elif self.baseline is not None and self.baseline.past is not None:
                reference = self.baseline.past[self.baseline.key(case.id)]
            if candidate is not None:
                watch.add(case, reference, self.prepared.worth(candidate))

    def _mean(self, case: Case, scores: Sequence[float | None]) -> float | None:
        """An item without an answer is no item to a rule: it ends the run, is left out (None), or counts as wrong, as was asked."""
        there = [score if score is not None else self.worst for score in scores if score is not None or self.options.missing == "wrong"]
        if len(there) < len(scores) and self.options.missing == "error":
            raise DataError(
                f"Item {case.id!r} has no answer.",
                got=f"no answer for item {case.id!r}",
                need="an answer to every item in its order",
                hint="the same command asks it again; missing='drop' leaves it out, missing='wrong' counts it as wrong",
            )
        return sum(there) / len(there) if there else None
