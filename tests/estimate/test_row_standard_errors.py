"""Standard errors of measurements that were written without: known values, redrawn tables as another way, and none where none is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

import steelyard as sy
from cases import every
from steelyard.estimate.row import with_standard_errors
from steelyard.results.measurement import Measurement, Row


def error(row: Row) -> float | None:
    return row.standard_error


def old(m: Measurement) -> Measurement:
    """The measurement as version 0.1.0 wrote it."""
    plain = m.to_dict()
    for part in (plain, *(each["measurement"] for each in plain["slices"])):
        for row in part["metrics"]:
            del row["standard_error"]
    return Measurement.from_dict(plain)


def data(n: int = 400) -> dict[str, list[str]]:
    draw = np.random.default_rng(5)
    truth = draw.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    said = np.where(draw.random(n) < 0.8, truth, draw.choice(["a", "b", "c"], n))
    return {"truth": truth.tolist(), "prediction": said.tolist(), "by": draw.choice(["x", "y"], n).tolist()}


def test_a_proportion() -> None:
    """sqrt(.85 * .15 / 99), as lm-eval has it, and Takahashi's error of F1, sqrt(F (1-F) (2-F) / (2 TP + FP + FN))."""
    assert error(with_standard_errors(old(sy.measure(sy.Counts.of(85, 100)))).row) == pytest.approx(math.sqrt(0.85 * 0.15 / 99), rel=1e-12)
    f = 62 / 69
    found = with_standard_errors(old(sy.measure(sy.Counts.binary(tp=31, fp=5, fn=2), metric="f1")))
    assert error(found.row) == pytest.approx(math.sqrt(f * (1 - f) * (2 - f) / 69), rel=1e-12)


def test_against_redrawn_items() -> None:
    """The spread of 2,000 bootstrap samples of the items; four standard errors of a standard deviation are 4 / sqrt(4000)."""
    items = data()
    names = ["accuracy", "macro_f1", "balanced_accuracy", "mcc", "kappa"]
    found = with_standard_errors(old(sy.measure(items, metric=names)))
    draw, truth, said = np.random.default_rng(0), np.array(items["truth"]), np.array(items["prediction"])
    drawn = {name: [] for name in names}  # type: dict[str, list[float]]
    codes = {label: i for i, label in enumerate("abc")}
    flat = np.array([codes[t] * 3 + codes[p] for t, p in zip(truth, said, strict=True)])
    for _ in range(2000):
        table = np.bincount(flat[draw.integers(0, len(flat), len(flat))], minlength=9).reshape(3, 3)
        for name, value in _values(table).items():
            drawn[name].append(value)
    for name in names:
        assert error(found[name]) == pytest.approx(np.std(drawn[name]), rel=4 / math.sqrt(4000)), name


def _values(table: np.ndarray) -> dict[str, float]:
    """The metrics by their textbook formulas."""
    n, hit, truth, said = table.sum(), np.diag(table), table.sum(1), table.sum(0)
    p, chance = hit.sum() / n, truth @ said / n**2
    mcc = (hit.sum() * n - truth @ said) / math.sqrt((n**2 - truth @ truth) * (n**2 - said @ said))
    return {
        "accuracy": p,
        "macro_f1": float(np.mean(2 * hit / (truth + said))),
        "balanced_accuracy": float(np.mean(hit / truth)),
        "mcc": mcc,
        "kappa": (p - chance) / (1 - chance),
    }


def test_slices_and_classes_have_theirs() -> None:
    m = sy.measure(data(), by="by")
    found = with_standard_errors(old(m))
    assert found == m
    assert all(error(row) is not None for row in found.rows)
    assert all(error(row) is not None for part in found.slices for row in part.measurement.rows)


@pytest.mark.parametrize(
    "m",
    [
        sy.measure(sy.Counts.of(100, 100)),
        sy.measure({"score": [0.1, 0.5, 0.7]}),
        sy.measure({"group": [i // 4 for i in range(40)], "score": [i % 2 for i in range(40)]}),
        Measurement(
            n=3, rows=(Row(metric="my own", estimate=0.5, n=3, interval=None),), table=sy.Counts.of(2, 3), signature="n:3|design:items"
        ),
    ],
)
def test_none_where_none_is_known(m: Measurement) -> None:
    found = with_standard_errors(old(m))
    assert [row.standard_error for row in found.rows] == [None] * len(m.rows)


@every("metric", ["accuracy", "each_f1", "macro_f1", "micro_fbeta:2", "weighted_recall", "mcc", "balanced_accuracy"])
@every("absent", [None, "zero"])
def test_an_old_measurement_gets_the_number_of_a_new_one(metric: str, absent: str | None) -> None:
    m = sy.measure(data(60), metric=metric, absent=absent, labels=["a", "b", "c", "d"])
    assert with_standard_errors(old(m)) == m
