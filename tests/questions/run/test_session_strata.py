"""Runs against several answers on record: wavering items are asked more often, weighted back, stored, replayed and resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every
from steelyard.cli.main import main
from steelyard.errors import DataError, UsageError
from steelyard.estimate.guard.sequential import StoppingPlan
from steelyard.evaluate.task.cases import hash_fractions

N = 1200
DATA = [{"id": f"q{i}", "x": i, "y": "yes"} for i in range(N)]
TASK = {"task": {"name": "t", "data": DATA, "input": "{x}", "truth": "y", "scorer": "exact"}}
CHANCE = np.where(np.arange(N) % 10 == 0, 0.5, np.where(np.arange(N) % 10 < 8, 1.0, 0.0))  # a coin, seven of ten right, two wrong
THETA = 0.05


def model(number: int, drop: float = 0.0) -> Callable[[str], str]:
    """Answers that are drawn from item and number of the run; a drop falls on items that are always right."""

    def answer(question: str) -> str:
        x = int(question)
        rng = np.random.default_rng([x, number])
        right = rng.random() < CHANCE[x] and not (CHANCE[x] == 1 and rng.random() < drop / 0.7)
        return "yes" if right else "no"

    return answer


def written(out: Path, number: int) -> Path:
    """The rows of a whole run, without asking: that runs can be recorded is shown elsewhere."""
    answer = model(number)
    rows = [{"id": row["id"], "truth": "yes", "prediction": (said := answer(str(row["x"]))), "score": float(said == "yes")} for row in DATA]
    out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return out


def recorded(place: Mapping[str, Any], answers: int) -> None:
    home = Path(place["directory"]).parent
    outs = [written(home / f"reference{number}.jsonl", number) for number in range(answers)]
    sy.record(*outs, task="t", model="m", deterministic=answers == 1, **place)


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A record of eight answers to each item."""
    place = {"directory": tmp_path_factory.mktemp("strata") / "references"}
    recorded(place, 8)
    return place


def run(place: Mapping[str, Any], asked: Callable[[str], str], out: Path, **options: Any) -> Any:
    return sy.run(TASK, asked, name="m", output=out, until="decided", **place, **{"theta": THETA, **options})


def plan_in(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"{out}.run").read_text(encoding="utf-8"))["stopping"]["plan"]
    return found


# ---- what is asked -----------------------------------------------------------------------------------------------------------


