"""Posteriors of a difference: against mpmath and draws, mirror symmetry, the models that must agree, frequentist coverage."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betainc, betaln

from cases import seldom
from oracles import moments
from steelyard.errors import DataError, UsageError
from steelyard.infer.paired.mcnemar import probability_better
from steelyard.infer.posterior.beta import BetaPosterior
from steelyard.infer.posterior.difference import (
    DifferencePosterior,
    JointPosterior,
    _rule,
    difference_posterior,
    expected_loss,
    joint_table_posterior,
    rope,
    unpaired_difference,
)
from steelyard.infer.posterior.draws import table_posterior
from steelyard.infer.posterior.lattice import MeanOfTwoBetas
from steelyard.infer.posterior.metrics import Posterior, f1_posterior, proportion_posterior
from steelyard.metrics.table import F1, Margins, accuracy, average, mcc, per_class
from steelyard.tally.joint import JointCounts, joint_table

counts = st.integers(0, 200)
FAMILIES: dict[str, Callable[[int, int, int, int], Posterior]] = {
    "paired accuracy": lambda a, b, c, d: difference_posterior(a, b, c, d),
    "unpaired accuracy": lambda a, b, c, d: unpaired_difference(proportion_posterior(a, a + b), proportion_posterior(c, c + d)),
    "unpaired f1": lambda a, b, c, d: unpaired_difference(f1_posterior(a, b, 1), f1_posterior(c, d, 0)),
}
MIRROR: dict[str, Callable[[int, int, int, int], tuple[int, int, int, int]]] = {
    "paired accuracy": lambda a, b, c, d: (a, c, b, d),
    "unpaired accuracy": lambda a, b, c, d: (c, d, a, b),
}


# ---- every family is a distribution on [-1, 1] -------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=6, deadline=None)
@given(a=counts, b=counts, c=counts, d=counts, q=st.floats(0.001, 0.999))
def test_is_a_distribution(family: str, a: int, b: int, c: int, d: int, q: float) -> None:
    post = FAMILIES[family](a, b, c, d)
    at = post.ppf(q)
    assert -1 <= at <= 1
    assert post.cdf(at) == pytest.approx(q, abs=1e-9)
    assert post.cdf(at) + post.sf(at) == pytest.approx(1, abs=1e-11)
    assert (np.diff(post.cdf(np.linspace(-1, 1, 31))) >= -1e-11).all()
    assert post.cdf(-1.0) == pytest.approx(0, abs=1e-12)
    assert post.sf(1.0) == pytest.approx(0, abs=1e-12)
    low, high = post.interval(0.9)
    assert low < post.median < high
    assert high - low > 1e-4


@pytest.mark.parametrize("family", ["paired accuracy", "unpaired f1", *seldom("unpaired accuracy")])
def test_moments_density_and_shortest_interval_belong_to_the_cdf(family: str) -> None:
    post = FAMILIES[family](60, 7, 12, 20)
    mean, sd = moments(post.cdf, -1.0, 1.0)
    assert post.mean == pytest.approx(mean, abs=1e-9)
    assert post.sd == pytest.approx(sd, rel=5e-3)
    for at in (-0.05, 0.0, post.mean, 0.1):
        assert post.pdf(at) == pytest.approx((post.cdf(at + 1e-5) - post.cdf(at - 1e-5)) / 2e-5, rel=1e-5)
    low, high = post.interval(0.9, "hdi")
    plain = post.interval(0.9)
    assert post.cdf(high) - post.cdf(low) == pytest.approx(0.9, abs=1e-8)
    assert high - low <= plain[1] - plain[0] + 1e-12
    assert post.interval(0.95, "lower") == pytest.approx((post.ppf(0.05), 1.0), abs=1e-12)
    assert post.interval(0.95, "upper") == pytest.approx((-1.0, post.ppf(0.95)), abs=1e-12)


@pytest.mark.parametrize("family", ["paired accuracy", *seldom("unpaired accuracy")])
@settings(max_examples=3, deadline=None)
@given(a=counts, b=counts, c=counts, d=counts, margin=st.floats(0, 0.3))
def test_swapping_the_systems_mirrors_everything(family: str, a: int, b: int, c: int, d: int, margin: float) -> None:
    post, other = FAMILIES[family](a, b, c, d), FAMILIES[family](*MIRROR[family](a, b, c, d))
    low, high = post.interval()
    assert other.interval() == pytest.approx((-high, -low), abs=1e-9)
    assert rope(other, margin) == pytest.approx(rope(post, margin)[::-1], abs=1e-11)
    assert expected_loss(other) == pytest.approx(expected_loss(post)[::-1], abs=1e-11)
    assert (other.mean, other.sd) == pytest.approx((-post.mean, post.sd), abs=1e-15)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=4, deadline=None)
@given(a=counts, b=counts, c=counts, d=counts)
def test_rope_and_loss(family: str, a: int, b: int, c: int, d: int) -> None:
    post = FAMILIES[family](a, b, c, d)
    parts = rope(post, 0.02)
    assert sum(parts) == pytest.approx(1, abs=1e-12)
    assert rope(post, 0.05).equivalent >= parts.equivalent
    assert rope(post, 0.0).equivalent == pytest.approx(0, abs=1e-9)
    loss = expected_loss(post)
    assert min(loss) >= 0
    assert loss.baseline - loss.candidate == pytest.approx(post.mean, abs=1e-12)


# ---- the same items ----------------------------------------------------------------------------------------------------


def by_shares(c: float, b: float, r: float, x: float) -> float:
    """P(d > x) from d = D (2V - 1), D ~ Beta(c + b, r) and V ~ Beta(c, b) independent: another way than the mixture, in mpmath."""

    def integrand(y: Any) -> Any:
        up, down = 1 / (1 + mpmath.exp(-y)), 1 / (1 + mpmath.exp(y))
        share, rest = x + (1 - x) * up, (1 - x) * down
        density = share ** (c + b - 1) * rest ** (r - 1) * (1 - x) * up * down / mpmath.beta(c + b, r)
        return density * mpmath.betainc(b, c, 0, (1 - x / share) / 2, regularized=True)

    return float(mpmath.quad(integrand, mpmath.linspace(-60, 60, 31)))


@pytest.mark.parametrize(
    ("cells", "x"),
    [
        *[((36, 5, 4, 5), 0.3), ((0, 0, 0, 0), 0.003)],
        *seldom(
            ((0, 0, 3, 0), 0.3),
            *((cells, x) for cells in ((80, 0, 0, 20), (10, 0, 30, 0), (0, 20, 1, 0)) for x in (0.003, 0.3)),
            ((36, 5, 4, 5), 0.003),
        ),
    ],
)
def test_the_mixture_is_exact(cells: tuple[int, int, int, int], x: float) -> None:
    post = difference_posterior(*cells)
    assert post.sf(x) == pytest.approx(by_shares(post.candidate, post.baseline, post.agree, x), rel=1e-10, abs=1e-15)


@given(a=counts, b=counts, c=counts, d=counts, prior=st.sampled_from([0.5, 1.0, 0.1]))
def test_above_zero_it_is_the_closed_form(a: int, b: int, c: int, d: int, prior: float) -> None:
    post = difference_posterior(a, b, c, d, prior=prior)
    assert post.sf(0) == pytest.approx(probability_better(c, b, prior), abs=1e-14)
    if b + c > 1:  # else the density has a pole at 0
        assert post.sf(1e-12) == pytest.approx(post.sf(0), abs=1e-8)  # the density times the step, at most
        assert post.cdf(-1e-12) == pytest.approx(post.cdf(0), abs=1e-8)


@pytest.mark.long
@given(a=counts, b=counts, c=counts, d=counts)
@settings(max_examples=15, deadline=None)
def test_the_loss_has_a_closed_form(a: int, b: int, c: int, d: int) -> None:
    """[(a_B - a_C) I_1/2(a_C, a_B) + 2^(1 - a_B - a_C) / B(a_B, a_C)] / total, from E max(1 - 2V, 0)."""
    post = difference_posterior(a, b, c, d)
    up, down = post.candidate, post.baseline
    peak = math.exp((1 - up - down) * math.log(2) - float(betaln(up, down)))
    exact = ((down - up) * float(betainc(up, down, 0.5)) + peak) / post.total
    assert expected_loss(post).candidate == pytest.approx(exact, rel=1e-8, abs=1e-12)


def test_identical_systems_are_even() -> None:
    post = difference_posterior(80, 0, 0, 20)
    assert post.sf(0) == post.cdf(0) == 0.5
    low, high = post.interval()
    assert low == pytest.approx(-high, abs=1e-15)
    assert high > 0.01
    assert expected_loss(post).candidate == expected_loss(post).baseline


@pytest.mark.parametrize("cells", [(0, 0, 10**6, 10**6), (10**7, 0, 3, 0), (0, 0, 10**6, 0), (10**6, 10**6, 10**6, 10**6)])
def test_millions_of_items(cells: tuple[int, int, int, int]) -> None:
    post = difference_posterior(*cells)
    low, high = post.interval()
    assert post.cdf(low) == pytest.approx(0.025, abs=1e-9)
    assert post.sf(high) == pytest.approx(0.025, abs=1e-9)
    if min(cells[1], cells[2]) > 0:
        assert (high - low) / 2 == pytest.approx(1.959964 * post.sd, rel=1e-4)


def test_what_cannot_be_a_prior_a_count_or_a_margin() -> None:
    with pytest.raises(UsageError, match="prior"):
        difference_posterior(1, 2, 3, 4, prior=0)
    with pytest.raises((DataError, UsageError)):
        difference_posterior(1, -2, 3, 4)
    with pytest.raises(UsageError, match="margin"):
        rope(difference_posterior(1, 2, 3, 4), -0.1)


def test_coverage_by_enumeration() -> None:
    """Study: Dirichlet(1/2) covers .928 at least at n = 20. Exactly, where the candidate gains 5 points."""
    n, cells = 20, (0.1, 0.05, 0.85)
    tables = np.array([(c, b, n - c - b) for c in range(n + 1) for b in range(n + 1 - c)])
    chance = stats.multinomial.pmf(tables, n, cells)
    inside = [0.025 <= DifferencePosterior(c + 0.5, b + 0.5, r + 1.0).cdf(0.05) <= 0.975 for c, b, r in tables[chance > 1e-9].tolist()]
    assert float(chance[chance > 1e-9][inside].sum()) == pytest.approx(0.9431, abs=5e-5)


# ---- different items ---------------------------------------------------------------------------------------------------


@given(a=counts, b=counts, c=counts, d=counts, x=st.floats(-0.99, 0.99))
def test_two_accuracies_are_a_mean_of_two_betas(a: int, b: int, c: int, d: int, x: float) -> None:
    """p - q = 2 M - 1, M the mean of p and 1 - q: the posterior of balanced accuracy, integrated elsewhere."""
    post = FAMILIES["unpaired accuracy"](a, b, c, d)
    mean = MeanOfTwoBetas(BetaPosterior(a + 0.5, b + 0.5), BetaPosterior(d + 0.5, c + 0.5), metric="")
    assert post.sf(x) == pytest.approx(mean.sf((1 + x) / 2), abs=1e-11)
    if min(a, b, c, d) > 0 or abs(x) > 0.01:  # two laws with a pole at the same end: their difference has one at 0
        assert post.pdf(x) == pytest.approx(mean.pdf((1 + x) / 2) / 2, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("one", "two"), [((40, 15, 10), (50, 10, 5)), ((9, 0, 0), (3, 1, 0)), ((0, 3, 2), (0, 1, 0)), ((900, 10, 10), (9, 1, 0))]
)
def test_two_f1s_are_draws_of_their_jaccards(one: tuple[int, int, int], two: tuple[int, int, int]) -> None:
    first, second = f1_posterior(*one), f1_posterior(*two)
    post, rng = unpaired_difference(first, second), np.random.default_rng(0)
    j, k = rng.beta(first.a, first.b, 200_000), rng.beta(second.a, second.b, 200_000)
    drawn = 2 * j / (1 + j) - 2 * k / (1 + k)
    for x in (-0.2, 0.0, 0.05, 0.3):
        exact = post.sf(x)
        assert abs(exact - float((drawn > x).mean())) < 4 * math.sqrt(max(exact * (1 - exact), 1e-6) / 200_000)
        assert unpaired_difference(second, first).cdf(-x) == pytest.approx(exact, abs=1e-12)
    assert post.sf(0) == pytest.approx(
        unpaired_difference(BetaPosterior(first.a, first.b), BetaPosterior(second.a, second.b)).sf(0), abs=1e-12
    )


def test_equal_samples_are_even_and_different_metrics_are_refused() -> None:
    law = proportion_posterior(7, 9)
    assert unpaired_difference(law, law).sf(0) == unpaired_difference(law, law).cdf(0) == 0.5
    with pytest.raises(UsageError, match=r"Cannot compare a posterior of accuracy with one of f1\."):
        unpaired_difference(law, f1_posterior(3, 1, 1))


# ---- any metric of the joint table -------------------------------------------------------------------------------------

# positives: both right 40, candidate only 6, baseline only 2, neither 5; false alarms: both 6, candidate 1, baseline 4, neither 136
CELLS = {(1, 1, 1): 40, (1, 0, 1): 6, (1, 1, 0): 2, (1, 0, 0): 5, (0, 1, 1): 6, (0, 0, 1): 1, (0, 1, 0): 4, (0, 0, 0): 136}
TWO = joint_table(CELLS, ("no", "yes"))


def f1_of_yes(m: Margins) -> Any:
    return per_class(F1, m)[..., 1]


def macro_f1(m: Margins) -> Any:
    return average(F1, "macro", m)


def random_joint(classes: int, items: int, seed: int) -> JointCounts:
    rng = np.random.default_rng(seed)
    cells: dict[tuple[int, int, int], int] = {}
    for t in rng.integers(classes, size=items).tolist():
        a, b = (t if rng.random() < right else int(rng.integers(classes)) for right in (0.7, 0.75))
        cells[t, a, b] = cells.get((t, a, b), 0) + 1
    return joint_table(cells, tuple(str(k) for k in range(classes)))


def better_error(post: JointPosterior) -> float:
    """The standard error of `better` that the draws leave, from the spread of their independent parts."""
    parts = ((np.sign(post.values) + 1) / 2).mean(axis=1)
    return float(parts.std(ddof=1)) / math.sqrt(len(parts))


def test_the_study_of_eight_cells() -> None:
    """Half a pseudo-count per cell: P = 0.9683 and sd 0.0371 on the same items; as if on different items 0.8820 and 0.0563."""
    post = joint_table_posterior(TWO, f1_of_yes, metric="f1", prior=np.full((2, 2, 2), 0.5), draws=100_000)
    assert better_error(post) < 5e-4
    assert post.better == pytest.approx(0.9683, abs=4 * better_error(post) + 5e-5)
    assert post.sd == pytest.approx(0.0371, abs=1e-4)
    apart = unpaired_difference(f1_posterior(46, 7, 7), f1_posterior(42, 10, 11))
    assert apart.sf(0) == pytest.approx(0.8820, abs=0.006)  # the study had 1 per cell of the margins, two halves
    assert apart.sd == pytest.approx(0.0563, abs=1e-3)


def test_with_two_classes_accuracy_has_the_posterior_of_the_flips() -> None:
    drawn, exact = joint_table_posterior(TWO, accuracy, metric="accuracy", draws=60_000), difference_posterior(*TWO.outcomes())
    assert drawn.better == pytest.approx(exact.sf(0), abs=4 * better_error(drawn))
    assert drawn.interval() == pytest.approx(exact.interval(), abs=4 * drawn.error)
    assert (drawn.mean, drawn.sd) == pytest.approx((exact.mean, exact.sd), abs=1e-4)
    assert rope(drawn, 0.02) == pytest.approx(rope(exact, 0.02), abs=0.005)
    assert expected_loss(drawn) == pytest.approx(expected_loss(exact), abs=2e-4)


@pytest.mark.parametrize("classes", [2, *seldom(3), 5])
def test_each_system_alone_has_its_table_posterior(classes: int) -> None:
    """The prior of the joint table has the prior of `table_posterior` as its margins, by lattice and by sticks."""
    joint = random_joint(classes, 150, 3)
    means = [table_posterior(joint.side(which), macro_f1, metric="f1", draws=40_000).mean for which in ("baseline", "candidate")]
    post = joint_table_posterior(joint, macro_f1, metric="f1", draws=40_000)
    assert post.mean == pytest.approx(means[1] - means[0], abs=6e-4)
    margin = _rule(classes, 0.5).sum(2)
    assert margin == pytest.approx(np.where(np.eye(classes, dtype=bool), 0.5, 0.5 / (classes - 1)))


def test_sticks_and_cells_are_the_same_prior() -> None:
    joint = random_joint(5, 120, 4)
    sticks = joint_table_posterior(joint, macro_f1, metric="f1", draws=16_000)
    cells = joint_table_posterior(joint, macro_f1, metric="f1", draws=16_000, prior=_rule(5, 0.5))
    assert sticks.interval() == pytest.approx(cells.interval(), abs=4 * math.hypot(sticks.error, cells.error))
    assert sticks.better == pytest.approx(cells.better, abs=4 * math.hypot(better_error(sticks), better_error(cells)))


@pytest.mark.parametrize("classes", [2, *seldom(3), 4, 20])
def test_swapping_the_systems_negates_every_draw(classes: int) -> None:
    joint = random_joint(classes, 100, 5)
    post, other = (joint_table_posterior(j, macro_f1, metric="f1", draws=2000) for j in (joint, joint.swapped()))
    assert np.array_equal(other.values, -post.values)
    assert other.better == pytest.approx(1 - post.better, abs=1e-12)
    again = joint_table_posterior(joint, macro_f1, metric="f1", draws=2000)
    assert np.array_equal(again.values, post.values)
    assert not np.array_equal(joint_table_posterior(joint, macro_f1, metric="f1", draws=2000, seed=1).values, post.values)


def test_pseudo_counts_are_swapped_with_the_systems() -> None:
    prior = np.random.default_rng(0).uniform(0.2, 2, (2, 2, 2))
    post = joint_table_posterior(TWO, f1_of_yes, metric="f1", prior=prior)
    other = joint_table_posterior(TWO.swapped(), f1_of_yes, metric="f1", prior=prior.transpose(0, 2, 1))
    assert np.array_equal(other.values, -post.values)


@pytest.mark.parametrize("classes", [2, 5])
def test_two_copies_are_even_and_their_interval_has_width(classes: int) -> None:
    joint = random_joint(classes, 100, 6)
    copies = joint_table({(t, a, a): c for t, a, _, c in joint.cells()}, joint.labels)
    post = joint_table_posterior(copies, macro_f1, metric="f1", draws=4000)
    assert post.better == 0.5
    low, high = post.interval()
    assert low == pytest.approx(-high, abs=1e-12)
    assert high > 1e-4


def test_predictions_outside_the_classes_are_errors() -> None:
    """A label that is no class: both systems keep their n, and the candidate that strays is worse."""
    stray = joint_table({(0, 0, 0): 30, (0, 0, 2): 10, (1, 1, 1): 30}, ("a", "b", "?"), classes=2)
    post = joint_table_posterior(stray, accuracy, metric="accuracy", draws=20_000)
    exact = difference_posterior(60, 10, 0, 0)
    assert post.mean == pytest.approx(exact.mean, abs=1e-3)
    assert post.better == pytest.approx(exact.sf(0), abs=0.002)


def test_bounds_refusals_and_the_printed_prior() -> None:
    post = joint_table_posterior(TWO, mcc, metric="mcc", bounds=(-2.0, 2.0))
    assert isinstance(post, JointPosterior)
    assert (post.bottom, post.top) == (-2.0, 2.0)
    assert post.interval(kind="lower")[1] == 2.0
    assert "0.5/2" in post.prior
    with pytest.raises(DataError, match="difference_posterior"):
        joint_table_posterior(JointCounts.flips(both=1, baseline_only=2, candidate_only=3, neither=4), accuracy, metric="accuracy")
    with pytest.raises(DataError, match=r"nothing is undefined in \d+ of \d+ draws"):
        joint_table_posterior(TWO, lambda m: np.where(m.n > 202, np.nan, 0.0), metric="nothing")
    with pytest.raises(UsageError, match="prior"):
        joint_table_posterior(TWO, accuracy, metric="accuracy", prior=-1.0)
