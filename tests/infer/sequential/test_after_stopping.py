"""After a stop: every sequence of signs in fractions, bivariate normal probabilities by SciPy, Clopper-Pearson, coverage."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from cases import every
from steelyard.infer.sequential.after_stopping import combined_difference, difference_after, drift_after, share_after
from steelyard.infer.sequential.exact_mcnemar import ExactMcNemar

COURSE = [(4, 0, 4), (7, 2, 6), (11, 4, 9)]  # disagreements, lower, upper; the bounds of the last look play no part


def farther_by_hand(course: list[tuple[int, int, int]], lost: int, share: Fraction) -> tuple[Fraction, Fraction]:
    """P(farther up the order), P(as far), by going through every sequence of losses and gains."""
    last, beyond, same = course[-1][0], Fraction(0), Fraction(0)
    for signs in itertools.product((0, 1), repeat=last):
        weight = share ** sum(signs) * (1 - share) ** (last - sum(signs))
        stopped = next((sum(signs[:d]) >= up for d, low, up in course[:-1] if not low < sum(signs[:d]) < up), None)
        if stopped or (stopped is None and sum(signs) > lost):
            beyond += weight
        elif stopped is None and sum(signs) == lost:
            same += weight
    return beyond, same


@every("lost", [5, 8, 11])
def test_shares_against_every_sequence(lost: int) -> None:
    found = share_after(COURSE, lost, 0.1)
    beyond, same = farther_by_hand(COURSE, lost, Fraction(1, 2))
    assert found.p_value == pytest.approx(float(beyond + same), abs=1e-14)
    ends = ((found.low, 1.0, 0.1), (found.estimate, 0.5, 0.5), (found.high, 0.0, 0.9))
    for share, weight, probability in ends:
        if 0 < share < 1:
            beyond, same = farther_by_hand(COURSE, lost, Fraction(share))
            assert float(beyond) + weight * float(same) == pytest.approx(probability, abs=1e-9)
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize(("lost", "disagreements"), [(15, 20), (1, 9), (0, 6), (6, 6)])
def test_one_look_is_clopper_pearson(lost: int, disagreements: int) -> None:
    found = share_after([(disagreements, -1, disagreements + 1)], lost, 0.025)
    known = stats.binomtest(lost, disagreements, alternative="greater")
    ends = stats.binomtest(lost, disagreements).proportion_ci(0.95, method="exact")
    assert found.p_value == pytest.approx(known.pvalue, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), abs=1e-9)


@pytest.mark.parametrize("drift", [-1.0, 0.0, 1.3, 4.0])
def test_drifts_against_the_bivariate_normal(drift: float) -> None:
    """SciPy's bivariate normal, two looks: P(stopped above at the first) + P(went on, and Z_2 >= observed)."""
    times, upper, lower, observed = (0.4, 1.0), (2.3, 1.7), (-0.4, 1.7), 1.1
    rho = np.sqrt(times[0])
    law = stats.multivariate_normal([drift * rho, drift], [[1, rho], [rho, 1]])

    def both(first: float) -> float:  # P(Z_1 <= first, Z_2 >= observed)
        return float(stats.norm.cdf(first - drift * rho) - law.cdf([first, observed]))

    probability = float(stats.norm.sf(upper[0] - drift * rho)) + both(upper[0]) - both(lower[0])
    found = drift_after(times, upper, lower, observed, alpha=probability)
    assert found.low == pytest.approx(drift, abs=2e-4)  # SciPy's cdf is good to 1e-5 or so
    if drift == 0:
        assert found.p_value == pytest.approx(probability, abs=1e-5)


def test_one_look_is_the_normal_law() -> None:
    found = drift_after([0.7], [2.0], [2.0], 1.2, 0.05)
    assert (found.estimate, found.low, found.high) == pytest.approx((1.2, 1.2 - 1.6448536270, 1.2 + 1.6448536270), abs=1e-8)


def test_an_early_alarm_is_pulled_towards_nothing() -> None:
    late = drift_after([0.25, 0.5], [3.0, 2.5], [-1.0, 0.5], 3.0)
    assert late.low < late.estimate < 3.0
    assert late.estimate < drift_after([0.25], [3.0], [-1.0], 3.0).estimate


def test_no_disagreement_is_no_certainty() -> None:
    found = difference_after(100, [(0, -1, 1)], 0)
    assert found.high is not None
    assert found.low == -found.high < 0
    assert found.p_value == 1
    assert found.high == pytest.approx(1.6448536**2 / (100 + 1.6448536**2))  # Wilson's upper end of 0 of 100


def test_the_sign_follows_the_share() -> None:
    """A rate that is hardly known cannot make up for a share that is settled."""
    found = combined_difference(1000, 12, (0.9, 0.55, 0.99), 0.05, p_value=0.03, method="")
    assert found.high is not None
    assert found.low is not None
    assert found.low < found.estimate < found.high <= 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("theta", "discordance", "drop"), [(0.05, 0.1, 0.0), (0.05, 0.1, 0.05), (0.05, 0.02, 0.03), (0.05, 0.1, -0.05), (0.05, 0.3, 0.1)]
)
def test_intervals_cover_after_stopping(theta: float, discordance: float, drop: float) -> None:
    """Each tail misses 5% of the runs at most (4 errors), p and bound agree with the decision, half of the estimates lie above."""
    runs = 150
    rng = np.random.default_rng(5)
    shares = [discordance / 2 + max(drop, 0.0), 1 - discordance - abs(drop), discordance / 2 + max(-drop, 0.0)]
    below = above = over = naive = 0.0
    for _ in range(runs):
        rule, values, decision = ExactMcNemar(theta=theta), np.zeros(0), "continue"
        while decision == "continue":
            values = np.concatenate([values, rng.choice([-1.0, 0.0, 1.0], size=32, p=shares)])
            decision = rule.look(values)
        found = rule.estimate()
        assert found.low is not None
        assert found.high is not None
        assert (found.p_value <= 0.05) == (decision == "regression") == (found.high <= 0)
        assert found.low < found.estimate < found.high
        below, above, over = below + (found.low > -drop), above + (found.high < -drop), over + (found.estimate > -drop)
        naive += values.mean() + drop
    limit = 0.05 + 4 * np.sqrt(0.05 * 0.95 / runs)
    assert max(below, above) / runs < limit
    if discordance > 0.05:  # with hardly any disagreement estimates come in steps
        assert abs(over / runs - 0.5) < 4 * np.sqrt(0.25 / runs)
