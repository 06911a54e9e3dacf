"""`run`: a task and a model in, rows, a measurement and a verdict out; stopped early, broken off, judged again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import steelyard_old as sy
from evaluate.openai_server import Server, spawned
from steelyard_old.errors import DataError, SourceError, UsageError

REPO = Path(__file__).parents[3]
N = 600


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return make_task(tmp_path)


def make_task(home: Path) -> Path:
    """A sum a row; the truth is the sum."""
    rows = [{"id": f"q{i}", "a": i, "b": 2 * i + 1, "answer": 3 * i + 1, "topic": f"t{i % 30}"} for i in range(N)]
    (home / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = home / "sums.toml"
    file.write_text('[task]\nname = "sums"\ndata = "sums.jsonl"\ninput = "{a} + {b} ="\ntruth = "answer"\nscorer = "number"\n')
    return file


def numbers(question: str) -> list[int]:
    return [int(word) for word in question.replace("=", "").split(" + ")]


def right(question: str) -> str:
    return f"it is {sum(numbers(question))}."


def failing(every: int, shift: int = 0) -> Any:
    """Wrong on every so-many-th item."""

    def answer(question: str) -> str:
        first = numbers(question)[0]
        return right(question) if (first + shift) % every else "it is 0.5"

    return answer


@pytest.fixture(scope="module")
def recorded_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run that has nine of ten right."""
    home = tmp_path_factory.mktemp("recorded")
    sy.run(make_task(home), failing(10), name="m", output=home / "ref.jsonl")
    sy.record(home / "ref.jsonl", task="sums", model="m", directory=home / "references", deterministic=True)
    return home


@pytest.fixture
def reference(recorded_once: Path, tmp_path: Path) -> dict[str, Any]:
    """The same for each test: a directory that it may change, and the rows that were recorded."""
    shutil.copytree(recorded_once / "references", tmp_path / "references")
    for name in ("ref.jsonl", "ref.jsonl.run"):
        shutil.copy(recorded_once / name, tmp_path)
    return {"directory": tmp_path / "references"}


