"""Earlier runs of a suite in the history: put together, held against the runs before them, and what they say of a whole run's noise."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from questions.suite.test_budget import Nights
from steelyard.estimate.past.earlier_runs import EarlierRun, PastTask, earlier_runs, healthy_z
from steelyard.history.nights import JudgedValues
from steelyard.history.store import open_history
from steelyard.infer.nights.answers import TaskRun
from steelyard.results.history import PastRun
from steelyard.results.verdict import PooledSuite, Suite

URL = "sqlite:///runs.db"
IDS = [f"q{i}" for i in range(60)]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Suites(Nights):
    """Ordinary runs of a suite without a budget."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"tasks": 6, "items": 60, "runs": 1, "head": 'name = "plain"', **more})

    def checked(self, **more: Any) -> Suite:
        self.write()
        return sy.check_suite("suite.toml", **{"history": URL, **more})

    def lose_a_little_everywhere(self, many: int = 3) -> None:
        for j in range(self.tasks):
            self.break_items(j, many)


def pooled(suite: Suite) -> PooledSuite:
    assert suite.pooled is not None
    return suite.pooled


Begun = Callable[[int], tuple[Suites, Suite]]


@pytest.fixture(scope="module")
def checked_before(tmp_path_factory: pytest.TempPathFactory) -> Begun:
    """A suite that was checked three or five times, put into the working directory as it then was, and its first answer."""
    place = tmp_path_factory.mktemp("suites")
    kept: dict[int, Suites] = {}
    with pytest.MonkeyPatch.context() as patch:
        (place / "now").mkdir()
        patch.chdir(place / "now")
        suites = Suites(seed=3)
        first = suites.checked()
        for count in range(2, 6):
            suites.checked()
            if count in (3, 5):
                kept[count] = copy.deepcopy(suites)
                shutil.copytree(place / "now", place / str(count))

    def begun(times: int) -> tuple[Suites, Suite]:
        shutil.copytree(place / str(times), Path.cwd(), dirs_exist_ok=True)
        return copy.deepcopy(kept[times]), first

    return begun


def test_with_one_run_on_record_earlier_runs_say_how_much_a_whole_run_varies(checked_before: Begun) -> None:
    suites, begin = checked_before(5)
    first = pooled(begin)
    assert (first.phi_known, first.phi_recorded, first.phi_history) == (False, 0, 0)
    suites.lose_a_little_everywhere()
    suites.write()
    alone, found = (sy.check_suite("suite.toml", history=place) for place in (None, URL))
    assert pooled(alone).verdict == "unconfirmed"
    assert alone.verdict == "pass"
    assert (pooled(found).phi_known, pooled(found).phi_history, pooled(found).named) == (True, 5, ())
    assert found.verdict == pooled(found).verdict == "regression"
    assert (pooled(found).p_pooled or 0) > (pooled(alone).p_pooled or 0)  # what was learned costs something
    assert Suite.from_dict(found.to_dict()).pooled == found.pooled
    assert "run-to-run variation is estimated from 5 earlier runs" in " ".join(str(found).split())


def test_the_history_of_the_configuration_counts_as_well(checked_before: Begun) -> None:
    suites, _ = checked_before(3)
    Path("steelyard.toml").write_text(f'history = "{URL}"\n', encoding="utf-8")
    suites.write()
    assert pooled(sy.check_suite("suite.toml")).phi_history == 3
    assert pooled(sy.check_suite("suite.toml", history="none")).phi_history == 0


def test_the_same_answers_checked_again_do_not_speak_for_themselves() -> None:
    suites = Suites(seed=3)
    suites.checked()
    suites.write()
    counts = [pooled(sy.check_suite("suite.toml", history=URL)).phi_history for _ in range(3)]
    assert counts == [1, 1, 1]


def test_a_run_that_alarmed_does_not_teach(checked_before: Begun) -> None:
    suites, _ = checked_before(5)
    kept = list(suites.usual)
    suites.lose_a_little_everywhere()
    red = [suites.checked() for _ in range(3)]
    assert [one.verdict for one in red] == ["regression"] * 3
    assert [pooled(one).phi_history for one in red] == [5, 5, 5]
    suites.usual = kept
    assert pooled(suites.checked()).phi_history == 5


