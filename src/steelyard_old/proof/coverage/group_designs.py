"""Claims about what else is measured or compared over groups: ratios, skewed differences, two AUCs with few positives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.auc_evidence import auc_evidence
from steelyard_old.estimate.fallback import or_none
from steelyard_old.estimate.sums_rows import sums_ends
from steelyard_old.infer.paired.delong import delong_pair
from steelyard_old.metrics.catalogue import parse
from steelyard_old.metrics.sums import SumsMetric
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import LEVEL, PAGE, TWO_PAGE, Band, BandText, Claim, Setting
from steelyard_old.proof.coverage.group_sizes import asked_for, compared
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.sums import Sums, tally_groups

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

RATIOS: tuple[Setting, ...] = tuple({"groups": groups, "likeness": r} for groups, r in ((20, 0.1), (10, 0.3), (50, 0.3), (200, 0.1)))
OF_RATIOS: dict[str, BandText] = {
    "delta": ("covers 0.94 with 20 groups that are a little alike, 0.85 with ten that are much alike", Band(low=0.84, mean_low=0.9)),
    "percentile": (f"covers 0.9 with 20 groups, 0.8 with ten that are much alike; {DRAWS} draws", Band(low=0.78, fails=0.85)),
    "bca": (f"covers 0.9 with 20 groups, 0.82 with ten that are much alike; {DRAWS} draws", Band(low=0.8, fails=0.86)),
    "studentized": (f"covers 0.94 or more, and has no end to its width with ten groups; {DRAWS} draws", Band(low=0.93)),
}
SKEWED: tuple[Setting, ...] = tuple(
    {"groups": groups, "items": items, "together": together}
    for groups, items, together in ((20, 20, 0.3), (10, 5, 0.0), (10, 20, 0.3), (30, 10, 0.3), (50, 10, 0.3))
)
OF_SKEWED: dict[str, BandText] = {
    "t": (
        "covers 0.85 to 0.9 where rare items lose all together with their group; a warning says where groups are few for that",
        Band(low=0.84, fails=0.9),
    ),
    "percentile": (f"covers 0.76 with ten groups; {DRAWS} draws", Band(low=0.74, fails=0.86)),
}
TWO_AREAS: tuple[Setting, ...] = tuple(
    {"positives": p, "baseline": a, "candidate": b} for p, a, b in ((15, 0.97, 0.9), (30, 0.95, 0.95), (15, 0.9, 0.9), (60, 0.8, 0.8))
)
OF_AREAS: dict[str, BandText] = {
    "delong-wilson": ("covers 0.96 or more", Band(low=0.955)),
    "delong": ("covers 0.89 where one system misses more of a few positives", Band(low=0.87, fails=0.92)),
}


def claims() -> Iterator[Claim]:
    ratio = Study(family="a ratio of sums in groups", draw=texts, truth=lambda s: 0.1, interval=of_texts, slow={"studentized": 4})
    skewed = Study(
        family="a paired difference of skewed scores in groups",
        draw=rare_losses,
        truth=lambda s: 0.0,
        interval=lambda method, sample, seed: compared(*sample, interval=method or None).interval,
        slow={"percentile": 4},
    )
    areas = Study(
        family="a paired difference of AUCs in groups, few positives",
        draw=two_rankings,
        truth=lambda s: float(s["candidate"]) - float(s["baseline"]),
        interval=of_rankings,
        slow={},
    )
    for study, laws, said, page in (
        (ratio, RATIOS, OF_RATIOS, PAGE),
        (skewed, SKEWED, OF_SKEWED, TWO_PAGE),
        (areas, TWO_AREAS, OF_AREAS, TWO_PAGE),
    ):
        default = default_of(study, laws[0], said)
        yield from simulated(study, said, default, quick=at_most_of(laws[:1], 200), full=runs_of(laws, 2000), page=page)


# ---- a ratio -------------------------------------------------------------------------------------------------------------------


def texts(setting: Setting, rng: np.random.Generator) -> Sums:
    """Errors in texts of very unequal length, 2 to 18 texts in a group: one in ten words, alike within groups."""
    groups, likeness = int(setting["groups"]), float(setting["likeness"])
    unit = np.repeat(np.arange(groups), rng.integers(2, 19, groups))
    length = 1 + rng.geometric(0.05, len(unit))
    many = (1 - likeness) / likeness
    errors = rng.binomial(length, rng.beta(0.1 * many, 0.9 * many, groups)[unit])
    return tally_groups(_ratio().adds(errors.astype(float), length.astype(float)), unit, groups)


def _ratio() -> SumsMetric:
    metric = parse("ratio")
    assert isinstance(metric, SumsMetric)
    return metric


def of_texts(method: str, tally: Sums, seed: int) -> Interval | None:
    settings = MeasureOptions(interval=method or None, draws=DRAWS, seed=seed)
    ends = sums_ends(_ratio(), tally, _ratio().statistic, settings, Warnings(), None, "groups", {})
    return None if ends is None else Interval(low=ends[0], high=ends[1], confidence_level=LEVEL, side="two", method=ends[2])


# ---- two systems ---------------------------------------------------------------------------------------------------------------


def rare_losses(setting: Setting, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, IntArray]:
    """Scores of two systems: 95% of the items gain .05, 5% lose .95, with their group in `together` of cases."""
    groups, items = int(setting["groups"]), int(setting["items"])
    unit = np.repeat(np.arange(groups), items)
    with_group = rng.random(len(unit)) < float(setting["together"])
    rare = np.where(with_group, rng.random(groups)[unit], rng.random(len(unit))) < 0.05
    return np.where(rare, 0.95, 0.5), np.where(rare, 0.0, 0.55), unit


Rankings = tuple[FloatArray, FloatArray, npt.NDArray[np.bool_], IntArray]


def two_rankings(setting: Setting, rng: np.random.Generator) -> Rankings:
    """Scores of two systems on 30 groups of 10 items, normal, alike within groups and between the systems."""
    from scipy.special import ndtri

    unit = np.repeat(np.arange(30), 10)
    positive = np.zeros(300, bool)
    positive[rng.choice(300, int(setting["positives"]), replace=False)] = True
    group, item = rng.normal(size=(30, 2)), rng.normal(size=300)
    made = []
    for side in ("baseline", "candidate"):
        shift = 0.7**0.5 * group + 0.3**0.5 * rng.normal(size=(30, 2))
        alone = 0.5**0.5 * (item + rng.normal(size=300))
        apart = 2**0.5 * float(ndtri(float(setting[side])))
        made.append(apart * positive + 0.3**0.5 * shift[unit, positive.astype(int)] + 0.7**0.5 * alone)
    return made[0], made[1], positive, unit


def of_rankings(method: str, sample: Rankings, seed: int) -> Interval | None:
    asked: Any = asked_for(interval=method or None)
    pair = or_none(lambda: delong_pair(*sample))
    if pair is None:
        return None
    return auc_evidence(pair, int(sample[2].sum()), len(sample[2]), parse("auc"), asked, Warnings(), design="clustered").interval
