"""A suite watched over nights: alarms, what follows from them, and replays that decide the same."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from steelyard.errors import DataError, UsageError
from steelyard.infer.nights.answers import TaskRun
from steelyard.infer.nights.detector import alarm_line, confirm_level, first_stage, moved, second_stage, shortfall
from steelyard.infer.nights.watch import Night, NightDecision, NightlyWatch, Unit

N = 120
IDS = [f"q{i:03}" for i in range(N)]


def night(name: str, *rows: Any, contents: Sequence[str] | None = None, **more: Any) -> Night:
    return Night(run=name, tasks={f"t{j}": TaskRun(ids=IDS, values=row, contents=contents) for j, row in enumerate(rows)}, **more)


class World:
    """Items that are usually right or usually wrong, and leave that with a small chance each night."""

    def __init__(self, seed: int, tasks: int = 3, noise: float = 0.02, scores: bool = False) -> None:
        self.rng, self.noise, self.scores = np.random.default_rng(seed), noise, scores
        self.usual = (self.rng.random((tasks, N)) < 0.8).astype(float)

    def draw(self, broken: Sequence[int] = (), task: int | None = None) -> np.ndarray[Any, np.dtype[np.float64]]:
        usual = self.usual.copy()
        usual[slice(None) if task is None else task, list(broken)] = 0.0
        y = np.where(self.rng.random(usual.shape) < self.noise, 1 - usual, usual)
        return np.clip(0.8 * y + self.rng.normal(0, 0.02, y.shape), 0, 1) if self.scores else y

    def night(self, name: str, broken: Sequence[int] = (), task: int | None = None, **more: Any) -> Night:
        return night(name, *self.draw(broken, task), **more)


def run(watch: NightlyWatch, nights: Sequence[Night]) -> list[NightDecision]:
    return [watch.judge(one) for one in nights]


@pytest.mark.parametrize("scores", [False, True])
def test_a_fall_everywhere_is_a_regression_soon_and_stands_until_it_is_acknowledged(scores: bool) -> None:
    world = World(1, scores=scores)
    watch = NightlyWatch([world.night(f"r{i}") for i in range(3)])
    quiet = run(watch, [world.night(f"n{i}") for i in range(12)])
    assert [one.verdict for one in quiet] == ["pass"] * 12
    bad = run(watch, [world.night(f"b{i}", range(30)) for i in range(5)])
    red = next(i for i, one in enumerate(bad) if one.alarm)
    assert red <= 2
    assert bad[red].verdict == "regression"
    since = bad[red].since
    assert since in ("n9", "n10", "n11", "b0")  # the chart dates a change to a few nights
    assert bad[red].named
    assert all(one.unacknowledged and one.verdict == "regression" and one.since == since for one in bad[red + 1 :])
    assert not any(one.counted for one in bad[red + 1 :])


def test_an_accepted_change_is_the_new_baseline() -> None:
    world = World(2)
    watch = NightlyWatch([world.night("r")])
    run(watch, [world.night(f"n{i}") for i in range(8)])
    run(watch, [world.night(f"b{i}", range(40)) for i in range(4)])
    assert watch.red
    watch.accept()
    assert [one.verdict for one in run(watch, [world.night(f"c{i}", range(40)) for i in range(6)])] == ["pass"] * 6
    assert all(watch.runs[at][0].startswith(("b", "c")) for at in (*watch.baseline, *watch.first))


def test_a_fixed_fault_goes_back_to_the_first_baseline_and_the_fault_is_found_again() -> None:
    world = World(3)
    watch = NightlyWatch([world.night("r")])
    run(watch, [world.night(f"n{i}") for i in range(8)])
    run(watch, [world.night(f"b{i}", range(40)) for i in range(4)])
    watch.fixed()
    assert not any(watch.runs[at][0].startswith("b") for at in (*watch.baseline, *watch.first))
    assert [one.verdict for one in run(watch, [world.night(f"c{i}") for i in range(5)])] == ["pass"] * 5
    assert "regression" in [one.verdict for one in run(watch, [world.night(f"d{i}", range(40)) for i in range(4)])]


def test_a_few_items_lost_for_good_are_a_change_and_no_regression_unless_these_very_items_are_asked_about() -> None:
    found = {}
    for target in ("items", "runs"):
        world = World(4, tasks=10, noise=0.004)
        watch = NightlyWatch([world.night(f"r{i}") for i in range(3)], target=target)
        run(watch, [world.night(f"n{i}") for i in range(20)])
        lost = [int(i) for i in np.flatnonzero(world.usual[0])[:3]]
        bad = run(watch, [world.night(f"b{i}", lost, task=0) for i in range(12)])
        alarm = next(one for one in bad if one.alarm)
        found[target] = alarm.verdict
        assert {("t0", IDS[i]) for i in lost} <= set(alarm.items)
        if target == "items":
            first = [watch.runs[at][0] for at in watch.first]
            assert not any(name.startswith("b") for name in first)
            assert watch.runs[watch.baseline[0]][0] == alarm.since
            assert bad[-1].verdict == "pass"
    assert found == {"items": "changed", "runs": "regression"}


def test_small_changes_that_follow_one_another_add_up_to_a_regression() -> None:
    world = World(5, tasks=4, noise=0.004)
    watch = NightlyWatch([world.night(f"r{i}") for i in range(3)])
    run(watch, [world.night(f"n{i}") for i in range(20)])
    seen = []
    for step in range(1, 9):
        lost = [int(i) for i in np.flatnonzero(world.usual[0])[: 3 * step]]
        seen += [one.verdict for one in run(watch, [world.night(f"b{step}-{i}", lost, task=0) for i in range(10)])]
        if watch.red:
            break
    assert "changed" in seen
    assert "regression" in seen


def test_a_replay_decides_every_night_as_it_was_decided_and_a_stored_state_goes_on_alike() -> None:
    for scores in (False, True):
        world = World(6, tasks=2, scores=scores)
        nights = [world.night(f"n{i}", range(25) if i in (9, 10, 11) else ()) for i in range(16)]
        reference = [world.night("r0"), world.night("r1")]
        through, stored = NightlyWatch(reference), NightlyWatch(reference)
        for place, one in enumerate(nights):
            if through.red and place == 13:
                through.accept()
                stored.accept()
            decided = through.judge(one)
            assert stored.judge(one) == decided
            stored = NightlyWatch.from_dict(json.loads(json.dumps(stored.to_dict())))
        assert stored.to_dict() == through.to_dict()


def test_the_order_of_items_and_of_tasks_changes_nothing() -> None:
    world = World(7)
    nights = [world.night(f"n{i}") for i in range(6)]
    plain = NightlyWatch(nights[:2])
    mixed = NightlyWatch(nights[:2])
    order = np.random.default_rng(0).permutation(N)
    for one in nights[2:]:
        turned = {
            name: TaskRun(ids=[IDS[i] for i in order], values=np.asarray(task.values)[order]) for name, task in reversed(one.tasks.items())
        }
        ours, other = plain.judge(one), mixed.judge(replace(one, tasks=turned))
        assert other.evidence == pytest.approx(ours.evidence)
        assert other.task_z == pytest.approx(ours.task_z)


def test_a_missing_task_keeps_its_evidence_and_the_pool_needs_half_of_them() -> None:
    world = World(8, tasks=4)
    watch = NightlyWatch([world.night("r")])
    run(watch, [world.night(f"n{i}") for i in range(3)])
    kept, pool = watch.units["t3"].detectors.copy(), watch.pool.detectors.copy()
    one = world.night("few")
    found = watch.judge(replace(one, tasks={"t0": one.tasks["t0"]}))
    assert (found.pool_z, found.counted) == (None, ("t0",))
    assert (watch.units["t3"].detectors == kept).all()
    assert (watch.pool.detectors == pool).all()
    half = world.night("half")
    assert watch.judge(replace(half, tasks={name: half.tasks[name] for name in ("t0", "t1")})).pool_z is not None


def test_an_edited_item_starts_anew_and_a_new_one_weighs_nothing_on_its_first_night() -> None:
    world = World(9, tasks=1)
    before, after = ["a"] * N, ["b"] * N
    watch = NightlyWatch([world.night("r", contents=before)])
    run(watch, [world.night(f"n{i}", contents=before) for i in range(4)])
    edited = watch.judge(night("edited", np.zeros(N), contents=after))  # all wrong, but they are other questions now
    assert (edited.verdict, edited.counted) == ("pass", ())
    assert watch.judge(night("again", np.zeros(N), contents=after)).task_z == {"t0": 0.0}
    more = [*IDS, "new"]
    one = Night(run="more", tasks={"t0": TaskRun(ids=more, values=np.zeros(N + 1), contents=[*after, "c"])})
    assert watch.judge(one).task_z == {"t0": 0.0}


def test_an_item_that_is_absent_for_a_night_keeps_its_runs() -> None:
    world = World(10, tasks=1)
    watch = NightlyWatch([world.night("r")])
    run(watch, [world.night(f"n{i}") for i in range(4)])
    some = Night(run="some", tasks={"t0": TaskRun(ids=IDS[:50], values=world.draw()[0][:50])})
    watch.judge(some)
    counted, _ = watch.tasks["t0"]._baseline_counts()
    assert counted.tolist() == [6] * 50 + [5] * (N - 50)


def test_a_deterministic_model_counts_once_per_commit_while_its_answers_stay_the_same() -> None:
    world = World(11, tasks=2)
    watch = NightlyWatch([world.night("r")])
    answers = world.draw()
    first = watch.judge(night("a", *answers, commit="c1", deterministic=True))
    evidence = watch.evidence
    second = watch.judge(night("b", *answers, commit="c1", deterministic=True))
    assert (first.counted, second.counted) == (("t0", "t1"), ())
    assert watch.evidence == evidence
    assert watch.judge(night("c", *answers, commit="c2", deterministic=True)).counted == ("t0", "t1")
    assert watch.judge(night("d", *answers, commit="c1")).counted == ("t0", "t1")
    other = answers.copy()
    other[1, 0] = 1 - other[1, 0]
    assert watch.judge(night("e", *other, commit="c1", deterministic=True)).counted == ("t1",)


def test_a_restart_begins_with_the_new_reference_alone() -> None:
    world = World(12)
    watch = NightlyWatch([world.night("r")])
    run(watch, [world.night(f"n{i}", range(40) if i > 5 else ()) for i in range(10)])
    fresh = world.night("new", range(40))
    watch.restart([fresh])
    assert watch.to_dict() == NightlyWatch([fresh]).to_dict()


def test_a_night_that_cannot_be_read_changes_nothing() -> None:
    world = World(13, tasks=2)
    watch = NightlyWatch([world.night("r")])
    watch.judge(world.night("n0"))
    before = watch.to_dict()
    y = world.draw()
    bad = [
        (night("x", y[0], [math.nan] * N), DataError),
        (Night(run="x", tasks={"t0": TaskRun(ids=[*IDS, "new"], values=[1] * (N + 1)), "t1": TaskRun(ids=IDS, values=[1])}), UsageError),
        (Night(run="x", tasks={"t0": TaskRun(ids=["a", "a"], values=[1, 0])}), DataError),
        (Night(run="x", tasks={"t0": TaskRun(ids=["a"], values=[1], contents=["1", "2"])}), UsageError),
        (Night(run="x", tasks={}), UsageError),
        (world.night("n0"), UsageError),
    ]
    for one, kind in bad:
        with pytest.raises(kind):
            watch.judge(one)
    assert watch.to_dict() == before


def test_what_makes_no_sense_is_refused() -> None:
    world = World(14)
    one = [world.night("r")]
    for wrong in ({"false_alarms": 0}, {"false_alarms": 400}, {"runs_per_year": math.nan}, {"target": "nights"}):
        with pytest.raises(UsageError):
            NightlyWatch(one, **wrong)
    with pytest.raises(UsageError, match="reference"):
        NightlyWatch([])
    watch = NightlyWatch(one)
    for acknowledge in (watch.accept, watch.fixed):
        with pytest.raises(UsageError, match="no regression stands"):
            acknowledge()
    with pytest.raises(UsageError, match="format"):
        NightlyWatch.from_dict({**watch.to_dict(), "format": 99})


def test_a_suite_that_never_varies_never_alarms() -> None:
    watch = NightlyWatch([night("r", np.ones(N), np.zeros(N))])
    found = run(watch, [night(f"n{i}", np.ones(N), np.zeros(N)) for i in range(40)])
    assert not any(one.alarm for one in found)
    assert watch.night_correlation() is None


def test_one_item_of_a_quiet_engine_lost_for_good_is_found_within_two_weeks() -> None:
    watch = NightlyWatch([night("r", np.ones(N))])
    run(watch, [night(f"n{i}", np.ones(N)) for i in range(60)])
    lost = np.ones(N)
    lost[7] = 0
    found = run(watch, [night(f"b{i}", lost) for i in range(14)])
    assert any(one.alarm for one in found)
    assert next(one for one in found if one.alarm).items == (("t0", "q007"),)


def test_noise_that_lasts_shows_in_the_correlation_of_nights() -> None:
    world = World(15, tasks=1, noise=0.1)
    lasting, plain = NightlyWatch([world.night("r")], false_alarms=0.001), NightlyWatch([world.night("s")], false_alarms=0.001)
    for i in range(60):
        lasting.judge(world.night(f"n{i}", range(12) if i // 10 % 2 else ()))
        plain.judge(world.night(f"n{i}"))
    one, other = lasting.night_correlation(), plain.night_correlation()
    assert one is not None
    assert other is not None
    assert one > 2 / math.sqrt(60) > other


def test_detectors_average_one_a_night_if_nothing_changed() -> None:
    v = np.random.default_rng(0).normal(size=200_000)
    factor = np.array([moved(np.zeros(4), float(x)) for x in v[:25_000]]).mean(0)
    assert factor[:3] == pytest.approx(1.0, abs=0.05)  # of the fourth, one night in thousands makes the mean


def test_a_shortfall_far_out_stays_finite_and_turns_with_its_sign() -> None:
    for z in (0.0, 1.0, 40.0, 1e6):
        v, _ = shortfall(z, [0.0] * 400)
        assert math.isfinite(v)
        assert shortfall(-z, [0.0] * 400)[0] == -v


def test_a_confirmation_asks_again_what_was_red_at_the_root_of_the_budget() -> None:
    assert confirm_level(1, 365) == pytest.approx(math.sqrt(1 / alarm_line(1, 365)))
    first = first_stage([0.5, 0.001, 0.2, 0.004], 0.3, 0.05)
    assert (first.again, first.pooled) == ((1, 3), False)
    assert second_stage(first, [0.2, 0.02])
    assert not second_stage(first, [0.2, 0.03])
    spread = first_stage([0.2] * 4, 0.01, 0.05)
    assert spread.again == (0, 1, 2, 3)
    assert second_stage(spread, [0.2] * 4, 0.01)
    assert not second_stage(spread, [0.2] * 4, 0.3)
    assert not second_stage(first_stage([0.5], None, 0.05), [])
    with pytest.raises(UsageError, match="asked again"):
        second_stage(first, [0.01])


def test_a_night_can_be_looked_at_without_moving_anything() -> None:
    world = World(16)
    watch = NightlyWatch([world.night(f"r{i}") for i in range(3)])
    before = watch.to_dict()
    broken = world.night("b", range(40))
    p, pooled = watch.evidence_against(broken)
    assert max(p.values()) < 0.01
    assert pooled is not None
    assert pooled < 0.01
    assert watch.to_dict() == before


def test_a_large_fall_is_dated_without_the_nights_that_were_a_little_low() -> None:
    unit = Unit()
    for run, z in enumerate([-0.4, 0.9, 0.8, 1.1, 6.0, 6.0]):
        unit.seen(run, z)
    assert unit.last_healthy() == 3  # a chart for falls of one deviation would name the first night
    slow = Unit()
    for run, z in enumerate([-0.4, -0.2, 1.5, 1.5, 1.5, 1.5, 1.5]):
        slow.seen(run, z)
    assert slow.last_healthy() == 1


def test_a_task_that_comes_later_brings_its_reference_runs() -> None:
    world, late = World(5, tasks=1), World(6, tasks=1)

    def both(name: str, broken: Sequence[int] = ()) -> Night:
        return Night(run=name, tasks={**world.night(name).tasks, "new": late.night(name, broken).tasks["t0"]})

    watch = NightlyWatch([world.night(f"r{i}") for i in range(3)])
    run(watch, [world.night(f"n{i}") for i in range(4)])
    watch.join([Night(run=f"late {i}", tasks={"new": late.night("").tasks["t0"]}) for i in range(3)], ranges={"new": 1.0})
    assert len(watch.units["new"].z) == 2  # the second and third teach
    assert len(watch.pool.z) == 2 + 4  # and the pool does not move
    first = watch.judge(both("n4"))
    assert "new" in first.counted  # its first night has something to be held against
    run(watch, [both(f"n{i}") for i in range(5, 9)])
    bad = run(watch, [both(f"b{i}", range(30)) for i in range(4)])
    (alarm,) = [one for one in bad if one.alarm]
    assert (alarm.verdict, alarm.since, alarm.named) == ("regression", "b0", ("new",))
    assert NightlyWatch.from_dict(watch.to_dict()).to_dict() == watch.to_dict()
    watch.fixed()
    assert watch.tasks["new"].baseline[:3] == watch.brought  # they belong to the first baseline
    assert watch.judge(both("n9")).verdict == "pass"
    with pytest.raises(UsageError, match="already"):
        watch.join([both("more")])
