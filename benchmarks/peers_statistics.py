"""Packages of statistics: scipy.stats.bootstrap, statsmodels, sacrebleu's paired tests, baycomp, and importance sampling."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import steelyard as sy
from benchmarks.checks import near, same, same_share
from benchmarks.peers_data import Case, Floats, two_scores
from benchmarks.timing import Wrong


def scipy_bootstrap() -> Iterator[Case]:
    from scipy.stats import bootstrap

    for n in (1000, 10_000):
        x = two_scores(n, 0.0)[0]
        for method in ("percentile", "BCa"):

            def theirs(x: Floats = x, method: str = method) -> Any:
                return bootstrap((x,), np.mean, method=method, n_resamples=1000, batch=100, rng=np.random.default_rng(0))

            def ours(x: Floats = x, method: str = method) -> Any:
                return sy.measure({"score": x}, metric="mean", interval=method.lower(), draws=1000).row.interval

            told, mine = theirs(), ours()
            sides = told.confidence_interval
            near(f"SciPy, {method}", (mine.low, mine.high), (sides.low, sides.high), float(told.standard_error), 1000, 1000)
            yield f"mean of {n:,} scores, {method}, B=1,000, its batch=100: sy.measure beside bootstrap", ours, theirs, {}


def statsmodels() -> Iterator[Case]:
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

    from steelyard.infer.intervals.proportion import clopper_pearson
    from steelyard.infer.normal import wilson
    from steelyard.infer.paired.mcnemar import mcnemar_exact
    from steelyard.infer.unpaired import newcombe

    table = [[790, 58], [76, 76]]
    loops = {"loops": 200, "note": "functions of a few numbers on both sides"}
    for what, ours, theirs in (
        (
            "Wilson of 85/100: infer.normal beside proportion_confint",
            lambda: wilson(85, 100),
            lambda: proportion_confint(85, 100, method="wilson"),
        ),
        (
            "Clopper-Pearson of 85/100: infer.proportion beside proportion_confint",
            lambda: clopper_pearson(85, 100),
            lambda: proportion_confint(85, 100, method="beta"),
        ),
        (
            "Newcombe of 85/100 and 75/100: infer.unpaired beside confint_proportions_2indep",
            lambda: newcombe(85, 100, 75, 100),
            lambda: confint_proportions_2indep(85, 100, 75, 100, method="newcomb"),
        ),
        (
            "exact McNemar of 76 and 58: infer.flips beside mcnemar",
            lambda: (mcnemar_exact(76, 58),),
            lambda: (mcnemar(table, exact=True).pvalue,),
        ),
    ):
        same(f"statsmodels, {what}", ours(), theirs(), 1e-9)
        yield what, ours, theirs, loops


def sacrebleu() -> Iterator[Case]:
    """Its two paired tests on segment scores, which enter as a metric whose corpus score is their mean."""
    from sacrebleu.metrics.base import Metric, Score
    from sacrebleu.significance import PairedTest

    from steelyard.infer.paired.signflip import sign_flip
    from steelyard.infer.paired.sums import paired_resampled
    from steelyard.metrics.sums import QUOTIENT

    class SegmentMean(Metric):
        def __init__(self) -> None:
            super().__init__()
            self.num_refs = 1  # else it refuses to write its signature

        def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
            return [[float(text), 1.0] for text in hypotheses]

        def _aggregate_and_compute(self, stats: Any) -> Score:
            return self._compute_score_from_stats(np.asarray(stats, float).sum(0))

        def _compute_score_from_stats(self, stats: Any) -> Score:
            return Score("mean", float(stats[0] / stats[1]))

        def _preprocess_segment(self, sent: str) -> str:
            return sent

        def _extract_reference_info(self, refs: Any) -> dict[str, Any]:
            return {}

        def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: Any) -> list[float]:
            return [float(hypothesis), 1.0]

    n = 3000
    a, b = two_scores(n, 0.025)
    texts = [[repr(float(x)) for x in side] for side in (a, b)]
    systems = [("a", texts[0]), ("b", texts[1])]

    def theirs(test: str, draws: int) -> Any:
        return PairedTest(systems, {"mean": SegmentMean()}, None, test_type=test, n_samples=draws)()[1]["mean"]

    def swapped() -> Any:
        return sign_flip(b - a, draws=10_000)

    told = theirs("ar", 10_000)
    same("sacrebleu, means", (b.mean() - a.mean(),), (told[1].score - told[0].score,), 1e-9)
    same_share("sacrebleu, ar", swapped().p_value, told[1].p_value, 10_000, 10_000)
    yield (
        f"{n:,} segment scores, approximate randomization, B=10,000: infer.signflip beside PairedTest",
        swapped,
        lambda: theirs("ar", 10_000),
        {},
    )
    own = [np.stack([np.ones(n), side], axis=1) for side in (a, b)]

    def redrawn() -> Any:
        return paired_resampled(own[0], own[1], QUOTIENT, "percentile", draws=1000)

    drawn, error = redrawn(), float(np.std(b - a)) / math.sqrt(n)
    near("sacrebleu, bs", drawn[:2], b.mean() - a.mean() + 1.96 * error * np.array([-1, 1]), error, 1000, math.inf)
    note = "checked against the normal interval: its p centres absolute differences, which is another quantity"
    what = f"{n:,} segment scores, paired bootstrap, B=1,000: infer.paired_sums beside PairedTest"
    yield what, redrawn, lambda: theirs("bs", 1000), {"note": note}


def baycomp() -> Iterator[Case]:
    """The Bayesian correlated t is the corrected t read as a posterior: the same law."""
    from baycomp import two_on_single

    from steelyard.infer.learning.crossval import corrected_repeated_kfold_t, differences

    rng = np.random.default_rng(8)
    a = rng.normal(0.8, 0.02, 100)
    b = a + rng.normal(0.004, 0.01, 100)

    def ours() -> Any:
        return corrected_repeated_kfold_t(differences(a, b), folds=10).probability_above

    same("baycomp", (ours(),), (two_on_single(a, b, rope=0, runs=10)[1],), 1e-9)
    what = "10 x 10 folds, probability that one learner is better: infer.crossval beside two_on_single"
    yield what, ours, lambda: two_on_single(a, b, rope=0, runs=10), {"loops": 50, "note": "ours also gives t, p and the interval"}


def importance() -> Iterator[Case]:
    """Draws from the prior weighted by the likelihood, as Bayesian evaluation packages do for paired outcomes; written here."""
    from steelyard.infer.posterior.difference import difference_posterior

    for cells, draws in (((36, 5, 4, 5), 100_000), ((790, 58, 76, 76), 1_000_000)):
        count = np.array(cells, float)

        def sampled(count: Floats = count, draws: int = draws) -> tuple[Floats, Floats]:
            share = np.random.default_rng(0).dirichlet([0.5] * 4, draws)
            log = np.log(np.maximum(share, 1e-300)) @ count
            weight = np.exp(log - log.max())
            return share[:, 2] - share[:, 1], weight / weight.sum()

        def chance(sampled: Any = sampled) -> tuple[float, float, float]:
            gap, weight = sampled()
            p = float(weight @ (gap > 0))
            return p, math.sqrt(float(weight**2 @ ((gap > 0) - p) ** 2)), 1 / float(weight @ weight)

        def span(sampled: Any = sampled) -> Floats:
            gap, weight = sampled()
            order = np.argsort(gap)
            return gap[order][np.searchsorted(np.cumsum(weight[order]), [0.025, 0.975])]

        p, error, worth = chance()
        mine = float(difference_posterior(*cells).sf(0))
        if not abs(mine - p) < 4.5 * max(error, 1e-9):
            raise Wrong(f"importance sampling: {p!r} +- {error:.2g}, ours {mine!r}")
        near("importance sampling", difference_posterior(*cells).interval(), span(), difference_posterior(*cells).sd, worth, math.inf)
        note = f"{draws:,} draws from the prior are worth {worth:,.0f}: P = {p:.4f} with an error of {error:.4f}; ours {mine:.4f}, exact"
        title = f"paired outcomes {'/'.join(map(str, cells))}"
        what = f"{title}, P(candidate better): infer.paired_posterior beside {draws:,} draws"
        yield what, lambda cells=cells: difference_posterior(*cells).sf(0), chance, {"loops": 20, "note": note}
        what = f"{title}, 95% interval: infer.paired_posterior beside {draws:,} draws"
        yield what, lambda cells=cells: difference_posterior(*cells).interval(), span, {"loops": 5}
