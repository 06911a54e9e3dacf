"""Exact power of the paired design: other programs, trinomial enumeration, invariants, simulated runs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cases import every
from steelyard.errors import UsageError
from steelyard.infer.normal import STANDARD
from steelyard.infer.paired import mcnemar as flips
from steelyard.infer.planning import mcnemar_power as power
from steelyard.infer.planning import rule_out, search

P_VALUES = {"mcnemar-midp": flips.mcnemar_midp, "mcnemar-exact": flips.mcnemar_exact}
worlds = st.tuples(st.floats(0.02, 1), st.floats(0, 1)).map(lambda pair: (pair[0], pair[0] * pair[1]))
alphas = st.sampled_from([0.001, 0.01, 0.05, 0.2])
tests = st.sampled_from(power.TESTS)
alternatives = st.sampled_from(power.ALTERNATIVES)


# ---- other programs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "lost", "gained", "alternative", "expected"),
    [  # R pwrss 1.3.1, power.exact.mcnemar(method = "exact"), the numbers of its own tests
        (50, 0.32, 0.08, "less", 0.839356985),
        (200, 0.20, 0.10, "less", 0.80298386),
        (249, 0.20, 0.10, "two-sided", 0.801446921),
    ],
)
def test_the_exact_test_as_in_r(n: int, lost: float, gained: float, alternative: str, expected: float) -> None:
    assert power.mcnemar_power(n, lost + gained, lost - gained, 0.05, "mcnemar-exact", alternative) == pytest.approx(expected, abs=1e-8)


def test_power_and_size_as_in_gpower() -> None:
    """G*Power 3.1 manual, chapter 5: odds ratio 0.25, 40% discordant, N = 50, one-sided; it drops tails of about 1e-5."""
    assert power.mcnemar_power(50, 0.4, 0.24, 0.05, "mcnemar-exact") == pytest.approx(0.839343, abs=2e-5)
    assert power.mcnemar_power(50, 0.4, 0.0, 0.05, "mcnemar-exact") == pytest.approx(0.032578, abs=1e-6)


@pytest.mark.parametrize(("psi", "theta", "normal"), [(0.04, 0.01, 2471), (0.1, 0.02, 1544)])
def test_the_normal_formula_is_close_for_mid_p_and_short_for_the_exact_test(psi: float, theta: float, normal: int) -> None:
    """The normal formula's n from an independent calculation; simulated there: .80 to .82 for mid-p, .77 to .79 exact."""
    assert abs(power.mcnemar_items(psi, theta, 0.05, 0.2).n_stable / normal - 1) < 0.01
    assert 0.80 < power.mcnemar_power(normal, psi, theta, 0.05) < 0.82
    assert 0.77 < power.mcnemar_power(normal, psi, theta, 0.05, "mcnemar-exact") < 0.79


# ---- critical losses ---------------------------------------------------------------------------------------------------


@every("test", power.TESTS)
@every("alternative", power.ALTERNATIVES)
@every("alpha", [0.05, 0.013])
def test_critical_losses_are_those_of_the_test_for_every_count_up_to_400(test: str, alternative: str, alpha: float) -> None:
    critical = power.critical_losses(np.arange(401), alpha, test, alternative)
    for d, c in enumerate(critical.tolist()):
        assert c == d + 1 or P_VALUES[test](d - c, c, alternative) <= alpha
        assert c == 0 or P_VALUES[test](d - c + 1, c - 1, alternative) > alpha


@every("test", power.TESTS)
@every("alpha", [0.5, 0.25, 0.0625, 1 / 512, 93 / 256, 0.05, 1e-9, 0.9])
def test_critical_losses_are_exact_in_whole_numbers_ties_included(test: str, alpha: float) -> None:
    for d in [*range(1, 41), 99, 100]:
        tails = [Fraction(sum(math.comb(d, j) for j in range(k, d + 1)), 2**d) for k in range(d + 2)]
        if test == "mcnemar-midp":
            tails = [(tail + above) / 2 for tail, above in zip(tails, [*tails[1:], Fraction(0)], strict=True)]
        exact = next((k for k in range(d + 1) if tails[k] <= Fraction(alpha)), d + 1)
        assert power.critical_losses(np.array([d]), alpha, test).tolist() == [exact], (d, alpha)


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-3, 1e-8])
def test_critical_losses_of_many_disagreements_by_scipy(alpha: float) -> None:
    d = np.concatenate([np.arange(400, 900), np.arange(99_900, 100_000), [3_000_001]])
    c = power.critical_losses(d, alpha, "mcnemar-exact")
    assert np.all(stats.binom.sf(c - 1, d, 0.5) <= alpha)
    assert np.all(stats.binom.sf(c - 2, d, 0.5) > alpha)
    c = power.critical_losses(d, alpha)
    assert np.all(stats.binom.sf(c, d, 0.5) + stats.binom.pmf(c, d, 0.5) / 2 <= alpha)
    assert np.all(stats.binom.sf(c - 1, d, 0.5) + stats.binom.pmf(c - 1, d, 0.5) / 2 > alpha)


