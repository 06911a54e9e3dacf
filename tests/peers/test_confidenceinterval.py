"""confidenceinterval: Wilson where a metric is a proportion, and its F1, whose error is too large. See confidenceinterval.json."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy
from peers.make import recorded

ENTRIES = recorded("confidenceinterval")
TABLE = np.array(ENTRIES["accuracy_score"]["input"])
THREE = sy.Counts.table(TABLE.tolist(), labels=["0", "1", "2"])
FIRST = {"tp": 50, "fn": 10, "fp": 11, "tn": 79}
Z = 1.959963984540054
PROPORTIONS = {
    "accuracy_score": "accuracy",
    "ppv_score": "precision",
    "npv_score": "npv",
    "tpr_score": "recall",
    "tnr_score": "specificity",
}


def half(interval: sy.Interval | None) -> float:
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    return (interval.high - interval.low) / 2


@pytest.mark.parametrize("name", PROPORTIONS)
def test_proportions(name: str) -> None:
    """To eight digits: it adds 1e-7 to denominators, so that 0/0 becomes 0 there."""
    found = sy.measure(sy.Counts.binary(**FIRST), metric=PROPORTIONS[name])
    estimate, ends = ENTRIES[name]["answer"]
    assert found.estimate == pytest.approx(estimate, abs=1e-7)
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == pytest.approx(ends, abs=1e-7)


@pytest.mark.parametrize("name", ["micro_f1_score", "micro_precision_score", "micro_recall_score"])
def test_micro(name: str) -> None:
    """With one label an item all three are the accuracy, 120 of 150; it answers with Wald, our delta method; our default is Wilson."""
    found = sy.measure(THREE, metric=name.removesuffix("_score"), interval="delta")
    assert found.estimate == pytest.approx(0.8)
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == pytest.approx(ENTRIES[name]["answer"][1], abs=1e-9)


def macro(table: np.ndarray, name: str) -> np.ndarray:
    hit, truth, said = np.einsum("...ii->...i", table), table.sum(-1), table.sum(-2)
    below = {"f1": (truth + said) / 2, "precision": said, "recall": truth}[name]
    return np.asarray(hit / below)


def spread(name: str) -> np.ndarray:
    """20,000 samples of 150 items from the table: what a standard error estimates."""
    drawn = np.random.default_rng(0).multinomial(150, TABLE.ravel() / 150, size=20_000).reshape(-1, 3, 3)
    return macro(drawn, name)


@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
def test_macro(name: str) -> None:
    """Samples of the same table decide. Ours is within 3 in 100 of their spread; its macro F1 is half as wide again.

    Its formula has sums where Takahashi et al. (2022) have products. Its macro precision and recall take the variances of the
    cells without their covariances, which hardly shows with three classes.
    """
    true = float(spread(name).mean(1).std())
    ours = half(sy.measure(THREE, metric=f"macro_{name}", interval="delta").interval) / Z
    estimate, (low, high) = ENTRIES["macro_" + name + "_score"]["answer"]
    assert sy.measure(THREE, metric=f"macro_{name}", interval="delta").estimate == pytest.approx(estimate, rel=1e-8)
    assert ours == pytest.approx(true, rel=0.03)
    assert (high - low) / 2 / Z == pytest.approx((1.6 if name == "f1" else 1.0) * true, rel=0.05)


def test_binary_f1() -> None:
    true = float(spread("f1")[:, 0].std())
    ours = sy.measure(sy.Counts.binary(**FIRST), metric="f1", interval="delta")
    estimate, (low, high) = ENTRIES["binary_f1_score"]["answer"]
    assert ours.estimate == pytest.approx(estimate, rel=1e-9)
    assert half(ours.interval) / Z == pytest.approx(true, rel=0.03)
    assert (high - low) / 2 / Z > 1.1 * true


def test_names_of_classes() -> None:
    """Called 1, 2 and 5 the same answers have half its macro F1: it counts the classes 0, 3 and 4, which nobody used."""
    as_named = sy.measure(sy.Counts.table(TABLE.tolist(), labels=["1", "2", "5"]), metric="macro_f1").estimate
    assert as_named == pytest.approx(ENTRIES["macro_f1_score"]["answer"][0], rel=1e-8)
    assert ENTRIES["renamed"]["answer"][0] == pytest.approx(ENTRIES["macro_f1_score"]["answer"][0] / 2, rel=1e-9)
