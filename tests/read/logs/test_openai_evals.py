"""OpenAI evals: its own final reports, metrics refused, errors counted, runs that did not end, files with two runs.

The logs are of evals 3.0.1 (tests/fixtures/make/openai_evals.py); the line `final_report` is what it computed itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import AmbiguityError, SourceError, UsageError
from steelyard.read.logs.log import Choices, Log
from steelyard.read.logs.openai_evals import read

LOGS = Path(__file__).parent / "openai_evals"


def log(name: str | Path, score: str | None = None) -> Log:
    return read(str(LOGS / name), Choices(score=score))


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LOGS / name).read_text().splitlines()]


def own(name: str, metric: str) -> float:
    return float(next(line["final_report"] for line in lines(name) if "final_report" in line)[metric])


def edited(tmp_path: Path, name: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Path:
    (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in change(lines(name))))
    return tmp_path / name


def mean(found: Log) -> float:
    given = [value for value in found.columns["score"] if value is not None]
    return sum(given) / len(given)


@every(
    ("name", "score", "metric"),
    [
        ("match_a.jsonl", None, "accuracy"),
        ("match_b.jsonl", "match", "accuracy"),
        ("careful.jsonl", None, "accuracy"),
        ("fuzzy.jsonl", "match", "accuracy"),
        ("fuzzy.jsonl", "accuracy", "accuracy"),
        ("fuzzy.jsonl", "f1_score", "f1_score"),
    ],
)
def test_means_are_those_of_the_final_report(name: str, score: str | None, metric: str) -> None:
    assert math.isclose(mean(log(name, score)), own(name, metric))


def test_the_final_report_comes_before_the_events_in_a_real_file() -> None:
    assert "final_report" in lines("fuzzy.jsonl")[1]  # a reader that stops there would find nothing


def test_several_metrics_are_refused_and_listed() -> None:
    with pytest.raises(AmbiguityError, match=r"has 3 metrics: match, accuracy, f1_score\..*score='match'"):
        log("fuzzy.jsonl")
    with pytest.raises(UsageError, match="bleu"):
        log("fuzzy.jsonl", "bleu")


def test_errors_are_missing_and_told() -> None:
    found = log("careful.jsonl")
    gone = [item for item, value in zip(found.columns["id"], found.columns["score"], strict=True) if value is None]
    assert sorted(gone) == ["steel-careful.test.3", "steel-careful.test.7"]
    assert found.warnings == (f"2 of 12 samples errored, such as '{gone[0]}': ValueError: the line is dead",)
    with pytest.raises(ValueError, match="missing="):
        sy.measure(str(LOGS / "careful.jsonl"))


def test_a_sample_that_was_asked_and_not_scored_is_missing(tmp_path: Path) -> None:
    def without(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [line for line in found if (line.get("sample_id"), line.get("type")) != ("steel-match.test.4", "match")]

    found = log(edited(tmp_path, "match_a.jsonl", without))
    assert found.columns["score"].count(None) == 1
    assert found.warnings == ("1 of 12 samples have no 'match'",)


def test_a_run_that_did_not_end_is_told(tmp_path: Path) -> None:
    found = log(edited(tmp_path, "match_a.jsonl", lambda found: [line for line in found if "final_report" not in line]))
    assert found.warnings == ("there is no final report: the run did not end, and samples may be absent",)


def test_several_matches_of_one_sample_are_repeats_and_told(tmp_path: Path) -> None:
    def again(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return found + [line for line in found if line.get("type") == "match"][:3]

    found = log(edited(tmp_path, "match_a.jsonl", again))
    assert len(found.columns["id"]) == 15
    assert sorted(set(found.columns["repeat"])) == [1, 2]
    assert "3 of 12 samples have several values" in found.warnings[0]


def test_metrics_without_numbers_are_no_choice(tmp_path: Path) -> None:
    def words(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for line in found:
            if line.get("type") == "metrics":
                line["data"] = {"choice": "A", "match": 0.25}
        return found

    path = edited(tmp_path, "fuzzy.jsonl", words)
    with pytest.raises(AmbiguityError, match=r"has 2 metrics: match, metrics\.match\."):
        log(path)
    assert set(log(path, "metrics.match").columns["score"]) == {0.25}
    only = edited(tmp_path, "fuzzy.jsonl", lambda found: [line for line in words(found) if line.get("type") != "match"][:1])
    with pytest.raises(SourceError, match=r"No events in .*\."):
        log(only)


def test_two_runs_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"second spec in line \d+"):
        log(edited(tmp_path, "match_a.jsonl", lambda found: found + lines("match_b.jsonl")))
    with pytest.raises(SourceError, match="the lines before it of run"):
        log(edited(tmp_path, "match_a.jsonl", lambda found: found + lines("match_b.jsonl")[2:]))
    with pytest.raises(SourceError, match="the first line has no spec"):
        log(edited(tmp_path, "match_a.jsonl", lambda found: found[1:]))


def test_model_and_eval_come_from_the_spec_and_two_runs_pair() -> None:
    found = log("match_b.jsonl")
    assert found.name == "steel/b"
    assert found.checks == {"eval": "steel-match.test.v0"}
    compared = sy.compare(str(LOGS / "match_a.jsonl"), str(LOGS / "match_b.jsonl"))
    assert compared.n == 12
    assert compared.flips is not None
    right = [log(name).columns for name in ("match_a.jsonl", "match_b.jsonl")]
    pairs = [dict(zip(columns["id"], columns["score"], strict=True)) for columns in right]
    assert compared.flips["candidate_only"] == sum(pairs[1][item] > pairs[0][item] for item in pairs[0])
