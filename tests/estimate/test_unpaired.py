"""Scores on different items: rare failures that a few items do not show, and spreads that are only rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steelyard as sy
from cases import every, seldom
from steelyard.errors import UsageError


def frame(prefix: str, scores: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": [f"{prefix}{i}" for i in range(len(scores))], "score": np.asarray(scores, float)})


def apart(a: Any, b: Any, **options: Any) -> sy.Comparison:
    return sy.compare(frame("a", a), frame("b", b), design="unpaired", **options)


def failing(rng: np.random.Generator, n: int) -> np.ndarray:
    """95% of the items at .95, one in twenty at 0."""
    return np.where(rng.random(n) < 0.05, 0.0, 0.95)


@pytest.mark.parametrize(("m", "n"), [(10, 200), *seldom((20, 500)), (200, 10)])
def test_equal_systems_with_rare_failures_are_not_told_apart_where_the_range_is_known(m: int, n: int) -> None:
    """Welch alone calls a difference in .3 to .6 of these; the exact size lies below .01, so 6 of 120 is beyond chance."""
    rng = np.random.default_rng(7)
    found = [apart(failing(rng, m), failing(rng, n), range=(0, 1)) for _ in range(120)]
    assert {(c.test.name, c.difference.interval.method) for c in found} == {("bounded-welch", "bounded-welch")}
    assert sum(c.p_value <= 0.05 for c in found) <= 5
    assert sum(not c.difference.interval.low <= 0 <= c.difference.interval.high for c in found) <= 5


def test_the_range_of_a_brier_score_is_known_by_itself() -> None:
    rng = np.random.default_rng(3)

    def side(prefix: str, n: int) -> pd.DataFrame:
        truth = rng.integers(0, 2, n)
        p = np.where(truth == 1, 0.97, 0.03)
        p = np.where(rng.random(n) < 0.05, 1 - p, p)
        return pd.DataFrame({"id": [f"{prefix}{i}" for i in range(n)], "truth": truth, "probability": p})

    found = [sy.compare(side("a", 10), side("b", 200), design="unpaired", metric="brier", positive=1) for _ in range(60)]
    assert {c.test.name for c in found} == {"bounded-welch"}
    assert sum(c.p_value <= 0.05 for c in found) <= 3


def test_without_a_range_the_same_is_warned_of() -> None:
    """Ten items without a failure against 200 with ten of them: nothing there says that the ten could not have failed."""
    a, b = [0.95] * 10, [0.0] * 10 + [0.95] * 190
    c = apart(a, b)
    assert c.test.name == "welch-t"
    assert c.p_value <= 0.05
    assert any("welch-t may be overconfident" in said and "range=(LO, HI)" in said for said in c.warnings)
    assert not apart(a, b, range=(0, 1)).warnings
    quiet = apart(np.linspace(0.2, 0.8, 60), np.linspace(0.0, 0.6, 60))
    assert quiet.p_value <= 0.05
    assert not quiet.warnings


def test_bounded_t_keeps_margin_interval_and_p_together() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        a, b = rng.beta(9, 1, rng.integers(2, 30)), rng.beta(6, 1, rng.integers(2, 30))
        c = apart(a, b, range=(0, 1), margin=0.1, confidence_level=0.9)
        low, high = c.difference.interval.low, c.difference.interval.high
        assert -1 <= low <= c.difference.estimate <= high <= 1
        assert (c.p_value <= 0.1) == (not low <= 0 <= high)
        one = apart(a, b, range=(0, 1), margin=0.1)
        assert one.equivalence["equivalent"] == (low > -0.1 and high < 0.1)


def test_methods_without_the_range_can_be_asked_for_and_those_of_a_range_need_one() -> None:
    a, b = [0.1, 0.5, 0.9, 0.4], [0.2, 0.9, 0.9, 0.8, 0.7]
    assert apart(a, b, range=(0, 1), test="welch-t", interval="t").p_value == apart(a, b).p_value
    with pytest.raises(UsageError, match="welch-t"):
        apart(a, b, test="bounded-welch")


@every(("m", "n"), [(3, 3), (10, 10), (10, 7)])
@every(("a", "b"), [(0.1, 0.3), (0.95, 0.5), (0.7, 0.7), (1e6 + 0.1, 1e6 + 0.3), (1e-9, 3e-9)])
def test_constant_scores_have_no_interval_and_no_p_from_rounding(a: float, b: float, m: int, n: int) -> None:
    c = apart([a] * m, [b] * n)
    assert c.difference.interval is None
    assert c.difference.standard_error is None
    assert c.mde is None
    assert c.p_value == (1.0 if a == b else None)
    assert any("the units do not vary" in said for said in c.warnings)
    ranged = apart([a] * m, [b] * n, range=(0, 2e6))
    assert ranged.difference.interval.high > ranged.difference.interval.low
    assert ranged.p_value > 0.05


def test_equal_differences_of_large_scores_have_no_spread() -> None:
    """1e6 x (1 ... 7), and the same and .1 more: what the seven differences part by is float64 at seven million."""
    a = 1e6 * np.arange(1, 8)
    c = sy.compare(frame("a", a), frame("a", a + 0.1), margin=0.2)
    assert c.difference.interval is None
    assert c.equivalence is None
    assert c.difference.standard_error is None
    assert math.isclose(c.difference.estimate, 0.1, rel_tol=1e-6)


def test_macro_f1_of_a_handful_of_items_is_warned_of() -> None:
    def side(prefix: str) -> pd.DataFrame:
        truth = ["a"] * 16 + ["b"] * 2 + ["c"] * 2
        return pd.DataFrame({"id": [f"{prefix}{i}" for i in range(20)], "truth": truth, "prediction": truth[1:] + truth[:1]})

    c = sy.compare(side("x"), side("y"), design="unpaired", metric="macro_f1")
    assert any("2 classes with fewer than 10 items in a run" in said for said in c.warnings)
