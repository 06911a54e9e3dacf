"""One rule for few groups, by what they are worth: every metric, measured, compared and guarded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every

GIANT = np.repeat(np.arange(31), [200] + [2] * 30)  # 31 groups that are worth 1.7
ZIPF = np.repeat(np.arange(25), [79, 39, 26, 20, 16, 13, 11, 10, 9, 8, 7, 7, 6, 6, 5, 5, 5, 4, 4, 4, 4, 4, 3, 3, 3])  # worth 9
EQUAL = np.repeat(np.arange(30), 10)
WORTH = "31 groups of unequal size, worth 1.7 equal ones, the largest with 77% of the items"
LABELS = ("accuracy", "macro_f1", "mcc", "kappa", "balanced_accuracy", "macro_recall", "f1")
NUMBERS = ("mae", "rmse", "r2")
PROBABILITIES = ("auc", "brier", "log_loss", "ece")


def columns(group: Any, seed: int = 0) -> dict[str, dict[str, Any]]:
    """One table for each kind of metric, all in the same groups."""
    rng, n = np.random.default_rng(seed), len(group)
    truth = rng.integers(0, 2, n)
    common = {"id": [f"q{i}" for i in range(n)], "group": [f"g{g}" for g in group]}
    y = rng.normal(size=n)
    return {
        "labels": {**common, "truth": truth, "prediction": np.where(rng.random(n) < 0.8, truth, 1 - truth)},
        "numbers": {**common, "truth": y, "prediction": y + rng.normal(0, 0.3, n)},
        "probabilities": {**common, "truth": truth, "probability": np.clip(0.3 + 0.4 * truth + rng.normal(0, 0.2, n), 0.01, 0.99)},
        "scores": {**common, "score": rng.random(n)},
        "ratio": {**common, "words": rng.integers(1, 20, n), "errors": rng.integers(0, 5, n)},
    }


def measured(group: Any, metric: str, seed: int = 0) -> Any:
    tables = columns(group, seed)
    if metric in LABELS:
        return sy.measure(tables["labels"], metric=metric, positive=1 if metric == "f1" else None)
    if metric in NUMBERS:
        return sy.measure(tables["numbers"], metric=metric)
    if metric in PROBABILITIES:
        return sy.measure(tables["probabilities"], metric=metric, positive=1)
    if metric == "ratio":
        return sy.measure(tables["ratio"], metric=metric, ratio=("errors", "words"))
    return sy.measure(tables["scores"], metric=metric)


def compared(group: Any, metric: str, **more: Any) -> Any:
    a, b = columns(group), columns(group, 1)
    kind = "labels" if metric in LABELS else "numbers" if metric in NUMBERS else "probabilities" if metric in PROBABILITIES else "scores"
    for name in ("truth",):
        if name in a[kind]:
            b[kind][name] = a[kind][name]
    if metric == "auc":
        b[kind]["probability"] = np.clip(a[kind]["probability"] + np.random.default_rng(2).normal(0, 0.1, len(group)), 0, 1)
    positive = {"positive": 1} if metric in (*PROBABILITIES, "f1") else {}
    return sy.compare(a[kind], b[kind], metric=metric, draws=999, **positive, **more)


@every("metric", [*LABELS, *NUMBERS, *PROBABILITIES, "mean", "ratio"])
def test_no_interval_where_groups_are_worth_too_few(metric: str) -> None:
    found = measured(GIANT, metric)
    assert found.interval is None
    assert found.estimate is not None
    assert any("the groups are too unequal (effective number below 4); add groups" in said for said in found.warnings)
    if metric != "auc":
        assert any(said.startswith(WORTH) for said in found.warnings)
        assert found.row.details["groups_effective"] == pytest.approx(260**2 / 40120, rel=0.02)  # of a ratio, what is divided by weighs


@every("metric", [*LABELS, *NUMBERS, *PROBABILITIES, "mean", "ratio"])
def test_a_warning_between_and_none_above(metric: str) -> None:
    some, enough = measured(ZIPF, metric), measured(EQUAL, metric)
    assert some.interval is not None
    assert any("25 groups" in said and "20 or more are better" in said for said in some.warnings)
    assert enough.interval is not None
    assert not any("groups" in said for said in enough.warnings)


@every("metric", ["accuracy", "macro_f1", "rmse", "auc", "brier", "mean"])
def test_a_comparison_has_no_interval_and_shows_no_margin_by_too_few(metric: str) -> None:
    found = compared(GIANT, metric, **({} if metric == "auc" else {"margin": 0.9}))
    assert found.difference.interval is None
    assert found.equivalence is None
    assert any("no interval" in said for said in found.warnings)
    assert compared(ZIPF, metric).difference.interval is not None


def test_the_classes_of_a_metric_have_groups_of_their_own() -> None:
    """30 equal groups, but one class lies in four of them."""
    table = columns(EQUAL)["labels"]
    truth = np.where(EQUAL < 4, "rare", "usual")
    found = sy.measure({**table, "truth": truth, "prediction": truth[::-1]}, metric="each_recall")
    rows = {row.label: row for row in found.rows}
    assert rows["rare"].interval is None
    assert rows["usual"].interval is not None
    assert any("recall[rare]: only 4 groups have an item that counts for it" in said for said in found.warnings)


@pytest.mark.parametrize(("metric", "fall"), [("mean", 0.5), ("accuracy", 0)])
def test_a_guard_by_too_few_groups_is_inconclusive(tmp_path: Path, metric: str, fall: float) -> None:
    """Every group falls, p is tiny, and still nothing is known about other groups of that kind."""
    common = {"id": [f"q{i}" for i in range(len(GIANT))], "group": [f"g{g}" for g in GIANT]}
    before = {**common, "score": np.ones(len(GIANT))}
    place = {"task": "t", "model": "m", "directory": tmp_path}
    sy.record(before, metric=metric, group="group", **place)
    verdict = sy.check({**common, "score": np.full(len(GIANT), fall) * np.ones(len(GIANT))}, metric=metric, group="group", **place)
    assert verdict.verdict == "inconclusive"
    assert verdict.p_value < 0.05
    assert any(said.startswith(WORTH) for said in verdict.warnings)
    assert verdict.needed is not None
    assert verdict.needed["groups"] == 32


def test_skewed_groups_are_warned_of_and_even_ones_are_not() -> None:
    """One group in ten loses all of its items, against as many that gain a little everywhere."""

    def compared(loss: float, losing: int) -> sy.Comparison:
        group = np.repeat(np.arange(30), 10)
        gained = np.where(group < losing, -loss, 0.1) + np.tile([-0.02, 0.02], 150)
        rows = {"id": [f"q{i}" for i in range(300)], "group": [f"g{g}" for g in group]}
        return sy.compare({**rows, "score": np.full(300, 0.7)}, {**rows, "score": 0.7 + gained}, metric="mean")

    assert any("the differences of the 30 groups are skewed: t needs about" in said for said in compared(0.7, 3).warnings)
    assert not any("skewed" in said for said in compared(0.1, 15).warnings)


def _pair(n: int, flipped: tuple[int, ...]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Items in groups of four, all right in the baseline; some answers of the candidate are the other label."""
    truth = ["a", "b"] * (n // 2)
    right = {"id": [str(i) for i in range(n)], "truth": truth, "prediction": truth, "group": [str(i // 4) for i in range(n)]}
    other = {"a": "b", "b": "a"}
    return right, right | {"prediction": [other[t] if i in flipped else t for i, t in enumerate(truth)]}


@pytest.mark.parametrize("n", [12, 20, 24])
@pytest.mark.parametrize("flipped", [(), (0,), (0, 1)])
def test_a_difference_of_two_shares_stays_between_minus_one_and_one(n: int, flipped: tuple[int, ...]) -> None:
    interval = sy.compare(*_pair(n, flipped), metric="jaccard", positive="a").difference.interval
    assert interval is None or -1 <= interval.low <= interval.high <= 1


def test_groups_that_all_change_alike_have_an_interval_where_the_metric_has_a_range() -> None:
    interval = sy.compare(*_pair(60, tuple(range(1, 60, 2))), metric="macro_recall").difference.interval
    assert interval is not None
    assert interval.low < -0.5 < interval.high
