"""Options of a run that would have no effect are refused before the first question; where nothing is judged, it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.questions.history.keep import keep_run

ROWS = [{"id": i, "question": str(i), "answer": str(i)} for i in range(40)]
TASK = {"task": {"name": "echo", "data": ROWS, "input": "{question}", "truth": "answer", "scorer": "exact"}}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def echo(text: str) -> str:
    return text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"until": "width=.2", "against": "m"}, "against='m' is about a verdict, and a run until a width only measures"),
        *(({"until": "width=.2", name: 0.1}, f"{name}=0.1 is about a verdict") for name in ("theta", "margin", "alpha", "beta")),
        ({"until": "width=.2", "scale": "percent"}, "scale='percent' is about a verdict"),
        ({"every": 5}, "every=5 needs until='decided' or until='width=...'"),
        ({"every": 5, "until": "n=20"}, "every=5 needs until"),
        ({"base_url": "http://127.0.0.1:1/v1"}, "base_url= is about endpoints, and no model is one"),
        ({"api": "completions"}, "api= is about endpoints"),
        ({"key_env": "HOME"}, "key_env= is about endpoints"),
    ],
)
def test_what_would_be_passed_over_is_refused(options: dict[str, Any], said: str) -> None:
    asked: list[str] = []
    with pytest.raises(sy.UsageError) as refused:
        sy.run(TASK, lambda text: asked.append(text) or text, name="m", **options)
    assert said in str(refused.value)
    assert not asked


def test_a_run_until_a_width_says_that_the_reference_was_not_asked() -> None:
    unjudged = sy.run(TASK, echo, name="m", until="width=.9")
    assert "No verdict" not in unjudged.conclusion
    sy.run(TASK, echo, name="m", output="out.jsonl")
    sy.record("out.jsonl", task="echo", model="m")
    for until in ("width=.9", "width=.001"):
        found = sy.run(TASK, echo, name="m", until=until, every=8)
        assert found.verdict is None
        assert found.conclusion.endswith("No verdict: a run until a width only measures.")
    assert sy.run(TASK, echo, name="m", until="width=.9", against="none").verdict is None


def test_a_result_without_rows_keeps_no_answers_and_says_why() -> None:
    _, said = keep_run(sy.run(TASK, echo, name="m"), history="sqlite:///runs.db", keep_answers=True)
    assert said == ["no answers were kept: the result has no rows that can be read again; write those of a run with output="]
    _, said = keep_run(sy.run(TASK, echo, name="m", output="out.jsonl"), history="sqlite:///runs.db", keep_answers=True)
    assert said == []


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("str fails")


def test_an_exception_that_cannot_be_printed_is_an_error_of_its_item() -> None:
    def model(text: str) -> str:
        if text == "7":
            raise UnprintableError
        return text

    found = sy.run(TASK, model, name="m", missing="drop", max_error_rate=0.5)
    assert found.models[0].counts["errors"] == 1
    with pytest.raises(sy.DataError, match=r"1 error in 40 requests \(1 x UnprintableError\)"):
        sy.run(TASK, model, name="m")