def test_no_disagreement_never_rejects_and_shapes_are_kept() -> None:
    assert power.critical_losses(np.zeros((2, 2), dtype=np.int64), 0.9).tolist() == [[1, 1], [1, 1]]


# ---- power by enumeration ----------------------------------------------------------------------------------------------


@given(n=st.integers(1, 30), world=worlds, alpha=alphas, test=tests, alternative=alternatives)
def test_power_is_the_trinomial_sum_over_all_tables(n: int, world: tuple[float, float], alpha: float, test: str, alternative: str) -> None:
    psi, theta = world
    b, c = (psi + theta) / 2, (psi - theta) / 2
    total = 0.0
    for lost in range(n + 1):
        for gained in range(n - lost + 1):
            if P_VALUES[test](gained, lost, alternative) <= alpha:
                ways = math.comb(n, lost) * math.comb(n - lost, gained)
                total += ways * b**lost * c**gained * max(0.0, 1 - psi) ** (n - lost - gained)
    assert power.mcnemar_power(n, psi, theta, alpha, test, alternative) == pytest.approx(total, abs=1e-11)


@given(n=st.integers(1, 400), psi=st.floats(0.02, 1), alpha=alphas)
def test_the_exact_test_keeps_its_level_and_mid_p_has_more_power(n: int, psi: float, alpha: float) -> None:
    assert power.mcnemar_power(n, psi, 0.0, alpha, "mcnemar-exact") <= alpha + 1e-12
    assert power.mcnemar_power(n, psi, 0.0, alpha, "mcnemar-exact", "two-sided") <= alpha + 1e-12
    assert power.mcnemar_power(n, psi, psi / 2, alpha) >= power.mcnemar_power(n, psi, psi / 2, alpha, "mcnemar-exact") - 1e-12


@given(n=st.integers(5, 3000), world=worlds, alpha=alphas, test=tests, alternative=alternatives)
def test_power_rises_with_the_drop_and_with_alpha(n: int, world: tuple[float, float], alpha: float, test: str, alternative: str) -> None:
    psi, theta = world
    here = power.mcnemar_power(n, psi, theta, alpha, test, alternative)
    assert -1e-12 <= here <= 1 + 1e-12
    assert power.mcnemar_power(n, psi, (theta + psi) / 2, alpha, test, alternative) >= here - 1e-12
    assert power.mcnemar_power(n, psi, theta, alpha * 1.5, test, alternative) >= here - 1e-12


@pytest.mark.parametrize("test", power.TESTS)
def test_simulated_runs_reject_as_often_as_computed(test: str) -> None:
    n, psi, theta, runs = 300, 0.12, 0.05, 4000
    draws = np.random.default_rng(20).multinomial(n, [(psi + theta) / 2, (psi - theta) / 2, 1 - psi], runs)
    rejected = sum(P_VALUES[test](int(gained), int(lost), "less") <= 0.05 for lost, gained, _ in draws)
    exact = power.mcnemar_power(n, psi, theta, 0.05, test)
    assert abs(rejected / runs - exact) < 4 * math.sqrt(exact * (1 - exact) / runs)


# ---- the searches ------------------------------------------------------------------------------------------------------


@every("seed", range(8))
def test_items_are_those_of_a_brute_scan(seed: int) -> None:
    draw = np.random.default_rng(seed)
    psi = float(draw.choice([0.05, 0.3, 0.8, 1.0]))
    theta = psi * float(draw.uniform(0.4, 1))
    alpha, beta = float(draw.choice([0.01, 0.05, 0.1])), float(draw.choice([0.1, 0.2, 0.5]))
    test, alternative = str(draw.choice(power.TESTS)), str(draw.choice(power.ALTERNATIVES))
    found = power.mcnemar_items(psi, theta, alpha, beta, test, alternative)
    values = np.array([power.mcnemar_power(n, psi, theta, alpha, test, alternative) for n in range(1, 2 * found.n_stable + 30)])
    met = values >= 1 - beta - 1e-12
    failing = np.flatnonzero(~met)
    assert found.n_first == int(met.argmax()) + 1
    assert found.n_stable == int(failing[-1]) + 2
    assert found.achieved == pytest.approx(values[found.n_stable - 1], abs=1e-12)


