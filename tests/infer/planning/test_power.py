"""Power by the normal law: statsmodels, plain scans and the fully constrained likelihood as oracles; inverses of one another."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from statsmodels.stats.power import NormalIndPower, normal_sample_size_one_tail

from cases import every
from steelyard.errors import UsageError
from steelyard.infer.planning import power as normal

ALPHAS = st.floats(0.001, 0.4)
BETAS = st.floats(0.01, 0.45)
SIDES = st.booleans()


@st.composite
def designs(draw: st.DrawFn) -> tuple[normal.PowerDesign, float]:
    """A design of any family, and a theta that it can find with at most some millions of items."""
    family = draw(st.sampled_from(["two-sample", "ratio", "settled", "scores", "repeats", "outcomes", "healthy", "rule-out"]))
    effect = draw(st.sampled_from([1.0, 1.0, 1.7, 4.0]))
    if family in ("two-sample", "ratio", "settled"):
        sigma = draw(st.floats(0.05, 60))
        ratio = draw(st.floats(0.1, 20)) if family == "ratio" else 1.0
        reference = draw(st.integers(20, 10**6)) if family == "settled" else None
        floor = 0.0 if reference is None else 7 * sigma * math.sqrt(effect / reference)  # z_a + z_b stays below 6
        return (
            normal.two_sample(sigma, ratio=ratio, n_reference=reference, design_effect=effect),
            floor + draw(st.floats(0.01, 2)) * sigma,
        )
    if family in ("scores", "repeats"):
        sd = draw(st.floats(0.05, 30))
        within = (draw(st.floats(0.05, 30)), draw(st.floats(0.05, 30))) if family == "repeats" else (0.0, 0.0)
        answers = (draw(st.integers(1, 20)), draw(st.integers(1, 20))) if family == "repeats" else (1, 1)
        return normal.paired_scores(sd, within=within, answers=answers, design_effect=effect), draw(st.floats(0.01, 2)) * sd
    psi = draw(st.floats(0.01, 0.6))
    theta = draw(st.floats(0.02, 0.9)) * min(psi, 1 - psi)
    if family == "rule-out":
        return normal.rule_out_outcomes(psi, design_effect=effect), theta
    if family == "healthy":
        return normal.paired_outcomes(lambda t: psi + t, design_effect=effect), theta
    return normal.paired_outcomes(lambda _: psi, design_effect=effect), theta


# ---- oracles -------------------------------------------------------------------------------------------------------------


@given(sigma=st.floats(0.1, 50), effect=st.floats(0.02, 1.5), alpha=ALPHAS, beta=BETAS, ratio=st.floats(0.2, 10))
def test_two_samples_as_statsmodels(sigma: float, effect: float, alpha: float, beta: float, ratio: float) -> None:
    wanted = normal_sample_size_one_tail(effect, 1 - beta, alpha, std_null=math.sqrt(1 + 1 / ratio))
    ours = normal.items(normal.two_sample(sigma, ratio=ratio), effect * sigma, alpha, beta)
    assert ours - 1 <= wanted * (1 + 1e-9)
    assert wanted * (1 - 1e-9) <= ours
    reached = NormalIndPower(ddof=0).power(effect, ours, alpha, ratio=ratio, alternative="larger")
    assert normal.power(normal.two_sample(sigma, ratio=ratio), ours, effect * sigma, alpha) == pytest.approx(reached, abs=1e-10)


@settings(max_examples=30)
@given(effect=st.floats(0.02, 1.5), alpha=ALPHAS, beta=BETAS, sd=st.floats(0.05, 30))
def test_paired_scores_as_statsmodels_with_one_sample(effect: float, alpha: float, beta: float, sd: float) -> None:
    wanted = normal_sample_size_one_tail(effect * sd, 1 - beta, alpha, std_null=sd)
    ours = normal.items(normal.paired_scores(sd), effect * sd, alpha, beta)
    assert ours - 1 <= wanted * (1 + 1e-9)
    assert wanted * (1 - 1e-9) <= ours


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("reference", [300, 5000])
def test_a_settled_reference_by_a_plain_scan(reference: int, two_sided: bool) -> None:
    z = NormalDist().inv_cdf
    reach = -z(0.05 / (2 if two_sided else 1)) - z(0.1)
    theta = 1.3 * reach * 12 / math.sqrt(reference)
    scanned = next(n for n in range(1, 10**6) if reach * 12 * math.sqrt(1 / n + 1 / reference) <= theta)
    assert normal.items(normal.two_sample(12, n_reference=reference), theta, 0.05, 0.1, two_sided=two_sided) == scanned


@settings(max_examples=30)
@given(psi=st.floats(0.02, 0.9), part=st.floats(0.1, 0.99), alpha=ALPHAS, beta=BETAS)
def test_paired_outcomes_as_statsmodels_with_two_variances(psi: float, part: float, alpha: float, beta: float) -> None:
    theta = part * psi
    n = normal_sample_size_one_tail(theta, 1 - beta, alpha, std_null=math.sqrt(psi), std_alternative=math.sqrt(psi - theta**2))
    found = normal.items(normal.paired_outcomes(lambda _: psi), theta, alpha, beta)
    assert found - 1 <= n * (1 + 1e-9)
    assert n * (1 - 1e-9) <= found


def test_unequal_proportions_as_r_power_prop_test() -> None:
    """R's power.prop.test(n = 50, p1 = .5, p2 = .75), strict = FALSE, is a design with its own variance on either side."""
    pooled = 2 * 0.625 * 0.375
    design = normal.PowerDesign("unpaired", lambda _: pooled, lambda _: 0.25 + 0.1875)
    assert normal.power(design, 50, 0.25, 0.05, two_sided=True) == pytest.approx(0.7401659013, abs=1e-9)