def test_recorded_runs_and_those_of_the_history_count_together() -> None:
    suites = Suites(seed=5, runs=3)
    for count in range(3):
        found = pooled(suites.checked())
        assert (found.phi_recorded, found.phi_history) == (2, count)


def test_runs_held_against_another_reference_do_not_count(checked_before: Begun) -> None:
    suites, _ = checked_before(3)
    for j in range(suites.tasks):
        suites.break_items(j, 6)
        suites.record(j, update=True)
    assert pooled(suites.checked()).phi_history == 0
    assert pooled(suites.checked()).phi_history == 1


def test_runs_of_other_items_count_as_far_as_they_share_them() -> None:
    suites = Suites(seed=3)
    suites.more = dict.fromkeys(range(suites.tasks), 'unmatched = "drop"')
    suites.write_suite("")
    for _ in range(3):
        suites.checked()
    suites.ids = [*suites.ids[:-5], *(f"new{i}" for i in range(5))]
    assert pooled(suites.checked()).phi_history == 3
    assert len(sy.simulate_nights(URL, suite="suite.toml").nights) == 4


def test_two_suites_in_one_history_keep_apart_and_a_task_that_both_have_is_not_enough() -> None:
    one = Suites(seed=3)
    one.write_suite(only=[0, 1, 2, 3], head="")
    one.checked()
    one.checked()
    one.write_suite(only=[4, 5], head="")
    assert pooled(one.checked()).phi_history == 0
    one.write_suite(only=[3, 4, 5], head="")  # one of three tasks has earlier runs of the first suite
    assert pooled(one.checked()).phi_history == 1


def test_a_history_that_cannot_be_read_is_a_warning_and_changes_no_verdict() -> None:
    suites = Suites(seed=3)
    Path("runs.db").write_text("no database", encoding="utf-8")
    found = suites.checked()
    assert found.verdict == "pass"
    assert any("could not be read" in warning for warning in found.warnings)


def test_runs_are_put_together_by_their_time_their_commit_and_their_tasks() -> None:
    suites = Suites(seed=3, tasks=2)
    for _ in range(3):
        suites.checked()
    tasks = [PastTask(key=f"t{j} m", task=f"t{j}", model="m", spec={}, metric="accuracy", up=1.0, recorded=()) for j in range(suites.tasks)]
    with open_history(URL) as store:
        found = earlier_runs(store, tasks)
        newest = earlier_runs(store, tasks, most=2)
        times = [run.time for run in store.runs(task="t0")[0]], [run.time for run in store.runs(task="t1")[0]]
    assert [sorted(one.tasks) for one in found] == [["t0 m", "t1 m"]] * 3
    assert all(a[:19] == b[:19] or a < b for a, b in zip(*times, strict=True))  # one moment for each run, and in their order
    assert [one.time for one in newest] == [one.time for one in found[1:]]
    assert found[0].tasks["t0 m"].ids == found[1].tasks["t0 m"].ids


def _run(place: int, rng: np.random.Generator, shift: float, tasks: int) -> EarlierRun:
    """A run whose answers all share how good the night was."""
    values = {f"t{j}": (rng.random(len(IDS)) < 0.7 + shift).astype(float) for j in range(tasks)}
    stored = {key: PastRun(id=f"{place}{key}", time="", command="check", task=key, model="m", outcomes=f"{place}{key}") for key in values}
    return EarlierRun(time="", commit=None, runs=stored, tasks={key: TaskRun(ids=IDS, values=each) for key, each in values.items()})


def test_noise_that_a_whole_run_shares_is_seen() -> None:
    rng, tasks = np.random.default_rng(4), 20
    reference = {key: one.values for key, one in _run(0, rng, 0.0, tasks).tasks.items()}
    known = [
        PastTask(
            key=key,
            task=key,
            model="m",
            spec={},
            metric="accuracy",
            up=1.0,
            recorded=(JudgedValues(ids=IDS, values=list(values)),),  # type: ignore[call-overload]
        )
        for key, values in reference.items()
    ]

    def spread(sd: float) -> float:
        runs = [_run(i, rng, sd * float(rng.normal()), tasks) for i in range(16)]
        z = healthy_z(runs, known, recorded=[], alpha=0.05, tonight={})
        assert len(z) >= 10
        return float(np.mean(np.square(z)))

    assert spread(0.0) < 2
    assert spread(0.05) > 2
