"""promptfoo: its own counts and sums per prompt and provider, repeats that are repeats, errors that are missing, choices refused.

The logs are of promptfoo 0.123.1 (tests/fixtures/make/promptfoo.py); `results.prompts[].metrics` is what it computed itself.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.errors import AmbiguityError, SourceError, UsageError
from steelyard.read.logs.log import Choices, Log
from steelyard.read.logs.promptfoo import read

LOGS = Path(__file__).parent / "promptfoo"
FULL = LOGS / "full.json"
PROMPTS = json.loads(FULL.read_text())["results"]["prompts"]


def log(path: Path = FULL, **choices: str) -> Log:
    return read(str(path), Choices(**choices))


def edited(tmp_path: Path, name: str, change: Any) -> Path:
    whole = json.loads((LOGS / name).read_text())
    change(whole["results"])
    (tmp_path / name).write_text(json.dumps(whole))
    return tmp_path / name


def given(values: Any) -> list[float]:
    return [value for value in values if value is not None]


@pytest.mark.parametrize("own", PROMPTS, ids=lambda own: f"{own['provider']}-{own['label']}")
def test_sums_and_counts_are_those_of_promptfoo(own: dict[str, Any]) -> None:
    which = {"model": own["provider"], "prompt": own["label"]}
    metrics = own["metrics"]
    score = log(**which, score="score").columns["score"]
    assert math.isclose(sum(given(score)), metrics["score"])
    assert score.count(None) == metrics["testErrorCount"] == 3
    passed = log(**which, score="success").columns["score"]
    assert (passed.count(1), passed.count(0)) == (metrics["testPassCount"], metrics["testFailCount"])
    for name, total in metrics["namedScores"].items():
        named = given(log(**which, score=name).columns["score"])
        assert (sum(named), len(named)) == (total, metrics["namedScoresCount"][name])


def test_repeats_are_repeats_of_an_item_and_prompts_are_not_items() -> None:
    columns = log(model="model-a", prompt="question", score="right").columns
    assert len(columns["id"]) == 18
    assert len(set(columns["id"])) == 6
    assert sorted(zip(columns["id"], columns["repeat"], strict=True)) == sorted((item, n) for item in set(columns["id"]) for n in (1, 2, 3))
    assert "repeat" not in log(LOGS / "one.json").columns
    assert set(columns["id"]) == set(log(model="model-b", prompt="completion", score="right").columns["id"])


def test_an_item_is_what_was_asked_and_checked_not_its_place(tmp_path: Path) -> None:
    plain = log(LOGS / "one.json").columns
    turned = log(edited(tmp_path, "one.json", lambda results: results["results"].reverse())).columns
    assert dict(zip(plain["id"], plain["score"], strict=True)) == dict(zip(turned["id"], turned["score"], strict=True))

    def change(results: Any) -> None:
        rows = results["results"]
        rows[0]["testCase"]["vars"]["country"] = "Malta"
        rows[1]["testCase"]["assert"][0]["value"] = "another"
        rows[2]["testCase"]["description"] = "something else"
        rows[3]["testCase"]["metadata"] = {"region": "west"}
        rows[4]["vars"]["sessionId"] = "grown while it ran"

    other = log(edited(tmp_path, "one.json", change)).columns["id"]
    assert [a == b for a, b in zip(plain["id"], other, strict=True)] == [False] * 3 + [True] * 8


def test_columns_for_slices() -> None:
    columns = log(model="model-a", prompt="question", score="right").columns
    assert set(columns) == {"id", "score", "repeat", "vars.country", "vars.letters", "metadata.region"}
    assert set(columns["metadata.region"]) == {"north", "south"}
    by = sy.measure(str(LOGS / "one.json"), by="metadata.region")
    assert sorted(part.value for part in by.slices) == ["north", "south"]


def test_several_providers_prompts_and_scores_are_refused_and_listed() -> None:
    with pytest.raises(AmbiguityError, match=r"has 2 models: model-a, model-b\."):
        log()
    with pytest.raises(AmbiguityError, match=r"has 2 prompts: question, completion\..*prompt='question'"):
        log(model="model-a")
    with pytest.raises(AmbiguityError, match=r"has 4 scores: score, success, right, sure\..*score='score'"):
        log(model="model-a", prompt="question")
    with pytest.raises(UsageError, match="model-c"):
        log(model="model-c")
    with pytest.raises(UsageError, match=r"'summary'.*question, completion"):
        log(model="model-a", prompt="summary")
    with pytest.raises(UsageError, match="wrong"):
        log(model="model-a", prompt="question", score="wrong")


def test_a_prompt_is_found_by_id_by_label_or_by_a_part_of_one_label() -> None:
    key = PROMPTS[1]["id"]
    labels = [log(model="model-a", score="right", prompt=asked).chosen["prompt"] for asked in (key, key[:8], "completion", "plet")]
    assert labels == ["completion"] * 4
    with pytest.raises(AmbiguityError, match=r"question \(.*completion \("):
        log(model="model-a", score="right", prompt="tion")


def test_score_is_taken_unasked_only_where_all_scores_agree(tmp_path: Path) -> None:
    assert log(LOGS / "one.json").chosen == {"model": "model-a", "prompt": "question", "score": "score"}

    def graded(results: Any) -> None:
        results["results"][0]["score"] = 0.5

    with pytest.raises(AmbiguityError, match="score, success, right"):
        log(edited(tmp_path, "one.json", graded))


def test_a_named_score_called_like_our_own_has_its_full_name(tmp_path: Path) -> None:
    def named(results: Any) -> None:
        for place, row in enumerate(results["results"]):
            row["namedScores"] = {"score": place}

    path = edited(tmp_path, "one.json", named)
    assert log(path, score="namedScores.score").columns["score"] == list(range(11))
    assert log(path, score="score").columns["score"] != list(range(11))


def test_errors_are_missing_and_told() -> None:
    found = log(model="model-b", prompt="question", score="right")
    assert found.warnings == ("3 of 18 tests errored, such as: Error: the line is dead",)
    gone = {item for item, value in zip(found.columns["id"], found.columns["score"], strict=True) if value is None}
    assert len(gone) == 1
    assert next(iter(gone)).startswith("capital of Nepal ")


def test_a_named_score_that_some_tests_lack_is_missing_there(tmp_path: Path) -> None:
    path = edited(tmp_path, "one.json", lambda results: results["results"][2]["namedScores"].pop("right"))
    found = log(path, score="right")
    assert found.columns["score"].count(None) == 1
    assert found.warnings == ("1 of 11 tests have no 'right'",)


def test_tests_that_are_equal_by_accident_are_told(tmp_path: Path) -> None:
    path = edited(tmp_path, "one.json", lambda results: results["results"].append(results["results"][0]))
    found = log(path)
    assert max(found.columns["repeat"]) == 2
    assert "items came 1 to 2 times" in found.warnings[0]


def test_rows_before_there_were_prompt_ids_and_provider_objects(tmp_path: Path) -> None:
    def older(results: Any) -> None:
        for row in results["results"]:
            row["provider"] = "openai:chat"
            del row["promptId"]
            row["prompt"] = {"raw": "What is the capital of {{country}}?", "label": "question"}

    found = log(edited(tmp_path, "one.json", older))
    assert found.name == "openai:chat"
    assert found.chosen["prompt"] == "question"
    assert len(found.columns["id"]) == 11


def test_two_runs_pair_by_content() -> None:
    found = sy.compare(str(LOGS / "one.json"), str(LOGS / "two.json"))
    means = [given(log(LOGS / name).columns["score"]) for name in ("one.json", "two.json")]
    assert math.isclose(found.difference.estimate or 0, sum(means[1]) / 11 - sum(means[0]) / 11)
    assert found.n == 11
    assert (found.baseline.name, found.candidate.name) == ("model-a", "model-b")


def test_a_log_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"No items in .*\."):
        log(edited(tmp_path, "one.json", lambda results: results["results"].clear()))
    with pytest.raises(SourceError, match="which a log of promptfoo has"):
        log(edited(tmp_path, "one.json", lambda results: results.pop("results")))


# ---- one row per line --------------------------------------------------------------------------------------------------


def test_lines_are_read_as_the_document_is() -> None:
    """The same tests, provider and prompt as in full.json, which has a third repeat."""
    lines, whole = log(LOGS / "lines.jsonl", score="right"), log(model="model-a", prompt="question", score="right")
    assert lines.name == "model-a"
    assert lines.chosen == whole.chosen
    assert len(lines.columns["id"]) == 12
    known = dict(zip(zip(whole.columns["id"], whole.columns["repeat"], strict=True), whole.columns["score"], strict=True))
    for item, repeat, score in zip(lines.columns["id"], lines.columns["repeat"], lines.columns["score"], strict=True):
        assert known[item, repeat] == score
    assert lines.warnings == ("2 of 12 tests errored, such as: Error: the line is dead",)
    found = sy.measure(str(LOGS / "lines.jsonl"), score="right", missing="drop")
    assert (found.n, found.roles["prompt"]) == (5, "question")


def test_lines_under_another_name_from_a_pipe_and_cut_off(tmp_path: Path) -> None:
    text = (LOGS / "lines.jsonl").read_text()
    (tmp_path / "lines.json").write_text(text)
    assert log(tmp_path / "lines.json", score="sure").columns == log(LOGS / "lines.jsonl", score="sure").columns
    (tmp_path / "lines.jsonl").write_text(text[:-40])
    with pytest.raises(SourceError, match=r"The last line of .* is cut off \(line 12: Unterminated string starting at\)\."):
        sy.measure(str(tmp_path / "lines.jsonl"), score="right")


def test_two_providers_in_lines_are_refused_and_listed(tmp_path: Path) -> None:
    text = (LOGS / "lines.jsonl").read_text()
    (tmp_path / "lines.jsonl").write_text(text + text.replace('"label": "model-a"', '"label": "model-b"'))
    with pytest.raises(AmbiguityError, match=r"has 2 models: model-a, model-b\."):
        sy.measure(str(tmp_path / "lines.jsonl"), score="right", missing="drop")
    (tmp_path / "lines.jsonl").write_text(text + text.replace('"promptId": "1f50', '"promptId": "2f50').replace("question", "other"))
    with pytest.raises(AmbiguityError, match=r"has 2 prompts: question, other\."):
        sy.measure(str(tmp_path / "lines.jsonl"), score="right", missing="drop")


def test_tests_that_the_statistics_count_and_the_file_lacks_are_told(tmp_path: Path) -> None:
    found = log(edited(tmp_path, "one.json", lambda results: results["results"].pop(4)))
    assert found.warnings == ("1 of the 11 tests that the run counts are not in the file: they are left out",)
    assert log(LOGS / "one.json").warnings == ()
