"""scipy.stats, asked while the test runs: the examples of its documentation, through the front door.

Elsewhere against it: bootstraps (tests/infer/resampling/test_bootstrap.py), permutations (tests/infer/paired/test_signflip.py), paired t
(tests/infer/paired/test_sums.py), corrections and combined p-values (tests/infer/test_multiplicity.py), exact and Wilson intervals
on a grid (tests/infer/intervals/test_proportion.py), Welch's t (tests/golden/compare.json).
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from steelyard.infer.unpaired import exact_midp

# stats.wilcoxon: heights of cross- and self-fertilised corn (Darwin), as its documentation orders them.
CORN = [6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]


def ends(interval: sy.Interval | None) -> list[float | None]:
    assert interval is not None
    return [interval.low, interval.high]


def compared(differences: list[float], **options: str) -> sy.Comparison:
    found = sy.compare([0.0] * len(differences), differences, **options)  # type: ignore[arg-type]
    assert isinstance(found, sy.Comparison)
    return found


@pytest.mark.parametrize(("theirs", "ours"), [("exact", "clopper-pearson"), ("wilson", "wilson")])
def test_binomtest(theirs: str, ours: str) -> None:
    """binomtest(k=7, n=50).proportion_ci(): [.0582, .2674] in its documentation."""
    wanted = stats.binomtest(7, 50, p=0.1).proportion_ci(method=theirs)
    assert ends(sy.measure(sy.Counts.of(7, 50), interval=ours).interval) == pytest.approx([wanted.low, wanted.high], abs=1e-10)
    if theirs == "exact":
        assert [wanted.low, wanted.high] == pytest.approx([0.05819170033997342, 0.26739600249700846], abs=1e-10)


@pytest.mark.parametrize(("alternative", "side"), [("greater", "lower"), ("less", "upper")])
def test_one_sided_intervals(alternative: str, side: str) -> None:
    """Its alternative is that of the test which is inverted; our side is the bound that is asked for."""
    wanted = stats.binomtest(7, 50, alternative=alternative).proportion_ci(method="wilson")
    assert ends(sy.measure(sy.Counts.of(7, 50), side=side, interval="wilson").interval) == pytest.approx(
        [wanted.low, wanted.high], abs=1e-10
    )


@pytest.mark.parametrize(("alternative", "printed"), [("two-sided", 0.041259765625), ("greater", 0.020629882812500)])
def test_wilcoxon(alternative: str, printed: float) -> None:
    wanted = stats.wilcoxon(CORN, alternative=alternative)
    found = compared(CORN, test="wilcoxon", alternative=alternative)
    assert found.p_value == pytest.approx(wanted.pvalue, rel=1e-12)
    assert found.p_value == pytest.approx(printed, rel=1e-12)


def test_the_mean_is_not_tested_by_ranks() -> None:
    """Wilcoxon's p = .041, the sign flip's .053, Student's .0497: three questions. Ours by default is about the mean that is printed
    beside it, and assumes no normal law: the sign flip over all 32,768 signs (tests/infer/paired/test_signflip.py asks permutation_test).
    """
    found = compared(CORN)
    assert found.test is not None
    assert found.test.name == "sign-flip"
    assert found.p_value == 1726 / 32768
    assert compared(CORN, test="paired-t").p_value == pytest.approx(stats.ttest_1samp(CORN, 0).pvalue, rel=1e-9)


def test_bootstrap() -> None:
    """BCa of the mean of Darwin's differences, 50,000 draws each: equal within the error of two quantiles."""
    wanted = stats.bootstrap(
        (CORN,), np.mean, method="BCa", n_resamples=50_000, random_state=np.random.default_rng(3), batch=5000
    ).confidence_interval
    found = sy.compare([0.0] * 15, CORN, interval="bca", draws=50_000)
    assert isinstance(found, sy.Comparison)
    assert ends(found.difference.interval) == pytest.approx([wanted.low, wanted.high], abs=0.6)


def test_all_items_alike() -> None:
    """stats.ttest_rel of equal samples is NaN, and BCa of a constant too. Ours is p = 1, and an interval for what was not seen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # some versions divide aloud
        assert math.isnan(stats.ttest_rel([0.5] * 20, [0.5] * 20).pvalue)
    found = sy.compare([0.5] * 20, [0.5] * 20)
    assert isinstance(found, sy.Comparison)
    assert found.p_value == 1
    low, high = ends(found.difference.interval)
    assert low < 0 < high
    assert any("no item differs" in sentence for sentence in found.warnings)


@pytest.mark.parametrize("table", [((6, 2), (1, 4)), ((74, 31), (43, 32)), ((7, 12), (8, 3))])
def test_fisher(table: tuple[tuple[int, int], tuple[int, int]]) -> None:
    """The tables of fisher_exact, boschloo_exact and barnard_exact in its documentation. Ours counts half of what was observed.

    Fisher's test rejects far less often than its level; barnard_exact and boschloo_exact mend that by a search over the
    common share, mid-p by counting half of the observed table. For 74/105 and 43/75 Fisher gives .0483, Boschloo .0356, mid-p .0355.
    """
    (a, b), (c, d) = table
    fisher = stats.fisher_exact(table, alternative="greater").pvalue
    point = stats.hypergeom.pmf(a, a + b + c + d, a + c, a + b)
    assert exact_midp(a, a + b, c, c + d) == pytest.approx(fisher - point / 2, rel=1e-9)
    if table == ((74, 31), (43, 32)):
        assert fisher == pytest.approx(0.0483, abs=5e-5)
        assert stats.boschloo_exact(table, alternative="greater").pvalue == pytest.approx(0.0356, abs=5e-5)
        assert exact_midp(74, 105, 43, 75) == pytest.approx(0.0355, abs=1e-3)


def test_spearman() -> None:
    """spearmanr([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]): .8208."""
    found = sy.measure([1, 2, 3, 4, 5], [5, 6, 7, 8, 7], metric="spearman")
    assert found.estimate == pytest.approx(stats.spearmanr([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]).statistic, rel=1e-12)
    assert found.estimate == pytest.approx(0.8207826816681233, rel=1e-12)


def test_mann_whitney() -> None:
    """mannwhitneyu: the age at which 5 men and 4 women were diagnosed; U = 17 of 20 pairs is an area of .85."""
    men, women = [19, 22, 16, 29, 24], [20, 11, 17, 12]
    found = sy.measure({"truth": [1] * 5 + [0] * 4, "probability": [age / 100 for age in men + women]}, metric="auc")
    assert found.estimate == pytest.approx(stats.mannwhitneyu(men, women).statistic / 20, rel=1e-12)
    assert found.estimate == pytest.approx(0.85)
