"""Answers in a history, in a file or on a server: kept by Python, shown beside those of a regression, dropped again."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from steelyard.history.store import open_history


def test_answers_are_kept_shown_and_dropped(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reference = [{"id": f"q{i}", "score": 1.0, "question": f"{i} + 1?", "answer": f"It is {i + 1}."} for i in range(60)]
    run = [{**row, "score": float(i > 9), "answer": "no idea \x07" if i <= 9 else row["answer"]} for i, row in enumerate(reference)]
    sy.keep_run(sy.record(reference, task="t", model="m"), history=url, sources=[reference], keep_answers=True)
    verdict = sy.check(run, task="t", model="m", history=url, keep_answers=True)
    assert verdict.verdict == "regression"
    assert verdict.warnings == sy.check(run, task="t", model="m").warnings
    assert verdict.changed_items[0]["baseline_answer"] == "It is 1."
    with open_history(url) as store:
        (newest, *_), _, _ = store.runs()
        assert (store.answers(newest.id) or {})["q0"]["answer"].startswith("no idea")
    assert sy.drop_answers(url) == 2
    assert "baseline_answer" not in sy.check(run, task="t", model="m", history=url).changed_items[0]
