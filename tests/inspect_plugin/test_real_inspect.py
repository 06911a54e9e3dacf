"""Our metrics and the hook inside the real Inspect, with its mock model: one process does all the runs, the tests look at them.

Where Inspect is missing they are skipped, and fail with STEELYARD_REQUIRE_ALL=1 (`stand_ins.py`). test_metrics.py and
test_checks.py need no Inspect.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    place = tmp_path_factory.mktemp("inspect")
    return subprocess.run([sys.executable, str(HERE / "real_runs.py"), str(place)], capture_output=True, text=True, check=False, cwd=place)


@pytest.fixture(scope="module")
def found(process: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert process.stdout.strip(), process.stderr
    answered: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return answered


def test_inspect_shows_our_numbers_beside_its_own(found: dict[str, Any]) -> None:
    (score,) = found["plain"]
    shown = score["metrics"]
    row = sy.measure(found["location"]).rows[0]
    assert row.interval is not None
    assert shown["accuracy"] == shown["mean"] == pytest.approx(12 / 18)
    ours = {"low": row.interval.low, "high": row.interval.high, "stderr": row.standard_error}
    assert {end: shown[f"accuracy_{end}"] for end in ours} == {end: pytest.approx(value) for end, value in ours.items()}
    assert shown["accuracy_stderr"] == pytest.approx(shown["stderr"])  # Inspect's own
    assert shown["accuracy_low"] < shown["mean_low"]  # 95% and 90%
    assert "both_low" in shown
    assert {"t1", "t1_low", "t1_high"} <= set(shown)


def test_epochs_are_reduced_before_or_counted_as_repeats(found: dict[str, Any]) -> None:
    (reduced,), (unreduced,) = found["reduced"], found["unreduced"]
    row = sy.measure(found["reduced location"]).rows[0]
    assert row.interval is not None
    shown = unreduced["metrics"]
    assert shown["accuracy"] == pytest.approx(reduced["metrics"]["accuracy"])
    assert (shown["accuracy_low"], shown["accuracy_high"]) == (pytest.approx(row.interval.low), pytest.approx(row.interval.high))
    assert reduced["metrics"]["accuracy_stderr"] == pytest.approx(shown["accuracy_stderr"])
    by_epoch = math.sqrt(shown["accuracy"] * (1 - shown["accuracy"]) / 53)
    assert shown["accuracy_stderr"] > 1.1 * by_epoch


def test_a_score_of_several_values_has_ours_for_each(found: dict[str, Any]) -> None:
    length, right = found["several"]
    assert length["metrics"]["steelyard/mean_mean"] == pytest.approx((9 + 9 * 2) / 18)
    assert {"steelyard/accuracy_accuracy", "steelyard/accuracy_accuracy_low"} <= set(right["metrics"])


def test_samples_without_a_score_break_nothing(found: dict[str, Any]) -> None:
    (score,) = found["unscored"]
    assert math.isnan(score["metrics"]["accuracy"])


def test_the_hook_judges_and_the_evaluation_goes_on(found: dict[str, Any], process: subprocess.CompletedProcess[str]) -> None:
    assert found["verdicts"] == ["pass", "regression"]
    assert found["still answered"] == "success"
    assert "steelyard: regression: sums, mockllm/model" in process.stderr
    assert process.returncode == 1


def test_a_log_is_scored_anew_by_what_the_entry_point_registers(found: dict[str, Any]) -> None:
    """In a process that knows nothing of our metrics but the module that pyproject.toml names to Inspect."""
    project = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = project["entry-points"]["inspect_ai"]["steelyard"]
    code = (
        f"import {module}, json\n"
        "from inspect_ai.log import read_eval_log, recompute_metrics\n"
        f"log = read_eval_log({found['location']!r})\n"
        "log.results.scores = []\n"
        "recompute_metrics(log)\n"
        "print(json.dumps({name: metric.value for name, metric in log.results.scores[0].metrics.items()}))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == found["plain"][0]["metrics"]
