"""HELM: its own means, trials as repeats, perturbed copies in the group of their instance, splits and metrics refused.

The logs are of crfm-helm 0.5.16 (tests/fixtures/make/helm.py); `stats.json` is what it computed itself.
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import AmbiguityError, SourceError, UsageError
from steelyard.read.logs.helm import looks_like, read
from steelyard.read.logs.log import Choices, Log

LOGS = Path(__file__).parent / "helm"


def log(run: str | Path, score: str | None = "exact_match") -> Log:
    return read(str(LOGS / run), Choices(score=score))


def edited(tmp_path: Path, run: str, change: Any) -> Path:
    shutil.copytree(LOGS / run, tmp_path / run)
    path = tmp_path / run / "per_instance_stats.json"
    entries = json.loads(path.read_text())
    changed = change(entries)
    path.write_text(json.dumps(entries if changed is None else changed))
    return path


def own(run: str, metric: str, computed_on: str | None = None) -> float:
    """HELM's mean: over trials, of the means over instances."""
    for stat in json.loads((LOGS / run / "stats.json").read_text()):
        if stat["name"]["name"] == metric and stat["name"].get("perturbation", {}).get("computed_on") == computed_on:
            return float(stat["mean"])
    raise AssertionError(metric)


@every("run", ["a", "b"])
@every("metric", ["exact_match", "quasi_exact_match", "num_prompt_tokens"])
def test_means_are_those_of_helm(run: str, metric: str) -> None:
    columns = log(run, metric).columns
    assert math.isclose(sum(columns["score"]) / len(columns["score"]), own(run, metric))


def test_trials_are_repeats_of_an_instance() -> None:
    columns = log("a").columns
    assert sorted(set(columns["repeat"])) == [0, 1, 2]
    assert len(set(columns["id"])) == 10
    assert len(columns["id"]) == 30
    assert set(columns) == {"id", "score", "repeat"}
    assert "3 repeats" in str(sy.measure(str(LOGS / "a"), score="exact_match"))


def test_perturbed_copies_are_items_in_the_group_of_their_instance() -> None:
    found = log("perturbed")
    columns = found.columns
    assert len(columns["id"]) == 20 == len(set(columns["id"]))
    assert "repeat" not in columns
    assert all(item in (group, f"{group} lowercase") for item, group in zip(columns["id"], columns["group"], strict=True))
    assert found.warnings[0].startswith("10 of 20 rows are perturbed copies")
    scores = {
        kind: [s for s, p in zip(columns["score"], columns["perturbation"], strict=True) if p == kind] for kind in ("none", "lowercase")
    }
    assert math.isclose(sum(scores["none"]) / 10, own("perturbed", "exact_match"))
    assert math.isclose(sum(scores["lowercase"]) / 10, own("perturbed", "exact_match", "perturbed"))


def test_perturbations_of_one_name_are_told_apart_by_their_settings(tmp_path: Path) -> None:
    def more(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        copies = [json.loads(json.dumps(entry)) for entry in entries if "perturbation" in entry]
        for entry in copies:
            entry["perturbation"]["seed"] = 7
        return entries + copies

    columns = log(edited(tmp_path, "perturbed", more)).columns
    assert len(set(columns["id"])) == 30
    assert len(set(columns["perturbation"])) == 3
    turned = log(edited(tmp_path / "turned", "perturbed", lambda entries: more(entries)[::-1])).columns
    assert set(turned["id"]) == set(columns["id"])  # the names do not depend on the order of the file


def test_several_metrics_and_several_splits_are_refused_and_listed(tmp_path: Path) -> None:
    with pytest.raises(AmbiguityError, match=r"has 4 metrics: num_references, num_prompt_tokens, exact_match, quasi_exact_match\..*score="):
        log("a", None)
    with pytest.raises(UsageError, match="bleu"):
        log("a", "bleu")

    def two_splits(entries: list[dict[str, Any]]) -> None:
        for entry in entries[:15]:
            for stat in entry["stats"]:
                stat["name"]["split"] = "valid"

    path = edited(tmp_path, "a", two_splits)
    with pytest.raises(AmbiguityError, match=r"has 2 splits: valid, test\..*score='exact_match:valid'"):
        log(path)
    parts = [log(path, f"exact_match:{split}") for split in ("valid", "test")]
    assert [len(part.columns["id"]) for part in parts] == [15, 15]
    assert parts[0].chosen == {"score": "exact_match", "split": "valid"}


def test_entries_of_one_instance_are_put_together(tmp_path: Path) -> None:
    """HELM writes an entry per metric class."""

    def apart(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**entry, "stats": [stat]} for entry in entries for stat in entry["stats"]]

    assert log(edited(tmp_path, "a", apart)).columns == log("a").columns


def test_one_metric_with_two_values_is_refused(tmp_path: Path) -> None:
    def twice(entries: list[dict[str, Any]]) -> None:
        again = json.loads(json.dumps(entries[0]))
        for stat in again["stats"]:
            stat["mean"] += 1
        entries.append(again)

    with pytest.raises(SourceError, match=r"two different values.*two runs"):
        log(edited(tmp_path, "a", twice))