def test_beyond_the_counts_looked_at_no_tooth_is_deeper() -> None:
    """What the search takes for granted, looked at ten times further than it looks itself."""
    for psi, theta, alternative in [(0.04, 0.01, "less"), (0.1, 0.02, "two-sided"), (1.0, 0.2, "less")]:
        found = power.mcnemar_items(psi, theta, 0.05, 0.2, alternative=alternative)
        n = np.unique(np.linspace(found.n_stable, 10 * found.n_stable, 150).astype(int))
        assert all(power.mcnemar_power(int(k), psi, theta, 0.05, alternative=alternative) >= 0.8 for k in n)


def test_without_mixing_over_disagreements_first_and_stable_part() -> None:
    assert power.mcnemar_items(1.0, 0.2, 0.05, 0.2).n_first < power.mcnemar_items(1.0, 0.2, 0.05, 0.2).n_stable


@given(n=st.integers(60, 5000), psi=st.floats(0.1, 1), alpha=alphas, beta=st.sampled_from([0.1, 0.2, 0.5]), test=tests)
@settings(max_examples=25, deadline=None)
def test_the_smallest_drop_is_found_and_a_smaller_one_is_not(n: int, psi: float, alpha: float, beta: float, test: str) -> None:
    theta = float(power.mcnemar_thetas([n], psi, alpha, beta, test)[0])
    if math.isnan(theta):
        assert power.mcnemar_power(n, psi, psi, alpha, test) < 1 - beta
        return
    assert power.mcnemar_power(n, psi, theta, alpha, test) >= 1 - beta - 1e-11
    assert power.mcnemar_power(n, psi, theta * (1 - 1e-9), alpha, test) < 1 - beta


def test_the_smallest_drop_when_discordance_grows_with_it() -> None:
    (theta,) = power.mcnemar_thetas([2471], 0.03, 0.05, 0.2, healthy=True).tolist()
    assert power.mcnemar_power(2471, 0.03 + theta, theta, 0.05) == pytest.approx(0.8, abs=1e-9)


def test_the_smallest_drops_of_many_sizes_are_those_of_each_alone() -> None:
    sizes = [1, 3, 9, 30, 31, 500, 20_000, 300_000]
    for healthy, psi in [(False, 0.3), (True, 0.02), (True, 0.0)]:
        together = power.mcnemar_thetas(sizes, psi, 0.05, 0.2, alternative="two-sided", healthy=healthy)
        alone = [power.mcnemar_thetas([n], psi, 0.05, 0.2, alternative="two-sided", healthy=healthy)[0] for n in sizes]
        assert together == pytest.approx(alone, rel=1e-10, nan_ok=True)
    together = rule_out.rule_out_thetas(sizes[:-1], 0.3, 0.05, 0.2)
    assert together == pytest.approx([rule_out.rule_out_thetas([n], 0.3, 0.05, 0.2)[0] for n in sizes[:-1]], rel=1e-10, nan_ok=True)


@given(n=st.integers(1, 3000), psi=st.floats(0.02, 1), alpha=alphas, beta=st.sampled_from([0.1, 0.2, 0.5]))
@settings(max_examples=25, deadline=None)
def test_the_smallest_drop_ruled_out_is_and_a_smaller_one_is_not(n: int, psi: float, alpha: float, beta: float) -> None:
    theta = float(rule_out.rule_out_thetas([n], psi, alpha, beta)[0])
    if math.isnan(theta):
        assert rule_out.rule_out_power(n, psi, 1 - 1e-9, alpha) < 1 - beta
        return
    assert rule_out.rule_out_power(n, psi, theta, alpha) >= 1 - beta - 1e-11
    assert rule_out.rule_out_power(n, psi, theta * (1 - 1e-9), alpha) < 1 - beta


@given(d=st.integers(0, 5000), share=st.floats(0, 1), alpha=st.sampled_from([1e-9, 0.001, 0.05, 0.4, 0.9]), test=tests)
def test_tails_carried_from_neighbour_to_neighbour_are_the_tails(d: int, share: float, alpha: float, test: str) -> None:
    among = np.arange(d, d + 600)
    critical = power.critical_losses(among, alpha, test)
    tails = power.neighbouring_tails(among, critical, np.full(among.size, share))[0]
    assert tails == pytest.approx(power.at_least(among, critical, share), abs=1e-12)


