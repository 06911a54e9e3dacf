"""The empirical likelihood on a range, and the sequential test by it: another optimiser, exact recursions, rare falls and gains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.infer.planning.stored_answers import beta_answers
from steelyard.infer.sequential.el_cost import expected_ends
from steelyard.infer.sequential.el_sprt import EmpiricalLikelihoodSprt
from steelyard.infer.sequential.empirical_likelihood import counted, evidence_against, log_ratio, lower_end, upper_end
from steelyard.infer.sequential.profile_mcnemar import profile

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


# ---- the likelihood --------------------------------------------------------------------------------------------------------


@every("seed", range(25))
def test_the_maximum_is_that_of_another_optimiser(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = (-1.0, 1.0) if seed % 2 else (-float(rng.uniform(1, 2)), float(rng.uniform(1, 2)))
    x = np.clip(rng.normal(rng.uniform(-0.3, 0.3), rng.choice([0.01, 0.1, 0.5]), int(rng.integers(1, 300))), low, high)
    drop = float(rng.uniform(-0.5, 0.5))
    values, counts = counted(x)
    ends = (-1 / (high + drop), 1 / (-low - drop))
    other = minimize_scalar(
        lambda at: -float(counts @ np.log1p(at * (values + drop))), bounds=ends, method="bounded", options={"xatol": 1e-12, "maxiter": 1000}
    )
    found = evidence_against(values, counts, drop, low, high)
    assert found == pytest.approx(-other.fun, rel=1e-5, abs=1e-6)
    assert found >= -other.fun - 1e-9
    assert found >= 0


def test_right_or_wrong_is_the_profile_likelihood() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, theta = int(rng.integers(5, 3000)), float(rng.choice([0.01, 0.02, 0.05, 0.1, 0.3]))
        d = int(rng.binomial(n, rng.uniform(0, 0.5)))
        lost = int(rng.binomial(d, rng.uniform()))
        found = log_ratio(np.array([-1.0, 0.0, 1.0]), np.array([lost, n - d, d - lost], float), theta)
        assert found == pytest.approx(profile(n, lost, d - lost, theta), abs=1e-8 * n)


def test_much_noise_is_half_a_squared_z() -> None:
    x = np.random.default_rng(1).normal(0, 0.2, 100_000).clip(-1, 1)
    drop = 0.003
    z = (x.mean() + drop) / (x.std() / math.sqrt(len(x)))
    assert evidence_against(*counted(x), drop) == pytest.approx(z * z / 2, rel=0.02)


@every("seed", range(8))
def test_order_mirror_and_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, -0.3, 0.0, 0.1, 0.5], size=150, p=[0.02, 0.1, 0.7, 0.1, 0.08])
    values, counts = counted(x)
    assert evidence_against(*counted(rng.permutation(x)), 0.05) == pytest.approx(evidence_against(values, counts, 0.05), abs=1e-10)
    assert evidence_against(*counted(-x), -0.05) == pytest.approx(evidence_against(values, counts, 0.05), abs=1e-9)
    low, high = lower_end(values, counts), upper_end(values, counts)
    assert -1 < low < x.mean() < high < 1
    assert lower_end(*counted(-x)) == pytest.approx(-high, abs=1e-9)
    assert evidence_against(values, counts, -low) == pytest.approx(math.log(20), abs=1e-7)
    assert lower_end(values, counts, 0.01) < low < lower_end(values, counts, 0.2)
    wider = lower_end(values, counts, 0.05, -2.0, 1.0)
    assert wider < low  # what may fall farther may have fallen farther unseen


def test_an_unseen_fall_counts_as_possible() -> None:
    """No difference in 96 items leaves a drop of 3 points possible: (1 - .0307)^96 = .05. A variance of what was seen says 0."""
    assert lower_end(np.array([0.0]), np.array([96.0])) == pytest.approx(0.05 ** (1 / 96) - 1, abs=1e-9)
    with pytest.raises(UsageError, match="mean must lie strictly between"):
        evidence_against(np.array([0.0]), np.array([3.0]), 1.0)


# ---- a law of two values, every outcome -------------------------------------------------------------------------------------


def exact_ends(theta: float, step: int, low: float, high: float, share: float, most: int = 3000) -> tuple[float, float]:
    """(alarms, passes) where x is `high` with probability `share`, else `low`: all numbers of high values after every batch."""
    rule = EmpiricalLikelihoodSprt(theta=theta, score_range=(0, 1), step=step)
    coins = binom.pmf(np.arange(step + 1), step, share)
    coins = coins[: int(np.flatnonzero(coins > 1e-14)[-1]) + 1]
    mass, n, alarms, passes = np.ones(1), 0, 0.0, 0.0
    values = np.array([low, high])
    while mass.sum() > 1e-7 and n < most:
        n += step
        mass = np.convolve(mass, coins)
        for k in np.flatnonzero(mass > 1e-12):
            counts = np.array([n - k, k], float)
            squares = float(counts @ values**2)
            needed, alarm = rule.bounds(n, squares)
            found = log_ratio(values, counts, theta)
            if found >= needed:
                passes += mass[k]
                mass[k] = 0.0
            elif found <= -alarm:
                alarms += mass[k]
                mass[k] = 0.0
        mass = np.where(mass > 1e-12, mass, 0.0)
    return alarms, passes


@every("step", [7, 16, 32, 64])
@every("theta", [0.05, 0.1])
def test_gains_that_have_not_come_yet_do_not_alarm(theta: float, step: int) -> None:
    """The worst law that was found: -theta, or +1 so rarely that the mean is 0. Every outcome; alpha is no theorem, but holds."""
    assert exact_ends(theta, step, -theta, 1.0, theta / (1 + theta))[0] <= 0.05


@pytest.mark.parametrize("step", [1, 7, 32, 64])
def test_rare_total_failures_do_not_pass(step: int) -> None:
    """A tenth of the items falls from 1 to 0, nothing else moves: a pass is what beta says, in every batch."""
    alarms, passes = exact_ends(0.1, step, 0.0, -1.0, 0.1)
    assert passes <= 0.2
    assert alarms + passes == pytest.approx(1, abs=1e-4)


# ---- simulated scores ------------------------------------------------------------------------------------------------------


def ends_of(
    draw: Callable[[np.random.Generator], FloatArray], runs: int, **options: Any
) -> tuple[float, float, list[EmpiricalLikelihoodSprt]]:
    rng, rules = np.random.default_rng(4), []
    for _ in range(runs):
        x, rule, n = draw(rng), EmpiricalLikelihoodSprt(**{"theta": 0.05, "score_range": (0, 1), **options}), 0
        while rule.decision == "continue":
            n = min(n + rule.step, len(x))
            rule.look(x[:n], last=n == len(x))
        rules.append(rule)
    ends = [rule.decision for rule in rules]
    return ends.count("regression") / runs, ends.count("pass") / runs, rules


def test_rare_falls_among_noise_are_found_and_the_lower_end_holds() -> None:
    """0.1.0: passes in .39 of the runs where .2 was promised, and its lower end missed in .24 (theta .02; here .05 for speed)."""
    runs = 160
    alarms, passes, rules = ends_of(lambda rng: np.where(rng.random(1500) < 0.05, -1.0, rng.normal(0, 0.03, 1500)).clip(-1, 1), runs)
    assert passes < 0.2
    assert alarms + passes == 1
    missed = sum((rule.estimate().low or -1.0) > -0.05 for rule in rules) / runs
    assert missed < 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_rare_gains_do_not_alarm() -> None:
    runs = 250
    alarms, _, _ = ends_of(lambda rng: np.where(rng.random(1500) < 0.05, 0.95, -0.05), runs)
    assert alarms < 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_a_margin_moves_the_question() -> None:
    """A drop of the margin alarms in alpha of the runs at most, one of theta is found."""

    def draw(drop: float) -> Callable[[np.random.Generator], FloatArray]:
        return lambda rng: rng.choice([-1.0, 1.0, 0.0], p=[0.03 + drop, 0.03, 0.94 - drop], size=3000)

    runs = 150
    options = {"theta": 0.12, "margin": 0.04}
    assert ends_of(draw(0.04), runs, **options)[0] < 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert ends_of(draw(0.12), runs, **options)[0] > 0.8 - 3 * math.sqrt(0.16 / runs)


# ---- decisions -------------------------------------------------------------------------------------------------------------


def test_any_range_is_the_unit_range_in_another_unit() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(-0.03, 0.2, 2000).clip(-1, 1)
    plain, scaled = EmpiricalLikelihoodSprt(theta=0.05, score_range=(0, 1)), EmpiricalLikelihoodSprt(theta=2.0, score_range=(10, 50))
    n = 0
    while plain.decision == "continue":
        n += 32
        assert plain.look(x[:n]) == scaled.look(40 * x[:n])
    one, two = plain.estimate(), scaled.estimate()
    assert [40 * end for end in (one.estimate, one.low or 0, one.high or 0)] == pytest.approx([two.estimate, two.low, two.high])
    assert plain.looks[-1]["lambda"] == pytest.approx(scaled.looks[-1]["lambda"], abs=1e-9)


def test_the_bound_and_p_agree_with_the_verdict() -> None:
    rule = EmpiricalLikelihoodSprt(theta=0.1, score_range=(0, 1), step=50)
    assert rule.look([-1.0] * 20 + [0.0] * 80) == "regression"
    found = rule.estimate()
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.estimate == pytest.approx(-0.2)
    assert found.high <= 0
    assert found.p_value <= 0.05


def test_items_that_run_out_and_passes_that_do_not_bind() -> None:
    assert EmpiricalLikelihoodSprt(theta=0.02, score_range=(0, 1)).look([0.0] * 30, last=True) == "exhausted"
    free = EmpiricalLikelihoodSprt(theta=0.02, score_range=(0, 1), binding=False)
    assert free.look([0.0] * 120) == "pass"
    assert free.look([0.0] * 120 + [-1.0] * 12) == "continue"
    assert free.look([0.0] * 120 + [-1.0] * 40) == "regression"
    bound = EmpiricalLikelihoodSprt(theta=0.02, score_range=(0, 1))
    bound.look([0.0] * 120)
    with pytest.raises(UsageError, match="ended with 'pass'"):
        bound.look([0.0] * 150)


@every(
    ("options", "words"),
    [
        ({"score_range": (1, 1)}, "a rising range"),
        ({"score_range": (0, math.inf)}, "a rising range"),
        ({"theta": 1.5}, r"theta 1\.5 and margin 0 do not fit scores 1 wide\."),
        ({"margin": 0.06}, r"theta 0\.05 and margin 0\.06 do not fit scores 1 wide\."),
        ({"alpha": 0}, "alpha"),
        ({"step": 0}, "whole number from 1"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        EmpiricalLikelihoodSprt(**{"theta": 0.05, "score_range": (0, 1), **options})


def test_differences_that_cannot_be() -> None:
    rule = EmpiricalLikelihoodSprt(theta=0.05, score_range=(0, 1))
    rule.look([0.0] * 20)
    with pytest.raises(UsageError, match="all differences so far"):
        rule.look([0.0] * 19)
    with pytest.raises(DataError, match=r"A difference is larger than the range of the scores, \[0, 1\], allows\."):
        rule.look([0.0] * 20 + [1.5])
    with pytest.raises(DataError, match="not finite"):
        rule.look([0.0] * 20 + [math.nan])


# ---- what it will cost -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drop", [0.0, 0.1])
def test_simulated_runs_end_as_foreseen(drop: float) -> None:
    items = beta_answers(0.8, 0.1, 4).dropped(drop)
    assert items is not None
    law = items.law()
    values, shares = np.array(law).T
    runs = 150
    alarms, _, rules = ends_of(lambda rng: rng.choice(values, p=shares / shares.sum(), size=1500), runs, theta=0.1)
    foreseen = expected_ends(0.1, law)
    items = [rule.looks[-1]["n"] for rule in rules]
    assert abs(alarms - foreseen.regression) < 4 * math.sqrt(0.2 * 0.8 * (1 / runs + 1 / 1000))
    assert abs(np.mean(items) - foreseen.items) < 4 * math.hypot(float(np.std(items)) / math.sqrt(runs), foreseen.items_error)
    assert -sum(x * p for x, p in law) == pytest.approx(drop, abs=1e-9)


def test_laws_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="must add up to 1"):
        expected_ends(0.1, ((0.0, 0.5), (1.0, 0.2)))