def test_a_metric_without_values_is_missing_and_told(tmp_path: Path) -> None:
    def without(entries: list[dict[str, Any]]) -> None:
        entries[0]["stats"] = [{"name": {"name": "exact_match", "split": "test"}, "count": 0, "sum": 0}]
        entries[1]["stats"] = []

    found = log(edited(tmp_path, "a", without))
    assert found.columns["score"].count(None) == 2
    assert found.warnings == ("2 of 30 rows have no value of 'exact_match'",)


def test_model_and_scenario_come_from_the_run_spec(tmp_path: Path) -> None:
    found = log("b")
    assert found.name == "steel/b"
    assert found.checks == {"scenario": "SimpleMCQAScenario"}
    shutil.copy(LOGS / "b" / "per_instance_stats.json", tmp_path / "alone.json")
    alone = log(tmp_path / "alone.json")
    assert alone.name is None
    assert alone.checks == {}


def test_a_run_directory_is_known(tmp_path: Path) -> None:
    assert looks_like(str(LOGS / "a"), b"")
    assert not looks_like(str(tmp_path), b"")
    found = sy.compare(str(LOGS / "a"), str(LOGS / "b"), score="exact_match")
    assert math.isclose(found.difference.estimate or 0, own("b", "exact_match") - own("a", "exact_match"), abs_tol=1e-12)


# ---- several runs in one directory -------------------------------------------------------------------------------------


def suite(tmp_path: Path) -> Path:
    """As HELM lays out a suite: one directory per run, named by scenario, settings and model. Here two tasks by two models."""
    for task in ("mcqa:subject=sums", "mcqa:subject=words"):
        for run in ("a", "b"):
            folder = tmp_path / "suite" / f"{task},model=steel_{run}"
            shutil.copytree(LOGS / run, folder)
            spec = json.loads((folder / "run_spec.json").read_text())
            spec["name"] = f"{task},model=steel_{run}"
            (folder / "run_spec.json").write_text(json.dumps(spec))
    (tmp_path / "suite" / "notes.txt").write_text("what else lies there")
    return tmp_path / "suite"


def test_several_runs_are_refused_and_listed_and_chosen_by_task_and_model(tmp_path: Path) -> None:
    path = suite(tmp_path)
    assert looks_like(str(path), b"")
    with pytest.raises(AmbiguityError, match=r"has 2 tasks: mcqa:subject=sums, mcqa:subject=words\. Hint: log_task='mcqa:subject=sums'"):
        sy.measure(str(path), score="exact_match")
    with pytest.raises(AmbiguityError, match=r"has 2 models: steel/a, steel/b\..*Hint: log_model='steel/a'"):
        sy.measure(str(path), score="exact_match", task="mcqa:subject=sums")
    with pytest.raises(AmbiguityError, match=r"has 2 tasks: mcqa:subject=sums, mcqa:subject=words\."):
        sy.measure(str(path), score="exact_match", model_name="steel/b")
    with pytest.raises(UsageError, match=r"No task 'mmlu' in .*; it has mcqa:subject=sums, mcqa:subject=words\."):
        sy.measure(str(path), score="exact_match", task="mmlu")
    with pytest.raises(UsageError, match=r"No model 'steel/c' in .*; it has steel/a, steel/b\."):
        sy.measure(str(path), score="exact_match", model_name="steel/c")
    found = sy.measure(str(path), score="exact_match", task="mcqa:subject=words", model_name="steel/b")
    assert found.estimate == sy.measure(str(LOGS / "b"), score="exact_match").estimate
    assert found.name == "steel/b"
    assert (found.roles["task"], found.roles["model"]) == ("mcqa:subject=words", "steel/b")


def test_the_real_runs_side_by_side_are_one_task_by_two_models_and_one_perturbed(tmp_path: Path) -> None:
    with pytest.raises(AmbiguityError, match=r"has 2 tasks: ") as told:
        read(str(LOGS), Choices(score="exact_match"))
    tasks = ["simple_mcqa:num_train_trials=3,max_train_instances=2", "simple_mcqa:max_train_instances=2,data_augmentation=lower"]
    assert all(task in str(told.value) for task in tasks)
    found = read(str(LOGS), Choices(score="exact_match", task=tasks[0], model="steel/b"))
    assert found.columns == log("b").columns
    assert read(str(LOGS), Choices(score="exact_match", task=tasks[1])).columns == log("perturbed").columns


def test_two_runs_of_one_task_and_model_are_refused(tmp_path: Path) -> None:
    path = suite(tmp_path)
    shutil.copytree(path / "mcqa:subject=sums,model=steel_a", path / "again")
    with pytest.raises(
        AmbiguityError, match=r"has 2 runs of 'mcqa:subject=sums' by steel/a: again, mcqa:subject=sums,model=steel_a\..*give the directory"
    ):
        sy.measure(str(path), score="exact_match", task="mcqa:subject=sums", model_name="steel/a")


def test_a_suite_of_one_run_needs_no_choice(tmp_path: Path) -> None:
    shutil.copytree(LOGS / "a", tmp_path / "suite" / "only")
    assert read(str(tmp_path / "suite"), Choices(score="exact_match")).columns == log("a").columns


def test_a_suite_with_a_spec_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = suite(tmp_path)
    spec = path / "mcqa:subject=words,model=steel_a" / "run_spec.json"
    spec.write_text(spec.read_text()[:100])
    with pytest.raises(SourceError, match=r"run_spec.json"):
        sy.measure(str(path), score="exact_match", task="mcqa:subject=sums", model_name="steel/a")
