"""t with one more item at either end of the range: another program's numbers, the items themselves, invariants, calibration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cases import every
from steelyard.errors import DataError
from steelyard.infer.paired.bounded_t import bounded_t

ENDS = st.integers(-1000, 1000).map(lambda thousandths: thousandths / 1000)
SOME = st.lists(ENDS, min_size=1, max_size=40)


@every("alternative", ["two-sided", "less", "greater"])
@every("reach", [1.0, 5.0])
def test_it_is_scipys_t_of_the_items_and_the_two_ends(alternative: str, reach: float) -> None:
    d = np.random.default_rng(3).uniform(-1, 0.7, 23)
    longer = np.concatenate([d, [-reach, reach]])
    found = bounded_t(d, reach)
    for edge in (0.0, -0.2, 0.3):
        assert found.p_value(alternative, edge) == pytest.approx(stats.ttest_1samp(longer, edge, alternative=alternative).pvalue, rel=1e-10)
    theirs = stats.ttest_1samp(longer, 0.0).confidence_interval(0.9)
    assert found.interval(0.9) == pytest.approx((theirs.low, theirs.high), rel=1e-10)
    assert found.noise == pytest.approx(stats.sem(d), rel=1e-10)


def test_a_value_worked_out_by_hand() -> None:
    """-1 four times of four, and the two ends: mean -4/6, squares around it 6 - 6 (4/6)^2 = 10/3, SE^2 = (10/3) / 30 = 1/9, t = -2."""
    found = bounded_t([-1.0] * 4, 1.0)
    assert (found.centre, found.error, found.df) == (pytest.approx(-2 / 3), pytest.approx(1 / 3), 5)
    assert found.p_value("less") == pytest.approx(float(stats.t.cdf(-2, 5)))


@given(SOME, st.floats(-0.99, 0.99), st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.4]))
def test_p_is_at_most_alpha_if_and_only_if_the_bound_excludes_the_edge(d: list[float], edge: float, alpha: float) -> None:
    found = bounded_t(d, 1.0)
    low, high = found.interval(1 - 2 * alpha)
    for away, p in ((high - edge, found.p_value("less", edge)), (edge - low, found.p_value("greater", edge))):
        if abs(away) > 1e-9 and (edge - found.mean) * (edge - found.centre) > 0:  # the mean itself is never left out
            assert (p <= alpha) == (away < 0)


@given(SOME)
def test_turning_the_differences_turns_everything_and_no_difference_is_p_1(d: list[float]) -> None:
    here, there = bounded_t(d, 1.0), bounded_t([-x for x in d], 1.0)
    assert here.p_value("less") == pytest.approx(there.p_value("greater"), abs=1e-12)
    low, high = here.interval()
    assert there.interval() == pytest.approx((-high, -low), abs=1e-12)
    assert low <= here.mean <= high
    assert bounded_t([0.0] * len(d), 1.0).p_value("less") == 1.0


@given(SOME, st.floats(1, 1e6))
def test_a_wider_range_is_never_surer(d: list[float], times: float) -> None:
    assert bounded_t(d, times).error >= bounded_t(d, 1.0).error * (1 - 1e-9)


@given(SOME, st.sampled_from([1e-150, 1e-3, 100.0, 1e150]))
def test_the_unit_of_the_scores_is_nothing(d: list[float], unit: float) -> None:
    assert bounded_t(np.array(d) * unit, unit).p_value("less") == pytest.approx(bounded_t(d, 1.0).p_value("less"), rel=1e-6, abs=1e-12)


def test_a_difference_beyond_the_range_is_refused() -> None:
    for wrong in ([0.5, 1.5], [np.nan], []):
        with pytest.raises(DataError):
            bounded_t(wrong, 1.0)


@pytest.mark.parametrize("n", [10, 20, 50, 200])
def test_rare_large_losses_among_small_gains_are_not_called_a_gain(n: int) -> None:
    """90% gain 0.1 and 10% lose 0.9: the mean is 0. Plain t says otherwise in 34%, 12%, 12% and 7% of such samples."""
    r = np.random.default_rng(n)
    samples = np.where(r.random((2000, n)) < 0.9, 0.1, -0.9)
    called = np.mean([bounded_t(d, 1.0).p_value("two-sided") <= 0.05 for d in samples])
    assert called <= 0.055
