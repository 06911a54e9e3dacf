"""Numbers that the scale of a reference does not allow are refused, and a guard that no score could fail does not pass."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.errors import SteelyardError
from steelyard.questions.suite.check_suite import check_suite

FRACTION = "m:\n- accuracy: 0.66\n  num_samples: 1000\n  scale: fraction\n"
UNDECLARED = "m:\n- accuracy: 0.66\n  num_samples: 1000\n"
PERCENT = "m:\n- accuracy: 66.2\n  num_samples: 1000\n  scale: percent\n"
LEGACY = "m:\n- accuracy: 66.2\n"  # as the TensorRT-LLM files have it
ERRORS = "m:\n- error: 0.1\n  num_samples: 1000\n  scale: fraction\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(text: str, config: str = "") -> None:
    Path("references").mkdir(exist_ok=True)
    Path("references/t.yaml").write_text(text, encoding="utf-8")
    Path("steelyard.toml").write_text(config, encoding="utf-8")


def checked(**options: Any) -> sy.Verdict:
    return sy.check(task="t", model="m", **options)


def rows(right: int, n: int = 50) -> list[dict[str, Any]]:
    return [{"id": f"q{i}", "score": int(i < right)} for i in range(n)]


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "theta in points": (FRACTION, {"value": 0.66, "theta": 2}, "write 0.02 for 2 points"),
    "theta of the whole range": (FRACTION, {"value": 0.66, "theta": 1}, "write 0.01 for 1 points"),
    "theta and margin in points": (FRACTION, {"value": 0.66, "theta": 2, "margin": 1.5}, "points"),
    "theta in points, scale not declared": (UNDECLARED, {"value": 0.66, "theta": 2, "sigma": 0.5}, "scale"),
    "theta beyond a hundred": (PERCENT, {"value": 66, "theta": 100}, "mixed up"),
    "margin beyond a hundred": (PERCENT, {"value": 66, "margin": 250}, "mixed up"),
    "theta of an error rate": (ERRORS, {"value": 0.1, "theta": 3}, "write 0.03 for 3 points"),
    "sigma in points": (FRACTION, {"value": 0.5, "sigma": 50}, "write 0.5 for 50 points"),
    "sigma in points, scale not declared": (UNDECLARED, {"value": 0.5, "sigma": 50}, 'scale = "percent"'),
    "sigma as a fraction": (PERCENT, {"value": 66, "sigma": 0.5}, "write 50 for 0.5"),
    "a fraction against percent": (PERCENT, {"value": 0.66}, "write 66 for 0.66"),
    "a low fraction against percent": (PERCENT, {"value": 0.005}, "write 0.5 for 0.005"),
    "a fraction against percent, scale not declared": (LEGACY, {"value": 0.66, "sigma": 50, "num_samples": 100}, "a value of 66"),
    "percent against a fraction": (FRACTION, {"value": 66}, "write 0.66 for 66%"),
    "percent against a fraction, scale not declared": (UNDECLARED, {"value": 66, "sigma": 0.5}, "declare it"),
    "a negative share": (FRACTION, {"value": -0.1}, "mixed up"),
    "theta of the entry": (FRACTION + "  theta: 2\n", {"value": 0.66}, "write 0.02 for 2 points"),
    "margin of the entry": (FRACTION + "  margin: 1.5\n  theta: 2\n", {"value": 0.66}, "points"),
    "sigma of the entry": (FRACTION + "  sigma: 50\n", {"value": 0.66}, "write 0.5 for 50 points"),
    "a floor in percent": (FRACTION + "  threshold: 60\n", {"value": 0.66}, "write 0.6 for 60%"),
    "a floor as a fraction": (PERCENT + "  threshold: 0.6\n", {"value": 66}, "write 60 for 0.6"),
    "a reference in another scale": (FRACTION.replace("0.66", "66"), {"value": 0.66}, "write 0.66 for 66%"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_number_of_another_scale_is_refused_with_what_to_write(name: str) -> None:
    text, options, hint = REFUSED[name]
    put(text)
    with pytest.raises(SteelyardError) as fault:
        checked(**options)
    assert hint in f"{fault.value}", fault.value


@pytest.mark.parametrize("line", ["theta = 2", "margin = 1.5\ntheta = 2", "sigma = 50"], ids=["theta", "margin", "sigma"])
def test_a_number_of_another_scale_in_the_task_table_is_refused(line: str) -> None:
    put(FRACTION, f"[tasks.t]\n{line}\n")
    with pytest.raises(SteelyardError, match="points"):
        checked(value=0.66)


@pytest.mark.parametrize("line", ["theta = 2", "value = 66", "sigma = 50", "margin = 1.5"])
def test_a_number_of_another_scale_in_a_suite_file_is_refused(line: str) -> None:
    put(FRACTION)
    value = "" if line.startswith("value") else "value = 0.66\n"
    Path("s.toml").write_text(f'[[checks]]\ntask = "t"\nmodel = "m"\n{value}{line}\n', encoding="utf-8")
    with pytest.raises(SteelyardError, match="write 0"):
        check_suite("s.toml")


@pytest.mark.parametrize("options", [{"theta": 2}, {"theta": 2, "margin": 1.5}, {"sigma": 50}, {"theta": 150, "scale": "percent"}], ids=str)
def test_record_refuses_what_check_would_and_writes_nothing(options: dict[str, Any]) -> None:
    with pytest.raises(SteelyardError, match=r"points|mixed up"):
        sy.record(rows(40), task="t", model="m", **options)
    assert not Path("references").exists()


def test_record_in_percent_takes_points() -> None:
    sy.record(rows(40), task="t", model="m", theta=2, margin=1.5, sigma=50, scale="percent")
    assert checked(source=rows(40)).theta == 2


def test_check_of_items_refuses_theta_in_points_too() -> None:
    sy.record(rows(40), task="t", model="m")
    with pytest.raises(SteelyardError, match=r"write 0\.02 for 2 points"):
        checked(source=rows(40), theta=2)


ALLOWED: dict[str, tuple[str, dict[str, Any], str]] = {
    "TensorRT-LLM: percent, sigma 50": (LEGACY, {"value": 66.2, "sigma": 50, "num_samples": 4096}, "pass"),
    "percent, sigma 50": (PERCENT, {"value": 66.2, "sigma": 50}, "pass"),
    "0 is 0 in every scale": (PERCENT, {"value": 0}, "regression"),
    "one percent or less beside little more": (PERCENT.replace("66.2", "1.5"), {"value": 0.9}, "pass"),
    "the worst sigma of a fraction": (FRACTION, {"value": 0.66, "sigma": 0.5}, "pass"),
    "raw numbers have no ends": ("m:\n- perplexity: 7.7\n  num_samples: 86\n", {"value": 7.8, "sigma": 4.48, "theta": 5}, "pass"),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_possible_is_judged(name: str) -> None:
    text, options, verdict = ALLOWED[name]
    put(text)
    assert checked(**options).verdict == verdict


def test_a_guard_that_no_score_could_fail_is_inconclusive_and_says_how_many_items_it_takes() -> None:
    put("m:\n- accuracy: 12.5\n  num_samples: 20\n  scale: percent\n  sigma: 50\n")
    verdict = checked(value=5.0, num_samples=20)
    assert verdict.verdict == "inconclusive"
    assert verdict.exit_code == 2
    assert verdict.needed is not None
    assert verdict.needed["why"].startswith("no outcome could be a regression")
    each = verdict.needed["items_each"]
    assert 1.6448536 * 50 * math.sqrt(2 / each) < 12.5
    assert 1.6448536 * 50 * math.sqrt(2 / (each - 1)) >= 12.5
    assert f"{each:,} items" in str(verdict)


def test_the_same_for_a_metric_where_less_is_better() -> None:
    put("m:\n- error: 0.9\n  num_samples: 10\n  scale: fraction\n")
    assert checked(value=1.0, num_samples=10).verdict == "inconclusive"


def test_an_explicit_floor_at_the_lowest_score_is_inconclusive() -> None:
    put("m:\n- accuracy: 0.9\n  threshold: 0\n  scale: fraction\n")
    assert checked(value=0.1).verdict == "inconclusive"


def test_a_margin_that_allows_all_that_can_be_lost_is_inconclusive_for_scores_too() -> None:
    run = [{"id": f"q{i}", "score": 0.2 + 0.01 * (i % 5)} for i in range(40)]
    sy.record(run, task="t", model="m", metric="mean")
    assert checked(source=run, margin=0.5).verdict == "inconclusive"


def test_theta_beyond_what_can_be_lost_is_said_to_be_worth_nothing() -> None:
    put(FRACTION.replace("0.66", "0.3"))
    verdict = checked(value=0.3, theta=0.5)
    assert any("every run rules it out" in said for said in verdict.warnings)


@pytest.mark.parametrize("metric", ["mcc", "kappa"])
def test_a_metric_from_minus_one_to_one_may_be_negative(metric: str) -> None:
    put(f"m:\n- {metric}: -0.1\n  num_samples: 500\n  scale: fraction\n  sigma: 0.9\n")
    assert checked(value=-0.12).verdict == "pass"
    with pytest.raises(SteelyardError, match="between -1 and 1"):
        checked(value=-1.2)
