"""The decision of a guard: three words from a p-value, a bound and what could have been found; and the numbers it leans on."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.infer.normal import lower_tail
from steelyard.infer.paired.decision import agreeing_bounds, decide, most_losses, run_excess, satterthwaite, smallest_p, two_sample_p
from steelyard.infer.paired.mcnemar import mcnemar_midp, tango, tango_z

ALPHAS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
unit = st.floats(0, 1)
small = st.floats(0.0001, 0.5)
drops = st.floats(-1, 1)


def midp(gained: int, lost: int) -> Fraction:
    """P(more losses | a fair coin for each disagreement) + P(as many) / 2, in whole numbers."""
    total = gained + lost
    above = sum(math.comb(total, k) for k in range(lost + 1, total + 1))
    return (Fraction(above) + Fraction(math.comb(total, lost), 2)) / 2**total


# Golden values: R 4.x, pbinom(lost, D, .5, lower = FALSE) + dbinom(lost, D, .5)/2, by hand from Pascal's triangle


@pytest.mark.parametrize(
    ("lost", "gained", "p"),
    [
        (3, 0, 1 / 16),
        (4, 0, 1 / 32),
        (7, 2, (10 + 36 / 2) / 512),  # C(9,8)+C(9,9) = 10, C(9,7) = 36
        (8, 2, (11 + 45 / 2) / 1024),
        (1, 0, 1 / 4),
    ],
)
def test_midp_of_losses_by_pascals_triangle(lost: int, gained: int, p: float) -> None:
    assert mcnemar_midp(gained, lost, "less") == pytest.approx(p, rel=1e-13)
    assert midp(gained, lost) == Fraction(p)


def test_three_and_seven_to_two_are_not_regressions() -> None:
    for lost, gained in ((3, 0), (7, 2)):
        assert decide(mcnemar_midp(gained, lost, "less"), 0.05) == "pass"
    assert decide(mcnemar_midp(0, 4, "less"), 0.05) == "regression"
    assert decide(mcnemar_midp(2, 8, "less"), 0.05) == "regression"


# The three words


@given(p=unit, alpha=small)
def test_without_theta_the_p_value_alone_decides(p: float, alpha: float) -> None:
    assert decide(p, alpha) == ("regression" if p <= alpha else "pass")


@given(p=unit, alpha=small, theta=st.floats(0.001, 1), lower=drops)
def test_with_theta_a_pass_rules_it_out(p: float, alpha: float, theta: float, lower: float) -> None:
    verdict = decide(p, alpha, theta=theta, lower=lower)
    assert (verdict == "regression") == (p <= alpha)
    if verdict == "pass":
        assert lower > -theta
    if verdict == "inconclusive":
        assert lower <= -theta


def test_a_bound_at_theta_itself_does_not_rule_it_out() -> None:
    assert decide(0.5, 0.05, theta=0.02, lower=-0.02) == "inconclusive"
    assert decide(0.5, 0.05, theta=0.02, lower=math.nextafter(-0.02, 0)) == "pass"


def test_an_unknown_bound_rules_nothing_out() -> None:
    assert decide(0.5, 0.05, theta=0.9, lower=None) == "inconclusive"


@pytest.mark.parametrize("theta", [None, 0.5])
def test_nothing_attainable_is_inconclusive_theta_or_not(theta: float | None) -> None:
    assert decide(0.2, 0.05, theta=theta, lower=0.0, attainable=0.0625) == "inconclusive"
    assert decide(0.2, 0.0625, theta=theta, lower=0.0, attainable=0.0625) == "pass"


@every("alpha", ALPHAS)
def test_equality_is_a_regression(alpha: float) -> None:
    assert decide(alpha, alpha) == "regression"
    assert decide(math.nextafter(alpha, 1), alpha) == "pass"


# Bounds


@given(lower=drops, width=unit, p=unit, alpha=small, margin=st.floats(0, 0.5))
def test_bounds_never_contradict_the_p_value(lower: float, width: float, p: float, alpha: float, margin: float) -> None:
    low, high = agreeing_bounds(lower, lower + width, p, alpha, margin)
    assert low is not None
    assert high is not None
    assert low <= high
    if p <= alpha:
        assert high <= -margin
    else:
        assert high >= -margin


@given(lower=drops, width=unit, p=unit, alpha=small)
def test_bounds_that_agree_stay_as_they_are(lower: float, width: float, p: float, alpha: float) -> None:
    upper = lower + width
    if (p <= alpha) == (upper <= 0) and not (upper == 0 and p > alpha):
        assert agreeing_bounds(lower, upper, p, alpha, 0.0) == (lower, upper)


def test_unknown_bounds_stay_unknown() -> None:
    assert agreeing_bounds(None, None, 0.01, 0.05, 0.0) == (None, None)


def test_all_tables_of_sixty_disagreements() -> None:
    """Every (lost, gained) up to 60: mid-p against whole-number arithmetic, the word, and the Tango bound after agreement."""
    n, alpha, disagreements = 100, 0.05, 0
    for lost, gained in itertools.product(range(61), repeat=2):
        if lost + gained > 60:
            continue
        p = mcnemar_midp(gained, lost, "less")
        exact = Fraction(1) if lost == gained == 0 else midp(gained, lost)
        if (lost, gained) != (0, 0):
            assert p == pytest.approx(float(exact), rel=1e-9)
        assert (decide(p, alpha) == "regression") == (exact <= Fraction(1, 20))
        raw = tango(gained, lost, n, 1 - 2 * alpha)
        lower, upper = agreeing_bounds(raw[0], raw[1], p, alpha, 0.0)
        assert lower is not None
        assert upper is not None
        assert lower < upper, (lost, gained)
        assert (upper <= 0) if p <= alpha else (upper >= 0)
        disagreements += (raw[1] <= 0) != (p <= alpha)
        if p > alpha:
            assert decide(p, alpha, theta=0.1, lower=lower) == ("pass" if lower > -0.1 else "inconclusive")
    assert 0 < disagreements < 30  # the bound is moved on a few tables only, or it would not be the Tango interval any more


# Two samples


@given(d=st.floats(-20, 20), error=st.floats(0.01, 10), margin=st.floats(0, 5))
def test_two_sample_p_is_the_lower_tail(d: float, error: float, margin: float) -> None:
    p = two_sample_p(d, error, margin)
    assert p == lower_tail((d + margin) / error)
    assert two_sample_p(d - 0.01, error, margin) <= p


def test_two_sample_p_golden() -> None:
    """SciPy 1.x: norm.cdf(-2) and norm.cdf(-1.6448536269514722)."""
    assert two_sample_p(-2.0, 1.0) == pytest.approx(0.022750131948179195, rel=1e-14)
    assert two_sample_p(-1.6448536269514722, 1.0) == pytest.approx(0.05, rel=1e-14)
    assert two_sample_p(-3.0, 1.0, margin=1.0) == two_sample_p(-2.0, 1.0)


def test_without_noise_any_fall_is_certain() -> None:
    assert two_sample_p(-1e-300, 0.0) == 0.0
    assert two_sample_p(0.0, 0.0) == 1.0
    assert two_sample_p(-0.5, 0.0, margin=1.0) == 1.0


# What could have been found


@every("units", range(1, 12))
def test_smallest_p_is_the_smallest_over_all_outcomes(units: int) -> None:
    assert smallest_p(units, "mcnemar-midp") == min(float(midp(g, w)) for w in range(units + 1) for g in range(units + 1 - w) if w + g)
    signs = list(itertools.product((-1, 1), repeat=units))
    assert smallest_p(units, "sign-flip") == sum(sum(flips) <= -units for flips in signs) / len(signs)


def test_smallest_p_of_many_items_is_below_every_alpha() -> None:
    assert smallest_p(1001, "mcnemar-midp") == 0.0
    assert 0 < smallest_p(1000, "sign-flip") < 1e-300


@every("alpha", ALPHAS)
def test_most_losses_is_the_last_count_that_is_not_significant(alpha: float) -> None:
    """Against the exact law in fractions, at every number of gains up to 30, and none where even all losses do not do."""
    for gained in range(31):
        last = next(lost for lost in range(1000) if midp(gained, lost + 1) <= Fraction(alpha))
        assert most_losses(lambda lost: mcnemar_midp(gained, lost, "less"), 1000, alpha) == last, gained  # noqa: B023
        assert most_losses(lambda lost: mcnemar_midp(gained, lost, "less"), last, alpha) is None, gained  # noqa: B023


def test_most_losses_of_many() -> None:
    """Normal approximation: a surplus of about 1.645 sqrt(D), to a few items."""
    for gained in (500, 50_000, 5_000_000):
        lost = most_losses(lambda lost: mcnemar_midp(gained, lost, "less"), 10 * gained, 0.05)  # noqa: B023
        assert lost is not None
        assert lost - gained == pytest.approx(1.6449 * math.sqrt(lost + gained), abs=3)


@every("n", [50, 90])
@every("margin", [0.003, 0.05, 0.2])
def test_more_losses_never_raise_the_p_value(n: int, margin: float) -> None:
    """What `most_losses` rests on: beside fixed gains, p falls as losses rise, by McNemar and by Tango's score."""
    for gained in range(0, n // 2, 3):
        exact = [mcnemar_midp(gained, lost, "less") for lost in range(n - gained + 1)]
        score = [lower_tail(tango_z(gained, lost, n, -margin)) for lost in range(n - gained + 1)]
        assert exact == sorted(exact, reverse=True)
        assert score == sorted(score, reverse=True)


# Variance that runs share


def test_run_excess_by_hand() -> None:
    """Means .80 .84 .82: variance .0004; within .04 over 1000 items: .00004."""
    assert run_excess([0.80, 0.84, 0.82], 0.04, 1000) == pytest.approx(0.00036)
    assert run_excess([0.8, 0.8001], 0.04, 1000) == 0.0
    assert run_excess([0.8], 0.0, 10) == 0.0
    assert run_excess([0.3, 0.3, 0.3], 0.0, 10) == 0.0


@given(means=st.lists(unit, min_size=2, max_size=8), within=unit, n=st.integers(1, 10_000))
def test_run_excess_is_never_negative_and_falls_with_the_noise(means: list[float], within: float, n: int) -> None:
    assert run_excess(means, within, n) >= 0
    assert run_excess(means, within, n) <= run_excess(means, 0.0, n)


def test_satterthwaite_golden() -> None:
    """Welch's df for s1^2/n1 = 1.2, s2^2/n2 = .3 with 9 and 19 df: 1.5^2 / (1.44/9 + .09/19)."""
    assert satterthwaite([(1.2, 9), (0.3, 19)]) == pytest.approx(13.6582, abs=1e-4)
    assert satterthwaite([(0.0, 3), (0.0, 4)]) == math.inf


@given(st.lists(st.tuples(st.floats(0.001, 10), st.floats(1, 100)), min_size=1, max_size=4))
def test_satterthwaite_lies_between_the_least_and_the_sum(parts: list[tuple[float, float]]) -> None:
    df = satterthwaite(parts)
    assert min(d for _, d in parts) * (1 - 1e-9) <= df <= sum(d for _, d in parts) * (1 + 1e-9)


def test_the_tango_score_at_a_margin_turns_with_its_sign() -> None:
    """More lost than the margin: negative; fewer: positive. The guard's p is its lower tail."""
    assert tango_z(0, 10, 100, -0.05) < 0 < tango_z(0, 2, 100, -0.05)
    assert tango_z(0, 5, 100, -0.05) == pytest.approx(0, abs=1e-12)
