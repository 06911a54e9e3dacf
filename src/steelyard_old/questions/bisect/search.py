"""The search for the first bad commit, whoever answers: which items tell, what is asked at which commit, when a commit is named.

Nothing here knows git. Commits are numbers, 0 the good end and the last the bad one; `ask` answers items at one of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.infer.series.first_bad import (
    as_at_good_end,
    fall_in_errors,
    fell_most,
    first_bad_posterior,
    first_bad_posterior_of_means,
    halvings,
    means_of_runs,
    next_commit,
    ranges,
    run_noise,
)
from steelyard_old.infer.unpaired import two_proportion_z
from steelyard_old.options.bisection import BATCH, DELTA, WHOLE_RUNS
from steelyard_old.tally.sums import mean_over

FloatArray = npt.NDArray[np.float64]
Scores = Mapping[str, float]
Ask = Callable[[int, Sequence[str]], Scores]  # scores of items, asked afresh at a commit; SkippedCommitError where that cannot be done

LEAST_CHANGED = 8  # fewer items cannot tell a loss from the noise by which they were found
MOST_CHANGED = 200  # more would only cost calls: the rates of both sides are known well enough
CAME_BACK = 1.645  # standard errors between the fresh answers of both ends, one-sided 5%
ROUNDS = 3  # times that an item is asked at a commit, if answers vary
CHANGED, WHOLE = "telling items", "whole runs"


class SkippedCommitError(Exception):
    """A commit that cannot be judged: it does not build, or does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """delta: largest chance that the named commit is the wrong one. batch: items asked at once. rounds: times that an item is asked
    at a commit (None: 3, or 1 where both ends answer as they did before). max_calls: no batch is begun that would exceed it (None: what git
    bisect on all items would cost; on whole runs no limit)."""

    delta: float = DELTA.default
    batch: int = BATCH.default
    rounds: int | None = None
    whole_runs: str = WHOLE_RUNS.default
    max_calls: int | None = None


class Answers:
    """What was answered at each commit, item by item, in the order in which it came. calls: of these, now; asked: what was asked for."""

    def __init__(
        self, commits: Sequence[str], kept: dict[str, dict[str, list[float]]] | None = None, save: Callable[[], None] | None = None
    ):
        self.commits, self.calls, self.asked = commits, 0, 0
        self._kept = {} if kept is None else kept
        self._save = save
        self.reused = sum(len(scores) for commit in commits for scores in self._kept.get(commit, {}).values())

    def at(self, commit: int) -> Mapping[str, Sequence[float]]:
        return self._kept.get(self.commits[commit], {})

    def add(self, commit: int, scores: Scores, asked: int) -> None:
        """Fresh answers; they are written down before anything else is done with them."""
        mine = self._kept.setdefault(self.commits[commit], {})
        for id_, score in scores.items():
            mine.setdefault(id_, []).append(float(score))
        self.calls += len(scores)  # a command may answer more than it was asked
        self.asked += asked
        if self._save is not None:
            self._save()