def test_a_run_is_measured_and_its_rows_are_read_by_every_question(task: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    found = sy.run(task, failing(10), name="m", output=out)
    assert found.n == found.available == N
    assert found.measurement is not None
    assert found.measurement.estimate == 0.9
    assert sy.measure(out, metric="accuracy").estimate == 0.9
    again = tmp_path / "again.jsonl"
    sy.run(task, failing(12), name="n", output=again)
    assert sy.compare(out, again).difference.estimate == pytest.approx(1 / 60)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert list(rows[0])[:6] == ["id", "repeat", "truth", "prediction", "score", "error"]
    assert sorted(row["id"] for row in rows) == sorted(f"q{i}" for i in range(N))
    assert not (tmp_path / "out.jsonl.journal").exists()


def test_a_subset_is_nested_and_says_its_size(task: Path) -> None:
    few, many = (sy.run(task, right, name="m", n=n) for n in (50, 200))
    assert (few.n, few.available) == (50, 50)
    assert many.n == 200
    with pytest.raises(UsageError, match="600"):
        sy.run(task, right, name="m", n=601)


def test_the_verdict_of_a_complete_run_is_that_of_check(task: Path, tmp_path: Path, reference: dict[str, Any]) -> None:
    out = tmp_path / "new.jsonl"
    found = sy.run(task, failing(8, shift=3), name="m", output=out, **reference)
    assert found.verdict is not None
    checked = sy.check(out, task="sums", model="m", **reference)
    assert found.verdict.verdict == checked.verdict
    assert found.verdict.p_value == checked.p_value
    assert found.exit_code == checked.exit_code


def test_it_stops_when_a_drop_is_found_and_check_comes_to_the_same(task: Path, tmp_path: Path, reference: dict[str, Any]) -> None:
    out = tmp_path / "worse.jsonl"
    found = sy.run(task, failing(4), name="m", output=out, until="decided", theta=0.05, **reference)
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    assert found.exit_code == 1
    assert found.n < N / 2
    facts = found.verdict.details["stopping"]
    assert facts["n_used"] + facts["n_saved"] == N
    assert 0 < facts["alpha_spent"] <= 0.05
    assert found.verdict.p_value is not None
    assert found.verdict.p_value <= 0.05
    checked = sy.check(out, task="sums", model="m", **reference)
    assert checked.verdict == "regression"
    assert checked.difference == found.verdict.difference
    assert checked.details["stopping"]["looks"] == facts["looks"]


def test_a_healthy_model_passes_early_at_the_level_that_is_said(task: Path, reference: dict[str, Any]) -> None:
    found = sy.run(task, failing(10), name="m", until="decided", theta=0.05, **reference)
    assert found.verdict is not None
    assert found.verdict.verdict == "pass"
    assert found.n < N / 2
    assert found.verdict.details["stopping"]["level_of_pass"] == pytest.approx(0.8)
    assert "level 0.8" in found.verdict.conclusion


def test_items_that_run_out_are_no_pass(task: Path, reference: dict[str, Any]) -> None:
    found = sy.run(task, failing(9), name="m", until="decided", theta=0.004, **reference)
    assert found.verdict is not None
    assert found.verdict.verdict == "inconclusive"
    assert found.n == N
    assert found.exit_code == 2


def test_theta_is_needed_to_decide_and_cannot_be_changed_afterwards(task: Path, tmp_path: Path, reference: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="theta"):
        sy.run(task, right, name="m", until="decided", **reference)
    out = tmp_path / "o.jsonl"
    sy.run(task, failing(4), name="m", output=out, until="decided", theta=0.05, **reference)
    with pytest.raises(UsageError, match=r"The run was planned and stopped with theta 0\.05; it cannot be checked"):
        sy.check(out, task="sums", model="m", theta=0.02, **reference)


def test_a_run_that_stopped_early_is_no_reference(task: Path, tmp_path: Path, reference: dict[str, Any]) -> None:
    out = tmp_path / "o.jsonl"
    sy.run(task, failing(4), name="m", output=out, until="decided", theta=0.05, **reference)
    with pytest.raises(DataError, match="stopped early"):
        sy.record(out, task="sums", model="other", **reference)


def test_rows_that_were_changed_after_the_run_are_not_judged_by_its_notes(task: Path, tmp_path: Path, reference: dict[str, Any]) -> None:
    out = tmp_path / "o.jsonl"
    sy.run(task, failing(4), name="m", output=out, until="decided", theta=0.05, **reference)
    out.write_text("".join(out.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(SourceError, match="changed since"):
        sy.check(out, task="sums", model="m", **reference)


def test_another_protocol_is_refused_before_the_first_question(task: Path, reference: dict[str, Any]) -> None:
    task.write_text(task.read_text().replace("{a} + {b} =", "{a} + {b} = "))
    asked = []
    with pytest.raises(SourceError, match="protocol"):
        sy.run(task, lambda question: asked.append(question) or "1", name="m", against="m", **reference)
    assert not asked


def test_items_that_are_not_on_record_are_refused_before_the_first_question(task: Path, tmp_path: Path, reference: dict[str, Any]) -> None:
    with (tmp_path / "sums.jsonl").open("a") as file:
        file.write(json.dumps({"id": "new", "a": 1, "b": 1, "answer": 2}) + "\n")
    asked = []
    with pytest.raises(DataError, match="not on record"):
        sy.run(task, lambda question: asked.append(question) or "1", name="m", **reference)
    assert not asked
    found = sy.run(task, failing(10), name="m", unmatched="drop", **reference)
    assert found.n == N


def test_two_models_side_by_side(task: Path, tmp_path: Path) -> None:
    found = sy.run(task, failing(10), failing(4), name=["old", "new"], until="decided", theta=0.05, output=tmp_path / "two.jsonl")
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    assert [Path(model.output or "").name for model in found.models] == ["two.baseline.jsonl", "two.candidate.jsonl"]
    whole = sy.run(task, failing(10), failing(4), name=["old", "new"])
    assert whole.verdict is None
    assert whole.comparison is not None
    assert whole.comparison.difference.estimate == pytest.approx(-0.15)


def test_until_a_width(task: Path) -> None:
    found = sy.run(task, failing(10), name="m", until="width=.15")
    assert found.n < N
    assert found.measurement is not None
    interval = found.measurement.interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    assert interval.high - interval.low <= 0.15
    assert "sequence" in interval.method


def test_repeats_are_repeats(task: Path) -> None:
    found = sy.run(task, failing(10), name="m", repeats=3, n=60)
    assert found.measurement is not None
    assert found.measurement.n == 60
    assert found.models[0].counts["n"] == 180


@pytest.mark.parametrize("until", ["width", "decided=1", "n=x", "n=0", "width=-1", "soon"])
def test_what_it_cannot_stop_at(task: Path, until: str) -> None:
    with pytest.raises(UsageError):
        sy.run(task, right, name="m", until=until)


def test_failed_items_are_errors_and_the_same_command_asks_only_those_again(task: Path, tmp_path: Path) -> None:
    out, asked = tmp_path / "o.jsonl", []
    broken = {"q3", "q77"}

    def answer(question: str, row: dict[str, Any]) -> str:
        asked.append(row["id"])
        if row["id"] in broken:
            raise RuntimeError("no luck")
        return right(question)

    with pytest.raises(DataError, match=r"2 of 600 items have no answer \(2 x RuntimeError: no luck\)\."):
        sy.run(task, answer, name="m", output=out)
    assert not out.exists()
    broken.clear()
    first, asked[:] = len(asked), []
    found = sy.run(task, answer, name="m", output=out)
    assert first == N
    assert sorted(asked) == ["q3", "q77"]
    assert found.measurement is not None
    assert found.measurement.estimate == 1


def test_failed_items_can_be_left_out_or_counted_as_wrong(task: Path) -> None:
    def answer(question: str, row: dict[str, Any]) -> str:
        if row["id"] == "q3":
            raise RuntimeError("no luck")
        return right(question)

    left = sy.run(task, answer, name="m", missing="drop")
    wrong = sy.run(task, answer, name="m", missing="wrong")
    assert left.measurement is not None
    assert wrong.measurement is not None
    assert (left.measurement.n, left.measurement.estimate) == (N - 1, 1.0)
    assert wrong.measurement.estimate == pytest.approx((N - 1) / N)


def test_a_changed_plan_does_not_mix_with_the_old_one(task: Path, tmp_path: Path, reference: dict[str, Any]) -> None:
    out = tmp_path / "o.jsonl"

    calls: list[str] = []

    def dies(question: str) -> str:
        calls.append(question)
        if len(calls) == 20:
            raise RuntimeError("gone")
        return right(question)

    with pytest.raises(DataError, match=r"Item 'q471' has no answer\."):
        sy.run(task, dies, name="m", output=out, until="decided", theta=0.05, **reference)
    with pytest.raises(UsageError, match="theta"):
        sy.run(task, dies, name="m", output=out, until="decided", theta=0.04, **reference)


def test_rates_are_guarded_on_their_own(task: Path, tmp_path: Path) -> None:
    """As many right answers as before, but twenty that were cut off."""

    def cut(share: int) -> Any:
        def answer(question: str) -> dict[str, Any]:
            first = numbers(question)[0]
            return {"said": right(question), "finish": "length" if share and first % share == 0 else "stop"}

        return answer

    out = tmp_path / "ref.jsonl"
    sy.run(task, cut(0), name="m", output=out)
    sy.record(out, task="sums", model="m", directory=tmp_path / "references", deterministic=True)
    found = sy.run(task, cut(30), name="m", directory=tmp_path / "references")
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    assert "truncated answers rose from 0.00% to 3.33%" in found.verdict.conclusion
    same = sy.run(task, cut(0), name="m", directory=tmp_path / "references")
    assert same.verdict is not None
    assert same.verdict.verdict == "pass"


def test_whole_groups_are_looked_at_between_groups(task: Path, tmp_path: Path) -> None:
    task.write_text(task.read_text() + 'group = "topic"\nwhole_groups = true\n')
    out = tmp_path / "ref.jsonl"
    sy.run(task, failing(10), name="m", output=out)
    sy.record(out, task="sums", model="m", directory=tmp_path / "references", deterministic=True)
    found = sy.run(task, failing(3), name="m", until="decided", theta=0.1, directory=tmp_path / "references")
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    assert found.verdict.design == "clustered"
    assert found.n % 20 == 0


def test_a_killed_run_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    """A run over a bad network: 5% of 429, 3% of 500, kill -9 halfway, and again."""
    shutil.copytree(REPO / "examples" / "run", tmp_path / "run")
    out, key = tmp_path / "out.jsonl", "sk-not-to-be-seen"
    with spawned("--share", "429=0.05", "--share", "500=0.03", "--times", "3", "--latency", "0.01", key=key) as server:
        words = ["run", str(tmp_path / "run" / "sum.toml"), "--model", "openai:m", "--base-url", server.url, "-o", str(out)]
        argv = [sys.executable, "-m", "steelyard_old", *words, "--n", "240", "--concurrency", "4"]
        env = {**os.environ, "OPENAI_API_KEY": key}
        first = subprocess.Popen(argv, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        journal = tmp_path / "out.jsonl.journal"
        while first.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") > 60):
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        said = first.communicate()[0].decode()
        again = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        said += again.stdout + again.stderr
        asked = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert again.returncode == 0, said
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == len({row["id"] for row in rows}) == 240
    assert all(row["score"] == 1 for row in rows)
    answered = [one["prompt"] for one in asked if not one["fault"]]
    assert len(set(answered)) == 240
    assert len(answered) - 240 <= 4  # what was in flight when it was killed had not been written down
    assert key not in said
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or key.encode() not in file.read_bytes()


def test_an_endpoint_that_refuses_the_key_ends_at_once_without_showing_it(task: Path) -> None:
    with Server(key="sk-right") as server, pytest.raises(SourceError) as told:
        sy.run(task, "openai:m", base_url=server.url, key="sk-wrong-and-secret")
    assert "sk-wrong" not in str(told.value)
    assert len(server.seen) <= 16


def test_a_file_of_predictions_and_a_command(task: Path, tmp_path: Path) -> None:
    rows = [{"id": f"q{i}", "prediction": str(3 * i + (1 if i % 4 else 2))} for i in range(N)]
    (tmp_path / "preds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = sy.run(task, f"file:{tmp_path / 'preds.jsonl'}")
    assert found.measurement is not None
    assert found.measurement.estimate == 0.75
    command = f"command:{sys.executable} {REPO / 'examples' / 'run' / 'adder.py'}"
    told = sy.run(task, command, name="adder")
    assert told.measurement is not None
    assert told.measurement.estimate == 1


def test_an_estimator(tmp_path: Path) -> None:
    from sklearn.datasets import load_digits
    from sklearn.naive_bayes import GaussianNB

    digits = load_digits()
    model = GaussianNB().fit(digits.data[:900], digits.target[:900].astype(str))
    rows = [
        {"id": i, "digit": str(y), **{f"p{j}": v for j, v in enumerate(x)}}
        for i, (x, y) in enumerate(zip(digits.data, digits.target, strict=True))
    ]
    task = {"task": {"name": "digits", "data": rows[900:], "input": ["p*"], "truth": "digit", "scorer": "exact"}}
    found = sy.run(task, model, name="bayes")
    assert found.measurement is not None
    assert found.measurement.estimate == pytest.approx((model.predict(digits.data[900:]) == digits.target[900:].astype(str)).mean())


def test_json_has_the_keys_of_its_answer_and_of_the_run(task: Path, reference: dict[str, Any]) -> None:
    plain = sy.run(task, failing(10), name="m", until="decided", theta=0.05, **reference).to_dict()
    assert (plain["kind"], plain["verdict"]) == ("verdict", "pass")
    assert plain["run"]["n_saved"] == plain["run"]["available"] - plain["run"]["n"] > 0
    json.dumps(plain, allow_nan=False)
    assert sy.run(task, right, name="other", **reference).to_dict()["kind"] == "measurement"


def test_log_probabilities_are_written_if_they_were_asked_for(task: Path, tmp_path: Path) -> None:
    task.write_text(task.read_text() + "n = 5\n[sampling]\nlogprobs = true\ntop_logprobs = 2\n")
    with Server(say=lambda asked: "1") as server:
        sy.run(task, "openai:m", base_url=server.url, output=tmp_path / "o.jsonl")
        asked = [one.asked for one in server.seen]
    assert all(one.get("logprobs") is True and one.get("top_logprobs") == 2 for one in asked)
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert all("logprobs" in row for row in rows)


def test_a_width_is_aimed_at_and_the_interval_is_the_one_that_stopped_the_run() -> None:
    rows = [{"id": i, "q": str(i), "a": "1"} for i in range(3000)]
    task = {"task": {"name": "t", "data": rows, "input": "{q}", "truth": "a", "scorer": "exact"}}
    found = sy.run(task, lambda q: "1" if int(q) % 7 else "0", name="m", until="width=.05")
    assert found.n < 2000  # bets that aim at no width have not got there after 3,000
    assert found.measurement is not None
    interval = found.measurement.interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    assert 0 < interval.high - interval.low <= 0.05


def test_nothing_is_said_of_the_protocol_or_the_reference_that_is_not_so(task: Path, reference: dict[str, Any]) -> None:
    decided = sy.run(task, failing(10), name="m", until="decided", theta=0.05, **reference)
    whole = sy.run(task, failing(10), name="m", **reference)
    assert decided.verdict is not None
    assert whole.verdict is not None
    assert not [said for said in (*decided.verdict.warnings, *whole.verdict.warnings) if "protocol" in said]
    assert "a run against none only measures" in sy.run(task, failing(10), name="m", against="none", **reference).conclusion
    assert "no reference for" in sy.run(task, failing(10), name="nobody", **reference).conclusion


def test_two_models_on_raw_scores_are_judged_in_their_own_scale() -> None:
    rows = [{"id": i, "q": str(i), "a": "1"} for i in range(200)]

    class Marks:
        name, data, input, range = "marks", rows, "{q}", (0, 10)

        def score(self, answer: str, row: dict[str, Any]) -> float:
            return float(answer)

    found = sy.run(Marks, lambda q: str(8 + int(q) % 2), lambda q: str(2 + int(q) % 3), name=["a", "b"], until="decided", theta=1.0)
    assert found.verdict is not None
    assert (found.verdict.verdict, found.verdict.scale) == ("regression", "raw")
    assert found.verdict.reference["value"] == pytest.approx(8.5, abs=0.3)
