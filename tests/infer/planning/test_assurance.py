"""Assurance: the exact search against brute force with another program's intervals and laws, invariants, simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import steelyard as sy
from cases import every, seldom
from steelyard.errors import UsageError
from steelyard.infer.intervals.proportion import proportion_interval
from steelyard.infer.planning.anticipated import Anticipated
from steelyard.infer.planning.assurance import assurance, items_for_assurance, labels_for_assurance, labels_for_items
from steelyard.infer.planning.lengths import average_length, expected_width, plug_in, widest, worst_outcome
from steelyard.infer.planning.precision_goal import METHODS, PrecisionGoal
from steelyard.metrics.inner import ITSELF
from steelyard.metrics.labels import F1

STATSMODELS = {"wilson": "wilson", "clopper-pearson": "beta", "jeffreys": "jeffreys", "agresti-coull": "agresti_coull", "wald": "normal"}


def brute_interval(rule: PrecisionGoal, k: np.ndarray, n: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided intervals of every k of n by another program; mid-p by our own scalar bisection."""
    if rule.method == "bayes":
        law = stats.beta(k + rule.prior[0], n - k + rule.prior[1])
        return law.ppf((1 - level) / 2), law.ppf((1 + level) / 2)
    if rule.method == "mid-p":
        return tuple(np.array([proportion_interval(int(x), n, "mid-p", level) for x in k]).T)
    low, high = proportion_confint(k, n, alpha=1 - level, method=STATSMODELS[rule.method])
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    if rule.method == "wald":  # as in a measurement: where it has no width Wilson's end, or its own at one mistake if that is nearer
        instead = proportion_confint(k, n, alpha=1 - level, method="wilson")
        own = proportion_confint(np.where(k == 0, min(1, n), n - 1), n, alpha=1 - level, method="normal") if n > 1 else instead
        low = np.where(k == n, np.maximum(instead[0], own[0]), np.where(k == 0, 0.0, low))
        high = np.where(k == 0, np.minimum(instead[1], own[1]), np.where(k == n, 1.0, high))
    return low, high


def measured(method: str, k: int, n: int, side: str) -> tuple[float | None, float | None]:
    """What `measure` answers."""
    found = sy.measure(sy.Counts.of(k, n), interval=method, side=side).interval
    assert found is not None
    return found.low, found.high


THROUGH = {True: F1.read_through, False: ITSELF}  # by whether it is of F1


def brute_good(rule: PrecisionGoal, k: np.ndarray, n: Any) -> np.ndarray:
    if rule.threshold is not None:
        low, _ = brute_interval(rule, k, n, 1 - 2 * (1 - rule.level))
        return (2 * low / (1 + low) if rule.through.mapped else low) >= rule.threshold
    low, high = brute_interval(rule, k, n, rule.level)
    return (2 * high / (1 + high) - 2 * low / (1 + low) if rule.through.mapped else high - low) <= rule.width


def brute_chance(rule: PrecisionGoal, law: Anticipated, m: int, have: tuple[int, int]) -> float:
    x = np.arange(m + 1)
    weight = stats.binom.pmf(x, m, law.share) if law.law is None else stats.betabinom.pmf(x, m, *law.law)
    return float(weight[brute_good(rule, have[0] + x, have[1] + m)].sum())


def brute_search(rule: PrecisionGoal, law: Anticipated, target: float, have: tuple[int, int], top: int) -> tuple[int, int]:
    met = np.array([brute_chance(rule, law, m, have) >= target for m in range(1, top + 1)])
    assert met[-1], "the scan must end where the goal is met"
    return int(met.argmax()) + 1, int(np.flatnonzero(~met)[-1]) + 2 if not met.all() else 1


def random_rule(rng: np.random.Generator, goal: str, method: str) -> PrecisionGoal:
    f1 = bool(rng.random() < 0.35) and method != "wald"
    strength = float(rng.choice([0.5, 1.0, 2.0]))
    prior = (strength, strength * (2 if f1 else 1))
    level = float(rng.choice([0.8, 0.9, 0.95]))
    if goal == "width":
        return PrecisionGoal(method=method, level=level, prior=prior, through=THROUGH[f1], width=float(rng.uniform(0.2, 0.5)))
    return PrecisionGoal(method=method, level=level, prior=prior, through=THROUGH[f1], threshold=float(rng.uniform(0.3, 0.8)))


