"""Claims about intervals of metrics of an order: AUC, average precision, rank correlation; scores of two normal laws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.ranking_rows import ranking_ends
from steelyard_old.infer.intervals.ranking import spearman_interval
from steelyard_old.metrics.catalogue import parse
from steelyard_old.metrics.ranking import RankingMetric, spearman
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import LEVEL, Band, BandText, Claim, Setting
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval, Side
from steelyard_old.tally.scores import ScoreTable, tally_scores

SLOW = {"percentile": 4, "bca": 4}


def at(*laws: tuple[int, int, float]) -> tuple[Setting, ...]:
    """Positives, negatives, and by how many standard deviations the positives score higher."""
    return tuple({"positives": p, "negatives": n, "shift": shift} for p, n, shift in laws)


LAWS = at((30, 30, 1.2), (50, 200, 1.8), (10, 40, 1.2), (10, 90, 2.5), (100, 100, 0.0), (200, 200, 3.0))
CORRELATED: tuple[Setting, ...] = tuple({"n": n, "rho": rho} for n, rho in ((20, 0.5), (100, 0.9), (20, 0.9), (100, 0.0), (500, 0.5)))

OF_AREA: dict[str, BandText] = {
    "delong-wilson": ("covers 0.945 or more", Band(low=0.935, mean_low=0.95)),
    "delong": ("covers 0.95 on average, 0.935 with ten positives and an AUC of 0.96", Band(low=0.91, mean_low=0.94, mean_high=0.965)),
    "percentile": (f"covers 0.83 with ten positives and an AUC of 0.96; {DRAWS} draws", Band(low=0.815, mean_low=0.9)),
    "bca": (f"covers 0.935 or more; {DRAWS} draws", Band(low=0.925, mean_low=0.935)),
}
OF_PRECISION: dict[str, BandText] = {
    "bca": (f"covers 0.945 or more; {DRAWS} draws", Band(low=0.935, mean_low=0.945)),
    "percentile": (f"covers 0.925 or more; {DRAWS} draws", Band(low=0.915, mean_low=0.935)),
    "delta-wilson": ("covers 0.98 or more", Band(low=0.945, mean_low=0.96)),
    "delta": ("covers 0.945 or more", Band(low=0.935, mean_low=0.95)),
}
OF_RANKS: dict[str, BandText] = {"fisher-z": ("covers 0.95 on normal numbers", Band(low=0.945, mean_low=0.945, mean_high=0.965))}


def claims() -> Iterator[Claim]:
    for family, name, said, true in (
        ("AUC", "auc", OF_AREA, area),
        ("average precision", "average_precision", OF_PRECISION, precision),
    ):
        study = Study(family=family, draw=draw, truth=true, interval=partial(interval, name), slow=SLOW)
        yield from simulated(study, said, default_of(study, LAWS[0], said), quick=at_most_of(LAWS[:1], 400), full=runs_of(LAWS, 4000))
    study = Study(family="rank correlation", draw=pairs, truth=ranks, interval=of_ranks, slow={})
    yield from simulated(study, OF_RANKS, "fisher-z", quick=at_most_of(CORRELATED[:2], 1600), full=runs_of(CORRELATED, 8000))


def draw(setting: Setting, rng: np.random.Generator) -> ScoreTable:
    positive = np.repeat([True, False], [int(setting["positives"]), int(setting["negatives"])])
    return tally_scores(rng.normal(positive * float(setting["shift"]), 1), positive)


def area(setting: Setting) -> float:
    """P(a positive scores higher) of two normal laws."""
    return 0.5 * (1 + math.erf(float(setting["shift"]) / 2))


@cache
def _precision(share: float, shift: float) -> float:
    from scipy.special import ndtr, ndtri

    chance = (np.arange(200_000) + 0.5) / 200_000  # that a positive scores higher than the threshold
    above = ndtr(ndtri(chance) - shift)  # that a negative does
    return float(np.mean(share * chance / (share * chance + (1 - share) * above)))


def precision(setting: Setting) -> float:
    """The mean over thresholds at the positives of P(positive | above the threshold)."""
    positives, negatives = float(setting["positives"]), float(setting["negatives"])
    return _precision(positives / (positives + negatives), float(setting["shift"]))


def interval(name: str, method: str, table: ScoreTable, seed: int, side: Side = "two") -> Interval | None:
    metric = parse(name)
    assert isinstance(metric, RankingMetric)
    ends = ranking_ends(metric, table, MeasureOptions(interval=method or None, draws=DRAWS, seed=seed, side=side), Warnings(), {})
    if ends is None:
        return None
    return Interval(low=ends[0], high=ends[1], confidence_level=LEVEL, side=side, method=ends[2])


def pairs(setting: Setting, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Two normal numbers per item with this correlation."""
    rho = float(setting["rho"])
    first, noise = rng.normal(size=(2, int(setting["n"])))
    return np.stack([first, rho * first + math.sqrt(1 - rho**2) * noise])


def ranks(setting: Setting) -> float:
    """The rank correlation of two normal numbers of this correlation: 6/pi arcsin(rho/2)."""
    return 6 / math.pi * math.asin(float(setting["rho"]) / 2)


def of_ranks(method: str, both: npt.NDArray[np.float64], seed: int) -> Interval:
    low, high = spearman_interval(spearman(both[0], both[1]), both.shape[1])
    return Interval(low=low, high=high, confidence_level=LEVEL, side="two", method=method)
