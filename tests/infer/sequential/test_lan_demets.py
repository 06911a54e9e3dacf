"""Lan-DeMets on differences: rpact's bounds, the recursion again by simulation, groups, what cannot be looked at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from steelyard.errors import DataError, UsageError
from steelyard.infer.sequential.lan_demets import LanDeMets
from steelyard.infer.sequential.spending import design

FloatArray = npt.NDArray[np.float64]
HARMLESS = np.tile([0.5, -0.5], 200)  # differences that decide nothing


# R rpact 3.x, getDesignGroupSequential, one-sided: spending, alpha, times, bounds.
@pytest.mark.parametrize(
    ("spending", "alpha", "when", "bounds"),
    [
        ("obrien-fleming", 0.05, (25, 60, 100), (3.74955184, 2.27793536, 1.67957374)),
        ("obrien-fleming", 0.025, (20, 40, 60, 80, 100), (4.87688495, 3.35701192, 2.68028007, 2.28981677, 2.03103206)),
        ("pocock", 0.025, (50, 100), (2.15699922, 2.20097698)),
    ],
)
def test_bounds_of_rpact(spending: str, alpha: float, when: tuple[int, ...], bounds: tuple[float, ...]) -> None:
    rule = LanDeMets(n_max=100, alpha=alpha, spending=spending)
    for n in when:
        rule.look(HARMLESS[:n], last=n == 100)
    assert [look["upper"] for look in rule.looks] == pytest.approx(bounds, abs=2e-7)
    assert rule.alpha_spent == pytest.approx(alpha)
    assert rule.decision == "exhausted"


def test_looks_of_the_design() -> None:
    """With theta, looks one by one at the planned information have the design's own bounds."""
    plan = design(20, 0.05, 0.2, "obrien-fleming", "hsd:0", True)
    rule, rng = LanDeMets(theta=0.1, score_range=(0, 1)), np.random.default_rng(4)
    n, x = 0, rng.choice([-0.5, 0.5], 3000)  # every square is 1/4: information grows evenly
    x[1::2] = -x[::2] - np.where(np.arange(1500) % 40 == 0, 0.05, 0.0)
    while rule.decision == "continue" and len(rule.looks) < 8:
        n += 5
        rule.look(x[:n])
    shown = [(math.inf if look["upper"] is None else look["upper"], look["lower"]) for look in rule.looks]
    assert shown == [pytest.approx((u, low), abs=1e-5) for u, low in zip(plan.upper, plan.lower, strict=True)][: len(shown)]
    assert len(shown) >= 7
    assert rule.looks[0]["upper"] is None  # nothing is granted yet that could be spent


def test_the_statistic_is_student_in_another_dress() -> None:
    """Z^2 = T^2 n / (n - 1 + T^2): at the usual bounds the normal tail of Z is the t tail of T, even for few units."""
    for n in (8, 20, 100):
        z = 1.6448536
        t = z * math.sqrt((n - 1) / (n - z * z))
        assert stats.t.sf(t, n - 1) == pytest.approx(0.05, abs=0.0015)
    x = np.random.default_rng(2).normal(-0.1, 1, 50)
    rule = LanDeMets(n_max=50, looks=1)
    rule.look(x, last=True)
    t = -float(np.asarray(stats.ttest_1samp(x, 0).statistic))
    assert rule.looks[0]["statistic"] == pytest.approx(t * math.sqrt(50 / (49 + t * t)))


def test_groups_of_one_are_items() -> None:
    x = np.random.default_rng(3).normal(-0.05, 0.3, 300)
    items, groups = LanDeMets(theta=0.05, score_range=(0, 1)), LanDeMets(theta=0.05, score_range=(0, 1), grouped=True)
    for n in range(20, 301, 20):
        first, second = items.look(x[:n]), groups.look(np.stack([x[:n], np.ones(n)], axis=1))
        assert first == second
        if first != "continue":
            break
    assert items.looks == groups.looks
    assert items.estimate() == groups.estimate()


def test_a_margin_moves_the_question() -> None:
    x = np.random.default_rng(6).normal(-0.1, 0.3, 400)
    shifted, plain = LanDeMets(theta=0.15, margin=0.1, score_range=(0, 1)), LanDeMets(theta=0.05, score_range=(0, 1))
    assert shifted.look(x, last=True) == plain.look(x + 0.1, last=True)
    there, here = shifted.estimate(), plain.estimate()
    assert there.p_value == here.p_value
    assert there.estimate == pytest.approx(here.estimate - 0.1)


def simulate(draw: Any, rng: np.random.Generator, n_max: int, batch: int, **options: Any) -> tuple[str, int, LanDeMets]:
    rule, x, n = LanDeMets(n_max=n_max, **options), draw(rng, n_max), 0
    while rule.decision == "continue":
        n = min(n + batch, n_max)
        rule.look(x[:n], last=n == n_max)
    return rule.decision, n, rule