SLOW = ("threshold", "mid-p")


@pytest.mark.parametrize("trials", [3, *seldom(8)])
@pytest.mark.parametrize(
    ("goal", "method"), [(goal, method) for goal in ("width", "threshold") for method in METHODS if (goal, method) != SLOW] + seldom(SLOW)
)
def test_equal_to_brute_force_on_random_problems(goal: str, method: str, trials: int) -> None:
    rng = np.random.default_rng([len(method), len(goal)])
    for trial in range(2 if method == "mid-p" else trials):
        rule = random_rule(rng, goal, method)
        n = int(rng.integers(1, 12)) if trial % 3 == 2 else 0
        have = (int(rng.integers(0, n + 1)), n)
        if n and rule.meets(*have):
            assert items_for_assurance(rule, Anticipated(0.9), 0.8, have) == (0, 0)
            continue
        share = float(rng.uniform(rule.bar + 0.6 * (1 - rule.bar), 0.999) if goal == "threshold" else rng.uniform(0.02, 0.98))
        law = Anticipated(share) if trial % 2 else Anticipated(law=(40 * share + 0.5, 40 * (1 - share) + 0.5))
        target = float(rng.choice([0.3, 0.5, 0.8]))
        if law.above(rule.bar) <= target + 0.1 and goal == "threshold":
            continue
        found = items_for_assurance(rule, law, target, have)
        top = worst_outcome(rule, have) if goal == "width" else min(2 * found[1] + 60, 100 if method == "mid-p" else 600)
        assert found == brute_search(rule, law, target, have, max(top, found[1])), (rule, law, target, have)


@every("method", METHODS[1:])
def test_the_vector_forms_are_the_intervals_of_a_measurement(method: str) -> None:
    rng = np.random.default_rng(5)
    n = rng.integers(2, 3000, 60)
    k = np.where(rng.random(60) < 0.85, (rng.random(60) * (n + 1)).astype(int), rng.choice([0, 1], 60) * n)
    low, high = PrecisionGoal(method=method, width=0.1).ends(k, n)
    for i in range(60):
        assert (low[i], high[i]) == pytest.approx(measured(method, int(k[i]), int(n[i]), "two"), abs=1e-13)
        bound = measured(method, int(k[i]), int(n[i]), "lower")[0]
        for t in (bound - 1e-9, bound + 1e-9):
            if 0 < t < 1:
                assert bool(PrecisionGoal(method=method, threshold=t).meets(k[i], n[i])) == (bound >= t)


@pytest.mark.parametrize("law", [(0.5, 0.5), (3.0, 40.0), (45.0, 5.0), (2000.0, 300.0)])
def test_beta_binomial_tails(law: tuple[float, float]) -> None:
    rng = np.random.default_rng(3)
    m = rng.integers(1, 1500, 60)
    x = (rng.random(60) * (m + 2)).astype(int)
    exact = [math.fsum(stats.betabinom.pmf(np.arange(a, b + 1), b, *law)) if a <= b else 0.0 for a, b in zip(x, m, strict=True)]
    assert Anticipated(law=law).at_least(x, m) == pytest.approx(exact, abs=2e-11)


def test_both_branches_of_a_width() -> None:
    """Near one half the narrow intervals lie on both sides; one side alone would miss half of the chance."""
    rule = PrecisionGoal(width=0.3)
    low, high = assurance(rule, Anticipated(0.3), 40), assurance(rule, Anticipated(0.7), 40)
    assert float(low) == pytest.approx(float(high), abs=1e-12)
    assert brute_chance(rule, Anticipated(0.5), 40, (0, 0)) == pytest.approx(float(assurance(rule, Anticipated(0.5), 40)), abs=1e-12)
    assert float(assurance(rule, Anticipated(0.5), 40)) > 0.01


