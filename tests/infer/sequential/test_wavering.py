"""Wavering items asked more often: chances in proportion, means that are weighted back, factors that small pools can afford."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.evaluate.task.cases import hash_fractions, hash_order
from steelyard.infer.sequential.el_sprt import EmpiricalLikelihoodSprt
from steelyard.infer.sequential.wavering import FACTORS, WaveringStrata, answer_variance, items_needed, strata_of

Array = np.ndarray[Any, np.dtype[Any]]


def pool(n: int, answers: int, seed: int, churn: float = 0.05, accuracy: float = 0.75) -> tuple[Array, Array]:
    """Chances of being right by a Beta law that gives this churn, and how many of the answers on record are right."""
    rng = np.random.default_rng(seed)
    mixed = churn / 2 / (accuracy * (1 - accuracy))
    size = mixed / (1 - mixed)
    chance = rng.beta(accuracy * size, (1 - accuracy) * size, n)
    return chance, rng.binomial(answers, chance)


# ---- the order -------------------------------------------------------------------------------------------------------------


def test_an_item_is_among_the_first_in_proportion_to_its_factor() -> None:
    rng = np.random.default_rng(0)
    wavering = np.arange(400) < 100
    strata = WaveringStrata(answers=4, stable=300, wavering=100)
    times, runs, first = np.zeros(400), 4000, 80
    for _ in range(runs):
        places, _ = strata.order(rng.uniform(1e-9, 1 - 1e-9, 400), wavering)
        times[places[:first]] += 1
    share = times / runs
    assert share[wavering].mean() == pytest.approx(first / 400 * 1.6, abs=0.002)
    assert share[~wavering].mean() == pytest.approx(first / 400 * 0.8, abs=0.002)
    assert np.abs(share - first / 400 * strata.k(wavering)).max() < 5 * np.sqrt(0.32 * 0.68 / runs)  # every single one


def test_the_wavering_items_run_out_where_the_run_ends() -> None:
    rng = np.random.default_rng(1)
    wavering = rng.uniform(size=5000) < 0.12
    strata = WaveringStrata(answers=8, stable=int((~wavering).sum()), wavering=int(wavering.sum()))
    places, enough = strata.order(rng.uniform(1e-9, 1 - 1e-9, 5000), wavering)
    assert wavering[places[:enough]].all() == wavering[places].all()
    assert wavering[places[:enough]].sum() == wavering.sum()
    assert enough == pytest.approx(strata.askable, abs=5 * np.sqrt(5000 * 0.25))
    assert strata.k(wavering).mean() == pytest.approx(1, abs=1e-12)


@every("flags", [[False] * 50, [True] * 50])
def test_a_pool_of_one_stratum_is_asked_in_hash_order_to_its_end(flags: list[bool]) -> None:
    ids = [f"q{i}" for i in range(50)]
    strata = WaveringStrata(answers=4, stable=flags.count(False), wavering=flags.count(True))
    places, enough = strata.order(hash_fractions(ids, 7), flags)
    assert places.tolist() == hash_order(ids, 7)
    assert enough == 50
    assert strata.ends == (-1.0, 1.0)
    assert strata.k(flags).tolist() == [1.0] * 50


# ---- the mean --------------------------------------------------------------------------------------------------------------


@every("where", ["anywhere", "on stable items", "on wavering items", "on stable items that were right"])
def test_the_mean_is_the_drop_wherever_it_sits(where: str) -> None:
    """Item by item: over all orders the mean of x is that of the differences over the whole pool."""
    rng = np.random.default_rng(2)
    chance, right = pool(600, 8, 3)
    wavering = answer_variance(right, 8) > 0
    at = {
        "anywhere": np.ones(600, bool),
        "on stable items": ~wavering,
        "on wavering items": wavering,
        "on stable items that were right": right == 8,
    }[where]
    now = np.where(at & (rng.uniform(size=600) < 0.3), 0.0, (rng.uniform(size=600) < chance).astype(float))
    difference = now - right / 8
    strata = WaveringStrata(answers=8, stable=int((~wavering).sum()), wavering=int(wavering.sum()))
    x = strata.weighted(difference, wavering)
    low, high = strata.ends
    assert low <= x.min()
    assert x.max() <= high
    means = []
    for _ in range(1000):
        places, _ = strata.order(rng.uniform(1e-9, 1 - 1e-9, 600), wavering)
        means.append(float(x[places[:60]].mean()))
    assert np.mean(means) == pytest.approx(difference.mean(), abs=4 * np.std(means) / np.sqrt(1000) + 1e-3)


def test_a_wavering_item_of_twice_the_factor_counts_half() -> None:
    strata = WaveringStrata(answers=4, stable=3, wavering=1)
    k = strata.k([True, False])
    assert k[0] == 2 * k[1]
    assert (k[1] * 3 + k[0]) / 4 == pytest.approx(1)
    assert strata.weighted([-1.0, -1.0], [True, False]).tolist() == [-1 / k[0], -1 / k[1]]


# ---- the factor ------------------------------------------------------------------------------------------------------------


@every(("items", "answers", "factor"), [(800, 4, 1.0), (1319, 4, 1.0), (2000, 4, 1.5), (3000, 4, 2.0), (1319, 16, 1.0), (3000, 16, 2.0)])
def test_a_small_pool_takes_a_smaller_factor(items: int, answers: int, factor: float) -> None:
    _, right = pool(items, answers, 4)
    assert strata_of(answer_variance(right, answers), answers, theta=0.02).factor == factor


def test_a_larger_theta_needs_a_smaller_pool() -> None:
    _, right = pool(800, 4, 5)
    variance = answer_variance(right, 4)
    assert [strata_of(variance, 4, theta=theta).factor for theta in (0.02, 0.05)] == [1.0, 2.0]


def test_a_pool_that_wavers_almost_everywhere_gains_nothing_by_strata() -> None:
    variance = np.where(np.arange(20_000) < 19_000, 0.01, 0.0)
    assert strata_of(variance, 4, theta=0.02).factor == 1.0


def test_a_pool_that_never_wavers_is_asked_alike() -> None:
    found = strata_of(np.zeros(5000), 16, theta=0.02)
    assert (found.factor, found.ends, found.askable) == (1.0, (-1.0, 1.0), 5000.0)


def test_the_strata_need_fewer_items_than_asking_alike() -> None:
    _, right = pool(4000, 16, 6)
    variance = answer_variance(right, 16)
    wavering = int((variance > 0).sum())
    alike, twice = (WaveringStrata(answers=16, stable=4000 - wavering, wavering=wavering, factor=each) for each in (1.0, FACTORS[0]))
    assert items_needed(twice, variance, 0.02) < 0.85 * items_needed(alike, variance, 0.02)


def test_one_answers_variance_is_that_of_a_coin() -> None:
    """Unbiased: over all counts of R answers the mean is p (1 - p)."""
    from scipy.stats import binom

    for answers in (2, 4, 16):
        for p in (0.1, 0.5, 0.9):
            m = np.arange(answers + 1)
            assert float(binom.pmf(m, answers, p) @ answer_variance(m, answers)) == pytest.approx(p * (1 - p), abs=1e-12)


# ---- whole runs ------------------------------------------------------------------------------------------------------------


def decided(seed: int, items: int, answers: int, drop: float) -> tuple[str, int]:
    """One run over a pool in the order of the strata; the drop falls on stable items, the worst place."""
    rng = np.random.default_rng(10_000 + seed)
    chance, right = pool(items, answers, seed)
    variance = answer_variance(right, answers)
    wavering = variance > 0
    strata = strata_of(variance, answers, theta=0.02)
    falls = np.where(wavering, 0.0, drop / np.mean(np.where(wavering, 0.0, chance)))
    now = (rng.uniform(size=items) < chance) & (rng.uniform(size=items) >= falls)
    places, enough = strata.order(rng.uniform(1e-9, 1 - 1e-9, items), wavering)
    x = strata.weighted(now - right / answers, wavering)[places][:enough]
    rule = EmpiricalLikelihoodSprt(theta=0.02, score_range=(0.0, 1.0), ends=strata.ends)
    n = 0
    while rule.decision == "continue":
        n = min(n + 32, enough)
        rule.look(x[:n], last=n == enough)
    return rule.decision, n


@every(
    ("drop", "alarms", "calls"), [(0.0, (0.0, 0.065), (180, 240)), (0.02, (0.74, 0.90), (370, 460))]
)  # a study of 4,000 runs has .040, 215 and .826, 399
def test_whole_runs_keep_their_error_rates_and_their_cost(drop: float, alarms: tuple[float, float], calls: tuple[int, int]) -> None:
    runs = [decided(seed, 3000, 16, drop) for seed in range(150)]
    share = sum(decision == "regression" for decision, _ in runs) / len(runs)
    assert alarms[0] <= share <= alarms[1]
    assert calls[0] <= np.mean([n for _, n in runs]) <= calls[1]
    assert sum(decision == "exhausted" for decision, _ in runs) <= 0.04 * len(runs)


# ---- what cannot be --------------------------------------------------------------------------------------------------------


def test_too_few_answers_cannot_tell_which_items_waver() -> None:
    with pytest.raises(UsageError, match="at least 4 are needed"):
        strata_of(answer_variance([1, 2], 3), 3, theta=0.02)


@every(("right", "answers"), [([5.0], 4), ([-1.0], 4), ([np.nan], 4), ([0.0], 1)])
def test_impossible_counts_are_refused(right: list[float], answers: int) -> None:
    with pytest.raises(DataError, match="must lie between 0 and"):
        answer_variance(right, answers)


@every("wrong", [{"stable": 0, "wavering": 0}, {"factor": 0.5}, {"answers": 0}, {"stable": -1}])
def test_impossible_strata_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="Asking unstable items more often takes"):
        WaveringStrata(**{"answers": 4, "stable": 10, "wavering": 5, **wrong})


def test_hash_fractions_are_uniform_and_sort_as_hashes_do() -> None:
    ids = [str(i) for i in range(20_000)]
    u = np.array(hash_fractions(ids, 3))
    assert np.argsort(u, kind="stable").tolist() == hash_order(ids, 3)
    assert u.min() > 0
    assert u.max() < 1
    assert np.abs(np.sort(u) - (np.arange(20_000) + 0.5) / 20_000).max() < 1.63 / np.sqrt(20_000)  # Kolmogorov, .01
