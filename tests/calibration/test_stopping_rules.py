"""Size and power of every stopping rule under its own looks, simulated; naive peeking and sorted items shown wrong.

Bounds that depend on the number of items alone, or on the design, are laid over thousands of runs at once; rules that adapt
to their run are run one by one. 4 binomial standard errors around what is stated.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from steelyard.infer.sequential.e_mcnemar import log_e_mcnemar
from steelyard.infer.sequential.sequential_cost import expected_items
from steelyard.infer.sequential.spending import design, upper_bounds
from steelyard.infer.sequential.stopping import rule_for

pytestmark = pytest.mark.long  # `steelyard certify` repeats them

FloatArray = npt.NDArray[np.float64]


def near(share: float, stated: float, runs: int) -> None:
    assert abs(share - stated) <= 4 * math.sqrt(stated * (1 - stated) / runs), (share, stated)


def at_most(share: float, limit: float, runs: int) -> None:
    assert share <= limit + 4 * math.sqrt(limit * (1 - limit) / runs), (share, limit)


def signs(rng: np.random.Generator, runs: int, n: int, discordance: float, drop: float = 0.0) -> npt.NDArray[np.int8]:
    u = rng.random((runs, n), dtype=np.float32)
    lost = discordance / 2 + drop
    return (u > 1 - discordance / 2).astype(np.int8) - (u < lost).astype(np.int8)


def course(values: npt.NDArray[np.int8]) -> tuple[FloatArray, FloatArray]:
    """Losses minus gains, and disagreements, after every item."""
    return -np.cumsum(values, axis=1, dtype=np.float64), np.cumsum(np.abs(values), axis=1, dtype=np.float64)


# ---- wrong ways --------------------------------------------------------------------------------------------------------


def test_naive_peeking() -> None:
    """A 5% test looked at 16 times alarms in .195 of healthy runs, at every item in .333."""
    runs, n = 2000, 4096
    gap, number = course(signs(np.random.default_rng(0), runs, n, 0.04))
    z = gap / np.sqrt(np.maximum(number, 1))
    looks = np.arange(256, n + 1, 256) - 1
    near(float(np.mean(z[:, -1] >= 1.6449)), 0.05, runs)
    near(float(np.mean((z[:, looks] >= 1.6449).any(axis=1))), 0.195, runs)
    near(float(np.mean((z >= 1.6449).any(axis=1))), 0.333, runs)


def test_sorted_items_break_it() -> None:
    """Subjects that lost and gained 5 points as often as not, in the order of the file: false alarms nearly always."""
    rng = np.random.default_rng(1)
    alarms = {"sorted": 0, "shuffled": 0}
    runs = 60
    for _ in range(runs):
        worse = signs(rng, 1, 1000, 0.05, 0.05)[0]
        better = -signs(rng, 1, 1000, 0.05, 0.05)[0]
        items = np.concatenate([worse, better]).astype(float)
        for order, values in (("sorted", items), ("shuffled", rng.permutation(items))):
            rule, n = rule_for(right_or_wrong=True, theta=0.02), 0
            while rule.decision == "continue" and n < len(values):
                n += 32
                rule.look(values[:n], last=n >= len(values))
            alarms[order] += rule.decision == "regression"
    assert alarms["sorted"] / runs > 0.95
    at_most(alarms["shuffled"] / runs, 0.05, runs)


# ---- the exact test ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("discordance", "healthy", "broken"), [(0.02, 28, 15), (0.05, 15, 9), (0.1, 8, 5), (0.2, 4, 3)])
def test_calls_saved_by_the_exact_test(discordance: float, healthy: float, broken: float) -> None:
    """theta 2 points, discordance unknown to the method, against n = 3.09 / theta^2: the goals of the sequential design."""
    seed_n = 3.09 / 0.02**2
    none, drop = (expected_items(0.02, discordance, x, paths=150) for x in (0.0, 0.02))
    assert none.regression <= 0.05
    assert drop.regression + 4 * drop.regression_error >= 0.79
    assert seed_n / none.items >= healthy
    assert seed_n / drop.items >= broken


# ---- Lan-DeMets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spending", ["obrien-fleming", "pocock"])
def test_planned_looks_keep_alpha(spending: str) -> None:
    """16 looks over 4,096 items; the rule's bounds are those of `upper_bounds`."""
    runs, n = 1500, 4096
    looks = np.arange(256, n + 1, 256)
    bounds = np.array(upper_bounds(tuple(looks / n), 0.05, spending))
    rng = np.random.default_rng(2)
    shares = []
    for drop in (0.0, 0.01):
        gap, number = course(signs(rng, runs, n, 0.04, drop))
        z = gap[:, looks - 1] / np.sqrt(np.maximum(number[:, looks - 1], 1))
        shares.append(float(np.mean((z >= bounds).any(axis=1))))
    at_most(shares[0], 0.05, runs)
    assert shares[0] > 0.03
    assert shares[1] > 0.75  # .937 and .898 there, where losses take the place of gains