def passages(drop: float) -> Any:
    """Groups of 1 to 11 items; some passages got worse, some better, as often as not."""

    def draw(rng: np.random.Generator, n: int) -> FloatArray:
        sizes = rng.integers(1, 12, n)
        effect = rng.normal(0, 0.08, n)
        lost, gained, _ = np.moveaxis(
            rng.multinomial(sizes, shares(0.05 + drop + np.clip(effect, 0, 0.4), 0.05 + np.clip(-effect, 0, 0.4))), 1, 0
        )
        return np.stack([gained - lost, sizes], axis=1).astype(float)

    return draw


def shares(lost: FloatArray, gained: FloatArray) -> FloatArray:
    return np.stack([lost, gained, 1 - lost - gained], axis=1)


@pytest.mark.long
@pytest.mark.parametrize("groups", [20, 60])
def test_groups_keep_alpha(groups: int) -> None:
    rng, runs = np.random.default_rng(7), 1500
    for options in ({"theta": 0.1, "score_range": (0, 1)}, {}):
        ends = [simulate(passages(0.0), rng, groups, 4, grouped=True, **options)[0] for _ in range(runs)]
        assert ends.count("regression") / runs < 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)
        assert ends.count("regression") / runs > 0.02


def test_estimates_cover_after_stopping() -> None:
    runs, rng = 60, np.random.default_rng(8)
    missed = np.zeros(2)
    for _ in range(runs):
        decision, _, rule = simulate(
            lambda r, n: r.choice([-0.5, 0, 0.25], p=[0.2, 0.5, 0.3], size=n), rng, 800, 25, theta=0.05, score_range=(0, 1)
        )
        found = rule.estimate()
        assert (found.p_value <= 0.05) == (decision == "regression") == (found.high <= 0)  # type: ignore[operator]
        missed += (found.low > -0.025, found.high < -0.025)  # type: ignore[operator]
    assert np.all(missed / runs < 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs))


def test_a_pass_that_does_not_bind_may_be_overruled() -> None:
    x = np.concatenate([np.tile([0.5, -0.25], 60), np.tile([-0.5, 0.0], 200)])
    free = LanDeMets(theta=0.05, score_range=(0, 1), binding=False)
    assert free.look(x[:120]) == "pass"
    n = 120
    while free.decision in ("continue", "pass") and n < len(x):
        n += 20
        free.look(x[:n], last=n == len(x))
    assert free.decision == "regression"
    assert free.estimate().p_value <= 0.05
    bound = LanDeMets(theta=0.05, score_range=(0, 1))
    bound.look(x[:120])
    with pytest.raises(UsageError, match="ended with 'pass'"):
        bound.look(x[:140])


def test_nothing_differs() -> None:
    known, unknown = LanDeMets(theta=0.02, score_range=(0, 1)), LanDeMets(theta=0.02)
    assert known.look(np.zeros(2000)) == "pass"
    found = known.estimate()
    assert found.low == -found.high < 0  # type: ignore[operator]
    assert unknown.look(np.zeros(2000)) == "continue"
    assert unknown.look(np.zeros(2001), last=True) == "exhausted"
    assert unknown.estimate().low is None
    assert "range" in unknown.estimate().warnings[0]


def test_few_units_are_not_looked_at() -> None:
    assert LanDeMets(theta=0.3, score_range=(0, 1)).look([-1.0] * 4) == "continue"
    assert LanDeMets(theta=0.3).look([-1.0] * 49) == "continue"


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ([[1.0, 2.0]], UsageError, "one difference per item"),
        ([1.0, math.nan], DataError, "not finite"),
        ([0.0] * 3, UsageError, "all differences so far"),
        ([], UsageError, "all differences so far"),
    ],
)
def test_differences_that_cannot_be(values: Any, error: type[Exception], words: str) -> None:
    rule = LanDeMets(theta=0.1, score_range=(0, 1))
    rule.look(HARMLESS[:60])
    with pytest.raises(error, match=words):
        rule.look(values)


def test_plans_that_cannot_be() -> None:
    with pytest.raises(UsageError, match=r"The looks can only be planned with theta or the number of items\."):
        LanDeMets()
    with pytest.raises(UsageError, match="above the margin"):
        LanDeMets(theta=0.02, margin=0.02)
    with pytest.raises(UsageError, match="has not ended"):
        LanDeMets(theta=0.02, score_range=(0, 1)).estimate()
    with pytest.raises(DataError, match="less than one item"):
        LanDeMets(theta=0.02, grouped=True).look([[0.0, 0.0]])
