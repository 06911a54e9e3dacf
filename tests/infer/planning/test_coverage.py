"""Coverage by enumeration: against item-by-item sums, other programs' figures, and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from oracles import standard_errors
from steelyard.infer.intervals.proportion import proportion_interval
from steelyard.infer.paired.mcnemar import tango
from steelyard.infer.planning.coverage import averaged_coverage, binomial_coverage, binomial_pair_coverage, multinomial_coverage, tables_of
from steelyard.infer.posterior.metrics import proportion_posterior
from steelyard.infer.unpaired import newcombe
from steelyard.metrics.proportions import f1_of_jaccard


@pytest.mark.parametrize(("n", "cells"), [(0, 3), (1, 1), (5, 2), (7, 3), (6, 4)])
def test_tables_of_are_all_tables_once(n: int, cells: int) -> None:
    tables = tables_of(n, cells)
    assert tables.shape == (math.comb(n + cells - 1, cells - 1), cells)
    assert (tables.sum(axis=1) == n).all()
    assert len({tuple(row) for row in tables.tolist()}) == len(tables)


@pytest.mark.parametrize("seed", range(5))
def test_tables_agree_with_adding_up_every_sequence_of_items(seed: int) -> None:
    """The oracle goes through all 3^5 sequences of five items, one by one."""
    rng, n = np.random.default_rng(seed), 5
    tables, law, target = tables_of(n, 3), rng.dirichlet([1, 1, 1]), rng.uniform(-0.5, 0.5)
    low = rng.uniform(-1, 0, len(tables))
    low[rng.random(len(tables)) < 0.2] = np.nan  # tables without an interval
    high = low + rng.uniform(0, 1.5, len(tables))
    place = {tuple(row): i for i, row in enumerate(tables.tolist())}
    covered = given = width = 0.0
    for items in itertools.product(range(3), repeat=n):
        i, chance = place[tuple(items.count(c) for c in range(3))], math.prod(law[c] for c in items)
        if not math.isnan(low[i]):
            given += chance
            width += chance * (high[i] - low[i])
            covered += chance * (low[i] <= target <= high[i])
    found = multinomial_coverage(low, high, tables, law[None], np.array([target]))
    assert found[0][0] == pytest.approx(covered / given, abs=1e-13)
    assert found[1][0] == pytest.approx(width / given, abs=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_agree_with_scipy_pair_by_pair(seed: int) -> None:
    rng, n1, n2 = np.random.default_rng(seed), 6, 9
    low = rng.uniform(-1, 0.5, (n1 + 1, n2 + 1))
    high = low + rng.uniform(0, 1, low.shape)
    p1, p2 = rng.random(2)
    covered = width = 0.0
    for k1, k2 in itertools.product(range(n1 + 1), range(n2 + 1)):
        chance = stats.binom.pmf(k1, n1, p1) * stats.binom.pmf(k2, n2, p2)
        covered += chance * (low[k1, k2] <= p1 - p2 <= high[k1, k2])
        width += chance * (high[k1, k2] - low[k1, k2])
    found = binomial_pair_coverage(low, high, np.array([[p1, p2]]))
    assert found[0][0] == pytest.approx(covered, abs=1e-12)
    assert found[1][0] == pytest.approx(width, abs=1e-12)


@pytest.mark.parametrize(("n", "printed"), [(591, 0.945), (592, 0.792)])
def test_the_unlucky_number_of_brown_cai_and_dasgupta(n: int, printed: float) -> None:
    """Brown, Cai and DasGupta (2001), section 2: at p = .005 Wald covers .945 with 591 items and .792 with 592."""

    def wald(k: int) -> tuple[float, float]:
        return proportion_interval(k, n, "wald")

    by_share, _ = binomial_coverage(wald, n, np.array([0.005]))
    tables = tables_of(n, 2)
    low, high = np.array([wald(int(k)) for k, _ in tables]).T
    by_table, _ = multinomial_coverage(low, high, tables, np.array([[0.005, 0.995]]), np.array([0.005]))
    assert by_share[0] == pytest.approx(printed, abs=5e-4)
    assert by_table[0] == pytest.approx(by_share[0], abs=1e-10)


def test_f1_agrees_with_the_validity_study() -> None:
    """Section 1.2 of the study printed .956 for Wilson through Jaccard at n = 20, from 10,000 tables in each of twelve settings."""
    tables = tables_of(20, 3)
    low, high = np.array(
        [[f1_of_jaccard(x) for x in proportion_interval(int(a), int(a + b), "wilson")] if a + b else (np.nan, np.nan) for a, b, _ in tables]
    ).T
    qualities = [(q, p, r) for q in (0.5, 0.1, 0.02) for p, r in ((0.8, 0.8), (0.95, 0.95), (0.6, 0.9), (0.99, 0.99))]
    hits = np.array([q * r for q, _, r in qualities])
    wrong = np.array([q * (1 - r) + q * r * (1 / p - 1) for q, p, r in qualities])
    truths = np.stack([hits, wrong, 1 - hits - wrong], axis=1)
    covered, _ = multinomial_coverage(low, high, tables, truths, 2 * hits / (2 * hits + wrong))
    assert covered.mean() == pytest.approx(0.956, abs=5e-4 + 4 * math.sqrt(0.95 * 0.05 / 120_000))


def test_a_simulation_of_flips_meets_the_exact_figure() -> None:
    n, law, runs = 12, np.array([0.2, 0.1, 0.7]), 4000
    tables = tables_of(n, 3)
    ends = {tuple(row): tango(row[0], row[1], n) for row in tables.tolist()}
    low, high = np.array(list(ends.values())).T
    exact = float(multinomial_coverage(low, high, tables, law[None], np.array([0.1]))[0][0])
    drawn = np.random.default_rng(7).multinomial(n, law, runs).tolist()
    share = sum(ends[tuple(row)][0] <= 0.1 <= ends[tuple(row)][1] for row in drawn) / runs
    assert standard_errors(share, runs, exact) < 4


def test_exchanging_the_samples_changes_nothing() -> None:
    low, high = np.array([[newcombe(i, 7, j, 12) for j in range(13)] for i in range(8)]).transpose(2, 0, 1)
    here = binomial_pair_coverage(low, high, np.array([[0.8, 0.6]]))
    there = binomial_pair_coverage(-high.T, -low.T, np.array([[0.6, 0.8]]))
    assert here[0][0] == pytest.approx(there[0][0], abs=1e-13)
    assert here[1][0] == pytest.approx(there[1][0], abs=1e-13)


def test_order_of_cells_and_tables_is_nothing() -> None:
    rng, tables = np.random.default_rng(3), tables_of(6, 4)
    low = rng.uniform(-1, 0, len(tables))
    high, law, target = low + 0.8, rng.dirichlet([1] * 4), np.array([0.1])
    shuffled, cells = rng.permutation(len(tables)), rng.permutation(4)
    first = multinomial_coverage(low, high, tables, law[None], target)
    second = multinomial_coverage(low[shuffled], high[shuffled], tables[shuffled][:, cells], law[cells][None], target)
    assert np.allclose(first, second, atol=1e-13)


def test_the_whole_range_always_covers_and_no_interval_is_no_share() -> None:
    tables, law = tables_of(8, 3), np.array([[0.0, 0.3, 0.7]])  # a cell that never occurs is no trouble
    covered, width = multinomial_coverage(np.full(len(tables), -1.0), np.full(len(tables), 1.0), tables, law, np.array([0.3]))
    assert (covered[0], width[0]) == pytest.approx((1.0, 2.0), abs=1e-12)
    nothing = np.full(len(tables), np.nan)
    assert np.isnan(multinomial_coverage(nothing, nothing, tables, law, np.array([0.3]))[0][0])


@pytest.mark.parametrize("prior", [(0.5, 0.5), (1.0, 1.0), (0.5, 1.0)])
def test_the_average_over_a_prior_is_the_integral_of_coverage(prior: tuple[float, float]) -> None:
    """Oracle: the coverage at the midpoints of 20,000 equally likely parts of the prior."""
    n = 8

    def wilson(k: int) -> tuple[float, float]:
        return proportion_interval(k, n, "wilson")

    shares = stats.beta.ppf((np.arange(20_000) + 0.5) / 20_000, *prior)
    assert averaged_coverage(wilson, n, prior) == pytest.approx(binomial_coverage(wilson, n, shares)[0].mean(), abs=3e-4)


@pytest.mark.parametrize("n", [1, 7, 200])
@pytest.mark.parametrize("kind", ["equal-tailed", "hdi"])
def test_a_posterior_covers_exactly_on_average(n: int, kind: str) -> None:
    assert averaged_coverage(lambda k: proportion_posterior(k, n).interval(0.9, kind), n) == pytest.approx(0.9, abs=1e-10)
    assert averaged_coverage(lambda k: proportion_posterior(k, n, prior=1).interval(0.9, kind), n) != pytest.approx(0.9, abs=1e-4)
