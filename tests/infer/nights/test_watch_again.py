"""After a *changed*, the nights that follow are asked about new items too: with what is known by then, once for each alarm."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cases import seldom
from steelyard.infer.nights.answers import TaskRun
from steelyard.infer.nights.watch import Night, NightDecision, NightlyWatch

IDS = [str(i) for i in range(100)]
REFERENCE, CHANGE = 3, 20


def nights(seed: int, *, lost: int = 6, many: int = 40) -> list[Night]:
    """Four tasks of which every item leaves its usual answer in 15 of 1,000 nights; from night 20 on the first has lost some for good."""
    rng = np.random.default_rng(seed)
    right = rng.random((4, 100)) < 0.8
    out = []
    for at in range(many):
        usual = right.copy()
        if at >= CHANGE:
            usual[0, np.flatnonzero(right[0])[:lost]] = False
        values = usual ^ (rng.random((4, 100)) < 0.015)
        out.append(Night(run=f"n{at}", tasks={f"t{j}": TaskRun(ids=IDS, values=values[j]) for j in range(4)}))
    return out


def judged(watch: NightlyWatch, some: list[Night]) -> list[NightDecision]:
    return [watch.judge(night) for night in some]


def words(found: list[NightDecision]) -> list[str]:
    return [one.verdict for one in found]


def test_a_change_that_two_nights_do_not_show_for_new_items_is_a_regression_when_more_do() -> None:
    some = nights(7)
    once = words(judged(NightlyWatch(some[:REFERENCE], ask_again=0), some[REFERENCE:]))
    assert once.count("changed") == 1
    assert "regression" not in once
    watch = NightlyWatch(some[:REFERENCE])
    found = judged(watch, some[REFERENCE:])
    alarm, red = words(found).index("changed"), words(found).index("regression")
    assert words(found)[: alarm + 1] == once[: alarm + 1]
    assert alarm < red
    late = found[red]
    assert (late.alarm, late.unacknowledged, late.named) == (False, False, ("t0",))
    assert late.since == found[alarm].since  # the change has the date that the alarm gave it
    assert {task for task, _ in late.items} >= {"t0"}
    assert all(one.verdict == "regression" and one.unacknowledged for one in found[red + 1 :])
    watch.fixed()
    assert [watch.runs[at][0] for at in watch.baseline] == [watch.runs[at][0] for at in watch.first]


def test_it_is_asked_for_so_many_nights_and_no_more() -> None:
    some = nights(7)
    found = words(judged(NightlyWatch(some[:REFERENCE]), some[REFERENCE:]))
    wait = found.index("regression") - found.index("changed")
    for ask, red in ((wait - 1, False), (wait, True)):
        again = words(judged(NightlyWatch(some[:REFERENCE], ask_again=ask), some[REFERENCE:]))
        assert ("regression" in again) is red


@pytest.mark.parametrize("cut", [20, 22, *seldom(21, 24)])
def test_a_kept_state_goes_on_asking(cut: int) -> None:
    some = nights(7)
    whole = judged(NightlyWatch(some[:REFERENCE]), some[REFERENCE:])
    watch = NightlyWatch(some[:REFERENCE])
    before = judged(watch, some[REFERENCE:cut])
    kept = NightlyWatch.from_dict(json.loads(json.dumps(watch.to_dict())))
    assert before + judged(kept, some[cut:]) == whole


def test_a_state_from_before_is_read_and_asks_no_more_than_it_did() -> None:
    some = nights(7)
    watch = NightlyWatch(some[:REFERENCE], ask_again=0)
    before = judged(watch, some[REFERENCE:24])
    assert "changed" in words(before)
    plain = watch.to_dict()
    del plain["asking"]
    assert "regression" not in words(judged(NightlyWatch.from_dict(plain), some[24:]))


def test_an_alarm_is_one_regression_at_most() -> None:
    """So false regressions are no more than false alarms, which the budget holds for."""
    alarms = reds = 0
    for seed in range(6):
        some = nights(seed, many=32)
        watch = NightlyWatch(some[:REFERENCE], false_alarms=30)  # alarms in plenty
        for night in some[REFERENCE:]:
            found = watch.judge(night)
            alarms += found.alarm
            if found.verdict == "regression":
                reds += 1
                watch.accept()
    assert 0 < reds <= alarms
