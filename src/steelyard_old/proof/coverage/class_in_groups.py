"""Claims about metrics of one class whose positives lie in few of the groups: an interval that holds, or none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.ranking_rows import ranking_row
from steelyard_old.estimate.table_rows import table_row
from steelyard_old.items import Items, Labels
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import PAGE, Band, BandText, Claim, Setting
from steelyard_old.proof.coverage.group_sizes import AREA
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.proof.trials import Trial
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.counts import Counts, TableTally
from steelyard_old.tally.design import Design, table_sums
from steelyard_old.tally.sample import Sample

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
GROUPS, SIZE, POSITIVE = 30, 10, 5  # groups, their items, and how many of these are positive where any are
RECALL, FALSE_POSITIVES = 0.8, 0.1
SETTINGS: tuple[Setting, ...] = tuple({"with positives": k, "likeness": r} for k, r in ((8, 0.3), (5, 0.3), (15, 0.6), (30, 0.3), (5, 0.6)))
FEWER: tuple[Setting, ...] = tuple({"with positives": k, "likeness": 0.3} for k in (1, 3))
SAID: dict[str, dict[str, BandText]] = {
    "recall": {"wilson": ("covers 0.95 or more, 0.99 where few groups have positives", Band(low=0.94, mean_low=0.96))},
    "F1": {"wilson": ("covers 0.95 or more, nearly always where few groups have positives", Band(low=0.94, mean_low=0.96))},
    "AUC": {"delong-wilson": ("covers 0.95 or more", Band(low=0.94, mean_low=0.955))},
}
METRICS = {"recall": "recall", "F1": "f1", "AUC": "auc"}
SILENT = ("recall", "AUC")  # F1 rests on false positives too, which lie in other groups: it answers, and is wide


def claims() -> Iterator[Claim]:
    for name, said in SAID.items():
        study = Study(
            family=f"{name} with positives in some of the groups",
            draw=draw,
            truth=partial(truth, name),
            interval=partial(interval, METRICS[name]),
            slow={},
        )
        default = default_of(study, SETTINGS[0], said)
        settings = SETTINGS if name in SILENT else (*SETTINGS, *FEWER)
        yield from simulated(study, said, default, quick=at_most_of(SETTINGS[:1], 600), full=runs_of(settings, 4000))
    yield from _silence().claims()


def draw(setting: Setting, rng: np.random.Generator) -> Items:
    """30 groups of 10 items; 5 items of so many of them are positive. Recall, false positives and scores are alike within groups."""
    with_positives, likeness = int(setting["with positives"]), float(setting["likeness"])
    unit = np.repeat(np.arange(GROUPS), SIZE)
    place = np.arange(len(unit)) % SIZE
    positive = (unit < with_positives) & (place < POSITIVE)
    own = np.where(positive, _alike(rng, RECALL, likeness)[unit], _alike(rng, FALSE_POSITIVES, likeness)[unit])
    shift = rng.normal(size=(GROUPS, 2)) * likeness**0.5
    score = 2**0.5 * positive + shift[unit, positive.astype(int)] + rng.normal(size=len(unit)) * (1 - likeness) ** 0.5
    said = rng.random(len(unit)) < own
    names, classes = tuple(map(str, range(GROUPS))), ("0", "1")
    return Items(
        n=len(unit),
        truth=Labels(positive.astype(np.int64), classes),
        prediction=Labels(said.astype(np.int64), classes),
        probability=score,
        group=Labels(unit, names),
    )


def _alike(rng: np.random.Generator, share: float, likeness: float) -> FloatArray:
    """A share for each group, with this correlation of two of its items."""
    many = (1 - likeness) / likeness
    return rng.beta(share * many, (1 - share) * many, GROUPS)


def truth(name: str, setting: Setting) -> float:
    if name == "AUC":
        return AREA
    if name == "recall":
        return RECALL
    positives = int(setting["with positives"]) * POSITIVE
    false = FALSE_POSITIVES * (GROUPS * SIZE - positives)
    return 2 * RECALL * positives / ((1 + RECALL) * positives + false)


def interval(name: str, method: str, items: Items, seed: int) -> Interval | None:
    settings = MeasureOptions(interval=method or None, draws=DRAWS, seed=seed, absent="zero")
    if name == "auc":
        return ranking_row(parse(name), Sample(items, settings, Warnings()), settings, Warnings()).interval
    assert items.truth is not None
    assert items.prediction is not None
    assert items.group is not None
    codes = 2 * items.truth.codes + items.prediction.codes
    counts = Counts.table(np.bincount(codes, minlength=4).reshape(2, 2).tolist())
    design = Design("groups", items.group.codes.astype(np.int64), GROUPS, items=items.n)
    units = table_sums(Labels(items.truth.codes, counts.labels), Labels(items.prediction.codes, counts.labels), design, counts)
    return table_row(parse(name), 1, TableTally(counts, units, "groups", counts.n), settings, Warnings()).interval


def _silence() -> Trial:
    """All positives in one group, or in three: how often an interval is given all the same."""

    def spoken(name: str, items: Items) -> bool:
        return interval(name, "", items, 0) is not None

    sentence = "says nothing where the positives lie in groups that are worth fewer than four"
    return Trial(
        family="an answer from positives that lie in one group or in three",
        draw=lambda rng, setting: (draw(setting, rng),),
        methods={name: partial(spoken, METRICS[name]) for name in SILENT},
        said={(name, "size"): (sentence, Band(high=0.0)) for name in SILENT},
        settings=FEWER,
        default="none",
        page=PAGE,
        runs=(40, 200),
        nominal=0.0,
    )
