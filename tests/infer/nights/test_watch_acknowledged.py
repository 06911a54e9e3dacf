"""What a series is held against after somebody has said what a regression was: exactly these nights, in every task, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from steelyard.infer.nights.answers import TaskRun
from steelyard.infer.nights.watch import Night, NightlyWatch

IDS = [str(i) for i in range(80)]
WORSE, WORST = range(20), range(45)


class Nights:
    """Two tasks of which every item leaves its usual answer in one night of a hundred."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.right = self.rng.random((2, len(IDS))) < 0.85

    def draw(self, name: str, lost: Iterable[int] = ()) -> Night:
        usual = self.right.copy()
        usual[:, list(lost)] = False
        values = usual ^ (self.rng.random(usual.shape) < 0.01)
        return Night(run=name, tasks={f"t{j}": TaskRun(ids=IDS, values=row) for j, row in enumerate(values)})

    def judge(self, watch: NightlyWatch, letter: str, many: int, lost: Iterable[int] = ()) -> list[str]:
        return [watch.judge(self.draw(f"{letter}{i}", lost)).verdict for i in range(many)]


def names(watch: NightlyWatch, places: Sequence[int]) -> list[str]:
    return [watch.runs[at][0] for at in places]


def held_against(watch: NightlyWatch) -> list[str]:
    """The runs that the next night is held against: one list for the series, and the same one in every task."""
    for task in watch.tasks.values():
        assert task.baseline == watch.baseline
    return names(watch, watch.baseline)


def regressed(seed: int = 3) -> tuple[Nights, NightlyWatch, list[str], list[str]]:
    """A series that is red since its first bad night: with its healthy runs, and those since the change."""
    nights = Nights(seed)
    watch = NightlyWatch([nights.draw("r0"), nights.draw("r1")])
    assert nights.judge(watch, "n", 8) == ["pass"] * 8
    verdicts = nights.judge(watch, "b", 4, WORSE)
    assert verdicts[-1] == "regression"
    since = names(watch, watch.since)
    healthy = [name for name in ["r0", "r1", *(f"n{i}" for i in range(8))] if name not in since]
    assert since[-4:] == ["b0", "b1", "b2", "b3"]
    return nights, watch, healthy, since


def at_rest(watch: NightlyWatch) -> None:
    """Nothing stands, nothing is asked again, and no evidence is left over."""
    assert (watch.red, watch.named, watch.asking, watch.evidence) == (False, (), 0, 0.0)


def test_fixed_goes_back_to_the_nights_before_the_change_and_grows_from_there() -> None:
    nights, watch, healthy, since = regressed()
    watch.fixed()
    at_rest(watch)
    assert held_against(watch) == healthy
    assert all(watch.runs[at][0] not in since for task in watch.tasks.values() for at in task.columns)  # the fault is forgotten
    found = watch.judge(nights.draw("c0"))
    assert (found.verdict, found.baseline) == ("pass", len(healthy))
    assert held_against(watch) == [*healthy, "c0"]
    assert nights.judge(watch, "d", 2, WORSE)[-1] == "regression"  # the same fault again


def test_a_night_as_bad_as_the_fault_counts_in_full_after_fixed_and_not_at_all_after_accept() -> None:
    """What the acknowledgement was is what the next bad night is held against: z of every task far below, or among the usual ones."""
    found = {}
    for how in ("fixed", "accept"):
        nights, watch, _, _ = regressed()
        getattr(watch, how)()
        found[how] = watch.judge(nights.draw("c0", WORSE)).task_z
    assert min(found["fixed"].values()) > 4
    assert max(map(abs, found["accept"].values())) < 3


def test_accept_begins_at_the_change_with_all_nights_since() -> None:
    nights, watch, _, since = regressed()
    watch.accept()
    at_rest(watch)
    assert held_against(watch) == since
    assert names(watch, watch.first) == since
    found = watch.judge(nights.draw("c0", WORSE))
    assert (found.verdict, found.baseline) == ("pass", len(since))
    assert held_against(watch) == names(watch, watch.first) == [*since, "c0"]


def test_after_accept_another_fault_that_is_fixed_goes_back_to_what_was_accepted() -> None:
    nights, watch, _, since = regressed()
    watch.accept()
    assert nights.judge(watch, "c", 8, WORSE) == ["pass"] * 8
    assert nights.judge(watch, "d", 4, WORST)[-1] == "regression"
    fault = names(watch, watch.since)
    watch.fixed()
    at_rest(watch)
    expected = [name for name in [*since, *(f"c{i}" for i in range(8))] if name not in fault]
    assert held_against(watch) == expected
    assert nights.judge(watch, "e", 6, WORSE) == ["pass"] * 6  # the accepted level is no fault


def test_nights_that_pass_while_a_regression_stands_belong_to_it_until_somebody_speaks() -> None:
    """Red stays red: a night that looks mended is not a part of the healthy baseline, whichever way it is acknowledged."""
    for how in ("fixed", "accept"):
        nights, watch, healthy, since = regressed()
        assert nights.judge(watch, "m", 2) == ["regression"] * 2
        getattr(watch, how)()
        assert held_against(watch) == (healthy if how == "fixed" else [*since, "m0", "m1"])
