"""Stopping a suite: many tasks, one alpha, the most suspicious task first, half of alpha on all of them together.

A suite of m tasks raises two questions. Has some task dropped, and which? Each task has a stopping rule of its own at
alpha / 2m, so that over all of them a healthy suite is called worse in at most alpha / 2 by a task's rule (Bonferroni). The
other half is for the differences of all tasks in one heap: a little lost everywhere is found there long before any single task
shows it.

Which task is asked next changes no error rate: the bounds of a task depend on its own items alone, and whatever makes it wait,
or never go on, can only take alarms away. So the next step always goes to the open task that looks worst, the one with the
smallest log likelihood ratio Lambda of "no drop" to "a drop of theta", after two steps each. A suite in which one task has
dropped by much ends after a few steps more than those.

A task that passes frees no alpha for the others. Its alarm did not happen, but it could have: whoever hands on what a passed
task has not spent counts it twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.sequential.el_sprt import EmpiricalLikelihoodSprt
from steelyard_old.infer.sequential.empirical_likelihood import FloatArray, counted, evidence_against
from steelyard_old.infer.sequential.profile_mcnemar import check_rates, profile
from steelyard_old.infer.sequential.sequential_mcnemar import ENDS
from steelyard_old.infer.sequential.stopping import StoppingRule
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import unknown_word

VERSION = 1
SHARE = 0.5  # of alpha, for all tasks together
FIRST_STEPS = 2  # of every task, before the most suspicious one is asked first
STOPS = ("first", "all")  # end at the first regression, or when every task is decided


def task_alpha(alpha: float, tasks: int) -> float:
    """The alpha of one task of a suite: alpha (1 - share) / m; a single task has all of it. Reference: Dunn1961.

    >>> task_alpha(0.05, 10), task_alpha(0.05, 1)
    (0.0025, 0.05)
    """
    return alpha if tasks == 1 else alpha * (1 - SHARE) / tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTask:
    """A task of a suite: its rule, made with `task_alpha`, and the numbers that put its differences on one scale with the others.

    `ends`: the least and the greatest difference there can be. None: the range is not known, or items come in groups; then the
    task stays out of the heap, and has its own rule alone.
    """

    rule: StoppingRule
    theta: float
    margin: float = 0.0
    ends: tuple[float, float] | None = (-1.0, 1.0)

    @property
    def gap(self) -> float:
        """From no change beyond the margin to the drop that matters."""
        return self.theta - self.margin


class SuiteStopping:
    """Has some task of the suite lost theta or more? It says which task to ask next, and when that is decided.

    Formula: each of m tasks stops by its own rule at alpha / 2m. All together: y = (difference + margin) / (theta - margin) of
    every item, so that 0 is no change and -1 the drop that matters in every task; Lambda = `evidence_against`(1) - that against
    0 on all y so far; some task has dropped if Lambda <= -A, A = ln(2 / alpha) + .1 + .1 ln(.1 / alpha), less what a batch
    overshoots (that of `EmpiricalLikelihoodSprt` at alpha / 2). With right or wrong and one theta these are the summed counts.
    Next: two steps of every task, then always the open task with the smallest Lambda of its own. The suite passes if every task
    passes, each at level 1 - beta. Assumes what the rules of the tasks assume; tasks need not be independent for their own half
    of alpha. The pooled half was simulated and is no theorem; it is about "no task dropped", and its size means nothing, since
    tasks are not asked equally often. stop: "first" ends at the first regression, "all" when every task is decided.
    A pass frees no alpha. Reference: Dunn1961; Wald1947; Owen1988.

    >>> from steelyard_old.infer.sequential.profile_mcnemar import ProfileMcNemar
    >>> tasks = [SuiteTask(rule=ProfileMcNemar(theta=0.1, alpha=task_alpha(0.05, 2)), theta=0.1) for _ in range(2)]
    >>> suite = SuiteStopping(tasks)
    >>> suite.next, suite.look(0, [0] * 32), suite.look(1, [0] * 24 + [-1] * 8), suite.next
    (0, 'continue', 'regression', None)
    >>> suite.decisions, suite.named, suite.pooled_worse  # some task dropped; the exact rule of the second needs more to name it
    (('pass', 'continue'), (), True)
    """

    name = "suite by suspicion"

    def __init__(self, tasks: Sequence[SuiteTask], *, alpha: float = 0.05, beta: float = 0.2, step: int = 32, stop: str = "first") -> None:
        check_rates(alpha, beta, step)
        if not tasks:
            raise UsageError("A suite has at least one task.", got="no tasks", need="at least one")
        if stop not in STOPS:
            raise unknown_word("stop", stop, STOPS)
        self.tasks, self.alpha, self.beta, self.step, self.stop = tuple(tasks), alpha, beta, step, stop
        self.decision = "continue"
        self.pooled_worse = False
        self._facts: list[Mapping[str, Any]] = []
        self._heap: list[tuple[FloatArray, FloatArray] | None] = [None] * len(self.tasks)
        self._n = [0] * len(self.tasks)
        self._suspicion = [math.inf] * len(self.tasks)
        self._shared = [place for place, task in enumerate(self.tasks) if task.ends is not None]
        self._pool: EmpiricalLikelihoodSprt | None = None
        if len(self._shared) > 1:
            ends = [(end + task.margin) / task.gap for task in self.tasks if task.ends is not None for end in task.ends]
            self._size = max(max(ends), -min(ends))  # y over this lies within -1 and 1
            low, high = min(ends) / self._size, max(ends) / self._size
            self._pool = EmpiricalLikelihoodSprt(
                theta=1 / self._size, alpha=alpha * SHARE, beta=beta, step=step, score_range=(0.0, 1.0), ends=(low, high)
            )

    @property
    def decisions(self) -> tuple[str, ...]:
        """Of each task: continue, regression, pass or exhausted."""
        return tuple(task.rule.decision for task in self.tasks)

    @property
    def named(self) -> tuple[int, ...]:
        """The tasks that have dropped, by their own rules."""
        return tuple(place for place, decision in enumerate(self.decisions) if decision == "regression")

    @property
    def worse(self) -> bool:
        """Whether some task has dropped, by its own rule or by all together. Nothing that comes later takes it back."""
        return self.pooled_worse or bool(self.named)

    @property
    def looks(self) -> tuple[Mapping[str, Any], ...]:
        """Every look: which task, its Lambda, and until a drop is shown that of all tasks together and what an alarm needs."""
        return tuple(self._facts)

    @property
    def next(self) -> int | None:
        """The task to ask next: two steps each, then the most suspicious open one; None when the suite has ended."""
        if self.decision != "continue":
            return None
        still = [place for place, decision in enumerate(self.decisions) if decision not in ENDS]
        early = [place for place in still if len(self.tasks[place].rule.looks) < FIRST_STEPS]
        return early[0] if early else min(still, key=lambda place: self._suspicion[place])

    def look(self, task: int, differences: npt.ArrayLike, last: bool = False) -> str:
        """Continue, regression, pass or exhausted for the suite, after all differences so far of this task. `last`: it has no more."""
        if self.decision != "continue":
            raise UsageError(
                f"This suite has ended with {self.decision!r}.",
                got=f"a suite that ended with {self.decision!r}",
                need="a new SuiteStopping",
            )
        about = self.tasks[task]
        about.rule.look(differences, last=last)
        given = np.asarray(differences, float)
        self._n[task] = len(given)
        self._suspicion[task] = suspicion(about, given)
        found, needed = None, None
        if self._pool is not None and about.ends is not None and not self.worse:  # else "no task dropped" is no question any more
            self._heap[task] = counted((given + about.margin) / about.gap / self._size)
            found, needed = self._pooled()
            self.pooled_worse = found <= -needed
        self._facts.append(
            {
                "task": task,
                "n": self._n[task],
                "lambda": self._suspicion[task],
                "decision": about.rule.decision,
                "pooled": found,
                "pooled_needed": None if needed is None else -needed,
            }
        )
        return self._decide()

    def end(self, task: int, decision: str = "exhausted") -> str:
        """A task that cannot go on, for a reason outside its rule, is closed undecided. What the suite says then."""
        rule = self.tasks[task].rule
        if rule.decision not in ENDS:
            rule.decision = decision
        return self._decide()

    def _decide(self) -> str:
        decisions = self.decisions
        if self.worse and self.stop == "first":
            self.decision = "regression"
        elif all(decision in ENDS for decision in decisions):
            self.decision = "regression" if self.worse else "pass" if set(decisions) == {"pass"} else "exhausted"
        return self.decision

    def _pooled(self) -> tuple[float, float]:
        """Lambda of all tasks together, and its negative that an alarm needs."""
        assert self._pool is not None
        there = [part for part in self._heap if part is not None]
        values, place = np.unique(np.concatenate([part[0] for part in there]), return_inverse=True)
        counts: FloatArray = np.bincount(place, weights=np.concatenate([part[1] for part in there])).astype(np.float64)
        theta, ends = self._pool.theta, self._pool.ends
        n, squares = int(counts.sum()), float(counts @ (values * values))
        needed = self._pool.bounds(n, squares)[1]
        if ends == (-1.0, 1.0) and np.isin(values, (-1.0, 0.0, 1.0)).all():
            lost, gained = (int(counts[values == end].sum()) for end in ends)
            return profile(n, lost, gained, theta), needed
        return evidence_against(values, counts, theta, *ends) - evidence_against(values, counts, 0.0, *ends), needed

    def plan(self) -> dict[str, Any]:
        """All that must not change in the middle of a run."""
        return {
            "rule": "suite",
            "version": VERSION,
            "alpha": self.alpha,
            "beta": self.beta,
            "tasks": len(self.tasks),
            "share": SHARE,
            "stop": self.stop,
            "step": self.step,
            "first_steps": FIRST_STEPS,
        }


def suspicion(task: SuiteTask, differences: FloatArray) -> float:
    """Lambda of a task: that of its rule, or where the rule has none, the one of a normal law. Small is suspicious.

    Formula: n gap (2 mean + gap) / 2 var with mean and variance of difference + margin; of groups by their sums. It only orders
    the tasks, so that its being approximate costs calls and no error. Reference: Wald1947.
    """
    looks = task.rule.looks
    found = looks[-1].get("lambda") if looks else None
    if found is not None:
        return float(found)
    sums, sizes = (differences, np.ones(len(differences))) if differences.ndim == 1 else (differences[:, 0], differences[:, 1])
    mean = float(sums.sum() / sizes.sum()) + task.margin
    variance = float(np.sum((sums + (task.margin - mean) * sizes) ** 2) / sizes.sum())
    return float(sizes.sum()) * task.gap * (2 * mean + task.gap) / (2 * max(variance, task.gap**2))
