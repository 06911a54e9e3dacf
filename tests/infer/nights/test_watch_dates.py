"""The night that a change is dated to."""

from __future__ import annotations

from steelyard.infer.nights.answers import TaskRun
from steelyard.infer.nights.watch import Night, NightlyWatch

IDS = [str(i) for i in range(100)]


def run(name: str, **wrong: int) -> Night:
    def answers(lost: int) -> TaskRun:
        odd = sum(name.encode()) % 80
        return TaskRun(ids=IDS, values=[float(i < 80 and i >= lost and i != odd) for i in range(100)])

    return Night(run=name, tasks={task: answers(lost) for task, lost in wrong.items()})


def test_a_change_is_not_dated_to_nights_without_the_task() -> None:
    watch = NightlyWatch([run(f"r{k}", a=0, b=0) for k in range(5)])
    for k in range(4):
        watch.judge(run(f"both{k}", a=0, b=0))
    for k in range(6):
        watch.judge(run(f"without{k}", b=0))
    found = [watch.judge(run(f"broken{k}", a=30, b=0)) for k in range(3)]
    alarm = next(one for one in found if one.alarm)
    assert alarm.since == "broken0"
