"""A task that says which way its scores are good, and how far they go: run, record, check and compare all go by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy

DOWN = {"higher_is_better": False}
ROWS = [{"id": i, "question": str(i), "answer": i} for i in range(100)]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cost_scorer.py").write_text("def cost(answer, row):\n    return float(answer)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)


def task(rule: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    said = {"name": "cost", "data": ROWS, "input": "{question}", "truth": "answer", "scorer": "cost_scorer:cost", **more}
    return {"task": said, **({} if rule is None else {"rule": rule})}


def dear(text: str) -> str:
    return str(3.0 + int(text) % 3)


def cheap(text: str) -> str:
    return str(2.0 + int(text) % 3)


def failing(text: str) -> str:
    if int(text) % 5 == 0:
        raise ValueError("no answer")
    return dear(text)


def mean(worst: float) -> float:
    return float(np.mean([worst if i % 5 == 0 else 3.0 + i % 3 for i in range(100)]))


@pytest.mark.parametrize(("rule", "worst"), [(None, 1.0), (DOWN, 5.0)])
def test_a_failed_item_is_worth_the_bad_end_of_the_declared_range(rule: dict[str, Any] | None, worst: float) -> None:
    options: dict[str, Any] = {"name": "q", "missing": "wrong", "max_error_rate": 1}
    whole = sy.run(task(rule, range=[1, 5]), failing, **options)
    assert whole.measurement is not None
    assert whole.measurement.estimate == pytest.approx(mean(worst))
    assert whole.measurement.row.higher_is_better is (rule is None)
    narrow = sy.run(task(rule, range=[1, 5]), failing, **options, until="width=0.1")  # it counted as 0, outside the range
    assert narrow.measurement is not None
    assert (narrow.n, narrow.measurement.estimate) == (100, pytest.approx(mean(worst)))
    low, high = narrow.measurement.interval.low, narrow.measurement.interval.high
    assert low < mean(worst) < high


@pytest.mark.parametrize("rule", [None, DOWN])
def test_two_models_count_it_alike_until_decided(rule: dict[str, Any] | None) -> None:
    """ "the worst one is not declared", though the task declared it; and a candidate that failed was the better one."""
    options: dict[str, Any] = {"name": ["a", "b"], "missing": "wrong", "max_error_rate": 1}
    found = sy.run(task(rule, range=[1, 7]), dear, failing, **options, until="decided", theta=0.3)
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    complete = sy.run(task(rule, range=[1, 7]), dear, failing, **options)
    assert complete.comparison is not None
    assert "b is worse than a" in complete.comparison.conclusion


def test_where_lower_is_better_an_unknown_worst_is_refused_before_the_first_question() -> None:
    asked: list[str] = []

    def model(text: str) -> str:
        asked.append(text)
        return failing(text)

    with pytest.raises(sy.DataError, match="lower is better, and the highest possible score is not declared") as refused:
        sy.run(task(DOWN), model, name="q", missing="wrong", max_error_rate=1)
    assert refused.value.hint is not None
    assert "in the task" in refused.value.hint
    assert not asked
    with pytest.raises(sy.DataError, match="the scores go beyond 0 and 1") as refused:
        sy.run(task(), failing, name="q", missing="wrong", max_error_rate=1)
    assert refused.value.hint is not None
    assert "in the task" in refused.value.hint


def test_the_direction_of_a_task_is_in_its_reference() -> None:
    """Rows that are cheaper were a regression or a pass, by whether the notes lay beside them."""
    sy.run(task({**DOWN, "alpha": 0.01}), dear, name="q", output="dear.jsonl")
    sy.record("dear.jsonl", task="cost", model="q")
    text = Path("references/cost.yaml").read_text(encoding="utf-8")
    assert "higher_is_better: false" in text
    assert "alpha" not in text  # of the task file, where a change of it counts at once
    sy.run(task(DOWN), cheap, name="q", output="cheap.jsonl")
    rows = [json.loads(line) for line in Path("cheap.jsonl").read_text(encoding="utf-8").splitlines()]
    bare = [{"id": row["id"], "score": row["score"]} for row in rows]
    assert [sy.check(run, task="cost", model="q").verdict for run in (bare, "cheap.jsonl")] == ["pass", "pass"]
    sy.record("dear.jsonl", task="cost", model="q", update=True, reason="again")
    assert "higher_is_better: false" in Path("references/cost.yaml").read_text(encoding="utf-8")


def test_what_steelyard_toml_says_comes_before_the_task() -> None:
    Path("steelyard.toml").write_text("[tasks.cost]\nhigher_is_better = true\n", encoding="utf-8")
    sy.run(task(DOWN), dear, name="q", output="dear.jsonl")
    sy.record("dear.jsonl", task="cost", model="q")
    assert "higher_is_better" not in Path("references/cost.yaml").read_text(encoding="utf-8")


def test_two_models_are_compared_by_the_direction_of_the_task() -> None:
    """ "b is worse than a", which costs 1 more on every item."""
    found = sy.run(task(DOWN), dear, cheap, name=["a", "b"], output="out.jsonl")
    assert found.comparison is not None
    assert found.comparison.conclusion.startswith("b is better than a in mean")
    again = sy.compare("out.baseline.jsonl", "out.candidate.jsonl")
    assert "(candidate) is better than out (baseline)" in again.conclusion
    assert sy.measure("out.baseline.jsonl", metric="mean").row.higher_is_better is False
    assert "worse" in sy.compare("out.baseline.jsonl", "out.candidate.jsonl", higher_is_better=True).conclusion


def test_a_run_that_stopped_early_says_so_where_it_is_compared() -> None:
    sy.run(task(range=[1, 7]), dear, name="q", output="whole.jsonl")
    sy.record("whole.jsonl", task="cost", model="q")
    sy.run(task(range=[1, 7]), cheap, name="q", output="early.jsonl", until="decided", theta=0.5)
    found = sy.compare("whole.jsonl", "early.jsonl", unmatched="drop")
    assert any("stopped early on its own results" in said for said in found.warnings)
