"""A run that reaches a limit of calls or cost ends in order: rows kept, undecided, to be continued with a higher limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard_old as sy
from evaluate.openai_server import Server
from steelyard_old.cli.main import main
from steelyard_old.errors import DataError, UsageError

N = 200
PRICES = {"input": 1_000_000, "output": 0}  # a unit of money for every token that is sent


@pytest.fixture
def task(tmp_path: Path) -> Path:
    rows = [{"id": f"q{i}", "a": i, "answer": i + 1} for i in range(N)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = tmp_path / "sums.toml"
    file.write_text('[task]\nname = "sums"\ndata = "sums.jsonl"\ninput = "{a} + 1 ="\ntruth = "answer"\nscorer = "number"\n')
    return file


class Counted:
    """A model that counts what it is asked, and is wrong on every so-many-th item."""

    def __init__(self, every: int = 10) -> None:
        self.every, self.asked = every, []

    asked: list[int]

    def __call__(self, question: str) -> str:
        first = int(question.split()[0])
        self.asked.append(first)
        return str(first + 1) if first % self.every else "-7"


@pytest.fixture
def reference(task: Path, tmp_path: Path) -> dict[str, Any]:
    out = tmp_path / "ref.jsonl"
    sy.run(task, Counted(), name="m", output=out)
    sy.record(out, task="sums", model="m", directory=tmp_path / "references", deterministic=True)
    return {"directory": tmp_path / "references"}


def code_of(words: list[str]) -> Any:
    with pytest.raises(SystemExit) as stop:
        main(words)
    return stop.value.code


def rows_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("until", [None, "width=.001", "decided"])
def test_no_more_calls_are_made_and_the_end_is_inconclusive(
    task: Path, tmp_path: Path, reference: dict[str, Any], until: str | None
) -> None:
    out, model = tmp_path / "out.jsonl", Counted()
    theta = None if until == "width=.001" else 0.002
    found = sy.run(task, model, name="m", output=out, until=until, theta=theta, max_calls=70, **reference)
    assert len(model.asked) == 70
    rows = rows_in(out)
    assert len(rows) == found.n == 70
    assert found.exit_code == 2
    assert not found.passed
    assert found.limit is not None
    assert (found.limit["limit"], found.limit["most"], found.limit["item"]) == ("calls", 70, rows[-1]["id"])
    assert f"the limit of 70 calls was reached at item {rows[-1]['id']!r}" in found.conclusion
    assert "higher limit continues" in found.conclusion
    if until == "width=.001":
        assert found.verdict is None
        assert found.stopping is not None
        assert found.stopping["decision"] == "ended"
    else:
        assert found.verdict is not None
        assert found.verdict.verdict == "inconclusive"
        assert found.verdict.p_value is None
        assert found.limit["said"] in found.verdict.conclusion
        assert found.verdict.difference.estimate == 0.0
    assert type(found).from_dict(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict()
    assert "70" in str(found)


def test_a_higher_limit_continues_and_asks_nothing_twice(task: Path, tmp_path: Path, reference: dict[str, Any]) -> None:
    out, model = tmp_path / "out.jsonl", Counted(4)
    plan = {"name": "m", "output": out, "until": "decided", "theta": 0.05, **reference}
    for limit in (1, 33, 40, 40):
        assert sy.run(task, model, max_calls=limit, **plan).exit_code == 2
        assert len(model.asked) == limit
    found = sy.run(task, model, **plan)
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    assert len(set(model.asked)) == len(model.asked)
    straight = sy.run(task, Counted(4), **{**plan, "output": tmp_path / "straight.jsonl"})
    assert straight.verdict is not None
    assert straight.verdict.details["stopping"]["looks"] == found.verdict.details["stopping"]["looks"]
    assert not (tmp_path / "out.jsonl.journal").exists()


def test_a_limit_makes_no_look_of_its_own(task: Path, tmp_path: Path, reference: dict[str, Any]) -> None:
    """Otherwise whoever raises the limit again and again would look more often than was paid for."""
    out = tmp_path / "out.jsonl"
    found = sy.run(task, Counted(4), name="m", output=out, until="decided", theta=0.002, max_calls=50, **reference)
    assert found.verdict is not None
    facts = found.verdict.details["stopping"]
    assert [look["n"] for look in facts["looks"]] == [32]
    assert facts["decision"] == "ended"
    assert facts["n_used"] == 50
    again = sy.check(out, task="sums", model="m", **reference)
    assert again.verdict == "inconclusive"
    assert again.conclusion == found.verdict.conclusion
    assert again.difference == found.verdict.difference


def test_a_decision_comes_before_a_limit_that_is_reached_at_the_same_item(task: Path, reference: dict[str, Any]) -> None:
    found = sy.run(task, Counted(2), name="m", until="decided", theta=0.05, max_calls=32, **reference)
    assert found.limit is None
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    assert sy.run(task, Counted(), name="m", max_calls=N, **reference).limit is None


def test_rows_that_a_limit_cut_are_neither_checked_nor_recorded(task: Path, tmp_path: Path, reference: dict[str, Any]) -> None:
    out = tmp_path / "out.jsonl"
    sy.run(task, Counted(), name="m", output=out, max_calls=50, **reference)
    with pytest.raises(UsageError, match="not complete"):
        sy.check(out, task="sums", model="m", **reference)
    with pytest.raises(DataError, match="not complete"):
        sy.record(out, task="sums", model="other", **reference)
    assert any("not complete" in words for words in sy.measure(out, metric="accuracy").warnings)


def test_two_models_and_repeats_end_with_whole_items(task: Path, tmp_path: Path) -> None:
    first, second = Counted(), Counted(5)
    found = sy.run(task, first, second, name=["a", "b"], repeats=2, max_calls=43, output=tmp_path / "out.jsonl")
    assert found.n == 10
    assert len(first.asked) == len(second.asked) == 20
    assert found.comparison is not None
    assert found.exit_code == 2
    with pytest.raises(UsageError, match="max_calls=3 does not allow a single item, which takes 4 calls"):
        sy.run(task, first, second, name=["a", "b"], repeats=2, max_calls=3)


@pytest.mark.parametrize(
    "given", [{"max_calls": 0}, {"max_calls": 1.5}, {"max_cost": 0, "prices": PRICES}, {"max_cost": "x", "prices": PRICES}]
)
def test_limits_that_make_no_sense_are_refused(task: Path, given: dict[str, Any]) -> None:
    model = Counted()
    with pytest.raises(UsageError):
        sy.run(task, model, name="m", **given)
    assert not model.asked


def test_the_cost_limit_needs_prices_and_token_counts(task: Path) -> None:
    with pytest.raises(UsageError, match="needs prices"):
        sy.run(task, Counted(), name="m", max_cost=1)
    with pytest.raises(DataError, match="does not report the tokens"):
        sy.run(task, Counted(), name="m", max_cost=1, prices=PRICES, concurrency=1)


def test_the_cost_limit_ends_a_run_and_a_higher_one_continues_it(task: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with Server() as server:
        plan = {"base_url": server.url, "output": out, "prices": PRICES, "concurrency": 2, "against": "none"}
        found = sy.run(task, "openai:m", max_cost=100, **plan)  # four words a prompt
        assert found.limit is not None
        assert (found.limit["limit"], found.n, found.exit_code) == ("cost", 25, 2)
        assert found.limit["used"] == pytest.approx(100)
        assert found.models[0].usage["cost"] == pytest.approx(100)
        assert "cost limit of 100" in found.conclusion
        assert len(server.seen) <= 25 + 2
        more = sy.run(task, "openai:m", max_cost=200, **plan)
        assert more.n == 50
        assert len(server.seen) <= 50 + 2


def test_the_command_has_both(task: Path, tmp_path: Path, reference: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with Server() as server:
        asked = ["run", str(task), "--model", "openai:m", "--base-url", server.url, "--directory", str(reference["directory"])]
        assert code_of([*asked, "--max-calls", "5", "--format", "json"]) == 2
        plain = json.loads(capsys.readouterr().out)
        assert plain["verdict"] == "inconclusive"
        assert plain["run"]["limit"]["most"] == 5
        assert code_of([*asked, "--max-cost", "9", "--price", "input=1000000,output=0", "--fail-on", "regression"]) == 0
        assert "cost limit of 9" in capsys.readouterr().out
        assert code_of([*asked, "--max-cost", "9"]) == 3


def test_items_without_an_answer_are_left_out_of_what_is_seen(task: Path, reference: dict[str, Any]) -> None:
    def broken(question: str) -> str:
        if int(question.split()[0]) % 2:
            raise ValueError("no")
        return str(int(question.split()[0]) + 1)

    more = {"missing": "drop", "max_error_rate": 1, **reference}
    for until in (None, "decided"):
        found = sy.run(task, broken, name="m", max_calls=40, until=until, theta=0.001, **more)
        assert found.verdict is not None
        assert found.verdict.verdict == "inconclusive"
        assert found.verdict.difference.estimate is not None
        assert found.n == 40
