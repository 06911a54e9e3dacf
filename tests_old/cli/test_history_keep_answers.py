"""--keep-answers: what the reference answered stands beside what the run answers, and can be dropped again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard_old as sy
from steelyard_old.errors import SteelyardError
from steelyard_old.estimate.past import kept_answers
from steelyard_old.history.store import open_history
from steelyard_old.questions.history.keep import keep_run

Rows = list[dict[str, Any]]
HISTORY = ("--history", "sqlite:///runs.db")
ABOUT = ("--task", "t", "--model", "m")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def runs(**more: Any) -> tuple[Rows, Rows]:
    reference = [
        {"id": f"q{i}", "score": 1.0, "question": f"What is {i} + 1?", "target": str(i + 1), "answer": f"It is {i + 1}.", **more}
        for i in range(60)
    ]
    run = [{**row, "score": float(i > 9), "answer": row["answer"] if i > 9 else f"It is <b>{i}</b>."} for i, row in enumerate(reference)]
    for name, rows in (("reference", reference), ("run", run)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return reference, run


def checked(steelyard: Any, *words: str) -> dict[str, Any]:
    found = steelyard("check", "run.jsonl", *ABOUT, *words, "--format", "json")
    plain: dict[str, Any] = json.loads(found.out)
    return plain


def test_both_answers_stand_side_by_side_in_verdict_and_report(steelyard: Any) -> None:
    runs()
    assert steelyard("record", "reference.jsonl", *ABOUT, *HISTORY, "--keep-answers").code == 0
    verdict = checked(steelyard, *HISTORY)
    first = verdict["telling_items"][0]
    said = {key: first[key] for key in ("id", "prompt", "target", "baseline_answer", "candidate_answer")}
    assert said == {
        "id": "q0",
        "prompt": "What is 0 + 1?",
        "target": "1",
        "baseline_answer": "It is 1.",
        "candidate_answer": "It is <b>0</b>.",
    }
    from steelyard_old.render.formats import FORMATS

    page = FORMATS["html"].write(sy.Verdict.from_dict(verdict))
    assert "<del> 1.</del>" in page
    assert "<b>0</b>" not in page


def test_answers_are_kept_only_if_asked_for_and_only_of_the_reference_in_force(steelyard: Any) -> None:
    runs()
    steelyard("record", "reference.jsonl", *ABOUT, *HISTORY)
    assert "baseline_answer" not in checked(steelyard, *HISTORY)["telling_items"][0]
    steelyard("record", "reference.jsonl", *ABOUT, *HISTORY, "--keep-answers", "--update", "--reason", "again")
    assert "baseline_answer" in checked(steelyard, *HISTORY)["telling_items"][0]
    steelyard("record", "reference.jsonl", *ABOUT, *HISTORY, "--update", "--reason", "again, without")
    assert "baseline_answer" not in checked(steelyard, *HISTORY)["telling_items"][0]


def test_dropping_removes_answers_and_nothing_else(steelyard: Any) -> None:
    runs()
    steelyard("record", "reference.jsonl", *ABOUT, *HISTORY, "--keep-answers")
    before = checked(steelyard, *HISTORY, "--keep-answers")
    assert "0 runs" in steelyard("history", *HISTORY, "--drop-answers", "--task", "other").err
    assert "2 runs" in steelyard("history", *HISTORY, "--drop-answers").err
    assert "0 runs" in steelyard("history", *HISTORY, "--drop-answers").err
    after = checked(steelyard, *HISTORY)
    assert "baseline_answer" not in after["telling_items"][0]
    assert after["p_value"] == before["p_value"]
    with open_history("sqlite:///runs.db") as store:
        found, _, total = store.runs()
        assert total == 3
        assert all(store.items(run.id) for run in found)


def test_without_a_history_there_is_nowhere_to_keep_them(steelyard: Any) -> None:
    runs()
    for words in (("record", "reference.jsonl", *ABOUT), ("check", "run.jsonl", *ABOUT)):
        found = steelyard(*words, "--keep-answers")
        assert found.code == 3
        assert "needs a history" in found.err
    assert not Path("references").exists()


def test_a_run_without_answers_and_one_with_too_long_ones_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    reference, _ = runs()
    bare = [{"id": row["id"], "score": row["score"]} for row in reference]
    recorded = sy.record(bare, task="t", model="m")
    _, told = keep_run(recorded, history="sqlite:///runs.db", sources=[bare], keep_answers=True)
    assert told == ["no answers were kept: the run has no column of answers (answer, response, output or completion) beside its ids"]
    monkeypatch.setattr(kept_answers, "MOST_TEXT", 100)
    _, told = keep_run(recorded, history="sqlite:///runs.db", sources=[reference], keep_answers=True)
    assert "keeps at most 100 of a run" in told[0]


def test_secrets_are_taken_out_and_hashed_ids_stay_hashes() -> None:
    from steelyard_old.redaction import remember

    remember("sk-keep-answers-0123456789")
    reference, run = runs(answer="the key is sk-keep-answers-0123456789")
    recorded = sy.record(reference, task="t", model="m", ids="hashed")
    (kept,), told = keep_run(recorded, history="sqlite:///runs.db", sources=[reference], keep_answers=True)
    assert told == []
    with open_history("sqlite:///runs.db") as store:
        found = store.answers(kept.id)
    assert found is not None
    assert "q0" not in found
    assert "sk-keep" not in json.dumps(found)
    verdict = sy.with_reference_answers(sy.check(run, task="t", model="m"), history="sqlite:///runs.db")
    assert verdict.changed_items[0]["baseline_answer"] == "the key is ***"


def test_python_keeps_answers_and_shows_those_of_the_reference_as_the_command_does() -> None:
    reference, run = runs()
    url = "sqlite:///runs.db"
    keep_run(sy.record(reference, task="t", model="m"), history=url, sources=[reference], keep_answers=True)
    verdict = sy.check(run, task="t", model="m", history=url, keep_answers=True)
    assert verdict.changed_items[0]["baseline_answer"] == "It is 1."
    with open_history(url) as store:
        (kept, *_), _, total = store.runs()
        assert total == 2
        assert (store.answers(kept.id) or {})["q0"]["answer"] == "It is <b>0</b>."
    assert "baseline_answer" not in sy.check(run, task="t", model="m").changed_items[0]
    with pytest.raises(SteelyardError, match="needs a history"):
        sy.check(run, task="t", model="m", keep_answers=True)


def test_a_suite_shows_the_answers_of_the_reference_for_each_of_its_regressions(steelyard: Any) -> None:
    reference, _ = runs()
    url = "sqlite:///runs.db"
    keep_run(sy.record(reference, task="t", model="m"), history=url, sources=[reference], keep_answers=True)
    Path("suite.toml").write_text('[[checks]]\ntask = "t"\nmodel = "m"\nresult = "run.jsonl"\n')
    for suite in (
        sy.with_reference_answers(sy.check_suite("suite.toml"), history=url),
        sy.check_suite("suite.toml", history=url, keep_answers=True),
    ):
        assert suite.verdicts[0].changed_items[0]["baseline_answer"] == "It is 1."
    with open_history(url) as store:
        (newest, *_), _, _ = store.runs()
        assert store.answers(newest.id)
    found = steelyard("check", "--suite", "suite.toml", *HISTORY, "--format", "json")
    assert found.json["verdicts"][0]["telling_items"][0]["baseline_answer"] == "It is 1."


def test_a_run_keeps_answers_only_of_the_rows_that_it_writes(steelyard: Any) -> None:
    """ "the run has no column of answers" was said of a run that had them."""
    rows = [{"id": str(i), "question": str(i), "answer": str(i)} for i in range(5)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    task = '[task]\nname = "echo"\ndata = "items.jsonl"\ninput = "{question}"\ntruth = "answer"\nscorer = "exact"\n'
    Path("task.toml").write_text(task, encoding="utf-8")
    asked = ("run", "task.toml", "--model", "command:cat", "--name", "m", *HISTORY, "--keep-answers")
    found = steelyard(*asked)
    assert found.code == 3
    assert "--keep-answers needs --output" in found.err
    assert not Path("runs.db").exists()
