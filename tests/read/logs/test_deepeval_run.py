"""deepeval: its own scores, passes and errors per metric, items by name or by what was asked, cases of two kinds refused.

The runs are of deepeval 4.3.1 (tests/fixtures/make/deepeval_run.py); `metricsScores` is what it computed itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.errors import AmbiguityError, SourceError, UsageError
from steelyard.read.logs.deepeval_run import looks_like, read
from steelyard.read.logs.log import Choices, Log

LOGS = Path(__file__).parent / "deepeval_run"


def log(name: str | Path, score: str | None = None) -> Log:
    return read(str(LOGS / name), Choices(score=score))


def edited(tmp_path: Path, name: str, change: Any) -> Path:
    whole = json.loads((LOGS / name).read_text())
    change(whole)
    (tmp_path / name).write_text(json.dumps(whole))
    return tmp_path / name


@pytest.mark.parametrize("name", ["two_metrics.json", "unnamed.json", "conversation.json"])
def test_scores_and_errors_are_those_of_deepeval(name: str) -> None:
    for own in json.loads((LOGS / name).read_text())["metricsScores"]:
        found = log(name, own["metric"]).columns["score"]
        assert [value for value in found if value is not None] == own["scores"]
        assert found.count(None) == own["errors"]


def test_passes_are_those_of_deepeval() -> None:
    whole = json.loads((LOGS / "two_metrics.json").read_text())
    passed = log("two_metrics.json", "success")
    assert (passed.columns["score"].count(1), passed.columns["score"].count(0)) == (whole["testPassed"], whole["testFailed"])
    assert passed.chosen == {"score": "success"}


def test_several_metrics_are_refused_and_listed() -> None:
    with pytest.raises(AmbiguityError, match=r"has 2 metrics: closeness, helpfulness\..*score='closeness'"):
        log("two_metrics.json")
    with pytest.raises(UsageError, match="bleu"):
        log("two_metrics.json", "bleu")


def test_a_metric_that_errored_is_missing_and_told() -> None:
    found = log("two_metrics.json", "helpfulness")
    assert dict(zip(found.columns["id"], found.columns["score"], strict=True))["case-05"] is None
    assert found.warnings[0].startswith("1 of 12 test cases have no score of 'helpfulness'")
    assert log("two_metrics.json", "closeness").warnings == ()


def test_names_are_ids_if_each_case_has_its_own() -> None:
    found = log("two_metrics.json", "closeness")
    assert found.columns["id"] == [f"case-{n:02d}" for n in range(12)]
    assert found.name == "model-a"
    assert set(found.columns) == {"id", "score", "metadata.topic", "metadata.difficulty"}


def test_names_that_are_places_are_not_ids(tmp_path: Path) -> None:
    columns = log("unnamed.json").columns
    assert len(set(columns["id"])) == 8
    assert sorted(columns["repeat"]) == [1] * 8 + [2] * 4
    turned = log(edited(tmp_path, "unnamed.json", lambda whole: whole["testCases"].reverse())).columns
    assert set(turned["id"]) == set(columns["id"])  # and not test_case_0, test_case_1, ...


def test_what_was_answered_is_no_part_of_the_item_and_what_was_expected_is(tmp_path: Path) -> None:
    def change(whole: Any) -> None:
        whole["testCases"][0]["actualOutput"] = "another"
        whole["testCases"][1]["expectedOutput"] = "another"

    other = log(edited(tmp_path, "unnamed.json", change)).columns["id"]
    assert [a == b for a, b in zip(log("unnamed.json").columns["id"], other, strict=True)] == [True, False, *[True] * 10]


def test_conversations_are_known_by_their_scenario_or_their_users_turns(tmp_path: Path) -> None:
    def unnamed(whole: Any) -> None:
        for case in whole["conversationalTestCases"]:
            case["name"] = "conversational_test_case_0"

    def untold(whole: Any) -> None:
        unnamed(whole)
        for case in whole["conversationalTestCases"]:
            del case["scenario"]

    assert len(set(log(edited(tmp_path, "conversation.json", unnamed)).columns["id"])) == 5
    assert len(set(log(edited(tmp_path, "conversation.json", untold)).columns["id"])) == 5


def test_cases_of_two_kinds_are_refused(tmp_path: Path) -> None:
    other = json.loads((LOGS / "unnamed.json").read_text())["testCases"]
    path = edited(tmp_path, "conversation.json", lambda whole: whole.update(testCases=other))
    with pytest.raises(AmbiguityError, match="12 testCases, 5 conversationalTestCases"):
        log(path)


def test_one_name_for_two_metrics_is_refused(tmp_path: Path) -> None:
    def twice(whole: Any) -> None:
        whole["testCases"][3]["metricsData"] *= 2

    with pytest.raises(SourceError, match="has the metric 'closeness' twice"):
        log(edited(tmp_path, "unnamed.json", twice))


def test_a_run_of_pytest_begins_with_its_file(tmp_path: Path) -> None:
    whole = json.loads((LOGS / "unnamed.json").read_text())
    path = tmp_path / "test_run_1.json"
    path.write_text(json.dumps({"testFile": "test_it.py", **whole}))
    assert looks_like(str(path), path.read_bytes()[:4096])
    assert log(path).columns == log("unnamed.json").columns


def test_the_latest_run_in_the_hidden_directory_has_a_key_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / ".latest_test_run.json"
    path.write_text(json.dumps({"testRunData": json.loads((LOGS / "unnamed.json").read_text())}))
    assert looks_like(str(path), path.read_bytes()[:4096])
    assert log(path).columns == log("unnamed.json").columns


def test_it_is_measured_with_its_repeats() -> None:
    assert "8 items, 2 repeats" in str(sy.measure(str(LOGS / "unnamed.json")))


def test_no_cases_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"No items in .*\."):
        log(edited(tmp_path, "unnamed.json", lambda whole: whole["testCases"].clear()))


def test_cases_that_the_run_counts_and_the_file_lacks_are_told(tmp_path: Path) -> None:
    whole = json.loads((LOGS / "two_metrics.json").read_text())
    whole["testCases"].pop()
    (tmp_path / "run.json").write_text(json.dumps(whole))
    found = read(str(tmp_path / "run.json"), Choices(score="helpfulness"))
    assert "1 of the 12 test cases that the run counts are not in the file: they are left out" in found.warnings
    assert not any("counts" in said for said in read(str(LOGS / "two_metrics.json"), Choices(score="helpfulness")).warnings)