def by_information(discordance: float, drop: float, runs: int, theta: float = 0.02, batch: int = 32) -> tuple[float, float]:
    """The rule with theta on right or wrong: looks as estimated information passes k/20; shares of alarms and mean items."""
    plan = design(20, 0.05, 0.2, "obrien-fleming", "hsd:0")
    times, upper, lower = (np.array(x) for x in (plan.times, plan.upper, plan.lower))
    information = (plan.drift / theta) ** 2
    rng = np.random.default_rng(3)
    lost, gained, seen = (np.zeros(runs, int) for _ in range(3))
    items, alarm, live, n = np.zeros(runs), np.zeros(runs, bool), np.arange(runs), 0
    while len(live):
        n += batch
        losses = rng.binomial(batch, discordance / 2 + drop, len(live))
        lost[live] += losses
        gained[live] += rng.binomial(batch - losses, discordance / 2 / (1 - discordance / 2 - drop))
        number = lost[live] + gained[live]
        k = np.searchsorted(times, np.minimum(1.0, n * (n + 20) / (number + 2) / information), side="right")
        z = (lost[live] - gained[live]) / np.sqrt(np.maximum(number, 1))
        due, place = k > seen[live], np.maximum(k, 1) - 1
        up = due & (z >= upper[place])
        out = up | (due & (z <= lower[place]))
        alarm[live[up]], items[live[out]] = True, n
        seen[live] = np.maximum(k, seen[live])
        live = live[~out]
    return float(alarm.mean()), float(items.mean())


