"""Groups of unequal size: CR2 and its degrees of freedom by hand and by full matrices, the effective number, the second variance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import linalg

from by_name import item_rows
from steelyard.infer.intervals.clusters import Groups, alike, bell_mccaffrey, cluster_spread, cr2
from steelyard.infer.intervals.sums import spread
from steelyard.metrics.sums import QUOTIENT
from steelyard.tally.sums import tally_groups

Grouped = list[list[float]]
grouped = st.lists(st.lists(st.integers(0, 4).map(float), min_size=1, max_size=9), min_size=2, max_size=8)


def by_matrices(groups: Grouped) -> tuple[float, float]:
    """(CR2 variance of the mean, Bell and McCaffrey's df) with the whole hat matrix, symmetric roots and traces."""
    y = np.concatenate(groups)
    place = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    x = np.ones((len(y), 1))
    bread = np.linalg.inv(x.T @ x)
    residual_maker = np.eye(len(y)) - x @ bread @ x.T
    e = residual_maker @ y
    variance, columns = 0.0, []
    for g in range(len(groups)):
        own = place == g
        adjust = linalg.fractional_matrix_power(residual_maker[np.ix_(own, own)], -0.5).real
        score = bread @ x[own].T @ adjust
        variance += ((score @ e[own]) ** 2).item()
        columns.append((residual_maker[own].T @ score.T).ravel())
    p = np.stack(columns, axis=1)
    b = p.T @ p  # the covariance of the adjusted scores of the groups, if items are independent
    return variance, float(np.trace(b) ** 2 / np.sum(b * b))


def effects_of(groups: Grouped) -> tuple[np.ndarray, np.ndarray, float]:
    y = np.concatenate(groups)
    effects = np.array([sum(v - y.mean() for v in g) for g in groups]) / len(y)
    return effects, np.array([len(g) for g in groups], float), float(((y - y.mean()) ** 2).sum() / len(y) ** 2)


def test_a_case_worked_out_in_fractions() -> None:
    """Groups (1), (0, 1), (1, 0, 0): N = 6, mean 1/2, group residuals 1/2, 0, -1/2.

    V = (1/12)^2 / (1 - 1/6) + 0 + (1/12)^2 / (1 - 1/2) = 1/120 + 1/72 = 1/45. With q = m h / (1 - h) = 1/5, 1, 3:
    df = 36 / (14 + (21/5)^2 - 251/25) = 36 / (108/5) = 5/3.
    """
    residuals, sizes = [Fraction(1, 2), Fraction(0), Fraction(-1, 2)], [1, 2, 3]
    variance = sum((r / 6) ** 2 / (1 - Fraction(m, 6)) for r, m in zip(residuals, sizes, strict=True))
    assert variance == Fraction(1, 45)
    q = [m * Fraction(m, 6) / (1 - Fraction(m, 6)) for m in sizes]
    df = Fraction(36) / (14 + sum(q) ** 2 - sum(each**2 for each in q))
    assert df == Fraction(5, 3)
    groups = [[1.0], [0.0, 1.0], [1.0, 0.0, 0.0]]
    effects, m, _ = effects_of(groups)
    assert cr2(effects, m / m.sum()) == pytest.approx(1 / 45, rel=1e-14)
    assert bell_mccaffrey(m) == pytest.approx(5 / 3, rel=1e-14)
    assert by_matrices(groups) == pytest.approx((1 / 45, 5 / 3), rel=1e-9)


@settings(max_examples=15)
@given(groups=grouped)
def test_the_closed_form_is_that_of_the_matrices(groups: Grouped) -> None:
    effects, sizes, _ = effects_of(groups)
    variance, df = by_matrices(groups)
    assert cr2(effects, sizes / sizes.sum()) == pytest.approx(variance, rel=1e-7, abs=1e-12)
    assert bell_mccaffrey(sizes) == pytest.approx(df, rel=1e-7)
    assert bell_mccaffrey(sizes) <= len(sizes) - 1 + 1e-9


@settings(max_examples=15)
@given(groups=grouped)
def test_the_second_variance_is_that_of_a_common_intraclass_correlation(groups: Grouped) -> None:
    """By items: every pair of a group has covariance rho s^2, with the ANOVA estimate of rho, and s^2 the variance of all."""
    effects, sizes, squares = effects_of(groups)
    y = np.concatenate(groups)
    assume(len(y) > len(groups))
    assume(float(np.ptp(y)) > 0)
    assume(cr2(effects, sizes / sizes.sum()) > 1e-12)
    between = sum(len(g) * (np.mean(g) - y.mean()) ** 2 for g in groups) / (len(groups) - 1)
    within = sum(((np.array(g) - np.mean(g)) ** 2).sum() for g in groups) / (len(y) - len(groups))
    usual = (len(y) - sum(len(g) ** 2 for g in groups) / len(y)) / (len(groups) - 1)
    rho = (between - within) / (between + (usual - 1) * within)
    assert alike(effects, sizes, squares) == pytest.approx(rho, abs=1e-9)
    covariance = linalg.block_diag(*(y.var() * ((1 - rho) * np.eye(len(g)) + rho) for g in groups))
    model = float(covariance.sum()) / len(y) ** 2
    found = cluster_spread(effects, sizes, squares=squares)
    assert found.variance == pytest.approx(max(model, by_matrices(groups)[0]), rel=1e-7)


@given(values=st.lists(st.lists(st.integers(0, 4).map(float), min_size=3, max_size=3), min_size=3, max_size=12))
def test_equal_groups_have_the_usual_sandwich_and_one_degree_less_than_groups(values: Grouped) -> None:
    """CR1 of statsmodels: its factor G/(G-1) (n-1)/(n-k) with k = 1 is G/(G-1)."""
    effects, sizes, squares = effects_of(values)
    fit = sm.OLS(np.concatenate(values), np.ones(3 * len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": np.repeat(np.arange(len(values)), 3), "use_correction": True}
    )
    assume(fit.bse[0] > 1e-6)
    assert cluster_spread(effects, sizes, squares=squares) == pytest.approx((fit.bse[0] ** 2, len(values) - 1), rel=1e-9)


@given(groups=grouped, seed=st.integers(0, 99))
def test_through_the_tally_in_any_order(groups: Grouped, seed: int) -> None:
    y = np.concatenate(groups)
    place = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    order = np.random.default_rng(seed).permutation(len(y))
    effects, sizes, squares = effects_of(groups)
    found = spread(tally_groups(item_rows("mean", y[order]), place[order], len(groups)), QUOTIENT)
    wanted = cluster_spread(effects, sizes, squares=squares)
    assert found == pytest.approx(wanted, rel=1e-7, abs=1e-12)


def test_large_groups_that_agree_do_not_hide_how_alike_items_are() -> None:
    """Four large groups happen to be all right; the small ones, all right or all wrong, show that groups go together."""
    sizes = np.array([60.0] * 4 + [2.0] * 30)
    right = np.concatenate([sizes[:4], np.repeat([2.0, 0.0], [24, 6])])
    p = right.sum() / sizes.sum()
    u = (right - p * sizes) / sizes.sum()
    alone = cr2(u, sizes / sizes.sum())
    found = cluster_spread(u, sizes, squares=p * (1 - p) / sizes.sum())
    assert found.variance > 5 * alone
    assert found.variance == pytest.approx(p * (1 - p) / Groups.of(sizes).effective)


@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=40), factor=st.floats(0.01, 100))
def test_the_effective_number(sizes: list[int], factor: float) -> None:
    groups = Groups.of(sizes)
    assert 1 - 1e-12 <= groups.effective <= len(sizes) + 1e-9
    assert Groups.of(np.array(sizes) * factor).effective == pytest.approx(groups.effective)
    assert Groups.of([*sizes, 0.0]).number == len(sizes)
    assert Groups.of([7.0] * len(sizes)).effective == pytest.approx(len(sizes))
    if len(sizes) > 2:
        assert Groups.of([sizes[0] + sizes[1], *sizes[2:]]).effective <= groups.effective + 1e-9


def test_where_the_rule_draws_its_lines() -> None:
    assert Groups.of([3.0] * 4).too_few
    assert not Groups.of([3.0] * 5).too_few
    assert Groups.of([200.0] + [2.0] * 30).too_few
    assert Groups.of([3.0] * 19).few
    assert not Groups.of([3.0] * 20).few
    assert Groups.of([40.0] + [4.0] * 30).few  # 31 groups that are worth 12
