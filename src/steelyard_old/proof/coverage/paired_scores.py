"""Claims about intervals of a difference of scores, ratios and AUCs on the same items: simulated pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.auc_evidence import auc_evidence
from steelyard_old.estimate.paired_mean_tests import RangeMeanTest
from steelyard_old.estimate.paired_scores import scores_interval
from steelyard_old.estimate.paired_units import units_interval
from steelyard_old.infer.paired.delong import delong_pair
from steelyard_old.metrics.catalogue import parse
from steelyard_old.metrics.sums import MEAN, QUOTIENT
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import TWO_PAGE, Band, BandText, Claim, Setting
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, default_of, nothing_yet, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.sums import tally_items

FloatArray = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], FloatArray]
SLOW = {"percentile": 4, "bca": 4}


def losses(rng: np.random.Generator, n: int) -> FloatArray:
    """A small gain on most items and a large loss on one in twenty: mean 0."""
    return np.where(rng.random(n) < 0.05, -0.475, 0.025) + 0.01 * rng.normal(size=n)


DIFFERENCES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(0, 0.2, n),
    "exponential": lambda rng, n: 0.1 * (rng.exponential(size=n) - 1),
    "mostly equal": lambda rng, n: np.where(rng.random(n) < 0.1, rng.uniform(-0.5, 0.5, n), 0.0),
    "rare large losses": losses,
}
SCORES: tuple[Setting, ...] = tuple({"differences": law, "n": n} for n in (50, 20, 200) for law in DIFFERENCES)
RATIOS: tuple[Setting, ...] = tuple({"n": n} for n in (100, 30, 500))
CURVES: tuple[Setting, ...] = tuple(
    {"positives": p, "negatives": n, "better by": b} for p, n, b in ((50, 100, 0.3), (20, 80, 0.0), (100, 100, 0.3))
)

OF_SCORES: dict[str, BandText] = {
    "bounded-t": ("covers what it says or more, rare large losses included; far wider with few items", Band(low=0.945)),
    "t": ("covers 0.645 with 20 items of which one in twenty is a large loss", Band(low=0.63, fails=0.94, mean_low=0.91)),
    "bca": (f"covers 0.63 with 20 items of which one in twenty is a large loss; {DRAWS} draws", Band(low=0.61, fails=0.93, mean_low=0.89)),
    "percentile": (
        f"covers 0.64 with 20 items of which one in twenty is a large loss; {DRAWS} draws",
        Band(low=0.62, fails=0.94, mean_low=0.89),
    ),
}
OF_RATIOS: dict[str, BandText] = {
    "bca": (f"covers 0.89 with 30 texts of unequal length; {DRAWS} draws", Band(low=0.88, mean_low=0.905)),
    "percentile": (f"covers 0.905 with 30 texts of unequal length; {DRAWS} draws", Band(low=0.89, mean_low=0.91)),
    "delta": ("covers 0.935 or more", Band(low=0.935, mean_low=0.94)),
}
OF_CURVES: dict[str, BandText] = {
    "delong-wilson": ("covers 0.945 or more", Band(low=0.945, mean_low=0.95)),
    "delong": ("covers 0.945 or more", Band(low=0.945, mean_low=0.95)),
}


def claims() -> Iterator[Claim]:
    for study, laws, said, few in (
        (
            Study(family="a paired difference of scores", draw=scores, truth=lambda s: 0.0, interval=of_scores, slow=SLOW),
            SCORES,
            OF_SCORES,
            2,
        ),
        (
            Study(family="a paired difference of ratios", draw=ratios, truth=lambda s: -0.02, interval=of_ratios, slow=SLOW),
            RATIOS,
            OF_RATIOS,
            1,
        ),
        (Study(family="a paired difference of AUCs", draw=curves, truth=between, interval=of_curves, slow=SLOW), CURVES, OF_CURVES, 1),
    ):
        yield from simulated(
            study, said, default_of(study, laws[0], said), quick=at_most_of(laws[:few], 400), full=runs_of(laws, 6000), page=TWO_PAGE
        )


def scores(setting: Setting, rng: np.random.Generator) -> FloatArray:
    return DIFFERENCES[str(setting["differences"])](rng, int(setting["n"]))


def of_scores(method: str, d: FloatArray, seed: int, side: str = "two") -> Interval | None:
    """The differences lie in -1 to 1, as those of scores in 0 to 1 do; normal ones that do not are cut off there."""
    d = np.clip(d, -1, 1)
    asked = CompareOptions(own=MeasureOptions(draws=DRAWS, seed=seed, side=side), interval=method or None)
    found = nothing_yet(len(d), float(d.mean()))
    found.judge = RangeMeanTest(d, np.zeros(len(d)), (0.0, 1.0), "two-sided")
    return scores_interval(tally_items(MEAN.adds(d)), found, MEAN, asked, Warnings(), (0.0, 1.0), False)


def ratios(setting: Setting, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Rows (words, errors) of two systems on the same texts of unequal length: 10% and 8% errors, texts that are hard for both."""
    n = int(setting["n"])
    words, hard = 1 + rng.geometric(0.05, n), rng.beta(1, 9, n)
    errors = rng.binomial(words, hard), rng.binomial(words, 0.8 * hard)
    baseline, candidate = (np.stack([words, wrong], axis=1).astype(float) for wrong in errors)
    return baseline, candidate


def of_ratios(method: str, sample: tuple[FloatArray, FloatArray], seed: int) -> Interval | None:
    asked = CompareOptions(own=MeasureOptions(draws=DRAWS, seed=seed), interval=method or None)
    return units_interval(*sample, QUOTIENT, parse("ratio"), asked, Warnings())


def curves(setting: Setting, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Scores of two systems that share half of their variance, the positives 1 and 1 + better by above the negatives."""
    positive = np.repeat([True, False], [int(setting["positives"]), int(setting["negatives"])])
    shared, own, other = rng.normal(size=(3, len(positive))) * np.sqrt(0.5)
    return shared + own + positive, shared + other + positive * (1 + float(setting["better by"])), positive


def between(setting: Setting) -> float:
    from scipy.special import ndtr

    return float(ndtr((1 + float(setting["better by"])) / np.sqrt(2)) - ndtr(1 / np.sqrt(2)))


def of_curves(method: str, sample: tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]], seed: int) -> Interval | None:
    asked = CompareOptions(own=MeasureOptions(), interval=method or None, test="delong")
    positives = int(sample[2].sum())
    fewer, n = min(positives, len(sample[2]) - positives), len(sample[2])
    return auc_evidence(delong_pair(*sample), fewer, n, parse("auc"), asked, Warnings(), "paired").interval
