"""What nights are held against after a change: accepted, fixed, or told as *changed*; of the tasks that have run since, and of others.

The engine here is quiet: an item is right every night until it is lost. Of forty items, after thirty nights, six lost are a regression the
same night, three are *changed* and a regression five nights later, two stay *changed*.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest

from steelyard.estimate.past.nights import NightBudget, StoredNight, replay
from steelyard.history.nights import ACCEPTED, FIXED, NIGHT, REFERENCE
from steelyard.infer.nights.answers import TaskRun
from steelyard.infer.nights.watch import ASK_AGAIN, Night, NightDecision, NightlyWatch

IDS = [str(i) for i in range(40)]
RED, SLOWLY_RED, CHANGED = 6, 3, 2  # items lost
REFERENCE_RUNS = ["r0", "r1"]


def night(name: str, *, a: Collection[int] | None = (), b: Collection[int] | None = ()) -> Night:
    """A run of two tasks, which have lost these items; None: the task is missing."""
    tasks = {
        task: TaskRun(ids=IDS, values=[float(i not in lost) for i in range(40)]) for task, lost in (("a", a), ("b", b)) if lost is not None
    }
    return Night(run=name, tasks=tasks, members=("a", "b"))


def several(name: str, many: int, **lost: Collection[int] | None) -> list[Night]:
    return [night(f"{name}{i}", **lost) for i in range(many)]


def judged(watch: NightlyWatch, nights: Sequence[Night]) -> list[NightDecision]:
    return [watch.judge(one) for one in nights]


def words(found: Sequence[NightDecision]) -> list[str]:
    return [one.verdict for one in found]


def named(name: str, many: int) -> list[str]:
    return [f"{name}{i}" for i in range(many)]


def baseline(watch: NightlyWatch, task: str) -> list[str]:
    return [watch.runs[at][0] for at in watch.tasks[task].baseline]


def first(watch: NightlyWatch, task: str) -> list[str]:
    return [watch.runs[at][0] for at in watch.tasks[task].first]


def kept(watch: NightlyWatch, task: str) -> set[str]:
    return {watch.runs[at][0] for at in watch.tasks[task].columns}


def again(watch: NightlyWatch) -> NightlyWatch:
    return NightlyWatch.from_dict(json.loads(json.dumps(watch.to_dict())))


@pytest.fixture
def watch() -> NightlyWatch:
    """Two recorded runs and thirty nights on which nothing was lost."""
    made = NightlyWatch([night(name) for name in REFERENCE_RUNS])
    assert words(judged(made, several("n", 30))) == ["pass"] * 30
    return made


HEALTHY = [*REFERENCE_RUNS, *named("n", 30)]


def test_accepted_the_nights_since_are_the_baseline_and_a_task_that_missed_them_keeps_its_own(watch: NightlyWatch) -> None:
    found = judged(watch, several("x", 3, a=range(RED), b=None))
    assert words(found) == ["regression"] * 3
    assert (found[0].since, found[0].named, watch.not_run_since) == ("x0", ("a",), ("b",))
    watch.accept()
    for task, nights in (("a", named("x", 3)), ("b", HEALTHY)):
        assert (baseline(watch, task), first(watch, task), kept(watch, task)) == (nights, nights, set(nights))
    assert watch.not_run_since == ()
    assert words(judged(watch, several("y", 2, a=range(RED)))) == ["pass"] * 2  # what was accepted
    lost = judged(again(watch), several("z", 3, a=range(RED), b=range(RED)))  # b is worse, too, and nobody has accepted that
    assert lost[-1].verdict == "regression"
    assert lost[-1].named == ("b",)


def test_accepted_while_all_were_there_all_begin_at_the_change(watch: NightlyWatch) -> None:
    judged(watch, several("x", 2, a=range(RED)))
    assert watch.not_run_since == ()
    watch.accept()
    for task in ("a", "b"):
        assert baseline(watch, task) == first(watch, task) == named("x", 2)


def test_changed_a_task_that_was_missing_keeps_its_baseline_and_its_own_fall_is_found(watch: NightlyWatch) -> None:
    found = judged(watch, several("x", 3, a=range(CHANGED), b=None))
    assert words(found) == ["pass", "changed", "pass"]
    assert (baseline(watch, "a"), baseline(watch, "b")) == (named("x", 3), HEALTHY)
    assert first(watch, "a") == first(watch, "b") == HEALTHY
    back = watch.judge(night("y", a=range(CHANGED), b=range(RED)))
    assert back.verdict == "regression"
    assert back.named == ("b",)
    watch.fixed()
    assert (baseline(watch, "a"), baseline(watch, "b")) == (named("x", 3), HEALTHY)


def test_fixed_goes_back_to_before_this_change_not_to_before_the_first_one_told(watch: NightlyWatch) -> None:
    found = judged(watch, several("x", 40, a=range(CHANGED)))
    assert [one.verdict for one in found if one.verdict != "pass"] == ["changed"]
    red = judged(watch, several("y", 3, a=range(CHANGED), b=range(RED)))
    assert words(red) == ["regression"] * 3
    for one in (watch, again(watch)):
        one.fixed()
        for task in ("a", "b"):
            assert (baseline(one, task), first(one, task)) == (named("x", 40), HEALTHY)
            assert kept(one, task) == {*named("x", 40), *HEALTHY}
        later = judged(one, several("z", 40, a=range(CHANGED)))
        assert words(later) == ["pass"] * 40  # what had changed before is not told a second time
        assert baseline(one, "a") == [*named("x", 40), *named("z", 40)]
        assert one.judge(night("w", a=range(CHANGED), b=range(RED))).verdict == "regression"  # and the fault is found as soon


def test_fixed_twice_loses_none_of_the_nights_in_between(watch: NightlyWatch) -> None:
    for name in ("x", "y"):
        judged(watch, [night(name, b=range(RED))])
        watch.fixed()
        assert words(judged(watch, several(f"{name}-", 5))) == ["pass"] * 5
    assert baseline(watch, "a") == baseline(watch, "b") == [*HEALTHY, *named("x-", 5), *named("y-", 5)]
    assert first(watch, "a") == HEALTHY  # the first one does not grow after an alarm


def test_fixed_after_an_accepted_change_goes_back_to_what_was_accepted(watch: NightlyWatch) -> None:
    judged(watch, several("x", 2, a=range(RED)))
    watch.accept()
    judged(watch, several("y", 30, a=range(RED)))
    assert judged(watch, several("z", 2, a=range(RED), b=range(RED)))[-1].named == ("b",)
    watch.fixed()
    for task in ("a", "b"):
        assert baseline(watch, task) == first(watch, task) == [*named("x", 2), *named("y", 30)]
    assert words(judged(watch, several("w", 3, a=range(RED)))) == ["pass"] * 3


def test_a_changed_that_becomes_a_regression_is_fixed_to_the_nights_before_it(watch: NightlyWatch) -> None:
    """Two changes without a word from anybody in between; the second is red a few nights later."""
    assert "changed" in words(judged(watch, several("x", 32, a=range(CHANGED))))
    told = judged(watch, several("y", 2, a=range(CHANGED), b=range(SLOWLY_RED)))[-1]
    assert (told.verdict, told.since) == ("changed", "y0")
    assert kept(watch, "a") == {*HEALTHY, *named("x", 32), *named("y", 2)}  # remembered while it is asked about
    watch = again(watch)
    late = next(one for one in judged(watch, several("z", 8, a=range(CHANGED), b=range(SLOWLY_RED))) if one.verdict != "pass")
    assert (late.verdict, late.alarm, late.since) == ("regression", False, "y0")
    for one in (watch, again(watch)):
        one.fixed()
        for task in ("a", "b"):
            assert baseline(one, task) == named("x", 32)
            assert kept(one, task) == {*HEALTHY, *named("x", 32)}
        assert words(judged(one, several("w", 10, a=range(CHANGED)))) == ["pass"] * 10


def test_a_changed_that_becomes_a_regression_and_is_accepted_begins_at_it(watch: NightlyWatch) -> None:
    found = judged(watch, several("x", 7, a=range(SLOWLY_RED), b=None))
    assert [one.verdict for one in found if one.verdict != "pass"] == ["changed", "regression"]
    watch.accept()
    assert (baseline(watch, "a"), first(watch, "a")) == (named("x", 7), named("x", 7))
    assert (baseline(watch, "b"), first(watch, "b")) == (HEALTHY, HEALTHY)


def test_what_is_no_longer_asked_about_is_forgotten(watch: NightlyWatch) -> None:
    judged(watch, several("x", 3, a=range(CHANGED)))
    judged(watch, several("y", 30, a=range(CHANGED)))
    judged(watch, several("z", 3, a=range(CHANGED), b=range(CHANGED)))  # a second *changed*: the y are left, and remembered
    assert {"x0", "y0", "y29"} <= kept(watch, "a")
    judged(watch, several("w", ASK_AGAIN, a=range(CHANGED), b=range(CHANGED)))
    for task in ("a", "b"):
        assert baseline(watch, task) == [*named("z", 3), *named("w", ASK_AGAIN)]
        assert kept(watch, task) == {*HEALTHY, *baseline(watch, task)}


def test_a_task_that_joins_while_a_changed_is_asked_about_keeps_its_recorded_runs(watch: NightlyWatch) -> None:
    judged(watch, several("x", 3, a=range(SLOWLY_RED)))
    assert watch.asking
    runs = TaskRun(ids=IDS, values=np.ones(40))
    watch.join([Night(run=f"c{i}", tasks={"c": runs}) for i in range(3)])
    found = [watch.judge(Night(run=f"y{i}", tasks={**night("", a=range(SLOWLY_RED)).tasks, "c": runs})) for i in range(20)]
    assert "regression" in words(found)
    watch.fixed()
    assert (baseline(watch, "c"), first(watch, "c")) == (named("c", 3), named("c", 3))
    assert baseline(watch, "a") == baseline(watch, "b") == HEALTHY


def test_a_second_run_that_confirms_is_fixed_and_accepted_alike(watch: NightlyWatch) -> None:
    """Of a budget that confirms the same night."""
    bad = night("x", a=range(RED), b=None)
    assert watch.judge_twice(bad, bad).verdict == "regression"
    watch.fixed()
    assert baseline(watch, "a") == baseline(watch, "b") == HEALTHY
    more = several("y", 5)
    assert [watch.judge_twice(one).verdict for one in more] == ["pass"] * 5
    worse = night("z", a=range(RED), b=None)
    assert watch.judge_twice(worse, worse).verdict == "regression"
    fixed = again(watch)
    fixed.fixed()
    assert baseline(fixed, "a") == baseline(fixed, "b") == [*HEALTHY, *named("y", 5)]
    watch.accept()
    assert (baseline(watch, "a"), baseline(watch, "b")) == (["z"], [*HEALTHY, *named("y", 5)])


# ---- what an older version has written ---------------------------------------------------------------------------------------------


def as_it_was(watch: NightlyWatch) -> NightlyWatch:
    """The state as an older version wrote it: one first baseline for all tasks, and none that is remembered."""
    plain = json.loads(json.dumps(watch.to_dict()))
    del plain["before"]
    for task in plain["tasks"].values():
        del task["first"], task["before"]
    return NightlyWatch.from_dict(plain)


def test_an_older_state_is_read_and_goes_on_as_it_would_have(watch: NightlyWatch) -> None:
    judged(watch, several("x", 2, b=range(RED)))
    older = as_it_was(watch)
    assert older.to_dict() == watch.to_dict()
    older.fixed()
    assert baseline(older, "a") == baseline(older, "b") == HEALTHY


def test_an_older_state_that_asks_about_a_changed_goes_back_to_the_first_baseline(watch: NightlyWatch) -> None:
    watch.rules = 1
    judged(watch, several("x", 3, b=range(SLOWLY_RED)))
    older = as_it_was(watch)
    assert older.to_dict() == watch.to_dict()
    assert words(judged(older, several("y", 4, b=range(SLOWLY_RED))))[-1] == "regression"
    older.fixed()
    assert baseline(older, "a") == baseline(older, "b") == HEALTHY


@pytest.mark.parametrize("how", [ACCEPTED, FIXED])
def test_events_from_before_are_replayed_as_they_were_decided(how: str) -> None:
    """By the rules of then a task that missed an accepted change began anew, and `fixed` went back to before the first change told."""
    said: dict[str, Any] = {"time": "2026-11-01T00:00:00Z"}
    budget = NightBudget(ask_again=ASK_AGAIN)

    def decided(rules: int) -> list[str]:
        made = [StoredNight(id="r", place=0, kind=REFERENCE, reference=tuple(night(name) for name in REFERENCE_RUNS), rules=rules, **said)]

        def add(some: Sequence[Night]) -> None:
            made.extend(StoredNight(id=n.run, place=0, kind=NIGHT, night=n, budget=budget, rules=rules, **said) for n in some)

        add(several("n", 30))
        if how == FIXED:
            add(several("x", 35, a=range(CHANGED)))
        after = range(CHANGED) if how == FIXED else range(RED)
        add(several("y", 2, a=range(RED), b=() if how == FIXED else None))
        made.append(StoredNight(id="ack", place=0, kind=how, rules=rules, reason="x", **said))
        add(several("z", 8, a=after, b=() if how == FIXED else range(RED)))
        return [one.verdict for one in replay(made).decisions][-8:]

    before, now = decided(1), decided(2)
    assert now.count("pass") == (8 if how == FIXED else 0)
    assert (before.count("changed"), before.count("pass")) == ((1, 7) if how == FIXED else (0, 8))
