"""tau-bench and tau2-bench: rewards, trials as repeats, pass^k as the benches define it, costs, errors that are no answers.

The results have the shape that the tools write, with invented tasks (tests/fixtures/make/tau_runs.py).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import DataError, SourceError, SteelyardError, UsageError
from steelyard.read.logs import tau2_bench, tau_bench
from steelyard.read.logs.found import HEAD, is_log, read_log
from steelyard.read.logs.log import Choices, Log

HERE = Path(__file__).parent
ALL = ["tau_bench/a.json", "tau_bench/errors.json", "tau2_bench/a.json", "tau2_bench/errors.json", "tau2_bench/apart"]


def log(name: str | Path, **asked: Any) -> Log:
    found = read_log(str(HERE / name), Choices(**asked))
    assert found is not None
    return found


def edited(tmp_path: Path, name: str, change: Callable[[Any], Any]) -> str:
    whole = json.loads((HERE / name).read_text(encoding="utf-8"))
    changed = change(whole)
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(whole if changed is None else changed), encoding="utf-8")
    return str(path)


def pass_hat(rewards: dict[str, list[float]], k: int) -> float:
    """As the benches define it: the mean over tasks of C(successes, k) / C(trials, k)."""
    return sum(comb(sum(value == 1 for value in each), k) / comb(len(each), k) for each in rewards.values()) / len(rewards)


def pass_at(rewards: dict[str, list[float]], k: int) -> float:
    return sum(1 - comb(sum(value != 1 for value in each), k) / comb(len(each), k) for each in rewards.values()) / len(rewards)


def rewards_of(name: str) -> dict[str, list[float]]:
    whole = json.loads((HERE / name).read_text(encoding="utf-8"))
    rows = whole if isinstance(whole, list) else whole["simulations"]
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(str(row["task_id"]), []).append(row["reward"] if "reward" in row else row["reward_info"]["reward"])
    return found


@every("name", ["tau_bench/a.json", "tau2_bench/a.json", "tau2_bench/b.json"])
def test_pass_hat_and_pass_at_are_those_of_the_bench_with_intervals_by_task(name: str) -> None:
    rewards = rewards_of(name)
    metrics = [f"pass^{k}" for k in (1, 2, 3, 4)] + ["pass@2", "pass@4"]
    found = sy.measure(HERE / name, metric=metrics)
    expected = [pass_hat(rewards, k) for k in (1, 2, 3, 4)] + [pass_at(rewards, k) for k in (2, 4)]
    assert [row.estimate for row in found.rows] == [pytest.approx(value) for value in expected]
    for row in found.rows:
        assert row.n == 20  # tasks, not trials
        assert row.interval is not None
        assert row.interval.low < row.interval.high


def test_the_mean_reward_knows_that_trials_are_repeats() -> None:
    row = sy.measure(HERE / "tau2_bench/a.json").rows[0]
    rewards = rewards_of("tau2_bench/a.json")
    assert row.estimate == pytest.approx(sum(map(sum, rewards.values())) / 80)
    assert (row.n, row.details["repeats"]) == (20, 4)


def test_the_model_and_the_domain_are_those_of_the_run() -> None:
    found = log("tau2_bench/b.json")
    assert found.name == "lab/agent-b"
    assert set(found.columns["domain"]) == {"retail"}
    assert found.checks == {"domain": "retail", "user model": "user-model"}


def test_two_agents_pair_task_by_task() -> None:
    found = sy.compare(HERE / "tau2_bench/a.json", HERE / "tau2_bench/b.json", metric="pass^2")
    a, b = (pass_hat(rewards_of(f"tau2_bench/{name}.json"), 2) for name in "ab")
    assert found.difference.estimate == pytest.approx(b - a)


def test_costs_stand_beside_the_rewards_and_can_be_measured() -> None:
    whole = json.loads((HERE / "tau2_bench/a.json").read_text(encoding="utf-8"))
    agent = [run["agent_cost"] for run in whole["simulations"]]
    found = log("tau2_bench/a.json")
    assert found.columns["agent_cost"] == agent
    costs = log("tau2_bench/a.json", score="cost")
    assert costs.columns["score"] == [pytest.approx(run["agent_cost"] + run["user_cost"]) for run in whole["simulations"]]
    assert costs.higher_is_better is False
    assert costs.chosen == {"score": "cost"}
    assert log("tau_bench/a.json", score="user_cost").columns["score"][0] == pytest.approx(0.002)
    with pytest.raises(UsageError, match="reward, success, user_cost"):  # tau-bench does not keep what the agent cost
        log("tau_bench/a.json", score="cost")


def test_what_ended_with_an_error_is_missing_and_told() -> None:
    found = log("tau_bench/errors.json")
    scores = dict(zip(zip(found.columns["id"], found.columns["repeat"], strict=True), found.columns["score"], strict=True))
    assert [key for key, value in scores.items() if value is None] == [("3", 1), ("7", 2), ("19", 3)]
    assert found.warnings[0].startswith("2 of 80 trials ended with an error and have no answer: Rate limit reached (2); tau-bench itself")
    assert found.warnings[1] == "1 of the 80 trials of a whole run are not in the file: they have no answer"
    with pytest.raises(DataError, match="3 of 80 items"):
        sy.measure(HERE / "tau_bench/errors.json")


def test_a_limit_is_the_agents_own_and_an_error_is_not() -> None:
    found = log("tau2_bench/errors.json")
    ended = found.columns["termination_reason"]
    missing = {reason for reason, score in zip(ended, found.columns["score"], strict=True) if score is None}
    assert missing == {"infrastructure_error", "user_error", None}  # None: not in the file
    assert {"max_steps", "too_many_errors"} <= set(ended) - missing
    assert "infrastructure_error, user_error" in found.warnings[0]
    assert found.warnings[1].startswith("2 of the 80 trials of a whole run are not in the file")


def test_missing_trials_count_as_wrong_only_if_asked() -> None:
    found = sy.measure(HERE / "tau_bench/errors.json", missing="wrong", metric="pass^4")
    rewards = rewards_of("tau_bench/errors.json")
    rewards["19"].append(0.0)
    assert found.rows[0].estimate == pytest.approx(pass_hat(rewards, 4))  # tau-bench wrote reward 0 for the errors


def test_a_task_that_was_never_tried_is_missing_in_every_trial(tmp_path: Path) -> None:
    def without_task_0(whole: Any) -> None:
        whole["simulations"] = [run for run in whole["simulations"] if run["task_id"] != "0"]

    found = log(edited(tmp_path, "tau2_bench/a.json", without_task_0))
    assert [score for id_, score in zip(found.columns["id"], found.columns["score"], strict=True) if id_ == "0"] == [None] * 4


def test_a_run_that_keeps_its_simulations_apart_is_read_by_its_index(tmp_path: Path) -> None:
    found = log("tau2_bench/apart")
    assert found == log("tau2_bench/apart/results.json")
    assert len(found.columns["score"]) == 40
    assert is_log(str(HERE / "tau2_bench/apart"))
    shutil.copytree(HERE / "tau2_bench/apart", tmp_path / "other")
    (tmp_path / "other" / "results.json").write_text("{}")
    assert not is_log(str(tmp_path / "other"))


def test_rewards_but_for_rounding_are_successes_and_others_keep_their_value(tmp_path: Path) -> None:
    def nearly(whole: Any) -> None:
        whole[0]["reward"], whole[1]["reward"] = 0.9999999, 0.5

    path = edited(tmp_path, "tau_bench/a.json", nearly)
    assert log(path).columns["score"][:2] == [1.0, 0.5]
    assert log(path, score="success").columns["score"][:2] == [1.0, 0.0]


def test_one_trial_has_no_repeats_and_numbers_are_given_where_there_are_none(tmp_path: Path) -> None:
    assert "repeat" not in log(edited(tmp_path, "tau_bench/a.json", lambda rows: rows[:20])).columns

    def unnumbered(whole: Any) -> None:
        for run in whole["simulations"]:
            run["trial"] = None

    assert sorted(set(log(edited(tmp_path, "tau2_bench/a.json", unnumbered)).columns["repeat"])) == [0, 1, 2, 3]


def test_a_trial_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="trial 0 of task '0' twice"):
        log(edited(tmp_path, "tau_bench/a.json", lambda rows: [*rows, rows[0]]))


@every(
    "change, match",
    [
        (lambda rows: rows[5].pop("task_id") and None, "a trial has no task_id"),
        (lambda rows: rows[5].update(reward="one"), "the reward of task '5' is 'one'"),
        (lambda rows: rows[5].update(reward=True), "is True, not a finite number"),
        (lambda rows: rows.append(3), "element 81 in the file is not an object"),
    ],
)
def test_what_is_damaged_is_named(tmp_path: Path, change: Callable[[Any], Any], match: str) -> None:
    def changed(rows: Any) -> None:
        change(rows)

    with pytest.raises(SourceError, match=match):
        log(edited(tmp_path, "tau_bench/a.json", changed))


def test_a_promise_beyond_belief_is_refused(tmp_path: Path) -> None:
    def promising(whole: Any) -> None:
        whole["info"]["num_trials"] = 999_999

    with pytest.raises(SteelyardError, match="20 tasks in 999,999 trials"):
        log(edited(tmp_path, "tau2_bench/a.json", promising))


def test_a_table_with_a_task_and_a_reward_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps([{"task_id": i, "reward": i % 2, "score": i % 2} for i in range(6)]))
    assert not is_log(str(path))
    assert sy.measure(path, id="task_id").rows[0].n == 6


@every("name", ALL[:4])
def test_each_is_known_by_its_first_bytes_and_by_no_other_reader(name: str) -> None:
    path = HERE / name
    head = path.read_bytes()[:HEAD]
    known = [reader.looks_like(str(path), head) for reader in (tau_bench, tau2_bench)]
    assert known == [name.startswith("tau_"), name.startswith("tau2_")]


def test_the_newest_run_is_known_by_its_own_time() -> None:
    assert tau2_bench.made(str(HERE / "tau2_bench/a.json")) == "2026-11-16T10:30:00.000001"