@dataclass(slots=True, kw_only=True)
class SearchOutcome:
    """What a search came to. posterior: of commits 1, 2, ...; named: the commits one of which is the first bad one, None if no range
    of commits that can be told apart is probable enough. right, asked: on the items that changed (or mean and number of whole runs)."""

    method: str
    why: str
    posterior: FloatArray
    named: range | None
    right: FloatArray
    asked: FloatArray
    changed: tuple[str, ...]
    items: tuple[str, ...]
    came_back: bool
    noise: float | None = None
    skipped: dict[int, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def search(
    good: Scores,
    bad: Scores,
    answers: Answers,
    ask: Ask,
    options: SearchOptions,
    *,
    higher_is_better: bool = True,
    tell: Callable[[str], None] = lambda line: None,
) -> SearchOutcome:
    """Find the first bad commit. good, bad: stored scores of both ends by item, which choose the items and count for nothing else."""
    items, changed = told_apart(good, bad, higher_is_better=higher_is_better)
    skipped: dict[int, str] = {}
    if options.whole_runs == "always":
        return _WholeRuns(good, bad, items, changed, answers, ask, options, skipped, tell, higher_is_better).found()
    if len(changed) < LEAST_CHANGED:
        raise DataError(
            f"Only {len(changed)} of {len(items):,} items were right at the good end and wrong at the bad end; at least "
            f"{LEAST_CHANGED} are needed to tell commits apart.",
            got=f"{len(changed)} items that changed",
            need=f"at least {LEAST_CHANGED}",
            hint="whole_runs='always' searches with whole runs, which costs far more calls",
        )
    by_items = _ChangedItems(good, bad, items, changed, answers, ask, options, skipped, tell, higher_is_better)
    found = by_items.found()
    if found.came_back or options.whole_runs == "never" or found.why == SPENT:
        return found
    tell("the loss did not come back on the items that changed: searching with whole runs")
    again = _WholeRuns(good, bad, items, changed, answers, ask, options, skipped, tell, higher_is_better).found()
    again.warnings.insert(0, "the loss did not come back on the items that told it: searched with whole runs")
    return again


def told_apart(good: Scores, bad: Scores, *, higher_is_better: bool) -> tuple[list[str], list[str]]:
    """The items that both ends have, and those that tell the ends apart: lost at the bad end.

    Right or wrong: right at the good end, wrong at the bad one. Scores: those that fell by more than most scores moved.
    """
    items = sorted(good.keys() & bad.keys())
    if not items:
        raise DataError("The runs of the two ends share no items.", got="no item in both", need="runs on the same items")
    fall = np.array([good[id_] - bad[id_] for id_ in items]) * (1 if higher_is_better else -1)
    if fall.sum() <= 0:
        words = f"{mean_over(good, items):.4g} at the good end, {mean_over(bad, items):.4g} at the bad end, on {len(items):,} shared items"
        raise DataError(f"The bad end is not worse than the good end: {words}.", got=words, need="a loss", hint="are the ends swapped?")
    return items, [items[i] for i in fell_most(fall)]


SPENT = "max_calls"
NAMED, NOTHING_LEFT, NOT_BACK = "named", "nothing left to ask", "the loss did not come back"


class _NoCallsLeft(Exception):
    """No more calls."""


@dataclass(slots=True)
class _Search:
    """What both ways of searching share: asking within the budget, skipping, naming."""

    good: Scores
    bad: Scores
    items: list[str]
    changed: list[str]
    answers: Answers
    ask: Ask
    options: SearchOptions
    skipped: dict[int, str]
    tell: Callable[[str], None]
    higher_is_better: bool

    method: ClassVar[str]

    @property
    def last(self) -> int:
        return len(self.answers.commits) - 1

    def totals(self) -> tuple[FloatArray, FloatArray]:
        """Of every commit: how much was right (or the mean of its runs), and how much was asked (or how many runs)."""
        raise NotImplementedError

    def known_noise(self) -> float | None:
        """How much whole runs vary; None where it is not known."""
        return None

    def asked_afresh(self, commit: int, ids: Sequence[str]) -> bool:
        """Ask items at a commit and keep what is answered; False if the commit has to be skipped."""
        most = self.most_calls()
        if most is not None and self.answers.asked + len(ids) > most:
            raise _NoCallsLeft
        try:
            scores = self.ask(commit, ids)
        except SkippedCommitError as why:
            self.skipped[commit] = str(why)
            return False
        self.answers.add(commit, scores, len(ids))
        return True

    def until_named(
        self, posterior: Callable[[], FloatArray], is_open: Callable[[int], bool], ask_at: Callable[[int], str]
    ) -> tuple[FloatArray, range | None, str]:
        """Ask the commit that splits the posterior best until one range of commits is probable enough."""
        while True:
            p = posterior()
            together = ranges([commit not in self.skipped for commit in range(1, self.last + 1)])
            masses = [float(p[each.start - 1 : each.stop - 1].sum()) for each in together]
            best = int(np.argmax(masses))
            if masses[best] >= 1 - self.options.delta and (len(together) > 1 or len(together[best]) == 1):
                return p, together[best], NAMED
            commit = next_commit(p, [commit not in self.skipped and is_open(commit) for commit in range(1, self.last)])
            if commit is None:
                return p, None, NOTHING_LEFT
            try:
                said = ask_at(commit)
            except _NoCallsLeft:
                return p, None, SPENT
            self.tell(f"{self.answers.calls:,} calls, {self.answers.commits[commit][:12]}: {self.skipped.get(commit, said)}")

    def outcome(self, p: FloatArray, named: range | None, why: str, *, came_back: bool) -> SearchOutcome:
        right, asked = self.totals()
        return SearchOutcome(
            method=self.method,
            why=why,
            posterior=p,
            named=named,
            right=right,
            asked=asked,
            changed=tuple(sorted(self.changed)),
            items=tuple(self.items),
            came_back=came_back,
            noise=self.known_noise(),
            skipped=self.skipped,
        )

    def most_calls(self) -> int | None:
        return self.options.max_calls

    def flat(self) -> FloatArray:
        return np.full(self.last, 1 / self.last)


class _ChangedItems(_Search):
    """Right or wrong on the items that told the loss; each end is asked all of them, a commit between them 16 at a time."""

    method = CHANGED

    def found(self) -> SearchOutcome:
        self.changed = self._in_order("", self.changed)[:MOST_CHANGED]
        rounds = self.options.rounds or ROUNDS
        try:
            for end in (0, self.last):
                if unasked := [id_ for id_ in self.changed if not self.answers.at(end).get(id_)]:
                    self.asked_afresh(end, unasked)
                    self.tell(f"{self.answers.calls:,} calls, {self.answers.commits[end][:12]}: {self._said(end)}")
        except _NoCallsLeft:
            return self.outcome(self.flat(), None, SPENT, came_back=False)
        (r, s), (r_bad, s_bad) = self._counted(0), self._counted(self.last)
        if two_proportion_z(r, s, r_bad, s_bad)[0] < CAME_BACK:
            return self.outcome(self.flat(), None, NOT_BACK, came_back=False)
        if self.options.rounds is None and self._as_stored():
            rounds = 1

        def least_asked(commit: int) -> list[str]:
            mine = self.answers.at(commit)
            left = [id_ for id_ in self._in_order(self.answers.commits[commit], self.changed) if len(mine.get(id_, ())) < rounds]
            return sorted(left, key=lambda id_: len(mine.get(id_, ())))[: self.options.batch]

        def ask_at(commit: int) -> str:
            self.asked_afresh(commit, least_asked(commit))
            return self._said(commit)

        def is_open(commit: int) -> bool:
            mine = self.answers.at(commit)
            return not mine or any(len(mine.get(id_, ())) < rounds for id_ in self.changed)

        p, named, why = self.until_named(lambda: first_bad_posterior(*self.totals()), is_open, ask_at)
        return self.outcome(p, named, why, came_back=True)

    def most_calls(self) -> int:
        """If nobody says otherwise: what git bisect on all items would cost, or twice what a search takes that never doubts."""
        steps = halvings(self.last + 1)
        return self.options.max_calls or max(steps * len(self.items), 2 * (len(self.changed) + steps * self.options.batch))

    def _in_order(self, commit: str, ids: Sequence[str]) -> list[str]:
        """The items in an order of the commit's own, which no outcome decides: the first few stand for all."""
        return sorted(ids, key=lambda id_: hashlib.sha256(f"{commit} {id_}".encode("utf-8", "surrogatepass")).digest())

    def _counted(self, commit: int) -> tuple[int, int]:
        """Right answers of those asked: nearer to the good end's score than to the bad end's."""
        right = asked = 0
        mine = self.answers.at(commit)
        if not mine:
            return 0, 0
        for id_ in self.changed:
            scores = mine.get(id_, ())
            right += as_at_good_end(scores, self.good[id_], self.bad[id_])
            asked += len(scores)
        return right, asked

    def totals(self) -> tuple[FloatArray, FloatArray]:
        counted = np.array([self._counted(commit) for commit in range(self.last + 1)], float)
        return counted[:, 0], counted[:, 1]

    def _said(self, commit: int) -> str:
        right, asked = self._counted(commit)
        return f"{right} of {asked} right"

    def _as_stored(self) -> bool:
        """Whether both ends answered every deciding item just as they did in the stored runs."""
        return all(
            score == stored[id_]
            for end, stored in ((0, self.good), (self.last, self.bad))
            for id_ in self.changed
            for score in self.answers.at(end)[id_]
        )


class _WholeRuns(_Search):
    """The mean score of whole runs on the items that both ends have: for a loss that is spread over all of them."""

    method = WHOLE

    def found(self) -> SearchOutcome:
        rounds = self.options.rounds or ROUNDS
        try:
            came_back = False
            for wanted in range(2, max(2, rounds) + 1):
                for end in (0, self.last):
                    self._run_until(end, wanted)
                came_back = self._gap() >= CAME_BACK
                if came_back or self._always_equal():
                    break
        except _NoCallsLeft:
            return self.outcome(self.flat(), None, SPENT, came_back=False)
        if not came_back:
            return self.outcome(self.flat(), None, NOT_BACK, came_back=False)
        if self.options.rounds is None and self._always_equal():
            rounds = 1

        def ask_at(commit: int) -> str:
            self._run_until(commit, len(self._runs(commit)) + 1)
            return self._said(commit)

        p, named, why = self.until_named(self._posterior, lambda commit: len(self._runs(commit)) < rounds, ask_at)
        return self.outcome(p, named, why, came_back=True)

    def _runs(self, commit: int) -> FloatArray:
        """The complete runs of a commit, runs x items: the k-th answers of all items are the k-th run."""
        mine = self.answers.at(commit)
        many = min(len(mine.get(id_, ())) for id_ in self.items)
        return np.array([[mine[id_][run] for id_ in self.items] for run in range(many)]).reshape(many, len(self.items))

    def _run_until(self, commit: int, wanted: int) -> None:
        """Ask at a commit what is missing to so many complete runs."""
        for run in range(len(self._runs(commit)), wanted):
            mine = self.answers.at(commit)
            if not self.asked_afresh(commit, [id_ for id_ in self.items if len(mine.get(id_, ())) <= run]):
                return
            self.tell(f"{self.answers.calls:,} calls, {self.answers.commits[commit][:12]}: {self._said(commit)}")

    def _said(self, commit: int) -> str:
        runs = self._runs(commit)
        return f"mean {means_of_runs([runs])[0][0]:.4f} of {len(runs)} run{'s' if len(runs) > 1 else ''}" if len(runs) else "no run"

    def _noise(self) -> float:
        span = [*(self.good[id_] for id_ in self.items), *(self.bad[id_] for id_ in self.items)]
        floor = (max(span) - min(span)) / len(self.items)  # one item changes from end to end
        return run_noise([runs for commit in range(self.last + 1) if len(runs := self._runs(commit)) > 1], floor)

    def _gap(self) -> float:
        """The fresh loss between the ends, in standard errors."""
        return (1 if self.higher_is_better else -1) * fall_in_errors(self._runs(0), self._runs(self.last), self._noise())

    def _always_equal(self) -> bool:
        return all(bool((runs == runs[0]).all()) for runs in (self._runs(0), self._runs(self.last)))

    def totals(self) -> tuple[FloatArray, FloatArray]:
        return means_of_runs([self._runs(commit) for commit in range(self.last + 1)])

    def known_noise(self) -> float | None:
        return self._noise() if self.totals()[1].max() > 1 else None

    def _posterior(self) -> FloatArray:
        means, many = self.totals()
        return first_bad_posterior_of_means(many, means, self._noise())
