"""A suite watched night after night: a growing baseline, evidence per task and of all together, an alarm, and what follows from it.

The state is a cache: replaying the stored runs makes it anew, and decides every night as it was decided.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.nights.answers import TaskAnswers, TaskRun, check_run
from steelyard_old.infer.nights.bag import BagEvidence
from steelyard_old.infer.nights.detector import (
    POOL_SHARE,
    STRENGTHS,
    alarm_line,
    charted,
    confirm_level,
    first_stage,
    moved,
    second_stage,
    shortfall,
    suite_evidence,
    teaching,
)
from steelyard_old.infer.normal import lower_tail
from steelyard_old.infer.suite.closed_testing import SuiteJudgement, TaskEvidence, judge_tasks
from steelyard_old.infer.suite.pooled import scores_z
from steelyard_old.options.option import unknown_word

FloatArray = npt.NDArray[np.float64]
LONGEST = 30  # nights since a change that are averaged
GATE_SHARE, GATE_ALPHA = 0.5, 0.05  # of the test on new items after an alarm
RULES = 2  # by which a change moves the baselines; 1: all tasks began at it, and `fixed` went back to before the first change of all
ASK_AGAIN = 30  # nights after a *changed* on which the test on new items is made again, with what is known by then
SHOWN = 10  # items that fell most, by name
TARGETS = ("items", "runs")
FORMAT = 2
ENOUGH_NIGHTS = 20  # before the correlation of consecutive nights is told
ALIKE = 3.0  # standard errors of that correlation from which nights are called alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One run of the suite. A declared deterministic model counts once per commit as long as its answers stay the same.

    deterministic: all tasks are, or those that are named. members: the tasks of the suite, there tonight or not; one that is not
    among them is not watched until it is again. None: nobody said.
    """

    run: str
    tasks: Mapping[str, TaskRun]
    commit: str | None = None
    deterministic: bool | Collection[str] = False
    members: Collection[str] | None = None

    def is_deterministic(self, task: str) -> bool:
        return self.deterministic if isinstance(self.deterministic, bool) else task in self.deterministic


@dataclass(frozen=True, slots=True, kw_only=True)
class NightDecision:
    """What a night came to.

    verdict: pass, regression, changed (worse on these very items; not shown for new ones), or unconfirmed (the tasks `again` have to
    be run a second time the same night). alarm: the evidence crossed the
    line tonight. since: the first run of the change. named: tasks that the test on new items names. items: (task, item) that
    fell most. counted: tasks that moved the evidence; none for a repeated deterministic run or while a regression stands. baseline:
    runs that the night was compared with.
    """

    run: str
    verdict: str
    alarm: bool
    evidence: float
    line: float
    pool_z: float | None = None
    pool_v: float | None = None
    task_z: Mapping[str, float] = field(default_factory=dict)
    task_v: Mapping[str, float] = field(default_factory=dict)
    counted: tuple[str, ...] = ()
    since: str | None = None
    unacknowledged: bool = False
    named: tuple[str, ...] = ()
    items: tuple[tuple[str, str], ...] = ()
    baseline: int = 0
    again: tuple[str, ...] = ()