@pytest.mark.parametrize("law", [Anticipated(0.9), Anticipated(0.6), Anticipated(law=(45, 5))])
def test_more_is_never_asked_for_less(law: Anticipated) -> None:
    by_width = [items_for_assurance(PrecisionGoal(width=w), law, 0.8) for w in (0.3, 0.2, 0.1, 0.05)]
    by_target = [items_for_assurance(PrecisionGoal(width=0.1), law, g) for g in (0.3, 0.5, 0.8, 0.95, 0.999)]
    for found in (by_width, by_target):
        assert found == sorted(found)
        assert [stable for _, stable in found] == sorted(stable for _, stable in found)
        assert all(first <= stable <= worst_outcome(PrecisionGoal(width=0.05)) for first, stable in found)


def test_large_sizes_hold_at_their_edges() -> None:
    """No scan reaches here in a test; the definition does: n - 1 of both answers fails, the answers and a stretch after do not."""
    for rule, law in ((PrecisionGoal(width=0.005), Anticipated(0.9)), (PrecisionGoal(threshold=0.8976), Anticipated(0.9))):
        first, stable = items_for_assurance(rule, law, 0.8)
        assert first > 50_000
        around = assurance(rule, law, np.arange(first - 400, first + 1))
        assert (around[:-1] < 0.8).all()
        assert around[-1] >= 0.8
        after = assurance(rule, law, np.arange(stable - 1, stable + 1200))
        assert after[0] < 0.8
        assert (after[1:] >= 0.8).all()


def brute_labels(rule: PrecisionGoal, law: Anticipated, target: float, relevant: float, top: int) -> int:
    chance = np.array([brute_chance(rule, law, m, (0, 0)) if m else 0.0 for m in range(top + 1)])
    values = np.array([stats.binom.pmf(np.arange(top + 1), n, relevant) @ chance for n in range(1, int(top / relevant * 0.8))])
    return int(np.flatnonzero(values < target)[-1]) + 2


def test_labels_equal_brute_force() -> None:
    rng = np.random.default_rng(8)
    for _ in range(5):
        rule = PrecisionGoal(threshold=float(rng.uniform(0.4, 0.6)), level=0.9, through=THROUGH[bool(rng.random() < 0.5)])
        law, relevant = Anticipated(float(rng.uniform(0.75, 0.9))), float(rng.uniform(0.2, 0.8))
        found = items_for_assurance(rule, law, 0.8)
        labels, achieved = labels_for_assurance(rule, law, 0.8, relevant, found)
        assert labels == brute_labels(rule, law, 0.8, relevant, 4 * found[1] + 40)
        assert 0.8 <= achieved < 0.9


def test_labels_for_items_are_binomial_quantiles() -> None:
    for items, relevant in ((1, 0.5), (40, 0.1), (382, 0.2)):
        labels = labels_for_items(items, 0.8, relevant)
        assert stats.binom.sf(items - 1, labels, relevant) >= 0.8 > stats.binom.sf(items - 1, labels - 1, relevant)
    assert labels_for_items(7, 0.8, 1.0) == 7


def test_lengths_against_sums() -> None:
    rng = np.random.default_rng(2)
    for _ in range(2):
        rule, law = random_rule(rng, "width", "bayes"), Anticipated(float(rng.uniform(0.1, 0.95)))

        def mean(n: int, rule: PrecisionGoal = rule, law: Anticipated = law) -> float:
            x = np.arange(n + 1)
            low, high = brute_interval(rule, x, n, rule.level)
            width = 2 * high / (1 + high) - 2 * low / (1 + low) if rule.through.mapped else high - low
            return float(stats.binom.pmf(x, n, law.share) @ width)

        found = average_length(rule, law)
        assert found == next(n for n in range(1, 400) if mean(n) <= rule.width)
        assert expected_width(rule, law, found) == pytest.approx(mean(found), abs=1e-12)
        worst = [brute_good(rule, np.arange(n + 1), n).all() for n in range(1, 200)]
        assert worst_outcome(rule) == int(np.argmax(worst)) + 1
        assert widest(rule, worst_outcome(rule)) <= rule.width < widest(rule, worst_outcome(rule) - 1)


