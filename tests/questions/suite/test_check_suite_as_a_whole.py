"""A suite as a whole: a little lost everywhere, who is named, what is only unconfirmed, and which words say so."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.infer.paired.mcnemar import mcnemar_midp
from steelyard.infer.suite.closed_testing import TaskEvidence, judge_tasks
from steelyard.infer.suite.pooled import flips_z
from steelyard.render.formats import result_markdown, result_text
from steelyard.results.verdict import Suite

N, TASKS = 400, 8
A_LITTLE = [(16, 9), (18, 11), (15, 10), (19, 12), (14, 9), (17, 11), (20, 13), (13, 8)]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(scores: Any) -> list[dict[str, Any]]:
    return [{"id": f"q{i}", "score": float(score)} for i, score in enumerate(scores)]


def usual() -> np.ndarray[Any, np.dtype[np.float64]]:
    return (np.arange(N) % 5 > 0).astype(float)


def flipped(lost: int, gained: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    run = usual()
    run[np.flatnonzero(run == 1)[:lost]] = 0
    run[np.flatnonzero(usual() == 0)[:gained]] = 1
    return run


def write(name: str, scores: Any) -> None:
    Path(f"{name}.csv").write_text("id,score\n" + "".join(f"q{i},{s:g}\n" for i, s in enumerate(scores)), encoding="utf-8")


def suite(flips: list[tuple[int, int]], *, head: str = "", more: dict[int, str] | None = None) -> Suite:
    """Every task with one run on record, and a run that has lost and gained so many items of it."""
    text = f"[suite]\n{head}\n"
    for j, (lost, gained) in enumerate(flips):
        sy.record(rows(usual()), task=f"t{j}", model="m")
        write(f"t{j}", flipped(lost, gained))
        text += f'[[checks]]\ntask = "t{j}"\nmodel = "m"\nresult = "t{j}.csv"\n{(more or {}).get(j, "")}\n'
    Path("suite.toml").write_text(text, encoding="utf-8")
    return sy.check_suite("suite.toml")


def test_seconds_and_rewards_have_no_mean_change() -> None:
    text = ""
    for task, up, size in (("latency", False, 150.0), ("reward", True, 3.0)):
        values = size + np.arange(40) / 40
        sy.record(rows(values), task=task, model="m", scale="raw", higher_is_better=up)
        write(task, values + np.where(np.arange(40) % 3 == 0, 0.1, -0.05))
        text += f'[[checks]]\ntask = "{task}"\nmodel = "m"\nresult = "{task}.csv"\n'
    Path("suite.toml").write_text(text, encoding="utf-8")
    found = sy.check_suite("suite.toml")
    assert found.pooled is not None
    assert found.pooled.mean_change is None
    assert "mean change" not in str(found)
    assert suite(A_LITTLE).pooled.mean_change is not None  # type: ignore[union-attr]


def test_a_little_lost_everywhere_is_said_but_not_confirmed_by_one_recorded_run() -> None:
    found = suite(A_LITTLE)
    assert found.correction == "pooled"
    assert found.pooled is not None
    assert found.pooled.verdict == "unconfirmed"
    assert found.pooled.p_pooled == pytest.approx(0.00042089275529518243, abs=1e-10)
    assert found.pooled.p_value == pytest.approx(0.0014029758509839414, abs=1e-10)
    assert (found.pooled.m, found.pooled.at_least, found.pooled.named, found.pooled.phi_known) == (8, 4, (), False)
    assert (found.verdict, found.exit_code) == ("pass", 0)
    assert any("all 8 tasks together are worse (p = 0.0014)" in warning for warning in found.warnings)
    text = " ".join(str(found).split())
    assert "pooled: p = 0.0004 over 8 tasks" in text
    assert "at least 4 of 8 tasks are worse if tasks vary independently, but no single one is significant after correction" in text
    assert "the lowest p is that of t0 m" in text
    assert "run-to-run variation is not estimated, so this is not confirmed" in text


def test_with_theta_an_unconfirmed_suite_is_inconclusive() -> None:
    assert suite(A_LITTLE, more=dict.fromkeys(range(TASKS), "theta = 0.05")).verdict == "inconclusive"


def with_runs(tasks: int, lost: int, seed: int = 0) -> Suite:
    """Four noisy runs of every task on record, and another noisy one in which `lost` more items are wrong."""
    rng = np.random.default_rng(seed)
    text = ""
    for j in range(tasks):
        runs = [np.where(rng.random(N) < 0.03, 1 - usual(), usual()) for _ in range(5)]
        sy.record(*(rows(run) for run in runs[:4]), task=f"t{j}", model="m")
        runs[4][np.flatnonzero(runs[4])[:lost]] = 0
        write(f"t{j}", runs[4])
        text += f'[[checks]]\ntask = "t{j}"\nmodel = "m"\nresult = "t{j}.csv"\n'
    Path("suite.toml").write_text(text, encoding="utf-8")
    return sy.check_suite("suite.toml")


def test_with_several_recorded_runs_it_is_a_regression_and_nobody_is_named() -> None:
    found = with_runs(12, 4)
    assert found.pooled is not None
    assert len(found.verdicts[0].details.reference_z or ()) == 3
    assert (found.pooled.phi_known, found.pooled.named) == (True, ())
    assert (found.pooled.verdict, found.verdict, found.exit_code) == ("regression", "regression", 1)
    assert {row["counts_as"] for row in found.rows} <= {"pass", "unconfirmed"}
    assert "no single one is significant" in found.conclusion
    assert "is not estimated" not in str(found)


def test_a_healthy_run_of_recorded_tasks_passes() -> None:
    found = with_runs(12, 0)
    assert found.pooled is not None
    assert (found.pooled.verdict, found.verdict) == ("pass", "pass")


def test_one_task_that_lost_much_is_named() -> None:
    found = suite([(30, 5), (9, 8), (0, 0), (12, 11), (7, 9)])
    assert found.pooled is not None
    assert (found.verdict, found.pooled.named, found.pooled.at_least, found.pooled.m) == ("regression", ("t0 m",), 1, 4)
    assert found.rows[0]["p_adjusted"] == pytest.approx(3.689567425421295e-05, abs=1e-10)
    assert [row["counts_as"] for row in found.rows] == ["regression", "pass", "pass", "pass", "pass"]
    assert found.rows[2]["p_adjusted"] == 1
    assert "Worse: t0 m." in found.conclusion


def test_the_suite_is_the_pure_function_of_its_flips() -> None:
    flips = [(9, 2), (5, 5), (3, 8), (14, 4)]
    found = suite(flips)
    pure = judge_tasks([TaskEvidence(p_value=mcnemar_midp(g, lost, "less"), z=flips_z(lost, g)) for lost, g in flips])
    assert [row["p_adjusted"] for row in found.rows] == pytest.approx(pure.adjusted)
    assert [v.details.z for v in found.verdicts] == pytest.approx([flips_z(*pair) for pair in flips])


def test_a_waived_task_is_inside_and_never_named_and_an_advisory_one_is_outside() -> None:
    waiver = 'waiver = {reason = "known", until = 2099-01-01}'
    found = suite([(60, 2), (5, 4), (4, 5)], more={0: waiver})
    assert found.pooled is not None
    assert (found.verdict, found.pooled.m, found.pooled.named) == ("pass", 3, ())
    assert found.rows[0]["counts_as"] == "waived"
    text = " ".join(str(found).split())
    assert found.pooled.waived == 1
    assert "over 3 tasks, 1 of them waived (share 0.3 of alpha); p = 1 for the others, which decide" in text
    assert "worse" not in text.partition("pooled:")[2].partition("3 guards")[0]  # a pass does not say that a task is worse
    sy_home = Path("references")
    for file in sy_home.rglob("*"):
        if file.is_file():
            file.unlink()
    outside = suite([(60, 2), (5, 4), (4, 5)], more={0: 'tier = "advisory"'})
    assert outside.pooled is not None
    assert (outside.verdict, outside.pooled.m, outside.rows[0]["p_adjusted"]) == ("pass", 2, None)


def test_holm_stays_available() -> None:
    found = suite([(16, 9), (18, 11)], head='correction = "holm"')
    assert (found.correction, found.pooled) == ("holm", None)
    assert "pooled:" not in str(found)


def test_scores_and_error_rates_are_turned_so_that_worse_is_positive() -> None:
    rng = np.random.default_rng(1)
    before = rng.uniform(0.3, 0.7, 60)
    after = before - np.where(np.arange(60) % 3 == 0, 0.05, -0.01)
    for j, good in enumerate((True, False)):
        sy.record(rows(before), task=f"s{j}", model="m", metric="mean", higher_is_better=good)
        z = sy.check(rows(after), task=f"s{j}", model="m").details.z
        d = after - before
        assert z == pytest.approx((-1 if good else 1) * d.sum() / math.sqrt((d * d).sum()))


def test_unequal_runs_are_held_back_by_the_range() -> None:
    runs = [usual(), flipped(4, 3), flipped(2, 6)]
    sy.record(*(rows(run) for run in runs), task="u", model="m")
    now = flipped(12, 2)
    found = sy.check(rows(now), task="u", model="m")
    d = now - np.mean(runs, axis=0)
    assert found.details.z == pytest.approx(-d.sum() / math.sqrt((d * d).sum() + 2))
    assert len(found.details.reference_z or ()) == 2


def test_what_is_no_mean_over_items_has_no_z_of_its_own() -> None:
    labels = [{"id": i, "truth": "ab"[i % 2], "prediction": "ab"[(i * 7 // 3) % 2]} for i in range(60)]
    sy.record(labels, task="f", model="m", metric="macro_f1")
    assert sy.check(labels, task="f", model="m").details.z is None
    sy.record(rows(usual()), task="g", model="m", margin=0.02)
    assert sy.check(rows(usual()), task="g", model="m").details.z is None


def test_json_goes_both_ways_and_older_json_is_read() -> None:
    found = suite(A_LITTLE)
    plain = json.loads(json.dumps(found.to_dict()))
    assert Suite.from_dict(plain) == found
    del plain["pooled"]
    assert Suite.from_dict(plain).pooled is None


def test_every_format_says_what_the_tasks_show_together() -> None:
    found = suite([(30, 5), (9, 8), (12, 11), (7, 9)])
    for said in (result_text(found), result_markdown(found)):
        assert "over 4 tasks" in " ".join(said.split())
