"""statgate: Wilson, sign flips, BCa and sample sizes of a gate. See statgate.json."""

from __future__ import annotations

import math

import numpy as np
import pytest

import steelyard as sy
from peers.make import recorded

ENTRIES = recorded("statgate")
DARWIN = ENTRIES["sign_flip"]["input"]


@pytest.mark.parametrize("name", [name for name in ENTRIES if name.startswith("share_")])
def test_wilson(name: str) -> None:
    ours = sy.measure(sy.Counts.of(*ENTRIES[name]["input"])).interval
    assert ours is not None
    assert [ours.low, ours.high] == pytest.approx(ENTRIES[name]["answer"], abs=1e-12)


def against_zero(differences: list[float], **options: int) -> sy.Comparison:
    found = sy.compare([0.0] * len(differences), differences, interval="bca", **options)  # type: ignore[arg-type]
    assert isinstance(found, sy.Comparison)
    return found


def test_sign_flips() -> None:
    """It draws 100,000 signs; ours are all 32,768 of them: 1726 (Fisher 1935)."""
    ours, theirs = against_zero(DARWIN).p_value, ENTRIES["sign_flip"]["answer"]
    assert ours == 1726 / 32768
    assert abs(theirs - ours) < 4 * math.sqrt(ours * (1 - ours) / 100_000)


def test_bca() -> None:
    """Both draw: the ends are quantiles of 15 whole numbers' means, so 4 standard errors of a quantile are about half a unit."""
    ours = against_zero(DARWIN, draws=100_000).difference.interval
    assert ours is not None
    assert [ours.low, ours.high] == pytest.approx(ENTRIES["bca"]["answer"], abs=0.5)


def test_items_that_do_not_differ() -> None:
    """p = 1 by both, and it gives the interval [0, 0]: certainty from 20 items. Ours says that it cannot give one."""
    ours = against_zero(ENTRIES["bca_same"]["input"])
    assert ours.p_value == ENTRIES["sign_flip_same"]["answer"] == 1
    assert ENTRIES["bca_same"]["answer"] == [0, 0]
    low, high = (-1.0, 1.0) if ours.difference.interval is None else (ours.difference.interval.low, ours.difference.interval.high)
    assert low is not None
    assert high is not None
    assert low < 0 < high


@pytest.mark.parametrize("name", [name for name in ENTRIES if name.startswith("needed_")])
def test_items_needed(name: str) -> None:
    sd, effect = ENTRIES[name]["input"]
    assert sy.plan_detect(sd=sd, theta=effect, alternative="two-sided").n == ENTRIES[name]["answer"]


def test_minimum_detectable_effect() -> None:
    sd, n = ENTRIES["mde"]["input"]
    assert sy.plan_detect(sd=sd, n=n, alternative="two-sided").theta == pytest.approx(ENTRIES["mde"]["answer"], rel=1e-12)
    assert np.isfinite(ENTRIES["mde"]["answer"])
