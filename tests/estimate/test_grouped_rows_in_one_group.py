"""Groups: what a metric rests on may lie in one of them, and where no interval is possible nothing else is claimed either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy

Rows = list[dict[str, Any]]


def rows_of(**columns: Any) -> Rows:
    """One row per value; columns of one length."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def found_in_one_group(rng: np.random.Generator, recall: float, inside: int = 40, groups: int = 30) -> Rows:
    """Group 0 has `inside` positives, each of the others 1 of 10 items; positives of a group are found or missed together (ICC .5)."""
    group = np.repeat(np.arange(groups), [inside] + [10] * (groups - 1))
    truth = np.array([1] * inside + ([1] + [0] * 9) * (groups - 1))
    rate = rng.beta(recall, 1 - recall, groups)
    right = rng.random(len(group)) < np.where(truth == 1, rate[group], 0.95)
    return rows_of(id=range(len(group)), truth=truth.tolist(), prediction=np.where(right, truth, 1 - truth).tolist(), group=group.tolist())


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_recall", "macro_f1", "mcc"])
def test_a_class_that_lies_in_one_group_is_known_no_better_in_an_average(metric: str) -> None:
    """Recall alone has no interval here (its positives are worth 2.9 groups); an average over it covered .57 without a word."""
    rows = found_in_one_group(np.random.default_rng(0), 0.7)
    assert sy.measure(rows, metric="recall", positive=1).interval is None
    averaged = sy.measure(rows, metric=metric)
    assert averaged.row.interval is None or averaged.warnings


@pytest.mark.parametrize("metric", ["recall", "f1", "balanced_accuracy", "macro_f1", "mcc"])
def test_nor_in_a_difference(metric: str) -> None:
    rng = np.random.default_rng(0)
    a, b = found_in_one_group(rng, 0.7), found_in_one_group(rng, 0.7)
    positive = {"positive": 1} if metric in ("recall", "f1") else {}
    found = sy.compare(a, b, metric=metric, margin=0.15, **positive)
    assert found.difference.interval is None or found.warnings


def test_a_guard_does_not_pass_a_drop_of_theta(tmp_path: Path) -> None:
    rng, passed = np.random.default_rng(2), 0
    for run in range(32):
        where = {"task": "t", "model": "m", "directory": tmp_path / str(run)}
        sy.record(found_in_one_group(rng, 0.85), metric="recall", positive=1, **where)  # type: ignore[arg-type]
        passed += sy.check(found_in_one_group(rng, 0.7), theta=0.15, **where).verdict == "pass"  # type: ignore[arg-type]
    assert passed <= 0.204 * 32  # .05 and four Monte Carlo errors


def ranks(groups: bool) -> tuple[Rows, Rows]:
    truth = [1, 1, 1, 0, 0, 0, 0, 0]
    more = {"group": range(8)} if groups else {}
    a = rows_of(id=range(8), truth=truth, probability=[0.9 if t else 0.1 for t in truth], **more)
    return a, rows_of(id=range(8), truth=truth, probability=[0.5] * 8, **more)


def test_a_margin_of_areas_without_spread_is_no_traceback() -> None:
    found = sy.compare(*ranks(True), metric="auc", positive=1, margin=0.1)
    assert found.equivalence is None or not found.equivalence["non_inferior"]


def test_an_interval_that_is_not_given_is_not_announced() -> None:
    found = sy.compare(*ranks(True), metric="auc", positive=1)
    assert found.difference.interval is not None or not any("is given" in words for words in found.warnings)


def whole_groups_fall(rng: np.random.Generator) -> tuple[Rows, Rows]:
    """One group of 5 in twenty falls altogether, and 3% of the other answers flip: a mean drop of .073."""
    group = np.repeat(np.arange(20), 5)
    a = (rng.random(100) < 0.95).astype(int)
    flipped = np.where(rng.random(100) < 0.97, a, 1 - a)
    b = np.where((rng.random(20) < 0.05)[group], 0, flipped)
    return tuple(rows_of(id=range(100), score=s.tolist(), group=group.tolist()) for s in (a, b))  # type: ignore[return-value]


def test_rare_falls_of_whole_groups_do_not_pass_without_a_word(tmp_path: Path) -> None:
    rng, silent = np.random.default_rng(0), 0
    for run in range(32):
        where = {"task": "t", "model": "m", "directory": tmp_path / str(run)}
        a, b = whole_groups_fall(rng)
        sy.record(a, **where)  # type: ignore[arg-type]
        found = sy.check(b, theta=0.0731, **where)  # type: ignore[arg-type]
        silent += found.verdict == "pass" and not found.warnings
    assert silent <= 0.204 * 32