def test_wavering_items_are_asked_twice_as_often_and_the_verdict_is_replayed(eight: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "now.jsonl"
    found = run(eight, model(100), out)
    assert found.verdict.verdict == "pass"
    plan = plan_in(out)
    strata = plan["strata"]
    assert (strata["factor"], strata["stable"] + strata["wavering"], plan["answers"], plan["order"]) == (2.0, N, 8, "hash/k")
    assert strata["k"]["wavering"] == pytest.approx(2 * strata["k"]["stable"])
    assert (strata["k"]["stable"] * strata["stable"] + strata["k"]["wavering"] * strata["wavering"]) / N == pytest.approx(1)
    assert len(plan["record"]) == 64
    again = sy.check(out, task="t", model="m", **eight)
    assert (again.verdict, again.difference, again.p_value) == (
        found.verdict.verdict,
        found.verdict.difference,
        found.verdict.p_value,
    )
    assert again.details["stopping"]["looks"] == found.verdict.details["stopping"]["looks"]
    assert again.signature == found.verdict.signature
    assert "|strata:2|" in again.signature
    assert "|answers:8|" in again.signature


def test_the_order_is_hash_over_factor_item_by_item(eight: dict[str, Any], tmp_path: Path) -> None:
    """By hand: the record's rows say who wavers, and the asked ids are the first by hash over k."""
    out = tmp_path / "now.jsonl"
    run(eight, model(101), out)
    home = Path(eight["directory"]).parent
    right: dict[str, list[float]] = {}
    for number in range(8):
        for line in (home / f"reference{number}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            right.setdefault(row["id"], []).append(row["score"])
    wavers = {item: 0 < sum(scores) < 8 for item, scores in right.items()}
    strata = plan_in(out)["strata"]
    assert sum(wavers.values()) == strata["wavering"]
    ids = [row["id"] for row in DATA]
    k = {item: strata["k"]["wavering" if wavers[item] else "stable"] for item in ids}
    order = sorted(ids, key=lambda item: hash_fractions([item], 0)[0] / k[item])
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == order[: len(rows)]
    assert [row["weight"] for row in rows] == pytest.approx([1 / k[row["id"]] for row in rows])
    x = [(row["score"] - np.mean(right[row["id"]])) / k[row["id"]] for row in rows]
    assert sy.check(out, task="t", model="m", **eight).difference["estimate"] == pytest.approx(np.mean(x))


def test_a_drop_on_stable_items_is_found(eight: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "now.jsonl"
    found = run(eight, model(102, drop=0.15), out)
    assert found.verdict.verdict == "regression"
    assert sy.check(out, task="t", model="m", **eight).verdict == "regression"


def test_the_accuracy_is_weighted_back(eight: dict[str, Any], tmp_path: Path) -> None:
    """Wavering items are half right and asked twice as often: an unweighted mean would be too low."""
    out = tmp_path / "now.jsonl"
    found = run(eight, model(103), out)
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    weight, score = (np.array([row[name] for row in rows]) for name in ("weight", "score"))
    row = found.models[0].measurement.rows[0]
    assert row.estimate == pytest.approx(np.average(score, weights=weight))
    assert row.interval.low < row.estimate < row.interval.high <= 1
    assert found.verdict.candidate["value"] == pytest.approx(np.average(score, weights=weight))
    later = sy.measure(out, metric="accuracy", weight="weight")
    assert later.rows[0].estimate == pytest.approx(row.estimate)
    assert any("the column 'weight' corrects for" in words for words in later.warnings)


def test_strata_none_asks_in_hash_order(eight: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "now.jsonl"
    found = run(eight, model(104), out, strata="none")
    assert plan_in(out)["strata"] is None
    assert plan_in(out)["order"] == "hash"
    assert "strata:" not in found.verdict.signature
    assert "weight" not in json.loads(out.read_text(encoding="utf-8").splitlines()[0])
    assert sy.check(out, task="t", model="m", **eight).verdict == found.verdict.verdict


def test_hashed_ids_are_replayed_too(tmp_path: Path) -> None:
    place = {"directory": tmp_path / "references"}
    Path(tmp_path / "steelyard.toml").write_text('ids = "hashed"\n', encoding="utf-8")
    place["config"] = tmp_path / "steelyard.toml"
    recorded(place, 4)
    out = tmp_path / "now.jsonl"
    found = run(place, model(105), out)
    assert plan_in(out)["strata"] is not None
    again = sy.check(out, task="t", model="m", **place)
    assert again.verdict == found.verdict.verdict
    assert any("the reference keeps hashes of its ids" in words for words in again.warnings)


# ---- where it ends -----------------------------------------------------------------------------------------------------------


def test_wavering_items_that_run_out_are_no_pass(eight: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool whose wavering items run out though they seemed enough: the run ends there, undecided, and so does its check."""
    monkeypatch.setattr("steelyard.infer.sequential.wavering.ENOUGH", 0.0)
    out = tmp_path / "now.jsonl"
    found = run(eight, model(106, drop=0.0075), out, theta=0.012)
    plan = plan_in(out)
    assert found.verdict.verdict == "inconclusive"
    assert found.n == plan["limit"] < N
    assert f"all {plan['strata']['wavering']} unstable items were asked" in found.verdict.needed["why"]
    assert found.verdict.details["stopping"]["decision"] == "exhausted"
    again = sy.check(out, task="t", model="m", **eight)
    assert (again.verdict, again.needed) == ("inconclusive", found.verdict.needed)


def test_a_small_pool_is_asked_alike_and_says_so_if_strata_were_wanted(eight: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "now.jsonl"
    found = run(eight, model(107), out, theta=0.02, strata="auto")
    assert plan_in(out)["strata"] is None
    assert any("items are asked equally often" in words for words in found.verdict.warnings)


# ---- what does not fit -------------------------------------------------------------------------------------------------------


@every("answers", [1, 3])
def test_too_few_answers_refuse_strata_before_the_first_question(answers: int, tmp_path: Path) -> None:
    place = {"directory": tmp_path / str(answers) / "references"}
    place["directory"].parent.mkdir()
    recorded(place, answers)
    asked: list[str] = []

    def listening(question: str) -> str:
        asked.append(question)
        return "yes"

    many = "one answer" if answers == 1 else f"{answers} answers"
    with pytest.raises(UsageError, match=f"the record has {many} to each item, and at least 4 are needed"):
        run(place, listening, tmp_path / "now.jsonl", strata="auto")
    assert not asked
    assert not (tmp_path / "now.jsonl").exists()
    assert run(place, model(3), tmp_path / f"plain{answers}.jsonl").verdict is not None  # without strata it runs
    assert plan_in(tmp_path / f"plain{answers}.jsonl")["answers"] == answers


def test_strata_need_a_decision_a_record_and_a_rule_that_weighs(eight: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"strata='auto' needs until='decided'"):
        sy.run(TASK, model(1), name="m", strata="auto")
    with pytest.raises(UsageError, match="nothing is on record"):
        sy.run(TASK, model(1), model(2), name=["a", "b"], until="decided", theta=0.05, strata="auto")
    with pytest.raises(UsageError, match="the run stops by 'e-process'"):
        run(eight, model(1), tmp_path / "now.jsonl", strata="auto", stopping="e-process")
    with pytest.raises(UsageError, match="strata"):
        run(eight, model(1), tmp_path / "now.jsonl", strata="some")
    assert run(eight, model(1), tmp_path / "other.jsonl", stopping="e-process").verdict is not None
    assert plan_in(tmp_path / "other.jsonl")["strata"] is None


# ---- what was noted ----------------------------------------------------------------------------------------------------------


@every(
    ("change", "words"),
    [
        (lambda noted: noted["plan"]["strata"].update(factor=1.5), "other factors than their sizes give"),
        (lambda noted: noted["plan"]["strata"]["k"].update(stable=1.0), "other factors than their sizes give"),
        (lambda noted: noted["plan"].update(order="hash"), "order is 'hash'"),
        (lambda noted: noted["plan"].update(record="0" * 64), "not those that the run was planned by"),
        (lambda noted: noted["plan"].update(strata=None, order="hash"), "not the first"),
        (lambda noted: noted["looks"][-1].update(statistic=noted["looks"][-1]["statistic"] + 1e-6), "where the run noted"),
        (lambda noted: noted["looks"].pop(), "where the run noted"),
    ],
)
def test_notes_that_do_not_come_out_again_are_refused(
    eight: dict[str, Any], tmp_path: Path, change: Callable[[Any], Any], words: str
) -> None:
    out = tmp_path / "now.jsonl"
    if not out.exists():
        run(eight, model(108), out)
        Path(tmp_path / "kept").write_text(Path(f"{out}.run").read_text(encoding="utf-8"), encoding="utf-8")
    plain = json.loads(Path(tmp_path / "kept").read_text(encoding="utf-8"))
    change(plain["stopping"])
    Path(f"{out}.run").write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(DataError, match=words):
        sy.check(out, task="t", model="m", **eight)


def test_lambda_within_a_billionth_is_the_same_run(eight: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "now.jsonl"
    found = run(eight, model(109), out)
    notes = Path(f"{out}.run")
    plain = json.loads(notes.read_text(encoding="utf-8"))
    for look in plain["stopping"]["looks"]:
        look["statistic"] += 5e-10
    notes.write_text(json.dumps(plain), encoding="utf-8")
    assert sy.check(out, task="t", model="m", **eight).verdict == found.verdict.verdict


def test_a_plan_goes_to_json_and_back(eight: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "now.jsonl"
    run(eight, model(110), out)
    plain = plan_in(out)
    assert StoppingPlan.from_dict(plain).to_dict() == plain


# ---- interrupted -------------------------------------------------------------------------------------------------------------

KILLED = """
import os, sys
from pathlib import Path
import test_session_strata as t
asked, most = [], {most}
def answer(question):
    asked.append(question)
    if len(asked) > most:
        os.kill(os.getpid(), 9)
    return t.model(111)(question)
t.run({{"directory": Path({directory!r})}}, answer, Path({out!r}), concurrency=1)
"""


def test_a_killed_run_goes_on_at_the_same_look(eight: dict[str, Any], tmp_path: Path) -> None:
    """The process is killed between two looks; the same command asks nothing twice and comes to the looks of an unbroken run."""
    whole = run(eight, model(111), tmp_path / "whole.jsonl", concurrency=1)
    out = tmp_path / "now.jsonl"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED.format(most=whole.n - 10, directory=str(eight["directory"]), out=str(out))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parent, Path(__file__).parents[2])))},
        capture_output=True,
        check=False,
        text=True,
    )
    assert killed.returncode == -9, killed.stderr
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return model(111)(question)

    answer.__module__, answer.__qualname__ = "__main__", "answer"  # the model that was killed: a journal knows it by its name
    run(eight, answer, out, concurrency=1)
    assert len(asked) <= 12  # those that were missing, and one that was on its way
    noted, other = (json.loads(Path(f"{each}.run").read_text(encoding="utf-8"))["stopping"] for each in (out, tmp_path / "whole.jsonl"))
    assert noted == other
    assert sy.check(out, task="t", model="m", **eight).verdict == whole.verdict.verdict


def test_other_strata_are_another_run(eight: dict[str, Any], tmp_path: Path) -> None:
    """A journal of a run with strata is not continued by one without: the order would be another."""
    out = tmp_path / "now.jsonl"
    calls = [0]

    def dying(question: str) -> str:
        calls[0] += 1
        if calls[0] == 40:
            raise SystemExit
        return model(112)(question)

    with pytest.raises(DataError, match="the same command asks it again"):
        run(eight, dying, out, concurrency=1)
    with pytest.raises(UsageError, match="stopping"):
        run(eight, dying, out, strata="none")
    assert run(eight, dying, out).verdict is not None


# ---- the command -------------------------------------------------------------------------------------------------------------


def test_the_command_takes_strata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DATA), encoding="utf-8")
    Path("t.toml").write_text('[task]\nname = "t"\ndata = "data.jsonl"\ninput = "{x}"\ntruth = "y"\nscorer = "exact"\n', encoding="utf-8")
    for number in range(4):
        written(Path(f"r{number}.jsonl"), number)
    Path("says4.csv").write_text("id,prediction\n" + "".join(f"q{i},{model(4)(str(i))}\n" for i in range(N)), encoding="utf-8")
    sy.record("r0.jsonl", task="t", model="m", deterministic=True)
    asked = ["run", "t.toml", "--model", "file:says4.csv", "--name", "m", "--until", "decided", "--theta", "0.05"]
    with pytest.raises(SystemExit) as stop:
        main([*asked, "--strata", "auto"])
    assert stop.value.code == 3
    assert "--strata auto cannot be used: the record has one answer to each item" in capsys.readouterr().err
    sy.record(*(f"r{number}.jsonl" for number in range(4)), task="t", model="m", update=True, reason="more answers")
    with pytest.raises(SystemExit) as stop:
        main([*asked, "--strata", "auto", "-o", "now.jsonl", "--format", "json"])
    assert stop.value.code == 0
    assert json.loads(capsys.readouterr().out)["details"]["stopping"]["plan"]["strata"]["factor"] == 2.0