def test_plug_in_against_a_scan() -> None:
    from fractions import Fraction

    for share, width in ((Fraction(9, 10), 0.2), (Fraction(1, 3), 0.25)):
        rule = PrecisionGoal(width=width)
        n = np.arange(1, 400)
        met = brute_good(rule, np.array([math.floor(each * share + Fraction(1, 2)) for each in n.tolist()]), n).tolist()
        law = stats.beta(n * float(share) + 0.5, n * float(1 - share) + 0.5)
        real = law.ppf(0.975) - law.ppf(0.025)
        expected = (int(np.argmax(real <= width)) + 1, met.index(True) + 1, max(i for i, ok in enumerate(met) if not ok) + 2)
        assert plug_in(rule, float(share)) == expected


def test_out_of_reach() -> None:
    with pytest.raises(UsageError, match=r"No number of items makes it that likely to clear the threshold 0\.9: the"):
        items_for_assurance(PrecisionGoal(threshold=0.9), Anticipated(0.9), 0.8)
    with pytest.raises(UsageError, match=r"No number of items makes it that likely to clear the threshold 0\.9: the"):
        items_for_assurance(PrecisionGoal(threshold=0.9), Anticipated(law=(45, 5)), 0.8)
    with pytest.raises(UsageError, match="10,000,000"):
        items_for_assurance(PrecisionGoal(threshold=0.9), Anticipated(0.90001), 0.8)
    with pytest.raises(UsageError, match="10,000,000"):
        worst_outcome(PrecisionGoal(width=1e-5))


CELLS: dict[str, Any] = {  # the items a metric is about, and its successes, from (tp, fp, fn, tn)
    "accuracy": lambda c: (c[:, 0] + c[:, 3], c.sum(1)),
    "precision": lambda c: (c[:, 0], c[:, 0] + c[:, 1]),
    "recall": lambda c: (c[:, 0], c[:, 0] + c[:, 2]),
    "specificity": lambda c: (c[:, 3], c[:, 1] + c[:, 3]),
    "f1": lambda c: (c[:, 0], c[:, 0] + c[:, 1] + c[:, 2]),
}


@every("goal", ["width", "threshold"])
@every("metric", CELLS)
def test_simulated_test_sets_reach_the_goal_as_often_as_promised(metric: str, goal: str) -> None:
    """Whole tables are drawn, of as many labels as the plan says; the goal is judged on each by SciPy's Beta law."""
    precision, recall, prevalence, draws = 0.8, 0.9, 0.3, 4000
    hits = prevalence * recall
    cells = np.array([hits, hits * (1 - precision) / precision, prevalence - hits])
    cells = np.append(cells, 1 - cells.sum())
    k, n = CELLS[metric](cells[None])
    share, relevant = float(k[0] / n[0]), float(n[0])
    f1 = metric == "f1"
    value = 2 * share / (1 + share) if f1 else share
    rule = PrecisionGoal(through=THROUGH[f1], prior=(0.5, 1.0 if f1 else 0.5), width=0.12) if goal == "width" else PrecisionGoal(
        through=THROUGH[f1], prior=(0.5, 1.0 if f1 else 0.5), threshold=value - 0.06
    )  # fmt: skip
    found = items_for_assurance(rule, Anticipated(share), 0.8)
    labels, achieved = labels_for_assurance(rule, Anticipated(share), 0.8, relevant, found)
    k, n = CELLS[metric](np.random.default_rng(11).multinomial(labels, cells, size=draws))
    law = stats.beta(k + rule.prior[0], n - k + rule.prior[1])
    if goal == "threshold":
        good = law.sf(rule.bar) >= 0.95
    else:
        low, high = law.ppf(0.025), law.ppf(0.975)
        good = (2 * high / (1 + high) - 2 * low / (1 + low) if f1 else high - low) <= 0.12
    assert good.mean() == pytest.approx(achieved, abs=4 * math.sqrt(achieved * (1 - achieved) / draws))