@every("psi", [0.02, 0.05, 0.1, 0.2])
@every("part", [0.1, 0.25, 0.5])
def test_variance_at_the_edge_is_near_that_of_the_whole_likelihood(psi: float, part: float) -> None:
    """The formula lets the agreements stand still; the whole trinomial likelihood, maximised under the drop, moves them."""
    theta = part * psi

    def slope(c: float) -> float:
        return psi / 2 / (c + theta) + psi / 2 / c - 2 * (1 - psi) / (1 - 2 * c - theta)

    c = brentq(slope, 1e-12, (1 - theta) / 2 - 1e-12)
    assert normal.rule_out_outcomes(psi).null(theta) == pytest.approx(2 * c + theta - theta**2, rel=0.04)


# ---- any one from the others ---------------------------------------------------------------------------------------------


@given(problem=designs(), alpha=ALPHAS, beta=BETAS, two_sided=SIDES)
def test_smallest_n(problem: tuple[normal.PowerDesign, float], alpha: float, beta: float, two_sided: bool) -> None:
    design, theta = problem
    n = normal.items(design, theta, alpha, beta, two_sided=two_sided)
    assert normal.power(design, n, theta, alpha, two_sided=two_sided) >= 1 - beta - 1e-9
    if n > 1:
        assert normal.power(design, n - 1, theta, alpha, two_sided=two_sided) < 1 - beta + 1e-9


@given(problem=designs(), alpha=ALPHAS, beta=BETAS, two_sided=SIDES, n=st.integers(30, 10**6))
def test_theta_power_and_alpha_are_inverses(
    problem: tuple[normal.PowerDesign, float], alpha: float, beta: float, two_sided: bool, n: int
) -> None:
    design, _ = problem
    theta = normal.detectable(design, n, alpha, beta, two_sided=two_sided)
    assert theta is not None
    assume(design.alternative(theta) > 0)
    assert normal.power(design, n, theta, alpha, two_sided=two_sided) == pytest.approx(1 - beta, abs=1e-9)
    assert normal.false_alarms(design, n, theta, beta, two_sided=two_sided) == pytest.approx(alpha, rel=1e-7)
    assert normal.items(design, theta * (1 + 1e-12), alpha, beta, two_sided=two_sided) <= n


@given(problem=designs(), alpha=ALPHAS, beta=BETAS)
def test_two_sides_cost_more_and_equal_half_alpha(problem: tuple[normal.PowerDesign, float], alpha: float, beta: float) -> None:
    design, theta = problem
    both = normal.items(design, theta, alpha, beta, two_sided=True)
    assert both >= normal.items(design, theta, alpha, beta)
    assert both == normal.items(design, theta, alpha / 2, beta)


# ---- monotone where theory says so ---------------------------------------------------------------------------------------