class Unit:
    """A task, or the pool: its earlier z, its four detectors, and the four charts that date a change."""

    def __init__(self) -> None:
        self.z: list[tuple[int, float]] = []
        self.detectors: FloatArray = np.zeros(len(STRENGTHS))
        self.charts: FloatArray = np.zeros(len(STRENGTHS))
        self.zeros = [-1] * len(STRENGTHS)  # the run at which each chart last stood at 0

    def earlier(self) -> list[float]:
        return [z for _, z in self.z]

    def seen(self, run: int, z: float) -> float:
        """v of a night; detectors and chart move."""
        v, _ = shortfall(z, teaching(self.earlier()))
        self.z.append((run, z))
        self.detectors = moved(self.detectors, v)
        self.charts = charted(self.charts, v)
        self.zeros = [run if chart == 0 else zero for chart, zero in zip(self.charts, self.zeros, strict=True)]
        return v

    def last_healthy(self) -> int:
        """The run after which the change most likely began: where the highest chart last stood at 0."""
        return self.zeros[int(np.argmax(self.charts))]

    def restart(self, run: int) -> None:
        self.detectors, self.charts, self.zeros = np.zeros(len(STRENGTHS)), np.zeros(len(STRENGTHS)), [run] * len(STRENGTHS)

    def to_dict(self) -> dict[str, Any]:
        return {
            "z": [list(pair) for pair in self.z],
            "detectors": self.detectors.tolist(),
            "charts": self.charts.tolist(),
            "zeros": list(self.zeros),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Unit:
        out = cls()
        out.z = [(int(run), float(z)) for run, z in plain["z"]]
        out.detectors = np.array(plain["detectors"], float)
        out.charts, out.zeros = np.array(plain["charts"], float), [int(run) for run in plain["zeros"]]
        return out


class NightlyWatch:
    """Nights of a suite against a budget of false alarms a year.

    Every night is compared with all runs of the baseline (`bag`); z of the tasks and of their pool move detectors (`detector`);
    evidence at `runs_per_year / false_alarms` or more is an alarm. Then the nights since the change, against the first baseline,
    are tested for new items (`judge_tasks`, half of 5% for the pool): regression, or changed. After *changed* the test is made again on
    each of the next `ask_again` nights, with all nights since the change: one or two nights say little about new items, because what one
    night could still hide is counted in. Each alarm becomes one regression at most, so false ones stay within the budget. Of five points
    lost at one of ten tasks of 200 items, 13 of 26 were never red within 30 nights when it was asked once, and 1 of 26 is; where 1% of
    the items flip for good each month, as many up as down, nothing more became red in sixteen years. A regression stands until
    `accept` or `fixed`. After a *changed* or `accept` the baseline of every task that has run since the change begins at it; one that has
    not keeps the baseline it had, since nothing is known of it yet. After `fixed` it is the one from before this change. Values are
    turned so that up is good. Assumes: runs are independent from night to night, and nothing but chance differs between them. Under
    that, on average at most about `false_alarms` a year, over the whole suite.
    Reference: ShinRamdasRinaldo2024; VovkPetej2021; Page1954 for the charts.

    >>> ids, right = [str(i) for i in range(40)], np.arange(40) < 36
    >>> watch = NightlyWatch([Night(run="r1", tasks={"t": TaskRun(ids=ids, values=right)})])
    >>> broken = np.arange(40) < 20
    >>> nights = [right] * 5 + [broken] * 2
    >>> [watch.judge(Night(run=f"n{i}", tasks={"t": TaskRun(ids=ids, values=v)})).verdict for i, v in enumerate(nights)][-3:]
    ['pass', 'regression', 'regression']
    >>> watch.accept()
    >>> watch.judge(Night(run="n7", tasks={"t": TaskRun(ids=ids, values=broken)})).verdict
    'pass'
    """

    def __init__(
        self,
        reference: Sequence[Night],
        *,
        false_alarms: float = 1.0,
        runs_per_year: float = 365.0,
        target: str = "items",
        ask_again: int = ASK_AGAIN,
        ranges: Mapping[str, float] | None = None,
        seed: int = 0,
        known: dict[tuple[Any, ...], BagEvidence | None] | None = None,
    ) -> None:
        self.seed = seed
        self.rules = RULES
        self._known, self._begun = known, 0
        self.settle(false_alarms=false_alarms, runs_per_year=runs_per_year, target=target, ask_again=ask_again)
        self.restart(reference, ranges=ranges)

    def settle(self, *, false_alarms: float, runs_per_year: float, target: str = "items", ask_again: int = ASK_AGAIN) -> None:
        """The budget from here on; evidence so far stays. ask_again: for how many nights a *changed* is tested for new items again."""
        if target not in TARGETS:
            raise unknown_word("target", target, TARGETS)
        self.line = alarm_line(false_alarms, runs_per_year)
        self.false_alarms, self.runs_per_year, self.target = float(false_alarms), float(runs_per_year), target
        self.ask_again = int(ask_again)

    def restart(self, reference: Sequence[Night], *, ranges: Mapping[str, float] | None = None) -> None:
        """Begin anew with these reference runs: baseline, first baseline and evidence, as after an intended change."""
        if not reference:
            raise UsageError("Nights need at least one reference run.", got="no reference run", need="at least one")
        self.ranges = dict(ranges or {})
        self._begun += 1
        self.runs: list[tuple[str, str | None]] = []  # (id, commit); a run is known by its place
        self.members: frozenset[str] | None = None  # the tasks of the suite; None: all that were ever seen
        self.recorded = 0  # of them are reference runs, the first ones: a night may have the name of one
        self.tasks: dict[str, TaskAnswers] = {}
        self.units: dict[str, Unit] = {}
        self.pool = Unit()
        self.baseline: list[int] = []  # of the suite, as are `first` and `before`; a task that missed a change has another one
        self.first: list[int] = []  # the first baseline, which the test on new items is made against
        self.first_grows = True
        self.before: list[int] = []  # the baseline that was left at a *changed* that is still asked about
        self.brought: list[int] = []  # reference runs of tasks that came later
        self.pending: Night | None = None  # a night that waits for its second run; never part of a kept state
        self.since: list[int] = []  # runs of a regression that nobody has acknowledged
        self._named: tuple[str, ...] = ()
        self.asking = 0  # nights on which the test on new items is still to be made again
        for night in reference:
            place, columns = self._taken(night)
            found = self._found(columns, night.run)
            for name, one in found.items():
                self.units[name].z.append((place, one.z))
            z = self._pooled(found)
            if z is not None:
                self.pool.z.append((place, z))
            self._keep(place, columns)
            self._into_baseline(place)
        self.recorded = len(self.runs)
        for unit in (self.pool, *self.units.values()):
            unit.restart(len(self.runs) - 1)

    def join(self, reference: Sequence[Night], *, ranges: Mapping[str, float] | None = None) -> None:
        """Tasks that come to the series later bring their reference runs: part of the baseline and of the first one, never of a change.

        The second, third, ... of them teach how much the task varies, as at the start. The pool does not move.
        """
        if known := [name for night in reference for name in night.tasks if name in self.tasks]:
            raise UsageError(f"{known[0]} is in the series already.", got=f"{known[0]} again", need="new tasks")
        self.ranges |= ranges or {}
        for night in reference:
            place, columns = self._placed(replace(night, members=self.members))
            for name, one in self._found(columns, night.run).items():
                self.units[name].z.append((place, one.z))
            self._keep(place, columns)
            self.brought.append(place)
            self.baseline.append(place)
            self.first.append(place)
            for name in columns:
                self.tasks[name].extend_baseline(place)
                self.tasks[name].first.append(place)
                self.units[name].restart(place)
            if self.before:
                self.before.append(place)
                for name in columns:
                    self.tasks[name].before.append(place)

    @property
    def red(self) -> bool:
        """Whether a regression stands that nobody has acknowledged."""
        return bool(self.since)

    @property
    def named(self) -> tuple[str, ...]:
        """The tasks that the regression that stands has named."""
        return self._named

    @property
    def watched(self) -> list[str]:
        """The tasks that are in the suite. What is known of others stays as it is, in case they come back."""
        return [name for name in self.tasks if self.members is None or name in self.members]

    @property
    def evidence(self) -> float:
        """Of the whole suite, to be checked against `line`."""
        tasks = np.array([self.units[name].detectors for name in self.watched])
        return suite_evidence(self.pool.detectors, tasks)

    def judge(self, night: Night) -> NightDecision:
        """Decide about one more night. A night that cannot be read changes nothing."""
        if self.pending is not None:
            self._absorb(self.pending)
            self.pending = None
        place, columns = self._taken(night)
        before = len(self.baseline)
        if self.red:
            self._keep(place, columns)
            self.since.append(place)
            return self._decided(night.run, "regression", since=self.runs[self.since[0]][0], unacknowledged=True, named=self._named)
        repeated = {
            name for name, column in columns.items() if night.is_deterministic(name) and self._repeats(name, column, night.commit, place)
        }
        columns = {name: column for name, column in columns.items() if name not in repeated}
        found = self._found(columns, night.run)
        pool_z = self._pooled(found)
        task_v = {name: self.units[name].seen(place, one.z) for name, one in found.items()}
        pool_v = None if pool_z is None else self.pool.seen(place, pool_z)
        self._keep(place, columns)
        if columns:
            self._into_baseline(place)
        shown = {
            "pool_z": pool_z,
            "pool_v": pool_v,
            "task_z": {name: one.z for name, one in found.items()},
            "task_v": task_v,
            "counted": tuple(found),
            "baseline": before,
        }
        if self.evidence < self.line:
            return self._ask_again(night.run, place, shown) if self.asking and columns else self._decided(night.run, "pass", **shown)
        return self._alarm(night.run, place, shown)

    def evidence_against(self, night: Night) -> tuple[dict[str, float], float | None]:
        """(p of each task, p of the pool) of a night by itself, for a confirmation the same night. Nothing moves.

        The p-values know how much earlier nights have varied. Reference: Student1908.
        """
        twin = copy.deepcopy(self)
        place, columns = twin._placed(night)
        found = twin._found(columns, night.run)
        pool_z = twin._pooled(found)
        by_task = {name: lower_tail(-twin.units[name].seen(place, one.z)) for name, one in found.items()}
        return by_task, None if pool_z is None else lower_tail(-twin.pool.seen(place, pool_z))

    # ---- the alternative: ask again the same night ---------------------------------------------------------------------------

    def judge_twice(self, night: Night, again: Night | None = None) -> NightDecision:
        """Decide about a night by itself, and by a second run of the tasks that look worse; the evidence does not move.

        Red only if both runs are worse, each at sqrt(F / runs a year). Without the second run the night is unconfirmed, and waits: the
        next night takes it for a pass. Reference: Lancaster1961 for mid-p; Student1908.
        """
        if self.pending is not None and self.pending is not night:
            self._absorb(self.pending)
        self.pending = None
        if self.red:
            return self.judge(night)
        self._refuse_twice(night)
        by_task, pooled = self.evidence_against(night)
        names = list(by_task)
        stage = first_stage(list(by_task.values()), pooled, confirm_level(self.false_alarms, self.runs_per_year))
        shown = {"counted": tuple(names), "baseline": len(self.baseline)}
        if not stage.red:
            self._absorb(night)
            return self._decided(night.run, "pass", **shown)
        asked = tuple(names[i] for i in stage.again)
        if again is None:
            self.pending = night
            return self._decided(night.run, "unconfirmed", again=asked, **shown)
        if missing := [name for name in asked if name not in again.tasks]:
            raise UsageError(
                f"{missing[0]} has to be run again too.", got=f"no second run of {missing[0]}", need=f"one of {', '.join(asked)}"
            )
        second, second_pool = self.evidence_against(
            Night(run=f"{night.run} again", tasks={name: again.tasks[name] for name in asked}, commit=night.commit)
        )
        confirmed = second_stage(stage, [second.get(name, 1.0) for name in asked], second_pool)
        if not confirmed:
            self._absorb(night)
            return self._decided(night.run, "pass", **shown)
        place, columns = self._taken(night)
        self._keep(place, columns)
        self.first_grows = False
        level = stage.level / len(asked)
        self.since, self._named = [place], tuple(name for name in asked if second.get(name, 1.0) <= level)
        return self._decided(night.run, "regression", alarm=True, since=night.run, named=self._named, **shown)

    def _absorb(self, night: Night) -> None:
        """A night that is like those before: it joins the baseline, and its z teach how much is usual."""
        place, columns = self._taken(night)
        found = self._found(columns, night.run)
        for name, one in found.items():
            self.units[name].z.append((place, one.z))
        if (z := self._pooled(found)) is not None:
            self.pool.z.append((place, z))
        self._keep(place, columns)
        self._into_baseline(place)

    # ---- after an alarm ------------------------------------------------------------------------------------------------------

    def accept(self) -> None:
        """The change is intended: the baseline, and the first baseline with it, begin at the change.

        A task that has not run since keeps both: whether the change has made it worse, too, is seen when it is back.
        """
        since = self._acknowledged("accept")
        self.first, self.first_grows = list(since), True
        for task in self._seen_since(since):
            task.first = task.among(since)
        self._begin_at(since)

    def fixed(self) -> None:
        """The cause is gone: the baseline is the one from before this change again, and the nights from now on.

        Not the one from before an earlier change that was told as *changed*: that one is not gone, and would alarm a second time.
        """
        self._acknowledged("fixed")
        if self.rules < 2:
            self._back_to_first()
        self._forget()

    @property
    def not_run_since(self) -> tuple[str, ...]:
        """The watched tasks that have not run since the change that stands: their baseline would outlast an `accept`."""
        return tuple(name for name in self.watched if self.since and not self.tasks[name].among(self.since))

    def _acknowledged(self, how: str) -> list[int]:
        if not self.red:
            raise UsageError(
                f"Nothing to acknowledge as {how}: no regression stands.", got="no regression", need="a regression that stands"
            )
        since, self.since, self._named = self.since, [], ()
        self._ask_no_more()
        return since

    def _alarm(self, run: str, place: int, shown: Mapping[str, Any]) -> NightDecision:
        evidence = self.evidence
        since = self._since_change(place)
        healthy = [z for at, z in self.pool.z if at not in since]
        if self.first_grows:
            self.first = [at for at in self.first if at not in since]
            for task in self.tasks.values():
                task.first = [at for at in task.first if at not in since]
            self.first_grows = False
        gate, items = self._gate(since, healthy)
        through = self.target == "runs" or gate.p_value <= GATE_ALPHA
        named = tuple(self.watched[i] for i in gate.named)
        for unit in (self.pool, *self.units.values()):
            unit.restart(place)
            unit.z = [(at, z) for at, z in unit.z if at not in since]
        self._ask_no_more()
        self.baseline = [at for at in self.baseline if at not in since]
        for task in self.tasks.values():
            task.start_baseline([at for at in task.baseline if at not in since])
        if through:
            self.since, self._named = since, named
            self._forget()
        else:
            self._ask_from_now_on()
            self._begin_at(since)
        verdict = "regression" if through else "changed"
        said = {**shown, "alarm": True, "since": self.runs[since[0]][0], "named": named, "items": items, "evidence": evidence}
        return self._decided(run, verdict, **said)

    def _ask_again(self, run: str, place: int, shown: Mapping[str, Any]) -> NightDecision:
        """A night after a *changed*: all nights since the change are the baseline by now, and may say more about new items."""
        self.asking -= 1
        since = [at for at in self.baseline if at not in self.brought][-LONGEST:]
        gate, items = self._gate(since, [z for at, z in self.pool.z if at not in since])
        if gate.p_value > GATE_ALPHA:
            if not self.asking:
                self._ask_no_more()
                self._forget()
            return self._decided(run, "pass", **shown)
        evidence = self.evidence
        self.since, self._named = since, tuple(self.watched[i] for i in gate.named)
        for unit in (self.pool, *self.units.values()):
            unit.restart(place)
            unit.z = [(at, z) for at, z in unit.z if at not in since]
        if self.before and self.rules >= 2:
            self.baseline = self.before
            for task in self.tasks.values():
                task.start_baseline(task.before)
        else:  # begun by rules that did not remember it
            self._back_to_first()
        self._ask_no_more()
        self._forget()
        said = {**shown, "since": self.runs[since[0]][0], "named": self._named, "items": items, "evidence": evidence}
        return self._decided(run, "regression", **said)

    def _since_change(self, place: int) -> list[int]:
        """The nights since the highest chart of the strongest unit last stood at 0: tonight at least, thirty at most."""
        share = (1 - POOL_SHARE) / max(1, len(self.watched))
        units = [(POOL_SHARE * float(self.pool.detectors.mean()), self.pool)]
        units += [(share * float(self.units[name].detectors.mean()), self.units[name]) for name in self.watched]
        strongest = max(units, key=lambda pair: pair[0])[1]
        after = strongest.last_healthy()
        first = min((at for at, _ in strongest.z if at > after), default=place)  # nights without it say nothing of it
        return [*[at for at in self.baseline if at >= first and at != place and at not in self.brought][1 - LONGEST :], place]

    def _gate(self, since: Sequence[int], healthy: Sequence[float]) -> tuple[SuiteJudgement, tuple[tuple[str, str], ...]]:
        """Item by item, the nights since the change less the first baseline, judged as one suite for new items."""
        evidence, fell = [], []
        for name in self.watched:
            task = self.tasks[name]
            (count, mean), (first_count, first_mean) = task.means(since), task.means(task.first)
            both = (count > 0) & (first_count > 0)
            d = mean[both] - first_mean[both]
            if not d.any():
                evidence.append(TaskEvidence(p_value=1.0, z=0.0, informative=False))
                continue
            sides = int(count[both].max()), int(first_count[both].max())
            fewest = None if sides[0] == sides[1] else min(sides)
            z = scores_z(d, reach=self.ranges.get(name, task.reach()), fewest_runs=fewest)
            evidence.append(TaskEvidence(p_value=lower_tail(-z), z=z))
            rows = np.flatnonzero(both)
            worst = np.argsort(d, kind="stable")[:SHOWN]
            fell += [(float(d[i]), name, task.ids[rows[i]]) for i in worst.tolist() if d[i] < 0]
        items = tuple((name, one) for _, name, one in sorted(fell)[:SHOWN])
        return judge_tasks(evidence, alpha=GATE_ALPHA, share=GATE_SHARE, earlier=teaching(healthy)), items

    # ---- the parts of a night ----------------------------------------------------------------------------------------------------

    def _taken(self, night: Night) -> tuple[int, dict[str, npt.NDArray[Any]]]:
        """The place of a run, and its answers over the items of each task."""
        if not night.tasks:
            raise UsageError(f"The run {night.run!r} has no tasks.", got="no tasks", need="at least one")
        self._refuse_twice(night)
        return self._placed(night)

    def _refuse_twice(self, night: Night) -> None:
        if any(name == night.run for at, (name, _) in enumerate(self.runs) if at >= self.recorded and at not in self.brought):
            raise UsageError(f"The run {night.run!r} has been judged already.", got=f"{night.run!r} twice", need="each run once")

    def _placed(self, night: Night) -> tuple[int, dict[str, npt.NDArray[Any]]]:
        for name, run in night.tasks.items():  # all of them before the first is taken
            check_run(run, name)
        self.members = None if night.members is None else frozenset({*night.members, *night.tasks})
        for name in night.tasks:
            if name not in self.tasks:
                self.tasks[name], self.units[name] = TaskAnswers(), Unit()
                self.units[name].restart(len(self.runs) - 1)
        columns = {name: self.tasks[name].column(run) for name, run in night.tasks.items()}
        self.runs.append((night.run, night.commit))
        return len(self.runs) - 1, columns

    def _found(self, columns: Mapping[str, npt.NDArray[Any]], run: str) -> dict[str, BagEvidence]:
        out = {}
        for name, column in columns.items():
            about = (self._begun, name, run, tuple(self.tasks[name].baseline))
            if self._known is not None and about in self._known:
                found = self._known[about]
            else:
                digest = hashlib.sha256(f"{name}|{run}".encode()).digest()
                found = self.tasks[name].against_baseline(column, [self.seed, int.from_bytes(digest[:8], "big")])
                if self._known is not None:
                    self._known[about] = found
            if found is not None:
                out[name] = found
        return out

    def _pooled(self, found: Mapping[str, BagEvidence]) -> float | None:
        """The centred sum of the tasks' z over sqrt(m); None while fewer than half of the tasks are there."""
        if not found or 2 * len(found) < len(self.watched):
            return None
        return math.fsum(one.z - one.mean_z for one in found.values()) / math.sqrt(len(found))

    def _repeats(self, name: str, column: npt.NDArray[Any], commit: str | None, place: int) -> bool:
        return commit is not None and any(
            self.tasks[name].same_as(at, column) for at, (_, own) in enumerate(self.runs) if own == commit and at != place
        )

    def _keep(self, place: int, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        for name, column in columns.items():
            self.tasks[name].add(place, column)

    def _into_baseline(self, place: int) -> None:
        self.baseline.append(place)
        if self.first_grows:
            self.first.append(place)
        for task in self.tasks.values():
            if place in task.columns:
                task.extend_baseline(place)
                if self.first_grows:
                    task.first.append(place)

    def _begin_at(self, since: Sequence[int]) -> None:
        """The baseline begins at a change, for the tasks that have run since. What is known of the others is not thrown away."""
        self.baseline = list(since)
        for task in self._seen_since(since):
            task.start_baseline(since)
        self._forget()

    def _seen_since(self, since: Sequence[int]) -> list[TaskAnswers]:
        """The tasks whose baseline a change at these runs moves."""
        return [task for task in self.tasks.values() if self.rules < 2 or task.among(since)]

    def _back_to_first(self) -> None:
        self.baseline = list(self.first)
        for task in self.tasks.values():
            task.start_baseline(task.first)

    def _ask_from_now_on(self) -> None:
        """The test on new items is made again on the next nights; the baseline as it stands is remembered until they have passed."""
        self.asking = self.ask_again
        if self.asking and self.rules >= 2:
            self.before = list(self.baseline)
            for task in self.tasks.values():
                task.before = list(task.baseline)

    def _ask_no_more(self) -> None:
        self.asking, self.before = 0, []
        for task in self.tasks.values():
            task.before = []

    def _forget(self) -> None:
        """Runs that no baseline needs, and that no regression that stands is made of."""
        for task in self.tasks.values():
            task.forget_all_but(self.since)

    def _decided(self, run: str, verdict: str, **said: Any) -> NightDecision:
        return NightDecision(**{"run": run, "verdict": verdict, "alarm": False, "evidence": self.evidence, "line": self.line, **said})

    def night_correlation(self) -> float | None:
        """How the pooled z of consecutive nights correlate; None for fewer than twenty. Reference: Page1954."""
        z = np.array(self.pool.earlier())
        if len(z) < ENOUGH_NIGHTS or np.ptp(z) == 0:
            return None
        away = z - z.mean()
        return float(away[1:] @ away[:-1] / (away @ away))

    @property
    def nights_alike(self) -> bool:
        """Whether consecutive nights correlate by more than 3 / sqrt(nights): noise that lasts alarms more often than the budget says.

        Three standard errors, not two, because it is asked every night. Reference: Page1954.
        """
        found = self.night_correlation()
        return found is not None and found > ALIKE / math.sqrt(len(self.pool.z))

    # ---- as JSON -------------------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All that is needed to go on."""
        return {
            "format": FORMAT,
            "false_alarms": self.false_alarms,
            "runs_per_year": self.runs_per_year,
            "target": self.target,
            "seed": self.seed,
            "ranges": self.ranges,
            "runs": [list(run) for run in self.runs],
            "recorded": self.recorded,
            "members": None if self.members is None else sorted(self.members),
            "baseline": self.baseline,
            "first": self.first,
            "first_grows": self.first_grows,
            "before": self.before,
            "brought": self.brought,
            "since": self.since,
            "named": list(self._named),
            "asking": self.asking,
            "pool": self.pool.to_dict(),
            "units": {name: unit.to_dict() for name, unit in self.units.items()},
            "tasks": {name: task.to_dict() for name, task in self.tasks.items()},
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> NightlyWatch:
        """The watch that `to_dict` wrote."""
        if plain.get("format") != FORMAT:
            got = f"format {plain.get('format')!r}"
            raise UsageError(
                f"The kept state of the nights has {got}; this version reads format {FORMAT}.", got=got, need=f"format {FORMAT}"
            )
        out = cls.__new__(cls)
        out.rules = RULES
        out._known, out._begun = None, 0
        out.pending = None
        out.false_alarms, out.runs_per_year = float(plain["false_alarms"]), float(plain["runs_per_year"])
        out.line = alarm_line(out.false_alarms, out.runs_per_year)
        out.target, out.seed, out.ranges = str(plain["target"]), int(plain["seed"]), dict(plain["ranges"])
        out.runs = [(str(run), commit) for run, commit in plain["runs"]]
        out.recorded, members = int(plain.get("recorded", 0)), plain.get("members")
        out.members = None if members is None else frozenset(map(str, members))
        lists = ([int(at) for at in plain[key]] for key in ("baseline", "first", "since", "brought"))
        out.baseline, out.first, out.since, out.brought = lists
        out.before = [int(at) for at in plain.get("before", ())]
        out.first_grows, out._named = bool(plain["first_grows"]), tuple(plain["named"])
        out.asking, out.ask_again = int(plain.get("asking", 0)), ASK_AGAIN  # a state from before asked once
        out.pool = Unit.from_dict(plain["pool"])
        out.units = {name: Unit.from_dict(unit) for name, unit in plain["units"].items()}
        out.tasks = {name: TaskAnswers.from_dict(task, out.first) for name, task in plain["tasks"].items()}
        return out
