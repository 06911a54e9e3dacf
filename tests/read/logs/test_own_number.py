"""A tool's own number beside its items: where the mean of the items is not that number, it is not measured unasked.

The logs are those of the tools; only the number that the tool wrote of the whole is changed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import DataError, UsageError
from steelyard.questions.guard.check import check
from steelyard.questions.measure.measure import measure
from steelyard.questions.record.record import record

HERE = Path(__file__).parent


def of_helm(to: Path, change: Callable[[Any], None]) -> tuple[Path, dict[str, str]]:
    shutil.copytree(HERE / "helm" / "a", to)
    edit(to / "stats.json", change)
    return to, {"score": "exact_match"}


def of_lighteval(to: Path, change: Callable[[Any], None]) -> tuple[Path, dict[str, str]]:
    shutil.copytree(HERE / "lighteval", to)
    edit(next((to / "results").rglob("results_*.json")), change)
    return next((to / "details").rglob("*.parquet")), {"score": "em"}


def of_every_eval_ever(to: Path, change: Callable[[Any], None]) -> tuple[Path, dict[str, str]]:
    shutil.copytree(HERE / "every_eval_ever", to)
    edit(to / "arith.json", change)
    return to / "arith.json", {"score": "exact_match:strict-match"}


def of_openai_evals(to: Path, change: Callable[[Any], None]) -> tuple[Path, dict[str, str]]:
    to.mkdir()
    lines = [json.loads(line) for line in (HERE / "openai_evals" / "match_a.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if "final_report" in line:
            change(line)
    (to / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return to / "log.jsonl", {}


def edit(path: Path, change: Callable[[Any], None]) -> None:
    whole = json.loads(path.read_text(encoding="utf-8"))
    change(whole)
    path.write_text(json.dumps(whole), encoding="utf-8")


def set_helm(whole: Any) -> None:
    for stat in whole:
        if stat["name"] == {"name": "exact_match", "split": "test"}:
            stat["mean"] = 0.875


def set_lighteval(whole: Any) -> None:
    whole["results"]["sums|0"]["em"] = 0.875


def set_every_eval_ever(whole: Any) -> None:
    whole["evaluation_results"][0]["score_details"]["score"] = 0.875


def set_openai_evals(whole: Any) -> None:
    whole["final_report"]["accuracy"] = 0.875


@pytest.mark.parametrize(
    ("made", "change"),
    [
        (of_helm, set_helm),
        (of_lighteval, set_lighteval),
        (of_every_eval_ever, set_every_eval_ever),
        (of_openai_evals, set_openai_evals),
    ],
)
def test_a_mean_that_is_not_the_tools_number_is_not_measured_unasked(made: Any, change: Any, tmp_path: Path) -> None:
    path, choice = made(tmp_path / "as written", lambda whole: None)
    mean = measure(str(path), **choice).row.estimate
    path, choice = made(tmp_path / "changed", change)
    with pytest.raises(DataError, match=r"own number of '.*' is 0.875, and the mean of the items is .*metric='mean'"):
        measure(str(path), **choice)
    assert measure(str(path), **choice, metric="mean").row.estimate == mean


def test_a_derived_metric_of_promptfoo_is_refused_with_the_reason(tmp_path: Path) -> None:
    whole = json.loads((HERE / "promptfoo" / "one.json").read_text(encoding="utf-8"))
    whole["config"]["derivedMetrics"] = [{"name": "f1", "value": "2 * right / (right + sure)"}]
    path = tmp_path / "derived.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    with pytest.raises(UsageError, match=r"'f1'.*a derived metric: promptfoo computes it from the whole run"):
        measure(str(path), score="f1")


def test_a_score_that_the_log_calls_better_when_lower_is_recorded_so(tmp_path: Path) -> None:
    """levels is lower-is-better by its aggregate: a rise is the regression."""
    path, choice = HERE / "every_eval_ever" / "levels.json", {"metric": "mean"}
    aggregate = json.loads(path.read_text(encoding="utf-8"))
    assert any(each["metric_config"]["lower_is_better"] for each in aggregate["evaluation_results"])
    about = {"task": "t", "model": "m", "directory": tmp_path, "missing": "drop"}
    record(str(path), **about, **choice)
    assert check(str(path), **about, **choice).higher_is_better is False


def test_a_reference_that_does_not_say_which_way_is_better_does_not_judge_a_log_that_does(tmp_path: Path) -> None:
    path, about = HERE / "every_eval_ever" / "levels.json", {"task": "t", "model": "m", "directory": tmp_path, "missing": "drop"}
    record(str(path), **about, metric="mean")
    file = tmp_path / "t.yaml"
    file.write_text("".join(line for line in file.read_text(encoding="utf-8").splitlines(True) if "higher" not in line), encoding="utf-8")
    with pytest.raises(DataError, match="In the log lower is better"):
        check(str(path), **about)
    assert check(str(path), **about, higher_is_better=True).higher_is_better is True


def test_a_tool_that_counts_errors_as_wrong_is_not_refused_for_that(tmp_path: Path) -> None:
    """The samples that errored have no score here, and --missing decides; Every Eval Ever's aggregate has them as 0."""
    shutil.copytree(HERE / "every_eval_ever", tmp_path / "log")
    samples = tmp_path / "log" / "arith_samples.jsonl"
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    strict = [row for row in rows if row["evaluation_result_id"] == "exact_match:strict-match"]
    right = next(row for row in strict if row["evaluation"]["score"] == 1)
    right["error"] = "timed out"
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def zero(whole: Any) -> None:
        whole["evaluation_results"][0]["score_details"]["score"] = (0.575 * 40 - 1) / 40

    edit(tmp_path / "log" / "arith.json", zero)
    choice = {"score": "exact_match:strict-match"}
    assert measure(str(tmp_path / "log" / "arith.json"), **choice, missing="wrong").row.estimate == pytest.approx(22 / 40)
    assert measure(str(tmp_path / "log" / "arith.json"), **choice, missing="drop").row.estimate == pytest.approx(22 / 39)
