"""Posteriors against quadrature in mpmath, brute-force draws, invariants, and their exact frequentist coverage."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln, gammaln, xlog1py, xlogy

from cases import every, seldom
from oracles import moments
from steelyard.errors import DataError, UsageError
from steelyard.infer.posterior.beta import BetaPosterior, find_root, log_density
from steelyard.infer.posterior.draws import GENERATOR, POINTS, SampledPosterior, table_posterior
from steelyard.infer.posterior.lattice import MeanOfBetas, MeanOfTwoBetas
from steelyard.infer.posterior.metrics import (
    F1Posterior,
    FBetaPosterior,
    Posterior,
    balanced_accuracy_posterior,
    f1_posterior,
    f_beta_posterior,
    jaccard_posterior,
    prior_sensitivity,
    proportion_posterior,
)
from steelyard.metrics.table import PRECISION, RECALL, Margins, average, kappa, mcc
from steelyard.tally.counts import Counts

TABLE = Counts.table([[40, 5, 3], [1, 20, 9], [7, 2, 13]])
FAMILIES: dict[str, Callable[[int, int, int], Posterior]] = {
    "proportion": lambda x, y, z: proportion_posterior(x, x + y + z),
    "jaccard": lambda x, y, z: jaccard_posterior(x, y, z),
    "f1": lambda x, y, z: f1_posterior(x, y, z),
    "f2": lambda x, y, z: f_beta_posterior(x, y, z, beta=2),
    "f0.5": lambda x, y, z: f_beta_posterior(x, y, z, beta=0.5),
    "balanced-2": lambda x, y, z: balanced_accuracy_posterior([(x, x + y), (y, y + z)]),
    "balanced-3": lambda x, y, z: balanced_accuracy_posterior([(x, x + y), (y, y + z), (z, z + 1)]),
}
count = st.integers(0, 300)
probability = st.floats(0.001, 0.999)


# ---- invariants --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=15, deadline=None)
@given(x=count, y=count, z=count, p=probability, q=probability)
def test_is_a_distribution(family: str, x: int, y: int, z: int, p: float, q: float) -> None:
    post = FAMILIES[family](x, y, z)
    low, high = post.ppf(min(p, q)), post.ppf(max(p, q))
    assert 0 <= low <= high <= 1
    assert post.cdf(low) == pytest.approx(min(p, q), abs=1e-8)
    assert post.cdf(high) + post.sf(high) == pytest.approx(1, abs=1e-9)
    grid = np.linspace(0, 1, 41)
    assert (np.diff(post.cdf(grid)) >= -1e-12).all()
    assert post.cdf(-1.0) == 0
    assert post.sf(2.0) == pytest.approx(0, abs=1e-12)
    assert post.probability_above(low) == post.sf(low)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=3, deadline=None)
@given(x=count, y=count, z=count, level=st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_the_hdi_holds_its_probability_and_is_never_wider(family: str, x: int, y: int, z: int, level: float) -> None:
    post = FAMILIES[family](x, y, z)
    low, high = post.interval(level, "hdi")
    plain = post.interval(level)
    assert post.cdf(high) - post.cdf(low) == pytest.approx(level, abs=1e-7)
    assert high - low <= plain[1] - plain[0] + 1e-9
    assert post.interval(level, "lower") == (post.ppf(1 - level), 1.0)
    assert post.interval(level, "upper") == (0.0, post.ppf(level))


@pytest.mark.parametrize("family", ["proportion", "f1", "f2", "balanced-2", *seldom("jaccard", "f0.5", "balanced-3")])
def test_moments_mode_and_density_belong_to_the_cdf(family: str) -> None:
    post = FAMILIES[family](31, 5, 2)
    mean, sd = moments(post.cdf, 0.0, 1.0)
    assert post.mean == pytest.approx(mean, abs=1e-9)
    assert post.sd == pytest.approx(sd, rel=1e-3)
    assert post.median == post.ppf(0.5)
    at, h = post.ppf(0.3), 1e-4
    assert post.pdf(at) == pytest.approx((post.cdf(at + h) - post.cdf(at - h)) / (2 * h), rel=1e-4)
    assert post.pdf(post.mode) >= float(np.max(post.pdf(np.linspace(0.001, 0.999, 300)))) * (1 - 1e-9)
    assert post.pdf(1.5) == post.pdf(-0.5) == 0


@given(x=count, y=count, z=count)
@settings(max_examples=30, deadline=None)
def test_equal_tails_are_carried_by_the_map_and_densities_are_not(x: int, y: int, z: int) -> None:
    def mapped(jaccard: float) -> float:
        return 2 * jaccard / (1 + jaccard)

    jaccard, f1 = jaccard_posterior(x, y, z), f1_posterior(x, y, z)
    assert f1.interval() == pytest.approx([mapped(end) for end in jaccard.interval()], abs=1e-14)
    if min(x, y + z) > 2:
        assert abs(f1.interval(kind="hdi")[0] - mapped(jaccard.interval(kind="hdi")[0])) > 1e-9


@pytest.mark.parametrize("counts", [(31, 5, 2), (0, 3, 4), (9, 0, 0), (1000, 20, 0)])
def test_f_beta_tends_to_f1(counts: tuple[int, int, int]) -> None:
    assert isinstance(f_beta_posterior(*counts, beta=1), F1Posterior)
    near = FBetaPosterior(*(c + 0.5 for c in counts), beta=1 + 1e-9)
    assert near.interval() == pytest.approx(f1_posterior(*counts).interval(), abs=1e-8)
    assert near.mean == pytest.approx(f1_posterior(*counts).mean, abs=1e-8)


@given(first=st.tuples(count, count), more=st.tuples(count, count))
def test_a_pilot_then_more_is_the_pooled_sample(first: tuple[int, int], more: tuple[int, int]) -> None:
    pilot = proportion_posterior(first[0], sum(first))
    after = proportion_posterior(more[0], sum(more), prior=(pilot.a, pilot.b))
    pooled = proportion_posterior(first[0] + more[0], sum(first) + sum(more))
    assert (after.a, after.b) == (pooled.a, pooled.b)


def test_modes_at_the_ends() -> None:
    assert (BetaPosterior(0.5, 7).mode, BetaPosterior(7, 0.5).mode, BetaPosterior(0.5, 1).mode, BetaPosterior(1, 0.5).mode) == (0, 1, 0, 1)
    assert (F1Posterior(0.5, 7).mode, F1Posterior(7, 0.5).mode, F1Posterior(9.5, 1).mode) == (0, 1, 1)
    assert all(math.isnan(post.mode) for post in (BetaPosterior(1, 1), BetaPosterior(0.5, 0.5), F1Posterior(0.5, 1)))


# ---- oracles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [(0.5, 1), (31.5, 8), (9000.5, 1201), (9e7, 1.2e7), (3.0, 4e8)])
def test_f1_moments_against_mpmath(a: float, b: float) -> None:
    """The usual 2F1 at -1, in 40 digits."""
    with mpmath.workdps(40):
        total = mpmath.mpf(a) + b
        mean = 2 * a / total * mpmath.hyp2f1(1, a + 1, total + 1, -1)
        square = 4 * a * (mpmath.mpf(a) + 1) / (total * (total + 1)) * mpmath.hyp2f1(2, a + 2, total + 2, -1)
        sd = mpmath.sqrt(square - mean**2)
    assert F1Posterior(a, b).mean == pytest.approx(float(mean), rel=1e-12)
    assert F1Posterior(a, b).sd == pytest.approx(float(sd), rel=1e-8)


@pytest.mark.parametrize(("a", "b"), [(0.5, 9.5), (25.5, 30.5), (1e4, 3e4), (3e8, 1e7), (0.5, 1e6)])
def test_the_density_against_mpmath(a: float, b: float) -> None:
    for q in (1e-6, 0.3, 0.999):
        x = BetaPosterior(a, b).ppf(q)
        with mpmath.workdps(40):
            exact = (
                (mpmath.mpf(a) - 1) * mpmath.log(x) + (mpmath.mpf(b) - 1) * mpmath.log(1 - mpmath.mpf(x)) - mpmath.log(mpmath.beta(a, b))
            )
        assert float(log_density(a, b, x)) == pytest.approx(float(exact), abs=1e-9)


@pytest.mark.parametrize(
    ("counts", "beta", "prior"), [((31, 5, 2), 2, 0.5), ((1000, 0, 0), 2, 0.5), ((0, 0, 100), 3, 0.5), ((50, 1, 1), 0.1, 0.1)]
)
def test_f_beta_against_mpmath(counts: tuple[int, int, int], beta: float, prior: float) -> None:
    tp, fp, fn = (c + prior for c in counts)
    post = f_beta_posterior(*counts, beta=beta, prior=prior)
    y = post.ppf(0.2)

    def integrand(z: float) -> float:
        s, r = 1 / (1 + mpmath.exp(-z)), 1 / (1 + mpmath.exp(z))
        phi = (beta**2 * s + r) / (1 + beta**2)
        return s**fn * r**fp / mpmath.beta(fn, fp) * mpmath.betainc(tp, fp + fn, 0, phi * y / (1 - y + phi * y), regularized=True)

    middle, width = math.log(fn / fp), math.sqrt(1 / fn + 1 / fp)
    exact = mpmath.quad(integrand, [middle + width * j for j in (-30, -10, -3, 0, 3, 10, 30)])
    assert float(exact) == pytest.approx(0.2, abs=1e-10)
    assert post.error < 1e-9


@pytest.mark.parametrize(
    "laws", [((31.5, 2.5), (62.5, 5.5)), ((30.5, 0.5), (62.5, 5.5)), ((0.5, 0.5), (0.5, 0.5)), ((1e6, 1e5), (10.5, 1.5))]
)
def test_the_integral_and_the_convolution_agree(laws: tuple[tuple[float, float], tuple[float, float]]) -> None:
    """Two methods for the mean of two Betas that share nothing but the incomplete beta function."""
    one, two = (BetaPosterior(a, b) for a, b in laws)
    integral, lattice = MeanOfTwoBetas(one, two, metric="x"), MeanOfBetas([one, two], metric="x")
    assert lattice.interval() == pytest.approx(integral.interval(), abs=1e-6 * integral.sd)
    assert lattice.error < 1e-5 * integral.sd
    assert integral.cdf(integral.mean) + integral.sf(integral.mean) == pytest.approx(1, abs=1e-12)


BRUTE = 250_000


@functools.cache
def brute() -> Margins:
    """The default prior, one Gamma per cell, in the plainest way."""
    table = np.array([[40, 5, 3], [1, 20, 9], [7, 2, 13]]) + np.where(np.eye(3) > 0, 0.5, 0.25)
    g = np.random.default_rng(7).standard_gamma(table, (BRUTE, 3, 3))
    return Margins(np.einsum("nkk->nk", g), g.sum(2), g.sum(1), g.sum((1, 2)))


@pytest.mark.parametrize(
    ("name", "statistic"), [("mcc", mcc), *seldom(("kappa", kappa), ("precision.macro", lambda m: average(PRECISION, "macro", m)))]
)
def test_table_statistics_against_plain_draws(name: str, statistic: Callable[[Margins], np.ndarray]) -> None:
    values, post = statistic(brute()), table_posterior(TABLE, statistic, metric=name, draws=50_000)
    assert post.mean == pytest.approx(values.mean(), abs=4 * values.std() / math.sqrt(BRUTE) + 1e-4)
    tolerance = 4 * math.hypot(post.error, 2.7 * values.std() / math.sqrt(BRUTE))
    assert post.interval() == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=tolerance)
    assert post.sd == pytest.approx(values.std(), rel=0.01)


def test_macro_recall_of_the_table_is_balanced_accuracy() -> None:
    exact = balanced_accuracy_posterior([(40, 48), (20, 30), (13, 22)])
    drawn = table_posterior(TABLE, lambda m: average(RECALL, "macro", m), metric="recall.macro")
    assert drawn.interval() == pytest.approx(exact.interval(), abs=4 * drawn.error)
    assert exact.error < 1e-9


def sparse(k: int, n: int) -> Counts:
    random = np.random.default_rng(k)
    truth = random.integers(0, k, n)
    prediction = np.where(random.random(n) < 0.9, truth, random.integers(0, k, n))
    table = np.zeros((k, k), int)
    np.add.at(table, (truth, prediction), 1)
    return Counts.table(table.tolist())


@pytest.mark.parametrize("k", [30, 100])
def test_many_classes(k: int) -> None:
    """Accuracy of the joint model has a known law: Beta of the diagonal and the rest. No prior drowns it."""
    counts = sparse(k, 10 * k)
    post = table_posterior(counts, lambda m: m.hit.sum(-1) / m.n, metric="accuracy", draws=2000)
    exact = proportion_posterior(counts.right, counts.n, prior=(k / 2, k / 2))
    assert post.interval() == pytest.approx(exact.interval(), abs=4 * post.error)
    assert post.mean == pytest.approx(exact.mean, abs=4 * exact.sd / math.sqrt(2000))


def test_empty_cells_together_or_one_by_one() -> None:
    counts, k = sparse(30, 120), 30
    cells = np.full((k, k), 0.5 / (k - 1))
    np.fill_diagonal(cells, 0.5)
    together, apart = (
        table_posterior(counts, lambda m: average(PRECISION, "macro", m), metric="precision.macro", prior=prior, draws=10_000)
        for prior in (0.5, cells)
    )
    assert together.mean == pytest.approx(apart.mean, abs=4 * apart.sd * math.sqrt(2 / 10_000))
    assert together.sd == pytest.approx(apart.sd, rel=0.04)
    assert together.interval() == pytest.approx(apart.interval(), abs=4 * math.hypot(together.error, apart.error))


def test_the_stated_error_is_the_spread_over_seeds() -> None:
    posts = [table_posterior(TABLE, mcc, metric="mcc", seed=seed) for seed in range(20)]
    spread = np.std([post.interval() for post in posts], axis=0, ddof=1).max()
    stated = float(np.mean([post.error for post in posts]))
    assert stated == pytest.approx(spread, rel=0.4)
    assert stated < 0.85 * posts[0].sd * 2.67 / math.sqrt(posts[0].draws)  # better than as many random draws


def test_the_same_seed_gives_the_same_bits_and_strays_are_errors() -> None:
    one, two, other = (table_posterior(TABLE, mcc, metric="mcc", bounds=(-1, 1), seed=seed) for seed in (3, 3, 4))
    assert (one.values == two.values).all()
    assert not (one.values == other.values).any()
    assert one.interval(kind="lower")[1] == 1
    assert one.interval(kind="upper")[0] == -1
    stray = Counts.table({("a", "a"): 8, ("b", "b"): 9, ("a", "?"): 5}, labels=["a", "b"])
    recall = table_posterior(stray, lambda m: m.hit[..., 0] / m.truth[..., 0], metric="recall")
    assert recall.mean == pytest.approx(8.5 / 14, abs=5e-3)


def test_the_generating_vector_is_the_one_it_claims_to_be() -> None:
    i = np.arange(POINTS)
    kernel = 2 * np.pi**2 * ((i / POINTS) ** 2 - i / POINTS + 1 / 6)
    options = kernel[np.outer(np.arange(1, POINTS // 2 + 1), i) % POINTS]
    product, chosen = 1 + options[0], [1]
    for j in range(2, len(GENERATOR) + 1):
        error = np.round(options @ product, 9)
        error[np.array(chosen) - 1] = np.inf
        chosen.append(int(np.argmin(error)) + 1)
        product *= 1 + options[chosen[-1] - 1] / j
    assert tuple(chosen) == GENERATOR


def test_numbers_from_sorted_draws() -> None:
    post = SampledPosterior(np.linspace(0, 1, 1000).reshape(10, 100) ** 2, metric="x", prior="none")
    assert post.interval(0.5, "hdi")[0] == 0
    assert post.cdf(0.25) == pytest.approx(0.5)
    assert post.cdf(0.25) + post.sf(0.25) == 1
    assert post.mode < 0.1
    assert post.pdf(0.1) > post.pdf(0.9)
    assert not post.exact


# ---- coverage ----------------------------------------------------------------------------------------------------------

PRINTED = {  # research table: prior -> {m: (mean, minimum)} of the 95% interval over F1 = .5, .5005, ... .99
    0.5: {10: (0.948, 0.787), 20: (0.950, 0.877), 50: (0.950, 0.905)},
    1.0: {10: (0.927, 0.000), 20: (0.936, 0.560), 50: (0.944, 0.721)},
    0.01: {10: (0.863, 0.172), 20: (0.912, 0.323), 50: (0.939, 0.615)},  # "Haldane-like"
    (0.5, 0.5): {10: (0.950, 0.868), 20: (0.949, 0.894), 50: (0.949, 0.884)},
    (1.0, 1.0): {10: (0.957, 0.795), 20: (0.954, 0.883), 50: (0.952, 0.905)},
}


def binomial(m: int, p: np.ndarray) -> np.ndarray:
    k = np.arange(m + 1)
    ways = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
    return np.exp(ways + xlogy(k, p[:, None]) + xlog1py(m - k, -p[:, None]))


@every("m", [10, 20, 50])
@every("prior", PRINTED)
def test_frequentist_coverage_of_f1_is_the_documented_one(prior: float | tuple[float, float], m: int) -> None:
    """Every outcome enumerated. Note the minimum .000 of prior 1: at m = 10 its interval never reaches F1 = .99."""
    f1 = np.linspace(0.5, 0.99, 981)[:, None]
    low, high = np.array([f1_posterior(k, m - k, 0, prior=prior).interval() for k in range(m + 1)]).T
    coverage = (binomial(m, f1[:, 0] / (2 - f1[:, 0])) * ((low <= f1) & (f1 <= high))).sum(axis=1)
    assert (round(coverage.mean(), 3), round(coverage.min(), 3)) == PRINTED[prior][m]


@every("kind", ["equal-tailed", "hdi", "lower", "upper"])
@every("prior", [0.5, 1.0, (2.0, 5.0)])
def test_coverage_averaged_over_the_prior_is_the_level(prior: float | tuple[float, float], kind: str) -> None:
    """The frequentist coverage, enumerated over k and integrated over the parameter under the prior, is exactly the level.

    Between two interval ends the coverage is a polynomial; with p = sin(t)^2 the prior is smooth too, so Gauss is exact.
    """
    a, b = prior if isinstance(prior, tuple) else (prior, prior)
    m = 12
    low, high = np.array([proportion_posterior(k, m, prior=prior).interval(0.9, kind) for k in range(m + 1)]).T
    cuts = np.arcsin(np.sqrt(np.unique(np.concatenate([low, high, [0.0, 1.0]]))))
    nodes, weights = np.polynomial.legendre.leggauss(30)
    t = (cuts[:-1, None] + np.diff(cuts)[:, None] * (nodes + 1) / 2).ravel()
    step = (np.diff(cuts)[:, None] * weights / 2).ravel()
    p = np.sin(t) ** 2
    covered = (binomial(m, p) * ((low <= p[:, None]) & (p[:, None] <= high))).sum(axis=1)
    density = 2 * np.sin(t) ** (2 * a - 1) * np.cos(t) ** (2 * b - 1) / math.exp(betaln(a, b))
    assert float(step @ density) == pytest.approx(1, abs=1e-12)
    assert float(step @ (density * covered)) == pytest.approx(0.9, abs=1e-9)


# ---- what the prior does, and what is refused --------------------------------------------------------------------------


def test_prior_sensitivity() -> None:
    small = prior_sensitivity(lambda lam: f1_posterior(3, 1, 0, prior=lam), 0.95, 0.5)
    large = prior_sensitivity(lambda lam: f1_posterior(3000, 1000, 0, prior=lam), 0.95, 0.5)
    assert 0.1 > small > 5 * large
    assert prior_sensitivity(lambda lam: proportion_posterior(10, 10, prior=lam), 0.95, 0.5) > 0.1
    low, high = f1_posterior(3, 1, 0, prior=1).interval()
    other = f1_posterior(3, 1, 0).interval()
    moved = max(abs(other[0] - low), abs(other[1] - high)) / (high - low)
    assert prior_sensitivity(lambda lam: f1_posterior(3, 1, 0, prior=lam), 0.95, 1) == pytest.approx(moved)


@pytest.mark.parametrize("prior", [0, -1, math.inf, math.nan, (0.5, 0)])
def test_an_improper_prior_is_refused(prior: float) -> None:
    for make in (
        lambda: proportion_posterior(1, 2, prior=prior),
        lambda: f1_posterior(1, 2, 3, prior=prior),
        lambda: balanced_accuracy_posterior([(1, 2)], prior=prior),
    ):
        with pytest.raises(UsageError, match="Haldane"):
            make()


def test_refusals() -> None:
    with pytest.raises(UsageError, match=r"Cannot have 3 of 2\."):
        proportion_posterior(3, 2)
    with pytest.raises(UsageError, match="kind must be equal-tailed"):
        proportion_posterior(1, 2).interval(kind="bayes")
    with pytest.raises(UsageError, match="confidence_level"):
        proportion_posterior(1, 2).interval(95)
    with pytest.raises(UsageError, match="quantile"):
        proportion_posterior(1, 2).ppf(1.5)
    with pytest.raises(UsageError, match="beta"):
        f_beta_posterior(1, 2, 3, beta=0)
    with pytest.raises(UsageError, match="pseudo-counts"):
        table_posterior(TABLE, mcc, metric="mcc", prior=np.ones((2, 2)))
    with pytest.raises(UsageError, match="pseudo-counts"):
        table_posterior(TABLE, mcc, metric="mcc", prior=np.zeros((3, 3)))
    with pytest.raises(DataError, match="no classes to average"):
        balanced_accuracy_posterior([])
    for counts in (Counts.of(8, 10), Counts.binary(tp=3, fp=1, fn=1)):
        with pytest.raises(DataError, match="some cells of the table are not known"):
            table_posterior(counts, mcc, metric="mcc")
    with pytest.raises(DataError, match="undefined"):
        table_posterior(TABLE, lambda m: m.n * math.nan, metric="odd")


def test_the_root_finder_takes_few_steps() -> None:
    calls = 0

    def f(x: float) -> float:
        nonlocal calls
        calls += 1
        return math.exp(x) - 2

    assert find_root(f, 0.0, 5.0) == pytest.approx(math.log(2), abs=1e-15)
    assert calls < 20
