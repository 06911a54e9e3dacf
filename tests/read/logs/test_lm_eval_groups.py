"""Groups of lm-evaluation-harness, written by 0.4.13 itself: the group's own number, and intervals that know its tasks as strata."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.errors import AmbiguityError, DataError, SourceError, UsageError
from steelyard.infer.intervals.strata import stratified_mean
from steelyard.questions.compare.compare import compare
from steelyard.questions.guard.check import check
from steelyard.questions.measure.measure import measure
from steelyard.questions.record.record import record
from steelyard.read.open_source import open_source

HERE = Path(__file__).parent / "lm_eval_groups"
FIRST, SECOND = HERE / "shapes" / "first", HERE / "shapes" / "second"
ALIKE = HERE / "shapes_alike" / "first", HERE / "shapes_alike" / "second"
SIZES = {"shapes_few": 12, "shapes_some": 24, "shapes_many": 40}


def theirs(folder: Path, task: str, metric: str = "acc") -> float:
    return float(json.loads(next(folder.glob("results_*")).read_text(encoding="utf-8"))["results"][task][f"{metric},none"])


def scores(folder: Path, task: str) -> list[float]:
    path = next(folder.glob(f"samples_{task}_*"))
    return [json.loads(line)["acc"] for line in path.read_text(encoding="utf-8").splitlines()]


def error_by_hand(parts: dict[str, Any], weights: dict[str, float]) -> float:
    return math.sqrt(sum(weights[task] ** 2 * np.var(x, ddof=1) / len(x) for task, x in parts.items()))


@pytest.mark.parametrize("group", ["shapes", "shapes_inner"])
@pytest.mark.parametrize("folder", [FIRST, SECOND])
def test_a_group_is_pooled_by_size_as_the_tool_does(folder: Path, group: str) -> None:
    found = measure(str(folder), log_task=group, score="acc")
    assert found.rows[0].estimate == pytest.approx(theirs(folder, group), abs=1e-12)
    tasks = [task for task in SIZES if group == "shapes" or task != "shapes_many"]
    n = sum(SIZES[task] for task in tasks)
    assert (found.n, found.rows[0].details["strata"], found.rows[0].details["weights"]) == (n, len(tasks), "size")
    error = error_by_hand({task: scores(folder, task) for task in tasks}, {task: SIZES[task] / n for task in tasks})
    assert found.rows[0].standard_error == pytest.approx(error, rel=1e-12)
    assert any("weighted by their size" in said for said in found.warnings)
    assert found.table is None  # bare counts would forget the strata


@pytest.mark.parametrize("folder", ALIKE)
def test_a_group_whose_tasks_count_alike_is_the_mean_of_their_means(folder: Path) -> None:
    found = measure(str(folder), log_task="shapes_alike", score="acc")
    assert found.rows[0].estimate == pytest.approx(theirs(folder, "shapes_alike"), abs=1e-12)
    error = error_by_hand({task: scores(folder, task) for task in SIZES}, dict.fromkeys(SIZES, 1 / 3))
    assert found.rows[0].standard_error == pytest.approx(error, rel=1e-12)
    assert any("each counts alike" in said for said in found.warnings)


def test_items_are_unique_by_their_task_and_can_be_sliced_by_it() -> None:
    source = open_source(str(FIRST), columns={"log_task": "shapes", "score": "acc", "by": ("task",)})
    items = source.items()
    assert len(set(items.id.names)) == 76
    assert "shapes_many/39" in items.id.names
    found = measure(str(FIRST), log_task="shapes", score="acc", by="task")
    assert {one.value: one.measurement.rows[0].estimate for one in found.slices} == pytest.approx({t: theirs(FIRST, t) for t in SIZES})


@pytest.mark.parametrize(("folders", "group", "weights"), [((FIRST, SECOND), "shapes", None), (ALIKE, "shapes_alike", 1 / 3)])
def test_two_systems_are_compared_over_the_tasks_as_strata(folders: tuple[Path, Path], group: str, weights: float | None) -> None:
    found = compare(str(folders[0]), str(folders[1]), log_task=group, score="acc")
    own = [theirs(folder, group) for folder in folders]
    assert (found.baseline.estimate, found.candidate.estimate) == (pytest.approx(own[0]), pytest.approx(own[1]))
    assert found.difference.estimate == pytest.approx(own[1] - own[0], abs=1e-12)
    gaps = {task: np.array(scores(folders[1], task)) - np.array(scores(folders[0], task)) for task in SIZES}
    error = error_by_hand(gaps, {task: weights or SIZES[task] / 76 for task in SIZES})
    low, high = found.difference.interval.low, found.difference.interval.high
    joined = np.concatenate(list(gaps.values())), np.repeat([0, 1, 2], list(SIZES.values()))
    by_hand = stratified_mean(*joined, alike=weights is not None)
    assert by_hand.error == pytest.approx(error, rel=1e-12)
    assert (low, high) == pytest.approx(by_hand.student(), rel=1e-12)
    for system, folder in zip((found.baseline, found.candidate), folders, strict=True):
        assert system.interval == measure(str(folder), log_task=group, score="acc").rows[0].interval


def test_strata_make_the_interval_narrower_where_tasks_differ() -> None:
    easy, hard = np.tile([1.0] * 19 + [0.0], 5), np.tile([0.0] * 19 + [1.0], 5)
    x, stratum = np.concatenate([easy, hard]), np.repeat([0, 1], 100)
    found, simple = stratified_mean(x, stratum), stratified_mean(x, np.zeros(200, int))
    assert found.error < 0.5 * simple.error
    low, high = found.wilson()
    assert 0.45 < low < 0.5 < high < 0.55


def test_the_stratified_interval_covers() -> None:
    """Five tasks of 10 to 60 items and of very different difficulty: near .95 of the intervals hold the truth."""
    rng = np.random.default_rng(7)
    sizes, p = np.array([10, 20, 30, 40, 60]), np.array([0.1, 0.4, 0.6, 0.8, 0.95])
    stratum = np.repeat(np.arange(5), sizes)
    held = []
    for alike in (False, True):
        truth = float(p.mean() if alike else sizes @ p / sizes.sum())
        ends = [stratified_mean((rng.random(160) < p[stratum]).astype(float), stratum, alike=alike).wilson() for _ in range(2000)]
        held.append(np.mean([low <= truth <= high for low, high in ends]))
    assert all(0.93 < share < 0.97 for share in held), held


def test_a_group_weighted_by_size_is_recorded_and_checked_and_one_of_means_is_refused(tmp_path: Path) -> None:
    about: dict[str, Any] = {"task": "t", "model": "m", "directory": tmp_path}
    kept = record(str(FIRST), **about, log_task="shapes", score="acc")
    assert (kept.value, kept.n) == (pytest.approx(theirs(FIRST, "shapes")), 76)
    verdict = check(str(SECOND), **about, log_task="shapes", score="acc")
    assert (verdict.verdict, verdict.candidate["value"]) == ("pass", pytest.approx(theirs(SECOND, "shapes")))
    for ask in (record, check):
        with pytest.raises(UsageError, match="a mean of means"):
            ask(str(ALIKE[0]), **{**about, "task": "t" if ask is check else "u"}, log_task="shapes_alike", score="acc")


def test_groups_are_offered_first_and_a_metric_without_a_group_number_is_said() -> None:
    with pytest.raises(
        AmbiguityError, match=r"has 5 tasks: shapes, shapes_inner, shapes_few, shapes_many, shapes_some\..*log_task='shapes'"
    ):
        measure(str(FIRST), score="acc")
    found = measure(str(FIRST), log_task="shapes", score="acc_norm")
    assert any("the log has no acc_norm of the group shapes" in said for said in found.warnings)
    assert found.rows[0].estimate == pytest.approx(sum(theirs(FIRST, t, "acc_norm") * n for t, n in SIZES.items()) / 76)
    results = next(FIRST.glob("results_*"))
    assert measure(str(results), log_task="shapes_inner", score="acc").n == 36


def test_a_group_that_its_tasks_do_not_give_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FIRST, tmp_path / "a"))
    path = next(folder.glob("results_*"))
    told = json.loads(path.read_text(encoding="utf-8"))
    told["results"]["shapes"]["acc,none"] = 0.9
    path.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(DataError, match=r"gives 0.9 as 'acc' of the group shapes, and its tasks give 0.460526 by size, 0.5 alike"):
        measure(str(folder), log_task="shapes", score="acc")
    next(folder.glob("samples_shapes_some*")).unlink()
    with pytest.raises(SourceError, match=r"The group 'shapes' of .* has no samples for 1 of its 3 tasks, such as 'shapes_some'\."):
        measure(str(folder), log_task="shapes", score="acc")


@pytest.mark.parametrize("options", [{"metric": "pass@1"}, {"interval": "bca"}, {"group": "doc.label"}])
def test_what_a_group_of_means_has_no_number_for_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        measure(str(ALIKE[0]), log_task="shapes_alike", score="acc", **options)