@pytest.mark.parametrize("discordance", [0.05, 0.2])
def test_looks_by_information_keep_alpha_and_power(discordance: float) -> None:
    runs = 8000
    near(by_information(discordance, 0.0, runs)[0], 0.05, runs)
    found = by_information(discordance, 0.02, runs // 2)[0]
    near(found, 0.8, runs // 2)


def test_the_rule_is_what_was_simulated() -> None:
    runs, rng, ends, items = 400, np.random.default_rng(4), [], []
    for _ in range(runs):
        rule, n, x = rule_for("lan-demets", right_or_wrong=True, theta=0.05), 0, signs(rng, 1, 4000, 0.1, 0.05)[0].astype(float)
        while rule.decision == "continue":
            n += 32
            rule.look(x[:n])
        ends.append(rule.decision)
        items.append(n)
    share, mean = by_information(0.1, 0.05, 8000, theta=0.05)
    near(ends.count("regression") / runs, share, runs)
    assert abs(np.mean(items) - mean) < 4 * np.std(items) / math.sqrt(runs)


@pytest.mark.parametrize("drop", [0.0, 0.05])
def test_a_margin(drop: float) -> None:
    """At the margin alpha, at theta the power; the self-normalised statistic is cautious where losses are the long tail."""
    runs, rng, alarms = 500, np.random.default_rng(5), 0
    for _ in range(runs):
        rule, n, x = rule_for(right_or_wrong=True, theta=0.07, margin=0.02), 0, signs(rng, 1, 4000, 0.06, 0.02 + drop)[0].astype(float)
        while rule.decision == "continue":
            n += 32
            rule.look(x[:n])
        alarms += rule.decision == "regression"
    if drop:
        assert alarms / runs > 0.77 - 4 * math.sqrt(0.17 / runs)
    else:
        at_most(alarms / runs, 0.05, runs)


# ---- e-processes -------------------------------------------------------------------------------------------------------


def test_the_anytime_mcnemar_keeps_alpha_at_every_item() -> None:
    """.033 false alarms over 4,096 items with a Beta(2, 2) prior, .761 of drops of a point found."""
    runs, n, most = 3000, 4096, 230
    rng = np.random.default_rng(6)
    number = np.arange(1, most + 1)
    for drop, stated in ((0.0, 0.033), (0.01, 0.761)):
        lost = np.cumsum(rng.random((runs, most)) < (0.02 + drop / 2) / 0.04, axis=1)
        there = number <= rng.binomial(n, 0.04, runs)[:, None]
        grown = log_e_mcnemar(lost, number - lost)
        near(float(np.mean(((grown >= math.log(20)) & there).any(axis=1))), stated, runs)


@pytest.mark.parametrize(("drop", "alarms", "power"), [(0.0, 0.05, 0.0), (0.05, 1.0, 0.8)])
def test_the_pair_of_bettors(drop: float, alarms: float, power: float) -> None:
    """Bounded scores, looked at every 16 items: a share of the answers scored 0 is the drop."""
    runs, rng, found = 300, np.random.default_rng(7), 0
    for _ in range(runs):
        rule, n = rule_for("e-process", right_or_wrong=False, theta=0.05, score_range=(0, 1)), 0
        quality = rng.beta(4, 1.5, 3000)
        one, two = (np.clip(quality + rng.normal(0, 0.1, 3000), 0, 1) for _ in range(2))
        x = np.where(rng.random(3000) < drop / 0.73, 0.0, two) - one
        while rule.decision == "continue":
            n += 16
            rule.look(x[:n], last=n >= 3000)
        found += rule.decision == "regression"
    at_most(found / runs, alarms, runs)
    assert found / runs >= power


# ---- sharper differences -------------------------------------------------------------------------------------------------


def answers(rng: np.random.Generator, n: int, accuracy: float, discordance: float, runs: int, drop: float) -> tuple[FloatArray, FloatArray]:
    """Items with chances of their own, such that two answers differ on `discordance` of them: candidate, mean of the reference."""
    mixed = discordance / (2 * accuracy * (1 - accuracy))
    c = mixed / (1 - mixed)
    chance = rng.beta(accuracy * c, (1 - accuracy) * c, n)
    right = (rng.random(n) < chance) & (rng.random(n) >= drop / accuracy)
    return right.astype(float), rng.binomial(runs, chance, n) / runs


def test_sharper_differences_keep_alpha_and_save_items() -> None:
    """Four reference answers per item under sequential looks."""
    theta, accuracy, discordance, runs = 0.05, 0.75, 0.15, 350
    rng, items = np.random.default_rng(8), []
    for drop in (0.0, theta):
        alarms, asked = 0, []
        for _ in range(runs):
            y, f = answers(rng, 3000, accuracy, discordance, 4, drop)
            rule, n = rule_for("lan-demets", right_or_wrong=True, one_answer=False, theta=theta), 0
            while rule.decision == "continue":
                n += 32
                rule.look(y[:n] - f[:n])
            alarms += rule.decision == "regression"
            asked.append(n)
        items.append(float(np.mean(asked)))
        at_most(1 - alarms / runs if drop else alarms / runs, 0.22 if drop else 0.05, runs)
    plain = [by_information(discordance, drop, 2000, theta=theta)[1] for drop in (0.0, theta)]
    saved = [a / b for a, b in zip(plain, items, strict=True)]
    assert min(saved) > 1.25, saved
