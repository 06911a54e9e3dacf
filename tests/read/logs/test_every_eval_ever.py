"""Every Eval Ever 0.3: the scores of its own converter, results refused, epochs, errors and unknown levels, hashes, the two files.

arith*: its converter on an lm-eval log; levels*: written by its own classes (tests/fixtures/make/every_eval_ever.py).
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.errors import AmbiguityError, SourceError, UsageError
from steelyard.read.logs.every_eval_ever import read
from steelyard.read.logs.log import Choices, Log

LOGS = Path(__file__).parent / "every_eval_ever"
ARITH = json.loads((LOGS / "arith.json").read_text())


def log(name: str | Path, **choices: str) -> Log:
    return read(str(LOGS / name), Choices(**choices))


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LOGS / name).read_text().splitlines()]


def edited(tmp_path: Path, name: str, change: Callable[[list[dict[str, Any]]], Any]) -> Path:
    rows = lines(name)
    changed = change(rows)
    (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in (rows if changed is None else changed)))
    return tmp_path / name


@pytest.mark.parametrize("name", ["arith.json", "arith_samples.jsonl"])
@pytest.mark.parametrize("result", ARITH["evaluation_results"], ids=lambda each: each["evaluation_result_id"])
def test_means_are_the_scores_of_the_aggregate(name: str, result: dict[str, Any]) -> None:
    for choices in ({"task": result["evaluation_name"]}, {"score": result["evaluation_result_id"]}):
        found = log(name, **choices)
        scores = found.columns["score"]
        assert math.isclose(sum(scores) / len(scores), result["score_details"]["score"])
        assert len(scores) == result["score_details"]["uncertainty"]["num_samples"]
        assert found.name == "steel/model-a"
        assert found.higher_is_better is True
        assert found.chosen["score"] == result["evaluation_result_id"]
        assert found.checks == {"evaluation": result["evaluation_name"]}


def test_several_evaluations_results_and_models_are_refused_and_listed(tmp_path: Path) -> None:
    with pytest.raises(AmbiguityError, match=r"has 2 tasks: arith_gen/strict-match, arith_gen/flexible-extract\..*log_task="):
        log("arith.json")
    with pytest.raises(UsageError, match="bleu"):
        log("arith.json", score="bleu")

    def one_evaluation(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["evaluation_name"] = "arith_gen"

    with pytest.raises(AmbiguityError, match=r"result.*exact_match:strict-match, exact_match:flexible-extract.*score="):
        log(edited(tmp_path, "arith_samples.jsonl", one_evaluation))

    def two_models(rows: list[dict[str, Any]]) -> None:
        for row in rows[:6]:
            row["model_id"] = "steel/other"

    path = edited(tmp_path, "levels_samples.jsonl", two_models)
    with pytest.raises(AmbiguityError, match=r"has 2 models: steel/other, steel/model-b\..*log_model="):
        log(path)
    assert len(log(path, model="steel/other").columns["id"]) == 6


def test_an_aggregate_alone_says_what_it_holds(tmp_path: Path) -> None:
    shutil.copy(LOGS / "arith.json", tmp_path / "alone.json")
    with pytest.raises(
        SourceError,
        match=r"is an aggregate of Every Eval Ever without its items \(2 results: exact_match:strict-match.*alone_samples.jsonl",
    ):
        log(tmp_path / "alone.json")


def test_rows_must_be_as_many_as_declared(tmp_path: Path) -> None:
    shutil.copy(LOGS / "arith.json", tmp_path / "arith.json")
    path = edited(tmp_path, "arith_samples.jsonl", lambda rows: rows[:-1])
    for name in (path, tmp_path / "arith.json"):
        with pytest.raises(SourceError, match=r"79 rows, but its aggregate declares 80"):
            log(name, score="exact_match:strict-match")


def test_items_of_a_result_that_the_aggregate_lacks_are_refused(tmp_path: Path) -> None:
    shutil.copy(LOGS / "arith.json", tmp_path / "arith.json")

    def other(rows: list[dict[str, Any]]) -> None:
        rows[3]["evaluation_result_id"] = "exact_match:strict"

    edited(tmp_path, "arith_samples.jsonl", other)
    with pytest.raises(SourceError, match=r"items of the result 'exact_match:strict', .*it has exact_match:flexible"):
        log(tmp_path / "arith.json", score="exact_match:strict-match")


def test_items_that_were_edited_are_told(tmp_path: Path) -> None:
    shutil.copy(LOGS / "arith.json", tmp_path / "arith.json")

    def better(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["evaluation"]["score"] = 1.0

    edited(tmp_path, "arith_samples.jsonl", better)
    found = log(tmp_path / "arith.json", score="exact_match:strict-match")
    assert any("is not as it was written: its checksum" in said for said in found.warnings)
    assert not log("arith.json", score="exact_match:strict-match").warnings


def test_epochs_are_repeats_errors_and_unknown_levels_are_missing() -> None:
    found = log("levels.json")
    columns = found.columns
    assert set(columns["repeat"]) == {"1", "2"}
    assert len(set(columns["id"])) == 6
    assert len(columns["id"]) == 12
    gone = {(item, epoch) for item, epoch, value in zip(columns["id"], columns["repeat"], columns["score"], strict=True) if value is None}
    assert gone == {("s2", "1"), ("s2", "2"), ("s4", "2")}
    assert found.warnings == ("1 of 12 samples errored, such as: timeout", "2 of 12 samples have no score")
    assert found.higher_is_better is False
    assert set(columns["metadata.subject"]) == {"a", "b"}


def test_without_its_aggregate_minus_one_is_a_score_like_any_other(tmp_path: Path) -> None:
    found = log(edited(tmp_path, "levels_samples.jsonl", lambda rows: None))
    assert found.columns["score"].count(-1) == 2
    assert found.higher_is_better is None


def test_is_correct_can_be_chosen() -> None:
    found = log("levels_samples.jsonl", score="is_correct")
    own = [None if row["error"] else int(row["evaluation"]["is_correct"]) for row in lines("levels_samples.jsonl")]
    assert found.columns["score"] == own
    assert found.chosen["score"] == "tone is_correct"
    assert found.higher_is_better is None


def test_repeats_without_epochs_are_counted(tmp_path: Path) -> None:
    def without(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["metadata"] = None

    assert log(edited(tmp_path, "levels_samples.jsonl", without)).columns["repeat"] == [1, 2] * 6


def test_one_id_with_two_contents_is_refused(tmp_path: Path) -> None:
    def other(rows: list[dict[str, Any]]) -> None:
        rows[1]["sample_hash"] = "f" * 64

    with pytest.raises(SourceError, match="'s0' has two hashes"):
        log(edited(tmp_path, "levels_samples.jsonl", other))


def test_hashes_go_along_if_every_row_has_one_and_keep_other_content_from_pairing(tmp_path: Path) -> None:
    assert len(set(log("arith.json", score="exact_match:strict-match").columns["doc_hash"])) == 40

    def some(rows: list[dict[str, Any]]) -> None:
        rows[0]["sample_hash"] = None

    assert "doc_hash" not in log(edited(tmp_path, "levels_samples.jsonl", some)).columns

    def renamed(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["model_id"] = "steel/other"
            row["sample_hash"] = "0" * 63 + row["sample_id"][-1]

    path = edited(tmp_path, "arith_samples.jsonl", renamed)
    with pytest.raises(ValueError, match=r"doc_hash|differ|content"):
        sy.compare(str(LOGS / "arith.json"), str(path), score="exact_match:strict-match")


def test_rows_of_another_schema_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"line 3 has no sample_id \(schema '0.3.0'"):
        log(edited(tmp_path, "levels_samples.jsonl", lambda rows: rows[2].pop("sample_id") and None))
    with pytest.raises(SourceError, match=r"line 1 has no evaluation.score"):
        log(edited(tmp_path, "levels_samples.jsonl", lambda rows: rows[0].update(evaluation={})))


def test_json_lines_under_another_name(tmp_path: Path) -> None:
    for name, count in (("all.json", 12), ("one.json", 1)):
        rows = lines("levels_samples.jsonl")[:count]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert len(log(tmp_path / name).columns["id"]) == count