@given(problem=designs(), alpha=ALPHAS, beta=BETAS, more=st.floats(1, 2))
def test_more_errors_allowed_need_no_more_items(problem: tuple[normal.PowerDesign, float], alpha: float, beta: float, more: float) -> None:
    design, theta = problem
    n = normal.items(design, theta, alpha, beta)
    assert normal.items(design, theta, min(0.5, alpha * more), beta) <= n
    assert normal.items(design, theta, alpha, min(0.5, beta * more)) <= n


@given(sigma=st.floats(0.1, 50), effect=st.floats(0.01, 2), alpha=ALPHAS, beta=BETAS, more=st.floats(1, 3))
def test_noise_and_smaller_drops_need_more_items(sigma: float, effect: float, alpha: float, beta: float, more: float) -> None:
    theta = effect * sigma
    n = normal.items(normal.two_sample(sigma), theta, alpha, beta)
    assert normal.items(normal.two_sample(sigma * more), theta, alpha, beta) >= n
    assert normal.items(normal.two_sample(sigma), theta / more, alpha, beta) >= n
    assert normal.items(normal.two_sample(sigma, design_effect=more), theta, alpha, beta) >= n
    assert normal.items(normal.two_sample(sigma, ratio=more), theta, alpha, beta) <= n


@given(psi=st.floats(0.02, 0.45), part=st.floats(0.05, 0.9), alpha=ALPHAS, beta=BETAS, more=st.floats(1, 2))
def test_more_disagreement_needs_more_items(psi: float, part: float, alpha: float, beta: float, more: float) -> None:
    theta = part * psi
    ours = [normal.items(normal.paired_outcomes(lambda _, p=p: p), theta, alpha, beta) for p in (psi, psi * more)]  # type: ignore[misc]
    assert ours[0] <= ours[1]
    edge = [normal.items(normal.rule_out_outcomes(p), theta, alpha, beta) for p in (psi, psi * more)]
    assert edge[0] <= edge[1]


def test_a_large_reference_is_a_known_one() -> None:
    known = normal.items(normal.paired_scores(50), 3, 0.05, 0.2)  # variance sigma^2 / n
    assert normal.items(normal.two_sample(50, n_reference=10**12), 3, 0.05, 0.2) == known
    assert normal.items(normal.two_sample(50, ratio=1e12), 3, 0.05, 0.2) == known
    assert normal.items(normal.two_sample(50, n_reference=3435), 3, 0.05, 0.2) == 3435


def test_scale_changes_nothing() -> None:
    assert normal.items(normal.two_sample(0.5), 0.03, 0.05, 0.2) == normal.items(normal.two_sample(50), 3, 0.05, 0.2)


# ---- edges ---------------------------------------------------------------------------------------------------------------


def test_a_coin_needs_one_item_and_finds_nothing() -> None:
    assert normal.items(normal.two_sample(50), 3, 0.5, 0.5) == 1
    assert normal.detectable(normal.two_sample(50), 10, 0.5, 0.5) == 0.0


def test_a_reference_that_is_too_small_says_what_it_leaves() -> None:
    floor = normal.minimum_detectable(50 / math.sqrt(100), 0.05, 0.2)
    with pytest.raises(UsageError, match=f"{floor:.4g}"):
        normal.items(normal.two_sample(50, n_reference=100), 3, 0.05, 0.2)


def test_too_many_items_do_not_blame_a_reference_that_was_not_given() -> None:
    """sigma 50, theta 0.0001 asks for 3.1e12 items: more than MOST, but no reference is in the way."""
    with pytest.raises(UsageError) as told:
        normal.items(normal.two_sample(50), 0.0001, 0.05, 0.2)
    assert "larger reference" not in str(told.value)
    assert "above 0," not in str(told.value)


def test_theta_that_not_even_the_largest_drop_reaches_is_none() -> None:
    assert normal.detectable(normal.two_sample(0.5), 2, 0.05, 0.2, most=1.0) is None


def test_power_far_out_stays_a_probability() -> None:
    for theta in (1e-9, 0.1, 50.0, 5000.0):
        for n in (1, 100, 10**9):
            assert 0 <= normal.power(normal.two_sample(50), n, theta, 0.05) <= 1
            assert 0 <= normal.false_alarms(normal.two_sample(50), n, theta, 0.2) <= 1


@pytest.mark.parametrize(("icc", "size", "effect"), [(0, 10, 1.0), (0.1, 11, 2.0), (1, 7, 7.0), (0.25, 1, 1.0)])
def test_design_effect(icc: float, size: float, effect: float) -> None:
    assert normal.design_effect(icc, size) == pytest.approx(effect)
