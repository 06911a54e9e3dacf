"""Many tests, many systems: corrections against closed testing, Q and Friedman against scipy and statsmodels' formulas, tiers."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cases import every
from steelyard.errors import UsageError
from steelyard.infer import multiplicity as many
from steelyard.infer.paired import mcnemar as flips

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=7)


def by_closed_testing(p: list[float], i: int) -> float:
    """Holm from its definition: the largest Bonferroni p of all sets of hypotheses that contain i."""
    others = [j for j in range(len(p)) if j != i]
    sets = [(i, *more) for size in range(len(p)) for more in itertools.combinations(others, size)]
    return min(1.0, max(len(s) * min(p[j] for j in s) for s in sets))


@given(p=p_values)
def test_holm_is_closed_testing_by_bonferroni(p: list[float]) -> None:
    assert many.adjust(p) == pytest.approx([by_closed_testing(p, i) for i in range(len(p))], abs=1e-14)


@given(p=p_values)
def test_bh_is_scipys(p: list[float]) -> None:
    assert many.adjust(p, "bh") == pytest.approx(list(stats.false_discovery_control(p, method="bh")), abs=1e-14)


@pytest.mark.parametrize("method", many.CORRECTIONS)
@given(p=p_values, order=st.randoms(use_true_random=False))
def test_adjusted_p_values_keep_input_order(method: str, p: list[float], order: Any) -> None:
    adjusted = many.adjust(p, method)
    place = list(range(len(p)))
    order.shuffle(place)
    assert many.adjust([p[i] for i in place], method) == pytest.approx([adjusted[i] for i in place], abs=1e-15)
    for i, j in itertools.product(range(len(p)), repeat=2):
        assert p[i] > p[j] or adjusted[i] <= adjusted[j] + 1e-15  # monotone
    assert all(1 >= a >= raw - 1e-15 for a, raw in zip(adjusted, p, strict=True))
    bonferroni, holm, bh = (many.adjust(p, name) for name in ("bonferroni", "holm", "bh"))
    assert all(b >= h - 1e-15 and h >= f - 1e-15 for b, h, f in zip(bonferroni, holm, bh, strict=True))


def test_no_tests_and_unknown_corrections() -> None:
    assert many.adjust([]) == []
    with pytest.raises(UsageError, match="holm, bh, bonferroni or none"):
        many.adjust([0.1], "sidak")


# ---- Cochran -----------------------------------------------------------------------------------------------------------

answers = st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=1, max_size=40)


def tally(rows: list[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    return {row: rows.count(row) for row in rows}


@given(rows=answers)
def test_cochran_is_its_item_formula(rows: list[tuple[int, ...]]) -> None:
    x = np.array(rows)
    k, spread = x.shape[1], float((x.sum(1) * (x.shape[1] - x.sum(1))).sum())
    gap = x.sum(0) - x.sum() / k
    q = k * (k - 1) * float(gap @ gap) / spread if spread else 0.0
    found = many.cochran_q(tally(rows))
    assert found == pytest.approx((q, k - 1, float(stats.chi2.sf(q, k - 1))), abs=1e-9)
    relabelled = [tuple(row[::-1]) for row in rows]
    assert many.cochran_q(tally(relabelled)) == pytest.approx(found, abs=1e-9)


@given(gained=st.integers(0, 60), lost=st.integers(0, 60), agree=st.integers(1, 60))
def test_cochran_of_two_systems_is_mcnemar(gained: int, lost: int, agree: int) -> None:
    q, df, p = many.cochran_q({(1, 0): lost, (0, 1): gained, (1, 1): agree})
    z, p_mcnemar = flips.mcnemar(gained, lost)
    assert (q, df, p) == pytest.approx((z * z, 1, p_mcnemar), abs=1e-9)


# ---- Friedman, Nemenyi -------------------------------------------------------------------------------------------------

scores = st.integers(3, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 6).map(float), min_size=k, max_size=k), min_size=3, max_size=12).map(np.array)
)


@given(table=scores)
def test_friedman_is_scipys_with_ties(table: Any) -> None:
    found = many.friedman(table)
    if all(len(set(row)) == 1 for row in table.tolist()):
        assert (found["chi2"], found["p_chi2"], found["p_f"]) == (0.0, 1.0, 1.0)
        return
    theirs = stats.friedmanchisquare(*table.T)
    assert (found["chi2"], found["p_chi2"]) == pytest.approx((theirs.statistic, theirs.pvalue), abs=1e-9)
    n, k = table.shape
    if found["f"] is not None:
        f = (n - 1) * theirs.statistic / (n * (k - 1) - theirs.statistic)
        assert found["f"] == pytest.approx(f, rel=1e-9, abs=1e-9)
        assert found["p_f"] == pytest.approx(stats.f.sf(f, k - 1, (k - 1) * (n - 1)), abs=1e-9)


@given(table=scores)
def test_ranks_start_with_the_best(table: Any) -> None:
    up, down = many.friedman(table), many.friedman(-table, higher_is_better=False)
    assert up == down
    ranks = np.array([stats.rankdata(-row) for row in table]).mean(0)
    assert up["mean_ranks"] == pytest.approx(list(ranks), abs=1e-12)


@every("k", [2, 3, 4, 10, 50])
@every("level", [0.9, 0.95, 0.99])
def test_the_studentized_range_is_scipys(k: int, level: float) -> None:
    assert many.studentized_range_quantile(k, level) == pytest.approx(stats.studentized_range.ppf(level, k, np.inf), abs=1e-9)


def test_of_two_systems_the_range_is_a_normal_difference() -> None:
    assert many.studentized_range_quantile(2, 0.95) == pytest.approx(math.sqrt(2) * stats.norm.ppf(0.975), abs=1e-10)


# ---- Fisher, tiers -----------------------------------------------------------------------------------------------------


@given(p=st.lists(st.floats(1e-200, 1), min_size=1, max_size=9))
def test_fisher_is_scipys(p: list[float]) -> None:
    theirs = stats.combine_pvalues(p, method="fisher")
    assert many.fisher_combined(p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9, abs=1e-12)


def test_fisher_of_one_is_itself_and_of_a_zero_is_finite() -> None:
    assert many.fisher_combined([0.037])[1] == pytest.approx(0.037, rel=1e-12)
    assert 0 < many.fisher_combined([0.0, 0.5])[1] < 1e-290


def test_tiers_start_where_a_system_differs_from_the_best_of_the_last() -> None:
    assert many.tiers(0, lambda i, j: True) == []
    assert many.tiers(4, lambda i, j: True) == [1, 2, 3, 4]
    assert many.tiers(4, lambda i, j: False) == [1, 1, 1, 1]
    marks = [0.90, 0.89, 0.85, 0.80, 0.79]
    assert many.tiers(5, lambda i, j: marks[i] - marks[j] > 0.045) == [1, 1, 2, 3, 3]


@given(count=st.integers(1, 12), bits=st.integers(0, 2**144 - 1))
def test_tiers_never_fall_and_never_skip(count: int, bits: int) -> None:
    found = many.tiers(count, lambda i, j: bool(bits >> (12 * i + j) & 1))
    assert found[0] == 1
    assert all(b - a in (0, 1) for a, b in itertools.pairwise(found))
