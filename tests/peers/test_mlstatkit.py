"""MLstatkit: DeLong's test of two curves and the permutation test of two classifiers. See MLstatkit.json."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from peers.make import recorded
from steelyard.infer.paired.delong import delong_pair, delong_test

ENTRIES = recorded("MLstatkit")
Z = 1.959963984540054


def compared(name: str, first: int = 1, second: int = 2, **options: Any) -> sy.Comparison:
    given = ENTRIES[name]["input"]
    sides = [{"id": list(range(len(given[0]))), "truth": given[0], "probability": shift(given[i])} for i in (first, second)]
    found = sy.compare(*sides, metric="auc", **options)
    assert isinstance(found, sy.Comparison)
    return found


def shift(scores: list[float]) -> list[float]:
    """Into 0..1, which changes no order: the AUC of a score is that of its logistic curve."""
    return (1 / (1 + np.exp(-np.array(scores)))).tolist()


@pytest.mark.parametrize("name", ["delong_readme", "delong_ties"])
def test_delong(name: str) -> None:
    theirs, ours = ENTRIES[name]["answer"], compared(name)
    assert [ours.baseline.estimate, ours.candidate.estimate] == pytest.approx(theirs["auc"], abs=1e-12)
    truth, first, second = (np.array(column) for column in ENTRIES[name]["input"])
    pair = delong_pair(first, second, truth == 1)
    assert delong_test(replace(pair, df=None)) == pytest.approx((theirs["z"], theirs["p"]), rel=1e-9)
    assert ours.test.name == "delong-wilson"  # few items: from the bounds of each AUC, not by a normal law
    for variance, area, (low, high) in zip((pair.variance_baseline, pair.variance_candidate), theirs["auc"], theirs["ci"], strict=True):
        reach = Z * math.sqrt(variance)
        assert [max(0.0, area - reach), min(1.0, area + reach)] == pytest.approx([low, high], abs=1e-9)


def test_intervals_on_the_logit_scale() -> None:
    """Theirs is area +- z error, cut at 1: for a perfect curve on 4 items it is [1, 1], and cut ends say too much.

    Ours is made on the logit scale, stays inside 0..1 by itself, and never has no width.
    """
    for name in ("delong_readme", "delong_ties"):
        found = compared(name)
        for system, (_, cut) in zip((found.baseline, found.candidate), ENTRIES[name]["answer"]["ci"], strict=True):
            assert system.interval is not None
            assert system.interval.low is not None
            assert system.interval.high is not None
            assert system.interval.low < system.interval.high
            assert cut == 1 or system.interval.high < cut
    assert ENTRIES["delong_readme"]["answer"]["ci"][0] == [1, 1]


def test_one_curve_twice() -> None:
    """Theirs: p = 0, the strongest evidence there is that a model differs from itself. There is none: p = 1."""
    assert ENTRIES["delong_same"]["answer"] == {"z": 0.0, "p": 0.0}
    assert compared("delong_ties", 1, 1).p_value == 1


def test_permutation() -> None:
    """Ten answers lost and none gained: 2 of 1,024 swaps are as far. Theirs is a share of 1,000 draws, which can be 0."""
    truth, first, second = (np.array(column) for column in ENTRIES["permutation"]["input"])
    lost = int(((first > 0.5) == truth).sum() - ((second > 0.5) == truth).sum())
    joint = sy.JointCounts.flips(both=40 - lost, baseline_only=lost, candidate_only=0, neither=0)
    found = sy.compare(joint, test="randomization")
    assert isinstance(found, sy.Comparison)
    assert found.p_value == pytest.approx(2 / 2**lost, rel=1e-12)
    best, worse, share = ENTRIES["permutation"]["answer"][:3]
    assert [found.baseline.estimate, found.candidate.estimate] == [best, worse]
    assert abs(share - 2 / 2**lost) < 4 * math.sqrt(2 / 2**lost / 1000)