@pytest.mark.parametrize("alpha", [1e-12, 1e-4, 0.01, 0.05, 0.3, 0.8, 0.999])
@pytest.mark.parametrize("test", power.TESTS)
def test_critical_losses_that_are_taken_as_they_come_are_the_settled_ones(alpha: float, test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    d = np.concatenate([np.arange(2500), np.arange(50_000, 51_000)])
    taken = power.critical_losses(d, alpha, test)
    monkeypatch.setattr(power, "_doubt", lambda d, z: np.ones(d.size))
    assert np.array_equal(taken, power.critical_losses(d, alpha, test))


@given(n=st.integers(20, 2000), world=worlds, beta=st.sampled_from([0.1, 0.2, 0.5]), test=tests, alternative=alternatives)
@settings(max_examples=25, deadline=None)
def test_the_smallest_alpha_is_enough_and_a_smaller_one_is_not(
    n: int, world: tuple[float, float], beta: float, test: str, alternative: str
) -> None:
    psi, theta = world
    try:
        alpha = power.mcnemar_alpha(n, psi, theta, beta, test, alternative)
    except UsageError:
        assert (
            not power.mcnemar_power(n, psi, theta, 1e-300, test, alternative)
            < 1 - beta
            <= power.mcnemar_power(n, psi, theta, 0.999, test, alternative)
        )
        return
    assert power.mcnemar_power(n, psi, theta, alpha, test, alternative) >= 1 - beta - 1e-11
    assert power.mcnemar_power(n, psi, theta, alpha * (1 - 1e-6), test, alternative) < 1 - beta


# ---- ruling out --------------------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(n=st.integers(1, 300), theta=st.floats(0.005, 0.6), alpha=alphas)
def test_passing_losses_are_those_of_tango(n: int, theta: float, alpha: float) -> None:
    z = -STANDARD.inv_cdf(alpha)
    for d, most in enumerate(rule_out.passing_losses(n, np.arange(n + 1), theta, z).tolist()):
        passes = [flips.tango_z(d - lost, lost, n, -theta) > z for lost in range(d + 1)]
        assert most == sum(passes) - 1
        assert passes == sorted(passes, reverse=True)  # one cut: more losses never help


@given(n=st.integers(1, 22), psi=st.floats(0.02, 1), theta=st.floats(0.02, 0.6), alpha=alphas)
def test_ruling_out_is_the_trinomial_sum_over_all_tables(n: int, psi: float, theta: float, alpha: float) -> None:
    z, total = -STANDARD.inv_cdf(alpha), 0.0
    for lost in range(n + 1):
        for gained in range(n - lost + 1):
            if flips.tango_z(gained, lost, n, -theta) > z:
                ways = math.comb(n, lost) * math.comb(n - lost, gained)
                total += ways * (psi / 2) ** (lost + gained) * max(0.0, 1 - psi) ** (n - lost - gained)
    assert rule_out.rule_out_power(n, psi, theta, alpha) == pytest.approx(total, abs=1e-11)


def test_simulated_runs_rule_out_as_often_as_computed() -> None:
    n, psi, theta, runs = 500, 0.08, 0.04, 1500
    draws = np.random.default_rng(21).multinomial(n, [psi / 2, psi / 2, 1 - psi], runs)
    passed = sum(flips.tango(int(gained), int(lost), n, 0.95, "lower")[0] > -theta for lost, gained, _ in draws)
    exact = rule_out.rule_out_power(n, psi, theta, 0.05)
    assert abs(passed / runs - exact) < 4 * math.sqrt(exact * (1 - exact) / runs)


@every("seed", range(12))
def test_items_to_rule_out_are_those_of_a_brute_scan(seed: int) -> None:
    draw = np.random.default_rng(seed)
    psi, theta = float(draw.choice([0.002, 0.05, 0.3, 1.0])), float(draw.uniform(0.08, 0.3))
    alpha, beta = float(draw.choice([0.01, 0.05, 0.2])), float(draw.choice([0.05, 0.2, 0.5]))
    found = rule_out.rule_out_items(psi, theta, alpha, beta)
    values = rule_out._rule_out_along(psi, theta, -STANDARD.inv_cdf(alpha), 1, 4 * found.n_stable + 200)  # each n on its own: below
    met = values >= 1 - beta - 1e-12
    assert (found.n_first, found.n_stable) == (int(met.argmax()) + 1, int(np.flatnonzero(~met)[-1]) + 2)
    assert found.achieved == pytest.approx(values[found.n_stable - 1], abs=1e-12)


def test_a_stretch_carried_along_is_each_n_on_its_own() -> None:
    z = -STANDARD.inv_cdf(0.05)
    for psi, first in [(0.1, 1500), (1.0, 40), (0.003, 1)]:  # across the end of a block
        along = rule_out._rule_out_along(psi, 0.03, z, first, 300)
        alone = [rule_out.rule_out_power(n, psi, 0.03, 0.05) for n in range(first, first + 300)]
        assert along == pytest.approx(alone, abs=1e-12)


def test_at_scale_the_teeth_are_small_and_the_stable_n_close_to_the_first() -> None:
    found = rule_out.rule_out_items(0.04, 0.01, 0.05, 0.2)
    assert found.n_first < found.n_stable < found.n_first * 1.02
    normal = (1.6448536 + 0.8416212) ** 2 * 0.04 / 0.01**2
    assert 1 < found.n_first / normal < 1.06


# ---- refusals ----------------------------------------------------------------------------------------------------------


def test_impossible_questions_are_advice() -> None:
    with pytest.raises(UsageError, match="only where the systems disagree"):
        power.mcnemar_power(100, 0.02, 0.05, 0.05)
    with pytest.raises(UsageError, match=r"theta must be above 0\."):
        power.mcnemar_items(0.1, 0.0, 0.05, 0.2)
    with pytest.raises(UsageError, match="discordance must be"):
        power.mcnemar_power(100, 0.0, 0.0, 0.05)
    with pytest.raises(UsageError, match="at least one item"):
        power.mcnemar_power(0, 0.1, 0.02, 0.05)
    with pytest.raises(UsageError, match="mcnemar-midp or mcnemar-exact"):
        power.mcnemar_power(100, 0.1, 0.02, 0.05, "wilcoxon")
    with pytest.raises(UsageError, match="alternative must be less or two-sided"):
        power.mcnemar_power(100, 0.1, 0.02, 0.05, alternative="greater")
    with pytest.raises(UsageError, match="take more items"):
        rule_out.rule_out_theta(1, 0.9, 0.05, 0.2)
    with pytest.raises(UsageError, match="whatever the alpha"):
        power.mcnemar_alpha(3, 0.1, 0.1, 0.2)
    with pytest.raises(UsageError, match=r"1,200 items reach power 0\.8 even at an alpha of 1e-300, so there is no"):
        power.mcnemar_alpha(1200, 1.0, 1.0, 0.2)
    with pytest.raises(UsageError, match=r"10,000,000 items reach only 0\.06119, not 0\.8\."):
        power.mcnemar_items(0.1, 0.00001, 0.05, 0.2)
    with pytest.raises(UsageError, match=r"1,000 items reach only 0\.06111, not 0\.8\."):
        rule_out.rule_out_items(0.1, 0.001, 0.05, 0.2, cap=1000)
    with pytest.raises(UsageError, match=r"theta must be a number strictly between 0 and 1, not 0\.0\."):
        rule_out.rule_out_items(0.1, 0.0, 0.05, 0.2)


def test_ten_million_items_are_the_default_cap() -> None:
    assert search.CAP == 10_000_000


# ---- few looks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [40, 1000, 30_000])
@pytest.mark.parametrize(("module", "function"), [(power, "mcnemar_power"), (rule_out, "rule_out_power")])
def test_an_alpha_takes_few_looks_at_the_power(module: object, function: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, ask = [], getattr(module, function)

    def counted(*args: object) -> object:
        looks.append(args)
        return ask(*args)

    monkeypatch.setattr(module, function, counted)
    theta = 2 * math.sqrt(0.1 / n)
    found = power.mcnemar_alpha(n, 0.1, theta, 0.2) if module is power else rule_out.rule_out_alpha(n, 0.1, theta, 0.2)
    assert 0 < found < 1
    assert len(looks) <= 10


def test_drops_of_many_sizes_work_out_who_may_disagree_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, ask = [], power.critical_losses
    monkeypatch.setattr(power, "critical_losses", lambda *args: (looks.append(args), ask(*args))[1])
    alone = [float(power.mcnemar_thetas([n], 0.1, 0.05, 0.2)[0]) for n in (100, 1000, 20_000)]
    looks.clear()
    assert power.mcnemar_thetas([100, 1000, 20_000], 0.1, 0.05, 0.2).tolist() == pytest.approx(alone, rel=1e-12)
    assert len(looks) == 1


def test_a_size_that_rules_out_is_found_by_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, ask = [], rule_out._rule_out_along

    def counted(discordance: float, theta: float, z: float, first: int, count: int) -> search.FloatArray:
        looks.append(count)
        return ask(discordance, theta, z, first, count)

    monkeypatch.setattr(rule_out, "_rule_out_along", counted)
    rule_out.rule_out_items(0.05, 0.005, 0.05, 0.2)
    assert sum(count == 1 for count in looks) <= 10
    assert sum(looks) <= 10 + 2 * 400 + 1  # and one stretch of two teeth to either side
