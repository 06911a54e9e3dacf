"""Plans to detect a drop against numbers printed elsewhere: the accuracy suite of TensorRT-LLM, Miller's equation, R, statsmodels."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every

ENTRIES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("plans_published.json").read_text())["entries"]


@every("entry", ENTRIES, ids=lambda entry: entry["id"])
def test_published(entry: dict[str, Any]) -> None:
    plan = sy.plan_detect(**entry["call"])
    for name, wanted in entry["expected"].items():
        got = plan.details[name] if name == "n_formula" else getattr(plan, name)
        assert got == pytest.approx(wanted, rel=0, abs=entry["tol"]), name


@every("entry", [e for e in ENTRIES if e["id"].startswith("trtllm-")], ids=lambda entry: entry["id"])
def test_each_row_of_the_original_table_is_printed_beside_the_answer(entry: dict[str, Any]) -> None:
    """Steps of the suite: find your theta in the table. The table of the answer must hold the same digits."""
    n = entry["call"]["n"]
    row = next(row for row in sy.plan_detect(n=n, sigma=50).steps if row["n"] == n)
    assert row["theta"] == pytest.approx(entry["expected"]["theta"], abs=1e-6)
    assert row["threshold"] == pytest.approx(entry["expected"]["threshold_offset"], abs=1e-6)


def test_threshold_of_a_real_reference() -> None:
    """TensorRT-LLM, MMLU reference 68.17 with 4,096 samples and sigma 50: threshold 66.3526763223802 (make_golden.py of the research)."""
    assert 68.17 + sy.plan_detect(n=4096, sigma=50).threshold_offset == pytest.approx(66.3526763223802, abs=1e-9)  # type: ignore[operator]


@pytest.mark.parametrize(("kind", "by_t"), [("sigma", 63.76561058891169), ("sd", 33.36713118431779)])
def test_students_t_needs_one_or_two_items_more(kind: str, by_t: float) -> None:
    """statsmodels 0.15 TTestIndPower and TTestPower, d = .5, alpha .05 two-sided, power .8 (Cohen: 64; G*Power: 34).

    The plan knows its standard deviation, the t test estimates it: about z^2/4 items more per sample, z^2/2 for pairs.
    """
    n = sy.plan_detect(**{kind: 1.0}, theta=0.5, alternative="two-sided").n  # type: ignore[arg-type]
    z = 1.959963984540054
    assert n == {"sigma": 63, "sd": 32}[kind]
    assert 0 < by_t - n < z * z / (4 if kind == "sigma" else 2) + 1


def test_walk_of_the_six_steps_of_the_suite() -> None:
    """Steps to add accuracy tests: sigma 50, alpha .05, beta .2; the n of the table that reaches theta 3 is 4,096, the solved one 3,435."""
    plan = sy.plan_detect(sigma=50, theta=3)
    assert plan.n == 3435
    doubled = [row["n"] for row in plan.steps if row["theta"] <= 3 and math.log2(row["n"]).is_integer()]
    assert min(doubled) == 4096
